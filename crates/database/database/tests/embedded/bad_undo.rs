//! Blocks of undo that can't be read, or are damaged, and that nobody needs: changes go on.

use std::os::unix::fs::FileExt;
use std::path::Path;

use database::{Connection, Database, FilesystemIo, Options, Selection, Value};
use format::{BlockHeader, BlockKind, DbaLe, TransactionTable, UndoBlock};
use sim::BadPlaces;
use waits::SessionKind;

use crate::common::{Folder, filled_by, options};

const BLOCK: usize = 8_192;

/// What becomes of a block.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Unreadable,
    Damaged,
}

fn small(segments: u16) -> Options {
    let mut options = options();
    options.parameters.filesystemio_options = FilesystemIo::DirectIo;
    // It would have copies of what is damaged.
    options.parameters.doublewrite = false;
    options.creation.undo_bytes = 4 << 20;
    options.creation.undo_segments = segments;
    options
}

/// For each segment that was used: the block that it fills, and the one behind it.
fn rings(path: &Path) -> Vec<(u32, u32)> {
    let bytes = std::fs::read(path).expect("there");
    let blocks: Vec<&[u8]> = bytes.chunks_exact(BLOCK).collect();
    let is_table = |block: &&&[u8]| {
        !is_zero(block) && BlockHeader::at(block, 0).kind() == BlockKind::TransactionTable
    };
    let heads = blocks[1..].iter().filter(is_table);
    let currents = heads.map(|block| TransactionTable::at(block, TransactionTable::START).current);
    let used = currents.filter(|current| *current != DbaLe::NONE);
    let ring = |current: DbaLe| {
        let current = current.get().block.get();
        let undo = UndoBlock::at(blocks[current as usize], UndoBlock::START);
        (current, undo.next.get().block.get())
    };
    used.map(ring).collect()
}

/// The first blocks that were never written, behind one that was: which are handed out next.
fn free_blocks(path: &Path) -> Vec<u32> {
    let bytes = std::fs::read(path).expect("there");
    let (current, _) = rings(path)[0];
    let behind = (0..).zip(bytes.chunks_exact(BLOCK)).skip(current as usize);
    behind.filter(|(_, block)| is_zero(block)).map(|(number, _)| number).take(16).collect()
}

fn is_zero(block: &[u8]) -> bool {
    block.iter().all(|byte| *byte == 0)
}

fn spoil(bad: &BadPlaces, path: &Path, block: u32, fate: Fate) {
    let at = u64::from(block) * BLOCK as u64;
    match fate {
        Fate::Unreadable => bad.add(path, at..at + BLOCK as u64),
        Fate::Damaged => {
            let file = std::fs::OpenOptions::new().write(true).open(path).expect("there");
            file.write_all_at(&[0xa5; 64], at + 4_000).expect("written");
        }
    }
}

/// Commits so many changes of all rows, one after the other.
fn change(connection: &mut Connection<'_>, times: i64) {
    let account = connection.table("account").expect("there");
    for n in 0..times {
        let mut tx = connection.begin();
        let changed =
            tx.update_where(&account, Selection::All, None, |_, set| set.set(2, Value::Int(n)));
        assert_eq!(changed.unwrap_or_else(|stop| panic!("change {n}: {stop}")), 100);
        tx.commit().expect("committed");
    }
    let mut rows = 0;
    connection
        .scan(&account, |row| rows += i64::from(row.get_i64(2) == Some(times - 1)))
        .expect("scanned");
    assert_eq!(rows, 100);
}

/// A database with so many undo segments, of which one has a ring of several blocks, was shut in
/// good order, and then `chosen` blocks were spoilt. It is opened twice, and changed.
fn changed_with(name: &str, segments: u16, chosen: fn(&Path) -> Vec<u32>) {
    for fate in [Fate::Unreadable, Fate::Damaged] {
        let (scratch, bad) = (Folder::absent(name), BadPlaces::default());
        let session = os::linux::start().adopt("app", SessionKind::Foreground);
        let (disk, options) = (bad.over(&os::linux::disk()), small(segments));
        let created = Database::create_in(&disk, &scratch.0, &options, &session);
        let database = created.expect("created");
        let mut connection = database.connect_with(&session);
        let account = filled_by(&mut connection);
        let mut tx = connection.begin();
        for n in 0..60 {
            let text = format!("owner {n}").repeat(40);
            tx.update_where(&account, Selection::All, None, |_, set| {
                set.set(1, Value::Text(&text))
            })
            .expect("changed");
        }
        tx.commit().expect("committed");
        change(&mut connection, 50);
        drop(connection);
        database.shutdown_by(&session).expect("in good order");
        let path = scratch.0.join("undo01.dbf");
        assert!(rings(&path).iter().all(|(current, next)| current != next), "of several blocks");
        chosen(&path).iter().for_each(|block| spoil(&bad, &path, *block, fate));
        for _ in 0..2 {
            let opened = Database::open_in(&disk, &scratch.0, &options, &session);
            let database = opened.unwrap_or_else(|stop| panic!("{fate:?}: {stop}"));
            change(&mut database.connect_with(&session), 200);
            database.shutdown_by(&session).expect("in good order");
        }
    }
}

/// Its transactions have ended: what they did is nobody's to take back.
#[test]
fn the_undo_block_that_an_idle_segment_fills_need_not_be_readable_after_a_shutdown() {
    let current = |path: &Path| rings(path).iter().map(|(current, _)| *current).collect();
    changed_with("bad-undo-current", 4, current);
}

#[test]
fn an_undo_block_that_can_not_be_read_keeps_no_ring_from_going_on() {
    let next = |path: &Path| rings(path).iter().map(|(_, next)| *next).collect();
    changed_with("bad-undo-next", 4, next);
}

/// None can be made, for the block that is to be its table can't be read.
#[test]
fn where_no_other_undo_segment_is_to_be_had_one_whose_ring_is_broken_serves() {
    let next = |path: &Path| {
        let next = rings(path).into_iter().map(|(_, next)| next);
        next.chain(free_blocks(path)).collect()
    };
    changed_with("bad-undo-only", 1, next);
}

/// More transactions at once than there are segments.
#[test]
fn a_free_block_of_undo_that_is_damaged_keeps_no_segment_from_being_made() {
    let (scratch, bad) = (Folder::absent("bad-undo-free"), BadPlaces::default());
    let session = os::linux::start().adopt("app", SessionKind::Foreground);
    let (disk, options) = (bad.over(&os::linux::disk()), small(1));
    let created = Database::create_in(&disk, &scratch.0, &options, &session);
    let database = created.expect("created");
    filled_by(&mut database.connect_with(&session));
    database.shutdown_by(&session).expect("in good order");
    let path = scratch.0.join("undo01.dbf");
    free_blocks(&path).iter().for_each(|block| spoil(&bad, &path, *block, Fate::Damaged));
    let opened = Database::open_in(&disk, &scratch.0, &options, &session).expect("opened");
    let mut connections: Vec<_> = (0..3).map(|_| opened.connect_with(&session)).collect();
    let account = connections[0].table("account").expect("there");
    let mut open = Vec::new();
    for (id, connection) in (0..).zip(&mut connections) {
        let mut tx = connection.begin();
        let key = [Value::Int(id)];
        tx.update(&account, &key, |_, set| set.set(2, Value::Int(7)))
            .unwrap_or_else(|stop| panic!("transaction {id}: {stop}"));
        open.push(tx);
    }
    open.into_iter().for_each(|tx| tx.commit().map(drop).expect("committed"));
    drop(connections);
    opened.shutdown_by(&session).expect("in good order");
}

//! Blocks that have rotted, and reads that fail: what somebody needs is there still where another
//! copy has it, and what nobody needs stands in nobody's way.

use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use database::{
    Bounds, ColumnSpec, Connection, Creation, Database, ErrorKind, ForUpdate, IndexSpec, OnDelete,
    Row, Selection, Table, TableSpec, Type, Value,
};
use format::{BlockHeader, BlockKind};
use sim::fs::faults::{Fault, FaultPlan, Scope};
use sim::fs::{FileSystem, Operation};
use waits::SessionKind;

use crate::common::{Folder, account, filled, options};
use crate::simulated;

const BLOCK: u64 = 8 << 10;
const EXTENT: u32 = 64;

fn wide(name: &str) -> TableSpec {
    TableSpec::new(name)
        .column(ColumnSpec::new("id", Type::BigInt))
        .column(ColumnSpec::new("body", Type::Text))
        .primary_key(["id"])
}

fn insert(connection: &mut Connection<'_>, table: &Table, ids: Range<i64>, body: &str) {
    let mut tx = connection.begin();
    for id in ids {
        let row = [Value::Int(id), Value::Text(body)];
        tx.insert(table, &row).expect("what is damaged is in nobody's way");
    }
    tx.commit().expect("committed");
}

/// A database with a table of so many rows, which is dropped if that is asked for: the blocks that
/// it has or had, without its segment's header; each with whether an extent begins with it.
fn made_with_table(directory: &Path, rows: i64, is_dropped: bool) -> Vec<(u64, bool)> {
    let database = Database::create(directory, &options()).expect("created");
    let mut connection = database.connect("app");
    let table = connection.create_table(&wide("old")).expect("made");
    insert(&mut connection, &table, 0..rows, &"x".repeat(3_900));
    let session = os::linux::start().adopt("looker", SessionKind::Foreground);
    let space = database.instance().space();
    let all = space.list(&session).expect("read");
    let tables = all.iter().filter(|segment| format!("{:?}", segment.holds) == "Table");
    let newest = tables.max_by_key(|segment| segment.object).expect("there is one");
    let header = u64::from(newest.header.block.get());
    let mut blocks = Vec::new();
    for run in space.blocks(newest.header, &session).expect("read") {
        let first = u64::from(run.first.block.get());
        let each = (0..run.count).map(|at| (first + u64::from(at), at % EXTENT == 0));
        blocks.extend(each.filter(|(block, _)| *block != header));
    }
    if is_dropped {
        connection.drop_table("old", false).expect("dropped");
    }
    drop((connection, session));
    database.shutdown().expect("in good order");
    blocks
}

/// These blocks rot.
fn rot(directory: &Path, blocks: impl Iterator<Item = u64>) {
    let mut options = std::fs::OpenOptions::new();
    let file = options.read(true).write(true).open(directory.join("data01.dbf")).expect("there");
    for block in blocks {
        let mut byte = [0];
        file.read_exact_at(&mut byte, block * BLOCK + 100).expect("read");
        byte[0] ^= 1;
        file.write_all_at(&byte, block * BLOCK + 100).expect("written");
    }
    file.sync_all().expect("synced");
}

/// The damaged blocks are where a new segment's header would be.
#[test]
fn damaged_blocks_that_nobody_uses_keep_no_table_from_being_made() {
    let scratch = Folder::absent("rot-create");
    let blocks = made_with_table(&scratch.0, 900, true);
    let firsts: Vec<u64> = blocks.iter().filter(|(_, is)| *is).map(|(block, _)| *block).collect();
    assert!(firsts.len() > 2, "{} extents", firsts.len());
    rot(&scratch.0, firsts.into_iter());
    let database = Database::open(&scratch.0, &options()).expect("opened");
    let mut connection = database.connect("app");
    for number in 0..6 {
        let spec = TableSpec { name: format!("new{number}"), ..account() };
        connection.create_table(&spec).expect("what is damaged holds nothing");
    }
    drop(connection);
    database.shutdown().expect("in good order");
}

/// They are where a new table's map of free space would be, and new blocks of its index.
#[test]
fn damaged_blocks_that_nobody_uses_keep_no_row_from_being_inserted() {
    let scratch = Folder::absent("rot-insert");
    let blocks = made_with_table(&scratch.0, 400, true);
    rot(&scratch.0, blocks.into_iter().map(|(block, _)| block));
    let database = Database::open(&scratch.0, &options()).expect("opened");
    let mut connection = database.connect("app");
    for number in 0..4 {
        let table = connection.create_table(&wide(&format!("new{number}"))).expect("made");
        insert(&mut connection, &table, 0..1_500, "short");
        assert!(is_there(&mut connection, &table, 1_499), "{number}");
    }
    drop(connection);
    database.shutdown().expect("in good order");
}

/// They are a table's, and have room: what they have can't be told, so rows go elsewhere.
#[test]
fn damaged_blocks_with_room_keep_no_row_from_being_inserted() {
    let scratch = Folder::absent("rot-room");
    let blocks = made_with_table(&scratch.0, 3, false);
    // But for the map of free space.
    rot(&scratch.0, blocks.into_iter().skip(1).map(|(block, _)| block));
    let database = Database::open(&scratch.0, &options()).expect("opened");
    let mut connection = database.connect("app");
    let table = connection.table("old").expect("there");
    insert(&mut connection, &table, 10..12, "short");
    assert!(is_there(&mut connection, &table, 11));
    drop(connection);
    database.shutdown().expect("in good order");
}

fn is_there(connection: &mut Connection<'_>, table: &Table, id: i64) -> bool {
    connection.get(table, &[Value::Int(id)], |_| ()).expect("read").is_some()
}

/// One bit of each block of a log member but its header's flips.
fn rot_log(disk: &mut FileSystem, path: &str) {
    let file = disk.open(path).expect("there");
    let mut bytes = vec![0; disk.len(file).expect("known") as usize];
    disk.read(file, 0, &mut bytes).expect("read");
    bytes.chunks_mut(4096).skip(1).for_each(|block| block[200] ^= 1);
    disk.write(file, 0, &bytes, false).expect("written");
    disk.sync(file).expect("synced");
    disk.close(file).expect("closed");
}

/// Rule redo/RD20: one member is whole, and one read of it fails once; the other member has rotted.
/// (The first read of all is that of the header by `examine`, which makes a member invalid, RD19.)
#[test]
fn a_read_of_the_whole_member_that_fails_once_loses_no_commit() {
    let creation = Creation { log_members: 2, ..simulated::options().creation };
    let base = simulated::made_with(creation, |database, _| drop(filled(database)));
    let (mut disk, group) = simulated::racing_to_open(1, base, |opened, session| {
        let database = opened.expect("opened");
        let mut connection = database.connect_with(session);
        let account = connection.table("account").expect("there");
        let mut tx = connection.begin();
        for id in 1_000..1_050 {
            let row = [Value::Int(id), Value::Null, Value::Int(1)];
            tx.insert(&account, &row).expect("inserted");
        }
        tx.commit().expect("committed");
        drop(connection);
        let views = database.instance().log_groups(session);
        let current = views.iter().max_by_key(|view| view.sequence).expect("some").number;
        database.abort_by(session);
        current
    });
    rot_log(&mut disk, &format!("/db/redo0{group}b.log"));
    for n in 2..14 {
        let mut content = disk.clone();
        let scope = Scope::of(&[Operation::Read]).under(&format!("/db/redo0{group}.log"));
        content.plan_faults(FaultPlan::new(n).nth(n, Fault::Eio, scope));
        let (_, ()) = simulated::racing_to_open(n, content, move |opened, session| {
            let database = opened.unwrap_or_else(|stop| panic!("read {n}: {stop}"));
            let mut connection = database.connect_with(session);
            let account = connection.table("account").expect("there");
            let mut rows = 0;
            connection.scan(&account, |_| rows += 1).expect("read");
            assert_eq!(rows, 150, "read {n}: commits are lost");
            drop(connection);
            database.shutdown_by(session).expect("in good order");
        });
    }
}

/// Makes zeros of the block of the data file that has this text more than three times.
fn lose_block(scratch: &Folder, text: &str) {
    let path = scratch.0.join("data01.dbf");
    let mut bytes = std::fs::read(&path).expect("read");
    let has = |block: &[u8]| {
        block.windows(text.len()).filter(|bytes| *bytes == text.as_bytes()).count() > 3
    };
    let lost = bytes.chunks_exact(8192).position(has).expect("the table has a block");
    bytes[lost * 8192..(lost + 1) * 8192].fill(0);
    std::fs::write(&path, &bytes).expect("written");
}

/// A database with accounts, of which a block has become zeros: that with account 3 in it.
fn with_a_lost_block(name: &str) -> (Folder, Database) {
    let scratch = Folder::absent(name);
    let database = Database::create(&scratch.0, &options()).expect("created");
    filled(&database);
    database.shutdown().expect("in good order");
    lose_block(&scratch, "owner 3");
    let database = Database::open(&scratch.0, &options()).expect("opened");
    (scratch, database)
}

/// A block of a table that has become zeros has lost its rows: that is said, and no statement
/// begins again and again.
#[test]
fn statements_that_meet_a_zeroed_block_are_refused() {
    let (_scratch, database) = with_a_lost_block("zeroed");
    let mut connection = database.connect("app");
    let account = connection.table("account").expect("there");
    let key = [Value::Int(3)];
    let seen = connection.get(&account, &key, |row| row.get_i64(2)).expect_err("it is lost");
    let mut tx = connection.begin();
    let changed = tx.update(&account, &key, |_, set| set.set(2, Value::Int(1)));
    let changed = changed.expect_err("it is lost");
    let deleted = tx.delete(&account, &key).expect_err("it is lost");
    for stop in [seen, changed, deleted] {
        assert_eq!(stop.refusal(), Some(ErrorKind::Corrupt), "{stop}");
        assert!(stop.to_string().contains("lost"), "{stop}");
    }
    tx.rollback().expect("ended");
    drop(connection);
    database.shutdown().expect("in good order");
}

/// Also those that look for rows in all blocks, by the cache and around it: else a new index would
/// hide what is lost.
#[test]
fn statements_over_a_table_with_a_zeroed_block_are_refused() {
    for buffers in [40, 20_000] {
        let scratch = Folder::absent(&format!("zeroed-scan-{buffers}"));
        let mut options = options();
        options.parameters.db_cache_size = buffers * BLOCK;
        let database = Database::create(&scratch.0, &options).expect("created");
        filled(&database);
        let mut connection = database.connect("filler");
        let account = connection.table("account").expect("there");
        let mut tx = connection.begin();
        for id in 1_000..3_000 {
            let row = [Value::Int(id), Value::Text("another owner"), Value::Int(1)];
            tx.insert(&account, &row).expect("inserted");
        }
        tx.commit().expect("committed");
        drop((connection, account));
        database.shutdown().expect("in good order");
        lose_block(&scratch, "owner 3");
        let database = Database::open(&scratch.0, &options).expect("opened");
        check_that_all_is_refused(&database);
        database.shutdown().expect("in good order");
    }
}

/// The same where the map of free space before the lost block is zeros too: what one read brings of
/// both isn't taken for blocks that were never in use (CB40, AC24), also not by an insert (AC31).
#[test]
fn a_table_whose_map_is_zeros_as_well_is_refused() {
    let scratch = Folder::absent("zeroed-map");
    let database = Database::create(&scratch.0, &options()).expect("created");
    filled(&database);
    database.shutdown().expect("in good order");
    let path = scratch.0.join("data01.dbf");
    let mut bytes = std::fs::read(&path).expect("read");
    let has = |block: &[u8]| block.windows(7).any(|bytes| bytes == b"owner 3");
    let rows = bytes.chunks_exact(8192).position(has).expect("the table has a block");
    let kind = |at: usize| BlockHeader::at(&bytes[at * 8192..], 0).kind();
    let is_map = |at: &usize| kind(*at) == BlockKind::FreeMap;
    let map = (0..rows).rev().find(is_map).expect("the table has a map");
    bytes[map * 8192..(rows + 1) * 8192].fill(0);
    std::fs::write(&path, &bytes).expect("written");
    let database = Database::open(&scratch.0, &options()).expect("opened");
    let mut connection = database.connect("app");
    let account = connection.table("account").expect("there");
    let scanned = connection.scan(&account, |_| ()).expect_err("rows are lost");
    let row = [Value::Int(9_999), Value::Text("new"), Value::Int(1)];
    let inserted = connection.transact(|tx| tx.insert(&account, &row)).map(drop);
    for stop in [scanned, inserted.expect_err("its map is lost")] {
        assert_eq!(stop.refusal(), Some(ErrorKind::Corrupt), "{stop}");
    }
    drop(connection);
    database.shutdown().expect("in good order");
}

fn check_that_all_is_refused(database: &Database) {
    let mut connection = database.connect("app");
    let account = connection.table("account").expect("there");
    let index = IndexSpec::new("by_owner", "account", ["owner"]);
    let made = connection.create_index(&index).map(drop);
    let scanned = connection.scan(&account, |_| ());
    let mut tx = connection.begin();

    let changed =
        tx.update_where(&account, Selection::All, None, |_, set| set.set(2, Value::Int(1)));
    let changed = changed.map(drop);
    let deleted = tx.delete_where(&account, Selection::All, None).map(drop);
    let locked =
        tx.lock_where(&account, Selection::All, None, ForUpdate::nowait(), |_| ()).map(drop);
    for done in [made, scanned, changed, deleted, locked] {
        let stop = done.expect_err("rows are lost");
        assert_eq!(stop.refusal(), Some(ErrorKind::Corrupt), "{stop}");
        assert!(stop.to_string().contains("lost"), "{stop}");
    }
    tx.rollback().expect("ended");
}

/// The index of the foreign key leads to rows that can't be locked.
#[test]
fn a_cascade_to_rows_of_a_zeroed_block_is_refused_and_ends() {
    let scratch = Folder::absent("zeroed-children");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let mut connection = database.connect("filler");
    let parent =
        TableSpec::new("parent").column(ColumnSpec::new("id", Type::BigInt)).primary_key(["id"]);
    let child = TableSpec::new("child")
        .column(ColumnSpec::new("parent", Type::BigInt))
        .column(ColumnSpec::new("note", Type::Text))
        .foreign_key(["parent"], "parent", OnDelete::Cascade);
    let parent = connection.create_table(&parent).expect("made");
    let child = connection.create_table(&child).expect("made");
    let mut tx = connection.begin();
    tx.insert(&parent, &[Value::Int(1)]).expect("inserted");
    for _ in 0..5 {
        tx.insert(&child, &[Value::Int(1), Value::Text("orphaned")]).expect("inserted");
    }
    tx.commit().expect("committed");
    drop(connection);
    database.shutdown().expect("in good order");
    lose_block(&scratch, "orphaned");

    let database = Database::open(&scratch.0, &options()).expect("opened");
    let (done, is_done) = mpsc::channel();
    let shared = database.clone();
    let thread = std::thread::spawn(move || {
        let mut connection = shared.connect("cascade");
        let parent = connection.table("parent").expect("there");
        for one_snapshot in [false, true] {
            let mut tx = match one_snapshot {
                false => connection.begin(),
                true => connection.begin_serializable().expect("begun"),
            };
            let deleted = tx.delete(&parent, &[Value::Int(1)]);
            let _ = done.send(deleted.map_err(|stop| stop.refusal()));
        }
    });
    for _ in 0..2 {
        let deleted = is_done.recv_timeout(Duration::from_secs(60)).expect("the cascade ends");
        assert_eq!(deleted, Err(Some(ErrorKind::Corrupt)));
    }
    thread.join().expect("it didn't panic");
    database.shutdown().expect("in good order");
}

#[test]
fn a_filter_passes_by_no_row_of_a_zeroed_block() {
    let (_scratch, database) = with_a_lost_block("zeroed-filtered");
    let mut connection = database.connect("app");
    let account = connection.table("account").expect("there");
    let primary = account.primary().expect("it has one");
    let key = [Value::Int(3)];
    let mut tx = connection.begin();
    let mut any = |_: &Row<'_>| true;
    for selection in [Selection::Range(primary, Bounds::equal(&[])), Selection::Key(primary, &key)]
    {
        let changed = tx
            .update_where(&account, selection, Some(&mut any), |_, set| set.set(2, Value::Int(1)));
        let deleted = tx.delete_where(&account, selection, Some(&mut any));
        let locked =
            tx.lock_where(&account, selection, Some(&mut any), ForUpdate::nowait(), |_| ());
        for done in [changed, deleted, locked] {
            let stop = done.expect_err("the rows are lost");
            assert_eq!(stop.refusal(), Some(ErrorKind::Corrupt), "{stop}");
        }
    }
    tx.rollback().expect("ended");
    drop(connection);
    database.shutdown().expect("in good order");
}

#[test]
fn an_unreadable_block_is_met_by_one_insert_and_not_by_all() {
    let scratch = Folder::absent("unreadable");
    let database = Database::create(&scratch.0, &options()).expect("created");
    filled(&database);
    database.shutdown().expect("in good order");
    let path = scratch.0.join("data01.dbf");
    let mut bytes = std::fs::read(&path).expect("read");
    let has_rows = |block: &[u8]| block.windows(7).filter(|text| text == b"owner 3").count() > 3;
    let block = bytes.chunks_exact(8192).position(has_rows).expect("the table has a block");
    let at = bytes[block * 8192..].windows(7).position(|text| text == b"owner 3");
    // Its checksum is wrong from now on.
    bytes[block * 8192 + at.expect("it is there")] ^= 1;
    std::fs::write(&path, &bytes).expect("written");

    let database = Database::open(&scratch.0, &options()).expect("opened");
    let mut connection = database.connect("app");
    let account = connection.table("account").expect("there");
    let mut refused = Vec::new();
    for id in 1_000..1_010 {
        let mut tx = connection.begin();
        match tx.insert(&account, &[Value::Int(id), Value::Text("new"), Value::Int(1)]) {
            Ok(_) => tx.commit().expect("committed"),
            Err(stop) => {
                assert_eq!(stop.refusal(), Some(ErrorKind::Corrupt), "{stop}");
                refused.push(id);
                tx.rollback().expect("ended");
            }
        }
    }
    assert!(refused.len() <= 1, "there are other blocks: {refused:?}");
    drop(connection);
    database.shutdown().expect("in good order");
}

/// Whether the map of free space was told of its room or not.
#[test]
fn a_lost_block_is_not_filled_with_other_rows() {
    for deletes in [false, true] {
        insert_beside_a_lost_block(deletes);
    }
}

fn insert_beside_a_lost_block(deletes: bool) {
    let scratch = Folder::absent("lost-block");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let mut connection = database.connect("filler");
    let spec = TableSpec::new("t")
        .column(ColumnSpec::new("id", Type::BigInt))
        .column(ColumnSpec::new("note", Type::Text))
        .primary_key(["id"]);
    let table = connection.create_table(&spec).expect("made");
    let note = "lost note ".repeat(30);
    let mut tx = connection.begin();
    for id in 0..22 {
        tx.insert(&table, &[Value::Int(id), Value::Text(&note)]).expect("inserted");
    }
    tx.commit().expect("committed");
    // The map is told that much room was made.
    let mut tx = connection.begin();
    for id in (1..22).step_by(2).filter(|_| deletes) {
        assert!(tx.delete(&table, &[Value::Int(id)]).expect("deleted"));
    }
    tx.commit().expect("committed");
    drop(connection);
    database.shutdown().expect("in good order");

    lose_block(&scratch, "lost note ");

    let database = Database::open(&scratch.0, &options()).expect("opened");
    let mut connection = database.connect("app");
    let table = connection.table("t").expect("there");
    let before = connection.get(&table, &[Value::Int(0)], |row| row.get_i64(0));
    assert!(before.is_err(), "the row is lost: {before:?}");
    let mut tx = connection.begin();
    // Refused or not.
    let inserted = tx.insert(&table, &[Value::Int(1_000), Value::Text("new")]).is_ok();
    tx.commit().expect("committed");
    let after = connection.get(&table, &[Value::Int(0)], |row| row.get_i64(0));
    let told = format!("key 0 shows {after:?} (deletes: {deletes}, inserted: {inserted})");
    assert!(after.is_err(), "row 0 is lost still, and {told}");
    drop(connection);
    database.shutdown().expect("in good order");
}

/// What somebody does with a database: everything is read, some is changed, a table is made. The
/// first refusal.
fn used(directory: &Path, first_id: i64) -> Result<(), database::Error> {
    let database = Database::open(directory, &options())?;
    let worked = (|| {
        let mut connection = database.connect("app");
        let table = connection.table("old")?;
        connection.scan(&table, |_| ())?;
        let mut tx = connection.begin();
        tx.update(&table, &[Value::Int(1)], |_, set| set.set(1, Value::Text("changed")))?;
        for id in first_id..first_id + 200 {
            tx.insert(&table, &[Value::Int(id), Value::Text("new")])?;
        }
        tx.commit()?;
        connection.create_table(&wide("another")).map(drop)
    })();
    let shut = database.shutdown();
    worked.and(shut)
}

/// Each block in turn is as if it had never been written (rule cache/CB40): it is refused by name,
/// or nobody needs it; nothing panics, and no other block is damaged by what is done then.
#[test]
fn a_block_of_zeros_is_refused_and_spreads_no_damage() {
    const FILES: [(&str, u64); 2] = [("data01.dbf", 400), ("undo01.dbf", 24)];
    let (made, scratch) = (Folder::absent("zeros-made"), Folder::absent("zeros"));
    made_with_table(&made.0, 60, false);
    let mut refused = 0;
    for (file, blocks) in FILES {
        // All of the first ones, where maps and directories are; then some.
        for block in (1..blocks).filter(|block| *block < 16 || block % 19 == 0) {
            let _ = std::fs::remove_dir_all(&scratch.0);
            std::fs::create_dir(&scratch.0).expect("made");
            for entry in std::fs::read_dir(&made.0).expect("read") {
                let entry = entry.expect("read");
                std::fs::copy(entry.path(), scratch.0.join(entry.file_name())).expect("copied");
            }
            let damaged = std::fs::OpenOptions::new().write(true).open(scratch.0.join(file));
            let zeros = [0; BLOCK as usize];
            damaged.expect("there").write_all_at(&zeros, block * BLOCK).expect("written");
            if let Err(stop) = used(&scratch.0, 1_000) {
                assert_eq!(stop.refusal(), Some(ErrorKind::Corrupt), "{file} {block}: {stop}");
                let said = stop.to_string();
                let is_named = said.contains("block") || said.contains("dictionary is damaged");
                assert!(is_named, "{file} {block}: {said}");
                refused += 1;
                // Still as it was found: refused again, and for the same reason.
                let again = used(&scratch.0, 2_000).expect_err("still damaged");
                assert_eq!(again.to_string(), stop.to_string(), "{file} {block}");
            }
        }
    }
    assert!(refused > 10, "{refused} blocks are needed");
}

//! A cursor remembers where the next leaf of an index was. That block may be taken out meanwhile,
//! and then is used elsewhere, or is free and needn't be readable: the cursor finds its way by the
//! root.

use std::ops::Bound;
use std::os::unix::fs::FileExt;

use access::{Cursor, Direction, Index, IndexBuilder, RowAddress};
use database::{Creation, Database, Options, Parameters};
use ids::{BlockSize, Dba};
use os::Session;
use txn::{Transaction, View};

use crate::common::Folder;

/// Keys of the index, each as long as a key may be: a leaf has four.
const KEYS: u64 = 20_000;

fn options(db_cache_size: u64) -> Options {
    let creation = Creation {
        db_block_size: BlockSize::KIB_2,
        data_bytes: 32 << 20,
        extent_blocks: 8,
        log_file_bytes: 4 << 20,
        ..Creation::default()
    };
    let parameters = Parameters { db_cache_size, ..Parameters::default() };
    Options { creation, parameters, ..Options::default() }
}

fn row(number: u64) -> RowAddress {
    RowAddress { block: Dba::new(9, number as u32), slot: 0 }
}

fn key(index: &Index, number: u64, more: u8) -> Vec<u8> {
    let tail = "0".repeat(index.key_max() - 8 - 1);
    [format!("{number:08}{tail}").as_bytes(), &[more]].concat()
}

fn number_of(key: &[u8]) -> u64 {
    let digits = std::str::from_utf8(&key[..8]).expect("eight digits");
    digits.parse().expect("a number")
}

/// An index with all keys but twenty near its end, which were deleted.
fn filled(database: &Database, session: &Session) -> Index {
    let (space, transactions) = (database.instance().space(), database.instance().transactions());
    let made = Index::create("system", "index", false, space, transactions, session);
    let index = made.expect("made");
    let mut builder = IndexBuilder::new(&index, session);
    for number in 0..KEYS {
        builder.add(&key(&index, number, 0), row(number)).expect("added");
    }
    builder.finish().expect("finished");
    let mut tx = Transaction::new();
    for number in KEYS - 40..KEYS - 20 {
        let key = key(&index, number, 0);
        assert!(index.delete(&mut tx, &key, row(number), session).expect("deleted"));
    }
    database.instance().commit(tx, session).expect("committed");
    index
}

/// Inserts so many keys at the beginning: leaves that are empty go, and are used there.
fn insert_before(database: &Database, index: &Index, keys: u8, session: &Session) {
    let mut tx = Transaction::new();
    for more in 1..=keys {
        index.insert(&mut tx, &key(index, 0, more), row(0), session).expect("inserted");
    }
    database.instance().commit(tx, session).expect("committed");
}

/// The keys around the gap.
fn around() -> Vec<u64> {
    (KEYS - 60..KEYS - 40).chain(KEYS - 20..KEYS).collect()
}

fn read(cursor: &mut Cursor<'_>, seen: &mut Vec<u64>, session: &Session) -> bool {
    cursor.visit(&mut |key, _| seen.push(number_of(key)), session).expect("it goes on")
}

#[test]
fn a_cursor_whose_next_leaf_is_used_elsewhere_finds_its_way() {
    let scratch = Folder::absent("hint-used");
    let database = Database::create(&scratch.0, &options(32 << 20)).expect("created");
    let connection = database.connect("app");
    let session = connection.session();
    let index = filled(&database, session);
    let transactions = database.instance().transactions();
    let snapshot = transactions.snapshot(None, session).expect("taken");
    let from = key(&index, KEYS - 60, 0);
    let range = (Bound::Included(&from[..]), Bound::Unbounded);
    let view = transactions.view_of(&snapshot, None);
    let mut cursor = index.cursor(range, Direction::Ascending, view);
    let mut seen = Vec::new();
    while seen.last() != Some(&(KEYS - 41)) {
        assert!(read(&mut cursor, &mut seen, session));
    }
    insert_before(&database, &index, 40, session);
    let before = connection.statistics();
    while read(&mut cursor, &mut seen, session) {}
    assert_eq!(seen, around());
    let gets = connection.statistics().since(&before).logical_reads();
    assert!(gets < 200, "{gets} gets: it went through the index from its beginning");
}

#[test]
fn a_cursor_whose_next_leaf_was_freed_and_is_damaged_goes_on() {
    // On a machine that is slow at the moment each use of a leaf counts, and hot blocks stay.
    let mut tries = (0..10).map(|number| goes_on_past_damage(&format!("hint-freed-{number}")));
    assert!(tries.any(|has_met_it| has_met_it), "the freed leaves stay in the cache each time");
}

/// False if all freed leaves stay in the cache.
fn goes_on_past_damage(folder: &str) -> bool {
    let scratch = Folder::absent(folder);
    let database = Database::create(&scratch.0, &options(400 << 10)).expect("created");
    let connection = database.connect("app");
    let session = connection.session();
    let index = filled(&database, session);
    let (space, transactions) = (database.instance().space(), database.instance().transactions());
    let snapshot = transactions.snapshot(None, session).expect("taken");
    let view: View = transactions.view_of(&snapshot, None);
    let from = key(&index, KEYS - 60, 0);
    let range = (Bound::Included(&from[..]), Bound::Unbounded);
    // Cursors that wait before each of the leaves there, most of which have nothing.
    let begun: Vec<_> = (1..12)
        .map(|steps| {
            let (mut cursor, mut seen) =
                (index.cursor(range, Direction::Ascending, view), Vec::new());
            for _ in 0..steps {
                read(&mut cursor, &mut seen, session);
            }
            (cursor, seen)
        })
        .collect();
    insert_before(&database, &index, 6, session);
    database.instance().checkpoint(session).expect("written");
    let header = index.segment().header;
    let freed = space.free_blocks(header, session).expect("read").sound().expect("right");
    assert!(!freed.is_empty(), "no leaf went");
    // Nearly nothing of them stays in the cache: a block that was used often may.
    for way in [Direction::Ascending, Direction::Descending].repeat(6) {
        let mut all = index.cursor((Bound::Unbounded, Bound::Unbounded), way, view);
        while read(&mut all, &mut Vec::new(), session) {}
    }
    let cache = space.changes().cache();
    let gone: Vec<Dba> =
        freed.into_iter().filter(|block| !cache.holds(&[*block], session)).collect();
    if gone.is_empty() {
        return false;
    }
    let path = scratch.0.join("data01.dbf");
    let file = std::fs::OpenOptions::new().write(true).open(path).expect("there");
    for block in &gone {
        let at = u64::from(block.block.get()) * 2_048;
        file.write_all_at(&[0xa5; 2_048], at).expect("written");
        assert!(cache.pin(*block, session).is_err(), "{block} was read before it was damaged");
    }
    for (mut cursor, mut seen) in begun {
        while read(&mut cursor, &mut seen, session) {}
        assert_eq!(seen, around());
    }
    true
}

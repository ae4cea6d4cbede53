//! An index needs no more blocks than what is in it: leaves that have become empty are found and
//! used again, whoever has emptied them, and whatever memory has forgotten since (rules access/BT11
//! and access/BT14).

use database::{
    ColumnSpec, Connection, Creation, DataFileSpec, Database, IndexSpec, Options, Parameters,
    Selection, Table, TableSpec, TablespaceSpec, Tx, Type, Value,
};
use ids::BlockSize;
use stop::RefusalKind;

use crate::common::Folder;

/// So many rows come at once.
const ROWS: i64 = 1_000;

fn options(data_bytes_max: u64) -> Options {
    let creation = Creation {
        db_block_size: BlockSize::KIB_2,
        data_bytes: 1 << 20,
        data_growth_bytes: 256 << 10,
        data_bytes_max,
        extent_blocks: 8,
        log_file_bytes: 4 << 20,
        ..Creation::default()
    };
    let parameters = Parameters { db_cache_size: 4 << 20, ..Parameters::default() };
    Options { creation, parameters, ..Options::default() }
}

fn made(scratch: &Folder, options: &Options) -> Database {
    let database = Database::create(&scratch.0, options).expect("created");
    let spec = TableSpec::new("t")
        .column(ColumnSpec::new("id", Type::BigInt))
        .column(ColumnSpec::new("code", Type::Text))
        .primary_key(["id"])
        .unique(["code"]);
    database.connect("maker").create_table(&spec).expect("made");
    database
}

/// Inserts rows with ids from one on; how many, if there is no room for more.
fn insert(tx: &mut Tx<'_, '_>, table: &Table, ids: impl Iterator<Item = i64>) -> usize {
    let mut inserted = 0;
    for id in ids {
        let code = format!("{id:012}");
        match tx.insert(table, &[Value::Int(id), Value::Text(&code)]) {
            Ok(_) => inserted += 1,
            Err(stop) if stop.refusal() == Some(RefusalKind::NoSpace) => break,
            Err(stop) => panic!("row {id}: {stop}"),
        }
    }
    inserted
}

/// Blocks of both indexes.
fn blocks(database: &Database, connection: &Connection<'_>) -> u32 {
    let session = connection.session();
    let relation = database.catalog().relation("t", session).expect("there");
    let space = database.instance().space();
    let each = (0..2).map(|number| {
        let header = relation.index(number).segment().header;
        let runs = space.blocks(header, session).expect("read");
        runs.iter().map(|run| run.count).sum::<u32>()
    });
    each.sum()
}

/// An empty table stays small, whatever is tried with it.
#[test]
fn loads_that_are_taken_back_leave_their_leaves_to_the_next() {
    for to_savepoint in [false, true] {
        let scratch = Folder::absent("loads");
        let database = made(&scratch, &options(32 << 20));
        let mut connection = database.connect("app");
        let table = connection.table("t").expect("there");
        let mut after = Vec::new();
        for load in 0..40 {
            let mut tx = connection.begin();
            let savepoint = tx.savepoint();
            let ids = load * ROWS..(load + 1) * ROWS;
            assert_eq!(insert(&mut tx, &table, ids), ROWS as usize);
            match to_savepoint {
                true => {
                    tx.rollback_to(savepoint).expect("taken back");
                    tx.commit().expect("committed");
                }
                false => tx.rollback().expect("rolled back"),
            }
            after.push(blocks(&database, &connection));
        }
        println!("to a savepoint: {to_savepoint}: {after:?}");
        // What a load emptied is free when its end is durable: two loads, and some in a hurry.
        assert!(after[39] < 8 * after[0], "the indexes grow, and have nothing: {after:?}");
        drop(connection);
        database.shutdown().expect("in good order");
    }
}

/// Nothing is known of its leaves when it is opened.
#[test]
fn an_index_that_was_emptied_and_opened_again_uses_its_leaves() {
    for leaves_a_load in [false, true] {
        let scratch = Folder::absent("emptied");
        let options = options(32 << 20);
        let mut database = made(&scratch, &options);
        let mut after = Vec::new();
        for round in 0..8 {
            let mut connection = database.connect("app");
            let table = connection.table("t").expect("there");
            let mut tx = connection.begin();
            assert_eq!(insert(&mut tx, &table, round * ROWS..(round + 1) * ROWS), ROWS as usize);
            match leaves_a_load {
                // Recovery takes it back.
                true => std::mem::forget(tx),
                false => {
                    tx.delete_where(&table, Selection::All, None).expect("deleted");
                    tx.commit().expect("committed");
                }
            }
            after.push(blocks(&database, &connection));
            drop(connection);
            match leaves_a_load {
                true => drop(database),
                false => database.shutdown().expect("in good order"),
            }
            database = Database::open(&scratch.0, &options).expect("opened");
        }
        println!("a load is left: {leaves_a_load}: {after:?}");
        assert!(after[7] < 2 * after[0], "the indexes of an empty table grow: {after:?}");
        database.shutdown().expect("in good order");
    }
}

/// Rows with even ids up to so many, as many as there is room for; those of the upper half are
/// deleted, and the database is opened again.
fn half_emptied(scratch: &Folder, options: &Options, rows: i64) -> (Database, i64) {
    let database = made(scratch, options);
    let mut connection = database.connect("app");
    let table = connection.table("t").expect("there");
    let mut tx = connection.begin();
    let inserted = insert(&mut tx, &table, (0..rows).map(|number| 2 * number)) as i64;
    for number in inserted / 2..inserted {
        assert!(tx.delete(&table, &[Value::Int(2 * number)]).expect("deleted"));
    }
    tx.commit().expect("committed");
    drop(connection);
    database.shutdown().expect("in good order");
    (Database::open(&scratch.0, options).expect("opened"), inserted)
}

/// Empty leaves at one end are no use to who looks at the other, but before it is refused.
#[test]
fn all_leaves_are_looked_at_before_an_insert_is_refused_for_want_of_space() {
    let scratch = Folder::absent("refused");
    let (database, inserted) = half_emptied(&scratch, &options(1 << 20), i64::MAX / 2);
    let mut connection = database.connect("app");
    let table = connection.table("t").expect("there");
    let mut tx = connection.begin();
    // Between those that stay.
    let again = insert(&mut tx, &table, (0..inserted / 2).map(|number| 2 * number + 1)) as i64;
    tx.commit().expect("committed");
    println!("{again} rows of {inserted} again");
    assert!(again > inserted * 9 / 20, "{again} rows where {} went", inserted / 2);
    drop(connection);
    database.shutdown().expect("in good order");
}

/// Leaves of both indexes that may be empty, and are known.
fn noted(database: &Database) -> u32 {
    let connection = database.connect("looker");
    let session = connection.session();
    let relation = database.catalog().relation("t", session).expect("there");
    let emptied = database.instance().space().emptied();
    (0..2).map(|at| emptied.count(relation.index(at).segment().header, session)).sum()
}

/// The first leaf of a branch goes when its branch has nothing else: it is looked at again then,
/// though it stayed before, and though the hand rests.
#[test]
fn first_leaves_of_branches_are_used_again_before_an_insert_is_refused() {
    const FAR: i64 = 1_000_000;
    let scratch = Folder::absent("firsts");
    let database = made(&scratch, &options(6 << 20));
    let mut connection = database.connect("app");
    let table = connection.table("t").expect("there");
    let mut insert_all = |ids: &mut dyn Iterator<Item = i64>| {
        let mut tx = connection.begin();
        let inserted = insert(&mut tx, &table, ids) as i64;
        tx.commit().expect("committed");
        inserted
    };
    let inserted = insert_all(&mut (0..24 * ROWS));
    assert_eq!(inserted, 24 * ROWS);
    let mut others = database.connect("other");
    let mut delete = |which: &dyn Fn(i64) -> bool| {
        let mut tx = others.begin();
        for id in (0..inserted).filter(|id| which(*id)) {
            assert!(tx.delete(&table, &[Value::Int(id)]).expect("deleted"));
        }
        tx.commit().expect("committed");
    };
    // Some leaves are empty, and all of these are looked at while their branches have others.
    let is_early = |id: i64| (id / 128) % 2 == 0;
    delete(&is_early);
    assert_eq!(insert_all(&mut (FAR..FAR + 24 * ROWS)), 24 * ROWS);
    assert!(noted(&database) > 0, "first leaves of branches are forgotten");
    delete(&|id| !is_early(id));
    let again = insert_all(&mut (2 * FAR..));
    println!("{again} rows where {inserted} were, and room is for some more; {}", noted(&database));
    // An index keeps its first leaf, and one more may be the last that had something.
    assert!(noted(&database) <= 4, "empty leaves stay");
    drop((connection, others));
    database.shutdown().expect("in good order");
}

/// An index in a small tablespace of its own, of which a leaf has 17 entries.
fn made_with_index_apart(scratch: &Folder, options: &Options) -> Database {
    let database = Database::create(&scratch.0, options).expect("created");
    let bytes = 400 * 2048;
    let file = DataFileSpec { path: "own.dbf".into(), bytes, bytes_max: bytes, growth_bytes: 0 };
    let own = TablespaceSpec {
        name: "own".into(),
        block_size: BlockSize::KIB_2,
        extent_blocks: 8,
        files: vec![file],
    };
    let mut connection = database.connect("maker");
    database.instance().create_tablespace(&own, connection.session()).expect("made");
    let spec = TableSpec::new("t")
        .column(ColumnSpec::new("id", Type::BigInt))
        .column(ColumnSpec::new("code", Type::Text))
        .primary_key(["id"]);
    connection.create_table(&spec).expect("made");
    let by_code = IndexSpec::new("by_code", "t", ["code"]);
    let by_code = IndexSpec { tablespace: Some("own".into()), ..by_code };
    connection.create_index(&by_code).expect("made");
    drop(connection);
    database
}

/// All rows go, and then each leaf is split once, from the last to the first: its own transaction's
/// deletions are there still, so the right half has nothing else. How many rows come then, far
/// behind, before there is no room; and how many more, opened again.
fn rows_behind_split_halves(are_split: bool) -> (usize, usize) {
    const LOADED: i64 = 2_400;
    let (scratch, options) = (Folder::absent("halves"), options(64 << 20));
    let database = made_with_index_apart(&scratch, &options);
    let insert_long = |tx: &mut Tx<'_, '_>, table: &Table, id: i64| {
        let code = format!("{id:012}{}", "k".repeat(80));
        match tx.insert(table, &[Value::Int(id), Value::Text(&code)]) {
            Err(stop) if stop.refusal() == Some(RefusalKind::NoSpace) => false,
            inserted => inserted.map(|_| true).expect("inserted"),
        }
    };
    let mut connection = database.connect("app");
    let table = connection.table("t").expect("there");
    let mut tx = connection.begin();
    assert!((0..LOADED).all(|at| insert_long(&mut tx, &table, 10 * at)));
    tx.commit().expect("committed");
    let mut tx = connection.begin();
    for at in 0..LOADED {
        assert!(tx.delete(&table, &[Value::Int(10 * at)]).expect("deleted"));
    }
    let new = (0..LOADED / 17).rev().filter(|_| are_split);
    new.for_each(|at| assert!(insert_long(&mut tx, &table, 170 * at + 5)));
    tx.commit().expect("committed");
    let come = |database: &Database, from: i64| {
        let mut connection = database.connect("app");
        let table = connection.table("t").expect("there");
        let mut all = 0;
        loop {
            let mut tx = connection.begin();
            let come = (0..50).take_while(|at| insert_long(&mut tx, &table, from + all + at));
            let come = come.count() as i64;
            tx.commit().expect("committed");
            all += come;
            if come < 50 {
                return all as usize;
            }
        }
    };
    let first = come(&database, 1_000_000_000);
    drop(connection);
    database.shutdown().expect("in good order");
    let database = Database::open(&scratch.0, &options).expect("opened");
    let second = come(&database, 2_000_000_000);
    database.shutdown().expect("in good order");
    (first, second)
}

/// A split may leave a half in which nothing lives: that is known, too.
#[test]
fn halves_of_splits_in_which_nothing_lives_are_used_again() {
    let come = [false, true].map(rows_behind_split_halves);
    println!("rows that come, and more when opened again: {come:?}");
    for (first, second) in come {
        assert!(second * 20 < first, "{first} rows came, and after a restart {second} more");
    }
}

/// Nor does it cost much to look where there is nothing.
#[test]
fn looking_for_empty_leaves_costs_inserts_less_than_a_hundredth() {
    let scratch = Folder::absent("looking");
    let options = options(32 << 20);
    let mut database = made(&scratch, &options);
    let mut next = 0;
    let mut gets = |database: &Database, rows: i64| {
        let mut connection = database.connect("app");
        let table = connection.table("t").expect("there");
        let before = connection.statistics();
        let mut tx = connection.begin();
        assert_eq!(insert(&mut tx, &table, next..next + rows) as i64, rows);
        tx.commit().expect("committed");
        next += rows;
        connection.statistics().since(&before).logical_reads()
    };
    let filling = gets(&database, 24 * ROWS);
    // In the first run after it was opened all leaves are looked at, in the last none.
    database.shutdown().expect("in good order");
    database = Database::open(&scratch.0, &options).expect("opened");
    let runs: Vec<u64> = (0..6).map(|_| gets(&database, 8 * ROWS)).collect();
    println!("buffer gets to fill {filling}, and of {} inserts each {runs:?}", 8 * ROWS);
    assert!(runs[1] * 100 <= runs[5] * 101, "looking costs too much: {runs:?}");
    database.shutdown().expect("in good order");
}

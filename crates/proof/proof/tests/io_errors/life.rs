//! A small life of a database whose disk fails: typed tables with every kind of constraint, numbers
//! from a sequence and from identity columns, rows that leave their blocks and rows longer than
//! one, transactions at both levels, definitions, a tablespace, and changes of the redo log.

use std::path::Path;

use database::{
    Bounds, ColumnSpec, Comparison, Condition, Connection, Database, IndexSpec, OnDelete, Operand,
    Options, Selection, SequenceOptions, Table, TableSpec, Tx, Type, Value,
};
use ids::BlockSize;
use instance::{Creation, DataFileSpec, LogChange, Parameters, TablespaceSpec};
use os::Session;
use os::probe::DurableWrite;
use sim::World;
use stop::{RefusalKind, Stop};

use crate::told::{Came, Journal};

const BLOCK: u64 = 2048;
/// Rows of a transaction: about two blocks, when they have grown.
pub(crate) const ROWS: i64 = 6;
/// The sequence.
pub(crate) const TICKET: &str = "ticket";

/// Places of columns.
pub(crate) mod column {
    pub(crate) const ID: usize = 0;
    pub(crate) const NUMBER: usize = 1;
    pub(crate) const PARENT: usize = 2;
    pub(crate) const NOTES: usize = 4;
}

fn directory() -> &'static Path {
    Path::new("/db")
}

fn creation() -> Creation {
    Creation {
        db_block_size: BlockSize::KIB_2,
        data_bytes: 24 * BLOCK,
        data_bytes_max: 400 * BLOCK,
        data_growth_bytes: 8 * BLOCK,
        undo_bytes: 32 * BLOCK,
        undo_bytes_max: 400 * BLOCK,
        undo_growth_bytes: 8 * BLOCK,
        extent_blocks: 4,
        log_file_bytes: u64::from(redo::LOG_BLOCKS_MIN) * 4096,
        log_groups: 3,
        undo_segments: 2,
        undo_slots: 4,
        doublewrite_slots: 16,
        ..Creation::default()
    }
}

fn parameters() -> Parameters {
    Parameters {
        db_cache_size: 24 * BLOCK,
        db_4k_cache_size: 16 * 4096,
        db_working_sets: 2,
        db_writer_batch: 4,
        log_buffer: redo::LOG_BUFFER_BYTES_MIN as u64,
        redo_write: Some(DurableWrite::DirectThenSync),
        redo_consistency: true,
        db_file_multiblock_read_count: 4,
        ..Parameters::default()
    }
}

fn file(path: &str) -> DataFileSpec {
    let (bytes, growth_bytes) = (16 * 4096, 4 * 4096);
    DataFileSpec { path: path.to_string(), bytes, bytes_max: 4 * bytes, growth_bytes }
}

fn users() -> TablespaceSpec {
    TablespaceSpec {
        name: "users".to_string(),
        block_size: BlockSize::KIB_4,
        extent_blocks: 4,
        files: vec![file("users01.dbf")],
    }
}

/// One transaction that leaves `ROWS` rows with its number. None if it halted.
fn transaction(
    (name, table): (&'static str, &Table),
    connection: &mut Connection<'_>,
    journal: &Journal,
) -> Option<()> {
    let number = journal.0.with(|told| {
        told.transactions.push((name, Some(Came::InDoubt)));
        told.transactions.len() - 1
    });
    let came = |came| journal.0.with(|told| told.transactions[number].1 = Some(came));
    let begun = match number % 2 {
        0 => Ok(connection.begin()),
        _ => connection.begin_serializable(),
    };
    let Ok(mut tx) = journal.hear(begun)? else {
        came(Came::Not);
        return Some(());
    };
    let takes_ticket = journal.0.with(|told| told.made.get(TICKET) == Some(&Came::There));
    let mut numbers = Vec::new();
    let done = match takes_ticket.then(|| tx.next_value(TICKET)).transpose() {
        Ok(ticket) => {
            numbers.extend(ticket.map(|ticket| (TICKET, ticket)));
            changes(number as i64, (name, table), &mut tx, &mut numbers)
        }
        Err(stop) => Err(stop),
    };
    if journal.hear(done)?.is_err() || number % 4 == 3 {
        journal.hear(tx.rollback())?.ok();
        came(Came::Not);
        return Some(());
    }
    match journal.hear(tx.commit())? {
        Ok(()) => {
            came(Came::There);
            journal.numbers(&numbers);
        }
        Err(()) => came(Came::Not),
    }
    Some(())
}

/// Characters of a row's notes in the end: some rows grow out of their blocks, one in three
/// transactions has one that is longer than any block.
pub(crate) fn length_of(number: i64, place: i64) -> usize {
    if number % 3 == 1 && place == 0 { 5_000 } else { 400 }
}

/// Inserts rows, has them grow, goes back to a savepoint, is refused by a CHECK, and deletes one.
fn changes(
    number: i64,
    (name, table): (&'static str, &Table),
    tx: &mut Tx<'_, '_>,
    numbers: &mut Vec<(&'static str, i64)>,
) -> Result<(), Stop> {
    for place in 0..=ROWS {
        let code = format!("code {}", place % 3);
        let parent = if place > 1 { Value::Int(number * 100) } else { Value::Null };
        let (id, notes) = (number * 100 + place, Value::Text("short"));
        let row = tx.insert_named(
            table,
            &[
                ("id", Value::Int(id)),
                ("number", Value::Int(number)),
                ("parent", parent),
                ("code", Value::Text(&code)),
                ("notes", notes),
            ],
        )?;
        numbers.push((name, row.identity.expect("it isn't named")));
    }
    let key = [Value::Int(number)];
    let own =
        Selection::Range(table.index(&format!("{}_by_number", table.name()))?, Bounds::equal(&key));
    let savepoint = tx.savepoint();
    tx.delete_where(table, own, None)?;
    tx.rollback_to(savepoint)?;
    let long = "n".repeat(length_of(1, 0));
    tx.update_where(table, own, None, |row, change| {
        let place = row.get_i64(column::ID).unwrap_or(0) - number * 100;
        change.set(column::NOTES, Value::Text(&long[..length_of(number, place)]))
    })?;
    let negative = tx.update(table, &[Value::Int(number * 100)], |_, change| {
        change.set(column::NUMBER, Value::Int(-1))
    });
    match negative {
        Err(stop) if stop.refusal() == Some(RefusalKind::CheckViolation) => {}
        Err(stop) => return Err(stop),
        Ok(_) => panic!("a CHECK let a number below zero through"),
    }
    tx.delete(table, &[Value::Int(number * 100 + ROWS)]).map(drop)
}

/// So many transactions on a table, if it can be had.
fn transactions(
    name: &'static str,
    count: u32,
    connection: &mut Connection<'_>,
    journal: &Journal,
) -> Option<()> {
    let Ok(table) = journal.hear(connection.table(name))? else { return Some(()) };
    for _ in 0..count {
        transaction((name, &table), connection, journal)?;
    }
    Some(())
}

/// Rows refer to a row of the same transaction, some to none; numbers aren't below zero, and an
/// identity column counts.
fn table(name: &str, tablespace: &str) -> TableSpec {
    TableSpec::new(name)
        .in_tablespace(tablespace)
        .column(ColumnSpec::new("id", Type::BigInt))
        .column(ColumnSpec::new("number", Type::BigInt).not_null())
        .column(ColumnSpec::new("parent", Type::BigInt))
        .column(ColumnSpec::new("code", Type::varchar(40).expect("a type")))
        .column(ColumnSpec::new("notes", Type::Text))
        .column(ColumnSpec::new("serial", Type::BigInt).identity(true))
        .primary_key(["id"])
        .unique(["number", "code", "id"])
        .named(&format!("{name}_by_number"))
        .unique(["serial"])
        .check(Condition::Compare(
            Operand::Column(column::NUMBER),
            Comparison::GreaterOrEqual,
            Operand::Constant(Value::Int(0).to_owned()),
        ))
        .foreign_key(["parent"], name, OnDelete::Cascade)
}

/// A group with two members comes, and another one and a member go, or are refused.
const LOG_CHANGES: [(&str, &str); 5] = [
    ("add_log_group", "208k:x1.log,x2.log"),
    ("switch_log", "next"),
    ("add_log_member", "1:y.log"),
    ("drop_log_member", "x1.log"),
    ("drop_log_group", "2"),
];

/// The first table, the sequence, and so many transactions. None if it halted.
fn begin(count: u32, database: &Database, journal: &Journal, session: &Session) -> Option<()> {
    let connection = &mut database.connect_with(session);
    journal.make("t", || connection.create_table(&table("t", "system")).map(drop))?;
    let by_threes = SequenceOptions { cache: Some(3), ..SequenceOptions::default() };
    journal.make(TICKET, || connection.create_sequence(TICKET, &by_threes))?;
    transactions("t", count, connection, journal)
}

/// What an open database is asked for in each of the lives. None if it halted.
pub(crate) fn work(
    life: u32,
    database: &Database,
    journal: &Journal,
    session: &Session,
) -> Option<()> {
    begin(if life == 0 { 6 } else { 2 }, database, journal, session)?;
    let instance = database.instance();
    let connection = &mut database.connect_with(session);
    let by_code = IndexSpec::new("t_by_code", "t", ["code", "parent"]);
    journal.make("t_by_code", || connection.create_index(&by_code))?;
    journal.hear(instance.checkpoint(session))?.ok();
    if life < 2 {
        let add = || instance.add_data_file("users", &file("users02.dbf"), session);
        journal.make("users", || instance.create_tablespace(&users(), session))?;
        journal.make("u", || connection.create_table(&table("u", "users")).map(drop))?;
        transactions("u", 2, connection, journal)?;
        journal.make("users02.dbf", add)?;
    }
    journal.hear(instance.redo().switch(session))?.ok();
    for (name, value) in LOG_CHANGES {
        let change = LogChange::read(name, value).expect("it is one").expect("it can be read");
        // What isn't refused is there when the next life opens: its log may be needed.
        journal.hear(instance.change_logs(&change, session))?.ok();
        transactions("t", 1, connection, journal)?;
    }
    transactions("u", 2, connection, journal)
}

fn options() -> Options {
    Options { creation: creation(), parameters: parameters(), ..Options::default() }
}

pub(crate) fn open(world: &World, session: &Session) -> Result<Database, Stop> {
    Database::open_in(&world.disk(), directory(), &options(), session)
}

pub(crate) fn create(world: &World, session: &Session) -> Result<Database, Stop> {
    Database::create_in(&world.disk(), directory(), &options(), session)
}

/// A life from the first byte on: the database is created, worked on a little, and shut.
pub(crate) fn from_nothing(world: &World, journal: &Journal, session: &Session) {
    journal.0.with(|told| told.created = Some(Came::InDoubt));
    let created = journal.hear(create(world, session));
    let came = if let Some(Ok(_)) = &created { Came::There } else { Came::Not };
    journal.0.with(|told| told.created = Some(came));
    if let Some(Ok(database)) = created {
        if begin(2, &database, journal, session).is_some() {
            journal.hear(database.shutdown_by(session));
        } else {
            drop(database);
        }
    }
    journal.0.with(|told| told.ended = true);
}

/// The lives: one that is killed, one that recovers, one after a shutdown. A life whose opening
/// fails is tried again.
pub(crate) fn lives(world: &World, journal: &Journal, session: &Session) {
    for life in 0..3 {
        for _ in 0..3 {
            let Some(Ok(database)) = journal.hear(open(world, session)) else { continue };
            let whole = work(life, &database, journal, session).is_some();
            if whole && life > 0 {
                // A shutdown that fails is a kill.
                journal.hear(database.shutdown_by(session));
            } else {
                drop(database);
            }
            break;
        }
    }
    journal.0.with(|told| told.ended = true);
}

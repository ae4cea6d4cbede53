//! The golden database of the newest format, as it is written: everything that lies on a disk is in
//! it, and it is small.
//!
//! ```text
//!   create ─▶ tables, rows, indexes, a sequence ─▶ shut                          golden: shut
//!                          │ again
//!                          └─▶ a transaction that doesn't end, checkpoint,
//!                              a commit ─▶ the power goes                        golden: crashed
//! ```
//!
//! Callers: the test, and the example `golden`, which writes the files.
//!
//! Both say the same rows: what is done before the power goes changes rows and changes them back.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::Path;

use catalog::{
    ColumnStatistics, Dependency, ExternalColumn, ExternalSpec, IndexStatistics, ObjectId,
    TableStatistics, ViewSpec,
};
use database::{
    Alteration, Bounds, ColumnDefault, ColumnSpec, Connection, Database, Date, Direction, Error,
    IndexSpec, LockWait, Number, OnDelete, Options, Scn, SequenceOptions, TableSpec, Timestamp,
    Type, Value,
};
use ids::BlockSize;
use instance::{Creation, Instance, Parameters};
use os::probe::DurableWrite;
use os::{FileOptions, Session};
use relation::{Condition, Operand};
use sim::fs::FileSystem;
use sim::fs::crash::CrashStates;
use sim::{CrashPoints, Outside, Perturbation, Report, Simulation};

/// A database's files, by name.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

/// Rows of the table that has most.
pub(crate) const ROWS: i64 = 60;
/// So many numbers are taken from the sequence.
pub(crate) const TICKETS: i64 = 7;

pub(crate) fn directory() -> &'static Path {
    Path::new("/db")
}

pub(crate) fn options() -> Options {
    let block = 2_048;
    let creation = Creation {
        db_block_size: BlockSize::KIB_2,
        data_bytes: 200 * block,
        data_bytes_max: 4_000 * block,
        data_growth_bytes: 16 * block,
        undo_bytes: 48 * block,
        undo_bytes_max: 4_000 * block,
        undo_growth_bytes: 16 * block,
        extent_blocks: 4,
        log_file_bytes: 2 * u64::from(redo::LOG_BLOCKS_MIN) * 4_096,
        log_groups: 3,
        undo_segments: 2,
        undo_slots: 8,
        doublewrite_slots: 16,
        ..Creation::default()
    };
    let parameters = Parameters {
        db_cache_size: 400 * block,
        db_working_sets: 2,
        db_writer_batch: 4,
        log_buffer: redo::LOG_BUFFER_BYTES_MIN as u64,
        redo_write: Some(DurableWrite::DirectThenSync),
        ..Parameters::default()
    };
    Options { creation, parameters, ..Options::default() }
}

pub(crate) fn machine(seed: u64, content: FileSystem) -> Simulation {
    proof::machine(seed, content, Perturbation::NONE)
}

pub(crate) fn left<R>(report: &mut Report<R>) -> FileSystem {
    let mut disk = report.disks.remove("disk").expect("the machine has one disk");
    disk.close_all();
    disk
}

pub(crate) fn ended<R>(report: Report<R>, what: &str) -> R {
    report.result.unwrap_or_else(|failure| panic!("{what}: {failure}"))
}

/// The database, shut in good order and crashed.
pub(crate) fn databases() -> (FileSystem, FileSystem) {
    let shut = shut(|_, _| ());
    let crashed = crashed(shut.clone());
    (shut, crashed)
}

/// The same, with a dictionary of the newest version and something of everything that came with it.
pub(crate) fn databases_of_texts() -> (FileSystem, FileSystem) {
    let shut = shut(add_texts);
    let crashed = crashed(shut.clone());
    (shut, crashed)
}

fn shut(add: fn(&Database, &Session)) -> FileSystem {
    let mut report = machine(1, FileSystem::new(1 << 30)).run(move |world, session| {
        let (disk, options) = (world.disk(), options());
        let (creation, parameters) = (&options.creation, &options.parameters);
        Instance::create(&disk, directory(), creation, parameters, session).expect("created");
        let database = Database::open_in(&disk, directory(), &options, session).expect("opened");
        let mut connection = database.connect_with(session);
        define(&mut connection).expect("defined");
        fill(&mut connection).expect("filled");
        drop(connection);
        let catalog = database.catalog();
        let ticket = catalog.sequence("ticket", session).expect("there");
        for _ in 0..TICKETS {
            catalog.next_value(&ticket, session).expect("a value");
        }
        add(&database, session);
        database.shutdown_by(session).expect("shut in good order");
    });
    let disk = left(&mut report);
    ended(report, "the golden database can't be made");
    disk
}

fn crashed(disk: FileSystem) -> FileSystem {
    let (taken, now) = (Outside::<Option<FileSystem>>::default(), Outside::new(false));
    let mut machine = machine(2, disk);
    let (inside, asked) = (taken.clone(), now.clone());
    machine.crash_points = Some(CrashPoints::new(move |_, _, cut| {
        if asked.with(std::mem::take) {
            let mut disk = cut().remove(0);
            disk.close_all();
            inside.with(|taken| *taken = Some(disk));
        }
    }));
    let report = machine.run(move |world, session| {
        let database =
            Database::open_in(&world.disk(), directory(), &options(), session).expect("opened");
        let mut connection = database.connect_with(session);
        let mut other = database.connect_with(session);
        there_and_back(&mut connection).expect("done");
        let item = connection.table("item").expect("there");
        let mut open = other.begin();
        for id in [1, 7, 12, 30] {
            let key = [Value::Int(id)];
            open.update(&item, &key, |_, row| row.set(1, Value::Text("nobody's")))
                .expect("changed");
        }
        open.delete(&item, &[Value::Int(2)]).expect("deleted");
        let row = [Value::Int(9_999), Value::Null, Value::Null, Value::Int(1), Value::Null];
        open.insert(&item, &row).expect("inserted");
        // What it has changed is on disk, and then redo of others follows.
        database.instance().checkpoint(session).expect("written");
        there_and_back(&mut connection).expect("done");
        // The power goes with the next write, before the transaction has ended.
        now.with(|now| *now = true);
        database.instance().checkpoint(session).expect("written");
        open.rollback().expect("ended");
        drop((connection, other));
        database.shutdown_by(session).expect("shut in good order");
    });
    ended(report, "the golden database doesn't crash");
    let disk = taken.with(Option::take).expect("the power went");
    CrashStates::of(&disk).sample(1)
}

pub(crate) fn file_options() -> FileOptions {
    FileOptions { direct: false, write_through: false }
}

/// The files of the database on this disk.
pub(crate) fn files_of(disk: FileSystem) -> Files {
    let report = machine(3, disk).run(|world, session| {
        let disk = world.disk();
        let names = disk.list(directory(), session).expect("listed");
        let read = |name: String| {
            let path = directory().join(&name);
            let file = disk.open_read_only(&path, file_options(), session).expect("opened");
            let mut bytes = os::IoBuf::zeroed(file.length().expect("it has one") as usize);
            let waiting = session.waiting(waits::WaitEvent::DbFileSequentialRead);
            file.read_at(0, &mut bytes, waiting).expect("read");
            (name, bytes.to_vec())
        };
        names.into_iter().map(read).collect::<Files>()
    });
    ended(report, "its files can't be read")
}

/// What is in the database that is shut on this disk.
pub(crate) fn text_of(disk: FileSystem) -> String {
    let report = machine(4, disk).run(|world, session| {
        let database =
            Database::open_in(&world.disk(), directory(), &options(), session).expect("opened");
        let text = text(&database, session);
        database.shutdown_by(session).expect("shut in good order");
        text
    });
    ended(report, "it can't be read")
}

fn define(connection: &mut Connection<'_>) -> Result<(), Error> {
    let number = |precision, scale| Type::number(precision, scale).expect("a type");
    let mut every =
        TableSpec::new("every_type").column(ColumnSpec::new("id", Type::BigInt).not_null());
    for (name, kind) in [
        ("small", Type::SmallInt),
        ("int", Type::Integer),
        ("n2", number(2, 0)),
        ("n4", number(4, 2)),
        ("n9", number(9, 3)),
        ("n18", number(18, 6)),
        ("n38", number(38, 10)),
        ("n", Type::Number(None)),
        ("double", Type::Double),
        ("varchar", Type::varchar(30).expect("a type")),
        ("char", Type::char(6).expect("a type")),
        ("text", Type::Text),
        ("bytea", Type::Bytea),
        ("boolean", Type::Boolean),
        ("date", Type::Date),
        ("timestamp", Type::Timestamp),
    ] {
        every = every.column(ColumnSpec::new(name, kind));
    }
    connection.create_table(&every.primary_key(["id"]))?;
    let mut all = IndexSpec::new("every_key", "every_type", ["n", "double", "timestamp", "bytea"]);
    all = all.descending(1);
    connection.create_index(&all)?;
    let group = TableSpec::new("kind")
        .column(ColumnSpec::new("id", Type::Integer).not_null())
        .column(ColumnSpec::new("name", Type::varchar(20)?).not_null())
        .primary_key(["id"]);
    connection.create_table(&group)?;
    let item = TableSpec::new("item")
        .column(ColumnSpec::new("id", Type::BigInt).not_null())
        .column(ColumnSpec::new("name", Type::varchar(40)?))
        .column(ColumnSpec::new("code", Type::Integer))
        .column(ColumnSpec::new("kind", Type::Integer).not_null())
        .column(ColumnSpec::new("notes", Type::Text))
        .primary_key(["id"])
        .unique(["code", "name"])
        .check(Condition::Not(Box::new(Condition::IsNull(Operand::Column(3)))))
        .foreign_key(["kind"], "kind", OnDelete::NoAction);
    connection.create_table(&item)?;
    connection.create_index(&IndexSpec::new("by_name", "item", ["name"]))?;
    connection.create_index(&IndexSpec::new("by_kind", "item", ["kind", "code"]).descending(1))?;
    let ticket = SequenceOptions { start: Some(1), ..SequenceOptions::default() };
    connection.create_sequence("ticket", &ticket)
}

/// A row of the table with all types; of 0 and 1 the least and the greatest, of 3 only NULLs.
pub(crate) fn row_of_every_type(id: i64) -> Vec<Value<'static>> {
    let number = |coefficient, scale| {
        Value::Number(Number::from_parts(coefficient, scale).expect("a number"))
    };
    let sign = if id == 0 { -1 } else { 1 };
    if id == 3 {
        let mut row = vec![Value::Null; 17];
        row[0] = Value::Int(id);
        return row;
    }
    let date = Date::from_calendar(1970 + sign * 99 + id as i32, 2, 28).expect("a date");
    let most = id == 1;
    vec![
        Value::Int(id),
        Value::Int(if most { i64::from(i16::MAX) } else { i64::from(i16::MIN) + id }),
        Value::Int(if most { i64::from(i32::MAX) } else { i64::from(i32::MIN) + id }),
        number(i128::from(sign) * 99, 0),
        number(i128::from(sign) * 9_999, 2),
        number(i128::from(sign) * 123_456_789, 3),
        number(i128::from(sign) * 123_456_789_012_345_678, 6),
        number(i128::from(sign) * 12_345_678_901_234_567_890_123_456_789_012_345_678, 10),
        number(i128::from(sign) * 271_828_182_845_904_523_536, id as i32 * 7 - 9),
        Value::Double(f64::from(sign) * if most { f64::MAX } else { 1.5e-300 }),
        Value::Text(if most { "größer als 🦀" } else { "" }),
        Value::Text("ab"),
        Value::Text("plain\nand \u{1F600}"),
        Value::Bytes(if most { &[0, 255, 0, 1] } else { &[] }),
        Value::Boolean(most),
        Value::Date(date),
        Value::Timestamp(Timestamp::midnight(date)),
    ]
}

/// Short rows, rows in several pieces, rows that have grown out of their blocks, holes.
fn fill(connection: &mut Connection<'_>) -> Result<(), Error> {
    let (every, kind) = (connection.table("every_type")?, connection.table("kind")?);
    let item = connection.table("item")?;
    let mut tx = connection.begin();
    for id in 0..5 {
        tx.insert(&every, &row_of_every_type(id))?;
        tx.insert(&kind, &[Value::Int(id), Value::Text(&format!("kind {id}"))])?;
    }
    tx.commit()?;
    for id in 0..ROWS {
        let mut tx = connection.begin();
        let name = format!("item {}", id / 4);
        let code = if id % 5 == 3 { Value::Null } else { Value::Int(id * 11) };
        let notes = "n".repeat(if id % 12 == 7 { 5_000 } else { (id * 7 % 50) as usize });
        let name = if id % 10 == 6 { Value::Null } else { Value::Text(&name) };
        let row = [Value::Int(id), name, code, Value::Int(id % 5), Value::Text(&notes)];
        tx.insert(&item, &row)?;
        tx.commit()?;
    }
    let mut tx = connection.begin();
    for id in (0..ROWS).filter(|id| id % 6 == 2) {
        let notes = "g".repeat(700);
        tx.update(&item, &[Value::Int(id)], |_, row| row.set(4, Value::Text(&notes)))?;
    }
    for id in (0..ROWS).filter(|id| id % 9 == 4) {
        tx.delete(&item, &[Value::Int(id)])?;
    }
    tx.commit()?;
    let mut tx = connection.begin();
    tx.delete(&item, &[Value::Int(0)])?;
    tx.rollback()?;
    let added = ColumnSpec::new("added", Type::varchar(9)?);
    let added = added.default_value(Value::Text("later").to_owned());
    connection.alter_table("kind", &Alteration::AddColumn(added))
}

/// Views, an external table, a DEFAULT that is an expression, comments, statistics.
fn add_texts(database: &Database, session: &Session) {
    let catalog = database.catalog();
    let item = catalog.table("item", session).expect("there");
    let bound_in = catalog.generation(session);
    let names = vec!["id".to_string(), "name".to_string()];
    let reads = Dependency { object: ObjectId::Table(item.object), columns: vec![0, 1] };
    let spec = ViewSpec {
        name: "item_names".into(),
        text: "select id, name from item where code > 100".into(),
        columns: names,
        depends_on: vec![reads],
        bound_in,
        replace: false,
        retyped: vec![],
    };
    catalog.create_view(&spec, session).expect("created");
    let column = |name: &str, kind| ExternalColumn { name: name.into(), kind };
    let columns = vec![column("line", Type::Integer), column("text", Type::Text)];
    let options = "location 'lines.csv' delimiter '|'".into();
    let spec = ExternalSpec { name: "lines".into(), columns, options };
    catalog.create_external(&spec, session).expect("created");
    let (column, text) = ("notes".into(), "upper('none')".into());
    let default = Alteration::SetDefaultExpression { column, text };
    catalog.alter_table("item", &default, LockWait::Forever, session).expect("altered");
    for (name, column) in [("item", None), ("item", Some("name")), ("item_names", Some("id"))] {
        let comment = format!("größer, of {name} {column:?}");
        catalog.comment_on(name, column, Some(&comment), session).expect("commented");
    }
    let of_column = ColumnStatistics {
        distinct: 15,
        nulls: 6,
        bytes: 7,
        low: Value::Text("item 0").to_owned(),
        high: Value::Text("item 9").to_owned(),
        histogram: vec![1, 2, 3],
    };
    let of_index =
        IndexStatistics { height: 2, leaf_blocks: 3, distinct_keys: 53, clustering_factor: 20 };
    let statistics = TableStatistics {
        rows: 53,
        blocks: 40,
        row_bytes: 120,
        sampled: 53,
        scn: Scn::new(1_000),
        analyzed: Timestamp::from_us(1_000_000).expect("a moment"),
        columns: BTreeMap::from([(1, of_column)]),
        indexes: item.indexes.iter().map(|index| (index.object, of_index)).collect(),
    };
    catalog.set_statistics(item.object, Some(statistics), session).expect("set");
}

/// Changes rows, and changes them back.
fn there_and_back(connection: &mut Connection<'_>) -> Result<(), Error> {
    let item = connection.table("item")?;
    for name in ["there", "back"] {
        let mut tx = connection.begin();
        for id in [3, 5, 8, 19] {
            tx.update(&item, &[Value::Int(id)], |row, change| {
                let is_back = name == "back";
                let notes = row.get_text(4).ok().flatten().unwrap_or("").to_string();
                let notes = if is_back { notes.replace('!', "") } else { notes + "!!!!!!!!" };
                change.set(4, Value::Text(&notes))
            })?;
        }
        tx.commit()?;
    }
    Ok(())
}

/// What is in the database: each table's columns and rows, by their keys, and the rows again in the
/// order of each index.
pub(crate) fn text(database: &Database, session: &Session) -> String {
    let mut connection = database.connect_with(session);
    let mut text = String::new();
    for name in ["every_type", "item", "kind"] {
        let table = connection.table(name).expect("there");
        let definition = table.definition().clone();
        writeln!(text, "table {name}").expect("a text takes all");
        for column in &definition.columns {
            let (name, kind) = (&column.name, column.kind);
            writeln!(text, "  {name} {kind} {}", column.not_null).expect("a text takes all");
        }
        for (place, index) in definition.indexes.iter().enumerate() {
            let flags = (index.unique, index.primary);
            writeln!(text, " by {} {flags:?}", index.name).expect("a text takes all");
            let read = connection.range(
                &table,
                index.id(),
                &Bounds::equal(&[]),
                Direction::Ascending,
                |row| {
                    let mut values = Vec::new();
                    row.get_all(&mut values).expect("a row");
                    // All of it once; then which it is.
                    let shown = if place == 0 { values.len() } else { 1 };
                    let values: Vec<_> = values[..shown].iter().map(shortened).collect();
                    writeln!(text, "  {}", values.join(" | ")).expect("a text takes all");
                    ControlFlow::Continue(())
                },
            );
            read.expect("read");
        }
    }
    describe_texts(database, session, &mut text);
    text
}

/// What came with later versions of the dictionary; nothing in one of the first.
fn describe_texts(database: &Database, session: &Session, text: &mut String) {
    let catalog = database.catalog();
    for view in catalog.views(session) {
        let (name, query, columns) = (&view.name, &view.text, &view.columns);
        writeln!(text, "view {name} {columns:?}: {query}").expect("a text takes all");
        for Dependency { object, columns } in &view.depends_on {
            writeln!(text, "  reads a {}, {columns:?}", object.kind()).expect("a text takes all");
        }
    }
    for external in catalog.externals(session) {
        let (name, options, columns) = (&external.name, &external.options, &external.columns);
        writeln!(text, "external table {name} {columns:?}: {options}").expect("a text takes all");
    }
    for name in ["item", "item_names"] {
        let Some(object) = catalog.named(name, session) else { continue };
        for column in [None, Some(0), Some(1)] {
            if let Some(comment) = catalog.comment(object, column, session) {
                writeln!(text, "comment on {name} {column:?}: {comment}").expect("text");
            }
        }
    }
    let item = catalog.table("item", session).expect("there");
    if let ColumnDefault::Expression(expression) = &item.columns[4].default {
        writeln!(text, "default: {expression}").expect("a text takes all");
    }
    if let Some(statistics) = catalog.statistics(item.object, session) {
        let TableStatistics { rows, columns, indexes, .. } = &*statistics;
        let indexes: Vec<_> = indexes.values().collect();
        writeln!(text, "statistics: {rows} {columns:?} {indexes:?}").expect("a text takes all");
    }
}

/// A value, and of a long one how long it is, and what its bytes come to.
fn shortened(value: &Value<'_>) -> String {
    let text = value.to_string();
    match text.len() {
        0..=60 => text.replace('\n', "\\n"),
        length => {
            let sum = text.bytes().fold(0_u32, |sum, byte| sum.rotate_left(5) ^ u32::from(byte));
            format!("{length} bytes, {sum:08x}")
        }
    }
}

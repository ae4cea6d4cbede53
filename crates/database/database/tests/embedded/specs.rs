//! Every spec is built of what `database` itself exports, and every shape of it works.

use database::{
    Alteration, BlockSize, Bounds, ColumnSpec, CommitLeader, CommitLogging, CommitWait, Comparison,
    Condition, ConstraintSpec, DataFileSpec, Database, DefaultSpec, Direction, DurableWrite,
    ErrorKind, FilesystemIo, ForeignKeySpec, IndexColumnSpec, IndexDirection, IndexSpec, LogChange,
    LogGroupSpec, LogStatus, LogView, NullOrdering, OnDelete, Operand, OwnedValue, Parameters,
    ProcessAffinity, ProcessPatterns, Rule, SequenceOptions, TableSpec, TablespaceSpec, Type,
    Value,
};

use crate::common::{Folder, options};

fn positive(column: usize) -> Condition {
    let zero = Operand::Constant(Value::Int(0).to_owned());
    let is_less = Condition::Compare(Operand::Column(column), Comparison::Less, zero);
    Condition::Not(Box::new(Condition::Or(vec![is_less, Condition::IsNull(Operand::Column(0))])))
}

fn place() -> TableSpec {
    TableSpec {
        name: "place".into(),
        tablespace: None,
        columns: vec![
            ColumnSpec {
                name: "id".into(),
                kind: Type::BigInt,
                not_null: true,
                default: DefaultSpec::Identity {
                    always: false,
                    options: SequenceOptions { increment: Some(5), ..SequenceOptions::default() },
                },
            },
            ColumnSpec {
                name: "size".into(),
                kind: Type::Integer,
                not_null: false,
                default: DefaultSpec::Constant(OwnedValue::NULL),
            },
        ],
        constraints: vec![
            ConstraintSpec { name: None, rule: Rule::PrimaryKey(vec!["id".into()]) },
            ConstraintSpec { name: Some("sound".into()), rule: Rule::Check(positive(1)) },
            ConstraintSpec { name: None, rule: Rule::Unique(vec!["size".into(), "id".into()]) },
        ],
        indexes: Vec::new(),
    }
}

fn within() -> Rule {
    Rule::ForeignKey(ForeignKeySpec {
        columns: vec!["size".into()],
        references: "place".into(),
        referenced_columns: vec!["id".into()],
        on_delete: OnDelete::SetNull,
    })
}

fn by_size() -> IndexSpec {
    let direction = IndexDirection::Descending;
    let (name, nulls) = ("size".to_owned(), Some(NullOrdering::Last));
    IndexSpec {
        name: "by_size".into(),
        table: "place".into(),
        columns: vec![IndexColumnSpec { name, direction, nulls }],
        unique: false,
        tablespace: None,
    }
}

#[test]
fn every_spec_is_built_of_what_the_crate_exports() {
    let scratch = Folder::absent("specs");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let mut connection = database.connect("app");
    connection.create_table(&place()).expect("made");
    connection.create_index(&by_size()).expect("made");
    let within = ConstraintSpec { name: Some("within".into()), rule: within() };
    connection.alter_table("place", &Alteration::AddConstraint(within)).expect("added");
    let place = connection.table("place").expect("there");
    let definition: &database::TableDefinition = place.definition();
    assert_eq!(definition.columns[1].kind, Type::Integer);

    let mut tx = connection.begin();
    for size in [Value::Null, Value::Int(1), Value::Int(6)] {
        tx.insert_named(&place, &[("size", size)]).expect("inserted");
    }
    tx.commit().expect("committed");
    let mut sizes = Vec::new();
    let by_size = place.index("by_size").expect("there");
    let read =
        connection.range(&place, by_size, &Bounds::equal(&[]), Direction::Ascending, |row| {
            sizes.push(row.get_i64(1));
            std::ops::ControlFlow::Continue(())
        });
    read.expect("read");
    assert_eq!(sizes, [Some(6), Some(1), None]);
    drop(connection);
    database.shutdown().expect("in good order");
}

fn counting(kind: Type, options: SequenceOptions) -> ColumnSpec {
    let default = DefaultSpec::Identity { always: false, options };
    ColumnSpec { default, ..ColumnSpec::new("id", kind) }
}

#[test]
fn an_identity_that_counts_down_begins_where_such_a_sequence_does() {
    let scratch = Folder::absent("identity-down");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let mut connection = database.connect("app");
    let down = || SequenceOptions { increment: Some(-1), ..SequenceOptions::default() };
    connection.create_sequence("plain", &down()).expect("made");
    assert_eq!(connection.next_value("plain").expect("a value"), -1);
    for (name, kind) in [("i", Type::Integer), ("b", Type::BigInt), ("s", Type::SmallInt)] {
        let spec = TableSpec::new(name)
            .column(counting(kind, down()))
            .column(ColumnSpec::new("n", Type::BigInt));
        let table = connection.create_table(&spec).expect("made");
        let mut tx = connection.begin();
        let first = tx.insert_named(&table, &[("n", Value::Int(1))]).expect("inserted");
        let second = tx.insert_named(&table, &[("n", Value::Int(2))]).expect("inserted");
        assert_eq!((first.identity, second.identity), (Some(-1), Some(-2)), "{kind}");
        tx.commit().expect("committed");
    }
    drop(connection);
    database.shutdown().expect("in good order");
}

#[test]
fn an_identity_that_counts_down_ends_where_its_type_does() {
    let scratch = Folder::absent("identity-end");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let mut connection = database.connect("app");
    let start = Some(i64::from(i16::MIN));
    let last = SequenceOptions { increment: Some(-1), start, ..SequenceOptions::default() };
    let spec = TableSpec::new("t")
        .column(counting(Type::SmallInt, last))
        .column(ColumnSpec::new("n", Type::BigInt));
    let table = connection.create_table(&spec).expect("made");
    let mut tx = connection.begin();
    let first = tx.insert_named(&table, &[("n", Value::Int(1))]).expect("inserted");
    assert_eq!(first.identity, Some(i64::from(i16::MIN)));
    let refused = tx.insert_named(&table, &[("n", Value::Int(2))]).expect_err("at its end");
    assert_eq!(refused.refusal(), Some(ErrorKind::NoSpace), "{refused}");
    tx.rollback().expect("ended");
    drop(connection);
    database.shutdown().expect("in good order");
}

#[test]
fn an_identity_whose_numbers_its_column_cannot_hold_is_refused() {
    let scratch = Folder::absent("identity-wide");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let mut connection = database.connect("app");
    let plain = SequenceOptions::default;
    for wide in [
        SequenceOptions { max: Some(40_000), ..plain() },
        SequenceOptions { min: Some(-40_000), ..plain() },
        SequenceOptions { increment: Some(-1), min: Some(-40_000), ..plain() },
    ] {
        let spec = TableSpec::new("t").column(counting(Type::SmallInt, wide));
        let refused = connection.create_table(&spec).map(|_| ()).expect_err("too wide");
        assert_eq!(refused.refusal(), Some(ErrorKind::Invalid), "{refused}");
    }
    drop(connection);
    database.shutdown().expect("in good order");
}

/// A database of several tablespaces, files and log members, and an instance with every parameter
/// that isn't a number, by `database` alone.
#[test]
fn what_a_database_is_made_of_is_named_by_database_itself() {
    let scratch = Folder::absent("made-of");
    let file = |path: &str| DataFileSpec {
        path: path.into(),
        bytes: 1 << 20,
        bytes_max: 2 << 20,
        growth_bytes: 1 << 20,
    };
    let group = |path: &str| LogGroupSpec { bytes: 1 << 20, members: vec![path.into()] };
    let mut options = options();
    options.creation.data_files.push(file("more.dbf"));
    options.creation.tablespaces.push(TablespaceSpec {
        name: "small".into(),
        block_size: BlockSize::KIB_4,
        extent_blocks: 8,
        files: vec![file("small.dbf")],
    });
    options.creation.log_files = vec![group("one.log"), group("two.log")];
    options.parameters = Parameters {
        db_4k_cache_size: 1 << 20,
        commit_leader: CommitLeader::Lgwr,
        commit_wait: CommitWait::Wait,
        commit_logging: CommitLogging::Batch,
        filesystemio_options: FilesystemIo::Asynch,
        redo_write: Some(DurableWrite::DirectThenSync),
        high_priority_processes: ProcessPatterns::default(),
        process_affinity: ProcessAffinity::default(),
        ..options.parameters
    };
    let database = Database::create(&scratch.0, &options).expect("created");
    let session = os::linux::start().adopt("logs", waits::SessionKind::Foreground);
    let change = LogChange::read("add_log_member", "1:one-b.log").expect("it is one");
    let change = change.expect("it is well formed");
    database.instance().change_logs(&change, &session).expect("added");
    let groups: Vec<LogView> = database.instance().log_groups(&session);
    assert!(groups.iter().any(|group| group.status == LogStatus::Current));
    drop(session);
    database.shutdown().expect("in good order");
}

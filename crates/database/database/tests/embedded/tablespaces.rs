//! Tables whose indexes lie in tablespaces of their own.

use database::{ColumnSpec, Connection, Database, IndexSpec, TableSpec, Type, Value};
use instance::{DataFileSpec, TablespaceSpec};
use waits::{SessionKind, Statistic};

use crate::common::{Folder, options};

/// With a tablespace `large`, of blocks of 32 KiB; its own are of 8 KiB.
fn with_large_blocks(scratch: &Folder) -> Database {
    let mut options = options();
    options.parameters.db_32k_cache_size = 4 << 20;
    let database = Database::create(&scratch.0, &options).expect("created");
    let session = os::linux::start().adopt("administrator", SessionKind::Foreground);
    let file = DataFileSpec {
        path: "large.dbf".into(),
        bytes: 8 << 20,
        bytes_max: 64 << 20,
        growth_bytes: 1 << 20,
    };
    let large = TablespaceSpec {
        name: "large".into(),
        block_size: ids::BlockSize::KIB_32,
        extent_blocks: 8,
        files: vec![file],
    };
    database.instance().create_tablespace(&large, &session).expect("made");
    database
}

/// The index takes keys of 3,000 bytes only in a tablespace with larger blocks.
#[test]
fn an_index_stays_in_its_tablespace_when_its_table_is_truncated() {
    let scratch = Folder::absent("truncate-tablespace");
    let database = with_large_blocks(&scratch);
    let mut app = database.connect("app");
    let spec = TableSpec::new("t")
        .column(ColumnSpec::new("id", Type::BigInt))
        .column(ColumnSpec::new("name", Type::Text))
        .primary_key(["id"]);
    let table = app.create_table(&spec).expect("made");
    let by_name = IndexSpec::new("by_name", "t", ["name"]);
    app.create_index(&IndexSpec { tablespace: Some("large".into()), ..by_name }).expect("made");
    let name = "x".repeat(3_000);
    let row = [Value::Int(1), Value::Text(&name)];
    let mut tx = app.begin();
    tx.insert(&table, &row).expect("the index takes keys of 3,000 bytes");
    tx.commit().expect("committed");
    app.truncate_table("t").expect("truncated");
    let mut tx = app.begin();
    tx.insert(&table, &row).expect("the same row goes in after the truncate");
    tx.commit().expect("committed");
    drop(app);
    database.shutdown().expect("in good order");
}

/// Rows of which an undo block takes just one: a block that has no room for another one, with what
/// stays free, isn't looked at again and again (rule access/AC12).
#[test]
fn a_full_block_of_long_rows_is_looked_at_once() {
    let scratch = Folder::absent("long-rows-tablespace");
    let database = with_large_blocks(&scratch);
    let mut app = database.connect("app");
    let spec = TableSpec::new("t")
        .column(ColumnSpec::new("id", Type::BigInt))
        .column(ColumnSpec::new("body", Type::Text))
        .in_tablespace("large");
    let table = app.create_table(&spec).expect("made");
    let gets = |app: &mut Connection<'_>, length: usize| {
        let (body, before) = ("x".repeat(length), app.statistics());
        for id in 0..600 {
            let mut tx = app.begin();
            tx.insert(&table, &[Value::Int(id), Value::Text(&body)]).expect("inserted");
            tx.commit().expect("committed");
        }
        app.statistics().since(&before).statistic(Statistic::CurrentGets)
    };
    let (shorter, longer) = (gets(&mut app, 6_500), gets(&mut app, 7_500));
    assert!(longer < shorter * 5 / 4, "{longer} current gets, and {shorter} for shorter rows");
    drop(app);
    database.shutdown().expect("in good order");
}

//! Tables whose indexes lie in tablespaces of their own.

use database::{ColumnSpec, Database, IndexSpec, TableSpec, Type, Value};
use instance::{DataFileSpec, TablespaceSpec};
use waits::SessionKind;

use crate::common::{Scratch, options};

/// The index takes keys of 3,000 bytes only in a tablespace with larger blocks.
#[test]
fn an_index_stays_in_its_tablespace_when_its_table_is_truncated() {
    let scratch = Scratch::new("truncate-tablespace");
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
    drop((app, session));
    database.shutdown().expect("in good order");
}

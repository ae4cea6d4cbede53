//! A cache that is made smaller and larger takes the memory of its size.
//!
//! The only test of its process, for it measures the process.
#![forbid(unsafe_code)]
#![expect(clippy::disallowed_methods, reason = "it looks at its process, and removes its files")]

use std::path::Path;

use database::{ColumnSpec, Database, Options, Parameters, TableSpec, Type, Value};
use waits::SessionKind;

const MIB: u64 = 1 << 20;

/// Bytes of this process that are in memory.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = status.lines().find(|line| line.starts_with("VmRSS")).expect("it is told");
    let kib: u64 = line.split_whitespace().nth(1).expect("a number").parse().expect("a number");
    kib << 10
}

#[test]
fn a_cache_that_shrinks_and_grows_keeps_its_size() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("resized");
    std::fs::remove_dir_all(&directory).ok();
    let session = os::linux::start().adopt("app", SessionKind::Foreground);
    let parameters = Parameters { db_cache_size: 16 * MIB, ..Parameters::default() };
    let mut options = Options { parameters, ..Options::default() };
    options.creation.data_bytes = 64 * MIB;
    let disk = os::linux::disk();
    let database = Database::create_in(&disk, &directory, &options, &session).expect("created");
    let mut connection = database.connect_with(&session);
    let spec = TableSpec::new("t")
        .column(ColumnSpec::new("id", Type::BigInt))
        .column(ColumnSpec::new("text", Type::Text))
        .primary_key(["id"]);
    let table = connection.create_table(&spec).expect("made");
    let text = "x".repeat(1_500);
    for part in 0..40 {
        let mut transaction = connection.begin();
        for id in part * 500..part * 500 + 500 {
            let row = [Value::Int(id), Value::Text(&text)];
            transaction.insert(&table, &row).expect("inserted");
        }
        transaction.commit().expect("committed");
    }
    let mut dice = 7_u64;
    let mut read = |times: u32| {
        for _ in 0..times {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let id = (dice >> 33) as i64 % 20_000;
            connection.get(&table, &[Value::Int(id)], |_| ()).expect("read");
        }
    };
    read(10_000);
    let before = resident();
    for _ in 0..60 {
        for size in ["15m", "16m"] {
            let set = database.instance().set_parameter("db_cache_size", size, &session);
            set.expect("there is room");
        }
        read(1_000);
    }
    let after = resident();
    drop(connection);
    database.shutdown_by(&session).expect("in good order");
    std::fs::remove_dir_all(&directory).ok();
    assert!(after < before + 8 * MIB, "{} KiB, and then {} KiB", before >> 10, after >> 10);
}

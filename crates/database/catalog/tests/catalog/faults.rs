//! A statement that finds no room leaves nothing behind.

use instance::{Creation, Instance};
use sim::fs::FileSystem;
use stop::RefusalKind;
use value::{Type, Value};

use crate::common::{
    Db, WAIT, column, creation, customer, database_with, directory, index, machine, parameters,
    primary, run, table, text,
};

#[test]
fn an_index_that_finds_no_room_leaves_nothing_behind() {
    let bytes = 300 * 2048;
    let small = Creation { data_bytes: bytes, data_bytes_max: bytes, ..creation() };
    database_with(small, |db, session| {
        let columns = vec![column("id", Type::BigInt), column("name", text(200))];
        let spec = table("t", columns, vec![primary(&["id"])]);
        db.catalog.create_table(&spec, WAIT, session).expect("created");
        let long = "x".repeat(150);
        let mut number = 0;
        // Fills the space until half of it is used.
        let full = loop {
            let name = format!("{long}{number}");
            match db.insert("t", &[Value::Int(number), Value::Text(&name)], session) {
                Ok(_) => number += 1,
                Err(stop) => break stop,
            }
            if number == 700 {
                break stop::Stop::refuse(RefusalKind::NoSpace, "enough");
            }
        };
        assert_eq!(full.refusal(), Some(RefusalKind::NoSpace), "{full}");
        let before = db.describe(session);
        let spec = index("by_name", "t", &["name"], true);
        let made = db.catalog.create_index(&spec, WAIT, session).expect_err("no room");
        assert_eq!(made.refusal(), Some(RefusalKind::NoSpace), "{made}");
        assert_eq!(db.describe(session), before);
        db.check(session);
        // The space that it had taken is free: the table can be dropped, and another made.
        db.catalog.drop_table("t", false, WAIT, session).expect("dropped");
        db.catalog.create_table(&customer(), WAIT, session).expect("created");
    });
}

/// More keys than the sort's area holds: they go through a file, and the index is right.
#[test]
fn an_index_of_more_than_the_memory_is_built_through_a_file() {
    run(machine(1, FileSystem::new(1 << 30)), |world, session| {
        let disk = world.disk();
        let large = Creation { data_bytes_max: 20_000 * 2048, ..creation() };
        Instance::create(&disk, directory(), &large, &parameters(), session).expect("created");
        let db = Db::open(world, session).expect("opened");
        let columns = vec![column("id", Type::BigInt), column("name", text(200))];
        let spec = table("t", columns, vec![]);
        db.catalog.create_table(&spec, WAIT, session).expect("created");
        let relation = db.relation("t", session);
        for batch in 0..40_i64 {
            let names: Vec<String> = (0..100)
                .map(|number: i64| {
                    let mixed = (batch * 100 + number).wrapping_mul(7_919) % 10_007;
                    format!("{mixed:0>190}")
                })
                .collect();
            db.transact(session, |work| {
                names.iter().try_for_each(|name| {
                    let row = [Value::Int(batch), Value::Text(name)];
                    relation.insert(work, &row).map(|_| ())
                })
            })
            .expect("inserted");
        }
        let spec = index("by_name", "t", &["name"], true);
        let before = disk.list(directory(), session).expect("listed");
        db.catalog.create_index(&spec, WAIT, session).expect("created");
        assert_eq!(disk.list(directory(), session).expect("listed"), before);
        let sorted = session.account().statistic(waits::Statistic::SortsDisk);
        assert_eq!(sorted, 1, "the sort went through a file");
        db.check(session);
        db.shut(session);
    });
}

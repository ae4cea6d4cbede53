//! Order entry in the simulator: the thirteen conditions hold after work, kills and power cuts, at
//! both levels, and each of them can fail; and each constraint is there and refuses.
#![forbid(unsafe_code)]

mod common;

use std::path::Path;

use database::{Alteration, Database, Value};
use os::Session;
use sim::fs::FileSystem;
use sim::fs::crash::CrashStates;
use sim::{Failure, Outside};
use stop::{RefusalKind, Stop};
use waits::Nanos;
use workload::order_entry::{self, Plan, Scale};
use workload::{Audit, Watch};

use common::{create, drive, machine, open, options};

const SCALE: Scale = Scale { warehouses: 2, customers: 12, items: 40 };

/// A database with the tables, shut.
fn loaded() -> FileSystem {
    let report = machine(1, FileSystem::new(1 << 30)).run(|world, session| {
        let database = create(world, session);
        let mut connection = database.connect_with(session);
        let loaded = order_entry::load(&mut connection, SCALE, 1, &mut |_| true);
        assert!(loaded.expect("loaded"), "nobody broke it off");
        drop(connection);
        database.shutdown_by(session).expect("shut");
    });
    let disk = report.disks["disk"].clone();
    report.result.expect("it runs");
    disk
}

fn audit(content: FileSystem, told: Vec<(u32, u64)>) -> Audit {
    let report = machine(2, content).run(move |world, session| {
        let database = open(world, session);
        let mut connection = database.connect_with(session);
        let found = order_entry::audit(&mut connection, &told).expect("read");
        drop(connection);
        database.shutdown_by(session).expect("shut");
        found
    });
    report.result.expect("it runs")
}

/// Anyone may drop a constraint; the load can't work without it then.
#[test]
fn a_primary_key_that_was_dropped_is_refused_by_the_name_of_its_table() {
    let report = machine(3, loaded()).run(|world, session| {
        let database = open(world, session);
        let mut connection = database.connect_with(session);
        let key = Alteration::DropConstraint { name: "warehouse_pkey".into(), cascade: true };
        connection.alter_table("warehouse", &key).expect("dropped");
        let stop = Scale::of(&mut connection).expect_err("there is no key");
        assert_eq!(stop.refusal(), Some(RefusalKind::WrongState), "{stop}");
        assert!(stop.to_string().contains("table warehouse"), "{stop}");
        drop(connection);
        database.shutdown_by(session).expect("shut");
    });
    report.result.expect("it runs");
}

#[test]
fn the_conditions_hold_of_what_was_loaded() {
    assert_eq!(audit(loaded(), Vec::new()), Audit::default());
    // A session that was told of commits and has none has lost them; the books are right.
    let lost = audit(loaded(), vec![(3, 9)]);
    assert_eq!(lost, Audit { acknowledged: 9, lost: 9, ..Audit::default() });
}

#[test]
fn the_conditions_hold_after_work_and_after_power_cuts() {
    let mut disk = loaded();
    let told = Outside::<Vec<(u32, u64)>>::default();
    let mut commits = 0;
    for round in 0..6_u32 {
        let mut machine = machine(u64::from(round), disk);
        if round % 2 == 1 {
            let made = machine.disks[0].content.crash_points();
            machine.disks[0].content.lose_power_at(made + 200 + 150 * u64::from(round));
        }
        let inside = told.clone();
        let report = machine.run(move |world, session| {
            let database = open(world, session);
            let witness = {
                let told = inside.clone();
                std::sync::Arc::new(move |session: u32, number: u64| {
                    told.with(|told| {
                        told.retain(|(known, _)| *known != session);
                        told.push((session, number));
                    });
                }) as workload::Witness
            };
            let (drive, seed) = (drive(4 * round, 300), u64::from(round));
            let plan = Plan { drive, seed, serializable: 20 * (round / 2) };
            let watch = Watch { witness: Some(witness), ..Watch::default() };
            let ran = order_entry::run(&database, plan, watch, session);
            ran.expect("it runs to its end");
            database.shutdown_by(session)
        });
        match &report.result {
            Ok(shut) => assert!(shut.is_ok(), "round {round}"),
            Err(Failure::PowerLost) if round % 2 == 1 => {}
            Err(failure) => panic!("round {round}: {failure}"),
        }
        let mut left = report.disks["disk"].clone();
        left.close_all();
        left.cut_power();
        disk = CrashStates::of(&left).sample(round.into());
        let known = told.with(|told| told.clone());
        commits = known.iter().map(|(_, number)| number).sum();
        let found = audit(disk.clone(), known);
        assert!(found.is_clean(), "round {round}: {found:?}");
    }
    assert!(commits > 200, "{commits} commits");
}

#[test]
fn a_load_whose_sessions_cannot_all_be_started_ends_those_that_were() {
    let report = machine(3, loaded()).run(|world, session| {
        let database = open(world, session);
        let plan = Plan { drive: drive(0, 60_000), seed: 3, serializable: 0 };
        let began = session.now();
        world.limit_threads(Some(2));
        let refused = order_entry::run(&database, plan, Watch::default(), session);
        world.limit_threads(None);
        let Err(refused) = refused else { panic!("two of four sessions were started") };
        assert!(refused.to_string().contains("thread"), "{refused}");
        assert!(session.now().since(began) < Nanos::from_secs(10), "it doesn't go on for a minute");
        database.shutdown_by(session).expect("shut");
    });
    report.result.expect("it runs");
}

/// Does `harm` to a sound database; which conditions notice.
fn noticed(
    harm: impl FnOnce(&Database, &Session) -> Result<(), Stop> + Send + 'static,
) -> Vec<u32> {
    let report = machine(3, loaded()).run(move |world, session| {
        let database = open(world, session);
        harm(&database, session).expect("harmed");
        let mut connection = database.connect_with(session);
        let found = order_entry::conditions(&mut connection, SCALE).expect("read");
        drop(connection);
        database.shutdown_by(session).expect("shut");
        found
    });
    let lines = report.result.expect("it runs");
    let number = |line: &String| {
        let number = line.strip_prefix("condition ").and_then(|rest| rest.split(':').next());
        number.and_then(|number| number.parse().ok()).expect("a line names its condition")
    };
    let mut numbers: Vec<u32> = lines.iter().map(number).collect();
    numbers.dedup();
    numbers
}

fn set(table: &'static str, key: &'static [i64], column: &'static str, value: i64) -> Vec<u32> {
    noticed(move |database, session| {
        let mut connection = database.connect_with(session);
        let table = connection.table(table)?;
        let column = table.column(column)?;
        let key: Vec<Value<'_>> = key.iter().map(|number| Value::Int(*number)).collect();
        let mut tx = connection.begin();
        assert!(tx.update(&table, &key, |_, change| change.set(column, Value::Int(value)))?);
        tx.commit()
    })
}

fn remove(table: &'static str, key: &'static [i64]) -> Vec<u32> {
    noticed(move |database, session| {
        let mut connection = database.connect_with(session);
        let table = connection.table(table)?;
        let key: Vec<Value<'_>> = key.iter().map(|number| Value::Int(*number)).collect();
        let mut tx = connection.begin();
        assert!(tx.delete(&table, &key)?);
        tx.commit()
    })
}

/// Each condition can fail: this is what a lost or a doubled change would look like.
#[test]
fn each_condition_notices_what_it_is_for() {
    assert_eq!(set("warehouse", &[1], "w_ytd", 5), [1, 8]);
    assert_eq!(set("district", &[1, 2], "d_next_o_id", 5), [2]);
    assert_eq!(set("district", &[1, 2], "d_ytd", 5), [1, 9]);
    assert_eq!(remove("new_order", &[2, 3, 10]), [3, 11, 5]);
    assert_eq!(set("orders", &[1, 1, 1], "o_ol_cnt", 99), [4, 6]);
    assert_eq!(set("orders", &[1, 1, 12], "o_carrier_id", 3), [5, 7]);
    assert_eq!(set("customer", &[1, 1, 1], "c_balance", 99), [10, 12]);
    assert_eq!(set("customer", &[1, 1, 1], "c_ytd_payment", 99), [12]);
    assert_eq!(set("customer", &[1, 1, 1], "c_delivery_cnt", 1), [11]);
    for column in ["s_ytd", "s_order_cnt", "s_remote_cnt"] {
        assert_eq!(set("stock", &[2, 7], column, 1), [13], "{column}");
    }
}

/// Foreign keys: the table, its columns, and the table that they refer to.
const FOREIGN_KEYS: [(&str, &[&str], &str); 10] = [
    ("district", &["d_w_id"], "warehouse"),
    ("customer", &["c_w_id", "c_d_id"], "district"),
    ("history", &["h_c_w_id", "h_c_d_id", "h_c_id"], "customer"),
    ("history", &["h_w_id", "h_d_id"], "district"),
    ("orders", &["o_w_id", "o_d_id", "o_c_id"], "customer"),
    ("new_order", &["no_w_id", "no_d_id", "no_o_id"], "orders"),
    ("order_line", &["ol_w_id", "ol_d_id", "ol_o_id"], "orders"),
    ("order_line", &["ol_supply_w_id", "ol_i_id"], "stock"),
    ("stock", &["s_w_id"], "warehouse"),
    ("stock", &["s_i_id"], "item"),
];

#[test]
fn tables_refer_to_each_other_as_the_benchmark_asks() {
    let report = machine(3, loaded()).run(|world, session| {
        let database = open(world, session);
        let all = database.catalog().definitions(session);
        let mut found: Vec<(String, Vec<String>, String)> = Vec::new();
        for table in &all {
            for key in &table.foreign_keys {
                let names = key.columns.iter().map(|at| table.columns[*at].name.clone()).collect();
                let parent = all.iter().find(|parent| parent.object == key.references);
                let parent = parent.expect("it refers to a table").name.clone();
                found.push((table.name.clone(), names, parent));
            }
        }
        found.sort();
        database.shutdown_by(session).expect("shut");
        found
    });
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let expected = FOREIGN_KEYS
        .map(|(table, columns, parent)| (table.to_owned(), names(columns), parent.to_owned()));
    let mut expected = Vec::from(expected);
    expected.sort();
    assert_eq!(report.result.expect("it runs"), expected);
}

/// What a change of one row to such a value comes to.
fn refused(
    connection: &mut database::Connection<'_>,
    (table, key): (&str, &[i64]),
    (column, value): (&str, Value<'_>),
) -> Option<RefusalKind> {
    let table = connection.table(table).expect("it is there");
    let column = table.column(column).expect("it is there");
    let key: Vec<Value<'_>> = key.iter().map(|number| Value::Int(*number)).collect();
    let mut tx = connection.begin();
    let changed = tx.update(&table, &key, |_, change| change.set(column, value));
    changed.map(|there| assert!(there, "{} has the row", table.name())).err()?.refusal()
}

#[test]
fn each_constraint_refuses_what_it_is_for() {
    let report = machine(3, loaded()).run(|world, session| {
        let database = open(world, session);
        let mut connection = database.connect_with(session);
        let (line, order) = ([1, 1, 1, 1], [1, 1, 1]);
        for (row, column, bad, good) in [
            (("history", &[1][..]), "h_c_id", 13, 12),
            (("history", &[1]), "h_d_id", 11, 10),
            (("orders", &order), "o_c_id", 13, 12),
            (("new_order", &[1, 1, 12]), "no_o_id", 13, 1),
            (("order_line", &line), "ol_o_id", 13, 1),
            (("order_line", &line), "ol_supply_w_id", 3, 2),
            (("order_line", &line), "ol_i_id", 41, 40),
        ] {
            let bad = refused(&mut connection, row, (column, Value::Int(bad)));
            assert_eq!(bad, Some(RefusalKind::ForeignKeyViolation), "{row:?}, {column}");
            let good = refused(&mut connection, row, (column, Value::Int(good)));
            assert_eq!(good, None, "{row:?}, {column}");
        }
        let (customer, stock) = (("customer", &[1, 1, 1][..]), ("stock", &[2, 7][..]));
        let (line, order) = (("order_line", &line[..]), ("orders", &order[..]));
        for (row, column, bad, good) in [
            (customer, "c_credit", [Value::Text("XX"), Value::Text("gc")], Value::Text("BC")),
            (order, "o_carrier_id", [0, 11].map(Value::Int), Value::Null),
            (line, "ol_quantity", [0, 11].map(Value::Int), Value::Int(10)),
            (stock, "s_quantity", [9, 101].map(Value::Int), Value::Int(100)),
        ] {
            for value in bad {
                let bad = refused(&mut connection, row, (column, value));
                assert_eq!(bad, Some(RefusalKind::CheckViolation), "{row:?}, {column}, {value:?}");
            }
            assert_eq!(refused(&mut connection, row, (column, good)), None, "{row:?}, {column}");
        }
        let history = connection.table("history").expect("it is there");
        let mut tx = connection.begin();
        let own = tx.insert_named(&history, &[("h_id", Value::Int(1))]).expect_err("its number");
        assert_eq!(own.refusal(), Some(RefusalKind::Invalid), "{own}");
        drop(tx);
        drop(connection);
        database.shutdown_by(session).expect("shut");
    });
    report.result.expect("it runs");
}

/// A load that is cut off, wherever, has made a database that opens; whoever works on it is told.
#[test]
fn tables_whose_load_was_cut_off_are_refused() {
    let machine = machine(1, FileSystem::new(1 << 30));
    let report = machine.run(|world, session| {
        let database = create(world, session);
        let mut connection = database.connect_with(session);
        let told = |stop: Stop, what: &str| {
            let text = stop.to_string();
            assert!(text.contains(&format!("cannot open the tables of {what}: ")), "{text}");
            assert!(text.contains("its load was cut off before its end"), "{text}");
        };
        let early = workload::Tables::open(&mut connection);
        told(early.err().expect("nothing is there"), "debit-credit");
        let scale = workload::Scale { branches: 2, tellers: 20, accounts: 600, stock: 600 };
        let loaded = workload::load(&mut connection, scale, |done, all| done < all);
        assert!(!loaded.expect("loaded"), "all rows are there, and one table isn't");
        told(workload::Tables::open(&mut connection).err().expect("cut off"), "debit-credit");
        told(workload::next_session(&mut connection).expect_err("cut off"), "debit-credit");
        drop(connection);
        database.shutdown_by(session).expect("in good order");

        let database = Database::create_in(&world.disk(), Path::new("/other"), &options(), session)
            .expect("created");
        let mut connection = database.connect_with(session);
        let mut rows = 0;
        let mut go_on = |done| {
            rows = done;
            done < 100
        };
        let loaded = order_entry::load(&mut connection, SCALE, 1, &mut go_on);
        assert!(!loaded.expect("loaded") && rows >= 100);
        told(order_entry::Tables::open(&connection).err().expect("cut off"), "order entry");
        drop(connection);
        database.shutdown_by(session).expect("in good order");
    });
    report.result.expect("it runs");
}

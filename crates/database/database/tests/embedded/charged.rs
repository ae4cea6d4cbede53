//! What SQL takes on a simulated machine, where code takes no time but charges (rule sql/SQ67). In
//! each test a unit of one cost is a millisecond, which is more than all others come to.

use std::path::Path;

use database::{Connection, Database, Error, Value};
use os::Cost;
use sim::fs::FileSystem;
use testbed::{machine, run};

use crate::simulated::options;

/// What a unit of the cost is, in ns.
const UNIT_NS: u32 = 1_000_000;

/// Has `test` use a table of 10 rows on a machine where a unit of this cost is a millisecond.
fn charging(cost: Cost, test: impl FnOnce(&mut Connection<'_>) + Send + 'static) {
    let mut simulation = machine(1, FileSystem::new(1 << 30));
    simulation.costs.costs[cost as usize] = UNIT_NS;
    run(simulation, move |world, session| {
        let made = Database::create_in(&world.disk(), Path::new("/db"), &options(), session);
        let database = made.expect("created");
        let mut connection = database.connect_with(session);
        for text in [
            "create table note (id bigint primary key, part bigint)",
            "insert into note select n, n from generate_series(1, 10) as g(n)",
            // So few rows would be found by a scan.
            "set enable_seqscan = off",
        ] {
            connection.execute(text, &[]).expect("run");
        }
        test(&mut connection);
        drop(connection);
        database.shutdown_by(session).expect("in good order");
    });
}

/// How many units `work` takes of the session's CPU.
fn units<T>(
    connection: &mut Connection<'_>,
    work: impl FnOnce(&mut Connection<'_>) -> Result<T, Error>,
) -> u64 {
    let cpu = |connection: &Connection<'_>| connection.session().thread_times().cpu.0;
    let before = cpu(connection);
    drop(work(connection).expect("done"));
    (cpu(connection) - before) / u64::from(UNIT_NS)
}

/// The units of a statement by its text.
fn units_of(text: &str, connection: &mut Connection<'_>) -> u64 {
    units(connection, |connection| connection.execute(text, &[]))
}

/// A query and a change, alone and in a transaction, without row sources and with them.
#[test]
fn each_run_of_a_statement_is_charged() {
    charging(Cost::Statement, |connection| {
        let key = [Value::Int(7)];
        for text in [
            "select part from note where id = $1",
            "select sum(part) from note where id > $1",
            "update note set part = part + 1 where id = $1",
            "update note set part = part + 1 where id > $1",
        ] {
            let prepare = |connection: &mut Connection<'_>| connection.prepare(text);
            assert_eq!(units(connection, prepare), 0, "{text}");
            let prepared = connection.prepare(text).expect("prepared");
            for is_alone in [true, false] {
                if !is_alone {
                    connection.execute("begin", &[]).expect("begun");
                }
                for _ in 0..3 {
                    let taken = units(connection, |c| c.execute_prepared(&prepared, &key));
                    assert_eq!(taken, 1, "{text}");
                }
                if !is_alone {
                    connection.execute("rollback", &[]).expect("ended");
                }
            }
        }
    });
}

/// A text whose plan is known is looked up. One that is refused was parsed all the same.
#[test]
fn a_text_is_charged_when_it_is_planned() {
    charging(Cost::StatementMade, |connection| {
        for text in ["select part from note where id = 7", "delete from note where id = 7"] {
            assert_eq!(units_of(text, connection), 1, "{text}");
            assert_eq!(units_of(text, connection), 0, "{text}");
        }
        let refused = |connection: &mut Connection<'_>| {
            assert!(connection.execute("select price from note", &[]).is_err());
            Ok(())
        };
        assert_eq!(units(connection, refused), 1);
    });
}

#[test]
fn a_text_is_charged_by_its_length() {
    charging(Cost::StatementByte, |connection| {
        let many: Vec<String> = (100..200).map(|id| format!("({id}, 0)")).collect();
        let long = format!("insert into note values {}", many.join(", "));
        for text in ["select part from note where id = 7", long.as_str()] {
            let prepare = |connection: &mut Connection<'_>| connection.prepare(text);
            assert_eq!(units(connection, prepare), text.len() as u64, "{text}");
            assert_eq!(units(connection, prepare), 0, "{text}");
        }
    });
}

/// A statement that needs no row source starts none.
#[test]
fn each_start_of_a_row_source_is_charged() {
    charging(Cost::SourceStart, |connection| {
        for (text, starts) in [
            ("select part from note where id = 7", 0),
            ("update note set part = 1 where id = 7", 0),
            ("select sum(part) from note where id = 7", 2),
            ("select sum(n) from generate_series(1, 5) as g(n)", 2),
            ("select sum(n) from generate_series(1, 5) as g(n) where n > 2", 3),
        ] {
            assert_eq!(units_of(text, connection), starts, "{text}");
        }
    });
}

/// Each row of each source, also where the sources are measured: measuring isn't charged.
#[test]
fn each_row_that_a_source_gives_is_charged() {
    charging(Cost::RowPassed, |connection| {
        for (text, rows) in [
            ("select part from note where id = 7", 0),
            ("select n from generate_series(1, 500) as g(n)", 500),
            ("select sum(n) from generate_series(1, 500) as g(n)", 501),
            ("select sum(n) from generate_series(1, 500) as g(n) where n > 100", 901),
            ("explain analyze select sum(n) from generate_series(1, 500) as g(n)", 501),
        ] {
            assert_eq!(units_of(text, connection), rows, "{text}");
        }
    });
}

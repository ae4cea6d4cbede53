//! Debit-credit, TPC-B and lookups by SQL, in the simulator: nothing is lost, also by a power cut,
//! and the books balance.
#![forbid(unsafe_code)]

mod common;

use std::sync::Arc;

use sim::fs::FileSystem;
use sim::fs::crash::CrashStates;
use sim::{Failure, Outside};
use waits::Nanos;
use workload::bulk::{Batches, Bulk, Lookups, Scope, lookups_a_second};
use workload::{Mixture, Scale, Tpcb, TpcbScale, Watch, Way, Witness};

use common::{create, drive, machine, open};

const SCALE: Scale = Scale { branches: 2, tellers: 20, accounts: 600, stock: 600 };

fn mixture(first_session: u32) -> Mixture {
    Mixture {
        seed: u64::from(first_session),
        sessions: 4,
        first_session,
        mass_update_every: 5,
        mass_update_rows: 100,
        warm_up: Nanos::ZERO,
        length: Nanos::from_millis(200),
        rate: None,
    }
}

/// Debit-credit with many mass updates: after each round all commits are there that were
/// acknowledged, and the balances are those of history.
#[test]
fn debit_credit_loses_nothing_and_balances_after_power_cuts() {
    let loaded = machine(1, FileSystem::new(1 << 30)).run(|world, session| {
        let database = create(world, session);
        let mut connection = database.connect_with(session);
        let loaded = workload::load(&mut connection, SCALE, |_, _| true);
        assert!(loaded.expect("loaded"), "nobody broke it off");
        drop(connection);
        database.shutdown_by(session).expect("shut");
    });
    let mut disk = loaded.disks["disk"].clone();
    loaded.result.expect("it runs");
    let told = Outside::<Vec<(u32, u64)>>::default();
    for round in 0..4_u32 {
        let mut machine = machine(round.into(), disk);
        if round % 2 == 1 {
            let made = machine.disks[0].content.crash_points();
            machine.disks[0].content.lose_power_at(made + 200);
        }
        let inside = told.clone();
        let report = machine.run(move |world, session| {
            let database = open(world, session);
            let told = inside.clone();
            let witness: Witness = Arc::new(move |session: u32, number: u64| {
                told.with(|told| {
                    told.retain(|(known, _)| *known != session);
                    told.push((session, number));
                });
            });
            let watch = Watch { witness: Some(witness), ..Watch::default() };
            let ran = workload::run(&database, mixture(4 * round), watch, session);
            let types = ran.expect("it runs to its end").types();
            assert!(types["debit-credit"].count() > 0 && types["mass update"].count() > 0);
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
        let audit = common::machine(9, disk.clone()).run(move |world, session| {
            let database = open(world, session);
            let mut connection = database.connect_with(session);
            let found = workload::audit(&mut connection, &known, true).expect("read");
            drop(connection);
            database.shutdown_by(session).expect("shut");
            found
        });
        let found = audit.result.expect("it runs");
        assert!(found.is_clean(), "round {round}: {found:?}");
    }
    let commits: u64 = told.with(|told| told.iter().map(|(_, number)| number).sum());
    assert!(commits > 50, "{commits} commits");
}

/// TPC-B by either way, in one database: the four sums stay equal.
#[test]
fn tpcb_balances_whichever_way_it_runs() {
    let report = machine(2, FileSystem::new(1 << 30)).run(|world, session| {
        let database = create(world, session);
        let mut connection = database.connect_with(session);
        let scale = TpcbScale { branches: 8, accounts: 200 };
        let tpcb = Arc::new(Tpcb::load(&mut connection, scale).expect("loaded"));
        for way in [Way::Sql, Way::Api, Way::Sql] {
            let ran = tpcb.run(&database, way, drive(0, 50), 7, session).expect("it runs");
            assert!(ran.counted() > 0, "{way:?}");
            let sums = tpcb.sums(&mut connection).expect("read");
            assert!(sums[0] != 0 && sums.iter().all(|sum| *sum == sums[0]), "{way:?}: {sums:?}");
        }
        drop((connection, tpcb));
        database.shutdown_by(session).expect("shut");
    });
    report.result.expect("it runs");
}

/// A mass update that looked at the whole table would be most of the load's work: of a large table
/// without statistics it does.
#[test]
fn all_tables_that_are_searched_have_statistics() {
    let report = machine(4, FileSystem::new(1 << 30)).run(|world, session| {
        let database = create(world, session);
        let mut connection = database.connect_with(session);
        assert!(workload::load(&mut connection, SCALE, |_, _| true).expect("loaded"));
        let unknown = "select table_name from user_tables \
                       where num_rows is null and table_name <> 'history'";
        let rows = connection.query(unknown, &[]).expect("asked").all().expect("read");
        assert!(rows.is_empty(), "{rows:?}");
        drop(connection);
        database.shutdown_by(session).expect("shut");
    });
    report.result.expect("it runs");
}

/// A lookup that found nothing would be one that took no time.
#[test]
fn lookups_by_sql_find_what_is_there() {
    let report = machine(3, FileSystem::new(1 << 30)).run(|world, session| {
        let database = create(world, session);
        let mut connection = database.connect_with(session);
        let bulk = Bulk::create(&mut connection, "item").expect("created");
        let batches = Batches { statement: 100, transaction: 1_000 };
        bulk.insert(&mut connection, 1..501, batches).expect("inserted");
        for scope in [Scope::Statement, Scope::Transaction] {
            let lookups = Lookups { way: Way::Sql, scope, rows: 500 };
            let ran = bulk.run_lookups(&database, lookups, drive(0, 50), 7, session);
            assert!(lookups_a_second(&ran.expect("it runs")) > 0.0, "{scope:?}");
        }
        drop((connection, bulk));
        database.shutdown_by(session).expect("shut");
    });
    report.result.expect("it runs");
}

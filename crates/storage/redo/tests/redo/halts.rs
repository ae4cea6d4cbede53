//! A write that fails halts the instance: no session is told that it is durable, and none sleeps
//! on.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use os::{Session, ThreadSpec};
use redo::{CommitLeader, LOG_BLOCKS_MIN, Redo, RedoConfig};
use sim::fs::Operation;
use sim::fs::faults::{Fault, FaultPlan, Scope};
use stop::{Halt, Stop};
use testbed::{racing, run};
use waits::WaitEvent;

use crate::common::{FIRST, commit, fresh, groups, hooks, record, small};

fn is_halted<T>(result: Result<T, Stop>) -> bool {
    matches!(result, Err(Stop::Halted(_)))
}

/// Whichever write or sync fails, every session that waits, for durability or for room, is told,
/// and later callers are too; and redo is durable that was said to be.
#[test]
fn a_failed_write_wakes_everybody_with_the_cause() {
    for seed in 0..250 {
        let mut config = small();
        config.commit_leader = [CommitLeader::Session, CommitLeader::Lgwr][(seed % 2) as usize];
        let mut simulation = racing(fresh(&config, seed));
        let operation = [Operation::Write, Operation::Sync][(seed / 2 % 2) as usize];
        // The first of each is for the first log's header.
        let plan = FaultPlan::new(seed).nth(2 + seed % 9, Fault::Eio, Scope::of(&[operation]));
        simulation.disks[0].content.plan_faults(plan);
        let report = simulation.run(move |world, session| {
            let halt = Halt::new(world.os());
            // No checkpoint is ever made: in the end every session waits for a log.
            let opened =
                Redo::open(&world.disk(), &config, FIRST, &halt, hooks(Box::new(|_| ())), session);
            let redo = opened.expect("its header is written");
            let inside = redo.clone();
            let body = move |s: &Session| assert!(is_halted(inside.run_lgwr(s)));
            let lgwr = session.spawn(ThreadSpec::background("fb_lgwr"), body).expect("a thread");
            let acknowledged = Arc::new(AtomicU64::new(0));
            let user = |number: u64| {
                let (redo, told) = (redo.clone(), Arc::clone(&acknowledged));
                let body = move |session: &Session| {
                    loop {
                        let mut record = record(number, if number < 3 { 20_000 } else { 100 });
                        let credits = match redo.reserve(record.len(), session) {
                            Ok(credits) => credits,
                            Err(stop) => break assert!(matches!(stop, Stop::Halted(_))),
                        };
                        let scn = redo.append(credits, &mut record, session).scn;
                        if is_halted(redo.make_durable(scn, session, WaitEvent::LogFileSync)) {
                            break;
                        }
                        told.fetch_max(scn.get(), SeqCst);
                    }
                };
                session.spawn(ThreadSpec::foreground(format!("user{number}")), body)
            };
            let users: Vec<_> = (0..6).map(|number| user(number).expect("a thread")).collect();
            users.iter().for_each(|user| user.join(session).expect("no panic"));
            lgwr.join(session).expect("no panic");
            assert!(is_halted(redo.reserve(10, session)));
            assert!(is_halted(redo.switch(session)));
            let durable = redo.durable_scn(session);
            assert!(durable.get() >= acknowledged.load(SeqCst));
            let event = WaitEvent::LogFileSync;
            assert!(redo.make_durable(durable, session, event).is_ok(), "that was promised");
            let last = redo.last_scn(session);
            assert!(last > durable && is_halted(redo.make_durable(last, session, event)));
            halt.cause(session).expect("it is halted").to_string()
        });
        let cause = report.result.unwrap_or_else(|failure| panic!("seed {seed}: {failure}"));
        assert!(cause.contains("redo can't be made durable through SCN"), "{cause}");
        assert_eq!(report.notices.len(), 1, "it is said once: {:?}", report.notices);
    }
}

/// The groups' numbers, and the log that each holds.
type Held = Vec<(u16, u32)>;

/// Opens where these logs can be neither read nor written, and switches twice. Returns what the
/// groups hold then, or the refusal.
fn opened_without(bad: &[&str]) -> Result<Held, String> {
    let config = RedoConfig { groups: groups(LOG_BLOCKS_MIN), ..small() };
    let mut simulation = fresh(&config, 1);
    let scope = |path| Scope::of(&[Operation::Read, Operation::Write]).under(path);
    let plan =
        bad.iter().fold(FaultPlan::new(1), |plan, path| plan.from_nth(1, Fault::Eio, scope(path)));
    simulation.disks[0].content.plan_faults(plan);
    run(simulation, move |world, session| {
        let (halt, hooks) = (Halt::new(world.os()), hooks(Box::new(|_| ())));
        let opened = Redo::open(&world.disk(), &config, FIRST, &halt, hooks, session);
        let redo = opened.map_err(|stop| stop.to_string())?;
        for tag in 0..2 {
            commit(&redo, tag, 100, session);
            redo.checkpoint_advanced(redo.position(session), session);
            redo.switch(session).expect("switched");
        }
        commit(&redo, 2, 100, session);
        let views = redo.groups(session);
        Ok(views.iter().map(|view| (view.number, view.sequence)).collect())
    })
}

/// Rule RD21: another free group does as well, and a log begins in the bad one only if there is no
/// other.
#[test]
fn a_free_log_that_can_not_be_written_keeps_no_redo_shut() {
    let begun = opened_without(&["/redo01.log"]);
    assert_eq!(begun, Ok(vec![(1, 0), (2, 3), (3, 2)]));
    let begun = opened_without(&["/redo01.log", "/redo02.log", "/redo03.log"]);
    let said = begun.expect_err("none is left");
    assert!(said.contains("cannot write") && said.contains("/redo01.log"), "{said}");
}

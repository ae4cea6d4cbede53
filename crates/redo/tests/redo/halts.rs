//! A write that fails halts the instance: nobody is told that it is durable, and nobody sleeps on.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use os::{Session, ThreadSpec};
use redo::{CommitLeader, RECORD_BYTES_MAX, Redo};
use sim::fs::Operation;
use sim::fs::faults::{Fault, FaultPlan, Scope};
use stop::{Halt, Stop};
use waits::WaitEvent;

use crate::common::{FIRST, fresh, hooks, racing, record, small};

fn is_halted<T>(result: Result<T, Stop>) -> bool {
    matches!(result, Err(Stop::Halted(_)))
}

/// Whatever write or sync fails: whoever waits, for durability or for room, is told; later callers
/// too; and what is durable is what was said to be.
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
            // No checkpoint is ever made: in the end everybody waits for a log.
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
            assert!(redo.try_reserve(RECORD_BYTES_MAX - 16, session).is_none());
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

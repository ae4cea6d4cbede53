//! Commits that don't wait, and commits that leave the write to others.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use os::{Session, ThreadHandle, ThreadSpec};
use redo::{CommitLeader, CommitMode, Redo};
use testbed::{pause, racing, run};
use waits::{Nanos, Statistic, WaitEvent};

use crate::common::{fresh, open, put, small};

const WAIT_BATCH: CommitMode = CommitMode::ALL[1];
const NOWAIT: CommitMode = CommitMode::ALL[2];
const NOWAIT_BATCH: CommitMode = CommitMode::ALL[3];
/// The log writer's clock.
const TICK: Nanos = Nanos::from_secs(3);
/// A write and whatever comes with it takes less, on any schedule.
const SOON: Nanos = Nanos::from_millis(100);

fn lgwr(redo: &Redo, session: &Session) -> ThreadHandle {
    let redo = redo.clone();
    let body = move |s: &Session| redo.run_lgwr(s).expect("no halt");
    session.spawn(ThreadSpec::background("fb_lgwr"), body).expect("a thread")
}

fn end(redo: &Redo, lgwr: &ThreadHandle, session: &Session) {
    redo.stop(session);
    lgwr.join(session).expect("no panic");
    assert_eq!(redo.durable_scn(session), redo.last_scn(session), "all was flushed");
}

/// Commits of all modes at once, under both leaders. A commit that waits is durable on return. One
/// that is urgent never waits for the clock: not even when a patient session is woken to write.
#[test]
fn patient_commits_never_keep_the_others_waiting() {
    let longest = Arc::new(AtomicU64::new(0));
    let patient = Arc::new(AtomicU64::new(0));
    for seed in 0..400 {
        let mut config = small();
        config.commit_leader = [CommitLeader::Session, CommitLeader::Lgwr][(seed % 2) as usize];
        let (longest, patient) = (Arc::clone(&longest), Arc::clone(&patient));
        run(racing(fresh(&config, seed)), move |world, session| {
            let redo = open(world, &config, session);
            let lgwr = lgwr(&redo, session);
            let user = |number: u64| {
                let (redo, longest, patient) = (redo.clone(), longest.clone(), patient.clone());
                let body = move |session: &Session| {
                    for turn in 0..4 {
                        let mode = match number % 4 {
                            0 => CommitMode::DURABLE,
                            1 | 2 => WAIT_BATCH,
                            _ => CommitMode::ALL[(session.os().random() % 4) as usize],
                        };
                        let placed = put(&redo, number * 100 + turn, 300, session);
                        let begin = session.now();
                        redo.commit(placed.scn, mode, session).expect("no halt");
                        let took = session.now().since(begin);
                        if mode == CommitMode::DURABLE || mode == WAIT_BATCH {
                            assert!(redo.durable_scn(session) >= placed.scn);
                        }
                        let most = if mode == WAIT_BATCH { &patient } else { &longest };
                        most.fetch_max(took.0, SeqCst);
                    }
                };
                session.spawn(ThreadSpec::foreground(format!("user{number}")), body)
            };
            let users = (0..2 + seed % 11).map(|number| user(number).expect("a thread"));
            let users: Vec<ThreadHandle> = users.collect();
            users.iter().for_each(|user| user.join(session).expect("no panic"));
            end(&redo, &lgwr, session);
        });
    }
    let (longest, patient) = (Nanos(longest.load(SeqCst)), Nanos(patient.load(SeqCst)));
    assert!(longest < SOON, "{longest:?} for a commit that wanted to be written at once");
    assert!(patient > SOON && patient <= Nanos(TICK.0 + SOON.0), "{patient:?} for a patient one");
}

/// Without a log writer a patient commit writes for itself.
#[test]
fn a_patient_commit_without_a_log_writer_ends() {
    let config = small();
    let report = fresh(&config, 1).run(move |world, session| {
        let redo = open(world, &config, session);
        let placed = put(&redo, 1, 100, session);
        redo.commit(placed.scn, WAIT_BATCH, session).expect("no halt");
        redo.durable_scn(session) >= placed.scn
    });
    assert!(report.elapsed_ns < SOON.0);
    assert!(report.result.expect("it runs"));
}

/// A commit that doesn't wait is durable soon, also if a write was in flight just then.
#[test]
fn a_commit_that_does_not_wait_is_written_at_once_by_the_log_writer() {
    for seed in 0..300 {
        let config = small();
        let (took, waited) = run(racing(fresh(&config, seed)), move |world, session| {
            let redo = open(world, &config, session);
            let lgwr = lgwr(&redo, session);
            pause(Nanos::from_millis(1), session);
            let inside = redo.clone();
            let body = move |session: &Session| {
                let placed = put(&inside, 7, 100, session);
                inside.commit(placed.scn, CommitMode::DURABLE, session).expect("no halt");
            };
            let other = (seed % 2 == 0)
                .then(|| session.spawn(ThreadSpec::foreground("other"), body).expect("a thread"));
            let begin = session.now();
            for tag in 0..3 {
                let placed = put(&redo, tag, 100, session);
                redo.commit(placed.scn, NOWAIT, session).expect("no halt");
                pause(Nanos(session.os().random() % 150_000), session);
            }
            other.iter().for_each(|other| other.join(session).expect("no panic"));
            while redo.durable_scn(session) < redo.last_scn(session) {
                pause(Nanos::from_micros(50), session);
            }
            let took = session.now().since(begin);
            end(&redo, &lgwr, session);
            let waited = session.os().totals().event(WaitEvent::LogFileSync).count;
            (took, waited)
        });
        assert!(took < SOON, "seed {seed}: {took:?}");
        assert!(waited == 0 || seed % 2 == 0, "seed {seed}: nobody waits");
    }
}

/// A commit that neither waits nor asks is written with the next write, at the latest by the log
/// writer's clock, which strikes however often the log writer is posted meanwhile.
#[test]
fn a_batched_commit_is_durable_after_three_seconds_at_the_latest() {
    let config = small();
    let (took, writes) = run(fresh(&config, 3), move |world, session| {
        let redo = open(world, &config, session);
        let lgwr = lgwr(&redo, session);
        pause(Nanos::from_millis(700), session);
        let placed = put(&redo, 1, 100, session);
        redo.commit(placed.scn, NOWAIT_BATCH, session).expect("no halt");
        let begin = session.now();
        let requests = session.os().totals().statistic(Statistic::RedoWrites);
        while redo.durable_scn(session) < placed.scn {
            redo.set_commit_leader(CommitLeader::Session, session);
            pause(Nanos::from_millis(50), session);
        }
        let took = session.now().since(begin);
        let writes = session.os().totals().statistic(Statistic::RedoWrites) - requests;
        end(&redo, &lgwr, session);
        (took, writes)
    });
    assert!(took > Nanos::from_secs(2) && took <= Nanos(TICK.0 + SOON.0), "{took:?}");
    assert_eq!(writes, 1);
}

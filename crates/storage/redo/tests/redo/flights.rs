//! Several writes in flight: what they gain, and what holds all the same.

use os::{Session, ThreadHandle, ThreadSpec};
use redo::{CommitLeader, RedoConfig};
use testbed::run;
use waits::{Nanos, Statistic, WaitEvent};

use crate::commits::{wide, with_writes};
use crate::common::{commit, fresh, groups, open};

/// Commits of sessions that think between them, on a disk that does four writes at once in 100 us
/// each: the mean time of a commit in us, and how many writes there were.
fn commits(machine: &str, writes_in_flight: u32, sessions: u64, thinks_us: u64) -> (u64, u64) {
    let config = RedoConfig {
        groups: groups(4_000),
        durable_write: os::probe::DurableWrite::DirectWriteThrough,
        commit_leader: CommitLeader::Session,
        ..with_writes(writes_in_flight)
    };
    let mut simulation = wide(fresh(&config, 1));
    simulation.machine = sim::model::MachineParameters::builtin(machine).expect("built in");
    run(simulation, move |world, session| {
        let redo = open(world, &config, session);
        let before = world.os().totals();
        let user = |number: u64| {
            let redo = redo.clone();
            let body = move |session: &Session| {
                for turn in 0..60 {
                    let thinks = session.os().random() % (2_000 * thinks_us + 1);
                    let waiting = session.waiting(WaitEvent::PlSqlLockTimer);
                    session.pause(Nanos(thinks), waiting);
                    commit(&redo, number * 1_000 + turn, 200, session);
                }
            };
            session.spawn(ThreadSpec::foreground(format!("user{number}")), body).expect("a thread")
        };
        let users: Vec<ThreadHandle> = (0..sessions).map(user).collect();
        users.iter().for_each(|user| user.join(session).expect("no panic"));
        let totals = world.os().totals().since(&before);
        let waited = totals.event(WaitEvent::LogFileSync).total.0 / 1_000;
        (waited / (60 * sessions), totals.statistic(Statistic::RedoWrites))
    })
}

/// A session that comes while another writes needn't wait for the end of that write before its own
/// begins; and where sessions come back at once and share writes, nothing is lost (RD57).
#[test]
fn sessions_that_think_wait_less_with_several_writes_in_flight() {
    const LOADS: [[u64; 2]; 6] = [[4, 100], [4, 300], [16, 300], [16, 1_000], [16, 0], [64, 0]];
    for machine in ["eight-core", "two-core"] {
        for [sessions, thinks_us] in LOADS {
            let found = [1, 2, 4, 8].map(|writes| commits(machine, writes, sessions, thinks_us));
            println!(
                "{machine}, {sessions} sessions, {thinks_us} us between commits, us and writes: \
                 {found:?}"
            );
            let [one, two, four, _] = found.map(|(us, _)| us);
            if thinks_us > 0 {
                assert!(two * 10 < one * 9, "{machine}, {sessions} sessions: {two} and {one} us");
                assert!(four * 10 < one * 8, "{machine}, {sessions} sessions: {four} and {one} us");
            } else {
                assert!(four * 20 < one * 21, "{machine}, {sessions} sessions: {four}, {one} us");
            }
        }
    }
}

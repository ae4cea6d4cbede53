//! Several writes in flight: what they gain, and what holds all the same.

use os::{Session, ThreadHandle, ThreadSpec};
use redo::{CommitLeader, RedoConfig};
use testbed::run;
use waits::{Nanos, Statistic, WaitEvent};

use crate::commits::{wide, with_writes};
use crate::common::{commit, fresh, groups, open};

/// Commits of sessions that think between them, on a disk that does four writes at once in 100 us
/// each: the mean time of a commit in us, and how many writes there were.
///
/// Sessions that come back at once fall into a pattern that repeats, and whether each of its rounds
/// moves sessions between CPUs (which takes a fifth longer) is their start's luck: so each begins
/// at a time of its own, and the means are over several starts.
fn commits(machine: &str, writes_in_flight: u32, [sessions, thinks_us]: [u64; 2]) -> (u64, u64) {
    let starts =
        [1, 2, 3].map(|seed| started(machine, writes_in_flight, [sessions, thinks_us], seed));
    let mean = |of: fn(&(u64, u64)) -> u64| starts.iter().map(of).sum::<u64>() / 3;
    (mean(|start| start.0), mean(|start| start.1))
}

/// The same, of the start that this seed gives.
fn started(
    machine: &str,
    writes_in_flight: u32,
    [sessions, thinks_us]: [u64; 2],
    seed: u64,
) -> (u64, u64) {
    let turns = if thinks_us > 0 { 40 } else { 160 };
    let config = RedoConfig {
        groups: groups(4_000),
        durable_write: os::probe::DurableWrite::DirectWriteThrough,
        commit_leader: CommitLeader::Session,
        ..with_writes(writes_in_flight)
    };
    let mut simulation = wide(fresh(&config, seed));
    simulation.machine = sim::model::MachineParameters::builtin(machine).expect("built in");
    run(simulation, move |world, session| {
        let redo = open(world, &config, session);
        let before = world.os().totals();
        let user = |number: u64| {
            let redo = redo.clone();
            let body = move |session: &Session| {
                let pause = |most_us: u64| {
                    let thinks = session.os().random() % (1_000 * most_us + 1);
                    session.pause(Nanos(thinks), session.waiting(WaitEvent::PlSqlLockTimer));
                };
                pause(1_000);
                for turn in 0..turns {
                    pause(2 * thinks_us);
                    commit(&redo, number * 1_000 + turn, 200, session);
                }
            };
            session.spawn(ThreadSpec::foreground(format!("user{number}")), body).expect("a thread")
        };
        let users: Vec<ThreadHandle> = (0..sessions).map(user).collect();
        users.iter().for_each(|user| user.join(session).expect("no panic"));
        let totals = world.os().totals().since(&before);
        let waited = totals.event(WaitEvent::LogFileSync).total.0 / 1_000;
        (waited / (turns * sessions), totals.statistic(Statistic::RedoWrites))
    })
}

/// A session that comes while another writes needn't wait for the end of that write before its own
/// begins; and where sessions come back at once and share writes, nothing is lost (RD57).
#[test]
fn sessions_that_think_wait_less_with_several_writes_in_flight() {
    const LOADS: [[u64; 2]; 6] = [[4, 100], [4, 300], [16, 300], [16, 1_000], [16, 0], [64, 0]];
    for machine in ["eight-core", "two-core"] {
        for [sessions, thinks_us] in LOADS {
            let found = [1, 2, 4].map(|writes| commits(machine, writes, [sessions, thinks_us]));
            println!(
                "{machine}, {sessions} sessions, {thinks_us} us between commits, us and writes: \
                 {found:?}"
            );
            let [one, two, four] = found.map(|(us, _)| us);
            if thinks_us > 0 {
                assert!(two * 10 < one * 9, "{machine}, {sessions} sessions: {two} and {one} us");
                assert!(four * 10 < one * 8, "{machine}, {sessions} sessions: {four} and {one} us");
            } else {
                assert!(four * 20 < one * 21, "{machine}, {sessions} sessions: {four}, {one} us");
            }
        }
    }
}

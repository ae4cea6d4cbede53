//! Sessions that lock rows and tables as fast as they can, in schedules bent by seeds: no two have
//! conflicting modes, no wake-up is lost, no session waits for ever, and a session that is refused
//! for a deadlock was in a cycle.

use std::collections::BTreeMap;
use std::sync::Arc;

use ids::TxnId;
use latch::{Latch, LatchKind};
use os::{Os, Session};
use sim::{Failure, Outside};
use stop::{Failpoints, RefusalKind};
use testbed::Dice;
use txn::{LockWait, TableMode};
use waits::{SessionKind, Statistic, WaitEvent};

use crate::common::{Bed, kind, racy_with, start};

const TRANSACTIONS: u64 = 12;
const ROWS: u64 = 4;

/// The modes that sessions say they have and want: "have" from after the grant to before the
/// release, "want" from before the request to after its end.
#[derive(Default)]
struct Said {
    tables: BTreeMap<(u32, TxnId), TableMode>,
    wants: BTreeMap<TxnId, Want>,
}

#[derive(Clone, Copy)]
enum Want {
    End(TxnId),
    Table(u32, TableMode),
}

impl Said {
    /// Checks that the mode goes with what others say they have, which is less than what they have.
    fn got(&mut self, id: TxnId, table: u32, mode: TableMode) {
        let both = self.tables.get(&(table, id)).map_or(mode, |has| has.and(mode));
        for ((other_table, other), has) in &self.tables {
            let is_other = *other_table == table && *other != id;
            assert!(
                !is_other || has.goes_with(both),
                "{id} has table {table} in {both}, and {other} has it in {has}"
            );
        }
        self.tables.insert((table, id), both);
    }

    fn let_go(&mut self, id: TxnId) {
        self.tables.retain(|(_, owner), _| *owner != id);
    }

    /// Whether the transaction may be in a cycle, by what sessions say. The order of a queue isn't
    /// known, so all that want a table count as before each other. Sessions in a cycle don't move,
    /// so what they say is so.
    fn may_be_in_a_cycle(&self, id: TxnId) -> bool {
        let mut reached: Vec<TxnId> = Vec::new();
        let mut next = vec![id];
        while let Some(at) = next.pop() {
            let Some(want) = self.wants.get(&at) else { continue };
            let blocks: Vec<TxnId> = match *want {
                Want::End(holder) => vec![holder],
                Want::Table(table, mode) => {
                    let has = self.tables.iter().filter(|((other, owner), has)| {
                        *other == table && *owner != at && !has.goes_with(mode)
                    });
                    let wants = self.wants.iter().filter(|(other, want)| {
                        **other != at && matches!(want, Want::Table(wanted, _) if *wanted == table)
                    });
                    let has = has.map(|((_, owner), _)| *owner);
                    has.chain(wants.map(|(other, _)| *other)).collect()
                }
            };
            for blocker in blocks {
                if !reached.contains(&blocker) {
                    reached.push(blocker);
                    next.push(blocker);
                }
            }
        }
        reached.contains(&id)
    }
}

struct World {
    /// The last transaction that has locked each row.
    rows: Latch<Vec<Option<TxnId>>>,
    said: Outside<Said>,
}

/// Locks a row as a session does: looks at it under a latch, waits without, looks again. Returns
/// false if it is refused.
fn lock_row(bed: &Bed, world: &World, id: TxnId, row: usize, session: &Session) -> bool {
    loop {
        let holder = {
            let mut rows = world.rows.exclusive(session);
            match rows[row].filter(|holder| *holder != id && bed.is_active(*holder, session)) {
                Some(holder) => holder,
                None => {
                    rows[row] = Some(id);
                    return true;
                }
            }
        };
        let want = Want::End(holder);
        let asked = || bed.await_end(holder, id, LockWait::Forever, session);
        if !ask(world, id, want, asked) {
            return false;
        }
    }
}

/// Whether the request was granted. It may be refused for a deadlock only.
fn ask(
    world: &World,
    id: TxnId,
    want: Want,
    asked: impl FnOnce() -> Result<(), stop::Stop>,
) -> bool {
    world.said.with(|said| said.wants.insert(id, want));
    let refused = kind(&asked());
    world.said.with(|said| {
        if let Some(kind) = refused {
            assert_eq!(kind, RefusalKind::Deadlock);
            assert!(said.may_be_in_a_cycle(id), "{id} is refused, and in no cycle");
        }
        said.wants.remove(&id);
    });
    refused.is_none()
}

fn said_to_have(world: &World, id: TxnId, table: u32, mode: TableMode) -> bool {
    world.said.with(|said| said.got(id, table, mode));
    true
}

fn work(bed: &Bed, world: &World, segment: u16, mut dice: Dice, session: &Session) {
    let modes = TableMode::ALL;
    for _ in 0..TRANSACTIONS {
        let id = bed.begin(segment, session);
        for _ in 0..1 + dice.below(5) {
            let (table, row) = (dice.below(3) as u32, dice.below(ROWS) as usize);
            let is_strong = dice.below(6) == 0;
            let mode = if is_strong { dice.one_of(&modes) } else { dice.one_of(&modes[..2]) };
            let goes_on = if dice.below(3) == 0 {
                lock_row(bed, world, id, row, session)
            } else if dice.below(8) == 0 {
                let had = bed.locks.lock_table(id, table, mode, LockWait::NoWait, session);
                had.is_ok() && said_to_have(world, id, table, mode)
            } else {
                let asked = || bed.lock(id, table, mode, session);
                let had = ask(world, id, Want::Table(table, mode), asked);
                had && said_to_have(world, id, table, mode)
            };
            if !goes_on {
                break;
            }
        }
        world.said.with(|said| said.let_go(id));
        bed.end(id, session);
    }
}

/// Runs the sessions. Returns the number of deadlocks and of waits.
fn race(os: &Os, users: u16, seed: u64, failpoints: Failpoints, session: &Session) -> [u64; 2] {
    let bed = Bed::broken_at(os, users, failpoints, session);
    let rows = Latch::new(os, LatchKind::Innermost, vec![None; ROWS as usize]);
    let world = Arc::new(World { rows, said: Outside::default() });
    let threads = (0..users).map(|segment| {
        let (world, dice) = (Arc::clone(&world), Dice(seed << 8 | u64::from(segment)));
        start("user", &bed, session, move |bed, session| work(bed, &world, segment, dice, session))
    });
    for thread in threads.collect::<Vec<_>>() {
        thread.join(session).expect("no panic");
    }
    assert_eq!(bed.locks.held(session), []);
    assert_eq!(bed.locks.waiting(session), []);
    assert_eq!(bed.locks.tables_watched(session), 0);
    let totals = os.totals();
    [Statistic::EnqueueDeadlocks, Statistic::EnqueueWaits].map(|one| totals.statistic(one))
}

/// Runs the sessions in a schedule bent by the seed.
pub(crate) fn run(seed: u64, failpoints: Failpoints) -> Result<[u64; 2], Failure> {
    let report = racy_with(seed, failpoints).run(move |world, session| {
        let ran = race(world.os(), 2 + (seed % 7) as u16, seed, failpoints, session);
        let totals = world.os().totals();
        for event in [WaitEvent::EnqTxRowLock, WaitEvent::EnqTmContention] {
            assert_eq!(totals.event(event).timeouts, 0, "a wake-up was lost: {event}");
        }
        ran
    });
    report.result
}

/// Two to eight sessions over three tables and four rows.
#[test]
fn nobody_has_what_does_not_go_together_and_nobody_waits_for_ever() {
    let mut sums = [0, 0];
    for seed in 0..600 {
        let ran = run(seed, Failpoints::NONE);
        let ran = ran.unwrap_or_else(|failure| panic!("seed {seed}: {failure}"));
        (0..2).for_each(|at| sums[at] += ran[at]);
    }
    println!("600 runs: {} deadlocks, {} waits", sums[0], sums[1]);
    assert!(sums[0] >= 500 && sums[1] >= 5_000, "the runs test nothing: {sums:?}");
}

/// The same seed gives the same run.
#[test]
fn a_seed_is_a_run() {
    assert_eq!(run(5, Failpoints::NONE), run(5, Failpoints::NONE));
}

/// Sessions on real threads, with the operating system's schedule.
#[test]
fn real_threads_get_along() {
    let os = os::linux::start_with(Arc::new(|_| {}));
    let session = os.adopt("main", SessionKind::Foreground);
    // Totals of the operating system, so the last ones are the sums.
    let mut sums = [0, 0];
    let mut runs = 0;
    // On a busy machine the threads may run one after the other for long.
    while runs < 100 || runs < 10_000 && sums[1] == 0 {
        sums = race(&os, 8, runs, Failpoints::NONE, &session);
        runs += 1;
    }
    println!("{runs} runs: {} deadlocks, {} waits", sums[0], sums[1]);
    assert!(sums[1] > 0, "nobody has waited for anybody");
}

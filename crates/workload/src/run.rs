//! The mixture, run by many sessions for a time.

use std::sync::Arc;

use access::{Inserter, RowMut};
use experiment::SessionInterval;
use instance::{Instance, Transaction};
use latch::{Latch, LatchKind, SharedFlag};
use os::{Session, ThreadSpec};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use stop::{RefusalKind, Stop};
use waits::{Nanos, Timestamp, WaitEvent};

use crate::Tables;

/// What sessions do.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Mixture {
    /// Decides which rows each session meets.
    pub seed: u64,
    /// Sessions at once.
    pub sessions: u32,
    /// The number of the first session: rows of history name their session, so that a later load on
    /// the same tables has numbers of its own.
    pub first_session: u32,
    /// One transaction in so many is a mass update; 0 is none.
    pub mass_update_every: u32,
    /// Neighbouring accounts that a mass update changes.
    pub mass_update_rows: u64,
    /// How long sessions work before what they do counts.
    pub warm_up: Nanos,
    /// How long what they do counts.
    pub length: Nanos,
}

/// What one session did.
#[derive(Clone, Debug)]
pub struct SessionRun {
    /// Its number.
    pub session: u32,
    /// Commits that it was told of, all in all: their numbers are 1 to this.
    pub acknowledged: u64,
    /// Of these, within the time that counts.
    pub counted: u64,
    /// Where its time went, within the time that counts.
    pub interval: SessionInterval,
}

/// What all did.
#[derive(Clone, Debug)]
pub struct Run {
    /// Each session.
    pub sessions: Vec<SessionRun>,
    /// The time that counted.
    pub elapsed: Nanos,
}

impl Run {
    /// Transactions a second, of the time that counted.
    pub fn throughput(&self) -> f64 {
        let counted: u64 = self.sessions.iter().map(|session| session.counted).sum();
        counted as f64 / self.elapsed.as_secs_f64()
    }

    /// Each session and how many commits it was told of, for the audit.
    pub fn acknowledged(&self) -> Vec<(u32, u64)> {
        self.sessions.iter().map(|session| (session.session, session.acknowledged)).collect()
    }
}

/// Told of each acknowledged commit: session, and the commit's number there, from 1.
pub type Witness = Arc<dyn Fn(u32, u64) + Send + Sync>;

struct Shared {
    instance: Arc<Instance>,
    tables: Tables,
    mixture: Mixture,
    witness: Option<Witness>,
    stop: SharedFlag,
    done: Latch<Vec<Result<SessionRun, Stop>>>,
}

/// Runs the mixture; ends early when `told_to_stop`, and then says less. `at_bound` is called, by
/// the calling session, when the time that counts begins, and when it ends.
pub fn run(
    instance: &Arc<Instance>,
    (mixture, witness): (Mixture, Option<Witness>),
    told_to_stop: &dyn Fn() -> bool,
    mut at_bound: impl FnMut(&Session),
    session: &Session,
) -> Result<Run, Stop> {
    let shared = Arc::new(Shared {
        instance: Arc::clone(instance),
        tables: Tables::open(instance, session)?,
        mixture,
        witness,
        stop: SharedFlag::new(false),
        done: Latch::new(session.os(), LatchKind::Innermost, Vec::new()),
    });
    let begin = session.now().after(mixture.warm_up);
    let end = begin.after(mixture.length);
    let mut threads = Vec::new();
    for number in mixture.first_session..mixture.first_session + mixture.sessions {
        let shared = Arc::clone(&shared);
        let spec = ThreadSpec::foreground(format!("session{number}"));
        threads.push(session.spawn(spec, move |session| {
            let ended = Client::new(number, &shared).run(begin, end, session);
            shared.done.exclusive(session).push(ended);
        })?);
    }
    for bound in [begin, end] {
        sleep_until(bound, told_to_stop, session);
        if told_to_stop() {
            shared.stop.raise(session);
        }
        at_bound(session);
    }
    for thread in threads {
        if thread.join(session).is_err() {
            let what = format!("{} of the load panicked", thread.name());
            return Err(Stop::refuse(RefusalKind::WrongState, what));
        }
    }
    let done = std::mem::take(&mut *shared.done.exclusive(session));
    let mut sessions = done.into_iter().collect::<Result<Vec<_>, _>>()?;
    sessions.sort_by_key(|session| session.session);
    Ok(Run { sessions, elapsed: mixture.length })
}

fn sleep_until(until: Timestamp, told_to_stop: &dyn Fn() -> bool, session: &Session) {
    while session.now() < until && !told_to_stop() {
        let left = until.since(session.now()).min(Nanos::from_millis(100));
        session.pause(left, session.waiting(WaitEvent::PlSqlLockTimer));
    }
}

struct Client<'a> {
    number: u32,
    shared: &'a Shared,
    random: Xoshiro256PlusPlus,
    history: Inserter,
    acknowledged: u64,
}

impl<'a> Client<'a> {
    fn new(number: u32, shared: &'a Shared) -> Client<'a> {
        let seed = shared.mixture.seed.wrapping_mul(1_000_003).wrapping_add(u64::from(number));
        let random = Xoshiro256PlusPlus::seed_from_u64(seed);
        Client { number, shared, random, history: Inserter::default(), acknowledged: 0 }
    }

    fn run(
        &mut self,
        begin: Timestamp,
        end: Timestamp,
        session: &Session,
    ) -> Result<SessionRun, Stop> {
        self.work_until(begin, session)?;
        let (reading, before) = (session.reading(), self.acknowledged);
        self.work_until(end, session)?;
        let interval = SessionInterval::since(session, &reading);
        let counted = self.acknowledged - before;
        let (session, acknowledged) = (self.number, self.acknowledged);
        Ok(SessionRun { session, acknowledged, counted, interval })
    }

    fn work_until(&mut self, until: Timestamp, session: &Session) -> Result<(), Stop> {
        while session.now() < until && !self.shared.stop.is_raised(session) {
            self.transaction(session)?;
        }
        Ok(())
    }

    fn transaction(&mut self, session: &Session) -> Result<(), Stop> {
        let every = self.shared.mixture.mass_update_every;
        let is_mass = every > 0 && self.random.random_range(0..every) == 0;
        let mut transaction = Transaction::new();
        let worked = match is_mass {
            true => self.mass_update(&mut transaction, session),
            false => self.debit_credit(&mut transaction, session),
        };
        match worked {
            Ok(()) => {
                self.shared.instance.commit(transaction, session)?;
                self.acknowledged += 1;
                if let Some(witness) = &self.shared.witness {
                    witness(self.number, self.acknowledged);
                }
                Ok(())
            }
            // Another session was in the way: the next transaction is another one anyhow.
            Err(stop) if stop.refusal() == Some(RefusalKind::Deadlock) => {
                self.shared.instance.rollback(transaction, session)
            }
            Err(stop) => Err(stop),
        }
    }

    /// Account first and branch last: the hottest lock is held for the shortest time.
    fn debit_credit(
        &mut self,
        transaction: &mut Transaction,
        session: &Session,
    ) -> Result<(), Stop> {
        let tables = &self.shared.tables;
        let amount = self.random.random_range(-999_999..=999_999_i64);
        let account = self.random.random_range(0..tables.account.count());
        let teller = self.random.random_range(0..tables.teller.count());
        let branch = teller % tables.branch.count();
        for (table, number) in [(&tables.account, account), (&tables.teller, teller)] {
            table.table.update(transaction, table.address(number), add(amount), session)?;
        }
        self.history(transaction, [account, teller, branch], amount, session)?;
        let address = tables.branch.address(branch);
        tables.branch.table.update(transaction, address, add(amount), session)?;
        Ok(())
    }

    /// Moves nothing: adds to neighbours and takes away again from the next, in ascending order, so
    /// that two of these don't lock each other out.
    fn mass_update(
        &mut self,
        transaction: &mut Transaction,
        session: &Session,
    ) -> Result<(), Stop> {
        let tables = &self.shared.tables;
        let rows = self.shared.mixture.mass_update_rows.min(tables.stock.count()) & !1;
        let first = self.random.random_range(0..=tables.stock.count() - rows);
        for number in first..first + rows {
            let amount = if (number - first) % 2 == 0 { 1 } else { -1 };
            let address = tables.stock.address(number);
            tables.stock.table.update(transaction, address, add(amount), session)?;
        }
        self.history(transaction, [first, 0, 0], 0, session)
    }

    fn history(
        &mut self,
        transaction: &mut Transaction,
        [account, teller, branch]: [u64; 3],
        amount: i64,
        session: &Session,
    ) -> Result<(), Stop> {
        let (number, mine) = (self.acknowledged as i64 + 1, i64::from(self.number));
        let fill = |row: &mut RowMut<'_>| {
            let values = [mine, number, account as i64, teller as i64, branch as i64, amount];
            values.into_iter().enumerate().for_each(|(at, value)| row.set_number(at, value));
        };
        let history = &self.shared.tables.history;
        history.insert(transaction, &mut self.history, fill, session)?;
        Ok(())
    }
}

/// A change of a row's balance, or quantity.
fn add(amount: i64) -> impl FnMut(&mut RowMut<'_>) {
    move |row| {
        let balance = row.view().number(1);
        row.set_number(1, balance + amount);
    }
}

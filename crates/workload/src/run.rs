//! The mixture, run by many sessions for a time.

use std::sync::Arc;

use access::{Inserter, RowMut};
use instance::{Instance, Transaction};
use os::Session;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use stop::{RefusalKind, Stop};
use waits::Nanos;

use crate::Tables;
use crate::drive::{Drive, Run, Turns, Witness, drive};

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

struct Shared {
    instance: Arc<Instance>,
    tables: Tables,
    mixture: Mixture,
}

/// Runs the mixture; ends early when `told_to_stop`, and then says less. `at_bound` is called, by
/// the calling session, when the time that counts begins, and when it ends.
pub fn run(
    instance: &Arc<Instance>,
    (mixture, witness): (Mixture, Option<Witness>),
    told_to_stop: &dyn Fn() -> bool,
    at_bound: impl FnMut(&Session),
    session: &Session,
) -> Result<Run, Stop> {
    let (instance, tables) = (Arc::clone(instance), Tables::open(instance, session)?);
    let shared = Shared { instance, tables, mixture };
    let Mixture { sessions, first_session, warm_up, length, .. } = mixture;
    let plan = Drive { sessions, first_session, warm_up, length };
    let client = move |turns: &mut Turns, session: &Session| {
        let mut client = Client::new(turns.number, &shared);
        while turns.next(session) {
            client.transaction(turns, session)?;
        }
        Ok(())
    };
    drive((plan, witness), Arc::new(client), told_to_stop, at_bound, session)
}

struct Client<'a> {
    number: u32,
    shared: &'a Shared,
    random: Xoshiro256PlusPlus,
    history: Inserter,
}

impl<'a> Client<'a> {
    fn new(number: u32, shared: &'a Shared) -> Client<'a> {
        let seed = shared.mixture.seed.wrapping_mul(1_000_003).wrapping_add(u64::from(number));
        let random = Xoshiro256PlusPlus::seed_from_u64(seed);
        Client { number, shared, random, history: Inserter::default() }
    }

    fn transaction(&mut self, turns: &mut Turns, session: &Session) -> Result<(), Stop> {
        let every = self.shared.mixture.mass_update_every;
        let is_mass = every > 0 && self.random.random_range(0..every) == 0;
        let mut transaction = Transaction::new();
        let worked = match is_mass {
            true => self.mass_update(&mut transaction, turns, session),
            false => self.debit_credit(&mut transaction, turns, session),
        };
        match worked {
            Ok(()) => {
                self.shared.instance.commit(transaction, session)?;
                turns.acknowledge();
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
        turns: &Turns,
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
        let number = turns.acknowledged() + 1;
        self.history(transaction, (number, [account, teller, branch], amount), session)?;
        let address = tables.branch.address(branch);
        tables.branch.table.update(transaction, address, add(amount), session)?;
        Ok(())
    }

    /// Moves nothing: adds to neighbours and takes away again from the next, in ascending order, so
    /// that two of these don't lock each other out.
    fn mass_update(
        &mut self,
        transaction: &mut Transaction,
        turns: &Turns,
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
        let number = turns.acknowledged() + 1;
        self.history(transaction, (number, [first, 0, 0], 0), session)
    }

    fn history(
        &mut self,
        transaction: &mut Transaction,
        (number, [account, teller, branch], amount): (u64, [u64; 3], i64),
        session: &Session,
    ) -> Result<(), Stop> {
        let (number, mine) = (number as i64, i64::from(self.number));
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

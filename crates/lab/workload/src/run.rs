//! The mixture, run by many sessions for a time.

use std::ops::Bound;
use std::sync::Arc;

use database::{
    Bounds, Connection, Database, Error, Row, RowChange, Selection, Tx, Value, is_worth_repeating,
};
use os::Session;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use waits::Nanos;

use crate::Tables;
use crate::drive::{Drive, Run, Turns, Watch, drive};
use crate::tables::{column, number, primary};

/// The debit-credit load: how many sessions, what they do, and how long.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Mixture {
    /// Seeds the choice of rows.
    pub seed: u64,
    /// Sessions at once.
    pub sessions: u32,
    /// The number of the first session: rows of history name their session, so that a later load on
    /// the same tables has numbers of its own.
    pub first_session: u32,
    /// One transaction in this many is a mass update; 0: none is.
    pub mass_update_every: u32,
    /// Neighbouring accounts that a mass update changes.
    pub mass_update_rows: u64,
    /// The warm-up: how long sessions work before the time that counts.
    pub warm_up: Nanos,
    /// The time that counts.
    pub length: Nanos,
    /// As [`Drive::rate`].
    pub rate: Option<u32>,
}

struct Shared {
    database: Database,
    tables: Tables,
    mixture: Mixture,
}

/// Runs the mixture on the tables that [`load`](crate::load) made.
pub fn run(
    database: &Database,
    mixture: Mixture,
    watch: Watch<'_>,
    session: &Session,
) -> Result<Run, Error> {
    let tables = Tables::open(&mut database.connect_with(session))?;
    let shared = Shared { database: database.clone(), tables, mixture };
    let Mixture { sessions, first_session, warm_up, length, rate, .. } = mixture;
    let plan = Drive { sessions, first_session, warm_up, length, rate };
    let client = move |turns: &mut Turns, session: &Session| {
        let mut connection = shared.database.connect_with(session);
        let mut client = Client::new(turns.number, &shared);
        while turns.next(session) {
            client.transaction(turns, &mut connection, session)?;
        }
        Ok(())
    };
    drive(plan, mixture.seed, Arc::new(client), watch, session)
}

struct Client<'a> {
    number: u32,
    shared: &'a Shared,
    random: Xoshiro256PlusPlus,
}

impl<'a> Client<'a> {
    fn new(number: u32, shared: &'a Shared) -> Client<'a> {
        let seed = shared.mixture.seed.wrapping_mul(1_000_003).wrapping_add(u64::from(number));
        Client { number, shared, random: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    fn transaction(
        &mut self,
        turns: &mut Turns,
        connection: &mut Connection<'_>,
        session: &Session,
    ) -> Result<(), Error> {
        let every = self.shared.mixture.mass_update_every;
        let is_mass = every > 0 && self.random.random_range(0..every) == 0;
        let number = turns.acknowledged() + 1;
        let mut tx = connection.begin();
        let worked = match is_mass {
            true => self.mass_update(&mut tx, number),
            false => self.debit_credit(&mut tx, number),
        };
        match worked {
            Ok(()) => {
                tx.commit()?;
                turns.acknowledge();
                turns.timed(if is_mass { "mass update" } else { "debit-credit" }, session);
                Ok(())
            }
            // Another session held a row: the next transaction is another one.
            Err(stop) if is_worth_repeating(&stop) => tx.rollback(),
            Err(stop) => Err(stop),
        }
    }

    /// Account first and branch last: the hottest lock is held for the shortest time.
    fn debit_credit(&mut self, tx: &mut Tx<'_, '_>, number: u64) -> Result<(), Error> {
        let (tables, scale) = (&self.shared.tables, self.shared.tables.scale());
        let amount = self.random.random_range(-999_999..=999_999_i64);
        let account = self.random.random_range(0..scale.accounts);
        let teller = self.random.random_range(0..scale.tellers);
        let branch = teller % scale.branches;
        tx.update(&tables.account, &[key(account)], add(amount))?;
        tx.update(&tables.teller, &[key(teller)], add(amount))?;
        self.history(tx, number, [account, teller, branch], amount)?;
        tx.update(&tables.branch, &[key(branch)], add(amount))?;
        Ok(())
    }

    /// Adds one to every second article of a range and takes one from the others, so that the sum
    /// stays. Rows are changed in ascending order, so that two mass updates don't deadlock.
    fn mass_update(&mut self, tx: &mut Tx<'_, '_>, number: u64) -> Result<(), Error> {
        let (tables, stock) = (&self.shared.tables, self.shared.tables.scale().stock);
        let rows = self.shared.mixture.mass_update_rows.min(stock) & !1;
        let first = self.random.random_range(0..=stock - rows);
        let primary = primary(&tables.stock)?;
        let (from, to) = (Bound::Included(key(first)), Bound::Excluded(key(first + rows)));
        let bounds = Bounds { equal: &[], from, to };
        tx.update_where(&tables.stock, Selection::Range(primary, bounds), None, |row, change| {
            let is_even = (number_of(row) - first as i64) % 2 == 0;
            add(if is_even { 1 } else { -1 })(row, change)
        })?;
        self.history(tx, number, [first, 0, 0], 0)
    }

    fn history(
        &mut self,
        tx: &mut Tx<'_, '_>,
        number: u64,
        [account, teller, branch]: [u64; 3],
        amount: i64,
    ) -> Result<(), Error> {
        let mine = Value::Int(self.number.into());
        let [number, account, teller, branch] = [number, account, teller, branch].map(key);
        let row = [mine, number, account, teller, branch, Value::Int(amount)];
        tx.insert(&self.shared.tables.history, &row).map(drop)
    }
}

fn key(number: u64) -> Value<'static> {
    Value::Int(number as i64)
}

fn number_of(row: &Row<'_>) -> i64 {
    number(row, column::NUMBER)
}

/// A change of a row's balance, or quantity.
fn add(amount: i64) -> impl FnMut(&Row<'_>, &mut RowChange<'_>) -> Result<(), Error> {
    move |row, change| {
        change.set(column::BALANCE, Value::Int(number(row, column::BALANCE) + amount))
    }
}

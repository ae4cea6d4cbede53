//! The mixture, run by many sessions for a time.

use std::sync::Arc;

use database::{Database, Error, Prepared, Value, is_worth_repeating};
use os::Session;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use waits::Nanos;

use crate::drive::{Drive, Run, Turns, Watch, drive};
use crate::sql_client::{Level, SqlClient};
use crate::texts::debit_credit as texts;
use crate::{Scale, Tables};

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

/// Runs the mixture on the tables that [`load`](crate::load) made.
pub fn run(
    database: &Database,
    mixture: Mixture,
    watch: Watch<'_>,
    session: &Session,
) -> Result<Run, Error> {
    let scale = Tables::open(&mut database.connect_with(session))?.scale();
    let database = database.clone();
    let Mixture { sessions, first_session, warm_up, length, rate, .. } = mixture;
    let plan = Drive { sessions, first_session, warm_up, length, rate };
    let client = move |turns: &mut Turns, session: &Session| {
        let mut connection = database.connect_with(session);
        let sql = SqlClient::new(&mut connection)?;
        let mut client = Client::new(turns.number, mixture, scale, sql)?;
        while turns.next(session) {
            client.transaction(turns, session)?;
        }
        Ok(())
    };
    drive(plan, mixture.seed, Arc::new(client), watch, session)
}

/// What a session has prepared.
struct Statements {
    pay_account: Prepared,
    pay_teller: Prepared,
    pay_branch: Prepared,
    add_history: Prepared,
    mass_update: Prepared,
}

impl Statements {
    fn prepare(sql: &mut SqlClient<'_, '_>) -> Result<Statements, Error> {
        Ok(Statements {
            pay_account: sql.prepare(texts::PAY_ACCOUNT)?,
            pay_teller: sql.prepare(texts::PAY_TELLER)?,
            pay_branch: sql.prepare(texts::PAY_BRANCH)?,
            add_history: sql.prepare(texts::ADD_HISTORY)?,
            mass_update: sql.prepare(texts::MASS_UPDATE)?,
        })
    }
}

struct Client<'c, 's> {
    number: u32,
    mixture: Mixture,
    scale: Scale,
    sql: SqlClient<'c, 's>,
    statements: Statements,
    random: Xoshiro256PlusPlus,
}

impl<'c, 's> Client<'c, 's> {
    fn new(
        number: u32,
        mixture: Mixture,
        scale: Scale,
        mut sql: SqlClient<'c, 's>,
    ) -> Result<Client<'c, 's>, Error> {
        let seed = mixture.seed.wrapping_mul(1_000_003).wrapping_add(u64::from(number));
        let random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let statements = Statements::prepare(&mut sql)?;
        Ok(Client { number, mixture, scale, sql, statements, random })
    }

    fn transaction(&mut self, turns: &mut Turns, session: &Session) -> Result<(), Error> {
        let every = self.mixture.mass_update_every;
        let is_mass = every > 0 && self.random.random_range(0..every) == 0;
        let number = turns.acknowledged() + 1;
        self.sql.begin(Level::ReadCommitted)?;
        let worked = match is_mass {
            true => self.mass_update(number),
            false => self.debit_credit(number),
        };
        match worked {
            Ok(()) => {
                self.sql.commit()?;
                turns.acknowledge();
                turns.timed(if is_mass { "mass update" } else { "debit-credit" }, session);
                Ok(())
            }
            // Another session held a row: the next transaction is another one.
            Err(stop) if is_worth_repeating(&stop) => self.sql.rollback(),
            Err(stop) => Err(stop),
        }
    }

    /// Account first and branch last: the hottest lock is held for the shortest time.
    fn debit_credit(&mut self, number: u64) -> Result<(), Error> {
        let scale = self.scale;
        let amount = self.random.random_range(-999_999..=999_999_i64);
        let account = self.random.random_range(0..scale.accounts);
        let teller = self.random.random_range(0..scale.tellers);
        let branch = teller % scale.branches;
        let paid = Value::Int(amount);
        self.sql.execute(&self.statements.pay_account, &[paid, int(account)])?;
        self.sql.execute(&self.statements.pay_teller, &[paid, int(teller)])?;
        self.history(number, [account, teller, branch], amount)?;
        self.sql.execute(&self.statements.pay_branch, &[paid, int(branch)])?;
        Ok(())
    }

    /// Adds one to every second article of a range and takes one from the others, so that the sum
    /// stays. Rows are changed in ascending order, so that two mass updates don't deadlock.
    fn mass_update(&mut self, number: u64) -> Result<(), Error> {
        let stock = self.scale.stock;
        let rows = self.mixture.mass_update_rows.min(stock) & !1;
        let first = self.random.random_range(0..=stock - rows);
        self.sql.execute(&self.statements.mass_update, &[int(first), int(first + rows)])?;
        self.history(number, [first, 0, 0], 0)
    }

    fn history(
        &mut self,
        number: u64,
        [account, teller, branch]: [u64; 3],
        amount: i64,
    ) -> Result<(), Error> {
        let mine = Value::Int(self.number.into());
        let [number, account, teller, branch] = [number, account, teller, branch].map(int);
        let row = [mine, number, account, teller, branch, Value::Int(amount)];
        self.sql.execute(&self.statements.add_history, &row).map(drop)
    }
}

fn int(number: u64) -> Value<'static> {
    Value::Int(number as i64)
}

//! A session's statements: how they are dispatched, its settings, its transaction, its cursors.
//!
//! ```text
//!   Frame::run(text) ─ prepare ─▶ execute ─┬─ about rows ─▶ rows: plan, run, commit if alone
//!                                          ├─ definitions ─▶ define
//!                                          └─ the session's own: transactions, settings, names
//! ```
//!
//! | module | what it has |
//! |---|---|
//! | `outcome` | [`Outcome`]: what came of a statement |
//! | `prepared` | [`Prepared`]: statements that are kept |
//! | `rows` | statements about rows: plan, run, plan again if a definition has changed |
//! | `transactions` | BEGIN, COMMIT, savepoints, isolation, LOCK TABLE |
//! | `settings`, `shown` | SET; SHOW |
//!
//! Invariants
//!   * outside of BEGIN each statement is a transaction of its own (rule SQ60)
//!   * a refused statement leaves nothing, and its transaction goes on (rule SQ61)
//!   * a statement that defines something is a transaction of its own, and is refused in one that
//!     has changed something (rule SQ62)
//!
//! Callers: `database`, by way of [`Frame`].

mod dispatch;
mod outcome;
mod prepared;
mod rows;
mod settings;
mod shown;
mod transactions;

use std::cell::{Cell, RefCell};

use instance::Instance;
use os::Session;
use relation::Scratch;
use stop::Stop;
use txn::{LockWait, Transaction};

pub use outcome::{Columns, Outcome};
pub use prepared::Prepared;

pub(crate) use dispatch::{Written, elsewhere};
pub(crate) use prepared::Planned;
pub(crate) use rows::{TRIES, binds_for, changes_all_the_time};
pub(crate) use settings::Settings;

use crate::engine::Frame;
use crate::run::{Connected, Cursors, Host, SequenceValues};
use prepared::Statements;
use transactions::OpenNames;

/// What a connection says of itself to SQL.
#[derive(Clone, Debug)]
pub struct StateOptions {
    /// The name of `current_user`.
    pub user: String,
    /// The number of the session.
    pub number: i64,
    /// How long each wait for a lock may take, unless the session sets it.
    pub lock_wait: LockWait,
    /// The same of statements that define something.
    pub ddl_lock_wait: LockWait,
}

/// SQL's own of a connection.
pub struct State {
    pub(crate) own: Own,
    pub(crate) statements: Statements,
    pub(crate) cursors: Cursors,
    /// The buffers of statements that change rows.
    pub(crate) scratch: Scratch,
    /// What belongs to the open transaction.
    pub(crate) open: OpenNames,
}

/// What a statement looks at of its session while it runs.
pub(crate) struct Own {
    pub(crate) settings: Settings,
    sequences: SequenceValues,
    /// The buffers of reads.
    scratch: RefCell<Scratch>,
    dice: Cell<u64>,
    options: StateOptions,
}

impl State {
    /// The state of a connection that has just begun.
    pub fn new(options: StateOptions) -> State {
        let seed = options.number.cast_unsigned().wrapping_mul(0x9e37_79b9_7f4a_7c15);
        State {
            own: Own {
                settings: Settings::default(),
                sequences: SequenceValues::default(),
                scratch: RefCell::new(Scratch::default()),
                dice: Cell::new(seed),
                options,
            },
            statements: Statements::default(),
            cursors: Cursors::default(),
            scratch: Scratch::default(),
            open: OpenNames::default(),
        }
    }

    /// Sets the seed of `random()`.
    pub fn set_dice(&mut self, seed: u64) {
        self.own.dice.set(seed);
    }

    /// How long a statement may take, if the session has set it.
    pub fn statement_timeout(&self) -> Option<waits::Nanos> {
        self.own.settings.used.statement_timeout
    }

    /// How many cursors are open.
    pub fn open_cursors(&self) -> usize {
        self.cursors.len()
    }
}

impl Own {
    /// How long each wait for a lock may take.
    pub(crate) fn lock_wait(&self) -> LockWait {
        self.settings.used.lock_wait.unwrap_or(self.options.lock_wait)
    }

    /// The same of statements that define something.
    pub(crate) fn ddl_lock_wait(&self) -> LockWait {
        self.settings.used.ddl_lock_wait.unwrap_or(self.options.ddl_lock_wait)
    }
}

/// What expressions ask of a connection.
struct Asked<'a> {
    own: &'a Own,
    /// What SHOW says of the transaction.
    open: &'a OpenNames,
    /// Whether no transaction is open.
    is_alone: bool,
    instance: &'a Instance,
    session: &'a Session,
}

impl Connected for Asked<'_> {
    fn user(&self) -> &str {
        &self.own.options.user
    }

    fn session_number(&self) -> i64 {
        self.own.options.number
    }

    fn setting(&self, name: &str) -> Result<Option<String>, Stop> {
        let name = name.to_lowercase();
        let own = self.own.settings.get(&name).map(str::to_string);
        let found = own.or_else(|| self.open.shown(&name, &self.own.settings));
        Ok(found.or_else(|| self.instance.parameters(self.session).get(&name).ok()))
    }

    fn is_read_only(&self) -> bool {
        self.open.is_read_only(self.is_alone, &self.own.settings)
    }
}

/// The parts of a frame that a host doesn't borrow.
pub(crate) struct Parts<'p> {
    pub(crate) cursors: &'p mut Cursors,
    pub(crate) scratch: &'p mut Scratch,
    pub(crate) transaction: &'p mut Option<Transaction>,
}

impl Frame<'_> {
    /// Does `work` with what a statement runs with.
    #[inline]
    pub(crate) fn with_host<T>(&mut self, work: impl FnOnce(&Host<'_>, Parts<'_>) -> T) -> T {
        let Frame { instance, catalog, engine, budget, session, state, transaction, client } = self;
        let State { own, cursors, scratch, open, .. } = &mut **state;
        let own: &Own = own;
        let asked = Asked { own, open, is_alone: transaction.is_none(), instance, session };
        let host = Host {
            session,
            instance,
            catalog,
            engine,
            budget,
            sequences: &own.sequences,
            connected: &asked,
            scratch: &own.scratch,
            dice: &own.dice,
            client: *client,
        };
        work(&host, Parts { cursors, scratch, transaction })
    }
}

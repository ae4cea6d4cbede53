//! Transactions: BEGIN, COMMIT, ROLLBACK, savepoints, isolation, LOCK TABLE.
//!
//! | level that is asked for | what it is |
//! |---|---|
//! | READ UNCOMMITTED, READ COMMITTED | each statement has a snapshot of its own |
//! | REPEATABLE READ, SERIALIZABLE, READ ONLY | one snapshot for all statements |
//!
//! Callers: `dispatch`, `rows`.

use instance::{CommitLogging, CommitMode, CommitWait};
use relation::Relation;
use stop::{SqlState, Stop, did_you_mean};
use syntax::{Commit, Isolation, LockMode, LockWait as WrittenWait, TransactionModes};
use txn::{LockWait, Savepoint, TableMode, Transaction};
use waits::Nanos;

use super::Outcome;
use super::settings::{Settings, isolation_name};
use crate::engine::Frame;
use crate::names::Name;
use crate::refuse::refuse;

/// What belongs to the open transaction beside its changes.
#[derive(Default)]
pub(crate) struct OpenNames {
    /// The savepoints, in the order in which they were made.
    savepoints: Vec<NamedSavepoint>,
    is_read_only: bool,
    isolation: Option<Isolation>,
}

struct NamedSavepoint {
    name: String,
    savepoint: Savepoint,
}

impl OpenNames {
    /// What SHOW says of the open transaction, or of the next one.
    pub(super) fn shown(&self, name: &str, settings: &Settings) -> Option<String> {
        match name {
            "transaction_isolation" => Some(match self.isolation {
                Some(isolation) => isolation_name(isolation).to_string(),
                None => settings.get("default_transaction_isolation")?.to_string(),
            }),
            "transaction_read_only" => {
                let is_on = self.is_read_only || settings.used.is_read_only;
                Some(if is_on { "on" } else { "off" }.to_string())
            }
            _ => None,
        }
    }

    /// Whether the open transaction, or that of a statement alone, may change nothing.
    pub(super) fn is_read_only(&self, is_alone: bool, settings: &Settings) -> bool {
        match is_alone {
            true => settings.used.is_read_only,
            false => self.is_read_only,
        }
    }

    /// The last savepoint of this name, by its place.
    fn place_of(&self, name: &str) -> Result<usize, Stop> {
        self.savepoints.iter().rposition(|one| one.name == name).ok_or_else(|| {
            let meant = did_you_mean(name, self.savepoints.iter().map(|one| one.name.as_str()));
            let message = format!("the transaction has no savepoint {name}{meant}");
            refuse(SqlState::INVALID_SAVEPOINT_SPECIFICATION, message)
        })
    }
}

impl Frame<'_> {
    /// A transaction as these modes and the session's settings say.
    pub(super) fn new_transaction(
        &mut self,
        modes: Option<TransactionModes>,
    ) -> Result<Transaction, Stop> {
        let modes = modes.unwrap_or_default();
        let used = &self.state.own.settings.used;
        let is_read_only = modes.read_only.unwrap_or(used.is_read_only);
        let is_serializable = match modes.isolation {
            Some(Isolation::RepeatableRead | Isolation::Serializable) => true,
            Some(Isolation::ReadUncommitted | Isolation::ReadCommitted) => false,
            None => used.is_serializable,
        };
        let mut transaction = match is_serializable || is_read_only {
            true => self.instance.transactions().begin_serializable(self.session)?,
            false => Transaction::new(),
        };
        transaction.set_lock_wait(self.state.own.lock_wait());
        Ok(transaction)
    }

    /// Refuses a change in a transaction that only reads.
    pub(super) fn check_may_change(&self, is_alone: bool) -> Result<(), Stop> {
        match self.state.open.is_read_only(is_alone, &self.state.own.settings) {
            false => Ok(()),
            true => {
                let message = "the transaction is READ ONLY: it neither changes nor locks rows";
                Err(refuse(SqlState::READ_ONLY_SQL_TRANSACTION, message))
            }
        }
    }

    /// Refuses a statement that defines something in a transaction that would end by it.
    pub(crate) fn check_may_define(&self, tag: &str) -> Result<(), Stop> {
        let Some(open) = self.transaction.as_ref() else { return self.check_may_change(true) };
        self.check_may_change(false)?;
        if open.id().is_none() && !open.is_serializable() {
            return Ok(());
        }
        let message = format!(
            "{tag} is a transaction of its own, and the open one has changes, locks or a snapshot; \
             commit it first, or roll it back"
        );
        Err(refuse(SqlState::ACTIVE_SQL_TRANSACTION, message))
    }

    /// BEGIN.
    pub(super) fn begin(&mut self, modes: TransactionModes) -> Result<Outcome, Stop> {
        let outcome = Outcome::done("BEGIN");
        if self.transaction.is_some() {
            return Ok(outcome.with_notice("a transaction is open already, and goes on"));
        }
        self.open_with(modes)?;
        Ok(outcome)
    }

    fn open_with(&mut self, modes: TransactionModes) -> Result<(), Stop> {
        let transaction = self.new_transaction(Some(modes))?;
        *self.transaction = Some(transaction);
        self.state.open.is_read_only =
            modes.read_only.unwrap_or(self.state.own.settings.used.is_read_only);
        self.state.open.isolation = modes.isolation;
        Ok(())
    }

    /// SET TRANSACTION: of the open one, as long as it has done nothing; else one begins.
    pub(super) fn set_transaction(&mut self, modes: TransactionModes) -> Result<Outcome, Stop> {
        let outcome = Outcome::done("SET TRANSACTION");
        let Some(open) = self.transaction.take() else {
            self.open_with(modes)?;
            return Ok(outcome);
        };
        if open.id().is_some() || self.state.cursors.is_any_of_transaction() {
            *self.transaction = Some(open);
            let message = "SET TRANSACTION comes first in a transaction: this one has changes, \
                           locks or open cursors already";
            return Err(refuse(SqlState::ACTIVE_SQL_TRANSACTION, message));
        }
        let wanted = TransactionModes {
            isolation: modes.isolation.or(self.state.open.isolation),
            read_only: modes.read_only.or(Some(self.state.open.is_read_only)),
        };
        self.instance.rollback(open, self.session)?;
        self.open_with(wanted)?;
        Ok(outcome)
    }

    /// SET SESSION CHARACTERISTICS.
    pub(super) fn set_transactions(&mut self, modes: TransactionModes) -> Result<Outcome, Stop> {
        let settings = &mut self.state.own.settings;
        if let Some(isolation) = modes.isolation {
            let level = isolation_name(isolation);
            settings.set("default_transaction_isolation", Some(level), false)?;
        }
        if let Some(read_only) = modes.read_only {
            let value = if read_only { "on" } else { "off" };
            settings.set("default_transaction_read_only", Some(value), false)?;
        }
        Ok(Outcome::done("SET"))
    }

    /// COMMIT.
    pub(super) fn commit(&mut self, written: Commit) -> Result<Outcome, Stop> {
        let outcome = Outcome::done("COMMIT");
        let next = self.chained(written.chain, "COMMIT AND CHAIN")?;
        let Some(open) = self.transaction.take() else {
            return Ok(outcome.with_notice("no transaction is open"));
        };
        let mode = self.commit_mode(written);
        let committed = match mode {
            None => self.instance.commit(open, self.session),
            Some(mode) => self.instance.commit_with(open, mode, self.session).map(|_| ()),
        };
        self.with_host(|host, parts| parts.cursors.end_transaction(host));
        self.forget_transaction();
        committed?;
        next.map_or(Ok(()), |modes| self.open_with(modes))?;
        Ok(outcome)
    }

    /// What the transaction is to be that AND CHAIN begins behind the open one.
    fn chained(&mut self, chain: bool, tag: &str) -> Result<Option<TransactionModes>, Stop> {
        if !chain {
            return Ok(None);
        }
        self.open_transaction(tag)?;
        let OpenNames { is_read_only, isolation, .. } = &self.state.open;
        let (isolation, read_only) = (*isolation, Some(*is_read_only));
        Ok(Some(TransactionModes { isolation, read_only }))
    }

    fn commit_mode(&self, written: Commit) -> Option<CommitMode> {
        let of_session = self.state.own.settings.used.commit_mode();
        if written.wait.is_none() && written.immediate.is_none() {
            return of_session;
        }
        let from = of_session.unwrap_or(CommitMode::DURABLE);
        let wait = written.wait.map(|wait| match wait {
            true => CommitWait::Wait,
            false => CommitWait::Nowait,
        });
        let logging = written.immediate.map(|immediate| match immediate {
            true => CommitLogging::Immediate,
            false => CommitLogging::Batch,
        });
        Some(CommitMode {
            wait: wait.unwrap_or(from.wait),
            logging: logging.unwrap_or(from.logging),
        })
    }

    /// ROLLBACK.
    pub(super) fn rollback(&mut self, chain: bool) -> Result<Outcome, Stop> {
        let outcome = Outcome::done("ROLLBACK");
        let next = self.chained(chain, "ROLLBACK AND CHAIN")?;
        self.with_host(|host, parts| {
            if parts.transaction.is_some() {
                parts.cursors.end_transaction(host);
            }
        });
        let Some(open) = self.transaction.take() else {
            return Ok(outcome.with_notice("no transaction is open"));
        };
        self.forget_transaction();
        self.instance.rollback(open, self.session)?;
        next.map_or(Ok(()), |modes| self.open_with(modes))?;
        Ok(outcome)
    }

    /// What belonged to a transaction ends with it.
    fn forget_transaction(&mut self) {
        self.state.open = OpenNames::default();
        self.state.own.settings.end_transaction();
    }

    /// The open transaction; refused if none is.
    fn open_transaction(&mut self, tag: &str) -> Result<&mut Transaction, Stop> {
        self.transaction.as_mut().ok_or_else(|| {
            let message = format!("{tag} needs an open transaction; write BEGIN first");
            refuse(SqlState::NO_ACTIVE_SQL_TRANSACTION, message)
        })
    }

    /// SAVEPOINT.
    pub(super) fn savepoint(&mut self, name: &str) -> Result<Outcome, Stop> {
        let savepoint = self.open_transaction("SAVEPOINT")?.savepoint();
        self.state.open.savepoints.push(NamedSavepoint { name: name.to_string(), savepoint });
        Ok(Outcome::done("SAVEPOINT"))
    }

    /// ROLLBACK TO: the savepoint stays, and those behind it go.
    pub(super) fn rollback_to(&mut self, name: &str) -> Result<Outcome, Stop> {
        self.open_transaction("ROLLBACK TO")?;
        let place = self.state.open.place_of(name)?;
        let savepoint = self.state.open.savepoints[place].savepoint;
        self.state.open.savepoints.truncate(place + 1);
        self.before_rollback_to(savepoint);
        let (instance, session) = (self.instance, self.session);
        let open = self.open_transaction("ROLLBACK TO")?;
        instance.transactions().rollback_to(open, savepoint, session)?;
        Ok(Outcome::done("ROLLBACK"))
    }

    /// Closes what has seen changes that a rollback to this savepoint takes back. Whoever rolls
    /// back by other means calls it first.
    pub fn before_rollback_to(&mut self, savepoint: Savepoint) {
        self.with_host(|host, parts| parts.cursors.before_rollback_to(savepoint, host));
    }

    /// Takes note that the open transaction is ending by other means than a statement.
    pub fn before_end(&mut self) {
        self.with_host(|host, parts| parts.cursors.end_transaction(host));
        self.forget_transaction();
    }

    /// RELEASE: the savepoint and those behind it are forgotten.
    pub(super) fn release(&mut self, name: &str) -> Result<Outcome, Stop> {
        self.open_transaction("RELEASE")?;
        let place = self.state.open.place_of(name)?;
        self.state.open.savepoints.truncate(place);
        Ok(Outcome::done("RELEASE"))
    }

    /// LOCK TABLE.
    pub(super) fn lock_tables(&mut self, written: &syntax::LockTable) -> Result<Outcome, Stop> {
        self.check_may_change(false)?;
        let lock_wait = self.open_transaction("LOCK TABLE")?.lock_wait();
        let lock_wait = match written.wait {
            WrittenWait::Forever | WrittenWait::SkipLocked => lock_wait,
            WrittenWait::No => LockWait::NoWait,
            WrittenWait::Seconds(seconds) => LockWait::For(Nanos::from_secs(seconds)),
        };
        let mode = match written.mode {
            LockMode::RowShare => TableMode::RowShare,
            LockMode::RowExclusive => TableMode::RowExclusive,
            LockMode::Share => TableMode::Share,
            LockMode::ShareRowExclusive => TableMode::ShareRowExclusive,
            LockMode::Exclusive => TableMode::Exclusive,
        };
        let mut locked = Vec::with_capacity(written.tables.len());
        let done = written.tables.iter().try_for_each(|table| {
            let name = Name::of_users(table)?;
            self.lock_table(&name, mode, lock_wait, &mut locked)
        });
        match done {
            Ok(()) => Ok(Outcome::done("LOCK TABLE")),
            Err(stop) => {
                self.unlock_tables(&locked)?;
                Err(stop)
            }
        }
    }

    /// Locks a table as it is by then.
    fn lock_table(
        &mut self,
        name: &str,
        mode: TableMode,
        wait: LockWait,
        locked: &mut Vec<LockedTable>,
    ) -> Result<(), Stop> {
        let (instance, catalog, session) = (self.instance, self.catalog, self.session);
        let transactions = instance.transactions();
        let open = self.open_transaction("LOCK TABLE")?;
        loop {
            let relation = catalog.relation(name, session)?;
            let object = object_of(&relation);
            let before = transactions.table_mode(open, object, session);
            transactions.lock_table(open, object, mode, wait, session)?;
            locked.push(LockedTable { object, before });
            if !relation.is_stale(session) {
                return Ok(());
            }
            // While it waited the table may have got another name, and another table its name.
            let now = catalog.relation(name, session)?;
            if object_of(&now) != object {
                transactions.lower_table(open, object, before, session);
                locked.pop();
            }
        }
    }

    /// Takes the locks of a refused LOCK TABLE back, the last one first (SQ61).
    fn unlock_tables(&mut self, locked: &[LockedTable]) -> Result<(), Stop> {
        let (instance, session) = (self.instance, self.session);
        let open = self.open_transaction("LOCK TABLE")?;
        for LockedTable { object, before } in locked.iter().rev() {
            instance.transactions().lower_table(open, *object, *before, session);
        }
        Ok(())
    }
}

/// A table that a LOCK TABLE has locked.
struct LockedTable {
    object: u32,
    /// The mode that the transaction had before.
    before: Option<TableMode>,
}

fn object_of(relation: &Relation) -> u32 {
    relation.definition().object.get()
}

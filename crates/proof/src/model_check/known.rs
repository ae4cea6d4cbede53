//! What is known outside the machine: what sessions did and were told, in order.
//!
//! Invariants
//!   * the clock ticks at each call and each return, so that of any two it is known which was first
//!   * what was told before a call is its `low`: a snapshot of that call isn't older
//!
//! Callers: `client` and `bed` write it; `judge` reads it when a round has ended.

use super::ask::{Ask, Told};
use super::judge::History;
use super::tally::ModelTally;

/// A transaction's number.
pub(super) type Txn = u64;

/// What a session did.
#[derive(Clone, Debug)]
pub(super) enum Deed {
    Begin {
        serializable: bool,
    },
    Statement(Box<Ask>, Told),
    /// A savepoint with this number.
    Savepoint(usize),
    /// Went back to it.
    Back(usize),
    /// Used a savepoint that isn't one of the transaction, or not any more.
    Misuse(Told),
    /// With the SCN that was told.
    Commit(Option<u64>),
    /// Refused or asked for.
    Rollback,
    /// A statement that defines something, outside of transactions.
    Define(Define, Told),
}

/// What is defined.
#[derive(Clone, Debug)]
pub(super) enum Define {
    CreateIndex,
    /// With this name.
    DropIndex(String),
    /// To this table.
    AddColumn(usize),
}

/// A definition, known from its call on: it may be seen before it has returned.
#[derive(Clone, Debug)]
pub(super) struct Definition {
    pub(super) called: u64,
    pub(super) define: Define,
    pub(super) is_refused: bool,
}

/// A call that has returned.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) called: u64,
    pub(super) returned: u64,
    /// The newest SCN that anybody had been told at the call.
    pub(super) low: u64,
    pub(super) txn: Txn,
    pub(super) deed: Deed,
}

impl Event {
    /// What comes first is judged first. A commit may be seen from its call on.
    pub(super) fn order(&self) -> u64 {
        match self.deed {
            Deed::Commit(_) => self.called,
            _ => self.returned,
        }
    }
}

/// When something was called, and what had been told by then.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    called: u64,
    low: u64,
}

/// What is known.
#[derive(Default)]
pub(super) struct Known {
    pub(super) log: Vec<Event>,
    /// Definitions of this round.
    pub(super) definitions: Vec<Definition>,
    pub(super) history: History,
    pub(super) tally: ModelTally,
    /// What was found wrong first.
    pub(super) breach: Option<String>,
    /// Operations that are left in this round.
    pub(super) operations: u64,
    /// Commits that were called and haven't returned.
    pub(super) committing: u32,
    /// The power is about to go: no commit is called any more.
    pub(super) closing: bool,
    /// Columns that were added to each table, as far as is known.
    pub(super) added: [usize; 3],
    low: u64,
    clock: u64,
    txns: Txn,
}

impl Known {
    pub(super) fn finds(&mut self, what: impl ToString) {
        self.breach.get_or_insert_with(|| what.to_string());
    }

    pub(super) fn transaction(&mut self) -> Txn {
        self.txns += 1;
        self.txns
    }

    pub(super) fn call(&mut self) -> Call {
        self.clock += 1;
        Call { called: self.clock, low: self.low }
    }

    pub(super) fn returned(&mut self, Call { called, low }: Call, txn: Txn, deed: Deed) {
        self.clock += 1;
        if let Deed::Commit(Some(scn)) = deed {
            self.low = self.low.max(scn);
        }
        self.log.push(Event { called, returned: self.clock, low, txn, deed });
    }

    /// A statement that defines is called; its place among the definitions.
    pub(super) fn defines(&mut self, define: &Define) -> (Call, usize) {
        let call = self.call();
        let define = define.clone();
        self.definitions.push(Definition { called: call.called, define, is_refused: false });
        (call, self.definitions.len() - 1)
    }

    /// An operation is done; false if there are none left.
    pub(super) fn operation(&mut self) {
        self.tally.operations += 1;
        self.operations = self.operations.saturating_sub(1);
    }
}

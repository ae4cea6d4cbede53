//! What is known outside the machine: what sessions did and were told, in order.
//!
//! Invariants
//!   * the clock ticks at each call and each return, so that of any two it is known which was first
//!   * what was told before a call is its `low`: a snapshot of that call isn't older
//!
//! Callers: `client` and `bed` write it; `judge` reads it when a round has ended.

use std::collections::BTreeSet;

use super::ask::{Ask, Told};
use super::judge::History;
use super::tally::ModelTally;
use super::ticket::Tickets;

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
    /// The number is its place among the round's definitions.
    Define(Define, usize, Told),
}

/// What is defined.
#[derive(Clone, Debug)]
pub(super) enum Define {
    CreateIndex(Extra),
    /// Of this table, with this name.
    DropIndex(usize, String),
    /// To this table.
    AddColumn(usize),
}

/// What names of indexes have in them that aren't there from the beginning.
pub(super) const EXTRA: &str = "extra";

/// An index that isn't there from the beginning.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Extra {
    pub(super) table: usize,
    pub(super) name: String,
    pub(super) columns: Vec<usize>,
    pub(super) unique: bool,
}

/// A definition, known from its call on: it may be seen before it has returned.
#[derive(Clone, Debug)]
pub(super) struct Definition {
    pub(super) called: u64,
    /// None if the round ended before.
    pub(super) returned: Option<u64>,
    pub(super) define: Define,
    pub(super) is_refused: bool,
    /// Whether it waits for nobody.
    pub(super) is_nowait: bool,
}

impl Define {
    pub(super) fn table(&self) -> usize {
        match self {
            Define::CreateIndex(extra) => extra.table,
            Define::DropIndex(table, _) | Define::AddColumn(table) => *table,
        }
    }
}

impl Define {
    /// The name of the index that it is about.
    fn index(&self) -> Option<&str> {
        match self {
            Define::CreateIndex(extra) => Some(&extra.name),
            Define::DropIndex(_, name) => Some(name),
            Define::AddColumn(_) => None,
        }
    }
}

impl Definition {
    /// Whether it was, or may have been, under way at some time between these.
    pub(super) fn is_between(&self, from: u64, to: u64) -> bool {
        self.called < to && self.returned.is_none_or(|returned| returned > from)
    }
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
    /// And of the round before.
    pub(super) before: Vec<Definition>,
    /// Indexes that were there when the round began.
    pub(super) extras: Vec<Extra>,
    pub(super) history: History,
    pub(super) tickets: Tickets,
    pub(super) tally: ModelTally,
    /// What was found wrong first.
    pub(super) breach: Option<String>,
    /// Operations that are left in this round.
    pub(super) operations: u64,
    /// Commits that were called and haven't returned.
    pub(super) committing: u32,
    /// Sessions that haven't ended.
    pub(super) sessions: u32,
    /// Transactions that have changed a row, and haven't been told to end.
    pub(super) changing: BTreeSet<Txn>,
    /// The power is about to go: no commit is called any more.
    pub(super) closing: bool,
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
        match deed {
            Deed::Statement(_, Told::Count(1..)) => _ = self.changing.insert(txn),
            Deed::Commit(scn) => {
                self.low = self.low.max(scn.unwrap_or(0));
                self.tickets.ended(txn, true);
            }
            Deed::Rollback => self.tickets.ended(txn, false),
            _ => {}
        }
        self.log.push(Event { called, returned: self.clock, low, txn, deed });
    }

    /// A statement that defines is called; its place among the definitions.
    pub(super) fn defines(&mut self, define: &Define, is_nowait: bool) -> (Call, usize) {
        let call = self.call();
        let (called, returned, is_refused) = (call.called, None, false);
        let define = define.clone();
        self.definitions.push(Definition { called, returned, define, is_refused, is_nowait });
        (call, self.definitions.len() - 1)
    }

    /// And it has returned.
    pub(super) fn defined(&mut self, call: Call, number: usize, told: Told) {
        let is_refused = matches!(told, Told::Refused(..));
        self.tally.definitions += u64::from(!is_refused);
        self.definitions[number].is_refused = is_refused;
        let define = self.definitions[number].define.clone();
        let txn = self.transaction();
        self.returned(call, txn, Deed::Define(define, number, told));
        self.definitions[number].returned = Some(self.clock);
    }

    /// A round begins, with these indexes; what is wrong with them. What was defined and had
    /// returned is done.
    pub(super) fn begin(&mut self, extras: Vec<Extra>) -> Option<String> {
        let done: Vec<Definition> = std::mem::take(&mut self.before);
        let done: Vec<&Definition> = done.iter().filter(|one| !one.is_refused).collect();
        let mut wrong = None;
        for one in &done {
            let (Some(name), Some(returned)) = (one.define.index(), one.returned) else { continue };
            let others = done.iter().filter(|other| other.called != one.called);
            let mut others = others.filter(|other| other.define.index() == Some(name));
            // The last one says what there is, if it was the last.
            if others.any(|other| other.is_between(one.called, u64::MAX)) || !name.contains(EXTRA) {
                continue;
            }
            let is_there = extras.iter().any(|extra| extra.name == *name);
            if is_there != matches!(one.define, Define::CreateIndex(_)) {
                wrong = Some(format!("{one:?} was done at {returned}; there is {extras:?}"));
            }
        }
        self.extras = extras;
        wrong
    }

    /// A transaction is about to end.
    pub(super) fn ends(&mut self, txn: Txn) {
        self.changing.remove(&txn);
    }

    /// The time.
    pub(super) fn now(&self) -> u64 {
        self.clock
    }

    /// An operation is done; false if there are none left.
    pub(super) fn operation(&mut self) {
        self.tally.operations += 1;
        self.operations = self.operations.saturating_sub(1);
    }
}

//! A table whose locks can't be kept at seats: its holders, and its waiters in their order.
//!
//! ```text
//!   grants        T1 RX, T2 RX, T3 RS      each goes with each
//!   converters    T3 → X                   have the table and want more of it
//!   queue         T4 S, T5 RX              have nothing of it yet
//! ```
//!
//! The order (TX13)
//!   * a converter needs only that its mode goes with all that others *have*
//!   * a transaction in the queue also needs that no transaction converts or is before it in the
//!     queue
//!
//! So a converter waits for transactions that have the table, of which there are ever fewer,
//! because none comes in while it waits. A transaction in the queue waits for those and for the
//! ones before it.
//!
//! Bounded: a transaction is in each list once at most, so each is as long as there are seats.
//!
//! Callers: `manager`, `queues`.

use std::collections::{BTreeMap, VecDeque};

use ids::TxnId;

use crate::locks::TableMode;

/// A request for the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Request {
    pub(super) owner: TxnId,
    /// The mode that the transaction will have, with what it has already.
    pub(super) mode: TableMode,
}

/// Why a transaction waits for another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BlockReason {
    /// The other has what a row request wants.
    Row,
    /// The other has the table in this mode.
    Holds(TableMode),
    /// The other has the table and waits for this mode, which goes first.
    Converts(TableMode),
    /// The other is before it in the queue, for this mode.
    First(TableMode),
}

#[derive(Default)]
pub(super) struct Table {
    grants: BTreeMap<TxnId, TableMode>,
    converters: Vec<Request>,
    queue: VecDeque<Request>,
    /// Whether weak modes too are kept here (TX12).
    pub(super) watched: bool,
}

impl Table {
    /// The mode in which the transaction has the table.
    pub(super) fn mode_of(&self, owner: TxnId) -> Option<TableMode> {
        self.grants.get(&owner).copied()
    }

    /// Grants a request.
    pub(super) fn grant(&mut self, request: Request) {
        self.grants.insert(request.owner, request.mode);
    }

    /// Releases the table.
    pub(super) fn release(&mut self, owner: TxnId) {
        self.grants.remove(&owner);
    }

    /// Whether a new request can be granted at once.
    pub(super) fn may_have(&self, request: Request) -> bool {
        self.fits(request) && (self.mode_of(request.owner).is_some() || !self.is_waited_for())
    }

    /// Whether the mode goes with the modes that others have, whatever is waited for.
    pub(super) fn fits(&self, request: Request) -> bool {
        self.conflicts(request).next().is_none()
    }

    /// Adds a request that can't be granted to its list.
    pub(super) fn enqueue(&mut self, request: Request) {
        match self.mode_of(request.owner) {
            Some(_) => self.converters.push(request),
            None => self.queue.push_back(request),
        }
    }

    /// Removes the request of a transaction that gives up.
    pub(super) fn give_up(&mut self, owner: TxnId) {
        self.converters.retain(|request| request.owner != owner);
        self.queue.retain(|request| request.owner != owner);
    }

    /// Removes the next request that can be granted from the lists.
    pub(super) fn next(&mut self) -> Option<Request> {
        if let Some(at) = self.converters.iter().position(|request| self.fits(*request)) {
            return Some(self.converters.remove(at));
        }
        if !self.converters.is_empty() {
            return None;
        }
        let first = *self.queue.front()?;
        if self.fits(first) { self.queue.pop_front() } else { None }
    }

    /// The transactions that a request waits for, and why: holders, then those that go before it.
    pub(super) fn blockers(&self, waiter: Request) -> Vec<(TxnId, BlockReason)> {
        let holders = self.conflicts(waiter).map(|(id, mode)| (id, BlockReason::Holds(mode)));
        holders.chain(self.before(waiter.owner)).collect()
    }

    /// The transactions that go before a waiter of the queue: converters, and the next one in the
    /// queue, which waits for the rest itself.
    pub(super) fn before(&self, waiter: TxnId) -> Vec<(TxnId, BlockReason)> {
        if self.mode_of(waiter).is_some() {
            return Vec::new();
        }
        let converts = |request: &Request| (request.owner, BlockReason::Converts(request.mode));
        let mut before: Vec<_> = self.converters.iter().map(converts).collect();
        // From the end, where the last request is.
        let at = self.queue.iter().rposition(|request| request.owner == waiter);
        let next = at.unwrap_or(self.queue.len()).checked_sub(1).map(|at| self.queue[at]);
        before.extend(next.map(|request| (request.owner, BlockReason::First(request.mode))));
        before
    }

    pub(super) fn is_waited_for(&self) -> bool {
        !self.converters.is_empty() || !self.queue.is_empty()
    }

    /// Whether a weak mode may conflict with a grant or a request here.
    pub(super) fn needs_watching(&self) -> bool {
        self.is_waited_for() || self.grants.values().any(|mode| !mode.is_weak())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.grants.is_empty() && !self.is_waited_for()
    }

    /// The other holders whose mode doesn't go with the request.
    fn conflicts(&self, request: Request) -> impl Iterator<Item = (TxnId, TableMode)> {
        let others = self.grants.iter().map(|(id, mode)| (*id, *mode));
        others.filter(move |(id, mode)| *id != request.owner && !mode.goes_with(request.mode))
    }
}

// For checks.
impl Table {
    /// The number of holders and waiters.
    pub(super) fn length(&self) -> usize {
        self.grants.len() + self.waiters().count()
    }

    /// The transactions that wait for the table.
    pub(super) fn waiters(&self) -> impl Iterator<Item = TxnId> {
        self.converters.iter().chain(&self.queue).map(|request| request.owner)
    }

    /// Checks the invariants of this file. The error says what is wrong.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.is_empty() {
            return Err("no transaction has it or waits for it".to_string());
        }
        let mut waiters: Vec<_> = self.waiters().collect();
        waiters.sort_unstable();
        if let Some(pair) = waiters.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("{} waits twice", pair[0]));
        }
        if let Some(new) = self.converters.iter().find(|new| self.mode_of(new.owner).is_none()) {
            return Err(format!("{} converts, and has nothing", new.owner));
        }
        if let Some(old) = self.queue.iter().find(|old| self.mode_of(old.owner).is_some()) {
            return Err(format!("{} is in the queue, and has it", old.owner));
        }
        let first = if self.converters.is_empty() { self.queue.front() } else { None };
        let mut next = self.converters.iter().chain(first);
        if let Some(idle) = next.find(|request| self.fits(**request)) {
            return Err(format!("{} waits for no transaction (TX13)", idle.owner));
        }
        let grants = || self.grants.iter();
        let at_odds = |one: &TxnId, mode: &TableMode| {
            grants().find(|(other, has)| *other != one && !has.goes_with(*mode)).map(|(id, _)| *id)
        };
        if let Some((one, other)) = grants().find_map(|(id, m)| Some((id, at_odds(id, m)?))) {
            return Err(format!("{one} and {other} have it in modes that don't go together"));
        }
        match self.watched == self.needs_watching() {
            true => Ok(()),
            false => Err(format!("it is watched: {}, against its need (TX12)", self.watched)),
        }
    }
}

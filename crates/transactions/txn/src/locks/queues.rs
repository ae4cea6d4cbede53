//! Who waits for what: the tables that are watched, each transaction's wait, and the circles that
//! waits close.
//!
//! All of it is under one latch, so a circle is looked for in one moment of the whole instance. It
//! is taken by who waits, by who is waited for, and by strong modes; not by a transaction that
//! meets nobody.
//!
//! When a circle can close (rule TX14): an edge goes from who waits to whom it waits for. Edges
//! come into being
//!   * when a wait begins: from the new waiter, and, if it converts, to it from who is in the queue
//!   * when a transaction that runs is granted a table, or more of it: to it from waiters
//!   * when somebody in the queue gives up: from the next one to the one before, which it came to
//!     through the one that gave up anyhow
//!
//! A circle consists of waiters. So it can close only in the first way, and then goes through the
//! new waiter: to look for a way from it to itself, once, as its wait begins, finds every circle.
//! Nothing else has to be looked at later.
//!
//! Callers: `manager.rs`, views.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ids::TxnId;

use crate::locks::LockWanted;
use crate::locks::table::{BlockReason, Request, Table};
use crate::locks::wanted::Wait;

pub(super) struct Queues {
    /// By object. Bounded by the tables that active transactions have locked.
    pub(super) tables: BTreeMap<u32, Table>,
    /// By segment: what its transaction waits for. None: it runs, even if it hasn't woken yet.
    pub(super) waits: Vec<Option<Wait>>,
}

/// One step of a circle: who waits, for whom, and why for that one.
#[derive(Clone)]
pub(super) struct WaitsForEdge {
    pub(super) wait: Wait,
    pub(super) blocker: TxnId,
    pub(super) reason: BlockReason,
}

impl Queues {
    pub(super) fn new(segments_max: u16) -> Queues {
        Queues { tables: BTreeMap::new(), waits: (0..segments_max).map(|_| None).collect() }
    }

    pub(super) fn table(&mut self, object: u32) -> &mut Table {
        self.tables.entry(object).or_default()
    }

    /// The wait of this transaction. One that has ended waits no more, and the next one of its
    /// segment isn't meant.
    pub(super) fn wait_of(&self, id: TxnId) -> Option<&Wait> {
        self.waits[usize::from(id.segment)].as_ref().filter(|wait| wait.waiter == id)
    }

    /// For whom it waits, and why.
    pub(super) fn blockers(&self, wait: &Wait) -> Vec<(TxnId, BlockReason)> {
        match wait.wanted {
            LockWanted::Row { holder, .. } => vec![(holder, BlockReason::Row)],
            LockWanted::Table { object, mode, .. } => {
                let table = self.tables.get(&object);
                let request = Request { owner: wait.waiter, mode };
                table.map_or_else(Vec::new, |table| table.blockers(request))
            }
        }
    }

    /// The shortest circle through this transaction, beginning with it; none if there is none.
    pub(super) fn circle(&self, start: TxnId) -> Option<Vec<WaitsForEdge>> {
        // From each that was come to, the one before it on the way.
        let mut ways: BTreeMap<TxnId, (TxnId, BlockReason)> = BTreeMap::new();
        let mut next = VecDeque::from([start]);
        // Who wants the same of a table waits for the same who have it: they are asked for once,
        // or a long queue behind many would take the square of its length.
        let mut asked = BTreeSet::new();
        while let Some(at) = next.pop_front() {
            let Some(wait) = self.wait_of(at) else { continue };
            let blockers = match wait.wanted {
                LockWanted::Table { object, mode, converts: false }
                    if !asked.insert((object, mode)) =>
                {
                    self.tables.get(&object).map_or_else(Vec::new, |table| table.before(at))
                }
                _ => self.blockers(wait),
            };
            for (blocker, reason) in blockers {
                if ways.contains_key(&blocker) {
                    continue;
                }
                ways.insert(blocker, (at, reason));
                if blocker == start {
                    return Some(self.way_back(start, &ways));
                }
                next.push_back(blocker);
            }
        }
        None
    }

    fn way_back(
        &self,
        start: TxnId,
        ways: &BTreeMap<TxnId, (TxnId, BlockReason)>,
    ) -> Vec<WaitsForEdge> {
        let mut links = Vec::new();
        let mut blocker = start;
        loop {
            let (waiter, reason) = ways[&blocker];
            let wait = self.wait_of(waiter).expect("the way leads through waiters").clone();
            links.push(WaitsForEdge { wait, blocker, reason });
            if waiter == start {
                links.reverse();
                return links;
            }
            blocker = waiter;
        }
    }
}

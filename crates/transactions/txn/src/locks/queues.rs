//! The watched tables, each transaction's wait, and the cycles that waits close.
//!
//! All of it is under one latch, so a cycle is looked for in one moment of the whole instance. The
//! latch is taken by sessions that wait or are waited for, and for strong modes; not by a
//! transaction that meets no other.
//!
//! When a cycle can close (TX14): an edge goes from a waiter to a transaction that it waits for.
//! Edges appear
//!   * when a wait begins: from the new waiter; and, if it converts, to it from waiters in the
//!     queue
//!   * when a running transaction is granted a table, or more of it: to it from waiters
//!   * when a waiter in the queue gives up: from the next waiter to the one before, which it
//!     reached through the one that gave up anyhow
//!
//! A cycle consists of waiters. So it can close only in the first way, and then leads through the
//! new waiter. One search for a way from the new waiter to itself, as its wait begins, finds every
//! cycle. No later search is needed.
//!
//! Callers: `manager`, `waiting`, `views`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ids::TxnId;

use crate::locks::LockWanted;
use crate::locks::table::{BlockReason, Request, Table};
use crate::locks::wanted::Wait;

pub(super) struct Queues {
    /// Tables by number; as many as active transactions have locked or want, at most.
    pub(super) tables: BTreeMap<u32, Table>,
    /// By segment, what its transaction waits for. None: it runs, even if it hasn't woken yet.
    pub(super) waits: Vec<Option<Wait>>,
}

/// An edge of the waits-for graph: a wait, a transaction that it waits for, and why.
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

    /// The wait of this transaction, not of a later one of its segment.
    pub(super) fn wait_of(&self, id: TxnId) -> Option<&Wait> {
        self.waits[usize::from(id.segment)].as_ref().filter(|wait| wait.waiter == id)
    }

    /// The transactions that a wait waits for, and why.
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

    /// The shortest cycle through this transaction, beginning with it.
    pub(super) fn cycle(&self, start: TxnId) -> Option<Vec<WaitsForEdge>> {
        // For each transaction that was reached, the one before it on the way.
        let mut ways: BTreeMap<TxnId, (TxnId, BlockReason)> = BTreeMap::new();
        let mut next = VecDeque::from([start]);
        // Requests for the same mode of a table wait for the same holders. These are asked for
        // once, or a long queue behind many holders would take the square of its length.
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

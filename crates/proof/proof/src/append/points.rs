//! The points of a history's transactions, and what says that one came before another.
//!
//! ```text
//!   read committed   snapshot 0 ─▶ end 0 ─▶ snapshot 1 ─▶ end 1 ─▶ … ─▶ commit
//!   snapshot         snapshot ────────────────────────────────────────▶ commit
//!   serializable     whole
//!
//!   list: … A, B │ unseen C, D        commit A ─ww▶ end (snapshot, whole) of who appended B
//!                                     commit A ─wr▶ snapshot that ends with A ─rw▶ commit B
//!                                     commit B ─unseen▶ ends of who appended C and D
//!         last reader ─rw▶ (unread) ─▶ commit C, commit D
//!   time: point that is over ─▶ (moment) ─▶ (moment) ─▶ point that begins
//! ```
//!
//! Points in brackets stand between many and many, so that edges stay linear in the history.
//!
//! Callers: `append`. `story` tells a cycle.

use super::graph::{Class, Edge, Graph};
use super::orders::{Orders, Told};
use super::{Level, Order};
use crate::history::{History, Transaction};

/// What a node of the graph is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// A statement's snapshot (read committed).
    Statement(usize, usize),
    /// A statement's end: nobody else has the rows locked that it changed.
    End(usize, usize),
    /// A transaction's snapshot.
    Snapshot(usize),
    /// When a transaction's changes become visible and its locks are let go.
    Commit(usize),
    /// All of a serializable transaction.
    Whole(usize),
    /// Between many edges and many.
    Between,
}

impl Role {
    /// The transaction that the point is of.
    pub(super) fn transaction(self) -> Option<usize> {
        match self {
            Role::Statement(number, _) | Role::End(number, _) => Some(number),
            Role::Snapshot(number) | Role::Commit(number) | Role::Whole(number) => Some(number),
            Role::Between => None,
        }
    }
}

/// How many edges of each class come from versions.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Counts {
    pub(super) ww: u64,
    pub(super) wr: u64,
    pub(super) rw: u64,
}

/// All points of a history and their graph.
pub(super) struct Points<'a> {
    pub(super) history: &'a History,
    pub(super) orders: &'a Orders<'a>,
    pub(super) roles: Vec<Role>,
    pub(super) graph: Graph,
    pub(super) counts: Counts,
}

impl<'a> Points<'a> {
    /// Points of this level at most: a transaction may have a lower one of its own.
    pub(super) fn of(
        history: &'a History,
        orders: &'a Orders<'a>,
        level: Level,
        order: Order,
    ) -> Points<'a> {
        let mut plan = Plan::of(history, orders, level);
        for told in &orders.told {
            plan.told(told);
        }
        for list in 0..orders.lists.len() {
            plan.versions(list);
        }
        if order >= Order::Session {
            plan.sessions();
        }
        if order >= Order::RealTime {
            plan.time();
        }
        let Plan { roles, edges, counts, .. } = plan;
        let nodes = u32::try_from(roles.len()).expect("fewer points than fit into a u32");
        Points { history, orders, graph: Graph::new(nodes, &edges), roles, counts }
    }
}

/// The level of a transaction, if the history is judged by this one.
pub(super) fn level_of(transaction: &Transaction, judged: Level) -> Level {
    transaction.level.unwrap_or(judged).min(judged)
}

/// When a point can have been: not before it was called, and it was over when that returned.
pub(super) fn window(history: &History, role: Role) -> (Option<u64>, Option<u64>) {
    let transaction = |number: usize| &history.transactions[number];
    match role {
        Role::Statement(number, statement) => {
            (Some(transaction(number).statements[statement].called), None)
        }
        Role::End(number, statement) => (None, transaction(number).statements[statement].returned),
        Role::Snapshot(number) => {
            let first = transaction(number).statements.first();
            (Some(transaction(number).began), first.and_then(|first| first.returned))
        }
        Role::Commit(number) => {
            (transaction(number).commit_called, transaction(number).acknowledged)
        }
        Role::Whole(number) => (Some(transaction(number).began), transaction(number).acknowledged),
        Role::Between => (None, None),
    }
}

/// The graph as it is laid out.
struct Plan<'a> {
    history: &'a History,
    orders: &'a Orders<'a>,
    level: Level,
    /// Of each transaction the first node.
    first: Vec<u32>,
    roles: Vec<Role>,
    edges: Vec<Edge>,
    counts: Counts,
    /// Of each list with unseen appends: whom its last readers come before.
    unread: Vec<Option<u32>>,
}

impl<'a> Plan<'a> {
    fn of(history: &'a History, orders: &'a Orders<'a>, level: Level) -> Plan<'a> {
        let mut plan = Plan {
            history,
            orders,
            level,
            first: Vec::new(),
            roles: Vec::new(),
            edges: Vec::new(),
            counts: Counts::default(),
            unread: vec![None; orders.lists.len()],
        };
        for (number, transaction) in history.transactions.iter().enumerate() {
            let first = plan.node_next();
            plan.first.push(first);
            match level_of(transaction, level) {
                Level::Serializable => plan.roles.push(Role::Whole(number)),
                Level::SnapshotIsolation => {
                    plan.roles.extend([Role::Snapshot(number), Role::Commit(number)]);
                }
                Level::ReadCommitted => {
                    for statement in 0..transaction.statements.len() {
                        let (begin, end) =
                            (Role::Statement(number, statement), Role::End(number, statement));
                        plan.roles.extend([begin, end]);
                    }
                    plan.roles.push(Role::Commit(number));
                }
            }
            for node in first + 1..plan.node_next() {
                plan.edge(Class::Inner, node - 1, node);
            }
        }
        plan
    }

    fn node_next(&self) -> u32 {
        u32::try_from(self.roles.len()).expect("fewer points than fit into a u32")
    }

    fn between(&mut self) -> u32 {
        self.roles.push(Role::Between);
        self.node_next() - 1
    }

    fn edge(&mut self, class: Class, from: u32, to: u32) {
        self.edges.push(Edge::new(class, from, to));
    }

    fn version_edge(&mut self, class: Class, from: u32, to: u32, list: usize, at: usize) {
        match class {
            Class::Ww | Class::Unseen => self.counts.ww += 1,
            Class::Wr => self.counts.wr += 1,
            _ => self.counts.rw += 1,
        }
        let fits = |number: usize| u32::try_from(number).expect("fewer versions than fit");
        self.edges.push(Edge { from, to, class, list: fits(list), at: fits(at) });
    }

    fn level(&self, transaction: usize) -> Level {
        level_of(&self.history.transactions[transaction], self.level)
    }

    fn snapshot(&self, transaction: usize, statement: usize) -> u32 {
        let per_statement = self.level(transaction) == Level::ReadCommitted;
        self.first[transaction] + if per_statement { 2 * index(statement) } else { 0 }
    }

    /// By when the rows that the statement changed are its transaction's.
    fn held(&self, transaction: usize, statement: usize) -> u32 {
        let per_statement = self.level(transaction) == Level::ReadCommitted;
        self.first[transaction] + if per_statement { 2 * index(statement) + 1 } else { 0 }
    }

    fn commit(&self, transaction: usize) -> u32 {
        let statements = self.history.transactions[transaction].statements.len();
        self.first[transaction]
            + match self.level(transaction) {
                Level::ReadCommitted => 2 * index(statements),
                Level::SnapshotIsolation => 1,
                Level::Serializable => 0,
            }
    }

    /// Whether it counts what the transaction was told.
    fn counts(&self, transaction: usize) -> bool {
        self.orders.committed[transaction] || self.level(transaction) < Level::Serializable
    }

    fn told(&mut self, told: &Told<'_>) {
        let (transaction, statement) = (told.transaction, told.statement);
        if !self.counts(transaction) {
            return;
        }
        let orders = self.orders;
        let list = &orders.lists[told.list];
        let at = told.seen.len();
        // What the same statement has locked, it may read as it is then.
        let point = match told.locked {
            Some(locked) if locked == statement => self.held(transaction, statement),
            _ => self.snapshot(transaction, statement),
        };
        if at > 0 {
            let writer = orders.appends[list.order[at - 1]].transaction;
            self.version_edge(Class::Wr, self.commit(writer), point, told.list, at);
        }
        if told.locked.is_some() {
            return;
        }
        if let Some(next) = list.order.get(at) {
            let writer = orders.appends[*next].transaction;
            if writer != transaction {
                self.version_edge(Class::Rw, point, self.commit(writer), told.list, at);
            }
        } else if !list.unseen.is_empty() {
            self.before_unseen(transaction, point, told.list, at);
        }
    }

    /// Who read the last version that anybody saw comes before all who appended more.
    fn before_unseen(&mut self, transaction: usize, point: u32, list: usize, at: usize) {
        let orders = self.orders;
        let unseen = &orders.lists[list].unseen;
        let writers = || unseen.iter().map(|number| orders.appends[*number].transaction);
        // Before all but itself: of a list at most one that is one point, or it is a lost update.
        if self.level(transaction) == Level::Serializable
            && writers().any(|writer| writer == transaction)
        {
            for writer in writers().filter(|writer| *writer != transaction) {
                self.version_edge(Class::Rw, point, self.commit(writer), list, at);
            }
            return;
        }
        let between = match self.unread[list] {
            Some(between) => between,
            None => {
                let between = self.between();
                self.unread[list] = Some(between);
                for writer in writers() {
                    self.edge(Class::Inner, between, self.commit(writer));
                }
                between
            }
        };
        self.version_edge(Class::Rw, point, between, list, at);
    }

    /// Each version was committed when the next one was made.
    fn versions(&mut self, number: usize) {
        let orders = self.orders;
        let list = &orders.lists[number];
        let pairs = list.order.iter().zip(list.order.iter().skip(1));
        for (at, (one, two)) in (1..).zip(pairs) {
            let (one, two) = (&orders.appends[*one], &orders.appends[*two]);
            if one.transaction != two.transaction {
                let held = self.held(two.transaction, two.statement);
                self.version_edge(Class::Ww, self.commit(one.transaction), held, number, at);
            }
        }
        let Some(last) = list.order.last() else { return };
        let last = orders.appends[*last].transaction;
        for append in list.unseen.iter().map(|number| &orders.appends[*number]) {
            if append.transaction != last {
                let held = self.held(append.transaction, append.statement);
                let at = list.order.len();
                self.version_edge(Class::Unseen, self.commit(last), held, number, at);
            }
        }
    }

    /// What a session did before comes before, unless it didn't wait for it.
    fn sessions(&mut self) {
        let transactions = &self.history.transactions;
        let mut order: Vec<usize> =
            (0..transactions.len()).filter(|number| self.counts(*number)).collect();
        order.sort_by_key(|number| (transactions[*number].session, transactions[*number].began));
        for pair in order.windows(2) {
            let (one, two) = (pair[0], pair[1]);
            if transactions[one].session != transactions[two].session {
                continue;
            }
            let waited = self.orders.committed[one] && transactions[one].acknowledged.is_some();
            let end = match (waited, transactions[one].statements.len().checked_sub(1)) {
                (false, Some(last)) => self.held(one, last),
                (false, None) => continue,
                (true, _) => self.commit(one),
            };
            self.edge(Class::Session, end, self.first[two]);
        }
    }

    /// What was over comes before what began later: each moment at which something was over is
    /// a point.
    fn time(&mut self) {
        let mut over: Vec<(u64, u32)> = Vec::new();
        let mut begun: Vec<(u64, u32)> = Vec::new();
        for (role, node) in self.roles.iter().zip(0..) {
            let Some(transaction) = role.transaction() else { continue };
            let is_commit = matches!(role, Role::Commit(_) | Role::Whole(_));
            if is_commit && !self.orders.committed[transaction] {
                continue;
            }
            let (from, to) = window(self.history, *role);
            over.extend(to.map(|moment| (moment, node)));
            begun.extend(from.map(|moment| (moment, node)));
        }
        over.sort_unstable();
        let first = self.node_next();
        for (_, node) in &over {
            let moment = self.between();
            self.edge(Class::Time, *node, moment);
            if moment > first {
                self.edge(Class::Inner, moment - 1, moment);
            }
        }
        for (moment, node) in begun {
            let before = over.partition_point(|(over, _)| *over < moment);
            if before > 0 {
                self.edge(Class::Inner, first + index(before) - 1, node);
            }
        }
    }
}

fn index(number: usize) -> u32 {
    u32::try_from(number).expect("fewer points than fit into a u32")
}

//! Sessions that drive the store by a seed, and the history of it. What the store says of SCNs goes
//! into the reference model, which is asked about every read.

use proof::append::Level;
use proof::history::{self, History, Key, Value};
use proof::snapshot::Model;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::store::{Break, Not, Saved, Store};

/// Turns that a statement waits for a lock before it is refused.
const LOCK_WAIT: u32 = 30;

/// What a history is like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// Levels of its transactions.
    pub(crate) levels: &'static [Level],
    pub(crate) sessions: usize,
    pub(crate) lists: u64,
    /// Events of sessions before the last ones end.
    pub(crate) turns: u32,
    /// Whether transactions run one after the other.
    pub(crate) serial: bool,
}

/// What became of a seed.
pub(crate) struct Driven {
    pub(crate) history: History,
    /// What the model didn't agree with first.
    pub(crate) breach: Option<String>,
}

pub(crate) fn drive(seed: u64, plan: Plan, broken: Break) -> Driven {
    let random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut driver = Driver {
        plan,
        store: Store::new(broken, random),
        history: History::new(),
        model: Model::new(),
        sessions: (0..plan.sessions).map(|_| Session::default()).collect(),
        value: 0,
        acknowledged: 0,
        breach: None,
    };
    let mut session = 0;
    for _ in 0..plan.turns {
        if !plan.serial || matches!(driver.sessions[session].state, State::Idle) {
            session = driver.any(plan.sessions as u64) as usize;
        }
        driver.turn(session, false);
        if !plan.serial && driver.any(200) == 0 {
            driver.crash();
        }
    }
    for _ in 0..1_000 {
        for session in 0..plan.sessions {
            if !matches!(driver.sessions[session].state, State::Idle) {
                driver.turn(session, true);
            }
        }
    }
    driver.read_all();
    Driven { history: driver.history, breach: driver.breach }
}

#[derive(Default)]
struct Session {
    txn: usize,
    level: Option<Level>,
    /// The snapshot of its first statement.
    snapshot: Option<u64>,
    /// The newest SCN that was acknowledged before it began, and before its statement.
    oldest: u64,
    state: State,
    savepoint: Option<(history::Savepoint, proof::snapshot::Savepoint, Saved)>,
}

#[derive(Default)]
enum State {
    #[default]
    Idle,
    Open,
    Called(Statement),
    Done(Vec<(Key, Vec<Value>)>),
    CommitCalled,
    Committed(u64),
}

/// A statement under way.
struct Statement {
    appends: Vec<(Key, Value)>,
    reads: Vec<Key>,
    /// The snapshot as it was when it was called.
    called: u64,
    waited: u32,
}

struct Driver {
    plan: Plan,
    store: Store,
    history: History,
    model: Model,
    sessions: Vec<Session>,
    value: Value,
    /// The newest SCN that was acknowledged.
    acknowledged: u64,
    breach: Option<String>,
}

impl Driver {
    fn finds(&mut self, breach: impl ToString) {
        self.breach.get_or_insert(breach.to_string());
    }

    fn any(&mut self, below: u64) -> u64 {
        self.store.random.random_range(0..below)
    }

    fn turn(&mut self, session: usize, ends: bool) {
        self.store.turn();
        let txn = self.sessions[session].txn;
        let state = std::mem::take(&mut self.sessions[session].state);
        self.sessions[session].state = match state {
            State::Idle => self.begins(session),
            State::Open => self.goes_on(session, txn, ends),
            State::Called(statement) => self.runs(session, txn, statement),
            State::Done(told) => {
                for (key, list) in told {
                    self.history.read(txn, key, list);
                }
                self.history.returned(txn);
                State::Open
            }
            State::CommitCalled => {
                let scn = self.store.commit(txn);
                self.model.commit_called(txn as u64);
                if let Err(breach) = self.model.commit(txn as u64, scn) {
                    self.finds(breach);
                }
                State::Committed(scn)
            }
            State::Committed(scn) => {
                self.acknowledged = self.acknowledged.max(scn);
                self.history.acknowledged(txn);
                State::Idle
            }
        };
    }

    fn begins(&mut self, session: usize) -> State {
        let levels = self.plan.levels;
        let level = levels[self.any(levels.len() as u64) as usize];
        let txn = self.history.begin(u32::try_from(session).expect("few"));
        self.history.level(txn, level);
        self.store.begin(txn, level);
        self.model.begin(txn as u64);
        let (level, oldest) = (Some(level), self.acknowledged);
        self.sessions[session] = Session { txn, level, oldest, ..Session::default() };
        State::Open
    }

    fn goes_on(&mut self, session: usize, txn: usize, ends: bool) -> State {
        match if ends { 0 } else { self.any(12) } {
            0 | 1 => {
                self.history.commit_called(txn);
                State::CommitCalled
            }
            2 => self.rolls_back(txn),
            3 => {
                let in_model = self.model.savepoint(txn as u64);
                let saved = self.store.savepoint(txn);
                let savepoint = self.history.savepoint(txn);
                self.sessions[session].savepoint = Some((savepoint, in_model, saved));
                State::Open
            }
            4 => {
                if let Some((savepoint, in_model, saved)) = self.sessions[session].savepoint.clone()
                {
                    self.store.rollback_to(txn, &saved);
                    self.model.rollback_to(txn as u64, in_model);
                    self.history.rolled_back_to(txn, savepoint);
                }
                State::Open
            }
            _ => self.calls(session, txn),
        }
    }

    fn rolls_back(&mut self, txn: usize) -> State {
        self.store.rollback(txn);
        self.model.rollback(txn as u64);
        self.history.aborted(txn);
        State::Idle
    }

    fn calls(&mut self, session: usize, txn: usize) -> State {
        self.history.called(txn);
        if self.sessions[session].level == Some(Level::ReadCommitted) {
            self.sessions[session].oldest = self.acknowledged;
        }
        let mut appends: Vec<(Key, Value)> = Vec::new();
        let mut reads = Vec::new();
        for _ in 0..=self.any(3) {
            let key = self.any(self.plan.lists);
            if self.any(5) < 2 && appends.iter().all(|(changed, _)| *changed != key) {
                self.value += 1;
                appends.push((key, self.value));
                self.history.append(txn, key, self.value);
            } else {
                reads.push(key);
            }
        }
        let called = self.store.snapshot(txn);
        State::Called(Statement { appends, reads, called, waited: 0 })
    }

    fn runs(&mut self, session: usize, txn: usize, mut statement: Statement) -> State {
        let keys: Vec<Key> = statement.appends.iter().map(|(key, _)| *key).collect();
        // Who changes nothing may keep the snapshot that it took when it was called.
        let keeps = keys.is_empty() && self.any(2) == 0;
        let snapshot = if keeps { statement.called } else { self.store.snapshot(txn) };
        match self.store.lock(txn, &keys, snapshot) {
            Ok(()) => {}
            Err(Not::Yet) if statement.waited < LOCK_WAIT => {
                statement.waited += 1;
                return State::Called(statement);
            }
            Err(_) => {
                self.history.refused(txn);
                return if self.any(3) == 0 { State::Open } else { self.rolls_back(txn) };
            }
        }
        self.looks_at(session, snapshot);
        for (key, value) in statement.appends {
            self.appends(session, snapshot, key, value);
            self.store.append(txn, key, value, statement.called);
        }
        let mut told = Vec::new();
        for key in statement.reads {
            let list = self.store.read(txn, key, snapshot, statement.called);
            let expected = self.model.expect(txn as u64, snapshot, 0, &place(key));
            if row(&list).as_deref() != expected {
                let what = format!("T{txn} read list {key} as {list:?} at {snapshot}");
                self.finds(format!("{what} instead of {expected:?}"));
            }
            told.push((key, list));
        }
        self.store.statement_ends(txn);
        State::Done(told)
    }

    /// A snapshot isn't older than what was acknowledged, and a transaction that has one keeps it.
    fn looks_at(&mut self, session: usize, snapshot: u64) {
        let Session { level, snapshot: first, oldest, .. } = self.sessions[session];
        if snapshot < oldest {
            self.finds(format!("snapshot {snapshot} is older than the commit at {oldest}"));
        }
        let first = first.unwrap_or(snapshot);
        if level > Some(Level::ReadCommitted) && first != snapshot {
            self.finds(format!("snapshot {first} became {snapshot}"));
        }
        self.sessions[session].snapshot = Some(first);
    }

    /// What the store should make of a list: its newest version and one more.
    fn appends(&mut self, session: usize, snapshot: u64, key: Key, value: Value) {
        let (place, txn) = (place(key), self.sessions[session].txn as u64);
        let is_late = self.model.changed_since(snapshot, 0, &place);
        if self.sessions[session].level > Some(Level::ReadCommitted) && is_late {
            self.finds(format!("list {key} was changed after snapshot {snapshot}"));
        }
        let newest = self.model.expect(txn, u64::MAX, 0, &place).unwrap_or_default();
        let list = [newest, &value.to_le_bytes()].concat();
        if let Err(breach) = self.model.write(txn, 0, &place, Some(&list)) {
            self.finds(breach);
        }
    }

    /// Who had called commit and wasn't answered may be there; all others aren't.
    fn crash(&mut self) {
        for session in 0..self.plan.sessions {
            let txn = self.sessions[session].txn;
            match std::mem::take(&mut self.sessions[session].state) {
                State::CommitCalled if self.any(2) == 0 => {
                    let scn = self.store.commit(txn);
                    if let Err(breach) = self.model.commit(txn as u64, scn) {
                        self.finds(breach);
                    }
                }
                _ => {}
            }
        }
        self.store.crash();
        self.model.after_crash(self.store.scn);
    }

    fn read_all(&mut self) {
        self.sessions[0].state = self.begins(0);
        let txn = self.sessions[0].txn;
        self.history.called(txn);
        let called = self.store.snapshot(txn);
        let reads = (0..self.plan.lists).collect();
        let all = Statement { appends: Vec::new(), reads, called, waited: 0 };
        self.sessions[0].state = self.runs(0, txn, all);
        for _ in 0..4 {
            self.turn(0, true);
        }
    }
}

fn place(key: Key) -> [u8; 8] {
    key.to_le_bytes()
}

/// A list as a row: an empty one is none.
fn row(list: &[Value]) -> Option<Vec<u8>> {
    let bytes: Vec<u8> = list.iter().flat_map(|value| value.to_le_bytes()).collect();
    (!bytes.is_empty()).then_some(bytes)
}

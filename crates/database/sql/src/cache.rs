//! Plans by the texts of their statements, shared by all sessions.
//!
//! ```text
//!   text ─▶ plans of this text ─ same kinds of parameters, same methods, still holds? ─▶ plan
//!                                └─ no: the text is parsed, bound and planned, and kept here
//! ```
//!
//! Invariants
//!   * a plan is looked at again after the statement has its snapshot, so one that doesn't hold any
//!     more is never run (rule SQ30)
//!   * parameters are not looked at: a text has one plan for all their values (rule SQ34)
//!   * no more than [`TEXTS_MAX`] texts are kept, none longer than [`TEXT_BYTES_MAX`]; those that
//!     weren't used for longest go first
//!
//! Callers: `prepared`; `engine`, for views.
//! Source: Oracle's shared pool, with its parent and child cursors.

use std::collections::BTreeMap;
use std::sync::Arc;

use catalog::Catalog;
use expression::Kind;
use latch::{Latch, LatchKind, Shared64};
use os::{Os, Session};
use syntax::{Binds, SqlId};
use waits::Nanos;

use crate::plan::{Methods, Plan, fingerprint};

/// The most texts whose plans are kept.
const TEXTS_MAX: usize = 2_000;

/// The longest text whose plan is kept, in bytes: a longer one has its rows in it, and doesn't come
/// again.
pub(crate) const TEXT_BYTES_MAX: usize = 64 << 10;

/// A plan with its text.
pub(crate) struct Entry {
    text: Arc<str>,
    /// The word for the statement, such as `SELECT`.
    pub(crate) tag: &'static str,
    /// Its parameters.
    pub(crate) binds: Binds,
    /// The kinds that were said of its parameters, before it was bound.
    said: Vec<Kind>,
    methods: Methods,
    pub(crate) plan: Arc<Plan>,
    pub(crate) counts: Counts,
    /// The time of its last use, by the cache's own clock.
    used: Shared64,
}

/// What a statement has done so far, in all sessions.
#[derive(Default)]
pub(crate) struct Counts {
    executions: Shared64,
    rows: Shared64,
    elapsed_us: Shared64,
}

impl Counts {
    /// Counts so many runs.
    pub(crate) fn add(&self, runs: u64, rows: u64, elapsed: Nanos, session: &Session) {
        self.executions.fetch_add(runs, session);
        self.rows.fetch_add(rows, session);
        self.elapsed_us.fetch_add(elapsed.0 / 1_000, session);
    }
}

/// What a plan is made for beside its text.
#[derive(Clone, Copy)]
pub(crate) struct Wish<'a> {
    pub(crate) said: &'a [Kind],
    pub(crate) methods: Methods,
}

impl Entry {
    /// A plan of this text.
    pub(crate) fn new(
        text: &str,
        tag: &'static str,
        binds: Binds,
        wish: Wish<'_>,
        plan: Arc<Plan>,
    ) -> Entry {
        Entry {
            text: Arc::from(text),
            tag,
            binds,
            said: wish.said.to_vec(),
            methods: wish.methods,
            plan,
            counts: Counts::default(),
            used: Shared64::new(0),
        }
    }

    /// Whether it is what is wished for.
    pub(crate) fn suits(&self, wish: Wish<'_>) -> bool {
        self.methods == wish.methods && self.said == wish.said
    }
}

/// The plans of an instance.
pub(crate) struct Plans {
    texts: Latch<BTreeMap<Arc<str>, Vec<Arc<Entry>>>>,
    /// Goes up with each use.
    clock: Shared64,
}

impl Plans {
    pub(crate) fn new(os: &Os) -> Plans {
        let texts = Latch::new(os, LatchKind::Innermost, BTreeMap::new());
        Plans { texts, clock: Shared64::new(0) }
    }

    /// The plan of a text, if there is one that holds by what is known now.
    pub(crate) fn find(
        &self,
        text: &str,
        wish: Wish<'_>,
        catalog: &Catalog,
        session: &Session,
    ) -> Option<Arc<Entry>> {
        let found = {
            let texts = self.texts.shared(session);
            texts.get(text)?.iter().find(|entry| entry.suits(wish)).cloned()?
        };
        // The dictionary is asked without the latch.
        if !found.plan.basis.holds(catalog, session) {
            return None;
        }
        found.used.store(self.clock.fetch_add(1, session), session);
        Some(found)
    }

    /// Keeps a plan in place of another one for the same wish.
    pub(crate) fn keep(&self, entry: Entry, session: &Session) -> Arc<Entry> {
        entry.used.store(self.clock.fetch_add(1, session), session);
        let entry = Arc::new(entry);
        let wish = Wish { said: &entry.said, methods: entry.methods };
        let is_full = {
            let mut texts = self.texts.exclusive(session);
            let of_text = texts.entry(Arc::clone(&entry.text)).or_default();
            of_text.retain(|other| !other.suits(wish));
            of_text.push(Arc::clone(&entry));
            texts.len() > TEXTS_MAX
        };
        if is_full {
            self.shrink(session);
        }
        entry
    }

    /// Forgets a tenth of the texts, those that weren't used for longest.
    #[cold]
    fn shrink(&self, session: &Session) {
        let entries: Vec<Arc<Entry>> = {
            let texts = self.texts.shared(session);
            texts.values().flatten().cloned().collect()
        };
        // What was used longest ago is found out without the latch: it is a matter of speed only.
        let mut used: Vec<u64> = entries.iter().map(|entry| entry.used.load(session)).collect();
        used.sort_unstable();
        let Some(bound) = used.get(used.len() / 10).copied() else { return };
        let old: Vec<Arc<str>> = entries
            .iter()
            .filter(|entry| entry.used.load(session) <= bound)
            .map(|entry| Arc::clone(&entry.text))
            .collect();
        let mut texts = self.texts.exclusive(session);
        for text in old {
            texts.remove(&text);
        }
    }

    /// Forgets all.
    pub(crate) fn forget(&self, session: &Session) {
        let texts = std::mem::take(&mut *self.texts.exclusive(session));
        drop(texts);
    }

    /// What is kept, in the order of the texts.
    pub(crate) fn views(&self, session: &Session) -> Vec<StatementView> {
        let entries: Vec<Arc<Entry>> = {
            let texts = self.texts.shared(session);
            texts.values().flatten().cloned().collect()
        };
        let view = |entry: &Arc<Entry>| StatementView {
            text: Arc::clone(&entry.text),
            id: SqlId::of(&entry.text),
            tag: entry.tag,
            plan_hash: fingerprint(&entry.plan.frame),
            executions: entry.counts.executions.load(session),
            rows: entry.counts.rows.load(session),
            elapsed_us: entry.counts.elapsed_us.load(session),
        };
        entries.iter().map(view).collect()
    }
}

/// A statement whose plan is kept, for views into the instance.
#[derive(Clone, Debug)]
pub struct StatementView {
    /// Its text.
    pub text: Arc<str>,
    /// Its name.
    pub id: SqlId,
    /// The word for it, such as `SELECT`.
    pub tag: &'static str,
    /// `plan_hash_value`: plans that do the same have the same.
    pub plan_hash: u32,
    /// How often it was run.
    pub executions: u64,
    /// How many rows it gave or changed.
    pub rows: u64,
    /// How long it took, in microseconds.
    pub elapsed_us: u64,
}

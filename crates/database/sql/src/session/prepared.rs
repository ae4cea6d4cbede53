//! Statements that are kept to be run again, and how one gets its plan.
//!
//! ```text
//!   text ─▶ the session's own ─▶ shared plans ─▶ parse ─ bind ─ plan
//!              │ plan still right?      │
//!              └────── run ◀────────────┘
//! ```
//!
//! Invariants
//!   * the session keeps the texts that it has used last, with their tables open
//!   * a plan that isn't right any more is found out at the run, and is made again (rule SQ30)
//!
//! Callers: `session`.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use expression::Kind;
use os::Session;
use stop::{SqlState, Stop};
use syntax::{Binds, Statement};
use waits::Nanos;

use crate::cache::{Entry, Wish};
use crate::refuse::refuse;
use crate::run::Opened;

/// The most texts that a session keeps for statements that it wasn't asked to keep.
const TEXTS_MAX: usize = 200;

/// Runs are counted in the shared plan after so many of them, or after so long.
const COUNTED_AT_RUNS: u64 = 64;
const COUNTED_AT: Nanos = Nanos::from_micros(500);

/// A statement that can be run again and again.
#[derive(Clone)]
pub struct Prepared(pub(crate) Rc<Kept>);

/// What is kept of a statement.
pub(crate) struct Kept {
    pub(crate) text: Rc<str>,
    /// The kinds that were said of its parameters.
    pub(crate) said: Vec<Kind>,
    pub(crate) content: Content,
    tally: Tally,
}

/// What a statement is.
pub(crate) enum Content {
    /// A statement about rows, with its plan.
    Rows(RefCell<Option<Planned>>),
    /// Another one.
    Other(Box<Statement>, Binds),
}

/// A plan with its tables open.
#[derive(Clone)]
pub(crate) struct Planned {
    pub(crate) entry: Arc<Entry>,
    pub(crate) opened: Rc<Opened>,
}

/// Runs that are to be counted in the shared plan.
#[derive(Default)]
struct Tally {
    runs: Cell<u64>,
    rows: Cell<u64>,
    elapsed: Cell<u64>,
}

impl Kept {
    /// A statement about rows with this plan.
    pub(crate) fn planned(text: &str, said: Vec<Kind>, planned: Planned) -> Kept {
        let content = Content::Rows(RefCell::new(Some(planned)));
        Kept { text: Rc::from(text), said, content, tally: Tally::default() }
    }

    /// Another statement.
    pub(crate) fn other(text: &str, statement: Statement, binds: Binds) -> Kept {
        let content = Content::Other(Box::new(statement), binds);
        Kept { text: Rc::from(text), said: Vec::new(), content, tally: Tally::default() }
    }

    /// The plan that it has, if that is what is wished for.
    #[inline]
    pub(crate) fn plan_for(&self, wish: Wish<'_>) -> Option<Planned> {
        match &self.content {
            Content::Rows(slot) => {
                slot.borrow().as_ref().filter(|planned| planned.entry.suits(wish)).cloned()
            }
            Content::Other(..) => None,
        }
    }

    /// Gives it another plan.
    pub(crate) fn set_plan(&self, planned: Planned) {
        if let Content::Rows(slot) = &self.content {
            *slot.borrow_mut() = Some(planned);
        }
    }

    /// Counts a run.
    #[inline]
    pub(crate) fn count(&self, entry: &Entry, rows: u64, elapsed: Nanos, session: &Session) {
        let Tally { runs, rows: of_rows, elapsed: time } = &self.tally;
        runs.set(runs.get() + 1);
        of_rows.set(of_rows.get() + rows);
        time.set(time.get() + elapsed.0);
        if runs.get() >= COUNTED_AT_RUNS || time.get() >= COUNTED_AT.0 {
            entry.counts.add(runs.take(), of_rows.take(), Nanos(time.take()), session);
        }
    }
}

impl Prepared {
    /// The statement's text.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// The number of its parameters.
    pub fn binds(&self) -> usize {
        self.with_binds(Binds::count)
    }

    /// The number of the parameter of this name, from 1; none if there is none of that name.
    pub fn bind_named(&self, name: &str) -> Option<usize> {
        self.with_binds(|binds| binds.number_of(name))
    }

    fn with_binds<T>(&self, ask: impl FnOnce(&Binds) -> T) -> T {
        match &self.0.content {
            Content::Rows(slot) => match &*slot.borrow() {
                Some(planned) => ask(&planned.entry.binds),
                None => ask(&Binds::default()),
            },
            Content::Other(_, binds) => ask(binds),
        }
    }
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Prepared({})", self.text())
    }
}

/// The statements that a session keeps.
#[derive(Default)]
pub(crate) struct Statements {
    by_text: BTreeMap<Rc<str>, Prepared>,
    by_name: BTreeMap<String, Prepared>,
}

impl Statements {
    /// The statement of this text, if it is kept.
    #[inline]
    pub(crate) fn of_text(&self, text: &str) -> Option<Prepared> {
        self.by_text.get(text).cloned()
    }

    /// Keeps a statement for when its text comes again.
    pub(crate) fn keep(&mut self, prepared: &Prepared) {
        if self.by_text.len() >= TEXTS_MAX {
            // Whatever was kept can be found again among the shared plans.
            self.by_text.clear();
        }
        self.by_text.insert(Rc::clone(&prepared.0.text), prepared.clone());
    }

    /// The statement of this name.
    pub(crate) fn named(&self, name: &str) -> Result<Prepared, Stop> {
        self.by_name.get(name).cloned().ok_or_else(|| {
            let meant = stop::did_you_mean(name, self.by_name.keys().map(String::as_str));
            let message = format!("there is no prepared statement {name}{meant}");
            refuse(SqlState::INVALID_SQL_STATEMENT_NAME, message)
        })
    }

    /// Gives a statement a name.
    pub(crate) fn name(&mut self, name: &str, prepared: Prepared) -> Result<(), Stop> {
        if self.by_name.contains_key(name) {
            let message = format!("prepared statement {name} exists already; DEALLOCATE it first");
            return Err(refuse(SqlState::DUPLICATE_PREPARED_STATEMENT, message));
        }
        self.by_name.insert(name.to_string(), prepared);
        Ok(())
    }

    /// Forgets a named statement, or all of them.
    pub(crate) fn forget(&mut self, name: Option<&str>) -> Result<(), Stop> {
        match name {
            None => self.by_name.clear(),
            Some(name) => {
                self.named(name)?;
                self.by_name.remove(name);
            }
        }
        Ok(())
    }
}

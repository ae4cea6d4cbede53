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
//!   * a plan that isn't right any more is found out at the run, and is made again (rule SQ30); so
//!     is one that a table has outgrown, within a second (rule SQ36)
//!   * a statement is of one instance, and has no table open when the session has ended that opened
//!     it
//!
//! Callers: `session`.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::rc::{Rc, Weak};
use std::sync::Arc;

use expression::Kind;
use os::Session;
use stop::{RefusalKind, SqlState, Stop};
use syntax::{Binds, SqlId, Statement};
use waits::Nanos;

use crate::cache::{Entry, Wish, Work};
use crate::engine::Engine;
use crate::refuse::refuse;
use crate::run::Opened;
use crate::stack::dropped_tree;

/// The most texts that a session keeps for statements that it wasn't asked to keep.
const TEXTS_MAX: usize = 200;

/// When these texts have more bytes, they are forgotten.
const BYTES_MAX: usize = 1 << 20;

/// The first runs are counted in the shared plan one by one. From then on it is done after so many
/// runs, or after so long.
const COUNTED_ALONE: u64 = 64;
const COUNTED_AT_RUNS: u64 = 64;
const COUNTED_AT: Nanos = Nanos::from_micros(500);

/// The time on a CPU of a run that is taken to be as long as this is measured, and of the others
/// that of one of so many: to read a thread's clock twice takes about a microsecond.
const MEASURED_AT: Nanos = Nanos::from_micros(200);
const MEASURED_OF: u64 = 64;

/// In the share of its short runs that a session is on a CPU the last of so many count most.
const MEASURED_LAST: u64 = 64;

/// A statement that can be run again and again.
#[derive(Clone)]
pub struct Prepared(pub(crate) Rc<Kept>);

/// What is kept of a statement.
pub(crate) struct Kept {
    pub(crate) text: Arc<str>,
    /// The name of the text.
    pub(crate) id: SqlId,
    /// The kinds that were said of its parameters.
    pub(crate) said: Vec<Kind>,
    pub(crate) binds: Binds,
    pub(crate) content: Content,
    /// The identity of its engine.
    engine: Arc<()>,
    tally: Tally,
}

/// What a statement is.
pub(crate) enum Content {
    /// A statement about rows, with its plan.
    Rows(RefCell<Option<Planned>>),
    /// Another one.
    Other(Box<Statement>),
}

/// A statement is dropped by whoever has it last, on a stack that may be short.
impl Drop for Kept {
    fn drop(&mut self) {
        if let Content::Other(statement) = &mut self.content {
            let tree = std::mem::replace(&mut **statement, Statement::Rollback { chain: false });
            dropped_tree(&self.text, tree);
        }
    }
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
    /// What isn't counted there yet.
    work: Cell<Work>,
    /// All runs.
    runs: Cell<u64>,
    /// How long the last one took.
    last: Cell<Nanos>,
}

/// What part of its short runs a session is on a CPU, by some of them, of whichever statements: a
/// statement may have a text of its own with each run. A run that turned out to be long says
/// nothing of them: it may have waited, as for a lock.
#[derive(Default)]
pub(crate) struct CpuShare {
    /// All runs that were taken to be short.
    runs: Cell<u64>,
    measured: Cell<Measured>,
    /// The session's time on a CPU when that was read last.
    read: Cell<Nanos>,
}

impl CpuShare {
    /// Counts a short run that begins. Whether it is to be measured: also while none was.
    #[inline]
    pub(crate) fn is_next(&self) -> bool {
        let before = self.runs.get();
        self.runs.set(before + 1);
        before.is_multiple_of(MEASURED_OF) || self.measured.get().elapsed == 0
    }

    /// The time on a CPU of a run: an estimate, unless it was measured. `session_cpu` reads the
    /// session's, which isn't done for a short run that wasn't measured.
    #[inline]
    pub(crate) fn of(&self, took: Took, session_cpu: impl FnOnce() -> Nanos) -> Nanos {
        let (known, is_short) = (self.measured.get(), took.elapsed < MEASURED_AT);
        match took.cpu {
            None if is_short => known.share(took.elapsed),
            None => {
                let now = session_cpu();
                let since = now.0.saturating_sub(self.read.replace(now).0);
                Nanos(known.share(took.elapsed).0.min(since))
            }
            Some(cpu) => {
                if is_short {
                    self.measured.set(known.with(took.elapsed, cpu));
                }
                self.read.set(session_cpu());
                cpu
            }
        }
    }
}

/// The time of runs whose time on a CPU is known, and that time.
#[derive(Clone, Copy, Default)]
struct Measured {
    elapsed: u64,
    cpu: u64,
}

impl Measured {
    /// The part of a time that was on a CPU, if it was as in these runs.
    fn share(self, elapsed: Nanos) -> Nanos {
        let part = u128::from(elapsed.0) * u128::from(self.cpu) / u128::from(self.elapsed.max(1));
        Nanos(u64::try_from(part).unwrap_or(u64::MAX).min(elapsed.0))
    }

    /// These runs and another one; those of long ago count less and less.
    fn with(self, elapsed: Nanos, cpu: Nanos) -> Measured {
        let aged = |time: u64| time - time / MEASURED_LAST;
        Measured { elapsed: aged(self.elapsed) + elapsed.0, cpu: aged(self.cpu) + cpu.0 }
    }
}

/// A run, or a fetch: how long it took, the part of that on a CPU, if that was measured, its gets
/// of blocks, and the blocks that it read from disk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Took {
    pub(crate) elapsed: Nanos,
    pub(crate) cpu: Option<Nanos>,
    pub(crate) gets: u64,
    pub(crate) reads: u64,
}

/// What a run gave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gave {
    pub(crate) rows: u64,
    /// Whether no rows are left.
    pub(crate) is_all: bool,
}

impl Kept {
    /// A statement about rows with this plan, which has its text.
    pub(crate) fn planned(said: Vec<Kind>, planned: Planned, of: &Engine) -> Kept {
        let (id, binds) = (planned.entry.id, planned.entry.binds.clone());
        let text = Arc::clone(planned.entry.text());
        let content = Content::Rows(RefCell::new(Some(planned)));
        let (engine, tally) = (Arc::clone(&of.identity), Tally::default());
        Kept { text, id, said, binds, content, engine, tally }
    }

    /// Another statement.
    pub(crate) fn other(text: &str, statement: Statement, binds: Binds, of: &Engine) -> Kept {
        let (id, said) = (SqlId::of(text), Vec::new());
        let content = Content::Other(Box::new(statement));
        let (engine, tally) = (Arc::clone(&of.identity), Tally::default());
        Kept { text: Arc::from(text), id, said, binds, content, engine, tally }
    }

    /// Refuses a statement of another instance.
    #[inline]
    pub(crate) fn check_of(&self, engine: &Engine) -> Result<(), Stop> {
        match Arc::ptr_eq(&self.engine, &engine.identity) {
            true => Ok(()),
            false => Err(of_another_instance()),
        }
    }

    /// The plan that it has, if that is what is wished for.
    #[inline]
    pub(crate) fn plan_for(&self, wish: Wish<'_>) -> Option<Planned> {
        match &self.content {
            Content::Rows(slot) => {
                slot.borrow().as_ref().filter(|planned| planned.entry.suits(wish)).cloned()
            }
            Content::Other(_) => None,
        }
    }

    /// Gives it another plan.
    pub(crate) fn set_plan(&self, planned: Planned) {
        if let Content::Rows(slot) = &self.content {
            *slot.borrow_mut() = Some(planned);
        }
    }

    /// Forgets its plan: the tables of that are closed.
    fn forget_plan(&self) {
        if let Content::Rows(slot) = &self.content
            && let Ok(mut slot) = slot.try_borrow_mut()
        {
            *slot = None;
        }
    }

    /// Whether the next run is taken to be a long one: as the last one was, or else by the plan.
    #[inline]
    pub(crate) fn is_long(&self) -> bool {
        match self.tally.runs.get() {
            0 => self.is_long_by_plan(),
            _ => self.tally.last.get() >= MEASURED_AT,
        }
    }

    fn is_long_by_plan(&self) -> bool {
        match &self.content {
            Content::Rows(slot) => slot.borrow().as_ref().is_some_and(|planned| {
                planned.entry.plan.frame.root.estimate.all >= MEASURED_AT.as_micros() as f64
            }),
            Content::Other(_) => false,
        }
    }

    /// Counts a run, of which the time on a CPU is known, if only about.
    #[inline]
    pub(crate) fn count(&self, entry: &Entry, gave: Gave, took: Took, session: &Session) {
        let Tally { work, runs, last } = &self.tally;
        let Took { elapsed, cpu, gets, reads } = took;
        let cpu = cpu.unwrap_or_default();
        let (rows, ended) = (gave.rows, u64::from(gave.is_all));
        let run = Work { runs: 1, fetches: 0, ended, rows, gets, reads, elapsed, cpu };
        let now = work.get().plus(run);
        runs.set(runs.get() + 1);
        last.set(elapsed);
        let is_due = now.runs >= COUNTED_AT_RUNS || now.elapsed >= COUNTED_AT;
        if is_due || runs.get() <= COUNTED_ALONE {
            work.set(Work::default());
            entry.counts.add(now, session);
        } else {
            work.set(now);
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
        self.0.binds.count()
    }

    /// The number of the parameter of this name, from 1; none if there is none of that name.
    pub fn bind_named(&self, name: &str) -> Option<usize> {
        self.0.binds.number_of(name)
    }
}

#[cold]
fn of_another_instance() -> Stop {
    let message = "the statement was prepared for another database, or for this one before it was \
                   opened again; prepare it again";
    Stop::refuse(RefusalKind::Invalid, message)
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Prepared({})", self.text())
    }
}

/// The statements that a session keeps.
#[derive(Default)]
pub(crate) struct Statements {
    by_text: BTreeMap<Arc<str>, Prepared>,
    /// The bytes of these texts.
    bytes: usize,
    by_name: BTreeMap<String, Prepared>,
    /// Those whose tables this session has opened, wherever they are kept.
    opened: RefCell<Vec<Weak<Kept>>>,
    /// When there are so many, those that are kept nowhere any more are forgotten.
    opened_most: Cell<usize>,
    /// How long its runs are on a CPU.
    pub(crate) cpu: CpuShare,
}

impl Statements {
    /// Takes note of a statement whose tables were just opened.
    pub(crate) fn note_opened(&self, kept: &Rc<Kept>) {
        let mut opened = self.opened.borrow_mut();
        if opened.len() >= self.opened_most.get() {
            opened.retain(|one| one.strong_count() > 0);
            opened.sort_unstable_by_key(Weak::as_ptr);
            opened.dedup_by(|one, other| one.ptr_eq(other));
            self.opened_most.set((2 * opened.len()).max(TEXTS_MAX));
        }
        opened.push(Rc::downgrade(kept));
    }

    /// The statement of this text, if it is kept.
    #[inline]
    pub(crate) fn of_text(&self, text: &str) -> Option<Prepared> {
        self.by_text.get(text).cloned()
    }

    /// Keeps a statement for when its text comes again.
    pub(crate) fn keep(&mut self, prepared: &Prepared) {
        if self.by_text.len() >= TEXTS_MAX || self.bytes > BYTES_MAX {
            // Whatever was kept can be found again among the shared plans.
            self.by_text.clear();
            self.bytes = 0;
        }
        let text = &prepared.0.text;
        if self.by_text.insert(Arc::clone(text), prepared.clone()).is_none() {
            self.bytes += text.len();
        }
    }

    /// The statement that EXECUTE names, which has as many parameters as that gives values.
    pub(crate) fn executed(&self, execute: &syntax::Execute) -> Result<Prepared, Stop> {
        let prepared = self.named(&execute.name)?;
        let (wanted, given) = (prepared.0.binds.count(), execute.values.len());
        if wanted == given {
            return Ok(prepared);
        }
        let name = &execute.name;
        let message =
            format!("prepared statement {name} has {wanted} parameters, and EXECUTE gives {given}");
        Err(refuse(SqlState::SYNTAX_ERROR, message))
    }

    /// The statement of this name.
    fn named(&self, name: &str) -> Result<Prepared, Stop> {
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

/// What the caller keeps of a statement outlives the session, and keeps no table open.
impl Drop for Statements {
    fn drop(&mut self) {
        let opened = self.opened.get_mut();
        opened.iter().filter_map(Weak::upgrade).for_each(|kept| kept.forget_plan());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_was_not_measured_is_taken_to_be_like_those_that_were() {
        let measured = Measured { elapsed: 1_000, cpu: 250 };
        assert_eq!(measured.share(Nanos(400)), Nanos(100));
        assert_eq!(Measured::default().share(Nanos(400)), Nanos(0));
        let odd = Measured { elapsed: 10, cpu: 20 };
        assert_eq!(odd.share(Nanos(5)), Nanos(5), "a clock of microseconds may say too much");
    }

    /// Rule SQ63: a text that is run once costs no look at the clock, and has its share of a CPU.
    #[test]
    fn a_session_measures_some_of_its_short_runs() {
        let share = CpuShare::default();
        assert!((0..64).all(|_| share.is_next()), "nothing is known yet");
        assert_eq!(share.of(took(1_000, Some(250)), || Nanos(250)), Nanos(250));
        let measured: Vec<usize> = (0..200).filter(|_| share.is_next()).collect();
        assert_eq!(measured, [0, 64, 128, 192]);
        assert_eq!(share.of(took(400, None), unread), Nanos(100));
        // What was measured long ago is forgotten.
        for _ in 0..1_000 {
            share.of(took(1_000, Some(900)), || Nanos(0));
        }
        let now = share.of(took(1_000, None), unread).0;
        assert!((895..=900).contains(&now), "{now}");
    }

    /// Ten seconds for a lock are no time on a CPU, and change nothing for short runs.
    #[test]
    fn a_run_that_has_waited_is_no_short_one() {
        let (share, long) = (CpuShare::default(), 10_000_000_000);
        assert_eq!(share.of(took(1_000, Some(900)), || Nanos(900)), Nanos(900));
        assert_eq!(share.of(took(long, Some(5_000)), || Nanos(6_000)), Nanos(5_000));
        assert_eq!(share.of(took(1_000, None), unread), Nanos(900));
        // It had no more than the session since then.
        assert_eq!(share.of(took(long, None), || Nanos(10_000)), Nanos(4_000));
        assert_eq!(share.of(took(1_000_000, None), || Nanos(1_010_000)), Nanos(900_000));
    }

    fn took(elapsed: u64, cpu: Option<u64>) -> Took {
        Took { elapsed: Nanos(elapsed), cpu: cpu.map(Nanos), gets: 0, reads: 0 }
    }

    fn unread() -> Nanos {
        panic!("the clock is read for a short run that wasn't measured")
    }
}

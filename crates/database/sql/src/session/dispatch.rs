//! Which statement is done by whom.
//!
//! Callers: `database`, for each statement of a connection.

use expression::{Kind, Rows};
use os::Session;
use stop::{Refusal, SqlState, Stop};
use syntax::{Binds, SqlId, Statement, TypeName};
use value::OwnedValue;
use waits::CurrentStatement;

use super::prepared::{Content, Prepared, Took};
use super::rows::{Watch, check_binds, parse};
use super::{Outcome, Parts};
use crate::cache::{TEXT_BYTES_MAX, Work};
use crate::engine::Frame;
use crate::refuse::refuse;
use crate::run::CursorNo;
use crate::stack::{MAKING, with_stack};

impl Frame<'_> {
    /// Keeps a statement to be run: its text is read, and planned if it is about rows. A text that
    /// was prepared before costs a look-up.
    pub fn prepare(&mut self, text: &str) -> Result<Prepared, Stop> {
        if let Some(prepared) = self.state.statements.of_text(text) {
            return Ok(prepared);
        }
        self.instance.halt().check(self.session)?;
        let prepared = self.prepare_as(text, &[])?;
        if text.len() <= TEXT_BYTES_MAX {
            self.state.statements.keep(&prepared);
        }
        Ok(prepared)
    }

    /// Runs a statement by its text, with these parameters. Its first rows, at most `most`, come
    /// into `into`.
    pub fn run(
        &mut self,
        text: &str,
        binds: &[OwnedValue],
        most: usize,
        into: &mut Rows,
    ) -> Result<Outcome, Stop> {
        let prepared = self.prepare(text)?;
        self.execute(&prepared, binds, most, into)
    }

    /// Runs a statement that is kept, with these parameters. Its first rows, at most `most`, come
    /// into `into`.
    pub fn execute(
        &mut self,
        prepared: &Prepared,
        binds: &[OwnedValue],
        most: usize,
        into: &mut Rows,
    ) -> Result<Outcome, Stop> {
        let kept = &prepared.0;
        kept.check_of(self.engine)?;
        self.named_by(kept.id, |frame| match &kept.content {
            Content::Rows(_) => frame.execute_rows(kept, binds, most, into),
            Content::Other(statement) => {
                into.set_width(0);
                let (text, of) = (&*kept.text, &kept.binds);
                let written = Written { text, binds: of, values: binds, most };
                match has_tree(statement) {
                    true => with_stack(MAKING, || frame.other(statement, written, into)),
                    false => frame.other(statement, written, into),
                }
            }
        })
    }

    /// Does work for the statement of this name, which views into the instance show as the
    /// session's meanwhile (rule SQ63).
    fn named_by<T>(&mut self, id: SqlId, work: impl FnOnce(&mut Self) -> T) -> T {
        let _named = Named::begin(id, self.session);
        work(self)
    }

    /// Runs a COPY whose other end is the client's, which the frame has.
    pub fn run_copy(&mut self, text: &str) -> Result<Outcome, Stop> {
        self.instance.halt().check(self.session)?;
        with_stack(MAKING, || self.copy_of_text(text))
    }

    fn copy_of_text(&mut self, text: &str) -> Result<Outcome, Stop> {
        let parsed = parse(text, self.session)?;
        let Statement::Copy(copy) = &parsed.statement else {
            let tag = parsed.statement.tag();
            let message = format!("{tag} copies nothing from a client or to it: execute it");
            return Err(refuse(SqlState::WRONG_OBJECT_TYPE, message));
        };
        let written = Written { text, binds: &parsed.binds, values: &[], most: 0 };
        self.named_by(SqlId::of(text), |frame| frame.copy(copy, written))
    }

    /// Appends the next rows of a cursor to `into`, which is emptied first: at most `most`. Returns
    /// false if none come after these; then it is closed.
    pub fn fetch(&mut self, cursor: CursorNo, most: usize, into: &mut Rows) -> Result<bool, Stop> {
        into.clear();
        let Some(entry) = self.state.cursors.counted_in(cursor) else {
            return self.fetch_plainly(cursor, most, into);
        };
        let watch = Watch::start(true, self.session);
        let fetched = self.named_by(entry.id, |frame| frame.fetch_plainly(cursor, most, into));
        let Took { elapsed, cpu, gets, reads } = watch.took(self.session);
        let (rows, ended) = (into.len() as u64, u64::from(matches!(fetched, Ok(false))));
        let cpu = cpu.unwrap_or_default();
        let work = Work { runs: 0, fetches: 1, ended, rows, gets, reads, elapsed, cpu };
        entry.counts.add(work, self.session);
        self.state.cursors.spend(cursor, elapsed);
        fetched
    }

    /// Has the present call go on with the query of a cursor: what its earlier calls took counts as
    /// this one's, so that all of them together have the time of one statement.
    pub fn go_on(&self, cursor: CursorNo) {
        self.session.count_as_spent(self.state.cursors.spent(cursor));
    }

    fn fetch_plainly(
        &mut self,
        cursor: CursorNo,
        most: usize,
        into: &mut Rows,
    ) -> Result<bool, Stop> {
        self.with_host(|host, Parts { cursors, transaction, .. }| {
            cursors.fetch(cursor, host, transaction.as_ref(), most, into)
        })
    }

    /// Closes a cursor, if it is open.
    pub fn close(&mut self, cursor: CursorNo) {
        self.with_host(|host, parts| parts.cursors.close(cursor, host));
    }

    /// Closes all cursors: the connection ends.
    pub fn close_all(&mut self) {
        self.with_host(|host, parts| parts.cursors.close_all(host));
    }

    /// Statements that aren't about rows.
    fn other(
        &mut self,
        statement: &Statement,
        written: Written<'_>,
        into: &mut Rows,
    ) -> Result<Outcome, Stop> {
        match statement {
            Statement::Explain(explain) => self.explain(explain, written, into),
            Statement::Begin(modes) => self.begin(*modes),
            Statement::Commit(commit) => self.commit(*commit),
            Statement::Rollback { chain } => self.rollback(*chain),
            Statement::Savepoint(name) => self.savepoint(name),
            Statement::RollbackTo(name) => self.rollback_to(name),
            Statement::Release(name) => self.release(name),
            Statement::SetTransaction(modes) => self.set_transaction(*modes),
            Statement::SetTransactions(modes) => self.set_transactions(*modes),
            Statement::LockTable(lock) => self.lock_tables(lock),
            Statement::Show(show) => self.show(show, into),
            Statement::Set(setting) => self.set(setting, "SET"),
            Statement::AlterSession(setting) => self.set(setting, "ALTER SESSION"),
            Statement::Prepare(prepare) => self.name_statement(prepare, written.text),
            Statement::Execute(execute) => self.execute_named(execute, written, into),
            Statement::Deallocate(name) => {
                self.state.statements.forget(name.as_deref())?;
                Ok(Outcome::done("DEALLOCATE"))
            }
            Statement::Copy(copy) => self.copy(copy, written),
            Statement::Kill(_) => {
                let message = format!("{} isn't supported yet", statement.tag());
                Err(refuse(SqlState::FEATURE_NOT_SUPPORTED, message))
            }
            Statement::Query(_)
            | Statement::Insert(_)
            | Statement::Update(_)
            | Statement::Delete(_)
            | Statement::Merge(_) => unreachable!("a statement about rows has a plan"),
            definition => self.define(definition, written),
        }
    }

    /// PREPARE, of which this is the text.
    fn name_statement(&mut self, written: &syntax::Prepare, text: &str) -> Result<Outcome, Stop> {
        let kind = |of: &TypeName| match of {
            TypeName::Stored(of) => Kind::from(*of),
            TypeName::Interval => Kind::Interval,
        };
        let said: Vec<Kind> = written.types.iter().map(kind).collect();
        let before = text.get(..written.start).map_or(0, |before| before.chars().count());
        let within = |refusal: Refusal| {
            // It is a place of the statement's own text.
            let place = refusal.parts().position;
            match place {
                Some(place) => refusal.at(place.saturating_add(before as u32)),
                None => refusal,
            }
        };
        let prepared = self.prepare_as(&written.text, &said);
        let prepared = prepared.map_err(|stop| stop.map_refusal(within))?;
        self.state.statements.name(&written.name, prepared)?;
        Ok(Outcome::done("PREPARE"))
    }

    /// EXECUTE.
    fn execute_named(
        &mut self,
        execute: &syntax::Execute,
        written: Written<'_>,
        into: &mut Rows,
    ) -> Result<Outcome, Stop> {
        let prepared = self.state.statements.executed(execute)?;
        let values = self.values_of(&execute.values, &prepared.0.said, written.text)?;
        let (id, most) = (prepared.0.id, written.most);
        let done = self.named_by(id, |frame| frame.execute_rows(&prepared.0, &values, most, into));
        done.map_err(elsewhere)
    }
}

/// Whether a statement without a plan has, or makes, a tree that may be deep. Those of transactions
/// run often, and have none.
fn has_tree(statement: &Statement) -> bool {
    !matches!(
        statement,
        Statement::Begin(_)
            | Statement::Commit(_)
            | Statement::Rollback { .. }
            | Statement::Savepoint(_)
            | Statement::RollbackTo(_)
            | Statement::Release(_)
            | Statement::SetTransaction(_)
            | Statement::SetTransactions(_)
            | Statement::Set(_)
    )
}

/// The name of the statement that the session works for, until this is dropped: by a panic too.
struct Named<'s> {
    session: &'s Session,
    outer: Option<CurrentStatement>,
}

impl<'s> Named<'s> {
    #[inline]
    fn begin(id: SqlId, session: &'s Session) -> Named<'s> {
        Named { session, outer: session.begin_statement(id.number(), session.now()) }
    }
}

impl Drop for Named<'_> {
    #[inline]
    fn drop(&mut self) {
        self.session.end_statement(self.outer.take(), self.session.now());
    }
}

/// What a named statement is refused with when it is executed: a place is one of its own text, and
/// not of EXECUTE's, which the user has before him.
pub(crate) fn elsewhere(stop: Stop) -> Stop {
    stop.map_refusal(Refusal::elsewhere)
}

/// A statement's text and parameters.
#[derive(Clone, Copy)]
pub(crate) struct Written<'w> {
    pub(crate) text: &'w str,
    pub(crate) binds: &'w Binds,
    pub(crate) values: &'w [OwnedValue],
    /// How many rows are given at most.
    pub(crate) most: usize,
}

impl Written<'_> {
    /// Refuses another number of values than there are parameters.
    pub(crate) fn check(&self) -> Result<(), Stop> {
        check_binds(self.binds.count(), self.values.len())
    }
}

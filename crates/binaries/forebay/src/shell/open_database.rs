//! The shell's database: one that is open in this process, and one session of it.
//!
//! ```text
//!   run ─▶ Connection::answer ─┬─ rows: fetched, batch by batch, as they are shown
//!                              └─ none: its tag
//!   copy_in, copy_out ─▶ COPY, with the shell at its other end
//!   another thread ─▶ Watching: ends the call that runs, or else the rows that are to come
//! ```
//!
//! The time of a statement ends with its last row, so that its profile has the fetches too.
//!
//! Callers: `shell`.

use std::sync::Arc;

use database::{
    Batch, CancelHandle, Column as OutputColumn, Connection, CopySink, CopySource, CursorRow,
    Database, Done, Kind, OpenCursor,
};
use expression::write_text;
use latch::SharedFlag;
use os::{Session, SessionReading};
use report::number::{counted, grouped};
use stop::{RefusalParts, Stop};
use waits::{Account, CurrentWork, Statistic, TimeAccount, Totals};

use super::backend::{
    Answer, Backend, Column, Describe, Doing, Failure, Give, Names, Row, Take, Transaction, Watch,
};
use super::describe::Dictionary;
use super::profile;

/// How many rows are fetched together, behind the first ones.
const ROWS_AT_ONCE: usize = 1_024;

/// A session of a database.
pub(crate) struct OpenDatabase<'s> {
    database: &'s Database,
    session: &'s Session,
    connection: Connection<'s>,
    /// Of the statement that runs, or is about to.
    watching: Arc<Watching>,
    /// Where the time of the last statement went.
    profile: Option<TimeAccount>,
}

impl<'s> OpenDatabase<'s> {
    /// Connects with this session.
    pub(crate) fn connect(database: &'s Database, session: &'s Session) -> OpenDatabase<'s> {
        let connection = database.connect_with(session);
        let watching = Arc::new(Watching::of(&connection, session));
        OpenDatabase { database, session, connection, watching, profile: None }
    }

    fn dictionary(&self) -> Dictionary<'s> {
        let database = self.database;
        let (instance, catalog) = (database.instance(), database.catalog());
        Dictionary { database, instance, catalog, session: self.session }
    }

    /// Runs a COPY by `work`, and notes where its time went.
    fn copied(
        &mut self,
        statement: &str,
        work: impl FnOnce(&mut Connection<'s>) -> Result<Done, Stop>,
    ) -> Result<Answer<'static>, Failure> {
        if self.watching.is_asked(self.session) {
            return Err(Failure::cancelled());
        }
        let start = self.session.reading();
        let copied = work(&mut self.connection);
        self.profile = Some(self.session.time_account_since(&start));
        match copied {
            Ok(copied) => Ok(done(&copied)),
            Err(stop) => Err(self.watching.failure_of(&stop, Some(statement), self.session)),
        }
    }
}

impl Backend for OpenDatabase<'_> {
    fn run(&mut self, statement: &str) -> Result<Answer<'_>, Failure> {
        let start = self.session.reading();
        self.profile = None;
        let answered = match self.watching.is_asked(self.session) {
            true => Err(Failure::cancelled()),
            false => {
                let answered = self.connection.answer(statement, &[]);
                answered
                    .map_err(|stop| self.watching.failure_of(&stop, Some(statement), self.session))
            }
        };
        let answer = match answered {
            Ok(answer) if answer.gives_rows() => answer,
            answered => {
                self.profile = Some(self.session.time_account_since(&start));
                return answered.map(|answer| done(&answer.done));
            }
        };
        let columns = answer.first.columns().iter().map(column).collect();
        let fetched = Fetched {
            connection: &mut self.connection,
            session: self.session,
            watching: &self.watching,
            profile: &mut self.profile,
            start,
            batch: answer.first,
            at: 0,
            cursor: answer.cursor,
        };
        Ok(Answer::Rows { columns, rows: Box::new(fetched) })
    }

    fn copy_in(
        &mut self,
        statement: &str,
        give: &mut Give<'_>,
    ) -> Result<Answer<'static>, Failure> {
        let mut source = Source { give, failure: None };
        let copied =
            self.copied(statement, |connection| connection.copy_in(statement, &mut source));
        // What the shell couldn't give is why the database took nothing.
        source.failure.map_or(copied, Err)
    }

    fn copy_out(
        &mut self,
        statement: &str,
        take: &mut Take<'_>,
    ) -> Result<Answer<'static>, Failure> {
        let mut sink = Sink { take, is_left: false };
        let copied = self.copied(statement, |connection| connection.copy_out(statement, &mut sink));
        match sink.is_left {
            // As of rows that nobody reads any more, that is no failure.
            true => Ok(Answer::Done { tag: "COPY".to_owned(), notice: None }),
            false => copied,
        }
    }

    fn describe(&mut self, what: &Describe) -> Result<Answer<'_>, Failure> {
        let halt = self.database.instance().halt();
        halt.check(self.session).map_err(|stop| failure_of(&stop, None))?;
        self.dictionary().describe(what)
    }

    fn names(&mut self) -> Names {
        self.dictionary().names()
    }

    fn last_profile(&mut self) -> Option<String> {
        self.profile.as_ref().map(profile::text)
    }

    fn transaction(&self) -> Transaction {
        match self.connection.has_open_transaction() {
            true => Transaction::Open,
            false => Transaction::None,
        }
    }

    fn watch(&mut self) -> Arc<dyn Watch> {
        self.watching = Arc::new(Watching::of(&self.connection, self.session));
        Arc::clone(&self.watching) as Arc<dyn Watch>
    }
}

/// The shell's end of a COPY FROM STDIN.
struct Source<'g, 'f> {
    give: &'g mut Give<'f>,
    /// Why it gave nothing more.
    failure: Option<Failure>,
}

impl CopySource for Source<'_, '_> {
    fn read(&mut self, into: &mut Vec<u8>, _: &Session) -> Result<(), String> {
        (self.give)(into).map_err(|failure| {
            let said = failure.message.clone();
            self.failure = Some(failure);
            said
        })
    }
}

/// The shell's end of a COPY TO STDOUT.
struct Sink<'t, 'f> {
    take: &'t mut Take<'f>,
    /// Whether its reader wants no more.
    is_left: bool,
}

impl CopySink for Sink<'_, '_> {
    fn write(&mut self, bytes: &[u8], _: &Session) -> Result<(), String> {
        let Ok(text) = std::str::from_utf8(bytes) else {
            return Err("a line is no text in UTF-8".to_owned());
        };
        match (self.take)(text) {
            true => Ok(()),
            false => {
                self.is_left = true;
                Err("its reader wants no more".to_owned())
            }
        }
    }
}

/// Rows as they are asked for.
struct Fetched<'b, 's> {
    connection: &'b mut Connection<'s>,
    session: &'s Session,
    watching: &'b Watching,
    profile: &'b mut Option<TimeAccount>,
    start: SessionReading,
    batch: Batch,
    /// The number of the next row in the batch.
    at: usize,
    /// Where rows behind the batch come from, if there may be some.
    cursor: Option<OpenCursor>,
}

impl Fetched<'_, '_> {
    /// Fetches the next batch. False if there is none.
    fn fetch(&mut self) -> Result<bool, Failure> {
        let Some(cursor) = &self.cursor else { return Ok(false) };
        // Between two calls there was none that could be cancelled.
        if self.watching.is_asked(self.session) {
            self.close();
            return Err(Failure::cancelled());
        }
        self.at = 0;
        match self.connection.fetch(cursor, ROWS_AT_ONCE, &mut self.batch) {
            Ok(true) => {}
            Ok(false) => self.cursor = None,
            Err(stop) => {
                (self.cursor, self.batch) = (None, Batch::default());
                return Err(self.watching.failure_of(&stop, None, self.session));
            }
        }
        Ok(true)
    }

    fn close(&mut self) {
        if let Some(cursor) = self.cursor.take() {
            // The instance may have halted: the next statement says so.
            let _ = self.connection.close_cursor(&cursor);
        }
    }
}

impl Iterator for Fetched<'_, '_> {
    type Item = Result<Row, Failure>;

    fn next(&mut self) -> Option<Result<Row, Failure>> {
        while self.at == self.batch.len() {
            match self.fetch() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(failure) => return Some(Err(failure)),
            }
        }
        self.at += 1;
        Some(Ok(texts(self.batch.row(self.at - 1))))
    }
}

impl Drop for Fetched<'_, '_> {
    fn drop(&mut self) {
        self.close();
        *self.profile = Some(self.session.time_account_since(&self.start));
    }
}

/// A look at a statement from another thread, and its end.
struct Watching {
    handle: CancelHandle,
    account: Arc<Account>,
    /// The figures of the session when the statement began.
    before: Totals,
    /// Whether somebody wants the statement to end.
    is_asked: SharedFlag,
}

impl Watching {
    fn of(connection: &Connection<'_>, session: &Session) -> Watching {
        let account = Arc::clone(session.account());
        Watching {
            handle: connection.cancel_handle(),
            before: account.totals(),
            account,
            is_asked: SharedFlag::new(false),
        }
    }

    fn is_asked(&self, session: &Session) -> bool {
        self.is_asked.is_raised(session)
    }

    /// Why the statement ended, with the place in this text.
    fn failure_of(&self, stop: &Stop, statement: Option<&str>, session: &Session) -> Failure {
        let is_timeout = stop.is_cancelled() && !self.is_asked(session);
        Failure { is_timeout, ..failure_of(stop, statement) }
    }
}

impl Watch for Watching {
    fn cancel(&self, session: &Session) {
        self.is_asked.raise(session);
        self.handle.cancel_running();
    }

    fn doing(&self) -> Doing {
        let waits = match self.account.current_wait() {
            Some(wait) => format!(", in {}", wait.event.name()),
            None => String::new(),
        };
        if let Some(work) = self.account.current_work() {
            let CurrentWork { work: at, done, total } = work;
            let (done, total) = (grouped(done), counted(total, at.unit().trim_end_matches('s')));
            let what = format!("{}, {done} of {total}{waits}", at.name());
            return Doing { what, share: Some(work.share()) };
        }
        let now = self.account.totals().since(&self.before);
        let mut what = counted(now.logical_reads(), "logical read");
        for (statistic, noun) in [
            (Statistic::PhysicalReads, "block read"),
            (Statistic::RedoEntries, "redo record"),
            (Statistic::PhysicalWritesDirectTemporary, "temporary block"),
        ] {
            match now.statistic(statistic) {
                0 => {}
                some => what += &format!(", {}", counted(some, noun)),
            }
        }
        Doing { what: what + &waits, share: None }
    }
}

/// A statement that gives no rows, by its tag: with a number of rows if it is about rows.
fn done(done: &Done) -> Answer<'static> {
    let is_about_rows = matches!(done.tag(), "INSERT" | "UPDATE" | "DELETE" | "MERGE" | "COPY");
    let tag = match is_about_rows || done.rows() > 0 {
        true => format!("{} {}", done.tag(), done.rows()),
        false => done.tag().to_owned(),
    };
    Answer::Done { tag, notice: done.notice().map(str::to_owned) }
}

fn column(of: &OutputColumn) -> Column {
    let kind = of.declared.map_or_else(|| of.kind.to_string(), |kind| kind.to_string());
    Column {
        name: of.name.clone(),
        kind: kind.to_lowercase(),
        right_aligned: matches!(of.kind, Kind::Whole | Kind::Number | Kind::Double),
    }
}

fn texts(row: CursorRow<'_>) -> Row {
    let text = |place| {
        let value = row.value(place);
        let mut text = String::new();
        write_text(value, &mut text).expect("a string takes all text");
        (!value.is_null()).then_some(text)
    };
    (0..row.columns().len()).map(text).collect()
}

/// Why a statement ended, with the place in this text.
pub(super) fn failure_of(stop: &Stop, statement: Option<&str>) -> Failure {
    let sqlstate = stop.state().as_str().to_owned();
    let Stop::Refused(refusal) = stop else {
        return Failure {
            sqlstate,
            message: stop.to_string(),
            hint: Some("open the database again, which recovers it".into()),
            is_final: true,
            ..Failure::default()
        };
    };
    let RefusalParts { message, detail, hint, position, .. } = refusal.parts();
    Failure {
        sqlstate,
        message: message.clone(),
        detail: detail.clone(),
        hint: hint.clone(),
        position: statement.zip(*position).map(|(text, character)| byte_of(text, character)),
        ..Failure::default()
    }
}

/// The byte at which the character of this number, from 1, begins.
fn byte_of(text: &str, character: u32) -> usize {
    let mut starts = text.char_indices().map(|(at, _)| at);
    starts.nth(character.saturating_sub(1) as usize).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use stop::{Refusal, RefusalKind};

    use super::*;

    #[test]
    fn a_refusal_keeps_its_parts_and_its_place_becomes_a_byte() {
        let refusal = Refusal::new(RefusalKind::Invalid, "no").detail("d").hint("h").at(4);
        let failure = failure_of(&refusal.into(), Some("äö x"));
        assert_eq!(failure.sqlstate, "22023");
        assert_eq!((failure.detail.as_deref(), failure.hint.as_deref()), (Some("d"), Some("h")));
        assert_eq!(failure.position, Some(5));
        assert!(!failure.is_final);
        assert_eq!((byte_of("äö x", 1), byte_of("äö x", 99)), (0, 6));
    }
}

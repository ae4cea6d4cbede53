//! A statement's try: what is done before, beside and behind it, and what is compared.
//!
//! ```text
//!   alone:   statement, which a cancel, a time-out or the disk may end ─▶ picture as before
//!   within:  BEGIN, a change ─▶ statement ─▶ the transaction sees what it saw ─▶ the statement
//!            again, sound: done ─▶ back to a savepoint ─▶ COMMIT ─▶ picture as before
//! ```

use std::time::Duration;

use database::{Connection, Database, Error};
use os::{Session, ThreadSpec};
use sim::World;
use sim::fs::faults::{Fault, FaultPlan, Injection, Scope};
use waits::Nanos;

use crate::bed::{say, says, verified_open};
use crate::kinds::{Class, Kind, Statement};
use crate::neighbour::{Expected, Neighbour, pause};
use crate::picture::{Picture, lines};

/// The change of the session's own that stays whatever becomes of the statement.
const TURN: &str = "update turns set n = n + 1 where id = 1";

/// After so many tries a statement is repeated within its transaction, and done.
const REPEATED_EVERY: u64 = 5;
/// And after so many the open database is verified.
const VERIFIED_EVERY: u64 = 25;

/// What ends a statement from outside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Disturbance {
    Nothing,
    /// Another thread cancels it after this time.
    Cancel(Nanos),
    /// It has this much time.
    TimeOut(Nanos),
    /// This operation of the disk, from 1 at its beginning, fails.
    Fault(u64, Fault),
}

/// How a statement is tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// It is a transaction of its own.
    Alone,
    /// It is one of several of a transaction.
    Within,
}

/// What came of it.
#[derive(Debug)]
pub(crate) enum Came {
    /// It is done; within a transaction it was then rolled back.
    Done,
    /// It was refused, and has left nothing.
    Refused(Error),
    /// The instance has halted.
    Halted,
}

/// What a statement has said.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Said {
    /// It wasn't called.
    Nothing,
    Done,
    Refused,
    Halted,
}

/// The sessions of a world.
pub(crate) struct Stage<'w> {
    world: &'w World,
    database: &'w Database,
    session: &'w Session,
    /// The session whose statements are tried.
    app: Connection<'w>,
    observer: Connection<'w>,
    neighbour: Neighbour,
    tries: u64,
    turns: u64,
    /// Whether another session has made something on which the sound statement breaks too.
    pub(crate) is_arranged: bool,
    /// What the last statement that was tried said, whatever came after it.
    pub(crate) said: Said,
    /// The faults of the last try.
    pub(crate) injected: Vec<Injection>,
    /// How long the last statement took.
    pub(crate) took: Nanos,
}

impl<'w> Stage<'w> {
    pub(crate) fn new(
        world: &'w World,
        database: &'w Database,
        expected: Expected,
        session: &'w Session,
    ) -> Result<Stage<'w>, String> {
        Ok(Stage {
            world,
            database,
            session,
            app: database.connect_with(session),
            observer: database.connect_with(session),
            neighbour: Neighbour::start(database, expected, session)?,
            tries: 0,
            turns: 0,
            is_arranged: false,
            said: Said::Nothing,
            injected: Vec::new(),
            took: Nanos::ZERO,
        })
    }

    /// A statement of another session, undisturbed.
    pub(crate) fn arrange(&mut self, text: &str) -> Result<(), String> {
        say(&mut self.observer, text)
    }

    pub(crate) fn observer(&mut self) -> &mut Connection<'w> {
        &mut self.observer
    }

    pub(crate) fn picture(&mut self) -> Result<Picture, String> {
        Picture::take(&mut self.observer, self.database, self.world, self.session)
    }

    pub(crate) fn is_halted(&self) -> bool {
        self.database.instance().halt().is_raised(self.session)
    }

    /// How many turns the neighbour has had.
    pub(crate) fn neighbours_turns(&self) -> u64 {
        self.neighbour.turns()
    }

    /// Tries a statement of this kind. Refused, it has left things as they were `before`; within a
    /// transaction it has in any case.
    pub(crate) fn try_once(
        &mut self,
        kind: &Kind,
        statement: &Statement,
        mode: Mode,
        disturbance: Disturbance,
        before: &Picture,
    ) -> Result<Came, String> {
        self.tries += 1;
        let came = match mode {
            Mode::Alone => self.alone(kind, statement, disturbance)?,
            Mode::Within => self.within(kind, statement, disturbance)?,
        };
        let stays = match (&came, mode) {
            (Came::Halted, _) => false,
            (Came::Refused(_), _) | (Came::Done, Mode::Within) => true,
            (Came::Done, Mode::Alone) => kind.class == Class::Query,
        };
        if stays {
            self.picture()?.same_as(before)?;
            if self.tries.is_multiple_of(VERIFIED_EVERY) {
                verified_open(self.database, self.session)?;
            }
        }
        Ok(came)
    }

    fn alone(
        &mut self,
        kind: &Kind,
        statement: &Statement,
        disturbance: Disturbance,
    ) -> Result<Came, String> {
        let came = self.disturbed(kind, statement, disturbance)?;
        if let Came::Refused(_) = came {
            // The session goes on.
            self.turn()?;
        }
        Ok(came)
    }

    fn within(
        &mut self,
        kind: &Kind,
        statement: &Statement,
        disturbance: Disturbance,
    ) -> Result<Came, String> {
        say(&mut self.app, "begin")?;
        say(&mut self.app, TURN)?;
        let before = self.seen()?;
        let came = self.disturbed(kind, statement, disturbance)?;
        match came {
            Came::Halted => {}
            Came::Done => say(&mut self.app, "rollback")?,
            Came::Refused(_) => {
                same("the transaction", &before, &self.seen()?)?;
                if self.tries.is_multiple_of(REPEATED_EVERY) && !self.is_arranged {
                    say(&mut self.app, "savepoint here")?;
                    let again = run(&mut self.app, kind, &(kind.whole)());
                    again.map_err(says("the statement can't be done again"))?;
                    say(&mut self.app, "rollback to savepoint here")?;
                    same("behind the savepoint", &before, &self.seen()?)?;
                }
                say(&mut self.app, "commit")?;
                self.turns += 1;
            }
        }
        Ok(came)
    }

    /// Runs the statement beside the neighbour, and has it ended from outside.
    fn disturbed(
        &mut self,
        kind: &Kind,
        statement: &Statement,
        disturbance: Disturbance,
    ) -> Result<Came, String> {
        let session = self.session;
        self.injected.clear();
        self.said = Said::Nothing;
        self.neighbour.go();
        let began = session.now();
        let done = match disturbance {
            Disturbance::Nothing => run(&mut self.app, kind, statement),
            Disturbance::Cancel(after) => {
                let handle = self.app.cancel_handle();
                let body = move |session: &Session| {
                    pause(after, session);
                    handle.cancel_running();
                };
                let thread = session.spawn(ThreadSpec::foreground("canceller"), body);
                let thread = thread.map_err(|error| format!("no thread: {error}"))?;
                let done = run(&mut self.app, kind, statement);
                // A cancel that comes later is to meet no other statement.
                let joined = thread.join(session);
                joined.map_err(|_| "the canceller panicked".to_string())?;
                done
            }
            Disturbance::TimeOut(after) => {
                self.app.set_statement_timeout(Some(Duration::from_nanos(after.0)));
                let done = run(&mut self.app, kind, statement);
                self.app.set_statement_timeout(None);
                done
            }
            Disturbance::Fault(n, fault) => {
                self.world.plan_faults(FaultPlan::new(n).nth(n, fault, Scope::all()));
                let done = run(&mut self.app, kind, statement);
                self.injected = self.world.injected();
                self.world.plan_faults(FaultPlan::new(n));
                done
            }
        };
        self.took = session.now().since(began);
        let (said, came) = match done {
            Ok(()) => (Said::Done, Came::Done),
            Err(Error::Halted(_)) => (Said::Halted, Came::Halted),
            Err(refused) => (Said::Refused, Came::Refused(refused)),
        };
        self.said = said;
        self.neighbour.rest(session)?;
        Ok(came)
    }

    /// The session does something else, and that is done.
    fn turn(&mut self) -> Result<(), String> {
        say(&mut self.app, TURN)?;
        self.turns += 1;
        Ok(())
    }

    /// What the session itself sees: rows, and keys by indexes.
    fn seen(&mut self) -> Result<Vec<String>, String> {
        const TABLES: [&str; 8] = ["p", "t", "c", "k", "src", "o", "i", "turns"];
        const BY_INDEXES: [&str; 3] = [
            "select v, id from t where v > -1000 order by v, id desc",
            "select code from t where code >= '' order by code",
            "select t from o where t > -1000 order by t",
        ];
        let mut seen = Vec::new();
        let all = TABLES.map(|table| format!("select * from {table} order by id"));
        for text in &all {
            seen.extend(lines(&mut self.app, text).map_err(says(text))?);
        }
        say(&mut self.app, "set enable_seqscan = off")?;
        for text in BY_INDEXES {
            seen.extend(lines(&mut self.app, text).map_err(says(text))?);
        }
        say(&mut self.app, "set enable_seqscan = on")?;
        Ok(seen)
    }

    /// All sessions end: the instance has halted.
    pub(crate) fn abandon(self) -> Result<(), String> {
        self.neighbour.stop(self.session)
    }

    /// All sessions end; what they have counted is there, if the disk hasn't failed.
    pub(crate) fn end(mut self) -> Result<(), String> {
        let found = lines(&mut self.observer, "select n from turns where id = 1");
        let found = found.map_err(says("turns"))?;
        if found != [self.turns.to_string()] {
            return Err(format!(
                "the session has had {} turns, and {found:?} are there",
                self.turns
            ));
        }
        self.neighbour.end(self.session)
    }
}

fn same(whose: &str, before: &[String], now: &[String]) -> Result<(), String> {
    if before == now {
        return Ok(());
    }
    let gone = before.iter().filter(|line| !now.contains(line)).take(5);
    let come = now.iter().filter(|line| !before.contains(line)).take(5);
    let (gone, come) = (gone.collect::<Vec<_>>(), come.collect::<Vec<_>>());
    Err(format!("{whose}: it doesn't see {gone:?} any more, and sees {come:?}"))
}

/// Runs a statement to its end. Of one that changes something the rows that it gives don't count:
/// it is done when it says so, whatever becomes of them.
fn run(app: &mut Connection<'_>, kind: &Kind, statement: &Statement) -> Result<(), Error> {
    if let Some(bytes) = &statement.bytes {
        return app.copy_in(&statement.text, &mut bytes.as_bytes()).map(drop);
    }
    if kind.class == Class::Query {
        return lines(app, &statement.text).map(drop);
    }
    let cursor = app.open(&statement.text, &[])?;
    let mut batch = database::Batch::default();
    while matches!(app.fetch(&cursor, 16, &mut batch), Ok(true)) {}
    app.close_cursor(&cursor)
}

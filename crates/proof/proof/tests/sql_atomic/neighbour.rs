//! Another session, which works beside a statement and notices nothing of what becomes of it.
//!
//! It counts turns in a table of its own, each a transaction, and looks at the rows that the
//! statement changes. It rests while things are compared, so that what is held then is the
//! statement's.

use database::{Database, Error};
use os::{Session, ThreadHandle, ThreadSpec};
use sim::Outside;
use waits::{Nanos, WaitEvent};

use crate::picture::lines;

/// So long it pauses between turns, and whoever waits for it.
const MOMENT: Nanos = Nanos::from_micros(20);
/// And before it looks again whether it is wanted.
const IDLE: Nanos = Nanos::from_micros(100);

/// What it reads, and may see.
const SUM: &str = "select count(*), sum(v) from t";

#[derive(Default)]
struct Work {
    is_wanted: bool,
    is_busy: bool,
    is_over: bool,
    turns: u64,
    /// What it noticed.
    wrong: Option<String>,
}

/// The other session.
pub(crate) struct Neighbour {
    work: Outside<Work>,
    thread: Option<ThreadHandle>,
}

/// What it expects.
#[derive(Clone, Debug, Default)]
pub(crate) struct Expected {
    /// What the sum over the rows may be; nothing: it doesn't look at them.
    pub(crate) sums: Vec<String>,
    /// Whether its own statements may be refused, for the disk fails.
    pub(crate) may_fail: bool,
}

impl Neighbour {
    pub(crate) fn start(
        database: &Database,
        expected: Expected,
        session: &Session,
    ) -> Result<Neighbour, String> {
        let work = Outside::<Work>::default();
        let (its, database) = (work.clone(), database.clone());
        let body = move |session: &Session| run(&its, &database, &expected, session);
        let thread = session.spawn(ThreadSpec::foreground("neighbour"), body);
        let thread = thread.map_err(|error| format!("no thread: {error}"))?;
        Ok(Neighbour { work, thread: Some(thread) })
    }

    /// It works from now on.
    pub(crate) fn go(&self) {
        self.work.with(|work| work.is_wanted = true);
    }

    /// It rests; what it has noticed meanwhile is an error.
    pub(crate) fn rest(&self, session: &Session) -> Result<(), String> {
        self.work.with(|work| work.is_wanted = false);
        while self.work.with(|work| work.is_busy) {
            pause(MOMENT, session);
        }
        match self.work.with(|work| work.wrong.take()) {
            None => Ok(()),
            Some(wrong) => Err(format!("another session: {wrong}")),
        }
    }

    /// How many turns it has had.
    pub(crate) fn turns(&self) -> u64 {
        self.work.with(|work| work.turns)
    }

    /// It ends; what it has noticed is an error.
    pub(crate) fn end(self, session: &Session) -> Result<(), String> {
        let rested = self.rest(session);
        self.stop(session)?;
        rested
    }

    /// It ends, whatever it has noticed: the instance has halted.
    pub(crate) fn stop(mut self, session: &Session) -> Result<(), String> {
        self.work.with(|work| work.is_over = true);
        let thread = self.thread.take().expect("it is stopped once");
        thread.join(session).map_err(|_| "another session panicked".to_string())
    }
}

/// Its thread ends by itself if nobody waits for it.
impl Drop for Neighbour {
    fn drop(&mut self) {
        self.work.with(|work| work.is_over = true);
    }
}

pub(crate) fn pause(length: Nanos, session: &Session) {
    session.pause(length, session.waiting(WaitEvent::PlSqlLockTimer));
}

fn run(work: &Outside<Work>, database: &Database, expected: &Expected, session: &Session) {
    let mut connection = database.connect_with(session);
    loop {
        let (goes_on, turn) = work.with(|work| {
            work.is_busy = work.is_wanted && !work.is_over;
            (!work.is_over, work.turns)
        });
        if !goes_on {
            return;
        }
        if !work.with(|work| work.is_busy) {
            pause(IDLE, session);
            continue;
        }
        let came = take_turn(&mut connection, turn, expected);
        if came.is_err() {
            // What it has open isn't to be seen when it rests; after a halt nothing is.
            let _ = connection.execute("rollback", &[]);
        }
        work.with(|work| {
            work.is_busy = false;
            match came {
                Ok(None) => work.turns += 1,
                Ok(Some(wrong)) => _ = work.wrong.get_or_insert(wrong),
                Err(_) if expected.may_fail => {}
                Err(stop) => _ = work.wrong.get_or_insert(format!("it was stopped: {stop}")),
            }
        });
        if database.instance().halt().is_raised(session) {
            return;
        }
        pause(MOMENT, session);
    }
}

/// One turn; what is wrong.
fn take_turn(
    connection: &mut database::Connection<'_>,
    turn: u64,
    expected: &Expected,
) -> Result<Option<String>, Error> {
    connection.execute("begin", &[])?;
    connection.execute("update beside set n = n + 1 where id = 1", &[])?;
    let own = lines(connection, "select n from beside where id = 1")?;
    let mut wrong = None;
    if own != [(turn + 1).to_string()] && !expected.may_fail {
        wrong = Some(format!("turn {} has counted {own:?}", turn + 1));
    }
    if !expected.sums.is_empty() {
        let sum = lines(connection, SUM)?;
        if !sum.iter().all(|sum| expected.sums.contains(sum)) {
            wrong = Some(format!("it saw {sum:?} and not one of {:?}", expected.sums));
        }
    }
    connection.execute("commit", &[])?;
    Ok(wrong)
}

/// What it would see now.
pub(crate) fn sum(connection: &mut database::Connection<'_>) -> Result<String, String> {
    let found = lines(connection, SUM).map_err(|stop| format!("{SUM}: {stop}"))?;
    Ok(found.join(" and "))
}

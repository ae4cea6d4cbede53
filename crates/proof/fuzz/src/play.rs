//! A script on a new database, and what is looked at after each act.
//!
//! ```text
//!   act ─▶ written down ─▶ run, a panic caught ─┬─ a panic, a halt, a state of class XX
//!                                               ├─ how long it took
//!                                               └─ now and then: memory, another session
//! ```
//!
//! Invariants
//!   * the first thing that is wrong ends a script: what comes behind it would prove nothing
//!   * a script is on disk up to the act that runs, if that is asked for (rule FZ6)
//!
//! Callers: the example `play`; tests.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "as an application it has threads and files of its own, and measures real time"
)]

use std::any::Any;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::fs::File;
use std::io::Write;
use std::ops::AddAssign;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use database::{
    Batch, CommitWait, Connection, Database, Error, OpenCursor, Options, Parameters, SqlState,
    Value,
};
use testbed::Folder;

use crate::resident::resident_bytes;
use crate::script::{Act, How, Script, lines_of};
use crate::values::value_of;

/// So many rows of a query are read.
const ROWS_MAX: usize = 20_000;

/// The rows of an act that stays open.
const FIRST_ROWS: usize = 3;

/// The most cursors that stay open.
const OPEN_MAX: usize = 3;

/// After so many acts memory is looked at, and another session asks.
const LOOK_EVERY: usize = 8;

/// The stack of a session's thread: what a thread has if nobody says otherwise, and without
/// optimisation, which makes frames larger, more.
const STACK_BYTES: usize = if cfg!(debug_assertions) { 64 << 20 } else { 2 << 20 };

/// What an act may take.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The time after which a statement is to end.
    pub time: Duration,
    /// How much longer it may take until it has.
    pub more: Duration,
    /// The memory of the process.
    pub resident_bytes: u64,
    /// The memory of all sorts, hashes and groups.
    pub work_area_bytes: u64,
    /// Is called with the text of each act, where the statement runs: what it does is seen as if
    /// the engine did it.
    pub planted: Option<fn(&str)>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            time: Duration::from_millis(300),
            more: Duration::from_secs(if cfg!(debug_assertions) { 120 } else { 15 }),
            resident_bytes: 1_536 << 20,
            work_area_bytes: 512 << 10,
            planted: None,
        }
    }
}

/// What is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Trouble {
    /// A call panicked.
    Panic(String),
    /// The instance has halted.
    Halt(String),
    /// A refusal says that the engine can't explain it.
    Internal(String),
    /// A call took so long.
    Slow(Duration),
    /// The process has so many bytes.
    Memory(u64),
    /// Nobody does anything, and so many bytes are granted to work areas.
    Grants(u64),
    /// Another session isn't answered.
    Silent(String),
    /// The database doesn't shut in good order.
    Shutdown(String),
}

impl Trouble {
    /// What sort of trouble it is.
    pub fn word(&self) -> &'static str {
        match self {
            Trouble::Panic(_) => "panic",
            Trouble::Halt(_) => "halt",
            Trouble::Internal(_) => "internal",
            Trouble::Slow(_) => "slow",
            Trouble::Memory(_) => "memory",
            Trouble::Grants(_) => "grants",
            Trouble::Silent(_) => "silent",
            Trouble::Shutdown(_) => "shutdown",
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.word())?;
        match self {
            Trouble::Panic(said)
            | Trouble::Halt(said)
            | Trouble::Internal(said)
            | Trouble::Silent(said)
            | Trouble::Shutdown(said) => f.write_str(said),
            Trouble::Slow(time) => write!(f, "{time:?}"),
            Trouble::Memory(bytes) | Trouble::Grants(bytes) => write!(f, "{bytes} bytes"),
        }
    }
}

/// Something that is wrong, and the script up to there.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What is wrong.
    pub trouble: Trouble,
    /// The acts up to the one after which it was.
    pub script: Script,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n{}", self.trouble, lines_of(&self.script))
    }
}

/// What was played.
#[derive(Clone, Default, Debug)]
pub struct Tally {
    /// Scripts.
    pub scripts: u64,
    /// Acts.
    pub acts: u64,
    /// Those that were refused, also by running out of time.
    pub refused: u64,
    /// Those that ran out of time.
    pub late: u64,
    /// Rows of queries.
    pub rows: u64,
    /// How often each sort of statement was done.
    pub done: BTreeMap<&'static str, u64>,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.scripts += other.scripts;
        self.acts += other.acts;
        self.refused += other.refused;
        self.late += other.late;
        self.rows += other.rows;
        for (tag, count) in other.done {
            *self.done.entry(tag).or_default() += count;
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { scripts, acts, refused, late, rows, done } = self;
        write!(f, "{scripts} scripts, {acts} acts, {refused} refused, {late} late, {rows} rows;")?;
        done.iter().try_for_each(|(tag, count)| write!(f, " {tag} {count}"))
    }
}

/// Plays scripts, each on a database of its own.
#[derive(Clone, Debug)]
pub struct Player {
    /// What an act may take.
    pub limits: Limits,
    /// The name of the folder of the database.
    pub folder: String,
    /// The file that the acts are written to before they run.
    pub trace: Option<PathBuf>,
}

impl Player {
    /// A player whose databases lie in a folder of this name.
    pub fn new(folder: &str) -> Player {
        Player { limits: Limits::default(), folder: folder.to_string(), trace: None }
    }

    /// Plays a script to its end, or to the first thing that is wrong.
    ///
    /// # Panics
    /// When no database can be made, or the trace can't be written.
    pub fn play(&self, script: &[Act]) -> Result<Tally, Finding> {
        let folder = Folder::absent(&self.folder);
        let parameters = Parameters {
            db_cache_size: 8 << 20,
            pga_aggregate_target: self.limits.work_area_bytes,
            commit_wait: CommitWait::Nowait,
            ..Parameters::default()
        };
        let options = Options { parameters, ..Options::default() };
        let database = Database::create(&folder.0, &options).expect("a database is made");
        let mut stage = Some(Stage::new(self, database));
        let mut trace = self.trace.as_ref().map(|path| File::create(path).expect("it is writable"));
        let mut tally = Tally { scripts: 1, ..Tally::default() };
        for (place, act) in script.iter().enumerate() {
            if let Some(trace) = &mut trace {
                writeln!(trace, "{}", act.line()).expect("the trace is written");
            }
            let on = stage.as_mut().expect("it is left at the end");
            if let Err(trouble) = on.act(place, act, &mut tally) {
                leave(stage.take());
                return Err(Finding { trouble, script: script[..=place].to_vec() });
            }
        }
        let ended = stage.take().map_or(Ok(()), Stage::end);
        ended.map_err(|trouble| Finding { trouble, script: script.to_vec() })?;
        Ok(tally)
    }
}

/// Drops a stage on which something was wrong: whatever it does then is no other thing.
fn leave(stage: Option<Stage<'_>>) {
    let _ = catch_unwind(AssertUnwindSafe(|| drop(stage)));
}

/// A database, and who is connected to it.
struct Stage<'p> {
    limits: &'p Limits,
    session: Session,
    /// Another session.
    other: Connection<'static>,
    database: Database,
}

/// The session that acts.
struct Session {
    connection: Connection<'static>,
    open: VecDeque<OpenCursor>,
    batch: Batch,
}

/// What a statement has done, and how many rows it gave.
struct Came {
    tag: &'static str,
    rows: u64,
}

impl<'p> Stage<'p> {
    fn new(player: &'p Player, database: Database) -> Stage<'p> {
        let (mut connection, other) = (database.connect("fuzz"), database.connect("other"));
        connection.set_statement_timeout(Some(player.limits.time));
        let session = Session { connection, open: VecDeque::new(), batch: Batch::default() };
        Stage { limits: &player.limits, session, other, database }
    }

    fn act(&mut self, place: usize, act: &Act, tally: &mut Tally) -> Result<(), Trouble> {
        let (began, session, planted) = (Instant::now(), &mut self.session, self.limits.planted);
        let done = catch_unwind(AssertUnwindSafe(|| {
            if let Some(planted) = planted {
                planted(&act.text);
            }
            session.run(act)
        }));
        let took = began.elapsed();
        tally.acts += 1;
        match done.map_err(|payload| Trouble::Panic(said(&*payload)))? {
            Ok(Came { tag, rows }) => {
                tally.rows += rows;
                *tally.done.entry(tag).or_default() += 1;
            }
            Err(stop) => {
                check_refusal(&stop)?;
                tally.refused += 1;
                tally.late += u64::from(stop.state() == SqlState::QUERY_CANCELED);
            }
        }
        if took > self.limits.time + self.limits.more {
            return Err(Trouble::Slow(took));
        }
        if place.is_multiple_of(LOOK_EVERY) { self.look() } else { Ok(()) }
    }

    /// Looks at memory, and has the other session ask.
    fn look(&mut self) -> Result<(), Trouble> {
        let bytes = resident_bytes().unwrap_or(0);
        if bytes > self.limits.resident_bytes {
            return Err(Trouble::Memory(bytes));
        }
        let other = &mut self.other;
        let asked = catch_unwind(AssertUnwindSafe(|| other.execute("select 1", &[])));
        match asked.map_err(|payload| Trouble::Panic(said(&*payload)))? {
            Ok(done) if done.rows() == 1 => Ok(()),
            Ok(done) => Err(Trouble::Silent(format!("select 1 has {} rows", done.rows()))),
            Err(stop) => Err(Trouble::Silent(stop.to_string())),
        }
    }

    /// Ends the session, and shuts the database.
    fn end(mut self) -> Result<(), Trouble> {
        let Session { connection, open, .. } = &mut self.session;
        let ended = catch_unwind(AssertUnwindSafe(|| {
            // There may be no transaction.
            let _ = connection.execute("rollback", &[]);
            open.drain(..).try_for_each(|cursor| connection.close_cursor(&cursor))
        }));
        let ended = ended.map_err(|payload| Trouble::Panic(said(&*payload)))?;
        ended.or_else(|stop| check_refusal(&stop))?;
        self.look()?;
        let Stage { session, other, database, .. } = self;
        let reading = database.instance().work_areas().reading(other.session());
        if reading.granted_bytes > 0 {
            return Err(Trouble::Grants(reading.granted_bytes));
        }
        drop((session, other));
        database.shutdown().map_err(|stop| Trouble::Shutdown(stop.to_string()))
    }
}

impl Session {
    fn run(&mut self, act: &Act) -> Result<Came, Error> {
        match &act.how {
            How::Text => self.run_text(&act.text),
            How::With(values) => {
                let prepared = self.connection.prepare(&act.text)?;
                let mut came = Came { tag: "", rows: 0 };
                // Other values, of other kinds: the plan is there already.
                for more in 0..2 {
                    let values: Vec<Value<'_>> =
                        values.iter().map(|number| value_of(number.wrapping_add(more))).collect();
                    let done = self.connection.execute_prepared(&prepared, &values)?;
                    came = Came { tag: done.tag(), rows: done.rows() };
                }
                Ok(came)
            }
            How::Open => {
                let cursor = self.connection.open(&act.text, &[])?;
                let more = self.connection.fetch(&cursor, FIRST_ROWS, &mut self.batch)?;
                let rows = self.batch.len() as u64;
                if more {
                    self.open.push_back(cursor);
                }
                if self.open.len() > OPEN_MAX
                    && let Some(oldest) = self.open.pop_front()
                {
                    self.connection.close_cursor(&oldest)?;
                }
                Ok(Came { tag: "OPEN", rows })
            }
        }
    }

    fn run_text(&mut self, text: &str) -> Result<Came, Error> {
        let answer = self.connection.answer(text, &[])?;
        let mut rows = answer.first.len();
        let Some(cursor) = answer.cursor else {
            return Ok(Came { tag: answer.done.tag(), rows: rows as u64 });
        };
        while rows < ROWS_MAX && self.connection.fetch(&cursor, 1_000, &mut self.batch)? {
            rows += self.batch.len();
        }
        self.connection.close_cursor(&cursor)?;
        Ok(Came { tag: answer.done.tag(), rows: rows as u64 })
    }
}

/// A refusal is fine, unless it says that the engine is in trouble. Its text is written: that may
/// fail too.
fn check_refusal(stop: &Error) -> Result<(), Trouble> {
    let text = stop.to_string();
    match stop {
        Error::Halted(_) => Err(Trouble::Halt(text)),
        Error::Refused(_) if stop.state().class() == "XX" => Err(Trouble::Internal(text)),
        Error::Refused(_) => Ok(()),
    }
}

/// What a panic says.
fn said(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default()
}

/// Does `work` on a thread with the stack of a session.
///
/// # Panics
/// When `work` does.
pub fn on_a_session_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(work);
    let ended = thread.expect("a thread can be started").join();
    ended.unwrap_or_else(|payload| std::panic::resume_unwind(payload))
}

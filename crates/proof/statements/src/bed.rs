//! Where the statements run: a new database on a simulated machine.
//!
//! ```text
//!   on_machine ─▶ Simulation ─▶ Database ─▶ work ─▶ shut ─▶ what work gives
//! ```
//!
//! The simulated machine was chosen over a real folder: nothing is written to a disk, so a
//! commit costs no sync; a seed repeats a run to the last hand-off; and a session that waits for
//! ever, panics or computes without end is told instead of hanging the test. What runs is the
//! front door that applications use.
//!
//! Invariants
//!   * the rivals are never asked from within the simulation, in which the clock would stand still
//!   * sorts and hashes have little memory ([`Memory::Little`]) only where a check asks for it
//!
//! Callers: `slt`, `differential`, `metamorphic`.

use std::path::Path;
use std::time::Duration;

use database::{Connection, Database, Options, Parameters};
use os::Session;
use sim::Simulation;
use sim::fs::FileSystem;

use crate::answer::{Answer, Told, ask};

/// The capacity of the simulated disk. Only what is written takes memory.
const DISK_BYTES: u64 = 8 << 30;
/// The cache is small enough that larger tables don't fit.
const CACHE_BYTES: u64 = 8 << 20;
/// The virtual time that a run has.
const TIME_LIMIT_NS: u64 = 200 * 3_600_000_000_000;
/// The real time that a statement may compute without touching the machine.
const STUCK_AFTER: Duration = Duration::from_secs(600);
/// What all work areas share if everything is to spill: an eighth of it is a few rows.
const LITTLE_BYTES: u64 = 8 << 10;

/// Does `work` with a new database on a simulated machine, and shuts it.
///
/// # Errors
/// What ended the simulation: a panic, threads that wait for each other, no progress.
pub fn on_machine<R: Send + 'static>(
    seed: u64,
    work: impl FnOnce(&Database, &Session) -> R + Send + 'static,
) -> Result<R, String> {
    let mut simulation = Simulation::new(seed);
    simulation.disks[0].content = FileSystem::new(DISK_BYTES);
    simulation.time_limit_ns = TIME_LIMIT_NS;
    simulation.stuck_after = STUCK_AFTER;
    let report = simulation.run(move |world, session| {
        let parameters = Parameters { db_cache_size: CACHE_BYTES, ..Parameters::default() };
        let options = Options { parameters, ..Options::default() };
        let made = Database::create_in(&world.disk(), Path::new("/db"), &options, session);
        let database = made.expect("a new database on an empty disk");
        let result = work(&database, session);
        database.shutdown_by(session).expect("shut in good order");
        result
    });
    report.result.map_err(|failure| failure.to_string())
}

/// What runs statements.
pub trait Engine {
    /// Runs one statement to its end.
    fn run(&mut self, text: &str) -> Answer;
}

/// Forebay, through a connection.
pub struct Forebay<'s> {
    connection: Connection<'s>,
}

/// The memory of sorts and hashes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Memory {
    /// As the machine has it.
    Usual,
    /// For some ten rows: whatever is larger spills.
    Little,
}

impl<'s> Forebay<'s> {
    /// A session of a database.
    pub fn new(database: &Database, session: &'s Session) -> Forebay<'s> {
        Forebay { connection: database.connect_with(session) }
    }

    /// Runs a statement, and tells the kinds of its columns too.
    pub fn tell(&mut self, text: &str) -> Told {
        ask(&mut self.connection, text)
    }
}

/// The words of statements whose rows are counted.
const CHANGES: [&str; 3] = ["insert", "update", "delete"];

/// Whether a statement of a case changes rows. Of others programs count what they like.
pub(crate) fn is_change(text: &str) -> bool {
    CHANGES.iter().any(|word| text.starts_with(word))
}

impl Engine for Forebay<'_> {
    fn run(&mut self, text: &str) -> Answer {
        match self.tell(text).answer {
            Answer::Done(_) if !is_change(text) => Answer::Done(0),
            answer => answer,
        }
    }
}

impl Memory {
    /// The statement that gives sorts and hashes this memory.
    pub fn statement(self) -> String {
        match self {
            Memory::Usual => "alter system set pga_aggregate_target = 0".into(),
            Memory::Little => format!("alter system set pga_aggregate_target = {LITTLE_BYTES}"),
        }
    }
}

/// How answers are altered on their way: what shows that a check can fail.
#[derive(Clone, Copy, Debug)]
pub struct Lie {
    /// Alters the answer to a text; says whether it did.
    pub alter: fn(&str, &mut Answer) -> bool,
    /// Only behind a statement with these words, up to `reset all`; none: always.
    pub behind: Option<&'static str>,
}

/// An engine whose answers are altered.
pub struct Lying<'e, E> {
    engine: &'e mut E,
    lie: Lie,
    is_on: bool,
}

impl<'e, E> Lying<'e, E> {
    /// An engine that tells what this one does, and lies now and then.
    pub fn new(engine: &'e mut E, lie: Lie) -> Lying<'e, E> {
        Lying { engine, lie, is_on: lie.behind.is_none() }
    }
}

impl<E: Engine> Engine for Lying<'_, E> {
    fn run(&mut self, text: &str) -> Answer {
        let mut answer = self.engine.run(text);
        if let Some(words) = self.lie.behind {
            self.is_on = (self.is_on || text.contains(words)) && text != "reset all";
        }
        if self.is_on {
            (self.lie.alter)(text, &mut answer);
        }
        answer
    }
}

/// A lie: the last row of a query is lost.
pub fn lose_last_row(text: &str, answer: &mut Answer) -> bool {
    match answer {
        Answer::Rows(rows) if text.starts_with("SELECT") && rows.len() > 2 => rows.pop().is_some(),
        _ => false,
    }
}

//! Our side of races through the embedded API: a database in the race's folder.
//!
//! Checkpoints (RM8) are timed on neither side: what a session waits for is raced, and each side
//! writes what it left behind after its run, before the other side's. How long that took is known,
//! so the rate with it is reported beside.
//!
//! Callers: races `insert`, `lookup`, `tpcb`, `update`, and those of SQL.

use std::time::{Duration, Instant};

use bench::Scratch;
use bench::race::{Case, Metrics, metric};
use database::{Connection, Creation, Database, Options, Parameters};
use os::Session;
use waits::{Nanos, SessionKind};

use super::told;

/// A database of ours, open.
pub(crate) struct Embedded {
    pub(crate) database: Database,
    pub(crate) session: Session,
}

impl Embedded {
    /// Makes one with a cache of so many bytes, and other parameters as they are by themselves.
    pub(crate) fn create(
        scratch: &Scratch,
        cache_bytes: u64,
        creation: Creation,
    ) -> bench::Result<Embedded> {
        let session = os::linux::start().adopt("race", SessionKind::Foreground);
        let parameters = Parameters { db_cache_size: cache_bytes, ..Parameters::default() };
        let options = Options { creation, parameters, ..Options::default() };
        let database = Database::create(scratch.path().join("database"), &options);
        Ok(Embedded { database: database.map_err(told)?, session })
    }

    /// A connection of the race's own session.
    pub(crate) fn connect(&self) -> Connection<'_> {
        self.database.connect_with(&self.session)
    }

    /// Writes all that is dirty, so that no run pays for what was before it.
    pub(crate) fn checkpoint(&self) -> bench::Result<()> {
        self.database.instance().checkpoint(&self.session).map_err(told)
    }

    /// Shuts it in good order.
    pub(crate) fn shut(self) -> bench::Result<()> {
        self.database.shutdown_by(&self.session).map_err(told)
    }

    /// What it is, for the race's head.
    pub(crate) fn settings(cache_bytes: u64) -> String {
        format!(
            "ours: the embedded API, db_cache_size {} MiB, other parameters at their defaults",
            cache_bytes >> 20
        )
    }
}

/// A rate that counts the checkpoint after the run as if it had been a part of it.
const WITH_CHECKPOINT: &str = "per_second_with_checkpoint";

/// A rate of work, with a goal; and the rate with the checkpoint, which is only reported.
pub(crate) fn cases(name: &str, unit: &'static str, goal: Option<f64>) -> Vec<Case> {
    let case =
        |name: String, metric, goal| Case { name, metric, unit, higher_is_better: true, goal };
    vec![
        case(name.into(), metric::IOPS, goal),
        case(format!("{name}, with checkpoint"), WITH_CHECKPOINT, None),
    ]
}

/// The metrics of a run that did so much a second for `length`, and of the checkpoint after it.
pub(crate) fn with_checkpoint(
    rate: f64,
    length: Duration,
    checkpoint: impl FnOnce() -> bench::Result<()>,
) -> bench::Result<Metrics> {
    let began = Instant::now();
    checkpoint()?;
    let share = length.as_secs_f64() / (length + began.elapsed()).as_secs_f64();
    Ok(Metrics::from([(metric::IOPS, rate), (WITH_CHECKPOINT, rate * share)]))
}

pub(crate) fn nanos(length: Duration) -> Nanos {
    Nanos(u64::try_from(length.as_nanos()).expect("runs are short"))
}

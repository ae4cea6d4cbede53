//! From the request to the table: the tables are loaded once, and each cell is measured by an
//! instance that was just opened, in the order of a lot.
//!
//! Callers: the binary's `lab`.

use database::Options;
use experiment::{Commits, Measured, Origin, Run, Step};
use os::Session;
use stop::{RefusalKind, Stop};
use waits::Nanos;

use super::NAME;
use super::asked::asked;
use super::load::{Size, creation, parameters};
use super::measure::{ARRAY, Calls, Measurement, TracedScan, measure, trace};
use super::report::Report;
use super::setting::{BLOCK_SIZES, Setting};
use super::world::World;
use crate::cells::{Place, rounds, rounds_least};
use crate::checks;
use crate::form::listed;
use crate::linux::free_bytes;
use crate::scratch::clear_left;
use crate::{Follower, RunOn};

/// Here no round begins after this time, once there are as many as statements need.
const BUDGET: Nanos = Nanos::from_secs(200);

/// The request for the experiment.
pub struct Scans {
    /// How much.
    pub size: Size,
    /// Which cells.
    pub settings: Vec<Setting>,
    /// The factor of time that matters, over 1.
    pub matters: f64,
    /// Where the runs are made.
    pub run_on: RunOn,
    /// Orders the cells.
    pub seed: u64,
    /// The commit that the program was built from.
    pub commit: String,
    /// The command line that asks for it again.
    pub command: String,
}

/// What was measured.
pub(super) struct Outcome {
    pub(super) rows: Vec<Run>,
    /// Of each row.
    pub(super) calls: Vec<Calls>,
    pub(super) traces: Vec<TracedScan>,
    pub(super) commits: Commits,
}

/// Measures the table, and hands the follower a row for each run. None if it was told to stop; no
/// database is left behind then.
pub fn run(
    scans: &Scans,
    told_to_stop: &dyn Fn() -> bool,
    follower: &mut dyn Follower,
    session: &Session,
) -> Result<Option<Report>, Stop> {
    check(scans, session)?;
    let Some((world, loaded)) = World::prepare(scans, follower, told_to_stop, session)? else {
        return Ok(None);
    };
    let place = Place {
        machine: world.describe(scans),
        is_modelled: world.is_modelled(),
        asynchronous_files: world.is_asynchronous(),
        chosen: loaded.chosen,
        commit: scans.commit.clone(),
        command: scans.command.clone(),
    };
    let mut outcome = Outcome {
        rows: Vec::new(),
        calls: Vec::new(),
        traces: Vec::new(),
        commits: loaded.commits,
    };
    let bench = Bench { scans, world: &world, place: &place, told_to_stop, session };
    let is_whole = bench.measure_rounds(&mut outcome, follower)?
        && bench.trace_tables(&mut outcome.traces, follower)?;
    Ok(is_whole.then(|| Report::of(&outcome, scans, place)))
}

/// Refuses what can't be carried out before anything is made (LB10, LB23).
fn check(scans: &Scans, session: &Session) -> Result<(), Stop> {
    checks::table(scans.size.rounds, scans.settings.len())?;
    if scans.size.rows == 0 {
        return Err(checks::invalid("cannot scan tables of 0 rows: ask for one or more"));
    }
    let RunOn::ThisMachine(parent) = &scans.run_on else { return Ok(()) };
    clear_left(&os::linux::disk(), parent, session)?;
    let (needed, free) = (scans.size.disk_bytes(), free_bytes(parent)?);
    if free >= needed {
        return Ok(());
    }
    let message = format!(
        "cannot run in {}: {} MB are needed and {} MB are free; free some, choose another place \
         with --dir, or fewer rows with --table-rows",
        parent.display(),
        needed.div_ceil(1_000_000),
        free / 1_000_000
    );
    Err(Stop::refuse(RefusalKind::NoSpace, message))
}

/// The measuring.
struct Bench<'a, 's> {
    scans: &'a Scans,
    world: &'a World<'s>,
    place: &'a Place,
    told_to_stop: &'a dyn Fn() -> bool,
    session: &'s Session,
}

impl Bench<'_, '_> {
    /// False if it was told to stop.
    fn measure_rounds(
        &self,
        outcome: &mut Outcome,
        follower: &mut dyn Follower,
    ) -> Result<bool, Stop> {
        let (scans, is_modelled) = (self.scans, self.place.is_modelled);
        let least = rounds_least(asked(&scans.settings).len()) as usize;
        let rounds = rounds(scans.settings.len(), scans.size.rounds, !is_modelled, scans.seed);
        let (origin, began) = (self.origin(), self.session.now());
        for (before, round) in rounds.iter().enumerate() {
            let is_over = self.session.now().since(began) > BUDGET;
            if !is_modelled && before >= least && is_over {
                break;
            }
            for step in round {
                follower.tell(&self.line(step, round.len()));
                let Some(measured) = self.cell(step)? else { return Ok(false) };
                let row = self.row(&origin, step, &measured);
                follower.row(&row);
                outcome.rows.push(row);
                outcome.calls.push(measured.scan.calls);
            }
        }
        Ok(true)
    }

    /// Scans each table once more, traced. False if it was told to stop.
    fn trace_tables(
        &self,
        traces: &mut Vec<TracedScan>,
        follower: &mut dyn Follower,
    ) -> Result<bool, Stop> {
        let size = self.scans.size;
        for block_size in BLOCK_SIZES {
            follower.tell(&format!("tracing a scan of blocks of {block_size}"));
            let traced = self.world.with_instance(
                self.options(),
                move |database, stops, session| {
                    trace(database, block_size, size.rows, stops, session)
                },
                self.told_to_stop,
                self.session,
            )?;
            let Some(traced) = traced else { return Ok(false) };
            traces.push(traced);
        }
        Ok(true)
    }

    /// None if it was told to stop.
    fn cell(&self, step: &Step) -> Result<Option<Measurement>, Stop> {
        let (setting, size) = (self.setting(step), self.scans.size);
        self.world.with_instance(
            self.options(),
            move |database, stops, session| measure(database, setting, size.rows, stops, session),
            self.told_to_stop,
            self.session,
        )
    }

    fn setting(&self, step: &Step) -> Setting {
        self.scans.settings[step.level.index()]
    }

    fn options(&self) -> Options {
        let mut parameters = parameters(self.scans.size, self.place.asynchronous_files);
        self.place.chosen.fix(&mut parameters);
        Options { parameters, ..Options::default() }
    }

    fn line(&self, step: &Step, cells: usize) -> String {
        let Setting { block_size, read } = self.setting(step);
        format!(
            "round {} of {}, cell {} of {cells}: blocks of {block_size}, {}",
            step.round,
            self.scans.size.rounds,
            step.place,
            read.words()
        )
    }

    fn origin(&self) -> Origin {
        let work = format!("{:?}", Size { rounds: 1, ..self.scans.size });
        self.place.origin(NAME, &self.scans.run_on, self.scans.seed, work)
    }

    fn row(&self, origin: &Origin, step: &Step, measured: &Measurement) -> Run {
        let setting = self.setting(step);
        let mut parameters = self.options().parameters;
        parameters.db_file_multiblock_read_count = setting.blocks();
        let load = [
            ("load", NAME.to_owned()),
            ("rows", self.scans.size.rows.to_string()),
            ("array", ARRAY.to_string()),
            ("block_size", setting.block_size.bytes().to_string()),
        ];
        let creation = creation(self.scans.size);
        let named = listed(&creation, &parameters).chain(load);
        let named = named.map(|(name, value)| (name.to_owned(), value)).collect();
        let figures = Measured {
            elapsed: measured.scan.elapsed,
            transactions: 1,
            latency: None,
            commits: None,
        };
        let identity = origin.identity(step, &setting.to_string(), named);
        Run::new(identity, figures, &measured.intervals)
    }
}

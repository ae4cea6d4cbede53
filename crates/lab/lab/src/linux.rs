//! Runs on this machine.

use std::path::Path;

use database::{Database, Options};
use instance::Parameters;
use os::probe::DurableWrite;
use os::{Disk, Session};
use report::number::counted;
use stop::Stop;
use waits::Nanos;

use experiment::{Origin, Run, Runner, Step};

use crate::crash::crash;
use crate::measure::measure;
use crate::scratch::Scratch;
use crate::{Form, Setting};

/// The time of a run beside warm-up and measuring: restoring, opening twice, auditing.
const AROUND: Nanos = Nanos::from_millis(2_500);

pub(crate) struct LinuxRunner<'a, 's> {
    pub(crate) disk: Disk,
    pub(crate) scratch: &'a Scratch<'s>,
    pub(crate) form: &'a Form,
    pub(crate) settings: &'a [Setting],
    pub(crate) origin: &'a Origin,
    pub(crate) session: &'s Session,
}

/// Loads the database into this folder of the scratch folder. Returns what its opening chose by a
/// probe, which then holds for all runs (LB61). None if it was told to stop.
pub(crate) fn prepare(
    disk: &Disk,
    base: &Path,
    form: &Form,
    mut progress: impl FnMut(u64, u64),
    told_to_stop: &dyn Fn() -> bool,
    session: &Session,
) -> Result<Option<Chosen>, Stop> {
    let database = Database::create_in(disk, base, &form.options(), session)?;
    let go_on = |done, all| {
        progress(done, all);
        !told_to_stop()
    };
    let loaded = form.load.fill(&mut database.connect_with(session), go_on);
    if !matches!(loaded, Ok(true)) {
        return crash(database, session).and(loaded).map(|_| None);
    }
    database.shutdown_by(session)?;
    // It is opened once more only for the probe, which a creation doesn't make.
    let options = Options { parameters: form.parameters.clone(), ..Options::default() };
    let database = Database::open_in(disk, base, &options, session)?;
    let chosen = Chosen::of(&database);
    database.shutdown_by(session)?;
    Ok(Some(chosen))
}

/// What an opening chose by a probe of the device. Left to each opening, runs of one setting would
/// differ in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Chosen {
    pub(crate) redo_write: DurableWrite,
    pub(crate) log_writes_in_flight: u32,
}

/// The parameters that an opening chooses by a probe, if they leave it to that.
const CHOSEN: [&str; 2] = ["redo_write", "log_writes_in_flight"];

impl Chosen {
    pub(crate) fn of(database: &Database) -> Chosen {
        let opened = database.instance().opened();
        let (redo_write, writes) = (opened.redo_write, opened.log_writes_in_flight);
        Chosen { redo_write, log_writes_in_flight: writes }
    }

    /// In words, for the reports of the two shapes.
    pub(crate) fn words(&self) -> String {
        format!(
            "Redo is written with \"{}\", {} at once at most, as chosen by a probe before the \
             first run and the same in all.",
            self.redo_write.name(),
            counted(self.log_writes_in_flight.into(), "write")
        )
    }

    /// What the rows of an experiment that goes on were made with, by one whose setting didn't give
    /// it itself.
    pub(crate) fn in_rows(rows: &[Run], settings: &[Setting]) -> Option<Chosen> {
        let was_free = |run: &&Run| {
            let gives = |name: &str| CHOSEN.iter().any(|chosen| chosen.eq_ignore_ascii_case(name));
            settings.get(run.identity.level.index()).is_some_and(|of| !of.names().any(gives))
        };
        let named = &rows.iter().find(was_free)?.identity.parameters;
        let mut parameters = Parameters::default();
        for name in CHOSEN {
            parameters.set(name, named.get(name)?).ok()?;
        }
        let log_writes_in_flight = parameters.log_writes_in_flight;
        Some(Chosen { redo_write: parameters.redo_write?, log_writes_in_flight })
    }

    /// Fixes what these parameters would leave to a probe.
    pub(crate) fn fix(&self, parameters: &mut Parameters) {
        parameters.redo_write = parameters.redo_write.or(Some(self.redo_write));
        if parameters.log_writes_in_flight == 0 {
            parameters.log_writes_in_flight = self.log_writes_in_flight;
        }
    }
}

impl Runner for LinuxRunner<'_, '_> {
    type Error = Stop;

    fn run(&mut self, step: &Step, told_to_stop: &dyn Fn() -> bool) -> Result<Option<Run>, Stop> {
        if !self.scratch.restore(told_to_stop)? {
            return Ok(None);
        }
        let setting = &self.settings[step.level.index()];
        let mut parameters = self.form.parameters.clone();
        setting.apply(&mut parameters)?;
        let load = self.form.load.seeded(step.load_seed);
        let lengths = [self.form.warm_up, self.form.length];
        let run = self.scratch.run();
        let measured =
            measure(&self.disk, &run, &parameters, &load, lengths, told_to_stop, self.session)?;
        Ok(measured.map(|run| {
            let parameters = self.form.describe(&parameters);
            let identity = self.origin.identity(step, &setting.to_string(), parameters);
            let mut row = Run::new(identity, run.measured, &run.intervals);
            row.surroundings = Some(run.surroundings);
            row
        }))
    }

    fn expected(&self) -> Option<Nanos> {
        Some(Nanos(self.form.warm_up.0 + self.form.length.0 + AROUND.0))
    }
}

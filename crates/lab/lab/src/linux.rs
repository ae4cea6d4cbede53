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

/// What is free on the file system of this directory.
pub(crate) fn free_bytes(directory: &Path) -> Result<u64, Stop> {
    Ok(os::linux::disk().free_bytes(directory)?)
}

/// This machine, with the file system of this directory, in a line.
pub(crate) fn this_machine(parent: &Path) -> String {
    format!("{}; {}", os::linux::machine::line(), os::linux::machine::file_system(parent))
}

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
    Chosen::by_opening(disk, base, form.parameters.clone(), session).map(Some)
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

    /// Opens the database only for the probe, made anew now that all is loaded.
    pub(crate) fn by_opening(
        disk: &Disk,
        directory: &Path,
        parameters: Parameters,
        session: &Session,
    ) -> Result<Chosen, Stop> {
        let parameters = Parameters { redo_probe_retention: 0, ..parameters };
        let options = Options { parameters, ..Options::default() };
        let database = Database::open_in(disk, directory, &options, session)?;
        let chosen = Chosen::of(&database);
        database.shutdown_by(session)?;
        Ok(chosen)
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

    /// Fixes what these parameters would leave to a probe.
    pub(crate) fn fix(&self, parameters: &mut Parameters) {
        fix(parameters, Some(self.redo_write), self.log_writes_in_flight);
    }
}

/// Fixes what these parameters would leave to a probe to what the rows of an experiment that goes
/// on were made with: of each parameter, what a row has whose setting didn't give it itself. If
/// all settings give it, it is left.
pub(crate) fn fix_by_rows(
    rows: &[Run],
    settings: &[Setting],
    parameters: &mut Parameters,
) -> Result<(), Stop> {
    let mut known = Parameters::default();
    for name in CHOSEN {
        let was_free = |run: &&Run| {
            let setting = settings.get(run.identity.level.index());
            setting.is_some_and(|of| !of.names().any(|given| given.eq_ignore_ascii_case(name)))
        };
        let row = rows.iter().find(was_free);
        if let Some(value) = row.and_then(|row| row.identity.parameters.get(name)) {
            known.set(name, value)?;
        }
    }
    fix(parameters, known.redo_write, known.log_writes_in_flight);
    Ok(())
}

fn fix(parameters: &mut Parameters, redo_write: Option<DurableWrite>, log_writes_in_flight: u32) {
    parameters.redo_write = parameters.redo_write.or(redo_write);
    if parameters.log_writes_in_flight == 0 {
        parameters.log_writes_in_flight = log_writes_in_flight;
    }
}

impl Runner for LinuxRunner<'_, '_> {
    type Error = Stop;

    fn run(&mut self, step: &Step, told_to_stop: &dyn Fn() -> bool) -> Result<Option<Run>, Stop> {
        if !self.scratch.restore(told_to_stop)? {
            return Ok(None);
        }
        let setting = &self.settings[step.level.index()];
        let parameters = setting.over(&self.form.parameters)?;
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

#[cfg(test)]
mod tests {
    use experiment::{Measured, Plan};

    use super::*;
    use crate::tests::origin;

    /// The row of a run under this setting, whose other parameters a probe had chosen.
    fn row(step: &Step, setting: &Setting) -> Run {
        let mut parameters = Parameters::default();
        let chosen = Chosen { redo_write: DurableWrite::BufferedThenSync, log_writes_in_flight: 4 };
        chosen.fix(&mut parameters);
        setting.apply(&mut parameters).expect("a setting");
        let named = CHOSEN.map(|name| (name.to_owned(), parameters.get(name).expect("it is one")));
        let identity = origin().identity(step, &setting.to_string(), named.into_iter().collect());
        let elapsed = Nanos::from_secs(1);
        let measured = Measured { elapsed, transactions: 1, latency: None, commits: None };
        Run::new(identity, measured, &[])
    }

    /// LB61, LB68: else rows on what the probe chooses would be called those of another setting.
    #[test]
    fn what_a_setting_leaves_to_the_probe_is_that_of_its_rows() {
        let setting = |name: &str, value: &str| {
            Setting::of([(name.to_owned(), value.to_owned())]).expect("a setting")
        };
        let buffered = Some(DurableWrite::BufferedThenSync);
        let way = DurableWrite::DirectThenSync;
        let ways = [setting("redo_write", way.name()), setting("db_writer_processes", "2")];
        let writes = ["1", "2"].map(|count| setting("log_writes_in_flight", count));
        let plan = Plan { levels: 2, rounds: 2, equals: 1, stretches: 1, together: 1, seed: 1 };
        // Where all settings give a number of writes, it is left as the form has it.
        for (settings, wanted) in [(writes, (buffered, 0)), (ways, (buffered, 4))] {
            let of = |step: &Step| row(step, &settings[step.level.index()]);
            let rows: Vec<Run> = plan.steps().iter().map(of).collect();
            let mut parameters = Parameters::default();
            fix_by_rows(&rows, &settings, &mut parameters).expect("it goes on");
            assert_eq!((parameters.redo_write, parameters.log_writes_in_flight), wanted);
            // What the form gives itself stays.
            let mut given = Parameters { redo_write: Some(way), ..Parameters::default() };
            fix_by_rows(&rows, &settings, &mut given).expect("it goes on");
            assert_eq!(given.redo_write, Some(way));
        }
    }
}

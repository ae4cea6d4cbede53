//! Runs on this machine.

use database::Database;
use instance::Parameters;
use os::{Disk, Session};
use stop::Stop;
use waits::Nanos;

use experiment::{Origin, Run, Runner, Side, Step};

use crate::crash::crash;
use crate::measure::measure;
use crate::scratch::Scratch;
use crate::{Experiment, Form};

/// The time of a run beside warm-up and measuring: restoring, opening twice, auditing.
const AROUND: Nanos = Nanos::from_millis(2_500);

pub(crate) struct LinuxRunner<'s> {
    disk: Disk,
    scratch: Scratch<'s>,
    form: Form,
    settings: [Parameters; 2],
    words: [&'static str; 2],
    origin: Origin,
    session: &'s Session,
}

impl<'s> LinuxRunner<'s> {
    /// Loads the database in the scratch folder. None if it was told to stop.
    pub(crate) fn prepare(
        experiment: &Experiment,
        form: &Form,
        origin: Origin,
        scratch: Scratch<'s>,
        mut progress: impl FnMut(u64, u64),
        told_to_stop: &dyn Fn() -> bool,
        session: &'s Session,
    ) -> Result<Option<LinuxRunner<'s>>, Stop> {
        let disk = os::linux::disk();
        let base = scratch.base();
        let database = Database::create_in(&disk, &base, &form.options(), session)?;
        let go_on = |done, all| {
            progress(done, all);
            !told_to_stop()
        };
        let loaded = workload::load(&mut database.connect_with(session), form.scale, go_on);
        if !matches!(loaded, Ok(true)) {
            return crash(database, session).and(loaded).map(|_| None);
        }
        database.shutdown_by(session)?;
        let settings = experiment.parameters(form);
        let (form, words) = (form.clone(), experiment.settings);
        Ok(Some(LinuxRunner { disk, scratch, form, settings, words, origin, session }))
    }
}

impl Runner for LinuxRunner<'_> {
    type Error = Stop;

    fn run(&mut self, step: &Step, told_to_stop: &dyn Fn() -> bool) -> Result<Option<Run>, Stop> {
        if !self.scratch.restore(told_to_stop)? {
            return Ok(None);
        }
        let side = usize::from(step.side == Side::B);
        let parameters = &self.settings[side];
        let mut mixture = self.form.mixture;
        mixture.seed = step.load_seed;
        let run = self.scratch.run();
        let measured = measure(&self.disk, &run, parameters, mixture, told_to_stop, self.session)?;
        Ok(measured.map(|run| {
            let parameters = self.form.describe(parameters);
            let identity = self.origin.identity(step, self.words[side], parameters);
            Run::new(identity, run.measured, &run.intervals)
        }))
    }

    fn expected(&self) -> Option<Nanos> {
        let mixture = &self.form.mixture;
        Some(Nanos(mixture.warm_up.0 + mixture.length.0 + AROUND.0))
    }
}

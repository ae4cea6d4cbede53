//! Runs in a simulated world: the same engine and load on a model of a machine.
//!
//! The database is loaded once, in a simulation of its own; its disk is copy-on-write, so that each
//! run begins from it without copying.

use database::Database;
use std::path::Path;

use experiment::{Origin, Run, Runner, Step};
use os::Session;
use sim::fs::FileSystem;
use sim::model::{CostList, DiskParameters, MachineParameters};
use sim::{DiskSpec, Simulation, World};
use stop::{RefusalKind, Stop};

use crate::measure::measure;
use crate::{Form, Setting};

pub(crate) const DIRECTORY: &str = "/db";
/// The most virtual time of a run: a simulation that takes longer hangs.
pub(crate) const TIME_LIMIT_NS: u64 = 3_600_000_000_000;

/// A machine to be simulated.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Its CPUs.
    pub machine: MachineParameters,
    /// The CPU costs of operations.
    pub costs: CostList,
    /// Its disk: built in, or read from a file.
    pub disk: DiskParameters,
}

impl Machine {
    /// By the names of a built-in machine and a built-in disk.
    pub(crate) fn named(machine: &str, disk: &str) -> Result<Machine, Stop> {
        let refuse = |error: &dyn std::fmt::Display| {
            Stop::refuse(RefusalKind::Invalid, format!("cannot simulate: {error}"))
        };
        let machine = MachineParameters::builtin(machine).map_err(|error| refuse(&error))?;
        let disk = DiskParameters::builtin(disk).map_err(|error| refuse(&error))?;
        let costs = CostList::builtin("default").map_err(|error| refuse(&error))?;
        Ok(Machine { machine, costs, disk })
    }

    /// The assumptions behind the figures, in a sentence.
    pub(crate) fn describe(&self, name: &str, disk: &str) -> String {
        let m = &self.machine;
        format!(
            "Modelled machine {name}: {} CPUs, time slices of {} us, {} ns for a switch and {} ns \
             for a migration; disk {disk}. What an operation costs is in docs/COSTS.md, measured \
             by `cargo xbench calibrate`.",
            m.cpus, m.time_slice_us, m.switch_cost_ns, m.migration_cost_ns
        )
    }

    /// This machine with the costs of scheduling multiplied.
    pub(crate) fn with_scheduling(&self, factor: f64) -> Machine {
        let mut changed = self.clone();
        let times = |cost: u32| (f64::from(cost) * factor).round() as u32;
        changed.machine.switch_cost_ns = times(changed.machine.switch_cost_ns);
        changed.machine.migration_cost_ns = times(changed.machine.migration_cost_ns);
        changed
    }

    /// This machine with another disk.
    pub(crate) fn with_disk(&self, disk: DiskParameters) -> Machine {
        Machine { disk, ..self.clone() }
    }

    fn simulation(&self, seed: u64, content: Option<FileSystem>) -> Simulation {
        let mut simulation = Simulation::new(seed);
        simulation.machine = self.machine.clone();
        simulation.costs = self.costs.clone();
        simulation.time_limit_ns = TIME_LIMIT_NS;
        let mut disk = DiskSpec::empty("disk", self.disk.clone());
        if let Some(content) = content {
            disk.content = content;
        }
        simulation.disks = vec![disk];
        simulation
    }

    /// Runs `body` on this machine from this disk. Returns its result and the disk afterwards.
    pub(crate) fn run<R: Send + 'static>(
        &self,
        seed: u64,
        content: Option<FileSystem>,
        body: impl FnOnce(&World, &Session) -> Result<R, Stop> + Send + 'static,
    ) -> Result<(R, FileSystem), Stop> {
        let mut report = self.simulation(seed, content).run(body);
        let result = match report.result {
            Ok(result) => result?,
            Err(failure) => {
                let message = format!("the simulation failed (seed {seed}): {failure}");
                return Err(Stop::refuse(RefusalKind::WrongState, message));
            }
        };
        let mut disk = report.disks.remove("disk").expect("the machine has a disk");
        disk.close_all();
        Ok((result, disk))
    }
}

pub(crate) struct ModelRunner<'a> {
    pub(crate) machine: Machine,
    pub(crate) base: FileSystem,
    pub(crate) form: &'a Form,
    pub(crate) settings: &'a [Setting],
    pub(crate) origin: &'a Origin,
}

/// The loaded database on a simulated disk.
pub(crate) fn load(machine: &Machine, form: &Form) -> Result<FileSystem, Stop> {
    let inside = form.clone();
    let body = move |world: &World, session: &Session| {
        let (disk, directory) = (world.disk(), Path::new(DIRECTORY));
        let database = Database::create_in(&disk, directory, &inside.options(), session)?;
        inside.load.fill(&mut database.connect_with(session), |_, _| true)?;
        database.shutdown_by(session)
    };
    Ok(machine.run(1, None, body)?.1)
}

impl Runner for ModelRunner<'_> {
    type Error = Stop;

    fn run(&mut self, step: &Step, told_to_stop: &dyn Fn() -> bool) -> Result<Option<Run>, Stop> {
        if told_to_stop() {
            return Ok(None);
        }
        let setting = &self.settings[step.level.index()];
        let parameters = setting.over(&self.form.parameters)?;
        let load = self.form.load.seeded(step.load_seed);
        let lengths = [self.form.warm_up, self.form.length];
        let inside = parameters.clone();
        let body = move |world: &World, session: &Session| {
            let (disk, directory) = (world.disk(), Path::new(DIRECTORY));
            measure(&disk, directory, &inside, &load, lengths, &|| false, session)
        };
        let (measured, _) = self.machine.run(step.world_seed, Some(self.base.clone()), body)?;
        Ok(measured.map(|run| {
            let parameters = self.form.describe(&parameters);
            let identity = self.origin.identity(step, &setting.to_string(), parameters);
            let mut row = Run::new(identity, run.measured, &run.intervals);
            row.surroundings = Some(run.surroundings);
            row
        }))
    }
}

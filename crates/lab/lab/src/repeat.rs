//! One setting, run again and again: on this machine, or on a model of it.
//!
//! An experiment compares two settings in one world; the validity check compares two worlds under
//! one setting. Each run is as an experiment's (LB1 to LB3): from the same restored files, ended as
//! a crash does, audited. Run `n` has the same load in both worlds.
//!
//! Caller: `cargo xbench validity`.

use std::path::Path;

use experiment::{Level, Origin, RoundKind, Run, Runner, Step, World};
use os::Session;
use stop::Stop;

use crate::linux::{LinuxRunner, prepare, this_machine};
use crate::model::{Machine, ModelRunner, load};
use crate::scratch::Scratch;
use crate::{Experiment, Form};

/// Runs setting A `count` times on this machine, with a scratch folder in `parent`. Calls `around`
/// before the first run, and after each with its row.
pub fn repeat_here(
    experiment: &Experiment,
    form: &Form,
    parent: &Path,
    count: u32,
    around: &mut dyn FnMut(Option<&Run>) -> Result<(), Stop>,
    session: &Session,
) -> Result<Vec<Run>, Stop> {
    let disk = os::linux::disk();
    let direct = form.parameters.filesystemio_options.file_options().direct;
    let scratch = Scratch::make(&disk, parent, direct, session)?;
    let origin = origin(experiment, form, World::Linux, this_machine(parent));
    let form = experiment.form(form.clone())?;
    let prepared = prepare(&disk, &scratch.base(), &form, |_, _| (), &|| false, session)?;
    let mut form = form;
    prepared.expect("nobody told it to stop").fix(&mut form.parameters);
    let mut runner = LinuxRunner {
        disk,
        scratch: &scratch,
        form: &form,
        settings: &experiment.settings,
        origin: &origin,
        session,
    };
    around(None)?;
    (1..=count)
        .map(|number| {
            one(&mut runner, number).and_then(|run| {
                around(Some(&run))?;
                Ok(run)
            })
        })
        .collect()
}

/// Runs setting A `count` times on a model.
pub fn repeat_modelled(
    experiment: &Experiment,
    form: &Form,
    machine: &Machine,
    count: u32,
) -> Result<Vec<Run>, Stop> {
    let form = &experiment.form(form.clone())?;
    form.check_for_model(form.length)?;
    let name = machine.machine.name.clone();
    let line = format!("model {name} with disk {}", machine.disk.name());
    let origin = origin(experiment, form, World::Simulated(name), line);
    let base = load(machine, form)?;
    let (machine, settings) = (machine.clone(), &experiment.settings[..]);
    let mut runner = ModelRunner { machine, base, form, settings, origin: &origin };
    (1..=count).map(|number| one(&mut runner, number)).collect()
}

fn origin(experiment: &Experiment, form: &Form, world: World, machine: String) -> Origin {
    Origin {
        experiment: experiment.name.to_string(),
        plan_seed: 0,
        commit: String::new(),
        machine,
        world,
        work: form.work(),
    }
}

fn one(runner: &mut impl Runner<Error = Stop>, number: u32) -> Result<Run, Stop> {
    let (kind, level, seed) = (RoundKind::Equals, Level::A, u64::from(number));
    let step = Step { round: number, kind, level, place: 1, load_seed: seed, world_seed: seed };
    runner.run(&step, &|| false).map(|run| run.expect("nobody told it to stop"))
}

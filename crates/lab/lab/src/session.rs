//! An experiment from the request to the report.

use std::path::PathBuf;

use experiment::{
    End, Execution, News, Origin, Plan, Question, Run, Sensitivity, Verdict, World, carry_out,
    compare,
};
use os::Session;
use stop::{RefusalKind, Stop};

use crate::linux::LinuxRunner;
use crate::model::{Machine, ModelRunner, load};
use crate::scratch::Scratch;
use crate::{Experiment, Form};

/// The machine that runs are made on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RunOn {
    /// This one, with a scratch folder in this directory.
    ThisMachine(PathBuf),
    /// A built-in model of a machine, with a built-in model of a disk.
    Model {
        /// The machine.
        machine: String,
        /// Its disk.
        disk: String,
    },
}

/// The request for an experiment.
pub struct Request {
    /// Which experiment.
    pub experiment: &'static Experiment,
    /// Its size and length.
    pub form: Form,
    /// Where the runs are made.
    pub run_on: RunOn,
    /// Orders and seeds the runs.
    pub seed: u64,
    /// The difference of throughput from which on it matters, as a share.
    pub threshold: f64,
    /// Whether both sides get setting A, to see what the lab says of equals.
    pub equals: bool,
    /// The commit that the program was built from.
    pub commit: String,
    /// The command line that asks for it again.
    pub command: String,
}

/// How it ended.
pub enum Ending {
    /// With an answer, and the rows behind it.
    Answered(Box<Verdict>, Vec<Run>),
    /// It was told to stop; nothing is left behind.
    Stopped,
}

/// Runs an experiment. `tell` gets lines for a person who waits.
pub fn run(
    request: &Request,
    told_to_stop: &dyn Fn() -> bool,
    tell: &mut dyn FnMut(&str),
    session: &Session,
) -> Result<Ending, Stop> {
    let invalid = |error: &dyn std::fmt::Display| {
        Stop::refuse(RefusalKind::Invalid, format!("cannot plan the experiment: {error}"))
    };
    let form = &request.form;
    let plan =
        Plan::new(form.pairs, form.aa_pairs, request.seed).map_err(|error| invalid(&error))?;
    let threshold = request.threshold;
    if !(threshold > 0.0 && threshold < 1.0) {
        return Err(invalid(&format!("a threshold lies between 0 and 1, not at {threshold}")));
    }
    let runs = match &request.run_on {
        RunOn::ThisMachine(_) => {
            here(request, &plan, told_to_stop, tell, session)?.map(|runs| (runs, None))
        }
        RunOn::Model { machine, disk } => {
            let machine = Machine::named(machine, disk)?;
            form.check_for_model()?;
            modelled(request, &plan, &machine, told_to_stop, tell, session)?
        }
    };
    let Some((runs, model)) = runs else { return Ok(Ending::Stopped) };
    let (model, sensitivity) = model.unwrap_or_default();
    let question = Question {
        threshold: request.threshold,
        seed: request.seed,
        command: request.command.clone(),
        model,
        sensitivity,
    };
    let verdict = Verdict::of(&runs, &question).map_err(|error| invalid(&error))?;
    Ok(Ending::Answered(Box::new(verdict), runs))
}

/// The experiment with its settings, or with setting A twice.
fn settings(request: &Request) -> Experiment {
    let Experiment { name, question, settings, apply } = *request.experiment;
    match request.equals {
        false => Experiment { name, question, settings, apply },
        true => Experiment { name, question, settings: [settings[0]; 2], apply: [apply[0]; 2] },
    }
}

fn origin(request: &Request, world: World, machine: String) -> Origin {
    Origin {
        experiment: request.experiment.name.to_string(),
        plan_seed: request.seed,
        commit: request.commit.clone(),
        machine,
        world,
        work: request.form.work(),
    }
}

fn here(
    request: &Request,
    plan: &Plan,
    told_to_stop: &dyn Fn() -> bool,
    tell: &mut dyn FnMut(&str),
    session: &Session,
) -> Result<Option<Vec<Run>>, Stop> {
    let RunOn::ThisMachine(parent) = &request.run_on else {
        unreachable!("asked for this machine")
    };
    let disk = os::linux::disk();
    let direct = request.form.parameters.filesystemio_options.file_options().direct;
    // This frees what killed experiments had left.
    let scratch = Scratch::make(&disk, parent, direct, session)?;
    let (needed, free) = (request.form.disk_bytes(), disk.free_bytes(parent)?);
    if free < needed {
        let message = format!(
            "cannot run in {}: {} MB are needed and {} MB are free; free some, or choose another \
             place with --dir",
            parent.display(),
            needed.div_ceil(1_000_000),
            free / 1_000_000
        );
        return Err(Stop::refuse(RefusalKind::NoSpace, message));
    }
    let machine =
        format!("{}; {}", os::linux::machine::line(), os::linux::machine::file_system(parent));
    let origin = origin(request, World::Linux, machine);
    let mut percent = None;
    let progress = |done: u64, all: u64| {
        let now = done * 10 / all.max(1) * 10;
        if percent != Some(now) {
            percent = Some(now);
            tell(&format!("loading {all} rows: {now} %"));
        }
    };
    let (settings, form) = (settings(request), &request.form);
    let prepared =
        LinuxRunner::prepare(&settings, form, origin, scratch, progress, told_to_stop, session)?;
    let Some(mut runner) = prepared else { return Ok(None) };
    let mut news = |news: News<'_>| tell_news(&news, tell);
    let execution = carry_out(plan, &mut runner, session.os().clock(), told_to_stop, &mut news);
    whole(execution)
}

/// The costs of scheduling are the least known figures of a model. The experiment is run again with
/// half and double of them, to see whether the answer depends on them.
const SCHEDULING_FACTORS: &[(f64, &str)] =
    &[(0.5, "half the migration and switch cost"), (2.0, "double the migration and switch cost")];

type Modelled = (Vec<Run>, Option<(String, Vec<Sensitivity>)>);

fn modelled(
    request: &Request,
    plan: &Plan,
    machine: &Machine,
    told_to_stop: &dyn Fn() -> bool,
    tell: &mut dyn FnMut(&str),
    session: &Session,
) -> Result<Option<Modelled>, Stop> {
    let RunOn::Model { machine: name, disk } = &request.run_on else {
        unreachable!("asked for a model")
    };
    tell("loading on the model");
    let base = load(machine, &request.form)?;
    let world = World::Simulated(name.clone());
    let line = format!("model {name} with disk {disk}");
    let carry = |machine: Machine, tell: &mut dyn FnMut(&str)| {
        let origin = origin(request, world.clone(), line.clone());
        let mut runner =
            ModelRunner::new(&settings(request), &request.form, machine, base.clone(), origin);
        let mut news = |news: News<'_>| tell_news(&news, tell);
        let clock = session.os().clock();
        whole(carry_out(plan, &mut runner, clock, told_to_stop, &mut news))
    };
    let Some(runs) = carry(machine.clone(), tell)? else { return Ok(None) };
    let mut sensitivity = Vec::new();
    // Equals stay equal whatever scheduling costs.
    let factors = if request.equals { &[][..] } else { SCHEDULING_FACTORS };
    for &(factor, change) in factors {
        tell(&format!("once more with {change}"));
        let Some(rows) = carry(machine.with_scheduling(factor), tell)? else { return Ok(None) };
        let comparison = compare(&rows, request.threshold, request.seed);
        sensitivity.push(Sensitivity { change: change.to_string(), comparison });
    }
    let model = machine.describe(name, disk);
    Ok(Some((runs, Some((model, sensitivity)))))
}

fn whole(execution: Execution<Stop>) -> Result<Option<Vec<Run>>, Stop> {
    match execution.end {
        End::Complete => Ok(Some(execution.runs)),
        End::Stopped => Ok(None),
        End::Failed { error, .. } => Err(error),
    }
}

fn tell_news(news: &News<'_>, tell: &mut dyn FnMut(&str)) {
    let News::Begins(progress) = news else { return };
    let left = progress.left.map_or_else(
        || "time left not known yet".to_string(),
        |left| {
            let seconds = left.0 / 1_000_000_000;
            format!("about {}:{:02} left", seconds / 60, seconds % 60)
        },
    );
    let (step, done, total) = (progress.step, progress.done + 1, progress.total);
    let kind = match step.kind {
        experiment::PairKind::Ab => "A/B",
        experiment::PairKind::Aa => "A/A",
    };
    tell(&format!(
        "run {done} of {total}: {kind} pair {}, setting {:?}; {left}",
        step.pair, step.side
    ));
}

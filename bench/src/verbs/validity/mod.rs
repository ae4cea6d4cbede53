//! The verb `validity`: one load on this machine and on a model of it, side by side (rule S9).
//!
//! ```text
//!   calibrate ──▶ costs, CPUs ──────────────┐
//!   disk ──▶ run ──▶ disk ──▶ run … ──▶ fit ─┴─▶ model ──▶ the same runs, simulated
//!              └────────────── profile ── compare ── profile ──┘
//! ```
//! The load is the lab's, setting A of its first experiment, on data that doesn't fit the cache,
//! with logs small enough for checkpoints in each run. Everything is measured by this one command:
//! a machine isn't the same tomorrow, and a virtual one isn't in an hour. The disk is measured
//! before, between and after the runs.
//!
//! The model has its CPUs to itself. Runs during which others used more than a tenth of this
//! machine's are left out if there are two without: that is decided before anybody looks at them.
//!
//! Callers: people, after a change of the model, of costs or of the engine's hot paths.

use std::fs;
use std::path::{Path, PathBuf};

use bench::Scratch;
use experiment::{Run, Surroundings};
use lab::{Experiment, Form, Machine, repeat_here, repeat_modelled};
use os::Session;
use os::probe::DurableWrite;
use sim::model::{CostList, DiskParameters, MachineParameters};
use stop::Stop;
use waits::{Nanos, SessionKind};

use super::calibrate;
use crate::Outcome;
use disk::{Bench, Kind, Samples};
use profile::{Comparison, Profile};

mod differences;
mod disk;
mod fit;
mod profile;

/// What others may use of the machine in a run that counts.
const OTHERS_MAX: f64 = 0.1;
/// Runs without others that are enough.
const QUIET_MIN: usize = 2;

/// What can be said on the command line.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Where to make files, on the disk that counts; they are removed afterwards
    #[arg(long, default_value = "target")]
    dir: PathBuf,
    /// Runs on this machine
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(2..=100))]
    runs: u32,
    /// Runs on the model
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    simulated: u32,
    /// Measured milliseconds of each run
    #[arg(long, default_value_t = 2_000)]
    milliseconds: u64,
    /// Rounds of calibration
    #[arg(long, default_value_t = 31, value_parser = clap::value_parser!(u32).range(15..=1_000))]
    rounds: u32,
    /// Write the measured disk to this file, for the simulator to read
    #[arg(long)]
    write_disk: Option<PathBuf>,
    /// Compare differences between settings, too: three pairs of them
    #[arg(long)]
    differences: bool,
    /// Fail unless throughput and shares agree, and differences if they are compared
    #[arg(long)]
    assert: bool,
}

/// Measures, runs, compares.
pub(crate) fn run(root: &Path, arguments: &Arguments) -> Outcome {
    println!("{}", bench::machine::line());
    let dir = root.join(&arguments.dir);
    let (machine, costs) = calibrate::model(arguments.rounds, &dir.join("calibrate"))?;
    let mut form = Form::modelled().lasting(Nanos::from_millis(arguments.milliseconds));
    // Both worlds the same way; else it's probed in each.
    form.set(|_, parameters| parameters.set("redo_write", DurableWrite::DirectThenSync.name()))
        .map_err(|stop| stop.to_string())?;
    let experiment = &Experiment::named("dbwr-count").map_err(|stop| stop.to_string())?;
    let (runs, samples) = measure(&dir, experiment, &form, arguments.runs)?;
    let disk = fitted(&samples, &machine, &costs, arguments)?;
    show(&samples, &machine, &costs);
    let model = Machine { machine, costs, disk };
    let simulated = repeat_modelled(experiment, &form, &model, arguments.simulated)
        .map_err(|stop| stop.to_string())?;
    let real = quiet(&runs);
    let (real, simulated) = (Profile::of(real), Profile::of(&simulated));
    let comparison = Comparison { real: &real, simulated: &simulated };
    println!("\n{}: {}\n\n{}", experiment.name, experiment.settings[0], comparison.text());
    let apart = comparison.differences();
    if arguments.assert && !apart.is_empty() {
        return Err(format!("validity: not within 20 %: {}", apart.join(", ")));
    }
    match arguments.differences {
        true => differ(&dir, &form, &model, arguments),
        false => Ok(()),
    }
}

/// Compares what settings change here with what they change on the model.
fn differ(dir: &Path, form: &Form, model: &Machine, arguments: &Arguments) -> Outcome {
    let found = differences::measure(dir, form, model, arguments.simulated)?;
    println!("\nB - A of throughput       here (95 % interval)                  modelled    apart");
    found.iter().for_each(|difference| println!("{}", difference.line()));
    let apart = |of: &&differences::Difference| {
        // What couldn't be told here isn't near either.
        of.points().is_nan() || of.points() > differences::POINTS_MAX
    };
    let apart: Vec<&str> = found.iter().filter(apart).map(|of| of.name).collect();
    match arguments.assert && !apart.is_empty() {
        true => Err(format!(
            "validity: differences not within {} points: {}",
            differences::POINTS_MAX,
            apart.join(", ")
        )),
        false => Ok(()),
    }
}

/// The runs on this machine, and the disk before, between and after them.
fn measure(
    dir: &Path,
    experiment: &Experiment,
    form: &Form,
    count: u32,
) -> Result<(Vec<Run>, Samples), String> {
    let scratch = Scratch::create(dir).map_err(|error| error.to_string())?;
    // The runs' own crashes are no news.
    let os = os::linux::start_with(std::sync::Arc::new(|_| {}));
    let session = os.adopt("validity", SessionKind::Foreground);
    let measured = measured(&scratch, experiment, form, count, &session);
    drop(scratch);
    measured.map_err(|stop| stop.to_string())
}

fn measured(
    scratch: &Scratch,
    experiment: &Experiment,
    form: &Form,
    count: u32,
    session: &Session,
) -> Result<(Vec<Run>, Samples), Stop> {
    let mut bench = Bench::prepare(&os::linux::disk(), scratch.path(), session)?;
    let mut samples = Samples::default();
    let mut around = |run: Option<&Run>| -> Result<(), Stop> {
        if let Some(run) = run {
            let (rate, others) = (run.throughput(), 100.0 * others(run));
            println!("run: {rate:.0} a second; others used {others:.0} % of the CPUs");
        }
        Ok(bench.pass(&mut samples, session)?)
    };
    let runs = repeat_here(experiment, form, scratch.path(), count, &mut around, session)?;
    Ok((runs, samples))
}

/// How much of the machine others had meanwhile, as a share.
fn others(run: &Run) -> f64 {
    run.surroundings.as_ref().map_or(0.0, Surroundings::cpu_of_others)
}

/// The runs that count.
fn quiet(runs: &[Run]) -> Vec<&Run> {
    let quiet: Vec<&Run> = runs.iter().filter(|run| others(run) <= OTHERS_MAX).collect();
    let all = runs.len();
    if quiet.len() >= QUIET_MIN {
        println!("\n{} of {all} runs count: others used a tenth of the CPUs at most", quiet.len());
        return quiet;
    }
    println!(
        "\nall {all} runs count, for the machine was never quiet: others used more than a tenth of \
         its CPUs, and the model has them to itself"
    );
    runs.iter().collect()
}

fn fitted(
    samples: &Samples,
    machine: &MachineParameters,
    costs: &CostList,
    arguments: &Arguments,
) -> Result<DiskParameters, String> {
    let source = "measured between runs by cargo xbench validity";
    let text = fit::fitted(samples, machine, costs, source)?;
    if let Some(path) = &arguments.write_disk {
        fs::write(path, &text).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
    }
    DiskParameters::parse(&text).map_err(|error| error.to_string())
}

/// What the model rests on.
fn show(samples: &Samples, machine: &MachineParameters, costs: &CostList) {
    println!(
        "\ndisk, us a request         alone: median, 90 %, mean            of many   beside others"
    );
    for (kind, times) in Kind::ALL.into_iter().zip(samples) {
        let mean = times.lone.iter().sum::<f64>() / times.lone.len() as f64;
        let [median, high] = [0.5, 0.9].map(|share| stats::quantile(&times.lone, share));
        let many = stats::median(&times.many);
        let beside = stats::mean(&times.beside);
        println!(
            "  {:<23}{median:>16.1}{high:>8.1}{mean:>8.1}{many:>11.1}{beside:>16.1}",
            kind.key()
        );
    }
    println!("CPU, ns");
    for cost in os::Cost::ALL {
        println!("  {:<23}{:>8} per {}", cost.info().name, costs.ns(*cost), cost.info().unit);
    }
    println!(
        "  switch {}, migration {}, wake of an idle CPU {}; {} CPUs",
        machine.switch_cost_ns, machine.migration_cost_ns, machine.wake_idle_ns, machine.cpus
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The whole verb in miniature: it measures, models and compares, and leaves nothing.
    #[test]
    fn a_short_comparison_comes_to_its_end_and_leaves_nothing() {
        let dir = xtask::workspace::root()
            .join("target")
            .join(format!("validity-{}", std::process::id()));
        fs::create_dir_all(&dir).expect("a folder for the test");
        let experiment = &Experiment::named("dbwr-count").expect("it is built in");
        let form = Form::tiny();
        let measured = measure(&dir, experiment, &form, 2);
        let left = fs::read_dir(&dir).expect("it is there").count();
        fs::remove_dir_all(&dir).expect("it is ours");
        let (runs, samples) = measured.expect("this machine can be measured");
        assert_eq!((runs.len(), left), (2, 0));
        assert!(samples.iter().all(|times| times.many.len() == 3), "before, between and after");
        let machine = MachineParameters::builtin("two-core").expect("it is built in");
        let costs = CostList::builtin("default").expect("it is built in");
        let text = fit::fitted(&samples, &machine, &costs, "a test").expect("it runs");
        let disk = DiskParameters::parse(&text).expect("it is valid");
        let model = Machine { machine, costs, disk };
        let simulated = repeat_modelled(experiment, &form, &model, 1).expect("it runs");
        let real = Profile::of(&runs);
        let simulated = Profile::of(&simulated);
        let text = Comparison { real: &real, simulated: &simulated }.text();
        assert!(text.contains("log file sync"), "{text}");
    }
}

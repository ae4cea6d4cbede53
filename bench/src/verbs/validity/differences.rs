//! Does the model agree with this machine about a *difference*? Two settings here, by restarts with
//! their interval, and the same two on the model that was just fitted.
//!
//! A model that is off by a tenth for A and for B alike is still right about the difference, and
//! one that is right about A may be wrong about it. Differences are what users ask for.

use std::path::Path;

use experiment::{Level, Measure, Run, decide};
use lab::{
    Before, Design, Ending, Experiment, Form, Machine, Request, RunOn, repeat_modelled, run,
};
use os::Session;
use report::number::change;
use stop::Stop;
use waits::SessionKind;

/// The settings, each as an experiment's file, and with A and B exchanged.
const ASKED: [(&str, [&str; 2]); 3] = [
    ("db_writer_processes", ["1", "8"]),
    ("commit_leader", ["session", "lgwr"]),
    ("db_cache_size", ["8m", "16m"]),
];
/// Rounds here, and of equals among them.
const ROUNDS: [u32; 2] = [10, 2];
/// The model's difference lies so near the real one, in points of a hundredth.
pub(super) const POINTS_MAX: f64 = 10.0;

/// What was found of one pair of settings.
pub(super) struct Difference {
    pub(super) name: &'static str,
    pub(super) real: f64,
    interval: [f64; 2],
    pub(super) modelled: f64,
}

impl Difference {
    /// How far apart the ratios are, in points.
    pub(super) fn points(&self) -> f64 {
        100.0 * (self.modelled - self.real).abs()
    }

    pub(super) fn line(&self) -> String {
        let Difference { name, real, interval: [low, high], modelled } = self;
        let [real, low, high, modelled] = [*real, *low, *high, *modelled].map(change);
        let points = self.points();
        format!("  {name:<22}{real:>9} ({low} to {high}){modelled:>12}{points:>9.1} points")
    }
}

/// Measures all of them, with scratch folders in `dir`.
pub(super) fn measure(
    dir: &Path,
    form: &Form,
    model: &Machine,
    simulated: u32,
) -> Result<Vec<Difference>, String> {
    let os = os::linux::start_with(std::sync::Arc::new(|_| {}));
    let session = os.adopt("differences", SessionKind::Foreground);
    let of = |(name, values): (&'static str, [&str; 2])| {
        one(name, values, dir, form, model, simulated, &session).map_err(|stop| stop.to_string())
    };
    ASKED.into_iter().map(of).collect()
}

fn one(
    name: &'static str,
    [a, b]: [&str; 2],
    dir: &Path,
    form: &Form,
    model: &Machine,
    simulated: u32,
    session: &Session,
) -> Result<Difference, Stop> {
    let experiment = asked(name, [a, b])?;
    let request = Request {
        experiment: experiment.clone(),
        form: form.clone(),
        run_on: RunOn::ThisMachine(dir.to_owned()),
        seed: 1,
        equals: false,
        commit: String::new(),
        command: String::new(),
        before: Before::default(),
    };
    let mut tell = |line: &str| println!("{name}: {line}");
    let rows = match run(&request, &os::linux::interrupted, &mut tell, session)? {
        Ending::Answered(_, rows) | Ending::Stopped(_, rows) => rows,
    };
    let rule = experiment::Rule {
        threshold: experiment.matters,
        error: 0.05,
        rounds: ROUNDS[0],
        is_device_neutral: false,
        measure: Measure::Throughput,
        is_open_ended: false,
    };
    let real = decide(&rows, Level::B, Measure::Throughput.figure(), &rule);
    let (real, interval) = real.map_or((f64::NAN, [f64::NAN; 2]), |decision| {
        (decision.ratio, [decision.interval.low, decision.interval.high])
    });
    // Setting A is what is repeated: B comes as the A of the exchanged pair.
    let rate = |experiment: &Experiment| -> Result<f64, Stop> {
        let rows = repeat_modelled(experiment, form, model, simulated)?;
        Ok(rows.iter().map(Run::throughput).sum::<f64>() / rows.len() as f64)
    };
    let modelled = rate(&asked(name, [b, a])?)? / rate(&experiment)?;
    Ok(Difference { name, real, interval, modelled })
}

fn asked(name: &str, [a, b]: [&str; 2]) -> Result<Experiment, Stop> {
    let text =
        format!("question = \"how far apart are they?\"\n[factor]\n{name} = [\"{a}\", \"{b}\"]");
    let mut experiment = Experiment::parse(name, &text)?;
    experiment.design = Some(Design::Restarts);
    experiment.rounds = ROUNDS;
    // All rounds are made: what is wanted is the figure, not the answer.
    experiment.matters = 1e-4;
    Ok(experiment)
}

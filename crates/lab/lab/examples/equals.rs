//! How often does the lab call equals different? Whole experiments of setting A against itself, in
//! the simulator, by both designs, on disks whose times scatter in different ways.
//!
//! An experiment is looked at after every look that its plan has, whatever it says, so its error is
//! that of somebody who would stop at any of them.
//!
//! `cargo run --release -p lab --example equals -- 100` makes 100 of each design and disk.

use std::sync::Arc;

use experiment::{Level, Measure, RoundKind, Rule, Run, decide};
use lab::{Before, Design, Ending, Experiment, Form, Request, RunOn, run};
use waits::{Nanos, SessionKind};

const DISKS: [&str; 3] = ["nvme", "exponential", "nvme-consumer"];
/// As in the files of experiments.
const ERROR: f64 = 0.025;
/// No experiment is decided: all of its looks are made.
const MATTERS: f64 = 1e-4;
const ROUNDS: u32 = 12;

fn main() {
    let count = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(20);
    println!("design     disk           experiments  called different at any look  at the last");
    let (mut all, mut wrong) = (0, 0);
    for design in [Design::Restarts, Design::Alternate] {
        for disk in DISKS {
            let called: Vec<[bool; 2]> =
                (1..=count).map(|seed| looks(&experiment(design), disk, seed)).collect();
            let sum = |of: usize| called.iter().filter(|called| called[of]).count();
            let name = format!("{design:?}").to_lowercase();
            println!("{name:10} {disk:14} {count:11}  {:28}  {:11}", sum(0), sum(1));
            (all, wrong) = (all + called.len(), wrong + sum(0));
        }
    }
    let percent = 100.0 * wrong as f64 / all.max(1) as f64;
    println!("{wrong} of {all}: {percent:.1} %, of a declared error of {:.1} %", 100.0 * ERROR);
}

fn experiment(design: Design) -> Experiment {
    let text = "question = \"are equals called different?\"\n[factor]\ncommit_leader = \
                [\"session\", \"lgwr\"]";
    let mut experiment = Experiment::parse("equals", text).expect("it is one");
    experiment.design = Some(design);
    experiment.matters = MATTERS;
    experiment.error = ERROR;
    experiment.rounds = [ROUNDS, ROUNDS / 4];
    experiment.budget = Some(Nanos::from_millis(1_500));
    experiment.block = Some(Nanos::from_millis(15));
    experiment
}

/// Whether equals were called different, at any look and at the last.
fn looks(experiment: &Experiment, disk: &str, seed: u64) -> [bool; 2] {
    let os = os::linux::start_with(Arc::new(|_| {}));
    let session = os.adopt("equals", SessionKind::Foreground);
    let request = Request {
        experiment: experiment.clone(),
        form: Form::tiny(),
        run_on: RunOn::Model { machine: "two-core".into(), disk: disk.into() },
        seed,
        equals: true,
        commit: String::new(),
        command: String::new(),
        before: Before::default(),
    };
    let rows = match run(&request, &|| false, &mut |_: &str| {}, &session) {
        Ok(Ending::Answered(_, rows) | Ending::Stopped(_, rows)) => rows,
        Err(stop) => panic!("seed {seed} on {disk}: {stop}"),
    };
    let compared = rows.iter().filter(|row| row.identity.kind == RoundKind::Compared);
    let rounds = compared.map(|row| row.identity.round).max().unwrap_or(0);
    let rule = Rule {
        threshold: MATTERS,
        error: ERROR,
        rounds,
        is_device_neutral: false,
        measure: Measure::Throughput,
        is_open_ended: false,
    };
    let real = |rows: &[Run]| {
        let decision = decide(rows, Level::B, Measure::Throughput.figure(), &rule);
        decision.is_some_and(|decision| decision.answer.is_real())
    };
    // All rows are of setting A; the plan's letters say which is called B.
    [(1..=rows.len()).any(|until| real(&rows[..until])), real(&rows)]
}

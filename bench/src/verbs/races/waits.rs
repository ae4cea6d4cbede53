//! Race `waits`: what the bookkeeping of one timed wait costs, against its budget.
//!
//! Budget: at level stats 60 ns, at level off 3 ns. A wait at level stats is two readings of the
//! clock, the published event, and the cells; measured is what the recorder and the clock do for
//! it, with nothing blocking inside. Not in it: `os::Session` compares that clock reading with the
//! last look at the run queue. The rival is the budget itself: its runs are the figure.

use std::hint::black_box;
use std::time::Instant;

use bench::race::{Case, Metrics, Race, Terms, Workload};
use waits::{Level, Recorder, Sampling, SessionKind, WaitEvent};

use super::{Run, Setup, run_race};

const TERMS: Terms = Terms {
    compared: "The bookkeeping of one timed wait, with nothing blocking inside, is compared with \
               a budget: 60 ns at level stats, 3 ns at level off.",
    rival: "The rival is the budget, a constant.",
    timed: "A run is two million waits in one thread.",
    favours: "Neither side is favoured.",
};

const WAITS_A_RUN: u32 = 2_000_000;
const NS: &str = "ns_per_wait";

pub(crate) fn run(setup: &Setup) -> Run {
    let world = os::linux::start();
    let clock = world.clock().clone();
    let race = Race {
        name: "waits".into(),
        description: "the bookkeeping of one timed wait against its budget".into(),
        terms: TERMS,
        settings: vec![format!("clock: {:?}; {WAITS_A_RUN} waits a run", clock.source())],
        workloads: vec![
            workload("level stats", Level::Stats, 60.0, &clock),
            workload("level off", Level::Off, 3.0, &clock),
        ],
    };
    run_race(race, setup)
}

fn workload<'a>(name: &str, level: Level, budget_ns: f64, clock: &'a os::Clock) -> Workload<'a> {
    let kind = SessionKind::Foreground;
    let recorder = Recorder::open("race", kind, clock.now(), Sampling::Adaptive);
    recorder.account().set_level(level);
    Workload {
        name: name.into(),
        settings: vec![format!("rival: a budget of {budget_ns} ns")],
        cases: vec![Case {
            name: format!("a wait at {name}"),
            metric: NS,
            unit: "ns",
            higher_is_better: false,
            goal: Some(1.0),
        }],
        ours: Box::new(move |_| Ok(Metrics::from([(NS, ns_per_wait(&recorder, clock))]))),
        rival: Box::new(move |_| Ok(Metrics::from([(NS, budget_ns)]))),
    }
}

/// The books of a wait that isn't sampled, without the wait.
fn ns_per_wait(recorder: &Recorder, clock: &os::Clock) -> f64 {
    let start = Instant::now();
    for number in 0..WAITS_A_RUN {
        let event = black_box(WaitEvent::DbFileSequentialRead);
        let _ = black_box(recorder.sample_due());
        let open = recorder.begin(event, [1, u64::from(number), 1], || clock.now());
        if let Some(open) = open {
            let _ = recorder.end(open, clock.now(), false);
        }
    }
    start.elapsed().as_secs_f64() * 1e9 / f64::from(WAITS_A_RUN)
}

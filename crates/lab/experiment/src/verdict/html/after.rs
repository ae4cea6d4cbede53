//! The mean block: throughput since its setting was set.
//!
//! Callers: `html`.

use page::{Axis, Chart, Figure, Mark, OverTime, Running, RunningPoint, Section};

use super::of_sums;
use crate::rounds::Rounds;
use crate::verdict::carry_over::CarryOver;
use crate::{Block, Level, Run};

pub(super) fn write(carry_over: &CarryOver, rounds: &Rounds<'_>, b: Level, section: &mut Section) {
    section.paragraph(carry_over.answer());
    let sides = rounds.sides(b);
    let washout = sides.iter().flatten().filter_map(|run| run.block.as_ref());
    let washout = washout.map(|block| block.washout_ns).max().unwrap_or(0);
    let mut running = Vec::new();
    for (name, runs) in [Level::A, b].into_iter().zip(&sides) {
        running.push(Running { name: format!("{name}, mean block"), points: curve(runs) });
    }
    let chart = Chart::OverTime(OverTime {
        time: Axis::new("since the setting was set", "s"),
        axis: Axis::new("throughput", "transactions/s"),
        sides: Vec::new(),
        running,
        marks: vec![Mark { at: washout as f64 / 1e9, label: "washout ends".to_owned() }],
        covariate: None,
        indifference: None,
    });
    let caption = "The mean of all blocks of a side, step by step since its setting was set, with \
                   95 % intervals. Steps before the end of the washout aren't counted, because \
                   what the setting before has left behind falls into them. If the curves still \
                   drift apart or together after it, the washout is too short.";
    section.figure(Figure::new("The mean block", caption, &chart));
    section.definitions(carry_over.lines(b));
}

/// The mean throughput in each step that all blocks have.
fn curve(runs: &[&Run]) -> Vec<RunningPoint> {
    let blocks: Vec<&Block> = runs.iter().filter_map(|run| run.block.as_ref()).collect();
    let steps = blocks.iter().map(|block| block.curve.len()).min().unwrap_or(0);
    let point = |step: usize| {
        let part = |block: &&Block| [f64::from(block.curve[step]), block.step_ns as f64 / 1e9];
        let parts: Vec<[f64; 2]> = blocks.iter().map(part).collect();
        let seconds = parts.iter().map(|part| part[1]).sum::<f64>() / parts.len() as f64;
        Some(RunningPoint { at: (step as f64 + 0.5) * seconds, estimate: of_sums(&parts)? })
    };
    (0..steps).filter_map(point).collect()
}

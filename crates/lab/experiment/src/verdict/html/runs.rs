//! The runs: how they are spread, how they lie in time, and the estimate as rounds came in.
//!
//! Callers: `html`.

use page::{
    Axis, Chart, Covariate, Densities, Density, Figure, Mark, OverTime, Point, Running,
    RunningPoint, Section, Side,
};
use report::number::{counted, share};
use stats::density::Bandwidth;

use super::{estimate, is_shown, percent};
use crate::decision::{Decision, decide};
use crate::rounds::Rounds;
use crate::verdict::{Verdict, course};
use crate::{Level, RoundKind, Rule, Run};

/// Points of a density's curve, at least and at most.
const CURVE_POINTS: [f64; 2] = [160.0, 800.0];
/// The interquartile range of a normal distribution of deviation 1.
const NORMAL_QUARTILES: f64 = 1.349;
/// Fewer rounds of equals have no density.
const EQUALS_MIN: usize = 6;
/// A look whose interval is so many times as long as the last one's isn't drawn.
const LENGTH_TIMES: f64 = 8.0;

pub(super) fn write(of: &Verdict, rows: &[Run], rounds: &Rounds<'_>, section: &mut Section) {
    throughputs(of, rounds, section);
    rounds_of_equals(rounds, of.level, section);
    over_time(of, rows, section);
    as_it_ran(of, rows, section);
}

fn throughputs(of: &Verdict, rounds: &Rounds<'_>, section: &mut Section) {
    let names = of.side_names().into_iter();
    let series = names.zip(rounds.sides(of.level)).map(|(name, runs)| {
        let sample = runs.iter().map(|run| run.throughput()).filter(|figure| is_shown(*figure));
        density(name, sample.collect(), 0.0)
    });
    let chart = Chart::Densities(Densities {
        axis: Axis::new("throughput", "transactions/s"),
        series: series.collect(),
    });
    let caption = "The higher the curve, the more runs had that throughput. A stroke below is a \
                   run, the vertical lines are the medians. Two humps would mean that the machine \
                   had two states. The curve is a kernel density (Scott's bandwidth, by the spread \
                   of the middle half of the runs). What both runs of a round suffer alike widens \
                   the curves, but not the interval of the difference.";
    section.figure(Figure::new(
        format!("How the runs of A and {} are spread", of.level),
        caption,
        &chart,
    ));
}

fn rounds_of_equals(rounds: &Rounds<'_>, b: Level, section: &mut Section) {
    let change = |(before, after): &(&Run, &Run)| percent(after.throughput() / before.throughput());
    let changes = |pairs: &[(&Run, &Run)]| -> Vec<f64> {
        pairs.iter().map(change).filter(|figure| is_shown(*figure)).collect()
    };
    let (compared, equals) = (changes(&rounds.pairs_with(b)), changes(&rounds.equals));
    if equals.len() < EQUALS_MIN {
        return;
    }
    let compared_name = format!("{b} against A, {}", counted(compared.len() as u64, "round"));
    let equals_name = format!("equals, {}", counted(equals.len() as u64, "round"));
    let chart = Chart::Densities(Densities {
        axis: Axis::new("difference within a round", "%").signed(),
        series: vec![
            density(compared_name, compared, -100.0),
            density(equals_name, equals, -100.0),
        ],
    });
    let caption = format!(
        "A round of equals has two runs of the same setting, the later against the \
                   earlier: what they differ by is noise. If the two curves lie over each other, \
                   one round can't tell {b} from A; many rounds together can."
    );
    section.figure(Figure::new("The difference within each round", caption, &chart));
}

/// A density of figures that aren't below `least`.
fn density(name: String, sample: Vec<f64>, least: f64) -> Density {
    let curve = curve(&sample);
    let inside = curve.iter().filter(|at| at.x >= least && is_shown(at.x) && is_shown(at.density));
    Density {
        name,
        curve: inside.map(|at| Point { x: at.x, y: at.density }).collect(),
        median: (!sample.is_empty()).then(|| stats::median(&sample)),
        strokes: sample,
    }
}

/// The smoothed density. One run far from the others would make the deviation large, and smooth
/// away what the others show; so the spread is that of the middle half, if that is smaller.
/// Source: Silverman, Density Estimation (1986), 3.4.2.
fn curve(sample: &[f64]) -> Vec<stats::density::Point> {
    if sample.len() < 2 {
        return Vec::new();
    }
    let (mean, count) = (stats::mean(sample), sample.len() as f64);
    let squares: f64 = sample.iter().map(|figure| (figure - mean).powi(2)).sum();
    let deviation = (squares / (count - 1.0)).sqrt();
    let [q1, q3] = [0.25, 0.75].map(|p| stats::quantile(sample, p));
    let middle = (q3 - q1) / NORMAL_QUARTILES;
    let spread = if middle > 0.0 { middle.min(deviation) } else { deviation };
    let factor = count.powf(-0.2) * spread / deviation;
    if !factor.is_finite() {
        return Vec::new();
    }
    let Some(density) = stats::density::Density::of(sample, Bandwidth::Factor(factor)) else {
        return Vec::new();
    };
    let [low, high] = [0.0, 1.0].map(|p| stats::quantile(sample, p));
    // Some points within each kernel.
    let points = 4.0 * (high - low) / (factor * deviation);
    density.curve(points.clamp(CURVE_POINTS[0], CURVE_POINTS[1]) as u32)
}

/// When a run was: the middle of its measured interval, s; for runs by restart, which one it was.
fn moment(index: usize, run: &Run) -> f64 {
    run.block.as_ref().map_or(index as f64 + 1.0, |block| {
        let middle = block.at_ns + block.washout_ns + block.window_ns / 2;
        middle as f64 / 1e9
    })
}

fn over_time(of: &Verdict, rows: &[Run], section: &mut Section) {
    let are_blocks = rows.iter().all(|run| run.block.is_some());
    let timed = || rows.iter().enumerate().map(|(index, run)| (moment(index, run), run));
    let side = |level: Level, name: String| {
        let of_level = timed().filter(|(_, run)| run.identity.level == level);
        let point = |(x, run): (f64, &Run)| Point { x, y: run.throughput() };
        Side { name, points: of_level.map(point).filter(|at| is_shown(at.y)).collect() }
    };
    let [of_a, of_b] = of.side_names();
    let of_others = |(x, run): (f64, &Run)| {
        Some(Point { x, y: 100.0 * run.surroundings.as_ref()?.cpu_of_others() })
    };
    let mut others: Vec<Point> = timed().filter_map(of_others).collect();
    others.sort_by(|a, b| a.x.total_cmp(&b.x));
    let are_watched = others.iter().any(|at| at.y > 0.0);
    let steady = of.course.and_then(|course| course.ramp_ends_s());
    let steady = steady.map(|at| Mark { at, label: "steady from here".to_owned() });
    let chart = Chart::OverTime(OverTime {
        time: match are_blocks {
            true => Axis::new("since the load began", "s"),
            false => Axis::new("run", ""),
        },
        axis: Axis::new("throughput", "transactions/s"),
        sides: vec![side(Level::A, of_a), side(of.level, of_b)],
        running: Vec::new(),
        marks: steady.into_iter().collect(),
        covariate: are_watched.then(|| Covariate {
            axis: Axis::new("CPU that others had", "% of the machine"),
            points: others,
        }),
        indifference: None,
    });
    let mut caption = match are_blocks {
        true => {
            "A mark is a block: a stretch of the load in one running instance, in which one \
             setting was set."
        }
        false => "A mark is a run from restored files, in the order of the rows.",
    }
    .to_owned();
    caption += " Runs of rounds of equals are among them.";
    if are_watched {
        caption +=
            " Below: the CPU that other programs, the kernel and the hypervisor had meanwhile.";
    }
    section.figure(Figure::new(course::HEADING, caption, &chart));
    if let Some(course) = &of.course {
        section.definitions(course.lines());
    }
}

fn as_it_ran(of: &Verdict, rows: &[Run], section: &mut Section) {
    let looks = looks(rows, of.level, &of.rule);
    let length = |look: &Decision| look.bounds().map(|of| of.high - of.low);
    let Some(last) = looks.last() else { return };
    let Some(longest) = length(last).map(|last| LENGTH_TIMES * last) else {
        section.paragraph("The rounds are too few to bound the difference: no look is drawn.");
        return;
    };
    let (drawn, wide): (Vec<&Decision>, Vec<&Decision>) =
        looks.iter().partition(|look| length(look).is_some_and(|length| length <= longest));
    let point = |look: &&Decision| {
        let ends = [look.interval.low, look.interval.high].map(percent);
        let estimate = estimate(percent(look.ratio), ends)?;
        Some(RunningPoint { at: f64::from(look.rounds), estimate })
    };
    let points: Vec<RunningPoint> = drawn.iter().filter_map(point).collect();
    let threshold = of.rule.threshold;
    let chart = Chart::OverTime(OverTime {
        time: Axis::new("rounds", ""),
        axis: Axis::new(format!("{}, {} against A", of.rule.measure.name(), of.level), "%")
            .signed(),
        sides: Vec::new(),
        running: vec![Running { name: "estimate and interval".to_owned(), points }],
        marks: Vec::new(),
        covariate: None,
        indifference: Some(100.0 * threshold),
    });
    let mut caption = format!(
        "After some rounds, and again after every few, the experiment looks whether it knows. It \
         is real when the interval leaves zero out, and it matters when the interval lies beyond \
         {}. The intervals are wider than that of a single look would be, so that all looks \
         together err in {} of experiments at most.",
        share(threshold),
        share(of.rule.shared_by(of.settings).error),
    );
    if !wide.is_empty() {
        caption += &format!(
            " Left out: {}, whose intervals are over {LENGTH_TIMES} times as long as the last.",
            counted(wide.len() as u64, "early look"),
        );
    }
    section.figure(Figure::new("The estimate as the rounds came in", caption, &chart));
}

/// What each look said.
fn looks(rows: &[Run], level: Level, rule: &Rule) -> Vec<Decision> {
    let compared = rows.iter().filter(|run| run.identity.kind == RoundKind::Compared);
    let mut sorted: Vec<Run> = compared.cloned().collect();
    sorted.sort_by_key(|run| run.identity.round);
    let whole: Vec<u32> =
        Rounds::of(&sorted).pairs_with(level).iter().map(|(a, _)| a.identity.round).collect();
    let look = |count: u32| {
        let last = *whole.get(count as usize - 1)?;
        let seen = sorted.partition_point(|run| run.identity.round <= last);
        decide(&sorted[..seen], level, rule.measure.figure(), rule)
    };
    rule.looks().filter_map(look).collect()
}

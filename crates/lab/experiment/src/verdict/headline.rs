//! The headline: by what factor do the settings differ, is that real, and does it matter?
//!
//! Callers: `verdict`.

use report::labelled;
use report::number::{change, change_size, counted, decimal, share};
use serde::Serialize;
use stats::{Comparison, Finding, Matters};
use waits::Nanos;

use super::pairs::Pairs;
use crate::{Latency, Run};

/// The comparison with what it compares.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Headline {
    pub(crate) setting_a: String,
    pub(crate) setting_b: String,
    /// Transactions a second, the geometric mean over runs (rule V3).
    throughput_a: f64,
    throughput_b: f64,
    /// Where both sides measured it: the medians over runs.
    latency: Option<[LatencyLine; 2]>,
    /// `None` where there are too few pairs.
    comparison: Option<Figures>,
}

/// How long transactions took on one side, us.
#[derive(Clone, Copy, Debug, Serialize)]
struct LatencyLine {
    p50_us: f64,
    p95_us: f64,
    p99_us: f64,
}

impl LatencyLine {
    /// `None` if one of these runs didn't measure it.
    fn of(runs: &[&Run]) -> Option<LatencyLine> {
        let latencies: Option<Vec<Latency>> = runs.iter().map(|run| run.latency).collect();
        let latencies = latencies?;
        let median = |of: fn(&Latency) -> f64| {
            stats::median(&latencies.iter().map(of).collect::<Vec<f64>>())
        };
        Some(LatencyLine {
            p50_us: median(|latency| latency.p50_us),
            p95_us: median(|latency| latency.p95_us),
            p99_us: median(|latency| latency.p99_us),
        })
    }

    fn text([a, b]: &[LatencyLine; 2]) -> String {
        let of = |name: &str, of: fn(&LatencyLine) -> f64| {
            let [a, b] = [a, b].map(|line| Nanos((of(line) * 1e3).round() as u64));
            format!("{name} A {a}, B {b}")
        };
        let parts = [
            of("median", |line| line.p50_us),
            of("95 %", |line| line.p95_us),
            of("99 %", |line| line.p99_us),
        ];
        labelled("a transaction", &parts.join("; "))
    }
}

/// [`Comparison`] as JSON has it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Figures {
    pairs: u32,
    aa_pairs: u32,
    ratio: f64,
    interval_95: [f64; 2],
    p: f64,
    aa_floor: f64,
    threshold: f64,
    /// `real`, `no difference` or `can't tell`.
    finding: &'static str,
    /// `yes`, `no` or `open`; `no` where there is no difference.
    matters: &'static str,
    more_pairs: Option<u32>,
    #[serde(skip)]
    of: Comparison,
}

impl Figures {
    pub(crate) fn of(comparison: Comparison) -> Figures {
        let (finding, matters, more_pairs) = match comparison.finding {
            Finding::NoDifference => ("no difference", "no", None),
            Finding::Real { matters: Matters::Yes } => ("real", "yes", None),
            Finding::Real { matters: Matters::No } => ("real", "no", None),
            Finding::Real { matters: Matters::Open } => ("real", "open", None),
            Finding::CannotTell { more_pairs } => ("can't tell", "open", more_pairs),
        };
        Figures {
            pairs: comparison.pairs,
            aa_pairs: comparison.aa_pairs,
            ratio: comparison.ratio,
            interval_95: [comparison.interval.low, comparison.interval.high],
            p: comparison.p,
            aa_floor: comparison.floor,
            threshold: comparison.threshold,
            finding,
            matters,
            more_pairs,
            of: comparison,
        }
    }

    /// One line: `B / A 1.0316 (1.0210 to 1.0430): real, matters`.
    pub(crate) fn line(&self) -> String {
        let [low, high] = self.interval_95.map(|end| decimal(end, 4));
        let words = match self.of.finding {
            Finding::NoDifference => "no difference that matters",
            Finding::Real { matters: Matters::Yes } => "real, and matters",
            Finding::Real { matters: Matters::No } => "real, doesn't matter",
            Finding::Real { matters: Matters::Open } => "real; open whether it matters",
            Finding::CannotTell { .. } => "can't tell",
        };
        format!("B / A {} ({low} to {high}): {words}", decimal(self.ratio, 4))
    }

    /// Whether two comparisons lead to the same words.
    pub(crate) fn agrees_with(&self, other: &Figures) -> bool {
        let direction = |of: &Figures| of.finding == "real" && of.ratio > 1.0;
        (self.finding, self.matters, direction(self))
            == (other.finding, other.matters, direction(other))
    }
}

impl Headline {
    pub(crate) fn of(pairs: &Pairs<'_>, comparison: Option<Comparison>) -> Option<Headline> {
        let (a, b) = *pairs.ab.first()?;
        let (throughputs_a, throughputs_b): (Vec<_>, Vec<_>) =
            pairs.throughputs().into_iter().unzip();
        let [runs_a, runs_b] = pairs.sides();
        Some(Headline {
            setting_a: a.identity.setting.clone(),
            setting_b: b.identity.setting.clone(),
            throughput_a: geometric_mean(&throughputs_a),
            throughput_b: geometric_mean(&throughputs_b),
            latency: LatencyLine::of(&runs_a).zip(LatencyLine::of(&runs_b)).map(<[_; 2]>::from),
            comparison: comparison.map(Figures::of),
        })
    }

    pub(crate) fn comparison(&self) -> Option<&Figures> {
        self.comparison.as_ref()
    }

    pub(crate) fn text(&self) -> String {
        let mut text = labelled("A", &self.setting_a) + &labelled("B", &self.setting_b);
        let [a, b] = [self.throughput_a, self.throughput_b].map(|value| decimal(value, 1));
        text += &labelled("throughput", &format!("A {a} and B {b} transactions a second"));
        text += &self.latency.as_ref().map(LatencyLine::text).unwrap_or_default();
        let Some(figures) = &self.comparison else {
            let few =
                "Too few whole pairs: a verdict needs two A/B pairs and an A/A pair at least.";
            return text + "\n" + &labelled("Is it real?", few);
        };
        text += &figures_text(&figures.of);
        text += "\n";
        text += &labelled("Is it real?", &is_it_real(&figures.of));
        text += &labelled("Does it matter?", &does_it_matter(&figures.of));
        text
    }
}

fn figures_text(of: &Comparison) -> String {
    let (low, high) = (of.interval.low, of.interval.high);
    let ratio = format!(
        "{} ({}); 95 % interval {} to {} ({} to {}), over {}",
        decimal(of.ratio, 4),
        change(of.ratio),
        decimal(low, 4),
        decimal(high, 4),
        change(low),
        change(high),
        counted(of.pairs.into(), "pair"),
    );
    let floor = format!(
        "{}: as far apart could {} of equal settings lie on this machine, by {}; nothing under \
         twice that, {}, is claimed",
        change_size(of.floor),
        counted(of.pairs.into(), "pair"),
        counted(of.aa_pairs.into(), "A/A pair"),
        change_size(of.claimed_from()),
    );
    let p = if of.p < 0.0001 { "under 0.0001".to_owned() } else { decimal(of.p, 4) };
    let p = format!("{p}: the chance that equal settings would look at least this different");
    labelled("B / A", &ratio) + &labelled("A/A floor", &floor) + &labelled("p", &p)
}

fn is_it_real(of: &Comparison) -> String {
    match of.finding {
        Finding::Real { .. } => format!("Yes. {}", who_is_faster(of.ratio)),
        Finding::NoDifference => "No difference seen.".to_owned(),
        Finding::CannotTell { more_pairs } => {
            format!("Can't tell. {} {}", doubts(of), remedy(of, more_pairs))
        }
    }
}

fn who_is_faster(ratio: f64) -> String {
    let word = if ratio > 1.0 { "faster" } else { "slower" };
    format!("B is {} {word} than A.", change_size(ratio))
}

/// Which of the conditions for a real difference are not met.
fn doubts(of: &Comparison) -> String {
    let mut doubts = Vec::new();
    if of.interval.low <= 1.0 && of.interval.high >= 1.0 {
        doubts.push("the interval holds both faster and slower".to_owned());
    }
    if of.ratio.ln().abs() < of.claimed_from().ln() {
        doubts.push(format!("{} is less than twice the A/A floor", change_size(of.ratio)));
    }
    if of.p > stats::comparison::P_MAX {
        doubts.push("p is over 0.05".to_owned());
    }
    let mut sentence = doubts.join(", and ");
    if let Some(first) = sentence.get(..1).map(str::to_uppercase) {
        sentence.replace_range(..1, &first);
    }
    sentence + "."
}

fn remedy(of: &Comparison, more_pairs: Option<u32>) -> String {
    let Some(more) = more_pairs else {
        return format!(
            "Not even {} would be likely to decide on a machine as noisy as this.",
            counted(stats::comparison::PAIRS_MAX.into(), "pair")
        );
    };
    let all = of.pairs + more;
    let aa = (of.aa_pairs * all).div_ceil(of.pairs);
    format!(
        "About {} would be likely to decide: run it anew with {} and {}.",
        counted(more.into(), "more pair"),
        counted(all.into(), "pair"),
        counted(aa.into(), "A/A pair")
    )
}

fn does_it_matter(of: &Comparison) -> String {
    let threshold = share(of.threshold);
    let range = format!("between {} and {}", change(of.interval.low), change(of.interval.high));
    match of.finding {
        Finding::Real { matters: Matters::Yes } => {
            let least = if of.ratio > 1.0 { of.interval.low } else { of.interval.high };
            format!("Yes. It is {} at least, and {threshold} matters.", change_size(least))
        }
        Finding::Real { matters: Matters::No } => {
            format!("No. It lies {range}, and only {threshold} would matter.")
        }
        Finding::NoDifference => {
            format!("No. If there is any, it lies {range}, and only {threshold} would matter.")
        }
        Finding::Real { matters: Matters::Open } | Finding::CannotTell { .. } => {
            format!("Can't tell. It lies {range}, and {threshold} would matter.")
        }
    }
}

fn geometric_mean(values: &[f64]) -> f64 {
    let pairs: Vec<(f64, f64)> = values.iter().map(|value| (*value, 1.0)).collect();
    stats::geometric_mean(&pairs)
}

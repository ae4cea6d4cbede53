//! Where the difference comes from: B - A of each part of a transaction's time, with its interval.
//!
//! ```text
//!                         B - A us          interval
//!   log file sync           -120.4    -131.0 to -109.2     certain: the interval leaves 0 out
//!   CPU                      +14.2      +9.8 to  +18.5
//!   others, not certain       -3.1
//!                         --------
//!   elapsed                 -109.3    -125.3 to  -93.0
//! ```
//!
//! Sums are divided, as in the tables of time: all time of a part over all transactions. So the
//! parts add up to the whole. Only what is certain is named one by one.
//!
//! Callers: `verdict`.

use std::collections::BTreeSet;

use report::number::{apportion, signed};
use report::{SessionGroup, Table, paragraph};
use serde::Serialize;
use stats::adjusted::{Estimate, Pair};

use crate::Run;

/// The parts of the difference.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Explanation {
    #[serde(skip)]
    title: &'static str,
    /// Elapsed without idle waits.
    elapsed: Option<Change>,
    /// The certain ones first, each kind by size.
    pub(super) parts: Vec<Part>,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct Part {
    pub(super) name: String,
    #[serde(flatten)]
    pub(super) change: Change,
}

/// B - A, ns per transaction.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Change {
    pub(super) ns: f64,
    pub(super) interval_ns: [f64; 2],
}

impl Change {
    /// Of times and transactions, `[A, B]` of each round. Each round's part in the difference of
    /// the ratios is found by linearisation, as in `decision`.
    fn of(rounds: &[[[f64; 2]; 2]], critical: f64) -> Option<Change> {
        let sum = |side: usize, of: usize| rounds.iter().map(|round| round[side][of]).sum::<f64>();
        let count = rounds.len() as f64;
        let ratios = [sum(0, 0) / sum(0, 1), sum(1, 0) / sum(1, 1)];
        let means = [sum(0, 1) / count, sum(1, 1) / count];
        if !ratios.iter().all(|ratio| ratio.is_finite()) {
            return None;
        }
        let of_side = |side: usize, [n, m]: [f64; 2]| (n - ratios[side] * m) / means[side];
        let part = |[a, b]: &[[f64; 2]; 2]| {
            Pair::bare(ratios[1] - ratios[0] + of_side(1, *b) - of_side(0, *a))
        };
        let estimate = Estimate::of(&rounds.iter().map(part).collect::<Vec<_>>(), &[])?;
        let interval = estimate.interval(critical);
        Some(Change { ns: estimate.effect, interval_ns: [interval.low, interval.high] })
    }

    pub(super) fn is_certain(&self) -> bool {
        self.interval_ns[0] > 0.0 || self.interval_ns[1] < 0.0
    }
}

impl Explanation {
    /// Of the sessions that `sessions` takes from a row; `look` has the rounds of the last look,
    /// and its |z|. Before the first nothing is explained.
    pub(crate) fn of(
        title: &'static str,
        look: Option<(&[(&Run, &Run)], f64)>,
        sessions: fn(&Run) -> &SessionGroup,
    ) -> Explanation {
        let Some((pairs, critical)) = look else {
            return Explanation { title, elapsed: None, parts: Vec::new() };
        };
        let names: BTreeSet<String> =
            pairs.iter().flat_map(|(a, b)| [a, b]).flat_map(|run| names(sessions(run))).collect();
        let change = |of: &dyn Fn(&Run) -> f64| {
            let parts = |run: &Run| [of(run), run.transactions as f64];
            let rounds: Vec<_> = pairs.iter().map(|(a, b)| [parts(a), parts(b)]).collect();
            Change::of(&rounds, critical)
        };
        let part = |name: &String| {
            let change = change(&|run| time_of(sessions(run), name))?;
            Some(Part { name: name.clone(), change })
        };
        let mut parts: Vec<Part> = names.iter().filter_map(part).collect();
        parts.sort_by(|x, y| {
            let certain = (!x.change.is_certain()).cmp(&!y.change.is_certain());
            certain.then(y.change.ns.abs().total_cmp(&x.change.ns.abs()))
        });
        let elapsed = change(&|run| sessions(run).profile.busy_ns() as f64);
        Explanation { title, elapsed, parts }
    }

    pub(crate) fn text(&self) -> String {
        let mut text = format!("{}\n", self.title);
        let Some(elapsed) = self.elapsed else {
            return text + &paragraph("There are too few rounds.", "  ");
        };
        let (certain, rest): (Vec<&Part>, Vec<&Part>) =
            self.parts.iter().partition(|part| part.change.is_certain());
        let rest_ns: f64 = rest.iter().map(|part| part.change.ns).sum();
        // What is printed adds up as printed, in tenths of a microsecond.
        let mut shown: Vec<f64> = certain.iter().map(|part| part.change.ns / 100.0).collect();
        shown.push(rest_ns / 100.0);
        let shown = apportion(&shown);
        let interval = |change: &Change| {
            let [low, high] = change.interval_ns.map(|end| signed((end / 100.0).round() as i64, 1));
            format!("{low} to {high}")
        };
        let mut table = Table::default();
        table.row(["", "us per tx", "interval"]);
        for (part, tenths) in certain.iter().zip(&shown) {
            table.row([part.name.as_str(), &signed(*tenths, 1), &interval(&part.change)]);
        }
        let last = shown.last().copied().unwrap_or_default();
        let others = match certain.len() {
            0 => "all parts: none is certain",
            _ => "others, none certain",
        };
        table.row([others, &signed(last, 1), ""]);
        table.rule(1);
        table.row(["elapsed", &signed(shown.iter().sum(), 1), &interval(&elapsed)]);
        text += &table.text();
        text
    }
}

fn names(group: &SessionGroup) -> Vec<String> {
    let lines = group.profile.lines().into_iter().filter(|line| !line.is_idle());
    lines.map(|line| line.name.to_owned()).collect()
}

fn time_of(group: &SessionGroup, name: &str) -> f64 {
    let lines = group.profile.lines();
    lines.iter().find(|line| line.name == name).map_or(0.0, |line| line.ns as f64)
}

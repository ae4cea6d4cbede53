//! A campaign as a table: how often was what seen, and how surely?
//!
//! Callers: `decides`.

use std::collections::BTreeMap;

use stats::distributions::Distribution;

use super::finding::{Finding, Matters};
use super::record::Record;

/// The promise about equals: of so many runs at most so many are called real, and none matters.
const PROMISE_RUNS: usize = 30;
const PROMISE_REAL_MAX: usize = 2;

/// What runs of one table have in common: conditions, commit and machine.
type Common<'a> = [&'a str; 3];

/// Of each of these, what came of each kind of run. What failed has come to nothing.
fn sections(records: &[Record]) -> BTreeMap<Common<'_>, BTreeMap<Kind, Tally>> {
    let mut sections: BTreeMap<Common<'_>, BTreeMap<Kind, Tally>> = BTreeMap::new();
    for record in records.iter().filter(|record| record.failed.is_none()) {
        let kind = record.delay_ns.map_or(Kind::Equals, Kind::Planted);
        let [commit, machine] = record.origin();
        let rows = sections.entry([record.conditions.as_str(), commit, machine]).or_default();
        rows.entry(kind).or_default().add(record);
    }
    sections
}

/// Whether equals are called what they aren't more often than was promised.
pub(super) fn breaks_the_promise(records: &[Record]) -> bool {
    let sections = sections(records);
    let mut equals = sections.values().filter_map(|rows| rows.get(&Kind::Equals));
    equals.any(Tally::breaks_the_promise)
}

/// A table for each of the conditions, programs and machines, and what it says about equals.
pub(super) fn text(records: &[Record]) -> String {
    let mut text = String::new();
    for ([conditions, commit, machine], rows) in &sections(records) {
        text += &format!("\n{conditions}\n");
        for (name, origin) in [("commit", commit), ("machine", machine)] {
            if !origin.is_empty() {
                text += &format!("{name} {origin}\n");
            }
        }
        text += &format!("{}\n", line(&HEADING, "gain"));
        for (kind, tally) in rows {
            text += &format!("{}\n", tally.row(*kind));
        }
        if let Some(equals) = rows.get(&Kind::Equals) {
            text += &equals.promise();
        }
    }
    let failed = records.iter().filter(|record| record.failed.is_some()).count();
    if failed > 0 {
        let runs = report::number::counted(failed as u64, "run");
        text += &format!("\nfailed, and in no line above: {runs}\n");
    }
    text + MEANINGS
}

const HEADING: [&str; 10] = [
    "planted",
    "runs",
    "difference",
    "slower",
    "faster",
    "matters",
    "decided",
    "power, %",
    "s",
    "half, %",
];

/// A line of the table; the gain stands last.
fn line(cells: &[impl AsRef<str>; 10], gain: &str) -> String {
    let [name, runs, difference, slower, faster, matters, decided, power, seconds, half] =
        cells.each_ref().map(AsRef::as_ref);
    format!(
        "{name:<11}{runs:>5}  {difference:<15}{slower:>6}{faster:>7}{matters:>8}{decided:>8}  \
         {power:<15}{seconds:>5}{half:>9}{gain:>6}"
    )
}

const MEANINGS: &str = "
planted: ns of CPU in each commit of B; equals: A and A. difference: mean of B / A - 1 in per cent,
with its standard error: what the delay really does to the throughput. slower, faster: so many were
called real; a planted delay makes B slower, so faster is wrong. decided: known whether it matters.
power: the share called slower, with its 95 % interval (Clopper and Pearson); of equals: the share
called real either way. s: mean seconds a run. half: mean half-length of the interval of B / A.
gain: how much longer it would be without covariates.
";

/// What was compared.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Kind {
    /// A delay of so many nanoseconds.
    Planted(u64),
    Equals,
}

/// The runs of one kind.
#[derive(Default)]
struct Tally {
    runs: usize,
    seconds: f64,
    findings: Vec<Finding>,
}

impl Tally {
    fn add(&mut self, record: &Record) {
        self.runs += 1;
        self.seconds += record.seconds;
        self.findings.extend(record.finding());
    }

    fn count(&self, of: impl Fn(&Finding) -> bool) -> usize {
        self.findings.iter().filter(|finding| of(finding)).count()
    }

    fn slower(&self) -> usize {
        self.count(|it| it.is_real && it.ratio < 1.0)
    }

    fn faster(&self) -> usize {
        self.count(|it| it.is_real && it.ratio > 1.0)
    }

    fn matters(&self) -> usize {
        self.count(|it| it.matters == Matters::Yes)
    }

    /// The mean of a figure; a dash where no run had an answer.
    fn mean(&self, digits: usize, of: impl Fn(&Finding) -> f64) -> String {
        let values: Vec<f64> = self.findings.iter().map(of).collect();
        if values.is_empty() { "-".into() } else { format!("{:.digits$}", stats::mean(&values)) }
    }

    fn row(&self, kind: Kind) -> String {
        let (name, seen) = match kind {
            Kind::Planted(delay) => (format!("{delay} ns"), self.slower()),
            Kind::Equals => ("equals".to_owned(), self.slower() + self.faster()),
        };
        let [low, high] = share_interval(seen, self.runs).map(|end| 100.0 * end);
        let power = 100.0 * seen as f64 / self.runs as f64;
        let power = format!("{power:.0} ({low:.0} to {high:.0})");
        let cells = [
            name,
            self.runs.to_string(),
            self.difference(),
            self.slower().to_string(),
            self.faster().to_string(),
            self.matters().to_string(),
            self.count(Finding::is_decided).to_string(),
            power,
            format!("{:.0}", self.seconds / self.runs as f64),
            self.mean(2, |it| 50.0 * (it.interval[1] - it.interval[0])),
        ];
        line(&cells, &self.mean(2, |it| it.gain))
    }

    /// The mean of the estimates with its standard error, in per cent.
    fn difference(&self) -> String {
        let estimates: Vec<f64> = self.findings.iter().map(|it| 100.0 * (it.ratio - 1.0)).collect();
        let mean = self.mean(2, |it| 100.0 * (it.ratio - 1.0));
        match estimates.len() {
            0 | 1 => mean,
            count => {
                let error = deviation(&estimates) / (count as f64).sqrt();
                format!("{mean} +- {error:.2}")
            }
        }
    }

    fn real(&self) -> usize {
        self.slower() + self.faster()
    }

    fn breaks_the_promise(&self) -> bool {
        // Of more runs, as large a share.
        let allowed = PROMISE_REAL_MAX * self.runs.max(PROMISE_RUNS) / PROMISE_RUNS;
        self.real() > allowed || self.matters() > 0
    }

    /// What was promised about equals, and whether it holds so far.
    fn promise(&self) -> String {
        let (real, matters) = (self.real(), self.matters());
        let kept = match (self.breaks_the_promise(), self.runs < PROMISE_RUNS) {
            (false, false) => "kept",
            (false, true) => "kept so far",
            (true, _) => "broken",
        };
        format!(
            "equals: of {} runs {real} called real, {matters} said to matter; promised: of \
             {PROMISE_RUNS} at most {PROMISE_REAL_MAX} and 0: {kept}\n",
            self.runs
        )
    }
}

/// The standard deviation of two values or more.
fn deviation(sample: &[f64]) -> f64 {
    let mean = stats::mean(sample);
    let squares: f64 = sample.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (sample.len() - 1) as f64).sqrt()
}

/// The exact 95 % interval of a share of which `seen` of `runs` are known.
///
/// Source: Clopper & Pearson, Biometrika 26 (1934), by quantiles of F.
fn share_interval(seen: usize, runs: usize) -> [f64; 2] {
    assert!(seen <= runs && runs > 0, "{seen} of {runs} is no share");
    let (seen, missed) = (seen as f64, (runs - seen) as f64);
    let f = |numerator: f64, denominator: f64| {
        let f = Distribution::F { numerator: 2.0 * numerator, denominator: 2.0 * denominator };
        f.upper_quantile(0.025)
    };
    let low =
        if seen == 0.0 { 0.0 } else { seen / (seen + (missed + 1.0) * f(missed + 1.0, seen)) };
    let high = if missed == 0.0 {
        1.0
    } else {
        let over = (seen + 1.0) * f(seen + 1.0, missed);
        over / (missed + over)
    };
    [low, high]
}

#[cfg(test)]
mod tests {
    use super::super::record::tests::record;
    use super::*;

    /// Against R's `binom.test(seen, runs)$conf.int`.
    #[test]
    fn the_interval_of_a_share_is_clopper_and_pearsons() {
        let known = [
            (0, 10, [0.0, 0.308_497]),
            (10, 10, [0.691_503, 1.0]),
            (9, 10, [0.554_984, 0.997_471]),
            (2, 30, [0.008_178, 0.220_735]),
        ];
        for (seen, runs, ends) in known {
            let interval = share_interval(seen, runs);
            for (is, known) in interval.into_iter().zip(ends) {
                assert!((is - known).abs() < 2e-6, "{seen} of {runs}: {interval:?}");
            }
        }
    }

    #[test]
    fn a_row_tells_how_often_what_was_seen() {
        let records = [
            record(Some(2_000), 0.98, "yes", "yes"),
            record(Some(2_000), 0.99, "yes", "no"),
            record(Some(2_000), 0.985, "not seen", "open"),
            record(Some(2_000), 1.01, "yes", "open"),
        ];
        let text = text(&records);
        let row = text.lines().find(|line| line.starts_with("2000 ns")).expect("it has a row");
        let words: Vec<&str> = row.split_whitespace().collect();
        let expected = "2000 ns 4 -0.88 +- 0.66 2 1 1 2 50 (7 to 93) 100 1.00 1.50";
        assert_eq!(words.join(" "), expected);
        assert!(!text.contains("promised"), "nothing was promised about planted delays");
    }

    #[test]
    fn a_run_without_an_answer_counts_as_one_that_saw_nothing() {
        let mut unanswered = record(Some(500), 1.0, "not seen", "open");
        unanswered.report["headline"]["comparison"] = serde_json::Value::Null;
        let text = text(&[unanswered.clone(), unanswered]);
        let row = text.lines().find(|line| line.starts_with("500 ns")).expect("it has a row");
        let words: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(words.join(" "), "500 ns 2 - 0 0 0 0 0 (0 to 84) 100 - -");
    }

    #[test]
    fn the_promise_about_equals_is_held_against_what_was_seen() {
        let equals = |real: usize, runs: usize| -> String {
            let one = |index| if index < real { "yes" } else { "not seen" };
            let records: Vec<Record> =
                (0..runs).map(|index| record(None, 1.001, one(index), "no")).collect();
            let text = text(&records);
            let line = text.lines().find(|line| line.starts_with("equals:"));
            line.expect("equals were run").rsplit(": ").next().unwrap_or_default().to_owned()
        };
        assert_eq!(equals(2, 30), "kept");
        assert_eq!(equals(2, 5), "kept so far");
        assert_eq!(equals(3, 30), "broken");
        assert_eq!(equals(4, 60), "kept");
        let real =
            |runs| -> Vec<Record> { (0..runs).map(|_| record(None, 1.001, "yes", "no")).collect() };
        assert_eq!([2, 3].map(|runs| breaks_the_promise(&real(runs))), [false, true]);
        let mut matters = vec![record(None, 1.05, "yes", "yes")];
        matters.extend((0..29).map(|_| record(None, 1.0, "not seen", "no")));
        assert!(
            text(&matters).contains("1 said to matter; promised: of 30 at most 2 and 0: broken")
        );
    }

    /// A program keeps the promise, or doesn't, by its own runs.
    #[test]
    fn good_runs_of_an_old_program_hide_none_of_a_new_one() {
        let of = |commit: &str, real: &str, matters: &str| {
            let mut record = record(None, 1.02, real, matters);
            record.report["origin"] = serde_json::json!({"commit": commit});
            record
        };
        let mut records: Vec<Record> = (0..57).map(|_| of("old", "not seen", "no")).collect();
        assert!(!breaks_the_promise(&records));
        records.extend((0..3).map(|_| of("new", "yes", "no")));
        assert!(breaks_the_promise(&records), "{}", text(&records));
        records[0].failed = Some("it didn't say why".to_owned());
        let text = text(&records);
        assert!(text.contains("line above: 1 run\n"), "{text}");
        assert!(text.contains("equals: of 56 runs"), "{text}");
    }

    #[test]
    fn a_line_of_the_table_fits_a_hundred_columns_and_conditions_stand_apart() {
        let mut records = vec![record(Some(20_000), 0.9, "yes", "yes"); 100];
        records.push(record(None, 1.0, "not seen", "no"));
        records[0].conditions = "beside the neighbour, 5m a run".into();
        let text = text(&records);
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        assert_eq!(text.lines().filter(|line| line.starts_with("20000 ns")).count(), 2);
    }
}

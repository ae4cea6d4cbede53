//! A campaign as a table: how often was what seen, and how surely?
//!
//! Callers: `decides`.

use std::collections::BTreeMap;

use stats::distributions::Distribution;

use super::finding::{Finding, Matters};
use super::record::Record;

/// The share of equals that the lab calls real by mistake, as it declares.
const PROMISE_ERROR: f64 = 0.025;
/// The promise about equals is broken if that error calls as many of them real with a probability
/// below this.
const PROMISE_CHANCE_MIN: f64 = 0.05;
/// With fewer equals than this, a promise that holds is kept so far.
const PROMISE_RUNS: usize = 30;
/// If more than one run in ten of a kind failed or was cut short, that is an error.
const FAILED_ONE_IN: usize = 10;

/// What runs of one table have in common: conditions, commit and machine.
type Common<'a> = [&'a str; 3];

/// Of each of these, what came of each kind of run. What failed has come to nothing.
fn sections(records: &[Record]) -> BTreeMap<Common<'_>, BTreeMap<Kind, Tally>> {
    let mut sections: BTreeMap<Common<'_>, BTreeMap<Kind, Tally>> = BTreeMap::new();
    for record in records.iter().filter(|record| record.failed.is_none()) {
        let [commit, machine] = record.origin();
        let rows = sections.entry([record.conditions.as_str(), commit, machine]).or_default();
        rows.entry(Kind::of(record)).or_default().add(record);
    }
    sections
}

/// The equals of each of the conditions, of all commits and machines.
fn equals_together(records: &[Record]) -> BTreeMap<&str, Tally> {
    let mut together: BTreeMap<&str, Tally> = BTreeMap::new();
    let ended = records.iter().filter(|record| record.failed.is_none());
    for record in ended.filter(|record| Kind::of(record) == Kind::Equals) {
        together.entry(record.conditions.as_str()).or_default().add(record);
    }
    together
}

/// Whether equals are called what they aren't more often than was promised: those of a table, or
/// those of all tables with the same conditions.
pub(super) fn breaks_the_promise(records: &[Record]) -> bool {
    let (sections, together) = (sections(records), equals_together(records));
    let of_sections = sections.values().filter_map(|rows| rows.get(&Kind::Equals));
    of_sections.chain(together.values()).any(Tally::breaks_the_promise)
}

/// The kinds of which too many runs failed or were cut short, each as `equals, quiet, 5m a run: 4
/// of 30`. Few failed runs have a report, so commits and machines aren't told apart.
pub(super) fn failing(records: &[Record]) -> Vec<String> {
    let mut kinds: BTreeMap<(&str, Kind), [usize; 2]> = BTreeMap::new();
    for record in records {
        let kind = (record.conditions.as_str(), Kind::of(record));
        let [failed, runs] = kinds.entry(kind).or_default();
        *failed += usize::from(record.failed.is_some() || record.was_cut_short());
        *runs += 1;
    }
    kinds.retain(|_, [failed, runs]| FAILED_ONE_IN * *failed > *runs);
    let told = |((conditions, kind), [failed, runs]): ((&str, Kind), [usize; 2])| {
        format!("{}, {conditions}: {failed} of {runs}", kind.name())
    };
    kinds.into_iter().map(told).collect()
}

/// A table for each of the conditions, programs and machines, and what it says about equals.
pub(super) fn text(records: &[Record]) -> String {
    let mut text = String::new();
    let sections = sections(records);
    for ([conditions, commit, machine], rows) in &sections {
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
    for (conditions, equals) in &equals_together(records) {
        if sections.keys().filter(|[of, ..]| of == conditions).count() > 1 {
            let promise = equals.promise();
            text += &format!("\n{conditions}: all commits and machines\n{promise}");
        }
    }
    let failed = records.iter().filter(|record| record.failed.is_some()).count();
    if failed > 0 {
        let runs = report::number::counted(failed as u64, "run");
        text += &format!("\nfailed, and in no line above: {runs}\n");
    }
    let short = records.iter().filter(|it| it.failed.is_none() && it.was_cut_short()).count();
    if short > 0 {
        let runs = report::number::counted(short as u64, "run");
        text += &format!("\nexperiments that ended before their time, counted above: {runs}\n");
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
gain: how much longer it would be without covariates. promised: the declared error of 2.5 % calls
more equals real in fewer than 5 of 100 campaigns.
";

/// What was compared.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Kind {
    /// A delay of so many nanoseconds.
    Planted(u64),
    Equals,
}

impl Kind {
    fn of(record: &Record) -> Kind {
        record.delay_ns.map_or(Kind::Equals, Kind::Planted)
    }

    fn name(self) -> String {
        match self {
            Kind::Planted(delay) => format!("{delay} ns"),
            Kind::Equals => "equals".to_owned(),
        }
    }
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
        let seen = match kind {
            Kind::Planted(_) => self.slower(),
            Kind::Equals => self.real(),
        };
        let [low, high] = share_interval(seen, self.runs).map(|end| 100.0 * end);
        let power = 100.0 * seen as f64 / self.runs as f64;
        let power = format!("{power:.0} ({low:.0} to {high:.0})");
        let cells = [
            kind.name(),
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
        self.real() > real_max(self.runs) || self.matters() > 0
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
            "equals: of {} runs {real} called real, {matters} said to matter; promised: at most {} \
             and 0: {kept}\n",
            self.runs,
            real_max(self.runs)
        )
    }
}

/// How many of `runs` equals may be called real: the declared error calls more of them real with a
/// probability below [`PROMISE_CHANCE_MIN`].
fn real_max(runs: usize) -> usize {
    let seldom = |real: &usize| chance_of_more(*real, runs) < PROMISE_CHANCE_MIN;
    (0..runs).find(seldom).unwrap_or(runs)
}

/// The probability that the declared error calls more than `real` of `runs` equals real: the upper
/// tail of the binomial distribution.
///
/// Source: Abramowitz & Stegun (1964), 26.5.24 and 26.6.2.
fn chance_of_more(real: usize, runs: usize) -> f64 {
    assert!(real < runs, "more than {real} of {runs} can't be");
    let (numerator, denominator) = (2.0 * (real + 1) as f64, 2.0 * (runs - real) as f64);
    let odds = PROMISE_ERROR / (1.0 - PROMISE_ERROR);
    Distribution::F { numerator, denominator }.cdf(odds * denominator / numerator)
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
        assert!(!text.contains("promised: at most"), "nothing was promised about planted delays");
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
        assert_eq!(equals(1, 10), "kept so far");
        assert_eq!(equals(2, 10), "broken");
        assert_eq!(equals(3, 30), "broken");
        assert_eq!(equals(4, 60), "kept");
        let mut matters = vec![record(None, 1.05, "yes", "yes")];
        matters.extend((0..29).map(|_| record(None, 1.0, "not seen", "no")));
        assert!(text(&matters).contains("1 said to matter; promised: at most 2 and 0: broken"));
    }

    /// Against sums of the binomial distribution's terms.
    #[test]
    fn fewer_equals_may_be_called_real_of_fewer_runs() {
        let most = [(1, 0), (2, 0), (3, 1), (14, 1), (15, 2), (33, 2), (34, 3), (60, 4), (300, 12)];
        for (runs, real) in most {
            assert_eq!(real_max(runs), real, "of {runs} runs");
        }
        assert!((chance_of_more(2, 30) - 0.038_39).abs() < 5e-6, "{}", chance_of_more(2, 30));
    }

    /// One of ten is kept so far. Three of thirty are too many, whatever they are runs of.
    #[test]
    fn equals_of_several_commits_keep_the_promise_together_too() {
        let mut records = Vec::new();
        for commit in ["one", "two", "three"] {
            let mut equals = vec![record(None, 1.02, "not seen", "no"); 10];
            equals[0] = record(None, 1.02, "yes", "no");
            for run in &mut equals {
                run.report["origin"] = serde_json::json!({"commit": commit});
            }
            assert!(!breaks_the_promise(&equals), "{}", text(&equals));
            assert!(!text(&equals).contains("all commits"), "it would be told twice");
            records.extend(equals);
        }
        assert!(breaks_the_promise(&records), "{}", text(&records));
        let expected =
            "quiet, 5m a run: all commits and machines\nequals: of 30 runs 3 called real";
        assert!(text(&records).contains(expected), "{}", text(&records));
        for run in &mut records[..10] {
            run.conditions = "beside the neighbour, 5m a run".to_owned();
        }
        assert!(!breaks_the_promise(&records), "other conditions are another campaign");
    }

    /// A lab whose runs are all cut short never errs.
    #[test]
    fn runs_that_were_cut_short_are_told_and_are_too_many_as_failed_ones_are() {
        let mut records = vec![record(None, 1.0, "not seen", "open"); 30];
        let campaign =
            |records: &[Record]| (text(records).contains("before their time"), failing(records));
        records[0].report["notes"] = serde_json::json!(["By restarts."]);
        assert_eq!(campaign(&records), (false, Vec::new()));
        let note = format!("{}, after 14 blocks: the process stood still.", lab::CUT_SHORT);
        for run in &mut records[..3] {
            run.report["notes"] = serde_json::json!(["By restarts.", note]);
        }
        assert!(text(&records).contains("counted above: 3 runs"), "{}", text(&records));
        assert_eq!(campaign(&records), (true, Vec::new()));
        records[3].failed = Some("it didn't say why".to_owned());
        let expected = vec!["equals, quiet, 5m a run: 4 of 30".to_owned()];
        assert_eq!(campaign(&records), (true, expected));
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

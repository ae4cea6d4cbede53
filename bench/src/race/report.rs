//! What a race says at its end: a table within 80 columns, a sentence, and the JSON line.
//!
//! Callers: `run`.

use std::fmt::Write;

use report::paragraph;

use crate::race::case::CaseResult;
use crate::race::line::{CaseLine, Line};
use crate::race::run::Plan;
use crate::race::terms::Terms;

const NAME_COLUMNS: usize = 21;
const UNIT_COLUMNS: usize = 6;

/// All cases of a race, and under what conditions they were measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The race.
    pub race: String,
    /// Its cases, in its order.
    pub cases: Vec<CaseResult>,
    /// How it was run.
    pub plan: Plan,
    /// Its terms.
    pub terms: Terms,
    /// Versions and settings of both sides.
    pub settings: Vec<String>,
}

impl Outcome {
    /// The race as it is saved and published.
    pub fn line(&self) -> Line {
        let cases = self.cases.iter().map(|result| CaseLine {
            case: result.case.name.clone(),
            ours: result.ours,
            rival: result.rival,
            unit: result.case.unit.into(),
            higher_is_better: result.case.higher_is_better,
            ratio: result.ratio,
            ci: [result.interval.low, result.interval.high],
            goal: result.case.goal,
            met: result.verdict.into(),
        });
        Line {
            race: self.race.clone(),
            cases: cases.collect(),
            commit: env!("FOREBAY_COMMIT").into(),
            machine: crate::machine::line(),
            pairs: self.plan.pairs,
            seconds: self.plan.length.as_secs_f64(),
            seed: self.plan.seed,
            terms: self.terms.to_owned(),
            settings: self.settings.clone(),
        }
    }

    /// The cases with this verdict; with none, those that are reported only.
    pub fn count(&self, verdict: Option<stats::Verdict>) -> usize {
        self.cases.iter().filter(|result| result.verdict == verdict).count()
    }

    /// The table, each line ended.
    pub fn table(&self) -> String {
        let mut table = row(["case", "ours", "rival", "unit", "ratio", "95 %", "goal", "verdict"]);
        for result in &self.cases {
            let case = &result.case;
            let fits = case.name.len() <= NAME_COLUMNS && case.unit.len() <= UNIT_COLUMNS;
            if !fits {
                // A long name gets lines of its own, its figures the next one.
                table += &paragraph(&format!("{} ({})", case.name, case.unit), "");
            }
            let (name, unit) = if fits { (case.name.as_str(), case.unit) } else { ("", "") };
            table += &row([
                name,
                &figure(result.ours),
                &figure(result.rival),
                unit,
                &short(result.ratio),
                &format!("{}-{}", short(result.interval.low), short(result.interval.high)),
                &case.goal.map_or_else(String::new, short),
                &result.verdict.map_or_else(|| "reported".into(), |verdict| verdict.to_string()),
            ]);
        }
        table
    }

    /// What the table comes to, in words.
    pub fn summary(&self) -> String {
        use stats::Verdict;
        let mut text = String::from("Ratio > 1: ours is better.");
        for (verdict, meaning) in [
            (Some(Verdict::Met), "met: all of the interval reaches the goal"),
            (Some(Verdict::Missed), "missed: all of the interval is below the goal"),
            (Some(Verdict::Undecided), "undecided: the goal lies within the interval"),
            (None, "reported beside, without a goal"),
        ] {
            let count = self.count(verdict);
            if count > 0 {
                let _ = write!(text, "\n{count} of {} {meaning}.", self.cases.len());
            }
        }
        text
    }
}

fn row(cells: [&str; 8]) -> String {
    let [name, ours, rival, unit, ratio, interval, goal, verdict] = cells;
    format!(
        "{name:<NAME_COLUMNS$} {ours:>8} {rival:>8} {unit:<UNIT_COLUMNS$} {ratio:>5} \
         {interval:>11} {goal:>5} {verdict}\n"
    )
}

/// A measured value in at most 8 characters: four figures or all those before the point.
fn figure(value: f64) -> String {
    match value {
        v if !(0.00005..99_999_999.5).contains(&v) => format!("{v:.1e}"),
        v if v >= 999.5 => format!("{v:.0}"),
        v if v >= 99.95 => format!("{v:.1}"),
        v if v >= 9.995 => format!("{v:.2}"),
        v if v >= 0.9995 => format!("{v:.3}"),
        v => format!("{v:.4}"),
    }
}

/// A ratio in at most 5 characters.
fn short(ratio: f64) -> String {
    match ratio {
        r if !(0.0005..99_999.5).contains(&r) => format!("{r:.0e}"),
        r if r >= 999.5 => format!("{r:.0}"),
        r if r >= 99.95 => format!("{r:.1}"),
        r if r >= 9.995 => format!("{r:.2}"),
        r => format!("{r:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::race::Case;
    use stats::{Interval, Verdict};
    use std::time::Duration;

    fn result(name: &str, unit: &'static str, higher: bool, low: f64, high: f64) -> CaseResult {
        let interval = Interval { low, high };
        let case = Case {
            name: name.into(),
            metric: "x",
            unit,
            higher_is_better: higher,
            goal: Some(0.95),
        };
        let verdict = case.goal.map(|goal| Verdict::of(interval, goal));
        CaseResult { case, ours: 12500.5, rival: 12000.0, ratio: 1.0, interval, verdict }
    }

    fn outcome() -> Outcome {
        let cases = vec![
            result("read 8k depth 32", "IOPS", true, 0.96, 1.04),
            result("cpu per read", "us", false, 0.5, 0.75),
            result("durable write", "IOPS", true, 0.9, 1.125),
        ];
        let plan = Plan { pairs: 10, seed: 7, length: Duration::from_millis(1_500) };
        let terms = Terms { compared: "a.", rival: "b.", timed: "c.", favours: "d." };
        Outcome { race: "io".into(), cases, plan, terms, settings: vec!["set".into()] }
    }

    #[test]
    fn the_json_line_is_exactly_the_contract() {
        let line = Line { commit: "abc".into(), machine: "m".into(), ..outcome().line() };
        assert_eq!(
            line.text(),
            concat!(
                r#"{"race":"io","cases":["#,
                r#"{"case":"read 8k depth 32","ours":12500.5,"rival":12000.0,"unit":"IOPS","#,
                r#""higher_is_better":true,"ratio":1.0,"ci":[0.96,1.04],"goal":0.95,"met":true},"#,
                r#"{"case":"cpu per read","ours":12500.5,"rival":12000.0,"unit":"us","#,
                r#""higher_is_better":false,"ratio":1.0,"ci":[0.5,0.75],"goal":0.95,"met":false},"#,
                r#"{"case":"durable write","ours":12500.5,"rival":12000.0,"unit":"IOPS","#,
                r#""higher_is_better":true,"ratio":1.0,"ci":[0.9,1.125],"goal":0.95,"#,
                r#""met":"undecided"}],"commit":"abc","machine":"m","pairs":10,"seconds":1.5,"#,
                r#""seed":7,"terms":{"compared":"a.","rival":"b.","timed":"c.","favours":"d."},"#,
                r#""settings":["set"]}"#,
            )
        );
    }

    #[test]
    fn the_table_tells_each_verdict_in_words() {
        assert_eq!(
            outcome().table(),
            "\
case                      ours    rival unit   ratio        95 %  goal verdict
read 8k depth 32         12500    12000 IOPS   1.000 0.960-1.040 0.950 met
cpu per read             12500    12000 us     1.000 0.500-0.750 0.950 missed
durable write            12500    12000 IOPS   1.000 0.900-1.125 0.950 undecided
"
        );
        let summary = outcome().summary();
        assert!(summary.contains("1 of 3 undecided: the goal lies within the interval."));
    }

    #[test]
    fn the_table_keeps_to_80_columns_whatever_it_holds() {
        let mut outcome = outcome();
        let long = "a case whose name goes on and on until it no longer fits any line ".repeat(2);
        outcome.cases.push(result(long.trim(), "furlongs per fortnight", true, 1e-9, 1e12));
        for value in [1e-99, 0.0005, 0.12345, 9.9996, 99.999, 99_999_999.4, 1e99] {
            let mut case = result("wide", "IOPS", true, value, value * 1.1);
            (case.ours, case.rival, case.ratio) = (value, value, value);
            outcome.cases.push(case);
        }
        for line in outcome.table().lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
        assert!(outcome.table().contains("furlongs"));
    }

    #[test]
    fn figures_keep_four_digits() {
        let shown = [0.01234, 1.23456, 12.3456, 123.456, 1234.56, 1e7].map(figure);
        assert_eq!(shown, ["0.0123", "1.235", "12.35", "123.5", "1235", "10000000"]);
        assert_eq!(
            [0.95, 12.345, 123.45, 12345.6].map(short),
            ["0.950", "12.35", "123.5", "12346"]
        );
    }
}

//! The JSON line of a race: all that a figure needs to be published, in one line.
//!
//! ```json
//! {"race": NAME,
//!  "cases": [{"case", "ours", "rival", "unit", "higher_is_better",
//!             "ratio", "ci": [low, high], "goal", "met"}],
//!  "commit", "machine", "pairs", "seconds", "seed",
//!  "terms": {"compared", "rival", "timed", "favours"}, "settings": [TEXT]}
//! ```
//!
//! in this order, with `ours` and `rival` the medians, `ratio` above 1 where ours is better, and
//! `met` true, false, "undecided", or null without a goal. Its numbers are not rounded. This is a
//! contract with everybody who reads races by program: fields are only added, at the end.
//!
//! Callers: `report` writes it; `xbench performance` reads saved ones.

use serde::{Deserialize, Serialize};
use stats::{Interval, Verdict};

use crate::race::terms::Terms;
use crate::{Error, Result};

/// A race that was run, with its identity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// The race.
    pub race: String,
    /// Its cases, in its order.
    pub cases: Vec<CaseLine>,
    /// The commit that the program was built from.
    pub commit: String,
    /// Where it ran.
    pub machine: String,
    /// Pairs of runs.
    pub pairs: u32,
    /// Seconds that each run was measured, where the race has no amount of work of its own.
    pub seconds: f64,
    /// Where every random choice started.
    pub seed: u64,
    /// What a reader has to know.
    pub terms: Terms<String>,
    /// Versions and exact settings.
    pub settings: Vec<String>,
}

/// One case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseLine {
    /// Its name.
    pub case: String,
    /// The median of ours.
    pub ours: f64,
    /// The median of the rival's.
    pub rival: f64,
    /// Their unit.
    pub unit: String,
    /// Whether more of it is better.
    pub higher_is_better: bool,
    /// How many times better ours is.
    pub ratio: f64,
    /// The 95 % interval of the ratio.
    pub ci: [f64; 2],
    /// The ratio that is to be reached.
    pub goal: Option<f64>,
    /// Whether it was.
    pub met: Met,
}

/// A verdict as JSON has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Met {
    /// All of the interval reaches the goal, or is below it.
    Decided(bool),
    /// "undecided": the goal lies within the interval.
    Open(String),
    /// There is no goal.
    NoGoal,
}

impl From<Option<Verdict>> for Met {
    fn from(verdict: Option<Verdict>) -> Met {
        match verdict {
            Some(Verdict::Met) => Met::Decided(true),
            Some(Verdict::Missed) => Met::Decided(false),
            Some(Verdict::Undecided) => Met::Open("undecided".into()),
            None => Met::NoGoal,
        }
    }
}

/// Who is ahead, as far as the interval says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ahead {
    /// All of the interval is below 1.
    Rival,
    /// 1 lies within the interval.
    Neither,
    /// All of the interval is above 1.
    Ours,
}

impl Line {
    /// Reads a saved line.
    pub fn read(text: &str) -> Result<Line> {
        serde_json::from_str(text.trim())
            .map_err(|cause| Error::cannot("read a race's line", cause))
    }

    /// The line, without its end.
    pub fn text(&self) -> String {
        serde_json::to_string(self).expect("strings, numbers and booleans always serialize")
    }
}

impl CaseLine {
    /// Who is ahead.
    pub fn ahead(&self) -> Ahead {
        let interval = Interval { low: self.ci[0], high: self.ci[1] };
        match interval {
            Interval { high, .. } if high < 1.0 => Ahead::Rival,
            Interval { low, .. } if low > 1.0 => Ahead::Ours,
            _ => Ahead::Neither,
        }
    }

    /// The verdict in a word.
    pub fn verdict(&self) -> &str {
        match &self.met {
            Met::Decided(true) => "met",
            Met::Decided(false) => "missed",
            Met::Open(word) => word,
            Met::NoGoal => "no goal",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(low: f64, high: f64, met: Option<Verdict>) -> CaseLine {
        CaseLine {
            case: "c".into(),
            ours: 1.0,
            rival: 2.0,
            unit: "u".into(),
            higher_is_better: true,
            ratio: 0.5,
            ci: [low, high],
            goal: met.map(|_| 0.95),
            met: met.into(),
        }
    }

    #[test]
    fn a_line_that_was_written_is_read_as_it_was() {
        let verdicts = [Some(Verdict::Met), Some(Verdict::Missed), Some(Verdict::Undecided), None];
        let line = Line {
            race: "r".into(),
            cases: verdicts.map(|met| case(0.9, 1.1, met)).into(),
            commit: "abc".into(),
            machine: "m".into(),
            pairs: 10,
            seconds: 1.5,
            seed: 7,
            terms: Terms { compared: "a.", rival: "b.", timed: "c.", favours: "d." }.to_owned(),
            settings: vec!["s".into()],
        };
        assert_eq!(Line::read(&line.text()), Ok(line.clone()));
        assert_eq!(line.terms.paragraph(), "a. b. c. d.");
        let words: Vec<&str> = line.cases.iter().map(CaseLine::verdict).collect();
        assert_eq!(words, ["met", "missed", "undecided", "no goal"]);
        assert!(Line::read("{}").is_err());
    }

    #[test]
    fn nobody_is_ahead_while_one_lies_within_the_interval() {
        let ahead = |low, high| case(low, high, None).ahead();
        assert_eq!(ahead(0.8, 0.9), Ahead::Rival);
        assert_eq!(ahead(0.9, 1.0), Ahead::Neither);
        assert_eq!(ahead(1.0, 1.1), Ahead::Neither);
        assert_eq!(ahead(1.1, 1.2), Ahead::Ours);
    }
}

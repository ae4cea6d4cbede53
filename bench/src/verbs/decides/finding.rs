//! What one run of the lab found, as its JSON report tells it.
//!
//! Callers: `decides`, `newcomer`.

use serde_json::Value;

/// The answer of a comparison.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Finding {
    /// B over A.
    pub(crate) ratio: f64,
    /// Its interval's ends.
    pub(crate) interval: [f64; 2],
    pub(crate) is_real: bool,
    pub(crate) matters: Matters,
    /// How many times as long the interval would be without covariates.
    pub(crate) gain: f64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Matters {
    Yes,
    No,
    Open,
}

/// The ends that stand for an interval that the report doesn't tell: the rounds were too few.
const UNBOUNDED: [f64; 2] = [1e-3, 1e3];

impl Finding {
    /// Of a report; `None` if its experiment ended before it had an answer.
    ///
    /// # Errors
    /// Where it isn't a report of the lab, or its figures make no sense.
    pub(crate) fn of(report: &Value) -> Result<Option<Finding>, String> {
        let comparison = &report["headline"]["comparison"];
        if comparison.is_null() && report["headline"].is_object() {
            return Ok(None);
        }
        let number = |value: &Value, name: &str| match value.as_f64() {
            Some(number) if number > 0.0 => Ok(number),
            _ => Err(format!("the report's {name} is {value}, and no number above zero")),
        };
        let [low, high] = match &comparison["interval"] {
            Value::Null => UNBOUNDED.map(Ok),
            ends => [0, 1].map(|end| number(&ends[end], "interval")),
        };
        Ok(Some(Finding {
            ratio: number(&comparison["ratio"], "ratio")?,
            interval: [low?, high?],
            is_real: match comparison["real"].as_str() {
                Some("yes") => true,
                Some("not seen") => false,
                other => return Err(format!("the report says '{other:?}' to whether it's real")),
            },
            matters: match comparison["matters"].as_str() {
                Some("yes") => Matters::Yes,
                Some("no") => Matters::No,
                Some("open") => Matters::Open,
                other => return Err(format!("the report says '{other:?}' to whether it matters")),
            },
            gain: number(&comparison["gain"], "gain")?,
        }))
    }

    /// Whether it is known if the difference matters.
    pub(crate) fn is_decided(&self) -> bool {
        self.matters != Matters::Open
    }

    /// In a line: `B / A 0.9871 (0.9803 to 0.9940), real, doesn't matter`.
    pub(crate) fn line(&self) -> String {
        let real = if self.is_real { "real" } else { "no difference seen" };
        let matters = match self.matters {
            Matters::Yes => "matters",
            Matters::No => "doesn't matter",
            Matters::Open => "open whether it matters",
        };
        let [low, high] = self.interval;
        format!("B / A {:.4} ({low:.4} to {high:.4}), {real}, {matters}", self.ratio)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read_and_what_is_none_is_refused() {
        let report = serde_json::json!({"headline": {"comparison": {
            "ratio": 0.98, "interval": [0.97, 0.99], "real": "yes", "matters": "open", "gain": 1.5,
        }}});
        let finding = Finding::of(&report).expect("it is one").expect("it has an answer");
        assert!(finding.is_real && !finding.is_decided());
        let line = "B / A 0.9800 (0.9700 to 0.9900), real, open whether it matters";
        assert_eq!(finding.line(), line);
        let mut unbounded = report.clone();
        unbounded["headline"]["comparison"]["interval"] = Value::Null;
        let finding = Finding::of(&unbounded).expect("it is one").expect("it has an answer");
        assert_eq!(finding.interval, UNBOUNDED);
        let unanswered = serde_json::json!({"headline": {"comparison": null}});
        assert_eq!(Finding::of(&unanswered), Ok(None));
        assert!(Finding::of(&serde_json::json!({"rows": 3})).is_err());
        for (name, wrong) in [("ratio", "NaN"), ("real", "perhaps"), ("matters", "much")] {
            let mut report = report.clone();
            report["headline"]["comparison"][name] = wrong.into();
            assert!(Finding::of(&report).is_err(), "{name} = {wrong}");
        }
    }
}

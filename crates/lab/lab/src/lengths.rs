//! Lengths of time as people write them, in the file of an experiment and on the command line: both
//! take the same.
//!
//! Callers: `experiment_file`; the binary's options.

use std::fmt;
use std::ops::RangeInclusive;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use waits::Nanos;

/// How long settings that alternate may take.
pub const BUDGETS: RangeInclusive<Nanos> = Nanos::from_secs(1)..=DAY;
/// How long a block may be.
pub const BLOCK_LENGTHS: RangeInclusive<Nanos> = Nanos::from_millis(20)..=Nanos::from_secs(3_600);
/// How long the part of a block may be that isn't counted.
pub const WASHOUTS: RangeInclusive<Nanos> = Nanos::ZERO..=Nanos::from_secs(1_800);
/// How long a run by restarts may be: one of no time is no row.
pub const RUN_LENGTHS: RangeInclusive<Nanos> = Nanos::from_millis(10)..=DAY;
/// How long a warm-up may be.
pub(crate) const WARM_UPS: RangeInclusive<Nanos> = Nanos::ZERO..=DAY;

const DAY: Nanos = Nanos::from_secs(86_400);
/// Of a longer text a refusal shows the begin.
const SHOWN_MAX: usize = 20;

/// A length of time within this range: `90`, `90s`, `100ms`, `5m`, `1h`. The error says what can be
/// chosen.
pub fn parse_time(text: &str, range: &RangeInclusive<Nanos>) -> Result<Nanos, String> {
    within(seconds(text)?, range)
}

/// The seconds that a text says; NaN of one that is no number.
fn seconds(text: &str) -> Result<f64, String> {
    let text = text.trim();
    if let Ok(seconds) = text.parse() {
        return Ok(seconds);
    }
    let end = text.find(|letter: char| letter.is_ascii_alphabetic()).unwrap_or(text.len());
    let factor = match text[end..].trim() {
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3_600.0,
        unit => {
            let unit = shown(unit);
            return Err(format!("'{unit}' is no unit of time: choose ms, s, m or h"));
        }
    };
    Ok(text[..end].trim().parse::<f64>().map_or(f64::NAN, |number| number * factor))
}

fn within(seconds: f64, range: &RangeInclusive<Nanos>) -> Result<Nanos, String> {
    let (ns, least, most) = ((seconds * 1e9).round(), range.start(), range.end());
    match (least.0 as f64..=most.0 as f64).contains(&ns) {
        true => Ok(Nanos(ns as u64)),
        false => Err(format!("choose {} to {}", short(*least), short(*most))),
    }
}

/// The begin of a text, which may be any file's.
fn shown(text: &str) -> String {
    let begin: String = text.chars().take(SHOWN_MAX).collect();
    let dots = if begin.len() < text.len() { "..." } else { "" };
    format!("{begin}{dots}")
}

/// `0.01s`, `30m`, `24h`.
pub(crate) fn short(length: Nanos) -> String {
    let whole = |unit: Nanos| length > Nanos::ZERO && length.0.is_multiple_of(unit.0);
    let (hour, minute) = (Nanos::from_secs(3_600), Nanos::from_secs(60));
    match length {
        _ if whole(hour) => format!("{}h", length.0 / hour.0),
        _ if whole(minute) => format!("{}m", length.0 / minute.0),
        _ => format!("{}s", length.as_secs_f64()),
    }
}

/// A length of time as a file has it: a number of seconds, or a text.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Written {
    seconds: f64,
    /// As a refusal shows it.
    shown: String,
}

impl Written {
    /// It, if it lies within this range. The error names `what` it is.
    pub(crate) fn within(
        &self,
        what: &str,
        range: &RangeInclusive<Nanos>,
    ) -> Result<Nanos, String> {
        within(self.seconds, range).map_err(|choose| format!("{what} is {}: {choose}", self.shown))
    }

    fn number(seconds: f64) -> Written {
        let is_short = seconds == 0.0 || (1e-6..1e9).contains(&seconds.abs());
        let shown = if is_short { format!("{seconds}") } else { format!("{seconds:e}") };
        Written { seconds, shown }
    }
}

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Written, D::Error> {
        deserializer.deserialize_any(Either)
    }
}

struct Either;

impl Visitor<'_> for Either {
    type Value = Written;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("seconds, or a text such as \"5m\"")
    }

    fn visit_f64<E: Error>(self, seconds: f64) -> Result<Written, E> {
        Ok(Written::number(seconds))
    }

    fn visit_i64<E: Error>(self, seconds: i64) -> Result<Written, E> {
        Ok(Written::number(seconds as f64))
    }

    fn visit_u64<E: Error>(self, seconds: u64) -> Result<Written, E> {
        Ok(Written::number(seconds as f64))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Written, E> {
        let shown = format!("\"{}\"", shown(text));
        seconds(text).map(|seconds| Written { seconds, shown }).map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_taken_as_people_write_it_and_refused_with_its_range() {
        for (text, wanted) in [
            ("90", Nanos::from_secs(90)),
            (" 90 s", Nanos::from_secs(90)),
            ("1500ms", Nanos::from_millis(1_500)),
            ("2.5", Nanos::from_millis(2_500)),
            ("5m", Nanos::from_secs(300)),
            ("5 min", Nanos::from_secs(300)),
            ("24h", DAY),
        ] {
            assert_eq!(parse_time(text, &BUDGETS), Ok(wanted), "{text}");
        }
        for wrong in ["", "s", "0", "-5m", "25h", "nan", "inf", "1e300", "1.2.3s"] {
            assert_eq!(parse_time(wrong, &BUDGETS), Err("choose 1s to 24h".to_owned()), "{wrong}");
        }
        let unit = parse_time("5 weeks", &BUDGETS).expect_err("no such unit");
        assert_eq!(unit, "'weeks' is no unit of time: choose ms, s, m or h");
        let long = parse_time(&"5 weeks and days".repeat(9), &BUDGETS).expect_err("no such unit");
        let says = "'weeks and days5 week...' is no unit of time: choose ms, s, m or h";
        assert_eq!(long, says);
        let refused = |range| parse_time("-1", &range).expect_err("no length is less than none");
        assert_eq!(refused(BLOCK_LENGTHS), "choose 0.02s to 1h");
        assert_eq!(refused(WASHOUTS), "choose 0s to 30m");
        assert_eq!(refused(RUN_LENGTHS), "choose 0.01s to 24h");
    }
}

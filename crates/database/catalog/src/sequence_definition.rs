//! Definitions of sequences, and which values come next.
//!
//! Invariants
//!   * `min <= start <= max`, the increment isn't 0 and not larger than the range, the cache is at
//!     least 1: `check` refuses any other
//!
//! Callers: `sequence`; `rows`; programs that make sequences.

use ids::ObjectNo;
use stop::{RefusalKind, Stop};

/// What a sequence is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SequenceDefinition {
    /// The sequence's number, from a series of the sequences' own.
    pub object: ObjectNo,
    /// The sequence's name.
    pub name: String,
    /// The first value.
    pub start: i64,
    /// The difference from one value to the next.
    pub increment: i64,
    /// The least value.
    pub min: i64,
    /// The greatest value.
    pub max: i64,
    /// Whether it begins again behind the last value: at `min`, or at `max` if it counts down.
    pub cycles: bool,
    /// The number of values of a range; what is left of one is lost when the instance stops (DC27).
    pub cache: u32,
}

/// What CREATE SEQUENCE says; the defaults are those of SQL.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SequenceOptions {
    /// The first value; by default `min`, or `max` if it counts down.
    pub start: Option<i64>,
    /// The difference from one value to the next; 1 by default.
    pub increment: Option<i64>,
    /// The least value; by default 1, or the smallest BIGINT if it counts down.
    pub min: Option<i64>,
    /// The greatest value; by default the largest BIGINT, or -1 if it counts down.
    pub max: Option<i64>,
    /// Whether it begins again behind the last value.
    pub cycles: bool,
    /// The number of values of a range; 20 by default.
    pub cache: Option<u32>,
}

/// The default number of values of a range, as in Oracle.
const CACHE_DEFAULT: u32 = 20;

/// A range of values that were taken together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CachedRange {
    /// The next value to give.
    pub(crate) next: i64,
    /// The number of values that are left.
    pub(crate) left: u64,
}

impl SequenceOptions {
    /// The sequence that these options describe.
    pub(crate) fn define(&self, object: ObjectNo, name: &str) -> Result<SequenceDefinition, Stop> {
        let increment = self.increment.unwrap_or(1);
        let up = increment > 0;
        let min = self.min.unwrap_or(if up { 1 } else { i64::MIN });
        let max = self.max.unwrap_or(if up { i64::MAX } else { -1 });
        let definition = SequenceDefinition {
            object,
            name: name.into(),
            start: self.start.unwrap_or(if up { min } else { max }),
            increment,
            min,
            max,
            cycles: self.cycles,
            cache: self.cache.unwrap_or(CACHE_DEFAULT),
        };
        definition.check()?;
        Ok(definition)
    }
}

impl SequenceDefinition {
    fn check(&self) -> Result<(), Stop> {
        let Self { start, increment, min, max, cache, .. } = self;
        let wrong = match () {
            () if *increment == 0 => "its increment is 0; say by how much it counts".into(),
            () if min >= max => format!("its MINVALUE {min} is not below its MAXVALUE {max}"),
            () if !(min..=max).contains(&start) => {
                format!("its first value {start} isn't within {min} and {max}")
            }
            () if increment.unsigned_abs() > max.abs_diff(*min) => {
                format!("its increment {increment} is larger than from {min} to {max}")
            }
            () if *cache == 0 => "its CACHE is 0; the least is 1".into(),
            () => return Ok(()),
        };
        let message = format!("cannot define sequence {}: {wrong}", self.name);
        Err(Stop::refuse(RefusalKind::Invalid, message))
    }

    /// The range of values from `next` on, and the value behind it; none if the sequence ends with
    /// the range.
    pub(crate) fn take(&self, next: i64) -> (CachedRange, Option<i64>) {
        let last = if self.increment > 0 { self.max } else { self.min };
        let steps = next.abs_diff(last) / self.increment.unsigned_abs();
        let left = u64::from(self.cache).min(steps.saturating_add(1));
        let after = match left <= steps {
            // The value isn't behind the last one, so nothing overflows.
            true => Some(next.wrapping_add(self.increment.wrapping_mul(left as i64))),
            false if !self.cycles => None,
            false if self.increment > 0 => Some(self.min),
            false => Some(self.max),
        };
        (CachedRange { next, left }, after)
    }
}

impl SequenceDefinition {
    /// The value behind this one, which is one of the sequence's; none if the sequence ends with
    /// it.
    pub(crate) fn behind(&self, value: i64) -> Option<i64> {
        let one = SequenceDefinition { cache: 1, ..self.clone() };
        one.take(value).1
    }
}

impl CachedRange {
    /// Takes the next value out of the range.
    pub(crate) fn give(&mut self, increment: i64) -> Option<i64> {
        self.left = self.left.checked_sub(1)?;
        let value = self.next;
        // It wraps only behind the last value, and that value isn't given.
        self.next = value.wrapping_add(increment);
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(options: &SequenceOptions, count: usize) -> Vec<i64> {
        let definition = options.define(ObjectNo::new(1), "s").expect("sound");
        let mut next = Some(definition.start);
        let mut found = Vec::new();
        while let (Some(at), true) = (next, found.len() < count) {
            let (mut range, after) = definition.take(at);
            while let Some(value) = range.give(definition.increment) {
                found.push(value);
            }
            next = after;
        }
        found.truncate(count);
        found
    }

    #[test]
    fn a_sequence_counts_from_its_start_to_its_end_and_begins_again_if_it_cycles() {
        let options = SequenceOptions { cache: Some(2), ..SequenceOptions::default() };
        assert_eq!(values(&options, 5), [1, 2, 3, 4, 5]);
        let few = SequenceOptions { max: Some(3), ..options.clone() };
        assert_eq!(values(&few, 9), [1, 2, 3]);
        let cycle = SequenceOptions { start: Some(2), cycles: true, ..few };
        assert_eq!(values(&cycle, 7), [2, 3, 1, 2, 3, 1, 2]);
        let down = SequenceOptions {
            increment: Some(-3),
            min: Some(-8),
            max: Some(0),
            cycles: true,
            ..options
        };
        assert_eq!(values(&down, 6), [0, -3, -6, 0, -3, -6]);
    }

    #[test]
    fn the_ends_of_bigint_are_values_too() {
        let options = SequenceOptions {
            start: Some(i64::MAX - 1),
            cache: Some(u32::MAX),
            ..SequenceOptions::default()
        };
        assert_eq!(values(&options, 9), [i64::MAX - 1, i64::MAX]);
        let whole = SequenceOptions {
            min: Some(i64::MIN),
            increment: Some(i64::MAX),
            ..SequenceOptions::default()
        };
        assert_eq!(values(&whole, 9), [i64::MIN, -1, i64::MAX - 1]);
        let down = SequenceOptions {
            start: Some(i64::MIN),
            increment: Some(-1),
            ..SequenceOptions::default()
        };
        assert_eq!(values(&down, 9), [i64::MIN]);
    }

    #[test]
    fn a_sequence_that_could_not_count_is_refused() {
        let plain = SequenceOptions::default;
        for options in [
            SequenceOptions { increment: Some(0), ..plain() },
            SequenceOptions { min: Some(5), max: Some(5), ..plain() },
            SequenceOptions { start: Some(0), ..plain() },
            SequenceOptions { min: Some(1), max: Some(3), increment: Some(4), ..plain() },
            SequenceOptions { cache: Some(0), ..plain() },
        ] {
            let refused = options.define(ObjectNo::new(1), "s").expect_err("refused");
            assert_eq!(refused.refusal(), Some(RefusalKind::Invalid), "{refused}");
        }
    }
}

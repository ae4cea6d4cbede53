//! How long transactions took, by type: the percentiles of a load.
//!
//! Callers: `drive`, `summary`.

use hdrhistogram::Histogram;
use waits::Nanos;

/// Figures are exact to one per cent, from one microsecond on.
const DIGITS: u8 = 2;

/// The times of one session or of many, by transaction type in the order of their first.
#[derive(Clone, Debug, Default)]
pub struct TransactionTimes(Vec<(&'static str, Histogram<u32>)>);

impl TransactionTimes {
    /// Adds a transaction of this type.
    pub(crate) fn record(&mut self, kind: &'static str, took: Nanos) {
        let us = (took.0 / 1_000).max(1);
        self.of(kind).record(us).expect("a histogram that resizes takes every figure");
    }

    /// Adds the times of another session.
    pub(crate) fn add(&mut self, other: &TransactionTimes) {
        for (kind, theirs) in &other.0 {
            self.add_as(kind, theirs);
        }
    }

    /// Adds these times as those of this type.
    pub(crate) fn add_as(&mut self, kind: &'static str, times: &Histogram<u32>) {
        self.of(kind).add(times).expect("a histogram that resizes takes every figure");
    }

    /// The types with their times.
    pub(crate) fn types(&self) -> &[(&'static str, Histogram<u32>)] {
        &self.0
    }

    fn of(&mut self, kind: &'static str) -> &mut Histogram<u32> {
        let at = match self.0.iter().position(|(name, _)| *name == kind) {
            Some(at) => at,
            None => {
                self.0.push((kind, Histogram::new(DIGITS).expect("2 digits are allowed")));
                self.0.len() - 1
            }
        };
        &mut self.0[at].1
    }
}

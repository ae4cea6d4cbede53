//! Batches in flight: several at once, durable in their order only.
//!
//! ```text
//!   take ──▶ in flight ──▶ written ──(all before it are)──▶ durable
//! ```
//!
//! Writes end in any order. Redo is durable up to the oldest batch whose write hasn't ended: a
//! batch that is written before an older one waits for it, and so do its sessions (RD10).
//!
//! A batch that begins a log is alone: it is taken when all before it are durable, and none is
//! taken until it is. So a log's header lies between two syncs (RD6).
//!
//! Invariants
//!   * at most `depth` are in flight, counting the written ones that wait for an older one
//!   * numbers have no gap: the batches in flight have those just below the next
//!
//! Plain data, under redo allocation. Callers: `state`.

use std::collections::VecDeque;

use ids::Scn;

/// The largest number of batches in flight.
pub const WRITES_IN_FLIGHT_MAX: u32 = 8;

#[derive(Debug)]
pub(crate) struct Flights {
    depth: usize,
    /// The batches in flight, from the oldest to the newest.
    flying: VecDeque<Flying>,
    /// Number of the oldest batch in flight, or of the next one if none is.
    oldest: u64,
    /// SCN through which redo is durable.
    durable: Scn,
    /// How many logs begin with the batch in flight, which is alone then.
    logs_begun: u32,
}

#[derive(Clone, Copy, Debug)]
struct Flying {
    /// SCN of its last record.
    through: Scn,
    written: bool,
}

/// The numbers of batches that became durable together.
pub(crate) type Landed = std::ops::Range<u64>;

impl Flights {
    /// No batch is in flight, and the first will have the number 1.
    pub(crate) fn new(depth: u32, durable: Scn) -> Flights {
        assert!((1..=WRITES_IN_FLIGHT_MAX).contains(&depth), "checked with the configuration");
        let depth = depth as usize;
        let flying = VecDeque::with_capacity(depth);
        Flights { depth, flying, oldest: 1, durable, logs_begun: 0 }
    }

    /// Allows this many at once. More may be in flight now.
    pub(crate) fn set_depth(&mut self, depth: u32) {
        self.depth = depth as usize;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.flying.is_empty()
    }

    pub(crate) fn durable(&self) -> Scn {
        self.durable
    }

    /// How many logs begin with the batch in flight.
    pub(crate) fn logs_begun(&self) -> u32 {
        self.logs_begun
    }

    /// Whether one more batch can be taken now, which has to be the only one if it is `alone`.
    pub(crate) fn have_room(&self, alone: bool) -> bool {
        let most = if alone { 1 } else { self.depth };
        self.logs_begun == 0 && self.flying.len() < most
    }

    /// Takes the next batch.
    pub(crate) fn take(&mut self, through: Scn, logs_begun: u32) {
        assert!(self.have_room(logs_begun > 0), "a batch was taken out of turn (rule RD10)");
        self.logs_begun = logs_begun;
        self.flying.push_back(Flying { through, written: false });
    }

    /// The number of the batch in flight that has the record with this SCN, which isn't durable.
    pub(crate) fn number_of(&self, scn: Scn) -> Option<u64> {
        let place = self.flying.iter().position(|flying| flying.through >= scn)?;
        Some(self.oldest + place as u64)
    }

    /// Notes that a batch is written. Returns those that are durable now: none as long as an older
    /// one isn't written.
    pub(crate) fn written(&mut self, number: u64) -> Landed {
        let place = number.checked_sub(self.oldest).expect("a batch lands once");
        let flying = self.flying.get_mut(place as usize).expect("what lands was taken");
        assert!(!std::mem::replace(&mut flying.written, true), "a batch lands once");
        let begin = self.oldest;
        while let Some(first) = self.flying.front().filter(|first| first.written) {
            self.durable = first.through;
            self.oldest += 1;
            self.flying.pop_front();
        }
        if self.flying.is_empty() {
            self.logs_begun = 0;
        }
        begin..self.oldest
    }
}

// Checks.
impl Flights {
    pub(crate) fn oldest_number(&self) -> u64 {
        self.oldest
    }

    pub(crate) fn next_number(&self) -> u64 {
        self.oldest + self.flying.len() as u64
    }

    /// How many batches are being written.
    pub(crate) fn unwritten(&self) -> usize {
        self.flying.iter().filter(|flying| !flying.written).count()
    }

    /// SCN of the last record that is durable or in flight.
    pub(crate) fn last_through(&self) -> Scn {
        self.flying.back().map_or(self.durable, |last| last.through)
    }

    /// Names the first invariant of this file that doesn't hold.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.flying.len() > WRITES_IN_FLIGHT_MAX as usize {
            return Err(format!("{} batches are in flight", self.flying.len()));
        }
        if self.flying.front().is_some_and(|first| first.written) {
            return Err(format!("batch {} is written, and not durable (RD10)", self.oldest));
        }
        if self.logs_begun > 0 && self.flying.len() != 1 {
            let count = self.flying.len();
            return Err(format!("a batch that begins a log is one of {count} in flight (RD6)"));
        }
        let scns = || std::iter::once(self.durable).chain(self.flying.iter().map(|f| f.through));
        match scns().zip(scns().skip(1)).find(|(before, after)| before > after) {
            Some((before, after)) => Err(format!("SCN {before} is in flight before {after}")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> Flights {
        let mut flights = Flights::new(3, Scn::new(10));
        for through in [20, 30, 40] {
            assert!(flights.have_room(false));
            flights.take(Scn::new(through), 0);
        }
        flights
    }

    #[test]
    fn what_is_written_before_an_older_one_waits_for_it() {
        let mut flights = three();
        assert!(!flights.have_room(false), "three are in flight");
        assert!(flights.written(3).is_empty());
        assert!(flights.written(2).is_empty());
        assert_eq!(flights.durable(), Scn::new(10), "there is a hole");
        assert!(!flights.have_room(false), "they still count");
        assert_eq!(flights.written(1), 1..4);
        assert_eq!(flights.durable(), Scn::new(40));
        assert!(flights.is_empty());
    }

    #[test]
    fn a_record_is_in_the_first_batch_that_reaches_it() {
        let flights = three();
        let number = |scn| flights.number_of(Scn::new(scn));
        assert_eq!([number(11), number(20), number(21)], [Some(1), Some(1), Some(2)]);
        assert_eq!([number(40), number(41)], [Some(3), None]);
    }

    #[test]
    fn a_batch_that_begins_a_log_is_alone() {
        let mut flights = Flights::new(3, Scn::ZERO);
        flights.take(Scn::new(1), 0);
        assert!(!flights.have_room(true), "all before it is to be durable");
        assert_eq!(flights.written(1), 1..2);
        flights.take(Scn::new(2), 1);
        assert!(!flights.have_room(false) && !flights.have_room(true));
        assert_eq!(flights.written(2), 2..3);
        assert!(flights.have_room(false));
    }

    type Break = fn(&mut Flights);

    /// Each broken invariant is named by the check.
    #[test]
    fn what_is_broken_in_the_flights_is_named() {
        let cases: [(&str, Break); 4] = [
            ("9 batches are in flight", |flights| {
                let last = flights.flying[2];
                flights.flying.resize(9, last);
            }),
            ("(RD10)", |flights| flights.flying[0].written = true),
            ("(RD6)", |flights| flights.logs_begun = 1),
            ("SCN 30 is in flight before 25", |flights| flights.flying[2].through = Scn::new(25)),
        ];
        assert_eq!(three().check(), Ok(()));
        for (named, break_it) in cases {
            let mut flights = three();
            break_it(&mut flights);
            let said = flights.check().expect_err(named);
            assert!(said.contains(named), "{named}: {said}");
        }
    }
}

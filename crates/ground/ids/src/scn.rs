//! The system change number: the database's own clock.
//!
//! Invariants
//!   * SCNs have an order and a successor; they have no sum and no difference
//!   * the clock never wraps: it stops the program instead
//!
//! Sources: Oracle Database Concepts, "System Change Numbers"; the 64-bit range is that of Oracle
//! since 12.2. The decimal notation is that of `v$database.current_scn` and of `AS OF SCN`.

use std::fmt;

/// A moment in the life of the database: a change with a lower SCN happened before.
///
/// Unit: none, it only orders. Range: 0 to 2^64 - 1, where 0 lies before every change. Source:
/// taken from the instance's one SCN counter.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Scn(u64);

impl Scn {
    /// Before every change.
    pub const ZERO: Scn = Scn(0);

    /// The SCN with this number, as it was read from disk or from a user.
    pub const fn new(number: u64) -> Scn {
        Scn(number)
    }

    /// The number, for storing and showing; not for arithmetic.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The moment after this one.
    ///
    /// # Panics
    /// When there is none: at a million changes a second that is 584,000 years away, so the
    /// number was damaged.
    #[must_use]
    pub fn next(self) -> Scn {
        let next = self.0.checked_add(1);
        Scn(next.expect("the SCN space is exhausted: no change can be numbered after this one"))
    }
}

impl fmt::Display for Scn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    #[should_panic(expected = "the SCN space is exhausted")]
    fn the_last_scn_has_no_next() {
        let _ = Scn::new(u64::MAX).next();
    }

    #[test]
    fn an_scn_is_written_as_a_plain_decimal() {
        assert_eq!(Scn::new(1841).to_string(), "1841");
        assert_eq!(format!("{:>6}", Scn::new(1841)), "  1841");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn next_is_later_and_nothing_lies_between(number in 0..u64::MAX, other in any::<u64>()) {
            let (this, other) = (Scn::new(number), Scn::new(other));
            prop_assert!(this < this.next());
            prop_assert!(other <= this || other >= this.next());
            prop_assert!(Scn::ZERO <= this);
        }

        #[test]
        fn scns_are_ordered_as_their_numbers(a in any::<u64>(), b in any::<u64>()) {
            prop_assert_eq!(Scn::new(a).cmp(&Scn::new(b)), a.cmp(&b));
            prop_assert_eq!(Scn::new(a).get(), a);
        }
    }
}

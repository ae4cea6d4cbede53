//! What an update changes of a row's bytes: the range in which old and new differ (AC3).
//!
//! Callers: `change`, `together`.

use crate::ops::Op;

/// How a slot's bytes become others, and how that is taken back: what differs, or but the lock.
pub(super) fn splices<'a>(
    (slot, lock, before): (u16, u8, u8),
    old: &'a [u8],
    new: &'a [u8],
) -> (Op<'a>, Op<'a>) {
    let Some((first, removed, with)) = difference(old, new) else {
        return (Op::Lock { slot, lock }, Op::Lock { slot, lock: before });
    };
    let splice = |lock, removed: usize, with| {
        let (offset, removed) = (first as u16, removed as u16);
        Op::Splice { slot, lock, offset, removed, with }
    };
    let was = &old[first..first + removed];
    (splice(lock, removed, with), splice(before, with.len(), was))
}

/// What differs: from which byte on, how many bytes of the old, and the bytes of the new.
fn difference<'a>(old: &[u8], new: &'a [u8]) -> Option<(usize, usize, &'a [u8])> {
    let shorter = old.len().min(new.len());
    let first = same_at_start(old, new);
    if first == shorter && old.len() == new.len() {
        return None;
    }
    let same = same_at_end(&old[first..], &new[first..]);
    Some((first, old.len() - same - first, &new[first..new.len() - same]))
}

/// Bytes that are compared at once.
const WORD: usize = 8;

/// How many bytes are the same from the start on.
fn same_at_start(a: &[u8], b: &[u8]) -> usize {
    let words = a.chunks_exact(WORD).zip(b.chunks_exact(WORD));
    let first = words.take_while(|(a, b)| a == b).count() * WORD;
    first + a[first..].iter().zip(&b[first..]).take_while(|(a, b)| a == b).count()
}

/// How many bytes are the same up to the end.
fn same_at_end(a: &[u8], b: &[u8]) -> usize {
    let words = a.rchunks_exact(WORD).zip(b.rchunks_exact(WORD));
    let last = words.take_while(|(a, b)| a == b).count() * WORD;
    let (a, b) = (&a[..a.len() - last], &b[..b.len() - last]);
    last + a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::difference;

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        /// What differs, put into the old, makes the new; and begins and ends with what differs.
        #[test]
        fn a_difference_is_what_makes_the_new_of_the_old(
            old in prop::collection::vec(0..3_u8, 0..40),
            new in prop::collection::vec(0..3_u8, 0..40),
        ) {
            let Some((first, removed, with)) = difference(&old, &new) else {
                prop_assert_eq!(old, new);
                return Ok(());
            };
            let made = [&old[..first], with, &old[first + removed..]].concat();
            prop_assert_eq!(&made, &new);
            let was = &old[first..first + removed];
            if let (Some(a), Some(b)) = (was.first(), with.first()) {
                prop_assert_ne!(a, b);
                prop_assert_ne!(was.last(), with.last());
            }
        }
    }
}

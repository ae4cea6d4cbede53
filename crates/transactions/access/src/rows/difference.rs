//! What an update changes of a row's bytes: the range in which old and new differ (AC3).
//!
//! Callers: `change`, `together`.

use crate::ops::Op;

/// The step that replaces a slot's bytes, and the step that takes it back. Only the range that
/// differs is replaced; if nothing differs, an empty one: a statement that meets the row again has
/// to see that it has changed it ([`changes_row`](crate::ops::changes_row)). `before` is the lock
/// before.
pub(super) fn splices<'a>(
    slot: u16,
    lock: u8,
    before: u8,
    old: &'a [u8],
    new: &'a [u8],
) -> (Op<'a>, Op<'a>) {
    let nothing = Difference { first: 0, removed: 0, with: &[] };
    let Difference { first, removed, with } = difference(old, new).unwrap_or(nothing);
    let splice = |lock, removed: usize, with| {
        let (offset, removed) = (first as u16, removed as u16);
        Op::Splice { slot, lock, offset, removed, with }
    };
    let was = &old[first..first + removed];
    (splice(lock, removed, with), splice(before, with.len(), was))
}

/// The range in which old and new bytes differ.
struct Difference<'a> {
    /// The first byte that differs.
    first: usize,
    /// How many old bytes differ.
    removed: usize,
    /// The new bytes.
    with: &'a [u8],
}

fn difference<'a>(old: &[u8], new: &'a [u8]) -> Option<Difference<'a>> {
    let shorter = old.len().min(new.len());
    let first = same_at_start(old, new);
    if first == shorter && old.len() == new.len() {
        return None;
    }
    let same = same_at_end(&old[first..], &new[first..]);
    let (removed, with) = (old.len() - same - first, &new[first..new.len() - same]);
    Some(Difference { first, removed, with })
}

/// How many bytes are compared at once. The arrays have a length that the compiler knows: slices of
/// as many bytes would be compared by a call.
const WORD: usize = 8;

/// How many bytes are the same from the start on.
#[inline]
fn same_at_start(a: &[u8], b: &[u8]) -> usize {
    let words = a.as_chunks::<WORD>().0.iter().zip(b.as_chunks::<WORD>().0);
    let first = words.take_while(|(a, b)| a == b).count() * WORD;
    first + a[first..].iter().zip(&b[first..]).take_while(|(a, b)| a == b).count()
}

/// How many bytes are the same up to the end.
#[inline]
fn same_at_end(a: &[u8], b: &[u8]) -> usize {
    let words = a.as_rchunks::<WORD>().1.iter().rev().zip(b.as_rchunks::<WORD>().1.iter().rev());
    let last = words.take_while(|(a, b)| a == b).count() * WORD;
    let (a, b) = (&a[..a.len() - last], &b[..b.len() - last]);
    last + a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Difference, difference};

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        /// The difference put into the old bytes makes the new; its ends are bytes that differ.
        #[test]
        fn a_difference_makes_the_new_bytes_of_the_old(
            old in prop::collection::vec(0..3_u8, 0..40),
            new in prop::collection::vec(0..3_u8, 0..40),
        ) {
            let Some(Difference { first, removed, with }) = difference(&old, &new) else {
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

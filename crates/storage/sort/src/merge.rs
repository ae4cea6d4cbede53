//! Many sorted sources as one, by a tree of losers.
//!
//! ```text
//!              winner
//!                │
//!              loser                  the way up from a leaf: each node keeps the source that lost
//!            ╱       ╲                there; the source from below plays it, the winner goes on
//!        loser       loser
//!        ╱   ╲       ╱   ╲
//!      [0]   [1]   [2]   [3]          sources
//! ```
//!
//! Invariants
//!   * of equal keys the one from the source with the lower number comes first (ST2)
//!   * a source that has ended loses against every other
//!
//! Callers: `sorter`, `passes`, `sorted`.

use stop::Stop;

use crate::record;

/// A source of rows in the order of their keys.
pub(crate) trait Source {
    /// What `advance` reads from.
    type From<'f>;

    /// The current row; none after the last.
    fn record(&self) -> Option<&[u8]>;

    /// Goes to the next row. Not called after the last.
    fn advance(&mut self, from: &mut Self::From<'_>) -> Result<(), Stop>;
}

/// Sources merged into one order.
pub(crate) struct Merge<S> {
    sources: Vec<S>,
    /// The prefix of each source's current key; the highest number after its last row.
    prefixes: Vec<u64>,
    /// The source that lost at each node. The root is 1, below `n` are `2n` and `2n + 1`, and the
    /// leaf of source `s` is `sources + s`.
    losers: Vec<u32>,
    winner: usize,
}

impl<S: Source> Merge<S> {
    /// Merges these sources, each at its first row.
    pub(crate) fn new(sources: Vec<S>) -> Merge<S> {
        let count = sources.len();
        let prefixes = sources.iter().map(prefix_of).collect();
        let mut merge = Merge { sources, prefixes, losers: vec![0; count], winner: 0 };
        // The source that has won below each node, leaves included.
        let mut winners: Vec<u32> = vec![0; count];
        winners.extend(0..count as u32);
        for node in (1..count).rev() {
            let (left, right) = (winners[2 * node], winners[2 * node + 1]);
            let left_wins = merge.is_before(left as usize, right as usize);
            let (winner, loser) = if left_wins { (left, right) } else { (right, left) };
            (winners[node], merge.losers[node]) = (winner, loser);
        }
        merge.winner = winners.get(1).map_or(0, |winner| *winner as usize);
        merge
    }

    /// The first row of all that are left; none after the last.
    #[inline]
    pub(crate) fn record(&self) -> Option<&[u8]> {
        self.sources.get(self.winner)?.record()
    }

    /// Goes to the next row, if there is one.
    #[inline]
    pub(crate) fn advance(&mut self, from: &mut S::From<'_>) -> Result<(), Stop> {
        let mut winner = self.winner;
        self.sources[winner].advance(from)?;
        self.prefixes[winner] = prefix_of(&self.sources[winner]);
        let mut node = (self.sources.len() + winner) / 2;
        while node > 0 {
            let loser = self.losers[node] as usize;
            if self.is_before(loser, winner) {
                self.losers[node] = winner as u32;
                winner = loser;
            }
            node /= 2;
        }
        self.winner = winner;
        Ok(())
    }

    pub(crate) fn into_sources(self) -> Vec<S> {
        self.sources
    }

    pub(crate) fn sources(&self) -> &[S] {
        &self.sources
    }

    /// Bytes of the tree and the list of sources, without the sources' own memory.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let each = size_of::<S>() + size_of::<u64>() + size_of::<u32>();
        (self.sources.capacity() * each) as u64
    }

    #[inline]
    fn is_before(&self, one: usize, other: usize) -> bool {
        let (a, b) = (self.prefixes[one], self.prefixes[other]);
        if a == b { self.is_before_by_key(one, other) } else { a < b }
    }

    fn is_before_by_key(&self, one: usize, other: usize) -> bool {
        let key = |source: usize| self.sources[source].record().map(record::key);
        match (key(one), key(other)) {
            (Some(a), Some(b)) => a.cmp(b).then(one.cmp(&other)).is_lt(),
            (of_one, _) => of_one.is_some(),
        }
    }
}

fn prefix_of<S: Source>(source: &S) -> u64 {
    source.record().map_or(u64::MAX, |record| record::prefix(record::key(record)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records in memory, as a source.
    struct List(Vec<Vec<u8>>);

    impl Source for List {
        type From<'f> = ();

        fn record(&self) -> Option<&[u8]> {
            self.0.last().map(Vec::as_slice)
        }

        fn advance(&mut self, (): &mut ()) -> Result<(), Stop> {
            self.0.pop();
            Ok(())
        }
    }

    fn list(keys: &[&[u8]], payload: u8) -> List {
        let record = |key: &&[u8]| {
            let mut bytes = vec![0; record::length_of(key, &[payload])];
            record::put(&mut bytes, key, &[payload]);
            bytes
        };
        List(keys.iter().rev().map(record).collect())
    }

    /// Every number of sources merges in order, also where keys are as high as keys can be.
    #[test]
    fn every_number_of_sources_merges_in_order() {
        let high = [0xff; 9];
        for count in 0..20 {
            let keys: [&[u8]; 4] = [b"", b"m", &high[..8], &high];
            let sources = (0..count).map(|n| list(&keys[..usize::from(n) % 5], n)).collect();
            let mut merge = Merge::new(sources);
            let mut found = Vec::new();
            while let Some((key, payload)) = merge.record().map(record::split) {
                found.push((key.to_vec(), payload[0]));
                merge.advance(&mut ()).expect("it can't fail");
            }
            let all =
                (0..count).flat_map(|n| keys[..usize::from(n) % 5].iter().map(move |k| (k, n)));
            let mut expected: Vec<_> = all.map(|(key, n)| (key.to_vec(), n)).collect();
            expected.sort();
            assert_eq!(found, expected, "{count} sources");
        }
    }
}

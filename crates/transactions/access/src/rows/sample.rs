//! A sample of a table's rows, block by block: for statistics.
//!
//! ```text
//!   blocks:   · · ■ · · · ■ · · ■ · ·      as many as asked for, each set of them equally likely
//! ```
//!
//! Rows of one block tend to be alike, so whoever draws conclusions looks at which block each row
//! has.
//!
//! Callers: tables.
//! Source: Knuth, The Art of Computer Programming 2, 3.4.2, algorithm S.

use cache::Blocks;
use ids::Dba;
use os::Session;
use stop::{Stop, check_call};
use txn::View;

use super::Heap;
use crate::RowAddress;
use crate::inserter::after;

/// The most blocks of a sample that are read at once.
const BATCH_BLOCKS: u32 = 64;

/// How much of a table a sample has seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sampled {
    /// How many blocks were visited. A few of them may have no rows, as maps of free space do.
    pub blocks: u64,
    /// How many blocks the table has, of both kinds.
    pub of: u64,
}

impl Heap {
    /// Visits the rows of some of the heap's blocks, as the view sees them: of this share of all
    /// blocks, from 0 to 1, and of one block at least. `seed` decides which. The blocks are visited
    /// in their order, each as [`visit_block`](Self::visit_block) says.
    pub fn sample_blocks(
        &self,
        view: View,
        share: f64,
        seed: u64,
        visit: &mut dyn FnMut(RowAddress, &[u8]),
        session: &Session,
    ) -> Result<Sampled, Stop> {
        let spans = self.spans(session)?;
        let of: u64 = spans.iter().map(|span| u64::from(span.count)).sum();
        let wanted = (of as f64 * share.clamp(0.0, 1.0)).ceil() as u64;
        let blocks = wanted.clamp(1, of.max(1)).min(of);
        let cache = self.transactions.changes().cache();
        let mut reader = cache.multiblock_reader(session);
        let batch_max = cache.run_max(self.block_size, session).min(BATCH_BLOCKS) as usize;
        let mut drawn = Draw { spans: &spans, at: 0, left: of, wanted: blocks, dice: seed };
        let mut batch = Vec::with_capacity(batch_max);
        loop {
            batch.clear();
            batch.extend(drawn.by_ref().take(batch_max));
            if batch.is_empty() {
                return Ok(Sampled { blocks, of });
            }
            reader.prefetch(&batch)?;
            for block in &batch {
                check_call(session)?;
                let visited = self.visit_block(view, *block, visit, session);
                self.or_without_rows(*block, visited.map(|()| true), session)?;
            }
        }
    }
}

/// Draws blocks, in their order.
struct Draw<'a> {
    /// The spans that weren't passed yet, and how many blocks of the first were.
    spans: &'a [Blocks],
    at: u32,
    /// How many blocks are left, and how many of them are wanted.
    left: u64,
    wanted: u64,
    dice: u64,
}

impl Iterator for Draw<'_> {
    type Item = Dba;

    fn next(&mut self) -> Option<Dba> {
        while self.wanted > 0 {
            let (span, rest) = self.spans.split_first().expect("no more are wanted than are left");
            if self.at == span.count {
                (self.spans, self.at) = (rest, 0);
                continue;
            }
            let block = after(span.first, self.at);
            let is_drawn = mixed(&mut self.dice) % self.left < self.wanted;
            (self.at, self.left) = (self.at + 1, self.left - 1);
            if is_drawn {
                self.wanted -= 1;
                return Some(block);
            }
        }
        None
    }
}

/// The next number of a stream (splitmix64).
fn mixed(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans() -> Vec<Blocks> {
        [(1, 3, 10), (1, 40, 1), (2, 7, 29)]
            .into_iter()
            .map(|(file, block, count)| Blocks { first: Dba::new(file, block), count })
            .collect()
    }

    fn draw(wanted: u64, seed: u64) -> Vec<Dba> {
        Draw { spans: &spans(), at: 0, left: 40, wanted, dice: seed }.collect()
    }

    #[test]
    fn as_many_are_drawn_as_are_wanted_in_order_and_each_once() {
        for wanted in 0..=40 {
            for seed in 0..20 {
                let drawn = draw(wanted, seed);
                assert_eq!(drawn.len() as u64, wanted);
                assert!(drawn.is_sorted_by(|a, b| a < b));
                assert_eq!(drawn, draw(wanted, seed), "the seed decides");
            }
        }
    }

    #[test]
    fn each_block_is_as_likely_as_each_other() {
        let mut counts = std::collections::BTreeMap::new();
        for seed in 0..8_000 {
            draw(10, seed).into_iter().for_each(|block| *counts.entry(block).or_insert(0) += 1);
        }
        assert_eq!(counts.len(), 40);
        // A quarter of 8,000 each, give or take six standard deviations.
        assert!(counts.values().all(|count| (1_767..=2_233).contains(count)), "{counts:?}");
    }
}

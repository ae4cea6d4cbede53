//! The versions of a file's blocks as last written home, by which a read finds a lost write.
//!
//! ```text
//!   block number ──▶ chunk of 4,096 blocks, made when the first of them is written
//!                      └──▶ low 32 bits of the SCN that the block had     (0: not written)
//! ```
//!
//! No checksum finds a write that a device has acknowledged and lost: the old block is whole. But
//! each change of a block has an SCN of its own, and all writes of a file go through one cache. So
//! a block that is read must not be older than its last write.
//!
//! Invariants
//!   * a version is noted when the block is durable at home, and before its frame can be given
//!     away: so before any session can read the block from there (CB20)
//!   * SCNs that are 2^31 or more apart can't be compared; an SCN whose low bits are zero isn't
//!     noted
//!
//! Caller: `files`.

use std::collections::BTreeMap;

use ids::{BlockNo, Scn};

/// The number of blocks in a chunk, which takes 16 KiB.
const CHUNK: u32 = 4_096;

/// The versions of one file's blocks.
#[derive(Default)]
pub(crate) struct Versions {
    chunks: BTreeMap<u32, Box<[u32]>>,
}

impl Versions {
    /// Notes that the block was written with this SCN.
    pub(crate) fn note(&mut self, block: BlockNo, scn: Scn) {
        let chunk = self.chunks.entry(block.get() / CHUNK);
        let chunk = chunk.or_insert_with(|| vec![0; CHUNK as usize].into_boxed_slice());
        chunk[(block.get() % CHUNK) as usize] = scn.get() as u32;
    }

    /// The SCN of the block's last write, if the block that was read, with SCN `found`, is older.
    pub(crate) fn newer_than(&self, block: BlockNo, found: Scn) -> Option<Scn> {
        let chunk = self.chunks.get(&(block.get() / CHUNK))?;
        let written = chunk[(block.get() % CHUNK) as usize];
        let ahead = written.wrapping_sub(found.get() as u32);
        let is_newer = written != 0 && ahead as i32 > 0;
        is_newer.then(|| Scn::new(found.get() + u64::from(ahead)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An older block is told from the one written and from newer ones, also where the low bits of
    /// the SCN wrap around; blocks that weren't written pass.
    #[test]
    fn an_older_block_is_told_from_the_one_that_was_written() {
        const ROUND: u64 = 1 << 32;
        let mut versions = Versions::default();
        for (written, found, newer) in [
            (7, 6, true),
            (7, 0, true),
            (7, 7, false),
            (7, 8, false),
            (ROUND + 2, ROUND - 3, true),
            (ROUND - 3, ROUND + 2, false),
            (5 * ROUND + 9, 5 * ROUND + 8, true),
        ] {
            let block = BlockNo::new(70_000);
            versions.note(block, Scn::new(written));
            let expected = newer.then(|| Scn::new(written));
            assert_eq!(versions.newer_than(block, Scn::new(found)), expected, "{written} {found}");
        }
        assert_eq!(versions.newer_than(BlockNo::new(70_001), Scn::ZERO), None);
        assert_eq!(versions.newer_than(BlockNo::new(0), Scn::ZERO), None);
    }
}

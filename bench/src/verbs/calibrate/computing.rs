//! What is done without the kernel: a latch got and let go, a turn of a spin, checksums, copies.
//!
//! Blocks are 8 KiB and lie in the caches, as those do that a session has just got.
//!
//! Callers: `rounds`.

use std::hint::black_box;

use format::{BlockHeader, BlockKind};
use ids::Dba;
use latch::{Latch, LatchKind};
use os::{Cost, Session};

use super::clock::mean_ns;
use super::figure::Figure;

const BLOCK_BYTES: usize = 8_192;
const BLOCK_KIB: f64 = 8.0;
/// Copies go from and to so many blocks in turn: more than a level-one cache holds, less than a
/// level-two cache.
const BLOCKS: usize = 16;

/// Operations in one window: some 100 us each.
const GETS: u32 = 10_000;
const TURNS: u32 = 2_000;
const SEALS: u32 = 200;
const COPIES: u32 = 400;

/// Turns of a spin that stay on the CPU; a longer spin also yields, which is the kernel's work.
const TURNS_IN_A_ROW: u32 = 32;

pub(super) fn round(session: &Session) -> Vec<(Figure, f64)> {
    let latch = Latch::new(session.os(), LatchKind::Innermost, 0_u64);
    let latch_get = mean_ns(GETS, |_| *latch.exclusive(session) += 1);
    assert_eq!(*latch.shared(session), u64::from(GETS), "every get was one");

    let relax = mean_ns(TURNS, |turn| session.relax(turn % TURNS_IN_A_ROW));

    let address = Dba::new(1, 1);
    let mut block = vec![0x5a; BLOCK_BYTES];
    *BlockHeader::of_mut(&mut block) = BlockHeader::new(BlockKind::Scratch, address);
    let checksum = mean_ns(SEALS, |_| format::seal(black_box(&mut block), address)) / BLOCK_KIB;

    let from = vec![vec![0x5a_u8; BLOCK_BYTES]; BLOCKS];
    let mut to = vec![vec![0_u8; BLOCK_BYTES]; BLOCKS];
    let mut copy_all = |turn: u32| {
        let at = turn as usize % BLOCKS;
        to[at].copy_from_slice(black_box(&from[at]));
        black_box(&mut to[at]);
    };
    (0..BLOCKS as u32).for_each(&mut copy_all);
    let copy = mean_ns(COPIES, copy_all) / BLOCK_KIB;

    vec![
        (Figure::Cost(Cost::LatchGet), latch_get),
        (Figure::Cost(Cost::Relax), relax),
        (Figure::Cost(Cost::ChecksumKib), checksum),
        (Figure::Cost(Cost::CopyKib), copy),
    ]
}

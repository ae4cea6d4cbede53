//! Which block lives in which frame: hash chains under latches.
//!
//! ```text
//!   hash(address) ──▶ bucket { latch, first } ──▶ frame ──▶ frame      (usually one)
//! ```
//!
//! Invariants
//!   * a block is on the chain of its bucket once at most, and then its frame says its address
//!   * a chain changes only under its bucket's exclusive latch (CB3)
//!
//! Callers: `get` (look up, enter), `victim` (remove).

use ids::Dba;
use latch::{ExclusiveGuard, Latch, LatchKind, SharedGuard};
use os::{Os, Session};

use crate::frame::{Frame, NO_ADDRESS};
use crate::list::NONE;

/// What a bucket's latch guards: the first frame of its chain. The rest is in the frames.
pub(crate) struct Bucket {
    first: u32,
}

/// Buckets for each frame, at least: chains of one or none.
const BUCKETS_PER_FRAME: u32 = 2;

/// All buckets.
pub(crate) struct Chains {
    buckets: Box<[Latch<Bucket>]>,
    /// What a hash is shifted by to give a bucket's number.
    shift: u32,
}

impl Chains {
    pub(crate) fn new(os: &Os, frames: u32) -> Chains {
        let count = (frames * BUCKETS_PER_FRAME).next_power_of_two();
        let bucket = |_| Latch::new(os, LatchKind::Bucket, Bucket { first: NONE });
        Chains { buckets: (0..count).map(bucket).collect(), shift: 64 - count.trailing_zeros() }
    }

    #[inline]
    pub(crate) fn shared<'a>(
        &'a self,
        address: Dba,
        session: &'a Session,
    ) -> SharedGuard<'a, Bucket> {
        self.bucket(address).shared(session)
    }

    pub(crate) fn exclusive<'a>(
        &'a self,
        address: Dba,
        session: &'a Session,
    ) -> ExclusiveGuard<'a, Bucket> {
        self.bucket(address).exclusive(session)
    }

    /// Fibonacci hashing (Knuth 6.4): the upper bits of a product are well mixed, also for
    /// addresses that follow each other.
    #[inline]
    fn bucket(&self, address: Dba) -> &Latch<Bucket> {
        const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
        &self.buckets[(address.pack().wrapping_mul(GOLDEN) >> self.shift) as usize]
    }
}

impl Bucket {
    /// The frame in which this block lives.
    #[inline]
    pub(crate) fn find(&self, frames: &[Frame], address: Dba, session: &Session) -> Option<u32> {
        let packed = address.pack();
        let mut at = self.first;
        while at != NONE {
            let frame = &frames[at as usize];
            if frame.address.load(session) == packed {
                return Some(at);
            }
            at = frame.chained.load(session);
        }
        None
    }

    /// Puts a frame that the session has claimed on the chain, as the block's.
    pub(crate) fn enter(&mut self, frames: &[Frame], at: u32, address: Dba, session: &Session) {
        let frame = &frames[at as usize];
        let before = frame.address.swap(address.pack(), session);
        assert_eq!(before, NO_ADDRESS, "a frame is entered that is on a chain");
        frame.chained.store(self.first, session);
        self.first = at;
    }

    /// Takes a frame off the chain.
    pub(crate) fn remove(&mut self, frames: &[Frame], at: u32, session: &Session) {
        let gone = &frames[at as usize];
        let behind = gone.chained.swap(NONE, session);
        if self.first == at {
            self.first = behind;
        } else {
            let mut before = self.first;
            loop {
                let next = frames[before as usize].chained.load(session);
                if next == at {
                    break;
                }
                before = next;
            }
            frames[before as usize].chained.store(behind, session);
        }
        gone.address.store(NO_ADDRESS, session);
    }
}

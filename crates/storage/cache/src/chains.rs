//! Hash chains: in which frame a block lives.
//!
//! ```text
//!   hash(address) ──▶ head { first frame, tag of its block } ──▶ frame ──▶ frame   (usually one)
//!                 └─▶ bucket's latch
//! ```
//!
//! A chain is changed, and searched for certain, under its bucket's latch. A hit takes no latch
//! (CB3): it follows the chain as it finds it, and the frame that it comes to is a *hint*, which it
//! pins and then checks. So everything on a chain is a number that can be read at any time, and the
//! heads lie side by side, apart from the latches.
//!
//! Invariants
//!   * a block is at most once on the chain of its bucket, and then its frame has its address
//!   * a chain changes only under its bucket's exclusive latch (CB3)
//!
//! Callers: `get` (look up, enter), `victim` (remove).

use std::sync::Arc;

use ids::Dba;
use latch::{ExclusiveGuard, Latch, LatchKind, Shared64, SharedGuard};
use os::{CACHE_LINE, Os, Session, huge_table};

use crate::frame::{Frame, NO_ADDRESS};
use crate::list::NONE;

/// The least number of buckets for each frame, so that a chain has one frame or none.
const BUCKETS_PER_FRAME: u32 = 2;

/// Heads in a line of the processor's cache.
const HEADS_PER_LINE: usize = CACHE_LINE / size_of::<Shared64>();

/// The most frames of a chain that a search for a hint follows: a chain that changes meanwhile may
/// lead in a circle.
const HINT_FRAMES_MAX: u32 = 4;

/// All buckets.
pub(crate) struct Chains {
    heads: Arc<[Line]>,
    latches: Box<[Latch<()>]>,
    /// The shift that makes a hash the number of a line of heads.
    shift: u32,
}

/// Heads of chains that share a line: the first frame in the lower half, the tag of its block in
/// the upper.
#[repr(align(64))]
struct Line([Shared64; HEADS_PER_LINE]);
const _: () = assert!(size_of::<Line>() == CACHE_LINE);

/// A chain that doesn't change while this lives: `G` is a guard of its bucket's latch.
pub(crate) struct Chain<'a, G> {
    head: &'a Shared64,
    frames: &'a [Frame],
    _guard: G,
}

/// A chain that no session changes.
pub(crate) type SharedChain<'a> = Chain<'a, SharedGuard<'a, ()>>;
/// A chain that only the holder changes.
pub(crate) type ExclusiveChain<'a> = Chain<'a, ExclusiveGuard<'a, ()>>;

impl Chains {
    /// Chains for these frames, which are on none yet.
    pub(crate) fn new(os: &Os, frames: &Arc<[Frame]>) -> Chains {
        let buckets = frames.len() * BUCKETS_PER_FRAME as usize;
        // At least two lines: the shift needs a bit.
        let lines = buckets.div_ceil(HEADS_PER_LINE).max(2).next_power_of_two();
        let line = || Line(std::array::from_fn(|_| Shared64::new(u64::from(NONE))));
        let heads = huge_table(lines, |_| line());
        let shift = 64 - lines.trailing_zeros();
        let latch = |bucket| {
            let (heads, frames) = (Arc::clone(&heads), Arc::clone(frames));
            let look = move |(): &()| assert_consistent(&heads, &frames, bucket, shift);
            Latch::new(os, LatchKind::Bucket, ()).checked(os, look)
        };
        let latches = (0..lines * HEADS_PER_LINE).map(latch).collect();
        Chains { heads, latches, shift }
    }

    pub(crate) fn shared<'a>(
        &'a self,
        frames: &'a [Frame],
        address: Dba,
        session: &'a Session,
    ) -> SharedChain<'a> {
        let bucket = self.bucket(address);
        let guard = self.latches[bucket].shared(session);
        Chain { head: self.head(bucket), frames, _guard: guard }
    }

    pub(crate) fn exclusive<'a>(
        &'a self,
        frames: &'a [Frame],
        address: Dba,
        session: &'a Session,
    ) -> ExclusiveChain<'a> {
        let bucket = self.bucket(address);
        let guard = self.latches[bucket].exclusive(session);
        Chain { head: self.head(bucket), frames, _guard: guard }
    }

    /// The frame in which this block seems to live, found without a latch. It may have another
    /// block or none by now, and a block that isn't found may be there all the same.
    #[inline]
    pub(crate) fn hint(&self, frames: &[Frame], address: Dba, session: &Session) -> Option<u32> {
        let head = self.head(self.bucket(address)).load(session);
        let mut at = head as u32;
        // The frame's memory isn't read before the pin, so its line is fetched only once from
        // another processor.
        if head >> 32 == tag_of(address) && at != NONE {
            return Some(at);
        }
        for _ in 0..HINT_FRAMES_MAX {
            let frame = frames.get(at as usize)?;
            if frame.address.load(session) == address.pack() {
                return Some(at);
            }
            at = frame.chained.load(session);
        }
        None
    }

    #[inline]
    fn bucket(&self, address: Dba) -> usize {
        bucket_of(address, self.shift)
    }

    #[inline]
    fn head(&self, bucket: usize) -> &Shared64 {
        head_of(&self.heads, bucket)
    }
}

/// The bucket of a block. Heads of neighbouring blocks share a line, so that more of a table's
/// heads are in the processor's cache. Lines are chosen by Fibonacci hashing (Knuth 6.4): the upper
/// bits of the product are well mixed.
#[inline]
fn bucket_of(address: Dba, shift: u32) -> usize {
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    let (packed, each) = (address.pack(), HEADS_PER_LINE as u64);
    let line = (packed / each).wrapping_mul(GOLDEN) >> shift;
    (line * each + packed % each) as usize
}

#[inline]
fn head_of(heads: &[Line], bucket: usize) -> &Shared64 {
    &heads[bucket / HEADS_PER_LINE].0[bucket % HEADS_PER_LINE]
}

/// Checks the chain of a bucket whose latch is held exclusively. Returns the number of places that
/// it looked at: the frames and the head.
///
/// # Panics
/// When an invariant of this file doesn't hold.
fn assert_consistent(heads: &[Line], frames: &[Frame], bucket: usize, shift: u32) -> usize {
    match check(heads, frames, bucket, shift) {
        Ok(length) => length + 1,
        Err(what) => panic!("the hash chain of bucket {bucket} is broken: {what}"),
    }
}

fn check(heads: &[Line], frames: &[Frame], bucket: usize, shift: u32) -> Result<usize, String> {
    let head = head_of(heads, bucket).peek();
    let (mut at, mut blocks) = (head as u32, Vec::new());
    while at != NONE {
        let Some(frame) = frames.get(at as usize) else {
            return Err(format!("frame {at} of {} is on it", frames.len()));
        };
        let Some(address) = Dba::unpack(frame.address.peek()) else {
            return Err(format!("frame {at} is on it, and no block lives there"));
        };
        if bucket_of(address, shift) != bucket {
            return Err(format!("block {address} in frame {at} is of another bucket"));
        }
        if blocks.contains(&address) {
            return Err(format!("block {address} is on it twice"));
        }
        blocks.push(address);
        at = frame.chained.peek();
    }
    match blocks.first() {
        Some(first) if head >> 32 != tag_of(*first) => {
            Err(format!("its head has tag {:x}, and its first block is {first}", head >> 32))
        }
        _ => Ok(blocks.len()),
    }
}

/// The tag by which a head tells most blocks of its bucket apart. A wrong guess is noticed when the
/// frame is checked.
#[inline]
fn tag_of(address: Dba) -> u64 {
    address.block.get().into()
}

impl<G> Chain<'_, G> {
    /// The frame in which this block lives.
    pub(crate) fn find(&self, address: Dba, session: &Session) -> Option<u32> {
        let packed = address.pack();
        let mut at = self.first(session);
        while at != NONE {
            let frame = &self.frames[at as usize];
            if frame.address.load(session) == packed {
                return Some(at);
            }
            at = frame.chained.load(session);
        }
        None
    }

    fn first(&self, session: &Session) -> u32 {
        self.head.load(session) as u32
    }
}

impl ExclusiveChain<'_> {
    /// Gives a claimed frame the block's address and puts it on the chain.
    pub(crate) fn enter(&mut self, at: u32, address: Dba, session: &Session) {
        let frame = &self.frames[at as usize];
        let before = frame.address.swap(address.pack(), session);
        assert_eq!(before, NO_ADDRESS, "a frame is entered that is on a chain");
        frame.chained.store(self.first(session), session);
        self.head.store(tag_of(address) << 32 | u64::from(at), session);
    }

    /// Takes a frame off the chain, and its address away.
    pub(crate) fn remove(&mut self, at: u32, session: &Session) {
        let gone = &self.frames[at as usize];
        let behind = gone.chained.swap(NONE, session);
        if self.first(session) == at {
            let next = self.frames.get(behind as usize);
            let address = next.map(|next| next.address(session));
            let tag = address.map_or(0, tag_of);
            self.head.store(tag << 32 | u64::from(behind), session);
        } else {
            let mut before = self.first(session);
            loop {
                let next = self.frames[before as usize].chained.load(session);
                if next == at {
                    break;
                }
                before = next;
            }
            self.frames[before as usize].chained.store(behind, session);
        }
        gone.address.store(NO_ADDRESS, session);
    }
}

#[cfg(test)]
mod tests {
    use latch::ReaderCounts;
    use sim::Simulation;

    use super::*;

    type Break = fn(&Chains, &[Frame], &Session);

    /// Two blocks are on one chain. Each invariant is broken in turn, and the check names it.
    #[test]
    fn what_is_broken_in_a_chain_is_named() {
        const FIRST: Dba = Dba::new(1, 8);
        let cases: [(&str, Break); 5] = [
            ("no block lives there", |_, frames, session| {
                frames[0].address.store(NO_ADDRESS, session);
            }),
            ("is of another bucket", |_, frames, session| {
                frames[0].address.store(Dba::new(1, 9).pack(), session);
            }),
            ("is on it twice", |_, frames, session| {
                frames[0].address.store(frames[1].address.load(session), session);
            }),
            ("frame 77 of 2", |_, frames, session| frames[0].chained.store(77, session)),
            ("its head has tag", |chains, _, session| {
                chains.head(chains.bucket(FIRST)).store(1, session);
            }),
        ];
        let report = Simulation::new(1).run(move |world, session| {
            for (named, break_it) in cases {
                let counts = ReaderCounts::new(world.os(), 2);
                let frame = |number| Frame::absent(world.os(), &counts, number);
                let frames: Arc<[Frame]> = (0..2).map(frame).collect();
                let chains = Chains::new(world.os(), &frames);
                let bucket = chains.bucket(FIRST);
                let others = (9..100_000).map(|block| Dba::new(1, block));
                let mut others = others.filter(|other| chains.bucket(*other) == bucket);
                let second = others.next().expect("blocks share buckets");
                chains.exclusive(&frames, FIRST, session).enter(0, FIRST, session);
                chains.exclusive(&frames, second, session).enter(1, second, session);
                let look = || check(&chains.heads, &frames, bucket, chains.shift);
                assert_eq!(look(), Ok(2));
                break_it(&chains, &frames, session);
                let said = look().expect_err(named);
                assert!(said.contains(named), "{named}: {said}");
            }
        });
        report.result.expect("every fault is named");
    }
}

//! Prefetching a block's memory into the processor's cache before its frame is read.
//!
//! A hit waits for memory: the head of the chain, the frame, the block's header, the slot, the row.
//! Each address is known only when the line before has come. But frames get their memory in order,
//! so a frame's number usually tells where its block lies, and the caller of a get may know where
//! in the block it will look. These lines are prefetched while the frame's own lines are on their
//! way.
//!
//! This is a guess: a wrong one fetches some lines for nothing.
//!
//! Callers: `pool`, which gives frames memory; `get`.

use latch::Guess;
use os::{CACHE_LINE, IO_ALIGNMENT, prefetch};

/// Frames of a run: usually each follows the one before it in memory.
const RUN: u32 = 256;

/// Where the frames' memory lies, by runs of frames.
pub(crate) struct Ahead {
    /// For each run the address of its first frame's memory, with the bytes of a frame, in units of
    /// `IO_ALIGNMENT`, in the low bits; 0 if unknown.
    runs: Box<[Guess]>,
}

impl Ahead {
    /// For this many frames, without memory.
    pub(crate) fn new(frames: u32) -> Ahead {
        Ahead { runs: (0..frames.div_ceil(RUN)).map(|_| Guess::default()).collect() }
    }

    /// Notes the memory of a frame. Small buffers aren't in order, and aren't noted.
    pub(crate) fn note(&self, frame: u32, memory: &[u8]) {
        if !memory.len().is_multiple_of(IO_ALIGNMENT) {
            return;
        }
        let before = (frame % RUN) as usize * memory.len();
        let first = memory.as_ptr().addr().wrapping_sub(before);
        self.runs[(frame / RUN) as usize].store((first | (memory.len() / IO_ALIGNMENT)) as u64);
    }

    /// Prefetches the beginning of a frame's block, and the bytes at these places.
    #[inline]
    pub(crate) fn prefetch(&self, frame: u32, places: &[usize]) {
        let Some(block) = self.block_of(frame) else { return };
        prefetch(block);
        prefetch(block.wrapping_add(CACHE_LINE));
        for place in places {
            prefetch(block.wrapping_add(*place));
        }
    }

    /// The address at which the frame's block should lie.
    #[inline]
    fn block_of(&self, frame: u32) -> Option<usize> {
        let run = self.runs.get((frame / RUN) as usize)?.load() as usize;
        let (first, bytes) = (run - run % IO_ALIGNMENT, run % IO_ALIGNMENT * IO_ALIGNMENT);
        (run != 0).then(|| first.wrapping_add((frame % RUN) as usize * bytes))
    }
}

#[cfg(test)]
mod tests {
    use os::IoPool;

    use super::*;

    #[test]
    fn frames_that_got_their_memory_in_order_are_found() {
        let pool = IoPool::new(2 * RUN, 8 << 10).expect("there is memory");
        let buffers: Vec<_> = (0..2 * RUN).map(|_| pool.take().expect("it has as many")).collect();
        let ahead = Ahead::new(3 * RUN);
        (0..).zip(&buffers).for_each(|(frame, buffer)| ahead.note(frame, buffer));
        for (frame, buffer) in (0..).zip(&buffers) {
            assert_eq!(ahead.block_of(frame), Some(buffer.as_ptr().addr()));
        }
        assert_eq!(ahead.block_of(2 * RUN), None, "it has got none");
        ahead.prefetch(0, &[0, usize::MAX]);
    }

    #[test]
    fn small_buffers_are_wherever_they_are() {
        let ahead = Ahead::new(1);
        ahead.note(0, &[0; 2 << 10]);
        assert_eq!(ahead.block_of(0), None);
    }
}

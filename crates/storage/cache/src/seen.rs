//! One buffer at a time, as `v$bh` shows it.
//!
//! A look neither counts as a get nor makes a block warmer, and waits for nothing: the bytes of a
//! block whose latch can't be had at once aren't shown. The frame is pinned for the moment of the
//! look, so what is seen of one buffer belongs together (CB80).
//!
//! Callers: views.

use ids::{BlockSize, Dba};
use latch::FrameOrder;
use os::Session;

use crate::Cache;
use crate::frame::{DIRTY, READING, VACANT, WRITING};
use crate::pin::Pin;

/// What a buffer does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BufferState {
    /// No block lives there.
    Free,
    /// A block is being read.
    Reading,
    /// A block lives there.
    Current,
}

/// A buffer, with what the caller has taken from its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BufferSeen<T> {
    /// What it does.
    pub state: BufferState,
    /// The size of its blocks.
    pub block_size: BlockSize,
    /// The block that lives there.
    pub address: Option<Dba>,
    /// Whether the block was changed since its last write.
    pub is_dirty: bool,
    /// Whether a copy of it is being written.
    pub is_being_written: bool,
    /// What the caller has taken from the block's bytes; none if a session has its latch.
    pub content: Option<T>,
}

impl Cache {
    /// The number of buffers that the cache can have; those without memory included.
    pub fn buffers_max(&self) -> u32 {
        self.frames.len() as u32
    }

    /// Looks at the buffer of this number, from 0 on; none if it has no memory. `look` gets the
    /// bytes of a block that lives there, under its latch, and only computes.
    pub fn look_at_buffer<T>(
        &self,
        number: u32,
        look: impl FnOnce(&[u8]) -> T,
        session: &Session,
    ) -> Option<BufferSeen<T>> {
        let frame = &self.frames[number as usize];
        let (set, _) = frame.home_if_any(session)?;
        let mut seen = BufferSeen {
            state: BufferState::Free,
            block_size: self.pool_of_set(set).0.block_size,
            address: None,
            is_dirty: false,
            is_being_written: false,
            content: None,
        };
        frame.pin(session);
        let pin = Pin::counted(self, number, session);
        // CB3: the look at the status comes after the pin. If the status is zero, the frame keeps
        // its block until the pin goes.
        let status = frame.status.load(session);
        if status & VACANT != 0 {
            return Some(seen);
        }
        if status & READING != 0 {
            seen.state = BufferState::Reading;
            seen.address = Dba::unpack(frame.address.load(session));
        }
        if status != 0 {
            // What is left of a failed read is about to be free.
            return Some(seen);
        }
        seen.state = BufferState::Current;
        seen.address = Some(pin.address());
        let flags = frame.flags.load(session);
        seen.is_dirty = flags & (DIRTY | WRITING) != 0;
        seen.is_being_written = flags & WRITING != 0;
        let block = pin.try_shared(FrameOrder::Branch, session);
        seen.content = block.map(|block| look(&block[..]));
        Some(seen)
    }
}

//! A pin on a block, and the block's bytes under its frame's latch.
//!
//! ```text
//!   Pin ──shared──▶ SharedBlock      reads                 (PinnedBlock: both at once)
//!    └──exclusive──▶ ExclusiveBlock  reads; will_change ──▶ bytes_for_apply
//! ```
//!
//! Invariants
//!   * a pinned block stays in its frame; its bytes are touched only under the frame's latch (CB1)
//!   * bytes change only after `will_change` under the same hold of the latch (CB7, CB8)
//!
//! Callers: every crate that uses blocks; only crate `change` changes bytes (rule J4).

use std::fmt;
use std::mem;
use std::ops::Deref;

use ids::Dba;
use latch::{FrameBlock, FrameExclusiveGuard, FrameOrder, FrameSharedGuard, Pinned, PinnedShared};
use os::Session;

use crate::Cache;
use crate::frame::{Content, DIRTY, Frame};

/// A pin: the block stays in its frame until the pin is dropped. It belongs to the session that
/// made it, in whose stripe it is counted.
#[must_use = "a block without a pin may go at any time"]
pub struct Pin<'a> {
    cache: &'a Cache,
    frame: u32,
    session: &'a Session,
}

impl<'a> Pin<'a> {
    /// A pin that was counted already.
    #[inline]
    pub(crate) fn counted(cache: &'a Cache, frame: u32, session: &'a Session) -> Pin<'a> {
        Pin { cache, frame, session }
    }

    /// Gets the block's latch shared, and makes one guard of pin and latch.
    #[cold]
    pub(crate) fn into_shared(self, order: FrameOrder) -> PinnedBlock<'a> {
        let guard = self.frame().latch.shared(self.named(order), self.session);
        let pinned = PinnedFrame { cache: self.cache, number: self.frame };
        // The guard lets the pin go.
        mem::forget(self);
        PinnedBlock::held(guard.with_pin(pinned))
    }

    pub(crate) fn frame_no(&self) -> u32 {
        self.frame
    }

    #[inline]
    pub(crate) fn frame(&self) -> &'a Frame {
        &self.cache.frames[self.frame as usize]
    }

    /// The address of the block.
    #[inline]
    pub fn address(&self) -> Dba {
        self.frame().address(self.session)
    }

    /// Gets the block's latch shared. `order` is the block's place among the frames that a session
    /// latches at once, and names its class.
    #[inline]
    pub fn shared<'p>(&'p self, order: FrameOrder, session: &'p Session) -> SharedBlock<'p> {
        let content = self.frame().latch.shared(self.named(order), session);
        SharedBlock { content }
    }

    /// Gets the block's latch exclusively.
    #[inline]
    pub fn exclusive<'p>(&'p self, order: FrameOrder, session: &'p Session) -> ExclusiveBlock<'p> {
        let content = self.frame().latch.exclusive(self.named(order), session);
        ExclusiveBlock { pin: self, content, session }
    }

    /// As `shared`, but gives up rather than waits, and in any order.
    pub fn try_shared<'p>(
        &'p self,
        order: FrameOrder,
        session: &'p Session,
    ) -> Option<SharedBlock<'p>> {
        let content = self.frame().latch.try_shared(order, session)?;
        Some(SharedBlock { content })
    }

    /// As `exclusive`, but gives up rather than waits, and in any order.
    pub fn try_exclusive<'p>(
        &'p self,
        order: FrameOrder,
        session: &'p Session,
    ) -> Option<ExclusiveBlock<'p>> {
        let content = self.frame().latch.try_exclusive(order, session)?;
        Some(ExclusiveBlock { pin: self, content, session })
    }

    #[inline]
    fn named(&self, order: FrameOrder) -> FrameBlock {
        let Dba { file, block } = self.address();
        let class = class_of(order);
        FrameBlock { order, file: file.get().into(), block: block.get().into(), class }
    }
}

/// The class of a block, p3 of `buffer busy waits`, as `V$WAITSTAT` numbers them.
fn class_of(order: FrameOrder) -> u64 {
    match order {
        FrameOrder::Branch | FrameOrder::Leaf | FrameOrder::Heap => 1,
        FrameOrder::Directory | FrameOrder::SegmentHeader => 4,
        FrameOrder::FreeMap => 8,
        FrameOrder::ExtentMap => 13,
        FrameOrder::TransactionTable => 17,
        FrameOrder::Undo => 18,
    }
}

/// A clone is another pin on the same block.
impl Clone for Pin<'_> {
    fn clone(&self) -> Self {
        self.frame().pin(self.session);
        Pin { cache: self.cache, frame: self.frame, session: self.session }
    }
}

impl Drop for Pin<'_> {
    #[inline]
    fn drop(&mut self) {
        self.cache.let_go(self.frame, self.session);
    }
}

impl fmt::Debug for Pin<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pin({} in frame {})", self.address(), self.frame)
    }
}

/// A block with a pin and its latch held shared, to be read: [`Cache::pin_shared`] returns it. It
/// lets go of both when dropped.
#[must_use = "a guard that is dropped at once guards nothing"]
pub struct PinnedBlock<'a> {
    content: PinnedShared<'a, Content, PinnedFrame<'a>>,
}

/// A frame with a pin that belongs to a guard of its latch.
#[derive(Clone, Copy)]
pub(crate) struct PinnedFrame<'a> {
    pub(crate) cache: &'a Cache,
    pub(crate) number: u32,
}

impl Pinned for PinnedFrame<'_> {
    #[inline(always)]
    fn stripe_unpinned(&self, session: &Session) {
        self.cache.after_unpin(self.number, session);
    }
}

impl<'a> PinnedBlock<'a> {
    /// The block of a frame that was pinned and latched.
    #[inline]
    pub(crate) fn held(content: PinnedShared<'a, Content, PinnedFrame<'a>>) -> PinnedBlock<'a> {
        PinnedBlock { content }
    }

    /// Whether the block was never written, nor formatted since: all its bytes are zero.
    pub fn is_unwritten(&self) -> bool {
        is_unwritten(self)
    }
}

impl Deref for PinnedBlock<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.content.bytes()
    }
}

/// A block's bytes, to be read, with the latch held shared until this is dropped.
#[must_use = "a guard that is dropped at once guards nothing"]
pub struct SharedBlock<'p> {
    content: FrameSharedGuard<'p, Content>,
}

/// A block's bytes, with the latch held exclusively until this is dropped.
#[must_use = "a guard that is dropped at once guards nothing"]
pub struct ExclusiveBlock<'p> {
    pin: &'p Pin<'p>,
    content: FrameExclusiveGuard<'p, Content>,
    session: &'p Session,
}

impl SharedBlock<'_> {
    /// Whether the block was never written, nor formatted since: all its bytes are zero.
    pub fn is_unwritten(&self) -> bool {
        is_unwritten(self)
    }
}

impl ExclusiveBlock<'_> {
    /// Whether the block was never written, nor formatted since: all its bytes are zero.
    pub fn is_unwritten(&self) -> bool {
        is_unwritten(self)
    }

    /// The address of the block.
    pub fn address(&self) -> Dba {
        self.pin.address()
    }

    /// Announces a change: the block becomes dirty. The caller does this before the redo address of
    /// the change is assigned, with no redo latch held; once is enough for all changes under this
    /// guard (CB7). If no change follows, the block is written once for nothing.
    #[inline]
    pub fn will_change(&mut self) {
        if self.pin.frame().flags.load(self.session) & DIRTY != 0 {
            return;
        }
        self.enter_queue();
    }

    /// Makes the block dirty.
    fn enter_queue(&self) {
        let (cache, session) = (self.pin.cache, self.session);
        let frame = self.pin.frame();
        let (set, slot) = frame.home(session);
        let mut state = cache.sets[set as usize].state.exclusive(session);
        let low = cache.gate.position(session);
        state.enter_queue(slot, frame, low, session);
    }

    /// The block's bytes, to be changed. Only crate `change` calls this, whose `apply` is the only
    /// function that changes blocks (CB8).
    ///
    /// # Panics
    /// If `will_change` wasn't called before.
    #[inline]
    pub fn bytes_for_apply(&mut self) -> &mut [u8] {
        let flags = self.pin.frame().flags.load(self.session);
        assert!(flags & DIRTY != 0, "a block is changed that nobody said would change (CB7)");
        self.content.bytes_mut()
    }
}

impl Deref for SharedBlock<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.content.bytes()
    }
}

impl Deref for ExclusiveBlock<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.content.bytes()
    }
}

/// Whether these bytes are all zero: no block was written there. In a block one of the first five
/// bytes isn't zero, so the search is short.
#[inline]
pub fn is_unwritten(bytes: &[u8]) -> bool {
    bytes.first_chunk().is_none_or(|first| *first == [0_u8; 8])
        && bytes.iter().all(|byte| *byte == 0)
}

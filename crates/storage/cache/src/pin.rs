//! A claim on a block, and the block's bytes under its frame's latch.
//!
//! ```text
//!   Pin ──shared──▶ SharedBlock      reads                 (PinnedBlock: both at once)
//!    └──exclusive──▶ ExclusiveBlock  reads; will_change ──▶ bytes_for_apply
//! ```
//!
//! Invariants
//!   * a pinned block stays in its frame; its bytes are touched under the frame's latch only (CB1)
//!   * bytes change only after `will_change` under the same hold of the latch (CB7, CB8)
//!
//! Callers: everybody who uses blocks; bytes are changed by crate `change` alone (rule J4).

use std::fmt;
use std::mem;
use std::ops::Deref;

use ids::Dba;
use latch::{FrameBlock, FrameExclusiveGuard, FrameOrder, FrameSharedGuard, Pinned, PinnedShared};
use os::Session;

use crate::Cache;
use crate::frame::{Content, DIRTY, Frame};

/// A claim on a block: it stays in the cache. Belongs to the session that made it, in whose stripe
/// it is counted.
#[must_use = "a block without a pin may go at any time"]
pub struct Pin<'a> {
    cache: &'a Cache,
    frame: u32,
    session: &'a Session,
}

impl<'a> Pin<'a> {
    /// Of a frame whose pin was counted.
    #[inline]
    pub(crate) fn counted(cache: &'a Cache, frame: u32, session: &'a Session) -> Pin<'a> {
        Pin { cache, frame, session }
    }

    /// Gets the block's latch too, together with other readers, and makes one thing of both.
    #[cold]
    pub(crate) fn into_shared(self, order: FrameOrder) -> PinnedBlock<'a> {
        let guard = self.frame().latch.shared(self.named(order), self.session);
        let pinned = PinnedFrame { cache: self.cache, number: self.frame };
        // The pin goes over into the block.
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

    /// Which block it is.
    #[inline]
    pub fn address(&self) -> Dba {
        self.frame().address(self.session)
    }

    /// Gets the block's latch together with other readers. `order` is the block's place among
    /// frames that the session latches at once, and says its class.
    #[inline]
    pub fn shared<'p>(&'p self, order: FrameOrder, session: &'p Session) -> SharedBlock<'p> {
        let content = self.frame().latch.shared(self.named(order), session);
        SharedBlock { content }
    }

    /// Gets the block's latch alone.
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

/// One more claim on the same block.
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

/// A block pinned and its latch held together with other readers, to be read: what
/// [`Cache::pin_shared`] gives. Lets go of both when dropped.
#[must_use = "a guard that is dropped at once guards nothing"]
pub struct PinnedBlock<'a> {
    content: PinnedShared<'a, Content, PinnedFrame<'a>>,
}

/// A frame with a pin that belongs to a guard of its latch.
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
    /// Of a frame that was pinned and latched.
    #[inline]
    pub(crate) fn held(content: PinnedShared<'a, Content, PinnedFrame<'a>>) -> PinnedBlock<'a> {
        PinnedBlock { content }
    }

    /// Whether it was never written, nor formatted since: all its bytes are zero.
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

/// A block's bytes, to be read. Lets go of the latch when dropped.
#[must_use = "a guard that is dropped at once guards nothing"]
pub struct SharedBlock<'p> {
    content: FrameSharedGuard<'p, Content>,
}

/// A block's bytes, alone. Lets go of the latch when dropped.
#[must_use = "a guard that is dropped at once guards nothing"]
pub struct ExclusiveBlock<'p> {
    pin: &'p Pin<'p>,
    content: FrameExclusiveGuard<'p, Content>,
    session: &'p Session,
}

impl SharedBlock<'_> {
    /// Whether it was never written, nor formatted since: all its bytes are zero.
    pub fn is_unwritten(&self) -> bool {
        is_unwritten(self)
    }
}

impl ExclusiveBlock<'_> {
    /// Whether it was never written, nor formatted since: all its bytes are zero.
    pub fn is_unwritten(&self) -> bool {
        is_unwritten(self)
    }

    /// Which block it is.
    pub fn address(&self) -> Dba {
        self.pin.address()
    }

    /// Says that the block is going to be changed. Called before the redo address of the change is
    /// assigned, and with no redo latch held; once is enough for all changes under this guard
    /// (CB7). A change may then fail to come: the block is written once for nothing.
    #[inline]
    pub fn will_change(&mut self) {
        if self.pin.frame().flags.load(self.session) & DIRTY != 0 {
            return;
        }
        self.enter_queue();
    }

    /// The block becomes dirty.
    fn enter_queue(&self) {
        let (cache, session) = (self.pin.cache, self.session);
        let frame = self.pin.frame();
        let (set, slot) = frame.home(session);
        let mut state = cache.sets[set as usize].state.exclusive(session);
        let low = cache.gate.position(session);
        state.enter_queue(slot, frame, low, session);
    }

    /// The block's bytes, to be changed: for crate `change` only, whose `apply` is the only
    /// function that changes blocks (CB8).
    ///
    /// # Panics
    /// Without `will_change` before.
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

/// Whether these bytes are no block. In a block one of the first five isn't zero, so the search is
/// short.
pub fn is_unwritten(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

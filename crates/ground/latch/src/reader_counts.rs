//! Counts of the readers of each frame, in stripes so that processors don't write to one line.
//!
//! ```text
//!                frames 0 to 1,023            frames 1,024 to 2,047
//!   stripe 0   │ 0 │ 1 │ .. │ 1,023 │       │ 1,024 │ .. │ 2,047 │    ..      each box a page
//!   stripe 1   │ 0 │ 1 │ .. │ 1,023 │       │ 1,024 │ .. │ 2,047 │    ..
//!    ..
//!
//!   one word:   pins (upper half)   shared holds (lower half)
//! ```
//!
//! This is a distributed reader indicator: a session counts in the stripe of its thread, and a
//! thread that asks whether there is any reader looks at all stripes. See rules L12 and L13.
//!
//! Invariants
//!   * a count that was added in a stripe is removed in that stripe: a session stays with its
//!     thread (rule L4)
//!   * shared holds are in the lower half, so pins can't overflow into them, whatever the owner of
//!     the pins does: the data under a frame's latch is safe by this crate alone
//!
//! Every access is sequentially consistent, and a point at which the simulator may switch. A thread
//! that unwinds there leaves no count behind, so that destructors can get the latch.
//!
//! Source: the big-reader lock of Linux 2.4; Dice and Kogan, BRAVO (ATC '19), whose readers' table
//! is shared by all locks, where this one has a word for each.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;

use os::{Os, Session, huge_table};

use crate::parts::Holds;

/// The number of frames whose words of one stripe fill a page.
const FRAMES: u32 = 1_024;

/// The words of one stripe for one page of frames. Stripes are pages apart, not lines: a processor
/// that walks its stripe prefetches, though not beyond a page, and would prefetch the lines of
/// another stripe.
#[repr(align(4096))]
struct Page([AtomicU32; FRAMES as usize]);
const _: () = assert!(size_of::<Page>() == 4_096);

/// The most stripes. There are as many as processors, but a look at all of them should stay short.
const STRIPES_MAX: u32 = 8;
/// The least stripes, also with one processor, so that the simulator sees what may come between two
/// stripes.
const STRIPES_MIN: u32 = 2;

/// One shared hold.
const HOLD: u32 = 1;
/// One pin.
const PIN: u32 = 1 << 16;
/// The bits of the count of shared holds.
const HOLDS: u32 = PIN - 1;
/// The bits of the count of pins.
const PINS: u32 = !HOLDS;
/// The limit of a count. It is more than the sessions of one stripe times the pins of one session
/// on a block can ever be, and half of what the bits can hold.
const COUNT_MAX: u32 = 1 << 15;
/// The bits of a word which say that one of its counts has reached the limit.
const FULL: u32 = COUNT_MAX * (PIN + HOLD);

/// The pins and shared holds of a number of frames.
pub struct ReaderCounts {
    /// The pages, by stripe, then by frame.
    pages: Arc<[Page]>,
    stripes: u32,
    /// The number of pages in a stripe.
    pages_each: u32,
}

impl ReaderCounts {
    /// Counts for this number of frames, numbered from 0.
    pub fn new(os: &Os, frames: u32) -> Arc<ReaderCounts> {
        let stripes = os.cpu_count().clamp(STRIPES_MIN, STRIPES_MAX).next_power_of_two();
        let pages_each = frames.div_ceil(FRAMES);
        let page = |_| Page(std::array::from_fn(|_| AtomicU32::new(0)));
        let pages = huge_table((stripes * pages_each) as usize, page);
        Arc::new(ReaderCounts { pages, stripes, pages_each })
    }

    /// Counts one more pin of this frame, in the stripe of the session.
    #[inline]
    pub(crate) fn pin(&self, frame: u32, session: &Session) {
        session.interleave();
        add(self.own(frame, session), PIN);
    }

    /// Removes one pin of this frame that this session has counted. Returns whether it was the last
    /// one of its stripe.
    #[inline]
    pub(crate) fn unpin(&self, frame: u32, session: &Session) -> bool {
        let word = self.own(frame, session);
        session.interleave_or(|| drop_counts(word, PIN));
        subtract(word, PIN) / PIN == 0
    }

    /// Counts a pin and a shared hold of this frame in one step. Returns the word in which they are
    /// counted.
    #[inline]
    pub(crate) fn pin_and_enter(&self, frame: u32, session: &Session) -> &AtomicU32 {
        session.interleave();
        let word = self.own(frame, session);
        add(word, PIN + HOLD);
        session.interleave_or(|| drop_counts(word, PIN + HOLD));
        word
    }

    /// Whether any stripe has a pin of this frame. The stripes are read one after the other.
    pub(crate) fn has_pins(&self, frame: u32, session: &Session) -> bool {
        self.any(frame, PINS, session)
    }

    /// The shared holds of this frame's latch, as this session counts them.
    #[inline]
    pub(crate) fn holds<'a>(&'a self, frame: u32, session: &'a Session) -> FrameHolds<'a> {
        FrameHolds { counts: self, frame, session }
    }

    #[inline]
    fn any(&self, frame: u32, what: u32, session: &Session) -> bool {
        (0..self.stripes).any(|stripe| {
            session.interleave();
            self.word(frame, stripe).load(SeqCst) & what != 0
        })
    }

    /// The word of the session's stripe.
    #[inline]
    pub(crate) fn own(&self, frame: u32, session: &Session) -> &AtomicU32 {
        self.word(frame, session.thread().0 & (self.stripes - 1))
    }

    #[inline]
    fn word(&self, frame: u32, stripe: u32) -> &AtomicU32 {
        let page = stripe * self.pages_each + frame / FRAMES;
        &self.pages[page as usize].0[(frame % FRAMES) as usize]
    }
}

impl fmt::Debug for ReaderCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReaderCounts({} stripes of {} pages)", self.stripes, self.pages_each)
    }
}

/// Removes a pin and a shared hold in one step. Returns which of the two was the last one of its
/// stripe.
#[inline]
pub(crate) fn leave_and_unpin(word: &AtomicU32, session: &Session) -> (bool, bool) {
    session.interleave_or(|| drop_counts(word, PIN + HOLD));
    let left = subtract(word, PIN + HOLD);
    session.interleave();
    (left & HOLDS == 0, left / PIN == 0)
}

#[inline]
fn add(word: &AtomicU32, amount: u32) {
    let before = word.fetch_add(amount, SeqCst);
    if before & FULL != 0 {
        // A caller that catches the panic and comes again and again must not bring the count round
        // to zero.
        word.fetch_sub(amount, SeqCst);
        panic!("a block is pinned or latched {COUNT_MAX} times: that leaks");
    }
}

/// Subtracts. Returns the value left.
#[inline]
fn subtract(word: &AtomicU32, amount: u32) -> u32 {
    let before = word.fetch_sub(amount, SeqCst);
    let left = before.wrapping_sub(amount);
    // A count that was zero is now at its maximum.
    assert!(left & FULL == 0, "a block is let go that isn't held: {before:#x}");
    left
}

/// Subtracts for a thread that unwinds. It wakes no thread: all unwind.
fn drop_counts(word: &AtomicU32, amount: u32) {
    subtract(word, amount);
}

/// The shared holds of one frame's latch.
pub(crate) struct FrameHolds<'a> {
    counts: &'a ReaderCounts,
    frame: u32,
    session: &'a Session,
}

impl Holds for FrameHolds<'_> {
    /// A simulation that stops unwinds its threads.
    const UNWINDS: bool = true;

    #[inline]
    fn enter(&self) {
        let word = self.counts.own(self.frame, self.session);
        add(word, HOLD);
        self.session.interleave_or(|| drop_counts(word, HOLD));
    }

    #[inline]
    fn leave(&self) -> bool {
        let left = subtract(self.counts.own(self.frame, self.session), HOLD);
        self.session.interleave();
        left & HOLDS == 0
    }

    #[inline]
    fn any(&self) -> bool {
        self.counts.any(self.frame, HOLDS, self.session)
    }
}

//! The state of a latch as a number, and its transitions as pure functions.
//!
//! ```text
//!                 take shared                     take exclusive
//!      Shared(n) ◀─────────────── Free ───────────────────────────▶ Exclusive
//!       │    ▲  ▲                  ▲ ▲                                │    │
//!       │    │  └─ take shared,    │ └──── let go, no reader waits ───┘    │
//!       │    │     no writer waits │                                       │
//!       └────┼── the last lets go ─┘                                       │
//!            └──── let go with n readers waiting: all n have it ───────────┘
//! ```
//!
//! Facts that hold in each state
//!   * never shared and exclusive at once
//!   * a reader waits only while the latch is exclusive or a writer waits
//!   * the phase changes only when waiting readers are let in; a waiting reader has the latch as
//!     soon as the phase differs from the one in which it came. The phase rarely changes twice
//!     before the reader looks, because the readers let in keep every writer out until they
//!     release; but writers that unwind out of their waits change it too, so phases are counted, in
//!     14 bits.
//!
//! Fairness (rule L7): a waiting writer stops new readers; a writer that releases admits every
//! waiting reader before another writer. So each side waits for one turn of the other at most. This
//! is the phase-fair order of Brandenburg and Anderson (2010), with blocking instead of spinning.
//! Writers have no order among themselves: one that comes at the right moment may overtake one that
//! is still waking up. So a hot latch doesn't move at the pace of the scheduler.

use std::fmt;

/// Holders, waiters and phase in one word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct State(pub(crate) u64);

/// Bits for each of the three counts, enough for more threads than a process has.
const COUNT_BITS: u32 = 16;
const COUNT_MAX: u64 = (1 << COUNT_BITS) - 1;

/// One reader that has the latch.
pub(crate) const READER: u64 = 1;
const WAITING_READER: u64 = 1 << COUNT_BITS;
const WAITING_WRITER: u64 = 1 << (2 * COUNT_BITS);
const EXCLUSIVE: u64 = 1 << (3 * COUNT_BITS);
/// For a striped latch: the writer that has it sleeps until the readers inside have left.
pub(crate) const DRAINING: u64 = EXCLUSIVE << 1;
/// One change of the phase. Phases are counted in the remaining bits and wrap around.
const PHASE: u64 = DRAINING << 1;

const READERS: u64 = COUNT_MAX * READER;
const WAITING_READERS: u64 = COUNT_MAX * WAITING_READER;
const WAITING_WRITERS: u64 = COUNT_MAX * WAITING_WRITER;

impl State {
    pub(crate) const FREE: State = State(0);

    pub(crate) fn readers(self) -> u64 {
        self.0 & READERS
    }

    pub(crate) fn is_exclusive(self) -> bool {
        self.0 & EXCLUSIVE != 0
    }

    pub(crate) fn waiting_readers(self) -> u64 {
        (self.0 & WAITING_READERS) / WAITING_READER
    }

    pub(crate) fn waiting_writers(self) -> u64 {
        (self.0 & WAITING_WRITERS) / WAITING_WRITER
    }

    pub(crate) fn phase(self) -> u64 {
        self.0 / PHASE
    }

    pub(crate) fn is_draining(self) -> bool {
        self.0 & DRAINING != 0
    }

    /// Whether no reader may come in because a writer has the latch or waits for it.
    #[inline]
    pub(crate) fn keeps_readers_out(self) -> bool {
        self.0 & (EXCLUSIVE | WAITING_WRITERS) != 0
    }

    /// Adds a reader as holder; `None` while a writer has the latch or waits for it.
    #[inline]
    pub(crate) fn take_shared(self) -> Option<State> {
        (!self.keeps_readers_out()).then(|| State(self.0 + READER))
    }

    /// Makes a writer the holder; `None` while any thread has the latch.
    #[inline]
    pub(crate) fn take_exclusive(self) -> Option<State> {
        (self.0 & (EXCLUSIVE | READERS) == 0).then(|| State(self.0 + EXCLUSIVE))
    }

    /// Makes a waiting writer the holder; it no longer waits.
    pub(crate) fn take_exclusive_waited(self) -> Option<State> {
        self.take_exclusive().map(|taken| State(taken.0 - WAITING_WRITER))
    }

    /// Adds a waiting reader.
    pub(crate) fn reader_waits(self) -> State {
        assert!(self.waiting_readers() < COUNT_MAX, "65,535 readers wait for one latch");
        State(self.0 + WAITING_READER)
    }

    /// Adds a waiting writer.
    pub(crate) fn writer_waits(self) -> State {
        assert!(self.waiting_writers() < COUNT_MAX, "65,535 writers wait for one latch");
        State(self.0 + WAITING_WRITER)
    }

    /// Removes a waiting reader that came in this phase; if it was let in meanwhile, it releases.
    pub(crate) fn reader_gives_up(self, phase: u64) -> State {
        match self.phase() == phase {
            true => State(self.0 - WAITING_READER),
            false => State(self.0 - READER),
        }
    }

    /// Removes a waiting writer. The last one kept readers waiting, which are then let in.
    pub(crate) fn writer_gives_up(self) -> State {
        let left = State(self.0 - WAITING_WRITER);
        match left.keeps_readers_out() || left.waiting_readers() == 0 {
            true => left,
            false => left.let_readers_in(),
        }
    }

    /// Makes every waiting reader a holder; the readers see that by the phase.
    fn let_readers_in(self) -> State {
        let waiting = self.waiting_readers();
        State((self.0 & !WAITING_READERS).wrapping_add(PHASE) + waiting * READER)
    }

    /// Releases the writer's hold to every waiting reader.
    #[inline]
    pub(crate) fn release_exclusive(self) -> State {
        assert!(self.is_exclusive(), "a latch is let go that isn't held: {self:?}");
        let left = State(self.0 - EXCLUSIVE);
        if left.waiting_readers() == 0 { left } else { left.let_readers_in() }
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.is_exclusive(), self.readers()) {
            (true, 0) => write!(f, "exclusive")?,
            (false, 0) => write!(f, "free")?,
            (_, readers) => write!(f, "shared by {readers}")?,
        }
        let (readers, writers) = (self.waiting_readers(), self.waiting_writers());
        write!(f, ", {readers} readers and {writers} writers wait")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared(readers: u64) -> State {
        (0..readers).fold(State::FREE, |state, _| state.take_shared().expect("no writer"))
    }

    /// Many readers or one writer, never both.
    #[test]
    fn readers_share_and_a_writer_excludes() {
        assert_eq!(shared(3).readers(), 3);
        assert_eq!(shared(1).take_exclusive(), None);
        let exclusive = State::FREE.take_exclusive().expect("free");
        assert_eq!((exclusive.take_exclusive(), exclusive.take_shared()), (None, None));
        assert_eq!(exclusive.release_exclusive(), State::FREE);
    }

    /// The highest phase fills the highest bits of the word.
    #[test]
    fn in_the_highest_phase_nobody_takes_what_is_held() {
        let highest = State(u64::MAX - (PHASE - 1));
        assert_eq!(highest.phase(), u64::MAX / PHASE);
        let held = State(highest.0 | EXCLUSIVE | DRAINING);
        assert_eq!((held.take_exclusive(), held.take_shared()), (None, None));
        let shared = highest.take_shared().expect("no writer");
        assert_eq!((shared.readers(), shared.take_exclusive()), (1, None));
    }

    /// A waiting writer comes before the readers that come after it.
    #[test]
    fn a_waiting_writer_stops_new_readers() {
        let waits = shared(2).writer_waits();
        assert_eq!(waits.take_shared(), None);
        let last_left = State(waits.0 - 2 * READER);
        assert_eq!(last_left.take_shared(), None, "the writer isn't awake yet, and still first");
        let taken = last_left.take_exclusive_waited().expect("free for the writer");
        assert_eq!((taken.is_exclusive(), taken.waiting_writers()), (true, 0));
    }

    /// Waiting readers all get in when the writer before them releases.
    #[test]
    fn a_writer_lets_every_waiting_reader_in_before_the_next_writer() {
        let taken = State::FREE.take_exclusive().expect("free");
        let waiting = taken.writer_waits().reader_waits().reader_waits();
        let released = waiting.release_exclusive();
        assert_eq!((released.readers(), released.waiting_readers()), (2, 0));
        assert_ne!(released.phase(), waiting.phase(), "that is how the readers know");
        assert_eq!((released.waiting_writers(), released.take_exclusive_waited()), (1, None));
    }

    /// A waiter that unwinds leaves nothing behind that keeps others out.
    #[test]
    fn who_gives_up_waiting_keeps_nobody_out() {
        let taken = State::FREE.take_exclusive().expect("free");
        let waiting = taken.reader_waits().reader_waits().writer_waits();
        let phase = waiting.phase();
        let gave_up = waiting.reader_gives_up(phase).writer_gives_up();
        assert_eq!((gave_up.waiting_readers(), gave_up.waiting_writers()), (1, 0));
        let let_in = gave_up.release_exclusive();
        assert_eq!(let_in.readers(), 1);
        assert_eq!(let_in.reader_gives_up(phase).take_exclusive().map(State::readers), Some(0));
        // A reader has the latch, a writer waits, and readers wait for that writer.
        let behind = shared(1).writer_waits().reader_waits();
        let free = behind.writer_gives_up();
        assert_eq!((free.readers(), free.waiting_readers()), (2, 0));
        assert_ne!(free.phase(), behind.phase(), "that is how the reader knows");
    }

    /// Readers were let in and haven't looked yet, while one writer after the other gives up and
    /// lets in the readers behind it.
    #[test]
    fn writers_that_give_up_one_after_the_other_hide_no_permission() {
        let first = shared(1).writer_waits().reader_waits();
        let phase = first.phase();
        let second = first.writer_gives_up().writer_waits().reader_waits();
        let later_phase = second.phase();
        let free = second.writer_gives_up();
        assert_eq!((free.readers(), free.waiting_readers()), (3, 0));
        let gone = free.reader_gives_up(phase).reader_gives_up(later_phase);
        assert_eq!((gone.readers(), gone.waiting_readers()), (1, 0));
        // The phase wraps around.
        let mut last = State(u64::MAX / PHASE * PHASE);
        last = last.take_exclusive().expect("free").reader_waits().release_exclusive();
        assert_eq!((last.phase(), last.readers(), last.is_exclusive()), (0, 1, false));
    }

    /// Without a waiting reader the phase stays, so that no reader takes it for a permission.
    #[test]
    fn the_phase_changes_only_for_waiting_readers() {
        let waiting = State::FREE.take_exclusive().expect("free").writer_waits();
        assert_eq!(waiting.release_exclusive().phase(), waiting.phase());
    }

    /// The counts panic when full, before they overflow into each other.
    #[test]
    #[should_panic(expected = "65,535 writers wait")]
    fn a_full_count_is_refused() {
        let _ = State(WAITING_WRITERS).writer_waits();
    }
}

//! What a working set's latch guards: its lists, its checkpoint queue, and what is being written.
//!
//! ```text
//!    free ──claim──▶ (in use by one session) ──loaded──▶ ┌ cold    replacement    hot ┐
//!     ▲                       ▲                          └──┬──────────────────────▲──┘
//!     └── failed reads        └──── claimed: clean, cold ───┤                      │ warm
//!                                                           ▼ dirty, cold          │
//!                                                         write ──written──▶ cold end
//!
//!    checkpoint queue: every dirty frame, wherever else it is, in the order of its first
//!    change's redo address
//! ```
//!
//! Invariants
//!   * a slot is in one of the three lists or in none; `membership` says which
//!   * a slot is in the checkpoint queue exactly while its frame is dirty
//!   * the queue is sorted by `low` (CB10)
//!   * a slot is in the list of those in flight exactly while its frame is being written
//!   * a batch's low here is the lowest low of the frames of this set that it took
//!
//! Slots number the frames of a set from 0, in the order in which they came. A frame that comes
//! later gets the slot of a frame that has left, if any has.
//!
//! Callers: `victim` (search, put), `pin` (enter the queue), `writer` (refill, candidates, begin
//! and end of a write), `checkpoint` (low), `object_checkpoint` (request writes).

mod check;

use ids::Rba;
use os::Session;
use waits::Statistic;

use crate::frame::{DIRTY, Frame, WRITING};
use crate::list::{Link, List};
use crate::object_checkpoint::{BlockSet, PendingWrite};
use crate::replacement::{Half, Replacement};

/// A search gives up when one in this many of its set's frames is dirty and was passed by a search.
const SCAN_SHARE: u32 = 4;
/// The number of dirty frames that a search passes in any case.
const SCAN_MIN: u32 = 32;
/// A writer keeps one in this many of its set's frames clean at the cold end.
const RESERVE_SHARE: u32 = 8;
/// Passes over the list in one search: a first pass that finds only warm frames cools them.
const PASSES_MAX: u32 = 2;

/// The list that a slot is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Membership {
    /// In no list: a session has claimed the frame, or reads into it.
    None,
    Free,
    Replacement(Half),
    Write,
}

/// The frames of a set that one batch is writing.
struct Flight {
    batch: u64,
    /// The lowest low of the frames that it took.
    low: Rba,
    /// The number of frames that are still being written.
    frames: u32,
}

/// The guarded part of a working set.
pub(crate) struct SetState {
    /// By slot: the number of its frame, or of the last frame that it had.
    frames: Vec<u32>,
    /// Slots whose frames have left the set.
    vacated: Vec<u32>,
    memberships: Vec<Membership>,
    links: Vec<Link>,
    free: List,
    replacement: Replacement,
    /// Dirty and cold: written next, to become free.
    write: List,
    queue_links: Vec<Link>,
    queue: List,
    /// For slots in the queue: the redo position when the frame became dirty.
    lows: Vec<Rba>,
    flight_links: Vec<Link>,
    in_flight: List,
    /// For slots in flight: the low that the frame had in the queue.
    flight_lows: Vec<Rba>,
    /// The batches that have frames of this set.
    flights: Vec<Flight>,
    /// By slot: the number of its writes that have ended.
    written: Vec<u32>,
    /// Slots to be written because a session waits for these blocks, each unless its low is above
    /// this address by then.
    requested: Vec<(u32, Rba)>,
    /// Frames given out since the last refill was requested.
    claims: u32,
    refill_wanted: bool,
    /// The session that lets go of the latch next posts the writer.
    post: bool,
}

impl SetState {
    /// The state of a set without frames.
    pub(crate) fn new() -> SetState {
        SetState {
            frames: Vec::new(),
            vacated: Vec::new(),
            memberships: Vec::new(),
            links: Vec::new(),
            free: List::EMPTY,
            replacement: Replacement::EMPTY,
            write: List::EMPTY,
            queue_links: Vec::new(),
            queue: List::EMPTY,
            lows: Vec::new(),
            flight_links: Vec::new(),
            in_flight: List::EMPTY,
            flight_lows: Vec::new(),
            flights: Vec::new(),
            written: Vec::new(),
            requested: Vec::new(),
            claims: 0,
            refill_wanted: false,
            post: false,
        }
    }

    /// Adds a frame. Returns its slot, which is in no list yet.
    pub(crate) fn add(&mut self, frame: u32) -> u32 {
        if let Some(slot) = self.vacated.pop() {
            self.frames[slot as usize] = frame;
            return slot;
        }
        let slot = self.memberships.len() as u32;
        self.frames.push(frame);
        self.memberships.push(Membership::None);
        self.links.push(Link::FREE);
        self.queue_links.push(Link::FREE);
        self.lows.push(Rba::block(0, 0));
        self.flight_links.push(Link::FREE);
        self.flight_lows.push(Rba::block(0, 0));
        self.written.push(0);
        slot
    }

    /// Removes a frame that a session has claimed and in which no block lives.
    pub(crate) fn remove(&mut self, slot: u32) {
        assert_eq!(
            self.memberships[slot as usize],
            Membership::None,
            "a frame leaves that isn't claimed"
        );
        // Requested writes of it have ended, since the frame is clean.
        self.requested.retain(|(requested, _)| *requested != slot);
        self.vacated.push(slot);
    }

    /// The number of frames in the set.
    pub(crate) fn slots(&self) -> u32 {
        (self.memberships.len() - self.vacated.len()) as u32
    }

    /// The number of the frame in a slot.
    pub(crate) fn frame_of(&self, slot: u32) -> u32 {
        self.frames[slot as usize]
    }

    // Sessions

    /// Claims a victim and takes it off its list: a free frame, or else the coldest frame that is
    /// clean, unpinned and not warm. On the way it moves warm frames to the hot end and dirty ones
    /// to the write list. `None` if it finds no victim within its limit.
    pub(crate) fn search(&mut self, frames: &[Frame], session: &Session) -> Option<u32> {
        let slot = match self.free.first() {
            Some(slot) => Some(slot),
            None => (0..PASSES_MAX).find_map(|_| self.pass(frames, session)),
        };
        let Some(slot) = slot else {
            self.want_refill();
            return None;
        };
        self.give_out(slot);
        Some(slot)
    }

    /// Claims a free frame and takes it off its list.
    pub(crate) fn search_free(&mut self) -> Option<u32> {
        let slot = self.free.first()?;
        self.give_out(slot);
        Some(slot)
    }

    fn give_out(&mut self, slot: u32) {
        self.take_out(slot);
        self.claims += 1;
        if self.claims >= self.reserve().div_ceil(2) && self.free.is_empty() {
            self.want_refill();
        }
    }

    /// The number of free frames.
    pub(crate) fn free_count(&self) -> u32 {
        self.free.length()
    }

    /// Every `step`th free frame, in the order in which they are given out.
    pub(crate) fn free_frames(&self, step: usize) -> Vec<u32> {
        let all = std::iter::successors(self.free.first(), |at| List::after(&self.links, *at));
        all.step_by(step).map(|slot| self.frame_of(slot)).collect()
    }

    /// One pass from the cold end.
    fn pass(&mut self, frames: &[Frame], session: &Session) -> Option<u32> {
        let dirty_max = (self.slots() / SCAN_SHARE).max(SCAN_MIN);
        // CB15: those that searches have passed and that aren't written yet count.
        let dirty_max = dirty_max.saturating_sub(self.write.length());
        let (mut dirty, mut passed) = (0, 0);
        let mut found = None;
        let mut at = self.replacement.coldest();
        for _ in 0..self.replacement.length() {
            let Some(slot) = at else { break };
            at = self.replacement.warmer(&self.links, slot);
            let frame = &frames[self.frame_of(slot) as usize];
            if frame.is_idle(session) && !self.age(slot, frame, session) {
                let flags = frame.flags.load(session);
                if flags == 0 {
                    found = Some(slot);
                    break;
                }
                if dirty == dirty_max {
                    break;
                }
                dirty += 1;
                if flags & DIRTY != 0 {
                    self.put_write(slot);
                }
            }
            passed += 1;
        }
        session.count(Statistic::FreeBufferInspected, passed);
        session.count(Statistic::DirtyBuffersInspected, u64::from(dirty));
        found
    }

    /// Moves a warm frame to the hot end and cools it. False if it isn't warm.
    fn age(&mut self, slot: u32, frame: &Frame, session: &Session) -> bool {
        let warm = frame.cool(session);
        if warm {
            self.put_hot(slot);
        }
        warm
    }

    fn want_refill(&mut self) {
        self.post |= !self.refill_wanted;
        self.refill_wanted = true;
        self.claims = 0;
    }

    /// Whether the caller is to post the writer. True only once for each request.
    pub(crate) fn take_post(&mut self) -> bool {
        std::mem::take(&mut self.post)
    }

    /// Whether no write is under way or due that would make a frame of this set free.
    pub(crate) fn writer_has_nothing(&self) -> bool {
        self.write.is_empty() && self.in_flight.is_empty()
    }

    /// Puts a frame in which no block lives into the free list.
    pub(crate) fn put_free(&mut self, slot: u32) {
        self.take_out(slot);
        self.memberships[slot as usize] = Membership::Free;
        self.free.push_first(&mut self.links, slot);
    }

    /// Puts a frame at the hot end.
    pub(crate) fn put_hot(&mut self, slot: u32) {
        self.take_out(slot);
        self.memberships[slot as usize] = Membership::Replacement(Half::Hot);
        self.replacement.push_hot(&mut self.links, slot);
        while let Some(cooled) = self.replacement.overflow(&mut self.links) {
            self.memberships[cooled as usize] = Membership::Replacement(Half::Cold);
        }
    }

    /// Puts a frame whose block was just read at the midpoint.
    pub(crate) fn put_midpoint(&mut self, slot: u32) {
        self.take_out(slot);
        self.memberships[slot as usize] = Membership::Replacement(Half::Cold);
        self.replacement.push_midpoint(&mut self.links, slot);
    }

    /// Puts a frame at the cold end: it is the next victim.
    fn put_cold(&mut self, slot: u32) {
        self.take_out(slot);
        self.memberships[slot as usize] = Membership::Replacement(Half::Cold);
        self.replacement.push_cold(&mut self.links, slot);
    }

    fn put_write(&mut self, slot: u32) {
        self.take_out(slot);
        self.memberships[slot as usize] = Membership::Write;
        self.write.push_last(&mut self.links, slot);
    }

    fn take_out(&mut self, slot: u32) {
        let list = match std::mem::replace(&mut self.memberships[slot as usize], Membership::None) {
            Membership::None => return,
            Membership::Replacement(half) => {
                return self.replacement.remove(&mut self.links, slot, half);
            }
            Membership::Free => &mut self.free,
            Membership::Write => &mut self.write,
        };
        list.remove(&mut self.links, slot);
    }

    fn reserve(&self) -> u32 {
        (self.slots() / RESERVE_SHARE).max(1)
    }

    // The checkpoint queue

    /// Marks a frame dirty and appends it to the queue. `low` is the redo position, which the
    /// caller has read under this latch.
    pub(crate) fn enter_queue(&mut self, slot: u32, frame: &Frame, low: Rba, session: &Session) {
        let youngest = self.queue.last().map(|last| self.lows[last as usize]);
        assert!(youngest <= Some(low), "the redo position goes back (CB10)");
        self.lows[slot as usize] = low;
        self.queue.push_last(&mut self.queue_links, slot);
        let before = frame.flags.fetch_or(DIRTY, session);
        assert!(before & DIRTY == 0, "a frame enters the checkpoint queue twice");
    }

    /// The number of dirty frames.
    pub(crate) fn queue_length(&self) -> u32 {
        self.queue.length()
    }

    /// The redo address below which every change of this set's blocks is on disk. `None` if all
    /// changes are.
    pub(crate) fn low(&self) -> Option<Rba> {
        self.queue_low().into_iter().chain(self.flights.iter().map(|flight| flight.low)).min()
    }

    /// The lowest address at which a frame of the queue became dirty.
    pub(crate) fn queue_low(&self) -> Option<Rba> {
        self.queue.first().map(|slot| self.lows[slot as usize])
    }

    // Checkpoints of some blocks

    /// Requests a write of each of these blocks that became dirty at `until` or below. Appends to
    /// `found` those, and the blocks that are being written and became dirty there.
    pub(crate) fn request_writes(
        &mut self,
        frames: &[Frame],
        blocks: &BlockSet,
        until: Rba,
        found: &mut Vec<PendingWrite>,
        session: &Session,
    ) {
        let SetState { queue_links, flight_links, lows, flight_lows, requested, written, .. } =
            self;
        let numbers = &self.frames;
        let mut at = |slot: u32, writes: u32| {
            let frame = numbers[slot as usize];
            let address = frames[frame as usize].address(session);
            let until = written[slot as usize].wrapping_add(writes);
            let is_meant = blocks.holds(address);
            if is_meant {
                let home = frames[frame as usize].home(session);
                found.push(PendingWrite { frame, home, address, until });
            }
            is_meant
        };
        let next = |slot: &u32| List::after(queue_links, *slot);
        let queued = std::iter::successors(self.queue.first(), next);
        for slot in queued.take_while(|slot| lows[*slot as usize] <= until) {
            // A write under way has an older version of the block.
            let frame = &frames[numbers[slot as usize] as usize];
            let is_in_flight = frame.flags.load(session) & WRITING != 0;
            if at(slot, if is_in_flight { 2 } else { 1 }) {
                requested.push((slot, until));
            }
        }
        let next = |slot: &u32| List::after(flight_links, *slot);
        for slot in std::iter::successors(self.in_flight.first(), next) {
            if flight_lows[slot as usize] <= until {
                at(slot, 1);
            }
        }
    }

    /// Whether this slot's write number `until` is still to end.
    pub(crate) fn is_pending(&self, slot: u32, until: u32) -> bool {
        until.wrapping_sub(self.written[slot as usize]).cast_signed() > 0
    }

    /// Whether writes are requested.
    pub(crate) fn has_requests(&self) -> bool {
        !self.requested.is_empty()
    }

    /// Appends up to `most` frames whose writes are requested. Requests that were met are
    /// forgotten.
    pub(crate) fn requested_candidates(
        &mut self,
        frames: &[Frame],
        most: usize,
        candidates: &mut Vec<u32>,
        session: &Session,
    ) {
        let SetState { requested, lows, frames: numbers, .. } = self;
        requested.retain(|(slot, until)| {
            let frame = &frames[numbers[*slot as usize] as usize];
            frame.flags.load(session) & DIRTY != 0 && lows[*slot as usize] <= *until
        });
        candidates.extend(requested.iter().take(most).map(|(slot, _)| numbers[*slot as usize]));
    }

    // The writer

    /// If a refill is wanted, moves the dirty frames of the reserve at the cold end to the write
    /// list.
    pub(crate) fn refill(&mut self, frames: &[Frame], session: &Session) {
        if !std::mem::take(&mut self.refill_wanted) {
            return;
        }
        let mut at = self.replacement.coldest();
        for _ in 0..self.reserve().min(self.replacement.length()) {
            let Some(slot) = at else { break };
            at = self.replacement.warmer(&self.links, slot);
            let frame = &frames[self.frame_of(slot) as usize];
            if !frame.is_idle(session) || self.age(slot, frame, session) {
                continue;
            }
            if frame.flags.load(session) & DIRTY != 0 {
                self.put_write(slot);
            }
        }
    }

    /// Appends up to `most` frames of the write list.
    pub(crate) fn write_candidates(&self, most: usize, candidates: &mut Vec<u32>) {
        let all = std::iter::successors(self.write.first(), |at| List::after(&self.links, *at));
        candidates.extend(all.take(most).map(|slot| self.frame_of(slot)));
    }

    /// Appends up to `most` frames that became dirty below `target`, the oldest first.
    pub(crate) fn queue_candidates(&self, target: Rba, most: usize, candidates: &mut Vec<u32>) {
        let next = |at: &u32| List::after(&self.queue_links, *at);
        let all = std::iter::successors(self.queue.first(), next);
        let old = all.take_while(|slot| self.lows[*slot as usize] < target);
        candidates.extend(old.take(most).map(|slot| self.frame_of(slot)));
    }

    /// Marks a frame as being written in this batch, and clean. The caller holds the frame's latch.
    pub(crate) fn begin_write(&mut self, slot: u32, frame: &Frame, batch: u64, session: &Session) {
        // CB5: before DIRTY is cleared, since a session that has claimed the frame looks without
        // this latch.
        let before = frame.flags.fetch_or(WRITING, session);
        assert!(before & WRITING == 0, "a frame is written twice at once");
        let low = self.leave_queue(slot, frame, session);
        self.in_flight.push_last(&mut self.flight_links, slot);
        self.flight_lows[slot as usize] = low;
        match self.flights.iter_mut().find(|flight| flight.batch == batch) {
            Some(flight) => {
                flight.low = flight.low.min(low);
                flight.frames += 1;
            }
            None => self.flights.push(Flight { batch, low, frames: 1 }),
        }
    }

    /// Ends the writes of these slots, whose copies this batch took and which are on disk.
    pub(crate) fn end_writes<'f>(
        &mut self,
        batch: u64,
        slots: impl Iterator<Item = (u32, &'f Frame)>,
        session: &Session,
    ) {
        let place = self.flights.iter().position(|flight| flight.batch == batch);
        let place = place.expect("a batch ends that took no frame of this set");
        for (slot, frame) in slots {
            self.flights[place].frames -= 1;
            let before = frame.flags.fetch_and(!WRITING, session);
            assert!(before & WRITING != 0, "a frame was written that wasn't being written");
            self.in_flight.remove(&mut self.flight_links, slot);
            self.after_write(slot, before & DIRTY != 0);
        }
        if self.flights[place].frames == 0 {
            self.flights.swap_remove(place);
        }
    }

    /// Makes a frame clean without a write, since its block was never formatted.
    pub(crate) fn clean_unwritten(&mut self, slot: u32, frame: &Frame, session: &Session) {
        let _ = self.leave_queue(slot, frame, session);
        self.after_write(slot, false);
    }

    fn leave_queue(&mut self, slot: u32, frame: &Frame, session: &Session) -> Rba {
        let before = frame.flags.fetch_and(!DIRTY, session);
        assert!(before & DIRTY != 0, "a clean frame leaves the checkpoint queue");
        self.queue.remove(&mut self.queue_links, slot);
        self.lows[slot as usize]
    }

    /// Makes a frame of the write list the next victim. If it was changed again it is in use, and
    /// goes to the hot end.
    fn after_write(&mut self, slot: u32, dirty_again: bool) {
        let written = &mut self.written[slot as usize];
        *written = written.wrapping_add(1);
        match self.memberships[slot as usize] {
            Membership::Write if dirty_again => self.put_hot(slot),
            Membership::Write => self.put_cold(slot),
            Membership::None | Membership::Free | Membership::Replacement(_) => {}
        }
    }
}

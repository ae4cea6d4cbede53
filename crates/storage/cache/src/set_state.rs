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
//!   * a slot is in one of the three lists or in none; `place` says which
//!   * a slot is in the checkpoint queue exactly while its frame is dirty
//!   * the queue is sorted by `low` (CB10)
//!   * a slot is in the list of those in flight exactly while its frame is being written
//!   * the low of a flight is the lowest of those that the frames had which were taken into it
//!
//! Slots number the frames of a set from 0, in the order in which they came; one that comes later
//! gets the slot of one that has left, if any has.
//!
//! Callers: `victim` (search, put), `pin` (enter the queue), `writer` (refill, candidates, take,
//! finish), `checkpoint` (low), `object_checkpoint` (ask).

mod check;

use ids::Rba;
use os::Session;
use waits::Statistic;

use crate::frame::{DIRTY, Frame, WRITING};
use crate::list::{Link, List};
use crate::object_checkpoint::{Awaited, Spans};
use crate::replacement::{Half, Replacement};

/// A search passes so large a share of its set's frames that are dirty, then gives up: one in ...
const SCAN_SHARE: u32 = 4;
/// But at least so many.
const SCAN_MIN: u32 = 32;
/// A writer keeps clean so large a share of its set's frames at the cold end: one in ...
const RESERVE_SHARE: u32 = 8;
/// Passes over the list in one search: a first that finds only warm frames leaves them cooler.
const PASSES_MAX: u32 = 2;

/// In which list a slot is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    /// In none: some session has claimed it or reads into it.
    Nowhere,
    Free,
    Replacement(Half),
    Write,
}

/// What a batch has of a set.
struct Flight {
    batch: u64,
    /// The lowest low of the frames that it took.
    low: Rba,
    /// So many of these are still being written.
    frames: u32,
}

/// The guarded part of a working set.
pub(crate) struct SetState {
    /// By slot: which frame it is, or was.
    frames: Vec<u32>,
    /// Slots whose frames have left the set.
    vacated: Vec<u32>,
    places: Vec<Place>,
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
    /// How many writes of this slot have ended.
    written: Vec<u32>,
    /// To be written because somebody waits for these blocks, as far as their low isn't above this.
    asked: Vec<(u32, Rba)>,
    /// Frames given out since a writer was asked for more.
    claims: u32,
    refill_wanted: bool,
    /// The writer is to be posted by whoever has the latch.
    post: bool,
}

impl SetState {
    /// Of a set without frames.
    pub(crate) fn new() -> SetState {
        SetState {
            frames: Vec::new(),
            vacated: Vec::new(),
            places: Vec::new(),
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
            asked: Vec::new(),
            claims: 0,
            refill_wanted: false,
            post: false,
        }
    }

    /// A frame more; its slot, which is on no list yet.
    pub(crate) fn add(&mut self, frame: u32) -> u32 {
        if let Some(slot) = self.vacated.pop() {
            self.frames[slot as usize] = frame;
            return slot;
        }
        let slot = self.places.len() as u32;
        self.frames.push(frame);
        self.places.push(Place::Nowhere);
        self.links.push(Link::FREE);
        self.queue_links.push(Link::FREE);
        self.lows.push(Rba::block(0, 0));
        self.flight_links.push(Link::FREE);
        self.flight_lows.push(Rba::block(0, 0));
        self.written.push(0);
        slot
    }

    /// A frame fewer: one that a session has claimed, and in which no block lives.
    pub(crate) fn remove(&mut self, slot: u32) {
        assert_eq!(self.places[slot as usize], Place::Nowhere, "a frame leaves that isn't claimed");
        // What was asked for has been written, for the frame is clean.
        self.asked.retain(|(asked, _)| *asked != slot);
        self.vacated.push(slot);
    }

    /// How many frames the set has.
    pub(crate) fn slots(&self) -> u32 {
        (self.places.len() - self.vacated.len()) as u32
    }

    /// Which frame a slot is.
    pub(crate) fn frame_of(&self, slot: u32) -> u32 {
        self.frames[slot as usize]
    }

    // Sessions

    /// Takes a frame out of the lists that could be given away: free, or the coldest that is
    /// clean, unpinned and not warm. Passing them, warm frames are moved to the hot end and dirty
    /// ones to the write list. `None` when it has found none within its limit.
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

    /// The same, of those in which no block lives.
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

    /// How many frames no block lives in.
    pub(crate) fn free_count(&self) -> u32 {
        self.free.length()
    }

    /// Of the frames in which no block lives every `step`th, in the order in which they are given
    /// out.
    pub(crate) fn free_frames(&self, step: usize) -> Vec<u32> {
        let all = std::iter::successors(self.free.first(), |at| List::after(&self.links, *at));
        all.step_by(step).map(|slot| self.frame_of(slot)).collect()
    }

    /// One pass from the cold end.
    fn pass(&mut self, frames: &[Frame], session: &Session) -> Option<u32> {
        let dirty_max = (self.slots() / SCAN_SHARE).max(SCAN_MIN);
        let (mut dirty, mut passed) = (0, 0);
        let mut found = None;
        let mut at = self.replacement.coldest();
        for _ in 0..self.replacement.length() {
            let Some(slot) = at.filter(|_| dirty < dirty_max) else { break };
            at = self.replacement.warmer(&self.links, slot);
            let frame = &frames[self.frame_of(slot) as usize];
            if frame.is_idle(session) && !self.age(slot, frame, session) {
                let flags = frame.flags.load(session);
                if flags == 0 {
                    found = Some(slot);
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

    /// Moves a warm frame to the hot end, cooler; false if it isn't warm.
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

    /// Whether the writer is to be posted; asked once.
    pub(crate) fn take_post(&mut self) -> bool {
        std::mem::take(&mut self.post)
    }

    /// Whether nothing is being written, or will be, to make frames of this set free.
    pub(crate) fn writer_has_nothing(&self) -> bool {
        self.write.is_empty() && self.in_flight.is_empty()
    }

    /// A frame in which no block lives.
    pub(crate) fn put_free(&mut self, slot: u32) {
        self.take_out(slot);
        self.places[slot as usize] = Place::Free;
        self.free.push_first(&mut self.links, slot);
    }

    /// A frame to be kept long.
    pub(crate) fn put_hot(&mut self, slot: u32) {
        self.take_out(slot);
        self.places[slot as usize] = Place::Replacement(Half::Hot);
        self.replacement.push_hot(&mut self.links, slot);
        while let Some(cooled) = self.replacement.overflow(&mut self.links) {
            self.places[cooled as usize] = Place::Replacement(Half::Cold);
        }
    }

    /// A frame with a block that was read just now.
    pub(crate) fn put_midpoint(&mut self, slot: u32) {
        self.take_out(slot);
        self.places[slot as usize] = Place::Replacement(Half::Cold);
        self.replacement.push_midpoint(&mut self.links, slot);
    }

    /// A frame to be given away next.
    fn put_cold(&mut self, slot: u32) {
        self.take_out(slot);
        self.places[slot as usize] = Place::Replacement(Half::Cold);
        self.replacement.push_cold(&mut self.links, slot);
    }

    fn put_write(&mut self, slot: u32) {
        self.take_out(slot);
        self.places[slot as usize] = Place::Write;
        self.write.push_last(&mut self.links, slot);
    }

    fn take_out(&mut self, slot: u32) {
        let list = match std::mem::replace(&mut self.places[slot as usize], Place::Nowhere) {
            Place::Nowhere => return,
            Place::Replacement(half) => {
                return self.replacement.remove(&mut self.links, slot, half);
            }
            Place::Free => &mut self.free,
            Place::Write => &mut self.write,
        };
        list.remove(&mut self.links, slot);
    }

    fn reserve(&self) -> u32 {
        (self.slots() / RESERVE_SHARE).max(1)
    }

    // The checkpoint queue

    /// The frame becomes dirty; `low` is the redo position, read under this latch.
    pub(crate) fn enter_queue(&mut self, slot: u32, frame: &Frame, low: Rba, session: &Session) {
        let youngest = self.queue.last().map(|last| self.lows[last as usize]);
        assert!(youngest <= Some(low), "the redo position goes back (CB10)");
        self.lows[slot as usize] = low;
        self.queue.push_last(&mut self.queue_links, slot);
        let before = frame.flags.fetch_or(DIRTY, session);
        assert!(before & DIRTY == 0, "a frame enters the checkpoint queue twice");
    }

    /// How many frames are dirty and not being written.
    pub(crate) fn queue_length(&self) -> u32 {
        self.queue.length()
    }

    /// Every change of a block of this set below this redo address is on disk; `None`: all are.
    pub(crate) fn low(&self) -> Option<Rba> {
        self.queue_low().into_iter().chain(self.flights.iter().map(|flight| flight.low)).min()
    }

    /// The lowest address at which a frame of the queue became dirty.
    pub(crate) fn queue_low(&self) -> Option<Rba> {
        self.queue.first().map(|slot| self.lows[slot as usize])
    }

    // Checkpoints of some blocks

    /// Asks for the blocks of these spans that became dirty at `until` or below to be written.
    /// Appends to `found` these, and those that are being written and were dirty from there.
    pub(crate) fn ask(
        &mut self,
        frames: &[Frame],
        (spans, until): (&Spans, Rba),
        found: &mut Vec<Awaited>,
        session: &Session,
    ) {
        let SetState { queue_links, flight_links, lows, flight_lows, asked, written, .. } = self;
        let numbers = &self.frames;
        let mut at = |slot: u32, writes: u32| {
            let frame = numbers[slot as usize];
            let address = frames[frame as usize].address(session);
            let until = written[slot as usize].wrapping_add(writes);
            let is_meant = spans.holds(address);
            if is_meant {
                let home = frames[frame as usize].home(session);
                found.push(Awaited { frame, home, address, until });
            }
            is_meant
        };
        let next = |slot: &u32| List::after(queue_links, *slot);
        let queued = std::iter::successors(self.queue.first(), next);
        for slot in queued.take_while(|slot| lows[*slot as usize] <= until) {
            // What is on its way is an older state of it.
            let frame = &frames[numbers[slot as usize] as usize];
            let on_its_way = frame.flags.load(session) & WRITING != 0;
            if at(slot, if on_its_way { 2 } else { 1 }) {
                asked.push((slot, until));
            }
        }
        let next = |slot: &u32| List::after(flight_links, *slot);
        for slot in std::iter::successors(self.in_flight.first(), next) {
            if flight_lows[slot as usize] <= until {
                at(slot, 1);
            }
        }
    }

    /// Whether the writes that are waited for are still to end.
    pub(crate) fn is_awaited(&self, slot: u32, until: u32) -> bool {
        until.wrapping_sub(self.written[slot as usize]).cast_signed() > 0
    }

    /// Whether blocks are asked for.
    pub(crate) fn is_asked(&self) -> bool {
        !self.asked.is_empty()
    }

    /// Up to `most` frames that were asked for; those that needn't be written any more are
    /// forgotten.
    pub(crate) fn asked_candidates(
        &mut self,
        frames: &[Frame],
        most: usize,
        candidates: &mut Vec<u32>,
        session: &Session,
    ) {
        let SetState { asked, lows, frames: numbers, .. } = self;
        asked.retain(|(slot, until)| {
            let frame = &frames[numbers[*slot as usize] as usize];
            frame.flags.load(session) & DIRTY != 0 && lows[*slot as usize] <= *until
        });
        candidates.extend(asked.iter().take(most).map(|(slot, _)| numbers[*slot as usize]));
    }

    // The writer

    /// If frames are wanted: brings the reserve of clean frames at the cold end in order, by moving
    /// what is dirty there to the write list.
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

    /// Up to `most` frames to be written to become free.
    pub(crate) fn write_candidates(&self, most: usize, candidates: &mut Vec<u32>) {
        let all = std::iter::successors(self.write.first(), |at| List::after(&self.links, *at));
        candidates.extend(all.take(most).map(|slot| self.frame_of(slot)));
    }

    /// Up to `most` frames that became dirty below `target`, oldest first.
    pub(crate) fn queue_candidates(&self, target: Rba, most: usize, candidates: &mut Vec<u32>) {
        let next = |at: &u32| List::after(&self.queue_links, *at);
        let all = std::iter::successors(self.queue.first(), next);
        let old = all.take_while(|slot| self.lows[*slot as usize] < target);
        candidates.extend(old.take(most).map(|slot| self.frame_of(slot)));
    }

    /// A copy of the frame is going to be written, in this batch; with the frame's latch held.
    pub(crate) fn begin_write(&mut self, slot: u32, frame: &Frame, batch: u64, session: &Session) {
        // CB5: before it is no longer dirty: who has claimed it looks without this latch.
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

    /// The copies of these slots are on disk, which this batch took.
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

    /// There is nothing to be written, for the block has never been formatted.
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

    /// What was written to become free is the next to be given away, unless it was changed again:
    /// then it is in use after all.
    fn after_write(&mut self, slot: u32, dirty_again: bool) {
        let written = &mut self.written[slot as usize];
        *written = written.wrapping_add(1);
        match self.places[slot as usize] {
            Place::Write if dirty_again => self.put_hot(slot),
            Place::Write => self.put_cold(slot),
            Place::Nowhere | Place::Free | Place::Replacement(_) => {}
        }
    }
}

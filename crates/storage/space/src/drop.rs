//! Keeping and dropping segments (rules SP14, SP15).
//!
//! ```text
//!   entry, header: dropping ─▶ the last extents, file by file ─▶ the first extent and the entry
//!   one group                  a group each                      one group
//! ```
//!
//! A crash between two groups leaves a segment in state dropping with fewer extents. The next
//! opening goes on with it.
//!
//! Invariants
//!   * at each moment an extent is listed by a header that the directory names, or free in its map
//!   * a segment that is being dropped gets no extents and hands out no blocks
//!
//! Callers: `catalog`, for tables and indexes; `instance`, when it opens a database.

use cache::Blocks;
use change::credits_for;
use format::{ExtentMap, U32Le};
use ids::ObjectNo;
use latch::FrameOrder;
use os::Session;
use stop::{RefusalKind, Stop};
use waits::WaitEvent;

use crate::apply::{
    BEGIN_DROP, Count, EntrySlot, EntrySlotState, ExtentRun, GIVE_BACK, LAYER, LEAVE, LOSE_EXTENTS,
    SET_STATE,
};
use crate::data_file::EXTENT_MAP;
use crate::index::Entry;
use crate::room::is_taken;
use crate::segment::{extents, is_header, is_live, object_of};
use crate::{SegmentState, Space};

/// The most extents that one group gives back, so that its redo stays small.
const GIVEN_BACK_MAX: usize = 64;

impl Space {
    /// Makes a temporary segment permanent. This is durable with the redo of its change.
    pub fn keep(&self, object: ObjectNo, session: &Session) -> Result<(), Stop> {
        let _held = session.hold_off();
        let entry = self.shared.index.exclusive(session).claim(object, "keep")?;
        let state = entry.state().expect("what was claimed was made");
        let kept = match state {
            SegmentState::Temporary => self.set_permanent(&entry, session),
            other => {
                let message = format!("cannot keep segment {object}: it is {other:?} already");
                Err(Stop::refuse(RefusalKind::WrongState, message))
            }
        };
        let state = if kept.is_ok() { SegmentState::Permanent } else { state };
        self.shared.index.exclusive(session).release(object, state);
        kept
    }

    fn set_permanent(&self, entry: &Entry, session: &Session) -> Result<(), Stop> {
        let slot = entry.slot;
        let directory = self.pin(slot.block.file, slot.block.block, session)?;
        let mut group =
            self.changes().begin(credits_for(&[size_of::<EntrySlotState>()]), session)?;
        let block = directory.exclusive(FrameOrder::Directory, session);
        let (number, state) = (U32Le::new(slot.number), SegmentState::Permanent.number());
        let state = EntrySlotState { number, state };
        group.change(block, &LAYER, SET_STATE, &[state.bytes()]);
        group.commit(session);
        Ok(())
    }

    /// Drops the segment with this number: its extents are free when this returns. A drop that has
    /// begun can't be taken back; if it fails later, the next opening goes on with it. The caller
    /// has seen to it that no session uses the segment (SP15).
    pub fn drop_segment(&self, object: ObjectNo, session: &Session) -> Result<(), Stop> {
        let _held = session.hold_off();
        let entry = self.shared.index.exclusive(session).claim(object, "drop")?;
        let state = entry.state().expect("what was claimed was made");
        if let Err(stop) = self.begin_drop(&entry, session) {
            self.shared.index.exclusive(session).release(object, state);
            return Err(stop);
        }
        self.finish_drop(&entry, session)
    }

    /// Drops every segment that is temporary or in state dropping, as a crash or a failure has left
    /// it. Opening calls this before any session makes segments or takes a snapshot. Returns how
    /// many there were. The drops are durable then, so that nothing is newer than the first
    /// snapshot.
    pub fn finish_drops(&self, session: &Session) -> Result<u64, Stop> {
        let left: Vec<ObjectNo> = {
            let index = self.shared.index.shared(session);
            let is_left = |entry: &&Entry| {
                use SegmentState::{Dropping, Temporary};
                matches!(entry.state(), Some(Temporary | Dropping))
            };
            index.all().filter(is_left).map(|entry| entry.object).collect()
        };
        let mut dropped = 0;
        for object in left {
            dropped += u64::from(self.drop_leftover(object, session)?);
        }
        if dropped > 0 {
            let redo = self.changes().redo();
            redo.make_durable(redo.last_scn(session), session, WaitEvent::LogFileSync)?;
        }
        Ok(dropped)
    }

    /// Drops a segment that nothing uses. False if its header can't be used: then the segment keeps
    /// its blocks, with a notice (SP36).
    pub fn drop_leftover(&self, object: ObjectNo, session: &Session) -> Result<bool, Stop> {
        let _held = session.hold_off();
        let entry = self.shared.index.exclusive(session).claim(object, "drop")?;
        let begun = match entry.state() {
            Some(SegmentState::Dropping) => Ok(()),
            _ => self.begin_drop(&entry, session),
        };
        let Err(stop) = begun.and_then(|()| self.finish_drop(&entry, session)) else {
            return Ok(true);
        };
        let mut index = self.shared.index.exclusive(session);
        let state = index.get(object).and_then(Entry::state).expect("what was claimed was made");
        index.release(object, state);
        drop(index);
        if !stop.is_of_medium() {
            return Err(stop);
        }
        let name = &entry.name;
        session.os().notice(&format!(
            "segment {name} is nobody's and can't be dropped; its blocks stay taken until an \
             opening can: {stop}"
        ));
        Ok(false)
    }

    /// Begins the drop, which then goes on to its end whatever happens.
    fn begin_drop(&self, entry: &Entry, session: &Session) -> Result<(), Stop> {
        let (slot, header) = (entry.slot, entry.header());
        let directory = self.pin(slot.block.file, slot.block.block, session)?;
        let header = self.changes().cache().pin(header, session)?;
        let mut group =
            self.changes().begin(credits_for(&[size_of::<EntrySlotState>(), 0]), session)?;
        let block = directory.exclusive(FrameOrder::Directory, session);
        let header = header.exclusive(FrameOrder::SegmentHeader, session);
        check_is_of(&header, entry, false)?;
        let (number, state) = (U32Le::new(slot.number), SegmentState::Dropping.number());
        let state = EntrySlotState { number, state };
        group.change(block, &LAYER, SET_STATE, &[state.bytes()]);
        group.change(header, &LAYER, BEGIN_DROP, &[]);
        group.commit(session);
        self.shared.index.exclusive(session).begin_drop(entry.object);
        Ok(())
    }

    /// Gives back the extents that it still has, and then its entry.
    fn finish_drop(&self, entry: &Entry, session: &Session) -> Result<(), Stop> {
        while self.give_back_last(entry, session)? {}
        self.give_back_first(entry, session)?;
        self.shared.index.exclusive(session).remove(entry.object);
        self.shared.emptied.forget(entry.header(), session);
        Ok(())
    }

    /// Gives back its last extents, as many as lie in one file. False if it has only its first.
    fn give_back_last(&self, entry: &Entry, session: &Session) -> Result<bool, Stop> {
        let pin = self.changes().cache().pin(entry.header(), session)?;
        // No other session changes the header any more, so what is read here stays so.
        let last = {
            let header = pin.shared(FrameOrder::SegmentHeader, session);
            check_is_of(&header, entry, true)?;
            last_of_one_file(&header)
        };
        let Some(extent) = last.first() else { return Ok(false) };
        let file = extent.first.file;
        let map = self.pin(file, EXTENT_MAP, session)?;
        let credits = credits_for(&[size_of::<Count>(), last.len() * size_of::<ExtentRun>()]);
        let mut group = self.changes().begin(credits, session)?;
        let header = pin.exclusive(FrameOrder::SegmentHeader, session);
        let map = map.exclusive(FrameOrder::ExtentMap, session);
        let size = self.tablespace_of(file, session).extent_blocks;
        let runs: Vec<ExtentRun> = last.iter().map(|run| run_of(&map, *run, size)).collect();
        if !runs.iter().all(|run| is_all_taken(&map, run)) {
            return Err(older_header(entry));
        }
        let runs: Vec<&[u8]> = runs.iter().map(ExtentRun::bytes).collect();
        let count = Count { count: U32Le::new(last.len() as u32) };
        group.change(header, &LAYER, LOSE_EXTENTS, &[count.bytes()]);
        group.change(map, &LAYER, GIVE_BACK, &runs);
        group.commit(session);
        Ok(true)
    }

    /// Gives back the first extent, with the header in it, together with the entry.
    fn give_back_first(&self, entry: &Entry, session: &Session) -> Result<(), Stop> {
        let slot = entry.slot;
        let run = {
            let pin = self.changes().cache().pin(entry.header(), session)?;
            let header = pin.shared(FrameOrder::SegmentHeader, session);
            extents(&header).next().expect("a segment has an extent")
        };
        let directory = self.pin(slot.block.file, slot.block.block, session)?;
        let map = self.pin(run.first.file, EXTENT_MAP, session)?;
        let mut group = self
            .changes()
            .begin(credits_for(&[size_of::<EntrySlot>(), size_of::<ExtentRun>()]), session)?;
        let directory = directory.exclusive(FrameOrder::Directory, session);
        let map = map.exclusive(FrameOrder::ExtentMap, session);
        let size = self.tablespace_of(run.first.file, session).extent_blocks;
        let run = run_of(&map, run, size);
        let entry_slot = EntrySlot { number: U32Le::new(slot.number) };
        group.change(directory, &LAYER, LEAVE, &[entry_slot.bytes()]);
        group.change(map, &LAYER, GIVE_BACK, &[run.bytes()]);
        group.commit(session);
        Ok(())
    }
}

/// The last extents of a header that lie in one file, without the first extent of the segment.
fn last_of_one_file(header: &[u8]) -> Vec<Blocks> {
    let mut all: Vec<Blocks> = extents(header).skip(1).collect();
    let Some(file) = all.last().map(|run| run.first.file) else { return all };
    let count = all.iter().rev().take_while(|run| run.first.file == file).count();
    all.split_off(all.len() - count.min(GIVEN_BACK_MAX))
}

/// A run of blocks as a run of extents of its file.
fn run_of(map: &[u8], run: Blocks, extent_blocks: u32) -> ExtentRun {
    let begin = ExtentMap::at(map, ExtentMap::START).first_block.get();
    let number = (run.first.block.get() - begin) / extent_blocks;
    ExtentRun { first: U32Le::new(number), count: U32Le::new(run.count / extent_blocks) }
}

fn is_all_taken(map: &[u8], run: &ExtentRun) -> bool {
    let (first, count) = (run.first.get(), run.count.get());
    (first..first + count).all(|number| is_taken(map, number))
}

/// Refuses a header that isn't the one that the directory names (SP13): then the medium has another
/// block there. Also refuses one whose state isn't the directory's (SP14): then one of both is an
/// older version.
fn check_is_of(header: &[u8], entry: &Entry, is_dropping: bool) -> Result<(), Stop> {
    if !is_header(header) || object_of(header) != Some(entry.object) {
        let (name, at) = (&entry.name, entry.header());
        let message = format!("block {at} isn't the header of segment {name}; verify the database");
        return Err(Stop::refuse(RefusalKind::Corrupt, message));
    }
    match is_live(header) != is_dropping {
        true => Ok(()),
        false => Err(older_header(entry)),
    }
}

/// The refusal of a header of another time: a write was lost, or an older block was put back.
fn older_header(entry: &Entry) -> Stop {
    let (name, at) = (&entry.name, entry.header());
    let message = format!(
        "block {at}, the header of segment {name}, and what the directory and the extent maps say \
         of it are of different times; verify the database"
    );
    Stop::refuse(RefusalKind::Corrupt, message)
}

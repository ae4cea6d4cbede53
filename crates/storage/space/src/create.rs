//! Making segments, permanent or temporary (rules SP6, SP13).
//!
//! ```text
//!   name, number and slot ─▶ a free extent ─▶ one group: entry, header, extent map
//!   reserved in memory       is found
//! ```
//!
//! Callers: `undo` and `access`, for their segments; `directory`, for its own.

use cache::Pin;
use change::credits_for;
use format::{DbaLe, DirectoryEntry, Extent, SegmentHeader, U16Le, U32Le};
use ids::{BlockNo, Dba};
use latch::FrameOrder;
use os::Session;
use stop::{RefusalKind, Stop};

use crate::ahead::free_count;
use crate::apply::{ENTER, EntrySlot, ExtentRun, FORMAT, LAYER, TAKE};
use crate::data_file::EXTENT_MAP;
use crate::index::Entry;
use crate::room::{Skipped, extent, first_block, is_taken};
use crate::segment::stored_name;
use crate::{Holds, Segment, SegmentState, Space, TablespaceContent};

/// The most unreadable extents that a statement which makes a segment meets before it is refused: a
/// device that is gone doesn't hold it up for long.
const TRIED_MAX: usize = 8;

/// An extent that was free when it was found.
struct FreeExtent<'a> {
    number: u32,
    /// The extent map of its file.
    map: Pin<'a>,
    /// Its first block, which becomes the segment's header.
    header: Pin<'a>,
}

impl Space {
    /// Makes a segment in the system tablespace, with one extent.
    pub fn create(&self, name: &str, holds: Holds, session: &Session) -> Result<Segment, Stop> {
        self.create_in(&self.system(session), name, holds, SegmentState::Permanent, session)
    }

    /// Makes a segment in the tablespace of this name, with one extent.
    pub fn create_within(
        &self,
        tablespace: &str,
        name: &str,
        holds: Holds,
        session: &Session,
    ) -> Result<Segment, Stop> {
        let tablespace = self.tablespace(tablespace, session)?;
        self.create_in(&tablespace, name, holds, SegmentState::Permanent, session)
    }

    /// Makes a temporary segment in the tablespace of this name, with one extent. The next opening
    /// drops it, unless [`keep`](Space::keep) comes before.
    pub fn create_temporary(
        &self,
        tablespace: &str,
        name: &str,
        holds: Holds,
        session: &Session,
    ) -> Result<Segment, Stop> {
        let tablespace = self.tablespace(tablespace, session)?;
        self.create_in(&tablespace, name, holds, SegmentState::Temporary, session)
    }

    fn create_in(
        &self,
        tablespace: &TablespaceContent,
        name: &str,
        holds: Holds,
        state: SegmentState,
        session: &Session,
    ) -> Result<Segment, Stop> {
        let _held = session.hold_off();
        stored_name("segment", name)?;
        if holds == Holds::Directory {
            let message = format!("cannot create {name}: the directory has its segment");
            return Err(Stop::refuse(RefusalKind::Invalid, message));
        }
        let entry = loop {
            let reserved = self.shared.index.exclusive(session).reserve(name, holds)?;
            match reserved {
                Some(entry) => break entry,
                None => self.extend_directory(session)?,
            }
        };
        self.make_segment(&entry, tablespace, state, session)
    }

    /// Makes the segment for which this entry was reserved. If that fails, the entry is forgotten.
    pub(crate) fn make_segment(
        &self,
        entry: &Entry,
        tablespace: &TablespaceContent,
        state: SegmentState,
        session: &Session,
    ) -> Result<Segment, Stop> {
        let made = self.enter_segment(entry, tablespace, state, session);
        let mut index = self.shared.index.exclusive(session);
        match made {
            Ok(header) => {
                index.settle(entry.object, header, state);
                let Entry { name, object, holds, .. } = entry.clone();
                Ok(Segment { name, object, header, holds })
            }
            Err(stop) => {
                index.forget(entry);
                Err(stop)
            }
        }
    }

    /// Enters the segment into directory, header and extent map. Returns its header.
    fn enter_segment(
        &self,
        entry: &Entry,
        tablespace: &TablespaceContent,
        state: SegmentState,
        session: &Session,
    ) -> Result<Dba, Stop> {
        let (slot, name) = (entry.slot, &entry.name);
        let body = header_body(entry, tablespace);
        let directory = self.pin(slot.block.file, slot.block.block, session)?;
        // The header's block isn't known before the map is latched, and is pinned without latches.
        // So a free extent is found first, and checked again under the latch.
        loop {
            let FreeExtent { number, map, header } =
                self.free_extent(entry, tablespace, session)?;
            let address = header.address();
            let extent = extent(address, tablespace.extent_blocks);
            let stored = DirectoryEntry {
                name: stored_name("segment", name)?,
                header: DbaLe::new(address),
                object: U32Le::new(entry.object.get()),
                holds: entry.holds.number(),
                state: state.number(),
                reserved: [0; 2],
            };
            let header_bytes = body.bytes().len() + Extent::BYTES;
            let entry_bytes = size_of::<EntrySlot>() + DirectoryEntry::BYTES;
            let payloads = [entry_bytes, header_bytes, size_of::<ExtentRun>()];
            let mut group = self.changes().begin(credits_for(&payloads), session)?;
            let block = directory.exclusive(FrameOrder::Directory, session);
            let header = header.exclusive(FrameOrder::SegmentHeader, session);
            let map = map.exclusive(FrameOrder::ExtentMap, session);
            if is_taken(&map, number) {
                continue;
            }
            let left = free_count(&map) - 1;
            let entry_slot = EntrySlot { number: U32Le::new(slot.number) };
            let taken = ExtentRun { first: U32Le::new(number), count: U32Le::new(1) };
            group.change(block, &LAYER, ENTER, &[entry_slot.bytes(), stored.bytes()]);
            group.format(header, &LAYER, FORMAT, &[body.bytes(), extent.bytes()]);
            group.change(map, &LAYER, TAKE, &[taken.bytes()]);
            group.commit(session);
            self.note_taken(address.file, 1, left, session);
            return Ok(address);
        }
    }

    /// Finds a free extent for a segment; its tablespace grows if there is none. Extents whose
    /// first block can't be read are passed over (SP31).
    fn free_extent<'a>(
        &'a self,
        entry: &Entry,
        tablespace: &TablespaceContent,
        session: &'a Session,
    ) -> Result<FreeExtent<'a>, Stop> {
        let turn = entry.object.get() as usize;
        let mut skipped = self.shared.unreadable.shared(session).clone();
        let (mut tried, mut failed) = (Skipped::new(), None);
        loop {
            self.changes().halt().check(session)?;
            let free = self.find_free(tablespace.number, turn, 1, &skipped, session)?;
            let Some((file, number)) = free else {
                match self.grow(tablespace, turn, 1, &entry.name, &skipped, session) {
                    // Extents that couldn't be read some time ago may be readable by now.
                    Err(stop) if is_no_space(&stop) && skipped.len() > tried.len() => {
                        skipped.clone_from(&tried);
                    }
                    Err(stop) if is_no_space(&stop) => return Err(failed.unwrap_or(stop)),
                    grown => grown?,
                }
                continue;
            };
            let map = self.pin(file, EXTENT_MAP, session)?;
            let address = self.first_of(&map, number, tablespace, session);
            // The block is read, though it is to be formatted: until the map is latched another
            // session may take the extent, write the block and let its buffer go, and zeros in its
            // place would be wrong.
            match self.changes().cache().pin_to_format(address, session) {
                // The extent is free, and there may be others.
                Err(stop) if stop.refusal() == Some(RefusalKind::Io) => {
                    if self.shared.unreadable.exclusive(session).insert((file, number)) {
                        let line = format!("a free extent is passed over, for I {stop}");
                        session.os().notice(&line);
                    }
                    skipped.insert((file, number));
                    tried.insert((file, number));
                    if tried.len() == TRIED_MAX {
                        return Err(stop);
                    }
                    failed = Some(stop);
                }
                header => {
                    let header = header?;
                    self.shared.unreadable.exclusive(session).remove(&(file, number));
                    return Ok(FreeExtent { number, map, header });
                }
            }
        }
    }

    fn first_of(
        &self,
        map: &Pin<'_>,
        extent: u32,
        tablespace: &TablespaceContent,
        session: &Session,
    ) -> Dba {
        let file = map.address().file;
        let map = map.shared(FrameOrder::ExtentMap, session);
        let block = BlockNo::new(first_block(&map, extent, tablespace.extent_blocks));
        Dba { file, block }
    }
}

fn is_no_space(stop: &Stop) -> bool {
    stop.refusal() == Some(RefusalKind::NoSpace)
}

fn header_body(entry: &Entry, tablespace: &TablespaceContent) -> SegmentHeader {
    SegmentHeader {
        holds: entry.holds.number(),
        reserved: [0; 1],
        extents: U16Le::new(1),
        blocks: U32Le::new(tablespace.extent_blocks),
        high_water: U32Le::new(1),
        object: U32Le::new(entry.object.get()),
        reserved2: [0; 40],
        dropping: 0,
        reserved3: [0; 1],
        free_file: U16Le::ZERO,
        free_block: U32Le::ZERO,
    }
}

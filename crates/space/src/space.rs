//! Segments by name, and blocks handed out to them (rules SP4, SP6, SP8).
//!
//! Callers: `undo` and `access`, for their segments; `instance`.

use std::path::PathBuf;
use std::sync::Arc;

use cache::{ExclusiveBlock, Pin, SharedBlock};
use change::{Changes, Group, credits_for};
use format::{DbaLe, Directory, DirectoryEntry, Extent, ExtentMap, SegmentHeader, U16Le, U32Le};
use ids::{BlockNo, Dba, FileNo};
use latch::{FrameOrder, Latch, LatchKind};
use os::{Disk, File, FileOptions, Session};
use stop::{RefusalKind, Stop};
use waits::WaitEvent;

use crate::ahead::free_count;
use crate::apply::{ADD_EXTENT, ENTER, FORMAT, HAND_OUT, LAYER, TAKE, bit_of};
use crate::data_file::{DATA_FILE, DIRECTORY, EXTENT_MAP};
use crate::segment::{extents, extents_max, next_blocks, stored_name};
use crate::tablespace::Tablespaces;
use crate::{Ahead, Column, ControlFile, Enqueue, Holds, Segment, TablespaceContent, TablespaceNo};

/// A segment grows by one extent at a time while it is small, then by an eighth of what it has, so
/// that its header is enough for it, and by this many when it is large.
const EXTENTS_AT_ONCE_MAX: u32 = 16;
const GROWTH_SHARE: u32 = 8;

/// Bytes of what the extent map is told: numbers of the first extent, and how many.
const TAKE_BYTES: usize = 8;

/// The space of an open database.
#[derive(Clone)]
pub struct Space {
    changes: Changes,
    pub(crate) shared: Arc<Shared>,
}

/// What all clones share.
pub(crate) struct Shared {
    pub(crate) disk: Disk,
    pub(crate) directory: PathBuf,
    pub(crate) options: FileOptions,
    pub(crate) control: Arc<Enqueue<ControlFile>>,
    pub(crate) tablespaces: Latch<Tablespaces>,
    /// One session at a time makes files grow.
    pub(crate) growing: Enqueue<()>,
    pub(crate) ahead: Arc<Ahead>,
    /// One session at a time makes tablespaces and data files.
    pub(crate) describing: Enqueue<()>,
}

/// The files of an open database, and how to make more.
pub struct Storage {
    /// The disk.
    pub disk: Disk,
    /// The database's directory, to which paths are relative.
    pub directory: PathBuf,
    /// How data files are opened.
    pub options: FileOptions,
    /// The control file.
    pub control: Arc<Enqueue<ControlFile>>,
    /// The data files, in the order of the control file.
    pub files: Vec<File>,
}

/// Neighbouring blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Blocks {
    /// The first.
    pub first: Dba,
    /// How many.
    pub count: u32,
}

/// A segment header, latched, and the blocks that a group is about to hand out.
pub struct HandOut<'a> {
    /// The blocks.
    pub blocks: Blocks,
    header: ExclusiveBlock<'a>,
}

impl<'a> HandOut<'a> {
    /// Bytes of payload of the change.
    pub const PAYLOAD_BYTES: usize = 4;

    /// Adds the handing out to the group.
    pub fn add_to(self, group: &mut Group<'a>) {
        let count = self.blocks.count.to_le_bytes();
        group.change(self.header, &LAYER, HAND_OUT, &[&count]);
    }
}

impl Space {
    /// The space of an open database.
    pub fn open(changes: Changes, storage: Storage, session: &Session) -> Space {
        let Storage { disk, directory, options, control, files } = storage;
        let os = session.os();
        let tablespaces = {
            let control = control.hold(0, session);
            Tablespaces::new(control.content(), files)
        };
        let shared = Shared {
            disk,
            directory,
            options,
            control,
            tablespaces: Latch::new(os, LatchKind::Innermost, tablespaces),
            ahead: Ahead::new(os),
            growing: Enqueue::new(os, *b"HW", WaitEvent::EnqHwContention, ()),
            describing: Enqueue::new(os, *b"TT", WaitEvent::EnqTtContention, ()),
        };
        Space { changes, shared: Arc::new(shared) }
    }

    /// What its changes are made with.
    pub fn changes(&self) -> &Changes {
        &self.changes
    }

    /// The segment of that name.
    pub fn find(&self, name: &str, session: &Session) -> Result<Option<Segment>, Stop> {
        Ok(self.list(session)?.into_iter().find(|segment| segment.name == name))
    }

    /// Every segment.
    pub fn list(&self, session: &Session) -> Result<Vec<Segment>, Stop> {
        let entries = {
            let pin = self.pin(DATA_FILE, DIRECTORY, session)?;
            entries(&pin.shared(FrameOrder::Directory, session))
        };
        let segment = |(name, header): (String, Dba)| {
            let pin = self.changes.cache().pin(header, session)?;
            let block = pin.shared(FrameOrder::SegmentHeader, session);
            let stored = SegmentHeader::at(&block, SegmentHeader::START);
            let columns = stored.column[..usize::from(stored.columns)].iter();
            let columns = columns.map(|column| Column::from_stored(column.get())).collect();
            Ok(Segment { name, header, holds: Holds::from_number(stored.holds), columns })
        };
        entries.into_iter().map(segment).collect()
    }

    /// Makes a segment in the system tablespace, with one extent.
    pub fn create(
        &self,
        name: &str,
        holds: Holds,
        columns: &[Column],
        session: &Session,
    ) -> Result<Segment, Stop> {
        self.create_in(self.system(session), (name, holds, columns), session)
    }

    /// Makes a segment in the tablespace of this name, with one extent.
    pub fn create_within(
        &self,
        tablespace: &str,
        (name, holds, columns): (&str, Holds, &[Column]),
        session: &Session,
    ) -> Result<Segment, Stop> {
        let tablespace = self.tablespace(tablespace, session)?;
        self.create_in(tablespace, (name, holds, columns), session)
    }

    fn create_in(
        &self,
        tablespace: TablespaceContent,
        (name, holds, columns): (&str, Holds, &[Column]),
        session: &Session,
    ) -> Result<Segment, Stop> {
        let stored_name = stored_name("segment", name)?;
        let body = SegmentHeader {
            holds: holds.number(),
            columns: columns.len() as u8,
            extents: U16Le::new(1),
            blocks: U32Le::new(tablespace.extent_blocks),
            high_water: U32Le::new(1),
            reserved: [0; 4],
            column: stored_columns(columns)?,
        };
        let directory = self.pin(DATA_FILE, DIRECTORY, session)?;
        // The header's block isn't known before the map is latched, and is pinned without latches:
        // so an extent is found first, and looked at again.
        loop {
            let turn = {
                let directory = directory.shared(FrameOrder::Directory, session);
                check_directory(&directory, name)?;
                Directory::at(&directory, Directory::START).entries.get()
            };
            let free = self.find_free(tablespace.number, turn as usize, 1, session)?;
            let Some((file, number, _)) = free else {
                self.grow(&tablespace, turn as usize, name, session)?;
                continue;
            };
            let map = self.pin(file, EXTENT_MAP, session)?;
            let address = self.first_of(&map, number, &tablespace, session);
            // Read, though it is to be formatted: until the map is latched another session may take
            // the extent, write it and let its buffer go, and zeros in its place would be wrong.
            let header = self.changes.cache().pin(address, session)?;
            let extent = extent(address, tablespace.extent_blocks);
            let entry = DirectoryEntry { name: stored_name, header: DbaLe::new(address) };
            let payloads = [DirectoryEntry::BYTES, body.bytes().len() + Extent::BYTES, TAKE_BYTES];
            let mut group = self.changes.begin(credits_for(&payloads), session)?;
            let directory = directory.exclusive(FrameOrder::Directory, session);
            let header = header.exclusive(FrameOrder::SegmentHeader, session);
            let map = map.exclusive(FrameOrder::ExtentMap, session);
            check_directory(&directory, name)?;
            if is_taken(&map, number) {
                continue;
            }
            let left = free_count(&map) - 1;
            group.change(directory, &LAYER, ENTER, &[entry.bytes()]);
            group.change(header, &LAYER, FORMAT, &[body.bytes(), extent.bytes()]);
            group.change(map, &LAYER, TAKE, &[&number.to_le_bytes(), &1_u32.to_le_bytes()]);
            group.commit(session);
            self.note_taken(file, 1, left, session);
            let columns = columns.to_vec();
            return Ok(Segment { name: name.to_string(), header: address, holds, columns });
        }
    }

    /// Makes sure that the segment can hand out a block, by giving it extents; or refuses. Nothing
    /// keeps others from taking it first: look again under the latch.
    pub fn ensure_room(&self, segment: Dba, session: &Session) -> Result<(), Stop> {
        let pin = self.changes.cache().pin(segment, session)?;
        loop {
            let last = {
                let header = pin.shared(FrameOrder::SegmentHeader, session);
                if next_blocks(&header, 1).is_some() {
                    return Ok(());
                }
                extents(&header).last().expect("a segment has an extent").0.file
            };
            let tablespace = self.tablespace_of(last, session);
            // SP8: the files take turns, from extent to extent.
            let turn = self.turn_after(last, session);
            let wanted = self.extents_wanted(&pin, &tablespace, session)?;
            match self.find_free(tablespace.number, turn, wanted, session)? {
                Some((file, ..)) => {
                    if self.add_extent(&pin, (file, wanted), &tablespace, session)? {
                        return Ok(());
                    }
                }
                None => self.grow(&tablespace, turn, "a segment", session)?,
            }
        }
    }

    /// How many extents a segment is to get next; refused if its header has no room for them.
    fn extents_wanted(
        &self,
        header: &Pin<'_>,
        tablespace: &TablespaceContent,
        session: &Session,
    ) -> Result<u32, Stop> {
        let block = header.shared(FrameOrder::SegmentHeader, session);
        let stored = SegmentHeader::at(&block, SegmentHeader::START);
        if usize::from(stored.extents.get()) >= extents_max(block.len()) {
            let message = format!(
                "cannot give the segment at {} another extent: it has {}, and its header has room \
                 for no more; create the database with larger extents",
                header.address(),
                stored.extents.get()
            );
            return Err(Stop::refuse(RefusalKind::NoSpace, message));
        }
        let extents = stored.blocks.get() / tablespace.extent_blocks;
        Ok((extents / GROWTH_SHARE).clamp(1, EXTENTS_AT_ONCE_MAX))
    }

    /// Gives a segment up to `wanted` extents of a file. True if it has a block to hand out now;
    /// false if another session took what was free.
    fn add_extent(
        &self,
        pin: &Pin<'_>,
        (file, wanted): (FileNo, u32),
        tablespace: &TablespaceContent,
        session: &Session,
    ) -> Result<bool, Stop> {
        let map_pin = self.pin(file, EXTENT_MAP, session)?;
        let credits = credits_for(&[Extent::BYTES, TAKE_BYTES]);
        let mut group = self.changes.begin(credits, session)?;
        let header = pin.exclusive(FrameOrder::SegmentHeader, session);
        if next_blocks(&header, 1).is_some() {
            return Ok(true);
        }
        let stored = SegmentHeader::at(&header, SegmentHeader::START);
        if usize::from(stored.extents.get()) >= extents_max(header.len()) {
            return Ok(false);
        }
        let map = map_pin.exclusive(FrameOrder::ExtentMap, session);
        let Some((number, count)) = free_extents(&map, wanted) else { return Ok(false) };
        let left = free_count(&map) - count;
        let first = first_block(&map, number, tablespace.extent_blocks);
        let first = Dba { file, block: BlockNo::new(first) };
        let extent = extent(first, count * tablespace.extent_blocks);
        group.change(header, &LAYER, ADD_EXTENT, &[extent.bytes()]);
        group.change(map, &LAYER, TAKE, &[&number.to_le_bytes(), &count.to_le_bytes()]);
        group.commit(session);
        self.note_taken(file, count, left, session);
        Ok(true)
    }

    /// A file of the tablespace with free extents, the first such one from `turn` on: its number,
    /// and the number of the first of up to `wanted` free neighbours, and how many.
    pub(crate) fn find_free(
        &self,
        tablespace: TablespaceNo,
        turn: usize,
        wanted: u32,
        session: &Session,
    ) -> Result<Option<(FileNo, u32, u32)>, Stop> {
        for file in self.files_of(tablespace, turn, session) {
            let map = self.pin(file, EXTENT_MAP, session)?;
            let map = map.shared(FrameOrder::ExtentMap, session);
            if let Some((number, count)) = free_extents(&map, wanted) {
                return Ok(Some((file, number, count)));
            }
        }
        Ok(None)
    }

    /// Latches the header of a segment and looks for up to `count` neighbouring blocks to hand out,
    /// in a group of the caller. None if the segment has no room: let go of everything and
    /// [`ensure_room`](Space::ensure_room).
    pub fn next<'a>(
        &self,
        header: &'a Pin<'_>,
        count: u32,
        session: &'a Session,
    ) -> Option<HandOut<'a>> {
        let guard = header.exclusive(FrameOrder::SegmentHeader, session);
        let (first, count) = next_blocks(&guard, count)?;
        Some(HandOut { blocks: Blocks { first, count }, header: guard })
    }

    /// Hands out up to `count` neighbouring blocks, at least one, in a group of its own.
    pub fn hand_out(&self, segment: Dba, count: u32, session: &Session) -> Result<Blocks, Stop> {
        let pin = self.changes.cache().pin(segment, session)?;
        loop {
            self.ensure_room(segment, session)?;
            let credits = credits_for(&[HandOut::PAYLOAD_BYTES]);
            let mut group = self.changes.begin(credits, session)?;
            let Some(next) = self.next(&pin, count, session) else { continue };
            let blocks = next.blocks;
            next.add_to(&mut group);
            group.commit(session);
            return Ok(blocks);
        }
    }

    /// The blocks that a segment has handed out, its header first.
    pub fn blocks(&self, segment: Dba, session: &Session) -> Result<Vec<Blocks>, Stop> {
        let pin = self.changes.cache().pin(segment, session)?;
        let header = pin.shared(FrameOrder::SegmentHeader, session);
        let mut left = SegmentHeader::at(&header, SegmentHeader::START).high_water.get();
        let mut runs = Vec::new();
        for (first, blocks) in extents(&header) {
            let count = blocks.min(left);
            left -= count;
            if count > 0 {
                runs.push(Blocks { first, count });
            }
        }
        Ok(runs)
    }

    pub(crate) fn pin<'a>(
        &'a self,
        file: FileNo,
        block: BlockNo,
        session: &'a Session,
    ) -> Result<Pin<'a>, Stop> {
        self.changes.cache().pin(Dba { file, block }, session)
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

fn extent(first: Dba, blocks: u32) -> Extent {
    Extent {
        first: U32Le::new(first.block.get()),
        blocks: U32Le::new(blocks),
        file: U16Le::new(first.file.get()),
        reserved: [0; 2],
    }
}

pub(crate) fn first_block(map: &[u8], extent: u32, extent_blocks: u32) -> u32 {
    ExtentMap::at(map, ExtentMap::START).first_block.get() + extent * extent_blocks
}

pub(crate) fn is_taken(map: &[u8], extent: u32) -> bool {
    let (byte, bit) = bit_of(extent);
    map[byte] & bit != 0
}

/// Up to `wanted` free neighbours, by number and count: the first such run that is whole, or else
/// the longest.
fn free_extents(map: &[u8], wanted: u32) -> Option<(u32, u32)> {
    let extents = ExtentMap::at(map, ExtentMap::START).extents.get();
    let mut best: Option<(u32, u32)> = None;
    let mut number = 0;
    while number < extents {
        let free = (number..extents).take(wanted as usize);
        let run = free.take_while(|extent| !is_taken(map, *extent)).count() as u32;
        if best.is_none_or(|(_, length)| run > length) && run > 0 {
            best = Some((number, run));
        }
        if run == wanted {
            break;
        }
        number += run + 1;
    }
    best
}

fn entries(directory: &SharedBlock<'_>) -> Vec<(String, Dba)> {
    let count = Directory::at(directory, Directory::START).entries.get() as usize;
    let entry = |number| {
        let at = Directory::ENTRIES + number * DirectoryEntry::BYTES;
        let entry = DirectoryEntry::at(directory, at);
        let name = entry.name.split(|byte| *byte == 0).next().unwrap_or_default();
        (String::from_utf8_lossy(name).into_owned(), entry.header.get())
    };
    (0..count).map(entry).collect()
}

fn check_directory(directory: &[u8], name: &str) -> Result<(), Stop> {
    let count = Directory::at(directory, Directory::START).entries.get() as usize;
    let entry_at = |number| Directory::ENTRIES + number * DirectoryEntry::BYTES;
    if entry_at(count + 1) > directory.len() {
        let message = format!("cannot create {name}: the directory has room for {count} segments");
        return Err(Stop::refuse(RefusalKind::NoSpace, message));
    }
    let stored = stored_name("segment", name)?;
    if (0..count).any(|number| DirectoryEntry::at(directory, entry_at(number)).name == stored) {
        let message = format!("cannot create {name}: a segment has that name; choose another");
        return Err(Stop::refuse(RefusalKind::AlreadyExists, message));
    }
    Ok(())
}

fn stored_columns(columns: &[Column]) -> Result<[U16Le; 20], Stop> {
    let mut stored = [U16Le::ZERO; 20];
    let too_wide = |column: &Column| column.width() > usize::from(Column::WIDTH_MAX);
    if columns.len() > stored.len() || columns.iter().any(too_wide) {
        let message = format!("a table has at most {} columns, none too wide", stored.len());
        return Err(Stop::refuse(RefusalKind::Invalid, message));
    }
    for (place, column) in stored.iter_mut().zip(columns) {
        *place = U16Le::new(column.stored());
    }
    Ok(stored)
}

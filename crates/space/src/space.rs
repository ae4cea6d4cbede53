//! Segments by name, and blocks handed out to them (rules SP4, SP6).
//!
//! Callers: `undo` and `access`, for their segments; `instance`.

use cache::{ExclusiveBlock, Pin, SharedBlock};
use change::{Changes, Group, credits_for};
use format::{
    DbaLe, Directory, DirectoryEntry, Extent, ExtentMap, FileHeader, SegmentHeader, U16Le, U32Le,
};
use ids::{BlockNo, Dba};
use latch::FrameOrder;
use os::Session;
use stop::{RefusalKind, Stop};

use crate::apply::{ADD_EXTENT, ENTER, FORMAT, HAND_OUT, LAYER, TAKE, bit_of};
use crate::data_file::{DATA_FILE, DIRECTORY, EXTENT_MAP};
use crate::segment::{extents, extents_max, next_blocks};
use crate::{Column, Holds, Segment};

/// A segment grows by one extent at a time while it is small, and by this many when it is large.
const EXTENTS_AT_ONCE_MAX: u32 = 16;

/// The data file's space.
#[derive(Clone)]
pub struct Space {
    changes: Changes,
    extent_blocks: u32,
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
    /// The space of an open data file.
    pub fn open(changes: Changes, session: &Session) -> Result<Space, Stop> {
        let address = Dba { file: DATA_FILE, block: BlockNo::new(0) };
        let pin = changes.cache().pin(address, session)?;
        let block = pin.shared(FrameOrder::ExtentMap, session);
        let extent_blocks = FileHeader::at(&block, FileHeader::START).extent_blocks.get();
        drop(block);
        drop(pin);
        Ok(Space { changes, extent_blocks })
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
            let pin = self.pin(DIRECTORY, session)?;
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

    /// Makes a segment with one extent.
    pub fn create(
        &self,
        name: &str,
        holds: Holds,
        columns: &[Column],
        session: &Session,
    ) -> Result<Segment, Stop> {
        let stored_name = stored_name(name)?;
        let body = SegmentHeader {
            holds: holds.number(),
            columns: columns.len() as u8,
            extents: U16Le::new(1),
            blocks: U32Le::new(self.extent_blocks),
            high_water: U32Le::new(1),
            reserved: [0; 4],
            column: stored_columns(columns)?,
        };
        let directory = self.pin(DIRECTORY, session)?;
        let map = self.pin(EXTENT_MAP, session)?;
        // The header's block isn't known before the map is latched, and is pinned without latches:
        // so an extent is found first, and looked at again.
        loop {
            let found = free_extents(&map.shared(FrameOrder::ExtentMap, session), 1);
            let (number, _) = found.ok_or_else(|| self.full(name))?;
            let first = self.first_block(&map, number, session);
            let address = Dba { file: DATA_FILE, block: BlockNo::new(first) };
            // Read, though it is to be formatted: until the map is latched another session may take
            // the extent, write it and let its buffer go, and zeros in its place would be wrong.
            let header = self.changes.cache().pin(address, session)?;
            let extent =
                Extent { first: U32Le::new(first), blocks: U32Le::new(self.extent_blocks) };
            let taken = Extent { first: U32Le::new(number), blocks: U32Le::new(1) };
            let entry = DirectoryEntry { name: stored_name, header: DbaLe::new(address) };
            let payloads =
                [DirectoryEntry::BYTES, body.bytes().len() + Extent::BYTES, Extent::BYTES];
            let mut group = self.changes.begin(credits_for(&payloads), session)?;
            let directory = directory.exclusive(FrameOrder::Directory, session);
            let header = header.exclusive(FrameOrder::SegmentHeader, session);
            let map = map.exclusive(FrameOrder::ExtentMap, session);
            check_directory(&directory, name)?;
            if is_taken(&map, number) {
                continue;
            }
            group.change(directory, &LAYER, ENTER, &[entry.bytes()]);
            group.change(header, &LAYER, FORMAT, &[body.bytes(), extent.bytes()]);
            group.change(map, &LAYER, TAKE, &[taken.bytes()]);
            group.commit(session);
            let columns = columns.to_vec();
            return Ok(Segment { name: name.to_string(), header: address, holds, columns });
        }
    }

    /// Makes sure that the segment can hand out a block, by giving it extents; or refuses. Nothing
    /// keeps others from taking it first: look again under the latch.
    pub fn ensure_room(&self, segment: Dba, session: &Session) -> Result<(), Stop> {
        let pin = self.changes.cache().pin(segment, session)?;
        let map = self.pin(EXTENT_MAP, session)?;
        if next_blocks(&pin.shared(FrameOrder::SegmentHeader, session), segment, 1).is_some() {
            return Ok(());
        }
        let credits = credits_for(&[Extent::BYTES, Extent::BYTES]);
        let mut group = self.changes.begin(credits, session)?;
        let header = pin.exclusive(FrameOrder::SegmentHeader, session);
        if next_blocks(&header, segment, 1).is_some() {
            return Ok(());
        }
        let stored = SegmentHeader::at(&header, SegmentHeader::START);
        let has = stored.blocks.get() / self.extent_blocks;
        if usize::from(stored.extents.get()) >= extents_max(header.len()) {
            let message = format!(
                "cannot give the segment at {segment} another extent: it has {}, and its header \
                 has room for no more; create the database with larger extents",
                stored.extents.get()
            );
            return Err(Stop::refuse(RefusalKind::NoSpace, message));
        }
        let map = map.exclusive(FrameOrder::ExtentMap, session);
        let wanted = has.clamp(1, EXTENTS_AT_ONCE_MAX);
        let found = free_extents(&map, wanted);
        let (number, count) = found.ok_or_else(|| self.full("a segment"))?;
        let first = first_block(&map, number, self.extent_blocks);
        let blocks = U32Le::new(count * self.extent_blocks);
        let extent = Extent { first: U32Le::new(first), blocks };
        let taken = Extent { first: U32Le::new(number), blocks: U32Le::new(count) };
        group.change(header, &LAYER, ADD_EXTENT, &[extent.bytes()]);
        group.change(map, &LAYER, TAKE, &[taken.bytes()]);
        group.commit(session);
        Ok(())
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
        let (first, count) = next_blocks(&guard, header.address(), count)?;
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
                let first = Dba { file: segment.file, block: BlockNo::new(first) };
                runs.push(Blocks { first, count });
            }
        }
        Ok(runs)
    }

    /// Every extent of a segment, and whether the map says that it is taken: for checks.
    pub fn check(&self, session: &Session) -> Result<(), String> {
        let mut owners: Vec<(u32, String)> = Vec::new();
        let say = |stop: Stop| stop.to_string();
        let map = self.pin(EXTENT_MAP, session).map_err(say)?;
        for segment in self.list(session).map_err(say)? {
            let pin = self.changes.cache().pin(segment.header, session).map_err(say)?;
            let header = pin.shared(FrameOrder::SegmentHeader, session);
            let map = map.shared(FrameOrder::ExtentMap, session);
            let first_of_all = ExtentMap::at(&map, ExtentMap::START).first_block.get();
            for (first, blocks) in extents(&header) {
                for extent in 0..blocks / self.extent_blocks {
                    let number = (first - first_of_all) / self.extent_blocks + extent;
                    owners.push((number, segment.name.clone()));
                }
            }
        }
        owners.sort();
        if let Some(twice) = owners.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(format!(
                "extent {} is of {} and of {}",
                twice[0].0, twice[0].1, twice[1].1
            ));
        }
        let map = map.shared(FrameOrder::ExtentMap, session);
        let extents = ExtentMap::at(&map, ExtentMap::START).extents.get();
        let taken = (0..extents).filter(|number| is_taken(&map, *number));
        if taken.eq(owners.iter().map(|(number, _)| *number)) {
            return Ok(());
        }
        Err("the extent map and the segment headers don't agree".to_string())
    }

    fn pin<'a>(&'a self, block: BlockNo, session: &'a Session) -> Result<Pin<'a>, Stop> {
        self.changes.cache().pin(Dba { file: DATA_FILE, block }, session)
    }

    fn first_block(&self, map: &Pin<'_>, extent: u32, session: &Session) -> u32 {
        first_block(&map.shared(FrameOrder::ExtentMap, session), extent, self.extent_blocks)
    }

    fn full(&self, what: &str) -> Stop {
        let message = format!(
            "cannot give {what} another extent: the data file is full; create the database with a \
             larger one"
        );
        Stop::refuse(RefusalKind::NoSpace, message)
    }
}

fn first_block(map: &[u8], extent: u32, extent_blocks: u32) -> u32 {
    ExtentMap::at(map, ExtentMap::START).first_block.get() + extent * extent_blocks
}

fn is_taken(map: &[u8], extent: u32) -> bool {
    let (byte, bit) = bit_of(extent);
    map[byte] & bit != 0
}

/// Up to `wanted` free neighbours: the first such run that is whole, or else the longest.
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

fn check_directory(directory: &ExclusiveBlock<'_>, name: &str) -> Result<(), Stop> {
    let count = Directory::at(directory, Directory::START).entries.get() as usize;
    let entry_at = |number| Directory::ENTRIES + number * DirectoryEntry::BYTES;
    if entry_at(count + 1) > directory.len() {
        let message = format!("cannot create {name}: the directory has room for {count} segments");
        return Err(Stop::refuse(RefusalKind::NoSpace, message));
    }
    let stored = stored_name(name)?;
    if (0..count).any(|number| DirectoryEntry::at(directory, entry_at(number)).name == stored) {
        let message = format!("cannot create {name}: a segment has that name; choose another");
        return Err(Stop::refuse(RefusalKind::AlreadyExists, message));
    }
    Ok(())
}

fn stored_name(name: &str) -> Result<[u8; 32], Stop> {
    let mut stored = [0; 32];
    if name.is_empty() || name.len() > stored.len() || name.contains('\0') {
        let message = format!("a segment's name has 1 to {} bytes, '{name}' has not", stored.len());
        return Err(Stop::refuse(RefusalKind::Invalid, message));
    }
    stored[..name.len()].copy_from_slice(name.as_bytes());
    Ok(stored)
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

//! Extents for segments: finding free ones, and how many a segment gets at once (SP4, SP16).
//!
//! Callers: `create`, `space`, and layers that hand out blocks in their own groups.

use std::collections::BTreeSet;

use cache::Pin;
use change::credits_for;
use format::{Extent, ExtentMap, SegmentHeader, U16Le, U32Le};
use ids::{BlockNo, Dba, FileNo};
use latch::FrameOrder;
use os::Session;
use stop::{RefusalKind, Stop};

use crate::ahead::free_count;
use crate::apply::{ADD_EXTENT, ExtentRun, LAYER, TAKE, bit_of};
use crate::data_file::EXTENT_MAP;
use crate::segment::{check_live, extents, extents_max, next_blocks};
use crate::{Space, TablespaceContent, TablespaceNo};

/// A segment doubles until it gets this many bytes at once.
const DOUBLED_BYTES_MAX: u64 = 64 << 20;
/// A segment grows by one in this many of its extents if that is more.
const GROWTH_SHARE: u32 = 8;

/// Free extents that a session can't use, by file and number.
pub(crate) type Skipped = BTreeSet<(FileNo, u32)>;

impl Space {
    /// Makes sure that the segment can hand out a block, by giving it extents. Refused if there are
    /// none, or if the segment was dropped. Another session may take the block first: the caller
    /// looks again under the latch (SP30).
    pub fn ensure_room(&self, segment: Dba, session: &Session) -> Result<(), Stop> {
        let _held = session.hold_off();
        let pin = self.changes().cache().pin(segment, session)?;
        loop {
            let last = {
                let header = pin.shared(FrameOrder::SegmentHeader, session);
                check_live(&header, segment)?;
                if next_blocks(&header, 1).is_some() {
                    return Ok(());
                }
                extents(&header).last().expect("a segment has an extent").first.file
            };
            let tablespace = self.tablespace_of(last, session);
            // SP4: the files take turns, from extent to extent.
            let turn = self.turn_after(last, session);
            let wanted = self.extents_wanted(&pin, &tablespace, session)?;
            let all = Skipped::new();
            match self.find_free(tablespace.number, turn, wanted, &all, session)? {
                Some((file, _)) => {
                    if self.add_extent(&pin, file, wanted, &tablespace, session)? {
                        return Ok(());
                    }
                }
                None => self.grow(&tablespace, turn, wanted, "a segment", &all, session)?,
            }
        }
    }

    /// The number of extents that a segment gets next (SP16). Refused if its header has no room for
    /// them.
    fn extents_wanted(
        &self,
        header: &Pin<'_>,
        tablespace: &TablespaceContent,
        session: &Session,
    ) -> Result<u32, Stop> {
        let block = header.shared(FrameOrder::SegmentHeader, session);
        check_live(&block, header.address())?;
        let stored = SegmentHeader::at(&block, SegmentHeader::START);
        let (extents, blocks) = (stored.extents.get(), stored.blocks.get());
        if usize::from(extents) >= extents_max(block.len()) {
            let bytes = u64::from(blocks) * block.len() as u64;
            let message = format!(
                "cannot give the segment at {} another extent: it has {extents} of {bytes} bytes \
                 together, and its header has room for no more; free space in tablespace {} is in \
                 pieces too small, so move the segment to one with larger extents",
                header.address(),
                tablespace.name,
            );
            return Err(Stop::refuse(RefusalKind::NoSpace, message));
        }
        Ok(growth(blocks / tablespace.extent_blocks, tablespace))
    }

    /// Gives a segment up to `wanted` extents of a file. True if it has a block to hand out now,
    /// false if another session took the free extents.
    fn add_extent(
        &self,
        pin: &Pin<'_>,
        file: FileNo,
        wanted: u32,
        tablespace: &TablespaceContent,
        session: &Session,
    ) -> Result<bool, Stop> {
        let map_pin = self.pin(file, EXTENT_MAP, session)?;
        let credits = credits_for(&[Extent::BYTES, size_of::<ExtentRun>()]);
        let mut group = self.changes().begin(credits, session)?;
        let header = pin.exclusive(FrameOrder::SegmentHeader, session);
        check_live(&header, pin.address())?;
        if next_blocks(&header, 1).is_some() {
            return Ok(true);
        }
        let stored = SegmentHeader::at(&header, SegmentHeader::START);
        if usize::from(stored.extents.get()) >= extents_max(header.len()) {
            return Ok(false);
        }
        let map = map_pin.exclusive(FrameOrder::ExtentMap, session);
        let Some((number, count)) = free_extents(&map, wanted, |_| false) else {
            return Ok(false);
        };
        let left = free_count(&map) - count;
        let first = first_block(&map, number, tablespace.extent_blocks);
        let first = Dba { file, block: BlockNo::new(first) };
        let extent = extent(first, count * tablespace.extent_blocks);
        group.change(header, &LAYER, ADD_EXTENT, &[extent.bytes()]);
        let taken = ExtentRun { first: U32Le::new(number), count: U32Le::new(count) };
        group.change(map, &LAYER, TAKE, &[taken.bytes()]);
        group.commit(session);
        self.note_taken(file, count, left, session);
        Ok(true)
    }

    /// The first file of the tablespace, from `turn` on, that has free extents besides those that
    /// the caller skips. Also the number of the first of up to `wanted` free neighbours there.
    pub(crate) fn find_free(
        &self,
        tablespace: TablespaceNo,
        turn: usize,
        wanted: u32,
        skipped: &Skipped,
        session: &Session,
    ) -> Result<Option<(FileNo, u32)>, Stop> {
        for file in self.files_of(tablespace, turn, session) {
            let map = self.pin(file, EXTENT_MAP, session)?;
            let map = map.shared(FrameOrder::ExtentMap, session);
            let is_skipped = |extent| skipped.contains(&(file, extent));
            if let Some((number, _)) = free_extents(&map, wanted, is_skipped) {
                return Ok(Some((file, number)));
            }
        }
        Ok(None)
    }
}

/// The number of extents that a segment with this many gets next (SP16).
fn growth(extents: u32, tablespace: &TablespaceContent) -> u32 {
    extents.min(doubled_max(tablespace).max(extents / GROWTH_SHARE)).max(1)
}

/// The most extents for which a session waits while a file grows (SP29).
pub(crate) fn doubled_max(tablespace: &TablespaceContent) -> u32 {
    let bytes = u64::from(tablespace.extent_blocks) * tablespace.block_size.bytes() as u64;
    u32::try_from(DOUBLED_BYTES_MAX / bytes).expect("64 MiB have few extents").max(1)
}

pub(crate) fn extent(first: Dba, blocks: u32) -> Extent {
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

/// Number and count of free neighbours: the first run of `wanted`, or else the longest run.
fn free_extents(map: &[u8], wanted: u32, is_skipped: impl Fn(u32) -> bool) -> Option<(u32, u32)> {
    let extents = ExtentMap::at(map, ExtentMap::START).extents.get();
    let mut best: Option<(u32, u32)> = None;
    let mut number = 0;
    while number < extents {
        let free = (number..extents).take(wanted as usize);
        let run = free.take_while(|extent| !is_taken(map, *extent) && !is_skipped(*extent)).count()
            as u32;
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

#[cfg(test)]
mod tests {
    use ids::BlockSize;

    use super::*;

    /// Extents in a header when each growth is a separate one, and the bytes that they come to.
    fn grown(block_size: BlockSize, extent_blocks: u32) -> u64 {
        let name = "t".to_string();
        let number = TablespaceNo::SYSTEM;
        let tablespace = TablespaceContent { number, name, block_size, extent_blocks };
        let most = u32::MAX / extent_blocks;
        let mut extents = 1_u32;
        for _ in 1..extents_max(block_size.bytes()) {
            extents = extents.saturating_add(growth(extents, &tablespace)).min(most);
        }
        u64::from(extents) * u64::from(extent_blocks) * block_size.bytes() as u64
    }

    /// A header is enough for a large segment, though no two of its extents are neighbours, also if
    /// extents are small.
    #[test]
    fn a_header_is_enough_for_a_large_segment() {
        for extent_blocks in [2, 8, 64, 1024] {
            let (small, large) = (BlockSize::KIB_2, BlockSize::KIB_8);
            assert!(grown(small, extent_blocks) >= 16 << 30, "{extent_blocks}");
            assert!(grown(large, extent_blocks) >= 500 << 30, "{extent_blocks}");
        }
    }

    /// While it is small a segment doubles; when it is large it grows by an eighth.
    #[test]
    fn a_segment_doubles_and_then_grows_by_a_share() {
        let (number, name) = (TablespaceNo::SYSTEM, "t".to_string());
        let block_size = BlockSize::KIB_8;
        let tablespace = TablespaceContent { number, name, block_size, extent_blocks: 128 };
        let wanted = [1, 2, 64, 65, 500, 512, 1_000].map(|extents| growth(extents, &tablespace));
        assert_eq!(wanted, [1, 2, 64, 64, 64, 64, 125]);
    }
}

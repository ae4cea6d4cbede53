//! The check that directory, segment headers, extent maps and lengths of files agree.
//!
//! Callers: tests.

use cache::Blocks;
use format::{ExtentMap, SegmentHeader};
use ids::FileNo;
use latch::FrameOrder;
use os::Session;
use stop::Stop;

use crate::data_file::EXTENT_MAP;
use crate::index::Entry;
use crate::room::{first_block, is_taken};
use crate::segment::{extents, is_header, object_of};
use crate::{SegmentState, Space};

/// An extent, by file and number, and its segment.
type Owner = (FileNo, u32, String);

impl Space {
    /// Checks that the directory in memory is equal to that on disk; that each header belongs to
    /// the segment that names it; that each extent belongs to one segment, also temporary or
    /// dropping ones, and exactly these are taken in the maps; and that maps don't go beyond their
    /// files. While sessions change space the result may be wrong.
    pub fn check(&self, session: &Session) -> Result<(), String> {
        let index = self.read_directory(session).map_err(|stop| stop.to_string())?;
        if !self.shared.index.shared(session).agrees_with(&index) {
            return Err("the segment directory isn't as it is known in memory".to_string());
        }
        let owners = self.owners(index.all(), session)?;
        let same = |pair: &&[Owner]| (pair[0].0, pair[0].1) == (pair[1].0, pair[1].1);
        if let Some([one, two]) = owners.windows(2).find(same) {
            return Err(format!(
                "extent {} of file {} is of {} and of {}",
                one.1, one.0, one.2, two.2
            ));
        }
        for (file, _) in self.file_blocks(session) {
            let of_file = owners.iter().filter(|owner| owner.0 == file).map(|owner| owner.1);
            self.check_map(file, of_file, session)?;
        }
        Ok(())
    }

    /// The extents of all segments, sorted.
    fn owners<'e>(
        &self,
        entries: impl Iterator<Item = &'e Entry>,
        session: &Session,
    ) -> Result<Vec<Owner>, String> {
        let say = |stop: Stop| stop.to_string();
        let mut owners: Vec<Owner> = Vec::new();
        for entry in entries {
            let name = format!("{} (segment {})", entry.name, entry.object);
            let header = entry.header();
            let pin = self.changes().cache().pin(header, session).map_err(say)?;
            let all: Vec<_> = {
                let block = pin.shared(FrameOrder::SegmentHeader, session);
                check_header(&block, entry).map_err(|what| format!("{name}: {what}"))?;
                extents(&block).collect()
            };
            let tablespace = self.tablespace_of(header.file, session);
            for Blocks { first, count } in all {
                if self.tablespace_of(first.file, session) != tablespace {
                    return Err(format!("{name} has an extent of another tablespace"));
                }
                let map = self.pin(first.file, EXTENT_MAP, session).map_err(say)?;
                let map = map.shared(FrameOrder::ExtentMap, session);
                let begin = ExtentMap::at(&map, ExtentMap::START).first_block.get();
                let number = (first.block.get() - begin) / tablespace.extent_blocks;
                let count = count / tablespace.extent_blocks;
                let each = (number..number + count).map(|n| (first.file, n, name.clone()));
                owners.extend(each);
            }
        }
        owners.sort();
        Ok(owners)
    }

    fn check_map(
        &self,
        file: FileNo,
        owned: impl Iterator<Item = u32>,
        session: &Session,
    ) -> Result<(), String> {
        let map = self.pin(file, EXTENT_MAP, session).map_err(|stop| stop.to_string())?;
        let map = map.shared(FrameOrder::ExtentMap, session);
        let extents = ExtentMap::at(&map, ExtentMap::START).extents.get();
        if !(0..extents).filter(|number| is_taken(&map, *number)).eq(owned) {
            return Err(format!("file {file}: the map and the segment headers don't agree"));
        }
        let size = self.tablespace_of(file, session).extent_blocks;
        // Read after the map: a file that grows is longer before its map says so (SP8).
        let blocks = self.file(file, session).blocks;
        if first_block(&map, extents, size) > blocks {
            return Err(format!("file {file}: the map goes beyond the file's {blocks} blocks"));
        }
        Ok(())
    }
}

/// Checks that a header agrees with the directory, and with itself.
fn check_header(block: &[u8], entry: &Entry) -> Result<(), String> {
    if !is_header(block) || object_of(block) != Some(entry.object) {
        return Err("its header is another block".to_string());
    }
    let header = SegmentHeader::at(block, SegmentHeader::START);
    let dropping = entry.state() == Some(SegmentState::Dropping);
    if header.holds != entry.holds.number() || (header.dropping != 0) != dropping {
        return Err("its header and the directory don't agree".to_string());
    }
    let blocks: u32 = extents(block).map(|extent| extent.count).sum();
    if header.blocks.get() != blocks || header.high_water.get() > blocks {
        return Err(format!("its header doesn't count {blocks} blocks"));
    }
    let listed = SegmentHeader::EXTENTS + extents(block).count() * format::Extent::BYTES;
    match block[listed..].iter().all(|byte| *byte == 0) {
        true => Ok(()),
        false => Err("its header has something behind its extents".to_string()),
    }
}

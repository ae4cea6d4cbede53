//! Whether space agrees with itself: extent maps, segment headers and the lengths of files.
//!
//! Callers: tests, and what checks a database after recovery.

use format::ExtentMap;
use ids::FileNo;
use latch::FrameOrder;
use os::Session;
use stop::Stop;

use crate::Space;
use crate::data_file::EXTENT_MAP;
use crate::segment::extents;
use crate::space::{first_block, is_taken};

/// An extent, by file and number, and the segment that has it.
type Owner = (FileNo, u32, String);

impl Space {
    /// Every extent of every segment is of that segment alone and taken in its map, and nothing
    /// else is; maps don't go beyond their files. While sessions change space this may be wrong.
    pub fn check(&self, session: &Session) -> Result<(), String> {
        let owners = self.owners(session)?;
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

    /// In order.
    fn owners(&self, session: &Session) -> Result<Vec<Owner>, String> {
        let say = |stop: Stop| stop.to_string();
        let mut owners: Vec<Owner> = Vec::new();
        for segment in self.list(session).map_err(say)? {
            let pin = self.changes().cache().pin(segment.header, session).map_err(say)?;
            let all: Vec<_> = extents(&pin.shared(FrameOrder::SegmentHeader, session)).collect();
            let tablespace = self.tablespace_of(segment.header.file, session);
            for (first, blocks) in all {
                if self.tablespace_of(first.file, session) != tablespace {
                    return Err(format!("{} has an extent of another tablespace", segment.name));
                }
                let map = self.pin(first.file, EXTENT_MAP, session).map_err(say)?;
                let map = map.shared(FrameOrder::ExtentMap, session);
                let begin = ExtentMap::at(&map, ExtentMap::START).first_block.get();
                let number = (first.block.get() - begin) / tablespace.extent_blocks;
                let count = blocks / tablespace.extent_blocks;
                let each = (number..number + count).map(|n| (first.file, n, segment.name.clone()));
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

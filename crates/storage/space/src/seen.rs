//! Data files, segments and extents as views show them.
//!
//! Callers: views.

use std::path::PathBuf;

use cache::Blocks;
use format::SegmentHeader;
use ids::{Dba, FileNo};
use latch::FrameOrder;
use os::Session;
use stop::Stop;

use crate::index::Entry;
use crate::segment::{check_live, extents};
use crate::{Holds, Segment, SegmentState, Space, TablespaceNo};

/// A data file of an open database.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DataFileSeen {
    /// Its number.
    pub number: FileNo,
    /// The tablespace that it belongs to.
    pub tablespace: TablespaceNo,
    /// The path by which it was opened.
    pub path: PathBuf,
    /// The number of its blocks.
    pub blocks: u32,
    /// The most blocks that it may have.
    pub blocks_max: u32,
    /// The blocks by which it grows; 0 if it doesn't.
    pub growth_blocks: u32,
}

/// What a segment has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SegmentExtents {
    /// Its extents, that with the header first.
    pub extents: Vec<Blocks>,
    /// The number of their blocks that were handed out, in the order of the extents.
    pub high_water: u32,
}

impl Space {
    /// Every data file, in the order of their numbers, from memory.
    pub fn data_files(&self, session: &Session) -> Vec<DataFileSeen> {
        let files = self.shared.tablespaces.shared(session).files();
        let seen = files.into_iter().map(|of| DataFileSeen {
            number: of.number,
            tablespace: of.tablespace,
            path: of.file.path().to_path_buf(),
            blocks: of.blocks,
            blocks_max: of.blocks_max,
            growth_blocks: of.growth_blocks,
        });
        seen.collect()
    }

    /// Every segment that is made and isn't being dropped, the directory's own excepted, in the
    /// order of their numbers: from memory, without a look at its header.
    pub fn listed(&self, session: &Session) -> Vec<Segment> {
        let index = self.shared.index.shared(session);
        let listed = index.all().filter(|entry| entry.holds != Holds::Directory);
        let listed = listed.filter_map(|entry| {
            let (header, state) = entry.at?;
            let Entry { name, object, holds, .. } = entry.clone();
            (state != SegmentState::Dropping).then_some(Segment { name, object, header, holds })
        });
        listed.collect()
    }

    /// The extents of the segment with this header. Refused as [`Space::blocks`] is.
    pub fn extents(&self, segment: Dba, session: &Session) -> Result<SegmentExtents, Stop> {
        let pin = self.changes().cache().pin(segment, session)?;
        let header = pin.shared(FrameOrder::SegmentHeader, session);
        check_live(&header, segment)?;
        let high_water = SegmentHeader::at(&header, SegmentHeader::START).high_water.get();
        Ok(SegmentExtents { extents: extents(&header).collect(), high_water })
    }
}

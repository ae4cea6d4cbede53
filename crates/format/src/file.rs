//! What the control file and a data file say of themselves.
//!
//! Callers: `space`, which reads and writes both; `recovery`, through it.

use ids::BlockSize;
use zerocopy::little_endian::{U16 as U16Le, U32 as U32Le, U64 as U64Le};

use crate::BlockHeader;
use crate::layout::layout;
use crate::number::{DbaLe, ScnLe};

/// The size of a control file's only block.
pub const CONTROL_BLOCK: BlockSize = BlockSize::KIB_4;

layout! {
    /// Body of a control file: what the database is, and where recovery begins.
    pub struct Control: 64 {
        /// Identity of the database, drawn at random when it was created.
        0 => pub database: U64Le,
        /// How often the control file was written: of two copies the higher is the newer.
        8 => pub version: U64Le,
        /// SCN of the checkpoint: every change with a lower or equal one is on disk.
        16 => pub checkpoint_scn: ScnLe,
        /// Log sequence number of the checkpoint's redo address.
        24 => pub checkpoint_sequence: U32Le,
        /// Redo block of the checkpoint's address: recovery begins there.
        28 => pub checkpoint_block: U32Le,
        /// Block size of the data file, in bytes.
        32 => pub block_bytes: U32Le,
        /// Blocks of the data file.
        36 => pub data_blocks: U32Le,
        /// Blocks of one online redo log, its header included.
        40 => pub log_blocks: U32Le,
        /// Slots of the doublewrite file, each for one block.
        44 => pub doublewrite_slots: U32Le,
        /// How many online redo log groups there are.
        48 => pub log_groups: U16Le,
        /// 1 while the database is being created, 2 when it is open or was not shut in good order,
        /// 3 when it was.
        50 => pub state: u8,
        /// Zero.
        51 => pub reserved: [u8; 13],
    }
}

impl Control {
    /// Where it lies in its block.
    pub const START: usize = BlockHeader::BYTES;
}

layout! {
    /// Body of the first block of a data file.
    pub struct FileHeader: 16 {
        /// Identity of the database.
        0 => pub database: U64Le,
        /// Blocks of the file.
        8 => pub blocks: U32Le,
        /// Blocks of an extent.
        12 => pub extent_blocks: U32Le,
    }
}

impl FileHeader {
    /// Where it lies in its block.
    pub const START: usize = BlockHeader::BYTES;
}

layout! {
    /// Head of an extent map; a bit for each extent follows, lowest first, set if it is in use.
    pub struct ExtentMap: 8 {
        /// How many extents the file has.
        0 => pub extents: U32Le,
        /// Block of the file where the first extent begins.
        4 => pub first_block: U32Le,
    }
}

impl ExtentMap {
    /// Where it lies in its block.
    pub const START: usize = BlockHeader::BYTES;
    /// Where the bits begin.
    pub const BITS: usize = ExtentMap::START + size_of::<ExtentMap>();
}

layout! {
    /// Head of the segment directory; the entries follow.
    pub struct Directory: 8 {
        /// How many entries there are.
        0 => pub entries: U32Le,
        /// Zero.
        4 => pub reserved: [u8; 4],
    }
}

impl Directory {
    /// Where it lies in its block.
    pub const START: usize = BlockHeader::BYTES;
    /// Where the entries begin.
    pub const ENTRIES: usize = Directory::START + size_of::<Directory>();
}

layout! {
    /// An entry of the segment directory.
    pub struct DirectoryEntry: 40 {
        /// The segment's name in UTF-8, filled up with zeros.
        0 => pub name: [u8; 32],
        /// Its header.
        32 => pub header: DbaLe,
    }
}

impl DirectoryEntry {
    /// How many bytes it has.
    pub const BYTES: usize = size_of::<DirectoryEntry>();
}

layout! {
    /// Body of a segment header; the extents follow.
    pub struct SegmentHeader: 56 {
        /// What the segment holds: 1 a table, 2 undo.
        0 => pub holds: u8,
        /// How many columns its rows have; 0 if it is no table.
        1 => pub columns: u8,
        /// How many extents it has.
        2 => pub extents: U16Le,
        /// Blocks in them, this one included.
        4 => pub blocks: U32Le,
        /// Blocks that have been handed out, this one included, in the order of the extents.
        8 => pub high_water: U32Le,
        /// Zero.
        12 => pub reserved: [u8; 4],
        /// For each column its width in bytes and, in the highest bit, whether it is a number.
        16 => pub column: [U16Le; 20],
    }
}

impl SegmentHeader {
    /// Where it lies in its block.
    pub const START: usize = BlockHeader::BYTES;
    /// Where the extents begin.
    pub const EXTENTS: usize = SegmentHeader::START + size_of::<SegmentHeader>();
}

layout! {
    /// A run of neighbouring blocks that belongs to a segment.
    pub struct Extent: 8 {
        /// The first block.
        0 => pub first: U32Le,
        /// How many blocks.
        4 => pub blocks: U32Le,
    }
}

impl Extent {
    /// How many bytes it has.
    pub const BYTES: usize = size_of::<Extent>();
}

//! The structures of the control file and of data files.
//!
//! Callers: `space`, which reads and writes both; `recovery`, through it.

use ids::{BlockSize, Dba};
use zerocopy::little_endian::{U16 as U16Le, U32 as U32Le, U64 as U64Le};

use crate::BlockHeader;
use crate::layout::layout;
use crate::number::{DbaLe, ScnLe};

/// The size of a control file's only block.
pub const CONTROL_BLOCK: BlockSize = BlockSize::KIB_32;

layout! {
    /// Head of a control file: the database's identity, and the address where recovery begins.
    /// Behind it lie the entries, one directly after the other: tablespaces, then data files, then
    /// redo log groups.
    pub struct Control: 128 {
        /// Identity of the database, drawn at random when it was created.
        0 => pub database: U64Le,
        /// Number of writes of the control file: of two copies the higher is the newer.
        8 => pub version: U64Le,
        /// The last SCN when the checkpoint was made.
        16 => pub checkpoint_scn: ScnLe,
        /// Log sequence number of the checkpoint's redo address.
        24 => pub checkpoint_sequence: U32Le,
        /// Redo block of the checkpoint's address: recovery begins there.
        28 => pub checkpoint_block: U32Le,
        /// Slots of the doublewrite file, each for one block.
        32 => pub doublewrite_slots: U32Le,
        /// Bytes of all entries together.
        36 => pub entry_bytes: U32Le,
        /// Number of tablespaces.
        40 => pub tablespaces: U16Le,
        /// Number of data files.
        42 => pub data_files: U16Le,
        /// Number of online redo log groups.
        44 => pub log_groups: U16Le,
        /// 1 while the database is being created, 2 when it is open or was not shut in good order,
        /// 3 when it was.
        46 => pub state: u8,
        /// Zero.
        47 => pub reserved: [u8; 1],
        /// The newest checkpoint number of data files: no header has a higher one.
        48 => pub checkpoint_number: U32Le,
        /// Number of the database's redo history: 1, and one more each time when it is opened
        /// without the end of its redo.
        52 => pub incarnation: U32Le,
        /// SCN at which the incarnation began.
        56 => pub incarnation_scn: ScnLe,
        /// When the database was created: microseconds since 1970-01-01 00:00 UTC.
        64 => pub created_us: U64Le,
        /// FNV-1a of the path of the control file's first copy when it was written, without links
        /// and detours; 0 if that isn't known.
        72 => pub place: U64Le,
        /// A log that has begun: its header is durable, and no newer one is known to have begun; 0
        /// if none is known.
        80 => pub newest_log: U32Le,
        /// When the disk was probed for the fastest way to make a write of redo durable:
        /// microseconds since 1970-01-01 00:00 UTC.
        84 => pub probed_us: U64Le,
        /// FNV-1a of the probe's surroundings (machine, its start, disk), on which what it found
        /// depends; 0 if nothing is known.
        92 => pub probed_surroundings: U64Le,
        /// Nanoseconds of a write in the way that it found.
        100 => pub probed_write_ns: U32Le,
        /// Nanoseconds of one write where several may begin at once.
        104 => pub probed_one_ns: U32Le,
        /// Nanoseconds of several writes that begin at once; 0 if that isn't known.
        108 => pub probed_all_ns: U32Le,
        /// The way: 1 direct O_DSYNC, 2 direct + sync, 3 buffered O_DSYNC, 4 buffered + sync.
        112 => pub probed_way: u8,
        /// Zero.
        113 => pub reserved2: [u8; 15],
    }
}

impl Control {
    /// The offset of the head in its block.
    pub const START: usize = BlockHeader::BYTES;
    /// The offset of the entries.
    pub const ENTRIES: usize = Control::START + size_of::<Control>();
    /// The room for the entries, in bytes.
    pub const ENTRY_BYTES_MAX: usize = CONTROL_BLOCK.bytes() - Control::ENTRIES;
}

layout! {
    /// A tablespace in the control file.
    pub struct TablespaceEntry: 48 {
        /// Its number; the system tablespace is 1.
        0 => pub number: U16Le,
        /// Zero.
        2 => pub reserved: [u8; 2],
        /// Size of its blocks, in bytes.
        4 => pub block_bytes: U32Le,
        /// Blocks of an extent.
        8 => pub extent_blocks: U32Le,
        /// Zero.
        12 => pub reserved2: [u8; 4],
        /// Its name in UTF-8, filled up with zeros.
        16 => pub name: [u8; 32],
    }
}

layout! {
    /// A data file in the control file; its path in UTF-8 follows.
    pub struct DataFileEntry: 24 {
        /// Its number, from 1.
        0 => pub number: U16Le,
        /// Number of its tablespace.
        2 => pub tablespace: U16Le,
        /// Number of its blocks; the file may be longer if a growth was interrupted.
        4 => pub blocks: U32Le,
        /// Largest number of blocks that it may have.
        8 => pub blocks_max: U32Le,
        /// Number of blocks by which it grows; 0 if it doesn't.
        12 => pub growth_blocks: U32Le,
        /// Bytes of the path that follows: relative to the database's directory, or absolute.
        16 => pub path_bytes: U16Le,
        /// Zero.
        18 => pub reserved: [u8; 2],
        /// The checkpoint number that its header has at least.
        20 => pub checkpoint_number: U32Le,
    }
}

layout! {
    /// A group of online redo logs in the control file; its members follow.
    pub struct LogGroupEntry: 8 {
        /// Its number, from 1.
        0 => pub number: U16Le,
        /// Number of members that follow.
        2 => pub members: U16Le,
        /// Blocks of each member, its header included.
        4 => pub blocks: U32Le,
    }
}

layout! {
    /// A member of a group in the control file; its path in UTF-8 follows.
    pub struct LogMemberEntry: 4 {
        /// Bytes of the path.
        0 => pub path_bytes: U16Le,
        /// 0 when it is good; 1 when it may lack redo of its group, until a log begins there.
        2 => pub invalid: u8,
        /// Zero.
        3 => pub reserved: [u8; 1],
    }
}

layout! {
    /// Body of the first block of a data file. A checkpoint of the file changes the fields from
    /// `checkpoint_number` to `checkpoint_scn`; they lie in the first 512 bytes of the block.
    pub struct FileHeader: 128 {
        /// Identity of the database.
        0 => pub database: U64Le,
        /// Blocks of the file when it was made.
        8 => pub blocks: U32Le,
        /// Blocks of an extent.
        12 => pub extent_blocks: U32Le,
        /// Number of its tablespace.
        16 => pub tablespace: U16Le,
        /// Zero.
        18 => pub reserved: [u8; 2],
        /// The incarnation of the database, as the control file says it.
        20 => pub incarnation: U32Le,
        /// SCN at which the incarnation began.
        24 => pub incarnation_scn: ScnLe,
        /// When the file was made: microseconds since 1970-01-01 00:00 UTC.
        32 => pub created_us: U64Le,
        /// Number of the checkpoint in this header, as the control file counts them.
        40 => pub checkpoint_number: U32Le,
        /// Log sequence number of the checkpoint's redo address.
        44 => pub checkpoint_sequence: U32Le,
        /// Redo block of that address: the file has every change below.
        48 => pub checkpoint_block: U32Le,
        /// Zero.
        52 => pub reserved2: [u8; 4],
        /// The last SCN when the checkpoint was made.
        56 => pub checkpoint_scn: ScnLe,
        /// Zero.
        64 => pub reserved3: [u8; 64],
    }
}

impl FileHeader {
    /// The offset of the body in its block.
    pub const START: usize = BlockHeader::BYTES;
}

/// After a power failure a header is either old or new, because a sector is never torn (M1).
const _: () = assert!(FileHeader::START + size_of::<FileHeader>() <= 512);

layout! {
    /// Head of an extent map; a bit for each extent follows, lowest first, set if it is in use.
    pub struct ExtentMap: 8 {
        /// Number of extents in the file; more once it has grown.
        0 => pub extents: U32Le,
        /// Block of the file where the first extent begins.
        4 => pub first_block: U32Le,
    }
}

impl ExtentMap {
    /// The offset of the head in its block.
    pub const START: usize = BlockHeader::BYTES;
    /// The offset of the bits.
    pub const BITS: usize = ExtentMap::START + size_of::<ExtentMap>();
}

layout! {
    /// Head of a block of the segment directory; slots for entries fill the rest.
    pub struct Directory: 8 {
        /// One more than the highest object number that an entry of this block has ever had; 0 if
        /// there was none. The database's next number is the highest of all blocks.
        0 => pub next_object: U32Le,
        /// Zero.
        4 => pub reserved: [u8; 4],
    }
}

impl Directory {
    /// The offset of the head in its block.
    pub const START: usize = BlockHeader::BYTES;
    /// The offset of the entries.
    pub const ENTRIES: usize = Directory::START + size_of::<Directory>();
}

layout! {
    /// An entry of the segment directory. A slot without one is all zero.
    pub struct DirectoryEntry: 48 {
        /// The segment's name in UTF-8, filled up with zeros.
        0 => pub name: [u8; 32],
        /// Its header.
        32 => pub header: DbaLe,
        /// Its object number, which no other segment of the database ever has.
        40 => pub object: U32Le,
        /// Its content type, as in its header.
        44 => pub holds: u8,
        /// 0 no entry, 1 permanent, 2 temporary (the next opening drops it), 3 being dropped (the
        /// next opening goes on with it).
        45 => pub state: u8,
        /// Zero.
        46 => pub reserved: [u8; 2],
    }
}

impl DirectoryEntry {
    /// The number of bytes in an entry.
    pub const BYTES: usize = size_of::<DirectoryEntry>();
}

layout! {
    /// Body of a segment header; the extents follow.
    pub struct SegmentHeader: 64 {
        /// Content type of the segment: 1 a table, 2 undo, 3 an index, 4 the segment directory.
        0 => pub holds: u8,
        /// Zero.
        1 => pub reserved: [u8; 1],
        /// Number of its extents.
        2 => pub extents: U16Le,
        /// Blocks in them, this one included.
        4 => pub blocks: U32Le,
        /// Blocks that have been handed out, this one included, in the order of the extents.
        8 => pub high_water: U32Le,
        /// The segment's object number.
        12 => pub object: U32Le,
        /// Zero.
        16 => pub reserved2: [u8; 40],
        /// 1 when the segment is being dropped, else 0: then it only loses extents.
        56 => pub dropping: u8,
        /// Zero.
        57 => pub reserved3: [u8; 1],
        /// The first of the blocks that were handed out and are free again: its file, 0 if there
        /// is none ...
        58 => pub free_file: U16Le,
        /// ... and the block in it.
        60 => pub free_block: U32Le,
    }
}

layout! {
    /// The body of a block that was handed out to a segment and is free again.
    pub struct FreeBlock: 16 {
        /// The segment's object number.
        0 => pub object: U32Le,
        /// Zero.
        4 => pub reserved: [u8; 4],
        /// The next such block, if there is one.
        8 => pub next: DbaLe,
    }
}

impl FreeBlock {
    /// The offset of the body in its block.
    pub const START: usize = BlockHeader::BYTES;
}

impl SegmentHeader {
    /// The first block that was handed out and is free again. No database has a file 0.
    pub fn free(&self) -> Option<Dba> {
        let first = Dba::new(self.free_file.get(), self.free_block.get());
        (first.file.get() != 0).then_some(first)
    }

    /// The offset of the body in its block.
    pub const START: usize = BlockHeader::BYTES;
    /// The offset of the extents.
    pub const EXTENTS: usize = SegmentHeader::START + size_of::<SegmentHeader>();
}

layout! {
    /// A run of neighbouring blocks that belongs to a segment.
    pub struct Extent: 12 {
        /// The first block.
        0 => pub first: U32Le,
        /// Number of blocks.
        4 => pub blocks: U32Le,
        /// The file in which they lie.
        8 => pub file: U16Le,
        /// Zero.
        10 => pub reserved: [u8; 2],
    }
}

impl Extent {
    /// The number of bytes in an extent.
    pub const BYTES: usize = size_of::<Extent>();
}

//! Data files: made full of zeros, with their first blocks (SP5), and checked when opened.
//!
//! Callers: `instance`, at creation and at opening; `ddl`, while the database is open; `verify`.

use std::path::Path;

use format::{
    BlockFault, BlockHeader, BlockKind, Directory, ExtentMap, FileHeader, RESTORE_ALL, ScnLe,
    U16Le, U32Le, U64Le, check, seal,
};
use ids::{BlockNo, BlockSize, Dba, FileNo, Rba, Scn};
use os::{
    Cause, Disk, Error, File, FileOperation, FileOptions, IO_ALIGNMENT, IoBuf, OwnedFiles, Session,
};
use stop::{RefusalKind, Stop};
use waits::WaitEvent;

use crate::control::not_owned;
use crate::{DataFileContent, TablespaceNo};

/// The number of the first data file.
pub const DATA_FILE: FileNo = FileNo::new(1);

pub(crate) const EXTENT_MAP: BlockNo = BlockNo::new(1);
pub(crate) const DIRECTORY: BlockNo = BlockNo::new(2);
/// The first block of the first extent, the same in every file. The third block is spare, except in
/// file 1.
pub(crate) const FIRST_EXTENT: u32 = 3;

/// The database that a data file belongs to, and the checkpoint numbers of its header (SP19).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct History {
    /// Identity of the database.
    pub database: u64,
    /// Its incarnation, and the SCN at which that began.
    pub incarnation: (u32, Scn),
    /// The checkpoint number that a new file gets: the highest that a header may have.
    pub checkpoint_number: u32,
    /// The control file's checkpoint.
    pub checkpoint: (Rba, Scn),
}

/// A data file as the control file describes it.
#[derive(Clone, Copy, Debug)]
pub struct ExpectedFile<'a> {
    /// The database and the checkpoint numbers.
    pub history: History,
    /// The file.
    pub entry: &'a DataFileContent,
    /// The size of its blocks.
    pub block_size: BlockSize,
}

/// The layout of a data file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DataFileShape {
    /// The database that it belongs to, and its checkpoint.
    pub history: History,
    /// The file's number.
    pub number: FileNo,
    /// The tablespace that it belongs to.
    pub tablespace: TablespaceNo,
    /// Size of a block.
    pub block_size: BlockSize,
    /// The blocks of an extent, at least 2.
    pub extent_blocks: u32,
    /// The blocks of the file, at least 16.
    pub blocks: u32,
    /// The most blocks that it may have.
    pub blocks_max: u32,
    /// The blocks by which it grows: an extent at least, or 0.
    pub growth_blocks: u32,
}

impl DataFileShape {
    /// The fewest blocks that make sense: the first three and an extent or two.
    pub const BLOCKS_MIN: u32 = 16;

    /// The longest file for which an extent map has room, with extents of this many blocks.
    pub fn bytes_max(block_size: BlockSize, extent_blocks: u32) -> u64 {
        let blocks = map_bits(block_size) * u64::from(extent_blocks) + u64::from(FIRST_EXTENT);
        let bytes = blocks.min(u64::from(u32::MAX - 1)) * block_size.bytes() as u64;
        bytes - bytes % IO_ALIGNMENT as u64
    }

    /// Refuses an impossible layout, or one of which a part could never be used.
    pub fn check(&self) -> Result<(), Stop> {
        let refuse = |message: String| Err(Stop::refuse(RefusalKind::Invalid, message));
        let (blocks, least) = (self.blocks, DataFileShape::BLOCKS_MIN);
        for blocks in [blocks, self.blocks_max] {
            if !(least..u32::MAX).contains(&blocks) {
                return refuse(format!(
                    "a data file has {least} to {} blocks of {}, and this would have {blocks}; \
                     choose another size",
                    u32::MAX - 1,
                    self.block_size
                ));
            }
        }
        for blocks in [blocks, self.blocks_max, self.growth_blocks] {
            let bytes = u64::from(blocks) * self.block_size.bytes() as u64;
            if !bytes.is_multiple_of(IO_ALIGNMENT as u64) {
                return refuse(format!(
                    "a data file has, and grows by, a multiple of {IO_ALIGNMENT} bytes, and \
                     {blocks} blocks of {} are {bytes}; choose another size",
                    self.block_size
                ));
            }
        }
        let most = blocks - FIRST_EXTENT;
        if !(2..=most).contains(&self.extent_blocks) {
            return refuse(format!(
                "extents of {} blocks don't fit: a data file of {blocks} blocks has extents \
                 of 2 to {most}",
                self.extent_blocks
            ));
        }
        self.check_growth()
    }

    fn check_growth(&self) -> Result<(), Stop> {
        let refuse = |message: String| Err(Stop::refuse(RefusalKind::Invalid, message));
        let (blocks, most, step) = (self.blocks, self.blocks_max, self.growth_blocks);
        if most < blocks || (most > blocks && step < self.extent_blocks) {
            return refuse(format!(
                "a data file of {blocks} blocks can't grow to {most} by {step} at a time: let it \
                 grow to more, and by an extent of {} at least (data_growth_bytes, \
                 undo_growth_bytes)",
                self.extent_blocks
            ));
        }
        let bits = map_bits(self.block_size);
        let extents = extents_of(most, self.extent_blocks);
        if u64::from(extents) > bits {
            let least = u64::from(most - FIRST_EXTENT) / (bits + 1) + 1;
            return refuse(format!(
                "a data file of {most} blocks of {} has {extents} extents of {} blocks, and \
                 its map has room for {bits}; choose extent_blocks of {least} or more, or \
                 a smaller file",
                self.block_size, self.extent_blocks
            ));
        }
        Ok(())
    }
}

/// The number of extents for which a map in a block of this size has room.
fn map_bits(block_size: BlockSize) -> u64 {
    (block_size.bytes() as u64 - ExtentMap::BITS as u64) * 8
}

/// The number of extents of a file with this many blocks.
pub(crate) fn extents_of(blocks: u32, extent_blocks: u32) -> u32 {
    (blocks - FIRST_EXTENT) / extent_blocks
}

/// Makes an empty data file, durably, locked until it is closed. If this fails, nothing is left.
pub fn create_data_file(
    disk: &Disk,
    path: &Path,
    options: FileOptions,
    shape: &DataFileShape,
    session: &Session,
) -> Result<File, Stop> {
    shape.check()?;
    let bytes = u64::from(shape.blocks) * shape.block_size.bytes() as u64;
    let file = disk.create(path, bytes, options, session)?;
    if let Err(error) = write_first_blocks(&file, shape, session) {
        // Removed while it is locked, so that it can't be another maker's.
        let error = error.while_doing(format!("create {}", path.display()));
        return Err(Stop::from(disk.unmake(path, error, session)));
    }
    Ok(file)
}

fn write_first_blocks(file: &File, shape: &DataFileShape, session: &Session) -> Result<(), Error> {
    let mut block = IoBuf::zeroed(shape.block_size.bytes());
    let header = first_header(shape, session.os().calendar_us());
    let extents = extents_of(shape.blocks, shape.extent_blocks);
    let map = ExtentMap { extents: U32Le::new(extents), first_block: U32Le::new(FIRST_EXTENT) };
    let directory = Directory { next_object: U32Le::ZERO, reserved: [0; 4] };
    let mut bodies: Vec<(BlockKind, &[u8])> =
        vec![(BlockKind::FileHeader, header.bytes()), (BlockKind::ExtentMap, map.bytes())];
    if shape.number == DATA_FILE {
        bodies.push((BlockKind::Directory, directory.bytes()));
    }
    for (number, (kind, body)) in (0..).zip(bodies) {
        let address = Dba { file: shape.number, block: BlockNo::new(number) };
        block.fill(0);
        *BlockHeader::of_mut(&mut block) = BlockHeader::new(kind, address);
        BlockHeader::of_mut(&mut block).stamp(Scn::new(1), 0);
        block[BlockHeader::BYTES..BlockHeader::BYTES + body.len()].copy_from_slice(body);
        seal(&mut block, address);
        let at = address.block.byte_offset(shape.block_size);
        file.write_at(at, &block, session.waiting(WaitEvent::DataFileInitWrite).p(1, 256, 0))?;
    }
    file.sync(FileOperation::Sync.waiting(session))
}

fn first_header(shape: &DataFileShape, created_us: u64) -> FileHeader {
    let history = &shape.history;
    let (checkpoint, scn) = history.checkpoint;
    FileHeader {
        database: U64Le::new(history.database),
        blocks: U32Le::new(shape.blocks),
        extent_blocks: U32Le::new(shape.extent_blocks),
        tablespace: U16Le::new(shape.tablespace.0),
        reserved: [0; 2],
        incarnation: U32Le::new(history.incarnation.0),
        incarnation_scn: ScnLe::new(history.incarnation.1),
        created_us: U64Le::new(created_us),
        checkpoint_number: U32Le::new(history.checkpoint_number),
        checkpoint_sequence: U32Le::new(checkpoint.sequence),
        checkpoint_block: U32Le::new(checkpoint.block),
        reserved2: [0; 4],
        checkpoint_scn: ScnLe::new(scn),
        reserved3: [0; 64],
    }
}

/// Opens a data file, locks it, and refuses it if it isn't the one that the control file describes.
pub fn open_data_file(
    disk: &Disk,
    path: &Path,
    options: FileOptions,
    expected: &ExpectedFile<'_>,
    owned: &mut OwnedFiles,
    session: &Session,
) -> Result<File, Stop> {
    let opened = disk.open(path, options, session);
    if let Ok(file) = &opened {
        owned.lock(file, session).map_err(not_owned)?;
    }
    check_opened(opened, path, expected, session)
}

/// As [`open_data_file`], to read it only, without a lock.
pub fn open_data_file_read_only(
    disk: &Disk,
    path: &Path,
    options: FileOptions,
    expected: &ExpectedFile<'_>,
    session: &Session,
) -> Result<File, Stop> {
    check_opened(disk.open_read_only(path, options, session), path, expected, session)
}

fn check_opened(
    opened: Result<File, Error>,
    path: &Path,
    expected: &ExpectedFile<'_>,
    session: &Session,
) -> Result<File, Stop> {
    let refuse = |kind: RefusalKind, what: String| {
        let message = format!("cannot open the database: its data file {} {what}", path.display());
        Err(Stop::refuse(kind, message))
    };
    let file = match opened {
        Err(error) if error.cause() == Cause::NotFound => {
            let what = format!("isn't there; put it back; if it is lost, {RESTORE_ALL}");
            return refuse(RefusalKind::NotFound, what);
        }
        opened => opened?,
    };
    let ExpectedFile { entry, block_size, .. } = expected;
    let bytes_of = |blocks: u32| u64::from(blocks) * block_size.bytes() as u64;
    let (found, least, most) = (file.length()?, bytes_of(entry.blocks), bytes_of(entry.blocks_max));
    if !(least..=most).contains(&found) {
        let what = format!(
            "has {found} bytes and should have {least} to {most}: it was cut off, or is another \
             file; put the right one back; if it is lost, {RESTORE_ALL}"
        );
        return refuse(RefusalKind::Corrupt, what);
    }
    match fault_of(&file, expected, session)? {
        Some(what) => refuse(RefusalKind::Corrupt, what),
        None => Ok(file),
    }
}

/// Why this isn't the expected file, if it isn't.
fn fault_of(
    file: &File,
    expected: &ExpectedFile<'_>,
    session: &Session,
) -> Result<Option<String>, Stop> {
    let ExpectedFile { history, entry, block_size } = expected;
    let mut block = IoBuf::zeroed(block_size.bytes());
    let waiting = session.waiting(WaitEvent::DbFileSequentialRead);
    let read = file.read_at(0, &mut block, waiting.p(u64::from(entry.number.get()), 0, 1));
    read.map_err(|error| match error.cause() {
        Cause::Device => error.while_doing("open the database").advise(format!(
            "it is the header of a data file, which every opening reads: look at the kernel's log \
             and at the device; if it stays so, {RESTORE_ALL}"
        )),
        _ => error,
    })?;
    let wanted = entry.number;
    match check(&block, Dba { file: wanted, block: BlockNo::new(0) }) {
        Err(BlockFault::WrongAddress { found, .. }) => {
            return Ok(Some(format!(
                "says that it is file {}, and file {wanted} belongs there: files have been \
                 exchanged; give each its name back",
                found.file
            )));
        }
        Err(fault @ (BlockFault::NeverWritten { .. } | BlockFault::BadChecksum { .. })) => {
            let fault = fault.to_string();
            return Ok(Some(format!(
                "isn't a data file of ours: {}; put the right one there; if it is lost, \
                 {RESTORE_ALL}",
                fault.split("; ").next().unwrap_or(&fault)
            )));
        }
        Err(fault) => return Ok(Some(format!("isn't a data file of ours: {fault}"))),
        Ok(header) if header.kind() != BlockKind::FileHeader => {
            return Ok(Some(format!("begins with a {} block", header.kind())));
        }
        Ok(_) => {}
    }
    let header = FileHeader::at(&block, FileHeader::START);
    if let Some(what) = history_fault(header, history, entry) {
        return Ok(Some(what));
    }
    if header.tablespace.get() != entry.tablespace.0 {
        return Ok(Some(format!(
            "is of tablespace {}, and the control file says {}; put the right one there",
            header.tablespace, entry.tablespace.0
        )));
    }
    Ok(None)
}

/// The database that this file belongs to, if it begins with a data file's header.
pub fn database_of(file: &File, session: &Session) -> Result<Option<u64>, Error> {
    let length = file.length()?;
    for size in BlockSize::ALL.into_iter().filter(|size| size.bytes() as u64 <= length) {
        let mut block = IoBuf::zeroed(size.bytes());
        file.read_at(0, &mut block, session.waiting(WaitEvent::DbFileSequentialRead).p(0, 0, 1))?;
        let checked = match check(&block, Dba::new(1, 0)) {
            Err(BlockFault::WrongAddress { found, .. }) => check(&block, found),
            checked => checked,
        };
        if checked.is_ok_and(|header| header.kind() == BlockKind::FileHeader) {
            return Ok(Some(FileHeader::at(&block, FileHeader::START).database.get()));
        }
    }
    Ok(None)
}

/// Why a header isn't the one that the control file describes, if it isn't (SP19).
pub(crate) fn history_fault(
    header: &FileHeader,
    history: &History,
    entry: &DataFileContent,
) -> Option<String> {
    if header.database.get() != history.database {
        let what = "belongs to another database than the control file; put the right one there";
        return Some(what.to_string());
    }
    let (found, known) = (header.incarnation.get(), history.incarnation.0);
    if found != known {
        return Some(format!(
            "is of incarnation {found} of the database, and the control file is of {known}; put \
             there what belongs together"
        ));
    }
    let (found, scn) = (header.checkpoint_number.get(), header.checkpoint_scn.get());
    let (least, most) = (entry.checkpoint_number, history.checkpoint_number);
    if found < least {
        return Some(format!(
            "is an older copy: its last checkpoint is number {found}, at SCN {scn}, and the \
             control file knows of number {least}; opening it would lose what was committed \
             since. Put the file itself back; if it is lost, {RESTORE_ALL}"
        ));
    }
    (found > most).then(|| {
        format!(
            "is newer than the control file: its last checkpoint is number {found}, at SCN {scn}, \
             and the control file knows of none after {most}. Put the newest copy of the control \
             file back; if it is lost, {RESTORE_ALL}"
        )
    })
}

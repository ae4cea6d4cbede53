//! The data file: made full of zeros, with its first three blocks (SP5).
//!
//! Callers: `instance`, at creation and at opening.

use std::path::Path;

use format::{BlockHeader, BlockKind, Directory, ExtentMap, FileHeader, U32Le, U64Le, check, seal};
use ids::{BlockNo, BlockSize, Dba, FileNo, Scn};
use os::{Disk, File, FileOptions, IoBuf, Session};
use stop::{RefusalKind, Stop};
use waits::WaitEvent;

/// The number of the one data file.
pub const DATA_FILE: FileNo = FileNo::new(1);

const NAME: &str = "data01.dbf";

pub(crate) const EXTENT_MAP: BlockNo = BlockNo::new(1);
pub(crate) const DIRECTORY: BlockNo = BlockNo::new(2);
const FIRST_EXTENT: u32 = 3;

/// How a data file is laid out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DataFileShape {
    /// Identity of the database.
    pub database: u64,
    /// Size of a block.
    pub block_size: BlockSize,
    /// Blocks of the file, at least 16.
    pub blocks: u32,
    /// Blocks of an extent, at least 2.
    pub extent_blocks: u32,
}

impl DataFileShape {
    /// The fewest blocks that make sense: the first three and an extent or two.
    pub const BLOCKS_MIN: u32 = 16;

    /// Refuses a shape that can't be, or of which a part could never be used.
    pub fn check(&self) -> Result<(), Stop> {
        let refuse = |message: String| Err(Stop::refuse(RefusalKind::Invalid, message));
        let (blocks, least) = (self.blocks, DataFileShape::BLOCKS_MIN);
        if !(least..u32::MAX).contains(&blocks) {
            return refuse(format!(
                "a data file has {least} to {} blocks of {}, and this would have {blocks}; choose \
                 another size",
                u32::MAX - 1,
                self.block_size
            ));
        }
        let most = blocks - FIRST_EXTENT;
        if !(2..=most).contains(&self.extent_blocks) {
            return refuse(format!(
                "extents of {} blocks don't fit: a data file of {blocks} blocks has extents \
                 of 2 to {most}",
                self.extent_blocks
            ));
        }
        let bits = (self.block_size.bytes() - ExtentMap::BITS) * 8;
        if self.extents() as usize > bits {
            return refuse(format!(
                "a data file of {blocks} blocks has {} extents of {} blocks, and its map has \
                 room for {bits}; choose larger extents",
                self.extents(),
                self.extent_blocks
            ));
        }
        Ok(())
    }

    fn extents(&self) -> u32 {
        (self.blocks - FIRST_EXTENT) / self.extent_blocks
    }
}

/// Makes the data file, durable, with nothing in it.
pub fn create_data_file(
    disk: &Disk,
    directory: &Path,
    options: FileOptions,
    shape: &DataFileShape,
    session: &Session,
) -> Result<File, Stop> {
    shape.check()?;
    let bytes = u64::from(shape.blocks) * shape.block_size.bytes() as u64;
    let file = disk.create(&directory.join(NAME), bytes, options, session)?;
    let mut block = IoBuf::zeroed(shape.block_size.bytes());
    let header = FileHeader {
        database: U64Le::new(shape.database),
        blocks: U32Le::new(shape.blocks),
        extent_blocks: U32Le::new(shape.extent_blocks),
    };
    let map =
        ExtentMap { extents: U32Le::new(shape.extents()), first_block: U32Le::new(FIRST_EXTENT) };
    let directory = Directory { entries: U32Le::ZERO, reserved: [0; 4] };
    let bodies: [(BlockKind, &[u8]); 3] = [
        (BlockKind::FileHeader, header.bytes()),
        (BlockKind::ExtentMap, map.bytes()),
        (BlockKind::Directory, directory.bytes()),
    ];
    for (number, (kind, body)) in (0..).zip(bodies) {
        let address = Dba { file: DATA_FILE, block: BlockNo::new(number) };
        block.fill(0);
        *BlockHeader::of_mut(&mut block) = BlockHeader::new(kind, address);
        BlockHeader::of_mut(&mut block).stamp(Scn::new(1), 0);
        block[BlockHeader::BYTES..BlockHeader::BYTES + body.len()].copy_from_slice(body);
        seal(&mut block, address);
        let at = address.block.byte_offset(shape.block_size);
        file.write_at(at, &block, session.waiting(WaitEvent::DiskFileOperations))?;
    }
    file.sync(session.waiting(WaitEvent::DiskFileOperations))?;
    Ok(file)
}

/// Opens the data file of this database.
pub fn open_data_file(
    disk: &Disk,
    directory: &Path,
    options: FileOptions,
    (database, block_size, blocks): (u64, BlockSize, u32),
    session: &Session,
) -> Result<File, Stop> {
    let path = directory.join(NAME);
    let refuse = |what: String| {
        let message = format!("cannot open the database: {} {what}", path.display());
        Err(Stop::refuse(RefusalKind::Corrupt, message))
    };
    let file = disk.open(&path, options, session)?;
    let (found, wanted) = (file.length()?, u64::from(blocks) * block_size.bytes() as u64);
    if found != wanted {
        return refuse(format!(
            "has {found} bytes and should have {wanted}; restore it from a good copy"
        ));
    }
    let mut block = IoBuf::zeroed(block_size.bytes());
    let waiting = session.waiting(WaitEvent::DbFileSequentialRead);
    file.read_at(0, &mut block, waiting.p(u64::from(DATA_FILE.get()), 0, 1))?;
    let address = Dba { file: DATA_FILE, block: BlockNo::new(0) };
    match check(&block, address) {
        Err(fault) => return refuse(format!("isn't a data file of ours: {fault}")),
        Ok(header) if header.kind() != BlockKind::FileHeader => {
            return refuse(format!("begins with a {} block", header.kind()));
        }
        Ok(_) => {}
    }
    let header = FileHeader::at(&block, FileHeader::START);
    if header.database.get() != database {
        return refuse(
            "belongs to another database than the control file; put the right one there".into(),
        );
    }
    Ok(file)
}

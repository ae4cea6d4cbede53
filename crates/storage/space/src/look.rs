//! Checked views of the blocks of this room, each by itself: no byte is believed except the block
//! headers, which were checked.
//!
//! Callers: `verify`.

use cache::{Blocks, is_unwritten};
use format::{
    BlockHeader, BlockKind, DbaLe, Directory, DirectoryEntry, Extent, ExtentMap, FileHeader,
    FreeBlock, SegmentHeader,
};
use ids::{Dba, FileNo, ObjectNo};

use crate::apply::place_at;
use crate::data_file::{DIRECTORY, EXTENT_MAP, FIRST_EXTENT, History, extents_of};
use crate::room::is_taken;
use crate::segment::{extents, extents_max};
use crate::{DATA_FILE, DataFileContent, Holds, SegmentState, TablespaceContent};

/// An entry of the segment directory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EntrySeen {
    /// The directory's block in which it lies.
    pub block: Dba,
    /// The segment's name.
    pub name: String,
    /// Its number.
    pub object: ObjectNo,
    /// Its header.
    pub header: Dba,
    /// What it holds.
    pub holds: Holds,
    /// Its state.
    pub state: SegmentState,
}

/// A segment header.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HeaderSeen {
    /// The segment's number.
    pub object: u32,
    /// What it holds.
    pub holds: Holds,
    /// Whether it is being dropped.
    pub is_dropping: bool,
    /// Its extents.
    pub extents: Vec<Blocks>,
    /// The number of blocks that were handed out.
    pub high_water: u32,
    /// The first free block.
    pub free: Option<Dba>,
}

/// A free block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FreeSeen {
    /// The number of its segment.
    pub object: u32,
    /// The next free block of the segment.
    pub next: Option<Dba>,
}

/// An extent map.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MapSeen {
    /// The number of extents of the file.
    pub extents: u32,
    /// The numbers of the extents in use, in order.
    pub taken: Vec<u32>,
}

/// The first block of the segment directory.
pub const DIRECTORY_FIRST: Dba = Dba { file: DATA_FILE, block: DIRECTORY };

/// The number of blocks of a file before its first extent.
pub const BLOCKS_BEFORE_EXTENTS: u32 = FIRST_EXTENT;

/// The block with a file's extent map.
pub fn map_of(file: FileNo) -> Dba {
    Dba { file, block: EXTENT_MAP }
}

/// The kind of the block at this address before the first extent; `None` if any kind may lie there.
pub fn kind_before_extents(address: Dba) -> Option<BlockKind> {
    match address.block.get() {
        0 => Some(BlockKind::FileHeader),
        1 => Some(BlockKind::ExtentMap),
        _ if address == DIRECTORY_FIRST => Some(BlockKind::Directory),
        _ => None,
    }
}

fn is_kind(block: &[u8], kind: BlockKind) -> Result<(), String> {
    match is_unwritten(block) || BlockHeader::at(block, 0).kind() != kind {
        true => Err(format!("is no {kind} block")),
        false => Ok(()),
    }
}

fn is_zero(bytes: &[u8]) -> bool {
    // A loop without an early exit compiles to vector instructions.
    bytes.iter().fold(0, |any, byte| any | byte) == 0
}

/// Checks the first block of a data file against the control file.
pub fn look_at_file_header(
    block: &[u8],
    history: &History,
    file: &DataFileContent,
    tablespace: &TablespaceContent,
) -> Result<(), String> {
    is_kind(block, BlockKind::FileHeader)?;
    let head = FileHeader::at(block, FileHeader::START);
    let reserved = is_zero(&head.reserved) && is_zero(&head.reserved2) && is_zero(&head.reserved3);
    let said = (head.database.get(), head.tablespace.get(), head.extent_blocks.get());
    let expected = (history.database, file.tablespace.0, tablespace.extent_blocks);
    if said != expected || head.blocks.get() > file.blocks || !reserved {
        return Err(format!(
            "says database {:016x}, tablespace {}, extents of {} blocks, made with {}; the control \
             file says {:016x}, {}, {}, and {} by now",
            said.0, said.1, said.2, head.blocks, expected.0, expected.1, expected.2, file.blocks
        ));
    }
    is_zero(&block[FileHeader::START + size_of::<FileHeader>()..])
        .then_some(())
        .ok_or_else(|| "has something behind its head".to_string())
}

/// The extent map of a file with this many blocks.
pub fn look_at_map(block: &[u8], blocks: u32, extent_blocks: u32) -> Result<MapSeen, String> {
    is_kind(block, BlockKind::ExtentMap)?;
    let head = ExtentMap::at(block, ExtentMap::START);
    let (extents, first) = (head.extents.get(), head.first_block.get());
    let most = extents_of(blocks, extent_blocks);
    let bits = (block.len() - ExtentMap::BITS) * 8;
    if first != FIRST_EXTENT || extents > most || extents as usize > bits {
        return Err(format!(
            "says {extents} extents from block {first} on; the file has room for {most} from \
             {FIRST_EXTENT} on"
        ));
    }
    let behind = (extents..bits as u32).find(|number| is_taken(block, *number));
    match behind {
        Some(number) => Err(format!("has extent {number} in use, of {extents}")),
        None => Ok(MapSeen {
            extents,
            taken: (0..extents).filter(|number| is_taken(block, *number)).collect(),
        }),
    }
}

/// The entries of a block of the segment directory.
pub fn look_at_directory(block: &[u8]) -> Result<Vec<EntrySeen>, String> {
    is_kind(block, BlockKind::Directory)?;
    let address = BlockHeader::at(block, 0).address();
    let head = Directory::at(block, Directory::START);
    let places = (block.len() - Directory::ENTRIES) / DirectoryEntry::BYTES;
    let mut entries = Vec::new();
    for number in 0..places as u32 {
        let at = place_at(number);
        let stored = DirectoryEntry::at(block, at);
        if stored.state == 0 {
            if !is_zero(stored.bytes()) {
                return Err(format!("place {number} has something, and no entry"));
            }
            continue;
        }
        let length = stored.name.iter().position(|byte| *byte == 0).unwrap_or(stored.name.len());
        let name = std::str::from_utf8(&stored.name[..length]).unwrap_or_default().to_string();
        let object = stored.object.get();
        let (holds, state) = (Holds::read(stored.holds), SegmentState::read(stored.state));
        let own = ObjectNo::DIRECTORY.get();
        let (Some(holds), Some(state), true) = (
            holds,
            state,
            object > 0
                && (object < head.next_object.get() || object == own)
                && !name.is_empty()
                && is_zero(&stored.name[length..])
                && stored.reserved == [0; 2],
        ) else {
            return Err(format!("the entry in place {number} isn't as entries are"));
        };
        let (object, header) = (ObjectNo::new(object), stored.header.get());
        entries.push(EntrySeen { block: address, name, object, header, holds, state });
    }
    let end = place_at(places as u32);
    match is_zero(&block[end..]) && head.reserved == [0; 4] {
        true => Ok(entries),
        false => Err("has something behind its entries".to_string()),
    }
}

/// A segment header.
pub fn look_at_header(block: &[u8]) -> Result<HeaderSeen, String> {
    is_kind(block, BlockKind::SegmentHeader)?;
    let head = SegmentHeader::at(block, SegmentHeader::START);
    let count = usize::from(head.extents.get());
    let Some(holds) = Holds::read(head.holds) else {
        return Err(format!("says that its segment holds {}, which nothing is", head.holds));
    };
    let is_sound = (1..=extents_max(block.len())).contains(&count)
        && head.dropping <= 1
        && (head.reserved, head.reserved2, head.reserved3) == ([0; 1], [0; 40], [0; 1])
        && (head.free().is_none() && head.free_block.get() == 0 || holds == Holds::Index);
    if !is_sound {
        return Err(format!("says {count} extents, or what no header says"));
    }
    let listed: Vec<_> = extents(block).collect();
    let blocks: u64 = listed.iter().map(|extent| u64::from(extent.count)).sum();
    let (said, high_water) = (head.blocks.get(), head.high_water.get());
    if u64::from(said) != blocks || high_water > said && head.dropping == 0 || high_water == 0 {
        return Err(format!(
            "says {said} blocks, of which {high_water} were handed out, and its extents have \
             {blocks}"
        ));
    }
    if !is_zero(&block[SegmentHeader::EXTENTS + count * Extent::BYTES..]) {
        return Err("has something behind its extents".to_string());
    }
    let (object, is_dropping, free) = (head.object.get(), head.dropping == 1, head.free());
    Ok(HeaderSeen { object, holds, is_dropping, extents: listed, high_water, free })
}

/// A free block of a segment.
pub fn look_at_free(block: &[u8]) -> Result<FreeSeen, String> {
    is_kind(block, BlockKind::Free)?;
    let free = FreeBlock::at(block, FreeBlock::START);
    let end = FreeBlock::START + size_of::<FreeBlock>();
    match free.reserved == [0; 4] && is_zero(&block[end..]) {
        true => Ok(FreeSeen {
            object: free.object.get(),
            next: (free.next != DbaLe::NONE).then(|| free.next.get()),
        }),
        false => Err("is free, and has something in it".to_string()),
    }
}

/// The numbers of a run's extents in its file; `None` if it isn't made of whole extents.
pub fn extents_of_run(run: Blocks, extent_blocks: u32) -> Option<std::ops::Range<u32>> {
    let blocks = run.count;
    let from = run.first.block.get().checked_sub(FIRST_EXTENT)?;
    let is_whole =
        from.is_multiple_of(extent_blocks) && blocks.is_multiple_of(extent_blocks) && blocks > 0;
    let number = from / extent_blocks;
    is_whole.then(|| number..number.saturating_add(blocks / extent_blocks))
}

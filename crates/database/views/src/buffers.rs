//! `v$bh`: one row for each buffer of the cache.

use std::collections::BTreeMap;

use cache::{BufferState, is_unwritten};
use format::{BlockHeader, BlockKind, DataHead, FreeBlock, FreeMap, SegmentHeader};
use ids::FileNo;
use space::TablespaceNo;
use stop::Stop;
use value::Value;

use crate::Engine;
use crate::cells::{count, or_null, text_or_null, y_n};
use crate::view::{Give, View, int, text};

pub(crate) const VIEWS: &[View] = &[View::new(
    "v$bh",
    "one row for each buffer that has memory, seen one after the other",
    &[
        int("file#", "the file of the block that lives there"),
        int("block#", "the number of the block in its file"),
        int("class#", "its class: 1 data, 4 segment header, 8 and 13 maps, 17 and 18 undo"),
        text("status", "free; read: it is being read; xcur: it has a block"),
        text("dirty", "Y: the block was changed since it was written last; else N"),
        text("being_written", "Y: a copy of the block is being written; else N"),
        int("objd", "the segment of the block: data_object_id of dba_objects"),
        int("ts#", "the tablespace of the block"),
        text("kind", "the kind of block, as heap or index leaf"),
        int("block_size", "the bytes of the buffer"),
    ],
    buffers,
)
.expecting(10_000)];

/// What is taken from a block's bytes.
struct BlockSeen {
    kind: BlockKind,
    object: Option<u32>,
}

impl BlockSeen {
    /// None if the block was never formatted.
    fn of(block: &[u8]) -> Option<BlockSeen> {
        if is_unwritten(block) {
            return None;
        }
        let kind = BlockHeader::at(block, 0).kind();
        let object = match kind {
            BlockKind::Heap | BlockKind::Leaf | BlockKind::Branch => {
                Some(DataHead::at(block, DataHead::START).object.get())
            }
            BlockKind::FreeMap => Some(FreeMap::at(block, FreeMap::START).object.get()),
            BlockKind::Free => Some(FreeBlock::at(block, FreeBlock::START).object.get()),
            BlockKind::SegmentHeader => {
                Some(SegmentHeader::at(block, SegmentHeader::START).object.get())
            }
            _ => None,
        };
        Some(BlockSeen { kind, object })
    }

    /// The class as `buffer busy waits` has it in p3.
    fn class(&self) -> Option<u8> {
        Some(match self.kind {
            BlockKind::Heap | BlockKind::Leaf | BlockKind::Branch | BlockKind::Free => 1,
            BlockKind::Directory | BlockKind::SegmentHeader => 4,
            BlockKind::FreeMap => 8,
            BlockKind::ExtentMap | BlockKind::FileHeader => 13,
            BlockKind::TransactionTable => 17,
            BlockKind::Undo => 18,
            _ => return None,
        })
    }
}

fn buffers(engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    let (cache, session) = (engine.instance.cache(), engine.session);
    let mut tablespaces = tablespaces(engine);
    for number in 0..cache.buffers_max() {
        let Some(seen) = cache.look_at_buffer(number, BlockSeen::of, session) else { continue };
        let status = match seen.state {
            BufferState::Free => "free",
            BufferState::Reading => "read",
            BufferState::Current => "xcur",
        };
        let block = seen.content.flatten();
        let file = seen.address.map(|address| address.file);
        if file.is_some_and(|file| !tablespaces.contains_key(&file)) {
            // The file was added since.
            tablespaces = self::tablespaces(engine);
        }
        let tablespace = file.and_then(|file| tablespaces.get(&file));
        give(&[
            or_null(file.map(|file| count(file.get()))),
            or_null(seen.address.map(|address| count(address.block.get()))),
            or_null(block.as_ref().and_then(BlockSeen::class).map(count)),
            Value::Text(status),
            y_n(seen.is_dirty),
            y_n(seen.is_being_written),
            or_null(block.as_ref().and_then(|block| block.object).map(count)),
            or_null(tablespace.map(|number| count(number.0))),
            text_or_null(block.as_ref().map(|block| block.kind.name())),
            count(seen.block_size.bytes() as u64),
        ])?;
    }
    Ok(())
}

/// The tablespace of each file.
fn tablespaces(engine: &Engine<'_>) -> BTreeMap<FileNo, TablespaceNo> {
    let files = engine.instance.space().data_files(engine.session).into_iter();
    files.map(|file| (file.number, file.tablespace)).collect()
}

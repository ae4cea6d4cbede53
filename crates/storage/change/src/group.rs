//! Building and committing an atomic group.
//!
//! The order of a commit (CH11):
//!   1. every block enters the checkpoint queue (CH4)
//!   2. the record gets its SCN, under the redo allocation latch
//!   3. the record is copied to the log buffer, the changes are applied, each block gets its
//!      version
//!
//! With `redo_consistency` the changes are applied before the copy, still under the latch, because
//! the record says what came of them (CH6). Otherwise they are applied after the copy, so that the
//! latch is held for the copy only.

use std::cell::Cell;
use std::sync::Arc;

use cache::{Cache, ExclusiveBlock};
use format::{BlockHeader, ChangeVector, DbaLe, RedoRecord, ScnLe, U16Le, U32Le};
use ids::{BlockSize, Dba, Scn};
use latch::Pace;
use os::{Os, Session};
use redo::{Credits, RecordPosition, Redo};
use stop::{Halt, Stop};
use waits::Statistic;

use crate::{BlockMut, Layer};

/// Bytes of the smallest block: the unit of a vector's block size.
const BLOCK_UNIT: usize = BlockSize::KIB_2.bytes();

/// The cache whose blocks change, and the redo of the changes. Groups are made from it.
#[derive(Clone)]
pub struct Changes {
    cache: Arc<Cache>,
    redo: Arc<Redo>,
    halt: Halt,
    consistency: bool,
    /// When blocks are checked; none in a world that asks for no checks (CH10).
    pace: Option<Arc<Pace>>,
}

/// Bytes of the vectors of changes with payloads of these lengths, for which a group takes credits.
pub fn credits_for(payloads: &[usize]) -> usize {
    payloads.iter().map(|payload| ChangeVector::BYTES + payload).sum()
}

impl Changes {
    /// `consistency` is the parameter `redo_consistency` (CH6).
    pub fn new(
        cache: Arc<Cache>,
        redo: Arc<Redo>,
        halt: Halt,
        consistency: bool,
        os: &Os,
    ) -> Changes {
        Changes { cache, redo, halt, consistency, pace: Pace::new(os).map(Arc::new) }
    }

    /// The cache.
    pub fn cache(&self) -> &Arc<Cache> {
        &self.cache
    }

    /// The redo.
    pub fn redo(&self) -> &Arc<Redo> {
        &self.redo
    }

    /// The instance's halt.
    pub fn halt(&self) -> &Halt {
        &self.halt
    }

    /// Begins a group whose vectors have at most this number of bytes ([`credits_for`]): takes the
    /// redo credits, for which it may wait. Called with pins and without latches (CH2).
    pub fn begin<'a>(&'a self, bytes: usize, session: &'a Session) -> Result<Group<'a>, Stop> {
        let credits = self.redo.reserve(bytes, session)?;
        let limit = RedoRecord::BYTES + bytes;
        let record = RecordBuffer::take(limit);
        Ok(Group { changes: self, credits, blocks: ChangedBlocks::default(), record, limit })
    }
}

/// Bytes of a block that [`Pace`] counts as one part.
const PART: usize = 512;

impl Changes {
    /// Checks changed blocks, if a check is due (CH10).
    fn check(&self, blocks: &ChangedBlocks<'_>) {
        let Some(pace) = &self.pace else { return };
        for changed in blocks.iter().filter(|_| pace.is_due()) {
            if let Err(what) = (changed.layer.check)(&changed.block) {
                let (layer, opcode) = (changed.layer.name, changed.opcode);
                let address = changed.address;
                panic!("change {opcode} of layer {layer} broke block {address}: {what} (CH10)");
            }
            pace.has_seen(changed.block.len() / PART);
        }
    }
}

struct Changed<'a> {
    block: ExclusiveBlock<'a>,
    address: Dba,
    layer: &'static Layer,
    opcode: u8,
    /// Where the vector begins in the record.
    vector: usize,
    payload: usize,
}

/// The blocks of a group, in the order of its changes. Most groups have few: these need no
/// allocation.
#[derive(Default)]
struct ChangedBlocks<'a> {
    first: [Option<Changed<'a>>; FEW_BLOCKS],
    more: Vec<Changed<'a>>,
    count: usize,
}

/// A row's block, and the block with its undo.
const FEW_BLOCKS: usize = 2;

impl<'a> ChangedBlocks<'a> {
    fn push(&mut self, changed: Changed<'a>) {
        match self.first.get_mut(self.count) {
            Some(place) => *place = Some(changed),
            None => self.more.push(changed),
        }
        self.count += 1;
    }

    fn iter(&self) -> impl Iterator<Item = &Changed<'a>> {
        self.first.iter().flatten().chain(&self.more)
    }

    fn iter_mut(&mut self) -> impl Iterator<Item = &mut Changed<'a>> {
        self.first.iter_mut().flatten().chain(&mut self.more)
    }
}

/// The bytes of a record. The thread's next group uses the buffer again.
struct RecordBuffer(Vec<u8>);

/// A buffer that takes more bytes is given back to the system.
const KEPT_BYTES: usize = 32 << 10;

thread_local! {
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

impl RecordBuffer {
    /// A buffer with an empty head, and with room for `limit` bytes.
    fn take(limit: usize) -> RecordBuffer {
        // While the thread's last destructors run there may be none.
        let mut bytes = BUFFER.try_with(Cell::take).unwrap_or_default();
        bytes.clear();
        bytes.reserve(limit);
        bytes.extend_from_slice(&[0; RedoRecord::BYTES]);
        RecordBuffer(bytes)
    }
}

impl Drop for RecordBuffer {
    fn drop(&mut self) {
        let bytes = std::mem::take(&mut self.0);
        if bytes.capacity() <= KEPT_BYTES {
            _ = BUFFER.try_with(|buffer| buffer.set(bytes));
        }
    }
}

/// Changes that happen together. A group that is dropped without commit has changed nothing.
#[must_use = "a group that isn't committed changes nothing"]
pub struct Group<'a> {
    changes: &'a Changes,
    credits: Credits<'a>,
    blocks: ChangedBlocks<'a>,
    record: RecordBuffer,
    limit: usize,
}

impl<'a> Group<'a> {
    /// Adds a change of this block. The payload is the concatenation of the parts.
    ///
    /// # Panics
    /// When the group has used up its credits, or changes the block already (CH3).
    pub fn change(
        &mut self,
        block: ExclusiveBlock<'a>,
        layer: &'static Layer,
        opcode: u8,
        payload: &[&[u8]],
    ) {
        self.add(block, layer, opcode, false, payload);
    }

    /// Adds a change that makes this block anew (CH8): `apply` is given zeros, and the block's
    /// former content matters neither now nor in recovery.
    ///
    /// # Panics
    /// As [`change`](Group::change).
    pub fn format(
        &mut self,
        block: ExclusiveBlock<'a>,
        layer: &'static Layer,
        opcode: u8,
        payload: &[&[u8]],
    ) {
        self.add(block, layer, opcode, true, payload);
    }

    fn add(
        &mut self,
        block: ExclusiveBlock<'a>,
        layer: &'static Layer,
        opcode: u8,
        anew: bool,
        payload: &[&[u8]],
    ) {
        let address = block.address();
        assert!(
            self.blocks.iter().all(|other| other.address != address),
            "a group changes block {address} twice (rule CH3)"
        );
        let before = BlockHeader::at(&block, 0);
        let length: usize = payload.iter().map(|part| part.len()).sum();
        let head = ChangeVector {
            address: DbaLe::new(address),
            before_scn: ScnLe::new(before.changed()),
            before_sequence: U32Le::new(before.sequence()),
            image: U32Le::ZERO,
            layer: layer.number,
            opcode,
            length: U16Le::new(u16::try_from(length).expect("a payload is shorter than a block")),
            block_units: u8::try_from(block.len() / BLOCK_UNIT).expect("blocks have 2 to 32 KiB"),
            anew: anew.into(),
            reserved: [0; 2],
        };
        let record = &mut self.record.0;
        let vector = record.len();
        record.extend_from_slice(head.bytes());
        let start = record.len();
        let parts = payload.iter().filter(|part| !part.is_empty());
        parts.for_each(|part| record.extend_from_slice(part));
        assert!(
            record.len() <= self.limit,
            "a group of {} bytes has credits for {} (rule CH2)",
            record.len(),
            self.limit
        );
        debug_assert_eq!(
            layer.changes.check(opcode, &record[start..]),
            Ok(()),
            "layer {} makes a payload of change {opcode} that it couldn't read (rule CH9)",
            layer.name
        );
        self.blocks.push(Changed { block, address, layer, opcode, vector, payload: start });
    }

    /// Makes the changes and releases the blocks' latches (CH11). Nothing in here can fail, or wait
    /// for more than a latch (CH2).
    pub fn commit(self, session: &Session) -> RecordPosition {
        let Group { changes, credits, mut blocks, record: mut buffer, .. } = self;
        let record = &mut buffer.0;
        assert!(blocks.count > 0, "a group without changes is committed");
        let critical = changes.halt.guard("a change was not finished after it had begun", session);
        let head = RedoRecord {
            length: U32Le::new(u32::try_from(record.len()).expect("credits limit a record")),
            vectors: U16Le::new(u16::try_from(blocks.count).expect("a group has few blocks")),
            reserved: [0; 2],
            scn: ScnLe::new(Scn::ZERO),
        };
        *RedoRecord::at_mut(record, 0) = head;
        // CH4: before the address is given out.
        blocks.iter_mut().for_each(|changed| changed.block.will_change());
        let consistency = changes.consistency;
        let fill = |scn, record: &mut [u8]| {
            if consistency {
                apply_all(&mut blocks, record, scn);
                note_images(&blocks, record);
            }
        };
        let placed = changes.redo.append_with(credits, record, fill, session);
        if !consistency {
            apply_all(&mut blocks, record, placed.scn);
        }
        session.count(Statistic::BlockChanges, blocks.count as u64);
        changes.check(&blocks);
        drop(blocks);
        critical.disarm();
        placed
    }
}

fn apply_all(blocks: &mut ChangedBlocks<'_>, record: &[u8], scn: Scn) {
    for (number, changed) in (0..).zip(blocks.iter_mut()) {
        let head = ChangeVector::at(record, changed.vector);
        let (length, anew) = (usize::from(head.length.get()), head.anew != 0);
        let payload = &record[changed.payload..changed.payload + length];
        let address = changed.address;
        let bytes = changed.block.bytes_for_apply();
        let block = BlockMut { address, scn, bytes };
        apply(changed.layer, block, changed.opcode, anew, payload, number);
    }
}

/// Makes one change of one block and stamps its new version, forward and in recovery (CH1, CH3,
/// CH8).
pub(crate) fn apply(
    layer: &Layer,
    block: BlockMut<'_>,
    opcode: u8,
    anew: bool,
    payload: &[u8],
    number: u32,
) {
    let BlockMut { address, scn, bytes } = block;
    if anew {
        bytes.fill(0);
    }
    (layer.apply)(BlockMut { address, scn, bytes: &mut *bytes }, opcode, payload);
    BlockHeader::of_mut(bytes).stamp(scn, number);
}

fn note_images(blocks: &ChangedBlocks<'_>, record: &mut [u8]) {
    for changed in blocks.iter() {
        ChangeVector::at_mut(record, changed.vector).image = U32Le::new(image_of(&changed.block));
    }
}

/// The checksum of a block's body (CH6). It is never 0, which stands for "not taken".
pub(crate) fn image_of(block: &[u8]) -> u32 {
    crc_fast::crc32_iscsi(&block[BlockHeader::BYTES..]).max(1)
}

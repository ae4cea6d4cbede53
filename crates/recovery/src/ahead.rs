//! Ahead of who applies: reads the redo, and has the blocks that it names brought into the cache,
//! many at once.
//!
//! A process of its own, `fb_rcv0`, so that reading and checking redo and blocks goes on while
//! changes are applied. It works in batches, and brings the changes of each in the order of their
//! blocks: so a block is got once for all of them. When a batch is handed on its blocks are there,
//! as far as there were buffers; those that aren't are read by who applies. How far it is ahead is
//! bounded by the cache (RC6).
//!
//! Caller: `recover`.

use std::sync::Arc;

use cache::Cache;
use ids::{Dba, Rba, Scn};
use latch::Shared64;
use os::{Disk, Session, ThreadHandle, ThreadSpec};
use redo::{Reader, RedoConfig};
use stop::{Halt, Stop};

use crate::line::{Batch, Line};

/// Redo of one batch, at most.
const BATCH_BYTES: usize = 4 << 20;
/// New blocks of one batch take at most so large a share of the buffers: one in ...
const BATCH_SHARE: u32 = 8;

/// What it needs, and what it leaves.
pub(crate) struct Ahead {
    pub(crate) disk: Disk,
    pub(crate) redo: RedoConfig,
    pub(crate) from: (Rba, Scn),
    pub(crate) cache: Arc<Cache>,
    pub(crate) line: Line,
    /// Blocks that were brought.
    pub(crate) brought: Shared64,
}

/// Which blocks were named lately: one place for each, which the next block there takes away. So it
/// is small, and what it has forgotten is counted once more.
struct Named(Vec<u64>);

impl Ahead {
    /// Starts the process.
    pub(crate) fn start(
        self: &Arc<Ahead>,
        halt: &Halt,
        session: &Session,
    ) -> Result<ThreadHandle, Stop> {
        let (ahead, halt) = (Arc::clone(self), halt.clone());
        let spec = ThreadSpec::background("fb_rcv0");
        let started = session.spawn(spec, move |session| {
            let guard = halt.guard("fb_rcv0 panicked", session);
            let read = ahead.read(session);
            ahead.line.end(read, session);
            guard.disarm();
        });
        started.map_err(Stop::from)
    }

    fn read(&self, session: &Session) -> Result<(), Stop> {
        let (from, first_scn) = self.from;
        let mut reader = Reader::open(&self.disk, &self.redo, from, first_scn, session)?;
        let mut blocks = self.cache.multiblock_reader(session);
        let buffers = self.cache.buffers(self.cache.block_size(), session);
        let (mut named, most) = (Named::new(buffers), (buffers / BATCH_SHARE).max(1) as usize);
        loop {
            let mut batch = self.line.spare(session);
            gather(&mut reader, &mut named, most, &mut batch, session)?;
            if batch.records.count() == 0 {
                return Ok(());
            }
            batch.records.sort();
            batch.blocks.extend(batch.records.blocks());
            let brought = blocks.prefetch(&batch.blocks)?;
            self.brought.fetch_add(brought.into(), session);
            if !self.line.put(batch, session) {
                return Ok(());
            }
        }
    }
}

/// Reads a batch; an empty one at the end.
fn gather(
    reader: &mut Reader,
    named: &mut Named,
    most: usize,
    batch: &mut Batch,
    session: &Session,
) -> Result<(), Stop> {
    let mut new = 0;
    while new < most && batch.records.bytes() < BATCH_BYTES {
        let Some(record) = reader.next(session)? else { break };
        new += record.vectors().filter(|vector| named.is_new(vector.address)).count();
        batch.records.push(&record);
    }
    Ok(())
}

impl Named {
    /// For a cache of so many buffers.
    fn new(buffers: u32) -> Named {
        Named(vec![u64::MAX; buffers.next_power_of_two() as usize])
    }

    /// Whether the block wasn't named lately; it is now.
    fn is_new(&mut self, address: Dba) -> bool {
        let packed = address.pack();
        // Fibonacci hashing (Knuth, TAOCP 6.4).
        let mixed = packed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let places = self.0.len() as u64;
        let place = &mut self.0[(mixed % places) as usize];
        std::mem::replace(place, packed) != packed
    }
}

//! The reader process: reads the redo, and brings the blocks that it names into the cache, many at
//! once.
//!
//! It is a process of its own, `fb_rcv0`, so that reading and checking go on while changes are
//! applied. It works in batches, and sorts the changes of each by block, so that a block is got
//! once for all of them. When a batch is handed on its blocks are in the cache, as far as there
//! were buffers; the applying session reads the others. The cache bounds how far the process is
//! ahead (RC6).
//!
//! In the survey nothing is written, so batches are handed on only as long as free buffers hold
//! their blocks. From there on the redo is only read, to its end (RC8).
//!
//! Caller: `roll`.

use std::path::PathBuf;
use std::sync::Arc;

use cache::Cache;
use ids::Dba;
use latch::{Latch, LatchKind, Shared64};
use os::{Disk, Os, Session, ThreadHandle, ThreadSpec};
use redo::{LogEnd, Reader, Record, RecordPosition, RedoConfig};
use stop::{Halt, Stop};
use waits::Timestamp;

use crate::batch_queue::{Batch, BatchQueue};

/// The most redo of one batch.
const BATCH_BYTES: usize = 4 << 20;
/// The new blocks of one batch take at most one in this many of the buffers.
const BATCH_SHARE: u32 = 8;

/// What the reader process needs, and what it leaves.
pub(crate) struct Ahead {
    disk: Disk,
    redo: RedoConfig,
    from: RecordPosition,
    cache: Arc<Cache>,
    /// Whether this is the survey: only batches whose blocks free buffers hold are handed on.
    is_first: bool,
    halt: Halt,
    pub(crate) queue: BatchQueue,
    /// The number of blocks brought so far.
    pub(crate) brought: Shared64,
    summary: Latch<ReadSummary>,
}

/// What the reader process read.
#[derive(Clone, Default)]
pub(crate) struct ReadSummary {
    /// The first record.
    pub(crate) first: Option<RecordPosition>,
    pub(crate) records: u64,
    pub(crate) bytes: u64,
    /// The first record that wasn't handed on.
    pub(crate) rest: Option<RecordPosition>,
    /// Where the redo ends.
    pub(crate) end: Option<LogEnd>,
    /// When the end became known.
    pub(crate) end_known_at: Timestamp,
    /// Members of log groups that can't be relied on.
    pub(crate) lost: Vec<PathBuf>,
}

/// The blocks that were named lately. Each block has one place, and loses it to the next block
/// there: so the table is small, and a block that it has forgotten is counted once more.
struct RecentBlocks(Vec<u64>);

impl Ahead {
    pub(crate) fn new(
        os: &Os,
        disk: &Disk,
        redo: &RedoConfig,
        from: RecordPosition,
        cache: &Arc<Cache>,
        is_first: bool,
        halt: &Halt,
    ) -> Ahead {
        Ahead {
            disk: disk.clone(),
            redo: redo.clone(),
            from,
            cache: Arc::clone(cache),
            is_first,
            halt: halt.clone(),
            queue: BatchQueue::new(os, halt),
            brought: Shared64::new(0),
            summary: Latch::new(os, LatchKind::Innermost, ReadSummary::default()),
        }
    }

    /// Starts the process.
    pub(crate) fn start(self: &Arc<Ahead>, session: &Session) -> Result<ThreadHandle, Stop> {
        let ahead = Arc::clone(self);
        let spec = ThreadSpec::background("fb_rcv0");
        let started = session.spawn(spec, move |session| {
            let guard = ahead.halt.guard("fb_rcv0 panicked", session);
            let mut summary = ReadSummary::default();
            let read = ahead.read(&mut summary, session);
            *ahead.summary.exclusive(session) = summary;
            ahead.queue.end(read, session);
            guard.disarm();
        });
        started.map_err(Stop::from)
    }

    /// What was read, once reading has ended.
    pub(crate) fn summary(&self, session: &Session) -> ReadSummary {
        self.summary.shared(session).clone()
    }

    fn read(&self, summary: &mut ReadSummary, session: &Session) -> Result<(), Stop> {
        let mut reader = Reader::open(&self.disk, &self.redo, self.from, session)?;
        let mut blocks = self.cache.multiblock_reader(session);
        let buffers = self.cache.buffers(self.cache.block_size(), session);
        let (mut recent, most) =
            (RecentBlocks::new(buffers), (buffers / BATCH_SHARE).max(1) as usize);
        loop {
            let mut batch = self.queue.spare(session);
            read_batch(&mut reader, &mut recent, most, &mut batch, summary, session)?;
            let Some(first) = batch.records.first() else { break };
            batch.records.sort();
            let lacks = |block: &Dba| !self.cache.holds(&[*block], session);
            batch.missing.extend(batch.records.blocks(0).filter(lacks));
            let mut fits = !self.is_first || self.cache.has_free(&batch.missing, session);
            if fits {
                self.queue.want(batch.missing.len() as u64, session);
                let brought = blocks.prefetch(&batch.missing)?;
                self.brought.fetch_add(brought.into(), session);
                // RC8: the applying session would have to read a missing block, and there may be no
                // buffer. No other block is driven out in the survey.
                fits = !self.is_first || self.cache.holds(&batch.missing, session);
            }
            if !fits || !self.queue.put(batch, session) {
                summary.rest = Some(first);
                break;
            }
        }
        // RC8: the end is needed also if no more batches are handed on, but not of a recovery that
        // has failed.
        while self.is_first
            && !self.halt.is_raised(session)
            && let Some(record) = reader.next(session)?
        {
            summary.note(&record);
        }
        (summary.end, summary.end_known_at) = (reader.end(), session.now());
        summary.lost = reader.lost_members().to_vec();
        Ok(())
    }
}

impl ReadSummary {
    fn note(&mut self, record: &Record<'_>) {
        self.first.get_or_insert(record.position());
        self.records += 1;
        self.bytes += record.bytes().len() as u64;
    }
}

/// Reads a batch. It is empty at the end of the redo.
fn read_batch(
    reader: &mut Reader,
    recent: &mut RecentBlocks,
    most: usize,
    batch: &mut Batch,
    summary: &mut ReadSummary,
    session: &Session,
) -> Result<(), Stop> {
    let mut new = 0;
    while new < most && batch.records.bytes() < BATCH_BYTES {
        let Some(record) = reader.next(session)? else { break };
        let named = batch.records.block_count();
        batch.records.push(&record);
        new += batch.records.blocks(named).filter(|block| recent.is_new(*block)).count();
        summary.note(&record);
    }
    Ok(())
}

impl RecentBlocks {
    /// A table for a cache of this many buffers.
    fn new(buffers: u32) -> RecentBlocks {
        RecentBlocks(vec![u64::MAX; buffers.next_power_of_two() as usize])
    }

    /// Notes that a block is named, and returns whether it wasn't named lately.
    fn is_new(&mut self, address: Dba) -> bool {
        let packed = address.pack();
        // Fibonacci hashing (Knuth, TAOCP 6.4).
        let mixed = packed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let places = self.0.len() as u64;
        let place = &mut self.0[(mixed % places) as usize];
        std::mem::replace(place, packed) != packed
    }
}

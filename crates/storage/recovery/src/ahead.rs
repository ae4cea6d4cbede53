//! Ahead of who applies: reads the redo, and has the blocks that it names brought into the cache,
//! many at once.
//!
//! A process of its own, `fb_rcv0`, so that reading and checking redo and blocks goes on while
//! changes are applied. It works in batches, and brings the changes of each in the order of their
//! blocks: so a block is got once for all of them. When a batch is handed on its blocks are there,
//! as far as there were buffers; those that aren't are read by who applies. How far it is ahead is
//! bounded by the cache (RC6).
//!
//! The first time through the redo nothing is written, so batches are handed on only as long as
//! there are free buffers for their blocks; from there on the redo is read to its end all the same
//! (RC8).
//!
//! Caller: `roll`.

use std::path::PathBuf;
use std::sync::Arc;

use cache::Cache;
use ids::{Dba, Rba, Scn};
use latch::{Latch, LatchKind, Shared64};
use os::{Disk, Os, Session, ThreadHandle, ThreadSpec};
use redo::{LogEnd, Reader, Record, RedoConfig};
use stop::{Halt, Stop};
use waits::Timestamp;

use crate::line::{Batch, Line};

/// Redo of one batch, at most.
const BATCH_BYTES: usize = 4 << 20;
/// New blocks of one batch take at most so large a share of the buffers: one in ...
const BATCH_SHARE: u32 = 8;

/// Where reading begins: an address, and an SCN above that of every record below it.
pub(crate) type Start = (Rba, Scn);

/// What it needs, and what it leaves.
pub(crate) struct Ahead {
    disk: Disk,
    redo: RedoConfig,
    from: Start,
    cache: Arc<Cache>,
    /// Nothing is written yet: only what free buffers hold is handed on.
    is_first: bool,
    pub(crate) line: Line,
    /// Blocks that were brought so far.
    pub(crate) brought: Shared64,
    found: Latch<Found>,
}

/// What it found, and did.
#[derive(Clone, Default)]
pub(crate) struct Found {
    /// The first record.
    pub(crate) first: Option<Start>,
    pub(crate) records: u64,
    pub(crate) bytes: u64,
    /// The first record that wasn't handed on.
    pub(crate) rest: Option<Start>,
    /// Where the redo ends, and since when that is known.
    pub(crate) end: Option<(LogEnd, Timestamp)>,
    /// Members of logs that can't be relied on.
    pub(crate) lost: Vec<PathBuf>,
}

/// Which blocks were named lately: one place for each, which the next block there takes away. So it
/// is small, and what it has forgotten is counted once more.
struct Named(Vec<u64>);

impl Ahead {
    pub(crate) fn new(
        os: &Os,
        (disk, redo): (&Disk, &RedoConfig),
        from: Start,
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
            line: Line::new(os, halt),
            brought: Shared64::new(0),
            found: Latch::new(os, LatchKind::Innermost, Found::default()),
        }
    }

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
            let mut found = Found::default();
            let read = ahead.read(&mut found, session);
            *ahead.found.exclusive(session) = found;
            ahead.line.end(read, session);
            guard.disarm();
        });
        started.map_err(Stop::from)
    }

    /// What it has found, when the line has ended.
    pub(crate) fn found(&self, session: &Session) -> Found {
        self.found.shared(session).clone()
    }

    fn read(&self, found: &mut Found, session: &Session) -> Result<(), Stop> {
        let (from, first_scn) = self.from;
        let mut reader = Reader::open(&self.disk, &self.redo, from, first_scn, session)?;
        let mut blocks = self.cache.multiblock_reader(session);
        let buffers = self.cache.buffers(self.cache.block_size(), session);
        let (mut named, most) = (Named::new(buffers), (buffers / BATCH_SHARE).max(1) as usize);
        loop {
            let mut batch = self.line.spare(session);
            gather(&mut reader, &mut named, most, (&mut batch, found), session)?;
            let Some(first) = batch.records.first() else { break };
            batch.records.sort();
            batch.blocks.extend(batch.records.blocks());
            let mut fits = !self.is_first || self.cache.has_free(&batch.blocks, session);
            if fits {
                let brought = blocks.prefetch(&batch.blocks)?;
                self.brought.fetch_add(brought.into(), session);
                // RC8: who applies would have to read what is missing, and there may be no buffer.
                fits = !self.is_first || self.cache.holds(&batch.blocks, session);
            }
            if !fits || !self.line.put(batch, session) {
                found.rest = Some(first);
                break;
            }
        }
        // RC8: also if nothing more can be applied.
        while self.is_first
            && let Some(record) = reader.next(session)?
        {
            found.note(&record);
        }
        found.end = reader.end().map(|end| (end, session.now()));
        found.lost = reader.lost_members().to_vec();
        Ok(())
    }
}

impl Found {
    fn note(&mut self, record: &Record<'_>) {
        self.first.get_or_insert((record.rba, record.scn));
        self.records += 1;
        self.bytes += record.bytes().len() as u64;
    }
}

/// Reads a batch; an empty one at the end.
fn gather(
    reader: &mut Reader,
    named: &mut Named,
    most: usize,
    (batch, found): (&mut Batch, &mut Found),
    session: &Session,
) -> Result<(), Stop> {
    let mut new = 0;
    while new < most && batch.records.bytes() < BATCH_BYTES {
        let Some(record) = reader.next(session)? else { break };
        new += record.vectors().filter(|vector| named.is_new(vector.address)).count();
        batch.records.push(&record);
        found.note(&record);
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

//! Batches of blocks on their way to disk: copies, and the order in which they become durable.
//!
//! ```text
//!   filling   add (copy, seal) …
//!      │
//!      ▼ launch: redo durable ─▶ doublewrite, sync ─▶ home writes begin
//!               (the gate)       (one write)          (ring, or one at a time)
//!   flying    land: home writes end ─▶ data files' sync
//! ```
//!
//! There are two loads, in the two halves of one piece of memory: while one flies the other is
//! filled. So the device has work while the next blocks are copied.
//!
//! Invariants (rule D1)
//!   * a copy is sealed as it is made, so no frame is touched again; the same image goes to both
//!     places
//!   * one load flies at a time, and the gate is asked only when none does (CB26)
//!   * no home write begins before its copy is durable, and no slot of the doublewrite file is used
//!     again before the home writes of the batch before are
//!   * with I/O in flight nothing but that I/O is waited for (rule os/O9)
//!
//! Caller: `writer`.

use std::ops::Range;

use format::BlockHeader;
use ids::{Dba, Scn};
use os::{
    Completion, Cost, Error, IoArea, IoBuf, IoKind, Request, Ring, RingBackend, RingConfig, Session,
};
use stop::Stop;
use waits::{Statistic, WaitEvent, WaitEvent::DbFileParallelWrite};

use crate::files::DataFile;
use crate::get::kib;
use crate::{Cache, CacheConfig, Sabotage};

/// Why a block is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reason {
    /// So that its buffer becomes free.
    Free,
    /// So that the checkpoint can move on.
    Checkpoint,
}

/// One block of the batch.
pub(crate) struct Item {
    pub(crate) frame: u32,
    pub(crate) address: Dba,
    pub(crate) reason: Reason,
    pub(crate) set: u32,
    file: DataFile,
    /// Where its copy begins among the images.
    at: usize,
}

/// While home writes wait for room in the ring, it is left alone until so large a share of it is
/// done, one in ...: each look is a system call, and what it submits is told to the device at once.
const REAP_SHARE: u32 = 4;

impl Item {
    fn bytes(&self) -> usize {
        self.file.block_size.bytes()
    }

    /// Where its copy is among the images.
    fn image(&self) -> Range<usize> {
        self.at..self.at + self.bytes()
    }
}

/// Blocks that become durable together.
pub(crate) struct Load {
    pub(crate) items: Vec<Item>,
    /// How many writers there were when the first of them was taken.
    pub(crate) writers: u32,
    /// Where its half of the images begins.
    from: usize,
    /// Where its last copy ends.
    end: usize,
    /// The highest SCN in the copies.
    newest: Scn,
}

impl Load {
    fn new(from: usize, blocks: u32) -> Load {
        let items = Vec::with_capacity(blocks as usize);
        Load { items, writers: 0, from, end: from, newest: Scn::ZERO }
    }

    fn clear(&mut self) {
        *self = Load { items: std::mem::take(&mut self.items), ..Load::new(self.from, 0) };
        self.items.clear();
    }
}

/// A writer's batches, filled and emptied again and again.
pub(crate) struct Batch<'a> {
    cache: &'a Cache,
    session: &'a Session,
    filling: Load,
    flying: Load,
    /// Twice as much as the region holds: the copies of a load lie side by side in its half, in the
    /// order of the items.
    images: IoArea,
    /// Where this writer's region of the doublewrite file begins.
    region: u64,
    /// Files that the flying load is written to.
    written: Vec<DataFile>,
    home: Home,
}

/// How home writes are made.
enum Home {
    /// One at a time.
    OneByOne,
    /// Many in flight. So many of the flying load's items were pushed.
    Ring { ring: Ring, pushed: usize, done: Vec<Completion> },
}

impl<'a> Batch<'a> {
    pub(crate) fn open(
        cache: &'a Cache,
        writer: u32,
        session: &'a Session,
    ) -> Result<Batch<'a>, Stop> {
        let config = &cache.config;
        let bytes = config.region_bytes();
        let images = IoArea::zeroed(2 * bytes);
        Ok(Batch {
            cache,
            session,
            filling: Load::new(0, config.batch_blocks),
            flying: Load::new(bytes, config.batch_blocks),
            home: Home::open(cache, &images, session)?,
            images,
            region: u64::from(writer) * bytes as u64,
            written: Vec::new(),
        })
    }

    /// Whether there is nothing to launch.
    pub(crate) fn is_empty(&self) -> bool {
        self.filling.items.is_empty()
    }

    /// Whether nothing more goes in.
    pub(crate) fn is_full(&self) -> bool {
        self.filling.items.len() >= self.cache.config.batch_blocks as usize
    }

    /// Whether a load that was launched is on its way by itself.
    pub(crate) fn is_asynchronous(&self) -> bool {
        matches!(self.home, Home::Ring { .. })
    }

    /// Whether the filling load can take one more block of so many bytes and doesn't become longer
    /// than `full`; the first is always taken.
    pub(crate) fn has_room(&self, bytes: usize, full: usize) -> bool {
        let end = self.filling.end + bytes - self.filling.from;
        self.is_empty() || (!self.is_full() && end <= full && end <= self.images.length() / 2)
    }

    /// Takes a copy of a block; with its latch held. `seal_last` is called next, without.
    pub(crate) fn add(
        &mut self,
        (set, frame): (u32, u32),
        address: Dba,
        reason: Reason,
        block: &[u8],
    ) {
        let file = self.cache.files.of(address, self.session);
        let file = file.expect("a block in the cache is of a data file");
        let item = Item { frame, address, reason, set, file, at: self.filling.end };
        self.images.bytes(item.image()).copy_from_slice(block);
        self.session.charge(Cost::CopyKib, kib(block.len()));
        self.filling.end += block.len();
        self.filling.items.push(item);
    }

    /// Seals the copy that was taken last, while the processor's cache has it.
    pub(crate) fn seal_last(&mut self) {
        let item = self.filling.items.last().expect("a copy was taken just now");
        let image = self.images.bytes(item.image());
        format::seal(image, item.address);
        self.filling.newest = self.filling.newest.max(BlockHeader::of_mut(image).changed());
        self.session.charge(Cost::ChecksumKib, kib(item.bytes()));
    }

    /// As many writers as there are when the first block comes in.
    pub(crate) fn note_writers(&mut self, writers: u32) {
        if self.is_empty() {
            self.filling.writers = writers;
        }
    }

    /// Sends the filling load off. An I/O error halts the instance: a block that can't be written
    /// stays dirty for ever, and the log would fill up.
    pub(crate) fn launch(&mut self) -> Result<(), Stop> {
        latch::assert_none_held("writing a batch");
        assert!(self.flying.items.is_empty(), "two batches of one writer are on their way");
        let (cache, session) = (self.cache, self.session);
        if !self.is_sabotaged(Precaution::Gate) {
            cache.gate.make_durable(self.filling.newest, session)?;
        }
        std::mem::swap(&mut self.filling, &mut self.flying);
        let launched = self.write_copies().and_then(|()| self.begin_home());
        launched.map_err(|error| self.halted(&error))
    }

    /// Waits for the flying load; when this returns it is durable at home.
    pub(crate) fn land(&mut self) -> Result<(), Stop> {
        latch::assert_none_held("writing a batch");
        let landed = match &self.home {
            Home::OneByOne => self.write_one_by_one(),
            Home::Ring { .. } => self.write_through_ring(),
        };
        landed.and_then(|()| self.sync_home()).map_err(|error| self.halted(&error))?;
        self.note_versions();
        Ok(())
    }

    /// What has landed.
    pub(crate) fn landed(&self) -> &Load {
        &self.flying
    }

    /// What has landed was seen to.
    pub(crate) fn clear_landed(&mut self) {
        self.flying.clear();
    }

    fn halted(&self, error: &Error) -> Stop {
        self.cache.halt.raise(format!("a database writer {error}"), self.session)
    }

    /// CB20: before a frame of the batch can be given away, and its block be read again.
    fn note_versions(&mut self) {
        for item in &self.flying.items {
            let changed = BlockHeader::of_mut(self.images.bytes(item.image())).changed();
            item.file.note_written(item.address, changed, self.session);
        }
    }

    /// The doublewrite: all images in one write, and a sync.
    fn write_copies(&mut self) -> Result<(), Error> {
        if !self.cache.config.doublewrite || self.is_sabotaged(Precaution::DoublewriteWrite) {
            return Ok(());
        }
        let waiting = self.waiting();
        let file = &self.cache.doublewrite;
        let Load { from, end, .. } = self.flying;
        // CB17: so that nothing is left of the middle of a block of a batch before.
        let left_over = self.cache.left_over_max(self.session);
        let cleared = (end + left_over).min(from + self.images.length() / 2);
        self.images.bytes(end..cleared).fill(0);
        file.write_at(self.region, self.images.bytes(from..cleared), waiting)?;
        let blocks = self.flying.items.len() as u64;
        self.session.count(Statistic::DoublewriteBlocks, blocks);
        if file.options().write_through || self.is_sabotaged(Precaution::DoublewriteSync) {
            return Ok(());
        }
        file.sync(waiting)
    }

    fn begin_home(&mut self) -> Result<(), Error> {
        self.written.clear();
        for Item { file, .. } in &self.flying.items {
            if self.written.iter().all(|written| written.number != file.number) {
                self.written.push(file.clone());
            }
        }
        self.push_home()?;
        match &mut self.home {
            Home::OneByOne => Ok(()),
            Home::Ring { ring, .. } => ring.submit(),
        }
    }

    fn write_one_by_one(&mut self) -> Result<(), Error> {
        let waiting = self.waiting().p(1, 0, 0);
        for item in &self.flying.items {
            let DataFile { file, .. } = &item.file;
            let image = self.images.bytes(item.image());
            file.write_at(item.file.offset(item.address), image, waiting)?;
        }
        Ok(())
    }

    /// Pushes as many home writes as there is room for in the ring; false if there are more.
    fn push_home(&mut self) -> Result<bool, Error> {
        let Home::Ring { ring, pushed, .. } = &mut self.home else { return Ok(true) };
        while ring.has_room()
            && let Some(item) = self.flying.items.get(*pushed)
        {
            let (file, offset) = (item.file.file.clone(), item.file.offset(item.address));
            // In a batch of several block sizes a copy may lie where its file can't take it from.
            let buffer = if item.at.is_multiple_of(file.alignment().memory as usize) {
                self.images.lend(item.image())
            } else {
                self.session.charge(Cost::CopyKib, kib(item.bytes()));
                IoBuf::copy_of(self.images.bytes(item.image()))
            };
            let tag = *pushed as u64;
            ring.push(Request { file, kind: IoKind::Write, offset, buffer, tag }, self.session)?;
            *pushed += 1;
        }
        Ok(*pushed == self.flying.items.len())
    }

    fn write_through_ring(&mut self) -> Result<(), Error> {
        let waiting = self.waiting();
        loop {
            let all_pushed = self.push_home()?;
            let Home::Ring { ring, pushed, done } = &mut self.home else {
                unreachable!("asked for with a ring");
            };
            if all_pushed && ring.in_flight() == 0 {
                *pushed = 0;
                return Ok(());
            }
            // With more to come as soon as there is room for some. Else all of them, in one wait.
            let in_flight = ring.in_flight();
            let at_least =
                if all_pushed { in_flight } else { (in_flight / REAP_SHARE).max(1) };
            ring.reap(at_least, None, done, waiting)?;
            for Completion { result, .. } in done.drain(..) {
                result?;
            }
        }
    }

    /// M2: a finished write isn't durable; until this has returned nothing may rely on it.
    fn sync_home(&self) -> Result<(), Error> {
        if self.is_sabotaged(Precaution::DataSync) {
            return Ok(());
        }
        for DataFile { file, .. } in &self.written {
            if !file.options().write_through {
                file.sync(self.waiting())?;
            }
        }
        Ok(())
    }

    fn waiting(&self) -> os::Waiting<'a> {
        let blocks = self.flying.items.len() as u64;
        self.session.waiting(DbFileParallelWrite).p(blocks, 0, 0)
    }

    fn is_sabotaged(&self, precaution: Precaution) -> bool {
        let left_out = match self.cache.config.sabotage {
            Sabotage::None => None,
            #[cfg(feature = "sabotage")]
            Sabotage::SkipDoublewriteWrite => Some(Precaution::DoublewriteWrite),
            #[cfg(feature = "sabotage")]
            Sabotage::SkipDoublewriteSync => Some(Precaution::DoublewriteSync),
            #[cfg(feature = "sabotage")]
            Sabotage::SkipDataSync => Some(Precaution::DataSync),
            #[cfg(feature = "sabotage")]
            Sabotage::IgnoreGate => Some(Precaution::Gate),
        };
        left_out == Some(precaution)
    }
}

/// What a batch does only to be safe.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Precaution {
    Gate,
    DoublewriteWrite,
    DoublewriteSync,
    DataSync,
}

impl Home {
    fn open(cache: &Cache, images: &IoArea, session: &Session) -> Result<Home, Stop> {
        let CacheConfig { ring_depth, batch_blocks, io_slaves, .. } = cache.config;
        let depth = ring_depth.min(batch_blocks);
        let backend = match io_slaves {
            0 if !cache.config.filesystem_io.is_asynchronous() => return Ok(Home::OneByOne),
            0 => RingBackend::Auto,
            slaves => RingBackend::Slaves(slaves),
        };
        let (pool, slave_event) = (Some(images.pool().clone()), WaitEvent::DbFileParallelWrite);
        let ring = cache.disk.ring(&RingConfig { depth, backend, slave_event, pool }, session)?;
        Ok(Home::Ring { ring, pushed: 0, done: Vec::with_capacity(depth as usize) })
    }
}

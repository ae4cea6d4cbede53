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
//! There are two loads: while one flies the other is filled, so that the device has work while the
//! next blocks are copied. And where nothing forbids it (CB27), home writes of the one that was
//! filled begin before the other has landed: so the device has work while that is synced.
//!
//! Invariants (rule D1)
//!   * a copy is sealed as it is made, so no frame is touched again; the same image goes to both
//!     places
//!   * the gate is waited for only when no load flies (CB26)
//!   * no home write begins before its copy is durable, and no slot of the doublewrite file is used
//!     again before the home writes of the batch before are
//!   * with I/O in flight nothing is waited for but I/O and latches (rule os/O9)
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
    /// Which of the two it is: the tag of its home writes.
    number: u64,
    /// The copies side by side, in the order of the items.
    images: IoArea,
    /// Where the last of them ends.
    end: usize,
    /// The highest SCN in them.
    newest: Scn,
    /// So many of the items were pushed to the ring.
    pushed: usize,
    /// So many of these were written.
    written: usize,
}

impl Load {
    fn new(number: u64, images: IoArea, blocks: u32) -> Load {
        let items = Vec::with_capacity(blocks as usize);
        let newest = Scn::ZERO;
        Load { items, writers: 0, number, images, end: 0, newest, pushed: 0, written: 0 }
    }

    fn clear(&mut self) {
        self.items.clear();
        (self.end, self.newest, self.pushed, self.written) = (0, Scn::ZERO, 0, 0);
    }

    /// Pushes as many home writes as there is room for in the ring; false if there are more.
    fn push(&mut self, ring: &mut Ring, session: &Session) -> Result<bool, Error> {
        while ring.has_room()
            && let Some(item) = self.items.get(self.pushed)
        {
            let (file, offset) = (item.file.file.clone(), item.file.offset(item.address));
            // In a batch of several block sizes a copy may lie where its file can't take it from.
            let buffer = if item.at.is_multiple_of(file.alignment().memory as usize) {
                self.images.lend(item.image())
            } else {
                session.charge(Cost::CopyKib, kib(item.bytes()));
                IoBuf::copy_of(self.images.bytes(item.image()))
            };
            let (kind, tag) = (IoKind::Write, self.number);
            ring.push(Request { file, kind, offset, buffer, tag }, session)?;
            self.pushed += 1;
        }
        Ok(self.pushed == self.items.len())
    }

    fn is_written(&self) -> bool {
        self.written == self.items.len()
    }
}

/// A writer's batches, filled and emptied again and again.
pub(crate) struct Batch<'a> {
    cache: &'a Cache,
    session: &'a Session,
    filling: Load,
    flying: Load,
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
    /// Many in flight.
    Ring { ring: Ring, done: Vec<Completion> },
}

impl<'a> Batch<'a> {
    pub(crate) fn open(
        cache: &'a Cache,
        writer: u32,
        session: &'a Session,
    ) -> Result<Batch<'a>, Stop> {
        let config = &cache.config;
        let bytes = config.region_bytes();
        let [first, second] = IoArea::zeroed(bytes);
        Ok(Batch {
            cache,
            session,
            home: Home::open(cache, &first, session)?,
            filling: Load::new(0, first, config.batch_blocks),
            flying: Load::new(1, second, config.batch_blocks),
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
        let end = self.filling.end + bytes;
        self.is_empty() || (!self.is_full() && end <= full && end <= self.filling.images.length())
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
        let load = &mut self.filling;
        assert_eq!(load.pushed, 0, "a batch grows that is being written");
        load.images.bytes(item.image()).copy_from_slice(block);
        self.session.charge(Cost::CopyKib, kib(block.len()));
        load.end += block.len();
        load.items.push(item);
    }

    /// Seals the copy that was taken last, while the processor's cache has it.
    pub(crate) fn seal_last(&mut self) {
        let Load { items, images, newest, .. } = &mut self.filling;
        let item = items.last().expect("a copy was taken just now");
        let image = images.bytes(item.image());
        format::seal(image, item.address);
        *newest = (*newest).max(BlockHeader::of_mut(image).changed());
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
        let is_ahead = self.filling.pushed > 0;
        if !is_ahead && !self.is_sabotaged(Precaution::Gate) {
            cache.gate.make_durable(self.filling.newest, session)?;
        }
        std::mem::swap(&mut self.filling, &mut self.flying);
        let copied = if is_ahead { Ok(()) } else { self.write_copies() };
        let launched = copied.and_then(|()| self.begin_home());
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
        let Load { items, images, .. } = &mut self.flying;
        for item in items {
            let changed = BlockHeader::of_mut(images.bytes(item.image())).changed();
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
        let Load { images, end, .. } = &mut self.flying;
        // CB17: so that nothing is left of the middle of a block of a batch before.
        let left_over = self.cache.left_over_max(self.session);
        let cleared = (*end + left_over).min(images.length());
        images.bytes(*end..cleared).fill(0);
        file.write_at(self.region, images.bytes(0..cleared), waiting)?;
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
        if matches!(self.home, Home::OneByOne) {
            return Ok(());
        }
        // What was begun ahead has made room meanwhile.
        self.collect(0)?;
        let Home::Ring { ring, .. } = &mut self.home else { return Ok(()) };
        self.flying.push(ring, self.session)?;
        ring.submit()
    }

    fn write_one_by_one(&mut self) -> Result<(), Error> {
        let waiting = self.waiting().p(1, 0, 0);
        let Load { items, images, .. } = &mut self.flying;
        for item in items {
            let DataFile { file, .. } = &item.file;
            let image = images.bytes(item.image());
            file.write_at(item.file.offset(item.address), image, waiting)?;
        }
        Ok(())
    }

    /// Until the flying load is written. What was begun of the other one goes on.
    fn write_through_ring(&mut self) -> Result<(), Error> {
        let goes_ahead = self.may_go_ahead();
        while !self.flying.is_written() {
            let Home::Ring { ring, .. } = &mut self.home else {
                unreachable!("asked for with a ring");
            };
            let mut all_pushed = self.flying.push(ring, self.session)?;
            if all_pushed && goes_ahead {
                all_pushed = self.filling.push(ring, self.session)?;
            }
            // With more to come as soon as there is room for some. Else those that are missing, in
            // one wait.
            let missing = (self.flying.items.len() - self.flying.written) as u32;
            let share = (ring.in_flight() / REAP_SHARE).max(1);
            self.collect(if all_pushed { missing } else { share })?;
        }
        match &mut self.home {
            // While the flying load is synced.
            Home::Ring { ring, .. } if goes_ahead => {
                self.filling.push(ring, self.session)?;
                ring.submit()
            }
            _ => Ok(()),
        }
    }

    /// Takes what the ring has done, at least so much.
    fn collect(&mut self, at_least: u32) -> Result<(), Error> {
        let waiting = self.waiting();
        let Home::Ring { ring, done } = &mut self.home else { return Ok(()) };
        ring.reap(at_least, None, done, waiting)?;
        for Completion { result, tag, .. } in done.drain(..) {
            result?;
            let is_filling = tag == self.filling.number;
            let load = if is_filling { &mut self.filling } else { &mut self.flying };
            load.written += 1;
        }
        Ok(())
    }

    /// CB27: whether home writes of the load that was filled may begin before the other has landed.
    fn may_go_ahead(&self) -> bool {
        let redo_is_durable = || {
            self.is_sabotaged(Precaution::Gate)
                || self.cache.gate.is_durable(self.filling.newest, self.session)
        };
        !self.cache.config.doublewrite && self.is_full() && redo_is_durable()
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
        Ok(Home::Ring { ring, done: Vec::with_capacity(depth as usize) })
    }
}

//! One batch of blocks on its way to disk: copies, and the order in which they become durable.
//!
//! ```text
//!   add (copy) … ─▶ redo durable ─▶ seal ─▶ doublewrite, sync ─▶ home ─▶ data files' sync
//!                   (the gate)              (one write)          (ring, or one at a time)
//! ```
//!
//! Invariants (rule D1)
//!   * the copies are sealed here, so no frame is touched again; the same image goes to both places
//!   * no home write begins before its copy is durable, and no slot of the doublewrite file is used
//!     again before the home writes of the batch before are
//!   * with I/O in flight nothing but that I/O is waited for (rule os/O9)
//!
//! Caller: `writer`.

use format::BlockHeader;
use ids::{Dba, Scn};
use os::{Completion, Cost, Error, IoBuf, IoKind, Request, Ring, RingBackend, RingConfig, Session};
use stop::Stop;
use waits::{Statistic, WaitEvent, WaitEvent::DbFileParallelWrite};

use crate::files::DataFile;
use crate::get::kib;
use crate::pool::{SIZES, new_buffers, place_of};
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
    file: DataFile,
    /// Where its copy begins among the images.
    at: usize,
}

impl Item {
    fn bytes(&self) -> usize {
        self.file.block_size.bytes()
    }

    /// Its copy.
    fn image<'i>(&self, images: &'i IoBuf) -> &'i [u8] {
        &images[self.at..][..self.bytes()]
    }
}

/// A writer's batch, filled and emptied again and again.
pub(crate) struct Batch<'a> {
    cache: &'a Cache,
    session: &'a Session,
    items: Vec<Item>,
    /// The copies side by side, in the order of the items; as much as the region holds.
    images: IoBuf,
    /// So much of that is used.
    used: usize,
    /// The highest SCN in the copies.
    newest: Scn,
    /// Where this writer's region of the doublewrite file begins.
    region: u64,
    /// Files that the batch has written to.
    written: Vec<DataFile>,
    home: Home,
}

/// How home writes are made.
enum Home {
    /// One at a time.
    OneByOne,
    /// Many in flight. The buffers are those that aren't, by block size.
    Ring { ring: Ring, buffers: Box<[Vec<IoBuf>; SIZES]>, done: Vec<Completion> },
}

impl<'a> Batch<'a> {
    pub(crate) fn open(
        cache: &'a Cache,
        writer: u32,
        session: &'a Session,
    ) -> Result<Batch<'a>, Stop> {
        let config = &cache.config;
        let bytes = config.region_bytes();
        Ok(Batch {
            cache,
            session,
            items: Vec::with_capacity(config.batch_blocks as usize),
            images: IoBuf::zeroed(bytes),
            used: 0,
            newest: Scn::ZERO,
            region: u64::from(writer) * bytes as u64,
            written: Vec::new(),
            home: Home::open(cache, session)?,
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub(crate) fn items(&self) -> &[Item] {
        &self.items
    }

    /// Whether it can take one more block of so many bytes and doesn't become longer than `full`;
    /// the first is always taken.
    pub(crate) fn has_room(&self, bytes: usize, full: usize) -> bool {
        let end = self.used + bytes;
        let most = self.cache.config.batch_blocks as usize;
        self.is_empty() || (self.len() < most && end <= full && end <= self.images.len())
    }

    /// Takes a copy of a block; with its latch held.
    pub(crate) fn add(&mut self, frame: u32, address: Dba, reason: Reason, block: &[u8]) {
        let file = self.cache.files.of(address, self.session);
        let file = file.expect("a block in the cache is of a data file");
        let image = &mut self.images[self.used..][..block.len()];
        image.copy_from_slice(block);
        self.newest = self.newest.max(BlockHeader::of_mut(image).changed());
        self.session.charge(Cost::CopyKib, kib(block.len()));
        self.items.push(Item { frame, address, reason, file, at: self.used });
        self.used += block.len();
    }

    pub(crate) fn clear(&mut self) {
        self.items.clear();
        self.used = 0;
        self.newest = Scn::ZERO;
    }

    /// Writes the batch; when this returns it is durable at home. An I/O error halts the instance:
    /// a block that can't be written stays dirty for ever, and the log would fill up.
    pub(crate) fn write(&mut self) -> Result<(), Stop> {
        latch::assert_none_held("writing a batch");
        let (cache, session) = (self.cache, self.session);
        if !self.is_sabotaged(Precaution::Gate) {
            cache.gate.make_durable(self.newest, session)?;
        }
        self.seal();
        let written = self.write_copies().and_then(|()| self.write_home());
        written
            .and_then(|()| self.sync_home())
            .map_err(|error| cache.halt.raise(format!("a database writer {error}"), session))?;
        self.note_versions();
        Ok(())
    }

    /// CB20: before a frame of the batch can be given away, and its block be read again.
    fn note_versions(&mut self) {
        for item in &self.items {
            let changed = BlockHeader::of_mut(&mut self.images[item.at..]).changed();
            item.file.note_written(item.address, changed, self.session);
        }
    }

    fn seal(&mut self) {
        for item in &self.items {
            format::seal(&mut self.images[item.at..][..item.bytes()], item.address);
        }
        self.session.charge(Cost::ChecksumKib, kib(self.used));
    }

    /// The doublewrite: all images in one write, and a sync.
    fn write_copies(&mut self) -> Result<(), Error> {
        if !self.cache.config.doublewrite || self.is_sabotaged(Precaution::DoublewriteWrite) {
            return Ok(());
        }
        let file = &self.cache.doublewrite;
        // CB17: so that nothing is left of the middle of a block of a batch before.
        let end = (self.used + self.cache.left_over_max(self.session)).min(self.images.len());
        self.images[self.used..end].fill(0);
        file.write_at(self.region, &self.images[..end], self.waiting())?;
        self.session.count(Statistic::DoublewriteBlocks, self.items.len() as u64);
        if file.options().write_through || self.is_sabotaged(Precaution::DoublewriteSync) {
            return Ok(());
        }
        file.sync(self.waiting())
    }

    fn write_home(&mut self) -> Result<(), Error> {
        self.written.clear();
        for Item { file, .. } in &self.items {
            if self.written.iter().all(|written| written.number != file.number) {
                self.written.push(file.clone());
            }
        }
        match &self.home {
            Home::OneByOne => self.write_one_by_one(),
            Home::Ring { .. } => self.write_through_ring(),
        }
    }

    fn write_one_by_one(&self) -> Result<(), Error> {
        for item in &self.items {
            let DataFile { file, .. } = &item.file;
            let waiting = self.waiting().p(1, 0, 0);
            file.write_at(item.file.offset(item.address), item.image(&self.images), waiting)?;
        }
        Ok(())
    }

    fn write_through_ring(&mut self) -> Result<(), Error> {
        let session = self.session;
        let waiting = self.waiting();
        let Home::Ring { ring, buffers, done } = &mut self.home else {
            unreachable!("asked for with a ring");
        };
        let mut items = self.items.iter().peekable();
        while items.peek().is_some() || ring.in_flight() > 0 {
            while ring.has_room()
                && let Some(item) = items.next()
            {
                let spare = buffers[place_of(item.file.block_size)].pop();
                let mut buffer = spare.unwrap_or_else(|| IoBuf::zeroed(item.bytes()));
                buffer.copy_from_slice(item.image(&self.images));
                session.charge(Cost::CopyKib, kib(item.bytes()));
                let (file, offset) = (item.file.file.clone(), item.file.offset(item.address));
                let (kind, tag) = (IoKind::Write, place_of(item.file.block_size) as u64);
                ring.push(Request { file, kind, offset, buffer, tag }, session)?;
            }
            // More to come: as soon as one is done. Else all of them, with one wait.
            let at_least = if items.peek().is_some() { 1 } else { ring.in_flight() };
            ring.reap(at_least, None, done, waiting)?;
            for Completion { buffer, result, tag } in done.drain(..) {
                buffers[tag as usize].push(buffer);
                result?;
            }
        }
        Ok(())
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
        self.session.waiting(DbFileParallelWrite).p(self.items.len() as u64, 0, 0)
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
    fn open(cache: &Cache, session: &Session) -> Result<Home, Stop> {
        let CacheConfig { ring_depth, batch_blocks, io_slaves, block_size, .. } = cache.config;
        let depth = ring_depth.min(batch_blocks);
        let backend = match io_slaves {
            0 if !cache.config.filesystem_io.is_asynchronous() => return Ok(Home::OneByOne),
            0 => RingBackend::Auto,
            slaves => RingBackend::Slaves(slaves),
        };
        let (own, pool) = new_buffers(depth, block_size.bytes())?;
        let mut buffers = Box::new([const { Vec::new() }; SIZES]);
        buffers[place_of(block_size)] = own;
        let slave_event = WaitEvent::DbFileParallelWrite;
        let ring = cache.disk.ring(&RingConfig { depth, backend, slave_event, pool }, session)?;
        Ok(Home::Ring { ring, buffers, done: Vec::with_capacity(depth as usize) })
    }
}

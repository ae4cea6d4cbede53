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

use crate::cache::new_buffers;
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
}

/// A writer's batch, filled and emptied again and again.
pub(crate) struct Batch<'a> {
    cache: &'a Cache,
    session: &'a Session,
    items: Vec<Item>,
    /// The copies side by side, in the order of the items.
    images: IoBuf,
    /// The highest SCN in the copies.
    newest: Scn,
    /// Where this writer's region of the doublewrite file begins.
    region: u64,
    /// By place: whether the batch has written to the file.
    written: Vec<bool>,
    home: Home,
}

/// How home writes are made.
enum Home {
    /// One at a time.
    OneByOne,
    /// Many in flight. The buffers are those that aren't.
    Ring { ring: Ring, buffers: Vec<IoBuf>, done: Vec<Completion> },
}

impl<'a> Batch<'a> {
    pub(crate) fn open(
        cache: &'a Cache,
        writer: u32,
        session: &'a Session,
    ) -> Result<Batch<'a>, Stop> {
        let config = &cache.config;
        let (blocks, bytes) = (config.batch_blocks as usize, config.block_size.bytes());
        Ok(Batch {
            cache,
            session,
            items: Vec::with_capacity(blocks),
            images: IoBuf::zeroed(blocks * bytes),
            newest: Scn::ZERO,
            region: u64::from(writer) * (blocks * bytes) as u64,
            written: vec![false; cache.files.count()],
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

    /// Takes a copy of a block; with its latch held.
    pub(crate) fn add(&mut self, item: Item, block: &[u8]) {
        let image = image_of(&mut self.images, self.items.len(), block.len());
        image.copy_from_slice(block);
        self.newest = self.newest.max(BlockHeader::of_mut(image).changed());
        self.session.charge(Cost::CopyKib, kib(block.len()));
        self.items.push(item);
    }

    pub(crate) fn clear(&mut self) {
        self.items.clear();
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
            .map_err(|error| cache.halt.raise(format!("a database writer {error}"), session))
    }

    fn seal(&mut self) {
        let bytes = self.block_bytes();
        for (place, item) in self.items.iter().enumerate() {
            format::seal(image_of(&mut self.images, place, bytes), item.address);
        }
        self.session.charge(Cost::ChecksumKib, kib(bytes * self.items.len()));
    }

    /// The doublewrite: all images in one write, and a sync.
    fn write_copies(&self) -> Result<(), Error> {
        if !self.cache.config.doublewrite || self.is_sabotaged(Precaution::DoublewriteWrite) {
            return Ok(());
        }
        let file = &self.cache.doublewrite;
        let bytes = self.items.len() * self.block_bytes();
        file.write_at(self.region, &self.images[..bytes], self.waiting())?;
        self.session.count(Statistic::DoublewriteBlocks, self.items.len() as u64);
        if file.options().write_through || self.is_sabotaged(Precaution::DoublewriteSync) {
            return Ok(());
        }
        file.sync(self.waiting())
    }

    fn write_home(&mut self) -> Result<(), Error> {
        self.written.fill(false);
        for item in &self.items {
            let place = self.cache.files.place(item.address);
            self.written[place.expect("a block in the cache is of a data file")] = true;
        }
        match &self.home {
            Home::OneByOne => self.write_one_by_one(),
            Home::Ring { .. } => self.write_through_ring(),
        }
    }

    fn write_one_by_one(&self) -> Result<(), Error> {
        let bytes = self.block_bytes();
        for (item, image) in self.items.iter().zip(self.images.chunks(bytes)) {
            let (file, offset) = self.locate(item.address);
            file.write_at(offset, image, self.waiting().p(1, 0, 0))?;
        }
        Ok(())
    }

    fn write_through_ring(&mut self) -> Result<(), Error> {
        let (cache, session, bytes) = (self.cache, self.session, self.block_bytes());
        let waiting = self.waiting();
        let Home::Ring { ring, buffers, done } = &mut self.home else {
            unreachable!("asked for with a ring");
        };
        let mut images = self.items.iter().zip(self.images.chunks(bytes)).peekable();
        while images.peek().is_some() || ring.in_flight() > 0 {
            while let Some(mut buffer) = buffers.pop() {
                let Some((item, image)) = images.next() else {
                    buffers.push(buffer);
                    break;
                };
                buffer.copy_from_slice(image);
                session.charge(Cost::CopyKib, kib(bytes));
                let (file, offset) = cache.files.locate(item.address).expect("a data file");
                let (file, kind, tag) = (file.clone(), IoKind::Write, u64::from(item.frame));
                ring.push(Request { file, kind, offset, buffer, tag }, session)?;
            }
            // More to come: as soon as one is done. Else all of them, with one wait.
            let at_least = if images.peek().is_some() { 1 } else { ring.in_flight() };
            ring.reap(at_least, None, done, waiting)?;
            for Completion { buffer, result, .. } in done.drain(..) {
                buffers.push(buffer);
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
        for (place, _) in self.written.iter().enumerate().filter(|(_, written)| **written) {
            let file = self.cache.files.at(place);
            if !file.options().write_through {
                file.sync(self.waiting())?;
            }
        }
        Ok(())
    }

    fn locate(&self, address: Dba) -> (&'a os::File, u64) {
        self.cache.files.locate(address).expect("a block in the cache is of a data file")
    }

    fn waiting(&self) -> os::Waiting<'a> {
        self.session.waiting(DbFileParallelWrite).p(self.items.len() as u64, 0, 0)
    }

    fn block_bytes(&self) -> usize {
        self.cache.config.block_size.bytes()
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
        let (buffers, pool) = new_buffers(depth, block_size.bytes())?;
        let slave_event = WaitEvent::DbFileParallelWrite;
        let ring = cache.disk.ring(&RingConfig { depth, backend, slave_event, pool }, session)?;
        Ok(Home::Ring { ring, buffers, done: Vec::with_capacity(depth as usize) })
    }
}

fn image_of(images: &mut IoBuf, place: usize, bytes: usize) -> &mut [u8] {
    &mut images[place * bytes..][..bytes]
}

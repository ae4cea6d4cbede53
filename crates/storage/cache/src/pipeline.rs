//! The write pipeline of one database writer: a batch is filled while others are being written.
//!
//! ```text
//!   filling ──launch──▶ in flight ── await_step … ──▶ durable ──▶ idle ──▶ filling …
//!   (batch.rs) the gate   up to three, each in a stage of its own:
//!                         one is synced while the next is written
//! ```
//!
//! All batches share the ring, and the older batch pushes its requests first. So the device has
//! work while a batch is synced, and while the next blocks are copied.
//!
//! Invariants (rule D1)
//!   * the writer waits for the gate only when no batch is in flight (CB26)
//!   * a second batch is launched only if it is full and its redo is durable already (CB27)
//!   * with I/O in flight the writer waits for nothing but I/O and latches (rule os/O9)
//!
//! Caller: `writer`.

use os::{Completion, Error, IoArea, IoKind, Request, Ring, RingBackend, RingConfig, Session};
use stop::{Failpoint, Stop};
use waits::{WaitEvent, WaitEvent::DbFileParallelWrite};

use crate::batch::{Batch, DirtyFrame};
use crate::{Cache, CacheConfig};

/// The writer reaps the ring when one in this many of its requests is done: each look is a system
/// call, and what it submits is told to the device at once.
const REAP_SHARE: u32 = 2;

/// A writer's batches, which are filled and emptied again and again.
pub(crate) struct WritePipeline<'a> {
    cache: &'a Cache,
    session: &'a Session,
    filling: Batch,
    /// The batches in flight, the oldest first.
    flying: Vec<Batch>,
    flying_max: usize,
    idle: Vec<Batch>,
    /// Where this writer's free regions of the doublewrite file begin.
    regions: Vec<u64>,
    method: WriteMethod,
}

/// How writes are made.
enum WriteMethod {
    /// One at a time.
    OneByOne,
    /// Many in flight.
    Ring { ring: Ring, done: Vec<Completion> },
}

impl<'a> WritePipeline<'a> {
    pub(crate) fn open(
        cache: &'a Cache,
        writer: u32,
        session: &'a Session,
    ) -> Result<WritePipeline<'a>, Stop> {
        let config = &cache.config;
        let areas: [IoArea; CacheConfig::BATCHES] = IoArea::try_zeroed(config.region_bytes())?;
        let method = WriteMethod::open(cache, &areas[0], session)?;
        let batches = (u64::from(writer) * CacheConfig::BATCHES as u64..).zip(areas);
        let batches =
            batches.map(|(number, images)| Batch::new(number, images, config.batch_blocks));
        let mut idle: Vec<Batch> = batches.collect();
        let filling = idle.pop().expect("there are several");
        let regions: Vec<u64> = cache.regions_of(writer).collect();
        let flying_max = match method {
            WriteMethod::OneByOne => 1,
            WriteMethod::Ring { .. } if config.doublewrite => regions.len(),
            WriteMethod::Ring { .. } => CacheConfig::FLYING_MAX as usize,
        };
        let flying = Vec::with_capacity(CacheConfig::BATCHES);
        Ok(WritePipeline { cache, session, filling, flying, flying_max, idle, regions, method })
    }

    /// Whether no batch has a block.
    pub(crate) fn is_empty(&self) -> bool {
        self.filling.items.is_empty() && self.flying.is_empty()
    }

    /// Whether a batch is in flight.
    pub(crate) fn has_in_flight(&self) -> bool {
        !self.flying.is_empty()
    }

    /// Whether the filling batch takes no more blocks: it has `batch_blocks`, or no room for one
    /// more block of the database's own size.
    pub(crate) fn is_full(&self) -> bool {
        let CacheConfig { batch_blocks, block_size, .. } = self.cache.config;
        let all = self.cache.config.region_bytes();
        self.filling.items.len() >= batch_blocks as usize
            || self.filling.room(block_size.bytes(), all) == 0
    }

    /// The number of blocks of `bytes` that the filling batch can take without becoming longer than
    /// `full`. The first block is always taken.
    pub(crate) fn room(&self, bytes: usize, full: usize) -> usize {
        let room = match self.filling.items.is_empty() {
            true => self.filling.room(bytes, full).max(1),
            false if self.is_full() => 0,
            false => self.filling.room(bytes, full),
        };
        room.min(self.cache.config.batch_blocks as usize - self.filling.items.len())
    }

    /// The number of the filling batch, which no other batch has.
    pub(crate) fn filling(&self) -> u64 {
        self.filling.number
    }

    /// The number of bytes in the filling batch.
    pub(crate) fn bytes(&self) -> usize {
        self.filling.bytes()
    }

    /// Takes a sealed copy of a block. The caller holds the latches of its frame and of the frame
    /// with `next`, the block that is to be copied next.
    pub(crate) fn add(&mut self, source: DirtyFrame, block: &[u8], next: Option<&[u8]>) {
        self.filling.add(source, block, next, self.cache, self.session);
    }

    /// Notes the number of writers if the filling batch is empty.
    pub(crate) fn note_writers(&mut self, writers: u32) {
        if self.filling.items.is_empty() {
            self.filling.writers = writers;
        }
    }

    /// Whether the filling batch is to be launched now (CB27).
    pub(crate) fn may_launch(&self) -> bool {
        let redo_is_durable = || {
            self.cache.config.failpoints.has(Failpoint::IgnoreGate)
                || self.cache.gate.is_durable(self.filling.newest, self.session)
        };
        !self.filling.items.is_empty()
            && (!self.has_in_flight()
                || self.flying.len() < self.flying_max && self.is_full() && redo_is_durable())
    }

    /// Launches the filling batch. An I/O error halts the instance: a block that can't be written
    /// would stay dirty for ever, and the logs would fill up.
    pub(crate) fn launch(&mut self) -> Result<(), Stop> {
        latch::assert_none_held("writing a batch");
        assert!(self.flying.len() < self.flying_max, "too many batches are on their way");
        let (cache, session) = (self.cache, self.session);
        if !self.has_in_flight() && !cache.config.failpoints.has(Failpoint::IgnoreGate) {
            cache.gate.make_durable(self.filling.newest, session)?;
        }
        // CB63: a copy may be of a block whose change was broken off by a panic.
        cache.halt.check(session)?;
        let next = self.idle.pop().expect("there is one batch more than may be in flight");
        let mut batch = std::mem::replace(&mut self.filling, next);
        let region = cache.config.doublewrite.then(|| self.regions.pop());
        let region = region.map(|free| free.expect("each batch in flight has a region"));
        batch.launch(region, cache, session);
        self.flying.push(batch);
        let begun = match self.method {
            WriteMethod::OneByOne => self.write_one_by_one(),
            WriteMethod::Ring { .. } => self.push().and_then(|_| self.submit()),
        };
        begun.map_err(|error| self.halted(&error))
    }

    /// Waits until at least one of the batches in flight has come to its next stage.
    pub(crate) fn await_step(&mut self) -> Result<(), Stop> {
        latch::assert_none_held("writing a batch");
        self.step().map_err(|error| self.halted(&error))
    }

    /// A batch that is durable at home, if there is one. The caller gives it back with `clear`.
    pub(crate) fn take_durable(&mut self) -> Option<Batch> {
        let place = self.flying.iter().position(Batch::is_durable)?;
        let batch = self.flying.remove(place);
        batch.note_versions(self.session);
        Some(batch)
    }

    /// Makes a durable batch idle, and its region free.
    pub(crate) fn clear(&mut self, mut durable: Batch) {
        self.regions.extend(durable.clear());
        self.idle.push(durable);
    }

    fn halted(&self, error: &Error) -> Stop {
        self.cache.halt.raise(format!("a database writer {error}"), self.session)
    }

    fn step(&mut self) -> Result<(), Error> {
        loop {
            let is_all = self.push()?;
            self.collect(is_all)?;
            let steps = self.flying.iter_mut().map(|batch| batch.go_on(self.cache));
            if steps.fold(false, |any, step| any | step) {
                self.push()?;
                return self.submit();
            }
        }
    }

    /// Pushes as many requests as the ring has room for. False if there are more.
    fn push(&mut self) -> Result<bool, Error> {
        let WriteMethod::Ring { ring, .. } = &mut self.method else { return Ok(true) };
        for batch in &mut self.flying {
            loop {
                if !ring.has_room() {
                    return Ok(false);
                }
                let Some(request) = batch.next_request(self.cache, self.session) else { break };
                ring.push(request, self.session)?;
            }
        }
        Ok(true)
    }

    fn submit(&mut self) -> Result<(), Error> {
        match &mut self.method {
            WriteMethod::OneByOne => Ok(()),
            WriteMethod::Ring { ring, .. } => ring.submit(),
        }
    }

    /// Reaps the ring after waiting for a share of its requests. With nothing more to be pushed no
    /// stage can end before all requests that one of them lacks are done: that is one wait.
    fn collect(&mut self, is_all: bool) -> Result<(), Error> {
        let WriteMethod::Ring { ring, done } = &mut self.method else { return Ok(()) };
        let in_flight = ring.in_flight();
        let share = (in_flight / REAP_SHARE).max(1);
        let least = self.flying.iter().map(Batch::missing).min().unwrap_or(0) as u32;
        let at_least = if is_all { share.max(least) } else { share };
        let waiting = self.session.waiting(DbFileParallelWrite).p(u64::from(in_flight), 0, 0);
        ring.reap(at_least, None, done, waiting)?;
        for Completion { result, tag, .. } in done.drain(..) {
            result?;
            let batch = self.flying.iter_mut().find(|batch| batch.number == tag);
            batch.expect("a batch is in flight until its requests are done").done += 1;
        }
        Ok(())
    }

    fn write_one_by_one(&mut self) -> Result<(), Error> {
        let (cache, session) = (self.cache, self.session);
        let waiting = session.waiting(DbFileParallelWrite).p(1, 0, 0);
        let batch = self.flying.last_mut().expect("one was launched");
        while !batch.is_durable() {
            while let Some(request) = batch.next_request(cache, session) {
                let Request { file, kind, offset, buffer, .. } = request;
                match kind {
                    IoKind::Sync => file.sync(waiting)?,
                    IoKind::Read | IoKind::Write => file.write_at(offset, &buffer, waiting)?,
                }
                batch.done += 1;
            }
            batch.go_on(cache);
        }
        Ok(())
    }
}

impl WriteMethod {
    fn open(cache: &Cache, images: &IoArea, session: &Session) -> Result<WriteMethod, Stop> {
        let CacheConfig { ring_depth: depth, io_slaves, .. } = cache.config;
        let backend = match io_slaves {
            0 if !cache.config.filesystem_io.is_asynchronous() => return Ok(WriteMethod::OneByOne),
            0 => RingBackend::Auto,
            slaves => RingBackend::Slaves(slaves),
        };
        let (pool, slave_event) = (Some(images.pool().clone()), WaitEvent::DbFileParallelWrite);
        let ring = cache.disk.ring(&RingConfig { depth, backend, slave_event, pool }, session)?;
        Ok(WriteMethod::Ring { ring, done: Vec::with_capacity(depth as usize) })
    }
}

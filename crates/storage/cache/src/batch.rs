//! A writer's batches: one is filled while others are on their way to disk.
//!
//! ```text
//!   filling ──launch──▶ flying ── fly … ──▶ landed ──▶ idle ──▶ filling …
//!   (load.rs) the gate    up to three, each in a stage of its own:
//!                         one is synced while the next is written
//! ```
//!
//! All of them share the ring; the older goes first. So the device has work while a batch is
//! synced, and while the next blocks are copied.
//!
//! Invariants (rule D1)
//!   * the gate is waited for only when no load flies (CB26)
//!   * beside another one only a full load flies, whose redo is durable already (CB27)
//!   * with I/O in flight nothing is waited for but I/O and latches (rule os/O9)
//!
//! Caller: `writer`.

use ids::Dba;
use os::{Completion, Error, IoArea, IoKind, Request, Ring, RingBackend, RingConfig, Session};
use stop::{Failpoint, Stop};
use waits::{WaitEvent, WaitEvent::DbFileParallelWrite};

use crate::load::{Load, Reason};
use crate::{Cache, CacheConfig};

/// The ring is left alone until so large a share of it is done, one in ...: each look is a system
/// call, and what it submits is told to the device at once.
const REAP_SHARE: u32 = 2;
/// One is filled while the others fly.
const LOADS: usize = CacheConfig::FLYING_MAX as usize + 1;

/// A writer's batches, filled and emptied again and again.
pub(crate) struct Batch<'a> {
    cache: &'a Cache,
    session: &'a Session,
    filling: Load,
    /// The oldest first.
    flying: Vec<Load>,
    flying_max: usize,
    idle: Vec<Load>,
    /// Of this writer's regions of the doublewrite file those that no load has: where they begin.
    regions: Vec<u64>,
    home: Home,
}

/// How writes are made.
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
        let areas: [IoArea; LOADS] = IoArea::try_zeroed(config.region_bytes())?;
        let home = Home::open(cache, &areas[0], session)?;
        let loads = (u64::from(writer) * LOADS as u64..).zip(areas);
        let loads = loads.map(|(number, images)| Load::new(number, images, config.batch_blocks));
        let mut idle: Vec<Load> = loads.collect();
        let filling = idle.pop().expect("there are several");
        let regions: Vec<u64> = cache.regions_of(writer).collect();
        let flying_max = match home {
            Home::OneByOne => 1,
            Home::Ring { .. } if config.doublewrite => regions.len(),
            Home::Ring { .. } => CacheConfig::FLYING_MAX as usize,
        };
        let flying = Vec::with_capacity(LOADS);
        Ok(Batch { cache, session, filling, flying, flying_max, idle, regions, home })
    }

    /// Whether nothing is in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.filling.items.is_empty() && self.flying.is_empty()
    }

    /// Whether something is on its way.
    pub(crate) fn flies(&self) -> bool {
        !self.flying.is_empty()
    }

    /// Whether nothing more goes in: there are as many blocks as may be, or there is no room for
    /// one more as long as the most are.
    pub(crate) fn is_full(&self) -> bool {
        let CacheConfig { batch_blocks, block_size, .. } = self.cache.config;
        let all = self.cache.config.region_bytes();
        self.filling.items.len() >= batch_blocks as usize
            || !self.filling.has_room(block_size.bytes(), all)
    }

    /// Whether the filling load can take one more block of so many bytes and doesn't become longer
    /// than `full`; the first is always taken.
    pub(crate) fn has_room(&self, bytes: usize, full: usize) -> bool {
        let is_first = self.filling.items.is_empty();
        is_first || (!self.is_full() && self.filling.has_room(bytes, full))
    }

    /// The number of the filling load, which no other has.
    pub(crate) fn filling(&self) -> u64 {
        self.filling.number
    }

    /// So many bytes are in the filling load.
    pub(crate) fn bytes(&self) -> usize {
        self.filling.bytes()
    }

    /// Takes a copy of a block; with its latch held. `seal_last` is called next, without.
    pub(crate) fn add(&mut self, place: (u32, u32), address: Dba, reason: Reason, block: &[u8]) {
        self.filling.add(place, address, reason, block, (self.cache, self.session));
    }

    /// Seals the copy that was taken last, while the processor's cache has it.
    pub(crate) fn seal_last(&mut self) {
        self.filling.seal_last(self.session);
    }

    /// As many writers as there are when the first block comes in.
    pub(crate) fn note_writers(&mut self, writers: u32) {
        if self.filling.items.is_empty() {
            self.filling.writers = writers;
        }
    }

    /// Whether the filling load is to be sent off now (CB27).
    pub(crate) fn may_launch(&self) -> bool {
        let redo_is_durable = || {
            self.cache.config.failpoints.has(Failpoint::IgnoreGate)
                || self.cache.gate.is_durable(self.filling.newest, self.session)
        };
        !self.filling.items.is_empty()
            && (!self.flies()
                || self.flying.len() < self.flying_max && self.is_full() && redo_is_durable())
    }

    /// Sends the filling load off. An I/O error halts the instance: a block that can't be written
    /// stays dirty for ever, and the log would fill up.
    pub(crate) fn launch(&mut self) -> Result<(), Stop> {
        latch::assert_none_held("writing a batch");
        assert!(self.flying.len() < self.flying_max, "too many batches are on their way");
        let (cache, session) = (self.cache, self.session);
        if !self.flies() && !cache.config.failpoints.has(Failpoint::IgnoreGate) {
            cache.gate.make_durable(self.filling.newest, session)?;
        }
        let next = self.idle.pop().expect("there is one more than may fly");
        let mut load = std::mem::replace(&mut self.filling, next);
        let region = cache.config.doublewrite.then(|| self.regions.pop());
        let region = region.map(|free| free.expect("each load that may fly has a region"));
        load.launch(region, cache, session);
        self.flying.push(load);
        let begun = match self.home {
            Home::OneByOne => self.write_one_by_one(),
            Home::Ring { .. } => self.push().and_then(|_| self.submit()),
        };
        begun.map_err(|error| self.halted(&error))
    }

    /// Waits until one of the flying loads has come a stage further at least.
    pub(crate) fn fly(&mut self) -> Result<(), Stop> {
        latch::assert_none_held("writing a batch");
        self.fly_on().map_err(|error| self.halted(&error))
    }

    /// A load that is durable at home, if there is one; it is given back with `clear`.
    pub(crate) fn take_landed(&mut self) -> Option<Load> {
        let place = self.flying.iter().position(Load::is_durable)?;
        let load = self.flying.remove(place);
        load.note_versions(self.session);
        Some(load)
    }

    /// What has landed was seen to.
    pub(crate) fn clear(&mut self, mut landed: Load) {
        self.regions.extend(landed.clear());
        self.idle.push(landed);
    }

    fn halted(&self, error: &Error) -> Stop {
        self.cache.halt.raise(format!("a database writer {error}"), self.session)
    }

    fn fly_on(&mut self) -> Result<(), Error> {
        loop {
            let is_all = self.push()?;
            self.collect(is_all)?;
            let steps = self.flying.iter_mut().map(|load| load.go_on(self.cache));
            if steps.fold(false, |any, step| any | step) {
                self.push()?;
                return self.submit();
            }
        }
    }

    /// Pushes as many requests as there is room for in the ring; false if there are more.
    fn push(&mut self) -> Result<bool, Error> {
        let Home::Ring { ring, .. } = &mut self.home else { return Ok(true) };
        for load in &mut self.flying {
            loop {
                if !ring.has_room() {
                    return Ok(false);
                }
                let Some(request) = load.next_request(self.cache, self.session) else { break };
                ring.push(request, self.session)?;
            }
        }
        Ok(true)
    }

    fn submit(&mut self) -> Result<(), Error> {
        match &mut self.home {
            Home::OneByOne => Ok(()),
            Home::Ring { ring, .. } => ring.submit(),
        }
    }

    /// Takes what the ring has done; waits for a share of it. With nothing more to be pushed no
    /// stage can end before all that one of them lacks is done: that is one wait.
    fn collect(&mut self, is_all: bool) -> Result<(), Error> {
        let Home::Ring { ring, done } = &mut self.home else { return Ok(()) };
        let in_flight = ring.in_flight();
        let share = (in_flight / REAP_SHARE).max(1);
        let least = self.flying.iter().map(Load::missing).min().unwrap_or(0) as u32;
        let at_least = if is_all { share.max(least) } else { share };
        let waiting = self.session.waiting(DbFileParallelWrite).p(u64::from(in_flight), 0, 0);
        ring.reap(at_least, None, done, waiting)?;
        for Completion { result, tag, .. } in done.drain(..) {
            result?;
            let load = self.flying.iter_mut().find(|load| load.number == tag);
            load.expect("a load flies until its requests are done").done += 1;
        }
        Ok(())
    }

    fn write_one_by_one(&mut self) -> Result<(), Error> {
        let (cache, session) = (self.cache, self.session);
        let waiting = session.waiting(DbFileParallelWrite).p(1, 0, 0);
        let load = self.flying.last_mut().expect("one was launched");
        while !load.is_durable() {
            while let Some(request) = load.next_request(cache, session) {
                let Request { file, kind, offset, buffer, .. } = request;
                match kind {
                    IoKind::Sync => file.sync(waiting)?,
                    IoKind::Read | IoKind::Write => file.write_at(offset, &buffer, waiting)?,
                }
                load.done += 1;
            }
            load.go_on(cache);
        }
        Ok(())
    }
}

impl Home {
    fn open(cache: &Cache, images: &IoArea, session: &Session) -> Result<Home, Stop> {
        let CacheConfig { ring_depth: depth, io_slaves, .. } = cache.config;
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

//! Reading many blocks with few I/Os: runs of neighbours, and separate blocks at once.
//!
//! ```text
//!   run      ┌──┬──┬──┬──┬──┬──┬──┐     resident blocks cut it into pieces; a piece is one I/O
//!            │r │  │  │  │r │  │  │     into one buffer, from which its blocks are copied into
//!            └──┴──┴──┴──┴──┴──┴──┘     their frames              (db file scattered read)
//!
//!   separate blocks: an I/O each, straight into the frames, many in flight at once
//!                                                                 (db file parallel read)
//! ```
//!
//! This is only a service to the gets that follow: it brings what it can, and leaves the rest to
//! them, also what can't be read. So it needs no frames that aren't there, and it isn't wrong when
//! a block has gone again before its get.
//!
//! Invariants
//!   * a block that is in the cache, or that somebody else reads, isn't touched (CB21)
//!   * whose frames are being read into waits for nothing but that I/O: frames are claimed only if
//!     there are any at once, and nobody else's read is waited for (CB22)
//!
//! Callers: scans of tables; whoever knows which blocks it is going to need.

use std::fmt;
use std::sync::Arc;

use ids::{BlockSize, Dba};
use os::{Completion, Cost, IoBuf, IoKind, Request, Ring, RingBackend, RingConfig, Session};
use stop::Stop;
use waits::{SessionKind, Statistic, WaitEvent};

use crate::Cache;
use crate::files::DataFile;
use crate::get::{Loading, kib};
use crate::pin::Pin;
use crate::pool::{SIZES, place_of};

/// No run is longer: more in one I/O isn't faster.
pub(crate) const RUN_BYTES_MAX: usize = 1 << 20;
/// A run takes at most so large a share of the buffers of its size: one in ...
const RUN_SHARE: u32 = 8;
/// So many separate reads in flight at most.
const PREFETCH_MAX: usize = 128;
/// While there are more to come so many are waited for: each submission costs.
const PREFETCH_REAP: usize = PREFETCH_MAX / 4;

/// Reads for one session many blocks at a time. Made once for a scan: it keeps its buffer.
pub struct MultiblockReader<'a> {
    cache: &'a Cache,
    session: &'a Session,
    /// Holds the longest piece so far.
    buffer: Option<IoBuf>,
    begun: Vec<Begun<'a>>,
    /// Those that the ring is reading, by tag.
    flying: Vec<Option<Begun<'a>>>,
    /// That of the last separate block.
    file: Option<Arc<DataFile>>,
    ring: Option<Ring>,
    done: Vec<Completion>,
}

/// A block that this session has begun to read.
struct Begun<'a> {
    /// Ends before the pin goes.
    loading: Loading<'a>,
    _pin: Pin<'a>,
    file: Arc<DataFile>,
}

/// Whether a block could be begun.
enum Begin<'a> {
    Begun(Begun<'a>),
    /// It is in the cache, or somebody else reads it.
    Resident,
    /// No buffer could be had without waiting.
    NoBuffer,
}

impl Cache {
    /// A reader of many blocks at a time, for this session.
    pub fn multiblock_reader<'a>(&'a self, session: &'a Session) -> MultiblockReader<'a> {
        MultiblockReader {
            cache: self,
            session,
            buffer: None,
            begun: Vec::new(),
            flying: Vec::new(),
            file: None,
            ring: None,
            done: Vec::new(),
        }
    }

    /// How many blocks of this size one read of many brings: as many as was chosen, else a MiB or,
    /// with few buffers, each session's share of them. A MiB at most.
    pub fn multiblock_read_count(&self, block_size: BlockSize, session: &Session) -> u32 {
        let most = (RUN_BYTES_MAX / block_size.bytes()) as u32;
        let chosen = self.multiblock_count.load(session);
        if chosen > 0 {
            return chosen.min(most);
        }
        let is_user = |kind: SessionKind| kind == SessionKind::Foreground;
        let running = session.os().running();
        let sessions = running.iter().filter(|each| is_user(each.account.kind())).count() as u32;
        most.min(self.buffers(block_size, session) / sessions.max(1)).max(1)
    }

    /// From now on reads of many blocks bring so many; 0 to have it found out.
    pub fn set_multiblock_read_count(&self, count: u32, session: &Session) {
        self.multiblock_count.store(count, session);
    }

    /// The most blocks of this size that a run brings into the cache at once: as many as one read
    /// does, but not so many that others would miss the buffers.
    pub fn run_max(&self, block_size: BlockSize, session: &Session) -> u32 {
        let most = self.multiblock_read_count(block_size, session);
        most.min(self.buffers(block_size, session) / RUN_SHARE).max(1)
    }

    /// Whether there are free buffers for those of these blocks that aren't here. So they come
    /// without any other block having to go, as long as nobody else brings some.
    pub fn has_free(&self, blocks: &[Dba], session: &Session) -> bool {
        let mut free: [usize; SIZES] = std::array::from_fn(|place| {
            let first = self.pools[place].first_set as usize;
            let sets = &self.sets[first..][..self.pools[place].sets.load(session) as usize];
            sets.iter().map(|set| set.state.shared(session).free_count() as usize).sum()
        });
        blocks.iter().filter(|block| !self.is_resident(**block, session)).all(|block| {
            // Of a file that isn't there is nothing to be brought.
            let Some(size) = self.block_size_of(block.file, session) else { return true };
            let left = &mut free[place_of(size)];
            let fits = *left > 0;
            *left = left.saturating_sub(1);
            fits
        })
    }

    /// Whether all of these blocks are here, or somebody is reading them.
    pub fn holds(&self, blocks: &[Dba], session: &Session) -> bool {
        blocks.iter().all(|block| self.is_resident(*block, session))
    }

    /// Begins to read a block, unless it is here or there is no buffer.
    fn begin<'a>(&'a self, address: Dba, file: &Arc<DataFile>, session: &'a Session) -> Begin<'a> {
        if self.is_resident(address, session) {
            return Begin::Resident;
        }
        let Some(frame) = self.try_claim(self.pool(file.block_size), session) else {
            return Begin::NoBuffer;
        };
        // CB21: under the bucket's latch once more.
        let Some(pin) = self.enter(frame, address, session) else { return Begin::Resident };
        let loading = Loading::begin(self, &pin, address, file.block_size, session);
        Begin::Begun(Begun { loading, _pin: pin, file: Arc::clone(file) })
    }
}

impl Begun<'_> {
    fn address(&self) -> Dba {
        self.loading.address
    }

    /// The buffer has what was read as this block.
    fn finish(mut self, session: &Session) {
        session.count(Statistic::PhysicalReads, 1);
        match self.file.check(self.address(), self.loading.bytes(), session) {
            Ok(()) => self.loading.succeed(),
            Err(stop) => self.loading.fail(stop),
        }
    }

    /// Reads the block by itself.
    fn read(mut self, cache: &Cache, session: &Session) {
        let address = self.address();
        match cache.read(address, &self.file, self.loading.bytes(), session) {
            Ok(()) => self.loading.succeed(),
            Err(stop) => self.loading.fail(stop),
        }
    }
}

impl<'a> MultiblockReader<'a> {
    /// Brings blocks of the run that begins here into the cache, those that aren't there yet: at
    /// most [`run_max`](Cache::run_max) of its first blocks, and no more than there are buffers
    /// for. How many it has brought. What can't be read or isn't whole is left to who gets it.
    pub fn read_run(&mut self, first: Dba, count: u32) -> Result<u32, Stop> {
        latch::assert_none_held("a read of many blocks");
        self.cache.halt.check(self.session)?;
        let file = Arc::new(self.cache.files.of(first, self.session)?);
        let count = count.min(self.cache.run_max(file.block_size, self.session));
        let (mut at, mut brought) = (0, 0);
        while at < count {
            let address = Dba::new(first.file.get(), first.block.get() + at);
            match self.cache.begin(address, &file, self.session) {
                Begin::Begun(begun) => self.begun.push(begun),
                Begin::Resident => brought += self.read_piece(&file),
                Begin::NoBuffer => break,
            }
            at += 1;
        }
        brought += self.read_piece(&file);
        Ok(brought)
    }

    /// Reads the neighbours that were begun, with one I/O.
    fn read_piece(&mut self, file: &DataFile) -> u32 {
        let (cache, session, count) = (self.cache, self.session, self.begun.len());
        let Some(first) = self.begun.first().map(Begun::address) else { return 0 };
        let bytes = file.block_size.bytes();
        if count > 1 {
            let long_enough = |buffer: &IoBuf| buffer.len() >= count * bytes;
            let kept = self.buffer.take().filter(long_enough);
            let mut buffer = kept.unwrap_or_else(|| IoBuf::zeroed(count * bytes));
            let waiting = session.waiting(WaitEvent::DbFileScatteredRead);
            let waiting =
                waiting.p(first.file.get().into(), first.block.get().into(), count as u64);
            let piece = &mut buffer[..count * bytes];
            let read = file.file.read_at(file.offset(first), piece, waiting);
            if read.is_ok() {
                session.charge(Cost::CopyKib, kib(piece.len()));
                for (mut begun, block) in self.begun.drain(..).zip(piece.chunks(bytes)) {
                    begun.loading.bytes().copy_from_slice(block);
                    begun.finish(session);
                }
            }
            self.buffer = Some(buffer);
        }
        // One block; or a piece that can't be read: one bad place shan't take the others with it.
        for begun in self.begun.drain(..) {
            begun.read(cache, session);
        }
        count as u32
    }

    /// Brings these blocks into the cache, those that aren't there yet, with many of their reads in
    /// flight at once, as far as there are buffers. How many it has brought. What can't be read or
    /// isn't whole is left to who gets it.
    pub fn prefetch(&mut self, blocks: &[Dba]) -> Result<u32, Stop> {
        latch::assert_none_held("a read of many blocks");
        self.cache.halt.check(self.session)?;
        let at_once = self.cache.config.filesystem_io.is_asynchronous() && blocks.len() > 1;
        let brought = match at_once {
            true => self.prefetch_at_once(blocks),
            false => self.prefetch_singly(blocks),
        };
        if let Err(stop) = &brought {
            // Waits for what is still in flight.
            self.ring = None;
            for mut begun in self.flying.drain(..).flatten() {
                begun.loading.fail(stop.clone());
            }
        }
        brought
    }

    fn prefetch_singly(&mut self, blocks: &[Dba]) -> Result<u32, Stop> {
        let mut brought = 0;
        for address in blocks {
            match self.begin(*address)? {
                Begin::Begun(begun) => begun.read(self.cache, self.session),
                Begin::Resident => continue,
                Begin::NoBuffer => break,
            }
            brought += 1;
        }
        Ok(brought)
    }

    /// Keeps the ring full until all were asked for, then waits for the last.
    fn prefetch_at_once(&mut self, blocks: &[Dba]) -> Result<u32, Stop> {
        if self.ring.is_none() {
            self.ring = Some(self.open_ring()?);
        }
        self.flying.resize_with(PREFETCH_MAX, || None);
        let (mut left, mut brought) = (blocks.iter(), 0);
        loop {
            while self.in_flight() < PREFETCH_MAX
                && let Some(address) = left.next()
            {
                match self.begin(*address)? {
                    Begin::Begun(begun) => self.start(begun)?,
                    Begin::Resident => continue,
                    Begin::NoBuffer => {
                        left = [].iter();
                        break;
                    }
                }
                brought += 1;
            }
            match (self.in_flight(), left.len()) {
                (0, 0) => return Ok(brought),
                (in_flight, 0) => self.reap(in_flight)?,
                _ => self.reap(PREFETCH_REAP)?,
            }
        }
    }

    /// Begins to read a block, of whichever file.
    fn begin(&mut self, address: Dba) -> Result<Begin<'a>, Stop> {
        let of = match self.file.take().filter(|file| file.number == address.file) {
            Some(same) => same,
            None => Arc::new(self.cache.files.of(address, self.session)?),
        };
        let begun = self.cache.begin(address, &of, self.session);
        self.file = Some(of);
        Ok(begun)
    }

    fn in_flight(&self) -> usize {
        self.ring.as_ref().map_or(0, |ring| ring.in_flight() as usize)
    }

    /// Asks for a block that was begun. There is room.
    fn start(&mut self, mut begun: Begun<'a>) -> Result<(), Stop> {
        let free = self.flying.iter().position(Option::is_none).expect("the ring isn't full");
        let offset = begun.file.offset(begun.loading.address);
        let (file, kind, tag) = (begun.file.file.clone(), IoKind::Read, free as u64);
        let buffer = begun.loading.lend();
        self.flying[free] = Some(begun);
        let ring = self.ring.as_mut().expect("it was opened");
        ring.push(Request { file, kind, offset, buffer, tag }, self.session).map_err(Stop::from)
    }

    /// Waits until so many have come.
    fn reap(&mut self, at_least: usize) -> Result<(), Stop> {
        let (session, requests) = (self.session, self.in_flight() as u64);
        let mut files: Vec<_> =
            self.flying.iter().flatten().map(|begun| begun.file.number).collect();
        files.sort_unstable();
        files.dedup();
        let waiting = session.waiting(WaitEvent::DbFileParallelRead);
        let waiting = waiting.p(files.len() as u64, requests, requests);
        let ring = self.ring.as_mut().expect("it was opened");
        ring.reap(at_least as u32, None, &mut self.done, waiting)?;
        for Completion { tag, buffer, result } in self.done.drain(..) {
            let mut begun = self.flying[tag as usize].take().expect("it was asked for");
            begun.loading.take_back(buffer);
            match result {
                Ok(()) => begun.finish(session),
                Err(error) => begun.loading.fail(Stop::from(error)),
            }
        }
        Ok(())
    }

    fn open_ring(&self) -> Result<Ring, Stop> {
        let config = RingConfig {
            depth: PREFETCH_MAX as u32,
            backend: RingBackend::Auto,
            slave_event: WaitEvent::DbFileParallelRead,
            pool: None,
        };
        self.cache.disk.ring(&config, self.session).map_err(Stop::from)
    }
}

impl fmt::Debug for MultiblockReader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MultiblockReader({:?})", self.ring)
    }
}

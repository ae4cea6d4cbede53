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
//! A multiblock read only serves the gets that follow: it brings the blocks that it can, and leaves
//! the others to the gets, also those that can't be read. It waits for a frame only while it has
//! none. A block may have gone again before its get.
//!
//! Invariants
//!   * a block that is in the cache, or that another session reads, isn't touched (CB21)
//!   * a session with frames in state Reading waits for nothing but that I/O: it claims further
//!     frames only if there are victims at once, and waits for no other session's read (CB22)
//!
//! Callers: scans of tables; recovery.

use std::fmt;
use std::sync::Arc;

use ids::{BlockSize, Dba};
use os::{
    Completion, Cost, HUGE_PAGE, IoBuf, IoKind, Request, Ring, RingBackend, RingConfig, Session,
};
use stop::Stop;
use waits::{SessionKind, Statistic, WaitEvent};

use crate::Cache;
use crate::files::DataFile;
use crate::get::{Loading, check_written, kib};
use crate::pin::Pin;
use crate::pool::{SIZES, place_of};

/// The bytes of one multiblock read, if nothing else is asked for.
pub(crate) const RUN_BYTES: usize = 1 << 20;
/// The most bytes of one multiblock read.
const RUN_BYTES_MAX: usize = 4 << 20;
/// A run takes at most one in this many of the buffers of its block size.
const RUN_SHARE: u32 = 8;
/// The most separate reads in flight.
const PREFETCH_MAX: usize = 128;
/// The reads that are waited for at once while more are to be submitted: each submission costs.
const PREFETCH_REAP: usize = PREFETCH_MAX / 4;

/// A reader of many blocks at a time, for one session. A scan makes one and keeps it, for its
/// buffer.
pub struct MultiblockReader<'a> {
    cache: &'a Cache,
    session: &'a Session,
    /// A buffer as long as the longest piece so far.
    buffer: Option<IoBuf>,
    /// The neighbouring blocks of the next piece.
    begun: Vec<BlockRead<'a>>,
    /// The reads in flight, by tag.
    flying: Vec<Option<BlockRead<'a>>>,
    /// The file of the last separate block.
    file: Option<Arc<DataFile>>,
    /// Whether blocks that were never written are left to the gets (CB40).
    only_written: bool,
    ring: Option<Ring>,
    done: Vec<Completion>,
}

/// A block that this session has begun to read.
struct BlockRead<'a> {
    /// The read, which ends before the pin goes.
    loading: Loading<'a>,
    _pin: Pin<'a>,
    file: Arc<DataFile>,
}

/// The result of beginning to read a block.
enum BeginResult<'a> {
    Begun(BlockRead<'a>),
    /// The block is in the cache, or another session reads it.
    Resident,
    /// There is no free buffer without waiting.
    NoBuffer,
}

impl Cache {
    /// Makes a reader of many blocks at a time for this session.
    pub fn multiblock_reader<'a>(&'a self, session: &'a Session) -> MultiblockReader<'a> {
        MultiblockReader {
            cache: self,
            session,
            buffer: None,
            begun: Vec::new(),
            flying: Vec::new(),
            file: None,
            only_written: false,
            ring: None,
            done: Vec::new(),
        }
    }

    /// The number of blocks of this size that one multiblock read brings: as configured, 4 MiB at
    /// most; or else a MiB or, with few buffers, a session's share of them, down to a power of two.
    pub fn multiblock_read_count(&self, block_size: BlockSize, session: &Session) -> u32 {
        let blocks = |bytes: usize| (bytes / block_size.bytes()) as u32;
        let chosen = self.multiblock_count.load(session);
        if chosen > 0 {
            return chosen.min(blocks(RUN_BYTES_MAX));
        }
        let is_user = |kind: SessionKind| kind == SessionKind::Foreground;
        let running = session.os().running();
        let sessions = running.iter().filter(|each| is_user(each.account.kind())).count() as u32;
        let share = (self.buffers(block_size, session) / sessions.max(1)).max(1);
        blocks(RUN_BYTES).min(1 << share.ilog2())
    }

    /// Sets the number of blocks of a multiblock read; 0 for automatic.
    pub fn set_multiblock_read_count(&self, count: u32, session: &Session) {
        self.multiblock_count.store(count, session);
    }

    /// The most blocks of this size that a run brings into the cache at once: as many as one
    /// multiblock read, but at most an eighth of the buffers.
    pub fn run_max(&self, block_size: BlockSize, session: &Session) -> u32 {
        let most = self.multiblock_read_count(block_size, session);
        most.min(self.buffers(block_size, session) / RUN_SHARE).max(1)
    }

    /// Whether there are free buffers for those of these blocks that aren't in the cache: then they
    /// come without driving another block out, unless other sessions take the buffers.
    pub fn has_free(&self, blocks: &[Dba], session: &Session) -> bool {
        let mut free: [usize; SIZES] = std::array::from_fn(|place| {
            let first = self.pools[place].first_set as usize;
            let sets = &self.sets[first..][..self.pools[place].sets.load(session) as usize];
            sets.iter().map(|set| set.state.shared(session).free_count() as usize).sum()
        });
        blocks.iter().filter(|block| !self.is_resident(**block, session)).all(|block| {
            // There is nothing to bring from a file that isn't there.
            let Some(size) = self.block_size_of(block.file, session) else { return true };
            let left = &mut free[place_of(size)];
            let fits = *left > 0;
            *left = left.saturating_sub(1);
            fits
        })
    }

    /// Whether each of these blocks is in the cache, or being read.
    pub fn holds(&self, blocks: &[Dba], session: &Session) -> bool {
        blocks.iter().all(|block| self.is_resident(*block, session))
    }

    /// Begins to read a block, unless it is resident or there is no free buffer.
    fn begin<'a>(
        &'a self,
        address: Dba,
        file: &Arc<DataFile>,
        session: &'a Session,
    ) -> BeginResult<'a> {
        if self.is_resident(address, session) {
            return BeginResult::Resident;
        }
        match self.try_claim(self.pool(file.block_size), session) {
            Some(frame) => self.begin_in(frame, address, file, session),
            None => BeginResult::NoBuffer,
        }
    }

    /// As `begin`, but waits for a free buffer. The session has no frame in state Reading (CB22).
    fn begin_first<'a>(
        &'a self,
        address: Dba,
        file: &Arc<DataFile>,
        session: &'a Session,
    ) -> Result<BeginResult<'a>, Stop> {
        if self.is_resident(address, session) {
            return Ok(BeginResult::Resident);
        }
        let frame = self.claim(address, self.pool(file.block_size), session)?;
        Ok(self.begin_in(frame, address, file, session))
    }

    /// Begins to read a block into a claimed frame.
    fn begin_in<'a>(
        &'a self,
        frame: u32,
        address: Dba,
        file: &Arc<DataFile>,
        session: &'a Session,
    ) -> BeginResult<'a> {
        // CB21: `enter` looks again under the bucket's latch.
        let Some(pin) = self.enter(frame, address, session) else {
            return BeginResult::Resident;
        };
        // CB67: its get comes soon.
        pin.frame().set_ahead(session);
        let loading = Loading::begin(self, &pin, address, file.block_size, session);
        BeginResult::Begun(BlockRead { loading, _pin: pin, file: Arc::clone(file) })
    }
}

impl BlockRead<'_> {
    fn address(&self) -> Dba {
        self.loading.address
    }

    /// Checks the block that was read into the buffer, and ends the read.
    fn finish(mut self, only_written: bool, session: &Session) {
        session.count(Statistic::PhysicalReads, 1);
        let address = self.address();
        let whole = self.file.check(address, self.loading.bytes(), session);
        let checked = whole.and_then(|()| self.check_written(only_written));
        match checked {
            Ok(()) => self.loading.succeed(),
            Err(stop) => self.loading.fail(stop),
        }
    }

    fn check_written(&mut self, only_written: bool) -> Result<(), Stop> {
        match only_written {
            true => check_written(self.address(), self.loading.bytes()),
            false => Ok(()),
        }
    }

    /// Reads the block with an I/O of its own.
    fn read(mut self, cache: &Cache, only_written: bool, session: &Session) {
        let address = self.address();
        let read = cache.read(address, &self.file, self.loading.bytes(), session);
        let read = read.and_then(|()| self.check_written(only_written));
        match read {
            Ok(()) => self.loading.succeed(),
            Err(stop) => self.loading.fail(stop),
        }
    }
}

/// The memory of a run's buffer: a huge page for a long one, so that it is one request with few
/// parts to the device (os/buffer.rs).
fn memory_for(bytes: usize) -> usize {
    if bytes >= HUGE_PAGE / 4 { bytes.max(HUGE_PAGE) } else { bytes }
}

impl<'a> MultiblockReader<'a> {
    /// The reader, for blocks of which the caller expects that they were written: a block that
    /// never was is left to its get, which refuses it (CB40).
    #[must_use]
    pub fn only_written(self) -> MultiblockReader<'a> {
        MultiblockReader { only_written: true, ..self }
    }

    /// The reader with the buffer of an earlier one ([`into_buffer`](Self::into_buffer)).
    #[must_use]
    pub fn with_buffer(self, buffer: Option<IoBuf>) -> MultiblockReader<'a> {
        MultiblockReader { buffer, ..self }
    }

    /// The buffer, for the next reader of a scan that goes on in another call.
    pub fn into_buffer(self) -> Option<IoBuf> {
        self.buffer
    }

    /// Brings the blocks of a run into the cache that aren't there yet: of the first `count`, at
    /// most [`run_max`](Cache::run_max). It waits for a free buffer only for the first that it
    /// brings, and ends where there is none for the next. Returns how many blocks, from the first
    /// on, the gets find in the cache: one at least. A block that can't be read or isn't whole is
    /// refused to the get that needs it.
    pub fn read_run(&mut self, first: Dba, count: u32) -> Result<u32, Stop> {
        latch::assert_none_held("a read of many blocks");
        self.cache.halt.check_call(self.session)?;
        let file = Arc::new(self.cache.files.of(first, self.session)?);
        let count = count.min(self.cache.run_max(file.block_size, self.session));
        let (mut at, mut brought) = (0, 0);
        while at < count {
            let address = Dba::new(first.file.get(), first.block.get() + at);
            let begun = match brought == 0 && self.begun.is_empty() {
                true => self.cache.begin_first(address, &file, self.session)?,
                false => self.cache.begin(address, &file, self.session),
            };
            match begun {
                BeginResult::Begun(begun) => self.begun.push(begun),
                BeginResult::Resident => brought += self.read_piece(&file),
                BeginResult::NoBuffer => break,
            }
            at += 1;
        }
        self.read_piece(&file);
        Ok(at)
    }

    /// Reads the blocks that were begun, which are neighbours, with one I/O.
    fn read_piece(&mut self, file: &DataFile) -> u32 {
        let (cache, session, count) = (self.cache, self.session, self.begun.len());
        let Some(first) = self.begun.first().map(BlockRead::address) else { return 0 };
        let bytes = file.block_size.bytes();
        if count > 1 {
            let long_enough = |buffer: &IoBuf| buffer.len() >= count * bytes;
            let kept = self.buffer.take().filter(long_enough);
            let mut buffer = kept.unwrap_or_else(|| IoBuf::zeroed(memory_for(count * bytes)));
            let waiting = session.waiting(WaitEvent::DbFileScatteredRead);
            let waiting =
                waiting.p(first.file.get().into(), first.block.get().into(), count as u64);
            let piece = &mut buffer[..count * bytes];
            let read = file.file.read_at(file.offset(first), piece, waiting);
            if read.is_ok() {
                session.charge(Cost::CopyKib, kib(piece.len()));
                for (mut begun, block) in self.begun.drain(..).zip(piece.chunks(bytes)) {
                    begun.loading.bytes().copy_from_slice(block);
                    begun.finish(self.only_written, session);
                }
            }
            self.buffer = Some(buffer);
        }
        // One block; or a piece that can't be read, of which one block may be bad.
        for begun in self.begun.drain(..) {
            begun.read(cache, self.only_written, session);
        }
        count as u32
    }

    /// Brings those of these blocks into the cache that aren't there yet, with many reads in flight
    /// at once, as long as there are free buffers. Returns how many it has brought. A block that
    /// can't be read or isn't whole is refused to the get that needs it.
    pub fn prefetch(&mut self, blocks: &[Dba]) -> Result<u32, Stop> {
        latch::assert_none_held("a read of many blocks");
        self.cache.halt.check_call(self.session)?;
        let at_once = self.cache.config.filesystem_io.is_asynchronous() && blocks.len() > 1;
        let brought = match at_once {
            true => self.prefetch_at_once(blocks),
            false => self.prefetch_singly(blocks),
        };
        if let Err(stop) = &brought {
            // Waits for the reads in flight.
            self.ring = None;
            self.done.clear();
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
                BeginResult::Begun(begun) => {
                    begun.read(self.cache, self.only_written, self.session)
                }
                BeginResult::Resident => continue,
                BeginResult::NoBuffer => break,
            }
            brought += 1;
        }
        Ok(brought)
    }

    /// Keeps the ring full until all blocks are requested, then waits for the last.
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
                    BeginResult::Begun(begun) => self.start(begun)?,
                    BeginResult::Resident => continue,
                    BeginResult::NoBuffer => {
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

    /// Begins to read a block of any file.
    fn begin(&mut self, address: Dba) -> Result<BeginResult<'a>, Stop> {
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

    /// Requests a block that was begun. The ring has room.
    fn start(&mut self, mut begun: BlockRead<'a>) -> Result<(), Stop> {
        let free = self.flying.iter().position(Option::is_none).expect("the ring isn't full");
        let offset = begun.file.offset(begun.loading.address);
        let (file, kind, tag) = (begun.file.file.clone(), IoKind::Read, free as u64);
        let buffer = begun.loading.lend();
        self.flying[free] = Some(begun);
        let ring = self.ring.as_mut().expect("it was opened");
        ring.push(Request { file, kind, offset, buffer, tag }, self.session).map_err(Stop::from)
    }

    /// Waits until `at_least` more reads are done.
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
            let mut begun = self.flying[tag as usize].take().expect("it was requested");
            begun.loading.take_back(buffer);
            match result {
                Ok(()) => begun.finish(self.only_written, session),
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

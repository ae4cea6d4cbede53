//! Reading many blocks with few I/Os: runs of neighbours, and separate blocks at once.
//!
//! ```text
//!   run      ┌──┬──┬──┬──┬──┬──┬──┐     resident blocks cut it into pieces; a piece is one I/O
//!            │r │  │  │  │r │  │  │     into one buffer, from which its blocks are copied into
//!            └──┴──┴──┴──┴──┴──┴──┘     their frames              (db file scattered read)
//!
//!   separate blocks: an I/O each, straight into the frames, all in flight at once
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
use waits::{Statistic, WaitEvent};

use crate::Cache;
use crate::files::DataFile;
use crate::get::{Loading, kib};
use crate::pin::Pin;

/// No run is longer: more in one I/O isn't faster.
pub(crate) const RUN_BYTES_MAX: usize = 1 << 20;
/// A run takes at most so large a share of the buffers of its size: one in ...
const RUN_SHARE: u32 = 8;
/// So many separate reads in flight at most.
const PREFETCH_MAX: usize = 32;

/// Reads for one session many blocks at a time. Made once for a scan: it keeps its buffer.
pub struct MultiblockReader<'a> {
    cache: &'a Cache,
    session: &'a Session,
    /// Holds the longest piece so far.
    buffer: Option<IoBuf>,
    begun: Vec<Begun<'a>>,
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
            ring: None,
            done: Vec::new(),
        }
    }

    /// The most blocks of this size that a run brings at once: a MiB, but not so many that others
    /// would miss the buffers.
    pub fn run_max(&self, block_size: BlockSize, session: &Session) -> u32 {
        let most = (RUN_BYTES_MAX / block_size.bytes()) as u32;
        most.min(self.buffers(block_size, session) / RUN_SHARE).max(1)
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

    /// Brings these blocks into the cache, those that aren't there yet, with their reads in flight
    /// at once, as far as there are buffers. How many it has brought. What can't be read or isn't
    /// whole is left to who gets it.
    pub fn prefetch(&mut self, blocks: &[Dba]) -> Result<u32, Stop> {
        latch::assert_none_held("a read of many blocks");
        self.cache.halt.check(self.session)?;
        let (mut brought, mut file) = (0, None::<Arc<DataFile>>);
        for chunk in blocks.chunks(PREFETCH_MAX) {
            for address in chunk {
                let of = match file.take().filter(|file| file.number == address.file) {
                    Some(same) => same,
                    None => Arc::new(self.cache.files.of(*address, self.session)?),
                };
                let begun = self.cache.begin(*address, &of, self.session);
                file = Some(of);
                match begun {
                    Begin::Begun(begun) => self.begun.push(begun),
                    Begin::Resident => {}
                    Begin::NoBuffer => break,
                }
            }
            brought += self.begun.len() as u32;
            self.read_begun()?;
        }
        Ok(brought)
    }

    /// Reads what was begun, each block with an I/O of its own.
    fn read_begun(&mut self) -> Result<(), Stop> {
        let (cache, session) = (self.cache, self.session);
        let at_once = cache.config.filesystem_io.is_asynchronous() && self.begun.len() > 1;
        if !at_once {
            self.begun.drain(..).for_each(|begun| begun.read(cache, session));
            return Ok(());
        }
        let read = self.read_at_once();
        if let Err(stop) = &read {
            // Waits for what is still in flight.
            self.ring = None;
            for mut begun in self.begun.drain(..) {
                begun.loading.fail(stop.clone());
            }
        }
        read
    }

    fn read_at_once(&mut self) -> Result<(), Stop> {
        let session = self.session;
        if self.ring.is_none() {
            self.ring = Some(self.open_ring()?);
        }
        let ring = self.ring.as_mut().expect("it was opened just now");
        for (tag, begun) in self.begun.iter_mut().enumerate() {
            let offset = begun.file.offset(begun.loading.address);
            let buffer = begun.loading.lend();
            let (file, kind, tag) = (begun.file.file.clone(), IoKind::Read, tag as u64);
            ring.push(Request { file, kind, offset, buffer, tag }, session)?;
        }
        let requests = self.begun.len() as u64;
        let mut files: Vec<_> = self.begun.iter().map(|begun| begun.file.number).collect();
        files.sort_unstable();
        files.dedup();
        let waiting = session.waiting(WaitEvent::DbFileParallelRead);
        let waiting = waiting.p(files.len() as u64, requests, requests);
        ring.reap(ring.in_flight(), None, &mut self.done, waiting)?;
        let mut errors: Vec<Option<Stop>> = self.begun.iter().map(|_| None).collect();
        for Completion { tag, buffer, result } in self.done.drain(..) {
            self.begun[tag as usize].loading.take_back(buffer);
            errors[tag as usize] = result.err().map(Stop::from);
        }
        for (mut begun, error) in self.begun.drain(..).zip(errors) {
            match error {
                None => begun.finish(session),
                Some(stop) => begun.loading.fail(stop),
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

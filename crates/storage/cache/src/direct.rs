//! Reading blocks around the cache, in pieces of a MiB, or as `db_file_multiblock_read_count` says,
//! with several in flight.
//!
//! ```text
//!   checkpoint of the blocks ──▶ ┌─────────┬─────────┬─────────┬─────────┐
//!                                │ in hand │ arrived │ on its  │ asked   │ …   buffers of the
//!                                └─────────┴─────────┴─────────┴─────────┘     session's own
//!                                next_run ──▶          (direct path read)
//! ```
//!
//! Each block is as of the start of the read or later: changes made before are on disk by then,
//! later changes may be in it or not. A session that needs an older version rolls back the newer
//! changes.
//!
//! A read is a [`DirectScan`], which may be kept between calls, and while a call works with it, a
//! [`DirectReader`]. When the reader goes, it waits for the pieces that are on their way; these
//! stay in the scan, and the next reader begins with them (CB70).
//!
//! A block may be written home while it is read here. Then it may come torn, or older than the
//! version that its writer has noted meanwhile. So a block that isn't whole is read again through
//! the cache, where reads and writes of a block don't overlap; and so is each block of a piece that
//! the device couldn't read. Blocks that can't be read there either are named to the caller, which
//! knows whether it needs them (CB24). A block is checked when the caller asks for it, so that the
//! checksum brings it near the processor for the caller.
//!
//! Invariants
//!   * no frame is touched: the buffers are the session's own, and no other session waits for them.
//!     So a session may wait for other things with direct reads in flight (CB22)
//!   * pieces come in the order of the blocks, each block once; so areas become free in turn
//!   * without a reader a scan has no I/O in flight and no file open
//!
//! Callers: scans of large tables.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use ids::{Dba, FileNo};
use latch::FrameOrder;
use os::{
    Completion, Error, HUGE_PAGE, IO_ALIGNMENT, IoArea, IoBuf, IoKind, Request, Ring, RingBackend,
    RingConfig, Session, Waiting,
};
use stop::Stop;
use waits::{Statistic, WaitEvent};

use crate::files::DataFile;
use crate::multiblock::RUN_BYTES;
use crate::{Blocks, Cache, Get};

/// The most pieces in flight.
const IN_FLIGHT_MAX: usize = 7;
/// The caller has one more piece in hand. Together they are whole huge pages where a piece is a
/// MiB: in small pages a MiB has 256 parts, which is two requests and the whole queue of a device
/// that takes 254 parts (measured: with nine areas, of which the last lay in small pages, a scan
/// took 1.3 times as long).
const AREAS: usize = IN_FLIGHT_MAX + 1;
const _: () = assert!((AREAS << 20).is_multiple_of(HUGE_PAGE));

/// The areas of a scan that is kept between calls, if pieces are longer than an eighth of
/// [`NEAR_BYTES`]: one in hand, one on its way.
const AREAS_NEAR: usize = 2;
/// The most memory of a scan that is kept between calls, unless pieces are longer than by
/// themselves: then it has [`AREAS_NEAR`] of them.
const NEAR_BYTES: usize = 2 << 20;
const _: () = assert!(NEAR_BYTES.is_multiple_of(HUGE_PAGE));
const _: () = assert!(RUN_BYTES * AREAS_NEAR <= NEAR_BYTES);

/// How far a direct read reads ahead of its caller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReadAhead {
    /// Seven pieces, so that a device with many requests in its queue is at its fastest: for a read
    /// that one call does to its end.
    Far,
    /// A MiB, or a longer piece: for a scan that is kept between calls, which waits at the end of
    /// each call for what is on its way, and has its memory as long as it is kept.
    Near,
}

/// A read of runs of blocks around the cache, which may be kept between calls. A [`DirectReader`]
/// goes on with it.
pub struct DirectScan {
    /// `None` if pieces are read one after the other.
    ring: Option<Ring>,
    /// Runs that are still to be requested, the next one last.
    left: Vec<Part>,
    /// Pieces that were requested, in the order of their blocks.
    pieces: VecDeque<Piece>,
    /// The number of pieces requested so far, for their tags.
    requested: u64,
    /// Memory for pieces, used in turn. It is made of huge pages, so that a piece is one request to
    /// the device.
    areas: Vec<IoArea>,
}

/// A reader that goes on with a [`DirectScan`], for one session and one call.
pub struct DirectReader<'a> {
    cache: &'a Cache,
    session: &'a Session,
    scan: &'a mut DirectScan,
    /// The file of the last piece.
    file: Option<Arc<DataFile>>,
    done: Vec<Completion>,
    /// The buffer that the caller has in hand.
    in_hand: Option<IoBuf>,
}

/// The rest of a run.
struct Part {
    file: FileNo,
    next: u32,
    end: u32,
    /// Blocks of each piece but the last.
    piece: u32,
}

/// Neighbouring blocks that one I/O reads.
struct Piece {
    first: Dba,
    count: u32,
    tag: u64,
    /// The buffer and the result, once the I/O is done.
    arrived: Option<(IoBuf, Result<(), Error>)>,
}

/// Neighbouring blocks that one I/O has read. Each is checked when it is asked for.
pub struct DirectRun<'r> {
    cache: &'r Cache,
    session: &'r Session,
    file: Arc<DataFile>,
    /// The number of the next block.
    next: u32,
    /// Whether the I/O was done.
    was_read: bool,
    /// The bytes of the blocks that weren't asked for yet.
    left: &'r mut [u8],
}

/// A block of a run.
#[derive(Clone, Copy, Debug)]
pub struct DirectBlock<'r> {
    /// Its address.
    pub address: Dba,
    /// The whole block, or zeros if it was never written; none if it can't be read, or isn't whole.
    pub bytes: Option<&'r [u8]>,
}

impl<'r> DirectRun<'r> {
    /// The number of bytes in the blocks that weren't asked for yet.
    pub fn bytes_left(&self) -> usize {
        self.left.len()
    }

    /// The next block of the run, or `None` after the last. A block that wasn't read, isn't whole,
    /// or is older than its last write is read through the cache (CB24). The caller holds no latch.
    #[inline]
    pub fn next_block(&mut self) -> Result<Option<DirectBlock<'r>>, Stop> {
        let left = std::mem::take(&mut self.left);
        let Some((block, left)) = left.split_at_mut_checked(self.file.block_size.bytes()) else {
            return Ok(None);
        };
        self.left = left;
        let address = Dba::new(self.file.number.get(), self.next);
        self.next += 1;
        let is_whole = self.was_read && self.file.check(address, block, self.session).is_ok();
        if is_whole {
            self.session.count(Statistic::ConsistentGets, 1);
        }
        let is_there = is_whole || self.read_again(address, block)?;
        Ok(Some(DirectBlock { address, bytes: is_there.then_some(&*block) }))
    }

    /// Reads a block through the cache; false if it can't be read there either. That is the block's
    /// get.
    #[cold]
    fn read_again(&self, address: Dba, block: &mut [u8]) -> Result<bool, Stop> {
        let (get, order) = (Get::Consistent, FrameOrder::Heap);
        match self.cache.pin_shared_for(get, address, order, self.session) {
            Ok(there) => block.copy_from_slice(&there),
            Err(stop) if stop.is_of_medium() => return Ok(false),
            Err(stop) => return Err(stop),
        }
        Ok(true)
    }
}

impl fmt::Debug for DirectRun<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let left = self.left.len() / self.file.block_size.bytes();
        write!(f, "DirectRun({left} blocks left, the next is {}/{})", self.file.number, self.next)
    }
}

impl Cache {
    /// A read of these runs, which don't overlap, around the cache and in this order. Dirty blocks
    /// of them are written first, so every change made before this call is in what is read.
    pub fn direct_scan(
        &self,
        runs: &[Blocks],
        ahead: ReadAhead,
        session: &Session,
    ) -> Result<DirectScan, Stop> {
        let mut left: Vec<Part> = Vec::with_capacity(runs.len());
        let (mut piece_bytes, mut last) = (IO_ALIGNMENT, None::<DataFile>);
        for run in runs.iter().rev() {
            let file = match last.take().filter(|file| file.number == run.first.file) {
                Some(same) => same,
                None => self.files.of(run.first, session)?,
            };
            let piece = self.multiblock_read_count(file.block_size, session);
            piece_bytes = piece_bytes.max(piece as usize * file.block_size.bytes());
            let next = run.first.block.get();
            let end = next.saturating_add(run.count);
            left.push(Part { file: file.number, next, end, piece });
            last = Some(file);
        }
        self.checkpoint_blocks(runs, session)?;
        let areas = match ahead {
            ReadAhead::Far => self.direct_areas(piece_bytes, session)?,
            ReadAhead::Near if piece_bytes * AREAS <= NEAR_BYTES => {
                IoArea::try_zeroed::<AREAS>(piece_bytes)?.into()
            }
            ReadAhead::Near => IoArea::try_zeroed::<AREAS_NEAR>(piece_bytes)?.into(),
        };
        let is_asynchronous = self.config.filesystem_io.is_asynchronous();
        // Without a ring, as where no thread can be had for it, pieces are read one by one.
        let ring = is_asynchronous.then(|| self.open_direct_ring(session));
        Ok(DirectScan {
            ring: ring.and_then(Result::ok),
            left,
            pieces: VecDeque::with_capacity(IN_FLIGHT_MAX),
            requested: 0,
            areas,
        })
    }

    /// Goes on with a read.
    pub fn resume<'a>(
        &'a self,
        scan: &'a mut DirectScan,
        session: &'a Session,
    ) -> DirectReader<'a> {
        let done = Vec::with_capacity(IN_FLIGHT_MAX);
        DirectReader { cache: self, session, scan, file: None, done, in_hand: None }
    }

    /// Ends a read, and leaves its memory to the next one that needs as much.
    pub fn end_direct(&self, scan: DirectScan, session: &Session) {
        let DirectScan { ring, pieces, areas, .. } = scan;
        // Waits for what a ring that has failed may still have in flight.
        drop((ring, pieces));
        if areas.len() == AREAS && !areas.iter().any(IoArea::is_lent) {
            let mut kept = self.direct_areas.exclusive(session);
            let before = std::mem::replace(&mut *kept, areas);
            drop(kept);
            drop(before);
        }
    }

    /// Areas for pieces of so many bytes: those of a read that has ended, if they are as long.
    fn direct_areas(&self, bytes: usize, session: &Session) -> Result<Vec<IoArea>, Stop> {
        let kept = std::mem::take(&mut *self.direct_areas.exclusive(session));
        if kept.first().is_some_and(|area| area.length() >= bytes) {
            return Ok(kept);
        }
        drop(kept);
        Ok(IoArea::try_zeroed::<AREAS>(bytes)?.into())
    }

    fn open_direct_ring(&self, session: &Session) -> Result<Ring, Error> {
        let config = RingConfig {
            depth: IN_FLIGHT_MAX as u32,
            backend: RingBackend::Auto,
            slave_event: WaitEvent::DirectPathRead,
            pool: None,
        };
        self.disk.ring(&config, session).map(Ring::keeping_no_files)
    }
}

impl DirectScan {
    /// The number of reads in flight: none while there is no reader (CB70).
    pub fn in_flight(&self) -> u32 {
        self.ring.as_ref().map_or(0, Ring::in_flight)
    }

    /// The next piece to be requested.
    fn next_piece(&mut self) -> Option<Piece> {
        while self.left.pop_if(|part| part.next >= part.end).is_some() {}
        let part = self.left.last_mut()?;
        let (first, count) = (part.next, part.piece.min(part.end - part.next));
        part.next += count;
        self.requested += 1;
        let first = Dba::new(part.file.get(), first);
        Some(Piece { first, count, tag: self.requested, arrived: None })
    }

    /// The most pieces that are requested and not in the caller's hand.
    fn most(&self) -> usize {
        if self.ring.is_some() { self.areas.len() - 1 } else { 1 }
    }
}

impl DirectReader<'_> {
    /// The next blocks, or `None` after the last. Waits until they are read.
    pub fn next_run(&mut self) -> Result<Option<DirectRun<'_>>, Stop> {
        latch::assert_none_held("a direct read");
        self.cache.halt.check_call(self.session)?;
        self.in_hand = None;
        if self.scan.pieces.is_empty() {
            self.request()?;
        }
        let Some(piece) = self.await_first()? else { return Ok(None) };
        // Before the caller looks at the piece: a device that has done all others is idle.
        if self.scan.ring.is_some() {
            self.request()?;
        }
        let file = self.file_of(piece.first)?;
        let (buffer, result) = piece.arrived.expect("it was waited for");
        Ok(Some(DirectRun {
            cache: self.cache,
            session: self.session,
            file,
            next: piece.first.block.get(),
            was_read: result.is_ok(),
            left: self.in_hand.insert(buffer),
        }))
    }

    /// Requests as many pieces as may be in flight.
    fn request(&mut self) -> Result<(), Stop> {
        while self.scan.pieces.len() < self.scan.most()
            && let Some(mut piece) = self.scan.next_piece()
        {
            let (file, session) = (self.file_of(piece.first)?, self.session);
            let bytes = piece.count as usize * file.block_size.bytes();
            let scan = &mut *self.scan;
            // The pieces before it that are still used lie in other areas.
            let area = piece.tag as usize % scan.areas.len();
            let mut buffer = scan.areas[area].lend(0..bytes);
            let offset = file.offset(piece.first);
            match &mut scan.ring {
                Some(ring) => {
                    let (file, kind, tag) = (file.file.clone(), IoKind::Read, piece.tag);
                    ring.push(Request { file, kind, offset, buffer, tag }, session)?;
                }
                None => {
                    let waiting = piece.waiting(session);
                    let result = file.file.read_at(offset, &mut buffer, waiting);
                    piece.end(buffer, result, session);
                }
            }
            scan.pieces.push_back(piece);
        }
        match &mut self.scan.ring {
            Some(ring) => ring.submit().map_err(Stop::from),
            None => Ok(()),
        }
    }

    /// The file of a piece.
    fn file_of(&mut self, first: Dba) -> Result<Arc<DataFile>, Stop> {
        if let Some(same) = self.file.as_ref().filter(|file| file.number == first.file) {
            return Ok(Arc::clone(same));
        }
        let file = Arc::new(self.cache.files.of(first, self.session)?);
        Ok(Arc::clone(self.file.insert(file)))
    }

    /// Waits until the first piece is read.
    fn await_first(&mut self) -> Result<Option<Piece>, Stop> {
        loop {
            let Some(first) = self.scan.pieces.front() else { return Ok(None) };
            if first.arrived.is_some() {
                return Ok(self.scan.pieces.pop_front());
            }
            let waiting = first.waiting(self.session);
            let ring = self.scan.ring.as_mut();
            let ring = ring.expect("without a ring a piece is read when requested");
            ring.reap(1, None, &mut self.done, waiting)?;
            self.note_arrived();
        }
    }

    /// Notes the reads that are done.
    fn note_arrived(&mut self) {
        for Completion { tag, buffer, result } in self.done.drain(..) {
            let mut pieces = self.scan.pieces.iter_mut();
            let piece = pieces.find(|piece| piece.tag == tag);
            piece.expect("a piece that was requested").end(buffer, result, self.session);
        }
    }
}

impl Piece {
    fn waiting<'s>(&self, session: &'s Session) -> Waiting<'s> {
        let waiting = session.waiting(WaitEvent::DirectPathRead);
        let Dba { file, block } = self.first;
        waiting.p(file.get().into(), block.get().into(), self.count.into())
    }

    /// Notes the end of the I/O, and counts the blocks that it has read, whether or not anybody
    /// looks at them. Those of an I/O that failed are counted as each is read again.
    fn end(&mut self, buffer: IoBuf, result: Result<(), Error>, session: &Session) {
        if result.is_ok() {
            for statistic in [Statistic::PhysicalReads, Statistic::PhysicalReadsDirect] {
                session.count(statistic, self.count.into());
            }
        }
        self.arrived = Some((buffer, result));
    }
}

/// Waits for pieces in flight, with a name for the wait (CB70).
impl Drop for DirectReader<'_> {
    fn drop(&mut self) {
        self.in_hand = None;
        let scan = &mut *self.scan;
        let mut on_their_way = scan.pieces.iter().filter(|piece| piece.arrived.is_none());
        if let Some(waiting) = on_their_way.next().map(|piece| piece.waiting(self.session))
            && let Some(ring) = &mut scan.ring
        {
            // What is wrong with the ring the next reader hears.
            let _ = ring.reap(ring.in_flight(), None, &mut self.done, waiting);
        }
        self.note_arrived();
    }
}

impl fmt::Debug for DirectScan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (left, requested) = (self.left.len(), self.requested);
        write!(f, "DirectScan({requested} pieces requested, {left} runs left)")
    }
}

impl fmt::Debug for DirectReader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DirectReader({:?})", self.scan)
    }
}

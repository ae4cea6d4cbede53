//! Reading blocks around the cache, in pieces of up to a MiB with several in flight.
//!
//! ```text
//!   checkpoint of the blocks ──▶ ┌─────────┬─────────┬─────────┬─────────┐
//!                                │ in hand │ arrived │ on its  │ asked   │ …   buffers of the
//!                                └─────────┴─────────┴─────────┴─────────┘     session's own
//!                                next_run ──▶          (direct path read)
//! ```
//!
//! What comes is each block as of the start of the read or later: changes made before are on disk
//! by then, later ones may be in it or not. Who needs an older state rolls back what is newer.
//!
//! A block may be written home while it is read here, and come torn, or older than what its writer
//! has noted meanwhile. So what isn't whole is got once more through the cache, where reads and
//! writes of a block don't meet; and so is each block of a piece that couldn't be read in one. What
//! can't be had there either is named: perhaps nobody needs it (CB24).
//!
//! Invariants
//!   * no frame is touched: the buffers are the session's own, and nobody else waits for them. So
//!     a session may wait for other things with such reads in flight (CB22)
//!   * pieces come in the order of the blocks, each block once; so areas become free in turn
//!
//! Callers: scans of large tables.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use ids::Dba;
use latch::FrameOrder;
use os::{
    Completion, Error, IO_ALIGNMENT, IoArea, IoBuf, IoKind, Request, Ring, RingBackend, RingConfig,
    Session, Waiting,
};
use stop::Stop;
use waits::WaitEvent;

use crate::files::DataFile;
use crate::{Cache, Span};

/// So many pieces are on their way at once.
const IN_FLIGHT_MAX: usize = 8;
/// One more is in hand.
const AREAS: usize = IN_FLIGHT_MAX + 1;

/// Reads spans of blocks around the cache. For one session.
pub struct DirectReader<'a> {
    cache: &'a Cache,
    session: &'a Session,
    /// `None`: pieces are read one after the other.
    ring: Option<Ring>,
    /// What is still to be asked for, the next at the end.
    left: Vec<Part>,
    /// Pieces that were asked for, in the order of their blocks.
    pieces: VecDeque<Piece>,
    /// How many were, for their tags.
    asked: u64,
    /// Memory for pieces, in turn: in one piece of huge pages, so that a piece is one request of
    /// the device.
    areas: [IoArea; AREAS],
    done: Vec<Completion>,
    /// What the caller has in hand.
    in_hand: Option<IoBuf>,
    /// Blocks of it that can't be had.
    missed: Vec<Dba>,
}

/// What is left of a span.
struct Part {
    file: Arc<DataFile>,
    next: u32,
    end: u32,
    /// Blocks of a piece, but for the last.
    piece: u32,
}

/// Neighbouring blocks that were asked for with one I/O.
struct Piece {
    file: Arc<DataFile>,
    first: u32,
    count: u32,
    tag: u64,
    /// It has come, or not.
    arrived: Option<(IoBuf, Result<(), Error>)>,
}

/// Neighbouring blocks as they were read.
#[derive(Debug)]
pub struct DirectRun<'r> {
    first: Dba,
    block_bytes: usize,
    bytes: &'r [u8],
    missed: &'r [Dba],
}

impl<'r> DirectRun<'r> {
    /// Whether this block can't be read, or isn't whole. It comes as zeros.
    pub fn misses(&self, address: Dba) -> bool {
        self.missed.contains(&address)
    }

    /// Its blocks, each whole or all zeros, with their addresses.
    pub fn blocks(&self) -> impl Iterator<Item = (Dba, &'r [u8])> + use<'r> {
        let Dba { file, block } = self.first;
        let addresses = (block.get()..).map(move |block| Dba::new(file.get(), block));
        addresses.zip(self.bytes.chunks(self.block_bytes))
    }
}

impl Cache {
    /// Reads these spans, which don't overlap, around the cache, in this order. What was changed of
    /// them is written first; every change made before this call will be in what is read.
    pub fn direct_reader<'a>(
        &'a self,
        spans: &[Span],
        session: &'a Session,
    ) -> Result<DirectReader<'a>, Stop> {
        let mut left: Vec<Part> = Vec::with_capacity(spans.len());
        let mut piece_bytes = IO_ALIGNMENT;
        for span in spans.iter().rev() {
            let last = left.last().filter(|part| part.file.number == span.first.file);
            let file = match last {
                Some(part) => Arc::clone(&part.file),
                None => Arc::new(self.files.of(span.first, session)?),
            };
            let piece = self.multiblock_read_count(file.block_size, session);
            piece_bytes = piece_bytes.max(piece as usize * file.block_size.bytes());
            let next = span.first.block.get();
            left.push(Part { file, next, end: next.saturating_add(span.count), piece });
        }
        self.checkpoint_blocks(spans, session)?;
        let ring = match self.config.filesystem_io.is_asynchronous() {
            true => Some(self.open_direct_ring(session)?),
            false => None,
        };
        Ok(DirectReader {
            cache: self,
            session,
            ring,
            left,
            pieces: VecDeque::with_capacity(IN_FLIGHT_MAX),
            asked: 0,
            areas: IoArea::try_zeroed(piece_bytes)?,
            done: Vec::with_capacity(IN_FLIGHT_MAX),
            in_hand: None,
            missed: Vec::new(),
        })
    }

    fn open_direct_ring(&self, session: &Session) -> Result<Ring, Stop> {
        let config = RingConfig {
            depth: IN_FLIGHT_MAX as u32,
            backend: RingBackend::Auto,
            slave_event: WaitEvent::DirectPathRead,
            pool: None,
        };
        self.disk.ring(&config, session).map_err(Stop::from)
    }
}

impl DirectReader<'_> {
    /// The next blocks; `None` after the last. Waits for them if they haven't come yet.
    pub fn next_run(&mut self) -> Result<Option<DirectRun<'_>>, Stop> {
        latch::assert_none_held("a direct read");
        self.cache.halt.check(self.session)?;
        self.in_hand = None;
        self.ask()?;
        let Some(piece) = self.await_first()? else { return Ok(None) };
        let (mut buffer, result) = piece.arrived.expect("it was waited for");
        let first = Dba::new(piece.file.number.get(), piece.first);
        self.mend((&piece.file, first), result.is_ok(), &mut buffer)?;
        let block_bytes = piece.file.block_size.bytes();
        let bytes: &[u8] = self.in_hand.insert(buffer);
        Ok(Some(DirectRun { first, block_bytes, bytes, missed: &self.missed }))
    }

    /// Asks for as many pieces as may be on their way.
    fn ask(&mut self) -> Result<(), Stop> {
        let most = if self.ring.is_some() { IN_FLIGHT_MAX } else { 1 };
        while self.pieces.len() < most
            && let Some(mut piece) = self.next_piece()
        {
            let bytes = piece.count as usize * piece.file.block_size.bytes();
            // Those before it that are still used are in other areas.
            let mut buffer = self.areas[piece.tag as usize % AREAS].lend(0..bytes);
            let offset = piece.file.offset(Dba::new(piece.file.number.get(), piece.first));
            let waiting = piece.waiting(self.session);
            match &mut self.ring {
                Some(ring) => {
                    let (file, kind) = (piece.file.file.clone(), IoKind::Read);
                    let tag = piece.tag;
                    ring.push(Request { file, kind, offset, buffer, tag }, self.session)?;
                }
                None => {
                    let result = piece.file.file.read_at(offset, &mut buffer, waiting);
                    piece.arrived = Some((buffer, result));
                }
            }
            self.pieces.push_back(piece);
        }
        match &mut self.ring {
            Some(ring) => ring.submit().map_err(Stop::from),
            None => Ok(()),
        }
    }

    /// What is to be asked for next.
    fn next_piece(&mut self) -> Option<Piece> {
        while self.left.pop_if(|part| part.next >= part.end).is_some() {}
        let part = self.left.last_mut()?;
        let (first, count) = (part.next, part.piece.min(part.end - part.next));
        part.next += count;
        self.asked += 1;
        let file = Arc::clone(&part.file);
        Some(Piece { file, first, count, tag: self.asked, arrived: None })
    }

    /// Waits until the first piece has come, whichever else come meanwhile.
    fn await_first(&mut self) -> Result<Option<Piece>, Stop> {
        loop {
            let Some(first) = self.pieces.front() else { return Ok(None) };
            if first.arrived.is_some() {
                return Ok(self.pieces.pop_front());
            }
            let waiting = first.waiting(self.session);
            let ring = self.ring.as_mut().expect("without a ring a piece has come when asked for");
            ring.reap(1, None, &mut self.done, waiting)?;
            for Completion { tag, buffer, result } in self.done.drain(..) {
                let mut pieces = self.pieces.iter_mut();
                let piece = pieces.find(|piece| piece.tag == tag);
                piece.expect("a piece that was asked for").arrived = Some((buffer, result));
            }
        }
    }

    /// CB24: what wasn't read, isn't whole, or is older than what was written, is got through the
    /// cache.
    fn mend(
        &mut self,
        (file, first): (&DataFile, Dba),
        was_read: bool,
        bytes: &mut [u8],
    ) -> Result<(), Stop> {
        self.missed.clear();
        for (block, nth) in bytes.chunks_mut(file.block_size.bytes()).zip(0..) {
            let address = Dba::new(first.file.get(), first.block.get() + nth);
            if was_read && file.check(address, block, self.session).is_ok() {
                continue;
            }
            match self.cache.pin_or_unwritten(address, self.session) {
                Ok(pin) => block.copy_from_slice(&pin.shared(FrameOrder::Heap, self.session)),
                Err(stop) if stop.is_of_medium() => {
                    block.fill(0);
                    self.missed.push(address);
                }
                Err(stop) => return Err(stop),
            }
        }
        Ok(())
    }
}

impl Piece {
    fn waiting<'s>(&self, session: &'s Session) -> Waiting<'s> {
        let waiting = session.waiting(WaitEvent::DirectPathRead);
        waiting.p(self.file.number.get().into(), self.first.into(), self.count.into())
    }
}

/// With a name for the wait, should pieces still be on their way.
impl Drop for DirectReader<'_> {
    fn drop(&mut self) {
        if let Some(ring) = &mut self.ring
            && ring.in_flight() > 0
            && let Some(piece) = self.pieces.front()
        {
            // What a read says that nobody wants isn't worth a word.
            let waiting = piece.waiting(self.session);
            let _ = ring.reap(ring.in_flight(), None, &mut self.done, waiting);
        }
    }
}

impl fmt::Debug for DirectReader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (left, asked) = (self.left.len(), self.asked);
        write!(f, "DirectReader({asked} pieces asked for, {left} spans left)")
    }
}

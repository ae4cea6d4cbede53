//! Reading blocks around the cache, in pieces of a MiB with several in flight.
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
//! writes of a block don't meet; what isn't whole there either is refused (CB24).
//!
//! Invariants
//!   * no frame is touched: the buffers are the session's own, and nobody else waits for them. So
//!     a session may wait for other things with such reads in flight (CB22)
//!   * pieces come in the order of the blocks, each block once
//!
//! Callers: scans of large tables.

use std::collections::VecDeque;
use std::fmt;

use ids::Dba;
use latch::FrameOrder;
use os::{
    Completion, Error, IoBuf, IoKind, Request, Ring, RingBackend, RingConfig, Session, Waiting,
};
use stop::Stop;
use waits::WaitEvent;

use crate::Cache;
use crate::files::DataFile;
use crate::multiblock::RUN_BYTES_MAX;

/// So many pieces are on their way at once.
const IN_FLIGHT_MAX: usize = 4;

/// Reads a span of blocks around the cache. For one session.
pub struct DirectReader<'a> {
    cache: &'a Cache,
    session: &'a Session,
    file: DataFile,
    /// `None`: pieces are read one after the other.
    ring: Option<Ring>,
    /// The next block to be asked for, and the end.
    next: u32,
    end: u32,
    /// Pieces that were asked for, in the order of their blocks.
    pieces: VecDeque<Piece>,
    /// Whole buffers that are in no piece.
    spare: Vec<IoBuf>,
    done: Vec<Completion>,
    /// What the caller has in hand.
    in_hand: Option<IoBuf>,
}

/// Neighbouring blocks that were asked for with one I/O.
struct Piece {
    first: u32,
    count: u32,
    /// It has come, or not.
    arrived: Option<(IoBuf, Result<(), Error>)>,
}

/// Neighbouring blocks as they were read.
#[derive(Debug)]
pub struct DirectRun<'r> {
    first: Dba,
    block_bytes: usize,
    bytes: &'r [u8],
}

impl<'r> DirectRun<'r> {
    /// Its blocks, each whole or all zeros, with their addresses.
    pub fn blocks(&self) -> impl Iterator<Item = (Dba, &'r [u8])> + use<'r> {
        let Dba { file, block } = self.first;
        let addresses = (block.get()..).map(move |block| Dba::new(file.get(), block));
        addresses.zip(self.bytes.chunks(self.block_bytes))
    }
}

impl Cache {
    /// Reads these `count` blocks, from `first` on, around the cache. What was changed of them is
    /// written first; every change made before this call will be in what is read.
    pub fn direct_reader<'a>(
        &'a self,
        first: Dba,
        count: u32,
        session: &'a Session,
    ) -> Result<DirectReader<'a>, Stop> {
        let file = self.files.of(first, session)?;
        self.checkpoint_blocks(first, count, session)?;
        let ring = match self.config.filesystem_io.is_asynchronous() {
            true => Some(self.open_direct_ring(session)?),
            false => None,
        };
        let next = first.block.get();
        Ok(DirectReader {
            cache: self,
            session,
            file,
            ring,
            next,
            end: next.saturating_add(count),
            pieces: VecDeque::with_capacity(IN_FLIGHT_MAX),
            spare: Vec::with_capacity(IN_FLIGHT_MAX + 1),
            done: Vec::with_capacity(IN_FLIGHT_MAX),
            in_hand: None,
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

impl<'a> DirectReader<'a> {
    /// The next blocks; `None` after the last. Waits for them if they haven't come yet.
    pub fn next_run(&mut self) -> Result<Option<DirectRun<'_>>, Stop> {
        latch::assert_none_held("a direct read");
        self.cache.halt.check(self.session)?;
        let whole = self.whole_piece() as usize * self.block_bytes();
        let had = self.in_hand.take().filter(|buffer| buffer.len() == whole);
        self.spare.extend(had);
        self.ask()?;
        let Some(piece) = self.pieces.front() else { return Ok(None) };
        let (first, count) = (piece.first, piece.count);
        let (mut buffer, result) = self.await_first(first, count)?;
        result?;
        let first = self.address(first);
        self.mend(first, &mut buffer)?;
        let block_bytes = self.block_bytes();
        let bytes: &[u8] = self.in_hand.insert(buffer);
        Ok(Some(DirectRun { first, block_bytes, bytes }))
    }

    /// Asks for as many pieces as may be on their way.
    fn ask(&mut self) -> Result<(), Stop> {
        let most = if self.ring.is_some() { IN_FLIGHT_MAX } else { 1 };
        while self.pieces.len() < most && self.next < self.end {
            let (first, count) = (self.next, self.whole_piece().min(self.end - self.next));
            let bytes = count as usize * self.block_bytes();
            let fits = self.spare.pop_if(|buffer| buffer.len() == bytes);
            let mut buffer = fits.unwrap_or_else(|| IoBuf::zeroed(bytes));
            let offset = self.file.offset(self.address(first));
            let waiting = self.waiting(first, count);
            let arrived = match &mut self.ring {
                Some(ring) => {
                    let (file, kind) = (self.file.file.clone(), IoKind::Read);
                    let tag = u64::from(first);
                    ring.push(Request { file, kind, offset, buffer, tag }, self.session)?;
                    None
                }
                None => {
                    let result = self.file.file.read_at(offset, &mut buffer, waiting);
                    Some((buffer, result))
                }
            };
            self.pieces.push_back(Piece { first, count, arrived });
            self.next += count;
        }
        match &mut self.ring {
            Some(ring) => ring.submit().map_err(Stop::from),
            None => Ok(()),
        }
    }

    /// Waits until the first piece has come, whichever else come meanwhile.
    fn await_first(&mut self, first: u32, count: u32) -> Result<(IoBuf, Result<(), Error>), Stop> {
        let waiting = self.waiting(first, count);
        loop {
            if let Some(piece) = self.pieces.pop_front_if(|piece| piece.arrived.is_some()) {
                return Ok(piece.arrived.expect("it has come"));
            }
            let ring = self.ring.as_mut().expect("without a ring a piece has come when asked for");
            ring.reap(1, None, &mut self.done, waiting)?;
            for Completion { tag, buffer, result } in self.done.drain(..) {
                let mut pieces = self.pieces.iter_mut();
                let piece = pieces.find(|piece| u64::from(piece.first) == tag);
                piece.expect("a piece that was asked for").arrived = Some((buffer, result));
            }
        }
    }

    /// CB24: what isn't whole, or older than what was written, is got through the cache.
    fn mend(&self, first: Dba, bytes: &mut [u8]) -> Result<(), Stop> {
        for (block, nth) in bytes.chunks_mut(self.block_bytes()).zip(0..) {
            let address = Dba::new(first.file.get(), first.block.get() + nth);
            if self.file.check(address, block, self.session).is_ok() {
                continue;
            }
            let pin = self.cache.pin(address, self.session)?;
            block.copy_from_slice(&pin.shared(FrameOrder::Heap, self.session));
        }
        Ok(())
    }

    fn waiting(&self, first: u32, count: u32) -> Waiting<'a> {
        let waiting = self.session.waiting(WaitEvent::DirectPathRead);
        waiting.p(self.file.number.get().into(), first.into(), count.into())
    }

    fn address(&self, block: u32) -> Dba {
        Dba::new(self.file.number.get(), block)
    }

    fn block_bytes(&self) -> usize {
        self.file.block_size.bytes()
    }

    /// Blocks of a piece, but for the last.
    fn whole_piece(&self) -> u32 {
        (RUN_BYTES_MAX / self.block_bytes()) as u32
    }
}

/// With a name for the wait, should pieces still be on their way.
impl Drop for DirectReader<'_> {
    fn drop(&mut self) {
        if let Some(ring) = &mut self.ring
            && ring.in_flight() > 0
        {
            let waiting = self.session.waiting(WaitEvent::DirectPathRead);
            let waiting = waiting.p(self.file.number.get().into(), self.next.into(), 0);
            // What a read says that nobody wants isn't worth a word.
            let _ = ring.reap(ring.in_flight(), None, &mut self.done, waiting);
        }
    }
}

impl fmt::Debug for DirectReader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (file, next, end) = (self.file.number, self.next, self.end);
        write!(f, "DirectReader(file {file}, blocks {next} to {end})")
    }
}

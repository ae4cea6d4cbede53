//! Reading a log ahead of the reader: pieces of a MiB, several in flight.
//!
//! ```text
//!   take ──▶ in hand │ arrived │ on its way │ on its way │ …      (log file sequential read)
//! ```
//!
//! Invariants
//!   * pieces are of one log, and each begins where the one before ends; for another place the
//!     pieces in flight are awaited and dropped, and new ones are requested
//!   * a block that no member can read is an error only when it is requested: a piece ends before
//!     it, and behind the end of redo no block is requested
//!
//! Caller: the reader, which has synced the log before (RD9).

use std::collections::VecDeque;

use format::REDO_BLOCK;
use ids::BlockNo;
use os::{
    Completion, Disk, Error, IoBuf, IoKind, IoPool, Request, Ring, RingBackend, RingConfig,
    Session, Waiting,
};
use waits::WaitEvent;

use crate::log_files::LogFiles;

/// Redo blocks of a piece: 1 MiB.
const PIECE_BLOCKS: u32 = 256;
/// The largest number of pieces in flight.
const IN_FLIGHT_MAX: usize = 3;

/// A run of blocks of a log.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(crate) sequence: u32,
    pub(crate) first: u32,
    pub(crate) blocks: u32,
}

/// A piece that was requested.
#[derive(Debug)]
struct PieceRequest {
    piece: Piece,
    tag: u64,
    arrived: Option<(IoBuf, Result<(), Error>)>,
}

#[derive(Debug)]
pub(crate) struct ReadAhead {
    /// `None` if the disk has no asynchronous I/O: then a piece is read when it is requested.
    ring: Option<Ring>,
    requests: VecDeque<PieceRequest>,
    /// The number of requests so far, from which tags are made.
    tags: u64,
    spare: Vec<IoBuf>,
    done: Vec<Completion>,
}

impl ReadAhead {
    pub(crate) fn new(disk: &Disk, session: &Session) -> ReadAhead {
        let config = RingConfig {
            depth: IN_FLIGHT_MAX as u32,
            backend: RingBackend::Native,
            slave_event: WaitEvent::LogFileSequentialRead,
            pool: None,
        };
        // Without a ring reading works too, but slower.
        let ring = disk.ring(&config, session).ok();
        // Buffers lie in huge pages, so that a piece is one request of the device.
        let piece_bytes = PIECE_BLOCKS as usize * REDO_BLOCK.bytes();
        let pool = IoPool::new(IN_FLIGHT_MAX as u32 + 1, piece_bytes);
        let spare = pool.iter().flat_map(|pool| std::iter::from_fn(|| pool.take())).collect();
        ReadAhead { ring, requests: VecDeque::new(), tags: 0, spare, done: Vec::new() }
    }

    /// Returns a piece that holds this block, with its bytes. Waits for it if it hasn't arrived
    /// yet.
    pub(crate) fn take(
        &mut self,
        logs: &LogFiles,
        sequence: u32,
        block: u32,
        session: &Session,
    ) -> Result<(Piece, IoBuf), Error> {
        if !self.requests.front().is_some_and(|request| request.piece.holds(sequence, block)) {
            self.forget(logs, session)?;
        }
        self.ask(logs, sequence, block, session)?;
        while self.requests.front().is_some_and(|request| request.arrived.is_none()) {
            let waiting = self.waiting(logs, session);
            self.reap(1, waiting)?;
        }
        let request = self.requests.pop_front().expect("a piece was asked for");
        let mut piece = request.piece;
        let (mut buffer, result) = request.arrived.expect("it was waited for");
        let after = piece.first + piece.blocks;
        if result.is_err() {
            // The piece is shorter if a block can't be read. A reader that wants that block
            // requests it.
            piece.blocks = logs.of(sequence).read_any(piece.first, &mut buffer, session)?;
        }
        if self.ring.is_some() {
            self.ask(logs, sequence, after, session)?;
        }
        Ok((piece, buffer))
    }

    /// Takes back the buffer of a piece that isn't used any more.
    pub(crate) fn give_back(&mut self, buffer: IoBuf) {
        if self.spare.len() <= IN_FLIGHT_MAX {
            self.spare.push(buffer);
        }
    }

    /// Waits for all pieces in flight, and drops all requests.
    pub(crate) fn forget(&mut self, logs: &LogFiles, session: &Session) -> Result<(), Error> {
        let in_flight = self.ring.as_ref().map_or(0, Ring::in_flight);
        if in_flight > 0 {
            let waiting = self.waiting(logs, session);
            self.reap(in_flight, waiting)?;
        }
        for (buffer, _) in self.requests.drain(..).filter_map(|request| request.arrived) {
            self.spare.push(buffer);
        }
        self.spare.truncate(IN_FLIGHT_MAX + 1);
        Ok(())
    }

    /// Requests as many pieces as may be in flight, from this block on if there is none yet.
    fn ask(
        &mut self,
        logs: &LogFiles,
        sequence: u32,
        from: u32,
        session: &Session,
    ) -> Result<(), Error> {
        let most = if self.ring.is_some() { IN_FLIGHT_MAX } else { 1 };
        let group = logs.of(sequence);
        let mut first =
            self.requests.back().map_or(from, |last| last.piece.first + last.piece.blocks);
        while self.requests.len() < most && first < group.blocks {
            let blocks = PIECE_BLOCKS.min(group.blocks - first);
            let piece = Piece { sequence, first, blocks };
            let bytes = blocks as usize * REDO_BLOCK.bytes();
            let fits = self.spare.iter().position(|buffer| buffer.len() == bytes);
            let mut buffer =
                fits.map_or_else(|| IoBuf::zeroed(bytes), |place| self.spare.swap_remove(place));
            let (offset, tag) = (BlockNo::new(first).byte_offset(REDO_BLOCK), self.tags);
            let file = group.first();
            let arrived = match &mut self.ring {
                Some(ring) => {
                    let (file, kind) = (file.clone(), IoKind::Read);
                    ring.push(Request { file, kind, offset, buffer, tag }, session)?;
                    None
                }
                None => {
                    let result = file.read_at(offset, &mut buffer, piece.waiting(logs, session));
                    Some((buffer, result))
                }
            };
            self.requests.push_back(PieceRequest { piece, tag, arrived });
            self.tags += 1;
            first += blocks;
        }
        match &mut self.ring {
            Some(ring) => ring.submit(),
            None => Ok(()),
        }
    }

    fn reap(&mut self, at_least: u32, waiting: Waiting<'_>) -> Result<(), Error> {
        let ring = self.ring.as_mut().expect("without a ring a piece has come when asked for");
        ring.reap(at_least, None, &mut self.done, waiting)?;
        for Completion { tag, buffer, result } in self.done.drain(..) {
            let request = self.requests.iter_mut().find(|request| request.tag == tag);
            request.expect("a piece that was asked for").arrived = Some((buffer, result));
        }
        Ok(())
    }

    /// The wait for the piece that is wanted next.
    fn waiting<'s>(&self, logs: &LogFiles, session: &'s Session) -> Waiting<'s> {
        match self.requests.front() {
            Some(request) => request.piece.waiting(logs, session),
            None => session.waiting(WaitEvent::LogFileSequentialRead),
        }
    }
}

impl Piece {
    pub(crate) fn holds(&self, sequence: u32, block: u32) -> bool {
        self.sequence == sequence && (self.first..self.first + self.blocks).contains(&block)
    }

    fn waiting<'s>(&self, logs: &LogFiles, session: &'s Session) -> Waiting<'s> {
        logs.of(self.sequence).reading(self.first, self.blocks.into(), session)
    }
}

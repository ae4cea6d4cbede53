//! A temporary file: pieces written and read, several at once.
//!
//! ```text
//!   name made ─▶ opened ─▶ name taken away ─▶ written, read ─▶ cut to nothing, closed
//! ```
//!
//! The file has a name only while it is being opened (ST7), so it is gone with the process. It is
//! cut before it is closed because freeing gigabytes takes a while, and that time has a wait event
//! this way.
//!
//! A [`TempState`] owns the file and lives between calls; a [`TempFile`] borrows it, and the
//! session, for one call (ST17).
//!
//! Invariants
//!   * nothing is synced (ST10)
//!   * a piece isn't read before its write has completed (ST5)
//!   * the buffers are the file's own: no other session waits for them (ST3)
//!
//! Callers: `run_writer`, `run_reader`, `sorter`, `sorted`, `spool`.

use std::collections::VecDeque;

use format::SORT_BLOCK;
use ids::{Dba, FileNo};
use os::{
    Completion, Disk, Error, File, FileOperation, FileOptions, IoBuf, IoKind, IoPool, Os, Request,
    Ring, RingBackend, RingConfig, Session, TEMPORARY_NAME_END, Waiting,
};
use stop::{Halt, Stop};
use waits::{SessionKind, Statistic, WaitEvent};

use crate::config::{Plan, SortConfig};
use crate::space::Space;

/// How many requests are in flight at once, at most.
const IN_FLIGHT_MAX: usize = 64;

/// A read that was begun.
pub(crate) struct PendingRead {
    pub(crate) piece: u32,
    tag: u64,
}

/// A read that has completed or failed.
struct CompletedRead {
    tag: u64,
    buffer: IoBuf,
    result: Result<(), Error>,
}

/// The file, its free pieces, and its I/O in flight.
pub(crate) struct TempState {
    os: Os,
    halt: Halt,
    /// A random number that names the file's owner in its blocks.
    pub(crate) sort: u64,
    pub(crate) plan: Plan,
    pub(crate) space: Space,
    /// The number of runs that were begun.
    pub(crate) runs: u32,
    /// The bytes that were written.
    pub(crate) written_bytes: u64,
    pool: IoPool,
    file: File,
    number: FileNo,
    /// None: one I/O after the other.
    ring: Option<Ring>,
    tags: u64,
    /// Writes in flight: piece and tag, in the order in which they were begun.
    writes: VecDeque<(u32, u64)>,
    /// The first write that failed.
    failed: Option<Error>,
    /// Completed reads that weren't received yet.
    arrived: Vec<CompletedRead>,
    done: Vec<Completion>,
    is_closed: bool,
}

/// A temporary file in the hands of a session.
pub(crate) struct TempFile<'a> {
    pub(crate) state: &'a mut TempState,
    pub(crate) session: &'a Session,
}

impl TempState {
    /// Creates the file in the directory of the configuration.
    pub(crate) fn create(
        disk: &Disk,
        config: &SortConfig,
        plan: Plan,
        pool: IoPool,
        halt: &Halt,
        session: &Session,
    ) -> Result<TempState, Stop> {
        let sort = session.os().random();
        let path = config.directory.join(format!("sort-{sort:016x}{TEMPORARY_NAME_END}"));
        let what = || format!("make a temporary file in {}", config.directory.display());
        let direct = config.filesystem_io.file_options().direct;
        let options = FileOptions { direct, write_through: false };
        let opened = disk.open_nameless(&path, &[options], session);
        let opened = opened.and_then(|mut files| files.pop().expect("one way, one result"));
        let file = opened.map_err(|error| error.while_doing(what()))?;
        let depth = IN_FLIGHT_MAX.min(plan.pieces);
        let ring = match config.filesystem_io.is_asynchronous() {
            true => Some(open_ring(disk, depth, session)?),
            false => None,
        };
        Ok(TempState {
            os: session.os().clone(),
            halt: halt.clone(),
            sort,
            plan,
            space: Space::new(u32::MAX / plan.piece_blocks()),
            runs: 0,
            written_bytes: 0,
            pool,
            file,
            number: config.file,
            ring,
            tags: 0,
            writes: VecDeque::with_capacity(plan.writing),
            failed: None,
            arrived: Vec::with_capacity(depth),
            done: Vec::with_capacity(depth),
            is_closed: false,
        })
    }

    /// The file in the hands of a session.
    pub(crate) fn with<'a>(&'a mut self, session: &'a Session) -> TempFile<'a> {
        TempFile { state: self, session }
    }

    /// Waits for the I/O in flight and frees the space. Errors are ignored: the space is free with
    /// the last handle, which is this one.
    pub(crate) fn close(&mut self, session: &Session) {
        if std::mem::replace(&mut self.is_closed, true) {
            return;
        }
        let waiting = self.waiting(WaitEvent::DirectPathWriteTemp, 0, session);
        if let Some(ring) = &mut self.ring
            && ring.in_flight() > 0
        {
            let _ = ring.reap(ring.in_flight(), None, &mut self.done, waiting);
        }
        let _ = self.file.set_len(0, FileOperation::Resize.waiting(session));
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        let lists = self.writes.capacity() * size_of::<(u32, u64)>()
            + self.arrived.capacity() * size_of::<CompletedRead>()
            + self.done.capacity() * size_of::<Completion>();
        lists as u64 + self.space.memory_bytes()
    }

    /// The number of requests in flight.
    fn in_flight(&self) -> usize {
        self.ring.as_ref().map_or(0, |ring| ring.in_flight() as usize)
    }

    fn offset(&self, piece: u32) -> u64 {
        u64::from(piece) * self.plan.piece_bytes as u64
    }

    /// The address of a block of this piece.
    fn address(&self, piece: u32, block: u32) -> Dba {
        Dba::new(self.number.get(), piece * self.plan.piece_blocks() + block)
    }

    fn waiting<'s>(&self, event: WaitEvent, piece: u32, session: &'s Session) -> Waiting<'s> {
        let (first, count) = (self.address(piece, 0).block.get(), self.plan.piece_blocks());
        session.waiting(event).p(self.number.get().into(), first.into(), count.into())
    }
}

/// The way for an owner that ends without its session, as in a panic: a session is made for it.
impl Drop for TempState {
    fn drop(&mut self) {
        if !self.is_closed {
            let session = self.os.adopt("temporary file", SessionKind::Foreground);
            self.close(&session);
        }
    }
}

impl<'a> TempFile<'a> {
    /// The address of a block of this piece.
    pub(crate) fn address(&self, piece: u32, block: u32) -> Dba {
        self.state.address(piece, block)
    }

    /// A buffer for a piece that is to be written. Waits until there is one.
    pub(crate) fn write_buffer(&mut self) -> Result<IoBuf, Stop> {
        self.await_writes(self.state.plan.writing - 1)?;
        Ok(self.state.pool.take().expect("what isn't being written is free"))
    }

    /// Begins to write this piece.
    pub(crate) fn write(&mut self, piece: u32, buffer: IoBuf) -> Result<(), Stop> {
        self.state.halt.check_call(self.session)?;
        let blocks = u64::from(self.state.plan.piece_blocks());
        self.session.count(Statistic::PhysicalWritesDirectTemporary, blocks);
        self.state.written_bytes += buffer.len() as u64;
        self.state.tags += 1;
        let (tag, offset) = (self.state.tags, self.state.offset(piece));
        let waiting = self.waiting(WaitEvent::DirectPathWriteTemp, piece);
        match &self.state.ring {
            None => self.state.file.write_at(offset, &buffer, waiting)?,
            Some(_) => {
                self.push(IoKind::Write, piece, tag, buffer)?;
                self.state.writes.push_back((piece, tag));
            }
        }
        Ok(())
    }

    /// Waits until at most `most` writes are in flight. The error is that of the first failed
    /// write.
    pub(crate) fn await_writes(&mut self, most: usize) -> Result<(), Stop> {
        while let Some(&(piece, _)) = self.state.writes.front()
            && self.state.writes.len() > most
        {
            self.reap(WaitEvent::DirectPathWriteTemp, piece)?;
        }
        match &self.state.failed {
            Some(error) => Err(Stop::from(error.clone())),
            None => Ok(()),
        }
    }

    /// Begins to read this piece.
    pub(crate) fn ask(&mut self, piece: u32) -> Result<PendingRead, Stop> {
        self.state.halt.check_call(self.session)?;
        let blocks = u64::from(self.state.plan.piece_blocks());
        self.session.count(Statistic::PhysicalReadsDirectTemporary, blocks);
        self.state.tags += 1;
        let (tag, offset) = (self.state.tags, self.state.offset(piece));
        let mut buffer = self.state.pool.take().expect("each run has its share of pieces");
        let waiting = self.waiting(WaitEvent::DirectPathReadTemp, piece);
        match &self.state.ring {
            None => {
                let result = self.state.file.read_at(offset, &mut buffer, waiting);
                self.state.arrived.push(CompletedRead { tag, buffer, result });
            }
            Some(_) => self.push(IoKind::Read, piece, tag, buffer)?,
        }
        Ok(PendingRead { piece, tag })
    }

    /// Waits for a read.
    pub(crate) fn receive(&mut self, asked: PendingRead) -> Result<IoBuf, Stop> {
        loop {
            let arrived = &mut self.state.arrived;
            if let Some(at) = arrived.iter().position(|read| read.tag == asked.tag) {
                let CompletedRead { buffer, result, .. } = arrived.swap_remove(at);
                result?;
                return Ok(buffer);
            }
            assert!(self.state.in_flight() > 0, "a read is received from the file it was asked of");
            self.reap(WaitEvent::DirectPathReadTemp, asked.piece)?;
        }
    }

    fn push(&mut self, kind: IoKind, piece: u32, tag: u64, buffer: IoBuf) -> Result<(), Stop> {
        let event = match kind {
            IoKind::Read => WaitEvent::DirectPathReadTemp,
            _ => WaitEvent::DirectPathWriteTemp,
        };
        while self.state.in_flight() == IN_FLIGHT_MAX.min(self.state.plan.pieces) {
            self.reap(event, piece)?;
        }
        let (file, offset) = (self.state.file.clone(), self.state.offset(piece));
        let ring = self.state.ring.as_mut().expect("requests are pushed only with a ring");
        ring.push(Request { file, kind, offset, buffer, tag }, self.session)?;
        Ok(ring.submit()?)
    }

    /// Waits until a request has completed; `piece` is the one that the caller needs.
    fn reap(&mut self, event: WaitEvent, piece: u32) -> Result<(), Stop> {
        latch::assert_none_held("the I/O of a temporary file");
        let waiting = self.waiting(event, piece);
        let state = &mut *self.state;
        let ring = state.ring.as_mut().expect("without a ring nothing is on its way");
        ring.reap(1, None, &mut state.done, waiting)?;
        for Completion { tag, buffer, result } in state.done.drain(..) {
            match state.writes.iter().position(|write| write.1 == tag) {
                None => state.arrived.push(CompletedRead { tag, buffer, result }),
                Some(at) => {
                    state.writes.remove(at);
                    state.failed = state.failed.take().or(result.err());
                }
            }
        }
        Ok(())
    }

    fn waiting(&self, event: WaitEvent, piece: u32) -> Waiting<'a> {
        self.state.waiting(event, piece, self.session)
    }
}

fn open_ring(disk: &Disk, depth: usize, session: &Session) -> Result<Ring, Stop> {
    let config = RingConfig {
        depth: depth as u32,
        backend: RingBackend::Auto,
        slave_event: WaitEvent::DirectPathWriteTemp,
        pool: None,
    };
    Ok(disk.ring(&config, session)?)
}

const _: () = assert!(IN_FLIGHT_MAX <= RingConfig::DEPTH_MAX as usize);
const _: () = assert!(SORT_BLOCK.bytes().is_multiple_of(os::IO_ALIGNMENT));

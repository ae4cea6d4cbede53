//! Many I/Os in flight from one thread.
//!
//! ```text
//!   push ──▶ (slot) ──▶ port ──▶ collect ──▶ whole? ──▶ Completion
//!                        ▲                     │ short, interrupted
//!                        └─────────────────────┘ the rest goes again
//! ```
//!
//! The mechanism is io_uring, a pool of I/O slaves, or the simulator. A ring belongs to the thread
//! that made it, and a thread with I/O in flight waits for nothing but I/O and latches (rule O9).

use std::fmt;
use std::io;

use waits::{Nanos, Statistic, WaitEvent};

use crate::file::Progress;
use crate::slaves::SlaveRing;
use crate::syncs::SyncBy;
use crate::{
    Cause, Cost, DiskPort, Error, File, IoBuf, IoKind, IoPool, RawCompletion, RawRequest, RingPort,
    Session, Waiting,
};

/// The mechanism of a ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RingBackend {
    /// The disk's own asynchronous I/O. Where it has none: one notice, and as many I/O slaves as
    /// the ring is deep, at most [`RingConfig::SLAVES_MAX`].
    Auto,
    /// The disk's own asynchronous I/O or an error.
    Native,
    /// This number of I/O slaves, each with one blocking call at a time.
    Slaves(u32),
}

/// The configuration of a ring.
#[derive(Clone, Debug)]
pub struct RingConfig {
    /// The most requests in flight.
    pub depth: u32,
    /// The mechanism.
    pub backend: RingBackend,
    /// The event under which I/O slaves record their blocking calls.
    pub slave_event: WaitEvent,
    /// The buffers to register with the kernel.
    pub pool: Option<IoPool>,
}

impl RingConfig {
    /// The most slaves that [`RingBackend::Auto`] starts.
    pub const SLAVES_MAX: u32 = 32;
    /// The deepest ring.
    pub const DEPTH_MAX: u32 = 4_096;

    /// A ring of this depth over whatever the disk has.
    pub fn new(depth: u32) -> RingConfig {
        RingConfig {
            depth,
            backend: RingBackend::Auto,
            slave_event: WaitEvent::DbFileParallelWrite,
            pool: None,
        }
    }
}

/// One I/O request.
#[derive(Debug)]
pub struct Request {
    /// The file.
    pub file: File,
    /// The operation.
    pub kind: IoKind,
    /// The offset in the file, in bytes.
    pub offset: u64,
    /// The buffer, all of which is read into or written.
    pub buffer: IoBuf,
    /// The caller's tag, which comes back with the completion.
    pub tag: u64,
}

impl Request {
    /// Makes the data written to this file durable; of a ring's own writes, those whose completion
    /// was reaped before this is pushed. If it fails, the file is failed for good (O8).
    pub fn sync(file: File, tag: u64) -> Request {
        Request { file, kind: IoKind::Sync, offset: 0, buffer: IoBuf::empty(), tag }
    }
}

/// One completed I/O: the buffer, and the result.
#[derive(Debug)]
pub struct Completion {
    /// The request's tag.
    pub tag: u64,
    /// The buffer.
    pub buffer: IoBuf,
    /// Success of the whole request, or an error.
    pub result: Result<(), Error>,
}

#[derive(Debug)]
struct InFlight {
    file: File,
    kind: IoKind,
    offset: u64,
    tag: u64,
    progress: Progress,
    /// The number of a sync.
    sync: Option<u64>,
}

/// One thread's asynchronous I/O. Dropping it waits for the requests in flight. That wait has no
/// name, so an owner that ends in good order reaps first.
pub struct Ring {
    port: Box<dyn RingPort>,
    /// Whether a pushed request hasn't been started yet.
    unstarted: bool,
    slots: Vec<Option<InFlight>>,
    free: Vec<u32>,
    collected: Vec<RawCompletion>,
    /// The kind of waiter for its syncs.
    syncs: SyncBy,
    /// Whether the kernel has given a request up for want of a thread, and a notice said so.
    has_given_up: bool,
}

impl Ring {
    pub(crate) fn open(
        disk: &dyn DiskPort,
        config: &RingConfig,
        session: &Session,
    ) -> Result<Ring, Error> {
        if config.depth == 0 || config.depth > RingConfig::DEPTH_MAX {
            let detail =
                format!("its depth is 1 to {}, not {}", RingConfig::DEPTH_MAX, config.depth);
            return Err(Error::new("open a ring", Cause::Invalid, detail));
        }
        let mut port = open_port(disk, config, session)?;
        if let Some(pool) = &config.pool
            && let Err(error) = port.register(pool)
        {
            session.os().notice_unlocked(&error);
        }
        Ok(Ring {
            port,
            unstarted: false,
            slots: (0..config.depth).map(|_| None).collect(),
            free: (0..config.depth).rev().collect(),
            collected: Vec::with_capacity(config.depth as usize),
            syncs: SyncBy::Ring,
            has_given_up: false,
        })
    }

    /// Makes a ring that keeps no file open, for one that may stay unused for long: a file that is
    /// removed meanwhile would keep its space, and its lock. Looking a file up with each request
    /// costs little beside an I/O that is waited for.
    #[must_use]
    pub fn keeping_no_files(mut self) -> Ring {
        self.port.keep_no_files();
        self
    }

    /// Makes a ring whose thread waits for all that it pushes, as for I/O of its own. It keeps no
    /// file open.
    pub(crate) fn waited_for(self) -> Ring {
        Ring { syncs: SyncBy::Thread, ..self.keeping_no_files() }
    }

    /// The mechanism, for reports.
    pub fn description(&self) -> String {
        self.port.description()
    }

    /// The number of requests in flight.
    pub fn in_flight(&self) -> u32 {
        (self.slots.len() - self.free.len()) as u32
    }

    /// Whether another request can be pushed.
    pub fn has_room(&self) -> bool {
        !self.free.is_empty()
    }

    /// Takes a request. It starts at the next `submit` or `reap`, with the others.
    ///
    /// # Panics When the ring is full: the caller checks [`has_room`](Ring::has_room) or reaps
    /// first.
    pub fn push(&mut self, request: Request, session: &Session) -> Result<(), Error> {
        let Request { file, kind, offset, buffer, tag } = request;
        file.check_usable(kind.verb())?;
        file.check_aligned(kind.verb(), offset, &buffer)?;
        let slot = self.free.pop().expect("the caller leaves room in the ring");
        let bytes = buffer.len() as u64;
        match kind {
            IoKind::Read => {
                session.count(Statistic::PhysicalReadRequests, 1);
                session.count(Statistic::PhysicalReadBytes, bytes);
                file.counters().reads.pushed(bytes);
            }
            IoKind::Write => {
                session.count(Statistic::PhysicalWriteRequests, 1);
                session.count(Statistic::PhysicalWriteBytes, bytes);
                file.counters().writes.pushed(bytes);
            }
            IoKind::Sync => session.count(Statistic::FileSyncRequests, 1),
        }
        session.charge(Cost::IoSubmit, 1);
        let progress = file.progress(buffer.len());
        let syncs = match kind {
            IoKind::Read => false,
            IoKind::Write => file.syncs_each_write(),
            IoKind::Sync => true,
        };
        let sync = syncs.then(|| file.begin_sync(self.syncs));
        let raw = RawRequest { slot, kind, offset, range: 0..buffer.len(), buffer };
        self.port.push(file.port(), raw);
        self.unstarted = true;
        self.slots[slot as usize] = Some(InFlight { file, kind, offset, tag, progress, sync });
        Ok(())
    }

    /// Starts the pushed requests without waiting for them.
    pub fn submit(&mut self) -> Result<(), Error> {
        self.unstarted = false;
        self.port.submit().map_err(|error| Error::from_io("submit I/O", &error))
    }

    /// Appends the completed requests to `done`. Waits (as `waiting` says) until there are at least
    /// `at_least`, but no more than are in flight, or until `timeout` has passed. With 0 it never
    /// waits. A wait is recorded only if the completions weren't there at the first look.
    pub fn reap(
        &mut self,
        at_least: u32,
        timeout: Option<Nanos>,
        done: &mut Vec<Completion>,
        waiting: Waiting<'_>,
    ) -> Result<(), Error> {
        let wanted = done.len() + at_least.min(self.in_flight()) as usize;
        let until = timeout.map(|length| waiting.session().now().after(length));
        if at_least == 0 {
            self.submit()?;
        }
        loop {
            self.port.collect(&mut self.collected);
            self.finish_collected(done, waiting);
            let Some(missing) = wanted.checked_sub(done.len()).filter(|missing| *missing > 0)
            else {
                return self.start_pushed();
            };
            self.unstarted = false;
            let timed_out = waiting.around(|session, event| {
                let left = until.map(|until| until.since(session.now()));
                let result = self.port.wait(missing as u32, left, event);
                // A port may return early for no reason, and io_uring doesn't report a timeout when
                // it has also submitted requests. So the clock decides.
                let late = until.is_some_and(|until| session.now() >= until);
                let result = result.map(|timed_out| timed_out || late);
                let timed_out = matches!(result, Ok(true));
                (result, timed_out)
            });
            if timed_out.map_err(|error| Error::from_io("wait for I/O", &error))? {
                self.port.collect(&mut self.collected);
                self.finish_collected(done, waiting);
                return self.start_pushed();
            }
        }
    }

    /// Starts the pushed requests when a reap had enough at its first look.
    fn start_pushed(&mut self) -> Result<(), Error> {
        if self.unstarted { self.submit() } else { Ok(()) }
    }

    /// Turns raw completions into whole ones; the rest of a short one is submitted again.
    fn finish_collected(&mut self, done: &mut Vec<Completion>, waiting: Waiting<'_>) {
        let session = waiting.session();
        let mut collected = std::mem::take(&mut self.collected);
        for RawCompletion { slot, mut buffer, mut result } in collected.drain(..) {
            session.charge(Cost::IoReap, 1);
            let flight = self.slots[slot as usize].as_mut().expect("a slot in flight");
            if is_given_up(&result) {
                if !std::mem::replace(&mut self.has_given_up, true) {
                    session.os().notice(GIVEN_UP);
                }
                result = flight.by_this_thread(&mut buffer, waiting);
            }
            let progress = match flight.kind {
                IoKind::Read => {
                    flight.progress.after(result, session, io::ErrorKind::UnexpectedEof)
                }
                IoKind::Write => flight.progress.after(result, session, io::ErrorKind::WriteZero),
                // O8: a sync isn't retried, whatever the error is.
                IoKind::Sync => Some(result.map(|_| ())),
            };
            let outcome = match progress {
                // O8: the rest of a write isn't submitted to a file that has failed meanwhile.
                None => flight.file.check_usable(flight.kind.verb()).err().map(Err),
                Some(Ok(())) => Some(Ok(())),
                Some(Err(error)) => Some(Err(flight.failed(buffer.len(), &error))),
            };
            match outcome {
                None => {
                    let from = flight.progress.done;
                    let offset = flight.offset + from as u64;
                    let range = from..buffer.len();
                    let raw = RawRequest { slot, kind: flight.kind, offset, range, buffer };
                    self.port.push(flight.file.port(), raw);
                    self.unstarted = true;
                }
                Some(result) => {
                    let mut flight = self.slots[slot as usize].take().expect("a slot in flight");
                    self.free.push(slot);
                    if let Some(number) = flight.sync.take() {
                        flight.file.end_sync(number, session);
                    }
                    done.push(Completion { tag: flight.tag, buffer, result });
                }
            }
        }
        self.collected = collected;
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        if let Some(number) = self.sync {
            self.file.forget_sync(number);
        }
    }
}

/// The notice about requests that the kernel gives up.
const GIVEN_UP: &str = "the kernel starts no more threads for asynchronous I/O, so the thread that \
                        waits for a request does it itself, which is slower; raise the limit on \
                        processes (ulimit -u)";

/// Whether the kernel has given a request up before it began (O17): io_uring needs a thread for it,
/// and a limit on processes, or a lack of memory, allows none.
fn is_given_up(result: &io::Result<usize>) -> bool {
    matches!(result, Err(error) if error.raw_os_error() == Some(libc::ECANCELED))
}

impl InFlight {
    /// Does the rest of the request in the calling thread.
    fn by_this_thread(&self, buffer: &mut IoBuf, waiting: Waiting<'_>) -> io::Result<usize> {
        let (port, from) = (self.file.port(), self.progress.done);
        let offset = self.offset + from as u64;
        waiting.around(|_, event| {
            let result = match self.kind {
                IoKind::Read => port.read_at(offset, &mut buffer[from..], event),
                IoKind::Write => port.write_at(offset, &buffer[from..], event),
                IoKind::Sync => port.sync(event).map(|()| 0),
            };
            (result, false)
        })
    }

    fn failed(&self, length: usize, error: &io::Error) -> Error {
        match self.kind {
            IoKind::Read => self.file.io_error("read", length as u64, self.offset, error),
            IoKind::Write => self.file.write_failed(length as u64, self.offset, error),
            IoKind::Sync => self.file.sync_failed(error),
        }
    }
}

fn open_port(
    disk: &dyn DiskPort,
    config: &RingConfig,
    session: &Session,
) -> Result<Box<dyn RingPort>, Error> {
    let slaves = |count| SlaveRing::start(session, count, config.slave_event);
    Ok(match config.backend {
        RingBackend::Native => disk.ring(config.depth)?,
        RingBackend::Slaves(count) => Box::new(slaves(count)?),
        RingBackend::Auto => match disk.ring(config.depth) {
            Ok(ring) => ring,
            Err(error) => {
                session.os().notice_slaves(&error);
                Box::new(slaves(config.depth.min(RingConfig::SLAVES_MAX))?)
            }
        },
    })
}

impl fmt::Debug for Ring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ring({}, {} in flight)", self.port.description(), self.in_flight())
    }
}

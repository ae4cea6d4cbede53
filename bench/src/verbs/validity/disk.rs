//! How long the disk takes, measured with the engine's own I/O: lone requests, and many at once.
//!
//! ```text
//!   kind      lone                             many
//!   read      8 KiB, 64 KiB: blocking calls    a ring that is kept 32 deep
//!   write     8 KiB, 64 KiB: blocking calls    a ring that is kept 32 deep
//!   durable   8 KiB, 64 KiB, O_DSYNC           four threads
//!   flush     a sync after a write of 8 KiB    four threads, each a write and a sync
//!             and after writes of 1 MiB
//! ```
//! and all together for a while: readers, a durable writer, and one that writes and flushes. Where
//! the disk is slow that lasts until the first flush has ended.
//!
//! All around the page cache, at places all over a file that was written before. The same runs in
//! the simulator, where the disk is known: on one that takes no time, to see what the CPU adds; on
//! one with known figures, to see that these come back.
//!
//! Callers: `validity`, in turn with the runs of the load: a disk isn't the same all day.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};

use os::{
    Completion, Disk, Error, File, FileOptions, IoBuf, IoKind, Request, Ring, RingConfig, Session,
    ThreadSpec,
};
use waits::{Nanos, Timestamp, WaitEvent};

pub(super) const BASE: usize = 8 << 10;
pub(super) const LONG: usize = 64 << 10;
/// What is filled at once, and what is written before a long flush.
pub(super) const PIECE: usize = 1 << 20;
const FILE_BYTES: u64 = 64 << 20;
const DEPTH: u32 = 32;
const THREADS: u32 = 4;
/// Of a threads' work: each so often.
const TURNS: u32 = 24;

/// How long all kinds are measured together in a pass, and how many read.
const TOGETHER: Nanos = Nanos::from_millis(100);
const READERS: u32 = 3;
/// So many writes before each flush, then.
const WRITES_A_FLUSH: u32 = 8;

/// Requests of each sort in a pass.
const LONE: u32 = 120;
const LONE_LONG: u32 = 30;
const MANY: u32 = 768;
const MANY_LONG: u32 = 192;

const DIRECT: FileOptions = FileOptions { direct: true, write_through: false };
const THROUGH: FileOptions = FileOptions { direct: true, write_through: true };

/// The kinds of request that a model tells apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Read,
    Write,
    Durable,
    Flush,
}

impl Kind {
    pub(super) const ALL: [Kind; 4] = [Kind::Read, Kind::Write, Kind::Durable, Kind::Flush];

    /// As the keys of a disk file begin.
    pub(super) fn key(self) -> &'static str {
        match self {
            Kind::Read => "read",
            Kind::Write => "write",
            Kind::Durable => "durable",
            Kind::Flush => "flush",
        }
    }
}

/// What was measured of one kind, in us a request.
#[derive(Clone, Debug, Default)]
pub(super) struct Times {
    pub(super) lone: Vec<f64>,
    pub(super) lone_long: Vec<f64>,
    /// Time over the number of requests: one value a pass.
    pub(super) many: Vec<f64>,
    pub(super) many_long: Vec<f64>,
    /// Beside all other kinds.
    pub(super) beside: Vec<f64>,
}

/// What was measured, in the order of [`Kind::ALL`].
pub(super) type Samples = [Times; 4];

/// Files to measure with.
pub(super) struct Bench {
    requests: Requests,
    ring: Ring,
}

/// What makes one request after the other, all over the file.
struct Requests {
    direct: File,
    through: File,
    buffer: IoBuf,
    place: u64,
}

impl Bench {
    /// Makes a file in `folder` and fills it.
    pub(super) fn prepare(disk: &Disk, folder: &Path, session: &Session) -> Result<Bench, Error> {
        let path = folder.join("requests");
        let direct = disk.create(&path, FILE_BYTES, DIRECT, session)?;
        let mut buffer = IoBuf::zeroed(PIECE);
        buffer.fill(0xa5);
        for piece in 0..FILE_BYTES / PIECE as u64 {
            direct.write_at(piece * PIECE as u64, &buffer, waiting(session))?;
        }
        direct.sync(waiting(session))?;
        let through = disk.open(&path, THROUGH, session)?;
        let ring = disk.ring(&RingConfig::new(DEPTH), session)?;
        Ok(Bench { requests: Requests { direct, through, buffer, place: 0 }, ring })
    }

    /// Every sort of request, once more.
    pub(super) fn pass(&mut self, samples: &mut Samples, session: &Session) -> Result<(), Error> {
        for (kind, times) in Kind::ALL.into_iter().zip(samples.iter_mut()) {
            if kind == Kind::Flush {
                // What the kinds before have written is not the first flush's.
                self.requests.direct.sync(waiting(session))?;
            }
            self.lone(kind, BASE, LONE, &mut times.lone, session)?;
            match kind {
                Kind::Read | Kind::Write => {
                    let io = if kind == Kind::Read { IoKind::Read } else { IoKind::Write };
                    times.many.push(self.ringful(io, BASE, MANY, session)?);
                    times.many_long.push(self.ringful(io, LONG, MANY_LONG, session)?);
                    self.lone(kind, LONG, LONE_LONG, &mut times.lone_long, session)?;
                }
                Kind::Durable => {
                    times.many.push(self.threads(kind, BASE, session)?);
                    times.many_long.push(self.threads(kind, LONG, session)?);
                    self.lone(kind, LONG, LONE_LONG, &mut times.lone_long, session)?;
                }
                Kind::Flush => {
                    times.many.push(self.threads(kind, BASE, session)?);
                    self.lone(kind, PIECE, LONE_LONG, &mut times.lone_long, session)?;
                }
            }
        }
        self.together(samples, session)
    }

    /// All kinds at once, each thread with one request after the other.
    fn together(&mut self, samples: &mut Samples, session: &Session) -> Result<(), Error> {
        let (sender, measured) = mpsc::channel();
        let end = session.now().after(TOGETHER);
        let has_flushed = Arc::new(AtomicBool::new(false));
        let mut threads = Vec::new();
        let readers = std::iter::repeat_n(Kind::Read, READERS as usize);
        for (number, kind) in (0_u64..).zip(readers.chain([Kind::Durable, Kind::Write])) {
            let mut requests = self.requests.beside(number, BASE);
            let (sender, flushed) = (sender.clone(), Arc::clone(&has_flushed));
            let body = move |session: &Session| {
                for turn in 1.. {
                    // Each kind has ended once at least.
                    if turn > 1 && session.now() >= end && flushed.load(Ordering::Relaxed) {
                        break;
                    }
                    let flushes = kind == Kind::Write && turn % (WRITES_A_FLUSH + 1) == 0;
                    let kind = if flushes { Kind::Flush } else { kind };
                    let took = requests.one(kind, BASE, session);
                    // It listens until all have ended.
                    let _ = sender.send((kind, took));
                    if flushes {
                        flushed.store(true, Ordering::Relaxed);
                    }
                }
            };
            let spec = ThreadSpec::background(format!("bench{number}"));
            let thread = session.spawn(spec, body);
            // Without the one that flushes, the others would wait for it.
            threads.push(thread.inspect_err(|_| has_flushed.store(true, Ordering::Relaxed))?);
        }
        for thread in threads {
            thread.join(session).expect("a thread of the measurement ends well");
        }
        for (kind, took) in measured.try_iter() {
            samples[kind as usize].beside.push(took?);
        }
        Ok(())
    }

    fn lone(
        &mut self,
        kind: Kind,
        bytes: usize,
        count: u32,
        times: &mut Vec<f64>,
        session: &Session,
    ) -> Result<(), Error> {
        for _ in 0..count {
            if kind == Kind::Flush {
                self.requests.scatter(bytes, session)?;
            }
            times.push(self.requests.one(kind, bytes, session)?);
        }
        Ok(())
    }

    /// So many requests through a ring that is kept full; us a request.
    fn ringful(
        &mut self,
        kind: IoKind,
        bytes: usize,
        count: u32,
        session: &Session,
    ) -> Result<f64, Error> {
        let mut buffers: Vec<IoBuf> = (0..DEPTH).map(|_| IoBuf::zeroed(bytes)).collect();
        let mut done: Vec<Completion> = Vec::with_capacity(DEPTH as usize);
        let began = session.now();
        let (mut begun, mut ended) = (0, 0);
        while ended < count {
            while begun < count
                && let Some(buffer) = buffers.pop()
            {
                let offset = next_place(&mut self.requests.place, bytes);
                let file = self.requests.direct.clone();
                self.ring.push(Request { file, kind, offset, buffer, tag: 0 }, session)?;
                begun += 1;
            }
            self.ring.reap(1, None, &mut done, waiting(session))?;
            for completion in done.drain(..) {
                completion.result?;
                buffers.push(completion.buffer);
                ended += 1;
            }
        }
        Ok(session.now().since(began).0 as f64 / 1e3 / f64::from(count))
    }

    /// Four threads, each with one request after the other; us a request.
    fn threads(&mut self, kind: Kind, bytes: usize, session: &Session) -> Result<f64, Error> {
        let (sender, said) = mpsc::channel();
        let mut threads = Vec::new();
        for number in 0..THREADS {
            let mut requests = self.requests.beside(number.into(), bytes);
            let sender = sender.clone();
            let body = move |session: &Session| {
                let began = Moment::of(session);
                let turns = (0..TURNS).try_for_each(|_| {
                    if kind == Kind::Flush {
                        requests.one(Kind::Write, bytes, session)?;
                    }
                    requests.one(kind, bytes, session).map(drop)
                });
                // It listens until all have ended.
                let _ = sender.send(turns.map(|()| began.us_until_now(session)));
            };
            let spec = ThreadSpec::background(format!("bench{number}"));
            threads.push(session.spawn(spec, body)?);
        }
        for thread in threads {
            thread.join(session).expect("a thread of the measurement ends well");
        }
        let sum: f64 = said.try_iter().sum::<Result<f64, Error>>()?;
        Ok(sum / f64::from(THREADS) / f64::from(THREADS * TURNS))
    }
}

impl Requests {
    /// The same in another thread, elsewhere in the file.
    fn beside(&self, number: u64, bytes: usize) -> Requests {
        Requests {
            direct: self.direct.clone(),
            through: self.through.clone(),
            buffer: IoBuf::zeroed(bytes),
            place: self.place + number * 7,
        }
    }

    /// One request; how long it took, in us.
    fn one(&mut self, kind: Kind, bytes: usize, session: &Session) -> Result<f64, Error> {
        let at = next_place(&mut self.place, bytes);
        let began = Moment::of(session);
        let part = &mut self.buffer[..bytes];
        match kind {
            Kind::Read => self.direct.read_at(at, part, waiting(session))?,
            Kind::Write => self.direct.write_at(at, part, waiting(session))?,
            Kind::Durable => self.through.write_at(at, part, waiting(session))?,
            Kind::Flush => self.direct.sync(waiting(session))?,
        }
        Ok(began.us_until_now(session))
    }

    /// Writes so many bytes by the block, all over the file.
    fn scatter(&mut self, bytes: usize, session: &Session) -> Result<(), Error> {
        for _ in 0..bytes / BASE {
            self.one(Kind::Write, BASE, session)?;
        }
        Ok(())
    }
}

/// A beginning, by the wall and by the thread's time in the run queue. What a thread waits for a
/// CPU isn't the disk's time; on a machine that others use it can be most of it.
struct Moment {
    at: Timestamp,
    run_queue: Nanos,
}

impl Moment {
    fn of(session: &Session) -> Moment {
        let run_queue = session.thread_times().run_queue;
        Moment { at: session.now(), run_queue }
    }

    /// Without the time in the run queue.
    fn us_until_now(&self, session: &Session) -> f64 {
        let elapsed = session.now().since(self.at).0;
        let queued = session.thread_times().run_queue.0 - self.run_queue.0;
        elapsed.saturating_sub(queued) as f64 / 1e3
    }
}

fn waiting(session: &Session) -> os::Waiting<'_> {
    session.waiting(WaitEvent::DiskFileOperations)
}

/// Neighbours in time are far apart in the file.
fn next_place(place: &mut u64, bytes: usize) -> u64 {
    const STRIDE: u64 = 389;
    let places = FILE_BYTES / bytes as u64;
    *place = (*place + STRIDE) % (FILE_BYTES / BASE as u64);
    *place % places * bytes as u64
}

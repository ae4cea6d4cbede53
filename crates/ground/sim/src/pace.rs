//! A real disk made as slow as a modelled one.
//!
//! ```text
//!   request ──┬──▶ the real disk ──▶ done at r ──┐
//!             └──▶ the model ──────▶ due at m ───┴──▶ completes at max(r, m)
//! ```
//!
//! Data is really written and really read; only time is added. So a slow disk can be had on a fast
//! machine, for loads that study waiting. Where the real disk takes longer than the model, nothing
//! can be taken away: [`PacedDisk::lateness`] reports how often and by how much.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use os::{
    Alignment, Clock, Disk, DiskPort, Error, FileOptions, FilePort, IoKind, IoPool, NameKind,
    OpenMode, RawCompletion, RawRequest, RingPort,
};
use waits::{Nanos, Timestamp, WaitEvent};

use crate::layout::Layout;
use crate::model::{DiskModel, DiskParameters, DiskRequest};

/// A disk over another one, with a model's times.
#[derive(Clone)]
pub struct PacedDisk {
    pacer: Arc<Pacer>,
    inner: Arc<dyn DiskPort>,
}

/// The amount by which the pace was missed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Lateness {
    /// The number of requests so far.
    pub requests: u64,
    /// The number of requests for which the real disk, or waking up, took over 10 % longer than the
    /// model.
    pub late: u64,
    /// The total lateness of all requests.
    pub total: Nanos,
}

impl PacedDisk {
    /// `disk` at the pace of `model`, timed by `clock`.
    pub fn new(disk: &Disk, model: &DiskParameters, clock: Clock, seed: u64) -> PacedDisk {
        let pacer = Pacer {
            clock,
            state: Mutex::new(State {
                model: DiskModel::new(model, seed),
                layout: Layout::new(model.capacity_bytes()),
                latest: 0,
                files: BTreeMap::new(),
            }),
            requests: AtomicU64::new(0),
            late: AtomicU64::new(0),
            late_ns: AtomicU64::new(0),
        };
        PacedDisk { pacer: Arc::new(pacer), inner: Arc::clone(disk.port()) }
    }

    /// The disk to hand to the engine.
    pub fn disk(&self) -> Disk {
        Disk::new(Arc::new(self.clone()))
    }

    /// The amount by which the pace was missed so far.
    pub fn lateness(&self) -> Lateness {
        Lateness {
            requests: self.pacer.requests.load(Relaxed),
            late: self.pacer.late.load(Relaxed),
            total: Nanos(self.pacer.late_ns.load(Relaxed)),
        }
    }
}

struct Pacer {
    clock: Clock,
    /// The lock is held for one call of the model.
    state: Mutex<State>,
    requests: AtomicU64,
    late: AtomicU64,
    late_ns: AtomicU64,
}

struct State {
    model: DiskModel,
    layout: Layout,
    /// The latest arrival: the model's arrivals don't go back, but the clocks of two CPUs may.
    latest: u64,
    /// The numbers of files: a file keeps its position on the modelled disk, however often it is
    /// opened.
    files: BTreeMap<PathBuf, u64>,
}

/// The time at which a request is due, and the time at which it was made.
#[derive(Clone, Copy)]
struct Due {
    made: Timestamp,
    at: Timestamp,
}

impl Pacer {
    fn number(&self, path: &Path) -> u64 {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let next = state.files.len() as u64;
        *state.files.entry(path.to_path_buf()).or_insert(next)
    }

    fn request(&self, place: impl FnOnce(&mut Layout) -> DiskRequest) -> Due {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let made = self.clock.now();
        state.latest = state.latest.max(made.as_nanos());
        let request = place(&mut state.layout);
        let latest = state.latest;
        let at = Timestamp::from_nanos(state.model.complete_at(&request, latest));
        self.requests.fetch_add(1, Relaxed);
        Due { made, at }
    }

    fn transfer(&self, kind: IoKind, file: u64, offset: u64, length: usize, durable: bool) -> Due {
        let length = (length as u64).max(1);
        self.request(|layout| {
            let mut address = || layout.address(file, offset, length);
            match kind {
                IoKind::Read => DiskRequest::read(address(), length),
                IoKind::Write => DiskRequest::write(address(), length, durable),
                IoKind::Sync => DiskRequest::flush(),
            }
        })
    }

    /// Sleeps until `due`, then counts how late that was.
    fn sleep_until(&self, due: Due) {
        sleep(due.at.since(self.clock.now()));
        self.count_lateness(due);
    }

    fn count_lateness(&self, due: Due) {
        let late = self.clock.now().since(due.at).0;
        if late > due.at.since(due.made).0 / 10 {
            self.late.fetch_add(1, Relaxed);
        }
        self.late_ns.fetch_add(late, Relaxed);
    }
}

/// Sleeps as exactly as the kernel can: its usual slack of 50 us is longer than an SSD's read.
fn sleep(length: Nanos) {
    if length > Nanos::ZERO {
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZero::new(1));
        std::thread::sleep(Duration::from_nanos(length.0));
    }
}

impl DiskPort for PacedDisk {
    fn open(
        &self,
        path: &Path,
        mode: OpenMode,
        options: FileOptions,
        event: WaitEvent,
    ) -> io::Result<Arc<dyn FilePort>> {
        Ok(Arc::new(PacedFile {
            inner: self.inner.open(path, mode, options, event)?,
            pacer: Arc::clone(&self.pacer),
            number: self.pacer.number(path),
            durable: options.write_through,
        }))
    }

    fn create_dir(&self, path: &Path, event: WaitEvent) -> io::Result<()> {
        self.inner.create_dir(path, event)
    }

    fn sync_dir(&self, path: &Path, event: WaitEvent) -> io::Result<()> {
        let due = self.pacer.request(|_| DiskRequest::flush());
        self.inner.sync_dir(path, event)?;
        self.pacer.sleep_until(due);
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path, event: WaitEvent) -> io::Result<()> {
        self.inner.rename(from, to, event)
    }

    fn remove(&self, path: &Path, event: WaitEvent) -> io::Result<()> {
        self.inner.remove(path, event)
    }

    fn look_up(&self, path: &Path, event: WaitEvent) -> io::Result<Option<NameKind>> {
        self.inner.look_up(path, event)
    }

    fn list(&self, path: &Path, event: WaitEvent) -> io::Result<Vec<String>> {
        self.inner.list(path, event)
    }

    fn canonical(&self, directory: &Path) -> io::Result<PathBuf> {
        self.inner.canonical(directory)
    }

    fn free_bytes(&self, path: &Path) -> io::Result<u64> {
        self.inner.free_bytes(path)
    }

    fn ring(&self, depth: u32) -> Result<Box<dyn RingPort>, Error> {
        let (inner, pacer) = (self.inner.ring(depth)?, Arc::clone(&self.pacer));
        let due = (0..depth).map(|_| None).collect();
        Ok(Box::new(PacedRing { inner, pacer, due, held: Vec::new(), in_flight: 0 }))
    }
}

struct PacedFile {
    inner: Arc<dyn FilePort>,
    pacer: Arc<Pacer>,
    number: u64,
    durable: bool,
}

impl FilePort for PacedFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8], event: WaitEvent) -> io::Result<usize> {
        let due = self.pacer.transfer(IoKind::Read, self.number, offset, buffer.len(), false);
        let moved = self.inner.read_at(offset, buffer, event)?;
        self.pacer.sleep_until(due);
        Ok(moved)
    }

    fn write_at(&self, offset: u64, buffer: &[u8], event: WaitEvent) -> io::Result<usize> {
        let length = buffer.len();
        let due = self.pacer.transfer(IoKind::Write, self.number, offset, length, self.durable);
        let moved = self.inner.write_at(offset, buffer, event)?;
        self.pacer.sleep_until(due);
        Ok(moved)
    }

    fn sync(&self, event: WaitEvent) -> io::Result<()> {
        let due = self.pacer.request(|_| DiskRequest::flush());
        self.inner.sync(event)?;
        self.pacer.sleep_until(due);
        Ok(())
    }

    fn try_lock(&self) -> io::Result<bool> {
        self.inner.try_lock()
    }

    fn identity(&self) -> io::Result<(u64, u64)> {
        self.inner.identity()
    }

    fn length(&self) -> io::Result<u64> {
        self.inner.length()
    }

    fn set_len(&self, length: u64, event: WaitEvent) -> io::Result<()> {
        self.inner.set_len(length, event)
    }

    fn alignment(&self) -> Alignment {
        self.inner.alignment()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl fmt::Debug for PacedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "paced {:?}", self.inner)
    }
}

/// A ring that holds completions back until they are due.
struct PacedRing {
    inner: Box<dyn RingPort>,
    pacer: Arc<Pacer>,
    /// The due times, by slot.
    due: Vec<Option<Due>>,
    /// Really done, but not due yet.
    held: Vec<RawCompletion>,
    /// The number of requests that aren't really done yet.
    in_flight: usize,
}

impl PacedRing {
    fn due_of(&self, completion: &RawCompletion) -> Due {
        self.due[completion.slot as usize].expect("every request has a due time")
    }

    fn take_from_inner(&mut self) {
        let before = self.held.len();
        self.inner.collect(&mut self.held);
        self.in_flight -= self.held.len() - before;
        for done in &self.held[before..] {
            self.pacer.count_lateness(self.due_of(done));
        }
    }

    fn count_due(&self, now: Timestamp) -> usize {
        self.held.iter().filter(|completion| self.due_of(completion).at <= now).count()
    }
}

impl RingPort for PacedRing {
    fn push(&mut self, file: &Arc<dyn FilePort>, request: RawRequest) {
        let file = file.as_any().downcast_ref::<PacedFile>().expect("a file of this disk");
        let (kind, length) = (request.kind, request.range.len());
        let due = self.pacer.transfer(kind, file.number, request.offset, length, file.durable);
        self.due[request.slot as usize] = Some(due);
        self.in_flight += 1;
        self.inner.push(&file.inner, request);
    }

    fn submit(&mut self) -> io::Result<()> {
        self.inner.submit()
    }

    fn collect(&mut self, completed: &mut Vec<RawCompletion>) {
        self.take_from_inner();
        let now = self.pacer.clock.now();
        let mut index = 0;
        while index < self.held.len() {
            let due = self.due_of(&self.held[index]);
            if due.at <= now {
                completed.push(self.held.swap_remove(index));
            } else {
                index += 1;
            }
        }
    }

    fn wait(
        &mut self,
        at_least: u32,
        timeout: Option<Nanos>,
        event: WaitEvent,
    ) -> io::Result<bool> {
        let clock = self.pacer.clock.clone();
        let until = timeout.map(|length| clock.now().after(length));
        loop {
            self.inner.submit()?;
            self.take_from_inner();
            let now = clock.now();
            if self.count_due(now) >= at_least as usize {
                return Ok(false);
            }
            if until.is_some_and(|until| until <= now) {
                return Ok(true);
            }
            let later = self.held.iter().map(|held| self.due_of(held).at).filter(|at| *at > now);
            let next = later.chain(until).min();
            let left = next.map(|next| next.since(now));
            if self.in_flight > 0 {
                let _ = self.inner.wait(1, left, event)?;
            } else {
                sleep(left.expect("something is held, or nothing was asked for"));
            }
        }
    }

    fn register(&mut self, pool: &IoPool) -> Result<(), Error> {
        self.inner.register(pool)
    }

    fn description(&self) -> String {
        format!("{}, paced", self.inner.description())
    }
}

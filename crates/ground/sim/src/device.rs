//! Simulated disks: the content of files (`fs`), the time of a request (`model`), and the requests
//! in flight.
//!
//! A request is taken at the present, and its model gives the time of its completion; *then* it
//! acts on the file system. So a write in flight is neither certainly on the medium nor certainly
//! not: when the power fails, it counts among the writes that may be kept, dropped or torn. A sync
//! makes durable the writes that had completed when it began.
//!
//! The kernel's page cache is not modelled. A buffered write costs what a direct one does. On a
//! machine whose file systems let one buffered write at a time into a file, the others wait before
//! they get to the disk.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::PathBuf;

use os::{IoBuf, RawCompletion};

use crate::crash_point::CrashPoints;
use crate::fs::errno::is_power_lost;
use crate::fs::{FileId, FileSystem};
use crate::layout::Layout;
use crate::model::{DiskModel, DiskRequest};
use crate::scheduler::Scheduler;
use crate::thread::{On, Tid};

/// One simulated disk.
pub(crate) struct Device {
    pub(crate) fs: FileSystem,
    model: DiskModel,
    layout: Layout,
    capacity_bytes: u64,
}

impl Device {
    pub(crate) fn new(fs: FileSystem, model: DiskModel, capacity_bytes: u64) -> Device {
        Device { fs, model, layout: Layout::new(capacity_bytes), capacity_bytes }
    }

    /// The position of a request on the disk, and its length there. The length is at least a byte,
    /// as the model demands, and at most the whole disk, whatever the file system answers later.
    fn locate(&mut self, file: FileId, offset: u64, length: usize) -> (u64, u64) {
        let length = (length as u64).clamp(1, self.capacity_bytes);
        (self.layout.address(file.number(), offset, length), length)
    }
}

/// The effect of a request when it completes.
pub(crate) enum Action {
    Read {
        file: FileId,
        offset: u64,
        length: usize,
    },
    Write {
        file: FileId,
        offset: u64,
        data: Vec<u8>,
        durable: bool,
        /// Whether it waits for earlier writes to the file.
        alone: bool,
    },
    Sync {
        file: FileId,
        mark: u64,
    },
    SyncDir {
        path: PathBuf,
    },
}

/// The receiver of the result.
pub(crate) enum Target {
    /// A thread that sleeps until then.
    Thread(Tid),
    /// A ring; the buffer goes back with it.
    Ring { ring: u64, slot: u32, buffer: IoBuf, start: usize },
}

/// The result of a request: the number of bytes moved, and the bytes read.
pub(crate) struct IoResult {
    pub(crate) result: io::Result<usize>,
    pub(crate) data: Vec<u8>,
}

struct InFlight {
    device: usize,
    action: Action,
    target: Target,
}

/// A file of one of the machine's devices.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct FileOnDevice {
    device: usize,
    file: u64,
}

impl InFlight {
    /// The file in which the request must be the only write in flight.
    fn alone_in(&self) -> Option<FileOnDevice> {
        match &self.action {
            Action::Write { file, alone: true, .. } => {
                Some(FileOnDevice { device: self.device, file: file.number() })
            }
            _ => None,
        }
    }
}

#[derive(Default)]
struct RingState {
    completed: Vec<RawCompletion>,
    in_flight: u32,
    waiter: Option<(Tid, usize)>,
}

/// All disks of a machine, and the requests in flight on them.
#[derive(Default)]
pub(crate) struct Devices {
    pub(crate) list: Vec<Device>,
    in_flight: BTreeMap<u64, InFlight>,
    /// For each file with a write that must be alone, the writes that wait behind it.
    behind: BTreeMap<FileOnDevice, VecDeque<(u64, InFlight)>>,
    rings: BTreeMap<u64, RingState>,
    results: BTreeMap<Tid, IoResult>,
    next_io: u64,
    next_ring: u64,
    /// The observer of crash points, at each operation.
    crash_points: Option<CrashPoints>,
}

impl Devices {
    /// A machine without disks yet.
    pub(crate) fn shown_to(crash_points: Option<CrashPoints>) -> Devices {
        Devices { crash_points, ..Devices::default() }
    }

    /// Takes a request at the present. Its completion comes back through the scheduler.
    pub(crate) fn submit(
        &mut self,
        scheduler: &mut Scheduler,
        device: usize,
        action: Action,
        target: Target,
    ) -> u64 {
        self.next_io += 1;
        let io = self.next_io;
        if let Target::Ring { ring, .. } = &target {
            self.rings.get_mut(ring).expect("an open ring").in_flight += 1;
        }
        let request = InFlight { device, action, target };
        if let Some(file) = request.alone_in() {
            if let Some(behind) = self.behind.get_mut(&file) {
                behind.push_back((io, request));
                return io;
            }
            self.behind.insert(file, VecDeque::new());
        }
        self.begin(io, request, scheduler);
        io
    }

    /// Gives the request to the disk.
    fn begin(&mut self, io: u64, begun: InFlight, scheduler: &mut Scheduler) {
        let disk = &mut self.list[begun.device];
        let request = match &begun.action {
            Action::Read { file, offset, length } => {
                let (address, length) = disk.locate(*file, *offset, *length);
                DiskRequest::read(address, length)
            }
            Action::Write { file, offset, data, durable, .. } => {
                let (address, length) = disk.locate(*file, *offset, data.len());
                DiskRequest::write(address, length, *durable)
            }
            Action::Sync { .. } | Action::SyncDir { .. } => DiskRequest::flush(),
        };
        let at = disk.model.complete_at(&request, scheduler.now);
        let tid = match &begun.target {
            Target::Thread(tid) => *tid,
            Target::Ring { ring, .. } => *ring as usize,
        };
        scheduler.log.record(scheduler.now, tid, "submit", io, request.length);
        scheduler.io_completes(io, at);
        self.in_flight.insert(io, begun);
    }

    /// Begins the next write to this file, after the only one in flight has ended.
    fn go_on(&mut self, file: FileOnDevice, scheduler: &mut Scheduler) {
        let behind = self.behind.get_mut(&file).expect("a write was alone in the file");
        match behind.pop_front() {
            Some((io, next)) => self.begin(io, next, scheduler),
            None => _ = self.behind.remove(&file),
        }
    }

    /// Performs a request whose time has come and hands over its result. Returns false if the power
    /// failed.
    pub(crate) fn complete(&mut self, io: u64, scheduler: &mut Scheduler) -> bool {
        let request = self.in_flight.remove(&io).expect("what completes was in flight");
        let was_alone_in = request.alone_in();
        let InFlight { device, action, target } = request;
        if !matches!(action, Action::Read { .. }) {
            self.show_crash_point(device, |fs| _ = perform(fs, &action));
        }
        let done = perform(&mut self.list[device].fs, &action);
        let moved = match &done.result {
            Ok(bytes) => *bytes as u64,
            Err(error) if is_power_lost(error) => {
                self.cut_power();
                return false;
            }
            Err(error) => error.raw_os_error().map_or(u64::MAX, |code| code as u64 | 1 << 32),
        };
        let sum = match &action {
            Action::Write { data, .. } => crc_fast::crc32_iscsi(data),
            _ => crc_fast::crc32_iscsi(&done.data),
        };
        scheduler.log.record(scheduler.now, io as usize, "complete", moved, u64::from(sum));
        match target {
            Target::Thread(tid) => {
                self.results.insert(tid, done);
                scheduler.wake_thread(tid);
            }
            Target::Ring { ring, slot, mut buffer, start } => {
                buffer[start..start + done.data.len()].copy_from_slice(&done.data);
                let completion = RawCompletion { slot, buffer, result: done.result };
                self.complete_on_ring(ring, completion, scheduler);
            }
        }
        if let Some(file) = was_alone_in {
            self.go_on(file, scheduler);
        }
        true
    }

    /// Cuts the power of every disk: the requests in flight may or may not have reached the medium.
    pub(crate) fn cut_power(&mut self) {
        let in_flight = std::mem::take(&mut self.in_flight);
        // Writes that wait before the disk never reached it.
        self.behind.clear();
        let mut disks: Vec<&mut FileSystem> =
            self.list.iter_mut().map(|disk| &mut disk.fs).collect();
        cut(&mut disks, &in_flight);
    }

    /// Shows the disks as a power cut during the next operation would leave them.
    pub(crate) fn show_crash_point(&self, device: usize, during: impl Fn(&mut FileSystem)) {
        let Some(observer) = &self.crash_points else { return };
        if self.list[device].fs.power_lost() {
            return;
        }
        let number = self.list[device].fs.crash_points() + 1;
        observer.show(device, number, &|| {
            let mut left: Vec<FileSystem> = self.list.iter().map(|disk| disk.fs.clone()).collect();
            left[device].lose_power_at(number);
            during(&mut left[device]);
            cut(&mut left.iter_mut().collect::<Vec<_>>(), &self.in_flight);
            left
        });
    }

    /// The result of the request for which `tid` slept.
    pub(crate) fn take_result(&mut self, tid: Tid) -> Option<IoResult> {
        self.results.remove(&tid)
    }

    pub(crate) fn open_ring(&mut self) -> u64 {
        self.next_ring += 1;
        self.rings.insert(self.next_ring, RingState::default());
        self.next_ring
    }

    /// Removes the ring, which has waited for its requests in flight, unless everything stops.
    pub(crate) fn close_ring(&mut self, ring: u64) {
        self.rings.remove(&ring).expect("an open ring");
    }

    /// Returns a request at once that never reaches a disk.
    pub(crate) fn refuse(&mut self, target: Target, error: io::Error, scheduler: &mut Scheduler) {
        let Target::Ring { ring, slot, buffer, .. } = target else {
            panic!("a blocking call is refused before it is made");
        };
        let code = error.raw_os_error().map_or(u64::MAX, |code| code as u64 | 1 << 32);
        scheduler.log.record(scheduler.now, ring as usize, "refuse", u64::from(slot), code);
        let completion = RawCompletion { slot, buffer, result: Err(error) };
        self.rings.get_mut(&ring).expect("an open ring").completed.push(completion);
    }

    pub(crate) fn collect(&mut self, ring: u64, completed: &mut Vec<RawCompletion>) {
        completed.append(&mut self.rings.get_mut(&ring).expect("an open ring").completed);
    }

    /// Returns true if `at_least` completions are there; else notes `tid` as waiting for them.
    pub(crate) fn ring_has(&mut self, ring: u64, at_least: usize, tid: Tid) -> bool {
        let state = self.rings.get_mut(&ring).expect("an open ring");
        let there = state.completed.len() >= at_least;
        state.waiter = (!there).then_some((tid, at_least));
        there
    }

    /// Returns true if this ring has nothing in flight; else notes `tid` as waiting for that.
    pub(crate) fn ring_is_idle(&mut self, ring: u64, tid: Tid) -> bool {
        let state = &self.rings[&ring];
        let all = state.completed.len() + state.in_flight as usize;
        self.ring_has(ring, all, tid)
    }

    /// Removes the waiter of this ring.
    pub(crate) fn forget_waiter(&mut self, ring: u64) {
        self.rings.get_mut(&ring).expect("an open ring").waiter = None;
    }

    fn complete_on_ring(
        &mut self,
        ring: u64,
        completion: RawCompletion,
        scheduler: &mut Scheduler,
    ) {
        let state = self.rings.get_mut(&ring).expect("a ring waits for what is in flight");
        state.in_flight -= 1;
        state.completed.push(completion);
        if let Some((tid, at_least)) = state.waiter
            && state.completed.len() >= at_least
        {
            state.waiter = None;
            // The waiter may have timed out and stand in the run queue, about to look for itself.
            if scheduler.sleeps_on(tid, On::Ring(ring)) {
                scheduler.wake_thread(tid);
            }
        }
    }
}

/// Cuts the power of all disks, with these requests in flight.
fn cut(disks: &mut [&mut FileSystem], in_flight: &BTreeMap<u64, InFlight>) {
    for disk in disks.iter_mut() {
        disk.cut_power();
    }
    for request in in_flight.values() {
        if let Action::Write { file, offset, data, .. } = &request.action {
            disks[request.device].write_in_flight(*file, *offset, data);
        }
    }
}

fn perform(fs: &mut FileSystem, action: &Action) -> IoResult {
    let mut bytes = Vec::new();
    let result = match action {
        Action::Read { file, offset, length } => {
            bytes.resize(*length, 0);
            let moved = fs.read(*file, *offset, &mut bytes);
            bytes.truncate(*moved.as_ref().unwrap_or(&0));
            moved
        }
        Action::Write { file, offset, data, durable, .. } => {
            fs.write(*file, *offset, data, *durable)
        }
        Action::Sync { file, mark } => fs.sync_up_to(*file, *mark).map(|()| 0),
        Action::SyncDir { path } => fs.sync_dir(path).map(|()| 0),
    };
    IoResult { result, data: bytes }
}

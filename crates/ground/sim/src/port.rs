//! The simulated world behind `os`'s ports: threads, disks, files and rings.

use std::any::Any;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use os::{
    Alignment, Cause, Clock, CpuSet, DiskPort, Error, FileOptions, FilePort, IoKind, IoPool,
    NameKind, OpenMode, Port, Priority, RawCompletion, RawRequest, RingPort, ThreadBody, ThreadId,
    ThreadSpec, WaitWord, Woken,
};
use waits::{Nanos, Sampling, ThreadTimes, WaitEvent};

use crate::device::{Action, Target};
use crate::failure::Failure;
use crate::fs::errno::is_power_lost;
use crate::fs::{FileId, FileSystem};
use crate::kernel::Kernel;
use crate::thread::On;

/// The alignment of direct I/O here: the unit in which a write tears.
const SECTOR_BYTES: u32 = 512;
/// The number of turns of a spin before other threads get the CPU.
const TURNS_BEFORE_YIELD: u32 = 64;

pub(crate) struct SimPort(pub(crate) Arc<Kernel>);

impl Port for SimPort {
    fn clock(&self) -> Clock {
        Clock::virtual_time(Arc::clone(&self.0.clock))
    }

    fn sampling(&self) -> Sampling {
        Sampling::EveryWait
    }

    fn new_word_id(&self) -> u64 {
        self.0.new_word_id()
    }

    fn spawn(&self, spec: &ThreadSpec, body: ThreadBody) -> Result<ThreadId, Error> {
        let tid = self.0.spawn(&spec.name, body).map_err(|error| {
            Error::from_io(format!("start simulated thread {}", spec.name), &error)
        })?;
        Ok(ThreadId(tid as u32))
    }

    fn current_thread(&self) -> ThreadId {
        ThreadId(self.0.current() as u32)
    }

    fn wait(
        &self,
        word: &WaitWord,
        expected: u32,
        timeout: Option<Nanos>,
        event: WaitEvent,
    ) -> Woken {
        let mut holds = false;
        let slept = self.0.sleep(Some(event), timeout, |state, _| {
            holds = word.value().load(std::sync::atomic::Ordering::Acquire) == expected;
            let sleeps = holds && !state.scheduler.luck.wakes_for_nothing();
            sleeps.then_some(On::Word(word.id()))
        });
        match slept {
            // The word did hold the value: this sleep ended for no reason.
            Some(Woken::Changed) if holds => Woken::Woken,
            Some(woken) => woken,
            None => Woken::TimedOut,
        }
    }

    fn wake(&self, word: &WaitWord, count: u32) {
        if let Some(woken) = self.0.call(|state, _| state.scheduler.wake_word(word.id(), count)) {
            self.0.charge_wakes(woken);
        }
    }

    fn relax(&self, turn: u32) {
        self.0.spin(turn, TURNS_BEFORE_YIELD);
    }

    fn interleave(&self) {
        self.0.interleave();
    }

    fn thread_times(&self, thread: ThreadId) -> ThreadTimes {
        let me = self.0.current();
        let state = self.0.lock();
        let tid = thread.0 as usize;
        let ahead = self.0.clock.now_ns().saturating_sub(state.scheduler.now);
        let ahead = if tid == me { ahead } else { 0 };
        if tid >= state.scheduler.threads().len() {
            return ThreadTimes::default();
        }
        let (cpu, run_queue) = state.scheduler.times(tid, ahead);
        ThreadTimes { cpu: Nanos(cpu), run_queue: Nanos(run_queue), ..ThreadTimes::default() }
    }

    fn own_cpu(&self) -> Nanos {
        self.thread_times(self.current_thread()).cpu
    }

    fn own_run_queue(&self) -> Nanos {
        self.thread_times(self.current_thread()).run_queue
    }

    fn set_priority(&self, thread: ThreadId, priority: Priority) -> Result<(), Error> {
        let tid = thread.0 as usize;
        if !matches!(priority, Priority::Nice(-20..=19) | Priority::RealTime(1..=99)) {
            let what = format!("set the priority of {thread} to {priority}");
            let detail = "nice is -20 to 19, real time 1 to 99";
            return Err(Error::new(what, Cause::Invalid, detail));
        }
        let set = self.0.call(|state, _| {
            let lives = state.scheduler.lives(tid);
            if lives {
                state.scheduler.set_priority(tid, priority);
            }
            lives
        });
        if set == Some(false) {
            return Err(ended(&format!("set the priority of {thread}")));
        }
        Ok(())
    }

    fn set_affinity(&self, thread: ThreadId, cpus: CpuSet) -> Result<(), Error> {
        let tid = thread.0 as usize;
        let what = format!("set the CPUs on which {thread} may run");
        let set = self.0.call(|state, _| {
            let lives = state.scheduler.lives(tid);
            (lives, lives && state.scheduler.set_affinity(tid, cpus))
        });
        match set {
            Some((false, _)) => Err(ended(&what)),
            Some((true, false)) => {
                let detail = "the simulated machine has none of them";
                Err(Error::new(what, Cause::Invalid, detail))
            }
            Some((true, true)) | None => Ok(()),
        }
    }

    fn cpu_count(&self) -> u32 {
        self.0.lock().scheduler.cpu_count() as u32
    }

    fn random(&self) -> u64 {
        self.0.lock().scheduler.luck.random()
    }

    fn calendar_us(&self) -> u64 {
        FIRST_DAY_US + self.0.clock.now_ns() / 1_000
    }
}

/// The simulated calendar begins on 2026-01-01 00:00 UTC.
const FIRST_DAY_US: u64 = 1_767_225_600_000_000;

fn ended(what: &str) -> Error {
    Error::new(what, Cause::NotFound, "it has ended").advise("")
}

/// One simulated disk, by its number.
pub(crate) struct SimDisk {
    pub(crate) kernel: Arc<Kernel>,
    pub(crate) number: usize,
}

impl SimDisk {
    /// Looks at names, which takes no device time.
    fn look<T>(&self, act: impl Fn(&mut FileSystem) -> io::Result<T>) -> io::Result<T> {
        self.at_once(false, act)
    }

    /// Changes names or a size, which takes no device time either.
    fn change<T>(&self, act: impl Fn(&mut FileSystem) -> io::Result<T>) -> io::Result<T> {
        self.at_once(true, act)
    }

    fn at_once<T>(
        &self,
        is_crash_point: bool,
        act: impl Fn(&mut FileSystem) -> io::Result<T>,
    ) -> io::Result<T> {
        let result = self.kernel.call(|state, _| {
            if is_crash_point {
                state.devices.show_crash_point(self.number, |fs| _ = act(fs));
            }
            let result = act(&mut state.devices.list[self.number].fs);
            if let Err(error) = &result
                && is_power_lost(error)
            {
                state.devices.cut_power();
                self.kernel.stop(state, Failure::PowerLost);
            }
            result
        });
        result.unwrap_or_else(|| Err(stopped()))
    }
}

/// The error for callers that already unwind.
fn stopped() -> io::Error {
    io::Error::other("the simulation stops")
}

impl DiskPort for SimDisk {
    fn open(
        &self,
        path: &Path,
        mode: OpenMode,
        options: FileOptions,
        _event: WaitEvent,
    ) -> io::Result<Arc<dyn FilePort>> {
        let file = match mode {
            OpenMode::CreateNew => self.change(|fs| fs.create(path)),
            OpenMode::Existing | OpenMode::ReadOnly => self.look(|fs| fs.open(path)),
        }?;
        let kernel = Arc::clone(&self.kernel);
        let holder = kernel.lock().devices.list[self.number].fs.new_holder();
        Ok(Arc::new(SimFile { kernel, disk: self.number, file, holder, mode, options }))
    }

    fn create_dir(&self, path: &Path, _event: WaitEvent) -> io::Result<()> {
        self.change(|fs| fs.create_dir(path))
    }

    fn sync_dir(&self, path: &Path, event: WaitEvent) -> io::Result<()> {
        let action = Action::SyncDir { path: PathBuf::from(path) };
        blocking(&self.kernel, self.number, action, event).map(|_| ())
    }

    fn rename(&self, from: &Path, to: &Path, _event: WaitEvent) -> io::Result<()> {
        self.change(|fs| fs.rename_new(from, to))
    }

    fn remove(&self, path: &Path, _event: WaitEvent) -> io::Result<()> {
        self.change(|fs| fs.remove(path))
    }

    fn look_up(&self, path: &Path, _event: WaitEvent) -> io::Result<Option<NameKind>> {
        self.look(|fs| fs.look_up(path))
    }

    fn list(&self, path: &Path, _event: WaitEvent) -> io::Result<Vec<String>> {
        self.look(|fs| fs.list(path))
    }

    fn canonical(&self, directory: &Path) -> io::Result<PathBuf> {
        // There are no links.
        self.look(|fs| fs.canonical(directory))
    }

    fn free_bytes(&self, _path: &Path) -> io::Result<u64> {
        let state = self.kernel.lock();
        let (used, capacity) = state.devices.list[self.number].fs.space();
        Ok(capacity.saturating_sub(used))
    }

    fn ring(&self, _depth: u32) -> Result<Box<dyn RingPort>, Error> {
        let ring = self.kernel.call(|state, _| state.devices.open_ring());
        let ring = ring.ok_or_else(|| Error::from_io("open a ring", &stopped()))?;
        let kernel = Arc::clone(&self.kernel);
        Ok(Box::new(SimRing { kernel, ring, pushed: Vec::new() }))
    }
}

/// Sleeps until a request is done. Returns the number of bytes moved and the bytes read.
fn blocking(
    kernel: &Kernel,
    disk: usize,
    action: Action,
    event: WaitEvent,
) -> io::Result<(usize, Vec<u8>)> {
    let me = kernel.current();
    let slept = kernel.sleep(Some(event), None, |state, me| {
        let crate::kernel::State { scheduler, devices, .. } = state;
        Some(On::Io(devices.submit(scheduler, disk, action, Target::Thread(me))))
    });
    slept.ok_or_else(stopped)?;
    let done = kernel.lock().devices.take_result(me).ok_or_else(stopped)?;
    done.result.map(|moved| (moved, done.data))
}

struct SimFile {
    kernel: Arc<Kernel>,
    disk: usize,
    file: FileId,
    /// The number of this opening of the file.
    holder: u64,
    mode: OpenMode,
    options: FileOptions,
}

impl SimFile {
    /// Refuses the requests that a kernel refuses before it asks the disk.
    fn check(&self, kind: IoKind, offset: u64, length: usize) -> io::Result<()> {
        if kind == IoKind::Write && self.mode == OpenMode::ReadOnly {
            return Err(io::Error::from_raw_os_error(EBADF));
        }
        let unit = u64::from(self.alignment().offset);
        if offset.is_multiple_of(unit) && (length as u64).is_multiple_of(unit) {
            return Ok(());
        }
        Err(io::Error::from_raw_os_error(EINVAL))
    }

    fn write_action(&self, offset: u64, bytes: &[u8]) -> Action {
        let durable = self.options.write_through;
        let alone = !self.options.direct && self.kernel.buffered_writes_alone();
        Action::Write { file: self.file, offset, data: bytes.to_vec(), durable, alone }
    }
}

const EINVAL: i32 = 22;
const EBADF: i32 = 9;

impl FilePort for SimFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8], event: WaitEvent) -> io::Result<usize> {
        self.check(IoKind::Read, offset, buffer.len())?;
        let action = Action::Read { file: self.file, offset, length: buffer.len() };
        let (moved, bytes) = blocking(&self.kernel, self.disk, action, event)?;
        buffer[..moved].copy_from_slice(&bytes);
        Ok(moved)
    }

    fn write_at(&self, offset: u64, buffer: &[u8], event: WaitEvent) -> io::Result<usize> {
        self.check(IoKind::Write, offset, buffer.len())?;
        let action = self.write_action(offset, buffer);
        blocking(&self.kernel, self.disk, action, event).map(|(moved, _)| moved)
    }

    fn sync(&self, event: WaitEvent) -> io::Result<()> {
        let disk = self.disk;
        let mark = self.kernel.call(|state, _| state.devices.list[disk].fs.mark());
        let action = Action::Sync { file: self.file, mark: mark.ok_or_else(stopped)? };
        blocking(&self.kernel, disk, action, event).map(|_| ())
    }

    fn try_lock(&self) -> io::Result<bool> {
        Ok(self.kernel.lock().devices.list[self.disk].fs.lock(self.file, self.holder))
    }

    fn identity(&self) -> io::Result<(u64, u64)> {
        Ok((self.disk as u64, self.file.number()))
    }

    fn length(&self) -> io::Result<u64> {
        self.kernel.lock().devices.list[self.disk].fs.len(self.file)
    }

    fn set_len(&self, length: u64, _event: WaitEvent) -> io::Result<()> {
        let disk = SimDisk { kernel: Arc::clone(&self.kernel), number: self.disk };
        disk.change(|fs| fs.set_len(self.file, length))
    }

    fn alignment(&self) -> Alignment {
        match self.options.direct {
            true => Alignment { memory: 1, offset: SECTOR_BYTES },
            false => Alignment::NONE,
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for SimFile {
    fn drop(&mut self) {
        let fs = &mut self.kernel.lock().devices.list[self.disk].fs;
        fs.unlock(self.file, self.holder);
        let _ = fs.close(self.file);
    }
}

impl fmt::Debug for SimFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of simulated disk {}", self.file, self.disk)
    }
}

struct SimRing {
    kernel: Arc<Kernel>,
    ring: u64,
    pushed: Vec<Pushed>,
}

/// A request that isn't submitted to a disk yet, or the error with which it will fail.
struct Pushed {
    disk: usize,
    action: io::Result<Action>,
    target: Target,
}

impl RingPort for SimRing {
    fn push(&mut self, file: &Arc<dyn FilePort>, request: RawRequest) {
        let file = file.as_any().downcast_ref::<SimFile>().expect("a file of this world");
        let RawRequest { slot, kind, offset, buffer, range } = request;
        let action = file.check(kind, offset, range.len()).map(|()| match kind {
            IoKind::Read => Action::Read { file: file.file, offset, length: range.len() },
            IoKind::Write => file.write_action(offset, &buffer[range.clone()]),
            // The mark is set when the sync is submitted.
            IoKind::Sync => Action::Sync { file: file.file, mark: 0 },
        });
        let target = Target::Ring { ring: self.ring, slot, buffer, start: range.start };
        self.pushed.push(Pushed { disk: file.disk, action, target });
    }

    fn submit(&mut self) -> io::Result<()> {
        let pushed = std::mem::take(&mut self.pushed);
        let submitted = self.kernel.call(|state, _| {
            let crate::kernel::State { scheduler, devices, .. } = state;
            for Pushed { disk, mut action, target } in pushed {
                if let Ok(Action::Sync { mark, .. }) = &mut action {
                    *mark = devices.list[disk].fs.mark();
                }
                match action {
                    Ok(action) => _ = devices.submit(scheduler, disk, action, target),
                    Err(error) => devices.refuse(target, error, scheduler),
                }
            }
        });
        submitted.ok_or_else(stopped)
    }

    fn collect(&mut self, completed: &mut Vec<RawCompletion>) {
        let ring = self.ring;
        let _ = self.kernel.call(|state, _| state.devices.collect(ring, completed));
    }

    fn wait(
        &mut self,
        at_least: u32,
        timeout: Option<Nanos>,
        event: WaitEvent,
    ) -> io::Result<bool> {
        self.submit()?;
        let ring = self.ring;
        let slept = self.kernel.sleep(Some(event), timeout, |state, me| {
            let there = state.devices.ring_has(ring, at_least as usize, me);
            (!there).then_some(On::Ring(ring))
        });
        if slept == Some(Woken::TimedOut) {
            let _ = self.kernel.call(|state, _| state.devices.forget_waiter(ring));
        }
        slept.map(|woken| woken == Woken::TimedOut).ok_or_else(stopped)
    }

    fn register(&mut self, _pool: &IoPool) -> Result<(), Error> {
        Ok(())
    }

    fn description(&self) -> String {
        "a simulated ring".into()
    }
}

impl Drop for SimRing {
    /// Waits for the requests in flight, as the real world must, where a kernel has the buffers.
    fn drop(&mut self) {
        let ring = self.ring;
        let _ = self.kernel.sleep(None, None, |state, me| {
            let idle = state.devices.ring_is_idle(ring, me);
            (!idle).then_some(On::Ring(ring))
        });
        self.kernel.lock().devices.close_ring(ring);
    }
}

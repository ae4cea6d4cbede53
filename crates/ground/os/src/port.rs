//! What a world must offer. Two do: `linux` here and the simulator in crate `sim`.
//!
//! A port knows nothing of accounts: the neutral side of this crate brackets every blocking call
//! with the session's books. A port still gets the wait event of every call that may block, so
//! that a deadlock report can say who waits for what.

use std::any::Any;
use std::fmt;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use waits::{Nanos, Sampling, ThreadTimes, WaitEvent};

use crate::{
    Alignment, Clock, CpuSet, Error, FileOptions, IoBuf, IoPool, OpenMode, Priority, ThreadId,
    ThreadSpec, WaitWord,
};

/// What a new thread runs.
pub type ThreadBody = Box<dyn FnOnce() + Send>;

/// How a wait on a word ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Woken {
    /// By a wake, or for no reason.
    Woken,
    /// The word didn't hold the expected value.
    Changed,
    /// The time was up.
    TimedOut,
}

/// Time, threads, blocking and randomness of one world.
pub trait Port: Send + Sync {
    /// The clock of this world.
    fn clock(&self) -> Clock;
    /// Which waits have the thread's clocks read around them here.
    fn sampling(&self) -> Sampling;
    /// The next number for a [`WaitWord`].
    fn new_word_id(&self) -> u64;
    /// Starts a thread that runs `body`.
    fn spawn(&self, spec: &ThreadSpec, body: ThreadBody) -> Result<ThreadId, Error>;
    /// The calling thread.
    fn current_thread(&self) -> ThreadId;
    /// Sleeps while `word` holds `expected`; see [`WaitWord::wait`].
    fn wait(
        &self,
        word: &WaitWord,
        expected: u32,
        timeout: Option<Nanos>,
        event: WaitEvent,
    ) -> Woken;
    /// Wakes up to `count` threads that sleep on `word`.
    fn wake(&self, word: &WaitWord, count: u32);
    /// One turn of a spin; the `turn`th in a row.
    fn relax(&self, turn: u32);
    /// A point at which another thread may come first. Does nothing on Linux, where that can
    /// happen anywhere.
    fn interleave(&self);
    /// CPU and run-queue time of a thread so far; of one that has just ended, or where the world
    /// can't say, what it last knew. It forgets those that ended long ago.
    fn thread_times(&self, thread: ThreadId) -> ThreadTimes;
    /// The calling thread's CPU time so far.
    fn own_cpu(&self) -> Nanos;
    /// The calling thread's run-queue time so far.
    fn own_run_queue(&self) -> Nanos;
    /// Time taken from the calling thread by a hypervisor or by interrupts: neither on a CPU nor in
    /// the run queue, though it looked like the former. Only what came between two readings means
    /// something.
    fn own_stolen(&self) -> Nanos {
        Nanos::ZERO
    }
    /// Sets a thread's priority.
    fn set_priority(&self, thread: ThreadId, priority: Priority) -> Result<(), Error>;
    /// Sets the CPUs on which a thread may run.
    fn set_affinity(&self, thread: ThreadId, cpus: CpuSet) -> Result<(), Error>;
    /// How many CPUs this world has.
    fn cpu_count(&self) -> u32;
    /// Bytes of memory that this world gives a program at most.
    fn memory_bytes(&self) -> u64 {
        u64::MAX
    }
    /// A random number; in the simulator from the seed.
    fn random(&self) -> u64;
    /// The date and the time of day, in microseconds since 1970-01-01 00:00 UTC; in the simulator
    /// virtual time from a fixed day on. It may jump, so nothing is measured by it.
    fn calendar_us(&self) -> u64;
}

/// What a name in a directory is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Named {
    /// Of a regular file.
    File,
    /// Of a link, wherever that leads.
    Link,
    /// Of a directory, a pipe, a socket or a device.
    Other,
}

/// A place where files live.
pub trait DiskPort: Send + Sync {
    /// Opens or makes a file. Leaves nothing behind when it fails.
    fn open(
        &self,
        path: &Path,
        mode: OpenMode,
        options: FileOptions,
        event: WaitEvent,
    ) -> io::Result<Arc<dyn FilePort>>;
    /// Makes a directory.
    fn create_dir(&self, path: &Path, event: WaitEvent) -> io::Result<()>;
    /// Makes the entries of a directory durable.
    fn sync_dir(&self, path: &Path, event: WaitEvent) -> io::Result<()>;
    /// Gives a file another name; fails if there is a file of that name, where the file system can
    /// tell in the same step.
    fn rename(&self, from: &Path, to: &Path, event: WaitEvent) -> io::Result<()>;
    /// Removes a file or an empty directory.
    fn remove(&self, path: &Path, event: WaitEvent) -> io::Result<()>;
    /// What has this name, not following a link that has it; none if nothing has.
    fn look_up(&self, path: &Path, event: WaitEvent) -> io::Result<Option<Named>>;
    /// The names in a directory, sorted.
    fn list(&self, path: &Path, event: WaitEvent) -> io::Result<Vec<String>>;
    /// Where this directory is, without links and detours: two spellings of one directory give the
    /// same.
    fn canonical(&self, directory: &Path) -> io::Result<PathBuf>;
    /// Bytes that a file made in this directory could still get.
    fn free_bytes(&self, path: &Path) -> io::Result<u64>;
    /// A ring over files of this disk for the calling thread, `depth` requests at most in flight.
    /// `None`: this disk has no asynchronous I/O of its own, and why.
    fn ring(&self, depth: u32) -> Result<Box<dyn RingPort>, Error>;
}

/// An open file. Reads and writes may be short, interrupted or refused; [`crate::File`] deals
/// with that.
pub trait FilePort: Send + Sync + fmt::Debug {
    /// Reads at most `buffer.len()` bytes; 0 at the end of the file.
    fn read_at(&self, offset: u64, buffer: &mut [u8], event: WaitEvent) -> io::Result<usize>;
    /// Writes at most `buffer.len()` bytes.
    fn write_at(&self, offset: u64, buffer: &[u8], event: WaitEvent) -> io::Result<usize>;
    /// Makes everything written so far, and the size it needs, durable.
    fn sync(&self, event: WaitEvent) -> io::Result<()>;
    /// The length in bytes.
    fn length(&self) -> io::Result<u64>;
    /// Cuts or extends the file; an extension reads as zeros and may have no space of its own.
    fn set_len(&self, length: u64, event: WaitEvent) -> io::Result<()>;
    /// Locks the file against other openings of it, until this one is closed and its last request
    /// has ended; false if another has it.
    fn try_lock(&self) -> io::Result<bool>;
    /// Which file this is, whatever its name: device and number. Two openings of one file give the
    /// same.
    fn identity(&self) -> io::Result<(u64, u64)>;
    /// What direct I/O demands here.
    fn alignment(&self) -> Alignment;
    /// For a ring of the same world to find its own file again.
    fn as_any(&self) -> &dyn Any;
}

/// What a request to a ring is to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IoKind {
    /// From the file into the buffer.
    Read,
    /// From the buffer into the file.
    Write,
    /// Makes durable what had been written to the file when the request began, and the size that
    /// it needs; there are no bytes. What is in flight beside it is not waited for, and perhaps
    /// not covered (rule M5).
    Sync,
}

impl IoKind {
    /// As an error names what can't be done.
    pub(crate) const fn verb(self) -> &'static str {
        match self {
            IoKind::Read => "read",
            IoKind::Write => "write",
            IoKind::Sync => "sync",
        }
    }
}

/// One request to a ring: `range` of `buffer` against the file at `offset`.
#[derive(Debug)]
pub struct RawRequest {
    /// Names the request; comes back with the completion. Below the ring's depth.
    pub slot: u32,
    /// What to do.
    pub kind: IoKind,
    /// Where in the file, in bytes.
    pub offset: u64,
    /// Owned by the ring until the request completes.
    pub buffer: IoBuf,
    /// Which part of the buffer.
    pub range: Range<usize>,
}

/// A completed request: the buffer back, and how many bytes were moved.
#[derive(Debug)]
pub struct RawCompletion {
    /// The request's slot.
    pub slot: u32,
    /// The buffer, the caller's again.
    pub buffer: IoBuf,
    /// Bytes moved; fewer than asked for is not an error here.
    pub result: io::Result<usize>,
}

/// One thread's asynchronous I/O.
pub trait RingPort {
    /// Takes a request; it may start at once or at the next `submit` or `wait`. The caller keeps
    /// `file` open and the number in flight within the ring's depth.
    fn push(&mut self, file: &Arc<dyn FilePort>, request: RawRequest);
    /// Starts what was pushed, without waiting for it.
    fn submit(&mut self) -> io::Result<()>;
    /// Moves what has completed to `completed`, without waiting.
    fn collect(&mut self, completed: &mut Vec<RawCompletion>);
    /// Starts what was pushed and sleeps until `at_least` completions can be collected, or until
    /// `timeout` has passed; true if it has.
    fn wait(&mut self, at_least: u32, timeout: Option<Nanos>, event: WaitEvent)
    -> io::Result<bool>;
    /// Makes the buffers of `pool` known to the kernel beforehand, which saves work per request.
    fn register(&mut self, pool: &IoPool) -> Result<(), Error>;
    /// From now on no file is kept open longer than its owner and its requests have it open.
    fn keep_no_files(&mut self) {}
    /// What does the work, for reports: "io_uring", "8 I/O slaves", "simulated".
    fn description(&self) -> String;
}

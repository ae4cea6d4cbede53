//! The interface that a world must implement. Two do: `linux` here and the simulator in crate
//! `sim`.
//!
//! A port knows nothing of accounts: the neutral side of this crate records every blocking call in
//! the session's account. A port still gets the wait event of every call that may block, so that a
//! deadlock report can say which thread waits for what.

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

/// The work of a new thread.
pub type ThreadBody = Box<dyn FnOnce() + Send>;

/// The end of a wait on a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Woken {
    /// A wake, or no reason.
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
    /// The way in which waits are chosen for reading the thread's clocks in this world.
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
    /// One turn of a spin, the `turn`th in a row.
    fn relax(&self, turn: u32);
    /// A point at which another thread may come first. Does nothing on Linux, where that can
    /// happen anywhere.
    fn interleave(&self);
    /// CPU and run-queue time of a thread so far. For a thread that has just ended, or where the
    /// world can't tell, these are its last known times. Threads that ended long ago are forgotten.
    fn thread_times(&self, thread: ThreadId) -> ThreadTimes;
    /// The calling thread's CPU time so far.
    fn own_cpu(&self) -> Nanos;
    /// The calling thread's run-queue time so far.
    fn own_run_queue(&self) -> Nanos;
    /// The time taken from the calling thread by a hypervisor or by interrupts: neither CPU time
    /// nor run-queue delay, though it looked like the former. Only the difference of two readings
    /// has a meaning.
    fn own_stolen(&self) -> Nanos {
        Nanos::ZERO
    }
    /// The time taken from all CPUs in this way: the most that any thread has lost.
    fn taken_from_machine(&self) -> Nanos {
        Nanos::ZERO
    }
    /// Sets a thread's priority.
    fn set_priority(&self, thread: ThreadId, priority: Priority) -> Result<(), Error>;
    /// Sets the CPUs on which a thread may run.
    fn set_affinity(&self, thread: ThreadId, cpus: CpuSet) -> Result<(), Error>;
    /// The number of CPUs of this world.
    fn cpu_count(&self) -> u32;
    /// The most bytes of memory that this world gives a program.
    fn memory_bytes(&self) -> u64 {
        u64::MAX
    }
    /// A random number; in the simulator it comes from the seed.
    fn random(&self) -> u64;
    /// The date and time of day, in microseconds since 1970-01-01 00:00 UTC; in the simulator
    /// virtual time from a fixed day on. It may jump, so it isn't used for measuring.
    fn calendar_us(&self) -> u64;
}

/// The kind of object that a name in a directory has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NameKind {
    /// A regular file.
    File,
    /// A link, wherever it leads.
    Link,
    /// A directory, a pipe, a socket or a device.
    Other,
}

/// A file system in one world.
pub trait DiskPort: Send + Sync {
    /// Opens or creates a file. Leaves nothing behind when it fails.
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
    /// Renames a file. It fails if the new name exists, where the file system can check that in the
    /// same step.
    fn rename(&self, from: &Path, to: &Path, event: WaitEvent) -> io::Result<()>;
    /// Makes an empty file that is to replace an old one: with its owner, group and rights. Nobody
    /// else can open it before it has them. Only files beside a database are replaced, so a port of
    /// a simulated world, or of a disk that wraps another, needs neither this nor `rename_over`.
    fn create_like(
        &self,
        path: &Path,
        old: &dyn FilePort,
        event: WaitEvent,
    ) -> io::Result<Arc<dyn FilePort>> {
        let _ = (path, old, event);
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Renames a file over another one, in one step.
    fn rename_over(&self, from: &Path, to: &Path, event: WaitEvent) -> io::Result<()> {
        let _ = (from, to, event);
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Removes a file or an empty directory.
    fn remove(&self, path: &Path, event: WaitEvent) -> io::Result<()>;
    /// The kind of object with this name, without following a link; none if the name doesn't exist.
    fn look_up(&self, path: &Path, event: WaitEvent) -> io::Result<Option<NameKind>>;
    /// The names in a directory, sorted.
    fn list(&self, path: &Path, event: WaitEvent) -> io::Result<Vec<String>>;
    /// The path of this directory, without links and detours: two spellings of one directory give
    /// the same.
    fn canonical(&self, directory: &Path) -> io::Result<PathBuf>;
    /// The number of bytes that a file in this directory could still get.
    fn free_bytes(&self, path: &Path) -> io::Result<u64>;
    /// The surroundings of this directory; see [`crate::Disk::surroundings`]. A disk that wraps
    /// another is none of which one knows that.
    fn surroundings(&self, _directory: &Path) -> Option<String> {
        None
    }
    /// A ring over files of this disk for the calling thread, with at most `depth` requests in
    /// flight. If this disk has no asynchronous I/O of its own, an error says why.
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
    /// Truncates or extends the file. An extension reads as zeros and may have no space allocated.
    fn set_len(&self, length: u64, event: WaitEvent) -> io::Result<()>;
    /// Locks the file against other openings, until this one is closed and its last request has
    /// ended. Returns false if another opening has the lock.
    fn try_lock(&self) -> io::Result<bool>;
    /// The identity of this file, whatever its name: device and number. Two openings of one file
    /// give the same.
    fn identity(&self) -> io::Result<(u64, u64)>;
    /// The alignment that direct I/O needs.
    fn alignment(&self) -> Alignment;
    /// The concrete file, which a ring of the same world needs.
    fn as_any(&self) -> &dyn Any;
}

/// The operation of a request to a ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IoKind {
    /// Reads from the file into the buffer.
    Read,
    /// Writes from the buffer into the file.
    Write,
    /// Makes durable what had been written to the file when the request began, and the size that it
    /// needs. It moves no bytes. Requests in flight beside it are not waited for, and perhaps not
    /// covered (rule M5).
    Sync,
}

impl IoKind {
    /// The verb that error messages use.
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
    /// The number of the request, below the ring's depth. It comes back with the completion.
    pub slot: u32,
    /// The operation.
    pub kind: IoKind,
    /// The offset in the file, in bytes.
    pub offset: u64,
    /// The buffer, owned by the ring until the request completes.
    pub buffer: IoBuf,
    /// The range of the buffer.
    pub range: Range<usize>,
}

/// A completed request: the buffer, and the number of bytes moved.
#[derive(Debug)]
pub struct RawCompletion {
    /// The request's slot.
    pub slot: u32,
    /// The buffer, owned by the caller again.
    pub buffer: IoBuf,
    /// The number of bytes moved; a short count is not an error here.
    pub result: io::Result<usize>,
}

/// One thread's asynchronous I/O.
pub trait RingPort {
    /// Takes a request, which may start at once or at the next `submit` or `wait`. The caller keeps
    /// `file` open, and keeps the number in flight within the ring's depth.
    fn push(&mut self, file: &Arc<dyn FilePort>, request: RawRequest);
    /// Starts the pushed requests without waiting for them.
    fn submit(&mut self) -> io::Result<()>;
    /// Moves the available completions to `completed`, without waiting.
    fn collect(&mut self, completed: &mut Vec<RawCompletion>);
    /// Starts the pushed requests and sleeps until `at_least` completions can be collected, or
    /// until `timeout` has passed. Returns true if it has.
    fn wait(&mut self, at_least: u32, timeout: Option<Nanos>, event: WaitEvent)
    -> io::Result<bool>;
    /// Registers the buffers of `pool` with the kernel, which saves work per request.
    fn register(&mut self, pool: &IoPool) -> Result<(), Error>;
    /// From now on the ring keeps no file open longer than its owner and its requests do.
    fn keep_no_files(&mut self) {}
    /// The mechanism, for reports: "io_uring", "8 I/O slaves", "simulated".
    fn description(&self) -> String;
}

//! An open file. Here every partial result of an I/O is made whole or becomes an error.
//!
//! * A short read or write is continued, from the last aligned position where I/O is direct.
//! * An interrupted I/O is repeated; one refused for a moment (EAGAIN) a limited number of times.
//! * A sync that failed closes the file for good (rule O8): a kernel marks pages clean after a
//!   failed write-back, so the next sync would succeed without having written them.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use waits::{Nanos, Statistic};

use crate::file_totals::FileCounters;
use crate::syncs::{SyncBy, Syncs};
use crate::{
    Alignment, Cause, Cost, Error, FileOperation, FileOptions, FilePort, FileTotals, Session,
    Waiting,
};

/// The number of tries of an I/O that the kernel refuses "for a moment".
const TRIES_MAX: u32 = 1_000;

/// The time to wait for a lock that another opening has. A write in flight lands sooner.
const LOCK_WAIT: Nanos = Nanos::from_millis(1_000);

/// The pause between two tries to get the lock.
const LOCK_LOOK: Nanos = Nanos::from_millis(10);

/// The number of times in a row that a direct I/O may stop within the same unit. At the end of a
/// ragged file it would do so for ever.
const STUCK_MAX: u32 = 3;

/// An open file. Clones are the same file.
#[derive(Clone, Debug)]
pub struct File {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    port: Arc<dyn FilePort>,
    options: FileOptions,
    failed: AtomicBool,
    syncs: Syncs,
    counters: FileCounters,
}

impl File {
    pub(crate) fn new(path: &Path, port: Arc<dyn FilePort>, options: FileOptions) -> File {
        let (path, failed, syncs) = (path.to_path_buf(), AtomicBool::new(false), Syncs::default());
        let counters = FileCounters::default();
        File { inner: Arc::new(Inner { path, port, options, failed, syncs, counters }) }
    }

    /// The path by which it was opened.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// The options with which it was opened.
    pub fn options(&self) -> FileOptions {
        self.inner.options
    }

    /// What was read from it and written to it since it was opened (O74).
    pub fn totals(&self) -> FileTotals {
        self.inner.counters.totals()
    }

    pub(crate) fn counters(&self) -> &FileCounters {
        &self.inner.counters
    }

    /// The alignment that its I/O needs.
    pub fn alignment(&self) -> Alignment {
        self.inner.port.alignment()
    }

    /// Locks the file against other openings, by this program or another, until this one is closed
    /// and its last request has ended. Programs that don't ask for the lock aren't kept out. A
    /// killed process keeps its locks until its last write has landed, so this waits a moment for a
    /// lock.
    pub fn lock(&self, session: &Session) -> Result<(), Error> {
        let mut waited = Nanos::ZERO;
        while !self.try_lock()? {
            if waited >= LOCK_WAIT {
                let what = format!("lock {}", self.path().display());
                let detail = "another program has it open";
                return Err(Error::new(what, Cause::InUse, detail));
            }
            session.pause(LOCK_LOOK, FileOperation::Lock.waiting(session));
            waited = Nanos(waited.0 + LOCK_LOOK.0);
        }
        Ok(())
    }

    /// Locks the file without waiting; returns false if another opening has the lock.
    pub fn try_lock(&self) -> Result<bool, Error> {
        let locked = self.inner.port.try_lock();
        locked.map_err(|error| Error::on("lock", self.path(), &error))
    }

    /// Whether both are openings of one file, whatever name each was opened by.
    pub fn is_same_file(&self, other: &File) -> Result<bool, Error> {
        Ok(self.identity()? == other.identity()?)
    }

    /// The identity of the file, whatever its name: device and number.
    pub fn identity(&self) -> Result<(u64, u64), Error> {
        let told = self.inner.port.identity();
        told.map_err(|error| Error::on("identify", self.path(), &error))
    }

    /// Its length in bytes.
    pub fn length(&self) -> Result<u64, Error> {
        self.inner
            .port
            .length()
            .map_err(|error| Error::on("find the length of", self.path(), &error))
    }

    /// Fills `buffer` from `offset`. A file that ends before is an error.
    pub fn read_at(
        &self,
        offset: u64,
        buffer: &mut [u8],
        waiting: Waiting<'_>,
    ) -> Result<(), Error> {
        self.check_usable("read")?;
        self.check_aligned("read", offset, buffer)?;
        let length = buffer.len() as u64;
        let (result, waited) = waiting.around_timed(|session, event| {
            session.count(Statistic::PhysicalReadRequests, 1);
            let mut progress = self.progress(buffer.len());
            let result = loop {
                session.charge(Cost::IoSync, 1);
                let at = progress.done;
                let moved = self.inner.port.read_at(offset + at as u64, &mut buffer[at..], event);
                if let Some(result) = progress.after(moved, session, io::ErrorKind::UnexpectedEof) {
                    break result;
                }
            };
            (result, false)
        });
        let moved = if result.is_ok() { length } else { 0 };
        waiting.session().count(Statistic::PhysicalReadBytes, moved);
        self.counters().reads.waited_for(moved, waited);
        result.map_err(|error| self.io_error("read", length, offset, &error))
    }

    /// Writes all of `buffer` at `offset`. The data is durable on return if the file is
    /// write-through, else after the next sync.
    pub fn write_at(&self, offset: u64, buffer: &[u8], waiting: Waiting<'_>) -> Result<(), Error> {
        self.check_usable("write")?;
        self.check_aligned("write", offset, buffer)?;
        let number = self.syncs_each_write().then(|| self.begin_sync(SyncBy::Thread));
        let (result, waited) = waiting.around_timed(|session, event| {
            session.count(Statistic::PhysicalWriteRequests, 1);
            let mut progress = self.progress(buffer.len());
            let result = loop {
                session.charge(Cost::IoSync, 1);
                let at = progress.done;
                let moved = self.inner.port.write_at(offset + at as u64, &buffer[at..], event);
                if let Some(result) = progress.after(moved, session, io::ErrorKind::WriteZero) {
                    break result;
                }
            };
            (result, false)
        });
        let length = buffer.len() as u64;
        self.counters().writes.waited_for(if result.is_ok() { length } else { 0 }, waited);
        let result = result.map_err(|error| self.write_failed(length, offset, &error));
        if let Some(number) = number {
            self.end_sync(number, waiting.session());
        }
        result?;
        waiting.session().count(Statistic::PhysicalWriteBytes, length);
        if number.is_some() {
            self.end_beside_others("write", waiting)?;
        }
        Ok(())
    }

    /// Waits for the syncs of threads that run beside a sync that ended well: it proves nothing
    /// before they have ended (O8). Returns an error if one has failed.
    pub(crate) fn end_beside_others(
        &self,
        verb: &'static str,
        waiting: Waiting<'_>,
    ) -> Result<(), Error> {
        // With direct I/O each sync flushes the device for itself (see `settle`).
        if !self.options().direct {
            self.inner.syncs.wait_for_all(false, waiting);
        }
        self.check_usable(verb)
    }

    /// Whether the kernel writes back and checks for errors at the end of each write, as a sync
    /// does (`syncs`).
    pub(crate) fn syncs_each_write(&self) -> bool {
        self.options().write_through && !self.options().direct
    }

    /// Makes everything written so far, and the file's size, durable. If it fails, the file is
    /// failed for good: every later call returns an error, and so does a sync that ran beside it
    /// (`syncs`). A ring's sync returns without that check: see [`settle`](File::settle).
    pub fn sync(&self, waiting: Waiting<'_>) -> Result<(), Error> {
        self.check_usable("sync")?;
        let number = self.begin_sync(SyncBy::Thread);
        let result = waiting.around(|session, event| {
            session.count(Statistic::FileSyncRequests, 1);
            session.charge(Cost::IoSync, 1);
            (self.inner.port.sync(event), false)
        });
        let result = result.map_err(|error| self.sync_failed(&error));
        self.end_sync(number, waiting.session());
        result?;
        self.end_beside_others("sync", waiting)
    }

    /// Waits until every sync of the file that runs now has ended. Returns an error if one has
    /// failed: then the syncs that ended well prove nothing (O8). The caller has no I/O in flight
    /// and holds no latch.
    ///
    /// With direct I/O this waits for nothing. There the kernel writes nothing back later, and a
    /// sync is a flush of the device of its own, which covers all writes that ended before it.
    pub fn settle(&self, waiting: Waiting<'_>) -> Result<(), Error> {
        if !self.options().direct {
            self.inner.syncs.wait_for_all(true, waiting);
        }
        self.check_usable("sync")
    }

    pub(crate) fn begin_sync(&self, by: SyncBy) -> u64 {
        self.inner.syncs.begin(by)
    }

    pub(crate) fn forget_sync(&self, number: u64) {
        self.inner.syncs.forget(number);
    }

    pub(crate) fn end_sync(&self, number: u64, session: &Session) {
        self.inner.syncs.end(number, session);
    }

    /// Truncates or extends the file. An extension reads as zeros and may have no space allocated.
    pub fn set_len(&self, length: u64, waiting: Waiting<'_>) -> Result<(), Error> {
        self.check_usable("resize")?;
        waiting
            .around(|_, event| (self.inner.port.set_len(length, event), false))
            .map_err(|error| Error::on("resize", self.path(), &error))
    }

    /// Whether a sync or a write-through write failed. Then nothing is read, written or synced any
    /// more.
    pub fn is_failed(&self) -> bool {
        self.inner.failed.load(Ordering::Acquire)
    }

    pub(crate) fn port(&self) -> &Arc<dyn FilePort> {
        &self.inner.port
    }

    pub(crate) fn check_usable(&self, verb: &str) -> Result<(), Error> {
        if !self.is_failed() {
            return Ok(());
        }
        let what = format!("{verb} {}", self.path().display());
        let detail = "a write or sync of this file failed before, and what is on disk is unknown";
        Err(Error::new(what, Cause::FailedForGood, detail))
    }

    /// Some kernels refuse a misaligned direct I/O with a bare error, and some file systems send it
    /// through the page cache without notice. Here it is refused with the numbers, everywhere.
    pub(crate) fn check_aligned(
        &self,
        verb: &str,
        offset: u64,
        buffer: &[u8],
    ) -> Result<(), Error> {
        let Alignment { memory, offset: unit } = self.alignment();
        let aligned = offset.is_multiple_of(unit.into())
            && buffer.len().is_multiple_of(unit as usize)
            && buffer.as_ptr().addr().is_multiple_of(memory as usize);
        if aligned {
            return Ok(());
        }
        let length = buffer.len();
        let what = format!("{verb} {length} bytes at {offset} of {}", self.path().display());
        let detail = format!(
            "direct I/O here wants offset and length in multiples of {unit} bytes, and memory at a \
             multiple of {memory}"
        );
        Err(Error::new(what, Cause::Invalid, detail).advise(
            "set filesystemio_options to none or asynch, or have blocks of at least that size",
        ))
    }

    pub(crate) fn progress(&self, length: usize) -> Progress {
        Progress { length, done: 0, tries: 0, stuck: 0, unit: self.alignment().offset as usize }
    }

    pub(crate) fn io_error(
        &self,
        verb: &str,
        length: u64,
        offset: u64,
        error: &io::Error,
    ) -> Error {
        let what = format!("{verb} {length} bytes at {offset} of {}", self.path().display());
        Error::from_io(what, error)
    }

    /// Marks the file as failed: its state on disk is unknown (O8).
    pub(crate) fn sync_failed(&self, error: &io::Error) -> Error {
        self.inner.failed.store(true, Ordering::Release);
        Error::on("sync", self.path(), error).advise(
            "what it holds is unknown now: stop, check the device, and recover from what is \
             durable",
        )
    }

    /// Handles a failed write of a write-through file, which leaves the same doubt as a failed
    /// sync. The exceptions are writes that failed before they began, for want of memory or because
    /// they were invalid. For want of space a direct write fails before it begins. A buffered write
    /// may fail so too; but its error may also be that of another block, for which the file system
    /// found no space at write-back.
    pub(crate) fn write_failed(&self, length: u64, offset: u64, error: &io::Error) -> Error {
        let error = self.io_error("write", length, offset, error);
        let FileOptions { direct, write_through } = self.inner.options;
        let is_refused = match error.cause() {
            Cause::NoMemory | Cause::Invalid => true,
            Cause::NoSpace | Cause::FileTooLarge => direct,
            _ => false,
        };
        if write_through && !is_refused {
            self.inner.failed.store(true, Ordering::Release);
        }
        error
    }
}

/// The progress of one I/O.
#[derive(Debug)]
pub(crate) struct Progress {
    pub(crate) length: usize,
    pub(crate) done: usize,
    tries: u32,
    stuck: u32,
    /// The unit at a multiple of which direct I/O continues.
    unit: usize,
}

impl Progress {
    /// Takes the result of one call. Returns `None` if the call must be repeated, from `done`.
    /// `nothing` is the error for a call that moved no byte.
    pub(crate) fn after(
        &mut self,
        moved: io::Result<usize>,
        session: &Session,
        nothing: io::ErrorKind,
    ) -> Option<io::Result<()>> {
        match moved {
            Ok(bytes) if self.done + bytes == self.length => return Some(Ok(())),
            Ok(0) => return Some(Err(nothing.into())),
            Ok(bytes) => {
                session.count(Statistic::ShortIo, 1);
                let aligned = (self.done + bytes) / self.unit * self.unit;
                self.stuck = if aligned == self.done { self.stuck + 1 } else { 0 };
                if self.stuck > STUCK_MAX {
                    return Some(Err(nothing.into()));
                }
                self.done = aligned;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return self.again(error),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                session.relax(self.tries);
                return self.again(error);
            }
            Err(error) => return Some(Err(error)),
        }
        None
    }

    fn again(&mut self, error: io::Error) -> Option<io::Result<()>> {
        self.tries += 1;
        if self.tries > TRIES_MAX { Some(Err(error)) } else { None }
    }
}

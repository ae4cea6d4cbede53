//! An open file: everything that can go half right is made whole or an error here.
//!
//! * A short read or write is continued, from the last aligned position where I/O is direct.
//! * An interrupted one is repeated; one refused for a moment (EAGAIN) a limited number of times.
//! * A sync that failed closes the file for good (rule O8): a kernel marks pages clean after a
//!   failed write-back, so the next sync would succeed without having written them.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use waits::{Nanos, Statistic};

use crate::syncs::{SyncBy, Syncs};
use crate::{
    Alignment, Cause, Cost, Error, FileOperation, FileOptions, FilePort, Session, Waiting,
};

/// How often an I/O is tried again that the kernel refuses "for a moment".
const TRIES_MAX: u32 = 1_000;

/// A lock that another opening has is waited for so long: a write that is in flight lands sooner.
const LOCK_WAIT: Nanos = Nanos::from_millis(1_000);

/// Between two looks whether it can be had.
const LOCK_LOOK: Nanos = Nanos::from_millis(10);

/// How often in a row a direct I/O may stop within the same unit: at the end of a ragged file it
/// would do so for ever.
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
}

impl File {
    pub(crate) fn new(path: &Path, port: Arc<dyn FilePort>, options: FileOptions) -> File {
        let (path, failed, syncs) = (path.to_path_buf(), AtomicBool::new(false), Syncs::default());
        File { inner: Arc::new(Inner { path, port, options, failed, syncs }) }
    }

    /// Its name.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// How it was opened.
    pub fn options(&self) -> FileOptions {
        self.inner.options
    }

    /// What its I/O must be aligned to.
    pub fn alignment(&self) -> Alignment {
        self.inner.port.alignment()
    }

    /// Locks the file against other openings, by this program or another, until this one is closed
    /// and its last request has ended. Programs that don't ask aren't kept out. A process that was
    /// killed has its locks until its last write has landed, so a lock is waited for a moment.
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

    /// The same without waiting; false if another opening has the lock.
    pub fn try_lock(&self) -> Result<bool, Error> {
        let locked = self.inner.port.try_lock();
        locked.map_err(|error| Error::on("lock", self.path(), &error))
    }

    /// Whether both are openings of one file, whatever name each was opened by.
    pub fn is_same_file(&self, other: &File) -> Result<bool, Error> {
        Ok(self.identity()? == other.identity()?)
    }

    /// Which file it is, whatever its name: device and number.
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
        let result = waiting.around(|session, event| {
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
        if result.is_ok() {
            waiting.session().count(Statistic::PhysicalReadBytes, length);
        }
        result.map_err(|error| self.io_error("read", length, offset, &error))
    }

    /// Writes all of `buffer` at `offset`; durable when it returns if the file is write-through,
    /// else after the next sync.
    pub fn write_at(&self, offset: u64, buffer: &[u8], waiting: Waiting<'_>) -> Result<(), Error> {
        self.check_usable("write")?;
        self.check_aligned("write", offset, buffer)?;
        let number = self.syncs_each_write().then(|| self.begin_sync(SyncBy::Thread));
        let result = waiting.around(|session, event| {
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

    /// A sync that ended well proves nothing before those have ended that run beside it (O8): waits
    /// for those of threads. An error if one has failed.
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

    /// Whether the kernel writes back and looks for errors at the end of each write, as a sync does
    /// (`syncs`).
    pub(crate) fn syncs_each_write(&self) -> bool {
        self.options().write_through && !self.options().direct
    }

    /// Makes everything written so far, and the size it needs, durable. If it fails the file is
    /// failed for good: every later call says so, and so does a sync that ran beside it (`syncs`).
    /// A ring's sync is told without that: see [`settle`](File::settle).
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

    /// Waits until every sync of the file has ended that runs now. An error if one has failed: then
    /// those that ended well prove nothing (O8). The caller has no I/O in flight and no latch.
    ///
    /// Direct I/O isn't waited for: there the kernel writes nothing back later, and a sync is a
    /// flush of the device of its own, which speaks for all writes that ended before it.
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

    /// Cuts or extends the file; an extension reads as zeros and may have no space of its own.
    pub fn set_len(&self, length: u64, waiting: Waiting<'_>) -> Result<(), Error> {
        self.check_usable("resize")?;
        waiting
            .around(|_, event| (self.inner.port.set_len(length, event), false))
            .map_err(|error| Error::on("resize", self.path(), &error))
    }

    /// Whether a sync or a write-through write failed: nothing is read, written or synced any more.
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

    /// Some kernels refuse a misaligned direct I/O with two words, and some file systems send it
    /// through the page cache without any: here it is refused with the numbers, everywhere.
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

    /// Nothing is known of the file any more (O8).
    pub(crate) fn sync_failed(&self, error: &io::Error) -> Error {
        self.inner.failed.store(true, Ordering::Release);
        Error::on("sync", self.path(), error).advise(
            "what it holds is unknown now: stop, check the device, and recover from what is \
             durable",
        )
    }

    /// A failed write of a write-through file leaves the same doubt as a failed sync, unless it
    /// failed before it began, for want of memory or because it was none that can be. For want of
    /// space a direct one fails before it begins; a buffered one may, and it may as well be told
    /// of another's block for which the file system has found no place when it wrote it back.
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

/// How far one I/O has come.
#[derive(Debug)]
pub(crate) struct Progress {
    pub(crate) length: usize,
    pub(crate) done: usize,
    tries: u32,
    stuck: u32,
    /// Direct I/O goes on from a multiple of this.
    unit: usize,
}

impl Progress {
    /// Takes the outcome of one call; `None` to call again, from `done`. `nothing` is what it
    /// means when no byte was moved.
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

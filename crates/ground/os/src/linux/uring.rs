//! Asynchronous I/O by io_uring.
//!
//! One system call submits a batch and waits for completions. The owner's own thread works on
//! completions when it waits (DEFER_TASKRUN), so nothing interrupts it in between. Files are
//! registered at first use, buffers as a pool, so that the kernel needn't look them up and pin them
//! per request. A sync names its file by the descriptor all the same: a worker thread of the kernel
//! does it, and to look a registered file up the worker would take the ring's lock, and spin while
//! the owner submits its next requests.
//!
//! Invariant: a slot's buffer is in `buffers` exactly while the kernel may touch its memory.

use std::io;
use std::sync::{Arc, Weak};

use io_uring::types::{Fd, Fixed, FsyncFlags, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode, squeue};
use waits::{Nanos, WaitEvent};

use super::file::LinuxFile;
use crate::{Cause, Error, FilePort, IoBuf, IoKind, IoPool, RawCompletion, RawRequest, RingPort};

/// The number of files that one ring registers; further files are used by their descriptor.
const REGISTERED_FILES_MAX: usize = 64;

struct RegisteredFile {
    id: u64,
    file: Weak<dyn FilePort>,
}

pub(crate) struct Uring {
    ring: IoUring,
    buffers: Vec<Option<IoBuf>>,
    in_kernel: usize,
    unsubmitted: usize,
    files: Vec<Option<RegisteredFile>>,
    /// The pool is kept as long as the ring, so that the registered memory lives.
    pool: Option<IoPool>,
}

impl Uring {
    pub(crate) fn open(depth: u32) -> Result<Uring, Error> {
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_coop_taskrun()
            .setup_defer_taskrun()
            // The flag makes the kernel mark in the ring that completions are available.
            .setup_taskrun_flag()
            .build(depth)
            // Before Linux 6.1 the flags don't exist.
            .or_else(|error| match error.raw_os_error() {
                Some(libc::EINVAL) => IoUring::new(depth),
                _ => Err(error),
            })
            .map_err(|error| unavailable(&error))?;
        let registered = ring.submitter().register_files_sparse(REGISTERED_FILES_MAX as u32);
        let table = if registered.is_ok() { REGISTERED_FILES_MAX } else { 0 };
        Ok(Uring {
            ring,
            buffers: (0..depth).map(|_| None).collect(),
            in_kernel: 0,
            unsubmitted: 0,
            files: (0..table).map(|_| None).collect(),
            pool: None,
        })
    }

    /// The file's index in the table of registered files, if there is room.
    fn registered(&mut self, port: &Arc<dyn FilePort>, file: &LinuxFile) -> Option<u32> {
        let known = |entry: &Option<RegisteredFile>| {
            entry.as_ref().is_some_and(|known| known.id == file.id())
        };
        if let Some(index) = self.files.iter().position(known) {
            return Some(index as u32);
        }
        self.forget_closed_files();
        let index = self.files.iter().position(Option::is_none)?;
        self.ring.submitter().register_files_update(index as u32, &[file.raw()]).ok()?;
        self.files[index] = Some(RegisteredFile { id: file.id(), file: Arc::downgrade(port) });
        Some(index as u32)
    }

    /// Unregisters the files that only this ring has open. A registered file stays open in the
    /// kernel, and keeps its space even after it was removed.
    fn forget_closed_files(&mut self) {
        for (index, entry) in self.files.iter_mut().enumerate() {
            let closed = entry.as_ref().is_some_and(|known| known.file.strong_count() == 0);
            if closed && self.ring.submitter().register_files_update(index as u32, &[-1]).is_ok() {
                *entry = None;
            }
        }
    }

    fn entry(&mut self, port: &Arc<dyn FilePort>, request: &mut RawRequest) -> squeue::Entry {
        let file = port.as_any().downcast_ref::<LinuxFile>().expect("a file of this world");
        let range = request.range.clone();
        assert!(range.start <= range.end && range.end <= request.buffer.len());
        let length = u32::try_from(range.len()).expect("one request moves under 4 GiB");
        // SAFETY: `range` lies inside the buffer (asserted above).
        let address = unsafe { request.buffer.as_mut_ptr().add(range.start) };
        let pooled = self.pool.as_ref().is_some_and(|p| request.buffer.pool_id() == Some(p.id()));
        let offset = request.offset;
        macro_rules! build {
            ($file:expr) => {
                match (request.kind, pooled) {
                    (IoKind::Read, false) => {
                        opcode::Read::new($file, address, length).offset(offset).build()
                    }
                    (IoKind::Write, false) => {
                        opcode::Write::new($file, address, length).offset(offset).build()
                    }
                    (IoKind::Read, true) => {
                        opcode::ReadFixed::new($file, address, length, 0).offset(offset).build()
                    }
                    (IoKind::Write, true) => {
                        opcode::WriteFixed::new($file, address, length, 0).offset(offset).build()
                    }
                    // A worker thread of the kernel does it; the size that the data needs is synced
                    // too.
                    (IoKind::Sync, _) => {
                        opcode::Fsync::new($file).flags(FsyncFlags::DATASYNC).build()
                    }
                }
            };
        }
        let registered = match request.kind {
            IoKind::Sync => None,
            IoKind::Read | IoKind::Write => self.registered(port, file),
        };
        let entry = match registered {
            Some(index) => build!(Fixed(index)),
            None => build!(Fd(file.raw())),
        };
        entry.user_data(u64::from(request.slot))
    }

    /// One entry into the kernel: submits, and waits for `want` completions.
    fn enter(&mut self, want: usize, timeout: Option<Nanos>) -> io::Result<()> {
        let submitter = self.ring.submitter();
        let submitted = match timeout {
            None => submitter.submit_and_wait(want),
            Some(length) => {
                let timespec = Timespec::new()
                    .sec(length.0 / 1_000_000_000)
                    .nsec((length.0 % 1_000_000_000) as u32);
                submitter.submit_with_args(want, &SubmitArgs::new().timespec(&timespec))
            }
        };
        // With an error the kernel may have taken some requests all the same; the rest is still in
        // the queue.
        self.unsubmitted = self.ring.submission().len();
        submitted.map(|_| ())
    }
}

impl RingPort for Uring {
    fn push(&mut self, file: &Arc<dyn FilePort>, mut request: RawRequest) {
        let entry = self.entry(file, &mut request);
        let slot = request.slot as usize;
        assert!(self.buffers[slot].is_none(), "slot {slot} is in flight");
        self.buffers[slot] = Some(request.buffer);
        // SAFETY: the buffer stays in `buffers`, and the caller keeps the file open, until the
        // completion is collected (the invariant above; rule O7).
        let pushed = unsafe { self.ring.submission().push(&entry) };
        assert!(pushed.is_ok(), "the queue is as long as the ring is deep");
        self.in_kernel += 1;
        self.unsubmitted += 1;
    }

    fn submit(&mut self) -> io::Result<()> {
        let taskrun = self.ring.submission().taskrun();
        if self.unsubmitted == 0 && !taskrun {
            return Ok(());
        }
        /// The flag to work on completions too (linux/io_uring.h: IORING_ENTER_GETEVENTS).
        const GETEVENTS: u32 = 1;
        let count = self.unsubmitted as u32;
        // SAFETY: no argument is passed; the entries were pushed under rule O7.
        let entered = unsafe { self.ring.submitter().enter::<()>(count, 0, GETEVENTS, None) };
        self.unsubmitted = self.ring.submission().len();
        match entered {
            Err(error) if !is_momentary(&error) => Err(error),
            _ => Ok(()),
        }
    }

    fn collect(&mut self, completed: &mut Vec<RawCompletion>) {
        for entry in self.ring.completion() {
            let slot = entry.user_data() as u32;
            let buffer = self.buffers[slot as usize].take().expect("a slot in flight");
            self.in_kernel -= 1;
            let result = match entry.result() {
                moved @ 0.. => Ok(moved as usize),
                errno => Err(io::Error::from_raw_os_error(-errno)),
            };
            completed.push(RawCompletion { slot, buffer, result });
        }
    }

    fn wait(
        &mut self,
        at_least: u32,
        timeout: Option<Nanos>,
        _event: WaitEvent,
    ) -> io::Result<bool> {
        match self.enter(at_least as usize, timeout) {
            Ok(()) => Ok(false),
            Err(error) if error.raw_os_error() == Some(libc::ETIME) => Ok(true),
            // The caller collects what is there and calls again.
            Err(error) if is_momentary(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn register(&mut self, pool: &IoPool) -> Result<(), Error> {
        let (start, length) = pool.memory();
        let vector = libc::iovec { iov_base: start.cast(), iov_len: length };
        // SAFETY: the memory lives as long as the pool, and the ring keeps the pool.
        let registered = unsafe { self.ring.submitter().register_buffers(&[vector]) };
        match registered {
            Ok(()) => {
                self.pool = Some(pool.clone());
                Ok(())
            }
            Err(error) => {
                let what = format!("lock {} KiB of I/O buffers in memory", length / 1024);
                Err(Error::from_io(what, &error).advise(
                    "plain buffers are used, at a little more CPU; raise the limit on locked \
                     memory (ulimit -l)",
                ))
            }
        }
    }

    fn keep_no_files(&mut self) {
        self.files.clear();
    }

    fn description(&self) -> String {
        match self.pool {
            Some(_) => "io_uring with registered buffers".into(),
            None => "io_uring".into(),
        }
    }
}

/// Whether the call was interrupted, or the kernel wants completions collected first.
fn is_momentary(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN | libc::EBUSY | libc::ETIME))
}

fn unavailable(error: &io::Error) -> Error {
    let text = error.to_string();
    let detail = text.split(" (os error").next().unwrap_or(&text).to_lowercase();
    let advice = match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            "allow it (sysctl kernel.io_uring_disabled=0, and no seccomp filter against it, as \
             containers have)"
        }
        Some(libc::EMFILE | libc::ENFILE) => Cause::TooManyFiles.advice(),
        Some(libc::ENOMEM) => "raise the limit on locked memory (ulimit -l)",
        _ => "it needs Linux 5.6 or later",
    };
    Error::new("use io_uring", Cause::IoUringUnavailable, detail).advise(advice)
}

impl Drop for Uring {
    /// Waits for the buffers in flight, into which the kernel may still write. If even that fails,
    /// their memory is leaked rather than freed.
    fn drop(&mut self) {
        let mut completed = Vec::new();
        while self.in_kernel > 0 {
            if let Err(error) = self.enter(1, None)
                && !is_momentary(&error)
            {
                self.buffers.drain(..).flatten().for_each(std::mem::forget);
                return;
            }
            self.collect(&mut completed);
        }
    }
}

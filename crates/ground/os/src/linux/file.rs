//! A file of a Linux file system.

use std::any::Any;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, FlockOperation, StatxFlags};
use rustix::io::Errno;
use waits::WaitEvent;

use crate::{Alignment, FilePort};

/// An open file descriptor, and the alignment that direct I/O needs.
#[derive(Debug)]
pub(crate) struct LinuxFile {
    descriptor: OwnedFd,
    /// A number that, unlike the descriptor, is never reused, so that a ring can tell files apart.
    id: u64,
    alignment: Alignment,
}

impl LinuxFile {
    pub(crate) fn new(descriptor: OwnedFd, direct: bool) -> LinuxFile {
        static NEXT_ID: AtomicU64 = AtomicU64::new(1);
        let alignment = if direct { direct_alignment(&descriptor) } else { Alignment::NONE };
        LinuxFile { descriptor, id: NEXT_ID.fetch_add(1, Ordering::Relaxed), alignment }
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    pub(crate) fn descriptor(&self) -> &OwnedFd {
        &self.descriptor
    }

    pub(crate) fn raw(&self) -> RawFd {
        self.descriptor.as_raw_fd()
    }
}

/// The alignment from the kernel (statx, since Linux 6.1), else one that is right everywhere.
fn direct_alignment(descriptor: &OwnedFd) -> Alignment {
    let asked = rustix::fs::statx(descriptor, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN);
    match asked {
        Ok(told) if told.stx_dio_offset_align > 0 => {
            Alignment { memory: told.stx_dio_mem_align.max(1), offset: told.stx_dio_offset_align }
        }
        _ => Alignment::SAFE,
    }
}

impl Drop for LinuxFile {
    /// A ring in which the file is registered keeps it open in the kernel for a while, so the lock
    /// is released here.
    fn drop(&mut self) {
        let _ = rustix::fs::flock(&self.descriptor, FlockOperation::Unlock);
    }
}

impl FilePort for LinuxFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8], _event: WaitEvent) -> io::Result<usize> {
        Ok(rustix::io::pread(&self.descriptor, buffer, offset)?)
    }

    fn write_at(&self, offset: u64, buffer: &[u8], _event: WaitEvent) -> io::Result<usize> {
        Ok(rustix::io::pwrite(&self.descriptor, buffer, offset)?)
    }

    fn sync(&self, _event: WaitEvent) -> io::Result<()> {
        // fdatasync also writes the metadata needed to find the data: the size.
        Ok(rustix::fs::fdatasync(&self.descriptor)?)
    }

    fn try_lock(&self) -> io::Result<bool> {
        // The lock belongs to the open file description, which requests in flight keep open. So the
        // writes of a killed process have ended before another process gets the lock.
        match rustix::fs::flock(&self.descriptor, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => Ok(false),
            locked => Ok(locked.map(|()| true)?),
        }
    }

    fn identity(&self) -> io::Result<(u64, u64)> {
        let told = rustix::fs::fstat(&self.descriptor)?;
        Ok((told.st_dev, told.st_ino))
    }

    fn length(&self) -> io::Result<u64> {
        Ok(rustix::fs::fstat(&self.descriptor)?.st_size as u64)
    }

    fn set_len(&self, length: u64, _event: WaitEvent) -> io::Result<()> {
        Ok(rustix::fs::ftruncate(&self.descriptor, length)?)
    }

    fn alignment(&self) -> Alignment {
        self.alignment
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

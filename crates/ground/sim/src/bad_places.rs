//! Unreadable ranges of a medium, over any disk. A read that meets one is an error of the device,
//! until the range is written, or for a number of reads. Calls can also be refused a descriptor.
//!
//! Even where the disk below has asynchronous I/O, this one has none: all requests go through its
//! files.

use std::any::Any;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use os::{
    Alignment, Cause, Disk, DiskPort, Error, FileOptions, FilePort, NameKind, OpenMode, RingPort,
};
use waits::WaitEvent;

/// The unreadable ranges of a disk; none at first.
#[derive(Clone, Debug, Default)]
pub struct BadPlaces(Arc<Mutex<Vec<BadRange>>>, Arc<Mutex<Refusal>>);

/// Calls that need a descriptor, and are refused.
#[derive(Debug, Default)]
struct Refusal {
    /// The part that the path of the file or directory must contain.
    within: String,
    errno: i32,
    /// The number of calls that succeed first.
    after: u32,
    /// The number of calls that are refused afterwards.
    times: u32,
}

#[derive(Clone, Debug)]
struct BadRange {
    /// The last part of the file's path.
    name: String,
    range: Range<u64>,
    /// The number of reads of the range that still fail.
    reads: u32,
}

impl BadPlaces {
    /// The same disk, with these unreadable ranges.
    pub fn over(&self, disk: &Disk) -> Disk {
        Disk::new(Arc::new(BadDisk { inner: Arc::clone(disk.port()), places: self.clone() }))
    }

    /// Makes these bytes of this file unreadable from now on.
    pub fn add(&self, path: &Path, range: Range<u64>) {
        self.add_for(path, range, u32::MAX);
    }

    /// The same ranges for another disk: a write here doesn't mend them there.
    pub fn copy(&self) -> BadPlaces {
        let copy = BadPlaces::default();
        let places = self.with(|places| places.clone());
        copy.with(|theirs| *theirs = places);
        copy
    }

    /// Makes these bytes unreadable for this number of reads.
    pub fn add_for(&self, path: &Path, range: Range<u64>, reads: u32) {
        let bad = BadRange { name: name_of(path), range, reads };
        self.with(|places| places.push(bad));
    }

    /// Of the future calls that open a file, or sync or list a directory, with `within` in its
    /// path, the first `after` succeed, and the next `times` are refused with this error.
    pub fn refuse(&self, within: &str, errno: i32, after: u32, times: u32) {
        let within = within.to_string();
        *self.1.lock().unwrap_or_else(PoisonError::into_inner) =
            Refusal { within, errno, after, times };
    }

    /// Whether calls are still to be refused.
    pub fn refuses(&self) -> bool {
        self.1.lock().unwrap_or_else(PoisonError::into_inner).times > 0
    }

    fn look(&self, path: &Path) -> io::Result<()> {
        let mut refusal = self.1.lock().unwrap_or_else(PoisonError::into_inner);
        if refusal.times == 0 || !path.to_string_lossy().contains(&refusal.within) {
            return Ok(());
        }
        match refusal.after {
            0 => refusal.times -= 1,
            _ => {
                refusal.after -= 1;
                return Ok(());
            }
        }
        Err(io::Error::from_raw_os_error(refusal.errno))
    }

    fn with<T>(&self, work: impl FnOnce(&mut Vec<BadRange>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether a read of these bytes fails.
    fn meets(&self, name: &str, read: &Range<u64>) -> bool {
        self.with(|places| {
            let is_there = |bad: &&mut BadRange| {
                let meets = bad.range.start < read.end && read.start < bad.range.end;
                bad.name == name && meets && bad.reads > 0
            };
            let Some(bad) = places.iter_mut().find(is_there) else { return false };
            bad.reads -= 1;
            true
        })
    }

    /// Makes written bytes readable again; bytes beside them stay unreadable.
    fn mend(&self, name: &str, written: &Range<u64>) {
        let left = |bad: BadRange| -> Vec<BadRange> {
            if bad.name != name {
                return vec![bad];
            }
            let Range { start, end } = bad.range;
            let beside = [start..end.min(written.start), start.max(written.end)..end];
            let there = beside.into_iter().filter(|range| !range.is_empty());
            there.map(|range| BadRange { range, ..bad.clone() }).collect()
        };
        self.with(|places| *places = places.drain(..).flat_map(left).collect());
    }
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn bytes(offset: u64, length: usize) -> Range<u64> {
    offset..offset + length as u64
}

struct BadDisk {
    inner: Arc<dyn DiskPort>,
    places: BadPlaces,
}

#[derive(Debug)]
struct BadFile {
    inner: Arc<dyn FilePort>,
    name: String,
    places: BadPlaces,
}

impl DiskPort for BadDisk {
    fn open(
        &self,
        path: &Path,
        mode: OpenMode,
        options: FileOptions,
        event: WaitEvent,
    ) -> io::Result<Arc<dyn FilePort>> {
        self.places.look(path)?;
        let inner = self.inner.open(path, mode, options, event)?;
        Ok(Arc::new(BadFile { inner, name: name_of(path), places: self.places.clone() }))
    }
    fn create_dir(&self, path: &Path, event: WaitEvent) -> io::Result<()> {
        self.inner.create_dir(path, event)
    }
    fn sync_dir(&self, path: &Path, event: WaitEvent) -> io::Result<()> {
        self.places.look(path)?;
        self.inner.sync_dir(path, event)
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
        self.places.look(path)?;
        self.inner.list(path, event)
    }
    fn canonical(&self, directory: &Path) -> io::Result<PathBuf> {
        self.inner.canonical(directory)
    }
    fn free_bytes(&self, path: &Path) -> io::Result<u64> {
        self.inner.free_bytes(path)
    }
    fn ring(&self, _depth: u32) -> Result<Box<dyn RingPort>, Error> {
        Err(Error::new("use a ring", Cause::IoUringUnavailable, "this disk has none"))
    }
}

impl FilePort for BadFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8], event: WaitEvent) -> io::Result<usize> {
        /// The error of a device (linux/errno.h: EIO).
        const EIO: i32 = 5;
        if self.places.meets(&self.name, &bytes(offset, buffer.len())) {
            return Err(io::Error::from_raw_os_error(EIO));
        }
        self.inner.read_at(offset, buffer, event)
    }
    fn write_at(&self, offset: u64, buffer: &[u8], event: WaitEvent) -> io::Result<usize> {
        let written = self.inner.write_at(offset, buffer, event)?;
        self.places.mend(&self.name, &bytes(offset, written));
        Ok(written)
    }
    fn sync(&self, event: WaitEvent) -> io::Result<()> {
        self.inner.sync(event)
    }
    fn length(&self) -> io::Result<u64> {
        self.inner.length()
    }
    fn set_len(&self, length: u64, event: WaitEvent) -> io::Result<()> {
        self.inner.set_len(length, event)
    }
    fn try_lock(&self) -> io::Result<bool> {
        self.inner.try_lock()
    }
    fn identity(&self) -> io::Result<(u64, u64)> {
        self.inner.identity()
    }
    fn alignment(&self) -> Alignment {
        self.inner.alignment()
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

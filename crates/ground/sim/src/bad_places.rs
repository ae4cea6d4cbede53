//! Places of a medium that can't be read, over any disk: a read that meets one is an error of the
//! device, until the place is written, or for a number of reads. And calls that are refused a
//! descriptor.
//!
//! Where the disk below has asynchronous I/O, this one has none: all goes through its files.

use std::any::Any;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use os::{
    Alignment, Cause, Disk, DiskPort, Error, FileOptions, FilePort, Named, OpenMode, RingPort,
};
use waits::WaitEvent;

/// The places of a disk that can't be read; none at first.
#[derive(Clone, Debug, Default)]
pub struct BadPlaces(Arc<Mutex<Vec<Place>>>, Arc<Mutex<Refusal>>);

/// Calls that need a descriptor, and are refused.
#[derive(Debug, Default)]
struct Refusal {
    /// Those of files and directories with this in their path.
    within: String,
    errno: i32,
    /// So many come to be before.
    after: u32,
    /// So many are refused then.
    times: u32,
}

#[derive(Clone, Debug)]
struct Place {
    /// The last part of the file's path.
    name: String,
    range: Range<u64>,
    /// So many reads that meet it fail still.
    reads: u32,
}

impl BadPlaces {
    /// The same disk, with such places.
    pub fn over(&self, disk: &Disk) -> Disk {
        Disk::new(Arc::new(BadDisk { inner: Arc::clone(disk.port()), places: self.clone() }))
    }

    /// From now on these bytes of this file can't be read.
    pub fn add(&self, path: &Path, range: Range<u64>) {
        self.add_for(path, range, u32::MAX);
    }

    /// The same places on another disk: a write here doesn't mend them there.
    pub fn copy(&self) -> BadPlaces {
        let copy = BadPlaces::default();
        let places = self.with(|places| places.clone());
        copy.with(|theirs| *theirs = places);
        copy
    }

    /// The same for so many reads.
    pub fn add_for(&self, path: &Path, range: Range<u64>, reads: u32) {
        let place = Place { name: name_of(path), range, reads };
        self.with(|places| places.push(place));
    }

    /// Of the calls from now on that open a file, or sync or list a directory, with this in its
    /// path, the first `after` come to be, and so many more are refused with this error.
    pub fn refuse(&self, within: &str, errno: i32, after: u32, times: u32) {
        let within = within.to_string();
        *self.1.lock().unwrap_or_else(PoisonError::into_inner) =
            Refusal { within, errno, after, times };
    }

    /// Whether calls are to be refused still.
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

    fn with<T>(&self, work: impl FnOnce(&mut Vec<Place>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether a read of these bytes fails.
    fn meets(&self, name: &str, read: &Range<u64>) -> bool {
        self.with(|places| {
            let is_there = |place: &&mut Place| {
                let meets = place.range.start < read.end && read.start < place.range.end;
                place.name == name && meets && place.reads > 0
            };
            let Some(place) = places.iter_mut().find(is_there) else { return false };
            place.reads -= 1;
            true
        })
    }

    /// What is written can be read again; what lies beside it still can't.
    fn mend(&self, name: &str, written: &Range<u64>) {
        let left = |place: Place| -> Vec<Place> {
            if place.name != name {
                return vec![place];
            }
            let Range { start, end } = place.range;
            let beside = [start..end.min(written.start), start.max(written.end)..end];
            let there = beside.into_iter().filter(|range| !range.is_empty());
            there.map(|range| Place { range, ..place.clone() }).collect()
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
    fn look_up(&self, path: &Path, event: WaitEvent) -> io::Result<Option<Named>> {
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
        /// Of the device (linux/errno.h: EIO).
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

//! The file systems of this machine.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{CWD, FileType, Gid, Mode, OFlags, RenameFlags, Uid};
use rustix::io::Errno;
use waits::WaitEvent;

use super::file::LinuxFile;
use super::machine;
use super::uring::Uring;
use crate::{DiskPort, Error, FileOptions, FilePort, NameKind, OpenMode, RingPort};

/// The file system tree of this machine.
pub(crate) struct LinuxDisk;

impl DiskPort for LinuxDisk {
    fn open(
        &self,
        path: &Path,
        mode: OpenMode,
        options: FileOptions,
        _event: WaitEvent,
    ) -> io::Result<Arc<dyn FilePort>> {
        let mut flags = OFlags::CLOEXEC;
        flags |= match mode {
            OpenMode::Existing => OFlags::RDWR,
            // Without the flag an open of a pipe would wait for its writer.
            OpenMode::ReadOnly => OFlags::RDONLY | OFlags::NONBLOCK,
            OpenMode::CreateNew => OFlags::RDWR | OFlags::CREATE | OFlags::EXCL,
        };
        if options.direct {
            flags |= OFlags::DIRECT;
        }
        if options.write_through {
            flags |= OFlags::DSYNC;
        }
        let owner_and_group = Mode::RUSR | Mode::WUSR | Mode::RGRP;
        let opened = rustix::fs::open(path, flags, owner_and_group);
        check_kind(path, mode, opened.as_ref().map_err(|error| *error))?;
        match opened {
            Ok(descriptor) => {
                if mode == OpenMode::ReadOnly {
                    // io_uring takes the flag as a wish to be refused instead of made to wait.
                    rustix::fs::fcntl_setfl(&descriptor, flags & OFlags::DIRECT)?;
                }
                Ok(Arc::new(LinuxFile::new(descriptor, options.direct)))
            }
            Err(error) => {
                // Where the file system can't do direct I/O the kernel makes the file before it
                // finds out.
                if error == Errno::INVAL && options.direct && mode == OpenMode::CreateNew {
                    let _ = rustix::fs::unlink(path);
                }
                Err(error.into())
            }
        }
    }

    fn create_dir(&self, path: &Path, _event: WaitEvent) -> io::Result<()> {
        Ok(rustix::fs::mkdir(path, Mode::RWXU | Mode::RGRP | Mode::XGRP)?)
    }

    fn sync_dir(&self, path: &Path, _event: WaitEvent) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::open(path, flags, Mode::empty())?;
        Ok(rustix::fs::fsync(directory)?)
    }

    fn rename(&self, from: &Path, to: &Path, _event: WaitEvent) -> io::Result<()> {
        match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            // Not every file system can do both in one step.
            Err(Errno::INVAL | Errno::NOSYS) => match rustix::fs::lstat(to) {
                Ok(_) => Err(Errno::EXIST.into()),
                Err(Errno::NOENT) => Ok(rustix::fs::rename(from, to)?),
                Err(error) => Err(error.into()),
            },
            renamed => Ok(renamed?),
        }
    }

    fn create_like(
        &self,
        path: &Path,
        old: &dyn FilePort,
        _event: WaitEvent,
    ) -> io::Result<Arc<dyn FilePort>> {
        let old = old.as_any().downcast_ref::<LinuxFile>().ok_or(io::ErrorKind::Unsupported)?;
        let flags = OFlags::CLOEXEC | OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
        let new = rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?;
        match give_rights(&new, old.descriptor()) {
            Ok(()) => Ok(Arc::new(LinuxFile::new(new, false))),
            Err(error) => {
                let _ = rustix::fs::unlink(path);
                Err(error.into())
            }
        }
    }

    fn rename_over(&self, from: &Path, to: &Path, _event: WaitEvent) -> io::Result<()> {
        Ok(rustix::fs::rename(from, to)?)
    }

    fn remove(&self, path: &Path, _event: WaitEvent) -> io::Result<()> {
        match rustix::fs::unlink(path) {
            Err(Errno::ISDIR) => Ok(rustix::fs::rmdir(path)?),
            removed => Ok(removed?),
        }
    }

    fn look_up(&self, path: &Path, _event: WaitEvent) -> io::Result<Option<NameKind>> {
        match rustix::fs::lstat(path) {
            Ok(found) => match FileType::from_raw_mode(found.st_mode) {
                FileType::RegularFile => Ok(Some(NameKind::File)),
                FileType::Symlink => Ok(Some(NameKind::Link)),
                _ => Ok(Some(NameKind::Other)),
            },
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn list(&self, path: &Path, _event: WaitEvent) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(path)? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        Ok(names)
    }

    fn canonical(&self, directory: &Path) -> io::Result<PathBuf> {
        std::fs::canonicalize(directory)
    }

    fn free_bytes(&self, path: &Path) -> io::Result<u64> {
        let told = rustix::fs::statvfs(path)?;
        Ok(told.f_bavail * told.f_frsize)
    }

    fn surroundings(&self, directory: &Path) -> Option<String> {
        let found = rustix::fs::stat(directory).ok()?;
        let (device, number) = (found.st_dev, found.st_ino);
        // Another file system may have the device's number, as of a loop device, by now.
        let system = rustix::fs::statvfs(directory).ok()?.f_fsid;
        let (boot, mount) = (machine::boot()?, machine::mount(directory)?);
        Some(format!("{boot}; directory {number} of {device}, file system {system:x}; {mount}"))
    }

    fn ring(&self, depth: u32) -> Result<Box<dyn RingPort>, Error> {
        Ok(Box::new(Uring::open(depth)?))
    }
}

/// The rights of single users and groups, of which a file's mode has only the bounds.
const RIGHTS_LIST: &str = "system.posix_acl_access";

/// Gives a new file the owner, the group and the rights of another one. Refused if either has a
/// list of rights: under one, the same mode says something else.
fn give_rights(new: &OwnedFd, old: &OwnedFd) -> Result<(), Errno> {
    let has_list = |file: &OwnedFd| {
        rustix::fs::fgetxattr_query(file, RIGHTS_LIST).is_ok_and(|bytes| bytes > 0)
    };
    if has_list(new) || has_list(old) {
        return Err(Errno::PERM);
    }
    let (has, wanted) = (rustix::fs::fstat(new)?, rustix::fs::fstat(old)?);
    if (has.st_uid, has.st_gid) != (wanted.st_uid, wanted.st_gid) {
        let (owner, group) = (Uid::from_raw(wanted.st_uid), Gid::from_raw(wanted.st_gid));
        rustix::fs::fchown(new, Some(owner), Some(group))?;
    }
    let rights = Mode::RWXU | Mode::RWXG | Mode::RWXO;
    rustix::fs::fchmod(new, Mode::from_raw_mode(wanted.st_mode) & rights)
}

/// Checks that the name is that of a file. A device can be opened for reading too.
fn check_kind(path: &Path, mode: OpenMode, opened: Result<&OwnedFd, Errno>) -> io::Result<()> {
    let found = match opened {
        Ok(descriptor) => rustix::fs::fstat(descriptor),
        Err(Errno::INVAL | Errno::ISDIR | Errno::NXIO | Errno::OPNOTSUPP) => rustix::fs::stat(path),
        Err(_) => return Ok(()),
    };
    let Ok(found) = found else { return Ok(()) };
    let what = match FileType::from_raw_mode(found.st_mode) {
        FileType::Directory => "a directory",
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice
            if mode != OpenMode::ReadOnly || opened.is_err() =>
        {
            "a device"
        }
        _ => return Ok(()),
    };
    let detail = format!("it is {what}, and must be a file");
    Err(io::Error::new(io::ErrorKind::IsADirectory, detail))
}

//! A file system in a world. It is made by a port, or by a disk that wraps another.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use waits::{Nanos, WaitEvent};

use crate::{
    Cause, DiskPort, Error, File, FileOperation, FileOptions, IO_ALIGNMENT, IoBuf, NameKind,
    OpenMode, Ring, RingConfig, Session,
};

/// The end of the name that a file has only while it is being opened ([`Disk::open_nameless`]). The
/// program that opens the database may remove a file with such a name.
pub const TEMPORARY_NAME_END: &str = ".forebay-temp";

/// The size of the writes that fill files with zeros, in bytes.
const FILL_BYTES: usize = 1 << 20;

/// The number of bytes that a fill makes durable at a time, if its caller may stop it.
const FILL_PIECE: u64 = 8 << 20;

/// The number of tries of a caller that lacks a file descriptor ...
const DESCRIPTOR_TRIES: u32 = 100;
/// ... and the pause between two tries (rule O16).
const DESCRIPTOR_PAUSE: Nanos = Nanos::from_millis(10);

/// A file system in this world. Cheap to clone.
#[derive(Clone)]
pub struct Disk {
    port: Arc<dyn DiskPort>,
}

impl Disk {
    /// The disk behind `port`.
    pub fn new(port: Arc<dyn DiskPort>) -> Disk {
        Disk { port }
    }

    /// Opens an existing file for reading and writing.
    pub fn open(
        &self,
        path: &Path,
        options: FileOptions,
        session: &Session,
    ) -> Result<File, Error> {
        self.open_as(path, OpenMode::Existing, options, session)
    }

    /// Opens an existing file only to read it.
    pub fn open_read_only(
        &self,
        path: &Path,
        options: FileOptions,
        session: &Session,
    ) -> Result<File, Error> {
        self.open_as(path, OpenMode::ReadOnly, options, session)
    }

    /// Makes a file of `length` bytes, every one of them written as zero, and makes the file and
    /// its directory entry durable. So no later write has to allocate space or change the size. The
    /// file is locked until it is closed. When this fails, nothing is left. It is refused if
    /// another program has removed the name before the file was locked.
    pub fn create(
        &self,
        path: &Path,
        length: u64,
        options: FileOptions,
        session: &Session,
    ) -> Result<File, Error> {
        let fill = |file: &File| fill(file, 0, length, session);
        self.create_filled(path, length, options, fill, session)
    }

    /// Makes a file as [`create`](Disk::create) does, but fails when `go_on` returns false. `go_on`
    /// is called between pieces, each of which is durable before the next, so that a caller that
    /// stops the work waits for one piece at most.
    pub fn create_while(
        &self,
        path: &Path,
        length: u64,
        options: FileOptions,
        go_on: &dyn Fn() -> bool,
        session: &Session,
    ) -> Result<File, Error> {
        let fill = |file: &File| {
            for from in (0..length).step_by(FILL_PIECE as usize) {
                if from > 0 {
                    file.sync(FileOperation::Sync.waiting(session))?;
                }
                if !go_on() {
                    let what = format!("fill {}", path.display());
                    return Err(Error::new(what, Cause::Other, "it was stopped"));
                }
                fill(file, from, length.min(from + FILL_PIECE), session)?;
            }
            Ok(())
        };
        self.create_filled(path, length, options, fill, session)
    }

    fn create_filled(
        &self,
        path: &Path,
        length: u64,
        options: FileOptions,
        fill: impl FnOnce(&File) -> Result<(), Error>,
        session: &Session,
    ) -> Result<File, Error> {
        let what = format!("create {} of {length} bytes", path.display());
        let file = self.open_as(path, OpenMode::CreateNew, options, session)?;
        let locked = match file.lock(session) {
            Err(error) if error.cause() == Cause::InUse => return Err(error.while_doing(&what)),
            locked => locked,
        };
        // From now on the file isn't taken for a leftover, if it wasn't before.
        let named = self.has_its_name(&file, session);
        if let Ok(false) = named {
            let detail = "another program has removed it before it was locked";
            return Err(Error::new(what, Cause::InUse, detail));
        }
        let made = locked.and(named).and_then(|_| fill(&file)).and_then(|()| {
            file.sync(FileOperation::Sync.waiting(session))?;
            self.sync_dir(parent(path), session)
        });
        if let Err(error) = made {
            // The file is removed while it is locked, so that the name can't be another file's.
            // Where there are no locks, no program takes other programs' files for leftovers.
            let error = match error.cause() {
                Cause::NoSpace => {
                    error.advise("free space there, or choose another place or a smaller size")
                }
                _ => error,
            };
            return Err(self.unmake(path, error.while_doing(what), session));
        }
        Ok(file)
    }

    /// Makes an empty file, opens it in each of these ways, and removes its name again, so that it
    /// is gone with its last handle whatever happens to this process. The name exists only while
    /// these few calls run. A power cut soon after may bring it back, so it ends in
    /// [`TEMPORARY_NAME_END`]. There is one result for each way.
    pub fn open_nameless(
        &self,
        path: &Path,
        ways: &[FileOptions],
        session: &Session,
    ) -> Result<Vec<Result<File, Error>>, Error> {
        let plain = FileOptions { direct: false, write_through: false };
        let _made = self.open_as(path, OpenMode::CreateNew, plain, session)?;
        let files = ways.iter().map(|options| self.open(path, *options, session)).collect();
        self.operation(FileOperation::Remove, path, session, |event| {
            self.port.remove(path, event)
        })?;
        Ok(files)
    }

    /// Makes a directory and its own entry durable.
    pub fn create_dir(&self, path: &Path, session: &Session) -> Result<(), Error> {
        self.operation(FileOperation::CreateDirectory, path, session, |event| {
            self.port.create_dir(path, event)
        })?;
        self.sync_dir(parent(path), session)
    }

    /// Makes the entries of a directory durable.
    pub fn sync_dir(&self, path: &Path, session: &Session) -> Result<(), Error> {
        self.operation(FileOperation::SyncDirectory, path, session, |event| {
            self.port.sync_dir(path, event)
        })
    }

    /// Whether the name by which this file was opened is still its name, and not that of another
    /// file or of none.
    pub fn has_its_name(&self, file: &File, session: &Session) -> Result<bool, Error> {
        let plain = FileOptions { direct: false, write_through: false };
        match self.open_read_only(file.path(), plain, session) {
            Ok(found) => found.is_same_file(file),
            Err(error) if error.cause() == Cause::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Whether the name exists, even as a link that leads nowhere. Then no file can be created with
    /// this name or renamed to it.
    pub fn has_name(&self, path: &Path, session: &Session) -> Result<bool, Error> {
        Ok(self.look_up(path, session)?.is_some())
    }

    /// The kind of object with this name, without following a link; none if the name doesn't exist.
    pub fn look_up(&self, path: &Path, session: &Session) -> Result<Option<NameKind>, Error> {
        self.operation(FileOperation::LookUp, path, session, |event| self.port.look_up(path, event))
    }

    /// Renames a file in its directory, durably. It is refused if the new name exists.
    pub fn rename(&self, from: &Path, to: &Path, session: &Session) -> Result<(), Error> {
        self.operation(FileOperation::Rename, from, session, |event| {
            self.port.rename(from, to, event)
        })?;
        self.sync_dir(parent(to), session)
    }

    /// Gives the name of an old file to a new one of these bytes, durably and in one step. The new
    /// one has the owner, the group and the rights of the old one from its begin. Until it is whole
    /// it is called `beside`, a free name in the same directory. A name that is gone is taken; one
    /// that leads to another file by now is refused as by [`rename`](Disk::rename).
    pub fn replace(
        &self,
        old: &File,
        beside: &Path,
        bytes: &[u8],
        session: &Session,
    ) -> Result<(), Error> {
        let plain = FileOptions { direct: false, write_through: false };
        let made = self.operation(FileOperation::Create, beside, session, |event| {
            self.port.create_like(beside, &**old.port(), event)
        });
        let new = File::new(beside, made?, plain);
        // Locked, it isn't taken for a leftover.
        let replaced = new
            .lock(session)
            .and_then(|()| new.write_at(0, bytes, FileOperation::Fill.waiting(session)))
            .and_then(|()| new.sync(FileOperation::Sync.waiting(session)))
            .and_then(|()| match self.has_its_name(old, session)? {
                true => self.rename_over(beside, old.path(), session),
                false => self.rename(beside, old.path(), session),
            });
        match replaced {
            Err(error) if self.has_name(beside, session).unwrap_or(true) => {
                Err(self.unmake(beside, error, session))
            }
            replaced => replaced,
        }
    }

    fn rename_over(&self, from: &Path, to: &Path, session: &Session) -> Result<(), Error> {
        self.operation(FileOperation::Rename, from, session, |event| {
            self.port.rename_over(from, to, event)
        })?;
        self.sync_dir(parent(to), session)
    }

    /// Removes a file or an empty directory, durably.
    pub fn remove(&self, path: &Path, session: &Session) -> Result<(), Error> {
        self.operation(FileOperation::Remove, path, session, |event| {
            self.port.remove(path, event)
        })?;
        self.sync_dir(parent(path), session)
    }

    /// Removes a file whose creation has failed with this error. The returned error also says so if
    /// the file is still there. A file that is gone needn't be removed by hand, whether or not its
    /// removal is durable.
    pub fn unmake(&self, path: &Path, error: Error, session: &Session) -> Error {
        let unlink = |event| self.port.remove(path, event);
        match self.operation(FileOperation::Remove, path, session, unlink) {
            Ok(()) => {
                let _ = self.sync_dir(parent(path), session);
                error
            }
            Err(left) => error.advise(format!("remove it by hand, for I {left}")),
        }
    }

    /// The names in a directory, sorted.
    pub fn list(&self, path: &Path, session: &Session) -> Result<Vec<String>, Error> {
        self.operation(FileOperation::List, path, session, |event| self.port.list(path, event))
    }

    /// The path of this file, existing or not, without links and detours on the way to it: two
    /// spellings of one path give the same. A directory that doesn't exist keeps its spelling.
    pub fn place_of(&self, path: &Path) -> PathBuf {
        match (self.port.canonical(parent(path)), path.file_name()) {
            (Ok(directory), Some(name)) => directory.join(name),
            _ => path.to_path_buf(),
        }
    }

    /// The number of bytes that a file in this directory could still get.
    pub fn free_bytes(&self, path: &Path) -> Result<u64, Error> {
        self.port.free_bytes(path).map_err(|error| Error::on("look for space in", path, &error))
    }

    /// All that a measurement of the disk at this directory depends on, as a text to be compared
    /// (rule O76). Where it is the same, what was measured holds still. `None` where nobody can
    /// tell, as of a simulated disk.
    pub fn surroundings(&self, directory: &Path) -> Option<String> {
        self.port.surroundings(directory)
    }

    /// A ring over files of this disk for the calling thread.
    pub fn ring(&self, config: &RingConfig, session: &Session) -> Result<Ring, Error> {
        Ring::open(&*self.port, config, session)
    }

    /// Whether both are the same disk.
    pub(crate) fn is_same(&self, other: &Disk) -> bool {
        Arc::ptr_eq(&self.port, &other.port)
    }

    /// The port, for a wrapping disk.
    pub fn port(&self) -> &Arc<dyn DiskPort> {
        &self.port
    }

    fn open_as(
        &self,
        path: &Path,
        mode: OpenMode,
        options: FileOptions,
        session: &Session,
    ) -> Result<File, Error> {
        let operation = match mode {
            OpenMode::CreateNew => FileOperation::Create,
            _ => FileOperation::Open,
        };
        let port = self.operation(operation, path, session, |event| {
            self.port.open(path, mode, options, event)
        });
        match port {
            Ok(port) => Ok(File::new(path, port, options)),
            Err(error) if error.cause() == Cause::Invalid && options.direct => {
                let what = format!("{} {} for direct I/O", operation.verb(), path.display());
                let detail = "the file system doesn't do direct I/O (O_DIRECT)";
                Err(Error::new(what, Cause::DirectIoUnsupported, detail))
            }
            Err(error) => Err(error),
        }
    }

    fn operation<T>(
        &self,
        operation: FileOperation,
        path: &Path,
        session: &Session,
        call: impl Fn(WaitEvent) -> std::io::Result<T>,
    ) -> Result<T, Error> {
        let mut tries = 1;
        loop {
            let done = operation.waiting(session).around(|session, event| {
                session.charge(crate::Cost::IoSync, 1);
                (call(event), false)
            });
            match done {
                Err(error) if lacks_descriptors(&error) && tries < DESCRIPTOR_TRIES => {
                    tries += 1;
                    session.pause(DESCRIPTOR_PAUSE, operation.waiting(session));
                }
                done => return done.map_err(|error| Error::on(operation.verb(), path, &error)),
            }
        }
    }
}

/// Whether the process, or the machine, has the most open files that it may have (rule O16).
fn lacks_descriptors(error: &std::io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

/// Fills a file with zeros in the range `from..to`.
pub(crate) fn fill(file: &File, from: u64, to: u64, session: &Session) -> Result<(), Error> {
    if file.options().direct && !to.is_multiple_of(IO_ALIGNMENT as u64) {
        let what = format!("fill {} with {to} bytes", file.path().display());
        let detail = format!("a file for direct I/O is a multiple of {IO_ALIGNMENT} bytes");
        return Err(Error::new(what, Cause::Invalid, detail));
    }
    let zeros = IoBuf::zeroed(FILL_BYTES);
    let mut offset = from;
    while offset < to {
        let bytes = usize::try_from(to - offset).map_or(FILL_BYTES, |n| n.min(FILL_BYTES));
        file.write_at(offset, &zeros[..bytes], FileOperation::Fill.waiting(session))?;
        offset += bytes as u64;
    }
    Ok(())
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => path,
    }
}

impl fmt::Debug for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Disk")
    }
}

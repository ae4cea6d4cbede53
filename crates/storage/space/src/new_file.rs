//! The name of a file that isn't the database's yet (rules SP10 and SP21).
//!
//! ```text
//!   x.forebay-new made, durable ─▶ control file lists x ─▶ renamed x ─▶ in use
//! ```
//!
//! Under that name it is only ever a leftover: what isn't listed is removed, what is gets its own.
//!
//! Invariants
//!   * who removes or renames a file of that name has its lock, and has seen that it has the name
//!   * a file that is made is locked from before it is listed until it has its own name
//!   * what is listed is never removed, and no file is replaced
//!
//! Callers: `ddl`; `instance`, for redo logs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use os::{Cause, Disk, Error, File, FileOptions, Named, Session, TEMPORARY_NAME_END};
use stop::{RefusalKind, Stop};

use crate::ControlContent;
use crate::data_file::database_of;

/// Behind the name of a file that isn't in use yet.
const NEW: &str = ".forebay-new";

/// For who only wants to know whether a file is there.
const PLAIN: FileOptions = FileOptions { direct: false, write_through: false };

/// Where the file of this name is made.
pub fn new_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(NEW);
    PathBuf::from(name)
}

/// Files of one kind in the making: those of one statement.
pub struct NewFiles<'a> {
    disk: &'a Disk,
    /// Whose they are.
    database: u64,
    kind: &'static str,
    /// The name that each is to have; and the file, locked, under that of a leftover.
    made: Vec<(PathBuf, File)>,
}

impl<'a> NewFiles<'a> {
    /// None yet, of this database. `kind` is what messages call one.
    pub fn new(disk: &'a Disk, database: u64, kind: &'static str) -> NewFiles<'a> {
        NewFiles { disk, database, kind, made: Vec::new() }
    }

    /// Makes the file that is to have this name: `make` makes it, locked, under the name that it
    /// is given. Refused if the name is taken, or is that of a leftover.
    pub fn make(
        &mut self,
        path: &Path,
        make: impl FnOnce(&Path) -> Result<File, Stop>,
        session: &Session,
    ) -> Result<(), Stop> {
        if let Some(why) = leftovers_end(path) {
            return Err(self.refused(RefusalKind::Invalid, path, &why));
        }
        self.check_free(path, session)?;
        let new = new_path(path);
        let why = match remove_leftover(self.disk, &new, self.database, session)? {
            Leftover::Gone => None,
            Leftover::InUse => Some(
                "another program is making it, it is listed under another spelling, or it is \
                 another database's",
            ),
            Leftover::NoFile => Some("what has the name under which it would be made is no file"),
        };
        if let Some(why) = why {
            return Err(self.refused(RefusalKind::AlreadyExists, path, why));
        }
        self.made.push((path.to_path_buf(), make(&new)?));
        Ok(())
    }

    /// Refuses if the name of one has been taken while they were made. Nobody else gives such a
    /// name to a file that he makes: the leftover's name is locked.
    pub fn check_names(&self, session: &Session) -> Result<(), Stop> {
        self.made.iter().try_for_each(|(path, _)| self.check_free(path, session))
    }

    /// Where they are now.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.made.iter().map(|(_, file)| file.path())
    }

    /// Each gets its name, durably; they are locked until all have theirs.
    pub fn give_names(self, session: &Session) -> Result<(), Stop> {
        for (path, _locked) in &self.made {
            self.disk.rename(&new_path(path), path, session)?;
        }
        Ok(())
    }

    /// Removes them, while they aren't listed. Those that can't be are removed by the next attempt.
    pub fn remove(self, session: &Session) {
        for (_, locked) in &self.made {
            let _ = self.disk.remove(locked.path(), session);
        }
    }

    fn check_free(&self, path: &Path, session: &Session) -> Result<(), Stop> {
        match self.disk.has_name(path, session)? {
            true => {
                let why = "there is a file of this name";
                Err(self.refused(RefusalKind::AlreadyExists, path, why))
            }
            false => Ok(()),
        }
    }

    fn refused(&self, why_kind: RefusalKind, path: &Path, why: &str) -> Stop {
        let (kind, path) = (self.kind, path.display());
        Stop::refuse(why_kind, format!("cannot make {kind} {path}: {why}; choose another"))
    }
}

/// Where a file that is listed lies, if a crash came before it got its name; none if it has that,
/// or isn't there.
pub fn unnamed_path(disk: &Disk, path: &Path, session: &Session) -> Result<Option<PathBuf>, Error> {
    let new = new_path(path);
    let is_new =
        !disk.has_name(path, session)? && disk.look_up(&new, session)? == Some(Named::File);
    Ok(is_new.then_some(new))
}

/// A file that is listed gets its name, if a crash came before that. One that another is just
/// making isn't it, and is left alone (SP21).
pub fn settle_name(disk: &Disk, path: &Path, session: &Session) -> Result<(), Stop> {
    let Some(new) = unnamed_path(disk, path, session)? else { return Ok(()) };
    let file = match disk.open_read_only(&new, PLAIN, session) {
        Err(error) if error.cause() == Cause::NotFound => return Ok(()),
        file => file?,
    };
    if file.try_lock()? && disk.has_its_name(&file, session)? {
        disk.rename(&new, path, session)?;
    }
    Ok(())
}

/// Why no file may be made by this name, if it ends as those of leftovers do.
pub(crate) fn leftovers_end(path: &Path) -> Option<String> {
    let name = path.as_os_str().as_encoded_bytes();
    let ends = [NEW, TEMPORARY_NAME_END];
    let end = ends.iter().find(|end| name.ends_with(end.as_bytes()))?;
    Some(format!(
        "the next opening would remove it, for names that end in {end} are those of leftovers"
    ))
}

/// What became of what has a leftover's name.
enum Leftover {
    /// It isn't there, or not any more.
    Gone,
    /// Somebody is just making it, and so has its lock; or its header says that it is another
    /// database's, which may list it.
    InUse,
    /// It is no regular file, so nobody has left it.
    NoFile,
}

/// Removes a file that ends in a leftover's name, if it is there and nobody's.
fn remove_leftover(
    disk: &Disk,
    path: &Path,
    database: u64,
    session: &Session,
) -> Result<Leftover, Error> {
    match disk.look_up(path, session)? {
        None => return Ok(Leftover::Gone),
        Some(Named::Link | Named::Other) => return Ok(Leftover::NoFile),
        Some(Named::File) => {}
    }
    match disk.open_read_only(path, PLAIN, session) {
        // Whoever had the lock may have given the file its own name, and the next one be at work.
        Ok(file) if !file.try_lock()? || !disk.has_its_name(&file, session)? => Ok(Leftover::InUse),
        Ok(locked) => {
            let found = match database_of(&locked, session) {
                // The power may have cut off the write of its header: as a file, it is no one's.
                Err(error) if error.cause() == Cause::Device => None,
                found => found?,
            };
            if found.is_some_and(|found| found != database) {
                return Ok(Leftover::InUse);
            }
            disk.remove(path, session)?;
            Ok(Leftover::Gone)
        }
        Err(error) if error.cause() == Cause::NotFound => Ok(Leftover::Gone),
        Err(error) => Err(error),
    }
}

/// Removes what attempts that were cut off have left in the database's directory, but for what
/// `content` lists: that is a file of the database, or waits for its name. What can't be looked at
/// or removed is nobody's obstacle.
pub fn remove_leftovers(
    disk: &Disk,
    directory: &Path,
    content: &ControlContent,
    session: &Session,
) -> Result<(), Stop> {
    let places = |path: PathBuf| disk.place_of(&path);
    let own = content.paths().map(|path| directory.join(path));
    let waiting: BTreeSet<PathBuf> = own.clone().map(|path| places(new_path(&path))).collect();
    let own: BTreeSet<PathBuf> = own.map(places).collect();
    for name in disk.list(directory, session)? {
        let left_by = match () {
            () if name.ends_with(NEW) => "an attempt to make it",
            () if name.ends_with(TEMPORARY_NAME_END) => "a sort or a probe that was cut off",
            () => continue,
        };
        let path = directory.join(&name);
        let place = disk.place_of(&path);
        if own.contains(&place) {
            continue;
        }
        if waiting.contains(&place) {
            session.os().notice(&format!(
                "{name} is kept, for the control file lists a file that may be waiting for its name"
            ));
            continue;
        }
        match remove_leftover(disk, &path, content.database, session) {
            Ok(Leftover::Gone) => {
                session.os().notice(&format!("{name}, left by {left_by}, is removed"));
            }
            Ok(Leftover::InUse) => {}
            Ok(Leftover::NoFile) => session.os().notice(&format!(
                "{name} is kept, for it is no file: remove it by hand, or give it another name"
            )),
            Err(error) => session.os().notice(&format!(
                "{name} is kept, though it has the name of a leftover: I {error}"
            )),
        }
    }
    Ok(())
}

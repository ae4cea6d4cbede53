//! The name of a file in the making, which isn't the database's yet (rules SP10, SP21).
//!
//! ```text
//!   x.forebay-new made, durable ─▶ control file lists x ─▶ renamed x ─▶ in use
//! ```
//!
//! A file with such a name is a leftover: if it is listed it gets its own name, else it is removed.
//! In place of a listed file that is lost another one is made under a temporary file's name, since
//! it would get the listed name before it is whole.
//!
//! Invariants
//!   * a session that removes or renames such a file has its lock, and has seen that it has the
//!     name
//!   * a file in the making is locked from before it is listed until it has its own name
//!   * a listed file is never removed, and no file is replaced
//!
//! Callers: `ddl`; `instance`, for redo logs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use os::{Cause, Disk, Error, File, FileOptions, NameKind, Session, TEMPORARY_NAME_END};
use stop::{RefusalKind, Stop};

use crate::ControlContent;
use crate::data_file::database_of;

/// The end of the name of a file that isn't in use yet.
const NEW: &str = ".forebay-new";

/// How a file is opened only to look at it.
const PLAIN: FileOptions = FileOptions { direct: false, write_through: false };

/// The path at which the file of this path is made.
pub fn new_path(path: &Path) -> PathBuf {
    path_with(path, NEW)
}

/// The path at which a file in place of a lost one of this path is made.
pub fn temporary_path(path: &Path) -> PathBuf {
    path_with(path, TEMPORARY_NAME_END)
}

fn path_with(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

/// The files of one kind that a statement is making.
pub struct NewFiles<'a> {
    disk: &'a Disk,
    /// The database that they belong to.
    database: u64,
    kind: &'static str,
    /// The end of a file's name until it gets its own.
    end: &'static str,
    /// Each file's own path, and the file, locked, under a leftover's name.
    made: Vec<(PathBuf, File)>,
}

impl<'a> NewFiles<'a> {
    /// No files yet, for this database. Messages call a file `kind`.
    pub fn new(disk: &'a Disk, database: u64, kind: &'static str) -> NewFiles<'a> {
        NewFiles { disk, database, kind, end: NEW, made: Vec::new() }
    }

    /// As [`NewFiles::new`], for files in place of listed ones that are lost.
    pub fn in_place_of_lost(disk: &'a Disk, database: u64, kind: &'static str) -> NewFiles<'a> {
        NewFiles { end: TEMPORARY_NAME_END, ..NewFiles::new(disk, database, kind) }
    }

    /// Makes the file that is to have this path: `make` makes it, locked, under the path that it is
    /// given. Refused if the name is taken, or is a leftover's.
    pub fn make(
        &mut self,
        path: &Path,
        make: impl FnOnce(&Path) -> Result<File, Stop>,
        session: &Session,
    ) -> Result<(), Stop> {
        self.check_name(path, session)?;
        let new = path_with(path, self.end);
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

    /// Refuses the path of a file that is to be made, if the name is taken, or is a leftover's.
    pub fn check_name(&self, path: &Path, session: &Session) -> Result<(), Stop> {
        match leftovers_end(path) {
            Some(why) => Err(self.refused(RefusalKind::Invalid, path, &why)),
            None => self.check_free(path, session),
        }
    }

    /// Refuses if a file's own name has been taken since it was made. Another maker can't have
    /// taken it: the file under the leftover's name is locked.
    pub fn check_names(&self, session: &Session) -> Result<(), Stop> {
        self.made.iter().try_for_each(|(path, _)| self.check_free(path, session))
    }

    /// The paths at which the files are now.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.made.iter().map(|(_, file)| file.path())
    }

    /// Gives each file its own name, durably. All stay locked until the last has its name.
    pub fn give_names(self, session: &Session) -> Result<(), Stop> {
        for (path, locked) in &self.made {
            self.disk.rename(locked.path(), path, session)?;
        }
        Ok(())
    }

    /// Removes the files, which aren't listed. A file that can't be removed is left to the next
    /// attempt.
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

/// The path of a listed file that a crash kept from getting its own name. `None` if it has that, or
/// isn't there.
pub fn unnamed_path(disk: &Disk, path: &Path, session: &Session) -> Result<Option<PathBuf>, Error> {
    let new = new_path(path);
    let is_new =
        !disk.has_name(path, session)? && disk.look_up(&new, session)? == Some(NameKind::File);
    Ok(is_new.then_some(new))
}

/// Gives a listed file its own name, if a crash came before that. A file that another session is
/// just making isn't the listed one, and is left alone (SP21).
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

/// The reason to refuse this name for a file, if it ends as the name of a leftover.
pub(crate) fn leftovers_end(path: &Path) -> Option<String> {
    let name = path.as_os_str().as_encoded_bytes();
    let ends = [NEW, TEMPORARY_NAME_END];
    let end = ends.iter().find(|end| name.ends_with(end.as_bytes()))?;
    Some(format!(
        "the next opening would remove it, for names that end in {end} are those of leftovers"
    ))
}

/// What is there under a leftover's name after an attempt to remove it.
enum Leftover {
    /// Nothing is there, or not any more.
    Gone,
    /// Another session is making the file and has its lock; or its header is another database's,
    /// which may list it.
    InUse,
    /// It is no regular file, so no database has left it.
    NoFile,
}

/// Removes a leftover, if it is there and belongs to no other maker or database.
fn remove_leftover(
    disk: &Disk,
    path: &Path,
    database: u64,
    session: &Session,
) -> Result<Leftover, Error> {
    match disk.look_up(path, session)? {
        None => return Ok(Leftover::Gone),
        Some(NameKind::Link | NameKind::Other) => return Ok(Leftover::NoFile),
        Some(NameKind::File) => {}
    }
    match disk.open_read_only(path, PLAIN, session) {
        // The maker that had the lock may have given the file its own name, and another maker may
        // be at work.
        Ok(file) if !file.try_lock()? || !disk.has_its_name(&file, session)? => Ok(Leftover::InUse),
        Ok(locked) => {
            let found = match database_of(&locked, session) {
                // The power may have cut off the write of its header: no database can use it
                // (SP26).
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

/// The leftovers that an opening removes: those in the database's directory, and what a clearing
/// has left beside redo logs elsewhere. A file that `content` lists is none.
pub fn leftovers(
    disk: &Disk,
    directory: &Path,
    content: &ControlContent,
    session: &Session,
) -> Result<Vec<PathBuf>, Error> {
    let own = content.paths().map(|path| disk.place_of(&directory.join(path)));
    let mut places: BTreeSet<PathBuf> = own.collect();
    let names = disk.list(directory, session)?.into_iter();
    let inside = names.filter(|name| name.ends_with(NEW) || name.ends_with(TEMPORARY_NAME_END));
    let members = content.log_groups.iter().flat_map(|group| &group.members);
    let cleared = members.map(|member| temporary_path(Path::new(&member.path)));
    let elsewhere = cleared.filter(|path| path.is_absolute());
    let all = inside.map(|name| directory.join(name)).chain(elsewhere);
    let is_there = |path: &PathBuf| disk.has_name(path, session).unwrap_or(false);
    Ok(all.filter(|path| is_there(path) && places.insert(disk.place_of(path))).collect())
}

/// Removes the leftovers, except files that may be waiting for a listed name. A leftover that can't
/// be examined or removed stays, with a notice.
pub fn remove_leftovers(
    disk: &Disk,
    directory: &Path,
    content: &ControlContent,
    session: &Session,
) -> Result<(), Stop> {
    let waiting = content.paths().map(|path| disk.place_of(&new_path(&directory.join(path))));
    let waiting: BTreeSet<PathBuf> = waiting.collect();
    for path in leftovers(disk, directory, content, session)? {
        let name = path.strip_prefix(directory).unwrap_or(&path).display();
        let left_by = match path.as_os_str().as_encoded_bytes().ends_with(NEW.as_bytes()) {
            true => "an attempt to make it",
            false => "a sort, a probe or a clearing of redo logs that was cut off",
        };
        if waiting.contains(&disk.place_of(&path)) {
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

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

use format::TEMPORARY_NAME_END;
use os::{Cause, Disk, File, FileOptions, Session};
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
        let name = path.as_os_str().as_encoded_bytes();
        let ends = [NEW, TEMPORARY_NAME_END];
        if let Some(end) = ends.iter().find(|end| name.ends_with(end.as_bytes())) {
            let why = format!(
                "the next opening would remove it, for names that end in {end} are those of \
                 leftovers"
            );
            return Err(self.refused(RefusalKind::Invalid, path, &why));
        }
        self.check_free(path, session)?;
        let new = new_path(path);
        if !remove_leftover(self.disk, &new, self.database, session)? {
            let why = "another program is making it, it is listed under another spelling, or it is \
                       another database's";
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
        match is_there(self.disk, path, session)? {
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

/// A file that is listed gets its name, if a crash came before that. One that another is just
/// making isn't it, and is left alone (SP21).
pub fn settle_name(disk: &Disk, path: &Path, session: &Session) -> Result<(), Stop> {
    if is_there(disk, path, session)? {
        return Ok(());
    }
    let new = new_path(path);
    let file = match disk.open_read_only(&new, PLAIN, session) {
        Err(error) if error.cause() == Cause::NotFound => return Ok(()),
        file => file?,
    };
    if file.try_lock()? && disk.has_its_name(&file, session)? {
        disk.rename(&new, path, session)?;
    }
    Ok(())
}

pub(crate) fn is_there(disk: &Disk, path: &Path, session: &Session) -> Result<bool, Stop> {
    match disk.open_read_only(path, PLAIN, session) {
        Ok(_) => Ok(true),
        Err(error) if error.cause() == Cause::NotFound => Ok(false),
        Err(error) => Err(Stop::from(error)),
    }
}

/// Removes a file that ends in a leftover's name, if it is there; false if somebody is just making
/// it, and so has its lock, or if its header says that it is another database's, which may list it.
fn remove_leftover(
    disk: &Disk,
    path: &Path,
    database: u64,
    session: &Session,
) -> Result<bool, Stop> {
    match disk.open_read_only(path, PLAIN, session) {
        // Whoever had the lock may have given the file its own name, and the next one be at work.
        Ok(file) if !file.try_lock()? || !disk.has_its_name(&file, session)? => Ok(false),
        Ok(locked) => {
            if database_of(&locked, session)?.is_some_and(|found| found != database) {
                return Ok(false);
            }
            disk.remove(path, session)?;
            Ok(true)
        }
        Err(error) if error.cause() == Cause::NotFound => Ok(true),
        Err(error) => Err(Stop::from(error)),
    }
}

/// Removes what attempts that were cut off have left in the database's directory, but for what
/// `content` lists: that waits for its name.
pub fn remove_leftovers(
    disk: &Disk,
    directory: &Path,
    content: &ControlContent,
    session: &Session,
) -> Result<(), Stop> {
    let listed: BTreeSet<PathBuf> =
        content.paths().map(|path| disk.place_of(&new_path(&directory.join(path)))).collect();
    for name in disk.list(directory, session)? {
        let left_by = match () {
            () if name.ends_with(NEW) => "an attempt to make it",
            () if name.ends_with(TEMPORARY_NAME_END) => "a sort that was cut off",
            () => continue,
        };
        let path = directory.join(&name);
        if listed.contains(&disk.place_of(&path)) {
            session.os().notice(&format!(
                "{name} is kept, for the control file lists a file that may be waiting for its name"
            ));
        } else if remove_leftover(disk, &path, content.database, session)? {
            session.os().notice(&format!("{name}, left by {left_by}, is removed"));
        }
    }
    Ok(())
}

//! The name of a file that isn't the database's yet (SP10).
//!
//! ```text
//!   x.forebay-new made, durable ─▶ control file lists x ─▶ renamed x ─▶ in use
//! ```
//!
//! Under that name it is only ever a leftover: what isn't listed is removed, what is gets its own.
//!
//! Callers: `ddl`; `instance`, for redo logs.

use std::path::{Path, PathBuf};

use format::TEMPORARY_NAME_END;
use os::{Cause, Disk, FileOptions, Session};
use stop::{RefusalKind, Stop};

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

/// Where to make a file, of this kind, that is to have this name: refused if it is taken; a
/// leftover is removed. Refused too if it is the name of a leftover.
pub fn clear_new(disk: &Disk, path: &Path, kind: &str, session: &Session) -> Result<PathBuf, Stop> {
    let name = path.as_os_str().as_encoded_bytes();
    if let Some(end) = [NEW, TEMPORARY_NAME_END].iter().find(|end| name.ends_with(end.as_bytes())) {
        let message = format!(
            "cannot make {kind} {}: the next opening would remove it, for names that end in {end} \
             are those of leftovers; choose another",
            path.display()
        );
        return Err(Stop::refuse(RefusalKind::Invalid, message));
    }
    if is_there(disk, path, session)? {
        let message = format!(
            "cannot make {kind} {}: there is a file of this name; choose another",
            path.display()
        );
        return Err(Stop::refuse(RefusalKind::AlreadyExists, message));
    }
    let new = new_path(path);
    if !remove_leftover(disk, &new, session)? {
        let message = format!(
            "cannot make {kind} {}: another program is making it, or it is listed under another \
             spelling; choose another",
            path.display()
        );
        return Err(Stop::refuse(RefusalKind::AlreadyExists, message));
    }
    Ok(new)
}

/// The file that was made gets its name, durably.
pub fn give_name(disk: &Disk, path: &Path, session: &Session) -> Result<(), Stop> {
    Ok(disk.rename(&new_path(path), path, session)?)
}

/// A file that is listed gets its name, if a crash came before that.
pub fn settle_name(disk: &Disk, path: &Path, session: &Session) -> Result<(), Stop> {
    if !is_there(disk, path, session)? && is_there(disk, &new_path(path), session)? {
        give_name(disk, path, session)?;
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
/// it, and so has its lock.
fn remove_leftover(disk: &Disk, path: &Path, session: &Session) -> Result<bool, Stop> {
    match disk.open_read_only(path, PLAIN, session) {
        Ok(file) if !file.try_lock()? => Ok(false),
        Ok(_locked) => {
            disk.remove(path, session)?;
            Ok(true)
        }
        Err(error) if error.cause() == Cause::NotFound => Ok(true),
        Err(error) => Err(Stop::from(error)),
    }
}

/// Removes what attempts that were cut off have left in the database's directory. After all that
/// is listed has its name.
pub fn remove_leftovers(disk: &Disk, directory: &Path, session: &Session) -> Result<(), Stop> {
    for name in disk.list(directory, session)? {
        let left_by = match () {
            () if name.ends_with(NEW) => "an attempt to make it",
            () if name.ends_with(TEMPORARY_NAME_END) => "a sort that was cut off",
            () => continue,
        };
        if remove_leftover(disk, &directory.join(&name), session)? {
            session.os().notice(&format!("{name}, left by {left_by}, is removed"));
        }
    }
    Ok(())
}

//! The place of a database, and its files that lie elsewhere (rule SP22).
//!
//! The control file in a copy of a database's directory lists the original's files outside of it.
//! A control file has the place in which it was written. In another place it belongs to a copy, or
//! the directory was moved; only a person can tell which.
//!
//! Callers: `control`; `ddl`; `instance`, before it opens anything else, and when it lists files.

use std::path::{Path, PathBuf};

use os::{Disk, Error, NameKind, Session};
use stop::{RefusalKind, Stop};

use crate::ControlContent;
use crate::control::{ControlFile, NAMES};

/// The hash by which the control file knows its place.
pub(crate) fn place_of(disk: &Disk, directory: &Path) -> u64 {
    hash_of(own_place(disk, directory).as_os_str().as_encoded_bytes())
}

/// The hash by which the control file knows a path or a text: FNV-1a, and not 0.
pub(crate) fn hash_of(bytes: &[u8]) -> u64 {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    hash.max(1)
}

fn own_place(disk: &Disk, directory: &Path) -> PathBuf {
    disk.place_of(&directory.join(NAMES[0]))
}

/// A path as the control file lists it: an absolute path of a file inside the database's directory
/// becomes relative to the directory, so that the file moves along with it.
pub fn within_directory(disk: &Disk, directory: &Path, path: &str) -> String {
    let file = Path::new(path);
    if !file.is_absolute() {
        return path.to_string();
    }
    let (own, place) = (own_place(disk, directory), disk.place_of(file));
    let inside = own.parent().and_then(|own| place.strip_prefix(own).ok());
    // By a link inside the directory the file may lie elsewhere.
    let inside = inside.or_else(|| file.strip_prefix(directory).ok());
    inside.and_then(Path::to_str).filter(|rest| !rest.is_empty()).unwrap_or(path).to_string()
}

impl ControlContent {
    /// Makes the paths of all files inside the directory relative to it.
    pub fn list_within(&mut self, disk: &Disk, directory: &Path) {
        let members = self.log_groups.iter_mut().flat_map(|group| &mut group.members);
        let members = members.map(|member| &mut member.path);
        for path in self.data_files.iter_mut().map(|file| &mut file.path).chain(members) {
            *path = within_directory(disk, directory, path);
        }
    }
}

impl ControlFile {
    /// Refuses a control file that was written in another directory if a listed file, a control
    /// file or one of `others` lies outside of this one.
    pub fn check_place(
        &self,
        disk: &Disk,
        directory: &Path,
        others: &[&str],
        session: &Session,
    ) -> Result<(), Stop> {
        let (said, here) = (self.content().place, place_of(disk, directory));
        if said == here || said == 0 {
            return Ok(());
        }
        let own = NAMES.iter().chain(others).copied();
        for path in own.chain(self.content().paths().map(String::as_str)) {
            if lies_outside(disk, directory, path, session)? {
                let (directory, path) = (directory.display(), directory.join(path));
                let path = path.display();
                let message = format!(
                    "cannot open the database in {directory}: it was used in another directory, \
                     and {path}, a file of it, lies outside of this one; if this is a copy, that \
                     file is the original's, and opening the copy would write to it: open the \
                     original; if the database was moved, say so by 'forebay moved {directory}'"
                );
                return Err(Stop::refuse(RefusalKind::WrongState, message));
            }
        }
        Ok(())
    }
}

/// Declares that the database was moved to this directory and is no copy: the files outside are its
/// own.
pub fn say_moved(disk: &Disk, directory: &Path, session: &Session) -> Result<(), Stop> {
    let mut control = ControlFile::open(disk, directory, false, session)?;
    control.prepare(None);
    Ok(control.settle(session)?)
}

/// The refusal of a database whose creation hasn't ended (SP3). Its files elsewhere may have been
/// removed, and another database may have their names by now.
pub fn unfinished(
    content: &ControlContent,
    disk: &Disk,
    directory: &Path,
    what: &str,
    session: &Session,
) -> Stop {
    let lies = |path: &&String| lies_outside(disk, directory, path, session).unwrap_or(true);
    let outside = content.paths().filter(lies).map(|path| directory.join(path));
    let outside: Vec<String> = outside.map(|path| path.display().to_string()).collect();
    let elsewhere = match outside.is_empty() {
        true => String::new(),
        false => format!(
            ", and of its files elsewhere those that are no other database's ({})",
            outside.join(", ")
        ),
    };
    let directory = directory.display();
    let message = format!(
        "cannot {what} {directory}: its creation didn't come to its end; remove it{elsewhere}, and \
         create it again"
    );
    Stop::refuse(RefusalKind::WrongState, message)
}

/// Whether a file lies outside the directory, also by a link. If something else than a file has its
/// name, opening it says so.
fn lies_outside(
    disk: &Disk,
    directory: &Path,
    path: &str,
    session: &Session,
) -> Result<bool, Error> {
    let file = directory.join(path);
    let own = own_place(disk, directory);
    let is_inside = own.parent().is_some_and(|own| disk.place_of(&file).starts_with(own));
    Ok(!is_inside || disk.look_up(&file, session)? == Some(NameKind::Link))
}

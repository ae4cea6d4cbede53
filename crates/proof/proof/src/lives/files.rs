//! What is looked at, copied and deleted as files; and the rows of an open database.
//!
//! Callers: `administer`, `bed`.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use database::{Database, Error};
use os::{Disk, FileOperation, FileOptions, Session};
use space::ControlFile;

use super::life::{ROWS_MAX, Rows};
use super::names::{NEW, OWN, PLACES, SHARED, place_of};
use crate::held::held;

const PLAIN: FileOptions = FileOptions { direct: false, write_through: false };

/// Where data files and members of redo log groups are.
pub(super) type Listed = (BTreeSet<String>, BTreeSet<String>);

/// Tables of these lives begin so.
pub(super) const TABLE: &str = "life";
/// The body of a row.
pub(super) fn body(id: i64) -> String {
    "b".repeat((id % 7 * 20) as usize) + &id.to_string()
}

/// What the control file of a database that nobody has open lists.
pub(super) fn look(disk: &Disk, directory: &str, session: &Session) -> Result<Listed, String> {
    let copies = ControlFile::look(disk, Path::new(directory), false, session);
    let copies = copies.map_err(|stop| stop.to_string())?;
    let whole = copies.iter().filter_map(|copy| copy.said.as_ref().ok());
    let newest = whole.max_by_key(|(version, _)| *version);
    let (_, content) = newest.ok_or_else(|| format!("{directory} has no whole control file"))?;
    let data = content.data_files.iter().map(|file| place_of(directory, &file.path));
    let members = content.log_groups.iter().flat_map(|group| &group.members);
    let logs = members.map(|member| place_of(directory, &member.path));
    Ok((data.collect(), logs.collect()))
}

/// Copies each file of a directory, byte for byte, to an empty one. False if there was no room or
/// something lay there.
pub(super) fn copy(disk: &Disk, from: &str, to: &str, session: &Session) -> bool {
    match disk.list(Path::new(to), session) {
        Ok(names) if names.is_empty() => {}
        Ok(_) => return false,
        Err(_) => {
            if disk.create_dir(Path::new(to), session).is_err() {
                return false;
            }
        }
    }
    let mut made = Vec::new();
    let done = copy_each(disk, from, to, &mut made, session);
    if done.is_err() {
        made.iter().for_each(|path: &String| _ = disk.remove(Path::new(path), session));
    }
    done.is_ok()
}

fn copy_each(
    disk: &Disk,
    from: &str,
    to: &str,
    made: &mut Vec<String>,
    session: &Session,
) -> Result<(), os::Error> {
    for name in disk.list(Path::new(from), session)? {
        let old = disk.open_read_only(&Path::new(from).join(&name), PLAIN, session)?;
        let mut bytes = vec![0; old.length()? as usize];
        old.read_at(0, &mut bytes, FileOperation::Fill.waiting(session))?;
        let path = place_of(to, &name);
        let new = disk.create(Path::new(&path), bytes.len() as u64, PLAIN, session)?;
        made.push(path);
        new.write_at(0, &bytes, FileOperation::Fill.waiting(session))?;
        new.sync(FileOperation::Sync.waiting(session))?;
    }
    Ok(())
}

/// Removes these files, and all that lies in the directory if it is to be cleared; the directory
/// too, if nothing is left there.
pub(super) fn delete(
    disk: &Disk,
    directory: &str,
    files: &BTreeSet<String>,
    all: bool,
    session: &Session,
) {
    let listed = if all { disk.list(Path::new(directory), session) } else { Ok(Vec::new()) };
    let listed = listed.unwrap_or_default().into_iter().map(|name| place_of(directory, &name));
    let every: BTreeSet<String> = files.iter().cloned().chain(listed).collect();
    for file in every {
        // One that was never made, or was lost before, isn't there.
        let _ = disk.remove(Path::new(&file), session);
    }
    let _ = disk.remove(Path::new(directory), session);
}

/// Removes what is no file of these databases, while nobody has one open: what creations and
/// deletions that were cut off have left. What may wait for its own name is the databases' matter,
/// but not in a directory without one.
pub(super) fn clean(
    disk: &Disk,
    lived: &BTreeSet<&str>,
    files: &BTreeSet<String>,
    session: &Session,
) -> Result<(), Error> {
    for directory in PLACES.into_iter().chain([SHARED]) {
        for name in disk.list(Path::new(directory), session).unwrap_or_default() {
            let file = place_of(directory, &name);
            let is_ours = lived.contains(directory) && OWN.contains(&name.as_str());
            let is_new = match name.strip_suffix(NEW) {
                None => false,
                Some(own) => {
                    lived.contains(directory)
                        || directory == SHARED
                        || files.contains(&place_of(directory, own))
                }
            };
            if !is_ours && !is_new && !files.contains(&file) {
                disk.remove(Path::new(&file), session)?;
            }
        }
    }
    Ok(())
}

/// The first of these files that isn't there, not even under the name that it has until a crash's
/// next opening.
pub(super) fn missing(
    disk: &Disk,
    files: &BTreeSet<String>,
    session: &Session,
) -> Result<Option<String>, Error> {
    for file in files {
        let new = format!("{file}{NEW}");
        if !disk.has_name(Path::new(file), session)? && !disk.has_name(Path::new(&new), session)? {
            return Ok(Some(file.clone()));
        }
    }
    Ok(None)
}

/// What is found by a check of a database that is shut.
pub(super) fn verify(disk: &Disk, directory: &str, session: &Session) -> Result<(), Verified> {
    let mut findings = Vec::new();
    let tell = &mut |finding: &verify::Finding| findings.push(finding.to_string());
    let mut task =
        verify::Task { pairs: &[], told_max: verify::TOLD_MAX, tell, go_on: &mut |_| true };
    match verify::closed(disk, Path::new(directory), PLAIN, &mut task, session) {
        Ok(report) if report.is_clean() => Ok(()),
        Ok(report) => Err(Verified::Wrong(format!("{}\n{report}", findings.join("\n")))),
        Err(stop) => Err(Verified::Refused(stop)),
    }
}

/// Why a database isn't known to be in order.
pub(super) enum Verified {
    Wrong(String),
    Refused(Error),
}

impl fmt::Display for Verified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verified::Wrong(what) => f.write_str(what),
            Verified::Refused(stop) => write!(f, "it can't be verified: {stop}"),
        }
    }
}

/// The rows of all tables of these lives, by a scan and by the primary key, if each is as it was
/// written.
pub(super) fn rows(database: &Database, session: &Session) -> Result<Rows, String> {
    let mut rows = Rows::new();
    let mut connection = database.connect_with(session);
    for table in database.catalog().definitions(session) {
        if !table.name.starts_with(TABLE) {
            continue;
        }
        let look = |row: &database::Row<'_>| {
            let id = row.get_i64(0).ok_or("a row has no number")?;
            match row.get_text(1) {
                Ok(Some(found)) if found == body(id) => Ok((id, ())),
                found => Err(format!("row {id} has {found:?}")),
            }
        };
        let found = held(&mut connection, &table.name, look).map_err(|wrong| wrong.0)?;
        rows.insert(table.name.clone(), found.into_keys().collect());
    }
    Ok(rows)
}

/// The number of the transaction that a row is of begins there.
pub(super) fn first_of(number: i64) -> i64 {
    number * ROWS_MAX
}

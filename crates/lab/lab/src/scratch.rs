//! The scratch folder: the loaded database, and the copy that runs use up (LB4).
//!
//! ```text
//!   forebay-lab-4f1c…/
//!     owner   locked as long as the experiment lives
//!     base/   as it was loaded; settings that alternate are measured in it
//!     run/    written over from base before each run
//! ```
//!
//! The kernel lets go of the lock when a process ends, however it ends. So the next experiment in
//! the same place finds folders that no experiment uses, removes them, and says so.

use std::path::{Path, PathBuf};

use os::{Disk, File, FileOperation, FileOptions, IoBuf, Session};
use stop::Stop;

const PREFIX: &str = "forebay-lab-";
const OWNER: &str = "owner";
/// The name of the file until it is locked.
const OWNER_TO_BE: &str = "owner.new";
const PLAIN: FileOptions = FileOptions { direct: false, write_through: false };
/// Bytes that are copied at once.
const PIECE: usize = 4 << 20;

pub(crate) struct Scratch<'s> {
    disk: Disk,
    root: PathBuf,
    direct: bool,
    session: &'s Session,
    /// The locked file; none if it couldn't be made.
    owner: Option<File>,
}

impl<'s> Scratch<'s> {
    pub(crate) fn make(
        disk: &Disk,
        parent: &Path,
        direct: bool,
        session: &'s Session,
    ) -> Result<Scratch<'s>, Stop> {
        clear_left(disk, parent, session)?;
        let name = format!("{PREFIX}{:016x}", session.os().random());
        let root = parent.join(name);
        disk.create_dir(&root, session)?;
        // From here on, dropping it removes the folder.
        let mut scratch = Scratch { disk: disk.clone(), root, direct, session, owner: None };
        scratch.own()?;
        disk.create_dir(&scratch.run(), session)?;
        Ok(scratch)
    }

    /// Makes the owner file, and locks it before it gets its name: a reader of that name never sees
    /// it unlocked while the experiment lives.
    fn own(&mut self) -> Result<(), os::Error> {
        let new = self.root.join(OWNER_TO_BE);
        self.owner = Some(self.disk.create(&new, 0, PLAIN, self.session)?);
        self.disk.rename(&new, &self.root.join(OWNER), self.session)
    }

    /// The folder of the loaded database; creating the database makes it.
    pub(crate) fn base(&self) -> PathBuf {
        self.root.join("base")
    }

    pub(crate) fn run(&self) -> PathBuf {
        self.root.join("run")
    }

    /// Makes `run` a copy of `base`. False if it was told to stop meanwhile.
    pub(crate) fn restore(&self, told_to_stop: &dyn Fn() -> bool) -> Result<bool, Stop> {
        let (disk, session) = (&self.disk, self.session);
        let options = FileOptions { direct: self.direct, write_through: false };
        let mut piece = IoBuf::zeroed(PIECE);
        let there = disk.list(&self.run(), session)?;
        for name in disk.list(&self.base(), session)? {
            let (from, to) = (self.base().join(&name), self.run().join(&name));
            let from = disk.open_read_only(&from, options, session)?;
            let length = from.length()?;
            let to = match there.contains(&name) {
                true => disk.open(&to, options, session)?,
                false => disk.create(&to, length, options, session)?,
            };
            let mut at = 0;
            while at < length {
                if told_to_stop() {
                    return Ok(false);
                }
                let bytes = (length - at).min(PIECE as u64) as usize;
                from.read_at(at, &mut piece[..bytes], FileOperation::Read.waiting(session))?;
                to.write_at(at, &piece[..bytes], FileOperation::Fill.waiting(session))?;
                at += bytes as u64;
            }
            to.sync(FileOperation::Sync.waiting(session))?;
        }
        Ok(true)
    }
}

/// Removes what killed experiments had left in this directory.
pub(crate) fn clear_left(disk: &Disk, parent: &Path, session: &Session) -> Result<(), os::Error> {
    let names = disk.list(parent, session)?;
    for old in names.iter().filter(|name| name.starts_with(PREFIX)) {
        clear(disk, &parent.join(old), session);
    }
    Ok(())
}

/// Removes the folder of an experiment that was killed. A folder that another experiment uses, or
/// may use, stays.
fn clear(disk: &Disk, root: &Path, session: &Session) {
    let shown = root.display();
    let owner = disk.open(&root.join(OWNER), PLAIN, session);
    let is_dead = owner.and_then(|owner| owner.try_lock().map(|locked| (locked, owner)));
    let said = match is_dead {
        Ok((true, _owner)) => match remove(disk, root, session) {
            Ok(bytes) => format!(
                "{shown}, {} MB that an experiment had left when it was killed, is removed",
                bytes / 1_000_000
            ),
            Err(error) => format!(
                "{shown} was left by an experiment that was killed, and can be removed by hand: \
                 {error}"
            ),
        },
        Ok((false, _)) => format!("{shown} is in use by another experiment, which is measured too"),
        Err(error) => {
            format!("{shown} isn't known to be in use; remove it if no experiment is: {error}")
        }
    };
    session.os().notice(&said);
}

/// Removes a scratch folder. Returns how many bytes it had.
fn remove(disk: &Disk, root: &Path, session: &Session) -> Result<u64, os::Error> {
    let mut bytes = 0;
    for directory in ["base", "run"].map(|name| root.join(name)) {
        // Not there if the experiment ended before it was made.
        let Ok(names) = disk.list(&directory, session) else { continue };
        for name in names {
            let path = directory.join(name);
            let length = disk.open_read_only(&path, PLAIN, session).and_then(|file| file.length());
            bytes += length.unwrap_or(0);
            disk.remove(&path, session)?;
        }
        disk.remove(&directory, session)?;
    }
    for name in [OWNER_TO_BE, OWNER] {
        if disk.list(root, session)?.iter().any(|there| there == name) {
            disk.remove(&root.join(name), session)?;
        }
    }
    disk.remove(root, session).map(|()| bytes)
}

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        if let Err(error) = remove(&self.disk, &self.root, self.session) {
            let root = self.root.display();
            self.session
                .os()
                .notice(&format!("{root} is left and can be removed by hand: {error}"));
        }
    }
}

//! The scratch folder: the loaded database, and the copy that runs use up (LB4).
//!
//! ```text
//!   forebay-lab-4f1c…/
//!     base/   as it was loaded, and never opened again
//!     run/    written over from base before each run
//! ```

use std::path::{Path, PathBuf};

use os::{Disk, FileOperation, FileOptions, IoBuf, Session};
use stop::Stop;

const PREFIX: &str = "forebay-lab-";
/// Files are copied in pieces of so many bytes.
const PIECE: usize = 4 << 20;

pub(crate) struct Scratch<'s> {
    disk: Disk,
    root: PathBuf,
    direct: bool,
    session: &'s Session,
}

impl<'s> Scratch<'s> {
    pub(crate) fn make(
        disk: &Disk,
        parent: &Path,
        direct: bool,
        session: &'s Session,
    ) -> Result<Scratch<'s>, Stop> {
        let is_old = |name: &&String| name.starts_with(PREFIX);
        if let Some(old) = disk.list(parent, session)?.iter().find(is_old) {
            let old = parent.join(old);
            session.os().notice(&format!(
                "{} was left by an experiment that was killed, or is in use by another one; remove \
                 it if not",
                old.display()
            ));
        }
        let name = format!("{PREFIX}{:016x}", session.os().random());
        let root = parent.join(name);
        disk.create_dir(&root, session)?;
        let scratch = Scratch { disk: disk.clone(), root, direct, session };
        disk.create_dir(&scratch.run(), session)?;
        Ok(scratch)
    }

    /// Made by who creates the database there.
    pub(crate) fn base(&self) -> PathBuf {
        self.root.join("base")
    }

    pub(crate) fn run(&self) -> PathBuf {
        self.root.join("run")
    }

    /// Makes `run` what `base` is. False if told to stop meanwhile.
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

    fn remove(&self) -> Result<(), os::Error> {
        for directory in [self.base(), self.run()] {
            for name in self.disk.list(&directory, self.session).unwrap_or_default() {
                self.disk.remove(&directory.join(name), self.session)?;
            }
            // Not there if the experiment ended before it was made.
            let _ = self.disk.remove(&directory, self.session);
        }
        self.disk.remove(&self.root, self.session)
    }
}

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.remove() {
            let root = self.root.display();
            self.session
                .os()
                .notice(&format!("{root} is left and can be removed by hand: {error}"));
        }
    }
}

//! The data files: from a block's address to a file, an offset and a block size.
//!
//! Files are added while the cache is in use, so a latch protects the list. A session looks there
//! when it reads or writes a block, not when it finds the block in the cache.
//!
//! Invariants
//!   * a file stays in the list, with its block size (CB19); so a `DataFile` stays right
//!
//! Callers: `get`, `multiblock` and `direct` (reads), `batch` (writes), `doublewrite` (restores).

use std::path::Path;
use std::sync::Arc;

use format::{BlockFault, RESTORE_ALL};
use ids::{BlockSize, Dba, FileNo, Scn};
use latch::{Latch, LatchKind};
use os::{Cost, File, Os, Session};
use stop::{RefusalKind, Stop};

use crate::get::kib;
use crate::versions::Versions;

/// A data file that is open.
#[derive(Clone)]
pub struct DataFile {
    /// Its number.
    pub number: FileNo,
    /// The file.
    pub file: File,
    /// The size of its blocks.
    pub block_size: BlockSize,
    /// The versions of its blocks as last written, if the cache notes them.
    versions: Option<Arc<Latch<Versions>>>,
}

impl DataFile {
    /// A data file, whose versions a cache notes once it is added there.
    pub fn new(number: FileNo, file: File, block_size: BlockSize) -> DataFile {
        DataFile { number, file, block_size, versions: None }
    }

    /// The byte at which this block begins.
    pub(crate) fn offset(&self, address: Dba) -> u64 {
        address.block.byte_offset(self.block_size)
    }

    /// Notes that these blocks are durable at home as of these SCNs (CB20).
    pub(crate) fn note_written(&self, blocks: impl Iterator<Item = (Dba, Scn)>, session: &Session) {
        let Some(versions) = &self.versions else { return };
        let mut versions = versions.exclusive(session);
        for (address, scn) in blocks {
            versions.note(address.block, scn);
        }
    }

    /// Refuses a block that was read if it isn't whole, or is older than its last write. Zeros pass
    /// if the block was never written.
    pub(crate) fn check(&self, address: Dba, bytes: &[u8], session: &Session) -> Result<(), Stop> {
        session.charge(Cost::ChecksumKib, kib(bytes.len()));
        let found = match format::check(bytes, address) {
            Ok(header) => header.changed(),
            Err(BlockFault::NeverWritten { .. }) => Scn::ZERO,
            Err(fault) => {
                let message = format!("cannot use {}: {fault}", self.file.path().display());
                return Err(Stop::refuse(RefusalKind::Corrupt, message));
            }
        };
        let Some(versions) = &self.versions else { return Ok(()) };
        match versions.shared(session).newer_than(address.block, found) {
            None => Ok(()),
            Some(written) => Err(lost_write(self.file.path(), address, written, found)),
        }
    }
}

/// The files, in the order of their numbers.
pub(crate) struct Files {
    list: Latch<Vec<DataFile>>,
}

impl Files {
    pub(crate) fn new(os: &Os) -> Files {
        Files { list: Latch::new(os, LatchKind::Innermost, Vec::new()) }
    }

    pub(crate) fn all(&self, session: &Session) -> Vec<DataFile> {
        self.list.shared(session).clone()
    }

    /// Adds a file, whose versions are noted if `notes_versions`. Refused if there is a file of
    /// this number.
    pub(crate) fn add(
        &self,
        file: DataFile,
        notes_versions: bool,
        session: &Session,
    ) -> Result<(), Stop> {
        let versions =
            || Arc::new(Latch::new(session.os(), LatchKind::Innermost, Versions::default()));
        let file = DataFile { versions: notes_versions.then(versions), ..file };
        let mut list = self.list.exclusive(session);
        match list.binary_search_by_key(&file.number, |file| file.number) {
            Err(place) => {
                list.insert(place, file);
                Ok(())
            }
            Ok(_) => Err(Stop::refuse(
                RefusalKind::AlreadyExists,
                format!("cannot add file {}: the cache has a file of this number", file.number),
            )),
        }
    }

    /// The file of this number.
    pub(crate) fn find(&self, number: FileNo, session: &Session) -> Option<DataFile> {
        let list = self.list.shared(session);
        let place = list.binary_search_by_key(&number, |file| file.number).ok()?;
        Some(list[place].clone())
    }

    /// The file of this block. Refused if there is none.
    pub(crate) fn of(&self, address: Dba, session: &Session) -> Result<DataFile, Stop> {
        self.find(address.file, session).ok_or_else(|| {
            Stop::refuse(
                RefusalKind::NotFound,
                format!(
                    "cannot use file {} block {}: the database has no file of this number; what \
                     names this block is damaged",
                    address.file, address.block
                ),
            )
        })
    }
}

fn lost_write(path: &Path, address: Dba, written: Scn, found: Scn) -> Stop {
    let found = match found {
        Scn::ZERO => "nothing".to_owned(),
        found => format!("the block as of SCN {found}"),
    };
    let message = format!(
        "a write to file {} block {} ({}) was lost: it was written as of SCN {written}, and read \
         is {found}; the device loses writes that it has acknowledged: replace it, and \
         {RESTORE_ALL}",
        address.file,
        address.block,
        path.display()
    );
    Stop::refuse(RefusalKind::Corrupt, message)
}

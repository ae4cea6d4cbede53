//! Checkpoints of data files: their numbers in the headers and in the control file (SP19, SP38).
//!
//! ```text
//!   control file announces n ─▶ headers have n, durable ─▶ control file requires n
//! ```
//!
//! Invariants
//!   * each header's number lies between the least that the control file has for its file and the
//!     highest that it has for all, at whatever moment a crash comes
//!
//! Callers: `recovery`, at its end; `instance`, where the checkpoint first moves, at log switches
//! and at shutdown.

use cache::DataFile;
use format::{FileHeader, ScnLe, U32Le, check, seal};
use ids::{BlockNo, Dba, Rba, Scn};
use os::{Cause, FileOperation, IoBuf, Session};
use stop::{RefusalKind, Stop};
use waits::WaitEvent;

use crate::data_file::{ExpectedFile, History};
use crate::{ControlContent, DataFileContent};

/// A checkpoint of data files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileCheckpoint {
    /// Its number, which the control file has announced.
    pub number: u32,
    /// Every change below this address is durable in the files.
    pub at: Rba,
    /// The last SCN below it.
    pub scn: Scn,
}

impl FileCheckpoint {
    /// Writes the checkpoint into the headers of these files, durably. After a failure a header has
    /// its old or its new content, since its fields lie in one sector (M1).
    pub fn write(&self, files: &[DataFile], session: &Session) -> Result<(), Stop> {
        for file in files {
            self.write_header(file, read_header(file, session)?, session)?;
        }
        sync(files, session)
    }

    /// As `write`, but leaves out files whose header can't be read, because of the device or for
    /// want of memory: they keep their numbers. Returns the files that were written.
    pub fn write_where_it_can(
        &self,
        files: &[DataFile],
        session: &Session,
    ) -> Result<Vec<DataFile>, Stop> {
        let mut written = Vec::with_capacity(files.len());
        for file in files {
            match read_header(file, session) {
                Err(error) if matches!(error.cause(), Cause::Device | Cause::NoMemory) => {
                    session.os().notice(&format!(
                        "a checkpoint leaves the header of a data file as it is, for I {error}"
                    ));
                }
                header => {
                    self.write_header(file, header?, session)?;
                    written.push(file.clone());
                }
            }
        }
        sync(&written, session)?;
        Ok(written)
    }

    fn write_header(
        &self,
        DataFile { number, file, .. }: &DataFile,
        mut block: IoBuf,
        session: &Session,
    ) -> Result<(), Stop> {
        let address = Dba { file: *number, block: BlockNo::new(0) };
        check(&block, address).map_err(|fault| {
            let path = file.path().display();
            let message = format!("cannot write a checkpoint into the header of {path}: {fault}");
            Stop::refuse(RefusalKind::Corrupt, message)
        })?;
        let header = FileHeader::at_mut(&mut block, FileHeader::START);
        header.checkpoint_number = U32Le::new(self.number);
        header.checkpoint_sequence = U32Le::new(self.at.sequence);
        header.checkpoint_block = U32Le::new(self.at.block);
        header.checkpoint_scn = ScnLe::new(self.scn);
        seal(&mut block, address);
        let what = u64::from(number.get());
        let waiting = session.waiting(WaitEvent::DbFileSingleWrite).p(what, 0, 1);
        Ok(file.write_at(0, &block, waiting)?)
    }
}

fn read_header(file: &DataFile, session: &Session) -> Result<IoBuf, os::Error> {
    let mut block = IoBuf::zeroed(file.block_size.bytes());
    let what = u64::from(file.number.get());
    let waiting = session.waiting(WaitEvent::DbFileSequentialRead).p(what, 0, 1);
    file.file.read_at(0, &mut block, waiting)?;
    Ok(block)
}

fn sync(files: &[DataFile], session: &Session) -> Result<(), Stop> {
    for data_file in files {
        data_file.file.sync(FileOperation::Sync.waiting(session))?;
    }
    Ok(())
}

impl ControlContent {
    /// The history of the database's data files.
    pub fn history(&self) -> History {
        History {
            database: self.database,
            incarnation: self.incarnation,
            checkpoint_number: self.checkpoint_number,
            checkpoint: (self.checkpoint, self.checkpoint_scn),
        }
    }

    /// The data file that this entry describes.
    pub fn expected<'a>(&self, entry: &'a DataFileContent) -> ExpectedFile<'a> {
        let (history, block_size) = (self.history(), self.block_size_of(entry));
        ExpectedFile { history, entry, block_size }
    }

    /// Announces the next checkpoint number, which headers of data files may then get.
    pub fn announce_checkpoint(&mut self) {
        let next = self.checkpoint_number.checked_add(1);
        self.checkpoint_number = next.expect("4 billion checkpoints of data files were made");
    }

    /// Whether a data file has got the number that was announced last: then the next checkpoint
    /// needs another one.
    pub fn number_is_given(&self) -> bool {
        self.data_files.iter().any(|file| file.checkpoint_number == self.checkpoint_number)
    }

    /// Whether both list the same tablespaces, data files and redo logs, and say the same of each.
    pub fn lists_the_same(&self, other: &ControlContent) -> bool {
        self.tablespaces == other.tablespaces
            && self.data_files == other.data_files
            && self.log_groups == other.log_groups
    }

    /// Requires a checkpoint's number of the headers of these data files.
    pub fn require_checkpoint(&mut self, checkpoint: &FileCheckpoint, files: &[DataFile]) {
        for entry in &mut self.data_files {
            if files.iter().any(|file| file.number == entry.number) {
                entry.checkpoint_number = checkpoint.number;
            }
        }
    }
}

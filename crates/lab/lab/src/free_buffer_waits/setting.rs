//! The cells of the table.
//!
//! Callers: `run`, `report`, `asked`.

use std::fmt;

use instance::Parameters;
use os::FilesystemIo;
use report::number::counted;

/// How blocks are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Setting {
    /// `filesystemio_options`.
    pub io: FilesystemIo,
    /// `db_writer_processes`.
    pub writers: u32,
    /// `dbwr_io_slaves`.
    pub slaves: u32,
}

/// The most writers of any setting, and so the fewest working sets: they are the same in all (LB1).
pub(super) const WRITERS_MAX: u32 = 36;
/// Writers and slaves that each of the four `filesystemio_options` is tried with.
const PROCESSES: [(u32, u32); 5] = [(1, 0), (4, 0), (WRITERS_MAX, 0), (1, 32), (4, 32)];

impl Setting {
    /// All of the table, row by row.
    pub fn all() -> Vec<Setting> {
        let of = |io| PROCESSES.map(|(writers, slaves)| Setting { io, writers, slaves });
        FilesystemIo::ALL.into_iter().flat_map(of).collect()
    }

    /// In a sentence: `none, 36 writers, 0 slaves`.
    pub(super) fn short(&self) -> String {
        let (writers, slaves) = (u64::from(self.writers), u64::from(self.slaves));
        format!("{}, {}, {}", self.io, counted(writers, "writer"), counted(slaves, "slave"))
    }

    pub(super) fn apply(&self, parameters: &mut Parameters) {
        parameters.filesystemio_options = self.io;
        parameters.db_writer_processes = self.writers;
        parameters.dbwr_io_slaves = self.slaves;
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Setting { io, writers, slaves } = self;
        write!(f, "filesystemio_options = {io}, db_writer_processes = {writers}, ")?;
        write!(f, "dbwr_io_slaves = {slaves}")
    }
}

//! The operations on a file as a whole: p1 of *Disk file operations I/O*.
//!
//! Callers: all of this crate, and code elsewhere that names such a wait for a call of its own.

use waits::WaitEvent;

use crate::{Session, Waiting};

/// One operation; its number is what views and traces show. Numbers stay as they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileOperation {
    /// A file is created.
    Create = 1,
    /// A file is opened.
    Open = 2,
    /// A file is extended or truncated.
    Resize = 3,
    /// A file is renamed.
    Rename = 4,
    /// A file or a directory is removed.
    Remove = 5,
    /// The data written to a file is made durable.
    Sync = 6,
    /// The entries of a directory are made durable.
    SyncDirectory = 7,
    /// The names in a directory are read.
    List = 8,
    /// Bytes are read from a file that isn't the database's.
    Read = 9,
    /// A new file is filled.
    Fill = 10,
    /// A directory is created.
    CreateDirectory = 11,
    /// A lock that another opening has is waited for.
    Lock = 12,
    /// A name in a directory is looked up.
    LookUp = 13,
}

impl FileOperation {
    /// The verb that error messages put before a path.
    pub(crate) fn verb(self) -> &'static str {
        match self {
            FileOperation::Create => "create",
            FileOperation::Open => "open",
            FileOperation::Resize => "resize",
            FileOperation::Rename => "rename",
            FileOperation::Remove => "remove",
            FileOperation::Sync => "sync",
            FileOperation::SyncDirectory => "sync directory",
            FileOperation::List => "list",
            FileOperation::Read => "read",
            FileOperation::Fill => "fill",
            FileOperation::CreateDirectory => "create directory",
            FileOperation::Lock => "lock",
            FileOperation::LookUp => "look up",
        }
    }

    /// The wait for the operation. The file's number and type are 0: a disk knows no database
    /// files.
    #[inline]
    pub fn waiting(self, session: &Session) -> Waiting<'_> {
        session.waiting(WaitEvent::DiskFileOperations).p(self as u64, 0, 0)
    }
}

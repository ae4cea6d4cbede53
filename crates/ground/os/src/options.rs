//! How a file is opened: caching, durability and the parameter that chooses both.

use std::fmt;
use std::str::FromStr;

/// What must be there before, and what after.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OpenMode {
    /// The file exists; it is read and written.
    Existing,
    /// The file exists; it is only read.
    ReadOnly,
    /// The file must not exist and is made, empty.
    CreateNew,
}

/// How the bytes travel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileOptions {
    /// Around the kernel's page cache (O_DIRECT): addresses and lengths must be aligned.
    pub direct: bool,
    /// Every write is durable when it returns (O_DSYNC); else after the next sync.
    pub write_through: bool,
}

/// The instance parameter `filesystemio_options`.
///
/// `none` and `asynch` are buffered *and* write-through: a plain buffered write would return at
/// the speed of memory, and then a database writer could never be behind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FilesystemIo {
    /// Buffered, O_DSYNC, one write at a time.
    None,
    /// Buffered, O_DSYNC, many in flight.
    Asynch,
    /// O_DIRECT, O_DSYNC, one write at a time.
    DirectIo,
    /// O_DIRECT, many in flight, one sync for a batch (the default).
    SetAll,
}

impl FilesystemIo {
    /// Every value, as the parameter lists them.
    pub const ALL: [FilesystemIo; 4] =
        [FilesystemIo::None, FilesystemIo::Asynch, FilesystemIo::DirectIo, FilesystemIo::SetAll];

    /// The value as a user writes it.
    pub const fn name(self) -> &'static str {
        match self {
            FilesystemIo::None => "none",
            FilesystemIo::Asynch => "asynch",
            FilesystemIo::DirectIo => "directio",
            FilesystemIo::SetAll => "setall",
        }
    }

    /// How files are opened under it.
    pub const fn file_options(self) -> FileOptions {
        match self {
            FilesystemIo::None | FilesystemIo::Asynch => {
                FileOptions { direct: false, write_through: true }
            }
            FilesystemIo::DirectIo => FileOptions { direct: true, write_through: true },
            FilesystemIo::SetAll => FileOptions { direct: true, write_through: false },
        }
    }

    /// The same with one I/O at a time.
    pub const fn one_at_a_time(self) -> FilesystemIo {
        match self {
            FilesystemIo::None | FilesystemIo::Asynch => FilesystemIo::None,
            FilesystemIo::DirectIo | FilesystemIo::SetAll => FilesystemIo::DirectIo,
        }
    }

    /// Whether a process keeps many I/Os in flight.
    pub const fn is_asynchronous(self) -> bool {
        matches!(self, FilesystemIo::Asynch | FilesystemIo::SetAll)
    }
}

impl fmt::Display for FilesystemIo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for FilesystemIo {
    type Err = String;

    fn from_str(text: &str) -> Result<FilesystemIo, String> {
        let found = FilesystemIo::ALL.into_iter().find(|v| v.name().eq_ignore_ascii_case(text));
        found.ok_or_else(|| {
            format!("filesystemio_options is none, asynch, directio or setall, not '{text}'")
        })
    }
}

/// What direct I/O demands of a file: both powers of two, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Alignment {
    /// Of the buffer's address.
    pub memory: u32,
    /// Of the offset in the file and of the length.
    pub offset: u32,
}

impl Alignment {
    /// Buffered I/O takes anything.
    pub const NONE: Alignment = Alignment { memory: 1, offset: 1 };
    /// What is right everywhere, where the kernel doesn't say.
    pub const SAFE: Alignment = Alignment { memory: 4096, offset: 4096 };
}

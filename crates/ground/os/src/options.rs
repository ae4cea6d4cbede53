//! Options for opening a file: caching, durability, and the parameter that chooses both.

use std::fmt;
use std::str::FromStr;

/// The state of the file before and after opening.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OpenMode {
    /// The file exists; it is read and written.
    Existing,
    /// The file exists; it is only read.
    ReadOnly,
    /// The file must not exist and is made, empty.
    CreateNew,
}

/// The caching and the durability of a file's I/O.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileOptions {
    /// Around the kernel's page cache (O_DIRECT): addresses and lengths must be aligned.
    pub direct: bool,
    /// Whether every write is durable when it returns (O_DSYNC); else after the next sync.
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

    /// The name of the value as a user writes it.
    pub const fn name(self) -> &'static str {
        match self {
            FilesystemIo::None => "none",
            FilesystemIo::Asynch => "asynch",
            FilesystemIo::DirectIo => "directio",
            FilesystemIo::SetAll => "setall",
        }
    }

    /// The options with which files are opened.
    pub const fn file_options(self) -> FileOptions {
        match self {
            FilesystemIo::None | FilesystemIo::Asynch => {
                FileOptions { direct: false, write_through: true }
            }
            FilesystemIo::DirectIo => FileOptions { direct: true, write_through: true },
            FilesystemIo::SetAll => FileOptions { direct: true, write_through: false },
        }
    }

    /// The value with the same caching and one I/O at a time.
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

/// The alignment that direct I/O needs: both are powers of two, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Alignment {
    /// The alignment of the buffer's address.
    pub memory: u32,
    /// The alignment of the file offset and of the length.
    pub offset: u32,
}

impl Alignment {
    /// No alignment, for buffered I/O.
    pub const NONE: Alignment = Alignment { memory: 1, offset: 1 };
    /// An alignment that is right everywhere, for kernels that don't report one.
    pub const SAFE: Alignment = Alignment { memory: 4096, offset: 4096 };
}

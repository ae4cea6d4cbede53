//! The errors that a simulated file system returns: Linux numbers, and one error of its own.
//!
//! `PowerLost` has no number, so that no retry loop can mistake it for an error of the device: the
//! machine is gone, and a caller that gets it can only unwind.

use std::fmt;
use std::io;

/// No such file or directory.
pub const ENOENT: i32 = 2;
/// The device failed.
pub const EIO: i32 = 5;
/// The file is not open.
pub const EBADF: i32 = 9;
/// The name is taken.
pub const EEXIST: i32 = 17;
/// A file stands where a directory is needed.
pub const ENOTDIR: i32 = 20;
/// A directory stands where a file is needed.
pub const EISDIR: i32 = 21;
/// The request is invalid (a name that is not UTF-8, a directory moved into itself).
pub const EINVAL: i32 = 22;
/// The file would exceed the largest file size.
pub const EFBIG: i32 = 27;
/// The capacity is exceeded.
pub const ENOSPC: i32 = 28;
/// The directory to be removed still has entries.
pub const ENOTEMPTY: i32 = 39;

pub(crate) fn error(number: i32) -> io::Error {
    io::Error::from_raw_os_error(number)
}

/// The error of every operation once the power is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PowerLost;

impl fmt::Display for PowerLost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the simulated machine has lost power; continue with one of its crash states")
    }
}

impl std::error::Error for PowerLost {}

/// Whether `error` says that the power was lost.
#[must_use]
pub fn is_power_lost(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<PowerLost>())
}

pub(crate) fn power_lost() -> io::Error {
    io::Error::other(PowerLost)
}

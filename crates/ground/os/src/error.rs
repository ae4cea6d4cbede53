//! Errors, as one line: the failed call and its object, the cause, and the remedy.

use std::fmt;
use std::io;
use std::path::Path;

/// The cause of a failure, as far as a caller would act on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// The file or directory doesn't exist.
    NotFound,
    /// The name is that of a directory, a pipe or a device where a file is needed.
    NotAFile,
    /// The file or directory exists already.
    AlreadyExists,
    /// The process lacks a right or a privilege.
    PermissionDenied,
    /// Another program, or another opening in this program, has locked the file.
    InUse,
    /// Two names that must be of two files are of one file.
    SameFile,
    /// The file is on a read-only file system.
    ReadOnly,
    /// The file system or the quota is full.
    NoSpace,
    /// The process, or the file system, allows no file of this size.
    FileTooLarge,
    /// The process, or the machine, has the most open files that it may have.
    TooManyFiles,
    /// The machine lacks the memory.
    NoMemory,
    /// The file system can't do direct I/O.
    DirectIoUnsupported,
    /// The kernel refuses io_uring.
    IoUringUnavailable,
    /// The file ended before the data.
    EndOfFile,
    /// The device reported an error.
    Device,
    /// A sync of this file failed before: what is on disk is unknown, and stays so.
    FailedForGood,
    /// The simulated machine lost power.
    PowerLost,
    /// The request was invalid: an unaligned address or length, or a value out of range.
    Invalid,
    /// Anything else.
    Other,
}

impl Cause {
    fn of(error: &io::Error) -> Cause {
        match error.raw_os_error() {
            Some(libc::ENOENT | libc::ENOTDIR) => Cause::NotFound,
            Some(libc::EEXIST) => Cause::AlreadyExists,
            Some(libc::EACCES | libc::EPERM) => Cause::PermissionDenied,
            Some(libc::EROFS) => Cause::ReadOnly,
            Some(libc::ENOSPC | libc::EDQUOT) => Cause::NoSpace,
            Some(libc::EFBIG) => Cause::FileTooLarge,
            Some(libc::EMFILE | libc::ENFILE) => Cause::TooManyFiles,
            Some(libc::ENOMEM) => Cause::NoMemory,
            // EIO, and the more exact errors of a kernel's block layer (block/blk-core.c:
            // blk_errors): timeout, transport, target, reservation, medium, protection, offline or
            // gone.
            Some(
                libc::EIO
                | libc::ETIMEDOUT
                | libc::ENOLINK
                | libc::EREMOTEIO
                | libc::EBADE
                | libc::ENODATA
                | libc::EILSEQ
                | libc::ENODEV
                | libc::ENXIO,
            ) => Cause::Device,
            Some(libc::EINVAL) => Cause::Invalid,
            // The kind decides, whatever the number.
            _ if error.kind() == io::ErrorKind::IsADirectory => Cause::NotAFile,
            Some(libc::EHOSTDOWN) => Cause::PowerLost,
            _ if error.kind() == io::ErrorKind::UnexpectedEof => Cause::EndOfFile,
            _ => Cause::Other,
        }
    }

    /// The advice to the user, where there is a general one.
    pub(crate) fn advice(self) -> &'static str {
        match self {
            Cause::NotFound => "check the path",
            Cause::NotAFile => "put the file there",
            Cause::AlreadyExists => "choose another name or remove it first",
            Cause::PermissionDenied => "give this user the right, or choose another place",
            Cause::InUse => "end the program that has it first, or use a copy that is whole",
            Cause::SameFile => "remove the second name, and put a file of its own there",
            Cause::ReadOnly => "choose a place on a writable file system",
            Cause::NoSpace => "free space there",
            Cause::FileTooLarge => {
                "a limit of the process (ulimit -f) or of the file system is met: raise it, or \
                 choose smaller files"
            }
            Cause::TooManyFiles => {
                "raise the limit on open files (ulimit -n), or the machine's (sysctl fs.file-max)"
            }
            Cause::NoMemory => {
                "ask for less, raise its limit (ulimit -v), or end programs that have it"
            }
            Cause::DirectIoUnsupported => {
                "set filesystemio_options to none or asynch, or use another file system"
            }
            Cause::IoUringUnavailable => "allow io_uring, or use I/O slaves",
            Cause::EndOfFile => "the file is shorter than it should be",
            Cause::Device => "look at the kernel's log and at the device",
            Cause::FailedForGood => "stop, check the device, and open again",
            Cause::PowerLost => "recover from what survived",
            Cause::Invalid | Cause::Other => "",
        }
    }
}

/// A failed call: verb and object, cause, advice. Prints as one line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    what: String,
    cause: Cause,
    detail: String,
    advice: String,
}

impl Error {
    /// The call `what` failed; the text begins with the verb: "create /data/system01.dbf".
    pub fn new(what: impl Into<String>, cause: Cause, detail: impl Into<String>) -> Error {
        let advice = cause.advice().to_string();
        Error { what: what.into(), cause, detail: detail.into(), advice }
    }

    /// The error of a call, from the operating system's error.
    pub fn from_io(what: impl Into<String>, error: &io::Error) -> Error {
        let text = error.to_string();
        let detail = text.split(" (os error").next().unwrap_or(&text).to_lowercase();
        Error::new(what, Cause::of(error), detail)
    }

    pub(crate) fn on(verb: &str, path: &Path, error: &io::Error) -> Error {
        Error::from_io(format!("{verb} {}", path.display()), error)
    }

    /// The same error with better advice for this caller.
    #[must_use]
    pub fn advise(mut self, advice: impl Into<String>) -> Error {
        self.advice = advice.into();
        self
    }

    /// The same error as part of a larger task: `cannot <what>: <this>`.
    #[must_use]
    pub fn while_doing(mut self, what: impl Into<String>) -> Error {
        self.detail = format!("cannot {}: {}", self.what, self.detail);
        self.what = what.into();
        self
    }

    /// The cause, as far as a caller would act on it.
    pub fn cause(&self) -> Cause {
        self.cause
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {}: {}", self.what, self.detail)?;
        if !self.advice.is_empty() {
            write!(f, "; {}", self.advice)?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    /// An error is one line that says what failed, on what, why, and what to do.
    #[test]
    fn an_error_says_what_failed_why_and_what_to_do() {
        let io = io::Error::from_raw_os_error(libc::ENOSPC);
        let error = Error::on("create", Path::new("/data/system01.dbf"), &io);
        assert_eq!(error.cause(), Cause::NoSpace);
        assert_eq!(
            error.to_string(),
            "cannot create /data/system01.dbf: no space left on device; free space there"
        );
        let io = io::Error::from_raw_os_error(libc::EMFILE);
        let error = Error::on("open", Path::new("/data/system01.dbf"), &io);
        assert!(error.to_string().contains("ulimit -n"), "{error}");
    }
}

//! What can go wrong in a race, told to the person who started it: what failed, on what, and what
//! to do.
//!
//! Callers: every module of this crate; closures of a race make [`Error::Failed`] from a string.

use std::fmt;

/// The result of everything fallible here.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a race could not be run to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The rival is not on the search path.
    Missing {
        /// The program that was looked for.
        program: &'static str,
        /// The Debian package that brings it.
        package: &'static str,
    },
    /// The request makes no sense as it stands; nothing was started or changed.
    Refused(String),
    /// Something was started and failed.
    Failed(String),
}

impl Error {
    /// A failed action on a thing, "cannot {action}: {cause}".
    pub(crate) fn cannot(action: impl fmt::Display, cause: impl fmt::Display) -> Error {
        Error::Failed(format!("cannot {action}: {cause}"))
    }

    /// The same error, told with where it happened.
    #[must_use]
    pub fn within(self, place: impl fmt::Display) -> Error {
        match self {
            Error::Missing { .. } => self,
            Error::Refused(what) => Error::Refused(format!("{place}: {what}")),
            Error::Failed(what) => Error::Failed(format!("{place}: {what}")),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Missing { program, package } => {
                write!(f, "{program} is not installed: apt-get install {package}")
            }
            Error::Refused(what) | Error::Failed(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for Error {}

impl From<String> for Error {
    fn from(what: String) -> Error {
        Error::Failed(what)
    }
}

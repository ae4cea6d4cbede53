//! Acknowledged commits: printing them as they come, and reading what was printed.
//!
//! ```text
//!   run --acknowledge ──▶ "SESSION NUMBER" a line ──▶ audit --acknowledged FILE
//! ```
//!
//! Callers: `run`, `audit`.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicI32, Ordering};

use os::{Disk, FileOptions, IoBuf, Session};
use stop::{RefusalKind, Stop};

use crate::output::Failure;

/// The most bytes of a file of acknowledged commits: it is read whole.
const BYTES_MAX: u64 = 1 << 30;

/// Prints acknowledged commits, and remembers whether they could be printed.
#[derive(Default)]
pub(super) struct CommitPrinter {
    /// The first error of standard output, as the system numbers it.
    error: AtomicI32,
}

impl CommitPrinter {
    /// Prints a commit's line in one write, whole: its reader may go on when this process is gone.
    pub(super) fn print(&self, session: u32, number: u64) {
        let line = format!("{session} {number}\n");
        if let Err(error) = std::io::stdout().lock().write_all(line.as_bytes()) {
            self.error.store(error.raw_os_error().unwrap_or(0), Ordering::Relaxed);
        }
    }

    /// Whether a commit couldn't be printed, also because its reader has gone away. Then the load
    /// ends, because nobody can be told of further commits.
    pub(super) fn has_failed(&self) -> bool {
        self.error.load(Ordering::Relaxed) != 0
    }

    pub(super) fn failure(&self) -> Option<Failure> {
        let error = std::io::Error::from_raw_os_error(self.error.load(Ordering::Relaxed));
        let failed = || os::Error::from_io("write to standard output", &error).into();
        self.has_failed().then(failed)
    }
}

/// Reads how many commits each session was told of.
pub(super) fn read_acknowledged(
    disk: &Disk,
    path: &Path,
    session: &Session,
) -> Result<Vec<(u32, u64)>, Stop> {
    let options = FileOptions { direct: false, write_through: false };
    let file =
        disk.open_read_only(path, options, session).map_err(|error| match error.cause() {
            os::Cause::NotAFile => {
                error.advise("write what comes from there to a file, and give that")
            }
            _ => error,
        })?;
    let length = file.length()?;
    if length > BYTES_MAX {
        let message = format!(
            "{} has {length} bytes, and at most {BYTES_MAX} are read; give what 'load run \
             --acknowledge' printed, of each session the last line at least",
            path.display()
        );
        return Err(Stop::refuse(RefusalKind::Invalid, message));
    }
    let length = length as usize;
    let mut text = IoBuf::zeroed(length.max(1));
    file.read_at(0, &mut text[..length], os::FileOperation::Read.waiting(session))?;
    let told = parse(&text[..length], path)?;
    Ok(told.into_iter().collect())
}

/// The highest number of each session.
fn parse(text: &[u8], path: &Path) -> Result<BTreeMap<u32, u64>, Stop> {
    let refuse = |message| Stop::refuse(RefusalKind::Invalid, message);
    let mut told: BTreeMap<u32, u64> = BTreeMap::new();
    let is_cut = !text.ends_with(b"\n");
    let lines = text.split(|byte| *byte == b'\n').count();
    for (line, number) in text.split(|byte| *byte == b'\n').zip(1..) {
        let words = std::str::from_utf8(line).unwrap_or("?");
        let mut numbers = words.split_whitespace().map(str::parse::<u64>);
        match (numbers.next(), numbers.next(), numbers.next()) {
            (None, ..) => {}
            (Some(Ok(session)), Some(Ok(commit)), None)
                if session <= u64::from(u32::MAX) && commit <= i64::MAX as u64 =>
            {
                let most = told.entry(session as u32).or_default();
                *most = commit.max(*most);
            }
            _ if is_cut && number == lines => {
                return Err(refuse(format!(
                    "line {number} of {} is its last and has no end: the file was cut short; give \
                     the whole file, or remove that line",
                    path.display()
                )));
            }
            _ => {
                return Err(refuse(format!(
                    "line {number} of {} isn't \"SESSION NUMBER\" but '{words}'",
                    path.display()
                )));
            }
        }
    }
    Ok(told)
}

//! What is refused before anything is loaded or made (LB23), and what the shapes say of their
//! audits (LB16).
//!
//! Callers: `redo_size`, `free_buffer_waits`, `block_size_scan`, `form`.

use experiment::{Commits, LEVELS_MAX};
use report::number::grouped;
use report::paragraph;
use stop::{RefusalKind, Stop};

/// Refuses no rounds: there would be nothing to report.
pub(crate) fn rounds(rounds: u32) -> Result<(), Stop> {
    match rounds {
        0 => Err(invalid("cannot measure in 0 rounds: ask for one or more")),
        _ => Ok(()),
    }
}

/// Refuses a table of no rounds, or with more cells than rows can tell apart.
pub(crate) fn table(count: u32, cells: usize) -> Result<(), Stop> {
    rounds(count)?;
    if cells > LEVELS_MAX.into() {
        return Err(invalid(format!("{cells} cells are more than {LEVELS_MAX}")));
    }
    Ok(())
}

pub(crate) fn invalid(message: impl Into<String>) -> Stop {
    Stop::refuse(RefusalKind::Invalid, message)
}

/// Whether commits survived the crash that `after` names, in a line.
pub(crate) fn commits_line(commits: Commits, after: &str) -> String {
    let lost = match commits.lost() {
        0 => "none".to_owned(),
        lost => format!("{} LOST", grouped(lost)),
    };
    let acknowledged = grouped(commits.acknowledged);
    let text =
        format!("Commits lost: {lost}, of {acknowledged} acknowledged, looked for after {after}.");
    paragraph(&text, "")
}

/// The warning of a report whose commits were lost, and nothing of one whose are there.
pub(crate) fn lost_warning(commits: Commits) -> String {
    match commits.lost() {
        0 => String::new(),
        _ => {
            "\nWARNING: Commits were lost: no figure of this engine is worth anything.\n".to_owned()
        }
    }
}

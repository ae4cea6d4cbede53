//! What is refused before anything is loaded or made (LB23).
//!
//! Callers: `redo_size`, `free_buffer_waits`, `form`.

use stop::{RefusalKind, Stop};

/// Refuses no rounds: there would be nothing to report.
pub(crate) fn rounds(rounds: u32) -> Result<(), Stop> {
    match rounds {
        0 => Err(invalid("cannot measure in 0 rounds: ask for one or more")),
        _ => Ok(()),
    }
}

pub(crate) fn invalid(message: impl Into<String>) -> Stop {
    Stop::refuse(RefusalKind::Invalid, message)
}

//! The end of a call before its work is done, as a refusal (rules K26 and K27).
//!
//! Callers: whatever waits or loops for a session's call, beside its look at the halt.

use os::{CallEnd, Session};

use crate::{Refusal, RefusalKind, Stop};

/// A refusal if the session's call was cancelled, or is out of time, and that isn't held off. It
/// costs a load, and takes no latch.
#[inline]
pub fn check_call(session: &Session) -> Result<(), Stop> {
    match session.call_end() {
        None => Ok(()),
        Some(end) => Err(ended_early(end)),
    }
}

#[cold]
fn ended_early(end: CallEnd) -> Stop {
    let message = match end {
        CallEnd::Cancelled => "the statement was cancelled".to_string(),
        CallEnd::OutOfTime(limit) => {
            format!("the statement was cancelled because of its time-out of {limit}")
        }
    };
    let hint = match end {
        CallEnd::Cancelled => "run it again to have it done",
        CallEnd::OutOfTime(_) => "give it more time, or have it do less",
    };
    Refusal::new(RefusalKind::Cancelled, message).hint(hint).into()
}

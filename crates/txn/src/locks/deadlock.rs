//! What people are told about a lock that couldn't be had: the circle, or who is in the way.
//!
//! A deadlock reads so, in at most 80 columns:
//!
//! ```text
//! deadlock: transaction 3.0.17 would wait for itself,
//! through 1 other, and is refused: roll it back, and try again. Who waits:
//! 1 3.0.17, session user1 (t4), refused now
//!     wants table ACCOUNTS (71) in mode X (6)
//!     5.0.9 has it in mode RX (3)
//! 2 5.0.9, session user2 (t5), for 1.20 s
//!     wants a row of object ACCOUNTS (71)
//!     at block 4/129 slot 7, in mode X (6)
//!     3.0.17 has the row locked
//! ```
//!
//! Callers: `manager.rs`.

use std::fmt::Write;
use std::sync::Arc;

use ids::TxnId;
use os::Session;
use waits::{Nanos, Timestamp};

use crate::locks::queues::Link;
use crate::locks::table::Reason;
use crate::locks::wanted::cut;
use crate::locks::{LockWanted, RowWanted};

/// Names in messages are cut to so much, that lines stay within 80 columns.
const NAME_CHARS_MAX: usize = 30;

/// What an object is called, if anybody knows. Asked without latches.
pub type ObjectNames = Arc<dyn Fn(u32, &Session) -> Option<String> + Send + Sync>;

/// So many transactions of a circle are described.
const SHOWN_MAX: usize = 12;

/// So many who are in the way are named.
pub(super) const BLOCKERS_MAX: usize = 3;

/// The circle, for people.
pub(super) fn circle(links: &[Link], now: Timestamp, name: impl Fn(u32) -> String) -> String {
    let victim = links[0].wait.waiter;
    let (count, plural) = (links.len() - 1, if links.len() == 2 { "" } else { "s" });
    let mut text = format!(
        "deadlock: transaction {victim} would wait for itself,\n\
         through {count} other{plural}, and is refused: roll it back, and try again. Who waits:"
    );
    for (number, Link { wait, blocker, reason }) in links.iter().take(SHOWN_MAX).enumerate() {
        let since = match number {
            0 => "refused now".to_string(),
            _ => format!("for {}", now.since(wait.since)),
        };
        let (waiter, who) = (wait.waiter, &wait.who);
        let wants = wants(&wait.wanted, &name, "\n    ");
        let reason = because(*reason, &wait.wanted);
        let number = number + 1;
        let _ = write!(text, "\n{number} {waiter}, session {who}, {since}");
        let _ = write!(text, "\n    wants {wants}\n    {blocker} {reason}");
    }
    if links.len() > SHOWN_MAX {
        let _ = write!(text, "\nand {} more", links.len() - SHOWN_MAX);
    }
    text
}

/// Those who are in the way, as many as are named, with what is known of their sessions.
pub(super) struct InTheWay {
    pub(super) named: Vec<(TxnId, Reason, Option<String>)>,
    pub(super) count: usize,
}

/// A lock that wasn't had in time, in one line.
pub(super) fn refused(
    wanted: &LockWanted,
    in_the_way: &InTheWay,
    waited: Option<Nanos>,
    name: impl Fn(u32) -> String,
) -> String {
    let what = wants(wanted, name, " ");
    let mut text = match waited {
        Some(waited) => format!("cannot lock {what} within {waited}: "),
        None => format!("cannot lock {what} without waiting, the resource is busy: "),
    };
    for (number, (id, reason, session)) in in_the_way.named.iter().enumerate() {
        let between = if number == 0 { "" } else { ", " };
        let session = session.as_ref().map_or_else(String::new, |who| format!(" of session {who}"));
        let reason = because(*reason, wanted);
        let _ = write!(text, "{between}transaction {id}{session} {reason}");
    }
    if in_the_way.count > in_the_way.named.len() {
        let _ = write!(text, ", and {} more", in_the_way.count - in_the_way.named.len());
    }
    text.push_str("; wait longer, or try again when it has ended");
    text
}

/// `ACCOUNTS (71)`, or the number alone.
pub(super) fn named(object: u32, name: Option<String>) -> String {
    match name {
        Some(name) => format!("{} ({object})", cut(&name, NAME_CHARS_MAX)),
        None => object.to_string(),
    }
}

/// In two lines or one: `between` goes between them.
fn wants(wanted: &LockWanted, name: impl Fn(u32) -> String, between: &str) -> String {
    match wanted {
        LockWanted::Row { wanted, .. } => {
            let RowWanted { what, object, block, slot } = wanted;
            let mode = if what.mode() == 6 { "X (6)" } else { "S (4)" };
            let (what, object) = (what.name(), name(*object));
            format!(
                "{what} of object {object}{between}at block {block} slot {slot}, in mode {mode}"
            )
        }
        LockWanted::Table { object, mode, converts: false } => {
            format!("table {} in mode {mode}", name(*object))
        }
        LockWanted::Table { object, mode, converts: true } => {
            format!("more of {}: mode {mode}", name(*object))
        }
    }
}

/// What the blocker does that the waiter waits for.
fn because(reason: Reason, wanted: &LockWanted) -> String {
    match (reason, wanted) {
        (Reason::Row, LockWanted::Row { wanted, .. }) => wanted.what.held().into(),
        (Reason::Row, LockWanted::Table { .. }) => unreachable!("a table isn't a row"),
        (Reason::Holds(mode), _) => format!("has it in mode {mode}"),
        (Reason::Converts(mode), _) => format!("has it, waits for mode {mode}, and goes first"),
        (Reason::First(mode), _) => format!("waits for it in mode {mode}, and was first"),
    }
}

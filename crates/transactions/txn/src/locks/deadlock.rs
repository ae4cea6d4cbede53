//! Messages about a lock that was refused: the cycle of a deadlock, or the transactions in the way.
//!
//! A deadlock reads so, in at most 80 columns:
//!
//! ```text
//! deadlock: transaction 3.0.17 would wait for itself,
//! through 1 other, and is refused: roll it back, and try again. The waits:
//! 1 3.0.17, session user1 (t4), refused now
//!     wants table ACCOUNTS (71) in mode X (6)
//!     5.0.9 has it in mode RX (3)
//! 2 5.0.9, session user2 (t5), for 1.20 s
//!     wants a row of table ACCOUNTS (71)
//!     with ID = 4711
//!     at block 4/129 slot 7, in mode X (6)
//!     3.0.17 has the row locked
//! ```
//!
//! Callers: `waiting`.

use std::fmt::Write;
use std::sync::Arc;

use ids::TxnId;
use os::Session;
use stop::{Refusal, RefusalKind};
use waits::{Nanos, Timestamp};

use crate::locks::queues::WaitsForEdge;
use crate::locks::table::BlockReason;
use crate::locks::wanted::cut;
use crate::locks::{LockWanted, RowWanted};

/// The length of names in messages, at most, so that lines stay within 80 columns.
const NAME_CHARS_MAX: usize = 30;
/// The length of keys in messages, at most.
const KEY_CHARS_MAX: usize = 70;

/// The names of objects and rows in messages. They are asked for without latches.
pub trait LockNames: Send + Sync {
    /// The name of a table, or of an index and its table; none if it isn't known.
    fn object(&self, object: u32, session: &Session) -> Option<LockName>;
    /// The primary key of a row, with the names of its columns; none if it isn't known.
    fn key(&self, row: &RowWanted, session: &Session) -> Option<String>;
}

/// The name of an object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LockName {
    /// A table, by its name.
    Table(String),
    /// An index, by its name, of the table of this name.
    Index(String, String),
}

/// Gives the names for messages, as far as they are known.
pub(super) struct Namer<'n> {
    pub(super) names: Option<Arc<dyn LockNames>>,
    pub(super) session: &'n Session,
}

/// How many waits of a cycle a message describes, at most.
const SHOWN_MAX: usize = 12;

/// How many transactions in the way a message names, at most.
pub(super) const BLOCKERS_MAX: usize = 3;

/// The refusal of a wait that would close a deadlock.
pub(super) fn cycle(links: &[WaitsForEdge], now: Timestamp, names: &Namer<'_>) -> Refusal {
    let victim = links[0].wait.waiter;
    let (count, plural) = (links.len() - 1, if links.len() == 2 { "" } else { "s" });
    let message = format!(
        "deadlock: transaction {victim} would wait for itself,\n\
         through {count} other{plural}, and is refused"
    );
    // The waits name keys of rows (rule stop/K24).
    let mut text = "The waits:".to_string();
    for (number, WaitsForEdge { wait, blocker, reason }) in links.iter().take(SHOWN_MAX).enumerate()
    {
        let since = match number {
            0 => "refused now".to_string(),
            _ => format!("for {}", now.since(wait.since)),
        };
        let (waiter, who) = (wait.waiter, &wait.who);
        let key = names.key(&wait.wanted).map(|key| format!("\n    with {key}"));
        let wants = wants(&wait.wanted, key.as_deref().unwrap_or_default(), names, "\n    ");
        let reason = because(*reason, &wait.wanted);
        let number = number + 1;
        let _ = write!(text, "\n{number} {waiter}, session {who}, {since}");
        let _ = write!(text, "\n    wants {wants}\n    {blocker} {reason}");
    }
    if links.len() > SHOWN_MAX {
        let _ = write!(text, "\nand {} more", links.len() - SHOWN_MAX);
    }
    Refusal::new(RefusalKind::Deadlock, message).detail(text).hint("roll it back, and try again")
}

/// The transactions in the way: those that a message names, and how many there are.
pub(super) struct Blockers {
    pub(super) named: Vec<Blocker>,
    pub(super) count: usize,
}

/// A transaction that is in the way.
pub(super) struct Blocker {
    pub(super) id: TxnId,
    pub(super) reason: BlockReason,
    /// Its session, if it has asked for a table.
    pub(super) session: Option<String>,
}

/// The refusal of a lock that wasn't granted in time, in one line.
pub(super) fn refused(
    wanted: &LockWanted,
    in_the_way: &Blockers,
    waited: Option<Nanos>,
    names: &Namer<'_>,
) -> Refusal {
    let what = wants(wanted, "", names, " ");
    let (kind, mut text) = match waited {
        Some(waited) => (RefusalKind::LockTimeout, format!("cannot lock {what} within {waited}: ")),
        None => {
            let text = format!("cannot lock {what} without waiting, the resource is busy: ");
            (RefusalKind::Busy, text)
        }
    };
    for (number, Blocker { id, reason, session }) in in_the_way.named.iter().enumerate() {
        let between = if number == 0 { "" } else { ", " };
        let session = session.as_ref().map_or_else(String::new, |who| format!(" of session {who}"));
        let reason = because(*reason, wanted);
        let _ = write!(text, "{between}transaction {id}{session} {reason}");
    }
    if in_the_way.count > in_the_way.named.len() {
        let _ = write!(text, ", and {} more", in_the_way.count - in_the_way.named.len());
    }
    let refusal = Refusal::new(kind, text);
    let refusal = match names.key(wanted) {
        Some(key) => refusal.detail(format!("the row has {key}")),
        None => refusal,
    };
    refusal.hint("wait longer, or try again when it has ended")
}

impl Namer<'_> {
    /// `table ACCOUNTS (71)`, or its number behind `kind` if it has no name.
    fn object(&self, kind: &str, object: u32) -> String {
        let name = self.names.as_ref().and_then(|names| names.object(object, self.session));
        let short = |name: &str| cut(name, NAME_CHARS_MAX).to_string();
        match name {
            Some(LockName::Table(name)) => format!("table {} ({object})", short(&name)),
            Some(LockName::Index(name, table)) => {
                format!("index {} ({object}) of {}", short(&name), short(&table))
            }
            None => format!("{kind} {object}"),
        }
    }

    /// `ID = 4711`, of a row that is wanted; none if it isn't known.
    fn key(&self, wanted: &LockWanted) -> Option<String> {
        let LockWanted::Row { wanted, .. } = wanted else { return None };
        let key = self.names.as_ref().and_then(|names| names.key(wanted, self.session))?;
        Some(cut(&key, KEY_CHARS_MAX).to_string())
    }
}

/// What is wanted, with its key, if that is to be shown; `between` goes between the parts, so that
/// they are in one line or in several.
fn wants(wanted: &LockWanted, key: &str, names: &Namer<'_>, between: &str) -> String {
    match wanted {
        LockWanted::Row { wanted, .. } => {
            let RowWanted { what, object, block, slot } = wanted;
            let mode = if what.mode() == 6 { "X (6)" } else { "S (4)" };
            let of = names.object("object", *object);
            let what = what.name();
            format!("{what} of {of}{key}{between}at block {block} slot {slot}, in mode {mode}")
        }
        LockWanted::Table { object, mode, converts: false } => {
            format!("{} in mode {mode}", names.object("table", *object))
        }
        LockWanted::Table { object, mode, converts: true } => {
            format!("more of {}: mode {mode}", names.object("table", *object))
        }
    }
}

/// What the blocker has or does that the waiter waits for.
fn because(reason: BlockReason, wanted: &LockWanted) -> String {
    match (reason, wanted) {
        (BlockReason::Row, LockWanted::Row { wanted, .. }) => wanted.what.held().into(),
        (BlockReason::Row, LockWanted::Table { .. }) => unreachable!("a table isn't a row"),
        (BlockReason::Holds(mode), _) => format!("has it in mode {mode}"),
        (BlockReason::Converts(mode), _) => {
            format!("has it, waits for mode {mode}, and goes first")
        }
        (BlockReason::First(mode), _) => format!("waits for it in mode {mode}, and was first"),
    }
}

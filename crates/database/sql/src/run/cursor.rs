//! Cursors: rows of a statement that are still to be given, and those that a session has open.
//!
//! ```text
//!   SELECT ───────────────────▶ Execution, which goes on
//!   FOR UPDATE, RETURNING ────▶ kept rows: all were found before the first was given
//! ```
//!
//! Invariants
//!   * a transaction's end closes its cursors, and no others
//!   * a rollback to a savepoint closes those that have seen what it takes back (rule txn/TX51)
//!   * a cursor that has given its last row is closed by itself
//!
//! Callers: the session.

use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use expression::Rows;
use stop::{SqlState, Stop};
use txn::{Savepoint, Transaction};
use value::OwnedValue;
use waits::Nanos;

use super::execution::Execution;
use super::host::Host;
use super::kept::{KeptReader, KeptRows};
use super::opened::{Opened, Ran};
use super::short;
use crate::cache::Entry;
use crate::refuse::refuse;
use crate::stack::with_stack;

/// Rows of a statement that are still to be given.
pub(crate) enum Cursor {
    /// A query that goes on.
    Query(Box<Execution>),
    /// Rows that are kept.
    Kept(Box<KeptCursor>),
}

/// Rows that are kept, and how many of them were given.
pub(crate) struct KeptCursor {
    rows: KeptRows,
    reader: KeptReader,
}

impl KeptCursor {
    /// All of these rows, whose appending has ended.
    pub(crate) fn new(rows: KeptRows) -> KeptCursor {
        KeptCursor { rows, reader: KeptReader::default() }
    }
}

/// Runs a query with these parameters, and appends its first rows, at most `most`, to `into`, which
/// is empty and as wide as the query. Returns the cursor with those behind, if there may be some.
/// With a `most` of 0 all of its rows are behind.
pub(crate) fn start(
    opened: &Rc<Opened>,
    binds: &[OwnedValue],
    host: &Host<'_>,
    transaction: Option<&Transaction>,
    most: usize,
    into: &mut Rows,
) -> Result<Ran<Option<Cursor>>, Stop> {
    if let Some(short) = opened.short().filter(|_| most > 0) {
        let ran = short::query(short, opened, binds, host, transaction, into)?;
        return Ok(match ran {
            Ran::Done(()) => Ran::Done(None),
            Ran::Stale => Ran::Stale,
        });
    }
    match Execution::begin(opened, binds, host, transaction)? {
        Ran::Stale => Ok(Ran::Stale),
        Ran::Done(mut execution) => {
            let goes_on = most == 0 || execution.fetch(host, transaction, most, into)?;
            Ok(Ran::Done(goes_on.then(|| Cursor::Query(Box::new(execution)))))
        }
    }
}

impl Cursor {
    /// Appends the next rows to `into`, which is empty: at most `most`. Returns false if none come
    /// after these.
    pub(crate) fn fetch(
        &mut self,
        host: &Host<'_>,
        transaction: Option<&Transaction>,
        most: usize,
        into: &mut Rows,
    ) -> Result<bool, Stop> {
        match self {
            Cursor::Query(execution) => {
                with_stack(execution.stack(), || execution.fetch(host, transaction, most, into))
            }
            Cursor::Kept(kept) => {
                host.check()?;
                let KeptCursor { rows, reader } = &mut **kept;
                let goes_on = rows.read(reader, most, into, host)?;
                if !goes_on {
                    rows.clear(host);
                }
                Ok(goes_on)
            }
        }
    }

    /// Ends it, and gives back what it has.
    pub(crate) fn close(&mut self, host: &Host<'_>) {
        match self {
            Cursor::Query(execution) => with_stack(execution.stack(), || execution.close(host)),
            Cursor::Kept(kept) => kept.rows.clear(host),
        }
    }

    fn is_taken_back_by(&self, savepoint: Savepoint) -> bool {
        match self {
            Cursor::Query(execution) => execution.is_taken_back_by(savepoint),
            // They were told when their statement ended.
            Cursor::Kept(_) => false,
        }
    }
}

/// The number of a cursor of a session. It is never given to another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct CursorNo(u64);

impl fmt::Display for CursorNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cursor {}", self.0)
    }
}

/// The cursors that a session has open.
#[derive(Default)]
pub(crate) struct Cursors {
    open: BTreeMap<CursorNo, OpenCursor>,
    last: u64,
}

struct OpenCursor {
    cursor: Cursor,
    /// The shared plan in which its fetches are counted.
    counted_in: Option<Arc<Entry>>,
    /// Whether it was opened in a transaction that goes on, which closes it at its end.
    is_of_transaction: bool,
    /// How long the calls for its query took so far.
    spent: Nanos,
}

impl Cursors {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.open.len()
    }

    /// Whether one is of the open transaction.
    pub(crate) fn is_any_of_transaction(&self) -> bool {
        self.open.values().any(|open| open.is_of_transaction)
    }

    /// Adds a cursor. One that isn't of a transaction stays until its last row.
    pub(crate) fn add(&mut self, cursor: Cursor, is_of_transaction: bool) -> CursorNo {
        self.last += 1;
        let number = CursorNo(self.last);
        let (counted_in, spent) = (None, Nanos::ZERO);
        self.open.insert(number, OpenCursor { cursor, counted_in, is_of_transaction, spent });
        number
    }

    /// Takes note of how long a call took. Rows that are kept take none of their statement's time:
    /// that has ended.
    pub(crate) fn spend(&mut self, number: CursorNo, time: Nanos) {
        if let Some(open) = self.open.get_mut(&number)
            && matches!(open.cursor, Cursor::Query(_))
        {
            open.spent = Nanos(open.spent.0.saturating_add(time.0));
        }
    }

    /// How long the calls for the query of a cursor took so far.
    pub(crate) fn spent(&self, number: CursorNo) -> Nanos {
        self.open.get(&number).map_or(Nanos::ZERO, |open| open.spent)
    }

    /// Has the fetches of a cursor counted in this plan.
    pub(crate) fn count_in(&mut self, number: CursorNo, entry: &Arc<Entry>) {
        if let Some(open) = self.open.get_mut(&number) {
            open.counted_in = Some(Arc::clone(entry));
        }
    }

    /// The plan in which the fetches of a cursor are counted.
    pub(crate) fn counted_in(&self, number: CursorNo) -> Option<Arc<Entry>> {
        self.open.get(&number)?.counted_in.clone()
    }

    /// Appends the next rows of a cursor to `into`, which is empty: at most `most`. Returns false
    /// if none come after these; then it is closed, as after a refusal.
    pub(crate) fn fetch(
        &mut self,
        number: CursorNo,
        host: &Host<'_>,
        transaction: Option<&Transaction>,
        most: usize,
        into: &mut Rows,
    ) -> Result<bool, Stop> {
        let open = self.open.get_mut(&number).ok_or_else(|| is_closed(number))?;
        let fetched = open.cursor.fetch(host, transaction, most, into);
        if !matches!(fetched, Ok(true)) {
            self.close(number, host);
        }
        fetched
    }

    /// Closes a cursor, if it is open.
    pub(crate) fn close(&mut self, number: CursorNo, host: &Host<'_>) {
        if let Some(mut open) = self.open.remove(&number) {
            open.cursor.close(host);
        }
    }

    /// Closes the transaction's cursors: it ends.
    pub(crate) fn end_transaction(&mut self, host: &Host<'_>) {
        self.close_where(host, |open| open.is_of_transaction);
    }

    /// Closes the cursors that have seen what a rollback to this savepoint takes back. Called
    /// before that.
    pub(crate) fn before_rollback_to(&mut self, savepoint: Savepoint, host: &Host<'_>) {
        self.close_where(host, |open| open.cursor.is_taken_back_by(savepoint));
    }

    /// Closes all.
    pub(crate) fn close_all(&mut self, host: &Host<'_>) {
        self.close_where(host, |_| true);
    }

    fn close_where(&mut self, host: &Host<'_>, closes: impl Fn(&OpenCursor) -> bool) {
        self.open.retain(|_, open| {
            let goes = closes(open);
            if goes {
                open.cursor.close(host);
            }
            !goes
        });
    }
}

#[cold]
fn is_closed(number: CursorNo) -> Stop {
    let message = format!(
        "{number} is closed: its rows were all given, it was refused, or its transaction has \
         ended; run the statement again, and outside of transactions to read on behind their ends"
    );
    refuse(SqlState::INVALID_CURSOR_STATE, message)
}

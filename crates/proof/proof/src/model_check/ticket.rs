//! Rows whose numbers come of an identity column and of a sequence: no number is given twice, and
//! none that is in use.
//!
//! ```text
//!   ticket: number (identity, primary key), stamp (of a sequence, unique), writer
//! ```
//!
//! The judge knows nothing of them. What is committed is remembered here, and must be there when
//! the next round begins. A number that was given and is in no row may come again after a crash.
//!
//! Invariants
//!   * a transaction inserts tickets only while it has no savepoint, so that it keeps all or none
//!
//! Callers: `schema` makes them; `client` inserts them; `bed` looks at them.

use std::collections::{BTreeMap, BTreeSet};

use database::{
    ColumnSpec, Connection, Error, ErrorKind, SequenceOptions, Table, TableSpec, Tx, Type, Value,
};

use super::known::Txn;
use super::plan::Plan;
use crate::By;
use crate::defining::Defining;

/// The table.
const TICKET: &str = "ticket";
/// The sequence of its stamps.
const STAMPS: &str = "stamps";

/// A row: its number, its stamp.
type Ticket = (i64, i64);

/// What is known of tickets.
#[derive(Default)]
pub(super) struct Tickets {
    /// Numbers that were given in this round, and stamps.
    given: [BTreeSet<i64>; 2],
    open: BTreeMap<Txn, Vec<Ticket>>,
    committed: BTreeSet<Ticket>,
}

/// Makes the table and the sequence.
pub(super) fn make(
    connection: &mut Defining<'_, '_>,
    stamps: &SequenceOptions,
) -> Result<(), Error> {
    connection.create_sequence(STAMPS, stamps)?;
    let spec = TableSpec::new(TICKET)
        .column(ColumnSpec::new("number", Type::BigInt).identity(true))
        .column(ColumnSpec::new("stamp", Type::BigInt))
        .column(ColumnSpec::new("writer", Type::BigInt))
        .primary_key(["number"])
        .unique(["stamp"]);
    connection.create_table(&spec)
}

pub(super) fn table(connection: &Connection<'_>) -> Result<Table, Error> {
    connection.table(TICKET)
}

/// Inserts a row, and says what numbers it got.
pub(super) fn insert(
    by: By,
    tx: &mut Tx<'_, '_>,
    table: &Table,
    txn: Txn,
) -> Result<Ticket, Error> {
    if by == By::Sql {
        let text = "insert into ticket (stamp, writer) values (nextval('stamps'), $1) \
                    returning number, stamp";
        let mut cursor = tx.query(text, &[Value::Int(txn as i64)])?;
        let row = cursor.next_row()?.expect("the statement has inserted one row");
        return Ok((row.get("number")?, row.get("stamp")?));
    }
    let stamp = tx.next_value(STAMPS)?;
    let given = [("stamp", Value::Int(stamp)), ("writer", Value::Int(txn as i64))];
    let number = tx.insert_named(table, &given)?.identity;
    Ok((number.expect("the number is always generated"), stamp))
}

/// What is there.
pub(super) fn read(connection: &mut Connection<'_>) -> Result<BTreeSet<Ticket>, Error> {
    let (table, mut found) = (table(connection)?, BTreeSet::new());
    connection.scan(&table, |row| {
        let pair = row.get_i64(0).zip(row.get_i64(1));
        found.insert(pair.expect("neither is NULL"));
    })?;
    Ok(found)
}

/// Whether a ticket may be refused so: it has numbers that nobody has, and refers to nothing.
pub(super) fn may_be(kind: ErrorKind, serializable: bool, plan: &Plan) -> bool {
    match kind {
        // Somebody waits for the transaction, and it for an entry of a block's list.
        ErrorKind::Deadlock => true,
        // A block's list may be full of newer transactions.
        ErrorKind::Serialization => serializable,
        ErrorKind::SnapshotTooOld => serializable && plan.tight,
        ErrorKind::Cancelled => plan.cancels,
        kind => plan.may_lack(kind),
    }
}

impl Tickets {
    /// A round begins with these rows; what is wrong with them.
    pub(super) fn begin(&mut self, found: &BTreeSet<Ticket>) -> Option<String> {
        self.given = Default::default();
        self.open.clear();
        let differ: Vec<&Ticket> = self.committed.symmetric_difference(found).collect();
        (!differ.is_empty()).then(|| {
            format!("tickets are lost, or there though they weren't committed: {differ:?}")
        })
    }

    /// A transaction has got one; what is wrong with that.
    pub(super) fn got(&mut self, txn: Txn, ticket: Ticket) -> Option<String> {
        self.open.entry(txn).or_default().push(ticket);
        let (number, stamp) = ticket;
        let [numbers, stamps] = &mut self.given;
        let is_used = |(a, b): &Ticket| *a == number || *b == stamp;
        let is_again = !numbers.insert(number) | !stamps.insert(stamp);
        (is_again || self.committed.iter().any(is_used))
            .then(|| format!("ticket {ticket:?} has a number that was given before"))
    }

    /// The transaction has ended.
    pub(super) fn ended(&mut self, txn: Txn, is_committed: bool) {
        let own = self.open.remove(&txn).unwrap_or_default();
        if is_committed {
            self.committed.extend(own);
        }
    }
}

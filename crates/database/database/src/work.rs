//! A transaction of a connection: statements that change rows, and reads.
//!
//! Invariants
//!   * every call is a statement; a refused one leaves nothing behind, and the transaction goes on
//!   * a transaction that is dropped without a commit is rolled back
//!
//! Callers: applications; loads.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

use access::{Direction, RowAddress};
use catalog::{Catalog, FilledRow, place_of};
use ids::Scn;
use instance::CommitMode;
use os::Session;
use relation::{Bounds, ForUpdate, IndexId, Load, Relation, RowChange, Work};
use stop::{RefusalKind, Stop};
use txn::Transaction;
use value::{RowView, Value};
use waits::Totals;

use crate::Selection;
use crate::connection::Connection;
use crate::table::{Table, no_primary_key};

/// The invariant on which each use of a `Tx` relies.
pub(crate) const OPEN: &str =
    "a connection has a transaction open from begin until commit or rollback";

/// A transaction.
#[must_use = "a transaction that isn't committed is rolled back"]
pub struct Tx<'c, 's> {
    pub(crate) connection: &'c mut Connection<'s>,
}

/// The transaction that a connection has open.
pub(crate) struct OpenTransaction {
    pub(crate) transaction: Transaction,
    /// The savepoints, in the order in which they were made.
    savepoints: Vec<(Savepoint, txn::Savepoint)>,
}

/// A point of a transaction to which it can go back, until it ends or goes back to an earlier one
/// (DB21).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Savepoint(u64);

/// The number of savepoints made in this process. Numbers are unique, so no savepoint is taken for
/// one of another transaction or another database.
static SAVEPOINTS: AtomicU64 = AtomicU64::new(0);

impl OpenTransaction {
    pub(crate) fn of(transaction: Transaction) -> OpenTransaction {
        OpenTransaction { transaction, savepoints: Vec::new() }
    }

    fn savepoint(&mut self) -> Savepoint {
        let made = Savepoint(SAVEPOINTS.fetch_add(1, Ordering::Relaxed));
        self.savepoints.push((made, self.transaction.savepoint()));
        made
    }

    /// Finds a savepoint, and drops those made after it.
    fn back_to(&mut self, savepoint: Savepoint) -> Result<txn::Savepoint, Stop> {
        let found = self.savepoints.binary_search_by_key(&savepoint.0, |(made, _)| made.0);
        let Ok(at) = found else {
            let message = "cannot go back to the savepoint: it is another transaction's, or this \
                           transaction has gone back to an earlier one since; go back to a \
                           savepoint that the transaction still has";
            return Err(Stop::refuse(RefusalKind::Invalid, message));
        };
        self.savepoints.truncate(at + 1);
        Ok(self.savepoints[at].1)
    }
}

/// A row that was inserted by the names of its columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NewRow {
    /// The address of the row.
    pub address: RowAddress,
    /// The number of its identity column, if it has one that wasn't named.
    pub identity: Option<i64>,
}

impl<'c, 's> Tx<'c, 's> {
    /// Does a statement that changes something.
    fn change<T>(
        &mut self,
        table: &Table,
        mut statement: impl FnMut(&Relation, &mut Work<'_>) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        self.change_with(table, |relation, _, work| statement(relation, work))
    }

    /// As `change`, for a statement that asks the catalog. DDL that ends while the statement waits
    /// for the table makes its relation stale, and the statement begins again with the new one. It
    /// does so once: it has changed nothing, called no closure, and has the table locked (DB10).
    fn change_with<T>(
        &mut self,
        table: &Table,
        mut statement: impl FnMut(&Relation, &Catalog, &mut Work<'_>) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        let _statement = self.connection.begin_within()?;
        let Connection { shared, session, relations, scratch, open, .. } = &mut *self.connection;
        let session: &Session = session;
        let transaction = &mut open.last_mut().expect(OPEN).transaction;
        loop {
            let relation = table.current(shared, relations, session)?;
            let catalog = &shared.catalog;
            let mut work = Work { transaction, scratch, relations: catalog, session };
            match statement(relation, catalog, &mut work) {
                Err(stop) if is_of_old_definition(&stop) && relation.is_stale(session) => {}
                done => return done,
            }
        }
    }

    /// Inserts a row and returns its address. It has a value for each column that the table had
    /// when it was asked for, in the table's order: also for columns with a DEFAULT or an identity,
    /// and NULL for dropped ones. Columns that were added since get their DEFAULT (DB8).
    pub fn insert(&mut self, table: &Table, values: &[Value<'_>]) -> Result<RowAddress, Stop> {
        let known = table.known();
        self.change(table, |relation, work| relation.insert_known(work, known, values))
    }

    /// Inserts a row with values for the named columns. Each other one gets its DEFAULT, or the
    /// next number of its identity. The names are the current ones.
    ///
    /// ```
    /// # use database::{ColumnSpec, Database, Options, TableSpec, Type, Value};
    /// # fn main() -> Result<(), database::Error> {
    /// # let scratch = std::env::temp_dir().join(format!("forebay-named-{}", std::process::id()));
    /// # let database = Database::create(&scratch, &Options::default())?;
    /// # let mut connection = database.connect("app");
    /// let spec = TableSpec::new("task")
    ///     .column(ColumnSpec::new("id", Type::BigInt).identity(true))
    ///     .column(ColumnSpec::new("what", Type::Text).not_null())
    ///     .column(ColumnSpec::new("rank", Type::Integer).default_value(Value::Int(5).to_owned()))
    ///     .primary_key(["id"]);
    /// let task = connection.create_table(&spec)?;
    /// let mut tx = connection.begin();
    /// let first = tx.insert_named(&task, &[("what", Value::Text("sweep"))])?;
    /// let second = tx.insert_named(&task, &[("what", Value::Text("wash"))])?;
    /// assert_eq!((first.identity, second.identity), (Some(1), Some(2)));
    /// let rank = tx.get(&task, &[Value::Int(2)], |row| row.get_i64(2))?;
    /// assert_eq!(rank.flatten(), Some(5));
    /// tx.commit()?;
    /// # drop(connection);
    /// # database.shutdown()?;
    /// # std::fs::remove_dir_all(&scratch).ok();
    /// # Ok(())
    /// # }
    /// ```
    pub fn insert_named<'v>(
        &mut self,
        table: &Table,
        given: &[(&str, Value<'v>)],
    ) -> Result<NewRow, Stop> {
        self.change_with(table, |relation, catalog, work| {
            // The definition stays from here on, and the sequences that it names exist.
            relation.lock_for_changes(work)?;
            let definition = relation.definition();
            let place =
                |(name, value): &(&str, Value<'v>)| Ok((place_of(definition, name)?, *value));
            let given: Result<Vec<_>, Stop> = given.iter().map(place).collect();
            let FilledRow { values, identity } =
                catalog.fill_row(definition, &given?, work.session)?;
            relation.insert(work, &values).map(|address| NewRow { address, identity })
        })
    }

    /// The next value of a sequence, which no other call gets. A rollback doesn't return it.
    pub fn next_value(&mut self, sequence: &str) -> Result<i64, Stop> {
        self.connection.next_value_within(sequence)
    }

    /// Inserts rows by one statement, and returns their number. A refused one inserts none.
    pub fn insert_many<'v>(
        &mut self,
        table: &Table,
        rows: impl IntoIterator<Item = &'v [Value<'v>]>,
    ) -> Result<u64, Stop> {
        let mut rows = rows.into_iter();
        let known = table.known();
        self.change(table, |relation, work| relation.insert_many(work, known, &mut rows, |_| ()))
    }

    /// Loads many rows by one statement, and returns their number: `fill` pushes them, each with
    /// values as for [`Tx::insert`]. A refused load leaves none. No other transaction may change
    /// rows of the table until this one ends; reads go on and see nothing of it (DB94, DB95).
    ///
    /// ```
    /// # use database::{ColumnSpec, Database, Options, TableSpec, Type, Value};
    /// # fn main() -> Result<(), database::Error> {
    /// # let scratch = std::env::temp_dir().join(format!("forebay-load-{}", std::process::id()));
    /// # let database = Database::create(&scratch, &Options::default())?;
    /// # let mut connection = database.connect("app");
    /// # let spec = TableSpec::new("reading")
    /// #     .column(ColumnSpec::new("id", Type::BigInt))
    /// #     .column(ColumnSpec::new("value", Type::BigInt).not_null())
    /// #     .primary_key(["id"]);
    /// # let reading = connection.create_table(&spec)?;
    /// let mut tx = connection.begin();
    /// let count = tx.load(&reading, |load| {
    ///     (0..1_000).try_for_each(|id| load.push(&[Value::Int(id), Value::Int(id * id)]))
    /// })?;
    /// assert_eq!(count, 1_000);
    /// tx.commit()?;
    /// # drop(connection);
    /// # database.shutdown()?;
    /// # std::fs::remove_dir_all(&scratch).ok();
    /// # Ok(())
    /// # }
    /// ```
    pub fn load(
        &mut self,
        table: &Table,
        fill: impl FnOnce(&mut Load<'_, '_>) -> Result<(), Stop>,
    ) -> Result<u64, Stop> {
        let (known, mut fill) = (table.known(), Some(fill));
        self.change_with(table, |relation, catalog, work| {
            relation.load(work, known, catalog.key_sort(), |load| {
                // A statement begins again only before it calls a closure (DB10).
                fill.take().expect("it is called once")(load)
            })
        })
    }

    /// Changes the row with this primary key by `change`, which only computes and may be called
    /// again. False if there is no such row.
    pub fn update(
        &mut self,
        table: &Table,
        key: &[Value<'_>],
        change: impl FnMut(&RowView<'_>, &mut RowChange<'_>) -> Result<(), Stop>,
    ) -> Result<bool, Stop> {
        let primary = table.primary().ok_or_else(|| no_primary_key(table.name(), "change"))?;
        self.update_where(table, Selection::Key(primary, key), None, change).map(|count| count > 0)
    }

    /// Changes rows by one statement, and returns their number. `filter` and `change` only compute,
    /// and may be called again.
    pub fn update_where(
        &mut self,
        table: &Table,
        selection: Selection<'_>,
        mut filter: Option<&mut dyn FnMut(&RowView<'_>) -> bool>,
        mut change: impl FnMut(&RowView<'_>, &mut RowChange<'_>) -> Result<(), Stop>,
    ) -> Result<u64, Stop> {
        self.change(table, |relation, work| {
            let selection = selection.within(relation)?;
            relation.update_where(work, selection, again(&mut filter), &mut change)
        })
    }

    /// Deletes the row with this primary key. False if there is no such row.
    pub fn delete(&mut self, table: &Table, key: &[Value<'_>]) -> Result<bool, Stop> {
        let primary = table.primary().ok_or_else(|| no_primary_key(table.name(), "delete"))?;
        self.delete_where(table, Selection::Key(primary, key), None).map(|count| count > 0)
    }

    /// Deletes rows by one statement, and returns their number. `filter` only computes, and may be
    /// called again.
    pub fn delete_where(
        &mut self,
        table: &Table,
        selection: Selection<'_>,
        mut filter: Option<&mut dyn FnMut(&RowView<'_>) -> bool>,
    ) -> Result<u64, Stop> {
        self.change(table, |relation, work| {
            relation.delete_where(work, selection.within(relation)?, again(&mut filter))
        })
    }

    /// Calls `look`, which only computes, on the row with this primary key, often under the latch
    /// of its block. None if there is no such row.
    pub fn get<T>(
        &mut self,
        table: &Table,
        key: &[Value<'_>],
        look: impl FnMut(RowView<'_>) -> T,
    ) -> Result<Option<T>, Stop> {
        self.connection.get_as(table, None, key, look)
    }

    /// As [`Tx::get`], by this index. The key has a value for each of its columns; of several rows
    /// with the key it is one.
    pub fn get_by<T>(
        &mut self,
        table: &Table,
        index: IndexId,
        key: &[Value<'_>],
        look: impl FnMut(RowView<'_>) -> T,
    ) -> Result<Option<T>, Stop> {
        self.connection.get_as(table, Some(index), key, look)
    }

    /// Calls `look` on rows in a range of an index, one after the other, until it breaks.
    pub fn range(
        &mut self,
        table: &Table,
        index: IndexId,
        bounds: &Bounds<'_>,
        direction: Direction,
        look: impl FnMut(RowView<'_>) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        self.connection.range_as(table, index, bounds, direction, look)
    }

    /// Visits every row, in no particular order.
    pub fn scan(&mut self, table: &Table, visit: impl FnMut(RowView<'_>)) -> Result<(), Stop> {
        self.connection.scan_as(table, visit)
    }

    /// Locks the row with this primary key until the transaction ends, and calls `look` on it:
    /// SELECT … FOR UPDATE. None if there is no such row, or if another transaction has it locked
    /// and `how` skips locked rows.
    pub fn get_for_update<T>(
        &mut self,
        table: &Table,
        key: &[Value<'_>],
        how: ForUpdate,
        mut look: impl FnMut(RowView<'_>) -> T,
    ) -> Result<Option<T>, Stop> {
        let primary = table.primary().ok_or_else(|| no_primary_key(table.name(), "lock"))?;
        let (selection, mut made) = (Selection::Key(primary, key), None);
        self.lock_where(table, selection, None, how, |row| made = Some(look(row)))?;
        Ok(made)
    }

    /// Locks rows by one statement, and returns their number: SELECT … FOR UPDATE, with NOWAIT,
    /// WAIT n or SKIP LOCKED. `filter` only computes, and may be called again; `look` is called
    /// once for each row, in order, when all are locked.
    ///
    /// A table can be a queue for several consumers: each takes a job that no other has, and none
    /// waits.
    ///
    /// ```
    /// # use database::{Bounds, ColumnSpec, Database, ForUpdate, Options, TableSpec, Type, Value};
    /// # use database::Selection;
    /// # fn main() -> Result<(), database::Error> {
    /// # let scratch = std::env::temp_dir().join(format!("forebay-queue-{}", std::process::id()));
    /// # let database = Database::create(&scratch, &Options::default())?;
    /// # let mut connection = database.connect("app");
    /// # let spec = TableSpec::new("job")
    /// #     .column(ColumnSpec::new("id", Type::BigInt))
    /// #     .column(ColumnSpec::new("what", Type::Text))
    /// #     .primary_key(["id"]);
    /// # let job = connection.create_table(&spec)?;
    /// # let mut tx = connection.begin();
    /// # tx.insert(&job, &[Value::Int(1), Value::Text("sweep")])?;
    /// # tx.insert(&job, &[Value::Int(2), Value::Text("wash")])?;
    /// # tx.commit()?;
    /// # let mut other = database.connect("other");
    /// # let by_id = job.primary().expect("it has one");
    /// let oldest = Selection::Range(by_id, Bounds::equal(&[]));
    /// let one = ForUpdate::skip_locked().limit(1);
    ///
    /// let (mut tx, mut others) = (connection.begin(), other.begin());
    /// let mut taken = Vec::new();
    /// tx.lock_where(&job, oldest, None, one, |row| taken.extend(row.get_i64(0)))?;
    /// others.lock_where(&job, oldest, None, one, |row| taken.extend(row.get_i64(0)))?;
    /// assert_eq!(taken, [1, 2]);
    ///
    /// // The job is deleted in the same transaction; without a commit it is free again.
    /// tx.delete(&job, &[Value::Int(1)])?;
    /// tx.commit()?;
    /// others.rollback()?;
    /// # drop((connection, other));
    /// # database.shutdown()?;
    /// # std::fs::remove_dir_all(&scratch).ok();
    /// # Ok(())
    /// # }
    /// ```
    pub fn lock_where(
        &mut self,
        table: &Table,
        selection: Selection<'_>,
        mut filter: Option<&mut dyn FnMut(&RowView<'_>) -> bool>,
        how: ForUpdate,
        mut look: impl FnMut(RowView<'_>),
    ) -> Result<u64, Stop> {
        let mut look = |_, row: RowView<'_>| look(row);
        self.change(table, |relation, work| {
            let selection = selection.within(relation)?;
            relation.lock_where(work, selection, again(&mut filter), how, &mut look)
        })
    }

    /// The statistics of the connection's session ([`Connection::statistics`]).
    pub fn statistics(&self) -> Totals {
        self.connection.statistics()
    }

    /// Makes a savepoint at this point of the transaction.
    pub fn savepoint(&mut self) -> Savepoint {
        self.connection.open.last_mut().expect(OPEN).savepoint()
    }

    /// Takes back all changes since the savepoint. It stays; savepoints made after it are gone.
    /// Refused if the transaction has no such savepoint, or not any more (DB21).
    ///
    /// ```
    /// # use database::{ColumnSpec, Database, ErrorKind, Options, TableSpec, Type, Value};
    /// # fn main() -> Result<(), database::Error> {
    /// # let scratch = std::env::temp_dir().join(format!("forebay-save-{}", std::process::id()));
    /// # let database = Database::create(&scratch, &Options::default())?;
    /// # let mut connection = database.connect("app");
    /// # let spec = TableSpec::new("note").column(ColumnSpec::new("n", Type::BigInt));
    /// # let note = connection.create_table(&spec)?;
    /// let mut tx = connection.begin();
    /// let first = tx.savepoint();
    /// tx.insert(&note, &[Value::Int(1)])?;
    /// let second = tx.savepoint();
    /// tx.rollback_to(first)?;
    /// let gone = tx.rollback_to(second).expect_err("it was made after the first");
    /// assert_eq!(gone.refusal(), Some(ErrorKind::Invalid));
    /// # tx.rollback()?;
    /// # drop(connection);
    /// # database.shutdown()?;
    /// # std::fs::remove_dir_all(&scratch).ok();
    /// # Ok(())
    /// # }
    /// ```
    pub fn rollback_to(&mut self, savepoint: Savepoint) -> Result<(), Stop> {
        let _statement = self.connection.begin_within()?;
        let to = self.connection.open.last_mut().expect(OPEN).back_to(savepoint)?;
        self.connection.before_tx_rolls_back_to(to);
        let Connection { shared, session, open, .. } = &mut *self.connection;
        let open = open.last_mut().expect(OPEN);
        shared.instance.transactions().rollback_to(&mut open.transaction, to, session)
    }

    /// Commits: the changes are durable when this returns, unless the parameters say not to wait
    /// (DB30). Within a closure of a statement this is refused, and the transaction is rolled back
    /// when its connection is used again or dropped (DB11).
    pub fn commit(self) -> Result<(), Stop> {
        let _statement = self.connection.begin_within()?;
        self.connection.before_tx_ends();
        let Connection { shared, session, open, .. } = &mut *self.connection;
        let transaction = open.pop().expect(OPEN).transaction;
        shared.instance.commit(transaction, session)
    }

    /// Commits in this mode, whatever the parameters say. Returns the SCN of the commit, if
    /// anything was changed.
    pub fn commit_with(self, mode: CommitMode) -> Result<Option<Scn>, Stop> {
        let _statement = self.connection.begin_within()?;
        self.connection.before_tx_ends();
        let Connection { shared, session, open, .. } = &mut *self.connection;
        let transaction = open.pop().expect(OPEN).transaction;
        shared.instance.commit_with(transaction, mode, session)
    }

    /// Takes all changes back. Within a closure of a statement this is refused, as [`Tx::commit`]
    /// is.
    pub fn rollback(self) -> Result<(), Stop> {
        self.connection.end_open()
    }
}

impl Drop for Tx<'_, '_> {
    fn drop(&mut self) {
        // A rollback that fails halts the instance, which the next call returns. Within a closure
        // of a statement the connection rolls back later (DB11).
        let _ = self.connection.end_open();
    }
}

/// Whether the transaction may succeed if it is begun again: it conflicted with another that has
/// ended or will (a deadlock, a later change of a row, DDL). A transaction that was refused a lock
/// in time, or a snapshot, has waited already and may wait as long again, so it isn't (DB31).
pub fn is_worth_repeating(stop: &Stop) -> bool {
    use RefusalKind::{Deadlock, DefinitionChanged, Serialization};
    matches!(stop.refusal(), Some(Deadlock | Serialization | DefinitionChanged))
}

fn is_of_old_definition(stop: &Stop) -> bool {
    stop.refusal() == Some(RefusalKind::DefinitionChanged)
}

/// The filter, borrowed anew, for a statement that may begin again.
fn again<'f>(
    filter: &'f mut Option<&mut dyn FnMut(&RowView<'_>) -> bool>,
) -> Option<&'f mut dyn FnMut(&RowView<'_>) -> bool> {
    match filter {
        Some(filter) => Some(&mut **filter),
        None => None,
    }
}

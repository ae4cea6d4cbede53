//! Inserting rows.
//!
//! Callers: the catalog; the embedded API; `driver` and `load`; `update`, for new index entries.

use access::{Inserted, RowAddress};
use os::Session;
use stop::{Refusal, RefusalKind, Stop};
use txn::Transaction;
use value::{Value, shown};

use crate::keys::{RowKey, address_bytes};
use crate::late_keys::LateKeys;
use crate::scratch::{Scratch, Work};
use crate::{Default, Relation, Truth};

/// The most rows of one batch, which are inserted before their index entries: of short rows, as
/// many as a block or two have room for.
const BATCH_ROWS_MAX: usize = 128;

/// A batch ends with the row with which it has this many bytes: two of the largest blocks (RL23).
const BATCH_BYTES_MAX: usize = 64 << 10;

impl Relation {
    /// Inserts a row with a value for each column, and returns its address. If it is refused,
    /// nothing of it is there.
    pub fn insert(&self, work: &mut Work<'_>, values: &[Value<'_>]) -> Result<RowAddress, Stop> {
        self.insert_known(work, self.layout().columns(), values)
    }

    /// Inserts a row for a caller that knows only the first `known` columns, and gives a value for
    /// each of these (RL16).
    pub fn insert_known(
        &self,
        work: &mut Work<'_>,
        known: usize,
        values: &[Value<'_>],
    ) -> Result<RowAddress, Stop> {
        self.change_statement(work, |work| self.insert_row(work, known, values, None))
    }

    /// Inserts rows by one statement, and returns how many. If it is refused, none is there. Each
    /// has values for the first `known` columns (RL16); `inserted` is given its address.
    pub fn insert_many<'v>(
        &self,
        work: &mut Work<'_>,
        known: usize,
        rows: impl IntoIterator<Item = &'v [Value<'v>]>,
        mut inserted: impl FnMut(RowAddress),
    ) -> Result<u64, Stop> {
        // The iterator is asked for a batch at a time, and not again behind its end.
        let mut rows = rows.into_iter().fuse();
        self.change_statement(work, |work| {
            self.insert_batches(work, known, &mut rows, &mut inserted)
        })
    }

    /// Inserts rows in batches, and returns how many.
    pub(crate) fn insert_batches<'v>(
        &self,
        work: &mut Work<'_>,
        known: usize,
        rows: &mut dyn Iterator<Item = &'v [Value<'v>]>,
        inserted: &mut dyn FnMut(RowAddress),
    ) -> Result<u64, Stop> {
        let mut count = 0;
        loop {
            let made = self.make_batch(work.scratch, known, rows)?;
            if made == 0 {
                return Ok(count);
            }
            self.insert_batch(work, made, inserted)?;
            work.scratch.shrink_batch();
            count += made as u64;
        }
    }

    /// Puts the bytes and keys of the next batch of rows into the buffers. Returns how many they
    /// are.
    fn make_batch<'v>(
        &self,
        scratch: &mut Scratch,
        known: usize,
        rows: &mut dyn Iterator<Item = &'v [Value<'v>]>,
    ) -> Result<usize, Stop> {
        let mut fitted = scratch.take_values();
        let (mut made, mut bytes) = (0, 0);
        let mut result = Ok(());
        for values in rows.take(BATCH_ROWS_MAX) {
            fitted.clear();
            result = self.make_row(scratch, known, values, &mut fitted);
            if result.is_err() {
                break;
            }
            bytes += scratch.new_row.len();
            scratch.swap_with_batch(made);
            made += 1;
            if bytes >= BATCH_BYTES_MAX {
                break;
            }
        }
        scratch.give_values(fitted);
        result.map(|()| made)
    }

    /// Inserts the batch of rows in the buffers, those of a block together, and then their entries.
    fn insert_batch(
        &self,
        work: &mut Work<'_>,
        made: usize,
        inserted: &mut dyn FnMut(RowAddress),
    ) -> Result<(), Stop> {
        let session = work.session;
        let Scratch { inserters, batch, .. } = &mut *work.scratch;
        let rows: Vec<&[u8]> = batch[..made].iter().map(|(row, _)| &row[..]).collect();
        let mut placed = Vec::with_capacity(made);
        let inserter = inserters.of(self.definition().segment);
        self.heap().insert_together(work.transaction, inserter, &rows, &mut placed, session)?;
        self.insert_batch_keys(work, &placed)?;
        for (number, address) in placed.into_iter().enumerate() {
            work.scratch.swap_with_batch(number);
            self.foreign_inserted(work.scratch)?;
            inserted(address);
            self.process_pending_early(work)?;
        }
        Ok(())
    }

    /// Inserts a row with its entries, but those of late keys if the statement has them.
    pub(crate) fn insert_row<'a>(
        &self,
        work: &mut Work<'a>,
        known: usize,
        values: &[Value<'_>],
        late: Option<&mut LateKeys<'a>>,
    ) -> Result<RowAddress, Stop> {
        self.make_one(work.scratch, known, values)?;
        let inserter = work.scratch.inserters.of(self.definition().segment);
        let (row, session) = (&work.scratch.new_row, work.session);
        let address = self.heap().insert(work.transaction, inserter, row, session)?;
        self.insert_keys(work, address, late)?;
        self.foreign_inserted(work.scratch)?;
        Ok(address)
    }

    /// As `make_row`, for a caller without a buffer of values.
    pub(crate) fn make_one(
        &self,
        scratch: &mut Scratch,
        known: usize,
        values: &[Value<'_>],
    ) -> Result<(), Stop> {
        let mut fitted = scratch.take_values();
        let made = self.make_row(scratch, known, values, &mut fitted);
        scratch.give_values(fitted);
        made
    }

    /// Checks the values of a row, and puts its bytes and its keys into the buffers.
    fn make_row<'v>(
        &'v self,
        scratch: &mut Scratch,
        known: usize,
        values: &[Value<'v>],
        fitted: &mut Vec<Value<'v>>,
    ) -> Result<(), Stop> {
        let columns = &self.definition().columns;
        if values.len() != known || known > columns.len() {
            return Err(self.wrong_row(values.len(), known));
        }
        for (column, value) in values.iter().enumerate() {
            if self.layout().is_dropped(column) && !value.is_null() {
                return Err(self.dropped_column(column));
            }
            match columns[column].kind.holds(value) {
                true => fitted.push(*value),
                false => fitted.push(self.fit(column, *value)?),
            }
        }
        for (column, of) in columns.iter().enumerate().skip(known) {
            let value = match &of.default {
                Default::Constant(value) => value.get(),
                Default::Expression(_) => return Err(self.not_evaluated(column)),
                // An identity column is never added to an existing table.
                Default::Identity { .. } => return Err(self.wrong_row(known, columns.len())),
            };
            fitted.push(self.fit(column, value)?);
        }
        self.check_conditions(&|column| fitted[column])?;
        self.check_expressions(fitted)?;
        scratch.new_row.clear();
        let encoded = self.layout().encode(fitted, &mut scratch.new_row);
        encoded.map_err(|misfit| self.misfit(&misfit))?;
        scratch.new_keys.clear();
        for (number, index) in self.indexes().iter().enumerate() {
            let pushed = scratch.new_keys.push(number, &index.columns, |column| Ok(fitted[column]));
            pushed.expect("values that are given aren't damaged");
        }
        Ok(())
    }

    /// Inserts the index entries of a row's new keys. Those that stand alone in their index are
    /// kept for the statement's end if it has late keys (RL28).
    pub(crate) fn insert_keys<'a>(
        &self,
        work: &mut Work<'a>,
        row: RowAddress,
        mut late: Option<&mut LateKeys<'a>>,
    ) -> Result<(), Stop> {
        let (relations, session) = (work.relations, work.session);
        let transaction = &mut *work.transaction;
        let Scratch { new_keys, key: buffer, new_row, pending, .. } = &mut *work.scratch;
        for key in new_keys.iter() {
            if let Some(late) = late.as_deref_mut().filter(|_| self.stands_alone(key)) {
                self.check_key_view(transaction, key)?;
                self.index(key.index).check_key(key.bytes)?;
                late.push(self, key.index, key.bytes, row, relations, session)?;
                pending.wait_for_end();
                continue;
            }
            match self.insert_key(transaction, key, row, buffer, new_row, session)? {
                Inserted::Done => {}
                Inserted::Duplicate(other) => {
                    return Err(self.is_there(key.index, other == row, new_row));
                }
            }
        }
        Ok(())
    }

    /// Inserts an index entry of the row that has these bytes.
    pub(crate) fn insert_key(
        &self,
        transaction: &mut Transaction,
        key: RowKey<'_>,
        row: RowAddress,
        buffer: &mut Vec<u8>,
        new_row: &[u8],
        session: &Session,
    ) -> Result<Inserted, Stop> {
        self.check_key_view(transaction, key)?;
        let bytes = self.entry_key(key, row, buffer);
        let inserted = self.index(key.index).insert(transaction, bytes, row, session);
        inserted.map_err(|stop| self.not_locked(stop, key.index, new_row))
    }

    /// Whether no other entry of its index may have the key (RL4).
    pub(crate) fn stands_alone(&self, key: RowKey<'_>) -> bool {
        !key.has_null && self.index(key.index).is_unique()
    }

    /// Refuses a key that stands alone in an index that is younger than the transaction's one
    /// snapshot: it can't tell whether the snapshot sees the key (RL26).
    pub(crate) fn check_key_view(
        &self,
        transaction: &Transaction,
        key: RowKey<'_>,
    ) -> Result<(), Stop> {
        match transaction.fixed_view() {
            Some(view) if self.stands_alone(key) => {
                self.check_index_view(&self.indexes()[key.index], view)
            }
            _ => Ok(()),
        }
    }

    /// The key of an entry. In a unique index the row's address follows if a column is NULL (RL4).
    pub(crate) fn entry_key<'a>(
        &self,
        key: RowKey<'a>,
        row: RowAddress,
        buffer: &'a mut Vec<u8>,
    ) -> &'a [u8] {
        if !key.has_null || !self.index_definition(key.index).unique {
            return key.bytes;
        }
        buffer.clear();
        buffer.extend_from_slice(key.bytes);
        buffer.extend_from_slice(&address_bytes(row));
        buffer
    }

    /// The value as its column holds it. Refused if it doesn't fit, or is NULL in a NOT NULL
    /// column.
    #[inline]
    pub(crate) fn fit<'v>(&self, column: usize, value: Value<'v>) -> Result<Value<'v>, Stop> {
        let of = &self.definition().columns[column];
        if value.is_null() && of.not_null {
            return Err(self.not_null(column));
        }
        let fitted = of.kind.fit(&of.name, value);
        fitted.map_err(|misfit| self.misfit(&misfit))
    }

    #[cold]
    fn wrong_row(&self, values: usize, columns: usize) -> Stop {
        let message = format!(
            "cannot insert a row of {values} values into table {}: it has {columns} columns; give \
             a value for each",
            self.definition().name
        );
        Stop::refuse(RefusalKind::Invalid, message)
    }

    #[cold]
    fn not_evaluated(&self, column: usize) -> Stop {
        let definition = self.definition();
        let message = format!(
            "cannot insert a row into table {} without a value for column {}: its DEFAULT is an \
             expression, which only SQL evaluates; ask for the table again, and give it a value",
            definition.name, definition.columns[column].name
        );
        Stop::refuse(RefusalKind::Invalid, message)
    }

    #[cold]
    fn not_null(&self, column: usize) -> Stop {
        let definition = self.definition();
        let (column, table) = (&definition.columns[column].name, &definition.name);
        let message = format!("column {column} of table {table} may not be NULL");
        let refusal = Refusal::new(RefusalKind::NotNullViolation, message);
        refusal.hint("give it a value").table(table).column(column).into()
    }

    /// Refuses a row for which a CHECK is false.
    pub(crate) fn check_conditions<'v>(
        &'v self,
        value: &dyn Fn(usize) -> Value<'v>,
    ) -> Result<(), Stop> {
        for check in &self.definition().checks {
            if check.condition.evaluate(value) == Truth::False {
                return Err(self.not_true(&check.name, &check.condition.columns(), value));
            }
        }
        Ok(())
    }

    /// Refuses a row for which a CHECK that is an expression is false. Called without latches
    /// (RL80).
    pub(crate) fn check_expressions(&self, row: &[Value<'_>]) -> Result<(), Stop> {
        for (check, predicate) in self.definition().expressions.iter().zip(self.predicates()) {
            let predicate = predicate.as_ref().map_err(Stop::clone)?;
            if predicate.truth(row)? == Truth::False {
                return Err(self.not_true(&check.name, &check.columns, &|column| row[column]));
            }
        }
        Ok(())
    }

    /// The truth value of the CHECK expression at this place in the definition, for a row with
    /// these values. Called without latches (RL80).
    pub fn truth_of(&self, expression: usize, row: &[Value<'_>]) -> Result<Truth, Stop> {
        self.predicates()[expression].as_ref().map_err(Stop::clone)?.truth(row)
    }

    /// The refusal of a row by the check of this name, which reads these columns.
    #[cold]
    fn not_true<'v>(
        &self,
        check: &str,
        columns: &[usize],
        value: &dyn Fn(usize) -> Value<'v>,
    ) -> Stop {
        let definition = self.definition();
        let name = |column: usize| &definition.columns[column].name;
        let values = columns.iter().map(|column| assigned(name(*column), value(*column)));
        let message = format!("a row of table {} breaks check {check}", definition.name);
        let refusal = Refusal::new(RefusalKind::CheckViolation, message);
        let refusal = refusal.detail(values.collect::<Vec<_>>().join(", "));
        let refusal = refusal.hint("give other values");
        refusal.table(&definition.name).constraint(check).into()
    }

    /// Adds the key's values to the refusal of a lock of a key: the lock manager knows only the
    /// index.
    #[cold]
    pub(crate) fn not_locked(&self, stop: Stop, number: usize, row: &[u8]) -> Stop {
        let index = self.index_definition(number);
        let columns = index.columns.iter().map(|of| of.column);
        let key = || self.key_text(columns, row);
        stop.map_refusal(|refusal| {
            let detail = match (refusal.kind(), &refusal.parts().detail) {
                (RefusalKind::Busy | RefusalKind::LockTimeout, _) => {
                    format!("the key is {}", key())
                }
                (RefusalKind::Deadlock, Some(waits)) => format!("{waits}\nIts key is {}", key()),
                _ => return refusal,
            };
            refusal.detail(detail).table(&self.definition().name).constraint(&index.name)
        })
    }

    /// The refusal of a key that the index at this place has, of the same row or of another.
    #[cold]
    pub(crate) fn is_there(&self, number: usize, is_same_row: bool, row: &[u8]) -> Stop {
        match is_same_row {
            true => self.index_disagrees(number, "has an entry of a row before it is"),
            false => self.not_unique(number, row),
        }
    }

    /// The refusal of a key that another row has.
    #[cold]
    fn not_unique(&self, number: usize, row: &[u8]) -> Stop {
        let (index, table) = (self.index_definition(number), &self.definition().name);
        let columns = index.columns.iter().map(|of| of.column);
        let message =
            format!("table {table} has another row with this key, which {} forbids", index.name);
        let refusal = Refusal::new(RefusalKind::UniqueViolation, message);
        let refusal = refusal.detail(self.key_text(columns, row));
        let refusal = refusal.hint("give another value, or change that row");
        refusal.table(table).constraint(&index.name).into()
    }

    /// The names and values of these columns of a row, for messages.
    pub(crate) fn key_text(&self, columns: impl Iterator<Item = usize>, row: &[u8]) -> String {
        let Ok(row) = self.row(row) else { return "values that can't be read".into() };
        let show = |column: usize| {
            let name = &self.definition().columns[column].name;
            match row.get(column) {
                Ok(value) => assigned(name, value),
                Err(_) => format!("{name} unreadable"),
            }
        };
        columns.map(show).collect::<Vec<_>>().join(", ")
    }
}

/// The name and value of a column, for messages.
pub(crate) fn assigned(column: &str, value: Value<'_>) -> String {
    format!("{column} = {}", shown(value))
}

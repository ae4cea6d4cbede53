//! ALTER TABLE … ALTER COLUMN … TYPE.
//!
//! ```text
//!   stored alike (rule value/VA13) ──▶ do all rows fit? ──▶ another definition; rows stay
//!   else, or with a conversion     ──▶ a new segment, permanent ─▶ rows, converted ─▶ indexes
//!                                        └─▶ another definition; the old segments are dropped
//! ```
//!
//! Rows go into the new segment by this statement's transaction, block by block with one undo
//! record each (rule access/AC38). So that segment isn't temporary: the next opening drops it after
//! the transaction is rolled back, and not before (DC39).
//!
//! Callers: the embedded API; SQL.

use ids::ObjectNo;
use os::Session;
use relation::{Default, Scratch, TableDefinition, Work};
use stop::{RefusalKind, Stop};
use txn::{LockWait, TableMode};
use value::{OwnedValue, Type, Value};

use crate::alter::{cannot, cannot_hold};
use crate::build::each_block;
use crate::checks::{FoundRow, rows_of_block};
use crate::definition_names::place_of;
use crate::dictionary::Dictionary;
use crate::draft::{Draft, NEW_SEGMENT};
use crate::draft_parts::WholeBounds;
use crate::drop::segments_of;
use crate::edit::Edit;
use crate::statement::Statement;
use crate::{Catalog, SequenceDefinition};

/// Makes the new value of a column from the old one.
pub type Convert<'c> = dyn FnMut(Value<'_>) -> Result<OwnedValue, Stop> + 'c;

/// A column that gets another type.
struct Retyped {
    place: usize,
    name: String,
    kind: Type,
    /// Whether a foreign key has the column, on either side: then values stay equal.
    is_key: bool,
}

impl Catalog {
    /// Gives a column another type. Each row is rewritten, with the value that `convert` makes of
    /// its old one, fitted to the new type. It is called with no latch held, once for each row.
    pub fn convert_column(
        &self,
        table: &str,
        column: &str,
        kind: Type,
        convert: &mut Convert<'_>,
        lock_wait: LockWait,
        session: &Session,
    ) -> Result<(), Stop> {
        self.run(lock_wait, session, |statement| {
            let before = statement.lock(table, TableMode::Exclusive)?;
            let before = TableDefinition::clone(&before);
            statement.set_type(before, column, kind, Some(convert))
        })
    }
}

impl Statement<'_> {
    /// Gives a column another type. Without a conversion its values are fitted to the type.
    pub(crate) fn set_type(
        &mut self,
        before: TableDefinition,
        column: &str,
        kind: Type,
        convert: Option<&mut Convert<'_>>,
    ) -> Result<(), Stop> {
        let place = place_of(&before, column)?;
        let is_key = before.foreign_keys.iter().any(|key| key.columns.contains(&place))
            || before.referenced_by.iter().any(|key| key.referenced_columns.contains(&place));
        let retyped = Retyped { place, name: column.into(), kind, is_key };
        let mut table = self.read(|dictionary| retyped.definition(&before, dictionary))?;
        self.catalog.check_expressions(&table)?;
        let old = before.columns[place].kind;
        if convert.is_none() && kind.is_stored_like(old) {
            self.check_fits(&before, &retyped)?;
            return self.publish_retyped(table, &retyped, &[]);
        }
        // Every row that is there will have a value of its own.
        table.columns[place].missing = OwnedValue::NULL;
        self.wait_for_dead_transactions(&before)?;
        self.rewrite(&before, &mut table, &retyped, convert)?;
        self.publish_retyped(table, &retyped, &segments_of(&before))
    }

    fn publish_retyped(
        &mut self,
        table: TableDefinition,
        retyped: &Retyped,
        drops: &[ObjectNo],
    ) -> Result<(), Stop> {
        let what = retyped.what(&table);
        let edit = |dictionary: &Dictionary| {
            dictionary.check_column_unread(table.object, retyped.place, &what)?;
            // A sequence has no lock (DC5): it may have been altered while rows were rewritten.
            if let Some(sequence) = table.columns[retyped.place].default.sequence() {
                retyped.check_identity(dictionary.sequence_of(sequence)?.definition(), &table)?;
            }
            Ok::<_, Stop>(Edit::of(table))
        };
        self.publish(edit, drops)
    }

    /// Refuses a table with a value that the new type doesn't have, where its rows stay.
    fn check_fits(&self, before: &TableDefinition, retyped: &Retyped) -> Result<(), Stop> {
        let Retyped { place, name, kind, .. } = retyped;
        if kind.holds_all_of(before.columns[*place].kind) {
            return Ok(());
        }
        let has_no_place = |_, row: &value::RowView<'_>| {
            let value = row.get(*place).unwrap_or(Value::Null);
            kind.fit(name, value).ok() != Some(value)
        };
        match self.find(before, has_no_place)? {
            None => Ok(()),
            Some(FoundRow { address, text }) => {
                let what = format!(
                    "{kind} can't hold the value of column {name} in row {address} ({text}); \
                     change the value first"
                );
                Err(cannot(&before.name, &what))
            }
        }
    }

    /// Puts all rows into a new segment, with the new values, and makes the indexes anew.
    fn rewrite(
        &mut self,
        before: &TableDefinition,
        table: &mut TableDefinition,
        retyped: &Retyped,
        mut convert: Option<&mut Convert<'_>>,
    ) -> Result<(), Stop> {
        let tablespace = self.tablespace_of(before.segment)?;
        let of_index = |index: &relation::IndexDefinition| self.tablespace_of(index.segment);
        let of_indexes = before.indexes.iter().map(of_index);
        let of_indexes: Vec<String> = of_indexes.collect::<Result<_, Stop>>()?;
        table.segment = NEW_SEGMENT;
        table.indexes.iter_mut().for_each(|index| index.segment = NEW_SEGMENT);
        let places = self.make_segments(table, &tablespace, &of_indexes)?;
        self.keep_early(table.segment)?;
        let (source, target) = (self.open(before)?, self.open(&without_keys(table))?);
        let (catalog, session) = (self.catalog, self.session);
        let transactions = &catalog.transactions;
        let snapshot = transactions.snapshot(None, session)?;
        let view = transactions.view_of(&snapshot, None);
        let (mut scratch, relations) = (Scratch::default(), catalog);
        let transaction = &mut self.transaction;
        let mut work = Work { transaction, scratch: &mut scratch, relations, session };
        target.load(&mut work, table.columns.len(), catalog.key_sort(), |load| {
            each_block(&source, view, session, |block| {
                for (_, mut row) in rows_of_block(&source, block, view, session)? {
                    retyped.convert(before, &mut row, &mut convert)?;
                    let values: Vec<Value<'_>> = row.iter().map(OwnedValue::get).collect();
                    load.push(&values)?;
                }
                Ok(())
            })
        })?;
        drop(snapshot);
        self.fill_with_own(table, &places)
    }

    /// Fills indexes of a table into which this transaction has put the rows.
    fn fill_with_own(&self, table: &TableDefinition, places: &[usize]) -> Result<(), Stop> {
        if places.is_empty() {
            return Ok(());
        }
        let open = self.open(table)?;
        let (transactions, session) = (&self.catalog.transactions, self.session);
        let snapshot = transactions.snapshot(None, session)?;
        let view = transactions.view_of(&snapshot, Some(&self.transaction)).with_all_own();
        for place in places {
            self.catalog.fill(&open, *place, view, session)?;
        }
        Ok(())
    }
}

/// The definition without indexes and foreign keys: rows go in first, and what foreign keys say of
/// them stays as it was.
fn without_keys(table: &TableDefinition) -> TableDefinition {
    let (indexes, foreign_keys, referenced_by) = (Vec::new(), Vec::new(), Vec::new());
    TableDefinition { indexes, foreign_keys, referenced_by, ..table.clone() }
}

impl Retyped {
    /// What is done, in words for a message.
    fn what(&self, table: &TableDefinition) -> String {
        format!("change the type of column {} of table {}", self.name, table.name)
    }

    /// The definition of the table with the new type. Refused if something that has the column
    /// can't have it with that type.
    fn definition(
        &self,
        before: &TableDefinition,
        dictionary: &Dictionary,
    ) -> Result<TableDefinition, Stop> {
        dictionary.check_column_unread(before.object, self.place, &self.what(before))?;
        let mut draft = Draft::alter(before.clone(), dictionary);
        let column = &mut draft.table.columns[self.place];
        column.kind = self.kind;
        let refit = |value: &OwnedValue| {
            let fitted = self.kind.fit(&self.name, value.get());
            let fitted = fitted.map_err(|misfit| cannot_hold(&before.name, misfit))?;
            Ok::<_, Stop>(fitted.to_owned())
        };
        if let Default::Constant(value) = &column.default {
            column.default = Default::Constant(
                refit(value).map_err(|stop| stop.saying("this is its default: drop that first"))?,
            );
        }
        // Where rows stay, it is the value of old ones.
        column.missing = refit(&column.missing).unwrap_or(OwnedValue::NULL);
        if let Some(sequence) = column.default.sequence() {
            self.check_identity(dictionary.sequence_of(sequence)?.definition(), before)?;
        }
        for number in 0..draft.table.checks.len() {
            let condition = &draft.table.checks[number].condition;
            if condition.columns().contains(&self.place) {
                let typed = draft.typed(condition)?;
                draft.table.checks[number].condition = typed;
            }
        }
        self.check_keys(&draft.table, dictionary)?;
        Ok(draft.table)
    }

    fn check_identity(
        &self,
        sequence: &SequenceDefinition,
        before: &TableDefinition,
    ) -> Result<(), Stop> {
        let WholeBounds { least, most } = WholeBounds::of(self.kind);
        if self.kind.is_integer() && sequence.min >= least && sequence.max <= most {
            return Ok(());
        }
        let what = format!(
            "column {} is an identity column, with numbers from {} to {}, which {} doesn't have; \
             alter its sequence {} first, or choose another type",
            self.name, sequence.min, sequence.max, self.kind, sequence.name
        );
        Err(cannot(&before.name, &what))
    }

    /// Refuses a type that doesn't share keys with the column on the other side of a foreign key.
    fn check_keys(&self, table: &TableDefinition, dictionary: &Dictionary) -> Result<(), Stop> {
        for key in table.foreign_keys.iter().chain(&table.referenced_by) {
            let pairs = key.columns.iter().zip(&key.referenced_columns);
            for (column, referenced) in pairs {
                let kind = |object: ObjectNo, place: usize| match object == table.object {
                    true => Ok(table.columns[place].kind),
                    false => Ok::<_, Stop>(dictionary.table_of(object)?.columns[place].kind),
                };
                let (own, other) = (kind(key.table, *column)?, kind(key.references, *referenced)?);
                if !own.shares_keys_with(other) {
                    let what = format!(
                        "column {} is in foreign key {}, whose sides would be {own} and {other}, \
                         which have no common keys; drop the foreign key first",
                        self.name, key.name
                    );
                    return Err(cannot(&table.name, &what));
                }
            }
        }
        Ok(())
    }

    /// Replaces the value of a row, and those of columns that were dropped.
    fn convert(
        &self,
        before: &TableDefinition,
        row: &mut [OwnedValue],
        convert: &mut Option<&mut Convert<'_>>,
    ) -> Result<(), Stop> {
        for (column, value) in before.columns.iter().zip(&mut *row) {
            if column.is_dropped() {
                *value = OwnedValue::NULL;
            }
        }
        let old = &row[self.place];
        let converted = match convert {
            Some(convert) => (**convert)(old.get())?,
            None => old.clone(),
        };
        let fitted = self.kind.fit(&self.name, converted.get());
        let new = fitted.map_err(|misfit| cannot_hold(&before.name, misfit))?;
        if self.is_key && new != old.get() {
            let what = format!(
                "column {} is in a foreign key, and {} would become {}; drop the foreign key first",
                self.name,
                value::shown(old.get()),
                value::shown(new)
            );
            return Err(Stop::refuse(
                RefusalKind::WrongState,
                format!("cannot alter table {}: {what}", before.name),
            ));
        }
        row[self.place] = new.to_owned();
        Ok(())
    }
}

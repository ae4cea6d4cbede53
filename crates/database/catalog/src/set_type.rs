//! ALTER TABLE … ALTER COLUMN … TYPE.
//!
//! ```text
//!   stored alike (rule value/VA13) ──▶ do all rows fit? ──▶ another definition; rows stay
//!   else, or with a conversion     ──▶ a new segment, permanent ─▶ rows, converted ─▶ indexes
//!                                        └─▶ another definition; the old segments are left over
//! ```
//!
//! Columns whose types change side by side are converted by one rewrite.
//!
//! Rows go into the new segment by this statement's transaction, block by block with one undo
//! record each (rule access/AC38). So that segment isn't temporary: the next opening drops it after
//! the transaction is rolled back, and not before (DC39).
//!
//! Callers: `alter`; `altered`, for the last look.

use std::collections::BTreeMap;

use ids::ObjectNo;
use relation::{ColumnDefinition, Default, Scratch, TableDefinition, Work};
use stop::{RefusalKind, SqlState, Stop};
use value::{OwnedValue, Type, Value};

use crate::alter::{cannot, cannot_hold};
use crate::build::each_block;
use crate::checks::{FoundRow, rows_of_block};
use crate::definition_names::place_of;
use crate::dictionary::Dictionary;
use crate::draft::{Draft, NEW_SEGMENT};
use crate::draft_parts::WholeBounds;
use crate::statement::Statement;
use crate::{Alteration, SequenceDefinition};

/// Makes the new value of a column from the old one.
pub type Convert<'c> = dyn FnMut(Value<'_>) -> Result<OwnedValue, Stop> + 'c;

/// A column that gets another type.
struct Retyped<'c> {
    place: usize,
    name: String,
    kind: Type,
    /// Whether a foreign key has the column, on either side: then values stay equal.
    is_key: bool,
    /// Makes the new values; without it the old ones are fitted to the type.
    convert: Option<Box<Convert<'c>>>,
}

impl Statement<'_> {
    /// The definition of the table with these changes of types, by one rewrite of its rows at most.
    /// Values of a column without a conversion are fitted to its type.
    pub(crate) fn set_types<'c>(
        &mut self,
        before: &TableDefinition,
        changes: &[Alteration],
        conversions: &mut BTreeMap<String, Box<Convert<'c>>>,
    ) -> Result<TableDefinition, Stop> {
        let mut all: Vec<Retyped<'c>> = Vec::with_capacity(changes.len());
        for change in changes {
            let Alteration::SetType { column, kind } = change else { continue };
            let retyped = Retyped::of(before, column, *kind, conversions.remove(column))?;
            if all.iter().any(|one| one.place == retyped.place) {
                let what = format!("column {column} would get two types");
                let refused = cannot(&before.name, &what).map_refusal(|refusal| {
                    let refusal = refusal.with_state(SqlState::FEATURE_NOT_SUPPORTED);
                    refusal.hint("say the second one alone")
                });
                return Err(refused);
            }
            all.push(retyped);
        }
        let mut table = self.read(|dictionary| with_types(before, &all, dictionary))?;
        self.catalog.check_expressions(&table)?;
        for stored_alike in all.iter().filter(|one| one.is_stored_alike(before)) {
            self.check_fits(before, stored_alike)?;
        }
        if all.iter().all(|one| one.is_stored_alike(before)) {
            return Ok(table);
        }
        // Every row that is there will have values of its own.
        for one in &all {
            table.columns[one.place].missing = OwnedValue::NULL;
        }
        self.wait_for_dead_transactions(before)?;
        self.rewrite(before, &mut table, all)?;
        Ok(table)
    }

    /// Refuses a table with a value that the new type doesn't have, where its rows stay.
    fn check_fits(&self, before: &TableDefinition, retyped: &Retyped<'_>) -> Result<(), Stop> {
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
        mut all: Vec<Retyped<'_>>,
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
        // The statement may have written the rows itself, by a change of a type before.
        let view = transactions.view_of(&snapshot, Some(&self.transaction)).with_all_own();
        let (mut scratch, relations) = (Scratch::default(), catalog);
        let transaction = &mut self.transaction;
        let mut work = Work { transaction, scratch: &mut scratch, relations, session };
        target.load(&mut work, table.columns.len(), catalog.key_sort(), |load| {
            each_block(&source, view, session, |block| {
                for (_, mut row) in rows_of_block(&source, block, view, session)? {
                    clear_dropped(before, &mut row);
                    for retyped in &mut all {
                        retyped.convert(&before.name, &mut row)?;
                    }
                    let values: Vec<Value<'_>> = row.iter().map(OwnedValue::get).collect();
                    load.push(&values)?;
                }
                Ok(())
            })
        })?;
        drop(snapshot);
        self.fill(table, &places)
    }
}

/// Takes away the values of columns that were dropped.
fn clear_dropped(table: &TableDefinition, row: &mut [OwnedValue]) {
    for (column, value) in table.columns.iter().zip(row) {
        if column.is_dropped() {
            *value = OwnedValue::NULL;
        }
    }
}

/// The definition without indexes and foreign keys: rows go in first, and what foreign keys say of
/// them stays as it was.
fn without_keys(table: &TableDefinition) -> TableDefinition {
    let (indexes, foreign_keys, referenced_by) = (Vec::new(), Vec::new(), Vec::new());
    TableDefinition { indexes, foreign_keys, referenced_by, ..table.clone() }
}

/// The definition of a table with the new types. Refused if something that has one of the columns
/// can't have it with its type.
fn with_types(
    before: &TableDefinition,
    all: &[Retyped<'_>],
    dictionary: &Dictionary,
) -> Result<TableDefinition, Stop> {
    let mut draft = Draft::alter(before.clone(), dictionary);
    for retyped in all {
        retyped.redefine(&mut draft.table, dictionary)?;
    }
    for number in 0..draft.table.checks.len() {
        let condition = &draft.table.checks[number].condition;
        let columns = condition.columns();
        if all.iter().any(|one| columns.contains(&one.place)) {
            let typed = draft.typed(condition)?;
            draft.table.checks[number].condition = typed;
        }
    }
    check_keys(&draft.table, dictionary)?;
    Ok(draft.table)
}

/// Refuses an identity column whose type doesn't have the numbers of its sequence.
pub(crate) fn check_identity(
    column: &ColumnDefinition,
    sequence: &SequenceDefinition,
    table: &str,
) -> Result<(), Stop> {
    let ColumnDefinition { name, kind, .. } = column;
    let WholeBounds { least, most } = WholeBounds::of(*kind);
    if kind.is_integer() && sequence.min >= least && sequence.max <= most {
        return Ok(());
    }
    let what = format!(
        "column {name} is an identity column, with numbers from {} to {}, which {kind} doesn't \
         have; alter its sequence {} first, or choose another type",
        sequence.min, sequence.max, sequence.name
    );
    Err(cannot(table, &what))
}

/// Refuses types that don't share keys with those on the other side of a foreign key.
fn check_keys(table: &TableDefinition, dictionary: &Dictionary) -> Result<(), Stop> {
    for key in table.foreign_keys.iter().chain(&table.referenced_by) {
        for (column, referenced) in key.columns.iter().zip(&key.referenced_columns) {
            let kind = |object: ObjectNo, place: usize| match object == table.object {
                true => Ok(table.columns[place].kind),
                false => Ok::<_, Stop>(dictionary.table_of(object)?.columns[place].kind),
            };
            let (own, other) = (kind(key.table, *column)?, kind(key.references, *referenced)?);
            if !own.shares_keys_with(other) {
                let place = if key.table == table.object { *column } else { *referenced };
                let what = format!(
                    "column {} is in foreign key {}, whose sides would be {own} and {other}, \
                     which have no common keys; drop the foreign key first",
                    table.columns[place].name, key.name
                );
                return Err(cannot(&table.name, &what));
            }
        }
    }
    Ok(())
}

impl<'c> Retyped<'c> {
    fn of(
        table: &TableDefinition,
        column: &str,
        kind: Type,
        convert: Option<Box<Convert<'c>>>,
    ) -> Result<Retyped<'c>, Stop> {
        let place = place_of(table, column)?;
        let is_key = table.foreign_keys.iter().any(|key| key.columns.contains(&place))
            || table.referenced_by.iter().any(|key| key.referenced_columns.contains(&place));
        Ok(Retyped { place, name: column.into(), kind, is_key, convert })
    }

    /// Whether the values have the same bytes with the new type.
    fn is_stored_alike(&self, before: &TableDefinition) -> bool {
        self.convert.is_none() && self.kind.is_stored_like(before.columns[self.place].kind)
    }

    /// Gives the column its new type. Refused if a view reads it, or its default or its identity
    /// can't be of that type.
    fn redefine(&self, table: &mut TableDefinition, dictionary: &Dictionary) -> Result<(), Stop> {
        let of = table.name.clone();
        let what = format!("change the type of column {} of table {of}", self.name);
        dictionary.check_column_unread(table.object, self.place, &what)?;
        let column = &mut table.columns[self.place];
        column.kind = self.kind;
        let refit = |value: &OwnedValue| {
            let fitted = self.kind.fit(&self.name, value.get());
            let fitted = fitted.map_err(|misfit| cannot_hold(&of, misfit))?;
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
            check_identity(column, dictionary.sequence_of(sequence)?.definition(), &of)?;
        }
        Ok(())
    }

    /// Replaces the value of a row of the table of this name.
    fn convert(&mut self, table: &str, row: &mut [OwnedValue]) -> Result<(), Stop> {
        let old = &row[self.place];
        let converted = match &mut self.convert {
            Some(convert) => (**convert)(old.get())?,
            None => old.clone(),
        };
        let fitted = self.kind.fit(&self.name, converted.get());
        let new = fitted.map_err(|misfit| cannot_hold(table, misfit))?;
        if self.is_key && new != old.get() {
            let what = format!(
                "column {} is in a foreign key, and {} would become {}; drop the foreign key first",
                self.name,
                value::shown(old.get()),
                value::shown(new)
            );
            return Err(Stop::refuse(
                RefusalKind::WrongState,
                format!("cannot alter table {table}: {what}"),
            ));
        }
        row[self.place] = new.to_owned();
        Ok(())
    }
}

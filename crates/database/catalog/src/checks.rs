//! Checking the existing rows before a definition says something of them, and filling indexes.
//!
//! Invariant: a table lock keeps changes out from before the check to the commit (DC14).
//!
//! Callers: `create`, `alter`, `drop`, `set_type`.

use std::sync::Arc;

use access::RowAddress;
use ids::{Dba, ObjectNo};
use os::Session;
use relation::{ForeignKey, Relation, Scratch, TableDefinition, Truth};
use stop::{Refusal, RefusalKind, Stop};
use txn::View;
use value::{OwnedValue, RowView, Value, shown};

use crate::build::{each_block, unreadable};
use crate::statement::Statement;

/// The first row that a search found.
pub(crate) struct FoundRow {
    pub(crate) address: RowAddress,
    /// The names and values of its first columns, for messages.
    pub(crate) text: String,
}

impl Statement<'_> {
    /// Fills the indexes at these places of a table whose new definition isn't published yet.
    pub(crate) fn fill(&self, table: &TableDefinition, places: &[usize]) -> Result<(), Stop> {
        if places.is_empty() {
            return Ok(());
        }
        let open = self.open(table)?;
        self.with_view(|view| {
            for place in places {
                self.catalog.fill(&open, *place, view, self.session)?;
            }
            Ok(())
        })
    }

    /// Whether the table has rows.
    pub(crate) fn has_rows(&self, table: &TableDefinition) -> Result<bool, Stop> {
        Ok(self.find(table, |_, _| true)?.is_some())
    }

    /// The definition of a table if it has rows. The table needn't be locked: if other DDL replaces
    /// its definition while its rows are looked at, they are looked at again.
    pub(crate) fn with_rows(&self, object: ObjectNo) -> Result<Option<Arc<TableDefinition>>, Stop> {
        let definition = || self.read(|dictionary| dictionary.table_of(object).cloned());
        loop {
            let table = definition()?;
            match self.has_rows(&table) {
                Err(stop) if stop.refusal().is_none() => return Err(stop),
                found if Arc::ptr_eq(&table, &definition()?) => {
                    return found.map(|has_rows| has_rows.then_some(table));
                }
                _ => {}
            }
        }
    }

    /// Finds a row that has NULL in the column.
    pub(crate) fn find_null(
        &self,
        table: &TableDefinition,
        column: usize,
    ) -> Result<Option<FoundRow>, Stop> {
        self.find(table, |_, row| matches!(row.get(column), Ok(Value::Null)))
    }

    /// Finds the first row for which `is_it` holds, which only computes. Its text has the first
    /// four columns that weren't dropped (DC9).
    pub(crate) fn find(
        &self,
        table: &TableDefinition,
        is_it: impl Fn(RowAddress, &RowView<'_>) -> bool,
    ) -> Result<Option<FoundRow>, Stop> {
        let open = self.open(table)?;
        let (mut found, mut read) = (None, Ok(()));
        self.with_view(|view| {
            each_block(&open, view, self.session, |block| {
                if found.is_some() {
                    return Ok(());
                }
                let mut visit = |address, row: &[u8]| match RowView::new(open.layout(), row) {
                    Ok(row) if found.is_none() && is_it(address, &row) => {
                        let is_there = |column: &usize| !table.columns[*column].is_dropped();
                        let columns = (0..table.columns.len()).filter(is_there);
                        let text = open.columns_text(columns.take(4), &row);
                        found = Some(FoundRow { address, text });
                    }
                    Ok(_) => {}
                    Err(damaged) => read = Err(unreadable(table, address, &damaged)),
                };
                open.heap().visit_block(view, block, &mut visit, self.session)
            })
        })?;
        read.map(|()| found)
    }

    /// Refuses a table with a row that breaks its last CHECK.
    pub(crate) fn check_rows(&self, table: &TableDefinition) -> Result<(), Stop> {
        let check = table.checks.last().expect("a check was added");
        let breaks = |_, row: &RowView<'_>| {
            let value = |column| row.get(column).unwrap_or(Value::Null);
            check.condition.evaluate(&value) == Truth::False
        };
        match self.find(table, breaks)? {
            None => Ok(()),
            Some(FoundRow { address, text }) => {
                let message = format!(
                    "cannot add CHECK {} to table {}: row {address} breaks it",
                    check.name, table.name
                );
                let refusal = Refusal::new(RefusalKind::CheckViolation, message).detail(text);
                let refusal = refusal.hint("change or delete the row first");
                Err(refusal.table(&table.name).constraint(&check.name).into())
            }
        }
    }

    /// Refuses a table with a row that breaks its last CHECK that is an expression. The rows of a
    /// block are copied, and looked at with no latch held (rule relation/RL80).
    pub(crate) fn check_rows_by_expression(&self, table: &TableDefinition) -> Result<(), Stop> {
        self.catalog.check_expressions(table)?;
        let number = table.expressions.len() - 1;
        let open = self.open(table)?;
        self.with_view(|view| {
            each_block(&open, view, self.session, |block| {
                for (address, row) in rows_of_block(&open, block, view, self.session)? {
                    let values: Vec<Value<'_>> = row.iter().map(OwnedValue::get).collect();
                    if open.truth_of(number, &values)? == Truth::False {
                        let name = &table.expressions[number].name;
                        return Err(breaks(table, name, address, &values));
                    }
                }
                Ok(())
            })
        })
    }

    /// Refuses a table with a row whose last foreign key refers to no row.
    pub(crate) fn check_references(&self, table: &TableDefinition) -> Result<(), Stop> {
        let key = table.foreign_keys.last().expect("a foreign key was added");
        let open = Arc::new(self.open(table)?);
        let parent = match key.references == table.object {
            true => Arc::clone(&open),
            false => self.catalog.relation_of(key.references, self.session)?,
        };
        let mut scratch = Scratch::default();
        self.with_view(|view| {
            each_block(&open, view, self.session, |block| {
                for (row, values) in self.references(&open, key, block, view)? {
                    let values: Vec<Value<'_>> = values.iter().map(OwnedValue::get).collect();
                    let index = parent.index_number(key.referenced_index);
                    let index = index.expect("a foreign key refers to an index that is there");
                    let found = parent.find(index, &values, view, &mut scratch, self.session)?;
                    if found.is_none() {
                        return Err(no_parent(table, &parent, key, row, &values));
                    }
                }
                Ok(())
            })
        })
    }

    /// The foreign-key values of a block's rows, without those rows that have a NULL among them.
    fn references(
        &self,
        table: &Relation,
        key: &ForeignKey,
        block: Dba,
        view: View,
    ) -> Result<Vec<(RowAddress, Vec<OwnedValue>)>, Stop> {
        let (mut found, mut read) = (Vec::new(), Ok(()));
        let mut visit = |address, row: &[u8]| {
            let values = RowView::new(table.layout(), row).and_then(|row| {
                let column = |column: &usize| row.get(*column).map(Value::to_owned);
                key.columns.iter().map(column).collect::<Result<Vec<_>, _>>()
            });
            match values {
                Ok(values) if values.iter().any(|value| value.get().is_null()) => {}
                Ok(values) => found.push((address, values)),
                Err(damaged) => read = Err(unreadable(table.definition(), address, &damaged)),
            }
        };
        table.heap().visit_block(view, block, &mut visit, self.session)?;
        read.map(|()| found)
    }
}

/// A row with a value for each column of its table.
pub(crate) type CopiedRow = (RowAddress, Vec<OwnedValue>);

/// Copies of a block's rows, as the view sees them.
pub(crate) fn rows_of_block(
    table: &Relation,
    block: Dba,
    view: View,
    session: &Session,
) -> Result<Vec<CopiedRow>, Stop> {
    let (mut found, mut read) = (Vec::new(), Ok(()));
    let mut visit = |address, row: &[u8]| {
        let values = RowView::new(table.layout(), row).and_then(|row| {
            let column = |column| row.get(column).map(Value::to_owned);
            (0..table.layout().columns()).map(column).collect::<Result<Vec<_>, _>>()
        });
        match values {
            Ok(values) => found.push((address, values)),
            Err(damaged) => read = Err(unreadable(table.definition(), address, &damaged)),
        }
    };
    table.heap().visit_block(view, block, &mut visit, session)?;
    read.map(|()| found)
}

/// The refusal of a CHECK that is an expression, by a row that breaks it.
fn breaks(table: &TableDefinition, name: &str, row: RowAddress, values: &[Value<'_>]) -> Stop {
    let columns = table.columns.iter().zip(values).filter(|(column, _)| !column.is_dropped());
    let shown =
        columns.take(4).map(|(column, value)| format!("{} = {}", column.name, shown(*value)));
    let message = format!(
        "cannot add CHECK {name} to table {}: row {row} ({}) breaks it; change or delete the row \
         first",
        table.name,
        shown.collect::<Vec<_>>().join(", ")
    );
    Stop::refuse(RefusalKind::CheckViolation, message)
}

fn no_parent(
    table: &TableDefinition,
    parent: &Relation,
    key: &ForeignKey,
    row: RowAddress,
    values: &[Value<'_>],
) -> Stop {
    let values: Vec<String> = values.iter().map(ToString::to_string).collect();
    let message = format!(
        "cannot add foreign key {} to table {}: row {row} refers to a key that table {} hasn't",
        key.name,
        table.name,
        parent.definition().name
    );
    let refusal = Refusal::new(RefusalKind::ForeignKeyViolation, message);
    let refusal = refusal.detail(format!("it refers to ({})", values.join(", ")));
    let refusal = refusal.hint("insert that, or change or delete the row, first");
    refusal.table(&table.name).constraint(&key.name).into()
}

//! CREATE TABLE.
//!
//! Callers: `define`.

use catalog::{ColumnSpec, TableSpec};
use stop::{RefusalKind, Stop};
use syntax::{ColumnDefinition, Constraint, CreateTable, TableContent};

use super::Done;
use super::columns::Present;
use crate::bind::CheckedColumn;
use crate::engine::Frame;
use crate::names::{Name, fold};
use crate::session::{Outcome, Written};

impl Frame<'_> {
    /// CREATE TABLE, also AS a query.
    pub(super) fn create_table(
        &mut self,
        create: &CreateTable,
        written: Written<'_>,
    ) -> Result<Outcome, Stop> {
        const TAG: &str = "CREATE TABLE";
        let name = Name::of_users(&create.name)?;
        if create.if_not_exists && self.object_named(&name).is_some() {
            return Ok(Done::Skipped.outcome(TAG));
        }
        let tablespace = create.tablespace.as_ref().map(fold);
        match &create.content {
            TableContent::Defined { columns, constraints } => {
                written.check()?;
                let spec = self.table_spec(name, tablespace, columns, constraints, written.text)?;
                let wait = self.state.own.ddl_lock_wait();
                let made = self.catalog.create_table(&spec, wait, self.session).map(|_| ());
                let skips = create.if_not_exists;
                Ok(Done::unless(skips, RefusalKind::AlreadyExists, made)?.outcome(TAG))
            }
            TableContent::Query { columns, query, with_data } => {
                self.create_filled(name, tablespace, columns, &query.tree, *with_data, written)
            }
        }
    }

    fn table_spec(
        &mut self,
        name: String,
        tablespace: Option<String>,
        columns: &[ColumnDefinition],
        constraints: &[Constraint],
        text: &str,
    ) -> Result<TableSpec, Stop> {
        let mut specs = Vec::with_capacity(columns.len());
        for column in columns {
            specs.push(self.column_spec(column, Present::NoRows, text)?);
        }
        let known = checked(&specs);
        let of_columns = columns.iter().flat_map(|column| &column.constraints);
        let mut all = Vec::new();
        for constraint in of_columns.chain(constraints) {
            all.push(self.constraint_spec(constraint, &name, &known, text)?);
        }
        drop(known);
        Ok(TableSpec { name, tablespace, columns: specs, constraints: all })
    }
}

/// The columns that a CHECK of a new table may name.
fn checked(columns: &[ColumnSpec]) -> Vec<Option<CheckedColumn<'_>>> {
    let mut all = Vec::with_capacity(columns.len());
    for column in columns {
        all.push(Some(CheckedColumn { name: &column.name, kind: column.kind }));
    }
    all
}

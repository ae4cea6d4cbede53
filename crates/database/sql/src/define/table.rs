//! CREATE TABLE.
//!
//! Callers: `define`.

use catalog::{ColumnSpec, IndexSpec, TableSpec};
use stop::{RefusalKind, Stop};
use syntax::{ColumnDefinition, Constraint, CreateTable, Like, TableContent};

use super::Done;
use super::columns::Present;
use super::like::CopiedIndex;
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
            TableContent::Defined { columns, constraints, likes } => {
                written.check()?;
                let spec = self.table_spec(&name, columns, constraints, likes, written.text)?;
                let spec = TableSpec { tablespace, ..spec };
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
        name: &str,
        columns: &[ColumnDefinition],
        constraints: &[Constraint],
        likes: &[Like],
        text: &str,
    ) -> Result<TableSpec, Stop> {
        let (mut specs, mut copies) = (Vec::with_capacity(columns.len()), Vec::new());
        for place in 0..=columns.len() {
            for like in likes.iter().filter(|like| like.before == place) {
                let copied = self.copied(like)?;
                specs.extend_from_slice(&copied.columns);
                copies.push(copied);
            }
            if let Some(column) = columns.get(place) {
                specs.push(self.column_spec(column, Present::NoRows, text)?);
            }
        }
        let known = checked(&specs);
        let of_columns = columns.iter().flat_map(|column| &column.constraints);
        let (mut all, mut indexes) = (Vec::new(), Vec::new());
        for constraint in of_columns.chain(constraints) {
            all.push(self.constraint_spec(constraint, name, &known, text)?);
        }
        drop(known);
        for copied in copies {
            all.extend(copied.constraints);
            for CopiedIndex { columns, unique } in copied.indexes {
                let of = self.index_name(name, &columns, &indexes);
                let (table, tablespace) = (name.to_string(), None);
                indexes.push(IndexSpec { name: of, table, columns, unique, tablespace });
            }
        }
        Ok(TableSpec { columns: specs, constraints: all, indexes, ..TableSpec::new(name) })
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

//! What the planner knows of a node's columns: their kinds, and where their values come from.
//!
//! Callers: all of `plan`.

use std::fmt;
use std::sync::Arc;

use expression::{Expression, Kind};

use super::selectivity::DISTINCT_UNKNOWN;
use crate::schema::TableInfo;
use crate::statistics::ColumnStatistics;

/// A column of a node.
#[derive(Clone, Debug)]
pub(crate) struct ColumnInfo {
    /// The kind of its values.
    pub(crate) kind: Kind,
    /// The column of a table whose values it has; none if it was computed.
    pub(crate) origin: Option<Origin>,
}

/// A column of a table.
#[derive(Clone)]
pub(crate) struct Origin {
    pub(crate) table: Arc<TableInfo>,
    /// The name by which the statement knows the table.
    pub(crate) alias: Arc<str>,
    /// The column's place.
    pub(crate) place: usize,
}

impl ColumnInfo {
    /// A column that was computed.
    pub(crate) fn computed(kind: Kind) -> ColumnInfo {
        ColumnInfo { kind, origin: None }
    }

    /// What is known of its values.
    pub(crate) fn statistics(&self) -> Option<&ColumnStatistics> {
        let origin = self.origin.as_ref()?;
        origin.table.statistics.columns.get(origin.place)
    }

    /// The number of different values among `rows` rows.
    pub(crate) fn distinct(&self, rows: f64) -> f64 {
        let known = self.statistics().map(|known| known.distinct);
        known.unwrap_or(DISTINCT_UNKNOWN).min(rows).max(1.0)
    }

    /// The mean length of its values, in bytes.
    pub(crate) fn bytes(&self) -> f64 {
        self.statistics().map_or(8.0, |known| known.width)
    }

    /// Its name in EXPLAIN; none if it was computed.
    pub(crate) fn name(&self) -> Option<String> {
        let Origin { table, alias, place } = self.origin.as_ref()?;
        let column = table.definition.columns.get(*place)?;
        Some(format!("{alias}.{}", column.name))
    }
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.alias, self.place)
    }
}

/// The kind of an expression over these columns and slots.
pub(super) fn kind_of(expression: &Expression, columns: &[ColumnInfo], slots: &[Kind]) -> Kind {
    let column = |number: usize| columns[number].kind;
    let slot = |number: usize| slots.get(number).copied().unwrap_or(Kind::Unknown);
    expression.kind(&column, &slot)
}

/// What is known of an expression over these columns.
pub(super) fn info_of(
    expression: &Expression,
    columns: &[ColumnInfo],
    slots: &[Kind],
) -> ColumnInfo {
    match expression {
        Expression::Column(column) => columns[*column].clone(),
        other => ColumnInfo::computed(kind_of(other, columns, slots)),
    }
}

/// The mean length of a row of these columns, in bytes of memory.
pub(super) fn row_bytes(columns: &[ColumnInfo]) -> f64 {
    columns.iter().map(|column| 24.0 + text_bytes(column)).sum::<f64>().max(8.0)
}

fn text_bytes(column: &ColumnInfo) -> f64 {
    match column.kind {
        Kind::Text | Kind::Char | Kind::Bytes | Kind::Unknown => column.bytes(),
        _ => 0.0,
    }
}

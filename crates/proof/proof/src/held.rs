//! The rows of a table by a scan and by each of its indexes, which must give the same: forwards in
//! the order of its keys, backwards in the opposite one, and each row by its own key.
//!
//! Callers: `found`, for each crash state; tests.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::ops::ControlFlow;

use database::{
    Bounds, Connection, Direction, IndexDefinition, IndexDirection, NullOrdering, OwnedValue, Row,
    Table, TableDefinition, Value,
};
use stop::Stop;

use crate::Violation;

/// All values of a row, in the order of its table's columns.
pub(crate) type Cells = Vec<OwnedValue>;

/// A table whose indexes give the rows that it has.
pub(crate) struct Held<T> {
    pub(crate) table: Table,
    /// Of each row, by its primary key, what was made of it.
    pub(crate) rows: BTreeMap<i64, T>,
    /// Its values.
    pub(crate) cells: BTreeMap<i64, Cells>,
    /// Primary keys as each index has them.
    orders: Vec<Vec<i64>>,
}

/// The rows of a table by a scan, if each of its indexes gives the same, in the order of its keys:
/// of each row its primary key, and what `look` makes of it.
pub fn held<T: Copy + PartialEq + Debug>(
    connection: &mut Connection<'_>,
    name: &str,
    look: impl Fn(&Row<'_>) -> Result<(i64, T), String>,
) -> Result<BTreeMap<i64, T>, Violation> {
    Held::read(connection, name, look).map(|held| held.rows)
}

fn says<'a>(name: &'a str) -> impl Fn(Stop) -> Violation + 'a {
    move |stop| Violation(format!("table {name} can't be read: {stop}"))
}

impl<T: Copy + PartialEq + Debug> Held<T> {
    pub(crate) fn read(
        connection: &mut Connection<'_>,
        name: &str,
        look: impl Fn(&Row<'_>) -> Result<(i64, T), String>,
    ) -> Result<Held<T>, Violation> {
        let table = connection.table(name).map_err(says(name))?;
        let (mut rows, mut cells) = (BTreeMap::new(), BTreeMap::new());
        let (mut count, mut torn) = (0, None);
        let definition = table.definition();
        let columns = 0..definition.columns.len();
        let take = |row: Row<'_>| {
            count += 1;
            match look(&row)
                .and_then(|found| Ok((found, cells_of(definition, &row, columns.clone())?)))
            {
                Ok(((id, content), values)) => {
                    rows.insert(id, content);
                    cells.insert(id, values);
                }
                Err(what) => torn = Some(what),
            }
        };
        connection.scan(&table, take).map_err(says(name))?;
        if let Some(what) = torn {
            return Err(Violation(format!("table {name}: {what}")));
        }
        if count != rows.len() {
            return Err(Violation(format!("table {name} has a primary key twice: {rows:?}")));
        }
        let mut held = Held { table, rows, cells, orders: Vec::new() };
        for index in &held.table.clone().definition().indexes {
            let order = held.by_index(connection, index, &look)?;
            held.orders.push(order);
        }
        Ok(held)
    }

    /// The primary keys of all rows as an index has them, if it has just these rows.
    fn by_index(
        &self,
        connection: &mut Connection<'_>,
        index: &IndexDefinition,
        look: impl Fn(&Row<'_>) -> Result<(i64, T), String>,
    ) -> Result<Vec<i64>, Violation> {
        let name = self.table.name();
        let (mut by_index, mut order, mut wrong) = (BTreeMap::new(), Vec::new(), None);
        let mut before: Option<Cells> = None;
        let visit = |row: Row<'_>| {
            let columns = index.columns.iter().map(|of| of.column);
            match look(&row)
                .and_then(|found| Ok((found, cells_of(self.table.definition(), &row, columns)?)))
            {
                Ok(((id, content), key)) => {
                    by_index.insert(id, content);
                    order.push(id);
                    let last = before.replace(key);
                    let key = before.as_ref().expect("it was just put there");
                    if let Some(last) = last
                        && in_order(index, &last, key) == Ordering::Greater
                    {
                        wrong = Some(format!("{key:?} comes after {last:?}"));
                    }
                }
                Err(what) => wrong = Some(what),
            }
            ControlFlow::Continue(())
        };
        connection
            .range(&self.table, index.id(), &Bounds::equal(&[]), Direction::Ascending, visit)
            .map_err(says(name))?;
        let index = &index.name;
        if let Some(what) = wrong {
            return Err(Violation(format!("table {name}, by its index {index}: {what}")));
        }
        if by_index != self.rows || order.len() != self.rows.len() {
            return Err(Violation(format!(
                "table {name} has {:?}, and by its index {index} {} rows, {by_index:?}",
                self.rows,
                order.len()
            )));
        }
        Ok(order)
    }

    /// Each index gives the same backwards, and each row by its own key.
    pub(crate) fn look_closer(&self, connection: &mut Connection<'_>) -> Result<(), Violation> {
        let (table, name) = (&self.table, self.table.name());
        for (index, order) in table.definition().indexes.iter().zip(&self.orders) {
            let mut backwards = Vec::with_capacity(order.len());
            let visit = |row: Row<'_>| {
                backwards.push(row.get_i64(ID).unwrap_or(-1));
                ControlFlow::Continue(())
            };
            connection
                .range(table, index.id(), &Bounds::equal(&[]), Direction::Descending, visit)
                .map_err(says(name))?;
            backwards.reverse();
            if backwards != *order {
                return Err(Violation(format!(
                    "table {name} has {order:?} by its index {}, and backwards {backwards:?}",
                    index.name
                )));
            }
            for (id, cells) in &self.cells {
                let key: Vec<Value<'_>> =
                    index.columns.iter().map(|of| cells[of.column].get()).collect();
                let mut found = Vec::new();
                let visit = |row: Row<'_>| {
                    found.push(row.get_i64(ID).unwrap_or(-1));
                    ControlFlow::Continue(())
                };
                let bounds = Bounds::equal(&key);
                connection
                    .range(table, index.id(), &bounds, Direction::Ascending, visit)
                    .map_err(says(name))?;
                let is_alone = index.unique && !key.iter().any(|value| value.is_null());
                if !found.contains(id) || is_alone && found.len() > 1 {
                    return Err(Violation(format!(
                        "row {id} of {name} was sought by its key {key:?} in its index {}, and \
                         {found:?} found",
                        index.name
                    )));
                }
            }
        }
        Ok(())
    }
}

/// The column of the primary key, in all tables of a load.
const ID: usize = crate::tables::ID;

/// The values of these columns; of one that was dropped, which nobody may ask for, NULL.
fn cells_of(
    of: &TableDefinition,
    row: &Row<'_>,
    columns: impl Iterator<Item = usize>,
) -> Result<Cells, String> {
    let cell = |column: usize| match of.columns[column].is_dropped() {
        true => Ok(OwnedValue::NULL),
        false => row.get(column).map(Value::to_owned).map_err(|damaged| damaged.to_string()),
    };
    columns.map(cell).collect()
}

/// How two keys of an index follow each other in it.
fn in_order(index: &IndexDefinition, one: &Cells, other: &Cells) -> Ordering {
    let columns = index.columns.iter().zip(one.iter().zip(other));
    let mut each = columns.map(|(of, (one, other))| {
        let (one, other) = (one.get(), other.get());
        let nulls = match of.nulls {
            NullOrdering::First => Ordering::Less,
            NullOrdering::Last => Ordering::Greater,
        };
        match (one.is_null(), other.is_null()) {
            (true, true) => Ordering::Equal,
            (true, false) => nulls,
            (false, true) => nulls.reverse(),
            (false, false) => {
                let order = one.compare(other).expect("they are of one column");
                if of.direction == IndexDirection::Descending { order.reverse() } else { order }
            }
        }
    });
    each.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

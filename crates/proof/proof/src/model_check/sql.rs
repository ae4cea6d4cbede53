//! Statements as SQL text, within a transaction of a connection.
//!
//! A selection by an index becomes a condition on the columns of its key, and the index's order an
//! ORDER BY. Which index is used, and whether one is, is up to the planner: what a read gives
//! doesn't depend on that.
//!
//! Callers: `call`.

use std::ops::Bound;

use database::{Error, Tx, Value};

use super::ask::{Act, Ask, Filter, IfHeld, New, Path, Selection, Span, Target, Told};
use super::call::{How, Read};
use super::cell::{Cell, Row};
use super::schema::{TABLES, name_of};
use crate::text::Text;

/// A wait for less than this is none at all: SQL's are whole seconds.
const SHORT_US: u64 = 4_000;

/// Does a statement. A refusal is handed on.
pub(super) fn called(tx: &mut Tx<'_, '_>, ask: &Ask, how: &How<'_>) -> Result<Told, Error> {
    let new = |words: &str| Text::new(words).with_literals(how.literals);
    match &ask.act {
        Act::Read { target, descending, limit } => {
            let mut text = new("select * from ");
            text.name(TABLES[ask.table]);
            of_target(&mut text, target);
            if let Selection::Range(path, _) = &target.selection {
                order_by(&mut text, path, *descending);
            }
            if *limit < usize::MAX {
                text.add(&format!(" limit {limit}"));
            }
            rows(tx, &text)
        }
        Act::Insert(rows) => {
            let text = insert(ask, rows, how);
            done(tx, &text)
        }
        Act::Update(target, set) => {
            let mut text = new("update ");
            text.name(TABLES[ask.table]).add(" set ");
            text.each(set, ", ", |text, (column, new)| {
                text.name(&name_of(*column)).add(" = ");
                match new {
                    New::Value(cell) => text.value(cell.value()),
                    New::Plus(more) => {
                        text.name(&name_of(*column)).add(" + ").value(Value::Int(*more))
                    }
                };
            });
            of_target(&mut text, target);
            done(tx, &text)
        }
        Act::Delete(target) => {
            let mut text = new("delete from ");
            text.name(TABLES[ask.table]);
            of_target(&mut text, target);
            done(tx, &text)
        }
        Act::Lock { target, if_held, limit } => {
            let mut text = new("select * from ");
            text.name(TABLES[ask.table]);
            of_target(&mut text, target);
            if let Selection::Range(path, _) = &target.selection {
                order_by(&mut text, path, false);
            }
            if *limit < u64::MAX {
                text.add(&format!(" limit {limit}"));
            }
            text.add(" for update").add(match if_held {
                IfHeld::Wait => "",
                IfHeld::WaitFor(micros) if *micros < SHORT_US => " wait 0",
                IfHeld::WaitFor(_) => " wait 1",
                IfHeld::NoWait => " nowait",
                IfHeld::Skip => " skip locked",
            });
            rows(tx, &text)
        }
    }
}

fn done(tx: &mut Tx<'_, '_>, text: &Text) -> Result<Told, Error> {
    tx.execute(text.as_str(), &text.binds()).map(|done| Told::Count(done.rows()))
}

/// The rows of a query; none of them is told if it is refused amid them.
fn rows(tx: &mut Tx<'_, '_>, text: &Text) -> Result<Told, Error> {
    let mut all = Read::default();
    let mut cursor = tx.query(text.as_str(), &text.binds())?;
    while let Some(row) = cursor.next_row()? {
        let values: Vec<_> = (0..row.columns().len()).map(|place| row.value(place)).collect();
        all.values(&values);
    }
    drop(cursor);
    Ok(all.told())
}

/// INSERT of rows, as far as the session knows of columns.
fn insert(ask: &Ask, rows: &[Row], how: &How<'_>) -> Text {
    let is_load = how.loads && rows.len() > 1;
    let hint = if is_load { "insert /*+ append */ into " } else { "insert into " };
    let names: Vec<String> = (0..ask.width).map(name_of).collect();
    let mut text = Text::new(hint).with_literals(how.literals);
    text.name(TABLES[ask.table]).add(" (");
    text.names(names.iter().map(String::as_str)).add(") ");
    if !is_load {
        text.add("values ").each(rows, ", ", |text, row| {
            let cells = row[..ask.width].iter();
            text.add("(").each(cells, ", ", |text, cell| _ = text.value(cell.value())).add(")");
        });
        return text;
    }
    // The direct path takes the rows of a query.
    text.add("select * from (values ").each(rows, ", ", |text, row| {
        let cells = row[..ask.width].iter().enumerate();
        let each = |text: &mut Text, (column, cell): (usize, &Cell)| {
            text.value_as(cell.value(), how.schema.kind(column));
        };
        text.add("(").each(cells, ", ", each).add(")");
    });
    text.add(") as given (").names(names.iter().map(String::as_str)).add(")");
    text
}

/// WHERE, if not all rows are meant.
fn of_target(text: &mut Text, target: &Target) {
    let mut conditions = Conditions { text, count: 0 };
    match &target.selection {
        Selection::All => {}
        Selection::Key(path, key) => {
            for (of, sought) in path.columns.iter().zip(key) {
                conditions.is(of.column, sought);
            }
        }
        Selection::Range(path, span) => conditions.within(path, span),
    }
    if let Some(Filter { column, divisor, rest }) = target.filter {
        let (name, text) = (name_of(column), conditions.next());
        // The rest has the sign of the number.
        text.add("((").name(&name).add(&format!(" % {divisor}) + {divisor}) % {divisor} = {rest}"));
    }
}

/// The conditions of a WHERE.
struct Conditions<'t> {
    text: &'t mut Text,
    count: usize,
}

impl Conditions<'_> {
    /// The text, at which one more condition is to follow.
    fn next(&mut self) -> &mut Text {
        self.count += 1;
        self.text.add(if self.count == 1 { " where " } else { " and " })
    }

    fn is(&mut self, column: usize, sought: &Cell) {
        let text = self.next().name(&name_of(column));
        match sought.is_null() {
            true => text.add(" is null"),
            false => text.add(" = ").value(sought.value()),
        };
    }

    fn within(&mut self, path: &Path, span: &Span) {
        for (of, sought) in path.columns.iter().zip(&span.equal) {
            self.is(of.column, sought);
        }
        let Some(next) = path.columns.get(span.equal.len()) else { return };
        let mut bound = |bound: &Bound<Cell>, signs: [&str; 2]| {
            let (sign, cell) = match bound {
                Bound::Unbounded => return,
                Bound::Included(cell) => (signs[0], cell),
                Bound::Excluded(cell) => (signs[1], cell),
            };
            self.next().name(&name_of(next.column)).add(sign).value(cell.value());
        };
        bound(&span.from, [" >= ", " > "]);
        bound(&span.to, [" <= ", " < "]);
    }
}

/// The order of an index, or the opposite one.
fn order_by(text: &mut Text, path: &Path, backwards: bool) {
    text.add(" order by ").each(&path.columns, ", ", |text, of| {
        let direction = if of.descending != backwards { " desc" } else { "" };
        let nulls = if of.nulls_first != backwards { "first" } else { "last" };
        text.name(&name_of(of.column)).add(direction).add(" nulls ").add(nulls);
    });
}

#[cfg(test)]
mod tests {
    use super::super::ask::KeyColumn;
    use super::*;

    fn path() -> Path {
        let of = |column, descending| KeyColumn { column, descending, nulls_first: descending };
        Path { name: "i".to_string(), columns: vec![of(1, true), of(0, false)], unique: false }
    }

    fn written(target: &Target) -> String {
        let mut text = Text::new("select 1").with_literals(true);
        of_target(&mut text, target);
        order_by(&mut text, &path(), false);
        text.as_str().to_string()
    }

    #[test]
    fn a_selection_is_a_condition_on_its_columns() {
        let filter = Some(Filter { column: 0, divisor: 3, rest: 2 });
        let span = |equal: Vec<Cell>| Span {
            equal,
            from: Bound::Excluded(Cell::Int(2)),
            to: Bound::Included(Cell::Int(5)),
        };
        let ordered = " order by \"kind\" desc nulls first, \"id\" nulls last";
        let cases = [
            (Selection::All, None, String::new()),
            (
                Selection::Key(path(), vec![Cell::Int(7), Cell::Int(-1)]),
                None,
                " where \"kind\" = 7 and \"id\" = -1".to_string(),
            ),
            (
                Selection::Range(path(), span(vec![Cell::Null])),
                None,
                " where \"kind\" is null and \"id\" > 2 and \"id\" <= 5".to_string(),
            ),
            (
                Selection::Range(path(), span(Vec::new())),
                filter,
                " where \"kind\" > 2 and \"kind\" <= 5 and ((\"id\" % 3) + 3) % 3 = 2".to_string(),
            ),
        ];
        for (selection, filter, expected) in cases {
            let made = written(&Target { selection, filter });
            assert_eq!(made, format!("select 1{expected}{ordered}"));
        }
    }
}

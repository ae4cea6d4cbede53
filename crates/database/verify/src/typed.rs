//! A table of the dictionary: the columns of its rows, and their keys.
//!
//! Caller: `pairs`.

use access::RowAddress;
use ids::ObjectNo;
use relation::{CheckCompiler, Predicate, TableDefinition, Truth};
use sql::Checks;
use stop::Stop;
use value::{RowLayout, RowView, Type, Value};

use crate::Kind;
use crate::pairs::{Keyed, RowFault};

/// A table with its definition.
pub(crate) struct Typed {
    table: TableDefinition,
    layout: RowLayout,
    /// The CHECKs that are expressions of SQL, in the definition's order; of one whose text can't
    /// be read, why.
    predicates: Vec<Result<Box<dyn Predicate>, Stop>>,
}

impl Typed {
    pub(crate) fn new(table: &TableDefinition) -> Typed {
        let predicates =
            table.expressions.iter().map(|check| Checks.compile(check, table)).collect();
        Typed { layout: table.layout(), table: table.clone(), predicates }
    }
}

impl Keyed for Typed {
    fn heap(&self) -> ObjectNo {
        self.table.segment
    }

    fn indexes(&self) -> Vec<ObjectNo> {
        self.table.indexes.iter().map(|index| index.segment).collect()
    }

    fn push_key(&self, index: usize, at: RowAddress, row: &[u8], out: &mut Vec<u8>) -> bool {
        let index = &self.table.indexes[index];
        // `fault` reports a row that can't be read.
        let row = RowView::new(&self.layout, row);
        row.is_ok_and(|row| index.push_entry_key(at, &row, out).is_ok())
    }

    fn name(&self, index: Option<usize>, _: &str) -> String {
        let table = &self.table.name;
        match index {
            Some(index) => format!("{} of {table}", self.table.indexes[index].name),
            None => table.to_string(),
        }
    }

    fn fault(&self, row: &[u8]) -> Option<RowFault> {
        let of_row = |what: String| RowFault { kind: Kind::Row, what };
        let damaged = |damaged| of_row(format!("is no row of its columns: {damaged}"));
        let (view, mut values) = match RowView::new(&self.layout, row) {
            Ok(view) => (view, Vec::new()),
            Err(what) => return Some(damaged(what)),
        };
        if let Err(what) = view.get_all(&mut values) {
            return Some(damaged(what));
        }
        // The second looks at every byte, for a row has one form (rule value/VA2).
        let misfit = self.misfit(&values).map(of_row).or_else(|| view.check().err().map(damaged));
        let broken = || self.broken_check(&values).or_else(|| self.broken_expression(&values));
        misfit.or_else(broken)
    }
}

impl Typed {
    /// The fault of a value that its column can't hold, if there is one.
    fn misfit(&self, values: &[Value<'_>]) -> Option<String> {
        for (column, value) in self.table.columns.iter().zip(values) {
            if value.is_null() && column.not_null {
                return Some(format!("has NULL in column {}, which is NOT NULL", column.name));
            }
            match column.kind.fit(&column.name, *value) {
                Err(misfit) => return Some(format!("has what can't be there: {misfit}")),
                Ok(fitted) if matches!(column.kind, Type::Char(_)) && fitted != *value => {
                    return Some(format!("has blanks at the end of column {}", column.name));
                }
                Ok(_) => {}
            }
        }
        None
    }

    fn broken_check(&self, values: &[Value<'_>]) -> Option<RowFault> {
        let is_broken = |check: &&relation::NamedCondition| {
            let is_there = check.condition.columns().iter().all(|column| *column < values.len());
            is_there && check.condition.evaluate(&|column| values[column]) == Truth::False
        };
        let check = self.table.checks.iter().find(is_broken)?;
        let what = format!("breaks CHECK {}", check.name);
        Some(RowFault { kind: Kind::Check, what })
    }

    /// The first CHECK that is an expression and isn't true of these values, nor unknown (VF51).
    fn broken_expression(&self, values: &[Value<'_>]) -> Option<RowFault> {
        self.table.expressions.iter().zip(&self.predicates).find_map(|(check, predicate)| {
            let name = &check.name;
            let what = match predicate.as_ref().map(|predicate| predicate.truth(values)) {
                Ok(Ok(Truth::True | Truth::Unknown)) => return None,
                Ok(Ok(Truth::False)) => format!("breaks CHECK {name}"),
                Ok(Err(stop)) => format!("has a CHECK {name} that can't be evaluated: {stop}"),
                Err(stop) => format!("has a CHECK {name} that can't be read: {stop}"),
            };
            Some(RowFault { kind: Kind::Check, what })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use relation::{CheckExpression, ColumnDefinition};

    /// A table of two numbers with this CHECK.
    fn table(text: &str, columns: Vec<usize>) -> TableDefinition {
        let object = ObjectNo::new(7);
        let mut table = TableDefinition::new(object, "t", object);
        for name in ["a", "b"] {
            table.columns.push(ColumnDefinition::new(name, Type::Integer, false));
        }
        table.expressions.push(CheckExpression { name: "c".into(), text: text.into(), columns });
        table
    }

    fn fault(text: &str, columns: Vec<usize>, row: [Value<'_>; 2]) -> Option<String> {
        let typed = Typed::new(&table(text, columns));
        let mut bytes = Vec::new();
        typed.layout.encode(&row, &mut bytes).expect("encoded");
        typed.fault(&bytes).map(|fault| fault.what)
    }

    /// VF51.
    #[test]
    fn checks_that_are_expressions_are_evaluated() {
        let two = |a: i64, b: i64| [Value::Int(a), Value::Int(b)];
        let said = |row| fault("a < b", vec![0, 1], row);
        assert_eq!(said(two(1, 2)), None);
        assert_eq!(said([Value::Int(1), Value::Null]), None, "unknown is no reason to refuse");
        assert_eq!(said(two(2, 2)).as_deref(), Some("breaks CHECK c"));
        let divided = fault("a / b = 1", vec![0, 1], two(1, 0)).expect("it can't be");
        assert!(divided.contains("can't be evaluated"), "{divided}");
        let unread = fault("a <", vec![0], two(1, 2)).expect("it is no expression");
        assert!(unread.contains("can't be read"), "{unread}");
    }
}

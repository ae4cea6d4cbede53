//! Conditions over one row, in SQL's three-valued logic: what a CHECK says.
//!
//! Callers: `definition`; the catalog, which stores conditions; SQL, which turns a CHECK into one.

use std::cmp::Ordering;

use value::{OwnedValue, Type, Value, shown};

/// A condition.
#[derive(Clone, Debug)]
pub enum Condition {
    /// A comparison of two operands.
    Compare(Operand, Comparison, Operand),
    /// IS NULL.
    IsNull(Operand),
    /// True if all parts are.
    And(Vec<Condition>),
    /// True if one part is.
    Or(Vec<Condition>),
    /// The negation of a condition.
    Not(Box<Condition>),
}

/// An operand of a comparison.
#[derive(Clone, Debug)]
pub enum Operand {
    /// A column of the row.
    Column(usize),
    /// A constant.
    Constant(OwnedValue),
}

/// A comparison operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

/// The truth value of a condition. AND is the least of its parts, OR the greatest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Truth {
    /// The condition doesn't hold.
    False,
    /// An operand is NULL, or the operands can't be compared.
    Unknown,
    /// The condition holds.
    True,
}

impl Condition {
    /// The truth value for a row with these values.
    pub fn evaluate<'v>(&'v self, value: &dyn Fn(usize) -> Value<'v>) -> Truth {
        match self {
            Condition::Compare(a, comparison, b) => {
                comparison.of(a.value(value).compare(b.value(value)))
            }
            Condition::IsNull(operand) => Truth::of(operand.value(value).is_null()),
            Condition::And(all) => {
                let each = all.iter().map(|condition| condition.evaluate(value));
                each.min().unwrap_or(Truth::True)
            }
            Condition::Or(any) => {
                let each = any.iter().map(|condition| condition.evaluate(value));
                each.max().unwrap_or(Truth::False)
            }
            Condition::Not(condition) => match condition.evaluate(value) {
                Truth::True => Truth::False,
                Truth::False => Truth::True,
                Truth::Unknown => Truth::Unknown,
            },
        }
    }

    /// The condition for a table with columns of these types (rule value/VA9): a text that is
    /// compared with a CHAR column loses its trailing blanks. An error says which column isn't
    /// there, or which operands can't be compared.
    pub fn for_types(&self, kind: &dyn Fn(usize) -> Option<Type>) -> Result<Condition, String> {
        let parts = |parts: &[Condition]| -> Result<Vec<Condition>, String> {
            parts.iter().map(|part| part.for_types(kind)).collect()
        };
        Ok(match self {
            Condition::Compare(a, comparison, b) => {
                let (left, right) = (a.kind(kind)?, b.kind(kind)?);
                Operand::check_pair(a, left, b, right)?;
                Condition::Compare(a.as_compared(right), *comparison, b.as_compared(left))
            }
            Condition::IsNull(operand) => {
                operand.kind(kind)?;
                self.clone()
            }
            Condition::And(all) => Condition::And(parts(all)?),
            Condition::Or(any) => Condition::Or(parts(any)?),
            Condition::Not(condition) => Condition::Not(Box::new(condition.for_types(kind)?)),
        })
    }

    /// The columns that the condition reads, each once, in the table's order.
    pub fn columns(&self) -> Vec<usize> {
        let (mut columns, mut left) = (Vec::new(), vec![self]);
        while let Some(condition) = left.pop() {
            let operands = match condition {
                Condition::Compare(a, _, b) => [Some(a), Some(b)],
                Condition::IsNull(operand) => [Some(operand), None],
                Condition::And(parts) | Condition::Or(parts) => {
                    left.extend(parts);
                    [None, None]
                }
                Condition::Not(part) => {
                    left.push(part);
                    [None, None]
                }
            };
            columns.extend(operands.into_iter().flatten().filter_map(Operand::column));
        }
        columns.sort_unstable();
        columns.dedup();
        columns
    }
}

impl Operand {
    fn value<'v>(&'v self, value: &dyn Fn(usize) -> Value<'v>) -> Value<'v> {
        match self {
            Operand::Column(column) => value(*column),
            Operand::Constant(constant) => constant.get(),
        }
    }

    /// The type of a column, and none for a constant; an error if there is no such column, or if
    /// the constant is a span of time, which no stored condition can hold.
    fn kind(&self, kind: &dyn Fn(usize) -> Option<Type>) -> Result<Option<Type>, String> {
        if let Some(span @ Value::Interval(_)) = self.constant() {
            return Err(format!("{} is no value that a column holds", shown(span)));
        }
        let none = |column| format!("column {column}, counted from 0, isn't there");
        self.column().map(|column| kind(column).ok_or_else(|| none(column))).transpose()
    }

    /// Refuses operands that can't be compared. The types of those that are columns are given.
    fn check_pair(
        a: &Operand,
        left: Option<Type>,
        b: &Operand,
        right: Option<Type>,
    ) -> Result<(), String> {
        let may = match (left, right) {
            (Some(left), Some(right)) => left.compares_with(right),
            (Some(kind), None) => b.constant().is_none_or(|value| kind.compares_with_value(value)),
            (None, Some(kind)) => a.constant().is_none_or(|value| kind.compares_with_value(value)),
            (None, None) => true,
        };
        let said = |operand: &Operand, kind: Option<Type>| match (operand, kind) {
            (Operand::Column(column), Some(kind)) => format!("column {column}, a {kind},"),
            (Operand::Column(column), None) => format!("column {column}"),
            (Operand::Constant(value), _) => shown(value.get()),
        };
        match may {
            true => Ok(()),
            false => Err(format!("{} can't be compared with {}", said(a, left), said(b, right))),
        }
    }

    /// The operand as it is compared with the other one, if that is a column of this type.
    fn as_compared(&self, other: Option<Type>) -> Operand {
        match (self, other) {
            (Operand::Constant(value), Some(other)) => {
                Operand::Constant(other.as_compared(value.get()).to_owned())
            }
            _ => self.clone(),
        }
    }

    fn constant(&self) -> Option<Value<'_>> {
        match self {
            Operand::Column(_) => None,
            Operand::Constant(value) => Some(value.get()),
        }
    }

    fn column(&self) -> Option<usize> {
        match self {
            Operand::Column(column) => Some(*column),
            Operand::Constant(_) => None,
        }
    }
}

impl Comparison {
    fn of(self, order: Option<Ordering>) -> Truth {
        let Some(order) = order else { return Truth::Unknown };
        Truth::of(match self {
            Comparison::Equal => order.is_eq(),
            Comparison::NotEqual => order.is_ne(),
            Comparison::Less => order.is_lt(),
            Comparison::LessOrEqual => order.is_le(),
            Comparison::Greater => order.is_gt(),
            Comparison::GreaterOrEqual => order.is_ge(),
        })
    }
}

impl Truth {
    fn of(is: bool) -> Truth {
        if is { Truth::True } else { Truth::False }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: [Value<'static>; 3] = [Value::Int(5), Value::Null, Value::Text("b")];

    fn column(number: usize) -> Operand {
        Operand::Column(number)
    }

    fn constant(value: Value<'_>) -> Operand {
        Operand::Constant(value.to_owned())
    }

    #[test]
    fn a_span_of_time_is_no_operand() {
        let span = Value::Interval(value::Interval::new(1, 0, 0));
        for condition in [
            Condition::IsNull(constant(span)),
            Condition::Compare(constant(span), Comparison::Less, constant(Value::Int(1))),
        ] {
            let said = condition.for_types(&|_| None).expect_err("no column holds it");
            assert!(said.contains("INTERVAL '1 mon'"), "{said}");
        }
    }

    fn number(text: &str) -> Value<'static> {
        Value::Number(text.parse().expect("a number"))
    }

    fn truth(condition: &Condition) -> Truth {
        condition.evaluate(&|column| ROW[column])
    }

    /// A condition with this truth value.
    fn known(truth: Truth) -> Condition {
        let zero = match truth {
            Truth::True => Value::Int(0),
            Truth::False => Value::Int(1),
            Truth::Unknown => Value::Null,
        };
        Condition::Compare(constant(zero), Comparison::Equal, constant(Value::Int(0)))
    }

    #[test]
    fn and_or_and_not_are_those_of_sql() {
        use Truth::{False, True, Unknown};
        let table = [
            (True, True, True, True),
            (True, Unknown, Unknown, True),
            (True, False, False, True),
            (Unknown, Unknown, Unknown, Unknown),
            (Unknown, False, False, Unknown),
            (False, False, False, False),
        ];
        for (a, b, and, or) in table {
            for (a, b) in [(a, b), (b, a)] {
                let both = || vec![known(a), known(b)];
                assert_eq!(truth(&Condition::And(both())), and, "{a:?} AND {b:?}");
                assert_eq!(truth(&Condition::Or(both())), or, "{a:?} OR {b:?}");
            }
        }
        for (a, not) in [(True, False), (False, True), (Unknown, Unknown)] {
            assert_eq!(truth(&Condition::Not(Box::new(known(a)))), not);
        }
    }

    #[test]
    fn null_compares_as_unknown_and_is_null_is_never_unknown() {
        let all = [
            Comparison::Equal,
            Comparison::NotEqual,
            Comparison::Less,
            Comparison::LessOrEqual,
            Comparison::Greater,
            Comparison::GreaterOrEqual,
        ];
        for comparison in all {
            let condition = Condition::Compare(column(1), comparison, column(1));
            assert_eq!(truth(&condition), Truth::Unknown);
        }
        assert_eq!(truth(&Condition::IsNull(column(1))), Truth::True);
        assert_eq!(truth(&Condition::IsNull(column(0))), Truth::False);
    }

    #[test]
    fn numbers_of_different_kinds_compare_by_their_values() {
        let five = [Value::Int(5), number("5.0"), Value::Double(5.0)];
        let more = [Value::Int(6), number("5.1"), Value::Double(5.5)];
        for a in five {
            for b in five {
                assert_eq!(a.compare(b), Some(Ordering::Equal), "{a} {b}");
            }
            for b in more {
                assert_eq!(a.compare(b), Some(Ordering::Less), "{a} {b}");
                assert_eq!(b.compare(a), Some(Ordering::Greater), "{a} {b}");
            }
        }
        let condition = Condition::Compare(column(0), Comparison::Less, constant(number("5.5")));
        assert_eq!(truth(&condition), Truth::True);
    }

    #[test]
    fn a_condition_says_which_columns_it_asks_for() {
        let compare = |a, b| Condition::Compare(column(a), Comparison::Equal, column(b));
        let condition = Condition::Or(vec![
            Condition::Not(Box::new(compare(2, 0))),
            Condition::And(vec![Condition::IsNull(column(2)), known(Truth::True)]),
        ]);
        assert_eq!(condition.columns(), [0, 2]);
    }
}

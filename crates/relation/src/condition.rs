//! Conditions over one row, in SQL's three-valued logic: what a CHECK says.
//!
//! Callers: `definition`; the catalog stores them; SQL's CHECK is turned into them.

use std::cmp::Ordering;

use value::{OwnedValue, Value};

/// A condition.
#[derive(Clone, Debug)]
pub enum Condition {
    /// Two values compared.
    Compare(Operand, Comparison, Operand),
    /// IS NULL.
    IsNull(Operand),
    /// All of these.
    And(Vec<Condition>),
    /// One of these at least.
    Or(Vec<Condition>),
    /// The opposite.
    Not(Box<Condition>),
}

/// What is compared.
#[derive(Clone, Debug)]
pub enum Operand {
    /// A column of the row.
    Column(usize),
    /// A value.
    Constant(OwnedValue),
}

/// How.
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

/// What a condition comes to. AND is the least of its parts, OR the greatest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Truth {
    /// It doesn't hold.
    False,
    /// A value that it asks for is NULL, or two of them can't be compared.
    Unknown,
    /// It holds.
    True,
}

impl Condition {
    /// What it comes to for a row with these values.
    pub fn evaluate<'v>(&'v self, value: &dyn Fn(usize) -> Value<'v>) -> Truth {
        match self {
            Condition::Compare(a, comparison, b) => {
                comparison.of(compare(a.value(value), b.value(value)))
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

    /// The columns that it asks for, each once, in the order of the table.
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

/// How two values compare, those of different kinds of numbers, and of days and moments, made
/// alike; unknown if either is NULL, or they can't be compared.
pub fn compare(a: Value<'_>, b: Value<'_>) -> Option<Ordering> {
    use Value::{Date, Double, Int, Number, Timestamp};
    match (a, b) {
        (Int(a), Number(_)) => Number(a.into()).compare(b),
        (Number(_), Int(b)) => a.compare(Number(b.into())),
        (Int(a), Double(_)) => Double(a as f64).compare(b),
        (Double(_), Int(b)) => a.compare(Double(b as f64)),
        (Number(a), Double(_)) => Double(a.to_f64()).compare(b),
        (Double(_), Number(b)) => a.compare(Double(b.to_f64())),
        (Date(a), Timestamp(_)) => Timestamp(value::Timestamp::midnight(a)).compare(b),
        (Timestamp(_), Date(b)) => a.compare(Timestamp(value::Timestamp::midnight(b))),
        _ => a.compare(b),
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

    fn number(text: &str) -> Value<'static> {
        Value::Number(text.parse().expect("a number"))
    }

    fn truth(condition: &Condition) -> Truth {
        condition.evaluate(&|column| ROW[column])
    }

    /// One that comes to this.
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
                assert_eq!(compare(a, b), Some(Ordering::Equal), "{a} {b}");
            }
            for b in more {
                assert_eq!(compare(a, b), Some(Ordering::Less), "{a} {b}");
                assert_eq!(compare(b, a), Some(Ordering::Greater), "{a} {b}");
            }
        }
        assert_eq!(compare(Value::Int(1), Value::Text("1")), None);
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

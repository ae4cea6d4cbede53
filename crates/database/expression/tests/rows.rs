//! Rows in runs, and expressions over them.

#![forbid(unsafe_code)]

use std::cell::Cell;
use std::collections::BTreeSet;

use expression::{
    Arena, Asked, Comparison, Evaluation, Expression, Fault, Joined, Kind, Question, Row, Rows,
    Subqueries, Typed, build,
};
use proptest::prelude::*;
use value::{Date, Interval, Number, OwnedValue, Timestamp, Value};

fn any_value() -> impl Strategy<Value = OwnedValue> {
    prop_oneof![
        Just(OwnedValue::NULL),
        any::<i64>().prop_map(|int| Value::Int(int).to_owned()),
        (any::<i128>(), -20..100_i32).prop_map(|(digits, scale)| {
            let number = Number::from_parts(digits % 10_i128.pow(38), scale);
            Value::Number(number.expect("in range")).to_owned()
        }),
        any::<u64>().prop_map(|bits| Value::Double(f64::from_bits(bits)).to_owned()),
        "\\PC{0,12}".prop_map(|text| Value::Text(&text).to_owned()),
        prop::collection::vec(any::<u8>(), 0..12).prop_map(|all| Value::Bytes(&all).to_owned()),
        any::<bool>().prop_map(|is| Value::Boolean(is).to_owned()),
        (0..100_000_i32).prop_map(|days| {
            Value::Date(Date::from_days(days).expect("in the calendar")).to_owned()
        }),
        any::<i32>().prop_map(|us| {
            let moment = Timestamp::from_us(us.into()).expect("in the calendar");
            Value::Timestamp(moment).to_owned()
        }),
        (any::<i32>(), any::<i32>(), any::<i64>()).prop_map(|(months, days, us)| {
            Value::Interval(Interval::new(months, days, us)).to_owned()
        }),
    ]
}

/// Rows of one width.
fn any_rows() -> impl Strategy<Value = Vec<Vec<OwnedValue>>> {
    (0..5_usize).prop_flat_map(|width| {
        prop::collection::vec(prop::collection::vec(any_value(), width), 0..8)
    })
}

/// Whether a value is the other one, its parts included.
fn is_identical(a: Value<'_>, b: Value<'_>) -> bool {
    match (a, b) {
        (Value::Double(a), Value::Double(b)) => a.to_bits() == b.to_bits(),
        (Value::Interval(a), Value::Interval(b)) => a.is_identical(b),
        (Value::Number(a), Value::Number(b)) => {
            (a.coefficient(), a.scale()) == (b.coefficient(), b.scale())
        }
        (a, b) => Kind::of(a) == Kind::of(b) && a == b,
    }
}

fn is_row(rows: &Rows, at: usize, expected: &[OwnedValue]) -> bool {
    let found = (0..rows.width()).map(|column| rows.get(at, column));
    found.zip(expected).all(|(found, expected)| is_identical(found, expected.get()))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_spilled_row_is_read_back_as_it_was(all in any_rows()) {
        let width = all.first().map_or(0, Vec::len);
        let (mut rows, mut spilled) = (Rows::new(width), Vec::new());
        for (at, row) in all.iter().enumerate() {
            rows.push(row.iter().map(OwnedValue::get));
            prop_assert!(is_row(&rows, at, row));
        }
        for at in 0..rows.len() {
            rows.write_row(at, &mut spilled);
        }
        let (mut read, mut rest) = (Rows::new(width), &spilled[..]);
        while !rest.is_empty() {
            let length = Rows::row_length(rest).expect("a row is whole");
            read.read_row(&rest[..length]).expect("it was written");
            rest = &rest[length..];
        }
        prop_assert_eq!(read.len(), all.len());
        for (at, row) in all.iter().enumerate() {
            prop_assert!(is_row(&read, at, row));
        }
    }

    #[test]
    fn any_bytes_are_a_row_or_damaged(
        bytes in prop::collection::vec(any::<u8>(), 0..40),
        width in 0..4_usize,
    ) {
        let mut rows = Rows::new(width);
        let is_read = rows.read_row(&bytes).is_ok();
        prop_assert_eq!(rows.len(), usize::from(is_read));
        prop_assert!(is_read || rows.bytes_used() == 0);
        let _ = Rows::row_length(&bytes);
    }

    #[test]
    fn rows_that_are_taken_back_leave_the_others(all in any_rows(), keep in 0..8_usize) {
        let width = all.first().map_or(0, Vec::len);
        let mut rows = Rows::new(width);
        let push = |rows: &mut Rows, row: &Vec<OwnedValue>| {
            rows.push(row.iter().map(OwnedValue::get));
        };
        all.iter().for_each(|row| push(&mut rows, row));
        rows.truncate(keep);
        let used = rows.bytes_used();
        if let Some(row) = all.first() {
            rows.begin_row();
            row.iter().take(1).for_each(|value| rows.push_value(value.get()));
            rows.drop_row();
        }
        prop_assert_eq!(rows.bytes_used(), used);
        all.iter().skip(keep).for_each(|row| push(&mut rows, row));
        for (at, row) in all.iter().enumerate() {
            prop_assert!(is_row(&rows, at, row));
        }
    }

    /// No number is compared by a double that isn't it.
    #[test]
    fn a_whole_number_and_a_double_are_equal_only_if_they_are(
        int in any::<i64>(),
        by in -2..=2_i64,
    ) {
        let double = int.wrapping_add(by) as f64;
        let row = [Value::Int(int), Value::Double(double)];
        let columns = [Typed::column(0, Kind::Whole), Typed::column(1, Kind::Double)];
        let [left, right] = columns;
        let equal = build::compare(left, Comparison::Equal, right).expect("numbers").expression;
        let found = truth(&equal, &row, &[]).expect("it isn't refused");
        prop_assert_eq!(found, Some(double as i128 == i128::from(int)));
    }
}

fn truth(
    expression: &Expression,
    row: &dyn Row,
    slots: &[OwnedValue],
) -> Result<Option<bool>, Fault> {
    let (arena, dice) = (Arena::new(), Cell::new(0));
    let with = Evaluation {
        slots,
        arena: &arena,
        moment: Timestamp::MIN,
        user: "",
        dice: &dice,
        subqueries: Some(&Doubles),
    };
    expression.truth(row, &with)
}

/// A subquery whose rows are twice its argument, and one more.
struct Doubles;

impl Subqueries for Doubles {
    fn answer<'a>(&self, asked: &Asked<'_>, arena: &'a Arena) -> Result<Value<'a>, Fault> {
        let Value::Int(argument) = asked.arguments[0] else { return Ok(Value::Null) };
        let rows = [argument * 2, argument * 2 + 1].map(Value::Int);
        Ok(match asked.question {
            Question::Scalar => Value::Text(arena.text(&format!("{}", argument * 2))),
            Question::Exists => Value::Boolean(true),
            Question::Any(comparison) => Value::Boolean(rows.iter().any(|row| {
                asked.tested[0].compare(*row).is_some_and(|order| comparison.holds(order))
            })),
            Question::All(comparison) => Value::Boolean(rows.iter().all(|row| {
                asked.tested[0].compare(*row).is_some_and(|order| comparison.holds(order))
            })),
        })
    }
}

#[test]
fn a_subquery_is_asked_with_the_values_of_the_row() {
    let argument = || vec![Expression::Column(0)];
    let tested = || vec![Typed::column(1, Kind::Whole)];
    let ask = |question, tested| {
        Typed::subquery(0, question, tested, argument(), Kind::Text).expect("a subquery")
    };
    let any = ask(Question::Any(Comparison::Equal), tested()).expression;
    assert!(any.has_subquery() && !any.is_constant() && any.reads_rows());
    let row = |a, b| [Value::Int(a), Value::Int(b)];
    assert_eq!(truth(&any, &row(3, 7), &[]).ok(), Some(Some(true)));
    assert_eq!(truth(&any, &row(3, 8), &[]).ok(), Some(Some(false)));
    let all = ask(Question::All(Comparison::NotEqual), tested()).expression;
    assert_eq!(truth(&all, &row(3, 8), &[]).ok(), Some(Some(true)));
    let scalar = ask(Question::Scalar, Vec::new());
    assert_eq!(scalar.kind, Kind::Text);
    let six = build::compare(scalar, Comparison::Equal, Typed::literal("6")).expect("texts");
    assert_eq!(truth(&six.expression, &row(3, 0), &[]).ok(), Some(Some(true)));
    assert!(Typed::subquery(0, Question::Exists, tested(), argument(), Kind::Text).is_err());
}

#[test]
fn columns_and_slots_are_found_and_given_other_numbers() {
    let sum = build::compare(
        Typed::column(3, Kind::Whole),
        Comparison::Less,
        Typed::slot(1, Kind::Whole),
    );
    let mut expression = sum.expect("numbers").expression;
    let (mut columns, mut slots) = (BTreeSet::new(), BTreeSet::new());
    expression.columns(&mut columns);
    expression.slots(&mut slots);
    assert_eq!((columns, slots), (BTreeSet::from([3]), BTreeSet::from([1])));
    expression.remap(&|column| column - 2);
    let slots = [Value::Null.to_owned(), Value::Int(5).to_owned()];
    let (left, right) = ([Value::Text("x")], [Value::Int(4)]);
    let joined = Joined::new(&left, &right);
    assert_eq!(truth(&expression, &joined, &slots).ok(), Some(Some(true)));
    assert_eq!(expression.kind(&|_| Kind::Whole, &|_| Kind::Whole), Kind::Boolean);
    assert!(!expression.is_constant() && !expression.is_volatile());
}

/// A parameter takes the kind of what it meets, and its value is converted when the statement runs.
#[test]
fn a_parameter_is_converted_to_the_kind_that_it_meets() {
    let parameter = Typed::slot(0, Kind::Unknown);
    let made = build::compare(Typed::column(0, Kind::Whole), Comparison::Equal, parameter);
    let made = made.expect("a parameter is of any kind").expression;
    let row = [Value::Int(5)];
    let text = [Value::Text("5").to_owned()];
    assert_eq!(truth(&made, &row, &text).ok(), Some(Some(true)));
    let word = [Value::Text("five").to_owned()];
    let refused = truth(&made, &row, &word).map_err(|fault| fault.state().to_string());
    assert_eq!(refused, Err("22P02".to_string()));
}

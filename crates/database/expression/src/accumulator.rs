//! The state of an aggregate of one group.
//!
//! Invariants
//!   * NULLs don't count, but for `count(*)`; without any value the result is NULL, and 0 of counts
//!   * a sum of whole numbers and NUMBERs is exact as long as it has 38 digits; so its value
//!     doesn't depend on the order of the values, nor on whether states were spilled and merged
//!   * sums of doubles, and what is made of them, are rounded at each step, so that they may differ
//!     in their last digits from one plan to another, as in PostgreSQL
//!
//! Callers: row sources that group.
//! Sources: Youngs and Cramer, Some Results Relevant to Choice of Sum and Sum-of-Product Algorithms
//! (Technometrics, 1971), for the variance of doubles, as in PostgreSQL.

mod pairs;
mod spread;
mod sum;

use stop::SqlState;
use value::{Damaged, OwnedValue, Value};

use crate::evaluate::check_length;
use crate::row_bytes::{array, read_value, write_value};
use crate::{Aggregate, Fault, OfPairs, Rows};
use pairs::Pairs;
use spread::Spread;
use sum::Sum;

/// The state of an aggregate.
#[derive(Clone, Debug)]
pub struct Accumulator {
    aggregate: Aggregate,
    /// The values that were counted.
    count: i64,
    state: State,
}

#[derive(Clone, Debug)]
enum State {
    /// The count is all.
    Count,
    Sum(Sum),
    /// The smallest, the largest or the first value.
    Extreme(OwnedValue),
    Truth(bool),
    Bits(i64),
    /// Each text with its delimiter before it, that of the first too.
    Text {
        text: String,
        first_delimiter: usize,
    },
    Spread(Spread),
    Pairs(Pairs),
}

impl Accumulator {
    /// The state before the first value.
    pub fn new(aggregate: Aggregate) -> Accumulator {
        let state = match aggregate {
            Aggregate::CountAll | Aggregate::Count => State::Count,
            Aggregate::Sum | Aggregate::Avg => State::Sum(Sum::None),
            Aggregate::Min | Aggregate::Max | Aggregate::AnyValue => {
                State::Extreme(OwnedValue::NULL)
            }
            Aggregate::BoolAnd => State::Truth(true),
            Aggregate::BoolOr => State::Truth(false),
            Aggregate::BitAnd => State::Bits(-1),
            Aggregate::BitOr | Aggregate::BitXor => State::Bits(0),
            Aggregate::StringAgg => State::Text { text: String::new(), first_delimiter: 0 },
            Aggregate::VarPop
            | Aggregate::VarSamp
            | Aggregate::StddevPop
            | Aggregate::StddevSamp => State::Spread(Spread::None),
            Aggregate::OfPairs(_) => State::Pairs(Pairs::default()),
        };
        Accumulator { aggregate, count: 0, state }
    }

    /// The aggregate.
    pub fn aggregate(&self) -> Aggregate {
        self.aggregate
    }

    /// Takes a value. `second` is the delimiter of `string_agg`, the other value of a pair, and
    /// NULL for all others; `count(*)` doesn't look at the value.
    pub fn add(&mut self, value: Value<'_>, second: Value<'_>) -> Result<(), Fault> {
        if value.is_null() && self.aggregate != Aggregate::CountAll {
            return Ok(());
        }
        match &mut self.state {
            State::Count => {}
            State::Sum(sum) => sum.add(value)?,
            State::Extreme(found) => {
                let order = value.compare(found.get());
                if order.is_none_or(|order| comes_first(self.aggregate, order)) {
                    *found = value.to_owned();
                }
            }
            State::Truth(found) => {
                let Value::Boolean(is) = value else { return Err(wrong_kind(value)) };
                let is_and = self.aggregate == Aggregate::BoolAnd;
                *found = if is_and { *found && is } else { *found || is };
            }
            State::Bits(found) => {
                let Value::Int(bits) = value else { return Err(wrong_kind(value)) };
                *found = joined_bits(self.aggregate, *found, bits);
            }
            State::Text { text, first_delimiter } => {
                let Value::Text(added) = value else { return Err(wrong_kind(value)) };
                let delimiter = if let Value::Text(delimiter) = second { delimiter } else { "" };
                check_length(text.len() + delimiter.len() + added.len())?;
                if self.count == 0 {
                    *first_delimiter = delimiter.len();
                }
                text.push_str(delimiter);
                text.push_str(added);
            }
            State::Spread(spread) => spread.add(value)?,
            State::Pairs(_) if second.is_null() => return Ok(()),
            State::Pairs(pairs) => match (value, second) {
                (Value::Double(y), Value::Double(x)) => pairs.add(y, x, self.count + 1)?,
                _ => return Err(wrong_kind(value)),
            },
        }
        self.count += 1;
        Ok(())
    }

    /// Takes a column of these rows, one value after the other. The aggregate has one argument.
    pub fn add_column(&mut self, rows: &Rows, column: usize) -> Result<(), Fault> {
        if let State::Sum(sum) = &mut self.state {
            self.count += sum.add_column(rows, column)?;
            return Ok(());
        }
        rows.iter().try_for_each(|row| self.add(row.get(column), Value::Null))
    }

    /// Takes this many rows, whatever they have.
    ///
    /// # Panics When it isn't the state of `count(*)`.
    pub fn add_rows(&mut self, rows: usize) {
        assert_eq!(self.aggregate, Aggregate::CountAll, "only count(*) counts rows");
        self.count += rows as i64;
    }

    /// Takes what another state of the same aggregate has taken, behind its own.
    ///
    /// # Panics When it is the state of another aggregate.
    pub fn merge(&mut self, other: &Accumulator) -> Result<(), Fault> {
        assert_eq!(self.aggregate, other.aggregate, "states of one aggregate are merged");
        if other.count == 0 {
            return Ok(());
        }
        if self.count == 0 {
            *self = other.clone();
            return Ok(());
        }
        match (&mut self.state, &other.state) {
            (State::Count, State::Count) => {}
            (State::Sum(sum), State::Sum(more)) => sum.merge(more)?,
            (State::Extreme(found), State::Extreme(more)) => {
                let order = more.get().compare(found.get());
                if order.is_none_or(|order| comes_first(self.aggregate, order)) {
                    *found = more.clone();
                }
            }
            (State::Truth(found), State::Truth(more)) => {
                let is_and = self.aggregate == Aggregate::BoolAnd;
                *found = if is_and { *found && *more } else { *found || *more };
            }
            (State::Bits(found), State::Bits(more)) => {
                *found = joined_bits(self.aggregate, *found, *more);
            }
            (State::Text { text, .. }, State::Text { text: more, .. }) => {
                check_length(text.len() + more.len())?;
                text.push_str(more);
            }
            (State::Spread(spread), State::Spread(more)) => spread.merge(more)?,
            (State::Pairs(pairs), State::Pairs(more)) => {
                pairs.merge(more, self.count, other.count)?;
            }
            _ => unreachable!("states of one aggregate are of one sort"),
        }
        self.count += other.count;
        Ok(())
    }

    /// The result.
    pub fn finish(&self) -> Result<OwnedValue, Fault> {
        if let State::Count = self.state {
            return Ok(Value::Int(self.count).to_owned());
        }
        if self.count == 0 {
            return Ok(match self.aggregate {
                Aggregate::OfPairs(OfPairs::Count) => Value::Int(0).to_owned(),
                _ => OwnedValue::NULL,
            });
        }
        let value = match &self.state {
            State::Count => Value::Int(self.count),
            State::Sum(sum) if self.aggregate == Aggregate::Avg => sum.mean(self.count)?,
            State::Sum(sum) => sum.total()?,
            State::Extreme(found) => return Ok(found.clone()),
            State::Truth(found) => Value::Boolean(*found),
            State::Bits(found) => Value::Int(*found),
            State::Text { text, first_delimiter } => Value::Text(&text[*first_delimiter..]),
            State::Spread(spread) => spread.finish(self.aggregate)?,
            State::Pairs(pairs) => match self.aggregate {
                Aggregate::OfPairs(of) => pairs.finish(of, self.count),
                _ => unreachable!("pairs are of their own aggregates"),
            },
        };
        Ok(value.to_owned())
    }

    /// The bytes of memory that the state takes besides its own size.
    pub fn bytes(&self) -> usize {
        match &self.state {
            State::Text { text, .. } => text.capacity(),
            State::Extreme(found) => match found.get() {
                Value::Text(text) => text.len(),
                Value::Bytes(bytes) => bytes.len(),
                _ => 0,
            },
            _ => 0,
        }
    }

    /// Appends the state to `out`, for a spill. The bytes say where they end.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.count.to_le_bytes());
        match &self.state {
            State::Count => {}
            State::Sum(sum) => sum.write(out),
            State::Extreme(found) => write_value(found.get(), out),
            State::Truth(found) => write_value(Value::Boolean(*found), out),
            State::Bits(found) => write_value(Value::Int(*found), out),
            State::Text { text, first_delimiter } => {
                write_value(Value::Text(text), out);
                out.extend((*first_delimiter as u64).to_le_bytes());
            }
            State::Spread(spread) => spread.write(out),
            State::Pairs(pairs) => pairs.write(out),
        }
    }

    /// Takes a state that [`Accumulator::write`] wrote from the beginning of `rest`.
    pub fn read(aggregate: Aggregate, rest: &mut &[u8]) -> Result<Accumulator, Damaged> {
        let mut read = Accumulator::new(aggregate);
        let damaged = Damaged { column: None, what: "no state of a spilled aggregate" };
        read.read_state(rest).map(|()| read).ok_or(damaged)
    }

    fn read_state(&mut self, rest: &mut &[u8]) -> Option<()> {
        self.count = i64::from_le_bytes(array(rest)?);
        match &mut self.state {
            State::Count => {}
            State::Sum(sum) => *sum = Sum::read(rest)?,
            State::Extreme(found) => *found = read_value(rest)?.to_owned(),
            State::Truth(found) => match read_value(rest)? {
                Value::Boolean(is) => *found = is,
                _ => return None,
            },
            State::Bits(found) => match read_value(rest)? {
                Value::Int(bits) => *found = bits,
                _ => return None,
            },
            State::Text { text, first_delimiter } => {
                let Value::Text(written) = read_value(rest)? else { return None };
                *first_delimiter = usize::try_from(u64::from_le_bytes(array(rest)?)).ok()?;
                written.get(*first_delimiter..)?;
                *text = written.to_string();
            }
            State::Spread(spread) => *spread = Spread::read(rest)?,
            State::Pairs(pairs) => *pairs = Pairs::read(rest)?,
        }
        Some(())
    }
}

/// Whether a value of this order to the one that was found takes its place.
fn comes_first(aggregate: Aggregate, order: std::cmp::Ordering) -> bool {
    match aggregate {
        Aggregate::Min => order.is_lt(),
        Aggregate::Max => order.is_gt(),
        _ => false,
    }
}

/// The bits of both, as the aggregate puts them together.
fn joined_bits(aggregate: Aggregate, left: i64, right: i64) -> i64 {
    match aggregate {
        Aggregate::BitAnd => left & right,
        Aggregate::BitOr => left | right,
        _ => left ^ right,
    }
}

/// A value of another kind than the aggregate takes.
#[cold]
fn wrong_kind(value: Value<'_>) -> Fault {
    let say = "an aggregate was given a value of a kind that it doesn't take";
    Fault::new(SqlState::DATATYPE_MISMATCH, say).showing(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use value::{Interval, Number};

    const ALL: [Aggregate; 17] = [
        Aggregate::CountAll,
        Aggregate::Count,
        Aggregate::Sum,
        Aggregate::Avg,
        Aggregate::Min,
        Aggregate::Max,
        Aggregate::BoolAnd,
        Aggregate::BoolOr,
        Aggregate::BitAnd,
        Aggregate::BitOr,
        Aggregate::BitXor,
        Aggregate::AnyValue,
        Aggregate::StringAgg,
        Aggregate::VarPop,
        Aggregate::VarSamp,
        Aggregate::StddevPop,
        Aggregate::StddevSamp,
    ];

    fn number(text: &str) -> Value<'static> {
        Value::Number(text.parse().expect("a number"))
    }

    fn taken(aggregate: Aggregate, values: &[Value<'_>]) -> Accumulator {
        let mut state = Accumulator::new(aggregate);
        for value in values {
            state.add(*value, Value::Text(", ")).expect("it takes them");
        }
        state
    }

    fn result(aggregate: Aggregate, values: &[Value<'_>]) -> OwnedValue {
        taken(aggregate, values).finish().expect("it has a result")
    }

    #[test]
    fn aggregates_of_whole_numbers_are_exact() {
        let values = [Value::Int(1), Value::Int(2), Value::Null, Value::Int(4)];
        let is = |aggregate, expected: Value<'_>| {
            assert_eq!(result(aggregate, &values).get(), expected, "{aggregate:?}");
        };
        is(Aggregate::CountAll, Value::Int(4));
        is(Aggregate::Count, Value::Int(3));
        is(Aggregate::Sum, number("7"));
        is(Aggregate::Avg, number("2.3333333333333333333333333333333333333"));
        is(Aggregate::Min, Value::Int(1));
        is(Aggregate::Max, Value::Int(4));
        is(Aggregate::AnyValue, Value::Int(1));
        is(Aggregate::BitAnd, Value::Int(0));
        is(Aggregate::BitOr, Value::Int(7));
        is(Aggregate::BitXor, Value::Int(7));
        is(Aggregate::VarSamp, number("2.3333333333333333333333333333333333333"));
        is(Aggregate::VarPop, number("1.5555555555555555555555555555555555556"));
        is(Aggregate::StddevPop, number("1.2472191289246471285279162441055164339"));
        let large = [Value::Int(i64::MAX); 3];
        assert_eq!(result(Aggregate::Sum, &large).get(), number("27670116110564327421"));
    }

    /// A column that is taken at once gives what its values give one by one.
    #[test]
    fn a_column_is_taken_as_its_values_are() {
        let ones = [
            [Value::Int(1), number("1.50"), Value::Text("b")],
            [Value::Null, Value::Null, Value::Null],
            [Value::Int(1 << 40), number("-0.25"), Value::Text("a")],
            [Value::Int(-7), number("0.00"), Value::Text("c")],
        ];
        let mut rows = Rows::new(3);
        ones.iter().for_each(|row| rows.push(*row));
        let texts = [Aggregate::Count, Aggregate::Min, Aggregate::Max];
        let numbers = [Aggregate::Sum, Aggregate::Avg, Aggregate::VarSamp];
        for (column, aggregates) in [(0, &numbers), (1, &numbers), (2, &texts)] {
            for aggregate in aggregates {
                let mut one_by_one = Accumulator::new(*aggregate);
                for row in ones {
                    one_by_one.add(row[column], Value::Null).expect("it takes the kind");
                }
                let mut at_once = Accumulator::new(*aggregate);
                at_once.add_column(&rows, column).expect("it takes the kind");
                let finish = |state: &Accumulator| state.finish().expect("a result");
                assert_eq!(finish(&at_once), finish(&one_by_one), "{aggregate:?} of {column}");
                assert_eq!(at_once.count, one_by_one.count);
            }
        }
        let mut count = Accumulator::new(Aggregate::CountAll);
        count.add_rows(rows.len());
        assert_eq!(count.finish().expect("a count").get(), Value::Int(4));
        let refused = Accumulator::new(Aggregate::Sum).add_column(&rows, 2);
        assert!(refused.is_err(), "a text has no sum");
    }

    /// The squares of such values have more digits than a NUMBER.
    #[test]
    fn large_values_that_lie_together_have_their_variance() {
        let values = [i64::MAX - 1, i64::MAX, i64::MAX - 2].map(Value::Int);
        assert_eq!(result(Aggregate::VarSamp, &values).get(), number("1"));
        let values = ["1e100", "1e100", "1e100"].map(number);
        assert_eq!(result(Aggregate::StddevPop, &values).get(), number("0"));
        // Two states count from different values.
        let values = [i64::MAX, i64::MAX - 9, i64::MAX - 5, i64::MAX - 2].map(Value::Int);
        let mut state = taken(Aggregate::VarPop, &values[..1]);
        state.merge(&taken(Aggregate::VarPop, &values[1..])).expect("of one kind");
        assert_eq!(state.finish().expect("a result").get(), number("11.5"));
    }

    #[test]
    fn other_kinds_have_their_aggregates() {
        let texts = [Value::Text("b"), Value::Null, Value::Text("a"), Value::Text("")];
        assert_eq!(result(Aggregate::StringAgg, &texts).get(), Value::Text("b, a, "));
        assert_eq!(result(Aggregate::Min, &texts).get(), Value::Text(""));
        assert_eq!(result(Aggregate::Max, &texts).get(), Value::Text("b"));
        let truths = [Value::Boolean(true), Value::Null, Value::Boolean(false)];
        assert_eq!(result(Aggregate::BoolAnd, &truths).get(), Value::Boolean(false));
        assert_eq!(result(Aggregate::BoolOr, &truths).get(), Value::Boolean(true));
        let spans = [1, 2].map(|days| Value::Interval(Interval::new(0, days, 0)));
        let three = Value::Interval(Interval::new(0, 3, 0));
        assert_eq!(result(Aggregate::Sum, &spans).get(), three);
        let half = Value::Interval(Interval::new(0, 1, 43_200_000_000));
        assert_eq!(result(Aggregate::Avg, &spans).get(), half);
        let doubles = [0.5, 1.5].map(Value::Double);
        assert_eq!(result(Aggregate::Sum, &doubles).get(), Value::Double(2.0));
        assert_eq!(result(Aggregate::Avg, &doubles).get(), Value::Double(1.0));
        assert_eq!(result(Aggregate::VarSamp, &doubles).get(), Value::Double(0.5));
        assert_eq!(result(Aggregate::StddevPop, &doubles).get(), Value::Double(0.5));
    }

    /// Without values a result is NULL, and a sample of one has no variance.
    #[test]
    fn empty_groups_have_no_results_but_counts() {
        for aggregate in ALL {
            let expected = match aggregate {
                Aggregate::Count | Aggregate::CountAll => Value::Int(0),
                _ => Value::Null,
            };
            assert_eq!(result(aggregate, &[]).get(), expected, "{aggregate:?}");
        }
        for aggregate in [Aggregate::VarSamp, Aggregate::StddevSamp] {
            assert!(result(aggregate, &[Value::Int(5)]).get().is_null());
            assert!(result(aggregate, &[Value::Double(5.0)]).get().is_null());
        }
        assert_eq!(result(Aggregate::VarPop, &[Value::Int(5)]).get(), number("0"));
    }

    #[test]
    fn sums_that_overflow_are_refused_and_infinities_go_through() {
        let huge = [number("9e121"), number("9e121")];
        let mut state = Accumulator::new(Aggregate::Sum);
        state.add(huge[0], Value::Null).expect("in range");
        let refused = state.add(huge[1], Value::Null).and_then(|()| state.finish().map(|_| ()));
        let state_of = refused.map_err(|fault| fault.state());
        assert_eq!(state_of, Err(SqlState::NUMERIC_VALUE_OUT_OF_RANGE));
        let doubles = [f64::INFINITY, 1.0].map(Value::Double);
        assert_eq!(result(Aggregate::Sum, &doubles).get(), Value::Double(f64::INFINITY));
        let spread = result(Aggregate::VarPop, &doubles);
        assert!(matches!(spread.get(), Value::Double(spread) if spread.is_nan()));
    }

    fn any_values() -> impl Strategy<Value = Vec<OwnedValue>> {
        let of = |values: BoxedStrategy<OwnedValue>| prop::collection::vec(values, 0..12).boxed();
        let whole = prop_oneof![
            any::<i32>().prop_map(|int| Value::Int(int.into()).to_owned()),
            (-9..9_i64).prop_map(|int| Value::Int(int).to_owned()),
            Just(OwnedValue::NULL),
        ];
        let numbers = (any::<i32>(), 0..5_i32).prop_map(|(digits, scale)| {
            let number = Number::from_parts(digits.into(), scale).expect("small");
            Value::Number(number).to_owned()
        });
        prop_oneof![of(whole.boxed()), of(numbers.boxed())]
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        /// However a group's values are spread over states that are spilled and merged, and in
        /// whatever order, its results are the same.
        #[test]
        fn a_spilled_and_merged_state_has_the_same_result(
            values in any_values(),
            cut in any::<prop::sample::Index>(),
        ) {
            let values: Vec<Value<'_>> = values.iter().map(OwnedValue::get).collect();
            let (first, second) = values.split_at(cut.index(values.len() + 1));
            for aggregate in ALL {
                let is_left_out = match aggregate {
                    Aggregate::BoolAnd | Aggregate::BoolOr | Aggregate::StringAgg => true,
                    Aggregate::BitAnd | Aggregate::BitOr | Aggregate::BitXor => {
                        values.iter().any(|value| matches!(value, Value::Number(_)))
                    }
                    // It depends on the order.
                    Aggregate::AnyValue => true,
                    _ => false,
                };
                if is_left_out {
                    continue;
                }
                let mut spilled = Vec::new();
                taken(aggregate, second).write(&mut spilled);
                let mut rest = &spilled[..];
                let mut merged = Accumulator::read(aggregate, &mut rest).expect("it was written");
                prop_assert!(rest.is_empty());
                merged.merge(&taken(aggregate, first)).expect("in range");
                let (found, expected) = (merged.finish(), taken(aggregate, &values).finish());
                let (found, expected) = (found.expect("a result"), expected.expect("a result"));
                prop_assert_eq!(found, expected, "{:?}", aggregate);
            }
        }

        #[test]
        fn texts_are_joined_in_order_across_a_spill(
            texts in prop::collection::vec("[ab]{0,3}", 0..6),
            cut in any::<prop::sample::Index>(),
        ) {
            let values: Vec<Value<'_>> = texts.iter().map(|text| Value::Text(text)).collect();
            let (first, second) = values.split_at(cut.index(values.len() + 1));
            let mut spilled = Vec::new();
            taken(Aggregate::StringAgg, second).write(&mut spilled);
            let read = Accumulator::read(Aggregate::StringAgg, &mut &spilled[..]);
            let mut all = taken(Aggregate::StringAgg, first);
            all.merge(&read.expect("it was written")).expect("short");
            let expected = texts.join(", ");
            let found = all.finish().expect("a text");
            match texts.is_empty() {
                true => prop_assert!(found.get().is_null()),
                false => prop_assert_eq!(found.get(), Value::Text(&expected)),
            }
        }

        #[test]
        fn any_bytes_are_a_state_or_damaged(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            for aggregate in ALL {
                let _ = Accumulator::read(aggregate, &mut &bytes[..]);
            }
        }
    }
}

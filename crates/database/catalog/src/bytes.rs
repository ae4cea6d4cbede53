//! Values and conditions as bytes, for the dictionary's columns that hold them.
//!
//! ```text
//!   value       a row of one column, of the column's type (crate `value` says how)
//!   constant    type (4) │ length (4) │ value; the type alone, of tag 0, is NULL
//!   condition   tag (1) │ its parts; a list of parts begins with how many (2)
//!   text        length (2) │ its bytes; a list of places or texts begins with how many (2)
//! ```
//!
//! Invariants
//!   * reading is total: bytes that no writer has written give none, and never a panic
//!   * each value has one form, because a changed definition is found by comparing rows
//!
//! Callers: `rows`, `texts`, `statistics`.

use relation::{Comparison, Condition, Operand};
use value::{OwnedValue, RowLayout, RowView, Type, Value};

/// The deepest nesting of a condition.
const DEPTH_MAX: usize = 100;

const COMPARE: u8 = 1;
const IS_NULL: u8 = 2;
const AND: u8 = 3;
const OR: u8 = 4;
const NOT: u8 = 5;

const COLUMN: u8 = 1;
const CONSTANT: u8 = 2;

const COMPARISONS: [Comparison; 6] = [
    Comparison::Equal,
    Comparison::NotEqual,
    Comparison::Less,
    Comparison::LessOrEqual,
    Comparison::Greater,
    Comparison::GreaterOrEqual,
];

/// The bytes of a value that fits this type.
pub(crate) fn of_value(kind: Type, value: Value<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let encoded = RowLayout::new(&[kind]).encode(&[value], &mut bytes);
    encoded.expect("one value is shorter than a row may be");
    bytes
}

/// The value of this type in these bytes.
pub(crate) fn value_in(kind: Type, bytes: &[u8]) -> Option<OwnedValue> {
    let layout = RowLayout::new(&[kind]);
    let row = RowView::new(&layout, bytes).ok()?;
    row.get(0).ok().map(Value::to_owned)
}

/// The bytes of a condition; an error says of the table why it has none.
pub(crate) fn of_condition(condition: &Condition) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    push(condition, DEPTH_MAX, &mut bytes).map(|()| bytes)
}

/// The condition in these bytes.
pub(crate) fn condition_in(bytes: &[u8]) -> Option<Condition> {
    let mut reader = Reader(bytes);
    let condition = reader.condition(DEPTH_MAX)?;
    reader.0.is_empty().then_some(condition)
}

fn push(condition: &Condition, depth: usize, out: &mut Vec<u8>) -> Result<(), String> {
    let deep = || format!("a CHECK is nested more than {DEPTH_MAX} deep; split it");
    let depth = depth.checked_sub(1).ok_or_else(deep)?;
    match condition {
        Condition::Compare(left, how, right) => {
            let number = COMPARISONS.iter().position(|one| one == how);
            out.extend([COMPARE, number.expect("every comparison is in the list") as u8]);
            push_operand(left, out)?;
            push_operand(right, out)
        }
        Condition::IsNull(operand) => {
            out.push(IS_NULL);
            push_operand(operand, out)
        }
        Condition::And(parts) => push_parts(AND, parts, depth, out),
        Condition::Or(parts) => push_parts(OR, parts, depth, out),
        Condition::Not(part) => {
            out.push(NOT);
            push(part, depth, out)
        }
    }
}

fn push_parts(tag: u8, parts: &[Condition], depth: usize, out: &mut Vec<u8>) -> Result<(), String> {
    let (has, most) = (parts.len(), u16::MAX);
    let long = |_| format!("a CHECK has an AND or OR of {has} parts; split it, {most} is the most");
    let count = u16::try_from(has).map_err(long)?;
    out.push(tag);
    out.extend(count.to_le_bytes());
    parts.iter().try_for_each(|part| push(part, depth, out))
}

fn push_operand(operand: &Operand, out: &mut Vec<u8>) -> Result<(), String> {
    match operand {
        Operand::Column(column) => {
            let none = |_| format!("of its CHECK column {column}, counted from 0, isn't there");
            let column = u16::try_from(*column).map_err(none)?;
            out.push(COLUMN);
            out.extend(column.to_le_bytes());
        }
        Operand::Constant(value) => {
            out.push(CONSTANT);
            push_constant(value.get(), out);
        }
    }
    Ok(())
}

/// Appends a value with its type.
pub(crate) fn push_constant(value: Value<'_>, out: &mut Vec<u8>) {
    let Some(kind) = widest(value) else {
        out.extend([0; 4]);
        return;
    };
    let bytes = of_value(kind, value);
    let length = u32::try_from(bytes.len()).expect("a row is shorter");
    out.extend(kind.stored());
    out.extend(length.to_le_bytes());
    out.extend(bytes);
}

/// Appends how many things follow.
///
/// # Panics When they are more than 65,535.
pub(crate) fn push_count(count: usize, out: &mut Vec<u8>) {
    let count = u16::try_from(count).expect("lists are shorter than a table has columns");
    out.extend(count.to_le_bytes());
}

/// Appends a name.
pub(crate) fn push_name(name: &str, out: &mut Vec<u8>) {
    push_count(name.len(), out);
    out.extend(name.as_bytes());
}

/// Appends places of columns.
pub(crate) fn push_places(places: &[usize], out: &mut Vec<u8>) {
    push_count(places.len(), out);
    places.iter().for_each(|place| push_count(*place, out));
}

/// The type that holds every value of this value's kind; none for NULL.
fn widest(value: Value<'_>) -> Option<Type> {
    Some(match value {
        Value::Null => return None,
        Value::Int(_) => Type::BigInt,
        Value::Number(_) => Type::Number(None),
        Value::Double(_) => Type::Double,
        Value::Text(_) => Type::Text,
        Value::Bytes(_) => Type::Bytea,
        Value::Boolean(_) => Type::Boolean,
        Value::Date(_) => Type::Date,
        Value::Timestamp(_) => Type::Timestamp,
        Value::Interval(_) => panic!("a condition with a span of time was refused before"),
    })
}

/// The bytes that are left to read.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// Reads what `push_count` has written.
    pub(crate) fn count(&mut self) -> Option<usize> {
        self.array().map(u16::from_le_bytes).map(usize::from)
    }

    pub(crate) fn name(&mut self) -> Option<String> {
        let length = self.count()?;
        String::from_utf8(self.take(length)?.to_vec()).ok()
    }

    /// Reads a list: a count, and as many things.
    pub(crate) fn list<T>(
        &mut self,
        mut read: impl FnMut(&mut Self) -> Option<T>,
    ) -> Option<Vec<T>> {
        let count = self.count()?;
        (0..count).map(|_| read(self)).collect()
    }

    pub(crate) fn places(&mut self) -> Option<Vec<usize>> {
        self.list(Reader::count)
    }

    /// The value, if nothing is left to read.
    pub(crate) fn end<T>(&self, value: T) -> Option<T> {
        self.0.is_empty().then_some(value)
    }

    fn condition(&mut self, depth: usize) -> Option<Condition> {
        let depth = depth.checked_sub(1)?;
        let [tag] = self.array()?;
        Some(match tag {
            COMPARE => {
                let [number] = self.array()?;
                let how = *COMPARISONS.get(usize::from(number))?;
                let left = self.operand()?;
                Condition::Compare(left, how, self.operand()?)
            }
            IS_NULL => Condition::IsNull(self.operand()?),
            AND => Condition::And(self.parts(depth)?),
            OR => Condition::Or(self.parts(depth)?),
            NOT => Condition::Not(Box::new(self.condition(depth)?)),
            _ => return None,
        })
    }

    fn parts(&mut self, depth: usize) -> Option<Vec<Condition>> {
        let count = u16::from_le_bytes(self.array()?);
        (0..count).map(|_| self.condition(depth)).collect()
    }

    fn operand(&mut self) -> Option<Operand> {
        let [tag] = self.array()?;
        Some(match tag {
            COLUMN => Operand::Column(u16::from_le_bytes(self.array()?).into()),
            CONSTANT => Operand::Constant(self.constant()?),
            _ => return None,
        })
    }

    pub(crate) fn constant(&mut self) -> Option<OwnedValue> {
        let kind = self.array()?;
        if kind == [0; 4] {
            return Some(OwnedValue::NULL);
        }
        let length = u32::from_le_bytes(self.array()?);
        value_in(Type::from_stored(kind)?, self.take(length.try_into().ok()?)?)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn operand() -> impl Strategy<Value = Operand> {
        prop_oneof![
            (0..1000_usize).prop_map(Operand::Column),
            any::<i64>().prop_map(|int| Operand::Constant(Value::Int(int).to_owned())),
            any::<String>().prop_map(|text| Operand::Constant(Value::Text(&text).to_owned())),
            Just(Operand::Constant(OwnedValue::NULL)),
        ]
    }

    fn condition() -> impl Strategy<Value = Condition> {
        let how = proptest::sample::select(COMPARISONS.to_vec());
        let leaf = prop_oneof![
            (operand(), how, operand()).prop_map(|(a, how, b)| Condition::Compare(a, how, b)),
            operand().prop_map(Condition::IsNull),
        ];
        leaf.prop_recursive(4, 20, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Condition::And),
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Condition::Or),
                inner.prop_map(|part| Condition::Not(Box::new(part))),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn a_condition_is_read_as_it_was_written(condition in condition()) {
            let bytes = of_condition(&condition).expect("neither deep nor long");
            let read = condition_in(&bytes).expect("read");
            prop_assert_eq!(format!("{read:?}"), format!("{condition:?}"));
            prop_assert_eq!(of_condition(&read), Ok(bytes));
        }

        #[test]
        fn no_bytes_make_reading_panic(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            if let Some(condition) = condition_in(&bytes) {
                prop_assert!(of_condition(&condition).is_ok());
            }
        }
    }

    #[test]
    fn what_is_nested_too_deep_has_no_bytes() {
        let mut condition = Condition::IsNull(Operand::Column(0));
        for _ in 1..DEPTH_MAX {
            condition = Condition::Not(Box::new(condition));
        }
        assert!(of_condition(&condition).is_ok());
        assert!(of_condition(&Condition::Not(Box::new(condition))).is_err());
    }
}

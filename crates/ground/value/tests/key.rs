//! Keys compare as the values do, for all types, directions and NULL positions.

#![forbid(unsafe_code)]

mod common;

use std::cmp::Ordering;

use common::{any_interval, any_row, any_type, config, value_of};
use proptest::prelude::*;
use value::{
    Direction, KeyDecoder, NullOrdering, OwnedValue, RowLayout, RowView, Type, Value, encode_key,
    key_successor,
};

type Part<'a> = (Value<'a>, Direction, NullOrdering);

const ASC: Direction = Direction::Ascending;
const DESC: Direction = Direction::Descending;

fn any_order() -> impl Strategy<Value = (Direction, NullOrdering)> {
    (
        prop_oneof![Just(ASC), Just(DESC)],
        prop_oneof![Just(NullOrdering::First), Just(NullOrdering::Last)],
    )
}

fn key(parts: &[Part<'_>]) -> Vec<u8> {
    let mut key = Vec::new();
    encode_key(parts, &mut key);
    key
}

fn ascending(value: Value<'_>) -> Vec<u8> {
    key(&[(value, ASC, NullOrdering::of(ASC))])
}

/// The order that an ORDER BY of these columns gives.
fn order(a: &[Part<'_>], b: &[Part<'_>]) -> Ordering {
    let column = |(a, b): (&Part<'_>, &Part<'_>)| match (a.0, b.0) {
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Null, _) if a.2 == NullOrdering::First => Ordering::Less,
        (Value::Null, _) => Ordering::Greater,
        (_, Value::Null) if a.2 == NullOrdering::First => Ordering::Greater,
        (_, Value::Null) => Ordering::Less,
        (x, y) => {
            let order = x.compare(y).expect("of one type");
            if a.1 == DESC { order.reverse() } else { order }
        }
    };
    a.iter().zip(b).map(column).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

/// One column of a key, and three values of it, of which two may be equal.
#[derive(Clone, Debug)]
struct Column {
    order: (Direction, NullOrdering),
    values: [OwnedValue; 3],
}

fn any_column() -> impl Strategy<Value = Column> {
    (any_type(), any_order()).prop_flat_map(|(kind, order)| {
        let values = [value_of(kind), value_of(kind), value_of(kind)];
        (values, any::<bool>()).prop_map(move |([a, b, c], same)| {
            let b = if same { a.clone() } else { b };
            Column { order, values: [a, b, c] }
        })
    })
}

fn parts(columns: &[Column], which: usize) -> Vec<Part<'_>> {
    let part = |column: &'_ Column| (column.order.0, column.order.1);
    columns
        .iter()
        .map(|column| {
            let (direction, nulls) = part(column);
            (column.values[which].get(), direction, nulls)
        })
        .collect()
}

proptest! {
    #![proptest_config(config(2048))]

    #[test]
    fn keys_compare_as_the_columns_do(columns in prop::collection::vec(any_column(), 1..4)) {
        for (i, j) in [(0, 1), (1, 2), (0, 2)] {
            let (a, b) = (parts(&columns, i), parts(&columns, j));
            let (left, right) = (key(&a), key(&b));
            prop_assert_eq!(left.cmp(&right), order(&a, &b), "{:?} {:?}", a, b);
            prop_assert!(left == right || !left.starts_with(&right));
            prop_assert!(left == right || !right.starts_with(&left));
        }
    }

    #[test]
    fn keys_of_spans_compare_as_the_spans_do(a in any_interval(), b in any_interval()) {
        let (left, right) = (ascending(Value::Interval(a)), ascending(Value::Interval(b)));
        prop_assert_eq!(left.cmp(&right), a.cmp(&b), "{:?} {:?}", a, b);
    }

    #[test]
    fn a_columns_first_byte_leaves_room_below_and_above(column in any_column()) {
        for which in 0..3 {
            let first = key(&parts(std::slice::from_ref(&column), which))[0];
            prop_assert!((0x01..=0xfe).contains(&first));
        }
    }

    #[test]
    fn the_range_of_the_first_columns_holds_their_keys_and_no_others(
        columns in prop::collection::vec(any_column(), 1..4),
        first in any::<prop::sample::Index>(),
        behind in prop::collection::vec(any::<u8>(), 0..4),
    ) {
        let first = first.index(columns.len() + 1);
        let (a, b) = (parts(&columns, 0), parts(&columns, 1));
        let lower = key(&a[..first]);
        let mut upper = lower.clone();
        let is_bounded = key_successor(&mut upper);
        let holds = |key: Vec<u8>| lower <= key && (!is_bounded || key < upper);
        let same = order(&a[..first], &b[..first]).is_eq();
        let with_more = |mut key: Vec<u8>| {
            key.extend_from_slice(&behind);
            key
        };
        prop_assert!(holds(with_more(key(&a))));
        prop_assert_eq!(holds(with_more(key(&b))), same);
    }

    /// Each value comes back as a row would give it, of several keys one after the other; and only
    /// the types that say so lose anything.
    #[test]
    fn a_key_is_decoded_into_the_values_that_a_row_gives(
        row in any_row(1..6),
        orders in prop::collection::vec(any_order(), 6),
        behind in prop::collection::vec(any::<u8>(), 0..9),
    ) {
        let (layout, mut bytes) = (RowLayout::new(&row.types), Vec::new());
        layout.encode(&row.values(), &mut bytes).expect("short texts");
        let view = RowView::new(&layout, &bytes).expect("a row");
        let columns = row.values.iter().zip(&orders);
        let parts: Vec<Part<'_>> =
            columns.map(|(value, (direction, nulls))| (value.get(), *direction, *nulls)).collect();
        let mut key = key(&parts);
        key.extend_from_slice(&behind);
        let mut decoder = KeyDecoder::default();
        for _ in 0..2 {
            let mut left = &key[..];
            for (kind, (_, direction, nulls)) in row.types.iter().zip(&parts) {
                left = decoder.decode(left, *direction, *nulls, *kind).expect("a column");
            }
            prop_assert_eq!(left, &behind[..]);
        }
        let values = decoder.values().expect("texts");
        for number in 0..2 * row.types.len() {
            let column = number % row.types.len();
            let (found, expected) = (values.get(number).expect("it is there"), view.get(column));
            let expected = expected.expect("a column");
            prop_assert_eq!(found, expected);
            if row.types[column].key_is_reversible() {
                prop_assert_eq!(format!("{found:?}"), format!("{expected:?}"));
            }
        }
    }

    /// No bytes make it panic, whatever the column is.
    #[test]
    fn any_bytes_are_decoded_or_damaged(
        kind in any_type(),
        order in any_order(),
        first in any::<u8>(),
        bytes in prop::collection::vec(prop_oneof![any::<u8>(), 0..4_u8, 98..103_u8], 0..30),
    ) {
        let key = [&[first][..], &bytes].concat();
        let mut decoder = KeyDecoder::default();
        if let Ok(left) = decoder.decode(&key, order.0, order.1, kind) {
            prop_assert!(key.ends_with(left));
            if let Ok(value) = decoder.values().and_then(|values| values.get(0)) {
                let is_it = value.is_null() || kind.compares_with_value(value);
                prop_assert!(is_it, "{value:?} of {kind}");
            }
        }
    }

    #[test]
    fn the_successor_is_the_lowest_above_all_that_begin_so(
        bytes in prop::collection::vec(prop_oneof![Just(255_u8), any::<u8>()], 0..4),
        other in prop::collection::vec(prop_oneof![Just(255_u8), any::<u8>()], 0..6),
    ) {
        let mut above = bytes.clone();
        let exists = key_successor(&mut above);
        prop_assert_eq!(exists, bytes.iter().any(|byte| *byte != 255));
        let in_range = other >= bytes && (!exists || other < above);
        prop_assert_eq!(other.starts_with(&bytes), in_range);
    }
}

#[test]
fn whole_numbers_at_every_edge_are_in_order() {
    let mut edges: Vec<i64> = (0..64).flat_map(|bit| [1_i64 << bit, -1 << bit]).collect();
    edges
        .extend(edges.clone().iter().flat_map(|edge| [edge.wrapping_sub(1), edge.wrapping_add(1)]));
    edges.sort_unstable();
    edges.dedup();
    let keys: Vec<_> = edges.iter().map(|edge| ascending(Value::Int(*edge))).collect();
    assert!(keys.is_sorted_by(|a, b| a < b));
}

#[test]
fn numbers_at_every_power_of_ten_are_in_order() {
    let mut last = Vec::new();
    let number = |text: String| ascending(Value::Number(text.parse().expect("a number")));
    for exponent in (-128..=121).rev() {
        for digits in ["99999999999999999999999999999999999999", "10", "1"] {
            let exponent = exponent - if digits.len() == 38 { 37 } else { digits.len() as i32 - 1 };
            // The 38 nines reach below the last decimal place of a number, and are rounded there.
            let key = number(format!("-{digits}e{exponent}"));
            assert!(last <= key, "-{digits}e{exponent}");
            last = key;
        }
    }
    for text in ["0", "1e-128", "1e-127", "0.1", "1", "1.01", "1e121", "9.9e121"] {
        let key = number(text.to_string());
        assert!(last < key, "{text}");
        last = key;
    }
}

#[test]
fn equal_values_have_equal_bytes() {
    let number = |text: &str| ascending(Value::Number(text.parse().expect("a number")));
    assert_eq!(number("1.0"), number("1.00"));
    assert_eq!(number("100"), number("1e2"));
    assert_eq!(number("-0.0"), number("0"));
    let double = |value| ascending(Value::Double(value));
    assert_eq!(double(-0.0), double(0.0));
    assert_eq!(double(f64::NAN), double(-f64::NAN));
}

#[test]
fn the_key_of_minus_zero_is_that_of_zero() {
    assert!(!Type::Double.key_is_reversible());
    let mut decoder = KeyDecoder::default();
    let key = ascending(Value::Double(-0.0));
    decoder.decode(&key, ASC, NullOrdering::of(ASC), Type::Double).expect("a column");
    let value = decoder.values().and_then(|values| values.get(0)).expect("it is there");
    assert!(matches!(value, Value::Double(zero) if zero.is_sign_positive()), "{value:?}");
}

/// The bytes of two texts that only together are UTF-8 are no texts.
#[test]
fn a_text_that_ends_within_a_character_is_damage() {
    let mut decoder = KeyDecoder::default();
    for byte in "é".bytes() {
        let key = [byte + 3, 2];
        decoder.decode(&key, ASC, NullOrdering::of(ASC), Type::Text).expect("a column");
    }
    let values = decoder.values().expect("together they are");
    assert!(values.get(0).is_err() && values.get(1).is_err());
}

#[test]
fn nulls_are_where_oracle_puts_them_if_nothing_is_said() {
    let null = |direction| key(&[(Value::Null, direction, NullOrdering::of(direction))]);
    let int = |int, direction| key(&[(Value::Int(int), direction, NullOrdering::of(direction))]);
    assert!(null(ASC) > int(i64::MAX, ASC));
    assert!(null(DESC) < int(i64::MAX, DESC));
}

#[test]
fn keys_have_these_bytes_for_ever() {
    let number = |text: &str| Value::Number(text.parse().expect("a number"));
    let day = value::Date::parse("1970-01-02").expect("a day");
    let all: [(Value<'_>, &[u8]); 19] = [
        (Value::Null, &[0xfe]),
        (Value::Int(0), &[0x80]),
        (Value::Int(1), &[0x81, 1]),
        (Value::Int(256), &[0x82, 1, 0]),
        (Value::Int(i64::MAX), &[0x88, 0x7f, 255, 255, 255, 255, 255, 255, 255]),
        (Value::Int(-1), &[0x7f]),
        (Value::Int(-2), &[0x7e, 0xfe]),
        (Value::Int(i64::MIN), &[0x77, 0x80, 0, 0, 0, 0, 0, 0, 0]),
        (number("0"), &[0x80]),
        (number("1"), &[0xc1, 2, 0]),
        (number("1234.5"), &[0xc2, 13, 35, 51, 0]),
        (number("-0.05"), &[0x3f, 96, 102]),
        (Value::Double(1.0), &[0x80, 0xbf, 0xf0, 0, 0, 0, 0, 0, 0]),
        (Value::Text(""), &[2]),
        (Value::Text("aé"), &[0x64, 0xc6, 0xac, 2]),
        (Value::Bytes(&[0, 3, 4, 252, 253, 255]), &[3, 0, 3, 3, 4, 252, 253, 253, 253, 255, 2]),
        (Value::Boolean(false), &[3]),
        (Value::Boolean(true), &[4]),
        (Value::Date(day), &[0x81, 1]),
    ];
    for (value, bytes) in all {
        assert_eq!(ascending(value), bytes, "{value}");
    }
    let descending = key(&[(Value::Int(1), DESC, NullOrdering::First)]);
    assert_eq!(descending, [0x7e, 0xfe]);
    assert_eq!(key(&[(Value::Null, DESC, NullOrdering::First)]), [1]);
}

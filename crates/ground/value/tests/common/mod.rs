//! Random values and types, for the tests of rows and keys.
//!
//! Callers: `row.rs`, `key.rs`.

#![allow(dead_code, reason = "not every test program uses all of it")]

use proptest::prelude::*;
use value::{Date, Interval, Number, OwnedValue, Timestamp, Type, Value};

pub(crate) fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { failure_persistence: None, cases, ..Default::default() }
}

pub(crate) fn any_type() -> impl Strategy<Value = Type> {
    prop_oneof![
        Just(Type::SmallInt),
        Just(Type::Integer),
        Just(Type::BigInt),
        Just(Type::Number(None)),
        (1..=38_u32, -84..=127).prop_map(|(p, s)| Type::number(p, s).expect("may be declared")),
        (1..=38_u32, -3..=6).prop_map(|(p, s)| Type::number(p, s).expect("may be declared")),
        Just(Type::Double),
        (1..=4000_u16).prop_map(|n| Type::varchar(n).expect("may be declared")),
        (1..=20_u16).prop_map(|n| Type::char(n).expect("may be declared")),
        Just(Type::Text),
        Just(Type::Bytea),
        Just(Type::Boolean),
        Just(Type::Date),
        Just(Type::Timestamp),
    ]
}

/// Whole numbers of all sizes, with many small ones and the limits of each size.
pub(crate) fn any_int() -> impl Strategy<Value = i64> {
    prop_oneof![
        any::<i64>(),
        (any::<i64>(), 0..64_u32).prop_map(|(value, shift)| value >> shift),
        (0..64_u32, -1..=1_i64).prop_map(|(bit, by)| (1_i64 << bit).wrapping_add(by)),
        (0..64_u32, -1..=1_i64).prop_map(|(bit, by)| (-1_i64 << bit).wrapping_add(by)),
    ]
}

/// Decimals over the whole range, many with few digits, and some with trailing zeros.
pub(crate) fn any_number() -> impl Strategy<Value = Number> {
    let digits = prop_oneof![
        any::<i128>().prop_map(|value| value % 10_i128.pow(38)),
        (any::<i128>(), 0..38_u32).prop_map(|(value, digits)| value % 10_i128.pow(digits)),
        (-20..20_i128, 0..36_u32).prop_map(|(value, zeros)| value * 10_i128.pow(zeros)),
        (0..38_u32, -1..=1_i128).prop_map(|(digits, by)| 10_i128.pow(digits) + by),
        (0..38_u32, -1..=1_i128).prop_map(|(digits, by)| by - 10_i128.pow(digits)),
    ];
    let scale = prop_oneof![-84..=128_i32, -3..=6_i32, 100..=128_i32];
    (digits, scale).prop_map(|(digits, scale)| {
        Number::from_parts(digits, scale).expect("below 1e38 and 84 zeros")
    })
}

pub(crate) fn any_double() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<u64>().prop_map(f64::from_bits),
        any::<i8>().prop_map(|small| f64::from(small) / 4.0),
        Just(-0.0),
        Just(f64::NAN),
    ]
}

pub(crate) fn any_text() -> impl Strategy<Value = String> {
    prop_oneof!["[ab\\x00\\x01\\x02 é]{0,6}", "\\PC{0,20}", "[a-z ]{0,300}"]
}

pub(crate) fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    let few = prop_oneof![Just(0_u8), Just(1), Just(2), Just(3), Just(4), Just(252), 253..=255_u8];
    prop_oneof![
        prop::collection::vec(few, 0..6),
        prop::collection::vec(any::<u8>(), 0..40),
        prop::collection::vec(any::<u8>(), 200..400),
    ]
}

pub(crate) fn any_date() -> impl Strategy<Value = Date> {
    (Date::MIN.days()..=Date::MAX.days()).prop_map(|days| Date::from_days(days).expect("in range"))
}

pub(crate) fn any_timestamp() -> impl Strategy<Value = Timestamp> {
    (Timestamp::MIN.us()..=Timestamp::MAX.us())
        .prop_map(|us| Timestamp::from_us(us).expect("in range"))
}

/// Spans of time, many of which are equal though their parts differ.
pub(crate) fn any_interval() -> impl Strategy<Value = Interval> {
    let day = 86_400_000_000_i64;
    prop_oneof![
        (any::<i32>(), any::<i32>(), any::<i64>()).prop_map(|(m, d, us)| Interval::new(m, d, us)),
        (-2..=2_i32, -60..=60_i32, -2..=2_i64).prop_map(move |(m, d, days)| Interval::new(
            m,
            d,
            days * day
        )),
    ]
}

/// Values of all kinds, of which many are equal to others of another kind.
pub(crate) fn any_value() -> impl Strategy<Value = OwnedValue> {
    let small = -3..=3_i64;
    prop_oneof![
        (any_type()).prop_flat_map(value_of),
        any_interval().prop_map(|span| Value::Interval(span).to_owned()),
        small.clone().prop_map(|int| Value::Int(int).to_owned()),
        small.clone().prop_map(|int| Value::Double(int as f64 / 2.0).to_owned()),
        small.clone().prop_map(|int| Value::Double(int as f64).to_owned()),
        (small, 0..4_u32).prop_map(|(int, scale)| {
            let coefficient = i128::from(int) * 10_i128.pow(scale) / 2;
            let number = Number::from_parts(coefficient, scale.cast_signed());
            Value::Number(number.expect("small")).to_owned()
        }),
        any_int().prop_map(|int| Value::Double(int as f64).to_owned()),
        any_int().prop_map(|int| Value::Number(int.into()).to_owned()),
        (0..3).prop_map(|day| Value::Date(Date::from_days(day).expect("a day")).to_owned()),
        (0..3).prop_map(|day| {
            let day = Date::from_days(day).expect("a day");
            Value::Timestamp(Timestamp::midnight(day)).to_owned()
        }),
    ]
}

/// A value that fits the type, sometimes NULL.
pub(crate) fn value_of(kind: Type) -> BoxedStrategy<OwnedValue> {
    let fitted = move |value: Value<'_>| match kind.fit("C", value) {
        Ok(value) => value.to_owned(),
        Err(_) => OwnedValue::NULL,
    };
    let some: BoxedStrategy<OwnedValue> = match kind {
        Type::SmallInt => any_int().prop_map(|v| Value::Int(v >> 48).to_owned()).boxed(),
        Type::Integer => any_int().prop_map(|v| Value::Int(v >> 32).to_owned()).boxed(),
        Type::BigInt => any_int().prop_map(|v| Value::Int(v).to_owned()).boxed(),
        Type::Number(None) => any_number().prop_map(|v| Value::Number(v).to_owned()).boxed(),
        Type::Number(Some(digits)) => any::<i128>()
            .prop_map(move |v| {
                let coefficient = v % 10_i128.pow(digits.precision().into());
                let number = Number::from_parts(coefficient, digits.scale().into());
                fitted(Value::Number(number.expect("a number that may be declared")))
            })
            .boxed(),
        Type::Double => any_double().prop_map(|v| Value::Double(v).to_owned()).boxed(),
        Type::Varchar(_) | Type::Char(_) | Type::Text => {
            any_text().prop_map(move |v| fitted(Value::Text(&v))).boxed()
        }
        Type::Bytea => any_bytes().prop_map(|v| Value::Bytes(&v).to_owned()).boxed(),
        Type::Boolean => any::<bool>().prop_map(|v| Value::Boolean(v).to_owned()).boxed(),
        Type::Date => any_date().prop_map(|v| Value::Date(v).to_owned()).boxed(),
        Type::Timestamp => any_timestamp().prop_map(|v| Value::Timestamp(v).to_owned()).boxed(),
    };
    prop_oneof![6 => some, 1 => Just(OwnedValue::NULL)].boxed()
}

/// A list of types and a value of each.
pub(crate) fn any_row(
    columns: impl Into<prop::collection::SizeRange>,
) -> impl Strategy<Value = Row> {
    prop::collection::vec(any_type(), columns).prop_flat_map(|types| {
        let values: Vec<_> = types.iter().map(|kind| value_of(*kind)).collect();
        (Just(types), values).prop_map(|(types, values)| Row { types, values })
    })
}

#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) types: Vec<Type>,
    pub(crate) values: Vec<OwnedValue>,
}

impl Row {
    pub(crate) fn values(&self) -> Vec<Value<'_>> {
        self.values.iter().map(OwnedValue::get).collect()
    }
}

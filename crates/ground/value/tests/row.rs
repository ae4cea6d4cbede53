//! Rows read back as they were written, change in place, and can be read whatever their bytes are.

#![forbid(unsafe_code)]

mod common;

use common::{Row, any_row, config};
use proptest::prelude::*;
use value::{Damaged, OwnedValue, RowLayout, RowMut, RowView, Type, Value};

fn encoded(layout: &RowLayout, values: &[Value<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    layout.encode(values, &mut bytes).expect("far below 4 GiB");
    bytes
}

fn all<'a>(layout: &'a RowLayout, bytes: &'a [u8]) -> Result<Vec<Value<'a>>, Damaged> {
    let mut values = Vec::new();
    RowView::new(layout, bytes)?.get_all(&mut values)?;
    Ok(values)
}

/// Does everything with these bytes that a reader or a changer can do.
fn use_all(layout: &RowLayout, bytes: &mut [u8], values: &[Value<'_>]) {
    if let Ok(view) = RowView::new(layout, bytes) {
        for column in 0..layout.columns() {
            let _ = (view.get(column), view.is_null(column));
            if layout.kind(column).is_integer() {
                let _ = view.get_i64(column);
            }
            if layout.kind(column).is_text() {
                let _ = view.get_text(column);
            }
        }
        if view.check().is_ok() {
            let written = view.columns_written();
            let values = all(layout, bytes).expect("it was read by the check");
            assert_eq!(encoded(layout, &values[..written]), bytes);
        }
    }
    if let Ok(mut row) = RowMut::new(layout, bytes) {
        for (column, value) in values.iter().enumerate() {
            let _ = row.set(column, *value);
        }
    }
}

proptest! {
    #![proptest_config(config(512))]

    #[test]
    fn a_row_comes_back_as_it_went_in(row in any_row(0..12)) {
        let layout = RowLayout::new(&row.types);
        let bytes = encoded(&layout, &row.values());
        let view = RowView::new(&layout, &bytes).expect("sound");
        prop_assert_eq!(all(&layout, &bytes).expect("sound"), row.values());
        prop_assert_eq!(view.check(), Ok(()));
        for (column, value) in row.values().iter().enumerate() {
            prop_assert_eq!(view.is_null(column), value.is_null());
            if let (Value::Int(int), true) = (value, row.types[column].is_integer()) {
                prop_assert_eq!(view.get_i64(column), Some(*int));
            }
            if let Value::Text(text) = value {
                prop_assert_eq!(view.get_text(column), Ok(Some(*text)));
            }
        }
    }

    #[test]
    fn a_row_older_than_a_column_reads_as_what_was_missing_then(
        row in any_row(1..12),
        before in any::<prop::sample::Index>(),
    ) {
        let before = before.index(row.types.len() + 1);
        let mut layout = RowLayout::new(&row.types[..before]);
        let bytes = encoded(&layout, &row.values()[..before]);
        for (kind, missing) in row.types.iter().zip(&row.values).skip(before) {
            layout.add(*kind, missing.clone());
        }
        prop_assert_eq!(all(&layout, &bytes).expect("sound"), row.values());
        prop_assert_eq!(RowView::new(&layout, &bytes).expect("sound").check(), Ok(()));
        // Both ways to write an old row give the same bytes.
        prop_assert_eq!(encoded(&layout, &row.values()[..before]), bytes);
    }

    /// VA3: an update in place gives the bytes that encoding the new row gives.
    #[test]
    fn a_column_of_fixed_width_is_set_in_place_and_all_other_bytes_stay(
        (old, new) in any_row(1..10).prop_flat_map(|row| {
            let values: Vec<_> = row.types.iter().map(|kind| common::value_of(*kind)).collect();
            (Just(row), values)
        }),
        column in any::<prop::sample::Index>(),
    ) {
        let column = column.index(old.types.len());
        let layout = RowLayout::new(&old.types);
        let mut bytes = encoded(&layout, &old.values());
        let before = bytes.clone();
        let done =
            RowMut::new(&layout, &mut bytes).expect("sound").set(column, new[column].get());
        prop_assert_eq!(done, layout.is_fixed(column));
        if !done {
            prop_assert_eq!(bytes, before);
            return Ok(());
        }
        let mut values = old.values();
        values[column] = new[column].get();
        prop_assert_eq!(&bytes, &encoded(&layout, &values));
        let differ = bytes.iter().zip(&before).filter(|(a, b)| a != b).count();
        prop_assert!(differ <= 17, "16 bytes of the widest column, and one of NULL bits");
    }

    #[test]
    fn any_bytes_are_read_or_refused_and_never_panic(
        row in any_row(0..8),
        mut bytes in prop::collection::vec(any::<u8>(), 0..80),
        few in any::<bool>(),
    ) {
        if let ([low, high, ..], true) = (bytes.as_mut_slice(), few) {
            // Most heads would be refused at once.
            (*low, *high) = (*low % 9, *high & 0xc0);
        }
        use_all(&RowLayout::new(&row.types), &mut bytes, &row.values());
    }

    #[test]
    fn a_row_with_any_one_byte_changed_or_cut_off_is_read_or_refused(
        row in any_row(0..8),
        place in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let layout = RowLayout::new(&row.types);
        let mut bytes = encoded(&layout, &row.values());
        let place = place.index(bytes.len());
        let mut cut = bytes[..place].to_vec();
        use_all(&layout, &mut cut, &row.values());
        bytes[place] = byte;
        use_all(&layout, &mut bytes, &row.values());
    }
}

#[test]
fn rows_are_stored_in_these_bytes_for_ever() {
    let number = |text: &str| Value::Number(text.parse().expect("a number"));
    let money = Type::number(10, 2).expect("may be declared");
    let name = Type::varchar(20).expect("may be declared");
    let types = [Type::Integer, name, money, Type::Number(None), Type::SmallInt, Type::Bytea];
    let layout = RowLayout::new(&types);
    let values = [
        Value::Int(7),
        Value::Text("Müller"),
        number("-1.50").pipe(|value| money.fit("M", value).expect("it fits")),
        number("1200"),
        Value::Null,
        Value::Bytes(&[0xab]),
    ];
    let bytes = encoded(&layout, &values);
    let expected = [
        &[6, 0][..],
        &[7, 0, 0, 0],
        &[0x6a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
        &[0, 0],
        &[0b01_0000],
        &[7, 9, 10],
        "Müller".as_bytes(),
        &[120, 12],
        &[0xab],
    ]
    .concat();
    assert_eq!(bytes, expected);
}

#[test]
fn ends_grow_with_the_texts_they_end() {
    let layout = RowLayout::new(&[Type::Text, Type::Text]);
    for (length, width) in [(0, 1), (255, 1), (256, 2), (65_535, 2), (65_536, 4)] {
        let text = "x".repeat(length);
        let values = [Value::Text(&text), Value::Text("")];
        let bytes = encoded(&layout, &values);
        assert_eq!(bytes.len(), 3 + 2 * width + length);
        assert_eq!(all(&layout, &bytes), Ok(values.to_vec()));
    }
}

#[test]
fn a_row_of_a_thousand_columns_comes_back() {
    let layout = RowLayout::new(&[Type::number(38, 0).expect("may be declared"); 1000]);
    let number = Value::Number("99999999999999999999999999999999999999".parse().expect("a number"));
    let values = vec![number; 1000];
    assert_eq!(all(&layout, &encoded(&layout, &values)), Ok(values));
}

#[test]
fn damage_names_its_column() {
    let layout = RowLayout::new(&[Type::Integer, Type::Boolean, Type::Text]);
    let values = [Value::Int(1), Value::Boolean(true), Value::Text("é")];
    let sound = encoded(&layout, &values);
    let damaged = |at: usize, byte: u8| {
        let mut bytes = sound.clone();
        bytes[at] = byte;
        all(&layout, &bytes).expect_err("damaged").to_string()
    };
    assert_eq!(damaged(6, 2), "the row is damaged in column 1: neither true nor false");
    assert_eq!(damaged(9, 0xff), "the row is damaged in column 2: a text that isn't UTF-8");
    assert_eq!(damaged(8, 9), "the row is damaged in column 2: its end lies outside the row");
    assert_eq!(damaged(0, 4), "the row is damaged: it has more columns than its table");
    assert_eq!(damaged(1, 0xc0), "the row is damaged: its head is of no known form");
    // Only the check finds NULL bits that no column has, and bytes under a NULL.
    for (at, byte) in [(7, 0b1000), (7, 0b0001)] {
        let mut bytes = sound.clone();
        bytes[at] |= byte;
        let view = RowView::new(&layout, &bytes).expect("its parts have places");
        assert!(all(&layout, &bytes).is_ok() && view.check().is_err());
    }
}

/// Types that are stored alike give a value the same bytes and the same key.
#[test]
fn a_column_may_get_a_type_that_is_stored_like_its_own() {
    let decimal = |precision, scale| Type::number(precision, scale).expect("may be declared");
    let varchar = |count| Type::varchar(count).expect("may be declared");
    let char = |count| Type::char(count).expect("may be declared");
    let (text, number) = (Value::Text("ab"), Value::Number("1.25".parse().expect("a number")));
    for (one, other, value) in [
        (varchar(2), varchar(30), text),
        (varchar(2), Type::Text, text),
        (char(2), char(9), text),
        (decimal(5, 2), decimal(9, 2), number),
    ] {
        assert!(one.is_stored_like(other) && other.is_stored_like(one), "{one} {other}");
        assert!(other.holds_all_of(one) && !one.holds_all_of(other), "{one} {other}");
        let bytes = |kind| encoded(&RowLayout::new(&[kind]), &[value]);
        assert_eq!(bytes(one), bytes(other), "{one} {other}");
    }
    for (one, other) in [
        (Type::Integer, Type::BigInt),
        (decimal(9, 2), decimal(10, 2)),
        (decimal(9, 2), decimal(9, 3)),
        (decimal(9, 2), Type::Number(None)),
        (char(3), varchar(3)),
        (Type::Date, Type::Timestamp),
    ] {
        assert!(!one.is_stored_like(other) && !other.is_stored_like(one), "{one} {other}");
    }
}

#[test]
#[should_panic(expected = "a column of SMALLINT was given 40000")]
fn a_value_that_was_not_made_to_fit_stops_the_program() {
    let _ = RowLayout::new(&[Type::SmallInt]).encode(&[Value::Int(40_000)], &mut Vec::new());
}

#[test]
fn an_added_column_is_null_or_its_default_in_old_rows_and_not_set_in_place() {
    let mut layout = RowLayout::new(&[Type::Integer]);
    let mut bytes = encoded(&layout, &[Value::Int(1)]);
    layout.add(Type::BigInt, Value::Int(5).to_owned());
    layout.add(Type::Text, OwnedValue::NULL);
    let view = RowView::new(&layout, &bytes).expect("sound");
    assert_eq!((view.get_i64(0), view.get_i64(1)), (Some(1), Some(5)));
    assert!(!view.is_null(1) && view.is_null(2));
    let mut row = RowMut::new(&layout, &mut bytes).expect("sound");
    assert!(row.set(0, Value::Int(2)));
    assert!(!row.set(1, Value::Int(6)) && !row.set(2, Value::Null));
    let row = Row { types: vec![], values: vec![] };
    assert_eq!(encoded(&layout, &row.values()), [0, 0]);
}

trait Pipe: Sized {
    fn pipe<T>(self, with: impl FnOnce(Self) -> T) -> T {
        with(self)
    }
}

impl Pipe for Value<'_> {}

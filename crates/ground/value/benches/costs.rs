//! Measures the cost of reading, encoding and making keys, in nanoseconds, for a person to read. It
//! is no test: nothing here can fail. Run it with `cargo bench -p value` on a quiet machine.

#![forbid(unsafe_code)]
#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "it takes real time")]

use std::hint::black_box;
use std::time::Instant;

use value::{
    Direction, NullOrdering, Number, RowLayout, RowMut, RowView, Type, Value, encode_key, key_push,
};

const IS_MINIATURE: bool = cfg!(debug_assertions);
const BATCHES: u32 = if IS_MINIATURE { 2 } else { 40 };
const BATCH: u32 = if IS_MINIATURE { 1_000 } else { 20_000 };

/// Prints the nanoseconds of one call in the fastest batch.
fn measure(what: &str, mut call: impl FnMut(u32)) {
    let mut best = f64::MAX;
    for _ in 0..BATCHES {
        let begun = Instant::now();
        for i in 0..BATCH {
            call(i);
        }
        let took = begun.elapsed().as_nanos() as f64 / f64::from(BATCH);
        best = best.min(took);
    }
    println!("{best:7.1} ns  {what}");
}

fn main() {
    rows_cost();
    keys_cost();
    numbers_cost();
}

fn number(text: &str) -> Number {
    text.parse().expect("a number")
}

fn rows_cost() {
    let money = Type::number(12, 2).expect("may be declared");
    let name = Type::varchar(100).expect("may be declared");
    let layout = RowLayout::new(&[Type::Integer, name, Type::BigInt, money]);
    let balance = money.fit("BALANCE", Value::Number(number("1234.5"))).expect("it fits");
    let filler = "x".repeat(75);
    let values = [Value::Int(17), Value::Text(&filler), Value::Int(1 << 40), balance];
    let mut row = Vec::new();
    layout.encode(&values, &mut row).expect("a short row");
    assert_eq!(row.len(), 2 + 4 + 8 + 8 + 1 + 1 + 75);

    let mut out = Vec::with_capacity(256);
    measure("encode a row of 99 bytes, 4 columns", |_| {
        out.clear();
        layout.encode(black_box(&values), &mut out).expect("a short row");
        black_box(&out);
    });
    let view = RowView::new(&layout, &row).expect("sound");
    measure("get_i64 of the third column, row opened before", |_| {
        black_box(black_box(&view).get_i64(2));
    });
    measure("open the row, and get_i64 of the third column", |_| {
        let view = RowView::new(black_box(&layout), black_box(&row)).expect("sound");
        black_box(view.get_i64(2));
    });
    measure("get of the third column, row opened before", |_| {
        black_box(black_box(&view).get(2).expect("sound"));
    });
    measure("get of the text of 75 bytes", |_| {
        black_box(black_box(&view).get(1).expect("sound"));
    });
    measure("get of the NUMBER(12,2)", |_| {
        black_box(black_box(&view).get(3).expect("sound"));
    });
    let mut values = Vec::new();
    measure("get_all of 4 columns", |_| {
        black_box(&view).get_all(&mut values).expect("sound");
        black_box(&values);
    });
    let mut changed = row.clone();
    measure("open the row, and set the third column", |i| {
        let mut row = RowMut::new(&layout, black_box(&mut changed)).expect("sound");
        assert!(row.set(2, Value::Int(i.into())));
    });
}

fn keys_cost() {
    let (asc, last) = (Direction::Ascending, NullOrdering::Last);
    let mut out = Vec::with_capacity(256);
    measure("key of a BIGINT", |i| {
        out.clear();
        key_push(black_box(Value::Int(i64::from(i) << 20)), asc, last, &mut out);
        black_box(&out);
    });
    measure("key of an INTEGER and a VARCHAR of 20 characters", |i| {
        out.clear();
        let columns =
            [(Value::Int(i.into()), asc, last), (Value::Text("a name of 20 letters"), asc, last)];
        encode_key(black_box(&columns), &mut out);
        black_box(&out);
    });
    let balance = Value::Number(number("1234567.89"));
    measure("key of a NUMBER of 9 digits", |_| {
        out.clear();
        key_push(black_box(balance), asc, last, &mut out);
        black_box(&out);
    });
    let long = Value::Number(number("12345678901234567890.123456789012345678"));
    measure("key of a NUMBER of 38 digits", |_| {
        out.clear();
        key_push(black_box(long), asc, last, &mut out);
        black_box(&out);
    });
}

fn numbers_cost() {
    let (a, b) = (number("1234567.89"), number("0.19"));
    let long = number("12345678901234567890.123456789012345678");
    measure("sum of two numbers of one scale", |_| {
        black_box(black_box(a).checked_add(black_box(b)).expect("no overflow"));
    });
    measure("sum of numbers of two scales", |_| {
        black_box(black_box(long).checked_add(black_box(b)).expect("no overflow"));
    });
    measure("product of two short numbers", |_| {
        black_box(black_box(a).checked_mul(black_box(b)).expect("no overflow"));
    });
    measure("product of a long and a short number", |_| {
        black_box(black_box(long).checked_mul(black_box(b)).expect("no overflow"));
    });
    measure("quotient of two short numbers", |_| {
        black_box(black_box(a).checked_div(black_box(b)).expect("no overflow"));
    });
    measure("quotient of two long numbers", |_| {
        black_box(black_box(a).checked_div(black_box(long)).expect("no overflow"));
    });
    measure("comparison at two scales", |_| {
        black_box(black_box(a).cmp(&black_box(long)));
    });
    let money = Type::number(12, 2).expect("may be declared");
    measure("fit of a number into NUMBER(12,2)", |_| {
        black_box(money.fit("C", black_box(Value::Number(a))).expect("it fits"));
    });
    measure("reading 1234567.89", |_| {
        black_box(black_box("1234567.89").parse::<Number>().expect("a number"));
    });
    measure("writing 1234567.89", |_| {
        black_box(black_box(a).to_string());
    });
}

//! Sorts give the order of a stable sort, and the first rows of it, with little and with plenty of
//! memory; and leave nothing behind.
#![forbid(unsafe_code)]

mod common;

use common::{BUDGETS, Given, Row, TestWorld, WIDTH, all, constant, rows, run_clean, shown};
use expression::{Expression, Kind};
use rowsource::{Cut, Limit, Sort, SortKey, Source, Ties};
use testbed::Dice;
use value::{Direction, NullOrdering, OwnedValue, Value};

const UP: Direction = Direction::Ascending;
const DOWN: Direction = Direction::Descending;
const FIRST: NullOrdering = NullOrdering::First;
const LAST: NullOrdering = NullOrdering::Last;

fn key(column: usize, kind: Kind, direction: Direction, nulls: NullOrdering) -> SortKey {
    SortKey { column, kind, direction, nulls }
}

fn all_keys() -> Vec<Vec<SortKey>> {
    vec![
        vec![],
        vec![key(0, Kind::Double, UP, LAST)],
        vec![key(0, Kind::Double, DOWN, LAST), key(1, Kind::Text, UP, FIRST)],
        vec![key(1, Kind::Char, DOWN, FIRST), key(0, Kind::Double, UP, FIRST)],
        vec![key(2, Kind::Number, DOWN, FIRST)],
    ]
}

/// The rows in the order of the keys, by a stable sort.
fn in_order(rows: &[Row], keys: &[SortKey]) -> Vec<Row> {
    let value = |row: &Row, key: &SortKey| match (key.kind, row[key.column].get()) {
        (Kind::Char, Value::Text(text)) => Value::Text(text.trim_end_matches(' ')).to_owned(),
        (_, value) => value.to_owned(),
    };
    let mut rows = rows.to_vec();
    rows.sort_by(|one, other| {
        let mut found = std::cmp::Ordering::Equal;
        for key in keys {
            let (a, b): (OwnedValue, OwnedValue) = (value(one, key), value(other, key));
            let nulls = match key.nulls {
                NullOrdering::First => b.get().is_null().cmp(&a.get().is_null()),
                NullOrdering::Last => a.get().is_null().cmp(&b.get().is_null()),
            };
            let values = a.get().compare(b.get()).unwrap_or(std::cmp::Ordering::Equal);
            let values = if key.direction == DOWN { values.reverse() } else { values };
            found = found.then(nulls).then(values);
        }
        found
    });
    rows
}

fn texts(rows: &[Row]) -> Vec<String> {
    rows.iter().map(shown).collect()
}

/// Rows come in the order of a stable sort, whatever their length and the memory.
#[test]
fn rows_come_in_the_order_of_a_stable_sort() {
    let sizes = [(0, 0), (1, 10), (500, 10), (3_000, 300), (60, 30_000), (40, 100_000)];
    for (seed, (count, filling)) in sizes.into_iter().enumerate() {
        run_clean(seed as u64, move |simulated, session| {
            let rows = rows(&mut Dice(seed as u64), count, 40, filling);
            for keys in all_keys() {
                let expected = texts(&in_order(&rows, &keys));
                for budget in BUDGETS {
                    let mut world = TestWorld::new(budget, simulated, session);
                    let mut sort = Sort::new(Given::new(WIDTH, &rows), keys.clone());
                    for _ in 0..2 {
                        let found = all(&mut sort, &mut world).expect("no fault");
                        assert!(texts(&found) == expected, "{count} rows, {keys:?}, {budget}");
                        assert_eq!(world.granted(), 0, "RS2");
                    }
                    let area = Source::<TestWorld<'static>>::work_area(&sort);
                    assert!(area.memory_bytes_max > 0 || count == 0);
                    assert!(count * filling as u64 <= 3 << 20 || area.temp_bytes > 0 || budget > 0);
                    sort.close(&mut world);
                }
            }
        });
    }
}

fn cut(offset: Option<i64>, count: Option<i64>) -> Cut {
    Cut { offset: offset.map(constant), count: count.map(constant) }
}

/// The first rows are those of the whole order, whether memory has room for them or not.
#[test]
fn the_first_rows_are_those_of_the_whole_order() {
    for (seed, (count, filling)) in [(0, 0), (400, 10), (3_000, 300)].into_iter().enumerate() {
        run_clean(seed as u64, move |simulated, session| {
            let rows = rows(&mut Dice(seed as u64), count, 40, filling);
            for keys in all_keys() {
                let expected = texts(&in_order(&rows, &keys));
                let cuts = [
                    (None, Some(0)),
                    (None, Some(1)),
                    (Some(3), Some(10)),
                    (Some(1), None),
                    (Some(300), Some(2_000)),
                    (Some(5_000), Some(5)),
                    (None, Some(120)),
                    (None, Some(count as i64 / 2 + 1)),
                    (None, Some((count as i64 - 1).max(0))),
                    (None, Some(count as i64)),
                    (None, Some(count as i64 + 1)),
                ];
                for (offset, first) in cuts {
                    let skipped = offset.unwrap_or(0) as usize;
                    let taken = first.map_or(usize::MAX, |first| first as usize);
                    let expected: Vec<_> = expected.iter().skip(skipped).take(taken).collect();
                    for budget in BUDGETS {
                        let mut world = TestWorld::new(budget, simulated, session);
                        let given = Given::new(WIDTH, &rows);
                        let sort = Sort::top(given, keys.clone(), cut(offset, first));
                        let mut limit = Limit::new(sort, cut(offset, first));
                        let found = texts(&all(&mut limit, &mut world).expect("no fault"));
                        assert!(found.iter().eq(expected.iter().copied()), "{offset:?} {first:?}");
                        limit.close(&mut world);
                        assert_eq!(world.granted(), 0);
                    }
                }
            }
        });
    }
}

/// Where memory has room for the wanted rows and for some others, rows are given up, and none goes
/// to a file.
#[test]
fn the_first_rows_need_no_file_where_memory_has_room_for_them() {
    run_clean(1, |simulated, session| {
        let rows = rows(&mut Dice(1), 3_000, 40, 300);
        // A grant has an eighth, 256 KiB: room for 400 rows, and not for 800.
        let mut world = TestWorld::new(2 << 20, simulated, session);
        let keys = vec![key(2, Kind::Whole, DOWN, LAST)];
        let mut sort = Sort::top(Given::new(WIDTH, &rows), keys, cut(None, Some(400)));
        let found = texts(&all(&mut sort, &mut world).expect("no fault"));
        assert!(found.into_iter().eq(rows.iter().rev().take(400).map(shown)));
        let area = Source::<TestWorld<'static>>::work_area(&sort);
        assert_eq!(area.temp_bytes, 0);
        assert!(area.memory_bytes_max <= 256 << 10, "{area:?}");
        sort.close(&mut world);
    });
}

/// WITH TIES gives as many rows as are asked for, and those that are equal to the last of them.
#[test]
fn rows_that_are_equal_to_the_last_one_come_too() {
    run_clean(1, |simulated, session| {
        let numbers = [1, 1, 2, 2, 2, 3, 3].map(|number| vec![Value::Int(number).to_owned()]);
        let mut rows: Vec<Row> = numbers.to_vec();
        rows.extend([vec![OwnedValue::NULL], vec![OwnedValue::NULL]]);
        let mut world = TestWorld::new(0, simulated, session);
        for (offset, count, expected) in [
            (None, Some(0), 0),
            (None, Some(1), 2),
            (None, Some(2), 2),
            (Some(1), Some(2), 4),
            (Some(5), Some(1), 2),
            (Some(6), Some(2), 3),
            (Some(20), Some(1), 0),
            (None, Some(50), 9),
            (Some(2), None, 7),
        ] {
            let mut ties = Ties::new(Given::new(1, &rows), cut(offset, count), vec![0]);
            for _ in 0..2 {
                let found = all(&mut ties, &mut world).expect("no fault");
                assert_eq!(found.len(), expected, "{offset:?} {count:?}");
            }
            ties.close(&mut world);
        }
        // Without columns all rows are equal.
        let mut ties = Ties::new(Given::new(1, &rows), cut(None, Some(1)), Vec::new());
        assert_eq!(all(&mut ties, &mut world).expect("no fault").len(), 9);
        ties.close(&mut world);
    });
}

/// A key that is too long is refused whatever the memory, and nothing is left.
#[test]
fn a_key_that_is_too_long_is_refused() {
    run_clean(1, |simulated, session| {
        let long = "k".repeat(20_000);
        let rows = vec![vec![Value::Text("short").to_owned()], vec![Value::Text(&long).to_owned()]];
        for budget in BUDGETS {
            let mut world = TestWorld::new(budget, simulated, session);
            let keys = vec![key(0, Kind::Text, UP, LAST)];
            let mut sort = Sort::new(Given::new(1, &rows), keys);
            let refused = all(&mut sort, &mut world).expect_err("too long");
            assert!(refused.to_string().starts_with("cannot sort by a key of"), "{refused}");
            sort.close(&mut world);
            assert_eq!(world.granted(), 0);
        }
    });
}

/// LIMIT and OFFSET are read at each start; a negative one is refused.
#[test]
fn limits_are_read_at_each_start() {
    run_clean(1, |simulated, session| {
        let rows = rows(&mut Dice(1), 2_500, 40, 0);
        let mut world = TestWorld::new(0, simulated, session);
        let slot = |slot| Some(Expression::Slot(slot));
        let mut limit =
            Limit::new(Given::new(WIDTH, &rows), Cut { offset: slot(0), count: slot(1) });
        for (offset, count) in [(0, 2_500), (0, 1), (2_499, 5), (1_500, 700), (9_000, 1), (5, 0)] {
            for (slot, value) in [(0, offset), (1, count)] {
                rowsource::World::set_slot(&mut world, slot, Value::Int(value).to_owned());
            }
            let found = texts(&all(&mut limit, &mut world).expect("no fault"));
            let expected = rows.iter().skip(offset as usize).take(count as usize).map(shown);
            assert!(found.into_iter().eq(expected), "{offset} {count}");
        }
        rowsource::World::set_slot(&mut world, 1, OwnedValue::NULL);
        assert_eq!(all(&mut limit, &mut world).expect("no fault").len(), 2_495);
        for slot in [1, 0] {
            rowsource::World::set_slot(&mut world, slot, Value::Int(-1).to_owned());
            let refused = all(&mut limit, &mut world).expect_err("negative");
            assert!(refused.to_string().contains("must not be negative"), "{refused}");
            limit.close(&mut world);
        }
    });
}

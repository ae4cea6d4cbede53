//! EXPLAIN ANALYZE in the simulator, whose clocks are exact.

use database::{Connection, OwnedValue, Value};
use sim::Perturbation;

use crate::simulated::{made, racing_as};

/// The lines of a statement's one column.
fn lines(connection: &mut Connection<'_>, text: &str) -> Vec<String> {
    let found = connection.query(text, &[]).expect("run");
    let line = |row: Vec<OwnedValue>| match row[0].get() {
        Value::Text(line) => line.to_string(),
        other => panic!("{other:?} is no line"),
    };
    found.map(|row| line(row.expect("read"))).collect()
}

/// The nanoseconds of the line with this name.
fn ns(lines: &[String], name: &str) -> i64 {
    let line = lines.iter().find(|line| line.trim_start().starts_with(name));
    let line = line.unwrap_or_else(|| panic!("no {name} in {lines:#?}"));
    let mut words = line.split_whitespace().rev().skip_while(|word| *word != "ms");
    words.nth(1).expect("a number before ms").replace('.', "").parse().expect("a number")
}

/// Rule sql/SQ70: each nanosecond of a query and of a change, its commit included, has a name.
#[test]
fn nothing_of_a_measured_statement_is_without_a_name() {
    let disk = made(|database, session| {
        let mut connection = database.connect_with(session);
        let create = "create table note (id bigint primary key, part bigint)";
        connection.execute(create, &[]).expect("created");
        let fill = "insert into note select n, n % 7 from generate_series(1, 300) as g(n)";
        connection.execute(fill, &[]).expect("filled");
    });
    for seed in 0..5 {
        racing_as(Perturbation::RACES, seed, disk.clone(), |database, session| {
            let mut connection = database.connect_with(session);
            for text in [
                "explain analyze select part, count(*) from note group by part order by part",
                "explain analyze update note set part = part + 1 where id > 100",
            ] {
                let lines = lines(&mut connection, text);
                assert_eq!(ns(&lines, "unaccounted"), 0, "{lines:#?}");
                assert!(ns(&lines, "elapsed") > 0, "{lines:#?}");
            }
        });
    }
}

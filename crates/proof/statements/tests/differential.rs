//! Forebay against SQLite, in a short form (rules RA5, RA6, RA10).
#![forbid(unsafe_code)]

use statements::answer::{Answer, Cell};
use statements::bed::{Lie, lose_last_row};
use statements::differential::{Compared, Differential};
use statements::generate::Rival;
use statements::rivals::Sqlite;

/// The seeds of the short form, and the cases that share a database.
const SEEDS: u64 = 200;
const BATCH: usize = 20;

fn against_sqlite(seeds: std::ops::Range<u64>, lie: Option<Lie>) -> Compared {
    let mut sqlite = Sqlite::new().expect("it opens");
    let mut differential = Differential { against: Rival::Sqlite, program: &mut sqlite, lie };
    differential.run(seeds).expect("SQLite runs in this process")
}

/// The statements of some seeds give what they give on SQLite.
#[test]
fn forebay_answers_as_sqlite_does() {
    let mut compared = Compared::default();
    for first in (0..SEEDS).step_by(BATCH) {
        compared += against_sqlite(first..first + BATCH as u64, None);
    }
    println!("{compared}");
    let differences: Vec<String> = compared.differences.iter().map(ToString::to_string).collect();
    assert!(differences.is_empty(), "{compared}\n{}", differences.join("\n\n"));
    assert_eq!(compared.cases, SEEDS);
    assert!(compared.statements > 20 * SEEDS, "{compared}");
    assert!(compared.rows > compared.statements, "{compared}");
    // Some are refused, but far from all: most of what is drawn is accepted.
    assert!(compared.refused > 0 && compared.refused < compared.statements / 4, "{compared}");
}

/// Adds one to a number, of a query alone.
fn one_more(text: &str, answer: &mut Answer) -> bool {
    let Answer::Rows(rows) = answer else { return false };
    let mut cells = rows.iter_mut().flatten();
    text.starts_with("SELECT")
        && cells.any(|cell| match cell {
            Cell::Number(number) => {
                *cell = Cell::Double(number.to_f64() + 1.0);
                true
            }
            _ => false,
        })
}

/// An engine that counts a change wrongly.
fn miscount(text: &str, answer: &mut Answer) -> bool {
    match answer {
        Answer::Done(count) if text.starts_with("delete") => {
            *count += 1;
            true
        }
        _ => false,
    }
}

/// RA10: whatever is wrong is found, and what shows it is small.
#[test]
fn a_lie_is_found_and_made_small() {
    let lies: [fn(&str, &mut Answer) -> bool; 3] = [lose_last_row, one_more, miscount];
    for alter in lies {
        let lie = Lie { alter, behind: None };
        let found = (0..20).find_map(|seed| {
            let compared = against_sqlite(seed..seed + 1, Some(lie));
            compared.differences.into_iter().next()
        });
        let found = found.expect("20 cases have such a statement");
        assert!(found.script.lines().count() <= 12, "{found}");
        assert!(found.what.contains("ours:") && found.what.contains("theirs:"), "{found}");
    }
}

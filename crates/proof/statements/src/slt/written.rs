//! Values as SQLite's corpus writes them, by the letter that it expects for their column.
//!
//! | letter | form |
//! |---|---|
//! | I | a whole number: digits behind the point are cut off; leading digits of a text; true is 1 |
//! | R | three digits behind the point |
//! | T | the text; `(empty)` if it is; each character that can't be printed is `@` |
//! | any | NULL is `NULL` |
//!
//! Callers: `player`.
//! Source: `slt_sqlite.c` of sqllogictest.

use crate::answer::Cell;

/// A value in the form of this letter.
pub(super) fn written(cell: &Cell, letter: char) -> String {
    match (letter, cell) {
        (_, Cell::Null) => "NULL".into(),
        ('I', cell) => whole(cell).to_string(),
        ('R', cell) => real(cell),
        (_, Cell::Truth(is)) => u8::from(*is).to_string(),
        (_, Cell::Text(text)) if text.is_empty() => "(empty)".into(),
        (_, Cell::Text(text)) => text.chars().map(printable).collect(),
        // SQLite shows a point in every floating-point number.
        (_, Cell::Double(double)) if double.fract() == 0.0 => format!("{double:.1}"),
        (_, cell) => cell.to_string(),
    }
}

fn printable(c: char) -> char {
    if (' '..='~').contains(&c) { c } else { '@' }
}

fn whole(cell: &Cell) -> i64 {
    match cell {
        Cell::Null => 0,
        Cell::Truth(is) => i64::from(*is),
        Cell::Number(number) => number.truncate(0).to_i64().unwrap_or(i64::MAX),
        Cell::Double(double) => *double as i64,
        Cell::Text(text) => {
            let text = text.trim_start();
            let sign = usize::from(text.starts_with(['-', '+']));
            let digits = text[sign..].bytes().take_while(u8::is_ascii_digit).count();
            text[..sign + digits].parse().unwrap_or(0)
        }
    }
}

fn real(cell: &Cell) -> String {
    let double = match cell {
        Cell::Null => 0.0,
        Cell::Truth(is) => f64::from(u8::from(*is)),
        Cell::Number(number) => number.to_f64(),
        Cell::Double(double) => *double,
        Cell::Text(text) => text.trim().parse().unwrap_or(0.0),
    };
    let shown = format!("{double:.3}");
    if shown == "-0.000" { "0.000".into() } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Cell {
        Cell::Number(text.parse().expect("a number"))
    }

    #[test]
    fn a_letter_says_how_a_value_is_written() {
        for (cell, letter, expected) in [
            (number("-7"), 'I', "-7"),
            (number("7.9"), 'I', "7"),
            (number("-7.9"), 'I', "-7"),
            (Cell::Double(-2.5), 'I', "-2"),
            (Cell::Truth(true), 'I', "1"),
            (Cell::Text("12ab".into()), 'I', "12"),
            (Cell::Text("true".into()), 'I', "0"),
            (number("1.25"), 'R', "1.250"),
            (Cell::Double(-0.0), 'R', "0.000"),
            (number("2"), 'R', "2.000"),
            (Cell::Text(String::new()), 'T', "(empty)"),
            (Cell::Text("a\tb\u{e9}".into()), 'T', "a@b@"),
            (number("42"), 'T', "42"),
            (Cell::Double(3.0), 'T', "3.0"),
            (Cell::Null, 'R', "NULL"),
        ] {
            assert_eq!(written(&cell, letter), expected, "{cell:?} as {letter}");
        }
    }
}

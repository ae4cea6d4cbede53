//! One value a line, for rows that are wider than the terminal.
//!
//! ```text
//!   -[ RECORD 1 ]------
//!    id   | 1
//!    name | a long value.     `.`: the value goes on below; `+`: it has a line's end here
//!         | that goes on
//! ```
//!
//! Callers: `render`.

use super::aligned::NULL;
use super::backend::{Column, Row};
use super::display::Display;
use super::render::{Ended, Out, Rows, count_line, put};
use super::width::{padded, pieces, visible, width};

/// The narrowest place for values.
const NARROWEST: usize = 10;

/// Shows rows, and gives their number.
pub(crate) fn show(
    columns: &[Column],
    rows: &mut Rows<'_>,
    display: &Display,
    limit: Option<usize>,
    out: &mut Out<'_>,
) -> Result<u64, Ended> {
    let names: Vec<String> = columns.iter().map(|column| visible(&column.name)).collect();
    let widest = names.iter().map(|name| width(name)).max().unwrap_or(0);
    // A blank, the name, what stands between, the mark.
    let room = limit.map(|limit| limit.saturating_sub(widest + 5).max(NARROWEST));
    let mut count = 0;
    for row in rows {
        let row = row?;
        count += 1;
        if !display.no_header {
            put(out, &rule(count, limit))?;
        } else if count > 1 {
            put(out, "\n")?;
        }
        put(out, &record(&names, &row, widest, room))?;
    }
    if count == 0 && !display.no_header {
        put(out, &count_line(0))?;
    }
    Ok(count)
}

/// The line above a record.
fn rule(number: u64, limit: Option<usize>) -> String {
    const LENGTH: usize = 40;
    let text = format!("-[ RECORD {number} ]");
    let length = limit.map_or(LENGTH, |limit| limit.min(LENGTH));
    format!("{text}{}\n", "-".repeat(length.saturating_sub(text.len())))
}

fn record(names: &[String], row: &Row, widest: usize, room: Option<usize>) -> String {
    let mut text = String::new();
    for (name, value) in names.iter().zip(row) {
        let pieces = pieces(value.as_deref().unwrap_or(NULL), room);
        // The marks of a value stand under one another.
        let wide = pieces.iter().map(|piece| width(&piece.text)).max().unwrap_or(0);
        for (at, piece) in pieces.iter().enumerate() {
            let label = if at == 0 { name.as_str() } else { "" };
            let value = padded(&piece.text, wide, false);
            let line = format!(" {} | {value}{}", padded(label, widest, false), piece.mark);
            text.push_str(line.trim_end());
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::display::Expanded;
    use super::super::render::testing::shown;
    use super::*;

    fn display() -> Display {
        Display { expanded: Expanded::On, ..Display::default() }
    }

    #[test]
    fn each_value_has_its_line() {
        let rows: [&[&str]; 2] = [&["1", "a\nb"], &["2", "NULL"]];
        let expected = "\
-[ RECORD 1 ]---------------------------
 id   | 1
 name | a+
      | b
-[ RECORD 2 ]---------------------------
 id   | 2
 name | NULL
";
        assert_eq!(shown(&["id#", "name"], &rows, &display(), None), expected);
        assert_eq!(shown(&["id"], &[], &display(), None), "(0 rows)\n");
    }

    #[test]
    fn long_values_are_broken() {
        let long = "word ".repeat(50);
        let text = shown(&["a", "bcd"], &[&[&long, "x"]], &display(), Some(40));
        assert!(text.lines().all(|line| width(line) <= 40), "{text}");
        assert!(text.lines().count() > 7);
        let first = text.lines().nth(1).expect("a value");
        assert!(first.starts_with(" a   | word") && first.ends_with('.'), "{text}");
    }

    #[test]
    fn without_a_header_records_have_a_line_between_them() {
        let display = Display { no_header: true, ..display() };
        assert_eq!(shown(&["a"], &[&["1"], &["2"]], &display, None), " a | 1\n\n a | 2\n");
    }
}

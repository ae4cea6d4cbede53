//! Rows as text: aligned, one value a line, csv, json, markdown, unaligned.
//!
//! ```text
//!   rows ─▶ the first thousand decide the widths ─▶ header, rows, the rest as they come ─▶ out
//! ```
//!
//! Rows are never held in memory together: a form that needs widths takes them from the first rows,
//! and what is wider later is broken.
//!
//! Callers: `shell`.

use super::aligned::{self, Table};
use super::backend::{Column, Failure, Row};
use super::display::{Display, Expanded, Format};
use super::{expanded, machine};

/// How many rows decide the widths of columns.
const ROWS_LOOKED_AT: usize = 1_000;

/// Rows as they come.
pub(crate) type Rows<'r> = dyn Iterator<Item = Result<Row, Failure>> + 'r;

/// Why rows weren't shown to their end.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Ended {
    /// The statement failed.
    Failed(Failure),
    /// The reader wants no more, or can't be written to.
    Unread,
}

impl From<Failure> for Ended {
    fn from(failure: Failure) -> Ended {
        Ended::Failed(failure)
    }
}

/// Where text goes: false if it wants no more.
pub(crate) type Out<'o> = dyn FnMut(&str) -> bool + 'o;

/// Shows all rows, and gives their number.
pub(crate) fn render(
    columns: &[Column],
    rows: &mut Rows<'_>,
    display: &Display,
    limit: Option<usize>,
    out: &mut Out<'_>,
) -> Result<u64, Ended> {
    match display.format {
        Format::Aligned => for_people(columns, rows, display, limit, out),
        Format::Csv => machine::csv(columns, rows, display, out),
        Format::Json => machine::json(columns, rows, out),
        Format::Markdown => machine::markdown(columns, rows, display, out),
        Format::Unaligned => machine::unaligned(columns, rows, display, out),
    }
}

/// Columns beside one another or under one another. `limit` is how many columns a line may have.
fn for_people(
    columns: &[Column],
    rows: &mut Rows<'_>,
    display: &Display,
    limit: Option<usize>,
    out: &mut Out<'_>,
) -> Result<u64, Ended> {
    let mut first = Vec::new();
    let mut failed = None;
    for row in (&mut *rows).take(ROWS_LOOKED_AT) {
        match row {
            Ok(row) => first.push(row),
            Err(failure) => {
                failed = Some(failure);
                break;
            }
        }
    }
    let table = Table::measured(columns, &first, limit);
    let is_expanded = match display.expanded {
        Expanded::On => true,
        Expanded::Off => false,
        Expanded::Auto => !table.fits,
    };
    let left = if failed.is_some() { 0 } else { usize::MAX };
    let mut all = first.into_iter().map(Ok).chain(rows.take(left));
    let shown = match is_expanded {
        true => expanded::show(columns, &mut all, display, limit, out),
        false => aligned::show(&table, &mut all, display, out),
    };
    match (shown, failed) {
        (Ok(_), Some(failure)) => Err(Ended::Failed(failure)),
        (shown, _) => shown,
    }
}

/// Gives a line to `out`.
pub(crate) fn put(out: &mut Out<'_>, text: &str) -> Result<(), Ended> {
    match out(text) {
        true => Ok(()),
        false => Err(Ended::Unread),
    }
}

/// "(3 rows)".
pub(crate) fn count_line(rows: u64) -> String {
    match rows {
        1 => "(1 row)\n".into(),
        rows => format!("({rows} rows)\n"),
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    /// Columns by their names; a name that ends with `#` is one of numbers.
    pub(crate) fn columns(names: &[&str]) -> Vec<Column> {
        let column = |name: &&str| Column {
            name: name.trim_end_matches('#').into(),
            kind: if name.ends_with('#') { "integer".into() } else { "text".into() },
            right_aligned: name.ends_with('#'),
        };
        names.iter().map(column).collect()
    }

    /// What is shown of rows, where `NULL` is NULL.
    pub(crate) fn shown(
        names: &[&str],
        rows: &[&[&str]],
        display: &Display,
        limit: Option<usize>,
    ) -> String {
        let value = |value: &&str| (*value != "NULL").then(|| value.to_string());
        let mut rows = rows.iter().map(|row| Ok(row.iter().map(value).collect()));
        let mut text = String::new();
        let mut out = |line: &str| {
            text.push_str(line);
            true
        };
        render(&columns(names), &mut rows, display, limit, &mut out).expect("no failure");
        text
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{columns, shown};
    use super::*;

    #[test]
    fn rows_that_dont_fit_are_shown_one_value_a_line_if_that_is_left_to_the_shell() {
        let names = ["a", "b", "c", "d"];
        let wide = "x".repeat(40);
        let rows: [&[&str]; 1] = [&[&wide, &wide, &wide, &wide]];
        let text = |expanded, limit| {
            shown(&names, &rows, &Display { expanded, ..Display::default() }, limit)
        };
        assert!(text(Expanded::Auto, Some(30)).contains("RECORD 1"));
        assert!(!text(Expanded::Auto, Some(80)).contains("RECORD 1"));
        assert!(!text(Expanded::Auto, None).contains("RECORD 1"));
        assert!(!text(Expanded::Off, Some(30)).contains("RECORD 1"));
        assert!(text(Expanded::On, None).contains("RECORD 1"));
    }

    #[test]
    fn a_failure_comes_behind_the_rows_before_it() {
        let failure = Failure { message: "no".into(), ..Failure::default() };
        let row = |n: &str| Ok(vec![Some(n.to_string())]);
        for many in [1, ROWS_LOOKED_AT + 5] {
            let fails = std::iter::once(Err(failure.clone()));
            let mut rows = (0..many).map(|n| row(&n.to_string())).chain(fails);
            let mut lines = 0;
            let mut out = |_: &str| {
                lines += 1;
                true
            };
            let display = Display { no_header: true, ..Display::default() };
            let ended = render(&columns(&["n#"]), &mut rows, &display, None, &mut out);
            assert_eq!(ended, Err(Ended::Failed(failure.clone())));
            assert_eq!(lines, many);
        }
    }

    #[test]
    fn a_reader_that_has_left_is_asked_no_more() {
        let mut asked = 0;
        let mut rows = std::iter::repeat_with(|| {
            asked += 1;
            Ok(vec![None])
        });
        let display = Display { format: Format::Csv, ..Display::default() };
        let ended = render(&columns(&["a"]), &mut rows, &display, None, &mut |_| false);
        assert_eq!(ended, Err(Ended::Unread));
        assert!(asked <= 1);
    }
}

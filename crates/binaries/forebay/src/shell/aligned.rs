//! Columns beside one another, as a person reads them.
//!
//! ```text
//!    id | name
//!   ----+------------
//!     1 | a long val.      `.`: the value goes on below; `+`: it has a line's end here
//!       | ue
//!   (1 row)
//! ```
//!
//! Where a line is too long for the terminal, the widest columns of texts become narrower and their
//! values are broken. Numbers aren't broken, and nothing is where no terminal looks at it: a value
//! that is wider than its column moves the rest of its line.
//!
//! Callers: `render`.
//! Sources: PostgreSQL's psql, for the form and its marks.

use super::backend::{Column, Row};
use super::display::Display;
use super::render::{Ended, Out, Rows, count_line, put};
use super::width::{Piece, lines, padded, pieces, width};

/// The narrowest column that a wide text is broken into.
const NARROWEST: usize = 12;
/// Blank, bar, blank.
const BETWEEN: usize = 3;
/// How NULL is shown.
pub(crate) const NULL: &str = "NULL";

/// Columns with their widths.
pub(crate) struct Table {
    columns: Vec<Measured>,
    /// Whether a text that is wider than its column is broken.
    breaks: bool,
    /// Whether a line has room for the columns, broken if need be.
    pub(crate) fits: bool,
}

/// A column with its width.
struct Measured {
    name: String,
    right_aligned: bool,
    width: usize,
}

impl Table {
    /// Widths for these rows, and for lines of so many columns of the terminal.
    pub(crate) fn measured(columns: &[Column], rows: &[Row], limit: Option<usize>) -> Table {
        let mut measured: Vec<Measured> = columns.iter().map(Measured::of).collect();
        for row in rows {
            for (column, value) in measured.iter_mut().zip(row) {
                let lines = lines(value.as_deref().unwrap_or(NULL));
                let widest = lines.iter().map(|line| width(line)).max();
                column.width = column.width.max(widest.unwrap_or(0));
            }
        }
        let mut table = Table { columns: measured, breaks: limit.is_some(), fits: true };
        if let Some(limit) = limit {
            table.fits = table.narrow(limit);
        }
        table
    }

    /// How many columns of the terminal a line takes. A blank stands at either end.
    fn line_width(&self) -> usize {
        let widths: usize = self.columns.iter().map(|column| column.width).sum();
        widths + BETWEEN * self.columns.len().saturating_sub(1) + 2
    }

    /// Makes texts narrower until a line fits; false, and nothing done, if that isn't possible.
    fn narrow(&mut self, limit: usize) -> bool {
        let narrowest = |column: &Measured| match column.right_aligned {
            true => column.width,
            false => column.width.min(NARROWEST.max(width(&column.name))),
        };
        let before: Vec<usize> = self.columns.iter().map(|column| column.width).collect();
        for column in self.columns.iter_mut().filter(|column| !column.right_aligned) {
            column.width = column.width.min(limit);
        }
        while self.line_width() > limit {
            let wider = self.columns.iter_mut().filter(|column| narrowest(column) < column.width);
            match wider.max_by_key(|column| column.width) {
                Some(widest) => widest.width -= 1,
                None => {
                    let widths = self.columns.iter_mut().zip(before);
                    widths.for_each(|(column, width)| column.width = width);
                    return false;
                }
            }
        }
        true
    }

    fn header(&self) -> String {
        let names = self.columns.iter().map(|column| {
            format!(" {} ", padded(&column.name, column.width, column.right_aligned))
        });
        let line = names.collect::<Vec<_>>().join("|");
        let dashes = self.columns.iter().map(|column| "-".repeat(column.width + 2));
        format!("{}\n{}\n", line.trim_end(), dashes.collect::<Vec<_>>().join("+"))
    }

    /// The lines of a row.
    fn row(&self, row: &Row) -> String {
        let of_cell = |(column, value): (&Measured, &Option<String>)| {
            let breaks = self.breaks && !column.right_aligned;
            pieces(value.as_deref().unwrap_or(NULL), breaks.then_some(column.width))
        };
        let cells: Vec<Vec<Piece>> = self.columns.iter().zip(row).map(of_cell).collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(1);
        let mut text = String::new();
        for at in 0..height {
            let mut line = String::new();
            for (number, (column, pieces)) in self.columns.iter().zip(&cells).enumerate() {
                if number > 0 {
                    line.push('|');
                }
                let empty = Piece { text: String::new(), mark: ' ' };
                let piece = pieces.get(at).unwrap_or(&empty);
                line.push(' ');
                line.push_str(&padded(&piece.text, column.width, column.right_aligned));
                line.push(piece.mark);
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

impl Measured {
    fn of(column: &Column) -> Measured {
        let name = super::width::visible(&column.name);
        let width = width(&name);
        Measured { name, right_aligned: column.right_aligned, width }
    }
}

/// Shows rows, and gives their number.
pub(crate) fn show(
    table: &Table,
    rows: &mut Rows<'_>,
    display: &Display,
    out: &mut Out<'_>,
) -> Result<u64, Ended> {
    if !display.no_header && !table.columns.is_empty() {
        put(out, &table.header())?;
    }
    let mut count = 0;
    for row in rows {
        put(out, &table.row(&row?))?;
        count += 1;
    }
    if !display.no_header {
        put(out, &count_line(count))?;
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::super::render::testing::shown;
    use super::*;

    fn text(names: &[&str], rows: &[&[&str]], limit: Option<usize>) -> String {
        shown(names, rows, &Display::default(), limit)
    }

    #[test]
    fn numbers_stand_right_and_texts_left() {
        let rows: [&[&str]; 2] = [&["1", "a", "NULL"], &["22", "日本", ""]];
        let expected = " id | name | b
----+------+------
  1 | a    | NULL
 22 | 日本 |
(2 rows)
";
        assert_eq!(text(&["id#", "name", "b"], &rows, None), expected);
    }

    #[test]
    fn wide_texts_are_broken_with_a_mark() {
        let rows: [&[&str]; 1] = [&["7", "the quick brown fox jumps"]];
        let expected = " n | t
---+---------------
 7 | the quick    .
   | brown fox    .
   | jumps
(1 row)
";
        assert_eq!(text(&["n#", "t"], &rows, Some(19)), expected);
    }

    #[test]
    fn ends_of_lines_have_a_mark() {
        let rows: [&[&str]; 1] = [&["a\nbc\n", "x"]];
        assert_eq!(
            text(&["v", "w"], &rows, None),
            " v  | w\n----+---\n a +| x\n bc+|\n    |\n(1 row)\n"
        );
    }

    /// The first rows decide the widths. What is wider behind them is shown whole if it is a
    /// number, or if no terminal looks at it.
    #[test]
    fn a_later_number_is_never_broken_and_a_later_text_only_for_a_terminal() {
        let (few, wide): (&[&str], &[&str]) = (&["7", "ab"], &["123456", "abcdef"]);
        let mut rows = vec![few; 1_000];
        rows.push(wide);
        let of_last = |limit| {
            let text = text(&["n#", "t"], &rows, limit);
            text.lines().skip(1_002).map(str::to_owned).collect::<Vec<String>>()
        };
        assert_eq!(of_last(None), [" 123456 | abcdef", "(1001 rows)"]);
        assert_eq!(of_last(Some(80)), [" 123456 | ab.", "   | cd.", "   | ef", "(1001 rows)"]);
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let wide = "lorem ipsum ".repeat(20);
        let rows: [&[&str]; 1] = [&["1", &wide, &wide, "short"]];
        for limit in [60, 80, 132] {
            let text = text(&["a#", "b", "c", "d"], &rows, Some(limit));
            assert!(text.lines().all(|line| width(line) <= limit), "{text}");
        }
    }

    #[test]
    fn without_a_header_there_are_only_rows() {
        let display = Display { no_header: true, ..Display::default() };
        assert_eq!(shown(&["a"], &[&["x"]], &display, None), " x\n");
    }
}

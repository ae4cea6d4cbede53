//! Tables of figures in 80 columns (rule RP2).
//!
//! ```text
//!                       A        B     B - A      row
//!   CPU             250.0    260.0    +10.0      row: the name to the left, figures to the right
//!                   -----    -----   ------      rule
//!   elapsed       1,000.0    600.0   -400.0
//! ```

use crate::text::COLUMNS;

/// The widest gap between two columns.
const GAP_MAX: usize = 3;

/// A table of rows: the first column is aligned to the left, the others to the right.
#[derive(Default)]
pub struct Table {
    rows: Vec<Row>,
}

enum Row {
    Cells(Vec<String>),
    Rule { figures: usize },
}

impl Table {
    /// Adds a row. All rows have the same number of cells.
    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(Row::Cells(cells.into_iter().map(Into::into).collect()));
    }

    /// Adds a line of dashes in the first `figures` columns after the names; their sums follow.
    pub fn rule(&mut self, figures: usize) {
        self.rows.push(Row::Rule { figures });
    }

    /// The table, indented by two. Columns stand up to three blanks apart, closer in a wide table.
    pub fn text(&self) -> String {
        let widths = self.widths();
        let bare = 2 + widths.iter().sum::<usize>();
        let gaps = widths.len().saturating_sub(1).max(1);
        let gap = (COLUMNS.saturating_sub(bare) / gaps).clamp(1, GAP_MAX);
        let mut text = String::new();
        for row in &self.rows {
            let line = match row {
                Row::Cells(cells) => line(cells, &widths, gap),
                Row::Rule { figures } => line(&dashes(&widths, *figures), &widths, gap),
            };
            text += line.trim_end();
            text.push('\n');
        }
        text
    }

    fn widths(&self) -> Vec<usize> {
        let mut widths = Vec::new();
        for row in &self.rows {
            let Row::Cells(cells) = row else { continue };
            widths.resize(widths.len().max(cells.len()), 0);
            for (width, cell) in widths.iter_mut().zip(cells) {
                *width = (*width).max(cell.chars().count());
            }
        }
        widths
    }
}

fn dashes(widths: &[usize], figures: usize) -> Vec<String> {
    let dashes = |(index, width): (usize, &usize)| {
        if (1..=figures).contains(&index) { "-".repeat(*width) } else { String::new() }
    };
    widths.iter().enumerate().map(dashes).collect()
}

fn line(cells: &[String], widths: &[usize], gap: usize) -> String {
    let mut line = String::from("  ");
    for (index, (cell, &width)) in cells.iter().zip(widths).enumerate() {
        if index == 0 {
            line += &format!("{cell:<width$}");
        } else {
            line += &format!("{:gap$}{cell:>width$}", "");
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_a_rule_stands_under_figures_only() {
        let mut table = Table::default();
        table.row(["", "A", "B"]);
        table.row(["CPU", "1,234.5", "7.0"]);
        table.rule(2);
        table.row(["elapsed", "1,234.5", "7.0"]);
        let expected = "                  A     B\n\
                        \x20 CPU       1,234.5   7.0\n\
                        \x20           -------   ---\n\
                        \x20 elapsed   1,234.5   7.0\n";
        assert_eq!(table.text(), expected);
    }

    #[test]
    fn a_wide_table_moves_its_columns_closer() {
        let mut table = Table::default();
        table.row(["x".repeat(40), "1".repeat(12), "2".repeat(12), "3".repeat(9)]);
        assert_eq!(table.text().trim_end().len(), 78);
    }
}

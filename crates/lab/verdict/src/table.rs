//! Text in 80 columns: aligned tables, and paragraphs beside a label (rule V7).
//!
//! Callers: every section.

/// The width that everything keeps to.
pub(crate) const COLUMNS: usize = 80;

/// The widest gap between two columns.
const GAP_MAX: usize = 3;

/// Rows of cells: the first column to the left, the others to the right.
#[derive(Default)]
pub(crate) struct Table {
    rows: Vec<Row>,
}

enum Row {
    Cells(Vec<String>),
    Rule { figures: usize },
}

impl Table {
    /// Adds a row; all have the same number of cells.
    pub(crate) fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(Row::Cells(cells.into_iter().map(Into::into).collect()));
    }

    /// Adds a line under the first `figures` columns after the names, before their sums.
    pub(crate) fn rule(&mut self, figures: usize) {
        self.rows.push(Row::Rule { figures });
    }

    /// The table, indented by two; columns stand as far apart as there is room.
    pub(crate) fn text(&self) -> String {
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
                *width = (*width).max(cell.len());
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

/// A label, and beside it a paragraph.
pub(crate) fn labelled(label: &str, paragraph: &str) -> String {
    const LABEL_COLUMNS: usize = 18;
    let mut text = String::new();
    for (index, line) in wrapped(paragraph, COLUMNS - LABEL_COLUMNS - 2).iter().enumerate() {
        let label = if index == 0 { label } else { "" };
        text += &format!("  {label:<LABEL_COLUMNS$}{line}\n");
    }
    text
}

/// A paragraph, indented by two.
pub(crate) fn paragraph(paragraph: &str) -> String {
    wrapped(paragraph, COLUMNS - 2).iter().map(|line| format!("  {line}\n")).collect()
}

/// Lines of `width` at most, broken at blanks; a longer word stands alone.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    // A number and its per cent sign stay together.
    let text = text.replace(" %", "\u{1}%");
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is always a line");
        if line.is_empty() {
            line.push_str(word);
        } else if line.len() + 1 + word.len() <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines.into_iter().map(|line| line.replace('\u{1}', " ")).collect()
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

    #[test]
    fn a_number_and_its_per_cent_sign_stay_together() {
        assert_eq!(wrapped("about 2.2 % more", 10), ["about", "2.2 % more"]);
        assert_eq!(wrapped("about 2.2 % more", 9), ["about", "2.2 %", "more"]);
    }

    #[test]
    fn a_paragraph_is_broken_at_blanks_and_hangs_beside_its_label() {
        let text = labelled("Is it real?", &"many words ".repeat(12));
        assert!(text.lines().all(|line| line.len() <= COLUMNS));
        let mut lines = text.lines();
        assert!(lines.next().is_some_and(|line| line.starts_with("  Is it real?       many")));
        assert!(lines.next().is_some_and(|line| line.starts_with("                    ")));
    }
}

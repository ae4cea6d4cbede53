//! A table: names to the left, figures to the right, a caption above.

use maud::{Markup, html};

/// A table, as it is put together. Cells are text that the caller has rounded.
pub struct Table {
    caption: String,
    heads: Vec<String>,
    texts: Vec<usize>,
    rows: Vec<Row>,
}

struct Row {
    cells: Vec<String>,
    is_total: bool,
}

impl Table {
    /// A table with these heads of columns, and no rows yet. The caption may be empty.
    pub fn new<S: Into<String>>(
        caption: impl Into<String>,
        heads: impl IntoIterator<Item = S>,
    ) -> Table {
        let heads = heads.into_iter().map(Into::into).collect();
        Table { caption: caption.into(), heads, texts: vec![0], rows: Vec::new() }
    }

    /// Aligns a column to the left, as the first one (0) is: it holds text. Others hold figures.
    pub fn text_column(mut self, column: usize) -> Table {
        self.texts.push(column);
        self
    }

    /// Adds a row.
    ///
    /// Panics if it hasn't as many cells as there are heads.
    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.add(cells.into_iter().map(Into::into).collect(), false);
    }

    /// Adds a row of sums, with a rule above it.
    ///
    /// Panics if it hasn't as many cells as there are heads.
    pub fn total<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.add(cells.into_iter().map(Into::into).collect(), true);
    }

    fn add(&mut self, cells: Vec<String>, is_total: bool) {
        let (cells_n, heads_n) = (cells.len(), self.heads.len());
        assert!(cells_n == heads_n, "a row of {cells_n} cells in a table of {heads_n}: {cells:?}");
        self.rows.push(Row { cells, is_total });
    }

    fn class(&self, column: usize) -> Option<&'static str> {
        self.texts.contains(&column).then_some("name")
    }

    pub(crate) fn markup(&self) -> Markup {
        html! {
            div.scroll tabindex="0" {
                table {
                    @if !self.caption.is_empty() { caption { (self.caption) } }
                    thead {
                        tr {
                            @for (column, head) in self.heads.iter().enumerate() {
                                th scope="col" class=[self.class(column)] { (head) }
                            }
                        }
                    }
                    tbody {
                        @for row in &self.rows {
                            "\n"
                            tr class=[row.is_total.then_some("total")] {
                                @for (column, cell) in row.cells.iter().enumerate() {
                                    @if column == 0 {
                                        th scope="row" class="name" { (cell) }
                                    } @else {
                                        td class=[self.class(column)] { (cell) }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

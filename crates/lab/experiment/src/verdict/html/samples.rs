//! The runs as samples, and what became of priority.
//!
//! Callers: `html`.

use page::{Page, Table};

use crate::verdict::Verdict;
use crate::verdict::samples::{CAUTION, TITLE};

pub(super) fn write(of: &Verdict, page: &mut Page) {
    let (b, diagnosis) = (of.level, of.diagnosis());
    if let Some(samples) = &of.samples {
        let section = page.section(TITLE);
        let caption = "Transactions a second of each run. W and p are those of Shapiro and Wilk: \
                       under 0.05 the runs aren't normal.";
        let mut table = Table::new(caption, samples.heads());
        for (name, cells) in samples.rows(b) {
            table.row(std::iter::once(name).chain(cells));
        }
        section.table(table).definitions(samples.lines(b)).paragraph(CAUTION);
    }
    if let Some(diagnosis) = diagnosis {
        page.section("Did priority have anything to give?").paragraph(diagnosis);
    }
}

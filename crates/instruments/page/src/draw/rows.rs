//! A chart of rows: a name, something drawn along one axis, a figure in text.
//!
//! ```text
//!   wide                                   narrow
//!     name   ──|────●──|──      +0.9 %       name          +0.9 %
//!     name     |  ──●──|──      +1.2 %       ──|────●──|─────────
//! ```

use super::scale::Scale;
use super::sheet::{Drawn, Frame, Label, Plane, Sheet, Width};
use super::words;

/// The height of a name's line.
const LINE: i32 = 165;
/// Space between rows.
const GAP: i32 = 110;
/// The labels and the title of the axis below.
const AXIS_HEIGHT: i32 = 430;
/// The widest column of names.
const NAMES_MAX: i32 = 2_300;

/// The text of a row.
pub(crate) struct Row {
    pub(crate) name: String,
    /// The figure in text; may be empty.
    pub(crate) figure: String,
}

/// Rows of equal height.
pub(crate) struct Rows {
    pub(crate) rows: Vec<Row>,
    /// The height of what is drawn in a row.
    pub(crate) height: i32,
}

impl Rows {
    /// The height of the chart.
    pub(crate) fn total_height(&self, width: Width) -> i32 {
        self.pitch(width) * self.rows.len().max(1) as i32 + AXIS_HEIGHT
    }

    fn pitch(&self, width: Width) -> i32 {
        GAP + width.choose(self.height.max(2 * LINE - 60), LINE + self.height)
    }

    /// The middle of what is drawn in a row.
    pub(crate) fn middle(&self, row: usize, sheet: &Sheet) -> i32 {
        let pitch = self.pitch(sheet.width);
        let above = sheet.width.choose(0, LINE);
        sheet.top + pitch * row as i32 + above + (pitch - above) / 2
    }

    /// Draws the axis.
    pub(crate) fn plane<'a>(&self, sheet: &Sheet<'a>, x: Scale, title: &str) -> Drawn<Plane<'a>> {
        let size = Label::PLAIN.size;
        let widest = |texts: &mut dyn Iterator<Item = &String>| {
            texts.map(|text| words::width(text, size)).max().unwrap_or(0)
        };
        let names = widest(&mut self.rows.iter().map(|row| &row.name)).min(NAMES_MAX);
        let figures = widest(&mut self.rows.iter().map(|row| &row.figure));
        let room = if figures > 0 { figures + 150 } else { 0 };
        sheet.plane(Frame {
            top: sheet.top,
            bottom: sheet.bottom,
            left: sheet.width.choose(names + 130, 160),
            right: sheet.width.choose(room.max(330), 260),
            x,
            y: Scale::bare(0.0, 1.0),
            x_title: Some(title),
            y_title: "",
        })
    }

    /// Writes the names and the figures; after what is drawn, so that they lie above it.
    pub(crate) fn write(&self, sheet: &Sheet, plane: &Plane) -> Drawn {
        let (left, _) = plane.across();
        let right = sheet.width.units() - 20;
        for (index, row) in self.rows.iter().enumerate() {
            let middle = self.middle(index, sheet);
            let size = Label::PLAIN.size;
            if sheet.width == Width::Wide {
                let lines = words::lines(&row.name, size, NAMES_MAX, 2);
                let first = middle - LINE * (lines.len() as i32 - 1) / 2;
                for (line, text) in lines.iter().enumerate() {
                    let at = (left - 100, first + LINE * line as i32);
                    sheet.text(at, text, Label::PLAIN.ending())?;
                }
                sheet.text((right, middle), &row.figure, Label::PLAIN.ending())?;
            } else {
                let y = middle - self.height / 2 - LINE / 2 - 10;
                // A bold name is wider than words::width says.
                let room = (right - words::width(&row.figure, size) - 150) * 9 / 10;
                let name = words::lines(&row.name, size, room, 1).concat();
                sheet.text((10, y), &name, Label { is_bold: true, ..Label::PLAIN })?;
                sheet.text((right, y), &row.figure, Label::PLAIN.ending())?;
            }
        }
        Ok(())
    }
}

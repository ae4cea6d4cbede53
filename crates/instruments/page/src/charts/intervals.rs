//! A forest plot: estimates with their intervals, one below the other, beside the line of zero and
//! the band of what doesn't matter.

use super::{Estimate, say_empty, x_ticks};
use crate::draw::{Axis, Drawn, Ink, Key, Plane, Row, Rows, Sample, Scale, Sheet, Width};
use crate::figure::Draw;

/// A forest plot, for differences: zero is in it.
pub struct Intervals {
    /// What the estimates are of.
    pub axis: Axis,
    /// The rows, from above.
    pub rows: Vec<IntervalRow>,
    /// Differences up to this size, in both directions, don't matter. The axis' unit, above 0.
    pub indifference: Option<f64>,
}

/// A row of a forest plot.
pub struct IntervalRow {
    /// What was estimated.
    pub name: String,
    /// The estimate and its interval.
    pub estimate: Estimate,
}

impl Intervals {
    fn rows(&self, width: Width) -> Rows {
        let row = |row: &IntervalRow| Row {
            name: row.name.clone(),
            figure: match width {
                Width::Wide => row.estimate.text(&self.axis),
                Width::Narrow => row.estimate.value_text(&self.axis),
            },
        };
        Rows { rows: self.rows.iter().map(row).collect(), height: 200 }
    }

    fn scale(&self, sheet: &Sheet) -> Scale {
        let band = self.indifference.map(|size| [-size, size]);
        let figures = self.rows.iter().flat_map(|row| row.estimate.figures());
        Scale::over(
            &self.axis,
            figures.chain(band.into_iter().flatten()).chain([0.0]),
            x_ticks(sheet.width),
        )
    }

    fn draw_background(&self, sheet: &Sheet, plane: &Plane) -> Drawn {
        let (top, bottom) = plane.down();
        if let Some(size) = self.indifference {
            let (from, to) = (plane.spot(-size, 0.0).0, plane.spot(size, 0.0).0);
            sheet.filled((from, top), (to, bottom), Ink::Zone.full())?;
        }
        let zero = plane.spot(0.0, 0.0).0;
        sheet.line(vec![(zero, top), (zero, bottom)], Ink::Faint.full(), 14)
    }
}

impl Draw for Intervals {
    fn keys(&self) -> Vec<Key> {
        let zone = self.indifference.map(|size| {
            let size = self.axis.figure_known_to(size, 0.0);
            let size = size.trim_start_matches('+').trim_end_matches('0').trim_end_matches('.');
            let size = self.axis.with_unit(size);
            Key::new(Sample::Zone, format!("doesn't matter: within ±{size}"))
        });
        [Key::new(Sample::Whisker(0), "estimate and interval")].into_iter().chain(zone).collect()
    }

    fn height(&self, width: Width) -> i32 {
        self.rows(width).total_height(width)
    }

    fn draw(&self, sheet: &Sheet) -> Drawn {
        let rows = self.rows(sheet.width);
        let plane = rows.plane(sheet, self.scale(sheet), &self.axis.title())?;
        self.draw_background(sheet, &plane)?;
        for (index, row) in self.rows.iter().enumerate() {
            let y = rows.middle(index, sheet);
            let at = |figure: f64| (plane.spot(figure, 0.0).0, y);
            let Estimate { value, low, high } = row.estimate;
            if row.estimate.has_interval() {
                sheet.whisker(at(low), at(high), Ink::Series(0).full(), 40)?;
            }
            sheet.marker(at(value), 0, 52)?;
        }
        if self.rows.is_empty() {
            return say_empty(sheet);
        }
        rows.write(sheet, &plane)
    }

    fn description(&self) -> String {
        let rows =
            self.rows.iter().map(|row| format!("{}: {}", row.name, row.estimate.text(&self.axis)));
        let rows = rows.collect::<Vec<_>>().join("; ");
        format!("Intervals of {}. {rows}.", self.axis.title())
    }
}

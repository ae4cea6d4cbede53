//! A forest plot: estimates with their intervals, one below the other, beside the line of zero and
//! the band of what doesn't matter.

use super::{Estimate, draw_zone, say_empty, x_ticks, zone_key};
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
    /// Both in text, if the caller has rounded them itself.
    pub text: Option<EstimateText>,
}

/// An estimate in text.
#[derive(Clone)]
pub struct EstimateText {
    /// The figure alone, for narrow charts.
    pub value: String,
    /// The figure and its interval.
    pub whole: String,
}

impl IntervalRow {
    fn words(&self, axis: &Axis) -> String {
        let text = self.text.as_ref().map(|text| text.whole.clone());
        text.unwrap_or_else(|| self.estimate.text(axis))
    }

    fn value_words(&self, axis: &Axis) -> String {
        let text = self.text.as_ref().map(|text| text.value.clone());
        text.unwrap_or_else(|| self.estimate.value_text(axis))
    }
}

impl Intervals {
    fn rows(&self, width: Width) -> Rows {
        let row = |row: &IntervalRow| Row {
            name: row.name.clone(),
            figure: match width {
                Width::Wide => row.words(&self.axis),
                Width::Narrow => row.value_words(&self.axis),
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
            draw_zone(sheet, (from, top), (to, bottom))?;
        }
        let zero = plane.spot(0.0, 0.0).0;
        sheet.line(vec![(zero, top), (zero, bottom)], Ink::Faint.full(), 14)
    }
}

impl Draw for Intervals {
    fn keys(&self) -> Vec<Key> {
        let zone = self.indifference.map(|size| zone_key(&self.axis, size));
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
        let rows = self.rows.iter().map(|row| format!("{}: {}", row.name, row.words(&self.axis)));
        let rows = rows.collect::<Vec<_>>().join("; ");
        format!("Intervals of {}. {rows}.", self.axis.title())
    }
}

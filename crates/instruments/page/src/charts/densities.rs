//! Smoothed densities of some series, with their medians, and each figure as a stroke below.

use super::{Point, say_empty, x_ticks};
use crate::draw::{Axis, Drawn, Frame, Ink, Key, Plane, Sample, Scale, Sheet, Spot, Width};
use crate::figure::Draw;

/// The height of a series' strokes, as a share of the highest density.
const STROKES: f64 = 0.07;

/// Densities.
pub struct Densities {
    /// What the figures are.
    pub axis: Axis,
    /// The series, six at most (PG6).
    pub series: Vec<Density>,
}

/// The density of one series.
pub struct Density {
    /// What the figures are of.
    pub name: String,
    /// The curve: `x` is a figure of the axis, `y` the density there, 0 or more, in any one unit.
    pub curve: Vec<Point>,
    /// The median, which is marked.
    pub median: Option<f64>,
    /// The figures themselves, a stroke each; may be empty.
    pub strokes: Vec<f64>,
}

impl Densities {
    fn highest(&self) -> f64 {
        let heights = self.series.iter().flat_map(|series| series.curve.iter().map(|at| at.y));
        heights.fold(0.0, f64::max)
    }

    fn scales(&self, sheet: &Sheet) -> (Scale, Scale) {
        let figures = self.series.iter().flat_map(|series| {
            let curve = series.curve.iter().map(|at| at.x);
            curve.chain(series.median).chain(series.strokes.iter().copied())
        });
        // Only to refuse what isn't finite.
        let heights = self.series.iter().flat_map(|series| series.curve.iter().map(|at| at.y));
        Scale::over(&Axis::new("density", ""), heights, 1);
        let highest = if self.highest() > 0.0 { self.highest() } else { 1.0 };
        let rows = self.series.iter().filter(|series| !series.strokes.is_empty()).count();
        let below = (rows as f64 * STROKES + 0.02) * highest;
        let y = Scale::bare(if rows == 0 { 0.0 } else { -below }, highest * 1.05);
        (Scale::over(&self.axis, figures, x_ticks(sheet.width)), y)
    }

    fn draw_strokes(&self, sheet: &Sheet, plane: &Plane) -> Drawn {
        let highest = plane.y.high / 1.05;
        let rows = self.series.iter().enumerate().filter(|(_, of)| !of.strokes.is_empty());
        for (row, (index, series)) in rows.enumerate() {
            let top = -(row as f64 * STROKES + 0.02) * highest;
            let bottom = top - STROKES * 0.8 * highest;
            for figure in &series.strokes {
                let ends = vec![plane.spot(*figure, top), plane.spot(*figure, bottom)];
                sheet.line(ends, Ink::Series(index).pale(0.8), 12)?;
            }
        }
        Ok(())
    }

    fn draw_curve(&self, index: usize, sheet: &Sheet, plane: &Plane) -> Drawn {
        let series = &self.series[index];
        let line: Vec<Spot> = series.curve.iter().map(|at| plane.spot(at.x, at.y)).collect();
        let (Some(first), Some(last)) = (series.curve.first(), series.curve.last()) else {
            return Ok(());
        };
        let mut under = line.clone();
        under.extend([plane.spot(last.x, 0.0), plane.spot(first.x, 0.0)]);
        sheet.shape(under, Ink::Series(index).pale(0.14))?;
        sheet.line(line, Ink::Dashed(index).full(), 22)
    }

    fn draw_median(&self, index: usize, sheet: &Sheet, plane: &Plane) -> Drawn {
        let Some(median) = self.series[index].median else { return Ok(()) };
        let (from, to) = (plane.spot(median, 0.0), plane.spot(median, plane.y.high));
        sheet.line(vec![from, to], Ink::Series(index).full(), 12)?;
        let at = (to.0, to.1 + 110 + 130 * index as i32);
        sheet.marker(at, index, 45)
    }
}

impl Draw for Densities {
    fn keys(&self) -> Vec<Key> {
        let series = self.series.iter().enumerate();
        let keys = series.map(|(index, of)| {
            let median = of.median.map(|median| self.axis.figure_known_to(median, 0.0));
            let median = median.map(|median| format!(" (median {})", self.axis.with_unit(&median)));
            let median = median.unwrap_or_default();
            Key::new(Sample::PointLine(index), format!("{}{median}", of.name))
        });
        keys.collect()
    }

    fn height(&self, width: Width) -> i32 {
        width.choose(3_000, 2_800)
    }

    fn draw(&self, sheet: &Sheet) -> Drawn {
        let (x, y) = self.scales(sheet);
        let plane = sheet.plane(Frame {
            top: sheet.top,
            bottom: sheet.bottom,
            left: 40,
            right: 200,
            x,
            y,
            x_title: Some(&self.axis.title()),
            y_title: "density",
        })?;
        if self.series.iter().all(|of| of.curve.is_empty() && of.strokes.is_empty()) {
            return say_empty(sheet);
        }
        let (left, right) = plane.across();
        let ground = plane.ground();
        sheet.line(vec![(left, ground), (right, ground)], Ink::Faint.full(), 8)?;
        let all = 0..self.series.len();
        all.clone().try_for_each(|index| self.draw_curve(index, sheet, &plane))?;
        all.clone().try_for_each(|index| self.draw_median(index, sheet, &plane))?;
        self.draw_strokes(sheet, &plane)
    }

    fn description(&self) -> String {
        let names: Vec<String> = self.keys().into_iter().map(|key| key.name).collect();
        format!("Densities of {}: {}.", self.axis.title(), names.join("; "))
    }
}

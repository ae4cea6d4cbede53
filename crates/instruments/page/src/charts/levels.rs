//! A figure with its interval for each level of a factor, joined by a line.

use super::{Estimate, say_empty};
use crate::draw::{
    Axis, Drawn, Frame, Ink, Key, Label, Sample, Scale, Sheet, Width, labels_width, text_lines,
};
use crate::figure::Draw;

/// How far the series of a level stand apart, as a share of the distance of two levels.
const APART: f64 = 0.14;
/// The space right of the plane.
const RIGHT: i32 = 100;

/// Figures by level.
pub struct Levels {
    /// What the levels are of, such as `database writers`.
    pub factor: String,
    /// The levels, in order.
    pub levels: Vec<String>,
    /// What is measured.
    pub axis: Axis,
    /// The series, six at most (PG6).
    pub series: Vec<LevelSeries>,
}

/// A figure for each level.
pub struct LevelSeries {
    /// What the figures are of.
    pub name: String,
    /// One for each level; none where there is none, and the line is broken there.
    pub estimates: Vec<Option<Estimate>>,
}

impl Levels {
    fn estimates(&self) -> impl Iterator<Item = &Estimate> {
        self.series.iter().flat_map(|series| series.estimates.iter().flatten())
    }

    /// The scale of levels, whose names are cut where they would overlap.
    fn levels_scale(&self, left: i32, width: Width) -> Scale {
        let across = width.units() - left - RIGHT;
        let room = across / self.levels.len().max(1) as i32 - 40;
        let size = Label::FAINT.size;
        let names = self.levels.iter().map(|name| text_lines(name, size, room, 1).concat());
        Scale::of_names(&names.collect::<Vec<_>>())
    }

    fn refuse_other_lengths(&self) {
        for series in &self.series {
            let (figures, levels) = (series.estimates.len(), self.levels.len());
            assert!(
                figures == levels,
                "`{}` has {figures} figures, of {levels} levels of {}",
                series.name,
                self.factor
            );
        }
    }
}

impl Draw for Levels {
    fn keys(&self) -> Vec<Key> {
        let series = self.series.iter().enumerate();
        series.map(|(index, of)| Key::new(Sample::PointLine(index), &of.name)).collect()
    }

    fn height(&self, width: Width) -> i32 {
        width.choose(3_400, 3_000)
    }

    fn draw(&self, sheet: &Sheet) -> Drawn {
        self.refuse_other_lengths();
        let figures = self.estimates().flat_map(|estimate| estimate.figures());
        let y = Scale::over(&self.axis, figures, 6);
        let left = labels_width(&y) + 110;
        let plane = sheet.plane(Frame {
            top: sheet.top,
            bottom: sheet.bottom,
            left,
            right: RIGHT,
            x: self.levels_scale(left, sheet.width),
            y,
            x_title: Some(&self.factor),
            y_title: &self.axis.title(),
        })?;
        if self.estimates().next().is_none() {
            return say_empty(sheet);
        }
        let middle = (self.series.len() as f64 - 1.0) / 2.0;
        for (index, series) in self.series.iter().enumerate() {
            let shift = (index as f64 - middle) * APART / (middle * 2.0).max(1.0);
            let at = |level: usize, figure: f64| plane.spot(level as f64 + shift, figure);
            let numbered: Vec<_> = series.estimates.iter().enumerate().collect();
            for joined in numbered.split(|(_, estimate)| estimate.is_none()) {
                let line = joined.iter().filter_map(|(level, e)| e.map(|e| at(*level, e.value)));
                sheet.line(line.collect(), Ink::Dashed(index).full(), 16)?;
            }
            for (level, estimate) in numbered {
                let Some(Estimate { value, low, high }) = *estimate else { continue };
                if low < high {
                    sheet.whisker(
                        at(level, low),
                        at(level, high),
                        Ink::Series(index).full(),
                        40,
                    )?;
                }
                sheet.marker(at(level, value), index, 52)?;
            }
        }
        Ok(())
    }

    fn description(&self) -> String {
        let series = self.series.iter().map(|series| {
            let levels = self.levels.iter().zip(&series.estimates);
            let levels = levels.filter_map(|(level, estimate)| {
                let text = estimate.as_ref().map(|estimate| estimate.text(&self.axis));
                text.map(|text| format!("{level}: {text}"))
            });
            format!("{}: {}", series.name, levels.collect::<Vec<_>>().join(", "))
        });
        let series = series.collect::<Vec<_>>().join("; ");
        format!("{} by {}. {series}.", self.axis.title(), self.factor)
    }
}

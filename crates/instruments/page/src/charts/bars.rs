//! Grouped bars with whiskers: a group for each name, a bar for each series.

use super::{Estimate, say_empty, x_ticks};
use crate::draw::{
    Axis, Drawn, Ink, Key, Label, Row, Rows, Sample, Scale, Sheet, Width, text_width,
};
use crate::figure::Draw;

/// The pitch of bars in a group.
const BAR: i32 = 150;

/// Grouped bars.
pub struct Bars {
    /// What the bars measure.
    pub axis: Axis,
    /// The names of the series, six at most (PG6).
    pub series: Vec<String>,
    /// The groups, from above.
    pub groups: Vec<BarGroup>,
}

/// The bars of one name.
pub struct BarGroup {
    /// What the bars are of.
    pub name: String,
    /// A figure for each series; none where there is none.
    pub bars: Vec<Option<Estimate>>,
}

impl Bars {
    fn rows(&self) -> Rows {
        let row = |group: &BarGroup| {
            let (bars, series) = (group.bars.len(), self.series.len());
            assert!(bars == series, "`{}` has {bars} bars, of {series} series", group.name);
            Row { name: group.name.clone(), figure: String::new() }
        };
        let rows = self.groups.iter().map(row).collect();
        Rows { rows, height: BAR * self.series.len().max(1) as i32 }
    }

    fn estimates(&self) -> impl Iterator<Item = &Estimate> {
        self.groups.iter().flat_map(|group| group.bars.iter().flatten())
    }

    /// The figure of a bar in text.
    fn text(&self, estimate: &Estimate) -> String {
        estimate.value_text(&self.axis)
    }

    /// The scale, with room to the right for the text after each bar.
    fn scale(&self, sheet: &Sheet) -> Scale {
        let figures: Vec<f64> = self.estimates().flat_map(|estimate| estimate.figures()).collect();

        let bare =
            Scale::over(&self.axis, figures.iter().copied().chain([0.0]), x_ticks(sheet.width));
        let texts = self.estimates().map(|e| text_width(&self.text(e), Label::PLAIN.size));
        let room = texts.max().unwrap_or(0) + 150;
        let across = sheet.width.choose(4_300, 3_100);
        let share = (f64::from(room) / f64::from(across)).min(0.5);
        let end = bare.low + (bare.high - bare.low) / (1.0 - share);
        let low = figures.iter().copied().fold(0.0, f64::min);
        Scale::between(&self.axis, low, end, x_ticks(sheet.width)).standing_on_zero(&figures)
    }
}

impl Draw for Bars {
    fn keys(&self) -> Vec<Key> {
        let series = self.series.iter().enumerate();
        series.map(|(index, name)| Key::new(Sample::SeriesBar(index), name)).collect()
    }

    fn height(&self, width: Width) -> i32 {
        self.rows().total_height(width)
    }

    fn draw(&self, sheet: &Sheet) -> Drawn {
        let rows = self.rows();
        let plane = rows.plane(sheet, self.scale(sheet), &self.axis.title())?;
        for (index, group) in self.groups.iter().enumerate() {
            let first = rows.middle(index, sheet) - BAR * (self.series.len() as i32 - 1) / 2;
            for (series, estimate) in group.bars.iter().enumerate() {
                let Some(estimate) = estimate else { continue };
                let y = first + BAR * series as i32;
                let at = |figure: f64, down: i32| (plane.spot(figure, 0.0).0, y + down);
                sheet.series_bar(at(0.0, -60), at(estimate.value, 60), series)?;
                if estimate.has_interval() {
                    let (low, high) = (at(estimate.low, 0), at(estimate.high, 0));
                    sheet.whisker(low, high, Ink::Text.full(), 30)?;
                }
                let end = estimate.high.max(estimate.value).max(0.0);
                let beside = (at(end, 0).0 + 60, y);
                sheet.text(beside, &self.text(estimate), Label::PLAIN)?;
            }
        }
        if self.groups.is_empty() {
            return say_empty(sheet);
        }
        rows.write(sheet, &plane)
    }

    fn description(&self) -> String {
        let groups = self.groups.iter().map(|group| {
            let bars = self.series.iter().zip(&group.bars);
            let bars = bars.filter_map(|(name, estimate)| {
                let text = estimate.as_ref().map(|estimate| estimate.text(&self.axis));
                text.map(|text| format!("{name} {text}"))
            });
            format!("{}: {}", group.name, bars.collect::<Vec<_>>().join(", "))
        });
        format!("Bars of {}. {}.", self.axis.title(), groups.collect::<Vec<_>>().join("; "))
    }
}

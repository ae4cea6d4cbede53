//! The keys above a chart: a sample of each line, marker and band, with its name.

use super::ink::Ink;
use super::sheet::{Drawn, Label, Sheet, Spot, Width};
use super::words;

const ROW_HEIGHT: i32 = 200;
const SAMPLE_WIDTH: i32 = 260;
const GAP: i32 = 200;

/// What is explained.
#[derive(Clone, Copy)]
pub(crate) enum Sample {
    Point(usize),
    /// A line with a band around it.
    Band(usize),
    /// A point on a line with the series' dashes.
    PointLine(usize),
    /// A solid line.
    SolidLine(usize),
    /// An estimate with its whisker.
    Whisker(usize),
    /// A whisker on a bar.
    TextWhisker,
    Bar(usize),
    /// A bar with the series' pattern.
    SeriesBar(usize),
    /// A bar that isn't certain.
    PaleBar(usize),
    /// The band of what doesn't matter.
    Zone,
    /// A vertical line at a moment.
    Moment,
}

/// A sample with its name.
pub(crate) struct Key {
    pub(crate) sample: Sample,
    pub(crate) name: String,
}

impl Key {
    pub(crate) fn new(sample: Sample, name: impl Into<String>) -> Key {
        Key { sample, name: name.into() }
    }
}

/// The height that keys take on a sheet; nothing without keys.
pub(crate) fn height(keys: &[Key], width: Width) -> i32 {
    placed(keys, width).last().map_or(0, |(at, _)| at.1 + ROW_HEIGHT / 2 + 60)
}

/// The keys and where they begin, row by row; names that are too long for a row are cut.
fn placed(keys: &[Key], width: Width) -> Vec<(Spot, String)> {
    let size = Label::PLAIN.size;
    let (mut x, mut y) = (10, ROW_HEIGHT / 2);
    let mut placed = Vec::new();
    for key in keys {
        let room = width.units() - SAMPLE_WIDTH - 60;
        let name = words::lines(&key.name, size, room, 1).concat();
        let needed = SAMPLE_WIDTH + words::width(&name, size);
        if x > 10 && x + needed > width.units() {
            (x, y) = (10, y + ROW_HEIGHT);
        }
        placed.push(((x, y), name));
        x += needed + GAP;
    }
    placed
}

/// Draws the keys at the sheet's upper end.
pub(crate) fn draw(keys: &[Key], sheet: &Sheet) -> Drawn {
    for (key, (at, name)) in keys.iter().zip(placed(keys, sheet.width)) {
        draw_sample(key.sample, at, sheet)?;
        sheet.text((at.0 + SAMPLE_WIDTH, at.1), &name, Label::PLAIN)?;
    }
    Ok(())
}

fn draw_sample(sample: Sample, at: Spot, sheet: &Sheet) -> Drawn {
    let (x, y) = at;
    let (left, right, middle) = (x, x + 200, x + 100);
    match sample {
        Sample::Point(series) => sheet.marker((middle + 20, y), series, 45),
        Sample::Band(series) => {
            sheet.filled((left, y - 60), (right, y + 60), Ink::Series(series).pale(0.18))?;
            sheet.line(vec![(left, y), (right, y)], Ink::Dashed(series).full(), 22)
        }
        Sample::PointLine(series) => {
            sheet.line(vec![(left, y), (right, y)], Ink::Dashed(series).full(), 22)?;
            sheet.marker((middle, y), series, 48)
        }
        Sample::SolidLine(series) => {
            sheet.line(vec![(left, y), (right, y)], Ink::Series(series).full(), 26)
        }
        Sample::Whisker(series) => {
            sheet.whisker((left, y), (right, y), Ink::Series(series).full(), 40)?;
            sheet.marker((middle, y), series, 48)
        }
        Sample::TextWhisker => sheet.whisker((left, y), (right, y), Ink::Text.full(), 30),
        Sample::SeriesBar(series) => sheet.series_bar((left, y - 50), (right, y + 50), series),
        Sample::Bar(series) => {
            sheet.filled((left, y - 50), (right, y + 50), Ink::Series(series).full())
        }
        Sample::PaleBar(series) => {
            sheet.filled((left, y - 50), (right, y + 50), Ink::Series(series).pale(0.25))?;
            sheet.outlined((left, y - 50), (right, y + 50), Ink::Dashed(1).full(), 10)
        }
        Sample::Zone => sheet.filled((left, y - 60), (right, y + 60), Ink::Zone.full()),
        Sample::Moment => {
            sheet.line(vec![(middle, y - 80), (middle, y + 80)], Ink::Faint.full(), 12)
        }
    }
}

//! The kinds of charts, one file each: what the caller gives, and how it is drawn.
//!
//! Callers: `figure`.

mod bars;
mod curve;
mod densities;
mod intervals;
mod levels;
mod over_time;
mod waterfall;

pub use bars::{BarGroup, Bars};
pub use curve::{Curve, Fit};
pub use densities::{Densities, Density};
pub use intervals::{EstimateText, IntervalRow, Intervals};
pub use levels::{LevelSeries, Levels};
pub use over_time::{Covariate, Mark, OverTime, Running, RunningPoint, Side};
pub use waterfall::{Part, Waterfall};

use crate::draw::{Axis, Drawn, Ink, Key, Label, Sample, Sheet, Spot, Width, decimals_for};

/// A figure with the interval that it lies in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The figure.
    pub value: f64,
    /// The lower end of the interval, at most `high`.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Estimate {
    /// A figure between two ends; it may lie outside of them, as some estimates do.
    ///
    /// Panics if the ends are in the wrong order, or not numbers.
    pub fn new(value: f64, low: f64, high: f64) -> Estimate {
        assert!(low <= high, "an interval from {low} to {high} around {value}");
        Estimate { value, low, high }
    }

    /// A figure without an interval: no whisker is drawn.
    pub fn exact(value: f64) -> Estimate {
        Estimate { value, low: value, high: value }
    }

    /// Whether there is an interval to be drawn.
    fn has_interval(&self) -> bool {
        self.low < self.high
    }

    /// All three figures.
    fn figures(&self) -> [f64; 3] {
        [self.low, self.value, self.high]
    }

    /// The width of the interval.
    fn spread(&self) -> f64 {
        self.high - self.low
    }

    /// The figure alone, in an axis' way.
    fn value_text(&self, axis: &Axis) -> String {
        axis.figure_known_to(self.value, self.spread())
    }

    /// `12.3 (11.9 to 12.7)`, in an axis' way.
    fn text(&self, axis: &Axis) -> String {
        if !self.has_interval() {
            return self.value_text(axis);
        }
        let decimals = decimals_for(self.value, self.spread());
        let figure = |value| axis.figure(value, decimals);
        format!("{} ({} to {})", figure(self.value), figure(self.low), figure(self.high))
    }
}

/// A point of a chart: two figures, of the axes that the chart's kind says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// To the right.
    pub x: f64,
    /// Up.
    pub y: f64,
}

/// The key of the band of what doesn't matter, from `-size` to `size`.
fn zone_key(axis: &Axis, size: f64) -> Key {
    let size = axis.figure_known_to(size, 0.0);
    let size = size.trim_start_matches('+').trim_end_matches('0').trim_end_matches('.');
    Key::new(Sample::Zone, format!("doesn't matter: within ±{}", axis.with_unit(size)))
}

/// The band of what doesn't matter.
fn draw_zone(sheet: &Sheet, from: Spot, to: Spot) -> Drawn {
    sheet.filled(from, to, Ink::Zone.full())
}

/// How many ticks stand on an axis to the right.
fn x_ticks(width: Width) -> usize {
    width.choose(8, 4)
}

/// Says that a chart has nothing to show, in its middle.
fn say_empty(sheet: &Sheet) -> Drawn {
    let at = (sheet.width.units() / 2, sheet.top + (sheet.bottom - sheet.top) / 3);
    sheet.text(at, "no figures", Label::FAINT.centred())
}

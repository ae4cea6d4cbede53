//! Axes: what is measured in which unit, the range that is shown, and where its ticks stand.
//!
//! Invariants
//!   * every figure of a chart enters by a scale, which refuses those that aren't finite (PG5)
//!   * a range is never empty, also when all figures are equal

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::coord::types::RangedCoordf64;
use report::number;

/// The largest size of a figure that a chart shows: its digits still fit an `i64` with decimals.
const FIGURE_MAX: f64 = 1e15;
/// The most decimals that are written.
const DECIMALS_MAX: u32 = 15;
/// Smaller sizes and ranges count as none: their powers of ten would leave an `f64`.
const RANGE_MIN: f64 = 1e-290;
/// How much of the range is left free at each end.
const MARGIN: f64 = 0.04;

/// What an axis measures, in which unit.
#[derive(Clone, Debug)]
pub struct Axis {
    label: String,
    unit: String,
    is_signed: bool,
    is_logarithmic: bool,
}

impl Axis {
    /// An axis such as `Axis::new("commit", "ms")`. The unit may be empty.
    pub fn new(label: impl Into<String>, unit: impl Into<String>) -> Axis {
        let (label, unit) = (label.into(), unit.into());
        Axis { label, unit, is_signed: false, is_logarithmic: false }
    }

    /// The same axis with plus signs before positive figures: it shows differences.
    pub fn signed(self) -> Axis {
        Axis { is_signed: true, ..self }
    }

    /// The same axis with a logarithmic scale. All figures on it are above zero, or it panics.
    pub fn logarithmic(self) -> Axis {
        Axis { is_logarithmic: true, ..self }
    }

    /// What is measured, and in which unit: `commit, ms`.
    pub(crate) fn title(&self) -> String {
        match (self.label.as_str(), self.unit.as_str()) {
            (label, "") => label.to_owned(),
            ("", unit) => unit.to_owned(),
            (label, unit) => format!("{label}, {unit}"),
        }
    }

    /// A figure of this axis in text, without its unit.
    pub(crate) fn figure(&self, value: f64, decimals: u32) -> String {
        let decimals = decimals.min(DECIMALS_MAX);
        let units = (value * 10_f64.powi(decimals as i32)).round() as i64;
        if self.is_signed {
            number::signed(units, decimals)
        } else {
            number::fixed(units, decimals)
        }
    }

    /// A figure that is known to within `spread`, with the decimals that it deserves.
    pub(crate) fn figure_known_to(&self, value: f64, spread: f64) -> String {
        self.figure(value, decimals_for(value, spread))
    }

    /// A figure in text, with the axis' unit.
    pub(crate) fn with_unit(&self, figure: &str) -> String {
        if self.unit.is_empty() { figure.to_owned() } else { format!("{figure} {}", self.unit) }
    }

    fn refuse(&self, value: f64) {
        let title = self.title();
        assert!(value.is_finite(), "a chart can't show {value} on the axis `{title}`");
        assert!(value.abs() < FIGURE_MAX, "{value} on the axis `{title}` is too large to be shown");
        assert!(
            !self.is_logarithmic || value > 0.0,
            "{value} can't stand on the logarithmic axis `{title}`"
        );
    }
}

/// How many decimals a figure deserves that is known to within `spread`: two digits of the spread
/// if they are below 36, else one; without a spread, three digits of the figure.
///
/// Source: the rounding rule of the Particle Data Group, *Review of Particle Physics*, 5.3.
pub(crate) fn decimals_for(value: f64, spread: f64) -> u32 {
    let of = if spread > 0.0 { spread } else { value.abs() };
    let leading = of / 10_f64.powf(of.log10().floor());
    let digits = match spread > 0.0 {
        true if leading < 3.55 => 2.0,
        true => 1.0,
        false => 3.0,
    };
    let of = if of > 0.0 { of } else { 100.0 };
    let decimals = (digits - 1.0 - of.log10().floor()).clamp(0.0, 9.0) as u32;
    let room = (15.0 - value.abs().max(1.0).log10()).max(0.0) as u32;
    decimals.min(room)
}

/// A place on an axis with its label.
#[derive(Clone)]
pub(crate) struct Tick {
    pub(crate) place: f64,
    pub(crate) label: String,
}

/// The part of an axis that a chart shows. Places are figures, or their logarithms.
#[derive(Clone)]
pub(crate) struct Scale {
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) ticks: Vec<Tick>,
    is_logarithmic: bool,
    /// Whether zero is marked by a line, where it lies inside.
    pub(crate) marks_zero: bool,
}

impl Scale {
    /// A scale that shows all these figures, with `ticks_max` ticks or fewer; none without figures.
    ///
    /// Panics at a figure that isn't finite or is too large, and names it.
    pub(crate) fn over(
        axis: &Axis,
        figures: impl IntoIterator<Item = f64>,
        ticks_max: usize,
    ) -> Scale {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for figure in figures {
            axis.refuse(figure);
            low = low.min(figure);
            high = high.max(figure);
        }
        match low <= high {
            true => Scale::between(axis, low, high, ticks_max),
            false => Scale::bare(0.0, 1.0),
        }
    }

    /// A scale from `low` to `high`, which is the same or larger, with a margin.
    pub(crate) fn between(axis: &Axis, low: f64, high: f64, ticks_max: usize) -> Scale {
        match axis.is_logarithmic {
            true => log(axis, low, high, ticks_max),
            false => linear(axis, low, high, ticks_max),
        }
    }

    /// Takes the margin away at zero, if all that is shown lies on one side of it: bars stand on
    /// the axis.
    pub(crate) fn standing_on_zero(mut self, figures: &[f64]) -> Scale {
        if figures.iter().all(|figure| *figure >= 0.0) {
            self.low = self.low.max(0.0);
        }
        if figures.iter().all(|figure| *figure <= 0.0) {
            self.high = self.high.min(0.0);
        }
        // Nothing but zeros: there is a range nevertheless.
        if self.low == self.high {
            self.high = self.low + 1.0;
        }
        let shown = self.range();
        self.ticks.retain(|tick| shown.start <= tick.place && tick.place <= shown.end);
        self
    }

    /// A scale of places with names, one after the other from 0 on.
    pub(crate) fn of_names(names: &[String]) -> Scale {
        let ticks = names.iter().enumerate();
        let ticks =
            ticks.map(|(at, name)| Tick { place: at as f64, label: name.clone() }).collect();
        let last = names.len().saturating_sub(1) as f64;
        Scale { low: -0.5, high: last + 0.5, ticks, is_logarithmic: false, marks_zero: false }
    }

    /// A scale without ticks.
    pub(crate) fn bare(low: f64, high: f64) -> Scale {
        Scale { low, high, ticks: Vec::new(), is_logarithmic: false, marks_zero: false }
    }

    /// Where a figure stands.
    pub(crate) fn place(&self, figure: f64) -> f64 {
        let place = if self.is_logarithmic { figure.log10() } else { figure };
        place.clamp(self.low, self.high)
    }
}

/// The ends of an axis on the sheet.
type Limit = (i32, i32);

/// plotters maps places to the sheet, and draws a mesh line and a label at each tick.
impl Ranged for Scale {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, place: &f64, limit: Limit) -> i32 {
        RangedCoordf64::from(self.range()).map(place, limit)
    }

    fn key_points<H: KeyPointHint>(&self, hint: H) -> Vec<f64> {
        if hint.weight().allow_light_points() {
            return Vec::new();
        }
        self.ticks.iter().map(|tick| tick.place).collect()
    }

    fn range(&self) -> Range<f64> {
        self.low..self.high
    }
}

impl ValueFormatter<f64> for Scale {
    fn format_ext(&self, place: &f64) -> String {
        let tick = self.ticks.iter().find(|tick| tick.place == *place);
        tick.map_or(String::new(), |tick| tick.label.clone())
    }
}

fn linear(axis: &Axis, low: f64, high: f64, ticks_max: usize) -> Scale {
    let span = high - low;
    // All figures are equal, as far as digits go: a range around them.
    let size = low.abs().max(high.abs());
    let free = match span > (size * 1e-12).max(RANGE_MIN) {
        true => span * MARGIN,
        false if size > RANGE_MIN => size * 0.1,
        false => 1.0,
    };
    let (low, high) = (low - free, high + free);
    Scale {
        low,
        high,
        ticks: round_ticks(axis, low, high, ticks_max),
        is_logarithmic: false,
        marks_zero: axis.is_signed,
    }
}

/// Ticks at whole multiples of 1, 2 or 5 times a power of ten.
fn round_ticks(axis: &Axis, low: f64, high: f64, ticks_max: usize) -> Vec<Tick> {
    let least = (high - low) / ticks_max as f64;
    let mut power = least.log10().floor() as i32;
    let mantissa = [1.0, 2.0, 5.0].into_iter().find(|m| m * 10_f64.powi(power) >= least);
    let mantissa = mantissa.unwrap_or_else(|| {
        power += 1;
        1.0
    });
    // Divided, not multiplied by 0.1 and the like, so that a tick is the number that it says.
    let figure = |count: f64| match power {
        0.. => count * mantissa * 10_f64.powi(power),
        _ => count * mantissa / 10_f64.powi(-power),
    };
    let step = figure(1.0);
    let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
    let decimals = u32::try_from(-power).unwrap_or(0);
    let ticks = (first..=last).map(|count| {
        let place = figure(count as f64);
        Tick { place, label: axis.figure(place, decimals) }
    });
    ticks.collect()
}

fn log(axis: &Axis, low: f64, high: f64, ticks_max: usize) -> Scale {
    let span = high.log10() - low.log10();
    let free = if span > 1e-9 { span * MARGIN } else { 0.3 };
    let (low, high) = (low.log10() - free, high.log10() + free);
    let mut ticks = Vec::new();
    for mantissas in [&[1, 2, 5][..], &[1, 3], &[1]] {
        ticks = decade_ticks(axis, low, high, mantissas);
        if ticks.len() <= ticks_max {
            break;
        }
    }
    let every = ticks.len().div_ceil(ticks_max).max(1);
    let mut ticks: Vec<Tick> = ticks.into_iter().step_by(every).collect();
    if ticks.len() < 2 {
        let (low, high) = (10_f64.powf(low), 10_f64.powf(high));
        ticks = round_ticks(axis, low, high, ticks_max);
        ticks.iter_mut().for_each(|tick| tick.place = tick.place.log10());
    }
    Scale { low, high, ticks, is_logarithmic: true, marks_zero: false }
}

/// Ticks at these multiples of each power of ten between two logarithms.
fn decade_ticks(axis: &Axis, low: f64, high: f64, mantissas: &[i32]) -> Vec<Tick> {
    let decades = low.floor() as i32..=high.ceil() as i32;
    let all = decades.flat_map(|power| mantissas.iter().map(move |mantissa| (power, *mantissa)));
    let ticks = all.map(|(power, mantissa)| {
        let figure = f64::from(mantissa) * 10_f64.powi(power);
        let decimals = u32::try_from(-power).unwrap_or(0);
        Tick { place: figure.log10(), label: axis.figure(figure, decimals) }
    });
    ticks.filter(|tick| (low..=high).contains(&tick.place)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis, figures: &[f64], ticks_max: usize) -> Vec<String> {
        let scale = Scale::over(axis, figures.iter().copied(), ticks_max);
        scale.ticks.into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn ticks_are_round_and_have_the_decimals_that_they_need() {
        let plain = Axis::new("x", "");
        assert_eq!(labels(&plain, &[0.0, 12_000.0], 4), ["0", "5,000", "10,000"]);
        assert_eq!(labels(&plain, &[0.11, 0.29], 4), ["0.15", "0.20", "0.25"]);
        assert_eq!(labels(&plain.signed(), &[-2.0, 2.0], 5), ["-2", "-1", "0", "+1", "+2"]);
    }

    #[test]
    fn a_logarithmic_axis_has_ticks_in_each_decade() {
        let axis = Axis::new("x", "us").logarithmic();
        assert_eq!(
            labels(&axis, &[10.0, 1_000.0], 9),
            ["10", "20", "50", "100", "200", "500", "1,000"]
        );
        assert_eq!(labels(&axis, &[0.1, 1e6], 8).len(), 8);
    }

    #[test]
    fn a_single_figure_stands_in_the_middle_of_a_range() {
        for figure in [0.0, 7.0, -3e9] {
            let scale = Scale::over(&Axis::new("x", ""), [figure], 5);
            assert!(scale.low < figure && figure < scale.high);
            assert!(!scale.ticks.is_empty());
        }
        assert!(Scale::over(&Axis::new("x", ""), [], 5).ticks.is_empty());
    }

    #[test]
    fn decimals_show_one_or_two_digits_of_what_is_uncertain() {
        assert_eq!(decimals_for(10_281.3, 130.0), 0);
        assert_eq!(decimals_for(0.0099, 0.0128), 3);
        assert_eq!(decimals_for(-1.0, 0.8), 1);
        assert_eq!(decimals_for(12.0, 0.0), 1);
    }
}

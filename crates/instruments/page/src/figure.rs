//! A figure: a chart, drawn for screens and for phones, with a caption and words for those who
//! can't see it.

use maud::{Markup, html};
use plotters::drawing::IntoDrawingArea;

use crate::charts::{Bars, Curve, Densities, Intervals, Levels, OverTime, Waterfall};
use crate::draw::{Canvas, Drawn, Key, Sheet, Size, Width, element, keys_draw, keys_height};
use crate::page::prose;

/// A chart. Its figures are drawn as they are given; PG5 says which are refused.
pub enum Chart {
    /// A forest plot.
    Intervals(Intervals),
    /// Smoothed densities.
    Densities(Densities),
    /// Figures over time.
    OverTime(OverTime),
    /// From one total to another by parts.
    Waterfall(Waterfall),
    /// Grouped bars.
    Bars(Bars),
    /// A figure for each level of a factor.
    Levels(Levels),
    /// Points and a fitted line.
    Curve(Curve),
}

/// What the kinds of charts have in common.
pub(crate) trait Draw {
    /// What is explained above the chart.
    fn keys(&self) -> Vec<Key>;
    /// The height below the keys, in tenths of a pixel.
    fn height(&self, width: Width) -> i32;
    /// Draws the chart onto the sheet, between its top and its bottom.
    fn draw(&self, sheet: &Sheet) -> Drawn;
    /// The chart in words, for readers who hear the page.
    fn description(&self) -> String;
}

impl Chart {
    fn as_draw(&self) -> &dyn Draw {
        match self {
            Chart::Intervals(chart) => chart,
            Chart::Densities(chart) => chart,
            Chart::OverTime(chart) => chart,
            Chart::Waterfall(chart) => chart,
            Chart::Bars(chart) => chart,
            Chart::Levels(chart) => chart,
            Chart::Curve(chart) => chart,
        }
    }
}

/// A chart as it stands on a page.
pub struct Figure {
    title: String,
    caption: String,
    description: String,
    wide: Markup,
    narrow: Markup,
}

impl Figure {
    /// Draws the chart. `title` says what it shows, `caption` how to read it, and may be empty.
    ///
    /// Panics at a figure that can't be drawn, and names it (rule PG5).
    pub fn new(title: impl Into<String>, caption: impl Into<String>, chart: &Chart) -> Figure {
        let draw = chart.as_draw();
        Figure {
            title: title.into(),
            caption: caption.into(),
            description: draw.description(),
            wide: svg(draw, Width::Wide, "wide"),
            narrow: svg(draw, Width::Narrow, "narrow"),
        }
    }

    pub(crate) fn markup(&self) -> Markup {
        let words = format!("{}. {}", self.title, self.description);
        html! {
            figure {
                figcaption {
                    strong { (self.title) }
                    @if !self.caption.is_empty() { " " (prose(&self.caption)) }
                }
                div role="img" aria-label=(words) { (self.wide) (self.narrow) }
            }
        }
    }
}

fn svg(chart: &dyn Draw, width: Width, class: &str) -> Markup {
    let keys = chart.keys();
    let top = keys_height(&keys, width);
    let bottom = top + chart.height(width);
    let size = Size { width: width.units() as u32, height: bottom as u32 };
    let mut inside = String::new();
    let drawn = |inside| -> Drawn {
        let root = Canvas::new(inside, size).into_drawing_area();
        let sheet = Sheet::new(root, width, top, bottom);
        keys_draw(&keys, &sheet)?;
        chart.draw(&sheet)
    };
    drawn(&mut inside).expect("a canvas in memory takes all that is drawn");
    element(inside, size, class)
}

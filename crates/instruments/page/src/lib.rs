//! Pages: figures in, one HTML file out, which opens anywhere without a network.
//!
//! ```text
//!   figures ──▶ Intervals, OverTime, ... ──▶ Figure ──┐
//!                                                     ├──▶ Section ──▶ Page ──▶ html()
//!   cells, text ──▶ Table, paragraphs, definitions ───┘
//! ```
//!
//! * [`Page`], [`Section`], [`Table`]: what a page is put together from.
//! * [`Figure`], [`Chart`]: a chart with its title and caption, drawn for screens and phones.
//! * [`Intervals`], [`Densities`], [`OverTime`], [`Waterfall`], [`Bars`], [`Levels`], [`Curve`]:
//!   the kinds of charts, as plain figures.
//!
//! The room knows no experiment and no database; it reads and writes no file and no clock. Rules
//! PG1 to PG10 are in the README.

#![forbid(unsafe_code)]

mod charts;
mod draw;
mod figure;
mod page;
mod table;

pub use charts::{
    BarGroup, Bars, Covariate, Curve, Densities, Density, Estimate, EstimateText, Fit, IntervalRow,
    Intervals, LevelSeries, Levels, Mark, OverTime, Part, Point, Running, RunningPoint, Side,
    Waterfall,
};
pub use draw::Axis;
pub use figure::{Chart, Figure};
pub use page::{Page, Section};
pub use table::Table;

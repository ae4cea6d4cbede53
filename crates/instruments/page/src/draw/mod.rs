//! How charts are drawn: plotters lays out and maps figures, and draws on our canvas.
//!
//! ```text
//!   chart ──▶ Sheet (keys, planes, rows) ──▶ plotters ──▶ Canvas ──▶ SVG with classes
//!               │                                            ▲
//!               └── Scale (range, ticks, labels)             └── Ink (a colour's name)
//! ```
//!
//! Lengths are tenths of a pixel of the drawing's own size, because plotters counts in whole units.
//!
//! Callers: `charts`, `figure`.

mod canvas;
mod ink;
mod keys;
mod rows;
mod scale;
mod sheet;
mod words;

pub(crate) use canvas::{Canvas, Size, element};
pub(crate) use ink::Ink;
pub(crate) use keys::{Key, Sample, draw as keys_draw, height as keys_height};
pub(crate) use rows::{Row, Rows};
pub use scale::Axis;
pub(crate) use scale::{Scale, decimals_for};
pub(crate) use sheet::{Drawn, Frame, Label, Plane, Sheet, Spot, Width, labels_width};
pub(crate) use words::{lines as text_lines, width as text_width};

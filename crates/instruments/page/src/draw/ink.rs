//! The colours of a chart, by name: the style sheet says what they are, in light and in dark.
//!
//! A colour goes through plotters as a code in the red part of an RGB colour, and comes out of the
//! canvas as a class. So one drawing serves both colour schemes.
//!
//! Sources: the palette in `page.css` is that of Okabe and Ito, *Color Universal Design* (2008).

use plotters::style::{Color, RGBAColor};
use plotters_backend::BackendColor;

/// The most series that a chart tells apart by colour, shape and dashes.
pub(crate) const SERIES_MAX: usize = 6;

/// What something in a chart is drawn with.
#[derive(Clone, Copy)]
pub(crate) enum Ink {
    /// A series' colour; strokes are solid.
    Series(usize),
    /// A series' colour; strokes have the series' dashes.
    Dashed(usize),
    /// Names and figures.
    Text,
    /// Axes, titles of axes, marks.
    Faint,
    /// Lines of the mesh.
    Grid,
    /// The band of what doesn't matter.
    Zone,
    /// The page behind the chart.
    Paper,
}

const DASHED: u8 = 16;
const TEXT: u8 = 32;

impl Ink {
    fn code(self) -> u8 {
        let of_series = |series: usize| {
            assert!(series < SERIES_MAX, "a chart has {SERIES_MAX} series at most");
            series as u8
        };
        match self {
            Ink::Series(series) => of_series(series),
            Ink::Dashed(series) => DASHED + of_series(series),
            Ink::Text => TEXT,
            Ink::Faint => TEXT + 1,
            Ink::Grid => TEXT + 2,
            Ink::Zone => TEXT + 3,
            Ink::Paper => TEXT + 4,
        }
    }

    /// This ink with an opacity, 0 to 1.
    pub(crate) fn pale(self, opacity: f64) -> RGBAColor {
        RGBAColor(self.code(), 0, 0, opacity)
    }

    /// This ink, opaque.
    pub(crate) fn full(self) -> RGBAColor {
        self.pale(1.0)
    }
}

impl Color for Ink {
    fn to_backend_color(&self) -> BackendColor {
        BackendColor { alpha: 1.0, rgb: (self.code(), 0, 0) }
    }
}

/// The classes of a colour that came through plotters.
pub(crate) fn classes(color: BackendColor) -> String {
    match color.rgb.0 {
        code if code < DASHED => format!("c{code}"),
        code if code < TEXT => format!("c{0} d{0}", code - DASHED),
        code => ["text", "faint", "grid", "zone", "paper"][usize::from(code - TEXT)].to_owned(),
    }
}

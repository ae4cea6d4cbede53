//! What plotters draws on: SVG whose colours are classes, so that a style sheet decides them.
//!
//! plotters' own SVG backend writes colours into the drawing, and a page that follows the reader's
//! colour scheme would need each chart twice.
//!
//! Callers: `figure`.

use std::convert::Infallible;
use std::fmt::Write;

use maud::{Markup, PreEscaped, html};
use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind,
};

use super::ink::classes;
use super::words;

type Result<T> = std::result::Result<T, DrawingErrorKind<Infallible>>;

/// The size of a drawing, in tenths of a pixel.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    pub(crate) width: u32,
    pub(crate) height: u32,
}

/// The inside of an `svg` element, as it grows.
pub(crate) struct Canvas<'a> {
    svg: &'a mut String,
    size: Size,
}

impl<'a> Canvas<'a> {
    /// An empty canvas of that size. What is drawn is appended to `svg`.
    pub(crate) fn new(svg: &'a mut String, size: Size) -> Canvas<'a> {
        Canvas { svg, size }
    }

    fn put(&mut self, element: Markup) {
        self.svg.push_str(&element.into_string());
        self.svg.push('\n');
    }
}

/// The classes of a stroke or a filling.
fn class(color: BackendColor, fill: bool) -> String {
    format!("{} {}", if fill { "f" } else { "s" }, classes(color))
}

/// The opacity, if it isn't full.
fn opacity(color: BackendColor) -> Option<String> {
    (color.alpha < 1.0).then(|| format!("{:.2}", color.alpha))
}

fn is_clear(color: BackendColor) -> bool {
    color.alpha == 0.0
}

fn points(path: impl IntoIterator<Item = BackendCoord>) -> String {
    let mut points = String::new();
    for (x, y) in path {
        let blank = if points.is_empty() { "" } else { " " };
        write!(points, "{blank}{x},{y}").expect("a String takes all that is written");
    }
    points
}

impl DrawingBackend for Canvas<'_> {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        (self.size.width, self.size.height)
    }

    fn ensure_prepared(&mut self) -> Result<()> {
        Ok(())
    }

    fn present(&mut self) -> Result<()> {
        Ok(())
    }

    fn draw_pixel(&mut self, point: BackendCoord, color: BackendColor) -> Result<()> {
        self.draw_rect(point, (point.0 + 1, point.1 + 1), &color, true)
    }

    fn draw_line<S: BackendStyle>(
        &mut self,
        from: BackendCoord,
        to: BackendCoord,
        style: &S,
    ) -> Result<()> {
        let color = style.color();
        if !is_clear(color) {
            self.put(html! {
                line class=(class(color, false)) opacity=[opacity(color)]
                    stroke-width=(style.stroke_width())
                    x1=(from.0) y1=(from.1) x2=(to.0) y2=(to.1) {}
            });
        }
        Ok(())
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        upper_left: BackendCoord,
        bottom_right: BackendCoord,
        style: &S,
        fill: bool,
    ) -> Result<()> {
        let color = style.color();
        let width = (!fill).then(|| style.stroke_width());
        if !is_clear(color) {
            self.put(html! {
                rect class=(class(color, fill)) opacity=[opacity(color)] stroke-width=[width]
                    x=(upper_left.0) y=(upper_left.1)
                    width=((bottom_right.0 - upper_left.0).max(0))
                    height=((bottom_right.1 - upper_left.1).max(0)) {}
            });
        }
        Ok(())
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Result<()> {
        let color = style.color();
        if !is_clear(color) {
            self.put(html! {
                polyline class=(class(color, false)) opacity=[opacity(color)]
                    stroke-width=(style.stroke_width()) points=(points(path)) {}
            });
        }
        Ok(())
    }

    fn draw_circle<S: BackendStyle>(
        &mut self,
        center: BackendCoord,
        radius: u32,
        style: &S,
        fill: bool,
    ) -> Result<()> {
        let color = style.color();
        let width = (!fill).then(|| style.stroke_width());
        self.put(html! {
            circle class=(class(color, fill)) opacity=[opacity(color)] stroke-width=[width]
                cx=(center.0) cy=(center.1) r=(radius) {}
        });
        Ok(())
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        corners: I,
        style: &S,
    ) -> Result<()> {
        let color = style.color();
        self.put(html! {
            polygon class=(class(color, true)) opacity=[opacity(color)] points=(points(corners)) {}
        });
        Ok(())
    }

    fn draw_text<S: BackendTextStyle>(
        &mut self,
        text: &str,
        style: &S,
        at: BackendCoord,
    ) -> Result<()> {
        let (anchor, size) = (style.anchor(), style.size());
        let from_end = match anchor.h_pos {
            HPos::Left => None,
            HPos::Center => Some("middle"),
            HPos::Right => Some("end"),
        };
        // Digits are some 0.72 of the size high, and stand on the line.
        let baseline = match anchor.v_pos {
            VPos::Top => 0.76,
            VPos::Center => 0.35,
            VPos::Bottom => -0.1,
        };
        let y = at.1 + (size * baseline).round() as i32;
        let weight = (style.style().as_str() == "bold").then_some("bold");
        self.put(html! {
            text class=(classes(style.color())) font-size=(size) font-weight=[weight]
                text-anchor=[from_end] x=(at.0) y=(y) { (text) }
        });
        Ok(())
    }

    fn estimate_text_size<S: BackendTextStyle>(&self, text: &str, style: &S) -> Result<(u32, u32)> {
        let size = style.size();
        Ok((words::width(text, size as i32).unsigned_abs(), size as u32))
    }
}

/// The whole drawing: what was drawn on a canvas of that size, as an element of that class. It has
/// no words for those who can't see it: what stands around it says them.
pub(crate) fn element(inside: String, size: Size, class: &str) -> Markup {
    let view_box = format!("0 0 {} {}", size.width, size.height);
    html! {
        svg class=(class) viewBox=(view_box) aria-hidden="true" { "\n" (PreEscaped(inside)) }
    }
}

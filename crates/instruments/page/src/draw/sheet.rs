//! The sheet of one drawing: planes with axes, and what is drawn on them.

use std::convert::Infallible;

use plotters::chart::{ChartBuilder, LabelAreaPosition};
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind};
use plotters::element::{Circle, PathElement, Polygon, Rectangle, Text};
use plotters::prelude::Cartesian2d;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontStyle, IntoFont, RGBAColor, ShapeStyle, TextStyle};

use super::canvas::Canvas;
use super::ink::Ink;
use super::scale::Scale;
use super::words;

/// A place on the sheet: to the right and down from the upper left corner.
pub(crate) type Spot = (i32, i32);
/// Nothing that the canvas does fails, but plotters' calls have a result.
pub(crate) type Drawn<T = ()> = Result<T, DrawingAreaErrorKind<Infallible>>;

type Root<'a> = DrawingArea<Canvas<'a>, Shift>;

/// The size of figures on axes.
const TICK_SIZE: i32 = 120;

/// Each chart is drawn twice: for screens and paper, and for phones.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Width {
    Wide,
    Narrow,
}

impl Width {
    /// In tenths of a pixel.
    pub(crate) fn units(self) -> i32 {
        match self {
            Width::Wide => 7_200,
            Width::Narrow => 3_600,
        }
    }

    /// The one or the other.
    pub(crate) fn choose<T>(self, wide: T, narrow: T) -> T {
        match self {
            Width::Wide => wide,
            Width::Narrow => narrow,
        }
    }
}

/// How a text is written. It is centred vertically on its spot.
#[derive(Clone, Copy)]
pub(crate) struct Label {
    pub(crate) size: i32,
    pub(crate) ink: Ink,
    pub(crate) align: HPos,
    pub(crate) is_bold: bool,
}

impl Label {
    /// A name or a figure, to the right of its spot.
    pub(crate) const PLAIN: Label =
        Label { size: 125, ink: Ink::Text, align: HPos::Left, is_bold: false };
    /// A figure on an axis, or an axis' title.
    pub(crate) const FAINT: Label = Label { size: TICK_SIZE, ink: Ink::Faint, ..Label::PLAIN };

    /// The same, to the left of its spot.
    pub(crate) const fn ending(self) -> Label {
        Label { align: HPos::Right, ..self }
    }

    /// The same, centred on its spot.
    pub(crate) const fn centred(self) -> Label {
        Label { align: HPos::Center, ..self }
    }

    fn style(self) -> TextStyle<'static> {
        let style = if self.is_bold { FontStyle::Bold } else { FontStyle::Normal };
        let font = ("sans-serif", self.size).into_font().style(style);
        let pos = Pos::new(self.align, VPos::Center);
        TextStyle { font, color: self.ink.to_backend_color(), pos }
    }
}

/// The area of one drawing.
pub(crate) struct Sheet<'a> {
    root: Root<'a>,
    pub(crate) width: Width,
    /// Where the chart begins, below its keys.
    pub(crate) top: i32,
    /// Where the chart ends.
    pub(crate) bottom: i32,
}

/// A plane to be: its place on the sheet, its scales, the titles of its axes.
pub(crate) struct Frame<'t> {
    pub(crate) top: i32,
    pub(crate) bottom: i32,
    /// The space left of the plane, in which the labels stand.
    pub(crate) left: i32,
    pub(crate) right: i32,
    pub(crate) x: Scale,
    pub(crate) y: Scale,
    /// Below the plane, with the labels; none leaves both out.
    pub(crate) x_title: Option<&'t str>,
    /// Above the plane; empty leaves no room for it.
    pub(crate) y_title: &'t str,
}

/// A plane with axes, on which figures are drawn.
pub(crate) struct Plane<'a> {
    area: DrawingArea<Canvas<'a>, Cartesian2d<Scale, Scale>>,
    pub(crate) x: Scale,
    pub(crate) y: Scale,
}

impl Plane<'_> {
    /// Where the figures stand on the sheet.
    pub(crate) fn spot(&self, x: f64, y: f64) -> Spot {
        self.area.map_coordinate(&(self.x.place(x), self.y.place(y)))
    }

    /// The plane's left and right end.
    pub(crate) fn across(&self) -> (i32, i32) {
        let range = self.area.get_pixel_range().0;
        (range.start, range.end)
    }

    /// Where zero stands on the axis up, in pixels of the sheet.
    pub(crate) fn ground(&self) -> i32 {
        self.area.map_coordinate(&(self.x.low, self.y.place(0.0))).1
    }

    /// The plane's upper and lower end.
    pub(crate) fn down(&self) -> (i32, i32) {
        let range = self.area.get_pixel_range().1;
        (range.start, range.end)
    }
}

/// The width of the widest label of an axis.
pub(crate) fn labels_width(scale: &Scale) -> i32 {
    let widths = scale.ticks.iter().map(|tick| words::width(&tick.label, TICK_SIZE));
    widths.max().unwrap_or(0)
}

impl<'a> Sheet<'a> {
    /// A sheet on the canvas, whose chart lies between `top` and `bottom`.
    pub(crate) fn new(root: Root<'a>, width: Width, top: i32, bottom: i32) -> Sheet<'a> {
        Sheet { root, width, top, bottom }
    }

    /// Draws the axes of a plane.
    pub(crate) fn plane(&self, frame: Frame) -> Drawn<Plane<'a>> {
        let Frame { top, bottom, left, right, x, y, x_title, y_title } = frame;
        let title_height = if y_title.is_empty() { 0 } else { 230 };
        if !y_title.is_empty() {
            self.title(top, y_title)?;
        }
        let labels_height = if x_title.is_some() { 240 } else { 0 };
        let title_below = x_title.is_some_and(|title| !title.is_empty());
        let end = if title_below { bottom - 190 } else { bottom };
        let height = self.root.dim_in_pixel().1 as i32;
        let area = self.root.margin(top + title_height, height - end, 0, 0);
        let mut chart = ChartBuilder::on(&area)
            .margin_right(right)
            .margin_left(if y.ticks.is_empty() { left } else { 0 })
            .set_label_area_size(LabelAreaPosition::Bottom, labels_height)
            .set_label_area_size(LabelAreaPosition::Left, if y.ticks.is_empty() { 0 } else { left })
            .build_cartesian_2d(x.clone(), y.clone())?;
        chart
            .configure_mesh()
            .label_style(Label::FAINT.style())
            .axis_style(Ink::Faint.full().stroke_width(10))
            .bold_line_style(Ink::Grid.full().stroke_width(8))
            .light_line_style(Ink::Grid.pale(0.0))
            .set_all_tick_mark_size(30)
            .draw()?;
        if y.marks_zero && y.low < 0.0 && y.high > 0.0 {
            let ends = [(x.low, 0.0), (x.high, 0.0)];
            chart.draw_series([PathElement::new(ends, Ink::Faint.full().stroke_width(10))])?;
        }
        let plane = Plane { area: chart.plotting_area().clone(), x, y };
        if let Some(title) = x_title.filter(|_| title_below) {
            let (from, to) = plane.across();
            let title = words::lines(title, TICK_SIZE, self.width.units() - 20, 1).concat();
            let half = words::width(&title, TICK_SIZE) / 2;
            let at = ((from + to) / 2).min(self.width.units() - half).max(half);
            self.text((at, bottom - 90), &title, Label::FAINT.centred())?;
        }
        Ok(plane)
    }

    /// Writes the title of an axis that goes up, above it.
    pub(crate) fn title(&self, top: i32, title: &str) -> Drawn {
        let title = words::lines(title, TICK_SIZE, self.width.units() - 20, 1).concat();
        self.text((10, top + 80), &title, Label::FAINT)
    }

    /// Writes a text.
    pub(crate) fn text(&self, at: Spot, text: &str, label: Label) -> Drawn {
        self.root.draw(&Text::new(text, at, label.style()))
    }

    /// Draws a line through the spots.
    pub(crate) fn line(&self, spots: Vec<Spot>, ink: RGBAColor, width: u32) -> Drawn {
        if spots.len() < 2 {
            return Ok(());
        }
        self.root.draw(&PathElement::new(spots, ink.stroke_width(width)))
    }

    /// Fills a rectangle between two corners, whichever they are.
    pub(crate) fn filled(&self, from: Spot, to: Spot, ink: RGBAColor) -> Drawn {
        let corners = [(from.0.min(to.0), from.1.min(to.1)), (from.0.max(to.0), from.1.max(to.1))];
        self.root.draw(&Rectangle::new(corners, ShapeStyle::from(&ink).filled()))
    }

    /// Draws the outline of a rectangle between two corners.
    pub(crate) fn outlined(&self, from: Spot, to: Spot, ink: RGBAColor, width: u32) -> Drawn {
        let corners = [(from.0.min(to.0), from.1.min(to.1)), (from.0.max(to.0), from.1.max(to.1))];
        self.root.draw(&Rectangle::new(corners, ink.stroke_width(width)))
    }

    /// Fills a polygon.
    pub(crate) fn shape(&self, spots: Vec<Spot>, ink: RGBAColor) -> Drawn {
        if spots.len() < 3 {
            return Ok(());
        }
        self.root.draw(&Polygon::new(spots, ink))
    }

    /// Draws a series' marker: each series has a shape of its own.
    pub(crate) fn marker(&self, at: Spot, series: usize, radius: i32) -> Drawn {
        let ink = Ink::Series(series).full();
        let width = (radius as u32 / 3).max(8);
        let around = |corners: &[Spot]| -> Vec<Spot> {
            let corners = corners.iter();
            corners.map(|(x, y)| (at.0 + x * radius / 100, at.1 + y * radius / 100)).collect()
        };
        match series {
            0 => self.root.draw(&Circle::new(at, radius, ink.filled())),
            1 => self.line(around(&[(0, -120), (115, 80), (-115, 80), (0, -120)]), ink, width),
            2 => self.filled(around(&[(-90, -90)])[0], around(&[(90, 90)])[0], ink),
            3 => {
                let corners = around(&[(0, -130), (130, 0), (0, 130), (-130, 0), (0, -130)]);
                self.line(corners, ink, width)
            }
            4 => {
                self.line(around(&[(-100, -100), (100, 100)]), ink, width)?;
                self.line(around(&[(-100, 100), (100, -100)]), ink, width)
            }
            _ => {
                self.line(around(&[(-130, 0), (130, 0)]), ink, width)?;
                self.line(around(&[(0, -130), (0, 130)]), ink, width)
            }
        }
    }

    /// Draws a dot of a series' colour: where points are many and of one series.
    pub(crate) fn dot(&self, at: Spot, series: usize, radius: i32) -> Drawn {
        self.root.draw(&Circle::new(at, radius, Ink::Series(series).pale(0.6).filled()))
    }

    /// Draws a series' bar: the first filled, the others paler, with outlines of their own dashes.
    pub(crate) fn series_bar(&self, from: Spot, to: Spot, series: usize) -> Drawn {
        if series == 0 {
            return self.filled(from, to, Ink::Series(0).full());
        }
        self.filled(from, to, Ink::Series(series).pale(0.55))?;
        self.outlined(from, to, Ink::Dashed(series).full(), 14)
    }

    /// Draws an interval as a line with bars at its ends.
    pub(crate) fn whisker(&self, from: Spot, to: Spot, ink: RGBAColor, cap: i32) -> Drawn {
        let (dx, dy) = if from.1 == to.1 { (0, cap) } else { (cap, 0) };
        self.line(vec![from, to], ink, 16)?;
        for end in [from, to] {
            self.line(vec![(end.0 - dx, end.1 - dy), (end.0 + dx, end.1 + dy)], ink, 16)?;
        }
        Ok(())
    }
}

/// A stroke or a filling of a colour.
trait Styled {
    fn stroke_width(self, width: u32) -> ShapeStyle;
    fn filled(self) -> ShapeStyle;
}

impl Styled for RGBAColor {
    fn stroke_width(self, width: u32) -> ShapeStyle {
        ShapeStyle { color: self, filled: false, stroke_width: width }
    }

    fn filled(self) -> ShapeStyle {
        ShapeStyle { color: self, filled: true, stroke_width: 0 }
    }
}

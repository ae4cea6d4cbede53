//! Points and the line that was fitted to them, such as a saw-tooth.

use report::number;

use super::{Point, say_empty, x_ticks};
use crate::draw::{Axis, Drawn, Frame, Ink, Key, Sample, Scale, Sheet, Spot, Width, labels_width};
use crate::figure::Draw;

/// Points and a fitted line.
pub struct Curve {
    /// The axis to the right.
    pub x: Axis,
    /// The axis up.
    pub y: Axis,
    /// What the points are.
    pub points_name: String,
    /// The points.
    pub points: Vec<Point>,
    /// The line, if one was fitted.
    pub fit: Option<Fit>,
}

/// A fitted line.
pub struct Fit {
    /// What was fitted.
    pub name: String,
    /// The line's pieces, from left to right; it jumps from one to the next, as a saw-tooth does.
    pub pieces: Vec<Vec<Point>>,
}

impl Curve {
    fn all(&self) -> impl Iterator<Item = &Point> {
        let fitted = self.fit.iter().flat_map(|fit| fit.pieces.iter().flatten());
        self.points.iter().chain(fitted)
    }
}

impl Draw for Curve {
    fn keys(&self) -> Vec<Key> {
        let fit = self.fit.as_ref().map(|fit| Key::new(Sample::SolidLine(1), &fit.name));
        [Key::new(Sample::Point(0), &self.points_name)].into_iter().chain(fit).collect()
    }

    fn height(&self, width: Width) -> i32 {
        width.choose(3_400, 3_000)
    }

    fn draw(&self, sheet: &Sheet) -> Drawn {
        let y = Scale::over(&self.y, self.all().map(|point| point.y), 6);
        let plane = sheet.plane(Frame {
            top: sheet.top,
            bottom: sheet.bottom,
            left: labels_width(&y) + 110,
            right: 300,
            x: Scale::over(&self.x, self.all().map(|point| point.x), x_ticks(sheet.width)),
            y,
            x_title: Some(&self.x.title()),
            y_title: &self.y.title(),
        })?;
        if self.all().next().is_none() {
            return say_empty(sheet);
        }
        for point in &self.points {
            sheet.dot(plane.spot(point.x, point.y), 0, 24)?;
        }
        let pieces = self.fit.iter().flat_map(|fit| &fit.pieces);
        for piece in pieces {
            let line: Vec<Spot> = piece.iter().map(|point| plane.spot(point.x, point.y)).collect();
            sheet.line(line, Ink::Series(1).full(), 26)?;
        }
        Ok(())
    }

    fn description(&self) -> String {
        let fit = self.fit.as_ref().map_or(String::new(), |fit| format!(", and {}", fit.name));
        let count = number::counted(self.points.len() as u64, "point");
        let (x, y) = (self.x.title(), self.y.title());
        format!("{y} by {x}: {count} of {}{fit}.", self.points_name)
    }
}

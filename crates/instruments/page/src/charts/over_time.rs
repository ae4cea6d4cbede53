//! The blocks of an experiment over time: points by side, an estimate as it runs, moments that are
//! marked, and below, another figure over the same time.

use report::number;

use super::{Estimate, Point, draw_zone, say_empty, x_ticks, zone_key};
use crate::draw::{
    Axis, Drawn, Frame, Ink, Key, Label, Plane, Sample, Scale, Sheet, Spot, Width, labels_width,
    text_lines, text_width,
};
use crate::figure::Draw;

/// The height of a row of labels of marks.
const MARK_ROW: i32 = 150;
/// The space right of the planes.
const RIGHT: i32 = 300;
/// The most rows of labels.
const MARK_ROWS_MAX: usize = 3;

/// Figures over time.
pub struct OverTime {
    /// The time, with its unit.
    pub time: Axis,
    /// What is measured.
    pub axis: Axis,
    /// The sides, six together with the running estimates at most (PG6).
    pub sides: Vec<Side>,
    /// Estimates as they run.
    pub running: Vec<Running>,
    /// Moments that are marked.
    pub marks: Vec<Mark>,
    /// Another figure over the same time, in a panel below.
    pub covariate: Option<Covariate>,
    /// Of differences: those up to this size, in both directions, don't matter. Above 0.
    pub indifference: Option<f64>,
}

/// The points of one side.
pub struct Side {
    /// The side's name, such as `A`.
    pub name: String,
    /// When, and how much.
    pub points: Vec<Point>,
}

/// An estimate as it runs.
pub struct Running {
    /// What is estimated.
    pub name: String,
    /// The estimate after each moment, in order of time.
    pub points: Vec<RunningPoint>,
}

/// An estimate after some time.
pub struct RunningPoint {
    /// When.
    pub at: f64,
    /// The estimate and its interval then.
    pub estimate: Estimate,
}

/// A moment that is marked by a vertical line.
pub struct Mark {
    /// When.
    pub at: f64,
    /// What happened, in a word or two. Where labels would overlap, some aren't written.
    pub label: String,
}

/// Another figure over the same time, such as the CPU that neighbours took.
pub struct Covariate {
    /// What is measured.
    pub axis: Axis,
    /// When, and how much.
    pub points: Vec<Point>,
}

impl OverTime {
    /// The scale of time; wide enough that all panels share it.
    fn time_scale(&self, width: Width) -> Scale {
        let sides = self.sides.iter().flat_map(|side| &side.points);
        let covariate = self.covariate.iter().flat_map(|covariate| &covariate.points);
        let running = self.running.iter().flat_map(|running| &running.points);
        let times = sides.chain(covariate).map(|point| point.x);
        let times = times.chain(running.map(|point| point.at));
        let times = times.chain(self.marks.iter().map(|mark| mark.at));
        Scale::over(&self.time, times, x_ticks(width))
    }

    fn scale(&self) -> Scale {
        let sides = self.sides.iter().flat_map(|side| side.points.iter().map(|point| point.y));
        let running = self.running.iter().flat_map(|running| &running.points);
        let running = running.flat_map(|at| at.estimate.figures());
        let zone = self.indifference.into_iter().flat_map(|size| [-size, size]);
        Scale::over(&self.axis, sides.chain(running).chain(zone), 6)
    }

    fn covariate_height(&self) -> i32 {
        if self.covariate.is_some() { 1_500 } else { 0 }
    }

    /// The space left of the planes, for the labels of both.
    fn left(&self) -> i32 {
        let below = self.covariate.as_ref().map(|of| labels_width(&of.scale()));
        labels_width(&self.scale()).max(below.unwrap_or(0)) + 110
    }

    /// The labels of marks that are written: each in the lowest row that is free there.
    fn labels(&self, width: Width) -> Vec<MarkLabel> {
        let time = self.time_scale(width);
        let (left, across) = (self.left(), width.units() - self.left() - RIGHT);
        let mut ends = [i32::MIN; MARK_ROWS_MAX];
        let mut marks: Vec<&Mark> = self.marks.iter().collect();
        marks.sort_by(|a, b| a.at.total_cmp(&b.at));
        let labels = marks.into_iter().filter_map(|mark| {
            let size = Label::FAINT.size;
            let text = text_lines(&mark.label, size, width.units() / 3, 1).concat();
            let half = text_width(&text, size) / 2;
            let share = (time.place(mark.at) - time.low) / (time.high - time.low);
            let x = left + (share * f64::from(across)) as i32;
            let x = x.min(width.units() - half - 10).max(half + 10);
            let row = (0..MARK_ROWS_MAX).find(|row| ends[*row] < x - half - 60)?;
            ends[row] = x + half;
            Some(MarkLabel { at: mark.at, text, x, row: row as i32 })
        });
        labels.collect()
    }

    fn labels_height(&self, width: Width) -> i32 {
        let rows = self.labels(width).into_iter().map(|label| label.row + 1);
        rows.max().unwrap_or(0) * MARK_ROW
    }

    fn draw_marks(&self, sheet: &Sheet, plane: &Plane) -> Drawn {
        let (top, bottom) = plane.down();
        for mark in &self.marks {
            let x = plane.spot(mark.at, plane.y.low).0;
            sheet.line(vec![(x, top), (x, bottom)], Ink::Faint.pale(0.55), 10)?;
        }
        Ok(())
    }

    fn draw_labels(&self, sheet: &Sheet, plane: &Plane) -> Drawn {
        let (top, _) = plane.down();
        for MarkLabel { at, text, x, row } in self.labels(sheet.width) {
            let at = plane.spot(at, plane.y.low).0;
            let y = top - 90 - MARK_ROW * row;
            sheet.line(vec![(at, top), (at, y + 60)], Ink::Faint.pale(0.55), 10)?;
            sheet.text((x, y), &text, Label::FAINT.centred())?;
        }
        Ok(())
    }

    fn draw_running(&self, sheet: &Sheet, plane: &Plane) -> Drawn {
        for (index, running) in self.running.iter().enumerate() {
            let series = self.sides.len() + index;
            let along = |figure: fn(&Estimate) -> f64| -> Vec<Spot> {
                let points = running.points.iter();
                points.map(|point| plane.spot(point.at, figure(&point.estimate))).collect()
            };
            let mut band = along(|estimate| estimate.high);
            band.extend(along(|estimate| estimate.low).into_iter().rev());
            sheet.shape(band, Ink::Series(series).pale(0.18))?;
            sheet.line(along(|estimate| estimate.value), Ink::Dashed(series).full(), 24)?;
        }
        Ok(())
    }

    fn draw_covariate(&self, sheet: &Sheet, x: Scale, left: i32, top: i32) -> Drawn {
        let Some(covariate) = &self.covariate else { return Ok(()) };
        let plane = sheet.plane(Frame {
            top,
            bottom: sheet.bottom,
            left,
            right: RIGHT,
            x,
            y: covariate.scale(),
            x_title: Some(&self.time.title()),
            y_title: &covariate.axis.title(),
        })?;
        self.draw_marks(sheet, &plane)?;
        let mut points: Vec<&Point> = covariate.points.iter().collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        let line: Vec<Spot> = points.iter().map(|point| plane.spot(point.x, point.y)).collect();
        let (Some(first), Some(last)) = (line.first(), line.last()) else { return Ok(()) };
        if first == last {
            let (from, to) = ((first.0 - 20, first.1 - 20), (first.0 + 20, first.1 + 20));
            return sheet.filled(from, to, Ink::Text.full());
        }
        let ground = plane.down().1;
        let mut under = line.clone();
        under.extend([(last.0, ground), (first.0, ground)]);
        sheet.shape(under, Ink::Faint.pale(0.22))?;
        sheet.line(line, Ink::Text.full(), 12)
    }
}

/// A label of a mark: where its middle stands, and in which row from below.
struct MarkLabel {
    at: f64,
    text: String,
    x: i32,
    row: i32,
}

impl Covariate {
    /// The scale, from zero on if the figures come near it.
    fn scale(&self) -> Scale {
        let figures: Vec<f64> = self.points.iter().map(|point| point.y).collect();
        let low = figures.iter().copied().fold(f64::INFINITY, f64::min);
        let high = figures.iter().copied().fold(0.0, f64::max);
        if low < 0.0 || low > high / 2.0 {
            return Scale::over(&self.axis, figures, 4);
        }
        let all = figures.iter().copied().chain([0.0]);
        Scale::over(&self.axis, all, 4).standing_on_zero(&figures)
    }
}

impl Draw for OverTime {
    fn keys(&self) -> Vec<Key> {
        let sides = self.sides.iter().enumerate();
        let sides = sides.map(|(index, side)| Key::new(Sample::Point(index), &side.name));
        let running = self.running.iter().enumerate().map(|(index, running)| {
            Key::new(Sample::Band(self.sides.len() + index), &running.name)
        });
        let all = sides.chain(running);
        let moment = (!self.marks.is_empty()).then(|| Key::new(Sample::Moment, "marked moment"));
        let zone = self.indifference.map(|size| zone_key(&self.axis, size));
        all.chain(moment).chain(zone).collect()
    }

    fn height(&self, width: Width) -> i32 {
        width.choose(3_400, 3_000) + self.labels_height(width) + self.covariate_height()
    }

    fn draw(&self, sheet: &Sheet) -> Drawn {
        let (x, y, left) = (self.time_scale(sheet.width), self.scale(), self.left());
        let bottom = sheet.bottom - self.covariate_height();
        let time = self.time.title();
        sheet.title(sheet.top, &self.axis.title())?;
        let plane = sheet.plane(Frame {
            top: sheet.top + 230 + self.labels_height(sheet.width),
            bottom,
            left,
            right: RIGHT,
            x: x.clone(),
            y,
            x_title: if self.covariate.is_some() { None } else { Some(&time) },
            y_title: "",
        })?;
        if let Some(size) = self.indifference {
            let (left, right) = plane.across();
            let at = |figure: f64| plane.spot(plane.x.low, figure).1;
            draw_zone(sheet, (left, at(size)), (right, at(-size)))?;
        }
        self.draw_marks(sheet, &plane)?;
        self.draw_labels(sheet, &plane)?;
        for (index, side) in self.sides.iter().enumerate() {
            for point in &side.points {
                sheet.marker(plane.spot(point.x, point.y), index, 36)?;
            }
        }
        self.draw_running(sheet, &plane)?;
        if self.sides.iter().all(|side| side.points.is_empty())
            && self.running.iter().all(|running| running.points.is_empty())
        {
            say_empty(sheet)?;
        }
        self.draw_covariate(sheet, x, left, bottom + 130)
    }

    fn description(&self) -> String {
        let sides = self.sides.iter().map(|side| {
            let count = number::counted(side.points.len() as u64, "point");
            format!("{}, {count}", side.name)
        });
        let running = self.running.iter().map(|running| {
            let last = running.points.last().map(|at| at.estimate.text(&self.axis));
            format!("{}, in the end {}", running.name, last.unwrap_or_else(|| "nothing".into()))
        });
        let all: Vec<String> = sides.chain(running).collect();
        let marks = self
            .marks
            .iter()
            .map(|mark| format!("{} at {}", mark.label, self.time.figure_known_to(mark.at, 0.0)));
        let marks = marks.collect::<Vec<_>>().join(", ");
        let marks = if marks.is_empty() { marks } else { format!(" Marked: {marks}.") };
        let below = self.covariate.as_ref().map(|of| format!(" Below: {}.", of.axis.title()));
        let (title, time) = (self.axis.title(), self.time.title());
        format!("{title} over {time}: {}.{marks}{}", all.join("; "), below.unwrap_or_default())
    }
}

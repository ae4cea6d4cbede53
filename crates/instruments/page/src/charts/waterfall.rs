//! From one total to another by parts, each beginning where the one before it ended.
//!
//! ```text
//!   A        ███████████████▏
//!   CPU                ░░░░▏|         a part that may be nothing is pale
//!   reads         ▓▓▓▓▓|
//!   B        █████▏
//! ```

use super::{Estimate, x_ticks};
use crate::draw::{
    Axis, Drawn, Ink, Key, Plane, Row, Rows, Sample, Scale, Sheet, Spot, Width, decimals_for,
};
use crate::figure::Draw;

/// How much of the largest total the parts may miss before that is a row of its own.
const MISSED_SHARE: f64 = 0.005;
/// If all ends of bars lie within less than this share of the largest, the axis doesn't begin at 0.
const SPAN_SHARE_MIN: f64 = 0.3;

/// A waterfall.
pub struct Waterfall {
    /// What is split into parts.
    pub axis: Axis,
    /// The name of the first total, such as `A`.
    pub from_name: String,
    /// The first total.
    pub from: f64,
    /// The name of the second total.
    pub to_name: String,
    /// The second total.
    pub to: f64,
    /// The parts of the difference, in the order in which they are drawn. If they don't sum to the
    /// difference, to half a per cent of the larger total, the rest is a row too.
    pub parts: Vec<Part>,
}

/// A part of a difference.
pub struct Part {
    /// What differs.
    pub name: String,
    /// By how much: below 0 if the second total has less of it.
    pub difference: Estimate,
    /// Whether it is certain that it isn't nothing. Others are drawn pale.
    pub is_certain: bool,
}

/// A bar to be drawn.
struct Bar {
    from: f64,
    to: f64,
    kind: BarKind,
    whisker: Option<(f64, f64)>,
}

#[derive(Clone, Copy, PartialEq)]
enum BarKind {
    Total,
    Certain,
    Uncertain,
}

impl Waterfall {
    /// What the parts don't explain, if it is worth a row.
    fn rest(&self) -> Option<f64> {
        let parts: f64 = self.parts.iter().map(|part| part.difference.value).sum();
        let rest = self.to - self.from - parts;
        (rest.abs() > MISSED_SHARE * self.from.abs().max(self.to.abs())).then_some(rest)
    }

    fn bars(&self) -> Vec<Bar> {
        let total = |to| Bar { from: 0.0, to, kind: BarKind::Total, whisker: None };
        let mut bars = vec![total(self.from)];
        let mut at = self.from;
        for part in &self.parts {
            let Estimate { value, low, high } = part.difference;
            let kind = if part.is_certain { BarKind::Certain } else { BarKind::Uncertain };
            let whisker = part.difference.has_interval().then_some((at + low, at + high));
            bars.push(Bar { from: at, to: at + value, kind, whisker });
            at += value;
        }
        if let Some(rest) = self.rest() {
            let kind = BarKind::Uncertain;
            bars.push(Bar { from: at, to: at + rest, kind, whisker: None });
        }
        bars.push(total(self.to));
        bars
    }

    /// A total in text.
    fn total(&self, total: f64) -> String {
        self.axis.figure(total, decimals_for(self.from.abs().max(self.to.abs()), 0.0))
    }

    fn rows(&self, width: Width) -> Rows {
        let plain =
            |name: &str, value: f64| Row { name: name.to_owned(), figure: self.total(value) };
        let difference = self.axis.clone().signed();
        let mut rows = vec![plain(&self.from_name, self.from)];
        for part in &self.parts {
            let figure = match width {
                Width::Wide => part.difference.text(&difference),
                Width::Narrow => part.difference.value_text(&difference),
            };
            rows.push(Row { name: part.name.clone(), figure });
        }
        if let Some(rest) = self.rest() {
            let figure = difference.figure_known_to(rest, 0.0);
            rows.push(Row { name: "in none of these".to_owned(), figure });
        }
        rows.push(plain(&self.to_name, self.to));
        Rows { rows, height: 170 }
    }

    /// The scale. When all happens far from zero, it doesn't begin there.
    fn scale(&self, bars: &[Bar], ticks: usize) -> Scale {
        let ends = |bar: &Bar| [Some(bar.to), bar.whisker.map(|w| w.0), bar.whisker.map(|w| w.1)];
        let figures: Vec<f64> = bars.iter().flat_map(ends).flatten().collect();
        let low = figures.iter().copied().fold(f64::INFINITY, f64::min);
        let high = figures.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let reach = low.abs().max(high.abs());
        if high - low < SPAN_SHARE_MIN * reach && low.signum() == high.signum() {
            return Scale::over(&self.axis, figures, ticks);
        }
        let all = figures.iter().copied().chain([0.0]);
        Scale::over(&self.axis, all, ticks).standing_on_zero(&figures)
    }

    fn draw_bar(&self, bar: &Bar, y: i32, sheet: &Sheet, plane: &Plane) -> Drawn {
        let at = |figure: f64, down: i32| (plane.spot(figure, 0.0).0, y + down);
        let (from, to): (Spot, Spot) = (at(bar.from, -70), at(bar.to, 70));
        match bar.kind {
            BarKind::Total => {
                sheet.filled(from, to, Ink::Series(0).full())?;
                if plane.x.low > 0.0 {
                    draw_break(from, sheet)?;
                }
            }
            BarKind::Certain => sheet.filled(from, to, Ink::Series(1).full())?,
            BarKind::Uncertain => {
                sheet.filled(from, to, Ink::Series(1).pale(0.25))?;
                sheet.outlined(from, to, Ink::Dashed(1).full(), 10)?;
            }
        }
        if bar.from == bar.to && bar.kind != BarKind::Total {
            sheet.line(vec![at(bar.to, -70), at(bar.to, 70)], Ink::Series(1).full(), 16)?;
        }
        match bar.whisker {
            Some((low, high)) => sheet.whisker(at(low, 0), at(high, 0), Ink::Text.full(), 30),
            None => Ok(()),
        }
    }
}

/// Breaks a bar that doesn't begin at zero, near its lower end.
fn draw_break(from: Spot, sheet: &Sheet) -> Drawn {
    let (x, top, bottom) = (from.0 + 130, from.1 - 20, from.1 + 160);
    let gap = vec![(x, bottom), (x + 60, top), (x + 120, top), (x + 60, bottom)];
    sheet.shape(gap, Ink::Paper.full())
}

impl Draw for Waterfall {
    fn keys(&self) -> Vec<Key> {
        vec![
            Key::new(Sample::Bar(0), "total"),
            Key::new(Sample::Bar(1), "part that is certain"),
            Key::new(Sample::PaleBar(1), "part that may be nothing"),
            Key::new(Sample::TextWhisker, "interval"),
        ]
    }

    fn height(&self, width: Width) -> i32 {
        self.rows(width).total_height(width)
    }

    fn draw(&self, sheet: &Sheet) -> Drawn {
        let (rows, bars) = (self.rows(sheet.width), self.bars());
        let scale = self.scale(&bars, x_ticks(sheet.width));
        let begins_at_zero = scale.low <= 0.0 && scale.high >= 0.0;
        let note = if begins_at_zero { "" } else { " (the axis doesn't begin at 0)" };
        let plane = rows.plane(sheet, scale, &format!("{}{note}", self.axis.title()))?;
        for (index, bar) in bars.iter().enumerate() {
            let y = rows.middle(index, sheet);
            if index + 1 < bars.len() {
                let x = plane.spot(bar.to, 0.0).0;
                let ends = vec![(x, y), (x, rows.middle(index + 1, sheet))];
                sheet.line(ends, Ink::Faint.full(), 8)?;
            }
            self.draw_bar(bar, y, sheet, &plane)?;
        }
        rows.write(sheet, &plane)
    }

    fn description(&self) -> String {
        let signed = self.axis.clone().signed();
        let parts = self.parts.iter().map(|part| {
            let certain = if part.is_certain { "" } else { ", which may be nothing" };
            format!("{}: {}{certain}", part.name, part.difference.text(&signed))
        });
        let rest = self.rest().map(|rest| signed.figure_known_to(rest, 0.0));
        let rest = rest.map(|rest| format!("in none of these: {rest}"));
        let parts: Vec<String> = parts.chain(rest).collect();
        let (from, to) = (self.total(self.from), self.total(self.to));
        format!(
            "{}: from {} {from} to {} {to}. {}.",
            self.axis.title(),
            self.from_name,
            self.to_name,
            parts.join("; ")
        )
    }
}

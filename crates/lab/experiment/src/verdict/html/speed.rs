//! The yardsticks: forest plots of what differs by how much, and their table.
//!
//! Callers: `html`.

use page::{Axis, Chart, EstimateText, Figure, IntervalRow, Intervals, Section, Table};
use report::number::{change, share};

use super::{estimate, percent};
use crate::Level;
use crate::verdict::Verdict;
use crate::verdict::yardsticks::{Kind, Line, UNBOUNDED, figures, shown_unit};

/// A row whose interval is longer than this many per cent, and holds zero, says nothing, and would
/// make all others of its chart short.
const LENGTH_MAX: f64 = 150.0;

pub(super) fn write(of: &Verdict, section: &mut Section) {
    let (yardsticks, b) = (&of.yardsticks, of.level);
    if yardsticks.lines.is_empty() {
        section.paragraph("There are too few rounds.");
        return;
    }
    let how = format!(
        "Each row is {b} against A, and the bar is the interval in which the difference lies in {} \
         of experiments. To the right of zero, {b} has more.{}",
        share(1.0 - of.rule.shared_by(of.settings).error),
        match yardsticks.adjusted(b) {
            Some(note) => format!(" {note}"),
            None => " The sums of all runs of a side are divided.".to_owned(),
        }
    );
    let caption = format!(
        "{how} Faster is to the right for throughput, and to the left for latencies. Latencies \
         are means of the runs' percentiles."
    );
    forest("Speed", caption, &[Kind::Throughput, Kind::Latency], of, section);
    let caption = format!(
        "{how} Work is what must be the same on both sides; if it isn't, they weren't asked to do \
         the same."
    );
    let kinds = [Kind::Cost, Kind::Work];
    forest("Cost and work of a transaction", caption, &kinds, of, section);
    section.table(table(&yardsticks.lines, b));
}

fn forest(title: &str, caption: String, kinds: &[Kind], of: &Verdict, section: &mut Section) {
    let of_kinds = of.yardsticks.lines.iter().filter(|line| kinds.contains(&line.kind));
    let (wide, drawn): (Vec<&Line>, Vec<&Line>) = of_kinds.partition(|line| {
        let is_wide = |[low, high]: [f64; 2]| high - low > LENGTH_MAX && low <= 0.0 && high >= 0.0;
        line.interval.is_none_or(|interval| is_wide(interval.map(percent)))
    });
    let row = |line: &&Line| {
        let estimate = estimate(percent(line.ratio), line.interval?.map(percent))?;
        let value = change(line.ratio);
        let whole = format!("{value} ({})", line.interval_text());
        let text = Some(EstimateText { value, whole });
        Some(IntervalRow { name: line.name.to_owned(), estimate, text })
    };
    let rows: Vec<IntervalRow> = drawn.iter().filter_map(row).collect();
    if rows.is_empty() && wide.is_empty() {
        return;
    }
    let chart = Chart::Intervals(Intervals {
        axis: Axis::new(format!("{} against A", of.level), "%").signed(),
        rows,
        indifference: Some(of.rule.threshold * 100.0),
    });
    let names: Vec<&str> = wide.iter().map(|line| line.name).collect();
    let left_out = match names.is_empty() {
        true => String::new(),
        false => format!(" Too uncertain to be drawn: {}.", names.join(", ")),
    };
    section.figure(Figure::new(title, caption + &left_out, &chart));
}

fn table(lines: &[Line], b: Level) -> Table {
    let mut caption =
        "The same in figures. The last column is empty where no difference was seen.".to_owned();
    if lines.iter().any(Line::is_unbounded) {
        caption += &format!(" {UNBOUNDED}");
    }
    let mut table =
        Table::new(&caption, ["", "A", &b.to_string(), &format!("{b} / A"), "interval", ""]);
    for line in lines {
        let interval = match line.interval {
            None => line.interval_text(),
            Some(interval) => interval.map(change).join(" to "),
        };
        let word = if line.difference == "not seen" { "" } else { line.difference };
        let [of_a, of_b] =
            figures([line.a, line.b], line.unit).map(|figure| with_unit(&figure, line.unit));
        table.row([line.name, &of_a, &of_b, &change(line.ratio), &interval, word]);
    }
    table
}

fn with_unit(figure: &str, unit: &'static str) -> String {
    let shown = shown_unit(unit);
    let blank = if shown.is_empty() || shown.starts_with('/') { "" } else { " " };
    format!("{figure}{blank}{shown}")
}

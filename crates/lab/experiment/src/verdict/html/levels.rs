//! All settings, where there are more than two: a figure for each, and their table.
//!
//! Callers: `html`.

use page::{Axis, Chart, Estimate, Figure, LevelSeries, Section, Table};
use report::number::change;

use super::{estimate, percent};
use crate::verdict::levels::{Against, Levels, Line};
use crate::verdict::yardsticks::figure;
use crate::{Level, Measure};

pub(super) fn write(of: &Levels, section: &mut Section) {
    section.definitions(of.answers());
    let speed = chart(of, of.measure.name(), |line| line.against_a);
    let title = match of.measure {
        Measure::Throughput => "Throughput of each setting",
        _ => "Latency of each setting",
    };
    section.figure(Figure::new(title, caption(of), &speed));
    let cpu = chart(of, "CPU of the instance a transaction", |line| line.cpu_against_a);
    section.figure(Figure::new("CPU of each setting", caption(of), &cpu));
    section.table(table(of));
}

fn caption(of: &Levels) -> String {
    let letters: Vec<String> = match factor(of) {
        Some(_) => Vec::new(),
        None => of.lines.iter().map(|line| format!("{}: {}", line.level, line.setting)).collect(),
    };
    let names = match letters.is_empty() {
        true => String::new(),
        false => format!(" {}.", letters.join("; ")),
    };
    format!(
        "Each setting against the first, A, with its interval; A is zero. Where the intervals of \
         two settings overlap, neither is better for certain. A point without an interval is \
         uncertain beyond the chart.{names}"
    )
}

fn chart(of: &Levels, what: &str, against: fn(&Line) -> Option<Against>) -> Chart {
    let point = |line: &Line| -> Option<Estimate> {
        if line.level == Level::A {
            return Some(Estimate::exact(0.0));
        }
        let against = against(line)?;
        match against.told() {
            None => Some(Estimate::exact(percent(against.ratio))),
            Some(ends) => estimate(percent(against.ratio), ends.map(percent)),
        }
    };
    let factor = factor(of);
    let name = |line: &Line| match (&factor, line.setting.split_once(" = ")) {
        (Some(_), Some((_, value))) => value.to_owned(),
        _ => line.level.to_string(),
    };
    Chart::Levels(page::Levels {
        levels: of.lines.iter().map(name).collect(),
        factor: factor.clone().unwrap_or_else(|| "setting".to_owned()),
        axis: Axis::new(format!("{what}, against A"), "%").signed(),
        series: vec![LevelSeries {
            name: what.to_owned(),
            estimates: of.lines.iter().map(point).collect(),
        }],
    })
}

/// The parameter, if the settings are values of one.
fn factor(of: &Levels) -> Option<String> {
    let name = |line: &Line| match line.setting.split_once(" = ") {
        Some((name, value)) if !value.contains(" = ") => Some(name.to_owned()),
        _ => None,
    };
    let first = name(of.lines.first()?)?;
    of.lines.iter().all(|line| name(line).as_ref() == Some(&first)).then_some(first)
}

const CAPTION: &str = "The same in figures. The first interval is that of throughput against A, \
                       the second that of the instance's CPU a transaction against A's. Writes \
                       are those of the device.";

fn table(of: &Levels) -> Table {
    let heads = [
        "",
        "setting",
        "tx/s",
        "to A",
        "interval",
        "real?",
        "matters?",
        "CPU/tx",
        "to A",
        "writes/tx",
    ];
    let mut table = Table::new(CAPTION, heads);
    let interval = |against: Option<Against>| match against {
        None => String::new(),
        Some(of) => match of.told() {
            None => "too long".to_owned(),
            Some(ends) => ends.map(change).join(" to "),
        },
    };
    for line in &of.lines {
        table.row([
            line.level.to_string(),
            line.setting.clone(),
            figure(line.throughput, "tx/s"),
            line.against_a.map_or_else(String::new, |of| change(of.ratio)),
            interval(line.against_a),
            line.against_a.map_or("", |of| of.real).to_owned(),
            line.against_a.map_or("", |of| of.matters).to_owned(),
            figure(line.cpu_ns, "ns"),
            interval(line.cpu_against_a),
            figure(line.device_writes, "/tx"),
        ]);
    }
    table
}

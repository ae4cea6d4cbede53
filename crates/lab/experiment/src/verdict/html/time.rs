//! Where a transaction's time goes: from A's to B's by its parts, and the tables.
//!
//! Callers: `html`.

use page::{Axis, Chart, Estimate, Figure, Part, Section, Table, Waterfall};
use report::number::{counted, fixed, signed};

use super::{is_shown, unit};
use crate::Level;
use crate::verdict::Verdict;
use crate::verdict::explanation::{self, Explanation};
use crate::verdict::time_table::{Scale, TimeTable, sessions};

/// A part that isn't certain, and is smaller than this share of the time, shares a row with others.
const SHARE_SHOWN: f64 = 0.003;
/// A whisker longer than this many times the time isn't drawn.
const WHISKER_TIMES: f64 = 1.5;

pub(super) fn write(of: &Verdict, section: &mut Section) {
    let b = of.level;
    waterfall(&of.explanation[0], &of.foreground, b, section);
    section.table(table(&of.foreground, "Sessions of users", b));
    section.paragraph(of.foreground.note(b));
    section.table(table(&of.background, "Processes of the instance", b));
    section.paragraph(of.background.note(b));
}

fn waterfall(explanation: &Explanation, times: &TimeTable, b: Level, section: &mut Section) {
    let (from, to) = (times.elapsed_ns_a, times.elapsed_ns_b);
    let all = || explanation.parts.iter();
    if !is_shown(from) || !is_shown(to) || all().any(|part| !is_shown(part.change.ns)) {
        section.paragraph("There are too few rounds.");
        return;
    }
    let largest = from.max(to);
    let (name, per_unit) = match largest {
        ns if ns < 9.999e6 => ("µs", 1e3),
        ns if ns < 9.999e9 => ("ms", 1e6),
        _ => ("s", 1e9),
    };
    let is_small = |part: &&explanation::Part| {
        !part.change.is_certain() && part.change.ns.abs() < SHARE_SHOWN * largest
    };
    let (small, shown): (Vec<_>, Vec<_>) = all().partition(is_small);
    let difference = |change: &explanation::Change| {
        let [low, high] = change.interval_ns;
        let has_whisker = is_shown(low) && is_shown(high) && high - low < WHISKER_TIMES * largest;
        let [value, low, high] = [change.ns, low, high].map(|ns| ns / per_unit);
        match has_whisker {
            true => Estimate::new(value, low, high),
            false => Estimate::exact(value),
        }
    };
    let part = |part: &&explanation::Part| Part {
        name: part.name.clone(),
        difference: difference(&part.change),
        is_certain: part.change.is_certain(),
    };
    let mut parts: Vec<Part> = shown.iter().map(part).collect();
    if !small.is_empty() {
        let sum = small.iter().map(|part| part.change.ns).sum::<f64>();
        parts.push(Part {
            name: counted(small.len() as u64, "other part"),
            difference: Estimate::exact(sum / per_unit),
            is_certain: false,
        });
    }
    let chart = Chart::Waterfall(Waterfall {
        axis: Axis::new("a session's time for a transaction", name),
        from_name: "A".to_owned(),
        from: from / per_unit,
        to_name: b.to_string(),
        to: to / per_unit,
        parts,
    });
    let caption = "All time of the sessions is divided by all transactions, on either side; the \
                   parts are wait events, CPU and run queue, and add up to the difference. A full \
                   bar is a part whose interval leaves zero out, with the same certainty as the \
                   verdict. A pale one may be nothing; it has no whisker if its interval is too \
                   long to be drawn.";
    section.figure(Figure::new(format!("From A's transaction to {b}'s"), caption, &chart));
}

fn table(of: &TimeTable, who: &str, b: Level) -> Table {
    let scale = Scale::of(of.elapsed_ns_a.max(of.elapsed_ns_b));
    let [of_a, of_b] = [of.sessions_a, of.sessions_b].map(sessions);
    let caption = format!("{who} (A {of_a}, {b} {of_b}), {} per transaction", unit(scale.name));
    let less = format!("{b}\u{a0}−\u{a0}A");
    let heads = ["", "A", &b.to_string(), &less, "wait A", &format!("wait {b}")];
    let mut table = Table::new(caption, heads);
    let rows = of.rows(scale);
    for row in &rows {
        let [a, b] = [row.a, row.b].map(|units| fixed(units, scale.decimals));
        let difference = signed(row.b - row.a, scale.decimals);
        table.row([&row.name, &a, &b, &difference, &unit(&row.mean_a), &unit(&row.mean_b)]);
    }
    let a: i64 = rows.iter().map(|row| row.a).sum();
    let b: i64 = rows.iter().map(|row| row.b).sum();
    let label = if of.idle.is_empty() { "elapsed" } else { "elapsed without idle" };
    let difference = signed(b - a, scale.decimals);
    table.total([label, &fixed(a, scale.decimals), &fixed(b, scale.decimals), &difference, "", ""]);
    table
}

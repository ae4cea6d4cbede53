//! Figures such as an experiment has them, on a page with every kind of chart. They are made up.
//!
//! Callers: the example `gallery`, and tests.

use page::{
    Axis, BarGroup, Bars, Chart, Covariate, Curve, Densities, Density, Estimate, Figure, Fit,
    IntervalRow, Intervals, LevelSeries, Levels, Mark, OverTime, Page, Part, Point, Running,
    RunningPoint, Side, Table, Waterfall,
};

/// Normal figures, the same on every run.
struct Dice(u64);

impl Dice {
    fn uniform(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

/// The whole page.
pub(crate) fn page() -> Page {
    let mut page = Page::new("dbwr-count: db_writer_processes = 1 (A) against 8 (B)");
    page.lead(
        "No difference seen. If there is any, it lies between −0.4 % and +1.6 %.",
        "B's throughput is 1.0061 of A's (+0.61 %; 95 % interval −0.4 % to +1.6 %, over 40 pairs). \
         Only 2 % would matter on this machine, so eight writers aren't worth the change.",
    );
    verdict(page.section("Is it real, and does it matter?"));
    time(page.section("Where time goes"));
    blocks(page.section("Every block of the experiment"));
    processes(page.section("What the processes took"));
    others(page.section("Levels and curves"));
    machine(page.section("Settings and machine"));
    page.foot("Reproduce this")
        .paragraph("The same seed gives the same order of runs. Figures differ by noise.")
        .preformatted(
            "forebay lab run dbwr-count --pairs 40 --seed 7 --threshold 2% --directory /scratch\n\
             forebay lab report results/2026-11-26-dbwr-count",
        );
    page
}

fn verdict(section: &mut page::Section) {
    let rows = [
        ("all pairs", 0.61, -0.40, 1.62),
        ("pairs before the first checkpoint", 0.32, -1.30, 1.94),
        ("pairs after it", 0.74, -0.35, 1.83),
        ("without blocks in which neighbours took CPU", 0.55, -0.21, 1.31),
        ("A/A (equal settings)", -0.08, -0.93, 0.77),
    ];
    let rows = rows.map(|(name, value, low, high)| IntervalRow {
        name: name.into(),
        estimate: Estimate::new(value, low, high),
        text: None,
    });
    let chart = Chart::Intervals(Intervals {
        axis: Axis::new("throughput, B against A", "%").signed(),
        rows: rows.into(),
        indifference: Some(2.0),
    });
    let caption = "All intervals lie within the grey band: whatever the difference is, it is too \
                   small to matter.";
    section.paragraph("Pairs of runs in random order, each pair next to each other in time.");
    section.figure(Figure::new("Difference of throughput", caption, &chart));
    let chart = Chart::Densities(Densities {
        axis: Axis::new("commit", "µs").logarithmic(),
        series: vec![density("A: 1 writer", 3, 6.75, 0.22), density("B: 8 writers", 5, 6.80, 0.27)],
    });
    let caption = "Each stroke below is the median of one block.";
    section.figure(Figure::new("How long a commit takes", caption, &chart));
}

/// A log-normal sample with its kernel density.
fn density(name: &str, seed: u64, mean: f64, deviation: f64) -> Density {
    let mut dice = Dice(seed);
    let mut logs: Vec<f64> = (0..40).map(|_| mean + deviation * dice.normal()).collect();
    logs.sort_by(f64::total_cmp);
    let bandwidth = 0.45 * deviation;
    let curve = (0..=120).map(|step| {
        let x = mean - 0.9 + 1.8 * f64::from(step) / 120.0;
        let y = logs.iter().map(|log| (-((x - log) / bandwidth).powi(2) / 2.0).exp()).sum();
        Point { x: x.exp(), y }
    });
    Density {
        name: name.into(),
        curve: curve.collect(),
        median: Some(((logs[19] + logs[20]) / 2.0).exp()),
        strokes: logs.iter().map(|log| log.exp()).collect(),
    }
}

fn time(section: &mut page::Section) {
    let parts = [
        ("log file sync", -17.0, -26.0, -8.0, true),
        ("db file sequential read", -2.0, -7.0, 3.0, false),
        ("enq: TX - row lock contention", 2.0, -3.0, 7.0, false),
        ("CPU", 1.0, -0.5, 2.5, false),
        ("log file switch (checkpoint incomplete)", 5.0, 2.0, 8.0, true),
        ("unaccounted", -1.0, -1.4, -0.6, true),
    ];
    let parts = parts.map(|(name, value, low, high, is_certain)| Part {
        name: name.into(),
        difference: Estimate::new(value, low, high),
        is_certain,
    });
    let chart = Chart::Waterfall(Waterfall {
        axis: Axis::new("time of a transaction", "µs"),
        from_name: "A: 1 writer".into(),
        from: 1_167.0,
        to_name: "B: 8 writers".into(),
        to: 1_155.0,
        parts: parts.into(),
    });
    section.figure(Figure::new("From A's transaction to B's", "", &chart));
    let chart = Chart::Waterfall(Waterfall {
        axis: Axis::new("time of a transaction", "ms"),
        from_name: "buffered".into(),
        from: 14.2,
        to_name: "direct".into(),
        to: 5.9,
        parts: vec![
            part("free buffer waits", -7.4, -8.1, -6.7, true),
            part("db file sequential read", 0.9, 0.2, 1.6, true),
            part("log file sync", -0.6, -1.5, 0.3, false),
        ],
    });
    let caption = "Here the parts miss a part of the difference, and the chart says so.";
    section.figure(Figure::new("A large difference", caption, &chart));
    let heads = ["Foreground, µs per transaction", "A", "B", "B − A", "wait A", "wait B"];
    let mut table = Table::new("Where time goes (sessions: A 12, B 12)", heads);
    table.row(["log file sync", "871", "854", "−17", "631 µs", "624 µs"]);
    table.row(["db file sequential read", "154", "152", "−2", "187 µs", "186 µs"]);
    table.row(["enq: TX - row lock contention", "74", "76", "+2", "696 µs", "688 µs"]);
    table.row(["CPU", "54", "55", "+1", "", ""]);
    table.row(["log file switch (checkpoint incomplete)", "13", "18", "+5", "8.87 ms", "13.0 ms"]);
    table.row(["unaccounted", "1", "0", "−1", "", ""]);
    table.total(["elapsed", "1,167", "1,155", "−12", "", ""]);
    section.table(table);
}

fn part(name: &str, value: f64, low: f64, high: f64, is_certain: bool) -> Part {
    Part { name: name.into(), difference: Estimate::new(value, low, high), is_certain }
}

fn blocks(section: &mut page::Section) {
    let mut dice = Dice(11);
    let mut sides: [Vec<Point>; 2] = [Vec::new(), Vec::new()];
    let (mut differences, mut neighbours) = (Vec::new(), Vec::new());
    for pair in 0..80 {
        let x = f64::from(pair) * 15.0;
        let busy = if (30..36).contains(&pair) { 0.35 } else { 0.02 + 0.02 * dice.uniform() };
        let level = 10_300.0 + 120.0 * (x / 170.0).sin() - 2_400.0 * (busy - 0.03);
        let [a, b] = [0.0, 63.0].map(|more| level + more + 90.0 * dice.normal());
        sides[0].push(Point { x: x + 2.0, y: a });
        sides[1].push(Point { x: x + 9.0, y: b });
        neighbours.push(Point { x: x + 5.0, y: 100.0 * busy });
        differences.push(Point { x: x + 9.0, y: 100.0 * (b / a - 1.0) });
    }
    let marks = [
        (118.0, "log switch"),
        (240.0, "checkpoint"),
        (262.0, "log switch"),
        (455.0, "long pair"),
        (600.0, "checkpoint"),
        (890.0, "log switch"),
        (960.0, "checkpoint"),
    ];
    let names = ["A: 1 writer", "B: 8 writers"].into_iter();
    let chart = Chart::OverTime(OverTime {
        time: Axis::new("since the beginning", "s"),
        axis: Axis::new("throughput", "transactions/s"),
        sides: names.zip(sides).map(|(name, points)| Side { name: name.into(), points }).collect(),
        running: Vec::new(),
        marks: marks.map(|(at, label)| Mark { at, label: label.into() }).into(),
        covariate: Some(Covariate {
            axis: Axis::new("CPU taken by neighbours", "%"),
            points: neighbours,
        }),
        indifference: None,
    });
    let caption = "Between 450 and 540 seconds another program took a third of the machine; both \
                   sides lost by it.";
    section.figure(Figure::new("Throughput of each block", caption, &chart));
    let chart = Chart::OverTime(OverTime {
        time: Axis::new("since the beginning", "s"),
        axis: Axis::new("throughput, B against A", "%").signed(),
        running: vec![Running {
            name: "mean so far, 95 % interval".into(),
            points: so_far(&differences),
        }],
        sides: vec![Side { name: "a pair".into(), points: differences }],
        marks: Vec::new(),
        covariate: None,
        indifference: Some(0.5),
    });
    section.figure(Figure::new("Difference of each pair", "", &chart));
}

/// The mean of all points up to each, with its interval.
fn so_far(points: &[Point]) -> Vec<RunningPoint> {
    let after = |count: usize| {
        let (n, seen) = (count as f64, &points[..count]);
        let mean = seen.iter().map(|point| point.y).sum::<f64>() / n;
        let squares = seen.iter().map(|point| (point.y - mean).powi(2)).sum::<f64>();
        let error = 2.0 * (squares / n / n).sqrt();
        let estimate = Estimate::new(mean, mean - error, mean + error);
        RunningPoint { at: seen[count - 1].x, estimate }
    };
    (6..=points.len()).map(after).collect()
}

fn processes(section: &mut page::Section) {
    let pair = |a: (f64, f64), b: (f64, f64)| {
        [a, b].map(|(value, error)| Some(Estimate::new(value, value - error, value + error))).into()
    };
    let groups = vec![
        BarGroup { name: "foreground (12)".into(), bars: pair((54.0, 1.1), (55.2, 1.3)) },
        BarGroup { name: "fb_lgwr".into(), bars: pair((21.3, 0.9), (20.9, 0.8)) },
        BarGroup { name: "fb_dbw0".into(), bars: pair((12.4, 0.4), (2.2, 0.2)) },
        BarGroup {
            name: "fb_dbw1 to fb_dbw7".into(),
            bars: vec![None, Some(Estimate::new(14.6, 14.0, 15.2))],
        },
        BarGroup { name: "fb_ckpt".into(), bars: pair((0.31, 0.02), (0.33, 0.02)) },
    ];
    let chart = Chart::Bars(Bars {
        axis: Axis::new("CPU of a transaction", "µs"),
        series: vec!["A: 1 writer".into(), "B: 8 writers".into()],
        groups,
    });
    section.figure(Figure::new("CPU by process", "Whiskers are 95 % intervals.", &chart));
}

fn others(section: &mut page::Section) {
    let level = |value: f64, error: f64| Some(Estimate::new(value, value - error, value + error));
    let chart = Chart::Levels(Levels {
        factor: "database writers".into(),
        levels: ["1", "2", "3", "4", "5", "6", "7", "8"].map(String::from).into(),
        axis: Axis::new("throughput", "transactions/s"),
        series: vec![
            LevelSeries {
                name: "direct I/O".into(),
                estimates: [
                    6_120.0, 8_930.0, 10_050.0, 10_310.0, 10_290.0, 10_350.0, 10_330.0, 10_320.0,
                ]
                .map(|value| level(value, 160.0))
                .into(),
            },
            LevelSeries {
                name: "buffered I/O".into(),
                estimates: [7_020.0, 8_020.0, 8_410.0, 8_390.0, 8_180.0, 8_060.0, 7_830.0, 7_660.0]
                    .map(|value| level(value, 210.0))
                    .into(),
            },
        ],
    });
    section.figure(Figure::new("Throughput by the number of writers", "", &chart));
    let mut dice = Dice(21);
    let points = (0..240).map(|index| {
        let x = 1.0 + f64::from(index) * 0.25;
        let y = 310.0 + 9.2 * (x % 16.0) + 14.0 * dice.normal();
        Point { x, y }
    });
    let tooth = |from: f64| vec![Point { x: from, y: 310.0 }, Point { x: from + 16.0, y: 457.2 }];
    let chart = Chart::Curve(Curve {
        x: Axis::new("redo since the last commit", "KiB"),
        y: Axis::new("commit", "µs"),
        points_name: "median of 200 commits".into(),
        points: points.collect(),
        fit: Some(Fit {
            name: "saw-tooth of 16.0 KiB".into(),
            pieces: [0.0, 16.0, 32.0, 48.0].map(tooth).into(),
        }),
    });
    let caption = "A commit writes whole pieces of 16 KiB.";
    section.figure(Figure::new("Commit by the size of its redo", caption, &chart));
}

fn machine(section: &mut page::Section) {
    section.definitions([
        ("commit of the source", "e621538e"),
        ("machine", "2 × AMD EPYC 9B14, 7.8 GiB of memory, Linux 6.1"),
        ("disk", "/dev/vda, ext4, write cache on; a sync takes 0.61 ms (median)"),
        ("db_writer_processes", "A: 1\nB: 8"),
        ("db_cache_size", "256 MiB"),
        ("order of runs", "randomised within pairs, seed 7"),
    ]);
}

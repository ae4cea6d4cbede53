//! Every table of every page adds up as it is printed (rule V2), and no page is wider than 80
//! columns (rule V7).

#[expect(dead_code, reason = "other tests use them")]
mod common;

use common::{Story, question};
use experiment::Verdict;

/// The columns over a rule: where each begins and ends.
fn spans(rule: &str) -> Vec<(usize, usize)> {
    let mut spans = Vec::new();
    let mut start = None;
    for (at, letter) in rule.chars().chain([' ']).enumerate() {
        match (letter, start) {
            ('-', None) => start = Some(at),
            (' ', Some(from)) => {
                spans.push((from, at));
                start = None;
            }
            _ => {}
        }
    }
    spans
}

/// The figure in a column, without its decimal point: figures of a column have equal decimals.
fn figure(line: &str, (from, to): (usize, usize)) -> Option<i64> {
    let text = line.get(from..to.min(line.len()))?.trim();
    let digits = text.replace([',', '.', '+'], "");
    if digits == "-" { Some(0) } else { digits.parse().ok() }
}

struct Printed {
    lines: Vec<Vec<i64>>,
    sums: Vec<i64>,
    has_difference: bool,
}

/// All tables with a rule.
fn tables(page: &str) -> Vec<Printed> {
    let lines: Vec<&str> = page.lines().collect();
    let is_rule =
        |line: &&str| line.contains("---") && line.trim().chars().all(|c| "- ".contains(c));
    let mut tables = Vec::new();
    for (at, _) in lines.iter().enumerate().filter(|(_, line)| is_rule(line)) {
        let spans = spans(lines[at]);
        let figures = |line: &str| -> Option<Vec<i64>> {
            spans.iter().map(|span| figure(line, *span)).collect()
        };
        let above = lines[..at].iter().rev().map_while(|line| figures(line)).collect();
        let heading = lines[..at].iter().rev().find(|line| line.trim_start().starts_with("A "));
        tables.push(Printed {
            lines: above,
            sums: figures(lines[at + 1]).expect("sums under the rule"),
            has_difference: heading.is_some_and(|line| line.contains("B - A")) && spans.len() == 3,
        });
    }
    tables
}

fn stories() -> Vec<Story> {
    let mut stories = Vec::new();
    for (index, ratio) in [0.5, 0.93, 0.999, 1.0, 1.02, 1.3].into_iter().enumerate() {
        for transactions in [40.0, 1_234.0, 16_310.0, 21_000.0] {
            let spread = 0.004 * (index + 1) as f64;
            stories.push(Story { transactions, ..Story::of(ratio, spread) });
        }
    }
    stories
}

fn pages() -> impl Iterator<Item = String> {
    stories()
        .into_iter()
        .map(|story| Verdict::of(&story.rows(), &question()).expect("whole rounds").text())
}

#[test]
fn every_column_adds_up_to_its_last_line() {
    let mut checked = 0;
    for page in pages() {
        let tables = tables(&page);
        assert_eq!(tables.len(), 4, "the difference, processes, foreground, background:\n{page}");
        for table in tables {
            assert!(!table.lines.is_empty(), "{page}");
            for (column, sum) in table.sums.iter().enumerate() {
                let added: i64 = table.lines.iter().map(|line| line[column]).sum();
                assert_eq!(added, *sum, "column {column}\n{page}");
                checked += 1;
            }
        }
    }
    assert_eq!(checked, stories().len() * (1 + 8 + 3 + 3));
}

#[test]
fn every_difference_is_that_of_its_line_and_they_make_the_whole_difference() {
    let mut checked = 0;
    for page in pages() {
        for table in tables(&page).iter().filter(|table| table.has_difference) {
            for line in table.lines.iter().chain([&table.sums]) {
                assert_eq!(line[1] - line[0], line[2], "{page}");
                checked += 1;
            }
        }
    }
    assert!(checked > 12 * stories().len(), "{checked} lines");
}

#[test]
fn no_line_is_wider_than_80_columns_and_all_is_ascii() {
    for page in pages() {
        assert!(page.is_ascii(), "{page}");
        for line in page.lines() {
            assert!(line.len() <= 80, "{line}\n{page}");
            assert_eq!(line, line.trim_end());
        }
    }
}

/// For sessions that never idle the table explains the headline: its elapsed time is sessions
/// times seconds over transactions.
#[test]
fn the_elapsed_time_of_a_transaction_is_what_the_throughput_says() {
    for story in stories() {
        let report = Verdict::of(&story.rows(), &question()).expect("whole rounds");
        let json: serde_json::Value = serde_json::from_str(&report.json()).expect("JSON");
        for (side, tps) in [("elapsed_ns_a", "throughput_a"), ("elapsed_ns_b", "throughput_b")] {
            let number = |value: &serde_json::Value| value.as_f64().expect("a number");
            let elapsed = number(&json["foreground"][side]);
            let throughput = number(&json["headline"][tps]);
            let product = elapsed * throughput / 16e9;
            assert!((product - 1.0).abs() < 0.01, "{side}: {product}");
        }
    }
}

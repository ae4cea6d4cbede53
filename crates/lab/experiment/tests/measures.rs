//! What settings are compared by, and an open loop that doesn't keep up.

#[expect(dead_code, reason = "other tests use the rest of it")]
mod common;

use common::{RULE, Story, question, unwrapped};
use experiment::{
    Decision, Level, Measure, Question, RATE, RoundKind, Rule, Run, Verdict, decide, is_decided,
};
use serde_json::Value;
use stats::Matters;

const BY_LATENCY: Rule = Rule { measure: Measure::Percentile99, rounds: 20, ..RULE };

/// Equal throughput, and a latency of B that is longer by this factor.
fn rows(levels: u8, longer: f64) -> Vec<Run> {
    let mut rows = Story::of(1.0, 0.004).rows_of(levels, 20);
    for run in &mut rows {
        let factor = longer.powi(run.identity.level.index() as i32);
        let latency = run.latency.as_mut().expect("the story has one");
        latency.p99_us *= factor;
    }
    rows
}

fn verdict(rows: &[Run], rule: Rule) -> (String, Value) {
    let verdict = Verdict::of(rows, &Question { rule, ..question() }).expect("whole rounds");
    let text = unwrapped(&verdict.text());
    (text, serde_json::from_str(&verdict.json()).expect("the report is JSON"))
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

#[test]
fn settings_are_compared_by_what_was_asked_for() {
    let rows = rows(2, 1.1);
    let (text, json) = verdict(&rows, BY_LATENCY);
    assert!(text.contains("Yes. B's latency (99 %) is 10."), "{text}");
    assert!(text.contains("% longer than A's."), "{text}");
    assert!(text.contains("latency (99 %) A 48") && text.contains("and B 53"), "{text}");
    let headline = &json["headline"];
    assert_eq!(headline["measure"], "latency-99");
    assert!((number(&headline["comparison"]["ratio"]) - 1.1).abs() < 0.01, "{headline}");
    let (text, json) = verdict(&rows, Rule { rounds: 20, ..RULE });
    assert!(text.contains("No difference seen."), "{text}");
    assert_eq!(json["headline"]["measure"], "throughput");
}

/// Of latencies the shortest is best.
#[test]
fn the_best_setting_is_the_one_whose_latency_is_shortest() {
    let (text, json) = verdict(&rows(3, 1.1), BY_LATENCY);
    assert_eq!(json["levels"]["best"], "A", "{text}");
    let (text, json) = verdict(&rows(3, 0.9), BY_LATENCY);
    assert_eq!(json["levels"]["best"], "C", "{text}");
    assert!(text.contains("C is best for certain: with a shorter latency (99 %)"), "{text}");
}

/// EX27: runs of equal latency agree to a bucket, and not to a hair.
#[test]
fn a_latency_is_no_surer_than_its_resolution() {
    let of = |longer: f64, resolution: f64| {
        let mut rows = rows(2, 1.0);
        for run in &mut rows {
            let factor = if run.identity.level == Level::B { longer } else { 1.0 };
            let latency = run.latency.as_mut().expect("the story has one");
            (latency.p50_us, latency.resolution) = (1_000.0 * factor, resolution);
        }
        let rule = Rule { measure: Measure::Median, ..BY_LATENCY };
        let of = decide(&rows, Level::B, Measure::Median.figure(), &rule).expect("20 rounds");
        assert!(of.gain > 0.0, "{of:?}");
        of.answer.matters
    };
    assert_eq!(of(1.03, 1.0 / 32.0), Matters::Open);
    assert_eq!(of(1.03, 1.0 / 512.0), Matters::Yes);
    assert_eq!(of(1.004, 1.0 / 512.0), Matters::No);
    assert_eq!(of(1.0, 0.0), Matters::No, "to a hair, and there are 20 rounds");
}

/// Rounds whose medians are the same to 0.001 %, known to this share.
fn alike(rounds: u32, resolution: f64) -> Vec<Run> {
    let mut rows = Story::of(1.0, 0.0).rows_of(2, rounds);
    rows.retain(|run| run.identity.kind == RoundKind::Compared);
    for (index, run) in rows.iter_mut().enumerate() {
        let latency = run.latency.as_mut().expect("the story has one");
        latency.p50_us = 1_000.0 + 0.01 * (index * 7_919 % 101) as f64 / 101.0;
        latency.resolution = resolution;
    }
    rows
}

const BY_MEDIAN: Rule = Rule { measure: Measure::Median, rounds: 100, ..RULE };

fn by_median(rows: &[Run], rule: &Rule) -> Decision {
    decide(rows, Level::B, Measure::Median.figure(), rule).expect("there was a look")
}

/// EX27: more rounds don't make a latency surer than its resolution, so none are promised, and an
/// experiment without an end ends.
#[test]
fn no_number_of_rounds_is_told_where_the_resolution_leaves_it_open() {
    let (new, old) = ((0.0015, 1.0 / 512.0), (0.02, 1.0 / 32.0));
    for (threshold, resolution) in [new, old] {
        let rule = Rule { threshold, ..BY_MEDIAN };
        let rows = alike(100, resolution);
        let of = by_median(&rows, &rule);
        assert_eq!((of.answer.matters, of.more_rounds()), (Matters::Open, None), "{of:?}");
        let (text, json) = verdict(&rows, rule);
        assert!(text.contains("leaves that open, whatever the number of rounds"), "{text}");
        assert!(!text.contains("would bring an answer"), "{text}");
        assert_eq!(json["headline"]["comparison"]["more_rounds"], Value::Null);
        let open_ended = Rule { is_open_ended: true, ..rule };
        assert!(!is_decided(&rows, &rule) && is_decided(&rows, &open_ended));
        assert!(!is_decided(&rows[..60], &open_ended), "it has a budget");
    }
    let surer = Rule { threshold: 0.02, ..BY_MEDIAN };
    assert!(is_decided(&alike(100, 1.0 / 512.0), &surer));
}

/// EX27: bars fall with the budget, and with them what the resolution leaves open.
#[test]
fn rounds_are_promised_up_to_the_look_that_the_resolution_allows_an_answer() {
    let rule = Rule { threshold: 0.0025, ..BY_MEDIAN };
    let rows = alike(100, 1.0 / 512.0);
    let of = by_median(&rows[..60], &rule);
    assert_eq!((of.rounds, of.answer.matters), (30, Matters::Open), "{of:?}");
    let all = of.rounds + of.more_rounds().expect("the last look is an answer");
    let at = |rounds: u32| by_median(&rows[..2 * rounds as usize], &rule).answer.matters;
    assert_eq!((at(all - 1), at(all)), (Matters::Open, Matters::No), "{all} rounds");
}

#[test]
fn a_setting_that_falls_behind_what_arrives_is_named() {
    let mut rows = rows(2, 1.0);
    let rate = |rows: &mut Vec<Run>, rate: f64| {
        for run in rows.iter_mut() {
            let parameters = &mut run.identity.parameters;
            let _ = parameters.insert(RATE.to_owned(), format!("{rate:.0}"));
        }
    };
    let of_a = rows.iter().filter(|run| run.identity.level == Level::A);
    let of_a: Vec<f64> = of_a.map(Run::throughput).collect();
    let done = of_a.iter().sum::<f64>() / of_a.len() as f64;
    rate(&mut rows, done);
    assert!(!verdict(&rows, BY_LATENCY).0.contains("keep up"));
    rate(&mut rows, done * 1.1);
    let (text, _) = verdict(&rows, BY_LATENCY);
    assert!(text.contains("A doesn't keep up") && text.contains("B doesn't keep up"), "{text}");
    let arrive = report::number::decimal((done * 1.1).round(), 0);
    assert!(arrive.contains(','), "{arrive}");
    assert!(text.contains(&format!("of {arrive} transactions a second that arrive")), "{text}");
}

//! What the verdict says of throughput over time.

#[expect(dead_code, reason = "other tests use the rest of it")]
mod common;

use common::{RULE, Story, block_of_a_second, question, unwrapped};
use experiment::{CarryOver, Level, Question, Rule, Run, Verdict};
use serde_json::Value;

/// Blocks of a second, of which `throughput` says what they do, by the second.
fn rows(throughput: impl Fn(f64) -> f64) -> Vec<Run> {
    let mut rows = Story::of(1.05, 0.01).rows_of(2, 150);
    for (index, run) in rows.iter_mut().enumerate() {
        // Without a period that the experiment is long enough for.
        let noisy = 1.0 + 0.02 * ((index * index * 7_919 + index * 31) % 1_009) as f64 / 1_009.0;
        let transactions = (10_000.0 * noisy * throughput(index as f64)) as u64;
        run.transactions = transactions;
        run.block = Some(block_of_a_second(index, transactions));
    }
    rows
}

fn course(throughput: impl Fn(f64) -> f64) -> (Value, String) {
    let rule = Rule { rounds: 150, ..RULE };
    let verdict = Verdict::of(&rows(throughput), &Question { rule, ..question() }).expect("rounds");
    let json: Value = serde_json::from_str(&verdict.json()).expect("the report is JSON");
    (json["course"].clone(), unwrapped(&verdict.text()))
}

#[test]
fn an_even_course_is_called_so() {
    let (json, text) = course(|_| 1.0);
    assert_eq!((&json["steady_from_s"], &json["cycle_s"]), (&0.0.into(), &Value::Null));
    assert!(text.contains("throughput is steady from the first block on"), "{text}");
}

#[test]
fn a_ramp_and_a_cycle_are_found_whatever_the_settings_do() {
    let (json, text) = course(|second| {
        let ramp = if second < 40.0 { 0.5 + second / 80.0 } else { 1.0 };
        let cycle = if second % 25.0 < 6.0 { 0.7 } else { 1.0 };
        ramp * cycle
    });
    let at = |name: &str| json[name].as_f64().unwrap_or_else(|| panic!("{json}"));
    assert!((15.0..55.0).contains(&at("steady_from_s")), "{json}");
    assert!((24.0..26.0).contains(&at("cycle_s")), "{json}");
    assert!(text.contains("every 25 s"), "{text}");
}

/// On a crowded machine a washout may take all of a block: the others still tell of carry-over.
#[test]
fn one_block_without_halves_hides_nothing() {
    let mut rows = rows(|_| 1.0);
    let of = |rows: &[Run]| CarryOver::of_rows(rows, Level::B, &RULE);
    let whole = of(&rows).expect("there are many rounds");
    let block = rows[7].block.as_mut().expect("they are blocks");
    block.washout_ns = 19 * block.step_ns;
    let one_less = of(&rows).expect("all but one round are left");
    assert!((whole.late_less_early - one_less.late_less_early).abs() < 1e-9);
}

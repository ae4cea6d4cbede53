//! Which rounds figures are of, and what is told beside them.

#[expect(dead_code, reason = "other tests use the rest of it")]
mod common;

use common::{RULE, Story, question, unwrapped};
use experiment::{Level, Question, RoundKind, Rule, Run, Surroundings, Verdict};
use serde_json::Value;

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// V4: the verdict rests on the rounds up to the last look, and so does every figure beside it. A
/// stall in a round behind that, or in one that isn't whole, changes none of them.
#[test]
fn no_figure_has_a_round_that_the_verdict_does_not_rest_on() {
    // Looks are after 6, 9, 12 ... rounds.
    let rule = Rule { rounds: 100, ..RULE };
    let of = |rows: &[Run]| {
        let asked = Question { rule, ..question() };
        let verdict = Verdict::of(rows, &asked).expect("whole rounds");
        let json: Value = serde_json::from_str(&verdict.json()).expect("the report is JSON");
        (json, unwrapped(&verdict.text()))
    };
    for levels in [2, 3] {
        let mut rows = Story::of(1.03, 0.012).rows_of(levels, 10);
        let is_last = |run: &Run| (run.identity.kind, run.identity.round) == (COMPARED, 10);
        let judged: Vec<Run> = rows.iter().filter(|run| !is_last(run)).cloned().collect();
        let (wanted, _) = of(&judged);
        assert_eq!(wanted["headline"]["comparison"]["rounds"], 9);
        for run in rows.iter_mut().filter(|run| is_last(run) && run.identity.level == Level::A) {
            run.elapsed_ns *= 100;
        }
        let is_b = |run: &Run| is_last(run) && run.identity.level == Level::B;
        let broken_off: Vec<Run> = rows.iter().filter(|run| !is_b(run)).cloned().collect();
        for (rows, later) in [(&rows, 1), (&broken_off, 0)] {
            let (mut json, text) = of(rows);
            assert_eq!(json["headline"]["later_rounds"].take(), later, "{text}");
            let is_told = text.contains("(1 round since then is in no figure)");
            assert_eq!(is_told, later == 1, "{text}");
            let mut wanted = wanted.clone();
            wanted["headline"]["later_rounds"] = Value::Null;
            for figures in FIGURES {
                assert_eq!(json[figures], wanted[figures], "{figures} of {levels} settings");
            }
            let line = &json["yardsticks"]["lines"][0];
            assert_eq!(json["headline"]["throughput_a"], line["a"]);
            assert_eq!(json["headline"]["throughput_b"], line["b"]);
        }
    }
}

const COMPARED: RoundKind = RoundKind::Compared;
/// The sections with figures of the rounds that compare.
const FIGURES: [&str; 9] = [
    "levels",
    "headline",
    "yardsticks",
    "explanation",
    "samples",
    "processes",
    "foreground",
    "background",
    "load_profile",
];

/// V37: nobody is told of a difference from -99.9 % on.
#[test]
fn a_difference_that_is_not_bounded_can_not_be_told_yet() {
    let mut rows = Story::of(1.08, 0.0).rows_of(2, 20);
    rows.iter_mut().for_each(|run| run.elapsed_ns = 12_000_000_000);
    let rule = Rule { rounds: 400, is_open_ended: true, ..RULE };
    let verdict = Verdict::of(&rows, &Question { rule, ..question() }).expect("whole rounds");
    let (text, page) = (unwrapped(&verdict.text()), verdict.html(&rows));
    assert!(text.contains("Can't tell yet: the rounds are too few to bound"), "{text}");
    assert!(text.contains("; its interval can't be told yet, over 20 rounds in"), "{text}");
    assert!(!text.contains("99.9 % to") && !text.contains("99,900"), "{text}");
    assert!(page.contains("its interval can't be told yet") && !page.contains("99,900"), "{page}");
    let json: Value = serde_json::from_str(&verdict.json()).expect("the report is JSON");
    assert_eq!(json["headline"]["comparison"]["interval"], Value::Null);
    let lines = json["yardsticks"]["lines"].as_array().expect("lines");
    assert!(lines.iter().all(|line| line["interval"].is_null()), "{json}");
}

/// V37: of rounds with noise, too, and no look is drawn. The bars of the first looks of so many
/// rounds are out of reach.
#[test]
fn noise_without_bounds_is_no_finding() {
    let rows = Story::of(1.0, 0.06).rows();
    let rule = Rule { rounds: 100, ..RULE };
    let verdict = Verdict::of(&rows, &Question { rule, ..question() }).expect("whole rounds");
    let text = unwrapped(&verdict.text());
    let wanted = "Can't tell yet. Where it lies can't be told yet, and 2.0 % would matter.";
    assert!(text.contains(wanted), "{text}");
    assert!(verdict.html(&rows).contains("no look is drawn"), "{text}");
}

/// V38: a hypervisor took a part of B's CPU in some rounds: without that B isn't slower.
#[test]
fn a_ratio_without_noise_says_so_and_what_it_is_by_the_sums() {
    let mut rows = Story::of(1.0, 0.004).rows_of(2, 20);
    let few = Verdict::of(&rows[..24], &question()).expect("whole rounds");
    let quiet = few.text();
    assert!(!quiet.contains("noise taken out"), "too few rounds for it: {quiet}");
    for run in rows.iter_mut().filter(|run| run.identity.level == Level::B) {
        if run.identity.round.is_multiple_of(2) {
            run.transactions = run.transactions * 9 / 10;
            let (own_ns, stolen_ns) = (900_000_000, 100_000_000);
            run.surroundings = Some(Surroundings { own_ns, stolen_ns, ..Surroundings::default() });
        }
    }
    let rule = Rule { rounds: 20, ..RULE };
    let verdict = Verdict::of(&rows, &Question { rule, ..question() }).expect("whole rounds");
    let json: Value = serde_json::from_str(&verdict.json()).expect("the report is JSON");
    let comparison = &json["headline"]["comparison"];
    let [ratio, sums] = ["ratio", "ratio_by_sums"].map(|name| number(&comparison[name]));
    let figures = ["throughput_b", "throughput_a"].map(|name| number(&json["headline"][name]));
    assert!((sums - figures[0] / figures[1]).abs() < 1e-12, "{comparison}");
    assert!((ratio - sums).abs() > 0.0001, "{comparison}");
    let text = unwrapped(&verdict.text());
    assert!(text.contains(&format!("with noise taken out (by the sums {sums:.4},")), "{text}");
    let note = "B / A: noise is taken out as above, so it isn't quite the ratio of the two";
    let page = verdict.html(&rows);
    assert!(text.contains(note) && page.contains(note), "{text}");
    assert!(!page.contains("sums of all runs"), "no chart says that they are divided");
}

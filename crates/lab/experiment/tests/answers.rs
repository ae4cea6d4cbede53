//! What the report answers, beyond how it looks: JSON, losses, warnings, half experiments.

mod common;

use common::{Story, question};
use experiment::{Commits, PairKind, Run, Verdict, compare};
use serde_json::Value;

fn report(rows: &[Run]) -> Verdict {
    Verdict::of(rows, &question()).expect("whole pairs")
}

fn json(rows: &[Run]) -> Value {
    serde_json::from_str(&report(rows).json()).expect("the report is JSON")
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn json_has_the_headline_and_it_is_one_line() {
    let rows = Story::of(1.08, 0.004).rows();
    assert!(!report(&rows).json().contains('\n'));
    let json = json(&rows);
    let comparison = &json["headline"]["comparison"];
    assert_eq!(comparison["finding"], "real");
    assert_eq!(comparison["matters"], "yes");
    assert_eq!((&comparison["pairs"], &comparison["aa_pairs"]), (&10.into(), &5.into()));
    let ratio =
        number(&json["headline"]["throughput_b"]) / number(&json["headline"]["throughput_a"]);
    assert!((ratio - number(&comparison["ratio"])).abs() < 1e-9, "B over A is the ratio (V3)");
    assert_eq!(json["commits"]["lost"], 0);
    assert_eq!(json["origin"]["plan_seed"], 7);
}

/// Unrounded, in JSON: the parts of either side make its elapsed time, foreground and background.
#[test]
fn the_parts_in_json_make_the_elapsed_time() {
    let json = json(&Story::of(0.9, 0.01).rows());
    for kind in ["foreground", "background"] {
        for (side, elapsed) in [("a", "elapsed_ns_a"), ("b", "elapsed_ns_b")] {
            let lines = json[kind]["lines"].as_array().expect("lines");
            let sum: f64 = lines.iter().map(|line| number(&line[side]["ns"])).sum();
            let elapsed = number(&json[kind][elapsed]);
            assert!((sum / elapsed - 1.0).abs() < 1e-9, "{kind} {side}: {sum} {elapsed}");
        }
    }
}

/// One lost commit in one A/A run is enough, and the run is named.
#[test]
fn a_lost_commit_is_told_whichever_run_lost_it() {
    let mut rows = Story::of(1.08, 0.004).rows();
    let run = rows.iter_mut().find(|run| run.identity.kind == PairKind::Aa).expect("A/A pairs");
    run.commits = Some(Commits { acknowledged: 500, found: 499 });
    let text = report(&rows).text();
    assert!(text.contains("1 LOST"), "{text}");
    assert!(text.contains("A/A pair 1 (1)"), "{text}");
    assert!(text.contains("WARNING: Commits were lost"), "{text}");
}

/// It would be a ratio to zero.
#[test]
fn a_run_in_which_nothing_was_done_is_refused() {
    let mut rows = Story::of(1.08, 0.004).rows();
    rows[3].transactions = 0;
    assert!(compare(&rows, 0.02, 1).is_none());
    let refused = Verdict::of(&rows, &question()).expect_err("refused").to_string();
    assert!(refused.contains("no transaction ended in a run of"), "{refused}");
}

#[test]
fn runs_that_were_not_checked_are_not_called_safe() {
    let mut rows = Story::of(1.08, 0.004).rows();
    for run in &mut rows {
        run.commits = None;
    }
    assert!(report(&rows).text().contains("not checked in any run"));
}

#[test]
fn a_noisy_machine_is_called_noisy_and_a_quiet_one_is_not() {
    let noisy =
        |spread| report(&Story::of(1.0, spread).rows()).text().contains("machine was noisy");
    assert!(noisy(0.05));
    assert!(!noisy(0.002));
}

#[test]
fn the_worst_unaccounted_time_is_named_and_warned_of_from_one_per_cent_on() {
    let mut rows = Story::of(1.08, 0.004).rows();
    assert!(!report(&rows).text().contains("without a name"));
    let worst = rows[4].background.worst.as_mut().expect("it has one");
    (worst.session, worst.share) = ("fb_smon".into(), 0.031);
    let text = report(&rows).text();
    assert!(text.contains("WARNING: fb_smon left 3.1 % of its time without a name."), "{text}");
}

#[test]
fn rows_that_do_not_belong_together_are_warned_of() {
    let quiet = || Story::of(1.08, 0.004).rows();
    assert!(!report(&quiet()).text().contains("WARNING"));
    let spoilt = |spoil: &dyn Fn(&mut Run)| {
        let mut rows = quiet();
        spoil(&mut rows[7]);
        report(&rows).text()
    };
    let text = spoilt(&|run| run.identity.commit = "another".into());
    assert!(text.contains("The rows are of different commits."), "{text}");
    let text = spoilt(&|run| run.identity.parameter_hash = "another".into());
    assert!(text.contains("have different parameters."), "{text}");
    let text = spoilt(&|run| run.identity.work_hash = "another".into());
    assert!(text.contains("not given the same work."), "{text}");
}

/// Stopped in the middle: whole pairs count, a run alone doesn't, and it says so.
#[test]
fn a_run_without_a_partner_is_left_out() {
    let rows = Story::of(1.08, 0.004).rows();
    let text = report(&rows[..25]).text();
    assert!(text.contains("WARNING: 1 run without a partner"), "{text}");
    assert_eq!(compare(&rows[..25], 0.02, 1), compare(&rows[..24], 0.02, 1));
}

#[test]
fn too_few_pairs_for_a_verdict_still_show_what_was_measured() {
    let rows = Story::of(1.08, 0.004).rows();
    let ab: Vec<Run> =
        rows.into_iter().filter(|run| run.identity.kind == PairKind::Ab).take(4).collect();
    let text = report(&ab).text();
    assert!(text.contains("Too few whole pairs") && text.contains("Load profile"), "{text}");
    assert_eq!(json(&ab)["headline"]["comparison"], Value::Null);
}

#[test]
fn rows_without_a_whole_pair_are_refused_with_what_to_do() {
    let rows = Story::of(1.08, 0.004).rows();
    let error = Verdict::of(&rows[..1], &question()).expect_err("one row is no pair");
    let told = "no whole pair of A and B in 1 row: let the experiment run longer";
    assert_eq!(error.to_string(), told);
}

/// One run that didn't measure it, and there is no such line: half a side says nothing.
#[test]
fn latency_is_told_where_every_run_measured_it() {
    let mut rows = Story::of(1.08, 0.004).rows();
    assert!(report(&rows).text().contains("a transaction     median A "));
    for run in &mut rows {
        if run.identity.pair == 3 {
            run.latency = None;
        }
    }
    assert!(!report(&rows).text().contains("a transaction "));
    assert_eq!(json(&rows)["headline"]["latency"], Value::Null);
}

/// The order of rows in a file doesn't matter.
#[test]
fn rows_in_another_order_give_the_same_page() {
    let rows = Story::of(1.03, 0.01).rows();
    let mut turned = rows.clone();
    turned.reverse();
    let body = |rows: &[Run]| report(rows).text();
    assert_eq!(body(&rows), body(&turned));
}

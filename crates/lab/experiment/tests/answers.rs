//! What the report answers, beyond how it looks: JSON, losses, warnings, half experiments.

mod common;

use common::{RULE, Story, block_of_a_second, priority, question, unwrapped};
use experiment::{
    Audit, Block, Commits, Level, Measure, Plan, Question, RoundKind, Rule, Run, Sensitivity,
    Untried, Verdict, World, commits_lost, compare, decide, is_decided, parse_rows,
};
use serde_json::Value;

fn report(rows: &[Run]) -> Verdict {
    Verdict::of(rows, &question()).expect("whole rounds")
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
    assert_eq!((&comparison["real"], &comparison["matters"]), (&"yes".into(), &"yes".into()));
    assert_eq!((&comparison["rounds"], &comparison["equals"]["rounds"]), (&10.into(), &5.into()));
    let ratio =
        number(&json["headline"]["throughput_b"]) / number(&json["headline"]["throughput_a"]);
    // The ratio is by each round's part, the figures by all sums.
    assert!((ratio - number(&comparison["ratio"])).abs() < 0.005, "B over A is the ratio (V3)");
    assert_eq!(json["commits"]["lost"], 0);
    assert_eq!(json["origin"]["plan_seed"], 7);
}

/// By restarts the budget makes no rounds, so the advice isn't to ask for more of it.
#[test]
fn who_compares_by_restarts_is_told_how_many_rounds_to_ask_for() {
    let rows = Story::of(1.02, 0.02).rows_of(2, 24);
    let asked = Question { rule: Rule { rounds: 24, ..RULE }, ..question() };
    let text = Verdict::of(&rows, &asked).expect("whole rounds").text();
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    assert!(text.contains("rounds (--rounds ") && !text.contains("the budget"), "{text}");
    assert!(text.contains("which measures all again, because none can be added"), "{text}");
}

/// Else who does as the verdict says is refused next: a model has an hour.
#[test]
fn nobody_is_told_to_ask_for_more_than_any_budget_has_room_for() {
    let text = |spread: f64, most_rounds: Option<u32>| {
        let mut rows = Story::of(1.03, spread).rows_of(2, 24);
        for (index, run) in rows.iter_mut().enumerate() {
            run.block = Some(block_of_a_second(index, run.transactions));
        }
        let rule = Rule { rounds: 24, ..RULE };
        let verdict = Verdict::of(&rows, &Question { rule, most_rounds, ..question() });
        unwrapped(&verdict.expect("whole rounds").text())
    };
    let asks = " times the budget, which measures all again";
    let leaves_open = |spread: &f64| text(*spread, None).contains(asks);
    let spread = [0.02, 0.03, 0.04, 0.05, 0.06].into_iter().find(leaves_open).expect("one does");
    assert!(text(spread, Some(100_000)).contains(asks));
    let text = text(spread, Some(24));
    assert!(text.contains("no budget has room for so many; by restarts"), "{text}");
    assert!(!text.contains("times the budget"), "{text}");
}

/// V12: where there is no verdict, none depends on the model's costs.
#[test]
fn a_verdict_that_is_not_there_depends_on_nothing() {
    let story = Story { world: World::Simulated("8-core".into()), ..Story::of(1.04, 0.004) };
    let rule = Rule { rounds: 400, ..RULE };
    let sensitivity = vec![Sensitivity { change: "half the cost".into(), comparison: None }];
    let asked = Question { rule, sensitivity, ..question() };
    let text = unwrapped(&Verdict::of(&story.rows(), &asked).expect("whole rounds").text());
    assert!(text.contains("With half the cost: too few rounds."), "{text}");
    assert!(text.contains("there is no verdict that could depend"), "{text}");
    assert!(!text.contains("DEPENDS") && !text.contains("pairs"), "{text}");
}

/// V12: of several looks at one effect some may just fail to show it. That isn't the model's fault.
#[test]
fn a_verdict_depends_on_a_cost_only_where_the_effects_certainly_differ() {
    let rows = |ratio: f64| {
        Story { world: World::Simulated("8-core".into()), ..Story::of(ratio, 0.012) }.rows()
    };
    let text = |half: f64| {
        let comparison = compare(&rows(half), Level::B, &RULE);
        let sensitivity = vec![Sensitivity { change: "half the cost".into(), comparison }];
        let asked = Question { sensitivity, ..question() };
        unwrapped(&Verdict::of(&rows(1.035), &asked).expect("whole rounds").text())
    };
    let noise = text(1.015);
    assert!(noise.contains("Yes. B is ") && noise.contains("): can't tell."), "{noise}");
    assert!(noise.contains("These agree within their noise"), "{noise}");
    assert!(noise.contains("takes more rounds.") && !noise.contains("DEPENDS"), "{noise}");
    let other = text(0.98);
    assert!(other.contains("): real; open") && other.contains("The verdict DEPENDS"), "{other}");
    assert!(text(1.035).contains("The verdict is the same under each of these."));
}

/// V12: what was not tried isn't counted among what says the same.
#[test]
fn what_was_not_tried_of_the_models_costs_is_named() {
    let rows = Story { world: World::Simulated("8-core".into()), ..Story::of(1.04, 0.004) }.rows();
    let comparison = compare(&rows, Level::B, &RULE);
    let half = Sensitivity { change: "half the cost".into(), comparison };
    let untried = Untried::Stopped(vec!["double the cost".into()]);
    let asked = Question { sensitivity: vec![half], untried, ..question() };
    let text = unwrapped(&Verdict::of(&rows, &asked).expect("whole rounds").text());
    assert!(text.contains("With double the cost: not tried"), "{text}");
    assert!(text.contains("the same under those that were tried."), "{text}");
    let asked = Question { untried: Untried::NotInRows, ..question() };
    let verdict = Verdict::of(&rows, &asked).expect("whole rounds");
    let text = unwrapped(&verdict.text());
    assert!(text.contains("isn't in the rows: the first report says it."), "{text}");
    let json: Value = serde_json::from_str(&verdict.json()).expect("the report is JSON");
    assert!(json["origin"]["sensitivity"].is_null(), "{json}");
}

/// V37: an interval that says nothing isn't printed as if it were one. The bar of the first look of
/// so many rounds is 8, so 20 that agree to the last digit bound nothing (EX28).
#[test]
fn an_interval_of_a_hundredth_to_a_hundredfold_is_not_shown() {
    let rows = Story::of(1.08, 0.0).rows_of(2, 20);
    let rule = Rule { rounds: 400, is_open_ended: true, ..RULE };
    let verdict = Verdict::of(&rows, &Question { rule, ..question() }).expect("whole rounds");
    let text = verdict.text();
    let line = text.lines().find(|line| line.starts_with("  redo  ")).expect("it is shown");
    assert!(line.trim_end().ends_with(" -"), "{line}");
    assert!(text.contains("-: the rounds are too few to bound this figure."), "{text}");
    assert!(verdict.html(&rows).contains("-: the rounds are too few to bound"), "in the page");
}

/// V37: of so few rounds of equals no interval of such a probability can be had, and JSON doesn't
/// make one up.
#[test]
fn an_interval_of_equals_that_is_not_known_is_null() {
    let interval = |equals: u32| {
        let of = Plan { levels: 2, rounds: 10, equals, stretches: equals, together: 1, seed: 7 };
        let json = json(&Story::of(1.02, 0.06).rows_of_plan(of));
        json["headline"]["comparison"]["equals"]["interval"].clone()
    };
    assert!(interval(5).is_null(), "{}", interval(5));
    let known = interval(12);
    assert!(number(&known[0]) < number(&known[1]), "{known}");
}

/// Of 400 planned rounds the first look is at the twentieth. Before it nothing is told, and nothing
/// explained.
#[test]
fn before_the_first_look_there_is_no_answer_and_no_explanation() {
    let rule = Rule { rounds: 400, ..RULE };
    let rows = Story::of(1.08, 0.004).rows();
    let verdict = Verdict::of(&rows, &Question { rule, ..question() }).expect("whole rounds");
    let text = verdict.text();
    assert!(text.contains("there are fewer than 20 whole rounds."), "{text}");
    assert_eq!(text.matches("There are too few rounds.").count(), 2, "{text}");
    let json: Value = serde_json::from_str(&verdict.json()).expect("the report is JSON");
    assert_eq!(json["explanation"][0]["elapsed"], Value::Null);
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

/// One lost commit in one run of equals is enough, and the run is named.
#[test]
fn a_lost_commit_is_told_whichever_run_lost_it() {
    let mut rows = Story::of(1.08, 0.004).rows();
    let run = rows.iter_mut().find(|run| run.identity.kind == RoundKind::Equals).expect("some");
    run.commits = Some(Commits { acknowledged: 500, found: 499 });
    let level = run.identity.level;
    let text = report(&rows).text();
    assert!(text.contains("1 LOST"), "{text}");
    assert!(text.contains(&format!("round of equals 1, setting {level} (1)")), "{text}");
    assert!(text.contains("WARNING: Commits were lost"), "{text}");
}

/// Rule V36: of a run that promised nothing it is told; of another it is lost.
#[test]
fn what_nowait_leaves_behind_a_crash_is_told_and_is_not_lost() {
    let mut rows = Story::of(1.08, 0.004).rows();
    rows[0].commits = Some(Commits { acknowledged: 500, found: 493 });
    rows[0].identity.parameters.insert("commit_wait".to_owned(), "nowait".to_owned());
    let text = report(&rows).text();
    let told = unwrapped(&text);
    assert!(told.contains("commits lost none,"), "{text}");
    assert!(told.contains("7 gone, which commit_wait = nowait doesn't promise"), "{text}");
    assert!(!text.contains("Commits were lost"), "{text}");
    assert_eq!(json(&rows)["commits"]["unpromised"], 7);

    rows[1].commits = Some(Commits { acknowledged: 500, found: 499 });
    rows[1].identity.parameters.insert("commit_wait".to_owned(), "wait".to_owned());
    assert!(report(&rows).text().contains("WARNING: Commits were lost"), "{text}");
}

/// Whose commits are gone isn't known within an instance; another instance has nothing to do with
/// it.
#[test]
fn what_an_instance_without_nowait_has_lost_is_lost() {
    let mut rows = Story::of(1.08, 0.004).rows();
    for (index, run) in rows.iter_mut().enumerate() {
        let block = block_of_a_second(index, run.transactions);
        run.block = Some(Block { instance_ns: if index < 8 { 0 } else { 10 }, ..block });
    }
    rows[0].identity.parameters.insert("commit_wait".to_owned(), "nowait".to_owned());
    let audit = |instance_ns, found| {
        let instance_ns = Some(instance_ns);
        Audit { instance_ns, commits: Commits { acknowledged: 90, found } }
    };
    assert_eq!(commits_lost(&rows, &[audit(0, 80), audit(10, 90)]), 0);
    assert_eq!(commits_lost(&rows, &[audit(0, 90), audit(10, 85)]), 5);
    let old = Audit { instance_ns: None, ..audit(0, 80) };
    assert_eq!(commits_lost(&rows, &[old]), 0);
}

/// It would be a ratio to zero.
#[test]
fn a_setting_under_which_nothing_was_done_is_refused() {
    let mut rows = Story::of(1.08, 0.004).rows();
    let of_b = |run: &&mut Run| run.identity.level == Level::B;
    for run in rows.iter_mut().filter(of_b) {
        (run.transactions, run.latency) = (0, None);
    }
    assert!(compare(&rows, Level::B, &RULE).is_none());
    let refused = Verdict::of(&rows, &question()).expect_err("refused").to_string();
    assert!(refused.contains("no transaction ended under setting B, in 10 runs"), "{refused}");
}

/// A run by restart in which the device stalled is an answer: its time counts, and a latency, which
/// it hasn't, is told without its round, and not in silence.
#[test]
fn one_run_in_which_nothing_ended_takes_no_verdict_away() {
    let whole = Story::of(1.08, 0.004).rows();
    let mut rows = whole.clone();
    let stalled = rows
        .iter_mut()
        .find(|run| (run.identity.kind, run.identity.level) == (RoundKind::Compared, Level::B));
    let stalled = stalled.expect("there are some");
    (stalled.transactions, stalled.latency) = (0, None);
    let text: String = rows.iter().map(|run| run.to_json_line() + "\n").collect();
    let read = parse_rows(&text).expect("they are rows").runs;
    assert_eq!(read.iter().filter(|run| run.is_idle()).count(), 1);
    let ratio = |rows: &[Run], measure: Measure| {
        let rule = Rule { measure, ..RULE };
        decide(rows, Level::B, measure.figure(), &rule).expect("there was a look").ratio
    };
    assert!(ratio(&rows, Measure::Throughput) < ratio(&whole, Measure::Throughput) - 0.05);
    let [with, without] = [&whole, &rows].map(|rows| ratio(rows, Measure::Percentile99));
    assert!((with / without - 1.0).abs() < 0.01, "{with} {without}");
    let text = unwrapped(&report(&rows).text());
    assert!(text.contains("In 1 of 10 rounds no transaction ended in some run"), "{text}");
    assert!(!report(&whole).text().contains("no transaction ended"));
    let rule = Rule { measure: Measure::Percentile99, ..RULE };
    let by_latency = Verdict::of(&rows, &Question { rule, ..question() }).expect("whole rounds");
    assert!(by_latency.text().contains("latency (99 %)"), "{}", by_latency.text());
}

#[test]
fn runs_that_were_not_checked_are_not_called_safe() {
    let mut rows = Story::of(1.08, 0.004).rows();
    for run in &mut rows {
        run.commits = None;
    }
    let text = unwrapped(&report(&rows).text());
    assert!(text.contains("not checked in any run"), "{text}");
    let all = rows.len();
    let warning = format!("WARNING: Nobody has looked for the commits of {all} of {all} runs:");
    assert!(text.contains(&warning), "{text}");
}

/// The commits of an instance that was killed were never looked for, however many another one
/// acknowledged before its first block and between its blocks.
#[test]
fn runs_of_an_instance_that_was_killed_are_not_called_safe() {
    let mut rows = Story::of(1.08, 0.004).rows();
    let (second, sum) = (10_000_000_000, rows.iter().map(|run| run.transactions).sum::<u64>());
    for (index, run) in rows.iter_mut().enumerate() {
        let instance_ns = if index < 10 { 0 } else { second };
        run.commits = None;
        run.block = Some(Block { instance_ns, ..block_of_a_second(index, run.transactions) });
    }
    let checked = |audits: &[Option<u64>]| {
        let commits = Commits { acknowledged: sum + 9, found: sum + 9 };
        let audit = |instance_ns: &Option<u64>| Audit { instance_ns: *instance_ns, commits };
        let audits = audits.iter().map(audit).collect();
        let verdict = Verdict::of(&rows, &Question { audits, ..question() }).expect("rounds");
        let json: Value = serde_json::from_str(&verdict.json()).expect("the report is JSON");
        let text = unwrapped(&verdict.text());
        (json["commits"]["runs_checked"].clone(), text)
    };
    let all = rows.len();
    let (runs, text) = checked(&[Some(second)]);
    assert_eq!(runs, all - 10, "{text}");
    assert!(text.contains(&format!("of the instance of {} of {all} runs", all - 10)), "{text}");
    assert!(text.contains("looked for the commits of 10 of"), "{text}");
    let (runs, text) = checked(&[Some(0), Some(second)]);
    assert_eq!(runs, all);
    assert!(!text.contains("Nobody has looked"), "{text}");
    assert_eq!(checked(&[Some(77)]).0, 0);
    assert_eq!(checked(&[None]).0, all, "an older audit counts as before");
}

#[test]
fn the_worst_unaccounted_time_is_named_and_warned_of_from_one_per_cent_on() {
    let mut rows = Story::of(1.08, 0.004).rows();
    assert!(!report(&rows).text().contains("without a name"));
    let worst = rows[4].background.worst.as_mut().expect("it has one");
    (worst.session, worst.share) = ("fb_smon".into(), 0.031);
    let text = report(&rows).text();
    assert!(text.contains("WARNING: fb_smon left 3.1 % of its time without a name."), "{text}");
    assert!(unwrapped(&text).contains("The verdict doesn't rest on that"), "{text}");
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

/// Stopped in the middle: whole rounds count, a run alone doesn't, and it says so.
#[test]
fn a_run_without_a_partner_is_left_out() {
    let rows = Story::of(1.08, 0.004).rows();
    let text = report(&rows[..25]).text();
    assert!(text.contains("WARNING: 1 run of no whole round"), "{text}");
    assert_eq!(compare(&rows[..25], Level::B, &RULE), compare(&rows[..24], Level::B, &RULE));
}

#[test]
fn too_few_rounds_for_a_verdict_still_show_what_was_measured() {
    let rows = Story::of(1.08, 0.004).rows();
    let compared = rows.into_iter().filter(|run| run.identity.kind == RoundKind::Compared);
    let ab: Vec<Run> = compared.take(4).collect();
    let text = report(&ab).text();
    assert!(text.contains("fewer than 6 whole rounds") && text.contains("Load profile"), "{text}");
    assert_eq!(json(&ab)["headline"]["comparison"], Value::Null);
}

#[test]
fn rows_without_a_whole_round_are_refused_with_what_to_do() {
    let rows = Story::of(1.08, 0.004).rows();
    let error = Verdict::of(&rows[..1], &question()).expect_err("one row is no round");
    let told = "no whole round of all settings in 1 row: let the experiment run longer";
    assert_eq!(error.to_string(), told);
}

/// One run that didn't measure it, and there is no such line: half a side says nothing.
#[test]
fn latency_is_told_where_every_run_measured_it() {
    let mut rows = Story::of(1.08, 0.004).rows();
    assert!(report(&rows).text().contains("latency, 99.9 %"));
    rows[9].latency = None;
    assert!(!report(&rows).text().contains("latency"));
}

/// Every yardstick has an answer of its own, and what isn't equal work is warned of.
#[test]
fn each_yardstick_has_its_ratio_and_work_must_be_equal() {
    let mut rows = Story::of(1.0, 0.004).rows();
    let line = |rows: &[Run], name: &str| -> Value {
        let json = json(rows);
        let lines = json["yardsticks"]["lines"].as_array().expect("lines");
        lines.iter().find(|line| line["name"] == name).expect(name).clone()
    };
    // Eight writers of A use more CPU than B's one.
    assert_eq!(line(&rows, "CPU of the instance")["difference"], "lower");
    assert_eq!(line(&rows, "throughput")["difference"], "not seen");
    assert!(!report(&rows).text().contains("same work"));
    for run in rows.iter_mut().filter(|run| run.identity.level == Level::B) {
        *run.statistics.get_mut("redo size").expect("it is there") *= 2;
    }
    assert_eq!(line(&rows, "redo")["difference"], "higher");
    assert!(report(&rows).text().contains("WARNING: The sides didn't do the same work"));
}

/// A device that stalls through a whole block is no reason to refuse.
#[test]
fn a_block_without_a_transaction_counts_as_time() {
    let mut rows = Story::of(1.08, 0.004).rows();
    for run in &mut rows {
        let (window_ns, transactions) = (run.elapsed_ns, run.transactions);
        let curve = vec![transactions as u32 / 20; 20];
        let step_ns = window_ns / 20;
        let block = Block {
            at_ns: 0,
            instance_ns: 0,
            washout_ns: 0,
            window_ns,
            transactions,
            step_ns,
            curve,
        };
        run.block = Some(block);
    }
    let whole = compare(&rows, Level::B, &RULE).expect("whole rounds").ratio;
    let stalled = |run: &&mut Run| {
        let identity = &run.identity;
        (identity.kind, identity.level) == (RoundKind::Compared, Level::B)
    };
    let stalled = rows.iter_mut().find(stalled).expect("there are some");
    (stalled.transactions, stalled.latency) = (0, None);
    stalled.block.as_mut().expect("it is one").transactions = 0;
    let with_stall = compare(&rows, Level::B, &RULE).expect("whole rounds").ratio;
    assert!(with_stall < whole - 0.05 && with_stall > whole - 0.3, "{whole} {with_stall}");
    assert!(report(&rows).text().contains("throughput"));
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

/// Three settings: the comparisons share the error, and a setting is best if its interval lies
/// above those of all others.
#[test]
fn several_settings_share_the_error_and_the_best_is_told_if_it_is_certain() {
    let of = |ratio: f64, spread: f64| {
        let rows = Story::of(ratio, spread).rows_of(3, 20);
        let rule = Rule { rounds: 20, ..RULE };
        let verdict = Verdict::of(&rows, &Question { rule, ..question() }).expect("whole rounds");
        let json: Value = serde_json::from_str(&verdict.json()).expect("the report is JSON");
        (verdict.text(), json)
    };
    let (text, clear) = of(1.08, 0.004);
    let levels = &clear["levels"];
    assert_eq!((&levels["best"], &levels["compared"]), (&"C".into(), &"C".into()));
    assert!((number(&levels["error_of_each"]) - 0.0125).abs() < 1e-12, "{levels}");
    assert!((number(&clear["headline"]["comparison"]["error"]) - 0.0125).abs() < 1e-12);
    assert_eq!(clear["headline"]["setting_b"], "db_writer_processes = 2");
    assert_eq!(clear["samples"], Value::Null);
    assert!(text.contains("Yes. C is 16."), "{text}");
    let (text, equal) = of(1.0, 0.03);
    assert_eq!(
        (&equal["levels"]["best"], &equal["levels"]["compared"]),
        (&Value::Null, &"C".into())
    );
    assert!(text.contains("None is best for certain."), "{text}");
    assert!(text.contains("A against C, the last"), "{text}");
    let (_, first) = of(0.92, 0.004);
    assert_eq!(
        (&first["levels"]["best"], &first["levels"]["compared"]),
        (&"A".into(), &"C".into())
    );
}

/// With two settings nothing is shared, and an experiment of more goes on for longer.
#[test]
fn the_error_is_shared_in_one_place() {
    assert_eq!((RULE.shared_by(1), RULE.shared_by(2)), (RULE, RULE));
    assert_eq!(RULE.shared_by(8).error, RULE.error / 7.0);
    let rows = Story::of(1.08, 0.012).rows_of(4, 20);
    let rule = Rule { rounds: 20, ..RULE };
    let two: Vec<Run> = rows.iter().filter(|run| run.identity.level <= Level::B).cloned().collect();
    let length = |rows: &[Run]| {
        let figure = Measure::Throughput.figure();
        let of = decide(rows, Level::B, figure, &rule).expect("there was a look");
        (of.error, of.interval.high - of.interval.low)
    };
    let ((all, one), (longer, shorter)) =
        ((length(&rows).0, length(&two).0), (length(&rows).1, length(&two).1));
    assert_eq!((all, one), (rule.error / 3.0, rule.error));
    assert!(longer > shorter, "{longer} {shorter}");
    assert!(is_decided(&rows, &rule) && !is_decided(&rows[..12], &rule));
}

/// EX28: on a model whose disk takes the same time for all, equals are equal to the nanosecond. An
/// experiment of them ends, and few rounds promise nothing.
#[test]
fn rounds_that_agree_to_the_last_digit_decide_where_there_are_enough() {
    let of = |ratio: f64, planned: u32, there: u32| {
        let mut rows = Story::of(ratio, 0.0).rows_of(3, there);
        rows.iter_mut().for_each(|run| run.elapsed_ns = 12_000_000_000);
        let rule = Rule { rounds: planned, is_open_ended: true, ..RULE };
        let verdict = Verdict::of(&rows, &Question { rule, ..question() }).expect("whole rounds");
        let json: Value = serde_json::from_str(&verdict.json()).expect("the report is JSON");
        let decision = compare(&rows, Level::B, &rule).expect("there was a look");
        (decision, json, unwrapped(&verdict.text()))
    };
    let answers = |json: &Value| {
        let comparison = &json["headline"]["comparison"];
        (comparison["real"].clone(), comparison["matters"].clone())
    };
    let (equals, json, _) = of(1.0, 100, 100);
    assert!(equals.answer.is_decided() && !equals.answer.is_real(), "{equals:?}");
    assert_eq!(answers(&json), ("not seen".into(), "no".into()));
    let (_, json, _) = of(1.08, 100, 100);
    assert_eq!(answers(&json), ("yes".into(), "yes".into()));
    assert_eq!(json["levels"]["best"], "C");
    // The bar of the first look of so many is 8: its square is above 20.
    let (few, json, text) = of(1.08, 400, 20);
    assert_eq!((few.more_rounds(), few.interval.high > 100.0), (None, true), "{few:?}");
    assert_eq!(answers(&json), ("not seen".into(), "open".into()));
    assert_eq!(json["levels"]["best"], Value::Null, "none is real");
    assert!(text.contains("All rounds agree to the last digit"), "{text}");
    assert!(!text.contains("would bring an answer"), "{text}");
}

#[test]
fn priority_is_diagnosed_by_the_delay_of_who_got_it() {
    let text = |share| unwrapped(&report(&priority(share)).text());
    let words = text(0.000_9);
    assert!(words.contains("Did the processes that got priority (fb_lgwr)"), "{words}");
    assert!(words.contains("For 0.09 % of their time in A and 0.05 % in B"), "{words}");
    assert!(words.contains("hardly ever short of a CPU"), "{words}");
    assert!(text(0.3).contains("So they were short of a CPU"));
    assert_eq!(json(&Story::of(1.08, 0.004).rows())["priority"], Value::Null);
}

#[test]
fn samples_are_told_of_two_settings() {
    let json = json(&Story::of(1.009, 0.004).rows());
    let samples = &json["samples"];
    assert_eq!((&samples["a"]["runs"], &samples["b"]["runs"]), (&10.into(), &10.into()));
    let welch = &samples["welch"];
    let [a, b] = ["a", "b"].map(|side| number(&samples[side]["mean"]));
    assert!((number(&welch["difference"]) - (b - a)).abs() < 1e-9, "{welch}");
    assert!(number(&samples["hedges_g"]["value"]) > 0.0 && number(&welch["p"]) < 0.05);
}

/// One side above ten thousand a second, the other below: a reader compares digit by digit.
#[test]
fn figures_of_both_settings_have_as_many_decimals() {
    let mut rows = Story::of(1.03, 0.004).rows();
    rows.iter_mut().for_each(|run| run.elapsed_ns = 1_660_000_000);
    let text = report(&rows).text();
    let samples = text.lines().skip_while(|line| !line.starts_with("Samples"));
    let is_row = |line: &&str| line.starts_with("  A ") || line.starts_with("  B ");
    let rows: Vec<&str> = samples.filter(is_row).take(2).collect();
    assert!(rows[1].contains(" 10,") && !rows[0].contains(" 10,"), "{rows:?}");
    let least = |row: &&str| row.split_whitespace().nth(2).expect("a figure").to_owned();
    assert!(rows.iter().map(least).all(|figure| !figure.contains('.')), "{rows:?}");
}

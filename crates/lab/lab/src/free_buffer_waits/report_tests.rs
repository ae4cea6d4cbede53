//! Reports of rows made by hand.

use super::super::measure::Size;
use super::*;
use crate::RunOn;
use crate::cells::made_rows::rows;
use crate::tests::{fits, place, says};

fn report(rows: &[Run], is_modelled: bool) -> Report {
    let matrix = Matrix {
        size: Size::TINY,
        settings: Setting::all(),
        run_on: RunOn::ThisMachine(".".into()),
        paced: None,
        seed: 1,
        commit: "of a test".into(),
        command: "a test".into(),
    };
    Report::of(rows, &matrix, place(is_modelled))
}

/// More writers are quicker under `none`; the others are all the same.
fn planted(rounds: u32) -> Vec<Run> {
    let settings = Setting::all();
    let names: Vec<String> = settings.iter().map(Setting::to_string).collect();
    rows(&names, rounds, |round, at| {
        let scatter = [1.0, 1.01, 0.99, 1.005, 0.995][(round as usize * 7 + at * 3) % 5];
        let cell = settings[at];
        let is_slow = cell.io.name() == "none" && (cell.writers, cell.slaves) == (1, 0);
        if is_slow { [3.0 * scatter, 2.5 * scatter] } else { [1.0 * scatter, 0.5 * scatter] }
    })
}

#[test]
fn a_report_says_what_is_certain_and_what_makes_it() {
    let report = report(&planted(10), false);
    let text = report.text();
    says(&text, "none, 36 writers, 0 slaves against none, 1 writer, 0 slaves: faster, 3.0");
    says(&text, "The largest certain part of it: free buffer waits, -2.0");
    says(&text, "no difference that matters: 1.0");
    says(&text, "shared over these 8 (Bonferroni): every interval is one of 99.38 %");
    says(&text, "Equals, one cell of each of 10 rounds");
    says(&text, "Redo is written with \"direct O_DSYNC\", 4 writes at once at most");
    fits(&text);
    assert!(report.json().contains("\"answer\":\"faster\""));
}

#[test]
fn too_few_rounds_are_said_to_be_too_few() {
    let text = report(&planted(5), false).text();
    says(&text, "can't tell: 3.0");
    says(&text, "Of fewer than 8 rounds none can be certain: these are 5.");
    assert!(!text.contains("faster,"), "{text}");
}

#[test]
fn a_model_has_no_verdict_that_looks_measured() {
    let rows: Vec<Run> = planted(1);
    let rows: Vec<Run> = rows
        .into_iter()
        .filter(|run| run.identity.kind == experiment::RoundKind::Compared)
        .collect();
    let report = report(&rows, true);
    let text = report.text();
    says(&text, "a model repeats itself, so no figure has an interval");
    says(&text, "modelled, 3.0");
    assert!(!text.contains("certain") && !text.contains("95 %"), "{text}");
    assert!(report.json().contains("\"seconds_low\":null"));
}

/// Of two sessions, one with time too much and one with too little, errors don't cancel.
#[test]
fn the_largest_unaccounted_time_is_of_a_single_session() {
    let mut rows = planted(2);
    let worst =
        |name: &str, share| Some(report::UnaccountedShare { session: name.to_owned(), share });
    rows.iter_mut().for_each(|run| run.foreground.worst = worst("session1", 0.001));
    rows[3].foreground.worst = worst("session7", 0.04);
    rows[3].foreground.profile.unaccounted_ns = 0;
    let report = report(&rows, false);
    assert!((report.unaccounted_most() - 4.0).abs() < 1e-9);
    says(&report.text(), "WARNING: Without a name: 4.0 % of a single session's time at most");
}

#[test]
fn lost_commits_are_told_before_all_else() {
    let mut rows = planted(2);
    for run in &mut rows {
        run.commits = Some(Commits { acknowledged: 12, found: 12 });
    }
    says(&report(&rows, false).text(), "Commits lost: none, of 504 acknowledged");
    rows[5].commits = Some(Commits { acknowledged: 12, found: 11 });
    let text = report(&rows, false).text();
    says(&text, "Commits were lost: no figure of this engine is worth anything.");
    says(&text, "Commits lost: 1 LOST, of 504 acknowledged");
    assert!(text.find("Commits were lost") < text.find("filesystemio  "), "{text}");
}

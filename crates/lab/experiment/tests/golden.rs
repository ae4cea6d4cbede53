//! Whole pages, as a person sees them. On a difference the page is printed: look at it, and if it
//! is better, put it into the file.

#[expect(dead_code, reason = "other tests use the rest of it")]
mod common;

use common::{RULE, Story, priority, question};
use experiment::{Level, Question, Rule, Sensitivity, Verdict, World, compare};

fn page(story: &Story, question: &Question) -> String {
    Verdict::of(&story.rows(), question).expect("whole rounds").text()
}

fn assert_page(page: &str, golden: &str) {
    assert!(page == golden, "the page has changed:\n<<<<\n{page}>>>>");
}

#[test]
fn a_clear_win() {
    let page = page(&Story::of(1.08, 0.012), &question());
    assert_page(&page, include_str!("golden/clear_win.txt"));
}

#[test]
fn no_difference() {
    let page = page(&Story::of(1.001, 0.012), &question());
    assert_page(&page, include_str!("golden/no_difference.txt"));
}

#[test]
fn cannot_tell() {
    let page = page(&Story::of(1.024, 0.06), &question());
    assert_page(&page, include_str!("golden/cannot_tell.txt"));
}

#[test]
fn a_modelled_win_that_depends_on_an_uncertain_cost() {
    let story =
        |ratio| Story { world: World::Simulated("8-core".into()), ..Story::of(ratio, 0.004) };
    let sensitivity = |change: &str, ratio| Sensitivity {
        change: change.into(),
        comparison: compare(&story(ratio).rows(), Level::B, &RULE),
    };
    let question = Question {
        command: "forebay lab run dbwr-count --simulate 8-core --seed 7".into(),
        model: "Eight CPUs of the calibrated machine, disks as a model of an enterprise NVMe."
            .into(),
        sensitivity: vec![
            sensitivity("half the migration and switch cost", 1.002),
            sensitivity("double the migration and switch cost", 1.07),
        ],
        ..question()
    };
    assert_page(&page(&story(1.04), &question), include_str!("golden/modelled.txt"));
}

#[test]
fn several_settings() {
    let rows = Story::of(1.025, 0.012).rows_of(4, 20);
    let rule = Rule { rounds: 20, ..RULE };
    let page = Verdict::of(&rows, &Question { rule, ..question() }).expect("whole rounds").text();
    assert_page(&page, include_str!("golden/several_settings.txt"));
}

/// As the original reported it: both samples may be normal, the t-test calls the difference
/// significant, and the log writer hardly ever waited for a CPU.
#[test]
fn real_time_priority() {
    let rows = priority(0.000_9);
    let page = Verdict::of(&rows, &question()).expect("whole rounds").text();
    assert_page(&page, include_str!("golden/real_time_priority.txt"));
}

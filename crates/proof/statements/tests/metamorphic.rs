//! Checks that need no rival, in a short form (rules RA7 to RA10).
#![forbid(unsafe_code)]

use statements::answer::{Answer, Cell};
use statements::bed::{Lie, lose_last_row};
use statements::metamorphic::{Checked, Metamorphic, PLANS};

const SEEDS: u64 = 60;
const BATCH: usize = 10;

#[test]
fn forebay_agrees_with_itself() {
    let mut checked = Checked::default();
    for first in (0..SEEDS).step_by(BATCH) {
        checked += Metamorphic::default().run(first..first + BATCH as u64);
    }
    println!("{checked}");
    let breaches: Vec<String> = checked.breaches.iter().map(ToString::to_string).collect();
    assert!(breaches.is_empty(), "{checked}\n{}", breaches.join("\n\n"));
    assert_eq!(checked.cases, SEEDS);
    for check in ["rows in three parts", "conditions counted", "with statistics"] {
        let asked = checked.asked.get(check).copied().unwrap_or(0);
        assert!(asked > SEEDS, "{check}: {asked}; {checked}");
    }
    assert!(checked.replanned > SEEDS, "{checked}");
    for plan in PLANS {
        let is_it = |line: &String| line.starts_with(plan);
        assert!(checked.plans.iter().any(is_it), "{plan} never came up: {:?}", checked.plans);
    }
}

/// Has 2 for every 1 of what is computed for each row. The parts of a query have it too, and so
/// does each way: only who counts the ones can see it.
fn two_for_one(text: &str, answer: &mut Answer) -> bool {
    let Answer::Rows(rows) = answer else { return false };
    if !text.starts_with("SELECT (case when ") {
        return false;
    }
    let (one, two) = (Cell::Number(1_i64.into()), Cell::Number(2_i64.into()));
    let ones = rows.iter_mut().filter_map(|row| row.first_mut()).filter(|cell| **cell == one);
    ones.map(|cell| *cell = two.clone()).count() > 0
}

/// Loses a row of what is asked with NOT alone.
fn lose_not(text: &str, answer: &mut Answer) -> bool {
    match answer {
        Answer::Rows(rows) if text.contains(" where (not ") => rows.pop().is_some(),
        _ => false,
    }
}

/// The check that tells a lie, with the smallest case that shows it.
fn told(lie: Lie) -> (String, String) {
    let checks = Metamorphic { lie: Some(lie) };
    let found = (0..20).find_map(|seed| checks.run(seed..seed + 1).breaches.into_iter().next());
    let breach = found.expect("20 cases have such a query");
    assert!(breach.script.lines().count() <= 12, "{breach}");
    (breach.check, breach.what)
}

/// RA10: lies are found by each check.
#[test]
fn lies_are_found_by_the_check_that_is_for_them() {
    let (check, what) = told(Lie { alter: two_for_one, behind: None });
    assert_eq!(check, "conditions counted", "{what}");
    let (check, what) = told(Lie { alter: lose_not, behind: None });
    assert!(["rows in three parts", "conditions counted"].contains(&check.as_str()), "{what}");
    for (behind, way) in [
        ("set enable_indexscan = off", "without index scans"),
        ("set enable_nestloop = off", "hash joins alone"),
        ("pga_aggregate_target = 8192", "with memory for ten rows"),
    ] {
        let (check, what) = told(Lie { alter: lose_last_row, behind: Some(behind) });
        assert_eq!(check, way, "{what}");
    }
}

//! A history for each anomaly, and one close to it that is none.

use Level::{ReadCommitted, Serializable, SnapshotIsolation};

use super::*;
use crate::history::notation::history;

/// What is wrong with it, and what order shows it.
fn wrong(lines: &str, level: Level, order: Order) -> Option<(Kind, Order)> {
    let anomaly = check_in(&history(lines), level, order).err()?;
    println!("{anomaly}");
    Some((anomaly.kind, anomaly.order))
}

/// From what was read alone.
fn free(lines: &str, level: Level) -> Option<Kind> {
    wrong(lines, level, Order::Free).map(|(kind, _)| kind)
}

fn at_all_levels(lines: &str, expected: Option<Kind>) {
    for level in [ReadCommitted, SnapshotIsolation, Serializable] {
        assert_eq!(free(lines, level), expected, "{level:?}");
    }
}

#[test]
fn an_empty_history_is_fine() {
    at_all_levels("", None);
    at_all_levels("a: begin\na: commit\nb: x=[]\nb: rollback", None);
}

#[test]
fn one_after_the_other_is_fine_and_counted() {
    let lines = "
        a: x+1 y+1
        a: x=[1] y=[1]
        a: commit
        b: x=[1]
        b: x+2
        b: x=[1,2]
        b: commit
        c: x=[1,2] y=[1]
        c: call commit";
    at_all_levels(lines, None);
    let summary = check(&history(lines), Serializable).expect("fine");
    println!("{summary}");
    let expected = Summary {
        transactions: 3,
        committed: 2,
        unknown_unseen: 1,
        lists: 2,
        reads: 6,
        appends: 3,
        ww: 1,
        wr: 2,
        ..Summary::default()
    };
    assert_eq!(summary, expected);
}

#[test]
fn a_value_appended_twice_is_no_history() {
    at_all_levels("a: x+1\na: commit\nb: x+1\nb: commit", Some(Kind::AppendedTwice));
    at_all_levels("a: x+1\na: commit\nb: y+1\nb: commit", None);
}

#[test]
fn a_value_is_in_a_list_once() {
    let twice = "a: x+1\na: commit\nb: x=[1,1]\nb: commit";
    at_all_levels(twice, Some(Kind::DuplicateValue));
    at_all_levels("a: x+1 y+1\na: commit\nb: x=[1] y=[1]\nb: commit", None);
}

#[test]
fn a_value_that_nobody_appended_is_found() {
    at_all_levels("a: x+1\na: commit\nb: x=[1,7]\nb: commit", Some(Kind::UnknownValue));
    at_all_levels("a: x+1 x+7\na: commit\nb: x=[1,7]\nb: commit", None);
}

#[test]
fn a_transaction_sees_its_own_appends_as_it_made_them() {
    at_all_levels("a: x+1\na: x=[]\na: commit", Some(Kind::Internal));
    at_all_levels("a: x+1\na: x+2\na: x=[2,1]\na: commit", Some(Kind::Internal));
    at_all_levels("a: x=[1]\na: x+1\na: commit", Some(Kind::Internal));
    at_all_levels("a: x+1\na: x+2\na: x=[1,2]\na: commit", None);
    let others = "a: x+1\nb: x+2\nb: x=[2]\na: commit\nb: commit\nc: x=[1,2]\nc: commit";
    at_all_levels(others, Some(Kind::IncompatibleOrder));
}

#[test]
fn what_was_taken_back_within_a_transaction_is_gone() {
    let kept = "
        a: x+1
        a: savepoint
        a: x+2 y+1
        a: x=[1,2]
        a: back
        a: x=[1] y=[]
        a: refused x+3
        a: x=[1]
        a: commit
        b: x=[1] y=[]
        b: commit";
    at_all_levels(kept, None);
    let own = "a: x+1\na: savepoint\na: x+2\na: back\na: x=[1,2]\na: commit";
    at_all_levels(own, Some(Kind::Internal));
    let own = "a: savepoint\na: x+2\na: back\na: x=[2]\na: rollback";
    at_all_levels(own, Some(Kind::Internal));
    let others = "a: x+1\na: refused x+2\na: commit\nb: x=[1,2]\nb: commit";
    at_all_levels(others, Some(Kind::AbortedRead));
}

#[test]
fn an_aborted_read_is_found() {
    at_all_levels("a: x+1\nb: x=[1]\na: rollback\nb: commit", Some(Kind::AbortedRead));
    at_all_levels("a: x+1\nb: x=[1]\na: rollback\nb: rollback", Some(Kind::AbortedRead));
    at_all_levels("a: x+1\nb: x=[]\na: rollback\nb: commit", None);
}

#[test]
fn a_commit_in_doubt_counts_if_it_was_seen() {
    at_all_levels("a: x+1 y+1\na: call commit\nb: x=[1] y=[1]\nb: commit", None);
    at_all_levels("a: x+1 y+1\na: call commit\nb: x=[] y=[]\nb: commit", None);
    let half = "a: x+1 y+1\na: call commit\nb: x=[1] y=[]\nb: commit";
    at_all_levels(half, Some(Kind::SplitStatement));
}

#[test]
fn a_commit_after_an_append_that_was_taken_back_is_a_dirty_update() {
    let lines = "a: x+1\nb: x+2\na: rollback\nb: commit\nc: x=[1,2]\nc: commit";
    at_all_levels(lines, Some(Kind::DirtyUpdate));
    at_all_levels("a: x+1\na: rollback\nb: x+2\nb: commit\nc: x=[2]\nc: commit", None);
}

#[test]
fn an_intermediate_read_is_found() {
    let lines = "a: x+1\nb: x=[1]\na: x+2\na: commit\nb: commit\nc: x=[1,2]\nc: commit";
    at_all_levels(lines, Some(Kind::IntermediateRead));
    let unseen = "a: x+1\nb: x=[1]\na: x+2\na: commit\nb: commit";
    at_all_levels(unseen, Some(Kind::IntermediateRead));
    at_all_levels("a: x+1\na: x=[1]\na: x+2\na: commit\nb: x=[1,2]\nb: commit", None);
    let back = "a: x+1\na: refused x+2\na: commit\nb: x=[1]\nb: commit";
    at_all_levels(back, None);
}

#[test]
fn readings_of_two_orders_are_found() {
    let written = "a: x+1\na: commit\nb: x+2\nb: commit\n";
    let two = format!("{written}c: x=[1]\nc: commit\nd: x=[2]\nd: commit");
    at_all_levels(&two, Some(Kind::IncompatibleOrder));
    let two = format!("{written}c: x=[1,2]\nc: commit\nd: x=[2,1]\nd: commit");
    at_all_levels(&two, Some(Kind::IncompatibleOrder));
    at_all_levels(&format!("{written}c: x=[1]\nc: commit\nd: x=[1,2]\nd: commit"), None);
    at_all_levels(&format!("{written}c: x=[2]\nc: commit\nd: x=[2,1]\nd: commit"), None);
}

#[test]
fn a_transactions_own_order_is_kept() {
    let lines = "a: x+1\na: x+2\na: commit\nb: x=[2,1]\nb: commit";
    at_all_levels(lines, Some(Kind::IncompatibleOrder));
    let lost = "a: x+1\na: x+2\na: commit\nb: x=[2]\nb: commit";
    at_all_levels(lost, Some(Kind::IncompatibleOrder));
}

#[test]
fn a_dirty_write_is_found() {
    let lines = "
        a: x+1
        b: x+2
        b: y+2
        a: y+1
        a: commit
        b: commit
        c: x=[1,2] y=[2,1]
        c: commit";
    at_all_levels(lines, Some(Kind::DirtyWrite));
    at_all_levels(&lines.replace("y=[2,1]", "y=[1,2]"), None);
}

#[test]
fn appends_of_another_in_between_are_a_dirty_write() {
    let lines = "a: x+1\nb: x+2\nb: commit\na: x+3\na: commit\nc: x=[1,2,3]\nc: commit";
    at_all_levels(lines, Some(Kind::DirtyWrite));
    at_all_levels(&lines.replace("[1,2,3]", "[2,1,3]"), None);
}

#[test]
fn an_append_that_nobody_saw_comes_last_or_is_lost() {
    let lines = "a: x+1 y+1\na: commit\nb: y=[1]\nb: x+2\nb: x=[2]\nb: commit";
    at_all_levels(lines, Some(Kind::LostAppend));
    at_all_levels(&lines.replace("x=[2]", "x=[1,2]"), None);
    at_all_levels(&lines.replace("y=[1]", "z=[]"), None);
}

#[test]
fn a_circular_flow_is_found() {
    let lines = "a: x+1\nb: y+1\na: y=[1]\nb: x=[1]\na: commit\nb: commit";
    at_all_levels(lines, Some(Kind::CircularFlow));
    at_all_levels(&lines.replace("a: y=[1]", "a: y=[]"), None);
    let with_write = "a: x+1 y+1\nb: x+2\nb: y=[1]\na: z=[2]\nb: z+2\n";
    let lines = format!("{with_write}a: commit\nb: commit\nc: x=[1,2]\nc: commit");
    at_all_levels(&lines, Some(Kind::CircularFlow));
}

/// Both read both lists and write one each: only serializable isolation forbids it.
#[test]
fn write_skew_is_found_by_serializable_only() {
    let lines = "a: x=[] y=[]\nb: x=[] y=[]\na: x+1\nb: y+1\na: commit\nb: commit";
    assert_eq!(free(lines, ReadCommitted), None);
    assert_eq!(free(lines, SnapshotIsolation), None);
    assert_eq!(free(lines, Serializable), Some(Kind::WriteSkew));
    let one_only = lines.replace("b: x=[] y=[]", "b: y=[]");
    assert_eq!(free(&one_only, Serializable), None);
    // It takes three: each reads what the next one writes.
    let three = "
        a: x=[] y+1
        b: y=[] z+1
        c: z=[] x+1
        a: commit
        b: commit
        c: commit";
    assert_eq!(free(three, SnapshotIsolation), None);
    assert_eq!(free(three, Serializable), Some(Kind::WriteSkew));
}

#[test]
fn read_skew_is_found_above_read_committed() {
    let lines = "a: x=[]\nb: x+1 y+1\nb: commit\na: y=[1]\na: commit";
    assert_eq!(free(lines, ReadCommitted), None);
    assert_eq!(free(lines, SnapshotIsolation), Some(Kind::ReadSkew));
    assert_eq!(free(lines, Serializable), Some(Kind::ReadSkew));
    at_all_levels(&lines.replace("y=[1]", "y=[]"), None);
    let again = "a: x=[]\nb: x+1\nb: commit\na: x=[1]\na: commit";
    assert_eq!(free(again, ReadCommitted), None);
    assert_eq!(free(again, SnapshotIsolation), Some(Kind::ReadSkew));
}

#[test]
fn what_one_statement_reads_is_of_one_moment() {
    let lines = "b: x+1 y+1\nb: commit\na: x=[] y=[1]\na: commit";
    at_all_levels(lines, Some(Kind::SplitStatement));
    assert_eq!(free(&lines.replace("x=[] y=[1]", "x=[]\na: y=[1]"), ReadCommitted), None);
    at_all_levels(&lines.replace("x=[] y=[1]", "x=[] y=[]"), None);
}

#[test]
fn who_was_seen_stays_seen() {
    let lines = "b: x+1 y+1\nb: commit\na: x=[1]\na: y=[]\na: commit";
    at_all_levels(lines, Some(Kind::NonMonotonic));
    at_all_levels(&lines.replace("y=[]", "y=[1]"), None);
    // It isn't only what it read itself: who appends to a list sees whose version that was.
    let lines = "
        b: x+1 y+1
        b: commit
        a: x+2
        a: y=[]
        a: commit
        c: x=[1,2]
        c: commit";
    at_all_levels(lines, Some(Kind::NonMonotonic));
    assert_eq!(
        free(&lines.replace("a: x+2\n        a: y=[]", "a: y=[]\na: x+2"), ReadCommitted),
        None
    );
    // And through a third transaction.
    let third = "
        b: x+1
        b: commit
        c: x=[1] y+1
        c: commit
        a: y=[1]
        a: x=[]
        a: commit";
    at_all_levels(third, Some(Kind::NonMonotonic));
}

/// Read committed tolerates it in statements of one transaction, as the row is locked and read
/// again only when it is changed; but the append itself is never lost.
#[test]
fn a_lost_update_is_found_above_read_committed() {
    let lines = "a: x=[]\nb: x=[]\na: x+1\na: commit\nb: x+2\nb: commit";
    let read = format!("{lines}\nc: x=[1,2]\nc: commit");
    for lines in [lines, read.as_str()] {
        assert_eq!(free(lines, ReadCommitted), None);
        assert_eq!(free(lines, SnapshotIsolation), Some(Kind::LostUpdate));
        assert_eq!(free(lines, Serializable), Some(Kind::LostUpdate));
    }
    at_all_levels(&read.replace("b: x=[]\n", ""), None);
    at_all_levels(&lines.replace("b: x=[]", "b: y=[]"), None);
}

/// The row was overwritten from an old version: append 1 is gone.
#[test]
fn an_append_that_was_overwritten_is_found_at_all_levels() {
    let lines = "a: x+1\nb: x+2\na: commit\nb: commit\nc: x=[2]\nc: commit";
    at_all_levels(lines, None);
    for level in [ReadCommitted, SnapshotIsolation, Serializable] {
        let found = wrong(lines, level, Order::RealTime);
        assert_eq!(found, Some((Kind::StaleRead, Order::RealTime)), "{level:?}");
    }
    let fine = "a: x+1\nb: call x+2\na: commit\nb: return\nb: commit\nc: x=[1,2]\nc: commit";
    assert_eq!(wrong(fine, ReadCommitted, Order::RealTime), None);
}

#[test]
fn a_long_fork_is_found_at_all_levels() {
    let lines = "
        a: x+1
        a: commit
        b: y+1
        b: commit
        c: x=[1] y=[]
        c: commit
        d: x=[] y=[1]
        d: commit";
    at_all_levels(lines, Some(Kind::LongFork));
    at_all_levels(&lines.replace("d: x=[]", "d: x=[1]"), None);
}

#[test]
fn a_stale_read_shows_in_real_time() {
    let lines = "a: x+1\na: commit\nb: x=[]\nb: commit";
    at_all_levels(lines, None);
    for level in [ReadCommitted, SnapshotIsolation, Serializable] {
        let found = wrong(lines, level, Order::RealTime);
        assert_eq!(found, Some((Kind::StaleRead, Order::RealTime)), "{level:?}");
        assert_eq!(wrong(lines, level, Order::Session), None);
    }
    // It began, or called its statement, before the commit had returned.
    let begun = "b: begin\na: x+1\na: commit\nb: x=[]\nb: commit";
    assert_eq!(wrong(begun, SnapshotIsolation, Order::RealTime), None);
    let kind = wrong(begun, ReadCommitted, Order::RealTime);
    assert_eq!(kind, Some((Kind::StaleRead, Order::RealTime)));
    let called = "a: x+1\na: call commit\nb: x=[]\na: return commit\nb: commit";
    assert_eq!(wrong(called, ReadCommitted, Order::RealTime), None);
}

#[test]
fn a_session_sees_its_own_commits_and_no_less_than_before() {
    let own = "a: x+1\na: commit\na: x=[]\na: commit";
    let seen = "a: x+1\na: commit\nb: x=[1]\nb: rollback\nb: x=[]\nb: commit";
    for lines in [own, seen] {
        at_all_levels(lines, None);
        let found = wrong(lines, SnapshotIsolation, Order::Session);
        assert_eq!(found, Some((Kind::StaleRead, Order::Session)));
    }
    // A commit that doesn't wait isn't promised to anybody, also not to its session.
    let nowait = "
        a: x+1
        a: call commit
        b: x=[1]
        b: commit";
    assert_eq!(wrong(nowait, SnapshotIsolation, Order::RealTime), None);
}

#[test]
fn a_commit_isnt_seen_before_it_is_called() {
    let lines = "a: x+1\nb: x=[1]\nb: commit\na: commit";
    at_all_levels(lines, None);
    for level in [ReadCommitted, SnapshotIsolation] {
        let found = wrong(lines, level, Order::RealTime);
        assert_eq!(found, Some((Kind::CircularFlow, Order::RealTime)), "{level:?}");
    }
    let called = "a: x+1\na: call commit\nb: x=[1]\nb: commit\na: return commit";
    assert_eq!(wrong(called, ReadCommitted, Order::RealTime), None);
}

/// The second append returned while the first one's transaction still held the row.
#[test]
fn a_missing_lock_shows_in_real_time() {
    let lines = "a: x+1\nb: x+2\na: commit\nb: commit\nc: x=[1,2]\nc: commit";
    at_all_levels(lines, None);
    for level in [ReadCommitted, SnapshotIsolation] {
        let found = wrong(lines, level, Order::RealTime);
        assert_eq!(found, Some((Kind::DirtyWrite, Order::RealTime)), "{level:?}");
    }
    let waits = "a: x+1\nb: call x+2\na: commit\nb: return\nb: commit\nc: x=[1,2]\nc: commit";
    assert_eq!(wrong(waits, ReadCommitted, Order::RealTime), None);
    // With a snapshot taken before it may have been changed after: it must be refused.
    let began = waits.replace("b: call", "b: y=[]\nb: call");
    assert_eq!(wrong(&began, ReadCommitted, Order::RealTime), None);
    let found = wrong(&began, SnapshotIsolation, Order::RealTime);
    assert_eq!(found, Some((Kind::DirtyWrite, Order::RealTime)));
}

#[test]
fn two_who_had_a_list_locked_are_found_though_they_were_taken_back() {
    let lines = "a: x+1\nb: x+2\na: y=[]\nb: y=[]\nb: rollback\na: rollback";
    for level in [ReadCommitted, SnapshotIsolation] {
        assert_eq!(wrong(lines, level, Order::Session), None);
        let found = wrong(lines, level, Order::RealTime);
        assert_eq!(found, Some((Kind::SharedLock, Order::RealTime)), "{level:?}");
    }
    let fine = "a: x+1\na: y=[]\nb: call x+2\na: rollback\nb: return\nb: rollback";
    assert_eq!(wrong(fine, ReadCommitted, Order::RealTime), None);
    let refused = "a: x+1\nb: refused x+2\na: y=[]\nb: y=[]\nb: rollback\na: rollback";
    assert_eq!(wrong(refused, ReadCommitted, Order::RealTime), None);
    let back = "b: savepoint\nb: x+2\nb: back\na: x+1\nb: y=[]\na: rollback\nb: rollback";
    assert_eq!(wrong(back, ReadCommitted, Order::RealTime), None);
}

#[test]
fn a_commit_lost_in_a_crash_is_found() {
    let lines = "
        a: x+1
        a: commit
        b: x=[1]
        b: call commit
        c: x+2
        c: commit
        d: x=[2]
        d: commit";
    at_all_levels(lines, Some(Kind::IncompatibleOrder));
    let unseen = lines.replace("b: x=[1]", "b: y=[]");
    let found = wrong(&unseen, ReadCommitted, Order::RealTime);
    assert_eq!(found, Some((Kind::StaleRead, Order::RealTime)));
    let in_doubt = unseen.replace("a: commit", "a: call commit");
    assert_eq!(wrong(&in_doubt, ReadCommitted, Order::RealTime), None);
    let seen = "
        a: x+1
        a: call commit
        b: x=[1]
        b: commit
        d: x=[]
        d: commit";
    let found = wrong(seen, ReadCommitted, Order::RealTime);
    assert_eq!(found, Some((Kind::StaleRead, Order::RealTime)));
}

#[test]
fn transactions_of_two_levels_are_judged_each_by_its_own() {
    let lines = "a: x=[]\nb: x+1 y+1\nb: commit\na: y=[1]\na: commit";
    let mut mixed = history(lines);
    mixed.level(0, ReadCommitted);
    assert_eq!(check(&mixed, SnapshotIsolation).err(), None);
    mixed.level(0, SnapshotIsolation);
    mixed.level(1, ReadCommitted);
    let found = check(&mixed, Serializable).expect_err("read skew");
    assert_eq!(found.kind, Kind::ReadSkew);
}

#[test]
fn an_anomaly_tells_its_story() {
    let lines = "a: x=[]\nb: x+1 y+1\nb: commit\na: y=[1]\na: commit";
    let found = check_in(&history(lines), SnapshotIsolation, Order::Free).expect_err("read skew");
    assert_eq!(
        found.to_string(),
        "G-single (read skew): what a transaction read isn't of one moment\n  \
         T0 read list 120 as [], without 1, which T1 appended\n  \
         T1 appended 1 to list 121, and T0 read it: [1]\n  \
         T0 (session 0, @1): 120=[] @2-3; 121=[1] @9-10; committed @12\n  \
         T1 (session 1, @4): 120+1 121+1 @5-6; committed @8"
    );
}

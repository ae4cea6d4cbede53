//! The races would notice: with a precaution left out they fail.

use stop::{Failpoint, Failpoints};

use crate::races::{base, run};

fn is_noticed(failpoint: Failpoint) {
    let (base, failpoints) = (base(), Failpoints::only(failpoint));
    let noticed = (0..300).filter(|seed| run(*seed, base.clone(), failpoints).0.is_some()).count();
    println!("{failpoint:?} is noticed in {noticed} races of 300");
    assert!(noticed > 5, "{failpoint:?} is noticed seldom");
}

#[test]
fn a_parent_that_does_not_look_for_children_is_noticed() {
    is_noticed(Failpoint::SkipChildren);
}

#[test]
fn a_foreign_key_that_waits_for_nobody_is_noticed() {
    is_noticed(Failpoint::IgnoreHolders);
}

#[test]
fn a_foreign_key_that_is_checked_as_of_a_snapshot_is_noticed() {
    is_noticed(Failpoint::LookAtSnapshot);
}

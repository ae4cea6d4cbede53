//! The tests of durability notice what is broken on purpose.

use stop::{Failpoint, Failpoints};

use crate::commits::cut_power;
use crate::common::small;

fn is_noticed(failpoint: Failpoint) {
    let mut config = small();
    config.failpoints = Failpoints::only(failpoint);
    let noticed = (0..200).filter(|seed| cut_power(*seed, &config).is_err()).count();
    println!("{failpoint:?} is noticed in {noticed} of 200 runs");
    assert!(noticed >= 20, "{failpoint:?} is noticed in {noticed} of 200 runs only");
}

/// Sessions that are told too early.
#[test]
fn an_early_acknowledgement_is_noticed() {
    is_noticed(Failpoint::AcknowledgeBeforeDurable);
}

/// Writes that are never synced.
#[test]
fn a_skipped_sync_is_noticed() {
    is_noticed(Failpoint::SkipLogSync);
}

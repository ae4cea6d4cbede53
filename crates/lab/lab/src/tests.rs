//! What tests of several modules share.

use experiment::{Origin, World};

/// Where the rows of a test come from.
pub(crate) fn origin() -> Origin {
    Origin {
        experiment: "test".to_owned(),
        plan_seed: 1,
        commit: "commit".to_owned(),
        machine: "machine".to_owned(),
        world: World::Linux,
        work: "work".to_owned(),
    }
}

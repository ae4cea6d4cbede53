//! The verbs of `cargo xbench`, one module for each, and what they share.

pub(crate) mod binary;
pub(crate) mod calibrate;
pub(crate) mod decides;
pub(crate) mod determinism;
pub(crate) mod kill;
pub(crate) mod neighbour;
pub(crate) mod newcomer;
pub(crate) mod performance;
pub(crate) mod races;
pub(crate) mod soak;
pub(crate) mod validity;

//! The verbs of `cargo xbench`, one module for each.

pub(crate) mod calibrate;
pub(crate) mod determinism;
pub(crate) mod kill;
pub(crate) mod performance;
pub(crate) mod races;
pub(crate) mod soak;
pub(crate) mod validity;

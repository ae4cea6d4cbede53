//! What the tests of several rooms share.
//!
//! * [`Dice`]: numbers that follow from a seed.
//! * [`machine`], [`racy`], [`racing`]: simulated machines. [`run`] and [`run_kept`] run a program
//!   on one and fail with its seed if it comes to no end; [`ended`] and [`left`] do so for tests
//!   that need the report in between. [`with_fixed_costs`] is for bounds that rest on what code
//!   costs.
//! * [`join`], [`pause`]: sessions in threads.
//! * [`Folder`]: a folder on a real disk that is gone afterwards.
//! * [`bed`] (feature `instance`): small databases, an instance that is opened, used and shut.
//!
//! Rules TB1 to TB3 are in the README. Only tests use this crate, those in `tests/` of any room.

#![forbid(unsafe_code)]

#[cfg(feature = "instance")]
pub mod bed;
mod dice;
mod folder;
mod machine;
mod threads;

pub use dice::Dice;
pub use folder::Folder;
pub use machine::{ended, left, machine, racing, racy, run, run_kept, with_fixed_costs};
pub use threads::{join, pause};

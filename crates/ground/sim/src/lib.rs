//! The simulated world: the same engine code on machines that we don't have.
//!
//! ```text
//!   engine ──▶ os (neutral) ──▶ port ──▶ kernel ──▶ scheduler    CPUs, run queue, time
//!                                          ├──▶ device ──▶ model  how long a request takes
//!                                          │          └──▶ fs     what is durable; faults
//!                                          └──▶ baton, log, watchdog
//! ```
//!
//! Threads are real threads, but only the one that holds the baton runs. Virtual time moves when a
//! thread has charged CPU and comes to the kernel, and jumps when none can run. Everything random
//! follows from one seed, so the same seed gives the same event log, byte for byte, on any machine
//! and in any build. Rules S1 to S32 are in the README.
//!
//! * [`Simulation`]: a machine, its disks, a seed; [`Simulation::run`] gives a [`Report`].
//! * [`World`]: what the program sees: an [`os::Os`] and [`os::Disk`]s.
//! * [`Failure`]: a deadlock with the waits of all threads, a panic, lost power, a stuck thread.
//! * [`CrashPoints`]: the disks that a power cut would leave, at each operation of one run.
//! * [`Outside`]: a value that a test keeps when the machine crashes.
//! * [`Perturbation`]: how far the seed bends the schedule to find races.
//! * [`fs`]: files with durability of their own, faults, and the states that a crash can leave.
//! * [`model`]: disks and machines with their parameters in files.
//! * [`BadPlaces`]: places of a medium that can't be read, over any disk.
//! * [`pace`]: a real file made as slow as a modelled disk.

#![forbid(unsafe_code)]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this is one of the two worlds behind `os`: its baton is made of real threads"
)]

mod bad_places;
mod baton;
mod crash_point;
mod device;
mod failure;
pub mod fs;
mod kernel;
mod layout;
mod log;
pub mod model;
mod outside;
pub mod pace;
mod perturbation;
mod port;
mod real_cpu;
mod scheduler;
mod simulation;
mod thread;
mod watchdog;

pub use bad_places::BadPlaces;
pub use crash_point::{CrashPoints, Cut};
pub use failure::{Failure, Waiter};
pub use log::LogMode;
pub use outside::Outside;
pub use perturbation::Perturbation;
pub use simulation::{DiskSpec, Report, Simulation, ThreadReport, World};

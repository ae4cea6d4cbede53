//! The simulated machines and disks.
//!
//! A disk model is a function of its own state, a request and the virtual time, and answers with
//! the virtual time at which the request is done:
//!
//! ```text
//!   DiskParameters ──new(seed)──▶ DiskModel ──complete_at(request, now)──▶ completion time
//!   (a TOML text)                 (positions, busy times, a generator)      (ns, always > now)
//! ```
//!
//! It never asks a clock, keeps no thread and holds no data; the simulated disk around it keeps the
//! content of blocks. So the same model serves the simulator and a pacer that slows a real file
//! down to the speed of a slower device.
//!
//! # Rules
//! * **Order.** Calls come in order of arrival: `now` never goes back. A request is served after
//!   those that came before it, and a completion once told is never taken back.
//! * **Determinism.** Times are whole nanoseconds. Each model owns one xoshiro256++ generator
//!   and draws a number of values that depends on the kind and size of the request, never on time,
//!   state or an earlier draw: a request meets the same luck when the load around it is timed
//!   otherwise, which makes two runs under one seed comparable. Random variables are
//!   made by *inversion*: a uniform value in (0, 1) goes through the quantile function. The only
//!   transcendental functions are `exp`, `ln` and `erfc` of the `libm` crate; addition,
//!   multiplication, division and square root are exact in IEEE 754. So one seed gives one
//!   sequence on every machine and in every build profile. The methods of `f64` (`ln`, `exp`,
//!   `powf`) are not used here: they reach the C library, whose last digit differs.
//! * **Parameters live in files**, `models/*.toml`, one value a line with its unit in the name of
//!   the key and its origin in a comment. What a model says of itself in
//!   [`DiskParameters::expected_read_mean_us`] follows from the parameters alone, by the formulae
//!   below; the tests hold the sampled times against it.
//!
//! # The 7,200 rpm disk (`kind = "rotating"`)
//! After Ruemmler & Wilkes, "An introduction to disk drive modeling", IEEE Computer 27(3), 1994.
//!
//! ```text
//!   service = seek(distance) + settle (writes) + rotational wait + bytes under the head
//!   seek(x) = a + b·√x + c·x          x = cylinders crossed / all cylinders, x > 0
//! ```
//! The paper joins a √x branch (the arm accelerates and brakes) and a linear one (it coasts); one
//! formula with both terms meets three published figures: track to track, the mean over uniformly
//! random pairs of *bytes*, and full stroke. The platter turns with virtual time: each byte of the
//! disk has an instant on the *streaming clock* — how long a head that starts at byte 0 takes to
//! get there, track skew included — and passes under the head when `time ≡ clock (mod turn)`.
//! Hence what a real disk does: queued sequential transfers lose no time between requests, and a
//! durable rewrite of one block costs a whole turn. Capacity and rate fall from the outer zone to
//! the inner one. Reading ahead fills a buffer until a request wants the head elsewhere. A
//! volatile write cache, if there is one, takes writes at bus speed and brings them to the platter
//! in ascending order, wrapping round, whenever the head is free.
//!
//! # The solid state disk (`kind = "nvme"`)
//! ```text
//!   read     = command + a channel's busy time + lognormal(median, sigma) [+ slow] + bytes/bus
//!   write    = command + bytes/bus + lognormal [+ slow], when the cache has room;
//!              else it waits until the channels have drained enough:
//!              drain rate = channels · program unit / mean program time
//!   flush    = the drain + lognormal (a volatile cache), or a lognormal of its own (protected)
//!   mean of a latency     = median · exp(sigma²/2) + probability of slow · size of slow
//!   most reads per second = channels / mean of a read's latency
//! ```
//! A transfer is cut into stripes, each served by the channel that is free first: the device is
//! the queue M/G/c. The lognormal body with a rare, large addition (a read behind an erase or a
//! collection) is the shape that Dean & Barroso, "The tail at scale", CACM 56(2), 2013, and
//! vendors' quality-of-service tables show.
//!
//! # Fixed and exponential
//! For programs with known answers: W servers of a constant time (M/D/1 and "N parallel I/Os take
//! N service times"), and one server of exponential times (M/M/1).
//!
//! # The disk at hand (`kind = "measured"`)
//! No physics: the latencies of lone requests by rank, and a gate that limits the requests per
//! second, as `cargo xbench validity` measures them; see `measured.rs`.
//!
//! # What is here
//! * [`DiskModel`], [`DiskParameters`], [`DiskRequest`], [`RequestKind`]: the disks
//! * [`MachineParameters`]: the processors
//! * [`CostList`]: what code costs on them
//! * [`ModelError`]: what was wrong with a file, in words for its author

mod costs;
mod disk;
mod error;
mod exponential;
mod fixed;
mod geometry;
mod latency;
mod machine;
mod measured;
mod nvme;
mod parameters;
mod reader;
mod rotating;
mod servers;
mod units;
mod write_cache;

pub use costs::{CostList, costs_markdown};
pub use disk::{DiskModel, DiskRequest, RequestKind};
pub use error::ModelError;
pub use machine::MachineParameters;
pub use parameters::DiskParameters;

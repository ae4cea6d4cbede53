//! What happens beside a run, and of it the covariates.
//!
//! A hypervisor that gives the CPU to others while B runs makes B look slow. What can be seen of
//! such things, and can't be an effect of the setting, is taken out of the comparison (rule EX23).
//!
//! What other programs had of the CPU isn't: one that takes all it can get has more of it where a
//! setting waits, and then B's own effect would be taken out. It is shown only.
//!
//! Callers: `decision`; `lab` makes the readings.

use serde::{Deserialize, Serialize};

use crate::Run;

/// What happened beside a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Surroundings {
    /// The time over which they were watched, ns.
    pub elapsed_ns: u64,
    /// The number of CPUs, also those that this process may not use; zero where they can't be read.
    pub cpus: u32,
    /// CPU time of this process, ns; zero in old rows.
    #[serde(default)]
    pub own_ns: u64,
    /// CPU time of all else: other processes, the kernel's threads, interrupts, ns.
    pub others_ns: u64,
    /// CPU time that a hypervisor gave to other machines, ns.
    pub stolen_ns: u64,
    /// Durable writes of 4 KiB that a probe made beside the load, one after the other with pauses
    /// of equal length.
    pub probes: u64,
    /// All the time in which one was on its way, ns.
    pub probes_ns: u64,
    /// Context switches of all threads of this process; zero on a model.
    #[serde(default)]
    pub switches: u64,
}

impl Surroundings {
    /// The CPU that others had and that was stolen, as a share of the machine.
    pub fn cpu_of_others(&self) -> f64 {
        let all = self.elapsed_ns as f64 * f64::from(self.cpus);
        if all > 0.0 { (self.others_ns + self.stolen_ns) as f64 / all } else { 0.0 }
    }
}

/// A covariate: its name, and its value in a run.
pub(crate) struct Covariate {
    pub(crate) name: &'static str,
    pub(crate) of: fn(&Run) -> f64,
}

/// The CPU that a hypervisor took, as a share of all that was wanted: who wants less is robbed of
/// less.
pub(crate) const STOLEN: Covariate = Covariate { name: "stolen CPU", of: stolen };

/// The share of time in which a probe of the device was on its way.
pub(crate) const DEVICE: Covariate = Covariate { name: "device probe", of: probe };

/// Whether the run was an earlier or a later one of its round.
pub(crate) const PLACE: Covariate =
    Covariate { name: "order", of: |run| f64::from(run.identity.place) };

fn stolen(run: &Run) -> f64 {
    let share = |s: &Surroundings| {
        let wanted = s.own_ns + s.others_ns + s.stolen_ns;
        s.stolen_ns as f64 / wanted.max(1) as f64
    };
    run.surroundings.as_ref().map_or(0.0, share)
}

fn probe(run: &Run) -> f64 {
    let share = |s: &Surroundings| s.probes_ns as f64 / s.elapsed_ns.max(1) as f64;
    run.surroundings.as_ref().map_or(0.0, share)
}

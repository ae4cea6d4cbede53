//! What is measured: each cost of the declared list, what scheduling costs a machine, and what the
//! simulator doesn't know yet but a reader of the list should.
//!
//! Callers: those here who measure and report.

use os::Cost;
use sim::model::{CostList, MachineParameters};

/// One thing that is measured, in ns a unit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Figure {
    /// An entry of the list of costs.
    Cost(Cost),
    /// A change of thread on a CPU: `switch_cost_ns` of a machine.
    Switch,
    /// Going on on another CPU: `migration_cost_ns` of a machine.
    Migration,
    /// A park on a CPU that goes idle.
    ParkToIdle,
    /// What a wake takes longer when the sleeper's CPU idles: `wake_idle_ns` of a machine.
    WakeIdle,
}

impl Figure {
    /// All of them, the list first.
    pub(super) fn all() -> impl Iterator<Item = Figure> {
        let costs = Cost::ALL.iter().copied().map(Figure::Cost);
        costs.chain([Figure::Switch, Figure::Migration, Figure::WakeIdle, Figure::ParkToIdle])
    }

    /// Its key in its file, or what it is called where it has none.
    pub(super) fn name(self) -> &'static str {
        match self {
            Figure::Cost(cost) => cost.info().name,
            Figure::Switch => "switch_cost_ns",
            Figure::Migration => "migration_cost_ns",
            Figure::ParkToIdle => "(park, to idle)",
            Figure::WakeIdle => "wake_idle_ns",
        }
    }

    /// What one unit of it is.
    pub(super) fn unit(self) -> &'static str {
        match self {
            Figure::Cost(cost) => cost.info().unit,
            Figure::Switch => "switch",
            Figure::Migration => "migration",
            Figure::ParkToIdle => Cost::Park.info().unit,
            Figure::WakeIdle => Cost::Wake.info().unit,
        }
    }

    /// What these have of it, in ns; nothing if there is no place for it.
    pub(super) fn known(self, costs: &CostList, machine: &MachineParameters) -> Option<u32> {
        match self {
            Figure::Cost(cost) => Some(costs.ns(cost)),
            Figure::Switch => Some(machine.switch_cost_ns),
            Figure::Migration => Some(machine.migration_cost_ns),
            Figure::WakeIdle => Some(machine.wake_idle_ns),
            Figure::ParkToIdle => None,
        }
    }
}

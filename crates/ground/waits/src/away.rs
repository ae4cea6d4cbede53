//! Time without a CPU between two readings of a thread's clocks.

use crate::Nanos;

/// The time that a thread was without a CPU, and its parts. The thread slept for the rest: inside a
/// wait the rest belongs to the wait, between waits it has no name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OffCpuTime {
    /// Wall time minus the thread's CPU time.
    pub off_cpu: Nanos,
    /// The part of it in the run queue, ready to run.
    pub run_queue: Nanos,
    /// The part of it taken by a hypervisor or by interrupts, where the world can tell.
    pub stolen: Nanos,
}

impl OffCpuTime {
    pub(crate) fn combine(&mut self, other: OffCpuTime, op: fn(u64, u64) -> u64) {
        self.off_cpu.0 = op(self.off_cpu.0, other.off_cpu.0);
        self.run_queue.0 = op(self.run_queue.0, other.run_queue.0);
        self.stolen.0 = op(self.stolen.0, other.stolen.0);
    }
}

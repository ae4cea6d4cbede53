//! Time without a CPU between two looks at a thread's clocks.

use crate::Nanos;

/// How long a thread was without a CPU, and what became of that time. The rest of it the thread
/// slept: inside a wait that is what the wait is for, between waits it has no name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Away {
    /// What the wall clock has over the thread's CPU clock.
    pub off_cpu: Nanos,
    /// Of which ready to run, in the run queue.
    pub run_queue: Nanos,
    /// Of which taken away by a hypervisor or by interrupts, where the world can tell.
    pub stolen: Nanos,
}

impl Away {
    pub(crate) fn combine(&mut self, other: Away, op: fn(u64, u64) -> u64) {
        self.off_cpu.0 = op(self.off_cpu.0, other.off_cpu.0);
        self.run_queue.0 = op(self.run_queue.0, other.run_queue.0);
        self.stolen.0 = op(self.stolen.0, other.stolen.0);
    }
}

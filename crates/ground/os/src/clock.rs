//! Clocks: the processor's time stamp counter, the kernel's clock, and virtual time.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use waits::Timestamp;

use crate::Cost;
use crate::linux::tsc::Tsc;

/// The source of a world's time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClockSource {
    /// The time stamp counter, read in user space (~10 ns).
    Tsc,
    /// `clock_gettime` (~40 ns, or 1-2 us where it needs a system call).
    Kernel,
    /// A simulated machine's time.
    Virtual,
}

/// A world's clock: one of three, told apart by a branch rather than a call through a table.
#[derive(Clone, Debug)]
pub struct Clock(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Tsc(Tsc),
    Kernel { origin_ns: u64 },
    Virtual(Arc<VirtualClock>),
}

impl Clock {
    pub(crate) fn tsc(tsc: Tsc) -> Clock {
        Clock(Kind::Tsc(tsc))
    }

    pub(crate) fn kernel() -> Clock {
        Clock(Kind::Kernel { origin_ns: crate::linux::tsc::kernel_ns() })
    }

    /// The clock of a simulated world.
    pub fn virtual_time(clock: Arc<VirtualClock>) -> Clock {
        Clock(Kind::Virtual(clock))
    }

    /// The present.
    #[inline]
    pub fn now(&self) -> Timestamp {
        Timestamp::from_nanos(match &self.0 {
            Kind::Tsc(tsc) => tsc.now_ns(),
            Kind::Kernel { origin_ns } => crate::linux::tsc::kernel_ns().saturating_sub(*origin_ns),
            Kind::Virtual(clock) => clock.now.load(Relaxed),
        })
    }

    /// The source of the time.
    pub fn source(&self) -> ClockSource {
        match self.0 {
            Kind::Tsc(_) => ClockSource::Tsc,
            Kind::Kernel { .. } => ClockSource::Kernel,
            Kind::Virtual(_) => ClockSource::Virtual,
        }
    }

    /// Whether it is a simulated machine's.
    pub fn is_virtual(&self) -> bool {
        matches!(self.0, Kind::Virtual(_))
    }

    #[inline]
    pub(crate) fn charge(&self, cost: Cost, units: u64) {
        if let Kind::Virtual(clock) = &self.0 {
            clock.charge(u64::from(clock.costs[cost as usize]).saturating_mul(units));
        }
    }

    #[inline]
    pub(crate) fn charge_nanos(&self, ns: u64) {
        if let Kind::Virtual(clock) = &self.0 {
            clock.charge(ns);
        }
    }
}

/// The time of a simulated machine, as the thread that holds the baton sees it: the scheduler's
/// time plus the CPU time that this thread has charged since its last call of the scheduler. Only
/// the baton's holder writes it, and the scheduler on its behalf.
pub struct VirtualClock {
    now: AtomicU64,
    costs: [u32; Cost::COUNT],
}

impl VirtualClock {
    /// A clock at zero on a machine with these costs, in ns per unit.
    pub fn new(costs: [u32; Cost::COUNT]) -> VirtualClock {
        VirtualClock { now: AtomicU64::new(0), costs }
    }

    /// The present, in ns.
    pub fn now_ns(&self) -> u64 {
        self.now.load(Relaxed)
    }

    /// Sets the present. Only for the scheduler.
    pub fn set_ns(&self, now: u64) {
        self.now.store(now, Relaxed);
    }

    /// Moves the present on by `ns` of CPU time that the running thread uses.
    #[inline]
    pub fn charge(&self, ns: u64) {
        self.now.store(self.now.load(Relaxed).saturating_add(ns), Relaxed);
    }
}

impl fmt::Debug for VirtualClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VirtualClock({} ns)", self.now_ns())
    }
}

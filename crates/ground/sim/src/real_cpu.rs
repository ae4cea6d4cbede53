//! The real CPU that the threads of one simulation share, because only one of them runs at a time.
//!
//! Simulations side by side in one process get one CPU each, as long as there are enough. When they
//! stayed where their callers happened to run, two of them met on one CPU while another was idle: a
//! crash sweep of two threads then took half as long again.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The number of simulations on each CPU.
static TAKEN: Mutex<BTreeMap<usize, u32>> = Mutex::new(BTreeMap::new());

/// A CPU that is taken until this is dropped.
pub(crate) struct RealCpu(usize);

impl RealCpu {
    /// Takes the CPU with the fewest simulations among those on which the caller may run; among
    /// equals the caller's, because the caller sleeps meanwhile. Returns none where the kernel
    /// doesn't tell.
    pub(crate) fn take() -> Option<RealCpu> {
        let here = os::linux::this_cpu();
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        let count = |cpu: &usize| taken.get(cpu).copied().unwrap_or(0);
        let allowed = os::linux::cpus_allowed();
        let cpu = allowed.into_iter().min_by_key(|cpu| (count(cpu), Some(*cpu) != here))?;
        *taken.entry(cpu).or_default() += 1;
        Some(RealCpu(cpu))
    }

    pub(crate) fn number(&self) -> usize {
        self.0
    }
}

impl Drop for RealCpu {
    fn drop(&mut self) {
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        *taken.get_mut(&self.0).expect("it was taken") -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Other tests of this process may take some meanwhile, so more are taken than exist.
    #[test]
    fn simulations_side_by_side_get_a_cpu_each() {
        let cpus = os::linux::cpus_allowed().len();
        let taken: Vec<RealCpu> = (0..8 * cpus).filter_map(|_| RealCpu::take()).collect();
        let mut numbers: Vec<usize> = taken.iter().map(RealCpu::number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), cpus, "some CPU was left out: {numbers:?}");
    }
}

//! How much of the machine others had meanwhile: the model has its CPUs to itself.
//!
//! Callers: `validity`.

use std::fs;

/// The machine's and this process's CPU time so far, in ticks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    all: u64,
    idle: u64,
    own: u64,
}

impl Reading {
    pub(super) fn take() -> Result<Reading, String> {
        let read = |path: &str| {
            fs::read_to_string(path).map_err(|error| format!("cannot read {path}: {error}"))
        };
        let parsed = Reading::parse(&read("/proc/stat")?, &read("/proc/self/stat")?);
        parsed.ok_or_else(|| "/proc/stat isn't as Linux writes it".to_string())
    }

    fn parse(machine: &str, process: &str) -> Option<Reading> {
        let numbers = |text: &str| -> Vec<u64> {
            text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
        };
        // user nice system idle iowait irq softirq steal; guest times lie within user.
        let cpu = numbers(machine.lines().next()?.strip_prefix("cpu ")?);
        let all = cpu.get(..8)?.iter().sum();
        // The name stands in brackets and may hold anything; utime is the 12th word after it.
        let after: Vec<&str> = process.rsplit_once(')')?.1.split_whitespace().collect();
        let own: u64 = after.get(11..13)?.iter().filter_map(|word| word.parse::<u64>().ok()).sum();
        Some(Reading { all, idle: cpu[3] + cpu[4], own })
    }

    /// The share of the machine's CPU time since `earlier` that others used, or that was stolen.
    pub(super) fn others_since(&self, earlier: &Reading) -> f64 {
        let all = (self.all - earlier.all).max(1);
        let busy = all.saturating_sub(self.idle.saturating_sub(earlier.idle));
        busy.saturating_sub(self.own - earlier.own) as f64 / all as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_neither_idle_nor_ours_is_others() {
        let process = |own: u64| {
            format!("7 (a ) name) S 1 7 7 0 -1 4194304 9 0 0 0 {own} 20 0 0 20 0 1 0 5 6 7")
        };
        let machine = |user: u64, idle: u64| {
            format!("cpu  {user} 0 30 {idle} 5 0 0 10 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n")
        };
        let read = |user, idle, own| {
            Reading::parse(&machine(user, idle), &process(own)).expect("it is as Linux writes it")
        };
        let (before, after) = (read(100, 500, 10), read(150, 550, 30));
        assert!((after.others_since(&before) - 0.3).abs() < 1e-9);
        assert!(Reading::parse("cpu  1 2 3", &process(1)).is_none());
    }
}

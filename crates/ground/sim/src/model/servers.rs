//! N equal servers and the wire behind them: the two queues that the models are built of.
//!
//! [`Servers`] holds the instant at which each server is next free; a job goes to the one that is
//! free first, the lowest number at a tie. Since jobs come in order of arrival, this *is* the
//! first-come-first-served queue G/G/N, without a list of the jobs that wait.
//!
//! [`Bus`] is a rate rather than a queue: a transfer is done no earlier than the wire could have
//! carried everything asked of it so far. A slow operation therefore doesn't hold up the transfers
//! of those that overtake it, and the long-run rate is still the wire's.
//!
//! Callers: `fixed`, `exponential`, `nvme`, `rotating`.

use super::units::transfer_ns;

/// N servers, each with the time until which it is busy.
#[derive(Clone, Debug)]
pub(super) struct Servers {
    busy_until: Vec<u64>,
}

impl Servers {
    pub(super) fn new(count: u64) -> Servers {
        assert!(count > 0, "a queue needs a server");
        Servers { busy_until: vec![0; usize::try_from(count).expect("counts fit the machine")] }
    }

    /// The instant at which a job that arrives at `now` and takes `service_ns` is done.
    pub(super) fn serve(&mut self, now: u64, service_ns: u64) -> u64 {
        let first = self.busy_until.iter_mut().min_by_key(|until| **until);
        let until = first.expect("there is at least one server");
        *until = now.max(*until) + service_ns;
        *until
    }
}

/// A wire of a given rate, shared in order of arrival.
#[derive(Clone, Debug)]
pub(super) struct Bus {
    rate_mb_s: f64,
    free_at: u64,
}

impl Bus {
    pub(super) fn new(rate_mb_s: f64) -> Bus {
        Bus { rate_mb_s, free_at: 0 }
    }

    /// The earliest instant at which `bytes`, asked for at `now`, can all have crossed.
    pub(super) fn carry(&mut self, now: u64, bytes: u64) -> u64 {
        self.free_at = self.free_at.max(now) + self.crossing_ns(bytes);
        self.free_at
    }

    /// The time that `bytes` take on an idle wire.
    pub(super) fn crossing_ns(&self, bytes: u64) -> u64 {
        transfer_ns(bytes, self.rate_mb_s)
    }
}

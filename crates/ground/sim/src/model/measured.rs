//! A disk as it was measured, whatever it is made of: times by rank, and a gate.
//!
//! ```text
//!   request ──▶ gate: one at a time, for `busy` ──▶ the rest, beside others ──▶ done
//!
//!   latency = a drawn twentieth + (length − base) · kib       of a request that is alone
//!           · beside                                          if it finds another on its way
//!   busy    = busy + (length − base) · busy_kib               1/busy: the most a second
//! ```
//! For each of four kinds of request (read, write, durable write, flush) a file has the latencies
//! of a lone request as the means of their twentieths, ascending, so that their mean is kept, tail
//! and all, without a guess at the shape of the distribution; and how long each holds the gate,
//! which is what many at once showed. `latency / busy` is the number served at once. One gate
//! serves all kinds: a virtual disk is one queue before one thread of its host. A flush has the
//! length of what was written since the last one: where a host holds writes back, the flush waits
//! for them. `beside` is what the gate doesn't explain of how much longer requests take in mixed
//! company.
//!
//! Invariants
//!   * a lone request takes a twentieth of its kind to the nanosecond, unless `busy` is longer
//!   * one draw for each request
//!
//! Left out: state. What was written before, what the host has cached and how its load changes is
//! in the figures as it was when they were taken.
//!
//! Callers: `disk`. `cargo xbench validity` measures and writes such files.

use super::disk::{DiskRequest, RequestKind};
use super::error::ModelError;
use super::reader::Reader;
use super::servers::Servers;
use super::units::{KIB, RandomDraws, ns_of_us};

/// The number of means that describe a latency.
pub(super) const RANKS: usize = 20;
/// The length of a request that takes the file's time. Other lengths take more or less by the KiB.
const BASE_BYTES: u64 = 8 * KIB;
const US_MAX: f64 = 1e7;
const BESIDE_MAX: f64 = 100.0;

/// The keys of one kind of request.
struct Keys {
    ranks_us: &'static str,
    kib_us: &'static str,
    busy_us: &'static str,
    busy_kib_us: &'static str,
    beside: &'static str,
}

const READ: Keys = Keys {
    ranks_us: "read_us",
    kib_us: "read_kib_us",
    busy_us: "read_busy_us",
    busy_kib_us: "read_busy_kib_us",
    beside: "read_beside",
};
const WRITE: Keys = Keys {
    ranks_us: "write_us",
    kib_us: "write_kib_us",
    busy_us: "write_busy_us",
    busy_kib_us: "write_busy_kib_us",
    beside: "write_beside",
};
const DURABLE: Keys = Keys {
    ranks_us: "durable_us",
    kib_us: "durable_kib_us",
    busy_us: "durable_busy_us",
    busy_kib_us: "durable_busy_kib_us",
    beside: "durable_beside",
};
const FLUSH: Keys = Keys {
    ranks_us: "flush_us",
    kib_us: "flush_kib_us",
    busy_us: "flush_busy_us",
    busy_kib_us: "flush_busy_kib_us",
    beside: "flush_beside",
};

/// One kind of request.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Measured {
    ranks_us: [f64; RANKS],
    kib_us: f64,
    busy_us: f64,
    busy_kib_us: f64,
    beside: f64,
}

impl Measured {
    fn from_reader(reader: &mut Reader, keys: &Keys) -> Result<Measured, ModelError> {
        Ok(Measured {
            ranks_us: reader.ascending(keys.ranks_us, 0.0..=US_MAX)?,
            kib_us: reader.number(keys.kib_us, 0.0..=US_MAX)?,
            busy_us: reader.number(keys.busy_us, 0.0..=US_MAX)?,
            busy_kib_us: reader.number(keys.busy_kib_us, 0.0..=US_MAX)?,
            beside: reader.number(keys.beside, 1.0..=BESIDE_MAX)?,
        })
    }

    /// The additional time of a request longer than the base length; negative for a shorter one.
    fn beyond_us(kib_us: f64, length: u64) -> f64 {
        (length as f64 - BASE_BYTES as f64) / KIB as f64 * kib_us
    }

    fn latency_us(&self, rank: usize, length: u64) -> f64 {
        (self.ranks_us[rank] + Measured::beyond_us(self.kib_us, length)).max(0.0)
    }

    fn busy_us(&self, length: u64) -> f64 {
        (self.busy_us + Measured::beyond_us(self.busy_kib_us, length)).max(0.0)
    }

    pub(super) fn mean_us(&self, length: u64) -> f64 {
        let busy_us = self.busy_us(length);
        let all = (0..RANKS).map(|rank| self.latency_us(rank, length).max(busy_us));
        all.sum::<f64>() / RANKS as f64
    }

    pub(super) fn quantile_us(&self, length: u64, p: f64) -> f64 {
        self.latency_us(rank_of(p), length).max(self.busy_us(length))
    }

    pub(super) fn limit_per_s(&self, length: u64) -> f64 {
        1e6 / self.busy_us(length)
    }
}

/// The twentieth in which a share of all lies.
fn rank_of(share: f64) -> usize {
    ((share * RANKS as f64) as usize).min(RANKS - 1)
}

/// The parameters of a file of `kind = "measured"`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct MeasuredParameters {
    pub(super) read: Measured,
    write: Measured,
    durable: Measured,
    flush: Measured,
}

impl MeasuredParameters {
    pub(super) fn from_reader(reader: &mut Reader) -> Result<MeasuredParameters, ModelError> {
        Ok(MeasuredParameters {
            read: Measured::from_reader(reader, &READ)?,
            write: Measured::from_reader(reader, &WRITE)?,
            durable: Measured::from_reader(reader, &DURABLE)?,
            flush: Measured::from_reader(reader, &FLUSH)?,
        })
    }
}

/// The state: when the gate is free and when the requests end, and the random numbers.
#[derive(Clone, Debug)]
pub(super) struct MeasuredDisk {
    parameters: MeasuredParameters,
    gate: Servers,
    /// When the last of the requests in flight ends.
    all_end: u64,
    /// The number of bytes written since the last flush, but not durably.
    unflushed: u64,
    luck: RandomDraws,
}

impl MeasuredDisk {
    pub(super) fn new(parameters: &MeasuredParameters, seed: u64) -> MeasuredDisk {
        let (gate, luck) = (Servers::new(1), RandomDraws::new(seed));
        MeasuredDisk { parameters: parameters.clone(), gate, all_end: 0, unflushed: 0, luck }
    }

    pub(super) fn complete_at(&mut self, request: &DiskRequest, now: u64) -> u64 {
        let (kind, length) = match request.kind {
            RequestKind::Read => (&self.parameters.read, request.length),
            RequestKind::Write { durable: false } => {
                self.unflushed = self.unflushed.saturating_add(request.length);
                (&self.parameters.write, request.length)
            }
            RequestKind::Write { durable: true } => (&self.parameters.durable, request.length),
            RequestKind::Flush => (&self.parameters.flush, std::mem::take(&mut self.unflushed)),
        };
        let beside = if now < self.all_end { kind.beside } else { 1.0 };
        let latency_us = kind.latency_us(rank_of(self.luck.uniform()), length);
        let latency_ns = ns_of_us(latency_us * beside);
        let busy_ns = ns_of_us(kind.busy_us(length));
        let end = self.gate.serve(now, busy_ns) + latency_ns.saturating_sub(busy_ns);
        self.all_end = self.all_end.max(end);
        end
    }
}

#[cfg(test)]
mod tests {
    use super::super::disk::DiskModel;
    use super::super::parameters::DiskParameters;
    use super::*;

    fn disk(text: &str) -> Result<DiskParameters, ModelError> {
        let ranks: Vec<String> = (0..RANKS).map(|rank| (100 + 10 * rank).to_string()).collect();
        let ranks = ranks.join(", ");
        let mut file = String::from("name = \"d\"\nsource = \"a test\"\nkind = \"measured\"\n");
        for kind in ["read", "write", "durable", "flush"] {
            file += &format!(
                "{kind}_us = [{ranks}]\n{kind}_kib_us = 1\n{kind}_busy_us = 20\n\
                 {kind}_busy_kib_us = 0.5\n{kind}_beside = 1.5\n"
            );
        }
        DiskParameters::parse(&text.replace("FILE", &file))
    }

    #[test]
    fn lone_requests_have_the_mean_of_the_twentieths_and_longer_ones_take_longer() {
        let parameters = disk("FILE").expect("it is valid");
        let mut model = DiskModel::new(&parameters, 3);
        let mut mean_us = |length: u64, from: u64| {
            let times = (0..20_000).map(|turn| {
                let now = from + turn * 10_000_000;
                (model.complete_at(&DiskRequest::read(0, length), now) - now) as f64 / 1e3
            });
            times.sum::<f64>() / 20_000.0
        };
        let (base, long) = (mean_us(8 * KIB, 0), mean_us(64 * KIB, 1 << 50));
        assert!((base - 195.0).abs() < 2.0, "{base}");
        assert!((long - 251.0).abs() < 2.0, "{long}");
        assert_eq!(parameters.expected_read_mean_us(8 * KIB), Some(195.0));
        assert_eq!(parameters.expected_read_quantile_us(8 * KIB, 0.5), Some(200.0));
    }

    #[test]
    fn many_at_once_pass_the_gate_one_by_one_and_wait_for_the_rest_together() {
        let parameters = disk("FILE").expect("it is valid");
        let mut model = DiskModel::new(&parameters, 3);
        let last = (0..1_000).map(|_| model.complete_at(&DiskRequest::read(0, 8 * KIB), 0)).max();
        let last_us = last.expect("a thousand") as f64 / 1e3;
        assert!((20_000.0..20_450.0).contains(&last_us), "{last_us} us for 1,000 of 20 us each");
        assert_eq!(parameters.expected_read_limit_per_s(8 * KIB), Some(50_000.0));
    }

    #[test]
    fn a_request_that_finds_another_on_its_way_takes_longer() {
        let parameters = disk("FILE").expect("it is valid");
        let mut model = DiskModel::new(&parameters, 3);
        let mut mean_us = |apart: u64, from: u64| {
            let times = (0..20_000).map(|turn| {
                let now = from + turn * apart;
                (model.complete_at(&DiskRequest::read(0, 8 * KIB), now) - now) as f64 / 1e3
            });
            times.sum::<f64>() / 20_000.0
        };
        let (alone, beside) = (mean_us(10_000_000, 0), mean_us(50_000, 1 << 50));
        assert!((alone - 195.0).abs() < 2.0, "{alone}");
        assert!((beside - 292.5).abs() < 3.0, "{beside}");
    }

    #[test]
    fn a_flush_waits_for_what_was_written_since_the_last() {
        let parameters = disk("FILE").expect("it is valid");
        let mut model = DiskModel::new(&parameters, 3);
        let mut now = 0;
        let mut flush_us = |model: &mut DiskModel, writes: u32| {
            for _ in 0..writes {
                now = model.complete_at(&DiskRequest::write(0, 64 * KIB, false), now);
            }
            let began = now;
            now = model.complete_at(&DiskRequest::flush(), now);
            (now - began) as f64 / 1e3
        };
        assert!(flush_us(&mut model, 16) >= 1_016.0 + 100.0, "a MiB at 1 us a KiB");
        assert!(flush_us(&mut model, 0) < 290.0, "it was flushed");
    }

    #[test]
    fn twentieths_that_fall_or_are_not_twenty_are_refused_by_their_key() {
        let refused = |what: &str, by: &str| {
            let text = "FILE";
            let file = disk(text).map(|_| ());
            assert_eq!(file, Ok(()));
            let mut lines = String::from("name = \"d\"\nsource = \"s\"\nkind = \"measured\"\n");
            lines += &format!("read_us = {what}\n");
            let message = DiskParameters::parse(&lines).expect_err("it is wrong").to_string();
            assert!(message.contains("`read_us`") && message.contains(by), "{message}");
        };
        refused("[1, 2]", "a list of 20 ascending numbers");
        refused("7", "a list of 20 ascending numbers");
        let falling: Vec<String> = (0..RANKS).rev().map(|rank| rank.to_string()).collect();
        refused(&format!("[{}]", falling.join(", ")), "a list of 20 ascending numbers");
    }
}

//! A solid state disk: parallel channels behind one bus, and a cache in front of the flash.
//!
//! ```text
//!            ┌─ read:  command ─▶ stripes on the channels that are free first ─▶ bus ─▶ done
//!   request ─┼─ write: command ─▶ bus ─▶ cache (waits while it is full) ─▶ done; drains behind
//!            ├─ durable write, volatile cache: a channel for the whole of it
//!            └─ flush: the cache drains, then the map of the flash is made durable
//! ```
//! The cache is a leaking bucket: each write adds the time that the channels will need to program
//! it, and the level falls with time. While it drains, a read meets a channel that is programming
//! with a given probability and waits for the rest of that program operation. The channels
//! themselves are queued for by reads and durable writes only, as a drive lets reads go before
//! what it has already acknowledged.
//!
//! Invariants
//!   * `drained_at` never goes back; when it is past, the cache is empty
//!   * the channels are first come first served
//!   * the number of draws depends on the kind and size of the request, never on time or state
//!
//! Left out: which address lies on which channel, fast (SLC) regions that run out, thermal limits,
//! reads answered from the cache.
//!
//! Callers: `disk`.

use super::disk::{DiskRequest, RequestKind};
use super::error::ModelError;
use super::latency::{Latency, LatencyKeys};
use super::reader::Reader;
use super::servers::{Bus, Servers};
use super::units::{KIB, MIB, RandomDraws, ns_of_us};

const READ: LatencyKeys = LatencyKeys {
    median_us: "read_median_us",
    sigma: "read_sigma",
    slow_probability: "read_slow_probability",
    slow_us: "read_slow_us",
};
const WRITE: LatencyKeys = LatencyKeys {
    median_us: "write_median_us",
    sigma: "write_sigma",
    slow_probability: "write_slow_probability",
    slow_us: "write_slow_us",
};
const PROGRAM: LatencyKeys = LatencyKeys {
    median_us: "program_median_us",
    sigma: "program_sigma",
    slow_probability: "program_slow_probability",
    slow_us: "program_slow_us",
};

/// The parameters of a file of `kind = "nvme"`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NvmeParameters {
    pub(super) capacity_bytes: u64,
    channels: u64,
    stripe_bytes: u64,
    command_us: f64,
    bus_mb_s: f64,
    read: Latency,
    write: Latency,
    program: Latency,
    program_bytes: u64,
    random_write_amplification: f64,
    read_behind_program_probability: f64,
    cache_bytes: u64,
    flush: Latency,
    /// The time for which a durable write holds its channel; none where the cache survives power
    /// loss.
    durable: Option<Latency>,
}

impl NvmeParameters {
    pub(super) fn from_reader(reader: &mut Reader) -> Result<NvmeParameters, ModelError> {
        let power_loss_protected = reader.flag("power_loss_protected")?;
        let durable = match power_loss_protected {
            true => None,
            false => Some(Latency::body_from_reader(reader, "durable_median_us", "durable_sigma")?),
        };
        Ok(NvmeParameters {
            capacity_bytes: reader.whole("capacity_gb", 1..=100_000)? * 1_000_000_000,
            channels: reader.whole("channels", 1..=4_096)?,
            stripe_bytes: reader.whole("stripe_kb", 1..=4_096)? * KIB,
            command_us: reader.number("command_us", 0.1..=1e5)?,
            bus_mb_s: reader.number("bus_mb_s", 1.0..=100_000.0)?,
            read: Latency::from_reader(reader, &READ)?,
            write: Latency::from_reader(reader, &WRITE)?,
            program: Latency::from_reader(reader, &PROGRAM)?,
            program_bytes: reader.whole("program_kb", 1..=4_096)? * KIB,
            random_write_amplification: reader.number("random_write_amplification", 1.0..=100.0)?,
            read_behind_program_probability: reader
                .number("read_behind_program_probability", 0.0..=1.0)?,
            cache_bytes: reader.whole("cache_mb", 1..=65_536)? * MIB,
            flush: Latency::body_from_reader(reader, "flush_median_us", "flush_sigma")?,
            durable,
        })
    }

    /// The time that a read of one stripe takes beyond the time on its channel.
    fn around_read_us(&self, length: u64) -> f64 {
        self.command_us + length as f64 / self.bus_mb_s
    }

    /// The mean of a read on an idle device; none if it takes several channels.
    pub(super) fn read_mean_us(&self, length: u64) -> Option<f64> {
        let one = length <= self.stripe_bytes;
        one.then(|| self.around_read_us(length) + self.read.mean_us())
    }

    /// A quantile of such reads.
    pub(super) fn read_quantile_us(&self, length: u64, p: f64) -> Option<f64> {
        let one = length <= self.stripe_bytes;
        one.then(|| self.around_read_us(length) + self.read.quantile_us(p))
    }

    /// The number of reads of one stripe per second when every channel is busy, if the bus can
    /// carry them.
    pub(super) fn read_limit_per_s(&self, length: u64) -> f64 {
        let channels = self.channels as f64 * 1e6 / self.read.mean_us();
        channels.min(self.bus_mb_s * 1e6 / length as f64)
    }

    /// The number of nanoseconds in which the channels together program one byte.
    fn drain_ns_per_byte(&self) -> f64 {
        let bytes_at_once = (self.channels * self.program_bytes) as f64;
        self.program.mean_us() * 1_000.0 / bytes_at_once
    }
}

/// The state of the device.
#[derive(Clone, Debug)]
pub(super) struct Nvme {
    parameters: NvmeParameters,
    luck: RandomDraws,
    command_ns: u64,
    channels: Servers,
    bus_in: Bus,
    bus_out: Bus,
    drain_ns_per_byte: f64,
    /// The cache's size, as the time that the channels need to program it.
    cache_ns: u64,
    /// When the channels will have programmed the whole content of the cache.
    drained_at: u64,
    /// The byte after the last write; a write elsewhere costs its share of collection.
    write_next: u64,
    /// Whether anything was written since the last flush.
    written: bool,
    /// When the last flush is done.
    flushed_at: u64,
}

impl Nvme {
    pub(super) fn new(parameters: &NvmeParameters, seed: u64) -> Nvme {
        let drain_ns_per_byte = parameters.drain_ns_per_byte();
        Nvme {
            luck: RandomDraws::new(seed),
            command_ns: ns_of_us(parameters.command_us),
            channels: Servers::new(parameters.channels),
            bus_in: Bus::new(parameters.bus_mb_s),
            bus_out: Bus::new(parameters.bus_mb_s),
            drain_ns_per_byte,
            cache_ns: (parameters.cache_bytes as f64 * drain_ns_per_byte) as u64,
            drained_at: 0,
            write_next: 0,
            written: false,
            flushed_at: 0,
            parameters: parameters.clone(),
        }
    }

    pub(super) fn complete_at(&mut self, request: &DiskRequest, now: u64) -> u64 {
        let start = now + self.command_ns;
        match request.kind {
            RequestKind::Read => self.read(request.length, start),
            RequestKind::Write { durable: true } if self.parameters.durable.is_some() => {
                self.durable_write(request.offset, request.length, start)
            }
            RequestKind::Write { .. } => self.write(request.offset, request.length, start),
            RequestKind::Flush => self.flush(start),
        }
    }

    fn read(&mut self, length: u64, start: u64) -> u64 {
        let stripe = self.parameters.stripe_bytes;
        let mut read_at = start;
        for _ in 0..length.div_ceil(stripe) {
            let service_ns = self.parameters.read.draw_ns(&mut self.luck) + self.behind_ns(start);
            read_at = read_at.max(self.channels.serve(start, service_ns));
        }
        // Stripes cross the bus while later ones are read, so only the last one is left at the end.
        let left_ns = self.bus_out.crossing_ns(length.min(stripe));
        self.bus_out.carry(start, length).max(read_at + left_ns)
    }

    /// The time that a read waits for a program operation on its channel.
    fn behind_ns(&mut self, start: u64) -> u64 {
        let meets = self.luck.uniform() < self.parameters.read_behind_program_probability;
        let left = self.luck.uniform();
        let program_ns = self.parameters.program.draw_ns(&mut self.luck);
        if meets && self.drained_at > start { (program_ns as f64 * left) as u64 } else { 0 }
    }

    fn write(&mut self, offset: u64, length: u64, start: u64) -> u64 {
        let cost_ns = self.program_cost_ns(offset, length);
        let latency_ns = self.parameters.write.draw_ns(&mut self.luck);
        let crossed_at = self.bus_in.carry(start, length);
        self.drained_at = self.drained_at.max(start) + cost_ns;
        self.written = true;
        let room_at = self.drained_at.saturating_sub(self.cache_ns);
        crossed_at.max(room_at) + latency_ns
    }

    /// Holds a channel until the flash, and the map that finds it, are durable.
    fn durable_write(&mut self, offset: u64, length: u64, start: u64) -> u64 {
        self.write_next = offset + length;
        let durable = self.parameters.durable.as_ref().expect("the caller asked");
        let service_ns = durable.draw_ns(&mut self.luck);
        let programmed_ns = (length as f64 * self.drain_ns_per_byte) as u64;
        let crossed_at = self.bus_in.carry(start, length);
        self.channels.serve(crossed_at, service_ns + programmed_ns)
    }

    fn flush(&mut self, start: u64) -> u64 {
        let latency_ns = self.parameters.flush.draw_ns(&mut self.luck);
        if self.parameters.durable.is_none() {
            return start + latency_ns;
        }
        if self.written {
            let begun_at = start.max(self.drained_at).max(self.flushed_at);
            self.flushed_at = begun_at + latency_ns;
            self.written = false;
        }
        start.max(self.flushed_at)
    }

    fn program_cost_ns(&mut self, offset: u64, length: u64) -> u64 {
        let sequential = offset == self.write_next;
        self.write_next = offset + length;
        let amplification =
            if sequential { 1.0 } else { self.parameters.random_write_amplification };
        (length as f64 * amplification * self.drain_ns_per_byte) as u64
    }
}

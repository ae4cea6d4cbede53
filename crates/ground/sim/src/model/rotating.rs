//! A disk with platters and one arm: positions follow from virtual time, nothing is drawn.
//!
//! ```text
//!   request ─command─▶ in the cache? ──yes──▶ bus ──▶ done
//!                          │no
//!                          ▼
//!               the head, first come first served: seek, settle, wait for the angle, pass
//! ```
//! Invariants
//!   * `busy_until` is when the head has done all that was asked; it never goes back
//!   * a stream exists only if the last thing the head did was to read; it then reads on, up to
//!     `readahead_kb` beyond what the host has had
//!   * a cached write starts its way home before a request that arrives later, never after a
//!     request that arrived earlier
//!
//! A flush and a durable write first bring home all that is in the cache: most hosts have no
//! forced-unit-access writes on such disks and say flush instead.
//!
//! Left out: defects and spare sectors, settling that fails, reordering of queued requests by the
//! drive, idle detection before the cache is emptied.
//!
//! Callers: `disk`. Source: Ruemmler & Wilkes 1994 (see the module's essay).

use super::disk::{DiskRequest, RequestKind};
use super::error::ModelError;
use super::geometry::{Geometry, GeometryParameters};
use super::reader::Reader;
use super::servers::Bus;
use super::units::{KIB, MIB, ns_of_us};
use super::write_cache::{PendingWrite, WriteCache};

/// The parameters of a file of `kind = "rotating"`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RotatingParameters {
    pub(super) geometry: GeometryParameters,
    write_settle_us: f64,
    command_us: f64,
    bus_mb_s: f64,
    readahead_bytes: u64,
    write_cache_bytes: u64,
}

impl RotatingParameters {
    pub(super) fn from_reader(reader: &mut Reader) -> Result<RotatingParameters, ModelError> {
        Ok(RotatingParameters {
            geometry: GeometryParameters::from_reader(reader)?,
            write_settle_us: reader.number("write_settle_us", 0.0..=1e5)?,
            command_us: reader.number("command_us", 0.1..=1e5)?,
            bus_mb_s: reader.number("bus_mb_s", 1.0..=100_000.0)?,
            readahead_bytes: reader.whole("readahead_kb", 0..=1_048_576)? * KIB,
            write_cache_bytes: reader.whole("write_cache_mb", 0..=16_384)? * MIB,
        })
    }

    /// The mean time of a random read on an idle disk: command, mean seek, half a turn, the pass.
    pub(super) fn random_read_mean_us(&self, length: u64) -> f64 {
        let half_turn_us = self.geometry.turn_ns() as f64 / 2_000.0;
        let reach_us = self.geometry.seek_average_us + half_turn_us;
        self.command_us + reach_us + self.geometry.mean_pass_us(length)
    }
}

/// A read that the head continues beyond the request.
#[derive(Clone, Copy, Debug)]
struct Stream {
    /// The first byte that the host has not had yet.
    next: u64,
    /// The byte that the head has passed ...
    passed_offset: u64,
    /// ... at this time; it has gone on from there.
    passed_at: u64,
}

/// The state of the disk.
#[derive(Clone, Debug)]
pub(super) struct Rotating {
    geometry: Geometry,
    capacity_bytes: u64,
    write_settle_ns: u64,
    command_ns: u64,
    readahead_bytes: u64,
    bus: Bus,
    cache: WriteCache,
    busy_until: u64,
    head_track: u64,
    head_offset: u64,
    stream: Option<Stream>,
}

impl Rotating {
    pub(super) fn new(parameters: &RotatingParameters) -> Rotating {
        Rotating {
            geometry: Geometry::new(&parameters.geometry),
            capacity_bytes: parameters.geometry.capacity_bytes,
            write_settle_ns: ns_of_us(parameters.write_settle_us),
            command_ns: ns_of_us(parameters.command_us),
            readahead_bytes: parameters.readahead_bytes,
            bus: Bus::new(parameters.bus_mb_s),
            cache: WriteCache::new(parameters.write_cache_bytes),
            busy_until: 0,
            head_track: 0,
            head_offset: 0,
            stream: None,
        }
    }

    pub(super) fn complete_at(&mut self, request: &DiskRequest, now: u64) -> u64 {
        self.bring_home_before(now);
        let arrived = now + self.command_ns;
        let (offset, length) = (request.offset, request.length);
        match request.kind {
            RequestKind::Read if self.cache.holds(offset, length) => {
                self.bus.carry(arrived, length)
            }
            RequestKind::Read => self.read(offset, length, arrived),
            RequestKind::Write { durable: false } if self.cache.could_take(length) => {
                self.cached_write(offset, length, arrived)
            }
            RequestKind::Write { .. } => {
                self.bring_home_all();
                let crossed = self.bus.carry(arrived, length);
                self.move_data(offset, length, arrived, self.write_settle_ns).max(crossed)
            }
            RequestKind::Flush => {
                self.bring_home_all();
                self.busy_until.max(arrived)
            }
        }
    }

    fn read(&mut self, offset: u64, length: u64, arrived: u64) -> u64 {
        let start = arrived.max(self.busy_until);
        let passed = match self.stream {
            Some(stream) if stream.next == offset => self.read_on(stream, offset + length, start),
            _ => {
                let passed_at = self.move_data(offset, length, arrived, 0);
                let end = offset + length;
                self.stream = Some(Stream { next: end, passed_offset: end, passed_at });
                passed_at
            }
        };
        let done = passed.max(self.bus.carry(start, length));
        self.busy_until = done;
        done
    }

    /// Continues a stream up to `end`. Returns when the last byte is in the buffer. The head has
    /// gone on by itself until the buffer was full. It then stands there, and resumes as the host
    /// takes data, which costs the rest of a turn.
    fn read_on(&mut self, stream: Stream, end: u64, start: u64) -> u64 {
        let limit = (stream.next + self.readahead_bytes).min(self.capacity_bytes);
        let stopped_at = stream.passed_at + self.pass_ns(stream.passed_offset, limit);
        let (mut passed_offset, mut passed_at) = (stream.passed_offset, stream.passed_at);
        if stopped_at < start {
            passed_offset = limit;
            passed_at = start + self.geometry.rotation_ns(self.geometry.locate(limit), start);
        }
        self.stream = Some(Stream { next: end, passed_offset, passed_at });
        self.leave_head_at(end);
        if end <= passed_offset {
            return start;
        }
        start.max(passed_at + self.pass_ns(passed_offset, end))
    }

    fn cached_write(&mut self, offset: u64, length: u64, arrived: u64) -> u64 {
        let mut room_at = arrived;
        while !self.cache.has_room(length) {
            room_at = room_at.max(self.bring_next_home());
        }
        let accepted_at = self.bus.carry(room_at, length);
        self.cache.take(PendingWrite { offset, length, accepted_at });
        accepted_at
    }

    /// Makes the head do what it would have begun by itself before `now`.
    fn bring_home_before(&mut self, now: u64) {
        while let Some(write) = self.cache.next_home(self.head_offset) {
            if self.busy_until.max(write.accepted_at) >= now {
                return;
            }
            self.bring_next_home();
        }
    }

    fn bring_home_all(&mut self) {
        while self.cache.next_home(self.head_offset).is_some() {
            self.bring_next_home();
        }
    }

    fn bring_next_home(&mut self) -> u64 {
        let write = self.cache.next_home(self.head_offset).expect("there is a write in the cache");
        self.cache.release(write);
        self.move_data(write.offset, write.length, write.accepted_at, self.write_settle_ns)
    }

    /// Moves the head to `offset` and over `length` bytes, after all its earlier work.
    fn move_data(&mut self, offset: u64, length: u64, arrived: u64, settle_ns: u64) -> u64 {
        let position = self.geometry.locate(offset);
        let moved_ns = match self.geometry.seek_ns(self.head_track, position.track) {
            0 => 0,
            seek_ns => seek_ns + settle_ns,
        };
        let there_at = arrived.max(self.busy_until) + moved_ns;
        let begun_at = there_at + self.geometry.rotation_ns(position, there_at);
        self.busy_until = begun_at + self.pass_ns(offset, offset + length);
        self.leave_head_at(offset + length);
        self.stream = None;
        self.busy_until
    }

    fn leave_head_at(&mut self, offset: u64) {
        self.head_track = self.geometry.locate(offset).track;
        self.head_offset = offset;
    }

    fn pass_ns(&self, from: u64, to: u64) -> u64 {
        let (from, to) = (self.geometry.locate(from), self.geometry.locate(to));
        to.clock_ns.saturating_sub(from.clock_ns)
    }
}

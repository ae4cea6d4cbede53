//! A disk as the simulator sees it: a request goes in at a virtual time, a completion time comes
//! out.
//!
//! Invariants
//!   * a completion is later than its request's arrival
//!   * arrivals don't go back
//!   * a request lies within the capacity
//!
//! Callers: the simulated port, the pacer of real files.

use super::exponential::Exponential;
use super::fixed::Fixed;
use super::measured::MeasuredDisk;
use super::nvme::Nvme;
use super::parameters::{DiskParameters, Kind};
use super::rotating::Rotating;

/// The kind of a request to a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// Bytes from the disk.
    Read,
    /// Bytes to the disk.
    Write {
        /// Whether it is done only when the bytes would survive power loss (FUA, O_DSYNC).
        durable: bool,
    },
    /// Done when all writes completed before it would survive power loss. It has no range.
    Flush,
}

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskRequest {
    /// The kind.
    pub kind: RequestKind,
    /// The first byte, counted from the start of the disk.
    pub offset: u64,
    /// The number of bytes; more than zero, except for a flush.
    pub length: u64,
}

impl DiskRequest {
    /// A read of `length` bytes at `offset`.
    pub fn read(offset: u64, length: u64) -> DiskRequest {
        DiskRequest { kind: RequestKind::Read, offset, length }
    }

    /// A write of `length` bytes at `offset`.
    pub fn write(offset: u64, length: u64, durable: bool) -> DiskRequest {
        DiskRequest { kind: RequestKind::Write { durable }, offset, length }
    }

    /// A flush.
    pub fn flush() -> DiskRequest {
        DiskRequest { kind: RequestKind::Flush, offset: 0, length: 0 }
    }
}

/// A disk with all its state. A clone goes on from the same state with the same luck.
#[derive(Clone, Debug)]
pub struct DiskModel {
    device: Device,
    capacity_bytes: u64,
    latest_now: u64,
}

#[derive(Clone, Debug)]
enum Device {
    Rotating(Box<Rotating>),
    Nvme(Box<Nvme>),
    Fixed(Fixed),
    Exponential(Exponential),
    Measured(Box<MeasuredDisk>),
}

impl DiskModel {
    /// An idle disk at virtual time 0. The same seed and requests give the same times.
    pub fn new(parameters: &DiskParameters, seed: u64) -> DiskModel {
        let device = match &parameters.kind {
            Kind::Rotating(rotating) => Device::Rotating(Box::new(Rotating::new(rotating))),
            Kind::Nvme(nvme) => Device::Nvme(Box::new(Nvme::new(nvme, seed))),
            Kind::Fixed(fixed) => Device::Fixed(Fixed::new(fixed)),
            Kind::Exponential(exponential) => {
                Device::Exponential(Exponential::new(exponential, seed))
            }
            Kind::Measured(measured) => {
                Device::Measured(Box::new(MeasuredDisk::new(measured, seed)))
            }
        };
        DiskModel { device, capacity_bytes: parameters.capacity_bytes(), latest_now: 0 }
    }

    /// The time at which a request that arrives at `now` is done, both in virtual nanoseconds.
    ///
    /// # Panics If the request reaches beyond the capacity, or reads or writes no byte; if `now` is
    /// before that of an earlier call.
    pub fn complete_at(&mut self, request: &DiskRequest, now: u64) -> u64 {
        self.check(request);
        let latest = self.latest_now;
        assert!(now >= latest, "a request arrives at {now} ns, after one that came at {latest} ns");
        self.latest_now = now;
        let done = match &mut self.device {
            Device::Rotating(rotating) => rotating.complete_at(request, now),
            Device::Nvme(nvme) => nvme.complete_at(request, now),
            Device::Fixed(fixed) => fixed.complete_at(now),
            Device::Exponential(exponential) => exponential.complete_at(now),
            Device::Measured(measured) => measured.complete_at(request, now),
        };
        // An exponential time may round to zero.
        done.max(now + 1)
    }

    fn check(&self, request: &DiskRequest) {
        if request.kind == RequestKind::Flush {
            return;
        }
        assert!(request.length > 0, "a read or write moves at least one byte: {request:?}");
        let within = request.offset.checked_add(request.length);
        assert!(
            within.is_some_and(|end| end <= self.capacity_bytes),
            "{request:?} reaches beyond the disk's capacity of {} bytes",
            self.capacity_bytes
        );
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

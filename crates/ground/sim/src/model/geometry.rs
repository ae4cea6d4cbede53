//! The position of a byte on a rotating disk, and the time of the arm between two positions.
//!
//! ```text
//!   zone 0 (outer: most bytes a track)            zone Z-1 (inner)
//!   ├─ track 0 ─┬─ track 1 ─┬─ ...                ┤      track = one surface, one turn
//!      turn+skew   turn+skew                             cylinder = `heads` tracks
//! ```
//! The *streaming clock* of a byte is the time that a head needs to get there from byte 0 without
//! ever losing a turn: each track costs one turn plus the skew, which is the time to change to the
//! next track. Byte and platter meet when `time ≡ clock (mod turn)`, so the clock is the byte's
//! angle as well, and all of it is whole-number arithmetic.
//!
//! A zone's rate in the file is the *sustained* one of data sheets, changes of track included:
//! `bytes of a track = rate · (turn + skew)`, as manufacturers define it.
//!
//! Invariants
//!   * `clock_ns` grows with the offset
//!   * every zone has the same number of tracks; together they hold at least the capacity
//!
//! Callers: `rotating`.

use super::error::ModelError;
use super::reader::Reader;
use super::units::ns_of_us;

/// Tracks hold whole sectors of this many bytes.
const SECTOR: u64 = 4_096;
/// The number of slices of each zone from which the mean seek is calculated.
const SLICES: u64 = 8;

/// The parameters of platters and arm.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct GeometryParameters {
    pub(super) capacity_bytes: u64,
    rotation_rpm: f64,
    heads: u64,
    zones: u64,
    outer_mb_s: f64,
    inner_mb_s: f64,
    seek_track_us: f64,
    pub(super) seek_average_us: f64,
    seek_full_us: f64,
    head_switch_us: f64,
}

impl GeometryParameters {
    /// Takes the keys from a file and checks that a seek curve goes through the three figures.
    pub(super) fn from_reader(reader: &mut Reader) -> Result<GeometryParameters, ModelError> {
        let parameters = GeometryParameters {
            capacity_bytes: reader.whole("capacity_gb", 1..=100_000)? * 1_000_000_000,
            rotation_rpm: reader.number("rotation_rpm", 1_000.0..=30_000.0)?,
            heads: reader.whole("heads", 1..=64)?,
            zones: reader.whole("zones", 2..=64)?,
            outer_mb_s: reader.number("outer_mb_s", 1.0..=1_000.0)?,
            inner_mb_s: reader.number("inner_mb_s", 1.0..=1_000.0)?,
            seek_track_us: reader.number("seek_track_us", 1.0..=1e5)?,
            seek_average_us: reader.number("seek_average_us", 1.0..=1e5)?,
            seek_full_us: reader.number("seek_full_us", 1.0..=1e5)?,
            head_switch_us: reader.number("head_switch_us", 1.0..=1e5)?,
        };
        if parameters.inner_mb_s > parameters.outer_mb_s {
            return Err(reader.inconsistent("`inner_mb_s` is above `outer_mb_s`".to_owned()));
        }
        if !Geometry::new(&parameters).seek.rises() {
            return Err(reader.inconsistent(
                "no seek curve a + b·√x + c·x that only rises meets `seek_track_us`, \
                 `seek_average_us` and `seek_full_us`; usual ratios are about 0.1 : 1 : 2"
                    .to_owned(),
            ));
        }
        Ok(parameters)
    }

    /// One turn of the platter.
    pub(super) fn turn_ns(&self) -> u64 {
        (60e9 / self.rotation_rpm + 0.5) as u64
    }

    /// The time from the end of a track to the start of the next: a change of head or of cylinder.
    fn skew_ns(&self) -> u64 {
        ns_of_us(self.head_switch_us.max(self.seek_track_us))
    }

    /// The rate of a zone, falling evenly from the outermost to the innermost.
    fn rate_mb_s(&self, zone: u64) -> f64 {
        let inward = zone as f64 / (self.zones - 1) as f64;
        self.outer_mb_s + (self.inner_mb_s - self.outer_mb_s) * inward
    }

    /// The mean over all bytes of the time that `length` bytes spend under the head.
    pub(super) fn mean_pass_us(&self, length: u64) -> f64 {
        let rates: f64 = (0..self.zones).map(|zone| self.rate_mb_s(zone)).sum();
        // A byte lies in a zone in proportion to its rate, and a pass takes 1/rate of the bytes.
        let sustained_us = length as f64 * self.zones as f64 / rates;
        let turn = self.turn_ns() as f64;
        sustained_us * turn / (turn + self.skew_ns() as f64)
    }
}

/// The position of a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TrackPosition {
    /// The track, counted from the outermost, all surfaces of a cylinder after one another.
    pub(super) track: u64,
    /// The byte's instant on the streaming clock.
    pub(super) clock_ns: u64,
}

#[derive(Clone, Debug)]
struct Zone {
    first_byte: u64,
    first_track: u64,
    track_bytes: u64,
}

/// The layout of one disk.
#[derive(Clone, Debug)]
pub(super) struct Geometry {
    zones: Vec<Zone>,
    heads: u64,
    turn_ns: u64,
    skew_ns: u64,
    head_switch_ns: u64,
    seek: SeekCurve,
}

impl Geometry {
    pub(super) fn new(parameters: &GeometryParameters) -> Geometry {
        let (turn_ns, skew_ns) = (parameters.turn_ns(), parameters.skew_ns());
        let track_bytes: Vec<u64> = (0..parameters.zones)
            .map(|zone| {
                let bytes = parameters.rate_mb_s(zone) * (turn_ns + skew_ns) as f64 / 1_000.0;
                (bytes as u64 / SECTOR).max(1) * SECTOR
            })
            .collect();
        let zone_cylinders = parameters
            .capacity_bytes
            .div_ceil(track_bytes.iter().sum::<u64>() * parameters.heads)
            .max(2);
        let zone_tracks = zone_cylinders * parameters.heads;
        let mut zones = Vec::new();
        let (mut first_byte, mut first_track) = (0, 0);
        for track_bytes in track_bytes {
            zones.push(Zone { first_byte, first_track, track_bytes });
            first_byte += zone_tracks * track_bytes;
            first_track += zone_tracks;
        }
        assert!(first_byte >= parameters.capacity_bytes, "the zones hold the whole capacity");
        let seek = SeekCurve::through(parameters, &zones, zone_cylinders * parameters.zones);
        let head_switch_ns = ns_of_us(parameters.head_switch_us);
        Geometry { zones, heads: parameters.heads, turn_ns, skew_ns, head_switch_ns, seek }
    }

    /// The position of the byte at `offset`; for the end of the disk, the position just behind it.
    pub(super) fn locate(&self, offset: u64) -> TrackPosition {
        let behind = self.zones.partition_point(|zone| zone.first_byte <= offset);
        let zone = &self.zones[behind - 1];
        let within = offset - zone.first_byte;
        let track = zone.first_track + within / zone.track_bytes;
        let along_ns = within % zone.track_bytes * self.turn_ns / zone.track_bytes;
        TrackPosition { track, clock_ns: track * (self.turn_ns + self.skew_ns) + along_ns }
    }

    /// The time that the arm takes from one track to another, settled for reading.
    pub(super) fn seek_ns(&self, from: u64, to: u64) -> u64 {
        let cylinders = (from / self.heads).abs_diff(to / self.heads);
        match cylinders {
            0 if from == to => 0,
            0 => self.head_switch_ns,
            _ => self.seek.time_ns(cylinders),
        }
    }

    /// The time from `time` until `position` comes under a head that is on its track.
    pub(super) fn rotation_ns(&self, position: TrackPosition, time: u64) -> u64 {
        (position.clock_ns % self.turn_ns + self.turn_ns - time % self.turn_ns) % self.turn_ns
    }
}

/// `a + b·√x + c·x` over the share x of the stroke that the arm crosses.
#[derive(Clone, Debug)]
struct SeekCurve {
    a_us: f64,
    b_us: f64,
    c_us: f64,
    stroke_cylinders: f64,
}

impl SeekCurve {
    /// The curve through the three times of the file: over one cylinder, in the mean over random
    /// pairs of bytes, and over the whole stroke. These are three linear equations:
    ///
    /// ```text
    ///   a + b·√q    + c·q    = track          q = one cylinder as a share of the stroke
    ///   a + b·E[√x] + c·E[x] = average
    ///   a + b       + c      = full
    /// ```
    fn through(parameters: &GeometryParameters, zones: &[Zone], cylinders: u64) -> SeekCurve {
        let stroke_cylinders = (cylinders - 1) as f64;
        let one = 1.0 / stroke_cylinders;
        let (mean_root, mean) = distance_means(zones);
        let track = parameters.seek_track_us;
        let to_full = parameters.seek_full_us - track;
        let to_average = parameters.seek_average_us - track;
        let (full_b, full_c) = (1.0 - one.sqrt(), 1.0 - one);
        let (average_b, average_c) = (mean_root - one.sqrt(), mean - one);
        let determinant = full_b * average_c - full_c * average_b;
        let b_us = (to_full * average_c - to_average * full_c) / determinant;
        let c_us = (to_average * full_b - to_full * average_b) / determinant;
        let a_us = track - b_us * one.sqrt() - c_us * one;
        SeekCurve { a_us, b_us, c_us, stroke_cylinders }
    }

    fn time_ns(&self, cylinders: u64) -> u64 {
        let x = cylinders as f64 / self.stroke_cylinders;
        ns_of_us(self.a_us + self.b_us * x.sqrt() + self.c_us * x)
    }

    /// Whether more distance always takes more time. The slope `b/(2√x) + c` is lowest or highest
    /// at the two ends, so both must be above zero.
    fn rises(&self) -> bool {
        let shortest = (1.0 / self.stroke_cylinders).sqrt();
        self.b_us / (2.0 * shortest) + self.c_us > 0.0 && self.b_us / 2.0 + self.c_us > 0.0
    }
}

/// E[√x] and E[x] of the distance between two random bytes, as shares of the stroke. Bytes are
/// denser outside, so this is below the 8/15 and 1/3 of a disk with one zone.
fn distance_means(zones: &[Zone]) -> (f64, f64) {
    let width = 1.0 / (zones.len() as u64 * SLICES) as f64;
    let slices: Vec<f64> =
        zones.iter().flat_map(|zone| (0..SLICES).map(|_| zone.track_bytes as f64)).collect();
    let (mut root, mut plain, mut total) = (0.0, 0.0, 0.0);
    for (from, from_bytes) in slices.iter().enumerate() {
        for (to, to_bytes) in slices.iter().enumerate() {
            let weight = from_bytes * to_bytes;
            let distance = from.abs_diff(to) as f64 * width;
            let same = from == to;
            root += weight * if same { width.sqrt() * 8.0 / 15.0 } else { distance.sqrt() };
            plain += weight * if same { width / 3.0 } else { distance };
            total += weight;
        }
    }
    (root / total, plain / total)
}

//! Times the ways to make a write durable, and picks one.
//!
//! Drives differ by up to twelve times between the same two ways, and in either direction. Where
//! O_DSYNC becomes one write with forced unit access, it beats write and sync; where the drive has
//! no such access, or a slow one, it loses. So the ways are measured in the directory where the
//! redo will live, with the write that redo makes: 4 KiB, over blocks that were written before, in
//! sequence.
//!
//! The ways take turns, so that other activity of the device affects them all alike. Each has a
//! region of its own in one scratch file, which loses its name as soon as it is open, so that it
//! goes away with this process, even when the process is killed. The file stays only after a kill
//! within the few system calls between its creation and its unlinking, or after a power cut before
//! the unlinking is durable. The next opening of a database in this directory removes it (rule
//! space/SP10).
//!
//! Of the way that is picked the probe also tells whether the device gains from several writes at
//! once: some do them side by side, others one after the other.
//!
//! Callers: the instance at start, and `forebay probe`.

use std::fmt;
use std::path::Path;

use waits::{Nanos, WaitEvent};

use crate::disk::fill;
use crate::{
    Alignment, Cause, Disk, Error, File, FileOperation, FileOptions, IoBuf, IoKind, Request, Ring,
    RingBackend, RingConfig, Session, TEMPORARY_NAME_END,
};

/// The smallest write of redo: one block.
const WRITE_BYTES: u64 = 4_096;
/// The number of writes of one way before it returns to its first block.
const REGION_WRITES: u64 = 256;
/// The number of rounds before the measured ones: first touches of blocks, caches, the drive's own
/// waking up.
const ROUNDS_WARMING: u64 = 8;
/// A device on which the least number of rounds would take longer than this many times the length
/// gets fewer rounds.
const LENGTHS_MAX: u64 = 5;
/// The share of the least median within which medians are a tie.
const TIE_SHARE: f64 = 0.05;

/// The number of writes at once whose gain is measured.
pub const WRITES_AT_ONCE: u32 = 4;
/// From this many times the rate of single writes on, several at once are worth it.
const GAIN_MIN: f64 = 1.5;

/// A way to make a write durable.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum DurableWrite {
    /// O_DIRECT and O_DSYNC: one call.
    DirectWriteThrough,
    /// O_DIRECT, then fdatasync.
    DirectThenSync,
    /// Through the page cache with O_DSYNC: one call.
    BufferedWriteThrough,
    /// Through the page cache, then fdatasync.
    BufferedThenSync,
}

impl DurableWrite {
    /// Every way, the preferred one first.
    pub const ALL: [DurableWrite; 4] = [
        DurableWrite::DirectWriteThrough,
        DurableWrite::DirectThenSync,
        DurableWrite::BufferedWriteThrough,
        DurableWrite::BufferedThenSync,
    ];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            DurableWrite::DirectWriteThrough => "direct O_DSYNC",
            DurableWrite::DirectThenSync => "direct + sync",
            DurableWrite::BufferedWriteThrough => "buffered O_DSYNC",
            DurableWrite::BufferedThenSync => "buffered + sync",
        }
    }

    /// The options with which a file is opened for it.
    pub const fn file_options(self) -> FileOptions {
        match self {
            DurableWrite::DirectWriteThrough => FileOptions { direct: true, write_through: true },
            DurableWrite::DirectThenSync => FileOptions { direct: true, write_through: false },
            DurableWrite::BufferedWriteThrough => {
                FileOptions { direct: false, write_through: true }
            }
            DurableWrite::BufferedThenSync => FileOptions { direct: false, write_through: false },
        }
    }

    /// Whether each write, or each batch of them, needs a sync of its own.
    pub const fn needs_sync(self) -> bool {
        !self.file_options().write_through
    }
}

impl fmt::Display for DurableWrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The length of a probe.
#[derive(Clone, Copy, Debug)]
pub struct ProbeConfig {
    /// The least number of rounds, unless the device is very slow.
    pub rounds_min: u64,
    /// The least time.
    pub length: Nanos,
}

impl Default for ProbeConfig {
    fn default() -> ProbeConfig {
        ProbeConfig { rounds_min: 64, length: Nanos::from_secs(1) }
    }
}

/// The timing of one way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WayTiming {
    /// The way.
    pub way: DurableWrite,
    /// The number of timed writes.
    pub writes: u64,
    /// The time within which half of them ended.
    pub median: Nanos,
    /// The time within which all but one in a hundred ended.
    pub p99: Nanos,
}

/// The result of a probe.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProbeReport {
    /// Each way that works here, the preferred kind first.
    pub timings: Vec<WayTiming>,
    /// The way to use.
    pub pick: DurableWrite,
    /// The reason for the choice, in one sentence.
    pub reason: String,
    /// The alignment that direct I/O needs here, or the error if there is none.
    pub direct: Result<Alignment, Error>,
    /// What several writes at once take, in the way to use; `None` where that isn't known, for
    /// instance where the system has no asynchronous I/O.
    pub at_once: Option<AtOnce>,
}

/// The times of durable writes that begin together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AtOnce {
    /// The median time until one is durable.
    pub one: Nanos,
    /// The median time until all of [`WRITES_AT_ONCE`] that began together are.
    pub all: Nanos,
}

impl AtOnce {
    /// The rate of writes at once, as a multiple of the rate of single ones.
    pub fn gain(self) -> f64 {
        f64::from(WRITES_AT_ONCE) * self.one.0 as f64 / self.all.0.max(1) as f64
    }

    /// Whether the gain is worth smaller writes.
    pub fn is_worth_it(self) -> bool {
        self.gain() >= GAIN_MIN
    }
}

/// Times the ways to make a 4 KiB write durable in `directory`, and picks one.
pub fn durable_writes(
    disk: &Disk,
    directory: &Path,
    session: &Session,
    config: &ProbeConfig,
) -> Result<ProbeReport, Error> {
    let what = || format!("probe {}", directory.display());
    let path = directory.join(format!("probe-{:016x}{TEMPORARY_NAME_END}", session.os().random()));
    let options = DurableWrite::ALL.map(DurableWrite::file_options);
    let opened =
        disk.open_nameless(&path, &options, session).map_err(|error| error.while_doing(what()))?;
    let mut direct = Ok(Alignment::SAFE);
    let mut ways = Vec::new();
    for (way, file) in DurableWrite::ALL.into_iter().zip(opened) {
        match file {
            Ok(file) => {
                if way.file_options().direct {
                    direct = Ok(file.alignment());
                }
                ways.push(Way { way, file, region: ways.len() as u64, took: Vec::new() });
            }
            Err(error) if error.cause() == Cause::DirectIoUnsupported => direct = Err(error),
            Err(error) => return Err(error.while_doing(what())),
        }
    }
    measure(&mut ways, session, config).map_err(|error| error.while_doing(what()))?;
    let timings: Vec<WayTiming> = ways.iter_mut().map(Way::timing).collect();
    let (pick, reason) = choose(&timings);
    let picked = ways.iter().zip(&timings).find(|(way, _)| way.way == pick);
    let (picked, timing) = picked.expect("the pick was timed");
    let at_once = picked.at_once(disk, timing, session);
    Ok(ProbeReport { timings, pick, reason, direct, at_once })
}

/// One way under trial.
struct Way {
    way: DurableWrite,
    file: File,
    /// The start of its part of the scratch file.
    region: u64,
    took: Vec<Nanos>,
}

fn measure(ways: &mut [Way], session: &Session, config: &ProbeConfig) -> Result<(), Error> {
    let plain = ways.last().expect("buffered I/O works everywhere").file.clone();
    fill(&plain, 0, ways.len() as u64 * REGION_WRITES * WRITE_BYTES, session)?;
    plain.sync(FileOperation::Sync.waiting(session))?;
    let mut block = IoBuf::zeroed(WRITE_BYTES as usize);
    for round in 0..ROUNDS_WARMING {
        for way in ways.iter() {
            let _ = way.write(round, &mut block, session)?;
        }
    }
    let started = session.now();
    let mut rounds = 0;
    loop {
        let passed = session.now().since(started).0;
        let enough = rounds >= config.rounds_min && passed >= config.length.0;
        if enough || (rounds > 0 && passed >= config.length.0.saturating_mul(LENGTHS_MAX)) {
            return Ok(());
        }
        for way in ways.iter_mut() {
            let took = way.write(ROUNDS_WARMING + rounds, &mut block, session)?;
            way.took.push(took);
        }
        rounds += 1;
    }
}

impl Way {
    /// Makes one durable write and returns its time.
    fn write(&self, round: u64, block: &mut IoBuf, session: &Session) -> Result<Nanos, Error> {
        let number = self.region * REGION_WRITES + round % REGION_WRITES;
        block[..8].copy_from_slice(&(round + 1).to_le_bytes());
        let waiting = session.waiting(WaitEvent::LogFileParallelWrite).p(1, 1, 1);
        let started = session.now();
        self.file.write_at(number * WRITE_BYTES, block, waiting)?;
        if self.way.needs_sync() {
            self.file.sync(waiting)?;
        }
        Ok(session.now().since(started))
    }

    fn timing(&mut self) -> WayTiming {
        self.took.sort_unstable();
        WayTiming {
            way: self.way,
            writes: self.took.len() as u64,
            median: quantile(&self.took, 50),
            p99: quantile(&self.took, 99),
        }
    }

    /// Times single writes and several at once, in turn. Only the time is at stake: where it isn't
    /// had, nobody is refused.
    fn at_once(&self, disk: &Disk, timing: &WayTiming, session: &Session) -> Option<AtOnce> {
        let native = RingBackend::Native;
        let config = RingConfig { backend: native, ..RingConfig::new(WRITES_AT_ONCE) };
        let mut ring = disk.ring(&config, session).ok()?;
        let (mut one, mut all) = (Vec::new(), Vec::new());
        for round in 0..timing.writes.div_ceil(4) {
            let first = round * u64::from(WRITES_AT_ONCE);
            one.push(self.write_at_once(&mut ring, first, 1, session).ok()?);
            all.push(self.write_at_once(&mut ring, first, WRITES_AT_ONCE, session).ok()?);
        }
        one.sort_unstable();
        all.sort_unstable();
        // A single write may be faster without the ring, and is written so.
        Some(AtOnce { one: quantile(&one, 50).min(timing.median), all: quantile(&all, 50) })
    }

    /// Begins `count` writes together, each followed by a sync of its own where the way needs one,
    /// and returns the time until the last is durable.
    fn write_at_once(
        &self,
        ring: &mut Ring,
        first: u64,
        count: u32,
        session: &Session,
    ) -> Result<Nanos, Error> {
        let waiting = session.waiting(WaitEvent::LogFileParallelWrite).p(1, 1, u64::from(count));
        let started = session.now();
        for write in 0..u64::from(count) {
            let number = self.region * REGION_WRITES + (first + write) % REGION_WRITES;
            let mut buffer = IoBuf::zeroed(WRITE_BYTES as usize);
            buffer[..8].copy_from_slice(&(first + write + 1).to_le_bytes());
            let (file, offset) = (self.file.clone(), number * WRITE_BYTES);
            let request = Request { file, kind: IoKind::Write, offset, buffer, tag: write };
            ring.push(request, session)?;
        }
        let mut done = Vec::new();
        while ring.in_flight() > 0 {
            ring.reap(1, None, &mut done, waiting)?;
            for completion in done.drain(..) {
                completion.result?;
                // A write has a buffer, a sync has none.
                if self.way.needs_sync() && !completion.buffer.is_empty() {
                    ring.push(Request::sync(self.file.clone(), completion.tag), session)?;
                }
            }
        }
        Ok(session.now().since(started))
    }
}

/// The time within which so many in a hundred ended.
fn quantile(sorted: &[Nanos], per_cent: usize) -> Nanos {
    let rank = (sorted.len() * per_cent).div_ceil(100);
    sorted[rank.saturating_sub(1)]
}

/// Picks the way with the least median; among ties, the preferred way.
fn choose(timings: &[WayTiming]) -> (DurableWrite, String) {
    let least = timings.iter().min_by_key(|timing| timing.median).expect("one way at least works");
    let ties =
        |timing: &&WayTiming| timing.median.0 as f64 <= least.median.0 as f64 * (1.0 + TIE_SHARE);
    let pick = timings.iter().find(ties).expect("the least ties with itself");
    let others = timings.iter().filter(|timing| timing.way != pick.way);
    let reason = match others.min_by_key(|timing| timing.median) {
        None => format!("{} is the only way that works here", pick.way),
        Some(_) if pick.way != least.way => format!(
            "{} is preferred to {} ({}): a tie within 5 %",
            pick.way, least.way, least.median
        ),
        Some(next) => format!(
            "{} is fastest (median {}), then {} ({})",
            pick.way, pick.median, next.way, next.median
        ),
    };
    (pick.way, reason)
}

impl fmt::Display for ProbeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  {:<20} {:>10} {:>10} {:>8}", "4 KiB, durable", "median", "p99", "writes")?;
        for timing in &self.timings {
            let mark = if timing.way == self.pick { "*" } else { " " };
            let (median, p99) = (timing.median.to_string(), timing.p99.to_string());
            let writes = timing.writes;
            writeln!(f, "{mark} {:<20} {median:>10} {p99:>10} {writes:>8}", timing.way.name())?;
        }
        write!(f, "* {}", self.reason)?;
        if let Some(at_once) = self.at_once {
            let (gain, one, all) = (at_once.gain(), at_once.one, at_once.all);
            write!(
                f,
                "\n  {WRITES_AT_ONCE} at once: {gain:.1} times the rate of one \
                 (one {one}, all {all})"
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timing(way: DurableWrite, median_us: u64) -> WayTiming {
        let median = Nanos::from_micros(median_us);
        WayTiming { way, writes: 64, median, p99: Nanos(median.0 * 3) }
    }

    fn report(medians_us: [u64; 4]) -> ProbeReport {
        let timings: Vec<WayTiming> =
            DurableWrite::ALL.into_iter().zip(medians_us).map(|(w, us)| timing(w, us)).collect();
        let (pick, reason) = choose(&timings);
        let at_once = Some(AtOnce { one: Nanos(100_000), all: Nanos(200_000) });
        ProbeReport { timings, pick, reason, direct: Ok(Alignment::SAFE), at_once }
    }

    /// On a drive where write and sync is 2.4 times as fast as O_DSYNC, it is picked.
    #[test]
    fn the_least_median_is_picked() {
        let report = report([4_020, 1_680, 4_300, 2_000]);
        assert_eq!(report.pick, DurableWrite::DirectThenSync);
        assert_eq!(
            report.reason,
            "direct + sync is fastest (median 1.68 ms), then buffered + sync (2.00 ms)"
        );
    }

    /// A difference of 5 % is no reason for a second system call; one of 10 % is.
    #[test]
    fn a_tie_goes_to_direct_write_through() {
        let tie = report([105, 100, 300, 400]);
        assert_eq!(tie.pick, DurableWrite::DirectWriteThrough);
        let reason = "direct O_DSYNC is preferred to direct + sync (100 us): a tie within 5 %";
        assert_eq!(tie.reason, reason);
        assert_eq!(report([110, 100, 300, 400]).pick, DurableWrite::DirectThenSync);
    }

    /// The table fits a terminal, marks the pick, and has a row for each way.
    #[test]
    fn the_table_fits_a_terminal() {
        let text = report([4_020, 1_680, 4_300, 2_000_000]).to_string();
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert_eq!(text.lines().count(), 7);
        assert!(
            text.ends_with("4 at once: 2.0 times the rate of one (one 100 us, all 200 us)"),
            "{text}"
        );
        assert!(
            text.contains("\n* direct + sync           1.68 ms    5.04 ms       64\n"),
            "{text}"
        );
    }

    /// Four writes in the time of two are worth it, in the time of three they aren't.
    #[test]
    fn writes_at_once_are_worth_it_from_half_as_much_again_on() {
        let took = |all: u64| AtOnce { one: Nanos(100), all: Nanos(all) };
        assert!(took(200).is_worth_it() && !took(300).is_worth_it());
    }

    /// Of a hundred writes the median is the 50th and p99 the 99th, in order of time.
    #[test]
    fn quantiles_are_ranks() {
        let os = crate::linux::start_with(std::sync::Arc::new(|_| ()));
        let session = os.adopt("quantiles", waits::SessionKind::Foreground);
        let path = std::env::temp_dir().join(format!("forebay-{:016x}", os.random()));
        let way = DurableWrite::BufferedThenSync;
        let disk = crate::linux::disk();
        let mut opened = disk.open_nameless(&path, &[way.file_options()], &session).expect("tmp");
        let file = opened.remove(0).expect("buffered I/O works everywhere");
        assert!(!path.exists(), "the file still has its name");
        let took = (1..=100).rev().map(Nanos).collect();
        let timing = Way { way, file, region: 0, took }.timing();
        assert_eq!((timing.median, timing.p99, timing.writes), (Nanos(50), Nanos(99), 100));
    }
}

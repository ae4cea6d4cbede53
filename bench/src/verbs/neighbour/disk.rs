//! The writer: durable writes at a rate that changes every few seconds, so that what others write
//! beside it takes now as long as ever, and now several times as long.
//!
//! Callers: `neighbour`.

use std::path::Path;
use std::time::Duration;

use os::{File, FileOptions, IoBuf, Session};
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use waits::{SessionKind, WaitEvent};

use super::{Time, exponential};

/// What is written at once.
const WRITE_BYTES: usize = 64 << 10;
const FILE_BYTES: u64 = 16 << 20;
/// Writes a second; one of them is drawn for each stretch.
const RATES: [u32; 5] = [0, 0, 20, 60, 150];
/// How many seconds a stretch lasts.
const STRETCH_SECONDS: [f64; 2] = [2.0, 6.0];

/// Around the page cache, and durable when the call returns (O_DIRECT, O_DSYNC).
const THROUGH: FileOptions = FileOptions { direct: true, write_through: true };
const DIRECT: FileOptions = FileOptions { direct: true, write_through: false };

/// Writes in `folder` until it is over; how often it has.
pub(super) fn disturb(
    folder: &Path,
    random: Xoshiro256PlusPlus,
    time: &Time,
) -> Result<u64, String> {
    let os = os::linux::start_with(std::sync::Arc::new(|_| {}));
    let session = os.adopt("neighbour", SessionKind::Foreground);
    let told = |error: os::Error| format!("neighbour: {error}");
    let mut writer = Writer::prepare(folder, &session).map_err(told)?;
    let mut weather = Weather { random };
    while !time.is_over() {
        let stretch = weather.stretch();
        let end = time.passed() + stretch.length;
        let mut due = time.passed();
        while let Some(gap) = weather.gap(stretch.rate) {
            due += gap;
            time.sleep_until(due.min(end));
            if due >= end || time.passed() >= end || time.is_over() {
                break;
            }
            writer.write(&session).map_err(told)?;
        }
        time.sleep_until(end);
    }
    Ok(writer.writes)
}

/// A file that was written before, so that a write changes no more than its own blocks.
struct Writer {
    file: File,
    buffer: IoBuf,
    writes: u64,
}

impl Writer {
    fn prepare(folder: &Path, session: &Session) -> Result<Writer, os::Error> {
        let path = folder.join("writes");
        let mut buffer = IoBuf::zeroed(WRITE_BYTES);
        buffer.fill(0x5a);
        let disk = os::linux::disk();
        let filled = disk.create(&path, FILE_BYTES, DIRECT, session)?;
        for place in (0..FILE_BYTES).step_by(WRITE_BYTES) {
            filled.write_at(place, &buffer, waiting(session))?;
        }
        filled.sync(waiting(session))?;
        Ok(Writer { file: disk.open(&path, THROUGH, session)?, buffer, writes: 0 })
    }

    fn write(&mut self, session: &Session) -> Result<(), os::Error> {
        let place = self.writes * WRITE_BYTES as u64 % FILE_BYTES;
        self.file.write_at(place, &self.buffer, waiting(session))?;
        self.writes += 1;
        Ok(())
    }
}

fn waiting(session: &Session) -> os::Waiting<'_> {
    session.waiting(WaitEvent::DiskFileOperations)
}

/// How the disk's load changes.
struct Weather {
    random: Xoshiro256PlusPlus,
}

/// A time with one rate.
struct Stretch {
    length: Duration,
    rate: u32,
}

impl Weather {
    fn stretch(&mut self) -> Stretch {
        let seconds = self.random.random_range(STRETCH_SECONDS[0]..STRETCH_SECONDS[1]);
        let rate = RATES[self.random.random_range(0..RATES.len())];
        Stretch { length: Duration::from_secs_f64(seconds), rate }
    }

    /// From one write to the next; none if nothing is to be written.
    fn gap(&mut self, rate: u32) -> Option<Duration> {
        let mean = Duration::from_secs(1).checked_div(rate)?;
        Some(exponential(mean, &mut self.random))
    }
}

#[cfg(test)]
mod tests {
    use super::super::generator;
    use super::*;

    #[test]
    fn stretches_have_every_rate_and_some_seconds() {
        let mut weather = Weather { random: generator(1, 0) };
        let stretches: Vec<Stretch> = (0..200).map(|_| weather.stretch()).collect();
        for rate in RATES {
            assert!(stretches.iter().any(|stretch| stretch.rate == rate), "{rate}");
        }
        let bounds = Duration::from_secs(2)..Duration::from_secs(6);
        assert!(stretches.iter().all(|stretch| bounds.contains(&stretch.length)));
    }

    #[test]
    fn gaps_come_to_the_rate_and_there_are_none_at_rest() {
        let mut weather = Weather { random: generator(1, 0) };
        let sum: Duration = (0..6_000).filter_map(|_| weather.gap(60)).sum();
        assert!((sum.as_secs_f64() - 100.0).abs() < 5.0, "{sum:?}");
        assert_eq!(weather.gap(0), None);
    }

    #[test]
    fn a_writer_goes_round_in_its_file() {
        let folder = bench::Scratch::create(&xtask::workspace::root().join("bench"));
        let folder = folder.expect("the tree is writable");
        let os = os::linux::start_with(std::sync::Arc::new(|_| {}));
        let session = os.adopt("test", SessionKind::Foreground);
        let mut writer = Writer::prepare(folder.path(), &session).expect("it has room");
        for _ in 0..=FILE_BYTES / WRITE_BYTES as u64 {
            writer.write(&session).expect("it goes round");
        }
        let length = std::fs::metadata(folder.path().join("writes")).expect("it is there").len();
        assert_eq!(length, FILE_BYTES, "the file doesn't grow");
    }
}

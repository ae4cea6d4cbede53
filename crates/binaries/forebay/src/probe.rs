//! `forebay probe`: what this machine and a file system offer, as a page for people or as JSON.
//!
//! Callers: `main`.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use os::probe::{ProbeConfig, ProbeReport, WRITES_AT_ONCE, durable_writes};
use os::{ClockSource, Error, IoPool, RingConfig};
use serde::Serialize;
use waits::SessionKind;

use crate::output::CommandResult;

/// How long the time stamp counter is compared with the kernel's clock.
const CLOCK_CHECK: Duration = Duration::from_millis(200);
/// As many buffers as a database writer would register.
const BUFFERS: u32 = 1_024;
const BUFFER_BYTES: usize = 8_192;
const RING_DEPTH: u32 = 32;

/// What the probe found. Field names are the keys of the JSON, units last.
#[derive(Serialize)]
struct MachineReport {
    directory: String,
    clock: Clock,
    cpus: u32,
    run_queue_delay_known: bool,
    asynchronous_io: String,
    registered_buffers_bytes: u64,
    /// `None`: no limit.
    locked_memory_limit_bytes: Option<u64>,
    direct_io: DirectIo,
    free_bytes: u64,
    durable_writes: Vec<Way>,
    /// `None`: the system has no asynchronous I/O.
    writes_at_once: Option<WritesAtOnce>,
    pick: &'static str,
    reason: String,
    #[serde(skip)]
    table: String,
}

#[derive(Serialize)]
struct Clock {
    source: &'static str,
    reading_ns: f64,
    kernel_reading_ns: f64,
    /// `None`: there is no counter to compare.
    drift_ppm: Option<f64>,
}

#[derive(Serialize)]
struct DirectIo {
    /// Whether the file system does it.
    works: bool,
    memory_multiple_bytes: Option<u32>,
    offset_multiple_bytes: Option<u32>,
    /// Why not.
    refused: Option<String>,
}

#[derive(Serialize)]
struct Way {
    way: &'static str,
    median_ns: u64,
    p99_ns: u64,
    writes: u64,
}

/// Durable writes that begin together, in the way that was picked.
#[derive(Serialize)]
struct WritesAtOnce {
    writes: u32,
    one_median_ns: u64,
    all_median_ns: u64,
    /// Their rate, as a multiple of the rate of single ones.
    gain: f64,
}

/// Probes `directory`, and returns a page or JSON.
pub(crate) fn run(directory: &Path, json: bool) -> CommandResult {
    let found = look(directory)?;
    Ok(match json {
        true => {
            let text = serde_json::to_string_pretty(&found).expect("plain numbers and texts");
            text + "\n"
        }
        false => format!("{found}\n"),
    })
}

/// Looks at the machine and at `directory`. Whatever is degraded is told as a notice at once.
fn look(directory: &Path) -> Result<MachineReport, Error> {
    let os = os::linux::start();
    let session = os.adopt("forebay", SessionKind::Foreground);
    let disk = os::linux::disk();
    let free_bytes = disk
        .free_bytes(directory)
        .map_err(|error| error.while_doing(format!("probe {}", directory.display())))?;
    let report = durable_writes(&disk, directory, &session, &ProbeConfig::default())?;
    let pool = IoPool::new(BUFFERS, BUFFER_BYTES)?;
    let config = RingConfig { pool: Some(pool), ..RingConfig::new(RING_DEPTH) };
    let asynchronous_io = disk.ring(&config, &session)?.description();
    let registered = asynchronous_io.contains("registered");
    let buffers_bytes = u64::from(BUFFERS) * BUFFER_BYTES as u64;
    let checked = os::linux::check_clock(CLOCK_CHECK);
    let (source, reading_ns) = match os.clock().source() {
        ClockSource::Tsc => ("tsc", checked.reading_ns),
        ClockSource::Kernel => ("clock_gettime", checked.kernel_reading_ns),
        ClockSource::Virtual => unreachable!("this is the real world"),
    };
    Ok(MachineReport {
        directory: directory.display().to_string(),
        clock: Clock {
            source,
            reading_ns,
            kernel_reading_ns: checked.kernel_reading_ns,
            drift_ppm: checked.drift_ppm.is_finite().then_some(checked.drift_ppm),
        },
        cpus: os.cpu_count(),
        run_queue_delay_known: os::linux::tells_run_queue_delay(),
        asynchronous_io,
        registered_buffers_bytes: if registered { buffers_bytes } else { 0 },
        locked_memory_limit_bytes: os::linux::locked_memory_limit(),
        direct_io: DirectIo::of(&report),
        free_bytes,
        durable_writes: Way::all_of(&report),
        writes_at_once: report.at_once.map(|at_once| WritesAtOnce {
            writes: WRITES_AT_ONCE,
            one_median_ns: at_once.one.0,
            all_median_ns: at_once.all.0,
            gain: at_once.gain(),
        }),
        pick: report.pick.name(),
        table: report.to_string(),
        reason: report.reason,
    })
}

impl DirectIo {
    fn of(report: &ProbeReport) -> DirectIo {
        let alignment = report.direct.as_ref().ok();
        DirectIo {
            works: alignment.is_some(),
            memory_multiple_bytes: alignment.map(|told| told.memory),
            offset_multiple_bytes: alignment.map(|told| told.offset),
            refused: report.direct.as_ref().err().map(Error::to_string),
        }
    }
}

impl Way {
    fn all_of(report: &ProbeReport) -> Vec<Way> {
        let way = |timing: &os::probe::WayTiming| Way {
            way: timing.way.name(),
            median_ns: timing.median.0,
            p99_ns: timing.p99.0,
            writes: timing.writes,
        };
        report.timings.iter().map(way).collect()
    }
}

/// 1,024 bytes to the KiB, one decimal.
struct Bytes(u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut value = self.0 as f64;
        let mut unit = "bytes";
        for larger in ["KiB", "MiB", "GiB", "TiB"] {
            if value < 1024.0 {
                break;
            }
            (value, unit) = (value / 1024.0, larger);
        }
        let decimals = if unit == "bytes" { 0 } else { 1 };
        write!(f, "{value:.decimals$} {unit}")
    }
}

impl fmt::Display for MachineReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let clock = &self.clock;
        let drift = match clock.drift_ppm {
            Some(ppm) => format!("drift {ppm:.1} ppm"),
            None => "not compared".into(),
        };
        writeln!(
            f,
            "clock            {}, {:.0} ns a reading (clock_gettime {:.0} ns), {drift}",
            clock.source, clock.reading_ns, clock.kernel_reading_ns
        )?;
        writeln!(f, "CPUs             {}", self.cpus)?;
        let run_queue = if self.run_queue_delay_known { "told by schedstat" } else { "not told" };
        writeln!(f, "run-queue delay  {run_queue}")?;
        writeln!(f, "asynchronous I/O {}", self.asynchronous_io)?;
        match self.locked_memory_limit_bytes {
            Some(limit) => write!(f, "locked memory    limit {}", Bytes(limit))?,
            None => write!(f, "locked memory    no limit")?,
        }
        writeln!(f, ", {} of I/O buffers registered", Bytes(self.registered_buffers_bytes))?;
        match &self.direct_io {
            DirectIo {
                memory_multiple_bytes: Some(memory),
                offset_multiple_bytes: Some(offset),
                ..
            } => writeln!(
                f,
                "direct I/O       in multiples of {offset} bytes, from memory at a multiple of \
                 {memory}"
            )?,
            direct => {
                writeln!(f, "direct I/O       no: {}", direct.refused.as_deref().unwrap_or("?"))?;
            }
        }
        writeln!(f, "free space       {} at {}", Bytes(self.free_bytes), self.directory)?;
        write!(f, "\n{}", self.table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A size prints with the unit that fits.
    #[test]
    fn a_size_prints_in_the_unit_that_fits() {
        let shown = [12, 65_536, 8 << 20, 83_205_427_200].map(|n| Bytes(n).to_string());
        assert_eq!(shown, ["12 bytes", "64.0 KiB", "8.0 MiB", "77.5 GiB"]);
    }
}

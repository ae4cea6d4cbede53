//! What fio says it did, and what it cost.
//!
//! CPU time per I/O is the sum of two figures over the measured interval:
//!
//!   * fio's own (`usr_cpu + sys_cpu`, per cent of `job_runtime`), which is the submitting thread's
//!     alone, from the start of the interval to its end; and
//!   * that of the io_uring workers, which fio leaves out. With an fdatasync after each write they
//!     used 260 ms where fio owned up to 364 (fio 3.33, Linux 6.18).
//!
//! The CPU time of the whole process would hold both, and also about 170 ms that fio takes to
//! start; it is kept as a cross-check.
//!
//! Callers: `Fio::run`; closures of a race take [`FioResult::metrics`].

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;

use crate::race::{Metrics, metric};
use crate::{Error, Result};

/// The figures of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct FioResult {
    /// I/Os per second.
    pub iops: f64,
    /// Bytes per second.
    pub bandwidth: f64,
    /// Median latency from submission to completion; none if the job's I/Os weren't timed. A sync
    /// that follows a write is not in it.
    pub lat_us_p50: Option<f64>,
    /// The latency that 99 of 100 I/Os stayed below.
    pub lat_us_p99: Option<f64>,
    /// Median time until a write is durable: that of the write, and that of the sync after it, if
    /// the job syncs. The median of the sum would be more rather than less (both have long tails),
    /// so the sum of the medians favours fio.
    pub durable_us_p50: Option<f64>,
    /// CPU time per I/O, io_uring workers included.
    pub cpu_us_per_io: f64,
    /// I/Os in the measured interval.
    pub total_ios: u64,
    /// The measured interval.
    pub runtime: Duration,
    /// CPU time of fio's submitting thread in the measured interval, as fio says.
    pub cpu_of_thread: Duration,
    /// CPU time of the io_uring workers in the measured interval.
    pub cpu_of_workers: Duration,
    /// CPU time of all of fio from start to end, to 10 ms.
    pub cpu_of_process: Option<Duration>,
}

impl FioResult {
    /// The figures under the names that cases ask for.
    pub fn metrics(&self) -> Metrics {
        let timed = [
            (metric::LAT_US_P50, self.lat_us_p50),
            (metric::LAT_US_P99, self.lat_us_p99),
            (metric::DURABLE_US_P50, self.durable_us_p50),
        ];
        let mut metrics = Metrics::from([
            (metric::IOPS, self.iops),
            (metric::MB_PER_S, self.bandwidth / 1e6),
            (metric::CPU_US_PER_IO, self.cpu_us_per_io),
        ]);
        metrics.extend(timed.into_iter().filter_map(|(name, value)| Some((name, value?))));
        metrics
    }
}

#[derive(Deserialize)]
struct Output {
    jobs: Vec<Job>,
}

#[derive(Deserialize)]
struct Job {
    error: i32,
    read: Side,
    write: Side,
    /// Absent where nothing was synced.
    #[serde(default)]
    sync: Syncs,
    /// In milliseconds, as every runtime of fio's.
    job_runtime: u64,
    usr_cpu: f64,
    sys_cpu: f64,
}

#[derive(Deserialize)]
struct Side {
    bw_bytes: f64,
    iops: f64,
    runtime: u64,
    total_ios: u64,
    #[serde(default)]
    lat_ns: Latency,
}

#[derive(Default, Deserialize)]
struct Syncs {
    #[serde(default)]
    lat_ns: Latency,
}

#[derive(Default, Deserialize)]
struct Latency {
    /// Absent where there was no I/O.
    #[serde(default)]
    percentile: BTreeMap<String, f64>,
}

/// Reads fio's JSON. `workers` gives the CPU time that the io_uring workers used in an interval
/// before the end; it is asked for once the interval is known.
pub(crate) fn parse(
    output: &str,
    writes: bool,
    workers: impl FnOnce(Duration) -> Duration,
    cpu_of_process: Option<Duration>,
) -> Result<FioResult> {
    // Notes of fio's may precede the JSON.
    let start = output.find("{\n").or_else(|| output.find('{'));
    let json = start.map_or("", |start| &output[start..]);
    let parsed: Output = serde_json::from_str(json)
        .map_err(|cause| Error::cannot("read fio's JSON output", cause))?;
    let [job] = parsed.jobs.as_slice() else {
        return Err(Error::Failed(format!("fio reports {} jobs, not 1", parsed.jobs.len())));
    };
    if job.error != 0 {
        let cause = std::io::Error::from_raw_os_error(job.error);
        return Err(Error::Failed(format!("fio's job failed: {cause}")));
    }
    let side = if writes { &job.write } else { &job.read };
    if side.total_ios == 0 {
        return Err(Error::Failed("fio did not complete a single I/O".into()));
    }
    let latency_us = |of: &Latency, percentile: &str| Some(of.percentile.get(percentile)? / 1e3);
    let lat_us_p50 = latency_us(&side.lat_ns, "50.000000");
    let sync_us_p50 = latency_us(&job.sync.lat_ns, "50.000000").unwrap_or(0.0);
    let interval = Duration::from_millis(job.job_runtime);
    let cpu_of_thread = interval.mul_f64((job.usr_cpu + job.sys_cpu).max(0.0) / 100.0);
    let cpu_of_workers = workers(interval);
    let cpu_us = (cpu_of_thread + cpu_of_workers).as_secs_f64() * 1e6;
    Ok(FioResult {
        iops: side.iops,
        bandwidth: side.bw_bytes,
        lat_us_p50,
        lat_us_p99: latency_us(&side.lat_ns, "99.000000"),
        durable_us_p50: lat_us_p50.map(|write| write + sync_us_p50),
        cpu_us_per_io: cpu_us / side.total_ios as f64,
        total_ios: side.total_ios,
        runtime: Duration::from_millis(side.runtime),
        cpu_of_thread,
        cpu_of_workers,
        cpu_of_process,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What fio 3.33 printed for a job of 300 ms, trimmed to the fields that are read.
    const SAMPLE: &str = include_str!("../../tests/golden/fio-3.33-randwrite-fdatasync.json");

    fn parsed(text: &str, writes: bool) -> Result<FioResult> {
        let workers = |interval| {
            assert_eq!(interval, Duration::from_millis(300));
            Duration::from_millis(30)
        };
        parse(text, writes, workers, None)
    }

    #[test]
    fn a_recorded_output_gives_its_figures() {
        let result = parsed(SAMPLE, true).expect("a genuine output can be read");
        assert_eq!((result.total_ios, result.runtime), (2348, Duration::from_millis(301)));
        assert_eq!((result.iops, result.bandwidth), (7800.664452, 31951521.0));
        assert_eq!((result.lat_us_p50, result.lat_us_p99), (Some(199.68), Some(2007.04)));
        // (2.333333 + 21) % of 300 ms are 70 ms, and 30 ms of the workers: 100 ms / 2348.
        assert!((result.cpu_us_per_io - 100_000.0 / 2348.0).abs() < 0.001);
        assert_eq!(result.metrics()[metric::MB_PER_S], 31.951521);
    }

    /// The recorded job gathered its syncs' times, which the sample was trimmed of.
    #[test]
    fn the_sync_after_a_write_counts_until_it_is_durable() {
        let syncs = r#""sync" : {"lat_ns" : {"percentile" : {"50.000000" : 300320}}}, "error" : 0"#;
        let result = parsed(&SAMPLE.replace("\"error\" : 0", syncs), true).expect("it is valid");
        let durable = result.durable_us_p50.expect("the job was timed");
        assert!((durable - 500.0).abs() < 1e-9, "{durable}");
        let result = parsed(SAMPLE, true).expect("a genuine output can be read");
        assert_eq!(result.durable_us_p50, result.lat_us_p50);
    }

    #[test]
    fn a_job_that_was_not_timed_has_no_latency() {
        let text = SAMPLE.replace("percentile", "nothing");
        let result = parsed(&text, true).expect("it is valid");
        assert_eq!((result.lat_us_p50, result.durable_us_p50), (None, None));
        assert!(!result.metrics().contains_key(metric::LAT_US_P50));
        assert_eq!(result.metrics()[metric::IOPS], 7800.664452);
    }

    #[test]
    fn notes_before_the_json_do_not_matter() {
        let noted = format!("note: both iodepth >= 1 and synchronous I/O engine\n{SAMPLE}");
        assert_eq!(parsed(&noted, true), parsed(SAMPLE, true));
    }

    #[test]
    fn the_side_without_io_is_an_error_rather_than_zeros() {
        let text = parsed(SAMPLE, false).expect_err("the sample only writes").to_string();
        assert_eq!(text, "fio did not complete a single I/O");
    }

    #[test]
    fn a_failed_job_is_an_error_with_its_cause() {
        let failed = SAMPLE.replace("\"error\" : 0", "\"error\" : 28");
        let text = parsed(&failed, true).expect_err("28 is an error").to_string();
        assert!(text.contains("No space left"), "{text}");
    }

    #[test]
    fn a_truncated_output_is_an_error() {
        let text = parsed(&SAMPLE[..SAMPLE.len() / 2], true).expect_err("half is missing");
        assert!(text.to_string().starts_with("cannot read fio's JSON output"), "{text}");
        assert!(parsed("", true).is_err());
    }
}

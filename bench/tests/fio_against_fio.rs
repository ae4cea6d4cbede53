//! The harness and fio for real: fio races itself, in miniature.
//!
//! fio must be installed; where it is missing these tests fail with the package to install.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it reads files and starts fio"
)]

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use bench::fio::{Batch, Durability, Fio, FioJob, Pattern};
use bench::race::{Case, Plan, Race, Terms, Workload, metric};
use bench::{Result, Scratch};

const SIZE: u64 = 16 << 20;

fn fio() -> Fio {
    Fio::find().unwrap_or_else(|missing| panic!("{missing}"))
}

/// In the build's folder: the temporary one may lie in memory, where O_DIRECT is refused.
fn scratch() -> Scratch {
    Scratch::create(Path::new(env!("CARGO_TARGET_TMPDIR"))).expect("the build's folder is writable")
}

fn short(job: FioJob) -> FioJob {
    FioJob { runtime: Duration::from_millis(250), ..job }
}

fn case(name: &str, metric: &'static str, unit: &'static str, higher_is_better: bool) -> Case {
    Case { name: name.into(), metric, unit, higher_is_better, goal: Some(0.5) }
}

/// A against A: the ratio of each case is near 1, and the last line is the contract's.
#[test]
fn fio_against_itself_is_a_tie_and_ends_with_the_json_line() {
    let (fio, scratch) = (fio(), scratch());
    let files = scratch.lay_out(&["ours", "rival"], SIZE).expect("there is room for 32 MB");
    let job = |at: usize| {
        let job = FioJob::new(files[at].clone(), SIZE, Pattern::RandRead, 8192);
        FioJob { depth: 4, batch: Batch::up_to(4), ..short(job) }
    };
    let run = |at: usize, seed: u64| -> Result<_> {
        let job = FioJob { seed: seed as u32, ..job(at) };
        Ok(fio.run(&job, &scratch)?.metrics())
    };
    let mut race = Race {
        name: "fio-fio".into(),
        description: "fio against itself: the noise of this machine".into(),
        terms: Terms::default(),
        settings: vec![format!("rival: {}", fio.version())],
        workloads: vec![Workload {
            name: "random reads".into(),
            settings: vec![job(0).settings(), job(1).settings()],
            // Not CPU as well: on a crowded machine fio says of a run this short that it took none.
            cases: vec![case("random reads", metric::IOPS, "IOPS", true)],
            ours: Box::new(|turn| run(0, turn.seed)),
            rival: Box::new(|turn| run(1, turn.seed)),
        }],
    };
    let mut out = Vec::new();
    let plan = Plan { pairs: 10, seed: 1, length: Duration::from_millis(250) };
    race.run(plan, &mut out, &mut std::io::stderr()).unwrap_or_else(|error| panic!("{error}"));
    let out = String::from_utf8(out).expect("a report is text");
    println!("{out}");

    let line = out.lines().last().expect("a report has lines");
    let json: serde_json::Value = serde_json::from_str(line).expect("the last line is JSON");
    assert_eq!(json["race"], "fio-fio");
    let cases = json["cases"].as_array().expect("cases are an array");
    assert_eq!(cases.len(), 1);
    for case in cases {
        let ratio = case["ratio"].as_f64().expect("a ratio is a number");
        assert!((1.0 / 3.0..=3.0).contains(&ratio), "a tie at {ratio}: {case}");
        let end = |at: usize| case["ci"][at].as_f64().expect("an end is a number");
        assert!(end(0) <= ratio && ratio <= end(1));
    }
}

/// fsync through a ring always runs in a kernel worker, and fio's own CPU figure leaves that out.
#[test]
fn cpu_per_io_counts_the_io_uring_workers_that_fio_forgets() {
    let (fio, scratch) = (fio(), scratch());
    let files = scratch.lay_out(&["log"], SIZE).expect("there is room for 16 MB");
    let job = FioJob {
        durability: Durability::Fdatasync { every: 1 },
        ramp: Duration::from_millis(200),
        ..short(FioJob::new(files[0].clone(), SIZE, Pattern::Write, 4096))
    };
    let result = fio.run(&job, &scratch).unwrap_or_else(|error| panic!("{error}"));
    assert!(result.cpu_of_workers > Duration::ZERO, "{result:?}");
    let counted = result.cpu_of_thread + result.cpu_of_workers;
    let process = result.cpu_of_process.expect("/proc tells the CPU time of a child");
    assert!(counted <= process + Duration::from_millis(20), "{result:?}");
    let per_io = counted.as_secs_f64() * 1e6 / result.total_ios as f64;
    assert!((result.cpu_us_per_io - per_io).abs() < 1e-6);
}

/// Writes overwrite the file that was laid out: same inode, same size, nothing new beside it.
#[test]
fn fio_writes_into_the_file_that_is_there() {
    use std::os::unix::fs::MetadataExt;
    let (fio, scratch) = (fio(), scratch());
    let files = scratch.lay_out(&["data"], SIZE).expect("there is room for 16 MB");
    let state = || {
        let found = files[0].metadata().expect("the file is there");
        (found.ino(), found.len(), found.blocks())
    };
    let before = state();
    let content = std::fs::read(&files[0]).expect("the file can be read");
    let job = short(FioJob::new(files[0].clone(), SIZE, Pattern::RandWrite, 8192));
    fio.run(&job, &scratch).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(state(), before);
    assert_ne!(std::fs::read(&files[0]).expect("the file can be read"), content);
    let names = std::fs::read_dir(scratch.path()).expect("the folder can be read");
    assert_eq!(names.count(), 1);
}

/// The host caches, so a run must not read the blocks of the run before it (RM1).
#[test]
fn another_seed_reads_other_blocks_and_the_same_seed_the_same() {
    let (fio, scratch) = (fio(), scratch());
    let files = scratch.lay_out(&["data"], SIZE).expect("there is room for 16 MB");
    let blocks = |seed: u32, log: &str| {
        let log = scratch.path().join(log);
        let job = short(FioJob::new(files[0].clone(), SIZE, Pattern::RandRead, 4096));
        let status = Command::new(fio.program())
            .args(FioJob { seed, ..job }.arguments())
            .args(["--number_ios=20", &format!("--write_iolog={}", log.display())])
            .stdout(std::process::Stdio::null())
            .status()
            .expect("fio starts");
        assert!(status.success());
        let text = std::fs::read_to_string(log).expect("fio wrote its log");
        // A line is "[time] file read OFFSET LENGTH".
        let offset = |line: &str| Some(line.split_once(" read ")?.1.to_owned());
        let offsets: Vec<String> = text.lines().filter_map(offset).collect();
        assert!(offsets.len() >= 20, "{text}");
        offsets[..20].to_vec()
    };
    let (first, again, other) = (blocks(1, "a"), blocks(1, "b"), blocks(2, "c"));
    assert_eq!(first, again);
    assert_ne!(first, other);
}

/// What fio refuses is told in fio's words, with its version and settings.
#[test]
fn a_job_that_fio_cannot_do_is_an_error_in_fios_words() {
    let (fio, scratch) = (fio(), scratch());
    let files = scratch.lay_out(&["data"], SIZE).expect("there is room for 16 MB");
    let odd = FioJob::new(files[0].clone(), SIZE, Pattern::Read, 4095);
    let error = fio.run(&short(odd), &scratch).expect_err("direct I/O needs whole sectors");
    let text = error.to_string();
    assert!(text.contains(fio.version()) && text.contains("--bs=4095"), "{text}");
    assert!(text.contains("Invalid argument"), "{text}");
}

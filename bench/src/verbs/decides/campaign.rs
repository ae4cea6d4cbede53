//! Runs the lab again and again, beside the neighbour.
//!
//! Both programs work in the scratch folder, by which its keeper finds and ends them if we end
//! first.
//!
//! Callers: `decides`.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use bench::Scratch;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::finding::Finding;
use super::record::{Record, append, kept, lost};
use crate::Outcome;

/// So many failures in a row end a campaign: the next run would fail too.
const FAILURES_MAX: u32 = 3;
/// The neighbour has worked for so long when the first run begins.
const NEIGHBOUR_AHEAD: Duration = Duration::from_secs(1);

/// How the runs of a campaign are made.
pub(super) struct Campaign {
    /// The binary `forebay`.
    pub(super) program: PathBuf,
    pub(super) dir: PathBuf,
    /// None: without a neighbour.
    pub(super) neighbour_seed: Option<u64>,
    pub(super) budget: String,
    /// More options of `lab compare`.
    pub(super) more: Vec<String>,
    pub(super) out: Option<PathBuf>,
    /// Where rows are kept.
    pub(super) keep: Option<PathBuf>,
}

/// One run to make.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Run {
    /// None: equals.
    pub(super) delay_ns: Option<u64>,
    pub(super) seed: u64,
}

/// What to run, in which order: each kind spread evenly from the begin to the end.
pub(super) fn order(delays: &[u64], repeat: u32, equals: u32) -> Vec<Option<u64>> {
    let delays = delays.iter().map(|delay| (Some(*delay), repeat));
    let mut places = Vec::new();
    for (kind, count) in delays.chain([(None, equals)]) {
        places.extend((0..count).map(|index| ((f64::from(index) + 0.5) / f64::from(count), kind)));
    }
    places.sort_by(|(place, _), (other, _)| place.total_cmp(other));
    places.into_iter().map(|(_, kind)| kind).collect()
}

impl Campaign {
    /// Makes all runs, and adds them to `records` as they end. After Ctrl-C, for which
    /// the caller listens, no more are made.
    pub(super) fn carry_out(&self, runs: &[Run], records: &mut Vec<Record>) -> Outcome {
        fs::create_dir_all(&self.dir)
            .map_err(|error| format!("cannot create {}: {error}", self.dir.display()))?;
        let scratch = Scratch::create(&self.dir).map_err(|error| format!("decides: {error}"))?;
        if let Some(keep) = &self.keep {
            fs::create_dir_all(keep)
                .map_err(|error| format!("cannot create {}: {error}", keep.display()))?;
        }
        println!("decides: {} runs, {}", runs.len(), self.conditions());
        let neighbour = self.neighbour_seed.map(|seed| Neighbour::start(&scratch, seed));
        let mut neighbour = neighbour.transpose()?;
        let mut failures = 0;
        for (index, run) in runs.iter().enumerate() {
            let began = Instant::now();
            let made = self.make(*run, &scratch);
            let seconds = began.elapsed().as_secs_f64();
            if os::linux::interrupted() {
                // It was told to stop too.
                let _ = neighbour.map(Neighbour::end);
                return Err(format!("decides: stopped after {index} of {} runs", runs.len()));
            }
            // It lived before the run: if it lives now, it did all through it.
            neighbour.as_mut().map_or(Ok(()), Neighbour::must_live)?;
            let (report, failed) = made.unwrap_or_else(|why| (Value::Null, Some(why)));
            failures = if failed.is_some() { failures + 1 } else { 0 };
            let is_enough = failures == FAILURES_MAX || runs.len() == 1;
            let gave_up = failed.clone().filter(|_| is_enough);
            let Run { delay_ns, seed } = *run;
            let conditions = self.conditions();
            let record = Record { delay_ns, conditions, seed, seconds, report, failed };
            println!("{}", progress(index, runs.len(), &record));
            self.out.as_deref().map_or(Ok(()), |path| append(path, &record))?;
            records.push(record);
            if let Some(why) = gave_up {
                let times = if failures == 1 { "once" } else { "three times in a row" };
                return Err(format!("decides: gave up, failed {times}: {why}"));
            }
        }
        neighbour.map_or(Ok(()), Neighbour::end)
    }

    /// What runs have in common that stand in one table.
    fn conditions(&self) -> String {
        let noise = if self.neighbour_seed.is_some() { "beside the neighbour" } else { "quiet" };
        let more: String = self.more.iter().map(|option| format!(" {option}")).collect();
        format!("{noise}, {} a run{more}", self.budget)
    }

    /// The options of `forebay` for a run.
    fn options(&self, run: Run, scratch: &str) -> Vec<String> {
        // Equals are told a difference too, and not given it.
        let planted = format!("test_commit_delay={}", run.delay_ns.unwrap_or(1));
        let mut options: Vec<String> =
            ["lab", "compare", "--set", "test_commit_delay=0", "--vs"].map(str::to_owned).to_vec();
        options.extend([planted, "--json".into(), "--budget".into(), self.budget.clone()]);
        options.extend(["--seed".into(), run.seed.to_string(), "--dir".into(), scratch.into()]);
        options.extend(run.delay_ns.is_none().then(|| "--equals".to_owned()));
        if let Some(keep) = &self.keep {
            let rows = keep.join(format!("{}.rows", run.seed));
            options.extend(["--rows".into(), rows.display().to_string()]);
        }
        options.extend(self.more.iter().cloned());
        options
    }

    /// What is kept of the report of a run, and why its answer is refused, if it is. Commits that
    /// were lost count in any case.
    fn make(&self, run: Run, scratch: &Scratch) -> Result<(Value, Option<String>), String> {
        let output = Command::new(&self.program)
            .args(self.options(run, &scratch.path().display().to_string()))
            .current_dir(scratch.path())
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("cannot start {}: {error}", self.program.display()))?;
        let report = serde_json::from_slice::<Value>(&output.stdout);
        // A verdict behind which commits were lost has the status of a failure.
        let has_lost = report.as_ref().is_ok_and(|report| lost(report) > 0);
        if !output.status.success() && !has_lost {
            let told = String::from_utf8_lossy(&output.stderr);
            return Err(told.lines().last().unwrap_or("it didn't say why").to_owned());
        }
        let report = report.map_err(|error| format!("its report is no JSON: {error}"))?;
        Ok((kept(&report), Finding::of(&report).err()))
    }
}

fn progress(index: usize, count: usize, record: &Record) -> String {
    let what = record.delay_ns.map_or("equals".to_owned(), |delay| format!("{delay} ns"));
    let found = match (&record.failed, record.finding()) {
        (Some(why), _) => format!("failed: {why}"),
        (None, Some(finding)) => finding.line(),
        (None, None) => "no answer".to_owned(),
    };
    format!("run {} of {count}: {what}: {found}, {:.0} s", index + 1, record.seconds)
}

/// The verb `neighbour` as a child. It is killed if this is dropped before its end.
struct Neighbour(Child);

impl Neighbour {
    fn start(scratch: &Scratch, seed: u64) -> Result<Neighbour, String> {
        let failed = |error: std::io::Error| format!("cannot start the neighbour: {error}");
        let child = Command::new(std::env::current_exe().map_err(failed)?)
            .args(["neighbour", "--disk", "--seed", &seed.to_string(), "--dir"])
            .arg(scratch.path())
            .current_dir(scratch.path())
            .stdin(Stdio::null())
            .spawn()
            .map_err(failed)?;
        let mut neighbour = Neighbour(child);
        std::thread::sleep(NEIGHBOUR_AHEAD);
        neighbour.must_live().map(|()| neighbour)
    }

    /// A run without it would be recorded as one beside it.
    fn must_live(&mut self) -> Outcome {
        let interrupted = os::linux::interrupted();
        match self.0.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(_)) if interrupted => Ok(()),
            _ => Err("decides: the neighbour has ended; it says above why".into()),
        }
    }

    /// Has it end, so that it says what it took. Not by SIGINT: what a shell has started in the
    /// background ignores that.
    fn end(mut self) -> Outcome {
        // It fails only where it has ended by itself.
        kill_process(Pid::from_child(&self.0), Signal::TERM).ok();
        let ended = self.0.wait();
        let ended = ended.map_err(|error| format!("cannot wait for the neighbour: {error}"))?;
        match ended.success() {
            true => Ok(()),
            false => Err("decides: the neighbour failed; it says above why".into()),
        }
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        // Both fail only where it was waited for already.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::Records;
    use super::*;

    #[test]
    fn kinds_are_spread_over_the_campaign() {
        let kinds = order(&[1_000, 2_000], 2, 4);
        let expected = [None, Some(1_000), Some(2_000), None, None, Some(1_000), Some(2_000), None];
        assert_eq!(kinds, expected);
        assert_eq!(order(&[], 5, 2), [None, None]);
        assert_eq!(order(&[7], 1, 0), [Some(7)]);
    }

    fn campaign(program: &str) -> Campaign {
        Campaign {
            program: program.into(),
            dir: std::env::temp_dir(),
            neighbour_seed: None,
            budget: "10s".into(),
            more: vec!["--block".into(), "0.1".into()],
            out: None,
            keep: None,
        }
    }

    #[test]
    fn equals_are_asked_for_as_such_and_every_run_has_its_seed() {
        let campaign = campaign("forebay");
        let planted = campaign.options(Run { delay_ns: Some(2_000), seed: 7 }, "/there").join(" ");
        let expected = "lab compare --set test_commit_delay=0 --vs test_commit_delay=2000 --json \
                        --budget 10s --seed 7 --dir /there --block 0.1";
        assert_eq!(planted, expected);
        let equals = campaign.options(Run { delay_ns: None, seed: 8 }, "/there").join(" ");
        assert!(equals.contains("--seed 8") && equals.contains("--equals"), "{equals}");
        assert_eq!(campaign.conditions(), "quiet, 10s a run --block 0.1");
    }

    #[test]
    fn a_neighbour_that_failed_is_told_at_the_end() {
        let failing = Command::new("false").spawn().expect("every system has it");
        assert!(Neighbour(failing).end().is_err());
    }

    #[test]
    fn a_campaign_whose_runs_all_fail_gives_up() {
        let runs = [1, 2, 3, 4, 5].map(|seed| Run { delay_ns: None, seed });
        let mut records = Vec::new();
        let why = campaign("/bin/false").carry_out(&runs, &mut records).expect_err("it fails");
        assert!(why.contains("failed three times in a row"), "{why}");
        assert!(records.len() == 3 && records.iter().all(|it| it.failed.is_some()));
    }

    /// A campaign whose program reports this, and fails since it lost commits.
    fn losing(scratch: &Scratch, report: &str) -> Campaign {
        let program = scratch.path().join("lost");
        let script = format!("#!/bin/sh\necho '{report}'\necho '3 commits LOST' >&2\nexit 1\n");
        fs::write(&program, script).expect("it is writable");
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        fs::set_permissions(&program, permissions).expect("it is ours");
        campaign(&program.display().to_string())
    }

    #[test]
    fn a_run_that_lost_commits_is_no_failed_run() {
        let scratch = Scratch::create(&std::env::temp_dir()).expect("it is writable");
        let report = r#"{"headline":{"comparison":null},"commits":{"lost":3}}"#;
        let run = Run { delay_ns: None, seed: 1 };
        let mut records = Vec::new();
        let campaign = losing(&scratch, report);
        campaign.carry_out(&[run], &mut records).expect("it has a report");
        assert_eq!((records[0].lost(), records[0].failed.as_deref()), (3, None));
    }

    /// A ratio of zero is refused. The commits are gone all the same, also from the file.
    #[test]
    fn lost_commits_count_in_a_report_that_is_refused() {
        let scratch = Scratch::create(&std::env::temp_dir()).expect("it is writable");
        let report = r#"{"headline":{"comparison":{"ratio":0}},"commits":{"lost":3}}"#;
        let mut campaign = losing(&scratch, report);
        let out = scratch.path().join("runs");
        campaign.out = Some(out.clone());
        let run = Run { delay_ns: None, seed: 1 };
        let mut records = Vec::new();
        let why = campaign.carry_out(&[run], &mut records).expect_err("it is no finding");
        assert!(why.contains("the report's ratio is 0"), "{why}");
        let read = Records::read(&out).expect("it was written");
        assert_eq!((records[0].lost(), read.records[0].lost(), read.skipped), (3, 3, 0));
        assert!(read.records[0].failed.is_some());
    }
}

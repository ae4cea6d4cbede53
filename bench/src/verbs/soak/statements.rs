//! `soak differential` and `soak metamorphic`: cases of SQL on all cores, each batch of seeds in a
//! process of its own, until so many statements or cases have run. `soak sqllogictest`: every file
//! of SQLite's corpus, each in a process of its own.
//!
//! The first two tell how far they are in a file and go on there ([`Progress`]); they end early
//! after some differences. Against PostgreSQL a server of our own runs meanwhile, in a folder that
//! is gone afterwards. The corpus is a folder that the caller names.
//!
//! Callers: people; tests of crate `statements` do the same in a short form.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use bench::Scratch;
use bench::postgres::Server;
use clap::{Args, ValueEnum};
use xtask::workspace;

use super::progress::{Batch, Progress, number_before};
use crate::Outcome;

/// The seeds of one child.
const STEP: u64 = 100;

/// With whom Forebay is compared.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Against {
    Sqlite,
    Postgresql,
}

#[derive(Args)]
pub(crate) struct Differential {
    /// How many statements
    #[arg(long, default_value_t = 1_000_000)]
    statements: u64,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// With whom Forebay is compared
    #[arg(long, value_enum, default_value_t = Against::Sqlite)]
    against: Against,
    /// End after so many differences
    #[arg(long, default_value_t = 10)]
    differences: u64,
    /// Begin anew, whatever was done before
    #[arg(long)]
    fresh: bool,
}

#[derive(Args)]
pub(crate) struct Metamorphic {
    /// How many cases, each of some 24 statements
    #[arg(long, default_value_t = 100_000)]
    cases: u64,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// End after so many breaches
    #[arg(long, default_value_t = 10)]
    breaches: u64,
    /// Begin anew, whatever was done before
    #[arg(long)]
    fresh: bool,
}

#[derive(Args)]
pub(crate) struct Sqllogictest {
    /// The folder of the corpus, or a part of it
    #[arg(long)]
    corpus: PathBuf,
    /// The per cent of the records in scope that have to pass
    #[arg(long, default_value_t = 99.5)]
    wanted: f64,
}

/// A soak of seeds.
struct Seeds {
    program: PathBuf,
    /// What a child is told before the seeds, and behind.
    before: Vec<String>,
    behind: Vec<String>,
    /// The words for what is counted, and for what is wrong.
    counted: &'static str,
    wrong: &'static str,
    seed: u64,
    wanted: u64,
    wrong_max: u64,
    state: Mutex<State>,
}

struct State {
    progress: Progress,
    next: u64,
    failed: Option<String>,
}

pub(super) fn differential(root: &Path, options: &Differential) -> Outcome {
    let program = built(root, "differential")?;
    let target = workspace::target_directory(root)?;
    let name = match options.against {
        Against::Sqlite => "sqlite",
        Against::Postgresql => "postgresql",
    };
    let scratch;
    let server;
    let mut behind = Vec::new();
    if options.against == Against::Postgresql {
        // Of a temporary folder the path is short enough for a socket's.
        scratch = Scratch::create(&std::env::temp_dir()).map_err(|error| error.to_string())?;
        let settings = [("fsync", "off"), ("synchronous_commit", "off"), ("autovacuum", "off")];
        server = Server::start(&scratch, &settings).map_err(|error| error.to_string())?;
        behind.push(server.folder().display().to_string());
    }
    let path = target.join(format!("soak/differential-{name}-{}", options.seed));
    let seeds = Seeds {
        program,
        before: vec![name.into()],
        behind,
        counted: "statements",
        wrong: "differences",
        seed: options.seed,
        wanted: options.statements,
        wrong_max: options.differences,
        state: state(&path, options.fresh, options.seed)?,
    };
    seeds.run()
}

pub(super) fn metamorphic(root: &Path, options: &Metamorphic) -> Outcome {
    let program = built(root, "metamorphic")?;
    let target = workspace::target_directory(root)?;
    let path = target.join(format!("soak/metamorphic-{}", options.seed));
    let seeds = Seeds {
        program,
        before: Vec::new(),
        behind: Vec::new(),
        counted: "cases",
        wrong: "breaches",
        seed: options.seed,
        wanted: options.cases,
        wrong_max: options.breaches,
        state: state(&path, options.fresh, options.seed)?,
    };
    seeds.run()
}

fn state(path: &Path, fresh: bool, seed: u64) -> Result<Mutex<State>, String> {
    let progress = Progress::open(path, fresh)?;
    Ok(Mutex::new(State { progress, next: seed, failed: None }))
}

/// The program of an example of crate `statements`.
fn built(root: &Path, example: &str) -> Result<PathBuf, String> {
    let built = workspace::cargo()
        .args(["build", "--profile", "proof", "--package", "statements", "--example", example])
        .current_dir(root)
        .status()
        .map_err(|error| format!("cannot start cargo: {error}"))?;
    match built.success() {
        true => Ok(workspace::target_directory(root)?.join("proof/examples").join(example)),
        false => Err(format!("soak: the example {example} of statements doesn't build")),
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

impl Seeds {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) -> Outcome {
        let (began, before) = (Instant::now(), self.state().progress.total().done);
        let Seeds { wanted, counted, seed, .. } = self;
        println!("soak: {wanted} {counted} on {} cores, from seed {seed} on", cores());
        if before > 0 {
            println!("soak: {before} {counted} were done before; --fresh forgets them");
        }
        std::thread::scope(|scope| {
            for _ in 0..cores() {
                scope.spawn(|| while self.batch() {});
            }
        });
        let state = self.state();
        let Batch { done, differences } = state.progress.total();
        let rate = (done - before) as f64 / began.elapsed().as_secs_f64();
        println!(
            "soak: {done} {counted}, {rate:.0} a second; {differences} {}, {:.5} per cent",
            self.wrong,
            differences as f64 * 100.0 / done.max(1) as f64
        );
        match &state.failed {
            Some(why) => Err(format!("soak: {why}")),
            None if differences > 0 => {
                Err(format!("soak: {differences} {}, told above", self.wrong))
            }
            None => Ok(()),
        }
    }

    /// Runs one more child; false if that's enough.
    fn batch(&self) -> bool {
        let from = {
            let mut state = self.state();
            let Batch { done, differences } = state.progress.total();
            let is_over = done >= self.wanted || differences >= self.wrong_max;
            if is_over || state.failed.is_some() {
                return false;
            }
            let from = state.progress.next(state.next, STEP);
            state.next = from + STEP;
            from
        };
        if let Err(why) = self.child(from) {
            self.state().failed.get_or_insert(why);
        }
        true
    }

    fn child(&self, from: u64) -> Outcome {
        let seeds = [from.to_string(), (from + STEP).to_string()];
        let output = Command::new(&self.program)
            .args(&self.before)
            .args(&seeds)
            .args(&self.behind)
            .output()
            .map_err(|error| format!("cannot start {}: {error}", self.program.display()))?;
        let Output { status, stdout, stderr } = output;
        let (said, found) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
        // 1: something is wrong with the answers; else with the run.
        if !matches!(status.code(), Some(0 | 1)) {
            let (first, end) = (&seeds[0], &seeds[1]);
            return Err(format!("seeds {first} to {end} ended with {status}: {found}"));
        }
        let line = said.lines().last().unwrap_or("");
        let batch = Batch {
            done: number_before(line, self.counted),
            differences: number_before(line, self.wrong),
        };
        if batch.done == 0 {
            return Err(format!("a child said nothing of {}: {line}", self.counted));
        }
        let mut state = self.state();
        println!("soak: {line}");
        if batch.differences > 0 {
            println!("{found}");
        }
        state.progress.note(from, batch, &found)
    }
}

/// What came of the records of the corpus.
#[derive(Default)]
struct Corpus {
    files: Vec<PathBuf>,
    left_out: Vec<String>,
    /// How often a record was out of scope, by the reason.
    reasons: BTreeMap<String, u64>,
    passed: u64,
    failed: u64,
    skipped: u64,
    /// A line for each file with a record that failed, or that didn't run.
    faults: Vec<String>,
}

pub(super) fn sqllogictest(root: &Path, options: &Sqllogictest) -> Outcome {
    let program = built(root, "sqllogictest")?;
    let mut files = files_in(&options.corpus)?;
    // The largest are begun first.
    files.sort_by_key(|path| std::fs::metadata(path).map_or(0, |metadata| metadata.len()));
    if files.is_empty() {
        let shown = options.corpus.display();
        return Err(format!("soak: {shown} has no file that ends with .test or .slt"));
    }
    println!("soak: {} files on {} cores", files.len(), cores());
    let corpus = Mutex::new(Corpus { files, ..Corpus::default() });
    std::thread::scope(|scope| {
        for _ in 0..cores() {
            scope.spawn(|| while one_file(&program, &corpus) {});
        }
    });
    let corpus = corpus.into_inner().unwrap_or_else(PoisonError::into_inner);
    corpus.verdict(options.wanted)
}

/// The files of a corpus below a folder.
fn files_in(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let cannot = |error| format!("soak: cannot read {}: {error}", folder.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(cannot)? {
        let path = entry.map_err(cannot)?.path();
        let is_file = path.extension().is_some_and(|end| end == "test" || end == "slt");
        if path.is_dir() {
            files.extend(files_in(&path)?);
        } else if is_file {
            files.push(path);
        }
    }
    Ok(files)
}

/// Runs the next file; false if there is none.
fn one_file(program: &Path, corpus: &Mutex<Corpus>) -> bool {
    let lock = || corpus.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(path) = lock().files.pop() else { return false };
    let output = Command::new(program).arg(&path).output();
    let mut corpus = lock();
    match output {
        Ok(output) => corpus.take(&path, &output),
        Err(error) => {
            corpus.faults.push(format!("{}: cannot start: {error}", path.display()));
            corpus.failed += 1;
        }
    }
    true
}

impl Corpus {
    /// Takes what a child said of a file.
    fn take(&mut self, path: &Path, output: &Output) {
        let said = String::from_utf8_lossy(&output.stdout);
        let mut is_told = false;
        for line in said.lines() {
            if let Some(out) = line.strip_prefix("left out ") {
                self.left_out.push(out.to_string());
                is_told = true;
            } else if let Some(out) = line.strip_prefix("out of scope ") {
                let mut parts = out.rsplitn(2, ": ");
                let (why, count) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
                let count = count.rsplit(": ").next().and_then(|count| count.parse().ok());
                *self.reasons.entry(why.to_string()).or_default() += count.unwrap_or(1);
            } else if line.starts_with("file ") {
                is_told = true;
                self.passed += number_before(line, "passed");
                self.skipped += number_before(line, "skipped");
                let failed = number_before(line, "failed");
                self.failed += failed;
                println!("soak: {line}");
                if failed > 0 {
                    self.faults.push(String::from_utf8_lossy(&output.stderr).into_owned());
                }
            }
        }
        if !is_told {
            let why = String::from_utf8_lossy(&output.stderr);
            self.faults.push(format!("{} didn't come to its end: {why}", path.display()));
            self.failed += 1;
        }
    }

    fn verdict(&self, wanted: f64) -> Outcome {
        let Corpus { passed, failed, skipped, .. } = self;
        self.faults.iter().for_each(|fault| println!("{fault}"));
        self.left_out.iter().for_each(|out| println!("soak: left out {out}"));
        for (why, count) in &self.reasons {
            println!("soak: {count} records out of scope: {why}");
        }
        let per_cent = *passed as f64 * 100.0 / (passed + failed).max(1) as f64;
        println!(
            "soak: {passed} records passed, {failed} failed, {skipped} are for others: \
             {per_cent:.3} per cent"
        );
        match per_cent >= wanted {
            true => Ok(()),
            false => Err(format!("soak: {per_cent:.3} per cent passed, and {wanted} are wanted")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    fn output(said: &str, told: &str) -> Output {
        let status = std::process::ExitStatus::from_raw(0);
        Output { status, stdout: said.into(), stderr: told.into() }
    }

    #[test]
    fn files_are_summed_and_a_file_that_says_nothing_has_failed() {
        let mut corpus = Corpus::default();
        let path = Path::new("a.test");
        let said = "out of scope a.test: 3: division: by zero\n\
                    file a.test: 97 passed, 1 failed, 50 skipped, 3 out of scope\n";
        corpus.take(path, &output(said, "a.test:7: wrong"));
        corpus.take(path, &output("left out b.test: there are no triggers\n", ""));
        assert_eq!((corpus.passed, corpus.failed, corpus.skipped), (97, 1, 50));
        assert_eq!(corpus.left_out, ["b.test: there are no triggers"]);
        assert_eq!(corpus.faults, ["a.test:7: wrong"]);
        assert_eq!(corpus.verdict(98.0), Ok(()));
        corpus.take(path, &output("", "panicked"));
        assert_eq!(corpus.failed, 2);
        assert!(corpus.verdict(99.5).is_err());
    }
}

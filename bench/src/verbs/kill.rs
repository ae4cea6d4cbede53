//! The verb `kill`: the real binary, killed under load, again and again.
//!
//! ```text
//!   forebay load create ─▶ ┌ forebay load run --acknowledge ──SIGKILL after a random time
//!                          │        │ each acknowledged commit, by a pipe: the journal outside
//!                          │ forebay load audit ◀─ all commits of all rounds ─┘
//!                          └ forebay verify: every block, indexes and constraints
//! ```
//!
//! Order entry has foreign keys, CHECKs and an identity column, and a fifth of its transactions run
//! at serializable; debit-credit has keys alone.
//!
//! A kill loses nothing that the kernel took over (M14), so this shows what the simulator can't:
//! the real ports, real threads dying anywhere, the binary's own start. Every other round the audit
//! is killed too, while it recovers, and run again.
//!
//! Callers: `test`, in a short form and in debug, where the binary checks itself as it runs; people
//! do 50 rounds of the binary that users have.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use bench::{Ending, Scratch};
use clap::Args;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::Outcome;

#[derive(Args)]
pub(crate) struct Arguments {
    /// How often
    #[arg(long, default_value_t = 50)]
    rounds: u32,
    /// Decides when
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where the database is made, on the file system under test
    #[arg(long, default_value = "target")]
    dir: PathBuf,
    /// The binary `forebay`; built for release if not given
    #[arg(long)]
    binary: Option<PathBuf>,
    /// Order entry: after each round its twelve consistency conditions must hold
    #[arg(long)]
    order_entry: bool,
}

const SESSIONS: u32 = 8;
/// The load lives so long at least, so that something is acknowledged.
const LIFE_MIN_MS: u64 = 150;
const LIFE_MAX_MS: u64 = 900;
/// So small that database writers must write.
const CACHE: &str = "db_cache_size=4m";
/// So many of a hundred transactions of order entry run at serializable.
const SERIALIZABLE: &str = "20";
const FIRST_COMMIT_MAX: Duration = Duration::from_secs(20);

pub(crate) fn run(root: &Path, arguments: &Arguments) -> Outcome {
    let binary = match &arguments.binary {
        Some(binary) => root.join(binary),
        None => super::binary::built(root).map_err(|error| format!("kill: {error}"))?,
    };
    let parent = root.join(&arguments.dir);
    fs::create_dir_all(&parent)
        .map_err(|error| format!("cannot create {}: {error}", parent.display()))?;
    // Gone in the end, also after Ctrl-C, and with it whatever still works there.
    let scratch = Scratch::create(&parent).map_err(|error| format!("kill: {error}"))?;
    let (database, journal) = (scratch.path().join("db"), scratch.path().join("told"));
    let kill =
        Kill { binary, scratch: &scratch, database, journal, order_entry: arguments.order_entry };
    let mut random = Xoshiro256PlusPlus::seed_from_u64(arguments.seed);
    let (mut told, mut killed_in_recovery) = (0, 0);
    let filling: &[&str] = match arguments.order_entry {
        true => &["--order-entry", "2", "--customers", "120", "--items", "1000"],
        false => &["--megabytes", "16"],
    };
    kill.forebay(&["load", "create"], &[filling, &["--set", "log_file_bytes=1m"]].concat())?;
    for round in 0..arguments.rounds {
        let life = Duration::from_millis(random.random_range(LIFE_MIN_MS..=LIFE_MAX_MS));
        let acknowledged = kill.load(round, life)?;
        if acknowledged == 0 {
            return Err(format!("kill: round {}: no commit was acknowledged", round + 1));
        }
        told += acknowledged;
        if round % 2 == 1 && kill.audit_killed(&mut random)? {
            killed_in_recovery += 1;
        }
        let said = kill.audit()?;
        kill.forebay(&["verify"], &[])?;
        println!("kill: round {}: after {} ms: {}", round + 1, life.as_millis(), first_line(&said));
    }
    // Every second round tries it, and most of an audit's first 80 ms are recovery.
    if arguments.rounds >= 10 && killed_in_recovery == 0 {
        return Err("kill: no recovery was killed: every audit had ended before".into());
    }
    println!(
        "kill: {} rounds, {told} commits acknowledged, none lost; {killed_in_recovery} recoveries \
         killed too",
        arguments.rounds
    );
    Ok(())
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

struct Kill<'s> {
    binary: PathBuf,
    scratch: &'s Scratch,
    database: PathBuf,
    journal: PathBuf,
    order_entry: bool,
}

impl Kill<'_> {
    /// What `run` and `audit` are told beside their other options.
    fn which(&self) -> &'static [&'static str] {
        if self.order_entry { &["--order-entry"] } else { &[] }
    }

    fn command(&self, verb: &[&str], options: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(verb).arg(&self.database).args(options);
        if matches!(verb, ["load", "run" | "audit"]) {
            command.args(self.which());
        }
        command
    }

    /// Runs to its end; what it printed.
    fn forebay(&self, verb: &[&str], options: &[&str]) -> Result<String, String> {
        let output = self.command(verb, options).output();
        let output = output.map_err(|error| format!("cannot start forebay: {error}"))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        // Findings are told on standard output, failures on the other.
        let told = [output.stdout, output.stderr].concat();
        let told = String::from_utf8_lossy(&told).into_owned();
        Err(format!("kill: forebay {}: {}", verb.join(" "), told.trim()))
    }

    /// A load until it is killed. Adds what it acknowledged to the journal; how much.
    fn load(&self, round: u32, life: Duration) -> Result<u64, String> {
        let (first, sessions) = ((round * SESSIONS).to_string(), SESSIONS.to_string());
        let (seed, writers) =
            ((round + 1).to_string(), format!("db_writer_processes={}", round % 3 + 1));
        let options = [
            "--acknowledge",
            "--seconds",
            "60",
            "--set",
            CACHE,
            "--first-session",
            &first,
            "--sessions",
            &sessions,
            "--seed",
            &seed,
            "--set",
            &writers,
        ];
        let mut command = self.command(&["load", "run"], &options);
        if self.order_entry {
            command.args(["--serializable", SERIALIZABLE]);
        }
        // In the scratch folder, by which its keeper finds it.
        let mut child = command
            .current_dir(self.scratch.path())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot start forebay: {error}"))?;
        let guarded = self.scratch.guard(child.id(), Ending::Kill);
        let _guard = guarded.map_err(|error| format!("kill: {error}"))?;
        let pipe = BufReader::new(child.stdout.take().expect("its output is a pipe"));
        let (begun, first_line) = std::sync::mpsc::channel();
        let reader = std::thread::spawn(move || {
            // Who has stopped listening has heard enough.
            let told = pipe.lines().inspect(|_| begun.send(()).unwrap_or(()));
            told.collect::<Result<Vec<_>, _>>()
        });
        // The clock starts with the first commit: before it there is recovery.
        let began = first_line.recv_timeout(FIRST_COMMIT_MAX);
        if began.is_ok() {
            std::thread::sleep(life);
        }
        child.kill().map_err(|error| format!("cannot kill forebay: {error}"))?;
        let _ = child.wait();
        let lines = reader.join().map_err(|_| "the reader panicked".to_string())?;
        let lines = lines.map_err(|error| format!("cannot read what forebay prints: {error}"))?;
        began.map_err(|_| format!("kill: no commit within {FIRST_COMMIT_MAX:?}"))?;
        let mut journal = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.journal)
            .map_err(|error| format!("cannot open {}: {error}", self.journal.display()))?;
        // A line is one short write, which a pipe takes whole or not at all: none is cut.
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        journal.write_all(text.as_bytes()).map_err(|error| error.to_string())?;
        Ok(lines.len() as u64)
    }

    fn journal_option(&self) -> String {
        self.journal.display().to_string()
    }

    fn audit(&self) -> Result<String, String> {
        let journal = self.journal_option();
        self.forebay(&["load", "audit"], &["--set", CACHE, "--acknowledged", &journal])
    }

    /// Kills an audit after a few milliseconds, most of which are recovery; whether it came in
    /// time.
    fn audit_killed(&self, random: &mut Xoshiro256PlusPlus) -> Result<bool, String> {
        let journal = self.journal_option();
        let options = ["--set", CACHE, "--acknowledged", &journal];
        let mut command = self.command(&["load", "audit"], &options);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child =
            command.spawn().map_err(|error| format!("cannot start forebay: {error}"))?;
        std::thread::sleep(Duration::from_millis(random.random_range(1..=80)));
        let ended = child.try_wait().map_err(|error| error.to_string())?.is_some();
        let _ = child.kill();
        let _ = child.wait();
        Ok(!ended)
    }
}

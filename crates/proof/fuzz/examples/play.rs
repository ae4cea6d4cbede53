//! Scripts of the fuzz by hand, and one by one for `cargo xbench soak fuzz`:
//!
//! ```text
//!   run FROM TO      the scripts of these seeds, in this process
//!   seed N TRACE     that of one seed; the file has its acts, up to the one that runs
//!   replay FILE      a script from a file
//!   shrink FILE      the shortest script that does the same, as FILE.small
//! ```
//!
//! What is wrong is the first line that is printed, and the program fails.
#![forbid(unsafe_code)]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it runs itself in other processes, and reads files"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use fuzz::{Act, Player, Script, Tally, lines_of, on_a_session_thread, script_of, script_of_lines};

/// The acts of a seed.
const ACTS: usize = 200;

/// How often a script is tried to be made smaller.
const TRIES: usize = 600;

/// The seconds that a script has when it is played to be made smaller.
const SECONDS: &str = "120";

/// The memory that it has, in KiB: more than is looked for.
const KIB_MAX: &str = "8000000";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["run", from, to] => run(from, to),
        ["seed", seed, trace] => {
            number(seed).and_then(|seed| play(script_of(seed, ACTS), Some(trace.into())))
        }
        ["replay", file] => script_in(Path::new(file)).and_then(|script| play(script, None)),
        ["shrink", file] => shrunk(Path::new(file)),
        _ => Err("play: say run FROM TO, seed N TRACE, replay FILE or shrink FILE".into()),
    };
    match done {
        Ok(said) => {
            println!("{said}");
            ExitCode::SUCCESS
        }
        Err(wrong) => {
            println!("{wrong}");
            ExitCode::FAILURE
        }
    }
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("play: {text} is no seed"))
}

fn script_in(file: &Path) -> Result<Script, String> {
    let text = std::fs::read_to_string(file);
    let text = text.map_err(|error| format!("play: cannot read {}: {error}", file.display()))?;
    Ok(script_of_lines(&text))
}

/// Plays a script on a thread of its own.
fn play(script: Script, trace: Option<PathBuf>) -> Result<String, String> {
    let folder = format!("fuzz-{}", std::process::id());
    let player = Player { trace, ..Player::new(&folder) };
    let came = on_a_session_thread(move || player.play(&script));
    came.map(|tally| tally.to_string()).map_err(|finding| finding.to_string())
}

fn run(from: &str, to: &str) -> Result<String, String> {
    let mut all = Tally::default();
    for seed in number(from)?..number(to)? {
        let folder = format!("fuzz-{}", std::process::id());
        let player = Player::new(&folder);
        let came = on_a_session_thread(move || player.play(&script_of(seed, ACTS)));
        all += came.map_err(|finding| format!("seed {seed}: {finding}"))?;
        println!("play: seed {seed}: {all}");
    }
    Ok(all.to_string())
}

/// The shortest script that comes to the same end, in a file beside the given one.
fn shrunk(file: &Path) -> Result<String, String> {
    let script = script_in(file)?;
    let small = PathBuf::from(format!("{}.small", file.display()));
    let attempt = PathBuf::from(format!("{}.attempt", file.display()));
    let Some(wanted) = end_of(&script, &attempt)? else {
        return Err(format!("play: {} comes to a good end when it is played", file.display()));
    };
    let mut failed = None;
    let mut fails = |script: &[Act]| match end_of(script, &attempt) {
        Ok(end) => end.as_ref() == Some(&wanted),
        Err(wrong) => {
            failed = Some(wrong);
            false
        }
    };
    let shortest = fuzz::shrink(script, TRIES, &mut fails);
    // It may not be there.
    let _ = std::fs::remove_file(&attempt);
    if let Some(wrong) = failed {
        return Err(wrong);
    }
    let lines = lines_of(&shortest);
    std::fs::write(&small, &lines)
        .map_err(|error| format!("play: cannot write {}: {error}", small.display()))?;
    Ok(format!("{wanted}\n{lines}"))
}

/// How a script ends in a process of its own: none if well, else the sort of trouble.
fn end_of(script: &[Act], attempt: &Path) -> Result<Option<String>, String> {
    std::fs::write(attempt, lines_of(script))
        .map_err(|error| format!("play: cannot write {}: {error}", attempt.display()))?;
    let program = std::env::current_exe().map_err(|error| format!("play: {error}"))?;
    let line = format!("ulimit -v {KIB_MAX}; exec timeout -s KILL {SECONDS} \"$0\" replay \"$1\"");
    let output = Command::new("sh").args(["-c", &line]).arg(program).arg(attempt).output();
    let output = output.map_err(|error| format!("play: cannot start sh: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(match output.status.code() {
        Some(0) => None,
        Some(1) => Some(said.split(':').next().unwrap_or_default().to_string()),
        Some(code) => Some(format!("ended by {code}")),
        None => Some("ended by a signal".into()),
    })
}

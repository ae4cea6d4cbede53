//! The verb `test`: every test suite, in order, each named and timed.
//!
//! The suites are the table [`STEPS`]: first everything in debug, then what only means something
//! when it is optimised or needs its own process. The first failure stops the run and prints the
//! command that repeats it alone.
//!
//! ```text
//!   step 1    build ── tests, which leave CPUs idle ──▶ step 2 ──▶ step 3 ...
//!   ahead     └── builds for the later steps, at the lowest priority ──┘
//! ```
//!
//! Callers: the README's test command, and through it `.ci/run`.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;
use xtask::workspace;

use crate::Outcome;

/// One suite: its name, and the environment and arguments that cargo runs it with.
struct Step {
    name: &'static str,
    env: &'static [(&'static str, &'static str)],
    cargo: &'static [&'static str],
}

const STEPS: &[Step] = &[
    // The proofs come optimised, with the assertions of latch and sim (Cargo.toml).
    Step {
        name: "everything but the proofs, debug",
        env: &[],
        cargo: &[
            "test",
            "--workspace",
            "--exclude",
            "proof",
            "--exclude",
            "statements",
            "--exclude",
            "fuzz",
        ],
    },
    Step {
        name: "the simulator, optimised",
        env: &[],
        cargo: &["test", "--profile", "proof", "-p", "sim"],
    },
    Step {
        name: "the proofs, optimised",
        env: &[],
        cargo: &["test", "--profile", "proof", "-p", "proof", "--", "--nocapture"],
    },
    Step {
        name: "the answers of SQL, optimised",
        env: &[],
        cargo: &["test", "--profile", "proof", "-p", "statements", "--", "--nocapture"],
    },
    Step {
        name: "the fuzz, optimised",
        env: &[],
        cargo: &["test", "--profile", "proof", "-p", "fuzz", "--", "--nocapture"],
    },
    Step {
        name: "the binary, killed under load",
        env: &[],
        cargo: &["run", "--profile", "proof", "-p", "bench", "kill", "--rounds", "6"],
    },
    Step {
        name: "order entry, killed under load",
        env: &[],
        cargo: &[
            "run",
            "--profile",
            "proof",
            "-p",
            "bench",
            "kill",
            "--rounds",
            "6",
            "--order-entry",
        ],
    },
    Step {
        name: "determinism",
        env: &[],
        cargo: &["run", "--profile", "proof", "-p", "bench", "determinism"],
    },
];

/// What the later steps build, in their order. The binary that is killed is the one that users
/// have.
const AHEAD: &[&str] = &[
    "test --profile proof -p sim --no-run",
    "test --profile proof -p proof --no-run",
    "test --profile proof -p statements --no-run",
    "test --profile proof -p fuzz --no-run",
    "build --profile proof -p bench",
    "build --release -p forebay",
];

pub(crate) fn run(root: &Path) -> Outcome {
    let _ahead = Ahead::start(root);
    run_steps(STEPS, |step| {
        let mut command = workspace::cargo();
        command.envs(step.env.iter().copied()).args(step.cargo).current_dir(root);
        let status = command.status();
        Ok(status.map_err(|error| format!("cannot start cargo: {error}"))?.success())
    })
}

/// Builds what the later steps run while the tests of the first leave CPUs idle, so that their own
/// builds find it made. What fails here fails again, and is told, in its own step.
///
/// A build is a shell, cargo, and compilers, in a process group of their own. The shell waits for
/// the end of a pipe that only we hold: when we end, in whatever way, it kills the group.
struct Ahead(Option<Child>);

impl Ahead {
    fn start(root: &Path) -> Ahead {
        let cargo = workspace::cargo();
        let cargo = cargo.get_program().to_string_lossy();
        let line = |arguments: &&str| format!("'{cargo}' {arguments}\n");
        Ahead::of(root, &AHEAD.iter().map(line).collect::<String>())
    }

    fn of(root: &Path, builds: &str) -> Ahead {
        let script = format!("(\n{builds}) &\nread -r line\nkill -KILL 0\n");
        let mut command = Command::new("nice");
        command.args(["-n", "19", "sh", "-c", &script]).current_dir(root).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // Without it the steps build for themselves.
        Ahead(command.spawn().ok())
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            drop(child.stdin.take());
            let _ = child.wait();
        }
    }
}

/// Runs the steps with `passes`, which says whether one passed, up to the first that doesn't.
fn run_steps(steps: &[Step], passes: impl Fn(&Step) -> Result<bool, String>) -> Outcome {
    let started = Instant::now();
    for (step, number) in steps.iter().zip(1..) {
        let (name, of) = (step.name, steps.len());
        println!("test: {number} of {of}: {name}: {}", spoken(step));
        let began = Instant::now();
        let passed = passes(step)?;
        let seconds = began.elapsed().as_secs_f64();
        if !passed {
            let command = spoken(step);
            return Err(format!(
                "test: \"{name}\" failed after {seconds:.1} s; to repeat it: {command}"
            ));
        }
        println!("test: {number} of {of}: {name}: passed in {seconds:.1} s");
    }
    let seconds = started.elapsed().as_secs_f64();
    println!("test: {} suites passed in {seconds:.1} s", steps.len());
    Ok(())
}

/// The command line that repeats a step.
fn spoken(step: &Step) -> String {
    let env: String = step.env.iter().map(|(name, value)| format!("{name}='{value}' ")).collect();
    format!("{env}cargo {}", step.cargo.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_later_steps_build_is_built_ahead() {
        for step in &STEPS[1..] {
            let (verb, rest) = step.cargo.split_first().expect("a verb");
            let verb = if *verb == "run" { "build" } else { verb };
            let begin = [&[verb], &rest[..4]].concat().join(" ");
            assert!(AHEAD.iter().any(|ahead| ahead.starts_with(&begin)), "{begin}");
        }
    }

    /// Else a build goes on for minutes, and holds the lock of what others wait for.
    #[test]
    fn what_is_built_ahead_ends_with_us() {
        let file = std::env::temp_dir().join(format!("ahead-{}", std::process::id()));
        let builds = format!("sh -c 'echo $$ > {}; sleep 1000; true'\n", file.display());
        let ahead = Ahead::of(&std::env::temp_dir(), &builds);
        let until = |is_so: &dyn Fn() -> bool| {
            let began = Instant::now();
            while !is_so() && began.elapsed().as_secs() < 30 {
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            is_so()
        };
        let pid = || std::fs::read_to_string(&file).unwrap_or_default().trim().to_owned();
        assert!(until(&|| !pid().is_empty()), "the stand-in for a build doesn't begin");
        // One that was killed, and that nobody has waited for yet, works nowhere.
        let works = |pid: &str| std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok();
        let build = pid();
        assert!(works(&build));
        drop(ahead);
        assert!(until(&|| !works(&build)), "the build goes on");
        std::fs::remove_file(&file).expect("it is ours");
    }

    #[test]
    fn the_first_failure_stops_and_says_how_to_repeat_it() {
        let step = |name| Step { name, env: &[("RUSTFLAGS", "--cfg loom")], cargo: &["test"] };
        let steps = [step("fine"), step("broken"), step("never")];
        let why = run_steps(&steps, |step| match step.name {
            "never" => Err("went on".to_string()),
            name => Ok(name == "fine"),
        });
        let why = why.expect_err("the second step fails");
        assert!(why.contains("\"broken\" failed"));
        assert!(why.contains("to repeat it: RUSTFLAGS='--cfg loom' cargo test"));
        assert_eq!(run_steps(&steps, |_| Ok(true)), Ok(()));
    }
}

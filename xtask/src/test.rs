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
//! What takes the time is compiling, so the engine is compiled twice and no more. Cargo compiles a
//! crate anew for each set of packages that it is given, because their features differ: the proofs
//! are one step, and the later ones compile the simulator alone, or run what the first has left.
//!
//! Callers: the README's test command, and through it `.ci/run`.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;
use xtask::workspace;

use crate::Outcome;

/// One suite: its name, and the environment and words of the command that runs it.
struct Step {
    name: &'static str,
    env: &'static [(&'static str, &'static str)],
    words: &'static [&'static str],
}

/// Stands for the folder in which the first step leaves the programs that it builds.
const BUILT: &str = "{built}";

const STEPS: &[Step] = &[
    Step {
        name: "everything but the proofs, debug",
        env: &[],
        words: &[
            "cargo",
            "test",
            "--workspace",
            "--exclude",
            "proof",
            "--exclude",
            "statements",
            "--exclude",
            "fuzz",
            "--features",
            "bench/sqlite",
        ],
    },
    // With the assertions of latch and sim (Cargo.toml). Without the examples, which soaks run.
    Step {
        name: "the proofs, the answers of SQL and the fuzz, optimised",
        env: &[],
        words: &[
            "cargo",
            "test",
            "--profile",
            "proof",
            "-p",
            "proof",
            "-p",
            "statements",
            "-p",
            "fuzz",
            "--tests",
            "--",
            "--nocapture",
        ],
    },
    // Of its suites these alone say what must be the same in each profile: the times of disks. The
    // others run in debug, and all proofs on the optimised simulator.
    Step {
        name: "the simulator's parts, optimised",
        env: &[],
        words: &["cargo", "test", "--profile", "proof", "-p", "sim", "--lib"],
    },
    Step {
        name: "the binary, killed under load",
        env: &[],
        words: &["{built}/bench", "kill", "--binary", "{built}/forebay", "--rounds", "6"],
    },
    Step {
        name: "order entry, killed under load",
        env: &[],
        words: &[
            "{built}/bench",
            "kill",
            "--binary",
            "{built}/forebay",
            "--rounds",
            "6",
            "--order-entry",
        ],
    },
    Step {
        name: "determinism",
        env: &[],
        words: &["{built}/bench", "determinism", "--seeds", "24", "--profile", "proof"],
    },
];

/// What the later steps build, in their order: the last two are what `determinism` compares.
const AHEAD: &[&str] = &[
    "test --profile proof -p proof -p statements -p fuzz --tests --no-run",
    "test --profile proof -p sim --lib --no-run",
    "build --profile proof --package sim --example everything",
    "build --package sim --example everything",
];

pub(crate) fn run(root: &Path) -> Outcome {
    let built = workspace::target_directory(root)?.join("debug").display().to_string();
    let _ahead = Ahead::start(root);
    run_steps(STEPS, &built, |step| {
        let words = step.words_in(&built);
        let mut command = match words[0].as_str() {
            "cargo" => workspace::cargo(),
            program => Command::new(program),
        };
        command.envs(step.env.iter().copied()).args(&words[1..]).current_dir(root);
        let status = command.status();
        Ok(status.map_err(|error| format!("cannot start {}: {error}", words[0]))?.success())
    })
}

impl Step {
    /// The words of its command, where the first step leaves its programs in the folder `built`.
    fn words_in(&self, built: &str) -> Vec<String> {
        self.words.iter().map(|word| word.replace(BUILT, built)).collect()
    }

    /// The command line that repeats it.
    fn spoken(&self, built: &str) -> String {
        let env = self.env.iter().map(|(name, value)| format!("{name}='{value}' "));
        env.collect::<String>() + &self.words_in(built).join(" ")
    }
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
fn run_steps(
    steps: &[Step],
    built: &str,
    passes: impl Fn(&Step) -> Result<bool, String>,
) -> Outcome {
    let started = Instant::now();
    for (step, number) in steps.iter().zip(1..) {
        let (name, of) = (step.name, steps.len());
        println!("test: {number} of {of}: {name}: {}", step.spoken(built));
        let began = Instant::now();
        let passed = passes(step)?;
        let seconds = began.elapsed().as_secs_f64();
        if !passed {
            let command = step.spoken(built);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A package that no step runs proves nothing. The simulator's times are equal in every
    /// profile, which one profile can't show (`times_are_equal_in_every_build_profile`).
    #[test]
    fn what_the_first_step_leaves_out_and_the_simulator_come_optimised() {
        let behind = |word: &str, step: &Step| -> Vec<&'static str> {
            let pairs = step.words.windows(2).filter(|pair| pair[0] == word);
            pairs.map(|pair| pair[1]).collect()
        };
        let optimised: Vec<_> = STEPS[1..].iter().flat_map(|step| behind("-p", step)).collect();
        for package in [behind("--exclude", &STEPS[0]), vec!["sim"]].concat() {
            assert!(optimised.contains(&package), "{package} is in none of {optimised:?}");
        }
    }

    /// With the same packages and targets, or all of it is compiled once more.
    #[test]
    fn what_the_later_steps_build_is_built_ahead() {
        for step in STEPS[1..].iter().filter(|step| step.words[0] == "cargo") {
            let words = step.words[1..].iter().take_while(|word| **word != "--");
            let built = words.chain(&["--no-run"]).copied().collect::<Vec<_>>().join(" ");
            assert!(AHEAD.contains(&built.as_str()), "{built}");
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
        let env = &[("RUSTFLAGS", "--cfg loom")];
        let step = |name| Step { name, env, words: &["{built}/bench", "kill"] };
        let steps = [step("fine"), step("broken"), step("never")];
        let why = run_steps(&steps, "t/debug", |step| match step.name {
            "never" => Err("went on".to_string()),
            name => Ok(name == "fine"),
        });
        let why = why.expect_err("the second step fails");
        assert!(why.contains("\"broken\" failed"));
        assert!(why.contains("to repeat it: RUSTFLAGS='--cfg loom' t/debug/bench kill"));
        assert_eq!(run_steps(&steps, "t/debug", |_| Ok(true)), Ok(()));
    }
}

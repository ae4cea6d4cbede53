//! `forebay lab`: which experiments there are, and running one.
//!
//! Progress goes to standard error, in one line that writes over itself where that is a terminal;
//! the verdict goes to standard output.
//!
//! Callers: `main`.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use experiment::PAIRS_MAX;
use lab::free_buffer_waits::{self, Matrix, Setting, Size};
use lab::redo_size::{self, Curve, Sizes};
use lab::{EXPERIMENTS, Ending, Experiment, Form, Request, RunOn};
use report::paragraph;
use stop::Stop;
use waits::{Nanos, SessionKind};

use crate::number::within;
use crate::output::{CommandResult, Failure, start_world};
use crate::progress::Progress;
use crate::settings::Settings;

/// A modelled machine's disk, if none is named.
const DISK: &str = "nvme";
const COMMIT: &str = env!("FOREBAY_COMMIT");

#[derive(Subcommand)]
pub(crate) enum Lab {
    /// Lists the experiments.
    List,
    /// Runs an experiment and says what came of it.
    Run(Box<Run>),
}

#[derive(Args)]
pub(crate) struct Run {
    /// Which one; `forebay lab list` names them.
    #[arg(value_name = "EXPERIMENT")]
    experiment: String,
    /// Longer runs of more data, for a result to be quoted.
    #[arg(long, conflicts_with = "simulate")]
    full: bool,
    /// Prints the report as JSON, for programs.
    #[arg(long)]
    json: bool,
    /// Runs on a model of a machine: two-core, eight-core, thirty-two-core or hp-ux.
    #[arg(long, value_name = "MACHINE")]
    simulate: Option<String>,
    /// The modelled machine's disk: nvme (if none is named, but for free-buffer-waits), array (if
    /// none is named for that), nvme-consumer, disk-7200, fixed or exponential.
    #[arg(long, value_name = "DISK", requires = "simulate")]
    simulated_disk: Option<String>,
    /// Of free-buffer-waits: makes this machine's disk as slow as a modelled one (array, if none is
    /// named); "no" for as it is.
    #[arg(long, value_name = "DISK", conflicts_with = "simulate")]
    paced: Option<String>,
    /// Where the scratch folder is made, and removed again.
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Orders and seeds the runs.
    #[arg(long, default_value_t = 1)]
    #[arg(value_parser = within(0..=u64::MAX), allow_negative_numbers = true)]
    seed: u64,
    /// Pairs of both settings.
    #[arg(long, value_parser = within(2..=PAIRS_MAX), allow_negative_numbers = true)]
    pairs: Option<u32>,
    /// Pairs of setting A with itself.
    #[arg(long, value_parser = within(1..=PAIRS_MAX), allow_negative_numbers = true)]
    aa_pairs: Option<u32>,
    /// Measured seconds of each run; before that it warms up for a fifth of it.
    #[arg(long, value_name = "S")]
    #[arg(value_parser = within(0.01..=86_400.0), allow_negative_numbers = true)]
    seconds: Option<f64>,
    /// From so many per cent of throughput on a difference matters.
    #[arg(long, value_name = "PERCENT", default_value_t = 2.0)]
    #[arg(value_parser = within(0.01..=99.99), allow_negative_numbers = true)]
    matters: f64,
    /// Writes the rows, one JSON object a line, to this file too.
    #[arg(long, value_name = "FILE")]
    rows: Option<PathBuf>,
    /// Setting A on both sides: what does the lab say of equals?
    #[arg(long)]
    equals: bool,
    #[command(flatten)]
    settings: Settings,
}

pub(crate) fn run(command: Lab) -> CommandResult {
    match command {
        Lab::List => Ok(list()),
        Lab::Run(run) => run.carry_out(),
    }
}

fn list() -> String {
    let line = |experiment: &Experiment| {
        let Experiment { name, question, settings, .. } = experiment;
        let question = paragraph(&format!("{name}: {question}"), "");
        format!("{question}  A: {}\n  B: {}\n", settings[0], settings[1])
    };
    let others = [
        (redo_size::NAME, redo_size::QUESTION),
        (free_buffer_waits::NAME, free_buffer_waits::QUESTION),
    ];
    let other = |(name, question)| paragraph(&format!("{name}: {question}"), "");
    EXPERIMENTS.iter().map(line).chain(others.map(other)).collect()
}

impl Run {
    fn carry_out(self) -> CommandResult {
        match &*self.experiment {
            redo_size::NAME => return self.draw(),
            free_buffer_waits::NAME => return self.tabulate(),
            _ => {}
        }
        let request = self.request().map_err(Failure::usage)?;
        let session = begin();
        let rows = self.rows.as_deref().map(|path| RowsFile::make(path, &session)).transpose()?;
        let mut progress = Progress::new();
        let ended =
            lab::run(&request, &os::linux::interrupted, &mut |line| progress.tell(line), &session);
        progress.end();
        let (report, runs) = match ended {
            Ok(Ending::Answered(report, runs)) => (report, runs),
            failed => {
                rows.map_or(Ok(()), |rows| rows.remove(&session))?;
                return Err(failed.err().map_or_else(stopped, Failure::from));
            }
        };
        let text = if self.json { report.json() + "\n" } else { report.text() };
        match rows.map_or(Ok(()), |rows| rows.write(&runs, &session)) {
            Ok(()) => Ok(text),
            Err(error) => Err(Failure::from(error).behind(text)),
        }
    }

    /// The experiment that is a curve.
    fn draw(self) -> CommandResult {
        let curve = self.curve().map_err(Failure::usage)?;
        let run = |tell: &mut dyn FnMut(&str), session: &os::Session| {
            redo_size::run(&curve, &os::linux::interrupted, tell, session)
        };
        self.answer(run, redo_size::Report::text, redo_size::Report::json)
    }

    fn curve(&self) -> Result<Curve, String> {
        self.compares_nothing(redo_size::NAME, "draws a curve")?;
        self.paces_nothing()?;
        let command = self.command_of(redo_size::NAME);
        Ok(Curve {
            sizes: if self.simulate.is_some() { Sizes::MODELLED } else { Sizes::HERE },
            run_on: self.run_on(DISK),
            seed: self.seed,
            commit: COMMIT.to_string(),
            command,
        })
    }

    /// The experiment that is a table.
    fn tabulate(self) -> CommandResult {
        let matrix = self.matrix().map_err(Failure::usage)?;
        let run = |tell: &mut dyn FnMut(&str), session: &os::Session| {
            free_buffer_waits::run(&matrix, &os::linux::interrupted, tell, session)
        };
        self.answer(run, free_buffer_waits::Report::text, free_buffer_waits::Report::json)
    }

    /// Runs an experiment that gives what it found, and shows that as text or as JSON.
    fn answer<F>(
        &self,
        run: impl FnOnce(&mut dyn FnMut(&str), &os::Session) -> Result<Option<F>, Stop>,
        text: fn(&F) -> String,
        json: fn(&F) -> String,
    ) -> CommandResult {
        let session = begin();
        let mut progress = Progress::new();
        let found = run(&mut |line: &str| progress.tell(line), &session);
        progress.end();
        match found {
            Ok(Some(found)) if self.json => Ok(json(&found) + "\n"),
            Ok(Some(found)) => Ok(text(&found).lines().map(fitting).collect()),
            Ok(None) => Err(stopped()),
            Err(stop) => Err(stop.into()),
        }
    }

    fn matrix(&self) -> Result<Matrix, String> {
        self.compares_nothing(free_buffer_waits::NAME, "fills a table")?;
        let here = self.simulate.is_none();
        let disk = self.paced.as_deref().unwrap_or(free_buffer_waits::DISK);
        let paced = (here && disk != "no").then(|| disk.to_string());
        let mut command = self.command_of(free_buffer_waits::NAME);
        if here {
            command += &format!(" --paced {disk}");
        }
        Ok(Matrix {
            size: if here { Size::HERE } else { Size::MODELLED },
            settings: Setting::all(),
            run_on: self.run_on(free_buffer_waits::DISK),
            paced,
            seed: self.seed,
            commit: COMMIT.to_string(),
            command,
        })
    }

    /// Refuses options that are of experiments that compare two settings.
    fn compares_nothing(&self, name: &str, does: &str) -> Result<(), String> {
        let compares = [
            ("--full", self.full),
            ("--pairs", self.pairs.is_some()),
            ("--aa-pairs", self.aa_pairs.is_some()),
            ("--seconds", self.seconds.is_some()),
            ("--matters", self.matters != 2.0),
            ("--rows", self.rows.is_some()),
            ("--equals", self.equals),
            ("--set", self.settings.is_given()),
        ];
        match compares.iter().find(|(_, given)| *given) {
            Some((option, _)) => {
                Err(format!("{name} {does} and doesn't compare two settings: leave {option} out"))
            }
            None => Ok(()),
        }
    }

    /// Refuses an option that is of one experiment only.
    fn paces_nothing(&self) -> Result<(), String> {
        match self.paced {
            Some(_) => Err(format!(
                "only {} runs on a disk that is made slow: leave --paced out",
                free_buffer_waits::NAME
            )),
            None => Ok(()),
        }
    }

    fn command_of(&self, name: &str) -> String {
        format!("forebay lab run {name} --seed {}", self.seed) + &self.place_options()
    }

    /// The options that say where the experiment ran.
    fn place_options(&self) -> String {
        let option = |name: &str, value: &Option<String>| {
            value.as_ref().map_or_else(String::new, |value| format!(" --{name} {value}"))
        };
        let scratch = match self.simulate.is_none() && self.dir != Path::new(".") {
            true => format!(" --dir '{}'", self.dir.display()),
            false => String::new(),
        };
        option("simulate", &self.simulate)
            + &option("simulated-disk", &self.simulated_disk)
            + &scratch
    }

    fn run_on(&self, disk: &str) -> RunOn {
        match &self.simulate {
            Some(machine) => {
                let disk = self.simulated_disk.as_deref().unwrap_or(disk).to_string();
                RunOn::Model { machine: machine.clone(), disk }
            }
            None => RunOn::ThisMachine(self.dir.clone()),
        }
    }

    fn request(&self) -> Result<Request, String> {
        self.paces_nothing()?;
        let Some(experiment) = Experiment::named(&self.experiment) else {
            return Err(format!(
                "there is no experiment '{}'; 'forebay lab list' names those that are",
                self.experiment
            ));
        };
        let mut form = match (&self.simulate, self.full) {
            (Some(_), _) => Form::modelled(),
            (None, true) => Form::full(),
            (None, false) => Form::quick(),
        };
        form.pairs = self.pairs.unwrap_or(form.pairs);
        form.aa_pairs = self.aa_pairs.unwrap_or(form.aa_pairs);
        if let Some(seconds) = self.seconds {
            form = form.lasting(Nanos((seconds * 1e9) as u64));
        }
        let mut sides = experiment.settings.iter().filter_map(|side| side.split_once(" = "));
        if let Some((name, _)) = sides.find(|(name, _)| self.settings.has(name)) {
            let experiment = experiment.name;
            return Err(format!("{experiment} gives {name} itself: leave --set {name} out"));
        }
        form.set(|creation, parameters| self.settings.choose(Some(creation), parameters))
            .map_err(|stop| stop.to_string())?;
        Ok(Request {
            experiment,
            command: self.command(&form),
            form,
            run_on: self.run_on(DISK),
            seed: self.seed,
            threshold: self.matters / 100.0,
            equals: self.equals,
            commit: COMMIT.to_string(),
        })
    }

    /// The command line that asks for the same again, defaults written out where they matter.
    fn command(&self, form: &Form) -> String {
        let mut line = format!(
            "forebay lab run {} --seed {} --pairs {} --aa-pairs {}",
            self.experiment, self.seed, form.pairs, form.aa_pairs
        );
        if self.full {
            line += " --full";
        }
        if let Some(seconds) = self.seconds {
            line += &format!(" --seconds {seconds}");
        }
        if self.equals {
            line += " --equals";
        }
        if self.matters != 2.0 {
            line += &format!(" --matters {}", self.matters);
        }
        line + &self.place_options() + &self.settings.again()
    }
}

/// The line, broken where it is too long for a screen.
fn fitting(line: &str) -> String {
    match line.len() {
        ..=80 => format!("{line}\n"),
        _ => paragraph(line, ""),
    }
}

/// This machine, and the session in which all is done.
fn begin() -> os::Session {
    let os = start_world("\n");
    os::linux::listen();
    os.adopt("forebay", SessionKind::Foreground)
}

fn stopped() -> Failure {
    Failure::stopped("stopped before it had an answer; nothing is left behind")
}

/// The file that rows are written to: made before an experiment begins, so that what can't be made
/// costs no experiment.
struct RowsFile {
    disk: os::Disk,
    file: os::File,
}

impl RowsFile {
    fn make(path: &Path, session: &os::Session) -> Result<RowsFile, os::Error> {
        let disk = os::linux::disk();
        let options = os::FileOptions { direct: false, write_through: false };
        let file = disk.create(path, 0, options, session)?;
        Ok(RowsFile { disk, file })
    }

    fn write(self, rows: &[experiment::Run], session: &os::Session) -> Result<(), os::Error> {
        let text: String = rows.iter().map(|row| row.to_json_line() + "\n").collect();
        let waiting = || os::FileOperation::Fill.waiting(session);
        self.file.write_at(0, text.as_bytes(), waiting())?;
        self.file.sync(waiting())
    }

    /// There are no rows.
    fn remove(self, session: &os::Session) -> Result<(), os::Error> {
        self.disk.remove(self.file.path(), session)
    }
}

#[cfg(test)]
mod tests {
    use super::fitting;

    #[test]
    fn a_line_that_is_too_long_is_several_and_others_stay_as_they_are() {
        let bar = format!("   4.436        218  {}", "#".repeat(59));
        assert_eq!(fitting(&bar), format!("{bar}\n"));
        let long = fitting(&"a word ".repeat(30));
        assert!(long.lines().count() == 3 && long.lines().all(|line| line.len() <= 80), "{long}");
    }
}

//! `forebay lab`: which experiments there are, and running one.
//!
//! Progress goes to standard error, in one line that writes over itself where that is a terminal;
//! the verdict goes to standard output.
//!
//! Callers: `main`.

mod again;
mod options;
mod outputs;
mod shapes;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use experiment::Call;
use lab::{BUILT_IN, Before, Ending, Experiment, Form, Request, Setting, TEMPLATE};
use lab::{block_size_scan, free_buffer_waits, redo_size};
use report::number::counted;
use report::paragraph;
use serde_json::{Value, json};
use stop::{RefusalKind, Stop, did_you_mean};
use waits::SessionKind;

use self::again::Done;
use self::options::{How, Place, word};
use self::outputs::{Following, Outputs, mark_of};
use crate::number::within;
use crate::output::{CommandResult, Failure, json_page, start_world, tell};
use crate::progress::Progress;
use crate::settings::{Settings, check_given_once, named_values};

/// A modelled machine's disk, if none is named.
const DISK: &str = "nvme";
/// A file that is larger is no experiment.
const EXPERIMENT_BYTES_MAX: u64 = 1 << 20;
const COMMIT: &str = env!("FOREBAY_COMMIT");

#[derive(Subcommand)]
pub(crate) enum Lab {
    /// Lists the experiments.
    List(List),
    /// Prints the file of an experiment. 'template' is one with every key, to begin with.
    Show(Show),
    /// Runs an experiment, built in or from a file, and says what came of it.
    Run(Box<Run>),
    /// Compares two settings.
    #[command(after_help = COMPARE_HELP)]
    Compare(Box<Compare>),
    /// Goes on with an experiment that was stopped, from the rows that --rows wrote.
    Resume(again::Resume),
    /// Makes the report of an experiment again, from the rows that --rows wrote.
    Report(again::Report),
}

const COMPARE_HELP: &str = "Example:\n  forebay lab compare --set db_writer_processes=1 --vs \
                            db_writer_processes=8 --load order-entry";

#[derive(Args)]
pub(crate) struct List {
    /// Prints JSON, for programs; docs/JSON.md lists the keys.
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub(crate) struct Show {
    /// A built-in experiment, a file, or 'template'.
    #[arg(value_name = "EXPERIMENT|FILE")]
    experiment: String,
}

#[derive(Args)]
pub(crate) struct Run {
    /// A built-in experiment (`forebay lab list` names them), or a file (`forebay lab show
    /// template` prints one to begin with).
    #[arg(value_name = "EXPERIMENT|FILE")]
    experiment: String,
    /// Makes this machine's disk as slow as a modelled one (array, if none is
    /// named); "no" for as it is.
    #[arg(long, value_name = "DISK", conflicts_with = "simulate")]
    #[arg(help_heading = "Options of free-buffer-waits")]
    paced: Option<String>,
    /// Rows of each table, if not 1,000,000 (on a model 100,000); the original had 7,197,670, as
    /// --full has.
    #[arg(long, value_name = "N", conflicts_with = "full", allow_negative_numbers = true)]
    #[arg(value_parser = within(1_000..=10_000_000_u64))]
    #[arg(help_heading = "Options of block-size-scan")]
    table_rows: Option<u64>,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    how: How,
    #[command(flatten, next_help_heading = options::COMPARING)]
    settings: Settings,
}

#[derive(Args)]
pub(crate) struct Compare {
    /// A parameter of setting A; may be given several times.
    #[arg(long = "set", value_name = "NAME=VALUE", required = true)]
    a: Vec<String>,
    /// A parameter of setting B; may be given several times. With --equals there need be none.
    #[arg(long = "vs", value_name = "NAME=VALUE", required_unless_present = "equals")]
    b: Vec<String>,
    /// A parameter of both; may be given several times.
    #[arg(long, value_name = "NAME=VALUE")]
    both: Vec<String>,
    /// The load: debit-credit or order-entry.
    #[arg(long, value_name = "LOAD", default_value = "debit-credit")]
    load: String,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    how: How,
}

pub(crate) fn run(command: Lab) -> CommandResult {
    match command {
        Lab::List(list) => list.carry_out(),
        Lab::Show(show) => show.carry_out(),
        Lab::Run(run) => run.carry_out(None),
        Lab::Compare(compare) => compare.carry_out(None),
        Lab::Resume(resume) => resume.carry_out(),
        Lab::Report(report) => report.carry_out(),
    }
}

/// The experiments with shapes of their own, and their questions.
const SHAPES: [(&str, &str); 3] = [
    (redo_size::NAME, redo_size::QUESTION),
    (free_buffer_waits::NAME, free_buffer_waits::QUESTION),
    (block_size_scan::NAME, block_size_scan::QUESTION),
];

/// Whether the experiment of this name has a shape of its own.
fn has_own_shape(name: &str) -> bool {
    SHAPES.iter().any(|(shape, _)| *shape == name)
}

impl List {
    fn carry_out(&self) -> CommandResult {
        let named = BUILT_IN.iter().map(|(name, _)| Experiment::named(name));
        let all = named.collect::<Result<Vec<_>, Stop>>()?;
        Ok(if self.json { in_json(&all) } else { in_words(&all) })
    }
}

fn in_words(all: &[Experiment]) -> String {
    let mut text = String::new();
    for experiment in all {
        text += &paragraph(&format!("{}: {}", experiment.name, experiment.question), "");
        for (letter, setting) in ('A'..).zip(&experiment.settings) {
            text += &format!("  {letter}: {setting}\n");
        }
    }
    let other = |(name, question)| paragraph(&format!("{name}: {question}"), "");
    text + &SHAPES.map(other).concat()
}

fn in_json(all: &[Experiment]) -> String {
    let setting = |(letter, of): (char, &Setting)| {
        let (level, setting) = (letter.to_string(), of.to_string());
        json!({ "level": level, "setting": setting })
    };
    let compared = all.iter().map(|of| {
        let settings: Vec<Value> = ('A'..).zip(&of.settings).map(setting).collect();
        json!({ "name": of.name, "question": of.question, "settings": settings })
    });
    // Their cells are no settings that are compared with a first one.
    let shapes = SHAPES.map(|(name, question)| {
        let settings = Value::Null;
        json!({ "name": name, "question": question, "settings": settings })
    });
    let list: Value = compared.chain(shapes).collect();
    json_page(&list)
}

impl Show {
    fn carry_out(self) -> CommandResult {
        if let Some((_, text)) = BUILT_IN.iter().find(|(name, _)| *name == self.experiment) {
            return Ok((*text).to_owned());
        }
        if self.experiment == "template" {
            return Ok(TEMPLATE.to_owned());
        }
        if has_own_shape(&self.experiment) {
            let name = self.experiment;
            return Err(Failure::usage(format!(
                "{name} has a shape of its own, and no file: 'forebay lab run {name}' runs it, \
                 and 'forebay lab show template' prints a file to begin with"
            )));
        }
        let (name, text) = read(&self.experiment)?;
        parse(&self.experiment, &name, &text).map(|_| text)
    }
}

/// The experiment of this name, or of this file.
fn experiment(named: &str) -> Result<Experiment, Failure> {
    if BUILT_IN.iter().any(|(name, _)| *name == named) {
        return Experiment::named(named).map_err(Failure::usage);
    }
    let (name, text) = read(named)?;
    parse(named, &name, &text)
}

/// The experiment of this text, which the file at `path` has. A refusal names the file.
fn parse(path: &str, name: &str, text: &str) -> Result<Experiment, Failure> {
    Experiment::parse(name, text).map_err(|stop| Failure::usage(format!("{path}: {stop}")))
}

/// A file's name without its folder and ending, and its text.
fn read(path: &str) -> Result<(String, String), Failure> {
    let looks_like_file = path.contains(['/', '.']);
    let file = PathBuf::from(path);
    let session = os::linux::start().adopt("forebay", SessionKind::Foreground);
    let disk = os::linux::disk();
    if !looks_like_file && !disk.has_name(&file, &session)? {
        let names = BUILT_IN.iter().map(|(name, _)| *name);
        let names = names.chain(SHAPES.map(|(name, _)| name));
        return Err(Failure::usage(format!(
            "there is no experiment '{path}'; 'forebay lab list' names those that are{}",
            did_you_mean(path, names)
        )));
    }
    let text = read_text(&disk, &file, &session)?;
    let name = file.file_stem().map_or(path.into(), |name| name.to_string_lossy().into_owned());
    Ok((name, text))
}

/// The text of an experiment's file.
fn read_text(disk: &os::Disk, path: &Path, session: &os::Session) -> Result<String, Failure> {
    let options = os::FileOptions { direct: false, write_through: false };
    let file = disk.open_read_only(path, options, session)?;
    let refuse =
        |what: &str| Failure::usage(format!("{} is no experiment: {what}", path.display()));
    let length = file.length()?;
    if length > EXPERIMENT_BYTES_MAX {
        return Err(refuse(&format!("it is larger than {} MiB", EXPERIMENT_BYTES_MAX >> 20)));
    }
    let mut bytes = vec![0; length as usize];
    file.read_at(0, &mut bytes, os::FileOperation::Read.waiting(session))?;
    String::from_utf8(bytes).map_err(|_| refuse("it is no text"))
}

impl Run {
    fn carry_out(self, done: Option<Done>) -> CommandResult {
        match &*self.experiment {
            redo_size::NAME => return self.draw(),
            free_buffer_waits::NAME => return self.tabulate(),
            block_size_scan::NAME => return self.scan(),
            _ => {}
        }
        self.has_no_option_of_others(&self.experiment).map_err(Failure::usage)?;
        let mut experiment = experiment(&self.experiment)?;
        let compared = || experiment.settings.iter().flat_map(Setting::names);
        if let Some(name) = compared().find(|name| self.settings.has(name)) {
            let experiment = &experiment.name;
            let text = format!("{experiment} gives {name} itself: leave --set {name} out");
            return Err(Failure::usage(text));
        }
        self.settings.check_given_once().map_err(Failure::usage)?;
        // The command line wins over the file, here as in all other options.
        experiment.without_both(|name| self.settings.has(name));
        self.how.change(&mut experiment);
        let (design, _) = experiment.way(self.place.simulate.is_some()).map_err(Failure::usage)?;
        let mut form = self.how.form(&self.place, design);
        form.set(|creation, parameters| self.settings.choose(Some(creation), parameters))
            .map_err(Failure::usage)?;
        let command = format!("forebay lab run {}", word(&self.experiment))
            + &self.how.again()
            + &self.place.again()
            + &self.settings.again();
        answer(experiment, form, command, &self.place, &self.how, done)
    }
}

impl Compare {
    fn carry_out(self, done: Option<Done>) -> CommandResult {
        let setting = |option, chosen: &[String]| {
            check_given_once(option, chosen)?;
            Setting::of(named_values(option, chosen)?)
        };
        let a = setting("--set", &self.a).map_err(Failure::usage)?;
        // Of equals only A counts.
        let b = if self.b.is_empty() { Ok(a.clone()) } else { setting("--vs", &self.b) };
        let b = b.map_err(Failure::usage)?;
        // Read here for its refusal, which names the option.
        named_values("--both", &self.both).map_err(Failure::usage)?;
        check_given_once("--both", &self.both).map_err(Failure::usage)?;
        let both = Settings::of(self.both.clone());
        if let Some(name) = a.names().chain(b.names()).find(|name| both.has(name)) {
            let text = format!("--set or --vs gives {name} itself: leave --both {name} out");
            return Err(Failure::usage(text));
        }
        let mut experiment = Experiment::comparing(a, b, &self.load).map_err(Failure::usage)?;
        self.how.change(&mut experiment);
        let (design, _) = experiment.way(self.place.simulate.is_some()).map_err(Failure::usage)?;
        let mut form = self.how.form(&self.place, design);
        form.set(|creation, parameters| both.choose(Some(creation), parameters))
            .map_err(Failure::usage)?;
        let option = |name: &str, chosen: &[String]| -> String {
            chosen.iter().map(|chosen| format!(" --{name} '{chosen}'")).collect()
        };
        let command = "forebay lab compare".to_owned()
            + &option("set", &self.a)
            + &option("vs", &self.b)
            + &option("both", &self.both)
            + &format!(" --load {}", self.load)
            + &self.how.again()
            + &self.place.again();
        answer(experiment, form, command, &self.place, &self.how, done)
    }
}

/// Runs an experiment that compares settings, and shows its verdict.
fn answer(
    experiment: Experiment,
    form: Form,
    command: String,
    place: &Place,
    how: &How,
    done: Option<Done>,
) -> CommandResult {
    let notices = how.check_design(&experiment, place).map_err(Failure::usage)?;
    // Where it begins anew, too, it is the command line that asked for it which goes on.
    let call = done.as_ref().map_or_else(|| call(&command), |done| done.call.clone());
    let session = begin();
    let mut outputs = outputs_of(how, done.as_ref(), mark_of(&call), &session)?;
    let rows = done.as_ref().map_or(how.rows.clone(), |done| Some(done.rows.clone()));
    // Without a row behind it, what was asked may be of another design.
    let is_told = done.as_ref().is_some_and(|done| !done.before.runs.is_empty());
    let is_resumed = done.is_some();
    let threshold = done.as_ref().and_then(|done| done.threshold);
    let request = Request {
        experiment,
        form,
        run_on: place.run_on(DISK),
        seed: place.seed,
        equals: how.equals,
        commit: COMMIT.to_string(),
        command,
        before: done.map_or_else(Before::default, |done| done.before),
    };
    notices.iter().for_each(|notice| tell(&format!("notice: {notice}")));
    let (progress, written) = (Progress::new(), &mut outputs);
    let mut following =
        Following { progress, outputs: written, call: Some(call), is_told, threshold };
    let ended = lab::run(&request, &os::linux::interrupted, &mut following, &session);
    following.progress.end();
    let (verdict, runs, is_stopped) = match ended {
        Ok(Ending::Answered(verdict, runs)) => (Some(verdict), runs, false),
        Ok(Ending::Stopped(verdict, runs)) => (verdict, runs, true),
        Err(stop) => {
            let left = outputs.without_answer(rows, Some(&stop));
            return Err(left.told(failed(stop, left.rows.as_deref(), is_resumed)));
        }
    };
    let Some(verdict) = verdict else {
        let left = outputs.without_answer(rows, None);
        return Err(left.told(stopped(left.rows.as_deref(), false)));
    };
    let text = if place.json { verdict.json() + "\n" } else { verdict.text() };
    match (outputs.end(&verdict, &runs), is_stopped) {
        (Ok(()), false) => worth_something(verdict.commits_lost(), text),
        (Ok(()), true) => Err(stopped(rows.as_deref(), true).behind(text)),
        (Err(error), _) => Err(Failure::from(error).behind(text)),
    }
}

/// The files that it writes.
fn outputs_of<'s>(
    how: &How,
    done: Option<&Done>,
    mark: String,
    session: &'s os::Session,
) -> Result<Outputs<'s>, Failure> {
    let outputs = match done {
        Some(Done { rows, html, whole, .. }) => {
            let html = html.as_deref();
            Outputs::check(Some(rows), html)?;
            Outputs::going_on(rows, *whole, html, &mark, session)?
        }
        None => {
            let (rows, html) = (how.rows.as_deref(), how.html.as_deref());
            Outputs::check(rows, html)?;
            Outputs::make(rows, html, session)?
        }
    };
    Ok(outputs.marked(mark))
}

/// The text of a verdict or report; a failure, behind it, if commits were lost: a script that only
/// looks at the exit status shouldn't take the figures.
fn worth_something(lost: u64, text: String) -> CommandResult {
    match lost {
        0 => Ok(text),
        lost => Err(Failure::new(format!(
            "{} LOST: no figure of this engine is worth anything",
            counted(lost, "commit")
        ))
        .behind(text)),
    }
}

/// What the first line of a file of rows says of this command.
fn call(command: &str) -> Call {
    let words = std::env::args_os().skip(1).map(|word| word.into_string());
    Call {
        command: command.to_owned(),
        arguments: words.collect::<Result<_, _>>().unwrap_or_default(),
        commit: COMMIT.to_owned(),
    }
}

/// This machine, and the session in which all is done.
fn begin() -> os::Session {
    let os = start_world("\n");
    os::linux::listen();
    os.adopt("forebay", SessionKind::Foreground)
}

/// What an experiment can't take is a wrong command line.
fn failure(stop: Stop) -> Failure {
    match stop.refusal() {
        Some(RefusalKind::Invalid) => Failure::usage(stop),
        _ => Failure::from(stop),
    }
}

/// It failed on its way; where there are rows, they aren't lost. Who resumes what can't be resumed
/// isn't told to do so again.
fn failed(stop: Stop, rows: Option<&Path>, is_resumed: bool) -> Failure {
    let is_refused = is_resumed && stop.refusal() == Some(RefusalKind::Invalid);
    let Some(rows) = rows.filter(|_| !is_refused) else { return failure(stop) };
    failure(stop).saying(&format!(
        "what was measured until then is in {}: 'forebay lab report' tells it, and 'forebay lab \
         resume' goes on with it",
        rows.display()
    ))
}

/// It was stopped; where there are rows, it can go on.
fn stopped(rows: Option<&Path>, has_verdict: bool) -> Failure {
    Failure::stopped(match (rows, has_verdict) {
        (Some(rows), _) => format!(
            "stopped before its end; 'forebay lab resume {}' goes on with it",
            rows.display()
        ),
        (None, true) => "stopped before its end; the report is of what was measured until then, \
                         and without --rows it can't be resumed"
            .to_owned(),
        (None, false) => "stopped before it had an answer; nothing is left behind".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page may have been written, and a report printed.
    #[test]
    fn what_was_stopped_behind_a_verdict_does_not_say_that_nothing_is_left() {
        let says = |rows, has_verdict| format!("{:?}", stopped(rows, has_verdict));
        let with_verdict = says(None, true);
        assert!(with_verdict.contains("without --rows it can't be resumed"), "{with_verdict}");
        assert!(!with_verdict.contains("nothing is left"), "{with_verdict}");
        assert!(says(None, false).contains("nothing is left behind"));
        assert!(says(Some(Path::new("rows")), true).contains("lab resume rows"));
    }

    /// Else who resumes what can't be resumed is told to resume it.
    #[test]
    fn a_refused_resume_is_no_advice_to_resume() {
        let says = |kind, is_resumed| {
            let stop = Stop::refuse(kind, "of another rule");
            format!("{:?}", failed(stop, Some(Path::new("rows")), is_resumed))
        };
        assert!(!says(RefusalKind::Invalid, true).contains("goes on with it"));
        assert!(says(RefusalKind::Invalid, false).contains("goes on with it"));
        assert!(says(RefusalKind::NoSpace, true).contains("goes on with it"));
    }
}

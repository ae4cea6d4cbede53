//! Runs statements and commands, one after the other.
//!
//! Callers: `shell`.

use std::path::Path;
use std::time::Duration;

use super::backend::{Answer, Backend, Describe, Failure, Names, Transaction};
use super::collect::{Collector, Item};
use super::command::{self, Command};
use super::console::{Console, Typed};
use super::display::{Display, Expanded};
use super::failure;
use super::is_command;
use super::render::{Ended, render};
use crate::output::{self, CommandResult};

/// How deep `\i` may nest.
const INCLUDES_MAX: usize = 16;

/// Where statements come from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Origin {
    /// A person.
    Person,
    /// `-c`.
    Command,
    /// A file, or standard input.
    Script(String),
}

/// Lines as they come.
enum Lines<'t> {
    /// Of a text.
    Text(std::str::SplitInclusive<'t, char>),
    /// Of standard input.
    Input,
}

/// What comes after a statement or a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    /// The next one.
    GoOn,
    /// Nothing more.
    Stop,
}

/// A shell at work.
pub(crate) struct Session<'s> {
    backend: &'s mut dyn Backend,
    console: &'s mut dyn Console,
    display: Display,
    keeps_going: bool,
    /// The names for completion; none if they may have changed.
    names: Option<Names>,
    /// The last statement, for `\watch`.
    last: Option<String>,
    includes: usize,
    has_failed: bool,
    /// Whether a person is there, who goes on behind a script.
    is_talking: bool,
    /// The instance has halted, or a script was cancelled.
    why_ended: Option<output::Failure>,
}

impl<'s> Session<'s> {
    pub(crate) fn new(
        backend: &'s mut dyn Backend,
        console: &'s mut dyn Console,
        display: Display,
        keeps_going: bool,
    ) -> Session<'s> {
        Session {
            backend,
            console,
            display,
            keeps_going,
            names: None,
            last: None,
            includes: 0,
            has_failed: false,
            is_talking: false,
            why_ended: None,
        }
    }

    /// What the program says at its end.
    pub(crate) fn end(self) -> CommandResult {
        if self.backend.transaction() == Transaction::Open {
            let notice = "NOTICE: the open transaction is rolled back; COMMIT keeps its changes\n";
            self.console.tell(notice);
        }
        match (self.why_ended, self.has_failed) {
            (Some(why), _) => Err(why),
            (None, true) => Err(output::Failure::found()),
            (None, false) => Ok(String::new()),
        }
    }

    // Where statements come from.

    /// Talks with a person, until they leave.
    pub(crate) fn talk(&mut self) {
        self.is_talking = true;
        loop {
            let names = match self.names.take() {
                Some(names) => names,
                None => self.backend.names(),
            };
            let prompt = self.prompt();
            let typed = self.console.ask(prompt, &names);
            self.names = Some(names);
            let next = match typed {
                Ok(Typed::Text(text)) => self.typed(&text),
                Ok(Typed::Nothing) => Next::GoOn,
                Ok(Typed::End) => Next::Stop,
                Err(failure) => {
                    self.fail(&failure, "", &Origin::Person, 1);
                    Next::Stop
                }
            };
            if next == Next::Stop {
                // A person has seen what failed.
                self.has_failed = false;
                return;
            }
        }
    }

    fn prompt(&self) -> &'static str {
        match self.backend.transaction() {
            Transaction::None => "forebay=> ",
            Transaction::Open => "forebay*> ",
        }
    }

    fn typed(&mut self, text: &str) -> Next {
        if is_command(text) {
            return self.command(text, &Origin::Person, 1);
        }
        for part in syntax::split(text) {
            if self.statement(part.text, &Origin::Person, 1) == Next::Stop {
                return Next::Stop;
            }
        }
        Next::GoOn
    }

    /// Runs all that a text has; false if nothing is to follow.
    pub(crate) fn run_text(&mut self, text: &str, origin: &Origin) -> bool {
        self.run_lines(&mut Lines::Text(text.split_inclusive('\n')), origin) == Next::GoOn
    }

    /// Runs a file; false if nothing is to follow.
    pub(crate) fn run_file(&mut self, path: &Path) -> bool {
        let origin = Origin::Script(path.display().to_string());
        match self.console.read_file(path) {
            Ok(text) => self.run_text(&text, &origin),
            Err(failure) => self.fail(&failure, "", &Origin::Command, 1) == Next::GoOn,
        }
    }

    /// Runs standard input.
    pub(crate) fn run_input(&mut self) {
        self.run_lines(&mut Lines::Input, &Origin::Script("stdin".into()));
    }

    fn run_lines(&mut self, lines: &mut Lines<'_>, origin: &Origin) -> Next {
        let mut collector = Collector::default();
        loop {
            let line = match lines {
                Lines::Text(lines) => Ok(lines.next().map(str::to_owned)),
                Lines::Input => self.console.input_line(),
            };
            let items = match line {
                Ok(Some(line)) => collector.line(&line),
                Ok(None) => break,
                Err(failure) => return self.fail(&failure, "", origin, 1),
            };
            for item in items {
                if self.item(item, origin) == Next::Stop {
                    return Next::Stop;
                }
            }
        }
        match collector.end() {
            Some(item) => self.item(item, origin),
            None => Next::GoOn,
        }
    }

    fn item(&mut self, item: Item, origin: &Origin) -> Next {
        match item {
            Item::Statement { text, line } => self.statement(&text, origin, line),
            Item::Command { text, line } => self.command(&text, origin, line),
        }
    }

    // Statements.

    fn statement(&mut self, text: &str, origin: &Origin, line: usize) -> Next {
        // Between two statements there was none to be cancelled.
        if *origin != Origin::Person && self.console.take_cancel() {
            return self.fail(&Failure::cancelled(), text, origin, line);
        }
        self.last = Some(text.to_owned());
        match self.run(text) {
            Ok(()) => Next::GoOn,
            Err(failure) => self.fail(&failure, text, origin, line),
        }
    }

    /// Runs a statement, shows its answer, and what is to be shown behind it.
    fn run(&mut self, text: &str) -> Result<(), Failure> {
        if changes_names(text) {
            self.names = None;
        }
        let started = self.console.now();
        self.console.begin_statement(self.backend.watch());
        self.console.begin_answer();
        let ran = match self.backend.run(text) {
            Ok(answer) => show(answer, &self.display, self.console),
            Err(failure) => Err(failure),
        };
        self.console.end_statement();
        let took = self.console.now().saturating_sub(started);
        // A person may stay in the pager for long.
        let ended = self.console.end_answer();
        let told = self.tell_times(took);
        ran.and(ended).and(told)
    }

    fn tell_times(&mut self, took: Duration) -> Result<(), Failure> {
        let mut text = String::new();
        if self.display.timing {
            text += &format!("Time: {:.3} ms\n", took.as_secs_f64() * 1e3);
        }
        if self.display.waits {
            text += &self.backend.last_profile().unwrap_or_default();
        }
        match text.is_empty() {
            true => Ok(()),
            false => self.say(&text),
        }
    }

    /// Shows a text as an answer.
    fn say(&mut self, text: &str) -> Result<(), Failure> {
        self.console.begin_answer();
        self.console.put(text);
        self.console.end_answer()
    }

    /// Tells a failure, and says whether something follows.
    fn fail(&mut self, failure: &Failure, text: &str, origin: &Origin, line: usize) -> Next {
        self.has_failed = true;
        let place = match origin {
            Origin::Script(name) => {
                let within = |position| syntax::Place::of(text, position).line - 1;
                Some(format!("{name}:{}", line + failure.position.map_or(0, within)))
            }
            Origin::Person | Origin::Command => None,
        };
        self.console.tell(&failure::text(failure, text, place.as_deref()));
        let is_person = *origin == Origin::Person;
        if failure.is_final {
            self.why_ended = Some(output::Failure::found());
            return Next::Stop;
        }
        if failure.is_cancel() && !is_person {
            if !self.is_talking {
                self.why_ended = Some(output::Failure::stopped("cancelled; nothing follows"));
            }
            return Next::Stop;
        }
        match is_person || self.keeps_going {
            true => Next::GoOn,
            false => Next::Stop,
        }
    }

    // Commands.

    fn command(&mut self, text: &str, origin: &Origin, line: usize) -> Next {
        let command = match command::parse(text) {
            Ok(command) => command,
            Err(failure) => return self.fail(&failure, text, origin, line),
        };
        let done = match command {
            Command::Quit => return Next::Stop,
            Command::Include(file) => return self.include(&file, origin, line),
            Command::Copy(rest) => return self.copy(&rest, origin, line),
            Command::Help => self.say(&command::help()),
            Command::Describe(what) => self.describe(&what),
            Command::Timing(on) => {
                self.display.timing = on.unwrap_or(!self.display.timing);
                self.tell_switch("timing", self.display.timing)
            }
            Command::Waits(on) => {
                self.display.waits = on.unwrap_or(!self.display.waits);
                self.tell_switch("waits", self.display.waits)
            }
            Command::Expanded(chosen) => {
                self.display.expanded = chosen.unwrap_or(match self.display.expanded {
                    Expanded::On => Expanded::Auto,
                    Expanded::Off | Expanded::Auto => Expanded::On,
                });
                self.tell_expanded()
            }
            Command::Output(path) => self.set_output(path.as_deref()),
            Command::Watch(every) => self.watch(every),
        };
        match done {
            Ok(()) => Next::GoOn,
            Err(failure) => self.fail(&failure, text, origin, line),
        }
    }

    fn tell_switch(&mut self, what: &str, is_on: bool) -> Result<(), Failure> {
        let is = if is_on { "on" } else { "off" };
        self.say_to_people(&format!("{what} is {is}\n"))
    }

    fn tell_expanded(&mut self) -> Result<(), Failure> {
        let is = match self.display.expanded {
            Expanded::On => "each value has a line of its own\n",
            Expanded::Off => "columns stand beside one another\n",
            Expanded::Auto => "each value has a line of its own if the columns don't fit\n",
        };
        self.say_to_people(is)
    }

    /// Says something that would disturb a program.
    fn say_to_people(&mut self, text: &str) -> Result<(), Failure> {
        match self.display.is_for_people() {
            true => self.say(text),
            false => Ok(()),
        }
    }

    fn describe(&mut self, what: &Describe) -> Result<(), Failure> {
        self.console.begin_statement(self.backend.watch());
        self.console.begin_answer();
        let shown = match self.backend.describe(what) {
            Ok(answer) => show(answer, &self.display, self.console),
            Err(failure) => Err(failure),
        };
        self.console.end_statement();
        shown.and(self.console.end_answer())
    }

    fn include(&mut self, file: &str, origin: &Origin, line: usize) -> Next {
        if self.includes == INCLUDES_MAX {
            let say = format!("\\i {file} stands in {INCLUDES_MAX} files that include each other");
            return self.fail(&Failure::of_shell(say), "", origin, line);
        }
        let text = match self.console.read_file(Path::new(file)) {
            Ok(text) => text,
            Err(failure) => return self.fail(&failure, "", origin, line),
        };
        self.includes += 1;
        let goes_on = self.run_text(&text, &Origin::Script(file.to_owned()));
        self.includes -= 1;
        // A person's file stops at its first failure, and the person goes on.
        match goes_on || (*origin == Origin::Person && self.why_ended.is_none()) {
            true => Next::GoOn,
            false => Next::Stop,
        }
    }

    /// `\copy`: COPY, with the path seen from the shell's directory.
    fn copy(&mut self, rest: &str, origin: &Origin, line: usize) -> Next {
        match self.copy_statement(rest) {
            Ok(statement) => self.statement(&statement, origin, line),
            Err(failure) => self.fail(&failure, "", origin, line),
        }
    }

    fn copy_statement(&self, rest: &str) -> Result<String, Failure> {
        let text = format!("COPY {rest}");
        // Places are told in what was typed, and this isn't.
        let placeless =
            |error: syntax::SyntaxError| Failure { position: None, ..Failure::from(error) };
        let parsed = syntax::parse(&text).map_err(placeless)?;
        let syntax::Statement::Copy(copy) = parsed.statement else {
            return Err(Failure::of_shell("\\copy is read as COPY"));
        };
        let syntax::CopyEnd::File(path) = copy.end else {
            return Err(Failure::of_shell("\\copy needs the path of a file in quotes"));
        };
        let absolute = self.console.absolute(&path)?;
        let (from, to) = (syntax::quote_text(&path), absolute.display().to_string());
        if !text.contains(&from) {
            return Err(Failure::of_shell("\\copy takes the path between single quotes"));
        }
        Ok(text.replacen(&from, &syntax::quote_text(&to), 1))
    }

    fn set_output(&mut self, path: Option<&str>) -> Result<(), Failure> {
        self.console.set_output(path.map(Path::new))
    }

    /// `\watch`: the last statement again and again, until somebody wants no more.
    fn watch(&mut self, every: Duration) -> Result<(), Failure> {
        let Some(last) = self.last.clone() else {
            return Err(Failure::of_shell("there is no statement yet that \\watch could run"));
        };
        let ended = loop {
            match self.run(&last) {
                Ok(()) => {}
                Err(failure) if failure.is_cancel() => break Ok(()),
                Err(failure) => break Err(failure),
            }
            if self.console.take_cancel() || !self.console.pause(every) {
                break Ok(());
            }
        };
        // What has ended this ends nothing else.
        self.console.take_cancel();
        ended
    }
}

/// Shows what a statement gave, within an answer of the console.
fn show(answer: Answer<'_>, display: &Display, console: &mut dyn Console) -> Result<(), Failure> {
    let (columns, mut rows) = match answer {
        Answer::Rows { columns, rows } => (columns, rows),
        Answer::Done { tag, notice } => {
            if display.is_for_people() {
                console.put(&(tag + "\n"));
            }
            if let Some(notice) = notice {
                console.tell(&format!("NOTICE: {notice}\n"));
            }
            return Ok(());
        }
    };
    let limit = console.columns();
    match render(&columns, &mut *rows, display, limit, &mut |text| console.put(text)) {
        // What couldn't be written is told when the answer ends.
        Ok(_) | Err(Ended::Unread) => Ok(()),
        Err(Ended::Failed(failure)) => Err(failure),
    }
}

/// Whether a statement may give or take names.
fn changes_names(text: &str) -> bool {
    let first: String = text.chars().take_while(char::is_ascii_alphabetic).collect();
    matches!(first.to_ascii_lowercase().as_str(), "create" | "alter" | "drop" | "execute")
}

//! Runs statements and commands, one after the other.
//!
//! ```text
//!   lines ─▶ collect ─▶ item ─┬─ statement ─▶ database ─▶ render ─▶ console
//!                             └─ command    (`perform`)
//! ```
//!
//! Callers: `shell`.

use std::path::Path;
use std::time::Duration;

use super::backend::{Answer, Backend, Failure, Names, Transaction};
use super::collect::{Collector, Item};
use super::command::{self, Command};
use super::console::{Console, Typed};
use super::copy::{self, Copying, Data};
use super::display::{Display, Expanded};
use super::failure;
use super::lines::Lines;
use super::render::{Ended, render};
use crate::output::{self, CommandResult};

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

/// What comes after a statement or a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Next {
    /// The next one.
    GoOn,
    /// What a person types next, and nothing of what was typed with it.
    Ask,
    /// Nothing more.
    Stop,
}

/// A shell at work.
pub(crate) struct Session<'s> {
    pub(super) backend: &'s mut dyn Backend,
    pub(super) console: &'s mut dyn Console,
    pub(super) display: Display,
    keeps_going: bool,
    /// The names for completion; none if they may have changed.
    names: Option<Names>,
    /// The last statement, for `\g`, `\watch` and `\e`.
    pub(super) last: Option<String>,
    /// How long the last statement took, if that isn't told yet.
    took: Option<Duration>,
    /// How many files are being included, within each other.
    pub(super) includes: usize,
    has_failed: bool,
    /// Whether a person is there, who goes on behind a script.
    is_talking: bool,
    /// The instance has halted, or a script was cancelled.
    pub(super) why_ended: Option<output::Failure>,
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
            took: None,
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
                Ok(Typed::Text(text)) => {
                    self.run_lines(&mut Lines::of_text(&text), &Origin::Person)
                }
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

    /// Runs all that a text has; false if nothing is to follow.
    pub(crate) fn run_text(&mut self, text: &str, origin: &Origin) -> bool {
        self.run_lines(&mut Lines::of_text(text), origin) != Next::Stop
    }

    /// Runs a file, or standard input for `-`; false if nothing is to follow.
    pub(crate) fn run_file(&mut self, path: &Path) -> bool {
        if path == Path::new("-") {
            return self.run_input();
        }
        let origin = Origin::Script(path.display().to_string());
        match self.console.read_file(path) {
            Ok(text) => self.run_text(&text, &origin),
            Err(failure) => self.fail(&failure, "", &Origin::Command, 1) != Next::Stop,
        }
    }

    /// Runs standard input; false if nothing is to follow.
    pub(crate) fn run_input(&mut self) -> bool {
        self.run_lines(&mut Lines::of_input(), &Origin::Script("stdin".into())) != Next::Stop
    }

    pub(super) fn run_lines(&mut self, lines: &mut Lines<'_>, origin: &Origin) -> Next {
        let mut collector = Collector::default();
        loop {
            let items = match lines.next(self.console) {
                Ok(Some(line)) => collector.line(&line, lines.number),
                Ok(None) => break,
                // It is the next line that couldn't be read.
                Err(failure) => return self.fail(&failure, "", origin, lines.number + 1),
            };
            for item in items {
                match self.item(item, origin, lines) {
                    Next::GoOn => {}
                    next => return next,
                }
            }
        }
        match collector.end() {
            Some(item) => self.item(item, origin, lines),
            None => Next::GoOn,
        }
    }

    fn item(&mut self, item: Item, origin: &Origin, lines: &mut Lines<'_>) -> Next {
        // On the command line there is no place for data: they come from standard input.
        let mut input = Lines::of_input();
        let data = match origin {
            Origin::Command => &mut input,
            Origin::Person | Origin::Script(_) => lines,
        };
        match item {
            Item::Statement { text, line, command: None } => {
                self.statement(&text, origin, line, data)
            }
            Item::Statement { text, line, command: Some(command) } => {
                self.sent(&text, &command, origin, line, data)
            }
            Item::Command { text, line } => self.command(&text, origin, line, data),
        }
    }

    // Statements.

    /// Runs a statement as the command behind it says.
    fn sent(
        &mut self,
        text: &str,
        command: &str,
        origin: &Origin,
        line: usize,
        data: &mut Lines<'_>,
    ) -> Next {
        match command::parse(command) {
            Ok(Command::Watch(every)) => {
                self.last = Some(text.to_owned());
                self.watch(every, origin, line)
            }
            Ok(Command::Again { is_expanded: true }) => self.expanded(text, origin, line, data),
            Ok(_) => self.statement(text, origin, line, data),
            Err(failure) => self.fail(&failure, command, origin, line),
        }
    }

    /// Runs a statement, and shows one value a line.
    pub(super) fn expanded(
        &mut self,
        text: &str,
        origin: &Origin,
        line: usize,
        data: &mut Lines<'_>,
    ) -> Next {
        let before = std::mem::replace(&mut self.display.expanded, Expanded::On);
        let next = self.statement(text, origin, line, data);
        self.display.expanded = before;
        next
    }

    pub(super) fn statement(
        &mut self,
        text: &str,
        origin: &Origin,
        line: usize,
        data: &mut Lines<'_>,
    ) -> Next {
        // Between two statements there was none to be cancelled.
        if *origin != Origin::Person && self.console.take_cancel() {
            return self.fail(&Failure::cancelled(), text, origin, line);
        }
        self.last = Some(text.to_owned());
        let next = match self.run(text, origin, data) {
            Ok(()) => Next::GoOn,
            Err(failure) => self.fail(&failure, text, origin, line),
        };
        match self.tell_times() {
            Err(failure) if next == Next::GoOn => self.fail(&failure, text, origin, line),
            _ => next,
        }
    }

    /// Runs a statement, and shows its answer. Its times can be told then.
    pub(super) fn run(
        &mut self,
        text: &str,
        origin: &Origin,
        data: &mut Lines<'_>,
    ) -> Result<(), Failure> {
        self.took = None;
        if changes_names(text) {
            self.names = None;
        }
        let copying = copy::copying(text);
        // A person is asked before the statement begins, and has all the time.
        let typed = match (copying, origin) {
            (Some(Copying::In), Origin::Person) => Some(copy::typed(data, self.console)?),
            _ => None,
        };
        let started = self.console.now();
        self.console.begin_statement(self.backend.watch());
        self.console.begin_answer();
        let ran = match (copying, typed) {
            (None, _) => match self.backend.run(text) {
                Ok(answer) => show(answer, &self.display, self.console),
                Err(failure) => Err(failure),
            },
            (Some(Copying::Out), _) => self.copy_out(text),
            (Some(Copying::In), Some(typed)) => self.copy_typed(text, typed),
            (Some(Copying::In), None) => self.copy_in(text, origin, data),
        };
        self.console.end_statement();
        self.took = Some(self.console.now().saturating_sub(started));
        // A person may stay in the pager for long.
        let ended = self.console.end_answer();
        ran.and(ended)
    }

    /// COPY TO STDOUT: its lines are an answer, and nothing else is one.
    fn copy_out(&mut self, text: &str) -> Result<(), Failure> {
        let console = &mut *self.console;
        self.backend.copy_out(text, &mut |lines| console.put(lines)).map(drop)
    }

    /// COPY FROM STDIN of what a person has typed.
    fn copy_typed(&mut self, text: &str, mut typed: Vec<u8>) -> Result<(), Failure> {
        let answer = self.backend.copy_in(text, &mut |into| {
            into.append(&mut typed);
            Ok(())
        })?;
        show(answer, &self.display, self.console)
    }

    /// COPY FROM STDIN of the lines that follow.
    fn copy_in(
        &mut self,
        text: &str,
        origin: &Origin,
        lines: &mut Lines<'_>,
    ) -> Result<(), Failure> {
        let mut data = Data { lines, console: &mut *self.console, are_over: false };
        let copied = self.backend.copy_in(text, &mut |into| data.give(into));
        match copied {
            Ok(answer) => show(answer, &self.display, self.console),
            Err(failure) => {
                // The rest of the data stands in the way of the script's other statements.
                if matches!(origin, Origin::Script(_)) && !failure.is_cancel() {
                    data.skip()?;
                }
                Err(failure)
            }
        }
    }

    /// Shows the times of the statement that has just ended, behind its answer or its failure.
    pub(super) fn tell_times(&mut self) -> Result<(), Failure> {
        let Some(took) = self.took.take() else { return Ok(()) };
        let mut text = String::new();
        if self.display.timing {
            text += &format!("Time: {:.3} ms\n", took.as_secs_f64() * 1e3);
        }
        if self.display.waits {
            text += &self.backend.last_profile().unwrap_or_default();
        }
        if text.is_empty() {
            return Ok(());
        }
        if self.display.is_for_people() {
            return self.say(&text);
        }
        // A program gets rows and nothing else.
        self.console.tell(&text);
        Ok(())
    }

    /// Shows a text as an answer.
    pub(super) fn say(&mut self, text: &str) -> Result<(), Failure> {
        self.console.begin_answer();
        self.console.put(text);
        self.console.end_answer()
    }

    /// Tells a failure, and says whether something follows.
    pub(super) fn fail(
        &mut self,
        failure: &Failure,
        text: &str,
        origin: &Origin,
        line: usize,
    ) -> Next {
        self.has_failed = true;
        let place = match origin {
            Origin::Script(name) => {
                let within = |position| syntax::Place::of(text, position).line - 1;
                Some(format!("{name}:{}", line + failure.position.map_or(0, within)))
            }
            Origin::Person | Origin::Command => None,
        };
        let is_person = *origin == Origin::Person;
        let limit = self.console.columns().filter(|_| is_person);
        self.console.tell(&failure::text(failure, text, place.as_deref(), limit));
        if failure.is_final {
            self.why_ended = Some(output::Failure::found());
            return Next::Stop;
        }
        match (failure.is_cancel(), is_person) {
            (true, true) => Next::Ask,
            (true, false) => {
                if !self.is_talking {
                    self.why_ended = Some(output::Failure::stopped("cancelled; nothing follows"));
                }
                Next::Stop
            }
            (false, true) => Next::GoOn,
            (false, false) if self.keeps_going => Next::GoOn,
            (false, false) => Next::Stop,
        }
    }
}

/// Shows what a statement gave, within an answer of the console.
pub(super) fn show(
    answer: Answer<'_>,
    display: &Display,
    console: &mut dyn Console,
) -> Result<(), Failure> {
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
    let first = first.to_ascii_lowercase();
    matches!(first.as_str(), "create" | "alter" | "drop" | "rollback" | "execute")
}

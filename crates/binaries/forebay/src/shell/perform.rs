//! What the shell does by a command.
//!
//! Callers: `session`.

use std::path::Path;
use std::time::Duration;

use super::backend::{Describe, Failure};
use super::command::{self, Command};
use super::copy;
use super::display::{Expanded, Format};
use super::lines::Lines;
use super::session::{Next, Origin, Session, show};

/// How deep `\i` may nest.
const INCLUDES_MAX: usize = 16;
/// What `\g` and others say where there is nothing that they could run.
const NONE_YET: &str = "there is no statement yet that could be run again";

impl Session<'_> {
    /// Says to a person who is there, and how to go on.
    pub(crate) fn greet(&mut self) {
        if self.console.columns().is_none() || !self.display.is_for_people() {
            return;
        }
        let version = env!("CARGO_PKG_VERSION");
        let hello =
            format!("Forebay {version}; \\? lists the commands of the shell, \\q leaves it.\n");
        // Who can't be greeted will be told of the first answer that isn't written.
        let _ = self.say(&hello);
    }

    pub(super) fn command(
        &mut self,
        text: &str,
        origin: &Origin,
        line: usize,
        data: &mut Lines<'_>,
    ) -> Next {
        let command = match command::parse(text) {
            Ok(command) => command,
            Err(failure) => return self.fail(&failure, text, origin, line),
        };
        let done = match command {
            Command::Quit => return Next::Stop,
            Command::Include(file) => return self.include(&file, origin, line),
            Command::Copy(rest) => return self.copy(&rest, origin, line, data),
            Command::Watch(every) => return self.watch(every, origin, line),
            Command::Edit => return self.edit(origin, line),
            Command::Again { is_expanded } => {
                return self.again(is_expanded, origin, line, data);
            }
            Command::Help => self.say(&command::help()),
            Command::Echo(text) => self.say(&(text + "\n")),
            Command::Describe(what) => self.describe(&what),
            Command::Output(to) => self.console.set_output(to.as_deref()),
            switch => self.switch(&switch),
        };
        match done {
            Ok(()) => Next::GoOn,
            Err(failure) => self.fail(&failure, text, origin, line),
        }
    }

    /// Changes how answers are shown.
    fn switch(&mut self, command: &Command) -> Result<(), Failure> {
        match command {
            Command::Timing(on) => {
                self.display.timing = on.unwrap_or(!self.display.timing);
                self.tell_switch("timing", self.display.timing)
            }
            Command::Waits(on) => {
                self.display.waits = on.unwrap_or(!self.display.waits);
                self.tell_switch("waits", self.display.waits)
            }
            Command::RowsOnly(on) => {
                self.display.no_header = on.unwrap_or(!self.display.no_header);
                match self.display.no_header {
                    true => Ok(()),
                    false => self.say_to_people("names of columns are shown\n"),
                }
            }
            Command::Pager(on) => {
                let is_on = self.console.set_pager(*on);
                self.tell_switch("the pager", is_on)
            }
            Command::Format(chosen) => {
                self.display.format = chosen.unwrap_or(self.display.format);
                self.tell_format()
            }
            Command::Expanded(chosen) => {
                self.display.expanded = chosen.unwrap_or(match self.display.expanded {
                    Expanded::On => Expanded::Auto,
                    Expanded::Off | Expanded::Auto => Expanded::On,
                });
                self.tell_expanded()
            }
            other => unreachable!("{other:?} changes nothing that is shown"),
        }
    }

    fn tell_switch(&mut self, what: &str, is_on: bool) -> Result<(), Failure> {
        let is = if is_on { "on" } else { "off" };
        self.say_to_people(&format!("{what} is {is}\n"))
    }

    fn tell_format(&mut self) -> Result<(), Failure> {
        match self.display.format {
            Format::Aligned => self.say_to_people("columns stand under one another\n"),
            // Programs get rows and nothing else.
            Format::Csv | Format::Json | Format::Markdown | Format::Unaligned => Ok(()),
        }
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
        let mut name = file.to_owned();
        let mut read = self.console.read_file(Path::new(file));
        // As in SQL*Plus, the end of the name may be left out.
        if read.is_err() && Path::new(file).extension().is_none() {
            let whole = format!("{file}.sql");
            if let Ok(text) = self.console.read_file(Path::new(&whole)) {
                (name, read) = (whole, Ok(text));
            }
        }
        let text = match read {
            Ok(text) => text,
            Err(failure) => return self.fail(&failure, "", origin, line),
        };
        self.includes += 1;
        let goes_on = self.run_text(&text, &Origin::Script(name));
        self.includes -= 1;
        // A person's file stops at its first failure, and the person goes on.
        match goes_on || (*origin == Origin::Person && self.why_ended.is_none()) {
            true => Next::GoOn,
            false => Next::Stop,
        }
    }

    /// `\copy`: COPY, with the path seen from the shell's directory.
    fn copy(&mut self, rest: &str, origin: &Origin, line: usize, data: &mut Lines<'_>) -> Next {
        match copy::statement(rest, |path| self.console.absolute(path)) {
            Ok(statement) => self.statement(&statement, origin, line, data),
            Err(failure) => self.fail(&failure, "", origin, line),
        }
    }

    /// `\g`, `\gx`: the last statement once more.
    fn again(
        &mut self,
        is_expanded: bool,
        origin: &Origin,
        line: usize,
        data: &mut Lines<'_>,
    ) -> Next {
        let Some(last) = self.last.clone() else {
            return self.fail(&Failure::of_shell(NONE_YET), "", origin, line);
        };
        match is_expanded {
            true => self.expanded(&last, origin, line, data),
            false => self.statement(&last, origin, line, data),
        }
    }

    /// `\e`: the last statement, as a person changes it.
    fn edit(&mut self, origin: &Origin, line: usize) -> Next {
        let before = self.last.as_ref().map_or_else(String::new, |last| format!("{last};\n"));
        let text = match self.console.edit(&before) {
            Ok(text) => text,
            Err(failure) => return self.fail(&failure, "", origin, line),
        };
        if text == before || text.trim().is_empty() {
            return Next::GoOn;
        }
        match self.say_to_people(&format!("{}\n", text.trim_end())) {
            Ok(()) => self.run_lines(&mut Lines::of_text(&text), origin),
            Err(failure) => self.fail(&failure, "", origin, line),
        }
    }

    /// `\watch`: the last statement again and again, until somebody wants no more.
    pub(super) fn watch(&mut self, every: Duration, origin: &Origin, line: usize) -> Next {
        let Some(last) = self.last.clone() else {
            return self.fail(&Failure::of_shell(NONE_YET), "", origin, line);
        };
        let ended = loop {
            match self.watched(&last, every, origin) {
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
        match ended {
            Ok(()) => Next::GoOn,
            Err(failure) => self.fail(&failure, &last, origin, line),
        }
    }

    /// One run of a statement that is watched, below the time.
    fn watched(&mut self, text: &str, every: Duration, origin: &Origin) -> Result<(), Failure> {
        let (now, every) = (self.console.clock(), every.as_secs_f64());
        self.say_to_people(&format!("{now}, every {every} s\n"))?;
        self.run(text, origin, &mut Lines::of_text("\\."))?;
        self.tell_times()
    }
}

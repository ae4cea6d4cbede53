//! The real console: a line editor with its history, a pager, files.
//!
//! ```text
//!   ask ─▶ rustyline: editing, history, completion; Enter ends a text of whole statements
//!   put ─▶ \o file, program │ standard output, or a pager once an answer is longer than the
//!          terminal
//! ```
//!
//! Waiting for a person is an idle wait of the shell's session, and so is writing to whoever reads
//! its answers.
//!
//! Callers: `shell`.

use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use database::Timestamp;
use os::linux::terminal::{
    self, InputLine, Pager, StandardInput, TextFile, input_is_terminal, variable, wait_for_person,
};
use os::{FileOperation, Session, Waiting};
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Behavior, CompletionType, Config, Context, Editor};
use waits::{Nanos, WaitEvent};

use super::backend::{Failure, Names, Watch};
use super::collect::is_whole;
use super::complete::{Offered, offered};
use super::console::{Console, Typed};
use super::watcher::Watcher;
use crate::output::{print_to_reader, write_error};

/// The columns of a terminal that doesn't tell.
const COLUMNS: usize = 80;
/// The lines of a terminal that doesn't tell.
const LINES: usize = 24;
/// How much text is written at once.
const WRITTEN_AT_ONCE: usize = 64 << 10;
/// The file of the history, in the home directory.
const HISTORY: &str = ".forebay_history";
/// How many texts the history keeps.
const HISTORY_MAX: usize = 10_000;
/// What stands before a line of data that a person types.
const DATA_PROMPT: &str = ">> ";
/// How often a pause looks for Ctrl-C.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A terminal, or what stands in its place.
pub(crate) struct Terminal<'s> {
    session: &'s Session,
    watcher: Option<Watcher>,
    editor: Option<Editor<Helper, DefaultHistory>>,
    history: Option<PathBuf>,
    input: Option<StandardInput>,
    /// Whether a person looks at standard output.
    is_looked_at: bool,
    pager_command: Option<OsString>,
    /// Whether long answers are shown page by page, if there is a pager.
    pages: bool,
    output: Option<Output>,
    answer: Answering,
    columns: usize,
    lines: usize,
}

/// Where answers go that don't go to standard output.
enum Output {
    File(TextFile),
    Program(Pager),
}

/// What of an answer isn't written yet, and who takes it.
#[derive(Default)]
struct Answering {
    text: String,
    /// How many lines the answer has.
    lines: usize,
    pager: Option<Pager>,
    /// Its reader wants no more.
    is_left: bool,
    wrong: Option<Failure>,
}

impl<'s> Terminal<'s> {
    /// The terminal, and Ctrl-C as a request to cancel. Waiting for a person is this session's.
    pub(crate) fn start(session: &'s Session) -> Terminal<'s> {
        os::linux::listen_for_cancel();
        let is_looked_at = std::io::stdout().is_terminal();
        let editor = match is_looked_at || input_is_terminal() {
            true => editor(),
            false => None,
        };
        let mut terminal = Terminal {
            watcher: Watcher::start(session, std::io::stderr().is_terminal()).ok(),
            session,
            editor,
            history: variable("HOME").map(|home| PathBuf::from(home).join(HISTORY)),
            input: None,
            is_looked_at,
            pager_command: terminal::pager(),
            pages: true,
            output: None,
            answer: Answering::default(),
            columns: COLUMNS,
            lines: LINES,
        };
        if let (Some(editor), Some(path)) = (&mut terminal.editor, &terminal.history) {
            // The first shell of a user finds none.
            let _ = editor.load_history(path);
        }
        terminal.look_at_size();
        terminal
    }

    pub(crate) fn end(mut self) {
        self.end_output();
        if let Some(watcher) = self.watcher {
            watcher.end(self.session);
        }
    }

    fn look_at_size(&mut self) {
        let size = self.editor.as_mut().and_then(Editor::dimensions);
        let size = size.filter(|(columns, lines)| *columns > 0 && *lines > 0);
        if let Some((columns, lines)) = size {
            (self.columns, self.lines) = (columns.into(), lines.into());
        }
    }

    /// Whether what a person types next is a line of data.
    fn set_data(&mut self, is_of_data: bool) {
        if let Some(helper) = self.editor.as_mut().and_then(Editor::helper_mut) {
            helper.is_of_data = is_of_data;
        }
    }

    /// Keeps a text for the next shell too.
    fn remember(&mut self, text: &str) {
        let Some(editor) = &mut self.editor else { return };
        // A history that can't be kept is no reason not to work.
        let is_new = editor.add_history_entry(text.trim_end()).unwrap_or(false);
        if let Some(path) = self.history.as_ref().filter(|_| is_new) {
            let _ = editor.append_history(path);
        }
    }

    /// The wait for a person, or for whoever reads answers.
    fn client(&self) -> Waiting<'s> {
        self.session.waiting(WaitEvent::SqlNetMessageFromClient)
    }

    /// Ends what answers went to.
    fn end_output(&mut self) {
        if let Some(Output::Program(program)) = self.output.take() {
            program.end(self.client());
        }
    }

    /// Reads what a person types behind this prompt.
    fn read(&mut self, prompt: &str) -> Result<Typed, Failure> {
        let waiting = self.client();
        let Some(editor) = &mut self.editor else {
            return Err(Failure::of_shell(
                "this terminal can't be used; give statements by -c or -f",
            ));
        };
        let read = wait_for_person(waiting, || editor.readline(prompt));
        self.look_at_size();
        // What was pressed until now was meant for something before.
        self.take_cancel();
        match read {
            Ok(text) => Ok(Typed::Text(text)),
            Err(ReadlineError::Interrupted | ReadlineError::Signal(_)) => Ok(Typed::Nothing),
            Err(ReadlineError::Eof) => Ok(Typed::End),
            Err(error) => Err(Failure::of_shell(format!("can't read from the terminal: {error}"))),
        }
    }

    /// Writes what has been put, if it is much, or `all` of it.
    fn write(&mut self, all: bool) {
        let pages = self.pages && self.is_looked_at && self.output.is_none();
        if pages && self.answer.pager.is_none() && self.answer.lines >= self.lines {
            self.answer.pager = self.pager_command.as_ref().and_then(|it| Pager::start(it).ok());
            if self.answer.pager.is_none() {
                self.pager_command = None;
            }
        }
        // Whether a pager is needed is known when the answer is longer than the terminal.
        let may_page = pages && self.pager_command.is_some() && self.answer.pager.is_none();
        let is_due = self.answer.text.len() >= WRITTEN_AT_ONCE || self.answer.pager.is_some();
        if !(all || is_due && !may_page) || self.answer.text.is_empty() {
            return;
        }
        let text = std::mem::take(&mut self.answer.text);
        let waiting = self.client();
        let written = match (&mut self.answer.pager, &mut self.output) {
            (Some(pager), _) => Ok(pager.write(&text, waiting)),
            (None, Some(Output::Program(program))) => Ok(program.write(&text, waiting)),
            (None, Some(Output::File(file))) => {
                file.append(&text, FileOperation::Fill.waiting(self.session)).map(|()| true)
            }
            (None, None) => wait_for_person(waiting, || print_to_reader(&text)),
        };
        self.answer.is_left = !matches!(written, Ok(true));
        self.answer.wrong = written.err().map(Failure::of_shell);
    }
}

/// An editor, where the terminal has what it needs.
fn editor() -> Option<Editor<Helper, DefaultHistory>> {
    let config = Config::builder().completion_type(CompletionType::List);
    // A line that begins with a blank isn't kept, as in other shells; nor are its secrets.
    let config = config.history_ignore_space(true).max_history_size(HISTORY_MAX).ok()?;
    // Prompts don't go where answers are sent.
    let config = config.behavior(Behavior::PreferTerm).build();
    let mut editor = Editor::with_config(config).ok()?;
    editor.set_helper(Some(Helper::default()));
    Some(editor)
}

impl Console for Terminal<'_> {
    fn ask(&mut self, prompt: &str, names: &Names) -> Result<Typed, Failure> {
        if let Some(helper) = self.editor.as_mut().and_then(Editor::helper_mut)
            && helper.names != *names
        {
            helper.names = names.clone();
        }
        let typed = self.read(prompt)?;
        match &typed {
            Typed::Text(text) if text.trim().is_empty() => return Ok(Typed::Nothing),
            Typed::Text(text) => self.remember(text),
            Typed::Nothing | Typed::End => {}
        }
        Ok(typed)
    }

    fn ask_data(&mut self) -> Result<Typed, Failure> {
        self.set_data(true);
        let typed = self.read(DATA_PROMPT);
        self.set_data(false);
        typed
    }

    fn edit(&mut self, text: &str) -> Result<String, Failure> {
        let edited = terminal::edit(text, self.client()).map_err(Failure::of_shell)?;
        self.remember(&edited);
        self.take_cancel();
        Ok(edited)
    }

    fn input_line(&mut self) -> Result<Option<String>, Failure> {
        let waiting = self.client();
        let input = match &mut self.input {
            Some(input) => input,
            none => none.insert(StandardInput::new().map_err(Failure::of_shell)?),
        };
        // Between statements nobody but this takes Ctrl-C, and within one the watcher does.
        let (watcher, session) = (self.watcher.as_ref(), self.session);
        let is_wanted = || {
            let was_pressed = watcher.is_some_and(|watcher| watcher.is_pressed(session));
            !was_pressed && !os::linux::cancel_is_asked()
        };
        match input.read_line(&is_wanted, waiting) {
            Ok(InputLine::Line(line)) => Ok(Some(line)),
            Ok(InputLine::End) => Ok(None),
            Ok(InputLine::Unwanted) => {
                self.take_cancel();
                Err(Failure::cancelled())
            }
            Err(error) => Err(Failure::of_shell(error)),
        }
    }

    fn columns(&self) -> Option<usize> {
        (self.is_looked_at && self.output.is_none()).then_some(self.columns)
    }

    fn begin_answer(&mut self) {
        self.answer = Answering::default();
    }

    fn put(&mut self, text: &str) -> bool {
        // What comes from here on isn't to be mixed with a line of progress.
        if let Some(watcher) = self.watcher.as_ref().filter(|_| self.answer.lines == 0) {
            watcher.be_quiet(self.session);
        }
        if !self.answer.is_left {
            self.answer.lines += text.matches('\n').count();
            self.answer.text.push_str(text);
            self.write(false);
        }
        !self.answer.is_left
    }

    fn end_answer(&mut self) -> Result<(), Failure> {
        if !self.answer.is_left {
            self.write(true);
        }
        let answer = std::mem::take(&mut self.answer);
        if let Some(pager) = answer.pager {
            pager.end(self.client());
        }
        answer.wrong.map_or(Ok(()), Err)
    }

    fn set_output(&mut self, to: Option<&str>) -> Result<(), Failure> {
        self.end_output();
        let made = match to.map(|to| (to, to.strip_prefix('|'))) {
            None => return Ok(()),
            Some((_, Some(program))) => {
                Pager::start(OsStr::new(program.trim())).map(Output::Program)
            }
            Some((path, None)) => {
                let waiting = FileOperation::Create.waiting(self.session);
                TextFile::create(Path::new(path), waiting).map(Output::File)
            }
        };
        self.output = Some(made.map_err(Failure::of_shell)?);
        Ok(())
    }

    fn set_pager(&mut self, on: Option<bool>) -> bool {
        self.pages = on.unwrap_or(!self.pages);
        self.pages
    }

    fn tell(&mut self, text: &str) {
        if let Some(watcher) = &self.watcher {
            watcher.be_quiet(self.session);
        }
        // It has the width of this terminal already.
        write_error(&format!("{}\n", text.trim_end_matches('\n')));
    }

    fn read_file(&mut self, path: &Path) -> Result<String, Failure> {
        let waiting = FileOperation::Read.waiting(self.session);
        terminal::read_text(path, waiting).map_err(Failure::of_shell)
    }

    fn absolute(&self, path: &str) -> Result<PathBuf, Failure> {
        os::linux::absolute(Path::new(path)).map_err(Failure::of_shell)
    }

    fn now(&self) -> Duration {
        Duration::from_nanos(self.session.now().as_nanos())
    }

    fn clock(&self) -> String {
        let seconds = self.session.wall_clock() / 1_000_000;
        let now = Timestamp::from_us(seconds * 1_000_000);
        now.map_or_else(String::new, |now| format!("{now} UTC"))
    }

    fn pause(&mut self, length: Duration) -> bool {
        let mut left = length;
        while !left.is_zero() {
            let piece = left.min(LOOK_EVERY);
            let nanos = Nanos::from_micros(piece.as_micros() as u64);
            self.session.pause(nanos, self.session.waiting(WaitEvent::PlSqlLockTimer));
            if os::linux::take_cancel() {
                return false;
            }
            left = left.saturating_sub(piece);
        }
        !os::linux::take_cancel()
    }

    fn take_cancel(&mut self) -> bool {
        let watcher = self.watcher.as_ref();
        let was_pressed = watcher.is_some_and(|watcher| watcher.take_pressed(self.session));
        os::linux::take_cancel() || was_pressed
    }

    fn begin_statement(&mut self, watch: Arc<dyn Watch>) {
        if let Some(watcher) = &self.watcher {
            watcher.begin(watch, self.session);
        }
    }

    fn end_statement(&mut self) {
        if let Some(watcher) = &self.watcher {
            watcher.end_statement(self.session);
        }
    }
}

/// What the editor asks while a person types.
#[derive(Default)]
struct Helper {
    names: Names,
    /// Whether data are typed, and no statement: each line is whole.
    is_of_data: bool,
}

impl rustyline::Helper for Helper {}
impl Highlighter for Helper {}

impl Hinter for Helper {
    type Hint = String;
}

impl Completer for Helper {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        pos: usize,
        _context: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        if self.is_of_data {
            return Ok((pos, Vec::new()));
        }
        let Offered { start, words } = offered(line, pos, &self.names);
        Ok((start, words))
    }
}

impl Validator for Helper {
    /// Enter ends a text that is whole, and begins another line in one that isn't.
    fn validate(&self, context: &mut ValidationContext) -> rustyline::Result<ValidationResult> {
        let text = context.input();
        Ok(match self.is_of_data || is_whole(text) {
            true => ValidationResult::Valid(None),
            false => ValidationResult::Incomplete,
        })
    }
}

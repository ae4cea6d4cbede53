//! The real console: a line editor with its history, a pager, files.
//!
//! ```text
//!   ask ─▶ rustyline: editing, history, completion; Enter ends a text of whole statements
//!   put ─▶ \o file │ standard output, or $PAGER once an answer is longer than the terminal
//! ```
//!
//! Waiting for a person is an idle wait of the shell's session.
//!
//! Callers: `shell`.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use os::linux::terminal::{Pager, StandardInput, input_is_terminal, variable, wait_for_person};
use os::{Disk, File, FileOperation, FileOptions, Session};
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{CompletionType, Config, Context, Editor};
use waits::{Nanos, WaitEvent};

use super::backend::{Failure, Names, Watch};
use super::complete::{Offered, offered};
use super::console::{Console, Typed};
use super::is_command;
use super::watcher::Watcher;
use crate::output::{print_to_reader, tell};

const OPTIONS: FileOptions = FileOptions { direct: false, write_through: false };
/// The columns of a terminal that doesn't tell.
const COLUMNS: usize = 80;
/// The lines of a terminal that doesn't tell.
const LINES: usize = 24;
/// How much text is written at once.
const WRITTEN_AT_ONCE: usize = 64 << 10;
/// The most bytes of a file of statements.
const FILE_BYTES_MAX: u64 = 1 << 30;
/// The file of the history, in the home directory.
const HISTORY: &str = ".forebay_history";
/// How often a pause looks for Ctrl-C.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A terminal, or what stands in its place.
pub(crate) struct Terminal<'s> {
    session: &'s Session,
    disk: Disk,
    watcher: Option<Watcher>,
    editor: Option<Editor<Helper, DefaultHistory>>,
    history: Option<PathBuf>,
    input: Option<StandardInput>,
    /// Whether a person looks at standard output.
    is_looked_at: bool,
    pager_command: Option<OsString>,
    output: Option<OutputFile>,
    answer: Answering,
    columns: usize,
    lines: usize,
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
            watcher: Watcher::start(session, is_looked_at).ok(),
            session,
            disk: os::linux::disk(),
            editor,
            history: variable("HOME").map(|home| PathBuf::from(home).join(HISTORY)),
            input: None,
            is_looked_at,
            pager_command: variable("PAGER"),
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

    pub(crate) fn end(self) {
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

    /// Keeps a text for the next shell too.
    fn remember(&mut self, text: &str) {
        let Some(editor) = &mut self.editor else { return };
        // A history that can't be kept is no reason not to work.
        let is_new = editor.add_history_entry(text.trim_end()).unwrap_or(false);
        if let Some(path) = self.history.as_ref().filter(|_| is_new) {
            let _ = editor.append_history(path);
        }
    }

    /// Writes what has been put, if it is much, or `all` of it.
    fn write(&mut self, all: bool) {
        let pages = self.is_looked_at && self.output.is_none();
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
        let waiting = self.session.waiting(WaitEvent::PlSqlLockTimer);
        if let Some(pager) = &mut self.answer.pager {
            self.answer.is_left = !pager.write(&text, waiting);
            return;
        }
        let written = match &mut self.output {
            Some(file) => file.append(&text, self.session).map(|()| true),
            None => print_to_reader(&text),
        };
        self.answer.is_left = !matches!(written, Ok(true));
        self.answer.wrong = written.err().map(Failure::of_shell);
    }
}

/// An editor, where the terminal has what it needs.
fn editor() -> Option<Editor<Helper, DefaultHistory>> {
    let config = Config::builder().completion_type(CompletionType::List).build();
    let mut editor = Editor::with_config(config).ok()?;
    editor.set_helper(Some(Helper::default()));
    Some(editor)
}

impl Console for Terminal<'_> {
    fn ask(&mut self, prompt: &str, names: &Names) -> Result<Typed, Failure> {
        let Some(editor) = &mut self.editor else {
            return Err(Failure::of_shell(
                "this terminal can't be used; give statements by -c or -f",
            ));
        };
        if let Some(helper) = editor.helper_mut().filter(|helper| helper.names != *names) {
            helper.names = names.clone();
        }
        let waiting = self.session.waiting(WaitEvent::PlSqlLockTimer);
        let read = wait_for_person(waiting, || editor.readline(prompt));
        self.look_at_size();
        // What was pressed until now was meant for something before.
        self.take_cancel();
        match read {
            Ok(text) if text.trim().is_empty() => Ok(Typed::Nothing),
            Ok(text) => {
                self.remember(&text);
                Ok(Typed::Text(text))
            }
            Err(ReadlineError::Interrupted | ReadlineError::Signal(_)) => Ok(Typed::Nothing),
            Err(ReadlineError::Eof) => Ok(Typed::End),
            Err(error) => Err(Failure::of_shell(format!("can't read from the terminal: {error}"))),
        }
    }

    fn input_line(&mut self) -> Result<Option<String>, Failure> {
        let input = self.input.get_or_insert_with(StandardInput::new);
        let waiting = self.session.waiting(WaitEvent::PlSqlLockTimer);
        input.read_line(waiting).map_err(Failure::of_shell)
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
            pager.end(self.session.waiting(WaitEvent::PlSqlLockTimer));
        }
        answer.wrong.map_or(Ok(()), Err)
    }

    fn set_output(&mut self, path: Option<&Path>) -> Result<(), Failure> {
        self.output = None;
        if let Some(path) = path {
            let made = OutputFile::make(path, &self.disk, self.session);
            self.output = Some(made.map_err(Failure::of_shell)?);
        }
        Ok(())
    }

    fn tell(&mut self, text: &str) {
        if let Some(watcher) = &self.watcher {
            watcher.be_quiet(self.session);
        }
        tell(text.trim_end_matches('\n'));
    }

    fn read_file(&mut self, path: &Path) -> Result<String, Failure> {
        let read = read_file(path, &self.disk, self.session).map_err(Failure::of_shell)?;
        String::from_utf8(read)
            .map_err(|_| Failure::of_shell(format!("{} is no text in UTF-8", path.display())))
    }

    fn absolute(&self, path: &str) -> Result<PathBuf, Failure> {
        os::linux::absolute(Path::new(path)).map_err(Failure::of_shell)
    }

    fn now(&self) -> Duration {
        Duration::from_nanos(self.session.now().as_nanos())
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

fn read_file(path: &Path, disk: &Disk, session: &Session) -> Result<Vec<u8>, os::Error> {
    let file = disk.open_read_only(path, OPTIONS, session)?;
    let length = file.length()?;
    if length > FILE_BYTES_MAX {
        let what = format!("read {}", path.display());
        return Err(os::Error::new(what, os::Cause::Invalid, "it is larger than 1 GiB"));
    }
    let mut bytes = vec![0; length as usize];
    file.read_at(0, &mut bytes, FileOperation::Read.waiting(session))?;
    Ok(bytes)
}

/// The file of `\o`.
struct OutputFile {
    file: File,
    length: u64,
}

impl OutputFile {
    /// A new file, or one that was there and is emptied.
    fn make(path: &Path, disk: &Disk, session: &Session) -> Result<OutputFile, os::Error> {
        let file = match disk.has_name(path, session)? {
            true => disk.open(path, OPTIONS, session)?,
            false => disk.create(path, 0, OPTIONS, session)?,
        };
        file.set_len(0, FileOperation::Resize.waiting(session))?;
        Ok(OutputFile { file, length: 0 })
    }

    fn append(&mut self, text: &str, session: &Session) -> Result<(), os::Error> {
        let waiting = FileOperation::Fill.waiting(session);
        self.file.write_at(self.length, text.as_bytes(), waiting)?;
        self.length += text.len() as u64;
        Ok(())
    }
}

/// What the editor asks while a person types.
#[derive(Default)]
struct Helper {
    names: Names,
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
        let Offered { start, words } = offered(line, pos, &self.names);
        Ok((start, words))
    }
}

impl Validator for Helper {
    /// Enter ends a text that is whole, and begins another line in one that isn't.
    fn validate(&self, context: &mut ValidationContext) -> rustyline::Result<ValidationResult> {
        let text = context.input();
        let is_whole = is_command(text) || syntax::is_complete(text);
        Ok(match is_whole {
            true => ValidationResult::Valid(None),
            false => ValidationResult::Incomplete,
        })
    }
}

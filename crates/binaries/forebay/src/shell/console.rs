//! What the shell asks of the world: lines, a place for text, files, the time.
//!
//! Callers: the shell, over `terminal`; its tests over one in memory.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::backend::{Failure, Names, Watch};

/// What a person has typed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Typed {
    /// A text of whole statements, or a command.
    Text(String),
    /// Ctrl-C: nothing, after all.
    Nothing,
    /// Ctrl-D: no more.
    End,
}

/// The world around a shell.
pub(crate) trait Console {
    /// Asks a person for statements.
    fn ask(&mut self, prompt: &str, names: &Names) -> Result<Typed, Failure>;

    /// Asks a person for a line of data; its end is left out.
    fn ask_data(&mut self) -> Result<Typed, Failure>;

    /// Has a person change a text in their editor.
    fn edit(&mut self, text: &str) -> Result<String, Failure>;

    /// The next line of standard input, with its end; none behind the last one.
    ///
    /// # Errors
    /// It can't be read, or somebody has pressed Ctrl-C: then the failure is a cancel.
    fn input_line(&mut self) -> Result<Option<String>, Failure>;

    /// How many columns a line of an answer may have; none if nobody looks at it.
    fn columns(&self) -> Option<usize>;

    /// Begins an answer. A long one is shown page by page, if a person looks at it.
    fn begin_answer(&mut self);

    /// A part of an answer; false if its reader wants no more of it.
    fn put(&mut self, text: &str) -> bool;

    /// Ends an answer.
    ///
    /// # Errors
    /// It couldn't be written.
    fn end_answer(&mut self) -> Result<(), Failure>;

    /// Writes answers into this file from now on, or gives them to this program if a bar stands
    /// before its name; none: to standard output.
    fn set_output(&mut self, to: Option<&str>) -> Result<(), Failure>;

    /// Shows long answers page by page, or doesn't; none: the other way than until now. Whether
    /// they are from now on.
    fn set_pager(&mut self, on: Option<bool>) -> bool;

    /// Tells a failure or a notice, beside answers.
    fn tell(&mut self, text: &str);

    /// The text of a file.
    fn read_file(&mut self, path: &Path) -> Result<String, Failure>;

    /// A path from the root on.
    fn absolute(&self, path: &str) -> Result<PathBuf, Failure>;

    /// The time since some moment.
    fn now(&self) -> Duration;

    /// The time of day, as a person reads it.
    fn clock(&self) -> String;

    /// Waits; false if somebody has pressed Ctrl-C meanwhile.
    fn pause(&mut self, length: Duration) -> bool;

    /// Whether somebody has pressed Ctrl-C since a person was asked last, or since this was.
    fn take_cancel(&mut self) -> bool;

    /// A statement begins: Ctrl-C cancels it, and its progress is shown if it takes long.
    fn begin_statement(&mut self, watch: Arc<dyn Watch>);

    /// The statement has ended.
    fn end_statement(&mut self);
}

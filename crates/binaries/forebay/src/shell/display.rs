//! How answers are shown: what `--format`, `\x`, `\timing` and `\waits` choose.
//!
//! Callers: `shell`, `render`, `command`.

use clap::ValueEnum;

/// The form of rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum Format {
    /// Columns under one another, for people.
    #[default]
    Aligned,
    /// Comma-separated values (RFC 4180).
    Csv,
    /// An array of objects.
    Json,
    /// A table of Markdown.
    Markdown,
    /// Values with `|` between them.
    Unaligned,
}

/// Whether each value has a line of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Expanded {
    /// No.
    Off,
    /// Yes.
    On,
    /// If the columns don't fit beside one another.
    #[default]
    Auto,
}

/// What is shown, and how.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Display {
    /// The form of rows.
    pub(crate) format: Format,
    /// Whether each value has a line of its own, in the aligned form.
    pub(crate) expanded: Expanded,
    /// Whether names of columns and numbers of rows are left out.
    pub(crate) no_header: bool,
    /// Whether the time of each statement is shown.
    pub(crate) timing: bool,
    /// Whether the profile of each statement is shown.
    pub(crate) waits: bool,
}

impl Display {
    /// Whether a person reads it, and not a program.
    pub(crate) fn is_for_people(&self) -> bool {
        self.format == Format::Aligned && !self.no_header
    }
}

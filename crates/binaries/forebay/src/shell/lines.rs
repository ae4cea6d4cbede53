//! Lines as they come: of a text, or of standard input.
//!
//! Callers: `session` makes statements of them; `copy` reads data.

use std::str::SplitInclusive;

use super::backend::Failure;
use super::console::Console;

/// Lines, and how many have come.
pub(super) struct Lines<'t> {
    from: Source<'t>,
    /// The number of the last one that has come, from 1.
    pub(super) number: usize,
}

/// Where lines come from.
enum Source<'t> {
    Text(SplitInclusive<'t, char>),
    Input,
}

impl<'t> Lines<'t> {
    /// Those of a text.
    pub(super) fn of_text(text: &'t str) -> Lines<'t> {
        Lines { from: Source::Text(text.split_inclusive('\n')), number: 0 }
    }

    /// Those of standard input.
    pub(super) fn of_input() -> Lines<'t> {
        Lines { from: Source::Input, number: 0 }
    }

    /// The next line, with its end if it has one; none behind the last.
    pub(super) fn next(&mut self, console: &mut dyn Console) -> Result<Option<String>, Failure> {
        let line = match &mut self.from {
            Source::Text(lines) => lines.next().map(str::to_owned),
            Source::Input => console.input_line()?,
        };
        self.number += usize::from(line.is_some());
        Ok(line)
    }
}

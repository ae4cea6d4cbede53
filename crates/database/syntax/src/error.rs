//! The refusal of a text: what is wrong, where, and what to do.
//!
//! Invariants
//!   * a message is one line; texts of users in it are cut to `SHOWN_MAX` characters
//!   * the position is a byte of the text that was given, or its length for the end of the text
//!
//! Callers: all of this crate; `sql`, the shell and the server for the place under the text.

use std::fmt;

use stop::{Refusal, RefusalKind, SqlState, Stop};

/// SQLSTATE of a text that isn't SQL.
pub const SYNTAX_ERROR: &str = "42601";
/// SQLSTATE of SQL that Forebay doesn't do.
pub const NOT_SUPPORTED: &str = "0A000";
/// SQLSTATE of a text that is too long, or nested too deeply.
pub const TOO_COMPLEX: &str = "54001";
/// SQLSTATE of a value that a parameter or a type doesn't take.
pub const INVALID_PARAMETER: &str = "22023";
/// SQLSTATE of an escape in a text literal that stands for no character.
pub const INVALID_ESCAPE: &str = "22025";
/// SQLSTATE of a bind that doesn't exist, or stands where none can.
pub const UNDEFINED_PARAMETER: &str = "42P02";

/// The most characters of a user's text in a message.
const SHOWN_MAX: usize = 40;

/// Why a text isn't a statement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SyntaxError {
    sqlstate: &'static str,
    message: String,
    hint: Option<String>,
    position: Option<usize>,
    character: Option<u32>,
}

impl SyntaxError {
    /// An error with this SQLSTATE and message.
    pub(crate) fn new(sqlstate: &'static str, message: impl Into<String>) -> SyntaxError {
        SyntaxError {
            sqlstate,
            message: message.into(),
            hint: None,
            position: None,
            character: None,
        }
    }

    /// The text isn't SQL at this byte; `more` follows the place in the message.
    pub(crate) fn at(text: &str, position: usize, more: &str) -> SyntaxError {
        let message = match near(text, position) {
            Some(near) => {
                let place = Place::of(text, position);
                format!("syntax error at or near {near}, {place}{more}")
            }
            None => format!("syntax error at the end of the text{more}"),
        };
        SyntaxError::new(SYNTAX_ERROR, message).with_position(position)
    }

    /// SQL that Forebay doesn't do; `what` is the subject of "isn't supported".
    pub(crate) fn unsupported(what: &str, text: &str, position: usize) -> SyntaxError {
        let place = Place::of(text, position);
        let message = format!("{what} isn't supported, {place}");
        SyntaxError::new(NOT_SUPPORTED, message).with_position(position)
    }

    pub(crate) fn with_hint(self, hint: impl Into<String>) -> SyntaxError {
        SyntaxError { hint: Some(hint.into()), ..self }
    }

    pub(crate) fn with_position(self, position: usize) -> SyntaxError {
        SyntaxError { position: Some(position), ..self }
    }

    /// The same, which knows its place in characters too, of the whole text.
    pub(crate) fn counted(self, text: &str) -> SyntaxError {
        let number = |position| 1 + text[..floor(text, position)].chars().count();
        let character = self.position.map(number).and_then(|number| u32::try_from(number).ok());
        SyntaxError { character, ..self }
    }

    /// The five characters by which a client knows the kind of error.
    pub fn sqlstate(&self) -> &'static str {
        self.sqlstate
    }

    /// What is wrong, and where.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What to do, where that can be said.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// The byte of the text at which it stops being a statement.
    pub fn position(&self) -> Option<usize> {
        self.position
    }

    /// The number of the character at that byte, counted from 1, as clients want it.
    pub fn character(&self) -> Option<u32> {
        self.character
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for SyntaxError {}

impl From<SyntaxError> for Stop {
    fn from(error: SyntaxError) -> Stop {
        let state = SqlState::read(error.sqlstate).expect("all that this crate has are codes");
        let mut refusal = Refusal::new(RefusalKind::Invalid, error.message).with_state(state);
        if let Some(hint) = error.hint {
            refusal = refusal.hint(hint);
        }
        if let Some(character) = error.character {
            refusal = refusal.at(character);
        }
        refusal.into()
    }
}

/// A line and a column, both counted from 1; a column is a character.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl Place {
    /// Where this byte of the text is. A byte within a character counts as the character.
    pub fn of(text: &str, position: usize) -> Place {
        let end = floor(text, position);
        let before = &text[..end];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Place {
            line: 1 + before.bytes().filter(|byte| *byte == b'\n').count(),
            column: 1 + before[line_start..].chars().count(),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} column {}", self.line, self.column)
    }
}

/// The nearest beginning of a character at or before this byte.
fn floor(text: &str, position: usize) -> usize {
    let most = position.min(text.len());
    (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// What stands at this byte, in quotes; none at the end of the text.
fn near(text: &str, position: usize) -> Option<String> {
    let rest = &text[floor(text, position)..];
    let piece = crate::scan::Scanner::new(rest).next()?;
    Some(shown(&rest[..piece.end]))
}

/// A user's text in a message: one line in quotes, cut to `SHOWN_MAX` characters.
pub(crate) fn shown(text: &str) -> String {
    format!("\"{}\"", one_line(text, SHOWN_MAX))
}

/// A text on one line, cut to so many characters.
pub(crate) fn one_line(text: &str, most: usize) -> String {
    let cut = text.chars().take(most).map(|c| if c.is_control() { ' ' } else { c });
    let mut line: String = cut.collect();
    if text.chars().nth(most).is_some() {
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_counts_lines_and_characters() {
        let text = "select é,\n  x";
        let place = |at| Place::of(text, at);
        assert_eq!(place(0), Place { line: 1, column: 1 });
        assert_eq!(place(9), Place { line: 1, column: 9 });
        assert_eq!(place(8), Place { line: 1, column: 8 });
        assert_eq!(place(13), Place { line: 2, column: 3 });
        assert_eq!(place(99), Place { line: 2, column: 4 });
    }

    #[test]
    fn a_message_names_the_word_and_its_place() {
        let error = SyntaxError::at("select\n  fro t", 9, "; expected FROM");
        let say = "syntax error at or near \"fro\", line 2 column 3; expected FROM";
        assert_eq!((error.message(), error.position()), (say, Some(9)));
        let error = SyntaxError::at("select", 6, "");
        assert_eq!(error.message(), "syntax error at the end of the text");
    }

    #[test]
    fn a_long_text_is_cut_to_one_line() {
        let error = SyntaxError::at(&format!("'{}\n'", "x".repeat(100)), 0, "");
        assert!(error.message().chars().count() < 100, "{}", error.message());
        assert_eq!(shown("a\nb"), "\"a b\"");
    }

    #[test]
    fn an_error_becomes_a_refusal_with_its_parts() {
        let error = SyntaxError::new(SYNTAX_ERROR, "it is wrong").with_hint("do it right");
        let stop = Stop::from(error.with_position(2).counted("é x"));
        assert_eq!(stop.to_string(), "it is wrong; do it right");
        assert_eq!(stop.state().as_str(), SYNTAX_ERROR);
        let Stop::Refused(refusal) = stop else { panic!("nothing has halted") };
        assert_eq!(refusal.parts().position, Some(2));
    }
}

//! How the rows of a file are written, from what a statement says.
//!
//! | | text | CSV |
//! |---|---|---|
//! | DELIMITER | a tab | `,` |
//! | NULL | `\N` | nothing, without quotes |
//! | QUOTE, ESCAPE | refused | `"`, and the quote itself |
//!
//! Callers: all of `files`.

use stop::{SqlState, Stop};
use syntax::{Compression, FileFormat, FileOptions};

use crate::refuse::refuse;

/// How rows are written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Form {
    pub(super) delimiter: u8,
    /// What stands for NULL.
    pub(super) null: String,
    /// How many records stand before the rows.
    pub(super) header_lines: u64,
    /// Whether columns that a line hasn't are NULL.
    pub(super) missing_is_null: bool,
    /// The quotes of CSV; none in the text format.
    pub(super) quotes: Option<Quotes>,
    /// None: as the file begins.
    pub(super) compression: Option<Compression>,
}

/// What stands around values that hold a delimiter, and before a quote within them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Quotes {
    pub(super) quote: u8,
    pub(super) escape: u8,
}

impl Form {
    /// The form that a statement says.
    pub(super) fn of(options: &FileOptions) -> Result<Form, Stop> {
        let is_csv = options.format == Some(FileFormat::Csv);
        let sign = |name: &str, given: Option<char>, default: u8| match given {
            None => Ok(default),
            Some(one) => u8::try_from(one).ok().filter(u8::is_ascii).ok_or_else(|| {
                wrong(format!("{name} has to be a character of ASCII, and {one:?} isn't"))
            }),
        };
        let delimiter = sign("DELIMITER", options.delimiter, if is_csv { b',' } else { b'\t' })?;
        let quotes = match is_csv {
            true => {
                let quote = sign("QUOTE", options.quote, b'"')?;
                Some(Quotes { quote, escape: sign("ESCAPE", options.escape, quote)? })
            }
            false if options.quote.is_some() || options.escape.is_some() => {
                return Err(wrong("QUOTE and ESCAPE are of FORMAT CSV".to_string()));
            }
            false => None,
        };
        let default_null = if is_csv { "" } else { "\\N" };
        let form = Form {
            delimiter,
            null: options.null.clone().unwrap_or_else(|| default_null.to_string()),
            header_lines: options.header_lines.unwrap_or(0),
            missing_is_null: options.missing_is_null,
            quotes,
            compression: options.compression,
        };
        form.check()?;
        Ok(form)
    }

    /// Refuses signs of which one can't be told from another.
    fn check(&self) -> Result<(), Stop> {
        if let Some(Quotes { quote, .. }) = self.quotes
            && quote == self.delimiter
        {
            return Err(wrong("DELIMITER and QUOTE have to differ".to_string()));
        }
        let is_of_text = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let is_taken = self.delimiter == b'\\' || self.delimiter == b'.';
        if self.quotes.is_none() && (is_of_text(self.delimiter) || is_taken) {
            let message = "DELIMITER can't be a small letter, a digit, a dot or a backslash: the \
                           text format gives them a meaning behind a backslash; use FORMAT CSV";
            return Err(wrong(message.to_string()));
        }
        let is_in_null = |byte: u8| self.null.as_bytes().contains(&byte);
        let quote = self.quotes.map(|quotes| quotes.quote);
        if is_in_null(self.delimiter) || quote.is_some_and(is_in_null) || is_in_null(b'\n') {
            let message = "what stands for NULL can't hold a delimiter, a quote or an end of line";
            return Err(wrong(message.to_string()));
        }
        Ok(())
    }
}

#[cold]
fn wrong(message: String) -> Stop {
    refuse(SqlState::INVALID_PARAMETER_VALUE, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_format_has_its_signs() {
        let text = Form::of(&FileOptions::default()).expect("a form");
        assert_eq!((text.delimiter, text.null.as_str(), text.quotes), (b'\t', "\\N", None));
        let csv = FileOptions { format: Some(FileFormat::Csv), ..FileOptions::default() };
        let form = Form::of(&csv).expect("a form");
        let quotes = Some(Quotes { quote: b'"', escape: b'"' });
        assert_eq!((form.delimiter, form.null.as_str(), form.quotes), (b',', "", quotes));
        let form = Form::of(&FileOptions { quote: Some('\''), ..csv.clone() }).expect("a form");
        assert_eq!(form.quotes, Some(Quotes { quote: b'\'', escape: b'\'' }));
    }

    #[test]
    fn signs_that_can_not_be_told_apart_are_refused() {
        let text = FileOptions::default();
        let csv = FileOptions { format: Some(FileFormat::Csv), ..FileOptions::default() };
        for options in [
            FileOptions { delimiter: Some('n'), ..text.clone() },
            FileOptions { delimiter: Some('é'), ..text.clone() },
            FileOptions { quote: Some('"'), ..text.clone() },
            FileOptions { null: Some("a\tb".into()), ..text },
            FileOptions { delimiter: Some('"'), ..csv.clone() },
            FileOptions { null: Some("a,b".into()), ..csv },
        ] {
            let refused = Form::of(&options).expect_err("refused");
            assert_eq!(refused.state(), SqlState::INVALID_PARAMETER_VALUE, "{options:?}");
        }
    }
}

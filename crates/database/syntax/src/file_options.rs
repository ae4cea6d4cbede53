//! How the rows of a file are written: for COPY and external tables.
//!
//! Callers: `copy`, `external`.
//! Sources: PostgreSQL's documentation, "COPY".

use crate::error::{INVALID_PARAMETER, SYNTAX_ERROR, SyntaxError};
use crate::reader::Reader;

/// The form of a file's rows; what isn't written is none.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FileOptions {
    /// FORMAT.
    pub format: Option<FileFormat>,
    /// DELIMITER: what stands between columns.
    pub delimiter: Option<char>,
    /// QUOTE: what stands around values that hold a delimiter.
    pub quote: Option<char>,
    /// ESCAPE: what stands before a quote within a value.
    pub escape: Option<char>,
    /// NULL: what stands for NULL.
    pub null: Option<String>,
    /// HEADER, SKIP: how many lines stand before the rows.
    pub header_lines: Option<u64>,
    /// Whether columns that a line hasn't are NULL, and not an error.
    pub missing_is_null: bool,
    /// COMPRESSION; by default as the file begins.
    pub compression: Option<Compression>,
}

/// The form of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileFormat {
    /// Values with a delimiter between them, and escapes by a backslash.
    Text,
    /// Comma-separated values with quotes.
    Csv,
}

/// How a file is packed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compression {
    /// Not at all.
    None,
    /// By gzip.
    Gzip,
}

impl FileOptions {
    /// `(option value, ...)`, without its first bracket.
    pub(crate) fn read_list(&mut self, reader: &mut Reader<'_>) -> Result<(), SyntaxError> {
        reader.list(|reader| match self.read_one(reader)? {
            true => Ok(()),
            false => Err(reader.wrong()),
        })?;
        Ok(())
    }

    /// Reads an option; false if none comes next.
    pub(crate) fn read_one(&mut self, reader: &mut Reader<'_>) -> Result<bool, SyntaxError> {
        reader.refuse(
            "freeze, force, force_quote, force_null, force_not_null, oids, on_error, \
                       default, log_verbosity, binary",
        )?;
        let place = reader.place();
        let is_first = match () {
            () if reader.take("format") => self.format.replace(FileFormat::read(reader)?).is_none(),
            () if reader.take("csv") => self.format.replace(FileFormat::Csv).is_none(),
            () if reader.take("delimiters") || reader.take("delimiter") => {
                reader.take("as");
                self.delimiter.replace(character(reader)?).is_none()
            }
            () if reader.take("quote") => {
                reader.take("as");
                self.quote.replace(character(reader)?).is_none()
            }
            () if reader.take("escape") => {
                reader.take("as");
                self.escape.replace(character(reader)?).is_none()
            }
            () if reader.take("null") => {
                reader.take("as");
                self.null.replace(reader.string("a text in quotes")?).is_none()
            }
            () if reader.take("header") => {
                let is_on = flag(reader)?;
                self.header_lines.replace(u64::from(is_on)).is_none()
            }
            () if reader.take("skip") => {
                self.header_lines.replace(reader.whole("a number of lines")?).is_none()
            }
            () if reader.take("encoding") => {
                encoding(reader)?;
                true
            }
            () if reader.take("compression") => {
                self.compression = match () {
                    () if reader.take("gzip") => Some(Compression::Gzip),
                    () if reader.take("none") => Some(Compression::None),
                    () if reader.take("auto") => None,
                    () => return Err(reader.wrong()),
                };
                true
            }
            () => return Ok(false),
        };
        match is_first {
            true => Ok(true),
            false => {
                let say = "a file's rows have each option once";
                Err(SyntaxError::new(SYNTAX_ERROR, say).with_position(place))
            }
        }
    }
}

impl FileFormat {
    fn read(reader: &mut Reader<'_>) -> Result<FileFormat, SyntaxError> {
        reader.refuse("binary")?;
        let quoted = reader.take_string("CSV or TEXT").map(|name| name.to_lowercase());
        match quoted.as_deref() {
            Some("csv") => Ok(FileFormat::Csv),
            Some("text") => Ok(FileFormat::Text),
            Some(other) => {
                let say = format!("there is no file format {other}");
                Err(SyntaxError::new(INVALID_PARAMETER, say).with_hint("use CSV or TEXT"))
            }
            None if reader.take("csv") => Ok(FileFormat::Csv),
            None if reader.take("text") => Ok(FileFormat::Text),
            None => Err(reader.wrong()),
        }
    }
}

/// One character in quotes.
pub(crate) fn character(reader: &mut Reader<'_>) -> Result<char, SyntaxError> {
    let place = reader.place();
    let text = reader.string("a character in quotes")?;
    let mut letters = text.chars();
    match (letters.next(), letters.next()) {
        (Some(one), None) if !matches!(one, '\n' | '\r') => Ok(one),
        _ => {
            let say = "between the quotes has to be one character, and no end of a line";
            Err(SyntaxError::new(INVALID_PARAMETER, say).with_position(place))
        }
    }
}

/// ON or OFF; ON if nothing of the kind comes next.
pub(crate) fn flag(reader: &mut Reader<'_>) -> Result<bool, SyntaxError> {
    let is_off = reader.take("off") || reader.take("false") || reader.take("no");
    if is_off {
        return Ok(false);
    }
    let _ = reader.take("on") || reader.take("true") || reader.take("yes");
    match reader.sees("match") {
        true => Err(reader.unsupported("HEADER MATCH")),
        false => Ok(true),
    }
}

/// Files are UTF-8, of which ASCII is a part.
fn encoding(reader: &mut Reader<'_>) -> Result<(), SyntaxError> {
    let place = reader.place();
    let name = reader.string("the name of an encoding in quotes")?;
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    match plain.to_ascii_lowercase().as_str() {
        "utf8" | "unicode" | "ascii" | "sqlascii" | "usascii" => Ok(()),
        _ => {
            let say = format!("the encoding {} isn't supported", crate::error::shown(&name));
            let error = SyntaxError::new(crate::error::NOT_SUPPORTED, say).with_position(place);
            Err(error.with_hint("convert the file to UTF-8"))
        }
    }
}

//! COPY with the shell at its other end, and `\copy`.
//!
//! ```text
//!   copy t from stdin;          the lines that follow, up to one that is \.
//!   copy t to stdout;           an answer
//!   \copy t from a.csv csv      COPY t from '/the/shell's/directory/a.csv' csv
//! ```
//!
//! Callers: `session`.
//! Sources: PostgreSQL's psql, for where data come from.

use std::ops::Range;
use std::path::PathBuf;

use syntax::{CopyEnd, CopyWhat, Statement};

use super::backend::Failure;
use super::command::unquoted;
use super::console::{Console, Typed};
use super::lines::Lines;

/// The data that are given to the database at once.
const DATA_AT_ONCE: usize = 64 << 10;
/// What a person is told who is to type data.
const HOW: &str = "Data end with a line that has \\. alone, or with Ctrl-D.\n";

/// Which way a statement's data go that the shell has to give or to take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Copying {
    /// COPY FROM STDIN.
    In,
    /// COPY TO STDOUT.
    Out,
}

/// Which way data go; none if the statement asks the shell for nothing.
pub(super) fn copying(text: &str) -> Option<Copying> {
    let word = text.get(..4)?;
    if !word.eq_ignore_ascii_case("copy") {
        return None;
    }
    let Statement::Copy(copy) = syntax::parse(text).ok()?.statement else { return None };
    let copy = *copy;
    match (copy.end, copy.what) {
        (CopyEnd::File(_), _) => None,
        (CopyEnd::Client, CopyWhat::Into { .. }) => Some(Copying::In),
        (CopyEnd::Client, _) => Some(Copying::Out),
    }
}

/// The data of a script, which stand behind its statement.
pub(super) struct Data<'d, 't> {
    pub(super) lines: &'d mut Lines<'t>,
    pub(super) console: &'d mut dyn Console,
    /// Whether their last line was read.
    pub(super) are_over: bool,
}

impl Data<'_, '_> {
    /// Puts the next data into `into`; nothing if there are no more.
    pub(super) fn give(&mut self, into: &mut Vec<u8>) -> Result<(), Failure> {
        while !self.are_over && into.len() < DATA_AT_ONCE {
            match self.lines.next(self.console)? {
                Some(line) if !is_last(&line) => into.extend_from_slice(line.as_bytes()),
                _ => self.are_over = true,
            }
        }
        Ok(())
    }

    /// Reads what is left, which no statement is made of.
    pub(super) fn skip(&mut self) -> Result<(), Failure> {
        let mut skipped = Vec::new();
        while !self.are_over {
            skipped.clear();
            self.give(&mut skipped)?;
        }
        Ok(())
    }
}

/// The data that a person gives: lines that were typed with the statement, and then others.
pub(super) fn typed(lines: &mut Lines<'_>, console: &mut dyn Console) -> Result<Vec<u8>, Failure> {
    let mut data = Vec::new();
    let mut is_told = false;
    loop {
        let line = match lines.next(console)? {
            Some(line) => line,
            None => {
                if !std::mem::replace(&mut is_told, true) {
                    console.tell(HOW);
                }
                match console.ask_data()? {
                    Typed::Text(line) => line,
                    Typed::Nothing => return Err(Failure::cancelled()),
                    Typed::End => return Ok(data),
                }
            }
        };
        if is_last(&line) {
            return Ok(data);
        }
        data.extend_from_slice(line.as_bytes());
        if !line.ends_with('\n') {
            data.push(b'\n');
        }
    }
}

/// Whether no data stand behind this line.
fn is_last(line: &str) -> bool {
    line.trim_end_matches(['\n', '\r']) == "\\."
}

/// `\copy` with what stands behind it, as a COPY. A path may stand without quotes, and becomes that
/// which `absolute` gives.
pub(super) fn statement(
    rest: &str,
    absolute: impl Fn(&str) -> Result<PathBuf, Failure>,
) -> Result<String, Failure> {
    let Some(place) = place_of_end(rest) else {
        let say = "\\copy needs FROM or TO, and then a file, stdin or stdout";
        return Err(Failure::of_shell(say));
    };
    let end = &rest[place.clone()];
    let end = match end.to_ascii_lowercase().as_str() {
        "stdin" | "pstdin" => "STDIN".to_owned(),
        "stdout" | "pstdout" => "STDOUT".to_owned(),
        "program" if rest[place.end..].trim_start().starts_with('\'') => {
            let say = "\\copy starts no program; give its data to \\copy ... FROM stdin";
            return Err(Failure::of_shell(say));
        }
        _ => syntax::quote_text(&absolute(&unquoted(end))?.display().to_string()),
    };
    Ok(format!("COPY {}{end}{}", &rest[..place.start], &rest[place.end..]))
}

/// Where the name of the file stands: behind the FROM or TO that is in no bracket.
fn place_of_end(text: &str) -> Option<Range<usize>> {
    let (mut at, mut depth) = (0, 0_usize);
    while let Some(place) = next_word(text, at, &['(', ')', ',']) {
        match &text[place.clone()] {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            word if depth == 0
                && (word.eq_ignore_ascii_case("from") || word.eq_ignore_ascii_case("to")) =>
            {
                return next_word(text, place.end, &[]);
            }
            _ => {}
        }
        at = place.end;
    }
    None
}

/// The place of the next word behind this byte: something in quotes, one of these marks, or what
/// stands before the next blank or mark.
fn next_word(text: &str, from: usize, marks: &[char]) -> Option<Range<usize>> {
    let start = from + text[from..].find(|c: char| !c.is_whitespace())?;
    let rest = &text[start..];
    let first = rest.chars().next()?;
    let length = match first {
        quote @ ('\'' | '"') => in_quotes(rest, quote),
        mark if marks.contains(&mark) => mark.len_utf8(),
        _ => {
            let is_end = |c: char| c.is_whitespace() || marks.contains(&c);
            rest.find(is_end).unwrap_or(rest.len())
        }
    };
    Some(start..start + length)
}

/// How many bytes a text in quotes has, which stand at its beginning. Two of them stand for one.
fn in_quotes(text: &str, quote: char) -> usize {
    let mut quotes = text.char_indices().skip(1).filter(|(_, c)| *c == quote);
    while let Some((at, _)) = quotes.next() {
        match text[at + 1..].starts_with(quote) {
            true => drop(quotes.next()),
            false => return at + 1,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shell_gives_and_takes_what_has_no_file() {
        for (text, way) in [
            ("copy t from stdin", Some(Copying::In)),
            ("COPY t (a, b) FROM STDIN (format csv)", Some(Copying::In)),
            ("copy (select 1) to stdout csv", Some(Copying::Out)),
            ("copy t to stdout", Some(Copying::Out)),
            ("copy t from 'stdin'", None),
            ("copy t frm stdin", None),
            ("copying", None),
            ("a", None),
            ("select 'copy t from stdin'", None),
        ] {
            assert_eq!(copying(text), way, "{text}");
        }
    }

    #[test]
    fn a_path_is_seen_from_the_shell_wherever_it_stands() {
        let here = |path: &str| Ok(PathBuf::from("/here").join(path));
        for (rest, expected) in [
            ("t from a.csv csv", "COPY t from '/here/a.csv' csv"),
            ("t (a, \"from\") from 'a b.csv'", "COPY t (a, \"from\") from '/here/a b.csv'"),
            ("t from 'it''s'", "COPY t from '/here/it''s'"),
            ("t from /x/it's csv", "COPY t from '/x/it''s' csv"),
            ("(select a from 'b' to c) TO b", "COPY (select a from 'b' to c) TO '/here/b'"),
            ("t from(x) y", "COPY t from'/here/(x)' y"),
            ("t from stdin", "COPY t from STDIN"),
            ("t to pstdout csv", "COPY t to STDOUT csv"),
        ] {
            assert_eq!(statement(rest, here).as_deref(), Ok(expected), "{rest}");
        }
        assert_eq!(statement("t from program", here).as_deref(), Ok("COPY t from '/here/program'"));
        for rest in ["", "t frm 'x'", "t from", "(t to x", "t from program 'cat x'"] {
            assert!(statement(rest, here).is_err(), "{rest}");
        }
    }
}

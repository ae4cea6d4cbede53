//! PostgreSQL through one `psql` that is told statements and answers.
//!
//! ```text
//!   SELECT ...;                                  rows: fields and rows end with characters that
//!   \echo ^done :SQLSTATE :ROW_COUNT             no value has
//! ```
//!
//! `ON_ERROR_ROLLBACK` makes a refused statement leave its transaction usable, as ours is. The
//! server is to have the locale C, so that texts are compared by their bytes.
//!
//! Callers: `differential`.
//! Source: PostgreSQL 15's documentation of psql: variables, `\pset`, `\echo`.

#![expect(
    clippy::disallowed_types,
    reason = "the rival is another program, asked from outside of any simulation"
)]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::Program;
use crate::answer::{Answer, Cell, Refused, Row};
use crate::bed::{Engine, is_change};

/// What stands between the values of a row, behind a row, and for NULL.
const FIELD: char = '\u{1f}';
const RECORD: char = '\u{1e}';
const NULL: &str = "\u{1d}";
/// With what the line begins that ends an answer.
const DONE: &str = "\u{1c}done ";

/// What is said to psql before the first statement.
const SETTINGS: &[&str] = &[
    "\\set ON_ERROR_ROLLBACK on",
    "\\pset format unaligned",
    "\\pset tuples_only on",
    "\\pset null '\\035'",
    "\\pset fieldsep '\\037'",
    "\\pset recordsep '\\036'",
    "set client_min_messages = error;",
    "set extra_float_digits = 1;",
];

/// A session of PostgreSQL's.
pub struct Postgresql {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    /// The schema in which cases make their tables.
    schema: String,
    version: String,
}

impl Postgresql {
    /// Starts psql with the server whose socket is in this folder. Cases make their tables in a
    /// schema of this name, which is dropped before each.
    ///
    /// # Errors
    /// What keeps psql from being started or connected.
    pub fn connect(psql: &Path, socket: &Path, schema: &str) -> Result<Postgresql, String> {
        let mut child = Command::new(psql)
            .args(["-X", "-q", "-U", "postgres", "-d", "postgres", "-h"])
            .arg(socket)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("cannot start {}: {error}", psql.display()))?;
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("its output is piped"));
        let (schema, version) = (schema.to_string(), String::new());
        let mut rival = Postgresql { child, input, output, schema, version };
        for setting in SETTINGS {
            rival.say(setting)?;
        }
        // Of a setting no more is asked than that it is read.
        rival.answer()?;
        rival.version = match rival.asked("SELECT current_setting('server_version')")? {
            Answer::Rows(rows) if rows.len() == 1 => format!("PostgreSQL {}", rows[0][0]),
            other => return Err(format!("PostgreSQL doesn't tell its version: {other}")),
        };
        Ok(rival)
    }

    fn say(&mut self, line: &str) -> Result<(), String> {
        let input = self.input.as_mut().expect("it is closed by drop only");
        writeln!(input, "{line}").map_err(|error| format!("psql has gone: {error}"))
    }

    /// Runs a statement.
    fn asked(&mut self, text: &str) -> Result<Answer, String> {
        self.say(&format!("{text};"))?;
        let told = self.answer()?;
        if told.state != "00000" {
            let message = "as PostgreSQL says".to_string();
            return Ok(Answer::Refused(Refused { state: told.state, message }));
        }
        let is_query = text.starts_with("SELECT") || text.starts_with("with ");
        if !is_query {
            return Ok(Answer::Done(if is_change(text) { told.count } else { 0 }));
        }
        Ok(Answer::Rows(rows_of(&told.output, told.count)))
    }

    /// Reads what came up to the end of an answer.
    fn answer(&mut self) -> Result<Told, String> {
        self.say(&format!("\\echo '{DONE}':SQLSTATE :ROW_COUNT"))?;
        let input = self.input.as_mut().expect("it is closed by drop only");
        input.flush().map_err(|error| format!("psql has gone: {error}"))?;
        let mut output = String::new();
        loop {
            let mut line = String::new();
            let read = self.output.read_line(&mut line);
            match read.map_err(|error| format!("cannot read from psql: {error}"))? {
                0 => return Err("psql has ended; is the server there?".into()),
                _ => output += &line,
            }
            if let Some(at) = output.rfind(DONE) {
                let mut words = output[at + DONE.len()..].split_whitespace();
                let state = words.next().unwrap_or("00000").to_string();
                let count = words.next().and_then(|count| count.parse().ok()).unwrap_or(0);
                output.truncate(at);
                return Ok(Told { output, state, count });
            }
        }
    }
}

/// What psql said.
struct Told {
    output: String,
    state: String,
    count: u64,
}

impl Engine for Postgresql {
    fn run(&mut self, text: &str) -> Answer {
        self.asked(text).unwrap_or_else(|message| {
            // The class of a connection that failed: no answer of ours is like it.
            Answer::Refused(Refused { state: "08006".into(), message })
        })
    }
}

impl Program for Postgresql {
    fn clear(&mut self) -> Result<(), String> {
        let schema = self.schema.clone();
        for text in [
            "rollback".to_string(),
            format!("drop schema if exists {schema} cascade"),
            format!("create schema {schema}"),
            format!("set search_path = {schema}"),
        ] {
            let answer = self.asked(&text)?;
            if let Answer::Refused(refused) = answer {
                return Err(format!("PostgreSQL refuses '{text}': {refused}"));
            }
        }
        Ok(())
    }

    fn version(&self) -> String {
        self.version.clone()
    }
}

impl Drop for Postgresql {
    fn drop(&mut self) {
        // At the end of its input psql ends.
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

/// The rows of psql's output, of which there are this many. Their values are texts.
fn rows_of(output: &str, count: u64) -> Vec<Row> {
    if count == 0 {
        return Vec::new();
    }
    // Behind the last row psql ends the line.
    let output = output.strip_suffix('\n').unwrap_or(output);
    let cell = |text: &str| match text {
        NULL => Cell::Null,
        text => Cell::Text(text.to_string()),
    };
    output.split(RECORD).map(|record| record.split(FIELD).map(cell).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_from_what_psql_writes() {
        let output = "1\u{1f}\u{1d}\u{1f}a b\u{1e}-2.50\u{1f}t\u{1f}\n";
        let rows = rows_of(output, 2);
        let shown: Vec<String> = rows.iter().map(|row| crate::answer::line(row)).collect();
        assert_eq!(shown, ["1 | NULL | a b", "-2.50 | t | (empty)"]);
        assert!(rows_of("", 0).is_empty());
        // One row whose only value is an empty text.
        assert_eq!(rows_of("\n", 1), [[Cell::Text(String::new())]]);
    }
}

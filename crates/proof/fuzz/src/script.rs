//! What a session does, and how that stands in a file.
//!
//! ```text
//!   text select 1
//!   with 3,0 select $1, $2          values by their numbers
//!   open select * from t            the first rows alone
//! ```
//!
//! Invariant: a line is an act, to the last byte: `\` and what would end a line are escaped.
//!
//! Callers: all of this crate.

use std::fmt::Write;

/// How a text is run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum How {
    /// By its text, to its end.
    Text,
    /// Prepared, and run twice with these values, which are numbers of a list.
    With(Vec<u8>),
    /// Opened; some rows are read, and it stays open.
    Open,
}

/// One statement of a session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Act {
    /// How it is run.
    pub how: How,
    /// Its text.
    pub text: String,
}

/// What a session does, in its order.
pub type Script = Vec<Act>;

impl Act {
    /// A text that is run to its end.
    pub fn text(text: impl Into<String>) -> Act {
        Act { how: How::Text, text: text.into() }
    }

    /// The act as a line, without its end.
    pub fn line(&self) -> String {
        let mut line = match &self.how {
            How::Text => "text ".to_string(),
            How::Open => "open ".to_string(),
            How::With(values) => {
                let numbers: Vec<String> = values.iter().map(u8::to_string).collect();
                format!("with {} ", numbers.join(","))
            }
        };
        for char in self.text.chars() {
            match char {
                '\\' => line.push_str("\\\\"),
                '\n' => line.push_str("\\n"),
                '\r' => line.push_str("\\r"),
                char => line.push(char),
            }
        }
        line
    }

    /// The act of a line; none if it is no such line.
    pub fn of_line(line: &str) -> Option<Act> {
        let (how, rest) = line.split_once(' ')?;
        let (how, rest) = match how {
            "text" => (How::Text, rest),
            "open" => (How::Open, rest),
            "with" => {
                let (numbers, rest) = rest.split_once(' ')?;
                let numbers = numbers.split(',').filter(|number| !number.is_empty());
                let values: Result<Vec<u8>, _> = numbers.map(str::parse).collect();
                (How::With(values.ok()?), rest)
            }
            _ => return None,
        };
        let mut text = String::with_capacity(rest.len());
        let mut chars = rest.chars();
        while let Some(char) = chars.next() {
            text.push(match char {
                '\\' => match chars.next()? {
                    'n' => '\n',
                    'r' => '\r',
                    other => other,
                },
                char => char,
            });
        }
        Some(Act { how, text })
    }
}

/// A script as the text of a file.
pub fn lines_of(script: &[Act]) -> String {
    let mut lines = String::new();
    for act in script {
        writeln!(lines, "{}", act.line()).expect("a text takes whatever is written");
    }
    lines
}

/// The script of a file's text. A line that was cut off, or that is none, is left out.
pub fn script_of_lines(text: &str) -> Script {
    text.split('\n').filter_map(Act::of_line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_the_same_from_its_file() {
        let script = vec![
            Act::text("select 'a\nb\\n\r\u{0}é'"),
            Act { how: How::With(vec![0, 255]), text: "select $1, $2".into() },
            Act { how: How::With(Vec::new()), text: String::new() },
            Act { how: How::Open, text: " ".into() },
        ];
        assert_eq!(script_of_lines(&lines_of(&script)), script);
        assert_eq!(script_of_lines("text a\nnone\nwith x select\n\nopen"), [Act::text("a")]);
    }
}

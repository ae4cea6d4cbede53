//! From lines to statements and commands.
//!
//! ```text
//!   select 1;            a statement
//!   \timing on           a command
//!   select 1 \watch 2    a statement, and the command that sends it
//! ```
//!
//! Callers: `shell`, for what is typed and for scripts; `terminal` asks whether a text is whole.

use super::command::is_command;

/// What lines come to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Item {
    /// A statement.
    Statement {
        /// Its text, without semicolon.
        text: String,
        /// The number of the line on which it begins.
        line: usize,
        /// The command behind it that sends it, if no semicolon does.
        command: Option<String>,
    },
    /// A command of the shell.
    Command {
        /// Its text.
        text: String,
        /// The number of its line.
        line: usize,
    },
}

/// Lines that aren't a whole statement yet.
#[derive(Default)]
pub(crate) struct Collector {
    text: String,
    /// The number of the line on which `text` begins.
    begins: usize,
}

impl Collector {
    /// Takes the line of this number, with its end or without, and gives what it completes.
    pub(crate) fn line(&mut self, line: &str, number: usize) -> Vec<Item> {
        if self.text.trim().is_empty() {
            self.text.clear();
            self.begins = number;
            if is_command(line) {
                return vec![Item::Command { text: line.trim().into(), line: number }];
            }
        }
        self.text.push_str(line);
        if !line.ends_with('\n') {
            self.text.push('\n');
        }
        if line.contains('\\')
            && let Some(at) = command_at(&self.text)
        {
            return self.sent(at);
        }
        // Nothing else ends a statement, so that a long one isn't read again with each line.
        match line.contains(';') {
            true => self.take(),
            false => Vec::new(),
        }
    }

    /// The statements that are whole.
    fn take(&mut self) -> Vec<Item> {
        let mut items = Vec::new();
        let mut rest = self.text.len();
        for part in syntax::split(&self.text) {
            if !part.is_ended {
                rest = part.start;
                break;
            }
            let (text, line) = (part.text.into(), self.line_of(part.start));
            items.push(Item::Statement { text, line, command: None });
        }
        let begins = self.line_of(rest);
        self.text.drain(..rest);
        self.begins = begins;
        items
    }

    /// The statements before the command that begins at this byte, which sends the last one.
    fn sent(&mut self, at: usize) -> Vec<Item> {
        let (sends, line) = (self.text[at..].trim().to_owned(), self.line_of(at));
        self.text.truncate(at);
        let mut items = self.take();
        items.push(match self.end() {
            Some(Item::Statement { text, line, .. }) => {
                Item::Statement { text, line, command: Some(sends) }
            }
            _ => Item::Command { text: sends, line },
        });
        items
    }

    fn line_of(&self, at: usize) -> usize {
        self.begins + self.text[..at].bytes().filter(|byte| *byte == b'\n').count()
    }

    /// What is left when there are no more lines: a statement without semicolon.
    pub(crate) fn end(&mut self) -> Option<Item> {
        let text = std::mem::take(&mut self.text);
        let part = syntax::split(&text).next()?;
        let line = self.begins + text[..part.start].bytes().filter(|byte| *byte == b'\n').count();
        let text = text[part.start..].trim_end().into();
        Some(Item::Statement { text, line, command: None })
    }
}

/// Whether a text that is typed is whole, so that Enter sends it.
pub(crate) fn is_whole(text: &str) -> bool {
    is_command(text) || command_at(text).is_some() || syntax::is_complete(text)
}

/// The byte at which the command begins that sends the statement before it, if the last line of
/// the text has one.
fn command_at(text: &str) -> Option<usize> {
    let at = text.rfind('\\')?;
    let command = text[at..].trim_end();
    let name = command.split_whitespace().next()?;
    let sends = matches!(name, "\\g" | "\\gx" | "\\watch") && !command.contains('\n');
    // Within quotes or a comment it would be a part of that.
    (sends && syntax::is_complete(&format!("{};", &text[..at]))).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collected(text: &str) -> Vec<Item> {
        let mut collector = Collector::default();
        let lines = text.split_inclusive('\n').zip(1..);
        let mut items: Vec<Item> =
            lines.flat_map(|(line, number)| collector.line(line, number)).collect();
        items.extend(collector.end());
        items
    }

    fn statement(text: &str, line: usize) -> Item {
        Item::Statement { text: text.into(), line, command: None }
    }

    fn sent(text: &str, line: usize, command: &str) -> Item {
        Item::Statement { text: text.into(), line, command: Some(command.into()) }
    }

    fn command(text: &str, line: usize) -> Item {
        Item::Command { text: text.into(), line }
    }

    #[test]
    fn statements_have_any_number_of_lines_and_lines_any_number_of_statements() {
        let text = "-- first\nselect 1;\n\nselect\n 2 ; select ';\n' ;select 4";
        let expected = [
            statement("select 1", 2),
            statement("select\n 2", 4),
            statement("select ';\n'", 5),
            statement("select 4", 6),
        ];
        assert_eq!(collected(text), expected);
    }

    #[test]
    fn a_command_is_a_line_that_begins_with_a_backslash_outside_of_statements() {
        let text = "\\timing on\n select 1\n \\d;\n;\n  \\q\nexit\n";
        let expected = [
            command("\\timing on", 1),
            statement("select 1\n \\d", 2),
            command("\\q", 5),
            command("exit", 6),
        ];
        assert_eq!(collected(text), expected);
    }

    #[test]
    fn a_command_behind_a_statement_sends_it() {
        let text = "select 1 \\g\nselect 2; select\n 3 \\watch 0.5\nselect 4; \\gx\n\\g\n";
        let expected = [
            sent("select 1", 1, "\\g"),
            statement("select 2", 2),
            sent("select\n 3", 2, "\\watch 0.5"),
            statement("select 4", 4),
            command("\\gx", 4),
            command("\\g", 5),
        ];
        assert_eq!(collected(text), expected);
        for text in ["select '\\g", "select 1 -- \\g", "select 1 \\gone"] {
            assert!(command_at(text).is_none() && !is_whole(text), "{text}");
        }
        assert!(is_whole("select 1 \\gx") && is_whole("help") && is_whole("select '\\g';"));
    }

    #[test]
    fn what_has_no_end_is_given_at_the_end() {
        assert_eq!(
            collected("select 1;\n 'abc\n;"),
            [statement("select 1", 1), statement("'abc\n;", 2)]
        );
        assert_eq!(collected("-- nothing\n ; \n"), []);
    }
}

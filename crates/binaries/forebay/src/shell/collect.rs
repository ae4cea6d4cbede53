//! From lines to statements and commands.
//!
//! Callers: `shell`, for what is typed and for scripts.

use super::is_command;

/// What lines come to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Item {
    /// A statement.
    Statement {
        /// Its text, without semicolon.
        text: String,
        /// The line on which it begins, counted from 1.
        line: usize,
    },
    /// A command of the shell.
    Command {
        /// Its text, from the backslash on.
        text: String,
        /// Its line.
        line: usize,
    },
}

/// Lines that aren't a whole statement yet.
#[derive(Default)]
pub(crate) struct Collector {
    text: String,
    /// The number of lines that were given.
    lines: usize,
    /// The line on which `text` begins.
    begins: usize,
}

impl Collector {
    /// Takes a line, with its end or without, and gives what it completes.
    pub(crate) fn line(&mut self, line: &str) -> Vec<Item> {
        self.lines += 1;
        if self.text.trim().is_empty() {
            self.text.clear();
            self.begins = self.lines;
            if is_command(line) {
                return vec![Item::Command { text: line.trim().into(), line: self.lines }];
            }
        }
        self.text.push_str(line);
        if !line.ends_with('\n') {
            self.text.push('\n');
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
            items.push(Item::Statement { text: part.text.into(), line: self.line_of(part.start) });
        }
        let begins = self.line_of(rest);
        self.text.drain(..rest);
        self.begins = begins;
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
        Some(Item::Statement { text: text[part.start..].trim_end().into(), line })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collected(text: &str) -> Vec<Item> {
        let mut collector = Collector::default();
        let lines = text.split_inclusive('\n');
        let mut items: Vec<Item> = lines.flat_map(|line| collector.line(line)).collect();
        items.extend(collector.end());
        items
    }

    fn statement(text: &str, line: usize) -> Item {
        Item::Statement { text: text.into(), line }
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
        let text = "\\timing on\n select 1\n \\d;\n;\n  \\q\n";
        let expected = [
            Item::Command { text: "\\timing on".into(), line: 1 },
            statement("select 1\n \\d", 2),
            Item::Command { text: "\\q".into(), line: 5 },
        ];
        assert_eq!(collected(text), expected);
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

//! Binds: the places in a statement for which values come with its execution.
//!
//! `$1`, `?` and `:name` are three ways to write them; a statement uses one. In the tree all of
//! them are `$1`, `$2`, ... (rule SY5).
//!
//! Callers: `lexer`; those who execute statements.

use crate::error::{SYNTAX_ERROR, SyntaxError, UNDEFINED_PARAMETER, shown};

/// The most binds of a statement, as in PostgreSQL's protocol.
pub const BINDS_MAX: usize = 65_535;

/// The binds of a statement.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Binds {
    count: usize,
    names: Vec<String>,
}

impl Binds {
    /// How many values an execution gives; the highest number.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The names, in the order of their numbers, if the statement writes `:name`; else empty.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The number of a name's bind, counted from 1. Case makes no difference.
    pub fn number_of(&self, name: &str) -> Option<usize> {
        let name = name.strip_prefix(':').unwrap_or(name).to_lowercase();
        self.names.iter().position(|one| *one == name).map(|at| at + 1)
    }
}

/// How a statement writes its binds.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Style {
    /// `$1`, or Oracle's `:1`.
    Numbers,
    /// `?`.
    Marks,
    /// `:name`.
    Names,
}

/// Gives binds their numbers, in the order in which they stand.
#[derive(Default)]
pub(crate) struct Numbering {
    style: Option<Style>,
    binds: Binds,
}

impl Numbering {
    /// The bind `$n` for one that is written so.
    pub(crate) fn number(&mut self, text: &str) -> Result<String, SyntaxError> {
        let behind = &text[1..];
        let style = match () {
            () if text == "?" => Style::Marks,
            () if behind.bytes().all(|byte| byte.is_ascii_digit()) => Style::Numbers,
            () => Style::Names,
        };
        if self.style.is_some_and(|before| before != style) {
            let say = format!("the bind {} isn't written as the one before it", shown(text));
            let error = SyntaxError::new(SYNTAX_ERROR, say);
            return Err(error.with_hint("use one of $1, ? and :name in a statement"));
        }
        self.style = Some(style);
        let number = match style {
            Style::Marks => self.binds.count + 1,
            Style::Numbers => behind.parse().unwrap_or(usize::MAX),
            Style::Names => self.number_of_name(behind.to_lowercase()),
        };
        if !(1..=BINDS_MAX).contains(&number) {
            let say = format!("there can't be a bind {}", shown(text));
            let error = SyntaxError::new(UNDEFINED_PARAMETER, say);
            return Err(error.with_hint(format!("binds are numbered from 1 to {BINDS_MAX}")));
        }
        self.binds.count = self.binds.count.max(number);
        Ok(format!("${number}"))
    }

    fn number_of_name(&mut self, name: String) -> usize {
        let names = &mut self.binds.names;
        let at = names.iter().position(|one| *one == name).unwrap_or_else(|| {
            names.push(name);
            names.len() - 1
        });
        at + 1
    }

    /// The binds of the whole statement.
    pub(crate) fn end(self) -> Binds {
        self.binds
    }
}

/// The number of a bind in a tree; none if that is no bind of ours.
pub fn bind_number(placeholder: &str) -> Option<usize> {
    placeholder.strip_prefix('$')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(texts: &[&str]) -> Result<Binds, SyntaxError> {
        let mut numbering = Numbering::default();
        for text in texts {
            numbering.number(text)?;
        }
        Ok(numbering.end())
    }

    #[test]
    fn a_name_that_comes_again_is_one_bind() {
        let binds = numbered(&[":a", ":b", ":A"]).expect("names");
        assert_eq!((binds.count(), binds.names()), (2, &["a".into(), "b".into()][..]));
        assert_eq!((binds.number_of("B"), binds.number_of(":b")), (Some(2), Some(2)));
        assert_eq!(binds.number_of("c"), None);
    }

    #[test]
    fn the_count_is_the_highest_number() {
        assert_eq!(numbered(&["$3", ":1"]).expect("numbers").count(), 3);
        assert_eq!(numbered(&["?", "?"]).expect("marks").count(), 2);
        assert_eq!(bind_number("$17"), Some(17));
        assert_eq!(bind_number("x"), None);
    }

    #[test]
    fn two_ways_of_writing_in_one_statement_are_refused() {
        for mixed in [["$1", "?"], ["?", ":a"], [":a", "$1"]] {
            let error = numbered(&mixed).expect_err("mixed");
            assert!(error.to_string().contains("use one of"), "{error}");
        }
    }

    #[test]
    fn a_number_out_of_range_is_refused() {
        for wrong in ["$0", "$65536", "$99999999999999999999999"] {
            assert_eq!(numbered(&[wrong]).expect_err(wrong).sqlstate(), UNDEFINED_PARAMETER);
        }
    }
}

//! A connection of Forebay as crate `sqllogictest` sees it.
//!
//! A connection stays on its thread, and the crate's trait `DB` wants one that can be sent. Its
//! trait `AsyncDB` wants it of the future alone; so a statement runs when it is asked for, and the
//! future that is returned has ended already. The simplest executor then never waits.
//!
//! Callers: `run`.

use std::cell::RefCell;
use std::future::{Future, Ready, ready};
use std::pin::Pin;
use std::rc::Rc;

use database::{Connection, Kind};
use sqllogictest::{AsyncDB, ColumnType, DBOutput};

use super::written::written;
use super::{LABEL, Style};
use crate::answer::{Answer, Cell, Refused, Row, Told, ask};

/// The type of a column, as a file says it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Letter(char);

/// All letters: text, whole number, other number, truth value, day or moment or span, bytes; any.
const LETTERS: &str = "TIRBDY?";
const ANY: Letter = Letter('?');

impl ColumnType for Letter {
    fn from_char(value: char) -> Option<Letter> {
        LETTERS.contains(value).then_some(Letter(value))
    }

    fn to_char(&self) -> char {
        self.0
    }
}

impl Letter {
    fn of(kind: Kind) -> Letter {
        Letter(match kind {
            Kind::Unknown | Kind::Text | Kind::Char => 'T',
            Kind::Whole => 'I',
            Kind::Number | Kind::Double => 'R',
            Kind::Boolean => 'B',
            Kind::Date | Kind::Timestamp | Kind::Interval => 'D',
            Kind::Bytes => 'Y',
        })
    }

    fn is_as_expected(self, expected: Letter) -> bool {
        expected == ANY || self == expected
    }
}

/// Whether columns have the types that a file of ours says.
#[expect(clippy::ptr_arg, reason = "the crate's type of a validator")]
pub(super) fn are_of_types(actual: &Vec<Letter>, expected: &Vec<Letter>) -> bool {
    let mut pairs = actual.iter().zip(expected);
    actual.len() == expected.len() && pairs.all(|(is, wanted)| is.is_as_expected(*wanted))
}

/// What the record that runs next expects.
pub(super) struct Expected {
    pub(super) style: Style,
    /// The letters of the columns; empty if it is no query.
    pub(super) letters: Vec<Letter>,
}

/// A session.
pub(super) struct Player {
    connection: Connection<'static>,
    expected: Rc<RefCell<Expected>>,
}

impl Player {
    pub(super) fn new(
        connection: Connection<'static>,
        expected: &Rc<RefCell<Expected>>,
    ) -> Ready<Result<Player, Refused>> {
        ready(Ok(Player { connection, expected: Rc::clone(expected) }))
    }

    fn play(&mut self, text: &str) -> Result<DBOutput<Letter>, Refused> {
        let Told { answer, kinds } = ask(&mut self.connection, text);
        match answer {
            Answer::Refused(refused) => Err(refused),
            Answer::Done(count) => Ok(DBOutput::StatementComplete(count)),
            Answer::Rows(rows) => Ok(self.expected.borrow().output(&rows, &kinds)),
        }
    }
}

impl Expected {
    fn output(&self, rows: &[Row], kinds: &[Kind]) -> DBOutput<Letter> {
        let types: Vec<Letter> = match self.style {
            Style::Own => kinds.iter().map(|kind| Letter::of(*kind)).collect(),
            // The number of columns is wrong, and that is what will be told.
            Style::Corpus if self.letters.len() != kinds.len() => vec![ANY; kinds.len()],
            Style::Corpus => self.letters.clone(),
        };
        let shown = |cell: &Cell, letter: &Letter| match self.style {
            Style::Own => cell.to_string(),
            Style::Corpus => written(cell, letter.0),
        };
        let row = |row: &Row| row.iter().zip(&types).map(|(cell, of)| shown(cell, of)).collect();
        let rows = rows.iter().map(row).collect();
        DBOutput::Rows { types, rows }
    }
}

impl AsyncDB for Player {
    type Error = Refused;
    type ColumnType = Letter;

    fn run<'life0, 'life1, 'async_trait>(
        &'life0 mut self,
        sql: &'life1 str,
    ) -> Pin<Box<dyn Future<Output = Result<DBOutput<Letter>, Refused>> + Send + 'async_trait>>
    where
        'life0: 'async_trait,
        'life1: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(ready(self.play(sql)))
    }

    fn shutdown<'life0, 'async_trait>(
        &'life0 mut self,
    ) -> Pin<Box<dyn Future<Output = ()> + Send + 'async_trait>>
    where
        'life0: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(ready(()))
    }

    fn engine_name(&self) -> &str {
        LABEL
    }

    fn error_sql_state(error: &Refused) -> Option<String> {
        Some(error.state.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letters(text: &str) -> Vec<Letter> {
        text.chars().map(|letter| Letter::from_char(letter).expect("a letter")).collect()
    }

    #[test]
    fn a_type_is_as_expected_or_any_is() {
        assert!(are_of_types(&letters("ITB"), &letters("I?B")));
        assert!(!are_of_types(&letters("ITB"), &letters("IT")));
        assert!(!are_of_types(&letters("IR"), &letters("II")));
        assert_eq!(Letter::from_char('X'), None);
        assert_eq!(Letter::of(Kind::Interval).to_char(), 'D');
    }
}

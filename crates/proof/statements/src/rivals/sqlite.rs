//! SQLite in this process: a database in memory for each case.
//!
//! It is set to compare as we do: LIKE tells capitals from small letters, and foreign keys hold.
//!
//! Callers: `differential`.
//! Source: sqlite.org, "Result and Error Codes".

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error, ErrorCode};

use super::Program;
use crate::answer::{Answer, Cell, Refused, Row};
use crate::bed::{Engine, is_change};

/// SQLite.
pub struct Sqlite {
    connection: Connection,
}

impl Sqlite {
    /// An empty database in memory.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn new() -> Result<Sqlite, String> {
        let opened = Connection::open_in_memory().and_then(|connection| {
            connection.execute_batch(
                "pragma case_sensitive_like = on; pragma foreign_keys = on; \
                 pragma temp_store = memory;",
            )?;
            Ok(Sqlite { connection })
        });
        opened.map_err(|error| format!("SQLite doesn't open a database in memory: {error}"))
    }

    fn ask(&mut self, text: &str) -> Result<Answer, Error> {
        let mut statement = self.connection.prepare(text)?;
        let width = statement.column_count();
        if width == 0 {
            let changes = statement.execute([])?;
            // Of other statements it says what the last change was.
            let count = if is_change(text) { changes as u64 } else { 0 };
            return Ok(Answer::Done(count));
        }
        let mut rows = statement.query([])?;
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            let cells: Result<Row, Error> =
                (0..width).map(|place| row.get_ref(place).map(cell)).collect();
            all.push(cells?);
        }
        Ok(Answer::Rows(all))
    }
}

impl Engine for Sqlite {
    fn run(&mut self, text: &str) -> Answer {
        self.ask(text).unwrap_or_else(|error| Answer::Refused(refused(&error)))
    }
}

impl Program for Sqlite {
    fn clear(&mut self) -> Result<(), String> {
        *self = Sqlite::new()?;
        Ok(())
    }

    fn version(&self) -> String {
        format!("SQLite {}", rusqlite::version())
    }
}

fn cell(value: ValueRef<'_>) -> Cell {
    match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(int) => Cell::Number(int.into()),
        ValueRef::Real(double) => Cell::Double(double),
        ValueRef::Text(text) => Cell::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            Cell::Text(format!("\\x{digits}"))
        }
    }
}

/// A refusal; its state is a class as far as SQLite says which.
fn refused(error: &Error) -> Refused {
    let message = error.to_string();
    let state = match error {
        Error::SqliteFailure(failure, _) if failure.code == ErrorCode::ConstraintViolation => "23",
        Error::SqliteFailure(..) if message.contains("integer overflow") => "22003",
        _ => "",
    };
    Refused { state: state.into(), message }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(int: i64) -> Cell {
        Cell::Number(int.into())
    }

    #[test]
    fn sqlite_answers_with_rows_counts_and_refusals() {
        let mut sqlite = Sqlite::new().expect("it opens");
        assert_eq!(sqlite.run("create table t (a bigint primary key, b text)"), Answer::Done(0));
        assert_eq!(sqlite.run("insert into t values (1, 'x'), (2, null)"), Answer::Done(2));
        let two = Answer::Rows(vec![
            vec![number(1), Cell::Text("x".into())],
            vec![number(2), Cell::Null],
        ]);
        assert_eq!(sqlite.run("SELECT * from t order by 1"), two);
        let twice = sqlite.run("insert into t values (1, 'y')");
        assert!(matches!(&twice, Answer::Refused(refused) if refused.state == "23"), "{twice}");
        let wrong = sqlite.run("SELECT nothing from t");
        assert!(matches!(&wrong, Answer::Refused(refused) if refused.state.is_empty()), "{wrong}");
        assert_eq!(sqlite.run("SELECT 'A' like 'a'"), Answer::Rows(vec![vec![number(0)]]));
        sqlite.clear().expect("it opens");
        assert!(matches!(sqlite.run("SELECT * from t"), Answer::Refused(_)));
    }

    /// Words that cases use and that older versions didn't have.
    #[test]
    fn sqlite_has_what_cases_ask_of_it() {
        let mut sqlite = Sqlite::new().expect("it opens");
        for text in [
            "SELECT 1 is distinct from 2",
            "SELECT 1 from (SELECT 1 as a) as x full join (SELECT 2 as a) as y on x.a = y.a",
            "SELECT group_concat(a, ';' order by a) from (SELECT 'a' as a) as x",
            "SELECT count(*) filter (where a > 1) from (SELECT 1 as a) as x having count(*) > 0",
            "with w as materialized (SELECT 1 as c1) SELECT c1 from w order by 1 desc nulls first",
            "SELECT true is not true",
        ] {
            let answer = sqlite.run(text);
            assert!(matches!(answer, Answer::Rows(_)), "{text}: {answer}");
        }
    }
}

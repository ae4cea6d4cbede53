//! What a statement came to, in a form that answers of different programs share.
//!
//! ```text
//!   Answer::Rows      the rows of a query, cell by cell
//!   Answer::Done      a statement without rows, and how many rows it changed
//!   Answer::Refused   the SQLSTATE, as far as the program has one, and the message
//! ```
//!
//! Invariants
//!   * a cell of Forebay's keeps its value: whole numbers and NUMBERs are exact
//!   * days, moments, spans and bytes are texts, in the form of ISO 8601 and of PostgreSQL
//!
//! Callers: `bed` makes Forebay's, `rivals` theirs; `judge` compares them, `metamorphic` Forebay's
//! with Forebay's.

use std::cmp::Ordering;
use std::fmt;

use database::{Batch, Connection, Error, Kind, Number, Value};

/// The rows that are fetched at a time.
const FETCHED: usize = 1_000;

/// One value.
#[derive(Clone, Debug)]
pub enum Cell {
    /// NULL.
    Null,
    /// True or false.
    Truth(bool),
    /// A whole number or a decimal.
    Number(Number),
    /// A binary floating-point number.
    Double(f64),
    /// A text, or what is written as one.
    Text(String),
}

impl Cell {
    /// The cell of one of Forebay's values.
    pub fn of(value: Value<'_>) -> Cell {
        match value {
            Value::Null => Cell::Null,
            Value::Boolean(is) => Cell::Truth(is),
            Value::Int(int) => Cell::Number(int.into()),
            Value::Number(number) => Cell::Number(number),
            Value::Double(double) => Cell::Double(double),
            Value::Text(text) => Cell::Text(text.to_string()),
            Value::Date(day) => Cell::Text(day.to_string()),
            Value::Timestamp(moment) => Cell::Text(moment.to_string()),
            Value::Interval(span) => Cell::Text(span.to_string()),
            Value::Bytes(bytes) => {
                let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                Cell::Text(format!("\\x{digits}"))
            }
        }
    }

    /// Makes it a value of the kind of another one, if it can be read as that.
    fn read_like(&mut self, model: &Cell) {
        let read = match (&*self, model) {
            (Cell::Text(text), Cell::Number(_)) => text.parse().ok().map(Cell::Number),
            (Cell::Text(text), Cell::Double(_)) => text.parse().ok().map(Cell::Double),
            (Cell::Text(text), Cell::Truth(_)) => match text.as_str() {
                "t" => Some(Cell::Truth(true)),
                "f" => Some(Cell::Truth(false)),
                _ => None,
            },
            (Cell::Number(number), Cell::Truth(_)) => match number.to_i64() {
                Some(0) => Some(Cell::Truth(false)),
                Some(1) => Some(Cell::Truth(true)),
                _ => None,
            },
            _ => None,
        };
        if let Some(read) = read {
            *self = read;
        }
    }

    /// The value of SQL that the cell is; texts borrow from it.
    fn value(&self) -> Value<'_> {
        match self {
            Cell::Null => Value::Null,
            Cell::Truth(is) => Value::Boolean(*is),
            Cell::Number(number) => Value::Number(*number),
            Cell::Double(double) => Value::Double(*double),
            Cell::Text(text) => Value::Text(text),
        }
    }

    /// The place of the cell's kind in the order of all cells.
    fn rank(&self) -> u8 {
        match self {
            Cell::Null => 0,
            Cell::Truth(_) => 1,
            Cell::Number(_) | Cell::Double(_) => 2,
            Cell::Text(_) => 3,
        }
    }
}

/// A total order in which equal cells are those that are equal in SQL, and NULL equals NULL.
impl Ord for Cell {
    fn cmp(&self, other: &Cell) -> Ordering {
        let by_rank = self.rank().cmp(&other.rank());
        by_rank.then_with(|| self.value().compare(other.value()).unwrap_or(Ordering::Equal))
    }
}

impl PartialOrd for Cell {
    fn partial_cmp(&self, other: &Cell) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Cell {
    fn eq(&self, other: &Cell) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Cell {}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cell::Null => f.write_str("NULL"),
            Cell::Truth(is) => write!(f, "{is}"),
            Cell::Number(number) => write!(f, "{number}"),
            Cell::Double(double) => write!(f, "{double}"),
            Cell::Text(text) if text.is_empty() => f.write_str("(empty)"),
            Cell::Text(text) => f.write_str(text),
        }
    }
}

/// One row.
pub type Row = Vec<Cell>;

/// What a statement came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// The rows that it gives.
    Rows(Vec<Row>),
    /// It gives no rows, and has changed this many.
    Done(u64),
    /// It was refused.
    Refused(Refused),
}

impl Answer {
    /// The answer of another program with its values as ours are: a program that tells texts alone
    /// means numbers where we tell numbers, and SQLite means 1 by true.
    pub fn read_like(self, ours: &Answer) -> Answer {
        let (Answer::Rows(own), Answer::Rows(mut rows)) = (ours, self.clone()) else {
            return self;
        };
        let width = own.first().map_or(0, Vec::len);
        let model = |place: usize| own.iter().map(|row| &row[place]).find(|it| **it != Cell::Null);
        let models: Vec<Option<&Cell>> = (0..width).map(model).collect();
        for row in &mut rows {
            for (cell, model) in row.iter_mut().zip(&models) {
                if let Some(model) = model {
                    cell.read_like(model);
                }
            }
        }
        Answer::Rows(rows)
    }
}

/// Why a statement was refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refused {
    /// The SQLSTATE; of a program without SQLSTATEs the class, such as `23`, or nothing.
    pub state: String,
    /// What the program says.
    pub message: String,
}

impl Refused {
    /// A refusal of Forebay's.
    pub fn of(stop: &Error) -> Refused {
        Refused { state: stop.state().to_string(), message: stop.to_string() }
    }

    /// The first two characters of the SQLSTATE, as far as there are some.
    pub fn class(&self) -> &str {
        self.state.get(..2).unwrap_or("")
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.state, self.message)
    }
}

impl std::error::Error for Refused {}

/// The most rows that are shown.
const SHOWN: usize = 12;

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Done(count) => write!(f, "done, {count} rows"),
            Answer::Refused(refused) => write!(f, "refused, {refused}"),
            Answer::Rows(rows) => {
                write!(f, "{} rows", rows.len())?;
                rows.iter().take(SHOWN).try_for_each(|row| write!(f, "\n    {}", line(row)))?;
                if rows.len() > SHOWN { f.write_str("\n    ...") } else { Ok(()) }
            }
        }
    }
}

/// A row as one line.
pub fn line(row: &[Cell]) -> String {
    row.iter().map(Cell::to_string).collect::<Vec<_>>().join(" | ")
}

/// An answer of Forebay's, with the kinds of its columns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Told {
    /// What it came to.
    pub answer: Answer,
    /// The kind of each column; empty if it gives no rows.
    pub kinds: Vec<Kind>,
}

/// Runs a statement on Forebay, to its last row.
pub fn ask(connection: &mut Connection<'_>, text: &str) -> Told {
    asked(connection, text).unwrap_or_else(|stop| {
        let answer = Answer::Refused(Refused::of(&stop));
        Told { answer, kinds: Vec::new() }
    })
}

fn asked(connection: &mut Connection<'_>, text: &str) -> Result<Told, Error> {
    let mut came = connection.answer(text, &[])?;
    if !came.gives_rows() {
        return Ok(Told { answer: Answer::Done(came.done.rows()), kinds: Vec::new() });
    }
    let kinds = came.first.columns().iter().map(|column| column.kind).collect();
    let mut rows = rows_of(&came.first);
    if let Some(cursor) = &came.cursor {
        let mut goes_on = true;
        while goes_on {
            goes_on = connection.fetch(cursor, FETCHED, &mut came.first)?;
            rows.extend(rows_of(&came.first));
        }
    }
    Ok(Told { answer: Answer::Rows(rows), kinds })
}

fn rows_of(batch: &Batch) -> Vec<Row> {
    let width = batch.columns().len();
    batch.iter().map(|row| (0..width).map(|at| Cell::of(row.value(at))).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Cell {
        Cell::Number(text.parse().expect("a number"))
    }

    #[test]
    fn cells_are_equal_where_sql_says_so_and_null_equals_null() {
        assert_eq!(number("1.00"), number("1"));
        assert_eq!(number("0.5"), Cell::Double(0.5));
        assert_eq!(Cell::Null, Cell::Null);
        assert_ne!(Cell::Null, number("0"));
        assert_ne!(Cell::Text("1".into()), number("1"));
        assert_ne!(Cell::Text(String::new()), Cell::Null);
        assert_ne!(number("9007199254740993"), Cell::Double(9_007_199_254_740_992.0));
    }

    #[test]
    fn texts_and_bits_are_read_as_what_ours_are() {
        let ours = Answer::Rows(vec![
            vec![Cell::Null, Cell::Null, Cell::Null],
            vec![number("1"), Cell::Truth(true), Cell::Text("7".into())],
        ]);
        let text = |text: &str| Cell::Text(text.into());
        let theirs = Answer::Rows(vec![
            vec![Cell::Null, Cell::Null, Cell::Null],
            vec![text("1.0"), text("t"), text("7")],
        ]);
        assert_ne!(ours, theirs);
        assert_eq!(theirs.read_like(&ours), ours);
        let bits = Answer::Rows(vec![vec![number("0")], vec![number("2")]]);
        let truths = Answer::Rows(vec![vec![Cell::Truth(true)]]);
        let read = Answer::Rows(vec![vec![Cell::Truth(false)], vec![number("2")]]);
        assert_eq!(bits.read_like(&truths), read);
    }

    #[test]
    fn an_answer_shows_a_few_rows() {
        let rows = vec![vec![number("1"), Cell::Text(String::new())]; 20];
        let shown = Answer::Rows(rows).to_string();
        assert!(shown.starts_with("20 rows\n    1 | (empty)"), "{shown}");
        assert_eq!(shown.lines().count(), 14, "{shown}");
        let refused = Refused { state: "22012".into(), message: "no".into() };
        assert_eq!((refused.class(), refused.to_string().as_str()), ("22", "22012: no"));
    }
}

//! Tables, their rows, and the values in them.
//!
//! Values are few, so that rows meet in joins, groups and keys; some are at the limits of their
//! type. For SQLite numbers behind the point are quarters, which a double holds exactly.
//!
//! Callers: `case`; `draw` and `change`, for the tables' columns and for values.

use std::fmt::Write;

use database::Kind;
use testbed::Dice;

use super::dialect::{Dialect, Rival};
use super::{chance, pick};

/// The type of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Held {
    /// Whole numbers.
    Whole,
    /// Decimals with a few digits.
    Number,
    /// Decimals with up to 38 digits; they are compared and counted, not computed with.
    WideNumber,
    /// Binary floating point.
    Double,
    /// Texts.
    Text,
    /// Days.
    Date,
    /// Truth values.
    Truth,
}

/// A column.
#[derive(Clone, PartialEq, Debug)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type.
    pub held: Held,
    /// NOT NULL.
    pub is_not_null: bool,
    /// UNIQUE.
    pub is_unique: bool,
}

/// An index.
#[derive(Clone, PartialEq, Debug)]
pub struct Index {
    /// Its name.
    pub name: String,
    /// The places of its columns.
    pub columns: Vec<usize>,
    /// DESC of the first column.
    pub is_descending: bool,
}

/// A table. Its first column `id` is the primary key.
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// A value that a CHECK forbids in a column of whole numbers.
    pub forbidden: Option<Forbidden>,
    /// Its indexes besides those of keys.
    pub indexes: Vec<Index>,
    /// The rows that it begins with.
    pub rows: Vec<Vec<Literal>>,
}

/// What a CHECK forbids.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Forbidden {
    /// The place of the column.
    pub column: usize,
    /// The value.
    pub value: i64,
}

/// A value as it is written.
#[derive(Clone, PartialEq, Debug)]
pub enum Literal {
    /// NULL of a kind.
    Null(Kind),
    /// A whole number.
    Whole(i64),
    /// A decimal, in digits.
    Number(String),
    /// A double, in digits.
    Double(String),
    /// A text.
    Text(String),
    /// A day, as ISO writes it.
    Date(String),
    /// A truth value.
    Truth(bool),
}

impl Held {
    /// The kind of its values.
    pub fn kind(self) -> Kind {
        match self {
            Held::Whole => Kind::Whole,
            Held::Number | Held::WideNumber => Kind::Number,
            Held::Double => Kind::Double,
            Held::Text => Kind::Text,
            Held::Date => Kind::Date,
            Held::Truth => Kind::Boolean,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Held::Whole => "bigint",
            Held::Number => "numeric(12,2)",
            Held::WideNumber => "numeric(38,6)",
            Held::Double => "double precision",
            Held::Text => "text",
            Held::Date => "date",
            Held::Truth => "boolean",
        }
    }

    /// Draws one for a column.
    pub(super) fn drawn(dice: &mut Dice, rival: Rival) -> Held {
        use Held::{Date, Double, Number, Text, Truth, Whole, WideNumber};
        let all = [Whole, Whole, Whole, Text, Text, Number, Number, Date, Truth, Double];
        match *pick(dice, &all) {
            Number if rival.has_limits() && chance(dice, 30) => WideNumber,
            held => held,
        }
    }
}

const TEXTS: &[&str] =
    &["", "a", "A", "b", "ab", "aB", "ba", "a b", " a", "it's", "%", "zz", "a_c"];
const DAYS: &[&str] =
    &["2024-02-29", "2024-03-01", "2023-02-28", "1999-12-31", "2000-01-01", "2024-02-29"];
const DAYS_AT_LIMITS: &[&str] = &["0001-01-01", "9999-12-31"];
const WHOLES_AT_LIMITS: &[i64] =
    &[i64::MAX, i64::MIN, i64::MAX - 1, i64::MIN + 1, 1 << 53, (1 << 53) + 1, 4_294_967_296];
/// Of NUMERIC(38,6).
const NUMBERS_AT_LIMITS: &[&str] = &[
    "99999999999999999999999999999999.999999",
    "-99999999999999999999999999999999.999999",
    "99999999999999999999999999999999.999998",
    "0.000001",
    "-0.000001",
    "9007199254740993",
    "0",
];

impl Literal {
    /// Its kind.
    pub fn kind(&self) -> Kind {
        match self {
            Literal::Null(kind) => *kind,
            Literal::Whole(_) => Kind::Whole,
            Literal::Number(_) => Kind::Number,
            Literal::Double(_) => Kind::Double,
            Literal::Text(_) => Kind::Text,
            Literal::Date(_) => Kind::Date,
            Literal::Truth(_) => Kind::Boolean,
        }
    }

    /// Draws a value for a column.
    pub(super) fn drawn(dice: &mut Dice, held: Held, rival: Rival) -> Literal {
        let at_limits = rival.has_limits() && chance(dice, 6);
        match held {
            Held::Whole if at_limits => Literal::Whole(*pick(dice, WHOLES_AT_LIMITS)),
            Held::Whole => Literal::Whole(dice.below(24) as i64 - 4),
            Held::WideNumber if at_limits || chance(dice, 30) => {
                Literal::Number((*pick(dice, NUMBERS_AT_LIMITS)).to_string())
            }
            Held::Number | Held::WideNumber => Literal::Number(quarters(dice)),
            Held::Double => Literal::Double(quarters(dice)),
            Held::Text => Literal::Text((*pick(dice, TEXTS)).to_string()),
            Held::Date if at_limits => Literal::Date((*pick(dice, DAYS_AT_LIMITS)).to_string()),
            Held::Date => Literal::Date((*pick(dice, DAYS)).to_string()),
            Held::Truth => Literal::Truth(chance(dice, 50)),
        }
    }

    /// Writes it.
    pub(super) fn write(&self, dialect: Dialect, out: &mut String) {
        let postgresql = dialect == Dialect::Postgresql;
        // A text takes whatever is written.
        let _ = match self {
            Literal::Null(_) if dialect == Dialect::Sqlite => write!(out, "null"),
            Literal::Null(kind) => write!(out, "cast(null as {})", type_of(*kind)),
            Literal::Whole(int) if postgresql => write!(out, "cast('{int}' as bigint)"),
            // The digits alone would be too many.
            Literal::Whole(i64::MIN) => write!(out, "(-9223372036854775807 - 1)"),
            Literal::Whole(int) if *int < 0 => write!(out, "({int})"),
            Literal::Whole(int) => write!(out, "{int}"),
            Literal::Number(digits) if dialect == Dialect::Sqlite => write!(out, "({digits})"),
            Literal::Number(digits) => write!(out, "cast({digits} as numeric)"),
            Literal::Double(digits) if dialect == Dialect::Sqlite => {
                write!(out, "cast({digits} as real)")
            }
            Literal::Double(digits) => write!(out, "cast({digits} as double precision)"),
            Literal::Text(text) if postgresql => {
                write!(out, "cast('{}' as varchar)", text.replace('\'', "''"))
            }
            Literal::Text(text) => write!(out, "'{}'", text.replace('\'', "''")),
            Literal::Date(day) if dialect == Dialect::Sqlite => write!(out, "'{day}'"),
            Literal::Date(day) => write!(out, "date '{day}'"),
            Literal::Truth(is) => write!(out, "{is}"),
        };
    }
}

/// A number of quarters, which every program holds exactly.
fn quarters(dice: &mut Dice) -> String {
    let (whole, part) = (dice.below(30) as i64 - 10, *pick(dice, &["", ".5", ".25", ".75"]));
    format!("{whole}{part}")
}

/// The type to which a NULL is cast.
fn type_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Whole => "bigint",
        Kind::Number => "numeric",
        Kind::Double => "double precision",
        Kind::Boolean => "boolean",
        Kind::Date => "date",
        Kind::Timestamp => "timestamp",
        _ => "varchar",
    }
}

impl Table {
    /// Draws a table.
    pub(super) fn drawn(dice: &mut Dice, number: usize, rival: Rival) -> Table {
        let mut columns = vec![Column {
            name: "id".into(),
            held: Held::Whole,
            is_not_null: true,
            is_unique: true,
        }];
        for place in 1..=2 + dice.below(4) {
            let held = Held::drawn(dice, rival);
            let is_unique = matches!(held, Held::Whole | Held::Text) && chance(dice, 8);
            let is_not_null = chance(dice, 15);
            columns.push(Column { name: format!("k{place}"), held, is_not_null, is_unique });
        }
        let mut table = Table {
            name: format!("t{number}"),
            columns,
            forbidden: None,
            indexes: Vec::new(),
            rows: Vec::new(),
        };
        let wholes: Vec<usize> =
            (1..table.columns.len()).filter(|at| table.columns[*at].held == Held::Whole).collect();
        if !wholes.is_empty() && chance(dice, 20) {
            table.forbidden = Some(Forbidden { column: *pick(dice, &wholes), value: 13 });
        }
        for at in 0..dice.below(3) {
            table.draw_index(dice, at);
        }
        let count = *pick(dice, &[0, 1, 3, 8, 8, 20, 40]);
        for id in 0..count {
            let row = table.row(dice, id, rival);
            table.keep(row);
        }
        table
    }

    fn draw_index(&mut self, dice: &mut Dice, number: u64) {
        let first = 1 + dice.below(self.columns.len() as u64 - 1) as usize;
        let mut columns = vec![first];
        let other = dice.below(self.columns.len() as u64) as usize;
        if other != first && chance(dice, 50) {
            columns.push(other);
        }
        let is_known = self.indexes.iter().any(|index| index.columns == columns);
        let is_key = columns.len() == 1 && self.columns[first].is_unique;
        if !is_known && !is_key {
            let name = format!("{}_i{number}", self.name);
            self.indexes.push(Index { name, columns, is_descending: chance(dice, 20) });
        }
    }

    /// Draws a row with this key. What the table's constraints say isn't asked.
    pub(super) fn row(&self, dice: &mut Dice, id: i64, rival: Rival) -> Vec<Literal> {
        let mut row = vec![Literal::Whole(id)];
        for column in &self.columns[1..] {
            let is_null = !column.is_not_null && chance(dice, 18);
            row.push(match is_null {
                true => Literal::Null(column.held.kind()),
                false => Literal::drawn(dice, column.held, rival),
            });
        }
        row
    }

    /// Keeps a row if no constraint forbids it.
    fn keep(&mut self, row: Vec<Literal>) {
        let is_forbidden =
            self.forbidden.is_some_and(|it| row[it.column] == Literal::Whole(it.value));
        let has = |place: usize| {
            !matches!(row[place], Literal::Null(_))
                && self.rows.iter().any(|other| other[place] == row[place])
        };
        let is_twice = (0..row.len()).any(|place| self.columns[place].is_unique && has(place));
        if !is_forbidden && !is_twice {
            self.rows.push(row);
        }
    }

    /// The statements that make the table with its rows, and its indexes behind.
    pub(super) fn made(&self, dialect: Dialect) -> Vec<String> {
        let mut text = format!("create table {} (", self.name);
        for (place, column) in self.columns.iter().enumerate() {
            let between = if place == 0 { "" } else { ", " };
            // A text takes whatever is written.
            let _ = write!(text, "{between}{} {}", column.name, column.held.words());
            text.push_str(if column.is_not_null { " not null" } else { "" });
            text.push_str(match (place, column.is_unique) {
                (0, _) => " primary key",
                (_, true) => " unique",
                (_, false) => "",
            });
        }
        if let Some(Forbidden { column, value }) = self.forbidden
            && let Some(column) = self.columns.get(column)
        {
            let _ = write!(text, ", check ({} <> {value})", column.name);
        }
        text.push(')');
        let mut made = vec![text];
        // Several inserts, so that no statement is long when it is shown.
        for rows in self.rows.chunks(8) {
            made.push(insert(&self.name, rows, dialect));
        }
        made.extend(self.indexes.iter().map(|index| self.index(index)));
        made
    }

    fn index(&self, index: &Index) -> String {
        let column = |(number, place): (usize, &usize)| {
            let down = if number == 0 && index.is_descending { " desc" } else { "" };
            format!("{}{down}", self.columns[*place].name)
        };
        let columns: Vec<String> = index.columns.iter().enumerate().map(column).collect();
        format!("create index {} on {} ({})", index.name, self.name, columns.join(", "))
    }
}

/// INSERT of these rows.
pub(super) fn insert(table: &str, rows: &[Vec<Literal>], dialect: Dialect) -> String {
    let mut text = format!("insert into {table} values ");
    for (number, row) in rows.iter().enumerate() {
        text.push_str(if number == 0 { "(" } else { ", (" });
        for (place, value) in row.iter().enumerate() {
            text.push_str(if place == 0 { "" } else { ", " });
            value.write(dialect, &mut text);
        }
        text.push(')');
    }
    text
}

//! Statements that change rows, and those of transactions.
//!
//! Keys aren't updated: SQLite and PostgreSQL check a key with each row, and Forebay at the end of
//! the statement, so `k = k + 1` is done here and refused there.
//!
//! Callers: `case`, `shrink`.

use std::fmt::Write;

use super::dialect::Dialect;
use super::draw::{Drawer, Relation, Seen};
use super::draw_term::Wish;
use super::query::{Query, conjunction};
use super::schema::{Literal, Table, insert};
use super::term::Term;
use super::{chance, pick};

/// A statement.
#[derive(Clone, PartialEq, Debug)]
pub enum Statement {
    /// A query.
    Query(Query),
    /// A change of rows.
    Change(Change),
    /// Words that mean the same everywhere: transactions, indexes, ANALYZE.
    Words(String),
}

/// A change of rows.
#[derive(Clone, PartialEq, Debug)]
pub enum Change {
    /// INSERT of rows that are written out.
    Insert {
        /// Into which table.
        table: String,
        /// The rows.
        rows: Vec<Vec<Literal>>,
    },
    /// INSERT of the rows of a query.
    InsertQuery {
        /// Into which table.
        table: String,
        /// The query.
        query: Query,
    },
    /// UPDATE of one column.
    Update {
        /// Of which table.
        table: String,
        /// Which column.
        column: String,
        /// Its new value.
        value: Term,
        /// WHERE: all of these.
        filter: Vec<Term>,
    },
    /// DELETE.
    Delete {
        /// From which table.
        table: String,
        /// WHERE: all of these.
        filter: Vec<Term>,
    },
}

impl Change {
    /// Draws a change of one of the tables.
    pub(super) fn drawn(drawer: &mut Drawer<'_>, tables: &[Table]) -> Change {
        let table = pick(drawer.dice, tables);
        let rival = drawer.rival;
        match drawer.dice.below(10) {
            0..3 => {
                let count = 1 + drawer.dice.below(3);
                let mut rows = Vec::new();
                for _ in 0..count {
                    let id = drawer.dice.below(60) as i64;
                    rows.push(table.row(drawer.dice, id, rival));
                }
                Change::Insert { table: table.name.clone(), rows }
            }
            3..5 => {
                let wanted: Vec<Wish> =
                    table.columns.iter().map(|column| Wish::of(column.held.kind())).collect();
                let query = drawer.inner(|drawer| drawer.query(&[], Some(&wanted)));
                Change::InsertQuery { table: table.name.clone(), query }
            }
            5..8 => Change::update(drawer, table),
            _ => {
                let filter = Change::filter(drawer, table);
                Change::Delete { table: table.name.clone(), filter }
            }
        }
    }

    fn update(drawer: &mut Drawer<'_>, table: &Table) -> Change {
        let columns: Vec<_> = table.columns.iter().filter(|column| !column.is_unique).collect();
        let filter = Change::filter(drawer, table);
        let Some(column) = columns.first().map(|_| *pick(drawer.dice, &columns)) else {
            return Change::Delete { table: table.name.clone(), filter };
        };
        let wish = Wish { kind: column.held.kind(), is_plain: true };
        let value = drawer.term(wish, &seen_of(table), 2);
        let (table, column) = (table.name.clone(), column.name.clone());
        Change::Update { table, column, value, filter }
    }

    fn filter(drawer: &mut Drawer<'_>, table: &Table) -> Vec<Term> {
        let seen = seen_of(table);
        let wish = Wish::of(database::Kind::Boolean);
        let mut filter = vec![drawer.term(wish, &seen, 2)];
        if chance(drawer.dice, 40) {
            filter.push(drawer.term(wish, &seen, 2));
        }
        filter
    }

    /// Whether a term anywhere in it is so.
    pub(super) fn has(&self, is: &dyn Fn(&Term) -> bool) -> bool {
        match self {
            Change::Insert { .. } => false,
            Change::InsertQuery { query, .. } => query.has(is),
            Change::Update { value, filter, .. } => {
                value.has(is) || filter.iter().any(|term| term.has(is))
            }
            Change::Delete { filter, .. } => filter.iter().any(|term| term.has(is)),
        }
    }

    /// Writes it.
    pub(super) fn text(&self, dialect: Dialect) -> String {
        let mut out = String::new();
        // A text takes whatever is written.
        let filter = match self {
            Change::Insert { table, rows } => return insert(table, rows, dialect),
            Change::InsertQuery { table, query } => {
                let _ = write!(out, "insert into {table} ");
                query.write(dialect, &mut out);
                return out;
            }
            Change::Update { table, column, value, filter } => {
                let _ = write!(out, "update {table} set {column} = ");
                value.write(dialect, &mut out);
                filter
            }
            Change::Delete { table, filter } => {
                let _ = write!(out, "delete from {table}");
                filter
            }
        };
        if !filter.is_empty() {
            out.push_str(" where ");
            conjunction(filter, dialect, &mut out);
        }
        out
    }
}

/// The columns of a table under its own name.
fn seen_of(table: &Table) -> Vec<Seen> {
    let relation = Relation::of_table(table);
    relation.seen(&table.name)
}

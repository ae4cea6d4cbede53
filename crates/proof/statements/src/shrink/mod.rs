//! A case that fails, made smaller as long as it fails.
//!
//! ```text
//!   statements ─▶ view, indexes, CHECK ─▶ rows ─▶ columns ─▶ tables ─▶ parts of statements
//!        ▲                                                                   │
//!        └────────────────────── again, while something went ────────────────┘
//! ```
//!
//! Nothing is known here of why a case fails: a smaller one is tried, and kept if it fails too, in
//! the same manner, which the caller says. A part that others need makes all programs refuse the
//! statement, and so the case doesn't fail.
//!
//! Invariant: what is returned fails, and was found with at most so many tries as were given.
//!
//! Callers: `differential`, `metamorphic`.

mod parts;

use std::ops::Range;

use crate::generate::{Case, Change, Statement};
use parts::{smaller_queries, smaller_terms, without_each};

/// The smallest case that was found with so many tries.
pub fn shrink(case: &Case, tries: u32, fails: &mut dyn FnMut(&Case) -> bool) -> Case {
    let mut shrinking = Shrinking { best: case.clone(), tries, fails };
    loop {
        let before = shrinking.best.clone();
        shrinking.statements();
        shrinking.surroundings();
        shrinking.rows();
        shrinking.columns();
        shrinking.tables();
        shrinking.parts();
        if shrinking.best == before || shrinking.tries == 0 {
            return shrinking.best;
        }
    }
}

struct Shrinking<'f> {
    best: Case,
    tries: u32,
    fails: &'f mut dyn FnMut(&Case) -> bool,
}

impl Shrinking<'_> {
    /// Keeps a smaller case if it fails.
    fn keep(&mut self, smaller: Case) -> bool {
        if self.tries == 0 || smaller == self.best {
            return false;
        }
        self.tries -= 1;
        let fails = (self.fails)(&smaller);
        if fails {
            self.best = smaller;
        }
        fails
    }

    /// Takes runs of things out: halves first, single ones in the end.
    fn take_out(&mut self, count: impl Fn(&Case) -> usize, take: impl Fn(&mut Case, Range<usize>)) {
        let mut run = count(&self.best).div_ceil(2).max(1);
        loop {
            let mut at = 0;
            while at < count(&self.best) {
                let end = (at + run).min(count(&self.best));
                let mut smaller = self.best.clone();
                take(&mut smaller, at..end);
                if !self.keep(smaller) {
                    at = end;
                }
            }
            if run == 1 {
                return;
            }
            run = run.div_ceil(2);
        }
    }

    fn statements(&mut self) {
        self.take_out(|case| case.statements.len(), |case, range| _ = case.statements.drain(range));
    }

    fn surroundings(&mut self) {
        let mut smaller = self.best.clone();
        smaller.view = None;
        self.keep(smaller);
        for table in 0..self.best.tables.len() {
            let mut smaller = self.best.clone();
            smaller.tables[table].forbidden = None;
            self.keep(smaller);
            self.take_out(
                |case| case.tables[table].indexes.len(),
                |case, range| _ = case.tables[table].indexes.drain(range),
            );
        }
    }

    fn rows(&mut self) {
        for table in 0..self.best.tables.len() {
            self.take_out(
                |case| case.tables[table].rows.len(),
                |case, range| _ = case.tables[table].rows.drain(range),
            );
        }
    }

    /// Takes columns out; the first one is the key, and stays.
    fn columns(&mut self) {
        for table in 0..self.best.tables.len() {
            let mut place = self.best.tables[table].columns.len() - 1;
            while place > 0 {
                let mut smaller = self.best.clone();
                take_column(&mut smaller, table, place);
                self.keep(smaller);
                place -= 1;
            }
        }
    }

    fn tables(&mut self) {
        let mut table = 0;
        while table < self.best.tables.len() && self.best.tables.len() > 1 {
            let mut smaller = self.best.clone();
            smaller.tables.remove(table);
            if !self.keep(smaller) {
                table += 1;
            }
        }
    }

    /// Makes each statement smaller, as far as it goes.
    fn parts(&mut self) {
        let mut at = 0;
        while at < self.best.statements.len() {
            let mut is_done = false;
            while !is_done && self.tries > 0 {
                let all = smaller_statements(&self.best.statements[at]);
                is_done = !all.into_iter().any(|statement| {
                    let mut smaller = self.best.clone();
                    smaller.statements[at] = statement;
                    self.keep(smaller)
                });
            }
            at += 1;
        }
        if let Some(view) = self.best.view.clone() {
            let _ = smaller_queries(&view).into_iter().any(|query| {
                let smaller = Case { view: Some(query), ..self.best.clone() };
                self.keep(smaller)
            });
        }
    }
}

/// Takes a column out of a table: of its rows, and of indexes and rules that have it.
fn take_column(case: &mut Case, table: usize, place: usize) {
    let table = &mut case.tables[table];
    table.columns.remove(place);
    table.rows.iter_mut().for_each(|row| _ = row.remove(place));
    table.indexes.retain(|index| !index.columns.contains(&place));
    for index in &mut table.indexes {
        index.columns.iter_mut().filter(|column| **column > place).for_each(|column| *column -= 1);
    }
    table.forbidden = match table.forbidden {
        Some(rule) if rule.column == place => None,
        Some(mut rule) => {
            rule.column -= usize::from(rule.column > place);
            Some(rule)
        }
        None => None,
    };
}

/// The statement with one part less, or a smaller part, in every way.
fn smaller_statements(statement: &Statement) -> Vec<Statement> {
    match statement {
        Statement::Query(query) => {
            smaller_queries(query).into_iter().map(Statement::Query).collect()
        }
        Statement::Change(change) => {
            smaller_changes(change).into_iter().map(Statement::Change).collect()
        }
        Statement::Words(_) => Vec::new(),
    }
}

fn smaller_changes(change: &Change) -> Vec<Change> {
    let mut all = Vec::new();
    match change {
        Change::Insert { table, rows } => {
            let fewer = without_each(rows).into_iter().filter(|rows| !rows.is_empty());
            all.extend(fewer.map(|rows| Change::Insert { table: table.clone(), rows }));
        }
        Change::InsertQuery { table, query } => {
            let smaller = smaller_queries(query).into_iter();
            all.extend(smaller.map(|query| Change::InsertQuery { table: table.clone(), query }));
        }
        Change::Update { table, column, value, filter } => {
            let (table, column) = (table.clone(), column.clone());
            let of = |value, filter| Change::Update {
                table: table.clone(),
                column: column.clone(),
                value,
                filter,
            };
            all.extend(parts::smaller_lists(filter).into_iter().map(|it| of(value.clone(), it)));
            all.extend(smaller_terms(value).into_iter().map(|it| of(it, filter.clone())));
        }
        Change::Delete { table, filter } => {
            let smaller = parts::smaller_lists(filter).into_iter();
            all.extend(smaller.map(|filter| Change::Delete { table: table.clone(), filter }));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::Rival;

    /// A fault that needs a LEFT JOIN and a table with two rows at least ends as little more.
    #[test]
    fn a_case_ends_as_what_makes_it_fail() {
        let mut seen = 0;
        for seed in 0..40 {
            let case = Case::drawn(seed, Rival::Postgresql);
            let mut fails = |case: &Case| {
                let is_joined = case.to_string().contains(" left join ");
                is_joined && case.tables.iter().any(|table| table.rows.len() >= 2)
            };
            if !fails(&case) {
                continue;
            }
            seen += 1;
            let small = shrink(&case, 5_000, &mut fails);
            assert!(fails(&small));
            assert!(small.statements.len() <= 1, "{small}");
            let rows: usize = small.tables.iter().map(|table| table.rows.len()).sum();
            assert_eq!(rows, 2, "{small}");
            assert!(small.tables.len() == 1 && small.tables[0].columns.len() == 1, "{small}");
            assert!(small.to_string().len() < 600, "{small}");
        }
        assert!(seen > 5);
    }

    #[test]
    fn no_more_is_tried_than_was_given() {
        let case = Case::drawn(1, Rival::Nobody);
        let mut tried = 0;
        let same = shrink(&case, 10, &mut |_| {
            tried += 1;
            false
        });
        assert_eq!(same, case);
        assert_eq!(tried, 10);
    }
}

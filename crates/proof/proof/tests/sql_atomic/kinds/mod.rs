//! Every kind of statement: a sound one, and ones that a row refuses, by each row in turn.
//!
//! | file | what is in it |
//! |---|---|
//! | `rows` | statements that change, lock or read rows |
//! | `definitions` | statements that define something |

mod definitions;
mod rows;

use std::ops::RangeInclusive;

use database::SqlState;

/// What becomes of the database by a statement that is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Class {
    /// Rows change, or are locked.
    Rows,
    /// Nothing does.
    Query,
    /// A definition changes: it is a transaction of its own.
    Definition,
}

/// A statement.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    pub(crate) text: String,
    /// What a COPY FROM STDIN is given.
    pub(crate) bytes: Option<String>,
}

impl Statement {
    fn of(text: impl Into<String>) -> Statement {
        Statement { text: text.into(), bytes: None }
    }
}

/// A way in which a row refuses a statement.
pub(crate) struct Break {
    pub(crate) what: &'static str,
    /// With which SQLSTATE; none: whatever it is.
    pub(crate) state: Option<SqlState>,
    /// The rows that can.
    pub(crate) rows: RangeInclusive<i64>,
    /// The statement that this row refuses.
    pub(crate) statement: fn(i64) -> Statement,
    pub(crate) arranged: Option<Arranged>,
}

/// What another session does before, so that the row refuses the statement, and takes back behind.
#[derive(Clone, Copy)]
pub(crate) struct Arranged {
    pub(crate) before: fn(i64) -> String,
    pub(crate) after: fn(i64) -> String,
}

/// A kind of statement.
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) class: Class,
    /// A sound one, about many rows.
    pub(crate) whole: fn() -> Statement,
    pub(crate) breaks: Vec<Break>,
    /// What a halt may leave of it, if it is two transactions (see README of `sql`).
    pub(crate) halfway: Option<Halfway>,
}

/// What is there when the first of two transactions is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Halfway {
    /// The table, without rows.
    Empty(&'static str),
    /// All but a constraint.
    Unconstrained,
}

impl Kind {
    fn of(name: &'static str, class: Class, whole: fn() -> Statement) -> Kind {
        Kind { name, class, whole, breaks: Vec::new(), halfway: None }
    }

    /// The same, which these rows refuse.
    fn breaking(
        mut self,
        what: &'static str,
        state: SqlState,
        rows: RangeInclusive<i64>,
        statement: fn(i64) -> Statement,
    ) -> Kind {
        self.breaks.push(Break { what, state: Some(state), rows, statement, arranged: None });
        self
    }

    /// The last way needs something to be done before.
    fn arranged(mut self, before: fn(i64) -> String, after: fn(i64) -> String) -> Kind {
        let last = self.breaks.last_mut().expect("a way was just added");
        last.arranged = Some(Arranged { before, after });
        self
    }

    /// Something refuses it that no row of its own is.
    fn refused(mut self, what: &'static str, statement: fn(i64) -> Statement) -> Kind {
        let (state, rows, arranged) = (None, 1..=1, None);
        self.breaks.push(Break { what, state, rows, statement, arranged });
        self
    }

    /// In how many ways, and by how many rows each, it can be refused.
    pub(crate) fn places(&self) -> usize {
        self.breaks.iter().map(|one| one.rows.clone().count()).sum()
    }
}

/// All kinds.
pub(crate) fn kinds() -> Vec<Kind> {
    let mut all = rows::kinds();
    all.extend(definitions::kinds());
    all
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn kinds_have_names_of_their_own_and_say_where_they_break() {
        let all = kinds();
        let names: BTreeSet<&str> = all.iter().map(|kind| kind.name).collect();
        assert_eq!(names.len(), all.len());
        for kind in &all {
            for one in &kind.breaks {
                let texts = one.rows.clone().map(|row| {
                    let Statement { text, bytes } = (one.statement)(row);
                    let before = one.arranged.map(|arranged| (arranged.before)(row));
                    (before, text, bytes)
                });
                let texts: BTreeSet<_> = texts.collect();
                let count = one.rows.clone().count();
                assert_eq!(texts.len(), count, "{}, {}: a row twice", kind.name, one.what);
            }
        }
        assert!(all.iter().map(Kind::places).sum::<usize>() > 1_500);
    }
}

//! Queries as trees.
//!
//! The columns of a query are called `c1`, `c2`, ... in their order; an outer query reads them by
//! these names. SQLite takes no brackets around a part of UNION, so a part that is more than a
//! plain SELECT is written as `SELECT * FROM (...)` for everybody.
//!
//! Callers: `draw` makes them, `case` writes them, `shrink` takes parts out.

use std::fmt::Write;

use database::Kind;

use super::dialect::Dialect;
use super::term::Term;

/// A query.
#[derive(Clone, PartialEq, Debug)]
pub struct Query {
    /// WITH.
    pub with: Vec<Common>,
    /// What gives the rows.
    pub body: Body,
    /// ORDER BY all columns; empty: no order.
    pub order: Vec<Key>,
    /// LIMIT, only with an order.
    pub limit: Option<u64>,
    /// OFFSET, only with an order.
    pub offset: Option<u64>,
}

/// A query of WITH.
#[derive(Clone, PartialEq, Debug)]
pub struct Common {
    /// Its name.
    pub name: String,
    /// AS MATERIALIZED.
    pub is_materialized: bool,
    /// Its rows.
    pub query: Query,
}

/// What gives the rows of a query.
#[derive(Clone, PartialEq, Debug)]
pub enum Body {
    /// SELECT.
    Select(Box<Select>),
    /// UNION and its like.
    Set {
        /// Which one.
        operator: SetOperator,
        /// The first rows.
        left: Box<Query>,
        /// The others.
        right: Box<Query>,
    },
}

/// UNION and its like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SetOperator {
    /// UNION.
    Union,
    /// UNION ALL.
    UnionAll,
    /// INTERSECT.
    Intersect,
    /// INTERSECT ALL.
    IntersectAll,
    /// EXCEPT.
    Except,
    /// EXCEPT ALL.
    ExceptAll,
}

/// SELECT.
#[derive(Clone, PartialEq, Debug)]
pub struct Select {
    /// DISTINCT.
    pub is_distinct: bool,
    /// The columns.
    pub items: Vec<Term>,
    /// The sources; empty: none.
    pub from: Vec<Join>,
    /// WHERE: all of these.
    pub filter: Vec<Term>,
    /// GROUP BY.
    pub groups: Vec<Term>,
    /// HAVING: all of these.
    pub having: Vec<Term>,
}

/// A source, and how it is joined with those before it.
#[derive(Clone, PartialEq, Debug)]
pub struct Join {
    /// How; of the first source it doesn't count.
    pub kind: JoinKind,
    /// The source.
    pub source: Source,
    /// ON: all of these.
    pub on: Vec<Term>,
}

/// How sources are joined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JoinKind {
    /// CROSS JOIN.
    Cross,
    /// JOIN.
    Inner,
    /// LEFT JOIN.
    Left,
    /// RIGHT JOIN.
    Right,
    /// FULL JOIN.
    Full,
}

/// A source of rows.
#[derive(Clone, PartialEq, Debug)]
pub struct Source {
    /// What it is called in the statement.
    pub alias: String,
    /// What it is.
    pub of: SourceOf,
}

/// What a source is.
#[derive(Clone, PartialEq, Debug)]
pub enum SourceOf {
    /// A table, a view, or a query of WITH.
    Name(String),
    /// A query.
    Query {
        /// The query.
        query: Box<Query>,
        /// LATERAL.
        is_lateral: bool,
    },
}

/// A column of ORDER BY.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Key {
    /// DESC.
    pub is_descending: bool,
    /// NULLS FIRST or LAST, if it is said.
    pub nulls_first: Option<bool>,
}

impl Query {
    /// A query without order.
    pub(super) fn of(body: Body) -> Query {
        Query { with: Vec::new(), body, order: Vec::new(), limit: None, offset: None }
    }

    /// The columns, as the terms of the first SELECT.
    pub fn items(&self) -> &[Term] {
        match &self.body {
            Body::Select(select) => &select.items,
            Body::Set { left, .. } => left.items(),
        }
    }

    /// The kinds of the columns.
    pub fn kinds(&self) -> Vec<Kind> {
        self.items().iter().map(Term::kind).collect()
    }

    /// Whether a term anywhere in it is so.
    pub(super) fn has(&self, is: &dyn Fn(&Term) -> bool) -> bool {
        self.with.iter().any(|common| common.query.has(is))
            || match &self.body {
                Body::Select(select) => select.has(is),
                Body::Set { left, right, .. } => left.has(is) || right.has(is),
            }
    }

    /// Writes it.
    pub(super) fn write(&self, dialect: Dialect, out: &mut String) {
        for (number, common) in self.with.iter().enumerate() {
            out.push_str(if number == 0 { "with " } else { ", " });
            let how = if common.is_materialized { "as materialized" } else { "as" };
            // A text takes whatever is written.
            let _ = write!(out, "{} {how} (", common.name);
            common.query.write(dialect, out);
            out.push_str(if number + 1 == self.with.len() { ") " } else { ")" });
        }
        match &self.body {
            Body::Select(select) => select.write(dialect, out),
            Body::Set { operator, left, right } => {
                left.write_part(dialect, out);
                let _ = write!(out, " {} ", operator.word());
                right.write_part(dialect, out);
            }
        }
        for (place, key) in self.order.iter().enumerate() {
            out.push_str(if place == 0 { " order by " } else { ", " });
            let _ = write!(out, "{}{}", place + 1, key.words(dialect));
        }
        if let Some(limit) = self.limit {
            let _ = write!(out, " limit {limit}");
        }
        if let Some(offset) = self.offset {
            let _ = write!(out, " offset {offset}");
        }
    }

    /// Writes it as a part of UNION.
    fn write_part(&self, dialect: Dialect, out: &mut String) {
        let is_plain = self.with.is_empty() && self.order.is_empty() && self.limit.is_none();
        match (&self.body, is_plain) {
            (Body::Select(select), true) => select.write(dialect, out),
            _ => {
                out.push_str("SELECT * from (");
                self.write(dialect, out);
                out.push_str(") as part");
            }
        }
    }
}

impl SetOperator {
    fn word(self) -> &'static str {
        match self {
            SetOperator::Union => "union",
            SetOperator::UnionAll => "union all",
            SetOperator::Intersect => "intersect",
            SetOperator::IntersectAll => "intersect all",
            SetOperator::Except => "except",
            SetOperator::ExceptAll => "except all",
        }
    }
}

impl Key {
    /// What is written behind the column. SQLite has NULLs first in a rising order if nothing is
    /// said, so it is told what the others do by themselves.
    fn words(self, dialect: Dialect) -> &'static str {
        let nulls_first = match (self.nulls_first, dialect) {
            (None, Dialect::Sqlite) => Some(self.is_descending),
            (said, _) => said,
        };
        match (self.is_descending, nulls_first) {
            (false, None) => "",
            (true, None) => " desc",
            (false, Some(true)) => " nulls first",
            (false, Some(false)) => " nulls last",
            (true, Some(true)) => " desc nulls first",
            (true, Some(false)) => " desc nulls last",
        }
    }
}

impl Select {
    fn has(&self, is: &dyn Fn(&Term) -> bool) -> bool {
        let terms = [&self.items, &self.filter, &self.groups, &self.having];
        terms.into_iter().flatten().any(|term| term.has(is))
            || self.from.iter().any(|join| {
                join.on.iter().any(|term| term.has(is))
                    || matches!(&join.source.of, SourceOf::Query { query, .. } if query.has(is))
            })
    }

    fn write(&self, dialect: Dialect, out: &mut String) {
        out.push_str(if self.is_distinct { "SELECT distinct " } else { "SELECT " });
        for (place, item) in self.items.iter().enumerate() {
            out.push_str(if place == 0 { "" } else { ", " });
            item.write(dialect, out);
            // A text takes whatever is written.
            let _ = write!(out, " as c{}", place + 1);
        }
        for (place, join) in self.from.iter().enumerate() {
            out.push_str(if place == 0 { " from " } else { join.kind.words() });
            join.source.write(dialect, out);
            if place > 0 && join.kind != JoinKind::Cross {
                out.push_str(" on ");
                conjunction(&join.on, dialect, out);
            }
        }
        if !self.filter.is_empty() {
            out.push_str(" where ");
            conjunction(&self.filter, dialect, out);
        }
        let is_column = |term: &Term| matches!(term, Term::Column { .. });
        for (place, group) in self.groups.iter().enumerate() {
            out.push_str(if place == 0 { " group by " } else { ", " });
            // SQLite takes `- 17` for the number of a column.
            let is_plain = dialect != Dialect::Sqlite || group.has(&is_column);
            out.push_str(if is_plain { "" } else { "coalesce(" });
            group.write(dialect, out);
            out.push_str(if is_plain { "" } else { ", null)" });
        }
        if !self.having.is_empty() {
            out.push_str(" having ");
            conjunction(&self.having, dialect, out);
        }
    }
}

/// Writes all of these, joined by AND; of none, TRUE.
pub(super) fn conjunction(terms: &[Term], dialect: Dialect, out: &mut String) {
    if terms.is_empty() {
        out.push_str("true");
    }
    for (number, term) in terms.iter().enumerate() {
        out.push_str(if number == 0 { "" } else { " and " });
        term.write(dialect, out);
    }
}

impl JoinKind {
    fn words(self) -> &'static str {
        match self {
            JoinKind::Cross => " cross join ",
            JoinKind::Inner => " join ",
            JoinKind::Left => " left join ",
            JoinKind::Right => " right join ",
            JoinKind::Full => " full join ",
        }
    }
}

impl Source {
    fn write(&self, dialect: Dialect, out: &mut String) {
        match &self.of {
            SourceOf::Name(name) => out.push_str(name),
            SourceOf::Query { query, is_lateral } => {
                out.push_str(if *is_lateral { "lateral (" } else { "(" });
                query.write(dialect, out);
                out.push(')');
            }
        }
        // A text takes whatever is written.
        let _ = write!(out, " as {}", self.alias);
    }
}

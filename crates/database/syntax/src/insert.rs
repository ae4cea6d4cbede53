//! INSERT.
//!
//! ```text
//!   [WITH ...] INSERT [INTO] table [[AS] alias] [(columns)] [OVERRIDING {SYSTEM|USER} VALUE]
//!     {DEFAULT VALUES | VALUES (..), (..) | query}
//!     [ON CONFLICT [(columns) | ON CONSTRAINT name] DO {NOTHING | UPDATE SET ... [WHERE ...]}]
//!     [RETURNING ...]
//! ```
//!
//! Callers: `statement`.
//! Sources: PostgreSQL's documentation, "INSERT"; Oracle for the hint APPEND.

use sqlparser::ast::{Expr, Ident, Query, SelectItem, With};

use crate::assignment::{Assignment, Given};
use crate::error::SyntaxError;
use crate::names::Name;
use crate::reader::Reader;

/// INSERT.
#[derive(Clone, PartialEq, Debug)]
pub struct Insert {
    /// The WITH clause.
    pub with: Option<With>,
    /// The table.
    pub table: Name,
    /// The table's name in the statement.
    pub alias: Option<Ident>,
    /// The columns that are given; empty for all.
    pub columns: Vec<Ident>,
    /// What happens to values that are given for an identity column.
    pub overriding: Option<Overriding>,
    /// The new rows.
    pub source: InsertSource,
    /// What happens to a row whose key is there.
    pub on_conflict: Option<OnConflict>,
    /// What the statement gives back of its rows; empty for nothing.
    pub returning: Vec<SelectItem>,
    /// Whether the hint `/*+ APPEND */` asks for the direct path.
    pub appends: bool,
}

/// OVERRIDING ... VALUE.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Overriding {
    /// SYSTEM: the values given are taken, also where the column is GENERATED ALWAYS.
    System,
    /// USER: the values given are ignored.
    User,
}

/// Where the new rows come from.
#[derive(Clone, PartialEq, Debug)]
pub enum InsertSource {
    /// DEFAULT VALUES: one row of defaults.
    Defaults,
    /// VALUES: rows that are written out.
    Values(Vec<Vec<Given>>),
    /// A query.
    Query(Box<Query>),
}

/// ON CONFLICT.
#[derive(Clone, PartialEq, Debug)]
pub struct OnConflict {
    /// The key in question; none for any.
    pub target: Option<ConflictTarget>,
    /// What is done instead.
    pub action: ConflictAction,
}

/// Which key ON CONFLICT means.
#[derive(Clone, PartialEq, Debug)]
pub enum ConflictTarget {
    /// That of these columns.
    Columns(Vec<Ident>),
    /// That of this constraint.
    Constraint(Ident),
}

/// What ON CONFLICT does.
#[derive(Clone, PartialEq, Debug)]
pub enum ConflictAction {
    /// The new row is left out.
    Nothing,
    /// The row that is there is updated.
    Update {
        /// Its new values; `excluded` is the row that was to be inserted.
        set: Vec<Assignment>,
        /// Which of the rows that are there are updated.
        filter: Option<Box<Expr>>,
    },
}

impl Insert {
    pub(crate) fn read(reader: &mut Reader<'_>, with: Option<With>) -> Result<Insert, SyntaxError> {
        reader.expect("insert")?;
        reader.refuse("all, first, or, overwrite, ignore")?;
        reader.take("into");
        let table = reader.object("the name of a table")?;
        let alias = reader.alias(&["values", "overriding", "select"])?;
        let columns = match reader.sees_open() && !reader.sees_query_in_brackets() {
            true => reader.names("the name of a column")?,
            false => Vec::new(),
        };
        let overriding = match () {
            () if reader.take("overriding system value") => Some(Overriding::System),
            () if reader.take("overriding user value") => Some(Overriding::User),
            () => None,
        };
        let source = InsertSource::read(reader)?;
        let on_conflict = match reader.take("on conflict") {
            true => Some(OnConflict::read(reader)?),
            false => None,
        };
        let returning = reader.returning()?;
        let appends = reader.asks_append;
        Ok(Insert {
            with,
            table,
            alias,
            columns,
            overriding,
            source,
            on_conflict,
            returning,
            appends,
        })
    }
}

impl InsertSource {
    fn read(reader: &mut Reader<'_>) -> Result<InsertSource, SyntaxError> {
        if reader.take("default values") {
            return Ok(InsertSource::Defaults);
        }
        if reader.take("values") {
            let rows = reader.list(|reader| reader.bracketed(|reader| reader.list(Given::read)))?;
            return Ok(InsertSource::Values(rows));
        }
        let is_query = reader.sees("select") || reader.sees("with") || reader.sees("table");
        match is_query || reader.sees_open() {
            true => reader.query().map(InsertSource::Query),
            false => Err(reader.wrong()),
        }
    }
}

impl OnConflict {
    fn read(reader: &mut Reader<'_>) -> Result<OnConflict, SyntaxError> {
        let target = match () {
            () if reader.take("on constraint") => {
                Some(ConflictTarget::Constraint(reader.name("the name of a constraint")?))
            }
            () if reader.sees_open() => {
                Some(ConflictTarget::Columns(reader.names("the name of a column")?))
            }
            () => None,
        };
        if reader.sees("where") {
            return Err(reader.unsupported("WHERE behind the columns of ON CONFLICT"));
        }
        if reader.take("do nothing") {
            return Ok(OnConflict { target, action: ConflictAction::Nothing });
        }
        reader.expect("do update set")?;
        let set = Assignment::read_list(reader)?;
        let filter = reader.filter()?.map(Box::new);
        Ok(OnConflict { target, action: ConflictAction::Update { set, filter } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Statement;
    use crate::testing::{refused, statement};

    fn insert(text: &str) -> Insert {
        match statement(text) {
            Statement::Insert(insert) => *insert,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn rows_are_written_out_or_queried() {
        let found = insert("INSERT INTO s.T AS x (A, \"B\") VALUES (1, DEFAULT), (-2, 'b' || 'c')");
        assert_eq!((found.table.to_string(), found.columns.len()), ("s.t".into(), 2));
        assert_eq!(found.alias.map(|alias| alias.value), Some("x".into()));
        let InsertSource::Values(rows) = found.source else { panic!("{:?}", found.source) };
        assert_eq!((rows.len(), &rows[0][1]), (2, &Given::Default));
        assert!(matches!(insert("insert into t default values").source, InsertSource::Defaults));
        for query in [
            "select 1",
            "(select 1) union select 2",
            "with a as (select 1) select * from a",
            "(with a as (select 1) select * from a)",
            "table u",
        ] {
            let found = insert(&format!("insert into t {query}"));
            assert!(matches!(found.source, InsertSource::Query(_)), "{query}");
            let found = insert(&format!("insert into t (a) {query} returning a, b as c"));
            assert_eq!((found.columns.len(), found.returning.len()), (1, 2), "{query}");
        }
        let found = insert("with a as (select 1) insert into t select * from a");
        assert!(found.with.is_some());
    }

    /// One that stands alone isn't read by the parser; what stands behind it decides.
    #[test]
    fn a_literal_goes_on_with_what_stands_behind_it() {
        let first = |value: &str| {
            let found = insert(&format!("insert into t values ({value}, 2), (3, 4)"));
            let InsertSource::Values(rows) = found.source else { panic!("{value}") };
            assert_eq!((rows.len(), rows[0].len()), (2, 2), "{value}");
            match rows.into_iter().flatten().next() {
                Some(Given::Expression(expr)) => *expr,
                other => panic!("{value}: {other:?}"),
            }
        };
        for literal in [
            "1",
            "1.",
            ".5",
            "1e5",
            "1 /* one */",
            "'it''s'",
            r"E'it\'s'",
            "x'1f'",
            "'a' -- and\n 'b'",
            "$$a, b)$$",
            "$1",
            ":a",
        ] {
            assert!(matches!(first(literal), Expr::Value(_)), "{literal}");
        }
        for longer in [
            "1::text",
            "1 + 2",
            "1 <> 2",
            "1 is null",
            "1 is not distinct from 2",
            "1 between 0 and 2",
            "1 in (2, 3)",
            "'a' || 'b'",
            "'a' not like 'b'",
            "'a' collate \"C\"",
            "'2020-02-02' at time zone 'utc'",
            ":a and :b",
        ] {
            assert!(!matches!(first(longer), Expr::Value(_)), "{longer}");
        }
        for wrong in ["'a' 'b'", "1 a", "0x1f", "1 as b", "1;"] {
            refused(&format!("insert into t values ({wrong}, 2)"));
        }
    }

    #[test]
    fn a_conflict_has_a_target_and_an_action() {
        let found = insert("insert into t values (1) on conflict do nothing").on_conflict;
        let nothing = OnConflict { target: None, action: ConflictAction::Nothing };
        assert_eq!(found, Some(nothing));
        let text = "insert into t values (1) on conflict (a, b) do update \
                    set c = excluded.c + 1, d = default where t.c > 0 returning *";
        let found = insert(text);
        assert_eq!(found.returning.len(), 1);
        let conflict = found.on_conflict.expect("a conflict");
        assert!(matches!(conflict.target, Some(ConflictTarget::Columns(of)) if of.len() == 2));
        let ConflictAction::Update { set, filter } = conflict.action else { panic!() };
        assert_eq!((set.len(), filter.is_some()), (2, true));
        let text = "insert into t values (1) on conflict on constraint k do nothing";
        let target = insert(text).on_conflict.expect("a conflict").target;
        assert!(matches!(target, Some(ConflictTarget::Constraint(_))));
    }

    #[test]
    fn the_direct_path_is_asked_for_by_a_hint() {
        assert!(insert("insert /*+ append */ into t select * from u").appends);
        assert!(!insert("insert into t select * from u").appends);
    }

    #[test]
    fn what_is_wrong_is_named_with_what_was_expected() {
        let said = refused("insert into t (a)");
        assert!(said.contains("end of the text; expected OVERRIDING SYSTEM VALUE"), "{said}");
        assert!(said.contains("DEFAULT VALUES, VALUES, SELECT, WITH or TABLE"), "{said}");
        assert!(refused("insert into t values (1) where a = 1").contains("near \"where\""));
        assert!(refused("insert into t values 1").contains("expected ("));
        assert!(refused("insert into values (1)").contains("near \"1\""));
        assert!(refused("insert or replace into t values (1)").contains("OR isn't supported"));
        let said = refused("insert into order values (1)");
        assert!(said.contains("write \"order\""), "{said}");
    }
}

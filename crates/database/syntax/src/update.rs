//! UPDATE and DELETE.
//!
//! ```text
//!   [WITH ...] UPDATE table [[AS] alias] SET assignments [FROM tables] [WHERE ...] [RETURNING ...]
//!   [WITH ...] DELETE [FROM] table [[AS] alias] [USING tables] [WHERE ...] [RETURNING ...]
//! ```
//!
//! Callers: `statement`.
//! Sources: PostgreSQL's documentation, "UPDATE" and "DELETE".

use sqlparser::ast::{Expr, Ident, SelectItem, TableWithJoins, With};

use crate::assignment::Assignment;
use crate::error::SyntaxError;
use crate::names::Name;
use crate::reader::Reader;

/// UPDATE.
#[derive(Clone, PartialEq, Debug)]
pub struct Update {
    /// The WITH clause.
    pub with: Option<With>,
    /// The table.
    pub table: Name,
    /// The table's name in the statement.
    pub alias: Option<Ident>,
    /// The new values.
    pub set: Vec<Assignment>,
    /// FROM: tables that are joined to it.
    pub from: Vec<TableWithJoins>,
    /// WHERE.
    pub filter: Option<Expr>,
    /// What the statement gives back of its rows; empty for nothing.
    pub returning: Vec<SelectItem>,
}

/// DELETE.
#[derive(Clone, PartialEq, Debug)]
pub struct Delete {
    /// The WITH clause.
    pub with: Option<With>,
    /// The table.
    pub table: Name,
    /// The table's name in the statement.
    pub alias: Option<Ident>,
    /// USING: tables that are joined to it.
    pub using: Vec<TableWithJoins>,
    /// WHERE.
    pub filter: Option<Expr>,
    /// What the statement gives back of its rows; empty for nothing.
    pub returning: Vec<SelectItem>,
}

impl Update {
    pub(crate) fn read(reader: &mut Reader<'_>, with: Option<With>) -> Result<Update, SyntaxError> {
        reader.expect("update")?;
        reader.refuse("or, only")?;
        let table = reader.object("the name of a table")?;
        let alias = reader.alias(&["set"])?;
        reader.expect("set")?;
        let set = Assignment::read_list(reader)?;
        let from = match reader.take("from") {
            true => reader.tables()?,
            false => Vec::new(),
        };
        let filter = reader.filter()?;
        let returning = reader.returning()?;
        Ok(Update { with, table, alias, set, from, filter, returning })
    }
}

impl Delete {
    pub(crate) fn read(reader: &mut Reader<'_>, with: Option<With>) -> Result<Delete, SyntaxError> {
        reader.expect("delete")?;
        reader.take("from");
        reader.refuse("only")?;
        let table = reader.object("the name of a table")?;
        let alias = reader.alias(&[])?;
        let using = match reader.take("using") {
            true => reader.tables()?,
            false => Vec::new(),
        };
        let filter = reader.filter()?;
        let returning = reader.returning()?;
        Ok(Delete { with, table, alias, using, filter, returning })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assignment::Given;
    use crate::testing::{refused, statement};
    use crate::{Parsed, Statement, parse};

    fn update(text: &str) -> Update {
        match statement(text) {
            Statement::Update(update) => *update,
            other => panic!("{other:?}"),
        }
    }

    fn delete(text: &str) -> Delete {
        match statement(text) {
            Statement::Delete(delete) => *delete,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_update_has_all_its_clauses() {
        let text = "with w as (select 1) update T x set a = 1, x.b = default, (c, d) = (2, 3), \
                    (e, f) = (select 1, 2) from u join v on u.i = v.i, w \
                    where x.i = u.i returning *, a + 1 as n";
        let found = update(text);
        assert_eq!((found.set.len(), found.from.len(), found.returning.len()), (5, 2, 2));
        assert!(found.with.is_some() && found.filter.is_some());
        let Assignment::Column { column, value } = &found.set[1] else { panic!() };
        assert_eq!((column.value.as_str(), value), ("b", &Given::Default));
        assert!(matches!(&found.set[4], Assignment::Columns { columns, .. } if columns.len() == 2));
        assert_eq!(found.alias.map(|alias| alias.value), Some("x".into()));
        assert_eq!(update("update t set a = (select 1)").set.len(), 1);
    }

    #[test]
    fn a_delete_has_all_its_clauses() {
        let found = delete("delete from s.t as x using u, v where x.i = u.i returning x.i");
        assert_eq!((found.using.len(), found.returning.len()), (2, 1));
        assert_eq!(found.table.to_string(), "s.t");
        let found = delete("delete t");
        assert_eq!((found.alias, found.filter, found.using.len()), (None, None, 0));
    }

    #[test]
    fn binds_of_all_clauses_are_numbered_as_they_stand() {
        let Parsed { binds, .. } =
            parse("update t set a = ?, b = ? where c in (?, ?) returning a + ?").expect("sound");
        assert_eq!(binds.count(), 5);
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(refused("update t a = 1").contains("expected SET"));
        assert!(refused("update t set (a, b) = (1)").contains("2 columns and 1 values"));
        assert!(refused("update t set a + 1").contains("near \"+\", line 1 column 16; expected"));
        assert!(refused("delete from only (t, u)").contains("ONLY isn't supported"));
        assert!(refused("delete from t where").contains("expected an expression"));
        assert!(refused("update t set a = 1 order by b").contains("near \"order\""));
    }
}

//! CREATE VIEW.
//!
//! ```text
//!   CREATE [OR REPLACE] VIEW [IF NOT EXISTS] name [(names)] AS query [WITH READ ONLY]
//! ```
//!
//! Callers: `statement`.
//! Sources: PostgreSQL's and Oracle's documentation, "CREATE VIEW".

use sqlparser::ast::{Ident, Query};

use crate::error::SyntaxError;
use crate::names::Name;
use crate::reader::{Reader, Written};

/// CREATE VIEW.
#[derive(Clone, PartialEq, Debug)]
pub struct CreateView {
    /// The view's name.
    pub name: Name,
    /// OR REPLACE.
    pub or_replace: bool,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// Names of the columns; empty for those that the query gives.
    pub columns: Vec<Ident>,
    /// The query.
    pub query: Written<Box<Query>>,
}

impl CreateView {
    pub(crate) fn read(
        reader: &mut Reader<'_>,
        or_replace: bool,
    ) -> Result<CreateView, SyntaxError> {
        reader.refuse("force, materialized, temporary, temp, recursive, editionable")?;
        reader.expect("view")?;
        let if_not_exists = reader.take("if not exists");
        let name = reader.object("the name of the view")?;
        reader.refuse("with")?;
        let columns = match reader.sees_open() {
            true => reader.names("the name of a column")?,
            false => Vec::new(),
        };
        reader.expect("as")?;
        let query = reader.written(|reader| reader.query())?;
        reader.refuse("with check option, with local, with cascaded, with no data")?;
        reader.take("with read only");
        Ok(CreateView { name, or_replace, if_not_exists, columns, query })
    }
}

#[cfg(test)]
mod tests {
    use crate::Statement;
    use crate::testing::{refused, statement};

    #[test]
    fn a_view_keeps_its_text() {
        let text = "create or replace view s.v (a, b) as\n select 1 , 'x;' -- so\n from Dual ;";
        let Statement::CreateView(found) = statement(text) else { panic!() };
        assert!(found.or_replace && !found.if_not_exists);
        assert_eq!(found.query.text, "select 1 , 'x;' -- so\n from Dual");
        assert_eq!((found.columns.len(), found.name.to_string()), (2, "s.v".into()));
        let again = crate::parse_query(&found.query.text).expect("a query");
        assert_eq!(again.to_string(), found.query.tree.to_string());
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(refused("create view v select 1").contains("expected AS"));
        assert!(refused("create materialized view v as select 1").contains("MATERIALIZED"));
        assert!(refused("create view v as select $1").contains("no place for binds"));
        assert!(refused("create view v as select 1 with check option").contains("WITH CHECK"));
        assert!(refused("create or replace table t (a int)").contains("expected VIEW"));
    }
}

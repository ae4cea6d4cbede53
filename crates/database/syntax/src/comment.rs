//! COMMENT ON.
//!
//! ```text
//!   COMMENT ON {TABLE | VIEW | INDEX | SEQUENCE | SCHEMA} name IS {'text' | NULL}
//!   COMMENT ON COLUMN table.column IS ...    COMMENT ON CONSTRAINT name ON table IS ...
//! ```
//!
//! Callers: `statement`.

use sqlparser::ast::Ident;

use crate::error::SyntaxError;
use crate::names::Name;
use crate::reader::Reader;

/// COMMENT ON.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Comment {
    /// What it is about.
    pub on: CommentOn,
    /// The text; none takes it away.
    pub text: Option<String>,
}

/// What a comment is about.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "each is called as what it is")]
pub enum CommentOn {
    /// A table or a view.
    Table(Name),
    Column {
        table: Name,
        column: Ident,
    },
    Index(Name),
    Sequence(Name),
    Schema(Ident),
    Constraint {
        constraint: Ident,
        table: Name,
    },
}

impl Comment {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Comment, SyntaxError> {
        reader.expect("comment")?;
        reader.expect("on")?;
        let on = match () {
            () if reader.take("table") || reader.take("view") => {
                CommentOn::Table(reader.object("the name of a table")?)
            }
            () if reader.take("column") => read_column(reader)?,
            () if reader.take("index") => CommentOn::Index(reader.object("the name of an index")?),
            () if reader.take("sequence") => {
                CommentOn::Sequence(reader.object("the name of a sequence")?)
            }
            () if reader.take("schema") => CommentOn::Schema(reader.name("the name of a schema")?),
            () if reader.take("constraint") => {
                let constraint = reader.name("the name of a constraint")?;
                reader.expect("on")?;
                let table = reader.object("the name of a table")?;
                CommentOn::Constraint { constraint, table }
            }
            () => return Err(reader.wrong()),
        };
        reader.expect("is")?;
        let text = match reader.take("null") {
            true => None,
            false => Some(reader.string("a text in quotes")?),
        };
        Ok(Comment { on, text })
    }
}

/// `table.column` or `schema.table.column`.
fn read_column(reader: &mut Reader<'_>) -> Result<CommentOn, SyntaxError> {
    let mut parts = vec![reader.name("the name of a table")?];
    while parts.len() < 3 && reader.take_mark(".") {
        parts.push(reader.name("the name of a column")?);
    }
    let column = parts.pop().filter(|_| !parts.is_empty());
    let (Some(column), Some(name)) = (column, parts.pop()) else {
        return Err(reader.wrong());
    };
    Ok(CommentOn::Column { table: Name { schema: parts.pop(), name }, column })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Statement;
    use crate::testing::{refused, statement};

    fn comment(text: &str) -> Comment {
        match statement(&format!("comment on {text}")) {
            Statement::Comment(comment) => comment,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_comment_is_about_something_and_may_be_taken_away() {
        let found = comment("table s.t is 'it''s'");
        assert_eq!(found.text.as_deref(), Some("it's"));
        assert!(matches!(found.on, CommentOn::Table(_)));
        let found = comment("column s.t.c is null");
        assert_eq!(found.text, None);
        let CommentOn::Column { table, column } = found.on else { panic!() };
        assert_eq!((table.to_string(), column.value.as_str()), ("s.t".into(), "c"));
        let CommentOn::Column { table, .. } = comment("column t.c is ''").on else { panic!() };
        assert_eq!(table.to_string(), "t");
        assert!(matches!(comment("constraint k on t is 'x'").on, CommentOn::Constraint { .. }));
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(refused("comment on column c is 'x'").contains("expected ."));
        assert!(refused("comment on table t 'x'").contains("expected IS"));
        assert!(refused("comment on function f is 'x'").contains("expected TABLE, VIEW"));
    }
}

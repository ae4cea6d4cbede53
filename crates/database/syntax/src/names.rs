//! Names of objects in statements, and of collations.
//!
//! Callers: all statements; `sql` for the tables of queries.

use std::fmt;

use sqlparser::ast::{Ident, ObjectName, ObjectNamePart};
use sqlparser::tokenizer::Span;

use crate::error::{NOT_SUPPORTED, SyntaxError};
use crate::lexer::start_of;
use crate::words::quote_ident;

/// The name of a table, a view, an index, a sequence. Names without quotes are in small letters
/// already (rule SY3).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Name {
    /// The schema, if it is written.
    pub schema: Option<Ident>,
    /// The name within its schema.
    pub name: Ident,
}

impl Name {
    /// A name in a query's tree.
    pub fn of(object: &ObjectName) -> Result<Name, SyntaxError> {
        let ident = |part: &ObjectNamePart| part.as_ident().cloned();
        let name = match object.0.as_slice() {
            [name] => ident(name).map(|name| Name { schema: None, name }),
            [schema, name] => ident(schema)
                .zip(ident(name))
                .map(|(schema, name)| Name { schema: Some(schema), name }),
            _ => None,
        };
        name.ok_or_else(|| {
            let say = format!("the name {object} isn't supported: a name has one or two parts");
            SyntaxError::new(NOT_SUPPORTED, say)
        })
    }

    /// The byte of the text at which it begins.
    pub fn position(&self) -> Option<usize> {
        start_of(self.span())
    }

    fn span(&self) -> Span {
        self.schema.as_ref().map_or(self.name.span, |schema| schema.span)
    }
}

/// Whether a collation is that of all texts: by their bytes.
pub fn is_bytewise(collation: &str) -> bool {
    let name = collation.to_lowercase().replace('"', "");
    let name = name.strip_prefix("pg_catalog.").unwrap_or(&name);
    matches!(name, "c" | "posix" | "binary" | "default")
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(schema) = &self.schema {
            write!(f, "{}.", quote_ident(&schema.value))?;
        }
        f.write_str(&quote_ident(&self.name.value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_compare_by_their_bytes() {
        for name in ["C", "\"C\"", "pg_catalog.default", "pg_catalog.\"default\""] {
            assert!(is_bytewise(name), "{name}");
        }
        assert!(!is_bytewise("de_DE"));
    }
}

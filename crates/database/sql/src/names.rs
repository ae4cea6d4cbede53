//! Names: how they are folded, and what a qualified one is made of.
//!
//! A name without quotes is folded to lower case, as in PostgreSQL; Oracle folds to upper case. A
//! name in quotes is taken as it is. So `create table Emp` and `select * from EMP` are about one
//! table, called `emp` (rule SQ10).
//!
//! Callers: `bind`, `define`, `session`.

use std::fmt;

use sqlparser::ast::{Ident, ObjectName, ObjectNamePart};
use stop::{SqlState, Stop};

use crate::refuse::{At, Bind, Refused, refuse};

/// The schema of users' tables. There is one, and PostgreSQL's name for it.
pub(crate) const PUBLIC: &str = "public";

/// The name of an object, and of its schema if that was said.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Name {
    /// The schema, if the statement names one.
    pub(crate) schema: Option<String>,
    /// The name itself.
    pub(crate) name: String,
}

impl Name {
    /// A name without a schema.
    pub(crate) fn plain(name: impl Into<String>) -> Name {
        Name { schema: None, name: name.into() }
    }

    /// The name that a statement has written.
    pub(crate) fn of(written: &ObjectName) -> Bind<Name> {
        let parts = parts_of(written)?;
        match &parts[..] {
            [name] => Ok(Name::plain(name.clone())),
            [schema, name] => Ok(Name { schema: Some(schema.clone()), name: name.clone() }),
            [_, schema, name] => Ok(Name { schema: Some(schema.clone()), name: name.clone() }),
            _ => {
                let message = format!("{written} isn't a name: write it as name or schema.name");
                Err(Refused::new(SqlState::SYNTAX_ERROR, At::of(written), message))
            }
        }
    }

    /// The name that one of our own statements has written.
    pub(crate) fn written(name: &syntax::Name) -> Name {
        Name { schema: name.schema.as_ref().map(fold), name: fold(&name.name) }
    }

    /// The name of one of users' objects; refused if it is of another schema.
    pub(crate) fn of_users(written: &syntax::Name) -> Result<String, Stop> {
        let name = Name::written(written);
        match name.schema.as_deref() {
            None | Some(PUBLIC) => Ok(name.name),
            Some(schema) => {
                let message = format!(
                    "schema {schema} can't be used here: users' objects are in schema {PUBLIC}; \
                     leave the schema out"
                );
                Err(refuse(SqlState::INVALID_SCHEMA_NAME, message))
            }
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(schema) = &self.schema {
            write!(f, "{schema}.")?;
        }
        f.write_str(&self.name)
    }
}

/// A name as it is looked for. The parser has folded those without quotes (rule syntax/SY3); names
/// that are made elsewhere may not be.
pub(crate) fn fold(ident: &Ident) -> String {
    match ident.quote_style {
        Some(_) => ident.value.clone(),
        None => ident.value.to_lowercase(),
    }
}

/// The parts of a qualified name, folded.
pub(crate) fn parts_of(written: &ObjectName) -> Bind<Vec<String>> {
    let part = |part: &ObjectNamePart| match part {
        ObjectNamePart::Identifier(ident) => Ok(fold(ident)),
        ObjectNamePart::Function(_) => {
            let message = format!("{written} isn't a name: a part of it is a call");
            Err(Refused::new(SqlState::SYNTAX_ERROR, At::of(written), message))
        }
    };
    written.0.iter().map(part).collect()
}

/// A name that has one part.
pub(crate) fn single(written: &ObjectName, what: &str) -> Bind<String> {
    let mut parts = parts_of(written)?;
    match (parts.pop(), parts.is_empty()) {
        (Some(name), true) => Ok(name),
        _ => {
            let message = format!("{written} isn't the name of a {what}: write one name");
            Err(Refused::new(SqlState::SYNTAX_ERROR, At::of(written), message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_without_quotes_are_folded_and_others_are_not() {
        assert_eq!(fold(&Ident::new("Emp")), "emp");
        assert_eq!(fold(&Ident::with_quote('"', "Emp")), "Emp");
    }

    #[test]
    fn a_name_has_a_schema_if_one_was_written() {
        let name = |parts: &[&str]| {
            Name::of(&ObjectName::from(
                parts.iter().map(|one| Ident::new(*one)).collect::<Vec<_>>(),
            ))
        };
        assert_eq!(name(&["T"]).expect("a name"), Name::plain("t"));
        assert_eq!(name(&["s", "t"]).expect("a name").schema.as_deref(), Some("s"));
        assert!(name(&["a", "b", "c", "d"]).is_err());
    }
}

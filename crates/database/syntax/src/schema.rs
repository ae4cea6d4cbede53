//! CREATE SCHEMA.
//!
//! Callers: `statement`.

use sqlparser::ast::Ident;

use crate::error::SyntaxError;
use crate::reader::Reader;

/// CREATE SCHEMA [IF NOT EXISTS] name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CreateSchema {
    /// The schema's name.
    pub name: Ident,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
}

impl CreateSchema {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<CreateSchema, SyntaxError> {
        reader.expect("schema")?;
        let if_not_exists = reader.take("if not exists");
        reader.refuse("authorization")?;
        let name = reader.name("the name of the schema")?;
        reader.refuse("authorization, create")?;
        Ok(CreateSchema { name, if_not_exists })
    }
}

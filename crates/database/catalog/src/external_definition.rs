//! What external tables are: columns, and a text that says where their rows are and how they are
//! read. The text is SQL's; nothing here understands it, and no file is looked at.
//!
//! Callers: `external_statements`, `texts`; SQL, which reads them.

use ids::ObjectNo;
use value::Type;

/// What an external table is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExternalDefinition {
    /// Its number.
    pub object: ObjectNo,
    /// Its name.
    pub name: String,
    /// Its columns, in the order in which a line has them.
    pub columns: Vec<ExternalColumn>,
    /// Location and options, as a text.
    pub options: String,
}

/// A column of an external table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExternalColumn {
    /// Its name.
    pub name: String,
    /// The type of its values.
    pub kind: Type,
}

//! What the tests of this room's modules share.

use crate::error::SyntaxError;
use crate::statement::{Statement, parse, read};
use crate::types::TypeName;

/// The statement that a text is.
pub(crate) fn statement(text: &str) -> Statement {
    parse(text).unwrap_or_else(|error| panic!("{text}: {error}")).statement
}

/// The message with which a text is refused.
pub(crate) fn refused(text: &str) -> String {
    match parse(text) {
        Ok(parsed) => panic!("{text} was read: {:?}", parsed.statement),
        Err(error) => error.to_string(),
    }
}

/// The type that a text names.
pub(crate) fn cast_type(text: &str) -> Result<TypeName, SyntaxError> {
    read(text, |reader| reader.type_name()).map(|read| read.tree)
}

//! PREPARE, EXECUTE and DEALLOCATE: statements that a session keeps by name.
//!
//! ```text
//!   PREPARE name [(types)] {AS | FROM} statement
//!   EXECUTE name [(expressions)]
//!   DEALLOCATE [PREPARE] {name | ALL}
//! ```
//!
//! Callers: `statement`.
//! Sources: PostgreSQL's documentation, "PREPARE".

use sqlparser::ast::Expr;

use crate::error::SyntaxError;
use crate::reader::Reader;
use crate::statement::{Statement, data_statement};
use crate::types::TypeName;

/// PREPARE.
#[derive(Clone, PartialEq, Debug)]
pub struct Prepare {
    /// The name.
    pub name: String,
    /// The types of its binds, as far as they are written.
    pub types: Vec<TypeName>,
    /// The statement's text, to be read again.
    pub text: String,
    /// The byte of PREPARE's own text with which that begins.
    pub start: usize,
    /// The statement: one that reads or changes rows.
    pub statement: Box<Statement>,
}

/// EXECUTE.
#[derive(Clone, PartialEq, Debug)]
pub struct Execute {
    /// The name.
    pub name: String,
    /// The values of its binds.
    pub values: Vec<Expr>,
}

const NAME: &str = "the name of a prepared statement";

impl Prepare {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Prepare, SyntaxError> {
        reader.expect("prepare")?;
        reader.refuse("transaction")?;
        let name = reader.name(NAME)?.value;
        let types = match reader.sees_open() {
            true => reader.bracketed(|reader| reader.list(|reader| reader.type_name()))?,
            false => Vec::new(),
        };
        if !reader.take("from") {
            reader.expect("as")?;
        }
        let start = reader.place();
        let written = reader.written(data_statement)?;
        Ok(Prepare { name, types, text: written.text, start, statement: Box::new(written.tree) })
    }

    /// DEALLOCATE; none stands for ALL.
    pub(crate) fn read_deallocate(reader: &mut Reader<'_>) -> Result<Option<String>, SyntaxError> {
        reader.expect("deallocate")?;
        reader.take("prepare");
        match reader.take("all") {
            true => Ok(None),
            false => reader.name(NAME).map(|name| Some(name.value)),
        }
    }
}

impl Execute {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Execute, SyntaxError> {
        reader.expect("execute")?;
        reader.refuse("immediate")?;
        let name = reader.name(NAME)?.value;
        let values = match reader.sees_open() {
            true => reader.bracketed(|reader| reader.list(|reader| reader.expression()))?,
            false => Vec::new(),
        };
        Ok(Execute { name, values })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;
    use crate::testing::{refused, statement};

    #[test]
    fn a_prepared_statement_keeps_its_text_and_its_binds() {
        let text = "prepare P (int, varchar2(9)) as select * from t where a = $1 for update ;";
        let parsed = parse(text).expect("sound");
        assert_eq!(parsed.binds.count(), 0);
        let Statement::Prepare(found) = parsed.statement else { panic!() };
        assert_eq!((found.name.as_str(), found.types.len()), ("p", 2));
        assert_eq!(found.text, "select * from t where a = $1 for update");
        assert!(text[found.start..].starts_with(&found.text));
        let Statement::Query(query) = *found.statement else { panic!() };
        assert!(query.locking.is_some());
        assert_eq!(parse(&found.text).expect("sound").binds.count(), 1);
    }

    #[test]
    fn it_is_executed_and_forgotten() {
        let Statement::Execute(found) = statement("execute p (1 + 1, 'x')") else { panic!() };
        assert_eq!((found.name.as_str(), found.values.len()), ("p", 2));
        let Statement::Execute(found) = statement("execute p") else { panic!() };
        assert_eq!(found.values.len(), 0);
        assert_eq!(statement("deallocate prepare p"), Statement::Deallocate(Some("p".into())));
        assert_eq!(statement("deallocate all"), Statement::Deallocate(None));
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(refused("prepare p select 1").contains("expected FROM or AS"));
        assert!(refused("prepare p as drop table t").contains("expected SELECT or VALUES"));
        assert!(refused("prepare transaction 'x'").contains("TRANSACTION isn't supported"));
    }
}

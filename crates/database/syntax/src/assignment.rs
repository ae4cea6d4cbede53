//! Values that are given to columns: in INSERT, in SET, in MERGE.
//!
//! Callers: `insert`, `update`, `merge`.

use sqlparser::ast::{Expr, Ident, Query};

use crate::error::SyntaxError;
use crate::reader::Reader;

/// A value that a statement gives to a column.
#[derive(Clone, PartialEq, Debug)]
pub enum Given {
    /// What the expression gives.
    Expression(Box<Expr>),
    /// DEFAULT.
    Default,
}

/// A part of SET.
#[derive(Clone, PartialEq, Debug)]
pub enum Assignment {
    /// `column = value`. `(a, b) = (1, 2)` is two of these.
    Column {
        /// The column.
        column: Ident,
        /// Its new value.
        value: Given,
    },
    /// `(a, b) = (SELECT ...)`.
    Columns {
        /// The columns.
        columns: Vec<Ident>,
        /// A query that gives at most one row, of as many columns.
        query: Box<Query>,
    },
}

impl Given {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Given, SyntaxError> {
        match reader.take("default") {
            true => Ok(Given::Default),
            false => reader.expression().map(|it| Given::Expression(Box::new(it))),
        }
    }
}

impl Assignment {
    /// What stands behind SET.
    pub(crate) fn read_list(reader: &mut Reader<'_>) -> Result<Vec<Assignment>, SyntaxError> {
        let several = reader.list(Assignment::read)?;
        Ok(several.into_iter().flatten().collect())
    }

    fn read(reader: &mut Reader<'_>) -> Result<Vec<Assignment>, SyntaxError> {
        if !reader.sees_open() {
            let column = Assignment::column(reader)?;
            reader.expect_mark("=")?;
            return Ok(vec![Assignment::Column { column, value: Given::read(reader)? }]);
        }
        let columns = reader.bracketed(|reader| reader.list(Assignment::column))?;
        reader.expect_mark("=")?;
        if reader.sees_query_in_brackets() {
            let query = reader.bracketed(Reader::query)?;
            return Ok(vec![Assignment::Columns { columns, query }]);
        }
        reader.take("row");
        let place = reader.place();
        let values = reader.bracketed(|reader| reader.list(Given::read))?;
        if values.len() != columns.len() {
            let say = format!("SET has {} columns and {} values", columns.len(), values.len());
            return Err(SyntaxError::new(crate::error::SYNTAX_ERROR, say).with_position(place));
        }
        let pairs = columns.into_iter().zip(values);
        Ok(pairs.map(|(column, value)| Assignment::Column { column, value }).collect())
    }

    /// A column that gets a value. The table's name may stand before it, as in Oracle.
    fn column(reader: &mut Reader<'_>) -> Result<Ident, SyntaxError> {
        let name = reader.object("the name of a column")?;
        Ok(name.name)
    }
}

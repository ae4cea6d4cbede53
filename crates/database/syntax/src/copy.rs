//! COPY.
//!
//! ```text
//!   COPY {table [(columns)] | (query)} {FROM | TO} {'file' | STDIN | STDOUT}
//!        [[WITH] (option value, ...) | [WITH] option ...] [WHERE ...]
//! ```
//!
//! Callers: `statement`; the shell, which reads `\copy` as COPY.
//! Sources: PostgreSQL's documentation, "COPY".

use sqlparser::ast::{Expr, Ident, Query};

use crate::error::SyntaxError;
use crate::file_options::FileOptions;
use crate::names::Name;
use crate::reader::Reader;

/// COPY.
#[derive(Clone, PartialEq, Debug)]
pub struct Copy {
    /// What is copied.
    pub what: CopyWhat,
    /// Where its other end is.
    pub end: CopyEnd,
    /// How the file is written.
    pub options: FileOptions,
    /// WHERE: which lines of the file become rows.
    pub filter: Option<Expr>,
}

/// What COPY copies, and in which direction.
#[derive(Clone, PartialEq, Debug)]
pub enum CopyWhat {
    /// FROM: lines of a file into a table.
    Into {
        /// The table.
        table: Name,
        /// The columns that the file has; empty for all.
        columns: Vec<Ident>,
    },
    /// TO: a table into a file.
    OutOf {
        /// The table.
        table: Name,
        /// The columns; empty for all.
        columns: Vec<Ident>,
    },
    /// TO: what a query gives into a file.
    Query(Box<Query>),
}

/// The other end of COPY.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CopyEnd {
    /// A file, where the database is.
    File(String),
    /// STDIN, STDOUT: the client.
    Client,
}

impl Copy {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Copy, SyntaxError> {
        reader.expect("copy")?;
        reader.refuse("binary")?;
        let what = match reader.sees_open() {
            true => {
                let query = reader.bracketed(|reader| reader.query())?;
                reader.expect("to")?;
                CopyWhat::Query(query)
            }
            false => {
                let table = reader.object("the name of a table")?;
                let columns = match reader.sees_open() {
                    true => reader.names("the name of a column")?,
                    false => Vec::new(),
                };
                match () {
                    () if reader.take("from") => CopyWhat::Into { table, columns },
                    () if reader.take("to") => CopyWhat::OutOf { table, columns },
                    () => return Err(reader.wrong()),
                }
            }
        };
        let reads = matches!(what, CopyWhat::Into { .. });
        let end = CopyEnd::read(reader, reads)?;
        let mut options = FileOptions::default();
        reader.take("with");
        match reader.sees_open() {
            true => reader.bracketed(|reader| options.read_list(reader))?,
            false => while options.read_one(reader)? {},
        }
        let filter = match reads {
            true => reader.filter()?,
            false => None,
        };
        Ok(Copy { what, end, options, filter })
    }
}

impl CopyEnd {
    fn read(reader: &mut Reader<'_>, reads: bool) -> Result<CopyEnd, SyntaxError> {
        reader.refuse("program")?;
        let client = if reads { "stdin" } else { "stdout" };
        match reader.take(client) {
            true => Ok(CopyEnd::Client),
            false => reader.string("the path of a file in quotes").map(CopyEnd::File),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Statement;
    use crate::file_options::{Compression, FileFormat};
    use crate::testing::{refused, statement};

    fn copy(text: &str) -> Copy {
        match statement(text) {
            Statement::Copy(copy) => *copy,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn options_are_written_in_brackets_or_one_after_the_other() {
        let expected = FileOptions {
            format: Some(FileFormat::Csv),
            delimiter: Some('|'),
            quote: Some('"'),
            null: Some("\\N".into()),
            header_lines: Some(1),
            ..FileOptions::default()
        };
        let text = "copy s.t (a, b) from '/f' with (format csv, delimiter '|', quote '\"', \
                    null '\\N', header true, encoding 'UTF-8') where a > 1";
        let found = copy(text);
        assert_eq!(found.options, expected);
        assert_eq!((found.end, found.filter.is_some()), (CopyEnd::File("/f".into()), true));
        let text = "copy t from stdin with csv header delimiter as '|' quote '\"' null as '\\N'";
        assert_eq!(copy(text).options, expected);
        let found = copy("copy t to stdout (format 'text', compression gzip, header off)").options;
        assert_eq!((found.format, found.header_lines), (Some(FileFormat::Text), Some(0)));
        assert_eq!(found.compression, Some(Compression::Gzip));
    }

    #[test]
    fn a_table_or_a_query_is_copied() {
        assert!(matches!(copy("copy t (a) to '/f'").what, CopyWhat::OutOf { .. }));
        let found = copy("copy (select * from t order by a) to stdout csv");
        assert!(matches!(found.what, CopyWhat::Query(_)));
        assert_eq!(found.end, CopyEnd::Client);
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(refused("copy t").contains("expected FROM or TO"));
        assert!(refused("copy t from stdout").contains("expected STDIN or the path"));
        assert!(refused("copy t from program 'x'").contains("PROGRAM isn't supported"));
        assert!(refused("copy t from '/f' (format binary)").contains("BINARY isn't supported"));
        assert!(refused("copy t from '/f' (delimiter '||')").contains("one character"));
        assert!(refused("copy t from '/f' (encoding 'latin1')").contains("UTF-8"));
        assert!(refused("copy t from '/f' (heder)").contains("HEADER"));
        assert!(refused("copy t from '/f' (format csv, format csv)").contains("each option once"));
        assert!(refused("copy t from '/f' header null '' header off").contains("each option once"));
        assert!(refused("copy (select 1) from stdin").contains("expected TO"));
        assert!(refused("copy t to '/f' where a = 1").contains("near \"where\""));
    }
}

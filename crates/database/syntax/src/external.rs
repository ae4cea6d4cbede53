//! CREATE EXTERNAL TABLE: rows that lie in files.
//!
//! ```text
//!   CREATE EXTERNAL TABLE [IF NOT EXISTS] name (columns) LOCATION ('file', ...)
//!     [DIRECTORY 'directory'] [file options] [REJECT FILE 'file'] [REJECT LIMIT {n | UNLIMITED}]
//!
//!   CREATE TABLE name (columns) ORGANIZATION EXTERNAL (      Oracle's form of the same
//!     [TYPE oracle_loader] [DEFAULT DIRECTORY directory]
//!     [ACCESS PARAMETERS ([RECORDS DELIMITED BY NEWLINE] [SKIP n] [BADFILE 'file'] [NOLOGFILE]
//!        [FIELDS [CSV] [TERMINATED BY 'c'] [[OPTIONALLY] ENCLOSED BY 'c']
//!                [MISSING FIELD VALUES ARE NULL]])]
//!     LOCATION ('file', ...)) [REJECT LIMIT {n | UNLIMITED}]
//! ```
//!
//! Callers: `statement`.
//! Sources: Oracle's documentation, "External Tables" and "The ORACLE_LOADER Access Driver".

use crate::columns::ColumnDefinition;
use crate::create_table::{CreateTable, TableContent};
use crate::error::{NOT_SUPPORTED, SyntaxError};
use crate::file_options::{FileFormat, FileOptions, character};
use crate::names::Name;
use crate::reader::Reader;

/// CREATE EXTERNAL TABLE.
#[derive(Clone, PartialEq, Debug)]
pub struct CreateExternalTable {
    /// The table's name.
    pub name: Name,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// The columns: names, types and NOT NULL. They have nothing else.
    pub columns: Vec<ColumnDefinition>,
    /// The files that hold its rows.
    pub files: ExternalFiles,
}

/// The files of an external table.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ExternalFiles {
    /// The directory of paths that don't begin with a slash.
    pub directory: Option<String>,
    /// The paths, at least one.
    pub paths: Vec<String>,
    /// How their rows are written.
    pub options: FileOptions,
    /// REJECT FILE, BADFILE: where lines go that are no rows.
    pub reject_file: Option<String>,
    /// REJECT LIMIT: how many such lines a reader passes over.
    pub reject_limit: Option<RejectLimit>,
}

/// How many lines that are no rows a reader passes over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RejectLimit {
    /// So many.
    Lines(u64),
    /// Any number.
    Unlimited,
}

const PATH: &str = "the path of a file in quotes";

impl CreateExternalTable {
    /// The form of its own.
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<CreateExternalTable, SyntaxError> {
        reader.expect("external table")?;
        let if_not_exists = reader.take("if not exists");
        let name = reader.object("the name of the table")?;
        let start = reader.place();
        let columns = reader.bracketed(|reader| reader.list(ColumnDefinition::read))?;
        plain_columns(&columns, start)?;
        let mut files = ExternalFiles::default();
        while files.read_part(reader)? {}
        match files.paths.is_empty() {
            true => Err(reader.wrong()),
            false => Ok(CreateExternalTable { name, if_not_exists, columns, files }),
        }
    }

    /// Oracle's form, from ORGANIZATION on, behind what is read of the table.
    pub(crate) fn of_oracle(
        reader: &mut Reader<'_>,
        table: CreateTable,
    ) -> Result<CreateExternalTable, SyntaxError> {
        let start = reader.place();
        reader.expect("organization external")?;
        let CreateTable { name, if_not_exists, content, tablespace } = table;
        let TableContent::Defined { columns, constraints, likes } = content else {
            return Err(reader.unsupported("an external table as a query"));
        };
        if !constraints.is_empty() || tablespace.is_some() {
            return Err(reader.unsupported("an external table with constraints or a tablespace"));
        }
        if !likes.is_empty() {
            return Err(reader.unsupported("an external table with columns of another table"));
        }
        plain_columns(&columns, start)?;
        let mut files = ExternalFiles::default();
        reader.bracketed(|reader| files.read_oracle(reader))?;
        if reader.sees("reject limit") {
            files.read_part(reader)?;
        }
        Ok(CreateExternalTable { name, if_not_exists, columns, files })
    }
}

/// Refuses columns that have more than a name and a type.
fn plain_columns(columns: &[ColumnDefinition], place: usize) -> Result<(), SyntaxError> {
    let more = columns.iter().find(|column| {
        column.default.is_some() || column.identity.is_some() || !column.constraints.is_empty()
    });
    match more {
        Some(column) => {
            let name = &column.name.value;
            let say = format!(
                "column {name} of an external table has a name, a type and NOT NULL at most"
            );
            Err(SyntaxError::new(NOT_SUPPORTED, say).with_position(place))
        }
        None => Ok(()),
    }
}

impl ExternalFiles {
    /// Reads what comes next; false if nothing of it does.
    fn read_part(&mut self, reader: &mut Reader<'_>) -> Result<bool, SyntaxError> {
        match () {
            () if reader.take("location") => self.read_paths(reader)?,
            () if reader.take("directory") => {
                self.directory = Some(reader.string("a directory in quotes")?);
            }
            () if reader.take("reject file") => self.reject_file = Some(reader.string(PATH)?),
            () if reader.take("reject limit unlimited") => {
                self.reject_limit = Some(RejectLimit::Unlimited);
            }
            () if reader.take("reject limit") => {
                let lines = reader.whole("a number of lines")?;
                self.reject_limit = Some(RejectLimit::Lines(lines));
            }
            () if reader.take("missing field values are null") => {
                self.options.missing_is_null = true;
            }
            () if reader.take("options") => {
                reader.bracketed(|reader| self.options.read_list(reader))?;
            }
            () => return self.options.read_one(reader),
        }
        Ok(true)
    }

    fn read_paths(&mut self, reader: &mut Reader<'_>) -> Result<(), SyntaxError> {
        let paths = match reader.sees_open() {
            true => reader.bracketed(|reader| reader.list(|reader| reader.string(PATH)))?,
            false => vec![reader.string(PATH)?],
        };
        self.paths.extend(paths);
        Ok(())
    }

    fn read_oracle(&mut self, reader: &mut Reader<'_>) -> Result<(), SyntaxError> {
        reader.refuse("type oracle_datapump, type oracle_hdfs, type oracle_hive")?;
        reader.take("type oracle_loader");
        if reader.take("default directory") {
            self.directory = match reader.take_string("a directory in quotes") {
                Some(directory) => Some(directory),
                None => Some(reader.name("a directory")?.value),
            };
        }
        if reader.take("access parameters") {
            reader.bracketed(|reader| {
                while self.read_access(reader)? {}
                Ok(())
            })?;
        }
        reader.expect("location")?;
        self.read_paths(reader)
    }

    /// Reads an access parameter; false if none comes next.
    fn read_access(&mut self, reader: &mut Reader<'_>) -> Result<bool, SyntaxError> {
        reader.refuse(
            "logfile, discardfile, load when, date_format, characterset, records fixed, \
                       records variable, preprocessor",
        )?;
        match () {
            () if reader.take("records delimited by newline") => {}
            () if reader.take("nologfile") || reader.take("nodiscardfile") => {}
            () if reader.take("nobadfile") => self.reject_file = None,
            () if reader.take("badfile") => self.reject_file = Some(reader.string(PATH)?),
            () if reader.take("skip") => {
                self.options.header_lines = Some(reader.whole("a number of lines")?);
            }
            () if reader.take("fields") => {}
            () if reader.take("csv") => self.options.format = Some(FileFormat::Csv),
            () if reader.take("terminated by") => {
                self.options.delimiter = Some(character(reader)?);
            }
            () if reader.take("optionally enclosed by") || reader.take("enclosed by") => {
                self.options.quote = Some(character(reader)?);
                self.options.format = Some(FileFormat::Csv);
            }
            () if reader.take("missing field values are null") => {
                self.options.missing_is_null = true;
            }
            () => return Ok(false),
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Statement;
    use crate::testing::{refused, statement};

    fn create(text: &str) -> CreateExternalTable {
        match statement(text) {
            Statement::CreateExternalTable(create) => *create,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn both_forms_say_the_same() {
        let ours = "create external table w (a int not null, b varchar(9)) \
                    location ('w1.dat', 'w2.dat.gz') directory '/d' delimiter '|' skip 1 \
                    missing field values are null reject file 'w.bad' reject limit unlimited";
        let oracles = "create table w (a int not null, b varchar2(9)) organization external ( \
                       type oracle_loader default directory '/d' access parameters ( \
                       records delimited by newline skip 1 badfile 'w.bad' nologfile \
                       fields terminated by '|' missing field values are null) \
                       location ('w1.dat', 'w2.dat.gz')) reject limit unlimited";
        let (ours, oracles) = (create(ours), create(oracles));
        assert_eq!(ours.files, oracles.files);
        assert_eq!(ours.columns.len(), oracles.columns.len());
        assert_eq!(ours.files.paths, ["w1.dat", "w2.dat.gz"]);
        assert_eq!(ours.files.options.delimiter, Some('|'));
        assert_eq!(ours.files.reject_limit, Some(RejectLimit::Unlimited));
        let text = "create external table w (a int) location '/f' format csv options (header, \
                    null 'x') reject limit 5";
        let found = create(text).files;
        assert_eq!(
            (found.options.header_lines, found.options.format),
            (Some(1), Some(FileFormat::Csv))
        );
        assert_eq!(found.reject_limit, Some(RejectLimit::Lines(5)));
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(refused("create external table w (a int)").contains("expected LOCATION"));
        let said = refused("create external table w (a int primary key) location '/f'");
        assert!(said.contains("column a of an external table"), "{said}");
        let said = refused(
            "create table w (a int) organization external (access parameters (logfile 'x') \
             location ('f'))",
        );
        assert!(said.contains("LOGFILE isn't supported"), "{said}");
        let text = "create table w as select 1";
        assert!(refused(&format!("{text} organization external")).contains("near"));
    }
}

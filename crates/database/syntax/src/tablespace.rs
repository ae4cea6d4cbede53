//! CREATE TABLESPACE and ALTER TABLESPACE.
//!
//! ```text
//!   CREATE TABLESPACE name DATAFILE ['file'] [SIZE n[K|M|G|T]] [REUSE]
//!            [AUTOEXTEND {OFF | ON [NEXT size] [MAXSIZE {size | UNLIMITED}]}], ...
//!          [BLOCKSIZE size] [LOCATION 'directory']
//!   ALTER TABLESPACE name ADD DATAFILE ...
//! ```
//!
//! Callers: `statement`.
//! Sources: Oracle's documentation, "CREATE TABLESPACE"; PostgreSQL's for LOCATION.

use sqlparser::ast::Ident;

use crate::error::{INVALID_PARAMETER, SyntaxError};
use crate::reader::Reader;

/// CREATE TABLESPACE.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CreateTablespace {
    /// The tablespace's name.
    pub name: Ident,
    /// Its files; empty for one that the database names.
    pub files: Vec<DataFile>,
    /// BLOCKSIZE, in bytes.
    pub block_size: Option<u64>,
    /// LOCATION: the directory of files whose name is made up.
    pub location: Option<String>,
}

/// ALTER TABLESPACE ... ADD DATAFILE.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AlterTablespace {
    /// The tablespace's name.
    pub name: Ident,
    /// The files that are added.
    pub files: Vec<DataFile>,
}

/// A data file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DataFile {
    /// Its path; one is made up if there is none.
    pub path: Option<String>,
    /// SIZE, in bytes.
    pub size: Option<u64>,
    /// REUSE: whether a file that is there is written over.
    pub reuse: bool,
    /// AUTOEXTEND.
    pub autoextend: Option<Autoextend>,
}

/// Whether a data file grows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Autoextend {
    /// OFF.
    Off,
    /// ON.
    On {
        /// NEXT: by how many bytes at a time.
        next: Option<u64>,
        /// MAXSIZE, in bytes; none for UNLIMITED and where nothing is said.
        max: Option<u64>,
    },
}

impl CreateTablespace {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<CreateTablespace, SyntaxError> {
        reader.expect("tablespace")?;
        let name = reader.name("the name of the tablespace")?;
        let mut made =
            CreateTablespace { name, files: Vec::new(), block_size: None, location: None };
        loop {
            reader.refuse(
                "extent, segment, logging, nologging, default, online, offline, permanent, \
                 temporary, encryption, flashback, retention, owner, with, force",
            )?;
            match () {
                () if reader.take("datafile") => {
                    made.files.extend(reader.list(DataFile::read)?);
                }
                () if reader.take("blocksize") => made.block_size = Some(size(reader)?),
                () if reader.take("location") => {
                    made.location = Some(reader.string("a directory in quotes")?);
                }
                () => return Ok(made),
            }
        }
    }
}

impl AlterTablespace {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<AlterTablespace, SyntaxError> {
        reader.expect("tablespace")?;
        let name = reader.name("the name of a tablespace")?;
        reader
            .refuse("rename, drop, online, offline, begin, end, read, resize, autoextend, set")?;
        reader.expect("add datafile")?;
        let files = reader.list(DataFile::read)?;
        Ok(AlterTablespace { name, files })
    }
}

impl DataFile {
    fn read(reader: &mut Reader<'_>) -> Result<DataFile, SyntaxError> {
        let path = reader.take_string("a path in quotes");
        let size_of_file = match reader.take("size") {
            true => Some(size(reader)?),
            false => None,
        };
        let reuse = reader.take("reuse");
        let autoextend = match () {
            () if reader.take("autoextend off") => Some(Autoextend::Off),
            () if reader.take("autoextend on") => Some(Autoextend::read_on(reader)?),
            () => None,
        };
        Ok(DataFile { path, size: size_of_file, reuse, autoextend })
    }
}

impl Autoextend {
    fn read_on(reader: &mut Reader<'_>) -> Result<Autoextend, SyntaxError> {
        let next = match reader.take("next") {
            true => Some(size(reader)?),
            false => None,
        };
        let max = match () {
            () if reader.take("maxsize unlimited") => None,
            () if reader.take("maxsize") => Some(size(reader)?),
            () => None,
        };
        Ok(Autoextend::On { next, max })
    }
}

/// A number of bytes with its unit.
fn size(reader: &mut Reader<'_>) -> Result<u64, SyntaxError> {
    let place = reader.place();
    let number = reader.whole("a size such as 100M")?;
    let shift = match reader.word() {
        Some("k") => 10,
        Some("m") => 20,
        Some("g") => 30,
        Some("t") => 40,
        _ => return Ok(number),
    };
    reader.take_word();
    number.checked_mul(1 << shift).ok_or_else(|| {
        SyntaxError::new(INVALID_PARAMETER, "the size is too large").with_position(place)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Statement;
    use crate::testing::{refused, statement};

    #[test]
    fn files_have_sizes_and_may_grow() {
        let text = "create tablespace T datafile '/d/t1.dbf' size 100M reuse \
                    autoextend on next 1m maxsize unlimited, size 2048 autoextend off \
                    blocksize 16 K";
        let Statement::CreateTablespace(found) = statement(text) else { panic!() };
        let first = DataFile {
            path: Some("/d/t1.dbf".into()),
            size: Some(100 << 20),
            reuse: true,
            autoextend: Some(Autoextend::On { next: Some(1 << 20), max: None }),
        };
        let second = DataFile {
            path: None,
            size: Some(2048),
            reuse: false,
            autoextend: Some(Autoextend::Off),
        };
        assert_eq!(found.files, [first, second]);
        assert_eq!((found.block_size, found.name.value.as_str()), (Some(16 << 10), "t"));
        let Statement::CreateTablespace(found) = statement("create tablespace t location '/d'")
        else {
            panic!()
        };
        assert_eq!((found.location.as_deref(), found.files.len()), (Some("/d"), 0));
        let Statement::AlterTablespace(found) =
            statement("alter tablespace t add datafile size 1G")
        else {
            panic!()
        };
        assert_eq!(found.files[0].size, Some(1 << 30));
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(refused("create tablespace t size 1M").contains("expected DATAFILE, BLOCKSIZE"));
        assert!(refused("create tablespace t datafile size x").contains("a size such as 100M"));
        assert!(refused("create tablespace t datafile size 99999999T").contains("too large"));
        assert!(refused("create undo tablespace u").contains("UNDO isn't supported"));
    }
}

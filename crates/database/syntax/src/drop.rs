//! DROP and TRUNCATE.
//!
//! ```text
//!   DROP {[EXTERNAL] TABLE | VIEW | INDEX | SEQUENCE | SCHEMA | TABLESPACE} [IF EXISTS] name, ...
//!        [CASCADE [CONSTRAINTS] | RESTRICT] [PURGE] [INCLUDING CONTENTS [AND DATAFILES]]
//!   TRUNCATE [TABLE] name, ... [RESTART IDENTITY | CONTINUE IDENTITY] [CASCADE | RESTRICT]
//!        [DROP STORAGE | REUSE STORAGE]
//! ```
//!
//! Callers: `statement`.
//! Sources: PostgreSQL's and Oracle's documentation of these statements.

use crate::alter_table::take_cascade;
use crate::error::SyntaxError;
use crate::names::Name;
use crate::reader::Reader;

/// DROP.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Drop {
    /// What kind of objects they are.
    pub kind: DropKind,
    /// The objects.
    pub names: Vec<Name>,
    /// IF EXISTS.
    pub if_exists: bool,
    /// CASCADE; for a tablespace, INCLUDING CONTENTS.
    pub cascade: bool,
}

/// A kind of object that can be dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "each is called as what it drops")]
pub enum DropKind {
    /// A table, also an external one.
    Table,
    /// An external table, and no other one.
    ExternalTable,
    View,
    Index,
    Sequence,
    Schema,
    Tablespace,
}

impl DropKind {
    /// The statement's name, as a client shows it when the statement is done.
    pub fn tag(self) -> &'static str {
        match self {
            DropKind::Table => "DROP TABLE",
            DropKind::ExternalTable => "DROP EXTERNAL TABLE",
            DropKind::View => "DROP VIEW",
            DropKind::Index => "DROP INDEX",
            DropKind::Sequence => "DROP SEQUENCE",
            DropKind::Schema => "DROP SCHEMA",
            DropKind::Tablespace => "DROP TABLESPACE",
        }
    }
}

/// TRUNCATE.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Truncate {
    /// The tables.
    pub tables: Vec<Name>,
    /// RESTART IDENTITY.
    pub restart_identity: bool,
    /// CASCADE.
    pub cascade: bool,
    /// REUSE STORAGE: whether the table keeps its space.
    pub reuse_storage: bool,
}

impl Drop {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Drop, SyntaxError> {
        reader.expect("drop")?;
        let kind = match () {
            () if reader.take("table") => DropKind::Table,
            () if reader.take("external table") => DropKind::ExternalTable,
            () if reader.take("view") => DropKind::View,
            () if reader.take("index") => DropKind::Index,
            () if reader.take("sequence") => DropKind::Sequence,
            () if reader.take("schema") => DropKind::Schema,
            () if reader.take("tablespace") => DropKind::Tablespace,
            () => return Err(reader.wrong()),
        };
        if kind == DropKind::Index {
            reader.take("concurrently");
        }
        let if_exists = reader.take("if exists");
        let names = reader.list(|reader| reader.object("the name of what to drop"))?;
        let contents = kind == DropKind::Tablespace && reader.take("including contents");
        if contents {
            reader.take("and datafiles");
        }
        let cascade = take_cascade(reader) || contents;
        reader.take("purge");
        Ok(Drop { kind, names, if_exists, cascade })
    }
}

impl Truncate {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Truncate, SyntaxError> {
        reader.expect("truncate")?;
        reader.take("table");
        reader.refuse("only, cluster, partition")?;
        let tables = reader.list(|reader| reader.object("the name of a table"))?;
        let restart_identity = reader.take("restart identity");
        if !restart_identity {
            reader.take("continue identity");
        }
        let mut cascade = take_cascade(reader);
        let reuse_storage = reader.take("reuse storage");
        if !reuse_storage {
            reader.take("drop storage");
        }
        // Oracle writes it here.
        cascade |= take_cascade(reader);
        Ok(Truncate { tables, restart_identity, cascade, reuse_storage })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Statement;
    use crate::testing::{refused, statement};

    fn dropped(text: &str) -> Drop {
        match statement(text) {
            Statement::Drop(drop) => drop,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn objects_of_each_kind_are_dropped() {
        let found = dropped("drop table if exists a, s.b cascade constraints purge");
        assert_eq!((found.kind, found.names.len()), (DropKind::Table, 2));
        assert!(found.if_exists && found.cascade);
        for (text, kind) in [
            ("drop view v restrict", DropKind::View),
            ("drop index concurrently i", DropKind::Index),
            ("drop sequence s", DropKind::Sequence),
            ("drop schema s", DropKind::Schema),
            ("drop external table t", DropKind::ExternalTable),
        ] {
            let found = dropped(text);
            assert_eq!((found.kind, found.cascade), (kind, false), "{text}");
        }
        let found = dropped("drop tablespace t including contents and datafiles");
        assert_eq!((found.kind, found.cascade), (DropKind::Tablespace, true));
    }

    #[test]
    fn tables_are_emptied() {
        let text = "truncate table a, b restart identity cascade";
        let Statement::Truncate(found) = statement(text) else { panic!() };
        assert!(found.restart_identity && found.cascade && !found.reuse_storage);
        assert_eq!(found.tables.len(), 2);
        let Statement::Truncate(found) = statement("truncate a reuse storage cascade") else {
            panic!()
        };
        assert!(found.reuse_storage && found.cascade && !found.restart_identity);
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(refused("drop").contains("expected TABLE, EXTERNAL TABLE, VIEW"));
        assert!(refused("drop table").contains("the name of what to drop"));
        assert!(refused("drop table a b").contains("near \"b\""));
    }
}

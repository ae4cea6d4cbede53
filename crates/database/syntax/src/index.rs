//! CREATE INDEX and ALTER INDEX.
//!
//! ```text
//!   CREATE [UNIQUE] INDEX [CONCURRENTLY] [IF NOT EXISTS] [name] ON table [USING btree]
//!     ({column | (expression) | function(...)} [COLLATE "C"] [ASC | DESC]
//!      [NULLS {FIRST | LAST}], ...)
//!     [TABLESPACE name] [ONLINE]
//!   ALTER INDEX [IF EXISTS] name RENAME TO name
//! ```
//!
//! Callers: `statement`.
//! Sources: PostgreSQL's and Oracle's documentation, "CREATE INDEX".

use sqlparser::ast::{Expr, Ident};

use crate::columns::{tablespace, take_collation};
use crate::error::SyntaxError;
use crate::names::{Name, is_bytewise};
use crate::reader::{Reader, Written};

/// CREATE INDEX.
#[derive(Clone, PartialEq, Debug)]
pub struct CreateIndex {
    /// The index's name; one is made up if there is none.
    pub name: Option<Name>,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// UNIQUE.
    pub unique: bool,
    /// The table.
    pub table: Name,
    /// The parts of its key.
    pub keys: Vec<IndexKey>,
    /// TABLESPACE.
    pub tablespace: Option<Ident>,
    /// ONLINE, CONCURRENTLY: whether rows may be changed while it is built.
    pub online: bool,
}

/// A part of an index's key.
#[derive(Clone, PartialEq, Debug)]
pub struct IndexKey {
    /// What it holds.
    pub of: KeyOf,
    /// DESC.
    pub descending: bool,
    /// NULLS FIRST; by default as the direction says.
    pub nulls_first: Option<bool>,
}

/// What a part of an index's key holds.
#[derive(Clone, PartialEq, Debug)]
pub enum KeyOf {
    /// A column.
    Column(Ident),
    /// What an expression gives.
    Expression(Box<Written<Expr>>),
}

/// ALTER INDEX ... RENAME.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AlterIndex {
    /// The index's name.
    pub name: Name,
    /// IF EXISTS.
    pub if_exists: bool,
    /// The new name.
    pub rename: Ident,
}

impl CreateIndex {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<CreateIndex, SyntaxError> {
        let unique = reader.take("unique");
        reader.expect("index")?;
        let mut online = reader.take("concurrently");
        let if_not_exists = reader.take("if not exists");
        let name = match reader.sees("on") {
            true => None,
            false => Some(reader.object("the name of the index")?),
        };
        reader.expect("on")?;
        reader.refuse("only, cluster")?;
        let table = reader.object("the name of a table")?;
        if reader.take("using") {
            reader.refuse("hash, gist, spgist, gin, brin")?;
            reader.expect("btree")?;
        }
        let keys = reader.bracketed(|reader| reader.list(IndexKey::read))?;
        let mut tablespace_of_index = None;
        loop {
            reader.refuse(
                "include, where, with, nulls not distinct, reverse, local, global, compress, \
                 nologging, logging, parallel, invisible, pctfree, initrans, storage, unusable, \
                 compute",
            )?;
            match () {
                () if reader.take("online") => online = true,
                () if reader.sees("tablespace") && tablespace_of_index.is_none() => {
                    tablespace_of_index = tablespace(reader)?;
                }
                () => break,
            }
        }
        let tablespace = tablespace_of_index;
        Ok(CreateIndex { name, if_not_exists, unique, table, keys, tablespace, online })
    }
}

impl IndexKey {
    fn read(reader: &mut Reader<'_>) -> Result<IndexKey, SyntaxError> {
        let place = reader.place();
        let written = reader.written(|reader| reader.short_expression())?;
        let tree = match written.tree {
            Expr::Collate { expr, collation } if is_bytewise(&collation.to_string()) => *expr,
            tree => tree,
        };
        let of = match tree {
            Expr::Identifier(column) => KeyOf::Column(column),
            Expr::Value(_) | Expr::CompoundIdentifier(_) => {
                return Err(reader.wrong_at(place, "the name of a column"));
            }
            // The brackets around an expression say no more than that it is one.
            Expr::Nested(inner) => {
                KeyOf::Expression(Box::new(Written { tree: *inner, text: written.text }))
            }
            tree => KeyOf::Expression(Box::new(Written { tree, text: written.text })),
        };
        take_collation(reader)?;
        let descending = reader.take("desc");
        if !descending {
            reader.take("asc");
        }
        let nulls_first = match () {
            () if reader.take("nulls first") => Some(true),
            () if reader.take("nulls last") => Some(false),
            () => None,
        };
        Ok(IndexKey { of, descending, nulls_first })
    }
}

impl AlterIndex {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<AlterIndex, SyntaxError> {
        reader.expect("index")?;
        let if_exists = reader.take("if exists");
        let name = reader.object("the name of an index")?;
        reader.refuse("rebuild, unusable, coalesce, set, shrink, invisible, visible")?;
        reader.expect("rename to")?;
        let rename = reader.name("the new name")?;
        Ok(AlterIndex { name, if_exists, rename })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Statement;
    use crate::testing::{refused, statement};

    fn create(text: &str) -> CreateIndex {
        match statement(text) {
            Statement::CreateIndex(create) => *create,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn keys_are_columns_and_expressions() {
        let found = create(
            "create unique index if not exists i on s.t (a desc nulls last, lower(b), (c + 1) asc) \
             tablespace x online",
        );
        assert!(found.unique && found.if_not_exists && found.online && found.tablespace.is_some());
        assert_eq!(found.keys[0].nulls_first, Some(false));
        assert!(found.keys[0].descending && matches!(found.keys[0].of, KeyOf::Column(_)));
        let text = |at: usize| match &found.keys[at].of {
            KeyOf::Expression(written) => written.text.clone(),
            KeyOf::Column(column) => panic!("{column}"),
        };
        assert_eq!((text(1), text(2)), ("lower(b)".into(), "(c + 1)".into()));
    }

    #[test]
    fn a_name_may_be_left_out_and_btree_said() {
        let found = create("create index concurrently on t using btree (a collate \"C\" desc)");
        assert!(found.name.is_none() && found.online);
        assert!(found.keys[0].descending && matches!(found.keys[0].of, KeyOf::Column(_)));
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(refused("create index i on t using hash (a)").contains("HASH isn't supported"));
        assert!(refused("create index i on t using tree (a)").contains("expected BTREE"));
        assert!(refused("create index i on t (a) where a > 1").contains("WHERE isn't supported"));
        assert!(refused("create index i on t (1)").contains("the name of a column"));
        assert!(refused("create index i t (a)").contains("expected ON"));
        assert!(refused("alter index i rebuild").contains("REBUILD isn't supported"));
        let renamed = statement("alter index s.i rename to j");
        assert!(matches!(renamed, Statement::AlterIndex(AlterIndex { if_exists: false, .. })));
    }
}

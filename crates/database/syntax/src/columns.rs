//! What CREATE TABLE and ALTER TABLE say of columns and constraints.
//!
//! ```text
//!   column type [COLLATE "C"] [[CONSTRAINT name] {DEFAULT expression | [NOT] NULL
//!          | GENERATED {ALWAYS | BY DEFAULT} AS IDENTITY [(sequence options)]
//!          | PRIMARY KEY | UNIQUE | CHECK (..) | REFERENCES table [(column)]}] ...
//!   [CONSTRAINT name] {PRIMARY KEY (..) | UNIQUE (..) | CHECK (..)
//!                      | FOREIGN KEY (..) REFERENCES table [(..)] [ON DELETE ...]}
//! ```
//!
//! A constraint's name is kept; one before NOT NULL or DEFAULT is read and isn't, as in PostgreSQL
//! up to 17.
//!
//! Callers: `create_table`, `alter_table`, `external`; `index` for collations.
//! Sources: PostgreSQL's documentation, "CREATE TABLE"; Oracle's for USING INDEX TABLESPACE.

use sqlparser::ast::{Expr, Ident};
use value::Type;

use crate::error::{NOT_SUPPORTED, SYNTAX_ERROR, SyntaxError};
use crate::names::{Name, is_bytewise};
use crate::reader::{Reader, Written};
use crate::sequence::SequenceOptions;
use crate::types::TypeName;

/// A column of a new table.
#[derive(Clone, PartialEq, Debug)]
pub struct ColumnDefinition {
    /// The column's name.
    pub name: Ident,
    /// The type of its values.
    pub kind: TypeName,
    /// DEFAULT.
    pub default: Option<Written<Expr>>,
    /// GENERATED ... AS IDENTITY, or the type SERIAL.
    pub identity: Option<Identity>,
    /// Whether NOT NULL is written. A primary key says it too, and isn't counted here.
    pub not_null: bool,
    /// The constraints that stand behind the column; they name the column.
    pub constraints: Vec<Constraint>,
}

/// A column whose values a sequence gives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Identity {
    /// ALWAYS: an insert that gives a value is refused.
    pub always: bool,
    /// How the sequence counts.
    pub options: SequenceOptions,
}

/// A constraint.
#[derive(Clone, PartialEq, Debug)]
pub struct Constraint {
    /// CONSTRAINT name.
    pub name: Option<Ident>,
    /// What it enforces.
    pub rule: ConstraintRule,
    /// The byte of the text at which it begins.
    pub position: usize,
}

/// What a constraint enforces.
#[derive(Clone, PartialEq, Debug)]
pub enum ConstraintRule {
    /// PRIMARY KEY or UNIQUE.
    Key {
        /// Whether it is the primary key.
        is_primary: bool,
        /// Its columns.
        columns: Vec<Ident>,
        /// USING INDEX TABLESPACE.
        tablespace: Option<Ident>,
    },
    /// CHECK.
    Check(Box<Written<Expr>>),
    /// FOREIGN KEY.
    ForeignKey {
        /// The columns that refer.
        columns: Vec<Ident>,
        /// The table that is referred to.
        table: Name,
        /// The columns that are referred to; empty for the primary key.
        referenced: Vec<Ident>,
        /// What a delete of a row that is referred to does.
        on_delete: OnDelete,
    },
}

/// ON DELETE.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OnDelete {
    /// NO ACTION, RESTRICT: it is refused.
    #[default]
    NoAction,
    /// CASCADE: the rows that refer are deleted too.
    Cascade,
    /// SET NULL: their columns become NULL.
    SetNull,
}

impl ColumnDefinition {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<ColumnDefinition, SyntaxError> {
        let name = reader.name("the name of a column")?;
        let (kind, identity) = match serial(reader) {
            Some(kind) => (TypeName::Stored(kind), Some(Identity::serial())),
            None => (reader.type_name()?, None),
        };
        let mut column = ColumnDefinition {
            name,
            kind,
            default: None,
            not_null: identity.is_some(),
            identity,
            constraints: Vec::new(),
        };
        while column.read_part(reader)? {}
        Ok(column)
    }

    /// Reads what comes next of the column; false if nothing of it does.
    fn read_part(&mut self, reader: &mut Reader<'_>) -> Result<bool, SyntaxError> {
        reader.refuse("compression, storage, invisible, visible, encrypt, virtual")?;
        if take_collation(reader)? {
            return Ok(true);
        }
        let start = reader.place();
        let name = constraint_name(reader)?;
        let place = reader.place();
        match () {
            () if reader.take("default") => {
                let default = reader.written(|reader| reader.short_expression())?;
                once(self.default.replace(default).is_none(), "DEFAULT", place)?;
            }
            () if reader.take("not null") => self.not_null = true,
            () if reader.take("null") => {
                if self.not_null {
                    let say = "a column can't be NULL and NOT NULL";
                    return Err(SyntaxError::new(SYNTAX_ERROR, say).with_position(place));
                }
            }
            () if reader.take("generated") => {
                let identity = Identity::read(reader)?;
                once(self.identity.replace(identity).is_none(), "an identity", place)?;
            }
            () => match Constraint::read_named(reader, Some(&self.name), name, start)? {
                Some(constraint) => self.constraints.push(constraint),
                None => return Ok(false),
            },
        }
        Ok(true)
    }
}

/// COLLATE and a name, if they come next. Texts are in the order of their bytes, and no other order
/// is read.
pub(crate) fn take_collation(reader: &mut Reader<'_>) -> Result<bool, SyntaxError> {
    if reader.word() != Some("collate") {
        return Ok(false);
    }
    let place = reader.place();
    reader.take_word();
    let name = reader.object("the name of a collation")?.to_string();
    match is_bytewise(&name) {
        true => Ok(true),
        false => {
            let say = format!("collation {name} isn't supported");
            let error = SyntaxError::new(NOT_SUPPORTED, say).with_position(place);
            Err(error.with_hint("texts compare by their bytes (collation C)"))
        }
    }
}

/// Refuses what a column says twice.
fn once(is_first: bool, what: &str, place: usize) -> Result<(), SyntaxError> {
    match is_first {
        true => Ok(()),
        false => {
            let say = format!("a column can't have {what} twice");
            Err(SyntaxError::new(SYNTAX_ERROR, say).with_position(place))
        }
    }
}

/// SERIAL and its like: a whole number from a sequence.
fn serial(reader: &mut Reader<'_>) -> Option<Type> {
    let kind = match reader.word()? {
        "smallserial" | "serial2" => Type::SmallInt,
        "serial" | "serial4" => Type::Integer,
        "bigserial" | "serial8" => Type::BigInt,
        _ => return None,
    };
    reader.take_word();
    Some(kind)
}

impl Identity {
    fn serial() -> Identity {
        Identity { always: false, options: SequenceOptions::default() }
    }

    /// From the word behind GENERATED on.
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Identity, SyntaxError> {
        let always = reader.take("always");
        if !always {
            reader.expect("by default")?;
            reader.refuse("on null")?;
        }
        reader.expect("as")?;
        if reader.sees_open() {
            return Err(reader.unsupported("a column that is computed from others"));
        }
        reader.expect("identity")?;
        let options = match reader.sees_open() {
            true => reader.bracketed(SequenceOptions::read)?,
            false => SequenceOptions::default(),
        };
        Ok(Identity { always, options })
    }
}

impl Constraint {
    /// A constraint, if one comes next; `of` is the column that it stands behind.
    pub(crate) fn read(
        reader: &mut Reader<'_>,
        of: Option<&Ident>,
    ) -> Result<Option<Constraint>, SyntaxError> {
        let position = reader.place();
        let name = constraint_name(reader)?;
        Constraint::read_named(reader, of, name, position)
    }

    /// The same from behind its name, which has been read; it begins at this byte.
    fn read_named(
        reader: &mut Reader<'_>,
        of: Option<&Ident>,
        name: Option<Ident>,
        position: usize,
    ) -> Result<Option<Constraint>, SyntaxError> {
        reader.refuse("exclude using, like")?;
        let rule = match () {
            () if reader.take("primary key") => ConstraintRule::key(reader, of, true)?,
            () if reader.take("unique") => ConstraintRule::key(reader, of, false)?,
            () if reader.take("check") => {
                let condition = |reader: &mut Reader<'_>| reader.expression();
                let check = reader.bracketed(|reader| reader.written(condition))?;
                ConstraintRule::Check(Box::new(check))
            }
            () if of.is_none() && reader.take("foreign key") => {
                let columns = reader.names("the name of a column")?;
                reader.expect("references")?;
                ConstraintRule::foreign_key(reader, columns)?
            }
            () if of.is_some() && reader.take("references") => {
                ConstraintRule::foreign_key(reader, of.cloned().into_iter().collect())?
            }
            () if name.is_some() => return Err(reader.wrong()),
            () => return Ok(None),
        };
        read_states(reader)?;
        Ok(Some(Constraint { name, rule, position }))
    }
}

/// CONSTRAINT name, if it is there.
fn constraint_name(reader: &mut Reader<'_>) -> Result<Option<Ident>, SyntaxError> {
    match reader.take("constraint") {
        true => reader.name("the name of the constraint").map(Some),
        false => Ok(None),
    }
}

/// What may stand behind a constraint. Ours are all enabled, and checked at the end of a statement;
/// no table is below another one and inherits them.
fn read_states(reader: &mut Reader<'_>) -> Result<(), SyntaxError> {
    loop {
        let is_ours = reader.take("not deferrable")
            || reader.take("initially immediate")
            || reader.take("enable")
            || reader.take("validate")
            || reader.take("enforced")
            || reader.take("no inherit");
        if !is_ours {
            break;
        }
    }
    reader.refuse(
        "deferrable, initially deferred, disable, novalidate, not valid, not enforced, rely",
    )
}

impl ConstraintRule {
    fn key(
        reader: &mut Reader<'_>,
        of: Option<&Ident>,
        is_primary: bool,
    ) -> Result<ConstraintRule, SyntaxError> {
        reader.refuse("nulls not distinct")?;
        reader.take("nulls distinct");
        let columns = match of {
            Some(column) => vec![column.clone()],
            None => reader.names("the name of a column")?,
        };
        reader.refuse("include, with, without overlaps")?;
        let tablespace = match reader.take("using index") {
            true => tablespace(reader)?,
            false => None,
        };
        Ok(ConstraintRule::Key { is_primary, columns, tablespace })
    }

    /// From the table's name on.
    fn foreign_key(
        reader: &mut Reader<'_>,
        columns: Vec<Ident>,
    ) -> Result<ConstraintRule, SyntaxError> {
        let table = reader.object("the name of a table")?;
        let referenced = match reader.sees_open() {
            true => reader.names("the name of a column")?,
            false => Vec::new(),
        };
        // Of one column MATCH FULL asks for what MATCH SIMPLE does.
        let is_simple = reader.take("match simple");
        if !is_simple && columns.len() == 1 {
            reader.take("match full");
        }
        reader.refuse("match")?;
        let mut on_delete = OnDelete::NoAction;
        loop {
            match () {
                () if reader.take("on delete") => on_delete = OnDelete::read(reader)?,
                () if reader.take("on update") => {
                    reader.refuse("cascade, set null, set default")?;
                    OnDelete::read(reader)?;
                }
                () => break,
            }
        }
        Ok(ConstraintRule::ForeignKey { columns, table, referenced, on_delete })
    }
}

impl OnDelete {
    fn read(reader: &mut Reader<'_>) -> Result<OnDelete, SyntaxError> {
        reader.refuse("set default")?;
        match () {
            () if reader.take("no action") || reader.take("restrict") => Ok(OnDelete::NoAction),
            () if reader.take("cascade") => Ok(OnDelete::Cascade),
            () if reader.take("set null") => Ok(OnDelete::SetNull),
            () => Err(reader.wrong()),
        }
    }
}

/// TABLESPACE name, if it is there.
pub(crate) fn tablespace(reader: &mut Reader<'_>) -> Result<Option<Ident>, SyntaxError> {
    match reader.take("tablespace") {
        true => reader.name("the name of a tablespace").map(Some),
        false => Ok(None),
    }
}

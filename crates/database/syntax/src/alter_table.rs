//! ALTER TABLE.
//!
//! ```text
//!   ALTER TABLE [IF EXISTS] name action, ...
//!     ADD [COLUMN] [IF NOT EXISTS] column    ADD (column, ...)    ADD constraint
//!     DROP [COLUMN] [IF EXISTS] name [CASCADE]    DROP (name, ...)
//!     DROP CONSTRAINT [IF EXISTS] name [CASCADE]    DROP PRIMARY KEY [CASCADE]
//!     ALTER [COLUMN] name {[SET DATA] TYPE type [USING ...] | SET DEFAULT ... | DROP DEFAULT
//!                          | SET NOT NULL | DROP NOT NULL | ADD GENERATED ... | DROP IDENTITY}
//!     MODIFY name [type] [DEFAULT ...] [[NOT] NULL]    MODIFY (name ..., ...)
//!     RENAME TO name    RENAME [COLUMN] name TO name    RENAME CONSTRAINT name TO name
//! ```
//!
//! Callers: `statement`.
//! Sources: PostgreSQL's and Oracle's documentation, "ALTER TABLE".

use sqlparser::ast::{Expr, Ident};

use crate::columns::{ColumnDefinition, Constraint, Identity};
use crate::error::SyntaxError;
use crate::names::Name;
use crate::reader::{Reader, Written};
use crate::types::TypeName;

/// ALTER TABLE.
#[derive(Clone, PartialEq, Debug)]
pub struct AlterTable {
    /// The table's name.
    pub name: Name,
    /// IF EXISTS.
    pub if_exists: bool,
    /// What is changed, in this order.
    pub actions: Vec<TableAction>,
}

/// A change of ALTER TABLE.
#[derive(Clone, PartialEq, Debug)]
pub enum TableAction {
    /// A column is added.
    AddColumn {
        /// The column.
        column: Box<ColumnDefinition>,
        /// IF NOT EXISTS.
        if_not_exists: bool,
    },
    /// A column is dropped.
    DropColumn {
        /// Its name.
        column: Ident,
        /// IF EXISTS.
        if_exists: bool,
        /// Whether what depends on it is dropped too.
        cascade: bool,
    },
    /// A constraint is added.
    AddConstraint(Constraint),
    /// A constraint is dropped.
    DropConstraint {
        /// Its name.
        constraint: Ident,
        /// IF EXISTS.
        if_exists: bool,
        /// Whether foreign keys that refer to it are dropped too.
        cascade: bool,
    },
    /// The primary key is dropped.
    DropPrimaryKey {
        /// Whether foreign keys that refer to it are dropped too.
        cascade: bool,
    },
    /// A column gets another default.
    SetDefault {
        /// The column.
        column: Ident,
        /// The default; none if it is dropped.
        default: Option<Box<Written<Expr>>>,
    },
    /// A column refuses NULL, or takes it.
    SetNotNull {
        /// The column.
        column: Ident,
        /// Whether it refuses NULL.
        not_null: bool,
    },
    /// A column gets another type.
    SetType {
        /// The column.
        column: Ident,
        /// The type.
        kind: TypeName,
        /// USING: the new value of a row; by default the old one, cast.
        using: Option<Box<Written<Expr>>>,
    },
    /// A column gets its values from a sequence.
    AddIdentity {
        /// The column.
        column: Ident,
        /// The identity.
        identity: Identity,
    },
    /// A column doesn't get its values from a sequence any more.
    DropIdentity {
        /// The column.
        column: Ident,
        /// IF EXISTS.
        if_exists: bool,
    },
    /// The table gets another name.
    RenameTable(Ident),
    /// A column gets another name.
    RenameColumn {
        /// The present name.
        from: Ident,
        /// The new name.
        to: Ident,
    },
    /// A constraint gets another name.
    RenameConstraint {
        /// The present name.
        from: Ident,
        /// The new name.
        to: Ident,
    },
}

const COLUMN: &str = "the name of a column";
const CONSTRAINT: &str = "the name of a constraint";

impl AlterTable {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<AlterTable, SyntaxError> {
        reader.expect("table")?;
        let if_exists = reader.take("if exists");
        reader.refuse("only")?;
        let name = reader.object("the name of a table")?;
        let mut actions = Vec::new();
        loop {
            read_actions(reader, &mut actions)?;
            if !reader.take_mark(",") {
                break;
            }
        }
        Ok(AlterTable { name, if_exists, actions })
    }
}

fn read_actions(
    reader: &mut Reader<'_>,
    actions: &mut Vec<TableAction>,
) -> Result<(), SyntaxError> {
    reader.refuse(
        "move, set tablespace, set schema, owner, enable, disable, shrink, inherit, attach, \
         detach, cluster, replica, validate, set, read only, truncate, split, exchange",
    )?;
    match () {
        () if reader.take("add") => read_add(reader, actions),
        () if reader.take("drop") => read_drop(reader, actions),
        () if reader.take("alter") => {
            reader.take("column");
            let column = reader.name(COLUMN)?;
            actions.push(read_alter(reader, column)?);
            Ok(())
        }
        () if reader.take("modify") => match reader.sees_open() {
            true => {
                reader.bracketed(|reader| reader.list(|reader| read_modify(reader, actions)))?;
                Ok(())
            }
            false => {
                reader.take("column");
                read_modify(reader, actions)
            }
        },
        () if reader.take("rename") => {
            actions.push(read_rename(reader)?);
            Ok(())
        }
        () => Err(reader.wrong()),
    }
}

fn read_add(reader: &mut Reader<'_>, actions: &mut Vec<TableAction>) -> Result<(), SyntaxError> {
    if reader.sees_open() {
        reader.bracketed(|reader| {
            reader.list(|reader| {
                actions.push(match Constraint::read(reader, None)? {
                    Some(constraint) => TableAction::AddConstraint(constraint),
                    None => {
                        let column = Box::new(ColumnDefinition::read(reader)?);
                        TableAction::AddColumn { column, if_not_exists: false }
                    }
                });
                Ok(())
            })
        })?;
        return Ok(());
    }
    let is_column = reader.take("column");
    let if_not_exists = reader.take("if not exists");
    if !is_column
        && !if_not_exists
        && let Some(constraint) = Constraint::read(reader, None)?
    {
        actions.push(TableAction::AddConstraint(constraint));
        return Ok(());
    }
    let column = Box::new(ColumnDefinition::read(reader)?);
    actions.push(TableAction::AddColumn { column, if_not_exists });
    Ok(())
}

fn read_drop(reader: &mut Reader<'_>, actions: &mut Vec<TableAction>) -> Result<(), SyntaxError> {
    if reader.take("constraint") {
        let if_exists = reader.take("if exists");
        let constraint = reader.name(CONSTRAINT)?;
        let cascade = take_cascade(reader);
        actions.push(TableAction::DropConstraint { constraint, if_exists, cascade });
        return Ok(());
    }
    if reader.take("primary key") {
        let cascade = take_cascade(reader);
        actions.push(TableAction::DropPrimaryKey { cascade });
        return Ok(());
    }
    if reader.sees_open() {
        let columns = reader.names(COLUMN)?;
        let cascade = take_cascade(reader);
        let drop = |column| TableAction::DropColumn { column, if_exists: false, cascade };
        actions.extend(columns.into_iter().map(drop));
        return Ok(());
    }
    reader.take("column");
    let if_exists = reader.take("if exists");
    let column = reader.name(COLUMN)?;
    let cascade = take_cascade(reader);
    actions.push(TableAction::DropColumn { column, if_exists, cascade });
    Ok(())
}

/// CASCADE, as PostgreSQL and Oracle write it, or RESTRICT, which is as nothing.
pub(crate) fn take_cascade(reader: &mut Reader<'_>) -> bool {
    let cascade = reader.take("cascade constraints") || reader.take("cascade");
    if !cascade {
        reader.take("restrict");
    }
    cascade
}

fn read_alter(reader: &mut Reader<'_>, column: Ident) -> Result<TableAction, SyntaxError> {
    let whole =
        |reader: &mut Reader<'_>| reader.written(|reader| reader.expression()).map(Box::new);
    match () {
        () if reader.take("set data type") || reader.take("type") => {
            let kind = reader.type_name()?;
            reader.refuse("collate")?;
            let using = match reader.take("using") {
                true => Some(whole(reader)?),
                false => None,
            };
            Ok(TableAction::SetType { column, kind, using })
        }
        () if reader.take("set default") => {
            Ok(TableAction::SetDefault { column, default: Some(whole(reader)?) })
        }
        () if reader.take("drop default") => Ok(TableAction::SetDefault { column, default: None }),
        () if reader.take("set not null") => Ok(TableAction::SetNotNull { column, not_null: true }),
        () if reader.take("drop not null") => {
            Ok(TableAction::SetNotNull { column, not_null: false })
        }
        () if reader.take("add generated") => {
            Ok(TableAction::AddIdentity { column, identity: Identity::read(reader)? })
        }
        () if reader.take("drop identity") => {
            Ok(TableAction::DropIdentity { column, if_exists: reader.take("if exists") })
        }
        () => {
            reader.refuse("set, restart, reset, drop expression")?;
            Err(reader.wrong())
        }
    }
}

/// Oracle's form, in which a column's parts stand one after the other.
fn read_modify(reader: &mut Reader<'_>, actions: &mut Vec<TableAction>) -> Result<(), SyntaxError> {
    let column = reader.name(COLUMN)?;
    let before = actions.len();
    if reader.sees_name_but(&[]) {
        let kind = reader.type_name()?;
        actions.push(TableAction::SetType { column: column.clone(), kind, using: None });
    }
    loop {
        let column = column.clone();
        actions.push(match () {
            () if reader.take("default") => {
                let default = reader.written(|reader| reader.short_expression())?;
                TableAction::SetDefault { column, default: Some(Box::new(default)) }
            }
            () if reader.take("not null") => TableAction::SetNotNull { column, not_null: true },
            () if reader.take("null") => TableAction::SetNotNull { column, not_null: false },
            () => break,
        });
    }
    match actions.len() > before {
        true => Ok(()),
        false => Err(reader.wrong()),
    }
}

fn read_rename(reader: &mut Reader<'_>) -> Result<TableAction, SyntaxError> {
    if reader.take("to") {
        return reader.name("the new name").map(TableAction::RenameTable);
    }
    let is_constraint = reader.take("constraint");
    if !is_constraint {
        reader.take("column");
    }
    let from = reader.name(if is_constraint { CONSTRAINT } else { COLUMN })?;
    reader.expect("to")?;
    let to = reader.name("the new name")?;
    Ok(match is_constraint {
        true => TableAction::RenameConstraint { from, to },
        false => TableAction::RenameColumn { from, to },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Statement;
    use crate::testing::{refused, statement};

    fn actions(text: &str) -> Vec<TableAction> {
        match statement(&format!("alter table t {text}")) {
            Statement::AlterTable(alter) => alter.actions,
            other => panic!("{other:?}"),
        }
    }

    /// The only action.
    fn action(text: &str) -> TableAction {
        let mut all = actions(text);
        assert_eq!(all.len(), 1, "{text}");
        all.remove(0)
    }

    #[test]
    fn columns_and_constraints_come_and_go() {
        let found = action("add column if not exists a int default 1");
        assert!(matches!(found, TableAction::AddColumn { if_not_exists: true, .. }));
        assert!(matches!(action("add a int"), TableAction::AddColumn { .. }));
        assert!(matches!(action("add unique (a)"), TableAction::AddConstraint(_)));
        assert_eq!(actions("add (a int, b text not null, primary key (a))").len(), 3);
        let found = action("drop column if exists a cascade");
        assert!(matches!(found, TableAction::DropColumn { if_exists: true, cascade: true, .. }));
        assert_eq!(actions("drop (a, b) cascade constraints").len(), 2);
        let found = action("drop constraint c restrict");
        assert!(matches!(found, TableAction::DropConstraint { cascade: false, .. }));
        let found = action("drop primary key cascade");
        assert_eq!(found, TableAction::DropPrimaryKey { cascade: true });
        assert_eq!(actions("add a int, drop b, rename to u").len(), 3);
    }

    #[test]
    fn a_column_is_altered_in_the_words_of_both_worlds() {
        let TableAction::SetType { using: Some(using), .. } =
            action("alter column a set data type number(9) using a * 10")
        else {
            panic!()
        };
        assert_eq!(using.text, "a * 10");
        let found = action("alter a set default x and y");
        assert!(matches!(found, TableAction::SetDefault { default: Some(_), .. }));
        assert!(matches!(action("alter a drop default"), TableAction::SetDefault { .. }));
        let found = action("alter a set not null");
        assert!(matches!(found, TableAction::SetNotNull { not_null: true, .. }));
        let found = action("alter a add generated always as identity");
        assert!(matches!(found, TableAction::AddIdentity { .. }));
        assert!(matches!(action("alter a drop identity"), TableAction::DropIdentity { .. }));
        assert_eq!(actions("modify a varchar2(9) default 'x' not null").len(), 3);
        assert_eq!(actions("modify (a null, b number(3))").len(), 2);
    }

    #[test]
    fn things_are_renamed() {
        assert!(matches!(action("rename to u"), TableAction::RenameTable(_)));
        assert!(matches!(action("rename a to b"), TableAction::RenameColumn { .. }));
        assert!(matches!(action("rename column a to b"), TableAction::RenameColumn { .. }));
        let found = action("rename constraint a to b");
        assert!(matches!(found, TableAction::RenameConstraint { .. }));
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(refused("alter table t").contains("expected ADD, DROP, ALTER, MODIFY or RENAME"));
        assert!(refused("alter table t move").contains("MOVE isn't supported"));
        assert!(refused("alter table t alter a set x").contains("SET isn't supported"));
        assert!(refused("alter table t modify a").contains("expected DEFAULT, NOT NULL or NULL"));
        assert!(refused("alter table t rename a b").contains("expected TO"));
    }
}

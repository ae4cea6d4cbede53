//! ALTER TABLE.
//!
//! Each action is a statement of the catalog's, and those before a refused one stay, as in Oracle.
//!
//! Callers: `define`; `database`, for alterations that aren't texts.

use std::cell::RefCell;
use std::sync::Arc;

use catalog::{Alteration, ColumnSpec, ConstraintSpec, DefaultSpec};
use expression::{Bare, Expression, Kind, Typed};
use relation::{Default as ColumnDefault, TableDefinition};
use sqlparser::ast::{Expr, Ident};
use stop::{RefusalKind, SqlState, Stop};
use syntax::{AlterTable, ColumnDefinition, TableAction, TypeName, Written};
use txn::LockWait;
use value::{OwnedValue, Type, Value};

use super::columns::{Present, stored};
use super::{Done, unless_redefined};
use crate::bind::Binder;
use crate::check::columns_of;
use crate::engine::Frame;
use crate::names::{Name, fold};
use crate::refuse::refuse;
use crate::stack::{MAKING, with_stack};

impl Frame<'_> {
    /// ALTER TABLE.
    pub(super) fn alter_table(&mut self, alter: &AlterTable, text: &str) -> Result<Done, Stop> {
        let mut name = Name::of_users(&alter.name)?;
        if alter.if_exists && self.object_named(&name).is_none() {
            return Ok(Done::Skipped);
        }
        // IF EXISTS of an action is about its column or constraint, and not about the table.
        self.catalog.table(&name, self.session)?;
        let mut all = Done::Yes;
        for action in &alter.actions {
            let done = self.alter_once(&name, action, text)?;
            if done == Done::Skipped {
                all = Done::Skipped;
            }
            if let TableAction::RenameTable(to) = action {
                name = fold(to);
            }
        }
        Ok(all)
    }

    fn alter_once(&mut self, name: &str, action: &TableAction, text: &str) -> Result<Done, Stop> {
        let wait = self.state.own.ddl_lock_wait();
        let alteration = match action {
            TableAction::AddColumn { column, if_not_exists } => {
                return self.add_column(name, column, *if_not_exists, text);
            }
            TableAction::DropColumn { column, if_exists, cascade } => {
                if *cascade {
                    let what = "DROP COLUMN ... CASCADE";
                    let instead = "drop what depends on the column first";
                    return Err(unsupported(what, instead));
                }
                let dropped = self.alter(name, &Alteration::DropColumn(fold(column)), wait);
                return Done::unless(*if_exists, RefusalKind::NotFound, dropped);
            }
            TableAction::AddConstraint(constraint) => {
                let table = self.catalog.table(name, self.session)?;
                let known = columns_of(&table);
                Alteration::AddConstraint(self.constraint_spec(constraint, name, &known, text)?)
            }
            TableAction::DropConstraint { constraint, if_exists, cascade } => {
                let name_of = fold(constraint);
                let drop = Alteration::DropConstraint { name: name_of, cascade: *cascade };
                let dropped = self.alter(name, &drop, wait);
                return Done::unless(*if_exists, RefusalKind::NotFound, dropped);
            }
            TableAction::DropPrimaryKey { cascade } => {
                let table = self.catalog.table(name, self.session)?;
                let primary = table.indexes.iter().find(|index| index.primary);
                let primary = primary.ok_or_else(|| {
                    let message = format!("table {name} has no primary key");
                    refuse(SqlState::UNDEFINED_OBJECT, message)
                })?;
                Alteration::DropConstraint { name: primary.name.clone(), cascade: *cascade }
            }
            TableAction::SetDefault { column, default } => {
                self.default_alteration(name, column, default.as_deref(), text)?
            }
            TableAction::SetNotNull { column, not_null: true } => {
                Alteration::SetNotNull(fold(column))
            }
            TableAction::SetNotNull { column, not_null: false } => {
                Alteration::DropNotNull(fold(column))
            }
            TableAction::SetType { column, kind, using } => {
                return self.set_type(name, column, *kind, using.as_deref(), text);
            }
            TableAction::AddIdentity { .. } | TableAction::DropIdentity { .. } => {
                let instead = "make a table with the column as it is to be, and copy the rows";
                return Err(unsupported("a change of an identity", instead));
            }
            TableAction::RenameTable(to) => Alteration::RenameTable(fold(to)),
            TableAction::RenameColumn { from, to } => {
                Alteration::RenameColumn { from: fold(from), to: fold(to) }
            }
            TableAction::RenameConstraint { from, to } => {
                Alteration::RenameConstraint { from: fold(from), to: fold(to) }
            }
        };
        self.alter(name, &alteration, wait).map(|()| Done::Yes)
    }

    /// Alters a table, unless a view would give other rows behind it (rule SQ66). Each lock is
    /// waited for as long as `wait` says.
    pub fn alter(&self, name: &str, alteration: &Alteration, wait: LockWait) -> Result<(), Stop> {
        with_stack(MAKING, || match alteration {
            Alteration::AddColumn(column) => self.add_unread(name, column, &[], wait),
            Alteration::RenameColumn { from, to } => self.rename_unread(name, from, to, wait),
            _ => self.catalog.alter_table(name, alteration, wait, self.session),
        })
    }

    /// Adds a column with its constraints, or nothing of that.
    fn add_column(
        &mut self,
        name: &str,
        column: &ColumnDefinition,
        if_not_exists: bool,
        text: &str,
    ) -> Result<Done, Stop> {
        let spec = self.column_spec(column, Present::Rows, text)?;
        let constraints = self.constraints_of(name, column, &spec, text)?;
        let wait = self.state.own.ddl_lock_wait();
        match self.add_unread(name, &spec, &constraints, wait) {
            Err(stop) if if_not_exists && stop.state() == SqlState::DUPLICATE_COLUMN => {
                Ok(Done::Skipped)
            }
            added => added.map(|()| Done::Yes),
        }
    }

    /// Adds a column that no view would read.
    fn add_unread(
        &self,
        name: &str,
        column: &ColumnSpec,
        constraints: &[ConstraintSpec],
        wait: LockWait,
    ) -> Result<(), Stop> {
        let session = self.session;
        unless_redefined(&format!("column {} of table {name}", column.name), || {
            let seen_in = self.catalog.generation(session);
            self.check_added(name, &column.name, column.kind)?;
            self.catalog.add_column(name, column, constraints, seen_in, wait, session)
        })
    }

    /// Gives a column a name by which no view would read it.
    fn rename_unread(&self, name: &str, from: &str, to: &str, wait: LockWait) -> Result<(), Stop> {
        let session = self.session;
        unless_redefined(&format!("column {from} of table {name}"), || {
            let seen_in = self.catalog.generation(session);
            self.check_renamed(name, from, to)?;
            self.catalog.rename_column(name, from, to, seen_in, wait, session)
        })
    }

    /// What is said of the constraints of a new column. A column that is there has none: it is the
    /// catalog's to refuse.
    fn constraints_of(
        &self,
        table: &str,
        column: &ColumnDefinition,
        spec: &ColumnSpec,
        text: &str,
    ) -> Result<Vec<ConstraintSpec>, Stop> {
        let mut after = self.catalog.table(table, self.session)?.as_ref().clone();
        if after.columns.iter().any(|of| of.name == spec.name) {
            return Ok(Vec::new());
        }
        after.columns.push(relation::ColumnDefinition::new(&spec.name, spec.kind, spec.not_null));
        let known = columns_of(&after);
        let constraints = column.constraints.iter();
        constraints.map(|one| self.constraint_spec(one, table, &known, text)).collect()
    }

    fn default_alteration(
        &mut self,
        name: &str,
        column: &Ident,
        default: Option<&Written<Expr>>,
        text: &str,
    ) -> Result<Alteration, Stop> {
        let table = self.catalog.table(name, self.session)?;
        let column = fold(column);
        let Some(default) = default else {
            return Ok(Alteration::SetDefault { column, value: OwnedValue::NULL });
        };
        let kind = kind_of(&table, &column)?;
        let spec = self.default_spec(default, &column, kind, Present::NoRows, text)?;
        Ok(match spec {
            DefaultSpec::Constant(value) => Alteration::SetDefault { column, value },
            DefaultSpec::Expression { text, .. } => {
                Alteration::SetDefaultExpression { column, text }
            }
            DefaultSpec::Identity { .. } => unreachable!("a default is no identity"),
        })
    }

    /// Gives a column another type. Values are converted as by an assignment, or as USING says.
    fn set_type(
        &mut self,
        name: &str,
        column: &Ident,
        kind: TypeName,
        using: Option<&Written<Expr>>,
        text: &str,
    ) -> Result<Done, Stop> {
        let table = self.catalog.table(name, self.session)?;
        let column = fold(column);
        let kind = stored(kind, &column)?;
        self.check_default(&table, &column, kind)?;
        let wait = self.state.own.ddl_lock_wait();
        let Some(convert) = self.conversion(&table, &column, kind, using, text)? else {
            let alteration = Alteration::SetType { column, kind };
            return self.alter(name, &alteration, wait).map(|()| Done::Yes);
        };
        let bare = RefCell::new(Bare::new());
        let mut made = |value: Value<'_>| -> Result<OwnedValue, Stop> {
            let mut bare = bare.borrow_mut();
            *bare = Bare::new();
            let row = [value];
            Ok(convert.evaluate(&row, &bare.evaluation())?.to_owned())
        };
        let (catalog, session) = (self.catalog, self.session);
        catalog.convert_column(name, &column, kind, &mut made, wait, session)?;
        Ok(Done::Yes)
    }

    /// Refuses a type that the column's default can't have, if that is an expression: no row could
    /// be inserted with it. A constant is the catalog's to look at.
    fn check_default(&self, table: &TableDefinition, column: &str, kind: Type) -> Result<(), Stop> {
        let place = catalog::place_of(table, column)?;
        let ColumnDefault::Expression(text) = &table.columns[place].default else { return Ok(()) };
        let expr = syntax::parse_expression(text).map_err(Stop::from)?;
        let dictionary = self.ground().dictionary();
        let bound = Binder::new(&dictionary, 0).default_alone(&expr, column, kind);
        let bound = bound.map_err(|refused| refused.elsewhere().within(""));
        bound.map(|_| ()).map_err(|stop| {
            let lead = format!("cannot alter table {}: its default {text}: ", table.name);
            let hint = "drop the default first, or give the column another one";
            stop.map_refusal(|refusal| refusal.led_by(&lead).hint(hint))
        })
    }

    /// What makes the new value of a column of its old one, which is the one column of its row;
    /// none if the values are only fitted.
    fn conversion(
        &self,
        table: &Arc<TableDefinition>,
        column: &str,
        kind: Type,
        using: Option<&Written<Expr>>,
        text: &str,
    ) -> Result<Option<Expression>, Stop> {
        let from = kind_of(table, column)?;
        let Some(using) = using else {
            let old = Typed::column(0, Kind::from(from));
            if is_fitted(Kind::from(from), Kind::from(kind)) {
                return Ok(None);
            }
            let assigned = old.assigned(kind, column).map_err(Stop::from)?;
            return Ok(Some(assigned.expression));
        };
        let place = catalog::place_of(table, column)?;
        let dictionary = self.ground().dictionary();
        let bound = Binder::new(&dictionary, 0);
        let bound = bound.converted_alone(&using.tree, &table.name, &columns_of(table), kind);
        let mut expression = bound.map_err(|refused| refused.within(text))?;
        let mut reads_others = false;
        expression.change(&mut |part| {
            if let Expression::Column(number) = part {
                reads_others |= *number != place;
                *number = 0;
            }
        });
        if reads_others {
            let instead = "add a column, fill it by UPDATE, and drop the old one";
            return Err(unsupported("USING that reads other columns than its own", instead));
        }
        Ok(Some(expression))
    }
}

/// Whether values of one kind become those of another by being fitted to a column.
fn is_fitted(from: Kind, to: Kind) -> bool {
    from == to
        || (from.is_number() && to.is_number())
        || (from.is_text() && to.is_text())
        || (from.is_moment() && to.is_moment())
}

fn kind_of(table: &TableDefinition, column: &str) -> Result<Type, Stop> {
    Ok(table.columns[catalog::place_of(table, column)?].kind)
}

#[cold]
fn unsupported(what: &str, instead: &str) -> Stop {
    let message = format!("{what} isn't supported");
    let refused = refuse(SqlState::FEATURE_NOT_SUPPORTED, message);
    refused.map_refusal(|refusal| refusal.hint(instead))
}

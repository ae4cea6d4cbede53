//! ALTER TABLE.
//!
//! ```text
//!   actions ─▶ in passes ─▶ alterations, each bound by the table as it will be ─▶ catalog, at once
//! ```
//!
//! Invariant: the actions of a statement are all done, or none is (rule SQ68).
//!
//! Callers: `define`; `database`, for alterations that aren't texts.

use catalog::{Alteration, ColumnSpec, DefaultSpec};
use expression::{Bare, Expression, Kind, Typed};
use relation::{Default as ColumnDefault, TableDefinition};
use sqlparser::ast::{Expr, Ident};
use stop::{SqlState, Stop};
use syntax::{
    AlterTable, ColumnDefinition, Constraint, ConstraintRule, TableAction, TypeName, Written,
};
use txn::LockWait;
use value::{OwnedValue, Type, Value};

use super::altered::Altered;
use super::columns::{Present, stored};
use super::{Done, unless_redefined};
use crate::bind::Binder;
use crate::check::columns_of;
use crate::engine::Frame;
use crate::names::{Name, fold};
use crate::refuse::refuse;
use crate::stack::{MAKING, with_stack};

/// When an action takes its turn: what goes makes room for what comes, columns are there before
/// their constraints, and keys before what may refer to them. Sources: PostgreSQL, `AT_PASS_*`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Pass {
    DropConstraints,
    DropOthers,
    SetTypes,
    AddColumns,
    SetOthers,
    AddKeys,
    AddConstraints,
}

impl Pass {
    fn of(action: &TableAction) -> Pass {
        match action {
            TableAction::DropConstraint { .. } | TableAction::DropPrimaryKey { .. } => {
                Pass::DropConstraints
            }
            TableAction::DropColumn { .. }
            | TableAction::SetDefault { default: None, .. }
            | TableAction::SetNotNull { not_null: false, .. } => Pass::DropOthers,
            TableAction::SetType { .. } => Pass::SetTypes,
            TableAction::AddColumn { .. } => Pass::AddColumns,
            TableAction::SetDefault { default: Some(_), .. }
            | TableAction::SetNotNull { not_null: true, .. }
            | TableAction::AddIdentity { .. }
            | TableAction::DropIdentity { .. }
            | TableAction::RenameTable(_)
            | TableAction::RenameColumn { .. }
            | TableAction::RenameConstraint { .. } => Pass::SetOthers,
            TableAction::AddConstraint(constraint) => match constraint.rule {
                ConstraintRule::Key { .. } => Pass::AddKeys,
                ConstraintRule::Check(_) | ConstraintRule::ForeignKey { .. } => {
                    Pass::AddConstraints
                }
            },
        }
    }
}

impl Frame<'_> {
    /// ALTER TABLE.
    pub(super) fn alter_table(&mut self, alter: &AlterTable, text: &str) -> Result<Done, Stop> {
        let name = Name::of_users(&alter.name)?;
        if alter.if_exists && self.object_named(&name).is_none() {
            return Ok(Done::Skipped);
        }
        let actions = in_passes(&alter.actions)?;
        let wait = self.state.own.ddl_lock_wait();
        unless_redefined(&format!("table {name}"), || {
            // IF EXISTS of an action is about its column or constraint, and not about the table.
            let mut altered = self.look_at(&name)?;
            for action in &actions {
                self.add_action(&mut altered, action, text)?;
            }
            self.alter_at_once(&name, altered, wait)
        })
    }

    /// Alters a table, unless a view would give other rows behind it (rule SQ66). Each lock is
    /// waited for as long as `wait` says.
    pub fn alter(&self, name: &str, alteration: &Alteration, wait: LockWait) -> Result<(), Stop> {
        let done = with_stack(MAKING, || {
            unless_redefined(&format!("table {name}"), || {
                let mut altered = self.look_at(name)?;
                self.add(&mut altered, alteration.clone())?;
                self.alter_at_once(name, altered, wait)
            })
        });
        done.map(|_| ())
    }

    /// A table that is to be altered.
    fn look_at<'c>(&self, name: &str) -> Result<Altered<'c>, Stop> {
        let seen_in = self.catalog.generation(self.session);
        let table = self.catalog.table(name, self.session)?;
        Ok(Altered::new(&table, seen_in))
    }

    fn alter_at_once(
        &self,
        name: &str,
        altered: Altered<'_>,
        wait: LockWait,
    ) -> Result<Done, Stop> {
        let done = altered.done;
        if let Some(alterations) = altered.into_alterations() {
            self.catalog.alter_together(name, alterations, wait, self.session)?;
        }
        Ok(done)
    }

    /// Adds an alteration, unless a view would give other rows behind it.
    fn add(&self, altered: &mut Altered<'_>, alteration: Alteration) -> Result<(), Stop> {
        match &alteration {
            Alteration::AddColumn(ColumnSpec { name, kind, .. }) => {
                self.check_added(&altered.table, name, *kind)?;
            }
            Alteration::RenameColumn { from, to } => {
                self.check_renamed(&altered.table, from, to)?;
            }
            _ => {}
        }
        altered.push(alteration);
        Ok(())
    }

    fn add_action(
        &mut self,
        altered: &mut Altered<'_>,
        action: &TableAction,
        text: &str,
    ) -> Result<(), Stop> {
        let alteration = match action {
            TableAction::AddColumn { column, if_not_exists } => {
                return self.add_column(altered, column, *if_not_exists, text);
            }
            TableAction::DropColumn { cascade: true, .. } => {
                let what = "DROP COLUMN ... CASCADE";
                return Err(unsupported(what, "drop what depends on the column first"));
            }
            TableAction::DropColumn { column, if_exists, .. } => {
                let column = fold(column);
                if *if_exists && !altered.has_column(&column) {
                    altered.done = Done::Skipped;
                    return Ok(());
                }
                Alteration::DropColumn(column)
            }
            TableAction::AddConstraint(constraint) => {
                let known = columns_of(&altered.table);
                let spec = self.constraint_spec(constraint, &altered.table.name, &known, text)?;
                Alteration::AddConstraint(spec)
            }
            TableAction::DropConstraint { constraint, if_exists, cascade } => {
                let name = fold(constraint);
                if *if_exists && !altered.has_constraint(&name) {
                    altered.done = Done::Skipped;
                    return Ok(());
                }
                Alteration::DropConstraint { name, cascade: *cascade }
            }
            TableAction::DropPrimaryKey { cascade } => {
                let name = primary_of(&altered.table)?;
                Alteration::DropConstraint { name, cascade: *cascade }
            }
            TableAction::SetDefault { column, default } => {
                self.default_alteration(&altered.table, column, default.as_deref(), text)?
            }
            TableAction::SetNotNull { column, not_null: true } => {
                Alteration::SetNotNull(fold(column))
            }
            TableAction::SetNotNull { column, not_null: false } => {
                Alteration::DropNotNull(fold(column))
            }
            TableAction::SetType { column, kind, using } => {
                return self.set_type(altered, column, *kind, using.as_deref(), text);
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
        self.add(altered, alteration)
    }

    /// Adds a column with its constraints. One that is there is the catalog's to refuse.
    fn add_column(
        &mut self,
        altered: &mut Altered<'_>,
        column: &ColumnDefinition,
        if_not_exists: bool,
        text: &str,
    ) -> Result<(), Stop> {
        let is_there = altered.has_column(&fold(&column.name));
        if is_there && if_not_exists {
            altered.done = Done::Skipped;
            return Ok(());
        }
        let spec = self.column_spec(column, Present::Rows, text)?;
        self.add(altered, Alteration::AddColumn(spec))?;
        for constraint in &column.constraints {
            let known = columns_of(&altered.table);
            let spec = self.constraint_spec(constraint, &altered.table.name, &known, text)?;
            altered.push(Alteration::AddConstraint(spec));
        }
        Ok(())
    }

    fn default_alteration(
        &mut self,
        table: &TableDefinition,
        column: &Ident,
        default: Option<&Written<Expr>>,
        text: &str,
    ) -> Result<Alteration, Stop> {
        let column = fold(column);
        let Some(default) = default else {
            return Ok(Alteration::SetDefault { column, value: OwnedValue::NULL });
        };
        let kind = kind_of(table, &column)?;
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
        &self,
        altered: &mut Altered<'_>,
        column: &Ident,
        kind: TypeName,
        using: Option<&Written<Expr>>,
        text: &str,
    ) -> Result<(), Stop> {
        let column = fold(column);
        let kind = stored(kind, &column)?;
        self.check_default(&altered.table, &column, kind)?;
        if let Some(convert) = self.conversion(&altered.table, &column, kind, using, text)? {
            let made = move |value: Value<'_>| -> Result<OwnedValue, Stop> {
                let (row, bare) = ([value], Bare::new());
                let made = convert.evaluate(&row, &bare.evaluation())?.to_owned();
                Ok(made)
            };
            altered.convert(&column, Box::new(made));
        }
        altered.push(Alteration::SetType { column, kind });
        Ok(())
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
        table: &TableDefinition,
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

/// The actions in the order in which they are done. Refused if a name changes beside others: it
/// wouldn't be clear which of the names they mean.
fn in_passes(written: &[TableAction]) -> Result<Vec<TableAction>, Stop> {
    let renames = |action: &TableAction| {
        matches!(
            action,
            TableAction::RenameTable(_)
                | TableAction::RenameColumn { .. }
                | TableAction::RenameConstraint { .. }
        )
    };
    if written.len() > 1 && written.iter().any(renames) {
        let what = "RENAME beside another action of ALTER TABLE";
        return Err(unsupported(what, "rename by a statement of its own"));
    }
    let mut actions = Vec::with_capacity(written.len());
    for action in written {
        match action {
            TableAction::AddColumn { column, if_not_exists } => {
                push_column(column, *if_not_exists, &mut actions);
                continue;
            }
            // The default that a column has needn't be of its new type if it gets another one.
            TableAction::SetDefault { column, default: Some(_) } if is_retyped(column, written) => {
                let column = column.clone();
                actions.push(TableAction::SetDefault { column, default: None });
            }
            _ => {}
        }
        actions.push(action.clone());
    }
    actions.sort_by_key(Pass::of);
    Ok(actions)
}

/// Whether a column gets another type.
fn is_retyped(column: &Ident, actions: &[TableAction]) -> bool {
    actions.iter().any(|action| match action {
        TableAction::SetType { column: retyped, .. } => fold(retyped) == fold(column),
        _ => false,
    })
}

/// Adds a new column, and its constraints as actions of their own, for what they refer to may be
/// new too. Those of a column that may be there stay with it.
fn push_column(column: &ColumnDefinition, if_not_exists: bool, actions: &mut Vec<TableAction>) {
    let is_primary = |constraint: &Constraint| {
        matches!(constraint.rule, ConstraintRule::Key { is_primary: true, .. })
    };
    let mut column = Box::new(column.clone());
    // A primary key's column isn't NULL, as in CREATE TABLE.
    column.not_null |= column.constraints.iter().any(is_primary);
    let constraints = match if_not_exists {
        true => Vec::new(),
        false => std::mem::take(&mut column.constraints),
    };
    actions.push(TableAction::AddColumn { column, if_not_exists });
    actions.extend(constraints.into_iter().map(TableAction::AddConstraint));
}

/// The name of a table's primary key.
fn primary_of(table: &TableDefinition) -> Result<String, Stop> {
    let primary = table.indexes.iter().find(|index| index.primary);
    primary.map(|index| index.name.clone()).ok_or_else(|| {
        let message = format!("table {} has no primary key", table.name);
        refuse(SqlState::UNDEFINED_OBJECT, message)
    })
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

//! ALTER TABLE.
//!
//! A statement locks the table in X. Each of its alterations takes the definition that the one
//! before has left, looks at the rows by it if it has to, and leaves another one. The last one is
//! published. No row is rewritten, but for some changes of a type (`set_type`).
//!
//! Invariant: all alterations of a statement are done, by one edit, or none (DC46).
//!
//! Callers: the embedded API; SQL.

use std::collections::BTreeMap;

use os::Session;
use relation::{Default, ForeignKey, IndexDefinition, TableDefinition};
use stop::{Refusal, RefusalKind, Stop};
use txn::{LockWait, TableMode};
use value::{Misfit, OwnedValue};

use crate::altered::Altered;
use crate::checks::FoundRow;
use crate::definition_names::{index_names, place_of, rename_index};
use crate::draft::Draft;
use crate::drop::remove_index;
use crate::spec::{Alteration, ColumnSpec, ConstraintSpec, DefaultSpec, Rule};
use crate::statement::Statement;
use crate::{Catalog, Convert, names, texts};

/// What an ALTER TABLE does: all of it or nothing.
pub struct TableAlterations<'c> {
    /// What is altered, in this order. Changes of types that stand side by side rewrite the rows
    /// once.
    pub all: Vec<Alteration>,
    /// What makes the new values of columns that get another type, by their names. The values of
    /// others are fitted to the type. It is called with no latch held, once for each row.
    pub conversions: BTreeMap<String, Box<Convert<'c>>>,
    /// The generation before the caller looked at the table, and at the views that read it; none if
    /// it hasn't. Refused (*definition changed*) if what it saw has changed (DC44).
    pub seen_in: Option<u64>,
}

impl Catalog {
    /// Alters a table in one way. The change is durable when this returns. Nobody asks views here
    /// whether they would read a new column, or a new name of one: SQL does (rule sql/SQ66).
    pub fn alter_table(
        &self,
        name: &str,
        alteration: &Alteration,
        lock_wait: LockWait,
        session: &Session,
    ) -> Result<(), Stop> {
        let (all, conversions) = (vec![alteration.clone()], BTreeMap::new());
        let alterations = TableAlterations { all, conversions, seen_in: None };
        self.alter_together(name, alterations, lock_wait, session)
    }

    /// Alters a table in several ways, or in none of them if one is refused. The change is durable
    /// when this returns.
    pub fn alter_together(
        &self,
        name: &str,
        alterations: TableAlterations<'_>,
        lock_wait: LockWait,
        session: &Session,
    ) -> Result<(), Stop> {
        let TableAlterations { all, mut conversions, seen_in } = alterations;
        self.run(lock_wait, session, |statement| {
            let before = statement.lock(name, TableMode::Exclusive)?;
            statement.read(|dictionary| dictionary.check_seen(&before, seen_in))?;
            for alteration in &all {
                statement.lock_parent(&before.name, alteration)?;
            }
            let mut altered = Altered::new(before, seen_in);
            for group in all.chunk_by(|one, next| one.sets_type() && next.sets_type()) {
                match group {
                    [one] if !one.sets_type() => statement.alter(&mut altered, one)?,
                    types => {
                        let table = statement.set_types(&altered.table, types, &mut conversions)?;
                        altered.table = table;
                    }
                }
                altered.settle_own_keys();
                // It says what is in its way before it goes on to work with rows.
                statement.read(|dictionary| altered.look(dictionary))?;
            }
            statement.publish_altered(altered)
        })
    }

    /// Renames an index, or the constraint that has it, whatever its table is called by the time
    /// that the lock of that is had.
    pub fn rename_index(
        &self,
        from: &str,
        to: &str,
        lock_wait: LockWait,
        session: &Session,
    ) -> Result<(), Stop> {
        self.run(lock_wait, session, |statement| {
            let before = statement.lock_table_of_index(from)?;
            let mut altered = Altered::new(before, None);
            statement.rename_constraint(&mut altered.table, from, to)?;
            altered.settle_own_keys();
            statement.publish_altered(altered)
        })
    }
}

pub(crate) fn cannot(table: &str, what: &str) -> Stop {
    Stop::refuse(RefusalKind::Invalid, format!("cannot alter table {table}: {what}"))
}

/// The refusal of a value that a column of the table can't have, with the state of what is wrong.
pub(crate) fn cannot_hold(table: &str, misfit: Misfit) -> Stop {
    Refusal::from(misfit).led_by(&format!("cannot alter table {table}: ")).table(table).into()
}

pub(crate) fn in_use(table: &str, what: &str) -> Stop {
    Stop::refuse(RefusalKind::WrongState, format!("cannot alter table {table}: {what}"))
}

/// The value as a column of the table holds it.
fn fitted(table: &TableDefinition, column: &str, value: &OwnedValue) -> Result<OwnedValue, Stop> {
    let kind = table.columns[place_of(table, column)?].kind;
    let fitted = kind.fit(column, value.get());
    let fitted = fitted.map_err(|misfit| cannot_hold(&table.name, misfit))?;
    Ok(fitted.to_owned())
}

/// The index or constraint that has the column, in words for a message.
fn user_of(table: &TableDefinition, column: usize) -> Option<String> {
    let own = table.foreign_keys.iter().find(|key| key.columns.contains(&column));
    let check = table.checks.iter().find(|check| check.condition.columns().contains(&column));
    let check = check.map(|check| &check.name).or(expression_on(table, column));
    let has = |index: &&IndexDefinition| index.columns.iter().any(|of| of.column == column);
    let index = table.indexes.iter().find(has);
    // A column that other tables refer to is in an index.
    let own = own.map(|key| format!("its foreign key {}", key.name));
    let check = check.map(|check| format!("its check {check}"));
    let index = index.map(|index| match index.primary {
        true => format!("its primary key {}", index.name),
        false => format!("its index {}", index.name),
    });
    own.or(check).or(index)
}

/// The name of a CHECK that is an expression and reads the column.
fn expression_on(table: &TableDefinition, column: usize) -> Option<&String> {
    let check = table.expressions.iter().find(|check| check.columns.contains(&column));
    check.map(|check| &check.name)
}

/// How many conditions and foreign keys a table has.
fn rules_of(table: &TableDefinition) -> [usize; 3] {
    [table.checks.len(), table.expressions.len(), table.foreign_keys.len()]
}

impl Statement<'_> {
    /// Alters a table, but for the type of a column.
    fn alter(&mut self, altered: &mut Altered, alteration: &Alteration) -> Result<(), Stop> {
        let table = &mut altered.table;
        match alteration {
            Alteration::AddColumn(spec) => self.add_column(table, spec),
            Alteration::DropColumn(column) => drop_column(table, column),
            Alteration::RenameTable(to) => self.rename_table(table, to),
            Alteration::RenameColumn { from, to } => self.rename_column(table, from, to),
            Alteration::RenameConstraint { from, to } => self.rename_constraint(table, from, to),
            Alteration::SetDefault { column, value } => {
                let fitted = fitted(table, column, value)?;
                set_default(table, column, Default::Constant(fitted))
            }
            Alteration::SetDefaultExpression { column, text } => {
                texts::check(&format!("the default of column {column}"), text)?;
                set_default(table, column, Default::Expression(text.clone()))
            }
            Alteration::SetType { .. } => unreachable!("types are set side by side"),
            Alteration::SetNotNull(column) => self.set_not_null(table, column),
            Alteration::DropNotNull(column) => drop_not_null(table, column),
            Alteration::AddConstraint(spec) => self.add_constraint(altered, spec),
            Alteration::DropConstraint { name, cascade } => {
                self.drop_constraint(altered, name, *cascade)
            }
        }
    }

    /// Locks the table that a new foreign key of this one refers to (DC5).
    fn lock_parent(&mut self, table: &str, alteration: &Alteration) -> Result<(), Stop> {
        match alteration {
            Alteration::AddConstraint(ConstraintSpec { rule: Rule::ForeignKey(key), .. })
                if key.references != table =>
            {
                self.lock(&key.references, TableMode::Share).map(drop)
            }
            _ => Ok(()),
        }
    }

    /// Adds a column. Existing rows have its present default (rule value/VA4).
    fn add_column(&self, table: &mut TableDefinition, spec: &ColumnSpec) -> Result<(), Stop> {
        if matches!(spec.default, DefaultSpec::Identity { .. }) {
            let what = "an identity column can't be added to a table, for each row would have to \
                        get a number; create the table with it";
            return Err(cannot(&table.name, what));
        }
        let before = table.clone();
        *table = self.read(|dictionary| {
            let mut draft = Draft::alter(before.clone(), dictionary);
            draft.add_column(spec).map(|()| draft.table)
        })?;
        let column = table.columns.last_mut().expect("a column was added");
        match (&column.default, &spec.default) {
            (Default::Constant(value), _) => column.missing = value.clone(),
            (Default::Expression(_), DefaultSpec::Expression { present, .. }) => {
                // It was looked at with the draft.
                let present = column.kind.fit(&spec.name, present.get());
                column.missing = present.map_or(OwnedValue::NULL, value::Value::to_owned);
            }
            _ => {}
        }
        if column.not_null && column.missing.get().is_null() && self.has_rows(&before)? {
            let what = format!(
                "column {} may not be NULL and has no default, and there are rows; give it a \
                 default",
                spec.name
            );
            return Err(cannot(&before.name, &what));
        }
        Ok(())
    }

    fn rename_constraint(
        &mut self,
        table: &mut TableDefinition,
        from: &str,
        to: &str,
    ) -> Result<(), Stop> {
        names::check("constraint or index", to)?;
        self.lock_referenced(table)?;
        if !rename_index(table, from, to) {
            let within = format!(" of table {}", table.name);
            let there = index_names(table);
            return Err(names::unknown("constraint or index", from, &within, there));
        }
        Ok(())
    }

    fn rename_table(&self, table: &mut TableDefinition, to: &str) -> Result<(), Stop> {
        names::check("table", to)?;
        self.read(|dictionary| dictionary.check_free(to))?;
        let before = table.clone();
        table.name = to.into();
        self.rename_in_checks(&before, table)
    }

    fn rename_column(&self, table: &mut TableDefinition, from: &str, to: &str) -> Result<(), Stop> {
        names::check("column", to)?;
        let place = place_of(table, from)?;
        if table.columns.iter().any(|column| column.name == to) {
            return Err(names::taken("column", to));
        }
        let before = table.clone();
        table.columns[place].name = to.into();
        self.rename_in_checks(&before, table)
    }

    /// CHECKs that are expressions say names of the table, which has others now.
    fn rename_in_checks(
        &self,
        before: &TableDefinition,
        after: &mut TableDefinition,
    ) -> Result<(), Stop> {
        let compiler = &self.catalog.compiler;
        let texts: Vec<String> = before
            .expressions
            .iter()
            .map(|check| compiler.renamed(check, before, after))
            .collect::<Result<_, Stop>>()?;
        for (check, text) in after.expressions.iter_mut().zip(texts) {
            check.text = text;
        }
        Ok(())
    }

    fn set_not_null(&self, table: &mut TableDefinition, column: &str) -> Result<(), Stop> {
        let place = place_of(table, column)?;
        if let Some(FoundRow { address, .. }) = self.find_null(table, place)? {
            let message = format!(
                "cannot set column {column} of table {} NOT NULL: row {address} has NULL there",
                table.name
            );
            let refusal = Refusal::new(RefusalKind::NotNullViolation, message);
            let refusal = refusal.hint("give it a value first");
            return Err(refusal.table(&table.name).column(column).into());
        }
        table.columns[place].not_null = true;
        Ok(())
    }

    /// Adds a constraint, which the rows keep, and the index that it needs.
    fn add_constraint(&mut self, altered: &mut Altered, spec: &ConstraintSpec) -> Result<(), Stop> {
        let before = &altered.table;
        let (mut table, names) = self.read(|dictionary| {
            let mut draft = Draft::alter(before.clone(), dictionary);
            draft.add_constraint(spec).map(|()| (draft.table, draft.generated))
        })?;
        let tablespace = self.tablespace_of(before.segment)?;
        let places = self.make_segments(&mut table, &tablespace, &[])?;
        self.fill(&table, &places)?;
        match &spec.rule {
            Rule::PrimaryKey(_) | Rule::Unique(_) => {}
            Rule::Check(_) => self.check_rows(&table)?,
            Rule::CheckExpression { .. } => self.check_rows_by_expression(&table)?,
            Rule::ForeignKey(_) => self.check_references(&table)?,
        }
        if matches!(spec.rule, Rule::Check(_) | Rule::CheckExpression { .. }) {
            self.checked = Some(table.object);
        }
        altered.table = table;
        altered.names.push(names);
        Ok(())
    }

    fn drop_constraint(
        &mut self,
        altered: &mut Altered,
        name: &str,
        cascade: bool,
    ) -> Result<(), Stop> {
        let Altered { table, others, .. } = altered;
        self.lock_referenced(table)?;
        let before = rules_of(table);
        table.checks.retain(|check| check.name != name);
        table.expressions.retain(|check| check.name != name);
        table.foreign_keys.retain(|key| key.name != name);
        if rules_of(table) != before {
            return Ok(());
        }
        let index = table.indexes.iter().find(|index| index.unique && index.name == name);
        let Some(index) = index.cloned() else {
            let within = format!(" of table {}", table.name);
            let there = index_names(table);
            return Err(names::unknown("constraint", name, &within, there));
        };
        self.wait_for_dead_transactions(table)?;
        let to_it = |key: &&ForeignKey| key.referenced_index == index.object;
        let keys: Vec<_> = table.referenced_by.iter().filter(to_it).cloned().collect();
        let (own, of_others): (Vec<_>, Vec<_>) =
            keys.into_iter().partition(|key| key.table == table.object);
        let what = format!("drop constraint {name} of table {}", table.name);
        self.without_keys(others, &of_others, cascade, &what)?;
        if let (Some(key), false) = (own.first(), cascade) {
            let what = format!("its foreign key {} refers to {name}; drop that first", key.name);
            return Err(cannot(&table.name, &what));
        }
        table.foreign_keys.retain(|key| key.referenced_index != index.object);
        table.referenced_by.retain(|key| key.referenced_index != index.object);
        if let Some(key) = remove_index(table, index.object) {
            let what = format!("its foreign key {} needs {name}; drop that first", key.name);
            return Err(cannot(&table.name, &what));
        }
        Ok(())
    }
}

/// Drops a column: it loses its name and default, and keeps its place (DC9).
fn drop_column(table: &mut TableDefinition, column: &str) -> Result<(), Stop> {
    let place = place_of(table, column)?;
    if let Some(what) = user_of(table, place) {
        let what = format!("{what} has column {column}; drop that first");
        return Err(in_use(&table.name, &what));
    }
    table.columns[place] = table.columns[place].dropped(place);
    Ok(())
}

/// Gives a column another default, for inserts from now on.
fn set_default(table: &mut TableDefinition, column: &str, default: Default) -> Result<(), Stop> {
    let place = place_of(table, column)?;
    let of = &mut table.columns[place];
    if of.default.sequence().is_some() {
        let what = format!("column {column} is an identity column");
        return Err(cannot(&table.name, &what));
    }
    of.default = default;
    Ok(())
}

fn drop_not_null(table: &mut TableDefinition, column: &str) -> Result<(), Stop> {
    let place = place_of(table, column)?;
    let mut primary = table.indexes.iter().filter(|index| index.primary);
    if primary.any(|index| index.columns.iter().any(|of| of.column == place)) {
        let what = format!("column {column} is one of its primary key");
        return Err(cannot(&table.name, &what));
    }
    if table.columns[place].default.sequence().is_some() {
        let what = format!("column {column} is an identity column");
        return Err(cannot(&table.name, &what));
    }
    table.columns[place].not_null = false;
    Ok(())
}

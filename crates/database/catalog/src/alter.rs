//! ALTER TABLE.
//!
//! Each alteration locks the table in X, looks at its rows if it has to, and publishes another
//! definition. No row is rewritten, but for some changes of a type (`set_type`).
//!
//! Callers: the embedded API; SQL.

use os::Session;
use relation::{ColumnDefinition, Default, IndexDefinition, TableDefinition};
use stop::{Refusal, RefusalKind, Stop};
use txn::{LockWait, TableMode};
use value::{Misfit, OwnedValue};

use crate::checks::FoundRow;
use crate::definition_names::{index_names, place_of, rename_index};
use crate::dictionary::Dictionary;
use crate::draft::Draft;
use crate::drop::remove_index;
use crate::edit::Edit;
use crate::generated_names::GeneratedNames;
use crate::spec::{Alteration, ColumnSpec, ConstraintSpec, DefaultSpec, Rule};
use crate::statement::Statement;
use crate::{Catalog, ObjectId, names, texts};

impl Catalog {
    /// Alters a table. The change is durable when this returns. Nobody asks views here whether they
    /// would read a new column, or a new name of one: SQL does (rule sql/SQ66).
    pub fn alter_table(
        &self,
        name: &str,
        alteration: &Alteration,
        lock_wait: LockWait,
        session: &Session,
    ) -> Result<(), Stop> {
        self.run(lock_wait, session, |statement| {
            let before = statement.lock(name, TableMode::Exclusive)?;
            let table = TableDefinition::clone(&before);
            match alteration {
                Alteration::AddColumn(column) => statement.add_column(table, column, &[], None),
                Alteration::DropColumn(column) => statement.drop_column(table, column),
                Alteration::RenameTable(to) => statement.rename_table(table, to),
                Alteration::RenameColumn { from, to } => {
                    statement.rename_column(table, from, to, None)
                }
                Alteration::RenameConstraint { from, to } => {
                    statement.rename_constraint(table, from, to)
                }
                Alteration::SetDefault { column, value } => {
                    let fitted = fitted(&table, column, value)?;
                    statement.set_default(table, column, Default::Constant(fitted))
                }
                Alteration::SetDefaultExpression { column, text } => {
                    texts::check(&format!("the default of column {column}"), text)?;
                    statement.set_default(table, column, Default::Expression(text.clone()))
                }
                Alteration::SetType { column, kind } => {
                    statement.set_type(table, column, *kind, None)
                }
                Alteration::SetNotNull(column) => statement.set_not_null(table, column),
                Alteration::DropNotNull(column) => statement.drop_not_null(table, column),
                Alteration::AddConstraint(spec) => statement.add_constraint(table, spec),
                Alteration::DropConstraint { name, cascade } => {
                    statement.drop_constraint(table, name, *cascade)
                }
            }
        })
    }

    /// Adds a column to a table, with constraints that may name it, or none of that. The change is
    /// durable when this returns. `seen_in` is the generation before the caller looked at the views
    /// that read the table: refused (*definition changed*) if what it saw has changed (DC44).
    pub fn add_column(
        &self,
        table: &str,
        column: &ColumnSpec,
        constraints: &[ConstraintSpec],
        seen_in: u64,
        lock_wait: LockWait,
        session: &Session,
    ) -> Result<(), Stop> {
        self.run(lock_wait, session, |statement| {
            let before = statement.lock(table, TableMode::Exclusive)?;
            let before = TableDefinition::clone(&before);
            statement.add_column(before, column, constraints, Some(seen_in))
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
            let table = statement.lock_table_of_index(from)?;
            statement.rename_constraint(TableDefinition::clone(&table), from, to)
        })
    }

    /// Renames a column of a table. `seen_in` is as in [`Catalog::add_column`].
    pub fn rename_column(
        &self,
        table: &str,
        from: &str,
        to: &str,
        seen_in: u64,
        lock_wait: LockWait,
        session: &Session,
    ) -> Result<(), Stop> {
        self.run(lock_wait, session, |statement| {
            let before = statement.lock(table, TableMode::Exclusive)?;
            let before = TableDefinition::clone(&before);
            statement.rename_column(before, from, to, Some(seen_in))
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

fn in_use(table: &str, what: &str) -> Stop {
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

/// A table that has got a constraint, and the names that were made up for it.
struct Constrained {
    table: TableDefinition,
    names: GeneratedNames,
}

impl Statement<'_> {
    /// Adds a column, and constraints that may name it.
    fn add_column(
        &mut self,
        before: TableDefinition,
        spec: &ColumnSpec,
        constraints: &[ConstraintSpec],
        seen_in: Option<u64>,
    ) -> Result<(), Stop> {
        let what = format!("add column {} to table {}", spec.name, before.name);
        constraints.iter().try_for_each(|one| self.lock_parent(&before.name, one))?;
        // A primary key's columns aren't NULL, as in CREATE TABLE.
        let is_its_key = |one: &ConstraintSpec| match &one.rule {
            Rule::PrimaryKey(columns) => columns.contains(&spec.name),
            _ => false,
        };
        let not_null = spec.not_null || constraints.iter().any(is_its_key);
        let mut table = self.with_column(before, &ColumnSpec { not_null, ..spec.clone() })?;
        let mut all = Vec::with_capacity(constraints.len());
        for constraint in constraints {
            let Constrained { table: constrained, names } = self.constrained(table, constraint)?;
            table = constrained;
            all.push(names);
        }
        let edit = |dictionary: &Dictionary| {
            dictionary.check_readers_seen(ObjectId::Table(table.object), seen_in, &what)?;
            for names in all {
                names.resolve(&mut table, &mut [], dictionary);
            }
            Ok::<_, Stop>(Edit::of(table))
        };
        self.publish(edit, &[])
    }

    /// The table with another column. Existing rows have its present default (rule value/VA4).
    fn with_column(
        &mut self,
        before: TableDefinition,
        spec: &ColumnSpec,
    ) -> Result<TableDefinition, Stop> {
        let name = before.name.clone();
        if matches!(spec.default, DefaultSpec::Identity { .. }) {
            let what = "an identity column can't be added to a table, for each row would have to \
                        get a number; create the table with it";
            return Err(cannot(&name, what));
        }
        let mut table = self.read(|dictionary| {
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
            return Err(cannot(&name, &what));
        }
        Ok(table)
    }

    /// Drops a column: it loses its name and default, and keeps its place (DC9).
    fn drop_column(&mut self, mut table: TableDefinition, column: &str) -> Result<(), Stop> {
        let place = place_of(&table, column)?;
        if let Some(what) = user_of(&table, place) {
            let what = format!("{what} has column {column}; drop that first");
            return Err(in_use(&table.name, &what));
        }
        let is_there = |column: &&ColumnDefinition| !column.is_dropped();
        if table.columns.iter().filter(is_there).count() == 1 {
            let what = format!("{column} is its only column; drop the table");
            return Err(in_use(&table.name, &what));
        }
        let sequence = table.columns[place].default.sequence();
        table.columns[place] = table.columns[place].dropped(place);
        let what = format!("drop column {column} of table {}", table.name);
        let edit = |dictionary: &Dictionary| {
            dictionary.check_column_unread(table.object, place, &what)?;
            let sequence = sequence.map(|of| dictionary.sequence_of(of).cloned()).transpose()?;
            let dropped_sequences = sequence.into_iter().collect();
            Ok::<_, Stop>(Edit { dropped_sequences, ..Edit::of(table) })
        };
        self.publish(edit, &[])
    }

    /// Gives a column another default, for inserts from now on.
    fn set_default(
        &mut self,
        mut table: TableDefinition,
        column: &str,
        default: Default,
    ) -> Result<(), Stop> {
        let place = place_of(&table, column)?;
        let of = &mut table.columns[place];
        if of.default.sequence().is_some() {
            let what = format!("column {column} is an identity column");
            return Err(cannot(&table.name, &what));
        }
        of.default = default;
        self.publish_table(table)
    }

    fn rename_constraint(
        &mut self,
        mut table: TableDefinition,
        from: &str,
        to: &str,
    ) -> Result<(), Stop> {
        names::check("constraint or index", to)?;
        self.lock_referenced(&table)?;
        if !rename_index(&mut table, from, to) {
            let within = format!(" of table {}", table.name);
            let there = index_names(&table);
            return Err(names::unknown("constraint or index", from, &within, there));
        }
        self.publish_table(table)
    }

    fn rename_table(&mut self, mut table: TableDefinition, to: &str) -> Result<(), Stop> {
        names::check("table", to)?;
        let what = format!("rename table {}", table.name);
        let before = table.clone();
        table.name = to.into();
        self.rename_in_checks(&before, &mut table)?;
        self.publish(
            |dictionary| {
                dictionary.check_free(to)?;
                dictionary.check_unread(ObjectId::Table(table.object), &what)?;
                Ok(Edit::of(table))
            },
            &[],
        )
    }

    fn rename_column(
        &mut self,
        mut table: TableDefinition,
        from: &str,
        to: &str,
        seen_in: Option<u64>,
    ) -> Result<(), Stop> {
        names::check("column", to)?;
        let place = place_of(&table, from)?;
        if table.columns.iter().any(|column| column.name == to) {
            return Err(names::taken("column", to));
        }
        let what = format!("rename column {from} of table {}", table.name);
        let before = table.clone();
        table.columns[place].name = to.into();
        self.rename_in_checks(&before, &mut table)?;
        let edit = |dictionary: &Dictionary| {
            dictionary.check_column_unread(table.object, place, &what)?;
            dictionary.check_readers_seen(ObjectId::Table(table.object), seen_in, &what)?;
            Ok::<_, Stop>(Edit::of(table))
        };
        self.publish(edit, &[])
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

    fn set_not_null(&mut self, mut table: TableDefinition, column: &str) -> Result<(), Stop> {
        let place = place_of(&table, column)?;
        if let Some(FoundRow { address, .. }) = self.find_null(&table, place)? {
            let message = format!(
                "cannot set column {column} of table {} NOT NULL: row {address} has NULL there",
                table.name
            );
            let refusal = Refusal::new(RefusalKind::NotNullViolation, message);
            let refusal = refusal.hint("give it a value first");
            return Err(refusal.table(&table.name).column(column).into());
        }
        table.columns[place].not_null = true;
        self.publish_table(table)
    }

    fn drop_not_null(&mut self, mut table: TableDefinition, column: &str) -> Result<(), Stop> {
        let place = place_of(&table, column)?;
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
        self.publish_table(table)
    }

    fn add_constraint(
        &mut self,
        before: TableDefinition,
        spec: &ConstraintSpec,
    ) -> Result<(), Stop> {
        self.lock_parent(&before.name, spec)?;
        let Constrained { mut table, names } = self.constrained(before, spec)?;
        let edit = |dictionary: &Dictionary| {
            names.resolve(&mut table, &mut [], dictionary);
            Ok(Edit::of(table))
        };
        self.publish(edit, &[])
    }

    /// Locks the table that a new foreign key of this one refers to (DC5).
    fn lock_parent(&mut self, table: &str, spec: &ConstraintSpec) -> Result<(), Stop> {
        match &spec.rule {
            Rule::ForeignKey(key) if key.references != table => {
                self.lock(&key.references, TableMode::Share).map(drop)
            }
            _ => Ok(()),
        }
    }

    /// The table with another constraint, which its rows keep, and the index that it needs.
    fn constrained(
        &mut self,
        before: TableDefinition,
        spec: &ConstraintSpec,
    ) -> Result<Constrained, Stop> {
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
        Ok(Constrained { table, names })
    }

    fn drop_constraint(
        &mut self,
        mut table: TableDefinition,
        name: &str,
        cascade: bool,
    ) -> Result<(), Stop> {
        self.lock_referenced(&table)?;
        let counts = |table: &TableDefinition| {
            [table.checks.len(), table.expressions.len(), table.foreign_keys.len()]
        };
        let before = counts(&table);
        table.checks.retain(|check| check.name != name);
        table.expressions.retain(|check| check.name != name);
        table.foreign_keys.retain(|key| key.name != name);
        if counts(&table) != before {
            return self.publish_table(table);
        }
        let index = table.indexes.iter().find(|index| index.unique && index.name == name);
        let Some(index) = index.cloned() else {
            let within = format!(" of table {}", table.name);
            let there = index_names(&table);
            return Err(names::unknown("constraint", name, &within, there));
        };
        self.wait_for_dead_transactions(&table)?;
        let to_it = |key: &&relation::ForeignKey| key.referenced_index == index.object;
        let keys: Vec<_> = table.referenced_by.iter().filter(to_it).cloned().collect();
        let (own, others): (Vec<_>, Vec<_>) =
            keys.into_iter().partition(|key| key.table == table.object);
        let what = format!("drop constraint {name} of table {}", table.name);
        let mut edit = Edit::default();
        self.without_keys(&mut edit, &others, cascade, &what)?;
        if let (Some(key), false) = (own.first(), cascade) {
            let what = format!("its foreign key {} refers to {name}; drop that first", key.name);
            return Err(cannot(&table.name, &what));
        }
        table.foreign_keys.retain(|key| key.referenced_index != index.object);
        if let Some(key) = remove_index(&mut table, index.object) {
            let what = format!("its foreign key {} needs {name}; drop that first", key.name);
            return Err(cannot(&table.name, &what));
        }
        edit.tables.insert(table.object, Some(table));
        self.publish(|_| Ok(edit), &[index.segment])
    }
}

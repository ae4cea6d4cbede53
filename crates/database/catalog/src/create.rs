//! CREATE TABLE, CREATE INDEX, CREATE SEQUENCE.
//!
//! Callers: the embedded API; SQL.

use std::collections::BTreeMap;
use std::sync::Arc;

use ids::ObjectNo;
use os::Session;
use relation::TableDefinition;
use stop::Stop;
use txn::{LockWait, TableMode};

use crate::dictionary::Dictionary;
use crate::draft::Draft;
use crate::edit::Edit;
use crate::sequence::Sequence;
use crate::spec::{IndexSpec, Rule, TableSpec};
use crate::{Catalog, SequenceDefinition, SequenceOptions, names};

impl Catalog {
    /// Makes a table with its indexes and sequences, durable when this returns. Returns its
    /// definition as it was made: another statement may have changed or dropped the table by now.
    ///
    /// Tables that it refers to are locked in S, because their rows have to be checked in another
    /// way from now on (DC5).
    pub fn create_table(
        &self,
        spec: &TableSpec,
        lock_wait: LockWait,
        session: &Session,
    ) -> Result<Arc<TableDefinition>, Stop> {
        self.run(lock_wait, session, |statement| {
            for constraint in &spec.constraints {
                match &constraint.rule {
                    Rule::ForeignKey(key) if key.references != spec.name => {
                        statement.lock(&key.references, TableMode::Share)?;
                    }
                    _ => {}
                }
            }
            let count = u32::try_from(spec.columns.len()).unwrap_or(u32::MAX);
            let first = self.number_objects(count.min(1_000), session);
            let (mut table, mut sequences, names) = statement.read(|dictionary| {
                let draft = Draft::create(spec, first, dictionary)?;
                Ok::<_, Stop>((draft.table, draft.sequences, draft.generated))
            })?;
            self.check_expressions(&table)?;
            let tablespace = spec.tablespace.as_ref().unwrap_or(&self.config.tablespace);
            statement.make_segments(&mut table, tablespace, &[])?;
            let object = table.object;
            let edit = |dictionary: &Dictionary| {
                names.resolve(&mut table, &mut sequences, dictionary);
                let new_sequences = sequences.into_iter().map(|one| new_sequence(one, session));
                Ok(Edit {
                    tables: BTreeMap::from([(object, Some(table))]),
                    new_sequences: new_sequences.collect(),
                    ..Edit::default()
                })
            };
            let made = |dictionary: &Dictionary| dictionary.table_of(object).cloned();
            statement.publish_and_ask(edit, &[], made)?
        })
    }

    /// Makes an index of a table, durable when this returns. Returns its number. Meanwhile the
    /// table is read, and not changed (DC16).
    pub fn create_index(
        &self,
        spec: &IndexSpec,
        lock_wait: LockWait,
        session: &Session,
    ) -> Result<ObjectNo, Stop> {
        self.run(lock_wait, session, |statement| {
            let before = statement.lock(&spec.table, TableMode::Share)?;
            let mut table = statement.read(|dictionary| {
                let mut draft = Draft::alter(TableDefinition::clone(&before), dictionary);
                draft.add_index(spec).map(|_| draft.table)
            })?;
            let tablespace = match &spec.tablespace {
                Some(tablespace) => tablespace.clone(),
                None => statement.tablespace_of(before.segment)?,
            };
            let places = statement.make_segments(&mut table, &tablespace, &[])?;
            statement.fill(&table, &places)?;
            let index = table.indexes.pop().expect("an index was added");
            let object = index.object;
            // The table may have got another index meanwhile, because S goes with S.
            statement.publish(
                |dictionary| {
                    let now = TableDefinition::clone(dictionary.table_of(before.object)?);
                    let mut draft = Draft::alter(now, dictionary);
                    draft.push_made(index)?;
                    Ok(Edit::of(draft.table))
                },
                &[],
            )?;
            Ok(object)
        })
    }

    /// Makes a sequence, durable when this returns. Returns its number.
    pub fn create_sequence(
        &self,
        name: &str,
        options: &SequenceOptions,
        session: &Session,
    ) -> Result<ObjectNo, Stop> {
        names::check("sequence", name)?;
        let object = ObjectNo::new(self.number_objects(1, session));
        let sequence = new_sequence(options.define(object, name)?, session);
        self.run(LockWait::Forever, session, |statement| {
            let edit = Edit { new_sequences: vec![sequence], ..Edit::default() };
            statement.publish(|_| Ok(edit), &[])?;
            Ok(object)
        })
    }
}

impl Catalog {
    /// Refuses a table with a CHECK that is an expression which this program can't evaluate: no row
    /// could be put into it.
    pub(crate) fn check_expressions(&self, table: &TableDefinition) -> Result<(), Stop> {
        let mut all = table.expressions.iter();
        all.try_for_each(|check| self.compiler.compile(check, table).map(drop))
    }
}

fn new_sequence(definition: SequenceDefinition, session: &Session) -> Arc<Sequence> {
    let first = Some(definition.start);
    Arc::new(Sequence::new(definition, first, session))
}

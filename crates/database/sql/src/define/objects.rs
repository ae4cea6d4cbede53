//! Indexes, sequences, schemas, comments; DROP and TRUNCATE.
//!
//! Callers: `define`.

use catalog::{
    Dropping, IndexColumnSpec, IndexSpec, Restart, SequenceAlteration, SequenceBound as KeptBound,
    Truncation,
};
use stop::{RefusalKind, SqlState, Stop};
use syntax::{
    AlterIndex, AlterSequence, Bound, Comment, CommentOn, CreateIndex, CreateSchema,
    CreateSequence, Drop, DropKind, IndexKey, KeyOf, SequenceChange, Truncate,
};
use value::{Direction, NullOrdering};

use super::Done;
use super::columns::{cache_of, sequence_options};
use crate::engine::Frame;
use crate::names::{Name, PUBLIC, fold};
use crate::refuse::refuse;

impl Frame<'_> {
    /// CREATE INDEX. The table can be read and changed while an index is built, whether ONLINE is
    /// said or not.
    pub(super) fn create_index(&mut self, create: &CreateIndex) -> Result<Done, Stop> {
        let table = Name::of_users(&create.table)?;
        let mut columns = Vec::with_capacity(create.keys.len());
        for IndexKey { of, descending, nulls_first } in &create.keys {
            let KeyOf::Column(column) = of else {
                let message = "an index on an expression isn't supported; add a column for it";
                return Err(refuse(SqlState::FEATURE_NOT_SUPPORTED, message));
            };
            columns.push(IndexColumnSpec {
                name: fold(column),
                direction: match descending {
                    true => Direction::Descending,
                    false => Direction::Ascending,
                },
                nulls: nulls_first.map(|first| match first {
                    true => NullOrdering::First,
                    false => NullOrdering::Last,
                }),
            });
        }
        let name = match &create.name {
            Some(name) => Name::of_users(name)?,
            None => self.index_name(&table, &columns, &[]),
        };
        let tablespace = create.tablespace.as_ref().map(fold);
        let spec = IndexSpec { name, table, columns, unique: create.unique, tablespace };
        let wait = self.state.own.ddl_lock_wait();
        let made = self.catalog.create_index(&spec, wait, self.session).map(|_| ());
        Done::unless(create.if_not_exists, RefusalKind::AlreadyExists, made)
    }

    /// A name for an index that is given none: of its table and columns, with a number if another
    /// has it, also one of those that are made with it.
    pub(super) fn index_name(
        &self,
        table: &str,
        columns: &[IndexColumnSpec],
        with: &[IndexSpec],
    ) -> String {
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let base = format!("{table}_{}_idx", names.join("_"));
        let tables = self.catalog.definitions(self.session);
        let is_taken = |name: &str| {
            let mut all = tables.iter().flat_map(|table| &table.indexes);
            all.any(|index| index.name == name)
                || with.iter().any(|index| index.name == name)
                || self.object_named(name).is_some()
        };
        let numbered = (1..).map(|number: u32| format!("{base}{number}"));
        let mut names = std::iter::once(base.clone()).chain(numbered);
        names.find(|name| !is_taken(name)).unwrap_or(base)
    }

    /// ALTER INDEX: its name.
    pub(super) fn alter_index(&mut self, alter: &AlterIndex) -> Result<Done, Stop> {
        let (from, to) = (Name::of_users(&alter.name)?, fold(&alter.rename));
        let wait = self.state.own.ddl_lock_wait();
        let renamed = self.catalog.rename_index(&from, &to, wait, self.session);
        Done::unless(alter.if_exists, RefusalKind::NotFound, renamed)
    }

    /// CREATE SEQUENCE.
    pub(super) fn create_sequence(&mut self, create: &CreateSequence) -> Result<Done, Stop> {
        let name = Name::of_users(&create.name)?;
        let options = sequence_options(&create.options)?;
        let options = match create.kind {
            Some(kind) => options.of_type(kind)?,
            None => options,
        };
        let made = self.catalog.create_sequence(&name, &options, self.session).map(|_| ());
        Done::unless(create.if_not_exists, RefusalKind::AlreadyExists, made)
    }

    /// ALTER SEQUENCE.
    pub(super) fn alter_sequence(&mut self, alter: &AlterSequence) -> Result<Done, Stop> {
        let name = Name::of_users(&alter.name)?;
        let (options, restart) = match &alter.change {
            SequenceChange::Options { options, restart } => (options, restart),
            SequenceChange::Rename(_) => {
                let message = "a sequence can't be renamed; make another one, and drop it";
                return Err(refuse(SqlState::FEATURE_NOT_SUPPORTED, message));
            }
        };
        let bound = |bound: &Bound| match bound {
            Bound::OfType => KeptBound::Default,
            Bound::At(value) => KeptBound::At(*value),
        };
        let alteration = SequenceAlteration {
            start: options.start,
            increment: options.increment,
            min: options.min.as_ref().map(bound),
            max: options.max.as_ref().map(bound),
            cycles: options.cycles,
            cache: options.cache.map(cache_of).transpose()?,
            restart: restart.map(|restart| match restart {
                syntax::Restart::AtStart => Restart::AtStart,
                syntax::Restart::At(value) => Restart::At(value),
            }),
        };
        let altered = self.catalog.alter_sequence(&name, &alteration, self.session);
        // IF EXISTS is about the name: what has it and is something else is told.
        let skips = alter.if_exists && self.object_named(&name).is_none();
        Done::unless(skips, RefusalKind::NotFound, altered)
    }

    /// CREATE SCHEMA: there is one, and it is there.
    pub(super) fn create_schema(&mut self, create: &CreateSchema) -> Result<Done, Stop> {
        let name = fold(&create.name);
        match (name == PUBLIC, create.if_not_exists) {
            (true, true) => Ok(Done::Skipped),
            (true, false) => {
                let message = format!("schema {name} exists already");
                Err(refuse(SqlState::DUPLICATE_SCHEMA, message))
            }
            (false, _) => {
                let message = format!(
                    "schema {name} can't be made: users' objects are in one schema, {PUBLIC}"
                );
                Err(refuse(SqlState::FEATURE_NOT_SUPPORTED, message))
            }
        }
    }

    /// DROP, all objects together.
    pub(super) fn drop_objects(&mut self, drop: &Drop) -> Result<Done, Stop> {
        let (catalog, session) = (self.catalog, self.session);
        let wait = self.state.own.ddl_lock_wait();
        let names: Vec<String> =
            drop.names.iter().map(Name::of_users).collect::<Result<_, Stop>>()?;
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let Drop { cascade, if_exists, .. } = *drop;
        let how = Dropping { cascade, if_exists };
        let missing = match drop.kind {
            DropKind::Table => catalog.drop_tables(&names, how, wait, session)?,
            DropKind::ExternalTable => catalog.drop_externals(&names, how, session)?,
            DropKind::View => catalog.drop_views(&names, how, session)?,
            DropKind::Index => catalog.drop_indexes(&names, how, wait, session)?,
            DropKind::Sequence => catalog.drop_sequences(&names, how, session)?,
            DropKind::Schema => return drop_schemas(&names, if_exists),
            DropKind::Tablespace => {
                let message = "a tablespace can't be dropped; drop its tables, and leave it empty";
                return Err(refuse(SqlState::FEATURE_NOT_SUPPORTED, message));
            }
        };
        match missing {
            0 => Ok(Done::Yes),
            _ => Ok(Done::Skipped),
        }
    }

    /// TRUNCATE, all tables together.
    pub(super) fn truncate(&mut self, truncate: &Truncate) -> Result<Done, Stop> {
        let wait = self.state.own.ddl_lock_wait();
        let names: Vec<String> =
            truncate.tables.iter().map(Name::of_users).collect::<Result<_, Stop>>()?;
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let Truncate { cascade, restart_identity, .. } = *truncate;
        let how = Truncation { cascade, restart_identity };
        let truncated = self.catalog.truncate_tables(&names, how, wait, self.session);
        truncated.map_err(|stop| match stop.refusal() {
            Some(RefusalKind::ForeignKeyViolation) => stop.saying("or say CASCADE"),
            _ => stop,
        })?;
        Ok(Done::Yes)
    }

    /// COMMENT.
    pub(super) fn comment(&mut self, comment: &Comment) -> Result<Done, Stop> {
        let text = comment.text.as_deref();
        let (name, column) = match &comment.on {
            CommentOn::Table(name) | CommentOn::Sequence(name) => (Name::of_users(name)?, None),
            CommentOn::Column { table, column } => (Name::of_users(table)?, Some(fold(column))),
            CommentOn::Index(_) | CommentOn::Schema(_) | CommentOn::Constraint { .. } => {
                let message = "comments are kept of tables, views, sequences and columns alone";
                return Err(refuse(SqlState::FEATURE_NOT_SUPPORTED, message));
            }
        };
        self.catalog.comment_on(&name, column.as_deref(), text, self.session)?;
        Ok(Done::Yes)
    }
}

/// DROP SCHEMA. There is one, which stays; others aren't there.
fn drop_schemas(names: &[&str], if_exists: bool) -> Result<Done, Stop> {
    match names.iter().find(|name| **name == PUBLIC || !if_exists) {
        Some(&PUBLIC) => {
            let message = format!("schema {PUBLIC} can't be dropped: users' objects are in it");
            Err(refuse(SqlState::FEATURE_NOT_SUPPORTED, message))
        }
        Some(name) => {
            let message = format!("there is no schema {name}: there is one, {PUBLIC}");
            Err(refuse(SqlState::INVALID_SCHEMA_NAME, message))
        }
        None => Ok(Done::Skipped),
    }
}

//! What the dictionary knows, in the form in which its views need it: all objects of one moment,
//! constraints of all kinds as one list, and where segments lie.
//!
//! Nothing is read from disk here. Callers: `dictionary`, `information_schema`, `pg`, `lookup`.

use std::collections::BTreeMap;
use std::sync::Arc;

use catalog::{ExternalDefinition, ObjectId, SequenceView, ViewDefinition};
use ids::{Dba, FileNo, ObjectNo};
use relation::{ColumnDefinition, Default, ForeignKey, IndexDefinition, OnDelete, TableDefinition};
use space::TablespaceNo;
use value::Type;

use crate::Engine;
use crate::texts::condition_text;

/// The objects that users have made, each as it was when this was asked for.
pub(crate) struct Known {
    /// In the order of their names.
    pub(crate) tables: Vec<Arc<TableDefinition>>,
    /// In the order of their names.
    pub(crate) sequences: Vec<SequenceView>,
    /// Users' views, in the order of their names.
    pub(crate) views: Vec<Arc<ViewDefinition>>,
    /// External tables, in the order of their names.
    pub(crate) externals: Vec<Arc<ExternalDefinition>>,
}

impl Known {
    pub(crate) fn of(engine: &Engine<'_>) -> Known {
        let Engine { catalog, session, .. } = engine;
        Known {
            tables: catalog.definitions(session),
            sequences: catalog.sequences(session),
            views: catalog.views(session),
            externals: catalog.externals(session),
        }
    }

    /// Users' views and external tables, with the types of their columns.
    pub(crate) fn others(&self, engine: &Engine<'_>) -> Vec<Other<'_>> {
        let views = self.views.iter().map(|view| Other::of_view(view, engine));
        views.chain(self.externals.iter().map(|external| Other::of_external(external))).collect()
    }

    /// The table of this number; none if it was dropped between two looks.
    pub(crate) fn table(&self, object: ObjectNo) -> Option<&TableDefinition> {
        self.tables.iter().find(|table| table.object == object).map(|table| &**table)
    }

    /// Every index with its table.
    pub(crate) fn indexes(&self) -> impl Iterator<Item = (&TableDefinition, &IndexDefinition)> {
        let tables = self.tables.iter();
        tables.flat_map(|table| table.indexes.iter().map(move |index| (&**table, index)))
    }

    /// Every constraint, by table.
    pub(crate) fn constraints(&self) -> impl Iterator<Item = Constraint<'_>> {
        self.tables.iter().flat_map(|table| constraints(table))
    }

    /// The table to which a foreign key refers, and the unique index, which has the name of the
    /// constraint to which it refers.
    pub(crate) fn referred(
        &self,
        key: &ForeignKey,
    ) -> Option<(&TableDefinition, &IndexDefinition)> {
        let parent = self.table(key.references)?;
        let index = parent.indexes.iter().find(|index| index.object == key.referenced_index)?;
        Some((parent, index))
    }
}

/// An object on which, and on whose columns, there may be comments.
pub(crate) struct Commented {
    pub(crate) id: ObjectId,
    /// The places of its columns. The number of a column, as PostgreSQL counts, is its place and 1.
    pub(crate) places: Vec<usize>,
}

impl Known {
    /// The objects on which there may be comments.
    pub(crate) fn commented(&self) -> Vec<Commented> {
        let tables = self.tables.iter().map(|table| Commented {
            id: ObjectId::Table(table.object),
            places: (0..table.columns.len()).collect(),
        });
        let views = self.views.iter().map(|view| Commented {
            id: ObjectId::View(view.object),
            places: (0..view.columns.len()).collect(),
        });
        let externals = self.externals.iter().map(|external| Commented {
            id: ObjectId::External(external.object),
            places: (0..external.columns.len()).collect(),
        });
        let sequences = self.sequences.iter().map(|sequence| Commented {
            id: ObjectId::Sequence(sequence.definition.object),
            places: Vec::new(),
        });
        tables.chain(views).chain(externals).chain(sequences).collect()
    }
}

/// A view or an external table of users'.
pub(crate) struct Other<'d> {
    pub(crate) id: ObjectId,
    pub(crate) name: &'d str,
    pub(crate) columns: Vec<OtherColumn<'d>>,
}

/// A column of one.
pub(crate) struct OtherColumn<'d> {
    pub(crate) name: &'d str,
    pub(crate) kind: Type,
}

impl<'d> Other<'d> {
    /// A view. Whoever knows SQL tells the types; a view whose query can't be bound any more is
    /// shown with texts.
    fn of_view(view: &'d ViewDefinition, engine: &Engine<'_>) -> Other<'d> {
        let told = engine.sql.and_then(|sql| sql.view_types(view).ok()).unwrap_or_default();
        let types = told.into_iter().chain(std::iter::repeat(Type::Text));
        let columns = view.columns.iter().zip(types);
        let columns = columns.map(|(name, kind)| OtherColumn { name, kind }).collect();
        Other { id: ObjectId::View(view.object), name: &view.name, columns }
    }

    fn of_external(external: &'d ExternalDefinition) -> Other<'d> {
        let column = external.columns.iter();
        let columns = column.map(|of| OtherColumn { name: &of.name, kind: of.kind }).collect();
        Other { id: ObjectId::External(external.object), name: &external.name, columns }
    }
}

/// The columns of a table that aren't dropped, with their places in rows, numbered from 1 on.
pub(crate) fn columns(
    table: &TableDefinition,
) -> impl Iterator<Item = (u64, usize, &ColumnDefinition)> {
    let there = table.columns.iter().enumerate().filter(|(_, column)| !column.is_dropped());
    (1..).zip(there).map(|(number, (place, column))| (number, place, column))
}

/// The text of a column's DEFAULT; none if it has none, or takes numbers of a sequence.
pub(crate) fn default_text(column: &ColumnDefinition) -> Option<String> {
    match &column.default {
        Default::Constant(value) => (!value.get().is_null()).then(|| value.get().to_string()),
        Default::Expression(text) => Some(text.clone()),
        Default::Identity { .. } => None,
    }
}

/// Whether a column takes numbers of a sequence, and whether an insert may give another value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Identity {
    Always,
    ByDefault,
}

impl Identity {
    pub(crate) fn of(column: &ColumnDefinition) -> Option<Identity> {
        match &column.default {
            Default::Identity { always: true, .. } => Some(Identity::Always),
            Default::Identity { always: false, .. } => Some(Identity::ByDefault),
            _ => None,
        }
    }
}

/// The kind of a constraint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ConstraintKind {
    PrimaryKey,
    Unique,
    Check,
    ForeignKey,
}

/// A constraint with a name: NOT NULL has none.
pub(crate) struct Constraint<'d> {
    pub(crate) table: &'d TableDefinition,
    pub(crate) name: &'d str,
    pub(crate) kind: ConstraintKind,
    /// The columns that it is about.
    pub(crate) columns: Vec<usize>,
    /// The text of a CHECK.
    pub(crate) condition: Option<String>,
    pub(crate) foreign: Option<&'d ForeignKey>,
    /// The index of a PRIMARY KEY or UNIQUE.
    pub(crate) index: Option<&'d IndexDefinition>,
}

/// The constraints of a table.
pub(crate) fn constraints(table: &TableDefinition) -> Vec<Constraint<'_>> {
    let keys = table.indexes.iter().filter(|index| index.unique).map(|index| Constraint {
        table,
        name: &index.name,
        kind: match index.primary {
            true => ConstraintKind::PrimaryKey,
            false => ConstraintKind::Unique,
        },
        columns: index.columns.iter().map(|of| of.column).collect(),
        condition: None,
        foreign: None,
        index: Some(index),
    });
    let checks = table.checks.iter().map(|check| Constraint {
        table,
        name: &check.name,
        kind: ConstraintKind::Check,
        columns: check.condition.columns(),
        condition: Some(condition_text(&check.condition, table)),
        foreign: None,
        index: None,
    });
    let expressions = table.expressions.iter().map(|check| Constraint {
        table,
        name: &check.name,
        kind: ConstraintKind::Check,
        columns: check.columns.clone(),
        condition: Some(check.text.clone()),
        foreign: None,
        index: None,
    });
    let foreign = table.foreign_keys.iter().map(|key| Constraint {
        table,
        name: &key.name,
        kind: ConstraintKind::ForeignKey,
        columns: key.columns.clone(),
        condition: None,
        foreign: Some(key),
        index: None,
    });
    keys.chain(checks).chain(expressions).chain(foreign).collect()
}

/// What a delete of a parent's row does, as the standard names it.
pub(crate) fn delete_rule(of: OnDelete) -> &'static str {
    match of {
        OnDelete::NoAction => "NO ACTION",
        OnDelete::Cascade => "CASCADE",
        OnDelete::SetNull => "SET NULL",
    }
}

/// Where segments lie.
pub(crate) struct Places {
    headers: BTreeMap<ObjectNo, Dba>,
    files: BTreeMap<FileNo, TablespaceNo>,
    tablespaces: BTreeMap<TablespaceNo, String>,
}

impl Places {
    pub(crate) fn of(engine: &Engine<'_>) -> Places {
        let (space, session) = (engine.instance.space(), engine.session);
        let listed = space.listed(session).into_iter();
        let headers = listed.map(|segment| (segment.object, segment.header)).collect();
        let files = space.data_files(session).into_iter();
        let files = files.map(|file| (file.number, file.tablespace)).collect();
        let tablespaces = space.tablespaces(session).into_iter();
        let tablespaces = tablespaces.map(|one| (one.number, one.name)).collect();
        Places { headers, files, tablespaces }
    }

    /// The tablespace of the segment of this number.
    pub(crate) fn tablespace(&self, segment: ObjectNo) -> Option<&str> {
        self.tablespace_of(self.headers.get(&segment)?.file)
    }

    /// The tablespace of this file.
    pub(crate) fn tablespace_of(&self, file: FileNo) -> Option<&str> {
        self.tablespaces.get(self.files.get(&file)?).map(String::as_str)
    }

    /// The number of the segment's tablespace.
    pub(crate) fn tablespace_number(&self, segment: ObjectNo) -> Option<TablespaceNo> {
        self.files.get(&self.headers.get(&segment)?.file).copied()
    }
}

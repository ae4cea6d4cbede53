//! What depends on what: views on the objects that they read, comments and statistics on what they
//! are about (rules DC35 to DC38).
//!
//! ```text
//!   DROP x ──▶ views that read x, and views that read these ──┬─ CASCADE: dropped in the same edit
//!                                                             └─ else: refused
//! ```
//!
//! Everything here is asked under the row cache lock, of the dictionary as it is then. So no lock
//! of an object is needed: whoever publishes second is refused.
//!
//! Callers: `dictionary`, for each edit; `drop`, `alter`, `altered`, `set_type`, `view_statements`.

use std::collections::BTreeSet;

use ids::ObjectNo;
use relation::TableDefinition;
use stop::{RefusalKind, Stop};

use crate::dictionary::Dictionary;
use crate::edit::Edit;
use crate::spec::ViewSpec;
use crate::texts::CommentOn;
use crate::{Dependency, ObjectId, ViewDefinition, names};

impl Dictionary {
    /// The views that read this object, themselves or through others.
    fn dependents(&self, object: ObjectId) -> BTreeSet<ObjectNo> {
        let (mut found, mut left) = (BTreeSet::new(), vec![object]);
        while let Some(object) = left.pop() {
            for view in self.views.values().filter(|view| view.reads(object)) {
                if found.insert(view.object) {
                    left.push(ObjectId::View(view.object));
                }
            }
        }
        found
    }

    /// Drops the views that read an object, by the edit that drops it. Refused if there are any
    /// that the edit doesn't drop already, unless `cascade` allows that. `what` says what is being
    /// done.
    pub(crate) fn drop_dependents(
        &self,
        edit: &mut Edit,
        object: ObjectId,
        cascade: bool,
        what: &str,
    ) -> Result<(), Stop> {
        for view in self.dependents(object) {
            let is_dropped = matches!(edit.views.get(&view), Some(None));
            if !cascade && !is_dropped {
                let name = &self.views[&view].name;
                let message = format!(
                    "cannot {what}: view {name} depends on it; drop that first, or say CASCADE"
                );
                return Err(names::needed(message));
            }
            edit.views.insert(view, None);
        }
        Ok(())
    }

    /// Refuses to do `what` to an object while a view reads it: the view's text names it.
    pub(crate) fn check_unread(&self, object: ObjectId, what: &str) -> Result<(), Stop> {
        self.check_no_view(|view| view.reads(object), what).map_err(names::as_needed)
    }

    /// Refuses to do `what` to a column of a table while a view reads it.
    pub(crate) fn check_column_unread(
        &self,
        table: ObjectNo,
        column: usize,
        what: &str,
    ) -> Result<(), Stop> {
        let reads = |view: &ViewDefinition| view.reads_column(ObjectId::Table(table), column);
        self.check_no_view(reads, what).map_err(names::as_needed)
    }

    /// Refuses to do `what` to an object if a view that reads it, or something else that such a
    /// view reads, has changed after the generation `seen_in`: the caller has looked at the views
    /// as they were then. Without a generation nobody has looked.
    pub(crate) fn check_readers_seen(
        &self,
        object: ObjectId,
        seen_in: Option<u64>,
        what: &str,
    ) -> Result<(), Stop> {
        let late = seen_in.and_then(|generation| self.late_reader(object, generation));
        match late {
            None => Ok(()),
            Some(view) => {
                let message = format!(
                    "cannot {what}: view {}, or what it reads, was changed meanwhile; try again",
                    view.name
                );
                Err(Stop::refuse(RefusalKind::DefinitionChanged, message))
            }
        }
    }

    /// Refuses to alter a table that has changed after the generation `seen_in`: the caller has
    /// looked at it as it was then. Without a generation nobody has looked.
    pub(crate) fn check_seen(
        &self,
        table: &TableDefinition,
        seen_in: Option<u64>,
    ) -> Result<(), Stop> {
        let version = self.version(ObjectId::Table(table.object));
        match seen_in {
            Some(generation) if version.is_none_or(|version| version > generation) => {
                let message = format!(
                    "cannot alter table {}: it was changed meanwhile; try again",
                    table.name
                );
                Err(Stop::refuse(RefusalKind::DefinitionChanged, message))
            }
            _ => Ok(()),
        }
    }

    /// A view that reads the object and has changed after this generation, or reads something that
    /// has.
    fn late_reader(&self, object: ObjectId, generation: u64) -> Option<&ViewDefinition> {
        let is_late = |of: ObjectId| self.version(of).is_none_or(|version| version > generation);
        let mut readers = self.views.values().filter(|view| view.reads(object));
        let found = readers.find(|view| {
            let mut read = view.depends_on.iter();
            is_late(ObjectId::View(view.object)) || read.any(|one| is_late(one.object))
        });
        found.map(|view| &**view)
    }

    fn check_no_view(
        &self,
        reads: impl Fn(&ViewDefinition) -> bool,
        what: &str,
    ) -> Result<(), Stop> {
        match self.views.values().find(|view| reads(view)) {
            None => Ok(()),
            Some(view) => {
                let name = &view.name;
                let message =
                    format!("cannot {what}: view {name} depends on it; drop the view first");
                Err(Stop::refuse(RefusalKind::WrongState, message))
            }
        }
    }

    /// Refuses a view that was bound before something that it reads changed, or that would read
    /// itself.
    pub(crate) fn check_bound(&self, view: &ViewDefinition, generation: u64) -> Result<(), Stop> {
        for Dependency { object, .. } in &view.depends_on {
            if self.version(*object).is_none_or(|version| version > generation) {
                let message = format!(
                    "cannot create view {}: the {} {} that it reads was changed or dropped \
                     meanwhile; try again",
                    view.name,
                    object.kind(),
                    self.name_of(*object).unwrap_or("gone by now")
                );
                return Err(Stop::refuse(RefusalKind::DefinitionChanged, message));
            }
        }
        let above = self.dependents(ObjectId::View(view.object));
        let reads_itself = |one: &&Dependency| match one.object {
            ObjectId::View(read) => read == view.object || above.contains(&read),
            _ => false,
        };
        match view.depends_on.iter().find(reads_itself) {
            None => Ok(()),
            Some(_) => {
                let message = format!("cannot create view {}: it would read itself", view.name);
                Err(Stop::refuse(RefusalKind::Invalid, message))
            }
        }
    }

    /// Refuses a view in another's place that has other columns where a view reads them. Refused
    /// too if something has changed since it was bound: the view that is there, a view that reads
    /// it, or what such a view reads.
    pub(crate) fn check_replaced(
        &self,
        before: &ViewDefinition,
        view: &ViewDefinition,
        spec: &ViewSpec,
    ) -> Result<(), Stop> {
        let object = ObjectId::View(view.object);
        if self.version(object).is_none_or(|version| version > spec.bound_in) {
            let message =
                format!("cannot replace view {}: it was changed meanwhile; try again", view.name);
            return Err(Stop::refuse(RefusalKind::DefinitionChanged, message));
        }
        // Whether a view would read a new column was asked of the views that there were then.
        let what = format!("replace view {}", view.name);
        self.check_readers_seen(object, Some(spec.bound_in), &what)?;
        let differs = |place: &usize| before.columns.get(*place) != view.columns.get(*place);
        let loses = |reader: &ViewDefinition| {
            let mut of_it = reader.depends_on.iter().filter(|one| one.object == object);
            of_it.any(|one| one.columns.iter().any(differs))
        };
        let what = format!("give view {} other columns", view.name);
        self.check_no_view(loses, &what)?;
        let is_retyped = |reader: &ViewDefinition| {
            spec.retyped.iter().any(|place| reader.reads_column(object, *place))
        };
        let what = format!("give columns of view {} another type", view.name);
        self.check_no_view(is_retyped, &what)
    }

    fn name_of(&self, object: ObjectId) -> Option<&str> {
        Some(match object {
            ObjectId::Table(table) => &self.entry(table)?.definition.name,
            ObjectId::View(view) => &self.view_of(view)?.name,
            ObjectId::Sequence(sequence) => &self.sequences.get(&sequence)?.definition().name,
            ObjectId::External(external) => &self.external_of(external)?.name,
        })
    }

    /// Whether an object is there after the edit.
    fn stays(&self, object: ObjectId, edit: &Edit) -> bool {
        match object {
            ObjectId::Table(table) => self.table_after(table, edit).is_some(),
            ObjectId::View(view) => match edit.views.get(&view) {
                Some(edited) => edited.is_some(),
                None => self.views.contains_key(&view),
            },
            ObjectId::External(external) => match edit.externals.get(&external) {
                Some(edited) => edited.is_some(),
                None => self.externals.contains_key(&external),
            },
            ObjectId::Sequence(sequence) => {
                self.sequences.contains_key(&sequence) && !edit.drops_sequence(sequence)
            }
        }
    }

    /// The definition of a table after the edit.
    fn table_after<'a>(&'a self, table: ObjectNo, edit: &'a Edit) -> Option<&'a TableDefinition> {
        match edit.tables.get(&table) {
            Some(edited) => edited.as_ref(),
            None => self.entry(table).map(|entry| &*entry.definition),
        }
    }

    /// Checks that all that views read is there after the edit. Statements have refused what they
    /// could see before; here it holds.
    pub(crate) fn check_dependencies(&self, edit: &Edit) -> Result<(), Stop> {
        let is_edited = |view: &&ViewDefinition| edit.views.contains_key(&view.object);
        let others = self.views.values().map(|view| &**view).filter(|view| !is_edited(view));
        for view in others.chain(edit.views.values().flatten()) {
            for one in &view.depends_on {
                if !self.stays(one.object, edit) || !self.has_columns(one, edit) {
                    let message = format!(
                        "view {} reads a {}, or a column of it, that was dropped meanwhile, or is \
                         to be dropped; look at the view and try again",
                        view.name,
                        one.object.kind()
                    );
                    return Err(Stop::refuse(RefusalKind::DefinitionChanged, message));
                }
            }
        }
        Ok(())
    }

    /// Whether the columns that are read of a table are there after the edit.
    fn has_columns(&self, one: &Dependency, edit: &Edit) -> bool {
        let ObjectId::Table(table) = one.object else { return true };
        let Some(table) = self.table_after(table, edit) else { return false };
        let is_there =
            |place: &usize| table.columns.get(*place).is_some_and(|column| !column.is_dropped());
        one.columns.iter().all(is_there)
    }

    /// Has comments go with what they are on.
    pub(crate) fn drop_comments(&self, edit: &mut Edit) {
        let is_there = |on: CommentOn| match (on.object, on.column) {
            (ObjectId::Table(table), Some(column)) => {
                let one = Dependency { object: ObjectId::Table(table), columns: vec![column] };
                self.has_columns(&one, edit)
            }
            (ObjectId::View(view), Some(column)) => {
                let after = match edit.views.get(&view) {
                    Some(edited) => edited.as_ref(),
                    None => self.view_of(view).map(|view| &**view),
                };
                after.is_some_and(|view| column < view.columns.len())
            }
            (object, _) => self.stays(object, edit),
        };
        let objects = edit.objects();
        let gone = self.comments.keys().copied();
        let gone = gone.filter(|on| objects.contains(&on.object) && !is_there(*on));
        let gone: Vec<CommentOn> = gone.collect();
        edit.comments.extend(gone.into_iter().map(|on| (on, None)));
    }

    /// Has statistics go with what they are about. A column that gets another type, and an index
    /// that goes, have none any more.
    pub(crate) fn drop_statistics(&self, edit: &mut Edit) {
        let mut changed = Vec::new();
        for (object, table) in &edit.tables {
            let Some(statistics) = self.statistics(*object) else { continue };
            if edit.statistics.contains_key(object) {
                continue;
            }
            let after = table.as_ref().zip(self.entry(*object)).map(|(table, before)| {
                let before = &before.definition;
                let mut statistics = (**statistics).clone();
                let is_same = |place: usize| {
                    let pair = table.columns.get(place).zip(before.columns.get(place));
                    pair.is_some_and(|(one, two)| one.kind == two.kind && !one.is_dropped())
                };
                let has = |index| table.indexes.iter().any(|one| one.object == index);
                statistics.keep(is_same, has);
                statistics
            });
            if after.as_ref() != Some(&**statistics) {
                changed.push((*object, after));
            }
        }
        edit.statistics.extend(changed);
    }
}

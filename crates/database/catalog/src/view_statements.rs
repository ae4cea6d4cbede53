//! CREATE VIEW and DROP VIEW, and views as they are asked for.
//!
//! A view has no segment and no lock. A statement looks at what its query reads under the row cache
//! lock: whoever has changed that since the query was bound was first (DC35).
//!
//! Callers: SQL.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ids::ObjectNo;
use os::Session;
use stop::{RefusalKind, Stop};
use txn::LockWait;
use value::COLUMNS_MAX;

use crate::dictionary::Dictionary;
use crate::drop::Dropping;
use crate::edit::Edit;
use crate::spec::ViewSpec;
use crate::texts::DEPENDENCIES_MAX;
use crate::{Catalog, Dependency, ObjectId, ViewDefinition, names, texts};

impl Catalog {
    /// Makes a view, or puts it in the place of one, durable when this returns. Returns its number.
    pub fn create_view(&self, spec: &ViewSpec, session: &Session) -> Result<ObjectNo, Stop> {
        check(spec)?;
        let number = ObjectNo::new(self.number_objects(1, session));
        self.run(LockWait::Forever, session, |statement| {
            let name = &spec.name;
            let made = |dictionary: &Dictionary| dictionary.view(name).map(|view| view.object);
            let edit = |dictionary: &Dictionary| edit_of(spec, number, dictionary);
            statement.publish_and_ask(edit, &[], made)?
        })
    }

    /// Drops a view. Refused while other views read it, unless `cascade` drops them too.
    pub fn drop_view(&self, name: &str, cascade: bool, session: &Session) -> Result<(), Stop> {
        self.drop_views(&[name], Dropping::with(cascade), session).map(drop)
    }

    /// Drops several views together, which may read each other. Returns how many names were passed
    /// over.
    pub fn drop_views(
        &self,
        names: &[&str],
        how: Dropping,
        session: &Session,
    ) -> Result<usize, Stop> {
        self.drop_unlocked(names, how, add_dropped, session)
    }

    /// The view of this name, as it is now. Waits while a statement that changes it commits.
    pub fn view(&self, name: &str, session: &Session) -> Result<Arc<ViewDefinition>, Stop> {
        loop {
            let object = self.dictionary.shared(session).view(name)?.object;
            let found = self.when_settled(ObjectId::View(object), session, |dictionary| {
                dictionary.view_of(object).cloned()
            });
            // It was dropped meanwhile; by now another object may have its name.
            if let Some(view) = found {
                return Ok(view);
            }
        }
    }

    /// All views, in the order of their names.
    pub fn views(&self, session: &Session) -> Vec<Arc<ViewDefinition>> {
        let mut all: Vec<_> = self.dictionary.shared(session).views.values().cloned().collect();
        all.sort_by(|one, other| one.name.cmp(&other.name));
        all
    }
}

fn add_dropped(edit: &mut Edit, name: &str, dictionary: &Dictionary) -> Result<ObjectId, Stop> {
    let object = dictionary.view(name)?.object;
    edit.views.insert(object, None);
    Ok(ObjectId::View(object))
}

/// Refuses a view that could never be made.
fn check(spec: &ViewSpec) -> Result<(), Stop> {
    let ViewSpec { name, text, columns, depends_on, .. } = spec;
    names::check("view", name)?;
    texts::check(&format!("view {name}"), text)?;
    let refuse = |what: String| {
        Err(Stop::refuse(RefusalKind::Invalid, format!("cannot create view {name}: {what}")))
    };
    names::check_columns("view", name, columns.iter())?;
    let objects: BTreeSet<ObjectId> = depends_on.iter().map(|one| one.object).collect();
    let is_wide = |one: &Dependency| one.columns.iter().any(|column| *column >= COLUMNS_MAX);
    if objects.len() != depends_on.len() || depends_on.iter().any(is_wide) {
        return refuse("what it reads is listed twice, or by columns that aren't there".into());
    }
    match depends_on.len() > DEPENDENCIES_MAX {
        true => refuse(format!("it reads more than {DEPENDENCIES_MAX} objects")),
        false => Ok(()),
    }
}

fn edit_of(spec: &ViewSpec, number: ObjectNo, dictionary: &Dictionary) -> Result<Edit, Stop> {
    let before = match dictionary.named(&spec.name) {
        None => None,
        Some(ObjectId::View(_)) if spec.replace => Some(dictionary.view(&spec.name)?),
        Some(other) => return Err(names::taken(other.kind(), &spec.name)),
    };
    let ViewSpec { name, text, columns, depends_on, bound_in, .. } = spec.clone();
    let object = before.map_or(number, |view| view.object);
    let view = ViewDefinition { object, name, text, columns, depends_on };
    dictionary.check_bound(&view, bound_in)?;
    if let Some(before) = before {
        dictionary.check_replaced(before, &view, spec)?;
    }
    Ok(Edit { views: BTreeMap::from([(object, Some(view))]), ..Edit::default() })
}

//! CREATE EXTERNAL TABLE and its DROP, and external tables as they are asked for.
//!
//! An external table has no segment and no lock; nobody looks at its file here.
//!
//! Callers: SQL.

use std::collections::BTreeMap;
use std::sync::Arc;

use ids::ObjectNo;
use os::Session;
use stop::Stop;
use txn::LockWait;

use crate::dictionary::Dictionary;
use crate::drop::Dropping;
use crate::edit::Edit;
use crate::spec::ExternalSpec;
use crate::{Catalog, ExternalDefinition, ObjectId, names, texts};

impl Catalog {
    /// Makes an external table, durable when this returns. Returns its number.
    pub fn create_external(
        &self,
        spec: &ExternalSpec,
        session: &Session,
    ) -> Result<ObjectNo, Stop> {
        check(spec)?;
        let object = ObjectNo::new(self.number_objects(1, session));
        self.run(LockWait::Forever, session, |statement| {
            let edit = |dictionary: &Dictionary| {
                dictionary.check_free(&spec.name)?;
                let ExternalSpec { name, columns, options } = spec.clone();
                let external = ExternalDefinition { object, name, columns, options };
                let externals = BTreeMap::from([(object, Some(external))]);
                Ok::<_, Stop>(Edit { externals, ..Edit::default() })
            };
            statement.publish(edit, &[])?;
            Ok(object)
        })
    }

    /// Drops an external table; its file stays. Refused while views read it, unless `cascade` drops
    /// them too.
    pub fn drop_external(&self, name: &str, cascade: bool, session: &Session) -> Result<(), Stop> {
        self.drop_externals(&[name], Dropping::with(cascade), session).map(drop)
    }

    /// Drops several external tables together. Returns how many names were passed over.
    pub fn drop_externals(
        &self,
        names: &[&str],
        how: Dropping,
        session: &Session,
    ) -> Result<usize, Stop> {
        self.drop_unlocked(names, how, add_external, session)
    }

    /// The external table of this name, as it is now. Waits while a statement that changes it
    /// commits.
    pub fn external(&self, name: &str, session: &Session) -> Result<Arc<ExternalDefinition>, Stop> {
        loop {
            let object = self.dictionary.shared(session).external(name)?.object;
            let found = self.when_settled(ObjectId::External(object), session, |dictionary| {
                dictionary.external_of(object).cloned()
            });
            // It was dropped meanwhile; by now another object may have its name.
            if let Some(external) = found {
                return Ok(external);
            }
        }
    }

    /// All external tables, in the order of their names.
    pub fn externals(&self, session: &Session) -> Vec<Arc<ExternalDefinition>> {
        let dictionary = self.dictionary.shared(session);
        let mut all: Vec<_> = dictionary.externals.values().cloned().collect();
        drop(dictionary);
        all.sort_by(|one, other| one.name.cmp(&other.name));
        all
    }
}

/// Adds to an edit that the external table of this name is dropped.
pub(crate) fn add_external(
    edit: &mut Edit,
    name: &str,
    dictionary: &Dictionary,
) -> Result<ObjectId, Stop> {
    let object = dictionary.external(name)?.object;
    edit.externals.insert(object, None);
    Ok(ObjectId::External(object))
}

/// Refuses an external table that could never be made.
fn check(spec: &ExternalSpec) -> Result<(), Stop> {
    let ExternalSpec { name, columns, options } = spec;
    names::check("external table", name)?;
    texts::check(&format!("the options of external table {name}"), options)?;
    names::check_columns("external table", name, columns.iter().map(|column| &column.name))
}

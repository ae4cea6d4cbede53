//! Order entry for `forebay load`: the same three verbs, on nine tables with indexes.
//!
//! Callers: `load`.

use std::path::Path;
use std::sync::Arc;

use database::Database;
use instance::{Instance, Parameters};
use os::{Disk, Session};
use stop::{RefusalKind, Stop};
use workload::order_entry::{self, Scale};
use workload::{Drive, Run, Witness};

/// A database's place and how it was opened.
pub(crate) struct Place<'a> {
    pub(crate) disk: &'a Disk,
    pub(crate) directory: &'a Path,
    pub(crate) parameters: &'a Parameters,
}

impl Place<'_> {
    /// The tables of an open instance, which lives on when they are dropped.
    pub(crate) fn database(
        &self,
        instance: &Arc<Instance>,
        session: &Session,
    ) -> Result<Database, Stop> {
        let place = (self.disk, self.directory);
        Database::over(Arc::clone(instance), place, self.parameters, session)
    }

    /// Makes the tables and fills them; false if it was interrupted.
    pub(crate) fn load(
        &self,
        instance: &Arc<Instance>,
        scale: Scale,
        session: &Session,
    ) -> Result<bool, Stop> {
        let database = self.database(instance, session)?;
        let mut connection = database.connect_with(session);
        let mut go_on = |_| !os::linux::interrupted();
        order_entry::load(&mut connection, (scale, 1), &mut go_on)
    }

    /// Works on them. Without a first session, from the next on that no earlier load has used.
    pub(crate) fn run(
        &self,
        instance: &Arc<Instance>,
        (plan, first_session, seed): (Drive, Option<u32>, u64),
        witness: Option<Witness>,
        at_bound: impl FnMut(&Session),
        session: &Session,
    ) -> Result<Run, Stop> {
        let database = self.database(instance, session)?;
        let first_session = match first_session {
            Some(number) => number,
            None => order_entry::next_session(&mut database.connect_with(session))?,
        };
        let plan = (Drive { first_session, ..plan }, seed, witness);
        order_entry::run(&database, plan, &os::linux::interrupted, at_bound, session)
    }

    /// Holds them against what was acknowledged and the twelve conditions.
    pub(crate) fn audit(
        &self,
        instance: &Arc<Instance>,
        told: &[(u32, u64)],
        session: &Session,
    ) -> Result<(), Stop> {
        let database = self.database(instance, session)?;
        let found = order_entry::audit(&mut database.connect_with(session), told)?;
        match found.is_empty() {
            true => Ok(()),
            false => Err(Stop::refuse(RefusalKind::Corrupt, found.join("; "))),
        }
    }
}

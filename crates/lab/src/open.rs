//! Databases that the lab opens: the instance stays in its hands, for a run ends as a crash does.
//!
//! Callers: whoever makes and measures databases, in either world.

use std::path::Path;
use std::sync::Arc;

use database::Database;
use instance::{Creation, Instance, Parameters};
use os::{Disk, Session};
use stop::Stop;

/// An instance, with its tables while something is done with them.
pub(crate) struct Opened<'a> {
    instance: Arc<Instance>,
    place: (&'a Disk, &'a Path),
    parameters: &'a Parameters,
    session: &'a Session,
}

impl<'a> Opened<'a> {
    /// Opens what is there.
    pub(crate) fn open(
        (disk, directory): (&'a Disk, &'a Path),
        parameters: &'a Parameters,
        session: &'a Session,
    ) -> Result<Opened<'a>, Stop> {
        let instance = Arc::new(Instance::open(disk, directory, parameters, session)?);
        Ok(Opened { instance, place: (disk, directory), parameters, session })
    }

    /// Makes a database and opens it.
    pub(crate) fn create(
        (disk, directory): (&'a Disk, &'a Path),
        (creation, parameters): (&Creation, &'a Parameters),
        session: &'a Session,
    ) -> Result<Opened<'a>, Stop> {
        Instance::create(disk, directory, creation, parameters, session)?;
        Opened::open((disk, directory), parameters, session)
    }

    /// Does something with the database. Whoever works on it has ended when it returns.
    pub(crate) fn with<T>(
        &self,
        work: impl FnOnce(&Database) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        let instance = Arc::clone(&self.instance);
        let database = Database::over(instance, self.place, self.parameters, self.session)?;
        work(&database)
    }

    /// Ends it as a crash does (LB2). Says what has halted it, if something has.
    pub(crate) fn abort(self) -> Result<(), Stop> {
        let (session, instance) = self.alone();
        let halted = instance.halt().check(session);
        instance.abort(session);
        halted
    }

    /// Shuts it in good order.
    pub(crate) fn shutdown(self) -> Result<(), Stop> {
        let (session, instance) = self.alone();
        instance.shutdown(session)
    }

    fn alone(self) -> (&'a Session, Instance) {
        let instance = Arc::into_inner(self.instance).expect("nobody works on it any more");
        (self.session, instance)
    }
}

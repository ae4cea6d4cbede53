//! A database: made, opened, shut.
//!
//! ```text
//!   create ─┐                      ┌─ shutdown ──▶ in good order
//!           ├─▶ Database ─ connect ┤
//!   open ───┘                      └─ dropped ───▶ as if killed: nothing that was committed is
//!                                                  lost, the next opening recovers
//! ```
//!
//! Callers: applications; `over`: whoever has an instance already, also in the simulator.

use std::path::Path;
use std::sync::Arc;

use catalog::{Catalog, CatalogConfig};
use ids::FileNo;
use instance::{Creation, Instance, Parameters};
use os::{Disk, Os, Session};
use sort::SortConfig;
use stop::{RefusalKind, Stop};
use waits::SessionKind;

use crate::connection::{Connection, Held};

/// The tablespace of tables that don't say.
const TABLESPACE: &str = "system";

/// The number under which waits name the temporary files of sorts.
const SORT_FILE: u16 = u16::MAX;

/// A new database begins with so much of each of its files, and they grow as they need.
const FIRST_BYTES: u64 = 32 << 20;
const BYTES_MAX: u64 = 30 << 30;

/// How a database is made and opened. Unless something else is said a new one is small, and grows
/// to 30 GiB, as much as one file of it can have; more is had by more data files.
#[derive(Clone, Debug)]
pub struct Options {
    /// Sizes and files of a new one.
    pub creation: Creation,
    /// What can be chosen at each opening.
    pub parameters: Parameters,
}

impl Default for Options {
    fn default() -> Options {
        let creation = Creation {
            data_bytes: FIRST_BYTES,
            data_bytes_max: BYTES_MAX,
            undo_bytes: FIRST_BYTES,
            undo_bytes_max: BYTES_MAX,
            log_file_bytes: FIRST_BYTES,
            ..Creation::default()
        };
        Options { creation, parameters: Parameters::default() }
    }
}

/// An open database. Clones are the same one.
#[derive(Clone)]
pub struct Database {
    shared: Arc<Shared>,
}

/// What all connections share.
pub(crate) struct Shared {
    os: Os,
    /// None only while it is being shut.
    open: Option<Open>,
}

pub(crate) struct Open {
    pub(crate) instance: Arc<Instance>,
    pub(crate) catalog: Catalog,
}

impl std::ops::Deref for Shared {
    type Target = Open;

    fn deref(&self) -> &Open {
        self.open.as_ref().expect("who shuts it is alone with it")
    }
}

impl Database {
    /// Makes a database in this directory, which is empty or not there, and opens it.
    pub fn create(directory: impl AsRef<Path>, options: &Options) -> Result<Database, Stop> {
        let (os, disk) = (os::linux::start(), os::linux::disk());
        let session = os.adopt("create", SessionKind::Foreground);
        let directory = directory.as_ref();
        Instance::create(&disk, directory, &options.creation, &options.parameters, &session)?;
        Database::open_in((&disk, directory), options, &session)
    }

    /// Opens the database in this directory. What a crash has left is recovered first.
    pub fn open(directory: impl AsRef<Path>, options: &Options) -> Result<Database, Stop> {
        let (os, disk) = (os::linux::start(), os::linux::disk());
        let session = os.adopt("open", SessionKind::Foreground);
        Database::open_in((&disk, directory.as_ref()), options, &session)
    }

    /// The same on a given disk, which may be a simulated one.
    pub fn open_in(
        (disk, directory): (&Disk, &Path),
        options: &Options,
        session: &Session,
    ) -> Result<Database, Stop> {
        let instance = Instance::open(disk, directory, &options.parameters, session)?;
        Database::over(Arc::new(instance), (disk, directory), &options.parameters, session)
    }

    /// Over an instance that was just opened.
    pub fn over(
        instance: Arc<Instance>,
        (disk, directory): (&Disk, &Path),
        parameters: &Parameters,
        session: &Session,
    ) -> Result<Database, Stop> {
        let sort = SortConfig {
            directory: directory.to_path_buf(),
            area_bytes: parameters.sort_area_size,
            filesystem_io: parameters.filesystemio_options,
            file: FileNo::new(SORT_FILE),
        };
        let config = CatalogConfig { tablespace: TABLESPACE.into(), disk: disk.clone(), sort };
        let both = (instance.space(), instance.transactions());
        match Catalog::open(both, config, session) {
            Ok(catalog) => {
                let (os, open) = (session.os().clone(), Some(Open { instance, catalog }));
                Ok(Database { shared: Arc::new(Shared { os, open }) })
            }
            Err(stop) => {
                if let Some(instance) = Arc::into_inner(instance) {
                    instance.abort(session);
                }
                Err(stop)
            }
        }
    }

    /// A connection for the calling thread; `name` is its session's.
    pub fn connect(&self, name: &str) -> Connection<'static> {
        let session = self.shared.os.adopt(name, SessionKind::Foreground);
        Connection::new(Arc::clone(&self.shared), Held::Own(Box::new(session)))
    }

    /// A connection with the session that the calling thread has already.
    pub fn connect_with<'s>(&self, session: &'s Session) -> Connection<'s> {
        Connection::new(Arc::clone(&self.shared), Held::Of(session))
    }

    /// The instance: parameters, checkpoints, tablespaces.
    pub fn instance(&self) -> &Arc<Instance> {
        &self.shared.instance
    }

    /// The data dictionary.
    pub fn catalog(&self) -> &Catalog {
        &self.shared.catalog
    }

    /// Shuts the database in good order: the next opening has nothing to recover. Refused, and it
    /// stays open, while there are connections or other clones.
    pub fn shutdown(self) -> Result<(), Stop> {
        let session = self.shared.os.adopt("shutdown", SessionKind::Foreground);
        self.shutdown_by(&session)
    }

    /// The same by a session that the calling thread has already.
    pub fn shutdown_by(self, session: &Session) -> Result<(), Stop> {
        let count = Arc::strong_count(&self.shared) - 1;
        let refuse = |count: usize| {
            let message = format!(
                "cannot shut the database down: {count} connections or handles are still in use; \
                 drop them first"
            );
            Stop::refuse(RefusalKind::WrongState, message)
        };
        let mut shared = Arc::into_inner(self.shared).ok_or_else(|| refuse(count))?;
        let Some(Open { instance, catalog }) = shared.open.take() else { return Ok(()) };
        drop(catalog);
        let others = Arc::strong_count(&instance) - 1;
        match Arc::into_inner(instance) {
            Some(instance) => instance.shutdown(session),
            None => Err(refuse(others)),
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let Some(Open { instance, catalog }) = self.open.take() else { return };
        drop(catalog);
        if let Some(instance) = Arc::into_inner(instance) {
            let session = self.os.adopt("abort", SessionKind::Foreground);
            instance.abort(&session);
        }
    }
}

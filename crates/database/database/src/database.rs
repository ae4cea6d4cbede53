//! A database: made, opened, shut.
//!
//! ```text
//!   create ─┐                      ┌─ shutdown ────────▶ in good order
//!           ├─▶ Database ─ connect ┤
//!   open ───┘                      └─ abort, dropped ──▶ as if killed: nothing that was committed
//!                                                        is lost, the next opening recovers
//! ```
//!
//! Callers: applications; every crate above this one, also in the simulator.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Weak};

use catalog::{Catalog, CatalogConfig, ViewDefinition};
use ids::FileNo;
use instance::{Creation, Instance, Parameters, Progress};
use latch::SharedFlag;
use os::{Cause, Disk, NoticeSink, Os, Session};
use sort::SortConfig;
use stop::{Halt, RefusalKind, Stop};
use txn::{LockName, LockNames, RowWanted};
use value::Type;
use waits::SessionKind;

use crate::connection::{Connection, Held};

/// The tablespace of tables that name none.
const TABLESPACE: &str = "system";

/// The number under which waits name the temporary files of sorts.
const SORT_FILE: u16 = u16::MAX;

const MIB: u64 = 1 << 20;

/// The most that a file of blocks of 8 KiB can grow to, as its extent map has room.
const BYTES_MAX: u64 = 30 << 30;

/// How a database is made and opened. A new one takes less than 32 MB by default. Its data file and
/// undo grow by themselves to 30 GiB each; more data files and redo logs can be added (DB35, DB36).
#[derive(Clone, Debug)]
pub struct Options {
    /// Sizes and files of a new database.
    pub creation: Creation,
    /// What can be chosen at each opening.
    pub parameters: Parameters,
    /// Where the lines go that the library has to say without being asked (DB37).
    pub notices: Notices,
}

/// A listener for what the library has to say without being asked: a halt, a redo log member that
/// is invalid, a file that is left behind. The default has none: the lines are dropped.
///
/// [`Database::create`], [`Database::open`] and [`Database::open_or_create`] use it. A database
/// that is opened by a caller's session has the listener of that session's world.
#[derive(Clone, Default)]
pub struct Notices(Option<NoticeSink>);

impl Notices {
    /// Calls `listener` with each line, on whichever thread has something to say. The thread may
    /// be a background process: the listener prints or sends the line, and uses no database.
    pub fn to(listener: impl Fn(&str) + Send + Sync + 'static) -> Notices {
        Notices(Some(Arc::new(listener)))
    }

    fn sink(&self) -> NoticeSink {
        self.0.clone().unwrap_or_else(|| Arc::new(|_| ()))
    }
}

impl fmt::Debug for Notices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Notices(listener)" } else { "Notices(none)" })
    }
}

impl Default for Options {
    fn default() -> Options {
        let creation = Creation {
            data_bytes: 8 * MIB,
            data_bytes_max: BYTES_MAX,
            undo_bytes: 4 * MIB,
            undo_bytes_max: BYTES_MAX,
            log_file_bytes: 4 * MIB,
            data_growth_bytes: 2 * MIB,
            undo_growth_bytes: 4 * MIB,
            doublewrite_slots: 512,
            ..Creation::default()
        };
        Options { creation, parameters: Parameters::default(), notices: Notices::default() }
    }
}

/// An open database. Clones are handles of the same one.
#[derive(Clone)]
pub struct Database {
    shared: Arc<Shared>,
}

/// The state that all connections share.
pub(crate) struct Shared {
    os: Os,
    /// The instance's; each statement asks it.
    pub(crate) halt: Halt,
    pub(crate) instance: Instance,
    pub(crate) catalog: Catalog,
    /// SQL's own: plans, what is known of tables.
    pub(crate) engine: sql::Engine,
    /// Each connection has a clone of it, and so they are counted.
    pub(crate) connections: Arc<()>,
    /// Whether the instance was shut or aborted.
    ended: SharedFlag,
}

impl Database {
    /// Makes a database in this directory, which is empty or missing, and opens it. A relative path
    /// is taken from the process's directory at this time.
    pub fn create(directory: impl AsRef<Path>, options: &Options) -> Result<Database, Stop> {
        on_linux(directory.as_ref(), options, Database::create_in)
    }

    /// Opens the database in this directory, and recovers it after a crash. A relative path is
    /// taken from the process's directory at this time.
    pub fn open(directory: impl AsRef<Path>, options: &Options) -> Result<Database, Stop> {
        on_linux(directory.as_ref(), options, Database::open_in)
    }

    /// Opens the database in this directory, or makes one if the directory is empty or missing.
    /// Beside files that are no database nothing is made (DB33).
    pub fn open_or_create(
        directory: impl AsRef<Path>,
        options: &Options,
    ) -> Result<Database, Stop> {
        on_linux(directory.as_ref(), options, |disk, directory, options, session| {
            match disk.list(directory, session) {
                Ok(names) if names.is_empty() => {}
                Ok(_) => return Database::open_in(disk, directory, options, session),
                Err(error) if error.cause() == Cause::NotFound => {}
                Err(error) => return Err(error.into()),
            }
            Database::create_in(disk, directory, options, session)
        })
    }

    /// As [`Database::create`], on a given disk, which may be a simulated one, by the session of
    /// the calling thread.
    pub fn create_in(
        disk: &Disk,
        directory: &Path,
        options: &Options,
        session: &Session,
    ) -> Result<Database, Stop> {
        Database::create_filled(disk, directory, options, |_| Ok(()), session)
    }

    /// As [`Database::create_in`], and fills the database by `fill`. If that fails, the database is
    /// aborted and its files are removed; other files in its directory stay (DB23).
    pub fn create_filled(
        disk: &Disk,
        directory: &Path,
        options: &Options,
        fill: impl FnOnce(&Database) -> Result<(), Stop>,
        session: &Session,
    ) -> Result<Database, Stop> {
        let (creation, parameters) = (&options.creation, &options.parameters);
        let made = Instance::create_revocably(disk, directory, creation, parameters, session)?;
        // The first opening makes the dictionary (DB23).
        let opened = Database::open_in(disk, directory, options, session);
        let filled = opened.and_then(|database| match fill(&database) {
            Ok(()) => Ok(database),
            Err(stop) => {
                database.abort_by(session);
                Err(stop)
            }
        });
        filled.map_err(|stop| stop.saying(&made.take_back(session)))
    }

    /// As [`Database::open`], on a given disk, which may be a simulated one, by the session of the
    /// calling thread.
    pub fn open_in(
        disk: &Disk,
        directory: &Path,
        options: &Options,
        session: &Session,
    ) -> Result<Database, Stop> {
        Database::open_telling(disk, directory, options, &|_| (), session)
    }

    /// As [`Database::open_in`]; `tell` is called about every MiB of redo that recovery applies.
    pub fn open_telling(
        disk: &Disk,
        directory: &Path,
        options: &Options,
        tell: &dyn Fn(Progress),
        session: &Session,
    ) -> Result<Database, Stop> {
        let parameters = &options.parameters;
        let instance = Instance::open_telling(disk, directory, parameters, tell, session)?;
        let sort = SortConfig {
            directory: directory.to_path_buf(),
            area_bytes: parameters.sort_area_size,
            filesystem_io: parameters.filesystemio_options,
            file: FileNo::new(SORT_FILE),
            budget: Some(instance.work_areas().clone()),
        };
        let config = CatalogConfig { tablespace: TABLESPACE.into(), disk: disk.clone(), sort };
        let (space, transactions) = (instance.space(), instance.transactions());
        // A database whose dictionary can't be read is left as it was found: shut in good order.
        let checks = Arc::new(sql::Checks);
        let opened = Catalog::open_with(space, transactions, config, checks, session);
        let catalog = opened.inspect_err(|_| {
            if instance.shutdown(session).is_err() {
                instance.abort(session);
            }
        })?;
        let shared = Shared {
            os: session.os().clone(),
            halt: instance.halt().clone(),
            instance,
            catalog,
            engine: crate::system::engine(session.os()).with_external(Arc::new(sql::FileTables)),
            connections: Arc::new(()),
            ended: SharedFlag::new(false),
        };
        let shared = Arc::new(shared);
        let names = Names(Arc::downgrade(&shared));
        shared.instance.transactions().locks().name_by(Arc::new(names), session);
        Ok(Database { shared })
    }

    /// A connection for the calling thread; `name` is its session's.
    pub fn connect(&self, name: &str) -> Connection<'static> {
        let session = self.shared.os.adopt(name, SessionKind::Foreground);
        Connection::new(Arc::clone(&self.shared), Held::Own(Box::new(session)))
    }

    /// A connection with the session of the calling thread.
    pub fn connect_with<'s>(&self, session: &'s Session) -> Connection<'s> {
        Connection::new(Arc::clone(&self.shared), Held::Of(session))
    }

    /// The instance: parameters, checkpoints, tablespaces, redo logs.
    pub fn instance(&self) -> &Instance {
        &self.shared.instance
    }

    /// The data dictionary.
    pub fn catalog(&self) -> &Catalog {
        &self.shared.catalog
    }

    /// The types of the columns of a user's view, in their order: they follow from its query. It
    /// waits while what the query reads is being redefined.
    pub fn view_types(&self, view: &ViewDefinition, session: &Session) -> Result<Vec<Type>, Stop> {
        self.shared.engine.view_types(view, &self.shared.catalog, session)
    }

    /// Shuts the database in good order: the next opening has nothing to recover. While there are
    /// connections this is refused, and other handles go on. After it, every call by another handle
    /// is refused. The files are closed when the last handle is dropped (DB6, DB32).
    pub fn shutdown(self) -> Result<(), Stop> {
        let session = self.shared.os.adopt("shutdown", SessionKind::Foreground);
        self.shutdown_by(&session)
    }

    /// As [`Database::shutdown`], by the session of the calling thread.
    pub fn shutdown_by(self, session: &Session) -> Result<(), Stop> {
        let connections = Arc::strong_count(&self.shared.connections) - 1;
        if connections > 0 {
            let message = format!(
                "cannot shut the database down: {connections} connections are still in use; drop \
                 them first"
            );
            return Err(Stop::refuse(RefusalKind::WrongState, message));
        }
        self.shared.instance.shutdown(session)?;
        self.shared.ended.raise(session);
        Ok(())
    }

    /// Stops at once, as if the process were killed: uncommitted changes are lost, and the next
    /// opening recovers. Every later call of a connection returns the halt. The files are closed
    /// when the last handle and the last connection are dropped.
    pub fn abort_by(self, session: &Session) {
        self.shared.instance.abort(session);
        self.shared.ended.raise(session);
    }
}

/// Does `work` on real files, by a session of its own.
fn on_linux(
    directory: &Path,
    options: &Options,
    work: impl FnOnce(&Disk, &Path, &Options, &Session) -> Result<Database, Stop>,
) -> Result<Database, Stop> {
    let os = os::linux::start_with(options.notices.sink());
    let session = os.adopt("open", SessionKind::Foreground);
    let directory = os::linux::absolute(directory)?;
    work(&os::linux::disk(), &directory, options, &session)
}

/// Names tables, indexes and keys in messages about locks, by the dictionary (DB24).
struct Names(Weak<Shared>);

impl LockNames for Names {
    fn object(&self, object: u32, session: &Session) -> Option<LockName> {
        self.0.upgrade()?.catalog.lock_name(object, session)
    }

    fn key(&self, row: &RowWanted, session: &Session) -> Option<String> {
        self.0.upgrade()?.catalog.lock_key(row, session)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if !self.ended.get_mut() {
            let session = self.os.adopt("abort", SessionKind::Foreground);
            self.instance.abort(&session);
        }
    }
}

//! Which database a command works on, and opening it.
//!
//! Callers: `load`, `logs`, `recover`, `shell`.

use std::cell::Cell;
use std::path::PathBuf;

use clap::Args;
use database::{Database, Options, Parameters, Progress};
use os::{Cause, Disk, Session};
use waits::Nanos;

use crate::output::{Failure, tell};
use crate::settings::Settings;

/// A recovery that takes longer says this often how far it has come.
const TELL_EVERY: Nanos = Nanos::from_secs(2);

#[derive(Args)]
pub(crate) struct Opening {
    /// The database.
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    #[command(flatten)]
    settings: Settings,
}

impl Opening {
    /// Opens the database, which recovers it if that is needed.
    pub(crate) fn open(&self, disk: &Disk, session: &Session) -> Result<Database, Failure> {
        let options = Options { parameters: self.parameters()?, ..Options::default() };
        let told = Cell::new(Nanos::ZERO);
        let say = |progress: Progress| {
            if progress.elapsed.0 >= told.get().0 + TELL_EVERY.0 {
                told.set(progress.elapsed);
                tell(&progress.to_string());
            }
        };
        Ok(Database::open_telling(disk, &self.directory, &options, &say, session)?)
    }

    /// Whether the directory is empty or isn't there.
    pub(crate) fn has_nothing(&self, disk: &Disk, session: &Session) -> Result<bool, Failure> {
        match disk.list(&self.directory, session) {
            Ok(names) => Ok(names.is_empty()),
            Err(error) if error.cause() == Cause::NotFound => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes the database, and opens it. What was chosen may be of its creation too.
    pub(crate) fn create(&self, disk: &Disk, session: &Session) -> Result<Database, Failure> {
        let mut options = Options::default();
        self.settings.apply(Some(&mut options.creation), &mut options.parameters)?;
        options.creation.spread_data();
        Ok(Database::create_in(disk, &self.directory, &options, session)?)
    }

    /// The parameters that were chosen; the others are defaults.
    pub(crate) fn parameters(&self) -> Result<Parameters, Failure> {
        let mut parameters = Parameters::default();
        self.settings.apply(None, &mut parameters)?;
        Ok(parameters)
    }
}

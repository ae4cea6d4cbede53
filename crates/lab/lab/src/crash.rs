//! The end of a run: as a crash (LB2).
//!
//! Callers: every experiment, in either world.

use database::Database;
use os::Session;
use stop::Stop;

/// Ends the database as a crash does. Returns the error that had halted it before, if any.
pub(crate) fn crash(database: Database, session: &Session) -> Result<(), Stop> {
    let halted = database.instance().halt().check(session);
    database.abort_by(session);
    halted
}

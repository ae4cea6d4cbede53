//! The end of a run: as a crash (LB2).
//!
//! Callers: whoever makes and measures databases, in either world.

use database::Database;
use os::Session;
use stop::Stop;

/// Ends the database as a crash does. Returns what had halted it before, if something had.
pub(crate) fn crash(database: Database, session: &Session) -> Result<(), Stop> {
    let halted = database.instance().halt().check(session);
    database.abort_by(session);
    halted
}

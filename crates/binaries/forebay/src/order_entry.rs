//! Order entry for `forebay load`: the same three verbs, on nine tables with indexes.
//!
//! Callers: `load`.

use database::Database;
use os::Session;
use stop::{RefusalKind, Stop};
use workload::order_entry::{self, Plan, Scale};
use workload::{Drive, Run, Watch};

/// Makes the tables and fills them; false if it was interrupted.
pub(crate) fn load(database: &Database, scale: Scale, session: &Session) -> Result<bool, Stop> {
    let mut connection = database.connect_with(session);
    let mut go_on = |_| !os::linux::interrupted();
    order_entry::load(&mut connection, scale, 1, &mut go_on)
}

/// Works on them. Without a first session, from the next on that no earlier load has used.
pub(crate) fn run(
    database: &Database,
    plan: Plan,
    first_session: Option<u32>,
    watch: Watch<'_>,
    session: &Session,
) -> Result<Run, Stop> {
    let first_session = match first_session {
        Some(number) => {
            let numbers = number..number.saturating_add(plan.drive.sessions);
            let mut connection = database.connect_with(session);
            refuse_used(order_entry::used_session(&mut connection, numbers)?)?;
            number
        }
        None => order_entry::next_session(&mut database.connect_with(session))?,
    };
    let plan = Plan { drive: Drive { first_session, ..plan.drive }, ..plan };
    order_entry::run(database, plan, watch, session)
}

/// Commits of two sessions of one number couldn't be told apart.
pub(crate) fn refuse_used(used: Option<u32>) -> Result<(), Stop> {
    let Some(used) = used else { return Ok(()) };
    let message = format!(
        "session {used} has worked in an earlier load, and an audit couldn't tell the commits of \
         both apart; leave --first-session out, or give a larger number"
    );
    Err(Stop::refuse(RefusalKind::Invalid, message))
}

/// Holds them against what was acknowledged and the twelve conditions.
pub(crate) fn audit(
    database: &Database,
    told: &[(u32, u64)],
    session: &Session,
) -> Result<(), Stop> {
    let found = order_entry::audit(&mut database.connect_with(session), told)?;
    match found.is_empty() {
        true => Ok(()),
        false => Err(Stop::refuse(RefusalKind::Corrupt, found.join("; "))),
    }
}

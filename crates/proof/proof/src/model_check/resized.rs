//! The cache becomes smaller and larger while sessions work: never too small for the transactions
//! that are active (rule txn/TX5).
//!
//! Callers: `bed`.

use std::collections::BTreeSet;

use database::{Database, ErrorKind, Nanos, WaitEvent};
use os::Session;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sim::Outside;

use super::known::{Known, Txn};
use super::plan::{BUFFERS_EACH, BUFFERS_MIN, Plan};

/// A size of the cache is kept so long at most.
const KEPT_US_MAX: u64 = 30_000;

/// Changes the size until all sessions have ended. Whether there were too many transactions for a
/// smaller cache is known of those that had changed rows before the call, and weren't told to end
/// before it returned.
pub(super) fn resize(
    plan: &Plan,
    known: &Outside<Known>,
    database: &Database,
    seed: u64,
    session: &Session,
) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(!seed);
    while known.with(|known| known.sessions > 0 && known.breach.is_none()) {
        let kept = Nanos::from_micros(random.random_range(0..KEPT_US_MAX));
        session.pause(kept, session.waiting(WaitEvent::PlSqlLockTimer));
        // Mostly the smallest, or as large as it was opened.
        let buffers = match random.random_range(0..4) {
            0 | 1 => BUFFERS_MIN,
            2 => random.random_range(BUFFERS_MIN..=plan.buffers()),
            _ => plan.buffers(),
        };
        let size = (buffers * plan.block()).to_string();
        let before = known.with(|known| known.changing.clone());
        let set = database.instance().set_parameter("db_cache_size", &size, session);
        known.with(|known| {
            let all: BTreeSet<Txn> = before.intersection(&known.changing).copied().collect();
            let active = all.len() as u64;
            match set {
                Ok(()) if active * BUFFERS_EACH > buffers => known.finds(format!(
                    "the cache has {buffers} buffers now, and {active} transactions were active \
                     all the time: {all:?}"
                )),
                Ok(()) => known.tally.resized += 1,
                Err(stop) if stop.refusal() == Some(ErrorKind::WrongState) => {
                    known.tally.unresized += 1;
                }
                Err(stop) => known.finds(format!("the cache doesn't become {size}: {stop}")),
            }
        });
    }
}

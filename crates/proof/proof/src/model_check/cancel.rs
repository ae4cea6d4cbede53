//! Cancels of what a session does, at random moments.
//!
//! Callers: `bed`, a thread for each session.

use database::{CancelHandle, Nanos, WaitEvent};
use os::Session;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sim::Outside;

use super::known::Known;

/// The longest time between two cancels: that of some statements.
const BETWEEN_US_MAX: u64 = 600;

/// Cancels calls of a session until the round's operations are done. Half of the cancels name a
/// call that was seen some time before, so mostly it has ended: these do nothing.
pub(super) fn cancel(known: &Outside<Known>, handle: &CancelHandle, seed: u64, session: &Session) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(!seed);
    while known.with(|known| known.operations > 0 && !known.closing) {
        let seen = handle.running();
        let length = Nanos::from_micros(random.random_range(1..BETWEEN_US_MAX));
        session.pause(length, session.waiting(WaitEvent::PlSqlLockTimer));
        match (random.random_range(0..2), seen) {
            (0, Some(seen)) => _ = handle.cancel(seen),
            _ => _ = handle.cancel_running(),
        }
    }
}

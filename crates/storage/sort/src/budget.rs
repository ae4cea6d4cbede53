//! The budget: the memory that all work areas of an instance share.
//!
//! ```text
//!   target ┌──────────┬──────────┬─────────┬──────────────────────────────┐
//!          │ grant    │ grant    │ grant   │ free: half of it, at most,   │
//!          └──────────┴──────────┴─────────┴─ goes to the next that asks ─┘
//! ```
//!
//! Invariants
//!   * nobody waits for memory: who gets less than it asks for goes through temporary files (ST14)
//!   * what is granted is the sum of what the grants have; a grant that ends has given all back
//!
//! Callers: sorts; the row sources of SQL. Source: Oracle's `pga_aggregate_target` and its
//! statistics in `V$PGASTAT`.

use std::fmt;
use std::sync::Arc;

use latch::Shared64;
use os::{Os, Session};
use waits::SessionKind;

/// What every grant has if it asks for that much (ST14).
pub const GRANT_BYTES_MIN: u64 = 64 << 10;

/// A grant has this part of the target at most.
const SHARE: u64 = 8;

/// The memory for work areas of one instance. All clones share one state.
#[derive(Clone)]
pub struct Budget {
    shared: Arc<Shared>,
}

struct Shared {
    os: Os,
    target: Shared64,
    granted: Shared64,
    granted_max: Shared64,
    /// How often a grant got what it couldn't do without, though that was more than was free.
    overdrawn: Shared64,
}

impl Shared {
    /// Notes what is granted after a grant has grown.
    fn note(&self, granted: u64, target: u64, session: &Session) {
        self.granted_max.fetch_max(granted, session);
        if granted > target {
            self.overdrawn.fetch_add(1, session);
        }
    }
}

/// What a budget says of itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BudgetReading {
    /// The memory that the work areas of the instance are to have together.
    pub target_bytes: u64,
    /// The memory that they have.
    pub granted_bytes: u64,
    /// The most that they have had.
    pub granted_bytes_max: u64,
    /// How often a work area got its minimum though less was free.
    pub overdrawn: u64,
}

impl Budget {
    /// A budget of this many bytes.
    pub fn new(os: &Os, target_bytes: u64) -> Budget {
        let shared = Shared {
            os: os.clone(),
            target: Shared64::new(target_bytes),
            granted: Shared64::new(0),
            granted_max: Shared64::new(0),
            overdrawn: Shared64::new(0),
        };
        Budget { shared: Arc::new(shared) }
    }

    /// Sets the target. Grants keep what they have; a lower target counts for what is asked next.
    pub fn set_target(&self, target_bytes: u64, session: &Session) {
        self.shared.target.store(target_bytes, session);
    }

    /// The memory that the work areas are to have together.
    pub fn target(&self, session: &Session) -> u64 {
        self.shared.target.load(session)
    }

    /// A grant without memory yet.
    pub fn grant(&self) -> Grant {
        Grant { budget: self.clone(), bytes: 0 }
    }

    /// The figures of the budget.
    pub fn reading(&self, session: &Session) -> BudgetReading {
        BudgetReading {
            target_bytes: self.shared.target.load(session),
            granted_bytes: self.shared.granted.load(session),
            granted_bytes_max: self.shared.granted_max.load(session),
            overdrawn: self.shared.overdrawn.load(session),
        }
    }
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Budget({:?} of {:?} bytes)", self.shared.granted, self.shared.target)
    }
}

/// The most that a grant of `has` bytes may grow to.
fn most(target: u64, granted: u64, has: u64) -> u64 {
    let free = target.saturating_sub(granted);
    let share = (target / SHARE).min(has + free / 2);
    share.max(GRANT_BYTES_MIN.min(target / SHARE))
}

/// The memory of one work area. It goes back when the grant is closed, or dropped.
pub struct Grant {
    budget: Budget,
    bytes: u64,
}

impl Grant {
    /// The bytes that it has.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Grows towards `wanted` bytes, as far as the budget allows. Returns what it has then, which
    /// may be what it had, and is more than `wanted` if it had more. It never waits.
    pub fn grow_to(&mut self, wanted: u64, session: &Session) -> u64 {
        if wanted <= self.bytes {
            return self.bytes;
        }
        let shared = &self.budget.shared;
        let target = shared.target.load(session);
        let mut granted = shared.granted.load(session);
        loop {
            let next = most(target, granted, self.bytes).min(wanted);
            let Some(more) = next.checked_sub(self.bytes).filter(|more| *more > 0) else {
                return self.bytes;
            };
            match shared.granted.compare_exchange(granted, granted + more, session) {
                Ok(()) => {
                    self.bytes = next;
                    shared.note(granted + more, target, session);
                    return next;
                }
                Err(now) => granted = now,
            }
        }
    }

    /// Grows to `bytes` bytes, which its owner can't do without, whatever is free (ST15).
    pub fn need(&mut self, bytes: u64, session: &Session) {
        let more = bytes.saturating_sub(self.grow_to(bytes, session));
        if more == 0 {
            return;
        }
        let shared = &self.budget.shared;
        let granted = shared.granted.fetch_add(more, session) + more;
        self.bytes = bytes;
        shared.note(granted, shared.target.load(session), session);
    }

    /// Gives back what it has above `bytes`.
    pub fn shrink_to(&mut self, bytes: u64, session: &Session) {
        let less = self.bytes.saturating_sub(bytes);
        if less > 0 {
            self.bytes -= less;
            self.budget.shared.granted.fetch_sub(less, session);
        }
    }

    /// Gives all back.
    pub fn close(mut self, session: &Session) {
        self.shrink_to(0, session);
    }
}

/// The way for an owner that ends without its session, as in a panic: a session is made for it.
impl Drop for Grant {
    fn drop(&mut self) {
        if self.bytes > 0 {
            let session = self.budget.shared.os.adopt("work area", SessionKind::Foreground);
            self.shrink_to(0, &session);
        }
    }
}

impl fmt::Debug for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Grant({} bytes)", self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn a_grant_has_an_eighth_of_the_target_or_half_of_what_is_free_or_the_minimum() {
        assert_eq!(most(64 * MIB, 0, 0), 8 * MIB);
        assert_eq!(most(64 * MIB, 8 * MIB, 8 * MIB), 8 * MIB);
        assert_eq!(most(64 * MIB, 56 * MIB, 0), 4 * MIB);
        assert_eq!(most(64 * MIB, 56 * MIB, MIB), 5 * MIB);
        assert_eq!(most(64 * MIB, 64 * MIB, 0), GRANT_BYTES_MIN);
        assert_eq!(most(64 * MIB, 70 * MIB, 0), GRANT_BYTES_MIN);
        assert_eq!(most(MIB, 0, 0), MIB / 8);
        assert_eq!((most(8_000, 0, 0), most(8_000, 8_000, 0), most(0, 0, 0)), (1_000, 1_000, 0));
    }

    /// Whatever is granted already, half of the rest at most goes to one that asks.
    #[test]
    fn what_is_free_is_never_given_out_whole() {
        let target = 64 * MIB;
        for granted in (0..target).step_by(MIB as usize) {
            let given = most(target, granted, 0);
            assert!(given <= GRANT_BYTES_MIN || granted + given * 2 <= target, "{granted}");
        }
    }
}

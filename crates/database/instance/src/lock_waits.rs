//! The lock waits of statements whose connection doesn't choose them.
//!
//! Callers: `open` and `alter` set it; connections ask when they are made.
//! Source: Oracle's `ddl_lock_timeout`, whose 0 means NOWAIT and whose 1,000,000 means for ever.

use std::sync::atomic::{AtomicU32, Ordering};

use txn::LockWait;
use waits::Nanos;

use crate::{Instance, Parameters};

/// The lock waits of a new connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LockWaits {
    /// For each lock of a row, a key or a table: the parameter `lock_timeout`.
    pub locks: LockWait,
    /// Statements that define something, for transactions that use the table: the parameter
    /// `ddl_lock_timeout`.
    pub definitions: LockWait,
}

impl LockWaits {
    /// This number of seconds, and more, means no bound.
    pub(crate) const FOREVER: u32 = 1_000_000;

    fn of(seconds: u32) -> LockWait {
        match seconds {
            0 => LockWait::NoWait,
            LockWaits::FOREVER.. => LockWait::Forever,
            seconds => LockWait::For(Nanos::from_secs(seconds.into())),
        }
    }
}

/// The two parameters. A connection reads each once and needs no order between them, so plain
/// atomics will do.
#[derive(Default)]
pub(crate) struct LockTimeouts {
    locks: AtomicU32,
    definitions: AtomicU32,
}

impl LockTimeouts {
    pub(crate) fn of(parameters: &Parameters) -> LockTimeouts {
        let timeouts = LockTimeouts::default();
        timeouts.set(parameters);
        timeouts
    }

    pub(crate) fn set(&self, parameters: &Parameters) {
        self.locks.store(parameters.lock_timeout, Ordering::Relaxed);
        self.definitions.store(parameters.ddl_lock_timeout, Ordering::Relaxed);
    }
}

impl Instance {
    /// The lock waits of a connection that is made now.
    pub fn lock_waits(&self) -> LockWaits {
        let of = |seconds: &AtomicU32| LockWaits::of(seconds.load(Ordering::Relaxed));
        let LockTimeouts { locks, definitions } = &self.lock_timeouts;
        LockWaits { locks: of(locks), definitions: of(definitions) }
    }
}

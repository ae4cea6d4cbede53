//! How long statements wait for locks, where their connection doesn't say it.
//!
//! Callers: `open` and `alter` set it; connections ask when they are made.
//! Source: Oracle's `ddl_lock_timeout`, whose 0 means NOWAIT and whose 1,000,000 means for ever.

use std::sync::atomic::{AtomicU32, Ordering};

use txn::LockWait;
use waits::Nanos;

use crate::{Instance, Parameters};

/// How long a new connection's statements wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LockWaits {
    /// For each lock of a row, a key or a table: the parameter `lock_timeout`.
    pub locks: LockWait,
    /// Statements that define something, for transactions that use the table: the parameter
    /// `ddl_lock_timeout`.
    pub definitions: LockWait,
}

impl LockWaits {
    /// So many seconds mean as long as it takes.
    pub(crate) const FOREVER: u32 = 1_000_000;

    fn of(seconds: u32) -> LockWait {
        match seconds {
            0 => LockWait::NoWait,
            LockWaits::FOREVER.. => LockWait::Forever,
            seconds => LockWait::For(Nanos::from_secs(seconds.into())),
        }
    }
}

/// The two parameters. Each is a number by itself that a connection reads once, so it is no matter
/// which of two that are made at once reads it first.
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
    /// How long the statements of a connection wait that is made now.
    pub fn lock_waits(&self) -> LockWaits {
        let of = |seconds: &AtomicU32| LockWaits::of(seconds.load(Ordering::Relaxed));
        let LockTimeouts { locks, definitions } = &self.lock_timeouts;
        LockWaits { locks: of(locks), definitions: of(definitions) }
    }
}

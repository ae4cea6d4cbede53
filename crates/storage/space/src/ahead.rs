//! Growth ahead of need: a session that takes one of a file's last extents requests more and goes
//! on; the process `fb_smco` makes the file grow meanwhile.
//!
//! ```text
//!   session: takes extents, few are left ──ask──▶ fb_smco: grow until enough are free
//! ```
//!
//! Nothing depends on it: a session that finds no free extent makes the file grow itself. So a
//! refusal here is told to no one; the session that needs the space gets its own.
//!
//! Invariants
//!   * the process looks at a requested file after the request, or the instance stops
//!
//! Callers: `room` and `create`; the instance, which starts and ends the process.

use std::collections::BTreeMap;
use std::sync::Arc;

use format::ExtentMap;
use ids::FileNo;
use latch::{FrameOrder, Latch, LatchKind, SharedFlag, Signal};
use os::{Os, Session};
use stop::Stop;
use waits::{Nanos, WaitEvent};

use crate::Space;
use crate::data_file::{EXTENT_MAP, extents_of};
use crate::room::{doubled_max, is_taken};

/// The longest sleep of the process.
const HEARTBEAT: Nanos = Nanos::from_secs(3);

/// The free extents that should be left, for each extent that was taken at once.
const LEFT_FREE: u32 = 2;
/// The extents taken at once count up to what a session would wait for (SP29), or up to one in this
/// many of the file's: so a large segment doesn't have the process write zeros for minutes.
const AHEAD_SHARE: u32 = 64;

/// The requests to the process.
pub struct Ahead {
    signal: Signal,
    stop: SharedFlag,
    /// Requested files, and the number of free extents that each should have.
    wanted: Latch<BTreeMap<FileNo, u32>>,
}

impl Ahead {
    pub(crate) fn new(os: &Os) -> Arc<Ahead> {
        let wanted = Latch::new(os, LatchKind::Innermost, BTreeMap::new());
        Arc::new(Ahead { signal: Signal::new(os), stop: SharedFlag::new(false), wanted })
    }

    /// Wakes the process after a halt of the instance.
    pub fn post(&self, session: &Session) {
        self.signal.post(session);
    }

    /// Ends the process.
    pub fn stop(&self, session: &Session) {
        self.stop.raise(session);
        self.signal.post(session);
    }
}

impl Space {
    /// The handle that wakes and ends the process.
    pub fn ahead(&self) -> &Arc<Ahead> {
        &self.shared.ahead
    }

    /// Notes that a session has taken extents of a file, and requests growth if few are free.
    pub(crate) fn note_taken(&self, file: FileNo, taken: u32, free: u32, session: &Session) {
        let data_file = self.file(file, session);
        let tablespace = self.tablespace_of(file, session);
        let share = extents_of(data_file.blocks, tablespace.extent_blocks) / AHEAD_SHARE;
        let wanted = taken.min(doubled_max(&tablespace).max(share)) * LEFT_FREE;
        if free >= wanted || !data_file.can_grow() {
            return;
        }
        let ahead = &self.shared.ahead;
        let before = ahead.wanted.exclusive(session).insert(file, wanted);
        if before.is_none() {
            ahead.signal.post(session);
        }
    }

    /// The body of the process.
    pub fn run_ahead(&self, session: &Session) {
        let (ahead, halt) = (&self.shared.ahead, self.changes().halt());
        while !ahead.stop.is_raised(session) && !halt.is_raised(session) {
            let next = ahead.wanted.exclusive(session).pop_first();
            match next {
                Some((file, wanted)) => {
                    // A refusal is for the session that needs the space; a halt is seen above.
                    let _ = self.grow_ahead(file, wanted, session);
                }
                None => {
                    let waiting = session.waiting(WaitEvent::RdbmsIpcMessage);
                    ahead.signal.wait(waiting.p(HEARTBEAT.0 / 10_000_000, 0, 0), Some(HEARTBEAT));
                }
            }
        }
    }

    /// Makes the file grow until it has `wanted` free extents, or can't grow more.
    fn grow_ahead(&self, file: FileNo, wanted: u32, session: &Session) -> Result<(), Stop> {
        let tablespace = self.tablespace_of(file, session);
        let _growing = self.shared.growing.hold(tablespace.number.0.into(), session);
        loop {
            self.changes().halt().check(session)?;
            let free = {
                let map = self.pin(file, EXTENT_MAP, session)?;
                free_count(&map.shared(FrameOrder::ExtentMap, session))
            };
            if free >= wanted || !self.grow_file(file, &tablespace, session)? {
                return Ok(());
            }
        }
    }
}

/// The number of free extents in a map.
pub(crate) fn free_count(map: &[u8]) -> u32 {
    let extents = ExtentMap::at(map, ExtentMap::START).extents.get();
    (0..extents).filter(|number| !is_taken(map, *number)).count() as u32
}

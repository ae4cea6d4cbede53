//! Growth ahead of need: who takes one of a file's last extents asks for more, and goes on; the
//! process `fb_smco` makes the file grow meanwhile.
//!
//! ```text
//!   session: takes extents, few are left ──ask──▶ fb_smco: grow until enough are free
//! ```
//!
//! Nothing depends on it: a session that finds no free extent makes the file grow itself. So what
//! is refused here is said to nobody; the session that needs the space will be told.
//!
//! Invariants
//!   * a file that was asked for is looked at after that, or the instance stops
//!
//! Callers: `space`; the instance, which starts and ends the process.

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

/// The process looks up so often, if nobody asks.
const HEARTBEAT: Nanos = Nanos::from_secs(3);

/// How many of the extents that were taken at once should be left free ...
const LEFT_FREE: u32 = 2;
/// ... when a session gets no more at once than it would wait for (SP16), or this share of the
/// file: one in ... So a large segment doesn't have the process write zeros for minutes.
const AHEAD_SHARE: u32 = 64;

/// What sessions ask the process for.
pub struct Ahead {
    signal: Signal,
    stop: SharedFlag,
    /// Files, and how many free extents each should have.
    wanted: Latch<BTreeMap<FileNo, u32>>,
}

impl Ahead {
    pub(crate) fn new(os: &Os) -> Arc<Ahead> {
        let wanted = Latch::new(os, LatchKind::Innermost, BTreeMap::new());
        Arc::new(Ahead { signal: Signal::new(os), stop: SharedFlag::new(false), wanted })
    }

    /// Wakes the process: the instance has halted.
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
    /// How the process is woken and ended.
    pub fn ahead(&self) -> &Arc<Ahead> {
        &self.shared.ahead
    }

    /// So many extents of a file were taken, and so many are free: asks for more if these are few.
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
                    // Refused: who needs the space will be told. Halted: seen above.
                    let _ = self.grow_ahead(file, wanted, session);
                }
                None => {
                    let waiting = session.waiting(WaitEvent::RdbmsIpcMessage);
                    ahead.signal.wait(waiting.p(HEARTBEAT.0 / 10_000_000, 0, 0), Some(HEARTBEAT));
                }
            }
        }
    }

    /// Makes the file grow until it has so many free extents, or all that it may have.
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

/// How many extents are free in a map.
pub(crate) fn free_count(map: &[u8]) -> u32 {
    let extents = ExtentMap::at(map, ExtentMap::START).extents.get();
    (0..extents).filter(|number| !is_taken(map, *number)).count() as u32
}

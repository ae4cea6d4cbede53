//! Redo of an open database: its opening, and the calls of other rooms.
//!
//! Callers: `instance` opens it; `change` reserves and appends; `txn` and the cache's gate make
//! redo durable; the checkpoint process advances.

use std::fmt;
use std::sync::Arc;

use ids::{Rba, Scn};
use latch::{Condition, Latch, LatchKind, Shared32, Shared64, Signal};
use os::{Disk, Session};
use stop::{Failpoint, Halt, RefusalKind, Stop};
use waits::{Statistic, WaitEvent};

use crate::groups::{Entry, Groups};
use crate::landing::Landings;
use crate::log_file::{Beginning, HeaderBlock, OpenGroup};
use crate::medium::Medium;
use crate::members::{self, KeepMembers};
use crate::queue::{LANES, Lanes};
use crate::state::State;
use crate::{CommitLeader, EndReason, LogStart, RedoConfig};

/// Asks for a checkpoint. Called without a latch.
pub type CheckpointWanted = Box<dyn Fn(&Session) + Send + Sync>;

/// The redo of an open database. Clones share it.
#[derive(Clone)]
pub struct Redo {
    pub(crate) shared: Arc<Shared>,
}

/// What the redo asks of the instance.
pub struct Hooks {
    /// Called when sessions wait until a log is free.
    pub checkpoint_wanted: CheckpointWanted,
    /// Called when members of a group have failed or have become good again.
    pub keep_members: KeepMembers,
}

pub(crate) struct Shared {
    pub(crate) medium: Medium,
    pub(crate) state: Latch<State>,
    /// SCN through which redo is durable. It only rises.
    pub(crate) durable: Shared64,
    /// SCN of the last record. Written under the latch, before `position`.
    pub(crate) last: Shared64,
    /// A packed block address below which no later record begins. Written under the latch.
    pub(crate) position: Shared64,
    /// The newest log whose header is durable. It only rises.
    pub(crate) newest_log: Shared32,
    pub(crate) landings: Landings,
    /// Where sessions in the room queue sleep. What they wait for changes under `state`.
    pub(crate) room: [Condition; LANES],
    /// Posts the log writer.
    pub(crate) lgwr: Signal,
    pub(crate) halt: Halt,
    pub(crate) checkpoint_wanted: CheckpointWanted,
    pub(crate) keep_members: KeepMembers,
    pub(crate) acknowledges_early: bool,
}

impl Redo {
    /// Opens the logs and begins log `start.sequence` by making its header durable.
    pub fn open(
        disk: &Disk,
        config: &RedoConfig,
        start: LogStart,
        halt: &Halt,
        hooks: Hooks,
        session: &Session,
    ) -> Result<Redo, Stop> {
        config.check()?;
        check_start(config, &start)?;
        let Hooks { checkpoint_wanted, keep_members } = hooks;
        let mut medium = Medium::new(disk, config);
        let groups = begin_first(&medium, &keep_members, config, &start, session)?;
        medium.let_go();
        let (os, last) = (session.os(), start.next_scn.get() - 1);
        let shared = Arc::new(Shared {
            medium,
            state: Latch::new(os, LatchKind::RedoAllocation, State::new(config, &start, groups)?)
                .checked(os, State::assert_consistent),
            durable: Shared64::new(last),
            last: Shared64::new(last),
            position: Shared64::new(Rba::block(start.sequence, 1).pack_block()),
            newest_log: Shared32::new(start.sequence),
            landings: Landings::new(os),
            room: std::array::from_fn(|_| Condition::new(os)),
            lgwr: Signal::new(os),
            halt: halt.clone(),
            checkpoint_wanted,
            keep_members,
            acknowledges_early: config.failpoints.has(Failpoint::AcknowledgeBeforeDurable),
        });
        let weak = Arc::downgrade(&shared);
        halt.on_raise(session, move |session| {
            if let Some(shared) = weak.upgrade() {
                shared.wake_everybody(session);
            }
        });
        Ok(Redo { shared })
    }

    /// A block below which no record begins that is appended after this call. It only rises.
    pub fn position(&self, session: &Session) -> Rba {
        Rba::unpack_block(self.shared.position.load(session))
    }

    /// SCN of the last record. Read after [`position`](Redo::position), it is at least that of
    /// every record below the position.
    pub fn last_scn(&self, session: &Session) -> Scn {
        Scn::new(self.shared.last.load(session))
    }

    /// The SCN through which redo is durable, without a hole.
    pub fn durable_scn(&self, session: &Session) -> Scn {
        Scn::new(self.shared.durable.load(session))
    }

    /// The newest log that has begun: the one whose header is durable.
    pub fn newest_log(&self, session: &Session) -> u32 {
        self.shared.newest_log.load(session)
    }

    /// Changes the commit leader for all commits from now on.
    pub fn set_commit_leader(&self, leader: CommitLeader, session: &Session) {
        self.shared.state.exclusive(session).leader = leader;
        self.shared.lgwr.post(session);
    }

    /// Allows this many batches in flight, from 1 to the number it was opened with.
    pub fn set_writes_in_flight(&self, writes: u32, session: &Session) {
        self.shared.state.exclusive(session).set_writes_in_flight(writes);
    }

    /// Notes that every change below `rba` is on disk, and that the control file says so durably:
    /// logs that end below it are free (RD5).
    pub fn checkpoint_advanced(&self, rba: Rba, session: &Session) {
        self.shared.make_room(|state| state.advance_checkpoint(rba), session);
    }
}

impl Shared {
    /// Wakes the sessions of the room queue that sleep in these lanes.
    pub(crate) fn wake_queue(&self, lanes: Lanes, session: &Session) {
        lanes.iter().for_each(|lane| self.room[lane].notify_all(session));
    }

    /// Publishes what changed under the latch: the last SCN, then the position.
    pub(crate) fn publish(&self, state: &State, session: &Session) {
        self.last.store(state.next_scn.get() - 1, session);
        // Most records begin no block, and a store waits until it has reached memory.
        let position = state.position().pack_block();
        if self.position.load(session) != position {
            self.position.store(position, session);
        }
    }

    /// Wakes every sleeper after a halt.
    fn wake_everybody(&self, session: &Session) {
        for lane in 0..crate::state::LANES {
            self.landings.wake(lane, u32::MAX, session);
        }
        {
            let _state = self.state.exclusive(session);
            self.room.iter().for_each(|room| room.notify_all(session));
        }
        self.lgwr.post(session);
    }

    /// Counts the log switches since log `before` was the current one.
    pub(crate) fn count_switches_since(&self, before: u32, state: &State, session: &Session) {
        let switches = u64::from(state.sequence() - before);
        if switches > 0 {
            session.count(Statistic::RedoLogSwitches, switches);
        }
    }
}

fn check_start(config: &RedoConfig, start: &LogStart) -> Result<(), Stop> {
    let LogStart { sequence, next_scn, checkpoint, .. } = *start;
    let needed = sequence.checked_sub(checkpoint.sequence);
    if sequence == 0 || next_scn == Scn::ZERO || checkpoint.sequence == 0 || needed.is_none() {
        let message = format!(
            "redo can't begin with log {sequence}, SCN {next_scn} and checkpoint {checkpoint}: \
             logs and SCNs count from 1, and the checkpoint isn't in a later log"
        );
        return Err(Stop::refuse(RefusalKind::Invalid, message));
    }
    if needed >= Some(config.groups.len() as u32) {
        return Err(would_overwrite(config, start));
    }
    Ok(())
}

fn would_overwrite(config: &RedoConfig, start: &LogStart) -> Stop {
    let message = format!(
        "log {} would overwrite redo that recovery needs: the checkpoint is at {} and there are \
         {} groups; recover the database first (forebay recover DIR)",
        start.sequence,
        start.checkpoint,
        config.groups.len()
    );
    Stop::refuse(RefusalKind::WrongState, message)
}

/// Opens the groups, and begins the first log in the group that has been free for longest; in one
/// whose header can't be read only if there is no other.
fn begin_first(
    medium: &Medium,
    keep: &KeepMembers,
    config: &RedoConfig,
    start: &LogStart,
    session: &Session,
) -> Result<Groups, Stop> {
    let sequence = start.sequence;
    let mut groups = Vec::with_capacity(config.groups.len());
    for group in &config.groups {
        let group = Arc::new(OpenGroup::open(medium, group, session)?);
        let header = group.read_header(&medium.owner, session)?;
        let is_unreadable = matches!(header, HeaderBlock::Other(EndReason::Unreadable { .. }));
        let holds = match header {
            // A log with a higher number than the one that begins isn't used.
            HeaderBlock::Log(header) if header.log_sequence.get() < sequence => {
                header.log_sequence.get()
            }
            _ => 0,
        };
        groups.push(Entry::new(group, holds, is_unreadable));
    }
    let free = groups.iter_mut().filter(|entry| entry.sequence < start.checkpoint.sequence);
    let Some(free) = free.min_by_key(|entry| (entry.is_unreadable, entry.sequence)) else {
        return Err(would_overwrite(config, start));
    };
    let beginning = Beginning { first_scn: start.next_scn, previous_end: start.previous_end };
    let waiting = session.waiting(WaitEvent::LogFileSingleWrite).p(free.group.number.into(), 0, 1);
    let (begun, _) = members::begin(medium, keep, &free.group, sequence, beginning, waiting)?;
    *free = Entry::new(begun, sequence, false);
    Ok(Groups::new(groups, sequence, start.checkpoint.sequence))
}

impl fmt::Debug for Redo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redo")
            .field("durable", &self.shared.durable)
            .field("last", &self.shared.last)
            .finish_non_exhaustive()
    }
}

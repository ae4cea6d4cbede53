//! The checkpoint process: asks the writers for checkpoints, and moves the one in the control file.
//!
//! At a log switch the process asks the writers for all blocks that changed before the switch, so
//! that the logs before it can be written over; it looks at their progress every few milliseconds.
//! Else it wakes every three seconds, or five times a second if a parameter bounds how far the
//! checkpoint may be behind (see `incremental`).
//!
//! Callers: `open`, which starts and ends the process; the redo asks for checkpoints through
//! `wanted`.

use std::sync::Arc;

use cache::{Cache, DataFile};
use ids::{Rba, Scn};
use latch::{Latch, Shared64, SharedFlag, Signal};
use os::{Os, Session};
use redo::Redo;
use space::{ControlContent, ControlFile, Enqueue, FileCheckpoint};
use stop::{Halt, Stop};
use waits::{Nanos, WaitEvent};

use crate::RecoveryAhead;
use crate::incremental::{Bounds, Incremental, Pace, RecoveryWork};

/// The heartbeat: the interval at which the control file follows the cache's checkpoint.
const HEARTBEAT: Nanos = Nanos::from_secs(3);
/// The interval at which the progress of a checkpoint under way is looked at.
const LOOK: Nanos = Nanos::from_millis(5);

/// The interval at which the redo is looked at while a parameter bounds the checkpoint closely.
const PACE: Nanos = Nanos::from_millis(200);

/// How other processes ask for a checkpoint. It is made before redo and cache.
pub(crate) struct CheckpointRequests {
    signal: Signal,
    stop: SharedFlag,
}

impl CheckpointRequests {
    pub(crate) fn new(os: &Os) -> Arc<CheckpointRequests> {
        Arc::new(CheckpointRequests { signal: Signal::new(os), stop: SharedFlag::new(false) })
    }

    /// Wakes the process: logs are running out, or the instance has halted.
    pub(crate) fn post(&self, session: &Session) {
        self.signal.post(session);
    }

    pub(crate) fn stop(&self, session: &Session) {
        self.stop.raise(session);
        self.signal.post(session);
    }
}

/// Where checkpoints begin at an opening.
pub(crate) struct CheckpointStart {
    /// The content of the control file after recovery.
    pub(crate) content: ControlContent,
    /// Whether the headers of the data files have the checkpoint of the shutdown before.
    pub(crate) leaves_headers: bool,
}

/// A checkpoint that the headers of these data files have, durably.
pub(crate) struct HeadersWritten {
    checkpoint: FileCheckpoint,
    files: Vec<DataFile>,
}

impl HeadersWritten {
    /// Has the control file require it of them.
    pub(crate) fn require(&self, content: &mut ControlContent) {
        content.require_checkpoint(&self.checkpoint, &self.files);
    }
}

pub(crate) struct Checkpointer {
    pub(crate) wanted: Arc<CheckpointRequests>,
    pub(crate) cache: Arc<Cache>,
    pub(crate) redo: Arc<Redo>,
    pub(crate) halt: Halt,
    /// Other sessions write it only while the process doesn't run (rule space/SP1).
    pub(crate) control: Arc<Enqueue<ControlFile>>,
    bounds: Latch<Bounds>,
    /// The pace of a recovery while this instance has read and written too little.
    assumed: Pace,
    /// The last estimate of how long a recovery would take; only with `fast_start_mttr_target`.
    pub(crate) estimate_ns: Shared64,
    /// The checkpoint in the control file: a packed block address.
    recorded: Shared64,
    /// Whether that is the opening's still, and the headers of the data files have the checkpoint
    /// of the shutdown before (rule space/SP51). The process lowers it.
    headers_are_left: SharedFlag,
    /// The content of the control file at the opening.
    opened: ControlContent,
}

impl Checkpointer {
    pub(crate) fn new(
        wanted: Arc<CheckpointRequests>,
        cache: Arc<Cache>,
        redo: Arc<Redo>,
        control: Arc<Enqueue<ControlFile>>,
        bounds: Latch<Bounds>,
        assumed: Pace,
        CheckpointStart { content, leaves_headers }: CheckpointStart,
    ) -> Arc<Checkpointer> {
        Arc::new(Checkpointer {
            wanted,
            halt: cache.halt().clone(),
            cache,
            redo,
            control,
            bounds,
            assumed,
            estimate_ns: Shared64::new(0),
            recorded: Shared64::new(content.checkpoint.pack_block()),
            headers_are_left: SharedFlag::new(leaves_headers),
            opened: content,
        })
    }

    /// The work that a recovery would have if the instance stopped now. Waits for latches only.
    pub(crate) fn ahead(&self, session: &Session) -> RecoveryAhead {
        // The checkpoint is read before the end, which is never below it.
        let checkpoint = Rba::unpack_block(self.recorded.load(session));
        let (end, blocks) = (self.redo.position(session), self.redo.log_blocks_max(session));
        let scale = Incremental::new(*self.bounds.shared(session), blocks);
        let redo_blocks = scale.distance(end).saturating_sub(scale.distance(checkpoint));
        let dirty_blocks = self.cache.dirty(session);
        let pace = self.assumed.measured(&session.os().totals());
        let estimate = pace.estimate(redo_blocks, dirty_blocks);
        RecoveryAhead { redo_blocks, dirty_blocks, log_blocks: blocks, estimate }
    }

    /// Sets how far the checkpoint may be behind from now on.
    pub(crate) fn bind(&self, bounds: Bounds, session: &Session) {
        *self.bounds.exclusive(session) = bounds;
        self.wanted.post(session);
    }

    /// The body of the process.
    pub(crate) fn run(&self, session: &Session) {
        // No other session moves it while the process runs.
        let mut recorded = self.control.hold(0, session).content().checkpoint;
        let mut bounds = *self.bounds.shared(session);
        let mut incremental = Incremental::new(bounds, self.redo.log_blocks_max(session));
        let mut heartbeat = session.now();
        let mut requested = recorded;
        while !self.wanted.stop.is_raised(session) && !self.halt.is_raised(session) {
            let under_way = recorded < requested;
            let pause = match (under_way, bounds.are_close()) {
                (true, _) => LOOK,
                (false, true) => PACE,
                (false, false) => HEARTBEAT,
            };
            let waiting = session.waiting(WaitEvent::RdbmsIpcMessage).p(pause.0 / 10_000_000, 0, 0);
            self.wanted.signal.wait(waiting, Some(pause));
            let switched = Rba::block(self.redo.position(session).sequence, 0);
            if switched > requested {
                requested = switched;
                self.cache.request_checkpoint(requested, session);
            }
            bounds = *self.bounds.shared(session);
            incremental.bind(bounds);
            incremental.rescale(self.redo.log_blocks_max(session));
            self.ask_incremental(&mut incremental, bounds, recorded, session);
            let due = bounds.are_close() || session.now().since(heartbeat) >= HEARTBEAT;
            match self.follow(recorded, due, session) {
                Some(position) => recorded = position,
                None => break,
            }
            self.recorded.store(recorded.pack_block(), session);
            if due {
                heartbeat = session.now();
            }
        }
    }

    /// Asks the writers to keep the checkpoint as close to the end of the redo as parameters say.
    fn ask_incremental(
        &self,
        incremental: &mut Incremental,
        bounds: Bounds,
        checkpoint: Rba,
        session: &Session,
    ) {
        let estimates = bounds.need_estimates();
        let dirty = if estimates { self.cache.dirty(session) } else { 0 };
        let end = self.redo.position(session);
        let behind = RecoveryWork { now: session.now(), end, checkpoint, dirty };
        let pace = if estimates {
            let pace = self.assumed.measured(&session.os().totals());
            let lag = incremental.distance(end).saturating_sub(incremental.distance(checkpoint));
            self.estimate_ns.store(pace.estimate(lag, dirty).0, session);
            pace
        } else {
            self.assumed
        };
        if let Some(target) = incremental.target(behind, pace)
            && target > checkpoint
        {
            self.cache.request_checkpoint(target, session);
        }
    }

    /// Moves the control file's checkpoint if that frees a log, or if `due`, and then gives the
    /// redo below it free (IN3). If a log was freed, the data files' headers follow (rule
    /// space/SP19); those that an opening has left get it before (rule space/SP51). Returns the
    /// checkpoint; none if the instance has halted.
    fn follow(&self, recorded: Rba, due: bool, session: &Session) -> Option<Rba> {
        let position = self.cache.checkpoint_position(session);
        let frees = position.sequence > recorded.sequence;
        if position <= recorded || !(frees || due) {
            if due {
                self.even_out(recorded, session)?;
            }
            return Some(recorded);
        }
        // The blocks before it are durable unless a write failed meanwhile.
        let waiting = session.waiting(WaitEvent::DbFileParallelWrite);
        for data_file in self.cache.data_files(session) {
            if let Err(error) = data_file.file.settle(waiting) {
                self.halt.raise(format!("a data file can't be written: {error}"), session);
                return None;
            }
        }
        // Read after the position, so it isn't below the SCN of any change before it.
        let scn = self.redo.last_scn(session);
        let newest_log = self.redo.newest_log(session);
        let moves = |content: &mut ControlContent| {
            content.checkpoint = position;
            content.checkpoint_scn = scn;
            content.newest_log = newest_log;
        };
        if self.headers_are_left.is_raised(session) {
            self.write_left_headers(position, scn, moves, session)?;
            self.redo.checkpoint_advanced(position, session);
            return Some(position);
        }
        let number = self.update(session, |content| {
            moves(content);
            if frees {
                content.announce_checkpoint();
            }
        })?;
        self.redo.checkpoint_advanced(position, session);
        if frees {
            let checkpoint = FileCheckpoint { number, at: position, scn };
            let files = self.cache.data_files(session);
            let files = self.or_halt(checkpoint.write_where_it_can(&files, session), session)?;
            let written = HeadersWritten { checkpoint, files };
            self.update(session, |content| written.require(content))?;
        }
        Some(position)
    }

    /// Writes a checkpoint up to here into the headers of all data files: with the number that was
    /// announced last, or with a new one if a file has that already (rule space/SP38). The control
    /// file is to require it next.
    pub(crate) fn write_headers(
        &self,
        at: Rba,
        scn: Scn,
        session: &Session,
    ) -> Result<HeadersWritten, Stop> {
        let number = {
            let mut control = self.control.hold(0, session);
            if control.content().number_is_given() {
                control.update(ControlContent::announce_checkpoint, session)?;
            }
            control.content().checkpoint_number
        };
        let checkpoint = FileCheckpoint { number, at, scn };
        let files = self.cache.data_files(session);
        checkpoint.write(&files, session)?;
        Ok(HeadersWritten { checkpoint, files })
    }

    /// Writes the headers that an opening has left, then changes the control file, which requires
    /// them from then on (rule space/SP51). None if the instance has halted.
    fn write_left_headers(
        &self,
        at: Rba,
        scn: Scn,
        change: impl FnOnce(&mut ControlContent),
        session: &Session,
    ) -> Option<()> {
        let written = self.or_halt(self.write_headers(at, scn, session), session)?;
        self.update(session, |content| {
            change(content);
            written.require(content);
        })?;
        self.headers_are_left.lower(session);
        Some(())
    }

    /// Whether an opening has left the headers and nothing has changed since, if the checkpoint is
    /// here now: no block, and no file that the control file lists.
    pub(crate) fn headers_can_stay(&self, at: Rba, session: &Session) -> bool {
        let is_left = self.headers_are_left.is_raised(session);
        let control = self.control.hold(0, session);
        let content = control.content();
        is_left && at == content.checkpoint && content.lists_the_same(&self.opened)
    }

    /// Has the copies of the control file say the same again, some time after an opening (IN54). If
    /// it lists other files by now the headers that the opening has left get their number, so that
    /// an older control file is refused. None if the instance has halted.
    fn even_out(&self, recorded: Rba, session: &Session) -> Option<()> {
        let is_left = self.headers_are_left.is_raised(session);
        if is_left && !self.headers_can_stay(recorded, session) {
            let scn = self.control.hold(0, session).content().checkpoint_scn;
            return self.write_left_headers(recorded, scn, |_| (), session);
        }
        let is_uneven = self.control.hold(0, session).is_uneven();
        if is_uneven {
            self.update(session, |_| ())?;
        }
        Some(())
    }

    /// The result of writing headers; none if that failed, which halts the instance.
    fn or_halt<T>(&self, written: Result<T, Stop>, session: &Session) -> Option<T> {
        let failed = |stop: Stop| {
            let cause = format!("the header of a data file can't be written: {stop}");
            self.halt.raise(cause, session)
        };
        written.map_err(failed).ok()
    }

    /// Changes the control file. Returns the number of the newest checkpoint of data files in it;
    /// none if the instance has halted.
    fn update(&self, session: &Session, change: impl FnOnce(&mut ControlContent)) -> Option<u32> {
        let mut control = self.control.hold(0, session);
        if let Err(error) = control.update(change, session) {
            self.halt.raise(format!("the control file can't be written: {error}"), session);
            return None;
        }
        Some(control.content().checkpoint_number)
    }
}

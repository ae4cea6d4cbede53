//! The checkpoint process: asks the writers for checkpoints, and moves the one in the control file.
//!
//! At a log switch everything that changed before it is wanted on disk, so that the logs before can
//! be written over; the writers are asked for that, and while they work their progress is looked at
//! every few milliseconds. Else the process looks up every three seconds, or a few times a second
//! if a parameter bounds how far the checkpoint may be behind (see `incremental`).
//!
//! Callers: `open`, which starts and ends the process; the redo asks for checkpoints through
//! `wanted`.

use std::sync::Arc;

use cache::Cache;
use ids::Rba;
use latch::{Latch, Shared64, SharedFlag, Signal};
use os::{Os, Session};
use redo::Redo;
use space::{ControlContent, ControlFile, Enqueue, FileCheckpoint};
use stop::Halt;
use waits::{Nanos, WaitEvent};

use crate::incremental::{Behind, Bounds, Incremental, Pace};

/// The heartbeat: so often the control file follows, if there is something to follow.
const HEARTBEAT: Nanos = Nanos::from_secs(3);
/// While a checkpoint is under way its progress is looked at so often.
const LOOK: Nanos = Nanos::from_millis(5);

/// With a close bound on how far the checkpoint may be behind, the redo is looked at so often.
const PACE: Nanos = Nanos::from_millis(200);

/// How others ask for a checkpoint. Made before redo and cache are.
pub(crate) struct Wanted {
    signal: Signal,
    stop: SharedFlag,
}

impl Wanted {
    pub(crate) fn new(os: &Os) -> Arc<Wanted> {
        Arc::new(Wanted { signal: Signal::new(os), stop: SharedFlag::new(false) })
    }

    /// Logs are running out, or the instance has halted.
    pub(crate) fn post(&self, session: &Session) {
        self.signal.post(session);
    }

    pub(crate) fn stop(&self, session: &Session) {
        self.stop.raise(session);
        self.signal.post(session);
    }
}

pub(crate) struct Checkpointer {
    pub(crate) wanted: Arc<Wanted>,
    pub(crate) cache: Arc<Cache>,
    pub(crate) redo: Arc<Redo>,
    pub(crate) halt: Halt,
    /// Rule space/SP1.
    pub(crate) control: Arc<Enqueue<ControlFile>>,
    bounds: Latch<Bounds>,
    /// The pace of a recovery while this instance has read and written too little.
    assumed: Pace,
    /// How long a recovery would take, as estimated last; only with `fast_start_mttr_target`.
    pub(crate) estimate_ns: Shared64,
}

impl Checkpointer {
    pub(crate) fn new(
        wanted: Arc<Wanted>,
        cache: Arc<Cache>,
        redo: Arc<Redo>,
        halt: Halt,
        control: Arc<Enqueue<ControlFile>>,
        bounds: Latch<Bounds>,
        assumed: Pace,
    ) -> Arc<Checkpointer> {
        let estimate_ns = Shared64::new(0);
        Arc::new(Checkpointer { wanted, cache, redo, halt, control, bounds, assumed, estimate_ns })
    }

    /// From now on the checkpoint may be so far behind.
    pub(crate) fn bind(&self, bounds: Bounds, session: &Session) {
        *self.bounds.exclusive(session) = bounds;
        self.wanted.post(session);
    }

    /// The process's body.
    pub(crate) fn run(&self, session: &Session) {
        // Nobody else moves it while the process runs.
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
            if due {
                heartbeat = session.now();
            }
        }
    }

    /// Has the writers keep the checkpoint as close to the end of the redo as parameters say.
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
        let behind = Behind { now: session.now(), end, checkpoint, dirty };
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

    /// Moves the control file's checkpoint if that frees a log, or if it is time; and then gives
    /// the redo below free (IN3). If that has freed a log, the data files' headers follow (rule
    /// space/SP19). Where it is then; none if the instance has halted.
    fn follow(&self, recorded: Rba, due: bool, session: &Session) -> Option<Rba> {
        let position = self.cache.checkpoint_position(session);
        let frees = position.sequence > recorded.sequence;
        if position <= recorded || !(frees || due) {
            return Some(recorded);
        }
        // What lies before it was durable if nothing failed beside it.
        let waiting = session.waiting(WaitEvent::DbFileParallelWrite);
        for data_file in self.cache.data_files(session) {
            if let Err(error) = data_file.file.settle(waiting) {
                self.halt.raise(format!("a data file can't be written: {error}"), session);
                return None;
            }
        }
        // Read after the position, so not below what lies before it.
        let scn = self.redo.last_scn(session);
        let newest_log = self.redo.newest_log(session);
        let moved = self.update(session, |content| {
            content.checkpoint = position;
            content.checkpoint_scn = scn;
            content.newest_log = newest_log;
            if frees {
                content.announce_checkpoint();
            }
        })?;
        self.redo.checkpoint_advanced(position, session);
        if frees {
            let checkpoint = FileCheckpoint { number: moved, at: position, scn };
            let files = self.cache.data_files(session);
            let written = match checkpoint.write_where_it_can(&files, session) {
                Ok(written) => written,
                Err(stop) => {
                    let cause = format!("the header of a data file can't be written: {stop}");
                    self.halt.raise(cause, session);
                    return None;
                }
            };
            self.update(session, |content| content.require_checkpoint(&checkpoint, &written))?;
        }
        Some(position)
    }

    /// Changes the control file: the newest number of a checkpoint of data files that it says then.
    /// None if the instance has halted.
    fn update(&self, session: &Session, change: impl FnOnce(&mut ControlContent)) -> Option<u32> {
        let mut control = self.control.hold(0, session);
        if let Err(error) = control.update(change, session) {
            self.halt.raise(format!("the control file can't be written: {error}"), session);
            return None;
        }
        Some(control.content().checkpoint_number)
    }
}

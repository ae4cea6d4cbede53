//! Opening and working (IN2 to IN4).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cache::Cache;
use change::Changes;
use ids::{Rba, Scn};
use latch::{Latch, LatchKind, Shared32};
use os::probe::DurableWrite;
use os::{Disk, Session};
use recovery::{Progress, Recovered};
use redo::{CommitMode, Hooks, LogStart, Redo, RedoConfig};
use sort::Budget;
use space::{Ahead, ControlContent, ControlState, Enqueue, Space, Storage};
use stop::{Halt, Stop};
use txn::{Locks, Transaction, Transactions};
use waits::{Nanos, WaitEvent};

use crate::Parameters;
use crate::alter::Settings;
use crate::checkpointer::{CheckpointRequests, CheckpointStart, Checkpointer};
use crate::cleaners::Cleaners;
use crate::create::redo_config;
use crate::gate::Gate;
use crate::incremental::{Bounds, Pace};
use crate::lock_waits::LockTimeouts;
use crate::logs::keep_members;
use crate::mount::{LAYERS, Mounted};
use crate::planted::PlantedDelay;
use crate::processes::{Processes, process};
use crate::sessions::Sessions;

/// What an opening had to do.
#[derive(Clone, Debug)]
pub struct Opened {
    /// The work of recovery.
    pub recovered: Recovered,
    /// The time that this work should have taken, by the time of a durable write as probed.
    pub estimated_recovery: Nanos,
    /// How many transactions were active at the crash; `fb_smon` rolls them back (IN9).
    pub rolled_back: u64,
    /// How many segments were being made or dropped at the crash, and are gone.
    pub dropped: u64,
    /// The way in which redo is made durable.
    pub redo_write: DurableWrite,
    /// The most redo writes in flight at once (IN39).
    pub log_writes_in_flight: u32,
}

/// An open database.
pub struct Instance {
    pub(crate) halt: Halt,
    space: Space,
    transactions: Transactions,
    pub(crate) checkpointer: Arc<Checkpointer>,
    pub(crate) cleaners: Arc<Cleaners>,
    opened: Opened,
    pub(crate) settings: Enqueue<Settings>,
    /// The disk and the directory of the database.
    pub(crate) place: (Disk, PathBuf),
    /// An index into `CommitMode::ALL`.
    pub(crate) commit_mode: Shared32,
    pub(crate) lock_timeouts: LockTimeouts,
    pub(crate) planted: PlantedDelay,
    pub(crate) work_areas: Budget,
    pub(crate) sessions: Sessions,
    /// The parameters as views show them.
    pub(crate) shown: Latch<Arc<Parameters>>,
    /// When it was opened: microseconds since 1970-01-01 00:00 UTC.
    pub(crate) opened_us: u64,
}

impl Instance {
    /// Opens the database in this directory: recovers it, starts the background processes, and
    /// rolls back what was active.
    pub fn open(
        disk: &Disk,
        directory: &Path,
        parameters: &Parameters,
        session: &Session,
    ) -> Result<Instance, Stop> {
        Instance::open_telling(disk, directory, parameters, &|_| (), session)
    }

    /// As [`Instance::open`]; `tell` is called about every MiB of redo that is applied.
    pub fn open_telling(
        disk: &Disk,
        directory: &Path,
        parameters: &Parameters,
        tell: &dyn Fn(Progress),
        session: &Session,
    ) -> Result<Instance, Stop> {
        Instance::open_in(disk, directory, parameters, ControlState::Open, tell, session)
    }

    /// `state` is what the control file says meanwhile: a creation opens a database as *creating*.
    pub(crate) fn open_in(
        disk: &Disk,
        directory: &Path,
        parameters: &Parameters,
        state: ControlState,
        tell: &dyn Fn(Progress),
        session: &Session,
    ) -> Result<Instance, Stop> {
        let mut mounted = Mounted::new(disk, directory, parameters, state, session)?;
        let recovered = mounted.recover(disk, directory, parameters, tell, session)?;
        let Mounted { control, redo, files, doublewrite, options, pace, .. } = mounted;
        // Recovery may have found invalid members of logs.
        let redo = RedoConfig {
            writes_in_flight: redo.writes_in_flight,
            ..redo_config(directory, control.content(), parameters, redo.durable_write, redo.owned)
        };
        let storage = Storage {
            disk: disk.clone(),
            directory: directory.to_path_buf(),
            options,
            control: Arc::new(Enqueue::new(
                session.os(),
                *b"CF",
                WaitEvent::EnqCfContention,
                control,
            )),
            files: files.iter().map(|file| file.file.clone()).collect(),
        };
        let recovered = Recovering { recovered, redo, files, doublewrite, storage, pace };
        start(recovered, parameters, state, session)
    }

    /// Commits a transaction. Its changes are durable when this returns, unless `commit_wait` says
    /// not to wait.
    pub fn commit(&self, transaction: Transaction, session: &Session) -> Result<(), Stop> {
        self.planted.burn(session);
        let mode = CommitMode::ALL[self.commit_mode.load(session) as usize];
        self.commit_with(transaction, mode, session).map(|_| ())
    }

    /// Commits a transaction in this mode, whatever the parameters say. Returns the SCN of the
    /// commit, if anything was changed.
    pub fn commit_with(
        &self,
        transaction: Transaction,
        mode: CommitMode,
        session: &Session,
    ) -> Result<Option<Scn>, Stop> {
        self.transactions.commit(transaction, mode, session)
    }

    /// Rolls a transaction back.
    pub fn rollback(&self, transaction: Transaction, session: &Session) -> Result<(), Stop> {
        self.transactions.rollback(transaction, session)
    }

    /// Does a full checkpoint: returns when every change made before is on disk.
    pub fn checkpoint(&self, session: &Session) -> Result<(), Stop> {
        self.halt.check(session)?;
        // A flush closes the current redo block, so the position after it is above every change so
        // far.
        let last = self.redo().last_scn(session);
        self.redo().make_durable(last, session, WaitEvent::RdbmsIpcReply)?;
        let target = self.redo().position(session);
        self.cache().checkpoint(target, session)
    }

    /// What the opening had to do.
    pub fn opened(&self) -> &Opened {
        &self.opened
    }

    /// Returns when every transaction that was active at the crash has been rolled back, or the
    /// instance has halted. Sessions needn't wait for that; a test that looks at the files does.
    pub fn wait_for_dead(&self, session: &Session) {
        self.cleaners.wait_for_dead(session);
    }

    /// The last estimate of the time of a recovery after a crash; only with
    /// `fast_start_mttr_target`.
    pub fn estimated_recovery(&self, session: &Session) -> Nanos {
        Nanos(self.checkpointer.estimate_ns.load(session))
    }

    /// Segments and extents.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// Transactions and undo.
    pub fn transactions(&self) -> &Transactions {
        &self.transactions
    }

    /// The buffer cache.
    pub fn cache(&self) -> &Arc<Cache> {
        &self.checkpointer.cache
    }

    /// The redo.
    pub fn redo(&self) -> &Arc<Redo> {
        &self.checkpointer.redo
    }

    /// The memory for work areas: sorts, hash joins, groups, kept rows.
    pub fn work_areas(&self) -> &Budget {
        &self.work_areas
    }

    /// The halt of the instance: whether it has ended, and why.
    pub fn halt(&self) -> &Halt {
        &self.halt
    }
}

pub(crate) fn index_of(mode: CommitMode) -> u32 {
    let at = CommitMode::ALL.iter().position(|each| *each == mode);
    at.expect("every mode is in the list") as u32
}

/// The files of a database that was recovered, with everything to start an instance on.
struct Recovering {
    recovered: Recovered,
    redo: RedoConfig,
    files: Vec<cache::DataFile>,
    doublewrite: os::File,
    storage: Storage,
    pace: Pace,
}

/// Begins the next log, and starts the background processes.
fn start(
    mounted: Recovering,
    parameters: &Parameters,
    state: ControlState,
    session: &Session,
) -> Result<Instance, Stop> {
    let Recovering { recovered, redo: config, files, doublewrite, storage, pace } = mounted;
    let os = session.os().clone();
    let halt = Halt::new(&os);
    let wanted = CheckpointRequests::new(&os);
    let content = storage.control.hold(0, session).content().clone();
    let estimated_recovery = pace.of_recovered(&recovered);
    let begin = next_log(&content, &recovered);
    wake_at_halt(&halt, &wanted, CheckpointRequests::post, session);
    let hooks = hooks(&wanted, &storage, &halt);
    let redo = Arc::new(Redo::open(&storage.disk, &config, begin, &halt, hooks, session)?);
    let gate = Arc::new(Gate(Arc::clone(&redo)));
    let sizes = parameters.cache_config(content.system().block_size, content.doublewrite_slots);
    let disk = storage.disk.clone();
    let cache = Cache::open(&os, disk, files, doublewrite, sizes, gate, halt.clone(), session)?;
    // Nothing was changed before this: a database that can't be opened stays as it was (IN16).
    say_open(&storage, state, begin.sequence, session)?;
    let place = (storage.disk.clone(), storage.directory.clone());
    let control = Arc::clone(&storage.control);
    let (of_cache, of_redo) = (Arc::clone(&cache), Arc::clone(&redo));
    let bounds = Latch::new(&os, LatchKind::Innermost, Bounds::of(parameters));
    let leaves_headers = recovered.leaves_headers;
    let begins = CheckpointStart { content: content.clone(), leaves_headers };
    let checkpointer = Checkpointer::new(wanted, of_cache, of_redo, control, bounds, pace, begins);
    let changes = Changes::new(cache, redo, halt.clone(), parameters.redo_consistency, &os);
    let mut processes = Processes::start(&checkpointer, parameters, session)?;
    let upper = take_into_use(changes, storage, &mut processes, &halt, parameters, session);
    // The writers have set themselves up meanwhile. What one lacked is why sessions met its halt.
    let upper = match processes.await_writers(session).and(upper) {
        Ok(upper) => upper,
        Err(stop) => return Err(given_up(stop, &halt, processes, session)),
    };
    let UpperLayers { space, transactions, cleaners, rolled_back, dropped } = upper;
    let settings = settings(parameters, &content, config.writes_in_flight, processes);
    let instance = Instance {
        halt,
        space,
        transactions,
        checkpointer,
        cleaners,
        settings: Enqueue::new(&os, *b"PR", WaitEvent::EnqPrContention, settings),
        place,
        opened: Opened {
            recovered,
            estimated_recovery,
            rolled_back,
            dropped,
            redo_write: config.durable_write,
            log_writes_in_flight: config.writes_in_flight,
        },
        commit_mode: Shared32::new(index_of(parameters.commit_mode())),
        lock_timeouts: LockTimeouts::of(parameters),
        planted: PlantedDelay::new(parameters),
        work_areas: Budget::new(&os, parameters.work_area_bytes(os.memory_bytes())),
        sessions: Sessions::new(&os),
        shown: Latch::new(&os, LatchKind::Innermost, Arc::new(parameters.clone())),
        opened_us: os.calendar_us(),
    };
    instance.schedule_at_opening(session);
    Ok(instance)
}

/// Ends the processes of an opening that failed.
fn given_up(stop: Stop, halt: &Halt, mut processes: Processes, session: &Session) -> Stop {
    halt.raise("the database could not be opened", session);
    processes.join(session);
    stop
}

/// Says in the control file that the database is open, and which log has begun: in one copy, which
/// differs from the other in nothing that an opening needs (IN54).
fn say_open(
    storage: &Storage,
    state: ControlState,
    newest_log: u32,
    session: &Session,
) -> Result<(), Stop> {
    let says = |content: &mut ControlContent| {
        content.state = state;
        content.newest_log = newest_log;
    };
    storage.control.hold(0, session).step(says, session).map_err(Stop::from)
}

/// The log that begins with the opening.
fn next_log(content: &ControlContent, recovered: &Recovered) -> LogStart {
    let sequence = recovered.end.next_sequence();
    LogStart {
        sequence,
        next_scn: content.checkpoint_scn.next(),
        checkpoint: Rba::block(sequence, 1),
        previous_end: recovered.end.previous_end(),
    }
}

/// The settings of an instance that was opened.
fn settings(
    parameters: &Parameters,
    content: &ControlContent,
    log_writes_max: u32,
    processes: Processes,
) -> Settings {
    Settings {
        parameters: parameters.clone(),
        buffer_bytes: parameters.buffer_bytes(content.system().block_size),
        slots: content.doublewrite_slots,
        log_writes_max,
        processes,
    }
}

/// The hooks by which the redo reaches the checkpoint process and the control file.
fn hooks(wanted: &Arc<CheckpointRequests>, storage: &Storage, halt: &Halt) -> Hooks {
    let wanted = Arc::clone(wanted);
    Hooks {
        checkpoint_wanted: Box::new(move |session: &Session| wanted.post(session)),
        keep_members: keep_members(&storage.control, &storage.directory, halt),
    }
}

/// The layers above cache and redo, and the processes that need them.
struct UpperLayers {
    space: Space,
    transactions: Transactions,
    cleaners: Arc<Cleaners>,
    /// How many transactions were active when the instance stopped.
    rolled_back: u64,
    /// How many segments were being made or dropped then.
    dropped: u64,
}

/// Opens space and undo, and starts the processes that need both. Those that were started are in
/// `processes` also on an error.
fn take_into_use(
    changes: Changes,
    storage: Storage,
    processes: &mut Processes,
    halt: &Halt,
    parameters: &Parameters,
    session: &Session,
) -> Result<UpperLayers, Stop> {
    let space = Space::open(changes, storage, session)?;
    // Before a session makes segments or takes a snapshot.
    let dropped = space.finish_drops(session)?;
    wake_at_halt(halt, space.ahead(), Ahead::post, session);
    let (transactions, logs) = Transactions::open(&space, &LAYERS, parameters.failpoints, session)?;
    transactions.set_undo_retention(parameters.retention(), session);
    wake_at_halt(halt, transactions.locks(), Locks::wake_all, session);
    let dead = logs.len();
    let cleaners = Cleaners::new(transactions.clone(), dead, halt.clone(), session);
    wake_at_halt(halt, &cleaners, Cleaners::wake_all, session);
    let inside = space.clone();
    let body = move |session: &Session| inside.run_ahead(session);
    processes.space_process = Some(process("fb_smco", halt, body, session)?);
    let (smon, pmon) = (Arc::clone(&cleaners), Arc::clone(&cleaners));
    let body = move |session: &Session| smon.roll_back(logs, session);
    processes.monitors.push(process("fb_smon", halt, body, session)?);
    let body = move |session: &Session| pmon.look_around(session);
    processes.monitors.push(process("fb_pmon", halt, body, session)?);
    Ok(UpperLayers { space, transactions, cleaners, rolled_back: dead as u64, dropped })
}

/// Has a halt wake the sessions that wait at this place (rule stop/K3).
fn wake_at_halt<T: Send + Sync + 'static>(
    halt: &Halt,
    place: &Arc<T>,
    wake: fn(&T, &Session),
    session: &Session,
) {
    let weak = Arc::downgrade(place);
    halt.on_raise(session, move |session| {
        if let Some(place) = weak.upgrade() {
            wake(&place, session);
        }
    });
}

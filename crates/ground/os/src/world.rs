//! A world: a port, its clock and the sessions that run in it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32};

use waits::{SessionKind, Timestamp};

use crate::registry::Registry;
use crate::{Census, Clock, Error, Port, RunningSession, Session, SessionTimes, TotalsByKind};

/// The default of [`Os::check_effort`]: the share of a structure in memory that a debug build
/// checks for each change of it.
const CHECK_EFFORT: u32 = if cfg!(debug_assertions) { 2 } else { 0 };

/// Takes one-line notices for users: what was degraded, and why.
pub type NoticeSink = Arc<dyn Fn(&str) + Send + Sync>;

/// A handle on a world. It is cheap to clone. The port behind it can only be reached from this
/// crate.
#[derive(Clone)]
pub struct Os {
    shared: Arc<Shared>,
}

struct Shared {
    port: Arc<dyn Port>,
    clock: Clock,
    registry: Registry,
    notices: NoticeSink,
    check_effort: AtomicU32,
    /// Whether it was noticed that I/O slaves do the work of a ring.
    has_noticed_slaves: AtomicBool,
    /// Whether it was noticed that the buffers of a ring can't be locked in memory.
    has_noticed_unlocked: AtomicBool,
}

impl Os {
    /// A world over `port`, with notices to `notices`. For `linux` and the simulator.
    pub fn new(port: Arc<dyn Port>, notices: NoticeSink) -> Os {
        let clock = port.clock();
        let (registry, check_effort) = (Registry::default(), AtomicU32::new(CHECK_EFFORT));
        let shared = Shared {
            port,
            clock,
            registry,
            notices,
            check_effort,
            has_noticed_slaves: AtomicBool::new(false),
            has_noticed_unlocked: AtomicBool::new(false),
        };
        Os { shared: Arc::new(shared) }
    }

    /// Makes the calling thread, which this world didn't start, a session of it.
    pub fn adopt(&self, name: &str, kind: SessionKind) -> Session {
        Session::open(self, name, kind)
    }

    /// The present.
    #[inline]
    pub fn now(&self) -> Timestamp {
        self.shared.clock.now()
    }

    /// The clock itself.
    pub fn clock(&self) -> &Clock {
        &self.shared.clock
    }

    /// The number of CPUs of this world.
    pub fn cpu_count(&self) -> u32 {
        self.port().cpu_count()
    }

    /// The most bytes of memory that this world gives a program.
    pub fn memory_bytes(&self) -> u64 {
        self.port().memory_bytes()
    }

    /// A random number; in the simulator it comes from the seed.
    pub fn random(&self) -> u64 {
        self.port().random()
    }

    /// The date and time of day, in microseconds since 1970-01-01 00:00 UTC; in the simulator
    /// virtual time from a fixed day on. It may jump, so it isn't used for measuring.
    pub fn calendar_us(&self) -> u64 {
        self.port().calendar_us()
    }

    /// Gives users a one-line notice.
    pub fn notice(&self, line: &str) {
        (self.shared.notices)(line);
    }

    /// Notices that I/O slaves do the work of a ring, for this reason: once, for a machine without
    /// rings has none for all.
    pub(crate) fn notice_slaves(&self, why: &Error) {
        if !self.shared.has_noticed_slaves.swap(true, Relaxed) {
            self.notice(&format!("I/O slaves do the work, for I {why}"));
        }
    }

    /// Notices that the buffers of a ring can't be locked in memory: once, for the limit is that of
    /// the process.
    pub(crate) fn notice_unlocked(&self, why: &Error) {
        if !self.shared.has_noticed_unlocked.swap(true, Relaxed) {
            self.notice(&why.to_string());
        }
    }

    /// The sessions that run now.
    pub fn running(&self) -> Vec<RunningSession> {
        self.shared.registry.running()
    }

    /// The running sessions, and the times of the ended ones, at one moment.
    pub fn census(&self) -> Census {
        self.shared.registry.census()
    }

    /// The totals of all waits and statistics in this world, ended sessions included.
    pub fn totals(&self) -> waits::Totals {
        let TotalsByKind { foreground: mut all, background } = self.totals_by_kind();
        all.add(&background);
        all
    }

    /// As [`Os::totals`], those of users' sessions and of the instance's apart, at one moment.
    pub fn totals_by_kind(&self) -> TotalsByKind {
        self.shared.registry.totals()
    }

    /// One running session with its thread's CPU and run-queue time.
    pub fn times_of(&self, session: RunningSession) -> SessionTimes {
        let times = self.port().thread_times(session.thread);
        SessionTimes { times, at: self.now(), session }
    }

    /// Sets the level of every running session, and of future ones.
    pub fn set_level(&self, level: waits::Level) {
        self.shared.registry.set_level(level);
    }

    /// Sets the receivers of waits at level trace for sessions that begin from now on, processes of
    /// the instance included. A session may choose another ([`Session::set_wait_sink`]).
    pub fn set_wait_sinks(&self, sinks: Option<crate::WaitSinks>) {
        self.shared.registry.set_wait_sinks(sinks);
    }

    /// The average number of parts of a structure in memory that are checked for each change of it
    /// (O11); 0 for none. A structure of `n` parts is checked as a whole at every `n / effort`th
    /// change.
    #[inline]
    pub fn check_effort(&self) -> u32 {
        self.shared.check_effort.load(Relaxed)
    }

    /// Sets the check effort of structures that are made from now on.
    pub fn set_check_effort(&self, effort: u32) {
        self.shared.check_effort.store(effort, Relaxed);
    }

    /// Sets a thread's priority.
    pub fn set_priority(
        &self,
        thread: crate::ThreadId,
        priority: crate::Priority,
    ) -> Result<(), Error> {
        self.port().set_priority(thread, priority)
    }

    /// Sets the CPUs on which a thread may run.
    pub fn set_affinity(&self, thread: crate::ThreadId, cpus: crate::CpuSet) -> Result<(), Error> {
        self.port().set_affinity(thread, cpus)
    }

    pub(crate) fn port(&self) -> &dyn Port {
        &*self.shared.port
    }

    pub(crate) fn registry(&self) -> &Registry {
        &self.shared.registry
    }
}

impl fmt::Debug for Os {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Os").field("clock", &self.shared.clock).finish_non_exhaustive()
    }
}

//! What happens beside a load: CPU that others take, and a probe of the device.
//!
//! The probe writes 4 KiB durably, at a fixed rate, to a file of its own. It asks for so little
//! that it doesn't change the load, and it does so whatever the setting is.
//!
//! Callers: both ways of running.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use experiment::Surroundings;
use latch::{Guess, SharedFlag};
use os::{Disk, FileOperation, FileOptions, IoBuf, Session, ThreadHandle, ThreadSpec};
use stop::Stop;
use waits::{Nanos, SessionKind, Timestamp, WaitEvent};

/// The name of the probe's thread, whose time isn't the instance's.
pub(crate) const PROBE: &str = "lab_probe";
/// The probe's file.
pub(crate) const PROBE_FILE: &str = "lab_probe";
/// From the end of a probe to the begin of the next.
const EVERY: Nanos = Nanos::from_millis(4);
const BYTES: usize = 4_096;
/// The blocks of the file, which are written in turn.
const BLOCKS: u64 = 256;

/// Watches until it ends.
pub(crate) struct Watcher {
    counts: Arc<Counts>,
    stop: Arc<SharedFlag>,
    thread: ThreadHandle,
    disk: Disk,
    path: PathBuf,
}

#[derive(Default)]
struct Counts {
    probes: Guess,
    ns: Guess,
    /// When the probe that is on its way began; 0 if none is.
    began: Guess,
}

/// What had happened up to a moment.
#[derive(Clone, Copy)]
pub(crate) struct Moment {
    at: Timestamp,
    others_ns: u64,
    stolen_ns: u64,
    probes: u64,
    probes_ns: u64,
}

impl Watcher {
    /// Begins, with the probe's file in this directory.
    pub(crate) fn begin(disk: &Disk, directory: &Path, session: &Session) -> Result<Watcher, Stop> {
        let path = directory.join(PROBE_FILE);
        let options = FileOptions { direct: true, write_through: true };
        let file = disk.create(&path, BLOCKS * BYTES as u64, options, session)?;
        let (counts, stop) = (Arc::new(Counts::default()), Arc::new(SharedFlag::new(false)));
        let (probe_counts, told) = (Arc::clone(&counts), Arc::clone(&stop));
        let body = move |session: &Session| {
            let buffer = IoBuf::zeroed(BYTES);
            let mut block = 0;
            while !told.is_raised(session) {
                session.pause(EVERY, session.waiting(WaitEvent::PlSqlLockTimer));
                let began = session.now();
                probe_counts.began.store(began.as_nanos());
                let waiting = FileOperation::Fill.waiting(session);
                // A device that fails ends the load too, and that says so.
                if file.write_at(block * BYTES as u64, &buffer, waiting).is_err() {
                    return;
                }
                block = (block + 1) % BLOCKS;
                let took = session.now().since(began);
                probe_counts.began.store(0);
                probe_counts.ns.store(probe_counts.ns.load() + took.0);
                probe_counts.probes.store(probe_counts.probes.load() + 1);
            }
        };
        let spec = ThreadSpec { name: PROBE.to_owned(), kind: SessionKind::Background };
        let thread = session.spawn(spec, body)?;
        Ok(Watcher { counts, stop, thread, disk: disk.clone(), path })
    }

    /// What has happened up to now.
    pub(crate) fn moment(&self, session: &Session) -> Moment {
        let cpu = match session.os().clock().is_virtual() {
            true => os::linux::machine::CpuTimes::default(),
            false => os::linux::machine::cpu_times(),
        };
        let at = session.now();
        let so_far = match self.counts.began.load() {
            0 => 0,
            began => at.as_nanos().saturating_sub(began),
        };
        Moment {
            at,
            others_ns: cpu.others.0,
            stolen_ns: cpu.stolen.0,
            probes: self.counts.probes.load(),
            probes_ns: self.counts.ns.load() + so_far,
        }
    }

    /// Ends the probe and removes its file.
    pub(crate) fn end(self, session: &Session) -> Result<(), Stop> {
        self.stop.raise(session);
        // Of its thread's panic the panic hook has told.
        let _ = self.thread.join(session);
        Ok(self.disk.remove(&self.path, session)?)
    }
}

impl Moment {
    /// What happened from here to `end`.
    pub(crate) fn until(&self, end: &Moment, session: &Session) -> Surroundings {
        Surroundings {
            elapsed_ns: end.at.since(self.at).0,
            cpus: session.os().cpu_count(),
            others_ns: end.others_ns.saturating_sub(self.others_ns),
            stolen_ns: end.stolen_ns.saturating_sub(self.stolen_ns),
            probes: end.probes - self.probes,
            probes_ns: end.probes_ns.saturating_sub(self.probes_ns),
        }
    }
}

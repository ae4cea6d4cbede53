//! What happens beside a load: CPU that others and a hypervisor take, and a probe of the device.
//!
//! The probe writes 4 KiB durably to a file of its own, and again after a pause. The pause is three
//! times as long as such a write took before the load began, and a millisecond at least: so the
//! probe asks for a quarter of an idle device's time at most, and does so whatever the setting is.
//! (With pauses of 4 ms it took 23 % of the variance of blocks of 0.1 s, with 1 ms 51 %.)
//!
//! Callers: both ways of running.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use experiment::Surroundings;
use latch::{Guess, SharedFlag};
use os::linux::machine::{CpuTimes, context_switches, cpu_times};
use os::{Disk, Error, File, FileOperation, FileOptions, IoBuf, Session, ThreadHandle, ThreadSpec};
use stop::Stop;
use waits::{Nanos, SessionKind, Timestamp, WaitEvent};

/// The name of the probe's thread, whose time isn't the instance's.
pub(crate) const PROBE: &str = "lab_probe";
/// The probe's file.
pub(crate) const PROBE_FILE: &str = "lab_probe";
/// From the end of a probe to the begin of the next: so many times its usual length, within bounds.
const PAUSE_TIMES: u64 = 3;
const PAUSE_MIN: Nanos = Nanos::from_millis(1);
const PAUSE_MAX: Nanos = Nanos::from_millis(100);
/// The probes before the load, of which the middle one is the usual one.
const FIRST: usize = 5;
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
    /// The time in which probes were on their way, in one word: so nobody sees it halfway between
    /// two of them. If one is on its way, it is what must be subtracted from the time of day.
    ns: Guess,
}

/// In [`Counts::ns`]: a probe is on its way.
const ON_ITS_WAY: u64 = 1 << 63;

impl Counts {
    /// The probe's thread begins one.
    fn begin(&self, now: Timestamp) {
        self.ns.store((now.as_nanos() - self.ns.load()) | ON_ITS_WAY);
    }

    /// The probe's thread has ended one.
    fn end(&self, now: Timestamp) {
        self.ns.store(self.ns_until(now));
        self.probes.store(self.probes.load() + 1);
    }

    /// The time in which one was on its way.
    fn ns_until(&self, now: Timestamp) -> u64 {
        match self.ns.load() {
            // It may have begun since `now` was read.
            ns if ns & ON_ITS_WAY != 0 => now.as_nanos().saturating_sub(ns & !ON_ITS_WAY),
            ns => ns,
        }
    }
}

/// What had happened up to a moment.
#[derive(Clone, Copy)]
pub(crate) struct Moment {
    at: Timestamp,
    cpus: u32,
    own_ns: u64,
    others_ns: u64,
    stolen_ns: u64,
    probes: u64,
    probes_ns: u64,
    switches: u64,
}

impl Watcher {
    /// Begins, with the probe's file in this directory.
    pub(crate) fn begin(disk: &Disk, directory: &Path, session: &Session) -> Result<Watcher, Stop> {
        let path = directory.join(PROBE_FILE);
        let options = FileOptions { direct: true, write_through: true };
        let file = disk.create(&path, BLOCKS * BYTES as u64, options, session)?;
        let mut probe = Probe { file, buffer: IoBuf::zeroed(BYTES), block: 0 };
        let pause = probe.pause(session)?;
        let (counts, stop) = (Arc::new(Counts::default()), Arc::new(SharedFlag::new(false)));
        let (probe_counts, told) = (Arc::clone(&counts), Arc::clone(&stop));
        let body = move |session: &Session| {
            while !told.is_raised(session) {
                session.pause(pause, session.waiting(WaitEvent::PlSqlLockTimer));
                probe_counts.begin(session.now());
                // A device that fails ends the load too, and that says so.
                let Ok(()) = probe.write(session) else { return };
                probe_counts.end(session.now());
            }
        };
        let spec = ThreadSpec { name: PROBE.to_owned(), kind: SessionKind::Background };
        let thread = session.spawn(spec, body)?;
        Ok(Watcher { counts, stop, thread, disk: disk.clone(), path })
    }

    /// What has happened up to now.
    pub(crate) fn moment(&self, session: &Session) -> Moment {
        let (cpu, switches) = match session.os().clock().is_virtual() {
            true => (CpuTimes::default(), 0),
            false => (cpu_times(), context_switches()),
        };
        let at = session.now();
        Moment {
            at,
            cpus: cpu.cpus,
            own_ns: cpu.own.0,
            others_ns: cpu.others.0,
            stolen_ns: cpu.stolen.0,
            probes: self.counts.probes.load(),
            probes_ns: self.counts.ns_until(at),
            switches,
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

/// The file, and where it is written next.
struct Probe {
    file: File,
    buffer: IoBuf,
    block: u64,
}

impl Probe {
    /// Writes once.
    fn write(&mut self, session: &Session) -> Result<(), Error> {
        let waiting = FileOperation::Fill.waiting(session);
        self.file.write_at(self.block * BYTES as u64, &self.buffer, waiting)?;
        self.block = (self.block + 1) % BLOCKS;
        Ok(())
    }

    /// The pause between two writes, by a few of them.
    fn pause(&mut self, session: &Session) -> Result<Nanos, Error> {
        let mut took = [Nanos::ZERO; FIRST];
        for took in &mut took {
            let began = session.now();
            self.write(session)?;
            *took = session.now().since(began);
        }
        took.sort_unstable();
        Ok(Nanos(took[FIRST / 2].0 * PAUSE_TIMES).clamp(PAUSE_MIN, PAUSE_MAX))
    }
}

impl Moment {
    /// What happened from here to `end`.
    pub(crate) fn until(&self, end: &Moment) -> Surroundings {
        Surroundings {
            elapsed_ns: end.at.since(self.at).0,
            cpus: end.cpus,
            own_ns: end.own_ns.saturating_sub(self.own_ns),
            others_ns: end.others_ns.saturating_sub(self.others_ns),
            stolen_ns: end.stolen_ns.saturating_sub(self.stolen_ns),
            probes: end.probes - self.probes,
            probes_ns: end.probes_ns.saturating_sub(self.probes_ns),
            switches: end.switches.saturating_sub(self.switches),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_counts_while_it_is_on_its_way_and_once() {
        let counts = Counts::default();
        let at = |ns: u64| Timestamp::ZERO.after(Nanos(ns));
        counts.begin(at(100));
        assert_eq!([counts.ns_until(at(90)), counts.ns_until(at(130))], [0, 30]);
        counts.end(at(150));
        assert_eq!([counts.ns_until(at(150)), counts.ns_until(at(170))], [50, 50]);
        counts.begin(at(200));
        assert_eq!(counts.ns_until(at(210)), 60);
        counts.end(at(220));
        assert_eq!((counts.ns_until(at(900)), counts.probes.load()), (70, 2));
    }
}

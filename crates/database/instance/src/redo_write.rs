//! The way in which an opening makes redo durable, and what is known of such a write: as the
//! parameters say, as an earlier opening has found it, or by a probe of the disk.
//!
//! ```text
//!   redo_write is set ──────────────────────────────▶ that way, untried
//!   probed ─▶ kept in the control file, and it counts ─▶ what was found
//!                │ else
//!                └─▶ probe ──▶ what is found, kept
//!                      └─(its file can't be made)──▶ a default, untried, not kept
//! ```
//!
//! Rule IN53 says what counts. The probe takes longer than all else that opens a small database.
//!
//! Callers: `mount`.

use std::path::Path;

use os::probe::{AtOnce, DurableWrite, ProbeConfig, WRITES_AT_ONCE, durable_writes};
use os::{Cause, Disk, Error, FileOptions, RingBackend, RingConfig, Session};
use space::Probed;
use stop::Stop;
use waits::Nanos;

use crate::Parameters;
use crate::create::file_options;

/// Long enough to tell ways of a durable write apart that differ much.
const PROBE: ProbeConfig = ProbeConfig { rounds_min: 16, length: Nanos::from_millis(20) };

/// What the probe does; another number once it does something else, or its result means something
/// else.
const PROBE_VERSION: u32 = 1;

/// How redo is written, and what is known of such a write.
pub(crate) struct RedoWrite {
    pub(crate) way: DurableWrite,
    /// The time that it takes.
    pub(crate) takes: Option<Nanos>,
    /// What several at once take.
    at_once: Option<AtOnce>,
    /// What this opening has found, for later ones.
    pub(crate) found: Option<Probed>,
}

impl RedoWrite {
    /// As the parameters say, or as the disk is found. `kept` is what the control file has.
    pub(crate) fn choose(
        disk: &Disk,
        directory: &Path,
        parameters: &Parameters,
        kept: Option<Probed>,
        session: &Session,
    ) -> Result<RedoWrite, Stop> {
        if let Some(way) = parameters.redo_write {
            return Ok(RedoWrite::untried(way));
        }
        let surroundings = surroundings(disk, directory);
        let now = session.os().calendar_us();
        let kept = kept.filter(|kept| {
            Some(kept.surroundings) == surroundings
                && is_young(kept.at_us, now, parameters.redo_probe_retention)
                && has_ring(disk, session) == kept.at_once.is_some()
        });
        if let Some(Probed { way, takes, at_once, .. }) = kept {
            return Ok(RedoWrite { way, takes: Some(takes), at_once, found: None });
        }
        let options = file_options(parameters);
        let mut probed = RedoWrite::probe(disk, directory, options, session)?;
        if let (Some(surroundings), Some(takes)) = (surroundings, probed.takes) {
            let RedoWrite { way, at_once, .. } = probed;
            probed.found = Some(Probed { surroundings, at_us: now, way, takes, at_once });
        }
        Ok(probed)
    }

    /// The most writes in flight where the parameter leaves that open (IN39).
    pub(crate) fn in_flight(&self, parameters: &Parameters) -> u32 {
        match (parameters.log_writes_in_flight, self.at_once) {
            (0, Some(at_once)) if at_once.is_worth_it() => {
                WRITES_AT_ONCE.min(parameters.log_buffer_parts().saturating_sub(1)).max(1)
            }
            (0, _) => 1,
            (most, _) => most,
        }
    }

    fn untried(way: DurableWrite) -> RedoWrite {
        RedoWrite { way, takes: None, at_once: None, found: None }
    }

    /// The fastest way to make a write of redo durable, and the time that such a write takes. Where
    /// the probe's file can't be made, on a full disk or for want of a right to write in the
    /// directory, a default is taken, and the database opens.
    fn probe(
        disk: &Disk,
        directory: &Path,
        options: FileOptions,
        session: &Session,
    ) -> Result<RedoWrite, Stop> {
        match durable_writes(disk, directory, session, &PROBE) {
            Ok(report) => {
                let picked = report.timings.iter().find(|timing| timing.way == report.pick);
                let takes = picked.map(|timing| timing.median);
                let (way, at_once) = (report.pick, report.at_once);
                Ok(RedoWrite { takes, at_once, ..RedoWrite::untried(way) })
            }
            Err(error) if is_of_probe_file(&error) => {
                // Where direct I/O is chosen, data files are opened with it already.
                let way = match options.direct {
                    true => DurableWrite::DirectThenSync,
                    false => DurableWrite::BufferedThenSync,
                };
                session.os().notice(&format!(
                    "redo is written with \"{way}\", which may not be the fastest way here, \
                     because the ways couldn't be compared: {error}"
                ));
                Ok(RedoWrite::untried(way))
            }
            Err(error) => Err(Stop::from(error)),
        }
    }
}

/// Whether a probe fails with this error only because its own file can't be made.
fn is_of_probe_file(error: &Error) -> bool {
    matches!(error.cause(), Cause::NoSpace | Cause::FileTooLarge | Cause::PermissionDenied)
}

/// What the result of a probe depends on, as the control file knows it; `None` where nobody can
/// tell.
fn surroundings(disk: &Disk, directory: &Path) -> Option<u64> {
    let text = disk.surroundings(directory)?;
    Some(Probed::hash_of_surroundings(&format!("probe {PROBE_VERSION}; {text}")))
}

/// Whether what was found at this moment counts still. A clock that was set back makes it too old.
fn is_young(at_us: u64, now_us: u64, retention_secs: u32) -> bool {
    let age = now_us.checked_sub(at_us);
    age.is_some_and(|age| age < u64::from(retention_secs) * 1_000_000)
}

/// Whether this process can have a ring, without which several writes at once couldn't be timed.
/// The system may allow one program what it forbids another.
fn has_ring(disk: &Disk, session: &Session) -> bool {
    let backend = RingBackend::Native;
    disk.ring(&RingConfig { backend, ..RingConfig::new(WRITES_AT_ONCE) }, session).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_counts_until_it_is_too_old() {
        let at = 5_000_000;
        assert!(is_young(at, at, 1) && is_young(at, at + 999_999, 1));
        assert!(!is_young(at, at + 1_000_000, 1));
        assert!(!is_young(at, at, 0), "0 probes at each opening");
        assert!(!is_young(at, at - 1, 1), "the clock was set back");
        assert!(is_young(0, u64::from(u32::MAX) * 1_000_000 - 1, u32::MAX));
    }
}

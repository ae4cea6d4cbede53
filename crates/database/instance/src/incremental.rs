//! The incremental checkpoint: how far behind the end of the redo it may be.
//!
//! Three parameters bound the work of a recovery, each in its own unit, and the tightest counts:
//!
//! * `log_checkpoint_interval`: the most redo blocks between checkpoint and end;
//! * `log_checkpoint_timeout`: the age in seconds of the oldest redo behind the checkpoint;
//! * `fast_start_mttr_target`: the estimated seconds of a recovery.
//!
//! The estimate counts redo to be read, and blocks to be read, changed and written again, each at
//! the pace at which this instance has read and written. Recovery reads many blocks at once, in the
//! order in which they lie, so a block takes a part of the time that a read by itself takes. While
//! nothing was read or written, the pace follows from the time of a durable write, as probed.
//!
//! Distances between redo addresses are counted as if every log were full to its end, and as long
//! as the largest. A log that was switched early or is smaller makes distances too long, so bounds
//! are kept.
//!
//! Callers: the checkpoint process.

use std::collections::VecDeque;

use ids::Rba;
use recovery::Recovered;
use waits::{Nanos, Statistic, Timestamp, Totals, WaitEvent};

use crate::Parameters;

/// The time of recovery for a redo block, apart from the blocks that it names: 100 MB a second.
const REDO_BLOCK: Nanos = Nanos::from_micros(40);
const REDO_BLOCK_BYTES: u64 = format::REDO_BLOCK.bytes() as u64;
/// The time of a durable write if none was timed.
const DURABLE_WRITE_UNKNOWN: Nanos = Nanos::from_millis(1);
/// Recovery reads a block, and writes one, in this part of the time that a durable write takes by
/// itself: there are many at once.
const OF_DURABLE_WRITE: u64 = 8;
/// Recovery reads a block in this part of the time that a session waits for one.
const OF_SINGLE_READ: u64 = 8;
/// A mean is known from this many reads or writes on.
const KNOWN_FROM: u64 = 100;
/// The most past positions of the end of the redo that are remembered.
const HISTORY_MAX: usize = 128;

/// The time that recovery takes for each redo block, and for each dirty block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pace {
    redo_block: Nanos,
    block: Nanos,
}

impl Pace {
    /// The pace on a device on which a durable write takes this long, while nothing else is known.
    pub(crate) fn assumed(durable_write: Option<Nanos>) -> Pace {
        let takes = durable_write.unwrap_or(DURABLE_WRITE_UNKNOWN);
        Pace { redo_block: REDO_BLOCK, block: Nanos(2 * takes.0 / OF_DURABLE_WRITE) }
    }

    /// The pace at which this instance has read and written so far; as far as that isn't known,
    /// this one.
    pub(crate) fn measured(self, totals: &Totals) -> Pace {
        let unknown = Nanos(self.block.0 / 2);
        let reads = totals.event(WaitEvent::DbFileSequentialRead);
        let read = mean(reads.total, reads.count).map(|mean| Nanos(mean.0 / OF_SINGLE_READ));
        let written = totals.statistic(Statistic::PhysicalWrites);
        let write = mean(totals.event(WaitEvent::DbFileParallelWrite).total, written);
        let block = Nanos(read.unwrap_or(unknown).0 + write.unwrap_or(unknown).0);
        Pace { redo_block: REDO_BLOCK, block }
    }

    /// The time of a recovery of this much.
    pub(crate) fn estimate(&self, redo_blocks: u64, dirty: u64) -> Nanos {
        let redo = self.redo_block.0.saturating_mul(redo_blocks);
        Nanos(self.block.0.saturating_mul(dirty).saturating_add(redo))
    }

    /// The time that this recovery should have taken.
    pub(crate) fn of_recovered(&self, recovered: &Recovered) -> Nanos {
        self.estimate(recovered.bytes.div_ceil(REDO_BLOCK_BYTES), recovered.brought)
    }
}

fn mean(total: Nanos, count: u64) -> Option<Nanos> {
    (count >= KNOWN_FROM).then(|| Nanos(total.0 / count))
}

/// The work that a recovery would have at a moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RecoveryWork {
    /// The moment.
    pub(crate) now: Timestamp,
    /// The end of the redo.
    pub(crate) end: Rba,
    /// The checkpoint in the control file.
    pub(crate) checkpoint: Rba,
    /// Dirty blocks in the cache.
    pub(crate) dirty: u64,
}

/// The bounds; zero means no bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bounds {
    interval: u64,
    timeout: Nanos,
    mttr: Nanos,
}

impl Bounds {
    pub(crate) fn of(parameters: &Parameters) -> Bounds {
        Bounds {
            interval: parameters.log_checkpoint_interval.into(),
            timeout: Nanos::from_secs(parameters.log_checkpoint_timeout.into()),
            mttr: Nanos::from_secs(parameters.fast_start_mttr_target.into()),
        }
    }

    /// Whether the process wakes more often than at heartbeats.
    pub(crate) fn are_close(&self) -> bool {
        self.interval > 0 || self.mttr > Nanos::ZERO
    }

    /// Whether estimates are wanted.
    pub(crate) fn need_estimates(&self) -> bool {
        self.mttr > Nanos::ZERO
    }
}

/// The bounds, and the history that is needed to keep them.
pub(crate) struct Incremental {
    bounds: Bounds,
    log_blocks: u64,
    /// Past positions of the end of the redo with their times, the oldest first.
    history: VecDeque<(Timestamp, u64)>,
}

impl Incremental {
    pub(crate) fn new(bounds: Bounds, log_blocks: u32) -> Incremental {
        Incremental { bounds, log_blocks: log_blocks.into(), history: VecDeque::new() }
    }

    /// Takes new bounds.
    pub(crate) fn bind(&mut self, bounds: Bounds) {
        if bounds.timeout != self.bounds.timeout {
            // The intervals of the history follow from the timeout.
            self.history.clear();
        }
        self.bounds = bounds;
    }

    /// Takes a new size of the largest log, in blocks.
    pub(crate) fn rescale(&mut self, log_blocks: u32) {
        if self.log_blocks != u64::from(log_blocks) {
            self.log_blocks = log_blocks.into();
            // Its distances are counted in the old size.
            self.history.clear();
        }
    }

    /// The redo address through which blocks are to be written now; `None` without a bound.
    pub(crate) fn target(&mut self, behind: RecoveryWork, pace: Pace) -> Option<Rba> {
        let end = self.distance(behind.end);
        let by_interval =
            (self.bounds.interval > 0).then(|| end.saturating_sub(self.bounds.interval));
        let by_timeout = self.by_timeout(behind.now, end);
        let by_mttr = (self.bounds.mttr > Nanos::ZERO).then(|| self.by_mttr(behind, pace));
        let target = [by_interval, by_timeout, by_mttr].into_iter().flatten().max()?;
        Some(self.place(target))
    }

    /// The position that the end had a timeout ago.
    fn by_timeout(&mut self, now: Timestamp, end: u64) -> Option<u64> {
        if self.bounds.timeout == Nanos::ZERO {
            return None;
        }
        let apart = Nanos(self.bounds.timeout.0 / (HISTORY_MAX as u64 / 2));
        let is_due = self.history.back().is_none_or(|(seen, _)| now.since(*seen) >= apart);
        if is_due {
            self.history.push_back((now, end));
        }
        let mut target = None;
        while let Some(&(seen, place)) = self.history.front()
            && now.since(seen) >= self.bounds.timeout
        {
            target = Some(place);
            if self.history.len() == 1 || now.since(self.history[1].0) < self.bounds.timeout {
                break;
            }
            self.history.pop_front();
        }
        target
    }

    /// The position behind the end by as much as can be recovered in the time.
    fn by_mttr(&self, behind: RecoveryWork, pace: Pace) -> u64 {
        let (end, checkpoint) = (self.distance(behind.end), self.distance(behind.checkpoint));
        let lag = end.saturating_sub(checkpoint);
        let takes = pace.estimate(lag, behind.dirty).0.max(1);
        if takes <= self.bounds.mttr.0 {
            return checkpoint;
        }
        let allowed = u128::from(lag) * u128::from(self.bounds.mttr.0) / u128::from(takes);
        end.saturating_sub(u64::try_from(allowed).expect("less than the lag"))
    }

    /// The number of redo blocks from the first log on.
    pub(crate) fn distance(&self, place: Rba) -> u64 {
        u64::from(place.sequence) * self.log_blocks + u64::from(place.block)
    }

    fn place(&self, distance: u64) -> Rba {
        let sequence = u32::try_from(distance / self.log_blocks).expect("it was a redo address");
        let block = u32::try_from(distance % self.log_blocks).expect("below the blocks of a log");
        Rba::block(sequence, block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG_BLOCKS: u32 = 1_000;

    fn bounded(interval: u32, timeout: u32, mttr: u32) -> Incremental {
        let parameters = Parameters {
            log_checkpoint_interval: interval,
            log_checkpoint_timeout: timeout,
            fast_start_mttr_target: mttr,
            ..Parameters::default()
        };
        Incremental::new(Bounds::of(&parameters), LOG_BLOCKS)
    }

    fn behind(seconds: u64, end: (u32, u32), checkpoint: (u32, u32), dirty: u64) -> RecoveryWork {
        RecoveryWork {
            now: Timestamp::from_nanos(seconds * 1_000_000_000),
            end: Rba::block(end.0, end.1),
            checkpoint: Rba::block(checkpoint.0, checkpoint.1),
            dirty,
        }
    }

    const PACE: Pace = Pace { redo_block: Nanos::from_millis(1), block: Nanos::from_millis(10) };

    #[test]
    fn without_a_bound_nothing_is_asked() {
        assert_eq!(bounded(0, 0, 0).target(behind(9, (3, 400), (1, 1), 5), PACE), None);
    }

    /// The end less the interval, across logs.
    #[test]
    fn the_interval_counts_redo_blocks() {
        let mut bounds = bounded(500, 0, 0);
        let at = |end| behind(1, end, (1, 1), 0);
        assert_eq!(bounds.target(at((3, 400)), PACE), Some(Rba::block(2, 900)));
        assert_eq!(bounds.target(at((3, 500)), PACE), Some(Rba::block(3, 0)));
        assert_eq!(bounds.target(at((0, 400)), PACE), Some(Rba::block(0, 0)));
    }

    /// The position of the end a timeout ago is asked for, not before, and not much later.
    #[test]
    fn the_timeout_asks_for_where_the_end_was() {
        let mut bounds = bounded(0, 64, 0);
        for second in 0..300_u64 {
            let target = bounds.target(behind(second, (1, second as u32), (1, 0), 0), PACE);
            match second.checked_sub(64) {
                None => assert_eq!(target, None, "at second {second}"),
                Some(then) => {
                    let asked = target.expect("it is time").block;
                    assert!(u64::from(asked) <= then, "too much at second {second}: {asked}");
                    assert!(u64::from(asked) + 1 >= then, "late at second {second}: {asked}");
                }
            }
        }
        assert!(bounds.history.len() <= HISTORY_MAX);
    }

    /// 300 redo blocks and 270 dirty ones take three seconds: two seconds leave 200 redo blocks.
    #[test]
    fn the_recovery_target_leaves_what_can_be_done_in_the_time() {
        let at = behind(1, (2, 500), (2, 200), 270);
        assert_eq!(PACE.estimate(300, 270), Nanos::from_secs(3));
        assert_eq!(bounded(0, 0, 2).target(at, PACE), Some(Rba::block(2, 300)));
        assert_eq!(bounded(0, 0, 3).target(at, PACE), Some(Rba::block(2, 200)));
        // The tightest bound counts.
        assert_eq!(bounded(50, 0, 2).target(at, PACE), Some(Rba::block(2, 450)));
    }
}

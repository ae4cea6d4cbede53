//! Rolling forward: applying the changes of the redo in a cache.
//!
//! ```text
//!   survey:  read redo to its end      no writers: blocks change in their buffers only
//!              └─▶ batches ─▶ apply    as long as there are free ones (RC8)
//!   finish:  starts writers, applies the rest, writes and syncs everything
//! ```
//!
//! Caller: `recover`.

use std::path::Path;
use std::sync::Arc;

use cache::{Cache, CacheConfig};
use ids::{Dba, Rba};
use os::{Session, ThreadHandle, ThreadId};
use redo::{LogEnd, RecordPosition, RedoConfig};
use stop::{Halt, RefusalKind, Stop};
use waits::Timestamp;

use crate::ahead::{Ahead, ReadSummary};
use crate::apply::{Applier, Found};
use crate::batch_queue::{Batch, Next};
use crate::gate::ReplayGate;
use crate::progress::Progress;
use crate::recover::Layout;

/// Memory is touched for one in this many of the buffers beyond those that are wanted (RC9).
const TOUCHED_SHARE: u64 = 32;
/// Writers of recovery, if there is room for as many and no more are configured (RC22).
const WRITERS: u32 = 4;

/// A cache in which changes are applied.
pub(crate) struct Roll<'a> {
    layout: &'a Layout<'a>,
    halt: Halt,
    gate: Arc<ReplayGate>,
    cache: Arc<Cache>,
    applier: Arc<Applier>,
    done: Done,
    started: Timestamp,
}

/// What was done so far.
#[derive(Clone, Copy, Default)]
struct Done {
    records: u64,
    bytes: u64,
    brought: u64,
}

/// Buffers whose memory was never used, one for each huge page, and how far they were touched.
struct Untouched {
    frames: std::vec::IntoIter<u32>,
    pages: u64,
    buffers: u64,
}

/// The result of one reading of the redo.
pub(crate) struct RollPass {
    pub(crate) read: ReadSummary,
    /// Whether the changes that were handed on could be applied.
    pub(crate) applied: Result<(), Stop>,
}

impl<'a> Roll<'a> {
    pub(crate) fn open(
        layout: &'a Layout<'a>,
        from: Rba,
        session: &Session,
    ) -> Result<Roll<'a>, Stop> {
        let halt = Halt::new(session.os());
        let gate = Arc::new(ReplayGate::new(from));
        let as_gate: Arc<dyn cache::RedoGate> = gate.clone();
        let cache = Cache::open(
            session.os(),
            layout.disk.clone(),
            layout.files.clone(),
            layout.doublewrite.clone(),
            layout.cache.clone(),
            as_gate,
            halt.clone(),
            session,
        )?;
        let Layout { layers, failpoints, .. } = *layout;
        let applier = Applier::new(session.os(), &cache, layers, failpoints, &halt);
        let (applier, done, started) = (Arc::new(applier), Done::default(), session.now());
        Ok(Roll { layout, halt, gate, cache, applier, done, started })
    }

    /// Applies the rest of the redo, and writes everything. Returns when all was applied.
    pub(crate) fn finish(
        &mut self,
        redo: &RedoConfig,
        rest: Option<RecordPosition>,
        read: &ReadSummary,
        end: &LogEnd,
        session: &Session,
    ) -> Result<Timestamp, Stop> {
        let mut writers = Vec::new();
        let mut applied_at = session.now();
        let done = start_writers(&self.cache, &mut writers, session)
            .and_then(|()| match rest {
                Some(rest) => {
                    let pass = self.roll(redo, rest, Some(read.bytes), session);
                    pass.and_then(|pass| pass.applied)
                }
                None => Ok(()),
            })
            .and_then(|()| self.check_records(read.records))
            .and_then(|()| self.check_end(end, session))
            .and_then(|()| {
                applied_at = session.now();
                // Everything below the end has to be on disk, and nothing lies beyond it.
                let end = Rba::block(end.next_sequence(), 1);
                self.gate.move_to(end, session);
                self.cache.checkpoint(end, session)
            });
        self.cache.stop(session);
        for writer in writers {
            if writer.join(session).is_err() {
                self.halt.raise(format!("{} panicked", writer.name()), session);
            }
        }
        done.and_then(|()| self.halt.check(session))?;
        Ok(applied_at)
    }

    /// Reads the redo from here on, and applies it as it comes. `of` is the number of its bytes,
    /// which is known but in the survey. An error if the redo couldn't be read.
    pub(crate) fn roll(
        &mut self,
        redo: &RedoConfig,
        from: RecordPosition,
        of: Option<u64>,
        session: &Session,
    ) -> Result<RollPass, Stop> {
        let (disk, is_first) = (self.layout.disk, of.is_none());
        let ahead = Ahead::new(session.os(), disk, redo, from, &self.cache, is_first, &self.halt);
        let ahead = Arc::new(ahead);
        let process = ahead.start(session)?;
        // `progress` may panic. Then the processes end, and the files are let go.
        let halt = self.halt.clone();
        let guard = halt.guard("recovery panicked", session);
        let helper = self.applier.start(session);
        let mut untouched = Untouched::of(&self.cache, process.id(), session);
        let applied = self.apply_all(&ahead, of, &mut untouched, session);
        guard.disarm();
        let applied = applied.and_then(|()| self.check_usable(session));
        ahead.queue.close(session);
        self.applier.end(session);
        // A panic of a process has raised the halt already.
        for process in [Some(process), helper].into_iter().flatten() {
            let _ = process.join(session);
        }
        self.halt.check(session)?;
        ahead.queue.how_it_ended(session)?;
        self.done.brought += ahead.brought.load(session);
        Ok(RollPass { read: ahead.summary(session), applied })
    }

    fn apply_all(
        &mut self,
        ahead: &Ahead,
        of: Option<u64>,
        untouched: &mut Untouched,
        session: &Session,
    ) -> Result<(), Stop> {
        let (queue, mut wanted) = (&ahead.queue, 0);
        loop {
            while queue.is_empty(session)
                && let Some(frame) = untouched.next_for(wanted)
            {
                self.cache.touch(frame, session);
            }
            let batch = match queue.take(wanted, session)? {
                Next::Apply(batch) => batch,
                Next::Touch(buffers) => {
                    wanted = buffers;
                    continue;
                }
                Next::End => return Ok(()),
            };
            queue.give_back(self.apply(batch, session)?, session);
            let elapsed = session.now().since(self.started);
            (self.layout.progress)(Progress { applied: self.done.bytes, of, elapsed });
        }
    }

    /// Applies a batch, and returns it.
    fn apply(&mut self, batch: Batch, session: &Session) -> Result<Batch, Stop> {
        // RC7: this position is below all changes of the batch.
        let first = batch.records.first().expect("a batch has records");
        self.gate.move_to(first.rba, session);
        let applied = self.applier.apply(batch, session);
        let batch = applied.map_err(|(block, stop)| match (block, stop.refusal()) {
            // A change that doesn't fit the block knows no file.
            (Some(block), Some(RefusalKind::Corrupt)) => {
                stop.saying(&format!("the block is one of {}", self.path_of(block).display()))
            }
            _ => stop,
        })?;
        self.done.records += batch.records.count() as u64;
        self.done.bytes += batch.records.bytes() as u64;
        Ok(batch)
    }

    fn check_usable(&self, session: &Session) -> Result<(), Stop> {
        let unusable = self.applier.found(session).unusable;
        unusable.into_values().next().map_or(Ok(()), Err)
    }

    /// What was applied, and what was found, so far.
    pub(crate) fn found(&self, session: &Session) -> Found {
        self.applier.found(session)
    }

    /// The number of blocks that the reader process brought.
    pub(crate) fn brought(&self) -> u64 {
        self.done.brought
    }

    /// Refuses if a block has later changes than the redo: a block comes to disk after the redo of
    /// its changes, so redo is missing (RC11).
    pub(crate) fn check_end(&self, end: &LogEnd, session: &Session) -> Result<(), Stop> {
        let Some((scn, block)) = self.applier.found(session).latest else { return Ok(()) };
        end.check_reaches(block, self.path_of(block), scn)
    }

    /// The path of the data file that has this block.
    fn path_of(&self, block: Dba) -> &Path {
        let file = self.layout.files.iter().find(|file| file.number == block.file);
        file.map_or(Path::new(""), |file| file.file.path())
    }

    fn check_records(&self, found: u64) -> Result<(), Stop> {
        let applied = self.done.records;
        if applied == found {
            return Ok(());
        }
        let message = format!(
            "cannot recover the database in {}: the redo had {found} records when it was read \
             first, and {applied} now; look at the kernel's log and at the device of the redo \
             logs, and try again",
            self.layout.directory.display()
        );
        Err(Stop::refuse(RefusalKind::Corrupt, message))
    }
}

impl Untouched {
    /// The buffers in the order in which this thread is going to take them.
    fn of(cache: &Cache, thread: ThreadId, session: &Session) -> Untouched {
        let frames = cache.untouched(thread, session).into_iter();
        let buffers = cache.buffers(cache.block_size(), session).into();
        Untouched { pages: frames.len() as u64, frames, buffers }
    }

    /// The next buffer to touch, if the process that takes `wanted` buffers is going to need it
    /// soon.
    fn next_for(&mut self, wanted: u64) -> Option<u32> {
        let touched = self.pages - self.frames.len() as u64;
        let soon = wanted + self.buffers / TOUCHED_SHARE;
        (touched * self.buffers < soon * self.pages).then(|| self.frames.next()).flatten()
    }
}

/// Starts the writers. Those that were started are in `writers` also on an error, to be ended. It
/// is none if only those can't be started that aren't configured (RC22).
fn start_writers(
    cache: &Arc<Cache>,
    writers: &mut Vec<ThreadHandle>,
    session: &Session,
) -> Result<(), Stop> {
    let CacheConfig { writers: configured, writers_max, .. } = *cache.config();
    for number in 0..WRITERS.clamp(configured, writers_max) {
        if number >= configured {
            cache.set_writers(number + 1, session);
        }
        match cache.start_writer(number, session) {
            Ok(writer) => writers.push(writer),
            Err(stop) if number >= configured && stop.refusal().is_some() => {
                session.os().notice(&format!("recovery goes on with {number} writers: {stop}"));
                cache.set_writers(number, session);
                break;
            }
            Err(stop) => return Err(stop),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Memory is touched in order, for the buffers that are wanted and some more, and not all at
    /// once (RC9).
    #[test]
    fn memory_is_touched_some_way_ahead() {
        let frames: Vec<u32> = (0..64).map(|page| 256 * page).collect();
        let mut untouched =
            Untouched { frames: frames.clone().into_iter(), pages: 64, buffers: 64 * 256 };
        let mut touched =
            |wanted| -> Vec<u32> { std::iter::from_fn(|| untouched.next_for(wanted)).collect() };
        assert_eq!(touched(0), frames[..2]);
        assert_eq!(touched(256), frames[2..3]);
        assert_eq!(touched(64 * 256), frames[3..]);
    }
}

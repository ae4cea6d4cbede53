//! Rolling forward: applying the changes of the redo in a cache.
//!
//! ```text
//!   survey:  read redo to its end      no writers: blocks change in their buffers only
//!              └─▶ batches ─▶ apply    as long as there are free ones (RC8)
//!   finish:  starts writers, applies the rest, writes and syncs everything
//! ```
//!
//! Caller: `recover`.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use cache::{Cache, CacheConfig};
use change::replay;
use ids::{Dba, Rba, Scn};
use os::{Session, ThreadHandle, ThreadId};
use redo::{LogEnd, RecordPosition, RedoConfig};
use stop::{Halt, RefusalKind, Stop};
use waits::Timestamp;

use crate::ahead::{Ahead, ReadSummary};
use crate::batch_queue::Batch;
use crate::gate::ReplayGate;
use crate::progress::Progress;
use crate::recover::Layout;

/// Memory is touched ahead for one in this many of the buffers (RC9).
const TOUCHED_SHARE: u64 = 4;

/// A cache in which changes are applied.
pub(crate) struct Roll<'a> {
    layout: &'a Layout<'a>,
    halt: Halt,
    gate: Arc<ReplayGate>,
    cache: Arc<Cache>,
    pub(crate) done: Done,
    /// Unusable blocks that no change has made anew so far (RC10).
    unusable: BTreeMap<Dba, Stop>,
    /// The highest SCN of a block's last change, and that block.
    latest: (Scn, Dba),
    started: Timestamp,
}

/// What was applied so far.
#[derive(Clone, Copy, Default)]
pub(crate) struct Done {
    records: u64,
    bytes: u64,
    /// Changes that were applied.
    pub(crate) applied: u64,
    /// Changes that their blocks had already.
    pub(crate) skipped: u64,
    /// Blocks that the reader process brought.
    pub(crate) brought: u64,
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
        let (done, started) = (Done::default(), session.now());
        let (unusable, latest) = (BTreeMap::new(), (Scn::ZERO, Dba::new(0, 0)));
        Ok(Roll { layout, halt, gate, cache, done, unusable, latest, started })
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
        let config = &self.layout.cache;
        let done = start_writers(&self.cache, config, &mut writers, session)
            .and_then(|()| match rest {
                Some(rest) => {
                    let pass = self.roll(redo, rest, Some(read.bytes), session);
                    pass.and_then(|pass| pass.applied)
                }
                None => Ok(()),
            })
            .and_then(|()| self.check_records(read.records))
            .and_then(|()| self.check_end(end))
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
        let process = ahead.start(&self.halt, session)?;
        let mut untouched = Untouched::of(&self.cache, process.id(), session);
        // `progress` may panic. Then the processes end, and the files are let go.
        let halt = self.halt.clone();
        let guard = halt.guard("recovery panicked", session);
        let applied = self.apply_all(&ahead, of, &mut untouched, session);
        guard.disarm();
        let applied = applied.and_then(|()| self.check_usable());
        ahead.queue.close(session);
        // A panic of the process has raised the halt already.
        let _ = process.join(session);
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
        let queue = &ahead.queue;
        loop {
            while queue.is_empty(session)
                && let Some(frame) = untouched.next_for(ahead.brought.load(session))
            {
                self.cache.touch(frame, session);
            }
            let Some(batch) = queue.take(session)? else { return Ok(()) };
            self.apply(&batch, session)?;
            queue.give_back(batch, session);
            let elapsed = session.now().since(self.started);
            (self.layout.progress)(Progress { applied: self.done.bytes, of, elapsed });
        }
    }

    fn apply(&mut self, batch: &Batch, session: &Session) -> Result<(), Stop> {
        let Layout { layers, failpoints, .. } = *self.layout;
        // RC7: this position is below all changes of the batch.
        let first = batch.records.first().expect("a batch has records");
        self.gate.move_to(first.rba, session);
        for (block, changes) in batch.records.by_block() {
            let replayed = replay(block, changes, layers, &self.cache, failpoints, session);
            let replayed = replayed.map_err(|stop| match stop.refusal() {
                // A change that doesn't fit the block knows no file.
                Some(RefusalKind::Corrupt) => {
                    stop.saying(&format!("the block is one of {}", self.path_of(block).display()))
                }
                _ => stop,
            })?;
            self.done.applied += replayed.applied;
            self.done.skipped += replayed.skipped;
            self.latest = self.latest.max((replayed.changed, block));
            match replayed.unusable {
                Some(stop) => _ = self.unusable.insert(block, stop),
                None => _ = self.unusable.remove(&block),
            }
        }
        self.done.records += batch.records.count() as u64;
        self.done.bytes += batch.records.bytes() as u64;
        Ok(())
    }

    fn check_usable(&self) -> Result<(), Stop> {
        self.unusable.values().next().map_or(Ok(()), |stop| Err(stop.clone()))
    }

    /// Refuses if a block has later changes than the redo: a block comes to disk after the redo of
    /// its changes, so redo is missing (RC11).
    pub(crate) fn check_end(&self, end: &LogEnd) -> Result<(), Stop> {
        let (scn, block) = self.latest;
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

    /// The next buffer to touch, if the process that has taken `taken` buffers is going to need it
    /// soon.
    fn next_for(&mut self, taken: u64) -> Option<u32> {
        let touched = self.pages - self.frames.len() as u64;
        let soon = taken + self.buffers / TOUCHED_SHARE;
        (touched * self.buffers < soon * self.pages).then(|| self.frames.next()).flatten()
    }
}

/// Starts the writers. Those that were started are in `writers` also on an error, to be ended.
fn start_writers(
    cache: &Arc<Cache>,
    config: &CacheConfig,
    writers: &mut Vec<ThreadHandle>,
    session: &Session,
) -> Result<(), Stop> {
    for number in 0..config.writers {
        writers.push(cache.start_writer(number, session)?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Memory is touched in order, a quarter of the buffers ahead, and not all at once (RC9).
    #[test]
    fn memory_is_touched_some_way_ahead() {
        let frames: Vec<u32> = (0..16).map(|page| 256 * page).collect();
        let mut untouched =
            Untouched { frames: frames.clone().into_iter(), pages: 16, buffers: 16 * 256 };
        let mut touched =
            |taken| -> Vec<u32> { std::iter::from_fn(|| untouched.next_for(taken)).collect() };
        assert_eq!(touched(0), frames[..4]);
        assert_eq!(touched(256), frames[4..5]);
        assert_eq!(touched(16 * 256), frames[5..]);
    }
}

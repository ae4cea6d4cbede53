//! Rolling forward: the changes of the redo are done again in a cache.
//!
//! ```text
//!   survey:  read redo to its end      no writers: blocks change in their buffers only
//!              └─▶ batches ─▶ apply    as long as there are free ones (RC8)
//!   finish:  writers, the rest of the batches, everything written and synced
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
use redo::{LogEnd, RedoConfig};
use stop::{Halt, RefusalKind, Stop};
use waits::Timestamp;

use crate::ahead::{Ahead, Found, Start};
use crate::gate::ReplayGate;
use crate::line::Batch;
use crate::progress::Progress;
use crate::recover::Layout;

/// Memory is touched before it is taken for so large a share of the buffers: one in ... (RC9)
const TOUCHED_SHARE: u64 = 4;

/// A cache in which changes are done again.
pub(crate) struct Roll<'a> {
    layout: &'a Layout<'a>,
    halt: Halt,
    gate: Arc<ReplayGate>,
    cache: Arc<Cache>,
    pub(crate) done: Done,
    /// Blocks that can't be used and that no change so far has made anew (RC10).
    unusable: BTreeMap<Dba, Stop>,
    /// The block whose last change has the highest SCN, and that.
    latest: (Scn, Dba),
    started: Timestamp,
}

/// What was done again so far.
#[derive(Clone, Copy, Default)]
pub(crate) struct Done {
    records: u64,
    bytes: u64,
    /// Changes that blocks hadn't got.
    pub(crate) applied: u64,
    /// Changes that they had.
    pub(crate) skipped: u64,
    /// Blocks that were brought into the cache before.
    pub(crate) brought: u64,
}

/// Buffers whose memory nobody has used yet, one for each huge page, and how far they were touched.
struct Untouched {
    frames: std::vec::IntoIter<u32>,
    pages: u64,
    buffers: u64,
}

/// What is known when the redo was read once.
pub(crate) struct Surveyed {
    pub(crate) found: Found,
    /// Where the redo ends, and since when that is known.
    pub(crate) end: (LogEnd, Timestamp),
    /// Whether what was applied could be.
    pub(crate) rolled: Result<(), Stop>,
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

    /// Reads all of the redo, and applies of it what free buffers hold. Nothing is written.
    pub(crate) fn survey(
        &mut self,
        redo: &RedoConfig,
        from: Start,
        session: &Session,
    ) -> Result<Surveyed, Stop> {
        let (rolled, found) = self.roll((redo, from), None, session)?;
        let end = found.end.expect("a reader without a next record knows its end");
        Ok(Surveyed { found, end, rolled })
    }

    /// Applies what is left of the redo, and writes everything. When all was applied.
    pub(crate) fn finish(
        &mut self,
        (redo, rest): (&RedoConfig, Option<Start>),
        (found, end): (&Found, &LogEnd),
        session: &Session,
    ) -> Result<Timestamp, Stop> {
        let mut writers = Vec::new();
        let mut applied_at = session.now();
        let config = &self.layout.cache;
        let done = start_writers(&self.cache, config, &mut writers, session)
            .and_then(|()| match rest {
                Some(rest) => {
                    let rolled = self.roll((redo, rest), Some(found.bytes), session);
                    rolled.and_then(|(rolled, _)| rolled)
                }
                None => Ok(()),
            })
            .and_then(|()| self.check_records(found.records))
            .and_then(|()| self.check_end(end))
            .and_then(|()| {
                applied_at = session.now();
                // Everything below the end is to be on disk, and nothing lies beyond it.
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

    /// Reads redo from here, and applies it as it comes; `of` is how much there is of it, if that
    /// is known: then it isn't the first time. Whether it could be applied, and what was found; an
    /// error if it couldn't be read.
    fn roll(
        &mut self,
        (redo, from): (&RedoConfig, Start),
        of: Option<u64>,
        session: &Session,
    ) -> Result<(Result<(), Stop>, Found), Stop> {
        let place = (self.layout.disk, redo);
        let ahead = Ahead::new(session.os(), place, from, &self.cache, of.is_none(), &self.halt);
        let ahead = Arc::new(ahead);
        let process = ahead.start(&self.halt, session)?;
        let mut untouched = Untouched::of(&self.cache, process.id(), session);
        // Who is told of the progress may panic: then the processes end, and the files are let go.
        let guard = self.halt.guard("recovery panicked", session);
        let rolled = self.apply_all(&ahead, of, &mut untouched, session);
        guard.disarm();
        let rolled = rolled.and_then(|()| self.check_usable());
        ahead.line.close(session);
        // A panic has raised the halt already.
        let _ = process.join(session);
        self.halt.check(session)?;
        ahead.line.how_it_ended(session)?;
        let found = ahead.found(session);
        self.done.brought += ahead.brought.load(session);
        Ok((rolled, found))
    }

    fn apply_all(
        &mut self,
        ahead: &Ahead,
        of: Option<u64>,
        untouched: &mut Untouched,
        session: &Session,
    ) -> Result<(), Stop> {
        let line = &ahead.line;
        loop {
            while line.is_empty(session)
                && let Some(frame) = untouched.next_for(ahead.brought.load(session))
            {
                self.cache.touch(frame, session);
            }
            let Some(batch) = line.take(session)? else { return Ok(()) };
            self.apply(&batch, session)?;
            line.give_back(batch, session);
            let elapsed = session.now().since(self.started);
            (self.layout.progress)(Progress { applied: self.done.bytes, of, elapsed });
        }
    }

    fn apply(&mut self, batch: &Batch, session: &Session) -> Result<(), Stop> {
        let Layout { layers, failpoints, .. } = *self.layout;
        // RC7: below all of its changes.
        let (first, _) = batch.records.first().expect("a batch has records");
        self.gate.move_to(first, session);
        for (block, changes) in batch.records.by_block() {
            let replayed = replay(block, changes, layers, &self.cache, failpoints, session)?;
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

    /// A block comes to disk when the redo of its changes is durable: one that has later changes
    /// than the redo proves that redo is missing (RC11).
    pub(crate) fn check_end(&self, end: &LogEnd) -> Result<(), Stop> {
        let (scn, block) = self.latest;
        let file = self.layout.files.iter().find(|file| file.number == block.file);
        let path = file.map_or(Path::new(""), |file| file.file.path());
        end.check_reaches((block, path), scn)
    }

    fn check_records(&self, found: u64) -> Result<(), Stop> {
        let applied = self.done.records;
        if applied == found {
            return Ok(());
        }
        let message = format!(
            "cannot recover: the redo had {found} records when it was read first, and {applied} \
             now; check the device"
        );
        Err(Stop::refuse(RefusalKind::Corrupt, message))
    }
}

impl Untouched {
    /// In the order in which this thread is going to take them.
    fn of(cache: &Cache, thread: ThreadId, session: &Session) -> Untouched {
        let frames = cache.untouched(thread, session).into_iter();
        let buffers = cache.buffers(cache.block_size(), session).into();
        Untouched { pages: frames.len() as u64, frames, buffers }
    }

    /// The next one, if it is going to be needed soon by who has taken so many buffers.
    fn next_for(&mut self, taken: u64) -> Option<u32> {
        let touched = self.pages - self.frames.len() as u64;
        let soon = taken + self.buffers / TOUCHED_SHARE;
        (touched * self.buffers < soon * self.pages).then(|| self.frames.next()).flatten()
    }
}

/// Those that were started are in `writers` also if one can't be: they are to be ended.
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

    /// Memory is touched a quarter of the buffers ahead of who takes them, in order, and not all at
    /// once (RC9).
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

//! A database writer, DBWR: the body of `fb_dbw<n>`.
//!
//! ```text
//!   post, or 3 s ──▶ gather: write lists (make free), blocks asked for, then queue
//!                      │ heads (checkpoint)
//!                      │ for each: try its latch, clean it, copy it
//!                      ▼
//!                    write the batch (batch.rs) ──▶ end: frames can be victims, wake who waits
//!                      └── while it is on its way: gather the next ones
//! ```
//!
//! Invariants
//!   * a writer never waits for a frame's latch (CB6): what is latched is tried again later, and if
//!     nothing else is left, after a pause
//!   * its batches are only of frames of sets that were its own when it gathered (CB25)
//!
//! Callers: `instance` and `recovery`, through `Cache::start_writer`.

use std::sync::Arc;

use ids::Rba;
use latch::{FrameOrder, Latch, LatchKind, Signal};
use os::{Session, ThreadHandle, ThreadSpec};
use stop::Stop;
use waits::{Nanos, Statistic, WaitEvent};

use crate::Cache;
use crate::batch::Batch;
use crate::frame::{DIRTY, Frame};
use crate::load::{Load, Reason};

/// With nothing to do, a writer looks around this often.
const IDLE_MAX: Nanos = Nanos::from_secs(3);
/// With nothing to do but frames that are latched, this often.
const LATCHED_RETRY: Nanos = Nanos::from_millis(1);
/// So many more frames are looked at than there is room for in the batch, since some are latched.
const CANDIDATES_SPARE: usize = 16;
/// While a checkpoint is asked for, making buffers free leaves it one block of a batch in ...
const CHECKPOINT_SHARE: usize = 2;

/// Who starts a writer looks this often whether its thread has ended without a word.
const BEGINNING_LOOK: Nanos = Nanos::from_millis(100);

/// What a new writer tells the one who starts it: whether it has what it needs.
struct Beginning {
    told: Latch<Option<Result<(), Stop>>>,
    signal: Signal,
}

impl Beginning {
    fn tell(&self, begun: Result<(), Stop>, session: &Session) {
        *self.told.exclusive(session) = Some(begun);
        self.signal.post(session);
    }

    /// `None` if the thread has ended without a word: it has panicked.
    fn wait(&self, thread: &ThreadHandle, session: &Session) -> Option<Result<(), Stop>> {
        loop {
            let has_ended = thread.has_ended();
            let told = self.told.exclusive(session).take();
            if has_ended || told.is_some() {
                return told;
            }
            let waiting = session.waiting(WaitEvent::ThreadBootstrap);
            self.signal.wait(waiting, Some(BEGINNING_LOOK));
        }
    }
}

impl Cache {
    /// Starts the thread of database writer `number`, below `config.writers_max`. Refused if its
    /// memory, its ring or its I/O slaves can't be had (CB41). It ends after `stop`, when there are
    /// to be fewer writers, or when the instance has halted; what it can't write halts that.
    pub fn start_writer(
        self: &Arc<Cache>,
        number: u32,
        session: &Session,
    ) -> Result<ThreadHandle, Stop> {
        assert!(number < self.config.writers_max, "there is no room for writer {number}");
        let told = Latch::new(session.os(), LatchKind::Innermost, None);
        let beginning = Arc::new(Beginning { told, signal: Signal::new(session.os()) });
        let (cache, telling) = (Arc::clone(self), Arc::clone(&beginning));
        let spec = ThreadSpec::background(format!("fb_dbw{number}"));
        let body = move |session: &Session| cache.run_writer(number, &telling, session);
        let thread = session.spawn(spec, body)?;
        match beginning.wait(&thread, session) {
            Some(Ok(())) => Ok(thread),
            Some(Err(stop)) => {
                let _ = thread.join(session);
                let Some(kind) = stop.refusal() else { return Err(stop) };
                let message = format!("cannot start database writer {number}: {stop}");
                Err(Stop::refuse(kind, message))
            }
            None => Err(self.halt.raise(format!("database writer {number} panicked"), session)),
        }
    }

    fn run_writer(&self, number: u32, beginning: &Beginning, session: &Session) {
        let guard = self.halt.guard(format!("database writer {number} panicked"), session);
        let ended = match Writer::open(self, number, session) {
            Ok(mut writer) => {
                beginning.tell(Ok(()), session);
                writer.run()
            }
            Err(stop) => {
                beginning.tell(Err(stop), session);
                Ok(())
            }
        };
        guard.disarm();
        if let Err(Stop::Refused(refusal)) = ended {
            self.halt.raise(format!("database writer {number}: {refusal}"), session);
        }
    }
}

struct Writer<'a> {
    cache: &'a Cache,
    number: u32,
    session: &'a Session,
    batch: Batch<'a>,
    /// Frames that could be written.
    candidates: Vec<u32>,
    /// Its sets of all pools, another one first each time.
    sets: Vec<u32>,
    turn: usize,
    /// How many writers there were when these were its sets.
    writers: u32,
}

/// What became of a frame that was to be written.
enum Taken {
    /// It is in the batch.
    Copied,
    /// It is clean now, for there was nothing to write.
    Cleaned,
    /// Somebody has its latch.
    Latched,
    /// It is in the batch already.
    Gone,
}

/// What a gathering met, but for what it put into the batch.
#[derive(Default)]
struct Met {
    cleaned: u32,
    latched: u32,
}

impl<'a> Writer<'a> {
    fn open(cache: &'a Cache, number: u32, session: &'a Session) -> Result<Writer<'a>, Stop> {
        let batch = Batch::open(cache, number, session)?;
        let most = cache.config.batch_blocks as usize + CANDIDATES_SPARE;
        let (candidates, sets) = (Vec::with_capacity(most), Vec::with_capacity(cache.sets.len()));
        Ok(Writer { cache, number, session, batch, candidates, sets, turn: 0, writers: 0 })
    }

    fn run(&mut self) -> Result<(), Stop> {
        let (cache, session) = (self.cache, self.session);
        loop {
            cache.halt.check(session)?;
            if self.is_to_end() && self.batch.is_empty() {
                return Ok(());
            }
            let met = self.gather();
            if met.cleaned > 0 {
                cache.note_progress(session);
            }
            if self.batch.may_launch() {
                self.batch.launch()?;
            } else if self.batch.flies() {
                self.batch.fly()?;
            } else if met.cleaned == 0 {
                self.sleep(if met.latched > 0 { LATCHED_RETRY } else { IDLE_MAX });
            }
            while let Some(landed) = self.batch.take_landed() {
                self.end(&landed);
                self.batch.clear(landed);
                cache.note_progress(session);
            }
        }
    }

    fn is_to_end(&self) -> bool {
        let (cache, session) = (self.cache, self.session);
        cache.stopping.is_raised(session) || self.number >= cache.writers(session)
    }

    fn sleep(&self, length: Nanos) {
        let waiting = self.session.waiting(WaitEvent::RdbmsIpcMessage);
        let waiting = waiting.p(length.as_micros() / 10_000, 0, 0);
        self.cache.writers[self.number as usize].wait(waiting, Some(length));
    }

    /// Its sets, another one first than the last time. Pools come and grow.
    fn find_sets(&mut self) {
        let (cache, session) = (self.cache, self.session);
        self.writers = cache.writers(session);
        self.sets.clear();
        for pool in &cache.pools {
            let mine = (self.number..pool.sets.load(session)).step_by(self.writers as usize);
            self.sets.extend(mine.map(|place| pool.first_set + place));
        }
        self.turn = self.turn.wrapping_add(1);
        let first = self.turn % self.sets.len().max(1);
        self.sets.rotate_left(first);
    }

    /// Fills the batch: first with what is to become free, then with what the checkpoint wants.
    /// While others are on their way latches are waited for, which nobody holds for long, and
    /// nothing else (CB26).
    fn gather(&mut self) -> Met {
        let (cache, session) = (self.cache, self.session);
        let mut met = Met::default();
        if self.batch.is_full() || self.is_to_end() {
            return met;
        }
        self.find_sets();
        self.batch.note_writers(self.writers);
        let target = cache.requested(session);
        let full = cache.config.batch_blocks as usize;
        let kept_back = if self.checkpoint_is_due(target) { full / CHECKPOINT_SHARE } else { 0 };
        let bytes = cache.config.block_size.bytes();
        for place in 0..self.sets.len() {
            let set = self.sets[place];
            let mut state = cache.sets[set as usize].state.exclusive(session);
            state.refill(&cache.frames, session);
            self.candidates.clear();
            state.write_candidates(full + CANDIDATES_SPARE, &mut self.candidates);
            drop(state);
            self.take_candidates(set, (full - kept_back) * bytes, Reason::Free, &mut met);
        }
        for place in 0..self.sets.len() {
            let set = self.sets[place];
            let mut state = cache.sets[set as usize].state.exclusive(session);
            self.candidates.clear();
            let most = full + CANDIDATES_SPARE;
            state.asked_candidates(&cache.frames, most, &mut self.candidates, session);
            drop(state);
            self.take_candidates(set, full * bytes, Reason::Checkpoint, &mut met);
        }
        self.gather_queues(target, full * bytes, &mut met);
        met
    }

    /// Fills the batch with what became dirty below `target`. Of each set an equal share first
    /// (CB34): the checkpoint moves on only when the oldest of all sets are written.
    fn gather_queues(&mut self, target: Rba, full: usize, met: &mut Met) {
        let bytes = self.cache.config.block_size.bytes();
        let room = full.saturating_sub(self.batch.bytes());
        let share = (room / self.sets.len().max(1)).max(bytes);
        for (share, most) in [(share, share / bytes), (full, full / bytes + CANDIDATES_SPARE)] {
            for place in 0..self.sets.len() {
                if self.batch.is_full() {
                    return;
                }
                let set = self.sets[place];
                let state = self.cache.sets[set as usize].state.shared(self.session);
                self.candidates.clear();
                state.queue_candidates(target, most, &mut self.candidates);
                drop(state);
                let until = full.min(self.batch.bytes() + share);
                self.take_candidates(set, until, Reason::Checkpoint, met);
            }
        }
    }

    /// Whether writes are wanted by who doesn't want buffers.
    fn checkpoint_is_due(&self, target: Rba) -> bool {
        self.sets.iter().any(|set| {
            let state = self.cache.sets[*set as usize].state.shared(self.session);
            state.is_asked() || state.queue_low().is_some_and(|low| low < target)
        })
    }

    /// Takes candidates of one set until the batch has so many bytes.
    fn take_candidates(&mut self, set: u32, full: usize, reason: Reason, met: &mut Met) {
        let candidates = std::mem::take(&mut self.candidates);
        fetch(candidates.iter().map(|frame| &self.cache.frames[*frame as usize]), self.session);
        let (pool, _) = self.cache.pool_of_set(set);
        for frame in &candidates {
            if !self.batch.has_room(pool.block_size.bytes(), full) {
                break;
            }
            match self.take(set, *frame, reason) {
                Taken::Copied | Taken::Gone => {}
                Taken::Cleaned => met.cleaned += 1,
                Taken::Latched => met.latched += 1,
            }
        }
        self.candidates = candidates;
        if met.cleaned > 0 {
            self.cache.sets[set as usize].freed.notify_all(self.session);
        }
    }

    /// Takes a copy of a frame into the batch. The frame was dirty when it was found, and only a
    /// writer makes it clean: this one, or one that had the set before; if that has written it
    /// since, it isn't dirty any more, or is another block's.
    fn take(&mut self, set: u32, number: u32, reason: Reason) -> Taken {
        let (cache, session) = (self.cache, self.session);
        let frame = &cache.frames[number as usize];
        // CB6: who has the latch may be waiting for room in the redo, and so for this writer.
        let Some(content) = frame.latch.try_shared(FrameOrder::Branch, session) else {
            return Taken::Latched;
        };
        let Some((_, slot)) = frame.home_if_any(session).filter(|home| home.0 == set) else {
            return Taken::Gone;
        };
        let mut state = cache.sets[set as usize].state.exclusive(session);
        if frame.flags.load(session) != DIRTY {
            return Taken::Gone;
        }
        if crate::pin::is_unwritten(content.bytes()) {
            state.clean_unwritten(slot, frame, session);
            return Taken::Cleaned;
        }
        state.begin_write(slot, frame, self.batch.filling(), session);
        drop(state);
        self.batch.add((set, number), frame.address(session), reason, content.bytes());
        drop(content);
        self.batch.seal_last();
        Taken::Copied
    }

    /// The batch is on disk: its frames can be given away, and the checkpoint can pass them.
    fn end(&self, landed: &Load) {
        let (cache, session) = (self.cache, self.session);
        let Load { items, writers, .. } = landed;
        fetch(items.iter().map(|item| &cache.frames[item.frame as usize]), session);
        for run in items.chunk_by(|a, b| a.set == b.set) {
            let set = &cache.sets[run[0].set as usize];
            let mut state = set.state.exclusive(session);
            let slots = run.iter().map(|item| {
                let frame = &cache.frames[item.frame as usize];
                (frame.home(session).1, frame)
            });
            state.end_writes(landed.number, slots, session);
            set.freed.notify_all(session);
        }
        let made_free = items.iter().filter(|item| item.reason == Reason::Free);
        session.count(Statistic::PhysicalWrites, items.len() as u64);
        session.count(Statistic::PhysicalWritesNonCheckpoint, made_free.count() as u64);
        if cache.writers(session) != *writers {
            // CB25: who has its sets now may have met what was being written, and passed it.
            cache.post_writers(session);
        }
    }
}

/// Looks at frames that are going to be worked on. Sessions have written to them, so each look
/// waits for another processor or for memory; looks that don't depend on another wait together.
fn fetch<'f>(frames: impl Iterator<Item = &'f Frame>, session: &Session) {
    let seen = frames.fold(0, |seen, frame| seen ^ frame.look(session));
    std::hint::black_box(seen);
}

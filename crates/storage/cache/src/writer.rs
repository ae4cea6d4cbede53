//! A database writer, DBWR: the body of `fb_dbw<n>`.
//!
//! ```text
//!   post, or 3 s ──▶ gather: write lists (make free), blocks asked for, then queue
//!                      │ heads (checkpoint)
//!                      │ for some at once: try their latches, clean them, copy them
//!                      ▼
//!                    write the batch (pipeline.rs) ──▶ end: frames can be victims, wake waiters
//!                      └── while it is in flight: gather the next ones
//! ```
//!
//! Invariants
//!   * a writer never waits for a frame's latch (CB6): it tries a latched frame again later, and
//!     after a pause if nothing else is left
//!   * a writer gathers only frames of the sets that are its own at that moment (CB25)
//!
//! Callers: `instance` and `recovery`, through `Cache::start_writer` and `Cache::begin_writer`.

use std::sync::Arc;

use ids::Rba;
use latch::{FrameOrder, FrameSharedGuard, Latch, LatchKind, Signal};
use os::{Session, ThreadHandle, ThreadSpec, prefetch, prefetch_all};
use stop::{Halt, Stop};
use waits::{Nanos, Statistic, WaitEvent};

use crate::Cache;
use crate::batch::{Batch, DirtyFrame, Item, Reason};
use crate::frame::{Content, DIRTY, Frame};
use crate::pipeline::WritePipeline;

/// The longest sleep of a writer with nothing to do.
const IDLE_MAX: Nanos = Nanos::from_secs(3);
/// The sleep of a writer that has counts nothing but latched frames.
const LATCHED_RETRY: Nanos = Nanos::from_millis(1);
/// Frames that are looked at beyond the room in the batch, since some are latched.
const CANDIDATES_SPARE: usize = 16;
/// The most frames whose latches a writer holds at once (CB6). While it copies one block, the next
/// one comes from memory.
const HELD_MAX: usize = 8;
/// While a checkpoint is requested, making buffers free leaves it one in this many blocks of a
/// batch.
const CHECKPOINT_SHARE: usize = 2;

/// How often the starting session looks whether the new thread has panicked.
const STARTUP_CHECK: Nanos = Nanos::from_millis(100);

/// How a new writer reports to the session that starts it.
#[derive(Debug)]
struct Startup {
    status: Latch<StartupStatus>,
    signal: Signal,
}

/// Whether a new writer has what it needs.
#[derive(Clone, Debug)]
enum StartupStatus {
    Pending,
    Ready,
    Failed(Stop),
}

impl Startup {
    fn report(&self, status: StartupStatus, session: &Session) {
        *self.status.exclusive(session) = status;
        self.signal.post(session);
    }

    /// Waits for the report. `Pending` if the thread has ended without one: it has panicked.
    fn wait(&self, thread: &ThreadHandle, session: &Session) -> StartupStatus {
        loop {
            let has_ended = thread.has_ended();
            let status = self.status.shared(session).clone();
            if has_ended || !matches!(status, StartupStatus::Pending) {
                return status;
            }
            let waiting = session.waiting(WaitEvent::ThreadBootstrap);
            self.signal.wait(waiting, Some(STARTUP_CHECK));
        }
    }
}

/// A database writer whose thread runs, and which may not have all that it needs yet.
#[derive(Debug)]
pub struct StartingWriter {
    number: u32,
    thread: ThreadHandle,
    startup: Arc<Startup>,
    halt: Halt,
}

impl StartingWriter {
    /// Returns when the writer has what it needs. Refused if it can't get that: then its thread has
    /// been joined (CB41).
    pub fn wait(self, session: &Session) -> Result<ThreadHandle, Stop> {
        let StartingWriter { number, thread, startup, halt } = self;
        match startup.wait(&thread, session) {
            StartupStatus::Ready => Ok(thread),
            StartupStatus::Failed(stop) => {
                let _ = thread.join(session);
                Err(stop)
            }
            StartupStatus::Pending => {
                Err(halt.raise(format!("database writer {number} panicked"), session))
            }
        }
    }

    /// The thread, for a caller that only wants it to end.
    pub fn into_thread(self) -> ThreadHandle {
        self.thread
    }
}

/// What comes of a writer that can't get what it needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Failure {
    /// It is refused, and the others go on.
    Refuses,
    /// The instance halts, too: sessions may be waiting for the writer.
    Halts,
}

impl Cache {
    /// Starts the thread of database writer `number`, below `config.writers_max`. Refused if the
    /// writer can't get its memory, its ring or its I/O slaves (CB41). The writer ends after
    /// `stop`, after `set_writers` with a lower count, or when the instance has halted. A write
    /// that fails halts the instance.
    pub fn start_writer(
        self: &Arc<Cache>,
        number: u32,
        session: &Session,
    ) -> Result<ThreadHandle, Stop> {
        self.spawn_writer(number, Failure::Refuses, session)?.wait(session)
    }

    /// As [`start_writer`](Cache::start_writer), but doesn't wait until the writer has what it
    /// needs: the caller does that later. If the writer can't get it the instance halts.
    pub fn begin_writer(
        self: &Arc<Cache>,
        number: u32,
        session: &Session,
    ) -> Result<StartingWriter, Stop> {
        self.spawn_writer(number, Failure::Halts, session)
    }

    fn spawn_writer(
        self: &Arc<Cache>,
        number: u32,
        failure: Failure,
        session: &Session,
    ) -> Result<StartingWriter, Stop> {
        assert!(number < self.config.writers_max, "there is no room for writer {number}");
        let status = Latch::new(session.os(), LatchKind::Innermost, StartupStatus::Pending);
        let startup = Arc::new(Startup { status, signal: Signal::new(session.os()) });
        let (cache, reporter) = (Arc::clone(self), Arc::clone(&startup));
        let spec = ThreadSpec::background(format!("fb_dbw{number}"));
        let body = move |session: &Session| cache.run_writer(number, &reporter, failure, session);
        let thread = session.spawn(spec, body)?;
        Ok(StartingWriter { number, thread, startup, halt: self.halt.clone() })
    }

    fn run_writer(&self, number: u32, startup: &Startup, failure: Failure, session: &Session) {
        let guard = self.halt.guard(format!("database writer {number} panicked"), session);
        let ended = match Writer::open(self, number, session) {
            Ok(mut writer) => {
                startup.report(StartupStatus::Ready, session);
                writer.run()
            }
            Err(stop) => {
                let refused = refused_to_start(number, stop);
                let cause = refused.to_string();
                // The halt comes after the report: who meets it finds the refusal.
                startup.report(StartupStatus::Failed(refused), session);
                if failure == Failure::Halts {
                    self.halt.raise(cause, session);
                }
                Ok(())
            }
        };
        guard.disarm();
        if let Err(Stop::Refused(refusal)) = ended {
            self.halt.raise(format!("database writer {number}: {refusal}"), session);
        }
    }
}

/// The refusal of a writer that can't get what it needs; a halt stays one.
fn refused_to_start(number: u32, stop: Stop) -> Stop {
    match stop.refusal() {
        Some(kind) => Stop::refuse(kind, format!("cannot start database writer {number}: {stop}")),
        None => stop,
    }
}

struct Writer<'a> {
    cache: &'a Cache,
    number: u32,
    session: &'a Session,
    pipeline: WritePipeline<'a>,
    /// Frames that could be written.
    candidates: Vec<u32>,
    /// Frames whose blocks are being copied.
    held: Vec<Held<'a>>,
    /// Its sets of all pools, another one first each time.
    sets: Vec<u32>,
    turn: usize,
    /// The number of writers for which these are its sets.
    writers: u32,
}

/// A frame of the set from which a writer takes blocks, with its latch.
struct Held<'a> {
    content: FrameSharedGuard<'a, Content>,
    frame: u32,
    slot: u32,
}

/// Candidates that a gathering didn't put into the batch.
#[derive(Default)]
struct GatherCounts {
    /// These are clean now: their blocks were never formatted, so there was nothing to write.
    cleaned: u32,
    /// A session has their latches.
    latched: u32,
}

impl<'a> Writer<'a> {
    fn open(cache: &'a Cache, number: u32, session: &'a Session) -> Result<Writer<'a>, Stop> {
        let pipeline = WritePipeline::open(cache, number, session)?;
        let most = cache.config.batch_blocks as usize + CANDIDATES_SPARE;
        let (candidates, sets) = (Vec::with_capacity(most), Vec::with_capacity(cache.sets.len()));
        let (held, turn, writers) = (Vec::with_capacity(HELD_MAX), 0, 0);
        Ok(Writer { cache, number, session, pipeline, candidates, held, sets, turn, writers })
    }

    fn run(&mut self) -> Result<(), Stop> {
        let (cache, session) = (self.cache, self.session);
        loop {
            cache.halt.check(session)?;
            if self.is_to_end() && self.pipeline.is_empty() {
                return Ok(());
            }
            let counts = self.gather();
            if counts.cleaned > 0 {
                cache.note_progress(session);
            }
            if self.pipeline.may_launch() {
                self.pipeline.launch()?;
            } else if self.pipeline.has_in_flight() {
                self.pipeline.await_step()?;
            } else if counts.cleaned == 0 {
                self.sleep(if counts.latched > 0 { LATCHED_RETRY } else { IDLE_MAX });
            }
            while let Some(durable) = self.pipeline.take_durable() {
                self.end(&durable);
                self.pipeline.clear(durable);
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

    /// Finds the sets of this writer, and begins with another one than the last time: pools come
    /// and grow.
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

    /// Fills the batch: first from the write lists, then with requested blocks, then from the
    /// checkpoint queues. While other batches are in flight it waits only for latches, which nobody
    /// holds across a wait (CB26).
    fn gather(&mut self) -> GatherCounts {
        let (cache, session) = (self.cache, self.session);
        let mut counts = GatherCounts::default();
        if self.pipeline.is_full() || self.is_to_end() {
            return counts;
        }
        self.find_sets();
        self.pipeline.note_writers(self.writers);
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
            self.take_candidates(set, (full - kept_back) * bytes, Reason::Free, &mut counts);
        }
        for place in 0..self.sets.len() {
            let set = self.sets[place];
            let mut state = cache.sets[set as usize].state.exclusive(session);
            self.candidates.clear();
            let most = full + CANDIDATES_SPARE;
            state.requested_candidates(&cache.frames, most, &mut self.candidates, session);
            drop(state);
            self.take_candidates(set, full * bytes, Reason::Checkpoint, &mut counts);
        }
        self.gather_queues(target, full * bytes, &mut counts);
        counts
    }

    /// Fills the batch with frames that became dirty below `target`: first an equal share of each
    /// set (CB34), since the checkpoint moves on only when the oldest frames of all sets are
    /// written.
    fn gather_queues(&mut self, target: Rba, full: usize, counts: &mut GatherCounts) {
        let bytes = self.cache.config.block_size.bytes();
        let room = full.saturating_sub(self.pipeline.bytes());
        let share = (room / self.sets.len().max(1)).max(bytes);
        for (share, spare) in [(share, 0), (full, CANDIDATES_SPARE)] {
            for place in 0..self.sets.len() {
                if self.pipeline.is_full() {
                    return;
                }
                let set = self.sets[place];
                let until = full.min(self.pipeline.bytes() + share);
                let room = until.saturating_sub(self.pipeline.bytes());
                let block = self.cache.pool_of_set(set).0.block_size.bytes();
                let most = (room / block).max(1) + spare;
                let state = self.cache.sets[set as usize].state.shared(self.session);
                self.candidates.clear();
                state.queue_candidates(target, most, &mut self.candidates);
                drop(state);
                self.take_candidates(set, until, Reason::Checkpoint, counts);
            }
        }
    }

    /// Whether a checkpoint, of all or of some blocks, waits for writes.
    fn checkpoint_is_due(&self, target: Rba) -> bool {
        self.sets.iter().any(|set| {
            let state = self.cache.sets[*set as usize].state.shared(self.session);
            state.has_requests() || state.queue_low().is_some_and(|low| low < target)
        })
    }

    /// Takes candidates of one set until the batch has `full` bytes.
    fn take_candidates(
        &mut self,
        set: u32,
        full: usize,
        reason: Reason,
        counts: &mut GatherCounts,
    ) {
        let (pool, _) = self.cache.pool_of_set(set);
        let bytes = pool.block_size.bytes();
        if self.pipeline.room(bytes, full) == 0 {
            return;
        }
        let mut candidates = std::mem::take(&mut self.candidates);
        fetch(candidates.iter().map(|frame| &self.cache.frames[*frame as usize]), self.session);
        // CB66: those that are likely to come in. The spare ones keep their turn.
        let likely = self.pipeline.room(bytes, full).min(candidates.len());
        candidates[..likely].sort_by_cached_key(|frame| {
            self.cache.frames[*frame as usize].address.load(self.session)
        });
        let mut rest = candidates.as_slice();
        while !rest.is_empty() {
            let room = self.pipeline.room(bytes, full);
            let (some, others) = rest.split_at(room.min(HELD_MAX).min(rest.len()));
            if some.is_empty() {
                break;
            }
            self.hold(set, some, counts);
            self.begin_writes(set, counts);
            self.copy_held(set, reason);
            rest = others;
        }
        self.candidates = candidates;
        if counts.cleaned > 0 {
            self.cache.sets[set as usize].freed.notify_all(self.session);
        }
    }

    /// Gets the latches of these frames. They were dirty when they were found, and only a writer
    /// makes them clean: this one, or one that had the set before. If that one has written a frame
    /// since, it isn't dirty any more, or has another block, or has left the set.
    fn hold(&mut self, set: u32, frames: &[u32], counts: &mut GatherCounts) {
        let (cache, session) = (self.cache, self.session);
        for number in frames {
            let frame = &cache.frames[*number as usize];
            // CB6: the holder of the latch may be waiting for room in the redo, and so for this
            // writer.
            let Some(content) = frame.latch.try_shared(FrameOrder::Branch, session) else {
                counts.latched += 1;
                continue;
            };
            if let Some((_, slot)) = frame.home_if_any(session).filter(|home| home.0 == set) {
                // It has none if another block is being read into this frame by now.
                if let Some(block) = &content.buffer {
                    match self.held.is_empty() {
                        true => prefetch_all(block),
                        false => prefetch(block.as_ptr().addr()),
                    }
                }
                self.held.push(Held { content, frame: *number, slot });
            }
        }
    }

    /// Begins the writes of the held frames that are to be written. Lets the others go.
    fn begin_writes(&mut self, set: u32, counts: &mut GatherCounts) {
        let (cache, session, batch) = (self.cache, self.session, self.pipeline.filling());
        if self.held.is_empty() {
            return;
        }
        let mut state = cache.sets[set as usize].state.exclusive(session);
        self.held.retain(|Held { content, frame, slot }| {
            let frame = &cache.frames[*frame as usize];
            if frame.flags.load(session) != DIRTY {
                return false;
            }
            let is_unwritten = crate::pin::is_unwritten(content.bytes());
            if is_unwritten {
                state.clean_unwritten(*slot, frame, session);
                counts.cleaned += 1;
            } else {
                state.begin_write(*slot, frame, batch, session);
            }
            !is_unwritten
        });
    }

    /// Takes copies of the held frames into the batch, and lets their latches go.
    fn copy_held(&mut self, set: u32, reason: Reason) {
        let (cache, session) = (self.cache, self.session);
        for (place, Held { content, frame, .. }) in self.held.iter().enumerate() {
            let address = cache.frames[*frame as usize].address(session);
            let source = DirtyFrame { set, frame: *frame, address, reason };
            let next = self.held.get(place + 1).map(|next| next.content.bytes());
            self.pipeline.add(source, content.bytes(), next);
        }
        self.held.clear();
    }

    /// Ends a durable batch: its frames can be victims, and the checkpoint can pass them.
    fn end(&self, durable: &Batch) {
        let (cache, session) = (self.cache, self.session);
        let Batch { items, writers, .. } = durable;
        let frame_of = |item: &Item| &cache.frames[item.source.frame as usize];
        fetch(items.iter().map(frame_of), session);
        for run in items.chunk_by(|a, b| a.source.set == b.source.set) {
            let set = &cache.sets[run[0].source.set as usize];
            let mut state = set.state.exclusive(session);
            let slots = run.iter().map(|item| {
                let frame = frame_of(item);
                (frame.home(session).1, frame)
            });
            state.end_writes(durable.number, slots, session);
            set.freed.notify_all(session);
        }
        let made_free = items.iter().filter(|item| item.source.reason == Reason::Free);
        session.count(Statistic::PhysicalWrites, items.len() as u64);
        session.count(Statistic::PhysicalWritesNonCheckpoint, made_free.count() as u64);
        if cache.writers(session) != *writers {
            // CB25: the writers of these sets now may have passed frames that were being written.
            cache.post_writers(session);
        }
    }
}

/// Loads a word of each of these frames. Sessions have written to them, so each load waits for
/// another processor or for memory; loads that don't depend on each other wait together.
fn fetch<'f>(frames: impl Iterator<Item = &'f Frame>, session: &Session) {
    let seen = frames.fold(0, |seen, frame| seen ^ frame.fetch(session));
    std::hint::black_box(seen);
}

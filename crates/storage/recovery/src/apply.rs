//! Applying batches: the applying session and a helper process share the blocks of each.
//!
//! ```text
//!   session:  batch ─┬─▶ blocks ─▶ blocks ─▶ … ─▶ both done ─▶ next batch
//!   fb_rcv1:         └─▶ blocks ─▶ blocks ─▶ … ───────┘
//! ```
//!
//! A block's changes ask for nothing but that block, so blocks are applied in any order and by
//! anybody (rule change/CH12). Each of the two takes some blocks at a time, as long as there are
//! any: so neither waits long for the other.
//!
//! Invariants
//!   * a block of a batch is taken by one of the two, with all of its changes (RC21)
//!   * no block of the next batch is taken before both are done with this one (RC21)
//!
//! Caller: `roll`.

use std::collections::BTreeMap;
use std::sync::Arc;

use cache::Cache;
use change::{Layer, Replayed, replay};
use ids::{Dba, Scn};
use latch::{Condition, Latch, LatchKind, Shared32};
use os::{CACHE_LINE, Os, Session, ThreadHandle, ThreadSpec};
use stop::{Failpoints, Halt, Stop};
use waits::WaitEvent;

use crate::batch_queue::{Batch, LOOK_UP};

/// The blocks that are taken at once.
const SHARE: usize = 32;
/// Lines of the next block that are prefetched beside its first two: the ITL and the directory.
const AHEAD: [usize; 8] = {
    let mut places = [0; 8];
    let mut at = 0;
    while at < places.len() {
        places[at] = (2 + at) * CACHE_LINE;
        at += 1;
    }
    places
};

/// What applies changes in a cache.
pub(crate) struct Applier {
    cache: Arc<Cache>,
    layers: Vec<&'static Layer>,
    failpoints: Failpoints,
    halt: Halt,
    state: Latch<State>,
    changed: Condition,
    /// The first block of the present batch that neither has taken.
    next: Shared32,
}

#[derive(Default)]
struct State {
    /// The batch to share.
    batch: Option<Arc<Batch>>,
    /// Whether the helper process has it.
    is_helping: bool,
    /// Whether no batch comes any more.
    ended: bool,
    found: Found,
    /// The block whose changes couldn't be applied.
    failed: Option<(Dba, Stop)>,
}

/// What was applied, and what was found.
#[derive(Clone, Default)]
pub(crate) struct Found {
    /// Changes that were applied.
    pub(crate) applied: u64,
    /// Changes that their blocks had already.
    pub(crate) skipped: u64,
    /// Unusable blocks that no change has made anew so far (RC10).
    pub(crate) unusable: BTreeMap<Dba, Stop>,
    /// The highest SCN of a block's last change, and that block.
    pub(crate) latest: Option<(Scn, Dba)>,
}

impl Applier {
    pub(crate) fn new(
        os: &Os,
        cache: &Arc<Cache>,
        layers: &[&'static Layer],
        failpoints: Failpoints,
        halt: &Halt,
    ) -> Applier {
        Applier {
            cache: Arc::clone(cache),
            layers: layers.to_vec(),
            failpoints,
            halt: halt.clone(),
            state: Latch::new(os, LatchKind::Innermost, State::default()),
            changed: Condition::new(os),
            next: Shared32::new(0),
        }
    }

    /// Starts the helper process. `None` if it can't be started: then the session applies the
    /// changes alone (RC21).
    pub(crate) fn start(self: &Arc<Applier>, session: &Session) -> Option<ThreadHandle> {
        self.state.exclusive(session).ended = false;
        let applier = Arc::clone(self);
        let spec = ThreadSpec::background("fb_rcv1");
        let started = session.spawn(spec, move |session| {
            let guard = applier.halt.guard("fb_rcv1 panicked", session);
            applier.help(session);
            guard.disarm();
        });
        match started {
            Ok(helper) => Some(helper),
            Err(error) => {
                session.os().notice(&format!("recovery goes on without fb_rcv1: {error}"));
                None
            }
        }
    }

    /// Tells the helper process that no batch comes any more.
    pub(crate) fn end(&self, session: &Session) {
        self.state.exclusive(session).ended = true;
        self.changed.notify_all(session);
    }

    /// What was applied and found so far.
    pub(crate) fn found(&self, session: &Session) -> Found {
        self.state.shared(session).found.clone()
    }

    /// Applies a batch, with the helper process. Returns it when all of it is applied. The error
    /// names the block whose changes can't be applied, if it is one's.
    pub(crate) fn apply(
        &self,
        batch: Batch,
        session: &Session,
    ) -> Result<Batch, (Option<Dba>, Stop)> {
        let batch = Arc::new(batch);
        let mut state = self.state.exclusive(session);
        self.next.store(0, session);
        state.batch = Some(Arc::clone(&batch));
        self.changed.notify_all(session);
        drop(state);
        self.work(&batch, session);
        let waiting = session.waiting(WaitEvent::RdbmsIpcReply);
        let mut state = self.state.exclusive(session);
        state.batch = None;
        while state.is_helping && !self.halt.is_raised(session) {
            state = self.changed.wait(state, waiting, Some(LOOK_UP)).0;
        }
        let failed = state.failed.take();
        drop(state);
        if let Some((block, stop)) = failed {
            return Err((Some(block), stop));
        }
        self.halt.check(session).map_err(|stop| (None, stop))?;
        Ok(Arc::into_inner(batch).expect("the helper process has let it go"))
    }

    /// The helper process: helps with each batch until there is none any more.
    fn help(&self, session: &Session) {
        let waiting = session.waiting(WaitEvent::RdbmsIpcMessage);
        let mut state = self.state.exclusive(session);
        while !state.ended && !self.halt.is_raised(session) {
            let has_more = |batch: &&Arc<Batch>| {
                (self.next.load(session) as usize) < batch.records.block_count()
            };
            let Some(batch) = state.batch.as_ref().filter(has_more).map(Arc::clone) else {
                state = self.changed.wait(state, waiting, Some(LOOK_UP)).0;
                continue;
            };
            state.is_helping = true;
            drop(state);
            self.work(&batch, session);
            drop(batch);
            state = self.state.exclusive(session);
            state.is_helping = false;
            self.changed.notify_all(session);
        }
    }

    /// Takes blocks of the batch, and applies their changes, until all are taken.
    fn work(&self, batch: &Batch, session: &Session) {
        let (records, count) = (&batch.records, batch.records.block_count());
        let mut replayed = Vec::with_capacity(SHARE);
        loop {
            let from = self.next.fetch_add(SHARE as u32, session) as usize;
            if from >= count || self.halt.is_raised(session) {
                return;
            }
            let mut failed = None;
            for place in from..(from + SHARE).min(count) {
                if place + 1 < count {
                    self.cache.prefetch(records.block(place + 1).0, &AHEAD, session);
                }
                let (block, changes) = records.block(place);
                let (layers, failpoints) = (&self.layers, self.failpoints);
                match replay(block, changes, layers, &self.cache, failpoints, session) {
                    Ok(done) => replayed.push((block, done)),
                    Err(stop) => {
                        failed = Some((block, stop));
                        // Nobody takes more.
                        self.next.store(count as u32, session);
                        break;
                    }
                }
            }
            let mut state = self.state.exclusive(session);
            replayed.drain(..).for_each(|(block, done)| state.found.note(block, done));
            state.failed = state.failed.take().or(failed);
        }
    }
}

impl Found {
    fn note(&mut self, block: Dba, replayed: Replayed) {
        self.applied += replayed.applied;
        self.skipped += replayed.skipped;
        self.latest = self.latest.max(Some((replayed.changed, block)));
        match replayed.unusable {
            Some(stop) => _ = self.unusable.insert(block, stop),
            None => _ = self.unusable.remove(&block),
        }
    }
}

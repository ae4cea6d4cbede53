//! The calls of a session, and their end before their work is done: by a cancel, or by a limit of
//! time (O68 to O72).
//!
//! ```text
//!            begin_call                   the guard is dropped
//!   no call ───────────▶ call n runs ──────────────────────────▶ no call
//!                          │ cancel(n), or the limit is over
//!                          ▼
//!                        call n is to end ─────────────────────▶ no call
//!                          `call_end` says so, unless it is held off
//! ```
//!
//! A cancel names the call by its number, so one that comes late cancels nothing. Whoever does work
//! for the call looks at `call_end` wherever it waits or loops.
//!
//! Why no cancel is slept through: a session that is about to sleep first enters the word on which
//! it sleeps, then looks at the state. A thread that cancels first changes the state, then looks
//! for the word. Each of them has the lock of the word between its two steps. So either the session
//! sees the cancel, or the other thread sees the word, raises it and wakes its sleepers.
//!
//! Callers: what runs statements begins calls; `latch` sleeps; `stop` makes refusals of ends.

use std::cell::Cell;
use std::fmt;
use std::rc::Rc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, Release, SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use waits::{Nanos, Timestamp};

use crate::{Cost, Os, Session, WaitWord};

/// The number of a call of one session, which has no other call of the same number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CallNo(u64);

impl fmt::Display for CallNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "call {}", self.0)
    }
}

/// Why a call is to end before its work is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallEnd {
    /// It was cancelled.
    Cancelled,
    /// It has run for this long, which is its limit.
    OutOfTime(Nanos),
}

/// In the state: a call runs.
const RUNNING: u64 = 1;
/// In the state: the call was cancelled.
const CANCELLED: u64 = 2;
/// In the state: the call has a limit of time.
const LIMITED: u64 = 4;
/// Where the call's number begins in the state.
const NUMBER: u32 = 3;

/// What a session and the handles on its calls share.
#[derive(Debug, Default)]
struct Shared {
    /// The number of the last call, and what is true of it. Only the session begins and ends calls;
    /// others only add `CANCELLED` to one that runs.
    state: AtomicU64,
    /// The word on which the session sleeps, in a sleep that the end of the call ends. Held for a
    /// few instructions (O4).
    sleeps_on: Mutex<Option<Arc<WaitWord>>>,
}

impl Shared {
    fn sleeps_on(&self) -> MutexGuard<'_, Option<Arc<WaitWord>>> {
        self.sleeps_on.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A session's side of its calls.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    shared: Arc<Shared>,
    /// How many calls are begun within each other.
    depth: Cell<u32>,
    /// How many guards hold the end off.
    held_off: Cell<u32>,
    /// The limit of the call, if its state says that it has one, and when it is over.
    limit: Cell<Nanos>,
    until: Cell<Timestamp>,
    /// The wall clock's time when it was asked for first in this call.
    moment: Cell<Option<i64>>,
}

/// A call that runs, until this is dropped.
#[must_use = "a call ends when this is dropped"]
#[derive(Debug)]
pub struct Call {
    calls: Rc<Calls>,
}

/// Work that is done to its end, whatever becomes of the call (O70).
#[must_use = "the end of the call is held off until this is dropped"]
#[derive(Debug)]
pub struct HoldOff {
    calls: Rc<Calls>,
}

/// A sleep that the end of the call ends, if there is a call. For crate `latch`.
#[derive(Debug)]
pub struct CallSleep {
    /// The session that has entered the word on which it sleeps.
    entered: Option<Rc<Calls>>,
    timeout: Option<Nanos>,
}

/// A handle on the calls of one session, for other threads.
#[derive(Clone)]
pub struct CancelHandle {
    shared: Arc<Shared>,
    os: Os,
}

impl Session {
    /// Begins a call, which runs until what this returns is dropped (O68). With a limit it is to
    /// end when it has run that long. A call that is begun within another is a part of it: its own
    /// limit doesn't count.
    pub fn begin_call(&self, limit: Option<Nanos>) -> Call {
        let calls = &self.calls;
        let depth = calls.depth.get();
        calls.depth.set(depth + 1);
        if depth == 0 {
            let number = (calls.shared.state.load(Relaxed) >> NUMBER) + 1;
            let mut state = number << NUMBER | RUNNING;
            if let Some(limit) = limit {
                calls.limit.set(limit);
                calls.until.set(self.now().after(limit));
                state |= LIMITED;
            }
            calls.shared.state.store(state, Release);
        }
        Call { calls: Rc::clone(calls) }
    }

    /// Counts this time as the present call's, if that has a limit: earlier calls for the same
    /// statement took it. So the limit is one of all of them together (O68).
    pub fn count_as_spent(&self, spent: Nanos) {
        let until = &self.calls.until;
        until.set(Timestamp::from_nanos(until.get().as_nanos().saturating_sub(spent.0)));
    }

    /// Why the present call is to end; none while it goes on, while its end is held off, and
    /// without a call. It costs a load. Whoever waits or loops for a call looks at this, and leaves
    /// what a refused statement leaves.
    #[inline]
    pub fn call_end(&self) -> Option<CallEnd> {
        match self.calls.shared.state.load(Relaxed) & (CANCELLED | LIMITED) {
            0 => None,
            flags => self.end_by(flags),
        }
    }

    #[inline(never)]
    fn end_by(&self, flags: u64) -> Option<CallEnd> {
        let calls = &self.calls;
        if calls.held_off.get() > 0 {
            return None;
        }
        if flags & CANCELLED != 0 {
            return Some(CallEnd::Cancelled);
        }
        (self.now() >= calls.until.get()).then(|| CallEnd::OutOfTime(calls.limit.get()))
    }

    /// Holds the end of the call off, for work that has to be done to its end, until what this
    /// returns is dropped (O70).
    pub fn hold_off(&self) -> HoldOff {
        self.calls.held_off.set(self.calls.held_off.get() + 1);
        HoldOff { calls: Rc::clone(&self.calls) }
    }

    /// A handle by which other threads cancel calls of this session.
    pub fn cancel_handle(&self) -> CancelHandle {
        CancelHandle { shared: Arc::clone(&self.calls.shared), os: self.os().clone() }
    }

    /// The wall clock's time, as [`wall_clock`](Session::wall_clock) gave it when this was first
    /// asked in the present call: it doesn't move within a call (O72).
    pub fn call_moment(&self) -> i64 {
        let calls = &self.calls;
        if calls.depth.get() == 0 {
            return self.wall_clock();
        }
        let moment = calls.moment.get().unwrap_or_else(|| self.wall_clock());
        calls.moment.set(Some(moment));
        moment
    }

    /// Enters a sleep on this word, for at most this long; none if the present call is to end: then
    /// the caller doesn't sleep. A cancel raises the word by one and wakes its sleepers, so the
    /// caller reads the word before. Only crate `latch` calls this (O71).
    pub fn enter_sleep(&self, word: &Arc<WaitWord>, timeout: Option<Nanos>) -> Option<CallSleep> {
        let calls = &self.calls;
        let runs = calls.shared.state.load(Relaxed) & RUNNING != 0;
        if !runs || calls.held_off.get() > 0 {
            return Some(CallSleep { entered: None, timeout });
        }
        *calls.shared.sleeps_on() = Some(Arc::clone(word));
        let mut sleep = CallSleep { entered: Some(Rc::clone(calls)), timeout };
        let state = calls.shared.state.load(SeqCst);
        if state & CANCELLED != 0 {
            return None;
        }
        if state & LIMITED != 0 {
            let left = calls.until.get().since(self.now());
            if left == Nanos::ZERO {
                return None;
            }
            sleep.timeout = Some(timeout.map_or(left, |timeout| timeout.min(left)));
        }
        Some(sleep)
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let calls = &self.calls;
        let depth = calls.depth.get() - 1;
        calls.depth.set(depth);
        if depth == 0 {
            let number = calls.shared.state.load(Relaxed) >> NUMBER;
            // A cancel that comes between is of a call that has ended.
            calls.shared.state.store(number << NUMBER, Release);
            calls.moment.set(None);
        }
    }
}

impl Drop for HoldOff {
    fn drop(&mut self) {
        self.calls.held_off.set(self.calls.held_off.get() - 1);
    }
}

impl CallSleep {
    /// The longest sleep: what the caller asked for, or what is left of the call's time if that is
    /// less.
    pub fn timeout(&self) -> Option<Nanos> {
        self.timeout
    }
}

impl Drop for CallSleep {
    fn drop(&mut self) {
        if let Some(calls) = &self.entered {
            *calls.shared.sleeps_on() = None;
        }
    }
}

impl CancelHandle {
    /// The call that runs now, if one does.
    pub fn running(&self) -> Option<CallNo> {
        self.interleave();
        let state = self.shared.state.load(SeqCst);
        (state & RUNNING != 0).then_some(CallNo(state >> NUMBER))
    }

    /// Cancels the call of this number, and wakes the session if it sleeps in a wait that this
    /// ends. False if the call doesn't run any more: then nothing is cancelled. After true the call
    /// may still do its work to the end, if it doesn't look any more.
    pub fn cancel(&self, call: CallNo) -> bool {
        self.interleave();
        let mut seen = self.shared.state.load(SeqCst);
        loop {
            if seen >> NUMBER != call.0 || seen & RUNNING == 0 {
                return false;
            }
            match self.shared.state.compare_exchange(seen, seen | CANCELLED, SeqCst, SeqCst) {
                Ok(_) => break,
                Err(now) => seen = now,
            }
        }
        self.interleave();
        // The lock is released before the wake, which may let another thread run (O4).
        let word = self.shared.sleeps_on().clone();
        if let Some(word) = word {
            word.value().fetch_add(1, Release);
            self.os.clock().charge(Cost::Wake, 1);
            self.os.port().wake(&word, u32::MAX);
        }
        true
    }

    /// Cancels the call that runs now, if one does.
    pub fn cancel_running(&self) -> bool {
        self.running().is_some_and(|call| self.cancel(call))
    }

    /// A point at which, in the simulator, another thread may come first.
    fn interleave(&self) {
        if self.os.clock().is_virtual() {
            self.os.port().interleave();
        }
    }
}

impl fmt::Debug for CancelHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CancelHandle({:#x})", self.shared.state.load(Relaxed))
    }
}

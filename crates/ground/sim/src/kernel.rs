//! The simulated kernel: real threads, of which one runs at a time, over the scheduler.
//!
//! ```text
//!   code runs (no virtual time) ──▶ comes to the kernel ──▶ sits through its charge ──▶ acts
//!        ▲                                                                              │
//!        └───── takes the baton ◀── … others run … ◀── gives the baton to the next ◀────┘
//! ```
//!
//! Rules
//!   * the holder of the baton may lock `state`; no thread gives the baton away while holding the
//!     lock
//!   * a call settles first: the time that the thread has charged passes before the call acts
//!   * once the simulation stops, every thread unwinds, and a call from a thread that unwinds does
//!     nothing; one that would sleep or spin lets the others unwind first, because it may wait for
//!     their end

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::JoinHandle;

use os::{ThreadBody, VirtualClock, Woken};
use waits::{Nanos, WaitEvent};

use crate::baton::Baton;
use crate::device::Devices;
use crate::failure::{Failure, Waiter, describe};
use crate::perturbation::Perturbation;
use crate::real_cpu::RealCpu;
use crate::scheduler::{Next, Scheduler, WokenUp};
use crate::thread::{On, State as ThreadState, Tid};

/// The most kernel calls of threads that unwind; beyond them one is taken to loop in a destructor.
const CALLS_WHILE_UNWINDING_MAX: u32 = 10_000_000;
/// The number of calls that a sleep counts as, because it passes the baton.
const CALLS_OF_A_SLEEP: u32 = 10;

/// The most calls at one point in time; beyond them the thread is taken to poll for ever.
const CALLS_AT_ONE_TIME_MAX: u32 = 10_000_000;

/// The payload with which threads unwind when the simulation stops.
struct Stopped;

thread_local! {
    static CURRENT: Cell<Option<Tid>> = const { Cell::new(None) };
}

/// The state that all parts of a simulation share.
pub(crate) struct Kernel {
    pub(crate) clock: Arc<VirtualClock>,
    pub(crate) perturbation: Perturbation,
    contain_panics: bool,
    /// The real CPU that all threads share: passing the baton is then a switch of threads, not a
    /// call to another processor.
    pin_to: Option<RealCpu>,
    wake_ns: u64,
    wake_idle_ns: u64,
    buffered_writes_alone: bool,
    state: Mutex<State>,
    stopping: AtomicBool,
    calls_while_unwinding: AtomicU32,
    /// A counter raised at every call, by which the watchdog sees whether the holder returns.
    progress: AtomicU64,
    holder: AtomicU32,
    ended: (Mutex<Option<Ended>>, Condvar),
    next_word: AtomicU64,
}

/// The end of the simulation.
pub(crate) type Ended = Result<(), Failure>;

pub(crate) struct State {
    pub(crate) scheduler: Scheduler,
    pub(crate) devices: Devices,
    pub(crate) hand_offs: u64,
    batons: Vec<Arc<Baton>>,
    /// The real threads; `None` for one that was left behind.
    handles: Vec<Option<JoinHandle<()>>>,
    failure: Option<Failure>,
    /// The thread that came here panicking before any other did. What it does to the others while
    /// it unwinds is a consequence.
    panics_first: Option<Tid>,
    /// The number of calls since virtual time last moved, and that time.
    calls_at: (u64, u32),
    /// The number of threads that may still be started; no limit if it isn't set.
    pub(crate) threads_left: Option<u32>,
}

/// What the kernel says where no more threads may be started (clone(2)).
const EAGAIN: i32 = 11;

pub(crate) struct KernelOptions {
    pub(crate) perturbation: Perturbation,
    pub(crate) contain_panics: bool,
    pub(crate) pin_to: Option<RealCpu>,
    /// The cost of each thread woken by one call, except the first.
    pub(crate) wake_ns: u64,
    /// The additional cost of each thread woken on an idle CPU.
    pub(crate) wake_idle_ns: u64,
    /// Whether only one buffered write at a time gets into a file.
    pub(crate) buffered_writes_alone: bool,
}

impl Kernel {
    pub(crate) fn new(
        scheduler: Scheduler,
        devices: Devices,
        clock: Arc<VirtualClock>,
        options: KernelOptions,
    ) -> Kernel {
        Kernel {
            clock,
            perturbation: options.perturbation,
            contain_panics: options.contain_panics,
            pin_to: options.pin_to,
            wake_ns: options.wake_ns,
            wake_idle_ns: options.wake_idle_ns,
            buffered_writes_alone: options.buffered_writes_alone,
            state: Mutex::new(State {
                scheduler,
                devices,
                hand_offs: 0,
                batons: Vec::new(),
                handles: Vec::new(),
                failure: None,
                panics_first: None,
                calls_at: (0, 0),
                threads_left: None,
            }),
            stopping: AtomicBool::new(false),
            calls_while_unwinding: AtomicU32::new(0),
            progress: AtomicU64::new(0),
            holder: AtomicU32::new(0),
            ended: (Mutex::new(None), Condvar::new()),
            next_word: AtomicU64::new(1),
        }
    }

    /// Whether only one buffered write at a time gets into a file.
    pub(crate) fn buffered_writes_alone(&self) -> bool {
        self.buffered_writes_alone
    }

    // ── from outside: start, wait, watch ────────────────────────────────────────────────────

    /// Starts the first thread and gives it the baton.
    pub(crate) fn start(self: &Arc<Kernel>, name: &str, body: ThreadBody) -> std::io::Result<()> {
        let mut state = self.lock();
        let tid = self.add_thread(&mut state, name, body)?;
        // `None`: not even the first switch fits into the time limit. Then the thread has to leave
        // again.
        let next = self.next(&mut state).unwrap_or(tid);
        assert_eq!(next, tid, "the first thread runs first");
        self.give(state, tid);
        Ok(())
    }

    /// Sleeps until all threads have ended or one is stuck.
    pub(crate) fn wait_for_the_end(&self) -> Ended {
        let (lock, condition) = &self.ended;
        let mut ended = lock.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(result) = ended.take() {
                return result;
            }
            ended = condition.wait(ended).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits until the real threads are gone. Not for a simulation that is stuck.
    pub(crate) fn join_threads(&self) {
        let handles = std::mem::take(&mut self.lock().handles);
        for handle in handles.into_iter().flatten() {
            let _ = handle.join();
        }
    }

    /// The number of returns of the holder, for the watchdog.
    pub(crate) fn progress(&self) -> u64 {
        self.progress.load(Ordering::Relaxed)
    }

    /// Ends the simulation because the holder hasn't returned since `seen`. Returns false if it
    /// just did.
    pub(crate) fn give_up(&self, seen: u64) -> bool {
        let mut state = match self.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return false,
        };
        if self.progress() != seen {
            return false;
        }
        if first_unburied(&state, 0).is_none() {
            return true;
        }
        let tid = self.holder.load(Ordering::Relaxed) as Tid;
        let thread = label(&state, tid);
        let last = match (&state.failure, state.scheduler.thread(tid).state) {
            (Some(first), _) => format!("unwinding, after this: {first}"),
            (None, ThreadState::Running { cpu }) => format!("running on CPU {cpu}"),
            (None, other) => format!("{other:?}"),
        };
        let failure = Failure::Stuck { thread, last };
        state.failure = Some(failure.clone());
        // If the holder returns after all, it unwinds, and the others after it.
        self.stopping.store(true, Ordering::Relaxed);
        drop(state);
        self.finish(Err(failure));
        true
    }

    fn finish(&self, result: Ended) {
        let (lock, condition) = &self.ended;
        *lock.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        condition.notify_all();
    }

    /// The state after the end, or while the caller holds the baton.
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    // ── calls from simulated threads ────────────────────────────────────────────────────────

    /// The calling thread.
    pub(crate) fn current(&self) -> Tid {
        CURRENT.with(Cell::get).expect("this thread was started by the simulation")
    }

    pub(crate) fn new_word_id(&self) -> u64 {
        self.next_word.fetch_add(1, Ordering::Relaxed)
    }

    /// Settles, acts, and lets others run if they should. `None` while the simulation stops.
    pub(crate) fn call<R>(&self, act: impl FnOnce(&mut State, Tid) -> R) -> Option<R> {
        if self.is_stopping() {
            return None;
        }
        let me = self.current();
        let mut state = self.settle(me);
        let result = act(&mut state, me);
        drop(self.go_on(state, me));
        // This very call may have stopped the simulation: no code goes on after that.
        (!self.is_stopping()).then_some(result)
    }

    /// Charges the waker for each thread that it woke. The first wake was charged with the call, as
    /// are calls that wake no thread.
    pub(crate) fn charge_wakes(&self, woken: WokenUp) {
        let others = u64::from(woken.threads.saturating_sub(1));
        self.clock.charge(others * self.wake_ns + u64::from(woken.at_once) * self.wake_idle_ns);
    }

    /// Sleeps unless `act`, called when everything charged has passed, returns otherwise. Returns
    /// `None` while the simulation stops.
    pub(crate) fn sleep(
        &self,
        event: Option<WaitEvent>,
        timeout: Option<Nanos>,
        act: impl FnOnce(&mut State, Tid) -> Option<On>,
    ) -> Option<Woken> {
        if self.is_stopping() {
            self.let_others_unwind(timeout);
            return None;
        }
        let me = self.current();
        let mut state = self.settle(me);
        let Some(on) = act(&mut state, me) else {
            drop(self.go_on(state, me));
            return Some(Woken::Changed);
        };
        // A time beyond the end of time is never.
        let until = timeout.and_then(|length| state.scheduler.now.checked_add(length.0));
        state.scheduler.block(me, on, event, until);
        let state = self.switch(state, me);
        Some(state.scheduler.woken(me))
    }

    /// Another thread may come first.
    pub(crate) fn interleave(&self) {
        if !self.perturbation.interleaves() || self.is_stopping() {
            return;
        }
        let me = self.current();
        let mut state = self.settle(me);
        if state.scheduler.interleave(me) {
            drop(self.switch(state, me));
        } else {
            self.clock.set_ns(state.scheduler.now);
            drop(self.go_on(state, me));
        }
    }

    pub(crate) fn spawn(self: &Arc<Kernel>, name: &str, body: ThreadBody) -> std::io::Result<Tid> {
        let start = |state: &mut State, _| {
            if let Some(left) = &mut state.threads_left {
                *left = left.checked_sub(1).ok_or(std::io::Error::from_raw_os_error(EAGAIN))?;
            }
            self.add_thread(state, name, body)
        };
        self.call(start).unwrap_or_else(|| Err(std::io::Error::other("the simulation stops")))
    }

    /// Makes one turn of a spin: other threads run if they should, and after `turns_before_yield`
    /// even if they needn't.
    pub(crate) fn spin(&self, turn: u32, turns_before_yield: u32) {
        // However cheap a turn is, time passes, or two spinning threads would spin for ever.
        self.clock.charge(1);
        if self.is_stopping() {
            return self.let_others_unwind(None);
        }
        let _ = self.call(|state, me| {
            if turn >= turns_before_yield && state.scheduler.may_go_on(me) {
                state.scheduler.yield_cpu(me);
            }
        });
    }

    /// Ends the simulation with this failure. The clock stands still from now on.
    pub(crate) fn stop(&self, state: &mut State, failure: Failure) {
        if state.failure.is_none() {
            state.failure = Some(failure);
        }
        self.clock.set_ns(state.scheduler.now);
        self.stopping.store(true, Ordering::Relaxed);
    }

    /// Returns true if the simulation stops and the caller already unwinds. If it doesn't unwind
    /// yet, it does now.
    fn is_stopping(&self) -> bool {
        if !self.stopping.load(Ordering::Relaxed) {
            return false;
        }
        if !std::thread::panicking() {
            resume_unwind(Box::new(Stopped));
        }
        self.count_calls_while_unwinding(1);
        true
    }

    /// Replaces a sleep or a turn of a spin in a destructor while everything stops.
    fn let_others_unwind(&self, timeout: Option<Nanos>) {
        self.count_calls_while_unwinding(CALLS_OF_A_SLEEP);
        if let Some(length) = timeout {
            self.clock.set_ns(self.clock.now_ns().saturating_add(length.0));
        }
        let me = self.current();
        let state = self.lock();
        let next = first_unburied(&state, me + 1).or_else(|| first_unburied(&state, 0));
        if let Some(next) = next.filter(|next| *next != me) {
            let mine = Arc::clone(&state.batons[me]);
            self.give(state, next);
            mine.take();
        }
    }

    /// Counts calls. A thread whose destructor waits for an event that can't come any more is left
    /// behind, as a stuck one would be; the others unwind.
    fn count_calls_while_unwinding(&self, calls: u32) {
        let before = self.calls_while_unwinding.fetch_add(calls, Ordering::Relaxed);
        if before < CALLS_WHILE_UNWINDING_MAX {
            return;
        }
        self.calls_while_unwinding.store(0, Ordering::Relaxed);
        let me = self.current();
        let mut state = self.lock();
        let name = label(&state, me);
        eprintln!("{name} waits in a destructor for what can't come any more: it is left behind");
        state.handles[me] = None;
        drop(state);
        self.leave(me);
        loop {
            std::thread::park();
        }
    }

    fn settle(&self, me: Tid) -> MutexGuard<'_, State> {
        self.progress.fetch_add(1, Ordering::Relaxed);
        let mut state = self.lock();
        match state.panics_first {
            None if std::thread::panicking() => state.panics_first = Some(me),
            Some(first) if first == me && !std::thread::panicking() => state.panics_first = None,
            _ => {}
        }
        let ahead = self.clock.now_ns() - state.scheduler.now;
        let goes_on = state.scheduler.charge(me, ahead);
        if state.calls_at.0 != state.scheduler.now {
            state.calls_at = (state.scheduler.now, 0);
        }
        state.calls_at.1 += 1;
        if state.calls_at.1 > CALLS_AT_ONE_TIME_MAX {
            let (thread, at_ns) = (label(&state, me), state.scheduler.now);
            self.stop(&mut state, Failure::NoProgress { thread, at_ns });
            drop(state);
            let _ = self.is_stopping();
            return self.lock();
        }
        if goes_on { state } else { self.switch(state, me) }
    }

    /// Keeps the baton if the thread may still run, else passes it.
    fn go_on<'k>(&'k self, state: MutexGuard<'k, State>, me: Tid) -> MutexGuard<'k, State> {
        if state.scheduler.may_go_on(me) { state } else { self.switch(state, me) }
    }

    /// Gives the baton to the next thread and takes it back when it is this thread's turn.
    fn switch<'k>(&'k self, mut state: MutexGuard<'k, State>, me: Tid) -> MutexGuard<'k, State> {
        match self.next(&mut state) {
            Some(next) if next == me => {
                self.clock.set_ns(state.scheduler.now);
                state
            }
            Some(next) => {
                let mine = Arc::clone(&state.batons[me]);
                self.give(state, next);
                mine.take();
                let _ = self.is_stopping();
                self.lock()
            }
            None => {
                drop(state);
                let _ = self.is_stopping();
                self.lock()
            }
        }
    }

    /// The next thread; `None` if there is none, and the simulation stops.
    fn next(&self, state: &mut State) -> Option<Tid> {
        loop {
            let failure = match state.scheduler.next() {
                Next::Run(tid) => return Some(tid),
                Next::Complete(io) => {
                    let State { scheduler, devices, .. } = state;
                    if devices.complete(io, scheduler) {
                        continue;
                    }
                    Failure::PowerLost
                }
                Next::AllEnded => return None,
                Next::Deadlock => Failure::Deadlock(waiters(state)),
                Next::TimeLimit => {
                    let waiters = waiters(state);
                    Failure::TimeLimit { at_ns: state.scheduler.now, waiters }
                }
            };
            self.stop(state, failure);
            return None;
        }
    }

    fn give(&self, mut state: MutexGuard<'_, State>, next: Tid) {
        state.hand_offs += 1;
        self.progress.fetch_add(1, Ordering::Relaxed);
        if !self.stopping.load(Ordering::Relaxed) {
            self.clock.set_ns(state.scheduler.now);
        }
        self.holder.store(next as u32, Ordering::Relaxed);
        let baton = Arc::clone(&state.batons[next]);
        drop(state);
        baton.give();
    }

    // ── threads come and go ─────────────────────────────────────────────────────────────────

    fn add_thread(
        self: &Arc<Kernel>,
        state: &mut State,
        name: &str,
        body: ThreadBody,
    ) -> std::io::Result<Tid> {
        let tid = state.batons.len();
        let baton = Arc::new(Baton::default());
        let (kernel, mine) = (Arc::clone(self), Arc::clone(&baton));
        let handle = std::thread::Builder::new()
            .name(name.to_string())
            .spawn(move || kernel.run_thread(tid, &mine, body))?;
        baton.belongs_to(handle.thread().clone());
        state.batons.push(baton);
        state.handles.push(Some(handle));
        let added = state.scheduler.add_thread(name);
        assert_eq!(added, tid, "threads are numbered alike everywhere");
        Ok(tid)
    }

    /// The life of a real thread.
    fn run_thread(self: Arc<Kernel>, tid: Tid, baton: &Baton, body: ThreadBody) {
        CURRENT.with(|current| current.set(Some(tid)));
        if let (0, Some(cpu)) = (tid, &self.pin_to) {
            os::linux::share_one_cpu(cpu.number());
        }
        baton.take();
        // A body that never runs is dropped, with all that it owns, before the baton goes on.
        let run = || if self.stopping.load(Ordering::Relaxed) { drop(body) } else { body() };
        if let Err(payload) = catch_unwind(AssertUnwindSafe(run))
            && !payload.is::<Stopped>()
            && (tid == 0 || !self.contain_panics)
        {
            let mut state = self.lock();
            let thread = label(&state, tid);
            let failure = Failure::Panicked { thread, message: message_of(&*payload) };
            if state.panics_first == Some(tid) {
                state.failure = None;
            }
            self.stop(&mut state, failure);
        }
        if !self.stopping.load(Ordering::Relaxed) {
            // The last charge still has to pass; it can fail only by stopping.
            let _ = catch_unwind(AssertUnwindSafe(|| drop(self.settle(tid))));
        }
        self.leave(tid);
    }

    fn leave(&self, tid: Tid) {
        let mut state = self.lock();
        state.scheduler.bury(tid);
        if !self.stopping.load(Ordering::Relaxed) {
            state.scheduler.end_thread(tid);
            if let Some(next) = self.next(&mut state) {
                return self.give(state, next);
            }
        }
        match first_unburied(&state, 0) {
            Some(next) if self.stopping.load(Ordering::Relaxed) => self.give(state, next),
            _ => {
                let result = state.failure.clone().map_or(Ok(()), Err);
                drop(state);
                self.finish(result);
            }
        }
    }
}

/// The first thread from number `from` on that is still there.
fn first_unburied(state: &State, from: Tid) -> Option<Tid> {
    (from..state.batons.len()).find(|tid| !state.scheduler.is_buried(*tid))
}

fn label(state: &State, tid: Tid) -> String {
    format!("{} (t{tid})", state.scheduler.thread(tid).name)
}

fn waiters(state: &State) -> Vec<Waiter> {
    let threads = state.scheduler.threads().iter().enumerate();
    threads
        .filter_map(|(tid, thread)| match thread.state {
            ThreadState::Blocked { on, event } => Some(Waiter {
                thread: label(state, tid),
                event,
                on: describe(on),
                since_ns: state.scheduler.since(tid),
            }),
            _ => None,
        })
        .collect()
}

fn message_of(payload: &(dyn std::any::Any + Send)) -> String {
    if let Some(text) = payload.downcast_ref::<&str>() {
        return (*text).to_string();
    }
    payload.downcast_ref::<String>().cloned().unwrap_or_else(|| "a payload without text".into())
}

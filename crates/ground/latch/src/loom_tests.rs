//! The machines under a model checker: every order of a few threads' steps, and every value that
//! the memory model lets a load see.
//!
//! The code that ships runs on loom's atomics and on a word that sleeps as a futex does. Loom fails
//! on a data race, on a deadlock (a lost wake-up is one) and on an assertion. The last tests break
//! the machines on purpose: the model must find the fault, or it is worthless.
//!
//! Loom runs its threads in turn on one real thread, so `Rc` shares between them.

use std::rc::Rc;
use std::sync::atomic::Ordering;

use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicU32, AtomicU64};
use loom::sync::{Condvar, Mutex};
use loom::thread;
use os::Woken;
use waits::Nanos;

use crate::condition::RawCondition;
use crate::parts::{Atom, Sleeper, Waker, Word};
use crate::raw::RawLatch;
use crate::signal::RawSignal;

/// Explores every order of the threads' steps: for two threads with little to do.
pub(crate) fn explore_fully(claim: impl Fn() + Sync + Send + 'static) {
    loom::model::Builder::new().check(claim);
}

/// Explores the orders of the threads' steps with at most `preemptions` switches away from a thread
/// that could go on. Nearly all bugs of this sort need two at most (Musuvathi and Qadeer, 2007).
/// Loom's search is not complete under a bound, so claims that two threads can show are shown with
/// two threads and without a bound.
pub(crate) fn explore_within(preemptions: usize, claim: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.check(claim);
}

impl Atom for AtomicU64 {
    fn load(&self, order: Ordering) -> u64 {
        self.load(order)
    }

    fn exchange(&self, seen: u64, next: u64, order: Ordering) -> Result<u64, u64> {
        self.compare_exchange(seen, next, order, Ordering::Relaxed)
    }

    fn add(&self, amount: u64, order: Ordering) {
        self.fetch_add(amount, order);
    }

    fn subtract(&self, amount: u64, order: Ordering) -> u64 {
        self.fetch_sub(amount, order)
    }
}

/// A futex: the decision to sleep and the falling asleep are one step.
pub(crate) struct Futex {
    value: AtomicU32,
    bucket: Mutex<()>,
    sleepers: Condvar,
}

impl Futex {
    pub(crate) fn new() -> Futex {
        Futex { value: AtomicU32::new(0), bucket: Mutex::new(()), sleepers: Condvar::new() }
    }

    fn sleep(&self, expected: u32) -> Woken {
        let bucket = self.bucket.lock().expect("no thread panics");
        if self.value.load(Ordering::Relaxed) != expected {
            return Woken::Changed;
        }
        drop(self.sleepers.wait(bucket).expect("no thread panics"));
        Woken::Woken
    }

    fn wake_up(&self, count: u32) {
        let _bucket = self.bucket.lock().expect("no thread panics");
        if count == 1 {
            self.sleepers.notify_one();
        } else {
            self.sleepers.notify_all();
        }
    }
}

impl Word for Futex {
    fn load(&self) -> u32 {
        self.value.load(Ordering::Acquire)
    }

    fn raise(&self) {
        self.value.fetch_add(1, Ordering::Release);
    }

    fn set_bits(&self, bits: u32) -> u32 {
        self.value.fetch_or(bits, Ordering::AcqRel)
    }

    fn replace(&self, value: u32) -> u32 {
        self.value.swap(value, Ordering::AcqRel)
    }
}

/// The acting thread.
#[derive(Clone, Copy)]
pub(crate) struct Actor;

impl Waker<Futex> for Actor {
    fn wake(&self, word: &Futex, count: u32) {
        word.wake_up(count);
    }
}

impl Sleeper<Futex> for Actor {
    const SPIN_TURNS: u32 = 0;
    const UNWINDS: bool = false;

    fn relax(self, _turn: u32) {
        thread::yield_now();
    }

    fn sleep(self, word: &Futex, expected: u32, _timeout: Option<Nanos>, _tries: u64) -> Woken {
        word.sleep(expected)
    }
}

/// A latch around two numbers that are equal except during a change.
struct Pair<A, W> {
    latch: RawLatch<A, W>,
    numbers: UnsafeCell<(u32, u32)>,
}

impl<A: Atom, W: Word> Pair<A, W>
where
    Actor: Sleeper<W> + Waker<W>,
{
    fn new(state: A, readers: W, writers: W) -> Rc<Pair<A, W>> {
        let numbers = UnsafeCell::new((0, 0));
        Rc::new(Pair { latch: RawLatch::new(state, readers, writers), numbers })
    }

    fn change(&self) {
        // SAFETY: called with the latch held exclusively; loom checks that (rule L6).
        self.numbers.with_mut(|numbers| unsafe {
            (*numbers).0 += 1;
            (*numbers).1 += 1;
        });
    }

    fn write(&self) {
        self.latch.exclusive(|| Actor);
        self.change();
        self.latch.release_exclusive(&Actor);
    }

    fn read_held(&self) -> u32 {
        // SAFETY: called with the latch held; loom checks that (rule L6).
        let (first, second) = self.numbers.with(|numbers| unsafe { *numbers });
        assert_eq!(first, second, "a reader sees a change half made");
        first
    }

    fn read(&self) -> u32 {
        self.latch.shared(|| Actor);
        let number = self.read_held();
        self.latch.release_shared(&Actor);
        number
    }
}

fn sound_pair() -> Rc<Pair<AtomicU64, Futex>> {
    Pair::new(AtomicU64::new(0), Futex::new(), Futex::new())
}

pub(crate) fn start<T: 'static>(
    shared: &Rc<T>,
    body: impl FnOnce(&T) + 'static,
) -> thread::JoinHandle<()> {
    let shared = Rc::clone(shared);
    thread::spawn(move || body(&shared))
}

pub(crate) fn finish(threads: impl IntoIterator<Item = thread::JoinHandle<()>>) {
    for thread in threads {
        thread.join().expect("no thread panics");
    }
}

/// Two writers: exclusion and wake-ups in every order there is.
#[test]
fn two_writers_exclude_each_other_in_every_order() {
    explore_fully(|| {
        let pair = sound_pair();
        let other = start(&pair, |pair| pair.write());
        pair.write();
        finish([other]);
        assert_eq!(pair.read(), 2);
    });
}

/// A reader and a writer: exclusion and wake-ups in every order there is.
#[test]
fn a_reader_and_a_writer_exclude_each_other_in_every_order() {
    explore_fully(|| {
        let pair = sound_pair();
        let other = start(&pair, |pair| pair.write());
        assert!(pair.read() <= 1);
        finish([other]);
        assert_eq!(pair.read(), 1);
    });
}

/// Three writers: each change is alone and complete, and each writer gets its turn.
#[test]
fn writers_exclude_each_other_and_none_is_left_asleep() {
    explore_within(2, || {
        let pair = sound_pair();
        let others = [start(&pair, |pair| pair.write()), start(&pair, |pair| pair.write())];
        pair.write();
        finish(others);
        assert_eq!(pair.read(), 3);
    });
}

/// Two readers and a writer: no thread sees half a change, and every thread gets in.
#[test]
fn readers_and_a_writer_exclude_each_other_and_none_is_left_asleep() {
    explore_within(2, || {
        let pair = sound_pair();
        let reads = |pair: &Pair<_, _>| assert!(pair.read() <= 1);
        let others = [start(&pair, reads), start(&pair, reads)];
        pair.write();
        finish(others);
        assert_eq!(pair.read(), 1);
    });
}

/// Two writers and a reader: whether the reader is let in by one writer or stopped for the other,
/// no thread is left asleep.
#[test]
fn a_reader_between_two_writers_gets_in_and_lets_them_in() {
    explore_within(2, || {
        let pair = sound_pair();
        let writes = |pair: &Pair<_, _>| pair.write();
        let others = [start(&pair, writes), start(&pair, writes)];
        assert!(pair.read() <= 2);
        finish(others);
        assert_eq!(pair.read(), 2);
    });
}

/// A reader comes in while another one is inside; otherwise the join would wait for ever.
#[test]
fn readers_share() {
    explore_fully(|| {
        let pair = sound_pair();
        pair.latch.shared(|| Actor);
        finish([start(&pair, |pair| assert_eq!(pair.read(), 0))]);
        pair.latch.release_shared(&Actor);
        assert!(pair.latch.try_exclusive());
    });
}

/// A no-wait get either has the latch or hasn't, also among gets that wait; a latch that it has is
/// its own.
#[test]
fn no_wait_gets_exclude_like_the_others() {
    explore_within(2, || {
        let pair = sound_pair();
        let writer = start(&pair, |pair| pair.write());
        let trier = start(&pair, |pair| {
            if pair.latch.try_exclusive() {
                pair.change();
                pair.latch.release_exclusive(&Actor);
            }
        });
        if pair.latch.try_shared() {
            pair.read_held();
            pair.latch.release_shared(&Actor);
        }
        finish([writer, trier]);
        assert!(matches!(pair.read(), 1 | 2));
    });
}

/// Returns when a thread waits for the latch.
fn until_waited_for(pair: &Pair<AtomicU64, Futex>) {
    let waiting = || pair.latch.state().waiting_readers() + pair.latch.state().waiting_writers();
    while waiting() == 0 {
        thread::yield_now();
    }
}

/// A reader that comes after a waiting writer sees the writer's change: the writer was first,
/// though a reader held the latch when both came.
#[test]
fn a_waiting_writer_comes_before_later_readers() {
    explore_within(2, || {
        let pair = sound_pair();
        pair.latch.shared(|| Actor);
        let writer = start(&pair, |pair| pair.write());
        until_waited_for(&pair);
        let reader = start(&pair, |pair| assert_eq!(pair.read(), 1, "a writer was overtaken"));
        pair.latch.release_shared(&Actor);
        finish([writer, reader]);
    });
}

/// A writer that releases and comes again at once comes after a waiting reader: the reader sees the
/// first change and not the second.
#[test]
fn a_waiting_reader_comes_before_the_next_writer() {
    explore_within(3, || {
        let pair = sound_pair();
        pair.latch.exclusive(|| Actor);
        let reader = start(&pair, |pair| assert_eq!(pair.read(), 1, "a reader was overtaken"));
        until_waited_for(&pair);
        pair.change();
        pair.latch.release_exclusive(&Actor);
        pair.write();
        finish([reader]);
        assert_eq!(pair.read(), 2);
    });
}

/// A number under a latch, and a condition that notifies of its change.
struct Queue {
    pair: Rc<Pair<AtomicU64, Futex>>,
    condition: RawCondition<AtomicU64, Futex>,
}

impl Queue {
    fn new() -> Rc<Queue> {
        let condition = RawCondition::new(AtomicU64::new(0), Futex::new());
        Rc::new(Queue { pair: sound_pair(), condition })
    }

    /// Waits as `Condition::wait` does, until the number is `least`.
    fn wait_for(&self, least: u32) {
        self.pair.latch.exclusive(|| Actor);
        while self.pair.read_held() < least {
            let ticket = self.condition.enter();
            self.pair.latch.release_exclusive(&Actor);
            let _ = self.condition.word.sleep(ticket.0);
            self.condition.leave();
            self.pair.latch.exclusive(|| Actor);
        }
        self.pair.latch.release_exclusive(&Actor);
    }
}

/// One thread waits for the other's change, notified after the latch was released.
#[test]
fn a_condition_told_after_letting_go_loses_no_wake_up() {
    explore_fully(|| {
        let queue = Queue::new();
        let waiter = start(&queue, |queue| queue.wait_for(1));
        queue.pair.write();
        queue.condition.notify(1, &Actor);
        finish([waiter]);
    });
}

/// Two threads wait and are notified with the latch still held.
#[test]
fn a_condition_told_under_the_latch_wakes_all() {
    explore_within(1, || {
        let queue = Queue::new();
        let waits = |queue: &Queue| queue.wait_for(1);
        let waiters = [start(&queue, waits), start(&queue, waits)];
        queue.pair.latch.exclusive(|| Actor);
        queue.pair.change();
        queue.condition.notify(u32::MAX, &Actor);
        queue.pair.latch.release_exclusive(&Actor);
        finish(waiters);
    });
}

/// A condition with two waiters: one notification for each lets both go on.
#[test]
fn one_wake_up_for_each_of_two_waiters_lets_both_go_on() {
    explore_within(1, || {
        let queue = Queue::new();
        let waits = |queue: &Queue| queue.wait_for(1);
        let waiters = [start(&queue, waits), start(&queue, waits)];
        queue.pair.write();
        queue.condition.notify(1, &Actor);
        queue.condition.notify(1, &Actor);
        finish(waiters);
    });
}

/// A woken process finds the work that was made visible before the post, whether it was asleep,
/// about to sleep or busy.
#[test]
fn a_post_is_sticky_and_shows_the_work_before_it() {
    explore_fully(|| {
        let signal = Rc::new((RawSignal { word: Futex::new() }, UnsafeCell::new(0)));
        let poster = start(&signal, |(signal, work)| {
            // SAFETY: before the post this thread alone touches the work; loom checks that.
            work.with_mut(|work| unsafe { *work = 7 });
            signal.post(&Actor);
        });
        assert!(signal.0.wait(Futex::sleep));
        // SAFETY: after the post that was waited for, this thread alone touches the work.
        assert_eq!(signal.1.with(|work| unsafe { *work }), 7);
        finish([poster]);
    });
}

/// Two posters: a post after the one that was taken isn't swallowed with it.
#[test]
fn no_post_is_swallowed_with_another() {
    explore_within(2, || {
        let shared = Rc::new((RawSignal { word: Futex::new() }, AtomicU64::new(0)));
        let posts = |(signal, work): &(RawSignal<Futex>, AtomicU64)| {
            work.fetch_add(1, Ordering::Relaxed);
            signal.post(&Actor);
        };
        let posters = [start(&shared, posts), start(&shared, posts)];
        let (signal, work) = &*shared;
        while work.load(Ordering::Relaxed) < 2 {
            assert!(signal.wait(Futex::sleep));
        }
        finish(posters);
    });
}

/// A wait whose time is up while a post comes: the post ends this wait or the next one.
#[test]
fn a_post_at_the_end_of_a_timeout_is_kept() {
    explore_fully(|| {
        let signal = Rc::new(RawSignal { word: Futex::new() });
        let poster = start(&signal, |signal| signal.post(&Actor));
        if !signal.wait(|_, _| Woken::TimedOut) {
            assert!(signal.wait(Futex::sleep));
        }
        finish([poster]);
        assert!(!signal.take());
    });
}

/// Releases without release order.
struct RelaxedAtom(AtomicU64);

impl Atom for RelaxedAtom {
    fn load(&self, order: Ordering) -> u64 {
        Atom::load(&self.0, order)
    }

    fn exchange(&self, seen: u64, next: u64, order: Ordering) -> Result<u64, u64> {
        let weaker = if order == Ordering::Release { Ordering::Relaxed } else { order };
        Atom::exchange(&self.0, seen, next, weaker)
    }

    fn add(&self, amount: u64, order: Ordering) {
        self.0.add(amount, order);
    }

    fn subtract(&self, amount: u64, order: Ordering) -> u64 {
        self.0.subtract(amount, order)
    }
}

/// Broken on purpose: the next holder needn't see the last holder's writes.
#[test]
#[should_panic(expected = "Causality violation")]
fn the_model_finds_a_latch_let_go_without_a_release() {
    explore_fully(|| {
        let pair = Pair::new(RelaxedAtom(AtomicU64::new(0)), Futex::new(), Futex::new());
        let other = start(&pair, |pair| pair.write());
        pair.write();
        finish([other]);
    });
}

/// Wakes sleepers, but doesn't raise the word for a thread that is about to sleep.
struct DeafFutex(Futex);

impl Word for DeafFutex {
    fn load(&self) -> u32 {
        self.0.load()
    }

    fn raise(&self) {}

    fn set_bits(&self, bits: u32) -> u32 {
        self.0.set_bits(bits)
    }

    fn replace(&self, value: u32) -> u32 {
        self.0.replace(value)
    }
}

impl Waker<DeafFutex> for Actor {
    fn wake(&self, word: &DeafFutex, count: u32) {
        word.0.wake_up(count);
    }
}

impl Sleeper<DeafFutex> for Actor {
    const SPIN_TURNS: u32 = 0;
    const UNWINDS: bool = false;

    fn relax(self, _turn: u32) {
        thread::yield_now();
    }

    fn sleep(self, word: &DeafFutex, expected: u32, _: Option<Nanos>, _tries: u64) -> Woken {
        word.0.sleep(expected)
    }
}

/// Broken on purpose: a wake between the look at the state and the sleep is lost.
#[test]
#[should_panic(expected = "deadlock")]
fn the_model_finds_a_wake_up_lost_before_the_sleep() {
    explore_fully(|| {
        let state = AtomicU64::new(0);
        let pair = Pair::new(state, DeafFutex(Futex::new()), DeafFutex(Futex::new()));
        let other = start(&pair, |pair| pair.write());
        pair.write();
        finish([other]);
    });
}

/// Broken on purpose: the awaited state changes outside the latch, against rule L9, so that the
/// notifier looks for sleepers too early.
#[test]
#[should_panic(expected = "deadlock")]
fn the_model_finds_a_condition_changed_outside_its_latch() {
    explore_fully(|| {
        let shared = Rc::new((Queue::new(), AtomicU64::new(0)));
        let waiter = start(&shared, |(queue, number)| {
            queue.pair.latch.exclusive(|| Actor);
            while number.load(Ordering::Acquire) == 0 {
                let ticket = queue.condition.enter();
                queue.pair.latch.release_exclusive(&Actor);
                let _ = queue.condition.word.sleep(ticket.0);
                queue.condition.leave();
                queue.pair.latch.exclusive(|| Actor);
            }
            queue.pair.latch.release_exclusive(&Actor);
        });
        shared.1.store(1, Ordering::Release);
        shared.0.condition.notify(1, &Actor);
        finish([waiter]);
    });
}

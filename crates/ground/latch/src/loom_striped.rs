//! The striped latch under a model checker, as in `loom_tests.rs`; the last tests break it on
//! purpose, one step after the other.
//!
//! Loom takes a sequentially consistent access for one that acquires and releases. The model adds a
//! fence between a thread's own step and its look at the other side. Each thread has a stripe.

use std::rc::Rc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, SeqCst};

use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicU32, AtomicU64, fence};

use crate::loom_tests::{Actor, Futex, explore_fully, explore_within, finish, start};
use crate::parts::Holds;
use crate::raw::RawLatch;
use crate::state::State;

/// Shared holds in two stripes.
struct Stripes([AtomicU32; 2]);

/// The holds as one thread counts them.
#[derive(Clone, Copy)]
struct Stripe<'a> {
    all: &'a Stripes,
    own: usize,
    broken: Broken,
}

/// The part that is left out on purpose.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Broken {
    Nothing,
    /// Accesses only acquire and release.
    Order,
    /// No waiter is told that a stripe has become empty.
    Telling,
}

impl Stripe<'_> {
    fn fence(&self) {
        if self.broken != Broken::Order {
            fence(SeqCst);
        }
    }
}

impl Holds for Stripe<'_> {
    const UNWINDS: bool = false;

    fn enter(&self) {
        self.all.0[self.own].fetch_add(1, AcqRel);
        self.fence();
    }

    fn leave(&self) -> bool {
        let before = self.all.0[self.own].fetch_sub(1, AcqRel);
        assert!(before > 0, "a latch is let go that isn't held");
        self.fence();
        before == 1 && self.broken != Broken::Telling
    }

    fn any(&self) -> bool {
        self.fence();
        self.all.0.iter().any(|stripe| stripe.load(Acquire) != 0)
    }
}

/// A striped latch around two numbers that are equal except during a change.
struct Pair {
    latch: RawLatch<AtomicU64, Futex>,
    stripes: Stripes,
    numbers: UnsafeCell<(u32, u32)>,
    broken: Broken,
}

impl Pair {
    fn new(broken: Broken) -> Rc<Pair> {
        let latch = RawLatch::new(AtomicU64::new(0), Futex::new(), Futex::new());
        let stripes = Stripes([AtomicU32::new(0), AtomicU32::new(0)]);
        Rc::new(Pair { latch, stripes, numbers: UnsafeCell::new((0, 0)), broken })
    }

    fn stripe(&self, own: usize) -> Stripe<'_> {
        Stripe { all: &self.stripes, own, broken: self.broken }
    }

    fn change(&self) {
        // SAFETY: called with the latch held exclusively; loom checks that (rule L6).
        self.numbers.with_mut(|numbers| unsafe {
            (*numbers).0 += 1;
            (*numbers).1 += 1;
        });
    }

    fn read_held(&self) -> u32 {
        // SAFETY: called with the latch held; loom checks that (rule L6).
        let (first, second) = self.numbers.with(|numbers| unsafe { *numbers });
        assert_eq!(first, second, "a reader sees a change half made");
        first
    }

    fn write(&self) {
        self.latch.exclusive_striped(&self.stripe(0), || Actor);
        self.change();
        self.latch.release_exclusive(&Actor);
    }

    fn get_shared(&self, own: usize) {
        self.latch.shared_striped(&self.stripe(own), &Actor, || Actor);
    }

    fn let_go_shared(&self, own: usize) {
        self.latch.release_shared_striped(&self.stripe(own), &Actor);
    }

    fn read(&self, own: usize) -> u32 {
        self.get_shared(own);
        let number = self.read_held();
        self.let_go_shared(own);
        number
    }
}

/// L12, L13: a reader and a writer exclude each other and lose no wake-up. The bound is four
/// preemptions: an unbounded search takes a minute and finds no more (it was run once).
#[test]
fn a_striped_reader_and_a_writer_exclude_each_other_and_none_is_left_asleep() {
    explore_within(4, || {
        let pair = Pair::new(Broken::Nothing);
        let other = start(&pair, |pair| pair.write());
        assert!(pair.read(1) <= 1);
        finish([other]);
        assert_eq!(pair.read_held(), 1);
    });
}

/// Two readers, each in a stripe, and a writer: no thread sees half a change, and every thread gets
/// in, also the writer that sleeps until both readers have left.
#[test]
fn readers_of_two_stripes_and_a_writer_exclude_each_other_and_none_is_left_asleep() {
    explore_within(2, || {
        let pair = Pair::new(Broken::Nothing);
        let others =
            [0, 1].map(|own| start(&pair, move |pair: &Pair| assert!(pair.read(own) <= 1)));
        pair.write();
        finish(others);
        assert_eq!(pair.read(0), 1);
    });
}

/// Two writers and a reader: a reader that was let in by the state keeps the other writer out.
#[test]
fn a_striped_reader_between_two_writers_gets_in_and_lets_them_in() {
    explore_within(2, || {
        let pair = Pair::new(Broken::Nothing);
        let writes = |pair: &Pair| pair.write();
        let others = [start(&pair, writes), start(&pair, writes)];
        assert!(pair.read(1) <= 2);
        finish(others);
        assert_eq!(pair.read(1), 2);
    });
}

/// A reader comes in while another one is inside; otherwise the join would wait for ever.
#[test]
fn striped_readers_share() {
    explore_fully(|| {
        let pair = Pair::new(Broken::Nothing);
        pair.get_shared(0);
        finish([start(&pair, |pair| assert_eq!(pair.read(1), 0))]);
        assert!(!pair.latch.try_exclusive_striped(&pair.stripe(0), &Actor));
        pair.let_go_shared(0);
        assert!(pair.latch.try_exclusive_striped(&pair.stripe(0), &Actor));
        assert!(!pair.latch.try_shared_striped(&pair.stripe(1), &Actor));
    });
}

/// A no-wait get either has the latch or hasn't, also among gets that wait. A get that fails leaves
/// no thread waiting for the latch that it had for a moment.
#[test]
fn striped_no_wait_gets_exclude_like_the_others() {
    explore_within(2, || {
        let pair = Pair::new(Broken::Nothing);
        let trier = start(&pair, |pair| {
            if pair.latch.try_exclusive_striped(&pair.stripe(0), &Actor) {
                pair.change();
                pair.latch.release_exclusive(&Actor);
            }
        });
        let reader = start(&pair, |pair| assert!(pair.read(1) <= 1));
        if pair.latch.try_shared_striped(&pair.stripe(0), &Actor) {
            pair.read_held();
            pair.let_go_shared(0);
        }
        finish([trier, reader]);
        assert!(pair.read(0) <= 1);
    });
}

/// Returns when a writer has the state and waits for the readers inside.
fn until_drained_for(pair: &Pair) {
    while !pair.latch.state().keeps_readers_out() {
        loom::thread::yield_now();
    }
}

/// A reader that comes after a draining writer sees its change (L7).
#[test]
fn a_draining_writer_comes_before_later_readers() {
    explore_within(2, || {
        let pair = Pair::new(Broken::Nothing);
        pair.get_shared(0);
        let writer = start(&pair, |pair| pair.write());
        until_drained_for(&pair);
        let reader = start(&pair, |pair| assert_eq!(pair.read(1), 1, "a writer was overtaken"));
        pair.let_go_shared(0);
        finish([writer, reader]);
    });
}

/// A writer that releases and comes again at once comes after a waiting reader (L7).
#[test]
fn a_waiting_striped_reader_comes_before_the_next_writer() {
    explore_within(3, || {
        let pair = Pair::new(Broken::Nothing);
        pair.latch.exclusive_striped(&pair.stripe(0), || Actor);
        let reader = start(&pair, |pair| assert_eq!(pair.read(1), 1, "a reader was overtaken"));
        while pair.latch.state().waiting_readers() == 0 {
            loom::thread::yield_now();
        }
        pair.change();
        pair.latch.release_exclusive(&Actor);
        pair.write();
        finish([reader]);
        assert_eq!(pair.read(0), 2);
    });
}

/// Broken on purpose: both sides look before the other side can see that they have come.
#[test]
#[should_panic(expected = "Causality violation")]
fn the_model_finds_stripes_that_only_acquire_and_release() {
    explore_fully(|| {
        let pair = Pair::new(Broken::Order);
        let other = start(&pair, |pair| pair.write());
        pair.read(1);
        finish([other]);
    });
}

/// Broken on purpose: a writer that waits for the readers isn't told that they have left.
#[test]
#[should_panic(expected = "deadlock")]
fn the_model_finds_a_reader_that_leaves_in_silence() {
    explore_fully(|| {
        let pair = Pair::new(Broken::Telling);
        let other = start(&pair, |pair| pair.write());
        pair.read(1);
        finish([other]);
    });
}

/// Broken on purpose: the reader looks for a writer first and enters afterwards.
#[test]
#[should_panic(expected = "Causality violation")]
fn the_model_finds_a_reader_that_looks_before_it_enters() {
    explore_fully(|| {
        let pair = Pair::new(Broken::Nothing);
        let other = start(&pair, |pair| pair.write());
        if !pair.latch.state().keeps_readers_out() {
            pair.stripe(1).enter();
            pair.read_held();
            pair.let_go_shared(1);
        }
        finish([other]);
    });
}

/// Broken on purpose: the writer looks for readers first and takes the state afterwards.
#[test]
#[should_panic(expected = "Causality violation")]
fn the_model_finds_a_writer_that_looks_before_it_takes() {
    explore_fully(|| {
        let pair = Pair::new(Broken::Nothing);
        let other = start(&pair, |pair| {
            let empty = !pair.stripe(0).any();
            if empty && pair.latch.try_take(State::take_exclusive, SeqCst) {
                pair.change();
                pair.latch.release_exclusive(&Actor);
            }
        });
        pair.read(1);
        finish([other]);
    });
}

/// Broken on purpose: a reader that was let in by the state gives up the state before it enters its
/// stripe.
#[test]
#[should_panic(expected = "Causality violation")]
fn the_model_finds_a_reader_that_is_nowhere_for_a_moment() {
    explore_fully(|| {
        let pair = Pair::new(Broken::Nothing);
        let other = start(&pair, |pair| pair.write());
        pair.latch.shared_waited(Actor);
        pair.latch.release_shared(&Actor);
        pair.stripe(1).enter();
        pair.read_held();
        pair.let_go_shared(1);
        finish([other]);
    });
}

//! Rules CB3 and CB4 under a model checker, loom: every order of the steps by which a frame is
//! pinned, taken away, and given back after a read that has failed. At the end the same with two
//! steps the wrong way round: the model must find that out, or it finds nothing out.
//!
//! The steps are those of `frame.rs`, `get.rs` and `victim.rs`, and of the counts in crate `latch`,
//! written down again without a cache around them. Loom takes a sequentially consistent access for
//! one that acquires and releases, so the model says the rest by a fence between what a thread does
//! and where it looks next.
#![forbid(unsafe_code)]

use std::rc::Rc;
use std::sync::atomic::Ordering::SeqCst;

use loom::sync::Mutex;
use loom::sync::atomic::{AtomicU32, fence};
use loom::thread;

const VACANT: u32 = 1;
const READING: u32 = 2;
const FAILED: u32 = 4;

/// No block.
const NOWHERE: u32 = 0;
const ONE: u32 = 1;
const OTHER: u32 = 2;

/// A frame, whose bytes are the address of the block that they are of.
struct Frame {
    status: AtomicU32,
    pins: [AtomicU32; 2],
    address: AtomicU32,
    bytes: AtomicU32,
    /// How often it was recycled. The latch of its shard of reads.
    recycled: Mutex<u32>,
}

impl Frame {
    fn new(status: u32, pins: [u32; 2], address: u32) -> Rc<Frame> {
        Rc::new(Frame {
            status: AtomicU32::new(status),
            pins: pins.map(AtomicU32::new),
            address: AtomicU32::new(address),
            bytes: AtomicU32::new(address),
            recycled: Mutex::new(0),
        })
    }

    fn pin(&self, stripe: usize) {
        self.pins[stripe].fetch_add(1, SeqCst);
        fence(SeqCst);
    }

    fn unpin(&self, stripe: usize) -> bool {
        let before = self.pins[stripe].fetch_sub(1, SeqCst);
        assert!(before > 0, "a frame is unpinned that isn't pinned");
        fence(SeqCst);
        before == 1
    }

    fn has_pins(&self) -> bool {
        fence(SeqCst);
        self.pins.iter().any(|pins| pins.load(SeqCst) != 0)
    }

    /// A hit on a hint; whether it was one.
    fn hit(&self, address: u32, stripe: usize) -> bool {
        self.pin(stripe);
        let is_hit = self.status.load(SeqCst) == 0 && self.address.load(SeqCst) == address;
        if is_hit {
            self.look(address);
        }
        self.let_go(stripe);
        is_hit
    }

    /// Whoever has the block pinned finds it there, however often he looks.
    fn look(&self, address: u32) {
        for _ in 0..2 {
            assert_eq!(self.bytes.load(SeqCst), address, "a pinned block goes");
        }
        assert_eq!(self.address.load(SeqCst), address, "a pinned frame has another block");
    }

    fn let_go(&self, stripe: usize) {
        if self.unpin(stripe) && self.status.load(SeqCst) & FAILED != 0 {
            self.recycle();
        }
    }

    fn recycle(&self) {
        let mut recycled = self.recycled.lock().expect("nobody panics");
        if self.status.load(SeqCst) == FAILED && !self.has_pins() {
            assert_eq!(self.status.swap(VACANT, SeqCst), FAILED);
            *recycled += 1;
        }
    }

    fn vacate(&self) -> bool {
        if self.status.compare_exchange(0, VACANT, SeqCst, SeqCst).is_err() {
            return false;
        }
        let pinned = self.has_pins();
        if pinned {
            self.status.fetch_and(!VACANT, SeqCst);
        }
        !pinned
    }

    /// Of who has vacated it: another block comes in, with his own pin while it is read.
    fn replace(&self, address: u32, stripe: usize) {
        self.address.store(NOWHERE, SeqCst);
        self.pin(stripe);
        assert_eq!(self.status.swap(READING, SeqCst), VACANT);
        self.address.store(address, SeqCst);
        self.bytes.store(address, SeqCst);
        assert_eq!(self.status.swap(0, SeqCst), READING);
        self.look(address);
        self.let_go(stripe);
    }
}

fn start(frame: &Rc<Frame>, body: impl FnOnce(&Frame) + 'static) -> thread::JoinHandle<()> {
    let frame = Rc::clone(frame);
    thread::spawn(move || body(&frame))
}

fn explore(preemptions: Option<usize>, claim: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = preemptions;
    model.check(claim);
}

/// CB3: a block that was pinned on a hint stays, and a frame that was taken away isn't used as the
/// block that it had.
#[test]
fn a_hit_and_a_taker_exclude_each_other_in_every_order() {
    explore(None, || {
        let frame = Frame::new(0, [0, 0], ONE);
        let hit = start(&frame, |frame| {
            frame.hit(ONE, 0);
        });
        if frame.vacate() {
            frame.replace(OTHER, 1);
        }
        hit.join().expect("nobody panics");
        assert!(!frame.has_pins());
    });
}

/// The same with hits on the old block and on the new one.
#[test]
fn hits_in_two_stripes_and_a_taker_exclude_each_other() {
    explore(Some(2), || {
        let frame = Frame::new(0, [0, 0], ONE);
        let hits = [(ONE, 0), (OTHER, 1)].map(|(address, stripe)| {
            start(&frame, move |frame| {
                frame.hit(address, stripe);
            })
        });
        if frame.vacate() {
            frame.replace(OTHER, 1);
        }
        hits.into_iter().for_each(|hit| hit.join().expect("nobody panics"));
        assert!(!frame.has_pins());
    });
}

/// CB4: of the sessions that have waited for a read that failed, one gives the frame back, in
/// whatever order they let go, and also if a hint has brought one more for a moment.
#[test]
fn one_session_recycles_a_failed_frame() {
    explore(Some(2), || {
        let frame = Frame::new(FAILED, [1, 1], NOWHERE);
        let others = [
            start(&frame, |frame| frame.let_go(0)),
            start(&frame, |frame| assert!(!frame.hit(ONE, 0))),
        ];
        frame.let_go(1);
        others.into_iter().for_each(|other| other.join().expect("nobody panics"));
        assert_eq!(*frame.recycled.lock().expect("nobody panics"), 1);
        assert_eq!(frame.status.load(SeqCst), VACANT);
    });
}

/// Broken on purpose: who takes the frame looks for pins before he says so.
#[test]
#[should_panic(expected = "a pinned")]
fn the_model_finds_a_taker_that_looks_too_early() {
    explore(None, || {
        let frame = Frame::new(0, [0, 0], ONE);
        let hit = start(&frame, |frame| {
            frame.hit(ONE, 0);
        });
        if !frame.has_pins() && frame.status.compare_exchange(0, VACANT, SeqCst, SeqCst).is_ok() {
            frame.replace(OTHER, 1);
        }
        let _ = hit.join();
    });
}

/// Broken on purpose: a hit looks at what it is to have before it pins it.
#[test]
#[should_panic(expected = "a pinned")]
fn the_model_finds_a_hit_that_looks_too_early() {
    explore(None, || {
        let frame = Frame::new(0, [0, 0], ONE);
        let hit = start(&frame, |frame| {
            if frame.status.load(SeqCst) == 0 && frame.address.load(SeqCst) == ONE {
                frame.pin(0);
                frame.look(ONE);
                frame.let_go(0);
            }
        });
        if frame.vacate() {
            frame.replace(OTHER, 1);
        }
        let _ = hit.join();
    });
}

/// Broken on purpose: who lets go looks whether he is the last one before he has let go.
#[test]
#[should_panic(expected = "the frame is lost")]
fn the_model_finds_a_failed_frame_that_nobody_recycles() {
    explore(None, || {
        let frame = Frame::new(FAILED, [1, 1], NOWHERE);
        let lets_go = |frame: &Frame, own: usize| {
            let is_last = frame.pins[1 - own].load(SeqCst) == 0;
            frame.unpin(own);
            if is_last {
                frame.recycle();
            }
        };
        let other = start(&frame, move |frame| lets_go(frame, 0));
        lets_go(&frame, 1);
        other.join().expect("nobody panics");
        let recycled = *frame.recycled.lock().expect("nobody panics");
        assert_eq!(recycled, 1, "the frame is lost");
    });
}

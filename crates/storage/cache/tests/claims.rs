//! Pins on hints against sessions that take frames away, in schedules bent by seeds: a pinned block
//! stays, and no frame is lost, also when reads fail.
#![forbid(unsafe_code)]

mod common;

use common::{Bed, DATA, Toy, dba, racy, small, version};
use latch::FrameOrder;
use os::Session;
use sim::fs::Operation;
use sim::fs::faults::{Fault, FaultPlan, Scope};
use testbed::{Dice, run};

/// More than there are frames, so that nearly every miss takes a frame away; few, so that hits are
/// on what is just being taken.
const BLOCKS: u32 = 20;
const STEPS: u32 = 40;

/// One block in one of the ways of getting one. What is pinned is looked at twice, with others
/// coming between: it is the same block with the same contents.
fn get(bed: &Bed, dice: &mut Dice, session: &Session) {
    let address = dba(dice.below(BLOCKS.into()) as u32);
    let order = FrameOrder::Heap;
    match dice.below(4) {
        0 => drop(bed.cache.pin_or_unwritten(address, session)),
        1 => {
            let Ok(pin) = bed.cache.pin_or_unwritten(address, session) else { return };
            let again = pin.clone();
            drop(pin);
            session.interleave();
            assert_eq!(again.address(), address, "a pinned block goes");
            let before = version(address, &again.shared(order, session));
            session.interleave();
            assert!(version(address, &again.shared(order, session)) >= before);
        }
        2 => {
            let Ok(block) = bed.cache.pin_shared(address, order, session) else { return };
            let before = version(address, &block);
            session.interleave();
            assert_eq!(version(address, &block), before, "a block changes under a reader");
        }
        _ => {
            let Ok(pin) = bed.cache.pin_or_unwritten(address, session) else { return };
            bed.change_pinned(&pin, session);
        }
    }
}

/// Hits, misses, changes and failed reads of six sessions over 16 frames; afterwards every frame
/// can still be had, and nothing that was changed is lost.
#[test]
fn a_pinned_block_stays_and_no_frame_is_lost() {
    for seed in 0..500 {
        let mut dice = Dice(seed);
        let config = small();
        let (sessions, faults) = (2 + dice.below(5), dice.one_of(&[0, 100_000, 500_000]));
        let mut simulation = racy(seed, &config, BLOCKS);
        let scope = Scope::of(&[Operation::Read]).under(DATA);
        let plan = FaultPlan::new(seed).per_million(faults, Fault::Eio, scope);
        simulation.disks[0].content.plan_faults(plan);
        run(simulation, move |world, session| {
            let bed = Bed::open(world, config, &Toy::default(), session);
            let users = (0..sessions).map(|number| {
                let mut dice = Dice(seed << 8 | number);
                bed.session("user", session, move |bed, session| {
                    (0..STEPS).for_each(|_| get(bed, &mut dice, session));
                })
            });
            for user in users.collect::<Vec<_>>() {
                user.join(session).expect("no panic");
            }
            // Some of these may fail still; then another is tried.
            let mut pins = Vec::new();
            for block in (0..BLOCKS).cycle().take(100 * BLOCKS as usize) {
                let is_new = |pin: &cache::Pin<'_>| pin.address() != dba(block);
                if pins.len() < 16 && pins.iter().all(is_new) {
                    pins.extend(bed.cache.pin_or_unwritten(dba(block), session));
                }
            }
            assert_eq!(pins.len(), 16, "a frame is lost");
            drop(pins);
            bed.checkpoint(session);
            bed.close(session);
        });
    }
}

//! Space: no block is of two, whoever asks for it at once, and whatever was cut off.

use space::Holds;
use std::collections::BTreeSet;
use std::sync::Arc;

use ids::Dba;
use latch::{Latch, LatchKind};
use stop::RefusalKind;

use crate::common::{
    Dice, check, creation, database, database_with, join, machine, parameters, racy, start,
    with_instance,
};

/// Sessions make segments and hand out blocks at random until the file is full: no block comes
/// twice, map and headers agree, also after a restart.
#[test]
fn blocks_handed_out_to_many_sessions_come_once() {
    let base = database(0);
    for seed in 0..40 {
        let ((), disk) = with_instance(racy(seed, base.clone()), move |instance, session| {
            let seen = Latch::new(session.os(), LatchKind::Innermost, BTreeSet::<Dba>::new());
            let seen = Arc::new(seen);
            let sessions = (0..4).map(|user| {
                let seen = Arc::clone(&seen);
                start("user", instance, session, move |instance, session| {
                    let mut dice = Dice(seed * 10 + user);
                    let space = instance.space();
                    let mut mine = Vec::new();
                    for step in 0..40 {
                        if mine.is_empty() || dice.below(8) == 0 {
                            // Two sessions want each name.
                            let name = format!("s{}_{step}", user / 2);
                            match space.create(&name, Holds::Table, session) {
                                Ok(segment) => mine.push(segment.header),
                                Err(stop) => assert!(stop.refusal().is_some(), "{stop}"),
                            }
                            continue;
                        }
                        let segment = mine[dice.below(mine.len() as u64) as usize];
                        let wanted = 1 + dice.below(9) as u32;
                        match space.hand_out(segment, wanted, session) {
                            Ok(run) => {
                                assert!((1..=wanted).contains(&run.count));
                                let mut seen = seen.exclusive(session);
                                run.addresses().for_each(|block| {
                                    assert!(seen.insert(block), "{block} came twice");
                                });
                            }
                            Err(stop) => {
                                assert_eq!(stop.refusal(), Some(RefusalKind::NoSpace), "{stop}");
                            }
                        }
                    }
                })
            });
            join(sessions.collect(), session);
            check(instance, session);
        });
        with_instance(machine(seed, disk), |instance, session| {
            check(instance, session);
        });
    }
}

/// A name that is taken or too long is refused, and nothing is taken for it.
#[test]
fn names_that_do_not_fit_are_refused_and_take_nothing() {
    database_with(creation(), parameters(), |instance, session| {
        let space = instance.space();
        let refused = |name: &str, kind| {
            let stop = space.create(name, Holds::Table, session).expect_err(name);
            assert_eq!(stop.refusal(), Some(kind), "{stop}");
        };
        refused("", RefusalKind::Invalid);
        refused("a\0b", RefusalKind::Invalid);
        refused(&"x".repeat(33), RefusalKind::Invalid);
        space.create("a", Holds::Table, session).expect("made");
        refused("a", RefusalKind::AlreadyExists);
        refused("_directory", RefusalKind::AlreadyExists);
        check(instance, session);
    });
}

/// Free space in pieces of one extent fills a header, which is what the refusal says; a segment
/// that has a header of its own goes on.
#[test]
fn a_header_full_of_extents_is_refused_as_that() {
    let creation = instance::Creation { data_bytes: 4_000 * 2048, extent_blocks: 4, ..creation() };
    database_with(creation, parameters(), |instance, session| {
        let space = instance.space();
        let make = |name: &str| space.create(name, Holds::Table, session).expect("made");
        let pieces: Vec<_> = (0..400).map(|number| make(&format!("p{number}"))).collect();
        let large = make("large").header;
        while space.hand_out(large, 64, session).is_ok() {}
        for piece in pieces.iter().step_by(2) {
            space.drop_segment(piece.object, session).expect("dropped");
        }
        check(instance, session);
        let one = make("one").header;
        let stop = loop {
            if let Err(stop) = space.hand_out(one, 64, session) {
                break stop;
            }
        };
        assert_eq!(stop.refusal(), Some(RefusalKind::NoSpace));
        assert!(stop.to_string().contains("its header has room for no more"), "{stop}");
        assert!(!stop.to_string().contains("is full"), "{stop}");
        let two = make("two").header;
        space.hand_out(two, 4, session).expect("there is space, and its header has room");
        check(instance, session);
    });
}

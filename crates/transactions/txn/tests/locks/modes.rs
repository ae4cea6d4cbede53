//! Which modes go together, what a holder has that asks for more, and which request goes first.

use os::Session;
use sim::Outside;
use stop::RefusalKind;
use testbed::run;
use txn::{LockWait, TableMode};

use crate::common::{Bed, kind, racy, settle, start};

const TABLE: u32 = 71;
use TableMode::{
    Exclusive as X, RowExclusive as RX, RowShare as RS, Share as S, ShareRowExclusive as SRX,
};

/// Oracle's matrix, as its documentation prints it.
const MATRIX: [(TableMode, [bool; 5]); 5] = [
    (RS, [true, true, true, true, false]),
    (RX, [true, true, false, false, false]),
    (S, [true, false, true, false, false]),
    (SRX, [true, false, false, false, false]),
    (X, [false, false, false, false, false]),
];

/// Every pair of modes: those that go together are granted at once; those that don't are refused at
/// once without a wait, and with a wait granted as soon as the first transaction has ended.
#[test]
fn every_pair_of_modes_goes_together_or_waits_as_the_matrix_says() {
    for seed in 0..20 {
        run(racy(seed), |world, session| {
            let bed = Bed::new(world.os(), 2, session);
            for (first, line) in MATRIX {
                for (second, goes) in TableMode::ALL.into_iter().zip(line) {
                    let one = bed.begin(0, session);
                    let other = bed.begin(1, session);
                    bed.lock(one, TABLE, first, session).expect("nobody has it");
                    let locks = &bed.locks;
                    let refused = locks.lock_table(other, TABLE, second, LockWait::NoWait, session);
                    let busy = (!goes).then_some(RefusalKind::Busy);
                    assert_eq!(kind(&refused), busy, "{first}, then {second}");
                    let waiter = start("waiter", &bed, session, move |bed, session| {
                        bed.lock(other, TABLE, second, session).expect("the first one ends");
                        bed.end(other, session);
                    });
                    settle(session);
                    assert_eq!(waiter.has_ended(), goes, "{first}, then {second}");
                    bed.end(one, session);
                    waiter.join(session).expect("no panic");
                    assert_eq!(bed.locks.held(session), []);
                    assert_eq!(bed.locks.tables_watched(session), 0);
                }
            }
        });
    }
}

fn modes(bed: &Bed, session: &Session) -> Vec<(u16, TableMode)> {
    bed.locks.held(session).iter().map(|held| (held.owner.segment, held.mode)).collect()
}

/// A transaction that asks for a second mode has the weakest mode that covers both.
#[test]
fn a_holder_that_asks_for_more_has_both() {
    let both = [
        (RS, [RS, RX, S, SRX, X]),
        (RX, [RX, RX, SRX, SRX, X]),
        (S, [S, SRX, S, SRX, X]),
        (SRX, [SRX, SRX, SRX, SRX, X]),
        (X, [X, X, X, X, X]),
    ];
    run(racy(1), move |world, session| {
        let bed = Bed::new(world.os(), 1, session);
        for (first, line) in both {
            for (second, expected) in TableMode::ALL.into_iter().zip(line) {
                let one = bed.begin(0, session);
                for mode in [first, second] {
                    bed.lock(one, TABLE, mode, session).expect("it is alone");
                }
                assert_eq!(modes(&bed, session), [(0, expected)], "{first}, then {second}");
                bed.end(one, session);
            }
        }
    });
}

/// A table whose mode is lowered is held as it was before, and who waits for that goes on.
#[test]
fn what_is_lowered_is_as_it_was_before() {
    // The strongest mode that goes with what is there before.
    let befores = [(None, X), (Some(RS), SRX), (Some(RX), RX), (Some(S), S), (Some(SRX), RS)];
    for seed in 0..20 {
        run(racy(seed), move |world, session| {
            let bed = Bed::new(world.os(), 2, session);
            for (before, wish) in befores {
                for more in TableMode::ALL {
                    let [one, other] = [0, 1].map(|segment| bed.begin(segment, session));
                    if let Some(mode) = before {
                        bed.lock(one, TABLE, mode, session).expect("free");
                    }
                    bed.lock(one, TABLE, more, session).expect("it is alone");
                    let has = before.map_or(more, |before| before.and(more));
                    assert_eq!(bed.locks.mode(one, TABLE, session), Some(has));
                    let waiter = start("waiter", &bed, session, move |bed, session| {
                        bed.lock(other, TABLE, wish, session).expect("it goes with that");
                    });
                    settle(session);
                    let what = format!("{before:?}, then {more}, and {wish} is wanted");
                    assert_eq!(waiter.has_ended(), has.goes_with(wish), "{what}");
                    bed.locks.lower(one, TABLE, before, session);
                    waiter.join(session).expect("no panic");
                    assert_eq!(bed.locks.mode(one, TABLE, session), before, "{what}");
                    assert_eq!(bed.locks.mode(other, TABLE, session), Some(wish), "{what}");
                    bed.end(one, session);
                    bed.end(other, session);
                    assert_eq!(bed.locks.held(session), []);
                    assert_eq!(bed.locks.tables_watched(session), 0);
                }
            }
        });
    }
}

/// A transaction that has the table and wants more goes before all that have nothing, and needs
/// only that other holders end.
#[test]
fn a_conversion_goes_before_the_queue() {
    for seed in 0..50 {
        let order = Outside::new(Vec::new());
        let inside = order.clone();
        run(racy(seed), move |world, session| {
            let bed = Bed::new(world.os(), 4, session);
            let ids = [0, 1, 2, 3].map(|segment| bed.begin(segment, session));
            bed.lock(ids[0], TABLE, RX, session).expect("free");
            bed.lock(ids[1], TABLE, RX, session).expect("goes with RX");
            let wishes = [(2, S), (3, RX), (1, S)];
            let mut waiters = Vec::new();
            for (number, mode) in wishes {
                let order = inside.clone();
                let waiter = start("waiter", &bed, session, move |bed, session| {
                    bed.lock(ids[number], TABLE, mode, session).expect("others end");
                    order.with(|order| order.push(number));
                    settle(session);
                    bed.end(ids[number], session);
                });
                waiters.push(waiter);
                settle(session);
            }
            assert_eq!(bed.locks.waiting(session).len(), 3);
            bed.end(ids[0], session);
            for waiter in waiters {
                waiter.join(session).expect("no panic");
            }
        });
        // RX and S make SRX, which keeps all others out; then the queue follows in its order.
        assert_eq!(order.take(), [1, 2, 3], "seed {seed}");
    }
}

/// A request for X isn't overtaken by later ones for RX, and one of these that doesn't wait is
/// refused at once.
#[test]
fn nobody_overtakes_the_first_in_the_queue() {
    for seed in 0..50 {
        let order = Outside::new(Vec::new());
        let inside = order.clone();
        run(racy(seed), move |world, session| {
            let bed = Bed::new(world.os(), 8, session);
            let first = bed.begin(0, session);
            bed.lock(first, TABLE, RX, session).expect("free");
            let wishes = [X, RX, RS, S, RX, X];
            let mut waiters = Vec::new();
            for (segment, mode) in (1..).zip(wishes) {
                let order = inside.clone();
                let waiter = start("waiter", &bed, session, move |bed, session| {
                    let id = bed.begin(segment, session);
                    bed.lock(id, TABLE, mode, session).expect("others end");
                    order.with(|order| order.push(segment));
                    settle(session);
                    bed.end(id, session);
                });
                waiters.push(waiter);
                settle(session);
            }
            let late = bed.begin(7, session);
            let refused = bed.locks.lock_table(late, TABLE, RS, LockWait::NoWait, session);
            assert_eq!(kind(&refused), Some(RefusalKind::Busy));
            bed.end(first, session);
            for waiter in waiters {
                waiter.join(session).expect("no panic");
            }
        });
        let mut order = order.take();
        // RX and RS come in together, and RS and S after RX has ended.
        order[1..3].sort_unstable();
        assert_eq!(order, [1, 2, 3, 4, 5, 6], "seed {seed}");
    }
}

//! Hermitage over the engine: every case at both levels, each step in the order that the test says,
//! with the outcome that we promise, by the API and by SQL text. Read committed gives what
//! Hermitage calls monotonic atomic view and more; serializable is snapshot isolation, so write
//! skew happens.
//!
//! Two rows, (1, 10) and (2, 20), in a table with a primary key and an index of the values. A
//! predicate reads the whole table, or the whole index. Each transaction has a session of its own,
//! and where a step must wait the test sees that it waits.
//!
//! Sources: Martin Kleppmann, Hermitage (github.com/ept/hermitage), whose cases and names these
//! are.
#![forbid(unsafe_code)]

mod stage;

use stage::Level::{self, ReadCommitted, Serializable};
use stage::{Condition, Play, on_stage};

/// What a change came to that was refused because of somebody else's.
const REFUSED: bool = false;
const DONE: bool = true;

const IS_THIRTY: Condition = Condition { text: "value = 30", holds: |value| value == 30 };
const BY_THREE: Condition =
    Condition { text: "value % 3 = 0", holds: |value| value.is_multiple_of(3) };
const BY_FIVE: Condition =
    Condition { text: "value % 5 = 0", holds: |value| value.is_multiple_of(5) };

/// G0, dirty write: prevented at both levels. T2 waits for T1; then read committed goes on from
/// what T1 left, serializable is refused.
fn g0(level: Level) {
    on_stage(move |play| {
        let (mut t1, mut t2) = (play.begin(level), play.begin(level));
        assert!(play.set(&mut t1, 1, 11));
        let t2_waits = play.set_waiting(t2.take(), 1, 12);
        assert!(play.set(&mut t1, 2, 21));
        play.commit(t1);
        t2 = t2_waits.ended(play);
        if level == Serializable {
            assert_eq!(t2.last, REFUSED);
            play.rollback(t2);
            assert_eq!(play.all(), [(1, 11), (2, 21)]);
            return;
        }
        assert_eq!(t2.last, DONE);
        assert_eq!(play.all(), [(1, 11), (2, 21)], "T1 is whole before T2 has committed");
        assert!(play.set(&mut t2, 2, 22));
        play.commit(t2);
        assert_eq!(play.all(), [(1, 12), (2, 22)]);
    });
}

/// G1a, aborted read: prevented at both levels. Nobody sees what T1 takes back.
fn g1a(level: Level) {
    on_stage(move |play| {
        let (mut t1, t2) = (play.begin(level), play.begin(level));
        assert!(play.set(&mut t1, 1, 101));
        assert_eq!(play.scan(&t2), [(1, 10), (2, 20)]);
        play.rollback(t1);
        assert_eq!(play.scan(&t2), [(1, 10), (2, 20)]);
        play.commit(t2);
    });
}

/// G1b, intermediate read: prevented at both levels. 101, which T1 overwrote, is never seen; what
/// it committed is seen by read committed.
fn g1b(level: Level) {
    on_stage(move |play| {
        let (mut t1, t2) = (play.begin(level), play.begin(level));
        assert!(play.set(&mut t1, 1, 101));
        assert_eq!(play.scan(&t2), [(1, 10), (2, 20)]);
        assert!(play.set(&mut t1, 1, 11));
        play.commit(t1);
        let seen = if level == ReadCommitted { 11 } else { 10 };
        assert_eq!(play.scan(&t2), [(1, seen), (2, 20)]);
        play.commit(t2);
    });
}

/// G1c, circular information flow: prevented at both levels. Neither sees the other's change.
fn g1c(level: Level) {
    on_stage(move |play| {
        let (mut t1, mut t2) = (play.begin(level), play.begin(level));
        assert!(play.set(&mut t1, 1, 11));
        assert!(play.set(&mut t2, 2, 22));
        assert_eq!(play.get(&t1, 2), Some(20));
        assert_eq!(play.get(&t2, 1), Some(10));
        play.commit(t1);
        play.commit(t2);
        assert_eq!(play.all(), [(1, 11), (2, 22)]);
    });
}

/// OTV, observed transaction vanishes: prevented at both levels. Once T3 has seen T1 in one row it
/// sees T1, or what came after, in the other; serializable T3 sees what was before both.
fn otv(level: Level) {
    on_stage(move |play| {
        let (mut t1, mut t2, t3) = (play.begin(level), play.begin(level), play.begin(level));
        assert!(play.set(&mut t1, 1, 11));
        assert!(play.set(&mut t1, 2, 19));
        let t2_waits = play.set_waiting(t2.take(), 1, 12);
        play.commit(t1);
        t2 = t2_waits.ended(play);
        if level == Serializable {
            assert_eq!(t2.last, REFUSED);
            assert_eq!(play.scan(&t3), [(1, 10), (2, 20)]);
            play.rollback(t2);
            assert_eq!(play.scan(&t3), [(1, 10), (2, 20)]);
            play.commit(t3);
            return;
        }
        assert_eq!(play.get(&t3, 1), Some(11));
        assert!(play.set(&mut t2, 2, 18));
        assert_eq!(play.get(&t3, 2), Some(19));
        play.commit(t2);
        assert_eq!(play.get(&t3, 2), Some(18));
        assert_eq!(play.get(&t3, 1), Some(12));
        play.commit(t3);
    });
}

/// PMP, predicate many preceders: happens at read committed (the second look finds T2's row);
/// prevented at serializable.
fn pmp(level: Level) {
    on_stage(move |play| {
        let (t1, mut t2) = (play.begin(level), play.begin(level));
        assert_eq!(play.matching(&t1, IS_THIRTY), []);
        play.insert(&mut t2, 3, 30);
        play.commit(t2);
        let found = play.matching(&t1, BY_THREE);
        match level {
            ReadCommitted => assert_eq!(found, [(3, 30)]),
            Serializable => assert_eq!(found, []),
        }
        play.commit(t1);
    });
}

/// PMP with a predicate that writes: T1 adds 10 to all, T2 deletes where the value is 20 and waits.
/// Read committed begins again and deletes the row that is 20 by then; serializable is refused.
fn pmp_write(level: Level) {
    on_stage(move |play| {
        let (mut t1, mut t2) = (play.begin(level), play.begin(level));
        assert!(play.set(&mut t1, 1, 20));
        assert!(play.set(&mut t1, 2, 30));
        let t2_waits = play.delete_waiting(t2.take(), 20);
        play.commit(t1);
        t2 = t2_waits.ended(play);
        if level == Serializable {
            assert_eq!(t2.last, REFUSED);
            play.rollback(t2);
            assert_eq!(play.all(), [(1, 20), (2, 30)]);
            return;
        }
        assert_eq!(t2.last, DONE);
        assert_eq!(play.scan(&t2), [(2, 30)]);
        play.commit(t2);
        assert_eq!(play.all(), [(2, 30)]);
    });
}

/// P4, lost update: happens at read committed, where T2 overwrites what it didn't read;
/// prevented at serializable.
fn p4(level: Level) {
    on_stage(move |play| {
        let (mut t1, mut t2) = (play.begin(level), play.begin(level));
        assert_eq!(play.get(&t1, 1), Some(10));
        assert_eq!(play.get(&t2, 1), Some(10));
        assert!(play.set(&mut t1, 1, 11));
        let t2_waits = play.set_waiting(t2.take(), 1, 12);
        play.commit(t1);
        t2 = t2_waits.ended(play);
        assert_eq!(t2.last, level == ReadCommitted);
        if t2.last {
            play.commit(t2)
        } else {
            play.rollback(t2)
        }
        let left = if level == ReadCommitted { 12 } else { 11 };
        assert_eq!(play.all(), [(1, left), (2, 20)]);
    });
}

/// G-single, read skew: happens at read committed; prevented at serializable.
fn g_single(level: Level) {
    on_stage(move |play| {
        let (t1, mut t2) = (play.begin(level), play.begin(level));
        assert_eq!(play.get(&t1, 1), Some(10));
        assert_eq!(play.scan(&t2), [(1, 10), (2, 20)]);
        assert!(play.set(&mut t2, 1, 12));
        assert!(play.set(&mut t2, 2, 18));
        play.commit(t2);
        let seen = if level == ReadCommitted { 18 } else { 20 };
        assert_eq!(play.get(&t1, 2), Some(seen));
        play.commit(t1);
    });
}

/// G-single with predicate dependencies: happens at read committed; prevented at serializable.
fn g_single_dependencies(level: Level) {
    on_stage(move |play| {
        let (t1, mut t2) = (play.begin(level), play.begin(level));
        assert_eq!(play.matching(&t1, BY_FIVE), [(1, 10), (2, 20)]);
        assert!(play.set(&mut t2, 1, 12));
        play.commit(t2);
        let found = play.matching(&t1, BY_THREE);
        match level {
            ReadCommitted => assert_eq!(found, [(1, 12)]),
            Serializable => assert_eq!(found, []),
        }
        play.commit(t1);
    });
}

/// G-single with a write predicate: T1 deletes where the value is 20 after T2 has changed it. Read
/// committed finds nothing to delete (and so has seen two moments); serializable is refused.
fn g_single_write_1(level: Level) {
    on_stage(move |play| {
        let (mut t1, mut t2) = (play.begin(level), play.begin(level));
        assert_eq!(play.get(&t1, 1), Some(10));
        assert_eq!(play.scan(&t2), [(1, 10), (2, 20)]);
        assert!(play.set(&mut t2, 1, 12));
        assert!(play.set(&mut t2, 2, 18));
        play.commit(t2);
        assert_eq!(play.delete(&mut t1, 20), level == ReadCommitted);
        if t1.last {
            play.commit(t1)
        } else {
            play.rollback(t1)
        }
        assert_eq!(play.all(), [(1, 12), (2, 18)]);
    });
}

/// The same, but T2 has changed one row when T1 deletes the other, and then waits for T1: prevented
/// at both levels as far as rows go. T1 rolls back, so T2 goes on.
fn g_single_write_2(level: Level) {
    on_stage(move |play| {
        let (mut t1, mut t2) = (play.begin(level), play.begin(level));
        assert_eq!(play.get(&t1, 1), Some(10));
        assert_eq!(play.scan(&t2), [(1, 10), (2, 20)]);
        assert!(play.set(&mut t2, 1, 12));
        assert!(play.delete(&mut t1, 20));
        let t2_waits = play.set_waiting(t2.take(), 2, 18);
        play.rollback(t1);
        t2 = t2_waits.ended(play);
        assert_eq!(t2.last, DONE);
        play.commit(t2);
        assert_eq!(play.all(), [(1, 12), (2, 18)]);
    });
}

/// G2-item, write skew: happens at both levels. Serializable is snapshot isolation.
fn g2_item(level: Level) {
    on_stage(move |play| {
        let (mut t1, mut t2) = (play.begin(level), play.begin(level));
        assert_eq!(play.scan(&t1), [(1, 10), (2, 20)]);
        assert_eq!(play.scan(&t2), [(1, 10), (2, 20)]);
        assert!(play.set(&mut t1, 1, 11));
        assert!(play.set(&mut t2, 2, 21));
        play.commit(t1);
        play.commit(t2);
        assert_eq!(play.all(), [(1, 11), (2, 21)]);
    });
}

/// G2, write skew by predicates: happens at both levels. Each inserts what the other looked for.
fn g2(level: Level) {
    on_stage(move |play: &mut Play<'_>| {
        let (mut t1, mut t2) = (play.begin(level), play.begin(level));
        assert_eq!(play.matching(&t1, BY_THREE), []);
        assert_eq!(play.matching(&t2, BY_THREE), []);
        play.insert(&mut t1, 3, 30);
        play.insert(&mut t2, 4, 42);
        play.commit(t1);
        play.commit(t2);
        assert_eq!(play.all(), [(1, 10), (2, 20), (3, 30), (4, 42)]);
    });
}

macro_rules! cases {
    ($($case:ident: $read_committed:ident, $serializable:ident;)*) => {
        $(
            #[test]
            fn $read_committed() {
                $case(ReadCommitted);
            }

            #[test]
            fn $serializable() {
                $case(Serializable);
            }
        )*
    };
}

cases! {
    g0: g0_is_prevented_by_read_committed, g0_is_prevented_by_serializable;
    g1a: g1a_is_prevented_by_read_committed, g1a_is_prevented_by_serializable;
    g1b: g1b_is_prevented_by_read_committed, g1b_is_prevented_by_serializable;
    g1c: g1c_is_prevented_by_read_committed, g1c_is_prevented_by_serializable;
    otv: otv_is_prevented_by_read_committed, otv_is_prevented_by_serializable;
    pmp: pmp_happens_at_read_committed, pmp_is_prevented_by_serializable;
    pmp_write: pmp_write_begins_again_at_read_committed, pmp_write_is_refused_by_serializable;
    p4: p4_happens_at_read_committed, p4_is_prevented_by_serializable;
    g_single: g_single_happens_at_read_committed, g_single_is_prevented_by_serializable;
    g_single_dependencies:
        g_single_dependencies_happens_at_read_committed,
        g_single_dependencies_is_prevented_by_serializable;
    g_single_write_1:
        g_single_write_1_happens_at_read_committed, g_single_write_1_is_refused_by_serializable;
    g_single_write_2:
        g_single_write_2_goes_on_at_read_committed, g_single_write_2_goes_on_at_serializable;
    g2_item: g2_item_happens_at_read_committed, g2_item_happens_at_serializable;
    g2: g2_happens_at_read_committed, g2_happens_at_serializable;
}

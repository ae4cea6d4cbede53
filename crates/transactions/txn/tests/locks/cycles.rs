//! Cycles of two, of three, and of rows and tables mixed: the session whose wait closes the cycle
//! is refused, and its message describes the cycle; no other session is refused.

use std::sync::Arc;

use ids::TxnId;
use os::{Session, ThreadSpec};
use sim::{Outside, World};
use stop::{Failpoints, RefusalKind};
use testbed::{Dice, ended, pause, run};
use txn::{LockName, LockNames, LockWait, Locks, RowRequest, RowWait, RowWanted, TableMode};
use waits::{Nanos, Statistic, WaitEvent};

use crate::common::{Bed, Waits, kind, racy, settle, start};

use TableMode::{Exclusive as X, RowExclusive as RX, Share as S};

/// What a transaction in a cycle has, and what it wants.
#[derive(Clone, Copy, Debug)]
enum Wish {
    /// The end of the next one's transaction.
    Row,
    /// The next one's table, in a mode that conflicts with the next one's.
    Table,
    /// More of a table that all in the cycle have in share mode.
    More,
}

/// Each transaction has a table of its own in RX, and table 9 in S. Then each wants something of
/// the next one.
fn closes(world: &World, session: &Session, wishes: &[Wish], dice: &mut Dice) -> Vec<u16> {
    let count = wishes.len() as u16;
    let bed = Bed::new(world.os(), count, session);
    let ids: Vec<TxnId> = (0..count).map(|segment| bed.begin(segment, session)).collect();
    for id in &ids {
        bed.lock(*id, 9, S, session).expect("all share");
        bed.lock(*id, 100 + u32::from(id.segment), RX, session).expect("its own");
    }
    let victims = Outside::new(Vec::new());
    let ids = Arc::new(ids);
    let waiters = (0..count).map(|number| {
        let (ids, victims) = (Arc::clone(&ids), victims.clone());
        let (wish, delay) = (wishes[usize::from(number)], Nanos(dice.below(3) * 2_000));
        start("waiter", &bed, session, move |bed, session| {
            pause(delay, session);
            let id = ids[usize::from(number)];
            let next = ids[usize::from((number + 1) % count)];
            let waited = match wish {
                Wish::Row => bed.await_end(next, id, LockWait::Forever, session),
                Wish::Table => bed.lock(id, 100 + u32::from(next.segment), S, session),
                Wish::More => bed.lock(id, 9, X, session),
            };
            if waited.is_err() {
                assert_eq!(kind(&waited), Some(RefusalKind::Deadlock));
                victims.with(|victims| victims.push(number));
                // No session goes on until the victim ends.
                settle(session);
                assert_eq!(bed.locks.waiting(session).len(), usize::from(count) - 1);
            }
            bed.end(id, session);
        })
    });
    for waiter in waiters.collect::<Vec<_>>() {
        waiter.join(session).expect("no panic");
    }
    let totals = world.os().totals();
    for event in [WaitEvent::EnqTxRowLock, WaitEvent::EnqTmContention] {
        assert_eq!(totals.event(event).timeouts, 0, "a wake-up was lost: {event}");
    }
    assert_eq!(totals.statistic(Statistic::EnqueueDeadlocks), 1);
    assert_eq!(bed.locks.tables_watched(session), 0);
    victims.take()
}

/// In every schedule exactly one session is refused, and the others go on when its transaction has
/// ended.
#[test]
fn one_in_each_cycle_is_refused() {
    let cycles: [&[Wish]; 8] = [
        &[Wish::Row, Wish::Row],
        &[Wish::Table, Wish::Table],
        &[Wish::Row, Wish::Table],
        &[Wish::More, Wish::More],
        &[Wish::More, Wish::Row],
        &[Wish::Row, Wish::Row, Wish::Row],
        &[Wish::Table, Wish::Row, Wish::Table],
        &[Wish::Table, Wish::Table, Wish::Table, Wish::Row, Wish::Row],
    ];
    let mut refused = [0; 5];
    for wishes in cycles {
        for seed in 0..100 {
            let report = racy(seed)
                .run(move |world, session| closes(world, session, wishes, &mut Dice(seed)));
            let victims = ended(report, format_args!("seed {seed}"));
            assert_eq!(victims.len(), 1, "seed {seed}: {wishes:?}: {victims:?}");
            refused[usize::from(victims[0])] += 1;
        }
    }
    assert!(refused.iter().all(|count| *count > 0), "not always the same one: {refused:?}");
}

/// A transaction that waits behind the first in a queue can be in a cycle too, though the table
/// itself is free for its mode.
#[test]
fn a_cycle_through_a_queue_is_found() {
    for seed in 0..50 {
        run(racy(seed), |world, session| {
            let bed = Bed::new(world.os(), 3, session);
            let [one, two, three] = [0, 1, 2].map(|segment| bed.begin(segment, session));
            bed.lock(one, 71, RX, session).expect("free");
            let first = start("first", &bed, session, move |bed, session| {
                bed.lock(two, 71, X, session).expect("one ends");
                bed.end(two, session);
            });
            settle(session);
            let second = start("second", &bed, session, move |bed, session| {
                bed.lock(three, 71, RX, session).expect("two ends");
                bed.end(three, session);
            });
            settle(session);
            let refused = bed.await_end(three, one, LockWait::Forever, session);
            assert_eq!(kind(&refused), Some(RefusalKind::Deadlock));
            bed.end(one, session);
            first.join(session).expect("no panic");
            second.join(session).expect("no panic");
        });
    }
}

/// Table 71 is ACCOUNTS; every row has the same key.
struct Accounts;

impl LockNames for Accounts {
    fn object(&self, object: u32, _: &Session) -> Option<LockName> {
        (object == 71).then(|| LockName::Table("ACCOUNTS".into()))
    }

    fn key(&self, row: &RowWanted, _: &Session) -> Option<String> {
        (row.what == RowWait::Row).then(|| "ID = 4711".into())
    }
}

/// The message about a cycle of three.
#[test]
fn a_deadlock_names_everybody_in_80_columns() {
    let text = run(racy(1), |world, session| {
        let halt = stop::Halt::new(world.os());
        let locks = Arc::new(Locks::new(world.os(), 3, Failpoints::NONE, halt));
        locks.name_by(Arc::new(Accounts), session);
        let id = |segment, sequence| TxnId { segment, slot: 9, sequence };
        let ids = [id(0, 17), id(1, u32::MAX), id(2, 4)];
        locks.lock_table(ids[0], 71, RX, LockWait::Forever, session).expect("free");
        let wait_for = move |holder, waiter, what, locks: &Locks, session: &Session| {
            let wanted = RowWanted { what, object: 72, block: ids::Dba::new(4, 129), slot: 7 };
            let (lock_wait, began) = (LockWait::For(Nanos::from_secs(3)), session.now());
            let request = RowRequest { waiter, wanted, lock_wait, began };
            locks.wait_for_end(&[holder], &request, &|_| true, session)
        };
        let waits: [Waits<Locks>; 2] = [
            Box::new(move |locks, session| {
                wait_for(ids[2], ids[1], RowWait::UniqueKey, locks, session)
            }),
            Box::new(move |locks, session| {
                locks.lock_table(ids[2], 71, X, LockWait::For(Nanos::from_secs(3)), session)
            }),
        ];
        let waiters = waits.map(|wait| {
            let (locks, spec) = (Arc::clone(&locks), ThreadSpec::foreground("user"));
            let thread = session.spawn(spec, move |session| {
                assert_eq!(kind(&wait(&locks, session)), Some(RefusalKind::LockTimeout));
            });
            pause(Nanos::from_millis(1_200), session);
            thread.expect("a thread starts")
        });
        let refused = wait_for(ids[1], ids[0], RowWait::Row, &locks, session);
        let text = refused.expect_err("a cycle").to_string();
        waiters.into_iter().for_each(|waiter| waiter.join(session).expect("no panic"));
        text
    });
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert_eq!(
        text,
        "deadlock: transaction 0.9.17 would wait for itself,
through 2 others, and is refused: roll it back, and try again. The waits:
1 0.9.17, session main (t0), refused now
    wants a row of object 72
    with ID = 4711
    at block 4/129 slot 7, in mode X (6)
    1.9.4294967295 has the row locked
2 1.9.4294967295, session user (t1), for 2.40 s
    wants a unique key of object 72
    at block 4/129 slot 7, in mode S (4)
    2.9.4 has put in or removed the same key
3 2.9.4, session user (t2), for 1.20 s
    wants table ACCOUNTS (71) in mode X (6)
    0.9.17 has it in mode RX (3)"
    );
}

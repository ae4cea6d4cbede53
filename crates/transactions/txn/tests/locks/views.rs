//! Views show which transaction has which table, which ones wait, since when and for which.

use testbed::{pause, run};
use txn::{LockHeld, LockWait, LockWaiting, LockWanted, TableMode};
use waits::Nanos;

use crate::common::{Bed, racy, row, start};

use TableMode::{RowExclusive as RX, Share as S};

/// One transaction has two tables; one waits for a table, one for a row.
#[test]
fn views_show_who_has_what_and_who_waits_for_whom() {
    run(racy(1), |world, session| {
        let bed = Bed::new(world.os(), 3, session);
        let [one, two, three] = [0, 1, 2].map(|segment| bed.begin(segment, session));
        bed.lock(one, 80, RX, session).expect("free");
        bed.lock(one, 71, RX, session).expect("free");
        let asked = session.now();
        let table = start("table_waiter", &bed, session, move |bed, session| {
            bed.lock(two, 71, S, session).expect("one ends");
        });
        let row_waiter = start("row_waiter", &bed, session, move |bed, session| {
            bed.await_end(one, three, LockWait::Forever, session).expect("one ends");
        });
        pause(Nanos::from_secs(1), session);
        let held = bed.locks.held(session);
        let mine = Some(session.number());
        let shown = |object, is_waited_for, held: &LockHeld| {
            assert!(held.since <= asked);
            let (owner, session, number, mode) = (one, "main".to_string(), mine, RX);
            let since = held.since;
            let expected = LockHeld { owner, session, number, object, mode, since, is_waited_for };
            assert_eq!(*held, expected);
        };
        assert_eq!(held.len(), 2);
        shown(71, true, &held[0]);
        shown(80, false, &held[1]);
        let waiting = bed.locks.waiting(session);
        let wanted = [
            (two, "table_waiter", LockWanted::Table { object: 71, mode: S, converts: false }),
            (three, "row_waiter", LockWanted::Row { holder: one, wanted: row(7) }),
        ];
        assert_eq!(waiting.len(), 2);
        for (found, (waiter, name, wanted)) in waiting.into_iter().zip(wanted) {
            assert!(found.since >= asked && session.now().since(found.since).0 < 1_100_000_000);
            let running = world.os().running();
            let who = running.iter().find(|one| one.account.name() == name).expect("it waits");
            let (session, number, since) = (name.to_string(), who.number, found.since);
            let blockers = vec![one];
            let expected = LockWaiting { waiter, session, number, wanted, since, blockers };
            assert_eq!(found, expected);
        }
        bed.end(one, session);
        table.join(session).expect("no panic");
        row_waiter.join(session).expect("no panic");
        let held = bed.locks.held(session);
        assert_eq!((held.len(), held[0].owner, held[0].session.as_str()), (1, two, "table_waiter"));
    });
}

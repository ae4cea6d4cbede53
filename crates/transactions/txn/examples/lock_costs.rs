//! The cost of locks without waits, on this machine: nanoseconds a call.
//!
//! `cargo run --release -p txn --example lock_costs`. Each line is the best and the middle of nine
//! rounds; with two threads, each does the same at once, for its own transactions.
#![forbid(unsafe_code)]

use std::sync::Arc;

use ids::TxnId;
use os::{Os, Session, ThreadSpec};
use stop::{Failpoints, Halt};
use txn::{LockWait, Locks, TableMode};
use waits::SessionKind;

const ROUNDS: u64 = 9;
const CALLS: u32 = 200_000;
const SEGMENTS: u16 = 64;

/// A case: a lock, and whether the transaction ends each time.
struct Case {
    name: &'static str,
    /// The table, by the thread's segment.
    table: fn(u16) -> u32,
    mode: TableMode,
    ends: bool,
}

/// A table that a transaction has in share mode.
const WATCHED: u32 = 500;

const CASES: [Case; 4] = [
    Case {
        name: "RX again, of a table that the transaction has",
        table: |_| 71,
        mode: TableMode::RowExclusive,
        ends: false,
    },
    Case {
        name: "RX and the end of the transaction, own table",
        table: |segment| 71 + u32::from(segment),
        mode: TableMode::RowExclusive,
        ends: true,
    },
    Case {
        name: "RX and the end of the transaction, same table",
        table: |_| 71,
        mode: TableMode::RowExclusive,
        ends: true,
    },
    Case {
        name: "RS and the end, same table, that is watched",
        table: |_| WATCHED,
        mode: TableMode::RowShare,
        ends: true,
    },
];

fn lock(locks: &Locks, id: TxnId, table: u32, mode: TableMode, session: &Session) {
    locks.lock_table(id, table, mode, LockWait::NoWait, session).expect("nobody is in the way");
}

/// Nanoseconds a call, over all calls of one thread.
fn round(case: &Case, locks: &Locks, segment: u16, session: &Session) -> f64 {
    let table = (case.table)(segment);
    let began = session.now();
    let mut id = TxnId { segment, slot: 0, sequence: 0 };
    for _ in 0..CALLS {
        lock(locks, id, table, case.mode, session);
        if case.ends {
            locks.ended(id, session);
            id.sequence += 1;
        }
    }
    let took = session.now().since(began);
    locks.ended(id, session);
    took.0 as f64 / f64::from(CALLS)
}

fn rounds(case: &'static Case, threads: u16, os: &Os, session: &Session) -> Vec<f64> {
    let locks = Arc::new(Locks::new(os, SEGMENTS, Failpoints::NONE, Halt::new(os)));
    let sharer = TxnId { segment: SEGMENTS - 1, slot: 0, sequence: 1 };
    lock(&locks, sharer, WATCHED, TableMode::Share, session);
    let mut costs = Vec::new();
    for _ in 0..ROUNDS {
        let spec = |number| ThreadSpec::foreground(format!("user{number}"));
        let others = (1..threads).map(|number| {
            let locks = Arc::clone(&locks);
            let body = move |session: &Session| _ = round(case, &locks, number, session);
            session.spawn(spec(number), body).expect("a thread starts")
        });
        let others: Vec<_> = others.collect();
        costs.push(round(case, &locks, 0, session));
        others.into_iter().for_each(|other| other.join(session).expect("no panic"));
    }
    costs.sort_by(f64::total_cmp);
    costs
}

fn main() {
    let os = os::linux::start_with(Arc::new(|_| {}));
    let session = os.adopt("main", SessionKind::Foreground);
    println!("{:<48} {:>8} {:>7} {:>7}", "ns a call", "threads", "best", "middle");
    for case in &CASES {
        for threads in [1, 2] {
            let costs = rounds(case, threads, &os, &session);
            let middle = costs[costs.len() / 2];
            println!("{:<48} {threads:>8} {:>7.1} {middle:>7.1}", case.name, costs[0]);
        }
    }
}

//! Locks, transactions and undo.

use std::collections::{BTreeMap, BTreeSet};

use ids::TxnId;
use instance::UndoInterval;
use os::SessionNo;
use stop::Stop;
use txn::{LockHeld, LockWaiting, LockWanted, TransactionSeen, TransactionState};
use value::Value;

use crate::Engine;
use crate::cells::{address_of_transaction, count, moment as moment_of, or_null};
use crate::oids;
use crate::view::{Give, View, int, moment, text};

pub(crate) const VIEWS: &[View] = &[
    View::new(
        "v$lock",
        "one row for each lock that a transaction has, and for each that one waits for",
        &[
            int("sid", "the session; NULL of a transaction that a crash left"),
            text("type", "TM: a table; TX: a transaction, with the rows that it has locked"),
            int("id1", "TM: object_id of dba_objects; TX: undo segment * 65536 + its slot"),
            int("id2", "TM: 0; TX: the sequence of the transaction"),
            int("lmode", "the mode that it has: 2 RS, 3 RX, 4 S, 5 SRX, 6 X; 0: none"),
            int("request", "the mode that it waits for; 0: none"),
            int("ctime", "the whole seconds since it has it, or waits for it"),
            int("block", "1 if others wait for it, else 0"),
        ],
        locks,
    ),
    View::new(
        "v$transaction",
        "one row for each active transaction that has changed or locked something",
        &[
            text("addr", "its address: v$session.taddr"),
            int("xidusn", "the number of its undo segment"),
            int("xidslot", "its slot there"),
            int("xidsqn", "how often the slot was used"),
            text("status", "ACTIVE; COMMITTING; DEAD: a crash left it, and it is rolled back"),
            moment("start_date", "when it changed or locked something first"),
            int("sid", "its session"),
            int("serial#", "which of the sessions of this number it is"),
            int("used_urec", "its undo records; NULL if their block isn't in the cache"),
        ],
        transactions,
    ),
    View::new(
        "v$undostat",
        "one row for each ten minutes of the last four days: what became of undo, newest first",
        &[
            moment("begin_time", "when the interval began"),
            moment("end_time", "when it ended; for the first row the present"),
            int("undoblks", "undo blocks that transactions went on to"),
            int("txncount", "transactions that ended"),
            int("maxconcurrency", "the most that were active at once, as seen once a second"),
        ],
        undo,
    )
    .expecting(600),
];

/// A row of `v$lock`.
struct Lock {
    session: Option<SessionNo>,
    kind: &'static str,
    ids: [i64; 2],
    has: u8,
    wants: u8,
    since: Value<'static>,
    blocks: bool,
}

impl Lock {
    fn give(&self, give: &mut Give<'_>) -> Result<(), Stop> {
        let [id1, id2] = self.ids;
        give(&[
            or_null(self.session.map(|number| count(number.sid))),
            Value::Text(self.kind),
            Value::Int(id1),
            Value::Int(id2),
            count(self.has),
            count(self.wants),
            self.since,
            count(u8::from(self.blocks)),
        ])
    }
}

/// `id1` and `id2` of a transaction.
fn ids_of(id: TxnId) -> [i64; 2] {
    [i64::from(id.segment) << 16 | i64::from(id.slot), id.sequence.into()]
}

/// `id1` and `id2` of a table.
fn ids_of_table(object: u32) -> [i64; 2] {
    [oids::of_number(object), 0]
}

fn locks(engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    let (transactions, session) = (engine.instance.transactions(), engine.session);
    let waiting = transactions.locks().waiting(session);
    let held = transactions.locks().held(session);
    let seen = transactions.all_seen(session);
    let awaited = waiting.iter().filter_map(|wait| match wait.wanted {
        LockWanted::Row { holder, .. } => Some(holder),
        LockWanted::Table { .. } => None,
    });
    let awaited: BTreeSet<TxnId> = awaited.collect();
    for one in &seen {
        let is_awaited = awaited.contains(&one.id);
        of_transaction(one, is_awaited, engine).give(give)?;
    }
    // A table that a transaction has in a weaker mode is one row with what it waits for.
    let converting: BTreeMap<(TxnId, u32), u8> = waiting.iter().filter_map(converts).collect();
    for one in &held {
        let wants = converting.get(&(one.owner, one.object)).copied().unwrap_or(0);
        of_table(one, wants, engine).give(give)?;
    }
    for wait in waiting.iter().filter(|wait| converts(wait).is_none()) {
        request(wait, engine).give(give)?;
    }
    Ok(())
}

/// A transaction that waits for more of a table, with the table and the mode.
fn converts(wait: &LockWaiting) -> Option<((TxnId, u32), u8)> {
    match wait.wanted {
        LockWanted::Table { object, mode, converts: true } => {
            Some(((wait.waiter, object), mode.number()))
        }
        _ => None,
    }
}

/// The lock that a transaction is: whoever waits for a row of it waits for this.
fn of_transaction(one: &TransactionSeen, blocks: bool, engine: &Engine<'_>) -> Lock {
    let since = or_null(one.since.map(|since| engine.seconds_since(since)));
    Lock { session: one.session, kind: "TX", ids: ids_of(one.id), has: 6, wants: 0, since, blocks }
}

fn of_table(one: &LockHeld, wants: u8, engine: &Engine<'_>) -> Lock {
    Lock {
        session: one.number,
        kind: "TM",
        ids: ids_of_table(one.object),
        has: one.mode.number(),
        wants,
        since: engine.seconds_since(one.since),
        blocks: one.is_waited_for,
    }
}

/// What a transaction waits for that has nothing of it yet.
fn request(wait: &LockWaiting, engine: &Engine<'_>) -> Lock {
    let (kind, ids, wants) = match wait.wanted {
        LockWanted::Row { holder, wanted } => ("TX", ids_of(holder), wanted.what.mode()),
        LockWanted::Table { object, mode, .. } => ("TM", ids_of_table(object), mode.number()),
    };
    let since = engine.seconds_since(wait.since);
    Lock { session: Some(wait.number), kind, ids, has: 0, wants, since, blocks: false }
}

fn transactions(engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    for one in engine.instance.transactions().all_seen(engine.session) {
        let status = match one.state {
            TransactionState::Active => "ACTIVE",
            TransactionState::Committing => "COMMITTING",
            TransactionState::Dead => "DEAD",
        };
        give(&[
            Value::Text(&address_of_transaction(one.id)),
            count(one.id.segment),
            count(one.id.slot),
            count(one.id.sequence),
            Value::Text(status),
            or_null(one.since.map(|since| engine.calendar(since))),
            or_null(one.session.map(|number| count(number.sid))),
            or_null(one.session.map(|number| count(number.serial))),
            or_null(one.records.map(count)),
        ])?;
    }
    Ok(())
}

fn undo(engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    engine.instance.undo_intervals(engine.session).iter().try_for_each(|one| {
        let UndoInterval { began_us, ended_us, blocks, transactions, active_max } = *one;
        give(&[
            moment_of(began_us),
            moment_of(ended_us),
            count(blocks),
            count(transactions),
            count(active_max),
        ])
    })
}

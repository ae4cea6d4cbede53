//! Reads beside commits, where an undo segment's transaction table has one slot: the next
//! transaction of the segment uses it again at once.

use database::{
    ColumnSpec, CommitMode, Connection, Creation, Database, Table, TableSpec, Type, Value,
};
use os::Session;
use sim::{Outside, Perturbation};
use waits::Statistic;

use crate::simulated::{join, made_with, options, racing_as, start};

/// Accounts, of which each has a block nearly for itself.
const ACCOUNTS: i64 = 3;

/// Long pauses, so that a reader may sleep through the end of a transaction and the next one's
/// begin.
const PAUSES: Perturbation = Perturbation {
    choices: true,
    yields_per_1024: 128,
    delays_per_1024: 32,
    delay_ns_max: 400_000,
    spurious_per_1024: 16,
};

fn accounts(database: &Database, session: &Session) {
    let mut connection = database.connect_with(session);
    let spec = TableSpec::new("account")
        .column(ColumnSpec::new("id", Type::BigInt))
        .column(ColumnSpec::new("balance", Type::BigInt))
        .column(ColumnSpec::new("note", Type::Text))
        .primary_key(["id"]);
    let account = connection.create_table(&spec).expect("made");
    let note = "x".repeat(1_200);
    let mut tx = connection.begin();
    for id in 0..ACCOUNTS {
        tx.insert(&account, &[Value::Int(id), Value::Int(0), Value::Text(&note)]).expect("in");
    }
    tx.commit().expect("committed");
}

/// Takes from one account and gives to the others.
fn pay(connection: &mut Connection<'_>, account: &Table, (from, mode): (i64, CommitMode)) {
    let mut tx = connection.begin();
    // In one order, so that nobody waits in a circle.
    for id in 0..ACCOUNTS {
        let amount = if id == from { 1 - ACCOUNTS } else { 1 };
        let set = tx.update(account, &[Value::Int(id)], |row, set| {
            set.set(1, Value::Int(row.get_i64(1).unwrap_or(0) + amount))
        });
        assert!(set.expect("changed"));
    }
    tx.commit_with(mode).expect("committed");
}

#[test]
fn a_read_sees_no_half_of_a_commit_where_the_table_of_transactions_has_one_slot() {
    let creation = Creation { undo_segments: 1, undo_slots: 1, ..options().creation };
    let base = made_with(creation, accounts);
    let clones = Outside::new(0);
    for seed in 0..60 {
        let all_clones = clones.clone();
        racing_as(PAUSES, seed, base.clone(), move |database, session| {
            let writers = (0..2).map(|number| {
                start("writer", (database, session), move |database, session| {
                    let mut connection = database.connect_with(session);
                    let account = connection.table("account").expect("there");
                    for turn in 0..12 {
                        let mode = CommitMode::ALL[(turn + number) % CommitMode::ALL.len()];
                        pay(&mut connection, &account, (turn as i64 % ACCOUNTS, mode));
                    }
                })
            });
            let readers = (0..3).map(|_| {
                start("reader", (database, session), |database, session| {
                    let mut connection = database.connect_with(session);
                    let account = connection.table("account").expect("there");
                    for _ in 0..30 {
                        let mut balances = Vec::new();
                        connection
                            .scan(&account, |row| balances.extend(row.get_i64(1)))
                            .expect("read");
                        assert_eq!(balances.iter().sum::<i64>(), 0, "{balances:?}");
                    }
                })
            });
            join(writers.chain(readers).collect(), session);
            let clones = session.os().totals().statistic(Statistic::CrBlocksCreated);
            all_clones.with(|all| *all += clones);
        });
    }
    assert!(clones.take() > 1_000, "readers met no writers");
}

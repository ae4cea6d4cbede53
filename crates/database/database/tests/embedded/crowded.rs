//! More sessions than a block's ITL has room for.

use database::{ColumnSpec, Statistic, Statistics, TableSpec, Type, Value};
use sim::{Outside, Perturbation};

use crate::simulated::{join, made, racing_as, start};

const SESSIONS: i64 = 24;
const COMMITS: i64 = 20;

/// Each session changes a row of its own, all in one block that is full: so they wait for entries
/// of its list in turn. Were each woken whenever a commit is durable, to begin again and to find
/// most entries taken, they would read the block twice as often, and take back in it what
/// all the others have changed (rule txn/TX9).
#[test]
fn sessions_that_share_a_full_block_do_not_begin_again_and_again() {
    let commits = (SESSIONS * COMMITS) as u64;
    let sum = crowd(true);
    assert!(sum(Statistic::EnqueueWaits) > commits, "they don't wait for entries");
    let gets = sum(Statistic::ConsistentGets);
    assert!(gets < 6 * commits, "{gets} consistent gets of {commits} transactions");
}

/// The same rows, which lie as they were inserted: a small table keeps room for the lists of its
/// blocks (rule access/AC33), so nobody waits for an entry.
#[test]
fn sessions_that_share_a_small_table_do_not_wait_for_entries() {
    let sum = crowd(false);
    assert_eq!(sum(Statistic::EnqueueWaits), 0);
}

/// What all sessions together did that commit changes of a row of their own. The rows have grown
/// since they were inserted, and fill their block, or they haven't.
fn crowd(have_grown: bool) -> impl Fn(Statistic) -> u64 {
    let base = made(move |database, session| {
        let mut connection = database.connect_with(session);
        let spec = TableSpec::new("branch")
            .column(ColumnSpec::new("id", Type::BigInt))
            .column(ColumnSpec::new("balance", Type::BigInt))
            .column(ColumnSpec::new("filler", Type::Text))
            .primary_key(["id"]);
        let branch = connection.create_table(&spec).expect("made");
        let filler = "x".repeat(40);
        let mut tx = connection.begin();
        for id in 0..SESSIONS {
            let filler = if have_grown { "" } else { &filler };
            let row = [Value::Int(id), Value::Int(0), Value::Text(filler)];
            tx.insert(&branch, &row).expect("inserted");
        }
        for id in (0..SESSIONS).filter(|_| have_grown) {
            let set =
                tx.update(&branch, &[Value::Int(id)], |_, set| set.set(2, Value::Text(&filler)));
            assert!(set.expect("it grows"));
        }
        tx.commit().expect("committed");
    });
    let all = Outside::new(Vec::<Statistics>::new());
    let counted = all.clone();
    racing_as(Perturbation::NONE, 1, base, move |database, session| {
        let workers = (0..SESSIONS).map(|id| {
            let counted = counted.clone();
            start("worker", (database, session), move |database, session| {
                let mut connection = database.connect_with(session);
                let branch = connection.table("branch").expect("there");
                let before = connection.statistics();
                for balance in 0..COMMITS {
                    let mut tx = connection.begin();
                    let set = tx.update(&branch, &[Value::Int(id)], |_, set| {
                        set.set(1, Value::Int(balance))
                    });
                    assert!(set.expect("it waits"));
                    tx.commit().expect("committed");
                }
                let cost = connection.statistics().since(&before);
                counted.with(|all| all.push(cost));
            })
        });
        join(workers.collect(), session);
    });
    move |statistic| all.with(|all| all.iter().map(|one| one.statistic(statistic)).sum::<u64>())
}

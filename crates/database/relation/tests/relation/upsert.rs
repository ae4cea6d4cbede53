//! Inserts that may meet a row with their key: INSERT … ON CONFLICT (RL59, RL60).

use std::sync::Arc;

use relation::{
    Conflict, Done, Flow, InsertAttempt, KeyOrigin, Relation, RowChange, StatementKind,
    StatementWork,
};
use stop::{RefusalKind, Stop};
use value::{RowView, Value};
use waits::Nanos;

use crate::common::{
    Client, Dice, Known, check, database, join, machine, pause, racy, rows, start, with_instance,
};
use crate::late_keys::{base, numbers};
use crate::shop::{self, int};

/// The place of the index of k.
const BY_K: usize = 1;

fn with_numbers(test: fn(&mut Client<'_>, &Relation)) {
    with_instance(machine(1, base()), move |instance, session| {
        let known = Known::of(instance, &numbers(), session);
        let mut client = Client::new(instance, &known, session);
        let relation = known.named("numbers");
        test(&mut client, &relation);
        client.commit();
        check(&relation, session);
    });
}

/// Tries an insert as a statement of its own.
fn attempt(
    client: &mut Client<'_>,
    relation: &Relation,
    values: &[Value<'_>],
    index: Option<usize>,
) -> Result<InsertAttempt, Stop> {
    relation.statement(StatementKind::Upsert, &mut client.work(), &mut |work| {
        work.insert_or_conflict(0, values, index).map(Flow::Done)
    })
}

fn conflict(attempt: Result<InsertAttempt, Stop>) -> Conflict {
    met(attempt.expect("not refused"))
}

fn met(attempt: InsertAttempt) -> Conflict {
    match attempt {
        InsertAttempt::Conflict(conflict) => conflict,
        InsertAttempt::Inserted(row) => panic!("it was inserted at {row}"),
    }
}

fn is_inserted(attempt: Result<InsertAttempt, Stop>) -> bool {
    matches!(attempt.expect("not refused"), InsertAttempt::Inserted(_))
}

#[test]
fn a_conflict_names_the_row_and_the_index_and_leaves_nothing_of_the_other() {
    with_numbers(|client, relation| {
        let session = client.session;
        let before = rows(relation, client.view(), session);
        let there = |id: i64| {
            let found = before.iter().find(|(_, row)| row[0].get() == int(id));
            found.expect("there").0
        };
        // Row 7 has k = 7.
        let met = conflict(attempt(client, relation, &[int(900), int(7), int(0)], None));
        assert_eq!((met.row, met.index, met.origin), (there(7), BY_K, KeyOrigin::Before));
        let met = conflict(attempt(client, relation, &[int(8), int(7), int(0)], None));
        assert_eq!((met.row, met.index), (there(8), 0));
        // The index that is named is looked at first, whatever another says.
        let met = conflict(attempt(client, relation, &[int(8), int(7), int(0)], Some(BY_K)));
        assert_eq!((met.row, met.index), (there(7), BY_K));
        // A key in another index is refused.
        let refused = attempt(client, relation, &[int(8), int(900), int(0)], Some(BY_K));
        let refused = refused.expect_err("there is a row with this id");
        assert_eq!(refused.refusal(), Some(RefusalKind::UniqueViolation));
        assert!(refused.to_string().contains("numbers_pk forbids: id = 8"), "{refused}");
        let refused = attempt(client, relation, &[int(900), int(900), int(0)], Some(2));
        let refused = refused.expect_err("it isn't unique");
        assert_eq!(refused.refusal(), Some(RefusalKind::Invalid));
        assert_eq!(rows(relation, client.view(), session), before);
        check(relation, session);
        // A key with a NULL is like no other.
        for id in [901, 902] {
            let row = [int(id), Value::Null, int(0)];
            assert!(is_inserted(attempt(client, relation, &row, Some(BY_K))));
        }
        // A key that this transaction has taken away is free.
        assert_eq!(shop::delete(client, "numbers", 7).expect("deleted"), 1);
        assert!(is_inserted(attempt(client, relation, &[int(7), int(7), int(0)], None)));
    });
}

/// Inserts a row, or adds 1 to `m` of the row that has its k. Returns whether it is new.
fn upsert(work: &mut StatementWork<'_, '_>, values: &[Value<'_>]) -> Result<Flow<bool>, Stop> {
    let met = match work.insert_or_conflict(0, values, Some(BY_K))? {
        InsertAttempt::Inserted(_) => return Ok(Flow::Done(true)),
        InsertAttempt::Conflict(met) => met,
    };
    let mut plus = |row: &RowView<'_>, change: &mut RowChange<'_>| {
        change.set(2, int(row.get_i64(2).expect("not NULL") + 1))
    };
    match met.origin {
        KeyOrigin::Before => {
            assert_eq!(work.update(0, met.row, &mut plus)?, Done::Changed);
            Ok(Flow::Done(false))
        }
        KeyOrigin::Since => Ok(Flow::Again),
        KeyOrigin::Own => panic!("a statement of one row meets it once"),
    }
}

#[test]
fn a_statement_meets_rows_of_its_own_and_is_told_so() {
    with_numbers(|client, relation| {
        let done = relation.statement(StatementKind::Upsert, &mut client.work(), &mut |work| {
            let new = [int(900), int(900), int(0)];
            let first = match work.insert_or_conflict(0, &new, Some(BY_K))? {
                InsertAttempt::Inserted(row) => row,
                InsertAttempt::Conflict(met) => panic!("{met:?}"),
            };
            let again = work.insert_or_conflict(0, &[int(901), int(900), int(5)], Some(BY_K));
            let met = conflict(again);
            assert_eq!((met.row, met.origin), (first, KeyOrigin::Own));
            // What was to be inserted can be asked for.
            assert_eq!(work.new_row(0)?.get_i64(2), Some(5));
            // A row that has got the key by an update of the statement.
            let old = conflict(work.insert_or_conflict(0, &[int(902), int(7), int(0)], None));
            assert_eq!(old.origin, KeyOrigin::Before);
            let mut move_key =
                |_: &RowView<'_>, change: &mut RowChange<'_>| change.set(1, int(950));
            assert_eq!(work.update(0, old.row, &mut move_key)?, Done::Changed);
            let moved = conflict(work.insert_or_conflict(0, &[int(902), int(950), int(0)], None));
            assert_eq!((moved.row, moved.origin), (old.row, KeyOrigin::Own));
            assert_eq!(work.update(0, moved.row, &mut move_key)?, Done::Already);
            // The key that it had is free.
            let free = work.insert_or_conflict(0, &[int(903), int(7), int(0)], None);
            assert!(is_inserted(free));
            Ok(Flow::Done(()))
        });
        done.expect("done");
    });
}

/// A body that only passes by such a row goes on; one that has to change it begins again, and a
/// transaction with one snapshot is refused.
#[test]
fn a_key_that_came_since_the_snapshot_is_told_as_such() {
    for is_serializable in [false, true] {
        with_instance(machine(1, base()), move |instance, session| {
            let known = Known::of(instance, &numbers(), session);
            let mut client = Client::new(instance, &known, session);
            let mut other = Client::new(instance, &known, session);
            if is_serializable {
                let begun = instance.transactions().begin_serializable(session);
                client.transaction = begun.expect("begun");
            }
            let (relation, mut next) = (known.named("numbers"), 900);
            let new = [int(990), int(990), int(0)];
            let passes =
                relation.statement(StatementKind::Upsert, &mut client.work(), &mut |work| {
                    // Another row has got the key, and one that was there has it now.
                    shop::insert(&mut other, "numbers", &[int(next), int(990), int(0)])?;
                    shop::set(&mut other, ("numbers", 7), (1, int(991)))?;
                    other.commit();
                    next += 1;
                    let new = met(work.insert_or_conflict(0, &new, Some(BY_K))?);
                    let moved = [int(990), int(991), int(0)];
                    let moved = met(work.insert_or_conflict(0, &moved, Some(BY_K))?);
                    Ok(Flow::Done([new.origin, moved.origin]))
                });
            match is_serializable {
                false => {
                    assert_eq!(passes.expect("not refused"), [KeyOrigin::Since; 2]);
                    assert_eq!(next, 901, "it doesn't begin again for that");
                }
                true => {
                    let refused = passes.expect_err("it came since the snapshot");
                    assert_eq!(refused.refusal(), Some(RefusalKind::Serialization), "{refused}");
                }
            }
            client.rollback();
            check(&relation, session);
        });
    }
}

/// Another session's insert of the key isn't committed: the statement waits for its end, and then
/// inserts its own row, or changes the other one.
#[test]
fn a_key_of_another_transaction_is_waited_for_whatever_becomes_of_it() {
    let base = base();
    let mut ends = [0, 0];
    for seed in 0..40 {
        let commits = seed % 2 == 0;
        let (is_new, _) = with_instance(racy(seed, base.clone()), move |instance, session| {
            let known = Known::of(instance, &numbers(), session);
            let mut one = Client::new(instance, &known, session);
            shop::insert(&mut one, "numbers", &[int(900), int(900), int(10)]).expect("new");
            let is_new = Arc::new(latch::SharedFlag::new(false));
            let told = Arc::clone(&is_new);
            let other = start("other", instance, session, move |instance, session| {
                let known = Known::of(instance, &numbers(), session);
                let mut client = Client::new(instance, &known, session);
                let (relation, new) = (known.named("numbers"), [int(901), int(900), int(20)]);
                let done =
                    relation.statement(StatementKind::Upsert, &mut client.work(), &mut |work| {
                        upsert(work, &new)
                    });
                if done.expect("not refused") {
                    told.raise(session);
                }
                client.commit();
            });
            let mut dice = Dice(seed);
            pause(Nanos::from_micros(dice.below(2_000)), session);
            if commits {
                one.commit()
            } else {
                one.rollback()
            }
            join(vec![other], session);
            let relation = known.named("numbers");
            check(&relation, session);
            let found = rows(&relation, one.view(), session);
            let with_key: Vec<_> =
                found.iter().filter(|(_, row)| row[1].get() == int(900)).collect();
            let [(_, row)] = with_key[..] else { panic!("{with_key:?}") };
            let expected = if commits { [int(900), int(11)] } else { [int(901), int(20)] };
            assert_eq!([row[0].get(), row[2].get()], expected, "seed {seed}");
            is_new.is_raised(session)
        });
        assert_eq!(is_new, !commits, "seed {seed}");
        ends[usize::from(is_new)] += 1;
    }
    assert_eq!(ends, [20, 20]);
}

/// Sessions that count by keys: each count is there, whoever has inserted the row.
#[test]
fn sessions_that_count_at_once_lose_none() {
    let base = database(numbers, |_, _, _| ());
    for seed in 0..30 {
        with_instance(racy(seed, base.clone()), move |instance, session| {
            let counted = Arc::new(latch::Shared64::new(0));
            let threads = (0..4_u64).map(|number| {
                let counted = Arc::clone(&counted);
                start(&format!("s{number}"), instance, session, move |instance, session| {
                    let known = Known::of(instance, &numbers(), session);
                    let mut client = Client::new(instance, &known, session);
                    let mut dice = Dice(seed * 8 + number);
                    for turn in 0..8 {
                        let id = (number * 100 + turn) as i64;
                        counted.fetch_add(count_one(&mut client, id, &mut dice), session);
                    }
                })
            });
            join(threads.collect(), session);
            let known = Known::of(instance, &numbers(), session);
            let (relation, client) =
                (known.named("numbers"), Client::new(instance, &known, session));
            check(&relation, session);
            let found = rows(&relation, client.view(), session);
            assert!(found.len() <= 3, "seed {seed}");
            let sum: i64 = found
                .iter()
                .map(|(_, row)| match row[2].get() {
                    Value::Int(m) => m + 1,
                    other => panic!("m is {other}"),
                })
                .sum();
            assert_eq!(sum as u64, counted.load(session), "seed {seed}");
        });
    }
}

/// Counts for one of three keys, and returns 1 if that was committed.
fn count_one(client: &mut Client<'_>, id: i64, dice: &mut Dice) -> u64 {
    if dice.below(4) == 0 {
        let begun = client.instance.transactions().begin_serializable(client.session);
        client.transaction = begun.expect("begun");
    }
    let relation = client.known.named("numbers");
    let new = [int(id), int(dice.below(3) as i64), int(0)];
    let done = relation
        .statement(StatementKind::Upsert, &mut client.work(), &mut |work| upsert(work, &new));
    if let Err(stop) = done {
        assert_eq!(stop.refusal(), Some(RefusalKind::Serialization), "{stop}");
        client.rollback();
        return 0;
    }
    if dice.below(4) == 0 {
        client.rollback();
        return 0;
    }
    client.commit();
    1
}

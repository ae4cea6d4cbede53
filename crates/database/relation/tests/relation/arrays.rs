//! An array of rows is inserted, or refused, as its rows would be one by one (RL49).

use relation::{Relation, Selection};
use stop::{RefusalKind, Stop};
use txn::LockWait;
use value::{OwnedValue, Value};

use crate::basic::accounts;
use crate::common::{Client, Dice, Known, check, database, machine, rows, with_instance};

type Array = Vec<Vec<OwnedValue>>;

/// Rows in any order of their keys; at most one in `rare` has a key of some other row.
fn array(dice: &mut Dice, next: &mut i64, rare: u64) -> Array {
    let first = *next;
    *next += 400;
    let (step, count) = ([1, 7, 399][dice.below(3) as usize], dice.below(300) as i64);
    let row = |at: i64| {
        let is_rare = |dice: &mut Dice| dice.below(rare) == 0;
        let id = if is_rare(dice) { dice.below(*next as u64) as i64 } else { first + at };
        let of = if is_rare(dice) { dice.below(*next as u64) as i64 } else { first + at };
        let code = format!("code {of}");
        let code = if of % 5 == 0 { Value::Null } else { Value::Text(&code) };
        let amount = if of % 7 == 0 { Value::Null } else { Value::Int(of % 10) };
        let note = "n".repeat(dice.below(60) as usize);
        let values = [Value::Int(id), code, amount, Value::Text(&note)];
        values.into_iter().map(Value::to_owned).collect()
    };
    (0..count).map(|at| at * step % 400).map(row).collect()
}

fn values(row: &[OwnedValue]) -> Vec<Value<'_>> {
    row.iter().map(OwnedValue::get).collect()
}

/// Inserts the rows by one statement, or each by one; if one is refused, none stays.
fn insert(
    client: &mut Client<'_>,
    relation: &Relation,
    array: &Array,
    at_once: bool,
) -> Result<u64, Stop> {
    let savepoint = client.transaction.savepoint();
    let rows: Vec<_> = array.iter().map(|row| values(row)).collect();
    let inserted = match at_once {
        true => {
            let (known, rows) = (relation.layout().columns(), rows.iter().map(|row| &row[..]));
            return relation.insert_many(&mut client.work(), known, rows, |_| ());
        }
        false => rows.iter().try_for_each(|row| relation.insert(&mut client.work(), row).map(drop)),
    };
    let transactions = client.instance.transactions();
    if inserted.is_err() {
        transactions.rollback_to(&mut client.transaction, savepoint, client.session)?;
    }
    inserted.map(|()| rows.len() as u64)
}

fn told(result: &Result<u64, Stop>) -> Result<u64, (Option<RefusalKind>, String)> {
    result.as_ref().copied().map_err(|stop| (stop.refusal(), stop.to_string()))
}

#[test]
fn an_array_is_refused_as_its_rows_are_one_by_one() {
    let base = database(accounts, |_, _, _| ());
    let (mut done, mut refused) = (0, 0);
    for seed in 0..12 {
        let ((some, others), _) =
            with_instance(machine(seed, base.clone()), move |instance, session| {
                let known = Known::of(instance, &accounts(), session);
                let mut client = Client::new(instance, &known, session);
                // Another transaction has some keys, and hasn't ended.
                let mut other = Client::new(instance, &known, session);
                let relation = known.named("accounts");
                let (mut dice, mut next, mut counts) = (Dice(seed), 0, (0, 0));
                let held = array(&mut dice, &mut next, 1_000);
                insert(&mut other, &relation, &held, true).expect("inserted");
                for turn in 0..12 {
                    client.transaction.set_lock_wait(LockWait::NoWait);
                    let array = array(&mut dice, &mut next, 300);
                    let (view, session) = (client.view(), client.session);
                    let before = rows(&relation, view, session).len();
                    let savepoint = client.transaction.savepoint();
                    let singly = told(&insert(&mut client, &relation, &array, false));
                    let transactions = instance.transactions();
                    let back =
                        transactions.rollback_to(&mut client.transaction, savepoint, session);
                    back.expect("taken back");
                    let at_once = told(&insert(&mut client, &relation, &array, true));
                    assert_eq!(at_once, singly, "seed {seed}, turn {turn}");
                    let after = rows(&relation, client.view(), session).len();
                    assert_eq!(after - before, at_once.clone().unwrap_or(0) as usize);
                    match at_once {
                        Ok(_) => counts.0 += 1,
                        Err(_) => counts.1 += 1,
                    }
                    match dice.below(4) {
                        0 => client.rollback(),
                        1 => client.commit(),
                        _ => {}
                    }
                }
                client.commit();
                match seed % 2 {
                    0 => other.commit(),
                    _ => other.rollback(),
                }
                check(&relation, session);
                counts
            });
        (done, refused) = (done + some, refused + others);
    }
    assert!(done > 20 && refused > 20, "{done} arrays were inserted, {refused} refused");
}

/// A transaction with one snapshot can't insert a key that another transaction has deleted since.
#[test]
fn an_array_with_a_key_deleted_since_the_snapshot_is_refused() {
    with_instance(machine(1, database(accounts, |_, _, _| ())), |instance, session| {
        let known = Known::of(instance, &accounts(), session);
        let relation = known.named("accounts");
        let row = |id: i64| {
            let code = format!("code {id}");
            let row = [Value::Int(id), Value::Text(&code), Value::Int(id), Value::Null];
            row.into_iter().map(Value::to_owned).collect::<Vec<_>>()
        };
        let mut other = Client::new(instance, &known, session);
        insert(&mut other, &relation, &(0..40).map(row).collect(), true).expect("inserted");
        other.commit();
        let mut client = Client::new(instance, &known, session);
        let begun = instance.transactions().begin_serializable(session);
        client.transaction = begun.expect("begun");
        let key = [Value::Int(17)];
        let deleted = relation.delete_where(&mut other.work(), Selection::Key(0, &key), None);
        assert_eq!(deleted.expect("deleted"), 1);
        other.commit();
        let with_it: Array = (40..60).chain([17]).map(row).collect();
        let refused = insert(&mut client, &relation, &with_it, true).expect_err("deleted since");
        assert_eq!(refused.refusal(), Some(RefusalKind::Serialization), "{refused}");
        let without: Array = (40..60).map(row).collect();
        assert_eq!(insert(&mut client, &relation, &without, true).expect("inserted"), 20);
        client.commit();
        check(&relation, session);
        assert_eq!(rows(&relation, other.view(), session).len(), 59);
    });
}

/// A statement that is to be refused waits for nobody whose key comes first only in the order of
/// keys: rows are waited for in the order of the array.
#[test]
fn an_array_waits_in_the_order_of_its_rows() {
    with_instance(machine(1, database(accounts, |_, _, _| ())), |instance, session| {
        let known = Known::of(instance, &accounts(), session);
        let relation = known.named("accounts");
        let row = |id: i64| {
            let row = [Value::Int(id), Value::Null, Value::Int(id), Value::Null];
            row.into_iter().map(Value::to_owned).collect::<Vec<_>>()
        };
        let mut other = Client::new(instance, &known, session);
        insert(&mut other, &relation, &vec![row(9)], true).expect("inserted");
        other.commit();
        insert(&mut other, &relation, &vec![row(1)], true).expect("inserted, and held");
        let mut client = Client::new(instance, &known, session);
        client.transaction.set_lock_wait(LockWait::Forever);
        let refused = insert(&mut client, &relation, &vec![row(9), row(1)], true);
        let refused = refused.expect_err("9 is there");
        assert_eq!(refused.refusal(), Some(RefusalKind::UniqueViolation), "{refused}");
        client.rollback();
        other.rollback();
        check(&relation, session);
    });
}

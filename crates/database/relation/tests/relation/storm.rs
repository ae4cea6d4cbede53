//! Two to eight sessions change the same few rows of all tables at once. Afterwards indexes agree
//! with rows, and every row that is referred to is there.

use os::Session;
use relation::Selection;
use stop::{RefusalKind, Stop};
use value::Value;

use crate::basic::accounts;
use crate::common::{Client, Dice, Known, check, database, join, racy, start, with_instance};
use crate::races::base;
use crate::shop::{check_all, delete, insert, int, set, tables};

/// The refusals that a statement of a storm may get.
const REFUSALS: [RefusalKind; 4] = [
    RefusalKind::UniqueViolation,
    RefusalKind::ForeignKeyViolation,
    RefusalKind::Deadlock,
    RefusalKind::Serialization,
];

/// Transactions of a few statements. A session that is refused for a deadlock, or for a change
/// since its snapshot, begins again.
fn transactions(
    client: &mut Client<'_>,
    (dice, count): (&mut Dice, u32),
    statement: fn(&mut Client<'_>, &mut Dice) -> Result<(), Stop>,
) {
    for _ in 0..count {
        if dice.below(3) == 0 {
            let begun = client.instance.transactions().begin_serializable(client.session);
            client.transaction = begun.expect("begun");
        }
        for _ in 0..=dice.below(4) {
            let done = statement(client, dice);
            if let Err(stop) = done {
                let kind = stop.refusal().unwrap_or_else(|| panic!("{stop}"));
                assert!(REFUSALS.contains(&kind), "{stop}");
                if matches!(kind, RefusalKind::Deadlock | RefusalKind::Serialization) {
                    client.rollback();
                    break;
                }
            }
        }
        if dice.below(4) == 0 { client.rollback() } else { client.commit() }
    }
}

fn shop_statement(client: &mut Client<'_>, dice: &mut Dice) -> Result<(), Stop> {
    let customer = int(dice.below(4) as i64 + 1);
    let (id, order) = (dice.below(6) as i64, dice.below(6) as i64);
    match dice.below(13) {
        0 => insert(client, "customers", &[int(dice.below(4) as i64 + 1), Value::Null]),
        1 | 2 => delete(client, "customers", dice.below(4) as i64 + 1).map(drop),
        3 | 4 => insert(client, "orders", &[int(order), customer, int(1)]),
        5 | 6 => insert(client, "items", &[int(id), int(order)]),
        7 => insert(client, "notes", &[int(id), int(order)]),
        8 => delete(client, "orders", order).map(drop),
        9 => set(client, ("orders", order), (1, customer)).map(drop),
        10 => set(client, ("orders", order), (0, int(id))).map(drop),
        11 => {
            let above = if dice.below(3) == 0 { Value::Null } else { int(order) };
            insert(client, "tree", &[int(id), above])
        }
        _ => delete(client, "tree", id).map(drop),
    }
}

fn account_statement(client: &mut Client<'_>, dice: &mut Dice) -> Result<(), Stop> {
    let id = dice.below(12) as i64;
    let amount = if dice.below(5) == 0 { Value::Null } else { int(dice.below(3) as i64) };
    let code = ["a", "b", "c"][dice.below(3) as usize];
    let code = if dice.below(5) == 0 { Value::Null } else { Value::Text(code) };
    match dice.below(10) {
        0..3 => {
            let note = "n".repeat(dice.below(900) as usize);
            insert(client, "accounts", &[int(id), code, amount, Value::Text(&note)])
        }
        3 => delete(client, "accounts", id).map(drop),
        4 => set(client, ("accounts", id), (2, amount)).map(drop),
        5 => set(client, ("accounts", id), (1, code)).map(drop),
        6 => set(client, ("accounts", id), (0, int(dice.below(12) as i64))).map(drop),
        7 | 8 => move_ids(client, dice),
        _ => {
            let accounts = client.known.named("accounts");
            let mut some = |row: &value::RowView<'_>| row.get_i64(0).is_some_and(|id| id % 3 == 0);
            accounts.delete_where(&mut client.work(), Selection::All, Some(&mut some)).map(drop)
        }
    }
}

/// Rows exchange ids, or all of them go up or down.
fn move_ids(client: &mut Client<'_>, dice: &mut Dice) -> Result<(), Stop> {
    let (by, turns) = (dice.below(3) as i64 - 1, dice.below(2) == 0);
    let mut change = |row: &value::RowView<'_>, change: &mut relation::RowChange<'_>| {
        let id = row.get_i64(0).expect("a key");
        change.set(0, int(if turns { 11 - id } else { id + by }))
    };
    let accounts = client.known.named("accounts");
    accounts.update_where(&mut client.work(), Selection::All, None, &mut change).map(drop)
}

type Statement = fn(&mut Client<'_>, &mut Dice) -> Result<(), Stop>;

fn storm(
    (seed, base): (u64, sim::fs::FileSystem),
    (tables, statement): (fn() -> Vec<crate::common::Table>, Statement),
    check: fn(&Known, &Session),
) {
    with_instance(racy(seed, base), move |instance, session| {
        let sessions = 2 + seed % 7;
        let threads = (0..sessions).map(|number| {
            start("client", instance, session, move |instance, session| {
                let known = Known::of(instance, &tables(), session);
                let mut client = Client::new(instance, &known, session);
                let mut dice = Dice(seed * 100 + number);
                transactions(&mut client, (&mut dice, 12), statement);
            })
        });
        let threads: Vec<_> = threads.collect();
        join(threads, session);
        check(&Known::of(instance, &tables(), session), session);
    });
}

#[test]
fn sessions_that_meet_on_unique_keys_leave_indexes_that_agree_with_rows() {
    let base = database(accounts, |_, _, _| ());
    for seed in 0..40 {
        let all = |known: &Known, session: &Session| {
            known.all().for_each(|relation| check(relation, session));
        };
        storm((seed, base.clone()), (accounts, account_statement), all);
    }
}

#[test]
fn sessions_that_meet_on_foreign_keys_leave_no_row_that_refers_to_none() {
    let base = base();
    for seed in 0..60 {
        storm((seed, base.clone()), (tables, shop_statement), check_all);
    }
}

//! Both sides of a foreign key at once: whatever the order, no row refers to one that isn't there.

use instance::Parameters;
use sim::fs::FileSystem;
use stop::{Failpoints, RefusalKind};
use value::Value;
use waits::Nanos;

use crate::common::{
    Client, Dice, Known, bed, database, join, parameters, pause, racy, shut, start,
};
use crate::shop::{broken, check_all, delete, insert, int, set, tables};

pub(crate) fn base() -> FileSystem {
    database(tables, |instance, known, session| {
        let mut client = Client::new(instance, known, session);
        for id in 1..=3 {
            insert(&mut client, "customers", &[int(id), Value::Null]).expect("new");
        }
        client.commit();
    })
}

/// One session gives customer 1 an order, another deletes the customer, or changes its key; each
/// then commits or not. What is broken afterwards, if anything; and which of them were refused.
pub(crate) fn run(
    seed: u64,
    base: FileSystem,
    failpoints: Failpoints,
) -> (Option<String>, [bool; 2]) {
    testbed::run(racy(seed, base), move |world, session| {
        let parameters = Parameters { failpoints, ..parameters() };
        let instance = bed::open(&parameters, world, session);
        let outcomes =
            std::sync::Arc::new([latch::SharedFlag::new(false), latch::SharedFlag::new(false)]);
        let sides = (0..2_usize).map(|side| {
            let outcomes = std::sync::Arc::clone(&outcomes);
            start(
                if side == 0 { "child" } else { "parent" },
                &instance,
                session,
                move |instance, session| {
                    let known = Known::of(instance, &tables(), session);
                    let mut client = Client::new(instance, &known, session);
                    let mut dice = Dice(seed * 2 + side as u64);
                    if dice.below(3) == 0 {
                        let begun = instance.transactions().begin_serializable(session);
                        client.transaction = begun.expect("begun");
                    }
                    if dice.below(2) == 0 {
                        pause(Nanos::from_micros(dice.below(2_000)), session);
                    }
                    let done = match (side, seed % 2) {
                        (0, _) => insert(&mut client, "orders", &[int(1), int(1), int(5)]),
                        (_, 0) => delete(&mut client, "customers", 1).map(drop),
                        (_, _) => set(&mut client, ("customers", 1), (0, int(11))).map(drop),
                    };
                    match done {
                        Ok(()) => {
                            pause(Nanos::from_micros(dice.below(1_000)), session);
                            if dice.below(5) == 0 { client.rollback() } else { client.commit() }
                        }
                        Err(stop) => {
                            let kinds = [RefusalKind::ForeignKeyViolation, RefusalKind::Deadlock];
                            let kind = stop.refusal().expect("no halt");
                            assert!(kinds.contains(&kind), "{stop}");
                            outcomes[side].raise(session);
                            client.rollback();
                        }
                    }
                },
            )
        });
        let sides: Vec<_> = sides.collect();
        join(sides, session);
        let known = Known::of(&instance, &tables(), session);
        let broken = broken(&known, session);
        if broken.is_none() {
            check_all(&known, session);
        }
        drop(known);
        shut(instance, session);
        (broken, [outcomes[0].is_raised(session), outcomes[1].is_raised(session)])
    })
}

#[test]
fn an_order_never_outlives_its_customer_whoever_comes_first() {
    let base = base();
    let mut refused = [0, 0];
    for seed in 0..300 {
        let (broken, by) = run(seed, base.clone(), Failpoints::NONE);
        assert_eq!(broken, None, "seed {seed}");
        (0..2).for_each(|side| refused[side] += u32::from(by[side]));
    }
    assert!(refused.iter().all(|count| *count > 20), "each side comes too late: {refused:?}");
}

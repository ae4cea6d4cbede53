//! The budget: no session waits for it, what is granted comes back, and sorts keep to it.
#![forbid(unsafe_code)]

mod common;

use common::{expected, rows, small, world};
use os::{Session, ThreadSpec};
use sort::{Budget, GRANT_BYTES_MIN, SORT_AREA_BYTES_MIN, SortConfig, SortState};
use stop::Halt;
use testbed::{Dice, join, racing, run};

const MIB: u64 = 1 << 20;
/// Bytes of lists beside a sort's first chunk.
const LISTS: u64 = 1_000;

fn granted(budget: &Budget, session: &Session) -> u64 {
    budget.reading(session).granted_bytes
}

/// Who asks gets an eighth, or half of what is free, or the minimum, and at once; what is needed is
/// had whatever is free.
#[test]
fn a_grant_is_had_at_once_and_comes_back() {
    run(world(1), |world, session| {
        let budget = Budget::new(world.os(), 8 * MIB);
        let mut grants: Vec<_> = (0..20).map(|_| budget.grant()).collect();
        let mut last = MIB;
        for grant in &mut grants {
            let has = grant.grow_to(64 * MIB, session);
            assert!((GRANT_BYTES_MIN..=last).contains(&has), "{has}");
            assert_eq!(grant.grow_to(1, session), has, "it keeps what it has");
            last = has;
        }
        assert_eq!(last, GRANT_BYTES_MIN);
        let before = budget.reading(session);
        assert!(before.overdrawn > 0 && before.granted_bytes > before.target_bytes, "{before:?}");
        grants[19].need(10 * MIB, session);
        assert_eq!(grants[19].bytes(), 10 * MIB);
        let reading = budget.reading(session);
        assert_eq!(reading.overdrawn, before.overdrawn + 1);
        assert_eq!(reading.granted_bytes, grants.iter().map(|grant| grant.bytes()).sum::<u64>());
        grants[19].shrink_to(MIB, session);
        assert_eq!(granted(&budget, session), reading.granted_bytes - 9 * MIB);
        budget.set_target(0, session);
        let mut late = budget.grant();
        assert_eq!(late.grow_to(MIB, session), 0, "there is nothing, and no wait");
        // Half of them are closed, and half dropped.
        for grant in grants.split_off(10) {
            grant.close(session);
        }
        drop(grants);
        assert_eq!(granted(&budget, session), 0);
        assert_eq!(budget.reading(session).granted_bytes_max, reading.granted_bytes);
    });
}

/// Sessions that ask at the same time get no more together than there is, but for the minimum.
#[test]
fn sessions_that_ask_at_once_share_what_is_free() {
    for seed in 0..20 {
        run(racing(world(seed)), move |world, session| {
            let budget = Budget::new(world.os(), 2 * MIB);
            let threads = (0..6).map(|number| {
                let budget = budget.clone();
                let body = move |session: &Session| {
                    let mut dice = Dice(seed * 100 + number);
                    for _ in 0..30 {
                        let mut grant = budget.grant();
                        for _ in 0..dice.below(4) {
                            grant.grow_to(dice.below(MIB), session);
                        }
                        let reading = budget.reading(session);
                        let most = 2 * MIB + 6 * GRANT_BYTES_MIN;
                        assert!(reading.granted_bytes <= most, "{reading:?}");
                        grant.close(session);
                    }
                };
                session.spawn(ThreadSpec::foreground("asks"), body).expect("started")
            });
            join(threads.collect(), session);
            assert_eq!(granted(&budget, session), 0);
        });
    }
}

/// A sort has what the budget gives it, and its rows come in the same order with much and with
/// little; when it is closed at any point, all is back.
#[test]
fn a_sort_keeps_to_its_grant() {
    for target in [0, MIB, 64 * MIB] {
        for (pushed, taken) in [(0, 0), (10, 10), (3_000, 0), (3_000, 17), (3_000, 3_000)] {
            let mut report = world(1).run(move |world, session| {
                let budget = Budget::new(world.os(), target);
                let most = (target / 8).clamp(SORT_AREA_BYTES_MIN, 4 * MIB);
                let config =
                    SortConfig { area_bytes: 4 * MIB, budget: Some(budget.clone()), ..small() };
                let halt = Halt::new(session.os());
                let mut sort = SortState::new(&world.disk(), config, &halt).expect("an area");
                let rows = rows(pushed, 300, 5);
                for (key, payload) in &rows {
                    sort.push(key, payload, session).expect("no fault");
                    assert!(sort.memory_bytes() <= granted(&budget, session) + LISTS);
                    assert!(granted(&budget, session) <= most);
                }
                let mut sorted = sort.finish(session).expect("no fault");
                sort.close(session);
                for (key, payload) in expected(&rows).iter().take(taken) {
                    let row = sorted.next_row(session).expect("no fault");
                    assert_eq!(row, Some((&key[..], &payload[..])));
                    assert!(sorted.memory_bytes() <= granted(&budget, session) + LISTS);
                }
                sorted.close(session);
                assert_eq!(granted(&budget, session), 0);
                assert!(sorted.next_row(session).is_err(), "it was closed");
            });
            common::assert_nothing_is_left(report.disks.get_mut("disk").expect("the only one"));
            report.result.expect("no failure");
        }
    }
}

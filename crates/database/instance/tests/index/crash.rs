//! The power goes at every operation while sessions move entries and split leaves: what was
//! committed is there, nothing else is, and the tree is in order or made so.

use std::collections::BTreeMap;

use access::IndexBuilder;
use ids::BlockSize;
use instance::{Instance, Parameters, Transaction};
use os::Session;
use sim::Outside;
use sim::fs::FileSystem;
use sim::fs::crash::CrashStates;

use crate::common::{
    Dice, Entry, check, check_instance, database, ended, index, join, left, machine, open, open_as,
    parameters, racy, row, seen, shut, start, with_instance,
};
use crate::concurrent::{Keys, ROWS, key, move_all, versions};

/// For each user, the version that was told to be committed, and the last that was tried.
type Told = Outside<BTreeMap<u64, (u32, u32)>>;

fn writes(instance: &Instance, (user, seed): (u64, u64), told: &Told, session: &Session) {
    let index = index(instance, session);
    let mut dice = Dice(seed * 100 + user);
    let mut keys: Keys = vec![None; ROWS as usize];
    for version in 1..=6 {
        let mut transaction = Transaction::new();
        let mut tried = keys.clone();
        let to = (&mut tried, &mut dice);
        move_all((instance, &index), &mut transaction, (user, version), to, session);
        if version % 3 == 2 {
            instance.rollback(transaction, session).expect("rolled back");
            continue;
        }
        told.with(|told| told.entry(user).or_insert((0, 0)).1 = version);
        instance.commit(transaction, session).expect("committed");
        told.with(|told| told.entry(user).or_insert((0, 0)).0 = version);
        keys = tried;
    }
}

/// How many blocks the level above didn't know of.
fn holds(instance: &Instance, told: &BTreeMap<u64, (u32, u32)>, session: &Session) -> u64 {
    let index = index(instance, session);
    let entries = seen(instance, &index, None, session);
    let found = versions(&entries);
    for (user, (committed, tried)) in told {
        let version = found.get(user).copied().unwrap_or(0);
        let rolled_back = version % 3 == 2;
        assert!(*committed <= version && version <= *tried, "{user}: {version} of {told:?}");
        assert!(!rolled_back, "{user} has version {version}");
    }
    let unposted = check(&index, &entries, session).unposted;
    // Writers that come by everywhere.
    let mut own = Transaction::new();
    for (key, _) in &entries {
        index.insert(&mut own, key, row(5_000), session).expect("inserted");
    }
    index.insert(&mut own, &[255; 9], row(5_000), session).expect("inserted");
    instance.rollback(own, session).expect("rolled back");
    let checked = check(&index, &entries, session);
    assert_eq!(checked.unposted, 0, "splits are completed");
    check_instance(instance, session);
    unposted
}

/// Users whose rows are there from the beginning, so that the index is larger than the cache.
const OTHERS: std::ops::Range<u64> = 100..140;

fn small() -> Parameters {
    Parameters { db_cache_size: 32 * 2048, ..parameters() }
}

/// Full leaves, and a session that has splits wait for reads of branches.
fn filled() -> FileSystem {
    let ((), disk) =
        with_instance(machine(1, database(BlockSize::KIB_2, false)), |instance, session| {
            let index = index(instance, session);
            let mut dice = Dice(1);
            let users = OTHERS.flat_map(|user| (0..ROWS).map(move |number| (user, number)));
            let mut entries: Vec<Entry> = users
                .map(|(user, number)| (key(user, 1, &mut dice), row(user * ROWS + number)))
                .collect();
            entries.sort();
            let mut builder = IndexBuilder::new(&index, session);
            entries.iter().for_each(|(key, row)| builder.add(key, *row).expect("added"));
            builder.finish().expect("built");
            drop(index);
        });
    disk
}

#[test]
fn a_crash_anywhere_leaves_the_index_as_it_was_committed() {
    let base = filled();
    let (mut cuts, mut unposted) = (0, 0);
    for cut in (1..).step_by(9) {
        let mut content = base.clone();
        content.lose_power_at(content.crash_points() + cut);
        let told = Told::new(OTHERS.map(|user| (user, (1, 1))).collect());
        let inside = told.clone();
        let mut report = racy(cut, content).run(move |world, session| {
            let instance = open_as(&small(), world, session);
            let sessions = (0..3).map(|user| {
                let told = inside.clone();
                start("writer", &instance, session, move |instance, session| {
                    writes(instance, (user, 1), &told, session);
                })
            });
            join(sessions.collect(), session);
            shut(instance, session);
        });
        let told = told.take();
        if !report.was_cut(format_args!("cut {cut}")) {
            break;
        }
        cuts += 1;
        let disk = left(&mut report);
        for draw in 0..2 {
            let mut again = CrashStates::of(&disk).sample(draw);
            again.lose_power_at(u64::MAX);
            let told = told.clone();
            let report = machine(cut, again).run(move |world, session| {
                let instance = open(world, session);
                let unposted = holds(&instance, &told, session);
                shut(instance, session);
                unposted
            });
            unposted += ended(report, format!("cut {cut}, draw {draw}"));
        }
    }
    assert!(cuts > 30, "{cuts} cuts");
    assert!(unposted > 0, "no crash came between the two groups of a split");
}

//! Databases that are open: nothing is found while others work, and what is wrong is found.

use std::sync::Arc;
use txn::block;

use access::{HeapInserter, Index, RowAddress};
use ids::Dba;
use instance::{DataFileSpec, Instance, Parameters, Transaction};
use os::{Session, ThreadSpec};
use sim::fs::Operation;
use sim::fs::faults::{Fault, FaultPlan, Scope};

use stop::{RefusalKind, Stop};
use verify::{Finding, Kind, Report, Task};

use crate::common::{
    BLOCK, Blocks, DATA, Dice, Objects, ROWS, Schema, check, database, directory, kinds, machine,
    pairs, parameters, racy, row, run,
};

fn check_open(instance: &Instance, objects: Objects, session: &Session) -> (Report, Vec<Finding>) {
    let (mut told, pairs) = (Vec::new(), pairs(objects));
    let (tell, go_on) = (&mut |finding: &Finding| told.push(finding.clone()), &mut |_| true);
    let mut task = Task { pairs: &pairs, told_max: verify::TOLD_MAX, tell, go_on };
    let report = verify::open(instance, &mut task, session).expect("checked");
    (report, told)
}

/// Inserts, deletes, grows and takes back, in rows of its own; makes and drops segments.
fn work(instance: &Instance, seed: u64, rounds: u32, session: &Session) -> Result<(), Stop> {
    let schema = Schema::find(instance, session);
    let (mut dice, mut inserter) = (Dice(seed), HeapInserter::default());
    let mut mine: Vec<(RowAddress, Vec<u8>)> = Vec::new();
    let mut next = 1_000_000 + seed as u32 * 10_000;
    for round in 0..rounds {
        let (mut transaction, before) = (Transaction::new(), mine.clone());
        let outcome = (0..1 + dice.below(6)).try_for_each(|_| {
            let what = dice.below(10);
            let place = dice.below(mine.len().max(1) as u64) as usize;
            match mine.get(place).cloned() {
                Some((at, old)) if what < 3 => {
                    mine.swap_remove(place);
                    schema.delete(&mut transaction, (at, &old), session)
                }
                Some((at, _)) if what < 5 => {
                    let bytes = dice.below(4_000) as usize;
                    let mut grow = |old: &[u8], new: &mut Vec<u8>| {
                        new.extend_from_slice(&old[..4]);
                        new.resize(4 + bytes, 3);
                    };
                    let heap = &schema.heap;
                    heap.update(&mut transaction, &mut inserter, at, None, &mut grow, session)
                        .map(|_| ())
                }
                _ => {
                    let row = row(next, 20 + dice.below(300) as usize);
                    next += 1;
                    let at = schema.insert(&mut transaction, &mut inserter, &row, session)?;
                    mine.push((at, row));
                    Ok(())
                }
            }
        });
        match outcome {
            Ok(()) if dice.below(4) > 0 => instance.commit(transaction, session)?,
            Err(stop) if stop.refusal() != Some(RefusalKind::NoSpace) => return Err(stop),
            _ => {
                instance.rollback(transaction, session)?;
                mine = before;
            }
        }
        if round % 8 == 5 {
            let name = format!("s{seed}");
            let made = instance.space().create(&name, space::Holds::Table, session)?;
            instance.space().drop_segment(made.object, session)?;
        }
    }
    Ok(())
}

/// Entries come at the high end of an index and go at the low one, whose leaves are taken out and
/// used again.
pub(crate) fn pass_through(
    instance: &Instance,
    rounds: u64,
    session: &Session,
) -> Result<(), Stop> {
    let (space, transactions) = (instance.space(), instance.transactions());
    let system = space.tablespaces(session)[0].name.clone();
    let index = Index::create(&system, "q", false, space, transactions, session)?;
    let entry = |number: u64| {
        let mut key = vec![b'q'; 150];
        key.extend_from_slice(&number.swap_bytes().to_le_bytes());
        (key, RowAddress { block: Dba::new(1, number as u32), slot: 0 })
    };
    for round in 0..rounds {
        let mut transaction = Transaction::new();
        for number in round * 10..round * 10 + 10 {
            let (key, row) = entry(number);
            index.insert(&mut transaction, &key, row, session)?;
            if let Some(old) = number.checked_sub(150) {
                let (key, row) = entry(old);
                assert!(index.delete(&mut transaction, &key, row, session)?, "{old} is there");
            }
        }
        instance.commit(transaction, session)?;
    }
    // At last most go at once: so some blocks stay free.
    let next = rounds * 10;
    let mut transaction = Transaction::new();
    for number in next - 150..next - 20 {
        let (key, row) = entry(number);
        assert!(index.delete(&mut transaction, &key, row, session)?, "{number} is there");
    }
    instance.commit(transaction, session)?;
    let mut transaction = Transaction::new();
    for number in next..next + 30 {
        let (key, row) = entry(number);
        index.insert(&mut transaction, &key, row, session)?;
    }
    instance.commit(transaction, session)
}

fn parameters_for_work() -> Parameters {
    Parameters { db_cache_size: 96 * BLOCK as u64, ..parameters() }
}

/// Checks go on beside sessions that change everything that a check looks at: rows and their
/// pieces, indexes that split, undo, segments, files that grow. Under many schedules there is no
/// false alarm; and afterwards, shut, there is nothing either.
#[test]
fn there_is_no_false_alarm_while_sessions_work() {
    let (disk, objects) = database();
    let (mut checks, mut unsettled) = (0, 0);
    for seed in 0..12 {
        let (more, not) = run(racy(seed, disk.clone()), move |world, session| {
            let opened =
                Instance::open(&world.disk(), directory(), &parameters_for_work(), session);
            let instance = Arc::new(opened.expect("opened"));
            let mut workers: Vec<_> = (1..4)
                .map(|number| {
                    let instance = Arc::clone(&instance);
                    let body = move |session: &Session| {
                        work(&instance, seed * 4 + number, 150, session).expect("worked");
                    };
                    let name = format!("worker{number}");
                    session.spawn(ThreadSpec::foreground(&name), body).expect("started")
                })
                .collect();
            let queue = Arc::clone(&instance);
            let body = move |session: &Session| pass_through(&queue, 150, session).expect("worked");
            workers.push(session.spawn(ThreadSpec::foreground("queue"), body).expect("started"));
            let (mut checks, mut unsettled) = (0, 0);
            for _ in 0..4 {
                let before = instance.redo().last_scn(session);
                let (report, told) = check_open(&instance, objects, session);
                assert_eq!(told, [], "seed {seed}");
                assert!(report.rows >= u64::from(ROWS) / 2, "{report}");
                // One beside which nothing was changed shows nothing.
                checks += u64::from(instance.redo().last_scn(session).get() > before.get() + 50);
                unsettled += report.unsettled;
            }
            workers
                .into_iter()
                .for_each(|worker| assert!(worker.join(session).is_ok(), "it worked"));
            let (report, told) = check_open(&instance, objects, session);
            assert_eq!((told, report.unsettled), (vec![], 0), "seed {seed}");
            instance.shutdown(session).expect("shut in good order");
            // Its files are locked until they are closed.
            drop(instance);
            let (report, told) = check(&world.disk(), Some(objects), session);
            assert_eq!(told, [], "seed {seed}");
            assert!(report.expect("checked").is_clean());
            (checks, unsettled)
        });
        (checks, unsettled) = (checks + more, unsettled + not);
    }
    println!("{checks} checks beside work, {unsettled} places not judged");
    assert!(checks >= 12, "only {checks} checks went on beside work");
    assert!(unsettled * 4 < checks, "{unsettled} places in {checks} checks");
}

/// The same damage is found as in a database that is shut: a block, and an entry whose row is gone.
#[test]
fn damage_is_found_in_a_database_that_is_open() {
    let (disk, objects) = database();
    let told = run(machine(7, disk), move |world, session| {
        let disk = world.disk();
        let mut blocks = Blocks::load(&disk, DATA, session);
        let heap = blocks.all(format::BlockKind::Heap, Some(objects[0]));
        let block = &mut blocks.now[heap[0]];
        let slots = (0..).zip(block::directory(block));
        let (number, found) =
            slots.map(|(n, s)| (n, *s)).find(|(_, s)| s.flags == 1).expect("a row");
        block::release(block, number);
        let (lock, flags) = (found.lock, format::DataSlot::DELETED);
        let to = format::DataSlot { lock, flags, ..format::DataSlot::FREE };
        block::set_slot(block, number, to);
        blocks.store(&disk, session);
        let at = (heap[1] * BLOCK + 300) as u64;
        let byte = crate::common::read(&disk, DATA, (at, 1), session)[0];
        crate::common::write(&disk, DATA, (at, &[byte ^ 1]), session);
        let opened = Instance::open(&disk, directory(), &parameters_for_work(), session);
        let instance = opened.expect("opened");
        let (_, told) = check_open(&instance, objects, session);
        instance.abort(session);
        told
    });
    assert_eq!(kinds(&told)[&Kind::Block], 1, "{told:?}");
}

/// Adds a data file, and has the table and its indexes grow into it.
fn grow_into_a_new_file(instance: &Instance, session: &Session) {
    let system = instance.space().tablespaces(session)[0].name.clone();
    let bytes = 400 * BLOCK as u64;
    let file = DataFileSpec { path: "more.dbf".into(), bytes, bytes_max: 0, growth_bytes: 0 };
    instance.add_data_file(&system, &file, session).expect("added");
    let (schema, mut inserter) = (Schema::find(instance, session), HeapInserter::default());
    for round in 0..60 {
        let mut transaction = Transaction::new();
        for number in 0..10 {
            let row = row(2_000_000 + round * 10 + number, 300);
            schema.insert(&mut transaction, &mut inserter, &row, session).expect("inserted");
        }
        instance.commit(transaction, session).expect("committed");
    }
}

/// What lies in a file that came after the check began isn't missing.
#[test]
fn a_file_that_is_added_beside_a_check_is_no_alarm() {
    let (disk, objects) = database();
    let told = run(machine(5, disk), move |world, session| {
        let opened = Instance::open(&world.disk(), directory(), &parameters_for_work(), session);
        let instance = opened.expect("opened");
        let (mut told, mut has_grown, pairs) = (Vec::new(), false, pairs(objects));
        let tell = &mut |finding: &Finding| told.push(finding.clone());
        let go_on = &mut |_| {
            if !std::mem::replace(&mut has_grown, true) {
                grow_into_a_new_file(&instance, session);
            }
            true
        };
        let mut task = Task { pairs: &pairs, told_max: verify::TOLD_MAX, tell, go_on };
        verify::open(&instance, &mut task, session).expect("checked");
        instance.abort(session);
        told
    });
    assert_eq!(told, []);
}

#[test]
fn a_map_of_zeros_stays_refused_after_a_check_has_looked_at_it() {
    let (disk, objects) = database();
    let stop = run(machine(3, disk), move |world, session| {
        let disk = world.disk();
        let mut blocks = Blocks::load(&disk, DATA, session);
        blocks.now[1].fill(0);
        blocks.store(&disk, session);
        let roomy = Parameters { db_cache_size: 2_000 * BLOCK as u64, ..parameters() };
        let instance = Instance::open(&disk, directory(), &roomy, session).expect("opened");
        assert!(!check_open(&instance, objects, session).1.is_empty());
        let system = instance.space().tablespaces(session)[0].name.clone();
        let made = instance
            .space()
            .create_within(&system, "new", space::Holds::Table, session)
            .map(|one| one.header);
        instance.abort(session);
        made
    })
    .expect_err("nobody knows what is free");
    assert_eq!(stop.refusal(), Some(RefusalKind::Corrupt), "{stop}");
}

#[test]
fn segments_of_further_directory_blocks_may_be_dropped_beside_a_check() {
    let (disk, objects) = database();
    for seed in 0..20 {
        run(racy(seed, disk.clone()), move |world, session| {
            let opened =
                Instance::open(&world.disk(), directory(), &parameters_for_work(), session);
            let instance = Arc::new(opened.expect("opened"));
            let make = |n| instance.space().create(&format!("d{n}"), space::Holds::Table, session);
            let made: Vec<_> = (0..80).map(|n| make(n).expect("made").object).collect();
            let inside = Arc::clone(&instance);
            let body = move |session: &Session| {
                for object in &made[45..] {
                    inside.space().drop_segment(*object, session).expect("dropped");
                }
            };
            let drops = session.spawn(ThreadSpec::foreground("drops"), body).expect("started");
            for _ in 0..4 {
                assert_eq!(check_open(&instance, objects, session).1, [], "seed {seed}");
            }
            assert!(drops.join(session).is_ok());
            instance.abort(session);
        });
    }
}

/// A block that the device can't read is a finding, and the others are looked at.
#[test]
fn a_block_that_cannot_be_read_does_not_end_the_check() {
    let (disk, objects) = database();
    let scope = Scope::of(&[Operation::Read]).under("/db/data01.dbf");
    let mut found = 0;
    for nth in (10..200).step_by(5) {
        let mut disk = disk.clone();
        disk.plan_faults(FaultPlan::new(3).nth(nth, Fault::Eio, scope.clone()));
        let told = run(machine(nth, disk), move |world, session| {
            // The opening reads blocks too.
            let opened = Instance::open(&world.disk(), directory(), &parameters(), session);
            let Ok(instance) = opened else { return Vec::new() };
            let (_, told) = check_open(&instance, objects, session);
            instance.abort(session);
            told
        });
        found += usize::from(told.iter().any(|one| one.what.contains("can't be read")));
    }
    assert!(found > 10, "{found}");
}

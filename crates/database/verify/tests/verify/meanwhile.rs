//! What is no finding: files that come while a check goes on, redo behind the checkpoint of a
//! shutdown, and an opening that was refused.

use std::sync::Arc;

use access::{Heap, HeapInserter};
use ids::BlockSize;
use instance::{DataFileSpec, Instance, Parameters, TablespaceSpec, Transaction};
use os::{Session, ThreadSpec};
use sim::fs::FileSystem;

use space::Holds;
use verify::{Finding, Task};
use waits::{Nanos, WaitEvent};

use crate::common::{
    BLOCK, bed, check, creation, database, directory, machine, parameters, racy, run, run_kept,
};

fn file(name: String) -> DataFileSpec {
    let bytes = 64 * BLOCK as u64;
    DataFileSpec { path: name, bytes, bytes_max: 0, growth_bytes: 0 }
}

/// Several data files.
fn many_files() -> FileSystem {
    let make = |instance: &Arc<Instance>, session: &Session| {
        for n in 0..30 {
            instance.add_data_file("system", &file(format!("f{n}.dbf")), session).expect("added");
        }
        let spec = TablespaceSpec {
            name: "t".to_string(),
            block_size: BlockSize::KIB_2,
            extent_blocks: 4,
            files: vec![file("t0.dbf".to_string())],
        };
        instance.create_tablespace(&spec, session).expect("made");
    };
    bed::create(creation(), parameters(), make).1
}

fn ddl(instance: &Instance, session: &Session) {
    instance.add_data_file("t", &file("t1.dbf".to_string()), session).expect("added");
    for n in 0..2 {
        let name = format!("s{n}");
        let made = instance.space().create_within("t", &name, Holds::Table, session);
        let transactions = instance.transactions();
        let heap = Heap::new(&made.expect("made"), instance.space(), transactions, session);
        let (mut transaction, mut inserter) = (Transaction::new(), HeapInserter::default());
        // One in each block, so that its second extent, which lies in the other file, has some.
        for _ in 0..6 {
            let row = [7; BLOCK * 3 / 4];
            heap.insert(&mut transaction, &mut inserter, &row, session).expect("inserted");
        }
        instance.commit(transaction, session).expect("committed");
    }
}

/// VF3: what is added while a check goes on is no finding.
#[test]
fn a_file_added_while_a_check_goes_on_is_no_finding() {
    let base = many_files();
    let (mut found, mut runs) = (Vec::new(), 0);
    for step in 0..300_u64 {
        let (files, unsettled, told) = run(machine(step, base.clone()), move |world, session| {
            let instance = Instance::open(&world.disk(), directory(), &parameters(), session);
            let instance = Arc::new(instance.expect("opened"));
            let inside = Arc::clone(&instance);
            let body = move |session: &Session| ddl(&inside, session);
            let thread = session.spawn(ThreadSpec::foreground("ddl"), body).expect("started");
            let waiting = session.waiting(WaitEvent::PlSqlLockTimer);
            session.pause(Nanos::from_micros(1 + step * 100), waiting);
            let mut told: Vec<Finding> = Vec::new();
            let (tell, go_on) =
                (&mut |finding: &Finding| told.push(finding.clone()), &mut |_| true);
            let mut task = Task { pairs: &[], told_max: verify::TOLD_MAX, tell, go_on };
            let report = verify::open(&instance, &mut task, session).expect("checked");
            assert!(thread.join(session).is_ok(), "the ddl panicked");
            instance.abort(session);
            (report.files, report.unsettled, told)
        });
        runs += 1;
        if !told.is_empty() {
            println!("step {step}: {files} files, {unsettled} unsettled");
            told.iter().take(3).for_each(|finding| println!("   {finding}"));
            found.push(step);
        }
    }
    assert!(found.is_empty(), "{} of {runs} checks had findings: {found:?}", found.len());
}

/// What a check of the database that was shut says: why structures were skipped, and findings.
fn looked_at(content: FileSystem) -> (Option<String>, Vec<String>) {
    run(machine(2, content), |world, session| {
        let (report, told) = check(&world.disk(), None, session);
        let told = told.iter().map(ToString::to_string).collect();
        (report.expect("checked").skipped, told)
    })
}

/// IN5, VF2: who makes and drops segments while the instance is shut is no finding afterwards: what
/// he did last is in the redo.
#[test]
fn segments_made_while_the_instance_is_shut_are_no_finding() {
    let (base, _) = database();
    let (mut found, mut runs) = (Vec::new(), 0);
    for seed in 0..300_u64 {
        let (shut, disk) = run_kept(racy(seed, base.clone()), move |world, session| {
            let instance = Instance::open(&world.disk(), directory(), &parameters(), session);
            let instance = Arc::new(instance.expect("opened"));
            let inside = Arc::clone(&instance);
            let body = move |session: &Session| {
                let mut all = Vec::new();
                for n in 0..2_000 {
                    let name = format!("late{n}");
                    let Ok(made) = inside.space().create(&name, Holds::Table, session) else {
                        return;
                    };
                    all.push(made.object);
                    if n % 3 == 2 && inside.space().drop_segment(all.remove(0), session).is_err() {
                        return;
                    }
                }
            };
            let thread = session.spawn(ThreadSpec::foreground("ddl"), body).expect("started");
            let waiting = session.waiting(WaitEvent::PlSqlLockTimer);
            session.pause(Nanos::from_micros(100 + seed * 37), waiting);
            let shut = instance.shutdown(session).map_err(|stop| stop.to_string());
            assert!(thread.join(session).is_ok(), "the ddl panicked");
            shut
        });
        runs += 1;
        if let Err(stop) = &shut {
            println!("seed {seed}: {stop}");
            continue;
        }
        let (skipped, told) = looked_at(disk.clone());
        // It opens, and is in order then.
        let (records, after) = run_kept(machine(seed, disk), |world, session| {
            let instance = Instance::open(&world.disk(), directory(), &parameters(), session);
            let instance = instance.expect("opened");
            instance.space().check(session).expect("space agrees");
            let records = instance.opened().recovered.records;
            instance.shutdown(session).expect("shut");
            records
        });
        let (_, later) = looked_at(after);
        assert!(later.is_empty(), "after it was opened once: {later:?}");
        if !told.is_empty() {
            println!("seed {seed}: skipped {skipped:?}, {records} records of redo were left");
            told.iter().take(3).for_each(|finding| println!("   {finding}"));
            found.push(seed);
        }
    }
    assert!(found.is_empty(), "{} of {runs} checks had findings: {found:?}", found.len());
}

/// An opening that is refused for its parameters leaves a database that was shut as it was.
#[test]
fn a_refused_opening_leaves_a_database_that_is_shut() {
    let (base, _) = database();
    assert_eq!(looked_at(base.clone()), (None, Vec::new()));
    let wide = Parameters { db_32k_cache_size: 32 * 32768, ..parameters() };
    let (stop, disk) = run_kept(machine(1, base), move |world, session| {
        let opened = Instance::open(&world.disk(), directory(), &wide, session);
        opened.map(|_| ()).map_err(|stop| stop.to_string())
    });
    let stop = stop.expect_err("a batch has no room for such blocks");
    println!("refused: {stop}");
    let (skipped, told) = looked_at(disk);
    assert_eq!((skipped, told), (None, Vec::new()));
}

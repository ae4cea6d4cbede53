//! What a shutdown says of a halt, and what it waits for; what bounds the buffers where
//! `sga_max_size` does not.

use instance::{Creation, Instance, Parameters, Transaction};
use waits::{Nanos, WaitEvent};

use crate::common::{
    TABLE, add, bed, bytes_of, creation, database, database_with, ended, machine, open, parameters,
    pause, put, rows, run, run_kept,
};
use crate::rows::Rows;

const BLOCK: u64 = 2048;

/// A dead transaction can't be rolled back: who shuts the instance is told so.
#[test]
fn shutdown_names_the_halt_that_came_while_it_waited() {
    let (block, mut disk) = run_kept(machine(1, database(60)), |world, session| {
        let instance = open(world, session);
        let table = Rows::open(&instance, TABLE, session).expect("there");
        let row = rows(&table, session)[20];
        let mut transaction = Transaction::new();
        add(&table, &mut transaction, row, 5, session).expect("changed");
        // The change is on disk, and the control file's checkpoint behind it.
        let redo = instance.redo();
        redo.make_durable(redo.last_scn(session), session, WaitEvent::LogFileSync).expect("ok");
        instance.checkpoint(session).expect("written");
        pause(Nanos::from_secs(10), session);
        instance.abort(session);
        std::mem::forget(transaction);
        row.block
    });
    let path = "/db/data01.dbf";
    let mut bytes = bytes_of(&mut disk, path);
    let at = (u64::from(block.block.get()) * BLOCK + 1000) as usize;
    bytes[at] ^= 0xFF;
    put(&mut disk, path, &bytes);
    let (said, cause) = run(machine(1, disk), |world, session| {
        let instance = open(world, session);
        let stop = instance.shutdown(session).expect_err("it can't be rolled back");
        let cause = instance.halt().cause(session);
        (stop.to_string(), cause.map(|cause| cause.to_string()))
    });
    println!("said: {said}\ncause: {cause:?}");
    assert!(!said.contains("commit them or roll them back"), "{said}");
}

/// `sga_max_size` of 0: the buffers come to no more bytes than when it was opened.
#[test]
fn buffers_of_another_size_are_not_more_bytes_than_at_opening() {
    let wide = Parameters {
        db_cache_size: 512 * 2048,
        db_32k_cache_size: 32 * 32768,
        db_writer_batch: 64,
        ..parameters()
    };
    let creation = Creation { doublewrite_slots: 128, ..creation() };
    let disk = database_with(creation, wide.clone(), |_, _| {});
    let ((before, after), _) =
        bed::with_instance(machine(1, disk), wide.clone(), move |instance, session| {
            let bytes = |instance: &Instance| {
                let p = instance.parameters(session);
                p.db_cache_size + p.db_32k_cache_size
            };
            let before = bytes(instance);
            instance
                .set_parameter("db_cache_size", &(64 * 2048).to_string(), session)
                .expect("less");
            let grown =
                instance.set_parameter("db_32k_cache_size", &(480 * 32768).to_string(), session);
            let after = bytes(instance);
            println!("before {before}, after {after}: {grown:?}");
            (before, after)
        });
    assert!(after <= before, "{before} bytes became {after}");
}

/// A transaction that nobody has any more keeps nobody from shutting the instance: the process
/// monitor rolls it back first.
#[test]
fn shutdown_has_rolled_back_what_was_abandoned() {
    for seed in 0..20 {
        let report = machine(seed, database(60)).run(|world, session| {
            let instance = open(world, session);
            let table = Rows::open(&instance, TABLE, session).expect("there");
            for row in [3, 20] {
                let row = rows(&table, session)[row];
                let mut transaction = Transaction::new();
                add(&table, &mut transaction, row, 5, session).expect("changed");
                drop(transaction);
            }
            instance.shutdown(session).map_err(|stop| stop.to_string())
        });
        assert_eq!(ended(report, "the shutdown"), Ok(()), "seed {seed}");
    }
}

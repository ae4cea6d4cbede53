//! Recovery: how it reads, what it tells, and that a second one finds nothing to do.

use std::cell::RefCell;

use ids::Rba;
use instance::{Instance, Parameters, recover_database};
use latch::FrameOrder;
use os::FilesystemIo;
use sim::fs::FileSystem;
use waits::WaitEvent;

use crate::common::{
    self, TABLE, abort, add, check, creation, directory, ended, machine, number, open_as,
    parameters, rows, run, run_kept, shut,
};
use crate::rows::Rows;

const ROWS: u64 = 600;
const LOG_BYTES: u64 = 400 * 4_096;

/// With room for the table, and nobody who writes before the crash.
fn roomy() -> Parameters {
    Parameters { db_cache_size: 256 * 2_048, ..parameters() }
}

/// Every row was changed and committed, none of its blocks written: one change of one transaction.
fn crashed() -> FileSystem {
    let creation = instance::Creation { log_file_bytes: LOG_BYTES, ..creation() };
    let base = common::database_with(creation, roomy(), |instance, session| {
        let table = Rows::create(instance, TABLE, session).expect("made");
        common::fill(instance, &table, ROWS, session);
    });
    let ((), disk) = run_kept(machine(1, base), |world, session| {
        let instance = open_as(&roomy(), world, session);
        let table = Rows::open(&instance, TABLE, session).expect("there");
        let mut transaction = instance::Transaction::new();
        for row in rows(&table, session) {
            add(&table, &mut transaction, row, 7, session).expect("changed");
        }
        instance.commit(transaction, session).expect("committed");
        drop(table);
        abort(instance, session);
    });
    disk
}

/// It reads blocks before it needs them, many at once; tells how far it has come, up to the end;
/// keeps where the redo ended and why; and says what should have been expected.
#[test]
fn recovery_reads_ahead_and_says_what_it_does() {
    run(machine(2, crashed()), |world, session| {
        let told = RefCell::new(Vec::new());
        let tell = |progress| told.borrow_mut().push(progress);
        let disk = world.disk();
        let instance =
            Instance::open_telling(&disk, directory(), &roomy(), &tell, session).expect("opened");
        let opened = instance.opened().clone();
        let recovered = &opened.recovered;
        let last = *told.borrow().last().expect("it was told");
        // All of it was applied before the end of the redo was known.
        assert_eq!((last.applied, last.of), (recovered.bytes, None));
        assert!(last.to_string().contains("MB of redo applied"), "{last}");
        assert!(recovered.applied >= 2 * ROWS, "{recovered:?}");
        assert!(recovered.brought > 30, "{recovered:?}");
        assert!(recovered.end.to_string().starts_with("redo ends at log"), "{}", recovered.end);
        assert!(opened.estimated_recovery.0 > 0);
        let parts = recovered.surveyed_in.0 + recovered.applied_in.0;
        assert!(parts > 0 && parts <= recovered.elapsed.0, "{recovered:?}");
        let totals = session.os().totals();
        let together = totals.event(WaitEvent::DbFileParallelRead).count;
        assert!(together > 0 && together < recovered.brought, "{together} waits");
        let table = Rows::open(&instance, TABLE, session).expect("there");
        for row in rows(&table, session) {
            assert_eq!(number(&table, row, session), 7);
        }
        check(&instance, session);
        drop(table);
        instance.shutdown(session).expect("shut in good order");
    });
}

/// The redo is read once if there are free buffers for all blocks that it names, and a second time
/// from where they were used up if there aren't (rule recovery/RC8).
#[test]
fn the_redo_is_read_once_if_buffers_hold_its_blocks() {
    let base = crashed();
    let read = [256, 32].map(|buffers| {
        let parameters = Parameters { db_cache_size: buffers * 2_048, ..roomy() };
        let report = machine(4, base.clone()).run(move |world, session| {
            let told = RefCell::new(Vec::new());
            let tell = |progress: instance::Progress| told.borrow_mut().push(progress.of);
            let disk = world.disk();
            let recovered = recover_database(&disk, directory(), &parameters, &tell, session);
            let bytes = recovered.expect("recovered").bytes;
            let last = *told.borrow().last().expect("it was told");
            assert_eq!(last, (buffers == 32).then_some(bytes));
            session.os().totals().event(WaitEvent::LogFileSequentialRead).count
        });
        ended(report, buffers)
    });
    assert!(read[1] > read[0], "{read:?} waits for redo");
}

/// Recovered without being opened, and then opened: nothing is left to be done again. So it is
/// however files are read, and with a cache of the fewest buffers.
#[test]
fn a_database_that_was_recovered_has_nothing_to_recover() {
    let base = crashed();
    let small = Parameters { db_cache_size: 32 * 2_048, ..roomy() };
    let ways = FilesystemIo::ALL.map(|io| Parameters { filesystemio_options: io, ..roomy() });
    for parameters in ways.into_iter().chain([small]) {
        run(machine(3, base.clone()), move |world, session| {
            let disk = world.disk();
            let tell = |_| ();
            let first = recover_database(&disk, directory(), &parameters, &tell, session);
            let first = first.expect("recovered");
            assert!(first.applied > ROWS, "{first:?}");
            let again = recover_database(&disk, directory(), &parameters, &tell, session);
            let again = again.expect("recovered");
            assert_eq!((again.records, again.bytes, again.applied), (0, 0, 0));
            assert_eq!(again.from, Rba::block(first.end.next_sequence(), 1));
            let instance = open_as(&parameters, world, session);
            let table = Rows::open(&instance, TABLE, session).expect("there");
            let all = rows(&table, session);
            assert_eq!(all.len() as u64, ROWS);
            assert!(all.iter().all(|row| number(&table, *row, session) == 7));
            let pin = instance.cache().pin(all[0].block, session).expect("read");
            drop(pin.shared(FrameOrder::Heap, session));
            drop((pin, table));
            shut(instance, session);
        });
    }
}

/// A recovery that may start only so many threads is refused for that, or goes on with fewer; it
/// leaves none running, so that nothing has the files any more (rules recovery/RC15, RC21, RC22).
#[test]
fn a_recovery_that_may_not_start_a_thread_leaves_none_running() {
    let base = crashed();
    let least = [256, 32].map(|buffers| {
        let is_enough = |threads: &u32| {
            let (threads, base) = (*threads, base.clone());
            let parameters = Parameters { db_cache_size: buffers * 2_048, ..roomy() };
            let report = machine(5, base).run(move |world, session| {
                let disk = world.disk();
                let recover =
                    || recover_database(&disk, directory(), &parameters, &|_| (), session);
                let running = || {
                    let all = session.os().running();
                    all.iter().map(|one| one.account.name().to_owned()).collect::<Vec<_>>()
                };
                world.limit_threads(Some(threads));
                let first = recover();
                world.limit_threads(None);
                assert_eq!(running(), ["main"], "{threads} threads, {buffers} buffers");
                let is_enough = first.is_ok();
                if let Err(refused) = &first {
                    assert!(refused.to_string().contains("thread"), "{threads}: {refused}");
                }
                let recovered = first.or_else(|_| recover()).expect("recovered");
                assert!(recovered.applied > ROWS, "{recovered:?}");
                is_enough
            });
            ended(report, format_args!("{threads} threads, {buffers} buffers"))
        };
        (0..9).find(is_enough)
    });
    // With 3 the first has one writer of two; with 5 the second has no helper process at the end.
    assert_eq!(least, [Some(3), Some(5)]);
}

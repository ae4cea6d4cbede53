//! The incremental checkpoint keeps the bounds that parameters set, and a crash shows it: recovery
//! begins where the bound says, or later.

use ids::Rba;
use instance::{Creation, Instance, Parameters, Transaction};
use os::Session;
use sim::fs::FileSystem;
use sim::model::DiskParameters;
use sim::{DiskSpec, Simulation};
use waits::Nanos;

use crate::common::{
    self, TABLE, abort, add, bed, creation, ended, fill, left, machine, open_as, parameters, rows,
    shut,
};
use crate::rows::Rows;

/// Logs so long that no switch brings the checkpoint on.
fn long_logs() -> Creation {
    Creation {
        log_file_bytes: 4 << 20,
        data_bytes: 2 * BLOCKS * 2048,
        undo_bytes_max: BLOCKS * 2048,
        doublewrite_slots: 64,
        ..creation()
    }
}

const BLOCKS: u64 = 2_000;
const ROWS: u64 = 16 * 1_200;

/// A cache that holds every block: nothing is written to make buffers free.
fn roomy() -> Parameters {
    Parameters { db_cache_size: (BLOCKS + 100) * 2048, db_writer_batch: 64, ..parameters() }
}

/// Changes rows all over the table, four in a transaction, at a rate that one disk bears.
fn work(instance: &Instance, transactions: u64, session: &Session) {
    let table = Rows::open(instance, TABLE, session).expect("there");
    let all = rows(&table, session);
    for step in 0..transactions {
        let mut transaction = Transaction::new();
        for row in 0..4 {
            let row = all[((step * 4 + row) * 2_017 % all.len() as u64) as usize];
            add(&table, &mut transaction, row, 1, session).expect("no deadlock");
        }
        instance.commit(transaction, session).expect("committed");
        common::pause(Nanos::from_millis(40), session);
    }
}

fn filled(creation: Creation) -> FileSystem {
    common::database_with(creation, roomy(), |instance, session| {
        let table = Rows::create(instance, TABLE, session).expect("made");
        fill(instance, &table, ROWS, session);
    })
}

/// Works under these parameters, pauses, is aborted, and opens again: where the redo ended, where
/// recovery began, and how long it took.
fn crashed(parameters: Parameters, base: FileSystem, pause: Nanos) -> (Rba, Rba, Nanos) {
    let mut report = machine(1, base).run({
        let parameters = parameters.clone();
        move |world, session| {
            let instance = open_as(&parameters, world, session);
            work(&instance, 400, session);
            let end = instance.redo().position(session);
            common::pause(pause, session);
            abort(instance, session);
            end
        }
    });
    let disk = left(&mut report);
    let end = ended(report, "work");
    let ((from, elapsed), _) =
        bed::with_instance(machine(2, disk), parameters, move |instance, _| {
            let recovered = instance.opened().recovered.clone();
            (recovered.from, recovered.elapsed)
        });
    assert_eq!(from.sequence, end.sequence, "no log was switched");
    (end, from, elapsed)
}

/// Without a bound a recovery reads all that was written; with one, no more than it says.
#[test]
fn log_checkpoint_interval_bounds_the_redo_that_recovery_reads() {
    const INTERVAL: u32 = 16;
    let base = filled(long_logs());
    let bounded = Parameters { log_checkpoint_interval: INTERVAL, ..roomy() };
    let (end, from, _) = crashed(roomy(), base.clone(), Nanos::from_secs(1));
    assert!(end.block - from.block > 4 * INTERVAL, "{from} to {end}: nothing to bound");
    let (end, from, _) = crashed(bounded, base, Nanos::from_secs(1));
    assert!(end.block - from.block <= INTERVAL, "{from} to {end}");
}

/// What has been dirty for longer than the timeout is on disk.
#[test]
fn log_checkpoint_timeout_bounds_the_age_of_what_recovery_reads() {
    let base = filled(long_logs());
    let bounded = Parameters { log_checkpoint_timeout: 10, ..roomy() };
    let (end, from, _) = crashed(bounded.clone(), base.clone(), Nanos::from_secs(5));
    assert!(from.block < end.block, "{from} to {end}: it isn't time yet");
    let (end, from, _) = crashed(bounded, base, Nanos::from_secs(18));
    assert!(from.block >= end.block, "{from} to {end}");
}

/// A slow disk: recovery takes as long as it may, and without a bound several times as long.
#[test]
fn fast_start_mttr_target_bounds_how_long_recovery_takes() {
    let slow = |content: FileSystem| {
        let disk = DiskParameters::builtin("disk-7200").expect("it is built in");
        let mut spec = DiskSpec::empty("disk", disk);
        spec.content = content;
        Simulation { disks: vec![spec], ..Simulation::new(3) }
    };
    let base = filled(Creation { log_file_bytes: 16 << 20, ..long_logs() });
    let took = |target: u32| {
        let parameters = Parameters { fast_start_mttr_target: target, ..roomy() };
        let mut report = slow(base.clone()).run({
            let parameters = parameters.clone();
            move |world, session| {
                let instance = open_as(&parameters, world, session);
                work(&instance, 9_600, session);
                let estimated = instance.estimated_recovery(session);
                abort(instance, session);
                estimated
            }
        });
        let disk = left(&mut report);
        let estimated = ended(report, "work");
        let report = slow(disk).run(move |world, session| {
            let instance = open_as(&parameters, world, session);
            let elapsed = instance.opened().recovered.elapsed;
            shut(instance, session);
            elapsed
        });
        (ended(report, "recovery"), estimated)
    };
    let (unbounded, none) = took(0);
    assert_eq!(none, Nanos::ZERO, "nothing is estimated without a target");
    let (bounded, estimated) = took(1);
    println!(
        "recovery took {unbounded} without a bound, {bounded} with 1 s; estimated {estimated}"
    );
    assert!(unbounded > Nanos::from_millis(1_200), "{unbounded}: nothing to bound");
    assert!(unbounded.0 > 2 * bounded.0, "{bounded} isn't much less than {unbounded}");
    assert!(bounded < Nanos::from_millis(1_600), "{bounded}");
    // At any moment; so it may be ahead of the target by what is being written.
    assert!(estimated > Nanos::ZERO && estimated < Nanos::from_millis(1_600), "{estimated}");
}

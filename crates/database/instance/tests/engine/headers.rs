//! Checkpoints of data files (rule space/SP19): when their headers are written.

use waits::WaitEvent;

use crate::common::{
    TABLE, check, database, directory, fill, machine, open, parameters, pause, run, shut,
};
use crate::rows::Rows;
use instance::Instance;
use waits::Nanos;

/// The header of each data file is written at opening, at each log switch and at shutdown, and each
/// write is a *db file single write*.
#[test]
fn headers_are_written_at_opening_at_log_switches_and_at_shutdown() {
    run(machine(3, database(1)), |world, session| {
        let count = || world.os().totals().event(WaitEvent::DbFileSingleWrite).count;
        let before = count();
        let instance = open(world, session);
        let files = instance.cache().data_files(session).len() as u64;
        assert!(files >= 2);
        assert_eq!(count() - before, files, "at opening");
        let table = Rows::open(&instance, TABLE, session).expect("there");
        let log = instance.redo().position(session).sequence;
        while instance.redo().position(session).sequence < log + 2 {
            fill(&instance, &table, 50, session);
        }
        pause(Nanos::from_secs(4), session);
        check(&instance, session);
        assert!(count() - before >= 2 * files, "at a log switch");
        let open = count();
        drop(table);
        shut(instance, session);
        assert_eq!(count() - open, files, "at shutdown");
        let opened = Instance::open(&world.disk(), directory(), &parameters(), session);
        opened.expect("it opens").abort(session);
    });
}

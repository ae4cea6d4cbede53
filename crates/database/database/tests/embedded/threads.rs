//! A process that may start no more threads: an opening that lacks one is refused and leaves nothing
//! running, and the next one finds everything.

use std::path::Path;

use database::Database;
use testbed::{ended, machine};
use waits::Nanos;

use crate::common::{balance, filled};
use crate::simulated::{made, options};

/// An instance starts fewer threads than this.
const THREADS_MAX: u32 = 64;

#[test]
fn an_opening_that_may_not_start_a_thread_is_refused_and_leaves_none_running() {
    let content = made(|database, _| drop(filled(database)));
    let report = machine(1, content).run(|world, session| {
        let (disk, directory) = (world.disk(), Path::new("/db"));
        for threads in 0..THREADS_MAX {
            world.limit_threads(Some(threads));
            let opened = Database::open_in(&disk, directory, &options(), session);
            world.limit_threads(None);
            if let Ok(database) = opened {
                database.shutdown_by(session).expect("in good order");
                return threads;
            }
            let refused = opened.err().expect("it isn't open").to_string();
            assert!(refused.contains("thread"), "{threads}: {refused}");
            // Nothing has the files any more, and no row is lost.
            let database = Database::open_in(&disk, directory, &options(), session);
            let database = database.unwrap_or_else(|stop| panic!("{threads}: {stop}"));
            let mut connection = database.connect_with(session);
            let account = connection.table("account").expect("there");
            assert_eq!(balance(&mut connection, &account, 7), Some(100), "{threads}");
            drop(connection);
            database.shutdown_by(session).expect("in good order");
        }
        panic!("an instance starts more threads than it should");
    });
    let threads = ended(report, "an opening without threads");
    assert!(threads > 3, "{threads} threads are started");
}

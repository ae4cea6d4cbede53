//! A process that may start no more threads: an opening or a creation that lacks one is refused and
//! leaves nothing running, and the next one succeeds.

use std::path::Path;

use database::Database;
use os::Session;
use sim::World;
use sim::fs::FileSystem;
use testbed::{ended, machine};

use crate::common::{balance, filled};
use crate::simulated::{made, options};

/// An instance starts fewer threads than this.
const THREADS_MAX: u32 = 64;

/// Calls `open` with a limit of 0, 1, 2 … more threads, until that is enough; and after each
/// refusal without a limit. Returns how many were needed.
fn with_too_few(
    world: &World,
    session: &Session,
    open: impl Fn(u32) -> Result<Database, database::Error>,
    look: impl Fn(&Database),
) -> u32 {
    for threads in 0..THREADS_MAX {
        world.limit_threads(Some(threads));
        let opened = open(threads);
        world.limit_threads(None);
        let is_enough = opened.is_ok();
        if let Err(refused) = &opened {
            assert!(refused.to_string().contains("thread"), "{threads}: {refused}");
        }
        // Nothing has the files any more.
        let database = opened.or_else(|_| open(threads));
        let database = database.unwrap_or_else(|stop| panic!("{threads}: {stop}"));
        look(&database);
        database.shutdown_by(session).expect("in good order");
        if is_enough {
            return threads;
        }
    }
    panic!("an instance starts more threads than it should");
}

#[test]
fn an_opening_that_may_not_start_a_thread_is_refused_and_leaves_none_running() {
    let content = made(|database, _| drop(filled(database)));
    let report = machine(1, content).run(|world, session| {
        let disk = world.disk();
        let open = |_| Database::open_in(&disk, Path::new("/db"), &options(), session);
        with_too_few(world, session, open, |database| {
            let mut connection = database.connect_with(session);
            let account = connection.table("account").expect("there");
            assert_eq!(balance(&mut connection, &account, 7), Some(100));
        })
    });
    let threads = ended(report, "an opening without threads");
    assert!(threads > 3, "{threads} threads are started");
}

#[test]
fn a_creation_that_may_not_start_a_thread_is_refused_and_can_be_repeated() {
    let report = machine(1, FileSystem::new(1 << 30)).run(|world, session| {
        let disk = world.disk();
        let create = |threads: u32| {
            let directory = format!("/db{threads}");
            Database::create_in(&disk, Path::new(&directory), &options(), session)
        };
        with_too_few(world, session, create, |database| drop(filled(database)))
    });
    let threads = ended(report, "a creation without threads");
    assert!(threads > 3, "{threads} threads are started");
}

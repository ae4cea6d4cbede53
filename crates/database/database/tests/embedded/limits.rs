//! Limits of memory, buffers and disks: what goes beyond is refused, in words that help, and
//! nothing waits for ever or is left behind.

use std::collections::BTreeMap;

use database::{Database, ErrorKind, Options, Value};
use ids::BlockSize;
use os::Session;
use sim::Outside;
use waits::SessionKind;

use crate::common::{Folder, balance, filled, filled_by, options};
use crate::simulated;

fn session() -> Session {
    os::linux::start().adopt("administrator", SessionKind::Foreground)
}

/// A cache that this machine has no memory for, and that the parameter's range allows.
fn too_large() -> u64 {
    let most = 200 << 30;
    assert!(os::linux::start().memory_bytes() < most, "this machine is too large for the test");
    most
}

#[test]
fn a_cache_that_memory_does_not_allow_is_refused_before_anything_is_made() {
    let scratch = Folder::absent("too-large");
    let mut large = options();
    large.parameters.db_cache_size = too_large();
    let stop = Database::create(&scratch.0, &large).err().expect("refused");
    assert_eq!(stop.refusal(), Some(ErrorKind::Invalid), "{stop}");
    assert!(stop.to_string().contains("db_cache_size"), "{stop}");
    assert!(!scratch.0.exists(), "something is left");

    let database = Database::create(&scratch.0, &options()).expect("created");
    let account = filled(&database);
    let session = session();
    let value = too_large().to_string();
    let refused = database.instance().set_parameter("db_cache_size", &value, &session);
    let stop = refused.expect_err("there is no such memory");
    assert_eq!(stop.refusal(), Some(ErrorKind::Invalid), "{stop}");
    // There is memory, but no room for so many buffers.
    let refused = database.instance().set_parameter("db_cache_size", "16m", &session);
    let stop = refused.expect_err("sga_max_size doesn't allow it");
    assert_eq!(stop.refusal(), Some(ErrorKind::Invalid), "{stop}");
    let mut connection = database.connect("app");
    assert_eq!(balance(&mut connection, &account, 7), Some(100));
    drop(connection);
    database.shutdown().expect("in good order");
}

/// As many transactions are active as a fifth of the buffers, also when these have become fewer.
#[test]
fn the_limit_of_active_transactions_follows_the_cache() {
    let scratch = Folder::absent("fewer-buffers");
    let database = Database::create(&scratch.0, &options()).expect("created");
    let account = filled(&database);
    let session = session();
    let mut connections: Vec<_> = (0..10).map(|_| database.connect("app")).collect();
    let mut active: Vec<_> = connections.iter_mut().map(|one| one.begin()).collect();
    let change = |tx: &mut database::Tx<'_, '_>, id: usize| {
        tx.update(&account, &[Value::Int(id as i64)], |_, set| set.set(2, Value::Int(1)))
    };
    for (id, tx) in active.iter_mut().enumerate() {
        assert!(change(tx, id).expect("changed"));
    }
    let smallest = (32 * 8192).to_string();
    let shrunk = database.instance().set_parameter("db_cache_size", &smallest, &session);
    let stop = shrunk.expect_err("10 transactions need more buffers");
    assert_eq!(stop.refusal(), Some(ErrorKind::WrongState), "{stop}");
    assert!(stop.to_string().contains("10 transactions are active"), "{stop}");
    active.into_iter().for_each(|tx| tx.commit().expect("committed"));
    database.instance().set_parameter("db_cache_size", &smallest, &session).expect("shrunk");
    let mut active: Vec<_> = connections.iter_mut().map(|one| one.begin()).collect();
    let begun = active.iter_mut().enumerate().map(|(id, tx)| change(tx, id));
    let refused: Vec<_> = begun.filter_map(Result::err).collect();
    assert_eq!(refused.len(), 4, "32 buffers are enough for 6: {refused:?}");
    assert!(refused.iter().all(|stop| stop.refusal() == Some(ErrorKind::NoSpace)), "{refused:?}");
    drop(active);
    database.instance().set_parameter("db_cache_size", "8m", &session).expect("grown again");
    let mut active: Vec<_> = connections.iter_mut().map(|one| one.begin()).collect();
    for (id, tx) in active.iter_mut().enumerate() {
        assert!(change(tx, id).expect("changed"));
    }
    drop(active);
    drop(connections);
    database.shutdown().expect("in good order");
}

#[test]
fn every_block_size_makes_a_database_with_the_default_sizes() {
    for db_block_size in BlockSize::ALL {
        let scratch = Folder::absent(&format!("blocks-{db_block_size}"));
        let mut options = Options { creation: Options::default().creation, ..options() };
        options.creation.db_block_size = db_block_size;
        let made = Database::create(&scratch.0, &options);
        let database = made.unwrap_or_else(|stop| panic!("{db_block_size}: {stop}"));
        filled(&database);
        database.shutdown().expect("in good order");
    }
}

#[test]
fn a_data_file_with_too_many_extents_is_refused_with_the_parameter_and_its_least_value() {
    let scratch = Folder::absent("extents");
    let mut long = options();
    long.creation.db_block_size = BlockSize::KIB_2;
    long.creation.extent_blocks = 2;
    long.creation.data_bytes = 1 << 30;
    let stop = Database::create(&scratch.0, &long).err().expect("refused");
    assert!(stop.to_string().contains("extent_blocks of 33 or more"), "{stop}");
    assert!(!scratch.0.exists(), "something is left");
}

#[test]
fn a_database_on_a_full_disk_opens() {
    let mut content = simulated::made(|database, session| {
        filled_by(&mut database.connect_with(session));
    });
    let (used, _) = content.space();
    content.set_capacity(used);
    simulated::racing(1, content, |database, session| {
        let mut connection = database.connect_with(session);
        let account = connection.table("account").expect("there");
        assert_eq!(balance(&mut connection, &account, 7), Some(100));
        let mut tx = connection.begin();
        tx.update(&account, &[Value::Int(7)], |_, set| set.set(2, Value::Int(1))).expect("changed");
        tx.commit().expect("committed");
    });
}

/// Each session pins a few blocks and waits for another one: together they have pinned all.
#[test]
fn sessions_that_wait_for_each_others_buffers_do_not_wait_for_ever() {
    const SESSIONS: u64 = 64;
    let content = simulated::made(|database, session| {
        filled_by(&mut database.connect_with(session));
    });
    let told = Outside::<Told>::default();
    for seed in 0..4 {
        let told = told.clone();
        simulated::racing_in(
            simulated::smallest(),
            seed,
            content.clone(),
            move |database, session| {
                let threads = (0..SESSIONS).map(|number| {
                    let told = told.clone();
                    simulated::start("user", (database, session), move |database, session| {
                        let mut connection = database.connect_with(session);
                        let account = allowed(&told, connection.table("account"));
                        let Some(account) = account else { return };
                        for turn in 0..6 {
                            let key = [Value::Int(((number * 37 + turn * 11) % 100) as i64)];
                            let seen = connection.get(&account, &key, |row| row.get_i64(2));
                            let _ = allowed(&told, seen);
                            let mut tx = connection.begin();
                            let amount = Value::Int(turn as i64);
                            let set = tx.update(&account, &key, |_, set| set.set(2, amount));
                            let _ = allowed(&told, set);
                            tx.rollback().expect("a rollback isn't refused");
                        }
                    })
                });
                simulated::join(threads.collect(), session);
            },
        );
    }
    let told = told.take();
    println!("{told:?}");
    assert!(told.done > 400, "almost everything was refused: {told:?}");
    assert!(!told.refused.is_empty(), "the cache was large enough for all: {told:?}");
}

/// What sessions without buffers are told: how often a call was done, and how often it was refused,
/// by kind.
#[derive(Default, Clone, Debug)]
struct Told {
    done: u32,
    refused: BTreeMap<String, u32>,
}

/// Counts the call, which may be refused as long as sessions wait for each other's buffers.
fn allowed<T>(told: &Outside<Told>, call: Result<T, stop::Stop>) -> Option<T> {
    let refused = call.as_ref().err().map(|stop| {
        let kinds = [ErrorKind::NoBuffer, ErrorKind::NoSpace, ErrorKind::LockTimeout];
        let kind = stop.refusal().filter(|kind| kinds.contains(kind));
        kind.unwrap_or_else(|| panic!("{stop}"))
    });
    told.with(|told| match refused {
        None => told.done += 1,
        Some(kind) => *told.refused.entry(format!("{kind:?}")).or_default() += 1,
    });
    call.ok()
}

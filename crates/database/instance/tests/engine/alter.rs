//! Parameters that are changed while the instance runs: at once, under load, through a crash, and
//! refused with nothing changed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use ids::BlockSize;
use instance::{Allowed, Changeable, Instance, Parameters, Transaction};
use os::Session;
use redo::CommitLeader;
use stop::{RefusalKind, Stop};
use waits::{Nanos, Statistic};

use crate::common::{
    self, Dice, TABLE, abort, add, bed, check, database, ended, join, machine, number, open,
    open_as, parameters, pause, racy, rows, run, run_kept, shut, start,
};
use crate::rows::Rows;

const SESSIONS: u64 = 4;
const ROWS: u64 = 200;

/// With room for what is added while it is open.
fn roomy() -> Parameters {
    Parameters {
        sga_max_size: 96 * 2048,
        log_buffer: 8 * redo::LOG_BUFFER_BYTES_MIN as u64,
        log_writes_in_flight: 4,
        ..parameters()
    }
}

/// For each parameter that can be changed at any time, values that this database can have.
fn values(name: &str) -> &'static [&'static str] {
    match name {
        "db_cache_size" => &["80k", "96k", "64k", "32k"],
        // The database has no files with blocks of these sizes; buffers for them are allowed.
        "db_2k_cache_size" => &["0"],
        "db_4k_cache_size" => &["64k", "80k", "0"],
        "db_8k_cache_size" | "db_16k_cache_size" | "db_32k_cache_size" => &["0"],
        "pga_aggregate_target" => &["10m", "1t", "0"],
        "db_writer_processes" => &["2", "1"],
        "fast_start_mttr_target" => &["1", "0", "3600"],
        "db_file_multiblock_read_count" => &["1", "8", "0"],
        "log_checkpoint_interval" => &["10", "0", "4294967295"],
        "log_checkpoint_timeout" => &["1", "0", "1800"],
        "commit_leader" => &["lgwr", "session"],
        "log_writes_in_flight" => &["1", "4", "2"],
        "undo_retention" => &["1", "900", "0"],
        "lock_timeout" | "ddl_lock_timeout" => &["0", "1", "1000000"],
        "commit_wait" => &["nowait", "wait"],
        "commit_logging" => &["batch", "immediate"],
        "high_priority_processes" => &["lgwr|dbw*", "", "*"],
        "process_affinity" => &["dbw*:0|lgwr:1", "", "*:0-1"],
        "test_commit_delay" => &["1000", "0", "20000"],
        "test_commit_delay_lag" => &["1", "0"],
        other => panic!("say which values {other} can have here"),
    }
}

fn at_any_time() -> Vec<&'static str> {
    let list = Parameters::list().into_iter();
    list.filter(|info| info.changeable == Changeable::AnyTime).map(|info| info.name).collect()
}

/// Changes one parameter to some value. A cache for which there is no room, or that is too small
/// for the transactions that are active, is refused.
fn change_one(instance: &Instance, dice: &mut Dice, session: &Session) -> Result<(), Stop> {
    let names = at_any_time();
    let name = names[dice.below(names.len() as u64) as usize];
    let values = values(name);
    let value = values[dice.below(values.len() as u64) as usize];
    match instance.set_parameter(name, value, session) {
        Ok(()) => {
            // The other one who changes may have changed the same meanwhile.
            let shows = instance.parameters(session).get(name).expect("it is in the list");
            assert!(values.contains(&shows.as_str()), "{name}: {shows}");
            Ok(())
        }
        Err(Stop::Refused(refusal)) if name.ends_with("cache_size") => {
            let said = refusal.to_string();
            let reasons = ["working sets", "sga_max_size", "transactions are active"];
            assert!(reasons.iter().any(|reason| said.contains(reason)), "{said}");
            Ok(())
        }
        Err(stop) => panic!("{name} = {value}: {stop}"),
    }
}

/// Each session adds to rows of its own, in steps that it notes before and after the commit.
fn work(instance: &Instance, who: u64, done: &[AtomicU64; 2], session: &Session) {
    let table = Rows::open(instance, TABLE, session).expect("there");
    let all = rows(&table, session);
    let mine = &all[(who * ROWS / SESSIONS) as usize..((who + 1) * ROWS / SESSIONS) as usize];
    for step in 0..40 {
        let mut transaction = Transaction::new();
        for row in 0..3 {
            let row = mine[((step * 3 + row) % mine.len() as u64) as usize];
            // A cache that has become small is enough for fewer transactions: later, then.
            while let Err(stop) = add(&table, &mut transaction, row, 1, session) {
                assert_eq!(stop.refusal(), Some(RefusalKind::NoSpace), "{stop}");
                pause(Nanos::from_micros(200), session);
            }
        }
        done[0].fetch_add(3, SeqCst);
        instance.commit(transaction, session).expect("committed");
        done[1].fetch_add(3, SeqCst);
    }
}

/// Every parameter that can be changed is, while sessions work: all that they did is there, also
/// after a crash, and the instance runs as it says.
#[test]
fn whatever_is_changed_under_load_nothing_is_lost() {
    let base = database(ROWS);
    for seed in 0..60 {
        let ((done, _), disk) = run_kept(racy(seed, base.clone()), move |world, session| {
            let instance = open_as(&roomy(), world, session);
            let done: Arc<[AtomicU64; 2]> = Arc::default();
            let mut threads: Vec<_> = (0..SESSIONS)
                .map(|who| {
                    let done = Arc::clone(&done);
                    start(&format!("user{who}"), &instance, session, move |instance, session| {
                        work(instance, who, &done, session);
                    })
                })
                .collect();
            for number in 0..2 {
                let mut dice = Dice(seed * 10 + number);
                threads.push(start("dba", &instance, session, move |instance, session| {
                    for _ in 0..15 {
                        change_one(instance, &mut dice, session).expect("it goes");
                        pause(Nanos::from_micros(300), session);
                    }
                }));
            }
            join(threads, session);
            let durable = instance.parameters(session);
            let last = instance.redo().last_scn(session);
            if seed % 2 == 0 {
                shut(instance, session);
            } else {
                // What was committed without waiting is made durable with what follows.
                let event = waits::WaitEvent::LogFileSync;
                instance.redo().make_durable(last, session, event).expect("no halt");
                abort(instance, session);
            }
            (done[1].load(SeqCst), durable.db_writer_processes)
        });
        let report = machine(seed, disk).run(move |world, session| {
            let instance = open(world, session);
            let table = Rows::open(&instance, TABLE, session).expect("there");
            let sum: i64 =
                rows(&table, session).into_iter().map(|row| number(&table, row, session)).sum();
            check(&instance, session);
            drop(table);
            shut(instance, session);
            sum
        });
        assert_eq!(ended(report, seed) as u64, done, "seed {seed}");
    }
}

/// More writers are there at once and write; fewer end, and the others do their work.
#[test]
fn writers_come_and_go() {
    bed::with_instance(machine(1, database(ROWS)), roomy(), |instance, session| {
        let writes_of = |name: &str| {
            let running = session.os().running().into_iter();
            let found = running.filter(|running| running.account.name() == name);
            let written = |totals: waits::Totals| totals.statistic(Statistic::PhysicalWrites);
            found.map(|running| written(running.account.totals())).reduce(|a, b| a + b)
        };
        let dirty_all = || {
            // Sessions in turn, for each keeps to a working set as long as it is free.
            for who in 0..SESSIONS {
                let body = move |instance: &Instance, session: &Session| {
                    work(instance, who, &Default::default(), session);
                };
                join(vec![start("user", instance, session, body)], session);
            }
            instance.checkpoint(session).expect("written");
        };
        dirty_all();
        assert_eq!(writes_of("fb_dbw1"), None);
        instance.set_parameter("db_writer_processes", "2", session).expect("two sets");
        dirty_all();
        assert!(writes_of("fb_dbw1") > Some(0), "the second writer wrote");
        instance.set_parameter("db_writer_processes", "1", session).expect("allowed");
        assert_eq!(writes_of("fb_dbw1"), None, "it has ended");
        dirty_all();
    });
}

/// Each refusal names the parameter and what would do, and leaves everything as it was.
#[test]
fn what_cannot_be_changed_is_refused_with_nothing_changed() {
    bed::with_instance(machine(1, database(8)), roomy(), |instance, session| {
        let before = format!("{:?}", instance.parameters(session));
        let refused = |name: &str, value: &str, parts: &[&str]| {
            let stop = instance.set_parameter(name, value, session).expect_err(name);
            let said = stop.to_string();
            assert!(parts.iter().all(|part| said.contains(part)), "{name} = {value}: {said}");
            assert_eq!(format!("{:?}", instance.parameters(session)), before);
        };
        refused("db_writer_processes", "3", &["3 writers", "2 working sets"]);
        refused("db_writer_processes", "0", &["choose 1 to 100"]);
        refused("db_cache_size", "16k", &["choose 32k to"]);
        refused("db_cache_size", "1m", &["sga_max_size is 196608"]);
        refused("db_4k_cache_size", "4k", &["db_4k_cache_size", "choose 64k or more"]);
        refused("log_writes_in_flight", "8", &["log_writes_in_flight is 8", "choose 1 to 4"]);
        refused("commit_wait", "perhaps", &["wait, nowait"]);
        refused("db_wirter_processes", "1", &["no parameter db_wirter_processes"]);
        for info in Parameters::list() {
            if info.changeable == Changeable::AtOpening {
                refused(info.name, &info.default, &[info.name, "chosen when an instance opens"]);
            }
        }
    });
}

/// The bounds of the checkpoint count from when they are set: an instance that let its checkpoint
/// fall behind brings it on.
#[test]
fn a_bound_that_is_set_later_brings_the_checkpoint_on() {
    run(machine(1, database(ROWS)), |world, session| {
        let relaxed = Parameters { log_checkpoint_timeout: 0, ..common::parameters() };
        let instance = open_as(&relaxed, world, session);
        let done: [AtomicU64; 2] = Default::default();
        work(&instance, 0, &done, session);
        pause(Nanos::from_secs(10), session);
        let behind = instance.cache().checkpoint_position(session);
        let end = instance.redo().position(session);
        assert!(behind.block + 10 < end.block, "{behind} is far behind {end}");
        instance.set_parameter("log_checkpoint_interval", "2", session).expect("allowed");
        pause(Nanos::from_secs(1), session);
        let now = instance.cache().checkpoint_position(session);
        assert!(now.block + 2 >= end.block, "{now} is close to {end}");
        shut(instance, session);
    });
}

/// The list of values above is complete, and each is in the declared range.
#[test]
fn every_parameter_that_can_be_changed_is_tried() {
    for info in Parameters::list() {
        if info.changeable == Changeable::AnyTime {
            assert!(!values(info.name).is_empty());
        }
        if let Allowed::OneOf(words) = info.allowed
            && info.changeable == Changeable::AnyTime
        {
            assert!(words.iter().all(|word| values(info.name).contains(word)), "{}", info.name);
        }
    }
}

/// What the log writer waits for a CPU while sessions compute, on a machine with one.
fn run_queue_of_the_log_writer(parameters: Parameters) -> Nanos {
    let mut simulation = machine(1, database(ROWS));
    simulation.machine.cpus = 1;
    bed::with_instance(simulation, parameters.clone(), move |instance, session| {
        let busy = |number: u64| {
            start(&format!("user{number}"), instance, session, move |instance, session| {
                let table = Rows::open(instance, TABLE, session).expect("there");
                let row = rows(&table, session)[number as usize];
                for _ in 0..40 {
                    let mut transaction = Transaction::new();
                    add(&table, &mut transaction, row, 1, session).expect("no deadlock");
                    session.charge_nanos(Nanos::from_millis(1));
                    instance.commit(transaction, session).expect("committed");
                }
            })
        };
        join((0..4).map(busy).collect(), session);
        let os = session.os();
        let mut running = os.running().into_iter();
        let log_writer = running.find(|session| session.account.name() == "fb_lgwr");
        os.times_of(log_writer.expect("it runs")).times.run_queue
    })
    .0
}

/// A process with high priority doesn't wait for a CPU that sessions keep busy; it may be set, and
/// taken back, while the instance runs; and CPUs that a machine hasn't are refused.
#[test]
fn a_process_with_high_priority_comes_first() {
    let usual = Parameters { commit_leader: CommitLeader::Lgwr, ..roomy() };
    let mut high = usual.clone();
    high.set("high_priority_processes", "LG*").expect("a pattern");
    let [usual, high] = [usual, high].map(run_queue_of_the_log_writer);
    assert!(high.0 < usual.0 / 10, "{usual} without, {high} with");
    let report = machine(1, database(8)).run(|world, session| {
        let instance = open_as(&roomy(), world, session);
        instance.set_parameter("process_affinity", "dbw*:0", session).expect("there is CPU 0");
        let refused = instance.set_parameter("process_affinity", "ckpt:77", session);
        let said = refused.expect_err("no such CPU").to_string();
        assert!(said.contains("this program can have none of these CPUs"), "{said}");
        let shows = instance.parameters(session).get("process_affinity").expect("there");
        assert_eq!(shows, "dbw*:0");
        let later = instance.set_parameter("process_affinity", "dbw*:0|dbw9:0", session);
        later.expect("such a process may come");
        instance.set_parameter("process_affinity", "", session).expect("all CPUs again");
        shut(instance, session);
        // IN52: of writers that don't run nothing is tried.
        for (affinity, is_had) in [("ckpt:77", false), ("dbw1:77", true), ("*:0", true)] {
            let mut wanted = roomy();
            wanted.set("process_affinity", affinity).expect("a pattern");
            let tried = wanted.check_beforehand(&common::creation(), session);
            assert_eq!(tried.is_ok(), is_had, "{affinity}: {:?}", tried.err());
        }
    });
    let notices = report.notices.clone();
    ended(report, "CPUs");
    assert!(notices.len() == 1 && notices[0].contains("is called dbw9"), "{notices:?}");
}

/// CPUs that the opening couldn't give are as if nobody had asked for them: every parameter can be
/// changed, and the instance runs as it says.
#[test]
fn what_the_opening_could_not_give_is_in_no_later_changes_way() {
    run(machine(1, database(8)), |world, session| {
        let mut wanted = roomy();
        wanted.set("process_affinity", "ckpt:77").expect("a pattern");
        let instance = open_as(&wanted, world, session);
        let shown = |name: &str| instance.parameters(session).get(name).expect("it is in the list");
        for (name, value) in [
            ("lock_timeout", "5"),
            ("db_writer_processes", "2"),
            ("db_cache_size", "96k"),
            ("db_cache_size", "32k"),
        ] {
            let changed = instance.set_parameter(name, value, session);
            assert_eq!(changed.map_err(|stop| stop.to_string()), Ok(()), "{name} = {value}");
            assert_eq!(shown(name), value);
        }
        assert_eq!(instance.cache().buffers(BlockSize::KIB_2, session), 16);
        assert_eq!(shown("process_affinity"), "");
        shut(instance, session);
    });
}

/// A writer for which there are no such CPUs is refused, and isn't there then.
#[test]
fn a_writer_that_cannot_have_its_cpus_does_not_stay() {
    run(machine(1, database(8)), |world, session| {
        let mut wanted = roomy();
        wanted.set("process_affinity", "dbw1:77").expect("a pattern");
        let instance = open_as(&wanted, world, session);
        let refused = instance.set_parameter("db_writer_processes", "2", session);
        assert_eq!(refused.expect_err("no such CPU").refusal(), Some(RefusalKind::Invalid));
        assert_eq!(instance.cache().writers(session), 1);
        assert_eq!(instance.parameters(session).db_writer_processes, 1);
        instance.set_parameter("lock_timeout", "5", session).expect("it has nothing to do with it");
        shut(instance, session);
    });
}

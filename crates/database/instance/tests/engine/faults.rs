//! The disk fails: once or for good, anywhere. What comes of it is a refusal or a halt, said in one
//! line; nothing acknowledged is lost; and when the fault is gone the database opens.

use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering::Relaxed;

use access::HeapInserter;
use instance::{Instance, Parameters, Transaction};
use os::Session;
use sim::fs::faults::{Fault, FaultPlan, Scope};
use sim::fs::{FileSystem, Operation};
use stop::Stop;
use waits::{Nanos, WaitEvent};

use crate::common::{
    self, TABLE, add, check, database, directory, left, machine, number, racy, rows, start,
};
use crate::rows::Rows;

const ROWS: u64 = 16 * 12;
/// Each session changes rows of its own, and one that all change.
const SESSIONS: u64 = 3;

/// What each session was told: how often the common row's increment was acknowledged, and how often
/// commit was called.
#[derive(Default)]
struct Told {
    called: AtomicI64,
    acknowledged: AtomicI64,
}

/// Transactions that increment the common row and one of the session's, until the end or a halt.
fn work(user: u64, told: &Told, instance: &Instance, session: &Session) -> Result<(), Stop> {
    let Some(table) = patiently(|| Rows::open(instance, TABLE, session))? else { return Ok(()) };
    let all = patiently(|| {
        let mut all = Vec::new();
        table.scan(|address, _| all.push(address), session).map(|()| all)
    })?;
    let Some(all) = all else { return Ok(()) };
    let mut inserter = HeapInserter::default();
    for step in 0..6 {
        let own = all[(1 + user + SESSIONS * (1 + step * 9)) as usize];
        let mut transaction = Transaction::new();
        let done = add(&table, &mut transaction, own, 1, session)
            .and_then(|()| add(&table, &mut transaction, all[0], 1, session))
            .and_then(|()| insert(&table, &mut transaction, &mut inserter, session));
        match done {
            Ok(()) if step % 3 != 2 => {
                told.called.fetch_add(1, Relaxed);
                match instance.commit(transaction, session) {
                    Ok(()) => _ = told.acknowledged.fetch_add(1, Relaxed),
                    // Refused is rolled back.
                    Err(stop) if stop.refusal().is_some() => _ = told.called.fetch_sub(1, Relaxed),
                    Err(stop) => return Err(stop),
                }
            }
            Ok(()) => instance.rollback(transaction, session)?,
            Err(stop) if stop.refusal().is_some() => instance.rollback(transaction, session)?,
            Err(stop) => return Err(stop),
        }
    }
    Ok(())
}

/// Tries again a few times what is refused; gives up on a halt.
fn patiently<T>(mut try_it: impl FnMut() -> Result<T, Stop>) -> Result<Option<T>, Stop> {
    for _ in 0..3 {
        match try_it() {
            Ok(done) => return Ok(Some(done)),
            Err(stop) if stop.refusal().is_some() => one_line(&stop),
            Err(stop) => return Err(stop),
        }
    }
    Ok(None)
}

fn insert(
    table: &Rows,
    transaction: &mut Transaction,
    inserter: &mut HeapInserter,
    session: &Session,
) -> Result<(), Stop> {
    table.insert(transaction, inserter, |row| row.number = 1_000, session).map(|_| ())
}

/// A cache that the load doesn't fit into.
fn smallest() -> Parameters {
    Parameters { db_cache_size: 16 * 2048, ..common::parameters() }
}

/// What runs with faults have come to: without some of each they show nothing.
#[derive(Default, Debug)]
struct Met {
    /// Runs into which a fault came.
    hits: u64,
    /// Of these, in how many the database was opened.
    opened: u64,
    /// Commits that were acknowledged.
    acknowledged: i64,
    /// Runs in which sessions were stopped by a halt.
    halted: u64,
}

impl Met {
    /// More faults came than this, also into open databases, and not all work was refused.
    fn shows(&self, hits: u64) {
        assert!(self.hits > hits && self.opened > 0 && self.acknowledged > 0, "{self:?}");
    }
}

/// Runs the load with this plan; then opens without faults and compares. Whether a fault came.
fn survives(base: &FileSystem, seed: u64, plan: FaultPlan, met: &mut Met) -> bool {
    let mut content = base.clone();
    content.plan_faults(plan);
    let told = Arc::new(Told::default());
    let inside = Arc::clone(&told);
    let mut report = racy(seed, content).run(move |world, session| {
        let disk = world.disk();
        let opened = Instance::open(&disk, directory(), &smallest(), session);
        let instance = match opened {
            Ok(instance) => Arc::new(instance),
            Err(stop) => {
                one_line(&stop);
                return [false, false];
            }
        };
        let sessions = (0..SESSIONS).map(|user| {
            let told = Arc::clone(&inside);
            start("user", &instance, session, move |instance, session| {
                if let Err(stop) = work(user, &told, instance, session) {
                    assert!(instance.halt().is_raised(session), "stopped without a halt: {stop}");
                    one_line(&stop);
                }
            })
        });
        common::join(sessions.collect(), session);
        let has_halted = instance.halt().is_raised(session);
        if let Err(stop) = instance.shutdown(session) {
            one_line(&stop);
        }
        [true, has_halted]
    });
    let injected = report.disks["disk"].injected().to_vec();
    let what = format!("seed {seed}, {injected:?}");
    assert!(report.elapsed_ns < 600_000_000_000, "{what}: it hung for {} ns", report.elapsed_ns);
    let mut disk = left(&mut report);
    let [opened, has_halted] = common::ended(report, &what);
    disk.plan_faults(FaultPlan::new(0));
    let (called, acknowledged) = (told.called.load(Relaxed), told.acknowledged.load(Relaxed));
    if !injected.is_empty() {
        met.hits += 1;
        met.opened += u64::from(opened);
        met.acknowledged += acknowledged;
        met.halted += u64::from(has_halted);
    }
    let report = machine(seed, disk).run(move |world, session| {
        let opened = Instance::open(&world.disk(), directory(), &common::parameters(), session);
        let instance = opened.map_err(|stop| stop.to_string())?;
        let table = Rows::open(&instance, TABLE, session).expect("there");
        let all = rows(&table, session);
        let found = number(&table, all[0], session);
        let own = all[1..ROWS as usize].iter().map(|row| number(&table, *row, session));
        let own: i64 = own.sum();
        let inserted = (all.len() as u64 - ROWS) as i64;
        check(&instance, session);
        drop(table);
        instance.shutdown(session).expect("shut");
        if acknowledged <= found && found <= called && own == found && inserted == found {
            return Ok(());
        }
        Err(format!(
            "{acknowledged} of {called} commits acknowledged; the rows say {found}, {own} and \
             {inserted}"
        ))
    });
    if let Err(different) = common::ended(report, &what) {
        panic!("{what}: {different}");
    }
    !injected.is_empty()
}

/// An error is for people: one line that isn't empty.
fn one_line(stop: &Stop) {
    let text = stop.to_string();
    assert!(!text.is_empty() && !text.contains('\n'), "{text}");
}

/// Every operation in scope fails in turn.
fn sweep(once: bool, fault: Fault, operations: &[Operation], stride: u64) -> Met {
    let base = database(ROWS);
    let (mut met, mut n) = (Met::default(), 1);
    loop {
        let (plan, scope) = (FaultPlan::new(n), Scope::of(operations));
        let plan = if once { plan.nth(n, fault, scope) } else { plan.from_nth(n, fault, scope) };
        if !survives(&base, n % 8, plan, &mut met) {
            println!("{fault:?}, once: {once}: {met:?}");
            return met;
        }
        n += stride;
    }
}

#[test]
fn a_read_that_fails_once_loses_nothing() {
    sweep(true, Fault::Eio, &[Operation::Read], 1).shows(30);
}

#[test]
fn reads_that_fail_for_good_lose_nothing() {
    sweep(false, Fault::Eio, &[Operation::Read], 3).shows(10);
}

#[test]
fn a_write_that_fails_once_loses_nothing() {
    sweep(true, Fault::Eio, &[Operation::Write], 1).shows(30);
}

#[test]
fn writes_that_find_no_space_lose_nothing() {
    sweep(false, Fault::Enospc, &[Operation::Write], 3).shows(10);
}

#[test]
fn a_sync_that_fails_once_loses_nothing() {
    sweep(true, Fault::Eio, &[Operation::Sync], 1).shows(20);
}

#[test]
fn short_reads_and_writes_lose_nothing() {
    sweep(true, Fault::Short, &[Operation::Read, Operation::Write], 1).shows(50);
}

#[test]
fn a_name_that_cannot_be_looked_up_once_loses_nothing() {
    let operations = [Operation::Open, Operation::List, Operation::SyncDir];
    // Only the opening looks names up, and where it can't it is refused.
    let met = sweep(true, Fault::Eio, &operations, 1);
    assert!(met.hits > 5, "{met:?}");
}

/// A creation that fails anywhere leaves nothing that opens, and can be begun again elsewhere.
#[test]
fn a_creation_that_fails_leaves_no_database() {
    let mut n = 1;
    loop {
        let mut content = FileSystem::new(common::CAPACITY);
        content.plan_faults(FaultPlan::new(n).nth(n, Fault::Eio, Scope::all()));
        let report = machine(n, content).run(move |world, session| {
            let (disk, creation) = (world.disk(), common::creation());
            let parameters = common::parameters();
            let made = Instance::create(&disk, directory(), &creation, &parameters, session);
            let opened = Instance::open(&disk, directory(), &parameters, session);
            match (made, opened) {
                (Ok(()), Ok(instance)) => {
                    if let Err(stop) = instance.shutdown(session) {
                        one_line(&stop);
                    }
                }
                (Ok(()), Err(stop)) => one_line(&stop),
                (Err(stop), Err(no_database)) => {
                    one_line(&stop);
                    one_line(&no_database);
                }
                (Err(stop), Ok(_)) => panic!("refused ({stop}), and it opens"),
            }
            session.pause(Nanos(1), session.waiting(WaitEvent::PlSqlLockTimer));
        });
        let done = report.disks["disk"].injected().is_empty();
        common::ended(report, n);
        if done {
            assert!(n > 30, "{n}");
            return;
        }
        n += 1;
    }
}

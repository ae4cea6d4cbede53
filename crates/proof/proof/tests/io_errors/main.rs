//! The I/O-error sweep: a small life of a database, in which the N-th operation of the disk fails,
//! for each N until the life goes by without a fault.
//!
//! ```text
//!   open ─▶ work, grow, define, make a tablespace ─▶ kill ─▶ open ─▶ work ─▶ shut ─▶ open ─▶ shut
//!     ▲ N-th operation fails: once, or it and all behind it                                  │
//!     └── N + 1 ◀── all that was acknowledged is there ◀── without faults: killed, power cut
//!
//!   create ─▶ work a little ─▶ shut: the same, from the first byte on
//! ```
//!
//! Tables are typed and have constraints of every kind: rows grow out of their blocks, and some are
//! longer than one; each has entries in a primary key, two unique and two other indexes, refers to
//! another, and has a number of an identity column; a CHECK refuses a change; every second
//! transaction is serializable. Every call succeeds or says in one line what failed on what;
//! nothing panics or hangs; what was acknowledged is there, and what was refused isn't; no number
//! is given twice; a write or sync of redo, or of a data file by a database writer, that fails
//! halts the instance. A creation that failed has left nothing.
//!
//! In release every 53rd N, in debug a few; every N by `cargo xbench soak io-errors`.
#![forbid(unsafe_code)]

mod holds;
mod life;
mod told;

use std::collections::BTreeSet;
use std::path::Path;

use os::Session;
use sim::fs::crash::CrashStates;
use sim::fs::faults::{Fault, FaultPlan, Injection, Scope};
use sim::fs::{FileSystem, Operation};
use sim::{CrashPoints, Outside, Simulation, World};

use holds::{holds, is_as_before};
use life::{create, from_nothing, lives, open, work};
use told::{Came, Journal, Told};

/// Virtual time of a whole life.
const LONGEST_NS: u64 = 600_000_000_000;
/// The soak says by this how many places it wants: one in so many fails.
const STRIDE: &str = "FOREBAY_IO_ERRORS_STRIDE";

/// One place in so many fails; `1` is the complete sweep.
#[expect(clippy::disallowed_methods, reason = "what a soak asks of a test is told from outside")]
fn stride() -> u64 {
    let asked = std::env::var(STRIDE).ok().and_then(|stride| stride.parse().ok());
    asked.unwrap_or(if cfg!(debug_assertions) { 101 } else { 53 }).max(1)
}

fn machine(seed: u64, content: FileSystem) -> Simulation {
    let mut simulation = Simulation::new(seed);
    simulation.disks[0].content = content;
    // In release too structures are held against their invariants while they change.
    simulation.check_effort = Some(2);
    simulation
}

fn left<R>(report: &mut sim::Report<R>) -> FileSystem {
    let mut disk = report.disks.remove("disk").expect("the machine has one disk");
    disk.close_all();
    disk
}

/// Errors that say what an earlier one has led to, and so needn't name the file.
const CONSEQUENCES: [&str; 8] = [
    "cannot drop ",
    "there is no redo log group",
    "is no member of a redo log group",
    "is a file of the database already",
    "it was aborted",
    "its creation didn't come to its end",
    "there is no table",
    "there is no tablespace",
];

/// One line, that names the file or directory of a fault.
fn names_what_failed(error: &str, injected: &[Injection]) -> bool {
    let name = |injection: &Injection| {
        let path = Path::new(&injection.path);
        path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    };
    let named = injected.iter().any(|injection| error.contains(&name(injection)));
    !error.is_empty() && !error.contains('\n') && named
}

/// A write or sync of redo: it isn't tried again, so somebody is told. (What else fails may be work
/// of a background process that nobody asked for, or that the kill met.)
fn is_fatal(injection: &Injection) -> bool {
    let writes = matches!(injection.operation, Operation::Write | Operation::Sync);
    writes && injection.fault != Fault::Short && injection.path.starts_with("/db/redo")
}

/// A power cut after a fault: so many operations later, the disk then, and what was told by then.
type Shot = (u64, FileSystem, Told);

/// Operations after a fault the power is cut in turn, and every so many later.
const CUTS_EVERY: u64 = 23;

fn shot(cut: sim::Cut<'_>, n: u64, after: &Outside<u64>, known: &Journal) -> Option<Shot> {
    let mut disk = cut().pop().expect("the machine has one disk");
    if disk.injected().is_empty() {
        return None;
    }
    let at = after.with(|after| {
        *after += 1;
        *after
    });
    if at % CUTS_EVERY != n % CUTS_EVERY {
        return None;
    }
    disk.close_all();
    Some((at, disk, known.0.with(|told| told.clone())))
}

/// What runs under faults, on which disk.
struct Sweep {
    base: FileSystem,
    life: fn(&World, &Journal, &Session),
    once: bool,
}

/// One life under this plan. Whether a fault came.
fn survives(sweep: &Sweep, n: u64, plan: FaultPlan, seen: &mut BTreeSet<String>) -> bool {
    let (mut content, life) = (sweep.base.clone(), sweep.life);
    content.plan_faults(plan);
    let journal = Journal::default();
    let inside = journal.clone();
    let (shots, known) = (Outside::<Vec<Shot>>::default(), journal.clone());
    let mut machine = machine(n, content);
    let (collected, after) = (shots.clone(), Outside::<u64>::default());
    machine.crash_points = Some(CrashPoints::new(move |_, _, cut| {
        if let Some(shot) = shot(cut, n, &after, &known) {
            collected.with(|shots| shots.push(shot));
        }
    }));
    let mut report = machine.run(move |world, session| life(world, &inside, session));
    let injected = report.disks["disk"].injected().to_vec();
    let what = format!("operation {n}, {:?} of {}", injected.first(), injected.len());
    if let Err(failure) = &report.result {
        panic!("{what}: {failure}");
    }
    assert!(report.elapsed_ns < LONGEST_NS, "{what}: it took {} ns", report.elapsed_ns);
    let told = journal.0.with(|told| told.clone());
    assert!(told.ended, "{what}");
    for error in &told.errors {
        let consequence = CONSEQUENCES.iter().any(|text| error.contains(text));
        assert!(consequence || names_what_failed(error, &injected), "{what}: {error}");
        seen.insert(error.clone());
    }
    if injected.len() == 1 && is_fatal(&injected[0]) {
        // Tried again it would have succeeded, and nobody been told.
        assert!(!told.errors.is_empty(), "{what}: nobody was told");
    }
    for (at, mut disk, told) in shots.take() {
        disk.plan_faults(FaultPlan::new(0));
        let states = CrashStates::of(&disk);
        if let Err(wrong) = holds(told.clone(), states.sample(n), false) {
            let (errors, state) = (&told.errors, states.describe_sample(n));
            panic!("{what}: power cut {at} operations later: {wrong}; told {errors:?}; {state}");
        }
    }
    let mut disk = left(&mut report);
    disk.plan_faults(FaultPlan::new(0));
    if sweep.once && told.created == Some(Came::Not) {
        let again = is_as_before(disk.clone());
        again.unwrap_or_else(|wrong| panic!("{what}: {wrong}; told {:?}", told.errors));
    }
    // The process was killed; or the power went, and what was never synced with it.
    let mut states = vec![("killed", disk.clone())];
    disk.cut_power();
    let cut = CrashStates::of(&disk);
    states.extend([("power cut", cut.sample(n)), ("power cut", cut.sample(!n))]);
    for (how, state) in states {
        if let Err(wrong) = holds(told.clone(), state, true) {
            panic!("{what}: {how}: {wrong}; told {:?}", told.errors);
        }
    }
    !injected.is_empty()
}

/// A database with its dictionary.
fn base() -> FileSystem {
    let mut report = machine(1, FileSystem::new(1 << 30))
        .run(|world, session| create(world, session)?.shutdown_by(session));
    let disk = left(&mut report);
    report.result.expect("it runs").expect("created");
    disk
}

/// Every operation in scope that the fault can hit.
fn sweep(fault: Fault, once: bool, least: u64) {
    all_places(fault, &Sweep { base: base(), life: lives, once }, least);
}

/// The same while the database is created.
fn sweep_creation(fault: Fault, once: bool, least: u64) {
    let base = FileSystem::new(1 << 30);
    all_places(fault, &Sweep { base, life: from_nothing, once }, least);
}

fn all_places(fault: Fault, sweep: &Sweep, least: u64) {
    let (mut seen, once, stride) = (BTreeSet::new(), sweep.once, stride());
    let (mut n, mut places) = (1, 0);
    loop {
        let plan = FaultPlan::new(n);
        let scope = Scope::all();
        let plan = if once { plan.nth(n, fault, scope) } else { plan.from_nth(n, fault, scope) };
        if !survives(sweep, n, plan, &mut seen) {
            break;
        }
        places += 1;
        n += stride;
        if places % 250 == 0 {
            println!("{fault:?}, once: {once}: {places} places so far");
        }
    }
    println!("{fault:?}, once: {once}: {places} places, {} different errors", seen.len());
    assert!(places >= least / stride, "only {places} places");
}

#[test]
fn an_error_once_loses_nothing() {
    sweep(Fault::Eio, true, 400);
}

#[test]
fn errors_for_good_lose_nothing() {
    sweep(Fault::Eio, false, 400);
}

#[test]
fn no_space_once_loses_nothing() {
    sweep(Fault::Enospc, true, 300);
}

#[test]
fn no_space_for_good_loses_nothing() {
    sweep(Fault::Enospc, false, 300);
}

#[test]
fn short_transfers_lose_nothing() {
    sweep(Fault::Short, true, 200);
}

#[test]
fn an_error_once_in_a_creation_leaves_nothing_or_a_sound_database() {
    sweep_creation(Fault::Eio, true, 400);
}

#[test]
fn errors_for_good_in_a_creation_leave_nothing_that_opens_unsound() {
    sweep_creation(Fault::Eio, false, 400);
}

#[test]
fn no_space_in_a_creation_leaves_nothing_or_a_sound_database() {
    sweep_creation(Fault::Enospc, true, 300);
}

/// A definition whose transaction has begun, and then finds no room for undo, ends it: a shutdown
/// right after it isn't refused.
#[test]
fn an_undo_block_that_cannot_be_read_once_leaves_no_transaction_behind() {
    let base = FileSystem::new(1 << 30);
    let sweep = Sweep { base, life: from_nothing, once: true };
    let (mut n, mut seen) = (1, BTreeSet::new());
    let scope = Scope::of(&[Operation::Read]).under("/db/undo01.dbf");
    while survives(&sweep, n, FaultPlan::new(n).nth(n, Fault::Eio, scope.clone()), &mut seen) {
        n += 1;
    }
    assert!(n > 5 && !seen.is_empty(), "only {n} reads, {seen:?}");
}

/// A block that can't be read when recovery first wants it is read later: nobody waits for a buffer
/// that no writer will make free (rule recovery/RC8).
#[test]
fn a_read_that_fails_once_never_holds_recovery_up() {
    let mut report = machine(1, base()).run(|world, session| {
        let database = open(world, session).expect("nothing fails");
        work(0, &database, &Journal::default(), session);
        drop(database);
    });
    let crashed = left(&mut report);
    let mut failed = 0;
    for n in 1..80 {
        let mut content = crashed.clone();
        let scope = Scope::of(&[Operation::Read]).under("/db/data01.dbf");
        content.plan_faults(FaultPlan::new(n).nth(n, Fault::Eio, scope));
        let report = machine(n, content)
            .run(|world, session| open(world, session).map(drop).map_err(|stop| stop.to_string()));
        let opened = report.result.unwrap_or_else(|failure| panic!("read {n}: {failure}"));
        let injected = report.disks["disk"].injected().to_vec();
        failed += injected.len();
        if let Err(error) = opened {
            assert!(names_what_failed(&error, &injected), "read {n}: {error}");
        }
    }
    assert!(failed > 20, "only {failed} reads failed");
}

//! The I/O-error sweep: a small life of a database, in which the N-th operation of the disk fails,
//! for each N until the life goes by without a fault.
//!
//! ```text
//!   create ─▶ open ─▶ work, grow, make a tablespace, add a file ─▶ kill ─▶ open ─▶ work ─▶ shut
//!      ▲ N-th operation fails: once, or it and all behind it                                │
//!      └── N + 1 ◀── all that was acknowledged is there ◀── without faults: killed, power cut
//! ```
//!
//! Every call succeeds or says in one line what failed on what; nothing panics or hangs; what was
//! acknowledged is there, and what was refused isn't; a write or sync of redo, or of a data file by
//! a database writer, that fails halts the instance. In release each N, in debug a few.
#![forbid(unsafe_code)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use access::{Inserter, Table};
use ids::BlockSize;
use instance::{
    Creation, DataFileSpec, Instance, LogChange, Parameters, TablespaceSpec, Transaction,
};
use os::Session;
use os::probe::DurableWrite;
use sim::fs::crash::CrashStates;
use sim::fs::faults::{Fault, FaultPlan, Injection, Scope};
use sim::fs::{FileSystem, Operation};
use sim::{CrashPoints, Outside, Simulation, World};
use space::Column;
use stop::{RefusalKind, Stop};

const BLOCK: u64 = 2048;
/// Rows of a transaction: about two blocks.
const ROWS: usize = 6;
const COLUMNS: [Column; 2] = [Column::Number, Column::Bytes(400)];
/// Virtual time of a whole life.
const LONGEST_NS: u64 = 600_000_000_000;
/// In debug one place in so many fails.
const STRIDE: u64 = if cfg!(debug_assertions) { 41 } else { 1 };

fn directory() -> &'static Path {
    Path::new("/db")
}

fn creation() -> Creation {
    Creation {
        db_block_size: BlockSize::KIB_2,
        data_bytes: 24 * BLOCK,
        data_bytes_max: 400 * BLOCK,
        data_growth_bytes: 8 * BLOCK,
        undo_bytes: 32 * BLOCK,
        undo_bytes_max: 400 * BLOCK,
        undo_growth_bytes: 8 * BLOCK,
        extent_blocks: 4,
        log_file_bytes: u64::from(redo::LOG_BLOCKS_MIN) * 4096,
        log_groups: 3,
        undo_segments: 2,
        undo_slots: 4,
        doublewrite_slots: 16,
        ..Creation::default()
    }
}

fn parameters() -> Parameters {
    Parameters {
        db_cache_size: 20 * BLOCK,
        db_4k_cache_size: 16 * 4096,
        db_working_sets: 2,
        db_writer_batch: 4,
        log_buffer: redo::LOG_BUFFER_BYTES_MIN as u64,
        redo_write: Some(DurableWrite::DirectThenSync),
        redo_consistency: true,
        ..Parameters::default()
    }
}

fn file(path: &str) -> DataFileSpec {
    let (bytes, growth_bytes) = (16 * 4096, 4 * 4096);
    DataFileSpec { path: path.to_string(), bytes, bytes_max: 4 * bytes, growth_bytes }
}

fn users() -> TablespaceSpec {
    TablespaceSpec {
        name: "users".to_string(),
        block_size: BlockSize::KIB_4,
        extent_blocks: 4,
        files: vec![file("users01.dbf")],
    }
}

/// How far something came that somebody asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Came {
    /// It was refused, or taken back: it isn't there.
    Not,
    /// The instance halted meanwhile: it may be there, wholly.
    InDoubt,
    /// It is there.
    There,
}

/// What callers were told.
#[derive(Clone, Default, Debug)]
struct Told {
    /// Transactions: the table, and how far it came.
    transactions: Vec<(&'static str, Option<Came>)>,
    /// Tables, the tablespace, the added file.
    made: BTreeMap<&'static str, Came>,
    errors: Vec<String>,
    /// An instance was found halted.
    halted: bool,
    /// Lives that came to their end.
    ended: bool,
}

#[derive(Clone, Default)]
struct Journal(Outside<Told>);

impl Journal {
    /// What came of a call; none if the instance has halted.
    fn hear<T>(&self, what: Result<T, Stop>) -> Option<Result<T, ()>> {
        match what {
            Ok(value) => Some(Ok(value)),
            Err(stop) => {
                let halts = matches!(stop, Stop::Halted(_));
                self.0.with(|told| {
                    told.errors.push(stop.to_string());
                    told.halted |= halts;
                });
                (!halts).then_some(Err(()))
            }
        }
    }

    /// Asks for something that is to be there from then on. None if the instance has halted.
    fn make(&self, name: &'static str, ask: impl FnOnce() -> Result<(), Stop>) -> Option<()> {
        let before = self.0.with(|told| told.made.insert(name, Came::InDoubt));
        let what = ask();
        let kind = what.as_ref().err().and_then(Stop::refusal);
        if kind == Some(RefusalKind::AlreadyExists) {
            self.0.with(|told| told.made.insert(name, Came::There));
            return Some(());
        }
        let heard = self.hear(what);
        let came = match heard {
            Some(Ok(())) => Came::There,
            // What was in doubt is known only when it is refused as being there.
            Some(Err(())) if before == Some(Came::InDoubt) => Came::InDoubt,
            Some(Err(())) => Came::Not,
            None => Came::InDoubt,
        };
        self.0.with(|told| told.made.insert(name, came));
        heard.map(|_| ())
    }
}

/// One transaction of `ROWS` rows, each with the transaction's number. None if it halted.
fn transaction(
    table: (&'static str, &Table),
    instance: &Instance,
    journal: &Journal,
    session: &Session,
) -> Option<()> {
    let number = journal.0.with(|told| {
        told.transactions.push((table.0, Some(Came::InDoubt)));
        told.transactions.len() - 1
    });
    let came = |came| journal.0.with(|told| told.transactions[number].1 = Some(came));
    let (mut transaction, mut inserter) = (Transaction::new(), Inserter::default());
    for _ in 0..ROWS {
        let fill = |row: &mut access::RowMut<'_>| row.set_number(0, number as i64);
        let done = table.1.insert(&mut transaction, &mut inserter, fill, session);
        if journal.hear(done)?.is_err() {
            journal.hear(instance.rollback(transaction, session))?.ok();
            came(Came::Not);
            return Some(());
        }
    }
    if number % 4 == 3 {
        journal.hear(instance.rollback(transaction, session))?.ok();
        came(Came::Not);
        return Some(());
    }
    match journal.hear(instance.commit(transaction, session))? {
        Ok(()) => came(Came::There),
        Err(()) => came(Came::Not),
    }
    Some(())
}

/// So many transactions on a table, if it can be had.
fn transactions(
    name: &'static str,
    count: u32,
    instance: &Instance,
    journal: &Journal,
    session: &Session,
) -> Option<()> {
    let Ok(table) = journal.hear(instance.table(name, session))? else { return Some(()) };
    for _ in 0..count {
        transaction((name, &table), instance, journal, session)?;
    }
    Some(())
}

/// A group with two members comes, and another one and a member go, or are refused.
const LOG_CHANGES: [(&str, &str); 5] = [
    ("add_log_group", "208k:x1.log,x2.log"),
    ("switch_log", "next"),
    ("add_log_member", "1:y.log"),
    ("drop_log_member", "x1.log"),
    ("drop_log_group", "2"),
];

/// What an open instance is asked for in each of the lives. None if it halted.
fn work(life: u32, instance: &Instance, journal: &Journal, session: &Session) -> Option<()> {
    journal.make("t", || instance.create_table("t", &COLUMNS, session).map(drop))?;
    transactions("t", if life == 0 { 9 } else { 2 }, instance, journal, session)?;
    journal.hear(instance.checkpoint(session))?.ok();
    if life < 2 {
        let within = |name| instance.create_table_within("users", (name, &COLUMNS), session);
        let add = || instance.add_data_file("users", &file("users02.dbf"), session);
        journal.make("users", || instance.create_tablespace(&users(), session))?;
        journal.make("u", || within("u").map(drop))?;
        transactions("u", 3, instance, journal, session)?;
        journal.make("users02.dbf", add)?;
    }
    journal.hear(instance.redo().switch(session))?.ok();
    for (name, value) in LOG_CHANGES {
        let change = LogChange::read(name, value).expect("it is one").expect("it can be read");
        // What isn't refused is there when the next life opens: its log may be needed.
        journal.hear(instance.change_logs(&change, session))?.ok();
        transactions("t", 1, instance, journal, session)?;
    }
    transactions("u", 3, instance, journal, session)
}

/// The lives: one that is killed, one that recovers, one after a shutdown. A life whose opening
/// fails is tried again.
fn lives(world: &World, journal: &Journal, session: &Session) {
    let disk = world.disk();
    for life in 0..3 {
        for _ in 0..3 {
            let opened = Instance::open(&disk, directory(), &parameters(), session);
            let Some(Ok(instance)) = journal.hear(opened) else { continue };
            let whole = work(life, &instance, journal, session).is_some();
            if whole && life > 0 {
                // A shutdown that fails is a kill.
                journal.hear(instance.shutdown(session));
            } else {
                instance.abort(session);
            }
            break;
        }
    }
    journal.0.with(|told| told.ended = true);
}

fn machine(seed: u64, content: FileSystem) -> Simulation {
    let mut simulation = Simulation::new(seed);
    simulation.disks[0].content = content;
    simulation
}

fn left<R>(report: &mut sim::Report<R>) -> FileSystem {
    let mut disk = report.disks.remove("disk").expect("the machine has one disk");
    disk.close_all();
    disk
}

/// What is in a database that opens without faults, against what was told.
fn holds(told: Told, disk: FileSystem) -> Result<(), String> {
    let report = machine(1, disk).run(move |world, session| {
        let opened = Instance::open(&world.disk(), directory(), &parameters(), session);
        let instance = opened.map_err(|stop| format!("it doesn't open: {stop}"))?;
        let found = compare(&told, &instance, session);
        let shut = instance.shutdown(session).map_err(|stop| format!("it doesn't shut: {stop}"));
        found.and(shut)
    });
    report.result.map_err(|failure| failure.to_string())?
}

fn compare(told: &Told, instance: &Instance, session: &Session) -> Result<(), String> {
    instance.space().check(session)?;
    instance.transactions().undo().check(session)?;
    let spaces = instance.space().tablespaces(session);
    let files = instance.space().file_blocks(session).len();
    let mut rows: BTreeMap<(&str, i64), usize> = BTreeMap::new();
    for (name, came) in &told.made {
        let there = match *name {
            "users" => spaces.iter().any(|space| space.name == "users"),
            "users02.dbf" => files == 4,
            table => {
                let found = instance.table(table, session);
                let scanned = found.and_then(|found| {
                    let mut count = |number| *rows.entry((*name, number)).or_insert(0) += 1;
                    found.scan(|_, row| count(row.number(0)), session)
                });
                match scanned {
                    Ok(()) => true,
                    Err(stop) if stop.refusal() == Some(RefusalKind::NotFound) => false,
                    Err(stop) => return Err(format!("table {table}: {stop}")),
                }
            }
        };
        let expected = match came {
            Came::There => true,
            Came::Not => false,
            Came::InDoubt => there,
        };
        if there != expected {
            return Err(format!("{name} is {came:?}, and there is {there}"));
        }
    }
    for (number, (table, came)) in told.transactions.iter().enumerate() {
        let found = rows.remove(&(*table, number as i64)).unwrap_or(0);
        let right = match came.expect("every transaction came somewhere") {
            Came::There => found == ROWS,
            Came::Not => found == 0,
            Came::InDoubt => found == 0 || found == ROWS,
        };
        if !right {
            return Err(format!("transaction {number} in {table}: {came:?}, {found} rows"));
        }
    }
    if rows.is_empty() { Ok(()) } else { Err(format!("rows of nobody: {rows:?}")) }
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

/// One life under this plan. Whether a fault came.
fn survives(base: &FileSystem, n: u64, plan: FaultPlan, seen: &mut BTreeSet<String>) -> bool {
    let mut content = base.clone();
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
    let mut report = machine.run(move |world, session| lives(world, &inside, session));
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
        if let Err(wrong) = holds(told.clone(), states.sample(n)) {
            let (errors, state) = (&told.errors, states.describe_sample(n));
            panic!("{what}: power cut {at} operations later: {wrong}; told {errors:?}; {state}");
        }
    }
    let mut disk = left(&mut report);
    disk.plan_faults(FaultPlan::new(0));
    // The process was killed; or the power went, and what was never synced with it.
    let mut states = vec![("killed", disk.clone())];
    disk.cut_power();
    let cut = CrashStates::of(&disk);
    states.extend([("power cut", cut.sample(n)), ("power cut", cut.sample(!n))]);
    for (how, state) in states {
        if let Err(wrong) = holds(told.clone(), state) {
            panic!("{what}: {how}: {wrong}; told {:?}", told.errors);
        }
    }
    !injected.is_empty()
}

fn base() -> FileSystem {
    let mut report = machine(1, FileSystem::new(1 << 30)).run(|world, session| {
        let (creation, parameters) = (creation(), parameters());
        Instance::create(&world.disk(), directory(), &creation, &parameters, session)
    });
    let disk = left(&mut report);
    report.result.expect("it runs").expect("created");
    disk
}

/// Every operation in scope that the fault can hit.
fn sweep(fault: Fault, once: bool, least: u64) {
    let (base, mut seen) = (base(), BTreeSet::new());
    let (mut n, mut places) = (1, 0);
    loop {
        let plan = FaultPlan::new(n);
        let scope = Scope::all();
        let plan = if once { plan.nth(n, fault, scope) } else { plan.from_nth(n, fault, scope) };
        if !survives(&base, n, plan, &mut seen) {
            break;
        }
        places += 1;
        n += STRIDE;
    }
    println!("{fault:?}, once: {once}: {places} places, {} different errors", seen.len());
    assert!(places >= least / STRIDE, "only {places} places");
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

/// A block that can't be read when recovery first wants it is read later: nobody waits for a buffer
/// that no writer will make free (rule recovery/RC8).
#[test]
fn a_read_that_fails_once_never_holds_recovery_up() {
    let mut report = machine(1, base()).run(|world, session| {
        let opened = Instance::open(&world.disk(), directory(), &parameters(), session);
        let instance = opened.expect("nothing fails");
        work(0, &instance, &Journal::default(), session);
        instance.abort(session);
    });
    let crashed = left(&mut report);
    let mut failed = 0;
    for n in 1..80 {
        let mut content = crashed.clone();
        let scope = Scope::of(&[Operation::Read]).under("/db/data01.dbf");
        content.plan_faults(FaultPlan::new(n).nth(n, Fault::Eio, scope));
        let report = machine(n, content).run(|world, session| {
            let opened = Instance::open(&world.disk(), directory(), &parameters(), session);
            opened.map(|instance| instance.abort(session)).map_err(|stop| stop.to_string())
        });
        let opened = report.result.unwrap_or_else(|failure| panic!("read {n}: {failure}"));
        let injected = report.disks["disk"].injected().to_vec();
        failed += injected.len();
        if let Err(error) = opened {
            assert!(names_what_failed(&error, &injected), "read {n}: {error}");
        }
    }
    assert!(failed > 20, "only {failed} reads failed");
}

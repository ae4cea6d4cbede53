//! The I/O-error sweep: a small life of a database, in which the N-th operation of the disk fails,
//! for each N until the life goes by without a fault.
//!
//! ```text
//!   create ─▶ open ─▶ work, grow, define, make a tablespace ─▶ kill ─▶ open ─▶ work ─▶ shut
//!      ▲ N-th operation fails: once, or it and all behind it                                │
//!      └── N + 1 ◀── all that was acknowledged is there ◀── without faults: killed, power cut
//! ```
//!
//! The tables are typed: rows grow out of their blocks, each has entries in a primary key, a unique
//! and another index, and rows refer to others. Every call succeeds or says in one line what failed
//! on what; nothing panics or hangs; what was acknowledged is there, and what was refused isn't; a
//! write or sync of redo, or of a data file by a database writer, that fails halts the instance. In
//! release every seventh N, in debug a few.
#![forbid(unsafe_code)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use database::{
    Bounds, ColumnSpec, Connection, Database, IndexSpec, OnDelete, Options, Table, TableSpec, Tx,
    Type, Value, Which,
};
use ids::BlockSize;
use instance::{Creation, DataFileSpec, Instance, LogChange, Parameters, TablespaceSpec};
use os::probe::DurableWrite;
use os::{FileOptions, Session};
use sim::fs::crash::CrashStates;
use sim::fs::faults::{Fault, FaultPlan, Injection, Scope};
use sim::fs::{FileSystem, Operation};
use sim::{CrashPoints, Outside, Simulation, World};
use stop::{RefusalKind, Stop};

const BLOCK: u64 = 2048;
/// Rows of a transaction: about two blocks, when they have grown.
const ROWS: i64 = 6;
/// Virtual time of a whole life.
const LONGEST_NS: u64 = 600_000_000_000;
/// One place in so many fails; `1` is the complete sweep.
const STRIDE: u64 = if cfg!(debug_assertions) { 101 } else { 7 };

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
        db_cache_size: 24 * BLOCK,
        db_4k_cache_size: 16 * 4096,
        db_working_sets: 2,
        db_writer_batch: 4,
        log_buffer: redo::LOG_BUFFER_BYTES_MIN as u64,
        redo_write: Some(DurableWrite::DirectThenSync),
        redo_consistency: true,
        db_file_multiblock_read_count: 4,
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
            // An earlier life may have made it; only a refusal that says so tells more of that.
            Some(Err(())) => before.unwrap_or(Came::Not),
            None => Came::InDoubt,
        };
        self.0.with(|told| told.made.insert(name, came));
        heard.map(|_| ())
    }
}

/// One transaction that leaves `ROWS` rows with its number. None if it halted.
fn transaction(
    (name, table): (&'static str, &Table),
    connection: &mut Connection<'_>,
    journal: &Journal,
) -> Option<()> {
    let number = journal.0.with(|told| {
        told.transactions.push((name, Some(Came::InDoubt)));
        told.transactions.len() - 1
    });
    let came = |came| journal.0.with(|told| told.transactions[number].1 = Some(came));
    let mut tx = connection.begin();
    let done = changes(number as i64, table, &mut tx);
    if journal.hear(done)?.is_err() || number % 4 == 3 {
        journal.hear(tx.rollback())?.ok();
        came(Came::Not);
        return Some(());
    }
    match journal.hear(tx.commit())? {
        Ok(()) => came(Came::There),
        Err(()) => came(Came::Not),
    }
    Some(())
}

/// Inserts rows, has them grow, goes back to a savepoint, and deletes one.
fn changes(number: i64, table: &Table, tx: &mut Tx<'_, '_>) -> Result<(), Stop> {
    let long = "n".repeat(400);
    for place in 0..=ROWS {
        let code = format!("code {}", place % 3);
        let parent = if place > 1 { Value::Int(number * 100) } else { Value::Null };
        let (id, notes) = (number * 100 + place, Value::Text("short"));
        tx.insert(table, &[Value::Int(id), Value::Int(number), parent, Value::Text(&code), notes])?;
    }
    let key = [Value::Int(number)];
    let own =
        Which::Range(table.index(&format!("{}_by_number", table.name()))?, Bounds::equal(&key));
    let savepoint = tx.savepoint();
    tx.delete_where(table, own, None)?;
    tx.rollback_to(savepoint)?;
    tx.update_where(table, own, None, |_, row| row.set(4, Value::Text(&long)))?;
    tx.delete(table, &[Value::Int(number * 100 + ROWS)]).map(drop)
}

/// So many transactions on a table, if it can be had.
fn transactions(
    name: &'static str,
    count: u32,
    connection: &mut Connection<'_>,
    journal: &Journal,
) -> Option<()> {
    let Ok(table) = journal.hear(connection.table(name))? else { return Some(()) };
    for _ in 0..count {
        transaction((name, &table), connection, journal)?;
    }
    Some(())
}

/// Rows refer to a row of the same transaction, some to none.
fn table(name: &str, tablespace: &str) -> TableSpec {
    TableSpec::new(name)
        .in_tablespace(tablespace)
        .column(ColumnSpec::new("id", Type::BigInt))
        .column(ColumnSpec::new("number", Type::BigInt).not_null())
        .column(ColumnSpec::new("parent", Type::BigInt))
        .column(ColumnSpec::new("code", Type::varchar(40).expect("a type")))
        .column(ColumnSpec::new("notes", Type::Text))
        .primary_key(["id"])
        .unique(["number", "code", "id"])
        .named(&format!("{name}_by_number"))
        .foreign_key(["parent"], name, OnDelete::Cascade)
}

/// A group with two members comes, and another one and a member go, or are refused.
const LOG_CHANGES: [(&str, &str); 5] = [
    ("add_log_group", "208k:x1.log,x2.log"),
    ("switch_log", "next"),
    ("add_log_member", "1:y.log"),
    ("drop_log_member", "x1.log"),
    ("drop_log_group", "2"),
];

/// What an open database is asked for in each of the lives. None if it halted.
fn work(life: u32, database: &Database, journal: &Journal, session: &Session) -> Option<()> {
    let instance = database.instance();
    let connection = &mut database.connect_with(session);
    journal.make("t", || connection.create_table(&table("t", "system")).map(drop))?;
    transactions("t", if life == 0 { 6 } else { 2 }, connection, journal)?;
    let by_code = IndexSpec::new("t_by_code", "t", ["code", "parent"]);
    journal.make("t_by_code", || connection.create_index(&by_code))?;
    journal.hear(instance.checkpoint(session))?.ok();
    if life < 2 {
        let add = || instance.add_data_file("users", &file("users02.dbf"), session);
        journal.make("users", || instance.create_tablespace(&users(), session))?;
        journal.make("u", || connection.create_table(&table("u", "users")).map(drop))?;
        transactions("u", 2, connection, journal)?;
        journal.make("users02.dbf", add)?;
    }
    journal.hear(instance.redo().switch(session))?.ok();
    for (name, value) in LOG_CHANGES {
        let change = LogChange::read(name, value).expect("it is one").expect("it can be read");
        // What isn't refused is there when the next life opens: its log may be needed.
        journal.hear(instance.change_logs(&change, session))?.ok();
        transactions("t", 1, connection, journal)?;
    }
    transactions("u", 2, connection, journal)
}

fn open(world: &World, session: &Session) -> Result<Database, Stop> {
    let options = Options { creation: creation(), parameters: parameters() };
    Database::open_in((&world.disk(), directory()), &options, session)
}

/// The lives: one that is killed, one that recovers, one after a shutdown. A life whose opening
/// fails is tried again.
fn lives(world: &World, journal: &Journal, session: &Session) {
    for life in 0..3 {
        for _ in 0..3 {
            let Some(Ok(database)) = journal.hear(open(world, session)) else { continue };
            let whole = work(life, &database, journal, session).is_some();
            if whole && life > 0 {
                // A shutdown that fails is a kill.
                journal.hear(database.shutdown_by(session));
            } else {
                drop(database);
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

/// What is in a database that opens without faults, against what was told; and verified, if asked
/// for, when it was shut.
fn holds(told: Told, disk: FileSystem, is_verified: bool) -> Result<(), String> {
    let report = machine(1, disk).run(move |world, session| {
        let database = open(world, session).map_err(|stop| format!("it doesn't open: {stop}"))?;
        let found = compare(&told, &database, session);
        let shut = database.shutdown_by(session);
        shut.map_err(|stop| format!("it doesn't shut: {stop}"))?;
        found?;
        if is_verified { verified(world, session) } else { Ok(()) }
    });
    report.result.map_err(|failure| failure.to_string())?
}

fn verified(world: &World, session: &Session) -> Result<(), String> {
    let mut findings = Vec::new();
    let tell = &mut |finding: &verify::Finding| findings.push(finding.to_string());
    let mut task = verify::Task { pairs: &[], tell, go_on: &mut |_| true };
    let options = FileOptions { direct: false, write_through: false };
    let report = verify::closed((&world.disk(), directory()), options, &mut task, session);
    let report = report.map_err(|stop| format!("it can't be verified: {stop}"))?;
    if report.is_clean() { Ok(()) } else { Err(format!("{findings:?}\n{report}")) }
}

fn compare(told: &Told, database: &Database, session: &Session) -> Result<(), String> {
    let instance = database.instance();
    instance.wait_for_dead(session);
    instance.space().check(session)?;
    instance.transactions().undo().check(session)?;
    let spaces = instance.space().tablespaces(session);
    let files = instance.space().file_blocks(session).len();
    let definitions = database.catalog().definitions(session);
    let mut connection = database.connect_with(session);
    let mut rows: BTreeMap<(&str, i64), Vec<i64>> = BTreeMap::new();
    for (name, came) in &told.made {
        let there = match *name {
            "users" => spaces.iter().any(|space| space.name == "users"),
            "users02.dbf" => files == 4,
            "t_by_code" => {
                let of_t = definitions.iter().filter(|table| table.name == "t");
                of_t.flat_map(|table| &table.indexes).any(|index| index.name == *name)
            }
            table => definitions.iter().any(|one| one.name == table),
        };
        let expected = match came {
            Came::There => true,
            Came::Not => false,
            Came::InDoubt => there,
        };
        if there != expected {
            return Err(format!("{name} is {came:?}, and there is {there}"));
        }
        if there && matches!(*name, "t" | "u") {
            let look = |row: &database::Row<'_>| {
                let number = |column| row.get_i64(column).ok_or("a number is missing".to_string());
                let notes = row.get_text(4).map_err(|damaged| damaged.to_string())?;
                let is_long = notes.is_some_and(|notes| notes.len() == 400);
                Ok((number(0)?, (number(1)?, row.get_i64(2), is_long)))
            };
            let found = proof::held(&mut connection, name, look).map_err(|wrong| wrong.0)?;
            for (id, (number, parent, is_long)) in &found {
                rows.entry((*name, *number)).or_default().push(*id - number * 100);
                if parent.is_some_and(|parent| !found.contains_key(&parent)) || !is_long {
                    return Err(format!("row {id} of {name} isn't whole"));
                }
            }
        }
    }
    for (number, (table, came)) in told.transactions.iter().enumerate() {
        let found = rows.remove(&(*table, number as i64)).unwrap_or_default();
        let whole = found.iter().copied().eq(0..ROWS);
        let right = match came.expect("every transaction came somewhere") {
            Came::There => whole,
            Came::Not => found.is_empty(),
            Came::InDoubt => found.is_empty() || whole,
        };
        if !right {
            return Err(format!("transaction {number} in {table}: {came:?}, rows {found:?}"));
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
        if let Err(wrong) = holds(told.clone(), states.sample(n), false) {
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
        if let Err(wrong) = holds(told.clone(), state, true) {
            panic!("{what}: {how}: {wrong}; told {:?}", told.errors);
        }
    }
    !injected.is_empty()
}

/// A database with its dictionary.
fn base() -> FileSystem {
    let mut report = machine(1, FileSystem::new(1 << 30)).run(|world, session| {
        let (creation, parameters) = (creation(), parameters());
        Instance::create(&world.disk(), directory(), &creation, &parameters, session)?;
        open(world, session)?.shutdown_by(session)
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

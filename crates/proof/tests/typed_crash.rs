//! Typed tables with indexes, crashed under load: after each opening every index agrees with its
//! table, the dictionary with its segments, and what was acknowledged is there.
//!
//! The sweep's own tables have no indexes; here each row has entries in four, of which one's keys
//! change with every update, rows grow out of their blocks, and indexes are made and dropped.
#![forbid(unsafe_code)]

use std::path::Path;

use database::{
    ColumnSpec, Connection, Database, Error, ErrorKind, IndexSpec, Options, TableSpec, Type, Value,
};
use ids::BlockSize;
use instance::{Creation, Instance, Parameters};
use os::probe::DurableWrite;
use os::{FileOptions, Session, ThreadSpec};
use sim::fs::FileSystem;
use sim::fs::crash::CrashStates;
use sim::{CrashPoints, Outside, Perturbation, Report, Simulation};

const SESSIONS: i64 = 3;
const TRANSACTIONS: i64 = 24;
/// The power goes at each operation whose number can be divided by this.
const STRIDE: u64 = if cfg!(debug_assertions) { 5 } else { 1 };
const DRAWS: u64 = 2;
const SEEDS: u64 = if cfg!(debug_assertions) { 4 } else { 20 };

fn directory() -> &'static Path {
    Path::new("/db")
}

fn options() -> Options {
    let block = 2_048;
    let creation = Creation {
        db_block_size: BlockSize::KIB_2,
        data_bytes: 200 * block,
        data_bytes_max: 4_000 * block,
        data_growth_bytes: 16 * block,
        undo_bytes: 48 * block,
        undo_bytes_max: 4_000 * block,
        undo_growth_bytes: 16 * block,
        extent_blocks: 4,
        log_file_bytes: 2 * u64::from(redo::LOG_BLOCKS_MIN) * 4_096,
        log_groups: 3,
        undo_segments: 2,
        undo_slots: 8,
        doublewrite_slots: 16,
        ..Creation::default()
    };
    let parameters = Parameters {
        db_cache_size: 96 * block,
        db_working_sets: 2,
        db_writer_batch: 4,
        log_buffer: redo::LOG_BUFFER_BYTES_MIN as u64,
        redo_write: Some(DurableWrite::DirectThenSync),
        redo_consistency: true,
        ..Parameters::default()
    };
    Options { creation, parameters }
}

fn machine(seed: u64, content: FileSystem, perturbation: Perturbation) -> Simulation {
    let mut simulation = Simulation::new(seed);
    simulation.disks[0].content = content;
    simulation.perturbation = perturbation;
    simulation
}

fn left<R>(report: &mut Report<R>) -> FileSystem {
    let mut disk = report.disks.remove("disk").expect("the machine has one disk");
    disk.close_all();
    disk
}

fn ended<R>(report: Report<R>, what: &str) -> R {
    report.result.unwrap_or_else(|failure| panic!("{what}: {failure}"))
}

fn base() -> FileSystem {
    let mut report =
        machine(1, FileSystem::new(1 << 30), Perturbation::NONE).run(|world, session| {
            let (disk, options) = (world.disk(), options());
            let made = Instance::create(
                &disk,
                directory(),
                &options.creation,
                &options.parameters,
                session,
            );
            made.expect("created");
            let database =
                Database::open_in((&disk, directory()), &options, session).expect("opened");
            let mut connection = database.connect_with(session);
            let item = TableSpec::new("item")
                .column(ColumnSpec::new("id", Type::BigInt).not_null())
                .column(ColumnSpec::new("kind", Type::Integer))
                .column(ColumnSpec::new("code", Type::varchar(40).expect("a type")))
                .column(ColumnSpec::new("notes", Type::Text))
                .primary_key(["id"])
                .unique(["kind", "code"]);
            connection.create_table(&item).expect("created");
            connection.create_index(&IndexSpec::new("by_code", "item", ["code"])).expect("made");
            let count = TableSpec::new("count")
                .column(ColumnSpec::new("session", Type::BigInt).not_null())
                .column(ColumnSpec::new("done", Type::BigInt).not_null())
                .primary_key(["session"]);
            let count = connection.create_table(&count).expect("created");
            let mut tx = connection.begin();
            for session in 0..SESSIONS {
                tx.insert(&count, &[Value::Int(session), Value::Int(0)]).expect("inserted");
            }
            tx.commit().expect("committed");
            drop(connection);
            database.shutdown_by(session).expect("shut in good order");
        });
    let disk = left(&mut report);
    ended(report, "the database can't be made");
    disk
}

/// Transactions that were acknowledged, of each session the last one.
type Done = Outside<Vec<i64>>;

fn work(connection: &mut Connection<'_>, own: i64, done: &Done) -> Result<(), Error> {
    for round in 1..=TRANSACTIONS {
        // Refused if an index comes to the table, or goes, between the look at it and its lock.
        while let Err(stop) = transact(connection, (own, round), done) {
            if stop.refusal() != Some(ErrorKind::DefinitionChanged) {
                return Err(stop);
            }
        }
    }
    Ok(())
}

/// Inserts, grows, gives another key, deletes; and counts, in one transaction.
fn transact(
    connection: &mut Connection<'_>,
    (own, round): (i64, i64),
    done: &Done,
) -> Result<(), Error> {
    let (item, count) = (connection.table("item")?, connection.table("count")?);
    let id = own * 1_000 + round;
    let mut tx = connection.begin();
    let code = format!("code {}", round % 7);
    let kind = if round % 3 == 0 { Value::Null } else { Value::Int(id) };
    let notes = "n".repeat(10 + (round * 37 % 300) as usize);
    tx.insert(&item, &[Value::Int(id), kind, Value::Text(&code), Value::Text(&notes)])?;
    if round > 3 {
        let (code, notes) = (format!("other {id}"), "m".repeat(900));
        tx.update(&item, &[Value::Int(id - 2)], |_, row| {
            row.set(2, Value::Text(&code))?;
            row.set(3, Value::Text(&notes))
        })?;
        if round % 2 == 0 {
            tx.delete(&item, &[Value::Int(id - 3)])?;
        }
    }
    if round % 5 == 4 {
        return tx.rollback();
    }
    tx.update(&count, &[Value::Int(own)], |_, row| row.set(1, Value::Int(round)))?;
    tx.commit()?;
    done.with(|done| done[own as usize] = round);
    Ok(())
}

/// Makes indexes and drops them.
fn define(connection: &mut Connection<'_>) -> Result<(), Error> {
    for round in 0..3 {
        let name = format!("late{round}");
        connection.create_index(&IndexSpec::new(&name, "item", ["kind", "id"]))?;
        connection.drop_index(&name)?;
    }
    connection.create_index(&IndexSpec::new("last", "item", ["id", "kind"]))?;
    Ok(())
}

/// What the sessions had acknowledged when the power went, and what it left.
type Shot = (FileSystem, Vec<i64>);

fn shots(base: &FileSystem, seed: u64) -> Vec<Shot> {
    let taken = Outside::<Vec<Shot>>::default();
    let done: Done = Outside::new(vec![0; SESSIONS as usize]);
    let mut machine = machine(seed, base.clone(), Perturbation::RACES);
    let (inside, known) = (taken.clone(), done.clone());
    machine.crash_points = Some(CrashPoints::new(move |_, number, cut| {
        if number % STRIDE == seed % STRIDE {
            let mut disk = cut().remove(0);
            disk.close_all();
            let done = known.with(|done| done.clone());
            inside.with(|taken| taken.push((disk, done)));
        }
    }));
    let report = machine.run(move |world, session| {
        let place = (&world.disk(), directory());
        let database = Database::open_in(place, &options(), session).expect("opened");
        let mut threads: Vec<_> = (0..SESSIONS)
            .map(|own| {
                let (database, done) = (database.clone(), done.clone());
                let body = move |session: &Session| {
                    let mut connection = database.connect_with(session);
                    work(&mut connection, own, &done).expect("worked");
                };
                session.spawn(ThreadSpec::foreground(format!("s{own}")), body).expect("started")
            })
            .collect();
        let other = database.clone();
        let body = move |session: &Session| {
            define(&mut other.connect_with(session)).expect("defined");
        };
        threads.push(session.spawn(ThreadSpec::foreground("define"), body).expect("started"));
        threads.into_iter().for_each(|one| assert!(one.join(session).is_ok(), "it worked"));
        database.shutdown_by(session).expect("shut in good order");
    });
    ended(report, "without a crash");
    taken.take()
}

/// Opens what was left, looks at what was acknowledged, shuts it, and has it verified. How many
/// indexes were held against their tables.
fn look(disk: FileSystem, acknowledged: Vec<i64>, what: &str) -> u64 {
    let name = what.to_string();
    let report = machine(7, disk, Perturbation::NONE).run(move |world, session| {
        let disk = world.disk();
        let opened = Database::open_in((&disk, directory()), &options(), session);
        let database = opened.unwrap_or_else(|stop| panic!("{name}: it doesn't open: {stop}"));
        let mut connection = database.connect_with(session);
        let count = connection.table("count").expect("there");
        for (own, acknowledged) in (0..).zip(acknowledged) {
            let done = connection.get(&count, &[Value::Int(own)], |row| row.get_i64(1));
            let done = done.expect("read").flatten().expect("there");
            assert!(done >= acknowledged, "{name}: session {own}: {done} of {acknowledged}");
        }
        drop(connection);
        database.shutdown_by(session).expect("shut in good order");
        let mut findings = Vec::new();
        let tell = &mut |finding: &verify::Finding| findings.push(finding.to_string());
        let mut task = verify::Task { pairs: &[], tell, go_on: &mut |_| true };
        let options = FileOptions { direct: false, write_through: false };
        let report = verify::closed((&disk, directory()), options, &mut task, session);
        let report = report.unwrap_or_else(|stop| panic!("{name}: {stop}"));
        assert!(report.is_clean(), "{name}: {findings:#?}\n{report}");
        report.compared
    });
    ended(report, what)
}

#[test]
fn indexes_agree_with_their_tables_wherever_the_power_goes() {
    let base = base();
    let (mut states, mut compared) = (0, 0);
    for seed in 0..SEEDS {
        for (number, (disk, acknowledged)) in shots(&base, seed).into_iter().enumerate() {
            let cut = CrashStates::of(&disk);
            for draw in 0..DRAWS {
                let what = format!("seed {seed}, shot {number}, draw {draw}");
                let state = cut.sample(number as u64 * DRAWS + draw);
                compared += look(state, acknowledged.clone(), &what);
                states += 1;
            }
        }
    }
    println!("{states} states, {compared} indexes held against their tables");
    assert!(states > 50 && compared > states * 11, "{states} states, {compared} indexes");
}

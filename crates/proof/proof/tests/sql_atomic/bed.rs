//! The database on which statements are tried: tables that refer to each other, in a cache that is
//! too small for them, with little memory for work areas.
//!
//! ```text
//!   p ◀── t ◀── c: goes with its row of t        src: half of its keys are in t
//!           ◀── k: keeps its row of t            o: alone, to be altered
//!     ◀── i: its numbers are an identity's       e: the rows of src, in a file
//!   src ◀── y ◀── z: views
//!   turns, beside: written by the session itself, and by its neighbour
//! ```

use std::path::Path;

use database::{Connection, Database, Options};
use ids::BlockSize;
use instance::{Creation, Parameters};
use os::probe::DurableWrite;
use os::{FileOptions, Session};
use sim::fs::FileSystem;
use sim::{Perturbation, World};
use stop::{Failpoints, Stop};

const BLOCK: u64 = 2_048;

/// No world takes so long; one that never ends is told sooner than by the default.
const TIME_LIMIT_NS: u64 = 600_000_000_000;

/// The table in which the session itself counts its turns.
pub(crate) const TURNS: &str = "turns";
/// The table of the neighbour.
pub(crate) const BESIDE: &str = "beside";

const MADE: &[&str] = &[
    "create table p (id bigint primary key, name varchar(20))",
    "create table t (id bigint primary key, code varchar(40), v bigint not null, \
     up bigint references p, pad text, constraint t_code unique (code), \
     constraint t_v check (v >= 0))",
    "create index t_by_v on t (v, id desc)",
    "create table c (id bigint primary key, t bigint references t on delete cascade)",
    "create table k (id bigint primary key, t bigint references t)",
    "create table src (id bigint primary key, code varchar(40), v bigint)",
    "create table o (id bigint primary key, t bigint, extra integer default 5)",
    "create index o_by_t on o (t)",
    "create table i (id bigint generated always as identity primary key, p bigint references p)",
    "create table turns (id bigint primary key, n bigint)",
    "create table beside (id bigint primary key, n bigint)",
    "create sequence s",
    "create view w as select id, v from t where v > 10",
    "create view y as select id from src",
    "create view z as select id from y where id > 40",
    "comment on table t is 'rows that are changed'",
    "insert into p select g, 'p' || g from generate_series(1, 5) g",
    "insert into t select g, 'code ' || g, g, 1 + g % 5, rpad('x', 150, 'y') \
     from generate_series(1, 60) g",
    "update t set pad = rpad('x', 5000, 'z') where id in (7, 40)",
    "insert into c select g, 1 + g % 60 from generate_series(1, 30) g",
    "insert into src select g, 'src ' || g, g from generate_series(31, 90) g",
    "insert into o (id, t) select g, g from generate_series(1, 60) g",
    "insert into i (p) select 1 + g % 5 from generate_series(1, 30) g",
    "copy (select id, code, v from src order by id) to '/db/src.csv' csv",
    "create external table e (id bigint, code varchar(40), v bigint) \
     location 'src.csv' directory '/db' format csv",
    "analyze o",
    "insert into turns values (1, 0)",
    "insert into beside values (1, 0)",
];

fn options(failpoints: Failpoints) -> Options {
    // No file grows, so that what is free of the disk is so by temporary files alone.
    let creation = Creation {
        db_block_size: BlockSize::KIB_2,
        data_bytes: 3_000 * BLOCK,
        data_bytes_max: 0,
        undo_bytes: 600 * BLOCK,
        undo_bytes_max: 0,
        extent_blocks: 4,
        log_file_bytes: 4 * u64::from(redo::LOG_BLOCKS_MIN) * 4_096,
        log_groups: 3,
        undo_segments: 4,
        undo_slots: 8,
        doublewrite_slots: 16,
        ..Creation::default()
    };
    let parameters = Parameters {
        db_cache_size: 64 * BLOCK,
        db_working_sets: 2,
        db_writer_batch: 4,
        log_buffer: redo::LOG_BUFFER_BYTES_MIN as u64,
        redo_write: Some(DurableWrite::DirectThenSync),
        redo_consistency: true,
        db_file_multiblock_read_count: 4,
        pga_aggregate_target: 256 << 10,
        failpoints,
        ..Parameters::default()
    };
    Options { creation, parameters, ..Options::default() }
}

fn directory() -> &'static Path {
    Path::new("/db")
}

/// What a call says that stopped.
pub(crate) fn says(what: &str) -> impl Fn(Stop) -> String + '_ {
    move |stop| format!("{what}: {stop}")
}

pub(crate) fn say(connection: &mut Connection<'_>, text: &str) -> Result<(), String> {
    connection.execute(text, &[]).map(drop).map_err(says(text))
}

/// A disk with the database, shut.
pub(crate) fn base() -> FileSystem {
    let machine = proof::machine(1, FileSystem::new(1 << 30), Perturbation::NONE);
    let mut report = machine.run(|world, session| {
        let options = options(Failpoints::NONE);
        let made = Database::create_in(&world.disk(), directory(), &options, session);
        let database = made.map_err(says("the database can't be created"))?;
        let mut connection = database.connect_with(session);
        MADE.iter().try_for_each(|text| say(&mut connection, text))?;
        drop(connection);
        shut(database, world, session)
    });
    let mut disk = report.disks.remove("disk").expect("the machine has one disk");
    disk.close_all();
    let made = report.result.unwrap_or_else(|failure| panic!("the database: {failure}"));
    made.unwrap_or_else(|what| panic!("the database: {what}"));
    disk
}

/// How a world is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct How {
    pub(crate) seed: u64,
    pub(crate) perturbation: Perturbation,
    pub(crate) failpoints: Failpoints,
}

impl How {
    /// Every second seed has a schedule that finds races.
    pub(crate) fn of(seed: u64) -> How {
        let races = [Perturbation::NONE, Perturbation::RACES];
        let perturbation = races[(seed % 2) as usize];
        How { seed, perturbation, failpoints: Failpoints::NONE }
    }
}

/// Runs `body` in a world whose disk has this database, shut.
pub(crate) fn in_world<T: Send + 'static>(
    how: How,
    content: &FileSystem,
    body: impl FnOnce(&World, &Session) -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let How { seed, perturbation, failpoints } = how;
    let mut machine = proof::machine_for(failpoints, seed, content.clone(), perturbation);
    machine.time_limit_ns = TIME_LIMIT_NS;
    let report = machine.run(body);
    report.result.unwrap_or_else(|failure| Err(format!("in the machine: {failure}")))
}

pub(crate) fn open(
    failpoints: Failpoints,
    world: &World,
    session: &Session,
) -> Result<Database, String> {
    let opened = Database::open_in(&world.disk(), directory(), &options(failpoints), session);
    let database = opened.map_err(says("it doesn't open"))?;
    database.instance().wait_for_dead(session);
    Ok(database)
}

/// Shuts the database; then every block of it is in order.
pub(crate) fn shut(database: Database, world: &World, session: &Session) -> Result<(), String> {
    database.instance().wait_for_dead(session);
    database.shutdown_by(session).map_err(says("it doesn't shut"))?;
    let options = FileOptions { direct: false, write_through: false };
    verified(&mut |task| verify::closed(&world.disk(), directory(), options, task, session))
}

/// What `verify` finds in the database while it is open: nothing.
pub(crate) fn verified_open(database: &Database, session: &Session) -> Result<(), String> {
    verified(&mut |task| verify::open(database.instance(), task, session))
}

fn verified(
    check: &mut dyn FnMut(&mut verify::Task<'_>) -> Result<verify::Report, Stop>,
) -> Result<(), String> {
    let mut findings = Vec::new();
    let tell = &mut |finding: &verify::Finding| findings.push(finding.to_string());
    let mut task =
        verify::Task { pairs: &[], told_max: verify::TOLD_MAX, tell, go_on: &mut |_| true };
    let report = check(&mut task).map_err(says("it can't be verified"))?;
    match report.is_clean() {
        true => Ok(()),
        false => Err(format!("verified, it isn't in order: {}\n{report}", findings.join("\n"))),
    }
}

/// The bytes of the disk that nothing has: temporary files take of them.
pub(crate) fn free_bytes(world: &World) -> Result<u64, String> {
    let free = world.disk().free_bytes(directory());
    free.map_err(|error| format!("the disk doesn't say what is free: {error}"))
}

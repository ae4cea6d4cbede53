//! Race `recover`: redo done again, against fio's reads of the same redo and of the same blocks.
//!
//! Its terms are stated below. A database is loaded and shut, so that no redo of the load is left
//! to do again; then it is opened, worked on and stopped as by a crash, and its files are kept. Two
//! kinds of redo:
//!
//! * dense: rows of a small table changed again and again, all but their keys, so that all but the
//!   first change of a block find it cached;
//! * random: one small change in each of many blocks, in random order, none of them cached.
//!
//! Both are typed tables, whose rows are changed by their primary key. Its index doesn't change, so
//! it has no part in the redo.

use std::cell::RefCell;
use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;

use bench::Scratch;
use bench::fio::{Batch, Fio, FioJob, FioResult, Pattern};
use bench::race::{Case, Metrics, Race, Terms, Workload, metric};
use database::{
    ColumnSpec, CommitLogging, CommitMode, CommitWait, Connection, Creation, Database, Options,
    Parameters, RowAddress, TableSpec, Type, Value,
};
use instance::{Recovered, recover_database};
use os::Session;
use os::probe::DurableWrite;
use rand::seq::SliceRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use stop::Stop;
use waits::{Nanos, SessionKind};

use super::scan::data_file;
use super::{Run, Setup, run_race, told};

const TERMS: Terms = Terms {
    compared: "Ours recovers a database after a crash: it reads the redo, applies it to blocks \
               that it reads, and writes them. Of dense redo the bytes a second are compared with \
               fio's sequential reads of the same redo; of random redo the blocks a second with \
               fio's random reads of as many blocks of the same data file. A copy of as many \
               bytes in memory is shown beside.",
    rival: "fio keeps a ring of eight reads of a MiB for redo and of 128 reads for blocks, with \
            batches, registered buffers and a registered file, into huge pages where its buffers \
            are large enough, and takes no times.",
    timed: "Both sides do their work once a run, and their time is that of all of it: fio reads \
            each byte of redo, and each of its blocks, once. Before either side's run the files \
            are put back and synced, so what is read is of equal age; the redo is as warm in the \
            host for both. Figures with and without the writing of blocks are shown.",
    favours: "fio looks at none of the bytes that it reads, applies nothing and writes nothing: \
              that favours fio.",
};

const LOG_BYTES: u64 = 512 << 20;
const CACHE_BYTES: u64 = 512 << 20;
/// The random table, and undo.
const DATA_BYTES: u64 = 384 << 20;
const TABLE: &str = "changed";
const LOAD_BATCH: usize = 500;

/// Of fio's sequential reads, with the writing of blocks.
const DENSE_GOAL: f64 = 0.8;
/// Rows of 100 bytes: 16 MiB.
const DENSE_ROWS: u32 = 147_200;
const DENSE_CHANGES: u32 = 600_000;

/// IOPS of fio's to reach.
const RANDOM_GOAL: f64 = 0.9;
const RANDOM_BLOCKS: u32 = 32_768;
/// Rows that fill a block of 8 KiB but for what inserts leave free, and some bytes.
const ROWS_A_BLOCK: u32 = 3;
/// As many reads as recovery has in flight at once.
const DEPTH: u32 = 128;
/// Bytes that are copied in memory before the copy begins again: more than any processor's cache.
const COPIED_BYTES: usize = 256 << 20;
const MIB: u64 = 1 << 20;

const REDO: &str = "redo_mb_per_s";
const WHOLE: &str = "whole_mb_per_s";
const BESIDE_MEMORY: &str = "redo_mb_per_s_beside_memory";
const BLOCKS: &str = "blocks_per_s";
const BLOCKS_WHOLE: &str = "blocks_per_s_whole";

pub(crate) fn run(setup: &Setup) -> Run {
    let fio = Fio::find()?;
    let scratch = Scratch::create(&setup.directory)?;
    let os = os::linux::start();
    let session = os.adopt("race", SessionKind::Foreground);
    eprintln!("race recover: two databases that have crashed");
    let dense = Crashed::make(scratch.path().join("dense"), &DENSE, &session)?;
    let random = Crashed::make(scratch.path().join("random"), &RANDOM, &session)?;
    let figures = |job: FioJob, seed: u64| -> bench::Result<FioResult> {
        fio.run(&FioJob { seed: seed as u32, ..job }, &scratch)
    };
    let memory = Memory::new();
    let (log, blocks) = (log_job(&dense, setup), blocks_job(&random, setup)?);
    let race = Race {
        name: "recover".into(),
        description: "redo done again, against fio's reads".into(),
        terms: TERMS,
        settings: vec![
            format!("fio: {}", fio.version()),
            format!("file system: {}", bench::machine::file_system(scratch.path())),
        ],
        workloads: vec![
            Workload {
                name: "dense redo".into(),
                settings: vec![
                    format!("ours: {DENSE_CHANGES} changes of rows of 100 bytes in 16 MiB"),
                    dense.about(),
                    format!("fio: {}", log.settings()),
                ],
                cases: dense_cases(),
                ours: Box::new(|_| {
                    let Recovered { bytes, elapsed, surveyed_in, applied_in, .. } =
                        dense.recover(&session)?;
                    let rate = |took: Nanos| bytes as f64 / 1e6 / took.as_secs_f64();
                    let redo = rate(Nanos(surveyed_in.0 + applied_in.0));
                    let whole = rate(elapsed);
                    Ok(Metrics::from([(REDO, redo), (BESIDE_MEMORY, redo), (WHOLE, whole)]))
                }),
                rival: Box::new(|turn| {
                    dense.put_back()?;
                    let reads = figures(log.clone(), turn.seed)?.metrics()[metric::MB_PER_S];
                    let copies = memory.mb_per_s(dense.redo.bytes);
                    Ok(Metrics::from([(REDO, reads), (BESIDE_MEMORY, copies), (WHOLE, reads)]))
                }),
            },
            Workload {
                name: "random redo".into(),
                settings: vec![
                    format!("ours: a change in each of {RANDOM_BLOCKS} blocks of 8 KiB"),
                    random.about(),
                    format!("fio: {}", blocks.settings()),
                ],
                cases: random_cases(),
                ours: Box::new(|_| {
                    let Recovered { elapsed, surveyed_in, applied_in, .. } =
                        random.recover(&session)?;
                    let rate = |took: Nanos| f64::from(RANDOM_BLOCKS) / took.as_secs_f64();
                    let read = rate(Nanos(surveyed_in.0 + applied_in.0));
                    Ok(Metrics::from([(BLOCKS, read), (BLOCKS_WHOLE, rate(elapsed))]))
                }),
                rival: Box::new(|turn| {
                    random.put_back()?;
                    let iops = figures(blocks.clone(), turn.seed)?.metrics()[metric::IOPS];
                    Ok(Metrics::from([(BLOCKS, iops), (BLOCKS_WHOLE, iops)]))
                }),
            },
        ],
    };
    run_race(race, setup)
}

/// The redo from front to end, once.
fn log_job(dense: &Crashed, setup: &Setup) -> FioJob {
    let file = dense.directory.join("redo01.log");
    let bytes = dense.redo.bytes / MIB * MIB;
    FioJob {
        depth: 8,
        batch: Batch::up_to(8),
        runtime: setup.plan.length,
        once: Some(bytes),
        is_timed: false,
        fixed_buffers: true,
        registered_files: true,
        ..FioJob::new(file, bytes, Pattern::Read, MIB as u32)
    }
}

/// As many blocks of the data file as are changed, at random, each once.
fn blocks_job(random: &Crashed, setup: &Setup) -> bench::Result<FioJob> {
    let file = data_file(&random.directory);
    let size = fs::metadata(&file).map_err(told)?.len();
    Ok(FioJob {
        depth: DEPTH,
        batch: Batch { reap_min: DEPTH.div_ceil(4), ..Batch::up_to(DEPTH) },
        runtime: setup.plan.length,
        once: Some(u64::from(RANDOM_BLOCKS) * 8_192),
        is_timed: false,
        fixed_buffers: true,
        registered_files: true,
        ..FioJob::new(file, size, Pattern::RandRead, 8_192)
    })
}

fn case(name: &str, metric: &'static str, unit: &'static str, goal: Option<f64>) -> Case {
    Case { name: name.into(), metric, unit, higher_is_better: true, goal }
}

fn dense_cases() -> Vec<Case> {
    vec![
        case("dense redo, with the writing of blocks", WHOLE, "MB/s", Some(DENSE_GOAL)),
        case("dense redo, read and applied", REDO, "MB/s", None),
        case("dense redo, against a copy in memory", BESIDE_MEMORY, "MB/s", None),
    ]
}

fn random_cases() -> Vec<Case> {
    vec![
        case("random redo, blocks recovered", BLOCKS, "1/s", Some(RANDOM_GOAL)),
        case("random redo, with the writing of blocks", BLOCKS_WHOLE, "1/s", None),
    ]
}

/// Memory to copy to and fro: what a machine can do with bytes at most.
struct Memory {
    from: Vec<u8>,
    to: RefCell<Vec<u8>>,
}

impl Memory {
    fn new() -> Memory {
        // Every page is written, so that none of them is the kernel's one page of zeros.
        Memory { from: vec![1; COPIED_BYTES], to: RefCell::new(vec![2; COPIED_BYTES]) }
    }

    /// Copies so many bytes; megabytes a second.
    fn mb_per_s(&self, bytes: u64) -> f64 {
        let (mut to, mut copied) = (self.to.borrow_mut(), 0);
        let began = Instant::now();
        while copied < bytes {
            to.copy_from_slice(black_box(&self.from));
            let _ = black_box(&to);
            copied += COPIED_BYTES as u64;
        }
        copied as f64 / 1e6 / began.elapsed().as_secs_f64()
    }
}

/// A database as a crash left it.
struct Crashed {
    directory: PathBuf,
    saved: PathBuf,
    parameters: Parameters,
    redo: Redo,
}

/// What there is to do again.
#[derive(Default)]
struct Redo {
    bytes: u64,
    words: String,
}

impl Crashed {
    fn make(directory: PathBuf, work: &Work, session: &Session) -> bench::Result<Crashed> {
        let disk = os::linux::disk();
        let creation = Creation {
            data_bytes: DATA_BYTES,
            log_file_bytes: LOG_BYTES,
            log_groups: 2,
            extent_blocks: 128,
            ..Creation::default()
        };
        let parameters = Parameters {
            db_cache_size: CACHE_BYTES,
            redo_write: Some(DurableWrite::DirectThenSync),
            ..Parameters::default()
        };
        let options = Options { creation, parameters, ..Options::default() };
        let database = Database::create_in(&disk, &directory, &options, session).map_err(told)?;
        let rows = load(&mut database.connect_with(session), work).map_err(told)?;
        // Its checkpoint is in the control file: what is done again is the changes alone.
        database.shutdown_by(session).map_err(told)?;
        let database = Database::open_in(&disk, &directory, &options, session).map_err(told)?;
        let changed = change(&mut database.connect_with(session), work, &rows);
        database.abort_by(session);
        changed.map_err(told)?;
        let saved = directory.with_extension("saved");
        fs::create_dir(&saved).map_err(told)?;
        let (parameters, redo) = (options.parameters, Redo::default());
        let mut crashed = Crashed { directory, saved, parameters, redo };
        crashed.copy(&crashed.directory, &crashed.saved)?;
        crashed.redo = crashed.look(session)?;
        Ok(crashed)
    }

    /// Everything but the redo, which recovery only reads.
    fn copy(&self, from: &Path, to: &Path) -> bench::Result<()> {
        for entry in fs::read_dir(from).map_err(told)? {
            let name = entry.map_err(told)?.file_name();
            if name.to_string_lossy().starts_with("redo") {
                continue;
            }
            fs::copy(from.join(&name), to.join(&name)).map_err(told)?;
            let file = fs::File::open(to.join(&name)).map_err(told)?;
            file.sync_all().map_err(told)?;
        }
        Ok(())
    }

    fn put_back(&self) -> bench::Result<()> {
        self.copy(&self.saved, &self.directory)
    }

    fn about(&self) -> String {
        format!("ours: {}", self.redo.words)
    }

    /// Recovers once, to see what there is to do.
    fn look(&self, session: &Session) -> bench::Result<Redo> {
        let Recovered { records, bytes, applied, brought, .. } = self.recover(session)?;
        let words = format!(
            "{} MB of redo, {records} records, {applied} changes; {brought} blocks are read, each \
             once",
            bytes / 1_000_000
        );
        Ok(Redo { bytes, words })
    }

    fn recover(&self, session: &Session) -> bench::Result<Recovered> {
        self.put_back()?;
        let disk = os::linux::disk();
        let recovered =
            recover_database(&disk, &self.directory, &self.parameters, &|_| (), session);
        recovered.map_err(told)
    }
}

/// Nobody waits for these commits.
const QUICK: CommitMode = CommitMode { wait: CommitWait::Nowait, logging: CommitLogging::Batch };

/// A table, and what is done to its rows.
struct Work {
    rows: u32,
    filler_bytes: usize,
    /// Which rows are changed, by their keys, in this order.
    pick: fn(&[RowAddress]) -> Vec<usize>,
    /// Whether the number and the filler get bytes at random, or the number gets one more.
    changes_all: bool,
}

const DENSE: Work =
    Work { rows: DENSE_ROWS, filler_bytes: 80, pick: pick_densely, changes_all: true };

const RANDOM: Work = Work {
    rows: RANDOM_BLOCKS * ROWS_A_BLOCK,
    filler_bytes: 2_242,
    pick: pick_randomly,
    changes_all: false,
};

/// Makes the table, with its rows; where each of them is.
fn load(connection: &mut Connection<'_>, work: &Work) -> Result<Vec<RowAddress>, Stop> {
    let spec = TableSpec::new(TABLE)
        .column(ColumnSpec::new("id", Type::BigInt))
        .column(ColumnSpec::new("number", Type::BigInt).not_null())
        .column(ColumnSpec::new("filler", Type::Bytea))
        .primary_key(["id"]);
    let table = connection.create_table(&spec)?;
    let (filler, mut addresses) = (vec![0; work.filler_bytes], Vec::new());
    while addresses.len() < work.rows as usize {
        let mut tx = connection.begin();
        for _ in 0..LOAD_BATCH.min(work.rows as usize - addresses.len()) {
            let id = Value::Int(addresses.len() as i64);
            let values = [id, Value::Int(0), Value::Bytes(&filler)];
            addresses.push(tx.insert(&table, &values)?);
        }
        tx.commit_with(QUICK)?;
    }
    Ok(addresses)
}

/// Changes the rows that are picked, and makes all of it durable.
fn change(connection: &mut Connection<'_>, work: &Work, rows: &[RowAddress]) -> Result<(), Stop> {
    let table = connection.table(TABLE)?;
    let picked = (work.pick)(rows);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(2);
    let mut filler = vec![0; work.filler_bytes];
    let mut batches = picked.chunks(LOAD_BATCH).peekable();
    while let Some(batch) = batches.next() {
        let mut tx = connection.begin();
        for row in batch {
            filler.fill(random.random::<u8>() | 1);
            let number = random.random();
            let found = tx.update(&table, &[Value::Int(*row as i64)], |old, change| {
                if work.changes_all {
                    change.set(2, Value::Bytes(&filler))?;
                    return change.set(1, Value::Int(number));
                }
                let number = old.get_i64(1).expect("no number is NULL");
                change.set(1, Value::Int(number + 1))
            })?;
            assert!(found, "every row was loaded");
        }
        // What the last one waits for is all of it.
        tx.commit_with(if batches.peek().is_some() { QUICK } else { CommitMode::DURABLE })?;
    }
    Ok(())
}

fn pick_densely(rows: &[RowAddress]) -> Vec<usize> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    (0..DENSE_CHANGES).map(|_| random.random_range(0..rows.len())).collect()
}

/// The first row of each block.
fn pick_randomly(rows: &[RowAddress]) -> Vec<usize> {
    let mut picked: Vec<usize> = (0..rows.len()).filter(|row| rows[*row].slot == 0).collect();
    picked.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(1));
    assert!(picked.len() >= RANDOM_BLOCKS as usize, "rows fill blocks");
    picked.truncate(RANDOM_BLOCKS as usize);
    picked
}

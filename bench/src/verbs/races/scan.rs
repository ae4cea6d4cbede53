//! Race `scan`: full scans of a table around the cache, against fio's sequential reads.
//!
//! Its terms are stated below. In each pair all block sizes run on both sides, in an order that
//! changes with the pair; so what drifts hits all of them. Beside the goal for each size there is
//! one for their spread: the slowest size of ours against its fastest, over the same pairs.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bench::Scratch;
use bench::fio::{Batch, Fio, FioJob, Pattern};
use bench::race::{Case, CaseResult, Metrics, Race, Samples, Terms, Workload, metric};
use database::{
    ColumnSpec, Creation, Database, Options, Parameters, Table, TableSpec, Type, Value,
};
use ids::BlockSize;
use os::Session;
use os::probe::DurableWrite;
use stop::Stop;
use waits::SessionKind;

use super::{Run, Setup, run_and_derive, told};

const TERMS: Terms = Terms {
    compared: "Ours scans a table of 100-byte rows with a cache of an eighth of the table, so it \
               reads around the cache (direct path read), checks each block and adds up a column \
               of every row, in a database of each block size. fio reads the same data file from \
               front to end, a MiB at a time. Bytes a second are compared.",
    rival: "fio keeps a ring of eight reads with batches, registered buffers and a registered \
            file, into huge pages as ours, and takes no times.",
    timed: "Each side reads the same file again and again for the same time, ours only whole \
            scans. Whichever side comes second finds the file as warm in the host as the first, \
            for both read all of it in every run.",
    favours: "fio looks at none of the bytes that it reads: that favours fio.",
};

const TABLE_BYTES: u64 = 256 << 20;
const CACHE_BYTES: u64 = 32 << 20;
/// What makes a row 100 bytes long, with its number.
const FILLER: [u8; 89] = [0; 89];
const LOAD_BATCH: u64 = 2_000;
const DEPTH: u32 = 8;
/// Bytes a second of fio's to reach.
const GOAL: f64 = 0.97;
/// The slowest block size of ours is to reach so much of the fastest.
const SPREAD_GOAL: f64 = 0.98;

const SIZES: [(BlockSize, &str, &str); 4] = [
    (BlockSize::KIB_2, "blocks of 2 KiB", "mb_per_s_2k"),
    (BlockSize::KIB_4, "blocks of 4 KiB", "mb_per_s_4k"),
    (BlockSize::KIB_8, "blocks of 8 KiB", "mb_per_s_8k"),
    (BlockSize::KIB_16, "blocks of 16 KiB", "mb_per_s_16k"),
];

pub(crate) fn run(setup: &Setup) -> Run {
    let fio = Fio::find()?;
    let scratch = Scratch::create(&setup.directory)?;
    let os = os::linux::start();
    let session = os.adopt("race", SessionKind::Foreground);
    let mut tables = Vec::new();
    for (size, name, _) in SIZES {
        eprintln!("race scan: a table in {name}");
        let directory = scratch.path().join(format!("{}", size.bytes()));
        tables.push(Scanned::make(directory, size, &session).map_err(told)?);
    }
    let job = FioJob {
        depth: DEPTH,
        batch: Batch::up_to(DEPTH),
        runtime: setup.plan.length,
        is_timed: false,
        fixed_buffers: true,
        registered_files: true,
        ..FioJob::new(tables[0].data_file(), TABLE_BYTES, Pattern::Read, 1 << 20)
    };
    let workload = Workload {
        name: "full scans".into(),
        settings: vec![
            format!(
                "ours: cache of {} MiB, rows of 100 bytes, a column added up",
                CACHE_BYTES >> 20
            ),
            format!("fio: {}", job.settings()),
        ],
        cases: SIZES.iter().map(|(_, name, metric)| case(name, metric)).collect(),
        ours: Box::new(|turn| {
            each_in_turn(turn.pair, |place| {
                tables[place].scan_for(setup.plan.length, &session).map_err(told)
            })
        }),
        rival: Box::new(|turn| {
            each_in_turn(turn.pair, |place| {
                let (file, seed) = (tables[place].data_file(), turn.seed as u32);
                let figures = fio.run(&FioJob { file, seed, ..job.clone() }, &scratch)?.metrics();
                Ok(figures[metric::MB_PER_S])
            })
        }),
    };
    let race = Race {
        name: "scan".into(),
        description: "full scans around the cache, against fio's sequential reads".into(),
        terms: TERMS,
        settings: vec![
            format!("fio: {}", fio.version()),
            format!("a table of {} MiB in a data file of each block size", TABLE_BYTES >> 20),
            format!("file system: {}", bench::machine::file_system(scratch.path())),
        ],
        workloads: vec![workload],
    };
    let seed = setup.plan.seed;
    let outcome = run_and_derive(race, setup, &|ran| Ok(vec![spread(&ran[0], seed)]));
    for table in tables {
        table.database.shutdown_by(&session).map_err(told)?;
    }
    outcome
}

fn case(name: &str, metric: &'static str) -> Case {
    let name = format!("scan, {name}");
    Case { name, metric, unit: "MB/s", higher_is_better: true, goal: Some(GOAL) }
}

/// The figure of each block size, one after the other, beginning with another one in each pair.
fn each_in_turn(
    pair: u32,
    mut measure: impl FnMut(usize) -> bench::Result<f64>,
) -> bench::Result<Metrics> {
    let mut metrics = Metrics::new();
    for step in 0..SIZES.len() {
        let place = (pair as usize / 2 + step) % SIZES.len();
        metrics.insert(SIZES[place].2, measure(place)?);
    }
    Ok(metrics)
}

/// The slowest block size of ours against the fastest. Where noise allows no answer the interval
/// holds the goal, and the case is undecided.
fn spread(samples: &Samples, seed: u64) -> CaseResult {
    let figures =
        |metric: &str| -> Vec<f64> { samples.ours.iter().map(|run| run[metric]).collect() };
    let couples = SIZES.iter().flat_map(|slow| SIZES.iter().map(move |fast| (slow, fast)));
    let couples = couples.filter(|(slow, fast)| slow.2 != fast.2).map(|(slow, fast)| {
        let (ours, rival) = (figures(slow.2), figures(fast.2));
        let pairs: Vec<(f64, f64)> = ours.iter().copied().zip(rival.iter().copied()).collect();
        let interval = stats::interval_95(&pairs, seed);
        CaseResult {
            case: Case {
                name: format!("spread: {} against {}", slow.1, fast.1),
                metric: slow.2,
                unit: "MB/s",
                higher_is_better: true,
                goal: Some(SPREAD_GOAL),
            },
            ours: stats::median(&ours),
            rival: stats::median(&rival),
            ratio: stats::geometric_mean(&pairs),
            interval,
            verdict: Some(stats::Verdict::of(interval, SPREAD_GOAL)),
        }
    });
    let least = couples.min_by(|a, b| a.ratio.total_cmp(&b.ratio));
    least.expect("there are several block sizes")
}

/// An open database with a table.
struct Scanned {
    directory: PathBuf,
    database: Database,
    table: Table,
    /// Of its blocks.
    bytes: u64,
    sum: i64,
}

impl Scanned {
    fn make(directory: PathBuf, size: BlockSize, session: &Session) -> Result<Scanned, Stop> {
        let disk = os::linux::disk();
        let block = size.bytes() as u64;
        let creation = Creation {
            db_block_size: size,
            data_bytes: TABLE_BYTES + (192 << 20),
            // Few enough for the header of a segment in small blocks.
            extent_blocks: (4 << 20) / block as u32,
            doublewrite_slots: 2_048,
            ..Creation::default()
        };
        let parameters = Parameters {
            db_cache_size: CACHE_BYTES,
            redo_write: Some(DurableWrite::DirectThenSync),
            ..Parameters::default()
        };
        let options = Options { creation, parameters, ..Options::default() };
        let database = Database::create_in(&disk, &directory, &options, session)?;
        let spec = TableSpec::new("scanned")
            .column(ColumnSpec::new("number", Type::BigInt))
            .column(ColumnSpec::new("filler", Type::Bytea));
        let mut connection = database.connect_with(session);
        let table = connection.create_table(&spec)?;
        let (mut number, mut sum) = (0, 0);
        // As many as fit: a block has a head, and a row has one.
        let rows = TABLE_BYTES / block * ((block - 64) / 112);
        while number < rows {
            let mut tx = connection.begin();
            for _ in 0..LOAD_BATCH {
                tx.insert(&table, &[Value::Int(number as i64), Value::Bytes(&FILLER)])?;
                sum += number as i64;
                number += 1;
            }
            tx.commit()?;
        }
        drop(connection);
        let bytes = table_bytes(&database, &table, block, session)?;
        Ok(Scanned { directory, database, table, bytes, sum })
    }

    fn data_file(&self) -> PathBuf {
        data_file(&self.directory)
    }

    /// Scans again and again for so long: megabytes a second.
    fn scan_for(&self, length: Duration, session: &Session) -> Result<f64, Stop> {
        let mut connection = self.database.connect_with(session);
        let (began, mut scans) = (Instant::now(), 0_u64);
        while began.elapsed() < length {
            let mut sum = 0;
            connection.scan(&self.table, |row| sum += row.get_i64(0).unwrap_or(0))?;
            assert_eq!(sum, self.sum, "a scan reads every row once");
            scans += 1;
        }
        Ok((scans * self.bytes) as f64 / 1e6 / began.elapsed().as_secs_f64())
    }
}

/// Bytes of the blocks that the table has in use.
fn table_bytes(
    database: &Database,
    table: &Table,
    block: u64,
    session: &Session,
) -> Result<u64, Stop> {
    let relation = database.catalog().relation(table.name(), session)?;
    let runs = relation.heap().runs(session)?;
    let blocks: u64 = runs.iter().map(|run| u64::from(run.count)).sum();
    Ok((blocks - 1) * block)
}

pub(super) fn data_file(directory: &Path) -> PathBuf {
    directory.join("data01.dbf")
}

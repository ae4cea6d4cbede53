//! Race `get`: a cached block read, against the fastest concurrent hash map.
//!
//! Its terms are stated below. The second workload is ours against ours: two threads over the same
//! blocks against one. The third is the same with pure computing: so much two threads are worth on
//! this machine just now, and no more can be asked of gets.

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use bench::race::{Case, Metrics, Race, Terms, Workload};
use cache::{Cache, CacheConfig, DataFile, RedoGate};
use format::{BlockHeader, BlockKind};
use ids::{Dba, FileNo, Rba, Scn};
use latch::FrameOrder;
use os::{FileOptions, IoBuf, Os, Session, ThreadSpec};
use stop::{Halt, Stop};
use waits::SessionKind;

use super::{Run, Setup, run_race, told};

const TERMS: Terms = Terms {
    compared: "Ours does what a session does for a block that is in the cache: it pins the block \
               and takes its latch shared, in one step, reads eight bytes, and lets go. The rival \
               looks up a block of the same size by the same address in a concurrent hash map and \
               reads eight bytes. The time of a read is compared.",
    rival: "The map is the fastest that we know to read: scc's HashIndex with the hash of rustc, \
            which reads without a lock (papaya, dashmap and a standard map under its lock took up \
            to twice its time). Its blocks lie in huge pages, as ours do.",
    timed: "Both go over the same blocks in turn, two million times a run, in one thread; the \
            blocks don't fit into the processor's inner caches.",
    favours: "The map has no replacement, no latch of a block, no waits and no statistics: that \
              favours the map.",
};

/// Ours may take twice the time of the map.
const GOAL: f64 = 0.5;
/// Two threads of ours are to do so many times what one does.
const SCALING_GOAL: f64 = 1.9;
const BLOCKS: u32 = 1_024;
const ROUNDS: u32 = 2_000;
const NS: &str = "ns_per_get";
const RATE: &str = "gets_per_second";
const STEPS: &str = "steps_per_second";

pub(crate) fn run(setup: &Setup) -> Run {
    let os = os::linux::start();
    let session = os.adopt("race", SessionKind::Foreground);
    let cache = cache(&os, &setup.directory, &session).map_err(told)?;
    let mut memory = IoBuf::zeroed(BLOCKS as usize * block_bytes());
    memory.fill(1);
    let map = map(&memory);
    let gets = u64::from(BLOCKS) * u64::from(ROUNDS);
    let case = |name: &str, metric, unit, higher_is_better, goal| {
        vec![Case { name: name.into(), metric, unit, higher_is_better, goal }]
    };
    let ours = |cache: &Arc<Cache>| -> Result<f64, Stop> {
        let began = Instant::now();
        let _ = black_box(get_all(cache, &session)?);
        Ok(began.elapsed().as_secs_f64() * 1e9 / gets as f64)
    };
    let gets_of = |threads| {
        let cache = Arc::clone(&cache);
        // A block that can't be read ends the thread with the reason.
        let work =
            move |session: &Session| get_all(&cache, session).expect("the blocks are in the cache");
        Ok(Metrics::from([(RATE, rate(threads, work, &session)?)]))
    };
    let steps_of = |threads| Ok(Metrics::from([(STEPS, rate(threads, |_| compute(), &session)?)]));
    let race = Race {
        name: "get".into(),
        description: "a cached block read, against the fastest concurrent hash map".into(),
        terms: TERMS,
        settings: vec![format!(
            "{BLOCKS} blocks of {} bytes, {ROUNDS} rounds a run",
            block_bytes()
        )],
        workloads: vec![
            Workload {
                name: "one thread".into(),
                settings: vec![format!("rival: {MAP}")],
                cases: case("a get", NS, "ns", false, Some(GOAL)),
                ours: Box::new(|_| Ok(Metrics::from([(NS, ours(&cache).map_err(told)?)]))),
                rival: Box::new(|_| {
                    let began = Instant::now();
                    let _ = black_box(look_up_all(&map));
                    let ns = began.elapsed().as_secs_f64() * 1e9 / gets as f64;
                    Ok(Metrics::from([(NS, ns)]))
                }),
            },
            Workload {
                name: "two threads against one".into(),
                settings: vec!["rival: the same with one thread".into()],
                cases: case("gets a second", RATE, "/s", true, Some(SCALING_GOAL)),
                ours: Box::new(|_| gets_of(2)),
                rival: Box::new(|_| gets_of(1)),
            },
            Workload {
                name: "two threads of computing against one".into(),
                settings: vec!["rival: the same with one thread".into()],
                cases: case("steps a second", STEPS, "/s", true, None),
                ours: Box::new(|_| steps_of(2)),
                rival: Box::new(|_| steps_of(1)),
            },
        ],
    };
    run_race(race, setup)
}

/// What so many threads do a second, of which each does one `work` of so many gets or steps.
fn rate(
    threads: u32,
    work: impl Fn(&Session) -> u64 + Clone + Send + 'static,
    session: &Session,
) -> bench::Result<f64> {
    let began = Instant::now();
    let mut running = Vec::new();
    for number in 0..threads {
        let work = work.clone();
        let body = move |session: &Session| {
            let _ = black_box(work(session));
        };
        running.push(
            session.spawn(ThreadSpec::foreground(format!("get{number}")), body).map_err(told)?,
        );
    }
    for thread in running {
        thread.join(session).map_err(|panicked| format!("a thread panicked: {panicked:?}"))?;
    }
    let done = f64::from(BLOCKS) * f64::from(ROUNDS) * f64::from(threads);
    Ok(done / began.elapsed().as_secs_f64())
}

/// As many steps as gets, of about the same length, that touch no memory.
fn compute() -> u64 {
    const MULTIPLICATIONS: u32 = 16;
    (0..BLOCKS * ROUNDS * MULTIPLICATIONS)
        .fold(1, |sum, number| black_box(sum).wrapping_mul(7) ^ u64::from(number))
}

fn get_all(cache: &Cache, session: &Session) -> Result<u64, Stop> {
    let mut sum = 0_u64;
    for round in 0..ROUNDS {
        for block in 0..BLOCKS {
            let block = cache.pin_shared(Dba::new(1, block), FrameOrder::Heap, session)?;
            sum = sum.wrapping_add(eight_bytes(&block, round));
        }
    }
    Ok(sum)
}

/// A map of blocks that lie in one piece of memory.
type Map<'b> = scc::HashIndex<u64, &'b [u8], rustc_hash::FxBuildHasher>;

const MAP: &str = "scc::HashIndex<u64, &[u8], rustc_hash::FxBuildHasher>, read by peek_with";

fn look_up_all(map: &Map<'_>) -> u64 {
    let mut sum = 0_u64;
    for round in 0..ROUNDS {
        for block in 0..BLOCKS {
            let address = Dba::new(1, block).pack();
            let read = map.peek_with(&address, |_, bytes| eight_bytes(bytes, round));
            sum = sum.wrapping_add(read.expect("it was put in"));
        }
    }
    sum
}

fn eight_bytes(block: &[u8], round: u32) -> u64 {
    let at = 64 + (round as usize % 64) * 8;
    block[at..at + 8].iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

fn map(memory: &[u8]) -> Map<'_> {
    let map = Map::with_hasher(rustc_hash::FxBuildHasher);
    for (number, block) in (0..BLOCKS).zip(memory.chunks(block_bytes())) {
        let put = map.insert_sync(Dba::new(1, number).pack(), block);
        assert!(put.is_ok(), "no block comes twice");
    }
    map
}

fn block_bytes() -> usize {
    CacheConfig::default().block_size.bytes()
}

/// Redo of which nothing is ever asked.
struct NoRedo;

impl RedoGate for NoRedo {
    fn position(&self, _: &Session) -> Rba {
        Rba::block(1, 1)
    }

    fn make_durable(&self, _: Scn, _: &Session) -> Result<(), Stop> {
        Ok(())
    }

    fn is_durable(&self, _: Scn, _: &Session) -> bool {
        true
    }
}

/// A cache with all the blocks in it; its files are gone already.
fn cache(os: &Os, directory: &Path, session: &Session) -> Result<Arc<Cache>, Stop> {
    let disk = os::linux::disk();
    let options = FileOptions { direct: false, write_through: false };
    let config = CacheConfig::default();
    let paths = ["get-data.tmp", "get-doublewrite.tmp"].map(|name| directory.join(name));
    let bytes = u64::from(BLOCKS) * config.block_size.bytes() as u64;
    let data = disk.create(&paths[0], bytes, options, session)?;
    let copies = disk.create(&paths[1], config.doublewrite_bytes(), options, session)?;
    for path in &paths {
        disk.remove(path, session)?;
    }
    let files = vec![DataFile::new(FileNo::new(1), data, config.block_size)];
    let (gate, halt) = (Arc::new(NoRedo), Halt::new(os));
    let cache = Cache::open(os, disk, files, copies, config, gate, halt, session)?;
    for block in 0..BLOCKS {
        let address = Dba::new(1, block);
        let pin = cache.pin_new(address, session)?;
        let mut guard = pin.exclusive(FrameOrder::Heap, session);
        guard.will_change();
        let bytes = guard.bytes_for_apply();
        *BlockHeader::of_mut(bytes) = BlockHeader::new(BlockKind::Scratch, address);
        bytes[64..1_024].fill(1);
    }
    Ok(cache)
}

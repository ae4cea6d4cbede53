//! Race `get`: a cached block read, against a hash map under a shared lock.
//!
//! Ours is what a session does for a block that is in the cache: pin it and take its latch shared,
//! in one step, read eight bytes, let go. The rival is what one would write in its place without
//! replacement, changes or waits: the standard library's hash map from address to block, under its
//! reader-writer lock, and eight bytes read. Both go over the same blocks in turn, which don't fit
//! into the processor's inner caches.
//!
//! The second workload is ours against ours: two threads over the same blocks against one. The
//! third is the same with pure computing: so much two threads are worth on this machine just now,
//! and no more can be asked of gets.

use std::collections::HashMap;
use std::hint::black_box;
use std::path::Path;
use std::sync::{Arc, RwLock};
use std::time::Instant;

use bench::race::{Case, Metrics, Outcome, Race, Workload};
use cache::{Cache, CacheConfig, DataFile, RedoGate};
use format::{BlockHeader, BlockKind};
use ids::{Dba, FileNo, Rba, Scn};
use latch::FrameOrder;
use os::{FileOptions, Os, Session, ThreadSpec};
use stop::{Halt, Stop};
use waits::SessionKind;

use super::{Setup, run_race, told};

const BLOCKS: u32 = 1_024;
const ROUNDS: u32 = 2_000;
const NS: &str = "ns_per_get";
const RATE: &str = "gets_per_second";
const STEPS: &str = "steps_per_second";

pub(crate) fn run(setup: &Setup) -> bench::Result<Outcome> {
    let os = os::linux::start();
    let session = os.adopt("race", SessionKind::Foreground);
    let cache = cache(&os, &setup.directory, &session).map_err(told)?;
    let map = map();
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
    let block_bytes = CacheConfig::default().block_size.bytes();
    let race = Race {
        name: "get".into(),
        description: "a cached block read, against a hash map under a shared lock".into(),
        settings: vec![format!("{BLOCKS} blocks of {block_bytes} bytes, {ROUNDS} rounds a run")],
        workloads: vec![
            Workload {
                name: "one thread".into(),
                settings: vec!["rival: std HashMap<u64, Box<[u8]>> under std RwLock".into()],
                cases: case("a get", NS, "ns", false, Some(1.0 / 2.5)),
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
                cases: case("gets a second", RATE, "/s", true, Some(1.8)),
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

type Map = RwLock<HashMap<u64, Box<[u8]>>>;

fn look_up_all(map: &Map) -> u64 {
    let mut sum = 0_u64;
    for round in 0..ROUNDS {
        for block in 0..BLOCKS {
            let map = map.read().expect("nobody panics under it");
            let bytes = map.get(&Dba::new(1, block).pack()).expect("it was put in");
            sum = sum.wrapping_add(eight_bytes(bytes, round));
        }
    }
    sum
}

fn eight_bytes(block: &[u8], round: u32) -> u64 {
    let at = 64 + (round as usize % 64) * 8;
    block[at..at + 8].iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

fn map() -> Map {
    let block = || vec![1_u8; CacheConfig::default().block_size.bytes()].into_boxed_slice();
    RwLock::new((0..BLOCKS).map(|number| (Dba::new(1, number).pack(), block())).collect())
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
        let pin = cache.pin(address, session)?;
        let mut guard = pin.exclusive(FrameOrder::Heap, session);
        guard.will_change();
        let bytes = guard.bytes_for_apply();
        *BlockHeader::of_mut(bytes) = BlockHeader::new(BlockKind::Scratch, address);
        bytes[64..1_024].fill(1);
    }
    Ok(cache)
}

//! Power cuts: whatever a crash leaves of un-synced writes, no block is ahead of its redo, none is
//! behind the checkpoint, and none is left torn. And each precaution is worth having: without it
//! some crash is found that breaks one of these.
#![forbid(unsafe_code)]

mod common;

use std::path::Path;

use cache::doublewrite::{Restored, restore};
use cache::{CacheConfig, DataFile};
use common::{
    Bed, DATA, DOUBLEWRITE, FILE, LONG_DATA, LONG_FILE, LONG_SIZE, Log, SIZE, Toy, content, dba,
    disk, long, number, racy, small, versions, with_long,
};
use format::{BlockHeader, BlockKind};
use ids::{Dba, Scn};
use os::{FilesystemIo, Session};
use sim::Simulation;
use sim::fs::FileSystem;
use sim::fs::crash::CrashStates;
use stop::{Failpoint, Failpoints};
use testbed::Dice;
use waits::{Nanos, WaitEvent};

const BLOCKS: u64 = 24;
const STATES_PER_CRASH: u64 = 4;

/// Changes blocks until the power goes, or for long enough.
fn work(bed: &Bed, mut dice: Dice, session: &Session) {
    let files = 1 + bed.cache.config().pools.len() as u64;
    for _ in 0..40 {
        let (file, block) = (1 + dice.below(files) as u16, dice.below(BLOCKS) as u32);
        bed.change_at(Dba::new(file, block), session).expect("no fault");
    }
}

/// Moves the checkpoint on, and promises what the cache says.
fn checkpoints(bed: &Bed, session: &Session) {
    for _ in 0..30 {
        let position = number(bed.cache.checkpoint_position(session));
        {
            let mut log = bed.toy.log();
            assert!(position >= log.checkpoint, "the checkpoint goes back");
            log.checkpoint = position;
        }
        let ahead = cache::RedoGate::position(&bed.toy, session);
        bed.cache.request_checkpoint(ahead, session);
        session.pause(Nanos::from_micros(300), session.waiting(WaitEvent::RdbmsIpcMessage));
    }
}

/// Cuts the doublewrite file to so many regions for each writer.
fn keep_regions(fs: &mut FileSystem, config: &CacheConfig, regions: u64) {
    let file = fs.open(DOUBLEWRITE).expect("it exists");
    let bytes = config.doublewrite_bytes() / u64::from(CacheConfig::FLYING_MAX) * regions;
    fs.set_len(file, bytes).expect("it has more");
    fs.sync(file).expect("no fault");
    fs.close(file).expect("it is open");
}

/// Runs a load until the power is cut at a random moment; the disk as it was then, and the toy's
/// promises.
fn crash(seed: u64, failpoints: Failpoints, doublewrite: bool) -> (FileSystem, Log) {
    let mut dice = Dice(seed);
    let shape = if seed % 3 == 2 { with_long() } else { small() };
    let mut config = CacheConfig { failpoints, doublewrite, ..shape };
    config.working_sets = 1 + dice.below(2) as u32;
    config.writers = 1 + dice.below(2) as u32;
    config.batch_blocks = if config.pools.is_empty() { dice.one_of(&[2, 4]) } else { 4 };
    config.filesystem_io =
        dice.one_of(&[FilesystemIo::SetAll, FilesystemIo::SetAll, FilesystemIo::None]);
    let toy = Toy { flush: Nanos(dice.one_of(&[0, 50_000])), ..Toy::default() };
    let mut simulation = racy(seed, &config, BLOCKS as u32);
    keep_regions(&mut simulation.disks[0].content, &config, 1 + seed / 3 % 3);
    let made = simulation.disks[0].content.crash_points();
    simulation.disks[0].content.lose_power_at(made + 1 + dice.below(100));
    let outside = toy.clone();
    let report = simulation.run(move |world, session| {
        let bed = Bed::open(world, config, &toy, session);
        let ckpt = bed.session("fb_ckpt", session, checkpoints);
        let users = (0..3).map(|user| {
            let dice = Dice(seed << 8 | user);
            bed.session("user", session, move |bed, session| work(bed, dice, session))
        });
        for user in users.collect::<Vec<_>>() {
            user.join(session).expect("no panic");
        }
        ckpt.join(session).expect("no panic");
        bed.close(session);
    });
    // Whether the load is through by then doesn't matter.
    let _ = report.was_cut(format_args!("seed {seed}"));
    let log = outside.log().clone();
    (report.disks["disk"].clone(), log)
}

/// Mends torn blocks on this disk, perhaps until the power is cut again.
fn mend(fs: &FileSystem, log: &Log, cut_at: Option<u64>) -> (FileSystem, Option<Restored>) {
    let mut simulation = Simulation::new(1);
    simulation.disks[0].content = fs.clone();
    if let Some(point) = cut_at {
        simulation.disks[0].content.lose_power_at(fs.crash_points() + point);
    }
    let (from, through) = (Scn::new(log.checkpoint.saturating_sub(1)), Scn::new(log.durable));
    let mut report = simulation.run(move |world, session| {
        let options = FilesystemIo::SetAll.file_options();
        let open = |path| world.disk().open(Path::new(path), options, session).expect("it exists");
        let mut files = vec![DataFile::new(FILE, open(DATA), SIZE)];
        if let Ok(file) = world.disk().open(Path::new(LONG_DATA), options, session) {
            files.push(DataFile::new(LONG_FILE, file, LONG_SIZE));
        }
        restore(&files, &open(DOUBLEWRITE), from, through, session).expect("no fault")
    });
    let was_cut = report.was_cut("blocks are mended");
    assert!(!was_cut || cut_at.is_some(), "the power stays on");
    let disk = report.disks.remove("disk").expect("the machine has one disk");
    (disk, report.result.ok())
}

/// What is wrong with one state that the crash could have left.
fn violation(state: &FileSystem, log: &Log, dice: &mut Dice) -> Option<String> {
    let before = versions(state);
    let mut mended = state.clone();
    // Perhaps the power goes while blocks are mended, too.
    if dice.below(2) == 0 {
        let (cut, _) = mend(&mended, log, Some(1 + dice.below(3)));
        mended = CrashStates::of(&cut).sample(dice.below(u64::MAX));
    }
    let (mended, _) = mend(&mended, log, None);
    let newest_below_checkpoint = log.newest(log.checkpoint);
    for (address, version) in versions(&mended) {
        let Some(version) = version else {
            return Some(format!("{address} is torn, and has no copy"));
        };
        if before[&address].is_some_and(|whole| whole > 0 && whole != version) {
            return Some(format!("{address} was whole, and was overwritten"));
        }
        if version > log.durable {
            return Some(format!("{address} is at {version}, redo ends at {}", log.durable));
        }
        let least = newest_below_checkpoint.get(&address).copied().unwrap_or(0);
        if version < least {
            let checkpoint = log.checkpoint;
            return Some(format!("{address} is at {version}, the checkpoint is {checkpoint}"));
        }
    }
    None
}

/// The first violation in a sample of the states that a crash of this seed can leave.
fn first_violation(seed: u64, failpoints: Failpoints) -> Option<String> {
    let (fs, log) = crash(seed, failpoints, true);
    let states = CrashStates::of(&fs);
    let mut dice = Dice(!seed);
    (0..STATES_PER_CRASH).find_map(|sample| {
        let state = states.sample(seed << 8 | sample);
        let what = violation(&state, &log, &mut dice)?;
        Some(format!("seed {seed}, state {sample}: {what}"))
    })
}

#[test]
fn a_power_cut_leaves_no_block_torn_none_ahead_of_the_redo_none_behind_the_checkpoint() {
    for seed in 0..400 {
        assert_eq!(first_violation(seed, Failpoints::NONE), None);
    }
}

/// Without copies what is torn stays torn; but what is whole is neither ahead of the redo nor
/// behind the checkpoint.
#[test]
fn without_copies_no_whole_block_is_ahead_of_the_redo_or_behind_the_checkpoint() {
    let mut whole = 0;
    for seed in 0..300 {
        let (fs, log) = crash(seed, Failpoints::NONE, false);
        let state = CrashStates::of(&fs).sample(seed);
        let newest_below_checkpoint = log.newest(log.checkpoint);
        for (address, version) in versions(&state) {
            let Some(version) = version else { continue };
            let least = newest_below_checkpoint.get(&address).copied().unwrap_or(0);
            assert!(version <= log.durable, "seed {seed}: {address} is ahead of the redo");
            assert!(version >= least, "seed {seed}: {address} is behind the checkpoint");
            whole += u64::from(version > 0);
        }
    }
    assert!(whole > 1_000, "only {whole} blocks");
}

/// The first test isn't empty: crashes do tear blocks at home, and they are mended.
#[test]
fn torn_blocks_are_met_and_mended() {
    let mut restored = 0;
    for seed in 0..100 {
        let (fs, log) = crash(seed, Failpoints::NONE, true);
        let state = CrashStates::of(&fs).sample(seed);
        let torn = versions(&state).values().filter(|version| version.is_none()).count();
        let (_, mended) = mend(&state, &log, None);
        let mended = mended.expect("the power stays on");
        assert!(mended.restored.len() >= torn, "seed {seed}");
        restored += torn;
    }
    assert!(restored > 20, "only {restored} torn blocks");
}

/// Sealed, as it would be on disk.
fn sealed(address: Dba, number: u64) -> Vec<u8> {
    let mut block = content(address, number);
    format::seal(&mut block, address);
    block
}

/// Copies of blocks of several sizes lie side by side in any order, also where a longer block
/// begins in the middle of what was one; what is left of the middle of a block is no copy.
#[test]
fn copies_of_all_sizes_are_found_side_by_side() {
    let mut fs = disk(&with_long(), 8).content;
    let file = fs.open(DOUBLEWRITE).expect("it exists");
    let mut at = 0;
    let blocks = [(dba(1), 4), (long(2), 5), (dba(3), 6), (dba(4), 7), (long(5), 8)];
    for (address, number) in blocks {
        let block = sealed(address, number);
        fs.write(file, at, &block, true).expect("room");
        at += block.len() as u64;
    }
    // The rear of a longer block, and what is a block but not as long as those of its file.
    fs.write(file, at, &sealed(long(6), 9)[2048..], true).expect("room");
    let mut wrong = vec![0; 2048];
    *BlockHeader::of_mut(&mut wrong) = BlockHeader::new(BlockKind::Scratch, long(7));
    BlockHeader::of_mut(&mut wrong).stamp(Scn::new(9), 1);
    format::seal(&mut wrong, long(7));
    fs.write(file, at + 2048, &wrong, true).expect("room");
    fs.close(file).expect("it is open");
    for (path, bytes) in [(DATA, 8 * 2048), (LONG_DATA, 8 * 4096)] {
        let file = fs.open(path).expect("it exists");
        fs.write(file, 0, &vec![1; bytes], true).expect("room");
        fs.close(file).expect("it is open");
    }
    let log = Log { checkpoint: 3, durable: 10, ..Log::default() };
    let (mended, restored) = mend(&fs, &log, None);
    let restored = restored.expect("the power stays on").restored;
    assert_eq!(restored, [dba(1), dba(3), dba(4), long(2), long(5)]);
    let versions = versions(&mended);
    let found = blocks.map(|(address, _)| versions[&address]);
    assert_eq!(found, [4, 5, 6, 7, 8].map(Some));
}

/// Of several copies the newest counts that is newer than the checkpoint and whose redo is there; a
/// block that is whole at home stays as it is, and one without such a copy too.
#[test]
fn the_newest_copy_that_belongs_to_this_time_is_restored_where_home_is_broken() {
    let (torn, whole, zeros, old) = (dba(1), dba(2), dba(3), dba(4));
    let mut fs = disk(&small(), 8).content;
    let mut write = |path: &str, place: u64, block: &[u8]| {
        let file = fs.open(path).expect("it exists");
        fs.write(file, place * SIZE.bytes() as u64, block, true).expect("room");
        fs.close(file).expect("it is open");
    };
    let slots = [(torn, 3), (torn, 7), (torn, 5), (torn, 12), (whole, 8), (zeros, 6), (old, 2)];
    for ((address, number), slot) in slots.into_iter().zip(0..) {
        write(DOUBLEWRITE, slot, &sealed(address, number));
    }
    let mut half = sealed(torn, 7);
    half[1024..].copy_from_slice(&sealed(torn, 3)[1024..]);
    write(DATA, 1, &half);
    write(DATA, 2, &sealed(whole, 4));
    write(DATA, 4, &half);
    let log = Log { checkpoint: 3, durable: 10, ..Log::default() };
    let (mended, restored) = mend(&fs, &log, None);
    let restored = restored.expect("the power stays on");
    assert_eq!(restored, Restored { copies: 7, examined: 3, restored: vec![torn, zeros] });
    let versions = versions(&mended);
    let found = [torn, whole, zeros, old].map(|address| versions[&address]);
    assert_eq!(found, [Some(7), Some(4), Some(6), None]);
}

/// How many seeds until it is found.
fn found_after(failpoint: Failpoint, seeds: u64) -> u64 {
    let found =
        (0..seeds).find(|seed| first_violation(*seed, Failpoints::only(failpoint)).is_some());
    found.unwrap_or_else(|| panic!("{failpoint:?} isn't noticed in {seeds} seeds"))
}

#[test]
fn a_home_write_without_a_copy_is_noticed() {
    found_after(Failpoint::SkipDoublewriteWrite, 200);
}

#[test]
fn a_copy_without_a_sync_is_noticed() {
    found_after(Failpoint::SkipDoublewriteSync, 400);
}

#[test]
fn a_home_write_without_a_sync_is_noticed() {
    found_after(Failpoint::SkipDataSync, 200);
}

#[test]
fn a_block_written_before_its_redo_is_noticed() {
    found_after(Failpoint::IgnoreGate, 200);
}

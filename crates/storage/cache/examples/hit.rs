//! What a hit costs on this machine: a block that is in the cache is pinned, latched and let go by
//! one thread, in a loop over as many blocks as a busy index has.
//!
//! `cargo run --release -p cache --example hit [FOLDER]`; the folder gets two files for the time.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cache::{Cache, CacheConfig, DataFile, RedoGate};
use format::{BlockHeader, BlockKind};
use ids::{Dba, FileNo, Rba, Scn};
use latch::FrameOrder;
use os::{FileOptions, Session};
use stop::{Halt, Stop};
use waits::SessionKind;

const BLOCKS: u32 = 1_024;
const ROUNDS: u32 = 2_000;

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

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".into()));
    let os = os::linux::start();
    let session = os.adopt("hit", SessionKind::Foreground);
    let disk = os::linux::disk();
    let paths = ["hit-data.tmp", "hit-doublewrite.tmp"].map(|name| folder.join(name));
    let options = FileOptions { direct: false, write_through: false };
    let config = CacheConfig::default();
    let bytes = u64::from(BLOCKS) * config.block_size.bytes() as u64;
    let data = disk.create(&paths[0], bytes, options, &session)?;
    let copies = disk.create(&paths[1], config.doublewrite_bytes(), options, &session)?;
    let files = vec![DataFile::new(FileNo::new(1), data, config.block_size)];
    let (gate, halt) = (Arc::new(NoRedo), Halt::new(&os));
    let cache = Cache::open(&os, disk.clone(), files, copies, config, gate, halt, &session)?;
    let measured = measure(&cache, &session);
    remove(&disk, &paths, &session)?;
    Ok(measured?)
}

fn remove(disk: &os::Disk, paths: &[PathBuf], session: &Session) -> Result<(), os::Error> {
    paths.iter().try_for_each(|path| disk.remove(Path::new(path), session))
}

fn measure(cache: &Cache, session: &Session) -> Result<(), Stop> {
    for block in 0..BLOCKS {
        let (pin, address) = (cache.pin(Dba::new(1, block), session)?, Dba::new(1, block));
        let mut guard = pin.exclusive(FrameOrder::Heap, session);
        guard.will_change();
        let bytes = guard.bytes_for_apply();
        *BlockHeader::of_mut(bytes) = BlockHeader::new(BlockKind::Scratch, address);
    }
    let mut sum = 0;
    timed("pin, let go", session, |block| {
        sum += u64::from(cache.pin(Dba::new(1, block), session)?.address().block.get());
        Ok(())
    })?;
    timed("pin, shared latch, a byte, let go", session, |block| {
        let pin = cache.pin(Dba::new(1, block), session)?;
        sum += u64::from(pin.shared(FrameOrder::Heap, session)[100]);
        Ok(())
    })?;
    timed("both in one step, a byte, let go", session, |block| {
        let address = Dba::new(1, block);
        sum += u64::from(cache.pin_shared(address, FrameOrder::Heap, session)?[100]);
        Ok(())
    })?;
    timed("pin, exclusive latch, change of a dirty block, let go", session, |block| {
        let pin = cache.pin(Dba::new(1, block), session)?;
        let mut guard = pin.exclusive(FrameOrder::Heap, session);
        guard.will_change();
        guard.bytes_for_apply()[100..108].fill(block as u8);
        Ok(())
    })?;
    println!("(sum {sum})");
    Ok(())
}

fn timed(
    what: &str,
    session: &Session,
    mut step: impl FnMut(u32) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let started = session.now();
    for round in 0..ROUNDS {
        for block in 0..BLOCKS {
            step((block.wrapping_mul(389) + round) % BLOCKS)?;
        }
    }
    let took = session.now().since(started);
    println!("{what}: {:.1} ns", took.0 as f64 / f64::from(ROUNDS * BLOCKS));
    Ok(())
}

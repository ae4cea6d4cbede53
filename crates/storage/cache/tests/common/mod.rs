//! A toy engine around the cache: a redo that is a counter, and changes that stamp a block with it.
//!
//! Every change has the next number, which is its SCN and its redo address; a block's whole content
//! follows from its address and the number of its last change. What the toy has promised lives
//! outside the simulation, so that it can be held against what a power cut left.

#![allow(dead_code, reason = "each test file uses a part of it")]
#![expect(clippy::disallowed_types, reason = "the oracle lives outside the simulated world")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cache::{Cache, CacheConfig, DataFile, Pin, PoolSize, RedoGate};
use format::{BlockHeader, BlockKind};
use ids::{BlockSize, Dba, FileNo, Rba, Scn};
use latch::FrameOrder;
use os::{FilesystemIo, Session, ThreadHandle, ThreadSpec};
use sim::fs::FileSystem;
use sim::model::DiskParameters;
use sim::{DiskSpec, Perturbation, Simulation, World};
use stop::{Halt, Stop};
use testbed::Dice;
use waits::{Nanos, WaitEvent, WaitRecord, WaitSink};

pub(crate) const FILE: FileNo = FileNo::new(1);
pub(crate) const SIZE: BlockSize = BlockSize::KIB_2;
pub(crate) const DATA: &str = "/data";
/// Another file, of longer blocks, for caches with a pool for these.
pub(crate) const LONG_FILE: FileNo = FileNo::new(2);
pub(crate) const LONG_SIZE: BlockSize = BlockSize::KIB_4;
pub(crate) const LONG_DATA: &str = "/long";
pub(crate) const DOUBLEWRITE: &str = "/doublewrite";

pub(crate) fn dba(block: u32) -> Dba {
    Dba::new(FILE.get(), block)
}

/// A block of the file with longer blocks.
pub(crate) fn long(block: u32) -> Dba {
    Dba::new(LONG_FILE.get(), block)
}

/// How long the blocks of a file are.
pub(crate) fn size_of(file: FileNo) -> BlockSize {
    if file == FILE { SIZE } else { LONG_SIZE }
}

/// What the toy engine has done and promised.
#[derive(Clone, Default, Debug)]
pub(crate) struct Log {
    /// The block of each change; change `n` is at `n - 1`.
    pub(crate) changes: Vec<Dba>,
    /// Changes up to this one are durable in the redo.
    pub(crate) durable: u64,
    /// Changes below this one were said to be on disk.
    pub(crate) checkpoint: u64,
    /// How often the gate was asked to make redo durable.
    pub(crate) asked: u64,
}

impl Log {
    /// The last change of each block, of those below `end`.
    pub(crate) fn newest(&self, end: u64) -> BTreeMap<Dba, u64> {
        let below = self.changes.iter().zip(1..).take_while(|(_, number)| *number < end);
        below.map(|(dba, number)| (*dba, number)).collect()
    }
}

/// The toy redo. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Toy {
    pub(crate) log: Arc<Mutex<Log>>,
    /// Making redo durable takes so long.
    pub(crate) flush: Nanos,
    /// The position is told in steps of so many changes, as that of a redo of blocks is; 0 and 1:
    /// exactly.
    pub(crate) step: u64,
}

impl Toy {
    /// Held for a moment, never while the baton may pass.
    pub(crate) fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a change its number.
    fn append(&self, address: Dba, session: &Session) -> u64 {
        session.interleave();
        let mut log = self.log();
        log.changes.push(address);
        log.changes.len() as u64
    }
}

impl RedoGate for Toy {
    fn position(&self, session: &Session) -> Rba {
        session.interleave();
        let (ahead, step) = (self.log().changes.len() as u64, self.step.max(1));
        rba(ahead / step * step + 1)
    }

    fn make_durable(&self, through: Scn, session: &Session) -> Result<(), Stop> {
        latch::assert_none_held("a flush of the toy redo");
        self.log().asked += 1;
        if self.flush > Nanos::ZERO {
            session.pause(self.flush, session.waiting(WaitEvent::LogFileSync));
        }
        let mut log = self.log();
        log.durable = log.durable.max(through.get());
        Ok(())
    }

    fn is_durable(&self, through: Scn, session: &Session) -> bool {
        session.interleave();
        let mut log = self.log();
        if self.flush == Nanos::ZERO {
            log.durable = log.durable.max(through.get());
        }
        log.durable >= through.get()
    }
}

/// The address of change `number`.
pub(crate) fn rba(number: u64) -> Rba {
    Rba::block(1, u32::try_from(number).expect("a small test"))
}

pub(crate) fn number(rba: Rba) -> u64 {
    u64::from(rba.block)
}

/// What a block is after change `number`.
pub(crate) fn content(address: Dba, number: u64) -> Vec<u8> {
    let mut block = vec![0; size_of(address.file).bytes()];
    let mut header = BlockHeader::new(BlockKind::Scratch, address);
    header.stamp(Scn::new(number), 1);
    let mut dice = Dice(address.pack() << 32 | number);
    for word in block.chunks_mut(8) {
        word.copy_from_slice(&dice.below(u64::MAX).to_le_bytes());
    }
    *BlockHeader::of_mut(&mut block) = header;
    block
}

/// The number of the last change of this block, whose content must be that of it.
pub(crate) fn version(address: Dba, block: &[u8]) -> u64 {
    let mut block = block.to_vec();
    if block.iter().all(|byte| *byte == 0) {
        return 0;
    }
    let number = BlockHeader::of_mut(&mut block).changed().get();
    let expected = content(address, number);
    assert_eq!(block[4..], expected[4..], "block {address} isn't what change {number} made of it");
    number
}

/// A cache with its writers, and the toy redo.
#[derive(Clone)]
pub(crate) struct Bed {
    pub(crate) cache: Arc<Cache>,
    pub(crate) toy: Toy,
    pub(crate) halt: Halt,
    /// To look at the disk around the cache.
    data: Vec<DataFile>,
    writers: Arc<Vec<ThreadHandle>>,
}

impl Bed {
    pub(crate) fn open(world: &World, config: CacheConfig, toy: &Toy, session: &Session) -> Bed {
        let bed = Bed::without_writers(world, config, toy, session);
        bed.start_writers(session)
    }

    pub(crate) fn without_writers(
        world: &World,
        config: CacheConfig,
        toy: &Toy,
        session: &Session,
    ) -> Bed {
        let (disk, options) = (world.disk(), config.filesystem_io.file_options());
        let open = |path: &str| disk.open(Path::new(path), options, session).expect("it exists");
        let (mut data, doublewrite) =
            (vec![DataFile::new(FILE, open(DATA), SIZE)], open(DOUBLEWRITE));
        if !config.pools.is_empty() {
            data.push(DataFile::new(LONG_FILE, open(LONG_DATA), LONG_SIZE));
        }
        let halt = Halt::new(world.os());
        let (gate, files) = (Arc::new(toy.clone()), data.clone());
        let (os, halt_inside) = (world.os(), halt.clone());
        let cache =
            Cache::open(os, disk.clone(), files, doublewrite, config, gate, halt_inside, session);
        let cache = cache.expect("a sound configuration");
        Bed { cache, toy: toy.clone(), halt, data, writers: Arc::default() }
    }

    pub(crate) fn start_writers(mut self, session: &Session) -> Bed {
        let start = |number| self.start_writer(number, session);
        self.writers = Arc::new((0..self.cache.config().writers).map(start).collect());
        self
    }

    pub(crate) fn start_writer(&self, number: u32, session: &Session) -> ThreadHandle {
        self.cache.start_writer(number, session).expect("it has what it needs")
    }

    /// Ends the writers.
    pub(crate) fn close(&self, session: &Session) {
        self.cache.stop(session);
        for writer in self.writers.iter() {
            writer.join(session).expect("a writer ends in good order");
        }
    }

    /// A checkpoint up to now.
    pub(crate) fn checkpoint(&self, session: &Session) {
        let target = self.toy.position(session);
        self.cache.checkpoint(target, session).expect("no halt");
        assert!(self.cache.checkpoint_position(session) >= target);
    }

    /// Asks how far the checkpoint is; if it has come further than `seen`, looks whether every
    /// change below is written, indeed.
    pub(crate) fn check_checkpoint(&self, seen: u64, session: &Session) -> u64 {
        let position = number(self.cache.checkpoint_position(session));
        assert!(position >= seen, "the checkpoint goes back");
        if position == seen {
            return seen;
        }
        let newest = self.toy.log().newest(position);
        for DataFile { number, file, block_size: size, .. } in &self.data {
            let length = file.length().expect("it is open") as usize;
            let mut bytes = vec![0; length];
            let waiting = session.waiting(WaitEvent::DirectPathRead);
            file.read_at(0, &mut bytes, waiting).expect("no fault");
            for (address, least) in newest.iter().filter(|(address, _)| address.file == *number) {
                let offset = address.block.byte_offset(*size) as usize;
                let found = version(*address, &bytes[offset..][..size.bytes()]);
                assert!(found >= *least, "{address} is at {found}, {position} needs {least}");
            }
        }
        position
    }

    /// Starts a session.
    pub(crate) fn session(
        &self,
        name: &str,
        session: &Session,
        body: impl FnOnce(&Bed, &Session) + Send + 'static,
    ) -> ThreadHandle {
        let bed = self.clone();
        let spec = ThreadSpec::foreground(name);
        session.spawn(spec, move |session| body(&bed, session)).expect("a thread")
    }

    /// Changes a block once.
    pub(crate) fn change(&self, block: u32, session: &Session) -> Result<u64, Stop> {
        self.change_at(dba(block), session)
    }

    pub(crate) fn change_at(&self, address: Dba, session: &Session) -> Result<u64, Stop> {
        let pin = self.cache.pin_or_unwritten(address, session)?;
        Ok(self.change_pinned(&pin, session))
    }

    pub(crate) fn change_pinned(&self, pin: &Pin<'_>, session: &Session) -> u64 {
        let mut block = pin.exclusive(FrameOrder::Heap, session);
        let address = block.address();
        self.check_newest(address, &block);
        block.will_change();
        let number = self.toy.append(address, session);
        block.bytes_for_apply().copy_from_slice(&content(address, number));
        number
    }

    /// Reads a block, which must be as its last change left it.
    pub(crate) fn read(&self, block: u32, session: &Session) -> Result<u64, Stop> {
        self.read_at(dba(block), session)
    }

    pub(crate) fn read_at(&self, address: Dba, session: &Session) -> Result<u64, Stop> {
        let pin = self.cache.pin_or_unwritten(address, session)?;
        let block = pin.shared(FrameOrder::Heap, session);
        Ok(self.check_newest(pin.address(), &block))
    }

    /// The same, pinned and latched in one step.
    pub(crate) fn read_at_once(&self, address: Dba, session: &Session) -> Result<u64, Stop> {
        let block = self.cache.pin_shared(address, FrameOrder::Heap, session)?;
        Ok(self.check_newest(address, &block))
    }

    fn check_newest(&self, address: Dba, block: &[u8]) -> u64 {
        let version = version(address, block);
        let log = self.toy.log();
        let newest = log.changes.iter().rposition(|changed| *changed == address);
        assert_eq!(version, newest.map_or(0, |at| at as u64 + 1), "a lost change of {address}");
        version
    }
}

/// The waits of one session: events, their parameters and how long they took.
#[derive(Clone, Default)]
pub(crate) struct Seen(Arc<Mutex<Vec<WaitRecord>>>);

impl WaitSink for Seen {
    fn wait_ended(&mut self, wait: &WaitRecord) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.push(*wait);
    }
}

impl Seen {
    /// From now on, of this session.
    pub(crate) fn of(session: &Session) -> Seen {
        session.os().set_level(waits::Level::Trace);
        let seen = Seen::default();
        session.set_wait_sink(Some(Box::new(seen.clone())));
        seen
    }

    /// The parameters and lengths of waits for this event since the last call.
    pub(crate) fn take(&self, event: WaitEvent) -> Vec<([u64; 3], Nanos)> {
        let seen = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let these = seen.into_iter().filter(|wait| wait.event == event);
        these.map(|wait| (wait.p, wait.elapsed)).collect()
    }
}

/// A small cache: 16 frames of 2 KiB, one set, one writer, batches of four.
pub(crate) fn small() -> CacheConfig {
    CacheConfig {
        block_size: SIZE,
        frames: 16,
        working_sets: 1,
        writers: 1,
        writers_max: 3,
        batch_blocks: 4,
        ring_depth: 4,
        filesystem_io: FilesystemIo::SetAll,
        ..CacheConfig::default()
    }
}

/// The same with 8 frames for longer blocks; a batch has room for two of these.
pub(crate) fn with_long() -> CacheConfig {
    CacheConfig { pools: vec![PoolSize { block_size: LONG_SIZE, frames: 8 }], ..small() }
}

/// A disk with the files, written as zeros and durable.
pub(crate) fn disk(config: &CacheConfig, blocks: u32) -> DiskSpec {
    let mut disk =
        DiskSpec::empty("disk", DiskParameters::builtin("fixed").expect("a built-in disk"));
    let bytes = |size: BlockSize| u64::from(blocks) * size.bytes() as u64;
    let mut sizes = vec![(DATA, bytes(SIZE)), (DOUBLEWRITE, config.doublewrite_bytes())];
    if !config.pools.is_empty() {
        sizes.push((LONG_DATA, bytes(LONG_SIZE)));
    }
    for (path, bytes) in sizes {
        let file = disk.content.create(path).expect("room");
        disk.content.set_len(file, bytes).expect("room");
        disk.content.sync(file).expect("no fault");
        disk.content.close(file).expect("it is open");
    }
    disk.content.sync_dir("/").expect("no fault");
    disk
}

/// A simulation that looks for races, with these files.
pub(crate) fn racy(seed: u64, config: &CacheConfig, blocks: u32) -> Simulation {
    let mut simulation = Simulation::new(seed);
    simulation.perturbation = Perturbation::RACES;
    simulation.disks = vec![disk(config, blocks)];
    simulation
}

/// The same, in which sessions are kept from running for longer.
pub(crate) fn slow(seed: u64, config: &CacheConfig, blocks: u32) -> Simulation {
    let mut simulation = racy(seed, config, blocks);
    simulation.perturbation.delay_ns_max = 2_000_000;
    simulation
}

/// The blocks of the data files as they are on this disk.
pub(crate) fn home_blocks(fs: &FileSystem) -> Vec<(Dba, Vec<u8>)> {
    let mut fs = fs.clone();
    let mut all = Vec::new();
    for (path, number) in [(DATA, FILE), (LONG_DATA, LONG_FILE)] {
        let Ok(file) = fs.open(path) else { continue };
        let length = fs.len(file).expect("it is open");
        let mut bytes = vec![0; length as usize];
        fs.read(file, 0, &mut bytes).expect("no fault");
        let blocks = bytes.chunks(size_of(number).bytes()).zip(0..);
        all.extend(blocks.map(|(block, at)| (Dba::new(number.get(), at), block.to_vec())));
    }
    all
}

/// What is wrong with what a power cut has left, or what was left: for each block its version at
/// home. `None` for one that isn't whole.
pub(crate) fn versions(fs: &FileSystem) -> BTreeMap<Dba, Option<u64>> {
    let blocks = home_blocks(fs).into_iter();
    let version = |(address, block): (Dba, Vec<u8>)| {
        let unwritten = block.iter().all(|byte| *byte == 0);
        let whole = unwritten || format::check(&block, address).is_ok();
        (address, whole.then(|| version(address, &block)))
    };
    blocks.map(version).collect()
}

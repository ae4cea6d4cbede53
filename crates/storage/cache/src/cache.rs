//! The cache as a whole: its parts, how it is opened, and how it ends.
//!
//! Invariants
//!   * the set at place `s` of a pool belongs to writer `s % writers`, whose number may change
//!     (CB25)
//!   * whoever sleeps here looks at the halt under the latch of its condition before it does, and
//!     is woken when the halt is raised (rule stop/K3)
//!
//! Callers: the instance opens and stops it.

use std::fmt;
use std::sync::Arc;

use ids::{BlockSize, FileNo};
use latch::{Condition, Latch, LatchKind, ReaderCounts, Shared32, Shared64, SharedFlag, Signal};
use os::{Disk, File, Os, Session};
use stop::{Halt, RefusalKind, Stop};

use crate::ahead::Ahead;
use crate::chains::Chains;
use crate::files::{DataFile, Files};
use crate::frame::Frame;
use crate::pool::{Pool, SIZES, Stock};
use crate::versions::Versions;
use crate::victim::STAY;
use crate::working_set::WorkingSet;
use crate::{CacheConfig, PoolSize, RedoGate};

/// The buffer cache of one instance.
pub struct Cache {
    pub(crate) config: CacheConfig,
    pub(crate) files: Files,
    pub(crate) doublewrite: File,
    /// So many regions of it each writer has.
    doublewrite_regions: u64,
    pub(crate) disk: Disk,
    pub(crate) gate: Arc<dyn RedoGate>,
    pub(crate) halt: Halt,
    pub(crate) frames: Arc<[Frame]>,
    pub(crate) chains: Chains,
    pub(crate) ahead: Ahead,
    pub(crate) stock: Stock,
    pub(crate) pools: [Pool; SIZES],
    /// Those of all pools.
    pub(crate) sets: Box<[WorkingSet]>,
    pub(crate) reads: Box<[ReadShard]>,
    /// For as many writers as there may be.
    pub(crate) writers: Box<[Signal]>,
    /// So many there are to be.
    pub(crate) writer_count: Shared32,
    /// Blocks of one read of many; 0 to have it found out.
    pub(crate) multiblock_count: Shared32,
    /// For sessions, by thread: how far each has come in its way over a pool's sets. A hint.
    pub(crate) steps: Box<[Shared32]>,
    pub(crate) unpin_wanted: UnpinWanted,
    /// Up to here writers are to write, as a packed redo address.
    pub(crate) requested: Shared64,
    /// How many times writers have finished something.
    pub(crate) progress: Latch<u64>,
    /// Sessions wait here for that.
    pub(crate) progressed: Condition,
    pub(crate) stopping: SharedFlag,
}

/// Sessions that wait for reads of others, for one in so many frames. The latch guards the end of
/// the bits `READING` and `FAILED` in the frames of this shard.
pub(crate) struct ReadShard {
    pub(crate) latch: Latch<Faults>,
    pub(crate) ended: Condition,
}

/// Why reads failed, of the frames of one shard that are in state Failed.
#[derive(Default)]
pub(crate) struct Faults(Vec<(u32, Stop)>);

impl Faults {
    /// That of this frame.
    pub(crate) fn of(&self, frame: u32) -> Option<Stop> {
        let found = self.0.iter().find(|(failed, _)| *failed == frame);
        found.map(|(_, stop)| stop.clone())
    }

    /// Is there until the last session that waited has let go.
    pub(crate) fn leave(&mut self, frame: u32, fault: Option<Stop>) {
        self.0.extend(fault.map(|stop| (frame, stop)));
    }

    /// Nobody waits for it any more.
    pub(crate) fn forget(&mut self, frame: u32) {
        self.0.retain(|(failed, _)| *failed != frame);
    }
}

/// How many sessions wait for a frame that only a pin that goes can give them: the writers have
/// nothing to write for them. Raised before the last look at the pins, so that either the one who
/// waits sees that a pin is gone, or the one who lets it go sees that somebody waits. It is read
/// with each pin that goes, and so lies apart from what changes.
#[repr(align(64))]
pub(crate) struct UnpinWanted(pub(crate) Shared32);

/// Reads wait in so many places.
const READ_SHARDS: u32 = 64;
/// Sessions share so many hints.
const HINTS: u32 = 64;

impl Cache {
    /// A cache over these files, each with its block size, with nothing in it. Its writers are the
    /// caller's to start: each of `config.writers` with [`start_writer`](Cache::start_writer).
    ///
    /// # Panics
    /// When `config` is beyond the limits of [`CacheConfig`].
    #[expect(clippy::too_many_arguments, reason = "everything that a cache stands on, once")]
    pub fn open(
        os: &Os,
        disk: Disk,
        files: Vec<(FileNo, File, BlockSize)>,
        doublewrite: File,
        config: CacheConfig,
        gate: Arc<dyn RedoGate>,
        halt: Halt,
        session: &Session,
    ) -> Result<Arc<Cache>, Stop> {
        config.assert_sound();
        let doublewrite_regions = doublewrite_regions(&config, &doublewrite)?;
        let (sets, count) = (config.working_sets, config.frames_in_all());
        let shard = |_| ReadShard {
            latch: Latch::new(os, LatchKind::Innermost, Faults::default()),
            ended: Condition::new(os),
        };
        let counts = ReaderCounts::new(os, count);
        let frames: Arc<[Frame]> =
            (0..count).map(|number| Frame::absent(os, &counts, number)).collect();
        let set = |number| WorkingSet::new(os, number, &frames);
        let cache = Arc::new(Cache {
            files: Files::new(os),
            chains: Chains::new(os, &frames),
            ahead: Ahead::new(count),
            stock: Stock::new(os, count),
            pools: std::array::from_fn(|place| Pool::new(place, sets)),
            sets: (0..sets * SIZES as u32).map(set).collect(),
            reads: (0..READ_SHARDS.min(count)).map(shard).collect(),
            frames,
            writers: (0..config.writers_max).map(|_| Signal::new(os)).collect(),
            writer_count: Shared32::new(config.writers),
            multiblock_count: Shared32::new(config.multiblock_read_count),
            steps: (0..HINTS).map(|thread| Shared32::new(thread * STAY)).collect(),
            unpin_wanted: UnpinWanted(Shared32::new(0)),
            requested: Shared64::new(0),
            progress: Latch::new(os, LatchKind::Innermost, 0),
            progressed: Condition::new(os),
            stopping: SharedFlag::new(false),
            doublewrite,
            doublewrite_regions,
            disk,
            gate,
            halt,
            config,
        });
        cache.grow_pool(cache.config.block_size, cache.config.frames, session)?;
        for pool in &cache.config.pools {
            cache.grow_pool(pool.block_size, pool.frames, session)?;
        }
        for (number, file, block_size) in files {
            cache.add_file(number, file, block_size, session)?;
        }
        let weak = Arc::downgrade(&cache);
        cache.halt.on_raise(session, move |session| {
            if let Some(cache) = weak.upgrade() {
                cache.wake_everybody(session);
            }
        });
        Ok(cache)
    }

    /// One more data file, with blocks of this size. Refused if there are no buffers for these:
    /// [`grow_pool`](Cache::grow_pool) first.
    pub fn add_file(
        &self,
        number: FileNo,
        file: File,
        block_size: BlockSize,
        session: &Session,
    ) -> Result<(), Stop> {
        if self.buffers(block_size, session) == 0 {
            let message = format!(
                "cannot use file {number}, {}: the cache has no buffers for its blocks of \
                 {block_size}; give it some",
                file.path().display()
            );
            return Err(Stop::refuse(RefusalKind::Invalid, message));
        }
        let versions =
            || Arc::new(Latch::new(session.os(), LatchKind::Innermost, Versions::default()));
        let versions = self.config.lost_write_protect.then(versions);
        self.files.add(DataFile { number, file, block_size, versions }, session)
    }

    /// The data files, in the order of their numbers, each with its block size.
    pub fn data_files(&self, session: &Session) -> Vec<(FileNo, File, BlockSize)> {
        self.files.all(session)
    }

    /// The block size of the database; a file may have another.
    pub fn block_size(&self) -> BlockSize {
        self.config.block_size
    }

    /// The size of the blocks of this file, if the database has such a file.
    pub fn block_size_of(&self, file: FileNo, session: &Session) -> Option<BlockSize> {
        self.files.find(file, session).map(|file| file.block_size)
    }

    /// How it was opened.
    pub fn config(&self) -> &CacheConfig {
        &self.config
    }

    /// Ends the writers after what they are doing now; what is dirty then stays so. A shutdown in
    /// good order has made a [`checkpoint`](Cache::checkpoint) before. The threads are joined by
    /// who started them. No session uses the cache after this: one that needs a buffer would wait
    /// for a writer that isn't there, until the halt is raised.
    pub fn stop(&self, session: &Session) {
        self.stopping.raise(session);
        self.post_writers(session);
    }

    /// How many writers there are to be.
    pub fn writers(&self, session: &Session) -> u32 {
        self.writer_count.load(session)
    }

    /// From now on there are to be so many writers, 1 to `writers_max`: each set has another one
    /// at once. The caller then starts those that are new, each with
    /// [`start_writer`](Cache::start_writer), or joins those that end: a writer with a number that
    /// is too high ends by itself after what it is doing. It has joined a writer before it starts
    /// another one of the same number.
    ///
    /// # Panics
    /// When `count` is 0 or above `writers_max`.
    pub fn set_writers(&self, count: u32, session: &Session) {
        let most = self.config.writers_max;
        assert!((1..=most).contains(&count), "{count} writers with room for {most}");
        self.writer_count.store(count, session);
        self.post_writers(session);
    }

    /// Where the regions begin that this writer has of the doublewrite file.
    pub(crate) fn regions_of(&self, writer: u32) -> impl Iterator<Item = u64> {
        let (count, bytes) = (self.doublewrite_regions, self.config.region_bytes() as u64);
        let first = u64::from(writer) * count;
        (first..first + count).map(move |region| region * bytes)
    }

    /// Tells every writer that there is work.
    pub(crate) fn post_writers(&self, session: &Session) {
        for writer in &self.writers {
            writer.post(session);
        }
    }

    /// Tells the writer of this set that there is work.
    pub(crate) fn post_writer_of(&self, set: u32, session: &Session) {
        let (_, place) = self.pool_of_set(set);
        // CB25: should that writer go just now, who comes to wait posts all of them.
        let writer = place % self.writers(session);
        self.writers[writer as usize].post(session);
    }

    fn wake_everybody(&self, session: &Session) {
        self.post_writers(session);
        for set in &self.sets {
            let _state = set.state.exclusive(session);
            set.freed.notify_all(session);
        }
        let _progress = self.progress.exclusive(session);
        self.progressed.notify_all(session);
    }

    /// Where sessions wait for a read into this frame.
    pub(crate) fn read_shard(&self, frame: u32) -> &ReadShard {
        &self.reads[frame as usize % self.reads.len()]
    }
}

/// How many regions of the doublewrite file each writer has: as many as batches can be on their
/// way, if the file is as long.
fn doublewrite_regions(config: &CacheConfig, file: &File) -> Result<u64, Stop> {
    let (has, wants) = (file.length()?, config.doublewrite_bytes_min());
    if !config.doublewrite {
        return Ok(0);
    }
    if has >= wants {
        return Ok((has / wants).min(CacheConfig::FLYING_MAX.into()));
    }
    let (path, writers, batch) = (file.path().display(), config.writers_max, config.batch_blocks);
    let fewer = match writers {
        1 => "",
        _ => "db_working_sets, which is how many writers there can be, or ",
    };
    Err(Stop::refuse(
        RefusalKind::Invalid,
        format!(
            "cannot use {path} for doublewrite: it has {has} bytes, and {writers} writers with \
             batches of {batch} blocks of {} need {wants}; make it larger, or lower \
             {fewer}db_writer_batch",
            config.block_size
        ),
    ))
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CacheConfig { frames, block_size, working_sets, pools, .. } = &self.config;
        write!(f, "Cache({frames} frames of {block_size} in {working_sets} sets")?;
        for PoolSize { frames, block_size } in pools {
            write!(f, ", {frames} of {block_size}")?;
        }
        write!(f, ")")
    }
}

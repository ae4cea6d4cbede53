//! The cache as a whole: its parts, how it is opened, and how it ends.
//!
//! Invariants
//!   * the set at place `s` of a pool belongs to writer `s % writers`; the number of writers may
//!     change (CB25)
//!   * a session that is going to sleep looks at the halt first, under the latch of its condition,
//!     and is woken when the halt is raised (rule stop/K3)
//!
//! Callers: the instance opens and stops it.

use std::fmt;
use std::sync::Arc;

use ids::{BlockSize, FileNo};
use latch::{Condition, Latch, LatchKind, ReaderCounts, Shared32, Shared64, SharedFlag, Signal};
use os::{Disk, File, IoArea, Os, Session, huge_table};
use stop::{Halt, RefusalKind, Stop};

use crate::ahead::Ahead;
use crate::chains::Chains;
use crate::files::{DataFile, Files};
use crate::frame::Frame;
use crate::pool::{Pool, SIZES, Stock};
use crate::victim::STAY;
use crate::working_set::WorkingSet;
use crate::{CacheConfig, PoolSize, RedoGate};

/// The buffer cache of one instance.
pub struct Cache {
    pub(crate) config: CacheConfig,
    pub(crate) files: Files,
    pub(crate) doublewrite: File,
    /// Regions of it for each writer.
    doublewrite_regions: u64,
    pub(crate) disk: Disk,
    pub(crate) gate: Arc<dyn RedoGate>,
    pub(crate) halt: Halt,
    pub(crate) frames: Arc<[Frame]>,
    pub(crate) chains: Chains,
    pub(crate) ahead: Ahead,
    pub(crate) stock: Stock,
    pub(crate) pools: [Pool; SIZES],
    /// The working sets of all pools.
    pub(crate) sets: Box<[WorkingSet]>,
    pub(crate) reads: Box<[ReadShard]>,
    /// One for each writer that there can be.
    pub(crate) writers: Box<[Signal]>,
    /// The number of writers that are to run.
    pub(crate) writer_count: Shared32,
    /// Blocks of one multiblock read; 0 for automatic.
    pub(crate) multiblock_count: Shared32,
    /// The memory of a direct reader that has ended, for the next one.
    pub(crate) direct_areas: Latch<Vec<IoArea>>,
    /// By thread: how far it has come in its way over a pool's sets. A hint.
    pub(crate) steps: Box<[Shared32]>,
    pub(crate) unpin_wanted: UnpinWanted,
    /// The requested checkpoint: a packed redo address.
    pub(crate) requested: Shared64,
    /// Counts the steps that writers have finished.
    pub(crate) progress: Latch<u64>,
    /// Sessions wait here for progress.
    pub(crate) progressed: Condition,
    pub(crate) stopping: SharedFlag,
}

/// Where sessions wait for the reads of other sessions into the frames of one shard. The status
/// bits `READING` and `FAILED` of these frames are cleared under its latch only.
pub(crate) struct ReadShard {
    pub(crate) latch: Latch<Faults>,
    pub(crate) ended: Condition,
}

/// The faults of the frames of one shard that are in state Failed.
#[derive(Default)]
pub(crate) struct Faults(Vec<(u32, Stop)>);

impl Faults {
    /// The fault of this frame.
    pub(crate) fn of(&self, frame: u32) -> Option<Stop> {
        let found = self.0.iter().find(|(failed, _)| *failed == frame);
        found.map(|(_, stop)| stop.clone())
    }

    /// Keeps a fault for the sessions that wait, until the last of them lets go.
    pub(crate) fn leave(&mut self, frame: u32, fault: Option<Stop>) {
        self.0.extend(fault.map(|stop| (frame, stop)));
    }

    /// Drops the fault of a frame for which no session waits any more.
    pub(crate) fn forget(&mut self, frame: u32) {
        self.0.retain(|(failed, _)| *failed != frame);
    }
}

/// The number of sessions that wait for a pin to go: the writers have nothing to write for them. A
/// session raises it before its last look at the pins, so that either it sees that a pin has gone,
/// or the session that lets the pin go sees that one waits. It is read with each pin that goes, and
/// so has a line of the processor's cache to itself.
#[repr(align(64))]
pub(crate) struct UnpinWanted(pub(crate) Shared32);

/// The number of shards for waits for reads.
const READ_SHARDS: u32 = 64;
/// The number of hints, which sessions share by thread.
const HINTS: u32 = 64;

impl Cache {
    /// Opens an empty cache over these files. The caller then starts each of `config.writers`
    /// writers with [`start_writer`](Cache::start_writer).
    ///
    /// # Panics
    /// When `config` is beyond the limits of [`CacheConfig`].
    #[expect(clippy::too_many_arguments, reason = "everything that a cache stands on, once")]
    pub fn open(
        os: &Os,
        disk: Disk,
        files: Vec<DataFile>,
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
        let frames = huge_table(count as usize, |number| Frame::absent(os, &counts, number as u32));
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
            direct_areas: Latch::new(os, LatchKind::Innermost, Vec::new()),
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
        for file in files {
            cache.add_file(file, session)?;
        }
        let weak = Arc::downgrade(&cache);
        cache.halt.on_raise(session, move |session| {
            if let Some(cache) = weak.upgrade() {
                cache.wake_everybody(session);
            }
        });
        Ok(cache)
    }

    /// Adds a data file. Refused if there are no buffers for its blocks: the caller gives the pool
    /// some with [`grow_pool`](Cache::grow_pool) first.
    pub fn add_file(&self, file: DataFile, session: &Session) -> Result<(), Stop> {
        if self.buffers(file.block_size, session) == 0 {
            let message = format!(
                "cannot use file {}, {}: the cache has no buffers for its blocks of {}; give it \
                 some",
                file.number,
                file.file.path().display(),
                file.block_size
            );
            return Err(Stop::refuse(RefusalKind::Invalid, message));
        }
        self.files.add(file, self.config.lost_write_protect, session)
    }

    /// The data files, in the order of their numbers.
    pub fn data_files(&self, session: &Session) -> Vec<DataFile> {
        self.files.all(session)
    }

    /// The database's own block size. A file may have another.
    pub fn block_size(&self) -> BlockSize {
        self.config.block_size
    }

    /// The block size of this file, if the cache has the file.
    pub fn block_size_of(&self, file: FileNo, session: &Session) -> Option<BlockSize> {
        self.files.find(file, session).map(|file| file.block_size)
    }

    /// The halt of the instance, which a change raises that can't be finished.
    pub fn halt(&self) -> &Halt {
        &self.halt
    }

    /// The configuration that the cache was opened with.
    pub fn config(&self) -> &CacheConfig {
        &self.config
    }

    /// Has the writers end after their batches in flight. Frames that are dirty then stay dirty: a
    /// clean shutdown makes a [`checkpoint`](Cache::checkpoint) before. The caller joins the
    /// threads. No session uses the cache after this: one that needs a buffer would wait for a
    /// writer that isn't there, until the halt is raised.
    pub fn stop(&self, session: &Session) {
        self.stopping.raise(session);
        self.post_writers(session);
    }

    /// The number of writers that are to run.
    pub fn writers(&self, session: &Session) -> u32 {
        self.writer_count.load(session)
    }

    /// Sets the number of writers, 1 to `writers_max`. The sets belong to the new writers at once.
    /// A writer whose number is too high ends after its batches in flight. The caller then starts
    /// the new writers with [`start_writer`](Cache::start_writer), or joins those that end; it
    /// joins a writer before it starts another one of the same number.
    ///
    /// # Panics
    /// When `count` is 0 or above `writers_max`.
    pub fn set_writers(&self, count: u32, session: &Session) {
        let most = self.config.writers_max;
        assert!((1..=most).contains(&count), "{count} writers with room for {most}");
        self.writer_count.store(count, session);
        self.post_writers(session);
    }

    /// Where this writer's regions of the doublewrite file begin.
    pub(crate) fn regions_of(&self, writer: u32) -> impl Iterator<Item = u64> {
        let (count, bytes) = (self.doublewrite_regions, self.config.region_bytes() as u64);
        let first = u64::from(writer) * count;
        (first..first + count).map(move |region| region * bytes)
    }

    /// Posts every writer.
    pub(crate) fn post_writers(&self, session: &Session) {
        for writer in &self.writers {
            writer.post(session);
        }
    }

    /// Posts the writer of this set.
    pub(crate) fn post_writer_of(&self, set: u32, session: &Session) {
        let (_, place) = self.pool_of_set(set);
        // CB25: if that writer is just ending, a session that comes to wait posts all writers.
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

    /// The shard in which sessions wait for a read into this frame.
    pub(crate) fn read_shard(&self, frame: u32) -> &ReadShard {
        &self.reads[frame as usize % self.reads.len()]
    }
}

/// The number of regions of the doublewrite file for each writer: as many as it can have batches in
/// flight, or fewer if the file is shorter.
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

//! What can be chosen: when a database is created, and when it is opened.
//!
//! Names are Oracle's where they mean the same.

use cache::CacheConfig;
use ids::BlockSize;
use os::FilesystemIo;
use os::probe::DurableWrite;
use redo::{CommitLeader, CommitLogging, CommitMode, CommitWait, LOG_BUFFER_BYTES_MIN};
use stop::{RefusalKind, Stop};

/// What is fixed when a database is created.
#[derive(Clone, Debug)]
pub struct Creation {
    /// `db_block_size`.
    pub db_block_size: BlockSize,
    /// Bytes of the data file.
    pub data_bytes: u64,
    /// Blocks of an extent.
    pub extent_blocks: u32,
    /// Bytes of one online redo log.
    pub log_file_bytes: u64,
    /// Online redo log groups.
    pub log_groups: u16,
    /// Undo segments.
    pub undo_segments: u16,
    /// Slots for transactions in each of them, at most.
    pub undo_slots: u16,
    /// Slots of the doublewrite file: enough for all writers' batches.
    pub doublewrite_slots: u32,
}

impl Default for Creation {
    fn default() -> Creation {
        Creation {
            db_block_size: BlockSize::KIB_8,
            data_bytes: 256 << 20,
            extent_blocks: 64,
            log_file_bytes: 64 << 20,
            log_groups: 3,
            undo_segments: 8,
            undo_slots: 32,
            doublewrite_slots: 16 * 128,
        }
    }
}

/// How an instance runs.
#[derive(Clone, Debug)]
pub struct Parameters {
    /// `db_cache_size`, in bytes.
    pub db_cache_size: u64,
    /// `db_writer_processes`.
    pub db_writer_processes: u32,
    /// Working sets of the cache; independent of the number of writers, and not below it.
    pub db_working_sets: u32,
    /// Blocks that a writer writes in one batch, at most.
    pub db_writer_batch: u32,
    /// `log_buffer`, in bytes.
    pub log_buffer: u64,
    /// `commit_leader`: who writes redo that sessions wait for.
    pub commit_leader: CommitLeader,
    /// So many redo writes are in flight at once, at most: 1 to 8.
    pub log_writes_in_flight: u32,
    /// `commit_wait`: whether a commit returns when it is durable, or at once.
    pub commit_wait: CommitWait,
    /// `commit_logging`: whether the redo of a commit is written at once, or with the next.
    pub commit_logging: CommitLogging,
    /// `filesystemio_options`.
    pub filesystemio_options: FilesystemIo,
    /// How redo is made durable; probed when the instance opens if it isn't given.
    pub redo_write: Option<DurableWrite>,
    /// Whether blocks are written twice, against torn ones.
    pub doublewrite: bool,
    /// `redo_consistency`: redo says what blocks come to, and recovery compares.
    pub redo_consistency: bool,
    /// What a test breaks on purpose.
    pub sabotage: Sabotage,
}

/// The engine broken on purpose: beyond [`Sabotage::NONE`] only in tests of the tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sabotage {
    /// In the redo.
    pub redo: redo::Sabotage,
    /// In the cache.
    pub cache: cache::Sabotage,
    /// In recovery.
    pub replay: change::Sabotage,
}

impl Sabotage {
    /// As it should be.
    pub const NONE: Sabotage = Sabotage {
        redo: redo::Sabotage::None,
        cache: cache::Sabotage::None,
        replay: change::Sabotage::None,
    };
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters {
            db_cache_size: 64 << 20,
            db_writer_processes: 1,
            db_working_sets: 8,
            db_writer_batch: 128,
            log_buffer: 8 << 20,
            commit_leader: CommitLeader::Session,
            log_writes_in_flight: 1,
            commit_wait: CommitWait::Wait,
            commit_logging: CommitLogging::Immediate,
            filesystemio_options: FilesystemIo::SetAll,
            redo_write: None,
            doublewrite: true,
            redo_consistency: false,
            sabotage: Sabotage::NONE,
        }
    }
}

impl Parameters {
    /// The fewest buffers that an instance works with: every session pins a few at once.
    pub const BUFFERS_MIN: u32 = 16;

    /// The largest `log_buffer`: beyond it nothing is won.
    pub const LOG_BUFFER_MAX: u64 = 1 << 30;

    /// Refuses what can't work, naming the value and its limits.
    pub(crate) fn check(&self, block_size: BlockSize, slots: u32) -> Result<(), Stop> {
        self.check_ranges()?;
        let refuse = |message: String| Err(Stop::refuse(RefusalKind::Invalid, message));
        let (buffers, sets) = (self.buffers(block_size), self.db_working_sets);
        let least = Parameters::BUFFERS_MIN.max(sets * CacheConfig::FRAMES_PER_SET_MIN);
        if !(least..=CacheConfig::FRAMES_MAX).contains(&buffers) {
            return refuse(format!(
                "db_cache_size of {} bytes is {buffers} buffers of {block_size}; with {sets} \
                 working sets it is {least} to {}",
                self.db_cache_size,
                CacheConfig::FRAMES_MAX
            ));
        }
        let needed = self.db_writer_processes * self.db_writer_batch;
        if self.doublewrite && needed > slots {
            return refuse(format!(
                "{} writers with batches of {} blocks need {needed} slots of the doublewrite file, \
                 which has {slots}; choose fewer or smaller ones",
                self.db_writer_processes, self.db_writer_batch
            ));
        }
        Ok(())
    }

    /// Each by itself, so that what is computed from them doesn't overflow.
    fn check_ranges(&self) -> Result<(), Stop> {
        let writers_max = CacheConfig::WRITERS_MAX.min(self.db_working_sets);
        let ranges = [
            (
                "db_working_sets",
                self.db_working_sets.into(),
                1,
                CacheConfig::WORKING_SETS_MAX.into(),
            ),
            ("db_writer_processes", self.db_writer_processes.into(), 1, writers_max.into()),
            (
                "db_writer_batch",
                self.db_writer_batch.into(),
                1,
                CacheConfig::BATCH_BLOCKS_MAX.into(),
            ),
            (
                "log_buffer",
                self.log_buffer,
                LOG_BUFFER_BYTES_MIN as u64,
                Parameters::LOG_BUFFER_MAX,
            ),
        ];
        for (name, value, least, most) in ranges {
            if !(least..=most).contains(&value) {
                let message = format!("{name} is {value}: choose {least} to {most}");
                return Err(Stop::refuse(RefusalKind::Invalid, message));
            }
        }
        Ok(())
    }

    pub(crate) fn commit_mode(&self) -> CommitMode {
        CommitMode { wait: self.commit_wait, logging: self.commit_logging }
    }

    fn buffers(&self, block_size: BlockSize) -> u32 {
        u32::try_from(self.db_cache_size / block_size.bytes() as u64).unwrap_or(u32::MAX)
    }

    pub(crate) fn cache_config(&self, block_size: BlockSize) -> CacheConfig {
        CacheConfig {
            block_size,
            frames: self.buffers(block_size),
            working_sets: self.db_working_sets,
            writers: self.db_writer_processes,
            writers_max: self.db_writer_processes,
            batch_blocks: self.db_writer_batch,
            ring_depth: self.db_writer_batch.min(64),
            io_slaves: 0,
            filesystem_io: self.filesystemio_options,
            doublewrite: self.doublewrite,
            sabotage: self.sabotage.cache,
        }
    }
}

//! The parameters: of a database when it is created, and of an instance when it opens and later.
//!
//! Each parameter is declared once, here. Names are Oracle's where the meaning is Oracle's.
//!
//! Callers: creation and opening; `alter`; `docs/PARAMETERS.md`.

mod declare;
mod markdown;
#[cfg(test)]
mod tests;

use cache::{CacheConfig, PoolSize};
use ids::BlockSize;
use os::probe::DurableWrite;
use os::{FilesystemIo, RingConfig, Session};
use redo::{
    CommitLeader, CommitLogging, CommitMode, CommitWait, LOG_BUFFER_BYTES_MIN, log_buffer_least,
};
use sort::{SORT_AREA_BYTES_MAX, SORT_AREA_BYTES_MIN};
use space::{DataFileShape, DataFileSpec, TablespaceSpec};
use stop::{Failpoints, RefusalKind, Stop};
use waits::Nanos;

use crate::LogGroupSpec;
use crate::lock_waits::LockWaits;
use crate::scheduling::{ProcessAffinity, ProcessPatterns};

pub use declare::{Allowed, Changeable, ParameterInfo, parse_size};
use declare::{
    BLOCK_SIZES, BOOLEANS, BYTES, COMMIT_LEADERS, COMMIT_LOGGINGS, COMMIT_WAITS, FILESYSTEM_IO,
    PROCESS_AFFINITY, PROCESS_PATTERNS, REDO_WRITES, declared, show, sized, unknown_parameter,
};
pub use markdown::markdown;

declared! {
    /// The parameters that are fixed when a database is created.
    pub struct Creation, AtCreation;

    "The size of a block."
        db_block_size: BlockSize = BlockSize::KIB_8, "", BLOCK_SIZES;
    "The size of the first data file, which is of the system tablespace: 16 blocks at least, with \
     room for an extent behind the first 3; less than 2^32 blocks, and as many as its extent map \
     has room for."
        data_bytes: u64 = 256 << 20, BYTES, DATA_FILE_SIZE;
    "The largest size to which the first data file may grow, as far as its extent map has room: \
     data_bytes at least, or 0 if it doesn't grow."
        data_bytes_max: u64 = 0, BYTES, Allowed::Between(0, DATA_FILE_MAX);
    "The bytes by which the first data file grows when it is full: an extent at least, if it grows."
        data_growth_bytes: u64 = 16 << 20, BYTES, Allowed::Between(0, 1 << 40);
    "The size of the data file of the undo tablespace, within the same bounds as data_bytes."
        undo_bytes: u64 = 64 << 20, BYTES, DATA_FILE_SIZE;
    "The largest size to which the undo tablespace's data file may grow, as far as its extent \
     map has room: undo_bytes at least, or 0 if it doesn't grow."
        undo_bytes_max: u64 = 32 << 30, BYTES, Allowed::Between(0, DATA_FILE_MAX);
    "The bytes by which the undo tablespace's data file grows when it is full: an extent at least, \
     if it grows."
        undo_growth_bytes: u64 = 16 << 20, BYTES, Allowed::Between(0, 1 << 40);
    "The length of an extent, the unit in which segments grow."
        extent_blocks: u32 = 64, "blocks", Allowed::Between(2, 1 << 16);
    "The size of one online redo log."
        log_file_bytes: u64 = 64 << 20, BYTES, Allowed::Between(LOG_FILE_MIN, 1 << 40);
    "The number of online redo log groups, which are written in turn."
        log_groups: u16 = 3, "groups", Allowed::Between(2, redo::GROUPS_MAX as u64);
    "The number of members of each of these groups: files with the same redo."
        log_members: u16 = 1, "members", Allowed::Between(1, redo::MEMBERS_MAX as u64);
    "The number of undo segments at first; more are made when more transactions are active."
        undo_segments: u16 = 8, "segments", Allowed::Between(1, 256);
    "The number of slots in the transaction table of an undo segment, as far as a block has room."
        undo_slots: u16 = 32, "slots", Allowed::Between(1, 1_024);
    "The number of blocks of the doublewrite file: at least a batch of each writer. With room \
     for two or three batches, a writer begins one while the one before is on its way."
        doublewrite_slots: u32 = 16 * 128, "blocks", Allowed::Between(1, 1 << 20);

    beside
    /// Further data files of the system tablespace.
    data_files: Vec<DataFileSpec> = Vec::new();
    /// Further tablespaces.
    tablespaces: Vec<TablespaceSpec> = Vec::new();
    /// The online redo log groups, if not log_groups of log_file_bytes with log_members each.
    log_files: Vec<LogGroupSpec> = Vec::new();
}

/// The size of a data file: from the least number of the smallest blocks on.
const DATA_FILE_SIZE: Allowed = Allowed::Between(
    DataFileShape::BLOCKS_MIN as u64 * BlockSize::KIB_2.bytes() as u64,
    DATA_FILE_MAX,
);

/// The largest data file.
const DATA_FILE_MAX: u64 = 1 << 45;

/// The size of a buffer cache: from the fewest buffers of the smallest blocks on, to the most of
/// the largest.
const CACHE_SIZE: Allowed =
    Allowed::Between(Parameters::BUFFERS_MIN as u64 * BlockSize::KIB_2.bytes() as u64, CACHE_MAX);

/// The most bytes of buffers.
const CACHE_MAX: u64 = CacheConfig::FRAMES_MAX as u64 * BlockSize::KIB_32.bytes() as u64;

/// The size of a buffer cache for blocks that aren't of the database's own size, which have the
/// fewest buffers at least.
const fn pool(block_size: BlockSize) -> Allowed {
    let most = CacheConfig::FRAMES_MAX - Parameters::BUFFERS_MIN;
    Allowed::Between(0, most as u64 * block_size.bytes() as u64)
}

/// The seconds for which a session waits for a lock.
const LOCK_WAIT: Allowed = Allowed::Between(0, LockWaits::FOREVER as u64);

/// The smallest online redo log.
const LOG_FILE_MIN: u64 = redo::LOG_BLOCKS_MIN as u64 * 4_096;

declared! {
    /// The parameters with which an instance runs.
    pub struct Parameters, AtOpening;

    "The size of the buffer cache: 16 buffers at least, 4 for each working set, and not more than \
     the machine has memory."
        db_cache_size: u64 = 64 << 20, BYTES, CACHE_SIZE, AnyTime;
    "The size of the buffer cache for blocks of 2 KiB, in a database of larger ones: 0, or 16 \
     buffers at least, 4 for each working set."
        db_2k_cache_size: u64 = 0, BYTES, pool(BlockSize::KIB_2), AnyTime;
    "The size of the buffer cache for blocks of 4 KiB, in a database of others: 0, or 16 \
     buffers at least, 4 for each working set."
        db_4k_cache_size: u64 = 0, BYTES, pool(BlockSize::KIB_4), AnyTime;
    "The size of the buffer cache for blocks of 8 KiB, in a database of others: 0, or 16 \
     buffers at least, 4 for each working set."
        db_8k_cache_size: u64 = 0, BYTES, pool(BlockSize::KIB_8), AnyTime;
    "The size of the buffer cache for blocks of 16 KiB, in a database of others: 0, or 16 \
     buffers at least, 4 for each working set."
        db_16k_cache_size: u64 = 0, BYTES, pool(BlockSize::KIB_16), AnyTime;
    "The size of the buffer cache for blocks of 32 KiB, in a database of others: 0, or 16 \
     buffers at least, 4 for each working set."
        db_32k_cache_size: u64 = 0, BYTES, pool(BlockSize::KIB_32), AnyTime;
    "The most bytes that all buffers together may have while the instance is open, at least those \
     that they have when it opens; 0 for these."
        sga_max_size: u64 = 0, BYTES, Allowed::Between(0, CACHE_MAX);
    "The number of database writers: not more than working sets, nor than doublewrite_slots has \
     batches."
        db_writer_processes: u32 = 1, "processes",
        Allowed::Between(1, CacheConfig::WRITERS_MAX as u64), AnyTime;
    "The number of working sets into which the cache is divided; at least the number of writers."
        db_working_sets: u32 = 8, "sets", Allowed::Between(1, CacheConfig::WORKING_SETS_MAX as u64);
    "The most blocks that a database writer writes before it syncs: for all writers together not \
     more than doublewrite_slots."
        db_writer_batch: u32 = 128, "blocks",
        Allowed::Between(1, CacheConfig::BATCH_BLOCKS_MAX as u64);
    "The number of I/O slaves of a database writer. With any, the writer keeps as many writes in \
     flight, whatever filesystemio_options says."
        dbwr_io_slaves: u32 = 0, "slaves", Allowed::Between(0, RingConfig::SLAVES_MAX as u64);
    "The number of blocks that a scan reads at once, 4 MiB at most; 0 for a MiB, or for each \
     session's share of the buffers, down to a power of two, if that is less."
        db_file_multiblock_read_count: u32 = 0, "blocks", Allowed::Between(0, 2_048),
        AnyTime;
    "The most memory that each sort under way takes, that of an index build for instance. Rows \
     that don't fit go through a temporary file."
        sort_area_size: u64 = 64 << 20, BYTES,
        Allowed::Between(SORT_AREA_BYTES_MIN, SORT_AREA_BYTES_MAX);
    "The memory that all work areas of the instance are to have together: sorts, hash joins, \
     groups and kept rows. Each asks for its part and never waits: what doesn't fit goes through a \
     temporary file. 0 for a quarter of the machine's memory."
        pga_aggregate_target: u64 = 0, BYTES, Allowed::Between(0, 1 << 42), AnyTime;
    "The size of the redo log buffer: 100k at least for each of log_writes_in_flight, and for one \
     more."
        log_buffer: u64 = 8 << 20, BYTES,
        Allowed::Between(LOG_BUFFER_BYTES_MIN as u64, Parameters::LOG_BUFFER_MAX);
    "The most seconds that recovery after a crash may take, as estimated; 0 for no bound."
        fast_start_mttr_target: u32 = 0, "seconds", Allowed::Between(0, 3_600), AnyTime;
    "The most redo blocks of 4 KiB by which the checkpoint may be behind; 0 for no bound."
        log_checkpoint_interval: u32 = 0, "blocks", Allowed::Between(0, u32::MAX as u64), AnyTime;
    "The most seconds by which the checkpoint may be behind; 0 for no bound."
        log_checkpoint_timeout: u32 = 1_800, "seconds", Allowed::Between(0, 1 << 20), AnyTime;
    "The process that writes redo for waiting sessions: the first of these sessions, or the log \
     writer alone."
        commit_leader: CommitLeader = CommitLeader::Session, "", COMMIT_LEADERS, AnyTime;
    "The most redo writes in flight at once; 0 for 4 where the probe of redo_write finds that the \
     device gains from them, else 1 (changed to 0 later: as many as at opening). While the \
     instance is open it can't become more than it was at opening. Where sessions share writes \
     because they commit again at once, one is in flight."
        log_writes_in_flight: u32 = 0, "writes",
        Allowed::Between(0, redo::WRITES_IN_FLIGHT_MAX as u64), AnyTime;
    "The age at which undo that only snapshots need is overwritten, instead of growing the undo \
     tablespace; their reads are then refused (snapshot too old). 0 keeps it as long as a \
     snapshot needs it. Where the tablespace can't grow, undo is overwritten in either case."
        undo_retention: u32 = 0, "seconds", Allowed::Between(0, i32::MAX as u64), AnyTime;
    "The most seconds that a statement waits for each lock: 0 for not at all, 1000000 for no \
     bound. Connections that are made from then on begin with it."
        lock_timeout: u32 = LockWaits::FOREVER, "seconds", LOCK_WAIT, AnyTime;
    "The most seconds that DDL waits for transactions that use the table: 0 for not at all, \
     1000000 for no bound. Connections that are made from then on begin with it."
        ddl_lock_timeout: u32 = LockWaits::FOREVER, "seconds", LOCK_WAIT, AnyTime;
    "Whether a commit returns when it is durable, or at once."
        commit_wait: CommitWait = CommitWait::Wait, "", COMMIT_WAITS, AnyTime;
    "Whether the redo of a commit is written at once, or together with the next redo write."
        commit_logging: CommitLogging = CommitLogging::Immediate, "", COMMIT_LOGGINGS, AnyTime;
    "The background processes that have real-time priority."
        high_priority_processes: ProcessPatterns = ProcessPatterns::default(), "",
        PROCESS_PATTERNS, AnyTime;
    "The CPUs on which background processes run; those that aren't named run on all."
        process_affinity: ProcessAffinity = ProcessAffinity::default(), "",
        PROCESS_AFFINITY, AnyTime;
    "The way in which data files are opened and written: none (buffered, one write at a time), \
     asynch (buffered, many in flight), directio (direct, one at a time), setall (direct, many \
     in flight)."
        filesystemio_options: FilesystemIo = FilesystemIo::SetAll, "", FILESYSTEM_IO;
    "Whether asynchronous I/O is used where filesystemio_options says so; false for systems \
     whose asynchronous I/O on files isn't asynchronous."
        disk_asynch_io: bool = true, "", BOOLEANS;
    "The way in which a write of redo is made durable; probed finds the fastest at opening."
        redo_write: Option<DurableWrite> = None, "", REDO_WRITES;
    "The age up to which an opening believes what an earlier one has probed, on the same disk and \
     since the same start of the machine; 0 probes at each opening."
        redo_probe_retention: u32 = 86_400, "seconds", Allowed::Between(0, i32::MAX as u64);
    "Whether blocks are written twice, against torn ones."
        doublewrite: bool = true, "", BOOLEANS;
    "Whether a block that is read is compared with its last write; it takes 4 bytes of memory \
     for each block that is written."
        db_lost_write_protect: bool = true, "", BOOLEANS;
    "Whether redo carries checksums of changed blocks, which recovery compares; slow, for tests."
        redo_consistency: bool = false, "", BOOLEANS;
    "CPU that each commit burns for nothing: a known difference, by which the lab is tested."
        test_commit_delay: u32 = 0, "nanoseconds", Allowed::Between(0, 1_000_000_000), AnyTime;
    "The time constant with which a changed test_commit_delay comes to count, as of a setting \
     whose effect is slow; 0 for at once."
        test_commit_delay_lag: u32 = 0, "seconds", Allowed::Between(0, 86_400), AnyTime;

    beside
    /// The failpoints, by which a test breaks the engine on purpose.
    failpoints: Failpoints = Failpoints::NONE;
}

impl Parameters {
    /// The fewest buffers that an instance works with, since every session pins a few at once.
    pub const BUFFERS_MIN: u32 = 16;

    /// The largest `log_buffer`; a larger one gains nothing.
    pub const LOG_BUFFER_MAX: u64 = 1 << 30;

    /// How many parts of the log buffer hold the largest record each.
    pub(crate) fn log_buffer_parts(&self) -> u32 {
        (self.log_buffer / (LOG_BUFFER_BYTES_MIN as u64 / 2)) as u32
    }

    /// Refuses what an opening of a database that was made by this `creation` would refuse of its
    /// parameters, and the priorities and CPUs that it would leave (IN52).
    pub fn check_beforehand(&self, creation: &Creation, session: &Session) -> Result<(), Stop> {
        let memory = session.os().memory_bytes();
        self.check(creation.db_block_size, creation.doublewrite_slots, memory)?;
        self.check_log_buffer()?;
        self.try_scheduling(session)
    }

    /// Refuses a log buffer without a part for each write of redo in flight, and one more.
    fn check_log_buffer(&self) -> Result<(), Stop> {
        let writes = self.log_writes_in_flight.max(1);
        let least = log_buffer_least(writes) as u64;
        if self.log_buffer >= least {
            return Ok(());
        }
        let message = format!(
            "log_buffer is {}, and with {writes} redo writes in flight it has {} at least: choose \
             a larger one, or fewer log_writes_in_flight",
            sized(self.log_buffer),
            sized(least)
        );
        Err(Stop::refuse(RefusalKind::Invalid, message))
    }

    /// Refuses values that can't work, naming each with its limits. `memory` is the memory of the
    /// machine in bytes.
    pub(crate) fn check(&self, block_size: BlockSize, slots: u32, memory: u64) -> Result<(), Stop> {
        // Each value by itself first, so that sums and products of them don't overflow.
        self.check_each()?;
        let refuse = |message: String| Err(Stop::refuse(RefusalKind::Invalid, message));
        if self.db_writer_processes > self.db_working_sets {
            return refuse(format!(
                "{} writers can't share {} working sets: choose fewer db_writer_processes or more \
                 db_working_sets",
                self.db_writer_processes, self.db_working_sets
            ));
        }
        let (buffers, sets) = (self.buffers(block_size), self.db_working_sets);
        let least = Parameters::BUFFERS_MIN.max(sets * CacheConfig::FRAMES_PER_SET_MIN);
        if !(least..=CacheConfig::FRAMES_MAX).contains(&buffers) {
            let size = |buffers: u32| sized(u64::from(buffers) * block_size.bytes() as u64);
            let most = u64::from(CacheConfig::FRAMES_MAX) * block_size.bytes() as u64;
            let has = match memory < most {
                true => format!(", less than the {}m of memory of this machine", memory >> 20),
                false => String::new(),
            };
            return refuse(format!(
                "db_cache_size is {}: with blocks of {block_size} and {sets} working sets choose \
                 {} to {}{has}",
                sized(self.db_cache_size),
                size(least),
                sized(most)
            ));
        }
        let mut all = u64::from(buffers);
        if self.bytes_of(block_size) > 0 {
            return refuse(format!(
                "db_{}k_cache_size is for a database of other blocks, and the size of this one's \
                 is {block_size}: choose 0, and db_cache_size for them",
                block_size.bytes() >> 10
            ));
        }
        for size in BlockSize::ALL.into_iter().filter(|size| *size != block_size) {
            all += u64::from(self.check_pool(size, block_size, least)?);
        }
        if self.sga_max_size > 0 {
            self.check_sga(block_size, self.sga_max_size, "sga_max_size is")?;
        }
        if all > u64::from(CacheConfig::FRAMES_MAX) {
            let most = CacheConfig::FRAMES_MAX;
            return refuse(format!("the cache would have {all} buffers, and has at most {most}"));
        }
        if self.sga_max_size > memory {
            return refuse(format!(
                "sga_max_size is {}, and this machine has {memory} bytes of memory: choose less",
                sized(self.sga_max_size)
            ));
        }
        let needed = self.db_writer_processes * self.db_writer_batch;
        if self.doublewrite && needed > slots {
            let fewer =
                if self.db_writer_processes > 1 { "fewer db_writer_processes or " } else { "" };
            return refuse(format!(
                "{} writers with batches of {} blocks need {needed} slots of the doublewrite file, \
                 which has {slots}; choose {fewer}a smaller db_writer_batch",
                self.db_writer_processes, self.db_writer_batch
            ));
        }
        self.check_memory(block_size, slots, memory)
    }

    fn check_memory(&self, block_size: BlockSize, slots: u32, memory: u64) -> Result<(), Stop> {
        let needs = self.memory_bytes(block_size, slots);
        if needs <= memory {
            return Ok(());
        }
        // Who didn't set it has no smaller one to choose.
        let sga = if self.sga_max_size > 0 { ", sga_max_size" } else { "" };
        let message = format!(
            "the buffer cache, the batches of the writers and log_buffer would need {needs} bytes \
             of memory, and this machine has {memory}: choose a smaller db_cache_size{sga} or \
             db_writer_batch"
        );
        Err(Stop::refuse(RefusalKind::Invalid, message))
    }

    /// Roughly the memory that the cache, its writers and the redo take. The further writers of
    /// recovery aren't counted: it does without them where they can't be had (rule recovery/RC22).
    fn memory_bytes(&self, block_size: BlockSize, slots: u32) -> u64 {
        let cache = self.cache_config(block_size, slots);
        let writers = u64::from(cache.writers) * cache.writer_bytes();
        cache.memory_bytes() + writers + self.log_buffer
    }

    /// Returns the number of buffers for blocks of another `size` than the database's `own`, and
    /// refuses a number that can't work.
    fn check_pool(&self, size: BlockSize, own: BlockSize, least: u32) -> Result<u32, Stop> {
        let refuse = |message: String| Err(Stop::refuse(RefusalKind::Invalid, message));
        let (bytes, buffers) = (self.bytes_of(size), self.buffers_of(size));
        if bytes > 0 && buffers < least {
            return refuse(format!(
                "db_{}k_cache_size is {}: with {} working sets choose {} or more, or 0",
                size.bytes() >> 10,
                sized(bytes),
                self.db_working_sets,
                sized(u64::from(least) * size.bytes() as u64)
            ));
        }
        // The cache refuses this too, but only when the database is half open.
        let batch = u64::from(self.db_writer_batch) * own.bytes() as u64;
        if buffers > 0 && batch < 2 * size.bytes() as u64 {
            return refuse(format!(
                "db_{}k_cache_size is {}: a batch of {} blocks of {own} hasn't room for two of \
                 {size}; choose a larger db_writer_batch",
                size.bytes() >> 10,
                sized(bytes),
                self.db_writer_batch
            ));
        }
        Ok(buffers)
    }

    /// The bytes of all buffers, in a database whose own blocks are of size `own`.
    pub(crate) fn buffer_bytes(&self, own: BlockSize) -> u64 {
        let others = BlockSize::ALL.into_iter().filter(|size| *size != own);
        others.map(|size| self.bytes_of(size)).fold(self.db_cache_size, u64::saturating_add)
    }

    /// Refuses buffers of more than `most` bytes together. `bound` names that limit in the message.
    pub(crate) fn check_sga(&self, own: BlockSize, most: u64, bound: &str) -> Result<(), Stop> {
        let bytes = self.buffer_bytes(own);
        if bytes <= most {
            return Ok(());
        }
        let message = format!(
            "the buffers would come to {bytes} bytes, and {bound} {most}: choose smaller caches, \
             or open the database with a larger sga_max_size"
        );
        Err(Stop::refuse(RefusalKind::Invalid, message))
    }

    /// The most writers that can be started while the instance is open: each has a working set, and
    /// a part of the doublewrite file.
    fn writers_max(&self, slots: u32) -> u32 {
        let regions = if self.doublewrite { slots / self.db_writer_batch } else { u32::MAX };
        regions.min(self.db_working_sets).min(CacheConfig::WRITERS_MAX)
    }

    pub(crate) fn retention(&self) -> Nanos {
        Nanos::from_secs(u64::from(self.undo_retention))
    }

    /// Bytes of all work areas on a machine with this much memory.
    pub(crate) fn work_area_bytes(&self, memory: u64) -> u64 {
        match self.pga_aggregate_target {
            0 => memory / 4,
            bytes => bytes,
        }
    }

    pub(crate) fn commit_mode(&self) -> CommitMode {
        CommitMode { wait: self.commit_wait, logging: self.commit_logging }
    }

    fn buffers(&self, block_size: BlockSize) -> u32 {
        u32::try_from(self.db_cache_size / block_size.bytes() as u64).unwrap_or(u32::MAX)
    }

    /// The pools of buffers for block sizes that aren't the database's own.
    fn pools(&self, own: BlockSize) -> Vec<PoolSize> {
        let others = BlockSize::ALL.into_iter().filter(|size| *size != own);
        let pools = others.map(|size| PoolSize { block_size: size, frames: self.buffers_of(size) });
        pools.filter(|pool| pool.frames > 0).collect()
    }

    /// The bytes of the cache for blocks of a size that isn't the database's own.
    pub fn bytes_of(&self, block_size: BlockSize) -> u64 {
        match block_size {
            BlockSize::KIB_2 => self.db_2k_cache_size,
            BlockSize::KIB_4 => self.db_4k_cache_size,
            BlockSize::KIB_8 => self.db_8k_cache_size,
            BlockSize::KIB_16 => self.db_16k_cache_size,
            _ => self.db_32k_cache_size,
        }
    }

    /// The number of buffers for blocks of this size, in a database whose own are of size `own`.
    pub(crate) fn frames(&self, block_size: BlockSize, own: BlockSize) -> u32 {
        if block_size == own { self.buffers(own) } else { self.buffers_of(block_size) }
    }

    pub(crate) fn buffers_of(&self, block_size: BlockSize) -> u32 {
        u32::try_from(self.bytes_of(block_size) / block_size.bytes() as u64).unwrap_or(u32::MAX)
    }

    /// The configuration of the cache, with `slots` blocks in the doublewrite file.
    pub(crate) fn cache_config(&self, block_size: BlockSize, slots: u32) -> CacheConfig {
        let pools = self.pools(block_size);
        let smallest = pools.iter().map(|pool| pool.block_size).min();
        let smallest = smallest.map_or(block_size, |size| size.min(block_size));
        let frames_max = self.sga_max_size / smallest.bytes() as u64;
        CacheConfig {
            block_size,
            frames: self.buffers(block_size),
            pools,
            frames_max: u32::try_from(frames_max).unwrap_or(u32::MAX).min(CacheConfig::FRAMES_MAX),
            working_sets: self.db_working_sets,
            writers: self.db_writer_processes,
            writers_max: self.writers_max(slots),
            batch_blocks: self.db_writer_batch,
            ring_depth: self.db_writer_batch.min(64),
            io_slaves: self.dbwr_io_slaves,
            filesystem_io: match self.disk_asynch_io {
                true => self.filesystemio_options,
                false => self.filesystemio_options.one_at_a_time(),
            },
            doublewrite: self.doublewrite,
            lost_write_protect: self.db_lost_write_protect,
            multiblock_read_count: self.db_file_multiblock_read_count,
            failpoints: self.failpoints,
        }
    }
}

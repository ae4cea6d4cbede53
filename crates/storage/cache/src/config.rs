//! The configuration of a cache: its size, its parts, and how its blocks are written.
//!
//! Limits are asserted: a caller that takes values from a user checks them against the constants
//! first.
//!
//! Callers: the instance, tests.

use ids::BlockSize;
use os::{FilesystemIo, RingConfig};
use stop::Failpoints;

/// The buffers for blocks of a size other than the database's own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PoolSize {
    /// The block size.
    pub block_size: BlockSize,
    /// The number of buffers. `db_2k_cache_size` and the like.
    pub frames: u32,
}

/// Roughly the bytes of a frame beside its buffer: itself, its place in chains and lists, its pins.
const FRAME_BYTES: u64 = 256;

/// The configuration of a cache. Start from [`CacheConfig::default`] and change fields.
#[derive(Clone, Debug)]
pub struct CacheConfig {
    /// The database's own block size. Data files may have another.
    pub block_size: BlockSize,
    /// The number of buffers for blocks of this size. `db_cache_size`.
    pub frames: u32,
    /// Buffers for blocks of other sizes.
    pub pools: Vec<PoolSize>,
    /// The most buffers of all block sizes together while the cache is open. With a value below the
    /// initial number of buffers the cache can't grow. `sga_max_size`.
    pub frames_max: u32,
    /// Working sets for each block size. Independent of the number of writers, so that more writers
    /// don't change the replacement too.
    pub working_sets: u32,
    /// The initial number of database writers; the set at place `s` of a block size belongs to
    /// writer `s % writers`. `db_writer_processes`.
    pub writers: u32,
    /// The most writers while the cache is open: the doublewrite file has a region for each, or
    /// several if it is longer.
    pub writers_max: u32,
    /// Blocks of a batch, which a writer writes before it syncs. Of larger blocks a batch has as
    /// many as fit its bytes; of smaller ones not more than this.
    pub batch_blocks: u32,
    /// The depth of each writer's ring: its requests in flight at once.
    pub ring_depth: u32,
    /// I/O slaves of each writer, which then keeps as many writes in flight, whatever
    /// `filesystem_io` says; 0 for none. `dbwr_io_slaves`.
    pub io_slaves: u32,
    /// Whether writers keep many writes in flight. The caller opens the files accordingly.
    pub filesystem_io: FilesystemIo,
    /// Whether a copy of each block is written before the block itself. May be off only if the file
    /// system and the device together promise untorn writes of this block size.
    pub doublewrite: bool,
    /// Whether a block that is read is compared with its last write since opening (CB20). It takes
    /// 4 bytes for each block that is written. `db_lost_write_protect`.
    pub lost_write_protect: bool,
    /// Blocks of one multiblock read; 0 for automatic. `db_file_multiblock_read_count`.
    pub multiblock_read_count: u32,
    /// The faults that a test plants.
    pub failpoints: Failpoints,
}

impl CacheConfig {
    /// The most frames: with 32 KiB blocks they take a TiB.
    pub const FRAMES_MAX: u32 = 1 << 25;
    /// The fewest frames of a set: with fewer there would be no choice of victims.
    pub const FRAMES_PER_SET_MIN: u32 = 4;
    /// The most working sets.
    pub const WORKING_SETS_MAX: u32 = 256;
    /// The most writers, as in Oracle.
    pub const WRITERS_MAX: u32 = 100;
    /// The largest batch.
    pub const BATCH_BLOCKS_MAX: u32 = 4_096;

    /// The most batches of a writer in flight.
    pub const FLYING_MAX: u32 = 3;

    /// The batches of a writer: one is filled while the others are in flight.
    pub(crate) const BATCHES: usize = CacheConfig::FLYING_MAX as usize + 1;

    /// The size of a doublewrite file with which no batch waits for a region.
    pub fn doublewrite_bytes(&self) -> u64 {
        self.doublewrite_bytes_min() * u64::from(CacheConfig::FLYING_MAX)
    }

    /// The least size of the doublewrite file: a region for each writer.
    pub(crate) fn doublewrite_bytes_min(&self) -> u64 {
        u64::from(self.writers_max) * self.region_bytes() as u64
    }

    /// The size of a region of the doublewrite file, and so of the longest batch.
    pub(crate) fn region_bytes(&self) -> usize {
        self.batch_blocks as usize * self.block_size.bytes()
    }

    /// The number of frames in the cache, with memory or without.
    pub(crate) fn frames_in_all(&self) -> u32 {
        let others: u32 = self.pools.iter().map(|pool| pool.frames).sum();
        self.frames_max.max(self.frames + others)
    }

    /// The memory of a writer's batches.
    pub fn writer_bytes(&self) -> u64 {
        CacheConfig::BATCHES as u64 * self.region_bytes() as u64
    }

    /// Roughly the memory that the cache takes when all its buffers are in use, without that of its
    /// writers.
    pub fn memory_bytes(&self) -> u64 {
        let bytes_of = |size: BlockSize, frames: u32| u64::from(frames) * size.bytes() as u64;
        let pools = self.pools.iter().map(|pool| bytes_of(pool.block_size, pool.frames));
        let buffers = bytes_of(self.block_size, self.frames) + pools.sum::<u64>();
        buffers + u64::from(self.frames_in_all()) * FRAME_BYTES
    }

    /// # Panics
    /// When a value is beyond its limit, or two don't go together.
    pub(crate) fn assert_sound(&self) {
        let sets = self.working_sets;
        assert!((1..=CacheConfig::WORKING_SETS_MAX).contains(&sets), "{sets} working sets");
        let (frames, all) = (self.frames, self.frames_in_all());
        assert!(all <= CacheConfig::FRAMES_MAX, "{all} frames");
        let small = self.pools.iter().find(|pool| pool.frames < CacheConfig::FRAMES_PER_SET_MIN);
        assert_eq!(small, None, "too few frames");
        let again = self.pools.iter().find(|pool| pool.block_size == self.block_size);
        assert_eq!(again, None, "frames of the database's own block size are said twice");
        assert!(
            frames / sets >= CacheConfig::FRAMES_PER_SET_MIN,
            "{frames} frames are too few for {sets} working sets"
        );
        let (writers, most) = (self.writers, self.writers_max);
        assert!(most <= CacheConfig::WRITERS_MAX, "room for {most} writers");
        assert!((1..=most).contains(&writers), "{writers} writers with room for {most}");
        let batch = self.batch_blocks;
        assert!((1..=CacheConfig::BATCH_BLOCKS_MAX).contains(&batch), "{batch} blocks in a batch");
        let depth = self.ring_depth;
        assert!((1..=RingConfig::DEPTH_MAX).contains(&depth), "a ring of depth {depth}");
        let slaves = self.io_slaves;
        assert!(slaves <= RingConfig::SLAVES_MAX, "{slaves} I/O slaves");
    }
}

impl Default for CacheConfig {
    /// 64 MiB of 8 KiB blocks in eight sets, with one writer and room for eight.
    fn default() -> CacheConfig {
        CacheConfig {
            block_size: BlockSize::KIB_8,
            frames: 8_192,
            pools: Vec::new(),
            frames_max: 0,
            working_sets: 8,
            writers: 1,
            writers_max: 8,
            batch_blocks: 128,
            ring_depth: 128,
            io_slaves: 0,
            filesystem_io: FilesystemIo::SetAll,
            doublewrite: true,
            lost_write_protect: true,
            multiblock_read_count: 0,
            failpoints: Failpoints::NONE,
        }
    }
}

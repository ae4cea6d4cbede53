//! How large a cache is, how it is divided, and how its blocks are written.
//!
//! Limits are asserted: whoever takes values from a user checks them against the constants first.
//!
//! Callers: the instance, tests.

use ids::BlockSize;
use os::{FilesystemIo, RingConfig};
use stop::Failpoints;

/// Buffers for blocks of one size, besides the database's own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PoolSize {
    /// Of the blocks.
    pub block_size: BlockSize,
    /// So many buffers. `db_2k_cache_size` and the like.
    pub frames: u32,
}

/// What a frame takes beside its buffer, about: itself, its place in chains and lists, its pins.
const FRAME_BYTES: u64 = 256;

/// A cache's dimensions and ways. Start from [`CacheConfig::default`] and change fields.
#[derive(Clone, Debug)]
pub struct CacheConfig {
    /// The database's own: of its data files, but for those that say another.
    pub block_size: BlockSize,
    /// Buffers for blocks of this size. `db_cache_size`.
    pub frames: u32,
    /// Buffers for blocks of other sizes.
    pub pools: Vec<PoolSize>,
    /// The most buffers of all sizes together that the cache can come to while it is open; nothing
    /// is lost by a value below what it has at first, but then it can't grow. `sga_max_size`.
    pub frames_max: u32,
    /// Working sets for each block size: each has lists of its own. Independent of the number of
    /// writers, so that more writers don't also mean another replacement.
    pub working_sets: u32,
    /// Database writers at first; the set at place `s` of a block size belongs to writer `s %
    /// writers`. `db_writer_processes`.
    pub writers: u32,
    /// The most writers that there can come to be: the doublewrite file has a region for each, and
    /// more of them for each if it is longer.
    pub writers_max: u32,
    /// Blocks that a writer writes before it syncs; of other sizes as many as have the same bytes,
    /// and not more.
    pub batch_blocks: u32,
    /// Home writes in flight at once, per writer.
    pub ring_depth: u32,
    /// With this many I/O slaves a writer keeps as many writes in flight, whatever
    /// `filesystem_io` says; 0 for none. `dbwr_io_slaves`.
    pub io_slaves: u32,
    /// Whether writers keep many writes in flight; how files are opened is up to who opens them.
    pub filesystem_io: FilesystemIo,
    /// Whether a copy is written before the block itself. Only a file system and a device that
    /// together promise untorn writes of this size make it superfluous.
    pub doublewrite: bool,
    /// Whether a block that is read is compared with what was written there last since opening: 4
    /// bytes for each block that is written. `db_lost_write_protect`.
    pub lost_write_protect: bool,
    /// Blocks of one read of many; 0 to have it found out. `db_file_multiblock_read_count`.
    pub multiblock_read_count: u32,
    /// What a test breaks on purpose.
    pub failpoints: Failpoints,
}

impl CacheConfig {
    /// So many frames need a 32 KiB block each for a TiB.
    pub const FRAMES_MAX: u32 = 1 << 25;
    /// A set with fewer would have nothing to choose from.
    pub const FRAMES_PER_SET_MIN: u32 = 4;
    /// The most working sets.
    pub const WORKING_SETS_MAX: u32 = 256;
    /// The most writers, as in Oracle.
    pub const WRITERS_MAX: u32 = 100;
    /// The largest batch.
    pub const BATCH_BLOCKS_MAX: u32 = 4_096;

    /// As many batches of a writer can be on their way at once.
    pub const FLYING_MAX: u32 = 3;

    /// Bytes of the doublewrite file with which no batch waits for a region of it.
    pub fn doublewrite_bytes(&self) -> u64 {
        self.doublewrite_bytes_min() * u64::from(CacheConfig::FLYING_MAX)
    }

    /// Bytes that the doublewrite file must have: a region for each writer.
    pub(crate) fn doublewrite_bytes_min(&self) -> u64 {
        u64::from(self.writers_max) * self.region_bytes() as u64
    }

    /// Bytes of one region of the doublewrite file, so the most in one batch.
    pub(crate) fn region_bytes(&self) -> usize {
        self.batch_blocks as usize * self.block_size.bytes()
    }

    /// Frames in the cache, with memory or without.
    pub(crate) fn frames_in_all(&self) -> u32 {
        let others: u32 = self.pools.iter().map(|pool| pool.frames).sum();
        self.frames_max.max(self.frames + others)
    }

    /// Bytes of memory that a cache like this takes when all its buffers are in use, about.
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

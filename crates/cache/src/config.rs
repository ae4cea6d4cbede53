//! How large a cache is, how it is divided, and how its blocks are written.
//!
//! Limits are asserted: whoever takes values from a user checks them against the constants first.
//!
//! Callers: the instance, tests.

use ids::BlockSize;
use os::{FilesystemIo, RingConfig};

/// Precautions that a test may leave out, one at a time, to see that it would notice. Outside of
/// tests there is only `None`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Sabotage {
    /// All precautions are taken.
    #[default]
    None,
    /// Blocks are written at home without a copy in the doublewrite file.
    #[cfg(feature = "sabotage")]
    SkipDoublewriteWrite,
    /// The copies aren't synced before the blocks are written at home.
    #[cfg(feature = "sabotage")]
    SkipDoublewriteSync,
    /// Blocks count as written though their file wasn't synced.
    #[cfg(feature = "sabotage")]
    SkipDataSync,
    /// Blocks are written before the redo of their changes is durable.
    #[cfg(feature = "sabotage")]
    IgnoreGate,
}

/// A cache's dimensions and ways. Start from [`CacheConfig::default`] and change fields.
#[derive(Clone, Debug)]
pub struct CacheConfig {
    /// Of every data file.
    pub block_size: BlockSize,
    /// Buffers in the cache.
    pub frames: u32,
    /// Working sets: each has lists of its own. Independent of the number of writers, so that more
    /// writers don't also mean another replacement.
    pub working_sets: u32,
    /// Database writers; set `s` belongs to writer `s % writers`. `db_writer_processes`.
    pub writers: u32,
    /// Regions of the doublewrite file, so the most writers that its size allows.
    pub writers_max: u32,
    /// Blocks that a writer writes before it syncs.
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
    /// What a test leaves out.
    pub sabotage: Sabotage,
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

    /// Slots, each for one block, that the doublewrite file must have.
    pub fn doublewrite_slots(&self) -> u32 {
        self.writers_max * self.batch_blocks
    }

    /// Bytes that the doublewrite file must have.
    pub fn doublewrite_bytes(&self) -> u64 {
        u64::from(self.doublewrite_slots()) * self.block_size.bytes() as u64
    }

    /// # Panics
    /// When a value is beyond its limit, or two don't go together.
    pub(crate) fn assert_sound(&self) {
        let sets = self.working_sets;
        assert!((1..=CacheConfig::WORKING_SETS_MAX).contains(&sets), "{sets} working sets");
        let frames = self.frames;
        assert!(frames <= CacheConfig::FRAMES_MAX, "{frames} frames");
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
            working_sets: 8,
            writers: 1,
            writers_max: 8,
            batch_blocks: 128,
            ring_depth: 128,
            io_slaves: 0,
            filesystem_io: FilesystemIo::SetAll,
            doublewrite: true,
            sabotage: Sabotage::None,
        }
    }
}

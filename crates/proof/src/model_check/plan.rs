//! What a seed decides: the database, how its instance runs, and what sessions do.

use ids::BlockSize;
use instance::{Creation, Parameters, Sabotage};
use os::probe::DurableWrite;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sim::Perturbation;

/// Blocks of a database that can't grow: its undo is overwritten, and rows find no room.
const TIGHT_BLOCKS: u64 = 360;
/// And so many it has for undo.
const TIGHT_UNDO_BLOCKS: u64 = 90;

/// What a seed decides.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) creation: Creation,
    pub(crate) parameters: Parameters,
    pub(crate) perturbation: Perturbation,
    pub(crate) sessions: u32,
    pub(crate) heaps: usize,
    /// About so many rows has each heap.
    pub(crate) rows: u64,
    /// Whether the database can't grow.
    pub(crate) tight: bool,
    /// Whether some commits don't wait to be durable.
    pub(crate) nowait: bool,
    /// Of eight transactions so many have one snapshot.
    pub(crate) serializable: u32,
    /// Most rows are shorter than this.
    pub(crate) short: usize,
    /// Of sixteen rows so many are of any length, up to three blocks.
    pub(crate) long: u32,
}

impl Plan {
    pub(crate) fn of(seed: u64, sabotage: Sabotage) -> Plan {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x006d_6f64_656c);
        let mut any = |below: u64| random.random_range(0..below);
        let block_size = [BlockSize::KIB_2, BlockSize::KIB_2, BlockSize::KIB_4, BlockSize::KIB_8]
            [any(4) as usize];
        let block = block_size.bytes() as u64;
        let tight = any(6) == 0;
        let sessions = [2_u32, 3, 4, 6, 8, 16][any(6) as usize];
        let enough = u64::from(sessions) * 5;
        let blocks = if tight { TIGHT_BLOCKS } else { 200 };
        let undo = match tight {
            true => (TIGHT_UNDO_BLOCKS * block, 0),
            false => (Creation::default().undo_bytes, Creation::default().undo_bytes_max),
        };
        let creation = Creation {
            db_block_size: block_size,
            undo_bytes: undo.0,
            undo_bytes_max: undo.1,
            data_bytes: blocks * block,
            data_bytes_max: if tight { 0 } else { 20_000 * block },
            data_growth_bytes: 64 * block,
            extent_blocks: 4,
            log_file_bytes: 4096 * u64::from(redo::LOG_BLOCKS_MIN) * (1 + any(3)),
            log_groups: 3,
            undo_segments: 1 + any(3) as u16,
            undo_slots: 2 + any(7) as u16,
            doublewrite_slots: 16,
            ..Creation::default()
        };
        let parameters = Parameters {
            db_cache_size: [enough + 2, enough + 6, enough + 40, 160, 24][any(17) as usize / 4]
                .max(16)
                * block.max(2_048),
            db_working_sets: 2,
            db_writer_batch: 4,
            log_buffer: redo::LOG_BUFFER_BYTES_MIN as u64,
            redo_write: Some(DurableWrite::DirectThenSync),
            redo_consistency: true,
            sabotage,
            ..Parameters::default()
        };
        let races = any(3) > 0;
        Plan {
            creation,
            parameters,
            perturbation: if races { Perturbation::RACES } else { Perturbation::NONE },
            sessions,
            heaps: 2 + any(3) as usize,
            rows: [6, 12, 24, 40][any(4) as usize],
            tight,
            nowait: any(3) == 0,
            serializable: any(7) as u32,
            short: [24, 60, 150, 400][any(4) as usize],
            long: any(4) as u32,
        }
    }
}

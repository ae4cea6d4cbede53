//! What a seed decides: the database, how its instance runs, and what sessions do.

use database::{Creation, ErrorKind, OnDelete, Parameters, SequenceOptions};
use ids::BlockSize;
use os::probe::DurableWrite;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sim::Perturbation;
use stop::Failpoints;

use super::schema::{
    BOSS, CHILD, CODE, CODE_UP, CodeKind, ID, PARENT, Reference, Schema, THIRD, UP,
};
use crate::By;

/// Blocks of a database that can't grow: its undo is overwritten, and rows find no room.
const TIGHT_BLOCKS: u64 = 700;
/// And so many it has for undo.
const TIGHT_UNDO_BLOCKS: u64 = 90;

/// Of 1,024 interleaving points so many are paused at, in plans whose windows are long.
const PAUSES_PER_1024: u32 = 8;
/// And at most so long: longer than a commit takes, or a definition.
const PAUSE_NS_MAX: u32 = 1_500_000;

/// What a seed decides.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) creation: Creation,
    pub(crate) parameters: Parameters,
    pub(crate) perturbation: Perturbation,
    pub(super) schema: Schema,
    pub(crate) sessions: u32,
    /// Ids are below this.
    pub(super) ids: i64,
    /// Whether the database can't grow.
    pub(crate) tight: bool,
    /// Whether some commits don't wait to be durable.
    pub(super) nowait: bool,
    /// Of eight transactions so many have one snapshot.
    pub(super) serializable: u64,
    /// Most notes are shorter than this.
    pub(super) short: u64,
    /// Of sixteen notes so many are of any length, up to three blocks.
    pub(super) long: u64,
    /// Between transactions one in so many statements defines something; 0 is none.
    pub(super) define: u64,
    /// Whether sessions use savepoints that aren't theirs, panic in their own closures and forget
    /// transactions.
    pub(super) misuse: bool,
    /// Undo segments that can give out so many more names to each slot; none: they are new.
    pub(super) names_left: Option<u32>,
    /// Whether there are as many segments as there can be: then names are used up sometime.
    pub(super) worn: bool,
    /// Whether the cache becomes smaller and larger while sessions work.
    pub(super) shrinks: bool,
    /// Whether one session fills undo with what it rolls back: nobody waits for the redo of that.
    pub(super) rolls_back: bool,
    /// Whether many small rows take the room of a few large ones, and go again.
    pub(super) crams: bool,
    /// Whether rows are loaded into new blocks, rather than inserted by arrays.
    pub(super) loads: bool,
    /// Whether calls are cancelled, and have little time, at random moments.
    pub(super) cancels: bool,
    /// How sessions ask for what they do.
    pub(super) by: By,
}

/// Of so many seeds one has an old database, one a cache that changes, one rolls back most of what
/// it does, and one fills blocks with small rows in place of large ones.
pub(super) const SPECIAL_ONE_IN: u64 = 8;
const OLD: u64 = 7;
const SHRINKS: u64 = 3;
const ROLLS_BACK: u64 = 5;
const CRAMS: u64 = 1;
/// And two load rows into new blocks.
const LOADS: [u64; 2] = [2, 6];
/// Blocks for undo that rolled-back transactions fill again and again.
const LITTLE_UNDO_BLOCKS: u64 = 28;
/// Sessions where the cache changes, so that more transactions are active than the smallest one has
/// buffers for.
const SESSIONS_MANY: u32 = 8;
/// Buffers of the smallest cache of two working sets.
pub(super) const BUFFERS_MIN: u64 = 16;
/// A transaction needs so many buffers (rule txn/TX5).
pub(super) const BUFFERS_EACH: u64 = 5;

impl Plan {
    pub(crate) fn of(seed: u64, failpoints: Failpoints) -> Plan {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x006d_6f64_656c);
        let mut any = |below: u64| random.random_range(0..below);
        let size = [BlockSize::KIB_2, BlockSize::KIB_2, BlockSize::KIB_2, BlockSize::KIB_4]
            [any(4) as usize];
        let tight = any(6) == 0;
        let sessions = [1_u32, 2, 2, 3, 4, 6, 8][any(7) as usize];
        let creation = creation(size, tight, &mut any);
        let buffers = [48, 64, 96, 160][any(4) as usize].max(u64::from(sessions) * 12);
        let parameters = Parameters {
            db_cache_size: buffers * size.bytes() as u64,
            db_working_sets: 2,
            db_writer_batch: 4,
            log_buffer: redo::LOG_BUFFER_BYTES_MIN as u64,
            redo_write: Some(DurableWrite::DirectThenSync),
            redo_consistency: true,
            failpoints,
            ..Parameters::default()
        };
        let perturbation = match any(6) {
            0 | 1 => Perturbation::NONE,
            2..5 => Perturbation::RACES,
            _ => Perturbation {
                delays_per_1024: PAUSES_PER_1024,
                delay_ns_max: PAUSE_NS_MAX,
                ..Perturbation::RACES
            },
        };
        Plan {
            creation,
            parameters,
            perturbation,
            schema: schema(&mut any),
            sessions,
            ids: [3, 6, 12, 30, 60, 300][any(6) as usize],
            tight,
            nowait: any(3) == 0,
            serializable: [0, 2, 4, 6, 8][any(5) as usize],
            short: [8, 24, 60, 150, 400][any(5) as usize],
            long: any(4),
            define: [0, 24, 8][any(3) as usize],
            misuse: any(3) == 0,
            names_left: None,
            worn: false,
            shrinks: false,
            rolls_back: false,
            crams: false,
            loads: false,
            cancels: false,
            by: By::Api,
        }
    }

    /// As [`Plan::of`], and for some seeds what is only met in an old database, while the cache
    /// changes, where nobody waits for redo, or in blocks that are full to the last byte.
    pub(super) fn with_specials(seed: u64, failpoints: Failpoints) -> Plan {
        let mut plan = Plan::of(seed, failpoints);
        let draw = seed / SPECIAL_ONE_IN;
        match seed % SPECIAL_ONE_IN {
            OLD => {
                plan.names_left = Some((draw % 3) as u32);
                plan.worn = draw % 2 == 1;
                if plan.worn {
                    let segments = plan.buffers() / BUFFERS_EACH;
                    plan.creation.undo_segments = segments as u16;
                }
            }
            SHRINKS => {
                plan.shrinks = true;
                plan.sessions = SESSIONS_MANY;
                let least = u64::from(SESSIONS_MANY) * 12 * plan.block();
                plan.parameters.db_cache_size = plan.parameters.db_cache_size.max(least);
            }
            ROLLS_BACK => {
                plan.rolls_back = true;
                plan.perturbation = Perturbation::NONE;
                plan.sessions = 1;
                (plan.tight, plan.nowait) = (true, true);
                plan.creation.undo_bytes = LITTLE_UNDO_BLOCKS * plan.block();
                plan.creation.undo_bytes_max = 0;
                plan.creation.undo_segments = 1;
                plan.ids = plan.ids.max(30);
                plan.parameters.log_buffer = 16 * redo::LOG_BUFFER_BYTES_MIN as u64;
                (plan.serializable, plan.define) = (0, 0);
            }
            CRAMS => {
                plan.crams = true;
                plan.sessions = plan.sessions.min(2);
                (plan.ids, plan.short, plan.long) = (300, 400, 0);
            }
            special => plan.loads = LOADS.contains(&special),
        }
        plan
    }

    pub(super) fn block(&self) -> u64 {
        self.creation.db_block_size.bytes() as u64
    }

    /// Of the cache, as it is opened.
    pub(super) fn buffers(&self) -> u64 {
        self.parameters.db_cache_size / self.block()
    }

    /// Whether there may be no room for rows or undo, no name for one more transaction, or no
    /// buffer.
    pub(super) fn may_lack(&self, kind: ErrorKind) -> bool {
        match kind {
            ErrorKind::NoSpace => self.tight || self.worn || self.shrinks,
            ErrorKind::NoBuffer => self.shrinks,
            _ => false,
        }
    }
}

fn creation(size: BlockSize, tight: bool, any: &mut dyn FnMut(u64) -> u64) -> Creation {
    let block = size.bytes() as u64;
    let (undo_bytes, undo_bytes_max) = match tight {
        true => (TIGHT_UNDO_BLOCKS * block, 0),
        false => (Creation::default().undo_bytes, Creation::default().undo_bytes_max),
    };
    Creation {
        db_block_size: size,
        undo_bytes,
        undo_bytes_max,
        data_bytes: if tight { TIGHT_BLOCKS } else { 400 } * block,
        data_bytes_max: if tight { 0 } else { 20_000 * block },
        data_growth_bytes: 64 * block,
        extent_blocks: 4,
        log_file_bytes: 4096 * u64::from(redo::LOG_BLOCKS_MIN) * (1 + any(3)),
        log_groups: 3,
        undo_segments: 1 + any(3) as u16,
        undo_slots: 1 + any(8) as u16,
        doublewrite_slots: 16,
        ..Creation::default()
    }
}

fn schema(any: &mut dyn FnMut(u64) -> u64) -> Schema {
    const ACTIONS: [OnDelete; 3] = [OnDelete::NoAction, OnDelete::Cascade, OnDelete::SetNull];
    const KINDS: [CodeKind; 2] = [CodeKind::Varchar, CodeKind::Char];
    let codes = KINDS[any(2) as usize];
    let child_first = any(3) == 0;
    let differ = any(4) == 0;
    let code_ups = KINDS[usize::from(differ) ^ codes as usize];
    let mut references = Vec::new();
    let all = [
        (PARENT, BOSS, PARENT, ID),
        (CHILD, UP, PARENT, ID),
        (CHILD, CODE_UP, PARENT, CODE),
        (CHILD, BOSS, CHILD, ID),
        (THIRD, UP, CHILD, ID),
        (THIRD, CODE_UP, PARENT, CODE),
        (THIRD, BOSS, THIRD, ID),
    ];
    for (table, column, to, to_column) in all {
        if any(4) > 0 {
            let trims =
                to_column == CODE && (codes == CodeKind::Char || code_ups == CodeKind::Char);
            let on_delete = ACTIONS[any(3) as usize];
            references.push(Reference { table, column, to, to_column, on_delete, trims });
        }
    }
    let stamps = SequenceOptions {
        increment: Some([1, -3, 7][any(3) as usize]),
        cache: Some([1, 2, 20][any(3) as usize]),
        ..SequenceOptions::default()
    };
    Schema { codes, code_ups, references, pairs: any(2) == 0, child_first, stamps }
}

//! What a seed decides: the database, how its instance runs, and what sessions do.

use database::{Creation, OnDelete, Parameters, SequenceOptions};
use ids::BlockSize;
use os::probe::DurableWrite;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sim::Perturbation;
use stop::Failpoints;

use super::schema::{
    BOSS, CHILD, CODE, CODE_UP, CodeKind, ID, LATER, LATER_MANY, PARENT, Reference, Schema, THIRD,
    UP,
};

/// Blocks of a database that can't grow: its undo is overwritten, and rows find no room.
const TIGHT_BLOCKS: u64 = 700;
/// And so many it has for undo.
const TIGHT_UNDO_BLOCKS: u64 = 90;

/// Of 1,024 interleaving points so many are paused at, in plans whose windows are long.
const PAUSES_PER_1024: u32 = 8;
/// And at most so long: longer than a commit takes, or a definition.
const PAUSE_NS_MAX: u32 = 1_500_000;

/// One seed in so many has a focus.
const FOCUS_ONE_IN: u64 = 8;

/// With a focus on what is over at once, so many points of 1,024 are paused at ...
const FOCUS_PAUSES_PER_1024: u32 = 48;
/// ... and at most so long: about as long as a commit takes.
const FOCUS_PAUSE_NS_MAX: u32 = 800_000;

/// Blocks for undo that rolled-back transactions fill again and again.
const LITTLE_UNDO_BLOCKS: u64 = 28;

/// A state that sessions hardly ever come to by chance alone: what a plan has for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Focus {
    /// None: chance alone.
    All,
    /// A slot is used again while a reader asks about the commit that it found under way there.
    Slots,
    /// Columns are added, and get values, while reads begin.
    Columns,
    /// Undo is overwritten, and no redo is waited for: one session rolls back again and again.
    Rollbacks,
}

impl Focus {
    fn of(seed: u64) -> Focus {
        match seed % FOCUS_ONE_IN == FOCUS_ONE_IN - 1 {
            true => {
                let each = [Focus::Slots, Focus::Columns, Focus::Rollbacks];
                each[(seed / FOCUS_ONE_IN % 3) as usize]
            }
            false => Focus::All,
        }
    }
}

/// What a seed decides.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// What it is about, beside everything.
    pub(super) focus: Focus,
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
}

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
        let mut plan = Plan {
            focus: Focus::of(seed),
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
        };
        plan.take_focus();
        plan
    }

    /// What is drawn by chance in other plans is as it has to be.
    fn take_focus(&mut self) {
        let pauses = Perturbation {
            delays_per_1024: FOCUS_PAUSES_PER_1024,
            delay_ns_max: FOCUS_PAUSE_NS_MAX,
            ..Perturbation::RACES
        };
        let block = self.creation.db_block_size.bytes() as u64;
        match self.focus {
            Focus::All => {}
            Focus::Slots => {
                self.perturbation = pauses;
                self.sessions = self.sessions.max(4);
                (self.creation.undo_segments, self.creation.undo_slots) = (1, 1);
                self.set_buffers(0);
                self.nowait = true;
                self.serializable = self.serializable.min(2);
            }
            Focus::Columns => {
                self.perturbation = pauses;
                self.sessions = self.sessions.max(4);
                self.set_buffers(96);
                self.define = 8;
                self.schema.later = LATER_MANY;
                self.serializable = self.serializable.min(2);
            }
            Focus::Rollbacks => {
                self.perturbation = Perturbation::NONE;
                self.sessions = 1;
                (self.tight, self.nowait) = (true, true);
                self.creation.undo_bytes = LITTLE_UNDO_BLOCKS * block;
                self.creation.undo_bytes_max = 0;
                self.creation.undo_segments = 1;
                self.ids = self.ids.max(30);
                self.parameters.log_buffer = 16 * redo::LOG_BUFFER_BYTES_MIN as u64;
                self.serializable = 0;
                self.define = 0;
            }
        }
    }

    /// So many, or as few as its sessions can do with.
    fn set_buffers(&mut self, wanted: u64) {
        let buffers = wanted.max(u64::from(self.sessions) * 12);
        let block = self.creation.db_block_size.bytes() as u64;
        self.parameters.db_cache_size = buffers * block;
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
    let pairs = any(2) == 0;
    Schema { codes, code_ups, references, pairs, child_first, stamps, later: LATER }
}

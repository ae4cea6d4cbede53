//! One cell: sessions that change every row of a table each, and where their time went.
//!
//! Callers: `run`.

use std::sync::Arc;

use database::{ColumnSpec, Database, Row, RowChange, Selection, Table, TableSpec, Type, Value};
use ids::BlockSize;
use instance::{Creation, DataFileSpec, Parameters, TablespaceSpec};
use latch::{Latch, LatchKind, SharedFlag};
use os::{Session, ThreadSpec};
use report::{SessionInterval, Snapshot};
use space::UNDO_TABLESPACE;
use stop::{RefusalKind, Stop};
use waits::{Nanos, SessionKind, WaitEvent};

use super::setting::{Setting, WRITERS_MAX};

const MIB: u64 = 1 << 20;
const BLOCK: u64 = BlockSize::KIB_8.bytes() as u64;
/// With id and n some 28 rows in a block, of which inserts leave a tenth free.
const FILLER_BYTES: u16 = 228;
const ROWS_PER_BLOCK: u64 = 28;
/// Rows of one transaction of the loading.
const LOAD_BATCH: u64 = 1_000;
const TABLESPACE: &str = "users";
/// Data files of the tablespace: the most buffered writes at once where a file admits one.
const FILES: u64 = 12;
/// Files with undo.
const UNDO_FILES: u64 = 4;
const UNDO_FILE_BYTES: u64 = 8 * MIB;

/// The size of the experiment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    /// Sessions at once, each with a table of its own.
    pub sessions: u32,
    /// Rows of each table.
    pub rows: u64,
    /// `db_cache_size`.
    pub cache: u64,
    /// How many times each cell is measured, at most.
    pub rounds: u32,
}

impl Size {
    /// 1,620 blocks of tables, and as much undo again as a quarter of that, in 512 buffers.
    pub const HERE: Size = Size { sessions: 15, rows: 3_000, cache: 4 * MIB, rounds: 10 };
    /// For a model: one round, for a model repeats itself.
    pub const MODELLED: Size = Size { rounds: 1, ..Size::HERE };
    /// The smallest that still fills the cache, for tests.
    pub const TINY: Size = Size { sessions: 12, rows: 1_500, cache: 2 * MIB, rounds: 1 };

    /// Blocks of all tables.
    pub(super) fn blocks(&self) -> u64 {
        u64::from(self.sessions) * self.rows.div_ceil(ROWS_PER_BLOCK)
    }
}

/// One measurement of a cell, in which every session's commit was acknowledged.
pub(super) struct Measurement {
    /// From the first session's begin to the last one's end.
    pub(super) elapsed: Nanos,
    /// Of these sessions, and of the instance's processes.
    pub(super) intervals: Vec<SessionInterval>,
}

pub(super) fn creation(size: Size) -> Creation {
    let file =
        |path: String, bytes: u64| DataFileSpec { path, bytes, bytes_max: 0, growth_bytes: 0 };
    let data_bytes = (size.blocks() * BLOCK * 2 / FILES).next_multiple_of(MIB) + MIB;
    let system_bytes = 8 * MIB;
    let numbered = |name: &str, number: u64| format!("{name}{number:02}.dbf");
    Creation {
        data_bytes: system_bytes,
        undo_bytes: UNDO_FILE_BYTES,
        undo_bytes_max: UNDO_FILE_BYTES,
        undo_segments: size.sessions as u16,
        tablespaces: vec![TablespaceSpec {
            name: TABLESPACE.into(),
            block_size: BlockSize::KIB_8,
            extent_blocks: 8,
            files: (1..=FILES)
                .map(|number| file(numbered(TABLESPACE, number), data_bytes))
                .collect(),
        }],
        extent_blocks: 8,
        // Large enough that logs aren't switched.
        log_file_bytes: 32 * MIB,
        log_groups: 2,
        doublewrite_slots: WRITERS_MAX * Parameters::default().db_writer_batch,
        ..Creation::default()
    }
}

/// The parameters of a cell. Blocks are written once (no doublewrite), as by the original's engine:
/// the cost of writing twice depends on the sizes of batches, and isn't the question here.
pub(super) fn parameters(size: Size, setting: Setting, asynchronous: bool) -> Parameters {
    let mut parameters = Parameters {
        db_cache_size: size.cache,
        db_working_sets: WRITERS_MAX,
        log_checkpoint_timeout: 0,
        doublewrite: false,
        disk_asynch_io: asynchronous,
        ..Parameters::default()
    };
    setting.apply(&mut parameters);
    parameters
}

/// Makes a table for each session and fills it. False if it was told to stop.
pub(super) fn load(
    database: &Database,
    size: Size,
    told_to_stop: &dyn Fn() -> bool,
    session: &Session,
) -> Result<bool, Stop> {
    for number in 2..=UNDO_FILES {
        let path = format!("undo{number:02}.dbf");
        let file = DataFileSpec { path, bytes: UNDO_FILE_BYTES, bytes_max: 0, growth_bytes: 0 };
        database.instance().add_data_file(UNDO_TABLESPACE, &file, session)?;
    }
    let mut connection = database.connect_with(session);
    let filler = "f".repeat(FILLER_BYTES.into());
    for number in 0..size.sessions {
        let column = |name: &str, kind| ColumnSpec::new(name, kind).not_null();
        let spec = TableSpec::new(&table_name(number))
            .column(column("id", Type::BigInt))
            .column(column("n", Type::BigInt))
            .column(column("filler", Type::char(FILLER_BYTES)?));
        let spec = TableSpec { tablespace: Some(TABLESPACE.into()), ..spec };
        let table = connection.create_table(&spec)?;
        for first in (0..size.rows).step_by(LOAD_BATCH as usize) {
            if told_to_stop() {
                return Ok(false);
            }
            let mut tx = connection.begin();
            for id in first..size.rows.min(first + LOAD_BATCH) {
                let row = [Value::Int(id as i64), Value::Int(0), Value::Text(&filler)];
                tx.insert(&table, &row)?;
            }
            tx.commit()?;
        }
    }
    Ok(true)
}

pub(super) fn table_name(number: u32) -> String {
    format!("t{number}")
}

/// Changes every row of every table, each table by a session. None if it was told to stop.
pub(super) fn measure(
    database: &Database,
    size: Size,
    told_to_stop: &dyn Fn() -> bool,
    session: &Session,
) -> Result<Option<Measurement>, Stop> {
    let done = Arc::new(Latch::new(session.os(), LatchKind::Innermost, Vec::new()));
    let stop = Arc::new(SharedFlag::new(false));
    let connection = database.connect_with(session);
    let tables = (0..size.sessions).map(|number| connection.table(&table_name(number)));
    let tables = tables.collect::<Result<Vec<_>, _>>()?;
    let before = Snapshot::take(session, SessionKind::Background);
    let (began, mut threads, mut refused) = (session.now(), Vec::new(), None);
    for (number, table) in tables.into_iter().enumerate() {
        let (database, done, stop) = (database.clone(), Arc::clone(&done), Arc::clone(&stop));
        let body = move |session: &Session| {
            let reading = session.reading();
            let changed = change_all(&database, &table, &stop, session);
            let interval = changed.map(|()| SessionInterval::since(session, &reading));
            done.exclusive(session).push(interval);
        };
        match session.spawn(ThreadSpec::foreground(format!("session{number}")), body) {
            Ok(thread) => threads.push(thread),
            Err(cause) => {
                refused = Some(cause);
                break;
            }
        }
    }
    while threads.iter().any(|thread| !thread.has_ended()) {
        if refused.is_some() || told_to_stop() {
            stop.raise(session);
        }
        session.pause(LOOK, session.waiting(WaitEvent::PlSqlLockTimer));
    }
    for thread in &threads {
        if thread.join(session).is_err() {
            let what = format!("{} panicked", thread.name());
            return Err(Stop::refuse(RefusalKind::WrongState, what));
        }
    }
    if let Some(cause) = refused {
        return Err(cause.into());
    }
    let elapsed = session.now().since(began);
    let after = Snapshot::take(session, SessionKind::Background);
    let ended = std::mem::take(&mut *done.exclusive(session));
    let mut intervals = ended.into_iter().collect::<Result<Vec<_>, _>>()?;
    intervals.extend(after.intervals_since(&before));
    Ok((!told_to_stop()).then_some(Measurement { elapsed, intervals }))
}

/// How often the end of all sessions is checked.
const LOOK: Nanos = Nanos::from_millis(1);

/// `update t set n = n + 1`.
fn change_all(
    database: &Database,
    table: &Table,
    stop: &SharedFlag,
    session: &Session,
) -> Result<(), Stop> {
    let mut connection = database.connect_with(session);
    let mut tx = connection.begin();
    let change = |row: &Row<'_>, change: &mut RowChange<'_>| {
        if stop.is_raised(session) {
            return Err(Stop::refuse(RefusalKind::WrongState, TOLD_TO_STOP));
        }
        change.set(1, Value::Int(row.get_i64(1).unwrap_or_default() + 1))
    };
    match tx.update_where(table, Selection::All, None, change) {
        // The cell is dropped then.
        Err(_) if stop.is_raised(session) => tx.rollback(),
        changed => changed.and_then(|_| tx.commit()),
    }
}

const TOLD_TO_STOP: &str = "the experiment was told to stop";

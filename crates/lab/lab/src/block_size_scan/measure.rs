//! One cell: `select *` to its last row, and what its calls came to.
//!
//! ```text
//!   prepare ─ open ─ fetch ─ fetch ─ … ─ fetch     calls: their time is DB time
//!   ├ Parse ┤ Execute ├─────── Fetch ────────┤     the rest is the client's, here a loop
//! ```
//!
//! Callers: `run`.

use database::{Batch, Connection, Database, Value};
use ids::BlockSize;
use os::{LoggedWaits, Session};
use report::{SessionInterval, Snapshot, TimeProfile};
use serde::Serialize;
use stop::{RefusalKind, Stop};
use waits::{Nanos, SessionKind, Statistic, Timestamp, WaitEvent};

use super::setting::{Setting, table_of};

/// Rows of a fetch.
pub(super) const ARRAY: usize = 100;
/// So many fetches are made before it is asked whether to stop.
const FETCHES: u64 = 100;
/// The most waits of a trace.
const WAITS_MAX: usize = 100_000;
/// The waits for reads of a table.
pub(super) const READS: [WaitEvent; 3] =
    [WaitEvent::DirectPathRead, WaitEvent::DbFileScatteredRead, WaitEvent::DbFileSequentialRead];

/// What the calls of a kind came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub(super) struct Call {
    /// How many there were.
    pub(super) count: u64,
    pub(super) cpu_ns: u64,
    /// Time in the calls: what is between them is the client's.
    pub(super) elapsed_ns: u64,
    /// Blocks read from disk.
    pub(super) disk: u64,
    /// Of these, those read around the cache.
    pub(super) direct: u64,
    /// Consistent gets.
    pub(super) query: u64,
    /// Current gets.
    pub(super) current: u64,
    pub(super) rows: u64,
    /// Reads handed to files, whatever their length.
    pub(super) reads: u64,
    /// Waits for reads: one may be for several that were on their way together.
    pub(super) read_waits: u64,
}

impl Call {
    fn of(count: u64, elapsed: Nanos, rows: u64, interval: &SessionInterval) -> Call {
        let counted = |statistic| interval.totals.statistic(statistic);
        let waits = READS.iter().map(|event| interval.totals.event(*event).count);
        let cpu_ns = TimeProfile::from(&interval.account).cpu_in_all_ns();
        Call {
            count,
            cpu_ns: u64::try_from(cpu_ns).unwrap_or(0),
            elapsed_ns: elapsed.0,
            disk: counted(Statistic::PhysicalReads),
            direct: counted(Statistic::PhysicalReadsDirect),
            query: counted(Statistic::ConsistentGets),
            current: counted(Statistic::CurrentGets),
            rows,
            reads: counted(Statistic::PhysicalReadRequests),
            read_waits: waits.sum(),
        }
    }

    /// Both together.
    pub(super) fn and(self, other: Call) -> Call {
        Call {
            count: self.count + other.count,
            cpu_ns: self.cpu_ns + other.cpu_ns,
            elapsed_ns: self.elapsed_ns + other.elapsed_ns,
            disk: self.disk + other.disk,
            direct: self.direct + other.direct,
            query: self.query + other.query,
            current: self.current + other.current,
            rows: self.rows + other.rows,
            reads: self.reads + other.reads,
            read_waits: self.read_waits + other.read_waits,
        }
    }
}

/// The calls of a query.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub(super) struct Calls {
    pub(super) parse: Call,
    pub(super) execute: Call,
    pub(super) fetch: Call,
}

impl Calls {
    /// All together.
    pub(super) fn total(&self) -> Call {
        self.parse.and(self.execute).and(self.fetch)
    }
}

/// The query, from its first call to the end of its last (LB84).
pub(super) struct Scan {
    pub(super) elapsed: Nanos,
    pub(super) calls: Calls,
    /// When it began, and when the calls of each kind had ended.
    pub(super) began: Timestamp,
    pub(super) ended: [Timestamp; 3],
    /// The session's.
    pub(super) interval: SessionInterval,
}

/// A measured cell.
pub(super) struct Measurement {
    pub(super) scan: Scan,
    /// Of the session, and of the instance's processes.
    pub(super) intervals: Vec<SessionInterval>,
}

/// A scan that was traced.
pub(super) struct TracedScan {
    pub(super) block_size: BlockSize,
    pub(super) scan: Scan,
    pub(super) waits: LoggedWaits,
    /// The lines of its plan.
    pub(super) plan: Vec<String>,
}

/// The text of the query.
pub(super) fn query_of(block_size: BlockSize) -> String {
    format!("select * from {}", table_of(block_size))
}

/// Measures a cell in an instance that was just opened, on tables of so many rows. None if it was
/// told to stop.
pub(super) fn measure(
    database: &Database,
    setting: Setting,
    rows: u64,
    told_to_stop: &dyn Fn() -> bool,
    session: &Session,
) -> Result<Option<Measurement>, Stop> {
    let mut connection = database.connect_with(session);
    let set = format!("alter system set db_file_multiblock_read_count = {}", setting.blocks());
    connection.execute(&set, &[])?;
    let before = Snapshot::take(session, SessionKind::Background);
    let sampled = session.sample_every_wait();
    let scanned = scan(&mut connection, &query_of(setting.block_size), told_to_stop, session);
    drop(sampled);
    let Some(scan) = scanned? else { return Ok(None) };
    check_rows(&scan, setting.block_size, rows)?;
    let after = Snapshot::take(session, SessionKind::Background);
    let mut intervals = vec![scan.interval.clone()];
    intervals.extend(after.intervals_since(&before));
    Ok(Some(Measurement { scan, intervals }))
}

/// Scans a table once more, with every wait kept, and `db_file_multiblock_read_count` left unset
/// (LB87).
pub(super) fn trace(
    database: &Database,
    block_size: BlockSize,
    rows: u64,
    told_to_stop: &dyn Fn() -> bool,
    session: &Session,
) -> Result<Option<TracedScan>, Stop> {
    let (mut connection, text) = (database.connect_with(session), query_of(block_size));
    let sampled = session.sample_every_wait();
    let log = session.log_waits(WAITS_MAX);
    let scanned = scan(&mut connection, &text, told_to_stop, session);
    let waits = log.take();
    drop((log, sampled));
    let Some(scan) = scanned? else { return Ok(None) };
    check_rows(&scan, block_size, rows)?;
    let mut plan = Vec::new();
    for row in connection.query(&format!("explain {text}"), &[])? {
        for value in row? {
            plan.push(match value.get() {
                Value::Text(text) => text.to_owned(),
                other => other.to_string(),
            });
        }
    }
    Ok(Some(TracedScan { block_size, scan, waits, plan }))
}

/// Fetches all rows. None if it was told to stop.
fn scan(
    connection: &mut Connection<'_>,
    text: &str,
    told_to_stop: &dyn Fn() -> bool,
    session: &Session,
) -> Result<Option<Scan>, Stop> {
    let (whole, began) = (session.reading(), session.now());
    let parsed = timed(session, || connection.prepare(text))?;
    let parse_ended = session.now();
    let opened = timed(session, || connection.open(text, &[]))?;
    let execute_ended = session.now();
    let reading = session.reading();
    let (mut batch, mut in_calls) = (Batch::default(), Nanos::ZERO);
    let (mut count, mut rows) = (0_u64, 0);
    let mut goes_on = true;
    while goes_on {
        if count.is_multiple_of(FETCHES) && told_to_stop() {
            connection.close_cursor(&opened.value)?;
            return Ok(None);
        }
        let call_began = session.now();
        goes_on = connection.fetch(&opened.value, ARRAY, &mut batch)?;
        in_calls.0 += session.now().since(call_began).0;
        count += 1;
        rows += batch.len() as u64;
    }
    let ended = session.now();
    let fetched = SessionInterval::since(session, &reading);
    let calls = Calls {
        parse: Call::of(1, parsed.elapsed, 0, &parsed.interval),
        execute: Call::of(1, opened.elapsed, 0, &opened.interval),
        fetch: Call::of(count, in_calls, rows, &fetched),
    };
    Ok(Some(Scan {
        elapsed: ended.since(began),
        calls,
        began,
        ended: [parse_ended, execute_ended, ended],
        interval: SessionInterval::since(session, &whole),
    }))
}

/// What a call returned, how long it took, and the session's books over it.
struct Timed<T> {
    value: T,
    elapsed: Nanos,
    interval: SessionInterval,
}

fn timed<T>(session: &Session, call: impl FnOnce() -> Result<T, Stop>) -> Result<Timed<T>, Stop> {
    let (reading, began) = (session.reading(), session.now());
    let value = call()?;
    let elapsed = session.now().since(began);
    Ok(Timed { value, elapsed, interval: SessionInterval::since(session, &reading) })
}

fn check_rows(scan: &Scan, block_size: BlockSize, rows: u64) -> Result<(), Stop> {
    let found = scan.calls.fetch.rows;
    if found == rows {
        return Ok(());
    }
    let table = table_of(block_size);
    let message = format!("a scan of {table} gave {found} rows, and it was loaded with {rows}");
    Err(Stop::refuse(RefusalKind::Corrupt, message))
}

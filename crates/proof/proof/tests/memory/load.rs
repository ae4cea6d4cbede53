//! A load of everything that could take memory, and what the process takes meanwhile.
//!
//! ```text
//!   fill ten caches ─▶ update at random ─▶ read, by keys, ranges, all ─▶ build an index by a sort
//!      ─▶ updates beside a snapshot that stays ─▶ the same updates again, three times
//!      ─▶ as if killed ─▶ recover ─▶ shut
//!                     after each: VmRSS; and VmHWM, the most there ever was
//! ```
//!
//! Callers: the test `memory`, in a short form; the example `memory`, and through it
//! `cargo xbench soak memory`.

use std::ops::ControlFlow;
use std::path::Path;

use database::{
    Bounds, ColumnSpec, Connection, Database, Direction, Error, IndexSpec, Options, Parameters,
    Table, TableSpec, Type, Value,
};

/// How much is done.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    /// Bytes of the buffer cache.
    pub(crate) cache: u64,
    /// So many times as many bytes are in the table.
    pub(crate) times: u64,
    pub(crate) sessions: i64,
    pub(crate) sort_area: u64,
}

/// What a row comes to with its entries, about.
const ROW_BYTES: u64 = 300;
/// Rows of a transaction.
const BATCH: i64 = 200;

/// Phases that do the same, from the first of which on nothing may grow each time.
const SAME: [&str; 4] =
    ["updated beside a snapshot", "updated again", "updated once more", "updated a last time"];

/// What was seen.
pub(crate) struct Seen {
    /// After each phase: its name, what was resident, and the most until then; in bytes.
    pub(crate) phases: Vec<(&'static str, u64, u64)>,
    /// What the process had before the database was there.
    pub(crate) before: u64,
    pub(crate) rows: i64,
}

impl Seen {
    /// By how much it grew each time, on average, when everything there is had been done before. A
    /// leak grows every time; a heap of a thread that is touched for the first time does so once.
    pub(crate) fn growth(&self) -> u64 {
        let of = |name| {
            let found = self.phases.iter().find(|(phase, ..)| *phase == name);
            found.map_or(0, |(_, now, _)| *now)
        };
        let [first, .., last] = SAME;
        of(last).saturating_sub(of(first)) / (SAME.len() as u64 - 1)
    }

    /// The most there ever was.
    pub(crate) fn most(&self) -> u64 {
        self.phases.iter().map(|(_, _, most)| *most).max().unwrap_or(0)
    }
}

impl Plan {
    fn options(&self) -> Options {
        let parameters = Parameters {
            db_cache_size: self.cache,
            sort_area_size: self.sort_area,
            ..Parameters::default()
        };
        Options { parameters, ..Options::default() }
    }

    fn rows(&self) -> i64 {
        (self.cache * self.times / ROW_BYTES) as i64
    }

    /// What may come on top when the same is done once more, in bytes: of a row that was changed
    /// not even what its address takes.
    pub(crate) fn growth(&self) -> u64 {
        (1 << 20).max(self.cache / 64)
    }

    /// What the process may have at most, in bytes, by the table in the README (rule
    /// database/DB7).
    pub(crate) fn bound(&self, before: u64) -> u64 {
        let parameters = self.options().parameters;
        let buffers = self.cache + self.cache / 8_192 * 512;
        let writers = u64::from(parameters.db_writer_processes)
            * 4
            * u64::from(parameters.db_writer_batch)
            * 8_192;
        // Those that work, the one that defines, and the one that looks on.
        let sessions = (self.sessions as u64 + 2) * SESSION_BYTES;
        let scans = self.sessions as u64 * SCAN_BYTES;
        let versions = self.cache * self.times * 2 / 8_192 * 4;
        let fixed = before + FIXED_BYTES;
        let shared = buffers + parameters.log_buffer + writers + versions;
        fixed + shared + self.sort_area + sessions + scans
    }
}

/// A session: its stack, its buffers for rows.
const SESSION_BYTES: u64 = 1 << 20;
/// A scan around the cache: eight pieces of a MiB.
const SCAN_BYTES: u64 = 8 << 20;
/// Whatever the parameters are.
const FIXED_BYTES: u64 = 12 << 20;

/// VmRSS and VmHWM, in bytes.
fn resident() -> (u64, u64) {
    let text = std::fs::read_to_string("/proc/self/status").expect("Linux says it");
    let of = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name));
        let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
        kib.expect("Linux says it") << 10
    };
    (of("VmRSS:"), of("VmHWM:"))
}

/// Does all of it in this directory, which isn't there.
pub(crate) fn run(
    plan: Plan,
    directory: &Path,
    tell: &mut dyn FnMut(&str, u64, u64),
) -> Result<Seen, Error> {
    let (before, _) = resident();
    let mut seen = Seen { phases: Vec::new(), before, rows: plan.rows() };
    let mut note = |phase: &'static str| {
        let (now, most) = resident();
        tell(phase, now, most);
        seen.phases.push((phase, now, most));
    };
    let database = Database::create(directory, &plan.options())?;
    note("created");
    define(&mut database.connect("define"))?;
    each_session(&database, plan, fill)?;
    note("filled");
    each_session(&database, plan, update)?;
    note("updated");
    each_session(&database, plan, read)?;
    note("read");
    let mut connection = database.connect("define");
    connection.create_index(&IndexSpec::new("late", "item", ["name", "id"]))?;
    drop(connection);
    note("index built");
    let mut reader = database.connect("snapshot");
    let old = reader.begin_serializable()?;
    each_session(&database, plan, update)?;
    old.rollback()?;
    note(SAME[0]);
    for phase in &SAME[1..] {
        each_session(&database, plan, update)?;
        note(phase);
    }
    drop((reader, database));
    let database = Database::open(directory, &plan.options())?;
    note("recovered");
    each_session(&database, plan, read)?;
    note("read again");
    database.shutdown()?;
    Ok(seen)
}

fn define(connection: &mut Connection<'_>) -> Result<(), Error> {
    let item = TableSpec::new("item")
        .column(ColumnSpec::new("id", Type::BigInt).not_null())
        .column(ColumnSpec::new("kind", Type::Integer).not_null())
        .column(ColumnSpec::new("name", Type::varchar(60)?))
        .column(ColumnSpec::new("amount", Type::number(12, 2)?))
        .column(ColumnSpec::new("notes", Type::Text))
        .primary_key(["id"]);
    connection.create_table(&item)?;
    connection.create_index(&IndexSpec::new("by_kind", "item", ["kind", "id"]))
}

/// A session's part of the rows.
struct Part<'p> {
    item: &'p Table,
    own: i64,
    plan: Plan,
}

impl Part<'_> {
    fn ids(&self) -> std::ops::Range<i64> {
        let rows = self.plan.rows() / self.plan.sessions;
        self.own * rows..(self.own + 1) * rows
    }
}

type Work = fn(&mut Connection<'_>, &Part<'_>) -> Result<(), Error>;

fn each_session(database: &Database, plan: Plan, work: Work) -> Result<(), Error> {
    std::thread::scope(|scope| {
        let sessions: Vec<_> = (0..plan.sessions)
            .map(|own| {
                scope.spawn(move || {
                    let mut connection = database.connect("worker");
                    let item = &connection.table("item")?;
                    work(&mut connection, &Part { item, own, plan })
                })
            })
            .collect();
        let ended = sessions.into_iter().map(|one| one.join().expect("no session panics"));
        ended.collect()
    })
}

fn fill(connection: &mut Connection<'_>, part: &Part<'_>) -> Result<(), Error> {
    let mut ids = part.ids();
    while !ids.is_empty() {
        let mut tx = connection.begin();
        for id in ids.by_ref().take(BATCH as usize) {
            let name = format!("name {:x} of item {id}", mixed(id));
            let notes = "n".repeat(100 + (mixed(id) % 60) as usize);
            let kind = Value::Int((mixed(id) % 1_000) as i64);
            let row =
                [Value::Int(id), kind, Value::Text(&name), Value::Int(id), Value::Text(&notes)];
            tx.insert(part.item, &row)?;
        }
        tx.commit()?;
    }
    Ok(())
}

/// One row in eight, anywhere; its key in an index changes, and some rows grow out of their blocks.
fn update(connection: &mut Connection<'_>, part: &Part<'_>) -> Result<(), Error> {
    let rows = part.plan.rows() / part.plan.sessions;
    for round in 0..rows / 8 / BATCH {
        connection.transact(|tx| {
            let mut ids: Vec<i64> = (0..BATCH)
                .map(|n| (mixed(round * BATCH + n + part.own) % rows as u64) as i64)
                .map(|n| part.ids().start + n)
                .collect();
            ids.sort_unstable();
            for id in ids {
                tx.update(part.item, &[Value::Int(id)], |row, change| {
                    let kind = row.get_i64(1).unwrap_or(0);
                    change.set(1, Value::Int((kind + 1) % 1_000))?;
                    match mixed(id) % 16 {
                        0 => change.set(4, Value::Text(&"g".repeat(400))),
                        _ => Ok(()),
                    }
                })?;
            }
            Ok(())
        })?;
    }
    Ok(())
}

fn read(connection: &mut Connection<'_>, part: &Part<'_>) -> Result<(), Error> {
    let by_kind = part.item.index("by_kind")?;
    let mut count = 0;
    for n in 0..2_000 {
        let id = (mixed(n + part.own) % part.plan.rows() as u64) as i64;
        connection.get(part.item, &[Value::Int(id)], |_| ())?;
        let kind = [Value::Int(n % 1_000)];
        let mut left = 50;
        connection.range(
            part.item,
            by_kind,
            &Bounds::equal(&kind),
            Direction::Ascending,
            |_| {
                left -= 1;
                if left > 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            },
        )?;
    }
    connection.scan(part.item, |_| count += 1)?;
    let rows = part.plan.rows() / part.plan.sessions * part.plan.sessions;
    assert_eq!(count, rows, "every row is there");
    Ok(())
}

fn mixed(number: i64) -> u64 {
    let mut mixed = (number as u64).wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

//! Race `update`: 15 sessions at once, each updating all rows of its own table by one statement,
//! against PostgreSQL.
//!
//! Its terms are stated below. The tables together are larger than either's cache.

use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

use bench::Scratch;
use bench::postgres::{Client, Server};
use bench::race::{Metrics, Race, Terms, Workload};
use database::Creation;
use workload::bulk::{Batches, Bulk, CATEGORIES, NOTE};

use super::embedded::{Embedded, cases, with_checkpoint};
use super::{Run, Setup, run_race, told};

const TERMS: Terms = Terms {
    compared: "15 sessions at once each add one to a column of all rows of a table of their own, \
               by one statement and one commit; rows a second are compared. The tables together \
               are larger than either side's cache.",
    rival: "PostgreSQL's tables have the fillfactor at which it was fastest, so that new versions \
            of rows go into the block of the old ones and no index changes (HOT), its WAL is \
            compressed in the way that was fastest, no checkpoint begins by itself, and WAL files \
            are used again. Its tables are vacuumed before every run.",
    timed: "The time ends when the last session's commit is synced. Both sides update everything \
            once before the race, which isn't counted. No checkpoint falls into a run: each side \
            writes all that it left behind after its run, before the other side's, and the rate \
            with the time of that (PostgreSQL's vacuum included) is reported beside.",
    favours: "Both have a cache of 512 MiB, and PostgreSQL besides has the kernel's page cache, \
              which holds all of its tables, while ours are read from the device again. \
              PostgreSQL's vacuum isn't timed; ours needs none.",
};

const SESSIONS: u32 = 15;
const ROWS: i64 = 1_000_000;
const CACHE_BYTES: u64 = 512 << 20;

/// How full PostgreSQL's blocks are loaded.
const FILLFACTOR: u32 = 50;
const GOAL: f64 = 5.0;

/// PostgreSQL as its experts tune it for this: a cache as large as ours, as few checkpoints as
/// ours, no more redo than a single server needs, and redo files that are used again. What is safe
/// is on.
pub(crate) const POSTGRES_SETTINGS: [(&str, &str); 17] = [
    ("shared_buffers", "512MB"),
    ("full_page_writes", "on"),
    ("synchronous_commit", "on"),
    ("fsync", "on"),
    ("wal_level", "minimal"),
    ("max_wal_senders", "0"),
    ("wal_buffers", "64MB"),
    ("wal_compression", "lz4"),
    ("min_wal_size", "8GB"),
    ("max_wal_size", "16GB"),
    ("checkpoint_timeout", "1h"),
    ("checkpoint_completion_target", "0.9"),
    ("bgwriter_delay", "10ms"),
    ("bgwriter_lru_maxpages", "1000"),
    ("maintenance_work_mem", "256MB"),
    ("autovacuum", "off"),
    ("jit", "off"),
];

pub(crate) fn run(setup: &Setup) -> Run {
    let scratch = Scratch::create(&setup.directory)?;
    let creation = Creation {
        data_bytes: 3 << 30,
        data_bytes_max: 30 << 30,
        undo_bytes: 2 << 30,
        undo_bytes_max: 30 << 30,
        log_file_bytes: 2 << 30,
        ..Creation::default()
    };
    let embedded = Embedded::create(&scratch, CACHE_BYTES, creation)?;
    let tables = load_ours(&embedded)?;
    let server = match setup.has_rival() {
        true => Some(Server::start(&scratch, &POSTGRES_SETTINGS)?),
        false => None,
    };
    let clients = server.as_ref().map(load_postgres).transpose()?.unwrap_or_default();
    let mut settings = server.as_ref().map(Server::settings).unwrap_or_default();
    settings.push(Embedded::settings(CACHE_BYTES));
    settings.push("redo logs of 2 GiB, so that they don't switch within a run".into());
    settings.push(format!("{SESSIONS} tables of {ROWS} rows of about 100 bytes, primary keys"));
    update_ours(&embedded, &tables)?;
    if !clients.is_empty() {
        update_postgres(&clients)?;
    }
    let name = "15 sessions";
    let workload = Workload {
        name: name.into(),
        settings: vec![format!(
            "UPDATE item<n> SET amount = amount + 1, a session a table; PostgreSQL's tables WITH \
             (fillfactor = {FILLFACTOR})"
        )],
        cases: cases(name, "rows/s", Some(GOAL)),
        ours: Box::new(|_| update_ours(&embedded, &tables)),
        rival: Box::new(|_| update_postgres(&clients)),
    };
    let race = Race {
        name: "update".into(),
        description: "every row of 15 tables, larger than the cache, against PostgreSQL".into(),
        terms: TERMS,
        settings,
        workloads: vec![workload],
    };
    let outcome = run_race(race, setup);
    drop(tables);
    embedded.shut()?;
    outcome
}

fn load_ours(embedded: &Embedded) -> bench::Result<Vec<Bulk>> {
    let mut connection = embedded.connect();
    let batches = Batches { statement: 1_000, transaction: 10_000 };
    let load = |number| {
        let bulk = Bulk::create(&mut connection, &format!("item{number}"))?;
        bulk.insert(&mut connection, 1..ROWS + 1, batches).map(|()| bulk)
    };
    let tables = (0..SESSIONS).map(load).collect::<Result<_, _>>().map_err(told)?;
    drop(connection);
    embedded.checkpoint()?;
    Ok(tables)
}

fn load_postgres(server: &Server<'_>) -> bench::Result<Vec<Mutex<Client>>> {
    let load = |number| {
        let mut client = server.connect()?;
        client.run(&format!(
            "CREATE TABLE item{number} (id bigint PRIMARY KEY, category bigint NOT NULL,
                                        amount bigint NOT NULL, note varchar(100) NOT NULL)
                 WITH (fillfactor = {FILLFACTOR});
             INSERT INTO item{number} SELECT id, id % {CATEGORIES}, 0, '{NOTE}'
                 FROM generate_series(1, {ROWS}) AS id;"
        ))?;
        Ok(Mutex::new(client))
    };
    let clients: Vec<_> = (0..SESSIONS).map(load).collect::<bench::Result<_>>()?;
    settle_postgres(&clients)?;
    Ok(clients)
}

fn update_ours(embedded: &Embedded, tables: &[Bulk]) -> bench::Result<Metrics> {
    let database = &embedded.database;
    let update = |bulk: &Bulk| {
        let updated = bulk.update_all(&mut database.connect("update")).map_err(told)?;
        match updated == ROWS as u64 {
            true => Ok(()),
            false => Err(format!("updated {updated} rows of {ROWS}").into()),
        }
    };
    all_at_once(tables, update, || embedded.checkpoint())
}

fn update_postgres(clients: &[Mutex<Client>]) -> bench::Result<Metrics> {
    let numbered: Vec<_> = clients.iter().enumerate().collect();
    let update = |(number, client): &(usize, &Mutex<Client>)| {
        let update = format!("UPDATE item{number} SET amount = amount + 1;");
        locked(client).run(&update).map(|_| ())
    };
    all_at_once(&numbered, update, || settle_postgres(clients))
}

/// Makes room in all tables, and writes all that is dirty.
fn settle_postgres(clients: &[Mutex<Client>]) -> bench::Result<()> {
    for (number, client) in clients.iter().enumerate() {
        locked(client).run(&format!("VACUUM item{number};"))?;
    }
    locked(&clients[0]).run("CHECKPOINT;").map(|_| ())
}

fn locked(client: &Mutex<Client>) -> MutexGuard<'_, Client> {
    client.lock().expect("whoever has it doesn't panic")
}

/// Has a thread for each do the work, and measures until the last has done it; then the checkpoint.
fn all_at_once<T: Sync>(
    with: &[T],
    work: impl Fn(&T) -> bench::Result<()> + Sync,
    checkpoint: impl FnOnce() -> bench::Result<()>,
) -> bench::Result<Metrics> {
    let began = Instant::now();
    std::thread::scope(|scope| {
        let threads: Vec<_> = with.iter().map(|one| scope.spawn(|| work(one))).collect();
        let ended: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
        ended
            .into_iter()
            .try_for_each(|ended| ended.map_err(|_| "a session panicked".to_owned())?)
    })?;
    let took = began.elapsed();
    let rows = ROWS as f64 * f64::from(SESSIONS);
    with_checkpoint(rows / took.as_secs_f64(), took, checkpoint)
}

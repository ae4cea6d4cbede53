//! Race `update`: 15 sessions at once, each updating all rows of its own table by one statement,
//! against PostgreSQL.
//!
//! The tables together are larger than either's cache. PostgreSQL's tables beyond it are in the
//! kernel's page cache, which it has besides; ours are read from the device again. Each run updates
//! everything once; between runs PostgreSQL vacuums, and both write all that is dirty: neither is
//! measured. Time is taken until the last session's commit is durable.

use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

use bench::Scratch;
use bench::postgres::{Client, Server};
use bench::race::{Case, Metrics, Outcome, Race, Workload, metric};
use database::Creation;
use workload::bulk::{Batches, Bulk, CATEGORIES, NOTE};

use super::embedded::Embedded;
use super::{Setup, run_race, told};

const SESSIONS: u32 = 15;
const ROWS: i64 = 1_000_000;
const CACHE_BYTES: u64 = 512 << 20;

/// PostgreSQL as somebody tunes it for this: a cache as large as ours, as few checkpoints as ours,
/// no more redo than a single server needs. What is safe is on.
pub(crate) const POSTGRES_SETTINGS: [(&str, &str); 14] = [
    ("shared_buffers", "512MB"),
    ("full_page_writes", "on"),
    ("synchronous_commit", "on"),
    ("fsync", "on"),
    ("wal_level", "minimal"),
    ("max_wal_senders", "0"),
    ("wal_buffers", "64MB"),
    ("max_wal_size", "16GB"),
    ("checkpoint_timeout", "1h"),
    ("checkpoint_completion_target", "0.9"),
    ("bgwriter_delay", "10ms"),
    ("bgwriter_lru_maxpages", "1000"),
    ("maintenance_work_mem", "256MB"),
    ("autovacuum", "off"),
];

pub(crate) fn run(setup: &Setup) -> bench::Result<Outcome> {
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
    let name = "15 sessions";
    let case = |goal| Case {
        name: name.into(),
        metric: metric::IOPS,
        unit: "rows/s",
        higher_is_better: true,
        goal: Some(goal),
    };
    let workload = Workload {
        name: name.into(),
        settings: vec!["UPDATE item<n> SET amount = amount + 1, a session a table".into()],
        cases: vec![case(1.5)],
        ours: Box::new(|_| update_ours(&embedded, &tables)),
        rival: Box::new(|_| update_postgres(&clients)),
    };
    let race = Race {
        name: "update".into(),
        description: "every row of 15 tables, larger than the cache, against PostgreSQL".into(),
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
                                        amount bigint NOT NULL, note varchar(100) NOT NULL);
             INSERT INTO item{number} SELECT id, id % {CATEGORIES}, 0, '{NOTE}'
                 FROM generate_series(1, {ROWS}) AS id;"
        ))?;
        Ok(Mutex::new(client))
    };
    (0..SESSIONS).map(load).collect()
}

fn update_ours(embedded: &Embedded, tables: &[Bulk]) -> bench::Result<Metrics> {
    embedded.checkpoint()?;
    let database = &embedded.database;
    all_at_once(tables, |bulk| {
        let updated = bulk.update_all(&mut database.connect("update")).map_err(told)?;
        match updated == ROWS as u64 {
            true => Ok(()),
            false => Err(format!("updated {updated} rows of {ROWS}").into()),
        }
    })
}

fn update_postgres(clients: &[Mutex<Client>]) -> bench::Result<Metrics> {
    let numbered: Vec<_> = clients.iter().enumerate().collect();
    for (number, client) in &numbered {
        locked(client).run(&format!("VACUUM item{number};"))?;
    }
    locked(&clients[0]).run("CHECKPOINT;")?;
    all_at_once(&numbered, |(number, client)| {
        let update = format!("UPDATE item{number} SET amount = amount + 1;");
        locked(client).run(&update).map(|_| ())
    })
}

fn locked(client: &Mutex<Client>) -> MutexGuard<'_, Client> {
    client.lock().expect("whoever has it doesn't panic")
}

/// Has a thread for each do the work; the time until the last has done it.
fn all_at_once<T: Sync>(
    with: &[T],
    work: impl Fn(&T) -> bench::Result<()> + Sync,
) -> bench::Result<Metrics> {
    let began = Instant::now();
    std::thread::scope(|scope| {
        let threads: Vec<_> = with.iter().map(|one| scope.spawn(|| work(one))).collect();
        let ended: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
        ended
            .into_iter()
            .try_for_each(|ended| ended.map_err(|_| "a session panicked".to_owned())?)
    })?;
    let rows = ROWS as f64 * f64::from(SESSIONS);
    Ok(Metrics::from([(metric::IOPS, rows / began.elapsed().as_secs_f64())]))
}

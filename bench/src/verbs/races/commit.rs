//! Race `commit`: durable commits through a whole instance against fio's durable 4 KiB writes.
//!
//! Its terms are stated below. Each session has rows and blocks of its own, so no session waits for
//! another but for redo.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bench::Scratch;
use bench::fio::{Durability, Engine, Fio, FioJob, Pattern};
use bench::race::{Case, Metrics, Race, Terms, Turn, Workload, metric};
use database::{
    ColumnSpec, Connection, Creation, Database, Options, Table, TableSpec, Type, Value,
};
use latch::{Latch, LatchKind};
use os::probe::DurableWrite;
use os::{CpuSet, Os, Session, ThreadSpec};
use redo::CommitLeader;
use stop::Stop;
use waits::{Nanos, SessionKind, Timestamp};

use super::{Run, Setup, run_race, told};

const TERMS: Terms = Terms {
    compared: "Ours commits a transaction through a whole instance: an update of one row of 100 \
               bytes, found by its primary key, and a durable commit. fio makes one durable write \
               of 4 KiB. For one session the median times are compared, for 16 our commits a \
               second with fio's writes a second at depth 1.",
    rival: "fio writes in sequence by plain system calls, which cost it less than a ring at depth \
            1, into a file as large as the redo logs, durably in the way that the instance's own \
            probe picked for its redo.",
    timed: "Ours is timed from before the update until the commit has returned, fio from the \
            write until it is durable; both have a warm-up of 100 ms that isn't counted. Nothing \
            is checkpointed in a run. One session and fio share one CPU, another for the next \
            pair; where several threads work for each other, either side may use every CPU.",
    favours: "A transaction is more work than a write: that favours fio. Where fio syncs after \
              its write its time is the sum of the medians of both, which is at most the median \
              of the sum: that favours fio. Sixteen sessions share writes and fio's one job \
              can't: that favours ours, and is what group commit is for.",
};

/// fio's median time, in ours, to reach.
const LATENCY_GOAL: f64 = 0.9;
/// So many commits for each of fio's writes.
const RATE_GOAL: f64 = 8.0;

const DATA_BYTES: u64 = 32 << 20;
const SESSIONS: u64 = 16;
/// More than enough that two sessions' rows don't meet in a block of 8 KiB.
const ROWS_PER_SESSION: u64 = 256;
/// What makes a row 100 bytes long, with its key.
const FILLER_BYTES: usize = 92;
/// Runs before what is measured: threads start, blocks come into the cache.
const WARM_UP: Duration = Duration::from_millis(100);

/// Who commits, and who writes.
struct Spec {
    name: &'static str,
    sessions: u64,
    leader: CommitLeader,
    /// Redo writes in flight, at most, if not as many as the opening's probe allows.
    writes: Option<u32>,
}

const SPECS: [Spec; 5] = [
    Spec { name: "1 session", sessions: 1, leader: CommitLeader::Session, writes: None },
    Spec { name: "16 sessions", sessions: SESSIONS, leader: CommitLeader::Session, writes: None },
    Spec {
        name: "one write, 16 sessions",
        sessions: SESSIONS,
        leader: CommitLeader::Session,
        writes: Some(1),
    },
    Spec { name: "lgwr, 1 session", sessions: 1, leader: CommitLeader::Lgwr, writes: None },
    Spec {
        name: "lgwr, 16 sessions",
        sessions: SESSIONS,
        leader: CommitLeader::Lgwr,
        writes: None,
    },
];

pub(crate) fn run(setup: &Setup) -> Run {
    let fio = Fio::find()?;
    let scratch = Scratch::create(&setup.directory)?;
    let logs = Creation::default();
    let size = logs.log_file_bytes * u64::from(logs.log_groups);
    let file = scratch.lay_out(&["fio"], size)?.remove(0);
    let bench = Bench::open(&scratch.path().join("database")).map_err(told)?;
    let mut workloads = Vec::new();
    for spec in &SPECS {
        let job = job(FioJob::new(file.clone(), size, Pattern::Write, 4096), bench.way, setup);
        let (bench, fio, scratch) = (&bench, &fio, &scratch);
        let cpu = |turn: Turn| spec.is_pinned().then(|| turn.pair % bench.os.cpu_count());
        workloads.push(Workload {
            name: spec.name.into(),
            settings: vec![spec.in_words(), format!("fio: {}", job.settings())],
            cases: vec![spec.case()],
            ours: Box::new(move |turn| {
                bench.run(spec, cpu(turn), turn.seed, setup.plan.length).map_err(told)
            }),
            rival: Box::new(move |turn| {
                let job = FioJob { cpu: cpu(turn), seed: turn.seed as u32, ..job.clone() };
                Ok(fio.run(&job, scratch)?.metrics())
            }),
        });
    }
    let race = Race {
        name: "commit".into(),
        description: "a row updated and committed durably, against a durable 4 KiB write".into(),
        terms: TERMS,
        settings: vec![
            format!("fio: {}", fio.version()),
            format!(
                "the instance: parameters at their defaults; as its probe picked, redo is written \
                 by {}, with up to {} writes in flight",
                bench.way, bench.writes
            ),
            format!("file system: {}", bench::machine::file_system(scratch.path())),
        ],
        workloads,
    };
    let outcome = run_race(race, setup);
    bench.close().map_err(told)?;
    outcome
}

impl Spec {
    fn is_pinned(&self) -> bool {
        self.sessions == 1 && self.leader == CommitLeader::Session
    }

    fn in_words(&self) -> String {
        let who = match self.leader {
            CommitLeader::Session => "who commits writes (the default)",
            CommitLeader::Lgwr => "commit_leader = lgwr",
        };
        let cpus = if self.is_pinned() {
            "each pair on one CPU, the same for both sides"
        } else {
            "every CPU, for both sides"
        };
        format!("ours: {}, {who}; {cpus}", self.name)
    }

    /// As the instance is set up without being told anything; the others are reported beside it.
    fn is_default(&self) -> bool {
        self.leader == CommitLeader::Session && self.writes.is_none()
    }

    fn case(&self) -> Case {
        let name = self.name.into();
        let goal = |goal: f64| self.is_default().then_some(goal);
        match self.sessions {
            1 => Case {
                name,
                metric: metric::DURABLE_US_P50,
                unit: "us p50",
                higher_is_better: false,
                goal: goal(LATENCY_GOAL),
            },
            _ => Case {
                name,
                metric: metric::IOPS,
                unit: "1/s",
                higher_is_better: true,
                goal: goal(RATE_GOAL),
            },
        }
    }
}

/// The same durability for fio, by plain system calls, which cost it less than a ring (RM5).
fn job(job: FioJob, way: DurableWrite, setup: &Setup) -> FioJob {
    let durability =
        if way.needs_sync() { Durability::Fdatasync { every: 1 } } else { Durability::ODsync };
    FioJob {
        runtime: setup.plan.length,
        ramp: WARM_UP,
        direct: way.file_options().direct,
        engine: Engine::Psync,
        durability,
        ..job
    }
}

/// An open database with a row for everybody, and the session that starts the others.
struct Bench {
    os: Os,
    session: Session,
    database: Database,
    table: Table,
    way: DurableWrite,
    /// Redo writes in flight, at most.
    writes: u32,
}

impl Bench {
    fn open(directory: &Path) -> Result<Bench, Stop> {
        let os = os::linux::start();
        let session = os.adopt("race", SessionKind::Foreground);
        let disk = os::linux::disk();
        let creation = Creation { data_bytes: DATA_BYTES, ..Creation::default() };
        let options = Options { creation, ..Options::default() };
        let database = Database::create_in(&disk, directory, &options, &session)?;
        let opened = database.instance().opened();
        let (way, writes) = (opened.redo_write, opened.log_writes_in_flight);
        let table = fill(&mut database.connect_with(&session))?;
        database.instance().checkpoint(&session)?;
        Ok(Bench { os, session, database, table, way, writes })
    }

    /// Sessions commit for `length`; how fast, and how long half of the commits took at most.
    fn run(
        &self,
        spec: &Spec,
        cpu: Option<u32>,
        seed: u64,
        length: Duration,
    ) -> Result<Metrics, Stop> {
        let session = &self.session;
        self.database.instance().redo().set_commit_leader(spec.leader, session);
        self.database
            .instance()
            .redo()
            .set_writes_in_flight(spec.writes.unwrap_or(self.writes), session);
        // Threads start where the one runs that starts them.
        self.os.set_affinity(session.thread(), cpu.map_or(CpuSet::ALL, CpuSet::one))?;
        let begin = session.now().after(nanos(WARM_UP));
        let end = begin.after(nanos(length));
        let done = Arc::new(Latch::new(&self.os, LatchKind::Innermost, Vec::new()));
        let mut threads = Vec::new();
        for number in 0..spec.sessions {
            let client = self.client(number, seed);
            let done = Arc::clone(&done);
            let body = move |session: &Session| {
                let ended = client.run(begin, end, session);
                done.exclusive(session).push(ended);
            };
            let spec = ThreadSpec::foreground(format!("session{number}"));
            threads.push(session.spawn(spec, body)?);
        }
        for thread in threads {
            thread.join(session).expect("a session of the race doesn't panic");
        }
        let ended = std::mem::take(&mut *done.exclusive(session));
        let mut took = Vec::new();
        for each in ended {
            took.extend(each?);
        }
        took.sort_unstable();
        let median = took.get(took.len() / 2).copied().unwrap_or(Nanos::ZERO);
        Ok(Metrics::from([
            (metric::IOPS, took.len() as f64 / length.as_secs_f64()),
            (metric::DURABLE_US_P50, median.0 as f64 / 1e3),
        ]))
    }

    fn client(&self, number: u64, seed: u64) -> Client {
        Client {
            database: self.database.clone(),
            table: self.table.clone(),
            first: number * ROWS_PER_SESSION,
            next: seed,
        }
    }

    fn close(self) -> Result<(), Stop> {
        self.database.shutdown_by(&self.session)
    }
}

/// Makes the table, with its rows.
fn fill(connection: &mut Connection<'_>) -> Result<Table, Stop> {
    let spec = TableSpec::new("rows")
        .column(ColumnSpec::new("id", Type::BigInt))
        .column(ColumnSpec::new("filler", Type::Bytea))
        .primary_key(["id"]);
    let table = connection.create_table(&spec)?;
    let mut tx = connection.begin();
    for id in 0..SESSIONS * ROWS_PER_SESSION {
        tx.insert(&table, &[Value::Int(id as i64), Value::Bytes(&[0; FILLER_BYTES])])?;
    }
    tx.commit()?;
    Ok(table)
}

/// One session's part.
struct Client {
    database: Database,
    table: Table,
    /// The first of its rows, of which it changes half.
    first: u64,
    next: u64,
}

impl Client {
    /// How long each commit took that ended after `begin`.
    fn run(
        mut self,
        begin: Timestamp,
        end: Timestamp,
        session: &Session,
    ) -> Result<Vec<Nanos>, Stop> {
        let mut took = Vec::with_capacity(1 << 16);
        let database = self.database.clone();
        let mut connection = database.connect_with(session);
        let mut now = session.now();
        while now < end {
            let started = now;
            self.commit_one(&mut connection)?;
            now = session.now();
            if now >= begin && now < end {
                took.push(now.since(started));
            }
        }
        Ok(took)
    }

    fn commit_one(&mut self, connection: &mut Connection<'_>) -> Result<(), Stop> {
        self.next = self.next.wrapping_add(1);
        let id = self.first + self.next % (ROWS_PER_SESSION / 2);
        let filler = [self.next as u8; FILLER_BYTES];
        let mut tx = connection.begin();
        let found = tx.update(&self.table, &[Value::Int(id as i64)], |_, change| {
            change.set(1, Value::Bytes(&filler))
        })?;
        assert!(found, "every row was inserted");
        tx.commit()
    }
}

fn nanos(length: Duration) -> Nanos {
    Nanos::from_micros(length.as_micros() as u64)
}

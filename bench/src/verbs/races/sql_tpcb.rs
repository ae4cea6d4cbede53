//! Race `sql-tpcb`: TPC-B's transaction by prepared SQL, against the same by calls of the embedded
//! API: what does SQL cost?
//!
//! Its terms are stated below. Both work on the same tables of one database, in turn.

use std::sync::Arc;
use std::time::Duration;

use bench::Scratch;
use bench::race::{Metrics, Race, Terms, Turn, Workload};
use database::Creation;
use workload::{Drive, TELLERS, Tpcb, TpcbScale, Way};

use super::embedded::{Embedded, cases, nanos, with_checkpoint};
use super::profile::profile_of;
use super::{Run, Setup, run_race, told};

const TERMS: Terms = Terms {
    compared: "Both sides do TPC-B's transaction in this process as often as they can: three \
               updates, a select and an insert by keys, and a commit that is durable when it \
               returns; transactions a second are compared. Ours does it by seven statements of \
               SQL, which each session has prepared once: BEGIN and COMMIT are two of them.",
    rival: "The rival is the embedded API of the same build: calls that take keys and values, and \
            closures that change a row under its latch. It works on the same tables of the same \
            database.",
    timed: "Each run has a warm-up of 200 ms that isn't counted. A transaction's time ends when \
            its commit is synced. No checkpoint falls into a run on either side: each writes all \
            that it left behind after its run, before the other side's, and the rate with the \
            time of that is reported beside.",
    favours: "Neither side is favoured. Most of a transaction's time is that of its commit, which \
              is the same on both sides.",
};

const SCALE: TpcbScale = TpcbScale { branches: 64, accounts: 640_000 };
const CACHE_BYTES: u64 = 512 << 20;
/// Runs before what is measured: threads start, and statements are planned.
const WARM_UP: Duration = Duration::from_millis(200);
const SESSIONS: [u32; 3] = [1, 8, 32];
/// SQL is to do so much of what the API does.
const GOAL: f64 = 0.9;

pub(crate) fn run(setup: &Setup) -> Run {
    let scratch = Scratch::create(&setup.directory)?;
    let (data_bytes, log_file_bytes) = (256 << 20, 256 << 20);
    // A history of some hundred runs has room.
    let (data_bytes_max, undo_bytes_max) = (30 << 30, 4 << 30);
    let creation = Creation {
        data_bytes,
        data_bytes_max,
        undo_bytes_max,
        log_file_bytes,
        ..Creation::default()
    };
    let embedded = Embedded::create(&scratch, CACHE_BYTES, creation)?;
    let tpcb = Arc::new(Tpcb::load(&mut embedded.connect(), SCALE).map_err(told)?);
    embedded.checkpoint()?;
    let sides = Sides { embedded: &embedded, tpcb: &tpcb, length: setup.plan.length };
    let mut workloads = Vec::new();
    for sessions in SESSIONS {
        workloads.push(sides.race(sessions)?);
    }
    let TpcbScale { branches, accounts } = SCALE;
    let race = Race {
        name: "sql-tpcb".into(),
        description: "TPC-B's transaction by prepared SQL, against the embedded API".into(),
        terms: TERMS,
        settings: vec![
            Embedded::settings(CACHE_BYTES),
            format!(
                "{branches} branches, {} tellers, {accounts} accounts, rows of about 100 bytes",
                branches * TELLERS
            ),
            format!("file system: {}", bench::machine::file_system(scratch.path())),
        ],
        workloads,
    };
    let outcome = run_race(race, setup);
    let sums = tpcb.sums(&mut embedded.connect()).map_err(told)?;
    drop(tpcb);
    embedded.shut()?;
    match sums.iter().all(|sum| *sum == sums[0]) {
        true => outcome,
        false => Err(format!("the books don't balance: {sums:?}").into()),
    }
}

/// The database that both ways work on.
#[derive(Clone, Copy)]
struct Sides<'a> {
    embedded: &'a Embedded,
    tpcb: &'a Arc<Tpcb>,
    length: Duration,
}

impl<'a> Sides<'a> {
    fn race(self, sessions: u32) -> bench::Result<Workload<'a>> {
        let name = match sessions {
            1 => "1 session".to_owned(),
            many => format!("{many} sessions"),
        };
        Ok(Workload {
            settings: vec![
                format!("{sessions} threads on either side, every CPU"),
                self.profile(sessions)?,
            ],
            cases: cases(&name, "tx/s", Some(GOAL)),
            name,
            ours: Box::new(move |turn: Turn| self.measured(Way::Sql, sessions, turn.seed)),
            rival: Box::new(move |turn: Turn| self.measured(Way::Api, sessions, turn.seed)),
        })
    }

    fn measured(self, way: Way, sessions: u32, seed: u64) -> bench::Result<Metrics> {
        let ran = self.work(way, sessions, seed)?;
        let work = WARM_UP + self.length;
        with_checkpoint(ran.throughput(), work, || self.embedded.checkpoint())
    }

    /// Where the time of SQL's sessions goes, of a run before the race.
    fn profile(self, sessions: u32) -> bench::Result<String> {
        let ran = self.work(Way::Sql, sessions, 0)?;
        self.embedded.checkpoint()?;
        Ok(profile_of(ran.sessions.iter().map(|session| &session.interval)))
    }

    fn work(self, way: Way, sessions: u32, seed: u64) -> bench::Result<workload::Run> {
        let (warm_up, length) = (nanos(WARM_UP), nanos(self.length));
        let plan = Drive { sessions, first_session: 0, warm_up, length, rate: None };
        let Embedded { database, session } = self.embedded;
        self.tpcb.run(database, way, plan, seed, session).map_err(told)
    }
}

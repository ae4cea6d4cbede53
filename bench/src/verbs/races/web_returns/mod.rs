//! Race `web-returns`: seven million rows of 24 columns, loaded from a file, counted and added up,
//! joined and grouped, against PostgreSQL.
//!
//! ```text
//!   rows ──▶ web_returns.dat ─┬─ external table, CREATE TABLE AS ─▶ ours ───────┐
//!                             └─ COPY ─▶ PostgreSQL: fastest of jit, workers ───┴─▶ same answers?
//! ```
//!
//! Its terms are stated below. The answers of both sides are compared before the race; if they
//! differ there is none.

mod answer;
mod file;
mod ours;
mod postgres;

use std::time::{Duration, Instant};

use bench::Scratch;
use bench::postgres::Server;
use bench::race::{Case, Metrics, Race, Terms, Workload, metric};
use database::Creation;
use workload::web_returns::{ITEMS, ROWS};

use super::embedded::{Embedded, cases};
use super::{Run, Setup, run_race};
use answer::{Answer, comparable};
use ours::Ours;
use postgres::Theirs;

const TERMS: Terms = Terms {
    compared: "Both sides have the same rows of TPC-DS's web_returns and of a table item, without \
               an index that these queries could use but item's primary key. A count and a sum, a \
               join with item, and groups by a column are run as often as they can be; a load \
               makes a new table of a file. Rows a second are compared. Answers are compared \
               before.",
    rival: "PostgreSQL has as large a cache as ours, memory for all hash tables, and is vacuumed, \
            frozen and analyzed. Of each query all of 0 to 3 parallel workers, with and without \
            JIT, are tried before the race, and the fastest is raced. Its load is what its manual \
            advises: COPY with FREEZE into a table that the same transaction made, with \
            wal_level=minimal, so that no row is written to the WAL. What is safe is on.",
    timed: "Queries are warm: all that they read was read before, by each side into its own \
            cache. A run repeats a query for its length, whole queries only. A load's time ends \
            when its commit is durable. No checkpoint falls into a run: each side writes all that \
            it left behind after its run, before the other side's, and the rate of loads with the \
            time of that is reported beside. The file is synced before, and both read it through \
            the kernel's page cache.",
    favours: "PostgreSQL's queries use both CPUs, and ours run in one session's thread: that \
              favours PostgreSQL. Its table is a third longer than ours: that favours ours. Ours \
              writes the redo of all loaded rows, PostgreSQL writes the table itself before its \
              commit: about the same number of bytes. PostgreSQL is asked by psql over a socket, \
              some 50 us a query.",
};

/// Ten times the table and more, so that scans of ours go through the cache.
const CACHE_BYTES: u64 = 10 << 30;
/// The workload that makes a table of the file.
const LOAD: &str = "load";
const LOAD_GOAL: f64 = 1.5;

/// The table to be joined, in words that both sides take.
const ITEM: [&str; 2] = [
    "create table item (i_item_sk integer primary key, i_current_price decimal(7,2), \
     i_category varchar(50))",
    "insert into item select n, (n * 37 % 10000) * 0.01, 'category ' || (n % 10) \
     from generate_series(1, 204000) as g(n)",
];

/// A query, in words that both sides take.
struct Query {
    name: &'static str,
    text: &'static str,
    goal: f64,
}

const QUERIES: [Query; 3] = [
    Query {
        name: "count and sum",
        text: "select count(*), sum(wr_return_amt) from web_returns",
        goal: 1.0,
    },
    Query {
        name: "hash join",
        text: "select count(*), sum(i_current_price) from web_returns \
               join item on i_item_sk = wr_item_sk",
        goal: 0.8,
    },
    Query {
        name: "group by",
        text: "select wr_reason_sk, count(*), sum(wr_return_amt), sum(wr_net_loss) \
               from web_returns group by wr_reason_sk order by wr_reason_sk",
        goal: 0.8,
    },
];

pub(crate) fn run(setup: &Setup) -> Run {
    let scratch = Scratch::create(&setup.directory)?;
    let server = match setup.has_rival() {
        true => Some(Server::start(&scratch, &postgres::settings())?),
        false => None,
    };
    // The server reads the file itself.
    let folder = server.as_ref().map_or(scratch.path(), Server::folder);
    let file = folder.join("web_returns.dat");
    eprintln!("race web-returns: a file of {ROWS} rows");
    file::write(&file, ROWS, setup.plan.seed)
        .map_err(|cause| format!("cannot write {}: {cause}", file.display()))?;
    let creation = Creation {
        data_bytes: 3 << 30,
        data_bytes_max: 30 << 30,
        undo_bytes_max: 4 << 30,
        log_file_bytes: 2 << 30,
        ..Creation::default()
    };
    let embedded = Embedded::create(&scratch, CACHE_BYTES, creation)?;
    eprintln!("race web-returns: both sides load it");
    let ours = Ours::load(&embedded, &file)?;
    let theirs = server.as_ref().map(|server| Theirs::load(server, &file)).transpose()?;
    let sides = Sides { ours: &ours, theirs: theirs.as_ref(), length: setup.plan.length };
    // What isn't asked for needs no minutes before the race either.
    let is_wanted = |name: &str| setup.only.as_deref().is_none_or(|only| name.contains(only));
    let mut workloads = Vec::new();
    for query in QUERIES.iter().filter(|query| is_wanted(query.name)) {
        eprintln!("race web-returns: {}: PostgreSQL's fastest setting is looked for", query.name);
        workloads.push(sides.query(query)?);
    }
    if is_wanted(LOAD) {
        workloads.push(sides.load()?);
    }
    let race = Race {
        name: "web-returns".into(),
        description: "TPC-DS's web_returns: loaded, added up, joined, grouped, against PostgreSQL"
            .into(),
        terms: TERMS,
        settings: settings(server.as_ref()),
        workloads,
    };
    let outcome = run_race(race, setup);
    drop((ours, theirs));
    embedded.shut()?;
    outcome
}

fn settings(server: Option<&Server<'_>>) -> Vec<String> {
    let mut settings = server.map(Server::settings).unwrap_or_default();
    if server.is_some() {
        settings.extend(postgres::reasons());
    }
    settings.push(Embedded::settings(CACHE_BYTES));
    settings.push("redo logs of 2 GiB, so that they don't switch within a load".into());
    settings.push(format!("{ROWS} rows of 24 columns; item has {ITEMS}"));
    settings.extend(ITEM.map(str::to_owned));
    settings
}

/// Both sides, loaded.
#[derive(Clone, Copy)]
struct Sides<'a, 'e> {
    ours: &'a Ours<'e>,
    theirs: Option<&'a Theirs>,
    length: Duration,
}

impl<'a> Sides<'a, '_> {
    fn query(self, query: &'static Query) -> bench::Result<Workload<'a>> {
        let Sides { ours, theirs, length } = self;
        let Query { name, text, goal } = *query;
        // Once to have all in the cache, and once more to be sure.
        ours.query(text)?;
        let answer = ours.query(text)?;
        let mut settings = vec![text.to_owned(), ours.plan(text)?, ours.profile(text)?];
        let mut fastest = None;
        if let Some(theirs) = theirs {
            let found = theirs.fastest(text)?;
            theirs.choose(&found)?;
            check_same(&answer, &theirs.query(text)?)?;
            settings.extend([found.told(), theirs.plan(text)?]);
            fastest = Some(found);
        }
        let rate = metric::IOPS;
        Ok(Workload {
            name: name.into(),
            settings,
            cases: vec![Case {
                name: name.into(),
                metric: rate,
                unit: "rows/s",
                higher_is_better: true,
                goal: Some(goal),
            }],
            ours: Box::new(move |_| repeated(length, || ours.query(text))),
            rival: Box::new(move |_| {
                let (theirs, fastest) = theirs.zip(fastest.as_ref()).expect(STARTED);
                theirs.choose(fastest)?;
                repeated(length, || theirs.query(text))
            }),
        })
    }

    fn load(self) -> bench::Result<Workload<'a>> {
        let Sides { ours, theirs, .. } = self;
        Ok(Workload {
            name: LOAD.into(),
            settings: vec![
                "ours: an external table over the file, CREATE TABLE loaded AS SELECT * from it"
                    .into(),
                "PostgreSQL: BEGIN, CREATE TABLE loaded, COPY FROM the file WITH (FORMAT text, \
                 FREEZE), COMMIT"
                    .into(),
                ours.profile_of_load()?,
            ],
            cases: cases(LOAD, "rows/s", Some(LOAD_GOAL)),
            ours: Box::new(move |_| ours.measure_load()),
            rival: Box::new(move |_| theirs.expect(STARTED).measure_load()),
        })
    }
}

const STARTED: &str = "a race against PostgreSQL has started it";

/// Asks again and again for this long. Rows that were read a second.
fn repeated(
    length: Duration,
    mut ask: impl FnMut() -> bench::Result<Answer>,
) -> bench::Result<Metrics> {
    let (began, mut asked) = (Instant::now(), 0.0);
    loop {
        std::hint::black_box(ask()?);
        asked += 1.0;
        let elapsed = began.elapsed();
        if elapsed >= length {
            let rate = asked * ROWS as f64 / elapsed.as_secs_f64();
            return Ok(Metrics::from([(metric::IOPS, rate)]));
        }
    }
}

/// Refuses answers that differ.
fn check_same(ours: &[String], theirs: &[String]) -> bench::Result<()> {
    let theirs = comparable(theirs);
    match ours == theirs {
        true => Ok(()),
        false => Err(format!("the answers differ: ours {ours:?}, PostgreSQL's {theirs:?}").into()),
    }
}

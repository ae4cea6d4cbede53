//! Race `sql-explain`: what EXPLAIN ANALYZE costs, against the same statement without it.
//!
//! Its terms are stated below. Of a scan the time of the whole statement is compared. Of a lookup
//! the time that its profile says is compared with that of the same lookup by a prepared statement;
//! the whole statement, which is also planned and told in words, is reported beside.

use std::time::{Duration, Instant};

use bench::Scratch;
use bench::race::{Case, Metrics, Race, Terms, Turn, Workload};
use database::{Connection, Creation, Prepared, Value};
use workload::bulk::{Batches, Bulk, Ids, LOOKUP_TEXT};

use super::embedded::Embedded;
use super::profile::profiled;
use super::{Run, Setup, run_race, told};

const TERMS: Terms = Terms {
    compared: "EXPLAIN ANALYZE runs a statement and says what each of its row sources did and \
               where its time went. A scan of a table in the cache, which counts and adds up, is \
               run with it and without it, and the time of the whole statement is compared. Of a \
               lookup by key the time that the profile says, less that of the same lookup by a \
               prepared statement, is compared with a budget of 1 us.",
    rival: "The rival of the scan is the same statement without EXPLAIN ANALYZE, in the same \
            session; that of the lookup is the budget, a constant.",
    timed: "A run scans for its length, whole scans only; or makes 20,000 lookups in either way, \
            200 in turn. Statements are kept by their texts.",
    favours: "The profile of a lookup is that of its row sources: the call's own time (values \
              taken over, the statement found by its text) isn't in it, and is in the lookup \
              without. That favours ours, by some tenths of a microsecond; the whole statement, \
              which EXPLAIN plans anew and tells in words, is reported beside, and that favours \
              the rival.",
};

const ROWS: i64 = 640_000;
/// Ten times the table and more, so that scans go through the cache.
const CACHE_BYTES: u64 = 1 << 30;
const SCAN: &str = "select count(*), sum(amount) from item where category < 900";
/// With it a scan may take 2 % more.
const SCAN_GOAL: f64 = 1.0 / 1.02;
const LOOKUP_BUDGET_NS: f64 = 1_000.0;
/// Lookups in one way before those in the other.
const LOOKUPS: u32 = 200;
const ROUNDS: u32 = 100;

const MS: &str = "ms_per_scan";
const CPU_MS: &str = "cpu_ms_per_scan";
const PROFILE_NS: &str = "ns_more_by_the_profile";
const WHOLE_NS: &str = "ns_more_in_all";

pub(crate) fn run(setup: &Setup) -> Run {
    let scratch = Scratch::create(&setup.directory)?;
    let creation = Creation { data_bytes: 256 << 20, ..Creation::default() };
    let embedded = Embedded::create(&scratch, CACHE_BYTES, creation)?;
    let bulk = Bulk::create(&mut embedded.connect(), "item").map_err(told)?;
    let batches = Batches { statement: 1_000, transaction: 10_000 };
    bulk.insert(&mut embedded.connect(), 1..ROWS + 1, batches).map_err(told)?;
    embedded.connect().execute("analyze item", &[]).map_err(told)?;
    embedded.checkpoint()?;
    let race = Race {
        name: "sql-explain".into(),
        description: "EXPLAIN ANALYZE, against the same statement without it".into(),
        terms: TERMS,
        settings: vec![
            Embedded::settings(CACHE_BYTES),
            format!("{ROWS} rows of about 100 bytes, in a table with a primary key"),
        ],
        workloads: vec![scans(&embedded, setup)?, lookups(&embedded)?],
    };
    let outcome = run_race(race, setup);
    drop(bulk);
    embedded.shut()?;
    outcome
}

fn scans<'a>(embedded: &'a Embedded, setup: &Setup) -> bench::Result<Workload<'a>> {
    let length = setup.plan.length;
    let (mut explaining, mut plain) = (embedded.connect(), embedded.connect());
    let explained = format!("explain analyze {SCAN}");
    // The first scan of each has the table read into the cache.
    plain.execute(SCAN, &[]).map_err(told)?;
    explaining.execute(&explained, &[]).map_err(told)?;
    let profile = profiled(&embedded.session, || {
        explaining.execute(&explained, &[]).map(drop).map_err(told)
    })?;
    let case = |name: &str, metric, goal| Case {
        name: name.into(),
        metric,
        unit: "ms",
        higher_is_better: false,
        goal,
    };
    Ok(Workload {
        name: "a scan".into(),
        settings: vec![format!("ours: {explained}"), format!("rival: {SCAN}"), profile],
        cases: vec![case("a scan", MS, Some(SCAN_GOAL)), case("CPU of a scan", CPU_MS, None)],
        ours: Box::new(move |_| scan_for(&mut explaining, &explained, length)),
        rival: Box::new(move |_| scan_for(&mut plain, SCAN, length)),
    })
}

/// Runs a scan again and again for this long.
fn scan_for(
    connection: &mut Connection<'_>,
    text: &str,
    length: Duration,
) -> bench::Result<Metrics> {
    let (began, cpu, mut scans) = (Instant::now(), bench::cpu::own(), 0.0);
    while began.elapsed() < length {
        connection.execute(text, &[]).map_err(told)?;
        scans += 1.0;
    }
    let elapsed = began.elapsed().as_secs_f64();
    let cpu = bench::cpu::own().saturating_sub(cpu).as_secs_f64();
    Ok(Metrics::from([(MS, elapsed * 1e3 / scans), (CPU_MS, cpu * 1e3 / scans)]))
}

fn lookups(embedded: &Embedded) -> bench::Result<Workload<'_>> {
    let mut lookups = Lookups::open(embedded)?;
    let profile = profiled(&embedded.session, || lookups.cost(0).map(drop))?;
    let case = |name: &str, metric, goal| Case {
        name: name.into(),
        metric,
        unit: "ns",
        higher_is_better: false,
        goal,
    };
    Ok(Workload {
        name: "a lookup".into(),
        settings: vec![
            format!("ours: {}", lookups.explained),
            format!("beside: {LOOKUP_TEXT}"),
            format!("rival: a budget of {LOOKUP_BUDGET_NS} ns"),
            profile,
        ],
        cases: vec![
            case("a lookup, more by its profile", PROFILE_NS, Some(1.0)),
            case("a lookup, more in all", WHOLE_NS, None),
        ],
        ours: Box::new(move |turn: Turn| {
            let cost = lookups.cost(turn.seed)?;
            // A ratio needs a value above zero; less than a nanosecond isn't measured.
            let least = |ns: f64| ns.max(1.0);
            let by_profile = least(cost.by_profile_ns);
            Ok(Metrics::from([(PROFILE_NS, by_profile), (WHOLE_NS, least(cost.in_all_ns))]))
        }),
        rival: Box::new(|_| {
            let budget = LOOKUP_BUDGET_NS;
            Ok(Metrics::from([(PROFILE_NS, budget), (WHOLE_NS, budget)]))
        }),
    })
}

/// A connection that looks up rows, with and without EXPLAIN ANALYZE.
struct Lookups<'a> {
    connection: Connection<'a>,
    plain: Prepared,
    explained: String,
}

/// What a lookup takes more with EXPLAIN ANALYZE.
struct Cost {
    by_profile_ns: f64,
    in_all_ns: f64,
}

impl<'a> Lookups<'a> {
    fn open(embedded: &'a Embedded) -> bench::Result<Lookups<'a>> {
        let mut connection = embedded.connect();
        let plain = connection.prepare(LOOKUP_TEXT).map_err(told)?;
        let explained = format!("explain (analyze, format json) {LOOKUP_TEXT}");
        Ok(Lookups { connection, plain, explained })
    }

    fn cost(&mut self, seed: u64) -> bench::Result<Cost> {
        let mut ids = Ids::new(seed, 0, ROWS);
        let (mut plain, mut in_all, mut by_profile) = (0.0, 0.0, 0.0);
        for _ in 0..ROUNDS {
            let began = Instant::now();
            for _ in 0..LOOKUPS {
                let id = [Value::Int(ids.next_id())];
                let mut cursor = self.connection.query_prepared(&self.plain, &id).map_err(told)?;
                cursor.next_row().map_err(told)?.ok_or_else(|| gone("a row"))?;
            }
            plain += began.elapsed().as_secs_f64();
            let began = Instant::now();
            for _ in 0..LOOKUPS {
                let id = [Value::Int(ids.next_id())];
                let mut cursor = self.connection.query(&self.explained, &id).map_err(told)?;
                let row = cursor.next_row().map_err(told)?.ok_or_else(|| gone("a plan"))?;
                by_profile += elapsed_of(row.get::<&str>(0).map_err(told)?)?;
            }
            in_all += began.elapsed().as_secs_f64();
        }
        let lookups = f64::from(ROUNDS) * f64::from(LOOKUPS);
        let plain_ns = plain * 1e9 / lookups;
        Ok(Cost {
            by_profile_ns: by_profile / lookups - plain_ns,
            in_all_ns: in_all * 1e9 / lookups - plain_ns,
        })
    }
}

fn gone(what: &str) -> bench::Error {
    format!("{what} was to be found, and isn't there").into()
}

/// The nanoseconds that a profile in JSON says.
fn elapsed_of(json: &str) -> bench::Result<f64> {
    let behind = json.split_once("\"Elapsed ns\": ").map(|(_, behind)| behind);
    let digits = behind.and_then(|behind| behind.split(|c: char| !c.is_ascii_digit()).next());
    let ns = digits.and_then(|digits| digits.parse().ok());
    ns.ok_or_else(|| format!("EXPLAIN ANALYZE says no elapsed time: {json}").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_elapsed_time_is_read_from_the_profile() {
        let json =
            "[{\"Actual Rows\": 1,\n\"Time Profile\": {\"Elapsed ns\": 1234, \"CPU ns\": 7}}]";
        assert_eq!(elapsed_of(json), Ok(1_234.0));
        assert!(elapsed_of("[]").is_err());
    }
}

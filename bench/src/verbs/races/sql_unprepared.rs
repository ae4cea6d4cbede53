//! Race `sql-unprepared`: what a SELECT of one row costs more if its text is given each time,
//! against a budget.
//!
//! | workload | the text | what it costs more than a prepared one |
//! |---|---|---|
//! | a new text | was never seen | it is parsed, bound, planned, and the plan kept |
//! | the same text again | the session has run it | it is looked up among the session's own |
//! | a text of another session | only another session has run it | its plan is found, and opened |
//!
//! Each run makes lookups by a prepared statement and by texts in turn, some hundred of each, and
//! takes the difference: so both have the same machine, the same cache, the same clock.

use std::time::{Duration, Instant};

use bench::Scratch;
use bench::race::{Case, Metrics, Race, Terms, Turn, Workload};
use database::{Connection, Creation, Cursor, Error, ErrorKind, Prepared, Value};
use workload::bulk::{Batches, Bulk, Ids, LOOKUP_TEXT};

use super::embedded::Embedded;
use super::profile::profiled;
use super::{Run, Setup, run_race, told};

const TERMS: Terms = Terms {
    compared: "A SELECT of two columns of the row with a given key, from a table that is in the \
               cache, is run by its text; what it takes longer than the same as a prepared \
               statement is compared with a budget: 15 us for a text that nobody has run, 1.5 us \
               for one whose plan is kept.",
    rival: "The rival is the budget, a constant.",
    timed: "A run makes 10,000 lookups in either way, 200 in turn, in one thread. The text itself \
            is made before. Of a new text the keeping of its plan counts, and the plan that it \
            drives out.",
    favours: "Neither side is favoured. The goal for a kept plan is that of the session's own \
              texts, where an application's statements are found again; plans of other sessions \
              are reported.",
};

const ROWS: i64 = 640_000;
const CACHE_BYTES: u64 = 512 << 20;
/// Lookups in one way before those in the other.
const LOOKUPS: usize = 200;
const ROUNDS: u32 = 50;
/// Texts whose plans are shared: more than a session keeps for itself, fewer than are kept in all.
const SHARED_TEXTS: usize = 1_000;

const NS: &str = "ns_more_than_prepared";

/// Which texts are run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Texts {
    New,
    Again,
    OfOthers,
}

/// A workload: its name, its texts, its budget, and whether that is a goal.
struct Spec {
    name: &'static str,
    texts: Texts,
    budget_ns: f64,
    goal: Option<f64>,
}

const SPECS: [Spec; 3] = [
    Spec { name: "a new text", texts: Texts::New, budget_ns: 15_000.0, goal: Some(1.0) },
    Spec { name: "the same text again", texts: Texts::Again, budget_ns: 1_500.0, goal: Some(1.0) },
    Spec {
        name: "a text of another session",
        texts: Texts::OfOthers,
        budget_ns: 1_500.0,
        goal: None,
    },
];

pub(crate) fn run(setup: &Setup) -> Run {
    let scratch = Scratch::create(&setup.directory)?;
    let creation = Creation { data_bytes: 256 << 20, ..Creation::default() };
    let embedded = Embedded::create(&scratch, CACHE_BYTES, creation)?;
    let bulk = Bulk::create(&mut embedded.connect(), "item").map_err(told)?;
    let batches = Batches { statement: 1_000, transaction: 10_000 };
    bulk.insert(&mut embedded.connect(), 1..ROWS + 1, batches).map_err(told)?;
    embedded.checkpoint()?;
    let mut workloads = Vec::new();
    for spec in &SPECS {
        workloads.push(workload(&embedded, spec)?);
    }
    let race = Race {
        name: "sql-unprepared".into(),
        description: "a SELECT of one row by its text, against a budget over a prepared one".into(),
        terms: TERMS,
        settings: vec![
            Embedded::settings(CACHE_BYTES),
            format!("{ROWS} rows of about 100 bytes, in a table with a primary key"),
            format!("prepared: {LOOKUP_TEXT}"),
        ],
        workloads,
    };
    let outcome = run_race(race, setup);
    drop(bulk);
    embedded.shut()?;
    outcome
}

fn workload<'a>(embedded: &'a Embedded, spec: &'static Spec) -> bench::Result<Workload<'a>> {
    let Spec { name, texts, budget_ns, goal } = *spec;
    let mut bench = Bench::open(embedded).map_err(told)?;
    let profile = profiled(&embedded.session, || {
        let mut ids = Ids::new(0, 0, ROWS);
        (0..ROUNDS).try_for_each(|_| bench.round(texts, &mut ids).map(drop)).map_err(told)
    })?;
    Ok(Workload {
        name: name.into(),
        settings: vec![format!("rival: a budget of {budget_ns} ns"), profile],
        cases: vec![Case {
            name: format!("{name}, more than prepared"),
            metric: NS,
            unit: "ns",
            higher_is_better: false,
            goal,
        }],
        ours: Box::new(move |turn: Turn| {
            let ns = bench.difference(texts, turn.seed).map_err(told)?;
            // A ratio needs a value above zero; less than a nanosecond isn't measured.
            Ok(Metrics::from([(NS, ns.max(1.0))]))
        }),
        rival: Box::new(move |_| Ok(Metrics::from([(NS, budget_ns)]))),
    })
}

/// A connection, and a second one that plans texts before.
struct Bench<'a> {
    connection: Connection<'a>,
    other: Connection<'a>,
    prepared: Prepared,
    /// The key in the last new text.
    last: i64,
    /// How many texts of others were made.
    shared: usize,
}

/// How long the lookups of a round took.
struct Round {
    prepared: Duration,
    by_text: Duration,
}

impl<'a> Bench<'a> {
    fn open(embedded: &'a Embedded) -> Result<Bench<'a>, Error> {
        let (mut connection, other) = (embedded.connect(), embedded.connect());
        let prepared = connection.prepare(LOOKUP_TEXT)?;
        Ok(Bench { connection, other, prepared, last: 0, shared: 0 })
    }

    /// Nanoseconds that a lookup by such a text takes more than a prepared one.
    fn difference(&mut self, texts: Texts, seed: u64) -> Result<f64, Error> {
        let mut ids = Ids::new(seed, 0, ROWS);
        let (mut prepared, mut by_text) = (Duration::ZERO, Duration::ZERO);
        for _ in 0..ROUNDS {
            let round = self.round(texts, &mut ids)?;
            prepared += round.prepared;
            by_text += round.by_text;
        }
        let more = by_text.as_nanos() as f64 - prepared.as_nanos() as f64;
        Ok(more / (f64::from(ROUNDS) * LOOKUPS as f64))
    }

    fn round(&mut self, texts: Texts, ids: &mut Ids) -> Result<Round, Error> {
        let texts = self.texts(texts, ids)?;
        let mut sum = 0;
        let began = Instant::now();
        for _ in 0..LOOKUPS {
            let id = [Value::Int(ids.next_id())];
            sum += looked(self.connection.query_prepared(&self.prepared, &id)?)?;
        }
        let prepared = began.elapsed();
        let began = Instant::now();
        for Text { text, id } in &texts {
            let values = id.map(Value::Int);
            sum += looked(self.connection.query(text, values.as_slice())?)?;
        }
        let by_text = began.elapsed();
        std::hint::black_box(sum);
        Ok(Round { prepared, by_text })
    }

    /// The texts of a round, and the values for their parameters.
    fn texts(&mut self, texts: Texts, ids: &mut Ids) -> Result<Vec<Text>, Error> {
        let mut all = Vec::with_capacity(LOOKUPS);
        for _ in 0..LOOKUPS {
            all.push(match texts {
                Texts::New => {
                    // Of the keys each is used before one comes again, and by then its plan is
                    // long forgotten.
                    self.last = self.last % ROWS + 1;
                    let text = format!("select amount, note from item where id = {}", self.last);
                    Text { text, id: None }
                }
                Texts::Again => Text { text: LOOKUP_TEXT.to_owned(), id: Some(ids.next_id()) },
                Texts::OfOthers => {
                    let number = self.shared % SHARED_TEXTS;
                    self.shared += 1;
                    let text = format!("select amount, note from item as i{number} where id = $1");
                    self.other.prepare(&text)?;
                    Text { text, id: Some(ids.next_id()) }
                }
            });
        }
        Ok(all)
    }
}

/// A text, with a value for its parameter if it has one.
struct Text {
    text: String,
    id: Option<i64>,
}

/// What a lookup gives.
fn looked(mut cursor: Cursor<'_, '_>) -> Result<i64, Error> {
    match cursor.next_row()? {
        Some(row) => Ok(row.get::<i64>(0)? + row.get::<&str>(1)?.len() as i64),
        None => Err(Error::refuse(ErrorKind::NotFound, "a row that was inserted isn't there")),
    }
}

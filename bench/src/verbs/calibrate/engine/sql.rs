//! What SQL costs beyond the calls below it (rule sql/SQ67): statements on the table of `engine`,
//! and on series.
//!
//! ```text
//!   loop                                cost            what is taken off its CPU
//!   ──────────────────────────────────────────────────────────────────────────────────────────
//!   find a row by its key, prepared     statement       what the simulator charges for the loop,
//!                                                       its gets, and what the find takes by API
//!   the same, summed by row sources     source_start    the same, a statement, and a row_passed
//!                                                       for each of its two sources
//!   sum a series, through a filter      row_passed      the same sum without, and a source_start
//!   prepare a short text                statement_made  the same, its gets, and its bytes
//!   prepare a long text                 statement_byte  a short one; each byte that is more
//! ```
//! Texts that are prepared to be measured come once: no plan of them is known.
//!
//! Callers: `engine`.

use database::{Connection, Prepared, Value};
use os::{Cost, Session};
use stop::Stop;

use super::{Engine, Figure, Turn, median_turn};

/// Operations of a loop in a round.
const LOOKUPS: u32 = 2_000;
const SERIES: u32 = 20;
const TEXTS: u32 = 50;

/// Rows of a series.
const SERIES_ROWS: u32 = 1_000;
/// Rows of a long text, which has 2 KiB.
const LONG_ROWS: u64 = 100;

/// One row, which is found without row sources.
const LOOKUP: &str = "select balance from account where id = $1";
/// The same by two: an index and an aggregate, each of which gives one row.
const SUM: &str = "select sum(balance) from account where id = $1";
const SOURCES_OF_SUM: f64 = 2.0;

/// What the loops of a round took.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SqlLoops {
    lookup: Turn,
    sum: Turn,
    series: Turn,
    filtered: Turn,
    short: Texts,
    long: Texts,
}

/// What it took to prepare a text, and how long a text is.
#[derive(Clone, Copy, Debug, Default)]
struct Texts {
    turn: Turn,
    bytes: f64,
}

impl Engine {
    /// Every loop of SQL once.
    pub(super) fn round_of_sql(&mut self, session: &Session) -> Result<SqlLoops, Stop> {
        let mut connection = self.database.connect_with(session);
        let prepared = connection.prepare(LOOKUP)?;
        let lookup = self.turns(LOOKUPS, session, |engine, _| {
            let key = [engine.key()];
            let mut found = connection.query_prepared(&prepared, &key)?;
            let row = found.next_row()?.expect("every row was loaded");
            std::hint::black_box(row.get::<i64>(0)?);
            Ok(())
        })?;
        let prepared = connection.prepare(SUM)?;
        let sum = self.turns(LOOKUPS, session, |engine, _| {
            let key = [engine.key()];
            one_row(&mut connection, &prepared, &key)
        })?;
        let series = format!("select sum(n) from generate_series(1, {SERIES_ROWS}) as g(n)");
        let prepared = connection.prepare(&format!("{series} where n <> 0"))?;
        let filtered =
            self.turns(SERIES, session, |_, _| one_row(&mut connection, &prepared, &[]))?;
        let prepared = connection.prepare(&series)?;
        let series =
            self.turns(SERIES, session, |_, _| one_row(&mut connection, &prepared, &[]))?;
        let short = self.prepare_texts(short_text, &mut connection, session)?;
        let long = self.prepare_texts(long_text, &mut connection, session)?;
        Ok(SqlLoops { lookup, sum, series, filtered, short, long })
    }

    /// The key of a row.
    fn key(&mut self) -> Value<'static> {
        Value::Int(self.row() as i64)
    }

    /// Prepares texts that were never prepared before.
    fn prepare_texts(
        &mut self,
        text: fn(u64) -> String,
        connection: &mut Connection<'_>,
        session: &Session,
    ) -> Result<Texts, Stop> {
        let first = self.texts;
        self.texts += u64::from(TEXTS);
        let texts: Vec<String> = (first..self.texts).map(text).collect();
        let bytes = texts.iter().map(String::len).sum::<usize>() as f64 / f64::from(TEXTS);
        let mut texts = texts.iter();
        let turn = self.turns(TEXTS, session, |_, _| {
            let text = texts.next().expect("there is one for each turn");
            connection.prepare(text).map(drop)
        })?;
        Ok(Texts { turn, bytes })
    }
}

/// Runs a query of one row to its end.
fn one_row(
    connection: &mut Connection<'_>,
    prepared: &Prepared,
    values: &[Value<'_>],
) -> Result<(), Stop> {
    let done = connection.execute_prepared(prepared, values)?;
    assert_eq!(done.rows(), 1, "a sum is one row");
    Ok(())
}

fn short_text(number: u64) -> String {
    format!("select balance from account where id = {number}")
}

fn long_text(number: u64) -> String {
    let row = |id: u64| format!("({id}, 0, null)");
    let rows: Vec<String> = (number..number + LONG_ROWS).map(row).collect();
    format!("insert into account values {}", rows.join(", "))
}

impl SqlLoops {
    /// The medians of these rounds.
    pub(super) fn medians(rounds: &[SqlLoops]) -> SqlLoops {
        let median = |of: fn(&SqlLoops) -> Turn| median_turn(rounds, of);
        let texts = |of: fn(&SqlLoops) -> Texts| {
            let bytes: Vec<f64> = rounds.iter().map(|round| of(round).bytes).collect();
            let turns: Vec<Turn> = rounds.iter().map(|round| of(round).turn).collect();
            Texts { turn: median_turn(&turns, |turn| *turn), bytes: stats::median(&bytes) }
        };
        SqlLoops {
            lookup: median(|it| it.lookup),
            sum: median(|it| it.sum),
            series: median(|it| it.series),
            filtered: median(|it| it.filtered),
            short: texts(|it| it.short),
            long: texts(|it| it.long),
        }
    }

    /// The costs that explain what these loops took beyond `charged`: a get of a block takes `get`,
    /// and a find by the API takes `find` beyond its gets.
    pub(super) fn costs_beyond(
        &self,
        charged: &SqlLoops,
        get: f64,
        find: f64,
    ) -> Vec<(Figure, f64)> {
        let beyond = |of: fn(&SqlLoops) -> Turn| {
            let (real, charged) = (of(self), of(charged));
            real.cpu_ns - charged.cpu_ns - real.gets * get
        };
        let statement = beyond(|it| it.lookup) - find;
        // A start, and the row that passes.
        let source = (beyond(|it| it.sum) - find - statement) / SOURCES_OF_SUM;
        // A start, and all rows of the series.
        let filter = beyond(|it| it.filtered) - beyond(|it| it.series);
        let passed = (filter - source) / f64::from(SERIES_ROWS - 1);
        let (short, long) = (beyond(|it| it.short.turn), beyond(|it| it.long.turn));
        let byte = (long - short) / (self.long.bytes - self.short.bytes);
        let made = short - self.short.bytes * byte;
        vec![
            (Figure::Cost(Cost::Statement), statement),
            (Figure::Cost(Cost::StatementMade), made),
            (Figure::Cost(Cost::StatementByte), byte),
            (Figure::Cost(Cost::SourceStart), source - passed),
            (Figure::Cost(Cost::RowPassed), passed),
        ]
    }
}

//! `v$sql`, `v$sql_plan`, `v$sql_plan_statistics`: the statements in memory, as SQL tells them.
//!
//! Without SQL they have no rows.

use stop::Stop;
use value::Value;

use crate::cells::{count, micros, moment as moment_of, or_null, sql_id, text_or_null};
use crate::view::{Give, View, double, int, moment, text};
use crate::{Engine, PlanOperation, SqlStatement, SqlWork};

pub(crate) const VIEWS: &[View] = &[
    View::new(
        "v$sql",
        "one row for each plan in memory: a statement, and what its executions took",
        &[
            text("sql_id", "13 digits that follow from the text"),
            int("hash_value", "the last 32 bits of these"),
            int("child_number", "the number of this plan among those of the same text"),
            text("sql_text", "the first 1,000 characters of the statement"),
            text("sql_fulltext", "the statement"),
            int("plan_hash_value", "equal for equal plans"),
            text("command", "the kind of statement, as SELECT"),
            int("executions", "how often it was begun"),
            int("end_of_fetch_count", "how often it has given or changed all its rows"),
            int("fetches", "how often rows were asked for"),
            int("rows_processed", "rows that it returned or changed"),
            int("parse_calls", "how often it was parsed, or found parsed"),
            int("buffer_gets", "blocks that were had from the cache or from disk"),
            int("disk_reads", "blocks that were read from disk"),
            int("elapsed_time", "microseconds from begins to ends"),
            int("cpu_time", "of these, microseconds on a CPU"),
            int("users_executing", "sessions that run it now"),
            int("sharable_mem", "bytes of its text and plan"),
            moment("first_load_time", "when it came into memory"),
            moment("last_active_time", "when it was begun last"),
        ],
        statements,
    )
    .expecting(500),
    View::new(
        "v$sql_plan",
        "one row for each operation of each plan in memory",
        &[
            text("sql_id", "the statement"),
            int("hash_value", "the last 32 bits of that"),
            int("plan_hash_value", "equal for equal plans"),
            int("child_number", "the number of the plan among those of the same text"),
            int("id", "the number of the operation in the plan, from 0 on"),
            int("parent_id", "the operation that gets its rows"),
            int("depth", "how many operations are above it"),
            int("position", "its place among those that feed the same operation"),
            text("operation", "what it does"),
            text("object_name", "what it reads: a table, and the index by which it does"),
            double("cardinality", "the rows that it was thought to give at each start"),
            double("cost", "what it was thought to cost"),
            text("access_predicates", "the conditions by which it finds rows"),
            text("filter_predicates", "the conditions by which it drops rows"),
        ],
        operations,
    )
    .expecting(2_000),
    View::new(
        "v$sql_plan_statistics",
        "one row for each operation of a plan that EXPLAIN ANALYZE has measured: what it did",
        &[
            text("sql_id", "the statement"),
            int("hash_value", "the last 32 bits of that"),
            int("plan_hash_value", "equal for equal plans"),
            int("child_number", "the number of the plan among those of the same text"),
            int("operation_id", "the number of the operation in the plan"),
            int("executions", "the executions that were measured"),
            int("starts", "how often it was started"),
            int("output_rows", "the rows that it gave"),
            int("cr_buffer_gets", "consistent gets, with those of the operations below"),
            int("cu_buffer_gets", "current gets, with those of the operations below"),
            int("disk_reads", "blocks read from disk, with those of the operations below"),
            int("disk_writes", "blocks that it wrote to temporary space itself"),
            int("elapsed_time", "microseconds, with those of the operations below"),
        ],
        operation_work,
    )
    .expecting(2_000),
];

/// The most characters of `sql_text`.
const TEXT_CHARS: usize = 1_000;

fn statements(engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    let Some(sql) = engine.sql else { return Ok(()) };
    sql.statements(&mut |one| statement(one, give))
}

fn statement(one: &SqlStatement<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    let end = one.text.char_indices().nth(TEXT_CHARS).map_or(one.text.len(), |(at, _)| at);
    let SqlWork { executions, fetches, ended, rows, gets, reads, elapsed, cpu } = one.work;
    give(&[
        Value::Text(&sql_id(one.sql_id)),
        hash(one.sql_id),
        count(one.child),
        Value::Text(&one.text[..end]),
        Value::Text(one.text),
        count(one.plan_hash),
        Value::Text(one.command),
        count(executions),
        count(ended),
        count(fetches),
        count(rows),
        count(one.parse_calls),
        count(gets),
        count(reads),
        micros(elapsed),
        micros(cpu),
        count(one.users_executing),
        count(one.memory),
        moment_of(one.first_load_us),
        moment_of(one.last_active_us),
    ])
}

fn operations(engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    let Some(sql) = engine.sql else { return Ok(()) };
    sql.operations(&mut |one: &PlanOperation<'_>| {
        give(&[
            Value::Text(&sql_id(one.sql_id)),
            hash(one.sql_id),
            count(one.plan_hash),
            count(one.child),
            count(one.id),
            or_null(one.parent.map(count)),
            count(one.depth),
            count(one.position),
            Value::Text(one.operation),
            text_or_null(one.object),
            Value::Double(one.cardinality),
            Value::Double(one.cost),
            text_or_null(one.access_predicates),
            text_or_null(one.filter_predicates),
        ])
    })
}

fn operation_work(engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    let Some(sql) = engine.sql else { return Ok(()) };
    sql.operations(&mut |one: &PlanOperation<'_>| {
        let Some(work) = one.work else { return Ok(()) };
        give(&[
            Value::Text(&sql_id(one.sql_id)),
            hash(one.sql_id),
            count(one.plan_hash),
            count(one.child),
            count(one.id),
            count(work.executions),
            count(work.starts),
            count(work.rows),
            count(work.consistent_gets),
            count(work.current_gets),
            count(work.reads),
            count(work.writes),
            micros(work.elapsed),
        ])
    })
}

/// The `hash_value` of a `sql_id`.
fn hash(sql_id: u64) -> Value<'static> {
    count(sql_id & u64::from(u32::MAX))
}

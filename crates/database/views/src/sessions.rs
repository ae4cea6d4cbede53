//! `v$session`, `v$session_wait`, `v$process`: who is there, and what each does now.

use std::collections::BTreeSet;

use ids::ObjectNo;
use stop::Stop;
use txn::{LockWaiting, LockWanted, RowWanted};
use value::Value;
use waits::CurrentWait;

use crate::Engine;
use crate::cells::{
    address_of_thread, address_of_transaction, count, micros, moment as moment_of, or_null, sql_id,
    text_or_null,
};
use crate::engine::SessionSeen;
use crate::names::{PUBLIC, USER};
use crate::oids;
use crate::view::{Give, View, int, moment, text};

pub(crate) const VIEWS: &[View] = &[
    View::new(
        "v$session",
        "one row for each session: what it waits for, which statement it runs, who blocks it",
        &[
            int("sid", "its number, which a later session may have again"),
            int("serial#", "which of the sessions of this number it is"),
            text("paddr", "its process: v$process.addr"),
            text("username", "the user; NULL for a process of the instance"),
            text("schemaname", "the schema in which names are looked for"),
            text("status", "ACTIVE: it runs a statement or waits for something; else INACTIVE"),
            text("server", "DEDICATED: it has a thread of its own"),
            text("type", "USER, or BACKGROUND for a process of the instance"),
            text("program", "the name of its thread"),
            moment("logon_time", "when it connected"),
            text("taddr", "its transaction: v$transaction.addr"),
            text("sql_id", "the statement that it runs"),
            int("sql_hash_value", "the last 32 bits of that"),
            moment("sql_exec_start", "when it began to run that"),
            text("state", "WAITING; or WAITED UNKNOWN TIME, when it doesn't wait"),
            text("event", "what it waits for"),
            text("p1text", "the meaning of p1"),
            int("p1", "the first parameter of the wait"),
            text("p2text", "the meaning of p2"),
            int("p2", "the second parameter of the wait"),
            text("p3text", "the meaning of p3"),
            int("p3", "the third parameter of the wait"),
            text("wait_class", "the class of the wait"),
            int("seconds_in_wait", "the whole seconds of the wait so far"),
            int("wait_time_micro", "the microseconds of the wait so far"),
            int("blocking_session", "the first session that it waits for, for a lock"),
            int("row_wait_obj#", "the table or index of that row: object_id of dba_objects"),
            int("row_wait_file#", "the file of that row"),
            int("row_wait_block#", "the block of that row"),
            int("row_wait_row#", "the slot of that row in its block"),
        ],
        sessions,
    ),
    View::new(
        "v$session_wait",
        "one row for each session: what it waits for now",
        &[
            int("sid", "the session"),
            text("event", "what it waits for; NULL if it doesn't"),
            text("p1text", "the meaning of p1"),
            int("p1", "the first parameter of the wait"),
            text("p2text", "the meaning of p2"),
            int("p2", "the second parameter of the wait"),
            text("p3text", "the meaning of p3"),
            int("p3", "the third parameter of the wait"),
            text("wait_class", "the class of the wait"),
            text("state", "WAITING; or WAITED UNKNOWN TIME, when it doesn't wait"),
            int("seconds_in_wait", "the whole seconds of the wait so far"),
            int("wait_time_micro", "the microseconds of the wait so far"),
        ],
        session_waits,
    ),
    View::new(
        "v$process",
        "one row for each thread with a session",
        &[
            text("addr", "its address: v$session.paddr"),
            int("pid", "the number of the thread"),
            text("pname", "the name of a process of the instance, as LGWR"),
            text("username", "the user; NULL for a process of the instance"),
            text("program", "the name of the thread, as top -H shows it"),
            text("background", "1 for a process of the instance, else NULL"),
            int("cpu_used", "microseconds on a CPU since the thread began"),
            int("run_queue", "microseconds in the run queue since the thread began"),
        ],
        processes,
    ),
];

/// A wait's columns from `event` to `wait_class`, which are NULL if there is none.
fn wait_cells(wait: Option<CurrentWait>) -> [Value<'static>; 8] {
    let Some(CurrentWait { event, p, .. }) = wait else { return [Value::Null; 8] };
    let info = event.info();
    let named = |at: usize| {
        let name = info.parameters[at];
        text_or_null((!name.is_empty()).then_some(name))
    };
    [
        Value::Text(info.name),
        named(0),
        count(p[0]),
        named(1),
        count(p[1]),
        named(2),
        count(p[2]),
        Value::Text(info.class.name()),
    ]
}

/// The columns of a wait's length: whole seconds, and microseconds.
fn length_cells(wait: Option<CurrentWait>, engine: &Engine<'_>) -> [Value<'static>; 2] {
    let Some(CurrentWait { since, .. }) = wait else { return [Value::Null; 2] };
    let so_far = engine.session.now().since(since);
    [engine.seconds_since(since), micros(so_far)]
}

/// Oracle's words for whether a session waits. How long it waited last isn't kept.
fn state(wait: Option<CurrentWait>) -> Value<'static> {
    Value::Text(if wait.is_some() { "WAITING" } else { "WAITED UNKNOWN TIME" })
}

/// The columns of the row that a transaction waits for.
fn row_cells(waiting: Option<&LockWaiting>, engine: &Engine<'_>) -> [Value<'static>; 4] {
    match waiting.map(|waiting| waiting.wanted) {
        Some(LockWanted::Row { wanted: RowWanted { object, block, slot, .. }, .. }) => {
            let object = or_null(object_of(object, engine).map(Value::Int));
            [object, count(block.file.get()), count(block.block.get()), count(slot)]
        }
        _ => [Value::Null; 4],
    }
}

/// The oid of the table or index that has this number, or its rows or entries in the segment of
/// this number: no number is given twice, and a wait for a row knows the segment alone. None for
/// the dictionary's own tables, and if it was dropped meanwhile.
fn object_of(number: u32, engine: &Engine<'_>) -> Option<i64> {
    let is_it =
        |object: ObjectNo, segment: ObjectNo| [object.get(), segment.get()].contains(&number);
    let all = engine.catalog.definitions(engine.session);
    all.iter().find_map(|table| {
        if is_it(table.object, table.segment) {
            return Some(oids::of_object(table.object));
        }
        let index = table.indexes.iter().find(|index| is_it(index.object, index.segment))?;
        Some(oids::of_object(index.object))
    })
}

fn sessions(engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    let transactions = engine.transactions_by_session();
    let owners = engine.sessions_of_transactions();
    let waiting = engine.instance.transactions().locks().waiting(engine.session);
    for one in engine.sessions() {
        let number = one.running.number;
        let lock = waiting.iter().find(|wait| wait.number == number);
        let blocker = lock.and_then(|lock| owners.get(lock.blockers.first()?));
        let transaction = transactions.get(&number).map(|of| address_of_transaction(of.id));
        let seen = Locked {
            transaction,
            blocker: or_null(blocker.map(|number| count(number.sid))),
            row: row_cells(lock, engine),
        };
        session(&one, &seen, engine, give)?;
    }
    Ok(())
}

/// What is known of a session's transaction.
struct Locked {
    transaction: Option<String>,
    blocker: Value<'static>,
    row: [Value<'static>; 4],
}

fn session(
    one: &SessionSeen,
    locked: &Locked,
    engine: &Engine<'_>,
    give: &mut Give<'_>,
) -> Result<(), Stop> {
    let account = &one.running.account;
    let (wait, statement) = (account.current_wait(), account.current_statement());
    let is_background = one.is_background();
    let is_active =
        is_background || statement.is_some() || wait.is_some_and(|wait| !wait.event.is_idle());
    let began = match &one.connected {
        Some(connected) => moment_of(connected.since_us),
        None => engine.calendar(account.started()),
    };
    let id = statement.map(|it| sql_id(it.number));
    let of_user = |value: Value<'static>| if is_background { Value::Null } else { value };
    let [event, p1text, p1, p2text, p2, p3text, p3, class] = wait_cells(wait);
    let [seconds, micros] = length_cells(wait, engine);
    let [object, file, block, row] = locked.row;
    give(&[
        count(one.running.number.sid),
        count(one.running.number.serial),
        Value::Text(&address_of_thread(one.running.thread)),
        of_user(Value::Text(USER)),
        of_user(Value::Text(PUBLIC)),
        Value::Text(if is_active { "ACTIVE" } else { "INACTIVE" }),
        Value::Text("DEDICATED"),
        Value::Text(if is_background { "BACKGROUND" } else { "USER" }),
        Value::Text(account.name()),
        began,
        text_or_null(locked.transaction.as_deref()),
        text_or_null(id.as_deref()),
        or_null(statement.map(|it| count(it.number & u64::from(u32::MAX)))),
        or_null(statement.map(|it| engine.calendar(it.since))),
        state(wait),
        event,
        p1text,
        p1,
        p2text,
        p2,
        p3text,
        p3,
        class,
        seconds,
        micros,
        locked.blocker,
        object,
        file,
        block,
        row,
    ])
}

fn session_waits(engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    for one in engine.sessions() {
        let wait = one.running.account.current_wait();
        let [event, p1text, p1, p2text, p2, p3text, p3, class] = wait_cells(wait);
        let [seconds, micros] = length_cells(wait, engine);
        give(&[
            count(one.running.number.sid),
            event,
            p1text,
            p1,
            p2text,
            p2,
            p3text,
            p3,
            class,
            state(wait),
            seconds,
            micros,
        ])?;
    }
    Ok(())
}

fn processes(engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    let mut given = BTreeSet::new();
    for one in engine.sessions() {
        // A thread may have several sessions.
        if !given.insert(one.running.thread) {
            continue;
        }
        let is_background = one.is_background();
        let account = &one.running.account;
        let name = account.name().trim_start_matches("fb_").to_uppercase();
        let times = engine.session.os().times_of(one.running.clone()).times;
        give(&[
            Value::Text(&address_of_thread(one.running.thread)),
            count(one.running.thread.0),
            text_or_null(is_background.then_some(name.as_str())),
            text_or_null((!is_background).then_some(USER)),
            Value::Text(account.name()),
            text_or_null(is_background.then_some("1")),
            micros(times.cpu),
            micros(times.run_queue),
        ])?;
    }
    Ok(())
}

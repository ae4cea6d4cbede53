//! Statistics of sessions and of all of them, and the time model.

use os::{Census, RunningSession, TotalsByKind};
use stop::Stop;
use value::Value;
use waits::{Nanos, SessionKind, Statistic, Totals};

use crate::Engine;
use crate::cells::{count, length, micros};
use crate::view::{Give, View, ViewColumn, int, text};

pub(crate) const VIEWS: &[View] = &[
    View::new(
        "v$statname",
        "one row for each statistic that a session counts",
        &[
            STATISTIC_NO,
            text("name", "its name"),
            text("unit", "what is counted"),
            text("meaning", "when it is raised"),
        ],
        names,
    )
    .expecting(50),
    View::new(
        "v$sysstat",
        "one row for each statistic: what all sessions have counted since the instance started",
        &[STATISTIC_NO, text("name", "its name"), int("value", "its value")],
        system,
    )
    .expecting(50),
    View::new(
        "v$sesstat",
        "one row for each session and each statistic",
        &[int("sid", "the session"), STATISTIC_NO, int("value", "its value")],
        of_sessions,
    )
    .expecting(500),
    View::new(
        "v$mystat",
        "one row for each statistic of the session that asks",
        &[int("sid", "the session"), STATISTIC_NO, int("value", "its value")],
        of_this_session,
    )
    .expecting(50),
    View::new(
        "v$sys_time_model",
        "one row for each kind of time that the sessions have spent since the instance started",
        &[text("stat_name", "the kind of time"), int("value", "microseconds")],
        time_model,
    ),
];

const STATISTIC_NO: ViewColumn = int("statistic#", "its place in the list of this version");

/// A figure that follows from others, as Oracle names it.
const LOGICAL_READS: &str = "session logical reads";

/// Every statistic, with its number, name and value, and what follows from them behind.
fn figures(totals: &Totals) -> impl Iterator<Item = (usize, &'static str, u64)> {
    let counted = Statistic::ALL.iter().enumerate();
    let counted = counted.map(move |(number, of)| (number, of.name(), totals.statistic(*of)));
    counted.chain([(Statistic::COUNT, LOGICAL_READS, totals.logical_reads())])
}

fn names(_: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    let text = Value::Text;
    for (number, statistic) in Statistic::ALL.iter().enumerate() {
        let info = statistic.info();
        give(&[length(number), text(info.name), text(info.unit), text(info.meaning)])?;
    }
    let meaning = "a block is had: db block gets and consistent gets";
    give(&[length(Statistic::COUNT), text(LOGICAL_READS), text("blocks"), text(meaning)])
}

fn system(engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    let totals = engine.session.os().totals();
    figures(&totals).try_for_each(|(number, name, value)| {
        give(&[length(number), Value::Text(name), count(value)])
    })
}

fn of_sessions(engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    engine
        .sessions()
        .iter()
        .try_for_each(|one| of_session(one.running.number.sid, &one.running.account.totals(), give))
}

fn of_this_session(engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    let (number, account) = (engine.session.number(), engine.session.account());
    of_session(number.sid, &account.totals(), give)
}

fn of_session(sid: u32, totals: &Totals, give: &mut Give<'_>) -> Result<(), Stop> {
    figures(totals)
        .try_for_each(|(number, _, value)| give(&[count(sid), length(number), count(value)]))
}

/// Rows whose meaning is Oracle's have Oracle's names. Time in statements is filed when they end,
/// as all totals are; `DB CPU` isn't there, because a session's thread also works for the program
/// that the database is embedded in (VW12).
fn time_model(engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    let os = engine.session.os();
    let TotalsByKind { foreground, .. } = os.totals_by_kind();
    let Census { running, ended_foreground, ended_background } = os.census();
    let of = |kind| {
        let ended = match kind {
            SessionKind::Foreground => ended_foreground,
            SessionKind::Background => ended_background,
        };
        let (mut elapsed, mut cpu, mut run_queue) = (ended.elapsed, ended.cpu, ended.run_queue);
        let these = running.iter().filter(|one: &&RunningSession| one.account.kind() == kind);
        for one in these {
            let seen = os.times_of(one.clone());
            elapsed.0 += seen.at.since(one.account.started()).0;
            cpu.0 += seen.times.cpu.0;
            run_queue.0 += seen.times.run_queue.0;
        }
        [elapsed, cpu, run_queue]
    };
    let [_, cpu, run_queue] = of(SessionKind::Foreground);
    let [background, background_cpu, background_run_queue] = of(SessionKind::Background);
    let rows: [(&str, Nanos); 6] = [
        ("DB time", foreground.in_statements()),
        ("foreground cpu time", cpu),
        ("foreground run queue time", run_queue),
        ("background elapsed time", background),
        ("background cpu time", background_cpu),
        ("background run queue time", background_run_queue),
    ];
    rows.into_iter().try_for_each(|(name, time)| give(&[Value::Text(name), micros(time)]))
}

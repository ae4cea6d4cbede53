//! Waits that have ended: by session, in all, and by length.
//!
//! Totals of all sessions are read in one step, ended sessions included (rule os/O28): what a
//! session has waited is in them once, before and after its end.

use os::TotalsByKind;
use stop::Stop;
use value::Value;
use waits::{EventTotals, HISTOGRAM_BUCKETS, Totals, WaitClass, WaitEvent, bucket_upper_bound_us};

use crate::Engine;
use crate::cells::{centiseconds, count, length, mean_centiseconds, micros};
use crate::view::{Give, View, ViewColumn, double, int, text};

pub(crate) const VIEWS: &[View] = &[
    View::new(
        "v$event_name",
        "one row for each event that a session can wait for",
        &[
            int("event#", "its place in the list of this version"),
            text("name", "its name"),
            text("parameter1", "the meaning of p1"),
            text("parameter2", "the meaning of p2"),
            text("parameter3", "the meaning of p3"),
            int("wait_class#", "the number of its class"),
            text("wait_class", "its class"),
            text("meaning", "when a session is in such a wait"),
        ],
        names,
    )
    .expecting(60),
    View::new(
        "v$session_event",
        "one row for each session and each event that it has waited for",
        &[
            int("sid", "the session"),
            text("event", "the event"),
            int("total_waits", "waits that have ended"),
            int("total_timeouts", "of these, waits that ended by their timeout"),
            int("time_waited", "centiseconds of the waits"),
            double("average_wait", "centiseconds of a wait, on average"),
            int("max_wait", "centiseconds of the longest wait"),
            int("time_waited_micro", "microseconds of the waits"),
            int("wait_class#", "the number of the event's class"),
            text("wait_class", "the event's class"),
        ],
        session_events,
    )
    .expecting(100),
    View::new(
        "v$system_event",
        "one row for each event that any session has waited for since the instance started",
        &[
            text("event", "the event"),
            int("total_waits", "waits that have ended"),
            int("total_timeouts", "of these, waits that ended by their timeout"),
            int("time_waited", "centiseconds of the waits"),
            double("average_wait", "centiseconds of a wait, on average"),
            int("time_waited_micro", "microseconds of the waits"),
            int("total_waits_fg", "as total_waits, of users' sessions alone"),
            int("total_timeouts_fg", "as total_timeouts, of users' sessions alone"),
            int("time_waited_fg", "as time_waited, of users' sessions alone"),
            double("average_wait_fg", "as average_wait, of users' sessions alone"),
            int("time_waited_micro_fg", "as time_waited_micro, of users' sessions alone"),
            int("wait_class#", "the number of the event's class"),
            text("wait_class", "the event's class"),
        ],
        system_events,
    )
    .expecting(30),
    View::new(
        "v$event_histogram",
        "one row for each event and each length of its waits, in powers of two of a millisecond",
        &[
            EVENT_NO,
            text("event", "the event"),
            int("wait_time_milli", "the waits took less than this, and not less than half of it"),
            int("wait_count", "the number of waits"),
        ],
        histogram,
    )
    .expecting(100),
    View::new(
        "v$event_histogram_micro",
        "one row for each event and each length of its waits, in powers of two of a microsecond",
        &[
            EVENT_NO,
            text("event", "the event"),
            int("wait_time_micro", "the waits took less than this, and not less than half of it"),
            int("wait_count", "the number of waits"),
            text("wait_time_format", "wait_time_micro in words"),
        ],
        histogram_micro,
    )
    .expecting(300),
];

const EVENT_NO: ViewColumn = int("event#", "the event's place in the list of this version");

/// Oracle's numbers of classes.
fn class_number(class: WaitClass) -> Value<'static> {
    Value::Int(match class {
        WaitClass::Other => 0,
        WaitClass::Application => 1,
        WaitClass::Configuration => 2,
        WaitClass::Administrative => 3,
        WaitClass::Concurrency => 4,
        WaitClass::Commit => 5,
        WaitClass::Idle => 6,
        WaitClass::Network => 7,
        WaitClass::UserIo => 8,
        WaitClass::SystemIo => 9,
        WaitClass::Scheduler => 10,
        WaitClass::Cluster => 11,
        WaitClass::Queueing => 12,
    })
}

fn names(_: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    WaitEvent::ALL.iter().enumerate().try_for_each(|(number, event)| {
        let info = event.info();
        let [p1, p2, p3] = info.parameters.map(Value::Text);
        give(&[
            length(number),
            Value::Text(info.name),
            p1,
            p2,
            p3,
            class_number(info.class),
            Value::Text(info.class.name()),
            Value::Text(info.meaning),
        ])
    })
}

fn session_events(engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    for one in engine.sessions() {
        let totals = one.running.account.totals();
        for (event, of) in totals.events() {
            let [waits, timeouts, waited, mean, micros] = totals_cells(of);
            give(&[
                count(one.running.number.sid),
                Value::Text(event.name()),
                waits,
                timeouts,
                waited,
                mean,
                centiseconds(of.max),
                micros,
                class_number(event.class()),
                Value::Text(event.class().name()),
            ])?;
        }
    }
    Ok(())
}

/// Waits, timeouts, centiseconds, their mean, microseconds.
fn totals_cells(of: &EventTotals) -> [Value<'static>; 5] {
    [
        count(of.count),
        count(of.timeouts),
        centiseconds(of.total),
        mean_centiseconds(of.total, of.count),
        micros(of.total),
    ]
}

fn system_events(engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    let TotalsByKind { foreground, background } = engine.session.os().totals_by_kind();
    let mut all = foreground.clone();
    all.add(&background);
    for (event, of) in all.events() {
        let [waits, timeouts, waited, mean, micros] = totals_cells(of);
        let [waits_fg, timeouts_fg, waited_fg, mean_fg, micros_fg] =
            totals_cells(foreground.event(event));
        give(&[
            Value::Text(event.name()),
            waits,
            timeouts,
            waited,
            mean,
            micros,
            waits_fg,
            timeouts_fg,
            waited_fg,
            mean_fg,
            micros_fg,
            class_number(event.class()),
            Value::Text(event.class().name()),
        ])?;
    }
    Ok(())
}

/// The first bucket of waits that took a millisecond (1,024 us) or more.
const FROM_A_MILLISECOND: usize = 11;

/// The upper bound of a bucket in microseconds; of the last one, which holds all that are longer,
/// twice its lower bound.
fn bound_us(bucket: usize) -> u64 {
    bucket_upper_bound_us(bucket).unwrap_or(1 << bucket)
}

/// The numbers of waits of an event, from the shortest to the longest that there was.
fn buckets(of: &EventTotals) -> &[u64] {
    let longest = of.histogram.iter().rposition(|count| *count > 0);
    &of.histogram[..longest.map_or(0, |last| last + 1)]
}

fn each_event(
    engine: &Engine<'_>,
    mut of: impl FnMut(WaitEvent, &EventTotals) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let totals: Totals = engine.session.os().totals();
    totals.events().try_for_each(|(event, totals)| of(event, totals))
}

fn histogram(engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    each_event(engine, |event, totals| {
        let all = buckets(totals);
        let (below, above) = all.split_at(all.len().min(FROM_A_MILLISECOND));
        let first = (1, below.iter().sum::<u64>());
        let others = (FROM_A_MILLISECOND..).zip(above);
        let others = others.map(|(bucket, count)| (bound_us(bucket) >> 10, *count));
        for (milliseconds, waits) in std::iter::once(first).chain(others) {
            let number = length(event as usize);
            give(&[number, Value::Text(event.name()), count(milliseconds), count(waits)])?;
        }
        Ok(())
    })
}

fn histogram_micro(engine: &Engine<'_>, give: &mut Give<'_>) -> Result<(), Stop> {
    each_event(engine, |event, totals| {
        for (bucket, waits) in buckets(totals).iter().enumerate() {
            let bound = bound_us(bucket);
            give(&[
                length(event as usize),
                Value::Text(event.name()),
                count(bound),
                count(*waits),
                Value::Text(&in_words(bound)),
            ])?;
        }
        Ok(())
    })
}

/// A power of two of a microsecond in words, rounded as Oracle does: `512 microseconds`,
/// `1 millisecond`, `17 minutes`.
fn in_words(us: u64) -> String {
    let (number, unit) = match us {
        0..1_024 => (us, "microsecond"),
        1_024..1_048_576 => (us >> 10, "millisecond"),
        1_048_576..67_108_864 => (us >> 20, "second"),
        _ => (us / 60_000_000, "minute"),
    };
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {unit}{plural}")
}

const _: () = assert!(FROM_A_MILLISECOND < HISTOGRAM_BUCKETS);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_said_in_words() {
        let said: Vec<String> =
            [1, 2, 512, 1 << 10, 1 << 19, 1 << 20, 1 << 26, 1 << 30].map(in_words).into();
        let expected = [
            "1 microsecond",
            "2 microseconds",
            "512 microseconds",
            "1 millisecond",
            "512 milliseconds",
            "1 second",
            "1 minute",
            "17 minutes",
        ];
        assert_eq!(said, expected);
    }

    /// The bound of the last bucket goes on as those before.
    #[test]
    fn bounds_are_powers_of_two() {
        for bucket in 0..HISTOGRAM_BUCKETS {
            assert_eq!(bound_us(bucket), 1 << bucket);
        }
        assert_eq!(bound_us(FROM_A_MILLISECOND) >> 10, 2);
    }

    /// Buckets behind the longest wait aren't shown, those before it are.
    #[test]
    fn a_histogram_ends_with_the_longest_wait() {
        let mut totals = EventTotals::default();
        assert!(buckets(&totals).is_empty());
        totals.histogram[3] = 7;
        assert_eq!(buckets(&totals), [0, 0, 0, 7]);
    }
}

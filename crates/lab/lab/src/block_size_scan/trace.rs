//! The lines of a trace: each wait, with what it was for, and the calls.
//!
//! ```text
//!   WAIT #1: nam='direct path read' ela= 37 file number=7 first dba=128 block cnt=512 tim=2043
//!   FETCH #1:c=1020304,e=1100215,p=60313,cr=60313,cu=0,mis=0,r=1000000,dep=0,og=1,tim=1101533
//! ```
//!
//! Times are in microseconds; `tim` is since the query's begin. All fetches are one line, behind
//! their waits.
//!
//! Callers: `report`.
//! Source: the trace files of Oracle's event 10046, whose lines these look like.

use waits::{Timestamp, WaitEvent, WaitRecord};

use super::measure::{Call, TracedScan};

/// All lines of a scan, in the order of their times.
pub(super) fn lines(traced: &TracedScan) -> Vec<String> {
    let TracedScan { scan, waits, .. } = traced;
    let (began, calls) = (scan.began, scan.calls);
    let mut waits = waits.waits.iter().peekable();
    let mut lines = Vec::new();
    let kinds = [("PARSE", calls.parse), ("EXEC", calls.execute), ("FETCH", calls.fetch)];
    for ((kind, call), ended) in kinds.into_iter().zip(scan.ended) {
        while let Some(wait) = waits.next_if(|wait| wait.ended <= ended) {
            lines.push(wait_line(wait, began));
        }
        lines.push(call_line(kind, &call, ended, began));
    }
    lines
}

/// The first wait of those for the most blocks at once.
pub(super) fn longest_read(waits: &[WaitRecord]) -> Option<&WaitRecord> {
    let mut longest: Option<&WaitRecord> = None;
    for wait in waits.iter().filter(|wait| blocks(wait) > 0) {
        if longest.is_none_or(|longest| blocks(wait) > blocks(longest)) {
            longest = Some(wait);
        }
    }
    longest
}

/// How many blocks are read by what was waited for.
pub(super) fn blocks(wait: &WaitRecord) -> u64 {
    match wait.event {
        WaitEvent::DirectPathRead
        | WaitEvent::DbFileScatteredRead
        | WaitEvent::DbFileSequentialRead => wait.p[2],
        _ => 0,
    }
}

/// A wait.
pub(super) fn wait_line(wait: &WaitRecord, began: Timestamp) -> String {
    let info = wait.event.info();
    let mut line = format!("WAIT #1: nam='{}' ela= {}", info.name, micros(wait.elapsed.0));
    for (name, value) in info.parameters.iter().zip(wait.p) {
        if !name.is_empty() {
            line += &format!(" {name}={value}");
        }
    }
    line + &format!(" tim={}", micros(wait.ended.since(began).0))
}

fn call_line(kind: &str, call: &Call, ended: Timestamp, began: Timestamp) -> String {
    let Call { cpu_ns, elapsed_ns, disk, query, current, rows, .. } = *call;
    format!(
        "{kind} #1:c={},e={},p={disk},cr={query},cu={current},mis=0,r={rows},dep=0,og=1,tim={}",
        micros(cpu_ns),
        micros(elapsed_ns),
        micros(ended.since(began).0)
    )
}

fn micros(ns: u64) -> u64 {
    ns / 1_000
}

#[cfg(test)]
mod tests {
    use waits::Nanos;

    use super::*;

    fn wait(event: WaitEvent, blocks: u64) -> WaitRecord {
        let (ended, elapsed) = (Timestamp::from_nanos(1_234_000), Nanos(37_900));
        WaitRecord { event, p: [7, 128, blocks], ended, elapsed }
    }

    #[test]
    fn a_wait_is_written_as_people_know_it() {
        let line = wait_line(&wait(WaitEvent::DirectPathRead, 512), Timestamp::from_nanos(234_000));
        let expected = "WAIT #1: nam='direct path read' ela= 37 file number=7 first dba=128 \
                        block cnt=512 tim=1000";
        assert_eq!(line, expected);
    }

    #[test]
    fn the_longest_read_is_the_first_of_the_most_blocks() {
        let waits = [
            wait(WaitEvent::DbFileSequentialRead, 1),
            wait(WaitEvent::LogFileSync, 9_000),
            wait(WaitEvent::DirectPathRead, 512),
            wait(WaitEvent::DirectPathRead, 512),
            wait(WaitEvent::DirectPathRead, 3),
        ];
        let longest = longest_read(&waits).expect("there are reads");
        assert!(std::ptr::eq(longest, &waits[2]));
        assert_eq!(longest_read(&waits[1..2]), None);
    }
}

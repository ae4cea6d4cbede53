//! What a row source did, for EXPLAIN ANALYZE.
//!
//! ```text
//!   ->  Table scan of emp  (cost=1.00..14.00 rows=14) (actual rows=14 starts=1 time=0.123 ms)
//!         Work: 3 consistent gets, 1 physical reads
//! ```
//!
//! Time and gets include those of the sources below; rows, memory and temporary space are its own.
//! What is nothing isn't said in a text, so that a line fits into 80 columns; JSON has all of it.
//!
//! Callers: `explain`.

use std::fmt::Write;

use rowsource::{Counts, Figures};

/// What stands beside a line of the plan, with the time or without.
pub(super) fn beside(figures: Figures, has_time: bool) -> String {
    let Figures { starts, rows, elapsed, .. } = figures;
    match (starts, has_time) {
        (0, _) => " (never started)".to_string(),
        (_, false) => format!(" (actual rows={rows} starts={starts})"),
        (_, true) => {
            let ms = elapsed.0 as f64 / 1e6;
            format!(" (actual rows={rows} starts={starts} time={ms:.3} ms)")
        }
    }
}

/// What stands below it; none of a source that did nothing.
pub(super) fn below(figures: Figures) -> Option<String> {
    let Figures { counts, memory_bytes_max, temp_bytes, .. } = figures;
    let Counts { consistent_gets, current_gets, physical_reads } = counts;
    let all = [
        (consistent_gets, "consistent gets"),
        (current_gets, "current gets"),
        (physical_reads, "physical reads"),
        (memory_bytes_max, "bytes memory"),
        (temp_bytes, "bytes temp"),
    ];
    let done = all.iter().filter(|(count, _)| *count > 0);
    let said: Vec<String> = done.map(|(count, what)| format!("{count} {what}")).collect();
    (!said.is_empty()).then(|| format!("Work: {}", said.join(", ")))
}

/// Further members of a node's object of JSON, with the time and the work or without.
pub(super) fn json(figures: Figures, has_time: bool, has_work: bool) -> String {
    let Figures { starts, rows, elapsed, counts, memory_bytes_max, temp_bytes } = figures;
    let Counts { consistent_gets, current_gets, physical_reads } = counts;
    let mut out = format!(", \"Actual Rows\": {rows}, \"Starts\": {starts}");
    if has_time {
        let _ = write!(out, ", \"Actual Time ns\": {}", elapsed.0);
    }
    if has_work {
        let _ = write!(
            out,
            ", \"Consistent Gets\": {consistent_gets}, \"Current Gets\": {current_gets}\
             , \"Physical Reads\": {physical_reads}\
             , \"Memory Bytes\": {memory_bytes_max}, \"Temp Bytes\": {temp_bytes}"
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use waits::Nanos;

    use super::*;

    #[test]
    fn a_source_says_what_it_did_or_that_it_did_nothing() {
        assert_eq!(beside(Figures::default(), true), " (never started)");
        assert_eq!(below(Figures::default()), None);
        let counts = Counts { consistent_gets: 3, current_gets: 0, physical_reads: 1 };
        let elapsed = Nanos::from_micros(1_234);
        let figures = Figures { starts: 2, rows: 14, elapsed, counts, ..Figures::default() };
        assert_eq!(beside(figures, true), " (actual rows=14 starts=2 time=1.234 ms)");
        assert_eq!(beside(figures, false), " (actual rows=14 starts=2)");
        let work = below(figures);
        assert_eq!(work.as_deref(), Some("Work: 3 consistent gets, 1 physical reads"));
        let full = json(figures, true, true);
        assert!(full.contains("\"Actual Rows\": 14, \"Starts\": 2"), "{full}");
        assert!(full.contains("\"Actual Time ns\": 1234000, \"Consistent Gets\": 3"), "{full}");
        assert_eq!(json(figures, false, false), ", \"Actual Rows\": 14, \"Starts\": 2");
    }
}

//! One finished run, as a line of a campaign's file.
//!
//! Callers: `decides`.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::finding::Finding;

/// A run of the lab with what it was told, and what it found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Record {
    /// The planted delay of setting B, in nanoseconds of CPU a commit; none where A was compared
    /// with A.
    pub(super) delay_ns: Option<u64>,
    /// What else was so: `beside the neighbour, 5m a run`. Runs of one kind stand in one table.
    pub(super) conditions: String,
    pub(super) seed: u64,
    /// From the start of the program to its end.
    pub(super) seconds: f64,
    /// Of the lab's report what an answer is read from ([`kept`]), also if the answer is refused;
    /// null if there is no report.
    pub(super) report: Value,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) failed: Option<String>,
}

impl Record {
    /// What it found; `None` if it ended before it had an answer.
    pub(super) fn finding(&self) -> Option<Finding> {
        Finding::of(&self.report).ok().flatten()
    }

    /// Of which program and machine it is: runs of others stand in other tables.
    pub(super) fn origin(&self) -> [&str; 2] {
        ["commit", "machine"].map(|part| self.report["origin"][part].as_str().unwrap_or_default())
    }

    /// Whether its experiment couldn't go on, and ended before its time.
    pub(super) fn was_cut_short(&self) -> bool {
        let notes = self.report["notes"].as_array().into_iter().flatten();
        notes.filter_map(Value::as_str).any(|note| note.starts_with(lab::CUT_SHORT))
    }

    /// Acknowledged commits that were gone.
    pub(super) fn lost(&self) -> u64 {
        lost(&self.report)
    }
}

/// The commits that a report says were lost: no figure of such an engine is worth anything.
pub(crate) fn lost(report: &Value) -> u64 {
    report["commits"]["lost"].as_u64().unwrap_or(0)
}

/// The highest seed of which rows are kept in this folder, if there are any.
pub(super) fn last_kept(folder: &Path) -> Option<u64> {
    let names = fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.file_name()));
    names.filter_map(|name| name.to_str()?.strip_suffix(".rows")?.parse().ok()).max()
}

/// The parts of a report that say what was found, of which program and machine. A campaign's file
/// is kept beside the document that cites it: without profiles, and without folders of a machine.
pub(super) fn kept(report: &Value) -> Value {
    let parts = ["headline", "carry_over", "commits", "runs", "measured_s", "notes"];
    let mut kept: Map<String, Value> =
        parts.iter().map(|part| ((*part).to_owned(), report[part].clone())).collect();
    let origin = ["commit", "machine", "plan_seed"].iter();
    let origin = origin.map(|part| ((*part).to_owned(), report["origin"][part].clone()));
    let _ = kept.insert("origin".to_owned(), Value::Object(origin.collect()));
    Value::Object(kept)
}

/// Appends a record, at once and durably.
pub(super) fn append(path: &Path, record: &Record) -> Result<(), String> {
    let told = |error: &dyn std::fmt::Display| format!("cannot write {}: {error}", path.display());
    let line = serde_json::to_string(record).map_err(|error| told(&error))?;
    // If the line before was cut, this one doesn't continue it.
    let cut = fs::read(path).is_ok_and(|bytes| bytes.last().is_some_and(|last| *last != b'\n'));
    let text = format!("{}{line}\n", if cut { "\n" } else { "" });
    let file = OpenOptions::new().create(true).append(true).open(path);
    let written = file.and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    written.map_err(|error| told(&error))
}

/// A file's records, and how many lines are none: one that was cut, for example.
#[derive(Debug, Default)]
pub(super) struct Records {
    pub(super) records: Vec<Record>,
    pub(super) skipped: usize,
}

impl Records {
    pub(super) fn parse(text: &str) -> Records {
        let mut found = Records::default();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            match serde_json::from_str::<Record>(line) {
                Ok(record)
                    if record.seconds.is_finite()
                        && (record.failed.is_some() || Finding::of(&record.report).is_ok()) =>
                {
                    found.records.push(record);
                }
                _ => found.skipped += 1,
            }
        }
        found
    }

    pub(super) fn read(path: &Path) -> Result<Records, String> {
        let text = fs::read_to_string(path)
            .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        Ok(Records::parse(&text))
    }

    /// As [`Records::read`]; a file that isn't there has none.
    pub(super) fn read_if_there(path: &Path) -> Result<Records, String> {
        match fs::metadata(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Records::default()),
            _ => Records::read(path),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A record as the lab would report it.
    pub(in super::super) fn record(
        delay_ns: Option<u64>,
        ratio: f64,
        real: &str,
        matters: &str,
    ) -> Record {
        let report = serde_json::json!({"headline": {"comparison": {
            "ratio": ratio, "interval": [ratio - 0.01, ratio + 0.01], "real": real,
            "matters": matters, "gain": 1.5,
        }}});
        let conditions = "quiet, 5m a run".to_owned();
        Record { delay_ns, conditions, seed: 1, seconds: 100.0, report, failed: None }
    }

    #[test]
    fn rows_that_are_kept_have_their_seeds() {
        let scratch = bench::Scratch::create(&std::env::temp_dir()).expect("it is writable");
        assert_eq!(last_kept(scratch.path()), None);
        for name in ["9.rows", "12.rows", "99", "x.rows"] {
            fs::write(scratch.path().join(name), "").expect("it is writable");
        }
        assert_eq!(last_kept(scratch.path()), Some(12));
        assert_eq!(last_kept(&scratch.path().join("none")), None);
    }

    #[test]
    fn what_was_appended_is_read_again_also_behind_a_line_that_was_cut() {
        let scratch = bench::Scratch::create(&std::env::temp_dir()).expect("it is writable");
        let path = scratch.path().join("runs");
        assert!(Records::read_if_there(&path).expect("none is no error").records.is_empty());
        assert!(Records::read(&path).is_err());
        append(&path, &record(Some(2_000), 0.98, "yes", "open")).expect("it is writable");
        let whole = fs::read_to_string(&path).expect("it was written");
        fs::write(&path, format!("{whole}{}", &whole[..40])).expect("it is writable");
        append(&path, &record(None, 1.0, "not seen", "no")).expect("it is writable");
        let read = Records::read(&path).expect("it is there");
        let delays: Vec<Option<u64>> = read.records.iter().map(|it| it.delay_ns).collect();
        assert_eq!((delays, read.skipped), (vec![Some(2_000), None], 1));
    }
}

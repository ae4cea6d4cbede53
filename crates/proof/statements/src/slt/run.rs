//! A file, record by record.
//!
//! Invariants
//!   * a record that fails doesn't end the file: all are counted
//!   * what was skipped by a condition is neither passed nor failed
//!
//! Callers: the test `slt`; the example `sqllogictest`.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::AddAssign;
use std::rc::Rc;

use database::Database;
use sqllogictest::{
    Control, QueryExpect, Record, RecordOutput, ResultMode, Runner, TestError, TestErrorKind,
    parse_with_name,
};

use super::Style;
use super::corpus::refused_by_design;
use super::player::{Expected, Letter, Player, are_of_types};
use super::prepare::prepared;
use crate::answer::Refused;

/// The most failed records of one file that are told in words.
const FAULTS_MAX: usize = 20;

/// A record that failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The file, and the line with `query` or `statement`.
    pub place: String,
    /// What was expected, and what came.
    pub what: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

/// What came of the records of some files.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Those that came to what was expected.
    pub passed: u64,
    /// Those that didn't.
    pub failed: u64,
    /// Those that are for other programs, by their conditions.
    pub skipped: u64,
    /// Those that are refused by design, by the reason.
    pub out_of_scope: BTreeMap<&'static str, u64>,
    /// The first of those that failed.
    pub faults: Vec<Fault>,
}

impl Tally {
    /// The records that count, in per cent of which passed; 100 if there are none.
    pub fn per_cent(&self) -> f64 {
        match self.passed + self.failed {
            0 => 100.0,
            all => self.passed as f64 * 100.0 / all as f64,
        }
    }

    fn fault(&mut self, place: String, what: String) {
        self.failed += 1;
        if self.faults.len() < FAULTS_MAX {
            self.faults.push(Fault { place, what });
        }
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        for (why, count) in other.out_of_scope {
            *self.out_of_scope.entry(why).or_default() += count;
        }
        self.faults.extend(other.faults);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { passed, failed, skipped, .. } = self;
        let out: u64 = self.out_of_scope.values().sum();
        write!(f, "{passed} passed, {failed} failed, {skipped} skipped, {out} out of scope")
    }
}

/// Runs the text of a file on a database of its own. The name is said where something fails.
pub fn run_text(database: &Database, name: &str, text: &str, style: Style) -> Tally {
    let mut tally = Tally::default();
    let text = match style {
        Style::Own => text.to_string(),
        Style::Corpus => prepared(text),
    };
    let records = match parse_with_name::<Letter>(&text, name) {
        Ok(records) => records,
        Err(error) => {
            tally.fault(name.to_string(), error.to_string());
            return tally;
        }
    };
    let expected = Rc::new(RefCell::new(Expected { style, letters: Vec::new() }));
    let mut runner = Runner::new(|| Player::new(database.connect("slt"), &expected));
    runner.with_column_validator(are_of_types);
    let says_mode =
        |record: &Record<Letter>| matches!(record, Record::Control(Control::ResultMode(_)));
    if style == Style::Corpus && !records.iter().any(says_mode) {
        let by_value = Record::Control(Control::ResultMode(ResultMode::ValueWise));
        runner.run(by_value).expect("a control record runs nothing");
    }
    for record in records {
        if matches!(record, Record::Halt { .. }) {
            break;
        }
        let is_counted = matches!(record, Record::Query { .. } | Record::Statement { .. });
        let sql = text_of(&record);
        expected.borrow_mut().letters = letters_of(&record);
        match runner.run(record) {
            Ok(_) if !is_counted => {}
            Ok(RecordOutput::Nothing) => tally.skipped += 1,
            Ok(_) => tally.passed += 1,
            Err(error) => tally.failure(&error, &sql, style),
        }
    }
    tally
}

impl Tally {
    /// Takes a record that didn't come to what was expected.
    fn failure(&mut self, error: &TestError, sql: &str, style: Style) {
        let kind = error.kind();
        if let (Style::Corpus, TestErrorKind::Fail { err, .. }) = (style, &kind)
            && let Some(refused) = err.downcast_ref::<Refused>()
            && let Some(why) = refused_by_design(sql, &refused.state)
        {
            *self.out_of_scope.entry(why).or_default() += 1;
            return;
        }
        self.fault(error.location().to_string(), kind.to_string());
    }
}

/// The statement of a record; empty if it has none.
fn text_of(record: &Record<Letter>) -> String {
    match record {
        Record::Query { sql, .. } | Record::Statement { sql, .. } => sql.clone(),
        _ => String::new(),
    }
}

/// The letters that a record expects.
fn letters_of(record: &Record<Letter>) -> Vec<Letter> {
    match record {
        Record::Query { expected: QueryExpect::Results { types, .. }, .. } => types.clone(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn per_cent_are_of_the_records_that_count() {
        let mut tally = Tally { passed: 995, failed: 5, skipped: 1_000, ..Tally::default() };
        assert_eq!(tally.per_cent(), 99.5);
        tally += Tally { passed: 1_000, ..Tally::default() };
        assert_eq!(tally.per_cent(), 99.75);
        assert_eq!(Tally::default().per_cent(), 100.0);
        assert_eq!(tally.to_string(), "1995 passed, 5 failed, 1000 skipped, 0 out of scope");
    }

    #[test]
    fn a_file_tells_its_first_faults_and_counts_all() {
        let mut tally = Tally::default();
        (0..50).for_each(|line| tally.fault(format!("a.slt:{line}"), "wrong".into()));
        assert_eq!((tally.failed, tally.faults.len()), (50, FAULTS_MAX));
        assert_eq!(tally.faults[1].to_string(), "a.slt:1: wrong");
    }
}

//! The task of a check, its progress, and its report.
//!
//! Callers: users of the check; the checks, which fill the report.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::{Finding, Kind, Pair};

/// How many findings of one kind in one object are told unless a task asks for more.
pub const TOLD_MAX: u64 = 10;

/// The progress of a check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Blocks that were checked.
    pub blocks: u64,
    /// Blocks of all files.
    pub of: u64,
    /// Findings so far.
    pub findings: u64,
}

/// A check that is asked for.
pub struct Task<'a> {
    /// Indexes to be compared with their heaps, of tables that the dictionary doesn't know.
    pub pairs: &'a [Pair<'a>],
    /// How many findings of one kind in one object are told: [`TOLD_MAX`], or more (VF14).
    pub told_max: u64,
    /// Told each finding when it is made, up to `told_max` of one kind in one object.
    pub tell: &'a mut dyn FnMut(&Finding),
    /// Called now and then with the progress; the check ends when it returns false.
    pub go_on: &'a mut dyn FnMut(Progress) -> bool,
}

/// The result of a check.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// The number of data files.
    pub files: u64,
    /// Blocks that were checked.
    pub blocks: u64,
    /// Checked blocks that were never written.
    pub blocks_unwritten: u64,
    /// The number of segments.
    pub segments: u64,
    /// Rows, in heaps whose blocks are in order.
    pub rows: u64,
    /// Entries, in indexes that are in order.
    pub entries: u64,
    /// Indexes that were compared with their tables.
    pub compared: u64,
    /// How many findings of each kind there are.
    pub findings: BTreeMap<Kind, u64>,
    /// How many more findings than were told each object has of a kind (VF14).
    pub untold: BTreeMap<(Kind, String), u64>,
    /// Places that changed at every look, and so were not judged.
    pub unsettled: u64,
    /// Why structures were not checked, if they weren't.
    pub skipped: Option<String>,
}

impl Report {
    /// How many findings there are.
    pub fn count(&self) -> u64 {
        self.findings.values().sum()
    }

    /// Whether everything was checked, and nothing was found.
    pub fn is_clean(&self) -> bool {
        self.count() == 0 && self.skipped.is_none()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { files, blocks, blocks_unwritten: unwritten, segments, .. } = self;
        writeln!(
            f,
            "{}, {} ({unwritten} never written), {}",
            counted(*files, "file", "files"),
            counted(*blocks, "block", "blocks"),
            counted(*segments, "segment", "segments")
        )?;
        writeln!(
            f,
            "{}, {}, {} held against them",
            counted(self.rows, "row", "rows"),
            counted(self.entries, "index entry", "index entries"),
            counted(self.compared, "index", "indexes")
        )?;
        if self.unsettled > 0 {
            let count = counted(self.unsettled, "place", "places");
            writeln!(f, "{count} changed at every look: not judged")?;
        }
        if let Some(why) = &self.skipped {
            writeln!(f, "structures were not checked: {why}")?;
        }
        for (kind, count) in &self.findings {
            writeln!(f, "{count:>8}  {kind}")?;
            for ((_, object), more) in self.untold.iter().filter(|((of, _), _)| of == kind) {
                writeln!(f, "          {more} more than are shown are of {object}")?;
            }
        }
        match self.count() {
            0 => writeln!(f, "nothing found"),
            count => writeln!(f, "{}", counted(count, "finding", "findings")),
        }
    }
}

/// A number of things, whose word has another form for one.
fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// A check on its way: its task, and its report so far.
pub(crate) struct Run<'r, 'a> {
    pub(crate) task: &'r mut Task<'a>,
    pub(crate) report: Report,
    /// The database's directory, if it is shut.
    pub(crate) directory: Option<String>,
    /// The indexes of which a damaged block was found: their trees aren't walked (VF6).
    pub(crate) damaged_indexes: BTreeSet<u32>,
    /// How many findings of a kind each object has so far.
    counts: BTreeMap<(Kind, String), u64>,
}

impl<'r, 'a> Run<'r, 'a> {
    pub(crate) fn new(task: &'r mut Task<'a>) -> Run<'r, 'a> {
        let (damaged_indexes, counts) = (BTreeSet::new(), BTreeMap::new());
        Run { task, report: Report::default(), directory: None, damaged_indexes, counts }
    }

    /// Counts a finding, and tells it unless its object has too many of its kind.
    pub(crate) fn find(&mut self, finding: &Finding) {
        *self.report.findings.entry(finding.kind).or_default() += 1;
        let of = (finding.kind, finding.object.clone());
        let count = self.counts.entry(of.clone()).or_default();
        *count += 1;
        let mut finding = finding.clone();
        if let Some(directory) = &self.directory {
            finding.advice = finding.advice.replace("DIR", directory);
        }
        match *count <= self.task.told_max {
            true => (self.task.tell)(&finding),
            false => *self.report.untold.entry(of).or_default() += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thousand findings of one kind in one object don't hide one in another.
    #[test]
    fn many_like_findings_of_one_object_are_summed_up() {
        let (mut told, mut go_on) = (Vec::new(), |_: Progress| true);
        let tell = &mut |finding: &Finding| told.push(finding.to_string());
        let mut task = Task { pairs: &[], told_max: TOLD_MAX, tell, go_on: &mut go_on };
        let mut run = Run::new(&mut task);
        for number in 0..1_000 {
            let what = format!("slot {number}");
            let finding = Finding::of_file(Kind::RowWithoutEntry, "a".into(), what);
            run.find(&finding);
        }
        run.find(&Finding::of_file(Kind::RowWithoutEntry, "b".into(), "slot 7".into()));
        let report = run.report;
        assert_eq!(told.len(), 11);
        assert_eq!(report.count(), 1_001);
        assert_eq!(report.untold[&(Kind::RowWithoutEntry, "a".into())], 990);
        let said = report.to_string();
        assert!(
            said.contains("1001  row without entry\n          990 more than are shown are of a")
        );
    }
}

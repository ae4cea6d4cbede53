//! What is asked of a check, how far it is, and what came of it.
//!
//! Callers: whoever asks; the checks, which fill it.

use std::collections::BTreeMap;
use std::fmt;

use crate::{Finding, Kind, Pair};

/// So many findings of a kind are told one by one; the rest is counted.
const TOLD_MAX: u64 = 1_000;

/// How far a check is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Blocks that were looked at.
    pub blocks: u64,
    /// Blocks of all files.
    pub of: u64,
    /// Findings so far.
    pub findings: u64,
}

/// What is asked for.
pub struct Task<'a> {
    /// Indexes that are held against their heaps, of tables that the dictionary doesn't know.
    pub pairs: &'a [Pair<'a>],
    /// Told every finding when it is made; of one kind the first thousand.
    pub tell: &'a mut dyn FnMut(&Finding),
    /// Told now and then how far the check is; says whether it goes on.
    pub go_on: &'a mut dyn FnMut(Progress) -> bool,
}

/// What came of a check.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Data files.
    pub files: u64,
    /// Blocks that were looked at.
    pub blocks: u64,
    /// Of them those that were never written.
    pub blocks_unwritten: u64,
    /// Segments.
    pub segments: u64,
    /// Rows, in heaps whose blocks are in order.
    pub rows: u64,
    /// Entries, in indexes that are in order.
    pub entries: u64,
    /// Indexes that were held against their tables.
    pub compared: u64,
    /// Findings of each kind.
    pub findings: BTreeMap<Kind, u64>,
    /// Places that changed whenever they were looked at, and so were not judged.
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
            "{files} files, {blocks} blocks ({unwritten} never written), {segments} segments"
        )?;
        let (rows, entries, compared) = (self.rows, self.entries, self.compared);
        writeln!(f, "{rows} rows, {entries} index entries, {compared} indexes held against them")?;
        if self.unsettled > 0 {
            let count = self.unsettled;
            writeln!(f, "{count} places changed whenever they were looked at: not judged")?;
        }
        if let Some(why) = &self.skipped {
            writeln!(f, "structures were not checked: {why}")?;
        }
        for (kind, count) in &self.findings {
            writeln!(f, "{count:>8}  {kind}")?;
        }
        match self.count() {
            0 => writeln!(f, "nothing found"),
            1 => writeln!(f, "1 finding"),
            count => writeln!(f, "{count} findings"),
        }
    }
}

/// A check on its way: what was asked, and what there is so far.
pub(crate) struct Run<'r, 'a> {
    pub(crate) task: &'r mut Task<'a>,
    pub(crate) report: Report,
}

impl Run<'_, '_> {
    /// Takes a finding in, and tells it.
    pub(crate) fn find(&mut self, finding: &Finding) {
        let count = self.report.findings.entry(finding.kind).or_default();
        *count += 1;
        if *count <= TOLD_MAX {
            (self.task.tell)(finding);
        }
    }
}

//! What must hold in a database that was opened after a crash (rules PF1 to PF3, PF11).
//!
//!   * a transaction whose commit returned is there
//!   * one whose commit was called and hadn't returned is there wholly or not at all
//!   * nothing else is there, and no row is half one version and half another
//!   * a statement that defined something is there if it had returned; else it is there, with all
//!     that it defined, or not at all
//!   * no sequence will give a value that is in use
//!   * what is there is a prefix in commit order, as far as anybody can know it: what became of a
//!     row has no gap, a commit that returned before another was called is there if that one is,
//!     and whatever a session was told was written by somebody who is there, or who doesn't wait
//!
//! Each transaction leaves a mark, so which of them are there is known without their rows. The
//! order of two commits that were both in doubt and had nothing to do with each other can't be
//! known from outside; their redo records have one, and recovery reads records in that order only.
//!
//! Two steps, because the first needs the engine and the second doesn't: `found` says what is
//! there, [`compare`] holds it against what was known. One image can be left at several moments.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use crate::found::{FILES, Found, TABLESPACE};
use crate::journal::{ANOTHER, Chain, Entry, Numbers, Record};
use crate::{Breach, Check, Outcome, Tally, Violation};

/// Holds what was found against what sessions knew.
pub fn compare(record: &Record, found: &Found, tally: &mut Tally) -> Result<(), Breach> {
    let by = |check| move |violation: Violation| violation.by(check);
    let there = survivors(record, found, tally)?;
    let rows = after("row", &record.rows, &there);
    rows.and_then(|rows| same("row", &rows, &found.rows)).map_err(by(Check::Rows))?;
    definitions(record, &there, found).map_err(by(Check::Definitions))?;
    sequences(&record.entries, &there, found).map_err(by(Check::Sequences))?;
    tally.comparisons += 1;
    tally.told += record.told.len() as u64;
    overtakes(&record.entries, &there).map_err(by(Check::CommitOrder))?;
    depends_on_the_lost(record, &there).map_err(by(Check::Told))
}

/// What is defined is what these entries have left.
fn definitions(record: &Record, there: &BTreeSet<usize>, found: &Found) -> Result<(), Violation> {
    let mut defined = after("definition", &record.defined, there)?;
    for (what, is) in &mut defined {
        if is == ANOTHER
            && let Some(state) = found.defined.get(what)
        {
            is.clone_from(state);
        }
    }
    same("definition", &defined, &found.defined).map_err(|Violation(what)| {
        let is_new = |chain: &Chain<String>| chain.iter().any(|(by, _)| *by > 0);
        let new: Vec<_> = record.defined.iter().filter(|(_, chain)| is_new(chain)).collect();
        Violation(format!("{what}; of {new:?} there are {there:?}"))
    })
}

/// Which entries are there.
fn survivors(record: &Record, found: &Found, tally: &mut Tally) -> Result<BTreeSet<usize>, Breach> {
    let mut there = BTreeSet::new();
    for (number, entry) in record.entries.iter().enumerate() {
        let is_statement = !entry.defines.is_empty();
        let is_there = match (entry.outcome, is_statement) {
            // What it defined is compared with the rest.
            (Outcome::Acknowledged, true) => true,
            (_, true) => {
                let is_defined = is_defined(number, record, found);
                is_defined.map_err(|violation| violation.by(Check::Definitions))?
            }
            (_, false) => found.marks.contains_key(&number),
        };
        let in_doubt = matches!(entry.outcome, Outcome::CommitCalled | Outcome::Unawaited);
        if in_doubt && is_statement {
            tally.statements_in_doubt[usize::from(is_there)] += 1;
        } else if in_doubt {
            tally.in_doubt[usize::from(is_there)] += 1;
            tally.unawaited += u64::from(!entry.waits);
        } else if is_there != (entry.outcome == Outcome::Acknowledged) {
            let how = if is_there { "is there" } else { "is lost" };
            let what = format!("transaction {number} {how}, and it was {:?}", entry.outcome);
            return Err(Violation(what).by(Check::Transactions));
        }
        if is_there {
            there.insert(number);
        }
    }
    match found.marks.keys().find(|number| **number >= record.entries.len()) {
        None => Ok(there),
        Some(number) => {
            let what = format!("transaction {number} is there, which never began");
            Err(Violation(what).by(Check::Transactions))
        }
    }
}

/// Whether a statement in doubt is there: all that it defines, or nothing.
fn is_defined(number: usize, record: &Record, found: &Found) -> Result<bool, Violation> {
    let entry = &record.entries[number];
    let mut states = Vec::new();
    for what in &entry.defines {
        let chain = &record.defined[what];
        let at = chain.iter().position(|(by, _)| *by == number).expect("it defines this");
        let before = at.checked_sub(1).and_then(|at| chain[at].1.as_ref());
        let (after, is) = (chain[at].1.as_ref(), found.defined.get(what));
        let is_new = match after {
            Some(another) if another == ANOTHER => is != before,
            after => is == after,
        };
        if !is_new && is != before {
            return Err(Violation(format!(
                "{what} was {before:?} and was to become {after:?}, and is {is:?}"
            )));
        }
        states.push((what, is_new));
    }
    let count = states.iter().filter(|(_, is_new)| *is_new).count();
    match count == 0 || count == states.len() {
        true => Ok(count > 0),
        false => Err(Violation(format!("statement {number} is there in part: {states:?}"))),
    }
}

/// What these entries left, one after the other without a gap.
fn after<K: Clone + Ord + Debug, V: Clone + Debug>(
    what: &str,
    chains: &BTreeMap<K, Chain<V>>,
    there: &BTreeSet<usize>,
) -> Result<BTreeMap<K, V>, Violation> {
    let mut states = BTreeMap::new();
    for (key, chain) in chains {
        let count = chain.iter().take_while(|(by, _)| there.contains(by)).count();
        if chain[count..].iter().any(|(by, _)| there.contains(by)) {
            return Err(Violation(format!(
                "of {what} {key:?}, which became {chain:?}, a change is lost before one that is \
                 there"
            )));
        }
        if let Some((_, Some(state))) = chain[..count].last() {
            states.insert(key.clone(), state.clone());
        }
    }
    Ok(states)
}

pub(crate) fn same<K: Ord + Debug, V: PartialEq + Debug>(
    what: &str,
    expected: &BTreeMap<K, V>,
    found: &BTreeMap<K, V>,
) -> Result<(), Violation> {
    for (key, should) in expected {
        let is = found.get(key);
        if is != Some(should) {
            return Err(Violation(format!("{what} {key:?} should be {should:?} and is {is:?}")));
        }
    }
    match found.iter().find(|(key, _)| !expected.contains_key(*key)) {
        None => Ok(()),
        Some((key, is)) => {
            Err(Violation(format!("{what} {key:?} is there, {is:?}, and nobody committed it")))
        }
    }
}

/// Tickets are those of their transactions, and no value in use will be given again.
fn sequences(entries: &[Entry], there: &BTreeSet<usize>, found: &Found) -> Result<(), Violation> {
    for number in there {
        let entry = &entries[*number];
        let ticket = entry.numbers.iter().find(|(numbers, _)| *numbers == Numbers::Ticket);
        let (ticket, mark) = (ticket.map(|(_, value)| *value), found.marks.get(number));
        if mark.is_some_and(|mark| *mark != ticket) {
            return Err(Violation(format!(
                "transaction {number} has ticket {mark:?} and drew {ticket:?}"
            )));
        }
        for (numbers, value) in &entry.numbers {
            let next = found.next.get(numbers).copied();
            if next.is_none_or(|next| next <= *value) {
                return Err(Violation(format!(
                    "{} gives {next:?} next, and transaction {number} has {value}",
                    numbers.name()
                )));
            }
        }
    }
    Ok(())
}

/// No commit is there that was called after one returned that is lost (PF2): whether or not anybody
/// waited for it.
fn overtakes(entries: &[Entry], there: &BTreeSet<usize>) -> Result<(), Violation> {
    // Files and tablespaces are the control file's: one that is added commits nothing, and says
    // nothing of the redo before it.
    let commits = |number: &&usize| {
        let of_files = |what: &String| what == FILES || what.starts_with(TABLESPACE);
        let defines = &entries[**number].defines;
        defines.is_empty() || !defines.iter().all(of_files)
    };
    let last = there.iter().filter(commits);
    let last = last.filter_map(|number| Some((entries[*number].commit[0]?, *number))).max();
    let is_lost = |number: &usize, entry: &Entry| {
        !there.contains(number) && entry.outcome != Outcome::RolledBack
    };
    let lost = entries.iter().enumerate().filter(|(number, entry)| is_lost(number, entry));
    let first = lost.filter_map(|(number, entry)| Some((entry.commit[1]?, number))).min();
    match (first, last) {
        (Some((returned, lost)), Some((called, there))) if returned < called => {
            Err(Violation(format!(
                "transaction {there} is there, and {lost} is lost, whose commit had returned before\
                 : {:?} and {:?}",
                entries[there], entries[lost]
            )))
        }
        _ => Ok(()),
    }
}

/// What a session was told must not depend on a commit that is lost (PF17), but for one that
/// doesn't wait.
fn depends_on_the_lost(record: &Record, there: &BTreeSet<usize>) -> Result<(), Violation> {
    let explained = |told: &&crate::Told| {
        there.contains(&told.writer)
            || told.reader == Some(told.writer)
            || !record.entries[told.writer].waits
    };
    match record.told.iter().find(|told| !explained(told)) {
        None => Ok(()),
        Some(told) => Err(Violation(format!(
            "a session was told version {} of row {:?} by transaction {}, which is lost",
            told.version, told.row, told.writer
        ))),
    }
}

/// What one opening found and another didn't.
pub(crate) fn difference(expected: &Found, found: &Found) -> Result<(), Violation> {
    same("row", &expected.rows, &found.rows)?;
    same("mark", &expected.marks, &found.marks)?;
    same("definition", &expected.defined, &found.defined)?;
    same("the next of", &expected.next, &found.next)
}

#[cfg(test)]
#[path = "oracle_tests.rs"]
mod tests;

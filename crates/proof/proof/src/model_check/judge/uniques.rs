//! Unique indexes that are made and dropped while sessions work, and definitions that are refused.
//!
//! When such an index begins to hold isn't known exactly: at some moment of the statement that
//! makes it. So there are two questions: which may hold, so that a refusal has a reason; and which
//! surely hold, so that no two rows may be alike.
//!
//! Callers: the judge.

use std::collections::BTreeMap;

use database::ErrorKind;

use super::super::ask::Told;
use super::super::cell::{Cell, Row};
use super::super::known::{Define, Definition, Event, Extra};
use super::{Round, Wrong};

/// Two rows with the same values in these columns, none of them NULL.
pub(super) fn two_alike<'a>(
    rows: impl Iterator<Item = &'a Row>,
    columns: &[usize],
) -> Option<(&'a Row, &'a Row)> {
    let mut seen: BTreeMap<Vec<&Cell>, &Row> = BTreeMap::new();
    for row in rows {
        let key: Vec<&Cell> = columns.iter().map(|column| &row[*column]).collect();
        if key.iter().any(|cell| cell.is_null()) {
            continue;
        }
        if let Some(other) = seen.insert(key, row) {
            return Some((other, row));
        }
    }
    None
}

/// When an index was made: between these.
type Made<'e> = (&'e Extra, u64, u64);

impl Round<'_, '_> {
    fn done(&self) -> impl Iterator<Item = &Definition> {
        self.definitions.iter().filter(|one| !one.is_refused)
    }

    /// Unique indexes of the round.
    fn made(&self) -> impl Iterator<Item = Made<'_>> {
        let first = self.extras.iter().map(|extra| (extra, 0, 0));
        let later = self.done().filter_map(|one| match &one.define {
            Define::CreateIndex(extra) => {
                Some((extra, one.called, one.returned.unwrap_or(u64::MAX)))
            }
            Define::DropIndex(..) | Define::AddColumn(_) => None,
        });
        first.chain(later).filter(|(extra, ..)| extra.unique)
    }

    /// Statements that may have dropped it.
    fn drops<'s>(&'s self, (extra, called, _): Made<'s>) -> impl Iterator<Item = &'s Definition> {
        self.done().filter(move |one| {
            let is_it = matches!(&one.define, Define::DropIndex(_, name) if *name == extra.name);
            is_it && one.returned.is_none_or(|returned| returned > called)
        })
    }

    /// Those that may have held at some time between these.
    pub(super) fn maybe_unique(&self, from: u64, to: u64) -> impl Iterator<Item = &Extra> {
        let maybe = move |made: &Made<'_>| {
            let (_, called, returned) = *made;
            let is_gone = |one: &Definition| {
                one.called > returned && one.returned.is_some_and(|returned| returned < from)
            };
            called < to && !self.drops(*made).any(is_gone)
        };
        self.made().filter(maybe).map(|(extra, ..)| extra)
    }

    /// Those that held all the time between these.
    pub(super) fn surely_unique(&self, from: u64, to: u64) -> impl Iterator<Item = &Extra> {
        let surely =
            move |made: &Made<'_>| made.2 < from && !self.drops(*made).any(|one| one.called < to);
        self.made().filter(surely).map(|(extra, ..)| extra)
    }

    /// A definition: done, or refused for what another had done before, for who uses the table, or
    /// for rows that are alike.
    pub(super) fn define(
        &mut self,
        event: &Event,
        define: &Define,
        number: usize,
        told: &Told,
    ) -> Result<(), Wrong> {
        let history = &*self.judge.history;
        let alike = |extra: &Extra, moment: u64| {
            let rows = history.ids(extra.table);
            let rows = rows.filter_map(|id| history.at((extra.table, id), moment));
            two_alike(rows, &extra.columns)
        };
        let moments = history.snapshots(event.low);
        let Told::Refused(kind, message) = told else {
            if let Define::CreateIndex(extra) = define
                && extra.unique
                && moments.iter().all(|moment| alike(extra, *moment).is_some())
            {
                let two = alike(extra, event.low);
                return Err(format!("an index is unique, and two rows are alike: {two:?}"));
            }
            return Ok(());
        };
        let is_nowait = self.definitions[number].is_nowait;
        let is_explained = match kind {
            ErrorKind::Busy => is_nowait && self.is_shared(event),
            ErrorKind::LockTimeout => !is_nowait && self.is_shared(event),
            ErrorKind::Deadlock => !is_nowait && self.is_another_waiting(event),
            // Another index may have the same columns.
            ErrorKind::AlreadyExists | ErrorKind::Invalid => {
                !matches!(define, Define::DropIndex(..))
            }
            ErrorKind::NotFound => matches!(define, Define::DropIndex(..)),
            ErrorKind::Cancelled => self.judge.plan.cancels,
            ErrorKind::UniqueViolation => match define {
                Define::CreateIndex(extra) if extra.unique => {
                    moments.iter().any(|moment| alike(extra, *moment).is_some())
                }
                _ => false,
            },
            ErrorKind::NoSpace | ErrorKind::NoBuffer => self.judge.plan.may_lack(*kind),
            _ => false,
        };
        match is_explained {
            true => Ok(()),
            false => Err(format!("it was refused without a reason ({kind:?}): {message}")),
        }
    }
}

//! Whether there was a reason to refuse a statement.
//!
//! What a statement met isn't known in detail: it may have begun again, and looks at the present
//! where constraints are concerned. So a reason is sought among all rows that were there at some
//! moment between its call and its return.
//!
//! Callers: the judge.

use std::collections::{BTreeMap, BTreeSet};

use database::{ErrorKind, OnDelete};

use super::super::ask::{Act, Ask, IfHeld, changed};
use super::super::cell::{Cell, Row};
use super::super::known::{Deed, Define, Event, Txn};
use super::super::schema::{Reference, Schema, TABLES};
use super::effect::id;
use super::history::{Open, Place};
use super::{Round, Wrong};

/// All rows of each table that may have been there while a statement ran.
struct Met<'a> {
    schema: &'a Schema,
    /// Unique keys of the statement's table.
    keys: Vec<&'a [usize]>,
    rows: Vec<Vec<Row>>,
    /// Rows that an update has surely changed before it looked for keys that two rows have.
    surely_changed: BTreeSet<Row>,
}

/// The oldest moment that a statement may see.
fn oldest(open: &Open, low: u64) -> u64 {
    open.snapshots.first().map_or(low, |oldest| low.min(*oldest))
}

impl Round<'_, '_> {
    pub(super) fn refused(
        &mut self,
        open: &Open,
        event: &Event,
        ask: &Ask,
        kind: ErrorKind,
        message: &str,
    ) -> Result<(), Wrong> {
        let met = self.met(open, event, ask);
        let is_explained = match kind {
            ErrorKind::UniqueViolation => met.has_duplicate(ask),
            ErrorKind::CheckViolation => {
                met.pairs(ask).iter().any(|(_, row)| !met.schema.checks(row))
            }
            ErrorKind::ForeignKeyViolation => {
                self.lacks_parent(open, &met, ask, event.low)
                    || self.has_child(open, &met, ask, event.low)
            }
            // A block's list may be full of newer transactions that touched other rows.
            ErrorKind::Serialization => {
                let is_full = message.contains("too many transactions");
                open.serializable && (is_full || self.has_newer(open, &met, ask))
            }
            ErrorKind::Busy => ask.act.if_held() == Some(IfHeld::NoWait) && self.is_shared(event),
            ErrorKind::LockTimeout => {
                matches!(ask.act.if_held(), Some(IfHeld::WaitFor(_))) && self.is_shared(event)
            }
            ErrorKind::Deadlock => ask.act.can_wait() && self.is_another_waiting(event),
            ErrorKind::SnapshotTooOld => self.is_too_old(open, event, ask),
            ErrorKind::Cancelled => self.judge.plan.cancels,
            ErrorKind::NoSpace | ErrorKind::NoBuffer => self.judge.plan.may_lack(kind),
            // The index was dropped since the session looked it up.
            ErrorKind::NotFound | ErrorKind::DefinitionChanged => {
                let path = ask.act.target().and_then(|target| target.selection.path());
                path.is_some_and(|path| {
                    let drops =
                        |one: &Define| matches!(one, Define::DropIndex(_, of) if *of == path.name);
                    let is_read = matches!(ask.act, Act::Read { .. });
                    let is_changed = kind == ErrorKind::DefinitionChanged;
                    let since = if is_changed { event.called } else { ask.since };
                    (is_read || !is_changed) && self.defines(since, event.returned, drops)
                })
            }
            _ => false,
        };
        if !is_explained {
            return Err(format!("it was refused without a reason ({kind:?}): {message}"));
        }
        let tally = &mut *self.judge.tally;
        match kind {
            ErrorKind::UniqueViolation => tally.duplicates += 1,
            ErrorKind::CheckViolation => tally.checks += 1,
            ErrorKind::ForeignKeyViolation => tally.orphans += 1,
            ErrorKind::Serialization => tally.conflicts += 1,
            ErrorKind::Deadlock => tally.deadlocks += 1,
            ErrorKind::Busy => tally.busy += 1,
            ErrorKind::LockTimeout => tally.timeouts += 1,
            ErrorKind::SnapshotTooOld => tally.too_old += 1,
            ErrorKind::NoSpace => tally.no_space += 1,
            ErrorKind::Cancelled => tally.cancelled += 1,
            _ => {}
        }
        Ok(())
    }

    /// Whether something of this kind was defined, or was being defined, between these.
    fn defines(&self, from: u64, to: u64, is_one: impl Fn(&Define) -> bool) -> bool {
        let mut between = self.definitions.iter().filter(|one| one.is_between(from, to));
        between.any(|one| !one.is_refused && is_one(&one.define))
    }

    /// Whether anybody else may have held something meanwhile: a transaction, also one that a power
    /// cut has interrupted, or a definition, even if it was refused at last.
    pub(super) fn is_shared(&self, event: &Event) -> bool {
        let is_open = self.open.keys().any(|txn| *txn != event.txn);
        is_open || self.ended > event.called || self.judge.dead || self.is_another_defining(event)
    }

    /// Calls of other transactions that were under way at some time between these. One that was
    /// interrupted by the end of the round isn't in the log: for it stands the transaction.
    fn others(&self, txn: Txn, from: u64, to: u64) -> impl Iterator<Item = Option<&Event>> {
        let calls = self
            .log
            .iter()
            .filter(move |one| one.txn != txn && one.called < to && one.returned > from);
        let last: BTreeMap<Txn, &Event> = self.log.iter().map(|one| (one.txn, one)).collect();
        let is_unended = move |one: &&Event| {
            let ends = matches!(one.deed, Deed::Commit(_) | Deed::Rollback | Deed::Define(..));
            !ends && one.txn != txn && one.returned < to
        };
        let unended = last.into_values().filter(is_unended).map(|_| None);
        calls.map(Some).chain(unended)
    }

    /// Whether another may have been waiting, as in a circle all others are.
    pub(super) fn is_another_waiting(&self, event: &Event) -> bool {
        let waits = |one: Option<&Event>| match one.map(|one| &one.deed) {
            Some(Deed::Statement(ask, _)) => ask.act.can_wait(),
            None => true,
            Some(_) => false,
        };
        self.others(event.txn, event.called, event.returned).any(waits)
            || self.is_another_defining(event)
    }

    fn is_another_defining(&self, event: &Event) -> bool {
        let mut between =
            self.definitions.iter().filter(|one| one.is_between(event.called, event.returned));
        between.any(|one| one.called != event.called)
    }

    /// Whether what the snapshot asks for may be gone: it is older than the definition, or undo
    /// has been overwritten since. For a read somebody else must have changed something for that.
    fn is_too_old(&self, open: &Open, event: &Event, ask: &Ask) -> bool {
        let from = if open.serializable { open.began } else { event.called };
        let is_of = |one: &Define| {
            one.table() == ask.table || !matches!(ask.act, Act::Read { .. } | Act::Lock { .. })
        };
        let changes = |one: Option<&Event>| match one.map(|one| &one.deed) {
            Some(Deed::Statement(ask, _)) => !matches!(ask.act, Act::Read { .. }),
            Some(Deed::Begin { .. } | Deed::Savepoint(_) | Deed::Misuse(_)) => false,
            Some(_) | None => true,
        };
        let is_overwritten = || {
            !matches!(ask.act, Act::Read { .. })
                || open.serializable && open.all().next().is_some()
                || self.judge.dead
                || self.others(event.txn, from, event.returned).any(changes)
        };
        open.serializable && self.defines(from, event.returned, is_of)
            || self.judge.plan.tight && is_overwritten()
    }

    fn met(&self, open: &Open, event: &Event, ask: &Ask) -> Met<'_> {
        let low = oldest(open, event.low);
        let schema = &self.judge.plan.schema;
        // A statement that has waited may meet an index that came meanwhile.
        let extras = self.maybe_unique(event.called, event.returned);
        let extras = extras.filter(|extra| extra.table == ask.table);
        let keys = schema.keys().iter().copied();
        let keys = keys.chain(extras.map(|extra| extra.columns.as_slice())).collect();
        let rows = (0..TABLES.len()).map(|table| {
            let own = open.all().filter(|((of, _), _)| *of == table);
            let own = own.filter_map(|(_, own)| own.now.clone());
            self.judge.history.since(table, low).cloned().chain(own).collect()
        });
        let surely_changed = self.surely_changed(open, ask, low);
        Met { schema, keys, rows: rows.collect(), surely_changed }
    }

    /// Rows that an update is about, whatever its snapshot was: the transaction has them, or nobody
    /// has changed them since the oldest moment that the statement may see.
    fn surely_changed(&self, open: &Open, ask: &Ask, low: u64) -> BTreeSet<Row> {
        let Act::Update(target, _) = &ask.act else { return BTreeSet::new() };
        let history = &*self.judge.history;
        let is_sure = |row: &&Row| {
            let place = (ask.table, id(row));
            target.has(row) && (open.own(place).is_some() || history.newest(place) <= low)
        };
        open.rows(history, ask.table, u64::MAX).into_iter().filter(is_sure).cloned().collect()
    }

    /// Whether a row that the statement makes refers to one that wasn't there at some moment.
    fn lacks_parent(&self, open: &Open, met: &Met<'_>, ask: &Ask, low: u64) -> bool {
        let history = &*self.judge.history;
        let moments = history.snapshots(low);
        let pairs = met.pairs(ask);
        let lacks = |(_, new): &(Option<Row>, Row)| {
            self.judge.plan.schema.of(ask.table).any(|one| {
                let key = one.refers(new);
                // A row of the same statement had the key, and has another now.
                let is_left = |(old, new): &(Option<Row>, Row)| {
                    let old = old.as_ref().filter(|_| one.to == ask.table);
                    old.is_some_and(|old| one.referred(old) == key && one.referred(new) != key)
                };
                if !key.is_null() && pairs.iter().any(is_left) {
                    return true;
                }
                let is_there = |moment: &u64| {
                    let parents = open.rows(history, one.to, *moment);
                    parents.into_iter().any(|parent| one.referred(parent) == key)
                };
                !key.is_null() && !moments.iter().all(is_there)
            })
        };
        pairs.iter().any(lacks)
    }

    /// Whether rows that the statement takes away, or gives another key, are referred to, and no
    /// other row of the statement gets the key.
    fn has_child(&self, open: &Open, met: &Met<'_>, ask: &Ask, low: u64) -> bool {
        let (gone, is_update) = match &ask.act {
            Act::Delete(_) => (met.gone(ask), false),
            Act::Update(..) => (met.olds(ask), true),
            Act::Read { .. } | Act::Insert(_) | Act::Lock { .. } => return false,
        };
        gone.iter().any(|(table, row)| {
            met.schema.references.iter().filter(|one| one.to == *table).any(|one| {
                let key = one.referred(row);
                (is_update || one.on_delete == OnDelete::NoAction)
                    && !key.is_null()
                    && met.rows[one.table].iter().any(|child| one.refers(child) == key)
                    && !self.makes_key(open, one, &key, ask, low)
            })
        })
    }

    /// Whether the statement is an update that gives a row this key, whatever its snapshot was.
    fn makes_key(&self, open: &Open, one: &Reference, key: &Cell, ask: &Ask, low: u64) -> bool {
        let Act::Update(target, set) = &ask.act else { return false };
        let history = &*self.judge.history;
        let kept = |column, cell: &Cell| self.judge.plan.schema.kept(column, cell);
        let makes = |moment: &u64| {
            let rows = open.rows(history, ask.table, *moment).into_iter();
            let mut rows = rows.filter(|row| target.has(row));
            rows.any(|row| one.referred(&changed(row, set, kept)) == *key)
        };
        history.snapshots(oldest(open, low)).iter().all(makes)
    }

    /// Whether a row that the statement touches, or has to look at, has a version since the
    /// transaction's snapshot.
    fn has_newer(&self, open: &Open, met: &Met<'_>, ask: &Ask) -> bool {
        let Some(oldest) = open.snapshots.first() else { return false };
        let newer = |place: &Place| self.judge.history.newest(*place) > *oldest;
        met.touched(ask).iter().any(newer)
    }
}

impl Met<'_> {
    /// Rows that the statement may have met, with what it makes of them; and new ones.
    fn pairs(&self, ask: &Ask) -> Vec<(Option<Row>, Row)> {
        let kept = |column, cell: &Cell| self.schema.kept(column, cell);
        match &ask.act {
            Act::Insert(rows) => {
                let row = |row: &Row| -> Row {
                    row.iter().enumerate().map(|(at, one)| kept(at, one)).collect()
                };
                rows.iter().map(|one| (None, row(one))).collect()
            }
            Act::Update(target, set) => {
                let olds = self.rows[ask.table].iter().filter(|row| target.has(row));
                olds.map(|old| (Some(old.clone()), changed(old, set, kept))).collect()
            }
            Act::Read { .. } | Act::Delete(_) | Act::Lock { .. } => Vec::new(),
        }
    }

    /// Rows that the statement may have met.
    fn olds(&self, ask: &Ask) -> Vec<(usize, Row)> {
        let Some(target) = ask.act.target() else { return Vec::new() };
        let olds = self.rows[ask.table].iter().filter(|row| target.has(row));
        olds.map(|row| (ask.table, row.clone())).collect()
    }

    /// Whether a row that the statement makes has the key of another, once all are made.
    fn has_duplicate(&self, ask: &Ask) -> bool {
        let pairs = self.pairs(ask);
        pairs.iter().enumerate().any(|(at, (old, new))| {
            self.keys.iter().any(|columns| {
                let is_same = |other: &Row| columns.iter().all(|one| other[*one] == new[*one]);
                let is_other = |other: &Row| old.as_ref().is_none_or(|old| id(old) != id(other));
                let among = |(other, (_, row)): (usize, &(_, Row))| other != at && is_same(row);
                let is_left = |row: &Row| !self.surely_changed.contains(row);
                let is_it = |row: &Row| is_other(row) && is_same(row) && is_left(row);
                columns.iter().all(|column| !new[*column].is_null())
                    && (self.rows[ask.table].iter().any(is_it)
                        || pairs.iter().enumerate().any(among))
            })
        })
    }

    /// Rows that may have been deleted with those that the statement is about.
    fn gone(&self, ask: &Ask) -> Vec<(usize, Row)> {
        let mut all = self.olds(ask);
        let mut at = 0;
        let mut seen: BTreeSet<(usize, Row)> = all.iter().cloned().collect();
        while let Some((table, gone)) = all.get(at).cloned() {
            at += 1;
            for one in self.schema.references.iter().filter(|one| one.to == table) {
                if one.on_delete != OnDelete::Cascade || one.referred(&gone).is_null() {
                    continue;
                }
                for child in &self.rows[one.table] {
                    if one.refers(child) == one.referred(&gone)
                        && seen.insert((one.table, child.clone()))
                    {
                        all.push((one.table, child.clone()));
                    }
                }
            }
        }
        all
    }

    /// Rows that the statement touches or looks at: what it is about, what follows or is referred
    /// to, and what has a key that it makes.
    fn touched(&self, ask: &Ask) -> BTreeSet<Place> {
        let gone = match &ask.act {
            Act::Delete(_) => self.gone(ask),
            _ => self.olds(ask),
        };
        let mut touched: BTreeSet<Place> = BTreeSet::new();
        for (table, row) in &gone {
            touched.insert((*table, id(row)));
            for one in self.schema.references.iter().filter(|one| one.to == *table) {
                let key = one.referred(row);
                let children = self.rows[one.table].iter();
                let children = children.filter(|child| one.refers(child) == key);
                touched.extend(children.map(|child| (one.table, id(child))));
            }
        }
        for (_, new) in self.pairs(ask) {
            touched.insert((ask.table, id(&new)));
            for columns in &self.keys {
                let is_same = |row: &&Row| columns.iter().all(|at| row[*at] == new[*at]);
                let same = self.rows[ask.table].iter().filter(is_same);
                touched.extend(same.map(|row| (ask.table, id(row))));
            }
            for one in self.schema.of(ask.table) {
                let key = one.refers(&new);
                let parents = self.rows[one.to].iter();
                let parents = parents.filter(|parent| one.referred(parent) == key);
                touched.extend(parents.map(|parent| (one.to, id(parent))));
            }
        }
        touched
    }
}

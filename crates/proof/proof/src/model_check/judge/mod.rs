//! The judge: whether a round's events can have been, if the engine keeps its word.
//!
//! ```text
//!   events, in order ──▶ each statement: is there a snapshot of which it was told the truth?
//!          │                  what it has made of rows, by that snapshot
//!          └─ commits ──▶ versions, by SCN ──▶ states: after each commit all constraints hold,
//!                                              and nobody's change was lost
//! ```
//!
//! Nobody says which snapshot a statement had. It isn't older than what anybody had been told when
//! the statement was called, and not newer than the commits that were called before it returned: so
//! there are few to try. A transaction with one snapshot has one that fits all its statements.
//!
//! Of the snapshots that fit, each gives the same changes: a row that a statement changes has had
//! no version since its snapshot, so that an older one finds some of these rows, and a number of
//! rows that is told decides.
//!
//! Callers: `bed`, when a round has ended.

mod effect;
mod history;
mod refusal;
mod states;
mod uniques;

use std::collections::{BTreeMap, BTreeSet};

use database::ErrorKind;
use effect::{Effect, id};
use history::{Open, Own, Place};

use super::ask::{Act, Ask, IfHeld, Selection, Target, Told, changed};
use super::cell::Row;
use super::known::{Deed, Definition, Event, Extra, Txn};
use super::plan::Plan;
use super::tally::ModelTally;
pub(super) use history::History;

/// Events of a transaction that are shown with what is wrong.
const SHOWN_MAX: usize = 30;

/// What a transaction has made of rows, at its SCN.
struct Commit {
    scn: u64,
    txn: Txn,
    /// When it was called, and when it had returned.
    between: (u64, u64),
    rows: Vec<(Place, Own)>,
}

/// Judges a round.
pub(super) struct Judge<'a> {
    pub(super) plan: &'a Plan,
    /// Whether transactions may be left that a power cut has interrupted.
    pub(super) dead: bool,
    pub(super) history: &'a mut History,
    pub(super) tally: &'a mut ModelTally,
}

/// A round under way.
struct Round<'a, 'b> {
    judge: &'b mut Judge<'a>,
    open: BTreeMap<Txn, Open>,
    commits: Vec<Commit>,
    log: &'b [Event],
    /// All definitions of the round.
    definitions: Vec<Definition>,
    /// Indexes that were there when it began.
    extras: Vec<Extra>,
    /// When a transaction ended last.
    ended: u64,
}

/// What is wrong.
type Wrong = String;

impl Judge<'_> {
    /// What is wrong first. Later rounds go on from here.
    pub(super) fn round(
        &mut self,
        mut log: Vec<Event>,
        definitions: Vec<Definition>,
        extras: Vec<Extra>,
    ) -> Result<(), Wrong> {
        self.history.forget();
        let before: BTreeMap<Place, Row> =
            self.history.now().map(|(place, row)| (place, row.clone())).collect();
        log.sort_by_key(Event::order);
        let (open, commits) = Default::default();
        let mut round =
            Round { judge: self, open, commits, log: &log, definitions, extras, ended: 0 };
        for event in &log {
            round.event(event).map_err(|wrong| with_story(&wrong, event, &log))?;
        }
        round.commits.sort_by_key(|commit| commit.scn);
        round.follow(before).map_err(|(wrong, txn)| format!("{wrong}{}", story(txn, &log)))
    }
}

fn with_story(wrong: &str, event: &Event, log: &[Event]) -> String {
    format!("{wrong}\nin {event:?}{}", story(event.txn, log))
}

fn story(txn: Txn, log: &[Event]) -> String {
    let own: Vec<&Event> = log.iter().filter(|event| event.txn == txn).collect();
    let shown = own[own.len().saturating_sub(SHOWN_MAX)..].iter();
    shown.map(|event| format!("\n  {event:?}")).collect()
}

impl Round<'_, '_> {
    fn event(&mut self, event: &Event) -> Result<(), Wrong> {
        match &event.deed {
            Deed::Begin { serializable } => {
                let snapshots = self.judge.history.snapshots(event.low);
                let open = Open::new(*serializable, snapshots, event.called);
                self.open.insert(event.txn, open);
            }
            Deed::Savepoint(number) => self.of(event.txn).savepoint(*number),
            Deed::Back(number) => self.of(event.txn).back(*number),
            Deed::Misuse(Told::Refused(ErrorKind::Invalid, _)) => {
                self.judge.tally.misuses += 1;
            }
            Deed::Misuse(told) => {
                return Err(format!("a savepoint of something else was used, and told: {told:?}"));
            }
            Deed::Rollback => {
                self.ended = self.ended.max(event.returned);
                self.open.remove(&event.txn);
            }
            Deed::Commit(scn) => {
                self.ended = self.ended.max(event.returned);
                return self.commit(event, *scn);
            }
            Deed::Define(define, number, told) => {
                return self.define(event, define, *number, told);
            }
            Deed::Statement(ask, told) => {
                let mut open = self.open.remove(&event.txn).expect("it began before");
                let judged = self.statement(&mut open, event, ask.as_ref(), told);
                self.open.insert(event.txn, open);
                return judged;
            }
        }
        Ok(())
    }

    fn of(&mut self, txn: Txn) -> &mut Open {
        self.open.get_mut(&txn).expect("it began before")
    }

    fn commit(&mut self, event: &Event, scn: Option<u64>) -> Result<(), Wrong> {
        let (txn, between) = (event.txn, (event.called, event.returned));
        let open = self.open.remove(&txn).expect("it began before");
        let rows: Vec<(Place, Own)> = open.all().map(|(place, own)| (place, own.clone())).collect();
        let Some(scn) = scn else {
            return match rows.is_empty() {
                true => Ok(()),
                false => Err(format!("transaction {txn} changed or locked rows, and has no SCN")),
            };
        };
        for (place, own) in rows.iter().filter(|(_, own)| own.is_changed) {
            self.judge.history.install(*place, scn, own);
        }
        self.commits.push(Commit { scn, txn, between, rows });
        Ok(())
    }

    fn statement(
        &mut self,
        open: &mut Open,
        event: &Event,
        ask: &Ask,
        told: &Told,
    ) -> Result<(), Wrong> {
        if !open.serializable {
            let oldest = open.snapshots[0].max(event.low);
            open.snapshots = self.judge.history.snapshots(oldest);
        }
        match told {
            Told::Damaged(what) => return Err(what.clone()),
            Told::Refused(kind, message) => {
                return self.refused(open, event, ask, *kind, message);
            }
            Told::Panicked => {
                self.judge.tally.panics += 1;
                return Ok(());
            }
            Told::Rows(_) | Told::Count(_) => {}
        }
        match (&ask.act, told) {
            (Act::Read { target, descending, limit }, Told::Rows(rows)) => {
                let one = Reading { target, descending: *descending, limit: *limit, rows };
                self.read(open, ask.table, &one)
            }
            (Act::Lock { target, if_held, limit }, Told::Rows(rows)) => {
                self.lock(open, ask.table, target, *if_held, *limit, rows)
            }
            (Act::Insert(rows), Told::Count(count)) => {
                if *count != rows.len() as u64 {
                    return Err(format!("{count} rows were put in, of {}", rows.len()));
                }
                self.insert(open, ask.table, rows)
            }
            (Act::Update(target, set), Told::Count(count)) => {
                let olds = self.meant(open, ask.table, target, *count)?;
                let kept = |column, cell: &_| self.judge.plan.schema.kept(column, cell);
                let pair = |old: Row| {
                    let new = changed(&old, set, kept);
                    (old, new)
                };
                let pairs: Vec<(Row, Row)> = olds.into_iter().map(pair).collect();
                self.update(open, ask.table, &pairs)
            }
            (Act::Delete(target), Told::Count(count)) => {
                let olds = self.meant(open, ask.table, target, *count)?;
                self.judge.tally.deletes += olds.len() as u64;
                let (schema, history) = (&self.judge.plan.schema, &self.judge.history);
                let effect = Effect::delete(ask.table, &olds, schema, history, open);
                self.judge.tally.cascades += effect.cascades;
                self.judge.tally.set_null += effect.set_null;
                self.take_place(open, effect)
            }
            (act, told) => Err(format!("{act:?} was told {told:?}")),
        }
    }

    fn insert(&mut self, open: &mut Open, table: usize, rows: &[Row]) -> Result<(), Wrong> {
        let kept = |row: &Row| -> Row {
            row.iter().enumerate().map(|(at, cell)| self.judge.plan.schema.kept(at, cell)).collect()
        };
        let rows: Vec<Row> = rows.iter().map(kept).collect();
        self.judge.tally.inserts += rows.len() as u64;
        self.judge.tally.arrays += u64::from(rows.len() > 1);
        if open.serializable {
            let history = &*self.judge.history;
            let places = rows.iter().map(|row| (table, id(row)));
            let new: Vec<Place> = places.filter(|place| open.own(*place).is_none()).collect();
            let free =
                |snapshot: &u64| new.iter().all(|place| history.at(*place, *snapshot).is_none());
            let fit: Vec<u64> = open.snapshots.iter().copied().filter(free).collect();
            if fit.is_empty() {
                return Err(format!(
                    "a transaction with one snapshot has put a row over one that it sees: {new:?}"
                ));
            }
            open.snapshots = fit;
        }
        let count = rows.len();
        let effect = Effect::insert(table, &rows);
        match effect.rows.len() == count {
            true => self.take_place(open, effect),
            false => Err("a statement has put in two rows with one primary key".into()),
        }
    }

    fn update(&mut self, open: &mut Open, table: usize, pairs: &[(Row, Row)]) -> Result<(), Wrong> {
        self.judge.tally.updates += pairs.len() as u64;
        let ids: BTreeSet<i64> = pairs.iter().map(|(_, new)| id(new)).collect();
        if ids.len() < pairs.len() {
            return Err("an update gave two rows one primary key".into());
        }
        let moved = pairs.iter().filter(|(old, new)| id(old) != id(new)).count();
        self.judge.tally.moved += moved as u64;
        self.take_place(open, Effect::update(table, pairs))
    }

    /// The rows that a statement changed, which were so many, as they were before. Snapshots that
    /// can't be the statement's are the transaction's no more.
    fn meant(
        &self,
        open: &mut Open,
        table: usize,
        target: &Target,
        count: u64,
    ) -> Result<Vec<Row>, Wrong> {
        let history = &*self.judge.history;
        let (mut fit, mut found) = (Vec::new(), None);
        let mut why = Vec::new();
        for snapshot in &open.snapshots {
            let rows = open.rows(history, table, *snapshot);
            let rows: Vec<&Row> = rows.into_iter().filter(|row| target.has(row)).collect();
            let newer = rows.iter().find(|row| !self.is_newest(open, (table, id(row)), *snapshot));
            if rows.len() as u64 == count && newer.is_none() {
                fit.push(*snapshot);
                found.get_or_insert_with(|| rows.into_iter().cloned().collect());
            } else {
                let newer = newer.map(|row| (row, history.latest((table, id(row)))));
                why.push(format!("{} rows at {snapshot}, changed since: {newer:?}", rows.len()));
            }
        }
        open.snapshots = fit;
        found.ok_or_else(|| format!("{count} rows were changed; {}", why.join("; ")))
    }

    /// Whether a row that is seen at a snapshot is what it was since, so that it may be changed.
    fn is_newest(&self, open: &Open, place: Place, snapshot: u64) -> bool {
        let history = &*self.judge.history;
        if open.own(place).is_some() {
            return true;
        }
        match open.serializable {
            true => history.newest_other(place) <= snapshot,
            false => history.latest(place) == history.at(place, snapshot),
        }
    }

    /// What the statement has made of rows is the transaction's own.
    fn take_place(&self, open: &mut Open, effect: Effect) -> Result<(), Wrong> {
        let history = &*self.judge.history;
        for (place, now) in effect.rows {
            let base = history.latest(place).cloned();
            let newest = history.newest_other(place);
            let is_new = base.is_none();
            if open.serializable
                && !is_new
                && open.own(place).is_none()
                && open.snapshots.iter().all(|snapshot| newest > *snapshot)
            {
                return Err(format!(
                    "a transaction with one snapshot has changed {place:?}, which has a version \
                     at {newest}; its snapshot is one of {:?}",
                    open.snapshots
                ));
            }
            open.change(place, base, now);
        }
        Ok(())
    }
}

/// A read, and what it gave.
struct Reading<'a> {
    target: &'a Target,
    descending: bool,
    limit: usize,
    rows: &'a [Row],
}

impl Reading<'_> {
    /// What is wrong, if these are the rows that are there.
    fn differs(&self, all: &[&Row]) -> Option<String> {
        let mut meant: Vec<&Row> = all.iter().copied().filter(|row| self.target.has(row)).collect();
        let path = self.target.selection.path();
        if let Some(path) = path {
            meant.sort_by(|a, b| match self.descending {
                true => path.order(b, a),
                false => path.order(a, b),
            });
        }
        let wanted = meant.len().min(self.limit);
        if self.rows.len() != wanted {
            return Some(format!("{} rows, not {wanted}: {meant:?}", self.rows.len()));
        }
        let by_id: BTreeMap<i64, &Row> = meant.iter().map(|row| (id(row), *row)).collect();
        let mut given = BTreeSet::new();
        for (row, at) in self.rows.iter().zip(&meant) {
            if by_id.get(&id(row)) != Some(&row) {
                return Some(format!("{row:?}, which is {:?}", by_id.get(&id(row))));
            }
            if !given.insert(id(row)) {
                return Some(format!("{row:?} twice"));
            }
            if path.is_some_and(|path| path.order(row, at).is_ne()) {
                return Some(format!("{row:?} in the place of {at:?}"));
            }
        }
        None
    }
}

impl Round<'_, '_> {
    fn read(&mut self, open: &mut Open, table: usize, one: &Reading<'_>) -> Result<(), Wrong> {
        let tally = &mut *self.judge.tally;
        match one.target.selection {
            Selection::All => tally.scans += 1,
            Selection::Key(..) => tally.gets += 1,
            Selection::Range(..) => tally.ranges += 1,
        }
        tally.rows += one.rows.len() as u64;
        tally.own_reads += u64::from(open.has_changed(table));
        let history = &*self.judge.history;
        let (mut fit, mut why) = (Vec::new(), Vec::new());
        for snapshot in &open.snapshots {
            match one.differs(&open.rows(history, table, *snapshot)) {
                None => fit.push(*snapshot),
                Some(what) => why.push(format!("at {snapshot}: {what}")),
            }
        }
        if fit.is_empty() {
            return Err(format!("a read gave {:?}; {}", one.rows, why.join("; ")));
        }
        open.snapshots = fit;
        Ok(())
    }

    fn lock(
        &mut self,
        open: &mut Open,
        table: usize,
        target: &Target,
        if_held: IfHeld,
        limit: u64,
        given: &[Row],
    ) -> Result<(), Wrong> {
        let history = &*self.judge.history;
        let (mut fit, mut why) = (Vec::new(), Vec::new());
        for snapshot in &open.snapshots {
            let rows = open.rows(history, table, *snapshot);
            let rows: Vec<&Row> = rows.into_iter().filter(|row| target.has(row)).collect();
            let wanted = (rows.len() as u64).min(limit);
            let is_enough = match if_held {
                IfHeld::Skip => given.len() as u64 <= wanted,
                _ => given.len() as u64 == wanted,
            };
            let stranger = given.iter().find(|row| {
                !rows.contains(row) || !self.is_newest(open, (table, id(row)), *snapshot)
            });
            if is_enough && stranger.is_none() {
                fit.push(*snapshot);
            } else {
                why.push(format!("at {snapshot}: {wanted} rows, {stranger:?} isn't one of them"));
            }
        }
        if fit.is_empty() {
            return Err(format!("{given:?} were locked; {}", why.join("; ")));
        }
        open.snapshots = fit;
        self.judge.tally.locks += given.len() as u64;
        given.iter().for_each(|row| open.lock((table, id(row)), row));
        Ok(())
    }
}

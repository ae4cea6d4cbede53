//! The driver of statements: rows are found elsewhere, and changed or locked here as the
//! statement's view saw them, or the whole statement begins again (RL56 to RL58).
//!
//! ```text
//!   lock the tables ─▶ snapshot ─▶ the body finds rows by any reads with the view, and has each
//!                         ▲        inserted, updated, deleted or locked
//!                         │              │ changed since          │ its end
//!                         └─ take all back                 late keys ─▶ foreign keys ─▶ done
//! ```
//!
//! A step that finds a row changed since the view is refused to the body. The body hands the
//! refusal on as any other; the driver knows it and begins again.
//!
//! Callers: SQL; `selected` and `lock`, for statements over one selection.

use access::{Changed, RowAddress};
use os::Session;
use stop::{RefusalKind, Stop};
use txn::{LockWait, TableMode, View};
use value::{RowView, Value};

use crate::foreign::process_pending;
use crate::late_keys::LateKeys;
use crate::lock::IfHeld;
use crate::scratch::{Scratch, Work};
use crate::statement::statement_view;
use crate::update::{Changer, RowsChanger};
use crate::{Relation, RowChange};

/// What a statement does to rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StatementKind {
    /// It inserts rows.
    Insert,
    /// It inserts rows, and updates those that have their keys (INSERT … ON CONFLICT).
    Upsert,
    /// It updates one row at most.
    UpdateOne,
    /// It updates rows.
    Update,
    /// It deletes rows.
    Delete,
    /// It inserts, updates and deletes rows in any order (MERGE).
    Merge,
    /// It locks rows and changes none (FOR UPDATE).
    Lock,
}

impl StatementKind {
    /// Whether unique keys are checked at the statement's end, and not as each is inserted (RL28).
    fn has_late_keys(self) -> bool {
        matches!(self, StatementKind::Update | StatementKind::Merge)
    }
}

/// How a statement's body ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flow<T> {
    /// It has done all of its work, with this result.
    Done(T),
    /// What it did is to be taken back, and it is to be called again with a new view. In a
    /// serializable transaction the statement is refused instead.
    Again,
}

/// What became of a row that was to be changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Done {
    /// It is changed.
    Changed,
    /// The statement has changed or inserted it before, and it stays so.
    Already,
}

/// What became of a row that was to be locked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Locked {
    /// It is locked, and is as the view sees it.
    Yes,
    /// It was passed by: another transaction has it locked, or has changed it since the view (SKIP
    /// LOCKED).
    Passed,
}

/// What a statement does with its view. It is called again when the statement begins again.
pub type StatementBody<'b, T> = dyn FnMut(&mut StatementWork<'_, '_>) -> Result<Flow<T>, Stop> + 'b;

/// A statement over rows of some tables.
#[derive(Clone, Copy)]
pub struct Statement<'t> {
    tables: &'t [&'t Relation],
    kind: StatementKind,
    if_held: IfHeld,
}

impl<'t> Statement<'t> {
    /// A statement over rows of these tables. Each is locked in RX first, in this order, and then
    /// named by its place among them.
    ///
    /// # Panics
    /// When there is no table.
    pub fn over(tables: &'t [&'t Relation], kind: StatementKind) -> Statement<'t> {
        assert!(!tables.is_empty(), "a statement is over one table at least");
        Statement { tables, kind, if_held: IfHeld::Wait(LockWait::Forever) }
    }

    /// The statement with the lock wait for its tables that it has for rows (RL41).
    #[must_use]
    pub fn waiting(self, if_held: IfHeld) -> Statement<'t> {
        Statement { if_held, ..self }
    }

    /// Runs the statement and returns what its body has made. If it is refused, nothing of it is
    /// left.
    pub fn run<T>(&self, work: &mut Work<'_>, body: &mut StatementBody<'_, T>) -> Result<T, Stop> {
        let own = work.transaction.lock_wait();
        let lock_wait = self.if_held.lock_wait(own).unwrap_or(own);
        for table in self.tables {
            table.lock_for_changes_within(TableMode::RowExclusive, lock_wait, work)?;
        }
        self.tables[0].with_restarts(work, &mut |work| self.try_once(work, body))
    }

    /// Runs the statement once. Returns none if it has to begin again.
    fn try_once<T>(
        &self,
        work: &mut Work<'_>,
        body: &mut StatementBody<'_, T>,
    ) -> Result<Option<T>, Stop> {
        let (transactions, session) = (self.tables[0].transactions(), work.session);
        let pending = &mut work.scratch.pending;
        pending.clear();
        if self.tables.len() > 1 {
            pending.wait_for_end();
        }
        let snapshot = transactions.snapshot(Some(work.transaction), session)?;
        let view = transactions.view_of(&snapshot, Some(work.transaction));
        let view = match self.kind {
            // It changes nothing that it would see.
            StatementKind::Lock => view.with_all_own(),
            _ => statement_view(view),
        };
        let mut statement = StatementWork {
            work,
            tables: self.tables,
            kind: self.kind,
            view,
            late: LateKeys::default(),
            sets_keys: false,
            locked: 0,
            has_passed_newer: false,
            ended: None,
            begins_again: false,
        };
        let done = body(&mut statement);
        statement.end(done)
    }
}

impl Relation {
    /// Runs a statement over rows of this table, which is table 0 in it. If it is refused, nothing
    /// of it is left.
    pub fn statement<T>(
        &self,
        kind: StatementKind,
        work: &mut Work<'_>,
        body: &mut StatementBody<'_, T>,
    ) -> Result<T, Stop> {
        Statement::over(&[self], kind).run(work, body)
    }
}

/// A statement under way: what its body has rows changed with. A table is named by its place among
/// those of the statement, counted from 0. A step that is refused refuses the statement, whatever
/// the body returns.
pub struct StatementWork<'s, 'a> {
    pub(crate) work: &'s mut Work<'a>,
    tables: &'s [&'s Relation],
    kind: StatementKind,
    pub(crate) view: View,
    late: LateKeys<'a>,
    /// It has set a column of an index or a foreign key: from then on rows are updated one by one,
    /// each with its entries (RL13).
    sets_keys: bool,
    /// The number of rows that it has locked.
    locked: u64,
    /// It has passed by a row that was changed since its view.
    has_passed_newer: bool,
    /// Why it takes no more steps.
    ended: Option<Stop>,
    /// That is because it begins again.
    begins_again: bool,
}

impl<'a> StatementWork<'_, 'a> {
    /// The view by which the statement chooses its rows. It sees what the transaction did before
    /// the statement, and nothing that the statement does (RL46).
    pub fn view(&self) -> View {
        self.view
    }

    /// The session that runs the statement.
    pub fn session(&self) -> &'a Session {
        self.work.session
    }

    /// The session's buffers, for reads.
    pub fn scratch(&mut self) -> &mut Scratch {
        self.work.scratch
    }

    /// Inserts a row with a value for each column. [`new_row`](Self::new_row) shows it as it was
    /// inserted.
    pub fn insert(&mut self, table: usize, values: &[Value<'_>]) -> Result<RowAddress, Stop> {
        self.step(table, |statement, relation| {
            let late = statement.kind.has_late_keys().then_some(&mut statement.late);
            let known = relation.layout().columns();
            let address = relation.insert_row(statement.work, known, values, late)?;
            relation.process_pending_early(statement.work)?;
            Ok(Some(address))
        })
    }

    /// Inserts rows with a value for each column, and returns how many. `inserted` is given their
    /// addresses, without latches. Where keys aren't late, rows are inserted together (RL47).
    pub fn insert_many<'v>(
        &mut self,
        table: usize,
        rows: impl IntoIterator<Item = &'v [Value<'v>]>,
        inserted: &mut dyn FnMut(RowAddress),
    ) -> Result<u64, Stop> {
        let mut rows = rows.into_iter().fuse();
        if self.kind.has_late_keys() {
            let mut count = 0;
            for values in rows {
                inserted(self.insert(table, values)?);
                count += 1;
            }
            return Ok(count);
        }
        self.step(table, |statement, relation| {
            let known = relation.layout().columns();
            relation.insert_batches(statement.work, known, &mut rows, inserted).map(Some)
        })
    }

    /// Updates a row that the view has shown. `change` only computes, and may be called again; if
    /// it is refused, the statement is. [`old_row`](Self::old_row) and [`new_row`](Self::new_row)
    /// show a row that was changed.
    pub fn update(
        &mut self,
        table: usize,
        row: RowAddress,
        change: &mut dyn FnMut(&RowView<'_>, &mut RowChange<'_>) -> Result<(), Stop>,
    ) -> Result<Done, Stop> {
        self.step(table, |statement, relation| statement.update_one(relation, row, change))
    }

    /// Updates rows that the view has shown, in this order, and returns how many it has changed.
    /// The statement meets each of them once, and those of a block follow one another: they are
    /// changed together where that is possible (RL13). `change` is also given the place of the row
    /// among `rows`.
    pub fn update_many(
        &mut self,
        table: usize,
        rows: &[RowAddress],
        change: &mut dyn FnMut(usize, &RowView<'_>, &mut RowChange<'_>) -> Result<(), Stop>,
    ) -> Result<u64, Stop> {
        self.step(table, |statement, relation| statement.update_rows(relation, rows, change))
    }

    /// Deletes a row that the view has shown. [`old_row`](Self::old_row) shows it.
    pub fn delete(&mut self, table: usize, row: RowAddress) -> Result<Done, Stop> {
        self.step(table, |statement, relation| {
            let is_referred_to = !relation.definition().referenced_by.is_empty();
            if is_referred_to && statement.kind != StatementKind::Delete {
                // A row to come may get the key (RL34).
                statement.work.scratch.pending.wait_for_end();
            }
            let deleted = relation.delete_row(statement.work, row, Some(statement.view))?;
            statement.done(relation, row, deleted)
        })
    }

    /// Locks a row that the view has shown, until the transaction ends.
    pub fn lock(&mut self, table: usize, row: RowAddress, if_held: IfHeld) -> Result<Locked, Stop> {
        self.step(table, |statement, relation| statement.lock_one(relation, row, if_held))
    }

    /// Whether the statement will begin again, whatever its body says, because all that it met was
    /// passed by, and some of it was changed since the view (RL25). A body that has locked its rows
    /// asks before it reads them.
    pub fn will_begin_again(&self) -> bool {
        self.has_passed_newer && (self.locked == 0 || self.work.transaction.is_serializable())
    }

    /// Whether a row was passed by that was changed since the view. A body that has nothing to show
    /// for the rows that it has locked may say [`Flow::Again`] then.
    pub fn has_passed_newer(&self) -> bool {
        self.has_passed_newer
    }

    /// The row as it was before the last change: of an update or a delete that returned
    /// [`Done::Changed`], until the next step.
    pub fn old_row(&self, table: usize) -> Result<RowView<'_>, Stop> {
        self.tables[table].row(&self.work.scratch.old_row)
    }

    /// The row as the last change has left it: of an update that returned [`Done::Changed`] or an
    /// insert, until the next step.
    pub fn new_row(&self, table: usize) -> Result<RowView<'_>, Stop> {
        self.tables[table].row(&self.work.scratch.new_row)
    }

    /// Does a step, unless an earlier one has ended the statement. A step that returns none has met
    /// a row that was changed since the view.
    pub(crate) fn step<T>(
        &mut self,
        table: usize,
        act: impl FnOnce(&mut Self, &Relation) -> Result<Option<T>, Stop>,
    ) -> Result<T, Stop> {
        if let Some(stop) = &self.ended {
            return Err(stop.clone());
        }
        let relation = self.tables[table];
        let stop = match act(self, relation) {
            Ok(Some(done)) => return Ok(done),
            Ok(None) => {
                self.begins_again = !self.work.transaction.is_serializable();
                relation.changed_since()
            }
            Err(stop) => stop,
        };
        self.ended = Some(stop.clone());
        Err(stop)
    }

    fn update_one(
        &mut self,
        relation: &Relation,
        row: RowAddress,
        change: &mut Changer<'_>,
    ) -> Result<Option<Done>, Stop> {
        let late = self.kind.has_late_keys().then_some(&mut self.late);
        let changed = relation.update_row(self.work, row, Some(self.view), change, late)?;
        self.done(relation, row, changed)
    }

    fn update_rows(
        &mut self,
        relation: &Relation,
        rows: &[RowAddress],
        change: &mut RowsChanger<'_>,
    ) -> Result<Option<u64>, Stop> {
        let (mut count, mut at) = (0, 0);
        for block in rows.chunk_by(|one, next| one.block == next.block) {
            let end = at + block.len();
            while at < end {
                if !self.sets_keys && end - at > 1 {
                    let mut behind = |place: usize, old: &RowView<'_>, new: &mut RowChange<'_>| {
                        change(at + place, old, new)
                    };
                    let (left, view) = (&rows[at..end], self.view);
                    let (work, sets_keys) = (&mut *self.work, &mut self.sets_keys);
                    let done =
                        relation.update_together(work, left, view, &mut behind, sets_keys)?;
                    if done > 0 {
                        count += done as u64;
                        at += done;
                        continue;
                    }
                }
                let mut of_row = |old: &RowView<'_>, new: &mut RowChange<'_>| change(at, old, new);
                match self.update_one(relation, rows[at], &mut of_row)? {
                    Some(done) => count += u64::from(done == Done::Changed),
                    None => return Ok(None),
                }
                at += 1;
            }
        }
        Ok(Some(count))
    }

    fn lock_one(
        &mut self,
        relation: &Relation,
        row: RowAddress,
        if_held: IfHeld,
    ) -> Result<Option<Locked>, Stop> {
        let (view, session) = (self.view, self.work.session);
        let transaction = &mut *self.work.transaction;
        let lock_wait = if_held.lock_wait(transaction.lock_wait());
        match relation.heap().lock(transaction, row, Some(view), lock_wait, session)? {
            Changed::Yes | Changed::Already => {
                self.locked += 1;
                return Ok(Some(Locked::Yes));
            }
            Changed::Held => return Ok(Some(Locked::Passed)),
            Changed::TooNew => return Err(relation.too_new()),
            Changed::NotThere => relation.check_seen(view, row, session)?,
            Changed::Since => {}
        }
        if if_held != IfHeld::Skip {
            return Ok(None);
        }
        self.has_passed_newer = true;
        Ok(Some(Locked::Passed))
    }

    /// What became of a row that was to be changed; none if it was changed since the view.
    fn done(
        &mut self,
        relation: &Relation,
        row: RowAddress,
        changed: Changed,
    ) -> Result<Option<Done>, Stop> {
        let done = match changed {
            Changed::Yes => Some(Done::Changed),
            // A row that a cascade of the statement has changed also stays as it is.
            Changed::Already => Some(Done::Already),
            Changed::Since => None,
            Changed::NotThere => self.not_there(relation, row)?,
            Changed::TooNew => return Err(relation.too_new()),
            Changed::Held => unreachable!("a statement that changes a row waits for it"),
        };
        if done.is_some() {
            relation.process_pending_early(self.work)?;
        }
        Ok(done)
    }

    /// What became of a row that isn't there. If it isn't the statement's own and the view hasn't
    /// shown it, its block is lost.
    #[cold]
    fn not_there(&self, relation: &Relation, row: RowAddress) -> Result<Option<Done>, Stop> {
        let (view, session) = (self.view, self.work.session);
        if relation.fetch(view, row, &mut |_| (), session)?.is_some() {
            return Ok(None);
        }
        relation.check_seen(view.with_all_own(), row, session)?;
        Ok(Some(Done::Already))
    }

    /// Ends the statement, whose body has returned this. Returns none if it begins again.
    fn end<T>(mut self, returned: Result<Flow<T>, Stop>) -> Result<Option<T>, Stop> {
        if self.begins_again {
            return match returned {
                // The body was stopped by something else: a halt, a cancel.
                Err(stop) if stop.refusal() != Some(RefusalKind::Serialization) => Err(stop),
                _ => Ok(None),
            };
        }
        let flow = returned?;
        if let Some(stop) = self.ended.take() {
            return Err(stop);
        }
        let Flow::Done(done) = flow else { return Ok(None) };
        if self.will_begin_again() {
            return Ok(None);
        }
        for relation in self.tables {
            self.late.insert_into(relation, self.work)?;
        }
        process_pending(self.work)?;
        Ok(Some(done))
    }
}

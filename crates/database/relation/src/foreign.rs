//! Foreign keys: each side writes first and checks then, against what is there now (RL6).
//!
//! ```text
//!   child                                    parent
//!   row and entries are written              row and entries are deleted
//!   looks for the parent's entry             looks for entries of children
//!       there        fine                        none         fine
//!       held         waits, looks again          held         waits, looks again
//!       none         refused                     there        refused, or they are changed too
//! ```
//!
//! Each side writes before it looks, and looks at the blocks as they are. So of two sessions that
//! meet, one at least sees what the other wrote and waits for its end; if both wait, that is a
//! circle, and one is refused.
//!
//! Foreign-key work is done at the end of a statement: first changes of other rows, which may cause
//! more of them, then checks of what is left. So rows of one statement may refer to each other in
//! whatever order they come.
//!
//! Callers: `statement`, at its end; `insert`, `update` and `delete`, which note pending keys.

use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;

use access::{Changed, Current, Now, RowAddress};
use ids::ObjectNo;
use stop::{Failpoint, Refusal, RefusalKind, Stop, check_call};
use txn::TableMode;
use value::{OwnedValue, RowView, Value, key_successor};

use crate::scratch::{Scratch, Work, shrink};
use crate::{ForeignKey, IndexColumn, OnDelete, Relation, RowChange};

/// Foreign-key work that a statement has to do at its end.
#[derive(Default)]
pub(crate) struct Pending {
    /// Keys of deleted rows whose children are deleted.
    cascades: Vec<PendingKey>,
    /// Keys of deleted rows whose children's foreign keys become NULL.
    set_nulls: Vec<PendingKey>,
    /// Keys that a parent has to have, or that no child may have.
    checks: Vec<PendingKey>,
    /// All this has to wait for the end of the statement: what is found may be another by then
    /// (RL34, RL35).
    waits_for_end: bool,
}

/// With this many pending keys a statement over many rows works them off, if it may before its end
/// (RL34).
pub(crate) const PENDING_MAX: usize = 4_096;

/// A key value that foreign-key work is about.
struct PendingKey {
    side: Side,
    /// The child's table for [`Side::Parent`], the parent's for [`Side::Children`].
    of: ObjectNo,
    /// The place of the foreign key among the table's, or among those that refer to it.
    number: usize,
    /// The values of the key's columns, in its order.
    values: Vec<OwnedValue>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    /// The parent: a row has to have the key.
    Parent,
    /// The children: rows that have the key are changed, or there may be none.
    Children,
}

impl Pending {
    pub(crate) fn clear(&mut self) {
        self.cascades.clear();
        self.set_nulls.clear();
        self.checks.clear();
        self.waits_for_end = false;
    }

    /// Nothing of it is worked off before the statement's end (RL34).
    pub(crate) fn wait_for_end(&mut self) {
        self.waits_for_end = true;
    }

    /// Forgets all pending keys, and gives back each list that takes more than `most` bytes.
    pub(crate) fn shrink(&mut self, most: usize) {
        self.clear();
        shrink(&mut self.cascades, most);
        shrink(&mut self.set_nulls, most);
        shrink(&mut self.checks, most);
    }

    /// The number of bytes that the lists take.
    pub(crate) fn bytes(&self) -> usize {
        let acts = self.cascades.capacity() + self.set_nulls.capacity();
        (acts + self.checks.capacity()) * size_of::<PendingKey>()
    }

    pub(crate) fn len(&self) -> usize {
        self.cascades.len() + self.set_nulls.len() + self.checks.len()
    }
}

impl Relation {
    /// The key that these columns of a row have; none if one of them is NULL.
    fn pending_key(
        &self,
        side: Side,
        number: usize,
        row: &RowView<'_>,
        columns: &[usize],
    ) -> Option<PendingKey> {
        let value = |column: &usize| row.get(*column).ok().filter(|value| !value.is_null());
        let values = columns.iter().map(|column| value(column).map(Value::to_owned));
        let (of, values) = (self.definition().object, values.collect::<Option<_>>()?);
        Some(PendingKey { side, of, number, values })
    }

    /// Notes what foreign keys ask for after an insert of the new row in the buffers.
    pub(crate) fn foreign_inserted(&self, scratch: &mut Scratch) -> Result<(), Stop> {
        let foreign_keys = &self.definition().foreign_keys;
        if foreign_keys.is_empty() {
            return Ok(());
        }
        let Scratch { new_row, pending, .. } = scratch;
        let row = self.row(new_row)?;
        for (number, key) in foreign_keys.iter().enumerate() {
            pending.checks.extend(self.pending_key(Side::Parent, number, &row, &key.columns));
        }
        Ok(())
    }

    /// Notes what foreign keys ask for after an update. The buffers have the old row, the new one,
    /// and the columns that were set.
    pub(crate) fn foreign_updated(&self, scratch: &mut Scratch) -> Result<(), Stop> {
        let definition = self.definition();
        if definition.foreign_keys.is_empty() && definition.referenced_by.is_empty() {
            return Ok(());
        }
        let Scratch { old_row, new_row, assignments, pending, .. } = scratch;
        let (old, new) = (self.row(old_row)?, self.row(new_row)?);
        let differs = |columns: &[usize]| {
            let set = columns.iter().filter(|column| assignments.has(**column));
            set.into_iter().any(|column| old.get(*column) != new.get(*column))
        };
        for (number, key) in definition.referenced_by.iter().enumerate() {
            let columns = &key.referenced_columns;
            if differs(columns)
                && let Some(lost) = self.pending_key(Side::Children, number, &old, columns)
            {
                pending.checks.push(lost);
                // Another row of the statement may get the key yet (RL35).
                pending.wait_for_end();
            }
        }
        for (number, key) in definition.foreign_keys.iter().enumerate() {
            if differs(&key.columns) {
                pending.checks.extend(self.pending_key(Side::Parent, number, &new, &key.columns));
            }
        }
        Ok(())
    }

    /// Notes what foreign keys ask for after a delete of the old row in the buffers.
    pub(crate) fn foreign_deleted(&self, scratch: &mut Scratch) -> Result<(), Stop> {
        let referenced_by = &self.definition().referenced_by;
        if referenced_by.is_empty() {
            return Ok(());
        }
        let Scratch { old_row, pending, .. } = scratch;
        let old = self.row(old_row)?;
        for (number, key) in referenced_by.iter().enumerate() {
            let list = match key.on_delete {
                OnDelete::NoAction => &mut pending.checks,
                OnDelete::Cascade => &mut pending.cascades,
                OnDelete::SetNull => &mut pending.set_nulls,
            };
            list.extend(self.pending_key(Side::Children, number, &old, &key.referenced_columns));
        }
        Ok(())
    }

    /// Whether a statement over many rows may work off pending keys before its end: nothing that it
    /// will do to further rows changes what it finds (RL34).
    pub(crate) fn may_process_early(&self, pending: &Pending) -> bool {
        let definition = self.definition();
        let acts = definition.referenced_by.iter().any(|key| key.on_delete != OnDelete::NoAction);
        let own = definition.foreign_keys.iter().any(|key| key.references == definition.object);
        !acts && !own && !pending.waits_for_end
    }
}

/// Works off pending keys: changes other rows, and checks what is left (RL7).
///
/// All deletes come first: a row that one foreign key deletes isn't set to NULL by another one
/// before, so the result doesn't depend on the order of foreign keys. SET NULL deletes no row.
pub(crate) fn process_pending(work: &mut Work<'_>) -> Result<(), Stop> {
    while let Some(item) = work.scratch.pending.cascades.pop() {
        check_call(work.session)?;
        follow(work, &item)?;
    }
    while let Some(item) = work.scratch.pending.set_nulls.pop() {
        check_call(work.session)?;
        follow(work, &item)?;
    }
    assert!(work.scratch.pending.cascades.is_empty(), "SET NULL takes no row away");
    while let Some(item) = work.scratch.pending.checks.pop() {
        check_call(work.session)?;
        match item.side {
            Side::Parent => has_parent(work, &item)?,
            Side::Children => has_no_children(work, &item)?,
        }
    }
    Ok(())
}

/// Locks another relation in this mode, so that its definition stays (RL8).
fn locked(work: &mut Work<'_>, object: ObjectNo, mode: TableMode) -> Result<Arc<Relation>, Stop> {
    loop {
        let relation = work.relations.relation(object, work.session)?;
        match relation.lock_as(work, mode) {
            // DDL has replaced the definition since. It may again, because RS goes with S, the lock
            // of DDL that makes an index; each time a DDL statement has ended.
            Err(stop) if stop.refusal() == Some(RefusalKind::DefinitionChanged) => {}
            done => return done.map(|()| relation),
        }
    }
}

/// A row that was found by its index entry, after it was locked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ChildRow {
    /// The row refers to the key, and is locked.
    Refers,
    /// The row doesn't refer to the key any more, and is locked.
    RefersElsewhere,
    /// The row was deleted, or its block is lost.
    Gone,
}

/// The bounds of a range of an index's keys.
type KeyBounds<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);

/// A search for the rows that refer to one key: a range of an index, as it is now.
struct ChildScan<'a> {
    number: usize,
    first: Vec<u8>,
    end: Vec<u8>,
    now: Now<'a>,
}

/// Checks that a row of the parent has the key.
fn has_parent(work: &mut Work<'_>, item: &PendingKey) -> Result<(), Stop> {
    let child = work.relations.relation(item.of, work.session)?;
    let key = &child.definition().foreign_keys[item.number];
    let parent = locked(work, key.references, TableMode::RowShare)?;
    match parent.has_key(work, key, &item.values)? {
        true => Ok(()),
        false => Err(no_parent(&child, &parent, key, &item.values)),
    }
}

/// Checks that no row refers to a key that was removed, unless another row of the parent has the
/// key by now. That row is of this statement: another transaction can't insert the key before this
/// one has ended.
fn has_no_children(work: &mut Work<'_>, item: &PendingKey) -> Result<(), Stop> {
    let parent = work.relations.relation(item.of, work.session)?;
    let key = &parent.definition().referenced_by[item.number];
    let child = locked(work, key.table, TableMode::RowShare)?;
    if child.transactions().failpoints().has(Failpoint::SkipChildren) {
        return Ok(());
    }
    let mut children = child.children_of(key, &item.values)?;
    if child.next_child(work, &mut children)?.is_none()
        || parent.has_key(work, key, &item.values)?
    {
        return Ok(());
    }
    Err(has_children(&child, &parent, key, &item.values))
}

/// Deletes the rows that refer to a deleted row, or sets their foreign keys to NULL.
fn follow(work: &mut Work<'_>, item: &PendingKey) -> Result<(), Stop> {
    let parent = work.relations.relation(item.of, work.session)?;
    let key = &parent.definition().referenced_by[item.number];
    let child = locked(work, key.table, TableMode::RowExclusive)?;
    let mut children = child.children_of(key, &item.values)?;
    let mut previous = None;
    while let Some(row) = child.next_child(work, &mut children)? {
        let found = child.lock_child_row(work, row, key, &item.values)?;
        if found != ChildRow::Refers {
            // The transaction that changed or deleted the row has ended, and its entry is gone. If
            // the same row is found again, the entry leads to no such row, and would be found for
            // ever.
            if previous.replace(row) == Some(row) {
                return Err(child.leads_wrong(found, row, child.index_of(key.index)?));
            }
            continue;
        }
        let changed = match key.on_delete {
            OnDelete::SetNull => {
                let mut to_null = |_: &RowView<'_>, change: &mut RowChange<'_>| {
                    key.columns.iter().try_for_each(|column| change.set(*column, Value::Null))
                };
                child.update_row(work, row, None, &mut to_null, None)?
            }
            OnDelete::Cascade | OnDelete::NoAction => child.delete_row(work, row, None)?,
        };
        match changed {
            Changed::Yes => {}
            // The row is locked, but one of its pieces lies in a block whose ITL has no entry that
            // this transaction may take (rule txn/TX9).
            Changed::Since => return Err(child.changed_since()),
            Changed::TooNew => return Err(child.too_new()),
            Changed::NotThere | Changed::Already | Changed::Held => {
                unreachable!("a locked row that no view is asked of is there to be changed")
            }
        }
    }
    Ok(())
}

impl Relation {
    fn lock_as(&self, work: &mut Work<'_>, mode: TableMode) -> Result<(), Stop> {
        let id = work.transaction.id().expect("who looks for others has written something");
        self.lock_table(id, mode, work.transaction.lock_wait(), work.session)
    }

    fn index_of(&self, object: ObjectNo) -> Result<usize, Stop> {
        self.index_number(object).ok_or_else(|| {
            let message = format!(
                "cannot check a foreign key: table {} has no index {object}; verify the catalog",
                self.definition().name
            );
            Stop::refuse(RefusalKind::Corrupt, message)
        })
    }

    /// The beginning of an index's key, made of values of these columns. None if no row can have
    /// them.
    fn key_of(
        &self,
        number: usize,
        columns: &[usize],
        values: &[OwnedValue],
    ) -> Result<Option<Vec<u8>>, Stop> {
        let columns_of_index = &self.indexes()[number].columns;
        let value = |of: &IndexColumn| {
            let at = columns.iter().position(|column| *column == of.column);
            values[at.expect("the index begins with the columns of the foreign key")].get()
        };
        let mut key = Vec::new();
        let values = columns_of_index.iter().take(columns.len()).map(value);
        Ok(self.push_search_key(columns_of_index, values, &mut key)?.map(|_| key))
    }

    /// Whether a row of the parent has the key now.
    fn has_key(
        &self,
        work: &mut Work<'_>,
        key: &ForeignKey,
        values: &[OwnedValue],
    ) -> Result<bool, Stop> {
        let number = self.index_of(key.referenced_index)?;
        let Some(sought) = self.key_of(number, &key.referenced_columns, values)? else {
            return Ok(false);
        };
        let range = (Bound::Included(&sought[..]), Bound::Included(&sought[..]));
        let mut now = self.index(number).now(range);
        Ok(self.find_now(work, number, range, &mut now)?.is_some())
    }

    /// A search for the rows that refer to these values now. None if no row can have them.
    fn children_of(
        &self,
        key: &ForeignKey,
        values: &[OwnedValue],
    ) -> Result<Option<ChildScan<'_>>, Stop> {
        let number = self.index_of(key.index)?;
        let Some(first) = self.key_of(number, &key.columns, values)? else { return Ok(None) };
        let mut end = first.clone();
        assert!(key_successor(&mut end), "a column of a key isn't all 0xff (rule value/VA7)");
        let range = (Bound::Included(&first[..]), Bound::Excluded(&end[..]));
        let now = self.index(number).now(range);
        Ok(Some(ChildScan { number, first, end, now }))
    }

    /// The next row that refers to the key.
    fn next_child(
        &self,
        work: &mut Work<'_>,
        children: &mut Option<ChildScan<'_>>,
    ) -> Result<Option<RowAddress>, Stop> {
        let Some(ChildScan { number, first, end, now }) = children else { return Ok(None) };
        self.find_now(work, *number, (Bound::Included(first), Bound::Excluded(end)), now)
    }

    /// Finds a row in a range of an index as it is now. Waits for transactions whose end may change
    /// the answer (RL32).
    fn find_now(
        &self,
        work: &mut Work<'_>,
        number: usize,
        range: KeyBounds<'_>,
        now: &mut Now<'_>,
    ) -> Result<Option<RowAddress>, Stop> {
        let index = self.index(number);
        let failpoints = self.transactions().failpoints();
        if failpoints.has(Failpoint::IgnoreHolders) {
            let id = work.transaction.id();
            return Ok(match index.find_current(range, id, work.session)? {
                Current::Row(row) => Some(row),
                Current::None | Current::Held(_) => None,
            });
        }
        if failpoints.has(Failpoint::LookAtSnapshot) {
            let view = self.transactions().view(Some(work.transaction), work.session)?;
            let mut cursor = index.cursor(range, access::Direction::Ascending, view);
            return Ok(cursor.next(work.session)?.map(|(_, row)| row));
        }
        now.next(work.transaction, work.session)
    }

    /// Locks a child's row that was found by the key, and says whether it still refers to it. In a
    /// serializable transaction the statement is refused if the row was changed since the snapshot.
    fn lock_child_row(
        &self,
        work: &mut Work<'_>,
        row: RowAddress,
        key: &ForeignKey,
        values: &[OwnedValue],
    ) -> Result<ChildRow, Stop> {
        let view = work.transaction.fixed_view();
        let mut lock = |view| {
            let lock_wait = Some(work.transaction.lock_wait());
            self.heap().lock(work.transaction, row, view, lock_wait, work.session)
        };
        match lock(view)? {
            // A row that this statement has changed already is its own.
            Changed::Yes | Changed::Already => {}
            Changed::NotThere if view.is_none() || lock(None)? == Changed::NotThere => {
                return Ok(ChildRow::Gone);
            }
            // The snapshot doesn't see the row: it was inserted since.
            Changed::NotThere | Changed::Since => return Err(self.changed_since()),
            Changed::TooNew => return Err(self.too_new()),
            Changed::Held => unreachable!("it is waited for"),
        }
        // A locked row is as the last transaction that changed it committed it. It may lie in
        // several blocks.
        let snapshot = self.transactions().snapshot(None, work.session)?;
        let now = self.transactions().view_of(&snapshot, Some(work.transaction)).with_all_own();
        let mut refers = |row: RowView<'_>| {
            let same = |(column, value): (&usize, &OwnedValue)| {
                let found = row.get(*column).ok();
                found.and_then(|found| found.compare(value.get())) == Some(Ordering::Equal)
            };
            key.columns.iter().zip(values).all(same)
        };
        match self.fetch(now, row, &mut refers, work.session)? {
            Some(true) => Ok(ChildRow::Refers),
            _ => Ok(ChildRow::RefersElsewhere),
        }
    }

    /// The refusal for an entry that leads to no row, or to a row with another key.
    #[cold]
    fn leads_wrong(&self, found: ChildRow, row: RowAddress, number: usize) -> Stop {
        match found {
            ChildRow::Gone => self.row_is_missing(row, Some(number)),
            _ => self.index_disagrees(number, "has an entry that isn't its row's"),
        }
    }
}

fn text(relation: &Relation, columns: &[usize], values: &[OwnedValue]) -> String {
    let name = |column: &usize| &relation.definition().columns[*column].name;
    let each = columns.iter().zip(values);
    let each = each.map(|(column, value)| crate::insert::assigned(name(column), value.get()));
    each.collect::<Vec<_>>().join(", ")
}

#[cold]
fn no_parent(child: &Relation, parent: &Relation, key: &ForeignKey, values: &[OwnedValue]) -> Stop {
    let (child_name, parent_name) = (&child.definition().name, &parent.definition().name);
    let message = format!(
        "a row of table {child_name} would refer to no row of table {parent_name}, as {} asks",
        key.name
    );
    let detail = format!(
        "{} refers to {}",
        text(child, &key.columns, values),
        text(parent, &key.referenced_columns, values)
    );
    let refusal = Refusal::new(RefusalKind::ForeignKeyViolation, message).detail(detail);
    let refusal = refusal.hint("insert that row first, or give another value");
    refusal.table(child_name).constraint(&key.name).into()
}

#[cold]
fn has_children(
    child: &Relation,
    parent: &Relation,
    key: &ForeignKey,
    values: &[OwnedValue],
) -> Stop {
    let (child_name, parent_name) = (&child.definition().name, &parent.definition().name);
    let message = format!(
        "a row of table {parent_name} can't go or change its key: rows of table {child_name} refer \
         to it, which {} protects",
        key.name
    );
    let refusal = Refusal::new(RefusalKind::ForeignKeyViolation, message);
    let refusal = refusal.detail(text(parent, &key.referenced_columns, values));
    let refusal = refusal.hint("delete or change those rows first");
    // As in PostgreSQL, the table is the one that has the foreign key.
    refusal.table(child_name).constraint(&key.name).into()
}

//! Foreign keys: written first, checked then, against what is there now (RL6).
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
//! Each writes before it looks, and what either looks at are the blocks as they are. So of two that
//! meet one, at least, sees what the other has written, and waits for its end; if both do, that is
//! a circle, and one is refused.
//!
//! All of it comes at the end of a statement: first what other rows become, which may be more and
//! more of them, then whether what is left may be so. So rows of one statement may refer to each
//! other, in whatever order they come.
//!
//! Callers: `statement`, at its end; `insert`, `update`, `delete` say what is to be looked for.

use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;

use access::{Changed, Current, Now, RowAddress};
use ids::ObjectNo;
use stop::{Failpoint, RefusalKind, Stop};
use txn::TableMode;
use value::{OwnedValue, RowView, Value, key_push, key_successor};

use crate::change::Assignments;
use crate::range::SearchValue;
use crate::scratch::{Scratch, Work, shrink};
use crate::{ForeignKey, OnDelete, Relation, RowChange};

/// Side a statement has to look for at its end.
#[derive(Default)]
pub(crate) struct Pending {
    /// Rows that go with one that is deleted.
    cascades: Vec<PendingKey>,
    /// Rows that refer to none any more because of one that is deleted.
    set_nulls: Vec<PendingKey>,
    /// Side has to be there, or may not be.
    checks: Vec<PendingKey>,
    /// A row has lost a key that is referred to by an update. Another row of the same statement may
    /// get that key yet.
    has_moved_keys: bool,
}

/// So many things a statement over many rows looks for at once, if it may before its end.
pub(crate) const PENDING_MAX: usize = 4_096;

/// One of them.
struct PendingKey {
    side: Side,
    /// The table whose foreign key it is, or that it refers to.
    of: ObjectNo,
    /// Its place among the keys of this table, or of those that refer to it.
    number: usize,
    /// Values of the key's columns, in its order.
    values: Vec<OwnedValue>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    /// A row that is referred to has to be there.
    Parent,
    /// Rows that refer to one that has gone are changed; or there may be none.
    Children,
}

impl Pending {
    pub(crate) fn clear(&mut self) {
        self.cascades.clear();
        self.set_nulls.clear();
        self.checks.clear();
        self.has_moved_keys = false;
    }

    /// Forgets all of it, and gives each list back that takes more than so many bytes.
    pub(crate) fn shrink(&mut self, most: usize) {
        self.clear();
        shrink(&mut self.cascades, most);
        shrink(&mut self.set_nulls, most);
        shrink(&mut self.checks, most);
    }

    /// How many bytes the lists take.
    pub(crate) fn bytes(&self) -> usize {
        let acts = self.cascades.capacity() + self.set_nulls.capacity();
        (acts + self.checks.capacity()) * size_of::<PendingKey>()
    }

    pub(crate) fn len(&self) -> usize {
        self.cascades.len() + self.set_nulls.len() + self.checks.len()
    }
}

/// The values of these columns, if none is NULL.
fn values_of(row: &RowView<'_>, columns: &[usize]) -> Option<Vec<OwnedValue>> {
    let value = |column: &usize| row.get(*column).ok().filter(|value| !value.is_null());
    columns.iter().map(|column| value(column).map(Value::to_owned)).collect()
}

impl Relation {
    fn has_foreign_keys(&self) -> bool {
        let definition = self.definition();
        !definition.foreign_keys.is_empty() || !definition.referenced_by.is_empty()
    }

    /// A row was inserted: the new one in the buffer.
    pub(crate) fn foreign_inserted(&self, scratch: &mut Scratch) -> Result<(), Stop> {
        if self.definition().foreign_keys.is_empty() {
            return Ok(());
        }
        let Scratch { new_row, pending, .. } = scratch;
        let row = self.row(new_row)?;
        for (number, key) in self.definition().foreign_keys.iter().enumerate() {
            if let Some(values) = values_of(&row, &key.columns) {
                let (side, of) = (Side::Parent, self.definition().object);
                pending.checks.push(PendingKey { side, of, number, values });
            }
        }
        Ok(())
    }

    /// A row was updated: in the buffers are the old one, the new one, and which columns were set.
    pub(crate) fn foreign_updated(&self, scratch: &mut Scratch) -> Result<(), Stop> {
        if !self.has_foreign_keys() {
            return Ok(());
        }
        let differs =
            |set: &Assignments, old: &RowView<'_>, new: &RowView<'_>, columns: &[usize]| {
                let differs =
                    |column: &usize| set.has(*column) && old.get(*column) != new.get(*column);
                columns.iter().any(differs)
            };
        let definition = self.definition();
        let Scratch { old_row, new_row, set, pending, .. } = scratch;
        let (old, new) = (self.row(old_row)?, self.row(new_row)?);
        for (number, key) in definition.referenced_by.iter().enumerate() {
            if !differs(set, &old, &new, &key.referenced_columns) {
                continue;
            }
            if let Some(values) = values_of(&old, &key.referenced_columns) {
                let (side, of) = (Side::Children, definition.object);
                pending.checks.push(PendingKey { side, of, number, values });
                pending.has_moved_keys = true;
            }
        }
        for (number, key) in definition.foreign_keys.iter().enumerate() {
            if !differs(set, &old, &new, &key.columns) {
                continue;
            }
            if let Some(values) = values_of(&new, &key.columns) {
                let (side, of) = (Side::Parent, definition.object);
                pending.checks.push(PendingKey { side, of, number, values });
            }
        }
        Ok(())
    }

    /// A row was deleted: the old one in the buffer.
    pub(crate) fn foreign_deleted(&self, scratch: &mut Scratch) -> Result<(), Stop> {
        let definition = self.definition();
        if definition.referenced_by.is_empty() {
            return Ok(());
        }
        let Scratch { old_row, pending, .. } = scratch;
        let old = self.row(old_row)?;
        for (number, key) in definition.referenced_by.iter().enumerate() {
            if let Some(values) = values_of(&old, &key.referenced_columns) {
                let item =
                    PendingKey { side: Side::Children, of: definition.object, number, values };
                match key.on_delete {
                    OnDelete::NoAction => pending.checks.push(item),
                    OnDelete::Cascade => pending.cascades.push(item),
                    OnDelete::SetNull => pending.set_nulls.push(item),
                }
            }
        }
        Ok(())
    }

    /// Whether a statement over many rows may look for things before its end: nothing that it will
    /// do to further rows changes what it finds.
    pub(crate) fn may_process_early(&self, pending: &Pending) -> bool {
        let definition = self.definition();
        let acts = definition.referenced_by.iter().any(|key| key.on_delete != OnDelete::NoAction);
        let own = definition.foreign_keys.iter().any(|key| key.references == definition.object);
        !acts && !own && !pending.has_moved_keys
    }
}

/// Does what is pending: changes other rows, and checks what is left.
///
/// All rows that go, go first: a row that one foreign key takes away is not changed by another one
/// before, so what is left doesn't depend on the order of foreign keys. SET NULL takes no row away.
pub(crate) fn process_pending(work: &mut Work<'_>) -> Result<(), Stop> {
    while let Some(item) = work.scratch.pending.cascades.pop() {
        follow(work, &item)?;
    }
    while let Some(item) = work.scratch.pending.set_nulls.pop() {
        follow(work, &item)?;
    }
    assert!(work.scratch.pending.cascades.is_empty(), "SET NULL takes no row away");
    while let Some(item) = work.scratch.pending.checks.pop() {
        match item.side {
            Side::Parent => has_parent(work, &item)?,
            Side::Children => has_no_children(work, &item)?,
        }
    }
    Ok(())
}

/// Another relation, locked in this mode, so that what its definition says stays (RL8).
fn locked(work: &mut Work<'_>, object: ObjectNo, mode: TableMode) -> Result<Arc<Relation>, Stop> {
    loop {
        let relation = work.relations.relation(object, work.session)?;
        match relation.lock_as(work, mode) {
            // DDL has replaced the definition since. It may again, for RS goes with the lock of DDL
            // that makes an index (S); each time a statement has ended.
            Err(stop) if stop.refusal() == Some(RefusalKind::DefinitionChanged) => {}
            done => return done.map(|()| relation),
        }
    }
}

/// Whether a row that was found by its entry refers to what was looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ChildRow {
    /// It does, and is locked.
    Refers,
    /// It doesn't any more, and is locked.
    RefersElsewhere,
    /// It was deleted, or its block is lost.
    Gone,
}

/// A range of an index's keys.
type KeyBounds<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);

/// Rows that refer to the same values: a range of an index, on the way through what it has now.
struct ChildScan<'a> {
    number: usize,
    first: Vec<u8>,
    end: Vec<u8>,
    now: Now<'a>,
}

/// The row that a child refers to has to be there.
fn has_parent(work: &mut Work<'_>, item: &PendingKey) -> Result<(), Stop> {
    let child = work.relations.relation(item.of, work.session)?;
    let key = &child.definition().foreign_keys[item.number];
    let parent = locked(work, key.references, TableMode::RowShare)?;
    match parent.has_key(work, key, &item.values)? {
        true => Ok(()),
        false => Err(no_parent(&child, &parent, key, &item.values)),
    }
}

/// No row may refer to a key that has gone, unless another row of the parent has the key by now.
/// That is one of this statement: no other transaction can insert the key before this one has
/// ended.
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

/// Rows that refer to one that was deleted are deleted too, or refer to none any more.
fn follow(work: &mut Work<'_>, item: &PendingKey) -> Result<(), Stop> {
    let parent = work.relations.relation(item.of, work.session)?;
    let key = &parent.definition().referenced_by[item.number];
    let child = locked(work, key.table, TableMode::RowExclusive)?;
    let mut children = child.children_of(key, &item.values)?;
    let mut previous = None;
    while let Some(row) = child.next_child(work, &mut children)? {
        let found = child.lock_child_row(work, row, key, &item.values)?;
        if found != ChildRow::Refers {
            // Whoever changed or deleted it has ended, and has taken its entry away. If it is found
            // again the entry leads to no such row, and would be found for ever.
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
                child.update_row(work, row, None, &mut to_null)?
            }
            OnDelete::Cascade | OnDelete::NoAction => child.delete_row(work, row, None)?,
        };
        match changed {
            Changed::Yes => {}
            // The row is locked, and one of its pieces lies in a block whose ITL has no entry that
            // this transaction may take (rule access/AC9).
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

    /// The first columns of an index's key, made of values of these columns; none if no row can
    /// have them.
    fn key_of(
        &self,
        number: usize,
        columns: &[usize],
        values: &[OwnedValue],
    ) -> Result<Option<Vec<u8>>, Stop> {
        let mut key = Vec::new();
        for of in self.indexes()[number].columns.iter().take(columns.len()) {
            let at = columns.iter().position(|column| *column == of.column);
            let at = at.expect("the index begins with the columns of the foreign key");
            let SearchValue::Exact(value) = self.search_value(of.column, values[at].get())? else {
                return Ok(None);
            };
            key_push(value, of.direction, of.nulls, &mut key);
        }
        Ok(Some(key))
    }

    /// Whether a row has these values in the columns that the foreign key refers to, as it is now.
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

    /// The rows that refer to these values, as they are now; none if no row can.
    fn children_of(
        &self,
        key: &ForeignKey,
        values: &[OwnedValue],
    ) -> Result<Option<ChildScan<'_>>, Stop> {
        let number = self.index_of(key.index)?;
        let Some(first) = self.key_of(number, &key.columns, values)? else { return Ok(None) };
        let mut end = first.clone();
        assert!(key_successor(&mut end), "a column of a key isn't all 0xff (rule value/V7)");
        let now = self.index(number).now((Bound::Included(&first), Bound::Excluded(&end)));
        Ok(Some(ChildScan { number, first, end, now }))
    }

    /// One of them.
    fn next_child(
        &self,
        work: &mut Work<'_>,
        children: &mut Option<ChildScan<'_>>,
    ) -> Result<Option<RowAddress>, Stop> {
        let Some(ChildScan { number, first, end, now }) = children else { return Ok(None) };
        self.find_now(work, *number, (Bound::Included(first), Bound::Excluded(end)), now)
    }

    /// A row in a range of an index, as it is now; waits for those who would change the answer.
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

    /// Locks a row that was found to refer to these values, and says whether it does. In a
    /// transaction with one snapshot it is refused if the row was changed since that.
    fn lock_child_row(
        &self,
        work: &mut Work<'_>,
        row: RowAddress,
        key: &ForeignKey,
        values: &[OwnedValue],
    ) -> Result<ChildRow, Stop> {
        let view = work.transaction.fixed_view();
        let mut lock = |view| {
            let target = (row, view, work.transaction.lock_wait());
            self.heap().lock(work.transaction, target, work.session)
        };
        match lock(view)? {
            // Side this statement has changed already is its own.
            Changed::Yes | Changed::Already => {}
            Changed::NotThere if view.is_none() || lock(None)? == Changed::NotThere => {
                return Ok(ChildRow::Gone);
            }
            // The snapshot doesn't see it: it was inserted since.
            Changed::NotThere | Changed::Since => return Err(self.changed_since()),
            Changed::TooNew => return Err(self.too_new()),
            Changed::Held => unreachable!("it is waited for"),
        }
        // Locked, it is as whoever changed it last has committed it. It may lie in several blocks.
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

    /// An entry of this index leads to a row that isn't there, or that it isn't of.
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
    let message = format!(
        "a row of table {} with {} would refer to no row: table {} has none with {}, as {} asks; \
         insert that row first, or give another value",
        child.definition().name,
        text(child, &key.columns, values),
        parent.definition().name,
        text(parent, &key.referenced_columns, values),
        key.name
    );
    Stop::refuse(RefusalKind::ForeignKeyViolation, message)
}

#[cold]
fn has_children(
    child: &Relation,
    parent: &Relation,
    key: &ForeignKey,
    values: &[OwnedValue],
) -> Stop {
    let message = format!(
        "the row of table {} with {} can't go or change its key: rows of table {} refer to it, \
         which {} protects; delete or change those rows first",
        parent.definition().name,
        text(parent, &key.referenced_columns, values),
        child.definition().name,
        key.name
    );
    Stop::refuse(RefusalKind::ForeignKeyViolation, message)
}

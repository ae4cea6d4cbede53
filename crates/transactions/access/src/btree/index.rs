//! An index: creating and opening it, inserting and deleting its entries (BT4, BT7, BT12, BT15,
//! BT20).
//!
//! Callers: users of tables that have indexes.

use std::sync::Arc;

use cache::Get;
use change::{Changes, credits_for};
use format::{DataHead, DataSlot, ItlEntry};
use ids::{Dba, TxnId};
use latch::{FrameOrder, Guess};
use os::Session;
use space::{EmptyNote, Holds, Segment, Space};
use stop::{RefusalKind, Stop};
use txn::undo::UndoLog;
use txn::{OwnItlEntry, RowWait, Transaction, Transactions, View, block};

use super::apply::{BACK, CHANGE, LAYER, WRITE};
use super::content::{Content, Shape};
use super::descent::Tree;
use super::last_leaf::LastLeaf;
use super::node::{MARKED, Node};
use super::ops::{Back, Kind, Op, is_dead};
use super::page_delete::{PageDelete, is_last};
use super::position::{BLOCK_BYTES, Position, Probe, ROW_BYTES};
use super::shortcuts::Shortcuts;
use super::split::{SplitTarget, Splitter};
use crate::RowAddress;
use crate::block_change::{
    Awaited, BlockTarget, ChangeResult, Decision, Plan, StepBytes, Waiter, change_block,
    wait_for_visible,
};
use crate::outline::Outline;

/// How many ITL entries a new leaf has.
pub(super) const ITL_ENTRIES: usize = 2;
/// The ITL of a new leaf: all entries are free.
pub(super) const NEW_ITL: [u8; ITL_ENTRIES * ItlEntry::BYTES] = [0; ITL_ENTRIES * ItlEntry::BYTES];
/// How many entries with the longest key fit into a block, besides both fences.
const ENTRIES_MIN: usize = 4;
/// The ITL of a leaf has at most one entry for this many bytes of the leaf.
const BYTES_PER_ITL_ENTRY: usize = 256;

/// An index.
#[derive(Clone)]
pub struct Index {
    segment: Segment,
    /// The index's name in messages.
    name: Arc<str>,
    pub(super) is_unique: bool,
    key_max: usize,
    pub(super) block_bytes: usize,
    pub(super) space: Space,
    pub(super) transactions: Transactions,
    /// The outline of the last leaf that gave it.
    pub(super) outline: Arc<Guess>,
    /// Where searches of readers may begin.
    pub(super) shortcuts: Arc<Shortcuts>,
    /// Where entries behind all others go.
    pub(super) last_leaf: Arc<LastLeaf>,
}

/// How an insert ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Inserted {
    /// The entry is there.
    Done,
    /// The entry isn't inserted: a unique index has one with that key, of this row; or the same
    /// entry was there.
    Duplicate(RowAddress),
}

/// How a change of a leaf ended.
enum LeafResult {
    Changed,
    /// The leaf is changed, and has only deleted entries now.
    Emptied,
    Duplicate(RowAddress),
    Missing,
    /// The ITL may not grow, and all transactions in it ended after the snapshot.
    ItlTooNew,
    /// The ITL may not grow, and all transactions in it are active: these.
    ItlHeld(Vec<TxnId>),
    /// The leaf was changed after the transaction's one snapshot: whether this view sees the key
    /// has to be found out.
    ChangedSince(View),
    /// The transaction's one snapshot sees the key, and another transaction has deleted it since.
    DeletedSince,
}

/// Whether the transaction's one snapshot sees the key of an insert (BT12).
#[derive(Clone, Copy)]
enum KeyInSnapshot {
    /// That isn't known yet. This view says it.
    Unknown(View),
    Seen,
    /// The snapshot doesn't see it, or it doesn't matter.
    Unseen,
}

impl Index {
    /// Makes an index without entries in the tablespace of this name.
    pub fn create(
        tablespace: &str,
        name: &str,
        unique: bool,
        space: &Space,
        transactions: &Transactions,
        session: &Session,
    ) -> Result<Index, Stop> {
        let segment = space.create_within(tablespace, name, Holds::Index, session)?;
        Index::format(segment, unique, space, transactions, session)
    }

    /// As [`Index::create`], but the next opening of the database drops the index, unless
    /// [`Space::keep`] was called before.
    pub fn create_temporary(
        tablespace: &str,
        name: &str,
        unique: bool,
        space: &Space,
        transactions: &Transactions,
        session: &Session,
    ) -> Result<Index, Stop> {
        let segment = space.create_temporary(tablespace, name, Holds::Index, session)?;
        let object = segment.object;
        let made = Index::format(segment, unique, space, transactions, session);
        if matches!(made, Err(Stop::Refused(_))) {
            space.drop_segment(object, session)?;
        }
        made
    }

    /// Writes the root of a segment that was just made.
    fn format(
        segment: Segment,
        unique: bool,
        space: &Space,
        transactions: &Transactions,
        session: &Session,
    ) -> Result<Index, Stop> {
        let changes = space.changes();
        let root = space.hand_out(segment.header, 1, session)?.first;
        assert_eq!(
            root,
            root_of(segment.header),
            "the first block of an extent is its segment's header"
        );
        let shape =
            Shape { object: object_of(&segment), is_unique: unique, level: 0, was_purged: false };
        let content = empty_leaf(shape);
        {
            let pin = changes.cache().pin_new(root, session)?;
            let mut group = changes.begin(credits_for(&[content.0.len()]), session)?;
            let block = pin.exclusive(FrameOrder::Leaf, session);
            group.format(block, &LAYER, WRITE, &[&content.0]);
            group.commit(session);
        }
        Ok(Index::of(segment, unique, space, transactions, session))
    }

    /// Opens the index of this name.
    pub fn open(
        name: &str,
        space: &Space,
        transactions: &Transactions,
        session: &Session,
    ) -> Result<Index, Stop> {
        let found = space.find(name, session)?.filter(|segment| segment.holds == Holds::Index);
        let refuse = |what: &str| {
            let message = format!("there is no index {name}{what}; create it first");
            Stop::refuse(RefusalKind::NotFound, message)
        };
        let segment = found.ok_or_else(|| refuse(""))?;
        let root = root_of(segment.header);
        let object = object_of(&segment);
        let unique = {
            let block = space.changes().cache().pin_shared(root, FrameOrder::Branch, session)?;
            Node::of(&block, object).map(|node| node.is_unique())
        };
        let unique =
            unique.ok_or_else(|| refuse(" that was finished: drop what there is of it"))?;
        Ok(Index::of(segment, unique, space, transactions, session))
    }

    /// The index in this segment, which was made unique or not. Nothing is read.
    pub fn of(
        segment: Segment,
        is_unique: bool,
        space: &Space,
        transactions: &Transactions,
        session: &Session,
    ) -> Index {
        let cache = space.changes().cache();
        let size = cache.block_size_of(segment.header.file, session);
        let block_bytes = size.unwrap_or(cache.block_size()).bytes();
        let key_max = key_max(block_bytes, cache.block_size().bytes());
        let (space, transactions) = (space.clone(), transactions.clone());
        Index {
            name: segment.name.as_str().into(),
            segment,
            is_unique,
            key_max,
            block_bytes,
            space,
            transactions,
            outline: Arc::default(),
            shortcuts: Arc::default(),
            last_leaf: Arc::default(),
        }
    }

    /// The index's name in messages: that of its segment, unless another was given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same index with this name in messages, for the segment's name may be one that no user
    /// has given.
    #[must_use]
    pub fn called(self, name: &str) -> Index {
        Index { name: name.into(), ..self }
    }

    /// The index's segment.
    pub fn segment(&self) -> &Segment {
        &self.segment
    }

    /// Whether no two entries have the same key.
    pub fn is_unique(&self) -> bool {
        self.is_unique
    }

    /// The length of the longest key that the index takes.
    pub fn key_max(&self) -> usize {
        self.key_max
    }

    /// Inserts an entry. In a unique index, waits while another transaction holds an entry with
    /// that key, and refuses if the transaction's one snapshot sees the key and another transaction
    /// has deleted it since.
    pub fn insert(
        &self,
        transaction: &mut Transaction,
        key: &[u8],
        row: RowAddress,
        session: &Session,
    ) -> Result<Inserted, Stop> {
        self.check_key(key)?;
        let entry = Position { key, row: Some(row) };
        let fixed = transaction.fixed_view().filter(|_| self.is_unique);
        let mut snapshot =
            fixed.map_or(KeyInSnapshot::Unseen, |view| KeyInSnapshot::Unknown(view.with_all_own()));
        loop {
            let mut decide = |block: &[u8], itl: &OwnItlEntry| match snapshot {
                KeyInSnapshot::Unknown(view)
                    if !self.transactions.is_current(block, view, session) =>
                {
                    nothing(LeafResult::ChangedSince(view))
                }
                _ => self.plan_insert(block, itl, entry, snapshot),
            };
            match self.change(transaction, entry, &mut decide, session)? {
                LeafResult::Changed | LeafResult::Emptied => return Ok(Inserted::Done),
                LeafResult::Duplicate(row) => return Ok(Inserted::Duplicate(row)),
                LeafResult::DeletedSince => return Err(self.deleted_since()),
                LeafResult::ChangedSince(view) => {
                    let found = self.find(view, key, session)?;
                    snapshot = found.map_or(KeyInSnapshot::Unseen, |_| KeyInSnapshot::Seen);
                }
                LeafResult::Missing | LeafResult::ItlTooNew | LeafResult::ItlHeld(_) => {
                    unreachable!("an insert misses no entry, and waits for its leaf's ITL")
                }
            }
        }
    }

    /// Deletes an entry. Waits while another transaction holds it. False if there is none.
    pub fn delete(
        &self,
        transaction: &mut Transaction,
        key: &[u8],
        row: RowAddress,
        session: &Session,
    ) -> Result<bool, Stop> {
        self.check_key(key)?;
        let entry = Position { key, row: Some(row) };
        let mut decide = |block: &[u8], itl: &OwnItlEntry| self.plan_delete(block, itl, entry);
        let result = self.change(transaction, entry, &mut decide, session)?;
        Ok(matches!(result, LeafResult::Changed))
    }

    pub(super) fn tree(&self) -> Tree<'_> {
        let (cache, object) = (self.changes().cache(), self.object());
        let outline = Outline::guessed(&self.outline);
        Tree { cache, object, root: self.root(), get: Get::Current, outline }
    }

    pub(super) fn object(&self) -> u32 {
        object_of(&self.segment)
    }

    pub(super) fn root(&self) -> Dba {
        root_of(self.segment.header)
    }

    pub(super) fn shape(&self, level: u8) -> Shape {
        let (object, is_unique) = (self.object(), self.is_unique);
        Shape { object, is_unique, level, was_purged: false }
    }

    pub(super) fn changes(&self) -> &Changes {
        self.transactions.changes()
    }

    /// Refuses a key that is too long for the index.
    pub fn check_key(&self, key: &[u8]) -> Result<(), Stop> {
        if key.len() <= self.key_max {
            return Ok(());
        }
        let message = format!(
            "cannot put a key of {} bytes into index {}: it takes keys of up to {}; index fewer or \
             shorter columns, or put the index into a tablespace with larger blocks",
            key.len(),
            self.name(),
            self.key_max
        );
        Err(Stop::refuse(RefusalKind::Invalid, message))
    }

    pub(super) fn splitter(&self) -> Splitter<'_> {
        let Index { space, transactions, key_max, block_bytes, .. } = self;
        let (tree, header) = (self.tree(), self.segment.header);
        let (key_max, block_bytes) = (*key_max, *block_bytes);
        Splitter { tree, space, transactions, header, key_max, block_bytes }
    }

    /// Changes the leaf that covers an entry as `decide` says.
    fn change<'p>(
        &self,
        transaction: &mut Transaction,
        entry: Position<'_>,
        decide: &mut dyn FnMut(&[u8], &OwnItlEntry) -> Decision<'p, LeafResult>,
        session: &Session,
    ) -> Result<LeafResult, Stop> {
        let longest = Back::HEAD_BYTES.max(Op::HEAD_BYTES) + entry.key.len();
        let undo_bytes = OwnItlEntry::BACK_BYTES_MAX + longest;
        let (object, at) = (self.object(), entry.looked_for(self.is_unique));
        let is_it = |block: &[u8]| {
            let node = Node::of(block, object);
            node.is_some_and(|node| node.level() == 0 && node.covers(Probe::At(at)))
        };
        let opcodes = (CHANGE, BACK);
        let mut waiter = Waiter::new(Some(transaction.lock_wait()));
        loop {
            self.transactions.prepare(transaction, undo_bytes, session)?;
            let pin = self.pin_to_change(at, session)?;
            let address = pin.address();
            let (layer, snapshot) = (&LAYER, None);
            let target =
                BlockTarget { pin: &pin, layer, opcodes, longest, snapshot, is_it: &is_it };
            let tried = change_block(&self.transactions, transaction, &target, decide, session)?;
            drop(pin);
            let awaited = match tried {
                ChangeResult::Done(LeafResult::ItlTooNew) => {
                    self.wait_for_newer(transaction, session)?;
                    continue;
                }
                ChangeResult::Done(LeafResult::ItlHeld(holders)) => Awaited::Any(holders),
                ChangeResult::Done(LeafResult::Emptied) => {
                    let note = EmptyNote::default();
                    self.space.emptied().note(self.segment.header, address, note, session);
                    return Ok(LeafResult::Changed);
                }
                ChangeResult::Done(result) => return Ok(result),
                ChangeResult::Foreign => {
                    self.last_leaf.forget();
                    continue;
                }
                ChangeResult::RowLocked(holder) => Awaited::One(holder, RowWait::UniqueKey),
                ChangeResult::Full => {
                    let has_room = self.make_room(at, session)?;
                    assert!(has_room, "a leaf has room for some entries of any length");
                    continue;
                }
                ChangeResult::NoUndoRoom(_) => unreachable!("room was made for its undo"),
                ChangeResult::ItlFull(holders) => match self.make_room_if_any(at, session)? {
                    true => continue,
                    false => Awaited::Any(holders),
                },
                ChangeResult::TooNew => {
                    if !self.make_room_if_any(at, session)? {
                        self.wait_for_newer(transaction, session)?;
                    }
                    continue;
                }
            };
            // The wait names no slot: the entry's number may change meanwhile.
            let leaf = RowAddress { block: address, slot: 0 };
            waiter.wait(&awaited, &self.transactions, transaction, object, leaf, session)?;
        }
    }

    /// Splits the leaf that covers the position, unless it has room for an entry there by now. If
    /// the tablespace is full, all leaves are looked at for one that can be deleted. False if the
    /// leaf has too few entries to be split.
    fn make_room(&self, at: Position<'_>, session: &Session) -> Result<bool, Stop> {
        match self.split(at, session) {
            Err(stop)
                if stop.refusal() == Some(RefusalKind::NoSpace)
                    && self.page_delete().once_around(session)? =>
            {
                self.split(at, session)
            }
            split => split,
        }
    }

    /// As `make_room`, for a caller that may wait instead: false also if the tablespace has no
    /// block for the split.
    fn make_room_if_any(&self, at: Position<'_>, session: &Session) -> Result<bool, Stop> {
        match self.split(at, session) {
            Err(stop) if stop.refusal() == Some(RefusalKind::NoSpace) => Ok(false),
            made => made,
        }
    }

    fn split(&self, at: Position<'_>, session: &Session) -> Result<bool, Stop> {
        let _held = session.hold_off();
        self.page_delete().before_split(at, session)?;
        let needed = bytes_needed(at) + ItlEntry::BYTES;
        self.splitter().split(SplitTarget { at, level: 0, needed }, session)
    }

    fn page_delete(&self) -> PageDelete<'_> {
        PageDelete { splitter: self.splitter() }
    }

    #[cold]
    fn deleted_since(&self) -> Stop {
        let message = format!(
            "cannot insert a key into index {}: another transaction has deleted its row since the \
             snapshot of this one; roll back and try again",
            self.name()
        );
        Stop::refuse(RefusalKind::Serialization, message)
    }

    /// Waits until the ends of the transactions in a leaf's ITL are visible: all ended after the
    /// snapshot. Refuses if the transaction has one snapshot.
    fn wait_for_newer(&self, transaction: &Transaction, session: &Session) -> Result<(), Stop> {
        if transaction.is_serializable() {
            let message = format!(
                "cannot change index {}: too many transactions have changed the same leaf since \
                 the transaction's snapshot; roll back and try again",
                self.name()
            );
            return Err(Stop::refuse(RefusalKind::Serialization, message));
        }
        wait_for_visible(&self.transactions, session)
    }

    /// Whether the transaction's entry leaves the ITL no longer than it may be (BT20).
    pub(super) fn has_itl_room(&self, block: &[u8], itl: &OwnItlEntry) -> bool {
        let most = self.block_bytes / BYTES_PER_ITL_ENTRY;
        usize::from(itl.lock()) <= most.max(block::entries(block).into())
    }

    /// The decision if the transaction's entry would make the ITL longer than it may be; none if it
    /// wouldn't.
    fn check_itl_room(
        &self,
        block: &[u8],
        itl: &OwnItlEntry,
    ) -> Option<Decision<'static, LeafResult>> {
        if self.has_itl_room(block, itl) {
            return None;
        }
        // An end becomes visible sooner than an active transaction ends, and waiting for it can't
        // be part of a deadlock.
        let holders = (0..block::entries(block)).map(|number| itl.holder(block, number + 1));
        let result =
            holders.collect::<Option<_>>().map_or(LeafResult::ItlTooNew, LeafResult::ItlHeld);
        Some(Decision::NothingIfItlGrows(ChangeResult::Done(result)))
    }

    fn plan_insert<'p>(
        &self,
        block: &[u8],
        itl: &OwnItlEntry,
        entry: Position<'p>,
        snapshot: KeyInSnapshot,
    ) -> Decision<'p, LeafResult> {
        if let Some(decision) = self.check_itl_room(block, itl) {
            return decision;
        }
        let node = Node(block);
        let row = entry.row.expect("an entry has a row");
        let op = Op { kind: Kind::Insert, purges: false, key: entry.key, row };
        let Ok(number) = node.find(entry) else {
            if let KeyInSnapshot::Seen = snapshot {
                return nothing(LeafResult::DeletedSince);
            }
            let takes = bytes_needed(entry);
            let room = itl.room(block);
            let purges = room < takes;
            if purges && room + self.dead_bytes(&node, itl) < takes {
                return Decision::Nothing(ChangeResult::Full);
            }
            let plan = self.plan(Op { purges, ..op }, false, row);
            return Decision::Change(plan, LeafResult::Changed);
        };
        let slot = node.slot(number);
        if let Some(holder) = itl.holder(block, slot.lock) {
            return Decision::Nothing(ChangeResult::RowLocked(holder));
        }
        let old_row = node.position(number).row.expect("an entry of a leaf has a row");
        if slot.flags & MARKED == 0 {
            return nothing(LeafResult::Duplicate(old_row));
        }
        if let KeyInSnapshot::Seen = snapshot {
            return nothing(LeafResult::DeletedSince);
        }
        let op = Op { kind: Kind::Replace, ..op };
        Decision::Change(self.plan(op, itl.owns(slot.lock), old_row), LeafResult::Changed)
    }

    fn plan_delete<'p>(
        &self,
        block: &[u8],
        itl: &OwnItlEntry,
        entry: Position<'p>,
    ) -> Decision<'p, LeafResult> {
        if let Some(decision) = self.check_itl_room(block, itl) {
            return decision;
        }
        let node = Node(block);
        let row = entry.row.expect("an entry has a row");
        let Ok(number) = node.find(entry) else { return nothing(LeafResult::Missing) };
        let slot = node.slot(number);
        if let Some(holder) = itl.holder(block, slot.lock) {
            return Decision::Nothing(ChangeResult::RowLocked(holder));
        }
        if slot.flags & MARKED != 0 || node.position(number).row != Some(row) {
            return nothing(LeafResult::Missing);
        }
        let op = Op { kind: Kind::Delete, purges: false, key: entry.key, row };
        let result = if is_last(&node, number) { LeafResult::Emptied } else { LeafResult::Changed };
        Decision::Change(self.plan(op, itl.owns(slot.lock), row), result)
    }

    fn plan<'p>(&self, op: Op<'p>, was_locked: bool, old_row: RowAddress) -> Plan<'p> {
        let Op { kind, key, row, .. } = op;
        let (object, root) = (self.object(), self.root());
        let back = Back { kind, was_locked, object, root, key, row, old_row };
        let forward = StepBytes::of(op.head().bytes(), key);
        let back = StepBytes::of(back.head().bytes(), key);
        Plan { forward, back, locks: u16::from(!was_locked), freed: 0 }
    }

    /// How many bytes a purge frees, once the ITL entry is written.
    fn dead_bytes(&self, node: &Node<'_>, itl: &OwnItlEntry) -> usize {
        let slots = (0..node.count()).map(|number| node.slot(number));
        let dead = slots.filter(|slot| {
            let is_held = itl.owns(slot.lock) || itl.holder(node.0, slot.lock).is_some();
            !is_held && is_dead(DataSlot { lock: 0, ..*slot })
        });
        dead.map(|slot| DataSlot::BYTES + usize::from(slot.length.get())).sum()
    }
}

/// Changes nothing: this is the result.
fn nothing(result: LeafResult) -> Decision<'static, LeafResult> {
    Decision::Nothing(ChangeResult::Done(result))
}

/// The root of the index in the segment with this header.
fn root_of(header: Dba) -> Dba {
    Dba::new(header.file.get(), header.block.get() + 1)
}

/// The header of the segment of the index with this root.
pub(super) fn header_of(root: Dba) -> Dba {
    Dba::new(root.file.get(), root.block.get() - 1)
}

/// The object number that all blocks of the index have.
fn object_of(segment: &Segment) -> u32 {
    segment.object.get()
}

/// The content of a leaf without entries.
pub(super) fn empty_leaf(shape: Shape) -> Content {
    Content::new(shape, None, None, &NEW_ITL)
}

/// How many bytes an entry takes in its leaf.
pub(super) fn bytes_needed(entry: Position<'_>) -> usize {
    DataSlot::BYTES + entry.key.len() + ROW_BYTES
}

/// The length of the longest key in blocks of this size, with undo blocks of this size. Beside the
/// longest ITL, both fences and some entries fit into a block, and a change fits into undo.
fn key_max(block: usize, undo_block: usize) -> usize {
    let itl = (block / BYTES_PER_ITL_ENTRY + 1) * ItlEntry::BYTES;
    let each = DataSlot::BYTES + BLOCK_BYTES + ROW_BYTES;
    let key = (block - DataHead::LIST - itl) / (ENTRIES_MIN + 2) - each;
    let undo = UndoLog::payload_max(undo_block) - OwnItlEntry::BACK_BYTES_MAX - Back::HEAD_BYTES;
    key.min(undo)
}

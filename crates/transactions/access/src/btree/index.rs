//! An index: making and opening it, and its entries one by one (rules BT1 to BT14).
//!
//! Callers: users of tables that have indexes.

use std::sync::Arc;
use txn::block;

use cache::Get;
use change::{Changes, credits_for};
use format::{DataHead, DataSlot, ItlEntry};
use ids::{Dba, TxnId};
use latch::{FrameOrder, Guess};
use os::Session;
use space::{Holds, Segment, Space};
use stop::{RefusalKind, Stop};
use txn::undo::UndoLog;
use txn::{OwnItlEntry, RowWait, Transaction, Transactions, View};

use super::apply::{BACK, CHANGE, LAYER, WRITE};
use super::content::{Content, Shape};
use super::descent::Tree;
use super::node::{MARKED, Node};
use super::ops::{Back, Kind, Op, is_dead};
use super::page_delete::{PageDelete, is_last};
use super::position::{BLOCK_BYTES, Position, Probe, ROW_BYTES};
use super::split::Splitter;
use crate::RowAddress;
use crate::heap::{Awaited, Outcome, Plan, Target, Waiter, Wish, change_block, wait_for_visible};
use crate::outline::Outline;

/// A new leaf has a ITL of so many entries.
pub(super) const LIST_ENTRIES: usize = 2;
/// It, without any.
pub(super) const NEW_LIST: [u8; LIST_ENTRIES * ItlEntry::BYTES] =
    [0; LIST_ENTRIES * ItlEntry::BYTES];
/// So many entries with the longest key fit into a block, besides both fences.
const ENTRIES_MIN: usize = 4;
/// A ITL has one entry for so many bytes of a leaf at most.
const BYTES_FOR_LIST_ENTRY: usize = 256;

/// An index.
#[derive(Clone)]
pub struct Index {
    segment: Segment,
    /// What messages call it.
    name: Arc<str>,
    pub(super) is_unique: bool,
    key_max: usize,
    block_bytes: usize,
    pub(super) space: Space,
    pub(super) transactions: Transactions,
    /// What the leaf looked like that was read last, of those that are asked.
    pub(super) outline: Arc<Guess>,
}

/// What an insert came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Inserted {
    /// The entry is there.
    Done,
    /// It isn't: a unique index has one with that key, of this row; or the entry was there.
    Duplicate(RowAddress),
}

/// What a leaf that was found came to.
enum Found {
    Changed,
    /// And nothing is left in the leaf but what is deleted.
    Emptied,
    Duplicate(RowAddress),
    Missing,
    /// Its ITL may not grow, and all in it ended after the snapshot.
    ListFull,
    /// It may not grow, and all in it are active: these.
    ListHeld(Vec<TxnId>),
    /// The leaf was changed after the transaction's only snapshot, and what that sees matters.
    Newer(View),
    /// The transaction's only snapshot sees the key, and another transaction has deleted it since.
    DeletedSince,
}

/// What an insert knows of its key as the transaction's only snapshot sees it (BT12).
#[derive(Clone, Copy)]
enum Before {
    /// Nothing yet. This is what the transaction sees.
    Unknown(View),
    /// The key is there.
    Seen,
    /// The key isn't there, or nothing depends on it.
    Unseen,
}

impl Index {
    /// Makes an index without entries in the tablespace of this name.
    pub fn create(
        tablespace: &str,
        (name, unique): (&str, bool),
        space: &Space,
        transactions: &Transactions,
        session: &Session,
    ) -> Result<Index, Stop> {
        let segment = space.create_within(tablespace, name, Holds::Index, session)?;
        Index::format((segment, unique), space, transactions, session)
    }

    /// The same, but the next opening drops it, unless [`Space::keep`] comes before.
    pub fn create_temporary(
        tablespace: &str,
        (name, unique): (&str, bool),
        space: &Space,
        transactions: &Transactions,
        session: &Session,
    ) -> Result<Index, Stop> {
        let segment = space.create_temporary(tablespace, name, Holds::Index, session)?;
        let object = segment.object;
        let made = Index::format((segment, unique), space, transactions, session);
        if matches!(made, Err(Stop::Refused(_))) {
            space.drop_segment(object, session)?;
        }
        made
    }

    /// Writes the root of a segment that was just made.
    fn format(
        (segment, unique): (Segment, bool),
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
        Ok(Index::with(segment, unique, space, transactions, session))
    }

    /// The index of that name.
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
        Ok(Index::with(segment, unique, space, transactions, session))
    }

    /// The index in this segment, which was made so: nothing is read.
    pub fn of(
        (segment, unique): (Segment, bool),
        space: &Space,
        transactions: &Transactions,
        session: &Session,
    ) -> Index {
        Index::with(segment, unique, space, transactions, session)
    }

    fn with(
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
        }
    }

    /// What messages call it: as its segment, unless another name was given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same index, for whose messages this is its name: that of its segment may be one that no
    /// user has given.
    #[must_use]
    pub fn called(self, name: &str) -> Index {
        Index { name: name.into(), ..self }
    }

    /// Its segment.
    pub fn segment(&self) -> &Segment {
        &self.segment
    }

    /// Whether no two entries have the same key.
    pub fn is_unique(&self) -> bool {
        self.is_unique
    }

    /// The longest key that it takes.
    pub fn key_max(&self) -> usize {
        self.key_max
    }

    /// Inserts an entry. In a unique index waits while another transaction has one of that key. A
    /// transaction with one snapshot is refused if that sees the key, and another has deleted it
    /// since.
    pub fn insert(
        &self,
        transaction: &mut Transaction,
        (key, row): (&[u8], RowAddress),
        session: &Session,
    ) -> Result<Inserted, Stop> {
        self.check_key(key)?;
        let entry = Position { key, row: Some(row) };
        let fixed = transaction.fixed_view().filter(|_| self.is_unique);
        let mut before = fixed.map_or(Before::Unseen, |view| Before::Unknown(view.with_all_own()));
        loop {
            let mut wish = |block: &[u8], itl: &OwnItlEntry| match before {
                Before::Unknown(view) if !self.transactions.is_current(block, view, session) => {
                    Wish::Nothing(Outcome::Done(Found::Newer(view)))
                }
                _ => self.plan_insert(block, itl, (entry, before)),
            };
            match self.change(transaction, entry, &mut wish, session)? {
                Found::Changed | Found::Emptied => return Ok(Inserted::Done),
                Found::Duplicate(row) => return Ok(Inserted::Duplicate(row)),
                Found::DeletedSince => return Err(self.deleted_since()),
                Found::Newer(view) => {
                    let found = self.find(view, key, session)?;
                    before = found.map_or(Before::Unseen, |_| Before::Seen);
                }
                Found::Missing | Found::ListFull | Found::ListHeld(_) => {
                    unreachable!(
                        "an insert doesn't miss what it inserts, and waits for its leaf's list"
                    )
                }
            }
        }
    }

    /// Deletes an entry. Waits while another transaction has it. False if there is none.
    pub fn delete(
        &self,
        transaction: &mut Transaction,
        (key, row): (&[u8], RowAddress),
        session: &Session,
    ) -> Result<bool, Stop> {
        self.check_key(key)?;
        let entry = Position { key, row: Some(row) };
        let mut wish = |block: &[u8], itl: &OwnItlEntry| self.plan_delete(block, itl, entry);
        let found = self.change(transaction, entry, &mut wish, session)?;
        Ok(matches!(found, Found::Changed))
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

    pub(super) fn block_bytes(&self) -> usize {
        self.block_bytes
    }

    pub(super) fn space(&self) -> &Space {
        &self.space
    }

    pub(super) fn transactions(&self) -> &Transactions {
        &self.transactions
    }

    pub(super) fn changes(&self) -> &Changes {
        self.transactions.changes()
    }

    pub(super) fn check_key(&self, key: &[u8]) -> Result<(), Stop> {
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

    fn splitter(&self) -> Splitter<'_> {
        let (header, key_max) = (self.segment.header, self.key_max);
        let (space, transactions) = (&self.space, &self.transactions);
        Splitter { tree: self.tree(), space, transactions, header, key_max }
    }

    /// Changes the leaf that covers an entry as `wish` says.
    fn change(
        &self,
        transaction: &mut Transaction,
        entry: Position<'_>,
        wish: &mut dyn FnMut(&[u8], &OwnItlEntry) -> Wish<Found>,
        session: &Session,
    ) -> Result<Found, Stop> {
        let longest = Back::HEAD_BYTES.max(Op::HEAD_BYTES) + entry.key.len();
        let undo_bytes = OwnItlEntry::BACK_BYTES_MAX + longest;
        let (object, place) = (self.object(), entry.looked_for(self.is_unique));
        let is_it = |block: &[u8]| {
            let node = Node::of(block, object);
            node.is_some_and(|node| node.level() == 0 && node.covers(Probe::At(place)))
        };
        let opcodes = (CHANGE, BACK);
        let mut waiter = Waiter::new(Some(transaction.lock_wait()));
        loop {
            self.transactions.prepare(transaction, undo_bytes, session)?;
            let address = self.leaf_to_change(place, session)?;
            let pin = self.changes().cache().pin(address, session)?;
            let (layer, snapshot) = (&LAYER, None);
            let target = Target { pin: &pin, layer, opcodes, longest, snapshot, is_it: &is_it };
            let tried = change_block(&self.transactions, transaction, &target, wish, session)?;
            drop(pin);
            let awaited = match tried {
                Outcome::Done(Found::ListFull) => {
                    self.wait_for_newer(transaction, session)?;
                    continue;
                }
                Outcome::Done(Found::ListHeld(holders)) => Awaited::Any(holders),
                Outcome::Done(Found::Emptied) => {
                    self.space.emptied().note(self.segment.header, address, None, session);
                    return Ok(Found::Changed);
                }
                Outcome::Done(found) => return Ok(found),
                Outcome::Foreign => continue,
                Outcome::Wait(holder) => Awaited::One(holder, RowWait::UniqueKey),
                Outcome::Full => {
                    let has_room = self.make_room(place, session)?;
                    assert!(has_room, "a leaf has room for some entries of any length");
                    continue;
                }
                Outcome::NoUndo(_) => unreachable!("room was made for its undo"),
                Outcome::WaitForEntry(holders) => match self.make_room_if_any(place, session)? {
                    true => continue,
                    false => Awaited::Any(holders),
                },
                Outcome::TooNew => {
                    if !self.make_room_if_any(place, session)? {
                        self.wait_for_newer(transaction, session)?;
                    }
                    continue;
                }
            };
            // Which entry it is may change while one waits.
            let leaf = RowAddress { block: address, slot: 0 };
            let whose = (&self.transactions, &*transaction);
            waiter.wait(&awaited, whose, (object, leaf), session)?;
        }
    }

    /// The leaf that covers the place. Splits on the way that were left undone are completed.
    fn leaf_to_change(&self, place: Position<'_>, session: &Session) -> Result<Dba, Stop> {
        let reached = self.tree().reach((Probe::At(place), 0), None, session)?;
        let (address, passed) = (reached.address, reached.passed);
        drop(reached.block);
        for passed in &passed {
            self.splitter().post_to_parent(passed, session)?;
        }
        Ok(address)
    }

    /// Splits the leaf that covers the place, unless it has room for an entry there by now; false
    /// if it has too few entries. Where the tablespace is full, all leaves are looked at first.
    fn make_room(&self, place: Position<'_>, session: &Session) -> Result<bool, Stop> {
        match self.split(place, session) {
            Err(stop)
                if stop.refusal() == Some(RefusalKind::NoSpace)
                    && self.page_delete().once_around(session)? =>
            {
                self.split(place, session)
            }
            split => split,
        }
    }

    /// The same for who may wait instead: false too if the tablespace has no block for the split.
    fn make_room_if_any(&self, place: Position<'_>, session: &Session) -> Result<bool, Stop> {
        match self.split(place, session) {
            Err(stop) if stop.refusal() == Some(RefusalKind::NoSpace) => Ok(false),
            made => made,
        }
    }

    fn split(&self, place: Position<'_>, session: &Session) -> Result<bool, Stop> {
        self.page_delete().before_split(place, session)?;
        let needed = bytes_needed(place) + ItlEntry::BYTES;
        self.splitter().split((place, 0), needed, session)
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

    /// All of a leaf's list ended after the statement's snapshot.
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

    /// Whether the list of a leaf may be as long as the ITL entry would have it; else of whom one
    /// has to end before.
    fn list_room(&self, block: &[u8], itl: &OwnItlEntry) -> Option<Wish<Found>> {
        let most = self.block_bytes / BYTES_FOR_LIST_ENTRY;
        if usize::from(itl.lock()) <= most.max(block::entries(block).into()) {
            return None;
        }
        // An end that isn't visible yet comes sooner than that of an active transaction, and
        // nobody who waits for it is waited for.
        let holders = (0..block::entries(block)).map(|number| itl.holder(block, number + 1));
        let found = holders.collect::<Option<_>>().map_or(Found::ListFull, Found::ListHeld);
        Some(Wish::NotIfGrows(Outcome::Done(found)))
    }

    fn plan_insert(
        &self,
        block: &[u8],
        itl: &OwnItlEntry,
        (entry, before): (Position<'_>, Before),
    ) -> Wish<Found> {
        if let Some(wish) = self.list_room(block, itl) {
            return wish;
        }
        let node = Node(block);
        let row = entry.row.expect("an entry has a row");
        let op = Op { kind: Kind::Insert, purges: false, key: entry.key, row };
        let is_gone = Wish::Nothing(Outcome::Done(Found::DeletedSince));
        let Ok(number) = node.find(entry) else {
            if let Before::Seen = before {
                return is_gone;
            }
            let takes = bytes_needed(entry);
            let room = itl.room(block);
            let purges = room < takes;
            if purges && room + self.dead_bytes(&node, itl) < takes {
                return Wish::Nothing(Outcome::Full);
            }
            return Wish::Change(self.plan(Op { purges, ..op }, (false, row)), Found::Changed);
        };
        let slot = node.slot(number);
        if let Some(holder) = itl.holder(block, slot.lock) {
            return Wish::Nothing(Outcome::Wait(holder));
        }
        let old_row = node.place(number).row.expect("an entry of a leaf has a row");
        if slot.flags & MARKED == 0 {
            return Wish::Nothing(Outcome::Done(Found::Duplicate(old_row)));
        }
        if let Before::Seen = before {
            return is_gone;
        }
        let op = Op { kind: Kind::Replace, ..op };
        Wish::Change(self.plan(op, (itl.owns(slot.lock), old_row)), Found::Changed)
    }

    fn plan_delete(&self, block: &[u8], itl: &OwnItlEntry, entry: Position<'_>) -> Wish<Found> {
        if let Some(wish) = self.list_room(block, itl) {
            return wish;
        }
        let node = Node(block);
        let row = entry.row.expect("an entry has a row");
        let Ok(number) = node.find(entry) else {
            return Wish::Nothing(Outcome::Done(Found::Missing));
        };
        let slot = node.slot(number);
        if let Some(holder) = itl.holder(block, slot.lock) {
            return Wish::Nothing(Outcome::Wait(holder));
        }
        if slot.flags & MARKED != 0 || node.place(number).row != Some(row) {
            return Wish::Nothing(Outcome::Done(Found::Missing));
        }
        let op = Op { kind: Kind::Delete, purges: false, key: entry.key, row };
        let found = if is_last(&node, number) { Found::Emptied } else { Found::Changed };
        Wish::Change(self.plan(op, (itl.owns(slot.lock), row)), found)
    }

    fn plan(&self, op: Op<'_>, (was_locked, old_row): (bool, RowAddress)) -> Plan {
        let Op { kind, key, row, .. } = op;
        let (object, root) = (self.object(), self.root());
        let back = Back { kind, was_locked, object, root, key, row, old_row };
        let locks = u16::from(!was_locked);
        Plan { forward: op.write(), back: back.write(), locks, freed: 0 }
    }

    /// Bytes of entries that a purge takes away, once the ITL entry is written.
    fn dead_bytes(&self, node: &Node<'_>, itl: &OwnItlEntry) -> usize {
        let slots = (0..node.count()).map(|number| node.slot(number));
        let dead = slots.filter(|slot| {
            let is_held = itl.owns(slot.lock) || itl.holder(node.0, slot.lock).is_some();
            !is_held && is_dead(DataSlot { lock: 0, ..*slot })
        });
        dead.map(|slot| DataSlot::BYTES + usize::from(slot.length.get())).sum()
    }
}

/// The root of the index in the segment with this header.
fn root_of(header: Dba) -> Dba {
    Dba::new(header.file.get(), header.block.get() + 1)
}

/// The header of the segment of the index with this root.
pub(super) fn header_of(root: Dba) -> Dba {
    Dba::new(root.file.get(), root.block.get() - 1)
}

/// The number that all blocks of the index have; as in tables.
fn object_of(segment: &Segment) -> u32 {
    segment.object.get()
}

/// The content of a leaf without entries.
pub(super) fn empty_leaf(shape: Shape) -> Content {
    Content::new(shape, (None, None), None, &NEW_LIST)
}

/// Bytes that an entry takes in its leaf.
pub(super) fn bytes_needed(entry: Position<'_>) -> usize {
    DataSlot::BYTES + entry.key.len() + ROW_BYTES
}

/// The longest key for blocks of so many bytes, with undo blocks of so many: with the longest list
/// some entries and both fences fit into a block, and a change into undo.
fn key_max(block: usize, undo_block: usize) -> usize {
    let list = (block / BYTES_FOR_LIST_ENTRY + 1) * ItlEntry::BYTES;
    let each = DataSlot::BYTES + BLOCK_BYTES + ROW_BYTES;
    let key = (block - DataHead::LIST - list) / (ENTRIES_MIN + 2) - each;
    let undo = UndoLog::payload_max(undo_block) - OwnItlEntry::BACK_BYTES_MAX - Back::HEAD_BYTES;
    key.min(undo)
}

//! Changes of blocks of indexes, and how keys, rows and blocks are stored in them.
//!
//! Callers: `access`.

use ids::Dba;
use zerocopy::little_endian::{U16 as U16Le, U32 as U32Le};

use super::itl::{BEFORE, ITL_CHANGE};
use super::{Part, PayloadFault, bytes_named, changes, split};
use crate::ItlEntry;
use crate::layout::layout;

changes! {
    /// Indexes.
    layer 4 = "index";
    /// The whole content of a block.
    WRITE = 1, "index leaf or branch": [CONTENT];
    /// The block ends at a position; the entries behind it have moved to a new block to the right.
    CUT = 2, "index leaf or branch": [Cut::PART, PLACE];
    /// A branch gets a child, which begins at a position.
    ADD_CHILD = 3, "index branch": [StoredBlock::PART, PLACE];
    /// An entry changes. Undo takes it back by `BACK`.
    CHANGE = 4, "index leaf": [ITL_CHANGE, LEAF_CHANGE, KEY];
    /// A change of an entry is taken back in a copy. In undo only.
    BACK = 5, "index leaf": [BEFORE, LEAF_BACK, KEY];
    /// A change of an entry is taken back for good, with the payload of its undo. In redo only.
    BACK_FOR_GOOD = 6, "index leaf": [BEFORE, LEAF_BACK, KEY];
    /// A branch loses the child that begins at a position.
    REMOVE_CHILD = 7, "index branch": [PLACE];
    /// New entries of one leaf. Undo takes them back by `BACK_MANY`.
    INSERT_MANY = 8, "index leaf": [ITL_CHANGE, NEW_ENTRIES];
    /// New entries are taken back in a copy, each if it is there. In undo only.
    BACK_MANY = 9, "index leaf": [BEFORE, ManyBack::PART, NEW_ENTRIES];
    /// New entries are taken back for good: of those in the undo, the ones that the leaf has. In
    /// redo only.
    BACK_MANY_FOR_GOOD = 10, "index leaf": [BEFORE, ManyBack::PART, NEW_ENTRIES];
    /// `BACK` in an undo record that is applied. In undo only.
    BACK_APPLIED = 133, "index leaf": [BEFORE, LEAF_BACK, KEY];
    /// `BACK_MANY` in an undo record that is applied. In undo only.
    BACK_MANY_APPLIED = 137, "index leaf": [BEFORE, ManyBack::PART, NEW_ENTRIES];
}

layout! {
    /// A block as indexes store it.
    pub struct StoredBlock: 6 {
        /// File number; 0 if there is no block.
        0 => pub file: U16Le,
        /// Block within the file.
        2 => pub block: U32Le,
    }
}

layout! {
    /// A row as indexes store it.
    pub struct StoredRow: 8 {
        /// Its block.
        0 => pub block: StoredBlock,
        /// Its slot.
        6 => pub slot: U16Le,
    }
}

layout! {
    /// Head of the content of a block. Its ITL follows, and then its
    /// slots, the two fences first.
    pub struct ContentHead: 13 {
        /// Number of the object.
        0 => pub object: U32Le,
        /// 0 in a leaf, and one more in each level above.
        4 => pub level: u8,
        /// 1 if the index is unique; and 2, in a leaf, if entries were purged at some time since
        /// its ITL was empty.
        5 => pub flags: u8,
        /// The block to the right, or none.
        6 => pub next: StoredBlock,
        /// Number of ITL entries.
        12 => pub itl_count: u8,
    }
}

layout! {
    /// A slot in the content of a block; its bytes follow.
    pub struct ContentSlot: 4 {
        /// Its flags.
        0 => pub flags: u8,
        /// Its lock.
        1 => pub lock: u8,
        /// Number of its bytes.
        2 => pub length: U16Le,
    }
}

layout! {
    /// The position where a block is cut; the position of its high fence follows.
    pub struct Cut: 8 {
        /// Number of entries that stay.
        0 => pub count: U16Le,
        /// The block to the right from then on.
        2 => pub next: StoredBlock,
    }
}

layout! {
    /// Head of a position in the order of entries; its key follows and then, if it has one, its
    /// row.
    pub struct EntryPositionHead: 1 {
        /// 1 if it has a row; 0 if it is before all entries of its key.
        0 => pub with_row: u8,
    }
}

layout! {
    /// A change of an entry; its key follows.
    pub struct LeafChange: 10 {
        /// 1 a new entry, 2 the entry is marked as deleted, 3 a marked entry gets this row and
        /// loses its mark.
        0 => pub kind: u8,
        /// 1 if entries whose deletion is committed are purged first.
        1 => pub purges: u8,
        /// The row.
        2 => pub row: StoredRow,
    }
}

layout! {
    /// The change that takes a change of an entry back; its key follows.
    pub struct LeafBack: 28 {
        /// Kind of the change that was made, as in `LeafChange`.
        0 => pub kind: u8,
        /// 1 if the transaction had the entry locked before.
        1 => pub was_locked: u8,
        /// Number of the object.
        2 => pub object: U32Le,
        /// The root of the index.
        6 => pub root: StoredBlock,
        /// The row.
        12 => pub row: StoredRow,
        /// The row before the change; equal to `row` unless a marked entry got another row.
        20 => pub old_row: StoredRow,
    }
}

layout! {
    /// A new entry of several; its key follows. Entries are in the order of the index.
    pub struct NewEntry: 10 {
        /// The row.
        0 => pub row: StoredRow,
        /// Number of bytes of the key.
        8 => pub length: U16Le,
    }
}

layout! {
    /// The change that takes new entries of a leaf back; the entries follow. The transaction had
    /// locked none of them before.
    pub struct ManyBack: 10 {
        /// Number of the object.
        0 => pub object: U32Le,
        /// The root of the index.
        4 => pub root: StoredBlock,
    }
}

impl NewEntry {
    /// The first entry of these, its key, and the entries behind it.
    pub fn read_keyed(from: &[u8]) -> Result<(&NewEntry, &[u8], &[u8]), PayloadFault> {
        let (entry, rest) = NewEntry::read(from)?;
        let (key, rest) = split(rest, entry.length.get().into(), "the key of a new entry")?;
        Ok((entry, key, rest))
    }
}

/// The kind of change of a leaf entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LeafKind {
    /// A new entry is inserted.
    Insert = 1,
    /// The entry is marked as deleted.
    Delete = 2,
    /// A marked entry gets another row and loses its mark.
    Replace = 3,
}

impl LeafKind {
    /// The kind with this number.
    pub fn from_number(number: u8) -> Result<LeafKind, PayloadFault> {
        match number {
            1 => Ok(LeafKind::Insert),
            2 => Ok(LeafKind::Delete),
            3 => Ok(LeafKind::Replace),
            other => {
                let of = "the kind of a change of an entry";
                Err(PayloadFault::Value { of, found: other.into() })
            }
        }
    }

    /// The number of this kind.
    pub fn number(self) -> u8 {
        self as u8
    }
}

impl StoredBlock {
    /// No block: no database has a file 0.
    pub const NONE: StoredBlock = StoredBlock { file: U16Le::ZERO, block: U32Le::ZERO };

    /// The stored form of the block address.
    pub fn new(block: Dba) -> StoredBlock {
        StoredBlock { file: U16Le::new(block.file.get()), block: U32Le::new(block.block.get()) }
    }

    /// The block address.
    #[inline]
    pub fn get(self) -> Dba {
        Dba::new(self.file.get(), self.block.get())
    }
}

/// The content of a block.
#[derive(Clone, Copy, Debug)]
pub struct Content<'a> {
    /// Its head.
    pub head: &'a ContentHead,
    /// Its ITL.
    pub list: &'a [ItlEntry],
    /// Its slots, each with its bytes: see [`slot`](Content::slot).
    pub slots: &'a [u8],
}

impl<'a> Content<'a> {
    /// The content in `payload`, which it takes as a whole.
    pub fn read(payload: &'a [u8]) -> Result<Content<'a>, PayloadFault> {
        let (head, rest) = ContentHead::read(payload)?;
        let (list, slots) = ItlEntry::read_many(rest, head.itl_count.into())?;
        Ok(Content { head, list, slots })
    }

    /// The first slot of these, its bytes, and the slots behind it.
    pub fn slot(from: &'a [u8]) -> Result<(&'a ContentSlot, &'a [u8], &'a [u8]), PayloadFault> {
        let (slot, rest) = ContentSlot::read(from)?;
        let (bytes, rest) = split(rest, slot.length.get().into(), "the bytes of a slot")?;
        Ok((slot, bytes, rest))
    }
}

const CONTENT: Part = Part {
    name: "`ContentHead`, any number of `ItlEntry`, any number of `ContentSlot` \
           with its bytes",
    skip: skip_content,
};

fn skip_content(rest: &[u8]) -> Result<&[u8], PayloadFault> {
    let mut slots = Content::read(rest)?.slots;
    while !slots.is_empty() {
        (_, _, slots) = Content::slot(slots)?;
    }
    Ok(slots)
}

/// A position in the order of entries, which takes all bytes.
const PLACE: Part =
    Part { name: "`EntryPositionHead`, a key, a `StoredRow` if it has one", skip: skip_place };

fn skip_place(rest: &[u8]) -> Result<&[u8], PayloadFault> {
    let (head, key) = EntryPositionHead::read(rest)?;
    match head.with_row {
        0 => {}
        1 => _ = StoredRow::read(&key[key.len().saturating_sub(size_of::<StoredRow>())..])?,
        other => {
            let of = "whether a place has a row";
            return Err(PayloadFault::Value { of, found: other.into() });
        }
    }
    Ok(&key[key.len()..])
}

const KEY: Part = bytes_named("a key");

const LEAF_CHANGE: Part = Part {
    name: "`LeafChange`",
    skip: |rest| {
        let (head, rest) = LeafChange::read(rest)?;
        LeafKind::from_number(head.kind).map(|_| rest)
    },
};

const LEAF_BACK: Part = Part {
    name: "`LeafBack`",
    skip: |rest| {
        let (head, rest) = LeafBack::read(rest)?;
        LeafKind::from_number(head.kind).map(|_| rest)
    },
};

const NEW_ENTRIES: Part =
    Part { name: "`NewEntry` with its key, at least once", skip: skip_new_entries };

fn skip_new_entries(rest: &[u8]) -> Result<&[u8], PayloadFault> {
    let (_, _, mut rest) = NewEntry::read_keyed(rest)?;
    while !rest.is_empty() {
        (_, _, rest) = NewEntry::read_keyed(rest)?;
    }
    Ok(rest)
}

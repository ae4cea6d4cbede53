//! Changes of blocks of tables: rows, and maps of free space.
//!
//! A change of rows is a list of small steps, forward and back alike. Each step begins with its
//! kind and its slot.
//!
//! Callers: `access`.

use zerocopy::little_endian::{U16 as U16Le, U32 as U32Le};

use super::itl::{BEFORE, ITL_CHANGE};
use super::{Part, PayloadFault, changes, split};
use crate::layout::layout;
use crate::{DbaLe, FewBytes, TxnIdLe, UndoAddressLe};

changes! {
    /// Tables.
    layer 3 = "heap";
    /// A new block of rows.
    FORMAT = 1, "heap": [HeapFormat::PART];
    /// Rows change. Undo takes it back by `BACK`.
    CHANGE = 2, "heap": [ITL_CHANGE, STEPS];
    /// A change of rows is taken back. In redo, and in undo.
    BACK = 3, "heap": [BEFORE, STEPS];
    /// A new map of free space.
    FORMAT_MAP = 4, "free-space map": [MapFormat::PART];
    /// The free space of blocks is noted.
    NOTE = 5, "free-space map": [MapNote::PART];
    /// A new block with rows of one transaction, which has entry 0 of its ITL. Undo takes it back
    /// by `BACK`.
    LOAD = 6, "heap": [HeapFormat::PART, Loader::PART, LOADED];
    /// `BACK` in an undo record that is applied. In undo only.
    BACK_APPLIED = 131, "heap": [BEFORE, STEPS];
}

layout! {
    /// A new block of rows.
    pub struct HeapFormat: 15 {
        /// Number of the object to which it belongs.
        0 => pub object: U32Le,
        /// Number of entries in its ITL.
        4 => pub itl_count: u8,
        /// Its map of free space, or none.
        5 => pub map: DbaLe,
        /// The number of its byte in that map.
        13 => pub entry: U16Le,
    }
}

layout! {
    /// The transaction that has loaded a new block. It has locked all rows of the block.
    pub struct Loader: 16 {
        /// The transaction.
        0 => pub transaction: TxnIdLe,
        /// Its undo record for this block.
        8 => pub undo: UndoAddressLe,
    }
}

layout! {
    /// A row of a new block, in the slot behind that of the row before; its bytes follow.
    pub struct LoadedRow: 3 {
        /// Flags of its slot.
        0 => pub flags: u8,
        /// Bytes of the row.
        1 => pub length: U16Le,
    }
}

layout! {
    /// A new map of free space.
    pub struct MapFormat: 8 {
        /// Number of the object to which it belongs.
        0 => pub object: U32Le,
        /// Number in the segment of the first block that has a byte.
        4 => pub first: U32Le,
    }
}

layout! {
    /// The free space of neighbouring blocks.
    pub struct MapNote: 5 {
        /// The number of the first block's byte.
        0 => pub entry: U16Le,
        /// Number of blocks.
        2 => pub count: U16Le,
        /// Value of their bytes.
        4 => pub class: u8,
    }
}

layout! {
    /// A step that needs no more: 2 the slot is free; 7 this number of slots stays, those behind
    /// are free and go; 8 this number of slots, from the first on, are free.
    pub struct StepSlot: 3 {
        /// Which step: 2, 7 or 8.
        0 => pub kind: u8,
        /// The slot; or how many stay; or how many are free.
        1 => pub slot: U16Le,
    }
}

layout! {
    /// A step that gives a slot a lock: 3 its row is deleted, and the slot is kept until that is
    /// committed; 5 only the lock changes.
    pub struct StepLock: 4 {
        /// Which step: 3 or 5.
        0 => pub kind: u8,
        /// The slot.
        1 => pub slot: U16Le,
        /// Its lock from then on.
        3 => pub lock: u8,
    }
}

layout! {
    /// A step that gives a slot a row, whose bytes follow: 1 it had none; 6 it had another.
    pub struct StepRow: 7 {
        /// Which step: 1 or 6.
        0 => pub kind: u8,
        /// The slot.
        1 => pub slot: U16Le,
        /// Its flags from then on.
        3 => pub flags: u8,
        /// Its lock from then on.
        4 => pub lock: u8,
        /// Bytes of the row.
        5 => pub length: U16Le,
    }
}

layout! {
    /// A step that replaces bytes of a row; the new ones follow.
    pub struct StepSplice: 10 {
        /// Which step: 4.
        0 => pub kind: u8,
        /// The slot.
        1 => pub slot: U16Le,
        /// Its lock from then on.
        3 => pub lock: u8,
        /// Offset in the row of the bytes.
        4 => pub offset: U16Le,
        /// Number of bytes that are removed.
        6 => pub removed: U16Le,
        /// Number of bytes that replace them.
        8 => pub length: U16Le,
    }
}

const PUT: u8 = 1;
const DROP: u8 = 2;
const STUB: u8 = 3;
const SPLICE: u8 = 4;
const LOCK: u8 = 5;
const REPLACE: u8 = 6;
const TRIM: u8 = 7;
const CLEAR: u8 = 8;

/// A step. A lock is what the slot's is from then on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step<'a> {
    /// A free slot, or one behind the last, or one whose row is deleted, gets a row.
    Put {
        /// The slot.
        slot: u16,
        /// Its flags.
        flags: u8,
        /// Its lock.
        lock: u8,
        /// The row.
        bytes: &'a [u8],
    },
    /// The slot is free.
    Drop {
        /// The slot.
        slot: u16,
    },
    /// The row is deleted; the slot is kept until that is committed.
    Stub {
        /// The slot.
        slot: u16,
        /// Its lock.
        lock: u8,
    },
    /// Bytes of the row are replaced.
    Splice {
        /// The slot.
        slot: u16,
        /// Its lock.
        lock: u8,
        /// Offset in the row of the bytes.
        offset: u16,
        /// Number of bytes that are removed.
        removed: u16,
        /// The new bytes.
        with: &'a [u8],
    },
    /// Only the lock changes.
    Lock {
        /// The slot.
        slot: u16,
        /// Its lock.
        lock: u8,
    },
    /// The row's bytes and flags are replaced.
    Replace {
        /// The slot.
        slot: u16,
        /// Its flags.
        flags: u8,
        /// Its lock.
        lock: u8,
        /// The row.
        bytes: &'a [u8],
    },
    /// Only the first slots stay; those behind are free, and go.
    Trim {
        /// Number of slots that stay.
        slots: u16,
    },
    /// The first slots are free.
    Clear {
        /// Number of slots that are free.
        slots: u16,
    },
}

const HEAD_BYTES_MAX: usize = size_of::<StepSplice>();

impl<'a> Step<'a> {
    /// Bytes of the longest step but for its row's.
    pub const HEAD_BYTES_MAX: usize = HEAD_BYTES_MAX;
    /// Bytes of a `Trim`.
    pub const TRIM_BYTES: usize = size_of::<StepSlot>();
    /// Bytes of a `Clear`.
    pub const CLEAR_BYTES: usize = size_of::<StepSlot>();

    /// Appends the step as it is stored.
    #[inline]
    pub fn write(&self, to: &mut Vec<u8>) {
        let (head, bytes) = self.parts();
        to.extend_from_slice(&head);
        to.extend_from_slice(bytes);
    }

    /// The step as it is stored: its head, and the bytes of the row behind it.
    #[inline]
    pub fn parts(&self) -> (FewBytes<HEAD_BYTES_MAX>, &'a [u8]) {
        let slot_step = |kind, slot| StepSlot { kind, slot: U16Le::new(slot) };
        let lock_step = |kind, slot, lock| StepLock { kind, slot: U16Le::new(slot), lock };
        let mut head = FewBytes::NONE;
        let mut bytes: &[u8] = &[];
        match *self {
            Step::Put { slot, flags, lock, bytes: row }
            | Step::Replace { slot, flags, lock, bytes: row } => {
                let kind = if let Step::Put { .. } = self { PUT } else { REPLACE };
                let (slot, length) = (U16Le::new(slot), stored_length(row));
                head.append(StepRow { kind, slot, flags, lock, length }.bytes());
                bytes = row;
            }
            Step::Drop { slot } => head.append(slot_step(DROP, slot).bytes()),
            Step::Stub { slot, lock } => head.append(lock_step(STUB, slot, lock).bytes()),
            Step::Splice { slot, lock, offset, removed, with } => {
                let (slot, offset) = (U16Le::new(slot), U16Le::new(offset));
                let (removed, length) = (U16Le::new(removed), stored_length(with));
                let kind = SPLICE;
                head.append(StepSplice { kind, slot, lock, offset, removed, length }.bytes());
                bytes = with;
            }
            Step::Lock { slot, lock } => head.append(lock_step(LOCK, slot, lock).bytes()),
            Step::Trim { slots } => head.append(slot_step(TRIM, slots).bytes()),
            Step::Clear { slots } => head.append(slot_step(CLEAR, slots).bytes()),
        }
        (head, bytes)
    }

    /// The first step of these, and the rest.
    #[inline]
    pub fn read(from: &'a [u8]) -> Result<(Step<'a>, &'a [u8]), PayloadFault> {
        const BYTES: &str = "the bytes of a row in a step";
        match from.first() {
            None => Err(PayloadFault::Short("a step")),
            Some(&kind @ (PUT | REPLACE)) => {
                let (head, rest) = StepRow::read(from)?;
                let (bytes, rest) = split(rest, head.length.get().into(), BYTES)?;
                let (slot, flags, lock) = (head.slot.get(), head.flags, head.lock);
                let step = match kind {
                    PUT => Step::Put { slot, flags, lock, bytes },
                    _ => Step::Replace { slot, flags, lock, bytes },
                };
                Ok((step, rest))
            }
            Some(&kind @ (DROP | TRIM | CLEAR)) => {
                let (head, rest) = StepSlot::read(from)?;
                let slot = head.slot.get();
                let step = match kind {
                    DROP => Step::Drop { slot },
                    TRIM => Step::Trim { slots: slot },
                    _ => Step::Clear { slots: slot },
                };
                Ok((step, rest))
            }
            Some(&kind @ (STUB | LOCK)) => {
                let (head, rest) = StepLock::read(from)?;
                let (slot, lock) = (head.slot.get(), head.lock);
                let step = if kind == STUB {
                    Step::Stub { slot, lock }
                } else {
                    Step::Lock { slot, lock }
                };
                Ok((step, rest))
            }
            Some(&SPLICE) => {
                let (head, rest) = StepSplice::read(from)?;
                let (with, rest) = split(rest, head.length.get().into(), BYTES)?;
                let (slot, lock) = (head.slot.get(), head.lock);
                let (offset, removed) = (head.offset.get(), head.removed.get());
                Ok((Step::Splice { slot, lock, offset, removed, with }, rest))
            }
            Some(&other) => {
                Err(PayloadFault::Value { of: "the kind of a step", found: other.into() })
            }
        }
    }
}

fn stored_length(bytes: &[u8]) -> U16Le {
    U16Le::new(u16::try_from(bytes.len()).expect("a row is shorter than a block"))
}

/// The rows of a block that was loaded, with their flags, in the order of their slots.
#[derive(Clone, Copy)]
pub struct LoadedRows<'a>(pub &'a [u8]);

impl LoadedRows<'_> {
    /// Appends a row as it is stored.
    #[inline]
    pub fn write(flags: u8, bytes: &[u8], to: &mut Vec<u8>) {
        to.extend_from_slice(LoadedRow { flags, length: stored_length(bytes) }.bytes());
        to.extend_from_slice(bytes);
    }
}

impl<'a> Iterator for LoadedRows<'a> {
    type Item = Result<(u8, &'a [u8]), PayloadFault>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let read = LoadedRow::read(self.0).and_then(|(head, rest)| {
            let length = head.length.get().into();
            let (bytes, rest) = split(rest, length, "the bytes of a row that was loaded")?;
            self.0 = rest;
            Ok((head.flags, bytes))
        });
        Some(read)
    }
}

const LOADED: Part =
    Part { name: "rows: `LoadedRow` and the row's bytes, any number of them", skip: skip_loaded };

fn skip_loaded(rest: &[u8]) -> Result<&[u8], PayloadFault> {
    LoadedRows(rest).try_for_each(|row| row.map(drop))?;
    Ok(&[])
}

const STEPS: Part = Part {
    name: "steps: `StepSlot`, `StepLock`, `StepRow` or `StepSplice`, any number of them",
    skip: skip_steps,
};

fn skip_steps(mut rest: &[u8]) -> Result<&[u8], PayloadFault> {
    while !rest.is_empty() {
        (_, rest) = Step::read(rest)?;
    }
    Ok(rest)
}

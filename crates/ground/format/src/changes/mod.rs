//! Every change that redo and undo can hold: its number, the kind of block that it changes, and the
//! parts of its payload (F9).
//!
//! ```text
//!   ChangeVector or UndoRecord:  layer │ opcode │ length │ payload
//!                                  └─ Changes ─┴─ Change ──┴─ Part, Part, …
//! ```
//!
//! A payload is a sequence of parts. Most parts are layouts; a few have variable length, and these
//! have a total reader in the file of their layer. [`Changes::check`] walks the parts of a payload
//! and reports the first fault, whatever the bytes are.
//!
//! Invariants
//!   * `check` never panics, and a payload that it accepts is read by its layer without a panic
//!   * the parts of an accepted payload cover it: no byte is left
//!
//! A payload is of the format version of the block in which it lies: a block of redo or of undo.
//!
//! Callers: the layers, which make and apply changes; `change`, which checks; `document`.

use std::fmt;

pub mod heap;
pub mod index;
pub mod itl;
pub mod space;
pub mod undo;

/// Every layer that has changes, in the order of the layers' numbers.
pub const LAYERS: &[&Changes] = &[&space::CHANGES, &undo::CHANGES, &heap::CHANGES, &index::CHANGES];

/// The changes of one layer.
#[derive(Debug)]
pub struct Changes {
    /// The layer's number in change vectors and undo records: never given to another layer.
    pub layer: u8,
    /// The layer's name in messages.
    pub name: &'static str,
    /// The description of the layer, for the document.
    pub(crate) about: &'static str,
    /// Its changes, in the order of their numbers.
    pub all: &'static [Change],
}

/// One change of a layer.
#[derive(Debug)]
pub struct Change {
    /// Its number, which is never given to another change of the layer.
    pub opcode: u8,
    /// Its name.
    pub name: &'static str,
    /// The kinds of blocks that it changes.
    pub(crate) block: &'static str,
    /// Its description, for the document.
    pub(crate) about: &'static str,
    /// Its payload.
    pub(crate) parts: &'static [Part],
}

/// A part of a payload.
pub(crate) struct Part {
    /// The name of the part in the document.
    pub(crate) name: &'static str,
    /// Skips the part. Returns the bytes behind it.
    pub(crate) skip: fn(&[u8]) -> Result<&[u8], PayloadFault>,
}

impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// The fault of a payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PayloadFault {
    /// The layer has no change with this number.
    UnknownChange(u8),
    /// The payload ends before the end of this part.
    Short(&'static str),
    /// A number has a value outside its range.
    Value {
        /// The name of the number.
        of: &'static str,
        /// Its value.
        found: u64,
    },
    /// This number of bytes follows the last part.
    Left(usize),
}

impl std::error::Error for PayloadFault {}

impl fmt::Display for PayloadFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PayloadFault::UnknownChange(opcode) => {
                write!(f, "its change {opcode} is unknown to this program")
            }
            PayloadFault::Short(part) => write!(f, "its payload ends within {part}"),
            PayloadFault::Value { of, found } => {
                write!(f, "its payload has {found} as {of}, which can't be")
            }
            PayloadFault::Left(bytes) => {
                write!(f, "{bytes} bytes follow the last part of its payload")
            }
        }
    }
}

impl Changes {
    /// The change with this number; none if the layer has none.
    pub fn change(&self, opcode: u8) -> Option<&'static Change> {
        self.all.iter().find(|change| change.opcode == opcode)
    }

    /// Checks that these bytes are a payload of this change.
    pub fn check(&self, opcode: u8, payload: &[u8]) -> Result<(), PayloadFault> {
        let change = self.change(opcode).ok_or(PayloadFault::UnknownChange(opcode))?;
        let skip = |rest, part: &Part| (part.skip)(rest);
        match change.parts.iter().try_fold(payload, skip)?.len() {
            0 => Ok(()),
            left => Err(PayloadFault::Left(left)),
        }
    }
}

/// Declares the changes of a layer: a constant for each number, and the layer's [`Changes`].
macro_rules! changes {
    (
        $(#[doc = $about:literal])+
        layer $layer:literal = $name:literal;
        $(
            $(#[doc = $change_about:literal])+
            $change:ident = $opcode:literal, $block:literal: [$($part:expr),*];
        )+
    ) => {
        $(
            $(#[doc = $change_about])+
            pub const $change: u8 = $opcode;
        )+

        $(#[doc = $about])+
        pub const CHANGES: $crate::changes::Changes = $crate::changes::Changes {
            layer: $layer,
            name: $name,
            about: concat!($($about),+),
            all: &[$($crate::changes::Change {
                opcode: $opcode,
                name: stringify!($change),
                block: $block,
                about: concat!($($change_about),+),
                parts: &[$($part),*],
            }),+],
        };
    };
}
pub(crate) use changes;

/// A part of all remaining bytes, whatever they are.
pub(crate) const fn bytes_named(name: &'static str) -> Part {
    Part { name, skip: |rest| Ok(&rest[rest.len()..]) }
}

/// Splits off the first `count` bytes, which belong to this part.
pub(crate) fn split<'a>(
    rest: &'a [u8],
    count: usize,
    part: &'static str,
) -> Result<(&'a [u8], &'a [u8]), PayloadFault> {
    rest.split_at_checked(count).ok_or(PayloadFault::Short(part))
}

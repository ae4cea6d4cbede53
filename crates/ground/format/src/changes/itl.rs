//! The beginning of every change of a data block: the entry of its transaction in the block's list
//! of interested transactions (ITL).
//!
//! ```text
//!   forward:  ItlChangeHead │ Cleanout …           as many as the head says
//!   back:     ItlBack │ ItlEntry   the entry was another's, or nobody's
//!             ItlBack │ ItlOwn             the entry was the transaction's own
//! ```
//!
//! Callers: `txn`; the layers whose blocks transactions change.

use zerocopy::little_endian::U16 as U16Le;

use super::{Part, PayloadFault};
use crate::layout::layout;
use crate::number::{ScnLe, TxnIdLe, UndoAddressLe};
use crate::{FewBytes, ItlEntry};

layout! {
    /// The ITL entry of the transaction after the change.
    pub struct ItlChangeHead: 22 {
        /// Number of the entry in the list, from 0.
        0 => pub number: u8,
        /// Number of cleanouts that follow.
        1 => pub cleanouts: u8,
        /// The transaction.
        2 => pub transaction: TxnIdLe,
        /// Its newest undo record for this block.
        10 => pub undo: UndoAddressLe,
        /// Bytes that it has freed, and that are kept for it.
        18 => pub freed: U16Le,
        /// Slots that it has locked.
        20 => pub locks: U16Le,
    }
}

layout! {
    /// The end of another transaction, noted in its ITL entry by a change.
    pub struct Cleanout: 10 {
        /// Number of the entry in the list, from 0.
        0 => pub number: u8,
        /// 1 if `ended` is later than it ended, or may be.
        1 => pub inexact: u8,
        /// An SCN by which it had ended.
        2 => pub ended: ScnLe,
    }
}

layout! {
    /// The ITL entry that a change has changed, in the undo of the change.
    pub struct ItlBack: 2 {
        /// Number of the entry in the list, from 0.
        0 => pub number: u8,
        /// 0 if the entry belonged to another transaction or to none: then the whole entry follows.
        /// 1 if it was the transaction's own: then `ItlOwn` follows.
        1 => pub own: u8,
    }
}

layout! {
    /// The content of the transaction's own ITL entry before a change.
    pub struct ItlOwn: 12 {
        /// Its newest undo record for this block.
        0 => pub undo: UndoAddressLe,
        /// Bytes that it had freed, and that were kept for it.
        8 => pub freed: U16Le,
        /// Slots that it had locked.
        10 => pub locks: U16Le,
    }
}

/// The ITL entry at the beginning of a change.
#[derive(Clone, Copy, Debug)]
pub struct ItlChange<'a> {
    /// The entry.
    pub head: &'a ItlChangeHead,
    /// The ends of other transactions that the change notes.
    pub cleanouts: &'a [Cleanout],
}

/// An ITL entry before a change.
#[derive(Clone, Copy, Debug)]
pub struct Before<'a> {
    /// Number of the entry in the list.
    pub number: u8,
    /// The content of the entry.
    pub entry: BeforeEntry<'a>,
}

/// The content of an ITL entry before a change, by its owner.
#[derive(Clone, Copy, Debug)]
pub enum BeforeEntry<'a> {
    /// The entry of another transaction, or of none.
    Whole(&'a ItlEntry),
    /// The transaction's own entry.
    Own(&'a ItlOwn),
}

impl<'a> ItlChange<'a> {
    /// Reads the ITL entry at the beginning of a payload. Returns it with the rest of the payload.
    pub fn read(payload: &'a [u8]) -> Result<(ItlChange<'a>, &'a [u8]), PayloadFault> {
        let (head, rest) = ItlChangeHead::read(payload)?;
        let (cleanouts, rest) = Cleanout::read_many(rest, head.cleanouts.into())?;
        Ok((ItlChange { head, cleanouts }, rest))
    }
}

const BEFORE_BYTES_MAX: usize = size_of::<ItlBack>() + ItlEntry::BYTES;

impl<'a> Before<'a> {
    const WHOLE: u8 = 0;
    const OWN: u8 = 1;

    /// The length of the longest form.
    pub const BYTES_MAX: usize = BEFORE_BYTES_MAX;

    /// Reads the former entry at the beginning of a payload. Returns it with the rest of the
    /// payload.
    pub fn read(payload: &'a [u8]) -> Result<(Before<'a>, &'a [u8]), PayloadFault> {
        let (head, rest) = ItlBack::read(payload)?;
        let (entry, rest) = match head.own {
            Before::WHOLE => {
                let (entry, rest) = ItlEntry::read(rest)?;
                (BeforeEntry::Whole(entry), rest)
            }
            Before::OWN => {
                let (entry, rest) = ItlOwn::read(rest)?;
                (BeforeEntry::Own(entry), rest)
            }
            other => {
                let of = "whether the entry was the transaction's own";
                return Err(PayloadFault::Value { of, found: other.into() });
            }
        };
        Ok((Before { number: head.number, entry }, rest))
    }

    /// The stored bytes.
    #[inline]
    pub fn bytes(&self) -> FewBytes<BEFORE_BYTES_MAX> {
        let (own, entry) = match self.entry {
            BeforeEntry::Whole(entry) => (Before::WHOLE, entry.bytes()),
            BeforeEntry::Own(entry) => (Before::OWN, entry.bytes()),
        };
        let mut bytes = FewBytes::NONE;
        bytes.append(ItlBack { number: self.number, own }.bytes());
        bytes.append(entry);
        bytes
    }
}

/// The ITL entry at the beginning of a change.
pub(crate) const ITL_CHANGE: Part = Part {
    name: "`ItlChangeHead`, any number of `Cleanout`",
    skip: |rest| ItlChange::read(rest).map(|(_, rest)| rest),
};

/// The content of an ITL entry before a change.
pub(crate) const BEFORE: Part = Part {
    name: "`ItlBack`, `ItlEntry` or `ItlOwn`",
    skip: |rest| Before::read(rest).map(|(_, rest)| rest),
};

//! A redo record as recovery sees it: changes that happen together or not at all.
//!
//! Invariants
//!   * in a record that `check` accepts, the heads and payloads fill the record exactly, so
//!     `vectors` reads it without a further check
//!
//! Callers: the reader checks each record that it read, and `append` each that it is given, so that
//! no record is written that can't be read back.

use std::fmt;

use format::{ChangeVector, RedoRecord};
use ids::{BlockSize, Dba, Rba, Scn};

use crate::RECORD_BYTES_MAX;

/// Block sizes are stored in units of this many bytes.
const BLOCK_UNIT: usize = 2 << 10;

/// The SCN of a record, which is the SCN of its changes, and the RBA at which it begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecordPosition {
    /// SCN of the record.
    pub scn: Scn,
    /// Where the record begins.
    pub rba: Rba,
}

/// Changes that happen together or not at all.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// SCN of the changes.
    pub scn: Scn,
    /// Where the record begins.
    pub rba: Rba,
    bytes: &'a [u8],
}

impl<'a> Record<'a> {
    /// A record of bytes that `check` has accepted.
    pub(crate) fn new(RecordPosition { scn, rba }: RecordPosition, bytes: &'a [u8]) -> Record<'a> {
        Record { scn, rba, bytes }
    }

    /// SCN and RBA of the record.
    pub fn position(&self) -> RecordPosition {
        RecordPosition { scn: self.scn, rba: self.rba }
    }

    /// The whole record, its head included.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Its changes, in order.
    pub fn vectors(&self) -> impl Iterator<Item = Vector<'a>> + use<'a> {
        let mut rest = &self.bytes[RedoRecord::BYTES..];
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let (vector, after) = split(rest, 0).expect("the record was checked");
            rest = after;
            Some(vector)
        })
    }
}

/// A change vector: one change of one block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Vector<'a> {
    /// The block.
    pub address: Dba,
    /// SCN of the block before the change.
    pub before_scn: Scn,
    /// Sequence of the block's version before the change.
    pub before_sequence: u32,
    /// Checksum of the block's body after the change; 0 if none was kept.
    pub image: u32,
    /// Number of the layer that the change belongs to.
    pub layer: u8,
    /// Number of the change within its layer.
    pub opcode: u8,
    /// Size of the block.
    pub block_size: BlockSize,
    /// Whether the change makes the block anew. Then the block's version before doesn't matter.
    pub anew: bool,
    /// What the layer needs to apply the change.
    pub payload: &'a [u8],
}

impl<'a> Vector<'a> {
    /// The vector that begins here, in a record that was checked.
    pub(crate) fn first_of(bytes: &'a [u8]) -> Vector<'a> {
        split(bytes, 0).expect("the record was checked").0
    }
}

/// What is wrong with a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecordFault {
    /// The record is shorter than a head, longer than any record, or not as long as its head says.
    Length {
        /// The length in the head.
        found: u32,
    },
    /// This vector, counted from 0, reaches beyond the record.
    VectorBeyondRecord(u16),
    /// This vector's block has a size that no block has.
    BlockSize(u16),
    /// Bytes follow the last vector.
    BytesLeft(usize),
}

impl fmt::Display for RecordFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordFault::Length { found } => {
                write!(f, "its length, {found} bytes, is impossible")
            }
            RecordFault::VectorBeyondRecord(number) => {
                write!(f, "its vector {number} reaches beyond its end")
            }
            RecordFault::BlockSize(number) => {
                write!(f, "its vector {number} has an impossible block size")
            }
            RecordFault::BytesLeft(bytes) => write!(f, "{bytes} bytes follow its last vector"),
        }
    }
}

/// The length in this head, if a record can be as long as that.
pub(crate) fn length(head: &RedoRecord) -> Result<usize, RecordFault> {
    let found = head.length.get();
    match usize::try_from(found) {
        Ok(length) if (RedoRecord::BYTES..=RECORD_BYTES_MAX).contains(&length) => Ok(length),
        _ => Err(RecordFault::Length { found }),
    }
}

/// Checks that these bytes are one whole record.
pub(crate) fn check(bytes: &[u8]) -> Result<(), RecordFault> {
    if bytes.len() < RedoRecord::BYTES {
        return Err(RecordFault::Length { found: bytes.len() as u32 });
    }
    let head = RedoRecord::at(bytes, 0);
    if length(head)? != bytes.len() {
        return Err(RecordFault::Length { found: head.length.get() });
    }
    let mut rest = &bytes[RedoRecord::BYTES..];
    for number in 0..head.vectors.get() {
        rest = split(rest, number)?.1;
    }
    match rest.len() {
        0 => Ok(()),
        left => Err(RecordFault::BytesLeft(left)),
    }
}

/// The first vector, which has this number in its record, and the bytes behind it.
fn split(bytes: &[u8], number: u16) -> Result<(Vector<'_>, &[u8]), RecordFault> {
    let beyond = RecordFault::VectorBeyondRecord(number);
    if bytes.len() < ChangeVector::BYTES {
        return Err(beyond);
    }
    let head = ChangeVector::at(bytes, 0);
    let end = ChangeVector::BYTES + usize::from(head.length.get());
    let payload = bytes.get(ChangeVector::BYTES..end).ok_or(beyond)?;
    let block_bytes = usize::from(head.block_units) * BLOCK_UNIT;
    let vector = Vector {
        address: head.address.get(),
        before_scn: head.before_scn.get(),
        before_sequence: head.before_sequence.get(),
        image: head.image.get(),
        layer: head.layer,
        opcode: head.opcode,
        block_size: BlockSize::new(block_bytes).ok_or(RecordFault::BlockSize(number))?,
        anew: head.anew != 0,
        payload,
    };
    Ok((vector, &bytes[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use format::{DbaLe, ScnLe, U16Le, U32Le};

    fn record(vectors: u16, payloads: &[&[u8]]) -> Vec<u8> {
        let mut bytes = vec![0; RedoRecord::BYTES];
        for payload in payloads {
            let head = ChangeVector {
                address: DbaLe::new(Dba::new(1, 2)),
                before_scn: ScnLe::new(Scn::new(3)),
                before_sequence: U32Le::new(4),
                image: U32Le::new(5),
                layer: 6,
                opcode: 7,
                length: U16Le::new(payload.len() as u16),
                block_units: 4,
                anew: 0,
                reserved: [0; 2],
            };
            bytes.extend(head.bytes());
            bytes.extend(*payload);
        }
        let length = bytes.len() as u32;
        let head = RedoRecord::at_mut(&mut bytes, 0);
        head.length = U32Le::new(length);
        head.vectors = U16Le::new(vectors);
        bytes
    }

    /// Everything that was put into a record comes out of it.
    #[test]
    fn vectors_come_back_as_they_were_laid_down() {
        let bytes = record(2, &[b"one", b""]);
        assert_eq!(check(&bytes), Ok(()));
        let position = RecordPosition { scn: Scn::new(9), rba: Rba::block(1, 1) };
        let vectors: Vec<_> = Record::new(position, &bytes).vectors().collect();
        assert_eq!((vectors[0].payload, vectors[1].payload), (&b"one"[..], &b""[..]));
        let Vector { address, before_scn, before_sequence, image, layer, opcode, .. } = vectors[0];
        assert_eq!((address, before_scn), (Dba::new(1, 2), Scn::new(3)));
        assert_eq!((before_sequence, image, layer, opcode), (4, 5, 6, 7));
        assert_eq!(vectors[0].block_size, BlockSize::KIB_8);
    }

    /// Each way in which a record can be wrong has its name.
    #[test]
    fn a_record_that_is_not_one_is_told_apart() {
        assert_eq!(check(&[0; 3]), Err(RecordFault::Length { found: 3 }));
        assert_eq!(check(&record(3, &[b"one"])), Err(RecordFault::VectorBeyondRecord(1)));
        assert_eq!(check(&record(0, &[b"one"])), Err(RecordFault::BytesLeft(35)));
        let mut long = record(1, &[b"one"]);
        RedoRecord::at_mut(&mut long, 0).length = U32Le::new(u32::MAX);
        assert_eq!(check(&long), Err(RecordFault::Length { found: u32::MAX }));
        let mut payload = record(1, &[b"one"]);
        ChangeVector::at_mut(&mut payload, RedoRecord::BYTES).length = U16Le::new(4);
        assert_eq!(check(&payload), Err(RecordFault::VectorBeyondRecord(0)));
        let mut size = record(1, &[b"one"]);
        ChangeVector::at_mut(&mut size, RedoRecord::BYTES).block_units = 3;
        assert_eq!(check(&size), Err(RecordFault::BlockSize(0)));
    }
}

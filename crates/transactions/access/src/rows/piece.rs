//! How a row of any length lies in slots: whole, or in pieces.
//!
//! ```text
//!   ROW                 the row
//!   ROW │ SHORT         its length, the row, zeros: a row always has room for an address
//!   ROW │ NEXT          address of the next piece, the row's first bytes (none: it has moved)
//!   PIECE │ NEXT        address of the next piece, more bytes
//!   PIECE               the last bytes
//! ```
//!
//! Callers: the rest of `rows`; `inspect`.
//! Sources: Oracle's row pieces, with its chained and migrated rows.

use format::{DataSlot, PieceAddress, U16Le, U32Le};
use ids::Dba;
use txn::block;

use crate::RowAddress;
pub(crate) use crate::ops::ROW;

/// The flag of a slot whose row goes on elsewhere: its bytes begin with the address.
pub(crate) const NEXT: u8 = 2;
/// The flag of a piece that isn't the row's first.
pub(crate) const PIECE: u8 = 4;
/// The flag of a row shorter than an address.
pub(crate) const SHORT: u8 = 8;

/// How many bytes an address has.
pub(crate) const ADDRESS_BYTES: usize = size_of::<PieceAddress>();

/// An address as it is stored.
pub(super) fn stored(address: RowAddress) -> [u8; ADDRESS_BYTES] {
    let stored = PieceAddress {
        block: U32Le::new(address.block.block.get()),
        file: U16Le::new(address.block.file.get()),
        slot: U16Le::new(address.slot),
    };
    stored.bytes().try_into().expect("an address has as many bytes as its layout")
}

/// The address at the beginning of these bytes.
fn address_in(bytes: &[u8]) -> RowAddress {
    let stored = PieceAddress::at(bytes, 0);
    let block = Dba::new(stored.file.get(), stored.block.get());
    RowAddress { block, slot: stored.slot.get() }
}

/// A row, or a piece of one, in a slot.
#[derive(Clone, Copy)]
pub(crate) struct Piece<'a> {
    /// The bytes of the row that are here.
    pub(crate) data: &'a [u8],
    /// The address of the row's next piece, if there is one.
    pub(crate) next: Option<RowAddress>,
}

/// The row, or piece, in a slot.
#[inline]
pub(crate) fn piece_of(block: &[u8], slot: DataSlot) -> Piece<'_> {
    let bytes = block::bytes_of(block, slot);
    if slot.flags & NEXT != 0 {
        return Piece { data: &bytes[ADDRESS_BYTES..], next: Some(address_in(bytes)) };
    }
    let data = match slot.flags & SHORT != 0 {
        true => &bytes[1..1 + usize::from(bytes[0])],
        false => bytes,
    };
    Piece { data, next: None }
}

/// A whole row as it lies in a slot: its flags beside `ROW` or `PIECE`, and its bytes.
pub(super) fn whole(row: &[u8]) -> (u8, std::borrow::Cow<'_, [u8]>) {
    if row.len() >= ADDRESS_BYTES {
        return (0, row.into());
    }
    let mut bytes = vec![0; ADDRESS_BYTES];
    bytes[0] = row.len() as u8;
    bytes[1..=row.len()].copy_from_slice(row);
    (SHORT, bytes.into())
}

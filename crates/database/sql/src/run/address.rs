//! Addresses of rows as values: a statement that changes rows has them as a column.
//!
//! ```text
//!   63 ─── 48 47 ──────────── 16 15 ─── 0
//!     file         block           slot
//! ```
//!
//! Callers: scans, which give addresses; `change`, which takes them.

use access::RowAddress;
use ids::Dba;
use value::Value;

/// The address as a whole number.
#[inline]
pub(crate) fn value_of(row: RowAddress) -> Value<'static> {
    let file = u64::from(row.block.file.get()) << 48;
    let block = u64::from(row.block.block.get()) << 16;
    Value::Int((file | block | u64::from(row.slot)).cast_signed())
}

/// The address that a column has; none if it is NULL.
#[inline]
pub(crate) fn address_in(value: Value<'_>) -> Option<RowAddress> {
    let Value::Int(number) = value else { return None };
    let bits = number.cast_unsigned();
    let file = (bits >> 48) as u16;
    let block = (bits >> 16) as u32;
    Some(RowAddress { block: Dba::new(file, block), slot: bits as u16 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_comes_back_from_its_value() {
        for (file, block, slot) in [(1, 2, 3), (u16::MAX, u32::MAX, u16::MAX), (0x8000, 0, 9)] {
            let row = RowAddress { block: Dba::new(file, block), slot };
            assert_eq!(address_in(value_of(row)), Some(row));
        }
        assert_eq!(address_in(Value::Null), None);
    }
}

//! The name of a statement by its text, as Oracle computes it.
//!
//! The last 64 bits of the MD5 of the text and a byte 0, as two words of 32 bits in little-endian
//! order, written with 13 digits of base 32. So a statement has the same name here and in an
//! Oracle database. It is a name and no protection.
//!
//! Callers: the plan cache, `v$sql`, EXPLAIN.
//! Sources: Poder, "SQL_ID is just a fancy representation of hash value"; Pachot, "Some Artificial
//! Intuition in Oracle SQL_ID?", for a pair of a text and its name.

use std::fmt;

use md5::{Digest, Md5};

/// The digits: no letters that look like others.
const DIGITS: &[u8; 32] = b"0123456789abcdfghjkmnpqrstuvwxyz";
/// 64 bits by five.
const LENGTH: u32 = 13;

/// The name of a statement's text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SqlId(u64);

impl SqlId {
    /// The name of this text. Every character counts, blanks and case too.
    pub fn of(text: &str) -> SqlId {
        let hash = Md5::new().chain_update(text).chain_update([0]).finalize();
        let word = |at: usize| {
            let bytes: [u8; 4] = hash[at..at + 4].try_into().expect("four bytes of sixteen");
            u64::from(u32::from_le_bytes(bytes))
        };
        SqlId(word(8) << 32 | word(12))
    }

    /// The statement's number in `v$sql.hash_value`: the last 32 bits.
    pub fn hash_value(self) -> u32 {
        (self.0 & u64::from(u32::MAX)) as u32
    }

    /// All 64 bits.
    pub fn number(self) -> u64 {
        self.0
    }
}

impl fmt::Display for SqlId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for place in (0..LENGTH).rev() {
            let digit = (self.0 >> (5 * place)) & 31;
            write!(f, "{}", char::from(DIGITS[digit as usize]))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_an_oracle_database() {
        let dual = SqlId::of("select * from dual");
        assert_eq!((dual.to_string().as_str(), dual.hash_value()), ("a5ks9fhw2v9s1", 942_515_969));
        let text = "select * from EMP where JOB='PRESIDENT' \
                    /* 01-APR-21 06.31.51.678270 AM +02:00 */";
        assert_eq!(SqlId::of(text).to_string(), "5c0tty145sddp");
        assert_eq!(SqlId(9_093_421_488_918_569_282).to_string(), "7wckkp93ya8a2");
    }

    #[test]
    fn a_name_has_thirteen_digits() {
        assert_eq!(SqlId(0).to_string(), "0000000000000");
        assert_eq!(SqlId(u64::MAX).to_string(), "gzzzzzzzzzzzz");
        assert_ne!(SqlId::of("select 1"), SqlId::of("SELECT 1"));
    }
}

//! The number of a file of the database.
//!
//! Sources: Oracle's absolute file number, `file#` in `v$datafile`, written in decimal.

use std::fmt;

/// A file of the database.
///
/// Unit: none, it only names. Range: all of `u16`. Source: given when the file is created.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FileNo(u16);

impl FileNo {
    /// The file with this number.
    pub const fn new(number: u16) -> FileNo {
        FileNo(number)
    }

    /// The number, for storing and showing; not for arithmetic.
    pub const fn get(self) -> u16 {
        self.0
    }
}

impl fmt::Display for FileNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_as_its_decimal_number() {
        assert_eq!(FileNo::new(3).to_string(), "3");
        assert_eq!(FileNo::new(u16::MAX).get(), 65_535);
    }
}

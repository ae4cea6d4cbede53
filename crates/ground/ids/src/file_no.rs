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
    /// The control file. All its copies have this number. Data files have lower numbers, from 1 on.
    pub const CONTROL: FileNo = FileNo(0xFF00);

    /// The member of this online redo log group. Groups count from 1.
    pub const fn redo(group: u16) -> FileNo {
        assert!(group > 0 && group < 0x100, "groups are numbered from 1 to 255");
        FileNo(0xFE00 + group)
    }

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

//! The number of a segment, for the whole life of its database.
//!
//! Sources: Oracle's data object number, `data_object_id` in `dba_objects`. Each block of a segment
//! holds it, and truncating a table changes it.

use std::fmt;

/// A segment of the database.
///
/// Unit: none, it only names. Range: from 1. Source: given when the segment is made. No number is
/// given twice, so a block of a dropped segment is never taken for a block of another segment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ObjectNo(u32);

impl ObjectNo {
    /// The segment directory itself.
    pub const DIRECTORY: ObjectNo = ObjectNo(1);

    /// The object with this number.
    ///
    /// # Panics
    /// When it is 0, which names none.
    pub const fn new(number: u32) -> ObjectNo {
        assert!(number > 0, "objects are numbered from 1");
        ObjectNo(number)
    }

    /// The number, for storing and showing; not for arithmetic.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The number after this one.
    pub const fn next(self) -> ObjectNo {
        ObjectNo(self.0.checked_add(1).expect("object numbers are exhausted"))
    }
}

impl fmt::Display for ObjectNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_written_as_its_decimal_number() {
        assert_eq!(ObjectNo::new(70_000).to_string(), "70000");
        assert_eq!(ObjectNo::DIRECTORY.next().get(), 2);
    }
}

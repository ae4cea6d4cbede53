//! Records that are kept for a while: what one thread reads and another one applies.
//!
//! Callers: `recovery`.

use ids::{Rba, Scn};

use crate::Record;

/// Records in the order in which they were read, with their bytes in one place.
#[derive(Clone, Debug, Default)]
pub struct Records {
    bytes: Vec<u8>,
    /// Of each record: SCN, where it begins in the redo, where it ends in `bytes`.
    heads: Vec<(Scn, Rba, usize)>,
}

impl Records {
    /// One more.
    pub fn push(&mut self, record: &Record<'_>) {
        self.bytes.extend_from_slice(record.bytes());
        self.heads.push((record.scn, record.rba, self.bytes.len()));
    }

    /// Their bytes together.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.heads.len()
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = Record<'_>> {
        let mut start = 0;
        self.heads.iter().map(move |(scn, rba, end)| {
            let bytes = &self.bytes[start..*end];
            start = *end;
            Record::new(*scn, *rba, bytes)
        })
    }

    /// None any more; their memory is kept.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.heads.clear();
    }
}

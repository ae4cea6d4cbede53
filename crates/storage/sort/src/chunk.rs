//! Rows in memory, sorted when there is no room for another.
//!
//! ```text
//!   ┌────────┬────────┬────────┬───────────┬───────┬───────┬───────┐
//!   │ record │ record │ record │ … room …  │ entry │ entry │ entry │
//!   └────────┴────────┴────────┴───────────┴───────┴───────┴───────┘
//!   in the order of pushing                 in its reverse, then sorted
//! ```
//!
//! Invariant: of equal keys, the one that was pushed first has the lower offset. The offset is
//! compared last, so a sort that isn't stable gives a stable order (ST2).
//!
//! Callers: `sorter`; `merge`, once the chunk is sorted.

use os::{Cost, IoBuf, Session};
use stop::Stop;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::merge::Source;
use crate::record;

/// The offset of a record, and the first bytes of its key.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
struct Entry {
    prefix: u64,
    offset: u64,
}

const ENTRY: usize = size_of::<Entry>();

/// A piece of memory with rows.
pub(crate) struct Chunk {
    bytes: IoBuf,
    /// Where the records end.
    end: usize,
    /// Where the entries begin; while the chunk is read, where the entries of the remaining rows
    /// begin.
    entries: usize,
}

impl Chunk {
    /// Without rows; the length of `bytes` is a multiple of the size of an entry.
    pub(crate) fn new(bytes: IoBuf) -> Chunk {
        assert!(bytes.len().is_multiple_of(ENTRY));
        let entries = bytes.len();
        Chunk { bytes, end: 0, entries }
    }

    /// Takes a row. Returns false if there is no room for it.
    #[inline]
    pub(crate) fn push(&mut self, key: &[u8], payload: &[u8]) -> bool {
        let end = self.end + record::length_of(key, payload);
        if end + ENTRY > self.entries {
            return false;
        }
        record::put(&mut self.bytes[self.end..end], key, payload);
        let entry = Entry { prefix: record::prefix(key), offset: self.end as u64 };
        self.entries -= ENTRY;
        self.bytes[self.entries..][..ENTRY].copy_from_slice(entry.as_bytes());
        self.end = end;
        true
    }

    /// Sorts the rows by their keys. No rows are pushed after that.
    pub(crate) fn sort(&mut self, session: &Session) {
        let (records, entries) = self.bytes.split_at_mut(self.entries);
        let entries = <[Entry]>::mut_from_bytes(entries)
            .expect("the area begins at a page, and is cut at multiples of an entry");
        let key = |entry: &Entry| record::key(&records[entry.offset as usize..]);
        entries.sort_unstable_by(|one, other| {
            let by_key = || key(one).cmp(key(other));
            let by_prefix = one.prefix.cmp(&other.prefix);
            by_prefix.then_with(by_key).then_with(|| one.offset.cmp(&other.offset))
        });
        let rows = entries.len();
        session.charge(Cost::CopyKib, self.end as u64 >> 10);
        record::charge(rows as u64 * record::levels(rows), session);
    }

    /// The bytes that rows take, of those that the chunk has.
    pub(crate) fn used_bytes(&self) -> u64 {
        (self.end + self.bytes.len() - self.entries) as u64
    }

    fn first(&self) -> Option<Entry> {
        Entry::read_from_prefix(&self.bytes[self.entries..]).ok().map(|(entry, _)| entry)
    }
}

impl Source for Chunk {
    type From<'f> = ();

    #[inline]
    fn record(&self) -> Option<&[u8]> {
        let bytes = &self.bytes[self.first()?.offset as usize..self.end];
        let length = record::whole(bytes).expect("an entry is of a whole record");
        Some(&bytes[..length])
    }

    #[inline]
    fn advance(&mut self, (): &mut ()) -> Result<(), Stop> {
        self.entries += ENTRY;
        Ok(())
    }
}

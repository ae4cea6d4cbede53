//! The volatile write cache of a rotating disk: the writes accepted and not yet brought home.
//!
//! Writes lie here by offset. They go home in ascending order from where the head is, wrapping
//! round at the end (C-LOOK): neighbours follow each other without a lost turn, and no write is
//! left behind for ever. A write to an offset that is here already replaces it.
//!
//! Callers: `rotating`, which owns the head and decides when a write goes home.

use std::collections::BTreeMap;

/// A write that the host believes completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PendingWrite {
    pub(super) offset: u64,
    pub(super) length: u64,
    /// When it was accepted; it can't start before.
    pub(super) accepted_at: u64,
}

/// The writes that are in the cache.
#[derive(Clone, Debug)]
pub(super) struct WriteCache {
    capacity_bytes: u64,
    used_bytes: u64,
    pending: BTreeMap<u64, PendingWrite>,
}

impl WriteCache {
    /// A cache of this size; zero means no cache.
    pub(super) fn new(capacity_bytes: u64) -> WriteCache {
        WriteCache { capacity_bytes, used_bytes: 0, pending: BTreeMap::new() }
    }

    /// Whether a write of this size could ever be accepted.
    pub(super) fn could_take(&self, length: u64) -> bool {
        length <= self.capacity_bytes
    }

    /// Whether it can be accepted now.
    pub(super) fn has_room(&self, length: u64) -> bool {
        self.used_bytes + length <= self.capacity_bytes
    }

    /// Whether one write in the cache holds this whole range.
    pub(super) fn holds(&self, offset: u64, length: u64) -> bool {
        let before = self.pending.range(..=offset).next_back();
        before.is_some_and(|(_, write)| offset + length <= write.offset + write.length)
    }

    /// Accepts a write for which there is room.
    pub(super) fn take(&mut self, write: PendingWrite) {
        assert!(self.has_room(write.length), "the caller made room");
        let length = match self.pending.get(&write.offset) {
            Some(older) => older.length.max(write.length),
            None => write.length,
        };
        let kept = PendingWrite { length, ..write };
        self.used_bytes += length;
        if let Some(older) = self.pending.insert(write.offset, kept) {
            self.used_bytes -= older.length;
        }
    }

    /// The next write to go home from a head at `head_offset`.
    pub(super) fn next_home(&self, head_offset: u64) -> Option<PendingWrite> {
        let ahead = self.pending.range(head_offset..).next();
        ahead.or_else(|| self.pending.iter().next()).map(|(_, write)| *write)
    }

    /// Removes a write that is on its way home.
    pub(super) fn release(&mut self, write: PendingWrite) {
        let removed = self.pending.remove(&write.offset);
        assert_eq!(removed, Some(write), "only what is in the cache goes home");
        self.used_bytes -= write.length;
    }
}

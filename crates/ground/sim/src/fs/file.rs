//! One file: its volatile image, its durable image, and the changes between the two.
//!
//! ```text
//!   durable ── SetLen 8192 ── Write 0..4096 ── Write 4096..8192 ──▶ view
//!                 (pending, oldest first)
//! ```
//!
//! Invariants
//!   * durable + pending in order = view, while no write is `unknown`
//!   * no pending write reaches into bytes that a later change has already made durable: settling
//!     a change trims the older writes under it
//!   * sizes are versions of one field: making one durable makes the older ones durable
//!
//! A write is *unknown* when a sync failed over it, or when it failed itself with EIO: it may be on
//! the medium or not, no later sync writes it, and only a settled overwrite ends the doubt. The
//! size is not in doubt after a failed sync: metadata stays dirty where data pages are marked
//! clean.
//!
//! Callers: `data` (running), `crash` (reads the pending list).

use std::sync::Arc;

use super::image::{Image, to_u64, to_usize};

#[derive(Clone)]
pub(crate) enum Change {
    Write { offset: u64, data: Arc<[u8]> },
    SetLen(u64),
}

#[derive(Clone)]
pub(crate) struct Pending {
    /// Order among all pending changes of the file system.
    pub(crate) sequence: u64,
    pub(crate) unknown: bool,
    pub(crate) change: Change,
}

#[derive(Clone, Default)]
pub(crate) struct FileNode {
    pub(crate) view: Image,
    pub(crate) durable: Image,
    pub(crate) pending: Vec<Pending>,
}

impl FileNode {
    /// A file as a crash leaves it: both views are the surviving image.
    pub(crate) fn survivor(image: Image) -> FileNode {
        FileNode { view: image.clone(), durable: image, pending: Vec::new() }
    }

    pub(crate) fn set_len(&mut self, len: u64, sequence: u64) {
        if len != self.view.len() {
            self.view.set_len(len);
            self.push(sequence, Change::SetLen(len));
        }
    }

    /// Grows the file if needed, then writes; both stay pending.
    pub(crate) fn write(&mut self, offset: u64, data: &[u8], sequence: u64) {
        self.grow(offset + to_u64(data.len()), sequence);
        self.view.write(offset, data);
        self.push(sequence, Change::Write { offset, data: data.into() });
    }

    /// Grows the file if needed, then writes; both are durable.
    pub(crate) fn write_durable(&mut self, offset: u64, data: &[u8], sequence: u64) {
        let end = offset + to_u64(data.len());
        self.grow(end, sequence);
        self.view.write(offset, data);
        self.settle_size(end);
        self.durable.write(offset, data);
        trim(&mut self.pending, offset, end);
    }

    pub(crate) fn grow(&mut self, end: u64, sequence: u64) {
        if end > self.view.len() {
            self.set_len(end, sequence);
        }
    }

    /// Notes a write that failed with EIO: reads don't see it, the medium may hold any part of it.
    pub(crate) fn write_failed(&mut self, offset: u64, data: &[u8], sequence: u64) {
        let room = self.view.len().saturating_sub(offset).min(to_u64(data.len()));
        if room > 0 {
            let data = data[..to_usize(room)].into();
            self.push(sequence, Change::Write { offset, data });
            self.pending.last_mut().expect("just pushed").unknown = true;
        }
    }

    /// Makes durable all changes up to the one numbered `mark`, except those in doubt.
    pub(crate) fn sync(&mut self, mark: u64) {
        if self.pending.iter().any(|pending| pending.unknown || pending.sequence > mark) {
            return self.sync_in_part(mark);
        }
        for pending in &self.pending {
            if let Change::SetLen(len) = pending.change {
                self.durable.set_len(len);
            }
        }
        let len = self.view.len();
        assert_eq!(self.durable.len(), len, "the last size that was set is the view's");
        for pending in self.pending.drain(..) {
            if let Change::Write { offset, data } = pending.change {
                let room = len.saturating_sub(offset).min(to_u64(data.len()));
                self.durable.share(&self.view, offset, to_usize(room));
            }
        }
    }

    fn sync_in_part(&mut self, mark: u64) {
        let mut doubtful = Vec::new();
        for pending in std::mem::take(&mut self.pending) {
            match &pending.change {
                _ if pending.sequence > mark => doubtful.push(pending),
                Change::SetLen(len) => {
                    self.durable.set_len(*len);
                    trim(&mut doubtful, *len, u64::MAX);
                }
                Change::Write { .. } if pending.unknown => doubtful.push(pending),
                Change::Write { offset, data } => {
                    self.durable.write_clipped(*offset, data);
                    trim(&mut doubtful, *offset, *offset + to_u64(data.len()));
                }
            }
        }
        self.pending = doubtful;
    }

    /// Notes a sync that failed: the kernel has marked the pages clean, and the stored data is
    /// unknown.
    pub(crate) fn sync_failed(&mut self) {
        for pending in &mut self.pending {
            pending.unknown |= matches!(pending.change, Change::Write { .. });
        }
    }

    /// Flips a bit: in the newest pending write of the byte, else on the medium.
    pub(crate) fn rot(&mut self, at: u64, mask: u8) {
        self.view.flip(at, mask);
        for pending in self.pending.iter_mut().rev() {
            if let Change::Write { offset, data } = &mut pending.change
                && (*offset..*offset + to_u64(data.len())).contains(&at)
            {
                Arc::make_mut(data)[to_usize(at - *offset)] ^= mask;
                return;
            }
        }
        self.durable.flip(at, mask);
    }

    /// Makes sizes durable, oldest first, until the file is certainly `end` bytes long: whichever
    /// later size survives is not below `end`.
    pub(crate) fn settle_size(&mut self, end: u64) {
        let pending = self.pending.iter().enumerate();
        let sizes: Vec<(usize, u64)> =
            pending.filter_map(|(index, pending)| size(index, pending)).collect();
        let settled = match sizes.iter().rposition(|(_, len)| *len < end) {
            Some(last_below) => last_below + 2,
            None => usize::from(self.durable.len() < end),
        };
        for (removed, (index, len)) in sizes.into_iter().take(settled).enumerate() {
            self.durable.set_len(len);
            // Indices shift by the sizes removed so far; trimmed writes are only emptied here.
            let index = index - removed;
            self.pending.remove(index);
            for older in &mut self.pending[..index] {
                cut(older, len);
            }
        }
        self.pending.retain(|pending| !is_empty(pending));
    }

    fn push(&mut self, sequence: u64, change: Change) {
        self.pending.push(Pending { sequence, unknown: false, change });
    }
}

fn size(index: usize, pending: &Pending) -> Option<(usize, u64)> {
    match pending.change {
        Change::SetLen(len) => Some((index, len)),
        Change::Write { .. } => None,
    }
}

fn is_empty(pending: &Pending) -> bool {
    matches!(&pending.change, Change::Write { data, .. } if data.is_empty())
}

/// Drops the bytes of a write at and beyond `len`.
fn cut(pending: &mut Pending, len: u64) {
    if let Change::Write { offset, data } = &mut pending.change
        && *offset + to_u64(data.len()) > len
    {
        *data = data[..to_usize(len.saturating_sub(*offset))].into();
    }
}

/// Takes `start..end` out of every write: those bytes are durable with newer content.
fn trim(writes: &mut Vec<Pending>, start: u64, end: u64) {
    let overlaps = |pending: &Pending| match &pending.change {
        Change::Write { offset, data } => *offset < end && start < *offset + to_u64(data.len()),
        Change::SetLen(_) => false,
    };
    if !writes.iter().any(overlaps) {
        return;
    }
    let mut trimmed = Vec::with_capacity(writes.len() + 1);
    for pending in writes.drain(..) {
        if !overlaps(&pending) {
            trimmed.push(pending);
            continue;
        }
        let Pending { sequence, unknown, change } = pending;
        let Change::Write { offset, data } = change else { unreachable!("only writes overlap") };
        let mut keep = |offset: u64, data: &[u8]| {
            if !data.is_empty() {
                let change = Change::Write { offset, data: data.into() };
                trimmed.push(Pending { sequence, unknown, change });
            }
        };
        keep(offset, &data[..to_usize(start.saturating_sub(offset))]);
        let behind = end.saturating_sub(offset).min(to_u64(data.len()));
        keep(end, &data[to_usize(behind)..]);
    }
    *writes = trimmed;
}

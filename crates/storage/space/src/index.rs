//! The segment directory in memory: segments by number and by name, and free slots.
//!
//! ```text
//!   reserve ──▶ being made ── settle ──▶ there ── claim ──▶ busy ──▶ release: there
//!      └── forget ◀──┘                                        └────▶ remove: its slot is free
//! ```
//!
//! The index is read from the directory's blocks at opening, and then changed beside them: a name,
//! number and slot are reserved before they are entered there; a state changes after it has changed
//! there; a slot is free after its entry has gone from there (SP13).
//!
//! Invariants
//!   * a number is given once
//!   * a name belongs to one segment that isn't being dropped
//!   * a slot is free, or belongs to one entry
//!   * only the session that has claimed an entry changes its state
//!
//! Callers: `directory`, `create`, `drop`.

use std::collections::{BTreeMap, BTreeSet};

use ids::{Dba, ObjectNo};
use stop::{RefusalKind, Stop};

use crate::look::EntrySeen;
use crate::segment::{Holds, SegmentState};

/// The name of the directory's own segment.
const OWN_NAME: &str = "_directory";

/// A segment that is made with this name is named by its number: number 57 is `#57`.
pub const NAMED_BY_NUMBER: &str = "#";

/// A slot for an entry: a block of the directory, and the slot's number there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct DirectorySlot {
    pub(crate) block: Dba,
    pub(crate) number: u32,
}

/// An entry of the directory.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) object: ObjectNo,
    pub(crate) holds: Holds,
    pub(crate) slot: DirectorySlot,
    /// The header and the state; `None` while the segment is being made.
    pub(crate) at: Option<(Dba, SegmentState)>,
    /// Whether a session has claimed it.
    busy: bool,
}

#[derive(Debug)]
pub(crate) struct Index {
    entries: BTreeMap<ObjectNo, Entry>,
    names: BTreeMap<String, ObjectNo>,
    free: BTreeSet<DirectorySlot>,
    next: ObjectNo,
}

impl Entry {
    /// An entry that was read from the directory.
    pub(crate) fn read(seen: EntrySeen, slot: DirectorySlot) -> Entry {
        let EntrySeen { name, object, holds, header, state, .. } = seen;
        Entry { name, object, holds, slot, at: Some((header, state)), busy: false }
    }

    pub(crate) fn state(&self) -> Option<SegmentState> {
        self.at.map(|(_, state)| state)
    }

    /// The header of an entry that was claimed or read.
    pub(crate) fn header(&self) -> Dba {
        self.at.expect("what was claimed or read was made").0
    }
}

impl Index {
    pub(crate) fn new() -> Index {
        Index {
            entries: BTreeMap::new(),
            names: BTreeMap::new(),
            free: BTreeSet::new(),
            next: ObjectNo::DIRECTORY.next(),
        }
    }

    /// Notes what a block of the directory says: one more than the highest number that it had.
    pub(crate) fn note_next(&mut self, next_object: u32) {
        if next_object > self.next.get() {
            self.next = ObjectNo::new(next_object);
        }
    }

    /// Adds an entry that was read.
    pub(crate) fn add(&mut self, entry: Entry) {
        if entry.state() != Some(SegmentState::Dropping) {
            self.names.insert(entry.name.clone(), entry.object);
        }
        let before = self.entries.insert(entry.object, entry);
        assert!(before.is_none(), "two segments have one number (SP13)");
    }

    /// Adds a free slot.
    pub(crate) fn add_free(&mut self, slot: DirectorySlot) {
        self.free.insert(slot);
    }

    pub(crate) fn has_free(&self) -> bool {
        !self.free.is_empty()
    }

    /// Reserves a number and a slot for a segment of this name. `None` if there is no free slot.
    pub(crate) fn reserve(&mut self, name: &str, holds: Holds) -> Result<Option<Entry>, Stop> {
        let own = (name == NAMED_BY_NUMBER).then(|| format!("{NAMED_BY_NUMBER}{}", self.next));
        let name = own.as_deref().unwrap_or(name);
        if name == OWN_NAME || self.names.contains_key(name) {
            let message = format!("cannot create {name}: a segment has that name; choose another");
            return Err(Stop::refuse(RefusalKind::AlreadyExists, message));
        }
        let Some(slot) = self.free.pop_first() else { return Ok(None) };
        let object = self.next;
        self.next = object.next();
        Ok(Some(self.begin(name, holds, object, slot)))
    }

    /// As `reserve`, for the directory's own segment.
    pub(crate) fn reserve_own(&mut self, slot: DirectorySlot) -> Entry {
        self.begin(OWN_NAME, Holds::Directory, ObjectNo::DIRECTORY, slot)
    }

    fn begin(&mut self, name: &str, holds: Holds, object: ObjectNo, slot: DirectorySlot) -> Entry {
        let entry = Entry { name: name.to_string(), object, holds, slot, at: None, busy: false };
        self.names.insert(entry.name.clone(), object);
        self.entries.insert(object, entry.clone());
        entry
    }

    /// Forgets a segment that couldn't be made. Its number is not given again.
    pub(crate) fn forget(&mut self, entry: &Entry) {
        self.names.remove(&entry.name);
        self.entries.remove(&entry.object);
        if entry.holds != Holds::Directory {
            self.free.insert(entry.slot);
        }
    }

    /// Notes that a segment was made.
    pub(crate) fn settle(&mut self, object: ObjectNo, header: Dba, state: SegmentState) {
        let entry = self.entries.get_mut(&object).expect("it was reserved");
        entry.at = Some((header, state));
    }

    pub(crate) fn get(&self, object: ObjectNo) -> Option<&Entry> {
        self.entries.get(&object)
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Entry> {
        self.names.get(name).and_then(|object| self.entries.get(object))
    }

    /// All entries, in the order of their numbers, also of segments that are being made.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }

    /// Whether this index is equal to one that was read. A number may have been given in vain
    /// since.
    pub(crate) fn agrees_with(&self, read: &Index) -> bool {
        let same = |(one, other): (&Entry, &Entry)| {
            (&one.name, one.object, one.holds, one.slot, one.at)
                == (&other.name, other.object, other.holds, other.slot, other.at)
        };
        self.entries.len() == read.entries.len()
            && self.all().zip(read.all()).all(same)
            && self.names == read.names
            && self.free == read.free
            && self.next >= read.next
    }

    /// Claims an entry: only the caller may change the segment's state until it releases it.
    pub(crate) fn claim(&mut self, object: ObjectNo, what: &str) -> Result<Entry, Stop> {
        let entry = self.entries.get_mut(&object).filter(|entry| entry.at.is_some());
        let Some(entry) = entry else {
            let message = format!("cannot {what} segment {object}: there is none");
            return Err(Stop::refuse(RefusalKind::NotFound, message));
        };
        if entry.busy || entry.holds == Holds::Directory {
            let message = format!(
                "cannot {what} segment {object}, {}: it is being kept or dropped already, or is \
                 the directory's own",
                entry.name
            );
            return Err(Stop::refuse(RefusalKind::WrongState, message));
        }
        entry.busy = true;
        Ok(entry.clone())
    }

    /// Sets the state of a claimed entry and ends the claim.
    pub(crate) fn release(&mut self, object: ObjectNo, state: SegmentState) {
        let entry = self.entries.get_mut(&object).expect("it was claimed");
        entry.busy = false;
        entry.at = entry.at.map(|(header, _)| (header, state));
    }

    /// Notes that a claimed segment is being dropped: its name is free.
    pub(crate) fn begin_drop(&mut self, object: ObjectNo) {
        let entry = self.entries.get_mut(&object).expect("it was claimed");
        if entry.state() != Some(SegmentState::Dropping) {
            self.names.remove(&entry.name);
        }
        entry.at = entry.at.map(|(header, _)| (header, SegmentState::Dropping));
    }

    /// Removes an entry that has gone from its block: its slot is free.
    pub(crate) fn remove(&mut self, object: ObjectNo) {
        let entry = self.entries.remove(&object).expect("it was claimed");
        self.free.insert(entry.slot);
    }
}

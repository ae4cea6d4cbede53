//! The segment directory in memory: who is there by number and by name, and which places are free.
//!
//! ```text
//!   reserve ──▶ being made ── settle ──▶ there ── claim ──▶ busy ──▶ release: there
//!      └── forget ◀──┘                                        └────▶ remove: its place is free
//! ```
//!
//! What is said here was read from the directory's blocks when the database was opened, and is
//! changed beside them: a name, number and place are reserved before they are entered there, a
//! state is changed after it was changed there, a place is free after its entry has gone (SP13).
//!
//! Invariants
//!   * a number is given once
//!   * a name is of one segment that isn't being dropped
//!   * a place is free, or of one entry
//!   * who claims an entry is alone in changing its state
//!
//! Callers: `directory`, `create`, `drop`.

use std::collections::{BTreeMap, BTreeSet};

use ids::{Dba, ObjectNo};
use stop::{RefusalKind, Stop};

use crate::look::EntrySeen;
use crate::segment::{Holds, SegmentState};

/// The name of the directory's own segment.
const OWN_NAME: &str = "_directory";

/// A segment of this name is called by its number instead: number 57 is `#57`.
pub const NAMED_BY_NUMBER: &str = "#";

/// A place for an entry: the directory's block, and the number there.
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
    /// None while it is being made.
    pub(crate) at: Option<(Dba, SegmentState)>,
    /// A session changes its state.
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

    /// Of an entry that was claimed or read.
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

    /// Takes in what a block of the directory says: one more than the highest number that it had.
    pub(crate) fn note_next(&mut self, next_object: u32) {
        if next_object > self.next.get() {
            self.next = ObjectNo::new(next_object);
        }
    }

    /// Takes in an entry that was read.
    pub(crate) fn add(&mut self, entry: Entry) {
        if entry.state() != Some(SegmentState::Dropping) {
            self.names.insert(entry.name.clone(), entry.object);
        }
        let before = self.entries.insert(entry.object, entry);
        assert!(before.is_none(), "two segments have one number (SP13)");
    }

    /// A place has no entry.
    pub(crate) fn add_free(&mut self, slot: DirectorySlot) {
        self.free.insert(slot);
    }

    pub(crate) fn has_free(&self) -> bool {
        !self.free.is_empty()
    }

    /// Number and place for a segment of this name; none if there is no place.
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

    /// The same for the directory's own segment.
    pub(crate) fn reserve_own(&mut self, slot: DirectorySlot) -> Entry {
        self.begin(OWN_NAME, Holds::Directory, ObjectNo::DIRECTORY, slot)
    }

    fn begin(&mut self, name: &str, holds: Holds, object: ObjectNo, slot: DirectorySlot) -> Entry {
        let entry = Entry { name: name.to_string(), object, holds, slot, at: None, busy: false };
        self.names.insert(entry.name.clone(), object);
        self.entries.insert(object, entry.clone());
        entry
    }

    /// It couldn't be made. Its number is not given again.
    pub(crate) fn forget(&mut self, entry: &Entry) {
        self.names.remove(&entry.name);
        self.entries.remove(&entry.object);
        if entry.holds != Holds::Directory {
            self.free.insert(entry.slot);
        }
    }

    /// It was made.
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

    /// All, in the order of their numbers, also those that are being made.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }

    /// Whether it says what was read. A number may have been given for nothing since.
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

    /// Who gets it changes the segment's state, alone.
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

    /// It has this state now, and others may change it.
    pub(crate) fn release(&mut self, object: ObjectNo, state: SegmentState) {
        let entry = self.entries.get_mut(&object).expect("it was claimed");
        entry.busy = false;
        entry.at = entry.at.map(|(header, _)| (header, state));
    }

    /// It is being dropped for good; its name is free.
    pub(crate) fn begin_drop(&mut self, object: ObjectNo) {
        let entry = self.entries.get_mut(&object).expect("it was claimed");
        if entry.state() != Some(SegmentState::Dropping) {
            self.names.remove(&entry.name);
        }
        entry.at = entry.at.map(|(header, _)| (header, SegmentState::Dropping));
    }

    /// Its entry has gone, and so its place is free.
    pub(crate) fn remove(&mut self, object: ObjectNo) {
        let entry = self.entries.remove(&object).expect("it was claimed");
        self.free.insert(entry.slot);
    }
}

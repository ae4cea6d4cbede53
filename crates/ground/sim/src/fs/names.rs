//! The name space: which directory holds which name, now and durably.
//!
//! A `Tree` maps (directory, name) to a file or a directory. It is copy-on-write by directory, so
//! the volatile view, the durable view and each crash state share what they have in common. A
//! directory that a tree has no entries for is empty.
//!
//! Invariants
//!   * a file or directory has at most one name in a tree: a rename takes it from where it is,
//!     even where an earlier rename of it was dropped
//!   * of two changes to one name the later is durable only if the earlier is
//!
//! Callers: `system` (running), `crash` (applies subsets of the pending changes).

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::path::{Component, Path};
use std::sync::Arc;

use super::errno::{EEXIST, EINVAL, ENOENT, ENOTDIR, error};
use super::system::FileId;

/// A directory; the root is number 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DirId(pub(crate) u64);

pub(crate) const ROOT: DirId = DirId(0);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Entry {
    File(FileId),
    Dir(DirId),
}

/// The position of a name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) dir: DirId,
    pub(crate) name: Arc<str>,
}

#[derive(Clone)]
pub(crate) enum NameChange {
    Link { at: Key, entry: Entry },
    Unlink { at: Key },
    Rename { from: Key, to: Key, entry: Entry },
}

impl NameChange {
    /// The directory whose sync makes the change durable.
    fn home(&self) -> DirId {
        match self {
            NameChange::Link { at, .. } | NameChange::Unlink { at } => at.dir,
            NameChange::Rename { to, .. } => to.dir,
        }
    }

    fn keys(&self) -> (&Key, Option<&Key>) {
        match self {
            NameChange::Link { at, .. } | NameChange::Unlink { at } => (at, None),
            NameChange::Rename { from, to, .. } => (from, Some(to)),
        }
    }

    pub(crate) fn mentions(&self, file: FileId) -> bool {
        match self {
            NameChange::Link { entry, .. } | NameChange::Rename { entry, .. } => {
                *entry == Entry::File(file)
            }
            NameChange::Unlink { .. } => false,
        }
    }
}

#[derive(Clone)]
pub(crate) struct PendingName {
    pub(crate) sequence: u64,
    /// A sync of the directory failed over it: no later sync writes it by itself.
    pub(crate) unknown: bool,
    pub(crate) change: NameChange,
}

type Dir = BTreeMap<Arc<str>, Entry>;

/// See the file's essay.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tree {
    dirs: BTreeMap<DirId, Arc<Dir>>,
}

impl Tree {
    pub(crate) fn get(&self, dir: DirId, name: &str) -> Option<Entry> {
        self.dirs.get(&dir)?.get(name).copied()
    }

    pub(crate) fn entries(&self, dir: DirId) -> impl Iterator<Item = (&Arc<str>, Entry)> {
        let entries = self.dirs.get(&dir).into_iter().flat_map(|dir| dir.iter());
        entries.map(|(name, entry)| (name, *entry))
    }

    pub(crate) fn apply(&mut self, change: &NameChange) {
        match change {
            NameChange::Link { at, entry } => self.insert(at, *entry),
            NameChange::Unlink { at } => self.remove(at),
            NameChange::Rename { from, to, entry } => {
                if self.get(from.dir, &from.name) == Some(*entry) {
                    self.remove(from);
                } else if let Some(elsewhere) = self.find(*entry) {
                    self.remove(&elsewhere);
                }
                self.insert(to, *entry);
            }
        }
    }

    fn insert(&mut self, at: &Key, entry: Entry) {
        let dir = self.dirs.entry(at.dir).or_default();
        Arc::make_mut(dir).insert(Arc::clone(&at.name), entry);
    }

    fn remove(&mut self, at: &Key) {
        if let Some(dir) = self.dirs.get_mut(&at.dir) {
            Arc::make_mut(dir).remove(&at.name);
        }
    }

    /// The key of `entry`, if it has a name, whether or not its directory can be reached.
    pub(crate) fn find(&self, entry: Entry) -> Option<Key> {
        self.dirs.iter().find_map(|(dir, entries)| {
            let name = entries.iter().find(|(_, other)| **other == entry)?.0;
            Some(Key { dir: *dir, name: Arc::clone(name) })
        })
    }

    /// The tree without what cannot be reached from the root.
    pub(crate) fn reachable(&self) -> Tree {
        let mut pruned = Tree::default();
        let mut waiting = vec![ROOT];
        while let Some(dir) = waiting.pop() {
            let Some(entries) = self.dirs.get(&dir).filter(|entries| !entries.is_empty()) else {
                continue;
            };
            assert!(pruned.dirs.insert(dir, Arc::clone(entries)).is_none(), "one name each");
            waiting.extend(entries.values().filter_map(|entry| match entry {
                Entry::Dir(dir) => Some(*dir),
                Entry::File(_) => None,
            }));
        }
        pruned
    }

    /// All files that have a name, in any directory.
    pub(crate) fn files(&self) -> impl Iterator<Item = FileId> {
        self.dirs.values().flat_map(|dir| dir.values()).filter_map(|entry| match entry {
            Entry::File(file) => Some(*file),
            Entry::Dir(_) => None,
        })
    }

    /// Visits everything that can be reached, with its path; parents come before children.
    pub(crate) fn walk(&self, visit: &mut dyn FnMut(&str, Entry)) {
        let mut waiting = vec![(String::new(), ROOT)];
        while let Some((prefix, dir)) = waiting.pop() {
            for (name, entry) in self.entries(dir) {
                let path = format!("{prefix}/{name}");
                visit(&path, entry);
                if let Entry::Dir(dir) = entry {
                    waiting.push((path, dir));
                }
            }
        }
    }

    /// The path of a directory; for a file add its name.
    pub(crate) fn path_of(&self, entry: Entry) -> Option<String> {
        let mut names = Vec::new();
        let mut entry = entry;
        while entry != Entry::Dir(ROOT) {
            let key = self.find(entry)?;
            names.push(key.name);
            entry = Entry::Dir(key.dir);
        }
        names.reverse();
        Some(format!("/{}", names.join("/")))
    }

    pub(crate) fn resolve(&self, parts: &[&str]) -> io::Result<Entry> {
        let mut entry = Entry::Dir(ROOT);
        for part in parts {
            let Entry::Dir(dir) = entry else { return Err(error(ENOTDIR)) };
            entry = self.get(dir, part).ok_or_else(|| error(ENOENT))?;
        }
        Ok(entry)
    }

    pub(crate) fn resolve_dir(&self, parts: &[&str]) -> io::Result<DirId> {
        match self.resolve(parts)? {
            Entry::Dir(dir) => Ok(dir),
            Entry::File(_) => Err(error(ENOTDIR)),
        }
    }

    /// The key of the last of `parts`, existing or not. The root has none.
    pub(crate) fn resolve_key(&self, parts: &[&str]) -> io::Result<Key> {
        let (name, parents) = parts.split_last().ok_or_else(|| error(EEXIST))?;
        Ok(Key { dir: self.resolve_dir(parents)?, name: Arc::from(*name) })
    }
}

/// Both views of the names, and the changes between them.
#[derive(Clone, Default)]
pub(crate) struct Names {
    pub(crate) view: Tree,
    pub(crate) durable: Tree,
    pub(crate) pending: Vec<PendingName>,
}

impl Names {
    pub(crate) fn survivor(tree: Tree) -> Names {
        Names { view: tree.clone(), durable: tree, pending: Vec::new() }
    }

    pub(crate) fn change(&mut self, sequence: u64, change: NameChange) {
        self.view.apply(&change);
        self.pending.push(PendingName { sequence, unknown: false, change });
    }

    /// Makes the changes at home in `dir` durable, and with them every earlier change of the same
    /// names, known or unknown: the later change supersedes the earlier.
    pub(crate) fn sync_dir(&mut self, dir: DirId) {
        let mut flushed = vec![false; self.pending.len()];
        let mut names = BTreeSet::new();
        for (index, pending) in self.pending.iter().enumerate().rev() {
            let (first, second) = pending.change.keys();
            flushed[index] = (pending.change.home() == dir && !pending.unknown)
                || names.contains(first)
                || second.is_some_and(|second| names.contains(second));
            if flushed[index] {
                names.insert(first);
                names.extend(second);
            }
        }
        let mut flushed = flushed.into_iter();
        self.pending.retain(|pending| {
            let now = flushed.next().expect("one flag for each change");
            if now {
                self.durable.apply(&pending.change);
            }
            !now
        });
    }

    pub(crate) fn sync_dir_failed(&mut self, dir: DirId) {
        for pending in &mut self.pending {
            pending.unknown |= pending.change.home() == dir;
        }
    }

    /// Whether any crash from now on can leave `file` with a name.
    pub(crate) fn can_survive(&self, file: FileId) -> bool {
        self.pending.iter().any(|pending| pending.change.mentions(file))
            || self.durable.find(Entry::File(file)).is_some()
    }
}

/// The names of a path from the root; `.` and empty names vanish, `..` goes up, also at the root.
pub(crate) fn split(path: &Path) -> io::Result<Vec<&str>> {
    let mut parts = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => parts.push(utf8(name)?),
            Component::ParentDir => _ = parts.pop(),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    Ok(parts)
}

fn utf8(name: &OsStr) -> io::Result<&str> {
    name.to_str().ok_or_else(|| error(EINVAL))
}

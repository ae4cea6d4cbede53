//! The file system itself: names, open files, power, counters. Content is in `data`.
//!
//! ```text
//!   operation ──▶ begin ──┬─ power lost before        ──▶ PowerLost, nothing happens
//!                         ├─ this is the n-th point   ──▶ change made but pending; PowerLost
//!                         ├─ a fault hits             ──▶ as `faults` says
//!                         └─                          ──▶ change made
//! ```
//!
//! Invariants
//!   * after the power is lost no operation changes anything
//!   * a node stays as long as it has a name now, is open, or a crash could give it a name
//!   * `used` is the sum of the lengths of the files that have a name now or are open
//!
//! Callers: the simulated disks' port, crash tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use os::NameKind;

use super::errno::{
    EBADF, EEXIST, EINVAL, EIO, EISDIR, ENOSPC, ENOTDIR, ENOTEMPTY, error, power_lost,
};
use super::faults::{Fault, FaultPlan, Injection, Request};
use super::file::FileNode;
use super::image::ImageHash;
use super::mix;
use super::names::{DirId, Entry, NameChange, Names, ROOT, Tree, split};

/// A file, for as long as it exists: renames keep it, a crash closes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub(crate) u64);

impl FileId {
    /// The number of the file, never given to another file.
    #[must_use]
    pub fn number(self) -> u64 {
        self.0
    }
}

impl fmt::Display for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "file {}", self.0)
    }
}

/// The kinds of operation, by which faults are scoped and counters kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each is the method of the same name")]
pub enum Operation {
    Create,
    CreateDir,
    Open,
    Read,
    Write,
    SetLen,
    Sync,
    SyncDir,
    Rename,
    Remove,
    List,
}

impl Operation {
    /// All kinds.
    pub const ALL: [Operation; 11] = [
        Operation::Create,
        Operation::CreateDir,
        Operation::Open,
        Operation::Read,
        Operation::Write,
        Operation::SetLen,
        Operation::Sync,
        Operation::SyncDir,
        Operation::Rename,
        Operation::Remove,
        Operation::List,
    ];

    /// Whether a power cut during the operation can leave a new state: true for all but looking.
    #[must_use]
    pub fn is_crash_point(self) -> bool {
        !matches!(self, Operation::Open | Operation::Read | Operation::List)
    }
}

/// The way in which an operation is to run.
pub(super) struct Step {
    /// Whether the power fails during this operation: its changes are pending.
    pub(super) dying: bool,
    pub(super) fault: Option<Fault>,
}

impl Step {
    pub(super) fn end<T>(&self, result: io::Result<T>) -> io::Result<T> {
        if self.dying { Err(power_lost()) } else { result }
    }
}

/// A whole simulated file system. Cloning it takes a snapshot and is cheap.
#[derive(Clone)]
pub struct FileSystem {
    pub(super) names: Names,
    pub(super) files: BTreeMap<FileId, Arc<FileNode>>,
    /// The number of openings of each file.
    opens: BTreeMap<FileId, u32>,
    /// The locked files, with the opening that holds the lock.
    locks: BTreeMap<FileId, u64>,
    /// The number of the next opening that can hold a lock.
    next_holder: u64,
    /// Files without a name, kept because they are open or may come back.
    unlinked: BTreeSet<FileId>,
    pub(super) capacity: u64,
    pub(super) used: u64,
    /// The next number of a file or directory.
    next_id: u64,
    sequence: u64,
    operations: u64,
    crash_points: u64,
    lose_power_at: Option<u64>,
    power_lost: bool,
    pub(super) faults: Option<Box<FaultPlan>>,
}

impl FileSystem {
    /// An empty file system that holds `capacity` bytes of files.
    #[must_use]
    pub fn new(capacity: u64) -> FileSystem {
        FileSystem::survivor(Tree::default(), BTreeMap::new(), capacity, ROOT.0 + 1)
    }

    /// The file system after a crash: nothing pending, nothing open, counters at zero, no faults
    /// planned.
    pub(super) fn survivor(
        tree: Tree,
        files: BTreeMap<FileId, Arc<FileNode>>,
        capacity: u64,
        next_id: u64,
    ) -> FileSystem {
        FileSystem {
            used: files.values().map(|file| file.view.len()).sum(),
            names: Names::survivor(tree),
            files,
            opens: BTreeMap::new(),
            locks: BTreeMap::new(),
            next_holder: 0,
            unlinked: BTreeSet::new(),
            capacity,
            next_id,
            sequence: 0,
            operations: 0,
            crash_points: 0,
            lose_power_at: None,
            power_lost: false,
            faults: None,
        }
    }

    pub(super) fn next_id(&self) -> u64 {
        self.next_id
    }

    /// Creates a file that is empty and open. Its parent must exist and the name be free.
    pub fn create(&mut self, path: impl AsRef<Path>) -> io::Result<FileId> {
        let path = split(path.as_ref())?;
        let step = self.begin_path(Operation::Create, &path)?;
        let result = self.link(&path, |id| Entry::File(FileId(id))).map(FileId);
        if let Ok(file) = result {
            self.files.insert(file, Arc::new(FileNode::default()));
            self.opens.insert(file, 1);
        }
        step.end(result)
    }

    /// Creates an empty directory. Its parent must exist and the name be free.
    pub fn create_dir(&mut self, path: impl AsRef<Path>) -> io::Result<()> {
        let path = split(path.as_ref())?;
        let step = self.begin_path(Operation::CreateDir, &path)?;
        let result = self.link(&path, |id| Entry::Dir(DirId(id))).map(drop);
        step.end(result)
    }

    /// Opens an existing file. Each `open` and `create` needs one `close`.
    pub fn open(&mut self, path: impl AsRef<Path>) -> io::Result<FileId> {
        let path = split(path.as_ref())?;
        let step = self.begin_path(Operation::Open, &path)?;
        let result = match self.names.view.resolve(&path) {
            Ok(Entry::File(file)) => Ok(file),
            Ok(Entry::Dir(_)) => Err(error(EISDIR)),
            Err(missing) => Err(missing),
        };
        if let Ok(file) = result {
            *self.opens.entry(file).or_insert(0) += 1;
        }
        step.end(result)
    }

    /// Closes a file once. Closing makes nothing durable. Closing a file that isn't open is
    /// refused.
    pub fn close(&mut self, file: FileId) -> io::Result<()> {
        let count = self.opens.get_mut(&file).ok_or_else(|| error(EBADF))?;
        *count -= 1;
        if *count == 0 {
            self.opens.remove(&file);
            if self.unlinked.contains(&file) {
                self.used -= self.node(file).view.len();
                self.forget_the_dead();
            }
        }
        Ok(())
    }

    /// Closes everything, as when the program is killed and the machine lives: the views stay.
    pub fn close_all(&mut self) {
        self.unlock_all();
        let opens = std::mem::take(&mut self.opens);
        for file in opens.keys().filter(|file| self.unlinked.contains(file)) {
            self.used -= self.files[file].view.len();
        }
        self.forget_the_dead();
    }

    /// A number for an opening of a file, with which it can hold a lock.
    pub(crate) fn new_holder(&mut self) -> u64 {
        self.next_holder += 1;
        self.next_holder
    }

    /// Locks a file for this opening of it; false if another has the lock.
    pub(crate) fn lock(&mut self, file: FileId, holder: u64) -> bool {
        *self.locks.entry(file).or_insert(holder) == holder
    }

    /// Releases the lock of this opening, if it has it.
    pub(crate) fn unlock(&mut self, file: FileId, holder: u64) {
        if self.locks.get(&file) == Some(&holder) {
            self.locks.remove(&file);
        }
    }

    /// Releases all locks: those of one run don't hold in the next.
    pub(crate) fn unlock_all(&mut self) {
        self.locks.clear();
    }

    /// The path of a directory. This isn't an operation: it fails only if the directory doesn't
    /// exist.
    pub(crate) fn canonical(&self, directory: &Path) -> io::Result<PathBuf> {
        let parts = split(directory)?;
        self.names.view.resolve_dir(&parts).map(|_| PathBuf::from(joined(&parts)))
    }

    /// Renames a file or directory in one step, replacing a file of the new name. A fault's scope
    /// sees the old path.
    pub fn rename(&mut self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
        let (from, to) = (split(from.as_ref())?, split(to.as_ref())?);
        let step = self.begin_path(Operation::Rename, &from)?;
        let result = self.rename_entry(&from, &to);
        step.end(result)
    }

    /// Renames a file or directory, but is refused if there is a file of the new name.
    pub fn rename_new(&mut self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
        let (from, to) = (split(from.as_ref())?, split(to.as_ref())?);
        let step = self.begin_path(Operation::Rename, &from)?;
        let is_free = self.names.view.resolve(&to).is_err();
        let result = if is_free { self.rename_entry(&from, &to) } else { Err(error(EEXIST)) };
        step.end(result)
    }

    /// Removes a file or an empty directory. An open file stays usable until it is closed.
    pub fn remove(&mut self, path: impl AsRef<Path>) -> io::Result<()> {
        let path = split(path.as_ref())?;
        let step = self.begin_path(Operation::Remove, &path)?;
        let result = self.remove_entry(&path);
        step.end(result)
    }

    /// Makes creations, renames and removals in a directory durable.
    pub fn sync_dir(&mut self, path: impl AsRef<Path>) -> io::Result<()> {
        let path = split(path.as_ref())?;
        let step = self.begin(Operation::SyncDir, |_| Request {
            operation: Operation::SyncDir,
            path: joined(&path),
            offset: 0,
            bytes: 0,
            places: 0,
        })?;
        let result = self.names.view.resolve_dir(&path).and_then(|dir| {
            if let Some(fault) = step.fault {
                self.names.sync_dir_failed(dir);
                return Err(as_error(fault));
            }
            if !step.dying {
                self.names.sync_dir(dir);
                self.forget_the_dead();
            }
            Ok(())
        });
        step.end(result)
    }

    /// The names in a directory, sorted.
    pub fn list(&mut self, path: impl AsRef<Path>) -> io::Result<Vec<String>> {
        let path = split(path.as_ref())?;
        let step = self.begin_path(Operation::List, &path)?;
        let dir = self.names.view.resolve_dir(&path);
        let names = dir.map(|dir| self.names.view.entries(dir).map(|(name, _)| name.to_string()));
        step.end(names.map(Iterator::collect))
    }

    /// The kind of object with this name; none if the name doesn't exist. There are no links.
    pub(crate) fn look_up(&mut self, path: &Path) -> io::Result<Option<NameKind>> {
        let path = split(path)?;
        let step = self.begin_path(Operation::List, &path)?;
        step.end(Ok(match self.names.view.resolve(&path) {
            Ok(Entry::File(_)) => Some(NameKind::File),
            Ok(Entry::Dir(_)) => Some(NameKind::Other),
            Err(_) => None,
        }))
    }

    /// Whether a file or directory of this name exists. This isn't an operation: it never fails.
    #[must_use]
    pub fn exists(&self, path: impl AsRef<Path>) -> bool {
        split(path.as_ref()).is_ok_and(|path| self.names.view.resolve(&path).is_ok())
    }

    /// The number of bytes in use, and the capacity.
    #[must_use]
    pub fn space(&self) -> (u64, u64) {
        (self.used, self.capacity)
    }

    /// Changes the capacity. Stored data stays, even where it is more.
    pub fn set_capacity(&mut self, capacity: u64) {
        self.capacity = capacity;
    }

    /// The number of operations so far that a power cut could hit. See
    /// [`Operation::is_crash_point`].
    #[must_use]
    pub fn crash_points(&self) -> u64 {
        self.crash_points
    }

    /// The number of operations so far.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.operations
    }

    /// Plans a power cut during the n-th crash point, counted from the beginning. The change of
    /// that operation is made, is pending, and is not acknowledged.
    pub fn lose_power_at(&mut self, n: u64) {
        self.lose_power_at = Some(n);
    }

    /// Cuts the power now, between two operations.
    pub fn cut_power(&mut self) {
        self.power_lost = true;
    }

    /// Whether the power has failed.
    #[must_use]
    pub fn power_lost(&self) -> bool {
        self.power_lost
    }

    /// Lets `plan` decide over every operation from now on.
    pub fn plan_faults(&mut self, plan: FaultPlan) {
        self.faults = Some(Box::new(plan));
    }

    /// The faults that the plan has injected so far.
    #[must_use]
    pub fn injected(&self) -> &[Injection] {
        self.faults.as_ref().map_or(&[], |plan| plan.injected())
    }

    /// A hash over all names, sizes and contents as reads see them.
    #[must_use]
    pub fn image_hash(&self) -> ImageHash {
        let mut sum = 0_u64;
        self.names.view.walk(&mut |path, entry| {
            let content = match entry {
                Entry::File(file) => self.files[&file].view.digest(),
                Entry::Dir(_) => 0,
            };
            sum = sum.wrapping_add(mix::pair(mix::bytes(path.as_bytes()), content));
        });
        ImageHash(mix::finish(sum))
    }

    pub(super) fn node(&self, file: FileId) -> &FileNode {
        self.files.get(&file).expect("an open or named file has a node")
    }

    pub(super) fn node_mut(&mut self, file: FileId) -> &mut FileNode {
        Arc::make_mut(self.files.get_mut(&file).expect("an open or named file has a node"))
    }

    pub(super) fn require_open(&self, file: FileId) -> io::Result<()> {
        if self.opens.contains_key(&file) { Ok(()) } else { Err(error(EBADF)) }
    }

    /// The present moment, for [`sync_up_to`](FileSystem::sync_up_to).
    #[must_use]
    pub fn mark(&self) -> u64 {
        self.sequence
    }

    pub(super) fn next_sequence(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    /// Counts the operation and decides how it runs. The request is only made for a fault plan.
    pub(super) fn begin(
        &mut self,
        operation: Operation,
        request: impl FnOnce(&FileSystem) -> Request,
    ) -> io::Result<Step> {
        if self.power_lost {
            return Err(power_lost());
        }
        self.operations += 1;
        if operation.is_crash_point() {
            self.crash_points += 1;
            if self.lose_power_at == Some(self.crash_points) {
                self.power_lost = true;
                return Ok(Step { dying: true, fault: None });
            }
        }
        let mut fault = None;
        if let Some(mut plan) = self.faults.take() {
            fault = plan.decide(self.operations(), request(self));
            self.faults = Some(plan);
        }
        Ok(Step { dying: false, fault })
    }

    /// Begins an operation that a fault can only fail.
    fn begin_path(&mut self, operation: Operation, path: &[&str]) -> io::Result<Step> {
        let request = |_: &FileSystem| Request {
            operation,
            path: joined(path),
            offset: 0,
            bytes: 0,
            places: 0,
        };
        let step = self.begin(operation, request)?;
        match step.fault {
            Some(fault) => Err(as_error(fault)),
            None => Ok(step),
        }
    }

    fn link(&mut self, path: &[&str], entry: impl FnOnce(u64) -> Entry) -> io::Result<u64> {
        let at = self.names.view.resolve_key(path)?;
        if self.names.view.get(at.dir, &at.name).is_some() {
            return Err(error(EEXIST));
        }
        let id = self.next_id;
        self.next_id += 1;
        let sequence = self.next_sequence();
        self.names.change(sequence, NameChange::Link { at, entry: entry(id) });
        Ok(id)
    }

    fn rename_entry(&mut self, from: &[&str], to: &[&str]) -> io::Result<()> {
        let entry = self.names.view.resolve(from)?;
        if to.len() > from.len() && to.starts_with(from) {
            return Err(error(EINVAL));
        }
        let (from, to) = (self.names.view.resolve_key(from)?, self.names.view.resolve_key(to)?);
        if from == to {
            return Ok(());
        }
        let replaced = self.names.view.get(to.dir, &to.name);
        match (entry, replaced) {
            (_, None) | (Entry::File(_), Some(Entry::File(_))) => {}
            (Entry::File(_), Some(Entry::Dir(_))) => return Err(error(EISDIR)),
            (Entry::Dir(_), Some(Entry::File(_))) => return Err(error(ENOTDIR)),
            (Entry::Dir(_), Some(Entry::Dir(_))) => return Err(error(EEXIST)),
        }
        let sequence = self.next_sequence();
        self.names.change(sequence, NameChange::Rename { from, to, entry });
        if let Some(Entry::File(file)) = replaced {
            self.unlink(file);
        }
        Ok(())
    }

    fn remove_entry(&mut self, path: &[&str]) -> io::Result<()> {
        let entry = self.names.view.resolve(path)?;
        let at = self.names.view.resolve_key(path)?;
        if let Entry::Dir(dir) = entry
            && self.names.view.entries(dir).next().is_some()
        {
            return Err(error(ENOTEMPTY));
        }
        let sequence = self.next_sequence();
        self.names.change(sequence, NameChange::Unlink { at });
        if let Entry::File(file) = entry {
            self.unlink(file);
        }
        Ok(())
    }

    /// Removes the name of `file`; its space is free when its last opening is closed.
    fn unlink(&mut self, file: FileId) {
        self.unlinked.insert(file);
        if !self.opens.contains_key(&file) {
            self.used -= self.node(file).view.len();
        }
    }

    fn forget_the_dead(&mut self) {
        let FileSystem { names, files, opens, unlinked, .. } = self;
        unlinked.retain(|file| {
            let lives = opens.contains_key(file) || names.can_survive(*file);
            if !lives {
                files.remove(file);
            }
            lives
        });
    }
}

pub(super) fn joined(path: &[&str]) -> String {
    format!("/{}", path.join("/"))
}

/// The error of an operation that fails by a fault.
pub(super) fn as_error(fault: Fault) -> io::Error {
    error(if fault == Fault::Enospc { ENOSPC } else { EIO })
}

const _: fn() = || {
    fn send<T: Send>() {}
    send::<FileSystem>();
};

//! The content of the control file as values, and its layout in the block.
//!
//! ```text
//!   head │ tablespaces … │ data files, each with its path … │ log groups, each with its members …
//! ```
//!
//! Invariants (of a content that was checked)
//!   * numbers and names are unique; every data file belongs to a listed tablespace
//!   * every log group has a good member
//!   * file 1 is the first of the system tablespace
//!   * everything fits into the one block
//!
//! Callers: `control`; `instance`, which makes the first content.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use format::{
    Control, DataFileEntry, LogGroupEntry, LogMemberEntry, ScnLe, TablespaceEntry, U16Le, U32Le,
    U64Le,
};
use ids::{BlockSize, FileNo, Rba, Scn};
use os::Disk;
use stop::{RefusalKind, Stop};

use crate::Probed;
use crate::new_file::leftovers_end;
use crate::segment::stored_name;

/// The state in which a database was left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ControlState {
    /// Its creation hasn't ended (SP3).
    Creating,
    /// It is open, or wasn't shut cleanly.
    Open,
    /// It was shut cleanly.
    Shut,
}

impl ControlState {
    const ALL: [(ControlState, u8); 3] =
        [(ControlState::Creating, 1), (ControlState::Open, 2), (ControlState::Shut, 3)];

    fn number(self) -> u8 {
        let found = Self::ALL.iter().find(|(state, _)| *state == self);
        found.expect("every state is in the table").1
    }
}

/// The number of a tablespace.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TablespaceNo(pub u16);

impl TablespaceNo {
    /// The system tablespace, which every database has.
    pub const SYSTEM: TablespaceNo = TablespaceNo(1);
}

/// The name of the tablespace for undo, with which every database is made.
pub const UNDO_TABLESPACE: &str = "undo";

/// A tablespace: data files from which segments get extents in turn.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TablespaceContent {
    /// Its number.
    pub number: TablespaceNo,
    /// Its name.
    pub name: String,
    /// The block size of its files.
    pub block_size: BlockSize,
    /// The number of blocks of an extent.
    pub extent_blocks: u32,
}

/// A data file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DataFileContent {
    /// Its number.
    pub number: FileNo,
    /// The tablespace that it belongs to.
    pub tablespace: TablespaceNo,
    /// Its path, relative to the database's directory or absolute.
    pub path: String,
    /// The number of its blocks.
    pub blocks: u32,
    /// The most blocks that it may have.
    pub blocks_max: u32,
    /// The blocks by which it grows; 0 if it doesn't.
    pub growth_blocks: u32,
    /// The least checkpoint number that its header may have (SP19).
    pub checkpoint_number: u32,
}

/// A member of a group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogMemberContent {
    /// Its path, relative to the database's directory or absolute.
    pub path: String,
    /// Whether it has all the redo of its group.
    pub good: bool,
}

/// A group of online redo logs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogGroupContent {
    /// Its number, from 1.
    pub number: u16,
    /// The number of blocks of each member, with its header.
    pub blocks: u32,
    /// Its members, at least one of them good.
    pub members: Vec<LogMemberContent>,
}

impl LogGroupContent {
    /// Marks members of the group as good or not. `paths` are members of a database in this
    /// directory.
    pub fn set_members(&mut self, directory: &Path, paths: &[PathBuf], good: bool) {
        let members = self.members.iter_mut();
        for member in members.filter(|member| paths.contains(&directory.join(&member.path))) {
            member.good = good;
        }
    }
}

/// The content of the control file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ControlContent {
    /// Identity of the database.
    pub database: u64,
    /// Its incarnation, and the SCN at which that began.
    pub incarnation: (u32, Scn),
    /// When it was created: microseconds since 1970-01-01 00:00 UTC.
    pub created_us: u64,
    /// The hash of its place when it was written (SP22); 0 if unknown.
    pub place: u64,
    /// The highest checkpoint number that a data file's header may have (SP19).
    pub checkpoint_number: u32,
    /// The state of the database.
    pub state: ControlState,
    /// The checkpoint: every change below it is on disk (SP2), and recovery begins here.
    pub checkpoint: Rba,
    /// The last SCN below the checkpoint, or a later one given out by then.
    pub checkpoint_scn: Scn,
    /// The newest log that is known to have begun (rule redo/RD27); 0 if none.
    pub newest_log: u32,
    /// The number of slots of the doublewrite file.
    pub doublewrite_slots: u32,
    /// What the last probe of the disk has found, if that is known.
    pub probed: Option<Probed>,
    /// The tablespaces, the system tablespace first.
    pub tablespaces: Vec<TablespaceContent>,
    /// The data files, in the order of their numbers.
    pub data_files: Vec<DataFileContent>,
    /// The online redo log groups, in the order of their numbers.
    pub log_groups: Vec<LogGroupContent>,
}

impl ControlContent {
    /// The most tablespaces.
    pub const TABLESPACES_MAX: usize = 64;
    /// The most data files.
    pub const DATA_FILES_MAX: usize = 256;
    /// The longest path of a file, in bytes.
    pub const PATH_BYTES_MAX: usize = 255;

    /// The tablespace of that number.
    pub fn tablespace(&self, number: TablespaceNo) -> Option<&TablespaceContent> {
        self.tablespaces.iter().find(|tablespace| tablespace.number == number)
    }

    /// The system tablespace.
    pub fn system(&self) -> &TablespaceContent {
        self.tablespace(TablespaceNo::SYSTEM).expect("checked when it was read or made")
    }

    /// The block size of a file.
    pub fn block_size_of(&self, file: &DataFileContent) -> BlockSize {
        self.tablespace(file.tablespace).expect("checked when it was read or made").block_size
    }

    /// Marks members of log groups as good or not. `paths` are members of a database in this
    /// directory.
    pub fn set_log_members(&mut self, directory: &Path, paths: &[PathBuf], good: bool) {
        for group in &mut self.log_groups {
            group.set_members(directory, paths, good);
        }
    }

    /// Refuses a content that contradicts itself or doesn't fit, naming the limit.
    pub fn check(&self) -> Result<(), Stop> {
        let refuse = |kind, message: String| Err(Stop::refuse(kind, message));
        let counts = [
            (("tablespaces", "fewer"), self.tablespaces.len(), Self::TABLESPACES_MAX),
            // A database too large for one file's extent map is made of several.
            (("data files", "fewer, or less data"), self.data_files.len(), Self::DATA_FILES_MAX),
        ];
        for ((what, choose), count, most) in counts {
            if count > most {
                let message = format!(
                    "a database has at most {most} {what}, and this would have {count}; choose \
                     {choose}"
                );
                return refuse(RefusalKind::NoSpace, message);
            }
        }
        for tablespace in &self.tablespaces {
            stored_name("tablespace", &tablespace.name)?;
        }
        let members = self.log_groups.iter().flat_map(|group| &group.members);
        let members = members.map(|member| &member.path);
        for path in self.data_files.iter().map(|file| &file.path).chain(members) {
            let most = Self::PATH_BYTES_MAX;
            if path.is_empty() || path.len() > most || path.contains('\0') {
                let message = format!("the path of a file has 1 to {most} bytes, '{path}' has not");
                return refuse(RefusalKind::Invalid, message);
            }
        }
        if let Some(fault) = self.fault().or_else(|| self.log_fault()) {
            return refuse(RefusalKind::AlreadyExists, fault);
        }
        let (needs, most) = (self.entries().len(), Control::ENTRY_BYTES_MAX);
        if needs > most {
            let message = format!(
                "the control file has room for {most} bytes of tablespaces, files and their \
                 paths, and these would be {needs}; choose shorter \
                 paths, or fewer files (of redo logs: log_groups, log_members)"
            );
            return refuse(RefusalKind::NoSpace, message);
        }
        Ok(())
    }

    /// Refuses two paths of one place, in whatever spelling: `x.dbf`, `./x.dbf`, or by a link to a
    /// directory.
    pub fn check_places(&self, disk: &Disk, directory: &Path) -> Result<(), Stop> {
        let mut places: BTreeMap<PathBuf, &String> = BTreeMap::new();
        for path in self.paths() {
            let place = disk.place_of(&directory.join(path));
            if let Some(other) = places.insert(place, path) {
                let message = format!(
                    "{path} is a file of the database already, or given twice, under the name \
                     {other}; choose another name"
                );
                return Err(Stop::refuse(RefusalKind::AlreadyExists, message));
            }
        }
        Ok(())
    }

    /// Refuses names that the next opening would take for leftovers' (SP24). Called for a database
    /// that is to be made: a file that is listed already is no leftover, whatever its name.
    pub fn check_names(&self) -> Result<(), Stop> {
        let taken = |path: &String| leftovers_end(Path::new(path)).map(|why| (path.clone(), why));
        match self.paths().find_map(taken) {
            None => Ok(()),
            Some((path, why)) => {
                let message = format!("cannot make {path}: {why}; choose another name");
                Err(Stop::refuse(RefusalKind::Invalid, message))
            }
        }
    }

    /// The paths of all listed files: data files and members of log groups.
    pub fn paths(&self) -> impl Iterator<Item = &String> + Clone {
        let members = self.log_groups.iter().flat_map(|group| &group.members);
        let members = members.map(|member| &member.path);
        self.data_files.iter().map(|file| &file.path).chain(members)
    }

    /// A contradiction among tablespaces and data files, if there is one.
    fn fault(&self) -> Option<String> {
        let spaces = &self.tablespaces;
        for (place, one) in spaces.iter().enumerate() {
            let before = &spaces[..place];
            if before.iter().any(|other| other.number == one.number || other.name == one.name) {
                return Some(format!("there is a tablespace {} already", one.name));
            }
        }
        for (place, one) in self.data_files.iter().enumerate() {
            let before = &self.data_files[..place];
            if before.iter().any(|other| other.number == one.number || other.path == one.path) {
                return Some(format!("{} is a data file of the database already", one.path));
            }
            if self.tablespace(one.tablespace).is_none() || one.blocks > one.blocks_max {
                return Some(format!("the data file {} is described wrongly", one.path));
            }
        }
        let first = self.data_files.first().map(|file| (file.number, file.tablespace));
        (first != Some((FileNo::new(1), TablespaceNo::SYSTEM)))
            .then(|| "there is no file 1 of the system tablespace".to_string())
    }

    /// A contradiction among the log groups, if there is one.
    fn log_fault(&self) -> Option<String> {
        let mut paths: BTreeSet<_> = self.data_files.iter().map(|file| &file.path).collect();
        for (place, group) in self.log_groups.iter().enumerate() {
            let number = group.number;
            if self.log_groups[..place].iter().any(|other| other.number == number) {
                return Some(format!("there is a redo log group {number} already"));
            }
            if let Some(member) = group.members.iter().find(|member| !paths.insert(&member.path)) {
                let path = &member.path;
                return Some(format!("{path} is a file of the database already, or given twice"));
            }
            if !group.members.iter().any(|member| member.good) {
                return Some(format!("redo log group {number} would have no good member"));
            }
        }
        None
    }

    fn entries(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for tablespace in &self.tablespaces {
            let entry = TablespaceEntry {
                number: U16Le::new(tablespace.number.0),
                reserved: [0; 2],
                block_bytes: U32Le::new(tablespace.block_size.bytes() as u32),
                extent_blocks: U32Le::new(tablespace.extent_blocks),
                reserved2: [0; 4],
                name: stored_name("tablespace", &tablespace.name).expect("checked before"),
            };
            bytes.extend_from_slice(entry.bytes());
        }
        for file in &self.data_files {
            let entry = DataFileEntry {
                number: U16Le::new(file.number.get()),
                tablespace: U16Le::new(file.tablespace.0),
                blocks: U32Le::new(file.blocks),
                blocks_max: U32Le::new(file.blocks_max),
                growth_blocks: U32Le::new(file.growth_blocks),
                path_bytes: U16Le::new(file.path.len() as u16),
                reserved: [0; 2],
                checkpoint_number: U32Le::new(file.checkpoint_number),
            };
            bytes.extend_from_slice(entry.bytes());
            bytes.extend_from_slice(file.path.as_bytes());
        }
        for group in &self.log_groups {
            let entry = LogGroupEntry {
                number: U16Le::new(group.number),
                members: U16Le::new(group.members.len() as u16),
                blocks: U32Le::new(group.blocks),
            };
            bytes.extend_from_slice(entry.bytes());
            for LogMemberContent { path, good } in &group.members {
                let path_bytes = U16Le::new(path.len() as u16);
                let entry = LogMemberEntry { path_bytes, invalid: u8::from(!good), reserved: [0] };
                bytes.extend_from_slice(entry.bytes());
                bytes.extend_from_slice(path.as_bytes());
            }
        }
        bytes
    }

    /// Stores the content, which was checked, into a block whose bytes behind the header are zero.
    pub(crate) fn store(&self, version: u64, block: &mut [u8]) {
        let entries = self.entries();
        *Control::at_mut(block, Control::START) = Control {
            database: U64Le::new(self.database),
            version: U64Le::new(version),
            checkpoint_scn: ScnLe::new(self.checkpoint_scn),
            checkpoint_sequence: U32Le::new(self.checkpoint.sequence),
            checkpoint_block: U32Le::new(self.checkpoint.block),
            doublewrite_slots: U32Le::new(self.doublewrite_slots),
            entry_bytes: U32Le::new(entries.len() as u32),
            tablespaces: U16Le::new(self.tablespaces.len() as u16),
            data_files: U16Le::new(self.data_files.len() as u16),
            log_groups: U16Le::new(self.log_groups.len() as u16),
            state: self.state.number(),
            reserved: [0; 1],
            checkpoint_number: U32Le::new(self.checkpoint_number),
            incarnation: U32Le::new(self.incarnation.0),
            incarnation_scn: ScnLe::new(self.incarnation.1),
            created_us: U64Le::new(self.created_us),
            place: U64Le::new(self.place),
            newest_log: U32Le::new(self.newest_log),
            // What was probed is stored below, if it is known.
            probed_us: U64Le::new(0),
            probed_surroundings: U64Le::new(0),
            probed_write_ns: U32Le::new(0),
            probed_one_ns: U32Le::new(0),
            probed_all_ns: U32Le::new(0),
            probed_way: 0,
            reserved2: [0; 15],
        };
        if let Some(probed) = self.probed {
            probed.store(Control::at_mut(block, Control::START));
        }
        block[Control::ENTRIES..Control::ENTRIES + entries.len()].copy_from_slice(&entries);
    }

    /// The version and the content of a whole block; `None` if no program has written such a block.
    pub(crate) fn load(block: &[u8]) -> Option<(u64, ControlContent)> {
        let head = Control::at(block, Control::START);
        let state = ControlState::ALL.iter().find(|(_, number)| *number == head.state)?.0;
        let end = Control::ENTRIES.checked_add(head.entry_bytes.get() as usize)?;
        let mut entries = Entries { left: block.get(Control::ENTRIES..end)? };
        let count = |number: U16Le| 0..number.get();
        let tablespaces = count(head.tablespaces).map(|_| entries.tablespace()).collect();
        let tablespaces: Option<Vec<_>> = tablespaces;
        let data_files: Option<Vec<_>> =
            count(head.data_files).map(|_| entries.data_file()).collect();
        let log_groups: Option<Vec<_>> =
            count(head.log_groups).map(|_| entries.log_group()).collect();
        let (sequence, block) = (head.checkpoint_sequence.get(), head.checkpoint_block.get());
        let content = ControlContent {
            database: head.database.get(),
            incarnation: (head.incarnation.get(), head.incarnation_scn.get()),
            created_us: head.created_us.get(),
            place: head.place.get(),
            checkpoint_number: head.checkpoint_number.get(),
            state,
            checkpoint: Rba::block(sequence, block),
            checkpoint_scn: head.checkpoint_scn.get(),
            newest_log: head.newest_log.get(),
            doublewrite_slots: head.doublewrite_slots.get(),
            probed: Probed::load(head),
            tablespaces: tablespaces?,
            data_files: data_files?,
            log_groups: log_groups?,
        };
        let sound = entries.left.is_empty() && content.check().is_ok();
        sound.then_some((head.version.get(), content))
    }
}

/// The entries that are still to be read.
struct Entries<'a> {
    left: &'a [u8],
}

impl<'a> Entries<'a> {
    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, left) = self.left.split_at_checked(bytes)?;
        self.left = left;
        Some(taken)
    }

    fn text(&mut self, bytes: U16Le) -> Option<String> {
        String::from_utf8(self.take(bytes.get().into())?.to_vec()).ok()
    }

    fn tablespace(&mut self) -> Option<TablespaceContent> {
        let entry = TablespaceEntry::at(self.take(size_of::<TablespaceEntry>())?, 0);
        let name = entry.name.split(|byte| *byte == 0).next().unwrap_or_default();
        Some(TablespaceContent {
            number: TablespaceNo(entry.number.get()),
            name: String::from_utf8(name.to_vec()).ok()?,
            block_size: BlockSize::new(entry.block_bytes.get() as usize)?,
            extent_blocks: entry.extent_blocks.get(),
        })
    }

    fn data_file(&mut self) -> Option<DataFileContent> {
        let entry = DataFileEntry::at(self.take(size_of::<DataFileEntry>())?, 0);
        Some(DataFileContent {
            number: FileNo::new(entry.number.get()),
            tablespace: TablespaceNo(entry.tablespace.get()),
            path: self.text(entry.path_bytes)?,
            blocks: entry.blocks.get(),
            blocks_max: entry.blocks_max.get(),
            growth_blocks: entry.growth_blocks.get(),
            checkpoint_number: entry.checkpoint_number.get(),
        })
    }

    fn log_group(&mut self) -> Option<LogGroupContent> {
        let entry = LogGroupEntry::at(self.take(size_of::<LogGroupEntry>())?, 0);
        let members = (0..entry.members.get()).map(|_| {
            let member = LogMemberEntry::at(self.take(size_of::<LogMemberEntry>())?, 0);
            let good = match member.invalid {
                0 => true,
                1 => false,
                _ => return None,
            };
            Some(LogMemberContent { path: self.text(member.path_bytes)?, good })
        });
        Some(LogGroupContent {
            number: entry.number.get(),
            blocks: entry.blocks.get(),
            members: members.collect::<Option<_>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use format::CONTROL_BLOCK;
    use os::probe::DurableWrite;
    use waits::Nanos;

    use super::*;

    fn content(files: usize, path_bytes: usize) -> ControlContent {
        let file = |number: usize| DataFileContent {
            number: FileNo::new(number as u16),
            tablespace: TablespaceNo(1 + (number as u16 - 1) % 2),
            path: format!("{number:x<path_bytes$}"),
            blocks: 100,
            blocks_max: 200,
            growth_blocks: 10,
            checkpoint_number: 3 + number as u32,
        };
        let tablespace = |number: u16, name: &str| TablespaceContent {
            number: TablespaceNo(number),
            name: name.to_string(),
            block_size: BlockSize::ALL[usize::from(number)],
            extent_blocks: 8,
        };
        let member = |number, place| LogMemberContent {
            path: format!("redo{number}_{place}.log"),
            good: place == 0,
        };
        let group = |number: u16| LogGroupContent {
            number,
            blocks: 1_000,
            members: (0..number).map(|place| member(number, place)).collect(),
        };
        ControlContent {
            database: 77,
            incarnation: (1, Scn::new(1)),
            created_us: 1_767_225_600_000_000,
            place: 13,
            checkpoint_number: 900,
            state: ControlState::Shut,
            checkpoint: Rba::block(5, 6),
            checkpoint_scn: Scn::new(9),
            newest_log: 6,
            doublewrite_slots: 12,
            probed: Some(Probed {
                surroundings: 5,
                at_us: 4,
                way: DurableWrite::BufferedThenSync,
                takes: Nanos(3),
                at_once: None,
            }),
            tablespaces: vec![tablespace(1, "system"), tablespace(2, "ünder")],
            data_files: (1..=files).map(file).collect(),
            log_groups: (1..4).map(group).collect(),
        }
    }

    fn stored(content: &ControlContent) -> Vec<u8> {
        let mut block = vec![0; CONTROL_BLOCK.bytes()];
        content.store(3, &mut block);
        block
    }

    #[test]
    fn what_is_stored_comes_back() {
        for (files, path_bytes) in
            [(1, 3), (7, 30), (100, 255), (ControlContent::DATA_FILES_MAX, 90)]
        {
            let content = content(files, path_bytes);
            content.check().expect("it fits");
            assert_eq!(ControlContent::load(&stored(&content)), Some((3, content)));
        }
    }

    #[test]
    fn each_limit_is_refused_by_its_name() {
        let says = |content: ControlContent, says: &str| {
            let stop = content.check().expect_err(says).to_string();
            assert!(stop.contains(says), "'{stop}' doesn't say '{says}'");
        };
        says(content(ControlContent::DATA_FILES_MAX + 1, 3), "and this would have 257; choose");
        says(content(200, 255), "log_members");
        says(content(2, 256), "the path of a file has 1 to 255 bytes");
        let with = |change: fn(&mut ControlContent)| {
            let mut content = content(3, 9);
            change(&mut content);
            content
        };
        says(with(|c| c.tablespaces[1].name = "system".into()), "a tablespace system already");
        says(with(|c| c.tablespaces[1].name = String::new()), "name has 1 to 32 bytes");
        says(with(|c| c.data_files[1].path = c.data_files[0].path.clone()), "already");
        says(with(|c| c.data_files[1].tablespace = TablespaceNo(9)), "wrongly");
        says(with(|c| _ = c.data_files.remove(0)), "no file 1");
        says(with(|c| c.log_groups[1].number = 1), "a redo log group 1 already");
        says(with(|c| c.log_groups[2].members[0].good = false), "no good member");
        let path = |c: &mut ControlContent| {
            c.log_groups[2].members[1].path = c.data_files[0].path.clone();
        };
        says(with(path), "is a file of the database already");
    }

    /// Reading damaged bytes returns a sound content or none.
    #[test]
    fn damaged_entries_are_no_content() {
        let block = stored(&content(3, 9));
        let mut refused = 0;
        for at in Control::START..Control::ENTRIES + 400 {
            for value in [0, 1, 0xFF] {
                let mut damaged = block.clone();
                damaged[at] = value;
                match ControlContent::load(&damaged) {
                    Some((_, found)) => found.check().expect("sound"),
                    None => refused += 1,
                }
            }
        }
        assert!(refused > 100, "{refused}");
    }
}

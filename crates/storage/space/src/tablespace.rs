//! The tablespaces and data files of an open database, in memory.
//!
//! Invariants
//!   * what is here is in the control file, which was written first
//!   * files are in the order of their numbers, and none is removed
//!
//! Callers: `space`, `growth`, `room`, `create`, `ddl`, `seen`.

use ids::{BlockSize, FileNo};
use os::{File, Session};
use stop::{RefusalKind, Stop};

use crate::{ControlContent, DataFileContent, Space, TablespaceContent, TablespaceNo};

/// All tablespaces and data files.
pub(crate) struct Tablespaces {
    tablespaces: Vec<TablespaceContent>,
    files: Vec<DataFile>,
}

/// One data file.
#[derive(Clone)]
pub(crate) struct DataFile {
    pub(crate) number: FileNo,
    pub(crate) tablespace: TablespaceNo,
    pub(crate) file: File,
    pub(crate) blocks: u32,
    pub(crate) blocks_max: u32,
    pub(crate) growth_blocks: u32,
}

impl DataFile {
    fn new(entry: &DataFileContent, file: File) -> DataFile {
        DataFile {
            number: entry.number,
            tablespace: entry.tablespace,
            file,
            blocks: entry.blocks,
            blocks_max: entry.blocks_max,
            growth_blocks: entry.growth_blocks,
        }
    }

    pub(crate) fn can_grow(&self) -> bool {
        self.blocks_after_growth() > self.blocks
    }

    /// The number of its blocks after one growth, or as now if it can't grow.
    pub(crate) fn blocks_after_growth(&self) -> u32 {
        self.blocks.saturating_add(self.growth_blocks).min(self.blocks_max)
    }
}

impl Tablespaces {
    /// The tablespaces of the control file, and its data files, open, in the same order.
    pub(crate) fn new(content: &ControlContent, files: Vec<File>) -> Tablespaces {
        assert_eq!(content.data_files.len(), files.len(), "each data file is open");
        let files = content.data_files.iter().zip(files);
        Tablespaces {
            tablespaces: content.tablespaces.clone(),
            files: files.map(|(entry, file)| DataFile::new(entry, file)).collect(),
        }
    }

    /// Adds tablespaces and data files that were made, in the order of their numbers.
    pub(crate) fn add(
        &mut self,
        tablespaces: &[TablespaceContent],
        entries: &[DataFileContent],
        files: Vec<File>,
    ) {
        self.tablespaces.extend_from_slice(tablespaces);
        self.files
            .extend(entries.iter().zip(files).map(|(entry, file)| DataFile::new(entry, file)));
    }

    /// Every data file, in the order of their numbers.
    pub(crate) fn files(&self) -> Vec<DataFile> {
        self.files.clone()
    }

    fn file(&self, number: FileNo) -> &DataFile {
        let found = self.files.iter().find(|file| file.number == number);
        found.expect("a block that is in use is of a data file")
    }

    pub(crate) fn file_mut(&mut self, number: FileNo) -> &mut DataFile {
        let found = self.files.iter_mut().find(|file| file.number == number);
        found.expect("a block that is in use is of a data file")
    }

    fn of(&self, tablespace: TablespaceNo) -> Vec<FileNo> {
        let of = self.files.iter().filter(|file| file.tablespace == tablespace);
        of.map(|file| file.number).collect()
    }
}

impl Space {
    /// Every tablespace.
    pub fn tablespaces(&self, session: &Session) -> Vec<TablespaceContent> {
        self.shared.tablespaces.shared(session).tablespaces.clone()
    }

    /// The tablespace of this name. Refused if there is none.
    pub(crate) fn tablespace(
        &self,
        name: &str,
        session: &Session,
    ) -> Result<TablespaceContent, Stop> {
        let found = self.tablespaces(session).into_iter().find(|one| one.name == name);
        found.ok_or_else(|| {
            let message = format!("there is no tablespace {name}; create it first");
            Stop::refuse(RefusalKind::NotFound, message)
        })
    }

    /// The block size of the tablespace of this name.
    pub fn block_size_of(&self, tablespace: &str, session: &Session) -> Result<BlockSize, Stop> {
        Ok(self.tablespace(tablespace, session)?.block_size)
    }

    pub(crate) fn system(&self, session: &Session) -> TablespaceContent {
        self.shared.tablespaces.shared(session).tablespaces[0].clone()
    }

    /// The tablespace of this file.
    pub(crate) fn tablespace_of(&self, file: FileNo, session: &Session) -> TablespaceContent {
        let all = self.shared.tablespaces.shared(session);
        let number = all.file(file).tablespace;
        let found = all.tablespaces.iter().find(|one| one.number == number);
        found.expect("a file is of a tablespace").clone()
    }

    pub(crate) fn file(&self, number: FileNo, session: &Session) -> DataFile {
        self.shared.tablespaces.shared(session).file(number).clone()
    }

    /// The files of a tablespace, beginning with the one whose turn it is.
    pub(crate) fn files_of(
        &self,
        tablespace: TablespaceNo,
        turn: usize,
        session: &Session,
    ) -> Vec<FileNo> {
        let mut files = self.shared.tablespaces.shared(session).of(tablespace);
        let place = turn % files.len();
        files.rotate_left(place);
        files
    }

    /// The turn after a file's, in its tablespace.
    pub(crate) fn turn_after(&self, file: FileNo, session: &Session) -> usize {
        let all = self.shared.tablespaces.shared(session);
        let files = all.of(all.file(file).tablespace);
        1 + files.iter().position(|one| *one == file).expect("a file is of its tablespace")
    }

    /// The data files of the tablespace of this name. Refused if there is none.
    pub fn files_of_tablespace(&self, name: &str, session: &Session) -> Result<Vec<FileNo>, Stop> {
        let number = self.tablespace(name, session)?.number;
        Ok(self.files_of(number, 0, session))
    }

    /// Every data file, and the number of its blocks.
    pub fn file_blocks(&self, session: &Session) -> Vec<(FileNo, u32)> {
        let all = self.shared.tablespaces.shared(session);
        all.files.iter().map(|file| (file.number, file.blocks)).collect()
    }

    /// Changes the control file, unless the changed content is refused. Halts if the write fails.
    pub(crate) fn update_control(
        &self,
        session: &Session,
        change: impl FnOnce(&mut ControlContent),
    ) -> Result<(), Stop> {
        let mut control = self.shared.control.hold(0, session);
        let change = |content: &mut ControlContent| {
            change(content);
            Ok(())
        };
        control.describe(self.changes().halt(), change, session)
    }
}

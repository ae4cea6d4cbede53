//! Making a database (IN1).

use std::path::{Path, PathBuf};

use format::REDO_BLOCK;
use ids::{Rba, Scn};
use os::probe::DurableWrite;
use os::{Cause, Disk, File, FileOptions, IO_ALIGNMENT, OwnedFiles, Session};
use redo::RedoConfig;
use space::{
    ControlContent, ControlFile, ControlState, DataFileShape, DataFileSpec, TablespaceSpec,
    UNDO_TABLESPACE, create_data_file, database_of,
};
use stop::{RefusalKind, Stop};

use crate::logs::{first_groups, log_groups};
use crate::tablespaces::check_buffers;
use crate::{Creation, Instance, Parameters};

const DATA_FILE_NAME: &str = "data01.dbf";
const SYSTEM: &str = "system";
const UNDO_FILE_NAME: &str = "undo01.dbf";
pub(crate) const DOUBLEWRITE_NAME: &str = "doublewrite01.dbl";

/// The path of the doublewrite file of a database in this directory.
pub fn doublewrite_path(directory: &Path) -> PathBuf {
    directory.join(DOUBLEWRITE_NAME)
}

/// The length of a new doublewrite file: its slots, rounded up to what direct I/O wants (IN14).
fn doublewrite_bytes(creation: &Creation) -> u64 {
    let slots = u64::from(creation.doublewrite_slots) * creation.db_block_size.bytes() as u64;
    slots.next_multiple_of(IO_ALIGNMENT as u64)
}

/// Refuses to do `what` in a directory with fewer free bytes than `needed`. The message advises to
/// choose `smaller`.
pub(crate) fn check_free(
    directory: &Path,
    needed: u64,
    free: u64,
    what: &str,
    smaller: &str,
) -> Result<(), Stop> {
    if free >= needed {
        return Ok(());
    }
    let message = format!(
        "cannot {what} in {}: {} MB are needed and {} MB are free; free some, choose another \
         place, or choose {smaller}",
        directory.display(),
        needed.div_ceil(1_000_000),
        free / 1_000_000
    );
    Err(Stop::refuse(RefusalKind::NoSpace, message))
}

impl Instance {
    /// Makes a database in this directory, which is made if it is missing, and shuts it again. If
    /// that fails, nothing of it is left (IN11).
    pub fn create(
        disk: &Disk,
        directory: &Path,
        creation: &Creation,
        parameters: &Parameters,
        session: &Session,
    ) -> Result<(), Stop> {
        Instance::create_revocably(disk, directory, creation, parameters, session).map(|_| ())
    }

    /// As [`Instance::create`]. The caller can take the database back if a later step fails.
    pub fn create_revocably(
        disk: &Disk,
        directory: &Path,
        creation: &Creation,
        parameters: &Parameters,
        session: &Session,
    ) -> Result<CreatedFiles, Stop> {
        let what = || format!("cannot create a database in {}", directory.display());
        let makes_directory = match disk.list(directory, session) {
            Ok(names) if names.is_empty() => false,
            Ok(names) => {
                let message = format!(
                    "{}: the directory isn't empty (it has {}); choose another",
                    what(),
                    names[0]
                );
                return Err(Stop::refuse(RefusalKind::AlreadyExists, message));
            }
            Err(error) if error.cause() == Cause::NotFound => {
                disk.create_dir(directory, session)?;
                true
            }
            Err(error) => return Err(error.into()),
        };
        let mut made = CreatedFiles::nothing(disk, directory, makes_directory);
        let done = made
            .make_files(creation, parameters, session)
            .and_then(|()| make_undo(disk, &made.directory, creation, parameters, session));
        match done {
            Ok(()) => Ok(made),
            Err(stop) => Err(match made.remove(session) {
                None => stop,
                Some(left) => stop.saying(&left),
            }),
        }
    }
}

/// The files that a creation has made; no other file of its directory is one of them.
pub struct CreatedFiles {
    disk: Disk,
    directory: PathBuf,
    /// Whether the creation has made the directory too.
    makes_directory: bool,
    /// The database's identity; 0 before it has one.
    database: u64,
    files: Vec<CreatedFile>,
    /// How many of these, the last ones, are copies of the control file.
    control: usize,
}

struct CreatedFile {
    path: PathBuf,
    /// Identifies the file where another may have got its name since.
    identity: (u64, u64),
}

impl CreatedFiles {
    fn nothing(disk: &Disk, directory: &Path, makes_directory: bool) -> CreatedFiles {
        let (disk, directory) = (disk.clone(), directory.to_path_buf());
        CreatedFiles {
            disk,
            directory,
            makes_directory,
            database: 0,
            files: Vec::new(),
            control: 0,
        }
    }

    /// Removes the files (IN11), because the database is of no use to the caller, and says what is
    /// left. If another program has the database open, nothing is removed.
    pub fn take_back(self, session: &Session) -> String {
        let copies = &self.files[self.files.len() - self.control..];
        let found = copies.iter().filter_map(|copy| self.find(copy, session).ok());
        let copies: Vec<File> = found.collect();
        if !copies.iter().all(|copy| matches!(copy.try_lock(), Ok(true))) {
            return "nothing of the database is removed, for another program has it open".into();
        }
        self.remove(session).unwrap_or_else(|| "the database is removed again".into())
    }

    /// Makes all files. Each is locked until all are there.
    fn make_files(
        &mut self,
        creation: &Creation,
        parameters: &Parameters,
        session: &Session,
    ) -> Result<(), Stop> {
        let block_size = creation.db_block_size;
        creation.check_each()?;
        let mut content = first_content(&self.directory, creation, session)?;
        self.database = content.database;
        let mut shapes = content.add_tablespace(&TablespaceSpec {
            name: SYSTEM.to_string(),
            block_size,
            extent_blocks: creation.extent_blocks,
            files: system_files(creation),
        })?;
        shapes.extend(content.add_tablespace(&undo_tablespace(creation))?);
        for tablespace in &creation.tablespaces {
            shapes.extend(content.add_tablespace(tablespace)?);
        }
        check_buffers(&content, parameters)?;
        let memory = session.os().memory_bytes();
        parameters.check(block_size, creation.doublewrite_slots, memory)?;
        content.list_within(&self.disk, &self.directory);
        content.check_names()?;
        content.check_places(&self.disk, &self.directory)?;
        let (disk, options) = (&self.disk.clone(), parameters.filesystemio_options.file_options());
        self.check_room(creation, &shapes, &content)?;
        let mut files = redo::create(disk, &log_groups(&self.directory, &content), session)?;
        self.note(&files)?;
        for (shape, entry) in shapes.iter().zip(&content.data_files) {
            let path = self.directory.join(&entry.path);
            let file = create_data_file(disk, &path, options, shape, session)?;
            self.note(std::slice::from_ref(&file))?;
            files.push(file);
        }
        let bytes = doublewrite_bytes(creation);
        let doublewrite =
            disk.create(&doublewrite_path(&self.directory), bytes, options, session)?;
        self.note(std::slice::from_ref(&doublewrite))?;
        let made = ControlFile::create(disk, &self.directory, options.direct, content, session)?;
        self.control = made.copies().len();
        self.note(made.copies())
    }

    /// Refuses a creation for which the file system of the database's directory hasn't the room.
    /// Files in other directories don't count.
    fn check_room(
        &self,
        creation: &Creation,
        shapes: &[DataFileShape],
        content: &ControlContent,
    ) -> Result<(), Stop> {
        let own = |path: &str| self.directory.join(path).parent() == Some(&*self.directory);
        let data = shapes.iter().zip(&content.data_files).filter(|(_, entry)| own(&entry.path));
        let data = data.map(|(shape, _)| u64::from(shape.blocks) * shape.block_size.bytes() as u64);
        let logs = content.log_groups.iter().map(|group| {
            let members = group.members.iter().filter(|member| own(&member.path)).count() as u64;
            members * u64::from(group.blocks) * REDO_BLOCK.bytes() as u64
        });
        let needed = data.chain(logs).fold(doublewrite_bytes(creation), u64::saturating_add);
        let free = self.disk.free_bytes(&self.directory)?;
        check_free(&self.directory, needed, free, "create a database", "smaller files")
    }

    fn note(&mut self, files: &[File]) -> Result<(), Stop> {
        for file in files {
            let (path, identity) = (file.path().to_path_buf(), file.identity()?);
            self.files.push(CreatedFile { path, identity });
        }
        Ok(())
    }

    /// Removes the files, and says what is left. Files that can't be removed are no database
    /// either: their control file says "creating".
    fn remove(&self, session: &Session) -> Option<String> {
        let removed = self.files.iter().map(|file| {
            let found = self.find(file, session)?;
            self.disk.remove(found.path(), session).map_err(Stop::from)
        });
        let left: Vec<Stop> = removed.filter_map(Result::err).collect();
        if self.makes_directory {
            // It stays if another creator has put files there.
            let _ = self.disk.remove(&self.directory, session);
        }
        let (count, all) = (left.len(), self.files.len());
        left.first().map(|why| {
            format!(
                "{count} of its {all} files are not removed again: {why}; if they lie elsewhere \
                 now, remove them by hand"
            )
        })
    }

    /// Opens the file that was made. Refused if another file has its name now. A file system may
    /// give the number of a removed file anew, so a data file's header is compared too.
    fn find(&self, made: &CreatedFile, session: &Session) -> Result<File, Stop> {
        let plain = FileOptions { direct: false, write_through: false };
        let file = self.disk.open(&made.path, plain, session)?;
        let database = database_of(&file, session).ok().flatten();
        if file.identity()? == made.identity && database.is_none_or(|one| one == self.database) {
            return Ok(file);
        }
        let message = format!("another file has the name {} now", made.path.display());
        Err(Stop::refuse(RefusalKind::AlreadyExists, message))
    }
}

/// The content of a new control file, without tablespaces.
fn first_content(
    directory: &Path,
    creation: &Creation,
    session: &Session,
) -> Result<ControlContent, Stop> {
    let mut content = ControlContent {
        database: session.os().random().max(1),
        incarnation: (1, Scn::new(1)),
        created_us: session.os().calendar_us(),
        place: 0,
        checkpoint_number: 1,
        state: ControlState::Creating,
        checkpoint: Rba::block(1, 1),
        checkpoint_scn: Scn::new(1),
        newest_log: 0,
        doublewrite_slots: creation.doublewrite_slots,
        probed: None,
        tablespaces: Vec::new(),
        data_files: Vec::new(),
        log_groups: Vec::new(),
    };
    for spec in first_groups(directory, creation) {
        spec.add_to(&mut content)?;
    }
    Ok(content)
}

fn system_files(creation: &Creation) -> Vec<DataFileSpec> {
    let mapped = DataFileShape::bytes_max(creation.db_block_size, creation.extent_blocks);
    let first = DataFileSpec {
        path: DATA_FILE_NAME.to_string(),
        bytes: creation.data_bytes,
        bytes_max: creation.data_bytes_max.min(mapped.max(creation.data_bytes)),
        growth_bytes: creation.data_growth_bytes,
    };
    [first].into_iter().chain(creation.data_files.iter().cloned()).collect()
}

impl Creation {
    /// Divides the first data file into several if one extent map hasn't room for twice its first
    /// size (or for its largest size, if that is less).
    pub fn spread_data(&mut self) {
        let mapped = DataFileShape::bytes_max(self.db_block_size, self.extent_blocks);
        let wanted = self.data_bytes.max(self.data_bytes_max.min(2 * self.data_bytes));
        let files = wanted.div_ceil(mapped);
        if files < 2 {
            return;
        }
        let share = |bytes: u64| bytes.div_ceil(files).next_multiple_of(1 << 20).min(mapped);
        let bytes = share(self.data_bytes);
        let bytes_max = match self.data_bytes_max {
            0 => 0,
            most => share(most).max(bytes),
        };
        (self.data_bytes, self.data_bytes_max) = (bytes, bytes_max);
        self.data_files.extend((2..=files).map(|number| DataFileSpec {
            path: format!("data{number:02}.dbf"),
            bytes,
            bytes_max,
            growth_bytes: self.data_growth_bytes,
        }));
    }
}

fn undo_tablespace(creation: &Creation) -> TablespaceSpec {
    let mapped = DataFileShape::bytes_max(creation.db_block_size, creation.extent_blocks);
    let file = DataFileSpec {
        path: UNDO_FILE_NAME.to_string(),
        bytes: creation.undo_bytes,
        bytes_max: creation.undo_bytes_max.min(mapped.max(creation.undo_bytes)),
        growth_bytes: creation.undo_growth_bytes,
    };
    TablespaceSpec {
        name: UNDO_TABLESPACE.to_string(),
        block_size: creation.db_block_size,
        extent_blocks: creation.extent_blocks,
        files: vec![file],
    }
}

fn make_undo(
    disk: &Disk,
    directory: &Path,
    creation: &Creation,
    parameters: &Parameters,
    session: &Session,
) -> Result<(), Stop> {
    let state = ControlState::Creating;
    let instance = Instance::open_in(disk, directory, parameters, state, &|_| (), session)?;
    let (segments, slots) = (creation.undo_segments.max(1), creation.undo_slots.max(1));
    let made = txn::undo::Undo::create(instance.space(), segments, slots, session);
    match made {
        Ok(()) => instance.shutdown(session),
        Err(stop) => {
            instance.abort(session);
            Err(stop)
        }
    }
}

/// The configuration of the redo, from the control file and the parameters.
pub(crate) fn redo_config(
    directory: &Path,
    content: &ControlContent,
    parameters: &Parameters,
    durable_write: DurableWrite,
    owned: OwnedFiles,
) -> RedoConfig {
    RedoConfig {
        database: content.database,
        incarnation: content.incarnation,
        newest_log: content.newest_log,
        groups: log_groups(directory, content),
        log_buffer_bytes: usize::try_from(parameters.log_buffer).unwrap_or(usize::MAX),
        durable_write,
        // An opening that probes the device may find that more gain.
        writes_in_flight: parameters.log_writes_in_flight.max(1),
        commit_leader: parameters.commit_leader,
        owned,
        failpoints: parameters.failpoints,
    }
}

/// The configuration to read redo without writing any; it depends on no parameter.
pub fn redo_to_read(directory: &Path, content: &ControlContent) -> RedoConfig {
    let (way, owned) = (DurableWrite::BufferedThenSync, OwnedFiles::default());
    redo_config(directory, content, &Parameters::default(), way, owned)
}

/// The options with which data files and the doublewrite file are opened.
pub(crate) fn file_options(parameters: &Parameters) -> FileOptions {
    parameters.filesystemio_options.file_options()
}

//! Making a database (IN1).

use std::path::{Path, PathBuf};

use ids::{Rba, Scn};
use os::{Cause, Disk, FileOptions, Session};
use redo::RedoConfig;
use space::{ControlContent, ControlFile, ControlState, DataFileShape, create_data_file};
use stop::{RefusalKind, Stop};

use crate::{Creation, Instance, Parameters};

const DOUBLEWRITE_NAME: &str = "doublewrite01.dbl";

pub(crate) fn doublewrite_path(directory: &Path) -> PathBuf {
    directory.join(DOUBLEWRITE_NAME)
}

impl Instance {
    /// Makes a database in this directory, which is made too if it isn't there, and shuts it again.
    /// If that fails, nothing of it is left.
    pub fn create(
        disk: &Disk,
        directory: &Path,
        creation: &Creation,
        parameters: &Parameters,
        session: &Session,
    ) -> Result<(), Stop> {
        let what = || format!("cannot create a database in {}", directory.display());
        match disk.list(directory, session) {
            Ok(names) if names.is_empty() => {}
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
            }
            Err(error) => return Err(error.into()),
        }
        let made = make_files(disk, directory, creation, parameters, session)
            .and_then(|()| make_undo(disk, directory, creation, parameters, session));
        if made.is_err() {
            // What can't be removed is not a database either: its control file says "creating".
            for name in disk.list(directory, session).unwrap_or_default() {
                let _ = disk.remove(&directory.join(name), session);
            }
        }
        made
    }
}

fn make_files(
    disk: &Disk,
    directory: &Path,
    creation: &Creation,
    parameters: &Parameters,
    session: &Session,
) -> Result<(), Stop> {
    let database = session.os().random().max(1);
    let block_size = creation.db_block_size;
    let blocks = u32::try_from(creation.data_bytes / block_size.bytes() as u64);
    let shape = DataFileShape {
        database,
        block_size,
        blocks: blocks.unwrap_or(u32::MAX),
        extent_blocks: creation.extent_blocks,
    };
    shape.check()?;
    parameters.check(block_size, creation.doublewrite_slots)?;
    let log_blocks = u32::try_from(creation.log_file_bytes / 4096).unwrap_or(u32::MAX);
    redo::create(disk, directory, creation.log_groups, log_blocks, session)?;
    let options = parameters.filesystemio_options.file_options();
    create_data_file(disk, directory, options, &shape, session)?;
    let bytes = u64::from(creation.doublewrite_slots) * block_size.bytes() as u64;
    disk.create(&doublewrite_path(directory), bytes, options, session)?;
    let content = ControlContent {
        database,
        state: ControlState::Creating,
        checkpoint: Rba::block(1, 1),
        checkpoint_scn: Scn::new(1),
        block_size,
        data_blocks: shape.blocks,
        log_blocks,
        log_groups: creation.log_groups,
        doublewrite_slots: creation.doublewrite_slots,
    };
    ControlFile::create(disk, directory, options.direct, content, session)?;
    Ok(())
}

fn make_undo(
    disk: &Disk,
    directory: &Path,
    creation: &Creation,
    parameters: &Parameters,
    session: &Session,
) -> Result<(), Stop> {
    let instance = Instance::open_in(disk, directory, parameters, ControlState::Creating, session)?;
    let (segments, slots) = (creation.undo_segments.max(1), creation.undo_slots.max(1));
    let made = undo::Undo::create(instance.space(), segments, slots, session);
    match made {
        Ok(()) => instance.shutdown(session),
        Err(stop) => {
            instance.abort(session);
            Err(stop)
        }
    }
}

/// How the instance keeps redo, from what the control file says.
pub(crate) fn redo_config(
    directory: &Path,
    content: &ControlContent,
    parameters: &Parameters,
    durable_write: os::probe::DurableWrite,
) -> RedoConfig {
    RedoConfig {
        directory: directory.to_path_buf(),
        database: content.database,
        groups: content.log_groups,
        log_blocks: content.log_blocks,
        log_buffer_bytes: usize::try_from(parameters.log_buffer).unwrap_or(usize::MAX),
        durable_write,
        writes_in_flight: parameters.log_writes_in_flight,
        commit_leader: parameters.commit_leader,
        sabotage: parameters.sabotage.redo,
    }
}

/// How the doublewrite file is opened: as data files are.
pub(crate) fn file_options(parameters: &Parameters) -> FileOptions {
    parameters.filesystemio_options.file_options()
}

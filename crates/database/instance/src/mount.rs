//! A mounted database: its files are open and locked, and it can be recovered.
//!
//! Callers: `open`; tools that want the recovery alone.

use std::path::Path;

use cache::DataFile;
use change::Layer;
use format::RESTORE_ALL;
use os::{Cause, Disk, File, FileOptions, OwnedFiles, Session};
use recovery::{Layout, Progress, Recovered, recover};
use redo::RedoConfig;
use space::{
    ControlContent, ControlFile, ControlState, open_data_files, remove_leftovers, settle_name,
    unfinished,
};
use stop::Stop;

use crate::Parameters;
use crate::create::{DOUBLEWRITE_NAME, doublewrite_path, file_options, redo_config};
use crate::incremental::Pace;
use crate::lost_logs::check_lost;
use crate::redo_write::RedoWrite;
use crate::tablespaces::check_buffers;

/// The layers, each of which owns kinds of blocks.
pub(crate) static LAYERS: [&Layer; 4] =
    [&space::LAYER, &txn::undo::LAYER, &access::LAYER, &access::INDEX_LAYER];

/// The files of a database that isn't open.
pub(crate) struct Mounted {
    pub(crate) control: ControlFile,
    pub(crate) redo: RedoConfig,
    pub(crate) files: Vec<DataFile>,
    pub(crate) doublewrite: File,
    pub(crate) options: FileOptions,
    /// Whether leftovers are removed after recovery, behind its write of the control file.
    has_leftovers: bool,
    /// The pace of a recovery, as far as the device is known.
    pub(crate) pace: Pace,
}

/// Brings the data files of the database in this directory to the end of its redo, and
/// closes the files. The next opening has only active transactions to roll back. The control file
/// keeps the state that it had. `tell` is called after each batch of redo.
pub fn recover_database(
    disk: &Disk,
    directory: &Path,
    parameters: &Parameters,
    tell: &dyn Fn(Progress),
    session: &Session,
) -> Result<Recovered, Stop> {
    let mut mounted = Mounted::new(disk, directory, parameters, ControlState::Open, session)?;
    mounted.recover(disk, directory, parameters, tell, session)
}

/// Names the redo logs that a crash left listed but without their names. A member that can't get
/// its name is found invalid by the next step, if its group has another one.
fn settle_names(disk: &Disk, redo: &RedoConfig, session: &Session) -> Result<(), Stop> {
    for group in &redo.groups {
        let good = group.members.iter().filter(|member| member.good).count();
        for member in &group.members {
            match settle_name(disk, &member.path, session) {
                Err(stop) if good > 1 || !member.good => session.os().notice(&stop.to_string()),
                settled => settled?,
            }
        }
    }
    Ok(())
}

impl Mounted {
    pub(crate) fn new(
        disk: &Disk,
        directory: &Path,
        parameters: &Parameters,
        state: ControlState,
        session: &Session,
    ) -> Result<Mounted, Stop> {
        let options = file_options(parameters);
        let mut control = ControlFile::open(disk, directory, options.direct, session)?;
        let content = control.content().clone();
        if content.state == ControlState::Creating && state != ControlState::Creating {
            return Err(unfinished(&content, disk, directory, "open", session));
        }
        control.check_place(disk, directory, &[DOUBLEWRITE_NAME], session)?;
        check_buffers(&content, parameters)?;
        let memory = session.os().memory_bytes();
        parameters.check(content.system().block_size, content.doublewrite_slots, memory)?;
        let redo_write = RedoWrite::choose(disk, directory, parameters, content.probed, session)?;
        // This opening owns all files before it writes to one (IN12).
        let mut owned = OwnedFiles::default();
        let files = open_data_files(disk, directory, options, &content, &mut owned, session)?;
        let not_owned = |error: os::Error| Stop::from(error.while_doing("open the database"));
        let doublewrite = disk.open(&doublewrite_path(directory), options, session);
        let doublewrite = doublewrite.map_err(|error| match error.cause() {
            Cause::NotFound => {
                not_owned(error.advise(format!("put it back; if it is lost, {RESTORE_ALL}")))
            }
            _ => error.into(),
        })?;
        owned.lock(&doublewrite, session).map_err(not_owned)?;
        let mut redo = redo_config(directory, &content, parameters, redo_write.way, owned);
        redo.writes_in_flight = redo_write.in_flight(parameters);
        settle_names(disk, &redo, session)?;
        redo.lock_members(disk, session)?;
        check_lost(disk, directory, &content, &redo, session)?;
        control.prepare(redo_write.found);
        // After a shutdown in good order recovery's write is the first (rule space/SP12).
        let has_leftovers = content.state == ControlState::Shut;
        if !has_leftovers {
            control.settle(session).map_err(Stop::from)?;
            remove_leftovers(disk, directory, &content, session)?;
        }
        let lost = redo::examine(disk, &mut redo, session)?;
        if !lost.is_empty() {
            let says = |content: &mut ControlContent| {
                content.set_log_members(directory, &lost, false);
            };
            control.update(says, session).map_err(Stop::from)?;
        }
        let pace = Pace::assumed(redo_write.takes);
        Ok(Mounted { control, redo, files, doublewrite, options, has_leftovers, pace })
    }

    pub(crate) fn recover(
        &mut self,
        disk: &Disk,
        directory: &Path,
        parameters: &Parameters,
        tell: &dyn Fn(Progress),
        session: &Session,
    ) -> Result<Recovered, Stop> {
        let content = self.control.content();
        let (block_size, slots) = (content.system().block_size, content.doublewrite_slots);
        let layout = Layout {
            disk,
            directory,
            files: self.files.clone(),
            doublewrite: self.doublewrite.clone(),
            redo: &self.redo,
            cache: parameters.cache_config(block_size, slots),
            layers: &LAYERS,
            failpoints: parameters.failpoints,
            progress: tell,
        };
        let recovered = recover(layout, &mut self.control, session)?;
        if std::mem::take(&mut self.has_leftovers) {
            remove_leftovers(disk, directory, self.control.content(), session)?;
        }
        Ok(recovered)
    }
}

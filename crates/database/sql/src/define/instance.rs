//! Tablespaces, and ALTER SYSTEM.
//!
//! Callers: `define`.

use ids::BlockSize;
use instance::{Creation, DataFileSpec, Parameters, TablespaceSpec};
use space::DataFileShape;
use stop::{SqlState, Stop};
use syntax::{
    AlterSystem, AlterTablespace, Autoextend, CreateTablespace, DataFile, ParameterValue, Scope,
};

use super::Done;
use crate::engine::Frame;
use crate::names::fold;
use crate::refuse::refuse;
use crate::session::{Outcome, Settings};

/// The size of a data file that is given none, and by how much one grows.
const FILE_BYTES: u64 = 64 << 20;
const GROWTH_BYTES: u64 = 16 << 20;

/// What a user is told of a parameter that was set.
const UNTIL_STOPPED: &str = "the parameter holds until the instance stops";

impl Frame<'_> {
    /// CREATE TABLESPACE.
    pub(super) fn create_tablespace(&mut self, create: &CreateTablespace) -> Result<Done, Stop> {
        let name = fold(&create.name);
        let block_size = match create.block_size {
            None => self.instance.cache().block_size(),
            Some(bytes) => {
                let size = usize::try_from(bytes).ok().and_then(BlockSize::new);
                size.ok_or_else(|| {
                    let message = format!(
                        "BLOCKSIZE {bytes} isn't possible: it is a power of two from 2K to 32K"
                    );
                    refuse(SqlState::INVALID_PARAMETER_VALUE, message)
                })?
            }
        };
        let extent_blocks = Creation::default().extent_blocks;
        let most = DataFileShape::bytes_max(block_size, extent_blocks);
        let made_up = match &create.location {
            Some(location) => format!("{}/{name}.dbf", location.trim_end_matches('/')),
            None => format!("{name}.dbf"),
        };
        let written = match create.files.is_empty() {
            true => vec![DataFile { path: None, size: None, reuse: false, autoextend: None }],
            false => create.files.clone(),
        };
        let files: Result<Vec<DataFileSpec>, Stop> =
            written.iter().map(|file| file_spec(file, &made_up, most)).collect();
        let spec = TablespaceSpec { name, block_size, extent_blocks, files: files? };
        self.instance.create_tablespace(&spec, self.session)?;
        Ok(Done::Yes)
    }

    /// ALTER TABLESPACE ADD DATAFILE.
    pub(super) fn alter_tablespace(&mut self, alter: &AlterTablespace) -> Result<Done, Stop> {
        let name = fold(&alter.name);
        let extent_blocks = Creation::default().extent_blocks;
        // The catalog's own block size is the least that a map has room for.
        let most = DataFileShape::bytes_max(BlockSize::KIB_2, extent_blocks);
        for file in &alter.files {
            let made_up = match &file.path {
                Some(path) => path.clone(),
                None => {
                    let message = "a data file that is added needs a path: ADD DATAFILE 'name'";
                    return Err(refuse(SqlState::SYNTAX_ERROR, message));
                }
            };
            let spec = file_spec(file, &made_up, most)?;
            self.instance.add_data_file(&name, &spec, self.session)?;
        }
        Ok(Done::Yes)
    }

    /// ALTER SYSTEM.
    pub(super) fn alter_system(&mut self, alter: &AlterSystem) -> Result<Outcome, Stop> {
        let outcome = Outcome::done("ALTER SYSTEM");
        let not_yet = |what: &str| {
            let message = format!("ALTER SYSTEM {what} isn't supported yet");
            Err(refuse(SqlState::FEATURE_NOT_SUPPORTED, message))
        };
        match alter {
            AlterSystem::Set { parameters, scope } => {
                if *scope == Scope::File {
                    return not_yet("SET ... SCOPE = SPFILE");
                }
                self.set_parameters(parameters)?;
                Ok(outcome.with_notice(UNTIL_STOPPED))
            }
            AlterSystem::Checkpoint => self.instance.checkpoint(self.session).map(|()| outcome),
            AlterSystem::FlushSharedPool => {
                self.engine.forget_plans(self.session);
                Ok(outcome)
            }
            AlterSystem::SwitchLogfile => not_yet("SWITCH LOGFILE"),
            AlterSystem::FlushBufferCache => not_yet("FLUSH BUFFER_CACHE"),
            AlterSystem::Kill(_) => not_yet("KILL SESSION"),
        }
    }

    /// Sets all of these, or none.
    fn set_parameters(&self, parameters: &[ParameterValue]) -> Result<(), Stop> {
        let before = self.instance.parameters(self.session);
        for (number, parameter) in parameters.iter().enumerate() {
            let Err(stop) = self.set_parameter(parameter) else { continue };
            for set in parameters[..number].iter().rev() {
                let value = before.get(&set.name)?;
                self.instance.set_parameter(&set.name, &value, self.session)?;
            }
            return Err(stop);
        }
        Ok(())
    }

    fn set_parameter(&self, parameter: &ParameterValue) -> Result<(), Stop> {
        let ParameterValue { name, value } = parameter;
        let is_of_instance = Parameters::list().iter().any(|info| info.name == *name);
        if Settings::has(name) && !is_of_instance {
            let message = format!(
                "{name} is a setting of each session; write ALTER SESSION SET {name} = ..."
            );
            return Err(refuse(SqlState::CANT_CHANGE_RUNTIME_PARAM, message));
        }
        if let Some(value) = value {
            return self.instance.set_parameter(name, value, self.session);
        }
        let default = Parameters::list().into_iter().find(|info| info.name == *name);
        let default = default.map(|info| info.default).unwrap_or_default();
        self.instance.set_parameter(name, &default, self.session)
    }
}

fn file_spec(file: &DataFile, made_up: &str, most: u64) -> Result<DataFileSpec, Stop> {
    let path = file.path.clone().unwrap_or_else(|| made_up.to_string());
    if file.reuse {
        let message = format!("REUSE isn't supported: a file that is there, such as {path}, stays");
        return Err(refuse(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    let bytes = file.size.unwrap_or(FILE_BYTES);
    let (bytes_max, growth_bytes) = match file.autoextend {
        Some(Autoextend::Off) => (0, 0),
        None if file.size.is_some() => (0, 0),
        None => (most.max(bytes), GROWTH_BYTES),
        Some(Autoextend::On { next, max }) => {
            let max = max.unwrap_or(most).min(most).max(bytes);
            (max, next.unwrap_or(GROWTH_BYTES))
        }
    };
    Ok(DataFileSpec { path, bytes, bytes_max, growth_bytes })
}

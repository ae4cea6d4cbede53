//! Tablespaces and data files that are added while the instance is open, and the buffers that they
//! need.
//!
//! Callers: administrators of an instance; `open`.

use os::Session;
use space::{ControlContent, DataFileSpec, TablespaceSpec};
use stop::{RefusalKind, Stop};

use crate::{Instance, Parameters};

impl Instance {
    /// Makes a tablespace with its data files, while the database is open.
    pub fn create_tablespace(&self, spec: &TablespaceSpec, session: &Session) -> Result<(), Stop> {
        self.halt().check(session)?;
        self.space().create_tablespace(spec, session)
    }

    /// Adds a data file to a tablespace, while the database is open.
    pub fn add_data_file(
        &self,
        tablespace: &str,
        file: &DataFileSpec,
        session: &Session,
    ) -> Result<(), Stop> {
        self.halt().check(session)?;
        self.space().add_data_file(tablespace, file, session)
    }
}

/// Refuses to open a database if a tablespace's block size has no buffers.
pub(crate) fn check_buffers(content: &ControlContent, parameters: &Parameters) -> Result<(), Stop> {
    let system = content.system().block_size;
    for tablespace in &content.tablespaces {
        let size = tablespace.block_size;
        if size != system && parameters.buffers_of(size) == 0 {
            let message = format!(
                "tablespace {} has blocks of {size}, and the buffer cache would have no buffers \
                 for these; set db_{}k_cache_size",
                tablespace.name,
                size.bytes() >> 10
            );
            return Err(Stop::refuse(RefusalKind::Invalid, message));
        }
    }
    Ok(())
}

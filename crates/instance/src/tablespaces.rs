//! Tablespaces and data files, as far as the instance knows of them: opened, and their block sizes.
//!
//! Callers: `create`, `open`.

use std::path::Path;

use ids::{BlockSize, FileNo};
use os::{Disk, File, FileOptions, Session};
use space::{ControlContent, open_data_file};
use stop::{RefusalKind, Stop};

/// The data files that the control file lists, in its order, each looked at.
pub(crate) fn open_data_files(
    disk: &Disk,
    directory: &Path,
    options: FileOptions,
    content: &ControlContent,
    session: &Session,
) -> Result<Vec<(FileNo, File)>, Stop> {
    let open = |entry: &space::DataFileContent| {
        let what = (content.database, entry, content.block_size_of(entry));
        let path = directory.join(&entry.path);
        Ok((entry.number, open_data_file(disk, &path, options, what, session)?))
    };
    content.data_files.iter().map(open).collect()
}

/// The block size of all tablespaces: the cache has buffers of one size.
pub(crate) fn one_block_size(content: &ControlContent) -> Result<BlockSize, Stop> {
    let size = content.system().block_size;
    match content.tablespaces.iter().find(|tablespace| tablespace.block_size != size) {
        None => Ok(size),
        Some(other) => {
            let message = format!(
                "tablespace {} has blocks of {}, and the buffer cache has buffers of {size} only, \
                 the system tablespace's; choose {size}",
                other.name, other.block_size
            );
            Err(Stop::refuse(RefusalKind::Invalid, message))
        }
    }
}

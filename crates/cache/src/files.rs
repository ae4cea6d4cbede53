//! The data files: from a block's address to a file and an offset.
//!
//! Callers: `get` (reads), `batch` (writes), `doublewrite` (mends).

use ids::{BlockSize, Dba, FileNo};
use os::File;
use stop::{RefusalKind, Stop};

/// The files, in the order of their numbers.
pub(crate) struct Files {
    files: Vec<(FileNo, File)>,
    block_size: BlockSize,
}

impl Files {
    pub(crate) fn new(mut files: Vec<(FileNo, File)>, block_size: BlockSize) -> Files {
        files.sort_by_key(|(number, _)| *number);
        let unique = files.windows(2).all(|pair| pair[0].0 != pair[1].0);
        assert!(unique, "two data files have one number");
        Files { files, block_size }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.files.len()
    }

    /// The place of this block's file among the files, if the database has such a file.
    pub(crate) fn place(&self, address: Dba) -> Option<usize> {
        self.files.binary_search_by_key(&address.file, |(number, _)| *number).ok()
    }

    /// The file at a place.
    pub(crate) fn at(&self, place: usize) -> &File {
        &self.files[place].1
    }

    /// Where this block is read from and written to.
    pub(crate) fn locate(&self, address: Dba) -> Result<(&File, u64), Stop> {
        match self.place(address) {
            Some(place) => Ok((self.at(place), address.block.byte_offset(self.block_size))),
            None => Err(Stop::refuse(
                RefusalKind::NotFound,
                format!(
                    "cannot use file {} block {}: the database has no file of this number; what \
                     names this block is damaged",
                    address.file, address.block
                ),
            )),
        }
    }
}

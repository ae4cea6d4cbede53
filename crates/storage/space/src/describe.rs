//! Specifications of tablespaces and data files to be made.
//!
//! Callers: `instance`, when it creates a database; `ddl`, while one is open.

use ids::{BlockSize, FileNo};
use stop::{RefusalKind, Stop};

use crate::{ControlContent, DataFileContent, DataFileShape, TablespaceContent, TablespaceNo};

/// A data file to be made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DataFileSpec {
    /// Its path: relative to the database's directory, or absolute, to spread files over disks.
    pub path: String,
    /// Its length.
    pub bytes: u64,
    /// The greatest length that it may have; 0 if it is not to grow.
    pub bytes_max: u64,
    /// The bytes by which it grows.
    pub growth_bytes: u64,
}

/// A tablespace to be made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TablespaceSpec {
    /// Its name.
    pub name: String,
    /// Size of its blocks.
    pub block_size: BlockSize,
    /// Blocks of an extent.
    pub extent_blocks: u32,
    /// Its files, at least one.
    pub files: Vec<DataFileSpec>,
}

impl ControlContent {
    /// Adds a tablespace, with the next numbers for it and its files. A refusal changes nothing.
    pub fn add_tablespace(&mut self, spec: &TablespaceSpec) -> Result<Vec<DataFileShape>, Stop> {
        if spec.files.is_empty() {
            let message = format!("tablespace {} has no data file; give it one", spec.name);
            return Err(Stop::refuse(RefusalKind::Invalid, message));
        }
        let last = self.tablespaces.iter().map(|one| one.number.0).max().unwrap_or(0);
        let number = TablespaceNo(last + 1);
        let mut added = self.clone();
        added.tablespaces.push(TablespaceContent {
            number,
            name: spec.name.clone(),
            block_size: spec.block_size,
            extent_blocks: spec.extent_blocks,
        });
        let files = spec.files.iter().map(|file| added.add_data_file(number, file));
        let shapes = files.collect::<Result<_, _>>()?;
        *self = added;
        Ok(shapes)
    }

    /// Adds a data file with the next number. A refusal changes nothing.
    pub fn add_data_file(
        &mut self,
        tablespace: TablespaceNo,
        spec: &DataFileSpec,
    ) -> Result<DataFileShape, Stop> {
        let of = self.tablespace(tablespace).expect("the tablespace is there");
        let unit = of.block_size.bytes() as u64;
        // The shape refuses a length that doesn't fit.
        let blocks = |bytes: u64| u32::try_from(bytes / unit).unwrap_or(u32::MAX);
        let last = self.data_files.iter().map(|file| file.number.get()).max().unwrap_or(0);
        let shape = DataFileShape {
            history: self.history(),
            number: FileNo::new(last + 1),
            tablespace,
            block_size: of.block_size,
            extent_blocks: of.extent_blocks,
            blocks: blocks(spec.bytes),
            blocks_max: blocks(if spec.bytes_max == 0 { spec.bytes } else { spec.bytes_max }),
            growth_blocks: if spec.bytes_max == 0 { 0 } else { blocks(spec.growth_bytes) },
        };
        shape.check().map_err(|stop| stop.saying(&format!("this is for {}", spec.path)))?;
        let entry = DataFileContent {
            number: shape.number,
            tablespace,
            path: spec.path.clone(),
            blocks: shape.blocks,
            blocks_max: shape.blocks_max,
            growth_blocks: shape.growth_blocks,
            checkpoint_number: self.checkpoint_number,
        };
        self.data_files.push(entry);
        let checked = self.check();
        if checked.is_err() {
            self.data_files.pop();
        }
        checked.map(|()| shape)
    }
}

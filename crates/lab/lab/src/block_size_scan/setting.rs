//! The cells of the table: sizes of blocks, and lengths of reads.
//!
//! Callers: `run`, `load`, `measure`, `report`, `asked`.

use std::fmt;

use ids::BlockSize;

/// The sizes that have a tablespace.
pub(super) const BLOCK_SIZES: [BlockSize; 4] =
    [BlockSize::KIB_2, BlockSize::KIB_4, BlockSize::KIB_8, BlockSize::KIB_16];

/// How long the reads of a scan are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReadSize {
    /// As long as the instance chooses: `db_file_multiblock_read_count` is 0.
    Automatic,
    /// So many bytes: whole blocks of every size.
    Bytes(u32),
}

/// The lengths of the table; the automatic one is a MiB.
const READ_SIZES: [ReadSize; 4] = [
    ReadSize::Automatic,
    ReadSize::Bytes(64 << 10),
    ReadSize::Bytes(256 << 10),
    ReadSize::Bytes(4 << 20),
];

impl ReadSize {
    /// `db_file_multiblock_read_count` for blocks of this size.
    pub(super) fn blocks(self, block_size: BlockSize) -> u32 {
        match self {
            ReadSize::Automatic => 0,
            ReadSize::Bytes(bytes) => bytes / block_size.bytes() as u32,
        }
    }

    /// None if the instance chooses.
    pub(super) fn bytes(self) -> Option<u32> {
        match self {
            ReadSize::Automatic => None,
            ReadSize::Bytes(bytes) => Some(bytes),
        }
    }

    /// In a table.
    pub(super) fn short(self) -> String {
        match self {
            ReadSize::Automatic => "automatic".to_owned(),
            ReadSize::Bytes(bytes) if bytes < 1 << 20 => format!("{} KiB", bytes >> 10),
            ReadSize::Bytes(bytes) => format!("{} MiB", bytes >> 20),
        }
    }

    /// In a sentence.
    pub(super) fn words(self) -> String {
        match self {
            ReadSize::Automatic => "automatic reads".to_owned(),
            ReadSize::Bytes(_) => format!("reads of {}", self.short()),
        }
    }
}

/// A table, and how it is read (LB83).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Setting {
    /// The blocks of the table's tablespace.
    pub block_size: BlockSize,
    /// How long reads are.
    pub read: ReadSize,
}

impl Setting {
    /// All of the table: the automatic reads of each block size, then those of each length.
    pub fn all() -> Vec<Setting> {
        let of = |read| BLOCK_SIZES.map(|block_size| Setting { block_size, read });
        READ_SIZES.into_iter().flat_map(of).collect()
    }

    /// The value of `db_file_multiblock_read_count`.
    pub(super) fn blocks(&self) -> u32 {
        self.read.blocks(self.block_size)
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tablespace = tablespace_of(self.block_size);
        write!(f, "tablespace = {tablespace}, db_file_multiblock_read_count = {}", self.blocks())
    }
}

/// The tablespace with blocks of this size.
pub(super) fn tablespace_of(block_size: BlockSize) -> String {
    format!("tpcds_{}k", block_size.bytes() >> 10)
}

/// The table in it.
pub(super) fn table_of(block_size: BlockSize) -> String {
    format!("web_returns_{}k", block_size.bytes() >> 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Else a length would be another one in some cell.
    #[test]
    fn every_length_is_whole_blocks_and_one_the_engine_takes() {
        let all = Setting::all();
        assert_eq!(all.len(), 16);
        for setting in all {
            let Some(bytes) = setting.read.bytes() else {
                assert_eq!(setting.blocks(), 0);
                continue;
            };
            assert_eq!(setting.blocks() as usize * setting.block_size.bytes(), bytes as usize);
            let mut parameters = instance::Parameters::default();
            let name = "db_file_multiblock_read_count";
            parameters.set(name, &setting.blocks().to_string()).expect("it is in the range");
        }
    }
}

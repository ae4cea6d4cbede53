//! Space: control file, tablespaces, data files, extents and segments of a database.
//!
//! ```text
//!   control01.ctl  control02.ctl     identity, checkpoint; every tablespace, file and redo log
//!                                    (two copies)
//!   data file
//!     block 0   file header
//!     block 1   extent map      a bit for each extent
//!     block 2   directory       names, numbers ──▶ segment headers; in file 1 only
//!     block 3…  extents         the first block of a segment is its header
//! ```
//!
//! A tablespace has one data file or more. A segment belongs to one tablespace and gets its extents
//! from its files in turn, so that its blocks are spread over them.
//!
//! Rules SP1 to SP51, with their reasons, are in the README.
//!
//! * [`ControlFile`]: reads, creates and writes the control file; [`ControlContent`]: its content;
//!   [`Enqueue`]: a value that one session at a time holds.
//! * [`create_data_file`], [`open_data_file`]: data files and their first blocks.
//! * [`Space`]: segments by name and number, made, kept and dropped, and blocks handed out to them;
//!   files grow when they have to, or [`Ahead`] of that.
//! * [`DataFileSeen`], [`SegmentExtents`]: data files and extents, for views.
//! * [`look_at_header`] and its like: checked views of blocks, for `verify`.
//! * [`LAYER`]: how blocks of this crate change.

#![forbid(unsafe_code)]

mod ahead;
mod apply;
mod check;
mod checkpointed;
mod content;
mod control;
mod create;
mod data_file;
mod ddl;
mod describe;
mod directory;
mod drop;
mod emptied;
mod enqueue;
mod filling;
mod free_list;
mod growth;
mod index;
mod look;
mod new_file;
mod place;
mod probed;
mod room;
mod seen;
mod segment;
mod space;
mod tablespace;

pub use ahead::Ahead;
pub use apply::LAYER;
pub use cache::Blocks;
pub use checkpointed::FileCheckpoint;
pub use content::{
    ControlContent, ControlState, DataFileContent, LogGroupContent, LogMemberContent,
    TablespaceContent, TablespaceNo, UNDO_TABLESPACE,
};
pub use control::{ControlCopy, ControlFile, no_control_file};
pub use data_file::{
    DATA_FILE, DataFileShape, ExpectedFile, History, create_data_file, database_of, open_data_file,
    open_data_file_read_only,
};
pub use ddl::open_data_files;
pub use describe::{DataFileSpec, TablespaceSpec};
pub use emptied::{Emptied, EmptyFrom, EmptyNote, Hand};
pub use enqueue::{Enqueue, Held};
pub use filling::Filling;
pub use free_list::{FreeList, GiveBack, OneBlock, list_of};
pub use index::NAMED_BY_NUMBER;
pub use look::{
    BLOCKS_BEFORE_EXTENTS, DIRECTORY_FIRST, EntrySeen, FreeSeen, HeaderSeen, MapSeen,
    extents_of_run, kind_before_extents, look_at_directory, look_at_file_header, look_at_free,
    look_at_header, look_at_map, map_of,
};
pub use new_file::{
    NewFiles, leftovers, new_path, remove_leftovers, settle_name, temporary_path, unnamed_path,
};
pub use place::{say_moved, unfinished, within_directory};
pub use probed::Probed;
pub use seen::{DataFileSeen, SegmentExtents};
pub use segment::{Holds, Segment, SegmentState};
pub use space::{HandOut, Space, Storage};

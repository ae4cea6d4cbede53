//! What the database consists of: control file, data file, extents, segments.
//!
//! ```text
//!   control01.ctl  control02.ctl          identity, checkpoint (two copies)
//!   data01.dbf
//!     block 0  file header
//!     block 1  extent map      a bit for each extent
//!     block 2  directory       names ──▶ segment headers
//!     block 3… extents         the first block of a segment is its header
//! ```
//!
//! Rules SP1 to SP6 are in the README.
//!
//! * [`ControlFile`]: reading, creating and writing it.
//! * [`create_data_file`], [`open_data_file`]: the data file and its first blocks.
//! * [`Space`]: segments by name, and blocks handed out to them.
//! * [`LAYER`]: how blocks of this crate change.

#![forbid(unsafe_code)]

mod apply;
mod control;
mod data_file;
mod segment;
mod space;

pub use apply::LAYER;
pub use control::{ControlContent, ControlFile, ControlState};
pub use data_file::{DATA_FILE, DataFileShape, create_data_file, open_data_file};
pub use segment::{Column, Holds, Segment};
pub use space::{Blocks, HandOut, Space};

//! The data dictionary.

#![forbid(unsafe_code)]

mod bytes;
mod rows;
mod sequence_definition;
mod stored;

pub use sequence_definition::{SequenceDefinition, SequenceOptions};

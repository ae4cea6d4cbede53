//! To be written.

pub mod fs;

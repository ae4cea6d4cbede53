//! To be written.
pub mod model;

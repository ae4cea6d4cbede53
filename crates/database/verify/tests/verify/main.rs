//! Whether the check of a database finds what is wrong, and only that.
#![forbid(unsafe_code)]

mod bytes;
mod common;
mod dictionary;
mod logic;
mod meanwhile;
mod open;
mod rows;
mod shut;
mod texts;

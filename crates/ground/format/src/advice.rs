//! The advice in messages about bytes that can't be repaired: one sentence, so that no message
//! advises a step that the next opening refuses (rule space/SP19: all files must be of one time).
//!
//! Callers: code that refuses a block or a file that it has read.

/// The remedy where a file or a block of it is lost. It follows a semicolon.
pub const RESTORE_ALL: &str =
    "restore the whole database from one copy: control files, data files and redo logs";

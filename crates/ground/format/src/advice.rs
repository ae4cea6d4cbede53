//! What to do about bytes that nobody can put right: one sentence, so that no message advises what
//! an opening then refuses (rule space/SP19: one file of another time).
//!
//! Callers: whoever refuses what it has read.

/// What is left to be done where a file or a block of it is lost. It follows a semicolon.
pub const RESTORE_ALL: &str =
    "restore the whole database from one copy: control files, data files and redo logs";

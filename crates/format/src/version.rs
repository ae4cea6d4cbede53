//! Which format versions there are, and what is promised about them (F6).
//!
//! | version | since       | what changed |
//! |---------|-------------|--------------|
//! | 1       | unreleased  | the first |
//! | 2       | unreleased  | a control file of 32 KiB lists everything; extents name files |
//! | 3       | 0.1.0       | segments have object numbers and states; vectors say "made anew" |
//!
//! Blocks of versions 1 and 2 are read; a database of such a version as a whole isn't opened, for
//! none was ever released: its control file says so.
//!
//! Invariants
//!   * version 0 does not exist, so a block that was never written has none
//!   * every version has a golden file in `tests/golden/`
//!
//! Callers: `block_header` writes the newest version and refuses unknown ones.

/// The version in which blocks are written, the newest that this program knows. It knows every
/// version from 1 on.
pub const FORMAT: u8 = 3;

/// What we promise about files written by earlier programs.
pub const PROMISE: &str = "A file written in format N opens in format N+1: each version has a \
golden file in `crates/format/tests/golden/`, and every golden file must open in every later \
version. A program that meets a format newer than its own refuses the block and says so.";

/// Whether this program can read blocks of this version.
pub(crate) fn is_known(format: u8) -> bool {
    (1..=FORMAT).contains(&format)
}

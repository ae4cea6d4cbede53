//! The format versions, and the promises about them (F6).
//!
//! | version | since       | what changed |
//! |---------|-------------|--------------|
//! | 1       | unreleased  | the first |
//! | 2       | unreleased  | a control file of 32 KiB lists everything; extents name files |
//! | 3       | unreleased  | segments have object numbers and states; vectors say "made anew" |
//! | 4       | unreleased  | heaps have maps of free space; leaves, rows of columns, a dictionary |
//! | 5       | unreleased  | headers of data files and logs have checkpoints, incarnation, time |
//!
//! A version that isn't released may still change, and its golden files with it. Databases of
//! versions before [`OLDEST`] aren't opened, because none was ever released; the version stands in
//! the control file. From the first release on the README's rule for changed layouts (F6) binds.
//!
//! Invariants
//!   * version 0 does not exist, so a block that was never written has no version
//!   * every version has a golden block in `tests/golden/`, and from [`OLDEST`] on a golden
//!     database in `crates/proof/proof/tests/golden/`
//!
//! Callers: `block_header` writes the newest version and refuses unknown ones; `space` takes the
//! version of a database from its control file.

/// The version in which blocks are written, the newest known to this program. The program reads
/// every version from 1 on.
pub const FORMAT: u8 = 5;

/// The oldest version of databases that are opened.
pub const OLDEST: u8 = 5;
const _: () = assert!(OLDEST <= FORMAT);

/// The promise about databases written by earlier programs.
pub const PROMISE: &str = "A database written in format N by a released program opens in every \
program of format N+1, shut in good order or not: blocks, redo and undo of format N are read, and \
nothing has to be unloaded or converted first. Blocks are written in format N+1 from then on, so \
the way back is a copy. A program that meets a format newer than its own changes nothing and says \
so. Each format has golden files that must open in every later one: a block in \
`crates/ground/format/tests/golden/`, and a whole database, shut and crashed, in \
`crates/proof/proof/tests/golden/`. Formats 1 to 4 were never released: databases of \
them are refused.";

/// Whether this program can read blocks of this version.
pub(crate) fn is_known(format: u8) -> bool {
    (1..=FORMAT).contains(&format)
}

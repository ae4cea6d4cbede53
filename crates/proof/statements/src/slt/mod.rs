//! Files of sqllogictest, run on Forebay.
//!
//! ```text
//!   file ─ prepare ─▶ records ─ Runner of crate `sqllogictest` ─▶ passed, failed, skipped
//!            │                        │
//!    what the crate can't read    Player: the database, values in the form that is expected
//! ```
//!
//! A file is in one of two [`Style`]s. Our own name types strictly, and values have the form that
//! a user sees. SQLite's corpus says `T`, `I` or `R` for each column, and means how the value is
//! printed: 1 for true, three digits behind the point.
//!
//! A file has a database of its own. All its records run, also behind one that fails.
//!
//! | module | what it is |
//! |---|---|
//! | `player` | the crate's view of a connection |
//! | `prepare` | the text of SQLite's files as the crate reads it; labels |
//! | `written` | values as the corpus writes them |
//! | `run` | a file, record by record; [`Tally`] |
//! | `corpus` | which files of SQLite's corpus are in scope, and why the others aren't |
//!
//! Rules RA1 to RA4 are in the README.
//!
//! Callers: the test `slt`; the example `sqllogictest` for the corpus.
//! Sources: sqlite.org/sqllogictest, "About"; `slt_sqlite.c` there for the forms of values.

mod corpus;
mod player;
mod prepare;
mod run;
mod written;

pub use corpus::{Scope, scope_of};
pub use run::{Fault, Tally, run_text};

/// How a file says types and values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    /// Ours: a letter for each kind of value; rows with blanks between their values.
    Own,
    /// That of SQLite's corpus: `T`, `I`, `R`; a line for each value.
    Corpus,
}

/// The style of a file of a corpus: SQLite's, unless a file beside ours is meant.
pub fn style_of(path: &str) -> Style {
    if path.contains("statements/tests/slt/") { Style::Own } else { Style::Corpus }
}

/// The label by which files name Forebay in `skipif` and `onlyif`.
pub const LABEL: &str = "forebay";

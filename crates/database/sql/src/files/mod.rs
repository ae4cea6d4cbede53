//! Files of rows: COPY in both directions, and external tables.
//!
//! ```text
//!   COPY t FROM …  ─ INSERT INTO t SELECT … FROM the file ─┐
//!                                                          ├─▶ FileReader ─▶ rows, by batches
//!   SELECT … FROM an external table ───────────────────────┘      │
//!                                                                 │ record: Scanner, by Form
//!   COPY … TO …  ─ SELECT ─▶ lines, by Form ─▶ Output             ▼
//!                                                 Input: a file, one packed by gzip, the client
//! ```
//!
//! | module | what it has |
//! |---|---|
//! | `form` | [`Form`]: how rows are written, from what a statement says |
//! | `scan` | from bytes to records: the text and CSV formats of PostgreSQL |
//! | `lines` | from rows to bytes |
//! | `stream` | [`CopySource`], [`CopySink`]: the client's end of a COPY |
//! | `input`, `output` | bytes of files and of clients |
//! | `reader`, `rejects` | rows of files; lines that are no rows |
//! | `copy_in`, `copy_out` | COPY |
//! | `external` | CREATE EXTERNAL TABLE, and its rows for queries |
//!
//! Invariants
//!   * no file is read or written, and no client asked, while a latch is held (rule SQ80)
//!   * what is wrong with a line is said with its file, its number and the column (rule SQ81)
//!   * a COPY that is refused leaves no row, and no file (rule SQ82)
//!
//! Callers: the session; the binder, for external tables.
//! Sources: PostgreSQL's documentation, "COPY", for both formats; RFC 4180; RFC 1952, for gzip.

mod copy_in;
mod copy_out;
mod external;
mod form;
mod input;
mod lines;
mod output;
mod reader;
mod rejects;
mod scan;
mod stream;

pub(crate) use external::layout_of;

pub use external::FileTables;
pub use stream::{ClientEnd, CopySink, CopySource, FromSource, ToSink};

//! Plans that run: row sources over tables, subqueries, cursors.
//!
//! ```text
//!   Plan ─ Opened ─┬─ short way ─────────────────────────────▶ one row
//!                  └─ Machine ─ sources ─┬─ Scan ─ ScanState ──▶ columns, copied out of blocks
//!                         ▲              ├─ IndexRows ─ RangeState
//!                         │              └─ operators of `rowsource`
//!                     Running: the world that sources see
//!                         └─ Answerer: a subquery, with a machine of its own
//! ```
//!
//! | module | what it has |
//! |---|---|
//! | `host` | [`Host`]: what of the connection is lent for a call; [`SequenceValues`] |
//! | `opened` | [`Opened`]: a plan with its tables open; [`Ran`] |
//! | `machine` | the state of a frame, and the world of its sources |
//! | `build`, `charged` | from nodes of a plan to sources, whose work is charged in the simulator |
//! | `scan`, `index`, `keys`, `copy`, `pending` | rows of tables |
//! | `virtual_rows`, `series`, `shared`, `kept` | rows of other things; rows that are kept |
//! | `subquery`, `answers`, `volatile`, `host_calls` | what expressions ask |
//! | `short` | plans that need no sources |
//! | `execution`, `cursor` | [`Execution`]: a query between calls; [`Cursors`] of a session |
//! | `address` | addresses of rows as values |
//!
//! Invariants
//!   * all frames of a statement have one view (rule SQ40)
//!   * no expression runs under a latch (rule SQ42)
//!   * a plan is checked after the snapshot was taken (rule SQ30)
//!
//! Callers: the session, for queries; `change`, whose statements take rows from here.

mod address;
mod answers;
mod build;
mod charged;
mod copy;
mod cursor;
mod execution;
mod host;
mod host_calls;
mod index;
mod kept;
mod keys;
mod machine;
mod opened;
mod pending;
mod scan;
mod series;
mod shared;
mod short;
mod subquery;
mod virtual_rows;
mod volatile;

pub use cursor::CursorNo;

pub(crate) use address::address_in;
pub(crate) use cursor::{Cursor, Cursors, KeptCursor, start};
pub(crate) use execution::Execution;
pub(crate) use host::{Connected, Host, SequenceValues};
pub(crate) use host_calls::HostAnswers;
pub(crate) use kept::KeptRows;
pub(crate) use machine::{Env, Machine};
pub(crate) use opened::{Opened, Ran};
pub(crate) use short::{Short, evaluation};

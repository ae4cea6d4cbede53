//! SQL: statements are bound to the dictionary, rewritten, planned by cost, and run.
//!
//! ```text
//!   text ─ syntax ─▶ Statement ─ bind ─▶ Logical ─ rewrite ─▶ Logical ─ plan ─▶ Plan
//!                        │                                                       │ shared, by text
//!                        ├─ define ─▶ the catalog                                ▼
//!                        └─ session ─▶ transactions, settings         run ─▶ row sources ─▶ rows
//!                                                                     change ─▶ relation's driver
//! ```
//!
//! [`Engine`] is what SQL has for an instance: plans by text, and tables that aren't stored.
//! [`State`] is what it has for a connection. [`Frame`] lends both, with the connection's own
//! parts, for one call: [`Frame::run`], [`Frame::prepare`], [`Frame::execute`], [`Frame::fetch`].
//!
//! | module | what it has |
//! |---|---|
//! | `engine` | [`Engine`], [`Frame`]: what SQL has, and what it is lent |
//! | `session` | dispatch; statements about rows; transactions, settings, prepared statements |
//! | `bind`, `names`, `schema` | names and kinds: from the parser's tree to `logical` |
//! | `logical`, `rewrite` | what is asked for, and the same in a better form |
//! | `statistics`, `analyze` | what is known of tables; ANALYZE |
//! | `plan` | how it is done: access paths, orders and methods of joins, costs |
//! | `run`, `change` | plans that run: queries, and statements that change rows |
//! | `cache`, `dictionary` | plans by text; tables with what is known of them |
//! | `define`, `check` | DDL; CHECKs as predicates |
//! | `files` | COPY, and external tables |
//! | `system` | functions that ask the catalogue |
//! | `explain`, `show` | plans and expressions as text |
//! | `refuse` | refusals with SQLSTATE and place |
//! | `stack` | how much stack statements need |
//!
//! Rules SQ are in the README. Callers: `database`. Sources: PostgreSQL's documentation, for what
//! SQL means; Oracle's, for the instance's words, plans by text and transactions; Selinger et al.
//! (SIGMOD '79) and what the modules name.

#![forbid(unsafe_code)]

mod analyze;
mod bind;
mod cache;
mod change;
mod check;
mod define;
mod dictionary;
mod engine;
mod explain;
mod files;
mod logical;
mod names;
mod plan;
mod refuse;
mod rewrite;
mod run;
mod schema;
mod session;
mod show;
mod stack;
mod statistics;
mod system;
#[cfg(test)]
mod testing;

pub use bind::OutputColumn;
pub use cache::{MeasuredOperation, OperationView, StatementView};
pub use check::Checks;
pub use engine::{Engine, ExternalTables, Frame};
pub use files::{ClientEnd, CopySink, CopySource, FileTables, FromSource, ToSink};
pub use run::CursorNo;
pub use schema::{VirtualColumn, VirtualContext, VirtualReader, VirtualTable};
pub use session::{Columns, Outcome, Prepared, State, StateOptions};
pub use system::{CatalogFunctions, CatalogQuestion};

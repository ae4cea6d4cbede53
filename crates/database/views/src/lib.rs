//! Views into the instance, of the dictionary, and those that clients of PostgreSQL ask: tables
//! that aren't stored, whose rows are made as a statement reads them.
//!
//! ```text
//!   SQL ── name ──▶ view(…) ──▶ View: name, columns with types and meanings
//!    │                            │ read(engine, give)
//!    │ rows ◀── give ◀────────────┤
//!    │                            ▼
//!    │            Engine: instance ─ sessions, waits, cache, redo, transactions, files
//!    │                    catalog  ─ tables, indexes, constraints, sequences
//!    └─ SqlCache ◀─────── sql      ─ statements and plans in memory, told by SQL
//! ```
//!
//! A view's declaration is the one place of its name, its columns and what they mean; `dict`,
//! `pg_class`, `information_schema.columns` and `docs/VIEWS.md` are made of it. Names, units and
//! meanings are Oracle's, PostgreSQL's or the standard's; what the engine doesn't count has no
//! column. Rules VW1 to VW12 are in the README.
//!
//! | module | what it has |
//! |---|---|
//! | `view`, `list` | [`View`], its columns; finding one: [`view()`], [`view_in`], [`all`] |
//! | `engine` | [`Engine`]: what a view looks at |
//! | `sessions`, `waiting`, `statistics` | who does what, and where time went |
//! | `locks`, `buffers`, `files`, `recovery`, `parameters`, `misc` | the rest of the instance |
//! | `sql_cache`, `sql_views` | [`SqlCache`], which SQL's front door implements; `v$sql` |
//! | `objects`, `texts`, `oids`, `names` | the dictionary in the form that its views need |
//! | `dictionary`, `information_schema`, `pg` | its views: Oracle's, the standard's, PostgreSQL's |
//! | `lookup` | definitions by oid, for PostgreSQL's functions |
//! | `markdown` | [`markdown()`]: the reference of all views |
//!
//! Callers: the front door gives them to SQL; tools.

#![forbid(unsafe_code)]

mod buffers;
mod cells;
mod dictionary;
mod engine;
mod files;
mod information_schema;
mod list;
mod locks;
pub mod lookup;
mod markdown;
mod misc;
pub mod names;
mod objects;
mod oids;
mod parameters;
mod pg;
mod recovery;
mod sessions;
mod sql_cache;
mod sql_views;
mod statistics;
mod texts;
mod view;
mod waiting;

pub use engine::Engine;
pub use list::{all, view, view_in};
pub use markdown::markdown;
pub use sql_cache::{OperationWork, PlanOperation, SqlCache, SqlStatement, SqlWork};
pub use view::{Give, Rows, Schema, View, ViewColumn};

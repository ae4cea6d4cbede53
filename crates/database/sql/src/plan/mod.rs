//! From a tree of operations to a plan: how each of them is done, in which order joins are made,
//! and by which indexes tables are read.
//!
//! ```text
//!   Logical ─ rewrite ─▶ Logical ─┬─ tree ── one operation after the other
//!                                 ├─ block ─ inner joins: which order, which methods
//!                                 └─ access ─ a table: scan, or which index and which range of it
//!                                       ▲
//!                        statistics ── selectivity ── cost
//! ```
//!
//! | module | what it has |
//! |---|---|
//! | `physical` | [`Plan`]: of a statement, with what is done with its rows |
//! | `node`, `expressions` | [`Node`], [`Operation`]: the plan of rows, which borrows nothing |
//! | `statement`, `planner`, `tree` | what plans a statement; a frame; what isn't a join |
//! | `aggregate`, `sorted` | GROUP BY, DISTINCT; ORDER BY and LIMIT |
//! | `block`, `search`, `methods` | joins: what is joined, in which order, by which methods |
//! | `assemble`, `join` | the nodes of joins |
//! | `access`, `sargable`, `index` | paths to the rows of a table |
//! | `cost`, `selectivity` | how much there is, and how long it takes |
//! | `columns` | what is known of a node's columns |
//! | `depth` | how many levels a plan has |
//! | `fingerprint`, `text` | `plan_hash_value`; a plan as lines |
//!
//! Invariants
//!   * the same tree, statistics and settings give the same plan (rule SQ32)
//!   * a plan names tables and indexes by numbers that are never given again (rule SQ31)
//!   * the costs of one block and of many at once are taken apart, and neither depends on how many
//!     a scan reads at once while the instance runs (rule SQ33)
//!
//! Callers: `cache`; `explain`.
//! Sources: Selinger et al., Access Path Selection (SIGMOD '79), for orders of joins by dynamic
//! programming; Mackert and Lohman (TODS 1989), for blocks that an index leads to; PostgreSQL's
//! `costsize.c` and `selfuncs.c`.

mod access;
mod aggregate;
mod assemble;
mod block;
mod columns;
mod cost;
mod depth;
mod expressions;
mod fingerprint;
mod index;
mod join;
mod methods;
mod node;
mod physical;
mod planner;
mod sargable;
mod search;
mod selectivity;
mod sorted;
mod statement;
mod text;
mod tree;

#[cfg(test)]
mod tests;

pub(crate) use fingerprint::fingerprint;
pub(crate) use node::{FramePlan, IndexScan, KeyPart, Node, Operation, Search, TableScan};
pub(crate) use physical::{
    Action, DeleteAction, InsertAction, LockAction, LockedColumn, MergeAction, Plan, UpdateAction,
};
pub(crate) use planner::{Methods, Surroundings};
pub(crate) use statement::plan_statement;
pub(crate) use text::{PlanLine, lines};

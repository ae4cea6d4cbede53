//! Row sources: what a plan is made of when it runs. Each takes rows from those below it, and gives
//! rows in batches.
//!
//! ```text
//!   fetch ──▶ Limit ──▶ Sort ──▶ HashAggregate ──▶ HashJoin ──┬──▶ Filter ──▶ a scan of `sql`'s
//!                        │            │               │       └──▶ a scan of `sql`'s
//!                        └────────────┴───────────────┘
//!                          memory of `sort::Budget`; what doesn't fit goes through spools
//! ```
//!
//! A row source is an owner: it lives between calls, and borrows nothing. What it needs from the
//! statement (session, budget, slots, the clock of a cancel) comes with each call, as a [`World`].
//! Sources are generic over what is below them and not over the world, so `sql` may box them as
//! `Box<dyn Source<W>>`, or as `Box<dyn for<'a> Source<Running<'a>>>` if its world borrows.
//!
//! | module | what it has |
//! |---|---|
//! | `world` | [`World`], [`Spill`], [`Counts`], [`Figures`] |
//! | `source` | [`Source`], [`WorkArea`], [`BATCH_ROWS_MAX`] |
//! | `plan` | what the planner says to a source: keys, kinds of joins, calls of aggregates |
//! | `filter`, `project`, `limit`, `ties`, `values`, `append` | what needs no memory |
//! | `order`, `top` | [`Sort`]: all rows in order, or the first few |
//! | `distinct`, `set_operation` | [`Distinct`], [`Unique`], [`SetOperation`] |
//! | `hash_aggregate`, `sorted_aggregate` | [`HashAggregate`], [`SortedAggregate`] |
//! | `calls`, `ordered` | what each row gives to the aggregates of its group, in which order |
//! | `plain` | calls that only add up |
//! | `hash_join/` | [`HashJoin`] |
//! | `merge_join`, `nested_loop` | [`MergeJoin`], [`NestedLoop`] |
//! | `materialise` | [`Materialise`]: rows that are read again |
//! | `measured` | [`Measured`]: rows, time, gets and memory of a source, for EXPLAIN ANALYZE |
//! | `hash`, `table`, `groups` | rows found by the hash of their keys |
//! | `memory`, `partitions`, `passes`, `store` | rows in memory, and what doesn't fit there |
//!
//! | constructor | gives rows of | in order |
//! |---|---|---|
//! | `Filter::new(input, condition)` | the input | of the input |
//! | `Project::new(input, expressions)` | one column for each expression | of the input |
//! | `Limit::new(input, cut)`, `Limit::one_with(input, cut)` | the input | of the input |
//! | `Ties::new(input, cut, columns)` | the input | of the input, which is in order of these |
//! | `Values::new(width, rows)` | `width` columns | as they are listed |
//! | `Append::new(inputs)` | the first input | one input after the other |
//! | `Sort::new(input, keys)`, `Sort::top(input, keys, cut)` | the input | of the keys; stable |
//! | `Unique::new(input, columns)` | the input | of the input, which has equals together |
//! | `Distinct::new(input, columns)` | the input | any |
//! | `SetOperation::new(kind, left, right)` | the left | any |
//! | `HashAggregate::new(input, keys, calls)` | keys, then calls | any |
//! | `SortedAggregate::new(input, keys, calls)` | keys, then calls | of the input |
//! | `HashJoin::new(left, right, plan, build)` | left, then right; left alone | any |
//! | `MergeJoin::new(left, right, plan, orders)` | left, then right; left alone | of the keys |
//! | `NestedLoop::new(left, right, plan)` | left, then right; left alone | of the left |
//! | `Materialise::new(input, depends)` | the input | of the input |
//! | `Measured::new(input, place)` | the input | of the input |
//!
//! Rules RS are in the README. Callers: `sql`. Sources: Graefe, Volcano (TKDE '94), for sources
//! that open, fetch and close; DeWitt et al., Implementation Techniques for Main Memory Database
//! Systems (SIGMOD '84), for hash joins by partitions; PostgreSQL's executor, for which kinds of
//! joins each method can do.

#![forbid(unsafe_code)]

mod append;
mod calls;
mod distinct;
mod filter;
mod groups;
mod hash;
mod hash_aggregate;
mod hash_join;
mod limit;
mod materialise;
mod measured;
mod memory;
mod merge_join;
mod nested_loop;
mod order;
mod ordered;
mod partitions;
mod passes;
mod plain;
mod plan;
mod project;
mod set_operation;
mod sorted_aggregate;
mod source;
mod store;
mod table;
mod ties;
mod top;
mod values;
mod world;

pub use append::Append;
pub use distinct::{Distinct, Unique};
pub use filter::Filter;
pub use hash_aggregate::HashAggregate;
pub use hash_join::HashJoin;
pub use limit::Limit;
pub use materialise::Materialise;
pub use measured::Measured;
pub use merge_join::MergeJoin;
pub use nested_loop::NestedLoop;
pub use order::Sort;
pub use plan::{
    AggregateCall, CallKey, CallKeyValue, Cut, JoinKey, JoinKind, JoinPlan, KeyOrder, LoopPlan,
    SetKind, Side, SlotFrom, SortKey,
};
pub use project::Project;
pub use set_operation::SetOperation;
pub use sorted_aggregate::SortedAggregate;
pub use source::{BATCH_BYTES_MAX, BATCH_ROWS_MAX, Source, WorkArea};
pub use ties::Ties;
pub use values::Values;
pub use world::{Counts, Figures, Spill, World};

//! What SQL tells of the statements that it has in memory. This room doesn't know SQL: the front
//! door implements the trait over SQL's cache of plans.
//!
//! Callers: `sql_views`; SQL's front door implements it.

use catalog::ViewDefinition;
use stop::Stop;
use value::Type;
use waits::Nanos;

/// The statements in memory, with their plans.
pub trait SqlCache {
    /// Gives each statement to `look`, under no latch. An error that it returns ends the walk, and
    /// is returned. No session waits for this beyond a latch (VW1).
    fn statements(
        &self,
        look: &mut dyn FnMut(&SqlStatement<'_>) -> Result<(), Stop>,
    ) -> Result<(), Stop>;

    /// Gives each operation of each plan to `look`, in the order of its statement and its number.
    fn operations(
        &self,
        look: &mut dyn FnMut(&PlanOperation<'_>) -> Result<(), Stop>,
    ) -> Result<(), Stop>;

    /// The types of the columns of a user's view, in their order: they follow from its query. Those
    /// that aren't told are shown as texts.
    fn view_types(&self, view: &ViewDefinition) -> Result<Vec<Type>, Stop> {
        let _ = view;
        Ok(Vec::new())
    }
}

/// A statement in memory, with a plan: a child cursor in Oracle's words.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SqlStatement<'a> {
    /// The 64 bits of its `sql_id`.
    pub sql_id: u64,
    /// The number of this plan among those of the same text.
    pub child: u32,
    /// The text.
    pub text: &'a str,
    /// The number by which equal plans are known.
    pub plan_hash: u64,
    /// The word for the kind of statement, such as `SELECT`.
    pub command: &'a str,
    /// How often it was parsed, or found parsed.
    pub parse_calls: u64,
    /// The sessions that run it now.
    pub users_executing: u32,
    /// The bytes of its text and plan.
    pub memory: u64,
    /// When it came into memory, and when it was begun last: microseconds since 1970-01-01 00:00
    /// UTC.
    pub first_load_us: u64,
    /// See `first_load_us`.
    pub last_active_us: u64,
    /// What its executions took together.
    pub work: SqlWork,
}

/// What the executions of a statement took together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SqlWork {
    /// The executions that were begun.
    pub executions: u64,
    /// The fetches.
    pub fetches: u64,
    /// The executions whose rows were fetched to the end.
    pub ended: u64,
    /// The rows that were returned or changed.
    pub rows: u64,
    /// Consistent and current gets.
    pub gets: u64,
    /// Blocks read from disk.
    pub reads: u64,
    /// The elapsed time.
    pub elapsed: Nanos,
    /// The CPU time.
    pub cpu: Nanos,
}

/// An operation of a plan: a row source.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PlanOperation<'a> {
    /// The 64 bits of the statement's `sql_id`.
    pub sql_id: u64,
    /// The number of the plan among those of the same text.
    pub child: u32,
    /// The number by which equal plans are known.
    pub plan_hash: u64,
    /// Its number in the plan, from 0 on; an operation comes before those that feed it.
    pub id: u32,
    /// The operation that it feeds; none for the first one.
    pub parent: Option<u32>,
    /// Its place among those that feed the same operation, from 1 on.
    pub position: u32,
    /// How many operations are above it.
    pub depth: u32,
    /// What it does, such as `Table scan`.
    pub operation: &'a str,
    /// What it reads: a table, and the index by which it does.
    pub object: Option<&'a str>,
    /// The rows that it was thought to give, each time it starts.
    pub cardinality: f64,
    /// What it was thought to cost.
    pub cost: f64,
    /// The conditions by which it finds rows.
    pub access_predicates: Option<&'a str>,
    /// The conditions by which it drops rows.
    pub filter_predicates: Option<&'a str>,
    /// What it did; none if that wasn't measured.
    pub work: Option<OperationWork>,
}

/// What an operation did in all executions that were measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OperationWork {
    /// The executions that were measured.
    pub executions: u64,
    /// How often it was started.
    pub starts: u64,
    /// The rows that it gave.
    pub rows: u64,
    /// Consistent gets, with those of the operations that feed it.
    pub consistent_gets: u64,
    /// Current gets, in the same way.
    pub current_gets: u64,
    /// Blocks read from disk, in the same way.
    pub reads: u64,
    /// Blocks that it wrote to temporary space itself.
    pub writes: u64,
    /// The elapsed time, with that of the operations that feed it.
    pub elapsed: Nanos,
}

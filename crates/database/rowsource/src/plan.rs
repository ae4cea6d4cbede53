//! What the planner says to a source beside the sources below it.
//!
//! Callers: `sql`'s planner makes these; sources keep them.

use expression::{Aggregate, Expression, Kind};
use value::{Direction, NullOrdering};

/// A column by which rows are sorted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SortKey {
    /// The column's place in the input.
    pub column: usize,
    /// The kind of its values. Numbers of other kinds are converted to it, and a date to a
    /// timestamp, so that the bytes of keys compare as the values do (RS9).
    pub kind: Kind,
    /// The direction.
    pub direction: Direction,
    /// Where NULLs come.
    pub nulls: NullOrdering,
}

/// The order in which a key of a merge join comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyOrder {
    /// The direction.
    pub direction: Direction,
    /// Where NULLs come.
    pub nulls: NullOrdering,
}

/// Which rows are left out in front, and how many come then. Each is evaluated without a row when
/// the source starts. NULL stands for none left out, and for all.
#[derive(Clone, Debug, Default)]
pub struct Cut {
    /// How many rows are left out.
    pub offset: Option<Expression>,
    /// How many rows come at most.
    pub count: Option<Expression>,
}

/// Two columns that are equal in a joined row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JoinKey {
    /// The column's place in the left input.
    pub left: usize,
    /// The column's place in the right input.
    pub right: usize,
    /// Whether trailing blanks don't count, because one of the two is a CHAR.
    pub as_char: bool,
}

/// A kind of join. A right row *matches* a left one if all keys are equal and the condition is
/// true.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JoinKind {
    /// Each pair that matches.
    Inner,
    /// And each left row without a match, with NULLs.
    Left,
    /// And each right row without a match, with NULLs.
    Right,
    /// And both.
    Full,
    /// Each left row that has a match, once, alone: IN, EXISTS.
    Semi,
    /// Each left row that has none, alone: NOT EXISTS.
    Anti,
    /// Each left row for which `left NOT IN (right)` is true, alone: one key, no condition. With a
    /// NULL among the right keys it is true for no row; with no right row at all, for every row.
    NotIn,
}

impl JoinKind {
    /// Whether a joined row has the columns of both inputs.
    pub fn gives_both(self) -> bool {
        matches!(self, JoinKind::Inner | JoinKind::Left | JoinKind::Right | JoinKind::Full)
    }

    /// Whether left rows without a match come with NULLs.
    pub fn pads_left(self) -> bool {
        matches!(self, JoinKind::Left | JoinKind::Full)
    }

    /// Whether right rows without a match come with NULLs.
    pub fn pads_right(self) -> bool {
        matches!(self, JoinKind::Right | JoinKind::Full)
    }
}

/// One of the two inputs of a join.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The left one.
    Left,
    /// The right one.
    Right,
}

/// How a hash join or a merge join joins.
#[derive(Clone, Debug)]
pub struct JoinPlan {
    /// The kind.
    pub kind: JoinKind,
    /// The keys. A hash join without any compares each row with each.
    pub keys: Vec<JoinKey>,
    /// What else has to be true, over the columns of the left and then of the right input.
    pub condition: Option<Expression>,
}

/// A slot that gets the value of a column of the left row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlotFrom {
    /// The column's place in the left input.
    pub column: usize,
    /// The slot's number.
    pub slot: usize,
}

/// How a nested loop joins.
#[derive(Clone, Debug)]
pub struct LoopPlan {
    /// The kind: Inner, Left, Semi or Anti.
    pub kind: JoinKind,
    /// The slots that are set from each left row before the right input starts again.
    pub slots: Vec<SlotFrom>,
    /// What has to be true of a pair, over the columns of the left and then of the right input.
    pub condition: Option<Expression>,
}

/// A call of an aggregate.
#[derive(Clone, Debug)]
pub struct AggregateCall {
    /// The aggregate.
    pub aggregate: Aggregate,
    /// Its arguments, over the input's columns.
    pub arguments: Vec<Expression>,
    /// FILTER: which rows count.
    pub filter: Option<Expression>,
    /// Whether equal arguments count once in a group.
    pub distinct: bool,
    /// Whether the rows of a group come with equal arguments next to one another, in an order that
    /// matters. Only [`crate::SortedAggregate`] takes such a call.
    pub together: bool,
    /// The order in which it takes the rows of a group, if they come in another one: it keeps their
    /// arguments, and sorts them at the end (RS15). Empty: it takes them as they come.
    pub order: Vec<CallKey>,
}

/// A part of an order of a call's own.
#[derive(Clone, Debug)]
pub struct CallKey {
    /// What is compared.
    pub value: CallKeyValue,
    /// The kind of its values, as of a [`SortKey`].
    pub kind: Kind,
    /// The direction.
    pub direction: Direction,
    /// Where NULLs come.
    pub nulls: NullOrdering,
}

/// What a part of an order of a call's own compares.
#[derive(Clone, Debug)]
pub enum CallKeyValue {
    /// One of the call's arguments, by its place. A DISTINCT call has only such.
    Argument(usize),
    /// An expression over the input's columns.
    Computed(Expression),
}

/// A set operation. UNION ALL is [`crate::Append`], and UNION has [`crate::Distinct`] above that.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SetKind {
    /// Rows that both have, each once.
    Intersect,
    /// Rows that both have, as often as the one that has them less often.
    IntersectAll,
    /// Rows that the left has and the right hasn't, each once.
    Except,
    /// Rows that the left has, as often as it has them more often than the right.
    ExceptAll,
}

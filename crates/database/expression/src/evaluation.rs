//! What an evaluation needs besides its row.
//!
//! Callers: row sources and SQL, which make one for each batch of rows.

use std::cell::Cell;

use value::{OwnedValue, Timestamp, Value};

use crate::{Arena, Fault, Question};

/// The surroundings of an evaluation.
#[derive(Clone, Copy)]
pub struct Evaluation<'a> {
    /// The values of [`crate::Expression::Slot`]: parameters first.
    pub slots: &'a [OwnedValue],
    /// Where texts and bytes go that are made.
    pub arena: &'a Arena,
    /// The moment of `now()`: one for the whole statement, in UTC.
    pub moment: Timestamp,
    /// The name of `current_user`.
    pub user: &'a str,
    /// The state of `random()`. Whoever gives it has filled it with a number of the session's.
    pub dice: &'a Cell<u64>,
    /// Who answers subqueries, and says whether the statement is to end; none if nobody does.
    pub subqueries: Option<&'a dyn Subqueries>,
}

impl Evaluation<'_> {
    /// Refuses to go on if the statement is to end (EV15).
    #[inline]
    pub(crate) fn go_on(&self) -> Result<(), Fault> {
        match self.subqueries {
            Some(subqueries) => subqueries.go_on(),
            None => Ok(()),
        }
    }
}

/// Who answers the subqueries of expressions.
pub trait Subqueries {
    /// The answer to a question: a value for [`Question::Scalar`], else a truth value or NULL. A
    /// text of it is made in the arena.
    fn answer<'a>(&self, asked: &Asked<'_>, arena: &'a Arena) -> Result<Value<'a>, Fault>;

    /// Refuses to go on if the statement is to end (EV15).
    fn go_on(&self) -> Result<(), Fault> {
        Ok(())
    }
}

/// A question to a subquery, with the values of one row.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'q> {
    /// The subquery's number.
    pub number: usize,
    /// What is asked of its rows.
    pub question: Question,
    /// The values that its rows are compared with.
    pub tested: &'q [Value<'q>],
    /// The values that it takes from the row, in the environment's order.
    pub arguments: &'q [Value<'q>],
}

/// The most bytes of a value that is made before a statement runs, and kept with its plan.
const KEPT_BYTES_MAX: usize = 64 << 10;

/// A small source of constants: an evaluation without slots, subqueries and a user, for what is
/// computed before a statement runs.
#[derive(Debug, Default)]
pub struct Bare {
    arena: Arena,
    dice: Cell<u64>,
}

impl Bare {
    /// New surroundings.
    pub fn new() -> Bare {
        Bare::default()
    }

    /// New surroundings in which no large value can be made.
    pub(crate) fn small() -> Bare {
        Bare { arena: Arena::limited(KEPT_BYTES_MAX), dice: Cell::default() }
    }

    /// The evaluation in them. Only what is constant has its right value here.
    pub fn evaluation(&self) -> Evaluation<'_> {
        Evaluation {
            slots: &[],
            arena: &self.arena,
            moment: Timestamp::MIN,
            user: "",
            dice: &self.dice,
            subqueries: None,
        }
    }
}

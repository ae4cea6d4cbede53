//! What expressions ask of the connection that runs them, and not of their row: the next value of
//! a sequence, a setting.
//!
//! To an expression such a question is a scalar subquery with a number from [`HOST_CALLS`] on, so
//! whoever answers subqueries answers it.
//!
//! Callers: `bind`, which makes them; `run`, which answers them; `rewrite`, which leaves them where
//! they stand.

use expression::{Expression, Kind, Question, Subquery, Typed};
use ids::ObjectNo;

use crate::system::CatalogQuestion;

/// Questions to the connection have numbers from here on.
const HOST_CALLS: usize = 1 << 20;

/// A question to the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HostCall {
    /// The next value of a sequence.
    NextValue(ObjectNo),
    /// The value that this session was given last of a sequence.
    CurrentValue(ObjectNo),
    /// Sets the value of a sequence to the first argument, which counts as given unless the second
    /// one is false.
    SetValue(ObjectNo),
    /// The value that this session was given last of any sequence.
    LastValue,
    /// The name of a sequence, with its schema.
    SequenceName(ObjectNo),
    /// The value of a setting or parameter, whose name is the argument.
    Setting,
    /// The number of the session.
    SessionNumber,
    /// A question to the catalogue.
    Catalog(CatalogQuestion),
}

impl HostCall {
    /// Whether two calls may be answered differently.
    fn is_volatile(self) -> bool {
        use HostCall::{Catalog, SequenceName, SessionNumber};
        !matches!(self, SessionNumber | SequenceName(_) | Catalog(_))
    }

    /// The kind of the answer.
    fn kind(self) -> Kind {
        match self {
            HostCall::Setting | HostCall::SequenceName(_) => Kind::Text,
            HostCall::Catalog(question) => question.kind(),
            _ => Kind::Whole,
        }
    }
}

/// The question as an expression; `place` is its place among those of its frame.
pub(crate) fn asked(call: HostCall, place: usize, arguments: Vec<Expression>) -> Typed {
    let kind = call.kind();
    let volatile = if call.is_volatile() { 0 } else { STABLE };
    let subquery = Subquery {
        number: HOST_CALLS + volatile + place,
        question: Question::Scalar,
        tested: Vec::new(),
        arguments,
        kind,
    };
    Typed::new(Expression::Subquery(Box::new(subquery)), kind)
}

/// Questions that are answered alike by one statement have numbers from `HOST_CALLS` and this on.
const STABLE: usize = 1 << 19;

/// The place of a question among those of its frame; none if it is a subquery's number.
pub(crate) fn host_call_of(number: usize) -> Option<usize> {
    let number = number.checked_sub(HOST_CALLS)?;
    Some(number & (STABLE - 1))
}

/// Whether an expression may differ from one evaluation to the next with the same row: it calls
/// such a function, or takes a value of a sequence.
pub(crate) fn is_volatile(expression: &Expression) -> bool {
    let mut is = expression.is_volatile();
    expression.walk(&mut |part| {
        if let Expression::Subquery(subquery) = part {
            is |= subquery.number.checked_sub(HOST_CALLS).is_some_and(|number| number < STABLE);
        }
    });
    is
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_a_sequence_is_taken_once_for_each_row_and_no_more() {
        let next = asked(HostCall::NextValue(ObjectNo::new(3)), 5, Vec::new());
        assert!(is_volatile(&next.expression));
        let set = asked(HostCall::SetValue(ObjectNo::new(3)), 7, Vec::new());
        assert!(is_volatile(&set.expression));
        let own = asked(HostCall::SessionNumber, 6, Vec::new());
        assert!(!is_volatile(&own.expression));
        let number = |typed: &Typed| match &typed.expression {
            Expression::Subquery(subquery) => host_call_of(subquery.number),
            _ => None,
        };
        assert_eq!((number(&next), number(&own)), (Some(5), Some(6)));
        assert_eq!(host_call_of(7), None);
    }
}

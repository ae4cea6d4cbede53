//! Calls of aggregates that only add up what a column has: no FILTER, no DISTINCT, no order of
//! their own, and nothing is kept beside the accumulator. So nothing is evaluated and no memory is
//! reckoned for a row, and a batch whose rows are all of one group is taken column by column.
//!
//! Callers: `calls`.

use expression::{Accumulator, Aggregate, Expression, Fault, RowOf, Rows};
use value::Value;

use crate::AggregateCall;
use crate::ordered::CallState;

/// What such a call takes of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Plain {
    /// That it is there.
    Row,
    /// The value of this column.
    Column(usize),
}

impl Plain {
    /// What each of these calls takes; none if one of them isn't such a call.
    pub(crate) fn of_all(calls: &[AggregateCall]) -> Option<Vec<Plain>> {
        calls.iter().map(Plain::of).collect()
    }

    fn of(call: &AggregateCall) -> Option<Plain> {
        let aggregate = call.aggregate;
        let keeps = matches!(
            aggregate,
            Aggregate::Min | Aggregate::Max | Aggregate::AnyValue | Aggregate::StringAgg
        );
        if keeps || call.distinct || call.filter.is_some() || !call.order.is_empty() {
            return None;
        }
        match call.arguments[..] {
            [] if aggregate == Aggregate::CountAll => Some(Plain::Row),
            [Expression::Column(column)] => Some(Plain::Column(column)),
            _ => None,
        }
    }

    /// Gives a row to the call.
    #[inline]
    pub(crate) fn add(self, row: RowOf<'_>, to: &mut CallState) -> Result<(), Fault> {
        let value = match self {
            Plain::Row => Value::Null,
            Plain::Column(column) => row.get(column),
        };
        accumulator(to).add(value, Value::Null)
    }

    /// Gives all of these rows to the call.
    pub(crate) fn add_all(self, rows: &Rows, to: &mut CallState) -> Result<(), Fault> {
        match self {
            Plain::Row => {
                accumulator(to).add_rows(rows.len());
                Ok(())
            }
            Plain::Column(column) => accumulator(to).add_column(rows, column),
        }
    }
}

#[inline]
fn accumulator(state: &mut CallState) -> &mut Accumulator {
    match state {
        CallState::AtOnce(accumulator) => accumulator,
        CallState::Kept(_) => unreachable!("a call without an order takes rows as they come"),
    }
}

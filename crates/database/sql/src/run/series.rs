//! `generate_series`: numbers or moments from a first to a last one.
//!
//! Invariants
//!   * a step of zero is refused; NULL anywhere gives no rows
//!   * a step that leads out of the range of its kind ends the series
//!
//! Callers: `build`.

use std::cmp::Ordering;

use expression::{Expression, Fault, NoRow, Operator, Rows};
use rowsource::{Source, World};
use stop::{SqlState, Stop};
use value::{Interval, OwnedValue, Value};

use super::machine::Running;
use super::pending::has_room;

/// A series.
pub(super) struct Series {
    /// First, last, and perhaps a step.
    arguments: Vec<Expression>,
    /// The next value plus the step.
    sum: Expression,
    /// None while it is closed, and behind its end.
    state: Option<State>,
}

struct State {
    last: OwnedValue,
    /// The next value and the step.
    next: Vec<OwnedValue>,
    falls: bool,
}

impl Series {
    /// The series of these arguments.
    pub(super) fn new(arguments: Vec<Expression>) -> Series {
        let sum = Expression::Arithmetic {
            operator: Operator::Add,
            left: Box::new(Expression::Column(0)),
            right: Box::new(Expression::Column(1)),
        };
        Series { arguments, sum, state: None }
    }

    fn begin(&self, world: &Running<'_>) -> Result<Option<State>, Stop> {
        let with = world.evaluation();
        let mut values = Vec::with_capacity(3);
        for argument in &self.arguments {
            values.push(argument.evaluate(&NoRow, &with)?.to_owned());
        }
        if values.iter().any(|value| value.get().is_null()) {
            return Ok(None);
        }
        let step = match values.get(2) {
            Some(step) => step.clone(),
            None => Value::Int(1).to_owned(),
        };
        let falls = match direction(step.get()) {
            Ordering::Less => true,
            Ordering::Greater => false,
            Ordering::Equal => return Err(no_step().into()),
        };
        let last = values[1].clone();
        Ok(Some(State { last, next: vec![values[0].clone(), step], falls }))
    }
}

/// The direction in which a step leads.
fn direction(step: Value<'_>) -> Ordering {
    let zero = match step {
        Value::Interval(_) => Value::Interval(Interval::ZERO),
        _ => Value::Int(0),
    };
    step.compare(zero).unwrap_or(Ordering::Equal)
}

#[cold]
fn no_step() -> Fault {
    Fault::new(SqlState::INVALID_PARAMETER_VALUE, "generate_series needs a step other than zero")
}

impl State {
    /// Whether the next value is behind the last one.
    fn is_over(&self) -> bool {
        let order = self.next[0].get().compare(self.last.get());
        let behind = if self.falls { Ordering::Less } else { Ordering::Greater };
        order.is_none_or(|order| order == behind)
    }
}

impl<'a> Source<Running<'a>> for Series {
    fn open(&mut self, world: &mut Running<'a>) -> Result<(), Stop> {
        world.reset_arena();
        self.state = self.begin(world)?;
        Ok(())
    }

    fn fetch(&mut self, world: &mut Running<'a>, into: &mut Rows) -> Result<bool, Stop> {
        world.check()?;
        world.reset_arena();
        let (with, most) = (world.evaluation(), world.batch());
        while let Some(state) = &mut self.state {
            if state.is_over() {
                self.state = None;
                break;
            }
            if !has_room(into, most) {
                break;
            }
            into.push([state.next[0].get()]);
            let next = self.sum.evaluate(&state.next, &with).map(|next| next.to_owned());
            match next {
                Ok(next) => state.next[0] = next,
                // A value that no kind holds is behind every last one.
                Err(fault) if is_out_of_range(&fault) => self.state = None,
                Err(fault) => return Err(fault.into()),
            }
        }
        Ok(self.state.is_some())
    }

    fn close(&mut self, _: &mut Running<'a>) {
        self.state = None;
    }

    fn width(&self) -> usize {
        1
    }
}

fn is_out_of_range(fault: &Fault) -> bool {
    let state = fault.state();
    state == SqlState::NUMERIC_VALUE_OUT_OF_RANGE || state == SqlState::DATETIME_FIELD_OVERFLOW
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_says_in_which_direction_a_series_goes() {
        let back = Interval::new(-1, 0, 0);
        assert_eq!(direction(Value::Interval(back)), Ordering::Less);
        assert_eq!(direction(Value::Double(0.5)), Ordering::Greater);
        assert_eq!(direction(Value::Int(0)), Ordering::Equal);
        assert_eq!(direction(Value::Interval(Interval::ZERO)), Ordering::Equal);
    }

    #[test]
    fn a_series_ends_behind_its_last_value_in_its_direction() {
        let state = |next: i64, last: i64, falls: bool| State {
            last: Value::Int(last).to_owned(),
            next: vec![Value::Int(next).to_owned(), Value::Int(1).to_owned()],
            falls,
        };
        assert!(!state(5, 5, false).is_over() && state(6, 5, false).is_over());
        assert!(!state(5, 5, true).is_over() && state(4, 5, true).is_over());
    }
}

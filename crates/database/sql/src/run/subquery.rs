//! Subqueries in expressions: each is run when it is asked, and answers are kept as long as they
//! are right.
//!
//! ```text
//!   asked ─▶ kept? ──yes──▶ answer
//!              │ no
//!              ▼
//!   arguments into slots ─▶ its machine starts again ─▶ as many rows as decide ─▶ answer, kept
//! ```
//!
//! Invariants
//!   * an answer is kept only if the same arguments give the same rows: nothing volatile is called
//!   * the rows of a subquery are those of the statement's view (rule SQ40)
//!   * values of a subquery that takes no arguments are kept as far as the budget has memory for
//!     them; if it hasn't, the subquery runs again for each question (rule SQ41)
//!
//! Callers: expressions that row sources evaluate, by way of `Running`.

use expression::{Arena, Asked, Comparison, Fault, Question, Rows, Subqueries};
use rowsource::{BATCH_ROWS_MAX, Figures, World};
use sort::Grant;
use stop::{SqlState, Stop};
use value::{OwnedValue, Value};

use super::answers::{ValueSet, Verdict, compare, is_same};
use super::machine::{Env, Machine, Running};
use super::volatile;
use crate::logical::host_call_of;
use crate::refuse::refuse;

/// The rows of the first fetch of a comparison: often one of them decides.
const FIRST_ROWS: usize = 16;

/// Answers questions to one subquery of a frame.
#[derive(Default)]
pub(super) struct Answerer {
    /// None until it is asked.
    machine: Option<Box<Machine>>,
    /// The slots of its frame that arguments go into.
    arguments: Vec<usize>,
    /// Whether the same arguments give the same rows.
    is_repeatable: bool,
    /// How often its machine has started.
    starts: u64,
    kept: Kept,
    /// The memory of what is kept.
    grant: Option<Grant>,
    batch: Rows,
}

/// What is kept of its rows.
#[derive(Default)]
enum Kept {
    #[default]
    Nothing,
    /// The answer to the last question.
    Last(LastAnswer),
    /// The values of all rows, of a subquery without arguments.
    Values(ValueSet),
    /// They are too many.
    TooMany(LastAnswer),
}

/// A question with its answer.
struct LastAnswer {
    question: Question,
    tested: Vec<OwnedValue>,
    arguments: Vec<OwnedValue>,
    answer: OwnedValue,
}

impl LastAnswer {
    fn is_of(&self, asked: &Asked<'_>) -> bool {
        let same = |kept: &[OwnedValue], now: &[Value<'_>]| {
            kept.iter().zip(now).all(|(kept, now)| is_same(kept.get(), *now))
        };
        self.question == asked.question
            && same(&self.arguments, asked.arguments)
            && same(&self.tested, asked.tested)
    }
}

impl Subqueries for Running<'_> {
    fn answer<'a>(&self, asked: &Asked<'_>, arena: &'a Arena) -> Result<Value<'a>, Fault> {
        match host_call_of(asked.number) {
            Some(place) => self.host_answers().call(place, asked.arguments, arena),
            None => {
                let mut answerer = self.frame.answerers[asked.number].borrow_mut();
                answerer.answer(asked, self, arena)
            }
        }
    }

    fn go_on(&self) -> Result<(), Fault> {
        Ok(self.check()?)
    }
}

impl Answerer {
    fn answer<'a>(
        &mut self,
        asked: &Asked<'_>,
        of: &Running<'_>,
        arena: &'a Arena,
    ) -> Result<Value<'a>, Fault> {
        of.check()?;
        if self.machine.is_none() {
            self.make(asked.number, of);
        }
        if let Some(answer) = self.kept_answer(asked) {
            return copied(answer, arena);
        }
        if self.has_use_for_values(asked) && self.keep_values(of.env)? {
            let answer = self.kept_answer(asked);
            return copied(answer.expect("the values answer it"), arena);
        }
        let answer = self.ask(asked, of.env)?;
        let given = copied(answer.get(), arena)?;
        self.keep(asked, answer);
        Ok(given)
    }

    /// Makes the subquery's machine.
    fn make(&mut self, number: usize, of: &Running<'_>) {
        let plan = of.frame.plan().subqueries[number].as_ref();
        let plan = plan.expect("a subquery that is asked has a plan");
        self.arguments.clone_from(&plan.arguments);
        self.is_repeatable = !volatile::is_in(&plan.frame);
        let machine = of.frame.machine_of(number);
        self.batch = Rows::new(machine.width);
        self.machine = Some(Box::new(machine));
    }

    /// The answer, if what is kept says it.
    fn kept_answer(&self, asked: &Asked<'_>) -> Option<Value<'_>> {
        match (&self.kept, asked.question) {
            (Kept::Last(last) | Kept::TooMany(last), _) => {
                last.is_of(asked).then(|| last.answer.get())
            }
            (Kept::Values(values), Question::Any(comparison)) => {
                Some(truth(values.any(comparison, asked.tested[0])))
            }
            (Kept::Values(values), Question::All(comparison)) => {
                Some(truth(values.all(comparison, asked.tested[0])))
            }
            _ => None,
        }
    }

    /// Whether the values of all rows are to be kept: it was asked before, and its rows stay.
    fn has_use_for_values(&self, asked: &Asked<'_>) -> bool {
        let compares = matches!(asked.question, Question::Any(_) | Question::All(_));
        let may = !matches!(self.kept, Kept::TooMany(_));
        may && compares
            && self.starts > 0
            && self.is_repeatable
            && self.arguments.is_empty()
            && asked.tested.len() == 1
    }

    /// Keeps the values of all rows. Returns false if there is no memory for them.
    fn keep_values(&mut self, env: &Env<'_>) -> Result<bool, Stop> {
        let Answerer { machine, batch, grant, kept, starts, .. } = self;
        let machine = machine.as_mut().expect("it was made");
        let grant = grant.get_or_insert_with(|| env.host.budget.grant());
        let (mut values, mut bytes): (Vec<OwnedValue>, u64) = (Vec::new(), 0);
        *starts += 1;
        machine.open(env)?;
        let mut more = true;
        while more {
            batch.clear();
            more = machine.fetch(BATCH_ROWS_MAX, env, batch)?;
            // A value and its text; and all again while they are sorted.
            bytes += 2 * batch.bytes_used() as u64;
            if grant.grow_to(bytes, env.host.session) < bytes {
                grant.shrink_to(0, env.host.session);
                if let Kept::Last(last) = std::mem::take(kept) {
                    *kept = Kept::TooMany(last);
                }
                return Ok(false);
            }
            values.extend(batch.iter().map(|row| row.get(0).to_owned()));
        }
        *kept = Kept::Values(ValueSet::of(values));
        machine.close(env);
        Ok(true)
    }

    /// Runs the subquery, as far as it has to.
    fn ask(&mut self, asked: &Asked<'_>, env: &Env<'_>) -> Result<OwnedValue, Stop> {
        let machine = self.machine.as_mut().expect("it was made");
        for (slot, value) in self.arguments.iter().zip(asked.arguments) {
            machine.frame.slots[*slot] = (*value).to_owned();
        }
        self.starts += 1;
        machine.open(env)?;
        match asked.question {
            Question::Scalar => self.scalar(env),
            Question::Exists => self.exists(env),
            Question::Any(comparison) => {
                self.compared(Verdict::any(), comparison, asked.tested, env)
            }
            Question::All(comparison) => {
                self.compared(Verdict::all(), comparison, asked.tested, env)
            }
        }
    }

    fn scalar(&mut self, env: &Env<'_>) -> Result<OwnedValue, Stop> {
        let Answerer { machine, batch, .. } = self;
        let machine = machine.as_mut().expect("it was made");
        let (mut found, mut more) = (None, true);
        while more {
            batch.clear();
            more = machine.fetch(2, env, batch)?;
            for row in batch.iter() {
                if found.replace(row.get(0).to_owned()).is_some() {
                    return Err(several_rows());
                }
            }
        }
        Ok(found.unwrap_or(OwnedValue::NULL))
    }

    fn exists(&mut self, env: &Env<'_>) -> Result<OwnedValue, Stop> {
        let Answerer { machine, batch, .. } = self;
        let machine = machine.as_mut().expect("it was made");
        let mut more = true;
        batch.clear();
        while more && batch.is_empty() {
            more = machine.fetch(1, env, batch)?;
        }
        Ok(Value::Boolean(!batch.is_empty()).to_owned())
    }

    fn compared(
        &mut self,
        mut verdict: Verdict,
        comparison: Comparison,
        tested: &[Value<'_>],
        env: &Env<'_>,
    ) -> Result<OwnedValue, Stop> {
        let Answerer { machine, batch, .. } = self;
        let machine = machine.as_mut().expect("it was made");
        let (mut most, mut more) = (FIRST_ROWS, true);
        while more {
            batch.clear();
            more = machine.fetch(most, env, batch)?;
            most = BATCH_ROWS_MAX;
            let is_decided = batch.iter().any(|row| verdict.take(compare(comparison, tested, row)));
            more &= !is_decided;
        }
        Ok(truth(verdict.answer()).to_owned())
    }

    /// Keeps an answer for the case that the next question is the same.
    fn keep(&mut self, asked: &Asked<'_>, answer: OwnedValue) {
        if !self.is_repeatable {
            return;
        }
        let owned = |values: &[Value<'_>]| -> Vec<OwnedValue> {
            values.iter().copied().map(Value::to_owned).collect()
        };
        let last = LastAnswer {
            question: asked.question,
            tested: owned(asked.tested),
            arguments: owned(asked.arguments),
            answer,
        };
        self.kept = match self.kept {
            Kept::TooMany(_) => Kept::TooMany(last),
            _ => Kept::Last(last),
        };
    }

    /// Adds the figures of its sources to `into`.
    pub(super) fn add_figures(&self, into: &mut Vec<Figures>) {
        if let Some(machine) = &self.machine {
            machine.add_figures(into);
        }
    }

    /// Gives its memory and its files back. What it was asked is forgotten; its figures stay until
    /// it is asked again.
    pub(super) fn close(&mut self, env: &Env<'_>) {
        self.kept = Kept::Nothing;
        self.batch = Rows::new(self.batch.width());
        if let Some(machine) = &mut self.machine {
            machine.close(env);
        }
        if let Some(grant) = self.grant.take() {
            grant.close(env.host.session);
        }
    }

    /// Forgets its machine: the frame gets other parameters.
    pub(super) fn forget(&mut self) {
        *self = Answerer::default();
    }
}

fn truth(is: Option<bool>) -> Value<'static> {
    is.map_or(Value::Null, Value::Boolean)
}

/// The value, with its text in the arena.
pub(super) fn copied<'a>(value: Value<'_>, arena: &'a Arena) -> Result<Value<'a>, Fault> {
    Ok(match value {
        Value::Text(text) => {
            arena.check(text.len())?;
            Value::Text(arena.text(text))
        }
        Value::Bytes(bytes) => {
            arena.check(bytes.len())?;
            Value::Bytes(arena.copy(bytes))
        }
        Value::Null => Value::Null,
        Value::Int(int) => Value::Int(int),
        Value::Number(number) => Value::Number(number),
        Value::Double(double) => Value::Double(double),
        Value::Boolean(is) => Value::Boolean(is),
        Value::Date(day) => Value::Date(day),
        Value::Timestamp(moment) => Value::Timestamp(moment),
        Value::Interval(span) => Value::Interval(span),
    })
}

#[cold]
fn several_rows() -> Stop {
    let message = "a subquery that stands for one value has several rows; choose one, as by \
                   LIMIT 1 or an aggregate";
    refuse(SqlState::CARDINALITY_VIOLATION, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked<'q>(tested: &'q [Value<'q>], arguments: &'q [Value<'q>]) -> Asked<'q> {
        Asked { number: 0, question: Question::Any(Comparison::Equal), tested, arguments }
    }

    /// The answer to a question is that to the same question again, and to no other: 0.0 and -0.0
    /// are other arguments, for a subquery may show them.
    #[test]
    fn a_kept_answer_is_that_of_the_same_question_alone() {
        let last = LastAnswer {
            question: Question::Any(Comparison::Equal),
            tested: vec![Value::Int(1).to_owned()],
            arguments: vec![Value::Double(0.0).to_owned()],
            answer: Value::Boolean(true).to_owned(),
        };
        assert!(last.is_of(&asked(&[Value::Int(1)], &[Value::Double(0.0)])));
        assert!(!last.is_of(&asked(&[Value::Int(2)], &[Value::Double(0.0)])));
        assert!(!last.is_of(&asked(&[Value::Int(1)], &[Value::Double(-0.0)])));
        let other = Asked { question: Question::All(Comparison::NotEqual), ..asked(&[], &[]) };
        assert!(!last.is_of(&other));
    }

    #[test]
    fn an_answer_is_copied_with_its_text() {
        let arena = Arena::new();
        let text = String::from("añb");
        let copy = copied(Value::Text(&text), &arena).expect("there is room");
        drop(text);
        assert_eq!(copy, Value::Text("añb"));
    }
}

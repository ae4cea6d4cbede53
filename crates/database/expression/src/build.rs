//! Makes expressions of typed parts, and puts in the CASTs that SQL leaves out.
//!
//! ```text
//!   name = 'a'      Typed(Column 3, Text)   Typed(literal 'a', Unknown)
//!                                           ▼ takes the other side's kind
//!                   Compare(=, Column 3, Constant 'a')
//! ```
//!
//! What is converted by itself is what PostgreSQL converts: a literal in quotes, NULL and a
//! parameter become whatever they meet; whole numbers become NUMBERs and doubles, NUMBERs doubles;
//! days moments; CHARs texts. Everything else needs a CAST of the user's.
//!
//! Invariants
//!   * an expression that is made here is of the kind that stands beside it (rule EV1)
//!   * numbers of different kinds, and days and moments, are compared as they are: no CAST loses
//!     digits (rule EV4)
//!   * a CHAR is compared with a literal without the literal's blanks at the end, and with a text
//!     as a text (rule EV5)
//!
//! Callers: SQL's binder.

mod conditional;
mod convert;
mod operators;

pub use conditional::{case, in_list, is_null, is_truth, like};
pub use operators::{
    and, arithmetic, between, compare, complement, concat, is_distinct, negate, not, or,
};

use stop::SqlState;
use value::{OwnedValue, Value};

use crate::functions::{self, Resolved};
use crate::{Expression, Fault, Kind, Question, Subquery};

/// An expression and the kind of its values.
#[derive(Clone, PartialEq, Debug)]
pub struct Typed {
    /// The expression.
    pub expression: Expression,
    /// The kind.
    pub kind: Kind,
}

/// WHEN ... THEN of a CASE.
#[derive(Clone, Debug)]
pub struct TypedBranch {
    /// The condition, or the value that the operand is compared with.
    pub when: Typed,
    /// The result.
    pub then: Typed,
}

/// How a LIKE looks at texts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LikeOptions {
    /// ILIKE.
    pub ignore_case: bool,
    /// NOT LIKE.
    pub negated: bool,
}

impl Typed {
    /// An expression of that kind.
    pub fn new(expression: Expression, kind: Kind) -> Typed {
        Typed { expression, kind }
    }

    /// A value whose kind is known: a number, TRUE, DATE '...'.
    pub fn value(value: Value<'_>) -> Typed {
        Typed::new(Expression::from(value), Kind::of(value))
    }

    /// A literal in quotes: it takes the kind of what it meets, and is a text if it meets nothing.
    pub fn literal(text: &str) -> Typed {
        Typed::new(Expression::from(Value::Text(text)), Kind::Unknown)
    }

    /// NULL.
    pub fn null() -> Typed {
        Typed::new(Expression::Constant(OwnedValue::NULL), Kind::Unknown)
    }

    /// A column of the row.
    pub fn column(column: usize, kind: Kind) -> Typed {
        Typed::new(Expression::Column(column), kind)
    }

    /// A slot. A parameter whose kind isn't known yet is `Unknown`: where it meets a kind, a CAST
    /// to that kind is put around it, which [`Expression::walk`] finds.
    pub fn slot(slot: usize, kind: Kind) -> Typed {
        Typed::new(Expression::Slot(slot), kind)
    }

    /// A subquery. The values that are `tested` and its columns are of kinds that can be compared,
    /// and `column` is the kind of its first column.
    pub fn subquery(
        number: usize,
        question: Question,
        tested: Vec<Typed>,
        arguments: Vec<Expression>,
        column: Kind,
    ) -> Result<Typed, Fault> {
        let kind = match question {
            Question::Scalar => column,
            Question::Exists | Question::Any(_) | Question::All(_) => Kind::Boolean,
        };
        let needs_values = matches!(question, Question::Any(_) | Question::All(_));
        if needs_values == tested.is_empty() {
            let say = "a subquery is compared with values behind IN, ANY and ALL, and only there";
            return Err(Fault::new(SqlState::SYNTAX_ERROR, say));
        }
        let tested = tested.into_iter().map(|one| one.settled().expression).collect();
        let subquery = Subquery { number, question, tested, arguments, kind };
        Ok(Typed::new(Expression::Subquery(Box::new(subquery)), kind))
    }

    /// The expression in a box, for a part of another one.
    fn boxed(self) -> Box<Expression> {
        Box::new(self.expression)
    }
}

/// Brings all to one kind, as UNION, VALUES and CASE do. `what` names the construct in a refusal.
pub fn unify(what: &str, parts: Vec<Typed>) -> Result<Vec<Typed>, Fault> {
    let kind = Kind::unify(what, parts.iter().map(|part| part.kind))?;
    parts.into_iter().map(|part| part.implicit(kind)).collect()
}

/// A call by name: functions, and what looks like one (coalesce, nullif, nvl, nvl2, decode,
/// greatest, least). 42883 if there is none for these kinds. Aggregates aren't found here:
/// [`crate::Aggregate::resolve`].
pub fn call(name: &str, arguments: Vec<Typed>) -> Result<Typed, Fault> {
    let name = name.to_ascii_lowercase();
    if let Some(made) = conditional::form(&name, &arguments)? {
        return Ok(made);
    }
    let kinds: Vec<Kind> = arguments.iter().map(|argument| argument.kind).collect();
    let Resolved { function, arguments: wanted, kind } = functions::resolve(&name, &kinds)?;
    let mut converted = Vec::with_capacity(arguments.len());
    for (argument, wanted) in arguments.into_iter().zip(wanted) {
        let argument = match wanted {
            Kind::Unknown => argument.settled(),
            wanted => argument.implicit(wanted)?,
        };
        converted.push(argument.expression);
    }
    Ok(Typed::new(Expression::Call { function, arguments: converted }, kind))
}

/// No operator of this sign for these kinds.
#[cold]
fn no_operator(left: Kind, sign: &str, right: Kind) -> Fault {
    let say = format!("operator does not exist: {left} {sign} {right}");
    let hint = match left.is_text() != right.is_text() {
        true => "a text isn't converted by itself: make both sides one kind with CAST",
        false => "make both sides kinds that go together with CAST",
    };
    Fault::new(SqlState::UNDEFINED_FUNCTION, say).with_hint(hint)
}

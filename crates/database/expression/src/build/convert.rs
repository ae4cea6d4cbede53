//! Conversions of typed expressions: by themselves, by CAST, and for a column that is assigned to.
//!
//! | conversion | which |
//! |---|---|
//! | by itself | `Unknown` to all; whole to NUMBER to double; day to moment; CHAR to text |
//! | assigned | these; numbers to each other; moment to day; all to texts |
//! | by CAST | these; texts to all; truth values and whole numbers to each other |
//!
//! Callers: `build` and its parts; SQL's binder.
//! Sources: PostgreSQL's `pg_cast`.

use stop::SqlState;
use value::{Type, Value};

use super::{Typed, arithmetic, call};
use crate::cast;
use crate::kind::IMPOSSIBLE;
use crate::{Bare, CastTo, Expression, Fault, Kind, Operator};

impl Typed {
    /// The expression, converted without a CAST of the user's: 42804 if it needs one.
    pub fn implicit(self, to: Kind) -> Result<Typed, Fault> {
        if self.kind == to || to == Kind::Unknown {
            return Ok(self);
        }
        if self.kind == Kind::Unknown {
            return self.known_as(CastTo::Kind(to));
        }
        match self.kind.cost_as(to) {
            IMPOSSIBLE => {
                let say = format!("a value of kind {} is used as {to}", self.kind);
                Err(Fault::new(SqlState::DATATYPE_MISMATCH, say)
                    .with_hint(format!("convert it with CAST(... AS {to})")))
            }
            _ => Ok(self.converted(CastTo::Kind(to))),
        }
    }

    /// CAST(... AS ...): 42846 if there is none.
    pub fn cast(self, to: CastTo) -> Result<Typed, Fault> {
        if self.kind == Kind::Unknown {
            return self.known_as(to);
        }
        if !may_cast(self.kind, to.kind()) {
            let say = format!("cannot cast type {} to {}", self.kind, to.kind());
            return Err(Fault::new(SqlState::CANNOT_COERCE, say));
        }
        Ok(self.converted(to))
    }

    /// The expression as a value for a column of this type, which [`Type::fit`] takes when it is
    /// stored: 42804 if it needs a CAST.
    pub fn assigned(self, to: Type, column: &str) -> Result<Typed, Fault> {
        let kind = Kind::from(to);
        if self.kind == Kind::Unknown {
            return self.known_as(CastTo::Kind(kind));
        }
        // What a column takes of itself isn't converted twice: it rounds only once.
        let fits_itself = (self.kind.is_number() && kind.is_number())
            || (self.kind.is_moment() && kind.is_moment())
            || (self.kind.is_text() && kind.is_text());
        if self.kind == kind || fits_itself {
            return Ok(self);
        }
        if kind.is_text() {
            return Ok(self.converted(CastTo::Kind(Kind::Text)));
        }
        let say =
            format!("column {column} is of type {to} but expression is of type {}", self.kind);
        Err(Fault::new(SqlState::DATATYPE_MISMATCH, say)
            .with_hint(format!("convert it with CAST(... AS {to})")))
    }

    /// The expression as a condition (WHERE, ON, HAVING, CHECK): 42804 if it isn't a truth value.
    pub fn condition(self, clause: &str) -> Result<Expression, Fault> {
        self.truth(clause).map(|typed| typed.expression)
    }

    /// The expression as a result: a literal that met nothing is a text now.
    pub fn settled(self) -> Typed {
        match (self.kind, &self.expression) {
            (Kind::Unknown, Expression::Constant(_)) => Typed::new(self.expression, Kind::Text),
            (Kind::Unknown, _) => self.converted(CastTo::Kind(Kind::Text)),
            _ => self,
        }
    }

    /// The expression as a truth value, which `of` asks for.
    pub(super) fn truth(self, of: &str) -> Result<Typed, Fault> {
        match self.kind {
            Kind::Boolean => Ok(self),
            Kind::Unknown => self.known_as(CastTo::Kind(Kind::Boolean)),
            kind => {
                let say = format!("argument of {of} must be type boolean, not type {kind}");
                Err(Fault::new(SqlState::DATATYPE_MISMATCH, say))
            }
        }
    }

    /// An expression of unknown kind as one of a kind. A literal is converted at once, so that the
    /// statement is refused before it runs.
    fn known_as(self, to: CastTo) -> Result<Typed, Fault> {
        let kind = to.kind();
        let Some(value) = self.expression.constant() else { return Ok(self.converted(to)) };
        if let Value::Text(text) = value
            && kind.is_moment()
            && let Some(moment) = named_moment(text, kind)
        {
            return moment;
        }
        let bare = Bare::new();
        let made = cast::cast(value, to, &bare.evaluation())?;
        Ok(Typed::new(Expression::from(made), kind))
    }

    /// The expression with a CAST around it, if that does anything.
    fn converted(self, to: CastTo) -> Typed {
        let kind = to.kind();
        let does_nothing = match to {
            // A CHAR has no blanks at its end, so it is a text as it is.
            CastTo::Kind(_) => self.kind == kind || (self.kind == Kind::Char && kind == Kind::Text),
            CastTo::Type(of) => self.kind == kind && !is_limited(of),
        };
        if does_nothing {
            return Typed::new(self.expression, kind);
        }
        let value = Box::new(self.expression);
        Typed::new(Expression::Cast { to, value }, kind)
    }
}

/// The moment that a literal names, such as `today`: it is known when the statement runs. None if
/// it names none.
fn named_moment(text: &str, kind: Kind) -> Option<Result<Typed, Fault>> {
    let named = |name: &str| text.trim().eq_ignore_ascii_case(name);
    if named("now") && kind == Kind::Timestamp {
        return Some(call("now", Vec::new()));
    }
    let days = [("now", 0), ("today", 0), ("tomorrow", 1), ("yesterday", -1)];
    let (_, later) = days.into_iter().find(|(name, _)| named(name))?;
    let today = call("current_date", Vec::new());
    let day = today.and_then(|today| {
        arithmetic(today, Operator::Add, Typed::value(Value::Int(later)))?.implicit(kind)
    });
    Some(day)
}

/// Whether a type has limits that its kind doesn't have.
fn is_limited(of: Type) -> bool {
    match of {
        Type::SmallInt
        | Type::Integer
        | Type::Number(Some(_))
        | Type::Varchar(_)
        | Type::Char(_) => true,
        Type::BigInt
        | Type::Number(None)
        | Type::Double
        | Type::Text
        | Type::Bytea
        | Type::Boolean
        | Type::Date
        | Type::Timestamp => false,
    }
}

/// Whether a CAST from one kind to the other is there.
fn may_cast(from: Kind, to: Kind) -> bool {
    from == to
        || from.is_text()
        || to.is_text()
        || (from.is_number() && to.is_number())
        || (from.is_moment() && to.is_moment())
        || matches!((from, to), (Kind::Boolean, Kind::Whole) | (Kind::Whole, Kind::Boolean))
}

/// Whether values of these kinds can be compared as they are.
pub(super) fn are_comparable(left: Kind, right: Kind) -> bool {
    left == right
        || (left.is_number() && right.is_number())
        || (left.is_text() && right.is_text())
        || (left.is_moment() && right.is_moment())
}

/// Two expressions that can be compared: one of unknown kind has taken the other's; none if the
/// kinds don't go together.
pub(super) fn comparable(left: Typed, right: Typed) -> Result<Option<Pair>, Fault> {
    let (left, right) = match (left.kind, right.kind) {
        (Kind::Unknown, Kind::Unknown) => (left.settled(), right.settled()),
        (Kind::Unknown, kind) => (left.implicit(kind)?, right),
        (kind, Kind::Unknown) => {
            let right = right.implicit(kind)?;
            (left, right)
        }
        (a, b) if are_comparable(a, b) => (left, right),
        _ => return Ok(None),
    };
    Ok(Some(Pair { left, right }))
}

/// Two expressions that can be compared.
pub(super) struct Pair {
    pub(super) left: Typed,
    pub(super) right: Typed,
}

/// A constant that was computed from constants; any other expression as it is.
pub(super) fn computed(typed: Typed) -> Typed {
    let Typed { mut expression, kind } = typed;
    expression.fold();
    Typed::new(expression, kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(result: Result<Typed, Fault>) -> Result<Kind, SqlState> {
        result.map(|typed| typed.kind).map_err(|fault| fault.state())
    }

    #[test]
    fn a_literal_takes_the_kind_that_is_asked_for_at_once() {
        let five = Typed::literal("5").implicit(Kind::Whole).expect("a number");
        assert_eq!(five, Typed::value(Value::Int(5)));
        let refused = Typed::literal("five").implicit(Kind::Whole);
        assert_eq!(state(refused), Err(SqlState::INVALID_TEXT_REPRESENTATION));
        let day = Typed::literal("2026-13-01").cast(CastTo::Type(Type::Date));
        assert_eq!(state(day), Err(SqlState::DATETIME_FIELD_OVERFLOW));
        let null = Typed::null().implicit(Kind::Date).expect("NULL is of all kinds");
        assert_eq!((null.kind, null.expression), (Kind::Date, Expression::NULL));
        let parameter = Typed::slot(0, Kind::Unknown).implicit(Kind::Date).expect("any kind");
        assert!(matches!(parameter.expression, Expression::Cast { .. }));
        let blanks = Typed::literal("ab  ").implicit(Kind::Char).expect("a text");
        assert_eq!(blanks.expression.constant(), Some(Value::Text("ab")));
    }

    #[test]
    fn what_is_not_converted_by_itself_needs_a_cast() {
        let text = || Typed::column(0, Kind::Text);
        assert_eq!(state(text().implicit(Kind::Whole)), Err(SqlState::DATATYPE_MISMATCH));
        assert_eq!(state(text().cast(CastTo::Kind(Kind::Whole))), Ok(Kind::Whole));
        let truth = || Typed::column(0, Kind::Boolean);
        assert_eq!(state(truth().cast(CastTo::Kind(Kind::Date))), Err(SqlState::CANNOT_COERCE));
        assert_eq!(state(truth().cast(CastTo::Kind(Kind::Text))), Ok(Kind::Text));
        let double = Typed::column(0, Kind::Double).implicit(Kind::Number);
        assert_eq!(state(double), Err(SqlState::DATATYPE_MISMATCH));
        let char = Typed::column(0, Kind::Char).implicit(Kind::Text).expect("a text");
        assert_eq!(char, Typed::column(0, Kind::Text));
    }

    #[test]
    fn a_column_is_assigned_what_it_takes_of_itself() {
        let assigned = |typed: Typed, to| state(typed.assigned(to, "c"));
        assert_eq!(assigned(Typed::column(0, Kind::Double), Type::Integer), Ok(Kind::Double));
        assert_eq!(assigned(Typed::column(0, Kind::Timestamp), Type::Date), Ok(Kind::Timestamp));
        assert_eq!(assigned(Typed::column(0, Kind::Whole), Type::Text), Ok(Kind::Text));
        assert_eq!(assigned(Typed::literal("2026-11-27"), Type::Date), Ok(Kind::Date));
        let refused = Err(SqlState::DATATYPE_MISMATCH);
        assert_eq!(assigned(Typed::column(0, Kind::Text), Type::Integer), refused);
        assert_eq!(assigned(Typed::column(0, Kind::Boolean), Type::Integer), refused);
    }
}

//! Refusals of statements: an SQLSTATE, a sentence, and the place in the text that it is about.
//!
//! Invariant: a refusal of the binder says where in the text it arose, if the parser told (rule
//! SQ3). A place is a byte while the statement is bound, and a character for the user.
//!
//! Callers: all of this crate.

use expression::Fault;
use sqlparser::ast::Spanned;
use sqlparser::tokenizer::Span;
use stop::{Refusal, RefusalKind, SqlState, Stop};

/// A byte of a statement's text; none if it isn't known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct At(Option<usize>);

impl At {
    /// A place that isn't known.
    pub(crate) const NOWHERE: At = At(None);

    /// Where a part of the statement begins.
    pub(crate) fn of(part: &impl Spanned) -> At {
        At::begin(part.span())
    }

    /// This byte of the text.
    pub(crate) fn byte(byte: usize) -> At {
        At(Some(byte))
    }

    /// Where a span begins.
    pub(crate) fn begin(span: Span) -> At {
        At(syntax::start_of(span))
    }

    /// The place as a number of characters from the beginning of the text, from 1.
    fn position(self, text: &str) -> Option<u32> {
        let before = text.get(..self.0?)?;
        u32::try_from(before.chars().count() + 1).ok()
    }
}

/// A refusal under way to the user: it doesn't know the statement's text yet.
#[derive(Debug)]
pub(crate) struct Refused {
    stop: Stop,
    at: At,
}

/// What fails in binding says where.
pub(crate) type Bind<T> = Result<T, Refused>;

impl Refused {
    /// A refusal with this SQLSTATE.
    #[cold]
    pub(crate) fn new(state: SqlState, at: At, message: impl Into<String>) -> Refused {
        Refused { stop: refuse(state, message), at }
    }

    /// A feature that isn't there; `instead` says what to do.
    #[cold]
    pub(crate) fn unsupported(at: At, what: &str, instead: &str) -> Refused {
        let message = format!("{what} isn't supported");
        let refusal = Refusal::new(RefusalKind::Invalid, message);
        let refusal = refusal.with_state(SqlState::FEATURE_NOT_SUPPORTED).hint(instead);
        Refused { stop: refusal.into(), at }
    }

    /// The same refusal with a hint: what to do.
    #[must_use]
    pub(crate) fn hint(self, hint: impl Into<String>) -> Refused {
        Refused { stop: self.stop.map_refusal(|refusal| refusal.hint(hint)), ..self }
    }

    /// The same refusal, which arose here unless it says where already.
    pub(crate) fn placed_at(self, at: At) -> Refused {
        Refused { at: At(self.at.0.or(at.0)), ..self }
    }

    /// The same refusal without a place, of something that isn't in the statement's own text.
    pub(crate) fn elsewhere(self) -> Refused {
        Refused { at: At::NOWHERE, ..self }
    }

    /// The same refusal, of something in the text of a view.
    pub(crate) fn within_view(self, view: &str) -> Refused {
        let lead = format!("view {view} can't be used any more: ");
        Refused { stop: self.stop.map_refusal(|refusal| refusal.led_by(&lead)), at: At::NOWHERE }
    }

    /// The refusal as the user gets it.
    pub(crate) fn within(self, text: &str) -> Stop {
        match self.at.position(text) {
            Some(position) => self.stop.map_refusal(|refusal| refusal.at(position)),
            None => self.stop,
        }
    }
}

impl From<Stop> for Refused {
    fn from(stop: Stop) -> Refused {
        Refused { stop, at: At::NOWHERE }
    }
}

impl From<Fault> for Refused {
    fn from(fault: Fault) -> Refused {
        Refused { stop: fault.into(), at: At::NOWHERE }
    }
}

/// Adds a place to a refusal that doesn't say one.
pub(crate) trait Placed<T> {
    /// The same; a refusal arose in this part of the statement.
    fn at(self, part: &impl Spanned) -> Bind<T>;

    /// The same; a refusal arose here.
    fn placed_at(self, at: At) -> Bind<T>;
}

impl<T, E: Into<Refused>> Placed<T> for Result<T, E> {
    fn at(self, part: &impl Spanned) -> Bind<T> {
        self.map_err(|fault| fault.into().placed_at(At::of(part)))
    }

    fn placed_at(self, at: At) -> Bind<T> {
        self.map_err(|fault| fault.into().placed_at(at))
    }
}

/// A refusal with this SQLSTATE, outside of binding.
#[cold]
pub(crate) fn refuse(state: SqlState, message: impl Into<String>) -> Stop {
    let refusal = Refusal::new(kind_of(state), message);
    refusal.with_state(state).into()
}

/// The kind that the engine acts on.
fn kind_of(state: SqlState) -> RefusalKind {
    match state {
        SqlState::UNDEFINED_TABLE | SqlState::UNDEFINED_COLUMN | SqlState::UNDEFINED_OBJECT => {
            RefusalKind::NotFound
        }
        SqlState::ACTIVE_SQL_TRANSACTION
        | SqlState::NO_ACTIVE_SQL_TRANSACTION
        | SqlState::READ_ONLY_SQL_TRANSACTION
        | SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE => RefusalKind::WrongState,
        _ => RefusalKind::Invalid,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_counted_in_characters_from_the_beginning() {
        assert_eq!(At(Some(7)).position("select x"), Some(8));
        assert_eq!(At(Some(3)).position("é\nab"), Some(3));
        assert_eq!(At(Some(99)).position("select"), None);
        assert_eq!(At::NOWHERE.position("select"), None);
    }

    #[test]
    fn the_place_of_the_innermost_part_stays() {
        let inner = Refused::new(SqlState::SYNTAX_ERROR, At(Some(4)), "no");
        assert_eq!(inner.placed_at(At(Some(0))).at, At(Some(4)));
        let unknown = Refused::new(SqlState::SYNTAX_ERROR, At::NOWHERE, "no");
        assert_eq!(unknown.placed_at(At(Some(2))).at, At(Some(2)));
    }
}

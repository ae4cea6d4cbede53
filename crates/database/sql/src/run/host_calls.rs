//! What expressions ask of the connection: values of sequences, settings, the session's number.
//!
//! Invariant: a value of a sequence is taken each time that it is asked for. So the expression that
//! asks is evaluated once for each row (rule SQ21).
//!
//! Callers: `subquery`, for frames; `short`, for statements without sources.

use expression::{Arena, Asked, Fault, Subqueries};
use stop::SqlState;
use syntax::quote_ident;
use value::Value;

use super::host::Host;
use super::subquery::copied;
use crate::logical::{HostCall, host_call_of};
use crate::names::PUBLIC;
use crate::plan::FramePlan;

/// Answers questions to the connection.
pub(crate) struct HostAnswers<'a> {
    pub(super) host: &'a Host<'a>,
    /// The questions, by place.
    pub(super) calls: &'a [HostCall],
}

impl<'a> HostAnswers<'a> {
    /// What answers the questions of a frame without subqueries.
    pub(crate) fn of(host: &'a Host<'a>, frame: &'a FramePlan) -> HostAnswers<'a> {
        HostAnswers { host, calls: &frame.calls }
    }
}

impl HostAnswers<'_> {
    /// The answer to the question at this place.
    pub(super) fn call<'a>(
        &self,
        place: usize,
        arguments: &[Value<'_>],
        arena: &'a Arena,
    ) -> Result<Value<'a>, Fault> {
        let Host { sequences, connected, catalog, session, .. } = self.host;
        Ok(match self.calls[place] {
            HostCall::NextValue(_) | HostCall::SetValue(_) if connected.is_read_only() => {
                return Err(only_reads());
            }
            HostCall::NextValue(sequence) => {
                Value::Int(sequences.next(sequence, catalog, session)?)
            }
            HostCall::SetValue(sequence) => match *arguments {
                [Value::Int(value)] | [Value::Int(value), Value::Boolean(true)] => {
                    sequences.set(sequence, value, true, catalog, session)?;
                    Value::Int(value)
                }
                [Value::Int(value), Value::Boolean(false)] => {
                    sequences.set(sequence, value, false, catalog, session)?;
                    Value::Int(value)
                }
                // With a NULL nothing is set.
                _ => Value::Null,
            },
            HostCall::CurrentValue(sequence) => Value::Int(sequences.current(sequence)?),
            HostCall::LastValue => Value::Int(sequences.last()?),
            HostCall::SequenceName(sequence) => {
                let sequence = catalog.sequence_of(sequence, session)?;
                let name = quote_ident(&sequence.definition().name);
                Value::Text(arena.text(&format!("{PUBLIC}.{name}")))
            }
            HostCall::SessionNumber => Value::Int(connected.session_number()),
            HostCall::Setting => match arguments.first() {
                Some(Value::Text(name)) => match connected.setting(name)? {
                    Some(value) => Value::Text(arena.text(&value)),
                    None => return Err(no_setting(name)),
                },
                _ => Value::Null,
            },
            HostCall::Catalog(question) => match &self.host.engine.functions {
                Some(functions) => {
                    let of = self.host.virtual_context();
                    copied(functions.answer(question, arguments, &of)?.get(), arena)?
                }
                None => Value::Null,
            },
        })
    }
}

#[cold]
fn only_reads() -> Fault {
    let message = "the transaction is READ ONLY: it neither takes nor sets a sequence's value";
    Fault::new(SqlState::READ_ONLY_SQL_TRANSACTION, message)
}

#[cold]
fn no_setting(name: &str) -> Fault {
    let message = format!("there is no setting {name}; SHOW ALL lists them");
    Fault::new(SqlState::UNDEFINED_OBJECT, message)
}

impl Subqueries for HostAnswers<'_> {
    fn answer<'a>(&self, asked: &Asked<'_>, arena: &'a Arena) -> Result<Value<'a>, Fault> {
        let place = host_call_of(asked.number);
        let place = place.expect("a statement without subqueries asks the connection alone");
        self.call(place, asked.arguments, arena)
    }

    fn go_on(&self) -> Result<(), Fault> {
        Ok(self.host.check()?)
    }
}

//! Functions of values of any kind, and of the session.
//!
//! Callers: the table of functions; `build` makes COALESCE, NULLIF and their like without them.

use std::cmp::Ordering;

use value::Value;

use super::{Entry, entry};
use crate::{Evaluation, Fault, Kind};

const ANY: Kind = Kind::Unknown;

pub(super) const TABLE: &[Entry] = &[
    entry("greatest", &[ANY], ANY, greatest).and_more(ANY).with_nulls(),
    entry("least", &[ANY], ANY, least).and_more(ANY).with_nulls(),
    entry("current_user", &[], Kind::Text, current_user).stable(),
    entry("session_user", &[], Kind::Text, current_user).stable(),
    entry("user", &[], Kind::Text, current_user).stable(),
    entry("version", &[], Kind::Text, version).stable(),
    entry("pg_typeof", &[ANY], Kind::Text, type_of).with_nulls(),
];

/// The argument that comes last in this direction; NULLs don't count.
fn farthest<'a>(arguments: &[Value<'a>], direction: Ordering) -> Value<'a> {
    let mut found = Value::Null;
    for value in arguments.iter().filter(|value| !value.is_null()) {
        if found.is_null() || value.compare(found) == Some(direction) {
            found = *value;
        }
    }
    found
}

fn greatest<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    Ok(farthest(arguments, Ordering::Greater))
}

fn least<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    Ok(farthest(arguments, Ordering::Less))
}

fn current_user<'a>(_: &[Value<'a>], with: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    Ok(Value::Text(with.user))
}

fn version<'a>(_: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    Ok(Value::Text(concat!("Forebay ", env!("CARGO_PKG_VERSION"))))
}

/// The kind of a value; `build` answers where the kind is known, which it is nearly always.
fn type_of<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let kind = arguments.first().map_or(Kind::Unknown, |value| Kind::of(*value));
    Ok(Value::Text(kind.name()))
}

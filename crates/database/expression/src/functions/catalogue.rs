//! Functions by which PostgreSQL's clients ask its catalogue and that have one answer here: there
//! is one user, who may do everything, and what there isn't can't be asked for. Those whose answer
//! is in the dictionary aren't here: SQL asks it.
//!
//! There are no arrays: the catalogue has them as texts, such as `{1,2}`.
//!
//! Callers: the table of functions.
//! Source: PostgreSQL's documentation, "System Information Functions", "Array Functions".

use std::borrow::Cow;
use std::cmp::Ordering;

use value::Value;

use super::{Body, Entry, entry, unexpected};
use crate::{CastTo, Evaluation, Fault, Kind, cast};

const ANY: Kind = Kind::Unknown;
const TEXT: Kind = Kind::Text;
const WHOLE: Kind = Kind::Whole;
const TRUTH: Kind = Kind::Boolean;

pub(super) const TABLE: &[Entry] = &[
    privilege("has_table_privilege", &[ANY, TEXT]),
    privilege("has_table_privilege", &[ANY, ANY, TEXT]),
    privilege("has_any_column_privilege", &[ANY, TEXT]),
    privilege("has_any_column_privilege", &[ANY, ANY, TEXT]),
    privilege("has_column_privilege", &[ANY, ANY, TEXT]),
    privilege("has_column_privilege", &[ANY, ANY, ANY, TEXT]),
    privilege("has_schema_privilege", &[ANY, TEXT]),
    privilege("has_schema_privilege", &[ANY, ANY, TEXT]),
    privilege("has_database_privilege", &[ANY, TEXT]),
    privilege("has_database_privilege", &[ANY, ANY, TEXT]),
    privilege("has_sequence_privilege", &[ANY, TEXT]),
    privilege("has_sequence_privilege", &[ANY, ANY, TEXT]),
    privilege("has_function_privilege", &[ANY, TEXT]),
    privilege("has_tablespace_privilege", &[ANY, TEXT]),
    privilege("pg_has_role", &[ANY, TEXT]),
    privilege("pg_has_role", &[ANY, ANY, TEXT]),
    entry("pg_type_is_visible", &[ANY], TRUTH, yes).stable(),
    entry("pg_function_is_visible", &[ANY], TRUTH, yes).stable(),
    entry("pg_operator_is_visible", &[ANY], TRUTH, yes).stable(),
    entry("pg_collation_is_visible", &[ANY], TRUTH, yes).stable(),
    entry("pg_relation_is_publishable", &[ANY], TRUTH, yes).stable(),
    entry("pg_is_other_temp_schema", &[ANY], TRUTH, no).stable(),
    entry("pg_is_in_recovery", &[], TRUTH, no).stable(),
    entry("pg_my_temp_schema", &[], WHOLE, zero).stable(),
    entry("pg_get_userbyid", &[ANY], TEXT, user).stable(),
    entry("current_role", &[], TEXT, user).stable(),
    entry("pg_get_expr", &[TEXT, ANY], TEXT, first),
    entry("pg_get_expr", &[TEXT, ANY, ANY], TEXT, first),
    entry("pg_encoding_to_char", &[ANY], TEXT, encoding),
    entry("pg_client_encoding", &[], TEXT, encoding),
    entry("current_schemas", &[ANY], TEXT, schemas).stable(),
    entry("shobj_description", &[ANY, ANY], TEXT, none),
    entry("pg_get_statisticsobjdef_columns", &[ANY], TEXT, none),
    entry("pg_get_partkeydef", &[ANY], TEXT, none),
    entry("pg_get_functiondef", &[ANY], TEXT, none),
    entry("pg_get_function_result", &[ANY], TEXT, none),
    entry("pg_get_function_arguments", &[ANY], TEXT, none),
    entry("pg_get_triggerdef", &[ANY], TEXT, none),
    entry("pg_get_triggerdef", &[ANY, ANY], TEXT, none),
    entry("pg_get_ruledef", &[ANY], TEXT, none),
    entry("pg_get_ruledef", &[ANY, ANY], TEXT, none),
    entry("pg_tablespace_location", &[ANY], TEXT, none),
    entry("pg_partition_ancestors", &[ANY], WHOLE, none),
    entry("array", &[ANY], TEXT, array_of).with_nulls(),
    entry("array_to_string", &[TEXT, TEXT], TEXT, array_to_string),
    entry("array_contains", &[TEXT, ANY], TRUTH, array_contains).with_nulls(),
    entry("array_position", &[TEXT, TEXT], WHOLE, array_position),
    entry("array_element", &[TEXT, WHOLE], WHOLE, array_element),
    entry("array_upper", &[TEXT, WHOLE], WHOLE, array_upper),
    entry("array_length", &[TEXT, WHOLE], WHOLE, array_upper),
    entry("cardinality", &[TEXT], WHOLE, array_upper),
];

/// Whether something is allowed: it always is.
const fn privilege(name: &'static str, takes: &'static [Kind]) -> Entry {
    let body: Body = yes;
    entry(name, takes, TRUTH, body).stable()
}

fn yes<'a>(_: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    Ok(Value::Boolean(true))
}

fn no<'a>(_: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    Ok(Value::Boolean(false))
}

fn zero<'a>(_: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    Ok(Value::Int(0))
}

fn none<'a>(_: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    Ok(Value::Null)
}

fn user<'a>(_: &[Value<'a>], with: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    Ok(Value::Text(with.user))
}

fn encoding<'a>(_: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    Ok(Value::Text("UTF8"))
}

fn schemas<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let with_implicit = matches!(arguments, [Value::Boolean(true)]);
    Ok(Value::Text(if with_implicit { "{pg_catalog,public}" } else { "{public}" }))
}

/// The catalogue has expressions as texts already.
fn first<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let [first, ..] = *arguments else { unexpected(arguments) };
    Ok(first)
}

/// The elements of an array that is a text, as `{1,"a b",NULL}`, or of a vector, as `1 2`; NULL is
/// none.
struct Elements<'t> {
    rest: &'t str,
    between: char,
    is_over: bool,
}

impl<'t> Elements<'t> {
    fn of(array: &'t str) -> Elements<'t> {
        let inner = array.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        let (rest, between) = match inner {
            Some(inner) => (inner.trim(), ','),
            None => (array.trim(), ' '),
        };
        Elements { rest, between, is_over: rest.is_empty() }
    }

    /// An element in quotes, whose first one was taken: a backslash takes the next sign as it is.
    fn quoted(&mut self) -> Cow<'t, str> {
        let (mut text, mut is_escaped) = (String::new(), false);
        let mut end = self.rest.len();
        for (at, c) in self.rest.char_indices() {
            match c {
                _ if is_escaped => {
                    text.push(c);
                    is_escaped = false;
                }
                '\\' => is_escaped = true,
                '"' => {
                    end = at + 1;
                    break;
                }
                other => text.push(other),
            }
        }
        self.rest = &self.rest[end..];
        Cow::Owned(text)
    }
}

impl<'t> Iterator for Elements<'t> {
    type Item = Option<Cow<'t, str>>;

    fn next(&mut self) -> Option<Option<Cow<'t, str>>> {
        if self.is_over {
            return None;
        }
        let quoted = match self.rest.strip_prefix('"') {
            Some(rest) => {
                self.rest = rest;
                Some(self.quoted())
            }
            None => None,
        };
        let (plain, rest) = match self.rest.split_once(self.between) {
            Some((plain, rest)) => (plain.trim(), rest.trim_start()),
            None => {
                self.is_over = true;
                (self.rest.trim(), "")
            }
        };
        self.rest = rest;
        Some(match quoted {
            None if plain.eq_ignore_ascii_case("null") => None,
            None => Some(Cow::Borrowed(plain)),
            quoted => quoted,
        })
    }
}

/// `array(SELECT ...)` of one row at most.
fn array_of<'a>(arguments: &[Value<'a>], with: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    match *arguments {
        [Value::Null] => Ok(Value::Text("{}")),
        [Value::Text(text)] => {
            with.arena.check(text.len() + 2)?;
            Ok(Value::Text(with.arena.written(format_args!("{{{text}}}"))))
        }
        [value] => Ok(Value::Text(with.arena.written(format_args!("{{{value}}}")))),
        _ => unexpected(arguments),
    }
}

fn array_to_string<'a>(arguments: &[Value<'a>], with: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let [Value::Text(array), Value::Text(between)] = *arguments else { unexpected(arguments) };
    let mut text = with.arena.writer();
    for (at, element) in Elements::of(array).flatten().enumerate() {
        if at > 0 {
            text.push_str(between);
        }
        text.push_str(&element);
        with.arena.check(text.len())?;
    }
    Ok(Value::Text(text.into_bump_str()))
}

/// `x = ANY (array)`: an element is read as a value of x's kind. Unknown if no element is equal and
/// one comparison is unknown.
fn array_contains<'a>(arguments: &[Value<'a>], with: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let (array, wanted) = match *arguments {
        [Value::Null, _] => return Ok(Value::Null),
        [Value::Text(array), wanted] => (array, wanted),
        _ => unexpected(arguments),
    };
    let of_its_kind = CastTo::Kind(Kind::of(wanted));
    let mut known = true;
    for element in Elements::of(array) {
        let text = match element {
            None => Value::Null,
            Some(Cow::Borrowed(text)) => Value::Text(text),
            Some(Cow::Owned(text)) => {
                with.arena.check(text.len())?;
                Value::Text(with.arena.text(&text))
            }
        };
        match wanted.compare(cast::cast(text, of_its_kind, with)?) {
            Some(Ordering::Equal) => return Ok(Value::Boolean(true)),
            Some(_) => {}
            None => known = false,
        }
    }
    Ok(if known { Value::Boolean(false) } else { Value::Null })
}

fn array_position<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let [Value::Text(array), Value::Text(wanted)] = *arguments else { unexpected(arguments) };
    let is_it = |element: &Option<Cow<'_, str>>| element.as_deref() == Some(wanted);
    let place = (1..).zip(Elements::of(array)).find(|(_, element)| is_it(element));
    Ok(place.map_or(Value::Null, |(place, _)| Value::Int(place)))
}

/// An element that is a number, as those of the catalogue are that clients take one by one. The
/// first one of a vector has the number 0, that of an array 1.
fn array_element<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let [Value::Text(array), Value::Int(place)] = *arguments else { unexpected(arguments) };
    let first = i64::from(array.starts_with('{'));
    let found = (first..).zip(Elements::of(array)).find(|(number, _)| *number == place);
    let number = found.and_then(|(_, element)| element?.parse().ok());
    Ok(number.map_or(Value::Null, Value::Int))
}

/// How many elements it has; NULL without any.
fn array_upper<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let (Value::Text(array), rest) = (arguments[0], &arguments[1..]) else { unexpected(arguments) };
    let count = i64::try_from(Elements::of(array).count()).unwrap_or(i64::MAX);
    // With a dimension an empty array has none, as in PostgreSQL.
    let is_null = !rest.is_empty() && (count == 0 || rest != [Value::Int(1)]);
    Ok(if is_null { Value::Null } else { Value::Int(count) })
}

#[cfg(test)]
mod tests {
    use stop::SqlState;

    use super::*;
    use crate::Bare;

    /// Arrays of the catalogue are texts, in braces or with blanks.
    #[test]
    fn an_array_has_its_parts() {
        let bare = Bare::new();
        let with = bare.evaluation();
        let (array, vector) = (Value::Text("{1,2,30}"), Value::Text("4 5"));
        let place = |array, part: &'static str| array_position(&[array, Value::Text(part)], &with);
        assert_eq!(place(array, "30").expect("sound"), Value::Int(3));
        assert_eq!(place(array, "3").expect("sound"), Value::Null);
        assert_eq!(place(vector, "5").expect("sound"), Value::Int(2));
        let joined = array_to_string(&[array, Value::Text(", ")], &with).expect("sound");
        assert_eq!(joined, Value::Text("1, 2, 30"));
        let upper = |text: &'static str| array_upper(&[Value::Text(text), Value::Int(1)], &with);
        assert_eq!(upper("{a,b}").expect("sound"), Value::Int(2));
        assert_eq!(upper("{}").expect("sound"), Value::Null);
        let element = |array, place| array_element(&[array, Value::Int(place)], &with);
        assert_eq!(element(array, 3).expect("sound"), Value::Int(30));
        assert_eq!(element(vector, 0).expect("sound"), Value::Int(4));
        assert_eq!(element(vector, 2).expect("sound"), Value::Null);
    }

    /// Clients send arrays as texts, with quotes around what holds a comma.
    #[test]
    fn elements_may_be_in_quotes_or_null() {
        let bare = Bare::new();
        let with = bare.evaluation();
        let contains = |array: &'static str, wanted: &'static str| {
            array_contains(&[Value::Text(array), Value::Text(wanted)], &with).expect("sound")
        };
        let array = r#"{"a, \"b\"", c ,"NULL",""}"#;
        for wanted in ["a, \"b\"", "c", "NULL", ""] {
            assert_eq!(contains(array, wanted), Value::Boolean(true), "{wanted}");
        }
        assert_eq!(contains(array, "b"), Value::Boolean(false));
        assert_eq!(contains("{1,NULL}", "1"), Value::Boolean(true));
        assert_eq!(contains("{1,NULL}", "2"), Value::Null);
        assert_eq!(contains("{}", ""), Value::Boolean(false));
    }

    /// 2.0 is in {2}, as it is equal to 2.
    #[test]
    fn elements_are_compared_as_values_and_not_as_texts() {
        let bare = Bare::new();
        let with = bare.evaluation();
        let contains = |array: &'static str, wanted: Value<'static>| {
            array_contains(&[Value::Text(array), wanted], &with).map_err(|fault| fault.state())
        };
        let number = Value::Number("2.0".parse().expect("a number"));
        assert_eq!(contains("{1,2}", number), Ok(Value::Boolean(true)));
        assert_eq!(contains("{1, \"2.00\"}", number), Ok(Value::Boolean(true)));
        assert_eq!(contains("{t,NULL}", Value::Boolean(true)), Ok(Value::Boolean(true)));
        assert_eq!(contains("{t,NULL}", Value::Boolean(false)), Ok(Value::Null));
        let state = SqlState::INVALID_TEXT_REPRESENTATION;
        assert_eq!(contains("{2.0}", Value::Int(2)), Err(state));
        assert_eq!(contains("{1}", Value::Null), Ok(Value::Null));
        assert_eq!(contains("{}", Value::Null), Ok(Value::Boolean(false)));
        let nothing = array_contains(&[Value::Null, number], &with).expect("sound");
        assert_eq!(nothing, Value::Null);
    }
}

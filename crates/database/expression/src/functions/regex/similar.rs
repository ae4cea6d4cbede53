//! `SIMILAR TO`: patterns of the SQL standard, between those of LIKE and regular expressions.
//!
//! ```text
//!   (a|b)%[0-9]{2}     becomes     ^(?:(?:a|b).*[0-9]{2})$
//! ```
//!
//! `%` stands for any text and `_` for a character; `|`, `*`, `+`, `?`, `{m,n}`, brackets and sets
//! mean what they do in regular expressions, and all other characters themselves. A pattern has to
//! match all of a text.
//!
//! Callers: the table of functions. Source: PostgreSQL's documentation, "SIMILAR TO".

use std::iter::Peekable;
use std::str::Chars;

use stop::SqlState;
use value::Value;

use super::super::unexpected;
use super::is_match;
use crate::like::{DEFAULT_ESCAPE, escape_of};
use crate::{Evaluation, Fault};

pub(super) fn similar<'a>(
    arguments: &[Value<'a>],
    with: &Evaluation<'a>,
) -> Result<Value<'a>, Fault> {
    let (text, pattern, escape) = match *arguments {
        [Value::Text(text), Value::Text(pattern)] => (text, pattern, Some(DEFAULT_ESCAPE)),
        [Value::Text(text), Value::Text(pattern), Value::Text(escape)] => {
            (text, pattern, escape_of(escape)?)
        }
        _ => unexpected(arguments),
    };
    let expression = translated(pattern, escape)?;
    is_match(text, &expression, false, &|| with.go_on()).map(Value::Boolean)
}

/// The regular expression that a pattern is.
fn translated(pattern: &str, escape: Option<char>) -> Result<String, Fault> {
    let (mut made, mut rest) = (String::from("^(?:"), pattern.chars().peekable());
    while let Some(next) = rest.next() {
        match next {
            next if Some(next) == escape => {
                let Some(escaped) = rest.next() else {
                    let say = "a pattern of SIMILAR TO must not end with its escape character";
                    return Err(Fault::new(SqlState::INVALID_ESCAPE_SEQUENCE, say));
                };
                made.extend(['\\', escaped]);
            }
            '%' => made.push_str(".*"),
            '_' => made.push('.'),
            '(' => made.push_str("(?:"),
            '[' => push_set(&mut rest, &mut made),
            '\\' | '.' | '^' | '$' => made.extend(['\\', next]),
            other => made.push(other),
        }
    }
    made.push_str(")$");
    Ok(made)
}

/// Appends a set, whose bracket was taken. One that isn't closed is refused with the expression.
fn push_set(rest: &mut Peekable<Chars<'_>>, made: &mut String) {
    made.push('[');
    for first in ['^', ']'] {
        made.extend(rest.next_if_eq(&first));
    }
    while let Some(next) = rest.next() {
        match next {
            ']' => return made.push(']'),
            '\\' => made.push_str("\\\\"),
            '[' if rest.next_if_eq(&':').is_some() => {
                made.push_str("[:");
                for of_class in rest.by_ref() {
                    made.push(of_class);
                    if of_class == ']' {
                        break;
                    }
                }
            }
            other => made.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_becomes_a_regular_expression() {
        for (pattern, expected) in [
            ("abc", "^(?:abc)$"),
            ("a|b%_", "^(?:a|b.*.)$"),
            ("(a|b)+", "^(?:(?:a|b)+)$"),
            ("a.b^$", "^(?:a\\.b\\^\\$)$"),
            ("\\%x", "^(?:\\%x)$"),
            ("[]%_\\[:alpha:]]_", "^(?:[]%_\\\\[:alpha:]].)$"),
            ("[^a", "^(?:[^a)$"),
        ] {
            assert_eq!(translated(pattern, Some('\\')).expect("sound"), expected, "{pattern}");
        }
        assert_eq!(translated("a\\#%", Some('#')).expect("sound"), "^(?:a\\\\\\%)$");
        assert_eq!(translated("\\", None).expect("sound"), "^(?:\\\\)$");
        let state = translated("a#", Some('#')).expect_err("it ends with it").state();
        assert_eq!(state, SqlState::INVALID_ESCAPE_SEQUENCE);
    }
}

//! LIKE and ILIKE: `%` stands for any text, `_` for one character.
//!
//! Invariants
//!   * characters are Unicode scalar values, never halves of them
//!   * a search goes back to the last `%` only, so it takes at most text times pattern steps, and
//!     no more than [`STEPS_MAX`] beside some for each byte of the text: then it is refused
//!   * a long search asks whether the statement is to end (EV15)
//!
//! Callers: `evaluate`; SQL, which makes a range of an index of what stands before the first `%`.

use std::borrow::Cow;
use std::str::Chars;

use stop::SqlState;
use value::Value;

use crate::Fault;

/// The character that takes the next one's meaning away, unless ESCAPE says another.
pub const DEFAULT_ESCAPE: char = '\\';

/// The most characters that are compared, beside four for each byte of the text.
const STEPS_MAX: usize = 1 << 26;

/// After so many it is asked whether the statement is to end.
const STEPS_A_LOOK: usize = 1 << 12;

/// What a search asks whether it is to go on.
type GoOn<'g> = &'g dyn Fn() -> Result<(), Fault>;

/// Whether the text is like the pattern; none if one of them is NULL.
pub(crate) fn is_like(
    value: Value<'_>,
    pattern: Value<'_>,
    escape: Option<Value<'_>>,
    ignore_case: bool,
    go_on: GoOn<'_>,
) -> Result<Option<bool>, Fault> {
    let (Value::Text(text), Value::Text(pattern)) = (value, pattern) else {
        return Ok(None);
    };
    let escape = match escape {
        None => Some(DEFAULT_ESCAPE),
        Some(Value::Text(escape)) => escape_of(escape)?,
        Some(_) => return Ok(None),
    };
    if !ignore_case {
        return matches(text, pattern, escape, go_on).map(Some);
    }
    matches(&lower(text), &lower(pattern), escape.map(lower_char), go_on).map(Some)
}

/// The character that an ESCAPE says; none if it is empty.
pub fn escape_of(text: &str) -> Result<Option<char>, Fault> {
    let mut chars = text.chars();
    let first = chars.next();
    if chars.next().is_some() {
        let say = "an ESCAPE has one character, or none";
        return Err(Fault::new(SqlState::INVALID_ESCAPE_SEQUENCE, say));
    }
    Ok(first)
}

/// A text in small letters, each character by itself: one becomes one.
fn lower(text: &str) -> Cow<'_, str> {
    let is_lower = text.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase());
    match is_lower {
        true => Cow::Borrowed(text),
        false => Cow::Owned(text.chars().map(lower_char).collect()),
    }
}

fn lower_char(of: char) -> char {
    let mut lower = of.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(one), None) => one,
        _ => of,
    }
}

/// What the next character of a pattern asks for.
enum Asked {
    /// Any text.
    Any,
    /// Any character.
    One,
    /// This character.
    This(char),
    /// The end of the text.
    End,
}

/// Takes what comes next in the pattern.
fn next(pattern: &mut Chars<'_>, escape: Option<char>) -> Result<Asked, Fault> {
    Ok(match pattern.next() {
        None => Asked::End,
        found if found == escape => match pattern.next() {
            Some(char) => Asked::This(char),
            None => {
                let say = "a LIKE pattern must not end with its escape character";
                return Err(Fault::new(SqlState::INVALID_ESCAPE_SEQUENCE, say));
            }
        },
        Some('%') => Asked::Any,
        Some('_') => Asked::One,
        Some(char) => Asked::This(char),
    })
}

/// Where a search goes on when the way that it took fails.
struct Retry<'t> {
    /// The pattern behind its last `%`.
    pattern: Chars<'t>,
    /// The text that has to match it, which gets shorter with each try.
    text: Chars<'t>,
}

fn matches(
    text: &str,
    pattern: &str,
    escape: Option<char>,
    go_on: GoOn<'_>,
) -> Result<bool, Fault> {
    let mut steps = STEPS_MAX.saturating_add(text.len().saturating_mul(4));
    let (mut text, mut pattern) = (text.chars(), pattern.chars());
    let mut retry: Option<Retry<'_>> = None;
    loop {
        steps -= 1;
        if steps == 0 {
            let say = "the pattern of LIKE has too many ways to match this text";
            return Err(Fault::new(SqlState::PROGRAM_LIMIT_EXCEEDED, say));
        }
        if steps.is_multiple_of(STEPS_A_LOOK) {
            go_on()?;
        }
        let matched = match next(&mut pattern, escape)? {
            Asked::Any => {
                if pattern.as_str().is_empty() {
                    return Ok(true);
                }
                retry = Some(Retry { pattern: pattern.clone(), text: text.clone() });
                true
            }
            Asked::End if text.as_str().is_empty() => return Ok(true),
            Asked::End => false,
            // At the end of the text no other way leaves more of it.
            Asked::One | Asked::This(_) if text.as_str().is_empty() => return Ok(false),
            Asked::One => text.next().is_some(),
            Asked::This(wanted) => text.next() == Some(wanted),
        };
        if matched {
            continue;
        }
        let Some(again) = &mut retry else { return Ok(false) };
        if again.text.next().is_none() {
            return Ok(false);
        }
        (pattern, text) = (again.pattern.clone(), again.text.clone());
    }
}

/// What texts that are like a pattern begin with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LikePrefix {
    /// The text before the first `%` or `_`.
    pub prefix: String,
    /// Whether a text is like the pattern exactly if it is the prefix: there is no `%` and no `_`.
    pub is_whole: bool,
    /// Whether a text is like the pattern exactly if it begins with the prefix: one `%` at the end.
    pub is_enough: bool,
}

/// What texts that are like the pattern begin with, case counting.
pub fn like_prefix(pattern: &str, escape: Option<char>) -> Result<LikePrefix, Fault> {
    let (mut chars, mut prefix) = (pattern.chars(), String::new());
    loop {
        match next(&mut chars, escape)? {
            Asked::This(char) => prefix.push(char),
            Asked::End => return Ok(LikePrefix { prefix, is_whole: true, is_enough: false }),
            Asked::One => return Ok(LikePrefix { prefix, is_whole: false, is_enough: false }),
            Asked::Any => {
                let is_enough = chars.as_str().chars().all(|char| char == '%');
                return Ok(LikePrefix { prefix, is_whole: false, is_enough });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn like(text: &str, pattern: &str) -> bool {
        matches(text, pattern, Some('\\'), &|| Ok(())).expect("a sound pattern")
    }

    /// A search that takes long ends when the statement is to end.
    #[test]
    fn a_long_search_is_not_gone_on_with() {
        let ends =
            || -> Result<(), Fault> { Err(Fault::new(SqlState::QUERY_CANCELED, "it is to end")) };
        let text = "ab".repeat(5_000);
        let long = matches(&text, "%b%c", None, &ends).expect_err("it looks");
        assert_eq!(long.state(), SqlState::QUERY_CANCELED);
        assert!(matches(&text, "%b%c", None, &|| Ok(())).is_ok_and(|is| !is));
    }

    #[test]
    fn texts_are_like_patterns_as_in_the_standard() {
        let are = [
            ("abc", "abc"),
            ("abc", "a%"),
            ("abc", "%c"),
            ("abc", "_b_"),
            ("abc", "%b%"),
            ("abc", "%"),
            ("", "%"),
            ("", ""),
            ("aab", "%ab"),
            ("ababac", "%aba%c"),
            ("été", "_t_"),
            ("a%b", "a\\%b"),
            ("a_b", "a\\_b"),
            ("a\\b", "a\\\\b"),
            ("abcabd", "%ab_"),
            ("xx", "%%x%%"),
        ];
        for (text, pattern) in are {
            assert!(like(text, pattern), "{text} {pattern}");
        }
        let not = [("abc", "b"), ("abc", "_"), ("", "_"), ("abc", "%d%"), ("axb", "a\\%b")];
        for (text, pattern) in not.into_iter().chain([("ABC", "abc"), ("abc", "abc_"), ("a", "")]) {
            assert!(!like(text, pattern), "{text} {pattern}");
        }
    }

    #[test]
    fn escapes_are_one_character_or_none_and_not_the_last() {
        let like = |text: &str, pattern: &str, escape: &str| {
            let [text, pattern, escape] = [text, pattern, escape].map(Value::Text);
            is_like(text, pattern, Some(escape), false, &|| Ok(())).map_err(|fault| fault.state())
        };
        assert_eq!(like("a%", "a!%", "!"), Ok(Some(true)));
        assert_eq!(like("a\\b", "a\\_", ""), Ok(Some(true)));
        assert_eq!(like("a", "a!", "!"), Err(SqlState::INVALID_ESCAPE_SEQUENCE));
        assert_eq!(like("a", "a", "ab"), Err(SqlState::INVALID_ESCAPE_SEQUENCE));
        let of_null = is_like(Value::Null, Value::Text(""), None, false, &|| Ok(()));
        assert_eq!(of_null.ok(), Some(None));
        let [text, pattern] = ["ÄBC", "ä%C"].map(Value::Text);
        let ignoring = is_like(text, pattern, None, true, &|| Ok(()));
        assert_eq!(ignoring.ok(), Some(Some(true)));
    }

    #[test]
    fn a_pattern_says_what_its_texts_begin_with() {
        let prefix = |pattern: &str| like_prefix(pattern, Some('\\')).expect("a sound pattern");
        let of = |prefix: &str, is_whole, is_enough| LikePrefix {
            prefix: prefix.to_string(),
            is_whole,
            is_enough,
        };
        assert_eq!(prefix("ab%"), of("ab", false, true));
        assert_eq!(prefix("ab"), of("ab", true, false));
        assert_eq!(prefix("a_b"), of("a", false, false));
        assert_eq!(prefix("a\\%b%c"), of("a%b", false, false));
        assert_eq!(prefix("%a"), of("", false, false));
    }

    /// The plain way: each `%` tries every rest of the text.
    fn slowly(text: &[char], pattern: &[char]) -> bool {
        match pattern {
            [] => text.is_empty(),
            ['%', rest @ ..] => (0..=text.len()).any(|from| slowly(&text[from..], rest)),
            ['_', rest @ ..] => !text.is_empty() && slowly(&text[1..], rest),
            [char, rest @ ..] => text.first() == Some(char) && slowly(&text[1..], rest),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn a_search_finds_what_trying_every_way_finds(
            text in "[abé]{0,9}",
            pattern in "[abé%_]{0,7}",
        ) {
            let chars = |text: &str| text.chars().collect::<Vec<char>>();
            let found = matches(&text, &pattern, Some('\\'), &|| Ok(()));
            let found = found.expect("no escape in it");
            prop_assert_eq!(found, slowly(&chars(&text), &chars(&pattern)));
            let prefix = like_prefix(&pattern, Some('\\')).expect("no escape in it");
            prop_assert!(!found || text.starts_with(&prefix.prefix));
            prop_assert!(!prefix.is_whole || found == (text == prefix.prefix));
            prop_assert!(!prefix.is_enough || found == text.starts_with(&prefix.prefix));
        }
    }
}

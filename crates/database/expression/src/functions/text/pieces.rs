//! Pieces of texts and bytes, which borrow from them.
//!
//! Callers: the table of functions.

use std::collections::BTreeSet;

use stop::SqlState;
use value::Value;

use crate::functions::unexpected;
use crate::{Evaluation, Fault};

/// The places before the piece, and how many it has; none: all that are left.
struct Window {
    before: usize,
    length: Option<usize>,
}

/// The window of `substr(text, from, length)`: places before the first one count, but have nothing.
fn window(arguments: &[Value<'_>]) -> Result<Window, Fault> {
    let (from, length) = match *arguments {
        [_, Value::Int(from)] => (from, None),
        [_, Value::Int(from), Value::Int(length)] => (from, Some(length)),
        _ => unexpected(arguments),
    };
    let before = usize::try_from(from.saturating_sub(1)).unwrap_or(0);
    let Some(length) = length else { return Ok(Window { before, length: None }) };
    if length < 0 {
        let say = "negative substring length not allowed";
        return Err(Fault::new(SqlState::SUBSTRING_ERROR, say));
    }
    // The places behind the piece: those before the first one aren't there.
    let end = from.saturating_add(length).saturating_sub(1).max(0);
    let end = usize::try_from(end).unwrap_or(usize::MAX);
    Ok(Window { before, length: Some(end.saturating_sub(before)) })
}

/// Where the character number `count` begins, from 0; the end if there is none.
fn byte_at(text: &str, count: usize) -> usize {
    // A text of one byte a character is common, and cut at once.
    if text.is_ascii() {
        return count.min(text.len());
    }
    text.char_indices().nth(count).map_or(text.len(), |(at, _)| at)
}

pub(super) fn substr<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let [Value::Text(text), ..] = *arguments else { unexpected(arguments) };
    let Window { before, length } = window(arguments)?;
    let rest = &text[byte_at(text, before)..];
    let end = length.map_or(rest.len(), |length| byte_at(rest, length));
    Ok(Value::Text(&rest[..end]))
}

pub(super) fn substr_of_bytes<'a>(
    arguments: &[Value<'a>],
    _: &Evaluation<'a>,
) -> Result<Value<'a>, Fault> {
    let [Value::Bytes(bytes), ..] = *arguments else { unexpected(arguments) };
    let Window { before, length } = window(arguments)?;
    let rest = &bytes[before.min(bytes.len())..];
    let end = length.map_or(rest.len(), |length| length.min(rest.len()));
    Ok(Value::Bytes(&rest[..end]))
}

/// A text, and a number of characters of it; a negative number leaves as many out at the other end.
fn text_and_count<'a>(arguments: &[Value<'a>]) -> (&'a str, usize) {
    let [Value::Text(text), Value::Int(count)] = *arguments else { unexpected(arguments) };
    let count = match usize::try_from(count) {
        Ok(count) => count,
        Err(_) => {
            let left_out = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
            text.chars().count().saturating_sub(left_out)
        }
    };
    (text, count)
}

pub(super) fn left<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let (text, count) = text_and_count(arguments);
    Ok(Value::Text(&text[..byte_at(text, count)]))
}

pub(super) fn right<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let (text, count) = text_and_count(arguments);
    let left_out = text.chars().count().saturating_sub(count);
    Ok(Value::Text(&text[byte_at(text, left_out)..]))
}

/// A text, and the characters that are trimmed from it: blanks unless they are given.
fn trimmed_of<'a>(arguments: &[Value<'a>]) -> (&'a str, &'a str) {
    match *arguments {
        [Value::Text(text)] => (text, " "),
        [Value::Text(text), Value::Text(chars)] => (text, chars),
        _ => unexpected(arguments),
    }
}

/// Characters, of which some are looked for.
enum CharSet<'a> {
    /// A few.
    Few(&'a str),
    /// Many: a search for each character of a long text would take long.
    Many(BTreeSet<char>),
}

impl<'a> CharSet<'a> {
    fn of(chars: &'a str) -> CharSet<'a> {
        match chars.len() <= 32 {
            true => CharSet::Few(chars),
            false => CharSet::Many(chars.chars().collect()),
        }
    }

    fn has(&self, char: char) -> bool {
        match self {
            CharSet::Few(chars) => chars.contains(char),
            CharSet::Many(chars) => chars.contains(&char),
        }
    }
}

pub(super) fn btrim<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let (text, chars) = trimmed_of(arguments);
    let set = CharSet::of(chars);
    Ok(Value::Text(text.trim_matches(|char: char| set.has(char))))
}

pub(super) fn ltrim<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let (text, chars) = trimmed_of(arguments);
    let set = CharSet::of(chars);
    Ok(Value::Text(text.trim_start_matches(|char: char| set.has(char))))
}

pub(super) fn rtrim<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let (text, chars) = trimmed_of(arguments);
    let set = CharSet::of(chars);
    Ok(Value::Text(text.trim_end_matches(|char: char| set.has(char))))
}

/// The field number `at` of a text, from the end if it is below zero; empty if there is none.
pub(super) fn split_part<'a>(
    arguments: &[Value<'a>],
    _: &Evaluation<'a>,
) -> Result<Value<'a>, Fault> {
    let [Value::Text(text), Value::Text(between), Value::Int(at)] = *arguments else {
        unexpected(arguments)
    };
    let place = usize::try_from(at.unsigned_abs()).unwrap_or(usize::MAX);
    let Some(place) = place.checked_sub(1) else {
        return Err(Fault::parameter("field position must not be zero"));
    };
    let field = match (between.is_empty(), at > 0) {
        // Without a separator the text is one field.
        (true, _) => (place == 0).then_some(text),
        (false, true) => text.split(between).nth(place),
        (false, false) => text.rsplit(between).nth(place),
    };
    Ok(Value::Text(field.unwrap_or("")))
}

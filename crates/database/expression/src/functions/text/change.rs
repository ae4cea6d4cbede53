//! Texts that are made of others.
//!
//! Callers: the table of functions.

use std::collections::BTreeMap;

use value::Value;

use crate::arena::TextIn;
use crate::functions::unexpected;
use crate::{Arena, Evaluation, Fault};

pub(super) fn lower<'a>(
    arguments: &[Value<'a>],
    with: &Evaluation<'a>,
) -> Result<Value<'a>, Fault> {
    let [Value::Text(text)] = *arguments else { unexpected(arguments) };
    if text.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
        return Ok(Value::Text(text));
    }
    with.arena.check(text.len())?;
    let mut lower = with.arena.writer_for(text.len());
    text.chars().for_each(|char| char.to_lowercase().for_each(|char| lower.push(char)));
    Ok(Value::Text(lower.into_bump_str()))
}

pub(super) fn upper<'a>(
    arguments: &[Value<'a>],
    with: &Evaluation<'a>,
) -> Result<Value<'a>, Fault> {
    let [Value::Text(text)] = *arguments else { unexpected(arguments) };
    if text.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_lowercase()) {
        return Ok(Value::Text(text));
    }
    with.arena.check(text.len())?;
    let mut upper = with.arena.writer_for(text.len());
    text.chars().for_each(|char| push_upper(char, &mut upper));
    Ok(Value::Text(upper.into_bump_str()))
}

/// Appends a capital letter. One that becomes several stays, as in PostgreSQL.
fn push_upper(char: char, to: &mut TextIn<'_>) {
    let mut upper = char.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(one), None) => to.push(one),
        _ => to.push(char),
    }
}

pub(super) fn initcap<'a>(
    arguments: &[Value<'a>],
    with: &Evaluation<'a>,
) -> Result<Value<'a>, Fault> {
    let [Value::Text(text)] = *arguments else { unexpected(arguments) };
    with.arena.check(text.len())?;
    let (mut made, mut in_word) = (with.arena.writer_for(text.len()), false);
    for char in text.chars() {
        if in_word {
            char.to_lowercase().for_each(|char| made.push(char));
        } else {
            push_upper(char, &mut made);
        }
        in_word = char.is_alphanumeric();
    }
    Ok(Value::Text(made.into_bump_str()))
}

pub(super) fn reverse<'a>(
    arguments: &[Value<'a>],
    with: &Evaluation<'a>,
) -> Result<Value<'a>, Fault> {
    let [Value::Text(text)] = *arguments else { unexpected(arguments) };
    with.arena.check(text.len())?;
    let mut made = with.arena.writer_for(text.len());
    text.chars().rev().for_each(|char| made.push(char));
    Ok(Value::Text(made.into_bump_str()))
}

pub(super) fn repeat<'a>(
    arguments: &[Value<'a>],
    with: &Evaluation<'a>,
) -> Result<Value<'a>, Fault> {
    let [Value::Text(text), Value::Int(times)] = *arguments else { unexpected(arguments) };
    let times = if text.is_empty() { 0 } else { usize::try_from(times).unwrap_or(0) };
    let bytes = text.len().saturating_mul(times);
    with.arena.check(bytes)?;
    let mut made = with.arena.writer_for(bytes);
    (0..times).for_each(|_| made.push_str(text));
    Ok(Value::Text(made.into_bump_str()))
}

/// Two arguments: what is found is taken out, as in Oracle.
pub(super) fn replace<'a>(
    arguments: &[Value<'a>],
    with: &Evaluation<'a>,
) -> Result<Value<'a>, Fault> {
    let (text, part, by) = match *arguments {
        [Value::Text(text), Value::Text(part)] => (text, part, ""),
        [Value::Text(text), Value::Text(part), Value::Text(by)] => (text, part, by),
        _ => unexpected(arguments),
    };
    if part.is_empty() || !text.contains(part) {
        return Ok(Value::Text(text));
    }
    with.arena.check(text.len())?;
    let mut made = with.arena.writer_for(text.len());
    for (at, piece) in text.split(part).enumerate() {
        if at > 0 {
            made.push_str(by);
        }
        made.push_str(piece);
        with.arena.check(made.len())?;
    }
    Ok(Value::Text(made.into_bump_str()))
}

/// Each character of `from` becomes the one at its place in `to`, or is taken out.
pub(super) fn translate<'a>(
    arguments: &[Value<'a>],
    with: &Evaluation<'a>,
) -> Result<Value<'a>, Fault> {
    let [Value::Text(text), Value::Text(from), Value::Text(to)] = *arguments else {
        unexpected(arguments)
    };
    with.arena.check(text.len())?;
    let mut made = with.arena.writer_for(text.len());
    let mut becomes = BTreeMap::new();
    let mut to = to.chars();
    for char in from.chars() {
        let by = to.next();
        // The first of several decides.
        becomes.entry(char).or_insert(by);
    }
    for char in text.chars() {
        match becomes.get(&char) {
            None => made.push(char),
            Some(by) => by.iter().for_each(|by| made.push(*by)),
        }
    }
    with.arena.check(made.len())?;
    Ok(Value::Text(made.into_bump_str()))
}

/// What a text is filled up with, and to how many characters.
struct Padding<'a> {
    text: &'a str,
    length: usize,
    /// How many characters it lacks.
    missing: usize,
    with: &'a str,
}

impl<'a> Padding<'a> {
    fn of(arguments: &[Value<'a>], arena: &Arena) -> Result<Padding<'a>, Fault> {
        let (text, length, with) = match *arguments {
            [Value::Text(text), Value::Int(length)] => (text, length, " "),
            [Value::Text(text), Value::Int(length), Value::Text(with)] => (text, length, with),
            _ => unexpected(arguments),
        };
        let length = usize::try_from(length).unwrap_or(0);
        let missing = length.saturating_sub(text.chars().count());
        let bytes_max = with.chars().map(char::len_utf8).max().unwrap_or(0);
        arena.check(text.len().saturating_add(missing.saturating_mul(bytes_max)))?;
        Ok(Padding { text, length, missing, with })
    }

    /// The first characters of the text, no more than asked for.
    fn cut(&self) -> &'a str {
        let end = self.text.char_indices().nth(self.length);
        &self.text[..end.map_or(self.text.len(), |(at, _)| at)]
    }

    /// Appends as many characters as are missing.
    fn fill(&self, made: &mut TextIn<'_>) {
        self.with.chars().cycle().take(self.missing).for_each(|char| made.push(char));
    }
}

pub(super) fn lpad<'a>(arguments: &[Value<'a>], with: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let padding = Padding::of(arguments, with.arena)?;
    let mut made = with.arena.writer_for(padding.text.len());
    padding.fill(&mut made);
    made.push_str(padding.cut());
    Ok(Value::Text(made.into_bump_str()))
}

pub(super) fn rpad<'a>(arguments: &[Value<'a>], with: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let padding = Padding::of(arguments, with.arena)?;
    let mut made = with.arena.writer_for(padding.text.len());
    made.push_str(padding.cut());
    padding.fill(&mut made);
    Ok(Value::Text(made.into_bump_str()))
}

/// Puts a text in the place of characters of another one.
pub(super) fn overlay<'a>(
    arguments: &[Value<'a>],
    with: &Evaluation<'a>,
) -> Result<Value<'a>, Fault> {
    let [Value::Text(text), Value::Text(by), Value::Int(from), ref rest @ ..] = *arguments else {
        unexpected(arguments)
    };
    let length = match rest {
        [] => i64::try_from(by.chars().count()).unwrap_or(i64::MAX),
        [Value::Int(length)] => *length,
        _ => unexpected(arguments),
    };
    let Some(before) = usize::try_from(from).ok().and_then(|from| from.checked_sub(1)) else {
        return Err(Fault::parameter("overlay counts places from 1").showing(Value::Int(from)));
    };
    let byte_at = |count: usize| text.char_indices().nth(count).map_or(text.len(), |(at, _)| at);
    // A length below zero goes back: what stands before the place comes again behind the piece.
    let behind = usize::try_from((from - 1).saturating_add(length)).unwrap_or(0);
    let (head, tail) = (&text[..byte_at(before)], &text[byte_at(behind)..]);
    with.arena.check(head.len() + by.len() + tail.len())?;
    let mut made = with.arena.writer_for(head.len() + by.len() + tail.len());
    made.push_str(head);
    made.push_str(by);
    made.push_str(tail);
    Ok(Value::Text(made.into_bump_str()))
}

//! Functions of texts and bytes.
//!
//! Characters are Unicode scalar values, and places count from 1. A result that is a piece of its
//! argument borrows from it.
//!
//! Callers: the table of functions.
//! Sources: PostgreSQL's documentation, "String Functions and Operators"; `instr` is Oracle's.

mod change;
mod encode;
mod format;
mod pieces;

use stop::SqlState;
use value::Value;

use super::{Entry, entry, md5, unexpected};
use crate::arena::TextIn;
use crate::cast::{as_text, write_text};
use crate::{Evaluation, Fault, Kind};

const TEXT: Kind = Kind::Text;
const WHOLE: Kind = Kind::Whole;
const BYTES: Kind = Kind::Bytes;
const ANY: Kind = Kind::Unknown;

pub(super) const TABLE: &[Entry] = &[
    entry("lower", &[TEXT], TEXT, change::lower),
    entry("upper", &[TEXT], TEXT, change::upper),
    entry("initcap", &[TEXT], TEXT, change::initcap),
    entry("reverse", &[TEXT], TEXT, change::reverse),
    entry("repeat", &[TEXT, WHOLE], TEXT, change::repeat),
    entry("replace", &[TEXT, TEXT, TEXT], TEXT, change::replace),
    entry("replace", &[TEXT, TEXT], TEXT, change::replace),
    entry("translate", &[TEXT, TEXT, TEXT], TEXT, change::translate),
    entry("lpad", &[TEXT, WHOLE, TEXT], TEXT, change::lpad),
    entry("lpad", &[TEXT, WHOLE], TEXT, change::lpad),
    entry("rpad", &[TEXT, WHOLE, TEXT], TEXT, change::rpad),
    entry("rpad", &[TEXT, WHOLE], TEXT, change::rpad),
    entry("overlay", &[TEXT, TEXT, WHOLE, WHOLE], TEXT, change::overlay),
    entry("overlay", &[TEXT, TEXT, WHOLE], TEXT, change::overlay),
    entry("substr", &[TEXT, WHOLE], TEXT, pieces::substr),
    entry("substr", &[TEXT, WHOLE, WHOLE], TEXT, pieces::substr),
    entry("substring", &[TEXT, WHOLE], TEXT, pieces::substr),
    entry("substring", &[TEXT, WHOLE, WHOLE], TEXT, pieces::substr),
    entry("substr", &[BYTES, WHOLE], BYTES, pieces::substr_of_bytes),
    entry("substr", &[BYTES, WHOLE, WHOLE], BYTES, pieces::substr_of_bytes),
    entry("substring", &[BYTES, WHOLE], BYTES, pieces::substr_of_bytes),
    entry("substring", &[BYTES, WHOLE, WHOLE], BYTES, pieces::substr_of_bytes),
    entry("left", &[TEXT, WHOLE], TEXT, pieces::left),
    entry("right", &[TEXT, WHOLE], TEXT, pieces::right),
    entry("trim", &[TEXT], TEXT, pieces::btrim),
    entry("trim", &[TEXT, TEXT], TEXT, pieces::btrim),
    entry("btrim", &[TEXT], TEXT, pieces::btrim),
    entry("btrim", &[TEXT, TEXT], TEXT, pieces::btrim),
    entry("ltrim", &[TEXT], TEXT, pieces::ltrim),
    entry("ltrim", &[TEXT, TEXT], TEXT, pieces::ltrim),
    entry("rtrim", &[TEXT], TEXT, pieces::rtrim),
    entry("rtrim", &[TEXT, TEXT], TEXT, pieces::rtrim),
    entry("split_part", &[TEXT, TEXT, WHOLE], TEXT, pieces::split_part),
    entry("strpos", &[TEXT, TEXT], WHOLE, strpos),
    entry("position", &[TEXT, TEXT], WHOLE, position),
    entry("instr", &[TEXT, TEXT], WHOLE, instr),
    entry("instr", &[TEXT, TEXT, WHOLE], WHOLE, instr),
    entry("instr", &[TEXT, TEXT, WHOLE, WHOLE], WHOLE, instr),
    entry("starts_with", &[TEXT, TEXT], Kind::Boolean, starts_with),
    entry("length", &[TEXT], WHOLE, length),
    entry("length", &[BYTES], WHOLE, octet_length),
    entry("char_length", &[TEXT], WHOLE, length),
    entry("character_length", &[TEXT], WHOLE, length),
    entry("octet_length", &[TEXT], WHOLE, octet_length),
    entry("octet_length", &[BYTES], WHOLE, octet_length),
    entry("lengthb", &[TEXT], WHOLE, octet_length),
    entry("bit_length", &[TEXT], WHOLE, bit_length),
    entry("bit_length", &[BYTES], WHOLE, bit_length),
    entry("ascii", &[TEXT], WHOLE, ascii),
    entry("chr", &[WHOLE], TEXT, chr),
    entry("to_hex", &[WHOLE], TEXT, to_hex),
    entry("md5", &[TEXT], TEXT, md5_of),
    entry("md5", &[BYTES], TEXT, md5_of),
    entry("to_oct", &[WHOLE], TEXT, to_oct),
    entry("to_bin", &[WHOLE], TEXT, to_bin),
    entry("encode", &[BYTES, TEXT], TEXT, encode::encode),
    entry("decode", &[TEXT, TEXT], BYTES, encode::decode),
    entry("format", &[TEXT], TEXT, format::format).and_more(ANY).with_nulls(),
    entry("concat", &[], TEXT, concat).and_more(ANY).with_nulls(),
    entry("concat_ws", &[TEXT], TEXT, concat_ws).and_more(ANY).with_nulls(),
    entry("quote_literal", &[ANY], TEXT, quote_literal),
    entry("quote_nullable", &[ANY], TEXT, quote_literal).with_nulls(),
    entry("quote_ident", &[TEXT], TEXT, quote_ident),
];

/// The most bytes that a function of two texts compares: a second's work.
const COMPARED_MAX: usize = 1 << 34;

/// A number of characters as a value.
fn count<'a>(of: usize) -> Result<Value<'a>, Fault> {
    Ok(Value::Int(i64::try_from(of).expect("a text has at most 1 GiB")))
}

/// The place of the first occurrence, from 1; 0 if there is none.
fn place_of(part: &str, text: &str) -> usize {
    text.find(part).map_or(0, |at| text[..at].chars().count() + 1)
}

fn strpos<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let [Value::Text(text), Value::Text(part)] = *arguments else { unexpected(arguments) };
    count(place_of(part, text))
}

fn position<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let [Value::Text(part), Value::Text(text)] = *arguments else { unexpected(arguments) };
    count(place_of(part, text))
}

/// `instr(text, part, from, occurrence)`; from the end if `from` is below zero.
fn instr<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let [Value::Text(text), Value::Text(part), ref rest @ ..] = *arguments else {
        unexpected(arguments)
    };
    let number = |at: usize| match rest.get(at) {
        Some(Value::Int(number)) => *number,
        _ => 1,
    };
    let (from, occurrence) = (number(0), number(1));
    if occurrence < 1 {
        return Err(Fault::parameter("instr counts occurrences from 1"));
    }
    if (from, occurrence) == (1, 1) && !part.is_empty() {
        return count(place_of(part, text));
    }
    if text.len().saturating_mul(part.len()) > COMPARED_MAX {
        let say = "instr has too many places of a long text to look at";
        return Err(Fault::new(SqlState::PROGRAM_LIMIT_EXCEEDED, say));
    }
    let wanted = usize::try_from(occurrence - 1).unwrap_or(usize::MAX);
    let starts_here = |at: &usize| text[*at..].starts_with(part);
    let places = text.char_indices().map(|(at, _)| at);
    let found = match usize::try_from(from) {
        Ok(0) => None,
        Ok(from) => places.skip(from - 1).filter(starts_here).nth(wanted),
        Err(_) => {
            let skipped = usize::try_from(from.unsigned_abs() - 1).unwrap_or(usize::MAX);
            places.rev().skip(skipped).filter(starts_here).nth(wanted)
        }
    };
    count(found.map_or(0, |at| text[..at].chars().count() + 1))
}

fn starts_with<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let [Value::Text(text), Value::Text(part)] = *arguments else { unexpected(arguments) };
    Ok(Value::Boolean(text.starts_with(part)))
}

fn length<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let [Value::Text(text)] = *arguments else { unexpected(arguments) };
    count(text.chars().count())
}

/// The bytes of a text, or of bytes.
fn bytes_of<'a>(arguments: &[Value<'a>]) -> &'a [u8] {
    match *arguments {
        [Value::Text(text)] => text.as_bytes(),
        [Value::Bytes(bytes)] => bytes,
        _ => unexpected(arguments),
    }
}

fn octet_length<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    count(bytes_of(arguments).len())
}

fn bit_length<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    count(bytes_of(arguments).len() * 8)
}

fn ascii<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let [Value::Text(text)] = *arguments else { unexpected(arguments) };
    Ok(Value::Int(text.chars().next().map_or(0, |first| u32::from(first).into())))
}

fn chr<'a>(arguments: &[Value<'a>], with: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let [Value::Int(code)] = *arguments else { unexpected(arguments) };
    let char = u32::try_from(code).ok().filter(|code| *code != 0).and_then(char::from_u32);
    let Some(char) = char else {
        return Err(Fault::parameter("chr takes the number of a character, and not 0")
            .showing(Value::Int(code)));
    };
    Ok(Value::Text(with.arena.text(char.encode_utf8(&mut [0; 4]))))
}

fn to_hex<'a>(arguments: &[Value<'a>], with: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let [Value::Int(number)] = *arguments else { unexpected(arguments) };
    Ok(Value::Text(with.arena.written(format_args!("{number:x}"))))
}

fn to_oct<'a>(arguments: &[Value<'a>], with: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let [Value::Int(number)] = *arguments else { unexpected(arguments) };
    Ok(Value::Text(with.arena.written(format_args!("{number:o}"))))
}

fn to_bin<'a>(arguments: &[Value<'a>], with: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let [Value::Int(number)] = *arguments else { unexpected(arguments) };
    Ok(Value::Text(with.arena.written(format_args!("{number:b}"))))
}

fn md5_of<'a>(arguments: &[Value<'a>], with: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let mut text = with.arena.writer_for(32);
    for byte in md5::digest(bytes_of(arguments)) {
        for digit in [byte >> 4, byte & 15] {
            text.push(char::from_digit(digit.into(), 16).expect("four bits are a digit"));
        }
    }
    Ok(Value::Text(text.into_bump_str()))
}

/// Writes a value as `concat` does: a truth value is a letter there.
fn push_value(value: Value<'_>, text: &mut dyn std::fmt::Write) {
    let written = match value {
        Value::Boolean(is) => text.write_str(if is { "t" } else { "f" }),
        other => write_text(other, text),
    };
    written.expect("a text takes whatever is written");
}

fn concat<'a>(arguments: &[Value<'a>], with: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let mut text = with.arena.writer();
    for value in arguments {
        push_value(*value, &mut text);
        with.arena.check(text.len())?;
    }
    Ok(Value::Text(text.into_bump_str()))
}

fn concat_ws<'a>(arguments: &[Value<'a>], with: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let (between, values) = match arguments {
        [Value::Null, ..] => return Ok(Value::Null),
        [Value::Text(between), values @ ..] => (*between, values),
        _ => unexpected(arguments),
    };
    let mut text = with.arena.writer();
    for (at, value) in values.iter().filter(|value| !value.is_null()).enumerate() {
        if at > 0 {
            text.push_str(between);
        }
        push_value(*value, &mut text);
        with.arena.check(text.len())?;
    }
    Ok(Value::Text(text.into_bump_str()))
}

fn quote_literal<'a>(arguments: &[Value<'a>], with: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let [value] = *arguments else { unexpected(arguments) };
    if value.is_null() {
        return Ok(Value::Text("NULL"));
    }
    let text = as_text(value, with);
    with.arena.check(text.len().saturating_mul(2))?;
    let mut quoted = with.arena.writer_for(text.len() + 2);
    push_literal(text, &mut quoted);
    Ok(Value::Text(quoted.into_bump_str()))
}

/// Writes a text as a literal that has it.
fn push_literal(text: &str, quoted: &mut TextIn<'_>) {
    if text.contains('\\') {
        quoted.push('E');
    }
    quoted.push('\'');
    for char in text.chars() {
        if char == '\'' || char == '\\' {
            quoted.push(char);
        }
        quoted.push(char);
    }
    quoted.push('\'');
}

fn quote_ident<'a>(arguments: &[Value<'a>], with: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let [Value::Text(text)] = *arguments else { unexpected(arguments) };
    with.arena.check(text.len().saturating_mul(2))?;
    let mut quoted = with.arena.writer_for(text.len());
    push_ident(text, &mut quoted);
    Ok(Value::Text(quoted.into_bump_str()))
}

/// Writes a text as a name that is it, in quotes where it needs them.
fn push_ident(text: &str, quoted: &mut TextIn<'_>) {
    let is_plain = |char: char| matches!(char, 'a'..='z' | '0'..='9' | '_');
    let begins = text.starts_with(|char: char| is_plain(char) && !char.is_ascii_digit());
    if begins && text.chars().all(is_plain) {
        quoted.push_str(text);
        return;
    }
    quoted.push('"');
    for char in text.chars() {
        if char == '"' {
            quoted.push(char);
        }
        quoted.push(char);
    }
    quoted.push('"');
}

//! `format`: a text with places for values.
//!
//! ```text
//!   format('%s is %-6s|%2$L', 'a', 'b')     a is b     |'b'
//! ```
//!
//! A place is `%`, the number of a value and `$`, `-` for blanks behind the value, a width, and a
//! letter; all but the letter may be missing. The width may be a value: `*`, `*2$`. The letter is
//! s for a text, I for a name, L for a literal.
//!
//! Callers: the table of functions. Source: PostgreSQL's documentation, "format".

use stop::SqlState;
use value::Value;

use super::{push_ident, push_literal, push_value};
use crate::arena::TextIn;
use crate::functions::unexpected;
use crate::{Evaluation, Fault};

pub(super) fn format<'a>(
    arguments: &[Value<'a>],
    with: &Evaluation<'a>,
) -> Result<Value<'a>, Fault> {
    let (pattern, values) = match arguments {
        [Value::Null, ..] => return Ok(Value::Null),
        [Value::Text(pattern), values @ ..] => (*pattern, values),
        _ => unexpected(arguments),
    };
    let mut reader = Reader { rest: pattern, values, next: 0 };
    let mut made = with.arena.writer();
    while let Some(at) = reader.rest.find('%') {
        made.push_str(&reader.rest[..at]);
        reader.rest = &reader.rest[at + 1..];
        match reader.takes('%') {
            true => made.push('%'),
            false => reader.place()?.write(&mut made, with)?,
        }
        with.arena.check(made.len())?;
    }
    made.push_str(reader.rest);
    with.arena.check(made.len())?;
    Ok(Value::Text(made.into_bump_str()))
}

/// A place that has its value.
struct Place<'a> {
    value: Value<'a>,
    /// Whether missing characters stand behind the value.
    is_left: bool,
    width: usize,
    letter: char,
}

impl Place<'_> {
    fn write(&self, made: &mut TextIn<'_>, with: &Evaluation<'_>) -> Result<(), Fault> {
        let mut text = with.arena.writer();
        push_value(self.value, &mut text);
        let mut written = with.arena.writer();
        match (self.letter, self.value) {
            ('s', _) => written.push_str(&text),
            ('L', Value::Null) => written.push_str("NULL"),
            ('L', _) => push_literal(&text, &mut written),
            (_, Value::Null) => {
                let say = "NULL can't be the name that %I of a format stands for";
                return Err(Fault::new(SqlState::NULL_VALUE_NOT_ALLOWED, say));
            }
            _ => push_ident(&text, &mut written),
        }
        let missing = self.width.saturating_sub(written.chars().count());
        with.arena.check(made.len().saturating_add(written.len()).saturating_add(missing))?;
        let blanks = |made: &mut TextIn<'_>| (0..missing).for_each(|_| made.push(' '));
        if !self.is_left {
            blanks(made);
        }
        made.push_str(&written);
        if self.is_left {
            blanks(made);
        }
        Ok(())
    }
}

/// What is left of a pattern, and its values.
struct Reader<'p, 'a> {
    rest: &'p str,
    values: &'p [Value<'a>],
    /// The number of the value that a place without a number takes, from 0.
    next: usize,
}

impl<'a> Reader<'_, 'a> {
    fn takes(&mut self, wanted: char) -> bool {
        match self.rest.strip_prefix(wanted) {
            Some(behind) => {
                self.rest = behind;
                true
            }
            None => false,
        }
    }

    /// The place behind a `%`.
    fn place(&mut self) -> Result<Place<'a>, Fault> {
        let (mut number, mut width) = (None, self.digits()?);
        if width.is_some() && self.takes('$') {
            number = width.take();
        }
        let mut is_left = false;
        if width.is_none() {
            while self.takes('-') {
                is_left = true;
            }
            width = match self.takes('*') {
                false => self.digits()?,
                true => {
                    let given = self.width_given()?;
                    is_left |= given < 0;
                    Some(within(given.unsigned_abs())?)
                }
            };
        }
        let Some(letter) = self.rest.chars().next() else {
            return Err(Fault::parameter("a place of a format has no letter behind its %")
                .with_hint("write %% for a single %"));
        };
        if !matches!(letter, 's' | 'I' | 'L') {
            let say = format!("a place of a format can't have the letter {letter}");
            return Err(Fault::parameter(say).with_hint("the letters are s, I and L"));
        }
        self.rest = &self.rest[letter.len_utf8()..];
        let value = self.value(number)?;
        Ok(Place { value, is_left, width: width.unwrap_or(0), letter })
    }

    /// A number, if there is one.
    fn digits(&mut self) -> Result<Option<usize>, Fault> {
        let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
        let (digits, behind) = self.rest.split_at(end);
        if digits.is_empty() {
            return Ok(None);
        }
        self.rest = behind;
        within(digits.parse().unwrap_or(u64::MAX)).map(Some)
    }

    /// The width that a value says, behind a `*`.
    fn width_given(&mut self) -> Result<i64, Fault> {
        let number = self.digits()?;
        if number.is_some() && !self.takes('$') {
            return Err(Fault::parameter("a width of a format is * or *n$"));
        }
        match self.value(number)? {
            Value::Null => Ok(0),
            Value::Int(width) => Ok(width),
            other => Err(Fault::parameter("a width of a format is a whole number").showing(other)),
        }
    }

    /// The value of this number, from 1, or the next one.
    fn value(&mut self, number: Option<usize>) -> Result<Value<'a>, Fault> {
        let place = match number {
            None => self.next,
            Some(number) => number
                .checked_sub(1)
                .ok_or_else(|| Fault::parameter("the values of a format have numbers from 1 on"))?,
        };
        self.next = place.saturating_add(1);
        self.values.get(place).copied().ok_or_else(|| {
            let say = format!("the format has {} values, and takes more", self.values.len());
            Fault::parameter(say)
        })
    }
}

/// A number of a pattern, which has 31 bits at most.
fn within(number: u64) -> Result<usize, Fault> {
    let small = i32::try_from(number).ok().and_then(|number| usize::try_from(number).ok());
    small.ok_or_else(|| Fault::out_of_range("a number of a format"))
}

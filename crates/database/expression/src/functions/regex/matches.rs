//! One match of a regular expression after the other: `regexp_replace`, `regexp_count`,
//! `regexp_substr`, `regexp_instr`.
//!
//! ```text
//!   regexp_replace('a1b22', '(\d)', '<\1>', 'g')     a<1>b<2><2>
//! ```
//!
//! Each match is looked for behind the one before it. Behind a match of nothing it is looked for
//! one character later. What a match is, and what its brackets have, is said in `part`.
//!
//! Callers: the table of functions.
//! Source: PostgreSQL's documentation, "POSIX Regular Expressions".

use value::Value;

use super::super::unexpected;
use super::part::{Match, Part, check, next_match};
use super::{Pattern, Search, starts};
use crate::arena::TextIn;
use crate::{Evaluation, Fault};

/// How a call looks at texts.
#[derive(Default)]
struct Flags {
    ignores_case: bool,
    /// Whether all matches are meant.
    is_global: bool,
}

impl Flags {
    fn of(flags: &str, takes_global: bool) -> Result<Flags, Fault> {
        let mut read = Flags::default();
        for flag in flags.chars() {
            match flag {
                'i' => read.ignores_case = true,
                'c' => read.ignores_case = false,
                'g' if takes_global => read.is_global = true,
                _ => {
                    let say = match takes_global {
                        true => "the flags are g, for all matches, i, which ignores case, and c",
                        false => "the flags are i, which ignores case, and c, which doesn't",
                    };
                    return Err(Fault::parameter(say).showing(Value::Text(flags)));
                }
            }
        }
        Ok(read)
    }
}

/// The matches of a pattern in a text.
struct Matches<'s, 't> {
    pattern: &'s Pattern,
    search: &'s Search<'t>,
    /// Where the next one is looked for; none: there are no more.
    from: Option<usize>,
    /// Whether the parts of its brackets are wanted.
    wants_parts: bool,
}

impl Matches<'_, '_> {
    fn next_one(&mut self) -> Result<Option<Match>, Fault> {
        let Some(from) = self.from else { return Ok(None) };
        let found = next_match(self.pattern, self.search, from, self.wants_parts)?;
        self.from = match &found {
            None => None,
            Some(Match { whole, .. }) if whole.start < whole.end => Some(whole.end),
            Some(Match { whole, .. }) => {
                let next = self.search.text[whole.end..].chars().next();
                next.map(|passed| whole.end + passed.len_utf8())
            }
        };
        Ok(found)
    }
}

/// A number that a call may leave out.
fn number_at(arguments: &[Value<'_>], at: usize, otherwise: i64) -> i64 {
    match arguments.get(at) {
        Some(Value::Int(number)) => *number,
        _ => otherwise,
    }
}

/// Flags that a call may leave out.
fn flags_at(arguments: &[Value<'_>], at: usize) -> Result<Flags, Fault> {
    match arguments.get(at) {
        Some(Value::Text(flags)) => Flags::of(flags, false),
        _ => Ok(Flags::default()),
    }
}

/// The byte of the character with this number, from 1; none behind the end.
fn byte_of(text: &str, number: i64) -> Result<Option<usize>, Fault> {
    let before = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
    match before {
        Some(before) => Ok(starts(text).nth(before)),
        None => Err(out_of_range("start", number)),
    }
}

#[cold]
fn out_of_range(name: &str, number: i64) -> Fault {
    let say = format!("{name} is out of range for a function of regular expressions");
    Fault::parameter(say).showing(Value::Int(number))
}

/// `regexp_replace(text, pattern, by, flags)` or `(text, pattern, by, start, number, flags)`.
/// Number 0 means all matches.
pub(super) fn replace<'a>(
    arguments: &[Value<'a>],
    with: &Evaluation<'a>,
) -> Result<Value<'a>, Fault> {
    let [Value::Text(text), Value::Text(pattern), Value::Text(by), ref rest @ ..] = *arguments
    else {
        unexpected(arguments)
    };
    let (start, number, flags) = match *rest {
        [] => (1, None, ""),
        [Value::Text(flags)] => (1, None, flags),
        [Value::Int(start)] => (start, None, ""),
        [Value::Int(start), Value::Int(number)] => (start, Some(number), ""),
        [Value::Int(start), Value::Int(number), Value::Text(flags)] => (start, Some(number), flags),
        _ => unexpected(arguments),
    };
    let flags = Flags::of(flags, true)?;
    let number = number.unwrap_or(if flags.is_global { 0 } else { 1 });
    if number < 0 {
        return Err(out_of_range("number", number));
    }
    let from = byte_of(text, start)?;
    let (pattern, items) = (Pattern::parse(pattern)?, items_of(by));
    let wanted: Vec<usize> = items.iter().filter_map(|item| item.wants(&pattern)).collect();
    check(&pattern, &wanted)?;
    let go_on = || with.go_on();
    go_on()?;
    let search = Search::new(text, flags.ignores_case, &go_on);
    let wants_parts = !wanted.is_empty();
    let mut matches = Matches { pattern: &pattern, search: &search, from, wants_parts };
    let (mut made, mut done, mut count) = (with.arena.writer(), 0, 0);
    while let Some(found) = matches.next_one()? {
        count += 1;
        if count < number {
            continue;
        }
        push(&text[done..found.whole.start], &mut made, with)?;
        for item in &items {
            push(item.text(text, &found), &mut made, with)?;
        }
        done = found.whole.end;
        if number > 0 {
            break;
        }
    }
    push(&text[done..], &mut made, with)?;
    Ok(Value::Text(made.into_bump_str()))
}

fn push(piece: &str, made: &mut TextIn<'_>, with: &Evaluation<'_>) -> Result<(), Fault> {
    with.arena.check(made.len().saturating_add(piece.len()))?;
    made.push_str(piece);
    Ok(())
}

/// A piece of what a match is replaced by.
enum Item<'r> {
    Text(&'r str),
    /// What matches.
    Whole,
    /// What the brackets of this number have, from 0.
    Part(usize),
}

impl Item<'_> {
    /// The number of the brackets that it needs of the pattern.
    fn wants(&self, pattern: &Pattern) -> Option<usize> {
        match self {
            Item::Part(number) if *number < pattern.kept => Some(*number),
            _ => None,
        }
    }

    /// What it stands for, for a match in this text.
    fn text<'t>(&'t self, text: &'t str, found: &Match) -> &'t str {
        let part = match self {
            Item::Text(own) => return own,
            Item::Whole => Some(found.whole),
            Item::Part(number) => found.kept[*number],
        };
        part.map_or("", |Part { start, end }| &text[start..end])
    }
}

/// The pieces of a replacement: `\1` to `\9`, `\&`, `\\`, and all else as it is.
fn items_of(by: &str) -> Vec<Item<'_>> {
    let (mut items, mut rest) = (Vec::new(), by);
    while let Some(at) = rest.find('\\') {
        let item = match rest.as_bytes().get(at + 1) {
            Some(digit @ b'1'..=b'9') => Item::Part(usize::from(*digit - b'1')),
            Some(b'&') => Item::Whole,
            Some(b'\\') => Item::Text("\\"),
            _ => {
                items.push(Item::Text(&rest[..=at]));
                rest = &rest[at + 1..];
                continue;
            }
        };
        items.push(Item::Text(&rest[..at]));
        items.push(item);
        rest = &rest[at + 2..];
    }
    items.push(Item::Text(rest));
    items
}

/// `regexp_count(text, pattern, start, flags)`.
pub(super) fn count<'a>(
    arguments: &[Value<'a>],
    with: &Evaluation<'a>,
) -> Result<Value<'a>, Fault> {
    let [Value::Text(text), Value::Text(pattern), ..] = *arguments else { unexpected(arguments) };
    let (from, flags) = (byte_of(text, number_at(arguments, 2, 1))?, flags_at(arguments, 3)?);
    let pattern = Pattern::parse(pattern)?;
    check(&pattern, &[])?;
    let go_on = || with.go_on();
    go_on()?;
    let search = Search::new(text, flags.ignores_case, &go_on);
    let mut matches = Matches { pattern: &pattern, search: &search, from, wants_parts: false };
    let mut count = 0;
    while matches.next_one()?.is_some() {
        count += 1;
    }
    Ok(Value::Int(count))
}

/// `regexp_substr(text, pattern, start, number, flags, brackets)`.
pub(super) fn substr<'a>(
    arguments: &[Value<'a>],
    with: &Evaluation<'a>,
) -> Result<Value<'a>, Fault> {
    let [Value::Text(text), ..] = *arguments else { unexpected(arguments) };
    let (flags, brackets) = (flags_at(arguments, 4)?, number_at(arguments, 5, 0));
    let found = sought(arguments, &flags, brackets, with)?;
    Ok(found.map_or(Value::Null, |Part { start, end }| Value::Text(&text[start..end])))
}

/// `regexp_instr(text, pattern, start, number, end, flags, brackets)`: the place of the first
/// character, or with end 1 of the one behind; 0 if nothing is found.
pub(super) fn instr<'a>(
    arguments: &[Value<'a>],
    with: &Evaluation<'a>,
) -> Result<Value<'a>, Fault> {
    let [Value::Text(text), ..] = *arguments else { unexpected(arguments) };
    let end = number_at(arguments, 4, 0);
    if !(0..=1).contains(&end) {
        return Err(out_of_range("end", end));
    }
    let (flags, brackets) = (flags_at(arguments, 5)?, number_at(arguments, 6, 0));
    let Some(found) = sought(arguments, &flags, brackets, with)? else { return Ok(Value::Int(0)) };
    let at = if end == 1 { found.end } else { found.start };
    let before = i64::try_from(text[..at].chars().count()).expect("a text has at most 1 GiB");
    Ok(Value::Int(before + 1))
}

/// The part that a call asks for: a match by its number, or what brackets have of it.
fn sought(
    arguments: &[Value<'_>],
    flags: &Flags,
    brackets: i64,
    with: &Evaluation<'_>,
) -> Result<Option<Part>, Fault> {
    let [Value::Text(text), Value::Text(pattern), ..] = *arguments else { unexpected(arguments) };
    let from = byte_of(text, number_at(arguments, 2, 1))?;
    let number = number_at(arguments, 3, 1);
    if number < 1 {
        return Err(out_of_range("number", number));
    }
    let Ok(brackets) = usize::try_from(brackets) else {
        return Err(out_of_range("brackets", brackets));
    };
    let pattern = Pattern::parse(pattern)?;
    if brackets > pattern.kept {
        return Ok(None);
    }
    let wanted = brackets.checked_sub(1);
    check(&pattern, wanted.as_slice())?;
    let go_on = || with.go_on();
    go_on()?;
    let search = Search::new(text, flags.ignores_case, &go_on);
    let wants_parts = wanted.is_some();
    let mut matches = Matches { pattern: &pattern, search: &search, from, wants_parts };
    let mut count = 0;
    while let Some(found) = matches.next_one()? {
        count += 1;
        if count == number {
            return Ok(wanted.map_or(Some(found.whole), |number| found.kept[number]));
        }
    }
    Ok(None)
}

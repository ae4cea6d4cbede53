//! The part of a text that a regular expression matches: `substring(text from pattern)`.
//!
//! ```text
//!   x=(\d+)   in   'a x=12 b'     the match: x=12        the part of the first brackets: 12
//! ```
//!
//! Of the matches the one that begins first counts, and of those the longest. Within it each piece
//! of the pattern is as long as it can be, the earlier ones first. If the pattern has brackets, the
//! part of the first ones is given; `(?: )` are none.
//!
//! Invariants
//!   * what isn't known for certain is refused (0A000): repetitions that take as little as
//!     possible, and brackets that are asked for and repeated, or stand within repeated ones
//!   * the ends of pieces that are kept are [`ENDS_MAX`] at most
//!
//! Callers: the table of functions; `matches`.
//! Source: PostgreSQL's documentation, "Regular Expression Matching Rules".

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use stop::SqlState;
use value::Value;

use super::super::unexpected;
use super::{Branch, GoOn, Node, Pattern, Piece, Search, starts};
use crate::{Evaluation, Fault};

/// The most ends of pieces at a time.
const ENDS_MAX: usize = 1 << 20;

/// The most brackets whose part is kept: a replacement names them by one digit.
const KEPT_MAX: usize = 9;

/// A part of a text.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub(super) start: usize,
    pub(super) end: usize,
}

/// What a pattern takes of a text.
pub(super) struct Match {
    pub(super) whole: Part,
    /// The parts of its brackets; none of those that aren't in it.
    pub(super) kept: Kept,
}

type Kept = [Option<Part>; KEPT_MAX];

pub(super) fn substring<'a>(
    arguments: &[Value<'a>],
    with: &Evaluation<'a>,
) -> Result<Value<'a>, Fault> {
    let [Value::Text(text), Value::Text(pattern)] = *arguments else { unexpected(arguments) };
    let part = part_of(text, pattern, &|| with.go_on())?;
    Ok(part.map_or(Value::Null, |Part { start, end }| Value::Text(&text[start..end])))
}

/// The part of a text that the pattern gives; none if nothing matches, or its first brackets aren't
/// in what matches.
fn part_of(text: &str, pattern: &str, go_on: GoOn<'_>) -> Result<Option<Part>, Fault> {
    go_on()?;
    let pattern = Pattern::parse(pattern)?;
    let has_kept = pattern.kept > 0;
    check(&pattern, if has_kept { &[0] } else { &[] })?;
    let search = Search::new(text, false, go_on);
    let found = next_match(&pattern, &search, 0, has_kept)?;
    Ok(found.and_then(|found| if has_kept { found.kept[0] } else { Some(found.whole) }))
}

/// The first match that begins at this place or behind it, with the parts of its brackets if they
/// are wanted.
pub(super) fn next_match(
    pattern: &Pattern,
    search: &Search<'_>,
    from: usize,
    wants_parts: bool,
) -> Result<Option<Match>, Fault> {
    for start in starts(&search.text[from..]).map(|at| from + at) {
        let longest = Cell::new(None);
        let ends_here = |end: usize| {
            longest.set(longest.get().max(Some(end)));
            Ok(end == search.text.len())
        };
        search.any(&pattern.branches, start, &ends_here)?;
        let Some(end) = longest.get() else { continue };
        let whole = Part { start, end };
        let kept = match wants_parts {
            true => Dissection::new(search).kept(pattern, whole)?,
            false => Kept::default(),
        };
        return Ok(Some(Match { whole, kept }));
    }
    Ok(None)
}

/// Refuses a pattern of which it isn't known what it takes, or what the brackets of these numbers
/// take.
pub(super) fn check(pattern: &Pattern, wanted: &[usize]) -> Result<(), Fault> {
    let is_unknown = |number: &usize| *number >= KEPT_MAX || !is_known(&pattern.branches, *number);
    let what = if pattern.is_lazy {
        "a repetition that takes as little as possible"
    } else if wanted.iter().any(is_unknown) {
        "a regular expression whose brackets are repeated, or stand within repeated ones,"
    } else {
        return Ok(());
    };
    let say = format!("{what} can't take a part of a text");
    let fault = Fault::new(SqlState::FEATURE_NOT_SUPPORTED, say);
    Err(fault.with_hint("put (?: ) around what is only repeated, and ( ) around what is wanted"))
}

/// Whether the brackets of this number come once at most, and so do those around them.
fn is_known(branches: &[Branch], number: usize) -> bool {
    branches.iter().flatten().any(|piece| match &piece.node {
        Node::Group { branches, kept } => {
            piece.most == Some(1) && (*kept == Some(number) || is_known(branches, number))
        }
        _ => false,
    })
}

/// Whether there are brackets whose part is kept.
fn has_kept(branches: &[Branch]) -> bool {
    branches.iter().flatten().any(|piece| match &piece.node {
        Node::Group { branches, kept } => kept.is_some() || has_kept(branches),
        _ => false,
    })
}

/// The search for the pieces of a match.
struct Dissection<'s, 't> {
    search: &'s Search<'t>,
    /// What the brackets have.
    kept: Cell<Kept>,
    /// How many ends of pieces are had now.
    ends: Cell<usize>,
}

impl<'s, 't> Dissection<'s, 't> {
    fn new(search: &'s Search<'t>) -> Dissection<'s, 't> {
        Dissection { search, kept: Cell::default(), ends: Cell::new(0) }
    }

    /// What the brackets have of a match.
    fn kept(&self, pattern: &Pattern, whole: Part) -> Result<Kept, Fault> {
        self.takes_one_of(&pattern.branches, whole)?;
        Ok(self.kept.get())
    }

    /// Whether the pieces of one of the branches have all of this part between them.
    fn takes_one_of(&self, branches: &[Branch], part: Part) -> Result<bool, Fault> {
        let before = self.kept.get();
        for branch in branches {
            if self.takes(branch, part)? {
                return Ok(true);
            }
            self.kept.set(before);
        }
        Ok(false)
    }

    /// Whether the pieces have all of this part between them.
    fn takes(&self, pieces: &[Piece], part: Part) -> Result<bool, Fault> {
        let (mut pieces, mut at) = (pieces, part.start);
        while let Some((piece, rest)) = pieces.split_first() {
            match &piece.node {
                Node::One { of, negated } if piece.is_once() => {
                    match self.search.one(at, of, *negated)? {
                        Some(behind) => at = behind,
                        None => return Ok(false),
                    }
                    pieces = rest;
                }
                _ => return self.takes_by(piece, rest, Part { start: at, end: part.end }),
            }
        }
        Ok(at == part.end)
    }

    /// The same, where the first piece may end at several places: the last one first.
    fn takes_by(&self, piece: &Piece, rest: &[Piece], part: Part) -> Result<bool, Fault> {
        let search = self.search;
        let ends = RefCell::new(BTreeSet::new());
        let note = |end: usize| {
            if ends.borrow_mut().insert(end) {
                self.ends.set(self.ends.get() + 1);
            }
            match self.ends.get() <= ENDS_MAX {
                true => Ok(false),
                false => Err(too_many()),
            }
        };
        search.depth.set(search.depth.get() + 1);
        search.step(0)?;
        search.all(std::slice::from_ref(piece), part.start, &note)?;
        let ends = ends.into_inner();
        let mut found = false;
        for end in ends.iter().rev() {
            found = self.takes(rest, Part { start: *end, end: part.end })?;
            if found {
                self.keep(piece, Part { start: part.start, end: *end })?;
                break;
            }
        }
        self.ends.set(self.ends.get() - ends.len());
        search.depth.set(search.depth.get() - 1);
        Ok(found)
    }

    /// Keeps the part of brackets, and those of the brackets in them. Brackets that need not be
    /// there aren't if they have nothing.
    fn keep(&self, piece: &Piece, part: Part) -> Result<(), Fault> {
        let Node::Group { branches, kept } = &piece.node else { return Ok(()) };
        let is_there = piece.is_once() || (piece.most == Some(1) && part.start < part.end);
        if !is_there {
            return Ok(());
        }
        if let Some(number) = kept.filter(|number| *number < KEPT_MAX) {
            let mut all = self.kept.get();
            all[number] = Some(part);
            self.kept.set(all);
        }
        if has_kept(branches) {
            self.takes_one_of(branches, part)?;
        }
        Ok(())
    }
}

#[cold]
fn too_many() -> Fault {
    let say = "the regular expression has too many ways to match this text";
    Fault::new(SqlState::PROGRAM_LIMIT_EXCEEDED, say)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part<'t>(text: &'t str, pattern: &str) -> Result<Option<&'t str>, Fault> {
        let found = part_of(text, pattern, &|| Ok(()))?;
        Ok(found.map(|Part { start, end }| &text[start..end]))
    }

    #[test]
    fn the_first_and_longest_match_is_given() {
        for (text, pattern, expected) in [
            ("foobar", "o.b", Some("oob")),
            ("Thomas", "...$", Some("mas")),
            ("abc123def45", "\\d+", Some("123")),
            ("xabcd", "a|ab|abc", Some("abc")),
            ("xyxyz", "(?:xy)*", Some("xyxy")),
            ("Größe", "ö.+", Some("öße")),
            ("aab", "b*", Some("")),
            ("", "^$", Some("")),
            ("foo", "x", None),
        ] {
            assert_eq!(part(text, pattern).expect("sound"), expected, "{text} {pattern}");
        }
    }

    #[test]
    fn the_first_brackets_give_their_part() {
        for (text, pattern, expected) in [
            ("foobar", "o(.)b", Some("o")),
            ("a x=12 b", "x=(\\d+)", Some("12")),
            ("key=value", "(\\w+)=(\\w+)", Some("key")),
            ("aaa", "(a*)(a+)", Some("aa")),
            ("ab", "^(a?(?:ab)?)(b?)$", Some("ab")),
            ("abcd", "(a|ab)(c|bcd)(d*)", Some("ab")),
            ("abb", "((a)b)", Some("ab")),
            ("foo", "(x)|foo", None),
            ("ab", "a(x*)b", Some("")),
            ("axb", "a(?:(x)|y)b", Some("x")),
            ("ayb", "a(?:(x)|y)b", None),
            ("foobarbequebaz", "bar(.+)?beque", None),
            ("12.50", "(\\.\\d+)?$", Some(".50")),
        ] {
            assert_eq!(part(text, pattern).expect("sound"), expected, "{text} {pattern}");
        }
    }

    #[test]
    fn what_is_not_known_for_certain_is_refused() {
        for pattern in ["a*?b", "(a)*b", "(?:(a)b)+", "(a){2}"] {
            let refused = part("aab", pattern).map(|_| ()).expect_err(pattern);
            assert_eq!(refused.state(), SqlState::FEATURE_NOT_SUPPORTED, "{pattern}");
        }
        assert!(part("a", "(").is_err());
    }

    /// However many ways there are, a search ends.
    #[test]
    fn a_search_ends() {
        let text = "a".repeat(5_000);
        let refused = part(&text, "(a*)(a*)(a*)(a*)b").map(|_| ()).expect_err("too many ways");
        assert_eq!(refused.state(), SqlState::PROGRAM_LIMIT_EXCEEDED);
        let all = format!("({})", "a".repeat(5_000));
        assert_eq!(part(&text, &all).expect("sound"), Some(text.as_str()));
        assert!(part(&text, &format!("(a){}", "a*".repeat(5_000))).is_err());
    }
}

//! Regular expressions: `~`, `~*`, `regexp_like`; `part` has `substring(text from pattern)`, and
//! `matches` what finds and replaces one match after the other, `similar` SIMILAR TO.
//!
//! ```text
//!   ^(emp|dept)[0-9]*$ ─ parse ─▶ branches of pieces ─ search ─▶ whether a part of a text matches
//! ```
//!
//! There are `.`, sets, classes such as `[:alpha:]`, `\d`, `\s`, `\w`, groups, `|`, `*`, `+`, `?`,
//! `{m,n}`, `^` and `$`. There are no back references and no looking ahead.
//!
//! Invariants
//!   * a search takes at most [`STEPS_MAX`] steps and eight for each byte of the text, however bad
//!     the pattern is: then it is refused
//!   * it asks whether the statement is to end when it begins, and every so many steps (EV15)
//!   * the stack holds: groups are nested [`NESTED_MAX`] times at most; groups and runs stand
//!     behind one another, and groups are repeated, [`DEPTH_MAX`] times. Characters that come once
//!     need no stack
//!
//! Callers: the table of functions.
//! Source: PostgreSQL's documentation, "POSIX Regular Expressions".

mod matches;
mod part;
mod similar;

use std::cell::Cell;
use std::iter::Peekable;
use std::str::Chars;

use stop::SqlState;
use value::Value;

use super::{Entry, entry, unexpected};
use crate::{Evaluation, Fault, Kind};

const TEXT: Kind = Kind::Text;
const WHOLE: Kind = Kind::Whole;

pub(super) const TABLE: &[Entry] = &[
    entry("regexp_like", &[TEXT, TEXT], Kind::Boolean, like),
    entry("regexp_like", &[TEXT, TEXT, TEXT], Kind::Boolean, like),
    entry("similar_to", &[TEXT, TEXT], Kind::Boolean, similar::similar),
    entry("similar_to", &[TEXT, TEXT, TEXT], Kind::Boolean, similar::similar),
    entry("substring", &[TEXT, TEXT], TEXT, part::substring),
    entry("regexp_replace", &[TEXT, TEXT, TEXT], TEXT, matches::replace),
    entry("regexp_replace", &[TEXT, TEXT, TEXT, TEXT], TEXT, matches::replace),
    entry("regexp_replace", &[TEXT, TEXT, TEXT, WHOLE], TEXT, matches::replace),
    entry("regexp_replace", &[TEXT, TEXT, TEXT, WHOLE, WHOLE], TEXT, matches::replace),
    entry("regexp_replace", &[TEXT, TEXT, TEXT, WHOLE, WHOLE, TEXT], TEXT, matches::replace),
    entry("regexp_count", &[TEXT, TEXT], WHOLE, matches::count),
    entry("regexp_count", &[TEXT, TEXT, WHOLE], WHOLE, matches::count),
    entry("regexp_count", &[TEXT, TEXT, WHOLE, TEXT], WHOLE, matches::count),
    entry("regexp_substr", &[TEXT, TEXT], TEXT, matches::substr),
    entry("regexp_substr", &[TEXT, TEXT, WHOLE], TEXT, matches::substr),
    entry("regexp_substr", &[TEXT, TEXT, WHOLE, WHOLE], TEXT, matches::substr),
    entry("regexp_substr", &[TEXT, TEXT, WHOLE, WHOLE, TEXT], TEXT, matches::substr),
    entry("regexp_substr", &[TEXT, TEXT, WHOLE, WHOLE, TEXT, WHOLE], TEXT, matches::substr),
    entry("regexp_instr", &[TEXT, TEXT], WHOLE, matches::instr),
    entry("regexp_instr", &[TEXT, TEXT, WHOLE], WHOLE, matches::instr),
    entry("regexp_instr", &[TEXT, TEXT, WHOLE, WHOLE], WHOLE, matches::instr),
    entry("regexp_instr", &[TEXT, TEXT, WHOLE, WHOLE, WHOLE], WHOLE, matches::instr),
    entry("regexp_instr", &[TEXT, TEXT, WHOLE, WHOLE, WHOLE, TEXT], WHOLE, matches::instr),
    entry("regexp_instr", &[TEXT, TEXT, WHOLE, WHOLE, WHOLE, TEXT, WHOLE], WHOLE, matches::instr),
];

const STEPS_MAX: usize = 1_000_000;
/// After so many it is asked whether the statement is to end.
const STEPS_A_LOOK: usize = 1 << 16;
const DEPTH_MAX: u32 = 300;
const NESTED_MAX: u32 = 200;
/// The most bytes of a pattern.
const PATTERN_BYTES_MAX: usize = 16_384;
/// So many ranges of a set are one step.
const RANGES_A_STEP: usize = 16;
/// The most repetitions that a bound may name, as in PostgreSQL.
const BOUND_MAX: u32 = 255;

fn like<'a>(arguments: &[Value<'a>], with: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let (text, pattern, flags) = match *arguments {
        [Value::Text(text), Value::Text(pattern)] => (text, pattern, ""),
        [Value::Text(text), Value::Text(pattern), Value::Text(flags)] => (text, pattern, flags),
        _ => unexpected(arguments),
    };
    if flags.chars().any(|flag| !"ic".contains(flag)) {
        let say = "regular expressions have the flags i, which ignores case, and c, which doesn't";
        return Err(Fault::parameter(say).showing(Value::Text(flags)));
    }
    let ignores_case = flags.ends_with('i');
    is_match(text, pattern, ignores_case, &|| with.go_on()).map(Value::Boolean)
}

/// What a search asks whether it is to go on.
type GoOn<'g> = &'g dyn Fn() -> Result<(), Fault>;

/// Whether a part of the text matches.
fn is_match(text: &str, pattern: &str, ignores_case: bool, go_on: GoOn<'_>) -> Result<bool, Fault> {
    go_on()?;
    let Pattern { branches, .. } = Pattern::parse(pattern)?;
    let search = Search::new(text, ignores_case, go_on);
    for start in starts(text) {
        if search.any(&branches, start, &|_| Ok(true))? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The places of a text where a part of it may begin.
fn starts(text: &str) -> impl Iterator<Item = usize> {
    text.char_indices().map(|(at, _)| at).chain([text.len()])
}

/// A pattern that was read.
struct Pattern {
    branches: Vec<Branch>,
    /// The number of its groups whose part is kept.
    kept: usize,
    /// Whether a repetition is to take as little as possible.
    is_lazy: bool,
}

impl Pattern {
    fn parse(pattern: &str) -> Result<Pattern, Fault> {
        if pattern.len() > PATTERN_BYTES_MAX {
            let say = format!("a regular expression has {PATTERN_BYTES_MAX} bytes at most");
            return Err(Fault::new(SqlState::PROGRAM_LIMIT_EXCEEDED, say));
        }
        let rest = pattern.chars().peekable();
        let mut parser = Parser { rest, pattern, depth: 0, kept: 0, is_lazy: false };
        let branches = parser.branches()?;
        if parser.rest.peek().is_some() {
            return Err(parser.wrong("a bracket closes that wasn't opened"));
        }
        let Parser { kept, is_lazy, .. } = parser;
        Ok(Pattern { branches, kept, is_lazy })
    }
}

/// Pieces one behind the other.
type Branch = Vec<Piece>;

/// A part of a pattern, and how often it comes.
struct Piece {
    node: Node,
    least: u32,
    /// None: any number of times.
    most: Option<u32>,
}

enum Node {
    /// One of these characters, or one that is none of them.
    One {
        of: Vec<Range>,
        negated: bool,
    },
    Begin,
    End,
    Group {
        branches: Vec<Branch>,
        /// Its number among those whose part is kept, from 0; none: it is `(?: )`.
        kept: Option<usize>,
    },
}

/// Characters from one to another.
#[derive(Clone, Copy)]
struct Range {
    first: char,
    last: char,
}

impl Piece {
    /// Whether it comes once, neither more nor less.
    fn is_once(&self) -> bool {
        self.least == 1 && self.most == Some(1)
    }
}

impl Range {
    fn one(of: char) -> Range {
        Range { first: of, last: of }
    }

    fn has(self, c: char) -> bool {
        (self.first..=self.last).contains(&c)
    }
}

struct Parser<'p> {
    rest: Peekable<Chars<'p>>,
    pattern: &'p str,
    depth: u32,
    /// The groups so far whose part is kept.
    kept: usize,
    /// Whether there was a repetition that takes as little as possible.
    is_lazy: bool,
}

impl Parser<'_> {
    #[cold]
    fn wrong(&self, what: &str) -> Fault {
        let say = format!("invalid regular expression: {what}");
        Fault::new(SqlState::INVALID_REGULAR_EXPRESSION, say).showing(Value::Text(self.pattern))
    }

    /// The character that one behind a backslash stands for.
    fn escaped(&self, c: char) -> Result<char, Fault> {
        Ok(match c {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            other if other.is_alphanumeric() => {
                return Err(self.wrong("behind a backslash is a letter that has no meaning here"));
            }
            other => other,
        })
    }

    fn takes(&mut self, wanted: char) -> bool {
        self.rest.next_if_eq(&wanted).is_some()
    }

    fn branches(&mut self) -> Result<Vec<Branch>, Fault> {
        self.depth += 1;
        if self.depth > NESTED_MAX {
            return Err(self.wrong("its brackets are nested too deep"));
        }
        let mut branches = vec![self.branch()?];
        while self.takes('|') {
            branches.push(self.branch()?);
        }
        self.depth -= 1;
        Ok(branches)
    }

    fn branch(&mut self) -> Result<Branch, Fault> {
        let mut pieces = Vec::new();
        while let Some(next) = self.rest.next_if(|c| !matches!(c, '|' | ')')) {
            let node = self.node(next)?;
            let (least, most) = self.times()?;
            pieces.push(Piece { node, least, most });
        }
        Ok(pieces)
    }

    fn node(&mut self, begin: char) -> Result<Node, Fault> {
        let one = |of: Vec<Range>, negated: bool| Node::One { of, negated };
        Ok(match begin {
            '^' => Node::Begin,
            '$' => Node::End,
            '.' => one(Vec::new(), true),
            '[' => self.set()?,
            '\\' => match self.rest.next() {
                None => return Err(self.wrong("it ends with a \\")),
                Some('1'..='9') => return Err(self.wrong("a back reference isn't supported")),
                Some(c) => {
                    let of = class(c.to_ascii_lowercase());
                    match of.is_empty() {
                        true => one(vec![Range::one(self.escaped(c)?)], false),
                        false => one(of, c.is_ascii_uppercase()),
                    }
                }
            },
            '(' => {
                let keeps = !self.takes('?');
                if !keeps && !self.takes(':') {
                    return Err(self.wrong("behind (? only : is supported"));
                }
                let kept = keeps.then_some(self.kept);
                self.kept += usize::from(keeps);
                let branches = self.branches()?;
                if !self.takes(')') {
                    return Err(self.wrong("a bracket isn't closed"));
                }
                Node::Group { branches, kept }
            }
            '*' | '+' | '?' => return Err(self.wrong("there is nothing to be repeated")),
            other => one(vec![Range::one(other)], false),
        })
    }

    /// `[a-z]`, `[^[:digit:]]`.
    fn set(&mut self) -> Result<Node, Fault> {
        let negated = self.takes('^');
        let mut of = Vec::new();
        loop {
            let next = self.rest.next().ok_or_else(|| self.wrong("a set isn't closed"))?;
            let first = match next {
                // The first one is a character of the set.
                ']' if !of.is_empty() => return Ok(Node::One { of, negated }),
                '[' if self.takes(':') => {
                    of.extend(self.named_class()?);
                    continue;
                }
                '\\' => {
                    let c = self.rest.next().ok_or_else(|| self.wrong("a set isn't closed"))?;
                    let class = class(c);
                    if !class.is_empty() {
                        of.extend(class);
                        continue;
                    }
                    self.escaped(c)?
                }
                other => other,
            };
            let mut ahead = self.rest.clone();
            let is_range = ahead.next() == Some('-') && ahead.next().is_some_and(|c| c != ']');
            let last = match is_range {
                false => first,
                true => {
                    self.rest.next();
                    self.rest.next().unwrap_or(first)
                }
            };
            if last < first {
                return Err(self.wrong("a range of a set ends before it begins"));
            }
            of.push(Range { first, last });
        }
    }

    /// The rest of `[:alpha:]`.
    fn named_class(&mut self) -> Result<Vec<Range>, Fault> {
        let mut name = String::new();
        while let Some(c) = self.rest.next_if(char::is_ascii_lowercase) {
            name.push(c);
        }
        let range = |first, last| Range { first, last };
        let of = match name.as_str() {
            "digit" => class('d'),
            "space" => class('s'),
            "alpha" => letters(),
            "alnum" => letters().into_iter().chain(class('d')).collect(),
            "lower" => vec![range('a', 'z')],
            "upper" => vec![range('A', 'Z')],
            "punct" => [('!', '/'), (':', '@'), ('[', '`'), ('{', '~')]
                .map(|(first, last)| range(first, last))
                .to_vec(),
            "xdigit" => vec![range('0', '9'), range('a', 'f'), range('A', 'F')],
            _ => return Err(self.wrong("there is no class of this name")),
        };
        match self.takes(':') && self.takes(']') {
            true => Ok(of),
            false => Err(self.wrong("a class isn't closed")),
        }
    }

    /// How often a piece comes: at least, and at most.
    fn times(&mut self) -> Result<(u32, Option<u32>), Fault> {
        let Some(sign) = self.rest.next_if(|c| matches!(c, '*' | '+' | '?' | '{')) else {
            return Ok((1, Some(1)));
        };
        let times = match sign {
            '*' => (0, None),
            '+' => (1, None),
            '?' => (0, Some(1)),
            _ => {
                let least = self.number()?;
                let most = match self.takes(',') {
                    false => Some(least),
                    true if self.rest.peek() == Some(&'}') => None,
                    true => Some(self.number()?),
                };
                if !self.takes('}') || most.is_some_and(|most| most < least) {
                    return Err(self.wrong("a bound is {m}, {m,} or {m,n}"));
                }
                (least, most)
            }
        };
        // Whether as few or as many as possible are taken makes no difference to whether it
        // matches.
        self.is_lazy |= self.takes('?');
        if self.rest.peek().is_some_and(|c| matches!(c, '*' | '+' | '?')) {
            return Err(self.wrong("a repetition can't be repeated"));
        }
        Ok(times)
    }

    fn number(&mut self) -> Result<u32, Fault> {
        let mut digits = String::new();
        while let Some(c) = self.rest.next_if(char::is_ascii_digit) {
            digits.push(c);
        }
        match digits.parse() {
            Ok(number) if number <= BOUND_MAX => Ok(number),
            _ => Err(self.wrong(&format!("a bound is a number up to {BOUND_MAX}"))),
        }
    }
}

fn letters() -> Vec<Range> {
    // Beyond ASCII all that isn't a sign is taken to be a letter.
    let of = [('a', 'z'), ('A', 'Z'), ('\u{c0}', '\u{1fff}'), ('\u{2c00}', '\u{d7ff}')];
    of.map(|(first, last)| Range { first, last }).to_vec()
}

/// The characters of `\d`, `\s`, `\w`; none for other letters.
fn class(letter: char) -> Vec<Range> {
    match letter {
        'd' => vec![Range { first: '0', last: '9' }],
        's' => vec![Range::one(' '), Range { first: '\t', last: '\r' }],
        'w' => letters().into_iter().chain(class('d')).chain([Range::one('_')]).collect(),
        _ => Vec::new(),
    }
}

/// What comes behind: whether the rest matches from this place on.
type Then<'f> = &'f dyn Fn(usize) -> Result<bool, Fault>;

struct Search<'t> {
    text: &'t str,
    ignores_case: bool,
    /// The steps that are left.
    steps: Cell<usize>,
    depth: Cell<u32>,
    go_on: GoOn<'t>,
}

impl<'t> Search<'t> {
    fn new(text: &'t str, ignores_case: bool, go_on: GoOn<'t>) -> Search<'t> {
        let steps = Cell::new(STEPS_MAX.saturating_add(text.len().saturating_mul(8)));
        Search { text, ignores_case, steps, depth: Cell::new(0), go_on }
    }
}

impl Search<'_> {
    fn step(&self, ranges: usize) -> Result<(), Fault> {
        let before = self.steps.get();
        let left = before.checked_sub(1 + ranges / RANGES_A_STEP);
        if let Some(left) = left
            && self.depth.get() <= DEPTH_MAX
        {
            self.steps.set(left);
            let is_to_look = before / STEPS_A_LOOK != left / STEPS_A_LOOK;
            return if is_to_look { (self.go_on)() } else { Ok(()) };
        }
        let say = "the regular expression has too many ways to match this text";
        Err(Fault::new(SqlState::PROGRAM_LIMIT_EXCEEDED, say))
    }

    /// Whether one of the branches matches at a place, and the rest behind it.
    fn any(&self, branches: &[Branch], at: usize, then: Then<'_>) -> Result<bool, Fault> {
        for branch in branches {
            if self.all(branch, at, then)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn all(&self, pieces: &[Piece], at: usize, then: Then<'_>) -> Result<bool, Fault> {
        let (mut pieces, mut at) = (pieces, at);
        while let Some((piece, rest)) = pieces.split_first() {
            let Node::One { of, negated } = &piece.node else {
                return self.repeated(piece, 0, at, &|at| self.all(rest, at, then));
            };
            if !piece.is_once() {
                self.depth.set(self.depth.get() + 1);
                self.step(0)?;
                let found = self.run(piece, of, *negated, at, &|at| self.all(rest, at, then));
                self.depth.set(self.depth.get() - 1);
                return found;
            }
            match self.one(at, of, *negated)? {
                Some(behind) => at = behind,
                None => return Ok(false),
            }
            pieces = rest;
        }
        self.step(0)?;
        then(at)
    }

    /// The place behind a character that is one of these, or none of them.
    fn one(&self, at: usize, of: &[Range], negated: bool) -> Result<Option<usize>, Fault> {
        self.step(of.len())?;
        let next = self.text[at..].chars().next();
        let found = next.filter(|c| self.is_one_of(*c, of) != negated);
        Ok(found.map(|c| at + c.len_utf8()))
    }

    /// A run of single characters: the longest one first. Its length needs no stack.
    fn run(
        &self,
        piece: &Piece,
        of: &[Range],
        negated: bool,
        at: usize,
        then: Then<'_>,
    ) -> Result<bool, Fault> {
        let (mut end, mut count) = (at, 0);
        for c in self.text[at..].chars() {
            if piece.most == Some(count) || self.is_one_of(c, of) == negated {
                break;
            }
            self.step(of.len())?;
            end += c.len_utf8();
            count += 1;
        }
        while count >= piece.least {
            if then(end)? {
                return Ok(true);
            }
            let Some(last) = self.text[at..end].chars().next_back() else { break };
            end -= last.len_utf8();
            count -= 1;
        }
        Ok(false)
    }

    fn is_one_of(&self, c: char, of: &[Range]) -> bool {
        let has = |c: char| of.iter().any(|range| range.has(c));
        has(c) || (self.ignores_case && (c.to_lowercase().any(has) || c.to_uppercase().any(has)))
    }

    /// A group or a place, again and again.
    fn repeated(&self, piece: &Piece, done: u32, at: usize, then: Then<'_>) -> Result<bool, Fault> {
        self.step(0)?;
        self.depth.set(self.depth.get() + 1);
        let mut found = false;
        if piece.most.is_none_or(|most| done < most) {
            found = self.once(&piece.node, at, &|end| {
                // Nothing, again and again, is nothing.
                match end == at && done >= piece.least {
                    true => Ok(false),
                    false => self.repeated(piece, done + 1, end, then),
                }
            })?;
        }
        let found = found || (done >= piece.least && then(at)?);
        self.depth.set(self.depth.get() - 1);
        Ok(found)
    }

    fn once(&self, node: &Node, at: usize, then: Then<'_>) -> Result<bool, Fault> {
        match node {
            Node::Begin if at == 0 => then(at),
            Node::End if at == self.text.len() => then(at),
            Node::Group { branches, .. } => self.any(branches, at, then),
            _ => Ok(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(text: &str, pattern: &str, ignores_case: bool) -> Result<bool, Fault> {
        is_match(text, pattern, ignores_case, &|| Ok(()))
    }

    /// A search that takes long ends when the statement is to end.
    #[test]
    fn a_long_search_is_not_gone_on_with() {
        let looks = Cell::new(0);
        let ends = || -> Result<(), Fault> {
            looks.set(looks.get() + 1);
            match looks.get() {
                1..3 => Ok(()),
                _ => Err(Fault::new(SqlState::QUERY_CANCELED, "it is to end")),
            }
        };
        let long = is_match(&"a".repeat(2_000), "a*b", false, &ends).expect_err("it looks");
        assert_eq!(long.state(), SqlState::QUERY_CANCELED);
        assert_eq!(looks.get(), 3);
    }

    fn is(text: &str, pattern: &str) -> bool {
        matches(text, pattern, false).expect(pattern)
    }

    #[test]
    fn patterns_match_as_in_postgresql() {
        let yes = [
            ("emp", "^(emp)$"),
            ("emp", "m"),
            ("emp_2", "^(emp.*)$"),
            ("dept", "^(emp|dept)$"),
            ("a1b22", "^[a-z]\\d[[:alpha:]]\\d{2}$"),
            ("aaa", "^a{2,}$"),
            ("abab", "^(ab)+$"),
            ("a]b", "^[]a-b]+$"),
            ("x-y", "^[x-]+y$"),
            ("", "^$"),
            ("Größe", "^\\w+$"),
            ("tab\t", "\\s$"),
            ("a.b", "a\\.b"),
        ];
        for (text, pattern) in yes {
            assert!(is(text, pattern), "{text} ~ {pattern}");
        }
        let no = [
            ("empty", "^(emp)$"),
            ("a", "^a{2,}$"),
            ("aba", "^(ab)+$"),
            ("axb", "a\\.b"),
            ("7", "^[^0-9]$"),
            ("7", "\\D"),
        ];
        for (text, pattern) in no {
            assert!(!is(text, pattern), "{text} ~ {pattern}");
        }
        assert!(matches("EMP", "^e", true).expect("sound"));
    }

    #[test]
    fn a_wrong_pattern_is_refused() {
        for pattern in
            ["(", ")", "[a", "a{2", "*a", "a**", "\\", "(?=a)", "[[:word:]]", "\\1", "\\m", "[\\D]"]
        {
            let refused = matches("a", pattern, false).expect_err(pattern);
            assert_eq!(refused.state(), SqlState::INVALID_REGULAR_EXPRESSION, "{pattern}");
        }
    }

    /// However many ways there are, a search ends.
    #[test]
    fn a_search_ends() {
        let text = "a".repeat(5_000);
        assert!(matches(&text, "^(a*)*b$", false).is_err());
        assert!(is(&text, "^a*$"));
        assert!(matches(&text, &"(".repeat(10_000), false).is_err());
        assert!(is(&text, &"a".repeat(5_000)));
        assert!(matches(&text, &"a".repeat(20_000), false).is_err());
        assert!(is("aaa", &format!("^{}$", "a?".repeat(200))));
        assert!(matches(&text, &"a*".repeat(5_000), false).is_err());
    }
}

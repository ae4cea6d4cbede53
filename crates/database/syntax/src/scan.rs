//! The pieces of a text: words, literals, comments, symbols. The one reader of characters here.
//!
//! ```text
//!   text ─▶ Scanner ─┬─▶ lexer    tokens for the parser
//!                    └─▶ split    where statements end; also in a text that isn't finished
//! ```
//!
//! Invariants
//!   * pieces lie side by side, none is empty, and together they are the text (rule SY1)
//!   * a piece that the text's end cuts off is `Open`, and is the last one
//!   * a literal on a line below another one goes on with it, and so is written in the same way
//!
//! Callers: `lexer`, `split`, `error`.
//! Sources: PostgreSQL's documentation, "Lexical Structure"; Oracle for `#` in names.

/// What a piece is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Blanks, and ends of lines.
    Space,
    /// `-- ...` to the end of the line, or `/* ... */`, which nests.
    Comment,
    /// A keyword or a name without quotes.
    Word,
    /// A name in double quotes.
    Name,
    /// A literal in single quotes.
    Text(Prefix),
    /// `$tag$ ... $tag$`.
    Dollar,
    /// A number without sign.
    Number,
    /// `?`, `$1` or `:name`.
    Bind,
    /// An operator, a bracket, a comma or a period.
    Symbol,
    /// The end of a statement.
    Semicolon,
    /// A piece without its end.
    Open(Open),
    /// A character that has no meaning here.
    Strange,
}

/// The letter before a literal in single quotes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Prefix {
    /// None, or N: characters as they are, `''` for one quote.
    Plain,
    /// E: with escapes by a backslash.
    Escape,
    /// U&: with characters by their numbers.
    Unicode,
    /// X: bytes.
    Hex,
    /// B: bits.
    Bits,
}

/// What the end of the text has cut off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Open {
    /// A literal in single quotes.
    Text,
    /// A name in double quotes.
    Name,
    /// A literal in dollar quotes.
    Dollar,
    /// `/* ...`.
    Comment,
}

/// A piece of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Piece {
    /// What it is.
    pub(crate) kind: Kind,
    /// Its first byte.
    pub(crate) start: usize,
    /// The byte behind its last one.
    pub(crate) end: usize,
}

/// The pieces of a text, first to last.
pub(crate) struct Scanner<'a> {
    text: &'a str,
    at: usize,
    /// How the literal is written behind which there were only blanks and comments.
    literal: Option<Prefix>,
    /// Whether a line has ended behind it.
    is_below: bool,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a str) -> Scanner<'a> {
        Scanner { text, at: 0, literal: None, is_below: false }
    }
}

impl Iterator for Scanner<'_> {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        let rest = &self.text[self.at..];
        let first = rest.chars().next()?;
        let goes_on = self.literal.filter(|_| self.is_below && first == '\'');
        let Measured { kind, length } = match goes_on {
            Some(prefix) => text(rest, 0, prefix),
            None => measure(rest, first),
        };
        match kind {
            Kind::Space | Kind::Comment if self.literal.is_none() => {}
            Kind::Space | Kind::Comment => self.is_below |= rest[..length].contains('\n'),
            Kind::Text(prefix) => (self.literal, self.is_below) = (Some(prefix), false),
            _ => self.literal = None,
        }
        let start = self.at;
        self.at = start + length;
        Some(Piece { kind, start, end: self.at })
    }
}

/// The symbols of more than one character, longest first.
const SYMBOLS: [&str; 25] = [
    "!~~*", "!~~", "~~*", "!~*", "->>", "#>>", "!~", "~~", "~*", "->", "#>", "@>", "<@", "@@",
    "&&", "||", "<>", "<=", ">=", "!=", "<<", ">>", "=>", "::", ":=",
];

/// What the second character of such a symbol may be.
const SECONDS: &[u8] = b"~*>@&|=<:";

/// The symbols of one character.
const MARKS: &str = "(),.=<>+-*/%^&|~#[]";

/// What begins at the beginning of a text, and how many bytes it has.
struct Measured {
    kind: Kind,
    length: usize,
}

impl Measured {
    fn new(kind: Kind, length: usize) -> Measured {
        Measured { kind, length }
    }
}

fn measure(rest: &str, first: char) -> Measured {
    match first {
        _ if is_space(first) => Measured::new(Kind::Space, run(rest, is_space)),
        '-' if rest.starts_with("--") => {
            Measured::new(Kind::Comment, rest.find(['\n', '\r']).unwrap_or(rest.len()))
        }
        '/' if rest.starts_with("/*") => comment(rest),
        '\'' => text(rest, 0, Prefix::Plain),
        '"' => match quoted_end(rest, 0, Escapes::Doubled) {
            Some(end) => Measured::new(Kind::Name, end),
            None => Measured::new(Kind::Open(Open::Name), rest.len()),
        },
        '$' => dollar(rest),
        '0'..='9' => Measured::new(Kind::Number, number(rest)),
        '.' if rest.as_bytes().get(1).is_some_and(u8::is_ascii_digit) => {
            Measured::new(Kind::Number, number(rest))
        }
        '?' => Measured::new(Kind::Bind, 1),
        ';' => Measured::new(Kind::Semicolon, 1),
        ':' if !rest.starts_with("::") => colon(rest),
        _ if is_name_start(first) => word(rest),
        _ => symbol(rest, first),
    }
}

/// Whether a character is blank. Blanks that come with texts from elsewhere count: the hard blank,
/// the byte order mark.
fn is_space(c: char) -> bool {
    c.is_whitespace() || c == '\u{feff}'
}

/// Quotes that word processors put in place of SQL's. They are in no name, so that they are
/// noticed.
const FOREIGN_QUOTES: [char; 6] = ['‘', '’', '“', '”', '„', '`'];

fn is_foreign(c: char) -> bool {
    !c.is_ascii() && !is_space(c) && !FOREIGN_QUOTES.contains(&c)
}

/// Whether a name without quotes may begin so.
pub(crate) fn is_name_start(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_' || is_foreign(c)
}

/// Whether a name without quotes may go on so. Oracle's views have names such as `v$log` and
/// `serial#`.
pub(crate) fn is_name_part(c: char) -> bool {
    is_name_start(c) || c.is_ascii_digit() || c == '$' || c == '#'
}

/// The number of bytes of the name at the beginning. Most names are ASCII: that is a look at bytes.
fn run_of_name(rest: &str) -> usize {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(*byte, b'_' | b'$' | b'#');
    let bytes = rest.as_bytes();
    let plain = bytes.iter().take_while(|byte| is_plain(byte)).count();
    match bytes.get(plain) {
        Some(byte) if !byte.is_ascii() => plain + run(&rest[plain..], is_name_part),
        _ => plain,
    }
}

/// The number of bytes of the characters at the beginning that are so.
fn run(rest: &str, is_so: impl Fn(char) -> bool) -> usize {
    rest.find(|c| !is_so(c)).unwrap_or(rest.len())
}

fn comment(rest: &str) -> Measured {
    let bytes = rest.as_bytes();
    let (mut at, mut depth) = (0, 0_usize);
    while at + 1 < bytes.len() {
        match (bytes[at], bytes[at + 1]) {
            (b'/', b'*') => (at, depth) = (at + 2, depth + 1),
            (b'*', b'/') => (at, depth) = (at + 2, depth - 1),
            _ => at += 1,
        }
        if depth == 0 {
            return Measured::new(Kind::Comment, at);
        }
    }
    Measured::new(Kind::Open(Open::Comment), rest.len())
}

/// How a quote stands within quotes.
#[derive(Clone, Copy, PartialEq)]
enum Escapes {
    /// Twice.
    Doubled,
    /// Twice, or behind a backslash.
    Backslash,
}

/// The byte behind the quote that ends what the quote at `open` begins.
fn quoted_end(rest: &str, open: usize, escapes: Escapes) -> Option<usize> {
    let bytes = rest.as_bytes();
    let quote = bytes[open];
    let mut at = open + 1;
    loop {
        match *bytes.get(at)? {
            b'\\' if escapes == Escapes::Backslash => at += 2,
            byte if byte == quote && bytes.get(at + 1) == Some(&quote) => at += 2,
            byte if byte == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
}

/// A literal whose first quote is at `open`.
fn text(rest: &str, open: usize, prefix: Prefix) -> Measured {
    let escapes = match prefix {
        Prefix::Escape => Escapes::Backslash,
        _ => Escapes::Doubled,
    };
    match quoted_end(rest, open, escapes) {
        Some(end) => Measured::new(Kind::Text(prefix), end),
        None => Measured::new(Kind::Open(Open::Text), rest.len()),
    }
}

fn word(rest: &str) -> Measured {
    let bytes = rest.as_bytes();
    let prefix = match (bytes[0].to_ascii_lowercase(), bytes.get(1), bytes.get(2)) {
        (b'e', Some(b'\''), _) => Some(Prefix::Escape),
        (b'n', Some(b'\''), _) => Some(Prefix::Plain),
        (b'x', Some(b'\''), _) => Some(Prefix::Hex),
        (b'b', Some(b'\''), _) => Some(Prefix::Bits),
        (b'u', Some(b'&'), Some(b'\'')) => return text(rest, 2, Prefix::Unicode),
        _ => None,
    };
    match prefix {
        Some(prefix) => text(rest, 1, prefix),
        None => Measured::new(Kind::Word, run_of_name(rest)),
    }
}

/// `$1`, or a literal in dollar quotes.
fn dollar(rest: &str) -> Measured {
    let behind = &rest[1..];
    if behind.starts_with(|c: char| c.is_ascii_digit()) {
        return Measured::new(Kind::Bind, 1 + run(behind, |c| c.is_ascii_digit()));
    }
    let tag = run(behind, |c| is_name_part(c) && c != '$');
    if !behind[tag..].starts_with('$') {
        return Measured::new(Kind::Strange, 1);
    }
    let quote = dollar_quote(rest);
    match rest[quote.len()..].find(quote) {
        Some(at) => Measured::new(Kind::Dollar, at + 2 * quote.len()),
        None => Measured::new(Kind::Open(Open::Dollar), rest.len()),
    }
}

/// The quote that a literal in dollar quotes begins with: `$$` or `$tag$`.
pub(crate) fn dollar_quote(text: &str) -> &str {
    let tag = text.get(1..).map_or(0, |behind| run(behind, |c| is_name_part(c) && c != '$'));
    text.get(..tag + 2).unwrap_or(text)
}

/// `:name`, `:1`, `:=`, or a colon that stands alone.
fn colon(rest: &str) -> Measured {
    let behind = &rest[1..];
    match behind.chars().next() {
        Some('=') => Measured::new(Kind::Symbol, 2),
        Some(c) if is_name_start(c) || c.is_ascii_digit() => {
            Measured::new(Kind::Bind, 1 + run_of_name(behind))
        }
        _ => Measured::new(Kind::Strange, 1),
    }
}

/// The base of a number that begins as `0x1F`, `0o17` or `0b101` do.
pub(crate) fn base_of(number: &str) -> Option<u32> {
    Some(match number.as_bytes() {
        [b'0', b'x' | b'X', ..] => 16,
        [b'0', b'o' | b'O', ..] => 8,
        [b'0', b'b' | b'B', ..] => 2,
        _ => return None,
    })
}

/// The byte behind the digits that begin at `from`. A `_` may stand between two of them, and before
/// the first one of another base than 10.
fn end_of_digits(bytes: &[u8], from: usize, base: u32) -> usize {
    let is_digit = |at: usize| bytes.get(at).is_some_and(|byte| char::from(*byte).is_digit(base));
    let joins =
        |at: usize| bytes.get(at) == Some(&b'_') && (at > from || base != 10) && is_digit(at + 1);
    let mut end = from;
    while is_digit(end) || joins(end) {
        end += 1;
    }
    end
}

/// Digits, a period, digits, an exponent; or the digits of another base.
fn number(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    if let Some(base) = base_of(rest) {
        let end = end_of_digits(bytes, 2, base);
        return if end > 2 { end } else { 1 };
    }
    let digits = |from: usize| end_of_digits(bytes, from, 10);
    let mut end = digits(0);
    if rest[end..].starts_with('.') {
        end = digits(end + 1);
    }
    if rest[end..].starts_with(['e', 'E']) {
        let sign = usize::from(rest[end + 1..].starts_with(['+', '-']));
        let exponent = digits(end + 1 + sign);
        if exponent > end + 1 + sign {
            end = exponent;
        }
    }
    end
}

fn symbol(rest: &str, first: char) -> Measured {
    let may_be_long = rest.as_bytes().get(1).is_some_and(|second| SECONDS.contains(second));
    let mut symbols = SYMBOLS.iter().filter(|_| may_be_long);
    match symbols.find(|symbol| rest.starts_with(**symbol)) {
        Some(symbol) => Measured::new(Kind::Symbol, symbol.len()),
        None if MARKS.contains(first) => Measured::new(Kind::Symbol, 1),
        None => Measured::new(Kind::Strange, first.len_utf8()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pieces of a text that aren't blank, with their kinds.
    fn pieces(text: &str) -> Vec<(Kind, &str)> {
        let all = Scanner::new(text).filter(|piece| piece.kind != Kind::Space);
        all.map(|piece| (piece.kind, &text[piece.start..piece.end])).collect()
    }

    fn one(text: &str, kind: Kind) {
        assert_eq!(pieces(text), [(kind, text)]);
    }

    #[test]
    fn literals_and_names_end_at_their_own_quote() {
        one("'it''s; -- no'", Kind::Text(Prefix::Plain));
        one(r"'a\'", Kind::Text(Prefix::Plain));
        one(r"E'it\'s'", Kind::Text(Prefix::Escape));
        one("x'1F'", Kind::Text(Prefix::Hex));
        one("u&'\\0061'", Kind::Text(Prefix::Unicode));
        one("\"a\"\"b;\"", Kind::Name);
        one("$$it's; $1$$", Kind::Dollar);
        one("$é$ $$ ; $é$", Kind::Dollar);
    }

    #[test]
    fn a_literal_goes_on_in_its_own_way_on_a_line_below() {
        let (escape, plain) = (Kind::Text(Prefix::Escape), Kind::Text(Prefix::Plain));
        let found = pieces("E'a' -- c\n'\\'b' 'c\\'");
        let comment = (Kind::Comment, "-- c");
        assert_eq!(found, [(escape, "E'a'"), comment, (escape, "'\\'b'"), (plain, "'c\\'")]);
        let found = pieces("E'a' , \n'c\\'");
        assert_eq!(found[2], (plain, "'c\\'"));
    }

    #[test]
    fn comments_nest_and_end_with_the_line() {
        one("/* a /* b; */ c */", Kind::Comment);
        let found = pieces("-- it's\n1");
        assert_eq!(found, [(Kind::Comment, "-- it's"), (Kind::Number, "1")]);
        one("/* a /* b */", Kind::Open(Open::Comment));
    }

    #[test]
    fn what_has_no_end_is_open() {
        one("'abc;", Kind::Open(Open::Text));
        one(r"e'abc\'", Kind::Open(Open::Text));
        one("\"abc;", Kind::Open(Open::Name));
        one("$a$ ; $b$", Kind::Open(Open::Dollar));
    }

    #[test]
    fn numbers_words_and_binds() {
        for number in [
            "1",
            "12.50",
            ".5",
            "1.",
            "1e5",
            "1.5E-3",
            "0x1F",
            "0O17",
            "0b101",
            "0x_f",
            "1_000",
            "1_0.2_5e1_0",
        ] {
            one(number, Kind::Number);
        }
        for word in ["select", "_a", "v$session", "serial#", "naïve", "e", "u"] {
            one(word, Kind::Word);
        }
        for bind in ["?", "$12", ":name", ":1"] {
            one(bind, Kind::Bind);
        }
        let found = pieces("1e");
        assert_eq!(found, [(Kind::Number, "1"), (Kind::Word, "e")]);
        let found = pieces("a::int");
        assert_eq!(found, [(Kind::Word, "a"), (Kind::Symbol, "::"), (Kind::Word, "int")]);
    }

    #[test]
    fn symbols_are_taken_as_long_as_they_can_be() {
        let found: Vec<&str> = pieces("a<=b<>-1!~*c->>d*-2").iter().map(|piece| piece.1).collect();
        let expected = ["a", "<=", "b", "<>", "-", "1", "!~*", "c", "->>", "d", "*", "-", "2"];
        assert_eq!(found, expected);
    }

    #[test]
    fn every_symbol_of_several_characters_is_found() {
        for symbol in SYMBOLS {
            one(symbol, Kind::Symbol);
        }
        let found = pieces("(a),b.c=-é1");
        let found: Vec<&str> = found.into_iter().map(|piece| piece.1).collect();
        assert_eq!(found, ["(", "a", ")", ",", "b", ".", "c", "=", "-", "é1"]);
    }

    #[test]
    fn what_sql_has_no_use_for_is_strange() {
        for strange in ["\\", "“", "@", "{", ":", "$", "\0"] {
            one(strange, Kind::Strange);
        }
    }
}

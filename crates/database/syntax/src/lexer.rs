//! From a text to the parser's tokens.
//!
//! Names without quotes are folded to small letters here, once for all (rule SY3). A token's span
//! says bytes: the column is the byte's number in the text, counted from 1, and the line is always
//! 1 (rule SY2). Binds of all kinds become `$1`, `$2`, ... (rule SY5). Blanks and comments are no
//! tokens. PostgreSQL's `ISNULL` becomes `IS NULL`, which the parser knows.
//!
//! Callers: `reader`.

use sqlparser::keywords::{ALL_KEYWORDS, ALL_KEYWORDS_INDEX, Keyword};
use sqlparser::tokenizer::{Location, Span, Token, TokenWithSpan, Word};

use crate::binds::{Binds, Numbering};
use crate::error::{Place, SYNTAX_ERROR, SyntaxError, TOO_COMPLEX, shown};
use crate::escapes;
use crate::scan::{self, Kind, Open, Piece, Prefix, Scanner};

/// The longest text of a statement, in bytes.
pub const TEXT_BYTES_MAX: usize = 16 << 20;
/// The most words, literals and symbols of a statement.
pub const TOKENS_MAX: usize = 1 << 20;

/// The most tokens for which memory is taken before there are any.
const TOKENS_AT_FIRST: usize = 4096;

/// The tokens of a text, and what was noted on the way.
pub(crate) struct Lexed {
    pub(crate) tokens: Vec<TokenWithSpan>,
    pub(crate) binds: Binds,
    /// Whether a comment `/*+ APPEND */` asks for the direct path.
    pub(crate) asks_append: bool,
}

/// The span of these bytes.
pub(crate) fn span(start: usize, end: usize) -> Span {
    let location = |byte: usize| Location::new(1, byte as u64 + 1);
    Span::new(location(start), location(end))
}

/// The byte of the statement's text that a span of its tree begins with; none where the tree
/// doesn't say (rule SY2).
pub fn start_of(span: Span) -> Option<usize> {
    byte_of(span.start)
}

pub(crate) fn byte_of(location: Location) -> Option<usize> {
    let byte = location.column.checked_sub(1).filter(|_| location.line > 0)?;
    usize::try_from(byte).ok()
}

/// The tokens of one statement, without a semicolon behind it.
pub(crate) fn lex(text: &str) -> Result<Lexed, SyntaxError> {
    if text.len() > TEXT_BYTES_MAX {
        let say = format!(
            "the statement has {} bytes; the most is {} MiB",
            text.len(),
            TEXT_BYTES_MAX >> 20
        );
        return Err(SyntaxError::new(TOO_COMPLEX, say).with_hint("use COPY to load data"));
    }
    let mut lexer = Lexer {
        text,
        tokens: Vec::with_capacity((text.len() / 4 + 4).min(TOKENS_AT_FIRST)),
        numbering: Numbering::default(),
        asks_append: false,
    };
    for piece in Scanner::new(text) {
        lexer.add(piece)?;
        if lexer.tokens.len() > TOKENS_MAX {
            let say = format!("the statement has more than {TOKENS_MAX} words and symbols");
            return Err(SyntaxError::new(TOO_COMPLEX, say).with_hint("use COPY to load data"));
        }
    }
    let Lexer { tokens, numbering, asks_append, .. } = lexer;
    Ok(Lexed { tokens, binds: numbering.end(), asks_append })
}

struct Lexer<'a> {
    text: &'a str,
    tokens: Vec<TokenWithSpan>,
    numbering: Numbering,
    asks_append: bool,
}

impl Lexer<'_> {
    fn add(&mut self, piece: Piece) -> Result<(), SyntaxError> {
        let text = &self.text[piece.start..piece.end];
        let token = match piece.kind {
            Kind::Space => return Ok(()),
            Kind::Comment => {
                let hint = text.strip_prefix("/*+").map(str::to_ascii_lowercase);
                self.asks_append |= hint.is_some_and(|hint| hint.contains("append"));
                return Ok(());
            }
            Kind::Word if text.eq_ignore_ascii_case("isnull") && !self.is_call(piece.end) => {
                self.push(piece, word_of("is".to_owned()));
                word_of("null".to_owned())
            }
            Kind::Word => self.word(piece)?,
            Kind::Name => self.name(piece)?,
            Kind::Text(prefix) => match self.text_token(piece, prefix)? {
                Some(token) => token,
                None => return Ok(()),
            },
            Kind::Dollar => {
                Token::SingleQuotedString(self.sound(piece, between_dollars(text).into())?)
            }
            Kind::Number => match number(text) {
                Some(digits) => Token::Number(digits, false),
                None => {
                    let say = "; a number of another base than 10 has 128 bits at most";
                    return Err(SyntaxError::at(self.text, piece.start, say));
                }
            },
            Kind::Bind => {
                let number = self.numbering.number(text);
                Token::Placeholder(number.map_err(|error| error.with_position(piece.start))?)
            }
            Kind::Symbol => symbol(text),
            Kind::Semicolon => Token::SemiColon,
            Kind::Open(open) => return Err(self.open(piece, open)),
            Kind::Strange => return Err(self.strange(piece)),
        };
        self.push(piece, token);
        Ok(())
    }

    fn push(&mut self, piece: Piece, token: Token) {
        self.tokens.push(TokenWithSpan::new(token, span(piece.start, piece.end)));
    }

    /// Whether an opening bracket stands behind this byte.
    fn is_call(&self, end: usize) -> bool {
        self.text[end..].trim_start().starts_with('(')
    }

    fn word(&self, piece: Piece) -> Result<Token, SyntaxError> {
        let text = &self.text[piece.start..piece.end];
        let touches_number = self.tokens.last().is_some_and(|before| {
            matches!(before.token, Token::Number(..))
                && byte_of(before.span.end) == Some(piece.start)
        });
        if touches_number && !(is_size_unit(text) && self.declares_sizes()) {
            let end = "; a name can't begin with a digit, and a number ends before a letter";
            return Err(SyntaxError::at(self.text, piece.start, end));
        }
        match text.is_ascii() {
            true => Ok(word_of(text.to_ascii_lowercase())),
            false => Ok(word_of(text.to_lowercase())),
        }
    }

    /// Whether a number may have its unit right behind it (`SIZE 100M`): in statements that begin
    /// with CREATE, ALTER or SET.
    fn declares_sizes(&self) -> bool {
        let first = self.tokens.first().map(|first| &first.token);
        matches!(first, Some(Token::Word(word)) if word.quote_style.is_none()
            && ["create", "alter", "set"].contains(&word.value.as_str()))
    }

    fn name(&self, piece: Piece) -> Result<Token, SyntaxError> {
        let name = self.text[piece.start + 1..piece.end - 1].replace("\"\"", "\"");
        if name.is_empty() {
            return Err(SyntaxError::at(self.text, piece.start, "; a name can't be empty"));
        }
        let (quote_style, keyword) = (Some('"'), Keyword::NoKeyword);
        Ok(Token::Word(Word { value: name, quote_style, keyword }))
    }

    /// The token of a literal in single quotes; none if it goes on with the literal before, which
    /// stood on a line above.
    fn text_token(&mut self, piece: Piece, prefix: Prefix) -> Result<Option<Token>, SyntaxError> {
        let text = &self.text[piece.start..piece.end];
        let open = text.find('\'').expect("a literal has a quote");
        let between = &text[open + 1..text.len() - 1];
        let placed = |error: SyntaxError| error.with_position(piece.start);
        let value = match prefix {
            Prefix::Plain => escapes::plain(between),
            Prefix::Escape => escapes::backslashed(between).map_err(placed)?,
            Prefix::Unicode => escapes::unicode(between).map_err(placed)?,
            Prefix::Hex => return self.bytes(piece, between).map(Some),
            Prefix::Bits => {
                return Err(SyntaxError::unsupported("a string of bits", self.text, piece.start)
                    .with_hint("write bytes as X'1F'"));
            }
        };
        let value = self.sound(piece, value)?;
        let goes_on = open == 0 && self.is_below_text(piece.start);
        match self.tokens.last_mut() {
            Some(TokenWithSpan { token: Token::SingleQuotedString(before), span: of })
                if goes_on =>
            {
                before.push_str(&value);
                of.end = span(piece.start, piece.end).end;
                Ok(None)
            }
            _ => Ok(Some(Token::SingleQuotedString(value))),
        }
    }

    /// Refuses a character that texts can't have.
    fn sound(&self, piece: Piece, value: String) -> Result<String, SyntaxError> {
        match value.contains('\0') {
            true => {
                let say = "; a text can't have the character of number 0";
                Err(SyntaxError::at(self.text, piece.start, say))
            }
            false => Ok(value),
        }
    }

    /// Whether the last token ended on a line above this byte.
    fn is_below_text(&self, start: usize) -> bool {
        let end = self.tokens.last().and_then(|last| byte_of(last.span.end));
        end.is_some_and(|end| self.text[end..start].contains('\n'))
    }

    fn bytes(&self, piece: Piece, digits: &str) -> Result<Token, SyntaxError> {
        let sound =
            digits.len().is_multiple_of(2) && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        if !sound {
            let say = "; bytes are written as pairs of the digits 0 to 9 and A to F";
            return Err(SyntaxError::at(self.text, piece.start, say));
        }
        Ok(Token::HexStringLiteral(digits.into()))
    }

    fn open(&self, piece: Piece, open: Open) -> SyntaxError {
        let text = &self.text[piece.start..];
        let quote = scan::dollar_quote(text);
        let (what, end) = match open {
            Open::Text => ("text", "'"),
            Open::Name => ("name", "\""),
            Open::Dollar => ("text", quote),
            Open::Comment => ("comment", "*/"),
        };
        let place = Place::of(self.text, piece.start);
        let say = format!("the {what} {} that begins at {place} has no end", shown(text));
        SyntaxError::new(SYNTAX_ERROR, say)
            .with_hint(format!("end it with {end}"))
            .with_position(piece.start)
    }

    fn strange(&self, piece: Piece) -> SyntaxError {
        let text = &self.text[piece.start..piece.end];
        let error = SyntaxError::at(self.text, piece.start, "");
        match text {
            "‘" | "’" => error.with_hint("put texts between straight quotes: 'text'"),
            "“" | "”" | "„" | "`" => {
                error.with_hint("put names between straight quotes: \"name\"")
            }
            "\\" => error.with_hint("commands with a backslash are the shell's, on their own line"),
            ":" => error.with_hint("write a bind as :name, without a blank"),
            _ => error,
        }
    }
}

/// The longest keyword of the parser's, in bytes; a longer word is none.
const KEYWORD_BYTES_MAX: usize = 64;

/// The token of a word without quotes.
fn word_of(value: String) -> Token {
    let keyword = keyword_of(&value);
    Token::Word(Word { value, quote_style: None, keyword })
}

/// The keyword that a word is. The parser's own search makes each letter large at each step.
fn keyword_of(word: &str) -> Keyword {
    let mut large = [0; KEYWORD_BYTES_MAX];
    let Some(large) = large.get_mut(..word.len()) else { return Keyword::NoKeyword };
    large.copy_from_slice(word.as_bytes());
    large.make_ascii_uppercase();
    let found = ALL_KEYWORDS.binary_search_by(|keyword| keyword.as_bytes().cmp(&*large));
    found.map_or(Keyword::NoKeyword, |place| ALL_KEYWORDS_INDEX[place])
}

/// The letters behind a number of bytes.
fn is_size_unit(text: &str) -> bool {
    text.len() == 1 && "kmgtKMGT".contains(text)
}

/// What is between dollar quotes.
fn between_dollars(text: &str) -> &str {
    let quote = scan::dollar_quote(text);
    &text[quote.len()..text.len() - quote.len()]
}

/// A number of base 10 with a digit on both sides of its period, or without one. None if it has
/// another base, and is too large.
fn number(text: &str) -> Option<String> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(text.to_owned());
    }
    let joined = text.replace('_', "");
    let text = joined.as_str();
    if let Some(base) = scan::base_of(text) {
        return u128::from_str_radix(&text[2..], base).ok().map(|number| number.to_string());
    }
    let (digits, exponent) = match text.find(['e', 'E']) {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    let digits = digits.strip_suffix('.').unwrap_or(digits);
    let zero = if digits.starts_with('.') { "0" } else { "" };
    Some(format!("{zero}{digits}{exponent}"))
}

fn symbol(text: &str) -> Token {
    match text {
        "(" => Token::LParen,
        ")" => Token::RParen,
        "," => Token::Comma,
        "." => Token::Period,
        "=" => Token::Eq,
        "<" => Token::Lt,
        ">" => Token::Gt,
        "+" => Token::Plus,
        "-" => Token::Minus,
        "*" => Token::Mul,
        "/" => Token::Div,
        "%" => Token::Mod,
        "^" => Token::Caret,
        "&" => Token::Ampersand,
        "|" => Token::Pipe,
        "~" => Token::Tilde,
        "#" => Token::Sharp,
        "[" => Token::LBracket,
        "]" => Token::RBracket,
        "<>" | "!=" => Token::Neq,
        "<=" => Token::LtEq,
        ">=" => Token::GtEq,
        "||" => Token::StringConcat,
        "::" => Token::DoubleColon,
        ":=" => Token::Assignment,
        "=>" => Token::RArrow,
        "<<" => Token::ShiftLeft,
        ">>" => Token::ShiftRight,
        "&&" => Token::Overlap,
        "~~" => Token::DoubleTilde,
        "~~*" => Token::DoubleTildeAsterisk,
        "!~~" => Token::ExclamationMarkDoubleTilde,
        "!~~*" => Token::ExclamationMarkDoubleTildeAsterisk,
        "~*" => Token::TildeAsterisk,
        "!~" => Token::ExclamationMarkTilde,
        "!~*" => Token::ExclamationMarkTildeAsterisk,
        "->" => Token::Arrow,
        "->>" => Token::LongArrow,
        "#>" => Token::HashArrow,
        "#>>" => Token::HashLongArrow,
        "@>" => Token::AtArrow,
        "<@" => Token::ArrowAt,
        "@@" => Token::AtAt,
        other => Token::CustomBinaryOperator(other.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tokens of a text, as text, with the bytes where they begin.
    fn tokens(text: &str) -> Vec<(String, usize)> {
        let lexed = lex(text).unwrap_or_else(|error| panic!("{error}"));
        let one = |token: &TokenWithSpan| {
            (token.token.to_string(), start_of(token.span).expect("a place"))
        };
        lexed.tokens.iter().map(one).collect()
    }

    fn words(text: &str) -> Vec<String> {
        tokens(text).into_iter().map(|(word, _)| word).collect()
    }

    /// The message with which a text is refused.
    fn refused(text: &str) -> String {
        lex(text).err().expect(text).to_string()
    }

    #[test]
    fn spans_are_bytes_of_the_text() {
        let found = tokens("é =\n /* c */ 'ü' , x");
        let expected = [("é", 0), ("=", 3), ("'ü'", 14), (",", 19), ("x", 21)];
        assert_eq!(found, expected.map(|(word, at)| (word.to_string(), at)));
    }

    #[test]
    fn names_without_quotes_are_folded_and_others_are_not() {
        assert_eq!(words("Select \"Ab\"\"c\" ÄB V$Log"), ["select", "\"Ab\"c\"", "äb", "v$log"]);
        let token = &lex("SELECT").expect("sound").tokens[0].token;
        assert!(matches!(token, Token::Word(word) if word.keyword != NO_KEYWORD));
    }

    const NO_KEYWORD: Keyword = Keyword::NoKeyword;

    #[test]
    fn keywords_are_those_of_the_parser() {
        let others = ["", "a", "zzz", "selec", "selects", "end-exe", "balance", "äb", "\u{17f}et"];
        let mut most = 0;
        for word in ALL_KEYWORDS.iter().copied().chain(others) {
            let word = word.to_lowercase();
            assert_eq!(word_of(word.clone()), Token::make_word(&word, None), "{word}");
            most = most.max(word.len());
        }
        assert!(most <= KEYWORD_BYTES_MAX);
        let long = "a".repeat(KEYWORD_BYTES_MAX + 1);
        assert_eq!(keyword_of(&long), NO_KEYWORD);
    }

    #[test]
    fn literals_have_their_characters() {
        let found = words(r"'it''s' E'a\tb' $x$a'b$x$ U&'\0041' X'1f' n'c'");
        assert_eq!(found, ["'it's'", "'a\tb'", "'a'b'", "'A'", "X'1f'", "'c'"]);
        assert_eq!(words("'a' -- c\n 'b'"), ["'ab'"]);
        assert_eq!(words("'a' 'b'"), ["'a'", "'b'"]);
        assert_eq!(words("E'a'\n'\\tb'\n'\\''"), ["'a\tb\''"]);
        assert_eq!(words("U&'a'\n'\\0041'"), ["'aA'"]);
        assert_eq!(words("1. .5 1.e3 2E-1"), ["1", "0.5", "1e3", "2E-1"]);
    }

    #[test]
    fn binds_are_numbered() {
        assert_eq!(words("? + ?"), ["$1", "+", "$2"]);
        assert_eq!(words(":a + :B + :A"), ["$1", "+", "$2", "+", "$1"]);
        assert_eq!(words("$2::int"), ["$2", "::", "int"]);
    }

    #[test]
    fn what_has_no_end_is_named_with_its_beginning() {
        let say = "the text \"'abc\" that begins at line 2 column 3 has no end; end it with '";
        assert_eq!(refused("select\n  'abc"), say);
        assert!(refused("$a$ b").ends_with("end it with $a$"));
        assert!(refused("/* b").ends_with("end it with */"));
        assert!(refused("\"b").ends_with("end it with \""));
    }

    #[test]
    fn what_is_no_sql_is_refused() {
        assert!(refused("select 1a").contains("near \"a\", line 1 column 9; a name can't begin"));
        assert!(refused("select “a”").contains("straight quotes"));
        assert!(refused("select ''\0''").contains("line 1 column 10"));
        assert!(refused("select '\0'").contains("number 0"));
        assert!(refused("select x'1'").contains("pairs"));
        assert!(refused("select b'1'").contains("isn't supported"));
        assert!(refused("select \"\"").contains("a name can't be empty"));
    }

    #[test]
    fn numbers_have_other_bases_and_groups_of_digits() {
        let tokens =
            lex("0xfF 0b1_01 0o17 1_000 1_0.5e1_0 .2_5 0x7fffffffffffffff").expect("sound");
        let found: Vec<String> =
            tokens.tokens.iter().map(|token| token.token.to_string()).collect();
        assert_eq!(found, ["255", "5", "15", "1000", "10.5e10", "0.25", "9223372036854775807"]);
        for text in
            ["select 0x", "select 0xg", "select 0b2", "select 1__0", "select 1_", "select 1._5"]
        {
            refused(text);
        }
        assert!(refused(&format!("select 0x1{}", "0".repeat(32))).contains("128 bits"));
    }

    #[test]
    fn a_size_has_its_unit_behind_its_number() {
        assert_eq!(words("alter x size 100M"), ["alter", "x", "size", "100", "m"]);
        assert!(refused("alter x size 100MB").contains("can't begin with a digit"));
    }

    #[test]
    fn a_hint_for_the_direct_path_is_noted() {
        assert!(lex("insert /*+ Append */ into t").expect("sound").asks_append);
        assert!(!lex("insert /* append */ into t").expect("sound").asks_append);
    }

    #[test]
    fn a_text_that_is_too_long_is_refused() {
        let error = lex(&" ".repeat(TEXT_BYTES_MAX + 1)).err().expect("too long");
        assert_eq!(error.sqlstate(), TOO_COMPLEX);
        let error = lex(&"1,".repeat(TOKENS_MAX / 2 + 1)).err().expect("too many");
        assert_eq!(error.sqlstate(), TOO_COMPLEX);
    }
}

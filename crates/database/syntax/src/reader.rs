//! Reads a statement's tokens, first to last.
//!
//! ```text
//!   insert.rs, create_table.rs, ... ─▶ Reader ─┬─▶ words, names, marks: here
//!                                              └─▶ expressions, queries, types: sqlparser
//! ```
//!
//! What Forebay's statements begin with and are put together of is read here word by word, so that
//! nothing of them can be dropped unseen (rule SY4). The reader notes what it has looked for at a
//! place, and if nothing of it is there, the message names it all.
//!
//! Invariants
//!   * a method that doesn't find what it looks for takes no token
//!
//! Callers: the modules of the statements.

use sqlparser::ast::{Expr, Ident, Query, SelectItem, TableWithJoins};
use sqlparser::dialect::{Dialect, Precedence};
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::dialect::{Forebay, value};
use crate::error::{INVALID_PARAMETER, Place, SyntaxError, TOO_COMPLEX, one_line};
use crate::lexer::byte_of;
use crate::locking::Locking;
use crate::names::Name;
use crate::types::{TypeName, type_of};
use crate::words::is_reserved;

/// The most levels of the parser's recursion: subqueries, brackets, calls within calls.
pub const RECURSION_MAX: usize = 64;

/// The most things that a message names as expected.
const EXPECTED_MAX: usize = 12;

/// The most characters of what the parser says.
const SAID_MAX: usize = 100;

/// A statement's tokens, and how far they are read.
pub(crate) struct Reader<'a> {
    text: &'a str,
    dialect: &'a Forebay,
    parser: Parser<'a>,
    /// What was looked for at this byte, in vain.
    wanted: Vec<Wanted>,
    wanted_at: usize,
    /// The statement's FOR UPDATE, which was taken out of its tokens and belongs to a query.
    pub(crate) locking: Option<Locking>,
    /// Where that clause ends; 0 without one.
    locking_end: usize,
    /// Whether a hint asks for the direct path.
    pub(crate) asks_append: bool,
}

/// What may stand at a place.
#[derive(Clone, Copy, PartialEq)]
enum Wanted {
    /// These words, or this mark.
    Words(&'static str),
    /// Something with this description.
    Thing(&'static str),
}

/// A tree, and the text that it was read from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Written<T> {
    /// The tree.
    pub tree: T,
    /// The text, as the dictionary keeps it.
    pub text: String,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(
        text: &'a str,
        tokens: Vec<TokenWithSpan>,
        locking: Option<Locking>,
        dialect: &'a Forebay,
    ) -> Reader<'a> {
        let parser = Parser::new(dialect)
            .with_recursion_limit(RECURSION_MAX)
            .with_tokens_with_locations(tokens);
        Reader {
            text,
            dialect,
            parser,
            wanted: Vec::new(),
            wanted_at: 0,
            locking_end: locking.as_ref().map_or(0, |locking| locking.end),
            locking,
            asks_append: false,
        }
    }

    /// The byte at which the next token begins; the text's length behind the last token.
    pub(crate) fn place(&self) -> usize {
        byte_of(self.next().span.start).unwrap_or(self.text.len())
    }

    /// The text from this byte to the end of what was read last.
    pub(crate) fn text_from(&self, start: usize) -> &'a str {
        let end = byte_of(self.parser.get_current_token().span.end).unwrap_or(self.text.len());
        let is_last = matches!(self.next().token, Token::EOF | Token::SemiColon);
        let is_within = self.locking_end > end && is_last;
        let end = if is_within { self.locking_end } else { end };
        self.text.get(start..end).unwrap_or_default().trim_end()
    }

    fn next(&self) -> &TokenWithSpan {
        self.parser.peek_token_ref()
    }

    fn want(&mut self, wanted: Wanted) {
        let place = self.place();
        if place != self.wanted_at {
            self.wanted.clear();
            self.wanted_at = place;
        }
        self.wanted.push(wanted);
    }

    // Words.

    /// Whether these words come next, in small letters here and in any there.
    pub(crate) fn sees(&mut self, words: &'static str) -> bool {
        self.want(Wanted::Words(words));
        let mut words = words.split(' ').enumerate();
        words.all(|(at, word)| is_word(self.parser.peek_nth_token_ref(at), word))
    }

    /// Takes these words if they come next.
    pub(crate) fn take(&mut self, words: &'static str) -> bool {
        let sees = self.sees(words);
        if sees {
            for _ in words.split(' ') {
                self.parser.advance_token();
            }
        }
        sees
    }

    /// Takes these words, which have to come next.
    pub(crate) fn expect(&mut self, words: &'static str) -> Result<(), SyntaxError> {
        match self.take(words) {
            true => Ok(()),
            false => Err(self.wrong()),
        }
    }

    /// The next token, if it is a word without quotes; it isn't taken.
    pub(crate) fn word(&self) -> Option<&str> {
        match &self.next().token {
            Token::Word(word) if word.quote_style.is_none() => Some(&word.value),
            _ => None,
        }
    }

    /// Takes any word: a unit, an option.
    pub(crate) fn take_word(&mut self) -> Option<String> {
        let word = self.word().map(str::to_owned)?;
        self.parser.advance_token();
        Some(word)
    }

    /// Takes a name in double quotes if one comes next.
    pub(crate) fn take_quoted_name(&mut self) -> Option<String> {
        let Token::Word(word) = &self.next().token else { return None };
        let name = word.quote_style.map(|_| word.value.clone())?;
        self.parser.advance_token();
        Some(name)
    }

    // Marks.

    fn sees_mark(&self, mark: &'static str) -> bool {
        let there = match &self.next().token {
            Token::LParen => "(",
            Token::RParen => ")",
            Token::Comma => ",",
            Token::Eq => "=",
            Token::Period => ".",
            Token::SemiColon => ";",
            Token::Mul => "*",
            Token::Minus => "-",
            Token::Plus => "+",
            _ => return false,
        };
        there == mark
    }

    /// Whether this mark comes next.
    pub(crate) fn sees_open(&self) -> bool {
        self.sees_mark("(")
    }

    /// Takes this mark if it comes next; a message doesn't name it.
    fn skip_mark(&mut self, mark: &'static str) -> bool {
        let sees = self.sees_mark(mark);
        if sees {
            self.parser.advance_token();
        }
        sees
    }

    /// Takes this mark if it comes next.
    pub(crate) fn take_mark(&mut self, mark: &'static str) -> bool {
        self.want(Wanted::Words(mark));
        self.skip_mark(mark)
    }

    /// Takes this mark, which has to come next.
    pub(crate) fn expect_mark(&mut self, mark: &'static str) -> Result<(), SyntaxError> {
        match self.take_mark(mark) {
            true => Ok(()),
            false => Err(self.wrong()),
        }
    }

    // Names and literals.

    /// A name; `what` says of what, with its article.
    pub(crate) fn name(&mut self, what: &'static str) -> Result<Ident, SyntaxError> {
        self.want(Wanted::Thing(what));
        let next = self.next();
        let Token::Word(word) = &next.token else { return Err(self.wrong()) };
        if word.quote_style.is_none() && is_reserved(&word.value) {
            let hint = format!("to use {} as a name, write \"{}\"", word.value, word.value);
            return Err(self.wrong().with_hint(hint));
        }
        let name = word.to_ident(next.span);
        self.parser.advance_token();
        Ok(name)
    }

    /// Whether a name comes next that isn't one of these words.
    pub(crate) fn sees_name_but(&self, words: &[&str]) -> bool {
        match &self.next().token {
            Token::Word(word) if word.quote_style.is_none() => {
                !is_reserved(&word.value) && !words.contains(&word.value.as_str())
            }
            Token::Word(_) => true,
            _ => false,
        }
    }

    /// A name with its schema, if that is written.
    pub(crate) fn object(&mut self, what: &'static str) -> Result<Name, SyntaxError> {
        let first = self.name(what)?;
        if !self.skip_mark(".") {
            return Ok(Name { schema: None, name: first });
        }
        let name = self.name(what)?;
        if self.sees_mark(".") {
            return Err(self.unsupported("a name of three parts"));
        }
        Ok(Name { schema: Some(first), name })
    }

    /// Names in brackets.
    pub(crate) fn names(&mut self, what: &'static str) -> Result<Vec<Ident>, SyntaxError> {
        self.bracketed(|reader| reader.list(|reader| reader.name(what)))
    }

    /// A text in quotes.
    pub(crate) fn string(&mut self, what: &'static str) -> Result<String, SyntaxError> {
        match self.take_string(what) {
            Some(text) => Ok(text),
            None => Err(self.wrong()),
        }
    }

    /// Takes a text in quotes if one comes next.
    pub(crate) fn take_string(&mut self, what: &'static str) -> Option<String> {
        self.want(Wanted::Thing(what));
        let Token::SingleQuotedString(text) = &self.next().token else { return None };
        let text = text.clone();
        self.parser.advance_token();
        Some(text)
    }

    /// A whole number without sign.
    pub(crate) fn whole(&mut self, what: &'static str) -> Result<u64, SyntaxError> {
        self.want(Wanted::Thing(what));
        let Token::Number(digits, _) = &self.next().token else { return Err(self.wrong()) };
        let number = digits.parse().map_err(|_| {
            let say = format!("{digits} is no whole number, or too large");
            SyntaxError::new(INVALID_PARAMETER, say).with_position(self.place())
        })?;
        self.parser.advance_token();
        Ok(number)
    }

    /// A whole number that may have a sign.
    pub(crate) fn signed(&mut self, what: &'static str) -> Result<i64, SyntaxError> {
        let place = self.place();
        let is_negative = self.skip_mark("-");
        if !is_negative {
            self.skip_mark("+");
        }
        let number = i128::from(self.whole(what)?);
        let number = if is_negative { -number } else { number };
        i64::try_from(number).map_err(|_| {
            let say = format!("{number} is too large: it has more than 64 bits");
            SyntaxError::new(INVALID_PARAMETER, say).with_position(place)
        })
    }

    /// The digits of a number without sign, as they are written, if one comes next.
    pub(crate) fn take_digits(&mut self) -> Option<String> {
        let Token::Number(digits, _) = &self.next().token else { return None };
        let digits = digits.clone();
        self.parser.advance_token();
        Some(digits)
    }

    // Lists.

    /// One or more, with commas between them.
    pub(crate) fn list<T>(
        &mut self,
        mut one: impl FnMut(&mut Self) -> Result<T, SyntaxError>,
    ) -> Result<Vec<T>, SyntaxError> {
        let mut all = vec![one(self)?];
        while self.take_mark(",") {
            all.push(one(self)?);
        }
        Ok(all)
    }

    /// What is within brackets.
    pub(crate) fn bracketed<T>(
        &mut self,
        inside: impl FnOnce(&mut Self) -> Result<T, SyntaxError>,
    ) -> Result<T, SyntaxError> {
        self.expect_mark("(")?;
        let read = inside(self)?;
        self.expect_mark(")")?;
        Ok(read)
    }

    /// What is read, with its text.
    pub(crate) fn written<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, SyntaxError>,
    ) -> Result<Written<T>, SyntaxError> {
        let start = self.place();
        let tree = read(self)?;
        Ok(Written { tree, text: self.text_from(start).to_owned() })
    }

    // What the parser reads.

    fn by_parser<T>(
        &mut self,
        read: impl FnOnce(&mut Parser<'a>) -> Result<T, ParserError>,
    ) -> Result<T, SyntaxError> {
        let read = read(&mut self.parser);
        read.map_err(|error| self.translated(error))
    }

    /// A query; without FOR UPDATE, which its statement has.
    pub(crate) fn query(&mut self) -> Result<Box<Query>, SyntaxError> {
        self.by_parser(|parser| parser.parse_query())
    }

    /// A WITH clause, from its word on.
    pub(crate) fn with_clause(&mut self) -> Result<sqlparser::ast::With, SyntaxError> {
        let with_token = self.next().clone();
        self.expect("with")?;
        let recursive = self.take("recursive");
        let cte_tables = self.list(|reader| reader.by_parser(|parser| parser.parse_cte()))?;
        Ok(sqlparser::ast::With { with_token: with_token.into(), recursive, cte_tables })
    }

    /// An expression.
    pub(crate) fn expression(&mut self) -> Result<Expr, SyntaxError> {
        if let Some(value) = self.lone_value() {
            self.parser.advance_token();
            return Ok(value);
        }
        self.by_parser(|parser| parser.parse_expr())
    }

    /// The literal or bind that comes next, if the expression ends with it: a list of many rows is
    /// made of these.
    fn lone_value(&self) -> Option<Expr> {
        let [first, second] = self.parser.peek_tokens_ref();
        let is_lone = matches!(second.token, Token::Comma | Token::RParen | Token::EOF);
        is_lone.then(|| value(first)).flatten()
    }

    /// An expression that ends before NOT NULL, AND and OR: a column's default.
    pub(crate) fn short_expression(&mut self) -> Result<Expr, SyntaxError> {
        let stronger_than = self.dialect.prec_value(Precedence::Is);
        self.by_parser(|parser| parser.parse_subexpr(stronger_than))
    }

    /// What a query or RETURNING gives: expressions with their names, `*`.
    pub(crate) fn select_items(&mut self) -> Result<Vec<SelectItem>, SyntaxError> {
        self.list(|reader| reader.by_parser(|parser| parser.parse_select_item()))
    }

    /// Tables with their joins, as behind FROM.
    pub(crate) fn tables(&mut self) -> Result<Vec<TableWithJoins>, SyntaxError> {
        self.list(|reader| reader.by_parser(|parser| parser.parse_table_and_joins()))
    }

    /// One table, or a query in brackets, with its name.
    pub(crate) fn table_factor(&mut self) -> Result<sqlparser::ast::TableFactor, SyntaxError> {
        self.by_parser(|parser| parser.parse_table_factor())
    }

    /// A type.
    pub(crate) fn type_name(&mut self) -> Result<TypeName, SyntaxError> {
        self.want(Wanted::Thing("a type"));
        let place = self.place();
        if self.word().is_none() {
            return Err(self.wrong());
        }
        let named = self.by_parser(|parser| parser.parse_data_type())?;
        type_of(&named).map_err(|error| error.with_position(place))
    }

    // The end.

    pub(crate) fn is_at_end(&self) -> bool {
        self.next().token == Token::EOF
    }

    /// Refuses what stands behind the statement.
    pub(crate) fn end(&mut self) -> Result<(), SyntaxError> {
        let mut is_ended = false;
        while self.skip_mark(";") {
            is_ended = true;
        }
        if self.is_at_end() {
            return Ok(());
        }
        if is_ended {
            let hint = "give one statement at a time";
            return Err(SyntaxError::at(self.text, self.place(), "").with_hint(hint));
        }
        self.want(Wanted::Thing("the end of the statement"));
        Err(self.wrong())
    }

    // Errors.

    /// The statement is wrong at the next token; the message says what was looked for there.
    pub(crate) fn wrong(&self) -> SyntaxError {
        let place = self.place();
        let more = match place == self.wanted_at {
            true => expected(&self.wanted),
            false => String::new(),
        };
        SyntaxError::at(self.text, place, &more)
    }

    /// The statement is wrong at the next token, where `what` should stand.
    pub(crate) fn wrong_for(&self, what: &str) -> SyntaxError {
        self.wrong_at(self.place(), what)
    }

    /// The statement is wrong at this byte, where `what` should stand.
    pub(crate) fn wrong_at(&self, place: usize, what: &str) -> SyntaxError {
        SyntaxError::at(self.text, place, &format!("; expected {what}"))
    }

    /// Forebay doesn't do what the next token begins.
    pub(crate) fn unsupported(&self, what: &str) -> SyntaxError {
        SyntaxError::unsupported(what, self.text, self.place())
    }

    /// Refuses these words if one of them comes next: Forebay doesn't do what they ask for. Commas
    /// stand between them.
    pub(crate) fn refuse(&self, words: &str) -> Result<(), SyntaxError> {
        for one in words.split(", ") {
            let mut parts = one.split(' ').enumerate();
            if parts.all(|(at, word)| is_word(self.parser.peek_nth_token_ref(at), word)) {
                return Err(self.unsupported(&one.to_uppercase()));
            }
        }
        Ok(())
    }

    fn translated(&self, error: ParserError) -> SyntaxError {
        let message = match error {
            ParserError::ParserError(message) | ParserError::TokenizerError(message) => message,
            ParserError::RecursionLimitExceeded => return self.too_complex(),
        };
        let said = SaidByParser::of(&message);
        let position = match said.position {
            Some(position) => position,
            None if said.is_at_end => self.text.len(),
            None => self.place(),
        };
        SyntaxError::at(self.text, position, &said.more)
    }

    fn too_complex(&self) -> SyntaxError {
        let place = Place::of(self.text, self.place());
        let say = match self.dialect.is_exhausted() {
            true => format!(
                "the statement is too complex at {place}: too much of it can be read in two ways"
            ),
            false => format!(
                "the statement has more than {RECURSION_MAX} levels of brackets, calls and \
                 subqueries at {place}"
            ),
        };
        SyntaxError::new(TOO_COMPLEX, say)
            .with_hint("name subqueries in a WITH clause")
            .with_position(self.place())
    }
}

pub(crate) fn is_word(token: &TokenWithSpan, word: &str) -> bool {
    matches!(&token.token, Token::Word(of) if of.quote_style.is_none() && of.value == word)
}

/// "; expected A, B or C".
fn expected(wanted: &[Wanted]) -> String {
    let mut all: Vec<String> = Vec::new();
    for one in wanted {
        let one = match one {
            Wanted::Words(words) => words.to_uppercase(),
            Wanted::Thing(what) => (*what).to_owned(),
        };
        if !all.contains(&one) {
            all.push(one);
        }
    }
    if all.len() > EXPECTED_MAX {
        all.truncate(EXPECTED_MAX);
        all.push("others".into());
    }
    match all.split_last() {
        None => String::new(),
        Some((last, [])) => format!("; expected {last}"),
        Some((last, before)) => format!("; expected {} or {last}", before.join(", ")),
    }
}

/// A message of the parser, taken apart.
struct SaidByParser {
    /// The end of our message.
    more: String,
    position: Option<usize>,
    /// Whether the parser met the end of the text.
    is_at_end: bool,
}

impl SaidByParser {
    fn of(message: &str) -> SaidByParser {
        const PLACE: &str = " at Line: 1, Column: ";
        let (said, position) = match message.rsplit_once(PLACE) {
            Some((said, column)) => (said, column.parse::<usize>().ok()),
            None => (message, None),
        };
        let expected = ["Expected: ", "Expected ", "expected "]
            .iter()
            .find_map(|word| said.strip_prefix(word))
            .and_then(|rest| rest.split_once(", found: "));
        let (more, found) = match expected {
            Some((what, found)) => (format!("; expected {}", plain(what)), found),
            None => (format!("; {}", lower_first(&one_line(said, SAID_MAX))), ""),
        };
        SaidByParser {
            more,
            position: position.and_then(|column| column.checked_sub(1)),
            is_at_end: found == "EOF",
        }
    }
}

/// The parser's words for what it expected, in ours.
fn plain(what: &str) -> &str {
    match what {
        "identifier" => "a name",
        "literal int" => "a whole number",
        "literal string" | "a value" => "a literal",
        "a data type name" => "a type",
        "an identifier after AS" => "a name behind AS",
        "SELECT, VALUES, or a subquery in the query body" => "SELECT or VALUES",
        "a list of columns in parentheses" => "columns in brackets",
        what => what.strip_prefix("one of ").unwrap_or(what),
    }
}

fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_lowercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// Clauses that several statements have.
impl Reader<'_> {
    /// A table's name in the statement: `AS name`, or a name that is none of these words.
    pub(crate) fn alias(&mut self, but: &[&str]) -> Result<Option<Ident>, SyntaxError> {
        if self.take("as") {
            return self.name("a name for the table").map(Some);
        }
        match self.sees_name_but(but) {
            true => self.name("a name for the table").map(Some),
            false => Ok(None),
        }
    }

    /// WHERE, if it is there.
    pub(crate) fn filter(&mut self) -> Result<Option<Expr>, SyntaxError> {
        match self.take("where") {
            true => self.expression().map(Some),
            false => Ok(None),
        }
    }

    /// RETURNING, if it is there.
    pub(crate) fn returning(&mut self) -> Result<Vec<SelectItem>, SyntaxError> {
        if !self.take("returning") {
            return Ok(Vec::new());
        }
        let items = self.select_items()?;
        match self.sees("into") {
            true => Err(self.unsupported("RETURNING INTO")),
            false => Ok(items),
        }
    }

    /// Whether a query in brackets comes next.
    pub(crate) fn sees_query_in_brackets(&self) -> bool {
        let begins = |at: usize| {
            let token = self.parser.peek_nth_token_ref(at);
            ["select", "with", "values", "table"].iter().any(|word| is_word(token, word))
        };
        let open = |at: &usize| self.parser.peek_nth_token_ref(*at).token == Token::LParen;
        // Brackets nest no deeper than `limits` has allowed.
        let depth = (0..).take_while(open).count();
        depth > 0 && begins(depth)
    }

    /// Whether a number comes next, perhaps with a sign.
    pub(crate) fn sees_number(&self) -> bool {
        matches!(self.next().token, Token::Number(..) | Token::Minus | Token::Plus)
    }

    /// Whether names in brackets come next, and nothing else in these brackets.
    pub(crate) fn sees_names_only(&self) -> bool {
        let [open, name, behind] = self.parser.peek_tokens_ref();
        open.token == Token::LParen
            && matches!(name.token, Token::Word(_))
            && matches!(behind.token, Token::Comma | Token::RParen)
    }
}

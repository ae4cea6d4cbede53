//! What the parser is told of Forebay's SQL: PostgreSQL's, with a few exceptions.
//!
//! It is also where the parser's work is bounded. The parser tries several ways at some places, and
//! each try may hold such a place again, so that its time can double with each level. Every try
//! comes by here: each is a step, and a statement has so many steps per token (rule SY6).
//!
//! And it is where reserved words are refused as names, where plain names, literals and calls are
//! read without asking first whether they are types, and where signs and IS DISTINCT FROM take the
//! operands that they have in PostgreSQL. ROW and BETWEEN SYMMETRIC, which the parser doesn't know,
//! are read here.
//!
//! Callers: `reader`.

use std::any::TypeId;
use std::cell::Cell;

use sqlparser::ast::{Expr, Ident, ObjectName, UnaryOperator, Value};
use sqlparser::dialect::{Dialect, PostgreSqlDialect, Precedence};
use sqlparser::keywords::{Keyword, RESERVED_FOR_COLUMN_ALIAS, RESERVED_FOR_TABLE_ALIAS};
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::words::is_reserved;

/// Steps for each token, and for a statement.
const STEPS_PER_TOKEN: usize = 16;
const STEPS_PER_STATEMENT: usize = 10_000;

const POSTGRESQL: PostgreSqlDialect = PostgreSqlDialect {};

/// Stands before the lower bound of BETWEEN SYMMETRIC.
const SYMMETRIC: &str = "SYMMETRIC";

/// Forebay's SQL, as far as the parser asks, for one statement.
#[derive(Debug)]
pub(crate) struct Forebay {
    steps_left: Cell<usize>,
}

/// How an expression is read that begins with a certain token.
enum Beginning {
    /// A literal or a bind.
    Value,
    /// A name.
    Name,
    /// The name of a function.
    Call,
    /// A sign before an operand.
    Sign(UnaryOperator),
    /// `ROW (a, b)`.
    Row,
    /// The lower bound of BETWEEN SYMMETRIC, or of BETWEEN ASYMMETRIC.
    Bound { is_symmetric: bool },
    /// A word that begins no expression.
    Reserved,
    /// As the parser finds it.
    Other,
}

impl Forebay {
    /// For a statement of so many tokens.
    pub(crate) fn new(tokens: usize) -> Forebay {
        Forebay { steps_left: Cell::new(tokens * STEPS_PER_TOKEN + STEPS_PER_STATEMENT) }
    }

    /// Whether the parser was stopped because it took too many steps.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.steps_left.get() == 0
    }

    fn take_step(&self) {
        self.steps_left.set(self.steps_left.get().saturating_sub(1));
    }
}

impl Dialect for Forebay {
    fn dialect(&self) -> TypeId {
        TypeId::of::<PostgreSqlDialect>()
    }

    fn identifier_quote_style(&self, _identifier: &str) -> Option<char> {
        Some('"')
    }

    fn is_identifier_start(&self, ch: char) -> bool {
        crate::scan::is_name_start(ch)
    }

    fn is_identifier_part(&self, ch: char) -> bool {
        crate::scan::is_name_part(ch)
    }

    fn get_next_precedence(&self, parser: &Parser) -> Option<Result<u8, ParserError>> {
        POSTGRESQL.get_next_precedence(parser)
    }

    fn prec_value(&self, prec: Precedence) -> u8 {
        POSTGRESQL.prec_value(prec)
    }

    // Asked where a word's own form can't be read: a CASE without END isn't a column `case`.
    fn is_reserved_for_identifier(&self, kw: Keyword) -> bool {
        POSTGRESQL.is_reserved_for_identifier(kw) || is_reserved_keyword(kw)
    }

    fn parse_prefix(&self, parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
        self.take_step();
        if self.is_exhausted() {
            return Some(Err(ParserError::RecursionLimitExceeded));
        }
        let [first, second] = parser.peek_tokens_ref();
        match beginning(&first.token, &second.token) {
            Beginning::Value => {
                let value = value(first)?;
                parser.advance_token();
                Some(Ok(value))
            }
            Beginning::Reserved => Some(parser.expected_ref("an expression", first)),
            Beginning::Other => None,
            Beginning::Name => {
                let name = name(first).map(Expr::Identifier);
                parser.advance_token();
                name.map(Ok)
            }
            Beginning::Call => {
                let name = ObjectName::from(vec![name(first)?]);
                parser.advance_token();
                Some(parser.parse_function(name))
            }
            Beginning::Sign(op) => {
                parser.advance_token();
                // `-2 ^ 2` is 4, and `~5 + 3` is `~8`: the parser has them the other way round.
                let looser = match op {
                    UnaryOperator::BitwiseNot => Precedence::PgOther,
                    _ => Precedence::AtTz,
                };
                let operand = parser.parse_subexpr(self.prec_value(looser));
                Some(operand.map(|expr| Expr::UnaryOp { op, expr: Box::new(expr) }))
            }
            Beginning::Row => {
                parser.advance_token();
                Some(row(parser))
            }
            Beginning::Bound { .. }
                if !is_keyword(parser.get_current_token(), Keyword::BETWEEN) =>
            {
                Some(parser.expected_ref("an expression", parser.peek_token_ref()))
            }
            Beginning::Bound { is_symmetric } => {
                parser.advance_token();
                let bound = parser.parse_subexpr(self.prec_value(Precedence::Between));
                Some(bound.map(|value| match is_symmetric {
                    true => symmetric(value),
                    false => value,
                }))
            }
        }
    }

    /// `a IS [NOT] DISTINCT FROM b`: the parser takes an AND behind it for a part of `b`.
    fn parse_infix(
        &self,
        parser: &mut Parser,
        expr: &Expr,
        precedence: u8,
    ) -> Option<Result<Expr, ParserError>> {
        const IS: [Keyword; 3] = [Keyword::IS, Keyword::DISTINCT, Keyword::FROM];
        const IS_NOT: [Keyword; 4] = [Keyword::IS, Keyword::NOT, Keyword::DISTINCT, Keyword::FROM];
        let negated = match parser.parse_keywords(&IS) {
            true => false,
            false if parser.parse_keywords(&IS_NOT) => true,
            false => return None,
        };
        if is_test(expr) {
            let wanted = "brackets around one IS of two in a row";
            return Some(parser.expected_ref(wanted, parser.peek_token_ref()));
        }
        let other = parser.parse_subexpr(precedence).map(Box::new);
        let left = Box::new(expr.clone());
        Some(other.map(|right| match negated {
            false => Expr::IsDistinctFrom(left, right),
            true => Expr::IsNotDistinctFrom(left, right),
        }))
    }

    // Asked for each SELECT, and so a place to count those without an expression.
    fn supports_empty_projections(&self) -> bool {
        self.take_step();
        !self.is_exhausted()
    }

    fn is_column_alias(&self, kw: &Keyword, _parser: &mut Parser) -> bool {
        !RESERVED_FOR_COLUMN_ALIAS.contains(kw) && !is_reserved_keyword(*kw)
    }

    fn is_table_alias(&self, kw: &Keyword, _parser: &mut Parser) -> bool {
        !RESERVED_FOR_TABLE_ALIAS.contains(kw) && !is_reserved_keyword(*kw)
    }

    fn supports_filter_during_aggregation(&self) -> bool {
        true
    }

    fn supports_group_by_expr(&self) -> bool {
        true
    }

    fn allow_extract_custom(&self) -> bool {
        true
    }

    fn allow_extract_single_quotes(&self) -> bool {
        true
    }

    fn supports_bitwise_shift_operators(&self) -> bool {
        true
    }

    fn supports_notnull_operator(&self) -> bool {
        true
    }

    fn supports_interval_options(&self) -> bool {
        true
    }

    fn supports_array_typedef_with_brackets(&self) -> bool {
        true
    }

    fn supports_parens_around_table_factor(&self) -> bool {
        true
    }
}

/// Whether an expression ends with IS and what it asks for.
fn is_test(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::IsDistinctFrom(..)
            | Expr::IsNotDistinctFrom(..)
            | Expr::IsNull(_)
            | Expr::IsNotNull(_)
            | Expr::IsTrue(_)
            | Expr::IsNotTrue(_)
            | Expr::IsFalse(_)
            | Expr::IsNotFalse(_)
            | Expr::IsUnknown(_)
            | Expr::IsNotUnknown(_)
            | Expr::IsNormalized { .. }
    )
}

/// Whether a keyword of the parser's is a reserved word of ours.
fn is_reserved_keyword(keyword: Keyword) -> bool {
    keyword != Keyword::NoKeyword && is_reserved(&format!("{keyword:?}").to_ascii_lowercase())
}

/// The literal or bind that a token is. The parser would copy the token first.
pub(crate) fn value(token: &TokenWithSpan) -> Option<Expr> {
    let value = match &token.token {
        Token::Number(digits, is_long) => Value::Number(digits.clone(), *is_long),
        Token::SingleQuotedString(text) => Value::SingleQuotedString(text.clone()),
        Token::HexStringLiteral(digits) => Value::HexStringLiteral(digits.clone()),
        Token::Placeholder(bind) => Value::Placeholder(bind.clone()),
        _ => return None,
    };
    Some(Expr::Value(value.with_span(token.span)))
}

/// The name that a token is.
fn name(token: &TokenWithSpan) -> Option<sqlparser::ast::Ident> {
    match &token.token {
        Token::Word(word) => Some(word.to_ident(token.span)),
        _ => None,
    }
}

fn beginning(first: &Token, second: &Token) -> Beginning {
    let word = match first {
        Token::Number(..)
        | Token::SingleQuotedString(_)
        | Token::HexStringLiteral(_)
        | Token::Placeholder(_) => return Beginning::Value,
        Token::Minus => return Beginning::Sign(UnaryOperator::Minus),
        Token::Plus => return Beginning::Sign(UnaryOperator::Plus),
        Token::Tilde => return Beginning::Sign(UnaryOperator::BitwiseNot),
        Token::Word(word) => word,
        _ => return Beginning::Other,
    };
    let is_call = *second == Token::LParen;
    match word.keyword {
        Keyword::NoKeyword => {}
        Keyword::ROW if is_call => return Beginning::Row,
        Keyword::SYMMETRIC => return Beginning::Bound { is_symmetric: true },
        Keyword::ASYMMETRIC => return Beginning::Bound { is_symmetric: false },
        // Without a value it is a name; with another word behind it, it would be read again and
        // again.
        Keyword::INTERVAL if matches!(second, Token::Word(_)) => {}
        keyword if has_form_of_its_own(keyword) || is_type(keyword) => return Beginning::Other,
        _ if is_reserved(&word.value) => return Beginning::Reserved,
        _ => {}
    }
    match is_call {
        true => Beginning::Call,
        false => Beginning::Name,
    }
}

fn is_keyword(token: &TokenWithSpan, keyword: Keyword) -> bool {
    matches!(&token.token, Token::Word(word) if word.keyword == keyword)
}

/// The rest of `ROW (a, b)`, which is `(a, b)`.
fn row(parser: &mut Parser) -> Result<Expr, ParserError> {
    parser.expect_token(&Token::LParen)?;
    let columns = parser.parse_comma_separated(Parser::parse_expr)?;
    parser.expect_token(&Token::RParen)?;
    Ok(Expr::Tuple(columns))
}

/// The lower bound of a BETWEEN SYMMETRIC. The parser's tree has no place for the word.
fn symmetric(bound: Expr) -> Expr {
    Expr::Prefixed { prefix: Ident::new(SYMMETRIC), value: Box::new(bound) }
}

/// The lower bound that is written behind BETWEEN SYMMETRIC; none if SYMMETRIC isn't there.
pub fn symmetric_bound(low: &Expr) -> Option<&Expr> {
    match low {
        Expr::Prefixed { prefix, value } if prefix.value == SYMMETRIC => Some(value),
        _ => None,
    }
}

/// Words that begin expressions which are neither names nor plain calls.
fn has_form_of_its_own(keyword: Keyword) -> bool {
    matches!(
        keyword,
        Keyword::TRUE
            | Keyword::FALSE
            | Keyword::NULL
            | Keyword::NOT
            | Keyword::CASE
            | Keyword::CAST
            | Keyword::TRY_CAST
            | Keyword::EXISTS
            | Keyword::EXTRACT
            | Keyword::CEIL
            | Keyword::FLOOR
            | Keyword::POSITION
            | Keyword::SUBSTR
            | Keyword::SUBSTRING
            | Keyword::OVERLAY
            | Keyword::TRIM
            | Keyword::ARRAY
            | Keyword::CURRENT_CATALOG
            | Keyword::CURRENT_USER
            | Keyword::SESSION_USER
            | Keyword::USER
            | Keyword::CURRENT_TIMESTAMP
            | Keyword::CURRENT_TIME
            | Keyword::CURRENT_DATE
            | Keyword::LOCALTIME
            | Keyword::LOCALTIMESTAMP
    )
}

/// Words that begin a literal with its type, as in `DATE '2026-01-31'`.
fn is_type(keyword: Keyword) -> bool {
    matches!(
        keyword,
        Keyword::DATE
            | Keyword::TIME
            | Keyword::TIMETZ
            | Keyword::TIMESTAMP
            | Keyword::TIMESTAMPTZ
            | Keyword::INTERVAL
            | Keyword::DOUBLE
            | Keyword::FLOAT
            | Keyword::FLOAT4
            | Keyword::FLOAT8
            | Keyword::REAL
            | Keyword::NUMERIC
            | Keyword::DECIMAL
            | Keyword::DEC
            | Keyword::INT
            | Keyword::INT2
            | Keyword::INT4
            | Keyword::INT8
            | Keyword::INTEGER
            | Keyword::SMALLINT
            | Keyword::BIGINT
            | Keyword::CHAR
            | Keyword::CHARACTER
            | Keyword::VARCHAR
            | Keyword::TEXT
            | Keyword::CLOB
            | Keyword::BYTEA
            | Keyword::BOOLEAN
            | Keyword::BOOL
            | Keyword::UUID
            | Keyword::JSON
            | Keyword::JSONB
    )
}

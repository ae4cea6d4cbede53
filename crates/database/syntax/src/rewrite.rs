//! Tokens that the parser would read wrongly or not at all, written otherwise.
//!
//! | written | becomes |
//! |---|---|
//! | `VARCHAR2(9 CHAR)` | `VARCHAR2(9)` |
//! | `NUMBER(9,2)`, `NUMBER(*)` | `NUMERIC(9,2)`, `NUMERIC(38)` |
//! | `TABLE t`, as a query | `SELECT * FROM t`: the parser drops two words behind `TABLE t` |
//! | `TRIM(LEADING FROM a)`, `TRIM(FROM a)` | `TRIM(LEADING a)`, `TRIM(a)` |
//! | `FROM ONLY t`, `FROM ONLY (t)` | `FROM t`: no table has others below it |
//! | `ORDER BY a USING >`, `USING <` | `ORDER BY a DESC`, `ASC` |
//!
//! What stands in for a token has its place.
//!
//! Callers: `statement`.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::reader::is_word;
use crate::words::is_reserved;

/// Rewrites a statement's tokens.
pub(crate) fn rewrite(tokens: &mut Vec<TokenWithSpan>) {
    rewrite_types(tokens);
    // Most statements have none of these words, and rows of VALUES many tokens.
    let (mut has_table, mut has_trim, mut has_only, mut has_using) = (false, false, false, false);
    for token in tokens.iter() {
        if let Token::Word(word) = &token.token {
            has_table |= word.keyword == Keyword::TABLE;
            has_trim |= word.keyword == Keyword::TRIM;
            has_only |= word.keyword == Keyword::ONLY;
            has_using |= word.keyword == Keyword::USING;
        }
    }
    if has_table {
        rewrite_queries(tokens);
    }
    if has_trim {
        rewrite_trims(tokens);
    }
    if has_only {
        rewrite_only(tokens);
    }
    if has_using {
        rewrite_using(tokens);
    }
}

/// Makes a direction of the operator that an order names.
fn rewrite_using(tokens: &mut Vec<TokenWithSpan>) {
    let mut signs = Vec::new();
    for at in 1..tokens.len() {
        let direction = match tokens[at].token {
            Token::Lt => "asc",
            Token::Gt => "desc",
            _ => continue,
        };
        if is_word(&tokens[at - 1], "using") {
            tokens[at - 1].token = Token::make_word(direction, None);
            signs.push(at);
        }
    }
    take_out(tokens, &signs);
}

/// Takes out of types what only Oracle writes, so that the parser can read them: `VARCHAR2(9 CHAR)`
/// becomes `VARCHAR2(9)`, `NUMBER(9,2)` becomes `NUMERIC(9,2)`, and a `*` for its precision 38.
fn rewrite_types(tokens: &mut Vec<TokenWithSpan>) {
    let mut taken_out = Vec::new();
    for at in 1..tokens.len() {
        if tokens[at].token != Token::LParen {
            continue;
        }
        if has_length_unit(&tokens[at - 1..]) {
            taken_out.push(at + 2);
        }
        let inside = tokens.get(at + 1).map(|inside| &inside.token);
        let is_any = inside == Some(&Token::Mul);
        let is_sized = is_any || matches!(inside, Some(Token::Number(..)));
        if is_sized && is_word(&tokens[at - 1], "number") {
            tokens[at - 1].token = Token::make_word("numeric", None);
            if is_any {
                tokens[at + 1].token = Token::Number("38".into(), false);
            }
        }
    }
    take_out(tokens, &taken_out);
}

/// Takes tokens out, whose places are in rising order.
fn take_out(tokens: &mut Vec<TokenWithSpan>, places: &[usize]) {
    if places.is_empty() {
        return;
    }
    let mut at = 0;
    tokens.retain(|_| {
        at += 1;
        places.binary_search(&(at - 1)).is_err()
    });
}

/// Takes the FROM out of a TRIM that has no characters before it.
fn rewrite_trims(tokens: &mut Vec<TokenWithSpan>) {
    let begins_trim =
        |at: usize| is_word(&tokens[at - 1], "trim") && tokens[at].token == Token::LParen;
    let is_side = |at: usize| {
        tokens.get(at).is_some_and(|token| {
            ["both", "leading", "trailing"].iter().any(|side| is_word(token, side))
        })
    };
    let mut froms = Vec::new();
    for at in (1..tokens.len()).filter(|at| begins_trim(*at)) {
        let from = at + 1 + usize::from(is_side(at + 1));
        if tokens.get(from).is_some_and(|token| is_word(token, "from")) {
            froms.push(from);
        }
    }
    take_out(tokens, &froms);
}

/// Words behind which ONLY stands before a table's name, also within brackets.
const ONLY_BEHIND: [&str; 11] = [
    "from", "join", "using", "update", "into", "delete", "table", "exists", "truncate", "lock",
    "on",
];

/// Takes ONLY out where it stands before a table's name, and the brackets around that. The name
/// ends where they did: a view's text may end there.
fn rewrite_only(tokens: &mut Vec<TokenWithSpan>) {
    let begins_table = |at: usize| {
        let mut before = tokens[..=at].iter().rev();
        before.find(|token| token.token != Token::LParen).is_some_and(|token| {
            token.token == Token::Comma || ONLY_BEHIND.iter().any(|word| is_word(token, word))
        })
    };
    let (mut taken_out, mut within_brackets) = (Vec::new(), Vec::new());
    for at in (1..tokens.len()).filter(|at| is_word(&tokens[*at], "only")) {
        if !begins_table(at - 1) {
            continue;
        }
        if is_name(tokens, at + 1) {
            taken_out.push(at);
        } else if tokens.get(at + 1).is_some_and(|next| next.token == Token::LParen) {
            let has_schema = tokens.get(at + 3).is_some_and(|next| next.token == Token::Period);
            let last = if has_schema { at + 4 } else { at + 2 };
            let is_closed = tokens.get(last + 1).is_some_and(|next| next.token == Token::RParen);
            if is_name(tokens, at + 2) && is_name(tokens, last) && is_closed {
                taken_out.extend([at, at + 1, last + 1]);
                within_brackets.push(last);
            }
        }
    }
    for name in within_brackets {
        tokens[name].span.end = tokens[name + 1].span.end;
    }
    take_out(tokens, &taken_out);
}

/// Whether the token may be a name.
fn is_name(tokens: &[TokenWithSpan], at: usize) -> bool {
    tokens.get(at).is_some_and(|token| match &token.token {
        Token::Word(word) => word.quote_style.is_some() || !is_reserved(&word.value),
        _ => false,
    })
}

/// Whether tokens begin as in `VARCHAR2 ( 9 CHAR )`.
fn has_length_unit(tokens: &[TokenWithSpan]) -> bool {
    const TYPES: [&str; 7] =
        ["varchar2", "varchar", "char", "character", "varying", "nvarchar2", "nchar"];
    let [name, _, number, unit, close, ..] = tokens else { return false };
    TYPES.iter().any(|word| is_word(name, word))
        && matches!(number.token, Token::Number(..))
        && (is_word(unit, "char") || is_word(unit, "byte"))
        && close.token == Token::RParen
}

/// Words behind which TABLE begins no query.
const NO_QUERY_BEHIND: [&str; 16] = [
    "create",
    "alter",
    "drop",
    "truncate",
    "lock",
    "on",
    "external",
    "temporary",
    "temp",
    "unlogged",
    "global",
    "local",
    "private",
    "flashback",
    "cluster",
    "purge",
];

fn rewrite_queries(tokens: &mut Vec<TokenWithSpan>) {
    let mut at = 0;
    while at < tokens.len() {
        if begins_table_query(tokens, at) {
            let span = tokens[at].span;
            let select =
                [Token::make_word("select", None), Token::Mul, Token::make_word("from", None)];
            tokens.splice(at..=at, select.map(|token| TokenWithSpan::new(token, span)));
        }
        at += 1;
    }
}

/// Whether the token is the first of `TABLE name`.
fn begins_table_query(tokens: &[TokenWithSpan], at: usize) -> bool {
    let names = |token: &TokenWithSpan| matches!(token.token, Token::Word(_));
    if !is_word(&tokens[at], "table") || !tokens.get(at + 1).is_some_and(names) {
        return false;
    }
    let Some(before) = at.checked_sub(1) else { return true };
    let is_analyze =
        before == 0 && (is_word(&tokens[0], "analyze") || is_word(&tokens[0], "analyse"));
    !is_analyze && !NO_QUERY_BEHIND.iter().any(|word| is_word(&tokens[before], word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexer::lex;

    fn rewritten(text: &str) -> String {
        let mut tokens = lex(text).expect("sound").tokens;
        rewrite(&mut tokens);
        tokens.iter().map(|token| token.token.to_string()).collect::<Vec<_>>().join(" ")
    }

    fn stays(text: &str) {
        let tokens = lex(text).expect("sound").tokens;
        let before: Vec<String> = tokens.iter().map(|token| token.token.to_string()).collect();
        assert_eq!(rewritten(text), before.join(" "));
    }

    #[test]
    fn types_of_oracle_are_written_as_the_parser_knows_them() {
        assert_eq!(rewritten("varchar2(9 char), char(1 byte)"), "varchar2 ( 9 ) , char ( 1 )");
        assert_eq!(
            rewritten("number(9,2), number(*, 3)"),
            "numeric ( 9 , 2 ) , numeric ( 38 , 3 )"
        );
        stays("select number, char(9), number(a) from number");
    }

    #[test]
    fn a_trim_of_blanks_needs_no_from() {
        assert_eq!(rewritten("trim(from a)"), "trim ( a )");
        assert_eq!(
            rewritten("trim(both from trim(trailing from a))"),
            "trim ( both trim ( trailing a ) )"
        );
        stays("select trim(a), trim(leading 'x' from a), trim(both a), \"trim\" from (b)");
        stays("select trim(");
    }

    #[test]
    fn only_before_a_table_says_what_is_so() {
        assert_eq!(rewritten("from only t, only (s.u) join only v"), "from t , s . u join v");
        assert_eq!(rewritten("alter table if exists only t"), "alter table if exists t");
        assert_eq!(rewritten("delete from only (\"only\")"), "delete from \"only\"");
        assert_eq!(rewritten("from a, ((only b join only (c)))"), "from a , ( ( b join c ) )");
        assert_eq!(rewritten("delete from a using only b, only c"), "delete from a using b , c");
        for other in [
            "select a from t fetch first 3 rows only",
            "select a, only from t",
            "select a, \"only\" from t",
            "begin read only",
            "select 1 from only",
            "select 1 from only (select 2)",
            "create table t (only integer)",
        ] {
            stays(other);
        }
    }

    #[test]
    fn an_order_that_names_an_operator_has_a_direction() {
        assert_eq!(
            rewritten("order by a using >, b using < nulls first"),
            "order by a desc , b asc nulls first"
        );
        stays("select a from t join u using (a) where a < 1 and b > 2");
    }

    #[test]
    fn a_table_as_a_query_is_a_select() {
        assert_eq!(rewritten("table t order by a"), "select * from t order by a");
        assert_eq!(
            rewritten("(table \"T\") union table s.u"),
            "( select * from \"T\" ) union select * from s . u"
        );
        assert_eq!(rewritten("insert into t table u"), "insert into t select * from u");
        for other in [
            "create table t as",
            "drop table t",
            "analyze table t",
            "truncate table t",
            "comment on table t is",
            "select * from table (f (1))",
            "create external table t",
        ] {
            stays(other);
        }
    }
}

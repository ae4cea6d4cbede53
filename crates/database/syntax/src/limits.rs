//! How deep a statement's tree may be. Looked at before there is a tree.
//!
//! The parser reads `1 + 1 + 1 ...` in a loop, but what it makes of it is a tree as deep as the
//! text is long, and whoever walks that tree, or drops it, needs a stack as deep. So the depth is
//! bounded from the tokens:
//!
//! ```text
//!   a = 1 OR b + 2 = (c || d) AND ...
//!   └─── one item: its ANDs and ORs, and the operators of its longest operand, and ──┐
//!                    (c || d)   a level of its own: the deepest of its items  ◀──────┘
//! ```
//!
//! A comma, or a clause's first word, ends an item. `CASE ... END` is a level as brackets are. The
//! depth that comes out is never less than the tree's (rule SY6). The parser bounds its own
//! recursion apart from this.
//!
//! Callers: `reader`.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::error::{SyntaxError, TOO_COMPLEX};
use crate::lexer::start_of;
use crate::reader::is_word;

/// The most levels of a statement's tree, as in SQLite.
pub const TREE_DEPTH_MAX: usize = 1_000;
/// The most brackets that are open at one place.
pub const BRACKETS_MAX: usize = 100;

/// What the tokens between two brackets, or between CASE and END, come to.
#[derive(Default)]
struct Level {
    is_case: bool,
    /// ANDs and ORs of the item.
    connectives: usize,
    /// Operators since the last of those.
    operators: usize,
    /// The most operators of an operand, until then.
    operators_max: usize,
    /// The depth of the deepest level within the item.
    within: usize,
    /// The depth of the deepest item that has ended.
    items: usize,
    /// UNIONs and their like: a chain over the whole level.
    sets: usize,
}

impl Level {
    fn end_operand(&mut self) {
        self.operators_max = self.operators_max.max(self.operators);
        self.operators = 0;
    }

    fn end_item(&mut self) {
        self.end_operand();
        let depth = self.connectives + self.operators_max + self.within;
        self.items = self.items.max(depth);
        (self.connectives, self.operators_max, self.within) = (0, 0, 0);
    }

    /// The depth of a level that has ended.
    fn depth(mut self) -> usize {
        self.end_item();
        self.items + self.sets + 1
    }
}

/// What a token is to the depth.
#[derive(Clone, Copy, PartialEq)]
enum Role {
    None,
    Open,
    Close,
    Case,
    End,
    EndsItem,
    EndsBranch,
    Connective,
    Operator,
    Set,
}

/// Refuses tokens whose tree would be too deep.
pub(crate) fn check(tokens: &[TokenWithSpan]) -> Result<(), SyntaxError> {
    let mut levels = vec![Level::default()];
    let mut brackets = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        // The FROM of IS DISTINCT FROM begins no clause.
        let is_operator = at > 0 && is_word(&tokens[at - 1], "distinct") && is_word(token, "from");
        let role = if is_operator { Role::None } else { role(&token.token) };
        match role {
            Role::Open => brackets += 1,
            Role::Close => brackets = brackets.saturating_sub(1),
            _ => {}
        }
        let depth = follow(&mut levels, role);
        let what = match () {
            () if brackets > BRACKETS_MAX => "brackets within brackets",
            () if depth > TREE_DEPTH_MAX => "operators in a row",
            () => continue,
        };
        let most = if brackets > BRACKETS_MAX { BRACKETS_MAX } else { TREE_DEPTH_MAX };
        let say = format!("the statement has more than {most} {what}");
        let error = SyntaxError::new(TOO_COMPLEX, say)
            .with_hint("write a list of values as x IN (...), or split the statement");
        return Err(match start_of(token.span) {
            Some(start) => error.with_position(start),
            None => error,
        });
    }
    Ok(())
}

/// Takes a token in, and gives a depth that the tree has at least come to.
fn follow(levels: &mut Vec<Level>, role: Role) -> usize {
    let Some(level) = levels.last_mut() else { return 0 };
    match role {
        Role::None => {}
        Role::Open => levels.push(Level::default()),
        Role::Case => levels.push(Level { is_case: true, ..Level::default() }),
        Role::End if level.is_case => close(levels),
        Role::Close => {
            while levels.len() > 1 && levels.last().is_some_and(|level| level.is_case) {
                close(levels);
            }
            close(levels);
        }
        Role::EndsItem => level.end_item(),
        Role::EndsBranch if level.is_case => level.end_item(),
        Role::Connective => {
            level.connectives += 1;
            level.end_operand();
        }
        Role::Operator => level.operators += 1,
        Role::Set => level.sets += 1,
        Role::End | Role::EndsBranch => {}
    }
    levels.last().map_or(0, |level| {
        level.sets + level.connectives + level.operators.max(level.operators_max) + level.within
    })
}

/// Ends the innermost level, unless it is the outermost.
fn close(levels: &mut Vec<Level>) {
    if levels.len() > 1
        && let Some(ended) = levels.pop()
        && let Some(around) = levels.last_mut()
    {
        around.within = around.within.max(ended.depth());
    }
}

fn role(token: &Token) -> Role {
    match token {
        Token::LParen => Role::Open,
        Token::RParen => Role::Close,
        Token::Comma | Token::SemiColon => Role::EndsItem,
        Token::Word(word) => role_of_word(word.keyword),
        Token::Period
        | Token::RBracket
        | Token::Number(..)
        | Token::SingleQuotedString(_)
        | Token::HexStringLiteral(_)
        | Token::Placeholder(_) => Role::None,
        _ => Role::Operator,
    }
}

/// The role of a word. One in quotes is no keyword.
fn role_of_word(word: Keyword) -> Role {
    use Keyword as K;
    match word {
        K::AND | K::OR | K::XOR => Role::Connective,
        K::IS
        | K::IN
        | K::BETWEEN
        | K::LIKE
        | K::ILIKE
        | K::SIMILAR
        | K::NOT
        | K::NOTNULL
        | K::COLLATE
        | K::AT
        | K::OVERLAPS
        | K::OPERATOR
        | K::RLIKE
        | K::REGEXP
        | K::MEMBER
        | K::DIV
        | K::INTERVAL
        | K::ARRAY => Role::Operator,
        K::UNION | K::INTERSECT | K::EXCEPT | K::MINUS => Role::Set,
        K::CASE => Role::Case,
        K::END => Role::End,
        K::SELECT | K::FROM | K::WHERE | K::HAVING | K::ON => Role::EndsItem,
        K::WHEN | K::THEN | K::ELSE => Role::EndsBranch,
        _ => Role::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexer::lex;

    fn is_fine(text: &str) -> bool {
        check(&lex(text).expect("sound").tokens).is_ok()
    }

    #[test]
    fn what_people_and_programs_write_is_fine() {
        let list = vec!["1"; 10_000].join(", ");
        assert!(is_fine(&format!("select * from t where a in ({list})")));
        let rows = vec!["(1, 'a' || 'b', 2 + 3)"; 10_000].join(", ");
        assert!(is_fine(&format!("insert into t values {rows}")));
        let conditions = vec!["a + 1 = 2"; 900].join(" or ");
        assert!(is_fine(&format!("select * from t where {conditions}")));
        let joins = vec!["join t on a = b and c = d"; 2_000].join(" ");
        assert!(is_fine(&format!("select * from t {joins}")));
        let branches = vec!["when a = 1 then b + 1"; 2_000].join(" ");
        assert!(is_fine(&format!("select case {branches} else 3 end")));
    }

    #[test]
    fn chains_of_operators_are_bounded() {
        for link in [" + 1", " || 'a'", " and true", "::int", " union select 1", " is null", "[1]"]
        {
            assert!(is_fine(&format!("select 1{}", link.repeat(TREE_DEPTH_MAX - 10))), "{link}");
            assert!(!is_fine(&format!("select 1{}", link.repeat(TREE_DEPTH_MAX + 1))), "{link}");
        }
    }

    /// The parser reads these in a loop too, so a FROM among them must not end the count.
    #[test]
    fn chains_of_distinct_from_are_bounded() {
        for link in [" and a is distinct from 1", " is not distinct from 1"] {
            let chain = |links| format!("select 1 from t where a{}", link.repeat(links));
            assert!(is_fine(&chain(400)), "{link}");
            assert!(!is_fine(&chain(TREE_DEPTH_MAX + 1)), "{link}");
        }
    }

    #[test]
    fn a_chain_is_as_deep_as_what_is_within_it() {
        let half = " + 1".repeat(TREE_DEPTH_MAX * 2 / 3);
        assert!(is_fine(&format!("select (1{half}), 1{half}")));
        assert!(!is_fine(&format!("select (1{half}){half}")));
        assert!(!is_fine(&format!("select 1{half} + case when true then 1{half} end")));
        let cases = " + case when a then 1 else 2 end".repeat(TREE_DEPTH_MAX + 1);
        assert!(!is_fine(&format!("select 1{cases}")));
    }

    #[test]
    fn brackets_are_bounded() {
        let nested = |depth| format!("select {}1{}", "(".repeat(depth), ")".repeat(depth));
        assert!(is_fine(&nested(BRACKETS_MAX)));
        assert!(!is_fine(&nested(BRACKETS_MAX + 1)));
        assert!(is_fine("select 1)))) case ) end end"));
    }
}

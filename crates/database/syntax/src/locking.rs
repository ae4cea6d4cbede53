//! FOR UPDATE and FOR SHARE: which rows of a query are locked, and how long the statement waits.
//!
//! The parser knows a part of it only, so a query's own clause is taken out of the tokens before
//! the query is read. One within brackets stays for the parser, and whoever walks the tree finds
//! it in `Query::locks`.
//!
//! Callers: `statement`.
//! Sources: PostgreSQL's documentation, "The Locking Clause"; Oracle for WAIT.

use sqlparser::ast::Ident;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::error::{NOT_SUPPORTED, SyntaxError};
use crate::lexer::{byte_of, start_of};
use crate::reader::is_word;

/// How strong a lock is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowLock {
    /// FOR UPDATE, and FOR NO KEY UPDATE.
    Update,
    /// FOR SHARE, and FOR KEY SHARE.
    Share,
}

/// How long a statement waits for a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LockWait {
    /// Until it gets it.
    #[default]
    Forever,
    /// NOWAIT: not at all.
    No,
    /// WAIT n: so many seconds.
    Seconds(u64),
    /// SKIP LOCKED: a locked row is left out.
    SkipLocked,
}

/// The clause of a query.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Locking {
    /// How strong the locks are.
    pub lock: RowLock,
    /// OF: the tables, by the names that the query gives them; empty for all.
    pub of: Vec<Ident>,
    /// What is done with rows that another transaction has locked.
    pub wait: LockWait,
    /// The clause's first byte.
    pub position: usize,
    /// The byte behind its last one.
    pub end: usize,
}

impl Locking {
    /// Takes the clause out of a statement's tokens, if there is one outside of brackets.
    pub(crate) fn take_out(
        text: &str,
        tokens: &mut Vec<TokenWithSpan>,
    ) -> Result<Option<Locking>, SyntaxError> {
        let Some(start) = beginning(tokens) else { return Ok(None) };
        let mut clause = Clause { text, tokens: tokens.as_slice(), at: start };
        let locking = clause.read()?;
        let end = clause.at;
        tokens.drain(start..end);
        match beginning(tokens) {
            Some(again) => {
                let position = start_of(tokens[again].span).unwrap_or(text.len());
                Err(SyntaxError::unsupported("a second FOR clause", text, position))
            }
            None => Ok(Some(locking)),
        }
    }
}

/// The first token of a FOR clause outside of brackets.
fn beginning(tokens: &[TokenWithSpan]) -> Option<usize> {
    let mut depth = 0_i64;
    tokens.iter().enumerate().position(|(at, token)| {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            _ => {}
        }
        let is = |ahead: usize, word| tokens.get(at + ahead).is_some_and(|of| is_word(of, word));
        depth == 0
            && is(0, "for")
            && !is_plan_for(tokens, at)
            && (is(1, "update")
                || is(1, "share")
                || is(1, "key") && is(2, "share")
                || is(1, "no") && is(2, "key") && is(3, "update"))
    })
}

/// Whether the token is that of EXPLAIN PLAN FOR.
fn is_plan_for(tokens: &[TokenWithSpan], at: usize) -> bool {
    at == 2 && is_word(&tokens[0], "explain") && is_word(&tokens[1], "plan")
}

/// Tokens of a clause, and how far they are read.
struct Clause<'a> {
    text: &'a str,
    tokens: &'a [TokenWithSpan],
    at: usize,
}

impl Clause<'_> {
    fn read(&mut self) -> Result<Locking, SyntaxError> {
        let position = self.place();
        self.take("for");
        let lock = match () {
            () if self.take("update") => RowLock::Update,
            () if self.take("no") => {
                self.at += 2; // KEY UPDATE, seen by `beginning`
                RowLock::Update
            }
            () => {
                self.take("key");
                self.take("share");
                RowLock::Share
            }
        };
        let of = match self.take("of") {
            true => self.names()?,
            false => Vec::new(),
        };
        let wait = self.wait()?;
        let last = self.tokens.get(self.at - 1).and_then(|token| byte_of(token.span.end));
        Ok(Locking { lock, of, wait, position, end: last.unwrap_or(self.text.len()) })
    }

    fn wait(&mut self) -> Result<LockWait, SyntaxError> {
        if self.take("nowait") {
            return Ok(LockWait::No);
        }
        if self.take("skip") {
            return match self.take("locked") {
                true => Ok(LockWait::SkipLocked),
                false => Err(self.wrong("LOCKED")),
            };
        }
        if !self.take("wait") {
            return Ok(LockWait::Forever);
        }
        let seconds = match self.tokens.get(self.at).map(|token| &token.token) {
            Some(Token::Number(digits, _)) => digits.parse().ok(),
            _ => None,
        };
        match seconds {
            Some(seconds) => {
                self.at += 1;
                Ok(LockWait::Seconds(seconds))
            }
            None => Err(self.wrong("a number of seconds")),
        }
    }

    fn names(&mut self) -> Result<Vec<Ident>, SyntaxError> {
        let mut names = Vec::new();
        loop {
            match self.tokens.get(self.at) {
                Some(TokenWithSpan { token: Token::Word(word), span }) => {
                    names.push(word.to_ident(*span));
                }
                _ => return Err(self.wrong("the name of a table in the query")),
            }
            self.at += 1;
            match self.tokens.get(self.at).map(|token| &token.token) {
                Some(Token::Comma) => self.at += 1,
                Some(Token::Period) => {
                    let say =
                        "OF takes the name of a table in the query, without schema and column";
                    let error = SyntaxError::new(NOT_SUPPORTED, say);
                    return Err(error.with_position(self.place()));
                }
                _ => return Ok(names),
            }
        }
    }

    fn take(&mut self, word: &str) -> bool {
        let sees = self.tokens.get(self.at).is_some_and(|token| is_word(token, word));
        self.at += usize::from(sees);
        sees
    }

    fn place(&self) -> usize {
        let next = self.tokens.get(self.at).and_then(|token| byte_of(token.span.start));
        next.unwrap_or(self.text.len())
    }

    fn wrong(&self, expected: &str) -> SyntaxError {
        SyntaxError::at(self.text, self.place(), &format!("; expected {expected}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Statement, parse};

    fn locking(text: &str) -> Option<Locking> {
        match parse(text).unwrap_or_else(|error| panic!("{text}: {error}")).statement {
            Statement::Query(query) => query.locking,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_clause_is_read_with_its_wait() {
        let wait = |text: &str| locking(&format!("select * from t {text}")).map(|of| of.wait);
        assert_eq!(wait("where a = 1"), None);
        assert_eq!(wait("for update"), Some(LockWait::Forever));
        assert_eq!(wait("for update nowait"), Some(LockWait::No));
        assert_eq!(wait("FOR UPDATE WAIT 10"), Some(LockWait::Seconds(10)));
        assert_eq!(wait("for no key update skip locked"), Some(LockWait::SkipLocked));
        assert_eq!(wait("for share limit 3"), Some(LockWait::Forever));
        assert_eq!(wait("limit 3 for key share"), Some(LockWait::Forever));
    }

    #[test]
    fn the_clause_names_tables() {
        let found = locking("select * from t a, u b for update of a, b nowait").expect("a clause");
        let names: Vec<&str> = found.of.iter().map(|name| name.value.as_str()).collect();
        assert_eq!((names, found.lock), (vec!["a", "b"], RowLock::Update));
        assert_eq!(found.position, 23);
    }

    #[test]
    fn a_clause_that_is_wrong_or_stands_elsewhere_is_refused() {
        let refused = |text: &str| parse(text).expect_err(text).to_string();
        assert!(refused("select 1 for update skip").contains("expected LOCKED"));
        assert!(refused("select 1 for update wait").contains("a number of seconds"));
        assert!(refused("select 1 for update of").contains("the name of a table"));
        assert!(refused("select 1 for update of a.b").contains("OF takes the name"));
        assert!(refused("select 1 for update for share").contains("a second FOR clause"));
        assert!(refused("create view v as select 1 for update").contains("isn't supported"));
    }

    #[test]
    fn a_clause_within_brackets_is_left_in_the_tree() {
        let text = "select substring(a from 1 for 2) from (select * from t for update) as u";
        assert_eq!(locking(text), None);
    }
}

//! What a text begins with: those of a `Tx` may not begin or end a transaction.
//!
//! Callers: `sql`.

use stop::{Refusal, RefusalKind, SqlState, Stop};

/// The words that statements begin with that begin or end a transaction, or go back within it.
const OF_TRANSACTIONS: [&str; 8] =
    ["begin", "start", "commit", "end", "rollback", "abort", "savepoint", "release"];

/// Refuses a statement of a `Tx` that would end the transaction.
pub(super) fn check_ends_nothing(text: &str) -> Result<(), Stop> {
    let begin = without_comments(text);
    let word = begin.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or("");
    if !OF_TRANSACTIONS.iter().any(|one| word.eq_ignore_ascii_case(one)) {
        return Ok(());
    }
    let message = format!(
        "{} can't be a statement of a Tx: use its methods commit, rollback, savepoint and \
         rollback_to",
        word.to_uppercase()
    );
    let refusal = Refusal::new(RefusalKind::WrongState, message);
    Err(refusal.with_state(SqlState::ACTIVE_SQL_TRANSACTION).into())
}

/// The text from its first character on that isn't blank and in no comment.
fn without_comments(text: &str) -> &str {
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ';');
        if let Some(line) = rest.strip_prefix("--") {
            rest = line.find('\n').map_or("", |end| &line[end..]);
        } else if rest.starts_with("/*") {
            rest = behind_comment(rest);
        } else {
            return rest;
        }
    }
}

/// The text behind the comment that it begins with. Such comments may have others in them.
fn behind_comment(text: &str) -> &str {
    let (mut rest, mut depth) = (text, 0);
    loop {
        let begin = rest.find("/*").unwrap_or(rest.len());
        let end = rest.find("*/").unwrap_or(rest.len());
        if begin.min(end) == rest.len() {
            return "";
        }
        depth = if begin < end { depth + 1 } else { depth - 1 };
        rest = &rest[begin.min(end) + 2..];
        if depth == 0 {
            return rest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tx_is_ended_by_no_text() {
        let behind_comments = ["/* a /* b */ c */ commit", "-- a\n--b\r\n end", "; /**/; abort"];
        let texts = ["commit", " ROLLBACK to a", "Begin;", "savepoint a"];
        for text in texts.into_iter().chain(behind_comments) {
            let refused = check_ends_nothing(text).expect_err(text);
            assert_eq!(refused.state(), SqlState::ACTIVE_SQL_TRANSACTION);
        }
        let in_comments = ["/* commit", "--commit", "/*/*/ end"];
        let texts = ["select 1", "endless", "(select 1)", ""];
        for text in texts.into_iter().chain(in_comments) {
            check_ends_nothing(text).expect(text);
        }
    }
}

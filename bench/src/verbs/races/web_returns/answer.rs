//! Answers of both sides, made comparable.
//!
//! Callers: both sides; `web_returns`, which refuses to race answers that differ.

/// The rows of an answer: a line each, values with `|` between them.
pub(super) type Answer = Vec<String>;

/// A number without the zeros behind its places: one side shows 1.50 where the other shows 1.5.
pub(super) fn plain(number: &str) -> String {
    match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => number.to_owned(),
    }
}

/// An answer as the other side would show it.
pub(super) fn comparable(answer: &[String]) -> Answer {
    let line = |line: &String| line.split('|').map(plain).collect::<Vec<_>>().join("|");
    answer.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_behind_places_make_no_difference() {
        let theirs = ["1||70.50|3.00".to_owned(), "100|0.05|x".to_owned()];
        assert_eq!(comparable(&theirs), ["1||70.5|3", "100|0.05|x"]);
    }
}

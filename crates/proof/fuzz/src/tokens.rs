//! A text as tokens, however wrong it is: words, numbers, texts, signs, blanks.
//!
//! Invariant: the tokens of a text, one behind the other, are the text.
//!
//! Callers: `mutate`, `shrink`.

/// The tokens of a text.
pub(crate) fn tokens_of(text: &str) -> Vec<&str> {
    let (mut tokens, mut rest) = (Vec::new(), text);
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\'' | '"' => quoted(rest, first),
            c if c.is_whitespace() => run(rest, char::is_whitespace),
            c if is_of_word(c) => run(rest, is_of_word),
            c => c.len_utf8(),
        };
        let (token, behind) = rest.split_at(length);
        tokens.push(token);
        rest = behind;
    }
    tokens
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// The bytes of the characters at the beginning of which this is true.
fn run(text: &str, is: fn(char) -> bool) -> usize {
    text.find(|c: char| !is(c)).unwrap_or(text.len())
}

/// The bytes up to the quote that ends it, or to the end.
fn quoted(text: &str, quote: char) -> usize {
    match text[1..].find(quote) {
        Some(at) => at + 2,
        None => text.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tokens_are_the_text() {
        let tokens = tokens_of("select a1, 'x y' || \"B\"\n from t where é>=10");
        let words = ["select", " ", "a1", ",", " ", "'x y'", " ", "|", "|", " ", "\"B\"", "\n "];
        assert_eq!(tokens[..words.len()], words);
        for text in ["", "'", "'a", "--\u{0}é'\"", "\u{202e}a b'c'd"] {
            assert_eq!(tokens_of(text).concat(), text);
        }
    }
}

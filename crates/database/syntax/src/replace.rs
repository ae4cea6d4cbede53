//! Other names in a text, and all else as it stands.
//!
//! It knows words and not what they mean: a caller looks at what came out.
//!
//! Callers: `sql`, when a table or a column gets another name that the text of a CHECK says.

use crate::scan::{Kind, Scanner};

/// A word, or a name in double quotes.
#[derive(Clone, Copy, Debug)]
pub struct Mention<'a> {
    /// The name as it is looked for: small letters where it stands without quotes.
    pub name: &'a str,
    /// The first character of what stands behind it, but for blanks and comments.
    pub next: Option<char>,
}

/// The text with what `other` says in place of each name; none leaves it as it is.
pub fn replace_names(text: &str, other: &dyn Fn(Mention<'_>) -> Option<String>) -> String {
    let mut replaced = String::with_capacity(text.len());
    for piece in Scanner::new(text) {
        let written = &text[piece.start..piece.end];
        let name = match piece.kind {
            Kind::Word => written.to_lowercase(),
            Kind::Name => written[1..written.len() - 1].replace("\"\"", "\""),
            _ => {
                replaced.push_str(written);
                continue;
            }
        };
        let next = next_character(&text[piece.end..]);
        match other(Mention { name: &name, next }) {
            Some(other) => replaced.push_str(&other),
            None => replaced.push_str(written),
        }
    }
    replaced
}

fn next_character(behind: &str) -> Option<char> {
    let mut pieces = Scanner::new(behind);
    let piece = pieces.find(|piece| !matches!(piece.kind, Kind::Space | Kind::Comment))?;
    behind[piece.start..].chars().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_are_replaced_and_all_else_stays() {
        let other = |mention: Mention<'_>| {
            let is_meant = mention.name == "a" && mention.next != Some('(');
            is_meant.then(|| "b".to_owned())
        };
        for (text, replaced) in [
            ("A > 1 -- a\n and t.\"a\" = 'a'", "b > 1 -- a\n and t.b = 'a'"),
            ("a /* a */ (a) + ab", "a /* a */ (b) + ab"),
            ("\"A\" = $$a$$", "\"A\" = $$a$$"),
            ("", ""),
        ] {
            assert_eq!(replace_names(text, &other), replaced);
        }
    }
}

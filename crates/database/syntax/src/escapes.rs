//! The characters that a literal's escapes stand for.
//!
//! Callers: `lexer`.
//! Sources: PostgreSQL's documentation, "String Constants with C-Style Escapes" and "with Unicode
//! Escapes".

use crate::error::{INVALID_ESCAPE, SyntaxError, shown};

/// The characters between the quotes of a literal, where `''` is one quote.
pub(crate) fn plain(between: &str) -> String {
    between.replace("''", "'")
}

/// The characters of an E literal, from what is between its quotes.
pub(crate) fn backslashed(between: &str) -> Result<String, SyntaxError> {
    let mut out = String::with_capacity(between.len());
    let mut rest = between;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '\'' => {
                rest = rest.strip_prefix('\'').unwrap_or(rest);
                out.push('\'');
            }
            '\\' => {
                let Escaped { character, length } = escaped(rest)?;
                out.push(character);
                rest = &rest[length..];
            }
            c => out.push(c),
        }
    }
    Ok(out)
}

/// What stands behind a backslash: its character, and its number of bytes.
struct Escaped {
    character: char,
    length: usize,
}

fn escaped(rest: &str) -> Result<Escaped, SyntaxError> {
    let Some(first) = rest.chars().next() else {
        return Err(wrong("\\"));
    };
    let simple = |character| Ok(Escaped { character, length: first.len_utf8() });
    match first {
        'b' => simple('\u{8}'),
        'f' => simple('\u{c}'),
        'n' => simple('\n'),
        'r' => simple('\r'),
        't' => simple('\t'),
        '0'..='7' => by_number(rest, 0, Digits { most: 3, least: 1, radix: 8 }),
        'x' => by_number(rest, 1, Digits { most: 2, least: 1, radix: 16 }),
        'u' => by_number(rest, 1, Digits { most: 4, least: 4, radix: 16 }),
        'U' => by_number(rest, 1, Digits { most: 8, least: 8, radix: 16 }),
        other => simple(other),
    }
}

/// How many digits of which kind a number has.
struct Digits {
    most: usize,
    least: usize,
    radix: u32,
}

/// The character whose number begins at `from`.
fn by_number(rest: &str, from: usize, of: Digits) -> Result<Escaped, SyntaxError> {
    let digits = rest[from..].chars().take(of.most).take_while(|c| c.is_digit(of.radix)).count();
    let number = &rest[from..from + digits];
    let character = u32::from_str_radix(number, of.radix).ok().and_then(char::from_u32);
    match character.filter(|c| *c != '\0' && digits >= of.least) {
        Some(character) => Ok(Escaped { character, length: from + digits }),
        None => Err(wrong(&format!("\\{}", &rest[..from + digits]))),
    }
}

/// The characters of a U& literal: `\0061` or `\+000061`, and `\\` for a backslash.
pub(crate) fn unicode(between: &str) -> Result<String, SyntaxError> {
    let doubled = plain(between);
    let mut out = String::with_capacity(doubled.len());
    let mut rest = doubled.as_str();
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let behind = &rest[at + 1..];
        let Escaped { character, length } = match behind.chars().next() {
            Some('\\') => Escaped { character: '\\', length: 1 },
            Some('+') => by_number(behind, 1, Digits { most: 6, least: 6, radix: 16 })?,
            _ => by_number(behind, 0, Digits { most: 4, least: 4, radix: 16 })?,
        };
        out.push(character);
        rest = &behind[length..];
    }
    out.push_str(rest);
    Ok(out)
}

fn wrong(escape: &str) -> SyntaxError {
    let say = format!("the escape {} in a literal stands for no character", shown(escape));
    SyntaxError::new(INVALID_ESCAPE, say).with_hint("write a backslash as \\\\")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_stand_for_their_characters() {
        let text = r"a\tb\\c\'d''e\101\x41\u00e9\U0001F600\q";
        assert_eq!(backslashed(text).expect("sound"), "a\tb\\c'd'eAAé😀q");
        assert_eq!(unicode(r"d\0061t\+000061 \\ ''").expect("sound"), "data \\ '");
    }

    #[test]
    fn an_escape_without_a_character_is_refused() {
        for wrong in [r"\", r"\0", r"\u12", r"\ud800", r"\U00110000", r"\x", r"\xg", r"\ué"] {
            let error = backslashed(wrong).expect_err(wrong);
            assert_eq!(error.sqlstate(), INVALID_ESCAPE);
        }
        for wrong in [r"\", r"\006", r"\+0061", r"\d800", r"\é"] {
            assert!(unicode(wrong).is_err(), "{wrong}");
        }
    }
}

//! The characters that a literal's escapes stand for.
//!
//! Callers: `lexer`.
//! Sources: PostgreSQL's documentation, "String Constants with C-Style Escapes" and "with Unicode
//! Escapes".

use crate::error::{INVALID_ESCAPE, SyntaxError, shown};

/// The characters between the quotes of a literal, where `''` is one quote.
pub(crate) fn plain(between: &str) -> String {
    match between.contains('\'') {
        true => between.replace("''", "'"),
        false => between.to_owned(),
    }
}

/// The characters of an E literal, from what is between its quotes. `\x` and `\` with octal digits
/// stand for bytes, which have to be UTF-8 together with what is around them.
pub(crate) fn backslashed(between: &str) -> Result<String, SyntaxError> {
    let mut out = Vec::with_capacity(between.len());
    let mut rest = between;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '\'' => {
                rest = rest.strip_prefix('\'').unwrap_or(rest);
                out.push(b'\'');
            }
            '\\' => {
                let Escaped { meant, length } = escaped(rest)?;
                match meant {
                    Meant::Byte(byte) => out.push(byte),
                    Meant::Character(character) => push(&mut out, character),
                }
                rest = &rest[length..];
            }
            c => push(&mut out, c),
        }
    }
    String::from_utf8(out).map_err(|_| {
        let say = "the bytes that the escapes of a literal stand for aren't UTF-8";
        SyntaxError::new(INVALID_ESCAPE, say).with_hint("write a character as \\u00e9")
    })
}

fn push(out: &mut Vec<u8>, character: char) {
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
}

/// What stands behind a backslash: what it means, and its number of bytes.
struct Escaped {
    meant: Meant,
    length: usize,
}

enum Meant {
    Byte(u8),
    Character(char),
}

fn escaped(rest: &str) -> Result<Escaped, SyntaxError> {
    let Some(first) = rest.chars().next() else {
        return Err(wrong("\\"));
    };
    let simple =
        |character| Ok(Escaped { meant: Meant::Character(character), length: first.len_utf8() });
    match first {
        'b' => simple('\u{8}'),
        'f' => simple('\u{c}'),
        'n' => simple('\n'),
        'r' => simple('\r'),
        't' => simple('\t'),
        '0'..='7' => byte(rest, number(rest, 0, Digits { most: 3, least: 1, radix: 8 })?),
        'x' => byte(rest, number(rest, 1, Digits { most: 2, least: 1, radix: 16 })?),
        'u' | 'U' => {
            let Spelled { character, length } = character(rest, code_of_e)?;
            Ok(Escaped { meant: Meant::Character(character), length })
        }
        other => simple(other),
    }
}

/// How many digits of which kind a number has.
struct Digits {
    most: usize,
    least: usize,
    radix: u32,
}

/// A number behind a backslash, and the bytes up to its end.
struct Code {
    number: u32,
    length: usize,
}

/// The number that begins at `from`. Nothing has the number 0.
fn number(rest: &str, from: usize, of: Digits) -> Result<Code, SyntaxError> {
    let digits = rest[from..].chars().take(of.most).take_while(|c| c.is_digit(of.radix)).count();
    let length = from + digits;
    let number = u32::from_str_radix(&rest[from..length], of.radix).ok();
    match number.filter(|number| *number != 0 && digits >= of.least) {
        Some(number) => Ok(Code { number, length }),
        None => Err(wrong(&format!("\\{}", &rest[..length]))),
    }
}

fn byte(rest: &str, code: Code) -> Result<Escaped, SyntaxError> {
    match u8::try_from(code.number) {
        Ok(byte) => Ok(Escaped { meant: Meant::Byte(byte), length: code.length }),
        Err(_) => Err(wrong(&format!("\\{}", &rest[..code.length]))),
    }
}

/// A character that is written by its number, and the bytes up to its end.
struct Spelled {
    character: char,
    length: usize,
}

/// The character whose number, or the two halves of whose number in UTF-16, `read` finds.
fn character(
    rest: &str,
    read: fn(&str) -> Result<Code, SyntaxError>,
) -> Result<Spelled, SyntaxError> {
    let first = read(rest)?;
    if let Some(character) = char::from_u32(first.number) {
        return Ok(Spelled { character, length: first.length });
    }
    let behind = rest[first.length..].strip_prefix('\\');
    if let Some(second) = behind.and_then(|behind| read(behind).ok())
        && let (Ok(high), Ok(low)) = (u16::try_from(first.number), u16::try_from(second.number))
        && let Some(Ok(character)) = char::decode_utf16([high, low]).next()
    {
        return Ok(Spelled { character, length: first.length + 1 + second.length });
    }
    Err(wrong(&format!("\\{}", &rest[..first.length])))
}

/// The number of `u00e9` or `U000000e9`.
fn code_of_e(rest: &str) -> Result<Code, SyntaxError> {
    match rest.chars().next() {
        Some('u') => number(rest, 1, Digits { most: 4, least: 4, radix: 16 }),
        Some('U') => number(rest, 1, Digits { most: 8, least: 8, radix: 16 }),
        _ => Err(wrong("\\")),
    }
}

/// The number of `00e9` or `+0000e9`.
fn code_of_u(rest: &str) -> Result<Code, SyntaxError> {
    match rest.chars().next() {
        Some('+') => number(rest, 1, Digits { most: 6, least: 6, radix: 16 }),
        _ => number(rest, 0, Digits { most: 4, least: 4, radix: 16 }),
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
        let Spelled { character, length } = match behind.starts_with('\\') {
            true => Spelled { character: '\\', length: 1 },
            false => character(behind, code_of_u)?,
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
    fn bytes_make_up_characters_and_so_do_halves_of_utf_16() {
        assert_eq!(backslashed(r"\xc3\xA9\303\251 é").expect("sound"), "éé é");
        assert_eq!(backslashed(r"\ud83d\ude00\uD83D\U0000DE00").expect("sound"), "😀😀");
        assert_eq!(unicode(r"\d83d\de00\D83D\+00DE00").expect("sound"), "😀😀");
        for wrong in [r"\xe9", r"\xc3x", r"\777", r"\ud83dx", r"\ud83d\u0061", r"\ude00\ud83d"] {
            let error = backslashed(wrong).expect_err(wrong);
            assert_eq!(error.sqlstate(), INVALID_ESCAPE);
        }
        assert!(unicode(r"\d83d\0061").is_err());
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

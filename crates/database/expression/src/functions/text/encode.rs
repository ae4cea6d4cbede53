//! Bytes as texts and back: `encode`, `decode`.
//!
//! | form | a byte |
//! |---|---|
//! | hex | two digits |
//! | base64 | six bits are a letter; a line has 76 |
//! | escape | itself, or `\ooo` if it isn't ASCII; a backslash is two |
//!
//! Callers: the table of functions. Source: PostgreSQL's documentation, "encode".

use value::Value;

use crate::functions::unexpected;
use crate::{Evaluation, Fault};

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The most letters of a line.
const LINE: usize = 76;

/// How bytes are written.
enum Form {
    Hex,
    Base64,
    Escape,
}

impl Form {
    fn of(name: &str) -> Result<Form, Fault> {
        match name.to_ascii_lowercase().as_str() {
            "hex" => Ok(Form::Hex),
            "base64" => Ok(Form::Base64),
            "escape" => Ok(Form::Escape),
            _ => Err(Fault::parameter("there is no such form of bytes")
                .showing(Value::Text(name))
                .with_hint("the forms are hex, base64 and escape")),
        }
    }
}

pub(super) fn encode<'a>(
    arguments: &[Value<'a>],
    with: &Evaluation<'a>,
) -> Result<Value<'a>, Fault> {
    let [Value::Bytes(bytes), Value::Text(form)] = *arguments else { unexpected(arguments) };
    let form = Form::of(form)?;
    with.arena.check(bytes.len().saturating_mul(4))?;
    let mut text = with.arena.writer_for(bytes.len() * 2);
    match form {
        Form::Hex => {
            for byte in bytes {
                for digit in [byte >> 4, byte & 15] {
                    text.push(char::from_digit(digit.into(), 16).expect("four bits are a digit"));
                }
            }
        }
        Form::Base64 => {
            for (number, three) in bytes.chunks(3).enumerate() {
                if number > 0 && (number * 4).is_multiple_of(LINE) {
                    text.push('\n');
                }
                letters_of(three).into_iter().for_each(|letter| text.push(letter));
            }
        }
        Form::Escape => {
            for byte in bytes {
                match byte {
                    b'\\' => text.push_str("\\\\"),
                    0 | 128.. => {
                        text.push('\\');
                        for bits in [byte >> 6, (byte >> 3) & 7, byte & 7] {
                            text.push(char::from(b'0' + bits));
                        }
                    }
                    other => text.push(char::from(*other)),
                }
            }
        }
    }
    Ok(Value::Text(text.into_bump_str()))
}

/// The four letters of up to three bytes.
fn letters_of(bytes: &[u8]) -> [char; 4] {
    let byte = |at: usize| u32::from(bytes.get(at).copied().unwrap_or(0));
    let bits = (byte(0) << 16) | (byte(1) << 8) | byte(2);
    [0, 1, 2, 3].map(|at| match at <= bytes.len() {
        true => char::from(DIGITS[((bits >> (18 - 6 * at)) & 63) as usize]),
        false => '=',
    })
}

pub(super) fn decode<'a>(
    arguments: &[Value<'a>],
    with: &Evaluation<'a>,
) -> Result<Value<'a>, Fault> {
    let [Value::Text(text), Value::Text(form)] = *arguments else { unexpected(arguments) };
    let form = Form::of(form)?;
    with.arena.check(text.len())?;
    let bytes = match form {
        Form::Hex => of_hex(text),
        Form::Base64 => of_base64(text),
        Form::Escape => of_escape(text),
    };
    match bytes {
        Some(bytes) => Ok(Value::Bytes(with.arena.copy(&bytes))),
        None => {
            let say = "the text isn't made of bytes in this form";
            Err(Fault::parameter(say).showing(Value::Text(text)))
        }
    }
}

/// The bytes of a text without the blanks that may stand in it.
fn without_blanks(text: &str) -> Vec<u8> {
    text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect()
}

fn of_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pair = |pair: &[u8]| match *pair {
        [high, low] => u8::try_from(digit(high)? * 16 + digit(low)?).ok(),
        _ => None,
    };
    without_blanks(text).chunks(2).map(pair).collect()
}

fn of_base64(text: &str) -> Option<Vec<u8>> {
    let letters = without_blanks(text);
    let kept = letters.iter().rposition(|letter| *letter != b'=').map_or(0, |last| last + 1);
    let is_whole = letters.len().is_multiple_of(4) && letters.len() - kept <= 2;
    let mut bytes = Vec::with_capacity(letters.len() / 4 * 3);
    for four in letters[..kept].chunks(4) {
        let mut bits = 0_u32;
        for at in 0..4 {
            let digit = match four.get(at) {
                Some(letter) => DIGITS.iter().position(|digit| digit == letter)?,
                None => 0,
            };
            bits = (bits << 6) | u32::try_from(digit).ok()?;
        }
        let made = [16, 8, 0].map(|place| ((bits >> place) & 255) as u8);
        bytes.extend_from_slice(&made[..four.len() - 1]);
    }
    is_whole.then_some(bytes)
}

fn of_escape(text: &str) -> Option<Vec<u8>> {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let [first, behind @ ..] = rest {
        let (byte, behind) = match (first, behind) {
            (b'\\', [b'\\', behind @ ..]) => (b'\\', behind),
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', behind @ ..]) => {
                ((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'), behind)
            }
            (b'\\', _) => return None,
            (byte, behind) => (*byte, behind),
        };
        bytes.push(byte);
        rest = behind;
    }
    Some(bytes)
}

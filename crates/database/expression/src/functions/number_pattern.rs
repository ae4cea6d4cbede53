//! Numbers as texts by a pattern such as `999,990.99`, and back: TO_CHAR and TO_NUMBER.
//!
//! | in a pattern | means |
//! |---|---|
//! | `9` | a digit; a blank where the number has none before the point |
//! | `0` | a digit; a zero where the number has none, there and behind |
//! | `.` `D` | the point |
//! | `,` `G` | a comma between digits; a blank before the first digit |
//! | `S` | `+` or `-`, next to the digits, before or behind them as it stands |
//! | `MI` `PL` `SG` | at this place: a minus; a plus; either |
//! | `PR` | `<` and `>` around a number below zero |
//! | `TH` `th` | the ending of an ordinal number |
//! | `L` | no symbol: no currency is set |
//! | `FM` | no blanks, and no zeros at the end |
//! | `"text"`, `\"`, other characters | themselves |
//!
//! Without a sign in the pattern there is a blank or a minus before the first digit. A number that
//! is too long has `#` for its digits.
//!
//! Callers: `formats`. Sources: PostgreSQL's documentation, "Data Type Formatting Functions", and
//! its examples.

use std::fmt;

use value::Number;

use crate::Fault;

/// A piece of a pattern.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Piece {
    Digit,
    Point,
    Group,
    Minus,
    Plus,
    Either,
    /// Whether in capitals.
    Ordinal(bool),
    Text(char),
}

/// Where the sign stands that belongs to the digits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sign {
    /// A minus, or a blank, before the first digit.
    Plain,
    /// A sign before the first digit.
    Before,
    /// A sign behind the last digit.
    Behind,
    /// Brackets around the digits.
    Brackets,
    /// Elsewhere.
    None,
}

/// A pattern that was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct NumberPattern {
    pieces: Vec<Piece>,
    /// The places of digits before the point, and behind it.
    before: usize,
    behind: usize,
    /// The first place before the point from which zeros are written, counted from 0.
    zeros_from: Option<usize>,
    /// The places behind the point that are written even if they are zeros at the end.
    behind_kept: usize,
    has_point: bool,
    sign: Sign,
    fills: bool,
}

impl NumberPattern {
    /// Reads a pattern; an error says what is wrong with it.
    pub(super) fn parse(text: &str) -> Result<NumberPattern, &'static str> {
        let mut pattern = NumberPattern {
            pieces: Vec::new(),
            before: 0,
            behind: 0,
            zeros_from: None,
            behind_kept: 0,
            has_point: false,
            sign: Sign::Plain,
            fills: true,
        };
        let mut rest = text;
        // The digits before which an S stands.
        let mut sign_at = None;
        while let Some(first) = rest.chars().next() {
            let upper: String = rest.chars().take(4).collect::<String>().to_ascii_uppercase();
            let mut length = first.len_utf8();
            if let Some(behind) = rest.strip_prefix("\\\"") {
                pattern.pieces.push(Piece::Text('"'));
                rest = behind;
                continue;
            }
            if let Some(quoted) = rest.strip_prefix('"') {
                let end = quoted.find('"').unwrap_or(quoted.len());
                pattern.pieces.extend(quoted[..end].chars().map(Piece::Text));
                rest = quoted.get(end + 1..).unwrap_or("");
                continue;
            }
            let word = ["EEEE", "FM", "MI", "PL", "SG", "PR", "TH", "RN"];
            match word.into_iter().find(|word| upper.starts_with(word)) {
                Some(word) => {
                    length = word.len();
                    pattern.add_word(word, first.is_uppercase())?;
                }
                None if first.eq_ignore_ascii_case(&'S') => {
                    sign_at = Some(pattern.before + pattern.behind);
                }
                None => pattern.add_char(first)?,
            }
            rest = &rest[length..];
        }
        if let Some(at) = sign_at {
            let is_behind = at > 0 && at >= pattern.before;
            pattern.sign = if is_behind { Sign::Behind } else { Sign::Before };
        }
        Ok(pattern)
    }

    fn add_word(&mut self, word: &str, is_upper: bool) -> Result<(), &'static str> {
        match word {
            "FM" => self.fills = false,
            "MI" => {
                self.pieces.push(Piece::Minus);
                self.sign = Sign::None;
            }
            "PL" => self.pieces.push(Piece::Plus),
            "SG" => {
                self.pieces.push(Piece::Either);
                self.sign = Sign::None;
            }
            "PR" => self.sign = Sign::Brackets,
            "TH" => self.pieces.push(Piece::Ordinal(is_upper)),
            _ => return Err("EEEE and RN aren't supported in patterns of numbers"),
        }
        Ok(())
    }

    fn add_char(&mut self, char: char) -> Result<(), &'static str> {
        match char {
            '0' | '9' if self.has_point => {
                self.behind += 1;
                if char == '0' {
                    self.behind_kept = self.behind;
                }
                self.pieces.push(Piece::Digit);
            }
            '0' | '9' => {
                if char == '0' && self.zeros_from.is_none() {
                    self.zeros_from = Some(self.before);
                }
                self.before += 1;
                self.pieces.push(Piece::Digit);
            }
            '.' | 'D' | 'd' if self.has_point => return Err("a pattern has one point"),
            '.' | 'D' | 'd' => {
                self.has_point = true;
                self.pieces.push(Piece::Point);
            }
            ',' | 'G' | 'g' => self.pieces.push(Piece::Group),
            'L' | 'l' => {}
            'V' | 'v' => return Err("V isn't supported in patterns of numbers"),
            other => self.pieces.push(Piece::Text(other)),
        }
        Ok(())
    }
}

/// Writes a number as the pattern says.
pub(super) fn write(
    pattern: &NumberPattern,
    number: Number,
    out: &mut dyn fmt::Write,
) -> Result<(), Fault> {
    let places = i32::try_from(pattern.behind).unwrap_or(i32::MAX);
    let rounded = number.round(places)?;
    let mut digits = Digits::of(rounded, pattern);
    digits.write(out).expect("a text takes whatever is written");
    Ok(())
}

/// The digits of a number on their way through a pattern.
struct Digits<'p> {
    pattern: &'p NumberPattern,
    is_negative: bool,
    /// The digits before the point; 0 is one zero, unless the pattern has no place for it.
    before: String,
    /// The digits behind the point that are written.
    behind: String,
    /// The places of the pattern that were passed.
    passed: usize,
    sign_is_written: bool,
    /// Whether a digit stands at the last place that was passed.
    in_number: bool,
}

impl<'p> Digits<'p> {
    fn of(rounded: Number, pattern: &'p NumberPattern) -> Digits<'p> {
        let text = rounded.abs().to_string();
        let (before, behind) = text.split_once('.').unwrap_or((text.as_str(), ""));
        let (mut before, mut behind) = (before.to_string(), behind.to_string());
        if before == "0" && pattern.before == 0 {
            before.clear();
        }
        if before.len() > pattern.before {
            before = "#".repeat(pattern.before);
            behind = "#".repeat(pattern.behind);
        }
        // The text has no zeros at its end: these are what the pattern asks for.
        let least = if pattern.fills { pattern.behind } else { pattern.behind_kept };
        while behind.len() < least {
            behind.push('0');
        }
        Digits {
            pattern,
            is_negative: rounded.is_negative(),
            before,
            behind,
            passed: 0,
            sign_is_written: pattern.sign == Sign::None,
            in_number: false,
        }
    }

    fn write(&mut self, out: &mut dyn fmt::Write) -> fmt::Result {
        let pattern = self.pattern;
        let places = pattern.before + pattern.behind;
        for piece in &pattern.pieces {
            match piece {
                Piece::Digit => {
                    if self.passed < pattern.before {
                        self.write_before(out)?;
                    } else {
                        self.write_behind(out)?;
                    }
                    self.passed += 1;
                    if self.passed == places {
                        self.write_end(out)?;
                    }
                }
                Piece::Point => {
                    self.write_sign(out)?;
                    out.write_char('.')?;
                }
                Piece::Group if self.in_number => out.write_char(',')?,
                Piece::Group => self.blank(out)?,
                Piece::Minus if self.is_negative => out.write_char('-')?,
                Piece::Plus if !self.is_negative => out.write_char('+')?,
                Piece::Minus | Piece::Plus => self.blank(out)?,
                Piece::Either => out.write_char(if self.is_negative { '-' } else { '+' })?,
                Piece::Ordinal(is_upper) => self.write_ordinal(*is_upper, out)?,
                Piece::Text(char) => out.write_char(*char)?,
            }
        }
        Ok(())
    }

    /// A blank, unless the pattern says that nothing is filled.
    fn blank(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        if self.pattern.fills { out.write_char(' ') } else { Ok(()) }
    }

    /// What stands at a place before the point.
    fn write_before(&mut self, out: &mut dyn fmt::Write) -> fmt::Result {
        let (at, blanks) = (self.passed, self.pattern.before - self.before.len());
        let zeros_from = self.pattern.zeros_from;
        // The 0 of 0.5 isn't written, unless the pattern asks for zeros.
        let is_bare =
            zeros_from.is_none() && self.before == "0" && at >= blanks && self.pattern.behind > 0;
        let is_alone = is_bare && self.behind.is_empty();
        let begins = at >= blanks || zeros_from == Some(at);
        if begins && (!is_bare || is_alone) {
            self.write_sign(out)?;
        }
        self.in_number = false;
        if at < blanks && zeros_from.is_none_or(|from| from > at) {
            return self.blank(out);
        }
        if is_bare && !is_alone {
            return self.blank(out);
        }
        self.in_number = true;
        match self.before.as_bytes().get(at.wrapping_sub(blanks)) {
            Some(digit) => out.write_char(char::from(*digit)),
            None => out.write_char('0'),
        }
    }

    /// What stands at a place behind the point.
    fn write_behind(&mut self, out: &mut dyn fmt::Write) -> fmt::Result {
        match self.behind.as_bytes().get(self.passed - self.pattern.before) {
            Some(digit) => out.write_char(char::from(*digit)),
            None => Ok(()),
        }
    }

    /// The sign before the first digit.
    fn write_sign(&mut self, out: &mut dyn fmt::Write) -> fmt::Result {
        if self.sign_is_written {
            return Ok(());
        }
        self.sign_is_written = true;
        match (self.pattern.sign, self.is_negative) {
            (Sign::Before | Sign::Plain, true) => out.write_char('-'),
            (Sign::Before, false) => out.write_char('+'),
            (Sign::Brackets, true) => out.write_char('<'),
            // A plus at a place of its own stands for the sign.
            (Sign::Plain, false) if self.pattern.pieces.contains(&Piece::Plus) => Ok(()),
            (Sign::Plain | Sign::Brackets, false) => self.blank(out),
            (Sign::Behind | Sign::None, _) => Ok(()),
        }
    }

    /// What stands behind the last digit.
    fn write_end(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        match (self.pattern.sign, self.is_negative) {
            (Sign::Behind, true) => out.write_char('-'),
            (Sign::Behind, false) => out.write_char('+'),
            (Sign::Brackets, true) => out.write_char('>'),
            (Sign::Brackets, false) => self.blank(out),
            _ => Ok(()),
        }
    }

    /// The ending of an ordinal number, which a whole number has that isn't below zero.
    fn write_ordinal(&self, is_upper: bool, out: &mut dyn fmt::Write) -> fmt::Result {
        if self.is_negative || self.pattern.has_point {
            return Ok(());
        }
        let bytes = self.before.as_bytes();
        let ending = match bytes {
            [.., b'1', _] => "th",
            [.., b'1'] => "st",
            [.., b'2'] => "nd",
            [.., b'3'] => "rd",
            _ => "th",
        };
        if is_upper { out.write_str(&ending.to_uppercase()) } else { out.write_str(ending) }
    }
}

/// Why a text isn't a number of a pattern.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unread {
    /// It has no digit, or a character that numbers don't have.
    NotANumber,
    /// It has more digits before the point than the pattern.
    TooLarge,
}

/// The digits of a text that a pattern wrote, with sign and point. Digits behind the last place of
/// the pattern are left out, with all that follows.
pub(super) fn read(pattern: &NumberPattern, text: &str) -> Result<String, Unread> {
    let (mut digits, mut is_negative, mut has_point) = (String::new(), false, false);
    // The digits that were read, without zeros at the beginning if the pattern has a point.
    let (mut before, mut behind) = (0, 0);
    let is_of_pattern = |char: char| pattern.pieces.contains(&Piece::Text(char));
    for char in text.trim().chars() {
        match char {
            '0'..='9' if has_point => {
                if behind == pattern.behind {
                    break;
                }
                behind += 1;
                digits.push(char);
            }
            '0'..='9' if pattern.has_point => {
                before += usize::from(before > 0 || char != '0');
                digits.push(char);
            }
            '0'..='9' => {
                if before == pattern.before {
                    break;
                }
                before += 1;
                digits.push(char);
            }
            '.' if !pattern.has_point || has_point => break,
            '.' => {
                has_point = true;
                digits.push(char);
            }
            '-' | '<' => is_negative = true,
            '+' | '>' | ',' | ' ' | '$' => {}
            other if is_of_pattern(other) => {}
            _ => return Err(Unread::NotANumber),
        }
    }
    if before > pattern.before {
        return Err(Unread::TooLarge);
    }
    match digits.bytes().any(|byte| byte.is_ascii_digit()) {
        true if is_negative => Ok(format!("-{digits}")),
        true => Ok(digits),
        false => Err(Unread::NotANumber),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(number: &str, pattern: &str) -> String {
        let pattern = NumberPattern::parse(pattern).expect("a pattern");
        let mut text = String::new();
        write(&pattern, number.parse().expect("a number"), &mut text).expect("in range");
        text
    }

    /// The examples of PostgreSQL's documentation.
    #[test]
    fn numbers_are_written_by_patterns_as_in_postgresql() {
        let all = [
            ("-0.1", "99.99", "  -.10"),
            ("-0.1", "FM9.99", "-.1"),
            ("0.1", "0.9", " 0.1"),
            ("12", "9990999.9", "    0012.0"),
            ("12", "FM9990999.9", "0012."),
            ("485", "999", " 485"),
            ("-485", "999", "-485"),
            ("485", "9 9 9", " 4 8 5"),
            ("1485", "9,999", " 1,485"),
            ("1485", "9G999", " 1,485"),
            ("148.5", "999.999", " 148.500"),
            ("148.5", "FM999.999", "148.5"),
            ("148.5", "FM999.990", "148.500"),
            ("3148.5", "9G999D999", " 3,148.500"),
            ("-485", "999S", "485-"),
            ("-485", "999MI", "485-"),
            ("485", "999MI", "485 "),
            ("485", "FM999MI", "485"),
            ("485", "PL999", "+485"),
            ("485", "SG999", "+485"),
            ("-485", "SG999", "-485"),
            ("-485", "9SG99", "4-85"),
            ("-485", "999PR", "<485>"),
            ("482", "999th", " 482nd"),
            ("485", "\"Good number:\"999", "Good number: 485"),
            ("485.8", "\"Pre:\"999\" Post:\" .999", "Pre: 485 Post: .800"),
            ("485", "\\\"999\\\"", "\" 485\""),
            ("12", "S999", " +12"),
            ("485", "09999", " 00485"),
            ("4859", "999", " ###"),
            ("0", "999", "   0"),
            ("0", "FM999.99", "0."),
            ("0.5", ".99", " .50"),
            ("1234567.891", "FM9,999,999.00", "1,234,567.89"),
            ("12", "FM9,999", "12"),
            ("0.1", "9.9", "  .1"),
        ];
        for (number, pattern, expected) in all {
            assert_eq!(written(number, pattern), expected, "{number} {pattern}");
        }
        assert!(NumberPattern::parse("9.9.9").is_err());
        assert!(NumberPattern::parse("9EEEE").is_err());
    }

    #[test]
    fn texts_are_read_by_patterns() {
        let number = |text: &str, pattern: &str| {
            read(&NumberPattern::parse(pattern).expect("a pattern"), text)
        };
        for (text, pattern, expected) in [
            ("12,454.8-", "99G999D9S", "-12454.8"),
            ("<485>", "999PR", "-485"),
            (" 00485", "09999", "00485"),
            ("12.5", "99", "12"),
            ("$1,000", "$9,999", "1000"),
            ("1234", "99", "12"),
            ("1234-", "99S", "12"),
            ("-12.345", "S99.99", "-12.34"),
            ("0012.5", "99.9", "0012.5"),
        ] {
            assert_eq!(number(text, pattern).as_deref(), Ok(expected), "{text} {pattern}");
        }
        assert_eq!(number("123.4", "99.9"), Err(Unread::TooLarge));
        assert_eq!(number("abc", "999"), Err(Unread::NotANumber));
        assert_eq!(number("", "999"), Err(Unread::NotANumber));
        assert_eq!(number("12", "S"), Err(Unread::NotANumber));
    }
}

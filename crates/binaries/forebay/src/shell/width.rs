//! How many columns of a terminal a text takes, and breaking it where it takes too many.
//!
//! Control characters are shown as escapes: a value can't move the cursor or colour the screen.
//!
//! Callers: `render`, `failure`.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// How many columns a tab is shown with.
const TAB: &str = "    ";

/// The columns that a text takes, which has no control characters.
pub(crate) fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// The lines of a value, without control characters.
pub(crate) fn lines(value: &str) -> Vec<String> {
    let lines = value.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
    lines.map(visible).collect()
}

/// A part of a value on one line.
pub(crate) struct Piece {
    pub(crate) text: String,
    /// What stands behind it: `.` if the value goes on below, `+` if it has a line's end here, or a
    /// blank.
    pub(crate) mark: char,
}

/// The lines of a value, broken where they take more than so many columns; none: nowhere.
pub(crate) fn pieces(value: &str, columns: Option<usize>) -> Vec<Piece> {
    let lines = lines(value);
    let last_line = lines.len() - 1;
    let mut pieces = Vec::new();
    for (number, line) in lines.into_iter().enumerate() {
        let parts = match columns {
            Some(columns) => broken(&line, columns),
            None => vec![line],
        };
        let last = parts.len() - 1;
        for (at, text) in parts.into_iter().enumerate() {
            let mark = match () {
                () if at < last => '.',
                () if number < last_line => '+',
                () => ' ',
            };
            pieces.push(Piece { text, mark });
        }
    }
    pieces
}

/// A text on one line, whose control characters are escapes.
pub(crate) fn visible(text: &str) -> String {
    if !text.chars().any(char::is_control) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' => shown.push_str(TAB),
            c if c.is_control() => shown.extend(c.escape_default()),
            c => shown.push(c),
        }
    }
    shown
}

/// How much further in the rest of a line stands that begins with blanks, as those of a plan do.
const HANGING: usize = 4;

/// A text in pieces of so many columns at most, at least one. A blank is a good place to break, and
/// one before a bracket is a better one. If the text begins with blanks, its other pieces do too.
pub(crate) fn broken(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    let blanks = match text.len() - text.trim_start_matches(' ').len() {
        0 => 0,
        blanks => (blanks + HANGING).min(columns / 2),
    };
    let mut pieces = Vec::new();
    let (mut rest, mut before, mut room) = (text, String::new(), columns);
    while width(rest) > room {
        let end = end_of_piece(rest, room);
        if end == rest.len() {
            break;
        }
        pieces.push(before + &rest[..end]);
        rest = &rest[end..];
        (before, room) = (" ".repeat(blanks), columns - blanks);
    }
    pieces.push(before + rest);
    pieces
}

/// The byte at which a text that is too wide is broken: before the last bracket of its second half,
/// or else behind the last blank there, or where it is too wide. At least one character stands
/// before it.
fn end_of_piece(text: &str, columns: usize) -> usize {
    let (mut taken, mut blank, mut bracket) = (0, None, None);
    for (at, c) in text.char_indices() {
        taken += c.width().unwrap_or(0);
        if taken > columns && at > 0 {
            return bracket.or(blank).unwrap_or(at);
        }
        if c == '(' && blank == Some(at) {
            bracket = blank;
        }
        if c == ' ' && 2 * taken >= columns {
            blank = Some(at + 1);
        }
    }
    text.len()
}

/// A text with blanks before or behind it, of at least so many columns.
pub(crate) fn padded(text: &str, columns: usize, right_aligned: bool) -> String {
    let blanks = " ".repeat(columns.saturating_sub(width(text)));
    match right_aligned {
        true => blanks + text,
        false => text.to_owned() + &blanks,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_width_is_that_of_a_terminal() {
        assert_eq!(["", "abc", "naïve", "日本", "e\u{301}"].map(width), [0, 3, 5, 4, 1]);
    }

    #[test]
    fn control_characters_are_shown_and_do_nothing() {
        assert_eq!(visible("a\tb\u{1b}[31m"), "a    b\\u{1b}[31m");
        assert_eq!(lines("a\r\nb\n"), ["a", "b", ""]);
    }

    #[test]
    fn a_text_is_broken_where_it_is_too_wide() {
        assert_eq!(broken("abcdef", 4), ["abcd", "ef"]);
        assert_eq!(broken("ab cdef gh", 6), ["ab ", "cdef ", "gh"]);
        assert_eq!(broken("日本語", 4), ["日本", "語"]);
        assert_eq!(broken("日本", 1), ["日", "本"]);
        assert_eq!(broken("", 4), [""]);
        assert_eq!(broken("  ->  Table scan", 12), ["  ->  Table ", "      scan"]);
        assert_eq!(broken(" abcdef", 4), [" abc", "  de", "  f"]);
        assert_eq!(broken(" ", 4), [" "]);
        assert_eq!(broken("e\u{301}e\u{301}e\u{301}", 2).concat(), "e\u{301}e\u{301}e\u{301}");
    }

    /// As lines of a plan have them.
    #[test]
    fn a_text_is_broken_before_a_bracket_rather_than_within() {
        assert_eq!(broken("Sort  (cost=1) (rows=7 ms)", 22), ["Sort  (cost=1) ", "(rows=7 ms)"]);
        assert_eq!(
            broken("  Sort  (cost=1) (rows=7 ms)", 24),
            ["  Sort  (cost=1) ", "      (rows=7 ms)"]
        );
        assert_eq!(broken("f(x) and so on, f(x) more", 20), ["f(x) and so on, ", "f(x) more"]);
        assert_eq!(broken("(a) and then this", 12), ["(a) and ", "then this"]);
    }

    #[test]
    fn a_text_is_padded_on_the_side_that_it_doesnt_stand_on() {
        assert_eq!(padded("日", 4, true), "  日");
        assert_eq!(padded("a", 3, false), "a  ");
        assert_eq!(padded("abcd", 3, true), "abcd");
    }
}

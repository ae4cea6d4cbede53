//! Text in a drawing, whose width can only be estimated: the reader's font is unknown.

/// The width of a text in a sans-serif font of that size, in the size's unit; rather too wide.
/// Measured on DejaVu Sans, which is wider than most.
pub(crate) fn width(text: &str, size: i32) -> i32 {
    let thousandths: i32 = text.chars().map(thousandths_of_em).sum();
    thousandths * size / 1_000
}

fn thousandths_of_em(letter: char) -> i32 {
    match letter {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' => 310,
        'f' | 't' | 'r' | 'I' | ' ' | '(' | ')' | '/' | '-' => 390,
        'm' | 'w' | 'M' | 'W' | '%' | '@' => 950,
        'A'..='Z' | '+' | '<' | '>' | '=' => 730,
        _ if letter.is_ascii() => 625,
        // Wide scripts take a whole em.
        '\u{1100}'.. => 1_000,
        _ => 650,
    }
}

/// The text in lines of at most `width`, broken at blanks, and inside of words that are longer.
/// What doesn't fit `lines_max` lines is cut, with an ellipsis.
pub(crate) fn lines(text: &str, size: i32, width: i32, lines_max: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is a line from the beginning on");
        let longer = if line.is_empty() { word.to_owned() } else { format!("{line} {word}") };
        if self::width(&longer, size) <= width {
            *line = longer;
        } else if line.is_empty() {
            break_word(word, size, width, &mut lines);
        } else {
            lines.push(String::new());
            break_word(word, size, width, &mut lines);
        }
    }
    if lines.len() > lines_max {
        lines.truncate(lines_max);
        let last = lines.last_mut().expect("at least one line is kept");
        while !last.is_empty() && self::width(last, size) + size > width {
            last.pop();
        }
        last.push('…');
    }
    lines
}

/// Appends the word to the last line, which is empty, and to new ones.
fn break_word(word: &str, size: i32, width: i32, lines: &mut Vec<String>) {
    for letter in word.chars() {
        let line = lines.last_mut().expect("the caller has a line");
        line.push(letter);
        if self::width(line, size) > width && line.chars().count() > 1 {
            line.pop();
            lines.push(letter.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_broken_at_blanks_and_cut_when_it_is_too_long() {
        let text = "log file switch (checkpoint incomplete)";
        assert_eq!(lines(text, 10, 1_000, 2), [text]);
        assert_eq!(lines(text, 10, 110, 2), ["log file switch", "(checkpoint…"]);
    }

    #[test]
    fn a_word_without_blanks_is_broken_where_the_line_ends() {
        let text = "x".repeat(40);
        let broken = lines(&text, 10, 125, 2);
        assert_eq!(broken.len(), 2);
        assert_eq!(broken[0], "x".repeat(20));
        assert!(broken.iter().all(|line| width(line, 10) <= 125 + 10));
    }
}

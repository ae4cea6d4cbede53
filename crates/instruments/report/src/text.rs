//! Text broken into lines of at most 80 columns (rule RP2).

use textwrap::{Options, WordSeparator, WordSplitter};

/// The width that text for people keeps to.
pub const COLUMNS: usize = 80;

/// Columns of the label in [`labelled`].
const LABEL_COLUMNS: usize = 18;

/// A paragraph: lines of at most 80 columns, each behind `indent` and with a line end.
pub fn paragraph(text: &str, indent: &str) -> String {
    hanging(text, indent, indent)
}

/// A label, and beside it a paragraph.
pub fn labelled(label: &str, text: &str) -> String {
    hanging(text, &format!("  {label:<LABEL_COLUMNS$}"), &" ".repeat(2 + LABEL_COLUMNS))
}

/// Breaks at blanks only: a longer word stands alone, and a number keeps its per cent sign.
fn hanging(text: &str, first: &str, later: &str) -> String {
    let options = Options::new(COLUMNS)
        .initial_indent(first)
        .subsequent_indent(later)
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation);
    let text = text.replace(" %", NO_BREAK_PERCENT);
    let lines = textwrap::wrap(&text, options);
    lines.iter().map(|line| line.replace(NO_BREAK_PERCENT, " %") + "\n").collect()
}

const NO_BREAK_PERCENT: &str = "\u{a0}%";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_and_its_per_cent_sign_stay_together() {
        let broken = |indent: usize| {
            let text = paragraph("about 2.2 % more", &" ".repeat(indent));
            text.lines().map(|line| line.trim().to_owned()).collect::<Vec<String>>()
        };
        assert_eq!(broken(70), ["about", "2.2 % more"]);
        assert_eq!(broken(71), ["about", "2.2 %", "more"]);
    }

    #[test]
    fn a_longer_word_stands_alone() {
        let word = "/a-path-that-is-long".repeat(5);
        assert_eq!(paragraph(&format!("in {word} now"), ""), format!("in\n{word}\nnow\n"));
    }

    #[test]
    fn a_paragraph_is_broken_at_blanks_and_hangs_beside_its_label() {
        let text = labelled("Is it real?", &"many words ".repeat(12));
        assert!(text.lines().all(|line| line.len() <= COLUMNS));
        let mut lines = text.lines();
        assert!(lines.next().is_some_and(|line| line.starts_with("  Is it real?       many")));
        let hangs = |line: &str| line.starts_with(&" ".repeat(20)) && line.as_bytes()[20] != b' ';
        assert!(lines.all(hangs), "{text}");
    }
}

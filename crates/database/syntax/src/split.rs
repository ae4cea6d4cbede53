//! Where the statements of a text end; also in a text that isn't finished.
//!
//! Callers: the shell; `execute` of several statements; the server.

use crate::scan::{Kind, Piece, Scanner};

/// A statement within a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part<'a> {
    /// Its text, without blanks and comments before it and without its semicolon.
    pub text: &'a str,
    /// Its first byte in the whole text.
    pub start: usize,
    /// The byte behind its last one.
    pub end: usize,
    /// Whether a semicolon ends it.
    pub is_ended: bool,
}

/// The statements of a text, first to last; empty ones are left out. They are found without
/// looking at what they say: `BEGIN` is a statement as any other.
pub fn split(text: &str) -> Parts<'_> {
    Parts { text, scanner: Scanner::new(text) }
}

/// The statements of a text.
pub struct Parts<'a> {
    text: &'a str,
    scanner: Scanner<'a>,
}

impl<'a> Iterator for Parts<'a> {
    type Item = Part<'a>;

    fn next(&mut self) -> Option<Part<'a>> {
        let mut found: Option<Piece> = None;
        let mut is_ended = false;
        for piece in self.scanner.by_ref() {
            match piece.kind {
                Kind::Semicolon if found.is_some() => {
                    is_ended = true;
                    break;
                }
                Kind::Space | Kind::Comment | Kind::Semicolon => {}
                _ => {
                    let start = found.map_or(piece.start, |found| found.start);
                    found = Some(Piece { start, ..piece });
                }
            }
        }
        let Piece { start, end, .. } = found?;
        Some(Part { text: &self.text[start..end], start, end, is_ended })
    }
}

/// Whether nothing is missing behind this text: each statement ends with a semicolon, and each
/// quote and comment has its end. True of a text without statements.
pub fn is_complete(text: &str) -> bool {
    let is_open = |piece: Piece| matches!(piece.kind, Kind::Open(_));
    split(text).all(|part| part.is_ended) && !Scanner::new(text).any(is_open)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Vec<&str> {
        split(text).map(|part| part.text).collect()
    }

    #[test]
    fn statements_end_at_semicolons_that_are_in_nothing() {
        let text = "select ';' ; -- ; \n insert $a$;$a$; /* ; /* ; */ ; */ update \";\"";
        assert_eq!(parts(text), ["select ';'", "insert $a$;$a$", "update \";\""]);
        assert_eq!(parts(" ;; -- nothing\n ; "), [""; 0]);
        assert_eq!(parts("begin; x; end;"), ["begin", "x", "end"]);
    }

    #[test]
    fn a_part_says_where_it_is() {
        let text = " -- é\n a b /* c */ ; d";
        let found: Vec<Part> = split(text).collect();
        let first = Part { text: "a b", start: 8, end: 11, is_ended: true };
        assert_eq!((found[0], found[1].is_ended), (first, false));
        assert_eq!(&text[found[1].start..found[1].end], "d");
    }

    #[test]
    fn a_text_is_complete_if_it_ends_with_a_semicolon() {
        for complete in ["", "  ", "a;", "a; -- b", "a;\n\n", ";", "-- it's"] {
            assert!(is_complete(complete), "{complete}");
        }
        for open in ["a", "a; b", "';", "a '", "$$ ;", "/* a; */ b", "a; /* b", "\"a;"] {
            assert!(!is_complete(open), "{open}");
        }
    }
}

//! Arguments have names: no parameter is an anonymous tuple.
//!
//! A tuple hides several arguments from the caller behind one pair of brackets. It becomes a small
//! struct with a name, or plain arguments.
//!
//! Callers: `tidy`; `figures`, which counts them.

use super::Finding;
use crate::rust_text::{bracket_end, is_word, line_at, words};
use crate::tree::SourceFile;

pub(crate) fn check(file: &SourceFile) -> Vec<Finding> {
    let tuples = tuple_parameters(&file.code_outside_tests());
    tuples
        .into_iter()
        .map(|tuple| {
            let TupleParameter { function, line, elements } = tuple;
            let say = format!(
                "`{function}` takes an anonymous tuple of {elements}: give the arguments names, or \
                 take a struct"
            );
            Finding::new(&file.path, line, say)
        })
        .collect()
}

/// A parameter that is an anonymous tuple.
#[derive(Debug, PartialEq)]
pub(crate) struct TupleParameter {
    /// The function.
    pub(crate) function: String,
    /// The line of the word `fn`.
    pub(crate) line: usize,
    /// How many arguments it hides.
    pub(crate) elements: usize,
}

/// The parameters of functions in a blanked code text that are anonymous tuples.
pub(crate) fn tuple_parameters(code: &str) -> Vec<TupleParameter> {
    let mut found = Vec::new();
    for at in words(code, "fn") {
        let rest = &code[at + 2..];
        let name: String = rest.trim_start().chars().take_while(|&c| is_word(c)).collect();
        if name.is_empty() {
            continue; // a function pointer's type
        }
        let Some(open) = parameters_at(code, at + 2) else { continue };
        let inside = &code[open + 1..bracket_end(code, open) - 1];
        for parameter in split_top(inside) {
            let Some((_, kind)) = split_colon(parameter) else { continue };
            let kind = kind.trim().trim_start_matches('&').trim_start();
            let kind = kind.strip_prefix("mut ").unwrap_or(kind).trim_start();
            if kind.starts_with('(') {
                let elements = split_top(&kind[1..bracket_end(kind, 0) - 1]).len();
                if elements > 1 {
                    let line = line_at(code, at);
                    found.push(TupleParameter { function: name.clone(), line, elements });
                }
            }
        }
    }
    found
}

/// Where the parameters of a function begin, behind its name and its generics.
fn parameters_at(code: &str, from: usize) -> Option<usize> {
    let mut depth = 0i32;
    let mut before = ' ';
    for (i, c) in code[from..].char_indices() {
        match c {
            '<' => depth += 1,
            '>' if before != '-' => depth -= 1,
            '(' if depth == 0 => return Some(from + i),
            '{' | ';' => return None,
            _ => {}
        }
        before = c;
    }
    None
}

/// A text at its commas outside of brackets; without an empty last piece.
fn split_top(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut pieces, mut before) = (0i32, 0, Vec::new(), ' ');
    for (i, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            '>' if before != '-' && before != '=' => depth -= 1,
            ',' if depth == 0 => {
                pieces.push(&text[start..i]);
                start = i + 1;
            }
            _ => {}
        }
        before = c;
    }
    pieces.push(&text[start..]);
    pieces.retain(|piece| !piece.trim().is_empty());
    pieces
}

/// A parameter's pattern and type, at its first colon outside of brackets and of paths.
fn split_colon(parameter: &str) -> Option<(&str, &str)> {
    let mut depth = 0i32;
    let bytes = parameter.as_bytes();
    for (i, c) in parameter.char_indices() {
        match c {
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' | '>' => depth -= 1,
            ':' if depth == 0 && bytes.get(i + 1) != Some(&b':') => {
                return Some((&parameter[..i], &parameter[i + 1..]));
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(code: &str) -> Vec<(String, usize)> {
        tuple_parameters(code).into_iter().map(|found| (found.function, found.elements)).collect()
    }

    #[test]
    fn a_tuple_is_found_however_it_is_taken() {
        let code = "fn a((x, y): (u8, u16), s: &S) {}\n\
                    fn b<T: Fn(u8) -> u8>(p: &mut (T, T, T)) {}\n\
                    fn c(\n    pair: &(A<B, C>, D),\n) {}";
        let expected = [("a", 2), ("b", 3), ("c", 2)].map(|(name, n)| (name.to_string(), n));
        assert_eq!(found(code), expected);
    }

    #[test]
    fn a_tuple_outside_of_tests_is_a_finding_on_the_line_of_its_function() {
        let code = "fn a(x: u8) {}\nfn b((x, y, z): (u8, u16, u32)) {}\n\
                    #[cfg(test)]\nmod tests {\n fn c(p: (u8, u8)) {}\n}";
        let findings = check(&SourceFile::new("os", "crates/ground/os/src/a.rs", code));
        assert_eq!(findings.iter().map(|finding| finding.line).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn what_is_no_tuple_is_not_found() {
        let code = "fn a(f: impl Fn((u8, u8)), x: [u8; 4], y: Option<(u8, u8)>) -> (u8, u8) {}\n\
                    fn b(unit: (), one: (u8)) {}\nlet f: fn((u8, u8)) = g;";
        assert_eq!(found(code), []);
    }
}

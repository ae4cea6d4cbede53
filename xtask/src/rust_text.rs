//! Rust source seen as text: what is code, what is comment, where functions and tests lie.
//!
//! The checks of `tidy` need comments and line numbers, which a syntax tree drops, and must read
//! macro bodies, which a syntax tree leaves alone. So this is a scanner, not a parser: it knows
//! comments, strings, characters and brackets, and that is enough for every question asked here.
//!
//! Invariants: `code` and `comments` have the lines of the source, character for character, with
//! everything else blanked; no text inside a string or a character literal survives in either.
//!
//! Callers: `tree::SourceFile`, `tidy`.

/// The two halves of a source text.
pub(crate) struct Halves {
    /// The code, with comments and the insides of literals blanked.
    pub(crate) code: String,
    /// The comments, with everything else blanked.
    pub(crate) comments: String,
}

/// Which half a character belongs to.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Code,
    Comment,
    Literal,
}

/// Splits a source text into its code and its comments.
pub(crate) fn split(text: &str) -> Halves {
    let chars: Vec<char> = text.chars().collect();
    let mut halves = Halves { code: String::new(), comments: String::new() };
    let mut at = 0;
    while at < chars.len() {
        let (part, end) = next_part(&chars, at);
        assert!(end > at, "the scanner must move on");
        for &c in &chars[at..end.min(chars.len())] {
            let blank = if c == '\n' { '\n' } else { ' ' };
            halves.code.push(if part == Part::Code { c } else { blank });
            halves.comments.push(if part == Part::Comment { c } else { blank });
        }
        at = end;
    }
    halves
}

/// The part that starts at `at`, and where it ends.
fn next_part(chars: &[char], at: usize) -> (Part, usize) {
    let follows = |offset: usize| chars.get(at + offset).copied().unwrap_or('\0');
    match (chars[at], follows(1)) {
        ('/', '/') => (Part::Comment, line_end(chars, at)),
        ('/', '*') => (Part::Comment, block_comment_end(chars, at)),
        ('"', _) => (Part::Literal, string_end(chars, at + 1)),
        ('\'', '\\') => (Part::Literal, char_end(chars, at + 3)),
        ('\'', _) if follows(2) == '\'' => (Part::Literal, at + 3),
        ('r', '"' | '#') if starts_word(chars, at) => match raw_string_end(chars, at + 1) {
            Some(end) => (Part::Literal, end),
            None => (Part::Code, at + 1),
        },
        _ => (Part::Code, at + 1),
    }
}

/// Whether an `r` at `at` may start a raw string: alone, or after the prefix of a byte string.
fn starts_word(chars: &[char], at: usize) -> bool {
    let before = |back: usize| at.checked_sub(back).map_or(' ', |i| chars[i]);
    !is_word(before(1)) || (matches!(before(1), 'b' | 'c') && !is_word(before(2)))
}

fn line_end(chars: &[char], at: usize) -> usize {
    chars[at..].iter().position(|&c| c == '\n').map_or(chars.len(), |n| at + n)
}

fn block_comment_end(chars: &[char], at: usize) -> usize {
    let (mut i, mut depth) = (at + 2, 1);
    while i < chars.len() && depth > 0 {
        match (chars[i], chars.get(i + 1)) {
            ('/', Some('*')) => (i, depth) = (i + 2, depth + 1),
            ('*', Some('/')) => (i, depth) = (i + 2, depth - 1),
            _ => i += 1,
        }
    }
    i
}

fn string_end(chars: &[char], mut i: usize) -> usize {
    while i < chars.len() && chars[i] != '"' {
        i += if chars[i] == '\\' { 2 } else { 1 };
    }
    i + 1
}

fn char_end(chars: &[char], at: usize) -> usize {
    let from = at.min(chars.len());
    chars[from..].iter().position(|&c| c == '\'').map_or(chars.len(), |n| from + n + 1)
}

/// The end of the raw string whose hashes start at `at`; none if it is a raw identifier.
fn raw_string_end(chars: &[char], at: usize) -> Option<usize> {
    let hashes = chars[at..].iter().take_while(|&&c| c == '#').count();
    if chars.get(at + hashes) != Some(&'"') {
        return None;
    }
    let closes = |i: &usize| {
        chars[*i] == '"'
            && chars[i + 1..].iter().take(hashes).filter(|&&c| c == '#').count() == hashes
    };
    let end = (at + hashes + 1..chars.len()).find(closes);
    Some(end.map_or(chars.len(), |i| i + 1 + hashes))
}

/// Whether a character can be part of a name.
pub(crate) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Where `word` stands alone in `text`, as byte offsets.
pub(crate) fn words<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    text.match_indices(word).map(|(at, _)| at).filter(move |&at| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

/// The line, counted from 1, of a byte offset.
pub(crate) fn line_at(text: &str, offset: usize) -> usize {
    text[..offset].matches('\n').count() + 1
}

/// The offset just past the bracket that closes the one at `open`; the end if none does.
pub(crate) fn bracket_end(code: &str, open: usize) -> usize {
    let mut depth = 0usize;
    for (i, c) in code[open..].char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return open + i + c.len_utf8();
        }
    }
    code.len()
}

/// The offset just past the item that starts at `at`: behind its body or its semicolon.
pub(crate) fn item_end(code: &str, at: usize) -> usize {
    item_body(code, at).map_or(code.len(), |(open, end)| if open == end { end + 1 } else { end })
}

/// Body of the item at `at` as (opening brace, end); both the semicolon's place if there is none.
fn item_body(code: &str, at: usize) -> Option<(usize, usize)> {
    let mut i = at;
    while let Some(found) = code[i..].find(['{', ';', '(', '[']) {
        let place = i + found;
        match code.as_bytes()[place] {
            b'{' => return Some((place, bracket_end(code, place))),
            b';' => return Some((place, place)),
            _ => i = bracket_end(code, place),
        }
    }
    None
}

/// A function with a body.
#[derive(Debug, PartialEq)]
pub(crate) struct Function {
    pub(crate) name: String,
    /// The line of the word `fn`.
    pub(crate) line: usize,
    /// From the word `fn` to the closing brace, both included.
    pub(crate) lines: usize,
}

/// The functions with a body in a blanked code text.
pub(crate) fn functions(code: &str) -> Vec<Function> {
    let mut found = Vec::new();
    for at in words(code, "fn") {
        let rest = code[at + 2..].trim_start();
        let name: String = rest.chars().take_while(|&c| is_word(c)).collect();
        if name.is_empty() {
            continue; // a function pointer's type
        }
        if let Some((open, end)) = item_body(code, at).filter(|(open, end)| open < end) {
            let line = line_at(code, at);
            assert!(open > at);
            found.push(Function { name, line, lines: line_at(code, end) - line + 1 });
        }
    }
    found
}

/// The attributes of a blanked code text as (offset of `#`, text from `#` to `]`).
pub(crate) fn attributes(code: &str) -> impl Iterator<Item = (usize, &str)> {
    code.match_indices('#').filter_map(move |(at, _)| {
        let rest = &code[at + 1..];
        let open = at + 1 + usize::from(rest.starts_with('!'));
        code[open..].starts_with('[').then(|| (at, &code[at..bracket_end(code, open)]))
    })
}

/// The code with every item under `#[cfg(test)]` blanked.
pub(crate) fn without_tests(code: &str) -> String {
    let mut kept = String::with_capacity(code.len());
    let mut at = 0;
    for (start, attribute) in attributes(code) {
        let squeezed: String = attribute.chars().filter(|c| !c.is_whitespace()).collect();
        let is_test = squeezed.starts_with("#[cfg(")
            && words(&squeezed, "test").next().is_some()
            && !squeezed.contains("not(test)");
        if !is_test || start < at {
            continue;
        }
        let end = item_end(code, after_attributes(code, start));
        kept += &code[at..start];
        kept.extend(code[start..end].chars().filter(|&c| c == '\n'));
        at = end;
    }
    kept + &code[at..]
}

/// The offset behind the run of attributes that starts at `at`.
fn after_attributes(code: &str, mut at: usize) -> usize {
    while code[at..].trim_start().starts_with("#[") {
        let open = at + code[at..].find('[').unwrap_or(0);
        at = bracket_end(code, open);
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_never_reach_the_code() {
        let text =
            "let a = \"// no\"; // yes \"x\"\nlet b = r#\"fn \" {\"#; /* a /* b */ c */ let c;";
        let halves = split(text);
        assert!(!halves.code.contains("no") && !halves.code.contains("yes"));
        assert!(!halves.code.contains("fn") && halves.code.ends_with("let c;"));
        assert!(halves.comments.contains("// yes \"x\""));
        assert!(halves.comments.contains("/* a /* b */ c */"));
        assert_eq!(halves.code.lines().count(), text.lines().count());
    }

    #[test]
    fn lifetimes_are_code_and_characters_are_literals() {
        let halves =
            split("fn f<'a>(x: &'a str) -> char { match x { _ => '{' } } '\\'' '\\u{7d}' '}'");
        assert_eq!(halves.code.matches('{').count(), halves.code.matches('}').count());
        assert!(halves.code.contains("&'a str"));
    }

    #[test]
    fn byte_strings_and_raw_identifiers_are_told_apart() {
        let halves = split(r##"let r#type = br#"todo!("#; let bar = b"fn"; let c = for_r"x";"##);
        assert!(halves.code.contains("r#type"));
        assert!(!halves.code.contains("todo") && !halves.code.contains("fn"));
    }

    #[test]
    fn a_function_is_measured_from_its_fn_to_its_brace() {
        let code =
            "fn a(x: [u8; 2]) -> [u8; 2] {\n    x\n}\ntrait T { fn b(); }\ntype F = fn(u8);\n";
        assert_eq!(functions(code), [Function { name: "a".into(), line: 1, lines: 3 }]);
    }

    #[test]
    fn functions_inside_macro_bodies_are_measured_too() {
        let found = functions("macro_rules! m { () => { fn hidden() {\n1;\n2;\n} } }");
        assert_eq!(found, [Function { name: "hidden".into(), line: 1, lines: 4 }]);
    }

    #[test]
    fn test_items_are_left_out_and_lines_keep_their_numbers() {
        let code = "fn a() {}\n#[cfg(test)]\n#[expect(x)]\nmod tests {\n fn t() {}\n}\nfn b() {}\n\
                    #[cfg(not(test))]\nfn c() {}\n#[cfg(all(test, loom))] mod model;\nfn d() {}";
        let names: Vec<(String, usize)> =
            functions(&without_tests(code)).into_iter().map(|f| (f.name, f.line)).collect();
        let expected = [("a", 1), ("b", 7), ("c", 9), ("d", 11)].map(|(n, l)| (n.to_string(), l));
        assert_eq!(names, expected);
    }
}

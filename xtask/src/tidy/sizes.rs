//! Functions fit a screen, files are one noun, lines have 100 columns; exceptions only shrink.
//!
//! What is longer must be held in `xtask/ratchet.toml`, with its exact size and a reason. The
//! ratchet turns one way: an entry that grew is refused, one that shrank must be lowered, one that
//! isn't needed any more must go.
//!
//! Counted: a function from the line of `fn` to its closing brace; a file's lines with code on
//! them, so that essays are free; a file's lines over 100 columns, but for those that one long
//! address makes so. Tests are free of the first two.

use std::fmt;

use serde::Deserialize;

use super::Finding;
use crate::rust_text;
use crate::tree::SourceFile;

const FUNCTION_LINES_MAX: usize = 70;
const FILE_LINES_MAX: usize = 500;
pub(crate) const COLUMNS_MAX: usize = 100;

/// What is measured.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum What {
    /// Lines of one function.
    Function,
    /// Lines of code in one file.
    File,
    /// How many lines of one file are too wide.
    Columns,
}

/// An exception, as the ratchet file states it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Held {
    what: What,
    path: String,
    /// The function's name; empty for the others.
    #[serde(default)]
    name: String,
    size: usize,
    reason: String,
}

/// Something over its limit.
struct Oversized {
    what: What,
    path: String,
    name: String,
    line: usize,
    size: usize,
}

impl fmt::Display for Oversized {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.size;
        match self.what {
            What::Function => {
                write!(f, "`{}` has {size} lines (limit {FUNCTION_LINES_MAX})", self.name)
            }
            What::File => write!(f, "has {size} lines of code (limit {FILE_LINES_MAX})"),
            What::Columns => write!(f, "lines over {COLUMNS_MAX} columns: {size}, this the first"),
        }
    }
}

/// Reads the ratchet file.
pub(crate) fn held(text: &str) -> Result<Vec<Held>, String> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Ratchet {
        #[serde(default)]
        held: Vec<Held>,
    }
    let ratchet: Ratchet = toml::from_str(text).map_err(|e| format!("xtask/ratchet.toml: {e}"))?;
    match ratchet.held.iter().find(|held| held.reason.trim().is_empty()) {
        Some(held) => Err(format!("xtask/ratchet.toml: the entry for {} has no reason", held.path)),
        None => Ok(ratchet.held),
    }
}

pub(crate) fn check(files: &[SourceFile], held: &[Held]) -> Vec<Finding> {
    let oversized: Vec<Oversized> = files.iter().flat_map(measure).collect();
    let mut findings = Vec::new();
    for it in &oversized {
        let entry = held.iter().find(|held| is_for(held, it));
        let do_this = match entry.map(|held| held.size) {
            None if it.what == What::Columns => "break them",
            None => "split it; what reads like a dictionary may be held in xtask/ratchet.toml",
            Some(size) if size < it.size => "it grew since it was held; make it smaller",
            Some(size) if size > it.size => "it shrank; lower its entry in xtask/ratchet.toml",
            Some(_) => continue,
        };
        findings.push(Finding::new(&it.path, it.line, format!("{it}: {do_this}")));
    }
    for held in held.iter().filter(|held| !oversized.iter().any(|it| is_for(held, it))) {
        let say = format!("{} {} is no longer too big: remove the entry", held.path, held.name);
        findings.push(Finding::new("xtask/ratchet.toml", 0, say));
    }
    findings
}

fn is_for(held: &Held, it: &Oversized) -> bool {
    held.what == it.what && held.path == it.path && held.name == it.name
}

/// What is over a limit in one file. Of functions with the same name, the longest.
fn measure(file: &SourceFile) -> Vec<Oversized> {
    let over = |what, name: &str, line, size| {
        let (path, name) = (file.path.clone(), name.to_string());
        Oversized { what, path, name, line, size }
    };
    let code = file.code_outside_tests();
    let mut found: Vec<Oversized> = Vec::new();
    let mut functions = rust_text::functions(&code);
    functions.sort_by_key(|function| std::cmp::Reverse(function.lines));
    for function in functions.iter().filter(|function| function.lines > FUNCTION_LINES_MAX) {
        if found.iter().all(|it| it.name != function.name) {
            found.push(over(What::Function, &function.name, function.line, function.lines));
        }
    }
    let lines = code.lines().filter(|line| !line.trim().is_empty()).count();
    if lines > FILE_LINES_MAX {
        found.push(over(What::File, "", 0, lines));
    }
    let wide: Vec<usize> =
        file.text.lines().zip(1..).filter(|(text, _)| is_wide(text)).map(|(_, n)| n).collect();
    if let Some(&first) = wide.first() {
        found.push(over(What::Columns, "", first, wide.len()));
    }
    found
}

fn is_wide(line: &str) -> bool {
    let is_address = || line.split_whitespace().any(|w| w.contains("://") && w.len() > 60);
    line.chars().count() > COLUMNS_MAX && !is_address()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long_function(lines: usize) -> SourceFile {
        let text = format!("fn long() {{\n{}}}\n", "    x();\n".repeat(lines - 2));
        SourceFile::new("os", "crates/ground/os/src/a.rs", &text)
    }

    fn entry(what: &str, name: &str, size: usize) -> Vec<Held> {
        let text = format!(
            "[[held]]\nwhat = \"{what}\"\npath = \"crates/ground/os/src/a.rs\"\nname = \"{name}\"\n\
             size = {size}\nreason = \"a dictionary\"\n"
        );
        held(&text).expect("a sound ratchet")
    }

    fn says(file: &SourceFile, held: &[Held], what: &str) -> bool {
        let found = check(std::slice::from_ref(file), held);
        assert_eq!(found.len(), 1, "{found:?}");
        found[0].message.contains(what)
    }

    #[test]
    fn a_function_of_seventy_lines_passes_and_of_seventy_one_does_not() {
        assert_eq!(check(&[long_function(70)], &[]), []);
        assert!(says(&long_function(71), &[], "`long` has 71 lines"));
    }

    #[test]
    fn the_ratchet_holds_the_exact_size_and_turns_one_way() {
        let file = long_function(80);
        assert_eq!(check(std::slice::from_ref(&file), &entry("function", "long", 80)), []);
        assert!(says(&file, &entry("function", "long", 79), "it grew"));
        assert!(says(&file, &entry("function", "long", 81), "it shrank"));
        assert!(says(&long_function(9), &entry("function", "long", 80), "remove the entry"));
    }

    #[test]
    fn a_file_is_measured_by_its_code_without_essays_and_tests() {
        let code = "const A: u8 = 1;\n".repeat(500);
        let free = "// an essay\n\n".repeat(50);
        let tests = format!("#[cfg(test)]\nmod tests {{\n{code}}}\n");
        let path = "crates/ground/os/src/a.rs";
        let file =
            |extra: &str| SourceFile::new("os", path, &format!("{code}{free}{extra}{tests}"));
        assert_eq!(check(&[file("")], &[]), []);
        assert!(says(&file("const B: u8 = 2;\n"), &[], "has 501 lines of code"));
        let test_file = SourceFile::new("os", "crates/ground/os/tests/a.rs", &code.repeat(2));
        assert_eq!(check(&[test_file], &[]), []);
    }

    #[test]
    fn a_line_over_a_hundred_columns_is_found_unless_it_is_an_address() {
        let file = |text: &str| SourceFile::new("os", "crates/ground/os/src/a.rs", text);
        assert_eq!(check(&[file(&format!("// {}", "é".repeat(97)))], &[]), []);
        assert!(says(&file(&format!("// {}", "é".repeat(98))), &[], "over 100 columns"));
        assert_eq!(check(&[file(&format!("// https://{}", "a".repeat(98)))], &[]), []);
    }

    #[test]
    fn an_exception_without_a_reason_is_refused() {
        let text = "[[held]]\nwhat = \"file\"\npath = \"a\"\nsize = 1\nreason = \" \"\n";
        assert!(held(text).expect_err("no reason").contains("no reason"));
    }
}

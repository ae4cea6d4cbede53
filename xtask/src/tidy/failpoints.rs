//! Each failpoint is asked for by the engine, and noticed by the tests that it names.
//!
//! The list is read from the source of crate `stop`, as text; a failpoint without a test doesn't
//! compile there. A test is named by its file's path and its function, is marked as a test, and has
//! the failpoint in its body.
//!
//! Rule stop/K6.

use super::Finding;
use crate::rust_text::{item_end, words};
use crate::tree::{SourceFile, Tree};

/// Where failpoints are declared.
const HOME: &str = "crates/ground/stop/src/failpoint.rs";

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let home = tree.files.iter().find(|file| file.path == HOME);
    let listed = home.map(|file| listed(&file.text)).unwrap_or_default();
    if listed.is_empty() {
        return vec![Finding::new(HOME, 0, "no failpoint is read from its list: tidy looks there")];
    }
    let found = listed.iter().map(|(name, tests)| judge(name, tests, &tree.files));
    found.flatten().collect()
}

/// The failpoints that the source declares, each with the tests that it names.
fn listed(source: &str) -> Vec<(String, Vec<String>)> {
    let Some((_, list)) = source.split_once("\nfailpoints! {") else { return Vec::new() };
    let list = list.split_once("\n}").map_or(list, |(list, _)| list);
    let without_comments: String =
        list.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let entry = |text: &str| {
        let (name, tests) = text.split_once(':')?;
        // Every other piece is inside quotes; a string that goes on in the next line has a `\`.
        let inside = tests.split('"').skip(1).step_by(2);
        let tests = inside.map(|test| {
            let words: Vec<&str> = test.split(['\\', ' ']).filter(|w| !w.is_empty()).collect();
            words.join(" ")
        });
        Some((name.trim().to_string(), tests.collect()))
    };
    without_comments.split(';').filter_map(entry).collect()
}

/// What is wrong with one failpoint.
fn judge(name: &str, tests: &[String], files: &[SourceFile]) -> Vec<Finding> {
    let find = |message: String| Finding::new(HOME, 0, message);
    let mut findings = Vec::new();
    let asks = |file: &SourceFile| file.path != HOME && has(&file.code_outside_tests(), name);
    if !files.iter().any(asks) {
        findings.push(find(format!("no code asks for `{name}`: ask for it, or take it out")));
    }
    for test in tests {
        let body = test.split_once(' ').and_then(|(path, function)| {
            let file = files.iter().find(|file| file.path == path)?;
            body_of_test(&file.halves.code, function)
        });
        match body {
            None => findings.push(find(format!("`{name}` names a test that isn't there: {test}"))),
            Some(body) if !has(body, name) => {
                findings.push(find(format!("`{name}` isn't switched on by its test {test}")));
            }
            Some(_) => {}
        }
    }
    findings
}

/// Whether the code names the failpoint.
fn has(code: &str, name: &str) -> bool {
    words(code, name).any(|at| code[..at].ends_with("Failpoint::"))
}

/// The function of this name, if it is a test.
fn body_of_test<'c>(code: &'c str, function: &str) -> Option<&'c str> {
    let at = words(code, function).find(|at| code[..*at].ends_with("fn "))?;
    let start = at - "fn ".len();
    let is_test = code[..start].trim_end().ends_with("#[test]");
    is_test.then(|| &code[start..item_end(code, start)])
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEST: &str = "crates/storage/redo/tests/a.rs is_noticed";

    fn found(code: &str, test: &str) -> Vec<String> {
        let files = [
            SourceFile::new("redo", "crates/storage/redo/src/a.rs", code),
            SourceFile::new("redo", "crates/storage/redo/tests/a.rs", test),
        ];
        judge("Skip", &[TEST.to_string()], &files)
            .into_iter()
            .map(|finding| finding.message)
            .collect()
    }

    const CODE: &str = "fn f() { points.has(Failpoint::Skip) }";
    const NOTICES: &str = "#[test]\nfn is_noticed() { run(Failpoint::Skip); }";

    #[test]
    fn the_list_is_read_from_its_source() {
        let source = r#"macro_rules! failpoints { () => {} }

failpoints! {
    // The redo.

    /// Breaks: it; and that.
    A:
        "a.rs f",
        "b.rs g";

    /// Another.
    B:
        "c.rs \
         long_name";
}
"#;
        let entry = |name: &str, tests: &[&str]| {
            (name.to_string(), tests.iter().map(|test| test.to_string()).collect::<Vec<_>>())
        };
        let read = listed(source);
        assert_eq!(read, [entry("A", &["a.rs f", "b.rs g"]), entry("B", &["c.rs long_name"])]);
        assert_eq!(listed("fn f() {}"), []);
    }

    #[test]
    fn a_failpoint_that_is_asked_for_and_noticed_is_in_order() {
        assert_eq!(found(CODE, NOTICES), [""; 0]);
    }

    #[test]
    fn a_failpoint_that_no_code_asks_for_is_found() {
        let say = "no code asks for `Skip`: ask for it, or take it out";
        assert_eq!(found("fn f() { points.has(Failpoint::SkipNot) }", NOTICES), [say]);
        let only_in_tests = "#[cfg(test)]\nmod tests { fn f() { Failpoint::Skip } }";
        assert_eq!(found(only_in_tests, NOTICES), [say]);
    }

    #[test]
    fn a_test_that_is_not_there_is_found() {
        let say = format!("`Skip` names a test that isn't there: {TEST}");
        for text in [
            "#[test]\nfn is_noticed_too() { run(Failpoint::Skip); }",
            "fn is_noticed() { run(Failpoint::Skip); }",
            "// #[test] fn is_noticed() { run(Failpoint::Skip); }",
        ] {
            assert_eq!(found(CODE, text), [say.as_str()]);
        }
    }

    #[test]
    fn a_test_that_switches_on_another_failpoint_is_found() {
        let say = format!("`Skip` isn't switched on by its test {TEST}");
        let other = "#[test]\nfn is_noticed() { run(Failpoint::SkipNot); }\n\
                     fn f() { Failpoint::Skip }";
        assert_eq!(found(CODE, other), [say]);
    }
}
